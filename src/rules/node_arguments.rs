//! What nodes are started with, most of it on any cloud; all of these rules need Nodes or configurations.

use std::collections::BTreeMap;

use super::{Counted, KubernetesContext, Rule, Violation};
use crate::controller::ControllerVersion;
use crate::finding::{Fix, ResourceRef, Severity};
use crate::kubernetes::Place;
use crate::kubernetes::arguments::{Component, Distribution, NodeArguments, Started};
use crate::resource::ResourceKind;
use crate::text;

mod apiserver_cloud_provider_flag;
mod embedded_ccm_still_on;
mod feature_gate_removed;
mod in_tree_cloud_provider;
mod kubelet_cloud_config_flag;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/node_arguments.rs"));

/// Why these rules do not apply.
const UNSAID: &str =
    "no Node says what it was started with, as those of RKE2 and K3s do, and no configuration was given";

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

impl Ending {
    fn is_past(&self, arguments: &NodeArguments) -> bool {
        arguments.version.is_some_and(|version| version >= ControllerVersion::new(1, self.minor, 0))
    }
}

/// A finding for each argument that ends, with the Nodes that are started with it, and one for each configuration that has it: an
/// error where a Node is past its end.
fn endings(context: &KubernetesContext<'_>, find: impl Fn(Component, &str, &str) -> Vec<Ending>) -> Counted {
    let all = context.evidence.arguments();
    if all.is_empty() {
        return Counted::not_applicable(UNSAID);
    }
    let mut found: BTreeMap<(Ending, Distribution), Vec<&NodeArguments>> = BTreeMap::new();
    let mut violations = Vec::new();
    for arguments in all {
        let given = Component::ALL.into_iter().flat_map(|component| {
            arguments.of_component(component).into_iter().map(move |argument| (component, argument))
        });
        let mut own: Vec<(Ending, Option<&Place>)> = given
            .flat_map(|(component, argument)| {
                find(component, argument.name, argument.value).into_iter().map(move |ending| (ending, argument.place))
            })
            .collect();
        own.sort();
        own.dedup();
        for (ending, place) in own {
            match &arguments.started {
                Started::Node(_) => found.entry((ending, arguments.distribution)).or_default().push(arguments),
                Started::Declared { name, .. } => {
                    violations.push(of_declared(context, arguments, name, &ending, place));
                }
            }
        }
    }
    violations.extend(found.into_iter().map(|((ending, distribution), nodes)| {
        let is_past = nodes.iter().any(|node| ending.is_past(node));
        let (severity, takes, impact, when) = told(&ending, is_past);
        let Ending { component, argument, minor, .. } = &ending;
        let (component, setting) = (component.name(), distribution.setting(*component));
        let argument = text::printable(argument);
        let message = format!(
            "{} {} {component} with `{argument}`, which it {takes} until 1.{}",
            text::count(nodes.len(), "Node"),
            if nodes.len() == 1 { "starts" } else { "start" },
            minor.saturating_sub(1)
        );
        let name = distribution.name();
        let fix = Fix::none(format!("take `{argument}` out of `{setting}` in the configuration of {name}{when}"));
        of_nodes(context, severity, message, fix, &nodes)
            .with_respect_to(format!("{name} {component} {argument}"))
            .impact(Some(impact))
    }));
    Counted::new(all.len(), violations)
}

/// How bad an ending is, and how it is told.
fn told(ending: &Ending, is_past: bool) -> (Severity, &'static str, String, String) {
    let Ending { component, minor, log, .. } = ending;
    let component = component.name();
    if is_past {
        return (Severity::Error, "took", format!("{component} does not start: `{log}`"), String::new());
    }
    let impact = format!("the upgrade to 1.{minor} stops there: {component} does not start, and says `{log}`");
    (Severity::Warning, "takes", impact, format!(" before the upgrade to 1.{minor}"))
}

fn of_declared(
    context: &KubernetesContext<'_>,
    arguments: &NodeArguments,
    name: &str,
    ending: &Ending,
    place: Option<&Place>,
) -> Violation {
    let (severity, takes, impact, when) = told(ending, ending.is_past(arguments));
    let (component, setting) = (ending.component.name(), arguments.distribution.setting(ending.component));
    let (argument, last) = (text::printable(&ending.argument), ending.minor.saturating_sub(1));
    let message = format!("{component} is started with `{argument}`, which it {takes} until 1.{last}");
    let fix = Fix::none(format!("take `{argument}` out of `{setting}`{when}"));
    let violation = of_configuration(context, severity, name, message, fix);
    let violation = violation.with_respect_to(format!("{component} {argument}")).impact(Some(impact));
    match place {
        Some(place) => violation.at(place),
        None => violation,
    }
}

/// A finding on the cluster, with the Nodes on which it shows.
fn of_nodes(
    context: &KubernetesContext<'_>,
    severity: Severity,
    message: String,
    fix: Fix,
    nodes: &[&NodeArguments],
) -> Violation {
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
    let named = nodes.iter().filter_map(|arguments| arguments.node());
    let related = named.map(|name| ResourceRef::bare(ResourceKind::Node, name));
    Violation::new(severity, resource, message, fix).related(related)
}

/// A finding on a configuration.
pub(super) fn of_configuration(
    _: &KubernetesContext<'_>,
    severity: Severity,
    name: &str,
    message: impl Into<String>,
    fix: Fix,
) -> Violation {
    Violation::new(severity, ResourceRef::bare(ResourceKind::ClusterConfig, name), message, fix)
}
