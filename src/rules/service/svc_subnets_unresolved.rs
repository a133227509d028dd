use std::collections::{BTreeMap, BTreeSet};

use crate::aws::Subnet;
use crate::aws::view::RegionView;
use crate::controller::ControllerVersion;
use crate::model::load_balancer_controller::Config;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::{policy, tags};

use super::{Owner, joined, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-subnets-unresolved",
    title: "a Service names subnets that are missing or in another VPC",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service's `aws-load-balancer-subnets` names an id that the region does not have, a subnet of another VPC, the same subnet twice, or two subnets in one zone. It is also reported if a name (the tag `Name`, with `*` and `?` as wildcards) matches no subnet of the VPC, or several, so that the number of subnets found differs from the number named. From 3.2 on the AWS Load Balancer Controller takes one subnet for each time that a name is listed, which is not reported, and neither is it if its version is not known. Nothing is reported if the nodes are in several VPCs or regions.",
    impact: "the load balancer is neither created nor changed (`expected to find 2, but found 1 subnets`)",
    fix: "Name one subnet of the VPC for each zone.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#resolveSubnetNameOrIDs",
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go",
        "Elastic Load Balancing API reference, CreateLoadBalancer",
    ],
    example: "Service shop/web names the subnet `subnet-0gone`, which is not in us-east-1",
    reads: &[Read::DescribeInstances, Read::DescribeSubnets],
    migration: Some(Prerequisite::Services),
    ..Rule::joined(check)
};

/// The first version of the AWS Load Balancer Controller that takes several subnets of one name.
/// Source: aws-load-balancer-controller v3.2.0 `pkg/networking/subnet_resolver.go#listSubnetsByNameOrIDs`.
const BY_OCCURRENCE: ControllerVersion = ControllerVersion::new(3, 2, 0);

const SUFFIX: &str = "aws-load-balancer-subnets";

fn check(context: &Context<'_>) -> CheckResult {
    let mut vpcs = context.view.regions.iter().flat_map(RegionView::member_vpcs);
    let (Some(vpc), None) = (vpcs.next(), vpcs.next()) else {
        return CheckResult::not_applicable("the nodes are not in one VPC");
    };
    joined(context, |region, service, owner| {
        let named: Vec<&str> =
            value(service, SUFFIX)?.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        // Since v3.2 the AWS Load Balancer Controller takes one subnet for each time that a name is listed.
        let may_repeat = owner == Owner::LoadBalancerController
            && Config::version_in(context.kubernetes).is_none_or(|version| version >= BY_OCCURRENCE);
        let wrong = unresolved(&named, &region.region.subnets, vpc, &region.region.name, may_repeat)?;
        let name = service.full_name();
        let message = format!("Service {} names {wrong}", text::printable(&name));
        let fix = if owner == Owner::LoadBalancerController {
            "name one subnet of the VPC for each zone, or none to have them found by their tags"
        } else {
            "name one subnet of the VPC for each zone"
        };
        Some(on(service, Some(SUFFIX), Severity::Error, message, fix))
    })
}

