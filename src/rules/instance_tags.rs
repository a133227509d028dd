//! The cluster id and the tags that carry it (rule catalogue, section 1.1).

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Applicability, Cause, Choice, Fix, ResourceRef, Severity};
use crate::inventory::{Read, Tag};
use crate::resource::ResourceKind;
use crate::tags::{self, CLUSTER_TAG_PREFIX, ClusterIdError, LEGACY_TAG, NearMiss, OWNED, SHARED};
use crate::text;
use crate::view::{Confidence, Member, NodeRole, RegionView};

use super::{
    Check, Checked, Context, Rule, RuleSeverity, Subjects, Tagged, Violation, caution, has, ids, instances_phrase,
    safe_if_certain,
};

const ANY: &[ResourceKind] = &[
    ResourceKind::Instance,
    ResourceKind::Subnet,
    ResourceKind::Vpc,
    ResourceKind::SecurityGroup,
    ResourceKind::RouteTable,
    ResourceKind::Volume,
    ResourceKind::NetworkInterface,
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "instance-cluster-tag-missing",
        title: "a node's instance lacks the cluster tag",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error; warning when the instance is stopped or only probably a node",
        ),
        resources: &[ResourceKind::Instance],
        condition: "An instance is a node by other evidence (a Kubernetes Node, its Auto Scaling group, instance profile with security group, a tagged security group) and has neither `kubernetes.io/cluster/<ID>` nor `KubernetesCluster=<ID>`. Nodes named `i-…` or with a providerID still initialise, and still miss every load balancer. A Fargate node has no instance.",
        impact: "on a control-plane node the cloud controller exits with `AWS cloud failed to find ClusterID`; a worker is silently never registered with any load balancer, and every sync lists all instances again",
        fix: "Add `kubernetes.io/cluster/<ID>=owned`, and to the Auto Scaling group or launch template too, or the next instance is born without it. Instances with `InstanceMetadataTags=enabled` cannot hold the key: fix that first (`imds-instance-tags-enabled`).",
        applicability: Applicability::Safe,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#initFromTags",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#findInstancesForELB",
            "kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#MeetsCriteria",
            "https://github.com/rancher-archives/rke/issues/1350",
        ],
        example: "instance `i-0a` has no tag `kubernetes.io/cluster/bravo`; it is a node because it is in the Auto Scaling group of other nodes",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(missing),
    },
    Rule {
        id: "instance-cluster-tag-conflict",
        title: "an instance carries the cluster tags of two clusters",
        severity: RuleSeverity::depends(Severity::Error, "error; warning when stopped"),
        resources: &[ResourceKind::Instance],
        condition: "A member has two or more `kubernetes.io/cluster/*` keys with different, non-empty ids. Rancher's node drivers append `kubernetes.io/cluster/<c-…>=owned` to whatever the template already has.",
        impact: "a cloud controller (or in-tree kubelet) on it exits with `Found multiple cluster tags`; on a worker both clusters' clean-up takes the instance for its own",
        fix: "Remove the tag of the other cluster, after making sure that this instance is no node of it.",
        applicability: Applicability::Choice,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#findClusterIDs",
            "https://github.com/rancher/rancher/issues/42588",
        ],
        example: "instance `i-0a` carries cluster tags of bravo, c-x7k2p",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(conflict),
    },
    Rule {
        id: "instance-legacy-tag-mismatch",
        title: "the legacy tag names another cluster",
        severity: RuleSeverity::depends(Severity::Error, "error; warning when stopped"),
        resources: &[ResourceKind::Instance],
        condition: "A member has `KubernetesCluster=x` and `kubernetes.io/cluster/y` with x different from y. Workers are matched by either tag, so there it only breaks in-tree kubelets.",
        impact: "a cloud controller (or in-tree kubelet) on it exits with `clusterID tags did not match`",
        fix: "Set `KubernetesCluster` to the cluster id or remove it. Look first whether a policy has a condition on it: those of kOps do.",
        applicability: Applicability::Choice,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#init",
            "https://github.com/rancher/rancher/issues/17240",
        ],
        example: "instance `i-0a` is tagged `KubernetesCluster=dev01` and `kubernetes.io/cluster/bravo`",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(legacy_mismatch),
    },
    Rule {
        id: "instance-legacy-tag-only",
        title: "only the legacy tag is there",
        severity: RuleSeverity::always(Severity::Info),
        resources: ANY,
        condition: "A resource has `KubernetesCluster=<ID>` and no `kubernetes.io/cluster/<ID>`. Instances whose tags are readable through the metadata service are left out: they cannot hold a key with a slash.",
        impact: "the cloud controller accepts it; the AWS Load Balancer Controller, Cluster API, Karpenter and the EBS CSI driver do not read it",
        fix: "Add `kubernetes.io/cluster/<ID>=owned`: the legacy tag means owned.",
        applicability: Applicability::Confirm,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasClusterTag",
            "https://github.com/siderolabs/contrib/issues/70",
        ],
        example: "2 instances carry `KubernetesCluster=bravo` and no `kubernetes.io/cluster/bravo`",
        reads: &[],
        subjects: Subjects::Region,
        check: Check::Region(legacy_only),
    },
    Rule {
        id: "cluster-tag-empty-id",
        title: "a cluster tag without a cluster id",
        severity: RuleSeverity::depends(Severity::Error, "error on instances, warning elsewhere"),
        resources: ANY,
        condition: "A member instance, or a subnet, VPC, security group or route table of the cluster's VPCs, has a key that is exactly `kubernetes.io/cluster/`.",
        impact: "the cloud controller fails or not depending on the order in which EC2 returns the tags; a subnet with it counts as another cluster's and is never used",
        fix: "Remove the tag; add the right one first where it is missing.",
        applicability: Applicability::Confirm,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#findClusterIDs",
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasNoClusterPrefixTag",
        ],
        example: "subnet `subnet-0a` has the tag key `kubernetes.io/cluster/` without an id",
        reads: &[],
        subjects: Subjects::Region,
        check: Check::Region(empty_id),
    },
    Rule {
        id: "cluster-tag-value-invalid",
        title: "the value of the cluster tag is neither owned nor shared",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error on a security group of a load balancer, but info where the value is empty there, which the controller repairs; else warning",
        ),
        resources: ANY,
        condition: "`kubernetes.io/cluster/<ID>` is there with a value other than exactly `owned` or `shared`. Seen in the wild: `member` (kubespray), `1` (Gardener), `true` (Kubernetes 1.7), empty.",
        impact: "the cloud controller ignores the value, but deletion, garbage collection and the AWS Load Balancer Controller do not; on a security group that the controller made, it stops the load balancer from being synced",
        fix: "Set `owned` on instances and where only case or space differs; else choose `owned` or `shared`.",
        applicability: Applicability::Confirm,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasClusterTagOwned",
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#readRepairClusterTags",
            "kubernetes-sigs/aws-load-balancer-controller pkg/networking/networking_manager.go#fetchEndpointSGsFromAWS",
        ],
        example: "subnet `subnet-0a` has `kubernetes.io/cluster/bravo=Owned`",
        reads: &[],
        subjects: Subjects::Region,
        check: Check::Region(value_invalid),
    },
    Rule {
        id: "cluster-tag-near-miss",
        title: "a tag looks like the cluster tag and is not",
        severity: RuleSeverity::depends(Severity::Error, "error where the exact key is missing, else warning"),
        resources: ANY,
        condition: "A key differs from `kubernetes.io/cluster/<ID>` in case, white space, a slash at the end or its separator; the id stands in the value; a placeholder was left in; or the id is within two letters of the audited one and has no other resource in the account.",
        impact: "the resource counts as untagged: every comparison in the controllers is exact",
        fix: "Add the right key, then remove the wrong one.",
        applicability: Applicability::Confirm,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags_test.go#TestHasClusterTag",
            "https://github.com/rancher/rancher/issues/42588",
            "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go#isSubnetContainsEligibleClusterTag",
        ],
        example: "instance `i-0a` has the key `Kubernetes.io/cluster/bravo`, which differs in case",
        reads: &[Read::DescribeInstances],
        subjects: Subjects::Region,
        check: Check::Region(near_miss),
    },
    Rule {
        id: "cluster-id-unexpected",
        title: "the cluster id is used nowhere, or another one is used instead",
        severity: RuleSeverity::always(Severity::Error),
        resources: &[ResourceKind::Cluster],
        condition: "Nothing that was read carries the id, or at least half of the instances of a VPC or Auto Scaling group in which members live carry one other id. Rancher's nodes carry `c-…` or `c-m-…`, not the display name.",
        impact: "every audit and every controller that is given this id looks at the wrong cluster",
        fix: "Run `tagaudit clusters` to see which ids there are.",
        applicability: Applicability::None,
        sources: &[
            "https://github.com/rancher/docs/issues/2521",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#newAWSCloud2",
        ],
        example: "no resource is tagged for `brvo`; the ids in the account are alpha, bravo",
        reads: &[Read::DescribeInstances, Read::DescribeSubnets, Read::DescribeVpcs, Read::DescribeSecurityGroups],
        subjects: Subjects::Cluster,
        check: Check::Cluster(id_unexpected),
    },
    Rule {
        id: "controlplane-cluster-id-disagreement",
        title: "control-plane instances carry different cluster ids",
        severity: RuleSeverity::always(Severity::Error),
        resources: &[ResourceKind::Instance],
        condition: "The ids that a controller would read on the control-plane instances are not one and the same; no id counts as one.",
        impact: "the cluster id changes with the controller's leader, and with it the names of load balancers, security groups and target groups",
        fix: "Give every control-plane instance the same cluster tag.",
        applicability: Applicability::Choice,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#newAWSCloud2"],
        example: "control-plane instances disagree: `bravo` on i-0a, none on i-0b",
        reads: &[Read::DescribeInstances],
        subjects: Subjects::Members,
        check: Check::Region(id_disagreement),
    },
    Rule {
        id: "lbc-cluster-name-mismatch",
        title: "a controller beside this one runs under another cluster name",
        severity: RuleSeverity::always(Severity::Warning),
        resources: &[ResourceKind::SecurityGroup, ResourceKind::Volume],
        condition: "In a VPC (or zone, for volumes) where only this cluster's nodes live, a security group on a network interface of a member or load balancer carries `elbv2.k8s.aws/cluster=N`, or a volume that is attached to a member `ebs.csi.aws.com/cluster-name=N`, N is not the audited id, and no instance is tagged for N.",
        impact: "the AWS Load Balancer Controller discovers subnets by the wrong name and leaves its load balancers behind; the EBS CSI driver tags volumes for another cluster",
        fix: "Set `--cluster-name` (Load Balancer Controller) or `--k8s-tag-cluster-id` (EBS CSI driver) to the cluster id.",
        applicability: Applicability::None,
        sources: &[
            "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/tracking/provider.go",
            "kubernetes-sigs/aws-ebs-csi-driver docs/tagging.md",
            "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2733",
        ],
        example: "2 resources carry `elbv2.k8s.aws/cluster=brvo`, and no node is tagged for that name",
        reads: &[
            Read::DescribeInstances,
            Read::DescribeSecurityGroups,
            Read::DescribeVolumes,
            Read::DescribeNetworkInterfaces,
        ],
        subjects: Subjects::Region,
        check: Check::Region(lbc_mismatch),
    },
];

