use crate::aws::LoadBalancer;
use crate::aws::load_balancers::{MadeFor, Maker};
use crate::kubernetes::Service;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, is_address_of, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-deletion-protected",
    title: "a Service cannot be deleted: the deletion protection of its load balancer is on",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A Service is being deleted (`deletionTimestamp`), waits for the cloud controller (by its finalizer and the annotation `aws-load-balancer-type: nlb`), and the attribute `deletion_protection.enabled` of the Network Load Balancer in its status is `true`. The AWS Load Balancer Controller turns the attribute off itself, unless its annotation asks for it; `svc-sync-fails` then reports the error.",
    impact: "`DeleteLoadBalancer` fails with `OperationNotPermitted` at every sync, and the Service keeps its finalizer",
    fix: "Turn off the attribute `deletion_protection.enabled` of the load balancer; the cloud controller then deletes it.",
    sources: &[
        "Elastic Load Balancing API Reference, DeleteLoadBalancer",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancerDeleted",
        "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/elbv2/load_balancer_synthesizer.go",
    ],
    example: "`a1b2c3` (Service `shop/web`) has its deletion protection on, and the Service has been waiting for its deletion since 2026-11-20T12:00:00Z",
    reads: &[BALANCERS, TAGS, Read::DescribeLoadBalancerAttributes],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        let claim = one.claim()?;
        let is_of_service = claim.maker == Maker::CloudController && matches!(claim.made_for, MadeFor::Service(..));
        let service = one.service.filter(|service| is_of_service && waits_for(service, one.balancer));
        let Some(since) = service.and_then(|service| service.deleted_at.as_deref()) else { return Some(Vec::new()) };
        let attributes = one.balancer.attributes.as_ref()?;
        let is_protected = attributes.get("deletion_protection.enabled").is_some_and(|value| value == "true");
        let found = is_protected.then(|| {
            let message = format!(
                "{} has its deletion protection on, and the Service has been waiting for its deletion since {}",
                described(one),
                text::printable(since)
            );
            let fix = "turn off the attribute `deletion_protection.enabled` of the load balancer; the cloud controller then deletes it";
            on_balancer(one, Severity::Warning, message, fix)
        });
        Some(found.into_iter().collect())
    })
}

/// Finalizer that the cloud controller removes when the load balancer is deleted.
/// Source: kubernetes/cloud-provider `service/helpers/helper.go#LoadBalancerCleanupFinalizer`.
const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// True if the cloud controller deletes a Network Load Balancer before it lets go of a Service: it has the finalizer, its
/// annotation still asks for one, no other controller has it, and its status names this load balancer.
/// Sources: kubernetes/cloud-provider `controllers/service/controller.go#needsCleanup`; kubernetes/cloud-provider-aws
/// `pkg/providers/v1/aws.go#EnsureLoadBalancerDeleted`.
fn waits_for(service: &Service, balancer: &LoadBalancer) -> bool {
    service.finalizers.iter().any(|one| one == FINALIZER)
        && service.load_balancer_class.is_none()
        && service.annotations.get(TYPE).is_some_and(|value| value == "nlb")
        && is_address_of(service, balancer)
}

/// Annotation of the kind of load balancer.
const TYPE: &str = "service.beta.kubernetes.io/aws-load-balancer-type";

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::load_balancers::NETWORK_SERVICE;

    /// The Service of the load balancer, which waits for its deletion.
    fn deleted() -> String {
        let waits = "  name: web\n  deletionTimestamp: '2026-11-20T12:00:00Z'\n  finalizers: [service.kubernetes.io/load-balancer-cleanup]";
        NETWORK_SERVICE.replacen("  name: web", waits, 1)
    }

    fn protected(c: &mut Cluster, value: &str) {
        c.add_network();
        c.balancer().attributes = Some([("deletion_protection.enabled".to_owned(), value.to_owned())].into());
        c.manifests = deleted().leak();
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| protected(c, "true"));
    }

    /// The cloud controller leaves the load balancer behind, and the Service is deleted.
    #[test]
    fn a_service_that_waits_for_something_else_is_not_reported() {
        for (from, to) in [
            ("service.kubernetes.io/load-balancer-cleanup", "example.com/other"),
            ("aws-load-balancer-type: nlb", "aws-load-balancer-type: external"),
            ("aws-load-balancer-type: nlb", "aws-load-balancer-internal: 'true'"),
            ("hostname: ", "hostname: other-"),
        ] {
            assert!(deleted().contains(from), "{from}");
            aws::silent(&RULE, |c| {
                protected(c, "true");
                c.manifests = deleted().replace(from, to).leak();
            });
        }
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| protected(c, "false"));
        // The Service is to stay.
        aws::silent(&RULE, |c| {
            protected(c, "true");
            c.manifests = NETWORK_SERVICE;
        });
    }

    #[test]
    fn attributes_that_were_not_read_decide_nothing() {
        aws::does_not_apply(&RULE, |c| {
            protected(c, "true");
            c.balancer().attributes = None;
        });
    }
}
