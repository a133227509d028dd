use std::collections::BTreeSet;

use crate::aws::Subnet;
use crate::aws::companions::{CompanionRun, companions};
use crate::aws::view::RegionView;
use crate::controller::ControllerVersion;
use crate::controller::companion::Companion;
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::{MINIMUM_FREE_ADDRESSES, Scheme, choose_for_load_balancer_controller};
use crate::rules::prelude::*;
use crate::tags;

use super::{AlbIngress, LISTS, NO_INGRESS, alb_ingresses};
use crate::aws::ingresses::Parameters;

pub(super) const RULE: Rule = Rule {
    id: "ingress-zones-too-few",
    title: "an Ingress gets subnets in fewer than two zones",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "The AWS Load Balancer Controller finds subnets in fewer than two availability zones for the Application Load Balancer of an Ingress: among those that `alb.ingress.kubernetes.io/subnets` names, or otherwise among the subnets of the VPC that have the role tag for the scheme. Skipped: Ingresses with an existing load balancer, Ingresses whose class parameters were not given, clusters in several VPCs, and subnets in Local Zones or on Outposts. Controllers with the feature gate `ALBSingleSubnet` or `SubnetsClusterTagCheck` are skipped.",
    impact: "the controller creates no load balancer for the Ingress (`couldn't auto-discover subnets`)",
    fix: "Tag subnets in two zones for load balancers of this scheme; where they have the tag, remove what excludes them: tags of other clusters alone, or fewer than eight free addresses.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go#computeSubnetsMinimalCount",
        "kubernetes-sigs/aws-load-balancer-controller pkg/ingress/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/subnet_discovery.md",
    ],
    example: "the internet-facing ALB of Ingress shop/web gets subnets in 1 zone (us-east-1a); an ALB needs two zones",
    reads: &[
        Read::DescribeAvailabilityZones,
        Read::DescribeInstances,
        Read::DescribeRouteTables,
        Read::DescribeSubnets,
    ],
    lists: LISTS,
    ..Rule::joined(check)
};

/// First version that uses subnets without a role tag.
const FIRST_WITH_REACHABILITY: ControllerVersion = ControllerVersion::new(2, 13, 0);

fn check(context: &Context<'_>) -> CheckResult {
    let ingresses = alb_ingresses(context.kubernetes);
    if ingresses.is_empty() {
        return CheckResult::not_applicable(NO_INGRESS);
    }
    let controllers = companions(context.kubernetes).into_iter();
    let controllers: Vec<_> =
        controllers.filter(|run| run.row.companion == Companion::LoadBalancerController).collect();
    let [controller] = controllers.as_slice() else {
        return CheckResult::not_applicable("none or several AWS Load Balancer Controllers were given");
    };
    let Some((region, vpc)) = vpc(context, controller) else {
        return CheckResult::not_applicable("the VPC of the AWS Load Balancer Controller is not known");
    };
    let gates = controller.arguments("feature-gates").join(",");
    if ["ALBSingleSubnet=", "SubnetsClusterTagCheck=", "$("].iter().any(|gate| gates.contains(gate)) {
        return CheckResult::not_applicable("a feature gate changes the choice of subnets");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    for ingress in &ingresses {
        let group: Vec<&AlbIngress<'_>> = match ingress.group() {
            Some(name) => ingresses.iter().filter(|one| one.group() == Some(name)).collect(),
            None => vec![ingress],
        };
        let Some(scheme) = scheme(&group, controller) else { continue };
        let Some(subnets) = subnets(&group, controller, context, (region, vpc), scheme) else { continue };
        if subnets.iter().any(|subnet| subnet.outpost_arn.is_some() || !region.is_ordinary_zone(subnet)) {
            continue;
        }
        checked += 1;
        let zones: BTreeSet<&str> = subnets.iter().map(|subnet| subnet.availability_zone.as_str()).collect();
        if zones.len() > 1 {
            continue;
        }
        let which = match zones.first() {
            Some(zone) => format!("1 zone ({})", text::printable(zone)),
            None => "no zone".to_owned(),
        };
        let message = format!(
            "the {} ALB of Ingress {} gets subnets in {which}; an ALB needs two zones",
            scheme.name(),
            text::printable(&ingress.name)
        );
        let fix = Fix::none(if group.iter().any(|one| !one.list("subnets").is_empty()) {
            "name a subnet of a second zone in `alb.ingress.kubernetes.io/subnets`".to_owned()
        } else {
            fix(controller, context, (region, vpc), scheme)
        });
        found.push(Violation::new(Severity::Error, ingress.reference(), message, fix).at(&ingress.object.head()));
    }
    if checked == 0 {
        return CheckResult::not_applicable("every Ingress has a load balancer already, or its subnets are not known");
    }
    CheckResult::counted(checked, found)
}

