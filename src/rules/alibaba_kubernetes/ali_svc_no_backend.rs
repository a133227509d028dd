use crate::kubernetes::{DocumentKind, Service};
use crate::nodes::KubernetesNode;
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_node::is_left_alone;
use crate::rules::alibaba_service::{annotation, requested};
use crate::rules::prelude::*;

use super::ali_cloud_config_content::cloud_config;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-no-backend",
    title: "no Node can be a backend of a Service",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The controller keeps a load balancer for a Service and excludes every Node: those with the label `node-role.kubernetes.io/master`, whatever its value (not `…/control-plane`), `node.kubernetes.io/exclude-from-external-load-balancers`, `alpha.service-controller.kubernetes.io/exclude-balancer` or `service.alibabacloud.com/exclude-node`, those that the cluster autoscaler is about to delete, and those without the labels of `…-loadbalancer-backend-label`. Services whose backends are pods (`eni`) are skipped.",
    impact: "the load balancer has no backends, and every connection to it fails",
    fix: "Add a worker, or remove the label from a Node that should serve traffic.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/backend/backend.go#GetNodes",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/node_utils.go#IsNodeExcludeFromLoadBalancer",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/222",
    ],
    example: "Service shop/web has no backends: all 3 Nodes are excluded (3 by `node-role.kubernetes.io/master`)",
    ..Rule::evidence(ALIBABA, check)
};

/// Labels that exclude a Node from load balancers, whatever their value.
const EXCLUDING: [&str; 3] = [
    "node-role.kubernetes.io/master",
    "node.kubernetes.io/exclude-from-external-load-balancers",
    "alpha.service-controller.kubernetes.io/exclude-balancer",
];

/// Taint of Nodes that the cluster autoscaler deletes.
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let nodes = match context.alibaba_nodes() {
        Ok([]) => return CheckResult::not_applicable("there is no Node"),
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    if backends_are_pods(context) {
        return CheckResult::not_applicable("the controller may make pods the backends of all Services");
    }
    let of_nodes = |service: &&Service| {
        requested(service).is_some()
            && service.annotations.get("service.beta.kubernetes.io/backend-type").is_none_or(|kind| kind != "eni")
    };
    let services: Vec<&Service> = services.iter().filter(of_nodes).collect();
    let mut found = Vec::new();
    for service in &services {
        let label = annotation(service, "backend-label");
        let reasons: Vec<&str> = nodes.iter().filter_map(|node| reason(node, label)).collect();
        if reasons.len() < nodes.len() {
            continue;
        }
        let mut distinct = reasons.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let count = |why: &&str| format!("{} by `{why}`", reasons.iter().filter(|reason| *reason == why).count());
        let counts: Vec<String> = distinct.iter().map(count).collect();
        let name = service.full_name();
        let number =
            if nodes.len() == 1 { "the only Node is".to_owned() } else { format!("all {} Nodes are", nodes.len()) };
        let message = format!(
            "Service {} has no backends: {number} excluded ({})",
            text::printable(&name),
            text::list(&counts, 4)
        );
        let fix = Fix::none("add a worker, or remove the label from a Node that should serve traffic");
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&service.place));
    }
    CheckResult::counted(services.len(), found)
}

/// Label, taint or annotation that keeps a Node out of a load balancer. A virtual Node is kept: its pods are backends.
fn reason(node: &KubernetesNode, backend_label: Option<&str>) -> Option<&'static str> {
    if node.labels.get("type").is_some_and(|kind| kind == "virtual-kubelet") {
        return None;
    }
    let has = |pair: &str| match pair.split_once('=') {
        Some((key, value)) => node.labels.get(key).is_some_and(|held| held == value),
        // The controller refuses such a label, and says so.
        None => true,
    };
    let label = EXCLUDING.into_iter().find(|label| node.labels.contains_key(*label));
    let is_deleted = node.taints.iter().any(|taint| taint.key == TO_BE_DELETED);
    let is_other = backend_label.is_some_and(|label| !label.split(',').all(has));
    label
        .or(is_deleted.then_some(TO_BE_DELETED))
        .or(is_other.then_some("backend-label"))
        .or(is_left_alone(node).then_some("exclude-node"))
}

/// True if the controller's configuration, or an environment variable of its workload, makes pods the backends.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#IsENIBackendType`.
fn backends_are_pods(context: &KubernetesContext<'_>) -> bool {
    let mut maps = context.evidence.documents_by_kind(DocumentKind::ConfigMap);
    let is_configured = maps.any(|map| cloud_config(map).is_some_and(|config| config.backend_type.is_some()));
    let mut controllers = context.evidence.alibaba_controllers();
    is_configured
        || controllers
            .any(|controller| controller.workload.environment.iter().any(|name| name == "SERVICE_FORCE_BACKEND_ENI"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: Node
metadata:
  name: master-1
  labels:
    node-role.kubernetes.io/master: ""
spec:
  providerID: cn-hangzhou.i-bp1
status:
  nodeInfo:
    kubeletVersion: v1.33.1
---
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-spec: slb.s1.small
spec:
  type: LoadBalancer
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let label = "annotations:\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-backend-label: pool=a";
        lint::fires(&RULE, &DEFECT.replace("node-role.kubernetes.io/master", "pool").replace("annotations:", label));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane");
        // One Node is enough.
        let worker =
            "kind: Node\nmetadata:\n  name: worker-1\nspec:\n  providerID: cn-hangzhou.i-bp2\n---\nkind: Service";
        lint::silent(&RULE, DEFECT, "kind: Service", worker);
    }
}
