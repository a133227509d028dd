//! Subnets (rule catalogue, section 1.2).

use std::collections::{BTreeMap, BTreeSet};

use crate::controller::ControllerVersion;
use crate::finding::{Applicability, Cause, Choice, Fix, ResourceRef, Severity};
use crate::inventory::{Read, Subnet};
use crate::resource::ResourceKind;
use crate::tags::{self, CLUSTER_TAG_PREFIX, OWNED, ROLE_ELB, ROLE_INTERNAL_ELB, SHARED};
use crate::text;
use crate::view::{Distribution, RegionView};

use super::load_balancer_subnets::{
    Candidate, MINIMUM_FREE_ADDRESSES, Scheme, ZoneChoice, choose_for_load_balancer_controller, choose_subnets,
};
use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Tagged, Violation};

const SUBNET: &[ResourceKind] = &[ResourceKind::Subnet];
const INSTANCES: Read = Read::DescribeInstances;
const SUBNETS: Read = Read::DescribeSubnets;
const TABLES: Read = Read::DescribeRouteTables;
const ZONES: Read = Read::DescribeAvailabilityZones;
const CCM_SUBNETS: &str = "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findELBSubnets";
const LBC_SUBNETS: &str = "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go";

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "subnet-cluster-tag-missing",
        title: "a subnet of the nodes or load balancers has no cluster tag",
        severity: RuleSeverity::depends(
            Severity::Info,
            "info where no subnet of the VPC has a cluster tag, or on kOps and EKS; warning where some have it and some not; error for controllers up to v1.20 with nodes in several zones",
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
        check: Check::Region(cluster_tag_missing),
    },
    Rule {
        id: "subnet-foreign-cluster-tag",
        title: "a subnet is tagged for other clusters only",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error if it leaves a zone of the members without a subnet for load balancers, else info",
        ),
        resources: SUBNET,
        condition: "A subnet in a VPC of the members has cluster tags, none of them this cluster's. A foreign `KubernetesCluster` tag does not count.",
        impact: "neither the cloud controller nor the AWS Load Balancer Controller uses the subnet",
        fix: "Add `kubernetes.io/cluster/<ID>=shared`: several cluster tags on a subnet are fine.",
        applicability: Applicability::Confirm,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasNoClusterPrefixTag",
            LBC_SUBNETS,
            "https://github.com/kubernetes/kops/issues/3275",
        ],
        example: "subnet `subnet-0a` is tagged for alpha only, and 3 nodes of `bravo` live in it",
        reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(foreign_cluster_tag),
    },
    Rule {
        id: "elb-subnets-none-public",
        title: "no subnet for internet-facing load balancers",
        severity: RuleSeverity::depends(Severity::Warning, "warning: a VPC without public subnets may be meant so"),
        resources: &[ResourceKind::Vpc],
        condition: "The controller's algorithm finds no subnet for an internet-facing load balancer in a VPC of the members.",
        impact: "an internet-facing LoadBalancer Service stays pending with `could not find any suitable subnets for creating the ELB`",
        fix: "Give a subnet a route to an internet gateway, or tag the public subnets for this cluster.",
        applicability: Applicability::None,
        sources: &[CCM_SUBNETS, "https://github.com/kubernetes/kubernetes/issues/29298"],
        example: "no subnet of VPC `vpc-0a` can hold an internet-facing load balancer: 3 are private",
        reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(none_public),
    },
    Rule {
        id: "elb-subnets-none-internal",
        title: "no subnet for internal load balancers",
        severity: RuleSeverity::always(Severity::Warning),
        resources: &[ResourceKind::Vpc],
        condition: "The controller's algorithm finds no subnet for an internal load balancer in a VPC of the members: all are tagged for other clusters or lie in local or wavelength zones.",
        impact: "an internal LoadBalancer Service stays pending with `could not find any suitable subnets for creating the ELB`",
        fix: "Tag the subnets for this cluster.",
        applicability: Applicability::None,
        sources: &[CCM_SUBNETS],
        example: "no subnet of VPC `vpc-0a` can hold an internal load balancer: 2 are tagged for other clusters",
        reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(none_internal),
    },
    Rule {
        id: "subnet-az-uncovered",
        title: "nodes run in a zone without a subnet for load balancers",
        severity: RuleSeverity::always(Severity::Warning),
        resources: &[ResourceKind::Vpc],
        condition: "Members live in an availability zone in which the controller finds no subnet for load balancers of a scheme, while it finds some in other zones. Zones whose subnets are tagged for other clusters are `subnet-foreign-cluster-tag`.",
        impact: "the load balancer has no node in that zone, and without cross-zone balancing (off by default) no traffic reaches the nodes there",
        fix: "Make or tag a subnet in that zone, or annotate Services with the subnets to use. Network Load Balancers that exist do not get it: the cloud controller never changes their subnets, so they have to be made anew.",
        applicability: Applicability::Choice,
        sources: &[CCM_SUBNETS],
        example: "4 nodes run in us-east-1c, where internet-facing load balancers get no subnet",
        reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(az_uncovered),
    },
    Rule {
        id: "subnet-az-ambiguous",
        title: "two equal subnets in one zone",
        severity: RuleSeverity::always(Severity::Warning),
        resources: SUBNET,
        condition: "Two or more subnets of a zone are equally good for a scheme: same presence of role tag and cluster tag. The controller takes the smallest id and logs a warning.",
        impact: "which subnet a load balancer lands in is decided by the subnet ids",
        fix: "Tag the intended subnet with the role tag of the scheme; where no subnet of the VPC has it yet, those of every zone together.",
        applicability: Applicability::Choice,
        sources: &[CCM_SUBNETS, "kubernetes-sigs/aws-load-balancer-controller docs/deploy/subnet_discovery.md"],
        example: "subnet-0a wins over subnet-0b for internet-facing load balancers in us-east-1a by its id alone",
        reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(az_ambiguous),
    },
    Rule {
        id: "subnet-role-tag-missing",
        title: "the load balancer role tag is missing",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning if the AWS Load Balancer Controller is in use, else info",
        ),
        resources: SUBNET,
        condition: "A public subnet of the cluster lacks `kubernetes.io/role/elb`, or a private one `kubernetes.io/role/internal-elb`, while others of its kind in the VPC have it. Subnets in local and wavelength zones and on Outposts are left out.",
        impact: "the AWS Load Balancer Controller never uses it as long as another subnet has the tag; the cloud controller prefers the others",
        fix: "Add the tag with the value `1`.",
        applicability: Applicability::Safe,
        sources: &[CCM_SUBNETS, LBC_SUBNETS],
        example: "1 public subnet of VPC `vpc-0a` lacks `kubernetes.io/role/elb`, which 2 others have",
        reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(role_tag_missing),
    },
    Rule {
        id: "subnet-role-tag-value",
        title: "the load balancer role tag has an unusable value or key",
        severity: RuleSeverity::always(Severity::Warning),
        resources: SUBNET,
        condition: "A subnet of the cluster has `kubernetes.io/role/elb` or `kubernetes.io/role/internal-elb` with a value other than `1` or empty, or a key that differs from them in case, white space or a slash at the end.",
        impact: "the AWS Load Balancer Controller ignores the tag; the cloud controller accepts any value but only the exact key",
        fix: "Set the value `1` under the exact key.",
        applicability: Applicability::Confirm,
        sources: &[LBC_SUBNETS],
        example: "subnet `subnet-0a` has `kubernetes.io/role/elb=true`",
        reads: &[INSTANCES, SUBNETS],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(role_tag_value),
    },
    Rule {
        id: "subnet-role-tag-wrong-reachability",
        title: "the load balancer role tag does not fit the subnet's routes",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning for role/elb on a private subnet; info for role/internal-elb on a public one where private ones exist",
        ),
        resources: SUBNET,
        condition: "`kubernetes.io/role/elb` on a subnet without a route to an internet gateway, or `kubernetes.io/role/internal-elb` on one with such a route in a VPC where the cluster has private subnets too. kOps puts the latter on public subnets on purpose when there is nothing else. A route through a firewall (`vpce-…`) counts as private: the cloud controller looks for an internet gateway only, while the AWS Load Balancer Controller uses a subnet with the explicit tag.",
        impact: "the cloud controller drops the private subnet for internet-facing load balancers; the AWS Load Balancer Controller takes it, and the load balancer cannot be reached",
        fix: "Move the tag to a subnet with the right routes, or fix the routes.",
        applicability: Applicability::Choice,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#isSubnetPublic", LBC_SUBNETS],
        example: "subnet `subnet-0a` has `kubernetes.io/role/elb` and no route to an internet gateway",
        reads: &[INSTANCES, SUBNETS, TABLES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(wrong_reachability),
    },
    Rule {
        id: "subnet-low-free-ips",
        title: "a subnet has too few free addresses for a load balancer",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning; error if it is the only subnet of its zone that could be used",
        ),
        resources: SUBNET,
        condition: "A subnet that would hold load balancers has fewer than 8 free IPv4 addresses. The cloud controller does not look.",
        impact: "the AWS Load Balancer Controller leaves the subnet out, and AWS refuses to place a load balancer in it",
        fix: "Free addresses or use another subnet.",
        applicability: Applicability::None,
        sources: &[
            "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go#defaultMinimalAvailableIPAddressCount",
        ],
        example: "subnet `subnet-0a` has 3 free addresses, and a load balancer needs 8",
        reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(low_free_ips),
    },
    Rule {
        id: "subnet-zone-type-unsupported",
        title: "a subnet in a local or wavelength zone or on an Outpost carries load balancer tags",
        severity: RuleSeverity::depends(
            Severity::Info,
            "info; on an Outpost warning, and error if the cloud controller would choose it",
        ),
        resources: SUBNET,
        condition: "A subnet of the cluster whose zone is no ordinary availability zone has a load balancer role tag, or a subnet on an Outpost has one or would be chosen: its zone is an ordinary one, and the cloud controller does not look at the Outpost.",
        impact: "the cloud controller skips local and wavelength zones; on an Outpost, Classic and Network Load Balancers cannot be created; the AWS Load Balancer Controller refuses to mix either with ordinary zones",
        fix: "Remove the role tag there.",
        applicability: Applicability::None,
        sources: &[CCM_SUBNETS, LBC_SUBNETS],
        example: "subnet `subnet-0a` in us-east-1-bos-1a, a local-zone, has `kubernetes.io/role/elb`",
        reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(zone_type),
    },
    Rule {
        id: "subnet-routetable-unresolvable",
        title: "no route table can be seen for a subnet",
        severity: RuleSeverity::always(Severity::Error),
        resources: SUBNET,
        condition: "A subnet that the controller looks at has no associated route table, and no main table of its VPC is visible: as a rule a shared VPC whose tables the account may not see.",
        impact: "the controller stops at it with `could not locate routing table for subnet`, and no load balancer is created at all",
        fix: "Let the account see the route tables, or set the subnets by annotation.",
        applicability: Applicability::None,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#isSubnetPublic"],
        example: "no route table is visible for subnet `subnet-0a`",
        reads: &[INSTANCES, SUBNETS, TABLES],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(routetable_unresolvable),
    },
];

