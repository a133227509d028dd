use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-ssl-ports-match-nothing",
    title: "TLS is set for ports that the Service does not have",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "An item of `aws-load-balancer-ssl-ports` is neither the number nor the name of a port of the Service, or is `*` for the AWS Load Balancer Controller, which does not support it.",
    impact: "the item gives no listener the certificate",
    fix: "Name ports of the Service, by number or name.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#getPortSets",
        "kubernetes-sigs/aws-load-balancer-controller pkg/service/model_build_listener.go",
    ],
    example: "Service shop/web has TLS for port `8443`, which it does not have",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        const SUFFIX: &str = "aws-load-balancer-ssl-ports";
        let Some(given) = value(service, SUFFIX).filter(|given| !given.trim().is_empty()) else { return Vec::new() };
        let is_all = |item: &str| item == "*" && owner.is_cloud_controller();
        let has = |item: &str| {
            // Port names are converted to lower case for Classic Load Balancers, but list items are not.
            service.ports.iter().any(|port| {
                let name = if owner == Owner::Classic { port.name.to_lowercase() } else { port.name.clone() };
                port.port.to_string() == item || (!name.is_empty() && name == *item)
            })
        };
        let items = given.split(',').map(str::trim).filter(|item| !item.is_empty());
        let missing: Vec<&str> = items.filter(|item| !is_all(item) && !has(item)).collect();
        if missing.is_empty() || matches!(owner, Owner::OtherClass | Owner::Nobody) || service.ports.is_empty() {
            return Vec::new();
        }
        let name = service.full_name();
        let missing = text::list(&missing, 5);
        let message =
            format!("Service {} has TLS for port `{missing}`, which it does not have", text::printable(&name));
        vec![on(service, Some(SUFFIX), Severity::Warning, message, "name ports of the Service, by number or name")]
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
    service.beta.kubernetes.io/aws-load-balancer-ssl-ports: "8443"
spec:
  type: LoadBalancer
  ports:
  - name: https
    port: 443
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "\"8443\"", "https");
    }
}