/// Whether the tags of a resource are readable through the metadata service.
fn tags_are_readable(resource: Tagged<'_>) -> bool {
    matches!(resource, Tagged::Instance(instance) if caution::forbids_slash(instance))
}

fn missing(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let id = context.cluster_id();
    let key = context.cluster_key();
    let untagged = region.members.iter().filter(|member| {
        // A near miss is reported as what it is.
        let near = |tag: &Tag| tags::near_miss(tag, id).is_some_and(NearMiss::is_certain);
        !tags::has_cluster_tag(&member.instance.tags, id) && !member.instance.tags.iter().any(near)
    });
    let severity = |member: &Member<'_>| match member.evidence.confidence() {
        Confidence::Probable => Severity::Warning,
        Confidence::Strong | Confidence::Certain => Severity::Error,
    };
    region.grouped(untagged, severity, |members| {
        let why: BTreeSet<_> = members.iter().map(|member| member.evidence).collect();
        let why = why.into_iter().map(|evidence| evidence.describe().to_owned()).collect::<Vec<_>>().join(", or ");
        let mut message =
            format!("{} {} no tag `{key}`; taken for a node because {why}", instances_phrase(members), has(members));
        if let Some(group) = members.first().and_then(|member| member.auto_scaling_group()) {
            message.push_str(&format!(" (Auto Scaling group `{group}`)"));
        }
        let summary = format!("add `{key}={OWNED}`");
        if members.iter().any(|member| caution::forbids_slash(member.instance)) {
            return (
                message,
                Fix::none("turn instance metadata tags off first: EC2 refuses the key while they are on"),
            );
        }
        let foreign: BTreeSet<&str> =
            members.iter().flat_map(|member| crate::view::instance_clusters(&member.instance.tags)).collect();
        if !foreign.is_empty() {
            // A second cluster tag would stop the controller of the cluster that they are tagged for.
            let foreign: Vec<&str> = foreign.into_iter().collect();
            message.push_str(&format!("; tagged for {}", text::list(&foreign, 3)));
            let question =
                format!("check the cluster id first: these nodes are tagged for {}", text::list(&foreign, 3));
            return (message, Fix::choose(question, Vec::new()));
        }
        let changes = region.set_tag(ResourceKind::Instance, ids(members), &key, OWNED);
        // Where nothing carries the id yet, the id itself may be the mistake.
        let known = region.tagged().any(|resource| tags::has_cluster_tag(resource.tags(), id));
        let applicability = if known { safe_if_certain(members) } else { Applicability::Confirm };
        (message, Fix::with(applicability, summary, changes))
    })
}