/// Subnets of the VPCs in which members live.
fn subnets_in_reach<'a>(region: &RegionView<'a>) -> Vec<&'a Subnet> {
    let vpcs = region.member_vpcs();
    region.region.subnets.iter().filter(|subnet| vpcs.contains(subnet.vpc_id.as_str())).collect()
}

/// What a VPC offers to load balancers, computed once for a rule.
struct Offer<'a> {
    vpc_id: &'a str,
    candidates: Vec<Candidate<'a>>,
    own_subnet: Option<&'a str>,
}

impl<'a> Offer<'a> {
    fn all(region: &RegionView<'a>) -> Vec<Self> {
        let vpcs = region.member_vpcs().into_iter();
        vpcs.map(|vpc_id| Self {
            vpc_id,
            candidates: region.candidates(vpc_id),
            own_subnet: region.controller_subnet(vpc_id),
        })
        // Where a route table is not visible the controller stops; that is one finding, not a dozen.
        .filter(|offer| {
            offer.candidates.len() == region.region.subnets.iter().filter(|s| s.vpc_id == offer.vpc_id).count()
        })
        .collect()
    }

    fn choose(&self, cluster_id: &str, scheme: Scheme) -> Vec<ZoneChoice<'a>> {
        choose_subnets(&self.candidates, cluster_id, scheme, self.own_subnet)
    }
}

