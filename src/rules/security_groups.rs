//! Security groups: the one that the controllers edit, and cases without a clear choice.

use std::collections::BTreeMap;

use super::aws::Context;
use super::instance_tags::is_load_balancer_group;
use super::{CheckResult, Rule, Violation};
use crate::aws::SecurityGroup;
use crate::aws::Tagged;
use crate::aws::view::{Member, RegionView};
use crate::finding::{Cause, Choice, Fix, Key, Severity};
use crate::inventory::Read;
use crate::membership::NodeRole;
use crate::nodes;
use crate::resource::ResourceKind;
use crate::tags;
use crate::text;
use crate::transition::Transition;

mod sg_foreign_cluster_attached;
mod sg_multiple_tagged_on_instance;
mod sg_none_tagged_multiple_attached;
mod sg_rules_near_limit;
mod sg_rules_over_quota;
mod sg_single_untagged;
mod sg_tagged_for_several_clusters;
mod sg_tagged_outside_vpc;
mod sg_tagged_unattached;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/security_groups.rs"));

const GROUP: &[ResourceKind] = &[ResourceKind::SecurityGroup];

const INSTANCE: &[ResourceKind] = &[ResourceKind::Instance];

const INSTANCES: Read = Read::DescribeInstances;

const GROUPS: Read = Read::DescribeSecurityGroups;

const FIND_GROUP: &str = "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findSecurityGroupForInstance";

/// The group that a controller would edit on an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NodeGroup<'a> {
    One(&'a str),
    SeveralTagged(Vec<&'a str>),
    SeveralUntagged(Vec<&'a str>),
    None,
}

/// The cloud controller's choice among the groups at instance level. A group listed twice counts twice, as in its code.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#findSecurityGroupForInstance`.
fn node_group(attached: &[String], is_tagged: impl Fn(&str) -> bool) -> NodeGroup<'_> {
    let present = attached.iter().map(String::as_str).filter(|id| !id.is_empty());
    let (tagged, untagged): (Vec<&str>, Vec<&str>) = present.partition(|id| is_tagged(id));
    match (tagged.as_slice(), untagged.as_slice()) {
        ([one], _) | ([], [one]) => NodeGroup::One(one),
        ([], []) => NodeGroup::None,
        ([], _) => NodeGroup::SeveralUntagged(untagged),
        _ => NodeGroup::SeveralTagged(tagged),
    }
}

fn is_tagged<'r>(region: &'r RegionView<'_>, cluster_id: &'r str) -> impl Fn(&str) -> bool + 'r {
    |id| region.security_group(id).is_some_and(|group| tags::has_cluster_tag(&group.tags, cluster_id))
}

/// Members by the set of groups among which the controller cannot choose.
fn undecided<'r>(
    context: &'r Context<'_>,
    region: &'r RegionView<'_>,
    tagged: bool,
) -> BTreeMap<Vec<&'r str>, Vec<&'r Member<'r>>> {
    let is_tagged = is_tagged(region, context.cluster_id());
    let mut sets: BTreeMap<Vec<&str>, Vec<&Member<'_>>> = BTreeMap::new();
    for member in region.members.iter().filter(|member| target(context, member) != RuleTarget::Never) {
        let mut groups = match node_group(&member.instance.security_groups, &is_tagged) {
            NodeGroup::SeveralTagged(groups) if tagged => groups,
            NodeGroup::SeveralUntagged(groups) if !tagged => groups,
            _ => continue,
        };
        groups.sort_unstable();
        sets.entry(groups).or_default().push(member);
    }
    sets
}

/// Tag with which kOps sets the label that keeps its nodes out of load balancers.
/// Source: kubernetes/kops `pkg/instancegroups/instancegroups.go`.
const EXCLUDED_BY_KOPS: &str =
    "k8s.io/cluster-autoscaler/node-template/label/node.kubernetes.io/exclude-from-external-load-balancers";

/// Role of a member as a load balancer target: the controllers check the groups of targets only.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#findInstancesForELB`.
#[derive(PartialEq, Eq, Clone, Copy)]
enum RuleTarget {
    Yes,
    /// A machine with only the control-plane role, which kubeadm and kOps keep out by a label that only the Node shows.
    Unlikely,
    /// A member without a Node, or with the label that keeps it out.
    Never,
}

fn target(context: &Context<'_>, member: &Member<'_>) -> RuleTarget {
    if context.view.nodes.is_some() {
        return match member.node {
            Some(node) if !node.is_excluded_from_load_balancers() => RuleTarget::Yes,
            _ => RuleTarget::Never,
        };
    }
    if tags::value(&member.instance.tags, EXCLUDED_BY_KOPS).is_some() {
        return RuleTarget::Never;
    }
    let roles = member.roles.roles;
    if roles.contains(NodeRole::Controlplane) && !roles.contains(NodeRole::Worker) {
        RuleTarget::Unlikely
    } else {
        RuleTarget::Yes
    }
}

/// Error if a running member is a target; stopped members and other members break nothing now.
fn members_severity(context: &Context<'_>, members: &[&Member<'_>]) -> Severity {
    let bites = |member: &&Member<'_>| !member.is_stopped() && target(context, member) == RuleTarget::Yes;
    if members.iter().any(bites) { Severity::Error } else { Severity::Warning }
}

