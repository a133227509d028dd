//! VPCs and route tables (rule catalogue, sections 1.3 and 1.5).

use std::collections::BTreeSet;

use crate::finding::{Applicability, Cause, Choice, Fix, Severity};
use crate::inventory::{Read, Route, RouteTable, Vpc};
use crate::nodes;
use crate::resource::ResourceKind;
use crate::tags::{self, CLUSTER_TAG_PREFIX, OWNED, SHARED};
use crate::text;
use crate::transition::{Attribute, Transition, Value, VpcAttribute};
use crate::view::{Distribution, RegionView};

use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Tagged, Violation, node};

const VPC: &[ResourceKind] = &[ResourceKind::Vpc];
/// Cluster API Provider AWS marks its network with this prefix instead of the Kubernetes one.
const CAPA_PREFIX: &str = "sigs.k8s.io/cluster-api-provider-aws/cluster/";
const INSTANCES: Read = Read::DescribeInstances;
const VPCS: Read = Read::DescribeVpcs;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "vpc-cluster-tag-missing",
        title: "the VPC has no cluster tag",
        severity: RuleSeverity::always(Severity::Info),
        resources: VPC,
        condition: "A VPC in which members live has no cluster tag and none of Cluster API. The RKE documents ask for it; no code of the cloud controller reads it.",
        impact: "nothing in the cloud controller; the AWS Load Balancer Controller with `--aws-vpc-tags` and the deletion of kOps clusters read it",
        fix: "Add `kubernetes.io/cluster/<ID>=shared`.",
        applicability: Applicability::Confirm,
        sources: &[
            "RKE documentation, AWS cloud provider, Tagging AWS Resources",
            "https://github.com/rancher/rancher/issues/25148",
        ],
        example: "VPC `vpc-0a` has no tag `kubernetes.io/cluster/bravo`",
        reads: &[INSTANCES, VPCS],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(cluster_tag_missing),
    },
    Rule {
        id: "vpc-owned-by-one-hosts-others",
        title: "a VPC owned by one cluster hosts another",
        severity: RuleSeverity::always(Severity::Warning),
        resources: VPC,
        condition: "A VPC in which members live is `owned` by one cluster (new-style or Cluster API tag), and live instances or subnets in it are tagged for another.",
        impact: "deleting the owning cluster takes the network of the other one for its own",
        fix: "Set the owner's tag to `shared` and add `shared` tags for the others.",
        applicability: Applicability::Choice,
        sources: &[
            "kubernetes/kops pkg/resources/aws/tags.go#HasOwnedTag",
            "https://github.com/kubernetes/kops/issues/3965",
        ],
        example: "VPC `vpc-0a` is owned by alpha and hosts nodes or subnets of bravo",
        reads: &[INSTANCES, VPCS, Read::DescribeSubnets],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(owned_hosts_others),
    },
    Rule {
        id: "vpc-dns-attributes-disabled",
        title: "DNS support or host names are off in the VPC",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning; error if a Node cannot be matched to its instance",
        ),
        resources: VPC,
        condition: "`enableDnsSupport` or `enableDnsHostnames` is off in a VPC in which members live. Clusters whose Nodes are not found by their private DNS name are left out: with `--nodes`, where all have a providerID or a name that starts with `i-`; without, kOps, EKS, and instances with resource names.",
        impact: "host names lose their domain, so that IP-named nodes are not found by their private DNS name",
        fix: "Turn the attribute on; it changes name resolution for everything in the VPC.",
        applicability: Applicability::Confirm,
        sources: &[
            "https://github.com/kubermatic/machine-controller/issues/1590",
            "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/780",
        ],
        example: "VPC `vpc-0a` has enableDnsHostnames off",
        reads: &[INSTANCES, VPCS, Read::DescribeVpcAttribute],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(dns_attributes),
    },
    Rule {
        id: "vpc-dhcp-custom-domain",
        title: "the VPC hands out another domain name than EC2's",
        severity: RuleSeverity::always(Severity::Warning),
        resources: VPC,
        condition: "The DHCP options of a VPC in which members live have no `domain-name`, or another one than `ec2.internal` (us-east-1) or `<region>.compute.internal`. Clusters whose Nodes are not found by their private DNS name are left out: with `--nodes`, where all have a providerID or a name that starts with `i-`; without, kOps, EKS, and instances with resource names.",
        impact: "the host name of an IP-named node differs from its private DNS name, and the controller does not find the instance",
        fix: "Override the host name of kubelet and kube-proxy with the private DNS name (RKE1: `use_instance_metadata_hostname`; RKE2: `node-name-from-cloud-provider-metadata`), or use resource-based names.",
        applicability: Applicability::None,
        sources: &[
            "https://github.com/kubernetes/cloud-provider-aws/issues/384",
            "https://github.com/kubernetes/cloud-provider-aws/issues/799",
        ],
        example: "VPC `vpc-0a` hands out the domain name `corp.example`, and EC2 names instances in `us-east-2.compute.internal`",
        reads: &[INSTANCES, VPCS, Read::DescribeDhcpOptions],
        subjects: Subjects::MemberVpcs,
        check: Check::Region(dhcp_domain),
    },
    Rule {
        id: "route-table-tag-count",
        title: "not exactly one route table is tagged",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error; info where only a route to a member hints at cloud routes",
        ),
        resources: &[ResourceKind::RouteTable],
        condition: "Cloud routes are in use (`--cloud-routes`, or with `--nodes` a route to the pod network of a Node), or a route of a member's VPC leads to a member, and the number of route tables with the cluster tag in the region is not one. Routes to a NAT instance or VPN, and those of flannel's `aws-vpc` backend, look like cloud routes. Cluster API tags every table it makes, so that cloud routes cannot work there.",
        impact: "the route controller fails with `unable to find route table for AWS cluster` or `found multiple matching AWS route tables`",
        fix: "Tag exactly the table of the nodes' subnets, or set `RouteTableID` in the cloud config, or turn cloud routes off.",
        applicability: Applicability::Choice,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws_routes.go#findRouteTable",
            "https://github.com/kubernetes/kops/issues/6184",
        ],
        example: "3 route tables carry the cluster tag, and cloud routes need exactly one",
        reads: &[INSTANCES, Read::DescribeRouteTables],
        subjects: Subjects::Region,
        check: Check::Region(route_table_tag_count),
    },
    Rule {
        id: "instance-source-dest-check",
        title: "a route leads to an instance that drops foreign packets",
        severity: RuleSeverity::always(Severity::Info),
        resources: &[ResourceKind::Instance],
        condition: "A route targets a member whose source/destination check is on.",
        impact: "the instance drops packets of the routed pod network; the controller turns the check off only when it makes the route itself",
        fix: "Turn the source/destination check off.",
        applicability: Applicability::Confirm,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws_routes.go#CreateRoute"],
        example: "a route leads to instance `i-0a`, whose source/destination check is on",
        reads: &[Read::DescribeRouteTables],
        subjects: Subjects::Members,
        check: Check::Region(source_dest_check),
    },
];

