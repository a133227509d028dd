use std::net::IpAddr;

use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_service, on_field, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-field-unsupported",
    title: "the cloud controller refuses a field of the Service",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has `sessionAffinity: ClientIP` or `loadBalancerIP`, or a source range that is not a valid CIDR range.",
    impact: "the Service gets no load balancer, and its event gives the reason",
    fix: "Remove the field; for fixed addresses use a Network Load Balancer with `aws-load-balancer-eip-allocations`.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer",
        "kubernetes/cloud-provider service/helpers/helper.go#GetLoadBalancerSourceRanges",
    ],
    example: "Service shop/web has `sessionAffinity: ClientIP`, which the cloud controller refuses",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        if !owner.is_cloud_controller() {
            return Vec::new();
        }
        let name = service.full_name();
        let name = text::printable(&name);
        let mut found = Vec::new();
        let mut add = |field: &str, what: String, fix: &str| {
            let message =
                format!("Service {name} has `{}`, which the cloud controller refuses", text::printable(&what));
            found.push(on_field(service, field, message, fix).with_respect_to(field));
        };
        if service.has_client_affinity {
            add("sessionAffinity", "sessionAffinity: ClientIP".to_owned(), "remove `sessionAffinity`");
        }
        if let Some(address) = &service.load_balancer_ip {
            let fix = "remove `loadBalancerIP`; on a Network Load Balancer, set `aws-load-balancer-eip-allocations`";
            add("loadBalancerIP", format!("loadBalancerIP: {address}"), fix);
        }
        let annotated = value(service, "load-balancer-source-ranges").filter(|_| service.source_ranges.is_empty());
        let annotated =
            annotated.into_iter().flat_map(|ranges| ranges.split(',')).filter(|range| !range.trim().is_empty());
        let ranges = service.source_ranges.iter().map(String::as_str).chain(annotated);
        if let Some(wrong) = ranges.map(str::trim).find(|range| !is_range(range)) {
            add("loadBalancerSourceRanges", format!("source range {wrong}"), "use ranges such as `192.0.2.0/24`");
        }
        found
    })
}

fn is_range(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, length)| {
        let longest = address.parse::<IpAddr>().map(|address| if address.is_ipv6() { 128 } else { 32 });
        longest.is_ok_and(|longest| length.parse::<u8>().is_ok_and(|length| length <= longest))
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
    service.beta.kubernetes.io/aws-load-balancer-connection-draining-enabled: "true"
spec:
  type: LoadBalancer
  sessionAffinity: ClientIP
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "ClientIP", "None");
    }
}
