use std::collections::BTreeSet;

use crate::alibaba::{CLUSTER_TAG, Region, SERVICE_TAG, service_tag_value};
use crate::kubernetes::{Service, covers_all_namespaces};
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_leftover::block;
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-load-balancer-leftover",
    title: "a load balancer belongs to a deleted Service",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::LoadBalancer, ResourceKind::SecurityGroup],
    condition: "A load balancer, or the security group of one, carries `ack.aliyun.com` with the cluster id and `kubernetes.do.not.delete` with a value that is derived from no Service's UID. Without `default/kubernetes` and a Service of kube-system, they do not cover all namespaces, and the rule does not apply.",
    impact: "it counts against quotas, a load balancer costs money, and no controller ever deletes it",
    fix: "Make sure that no DNS record leads to it, and delete it.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/annotation/annotations.go#GetDefaultTags",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go",
    ],
    example: "load balancer `lb-bp1` carries `kubernetes.do.not.delete=a0f1…`, but no Service has that UID",
    reads: &[Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers, Read::EcsDescribeSecurityGroups],
    reports_leftovers: true,
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    if !covers_all_namespaces(services) {
        return CheckResult::not_applicable("the Services do not cover all namespaces: give `kubectl get services -A`");
    }
    let known: BTreeSet<String> = services.iter().map(|service| service_tag_value(&service.uid)).collect();
    let mut checked = 0;
    let mut found = Vec::new();
    for view in &context.view.regions {
        for (kind, id, held) in view.region.tagged() {
            let is_meant = matches!(kind, ResourceKind::LoadBalancer | ResourceKind::SecurityGroup)
                && tags::value(held, CLUSTER_TAG) == Some(context.cluster_id());
            let Some(value) = tags::value(held, SERVICE_TAG).filter(|_| is_meant) else { continue };
            checked += 1;
            if known.contains(value) {
                continue;
            }
            let shown = text::printable(value);
            let message =
                format!("{} `{id}` carries `{SERVICE_TAG}={shown}`, but no Service has that UID", kind.noun());
            let fix = Fix::none(format!(
                "make sure that no DNS record leads to it, and delete it{}",
                blocked_by(view.region, id)
            ));
            found.push(Violation::new(Severity::Warning, alibaba::resource(view, kind, id, None), message, fix));
        }
    }
    CheckResult::counted(checked, found)
}

/// What cannot be deleted before a load balancer or a security group.
fn blocked_by(region: &Region, id: &str) -> String {
    let balancer = region.load_balancers.iter().flatten().find(|one| one.id == id);
    let group = region.security_groups.iter().find(|one| one.id == id);
    let vpcs = [balancer.and_then(|one| one.vpc_id.as_deref()), group.and_then(|one| one.vpc_id.as_deref())];
    let groups = balancer.into_iter().flat_map(|one| one.security_groups.iter().flatten());
    block(vpcs.into_iter().flatten(), groups.map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            let mut other = c.load_balancer("lb-bp1web").clone();
            other.id = "lb-bp1left".to_owned();
            tag(&mut other.tags, "kubernetes.do.not.delete", "a99999999000040008000000000000000");
            c.region().load_balancers.as_mut().unwrap().push(other);
        });
    }

    #[test]
    fn what_it_blocks_is_stated() {
        let (found, _) = alibaba::changed(&RULE, |c| {
            let mut other = c.load_balancer("lb-bp1web").clone();
            (other.id, other.vpc_id) = ("lb-bp1left".to_owned(), Some("vpc-bp1".to_owned()));
            tag(&mut other.tags, "kubernetes.do.not.delete", "a99999999000040008000000000000000");
            c.region().load_balancers.as_mut().unwrap().push(other);
        });
        assert!(found[0].fix.summary.ends_with("; they block the deletion of vpc-bp1"), "{}", found[0].fix.summary);
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            let mut other = c.load_balancer("lb-bp1web").clone();
            other.id = "lb-bp1left".to_owned();
            tag(&mut other.tags, "kubernetes.do.not.delete", "a2222222200004000800000000000000");
            c.region().load_balancers.as_mut().unwrap().push(other);
        });
    }
}
