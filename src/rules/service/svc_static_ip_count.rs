use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-static-ip-count",
    title: "the numbers of addresses and subnets differ",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service names subnets (`aws-load-balancer-subnets`) and addresses (`-eip-allocations` or `-private-ipv4-addresses`) for a Network Load Balancer, but not one address for each subnet.",
    impact: "the load balancer is not created: each subnet needs one address",
    fix: "Name as many addresses as subnets.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2",
        "kubernetes-sigs/aws-load-balancer-controller pkg/service/model_build_load_balancer.go",
    ],
    example: "Service shop/web names 3 subnets and 2 addresses",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        let count = |list: &str| list.split(',').filter(|item| !item.trim().is_empty()).count();
        let Some(subnets) = value(service, "aws-load-balancer-subnets").map(count).filter(|_| owner != Owner::Classic)
        else {
            return Vec::new();
        };
        let lists = ["aws-load-balancer-eip-allocations", "aws-load-balancer-private-ipv4-addresses"];
        let found = lists.into_iter().filter_map(|suffix| {
            let given = value(service, suffix)?;
            // The cloud controller also counts the empty item after a trailing comma.
            let addresses = if owner.is_cloud_controller() { given.split(',').count() } else { count(given) };
            if addresses == subnets {
                return None;
            }
            let name = service.full_name();
            let (name, subnets) = (text::printable(&name), text::count(subnets, "subnet"));
            let addresses = if addresses == 1 { "1 address".to_owned() } else { format!("{addresses} addresses") };
            let message = format!("Service {name} names {subnets} and {addresses}");
            Some(on(service, Some(suffix), Severity::Error, message, "name one address for each subnet"))
        });
        found.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: nlb
    service.beta.kubernetes.io/aws-load-balancer-subnets: "subnet-1,subnet-2"
    service.beta.kubernetes.io/aws-load-balancer-eip-allocations: eipalloc-1
spec:
  type: LoadBalancer
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "eipalloc-1", "\"eipalloc-1,eipalloc-2\"");
    }
}
