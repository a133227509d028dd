use crate::kubernetes::Ingress;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, host_kind, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-internal-drift",
    title: "a Service's scheme was changed after its load balancer was created",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The host name of a Classic Load Balancer of the cloud controller begins with `internal-` although the annotation does not request it, or vice versa. The scheme never changes after the load balancer is created.",
    impact: "a Service that is believed to be private stays on the internet, or a public one is not reachable",
    fix: "Create a new Service: its load balancer gets a new name.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancer",
        r#"AWS documentation of Elastic Load Balancing, "Internal Classic Load Balancers""#,
    ],
    example: "Service shop/web requests an internal load balancer, but `a1b2.eu-west-1.elb.amazonaws.com` is internet-facing",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        const SUFFIX: &str = "aws-load-balancer-internal";
        let Some(Ingress::Hostname(host)) = service.ingress.first() else { return Vec::new() };
        if owner != Owner::Classic || host_kind(service) != Some(Owner::Classic) {
            return Vec::new();
        }
        let asks = value(service, SUFFIX).is_some_and(|value| !value.is_empty() && value != "false");
        let name = service.full_name();
        let (name, shown) = (text::printable(&name), text::printable(host));
        let message = match (asks, host.starts_with("internal-")) {
            (true, false) => {
                format!("Service {name} requests an internal load balancer, but `{shown}` is internet-facing")
            }
            (false, true) => {
                format!("Service {name} requests an internet-facing load balancer, but `{shown}` is internal")
            }
            _ => return Vec::new(),
        };
        let fix = "create a new Service and move the traffic there: its load balancer gets a new name";
        vec![on(service, Some(SUFFIX), Severity::Error, message, fix)]
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
    service.beta.kubernetes.io/aws-load-balancer-internal: "true"
spec:
  type: LoadBalancer
status:
  loadBalancer:
    ingress:
    - hostname: a1-4.eu-west-1.elb.amazonaws.com
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "hostname: a1", "hostname: internal-a1");
    }
}