fn conflict(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let foreign = |member: &Member<'_>| -> Vec<Tag> {
        let has_own = tags::cluster_value(&member.instance.tags, own).is_some();
        let others = member.instance.tags.iter().filter(|tag| {
            tag.key.strip_prefix(CLUSTER_TAG_PREFIX).is_some_and(|id| !id.is_empty() && id != own)
                && tags::near_miss(tag, own).is_none_or(|miss| miss == NearMiss::SimilarId)
        });
        let others: Vec<Tag> = others.cloned().collect();
        if has_own || others.len() > 1 { others } else { Vec::new() }
    };
    let mut by_ids: BTreeMap<(String, String), Vec<&Member<'_>>> = BTreeMap::new();
    for member in &region.members {
        let others = foreign(member);
        if !others.is_empty() {
            let names: Vec<_> = others.iter().filter_map(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX)).collect();
            let values: Vec<_> = others.iter().map(|tag| tag.value.as_str()).collect();
            by_ids.entry((names.join(", "), values.join(", "))).or_default().push(member);
        }
    }
    let mut violations = Vec::new();
    for ((names, values), members) in by_ids {
        let found: Vec<Violation> = region.grouped(
            members,
            |_| Severity::Error,
            |members| {
                let message = format!(
                    "{} {} cluster tags of other clusters beside `{own}`: {}",
                    instances_phrase(members),
                    if members.len() == 1 { "carries" } else { "carry" },
                    text::printable(&names)
                );
                let mut changes = Vec::new();
                if let Some(first) = members.first() {
                    let foreign = foreign(first);
                    changes.extend(
                        foreign.iter().flat_map(|tag| region.remove_tag(ResourceKind::Instance, ids(members), tag)),
                    );
                }
                let mut choices =
                    vec![Choice::with(own, format!("they are nodes of `{own}`: remove the other tags"), changes)];
                let others = members.first().map(|first| foreign(first)).unwrap_or_default();
                // Nodes of the other cluster only where there is just one that they can belong to.
                if let [other] = others.as_slice()
                    && let Some(id) = other.key.strip_prefix(CLUSTER_TAG_PREFIX)
                {
                    let own_tags = |member: &&Member<'_>| {
                        let tag = member.instance.tags.iter().find(|tag| tag.key == tags::cluster_key(own))?;
                        Some(region.remove_tag(ResourceKind::Instance, [&member.instance.id], tag))
                    };
                    let changes = members.iter().filter_map(own_tags).flatten().collect();
                    choices.push(Choice::with(
                        id,
                        format!("they are nodes of `{id}`: remove the tag of `{own}`"),
                        changes,
                    ));
                }
                (message, Fix::choose("decide which cluster these instances belong to", choices))
            },
        );
        violations.extend(found.into_iter().map(|violation| violation.with_respect_to(format!("{names} {values}"))));
    }
    violations.into()
}

