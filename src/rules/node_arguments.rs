//! What RKE2 and K3s started the nodes with, most of it on any cloud; all of them need `--nodes` or `--kubernetes`.

use std::collections::BTreeMap;

use super::{Counted, Rule, Violation};
use crate::controller::ControllerVersion;
use crate::finding::{Fix, ResourceRef, Severity};
use crate::node_arguments::{Component, Distribution, NodeArguments};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::text;

mod apiserver_cloud_provider_flag;
mod embedded_ccm_still_on;
mod feature_gate_removed;
mod in_tree_cloud_provider;
mod kubelet_cloud_config_flag;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/node_arguments.rs"));

/// Why these rules do not apply.
const UNSAID: &str = "no Node says what it was started with, as those of RKE2 and K3s do";

/// The arguments of all Nodes that say them.
fn said(nodes: &[KubernetesNode]) -> Vec<NodeArguments<'_>> {
    nodes.iter().filter_map(NodeArguments::of).collect()
}

/// An argument that a component takes no longer from a Kubernetes version on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    component: Component,
    /// As it stands in the configuration: `cloud-provider=external`.
    argument: String,
    /// The first minor version of Kubernetes 1 without it.
    minor: u32,
    /// What that version logs.
    log: &'static str,
}

/// A finding for each argument that ends, with the Nodes that are started with it: an error where a Node is past its end.
fn endings(cluster_id: &str, nodes: &[KubernetesNode], find: impl Fn(Component, &str, &str) -> Vec<Ending>) -> Counted {
    let all = said(nodes);
    if all.is_empty() {
        return Counted::not_applicable(UNSAID);
    }
    let mut found: BTreeMap<(Ending, Distribution), Vec<&NodeArguments<'_>>> = BTreeMap::new();
    for arguments in &all {
        let given = Component::ALL.into_iter().flat_map(|component| {
            arguments.of_component(component).into_iter().map(move |(name, value)| (component, name, value))
        });
        let mut own: Vec<Ending> = given.flat_map(|(component, name, value)| find(component, name, value)).collect();
        own.sort();
        own.dedup();
        for ending in own {
            found.entry((ending, arguments.distribution)).or_default().push(arguments);
        }
    }
    let violations = found.into_iter().map(|((ending, distribution), nodes)| {
        let Ending { component, argument, minor, log } = ending;
        let (component, argument) = (component.name(), text::printable(&argument));
        let first_without = ControllerVersion::new(1, minor, 0);
        let is_past = nodes.iter().any(|node| node.version().is_some_and(|version| version >= first_without));
        let (severity, takes, impact) = if is_past {
            (Severity::Error, "took", format!("{component} does not start: `{log}`"))
        } else {
            let impact = format!("the upgrade to 1.{minor} stops there: {component} does not start, and says `{log}`");
            (Severity::Warning, "takes", impact)
        };
        let message = format!(
            "{} {} {component} with `{argument}`, which it {takes} until 1.{}",
            text::count(nodes.len(), "Node"),
            if nodes.len() == 1 { "starts" } else { "start" },
            minor.saturating_sub(1)
        );
        let when = if is_past { String::new() } else { format!(" before the upgrade to 1.{minor}") };
        let fix = Fix::none(format!(
            "take `{argument}` out of `{component}-arg` in the configuration of {}{when}",
            distribution.name()
        ));
        of_cluster(cluster_id, severity, message, fix, &nodes)
            .with_respect_to(format!("{} {component} {argument}", distribution.name()))
            .impact(Some(impact))
    });
    Counted::new(all.len(), violations)
}

fn of_cluster(
    cluster_id: &str,
    severity: Severity,
    message: String,
    fix: Fix,
    nodes: &[&NodeArguments<'_>],
) -> Violation {
    let resource = ResourceRef::bare(ResourceKind::Cluster, cluster_id);
    let related = nodes.iter().map(|arguments| ResourceRef::bare(ResourceKind::Node, &arguments.node.name));
    Violation::new(severity, resource, message, fix).related(related)
}
