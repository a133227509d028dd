use crate::controller::ControllerVersion;
use crate::kubernetes::Ingress;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, kind_of_host, of_each, on, strictest_version};

pub(super) const RULE: Rule = Rule {
    id: "svc-host-name-not-classic",
    title: "the cloud controller 1.36 takes the load balancer for one of another kind",
    severity: RuleSeverity::depends(
        Severity::Info,
        "info; error from the cloud controller 1.36 on, or where --target-controller is one of those",
    ),
    resources: &[ResourceKind::Service],
    condition: "A Service for which the cloud controller makes a Classic Load Balancer has an address whose name does not end with `.elb.amazonaws.com`: a name in China (`.elb.amazonaws.com.cn`), or an address that another controller left. From 1.36 on the controller takes that for a Network Load Balancer. An error where its version, or --target-controller, is one of those.",
    impact: "from the cloud controller 1.36 on the Service is not updated any more: `cannot update Load Balancer Type annotation`",
    fix: "Make the Service again as a Network Load Balancer before the upgrade, or stay with 1.35; an address that another controller left has to be removed from its status.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws_validations.go#validateServiceAnnotations"],
    example: "Service shop/web is reached at `a1-2.cn-north-1.elb.amazonaws.com.cn`, which is no name of a Classic Load Balancer for the cloud controller 1.36",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let refuses = strictest_version(context).is_some_and(|version| version >= ControllerVersion::new(1, 36, 0));
    of_each(context, |service, owner| {
        let Some(ingress) = service.ingress.first().filter(|_| owner == Owner::Classic) else { return Vec::new() };
        let reached = match ingress {
            Ingress::Hostname(name) if name.ends_with(".elb.amazonaws.com") => return Vec::new(),
            // That it is one of another kind is told by `svc-type-annotation-changed`.
            Ingress::Hostname(_) if kind_of_host(service) == Some(Owner::Network) => return Vec::new(),
            Ingress::Hostname(name) | Ingress::Address(name) => name,
        };
        let name = service.full_name();
        let message = format!(
            "Service {} is reached at `{}`, which is no name of a Classic Load Balancer for the cloud controller 1.36",
            text::printable(&name),
            text::printable(reached)
        );
        let severity = if refuses { Severity::Error } else { Severity::Info };
        let fix = "make the Service again as a Network Load Balancer before the upgrade to the cloud controller 1.36";
        vec![on(service, None, severity, message, fix)]
    })
}
