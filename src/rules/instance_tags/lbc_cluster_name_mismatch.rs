use std::collections::{BTreeMap, BTreeSet};

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::in_reach;

pub(super) const RULE: Rule = Rule {
    id: "lbc-cluster-name-mismatch",
    title: "another controller in the VPC runs under a different cluster name",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::SecurityGroup, ResourceKind::Volume],
    condition: "In a VPC (or zone, for volumes) where only this cluster's nodes live, a resource names a cluster N that is not the audited one, and no instance is tagged for N. The resource is a security group on a network interface of a member or load balancer (`elbv2.k8s.aws/cluster=N`), or a volume attached to a member (`ebs.csi.aws.com/cluster-name=N`).",
    impact: "the AWS Load Balancer Controller discovers subnets by the wrong name and leaves its load balancers behind; the EBS CSI driver tags volumes for another cluster",
    fix: "Set `--cluster-name` (Load Balancer Controller) or `--k8s-tag-cluster-id` (EBS CSI driver) to the cluster id.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/tracking/provider.go",
        "kubernetes-sigs/aws-ebs-csi-driver docs/tagging.md",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2733",
    ],
    example: "2 security groups carry `elbv2.k8s.aws/cluster=brvo`, and no node is tagged for that name",
    reads: &[
        Read::DescribeInstances,
        Read::DescribeSecurityGroups,
        Read::DescribeVolumes,
        Read::DescribeNetworkInterfaces,
    ],
    subjects: Subjects::Region,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let reach = in_reach(region);
    let live = || region.region.instances.iter().filter(|instance| instance.state.is_live());
    let other_nodes: BTreeSet<&str> = live()
        .flat_map(|instance| crate::aws::view::instance_clusters(&instance.tags))
        .filter(|id| *id != own)
        .collect();
    // If another cluster is present, its controllers may run under their own name.
    if region.members.is_empty() || !other_nodes.is_empty() {
        return CheckResult::not_applicable("other clusters may run controllers here under their own names");
    }
    let in_use: BTreeSet<&str> = region
        .network_interfaces()
        .iter()
        .filter(|interface| {
            interface.description.starts_with("ELB ")
                || interface.instance_id.as_deref().is_some_and(|id| region.member(id).is_some())
        })
        .flat_map(|interface| interface.security_groups.iter().map(String::as_str))
        .collect();
    let mut names: BTreeMap<(&str, String), Vec<Tagged<'_>>> = BTreeMap::new();
    for resource in region.tagged() {
        let key = match resource {
            Tagged::SecurityGroup(group) if reach(resource) && in_use.contains(group.id.as_str()) => {
                "elbv2.k8s.aws/cluster"
            }
            // A former cluster may have left a detached volume behind.
            Tagged::Volume(volume) if volume.attached_to.iter().any(|id| region.member(id).is_some()) => {
                "ebs.csi.aws.com/cluster-name"
            }
            _ => continue,
        };
        if let Some(name) = tags::value(resource.tags(), key).filter(|name| *name != own) {
            names.entry((key, name.to_owned())).or_default().push(resource);
        }
    }
    names
        .into_iter()
        .filter_map(|((key, name), resources)| {
            let first = resources.first()?;
            let message = format!(
                "{} {} `{key}={}`, and no node is tagged for that name",
                text::count(resources.len(), first.kind().noun()),
                if resources.len() == 1 { "carries" } else { "carry" },
                text::printable(&name)
            );
            let fix = Fix::none(format!("run the controller that wrote the tag with the cluster name `{own}`"));
            let others = resources.iter().skip(1).map(|resource| region.bare(resource.kind(), resource.id()));
            Some(
                Violation::new(Severity::Warning, region.resource(*first), message, fix)
                    .related(others)
                    .cause(Cause::Pair(key.into(), name.into())),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.group(aws::TAGGED_GROUP).tags, "elbv2.k8s.aws/cluster", "brvo"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.group(aws::TAGGED_GROUP).tags, "elbv2.k8s.aws/cluster", aws::ID));
    }
}
