//! Security groups (rule catalogue, section 1.4): which one the controllers edit, and when they cannot tell.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Applicability, Cause, Choice, Fix, Severity};
use crate::inventory::{Read, SecurityGroup};
use crate::nodes;
use crate::resource::ResourceKind;
use crate::tags::{self, OWNED, SHARED};
use crate::text;
use crate::transition::Transition;
use crate::view::{Member, NodeRole, RegionView};

use super::instance_tags::is_load_balancer_group;
use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Tagged, Violation, instances_phrase};

const GROUP: &[ResourceKind] = &[ResourceKind::SecurityGroup];
const INSTANCE: &[ResourceKind] = &[ResourceKind::Instance];
const INSTANCES: Read = Read::DescribeInstances;
const GROUPS: Read = Read::DescribeSecurityGroups;
const INTERFACES: Read = Read::DescribeNetworkInterfaces;
const FIND_GROUP: &str = "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findSecurityGroupForInstance";
/// Ingress rules per group that EC2 allows by default (AWS documentation, Amazon VPC quotas); accounts can raise it.
const DEFAULT_RULE_QUOTA: usize = 60;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "sg-multiple-tagged-on-instance",
        title: "several security groups of a node carry the cluster tag",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error; warning when stopped, or on machines of the control plane alone while no list of Nodes says whether load balancers leave them out",
        ),
        resources: INSTANCE,
        condition: "More than one security group attached to a member carries the cluster tag; its value does not matter, and a group listed twice counts twice. Nodes with the label `node.kubernetes.io/exclude-from-external-load-balancers` and, with `--nodes`, machines that are no Nodes are left out. The annotation `service.beta.kubernetes.io/aws-load-balancer-target-node-labels` of a Service may leave out more, which cannot be seen here.",
        impact: "the first such node stops the sync of every LoadBalancer Service with `Multiple tagged security groups found for instance`",
        fix: "Remove the tag from all but one of the groups; do not detach them. Tagged groups on load balancers are normal. EKS puts the tag of its cluster group back: keep that one.",
        applicability: Applicability::Choice,
        sources: &[
            FIND_GROUP,
            "https://github.com/kubernetes/kubernetes/issues/73906",
            "https://github.com/kubernetes/cloud-provider-aws/issues/666",
        ],
        example: "2 security groups of 3 instances carry `kubernetes.io/cluster/bravo`: sg-0a, sg-0b",
        reads: &[INSTANCES, GROUPS],
        subjects: Subjects::Members,
        check: Check::Region(multiple_tagged),
    },
    Rule {
        id: "sg-none-tagged-multiple-attached",
        title: "a node has several security groups and none is tagged",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error; warning when stopped, or on machines of the control plane alone while no list of Nodes says whether load balancers leave them out",
        ),
        resources: INSTANCE,
        condition: "Two or more security groups are attached to a member and none carries the cluster tag. Nodes with the label `node.kubernetes.io/exclude-from-external-load-balancers` and, with `--nodes`, machines that are no Nodes are left out.",
        impact: "the first such node stops the sync of every LoadBalancer Service with `Multiple untagged security groups found for instance`",
        fix: "Tag exactly one of the groups.",
        applicability: Applicability::Choice,
        sources: &[
            FIND_GROUP,
            "https://github.com/rancher/rancher/issues/31028",
            "https://github.com/eksctl-io/eksctl/issues/8440",
        ],
        example: "none of the 2 security groups of 3 instances carries `kubernetes.io/cluster/bravo`: sg-0a, sg-0b",
        reads: &[INSTANCES, GROUPS],
        subjects: Subjects::Members,
        check: Check::Region(none_tagged),
    },
    Rule {
        id: "sg-single-untagged",
        title: "the only security group of a node is untagged",
        severity: RuleSeverity::always(Severity::Warning),
        resources: GROUP,
        condition: "A member has exactly one security group, and it carries no cluster tag.",
        impact: "load balancing works, but clean-up only looks at tagged groups: rules of deleted Network Load Balancers stay in the group, and with controllers before v1.32.0 those of Classic ones too",
        fix: "Add `kubernetes.io/cluster/<ID>=owned`, or `shared` where other clusters' nodes use the group. Rancher's `rancher-nodes` is one per VPC and common to all its clusters.",
        applicability: Applicability::Confirm,
        sources: &[
            FIND_GROUP,
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#updateInstanceSecurityGroupsForNLB",
        ],
        example: "security group `sg-0a`, the only one of 3 instances, has no tag `kubernetes.io/cluster/bravo`",
        reads: &[INSTANCES, GROUPS],
        subjects: Subjects::MemberGroups,
        check: Check::Region(single_untagged),
    },
    Rule {
        id: "sg-foreign-cluster-attached",
        title: "a security group of another cluster is attached to a node",
        severity: RuleSeverity::depends(Severity::Error, "error if it is the only group, else warning"),
        resources: GROUP,
        condition: "A group attached to a member carries the tag of another cluster and not this one's.",
        impact: "it counts as untagged; as the only group, this cluster's controller writes its rules into the other cluster's group",
        fix: "Use a group of this cluster, or tag the group `shared` for both.",
        applicability: Applicability::Choice,
        sources: &[FIND_GROUP, "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3325"],
        example: "security group `sg-0a` of alpha is the only group of 3 instances of `bravo`",
        reads: &[INSTANCES, GROUPS],
        subjects: Subjects::MemberGroups,
        check: Check::Region(foreign_attached),
    },
    Rule {
        id: "sg-tagged-for-several-clusters",
        title: "a node's security group is tagged for several clusters",
        severity: RuleSeverity::always(Severity::Warning),
        resources: GROUP,
        condition: "A group attached to members carries this cluster's tag and another's.",
        impact: "both controllers edit it; two AWS Load Balancer Controllers each take the rules of the other for their own and revoke them",
        fix: "Give each cluster a group of its own.",
        applicability: Applicability::Choice,
        sources: &["https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2185"],
        example: "security group `sg-0a` carries cluster tags of alpha, bravo",
        reads: &[INSTANCES, GROUPS],
        subjects: Subjects::MemberGroups,
        check: Check::Region(several_clusters),
    },
    Rule {
        id: "sg-tagged-unattached",
        title: "a tagged security group is attached to nothing",
        severity: RuleSeverity::always(Severity::Info),
        resources: GROUP,
        condition: "A group with the cluster tag is on no network interface and was not made for a load balancer, while the cluster has nodes. Groups of node groups that are scaled to zero, and those that Karpenter selects, look the same.",
        impact: "nothing; for Network Load Balancers every tagged group of the region is searched for stale rules",
        fix: "Remove the tag or the group.",
        applicability: Applicability::Confirm,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#getTaggedSecurityGroups"],
        example: "security group `sg-0a` carries the cluster tag and is attached to nothing",
        reads: &[INSTANCES, GROUPS, INTERFACES],
        subjects: Subjects::Region,
        check: Check::Region(tagged_unattached),
    },
    Rule {
        id: "sg-tagged-outside-vpc",
        title: "a security group of another VPC carries the cluster tag",
        severity: RuleSeverity::always(Severity::Warning),
        resources: GROUP,
        condition: "A group with the cluster tag lies in a VPC in which no member lives.",
        impact: "the controller's list of tagged groups covers the region, so two clusters that share an id revoke each other's rules",
        fix: "Find out who uses the id in that VPC; remove the tag there.",
        applicability: Applicability::Choice,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#getTaggedSecurityGroups"],
        example: "security group `sg-0a` of VPC `vpc-0b` carries the cluster tag, and no node lives there",
        reads: &[INSTANCES, GROUPS],
        subjects: Subjects::Region,
        check: Check::Region(tagged_outside_vpc),
    },
    Rule {
        id: "sg-rules-near-limit",
        title: "the nodes' security group is nearly full",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning; info beyond the default quota, which must have been raised then",
        ),
        resources: GROUP,
        condition: "A group attached to members has at least 80 percent of the default quota of 60 ingress rules, counted per source.",
        impact: "the controller cannot add the rules of the next load balancer: `RulesPerSecurityGroupLimitExceeded`",
        fix: "Set `DisableSecurityGroupIngress` or `ElbSecurityGroup` in the cloud config, clear stale rules, or raise the quota.",
        applicability: Applicability::None,
        sources: &[
            "https://github.com/kubernetes/kubernetes/issues/74828",
            "kubernetes/cloud-provider-aws pkg/providers/v1/config/config.go",
        ],
        example: "security group `sg-0a` has 55 ingress rules; the default quota is 60",
        reads: &[INSTANCES, GROUPS],
        subjects: Subjects::MemberGroups,
        check: Check::Region(rules_near_limit),
    },
];

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

