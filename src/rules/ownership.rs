//! Owned versus shared across the account (rule catalogue, section 1.6). Owned: the resource goes with its cluster.
//! Shared: several may use it and none deletes it. Source: cloud-provider-aws `pkg/providers/v1/tags.go`.

use std::collections::{BTreeMap, BTreeSet};

use crate::controller::ControllerVersion;
use crate::finding::{Applicability, Cause, Choice, Fix, Severity};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::tags::{self, LEGACY_TAG, OWNED, SHARED};
use crate::text;
use crate::view::RegionView;

use super::instance_tags::is_load_balancer_group;
use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Tagged, Violation, has, ids, instances_phrase};

const NETWORK: &[ResourceKind] =
    &[ResourceKind::Vpc, ResourceKind::Subnet, ResourceKind::SecurityGroup, ResourceKind::RouteTable];
const INSTANCES: Read = Read::DescribeInstances;
const KOPS_OWNED: &str = "kubernetes/kops pkg/resources/aws/tags.go#HasOwnedTag";
const CAPA_GC: &str = "kubernetes-sigs/cluster-api-provider-aws pkg/cloud/services/gc/ec2.go";

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "resource-owned-by-two-clusters",
        title: "two clusters own the same resource",
        severity: RuleSeverity::always(Severity::Error),
        resources: NETWORK,
        condition: "A network resource carries two cluster tags with the value `owned`, one of them this cluster's. Instances are `instance-cluster-tag-conflict`.",
        impact: "deleting either cluster removes the resource from the other: Cluster API collects every security group that is `owned`",
        fix: "Set both to `shared`.",
        applicability: Applicability::Choice,
        sources: &[KOPS_OWNED, CAPA_GC],
        example: "security group `sg-0a` is owned by alpha, bravo",
        reads: &[],
        subjects: Subjects::Region,
        check: Check::Region(owned_by_two),
    },
    Rule {
        id: "resource-owned-and-shared",
        title: "a resource is owned by one cluster and shared with another",
        severity: RuleSeverity::always(Severity::Warning),
        resources: NETWORK,
        condition: "A network resource is `owned` by one cluster and `shared` for another, and one of them is this cluster.",
        impact: "deleting the owner removes the resource that the other one uses",
        fix: "Set the owner's tag to `shared`.",
        applicability: Applicability::Choice,
        sources: &[KOPS_OWNED, CAPA_GC],
        example: "subnet `subnet-0a` is owned by alpha and shared with bravo",
        reads: &[],
        subjects: Subjects::Region,
        check: Check::Region(owned_and_shared),
    },
    Rule {
        id: "resource-owned-used-by-other-cluster",
        title: "a resource owned by one cluster is used by another",
        severity: RuleSeverity::always(Severity::Warning),
        resources: NETWORK,
        condition: "A subnet, security group or route table is `owned` by exactly one cluster, has no tag of the other, and live instances tagged for the other sit in it, have it attached or route through it; one of the two is this cluster. For VPCs: `vpc-owned-by-one-hosts-others`.",
        impact: "deleting the owner removes what the other cluster's nodes need",
        fix: "Set the owner's tag to `shared` and add `shared` for the other.",
        applicability: Applicability::Choice,
        sources: &[KOPS_OWNED, CAPA_GC, "https://github.com/kubernetes/kops/issues/3965"],
        example: "subnet `subnet-0a` is owned by alpha, and nodes of bravo use it",
        reads: &[INSTANCES],
        subjects: Subjects::Region,
        check: Check::Region(owned_used_by_other),
    },
    Rule {
        id: "resource-shared-single-user",
        title: "shared, but only one cluster uses it",
        severity: RuleSeverity::always(Severity::Info),
        resources: &[ResourceKind::Vpc, ResourceKind::Subnet, ResourceKind::SecurityGroup],
        condition: "A resource is `shared` for this cluster alone and no other cluster's instance uses it, while other resources of the same kind are `owned`: the two values are mixed. A cluster that uses `shared` throughout, as the RKE documents give it, is left alone.",
        impact: "nothing; it is not deleted with the cluster",
        fix: "Set it to `owned` only if it should be deleted with the cluster.",
        applicability: Applicability::None,
        sources: &["RKE documentation, AWS cloud provider, Tagging AWS Resources"],
        example: "subnet `subnet-0a` is shared, and 2 other subnets of the cluster are owned",
        reads: &[INSTANCES],
        subjects: Subjects::Region,
        check: Check::Region(shared_single_user),
    },
    Rule {
        id: "instance-shared",
        title: "an instance is tagged shared",
        severity: RuleSeverity::always(Severity::Info),
        resources: &[ResourceKind::Instance],
        condition: "A member carries the cluster tag with the value `shared`.",
        impact: "nothing in the cloud controller; tools that delete clusters leave the instance behind, and the scoped policy of the VPC CNI takes `owned` for the right to change the instance's interfaces",
        fix: "Set it to `owned`: nodes are not shareable.",
        applicability: Applicability::Choice,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasClusterTagOwned"],
        example: "3 instances are tagged `kubernetes.io/cluster/bravo=shared`",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(instance_shared),
    },
    Rule {
        id: "legacy-implies-owned",
        title: "the legacy tag makes a shared resource owned",
        severity: RuleSeverity::depends(
            Severity::Info,
            "info; warning for security groups with controllers from v1.35.0 on",
        ),
        resources: NETWORK,
        condition: "A network resource has `KubernetesCluster=<ID>` beside `kubernetes.io/cluster/<ID>=shared`.",
        impact: "the cloud controller looks at the legacy tag first and takes it for owned; from v1.35.0 on it deletes security groups of load balancers by that, and nothing else",
        fix: "Remove `KubernetesCluster`, unless a policy has a condition on it, as those of kOps do.",
        applicability: Applicability::Choice,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasClusterTagOwned"],
        example: "subnet `subnet-0a` is shared and carries `KubernetesCluster=bravo`",
        reads: &[],
        subjects: Subjects::Region,
        check: Check::Region(legacy_implies_owned),
    },
];