/// Defect of a list of subnets, if any. The controllers request all ids at once, and all names in the VPC with `*` and
/// `?` as wildcards; then they count.
fn unresolved(items: &[&str], subnets: &[Subnet], vpc: &str, region: &str, may_repeat: bool) -> Option<String> {
    let (ids, names): (Vec<&str>, Vec<&str>) = items.iter().partition(|item| item.starts_with("subnet-"));
    if let Some(gone) = ids.iter().find(|id| !subnets.iter().any(|subnet| subnet.id == **id)) {
        return Some(format!("the subnet `{}`, which is not in {}", text::printable(gone), text::printable(region)));
    }
    let by_id = subnets.iter().filter(|subnet| ids.contains(&subnet.id.as_str()));
    let is_called = |subnet: &Subnet, name: &str| {
        subnet.vpc_id == vpc && tags::value(&subnet.tags, "Name").is_some_and(|tag| policy::matches(name, tag))
    };
    let by_name = subnets.iter().filter(|subnet| names.iter().any(|name| is_called(subnet, name)));
    let repeated = if may_repeat { of_each_name(&names, subnets, vpc) } else { None };
    let found: Vec<&Subnet> = match repeated {
        Some(by_name) => by_id.chain(by_name).collect(),
        None => by_id.chain(by_name).collect(),
    };
    if found.len() != items.len() {
        let count = |name: &str| subnets.iter().filter(|subnet| is_called(subnet, name)).count();
        let twice = items.iter().enumerate().find(|(at, item)| items.iter().take(*at).any(|before| before == *item));
        let none = names.iter().find(|name| count(name) == 0);
        let several = names.iter().find(|name| count(name) > 1);
        return Some(match (twice, none, several) {
            (Some((_, item)), ..) => format!("the subnet `{}` twice", text::printable(item)),
            (_, Some(name), _) => {
                format!("the subnet `{}`, which is not in {}", text::printable(name), text::printable(vpc))
            }
            (.., Some(name)) => {
                format!("the subnet `{}`, but {} subnets have that name", text::printable(name), count(name))
            }
            (None, None, None) => format!("{}, but {} are found", text::count(items.len(), "subnet"), found.len()),
        });
    }
    let mut zones: BTreeSet<&str> = BTreeSet::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    found.into_iter().find_map(|subnet| {
        let shown = text::printable(&subnet.id);
        if subnet.vpc_id != vpc {
            let other = text::printable(&subnet.vpc_id);
            return Some(format!("the subnet `{shown}`, which is in {other}, but the nodes are in {vpc}"));
        }
        if !seen.insert(&subnet.id) {
            return Some(format!("the subnet `{shown}` twice"));
        }
        // A zone without a name was not read.
        let zone = subnet.availability_zone.as_str();
        (!zone.is_empty() && !zones.insert(zone)).then(|| format!("two subnets in {}", text::printable(zone)))
    })
}

/// One subnet for each time that a name is listed, by id; `None` if there are not enough.
fn of_each_name<'s>(names: &[&str], subnets: &'s [Subnet], vpc: &str) -> Option<Vec<&'s Subnet>> {
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for name in names {
        let has_name = |subnet: &&Subnet| subnet.vpc_id == vpc && tags::value(&subnet.tags, "Name") == Some(*name);
        let mut all: Vec<&Subnet> = subnets.iter().filter(has_name).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        let taken = used.entry(name).or_default();
        found.push(*all.get(*taken)?);
        *taken += 1;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, Cluster, PUBLIC_B};
    use crate::testing::tag;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.manifests = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-subnets: subnet-0gone
spec:
  type: LoadBalancer
  ports:
  - port: 443
";
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-subnets: subnet-puba0bb1
spec:
  type: LoadBalancer
  ports:
  - port: 443
";
        });
    }

    #[test]
    fn a_name_may_be_listed_for_each_of_its_subnets_since_3_2() {
        let listed = |version: &str, list: &str| -> &'static str {
            format!(
                "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: aws-load-balancer-controller, namespace: kube-system}}
spec:
  template:
    spec:
      containers:
      - {{name: c, image: 'public.ecr.aws/eks/aws-load-balancer-controller:{version}'}}
---
apiVersion: v1
kind: Service
metadata:
  name: web
  uid: 5e4dbfc9-c2ae-4642-b033-5607860aef6a
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: external
    service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: instance
    service.beta.kubernetes.io/aws-load-balancer-subnets: {list}
spec:
  type: LoadBalancer
  ports:
  - port: 443
    nodePort: 30443
"
            )
            .leak()
        };
        let same = |c: &mut Cluster| tag(&mut c.subnet(PUBLIC_B).tags, "Name", "pub-a");
        let with = |version: &str, list: &str| {
            let manifests = listed(version, list);
            move |c: &mut Cluster| {
                same(c);
                c.manifests = manifests;
            }
        };
        aws::silent(&RULE, with("v3.2.0", "pub-a,pub-a"));
        aws::silent(&RULE, with("v3.2.0", "pub-a"));
        aws::fires(&RULE, with("v3.1.0", "pub-a"));
        aws::fires(&RULE, with("v3.2.0", "'pub-a,pub-a,pub-a'"));
    }
}
