use crate::aws::load_balancers::{MadeFor, Maker};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-deletion-protected",
    title: "a Service cannot be deleted: the deletion protection of its load balancer is on",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A Service is being deleted (`deletionTimestamp`), and the attribute `deletion_protection.enabled` of the Network Load Balancer that the cloud controller made for it is `true`. The AWS Load Balancer Controller turns the attribute off itself.",
    impact: "`DeleteLoadBalancer` fails with `OperationNotPermitted` at every sync: the Service keeps its finalizer, and its namespace stays in `Terminating`",
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
        let deleted_at = one.service.and_then(|service| service.deleted_at.as_deref()).filter(|_| is_of_service);
        let Some(since) = deleted_at else { return Some(Vec::new()) };
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

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::load_balancers::NETWORK_SERVICE;

    const DELETED: &str = "
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: 0a, deletionTimestamp: '2026-11-20T12:00:00Z'}
spec: {type: LoadBalancer, ports: [{port: 443, nodePort: 30443}]}
";

    fn protected(c: &mut Cluster, value: &str) {
        c.add_network();
        c.balancer().attributes = Some([("deletion_protection.enabled".to_owned(), value.to_owned())].into());
        c.manifests = DELETED;
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| protected(c, "true"));
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