fn member_vpcs<'a>(region: &RegionView<'a>) -> Vec<&'a Vpc> {
    region.member_vpcs().into_iter().filter_map(|id| region.vpc(id)).collect()
}

fn cluster_tag_missing(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let key = context.cluster_key();
    member_vpcs(region)
        .into_iter()
        .filter(|vpc| {
            !tags::has_cluster_tag(&vpc.tags, own) && !vpc.tags.iter().any(|tag| tag.key.starts_with(CAPA_PREFIX))
        })
        .filter(|vpc| !vpc.tags.iter().any(|tag| tags::near_miss(tag, own).is_some_and(tags::NearMiss::is_certain)))
        .map(|vpc| {
            let changes = region.set_tag(ResourceKind::Vpc, [&vpc.id], &key, SHARED);
            let fix = Fix::with(Applicability::Confirm, format!("add `{key}={SHARED}`"), changes);
            Violation::new(
                Severity::Info,
                region.resource(Tagged::Vpc(vpc)),
                format!("VPC `{}` has no tag `{key}`", vpc.id),
                fix,
            )
        })
        .collect()
}

fn owned_hosts_others(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for vpc in member_vpcs(region) {
        let owners: BTreeSet<&str> = vpc
            .tags
            .iter()
            .filter(|tag| tag.value == OWNED)
            .filter_map(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX).or_else(|| tag.key.strip_prefix(CAPA_PREFIX)))
            .filter(|id| !id.is_empty())
            .collect();
        let instances =
            region.region.instances.iter().filter(|i| i.state.is_live() && i.vpc_id.as_deref() == Some(&vpc.id));
        let subnets = region.region.subnets.iter().filter(|subnet| subnet.vpc_id == vpc.id);
        // An instance or subnet with several tags is a finding of its own and proves nothing about who lives here.
        let single = |ids: Vec<&'_ str>| -> Option<String> {
            let mut unique: Vec<&str> = ids.into_iter().filter(|id| !tags::is_slip(id, own)).collect();
            unique.dedup();
            match unique.as_slice() {
                [one] => Some((*one).to_owned()),
                _ => None,
            }
        };
        let guests: BTreeSet<String> = instances
            .filter_map(|instance| single(crate::view::instance_clusters(&instance.tags).collect()))
            .chain(subnets.filter_map(|subnet| single(tags::cluster_ids(&subnet.tags).map(|(id, _)| id).collect())))
            .collect();
        for owner in owners {
            let others: Vec<&str> = guests.iter().map(String::as_str).filter(|guest| *guest != owner).collect();
            if others.is_empty() {
                continue;
            }
            let message = format!(
                "VPC `{}` is owned by {} and hosts nodes or subnets of {}",
                vpc.id,
                text::printable(owner),
                text::list(&others, 5)
            );
            let mut changes = Vec::new();
            if tags::cluster_value(&vpc.tags, owner).is_some() {
                changes.extend(region.set_tag(ResourceKind::Vpc, [&vpc.id], &tags::cluster_key(owner), SHARED));
            }
            changes.extend(
                others
                    .iter()
                    .flat_map(|id| region.set_tag(ResourceKind::Vpc, [&vpc.id], &tags::cluster_key(id), SHARED)),
            );
            let fix = Fix::choose(
                "set the VPC to `shared` for all of them",
                vec![Choice::with(SHARED, "no cluster deletes the VPC", changes)],
            );
            violations.push(
                Violation::new(Severity::Warning, region.resource(Tagged::Vpc(vpc)), message, fix)
                    .with_respect_to(owner),
            );
        }
    }
    violations.into()
}

