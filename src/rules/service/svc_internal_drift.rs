use crate::kubernetes::Ingress;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, kind_of_host, of_each, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-internal-drift",
    title: "a Service was made internal, or public, after its load balancer was made",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The host name of a Classic Load Balancer of the cloud controller begins with `internal-` and the annotation does not ask for it, or the other way round. The scheme is never changed after the load balancer was made.",
    impact: "a Service that is believed to be private stays on the internet, or one for the internet is not reached",
    fix: "Make a new Service: its load balancer gets a new name.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancer",
        r#"AWS documentation of Elastic Load Balancing, "Internal Classic Load Balancers""#,
    ],
    example: "Service shop/web asks for an internal load balancer, and `a1b2.eu-west-1.elb.amazonaws.com` is on the internet",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_each(context, |service, owner| {
        const SUFFIX: &str = "aws-load-balancer-internal";
        let Some(Ingress::Hostname(host)) = service.ingress.first() else { return Vec::new() };
        if owner != Owner::Classic || kind_of_host(service) != Some(Owner::Classic) {
            return Vec::new();
        }
        let asks = value(service, SUFFIX).is_some_and(|value| !value.is_empty() && value != "false");
        let name = service.full_name();
        let (name, shown) = (text::printable(&name), text::printable(host));
        let message = match (asks, host.starts_with("internal-")) {
            (true, false) => {
                format!("Service {name} asks for an internal load balancer, and `{shown}` is on the internet")
            }
            (false, true) => {
                format!("Service {name} asks for a load balancer on the internet, and `{shown}` is internal")
            }
            _ => return Vec::new(),
        };
        let fix = "make a new Service, and move the traffic there: its load balancer gets a new name";
        vec![on(service, Some(SUFFIX), Severity::Error, message, fix)]
    })
}
