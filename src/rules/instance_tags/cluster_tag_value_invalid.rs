use std::collections::BTreeMap;

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, OWNED, SHARED};

use super::{ANY, is_load_balancer_group};

pub(super) const RULE: Rule = Rule {
    id: "cluster-tag-value-invalid",
    title: "the value of the cluster tag is neither owned nor shared",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error on a load balancer's security group, but info if its value is empty, which the controller repairs; info on instances, where nothing reads the value; else warning",
    ),
    resources: ANY,
    condition: "`kubernetes.io/cluster/<ID>` has a value other than exactly `owned` or `shared`. Seen in the wild: `member` (kubespray), `1` (Gardener), `true` (Kubernetes 1.7), empty.",
    impact: "the cloud controller ignores the value, but tools that delete clusters and collect garbage read it, and so does the AWS Load Balancer Controller on security groups and subnets; on a security group that the controller created, a wrong value blocks the sync of the load balancer",
    fix: "Set `owned` on instances; where only case or space differs, correct the spelling; else choose `owned` or `shared`.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasClusterTagOwned",
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#readRepairClusterTags",
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/networking_manager.go#fetchEndpointSGsFromAWS",
    ],
    example: "subnet `subnet-0a` has the value `Owned` in `kubernetes.io/cluster/bravo` instead of `owned` or `shared`",
    subjects: Subjects::Region,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let key = context.cluster_key();
    // A wrong template writes the same wrong value on everything it creates: one finding per kind and value.
    let mut groups: BTreeMap<(ResourceKind, String, bool), Vec<Tagged<'_>>> = BTreeMap::new();
    for resource in region.tagged() {
        let Some(value) = tags::cluster_value(resource.tags(), own) else { continue };
        let of_load_balancer =
            matches!(resource, Tagged::SecurityGroup(group) if is_load_balancer_group(&group.name, &group.description));
        // The controller treats a group that it created as another cluster's if it is `shared`.
        if value != OWNED && (value != SHARED || of_load_balancer) {
            groups.entry((resource.kind(), value.to_owned(), of_load_balancer)).or_default().push(resource);
        }
    }
    groups
        .into_iter()
        .filter_map(|((kind, value, of_load_balancer), resources)| {
            let first = resources.first()?;
            let meant = value.trim().to_lowercase();
            let valid = if of_load_balancer {
                Some(OWNED.to_owned())
            } else if [OWNED, SHARED].contains(&meant.as_str()) {
                Some(meant)
            } else {
                (kind == ResourceKind::Instance).then(|| OWNED.to_owned())
            };
            let ids = || resources.iter().map(|resource| resource.id());
            let set = |value: &str| region.set_tag(kind, ids(), &key, value);
            let fix = if let Some(valid) = valid {
                Fix::with(Applicability::Confirm, format!("set the value to `{valid}`"), set(&valid))
            } else {
                let choices = vec![
                    Choice::with(SHARED, "it outlives the cluster", set(SHARED)),
                    Choice::with(OWNED, "it is deleted with the cluster", set(OWNED)),
                ];
                Fix::choose("set the value to `owned` or `shared`", choices)
            };
            let what = match resources.as_slice() {
                [one] => format!("{} `{}` has", kind.noun(), one.id()),
                several => format!("{} have", text::count(several.len(), kind.noun())),
            };
            let shown = if value.is_empty() {
                "an empty value".to_owned()
            } else {
                format!("the value `{}`", text::printable(&value))
            };
            let valid = if of_load_balancer { format!("`{OWNED}`") } else { format!("`{OWNED}` or `{SHARED}`") };
            let message = format!("{what} {shown} in `{key}` instead of {valid}");
            // The controller itself repairs an empty value.
            let severity = match (of_load_balancer, value.is_empty()) {
                // Nothing reads the value there.
                _ if kind == ResourceKind::Instance => Severity::Info,
                (true, true) => Severity::Info,
                (true, false) => Severity::Error,
                (false, _) => Severity::Warning,
            };
            let others = resources.iter().skip(1).map(|resource| region.bare(kind, resource.id()));
            let of = if of_load_balancer { "load balancer group" } else { kind.name() };
            let cause = Cause::Pair(of.into(), value.into());
            let impact = (kind == ResourceKind::Instance)
                .then(|| "nothing: neither the cloud controller nor the AWS Load Balancer Controller reads the value on instances".to_owned());
            Some(Violation::new(severity, region.resource(*first), message, fix).related(others).cause(cause).impact(impact))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, aws::KEY, "Owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, aws::KEY, "shared"));
    }
}