fn legacy_mismatch(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut by_ids: BTreeMap<(&str, Vec<&str>), Vec<&Member<'_>>> = BTreeMap::new();
    for member in &region.members {
        let tags_ = &member.instance.tags;
        let Some(legacy) = tags::value(tags_, LEGACY_TAG).filter(|id| !id.is_empty()) else { continue };
        let new: Vec<&str> = tags::cluster_ids(tags_).map(|(id, _)| id).collect();
        let matched = legacy == own && new.contains(&own);
        if !matched && new.iter().any(|id| *id != legacy) {
            by_ids.entry((legacy, new)).or_default().push(member);
        }
    }
    let mut violations = Vec::new();
    for ((legacy, new), members) in by_ids {
        let describe = |members: &[&Member<'_>]| {
            let message = format!(
                "{} {} `{LEGACY_TAG}={}` and the cluster tag of {}",
                instances_phrase(members),
                has(members),
                text::printable(legacy),
                text::list(&new, 3)
            );
            if legacy == own {
                let question = format!("add the cluster tag of `{own}` and remove that of {}", text::list(&new, 3));
                let mut changes = region.set_tag(ResourceKind::Instance, ids(members), &context.cluster_key(), OWNED);
                for member in members {
                    let others = member.instance.tags.iter().filter(|tag| {
                        tag.key.strip_prefix(CLUSTER_TAG_PREFIX).is_some_and(|id| !id.is_empty() && id != own)
                    });
                    let id = &member.instance.id;
                    changes.extend(others.flat_map(|tag| region.remove_tag(ResourceKind::Instance, [id], tag)));
                }
                let choice = Choice::with(own, format!("the instances are nodes of `{own}`"), changes);
                return (message, Fix::choose(question, vec![choice]));
            }
            let set = region.set_tag(ResourceKind::Instance, ids(members), LEGACY_TAG, own);
            let tag = Tag { key: LEGACY_TAG.to_owned(), value: legacy.to_owned() };
            let remove = region.remove_tag(ResourceKind::Instance, ids(members), &tag);
            let choices = vec![
                Choice::with("set", format!("the instances are nodes of `{own}`: overwrite the legacy tag"), set),
                Choice::with("remove", "nothing uses the legacy tag: remove it", remove),
            ];
            (message, Fix::choose(format!("set `{LEGACY_TAG}` to `{own}`, or remove it"), choices))
        };
        let found: Vec<Violation> = region.grouped(members, |_| Severity::Error, describe);
        violations.extend(
            found.into_iter().map(|violation| violation.with_respect_to(format!("{legacy} {}", new.join(" ")))),
        );
    }
    violations.into()
}