/// `owned` only where every tagged subnet of the cluster already is.
fn lawful_value(region: &RegionView<'_>, cluster_id: &str) -> &'static str {
    let mut values =
        region.region.subnets.iter().filter_map(|subnet| tags::cluster_value(&subnet.tags, cluster_id)).peekable();
    if values.peek().is_some() && values.all(|value| value == OWNED) { OWNED } else { SHARED }
}

fn vpc_resource(region: &RegionView<'_>, vpc_id: &str) -> ResourceRef {
    match region.vpc(vpc_id) {
        Some(vpc) => region.resource(Tagged::Vpc(vpc)),
        None => ResourceRef {
            region: Some(region.region.name.clone()),
            account_id: Some(region.account.account_id.clone()),
            ..ResourceRef::bare(ResourceKind::Vpc, vpc_id)
        },
    }
}

fn cluster_tag_missing(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
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
            // A key that was meant to be the tag is reported as what it is.
            .filter(|subnet| {
                !subnet.tags.iter().any(|tag| tags::near_miss(tag, own).is_some_and(tags::NearMiss::is_certain))
            })
            .collect();
        let Some(first) = bare.first() else { continue };
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
            // Untagged subnets are anybody's: nothing breaks while all are.
            _ => Severity::Info,
        };
        let described: Vec<String> = bare
            .iter()
            .map(|subnet| match hosts.get(subnet.id.as_str()) {
                Some(members) => format!("{} (hosts {})", subnet.id, text::count(members.len(), "node")),
                None => format!("{} (would be chosen for load balancers)", subnet.id),
            })
            .collect();
        let message = format!(
            "{} of VPC `{vpc_id}` {} no cluster tag: {}",
            text::count(bare.len(), "subnet"),
            if bare.len() == 1 { "has" } else { "have" },
            text::list(&described, 4)
        );
        let value = lawful_value(region, own);
        // `owned` lets other tools delete the subnet with the cluster: a person decides.
        let applicability = if value == OWNED { Applicability::Confirm } else { Applicability::Safe };
        let ids = bare.iter().map(|subnet| &subnet.id);
        let changes = region.set_tag(ResourceKind::Subnet, ids, &key, value);
        let fix = Fix::with(applicability, format!("add `{key}={value}`"), changes);
        let others = bare.iter().skip(1).map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
        violations.push(
            Violation::new(severity, region.resource(Tagged::Subnet(first)), message, fix)
                .related(others)
                .cause(Cause::Group(vpc_id.to_owned())),
        );
    }
    violations.into()
}

