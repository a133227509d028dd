use std::collections::BTreeSet;

use crate::aws::view::{Distribution, RegionView};
use crate::aws::{Subnet, Tagged};
use crate::controller::ControllerVersion;
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::{Scheme, choose_subnets};
use crate::rules::prelude::*;
use crate::rules::safety;
use crate::tags::{self, OWNED, SHARED};

use super::{INSTANCES, SUBNET, SUBNETS, TABLES, ZONES};

pub(super) const RULE: Rule = Rule {
    id: "subnet-cluster-tag-missing",
    title: "a subnet of the nodes or load balancers has no cluster tag",
    severity: RuleSeverity::depends(
        Severity::Info,
        "info where no subnet of the VPC has a cluster tag, or on kOps and EKS; warning where some have it and some do not; error for controllers up to v1.20 with nodes in several zones",
    ),
    resources: SUBNET,
    condition: "A subnet hosts a live member, or would be chosen for a load balancer, and carries no cluster tag at all.",
    impact: "controllers from v1.21 on still use it but prefer any tagged subnet of its zone; older ones build the load balancer in the controller's own zone only",
    fix: "Add `kubernetes.io/cluster/<ID>=shared` (or `owned` where every other subnet of the cluster is `owned`).",
    applicability: Applicability::Safe,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findSubnets",
        "https://github.com/rancher/rancher/issues/21751",
    ],
    example: "2 subnets of VPC `vpc-0a` have no cluster tag: subnet-0b (hosts 3 nodes), subnet-0c (would be chosen for load balancers)",
    reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let hosts = region.members_by_subnet();
    let old =
        context.controller_version.is_some_and(|v| "1.21.0".parse::<ControllerVersion>().is_ok_and(|first| v < first));
    let mut violations = Vec::new();
    for vpc_id in region.member_vpcs() {
        let candidates = region.candidates(vpc_id);
        let chosen: BTreeSet<&str> = Scheme::ALL
            .into_iter()
            .flat_map(|scheme| choose_subnets(&candidates, own, scheme, None))
            .map(|choice| choice.chosen.id.as_str())
            .collect();
        let bare: Vec<&Subnet> = region
            .region
            .subnets
            .iter()
            .filter(|subnet| subnet.vpc_id == vpc_id)
            .filter(|subnet| !tags::has_cluster_tag(&subnet.tags, own) && tags::has_no_cluster_prefix_tag(&subnet.tags))
            .filter(|subnet| hosts.contains_key(subnet.id.as_str()) || chosen.contains(subnet.id.as_str()))
            // A near miss of the tag has its own rule.
            .filter(|subnet| !subnet.tags.iter().any(|tag| tags::is_certain_near_miss(tag, own)))
            .collect();
        if bare.is_empty() {
            continue;
        }
        let zones: BTreeSet<_> =
            region.members.iter().filter_map(|m| m.instance.availability_zone.as_deref()).collect();
        let mixed = region
            .region
            .subnets
            .iter()
            .any(|subnet| subnet.vpc_id == vpc_id && tags::has_cluster_tag(&subnet.tags, own));
        let severity = match region.distribution {
            _ if old && zones.len() > 1 => Severity::Error,
            _ if old => Severity::Warning,
            // EKS has tagged none since 1.19, and kOps may leave them untagged.
            Distribution::Kops | Distribution::Eks => Severity::Info,
            _ if mixed => Severity::Warning,
            // Any cluster may use untagged subnets: nothing breaks while all are untagged.
            _ => Severity::Info,
        };
        let value = valid_value(region, own);
        // The owner of a subnet with a role tag and no node is unknown: the operator decides. The others do not wait.
        let (open, ours): (Vec<&Subnet>, Vec<&Subnet>) =
            bare.into_iter().partition(|subnet| safety::aws::has_role_tag_alone(region, &subnet.id, &subnet.tags, own));
        let cause_of_open = match ours.as_slice() {
            [] => Cause::Group(vpc_id.into()),
            _ => Cause::Pair(vpc_id.into(), "role tag alone".into()),
        };
        for (subnets, cause) in [(ours, Cause::Group(vpc_id.into())), (open, cause_of_open)] {
            let Some(first) = subnets.first() else { continue };
            let described: Vec<String> = subnets
                .iter()
                .map(|subnet| match hosts.get(subnet.id.as_str()) {
                    Some(members) => format!("{} (hosts {})", subnet.id, text::count(members.len(), "node")),
                    None => format!("{} (would be chosen for load balancers)", subnet.id),
                })
                .collect();
            let message = format!(
                "{} of VPC `{vpc_id}` {} no cluster tag: {}",
                text::count(subnets.len(), "subnet"),
                if subnets.len() == 1 { "has" } else { "have" },
                text::list(&described, 4)
            );
            // `owned` lets other tools delete the subnet with the cluster: the operator decides.
            let applicability = if value == OWNED { Applicability::Confirm } else { Applicability::Safe };
            let ids = subnets.iter().map(|subnet| &subnet.id);
            let changes = region.set_tag(ResourceKind::Subnet, ids, &key, value);
            let fix = Fix::with(applicability, format!("add `{key}={value}`"), changes);
            let others = subnets.iter().skip(1).map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            violations.push(
                Violation::new(severity, region.resource(Tagged::Subnet(first)), message, fix)
                    .related(others)
                    .cause(cause),
            );
        }
    }
    violations.into()
}

/// `owned` only where every tagged subnet of the cluster already is.
fn valid_value(region: &RegionView<'_>, cluster_id: &str) -> &'static str {
    let mut values =
        region.region.subnets.iter().filter_map(|subnet| tags::cluster_value(&subnet.tags, cluster_id)).peekable();
    if values.peek().is_some() && values.all(|value| value == OWNED) { OWNED } else { SHARED }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag, untag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| untag(&mut c.subnet(aws::PRIVATE).tags, aws::KEY));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, aws::KEY, "shared"));
    }
}
