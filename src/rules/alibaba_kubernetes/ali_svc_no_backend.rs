use std::collections::BTreeMap;

use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::model::Answer;
use crate::model::cloud_provider_alibaba::{
    MASTER, TO_BE_DELETED, assumes_nodes_as_backends, excluding_label, has_master_label, has_pods_as_backends,
    is_to_be_deleted, is_virtual,
};
use crate::nodes::KubernetesNode;
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_service::{annotation, has_annotation, kept};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-no-backend",
    title: "no Node can be a backend of a Service",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning without a cloud configuration, whose `serviceBackendType` may make pods the backends",
    ),
    resources: &[ResourceKind::Service],
    condition: "The controller keeps a load balancer for a Service and excludes every Node: those with the label `node-role.kubernetes.io/master`, whatever its value (not `…/control-plane`), `node.kubernetes.io/exclude-from-external-load-balancers`, `alpha.service-controller.kubernetes.io/exclude-balancer` or `service.alibabacloud.com/exclude-node`, those that the cluster autoscaler is about to delete (from 2.4.0 on), those without the labels of `…-loadbalancer-backend-label`, those that are not Ready, and with `…-loadbalancer-remove-unscheduled-backend: on` those that are unschedulable. Skipped are Services whose backends are pods (`eni`), those that reuse a load balancer without `…-force-override-listeners`, and those that are being deleted.",
    impact: "the load balancer has no backends, and every connection to it fails",
    fix: "Add a worker, or remove the cause (label, taint, cordon, failed kubelet) at a Node that should serve traffic.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/backend/backend.go#GetNodes",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/node_utils.go#IsNodeExcludeFromLoadBalancer",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/model_applier.go#Apply",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/222",
    ],
    example: "Service shop/web has no backends: all 3 Nodes are excluded (3 by `node-role.kubernetes.io/master`)",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let nodes: Vec<&KubernetesNode> = match context.alibaba_nodes() {
        Ok(nodes) => nodes.iter().filter(|node| !is_foreign(node)).collect(),
        Err(why) => return CheckResult::not_applicable(why),
    };
    if nodes.is_empty() {
        return CheckResult::not_applicable("there is no Node");
    }
    let version = context.alibaba_controller_version();
    let services: Vec<&Service> = services
        .iter()
        .filter(|service| kept(context, service).is_some())
        .filter(|service| is_forced(service) || !has_annotation(service, "id"))
        .filter(|service| has_pods_as_backends(context.evidence, service) == Answer::Is(false))
        .collect();
    if services.is_empty() {
        return CheckResult::not_applicable(
            "no Service has Nodes as the backends of a load balancer of this controller",
        );
    }
    let mut found = Vec::new();
    for service in &services {
        let label = annotation(service, "backend-label");
        let removes = annotation(service, "remove-unscheduled-backend") == Some("on");
        let reason = |node: &KubernetesNode| reason(node, label, removes, version);
        let mut reasons: BTreeMap<Excluded<'_>, Vec<&KubernetesNode>> = BTreeMap::new();
        for node in &nodes {
            if let Some(why) = reason(node) {
                reasons.entry(why).or_default().push(node);
            }
        }
        if reasons.values().map(Vec::len).sum::<usize>() < nodes.len() {
            continue;
        }
        let counts: Vec<String> =
            reasons.iter().map(|(why, nodes)| format!("{} by `{}`", nodes.len(), why.describe())).collect();
        let name = service.full_name();
        let number = match nodes.len() {
            1 => "the only Node is".to_owned(),
            number => format!("all {number} Nodes are"),
        };
        let (severity, more) = if assumes_nodes_as_backends(context.evidence, service) {
            (Severity::Warning, " unless the cloud configuration, which was not given, makes pods the backends")
        } else {
            (Severity::Error, "")
        };
        let message = format!(
            "Service {} has no backends{more}: {number} excluded ({})",
            text::printable(&name),
            text::list(&counts, 4)
        );
        // A command is printed only if nothing else excludes the Node after it.
        let commands = reasons.iter().filter_map(|(why, nodes)| {
            let (command, after) = why.remedy(nodes.first()?, version)?;
            reason(&after).is_none().then_some(command)
        });
        let advice = Fix::none("add a worker, or remove what excludes a Node that should serve traffic");
        let fix = commands.fold(advice, |fix, command| fix.untried(text::printable(&command)));
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        found.push(Violation::new(severity, resource, message, fix).at(&service.place));
    }
    CheckResult::counted(services.len(), found)
}

