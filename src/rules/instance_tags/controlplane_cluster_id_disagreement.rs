use std::collections::BTreeMap;

use crate::aws::Tagged;
use crate::aws::view::{Member, RegionView};
use crate::membership::NodeRole;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, ClusterIdError};

pub(super) const RULE: Rule = Rule {
    id: "controlplane-cluster-id-disagreement",
    title: "control-plane instances carry different cluster ids",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Instance],
    condition: "A controller would read different ids on the control-plane instances; having no id counts as an id.",
    impact: "the cluster id changes with the controller's leader, and with it the names of load balancers, security groups and target groups",
    fix: "Give every control-plane instance the same cluster tag.",
    applicability: Applicability::Choice,
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#newAWSCloud2"],
    example: "control-plane instances disagree on the cluster id: `bravo` on i-0a, none on i-0b",
    reads: &[Read::DescribeInstances],
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let mut ids: BTreeMap<String, Vec<&Member<'_>>> = BTreeMap::new();
    let controlplane =
        |member: &&Member<'_>| member.roles.roles.contains(NodeRole::Controlplane) && member.roles.is_reliable();
    for member in region.members.iter().filter(controlplane) {
        let id = match tags::controller_cluster_id(&member.instance.tags) {
            Ok(id) => format!("`{id}`"),
            Err(ClusterIdError::NotFound) => "none".to_owned(),
            Err(ClusterIdError::Multiple) => "several".to_owned(),
            Err(ClusterIdError::Mismatch { new, legacy }) => format!("`{new}` against `{legacy}`"),
        };
        ids.entry(id).or_default().push(member);
    }
    if ids.is_empty() {
        return CheckResult::not_applicable("no node is known for certain to be a control-plane node");
    }
    let Some(first) = ids.values().flatten().next().filter(|_| ids.len() > 1) else { return CheckResult::clean() };
    let described: Vec<String> = ids
        .iter()
        .map(|(id, members)| {
            let names: Vec<&str> = members.iter().map(|member| member.instance.id.as_str()).collect();
            format!("{} on {}", text::printable(id), text::list(&names, 3))
        })
        .collect();
    let fix = Fix::choose("give every control-plane instance the same cluster tag", Vec::new());
    let others = ids.values().flatten().skip(1).map(|member| region.bare(ResourceKind::Instance, &member.instance.id));
    vec![
        Violation::new(
            Severity::Error,
            region.resource(Tagged::Instance(first.instance)),
            format!("control-plane instances disagree on the cluster id: {}", described.join(", ")),
            fix,
        )
        .related(others)
        .cause(Cause::Group("controlplane".into())),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.instance(aws::SERVER).tags, aws::OTHER_KEY, "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.instance(aws::WORKER).tags, aws::OTHER_KEY, "owned"));
    }
}
