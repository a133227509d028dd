use crate::alibaba::LoadBalancerKind;
use crate::inventory::Provider;
use crate::kubernetes::Service;
use crate::model::Answer;
use crate::model::cloud_provider_alibaba::has_pods_as_backends;
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_service::{has_annotation, kept};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-no-node-port",
    title: "a Service has Nodes as backends, and no node ports",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The controller keeps a load balancer for a Service with `allocateLoadBalancerNodePorts: false` and ports without `nodePort`, and its backends are Nodes. Checked only if the cloud configuration was given: its `serviceBackendType` decides if Nodes or Pods are the backends. Skipped are Services whose backends are pods (`eni`), and network load balancers with ranges of ports.",
    impact: "the controller adds each Node with the port 0, which the API refuses: the load balancer has no backends",
    fix: "Remove `allocateLoadBalancerNodePorts: false`, or let pods be the backends (`service.beta.kubernetes.io/backend-type: eni` with Terway).",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/vgroups.go#buildClusterBackends",
        "Alibaba Cloud SLB API, AddVServerGroupBackendServers, `Port`: 1 to 65535; NLB API, AddServersToServerGroup, `Port`",
    ],
    example: "Service shop/web has `allocateLoadBalancerNodePorts: false` and port 443 without a node port",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    // Without the configuration, pods may be the backends of every Service.
    let is_configured = !context.evidence.alibaba_cloud_configs().is_empty();
    if !context.is_of(Provider::Alibaba) || !is_configured {
        return CheckResult::not_applicable("no cloud configuration of a controller of Alibaba Cloud was given");
    }
    let with_nodes: Vec<&Service> = services
        .iter()
        .filter(|service| match kept(context, service) {
            Some(LoadBalancerKind::Clb) => true,
            Some(LoadBalancerKind::Nlb) => !has_annotation(service, "listener-port-range"),
            None => false,
        })
        .filter(|service| has_pods_as_backends(context.evidence, service) == Answer::Is(false))
        .collect();
    let found = with_nodes.iter().filter(|service| service.is_without_node_ports).filter_map(|service| {
        let without: Vec<String> =
            service.ports.iter().filter(|port| port.node_port.is_none()).map(|port| port.port.to_string()).collect();
        if without.is_empty() {
            return None;
        }
        let name = service.full_name();
        let without: Vec<&str> = without.iter().map(String::as_str).collect();
        let ports = if let [only] = without.as_slice() {
            format!("port {only} without a node port")
        } else {
            format!("ports {} without node ports", text::list(&without, 6))
        };
        let message =
            format!("Service {} has `allocateLoadBalancerNodePorts: false` and {ports}", text::printable(&name));
        let fix = Fix::none("remove `allocateLoadBalancerNodePorts: false`");
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        Some(Violation::new(Severity::Error, resource, message, fix).at(&service.place))
    });
    CheckResult::counted(with_nodes.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::alibaba;

    /// Adds the cloud configuration.
    fn configure(c: &mut alibaba::Cluster) {
        c.objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "cloud-config", "namespace": "kube-system"},
            "data": {"cloud-config.conf": r#"{"Global": {"clusterID": "prod"}}"#}}));
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            configure(c);
            let service = c.service("web");
            service["spec"]["allocateLoadBalancerNodePorts"] = false.into();
            service["spec"]["ports"][0].as_object_mut().unwrap().remove("nodePort");
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            configure(c);
            let service = c.service("web");
            service["spec"]["allocateLoadBalancerNodePorts"] = false.into();
            service["spec"]["ports"][0]["nodePort"] = 30080.into();
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| {
            let service = c.service("web");
            service["spec"]["allocateLoadBalancerNodePorts"] = false.into();
            service["spec"]["ports"][0].as_object_mut().unwrap().remove("nodePort");
        });
    }
}