/// True if the controller writes the listeners of a load balancer that the Service reuses.
fn is_forced(service: &Service) -> bool {
    annotation(service, "force-override-listeners") == Some("true")
}

/// True for a Node of another cloud, which is in evidence of several clusters.
fn is_foreign(node: &KubernetesNode) -> bool {
    node.provider_id.contains("://")
        && !["alicloud://", "ack-hybrid://"].iter().any(|own| node.provider_id.starts_with(own))
}

/// Reason that keeps a Node out of a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Excluded<'s> {
    /// It lacks a label that the Service asks for: `KEY=VALUE`, separated by commas.
    BackendLabel(&'s str),
    Label(&'static str),
    /// The taint of the cluster autoscaler.
    ToBeDeleted,
    Cordon,
    NotReady,
}

impl Excluded<'_> {
    fn describe(self) -> &'static str {
        match self {
            Self::BackendLabel(_) => "backend-label",
            Self::Label(label) => label,
            Self::ToBeDeleted => TO_BE_DELETED,
            Self::Cordon => "spec.unschedulable",
            Self::NotReady => "not Ready",
        }
    }

    /// The command that removes the cause at a Node, and the Node after it. The label of masters stays: the published
    /// manifests of the controller select the Nodes that it runs on by it.
    fn remedy(self, node: &KubernetesNode, version: Option<ControllerVersion>) -> Option<(String, KubernetesNode)> {
        let mut after = node.clone();
        let mut changes: Vec<String> = Vec::new();
        match self {
            Self::BackendLabel(labels) => {
                changes.extend(labels.split(',').map(str::to_owned));
                after.labels.extend(labels.split(',').filter_map(|pair| pair.split_once('=')).map(owned));
            }
            Self::Label(label) if label != MASTER => {
                while let Some(label) = excluding_label(&after, version) {
                    after.labels.remove(label);
                    changes.push(format!("{label}-"));
                }
            }
            Self::Cordon => after.is_unschedulable = false,
            Self::Label(_) | Self::ToBeDeleted | Self::NotReady => return None,
        }
        let verb: &[&str] = if self == Self::Cordon { &["uncordon"] } else { &["label", "node"] };
        let mut words: Vec<&str> = ["kubectl"].iter().chain(verb).copied().collect();
        words.push(&node.name);
        words.extend(changes.iter().map(String::as_str));
        let is_hostile = |word: &&str| word.starts_with('-') || word.is_empty() || word.chars().any(char::is_control);
        if words.iter().any(is_hostile) {
            return None;
        }
        Some((words.into_iter().map(text::shell_quote).collect::<Vec<_>>().join(" "), after))
    }
}

fn owned((key, value): (&str, &str)) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

