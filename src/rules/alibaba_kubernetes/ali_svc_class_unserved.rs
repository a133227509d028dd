use crate::alibaba::LoadBalancerKind;
use crate::inventory::Provider;
use crate::kubernetes::Service;
use crate::model::cloud_provider_alibaba::{NEWEST, is_switched_off, wanted};
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_service::{CLASS, FIRST_WITH_NLB, NLB_CLASS};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-class-unserved",
    title: "a Service whose class the cloud controller does not serve",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning for a class that resembles the controller's, or that its version ignores; info for any other",
    ),
    resources: &[ResourceKind::Service],
    condition: "A Service of type LoadBalancer without an address has another `loadBalancerClass` than `alibabacloud.com/nlb`, or the annotation `service.beta.kubernetes.io/class`; or it has that class, and the controller is older than 2.5.1 or runs without `nlb` in `--controllers`; or it has neither, and the controller runs without `service` in `--controllers`.",
    impact: "the cloud controller leaves the Service to another controller, and it stays pending if there is none; before 2.5.1 it creates a classic load balancer whatever the class",
    fix: "Remove the class for a classic load balancer, or write `loadBalancerClass: alibabacloud.com/nlb`; the class of a Service cannot be changed, so re-create it.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/service_utils.go#NeedCLB, #NeedNLB",
        "Kubernetes documentation, Service, Specify class of load balancer implementation",
    ],
    example: "Service shop/web has the class `alibabacloud.com/clb`, which the cloud controller does not serve",
    ..Rule::evidence(ALIBABA, check)
};

/// Similarity from which a class counts as a misspelling of the controller's.
const ALIKE: f64 = 0.85;

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let version = context.alibaba_controller_version();
    // Without a sign of the cloud, a class may be that of any controller.
    let is_here = context.is_of(Provider::Alibaba);
    let is_asked = |service: &&Service| {
        let resembles = service.load_balancer_class.as_deref().is_some_and(resembles_its_class);
        service.is_load_balancer() && service.deleted_at.is_none() && (is_here || resembles)
    };
    let asked: Vec<_> = services.iter().filter(is_asked).collect();
    if asked.is_empty() {
        return CheckResult::not_applicable("no Service requests a load balancer of Alibaba Cloud");
    }
    let is_off = |kind| is_switched_off(context.evidence, kind);
    // With a feature gate, an annotation states the kind.
    let is_classic = |service: &Service| {
        let kind = |has_gate| wanted(service, version.unwrap_or(NEWEST), has_gate);
        [false, true].into_iter().all(|has_gate| kind(has_gate) == Some(LoadBalancerKind::Clb))
    };
    let mut found = Vec::new();
    for service in &asked {
        let old = version.filter(|version| *version < FIRST_WITH_NLB);
        let class = service.load_balancer_class.as_deref();
        let (severity, defect, fix) = match (class, old) {
            (Some(NLB_CLASS), Some(version)) => (
                Severity::Warning,
                format!(
                    "requests a network load balancer, and version {version} of the cloud controller creates a classic one"
                ),
                "upgrade the controller to 2.5.1 or later, and re-create the Service",
            ),
            (Some(NLB_CLASS), None) if is_off(LoadBalancerKind::Nlb) && service.ingress.is_empty() => (
                Severity::Warning,
                "requests a network load balancer, and `--controllers` of the cloud controller has no `nlb`".to_owned(),
                "add `nlb` to `--controllers`, or omit the flag",
            ),
            // An old version ignores any other class.
            (Some(NLB_CLASS), None) | (Some(_), Some(_)) => continue,
            _ if !service.ingress.is_empty() => continue,
            (Some(class), None) => (
                if resembles_its_class(class) { Severity::Warning } else { Severity::Info },
                format!("has the class `{}`, which the cloud controller does not serve", text::printable(class)),
                "remove the class, or write `loadBalancerClass: alibabacloud.com/nlb`, in a new Service",
            ),
            (None, _) => match annotated(service) {
                Some(class) => (
                    Severity::Info,
                    format!(
                        "has the annotation `{CLASS}: {}`, with which the cloud controller leaves it alone",
                        text::printable(class)
                    ),
                    "remove the annotation",
                ),
                None if is_off(LoadBalancerKind::Clb) && is_classic(service) => (
                    Severity::Warning,
                    "requests a classic load balancer, and `--controllers` of the cloud controller has no `service`"
                        .to_owned(),
                    "add `service` to `--controllers`, or omit the flag",
                ),
                None => continue,
            },
        };
        let name = service.full_name();
        let message = format!("Service {} {defect}", text::printable(&name));
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        found.push(Violation::new(severity, resource, message, Fix::none(fix)).at(&service.place));
    }
    CheckResult::counted(asked.len(), found)
}

