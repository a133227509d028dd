use crate::controller::ControllerVersion;
use crate::kubernetes::Ingress;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, host_kind, on, strictest_version};

pub(super) const RULE: Rule = Rule {
    id: "svc-host-name-not-classic",
    title: "cloud controller 1.36 mistakes the kind of load balancer",
    severity: RuleSeverity::depends(
        Severity::Info,
        "info; error from cloud controller 1.36 on, or if --target-controller is 1.36 or later",
    ),
    resources: &[ResourceKind::Service],
    condition: "A Service for which the cloud controller creates a Classic Load Balancer has an address that does not end with `.elb.amazonaws.com`: a name in China (`.elb.amazonaws.com.cn`), or an address that another controller left. From 1.36 on it is mistaken for a Network Load Balancer. It is an error if the controller's version, or --target-controller, is 1.36 or later.",
    impact: "from cloud controller 1.36 on the Service is no longer updated: `cannot update Load Balancer Type annotation`",
    fix: "Re-create the Service with a Network Load Balancer before the upgrade, or stay with 1.35; remove an address that another controller left from the Service's status.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws_validations.go#validateServiceAnnotations"],
    example: "Service shop/web is reached at `a1-2.cn-north-1.elb.amazonaws.com.cn`, which cloud controller 1.36 does not recognise as a Classic Load Balancer",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let refuses = strictest_version(context).is_some_and(|version| version >= ControllerVersion::new(1, 36, 0));
    for_each_service(context, |service, owner| {
        let Some(ingress) = service.ingress.first().filter(|_| owner == Owner::Classic) else { return Vec::new() };
        let reached = match ingress {
            Ingress::Hostname(name) if name.ends_with(".elb.amazonaws.com") => return Vec::new(),
            // `svc-type-annotation-changed` reports a load balancer of another kind.
            Ingress::Hostname(_) if host_kind(service) == Some(Owner::Network) => return Vec::new(),
            Ingress::Hostname(name) | Ingress::Address(name) => name,
        };
        let name = service.full_name();
        let message = format!(
            "Service {} is reached at `{}`, which cloud controller 1.36 does not recognise as a Classic Load Balancer",
            text::printable(&name),
            text::printable(reached)
        );
        let severity = if refuses { Severity::Error } else { Severity::Info };
        let fix = "re-create the Service with a Network Load Balancer before the upgrade to cloud controller 1.36";
        vec![on(service, None, severity, message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Service
metadata:
  name: web
spec:
  type: LoadBalancer
status:
  loadBalancer:
    ingress:
    - hostname: a1-2.cn-north-1.elb.amazonaws.com.cn
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "amazonaws.com.cn", "amazonaws.com");
    }
}