fn network<'r>(region: &'r RegionView<'_>) -> impl Iterator<Item = Tagged<'r>> {
    region.tagged().filter(|resource| resource.is_network())
}

fn owners(resource: Tagged<'_>, value: &str) -> Vec<String> {
    tags::cluster_ids(resource.tags()).filter(|(_, found)| *found == value).map(|(id, _)| id.to_owned()).collect()
}

fn share(region: &RegionView<'_>, resource: Tagged<'_>, clusters: &[String]) -> Fix {
    let changes =
        clusters.iter().flat_map(|id| region.set_tag(resource.kind(), [resource.id()], &tags::cluster_key(id), SHARED));
    Fix::choose(
        "set the tags of all these clusters to `shared`",
        vec![Choice::with(SHARED, "no cluster deletes it", changes.collect())],
    )
}

fn owned_by_two(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    network(region)
        .filter_map(|resource| {
            let owners = owners(resource, OWNED);
            if owners.len() < 2 || !owners.iter().any(|id| id == own) {
                return None;
            }
            let message =
                format!("{} `{}` is owned by {}", resource.kind().noun(), resource.id(), text::list(&owners, 5));
            Some(Violation::new(Severity::Error, region.resource(resource), message, share(region, resource, &owners)))
        })
        .collect()
}

fn owned_and_shared(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    network(region)
        .filter_map(|resource| {
            let (owned, shared) = (owners(resource, OWNED), owners(resource, SHARED));
            let ours = owned.iter().chain(&shared).any(|id| id == own);
            if owned.len() != 1 || shared.is_empty() || !ours {
                return None;
            }
            let message = format!(
                "{} `{}` is owned by {} and shared with {}",
                resource.kind().noun(),
                resource.id(),
                text::list(&owned, 1),
                text::list(&shared, 5)
            );
            Some(Violation::new(Severity::Warning, region.resource(resource), message, share(region, resource, &owned)))
        })
        .collect()
}

/// Clusters whose live instances use each subnet, security group and route table.
fn users<'a>(region: &RegionView<'a>, own: &str) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for instance in region.region.instances.iter().filter(|instance| instance.state.is_live()) {
        let clusters: BTreeSet<&str> =
            crate::view::instance_clusters(&instance.tags).filter(|id| !tags::is_slip(id, own)).collect();
        // An instance with two cluster tags is a finding of its own and proves nothing about who uses what.
        let [cluster] = clusters.into_iter().collect::<Vec<_>>()[..] else { continue };
        let mut add = |id: &'a str| {
            users.entry(id).or_default().insert(cluster);
        };
        instance.security_groups.iter().for_each(|id| add(id));
        if let Some(subnet) = instance.subnet_id.as_deref() {
            add(subnet);
            if let Some(table) = region.subnet(subnet).and_then(|subnet| region.route_table(subnet)) {
                add(&table.id);
            }
        }
        if let Some(vpc) = instance.vpc_id.as_deref() {
            add(vpc);
        }
    }
    users
}