fn legacy_only(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let mut by_kind: BTreeMap<ResourceKind, Vec<Tagged<'_>>> = BTreeMap::new();
    for resource in region.tagged() {
        let legacy = tags::value(resource.tags(), LEGACY_TAG) == Some(own);
        let readable = tags_are_readable(resource);
        // Beside the tag of another cluster it is a contradiction, which has rules of its own.
        if legacy && !readable && tags::has_no_cluster_prefix_tag(resource.tags()) {
            by_kind.entry(resource.kind()).or_default().push(resource);
        }
    }
    by_kind
        .into_iter()
        .filter_map(|(kind, resources)| {
            let first = resources.first()?;
            let message = format!(
                "{} {} `{LEGACY_TAG}={own}` and no `{key}`",
                text::count(resources.len(), kind.noun()),
                if resources.len() == 1 { "carries" } else { "carry" },
            );
            let ids = resources.iter().map(|resource| resource.id());
            let fix = Fix::with(
                Applicability::Confirm,
                format!("add `{key}={OWNED}`, which is what the legacy tag means"),
                region.set_tag(kind, ids, &key, OWNED),
            );
            let others = resources.iter().skip(1).map(|resource| region.bare(kind, resource.id()));
            Some(
                Violation::new(Severity::Info, region.resource(*first), message, fix)
                    .related(others)
                    .cause(Cause::Group(kind.name().to_owned())),
            )
        })
        .collect()
}