fn foreign_cluster_tag(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let hosts = region.members_by_subnet();
    let zones_of_members: BTreeSet<_> =
        region.members.iter().filter_map(|m| m.instance.availability_zone.as_deref()).collect();
    let mut covered: BTreeSet<(&str, &str)> = BTreeSet::new();
    for vpc_id in region.member_vpcs() {
        let candidates = region.candidates(vpc_id);
        let choices = choose_subnets(&candidates, own, Scheme::Internal, None);
        covered.extend(choices.iter().map(|choice| (vpc_id, choice.zone)));
    }
    let mut groups: BTreeMap<(std::cmp::Reverse<Severity>, &str, String), Vec<&Subnet>> = BTreeMap::new();
    for subnet in subnets_in_reach(region) {
        if tags::has_cluster_tag(&subnet.tags, own) || tags::has_no_cluster_prefix_tag(&subnet.tags) {
            continue;
        }
        let near = |tag: &crate::inventory::Tag| tags::near_miss(tag, own).is_some_and(tags::NearMiss::is_certain);
        if subnet.tags.iter().any(near) {
            continue;
        }
        let zone = subnet.availability_zone.as_str();
        let uncovers = zones_of_members.contains(zone) && !covered.contains(&(subnet.vpc_id.as_str(), zone));
        // Nodes live in any subnet: the tags of subnets only decide where load balancers go.
        let severity = if uncovers { Severity::Error } else { Severity::Info };
        let ids: Vec<&str> = subnet.tags.iter().filter_map(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX)).collect();
        groups.entry((std::cmp::Reverse(severity), &subnet.vpc_id, text::list(&ids, 4))).or_default().push(subnet);
    }
    groups
        .into_iter()
        .filter_map(|((severity, vpc_id, ids), subnets)| {
            let first = subnets.first()?;
            let uncovers = severity.0 == Severity::Error;
            let nodes: usize = subnets.iter().filter_map(|subnet| hosts.get(subnet.id.as_str())).map(Vec::len).sum();
            let told: Vec<&str> = subnets.iter().map(|subnet| subnet.id.as_str()).collect();
            let named = if ids.is_empty() { "no cluster (an empty id)".to_owned() } else { format!("{ids} only") };
            let be = if subnets.len() == 1 { "is" } else { "are" };
            let mut message = format!(
                "{} of VPC `{vpc_id}` {be} tagged for {named}: {}",
                text::count(subnets.len(), "subnet"),
                text::list(&told, 4)
            );
            if nodes > 0 {
                message.push_str(&format!("; {} of `{}` there", text::count(nodes, "node"), text::printable(own)));
            }
            let known = region.tagged().any(|resource| tags::has_cluster_tag(resource.tags(), own));
            let fix = if severity.0 == Severity::Error && !known {
                Fix::none("check the cluster id first: nothing here is tagged for it")
            } else if severity.0 == Severity::Error {
                let ids = subnets.iter().map(|subnet| &subnet.id);
                Fix::with(
                    Applicability::Confirm,
                    format!("add `{key}={SHARED}`"),
                    region.set_tag(ResourceKind::Subnet, ids, &key, SHARED),
                )
            } else {
                Fix::none(format!(
                    "nothing to do unless `{}` should use these subnets: then add `{key}={SHARED}`",
                    text::printable(own)
                ))
            };
            let others = subnets.iter().skip(1).map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            Some(
                Violation::new(severity.0, region.resource(Tagged::Subnet(first)), message, fix).related(others).cause(
                    Cause::Pair(
                        vpc_id.to_owned(),
                        format!("{ids}{}", if uncovers { " in the zones of nodes" } else { "" }),
                    ),
                ),
            )
        })
        .collect()
}

