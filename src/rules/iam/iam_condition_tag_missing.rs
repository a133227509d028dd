use crate::aws::roles::RoleAudit;
use crate::membership::NodeRole;
use crate::policy::Verdict;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, NO_CONTROLPLANE, ROLE};

pub(super) const RULE: Rule = Rule {
    id: "iam-condition-tag-missing",
    title: "a resource lacks a tag that the role's policy requires",
    severity: RuleSeverity::always(Severity::Warning),
    resources: ROLE,
    condition: "A policy of a control-plane role allows changes only under a condition on `aws:ResourceTag/KubernetesCluster` or `aws:ResourceTag/kubernetes.io/cluster/<ID>`, and a security group or route table of the cluster that the controller edits lacks that tag.",
    impact: "the controller's changes to those resources are refused with AccessDenied",
    fix: "Add the tag that the condition requires, and never remove it as a legacy tag.",
    applicability: Applicability::Confirm,
    sources: &["kubernetes/kops pkg/model/iam/iam_builder.go#AddCCMPermissions"],
    example: "role `masters` may call ec2:AuthorizeSecurityGroupIngress only on resources with the tag `KubernetesCluster=bravo`, which sg-1, sg-2 lack",
    reads: &[INSTANCES, Read::DescribeSecurityGroups, Read::DescribeRouteTables],
    migration: Some(Prerequisite::Policies),
    ..Rule::role(check)
};

fn check(context: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    if !audit.node_roles.contains(NodeRole::Controlplane) {
        return CheckResult::not_applicable(NO_CONTROLPLANE);
    }
    let own = context.cluster_id();
    let wanted = [(tags::LEGACY_TAG.to_owned(), own.to_owned()), (context.cluster_key(), tags::OWNED.to_owned())];
    let mut violations = Vec::new();
    let edits =
        ["ec2:authorizesecuritygroupingress", "ec2:revokesecuritygroupingress", "ec2:createroute", "ec2:deleteroute"];
    for (key, value) in &wanted {
        let asked = format!("aws:ResourceTag/{key}");
        let limited: Vec<&str> = audit
            .actions
            .iter()
            .filter(|action| edits.contains(&action.action.to_lowercase().as_str()))
            .filter(|action| action.assessment.verdict == Verdict::Partial && action.covers_cluster)
            .filter(|action| {
                let mut conditions = action.assessment.limits.iter().filter(|limit| !limit.limits_resources());
                conditions.all(|limit| limit.has_condition_on(&asked))
            })
            .map(|action| action.action.as_str())
            .collect();
        if limited.is_empty() {
            continue;
        }
        for region in context.view.regions.iter().filter(|region| std::ptr::eq(region.account, audit.account)) {
            let used = region.members_by_group();
            // Only resources that the controller edits: tagged groups of the nodes, and tagged tables for cloud routes.
            let groups = region
                .region
                .security_groups
                .iter()
                .filter(|group| used.contains_key(group.id.as_str()))
                .map(|group| (ResourceKind::SecurityGroup, &group.id, &group.tags));
            let tables =
                region.region.route_tables.iter().map(|table| (ResourceKind::RouteTable, &table.id, &table.tags));
            let edits_routes = limited.iter().any(|action| action.to_lowercase().ends_with("route"));
            let lacking: Vec<(ResourceKind, &String)> = groups
                .chain(tables.filter(|_| edits_routes && context.cloud_routes))
                .filter(|(_, _, found)| tags::has_cluster_tag(found, own) && tags::value(found, key).is_none())
                .map(|(kind, id, _)| (kind, id))
                .collect();
            if lacking.is_empty() {
                continue;
            }
            let ids: Vec<String> = lacking.iter().map(|(_, id)| (*id).clone()).collect();
            let message = format!(
                "role `{}` may call {} only on resources with the tag `{key}={value}`, which {} {}",
                audit.role.name,
                text::list(&limited, 3),
                text::list(&ids, 4),
                if ids.len() == 1 { "lacks" } else { "lack" }
            );
            let changes = lacking.iter().flat_map(|(kind, id)| region.set_tag(*kind, [id], key, value)).collect();
            let fix = Fix::with(Applicability::Confirm, format!("add `{key}={value}`"), changes);
            violations.push(
                Violation::new(Severity::Warning, audit.resource(), message, fix)
                    .related(lacking.iter().map(|(kind, id)| region.bare(*kind, id)))
                    .with_respect_to(Key::from_parts([region.region.name.as_str(), key])),
            );
        }
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let policy = c.server_policy();
            let condition = format!(
                r#""Effect": "Allow", "Condition": {{"StringEquals": {{"aws:ResourceTag/KubernetesCluster": "{}"}}}}"#,
                aws::ID
            );
            *policy = policy.replace(r#""Effect": "Allow""#, &condition);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let policy = c.server_policy();
            let condition = format!(
                r#""Effect": "Allow", "Condition": {{"StringEquals": {{"aws:ResourceTag/KubernetesCluster": "{}"}}}}"#,
                aws::ID
            );
            *policy = policy.replace(r#""Effect": "Allow""#, &condition);
            tag(&mut c.group(aws::TAGGED_GROUP).tags, "KubernetesCluster", aws::ID);
        });
    }
}