/// Whether a resource is in reach of the cluster: a member, or part of the network the members live in.
fn in_reach(region: &RegionView<'_>) -> impl Fn(Tagged<'_>) -> bool {
    let members: std::collections::HashSet<String> = region.members.iter().map(|m| m.instance.id.clone()).collect();
    let vpcs: BTreeSet<String> = region.member_vpcs().into_iter().map(str::to_owned).collect();
    move |resource| match resource {
        Tagged::Instance(instance) => members.contains(&instance.id),
        Tagged::Subnet(subnet) => vpcs.contains(&subnet.vpc_id),
        Tagged::Vpc(vpc) => vpcs.contains(&vpc.id),
        Tagged::SecurityGroup(group) => group.vpc_id.as_ref().is_some_and(|vpc| vpcs.contains(vpc)),
        Tagged::RouteTable(table) => vpcs.contains(&table.vpc_id),
        Tagged::Volume(_) | Tagged::NetworkInterface(_) => false,
    }
}

fn empty_id(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let reach = in_reach(region);
    region
        .tagged()
        .filter_map(|resource| {
            let tag = resource.tags().iter().find(|tag| tag.key == CLUSTER_TAG_PREFIX)?;
            if !reach(resource) {
                return None;
            }
            let severity = if resource.kind() == ResourceKind::Instance { Severity::Error } else { Severity::Warning };
            let message = format!(
                "{} `{}` has the tag key `{CLUSTER_TAG_PREFIX}` without an id",
                resource.kind().noun(),
                resource.id()
            );
            let fix = Fix::with(
                Applicability::Confirm,
                "remove the tag; it names no cluster",
                region.remove_tag(resource.kind(), [resource.id()], tag),
            );
            Some(Violation::new(severity, region.resource(resource), message, fix))
        })
        .collect()
}

/// Whether the cloud controller made the group for a load balancer.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#buildELBSecurityGroupList`, `aws_loadbalancer.go`.
pub(super) fn is_load_balancer_group(name: &str, description: &str) -> bool {
    name.starts_with("k8s-elb-")
        || description.starts_with("Security group for Kubernetes ELB")
        || description.starts_with("[k8s] Managed SecurityGroup for LoadBalancer")
}