fn none_public(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    none_of(context, region, Scheme::InternetFacing)
}

fn none_internal(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    none_of(context, region, Scheme::Internal)
}

fn none_of(context: &Context<'_>, region: &RegionView<'_>, scheme: Scheme) -> Checked {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for offer in Offer::all(region) {
        if !offer.choose(own, scheme).is_empty() {
            continue;
        }
        // Why each subnet was dropped, in the order in which the controller drops.
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for candidate in &offer.candidates {
            let tags = &candidate.subnet.tags;
            let reason = if !tags::has_cluster_tag(tags, own) && !tags::has_no_cluster_prefix_tag(tags) {
                "tagged for other clusters"
            } else if scheme == Scheme::InternetFacing && !candidate.is_public {
                "private"
            } else {
                "in no ordinary availability zone"
            };
            *reasons.entry(reason).or_default() += 1;
        }
        let told: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let told = if told.is_empty() { "it has no subnets".to_owned() } else { told.join(", ") };
        let message =
            format!("no subnet of VPC `{}` can hold an {} load balancer: {told}", offer.vpc_id, scheme.name());
        let fix = Fix::none(match scheme {
            Scheme::InternetFacing => {
                "route a subnet to an internet gateway or tag the public ones for this cluster; with internal load balancers only, skip this rule"
            }
            Scheme::Internal => "tag the subnets for this cluster",
        });
        violations.push(Violation::new(Severity::Warning, vpc_resource(region, offer.vpc_id), message, fix));
    }
    violations.into()
}

fn az_uncovered(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for offer in Offer::all(region) {
        let mut uncovered: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for scheme in Scheme::ALL {
            let zones: BTreeSet<&str> = offer.choose(own, scheme).iter().map(|choice| choice.zone).collect();
            if zones.is_empty() {
                continue;
            }
            for member in region.members.iter().filter(|m| m.instance.vpc_id.as_deref() == Some(offer.vpc_id)) {
                let zone = member.instance.availability_zone.as_deref();
                let ordinary = member
                    .instance
                    .subnet_id
                    .as_deref()
                    .and_then(|id| region.subnet(id))
                    .is_none_or(|s| region.is_ordinary_zone(s));
                if let Some(zone) = zone.filter(|zone| ordinary && !zones.contains(zone)) {
                    let schemes = uncovered.entry(zone).or_default();
                    if !schemes.contains(&scheme.name()) {
                        schemes.push(scheme.name());
                    }
                }
            }
        }
        for (zone, schemes) in uncovered {
            let nodes = region.members.iter().filter(|m| {
                m.instance.vpc_id.as_deref() == Some(offer.vpc_id)
                    && m.instance.availability_zone.as_deref() == Some(zone)
            });
            // Subnets there that are tagged for other clusters only are the cause, and a finding of their own.
            let foreign = |subnet: &Subnet| {
                !tags::has_cluster_tag(&subnet.tags, own) && !tags::has_no_cluster_prefix_tag(&subnet.tags)
            };
            let hosts = region.members_by_subnet();
            let told = offer.candidates.iter().any(|c| {
                c.subnet.availability_zone == zone
                    && foreign(c.subnet)
                    && (hosts.contains_key(c.subnet.id.as_str()) || schemes.contains(&Scheme::Internal.name()))
            });
            if told {
                continue;
            }
            let there: Vec<&Subnet> =
                offer.candidates.iter().map(|c| c.subnet).filter(|subnet| subnet.availability_zone == zone).collect();
            let message = format!(
                "{} in {zone}, where {} load balancers get no subnet",
                text::count(nodes.count(), "node"),
                schemes.join(" and ")
            );
            let fix = Fix::choose(
                "make a subnet for load balancers in this zone, or tag one",
                there.iter().map(|subnet| Choice::advice(&subnet.id, format!("use {}", subnet.id))).collect(),
            );
            let others = there.iter().map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            violations.push(
                Violation::new(Severity::Warning, vpc_resource(region, offer.vpc_id), message, fix)
                    .related(others)
                    .cause(Cause::Pair(offer.vpc_id.to_owned(), zone.to_owned())),
            );
        }
    }
    violations.into()
}