/// Class of the annotation, of which any value counts.
fn annotated(service: &Service) -> Option<&str> {
    service.annotations.get(CLASS).map(String::as_str).filter(|class| !class.is_empty())
}

fn resembles_its_class(class: &str) -> bool {
    class.to_lowercase().starts_with("alibabacloud.com/") || text::most_alike(class, [NLB_CLASS], ALIKE).is_some()
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
  loadBalancerClass: alibabacloud.com/clb
";

    const CONTROLLER: &str = "
kind: DaemonSet
metadata:
  name: cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.0
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let with_controller = |services: &str| format!("{services}---{CONTROLLER}");
        let network = DEFECT.replace("alibabacloud.com/clb", "alibabacloud.com/nlb");
        let off = "v2.9.0\n        command:\n        - --controllers=node,route,service";
        lint::fires(&RULE, &with_controller(&network).replace("v2.9.0", off));
        lint::fires(&RULE, &with_controller(&DEFECT.replace("alibabacloud.com/clb", "example.com/vip")));
        let annotated = DEFECT
            .replace("  loadBalancerClass: alibabacloud.com/clb\n", "")
            .replace("  name: web\n", "  name: web\n  annotations:\n    service.beta.kubernetes.io/class: other\n");
        lint::fires(&RULE, &with_controller(&annotated));
    }

    #[test]
    fn the_controller_of_classic_load_balancers_may_be_off() {
        let service = DEFECT.replace("  loadBalancerClass: alibabacloud.com/clb\n", "");
        let with = |flag: &str| {
            let image = format!("v2.9.0\n        command:\n        - {flag}");
            format!("{service}---{}", CONTROLLER.replace("v2.9.0", &image))
        };
        lint::fires(&RULE, &with("--controllers=node,route,nlb"));
        lint::silent(&RULE, &with("--controllers=node,nlb"), "node,nlb", "node,service");
        lint::silent(&RULE, &with("--controllers=node,nlb"), "--controllers=node,nlb", "--v=5");
        lint::silent(
            &RULE,
            &with("--controllers=node,nlb"),
            "  name: web\n",
            "  name: web\n  annotations:\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-type: nlb\n",
        );
        let tunnel = "  name: web\n  annotations:\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-tunnel-type: geneve\n";
        let newest = with("--controllers=node,nlb").replace("v2.9.0", "v2.14.0");
        lint::silent(&RULE, &newest, "  name: web\n", tunnel);
        // An empty list starts nothing.
        lint::fires(&RULE, &with("--controllers="));
        let served = "LoadBalancer\nstatus:\n  loadBalancer:\n    ingress:\n    - ip: 203.0.113.7";
        lint::silent(&RULE, &with("--controllers=node,nlb"), "LoadBalancer", served);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "alibabacloud.com/clb", "alibabacloud.com/nlb");
        // No sign of the cloud.
        lint::does_not_apply(&RULE, &DEFECT.replace("alibabacloud.com/clb", "service.k8s.aws/nlb"));
        let served = "example.com/vip\nstatus:\n  loadBalancer:\n    ingress:\n    - ip: 203.0.113.7";
        lint::silent(&RULE, &format!("{DEFECT}---{CONTROLLER}"), "alibabacloud.com/clb", served);
    }
}
