//! Arguments of node components, mostly for any cloud; all of these rules need Nodes or configurations.

use std::collections::BTreeMap;

use super::{CheckResult, KubernetesContext, Rule, Violation};
use crate::controller::ControllerVersion;
use crate::finding::{Fix, Key, ResourceRef, Severity};
use crate::kubernetes::Place;
use crate::kubernetes::arguments::{Component, Distribution, NodeArguments, Started};
use crate::resource::ResourceKind;
use crate::text;

mod apiserver_cloud_provider_flag;
mod embedded_ccm_still_on;
mod feature_gate_removed;
mod in_tree_cloud_provider;
mod kcm_controllers_unknown;
mod kubelet_cloud_config_flag;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/node_arguments.rs"));

/// Reason that these rules do not apply.
const UNSAID: &str = "no Node reports its arguments, as those of RKE2 and K3s do, and no configuration was given";

/// Last minor version of Kubernetes in RKE.
const LAST_OF_RKE: u32 = 32;

/// An argument that a component rejects from a Kubernetes version on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    component: Component,
    /// The argument as written in the configuration: `cloud-provider=external`.
    argument: String,
    /// First Kubernetes 1.x minor release without it.
    minor: u32,
    /// Message that this version logs.
    log: &'static str,
    /// Replacement, with the version that introduced it; `None` if nothing replaces it.
    instead: Option<&'static str>,
}

impl Ending {
    fn is_past(&self, arguments: &NodeArguments) -> bool {
        arguments.version.is_some_and(|version| version >= ControllerVersion::new(1, self.minor, 0))
    }

    /// Fix of the argument in a setting.
    fn cure(&self, setting: &str, when: &str) -> String {
        let argument = text::printable(&self.argument);
        match self.instead {
            Some(instead) => format!("replace `{argument}` with {instead} in `{setting}`{when}"),
            None => format!("remove `{argument}` from `{setting}`{when}"),
        }
    }

    /// The target version, if the argument is removed by then.
    fn on_the_way(&self, context: &KubernetesContext<'_>) -> Option<ControllerVersion> {
        let target = context.evidence.target.kubernetes?;
        (target >= ControllerVersion::new(1, self.minor, 0)).then_some(target)
    }
}

/// A finding for each removed argument, with the Nodes that start with it, and one for each configuration that has it:
/// an error if a Node already runs a version without it.
fn endings(context: &KubernetesContext<'_>, find: impl Fn(Component, &str, &str) -> Vec<Ending>) -> CheckResult {
    let all = context.evidence.arguments();
    if all.is_empty() {
        return CheckResult::not_applicable(UNSAID);
    }
    let mut found: BTreeMap<(Ending, Distribution), Vec<&NodeArguments>> = BTreeMap::new();
    let mut violations = Vec::new();
    for arguments in all {
        let given = Component::ALL.into_iter().flat_map(|component| {
            arguments.component_arguments(component).into_iter().map(move |argument| (component, argument))
        });
        let mut own: Vec<(Ending, Option<&Place>)> = given
            .flat_map(|(component, argument)| {
                find(component, argument.name, argument.value).into_iter().map(move |ending| (ending, argument.place))
            })
            .collect();
        // RKE ended with 1.32: later removals do not affect it.
        own.retain(|(ending, _)| arguments.distribution != Distribution::Rke || ending.minor <= LAST_OF_RKE);
        own.sort();
        own.dedup();
        for (ending, place) in own {
            match &arguments.started {
                Started::Node(_) => found.entry((ending, arguments.distribution)).or_default().push(arguments),
                Started::Declared { .. } => {
                    violations.push(declared_finding(context, arguments, &arguments.started.name(), &ending, place));
                }
            }
        }
    }
    violations.extend(found.into_iter().map(|((ending, distribution), nodes)| {
        let is_past = nodes.iter().any(|node| ending.is_past(node));
        let Told { severity, takes, impact, when, target } = told(&ending, is_past, ending.on_the_way(context));
        let Ending { component, argument, minor, .. } = &ending;
        let (component, setting) = (component.name(), distribution.setting(*component));
        let argument = text::printable(argument);
        let message = format!(
            "{} {} {component} with `{argument}`, which it {takes} until 1.{}{target}",
            text::count(nodes.len(), "Node"),
            if nodes.len() == 1 { "starts" } else { "start" },
            minor.saturating_sub(1)
        );
        let name = distribution.name();
        let fix = Fix::none(ending.cure(setting, &format!(" in the configuration of {name}{when}")));
        nodes_finding(context, severity, message, fix, &nodes)
            .with_respect_to(Key::from_parts([name, component, &ending.argument]))
            .impact(Some(impact))
    }));
    CheckResult::counted(all.len(), violations)
}

/// Severity and wording of a finding on a removed argument.
struct Told {
    severity: Severity,
    takes: &'static str,
    impact: String,
    when: String,
    target: String,
}

/// Wording for a removed argument: an error if the version is past its removal, or the target version is.
fn told(ending: &Ending, is_past: bool, target: Option<ControllerVersion>) -> Told {
    let Ending { component, minor, log, .. } = ending;
    let component = component.name();
    if is_past {
        let impact = format!("{component} does not start: `{log}`");
        return Told { severity: Severity::Error, takes: "took", impact, when: String::new(), target: String::new() };
    }
    Told {
        severity: if target.is_some() { Severity::Error } else { Severity::Warning },
        takes: "takes",
        impact: format!("the upgrade to 1.{minor} stops there: {component} does not start and logs `{log}`"),
        when: format!(" before the upgrade to 1.{minor}"),
        target: target.map_or_else(String::new, |target| format!(", and the target is {target}")),
    }
}

fn declared_finding(
    context: &KubernetesContext<'_>,
    arguments: &NodeArguments,
    name: &str,
    ending: &Ending,
    place: Option<&Place>,
) -> Violation {
    let Told { severity, takes, impact, when, target } =
        told(ending, ending.is_past(arguments), ending.on_the_way(context));
    let (component, setting) = (ending.component.name(), arguments.distribution.setting(ending.component));
    let (argument, last) = (text::printable(&ending.argument), ending.minor.saturating_sub(1));
    let message = format!("{component} is started with `{argument}`, which it {takes} until 1.{last}{target}");
    let fix = Fix::none(ending.cure(setting, &when));
    let violation = configuration_finding(context, severity, name, message, fix);
    let violation = violation.with_respect_to(Key::from_parts([component, &ending.argument])).impact(Some(impact));
    match place {
        Some(place) => violation.at(place),
        None => violation,
    }
}

/// A finding on the cluster, with the affected Nodes.
fn nodes_finding(
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

pub(super) fn configuration_finding(
    _: &KubernetesContext<'_>,
    severity: Severity,
    name: &str,
    message: impl Into<String>,
    fix: Fix,
) -> Violation {
    Violation::new(severity, ResourceRef::bare(ResourceKind::ClusterConfig, name), message, fix)
}