fn az_ambiguous(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for offer in Offer::all(region) {
        for scheme in Scheme::ALL {
            for choice in offer.choose(own, scheme).into_iter().filter(|choice| !choice.equals.is_empty()) {
                let losers: Vec<&str> = choice.equals.iter().map(|subnet| subnet.id.as_str()).collect();
                let message = format!(
                    "{} wins over {} for {} load balancers in {} by its id alone",
                    choice.chosen.id,
                    text::list(&losers, 4),
                    scheme.name(),
                    choice.zone
                );
                let all = std::iter::once(choice.chosen).chain(choice.equals.iter().copied());
                let all: Vec<&Subnet> = all.collect();
                let key = scheme.role_tag();
                // The first role tag of a scheme makes the AWS Load Balancer Controller look at tagged subnets only, and an
                // Application Load Balancer needs two zones: then the winners of all zones are tagged together.
                let is_first = offer.candidates.iter().all(|c| tags::value(&c.subnet.tags, key).is_none());
                let winners: Vec<String> = offer
                    .choose(own, scheme)
                    .iter()
                    .filter(|other| other.zone != choice.zone)
                    .map(|other| other.chosen.id.clone())
                    .collect();
                let choices = all.iter().map(|subnet| {
                    let mut changes = Vec::new();
                    if is_first && !winners.is_empty() {
                        let mut together = winners.clone();
                        together.push(subnet.id.clone());
                        together.sort();
                        changes.extend(region.set_tag(ResourceKind::Subnet, &together, key, "1"));
                        let summary = format!(
                            "{} and the subnets that win the other zones ({}) carry `{key}=1`: with the tag on one zone alone the AWS Load Balancer Controller would see no other",
                            subnet.id,
                            text::list(&winners, 4)
                        );
                        return Choice::with(format!("{}:{}", scheme.name(), subnet.id), summary, changes);
                    }
                    if tags::value(&subnet.tags, key).is_none() {
                        changes.extend(region.set_tag(ResourceKind::Subnet, [&subnet.id], key, "1"));
                    }
                    // Where all of them have the tag, it tells them apart only when the others lose it.
                    for other in all.iter().filter(|other| other.id != subnet.id) {
                        let tag = other.tags.iter().find(|tag| tag.key == key);
                        let tag = tag.into_iter();
                        changes.extend(tag.flat_map(|tag| region.remove_tag(ResourceKind::Subnet, [&other.id], tag)));
                    }
                    let summary = format!("{} alone carries `{key}=1`", subnet.id);
                    Choice::with(format!("{}:{}", scheme.name(), subnet.id), summary, changes)
                });
                let fix =
                    Fix::choose(format!("tag the intended subnet with `{}=1`", scheme.role_tag()), choices.collect());
                let others = choice.equals.iter().map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
                violations.push(
                    Violation::new(Severity::Warning, region.resource(Tagged::Subnet(choice.chosen)), message, fix)
                        .related(others)
                        .cause(Cause::Pair(offer.vpc_id.to_owned(), format!("{} {}", choice.zone, scheme.name()))),
                );
            }
        }
    }
    violations.into()
}

/// Whether the AWS Load Balancer Controller shows in the region for this cluster.
fn uses_load_balancer_controller(region: &RegionView<'_>) -> bool {
    region.region.security_groups.iter().any(|group| group.tags.iter().any(|tag| tag.key.starts_with("elbv2.k8s.aws/")))
}

fn role_tag_missing(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for offer in Offer::all(region) {
        for scheme in Scheme::ALL {
            let key = scheme.role_tag();
            let of_kind: Vec<&Subnet> = offer
                .candidates
                .iter()
                .filter(|c| c.is_public == (scheme == Scheme::InternetFacing) && c.in_availability_zone)
                .filter(|c| c.subnet.outpost_arn.is_none())
                .filter(|c| tags::has_cluster_tag(&c.subnet.tags, own))
                .map(|c| c.subnet)
                .collect();
            let (with, without): (Vec<&Subnet>, Vec<&Subnet>) =
                of_kind.into_iter().partition(|subnet| tags::value(&subnet.tags, key).is_some());
            // Next to one of its kind that has the tag, a subnet without it is not meant for load balancers.
            let alone = |subnet: &&Subnet| with.iter().all(|other| other.availability_zone != subnet.availability_zone);
            let without: Vec<&Subnet> = without
                .into_iter()
                .filter(alone)
                .filter(|subnet| !subnet.tags.iter().any(|tag| is_role_near_miss(&tag.key, key)))
                .collect();
            let Some(first) = without.first().filter(|_| !with.is_empty()) else { continue };
            let kind = if scheme == Scheme::InternetFacing { "public" } else { "private" };
            let message = format!(
                "{} of VPC `{}` {} no `{key}`, which {} of them {}",
                text::count(without.len(), &format!("{kind} subnet")),
                offer.vpc_id,
                if without.len() == 1 { "has" } else { "have" },
                with.len(),
                if with.len() == 1 { "has" } else { "have" }
            );
            let severity = if uses_load_balancer_controller(region) { Severity::Warning } else { Severity::Info };
            let ids = without.iter().map(|subnet| &subnet.id);
            let changes = region.set_tag(ResourceKind::Subnet, ids, key, "1");
            let fix = Fix::with(Applicability::Safe, format!("add `{key}=1`"), changes);
            let others = without.iter().skip(1).map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            violations.push(
                Violation::new(severity, region.resource(Tagged::Subnet(first)), message, fix)
                    .related(others)
                    .cause(Cause::Pair(offer.vpc_id.to_owned(), key.to_owned())),
            );
        }
    }
    violations.into()
}

