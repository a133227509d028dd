use crate::alibaba::LoadBalancerKind;
use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{has_annotation, kept};

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-source-ranges-ignored",
    title: "the source ranges of a Service have no effect",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "A Service has `loadBalancerSourceRanges` other than every address, and its load balancer is a classic one, or a network load balancer that the annotation `…-loadbalancer-id` names, or the cloud controller is older than v2.14.0. A network load balancer is skipped if the version is not known.",
    impact: "the load balancer accepts all clients, and nothing reports that",
    fix: "For a classic load balancer, restrict the listeners with the annotations `…-loadbalancer-acl-id`, `…-acl-status` and `…-acl-type`; for a network load balancer, upgrade the controller or name a security group with a rule that drops.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#BuildLocalModel",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1: nothing reads `LoadBalancerSourceRanges`",
    ],
    example: "Service `shop/web` has `loadBalancerSourceRanges`, which classic load balancers do not have",
    ..Rule::alibaba(alibaba::Check::Services(check))
};

/// First version that makes a security group of the ranges.
const FIRST: ControllerVersion = ControllerVersion::new(2, 14, 0);

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let kubernetes = context.on_kubernetes();
    let version = kubernetes.alibaba_controller_version();
    let is_everything = |range: &String| range.trim() == "0.0.0.0/0";
    let is_restricted = |ranges: &[String]| !ranges.is_empty() && !ranges.iter().any(is_everything);
    let restricted = services.iter().filter(|service| is_restricted(&service.source_ranges));
    let mut checked = 0;
    let mut found = Vec::new();
    for service in restricted {
        let is_named = has_annotation(service, "id");
        let reason = match (kept(&kubernetes, service), version) {
            (Some(LoadBalancerKind::Clb), _) => "which classic load balancers do not have".to_owned(),
            (Some(LoadBalancerKind::Nlb), _) if is_named => {
                "which have no effect on a load balancer that the Service names".to_owned()
            }
            (None, _) | (Some(LoadBalancerKind::Nlb), None) => continue,
            (Some(LoadBalancerKind::Nlb), Some(version)) if version < FIRST => {
                format!("which version {version} of the cloud controller does not read")
            }
            (Some(LoadBalancerKind::Nlb), Some(_)) => {
                checked += 1;
                continue;
            }
        };
        checked += 1;
        let name = service.full_name();
        let message = format!("Service `{}` has `loadBalancerSourceRanges`, {reason}", text::printable(&name));
        let fix =
            Fix::none("restrict the listeners by an access control list, or the load balancer by a security group");
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        let place = service.field_places.get("loadBalancerSourceRanges").unwrap_or(&service.place);
        found.push(Violation::new(Severity::Warning, resource, message, fix).at(place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no Service with a known load balancer has source ranges");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba::{self, Cluster};

    fn restrict(c: &mut Cluster, class: Option<&str>, version: Option<&str>) {
        let service = c.service("web");
        service["spec"]["loadBalancerSourceRanges"] = serde_json::json!(["10.0.0.0/8"]);
        service["spec"]["loadBalancerClass"] = class.into();
        if let Some(version) = version {
            let image = format!("registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v{version}");
            c.objects.push(serde_json::json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet",
                "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
                "spec": {"template": {"spec": {"containers": [{"name": "ccm", "image": image}]}}},
            }));
        }
    }

    const NLB: Option<&str> = Some("alibabacloud.com/nlb");

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| restrict(c, None, None));
        alibaba::fires(&RULE, |c| restrict(c, None, Some("2.14.0")));
        alibaba::fires(&RULE, |c| restrict(c, NLB, Some("2.13.0")));
        alibaba::fires(&RULE, |c| {
            restrict(c, NLB, Some("2.14.0"));
            let name = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id";
            c.service("web")["metadata"]["annotations"][name] = "nlb-bp1own".into();
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| restrict(c, NLB, Some("2.14.0")));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
        alibaba::does_not_apply(&RULE, |c| restrict(c, NLB, None));
        alibaba::does_not_apply(&RULE, |c| {
            restrict(c, None, None);
            c.service("web")["spec"]["loadBalancerSourceRanges"] = serde_json::json!(["0.0.0.0/0"]);
        });
    }
}