/// The strongest reason that a group is likely the one to keep; `None` without a reason.
fn keep_reason(region: &RegionView<'_>, group: &SecurityGroup, cluster_id: &str) -> Option<&'static str> {
    let role = tags::value(&group.tags, "sigs.k8s.io/cluster-api-provider-aws/role");
    if role == Some("lb") {
        return Some("Cluster API keeps the tag on this one");
    }
    if group.name == format!("nodes.{cluster_id}") || group.name == format!("masters.{cluster_id}") {
        return Some("kOps keeps the tag on this one");
    }
    let of_load_balancers = group.ingress.iter().any(|permission| {
        let described = |source: &crate::aws::RuleSource| {
            source.description.as_deref().is_some_and(|text| text.starts_with("kubernetes.io/rule/nlb/"))
        };
        permission.ranges.iter().any(described)
            || permission.groups.iter().any(|source| {
                described(source)
                    || region
                        .security_group(&source.source)
                        .is_some_and(|from| is_load_balancer_group(&from.name, &from.description))
            })
    });
    if of_load_balancers {
        return Some("its rules already admit load balancers");
    }
    let users = region.members.iter().filter(|member| member.instance.security_groups.contains(&group.id)).count();
    (users == region.members.len()).then_some("every node has it")
}

fn choices(
    region: &RegionView<'_>,
    ids: &[&str],
    cluster_id: &str,
    verb: &str,
    changes: impl Fn(&str) -> Vec<Transition>,
) -> Vec<Choice> {
    let mut unique: Vec<&str> = ids.to_vec();
    unique.dedup();
    let mut choices: Vec<(bool, Choice)> = unique
        .into_iter()
        .map(|id| {
            let group = region.security_group(id);
            let reason = group.and_then(|group| keep_reason(region, group, cluster_id));
            let name = group.map(|group| format!(" ({})", text::printable(&group.name))).unwrap_or_default();
            let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            (reason.is_none(), Choice::with(id, format!("{verb} {id}{name}{because}"), changes(id)))
        })
        .collect();
    choices.sort_by_key(|(without_reason, _)| *without_reason);
    choices.into_iter().map(|(_, choice)| choice).collect()
}

/// One finding for each set of groups among which the controller cannot decide, with all its members.
fn report_undecided(
    context: &Context<'_>,
    region: &RegionView<'_>,
    several: bool,
    describe: impl Fn(&[&str], &[&Member<'_>]) -> (String, Fix),
) -> CheckResult {
    undecided(context, region, several)
        .into_iter()
        .filter_map(|(groups, members)| {
            let first = members.first()?;
            let (mut message, fix) = describe(&groups, &members);
            if members.iter().all(|member| target(context, member) == RuleTarget::Unlikely) {
                message.push_str(&format!(
                    "; this breaks nothing if the Nodes have the label `{}`, which kubeadm and kOps set on control-plane nodes: check with --nodes",
                    nodes::EXCLUDED_FROM_LOAD_BALANCERS
                ));
            }
            let others = members.iter().skip(1).map(|m| region.bare(ResourceKind::Instance, &m.instance.id));
            Some(
                Violation::new(members_severity(context, &members), region.resource(Tagged::Instance(first.instance)), message, fix)
                    .related(groups.iter().map(|id| region.bare(ResourceKind::SecurityGroup, id)))
                    .related(others)
                    .cause(Cause::Group(Key::from_parts(groups))),
            )
        })
        .collect()
}

/// Members whose only group is this one.
fn only_group<'r, 'a>(region: &'r RegionView<'a>) -> BTreeMap<&'a str, Vec<&'r Member<'a>>> {
    let mut map: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
    for member in &region.members {
        if let [one] = member.instance.security_groups.as_slice() {
            map.entry(one).or_default().push(member);
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cloud-provider-aws `TestFindSecurityGroupForInstance*`, with the rows that follow from the function. The AWS
    /// Load Balancer Controller (`resolveEndpointSGForENI`) decides its rows in the same way, except for an instance
    /// without any group, which it treats as an error.
    #[test]
    fn the_group_is_found_as_the_cloud_controller_does() {
        let cases: &[(&[&str], &[&str], NodeGroup<'_>)] = &[
            (&["sg1"], &["sg1"], NodeGroup::One("sg1")),
            (&["sg1", "sg1"], &["sg1"], NodeGroup::SeveralTagged(vec!["sg1", "sg1"])),
            (&["sg1", "sg2"], &["sg1"], NodeGroup::One("sg1")),
            (&["sg1", "sg2"], &["sg1", "sg2"], NodeGroup::SeveralTagged(vec!["sg1", "sg2"])),
            (&["sg1", "sg2", "sg3", "sg4"], &["sg3"], NodeGroup::One("sg3")),
            (&["sg1"], &[], NodeGroup::One("sg1")),
            (&["sg1", "sg2"], &[], NodeGroup::SeveralUntagged(vec!["sg1", "sg2"])),
            (&[], &["sg1"], NodeGroup::None),
            (&["", "sg1"], &["sg1"], NodeGroup::One("sg1")),
        ];
        for (attached, tagged, expected) in cases {
            let attached: Vec<String> = attached.iter().map(|id| (*id).to_owned()).collect();
            assert_eq!(node_group(&attached, |id| tagged.contains(&id)), *expected, "{attached:?} {tagged:?}");
        }
    }
}