fn is_role_near_miss(key: &str, right: &str) -> bool {
    key != right && key.trim().trim_end_matches('/').eq_ignore_ascii_case(right)
}

fn role_tag_value(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let mut violations = Vec::new();
    for subnet in subnets_in_reach(region) {
        for right in [ROLE_ELB, ROLE_INTERNAL_ELB] {
            for tag in &subnet.tags {
                let near = is_role_near_miss(&tag.key, right);
                let wrong_value = tag.key == right && !matches!(tag.value.as_str(), "" | "1");
                if !near && !wrong_value {
                    continue;
                }
                let message = format!(
                    "subnet `{}` has `{}={}`{}",
                    subnet.id,
                    text::printable(&tag.key),
                    text::printable(&tag.value),
                    if near {
                        format!(", and the key is `{right}`")
                    } else {
                        ", and only `1` or an empty value counts".to_owned()
                    }
                );
                let mut changes = region.set_tag(ResourceKind::Subnet, [&subnet.id], right, "1");
                if near {
                    changes.extend(region.remove_tag(ResourceKind::Subnet, [&subnet.id], tag));
                }
                let fix = Fix::with(Applicability::Confirm, format!("set `{right}=1`"), changes);
                violations.push(
                    Violation::new(Severity::Warning, region.resource(Tagged::Subnet(subnet)), message, fix)
                        .with_respect_to(&tag.key),
                );
            }
        }
    }
    violations.into()
}

fn wrong_reachability(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for vpc_id in region.member_vpcs() {
        let candidates = region.candidates(vpc_id);
        let ours = || {
            candidates.iter().filter(|c| {
                tags::has_cluster_tag(&c.subnet.tags, own) || tags::has_no_cluster_prefix_tag(&c.subnet.tags)
            })
        };
        let has_private = ours().any(|candidate| !candidate.is_public);
        for candidate in ours() {
            let has = |key| tags::value(&candidate.subnet.tags, key).is_some();
            let (severity, wrong, message) = if has(ROLE_ELB) && !candidate.is_public {
                (
                    Severity::Warning,
                    ROLE_ELB,
                    format!("subnet `{}` has `{ROLE_ELB}` and no route to an internet gateway", candidate.subnet.id),
                )
            } else if has(ROLE_INTERNAL_ELB) && !has(ROLE_ELB) && candidate.is_public && has_private {
                (
                    Severity::Info,
                    ROLE_INTERNAL_ELB,
                    format!(
                        "subnet `{}` has `{ROLE_INTERNAL_ELB}` and a route to an internet gateway",
                        candidate.subnet.id
                    ),
                )
            } else {
                continue;
            };
            let tag = candidate.subnet.tags.iter().find(|tag| tag.key == wrong);
            let id = &candidate.subnet.id;
            let remove = tag.into_iter().flat_map(|tag| region.remove_tag(ResourceKind::Subnet, [id], tag)).collect();
            let fix = Fix::choose(
                "move the tag or fix the routes",
                vec![
                    Choice::with("remove-tag", "the subnet is as it should be: remove the tag", remove),
                    Choice::advice("change-routes", "the tag is right: change the routes"),
                ],
            );
            violations.push(Violation::new(severity, region.resource(Tagged::Subnet(candidate.subnet)), message, fix));
        }
    }
    violations.into()
}

