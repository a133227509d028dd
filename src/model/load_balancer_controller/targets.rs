//! The Nodes behind target groups of instances.
//! Source: aws-load-balancer-controller `pkg/backend/endpoint_resolver.go#ResolveNodePortEndpoints`,
//! `endpoint_utils.go`, `pkg/k8s/node_utils.go#ExtractNodeInstanceID`.

use std::collections::BTreeMap;

use crate::nodes::{EXCLUDED_FROM_LOAD_BALANCERS, KubernetesNode};

use super::{Config, Stop};
use crate::controller::ControllerVersion;
use crate::model::annotations::go_quoted;
use crate::model::decision::{Answer, Decision, NodeLeftOut};
use crate::model::world::World;

/// Labels whose presence excludes a Node.
const EXCLUDING: [&str; 3] = [
    "node-role.kubernetes.io/master",
    EXCLUDED_FROM_LOAD_BALANCERS,
    "alpha.service-controller.kubernetes.io/exclude-balancer",
];

/// Instance ids of the targets, sorted; `None` if the readiness of Nodes is not known. A chosen Node without a usable
/// providerID stops the whole target group.
pub(super) fn targets(
    world: World<'_>,
    config: &Config<'_>,
    wanted: &BTreeMap<String, String>,
    decision: &mut Decision,
) -> Result<Option<Vec<String>>, Stop> {
    validate_selector(wanted)?;
    let nodes = world.nodes().inspect_err(|_| decision.targets = Answer::Unknown)?;
    let mut left_out = |node: &KubernetesNode, reason: String| {
        decision.nodes_left_out.push(NodeLeftOut { node: node.name.clone(), reason });
    };
    let mut candidates = Vec::new();
    for node in nodes {
        match excludes(config, node, wanted) {
            Some(reason) => left_out(node, reason),
            None => candidates.push(node),
        }
    }
    if let Some(node) = candidates.iter().find(|node| node.is_ready.is_none()) {
        let reason = format!("the condition `Ready` of the Node `{}` was not given", node.name);
        for field in ["targets", "node_groups", "rules"] {
            decision.note_unknown(field, reason.clone());
        }
        (decision.targets, decision.node_groups, decision.rules) = (Answer::Unknown, Answer::Unknown, Answer::Unknown);
        return Ok(None);
    }
    let is_ready = |node: &&&KubernetesNode| node.is_ready == Some(true);
    let has_ready = candidates.iter().any(|node| is_ready(&node));
    let takes_unknown = !has_ready && config.gate("EndpointsFailOpen", true);
    let mut ids = Vec::new();
    let mut errors = Vec::new();
    for node in candidates {
        let is_chosen = node.is_ready == Some(true) || takes_unknown && node.is_readiness_unknown;
        if !is_chosen {
            left_out(node, "it is not ready".to_owned());
            continue;
        }
        let last = node.provider_id.rsplit('/').next().unwrap_or_default();
        if node.provider_id.is_empty() {
            errors.push(format!("providerID is not specified for node: {}", node.name));
        } else if let Some(id) = node.provider_id.strip_prefix("eks-hybrid://") {
            if config.version >= ControllerVersion::new(2, 14, 1) && !last.starts_with("mi-") {
                errors.push(format!(
                    "providerID eks-hybrid://{id} is invalid for EKS hybrid instances, node: {}",
                    node.name
                ));
            } else if config.version >= ControllerVersion::new(2, 14, 1) {
                decision.targets = Answer::Unknown;
                return Stop::unknown(
                    "targets",
                    format!("EKS Hybrid Nodes as targets of type instance are not modelled: `{}` is one", node.name),
                );
            } else {
                errors.push(format!("providerID eks-hybrid://{id} is invalid for EC2 instances, node: {}", node.name));
            }
        } else if last.starts_with("i-") {
            ids.push(last.to_owned());
        } else {
            errors.push(format!("providerID {} is invalid for EC2 instances, node: {}", node.provider_id, node.name));
        }
    }
    if let Some(first) = errors.into_iter().next() {
        return Stop::error(first);
    }
    ids.sort();
    ids.dedup();
    Ok(Some(ids))
}

/// Rule for the characters of a label, in the words of Kubernetes.
const OF_CHARACTERS: &str =
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Labels of a selector must be valid.
/// Sources: aws-load-balancer-controller `pkg/backend/endpoint_utils.go#GetTrafficProxyNodeSelector`;
/// kubernetes/apimachinery `pkg/labels/selector.go#NewRequirement`, `pkg/util/validation/validation.go`.
fn validate_selector(wanted: &BTreeMap<String, String>) -> Result<(), Stop> {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let is_inner = |c: char| is_end(c) || matches!(c, '-' | '_' | '.');
    let is_part = |text: &str| {
        text.len() <= 63 && text.starts_with(is_end) && text.ends_with(is_end) && text.chars().all(is_inner)
    };
    let is_domain = |domain: &str| {
        let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_inner = |c: char| is_end(c) || c == '-';
        let is_label =
            |label: &str| label.starts_with(is_end) && label.ends_with(is_end) && label.chars().all(is_inner);
        domain.len() <= 253 && domain.split('.').all(is_label)
    };
    for (key, value) in wanted {
        let (domain, name) = key.split_once('/').map_or((None, key.as_str()), |(domain, name)| (Some(domain), name));
        let wrong = if !is_part(name) {
            Some((
                format!(
                    "key: Invalid value: {}: name part must {OF_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                    go_quoted(key)
                ),
                name,
            ))
        } else if !value.is_empty() && !is_part(value) {
            Some((
                format!(
                    "values[0][{key}]: Invalid value: {}: a valid label must be an empty string or {OF_CHARACTERS} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                    go_quoted(value)
                ),
                value.as_str(),
            ))
        } else {
            None
        };
        match wrong {
            // Releases word the limit of the length differently.
            Some((_, text)) if text.is_empty() || text.len() > 63 => {
                return Stop::unknown("error", format!("the label `{key}` of `target-node-labels` is not valid"));
            }
            Some((message, _)) => return Stop::error(message),
            None if domain.is_some_and(|domain| !is_domain(domain)) => {
                return Stop::unknown("error", format!("the label `{key}` of `target-node-labels` is not valid"));
            }
            None => {}
        }
    }
    Ok(())
}

/// The reason for which the controller does not consider a Node.
fn excludes(config: &Config<'_>, node: &KubernetesNode, wanted: &BTreeMap<String, String>) -> Option<String> {
    if let Some(label) = EXCLUDING.iter().find(|label| node.labels.contains_key(**label)) {
        return Some(format!("it has the label `{label}`"));
    }
    if node.labels.get("eks.amazonaws.com/compute-type").map(String::as_str) == Some("fargate") {
        return Some("it is a Fargate node".to_owned());
    }
    if !wanted.iter().all(|(key, value)| node.labels.get(key) == Some(value)) {
        return Some("it lacks a label of `target-node-labels`".to_owned());
    }
    let has_taint = |key: &str, effect: Option<&str>| {
        node.taints.iter().any(|taint| taint.key == key && effect.is_none_or(|effect| taint.effect == effect))
    };
    if has_taint("ToBeDeletedByClusterAutoscaler", None) {
        return Some("it has the taint `ToBeDeletedByClusterAutoscaler`".to_owned());
    }
    // Since v2.12.
    if config.is_since(2, 12) && has_taint("karpenter.sh/disrupted", Some("NoSchedule")) {
        return Some("it has the taint `karpenter.sh/disrupted:NoSchedule`".to_owned());
    }
    None
}