/// Members by the set of groups that cannot be told apart.
fn undecided<'r>(
    context: &'r Context<'_>,
    region: &'r RegionView<'_>,
    tagged: bool,
) -> BTreeMap<Vec<&'r str>, Vec<&'r Member<'r>>> {
    let is_tagged = is_tagged(region, context.cluster_id());
    let mut sets: BTreeMap<Vec<&str>, Vec<&Member<'_>>> = BTreeMap::new();
    for member in region.members.iter().filter(|member| target(context, member) != Target::Never) {
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

/// Tag by which kOps gives its nodes the label that keeps them out of load balancers.
/// Source: kubernetes/kops `pkg/instancegroups/instancegroups.go`.
const EXCLUDED_BY_KOPS: &str =
    "k8s.io/cluster-autoscaler/node-template/label/node.kubernetes.io/exclude-from-external-load-balancers";

/// Whether a member becomes a target of load balancers: the controllers look at the groups of these only.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#findInstancesForELB`.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Target {
    Yes,
    /// A machine of the control plane alone, which kubeadm and kOps keep out by a label that only the Node shows.
    Unlikely,
    /// No Node, or one with the label that keeps it out.
    Never,
}

fn target(context: &Context<'_>, member: &Member<'_>) -> Target {
    if context.view.nodes.is_some() {
        return match member.node {
            Some(node) if !node.is_excluded_from_load_balancers() => Target::Yes,
            _ => Target::Never,
        };
    }
    if tags::value(&member.instance.tags, EXCLUDED_BY_KOPS).is_some() {
        return Target::Never;
    }
    let roles = member.roles.roles;
    if roles.contains(NodeRole::Controlplane) && !roles.contains(NodeRole::Worker) {
        Target::Unlikely
    } else {
        Target::Yes
    }
}