/// Label, taint or annotation that keeps a Node out of a load balancer, in the order of the controller. After these, a
/// virtual Node is kept: its pods are backends.
fn reason<'s>(
    node: &KubernetesNode,
    backend_label: Option<&'s str>,
    removes_unschedulable: bool,
    version: Option<ControllerVersion>,
) -> Option<Excluded<'s>> {
    let has = |pair: &str| match pair.split_once('=') {
        Some((key, value)) => node.labels.get(key).is_some_and(|held| held == value),
        // The controller refuses such a label, and says so.
        None => true,
    };
    if let Some(labels) = backend_label.filter(|labels| !labels.split(',').all(has)) {
        return Some(Excluded::BackendLabel(labels));
    }
    if has_master_label(node) {
        return Some(Excluded::Label(MASTER));
    }
    if is_to_be_deleted(node, version) {
        return Some(Excluded::ToBeDeleted);
    }
    if removes_unschedulable && node.is_unschedulable {
        return Some(Excluded::Cordon);
    }
    if is_virtual(node) {
        return None;
    }
    if node.is_ready == Some(false) {
        return Some(Excluded::NotReady);
    }
    excluding_label(node, version).map(Excluded::Label)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::finding::Severity;
    use crate::testing::lint;

    #[test]
    fn nodes_that_are_not_ready_are_no_backends() {
        let ready = "status:\n  conditions:\n  - type: Ready\n    status: \"False\"\n";
        let unlabelled = DEFECT.replace("node-role.kubernetes.io/master", "pool");
        lint::fires(&RULE, &unlabelled.replace("status:\n", ready));
        let on = "annotations:\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-remove-unscheduled-backend: \"on\"";
        let cordoned = unlabelled.replace("spec:\n  providerID", "spec:\n  unschedulable: true\n  providerID");
        lint::fires(&RULE, &cordoned.replace("annotations:", on));
        lint::silent(&RULE, &cordoned, "pool", "other");
    }

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

    /// `serviceBackendType` may make pods the backends of every Service.
    #[test]
    fn without_a_cloud_configuration_it_is_a_warning() {
        let severity = |objects: &str| lint::outcome(&RULE, objects).0[0].severity;
        assert_eq!(severity(DEFECT), Severity::Warning);
        let config = "---\nkind: ConfigMap\nmetadata:\n  name: cloud-config\n  namespace: kube-system\ndata:\n  cloud-config.conf: '{\"Global\": {\"clusterID\": \"prod\"}}'\n";
        assert_eq!(severity(&format!("{DEFECT}{config}")), Severity::Error);
        let stated = "    service.beta.kubernetes.io/backend-type: ecs\nspec:\n  type: LoadBalancer";
        assert_eq!(severity(&DEFECT.replace("spec:\n  type: LoadBalancer", stated)), Severity::Error);
    }

    /// The label of masters stays: the manifests of the controller select its Nodes by it.
    #[test]
    fn the_cause_is_removed_with_a_printed_command() {
        let commands = |defect: &str| -> Vec<String> {
            lint::outcome(&RULE, defect).0.into_iter().flat_map(|finding| finding.fix.untried).collect()
        };
        assert_eq!(commands(DEFECT), Vec::<String>::new());
        let excluded = DEFECT.replace("node-role.kubernetes.io/master", "service.alibabacloud.com/exclude-node");
        assert_eq!(commands(&excluded), ["kubectl label node master-1 service.alibabacloud.com/exclude-node-"]);
        let twice = excluded.replace(
            "service.alibabacloud.com/exclude-node",
            "service.alibabacloud.com/exclude-node: x\n    node.kubernetes.io/exclude-from-external-load-balancers",
        );
        assert_eq!(
            commands(&twice),
            [
                "kubectl label node master-1 node.kubernetes.io/exclude-from-external-load-balancers- service.alibabacloud.com/exclude-node-"
            ]
        );
        let master = excluded.replace("exclude-node", "exclude-node: x\n    node-role.kubernetes.io/master");
        assert_eq!(commands(&master), Vec::<String>::new());
        let label =
            "annotations:\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-backend-label: pool=a,zone=b";
        let labelled = DEFECT.replace("node-role.kubernetes.io/master", "pool").replace("annotations:", label);
        assert_eq!(commands(&labelled), ["kubectl label node master-1 'pool=a' 'zone=b'"]);
        let hostile = labelled.replace("pool=a,zone=b", "'--all=true,pool=a'");
        assert_eq!(commands(&hostile), Vec::<String>::new());
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane");
        // One Node is enough.
        let worker =
            "kind: Node\nmetadata:\n  name: worker-1\nspec:\n  providerID: cn-hangzhou.i-bp2\n---\nkind: Service";
        lint::silent(&RULE, DEFECT, "kind: Service", worker);
    }

    /// The listeners of a reused load balancer, its backends too, belong to the user; a deleted Service has none; pods are
    /// other backends.
    #[test]
    fn does_not_apply() {
        let spec = "spec: slb.s1.small";
        for (from, to) in [
            (spec, "id: lb-bp1"),
            (spec, "spec: slb.s1.small\n    service.beta.kubernetes.io/backend-type: eni"),
            ("name: web\n", "name: web\n  deletionTimestamp: \"2026-01-05T07:00:00Z\"\n"),
            ("providerID: cn-hangzhou.i-bp1", "providerID: aws:///us-east-1a/i-0a"),
        ] {
            lint::does_not_apply(&RULE, &DEFECT.replace(from, to));
        }
        let forced =
            "id: lb-bp1\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-force-override-listeners: \"true\"";
        lint::fires(&RULE, &DEFECT.replace(spec, forced));
    }
}
