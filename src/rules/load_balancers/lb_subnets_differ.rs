use std::collections::BTreeSet;

use crate::aws::LoadBalancerKind;
use crate::aws::load_balancers::Maker;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, listed, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-subnets-differ",
    title: "the controller would choose other subnets for a load balancer today",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info if the load balancer only gains subnets, or keeps its own",
    ),
    resources: BALANCER,
    condition: "The subnets that the controller chooses for a Service today, as [`tagaudit simulate`](simulate.md) models it, are not those of its load balancer. The version is that of the option or of the image; if it is not known, every version must choose the same ones.",
    impact: "a Classic Load Balancer moves to these subnets at the next sync; a Network Load Balancer of the cloud controller never does; the AWS Load Balancer Controller keeps the zones of a load balancer unless an annotation names subnets",
    fix: "Correct the tags of the subnets, or name the subnets in an annotation of the Service. A Network Load Balancer of the cloud controller changes only with a new Service.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancer, #ensureLoadBalancerv2",
        "kubernetes-sigs/aws-load-balancer-controller pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnets",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3157",
    ],
    example: "`a1b2c3` (Service `shop/web`) is in subnet-0c, which the controller would not choose today: the next sync detaches it",
    reads: &[
        BALANCERS,
        TAGS,
        Read::DescribeAvailabilityZones,
        Read::DescribeInstances,
        Read::DescribeRouteTables,
        Read::DescribeSubnets,
    ],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        if !one.is_meant() {
            return None;
        }
        let decision = one.decision.as_ref()?;
        // Where the subnets of an existing load balancer stay, what the controller would choose for a new one.
        let is_kept = !decision.subnets_if_new.is_not_reached();
        let chosen = if is_kept { &decision.subnets_if_new } else { &decision.subnets };
        let chosen: BTreeSet<&str> = chosen.known()?.iter().map(String::as_str).collect();
        let held: BTreeSet<&str> = one.balancer.subnets.iter().map(String::as_str).collect();
        if chosen.is_empty() || held.is_empty() {
            return None;
        }
        if chosen == held {
            return Some(Vec::new());
        }
        let lost: Vec<&str> = held.difference(&chosen).copied().collect();
        let gained: Vec<&str> = chosen.difference(&held).copied().collect();
        let is_classic = one.balancer.kind == LoadBalancerKind::Classic;
        let maker = one.claim()?.maker;
        let (severity, effect) = match (maker, is_classic) {
            (Maker::CloudController, true) if lost.is_empty() => (Severity::Info, "the next sync attaches it"),
            (Maker::CloudController, true) => (Severity::Warning, "the next sync detaches it"),
            (Maker::CloudController, false) => {
                (Severity::Warning, "the cloud controller never changes the subnets of a Network Load Balancer")
            }
            // An annotation or the parameters of a class name them.
            (Maker::LoadBalancerController, _) if !is_kept => {
                (Severity::Warning, "the next sync sets the subnets that the object names")
            }
            (Maker::LoadBalancerController, _) => {
                (Severity::Info, "the controller keeps the zones of an existing load balancer")
            }
        };
        let difference = if lost.is_empty() {
            format!("is not in {}, which the controller would choose today", listed(gained.iter().copied()))
        } else if gained.is_empty() {
            format!("is in {}, which the controller would not choose today", listed(lost.iter().copied()))
        } else {
            format!(
                "is in {}, and the controller would choose {} instead today",
                listed(lost.iter().copied()),
                listed(gained.iter().copied())
            )
        };
        let message = format!("{} {difference}: {effect}", described(one));
        let is_fixed = maker == Maker::CloudController && !is_classic;
        // Of another scheme, the rule about the scheme names the cause.
        if is_fixed
            && decision.asked_scheme().known().is_some_and(|scheme| one.balancer.scheme.as_deref() != Some(*scheme))
        {
            return Some(Vec::new());
        }
        let fix = if is_fixed {
            "create the Service again, which gives it another address; or correct the tags of the subnets if the present ones are right"
        } else if maker == Maker::LoadBalancerController && !is_kept {
            "correct the subnets that the object names if the present ones are right"
        } else {
            "correct the tags of the subnets, or name the subnets in an annotation of the Service"
        };
        let related = lost.iter().chain(&gained).map(|id| one.region.bare(ResourceKind::Subnet, id));
        Some(vec![on_balancer(one, severity, message, fix).related(related)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, PUBLIC};
    use crate::testing::load_balancers::SERVICE;

    #[test]
    fn fires() {
        let found = aws::messages(&RULE, |c| {
            c.add_classic().subnets.push("subnet-priva0bb1".to_owned());
            c.manifests = SERVICE;
        });
        assert!(found[0].contains("detaches"), "{found:?}");
        aws::fires(&RULE, |c| {
            c.add_classic().subnets.retain(|id| id != PUBLIC);
            c.manifests = SERVICE;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_classic();
            c.manifests = SERVICE;
        });
        aws::silent(&RULE, |c| {
            c.add_network();
            c.manifests = crate::testing::load_balancers::NETWORK_SERVICE;
        });
    }
}