/// Whether Nodes are found by something else than their private DNS name: by providerID or by an instance id as name. EKS
/// sets both, and kOps names nodes by instance id since 1.23.
fn names_do_not_matter(context: &Context<'_>, region: &RegionView<'_>) -> bool {
    match context.view.nodes {
        Some(nodes) => {
            nodes.iter().all(|node| !node.provider_id.is_empty() || nodes::instance_id_in_name(&node.name).is_some())
        }
        None => {
            matches!(region.distribution, Distribution::Kops | Distribution::Eks)
                || region.members.iter().all(|member| {
                    member.instance.private_dns_name.as_deref().is_some_and(|name| name.starts_with("i-"))
                })
        }
    }
}

fn dns_attributes(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    if names_do_not_matter(context, region) {
        return Checked::NotApplicable("the Nodes are not found by their private DNS names");
    }
    let mismatch = !node::unmatched(context).is_empty();
    member_vpcs(region)
        .into_iter()
        .filter_map(|vpc| {
            let attributes = [
                ("enableDnsSupport", VpcAttribute::EnableDnsSupport, vpc.enable_dns_support),
                ("enableDnsHostnames", VpcAttribute::EnableDnsHostnames, vpc.enable_dns_hostnames),
            ];
            let off: Vec<_> = attributes.into_iter().filter(|(.., on)| *on == Some(false)).collect();
            if off.is_empty() {
                return None;
            }
            let names: Vec<&str> = off.iter().map(|(name, ..)| *name).collect();
            let changes = off.iter().map(|(_, attribute, _)| {
                let attribute = Attribute::VpcAttribute { attribute: *attribute };
                Transition::set(region.target(ResourceKind::Vpc, &vpc.id), attribute, Value::Switch(true))
            });
            let fix = Fix::with(Applicability::Confirm, format!("turn {} on", names.join(" and ")), changes.collect());
            let severity = if mismatch { Severity::Error } else { Severity::Warning };
            let message = format!("VPC `{}` has {} off", vpc.id, names.join(" and "));
            Some(Violation::new(severity, region.resource(Tagged::Vpc(vpc)), message, fix))
        })
        .collect()
}

fn dhcp_domain(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    if names_do_not_matter(context, region) {
        return Checked::NotApplicable("the Nodes are not found by their private DNS names");
    }
    let name = &region.region.name;
    let expected = if name == "us-east-1" { "ec2.internal".to_owned() } else { format!("{name}.compute.internal") };
    member_vpcs(region)
        .into_iter()
        .filter_map(|vpc| {
            let id = vpc.dhcp_options_id.as_deref()?;
            let found = region.region.dhcp_options.iter().find(|options| options.id == id);
            // `default` stands for no option set at all.
            let domains: &[String] = match found {
                Some(options) => &options.domain_name,
                None if id == "default" => &[],
                None => return None,
            };
            if domains.len() == 1 && domains.first() == Some(&expected) {
                return None;
            }
            let shown = if domains.is_empty() {
                "no domain name".to_owned()
            } else {
                format!("the domain name `{}`", text::list(domains, 3))
            };
            let message = format!("VPC `{}` hands out {shown}, and EC2 names instances in `{expected}`", vpc.id);
            let fix =
                Fix::none("override the host name of kubelet and kube-proxy with the private DNS name of the instance");
            Some(Violation::new(Severity::Warning, region.resource(Tagged::Vpc(vpc)), message, fix))
        })
        .collect()
}

