use std::collections::{BTreeMap, BTreeSet};

use crate::aws::view::RegionView;
use crate::aws::{AttachedInterface, Tagged, TargetGroup};
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

/// True if a target group of the controller with a cluster name has a node as a target, or a Pod on a node, or may have
/// one. A cluster that was deleted leaves load balancers behind, with the name of that cluster.
fn sends_to_members(region: &RegionView<'_>, name: &str) -> bool {
    let Some(balancing) = &region.region.load_balancing else { return true };
    let interfaces = || region.members.iter().flat_map(|member| &member.instance.network_interfaces);
    let has = |one: &AttachedInterface, id: &String| {
        one.addresses.as_ref().is_none_or(|held| held.ipv4.contains(id) || held.ipv6.contains(id))
    };
    let is_here = |id: &String| region.member(id).is_some() || interfaces().any(|one| has(one, id));
    let of_name = |group: &&TargetGroup| {
        tags::value(group.tags.as_deref().unwrap_or_default(), tags::LBC_CLUSTER_TAG) == Some(name)
    };
    let mut groups = balancing.target_groups.iter().filter(of_name);
    groups.any(|group| group.targets.as_ref().is_none_or(|all| all.iter().any(|target| is_here(&target.id))))
}

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
    let sends_here = |name: &str| sends_to_members(region, name);
    let mut names: BTreeMap<(&str, String), Vec<Tagged<'_>>> = BTreeMap::new();
    for resource in region.tagged() {
        let key = match resource {
            Tagged::SecurityGroup(group) if reach(resource) && in_use.contains(group.id.as_str()) => {
                tags::LBC_CLUSTER_TAG
            }
            // A former cluster may have left a detached volume behind.
            Tagged::Volume(volume) if volume.attached_to.iter().any(|id| region.member(id).is_some()) => {
                "ebs.csi.aws.com/cluster-name"
            }
            _ => continue,
        };
        let name = tags::value(resource.tags(), key).filter(|name| *name != own);
        if let Some(name) = name.filter(|name| key != tags::LBC_CLUSTER_TAG || sends_here(name)) {
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
        // Its target group has the nodes.
        aws::fires(&RULE, |c| {
            tag(&mut c.group(aws::TAGGED_GROUP).tags, "elbv2.k8s.aws/cluster", "brvo");
            c.add_network();
            tag(c.target_group().tags.as_mut().unwrap(), "elbv2.k8s.aws/cluster", "brvo");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.group(aws::TAGGED_GROUP).tags, "elbv2.k8s.aws/cluster", aws::ID));
        // A cluster that was deleted left it behind.
        aws::silent(&RULE, |c| {
            tag(&mut c.group(aws::TAGGED_GROUP).tags, "elbv2.k8s.aws/cluster", "brvo");
            c.add_network();
        });
    }
}