/// Stopped members break nothing now, and neither do those that are no targets.
fn severity_of(context: &Context<'_>, members: &[&Member<'_>]) -> Severity {
    let bites = |member: &&Member<'_>| !member.is_stopped() && target(context, member) == Target::Yes;
    if members.iter().any(bites) { Severity::Error } else { Severity::Warning }
}

/// Why a group is likely the one to keep, strongest reason first; `None` without a reason.
fn keep_reason(region: &RegionView<'_>, group: &SecurityGroup, cluster_id: &str) -> Option<&'static str> {
    let role = tags::value(&group.tags, "sigs.k8s.io/cluster-api-provider-aws/role");
    if role == Some("lb") {
        return Some("Cluster API keeps the tag on this one");
    }
    if group.name == format!("nodes.{cluster_id}") || group.name == format!("masters.{cluster_id}") {
        return Some("kOps keeps the tag on this one");
    }
    let of_load_balancers = group.ingress.iter().any(|permission| {
        let described = |source: &crate::inventory::RuleSource| {
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
        return Some("its rules already let load balancers in");
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

fn multiple_tagged(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let key = context.cluster_key();
    report_undecided(context, region, true, |groups, members| {
        let message = format!(
            "{} of {} carry `{key}`: {}",
            text::count(groups.len(), "security group"),
            instances_phrase(members),
            text::list(groups, 5)
        );
        let own = context.cluster_id();
        let untag_others = |keep: &str| {
            let mut surplus: Vec<&str> = groups.iter().copied().filter(|id| *id != keep).collect();
            surplus.dedup();
            let marks = surplus.into_iter().filter_map(|id| region.security_group(id)).flat_map(|group| {
                // A legacy tag makes the group count as well.
                let marks = group.tags.iter().filter(|tag| tags::has_cluster_tag(std::slice::from_ref(*tag), own));
                marks.flat_map(|tag| region.remove_tag(ResourceKind::SecurityGroup, [&group.id], tag))
            });
            marks.collect()
        };
        let mut choices = choices(region, groups, own, "keep", untag_others);
        // EKS puts the tag back on the group of the cluster: that one stays.
        let of_eks = |id: &str| {
            region.security_group(id).is_some_and(|group| tags::value(&group.tags, "aws:eks:cluster-name").is_some())
        };
        if choices.iter().any(|choice| of_eks(&choice.value)) {
            choices.retain(|choice| of_eks(&choice.value));
        }
        let keep = choices.first().map(|choice| choice.value.clone()).unwrap_or_default();
        let question = format!("choose the group that stays tagged; to keep {keep}, remove the tag from the others");
        (message, Fix::choose(question, choices))
    })
}

fn none_tagged(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let key = context.cluster_key();
    let own = context.cluster_id();
    let foreign = region.foreign_users(own, |instance| instance.security_groups.iter().map(String::as_str).collect());
    report_undecided(context, region, false, |groups, members| {
        let message = format!(
            "none of the {} of {} carries `{key}`: {}",
            text::count(groups.len(), "security group"),
            instances_phrase(members),
            text::list(groups, 5)
        );
        let tag = |id: &str| {
            let value = if foreign.contains_key(id) { SHARED } else { OWNED };
            region.set_tag(ResourceKind::SecurityGroup, [id], &key, value)
        };
        let choices = choices(region, groups, context.cluster_id(), "tag", tag);
        let pick = choices.first().map(|choice| choice.value.clone()).unwrap_or_default();
        (message, Fix::choose(format!("choose the group that gets `{key}`; the command tags {pick}"), choices))
    })
}

/// One finding for each set of groups among which the controller cannot decide, with all its members.
fn report_undecided(
    context: &Context<'_>,
    region: &RegionView<'_>,
    several: bool,
    describe: impl Fn(&[&str], &[&Member<'_>]) -> (String, Fix),
) -> Checked {
    undecided(context, region, several)
        .into_iter()
        .filter_map(|(groups, members)| {
            let first = members.first()?;
            let (mut message, fix) = describe(&groups, &members);
            if members.iter().all(|member| target(context, member) == Target::Unlikely) {
                message.push_str(&format!(
                    "; this breaks nothing where the Nodes carry the label `{}`, as kubeadm and kOps set it on control-plane nodes: --nodes tells",
                    nodes::EXCLUDED_FROM_LOAD_BALANCERS
                ));
            }
            let others = members.iter().skip(1).map(|m| region.bare(ResourceKind::Instance, &m.instance.id));
            Some(
                Violation::new(severity_of(context, &members), region.resource(Tagged::Instance(first.instance)), message, fix)
                    .related(groups.iter().map(|id| region.bare(ResourceKind::SecurityGroup, id)))
                    .related(others)
                    .cause(Cause::Group(groups.join(" "))),
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

fn single_untagged(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let foreign = region.foreign_users(own, |instance| instance.security_groups.iter().map(String::as_str).collect());
    only_group(region)
        .into_iter()
        .filter_map(|(id, members)| {
            let group = region.security_group(id)?;
            let near = |tag: &crate::inventory::Tag| tags::near_miss(tag, own).is_some_and(tags::NearMiss::is_certain);
            if tags::has_cluster_tag(&group.tags, own)
                || tags::has_foreign_cluster_tag(&group.tags, own)
                || group.tags.iter().any(near)
            {
                return None;
            }
            let value = if foreign.contains_key(id) || group.name == "rancher-nodes" { SHARED } else { OWNED };
            let message =
                format!("security group `{id}`, the only one of {}, has no tag `{key}`", instances_phrase(&members));
            // `owned` lets other tools delete it, and `shared` means that others' nodes have it: a person decides.
            let changes = region.set_tag(ResourceKind::SecurityGroup, [id], &key, value);
            let fix = Fix::with(Applicability::Confirm, format!("add `{key}={value}`"), changes);
            let others = members.iter().map(|member| region.bare(ResourceKind::Instance, &member.instance.id));
            Some(
                Violation::new(Severity::Warning, region.resource(Tagged::SecurityGroup(group)), message, fix)
                    .related(others),
            )
        })
        .collect()
}

fn foreign_attached(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let only = only_group(region);
    region
        .members_by_group()
        .into_iter()
        .filter_map(|(id, members)| {
            let group = region.security_group(id)?;
            if tags::has_cluster_tag(&group.tags, own) || !tags::has_foreign_cluster_tag(&group.tags, own) {
                return None;
            }
            let near = |tag: &crate::inventory::Tag| tags::near_miss(tag, own).is_some_and(tags::NearMiss::is_certain);
            if group.tags.iter().any(near) {
                return None;
            }
            let ids: Vec<&str> = tags::cluster_ids(&group.tags).map(|(id, _)| id).collect();
            let alone = only.get(id).filter(|alone| alone.iter().any(|member| !member.is_stopped()));
            let (severity, of) = match alone {
                Some(alone) => (Severity::Error, format!("is the only group of {}", instances_phrase(alone))),
                None => (Severity::Warning, format!("is attached to {}", instances_phrase(&members))),
            };
            let message =
                format!("security group `{id}` of {} {of} of `{}`", text::list(&ids, 3), text::printable(own));
            let key = context.cluster_key();
            let all = ids.iter().map(|id| tags::cluster_key(id)).chain([key.clone()]);
            let share = all.flat_map(|key| region.set_tag(ResourceKind::SecurityGroup, [id], &key, SHARED)).collect();
            let fix = Fix::choose(
                "decide whose group it is",
                vec![
                    Choice::with(
                        "share",
                        format!("both clusters use it: set the tags of both to `{SHARED}` (`{key}` here)"),
                        share,
                    ),
                    Choice::advice("replace", "the nodes belong in a group of their own cluster"),
                ],
            );
            let others = members.iter().map(|member| region.bare(ResourceKind::Instance, &member.instance.id));
            Some(Violation::new(severity, region.resource(Tagged::SecurityGroup(group)), message, fix).related(others))
        })
        .collect()
}

fn several_clusters(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    region
        .members_by_group()
        .into_iter()
        .filter_map(|(id, members)| {
            let group = region.security_group(id)?;
            let foreign: Vec<&str> = tags::cluster_ids(&group.tags)
                .map(|(id, _)| id)
                .filter(|id| {
                    *id != own
                        && !group.tags.iter().any(|tag| {
                            tag.key == tags::cluster_key(id)
                                && tags::near_miss(tag, own).is_some_and(tags::NearMiss::is_certain)
                        })
                })
                .collect();
            if foreign.is_empty() || tags::cluster_value(&group.tags, own).is_none() {
                return None;
            }
            let message = format!(
                "security group `{id}` of {} carries cluster tags of {} beside `{}`",
                instances_phrase(&members),
                text::list(&foreign, 4),
                text::printable(own)
            );
            let fix = Fix::choose("give each cluster's nodes a group of their own", Vec::new());
            Some(Violation::new(Severity::Warning, region.resource(Tagged::SecurityGroup(group)), message, fix))
        })
        .collect()
}

fn tagged_unattached(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    if region.members.is_empty() {
        return Checked::NotApplicable("no instance is a node of the cluster");
    }
    let vpcs = region.member_vpcs();
    let mut used: BTreeSet<&str> = region
        .network_interfaces()
        .iter()
        .flat_map(|interface| interface.security_groups.iter().map(String::as_str))
        .collect();
    for instance in &region.region.instances {
        used.extend(instance.security_groups.iter().map(String::as_str));
        used.extend(
            instance
                .network_interfaces
                .iter()
                .flat_map(|interface| interface.security_groups.iter().map(String::as_str)),
        );
    }
    region
        .region
        .security_groups
        .iter()
        .filter(|group| tags::has_cluster_tag(&group.tags, own) && !used.contains(group.id.as_str()))
        .filter(|group| group.vpc_id.as_deref().is_some_and(|vpc| vpcs.contains(vpc)))
        .filter(|group| {
            !is_load_balancer_group(&group.name, &group.description)
                && !group.tags.iter().any(|tag| tag.key.starts_with("elbv2.k8s.aws/"))
        })
        .map(|group| {
            let message = format!("security group `{}` carries the cluster tag and is attached to nothing", group.id);
            let tag = group.tags.iter().find(|tag| tag.key == context.cluster_key());
            let tag = tag.into_iter();
            let changes =
                tag.flat_map(|tag| region.remove_tag(ResourceKind::SecurityGroup, [&group.id], tag)).collect();
            let fix = Fix::with(Applicability::Confirm, "remove the tag, or the group, if no node group that is scaled to zero and no Karpenter node class uses it", changes);
            Violation::new(Severity::Info, region.resource(Tagged::SecurityGroup(group)), message, fix)
        })
        .collect()
}

fn tagged_outside_vpc(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let vpcs = region.member_vpcs();
    if vpcs.is_empty() {
        return Checked::NotApplicable("no instance is a node of the cluster");
    }
    region
        .region
        .security_groups
        .iter()
        .filter(|group| tags::has_cluster_tag(&group.tags, own))
        .filter(|group| group.vpc_id.as_deref().is_some_and(|vpc| !vpcs.contains(vpc)))
        .map(|group| {
            let vpc = group.vpc_id.as_deref().unwrap_or_default();
            let message = format!(
                "security group `{}` of VPC `{vpc}` carries the cluster tag, and no node lives there",
                group.id
            );
            let marks = group.tags.iter().filter(|tag| tags::has_cluster_tag(std::slice::from_ref(*tag), own));
            let remove =
                marks.flat_map(|tag| region.remove_tag(ResourceKind::SecurityGroup, [&group.id], tag)).collect();
            let fix = Fix::choose(
                "find out who uses the cluster id in that VPC",
                vec![Choice::with("remove-tag", "nobody: remove the tag", remove)],
            );
            Violation::new(Severity::Warning, region.resource(Tagged::SecurityGroup(group)), message, fix)
        })
        .collect()
}

fn rules_near_limit(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    region
        .members_by_group()
        .into_keys()
        .filter_map(|id| {
            let group = region.security_group(id)?;
            // EC2 counts IPv4 and IPv6 rules apart: each of them has the quota.
            let (mut v4, mut v6) = (0_usize, 0_usize);
            for permission in &group.ingress {
                let of_v6 = permission.ranges.iter().filter(|range| range.source.contains(':')).count();
                v6 += of_v6 + permission.groups.len();
                v4 += permission.ranges.len() - of_v6 + permission.groups.len();
            }
            let rules = v4.max(v6);
            if rules * 5 < DEFAULT_RULE_QUOTA * 4 {
                return None;
            }
            // A prefix list counts with the most entries that it may have, which is not read.
            let lists = group
                .ingress
                .iter()
                .flat_map(|permission| &permission.ranges)
                .filter(|range| range.source.starts_with("pl-"))
                .count();
            let mut message = format!(
                "security group `{id}` has {}; the default quota is {DEFAULT_RULE_QUOTA}",
                text::count(rules, "ingress rule")
            );
            if lists > 0 {
                message.push_str(&format!(
                    "; {} of them count with all entries that they may have",
                    text::count(lists, "prefix list")
                ));
            }
            // More than the default shows that the quota was raised, and not to what.
            let severity = if rules > DEFAULT_RULE_QUOTA { Severity::Info } else { Severity::Warning };
            let fix = Fix::none(
                "clear stale rules, raise the quota, or set `DisableSecurityGroupIngress` in the cloud config",
            );
            Some(Violation::new(severity, region.resource(Tagged::SecurityGroup(group)), message, fix))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cloud-provider-aws `TestFindSecurityGroupForInstance*`, with the rows that follow from the function. The AWS Load
    /// Balancer Controller (`resolveEndpointSGForENI`) decides the rows it has in the same way, but for an instance without
    /// any group, which it takes for an error.
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