/// Routes that lead to members, by table: the mark of cloud routes.
fn routes_to_members<'a>(region: &RegionView<'a>) -> Vec<(&'a RouteTable, &'a Route, &'a str)> {
    let members: BTreeSet<&str> = region.members.iter().map(|member| member.instance.id.as_str()).collect();
    let tables = region.region.route_tables.iter();
    tables
        .flat_map(|table| table.routes.iter().map(move |route| (table, route)))
        // A default route to an instance is a NAT instance, not a pod network.
        .filter(|(_, route)| !matches!(route.destination.as_str(), "0.0.0.0/0" | "::/0"))
        .filter_map(|(table, route)| route.instance_id.as_deref().map(|id| (table, route, id)))
        .filter(|(.., id)| members.contains(id))
        .collect()
}

fn route_table_tag_count(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let routes = routes_to_members(region);
    let of_pods = |cidr: &str| {
        context.view.nodes.unwrap_or_default().iter().any(|node| node.pod_cidrs.iter().any(|known| known == cidr))
    };
    let in_use = context.cloud_routes || routes.iter().any(|(_, route, _)| of_pods(&route.destination));
    if region.members.is_empty() || (!in_use && routes.is_empty()) {
        return Checked::NotApplicable("the cluster does not use cloud routes");
    }
    let severity = if in_use { Severity::Error } else { Severity::Info };
    let tagged: Vec<&RouteTable> =
        region.region.route_tables.iter().filter(|table| tags::has_cluster_tag(&table.tags, own)).collect();
    if tagged.len() == 1 {
        return Checked::clean();
    }
    let key = context.cluster_key();
    let used_tables: BTreeSet<&str> = region
        .members_by_subnet()
        .keys()
        .filter_map(|id| region.subnet(id))
        .filter_map(|s| region.route_table(s))
        .map(|t| t.id.as_str())
        .collect();
    let candidates: Vec<&RouteTable> = if tagged.is_empty() {
        region.region.route_tables.iter().filter(|table| used_tables.contains(table.id.as_str())).collect()
    } else {
        tagged.clone()
    };
    let Some(first) = candidates.first() else { return Checked::clean() };
    let message = if tagged.is_empty() {
        "no route table carries the cluster tag, and cloud routes need exactly one".to_owned()
    } else {
        format!("{} carry the cluster tag, and cloud routes need exactly one", text::count(tagged.len(), "route table"))
    };
    // The table that nodes use is the one to propose.
    let mut proposed = candidates.clone();
    proposed.sort_by_key(|table| !used_tables.contains(table.id.as_str()));
    let choices = proposed.iter().map(|table| {
        let changes = if tagged.is_empty() {
            region.set_tag(ResourceKind::RouteTable, [&table.id], &key, SHARED)
        } else {
            let others = tagged.iter().filter(|other| other.id != table.id);
            let membership = others.flat_map(|other| {
                let marks = other.tags.iter().filter(|tag| tags::has_cluster_tag(std::slice::from_ref(*tag), own));
                marks.flat_map(|tag| region.remove_tag(ResourceKind::RouteTable, [&other.id], tag))
            });
            membership.collect()
        };
        let used = if used_tables.contains(table.id.as_str()) { "; nodes use it" } else { "" };
        Choice::with(&table.id, format!("{} is the only table with `{key}`{used}", table.id), changes)
    });
    let fix = Fix::choose("choose the table that gets the pod routes", choices.collect());
    let others = candidates.iter().skip(1).map(|table| region.bare(ResourceKind::RouteTable, &table.id));
    vec![
        Violation::new(severity, region.resource(Tagged::RouteTable(first)), message, fix)
            .related(others)
            .cause(Cause::Group(ResourceKind::RouteTable.name().to_owned())),
    ]
    .into()
}

fn source_dest_check(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let targets: BTreeSet<&str> = routes_to_members(region).into_iter().map(|(.., id)| id).collect();
    let checked = region
        .members
        .iter()
        .filter(|m| targets.contains(m.instance.id.as_str()) && m.instance.source_dest_check == Some(true));
    region.grouped(
        checked,
        |_| Severity::Info,
        |members| {
            let message =
                format!("a route leads to {}, whose source/destination check is on", super::instances_phrase(members));
            let off = |id| {
                let target = region.target(ResourceKind::Instance, id);
                Transition::set(target, Attribute::SourceDestCheck {}, Value::Switch(false))
            };
            let changes = super::ids(members).map(off).collect();
            (message, Fix::with(Applicability::Confirm, "turn the source/destination check off", changes))
        },
    )
}
