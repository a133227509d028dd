use std::collections::BTreeSet;

use super::{Owner, joined, on, value};
use crate::finding::{Applicability, Severity};
use crate::inventory::{Read, Subnet};
use crate::resource::ResourceKind;
use crate::rules::{Check, Context, Counted, Rule, RuleSeverity, Subjects};
use crate::tags;
use crate::text;

pub(super) const RULE: Rule = Rule {
    id: "svc-subnets-unresolved",
    title: "subnets that a Service names are not there, or not of the cluster",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "`aws-load-balancer-subnets` of a Service names a subnet by an id that the region does not have, or by a name (its tag `Name`) that no subnet of the VPC has, or several; a subnet of another VPC; the same one twice; or two in one zone. Nothing is said where the nodes live in several VPCs or regions.",
    impact: "the load balancer is neither made nor changed (`expected to find 2, but found 1 subnets`)",
    fix: "Name one subnet of the VPC for each zone.",
    applicability: Applicability::None,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#resolveSubnetNameOrIDs",
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go",
        "Elastic Load Balancing API reference, CreateLoadBalancer",
    ],
    example: "Service shop/web names the subnet `subnet-0gone`, which is not in us-east-1",
    reads: &[Read::DescribeInstances, Read::DescribeSubnets],
    subjects: Subjects::Evidence,
    check: Check::Joined(check),
};

const SUFFIX: &str = "aws-load-balancer-subnets";

fn check(context: &Context<'_>) -> Counted {
    let regions: Vec<_> = context.view.regions.iter().filter(|region| !region.members.is_empty()).collect();
    let [region] = regions.as_slice() else {
        return Counted::not_applicable("the nodes are not in one region");
    };
    let vpcs: Vec<&str> = region.member_vpcs().into_iter().collect();
    let [vpc] = vpcs.as_slice() else {
        return Counted::not_applicable("the nodes are not in one VPC");
    };
    let subnets = &region.region.subnets;
    joined(context, |service, owner| {
        let named: Vec<&str> =
            value(service, SUFFIX)?.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        let found = named.iter().map(|item| (*item, of_name(subnets, item, vpc)));
        let found: Vec<(&str, Vec<&Subnet>)> = found.collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut zones: BTreeSet<&str> = BTreeSet::new();
        let mut wrong = found.iter().filter_map(|(item, subnets)| {
            let shown = text::printable(item);
            let Some(subnet) = subnets.first() else {
                let place = if item.starts_with("subnet-") { region.region.name.as_str() } else { *vpc };
                return Some(format!("the subnet `{shown}`, which is not in {}", text::printable(place)));
            };
            if subnets.len() > 1 {
                return Some(format!("the subnet `{shown}`, and {} subnets are called so", subnets.len()));
            }
            if subnet.vpc_id != *vpc {
                let other = text::printable(&subnet.vpc_id);
                return Some(format!("the subnet `{shown}`, which is in {other}, and the nodes are in {vpc}"));
            }
            if !seen.insert(&subnet.id) {
                return Some(format!("the subnet `{shown}` twice"));
            }
            // Zones of no name were not read.
            let zone = subnet.availability_zone.as_str();
            (!zone.is_empty() && !zones.insert(zone)).then(|| format!("two subnets of {}", text::printable(zone)))
        });
        let wrong = wrong.next()?;
        let name = service.full_name();
        let message = format!("Service {} names {wrong}", text::printable(&name));
        let fix = if owner == Owner::LoadBalancerController {
            "name one subnet of the VPC for each zone, or none: then they are found by their tags"
        } else {
            "name one subnet of the VPC for each zone"
        };
        Some(on(service, Some(SUFFIX), Severity::Error, message, fix))
    })
}

/// The subnets that an item of the list stands for: an id of the region, or a name within the VPC.
fn of_name<'s>(subnets: &'s [Subnet], item: &str, vpc: &str) -> Vec<&'s Subnet> {
    if item.starts_with("subnet-") {
        return subnets.iter().filter(|subnet| subnet.id == item).collect();
    }
    subnets.iter().filter(|subnet| subnet.vpc_id == vpc && tags::value(&subnet.tags, "Name") == Some(item)).collect()
}
