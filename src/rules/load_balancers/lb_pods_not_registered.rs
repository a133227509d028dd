use std::collections::BTreeSet;

use crate::aws::TargetGroup;
use crate::model::existing::Balancer;
use crate::model::pods::{Reading, pods};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{
    BALANCER, BALANCERS, TAGS, described, for_each, group_resource, has_other_clusters, is_kept, listed, on_balancer,
    service_behind,
};

pub(super) const RULE: Rule = Rule {
    id: "lb-pods-not-registered",
    title: "no ready Pod of a Service is a target of its load balancer",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A target group of type `ip` holds no address of a ready Pod of the Service, which has ready Pods by its `EndpointSlice` objects or `Endpoints`. Skipped: target groups that several clusters share.",
    impact: "the load balancer reaches no Pod: the controller does not reconcile the TargetGroupBinding, or fails before it registers the targets",
    fix: "Remove the error in the log of the controller (`tagaudit why` explains it): it registers targets only after the rules of the security groups of their network interfaces.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/targetgroupbinding/resource_manager.go#reconcileWithIPTargetType",
    ],
    example: "`k8s-shop-web-0a` of `k8s-shop-web` (Service `shop/web`) holds no target, and `shop/web` has the ready Pods 10.0.1.7, 10.0.1.8",
    reads: &[BALANCERS, TAGS, Read::DescribeTargetGroups, Read::DescribeTargetHealth],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        let of_pods = one.groups.iter().filter(|group| group.target_type.as_deref() == Some("ip"));
        let of_pods = of_pods.filter(|group| is_kept(context, one, group) && !has_other_clusters(context, one, group));
        let judged: Vec<Vec<Violation>> = of_pods.filter_map(|group| judge(context, one, group)).collect();
        (!judged.is_empty()).then(|| judged.into_iter().flatten().collect())
    })
}

/// The findings on a target group; `None` if the Pods or the targets are not known.
fn judge(context: &Context<'_>, one: &Balancer<'_>, group: &TargetGroup) -> Option<Vec<Violation>> {
    let service = one.service.or_else(|| service_behind(context, group))?;
    let ready = pods(context.kubernetes, service, Reading::OF_KUBE_PROXY)?.ready;
    let addresses: BTreeSet<&str> = ready.iter().filter(|one| one.is_pod).map(|pod| pod.address).collect();
    let targets = group.targets.as_deref()?;
    let held: Vec<&str> =
        targets.iter().filter(|one| one.state != "draining").map(|target| target.id.as_str()).collect();
    if addresses.is_empty() || held.iter().any(|id| addresses.contains(id)) {
        return Some(Vec::new());
    }
    let name = service.full_name();
    let holds = if held.is_empty() { "no target".to_owned() } else { format!("only {}", listed(held.iter().copied())) };
    let message = format!(
        "`{}` of {} holds {holds}, and `{}` has the ready Pods {}",
        text::printable(&group.name),
        described(one),
        text::printable(&name),
        listed(addresses.iter().copied())
    );
    let fix = "remove the error in the log of the controller: it registers targets only after the rules of the security groups of their network interfaces";
    let violation = on_balancer(one, Severity::Warning, message, fix);
    Some(vec![violation.related([group_resource(one.region, group)]).with_respect_to(group.name.as_str())])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::load_balancers::{NETWORK_SERVICE, add_target};

    fn with_pods(c: &mut Cluster, targets: &[&str], ready: bool) {
        c.add_network();
        let group = c.target_group();
        group.target_type = Some("ip".to_owned());
        group.targets = Some(Vec::new());
        for id in targets {
            add_target(group, id);
        }
        let slice = format!(
            "---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: web-1, namespace: shop, labels: {{kubernetes.io/service-name: web}}}}
addressType: IPv4
endpoints:
- {{addresses: [10.0.1.7], nodeName: a, conditions: {{ready: {ready}}}, targetRef: {{kind: Pod}}}}
- {{addresses: [10.0.1.8], nodeName: b, conditions: {{ready: {ready}}}, targetRef: {{kind: Pod}}}}
"
        );
        c.manifests = Box::leak(format!("{NETWORK_SERVICE}{slice}").into_boxed_str());
    }

    #[test]
    fn fires() {
        let found = aws::messages(&RULE, |c| with_pods(c, &[], true));
        assert!(found[0].contains("holds no target") && found[0].ends_with("10.0.1.7, 10.0.1.8"), "{found:?}");
        let found = aws::messages(&RULE, |c| with_pods(c, &["10.0.1.5"], true));
        assert!(found[0].contains("holds only 10.0.1.5"), "{found:?}");
    }

    #[test]
    fn silent() {
        // The controller is at work, or a reading is older than the other.
        aws::silent(&RULE, |c| with_pods(c, &["10.0.1.5", "10.0.1.7"], true));
        aws::silent(&RULE, |c| with_pods(c, &[], false));
        // Addresses that someone wrote by hand.
        aws::silent(&RULE, |c| {
            with_pods(c, &[], true);
            c.manifests = Box::leak(c.manifests.replace(", targetRef: {kind: Pod}", "").into_boxed_str());
        });
        aws::does_not_apply(&RULE, |c| {
            c.add_network();
            c.manifests = NETWORK_SERVICE;
        });
    }
}