fn value_invalid(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let key = context.cluster_key();
    // One wrong template writes one wrong value on everything it makes: one finding per kind and value.
    let mut groups: BTreeMap<(ResourceKind, String, bool), Vec<Tagged<'_>>> = BTreeMap::new();
    for resource in region.tagged() {
        let Some(value) = tags::cluster_value(resource.tags(), own) else { continue };
        let of_load_balancer =
            matches!(resource, Tagged::SecurityGroup(group) if is_load_balancer_group(&group.name, &group.description));
        // To the controller, `shared` on a group it made is another cluster's.
        if value != OWNED && (value != SHARED || of_load_balancer) {
            groups.entry((resource.kind(), value.to_owned(), of_load_balancer)).or_default().push(resource);
        }
    }
    groups
        .into_iter()
        .filter_map(|((kind, value, of_load_balancer), resources)| {
            let first = resources.first()?;
            let meant = value.trim().to_lowercase();
            let lawful = if of_load_balancer {
                Some(OWNED.to_owned())
            } else if [OWNED, SHARED].contains(&meant.as_str()) {
                Some(meant)
            } else {
                (kind == ResourceKind::Instance).then(|| OWNED.to_owned())
            };
            let ids = || resources.iter().map(|resource| resource.id());
            let set = |value: &str| region.set_tag(kind, ids(), &key, value);
            let fix = if let Some(lawful) = lawful {
                Fix::with(Applicability::Confirm, format!("set the value to `{lawful}`"), set(&lawful))
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
            let lawful = if of_load_balancer { format!("`{OWNED}`") } else { format!("`{OWNED}` or `{SHARED}`") };
            let message = format!("{what} {shown} in `{key}` instead of {lawful}");
            // An empty value is one that the controller sets itself.
            let severity = match (of_load_balancer, value.is_empty()) {
                (true, true) => Severity::Info,
                (true, false) => Severity::Error,
                (false, _) => Severity::Warning,
            };
            let others = resources.iter().skip(1).map(|resource| region.bare(kind, resource.id()));
            let of = if of_load_balancer { "load balancer group" } else { kind.name() };
            let cause = Cause::Pair(of.to_owned(), value);
            Some(Violation::new(severity, region.resource(*first), message, fix).related(others).cause(cause))
        })
        .collect()
}

fn near_miss(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let reach = in_reach(region);
    // How often each id is used as a cluster of its own: a similar id that others use is simply another cluster.
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for resource in region.tagged() {
        for id in super::super::view::instance_clusters(resource.tags()) {
            *uses.entry(id).or_default() += 1;
        }
    }
    type Group = (String, ResourceKind, bool, &'static str);
    let mut groups: BTreeMap<Group, Vec<(Tagged<'_>, &Tag, NearMiss)>> = BTreeMap::new();
    for resource in region.tagged() {
        for tag in resource.tags() {
            let Some(miss) = tags::near_miss(tag, own) else { continue };
            if miss == NearMiss::SimilarId {
                let id = tag.key.strip_prefix(CLUSTER_TAG_PREFIX).unwrap_or_default();
                if uses.get(id).copied().unwrap_or(0) > 1 || !tags_near_cluster(resource, &reach, region) {
                    continue;
                }
            } else if !miss.is_certain() && !reach(resource) {
                continue;
            }
            let exact = tags::has_cluster_tag(resource.tags(), own);
            let value = match (resource.kind(), tag.value.as_str()) {
                (ResourceKind::Instance, _) | (_, OWNED) => OWNED,
                _ => SHARED,
            };
            groups.entry((tag.key.clone(), resource.kind(), exact, value)).or_default().push((resource, tag, miss));
        }
    }
    groups
        .into_iter()
        .filter_map(|((wrong, kind, exact, value), found)| {
            let (first, _, miss) = *found.first()?;
            let what = match found.as_slice() {
                [(one, ..)] => format!("{} `{}` has", kind.noun(), one.id()),
                several => format!("{} have", text::count(several.len(), kind.noun())),
            };
            let message = format!("{what} the key `{}`, which {}", text::printable(&wrong), miss.describe());
            let mut changes = Vec::new();
            if !exact {
                let ids = found.iter().map(|(resource, ..)| resource.id());
                changes.extend(region.set_tag(kind, ids, &key, value));
            }
            changes.extend(
                found.iter().flat_map(|(resource, tag, _)| region.remove_tag(resource.kind(), [resource.id()], tag)),
            );
            let summary = if exact {
                "remove the wrong key".to_owned()
            } else {
                format!("add `{key}={value}`, then remove the wrong key")
            };
            let severity = if exact { Severity::Warning } else { Severity::Error };
            let others = found.iter().skip(1).map(|(resource, ..)| region.bare(kind, resource.id()));
            let beside = if exact { "beside the right key".to_owned() } else { format!("for {value}") };
            let cause = Cause::Pair(kind.name().to_owned(), format!("{wrong} {beside}"));
            let readable = found.iter().any(|(resource, ..)| tags_are_readable(*resource));
            let fix = if readable && !exact {
                Fix::none("turn instance metadata tags off first: EC2 refuses the right key while they are on")
            } else if miss.is_certain() {
                Fix::with(Applicability::Confirm, summary, changes)
            } else {
                let choice = Choice::with("replace", format!("the key was meant as `{key}`: {summary}"), changes);
                Fix::choose("decide whether the key was meant for this cluster", vec![choice])
            };
            Some(Violation::new(severity, region.resource(first), message, fix).related(others).cause(cause))
        })
        .collect()
}

/// Whether a resource with a similar id is close enough to the cluster to be a slip: in its network, and not an instance
/// that may simply be another cluster's node elsewhere.
fn tags_near_cluster(resource: Tagged<'_>, reach: &impl Fn(Tagged<'_>) -> bool, region: &RegionView<'_>) -> bool {
    match resource {
        Tagged::Instance(instance) => instance.vpc_id.as_deref().is_some_and(|vpc| region.member_vpcs().contains(vpc)),
        other => reach(other),
    }
}

fn id_unexpected(context: &Context<'_>) -> Checked {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    let cluster = || ResourceRef::bare(ResourceKind::Cluster, own);
    let used = context
        .view
        .regions
        .iter()
        .any(|region| region.tagged().any(|resource| tags::has_cluster_tag(resource.tags(), own)));
    if !used && context.view.members().next().is_none() {
        let mut ids: BTreeSet<&str> = BTreeSet::new();
        for region in &context.view.regions {
            ids.extend(region.tagged().flat_map(|resource| super::super::view::instance_clusters(resource.tags())));
        }
        let ids: Vec<&str> = ids.into_iter().collect();
        let others = if ids.is_empty() {
            "no cluster id at all is in use".to_owned()
        } else {
            format!("the ids in use are {}", text::list(&ids, 10))
        };
        violations.push(Violation::new(
            Severity::Error,
            cluster(),
            format!("nothing that was read is tagged for `{}`; {others}", text::printable(own)),
            Fix::none("run `tagaudit clusters` and scan with one of the ids it lists"),
        ));
        return violations.into();
    }
    for region in &context.view.regions {
        let vpcs = region.member_vpcs();
        let groups: BTreeSet<&str> = region.members.iter().filter_map(Member::auto_scaling_group).collect();
        let mut counts: BTreeMap<(&str, &str), BTreeMap<Option<&str>, usize>> = BTreeMap::new();
        for instance in region.region.instances.iter().filter(|instance| instance.state.is_live()) {
            let id = if tags::has_cluster_tag(&instance.tags, own) {
                Some(own)
            } else {
                super::super::view::instance_clusters(&instance.tags).next()
            };
            if let Some(vpc) = instance.vpc_id.as_deref().filter(|vpc| vpcs.contains(vpc)) {
                *counts.entry(("VPC", vpc)).or_default().entry(id).or_default() += 1;
            }
            if let Some(group) =
                tags::value(&instance.tags, crate::view::AUTO_SCALING_GROUP_TAG).filter(|group| groups.contains(group))
            {
                *counts.entry(("Auto Scaling group", group)).or_default().entry(id).or_default() += 1;
            }
        }
        for ((kind, name), ids) in counts {
            let all: usize = ids.values().sum();
            let ours = ids.get(&Some(own)).copied().unwrap_or(0);
            let dominant = ids
                .iter()
                .filter_map(|(id, count)| id.filter(|id| *id != own).map(|id| (id, *count)))
                .max_by_key(|(_, count)| *count);
            // Two clusters may share a VPC, and a small one beside a large one is no defect; a group belongs to one.
            let odd = |count: usize| count * 2 >= all && (ours == 0 || kind != "VPC");
            let Some((other, count)) = dominant.filter(|(_, count)| odd(*count)) else { continue };
            let message = format!(
                "{kind} `{}` holds {} of `{}` and {ours} of `{}`",
                text::printable(name),
                text::count(count, "instance"),
                text::printable(other),
                text::printable(own)
            );
            let mut violation = Violation::new(
                Severity::Error,
                cluster(),
                message,
                Fix::none("check whether the other id is the one that was meant"),
            );
            violation.resource.region = Some(region.region.name.clone());
            violation.resource.account_id = Some(region.account.account_id.clone());
            violations.push(violation.cause(Cause::Pair(format!("{kind} {name}"), other.to_owned())));
        }
    }
    violations.into()
}

fn id_disagreement(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
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
        return Checked::NotApplicable("of no node it is known for certain that it is of the control plane");
    }
    let Some(first) = ids.values().flatten().next().filter(|_| ids.len() > 1) else { return Checked::clean() };
    let told: Vec<String> = ids
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
            format!("control-plane instances disagree on the cluster id: {}", told.join(", ")),
            fix,
        )
        .related(others)
        .cause(Cause::Group("controlplane".to_owned())),
    ]
    .into()
}

fn lbc_mismatch(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let reach = in_reach(region);
    let live = || region.region.instances.iter().filter(|instance| instance.state.is_live());
    let other_nodes: BTreeSet<&str> = live()
        .flat_map(|instance| super::super::view::instance_clusters(&instance.tags))
        .filter(|id| *id != own)
        .collect();
    // With another cluster about, its controllers may well run under a name of their own.
    if region.members.is_empty() || !other_nodes.is_empty() {
        return Checked::NotApplicable("other clusters may run their controllers here under names of their own");
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
            // A detached volume may be what a former cluster left behind.
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
                    .cause(Cause::Pair(key.to_owned(), name)),
            )
        })
        .collect()
}