/// The next step: if subnets in two zones have the role tag, something else excludes them.
fn fix(
    controller: &CompanionRun<'_>,
    context: &Context<'_>,
    (region, vpc): (&RegionView<'_>, &str),
    scheme: Scheme,
) -> String {
    let cluster = controller.argument("cluster-name").unwrap_or(context.cluster_id());
    let all = region.region.subnets.iter().filter(|subnet| subnet.vpc_id == vpc);
    let tagged: Vec<&Subnet> = all
        .filter(|one| tags::value(&one.tags, scheme.role_tag()).is_some_and(|value| matches!(value, "" | "1")))
        .collect();
    let zones: BTreeSet<&str> = tagged.iter().map(|subnet| subnet.availability_zone.as_str()).collect();
    let list = |held: &[&Subnet]| {
        let ids: Vec<&str> = held.iter().map(|subnet| subnet.id.as_str()).collect();
        text::list(&ids, 4)
    };
    let is_foreign = |subnet: &&Subnet| {
        !tags::has_cluster_tag(&subnet.tags, cluster) && !tags::has_no_cluster_prefix_tag(&subnet.tags)
    };
    let is_full =
        |subnet: &&Subnet| subnet.available_ip_address_count.is_some_and(|free| free < MINIMUM_FREE_ADDRESSES);
    let foreign: Vec<&Subnet> = tagged.iter().copied().filter(|one| is_foreign(one)).collect();
    let full: Vec<&Subnet> = tagged.iter().copied().filter(|one| is_full(one)).collect();
    let mut steps = Vec::new();
    if zones.len() > 1 && !foreign.is_empty() {
        steps.push(format!(
            "tag {} for the cluster `{}` too, or correct `--cluster-name` of the controller: they are tagged for other clusters alone",
            list(&foreign),
            text::printable(cluster)
        ));
    }
    if zones.len() > 1 && !full.is_empty() {
        steps.push(format!("free addresses in {}, or use other subnets: they have fewer than eight", list(&full)));
    }
    if steps.is_empty() {
        return format!(
            "tag a subnet in a second zone with `{}=1`, or list the subnets in `alb.ingress.kubernetes.io/subnets`",
            scheme.role_tag()
        );
    }
    steps.join("; ")
}

/// VPC of the controller: the one that it is given, or else that of the nodes.
fn vpc<'c>(context: &'c Context<'_>, controller: &CompanionRun<'_>) -> Option<(&'c RegionView<'c>, &'c str)> {
    let regions = context.view.regions.iter();
    let mut all = regions.flat_map(|region| region.member_vpcs().into_iter().map(move |vpc| (region, vpc)));
    let first = all.next()?;
    if all.next().is_some()
        || controller.argument("aws-vpc-id").is_some_and(|given| !given.is_empty() && given != first.1)
    {
        return None;
    }
    Some(first)
}

/// Scheme of the load balancer of a group; `None` if it is not known or contradictory.
fn scheme(group: &[&AlbIngress<'_>], controller: &CompanionRun<'_>) -> Option<Scheme> {
    let mut named: BTreeSet<&str> = BTreeSet::new();
    for ingress in group {
        let of_class = match ingress.parameters {
            Some(Parameters::Unknown) => return None,
            Some(Parameters::Given(parameters)) => parameters.text(&["spec", "scheme"]),
            None => None,
        };
        named.extend(of_class.or_else(|| ingress.annotation("scheme")));
    }
    let default = controller.argument("default-load-balancer-scheme").unwrap_or("internal");
    let name = if named.is_empty() { default } else { named.first().filter(|_| named.len() == 1)? };
    Scheme::ALL.into_iter().find(|scheme| scheme.name() == name)
}

/// Subnets of the load balancer of a group; `None` if it exists already, or if they are not known.
fn subnets<'c>(
    group: &[&AlbIngress<'_>],
    controller: &CompanionRun<'_>,
    context: &Context<'_>,
    (region, vpc): (&'c RegionView<'c>, &str),
    scheme: Scheme,
) -> Option<Vec<&'c Subnet>> {
    let exists = |one: &&AlbIngress<'_>| one.object.items(&["status", "loadBalancer", "ingress"]).next().is_some();
    if group.iter().any(exists) || group.iter().any(|one| one.has_class_subnets()) {
        return None;
    }
    let mentions: Vec<&str> =
        group.iter().map(|one| one.list("subnets")).find(|list| !list.is_empty()).unwrap_or_default();
    let named: BTreeSet<&str> = mentions.iter().copied().collect();
    // A repeated name selects the next subnet of this name.
    if named.len() < mentions.len() {
        return None;
    }
    if !named.is_empty() {
        let has_name = |subnet: &Subnet, name: &str| {
            let is_named = subnet.tags.iter().any(|tag| tag.key == "Name" && tag.value == name);
            subnet.id == name || subnet.vpc_id == vpc && is_named
        };
        let found: Option<Vec<&Subnet>> =
            named.iter().map(|name| region.region.subnets.iter().find(|subnet| has_name(subnet, name))).collect();
        return found;
    }
    let mut candidates = region.candidates(vpc);
    let gates = controller.argument("feature-gates").unwrap_or_default();
    if controller.version? < FIRST_WITH_REACHABILITY || gates.contains("SubnetDiscoveryByReachability=false") {
        candidates.retain(|one| one.subnet.tags.iter().any(|tag| tag.key == scheme.role_tag()));
    }
    let cluster = controller.argument("cluster-name").unwrap_or(context.cluster_id());
    Some(choose_for_load_balancer_controller(&candidates, cluster, scheme))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, with_load_balancer_controller};
    use crate::testing::untag;

    const INTERNAL: &str = "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/scheme: internet-facing
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: lbc
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args:
        - --cluster-name=c-m-4x8z2k9q
";

    const NAMED: &str = with_load_balancer_controller!(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/subnets: subnet-puba0bb1
"
    );

    const EXISTING: &str = with_load_balancer_controller!(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/subnets: subnet-puba0bb1
status:
  loadBalancer:
    ingress:
    - hostname: k8s-shop-web.us-east-1.elb.amazonaws.com
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: other
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/scheme: internal
"
    );

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.manifests = INTERNAL;
            untag(&mut c.subnet(aws::PUBLIC_B).tags, "kubernetes.io/role/elb");
        });
        aws::fires(&RULE, |c| c.manifests = NAMED);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.manifests = INTERNAL);
        aws::silent(&RULE, |c| c.manifests = EXISTING);
    }
}
