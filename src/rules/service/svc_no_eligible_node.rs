use crate::controller::ControllerVersion;
use crate::kubernetes::is_false;
use crate::nodes::{self, EXCLUDED_FROM_LOAD_BALANCERS, KubernetesNode, ProviderId};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-no-eligible-node",
    title: "no Node is eligible for a Service's load balancer",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The cloud controller creates a Service's load balancer, and every Node is excluded from it. A Node is excluded if it has the label `node.kubernetes.io/exclude-from-external-load-balancers` (which kubeadm sets on control planes), has no instance providerID, is about to be deleted by the cluster autoscaler, or does not match `aws-load-balancer-target-node-labels`. Up to cloud controller 1.33 the label counts with any value; from 1.34 on `false` does not count.",
    impact: "the load balancer has no target: `There are no available nodes for LoadBalancer`",
    fix: "Remove the label from the Nodes that should serve, or add workers.",
    sources: &[
        "kubernetes/cloud-provider controllers/service/controller.go#nodeIncludedPredicate",
        "kubernetes/cloud-provider controllers/service/controller.go#stableNodeSetPredicates",
    ],
    example: "Service shop/web has no Node behind its load balancer: 1 of 1 is excluded by the label node.kubernetes.io/exclude-from-external-load-balancers",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = context.evidence.nodes.as_deref().unwrap_or_default();
    if nodes.is_empty() || nodes.iter().any(|node| node.kubelet_version.is_empty()) {
        return CheckResult::not_applicable("the Nodes are not known: give them with --nodes or --kubernetes");
    }
    let reads_value =
        context.aws_controller_version().is_some_and(|version| version >= ControllerVersion::new(1, 34, 0));
    let is_excluded = |node: &KubernetesNode| {
        node.labels.get(EXCLUDED_FROM_LOAD_BALANCERS).is_some_and(|value| !(reads_value && is_false(value)))
    };
    let has_instance =
        |node: &KubernetesNode| matches!(nodes::parse_provider_id(&node.provider_id), Some(ProviderId::Instance(_)));
    let is_leaving =
        |node: &KubernetesNode| node.taints.iter().any(|taint| taint.key == "ToBeDeletedByClusterAutoscaler");
    for_each_service(context, |service, owner| {
        if !owner.is_cloud_controller() {
            return Vec::new();
        }
        let wanted = value(service, "aws-load-balancer-target-node-labels").unwrap_or_default();
        let is_wanted = |node: &KubernetesNode| {
            wanted.split(',').filter(|pair| !pair.trim().is_empty()).all(|pair| {
                let (key, value) = pair.trim().split_once('=').unwrap_or((pair.trim(), ""));
                node.labels.get(key).is_some_and(|found| value.is_empty() || found == value)
            })
        };
        let serves =
            |node: &KubernetesNode| !is_excluded(node) && has_instance(node) && !is_leaving(node) && is_wanted(node);
        if nodes.iter().any(serves) {
            return Vec::new();
        }
        let all = nodes.len();
        let causes = [
            (
                nodes.iter().filter(|node| is_excluded(node)).count(),
                format!("by the label {EXCLUDED_FROM_LOAD_BALANCERS}"),
            ),
            (nodes.iter().filter(|node| !has_instance(node)).count(), "for lack of an instance providerID".to_owned()),
            (nodes.iter().filter(|node| is_leaving(node)).count(), "as marked for deletion".to_owned()),
            (
                nodes.iter().filter(|node| !is_wanted(node)).count(),
                "by aws-load-balancer-target-node-labels".to_owned(),
            ),
        ];
        let causes: Vec<String> = causes
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, why)| format!("{number} of {all} {} excluded {why}", if number == 1 { "is" } else { "are" }))
            .collect();
        let name = service.full_name();
        let message =
            format!("Service {} has no Node behind its load balancer: {}", text::printable(&name), causes.join(", "));
        let fix = if nodes.iter().any(|node| !has_instance(node)) {
            "let the cloud controller initialise the Nodes: without a providerID of an instance none can serve"
        } else if nodes.iter().any(is_excluded) {
            "remove the label from the Nodes that should serve, or add workers"
        } else {
            "add workers that serve the Service, or correct the annotation"
        };
        vec![on(service, None, Severity::Error, message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: Node
metadata:
  name: worker-1
  labels:
    node.kubernetes.io/exclude-from-external-load-balancers: ""
spec:
  providerID: aws:///us-east-1a/i-0a
status:
  nodeInfo:
    kubeletVersion: v1.33.2
---
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-connection-draining-enabled: "true"
spec:
  type: LoadBalancer
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "node.kubernetes.io/exclude-from-external-load-balancers", "example.com/none");
    }
}