fn low_free_ips(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut low: BTreeMap<&str, (&Subnet, Severity)> = BTreeMap::new();
    for offer in Offer::all(region) {
        for scheme in Scheme::ALL {
            let enough: BTreeSet<&str> = choose_for_load_balancer_controller(&offer.candidates, own, scheme)
                .iter()
                .map(|subnet| subnet.availability_zone.as_str())
                .collect();
            for choice in offer.choose(own, scheme) {
                let subnet = choice.chosen;
                if subnet.available_ip_address_count.is_some_and(|free| free < MINIMUM_FREE_ADDRESSES) {
                    let severity = if enough.contains(choice.zone) { Severity::Warning } else { Severity::Error };
                    let worst = low.entry(&subnet.id).or_insert((subnet, severity));
                    worst.1 = worst.1.max(severity);
                }
            }
        }
    }
    low.into_values()
        .map(|(subnet, severity)| {
            let free = subnet.available_ip_address_count.unwrap_or_default();
            let message = format!(
                "subnet `{}` has {}, and a load balancer needs {MINIMUM_FREE_ADDRESSES}",
                subnet.id,
                format_args!("{free} free {}", if free == 1 { "address" } else { "addresses" })
            );
            let fix = Fix::none("free addresses in the subnet, or tag another one of the zone for load balancers");
            Violation::new(severity, region.resource(Tagged::Subnet(subnet)), message, fix)
        })
        .collect()
}

fn zone_type(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    let offers = Offer::all(region);
    let chosen: BTreeSet<&str> = offers
        .iter()
        .flat_map(|offer| Scheme::ALL.into_iter().flat_map(|scheme| offer.choose(own, scheme)))
        .map(|choice| choice.chosen.id.as_str())
        .collect();
    for subnet in subnets_in_reach(region) {
        let role = subnet.tags.iter().find(|tag| tag.key == ROLE_ELB || tag.key == ROLE_INTERNAL_ELB);
        let ours = tags::has_cluster_tag(&subnet.tags, own) || tags::has_no_cluster_prefix_tag(&subnet.tags);
        if subnet.outpost_arn.is_some() {
            let is_chosen = chosen.contains(subnet.id.as_str());
            if !ours || !(is_chosen || role.is_some()) {
                continue;
            }
            let severity = if is_chosen { Severity::Error } else { Severity::Warning };
            let message = format!(
                "subnet `{}` of {} is on an Outpost {}",
                subnet.id,
                subnet.availability_zone,
                match (is_chosen, role) {
                    (true, _) => "and would be chosen for load balancers, which cannot be created there".to_owned(),
                    (false, role) => format!("and has `{}`", role.map_or("", |tag| &tag.key)),
                }
            );
            let fix = Fix::none("remove the role tag there, and tag another subnet of the zone for load balancers");
            violations.push(Violation::new(severity, region.resource(Tagged::Subnet(subnet)), message, fix));
            continue;
        }
        if let Some(role) = role.filter(|_| ours && !region.is_ordinary_zone(subnet)) {
            let zone = region.region.availability_zones.iter().find(|zone| zone.name == subnet.availability_zone);
            let kind = zone.map_or("special zone", |zone| &zone.zone_type);
            let message = format!("subnet `{}` in {} ({kind}) has `{}`", subnet.id, subnet.availability_zone, role.key);
            let fix = Fix::none("remove the role tag there, or name the subnet in the Services that want it");
            violations.push(Violation::new(Severity::Info, region.resource(Tagged::Subnet(subnet)), message, fix));
        }
    }
    violations.into()
}

fn routetable_unresolvable(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut by_vpc: BTreeMap<&str, Vec<&Subnet>> = BTreeMap::new();
    for subnet in subnets_in_reach(region) {
        let looked_at = tags::has_cluster_tag(&subnet.tags, own) || tags::has_no_cluster_prefix_tag(&subnet.tags);
        if looked_at && region.route_table(subnet).is_none() {
            by_vpc.entry(&subnet.vpc_id).or_default().push(subnet);
        }
    }
    by_vpc
        .into_iter()
        .filter_map(|(vpc_id, subnets)| {
            let first = subnets.first()?;
            let ids: Vec<&str> = subnets.iter().map(|subnet| subnet.id.as_str()).collect();
            let message = format!(
                "no route table is visible for {} of VPC `{vpc_id}`: {}",
                text::count(subnets.len(), "subnet"),
                text::list(&ids, 4)
            );
            let fix = Fix::none(
                "let this account see the route tables of the VPC, or name the subnets in the Services' annotations",
            );
            let others = subnets.iter().skip(1).map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            Some(
                Violation::new(Severity::Error, region.resource(Tagged::Subnet(first)), message, fix)
                    .related(others)
                    .cause(Cause::Group(vpc_id.to_owned())),
            )
        })
        .collect()
}