fn owned_used_by_other(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let users = users(region, own);
    network(region)
        .filter(|resource| resource.kind() != ResourceKind::Vpc)
        .filter_map(|resource| {
            let [owner] = &owners(resource, OWNED)[..] else { return None };
            let others: Vec<String> = users
                .get(resource.id())?
                .iter()
                .filter(|id| *id != owner && tags::cluster_value(resource.tags(), id).is_none())
                .map(|id| (*id).to_owned())
                .collect();
            if others.is_empty() || !(owner == own || others.iter().any(|id| id == own)) {
                return None;
            }
            let message = format!(
                "{} `{}` is owned by {}, and nodes of {} use it",
                resource.kind().noun(),
                resource.id(),
                text::printable(owner),
                text::list(&others, 5)
            );
            let mut all = vec![owner.clone()];
            all.extend(others);
            Some(Violation::new(Severity::Warning, region.resource(resource), message, share(region, resource, &all)))
        })
        .collect()
}

fn of_load_balancer(resource: Tagged<'_>) -> bool {
    matches!(resource, Tagged::SecurityGroup(group) if is_load_balancer_group(&group.name, &group.description))
}

fn shared_single_user(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let users = users(region, own);
    let mut by_kind: BTreeMap<ResourceKind, (Vec<Tagged<'_>>, usize)> = BTreeMap::new();
    for resource in network(region).filter(|resource| resource.kind() != ResourceKind::RouteTable) {
        let entry = by_kind.entry(resource.kind()).or_default();
        match tags::cluster_value(resource.tags(), own) {
            // Groups that the controller makes for load balancers are always owned.
            Some(OWNED) => entry.1 += usize::from(!of_load_balancer(resource)),
            Some(SHARED) => {
                let alone = tags::cluster_ids(resource.tags()).count() == 1;
                let used_by_others = users.get(resource.id()).is_some_and(|users| users.iter().any(|id| *id != own));
                if alone && !used_by_others {
                    entry.0.push(resource);
                }
            }
            _ => {}
        }
    }
    by_kind
        .into_iter()
        .filter_map(|(kind, (shared, owned))| {
            let first = shared.first().filter(|_| owned > 0)?;
            let listed: Vec<&str> = shared.iter().map(|resource| resource.id()).collect();
            let message = format!(
                "{} shared and used by this cluster alone ({}), while {} {} owned",
                if shared.len() == 1 {
                    format!("1 {} is", kind.noun())
                } else {
                    format!("{} are", text::count(shared.len(), kind.noun()))
                },
                text::list(&listed, 4),
                text::count(owned, kind.noun()),
                if owned == 1 { "is" } else { "are" }
            );
            let fix = Fix::none("nothing has to be done; `owned` would let tools delete it with the cluster");
            let others = shared.iter().skip(1).map(|resource| region.bare(kind, resource.id()));
            Some(
                Violation::new(Severity::Info, region.resource(*first), message, fix)
                    .related(others)
                    .cause(Cause::Group(kind.name().to_owned())),
            )
        })
        .collect()
}

fn instance_shared(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let shared = region.members.iter().filter(|member| tags::cluster_value(&member.instance.tags, own) == Some(SHARED));
    region.grouped(
        shared,
        |_| Severity::Info,
        |members| {
            let message =
                format!("{} {} `{key}={SHARED}`; nodes cannot be shared", instances_phrase(members), has(members));
            let changes = region.set_tag(ResourceKind::Instance, ids(members), &key, OWNED);
            let owned = Choice::with(OWNED, "tools may delete the instances with the cluster", changes);
            (message, Fix::choose(format!("set it to `{OWNED}`"), vec![owned]))
        },
    )
}

fn legacy_implies_owned(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    network(region)
        .filter(|resource| {
            tags::cluster_value(resource.tags(), own) == Some(SHARED)
                && tags::value(resource.tags(), LEGACY_TAG) == Some(own)
        })
        .map(|resource| {
            let message = format!(
                "{} `{}` is shared and carries `{LEGACY_TAG}={}`, which means owned",
                resource.kind().noun(),
                resource.id(),
                text::printable(own)
            );
            let tag = resource.tags().iter().find(|tag| tag.key == LEGACY_TAG);
            let changes =
                tag.into_iter().flat_map(|tag| region.remove_tag(resource.kind(), [resource.id()], tag)).collect();
            let fix = Fix::choose(
                format!("remove `{LEGACY_TAG}` if no policy has a condition on it"),
                vec![Choice::with("remove", format!("remove `{LEGACY_TAG}`"), changes)],
            );
            let deletes = context
                .controller_version
                .is_none_or(|version| "1.35.0".parse::<ControllerVersion>().is_ok_and(|first| version >= first));
            let severity = if resource.kind() == ResourceKind::SecurityGroup && deletes {
                Severity::Warning
            } else {
                Severity::Info
            };
            Violation::new(severity, region.resource(resource), message, fix)
        })
        .collect()
}
