//! Subnets.

use std::collections::BTreeMap;

use crate::aws::view::RegionView;
use crate::aws::{RouteTable, Subnet};
use crate::finding::{Fix, ResourceRef, Severity};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::tags;

use super::aws::Context;
use super::load_balancer_subnets::{Candidate, Scheme, ZoneChoice, choose_subnets};
use super::{CheckResult, Rule, Violation};
use crate::aws::Tagged;

mod elb_subnets_none_internal;
mod elb_subnets_none_public;
mod subnet_az_ambiguous;
mod subnet_az_uncovered;
mod subnet_cluster_tag_missing;
mod subnet_foreign_cluster_tag;
mod subnet_low_free_ips;
mod subnet_role_tag_missing;
mod subnet_role_tag_value;
mod subnet_role_tag_wrong_reachability;
mod subnet_routetable_unresolvable;
mod subnet_zone_type_unsupported;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/subnets.rs"));

const SUBNET: &[ResourceKind] = &[ResourceKind::Subnet];

const INSTANCES: Read = Read::DescribeInstances;

const SUBNETS: Read = Read::DescribeSubnets;

const TABLES: Read = Read::DescribeRouteTables;

const ZONES: Read = Read::DescribeAvailabilityZones;

const CCM_SUBNETS: &str = "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findELBSubnets";

const LBC_SUBNETS: &str = "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go";

/// Subnets of the VPCs in which members run.
fn subnets_in_reach<'a>(region: &RegionView<'a>) -> Vec<&'a Subnet> {
    let vpcs = region.member_vpcs();
    region.region.subnets.iter().filter(|subnet| vpcs.contains(subnet.vpc_id.as_str())).collect()
}

/// Subnets that a VPC offers to load balancers, computed once per rule.
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
        // The controller stops at an invisible route table; that is one finding, not a dozen.
        .filter(|offer| {
            offer.candidates.len() == region.region.subnets.iter().filter(|s| s.vpc_id == offer.vpc_id).count()
        })
        .collect()
    }

    fn choose(&self, cluster_id: &str, scheme: Scheme) -> Vec<ZoneChoice<'a>> {
        choose_subnets(&self.candidates, cluster_id, scheme, self.own_subnet)
    }
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

fn none_of(context: &Context<'_>, region: &RegionView<'_>, scheme: Scheme) -> CheckResult {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for offer in Offer::all(region) {
        if !offer.choose(own, scheme).is_empty() {
            continue;
        }
        // Reasons that subnets were dropped, in the controller's order.
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        // The AWS Load Balancer Controller uses such subnets by their tags.
        let mut is_behind_firewall = false;
        for candidate in &offer.candidates {
            let tags = &candidate.subnet.tags;
            let reason = if !tags::is_usable(tags, own) {
                "tagged for other clusters"
            } else if scheme == Scheme::InternetFacing && !candidate.is_public {
                let table = region.route_table(candidate.subnet);
                if table.is_some_and(RouteTable::leads_through_endpoint) {
                    is_behind_firewall = true;
                    "behind the endpoint of a firewall"
                } else {
                    "private"
                }
            } else {
                "outside ordinary availability zones"
            };
            *reasons.entry(reason).or_default() += 1;
        }
        let described: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let described = if described.is_empty() { "it has no subnets".to_owned() } else { described.join(", ") };
        let message = format!(
            "the cloud controller chooses no subnet of VPC `{}` for an {} load balancer: {described}",
            offer.vpc_id,
            scheme.name()
        );
        let fix = Fix::none(match scheme {
            Scheme::InternetFacing => {
                "route a subnet to an internet gateway or tag the public ones for this cluster; with internal load balancers only, skip this rule"
            }
            Scheme::Internal => "tag the subnets for this cluster",
        });
        let severity = if is_behind_firewall { Severity::Info } else { Severity::Warning };
        violations.push(Violation::new(severity, vpc_resource(region, offer.vpc_id), message, fix));
    }
    violations.into()
}

fn is_role_near_miss(key: &str, right: &str) -> bool {
    key != right && key.trim().trim_end_matches('/').eq_ignore_ascii_case(right)
}
