//! Settings of RKE2 as its configuration has them: what is there, with what the step changes.

use std::fmt::Write as _;

use crate::kubernetes::Evidence;
use crate::kubernetes::arguments::{Component, NodeArguments};
use crate::text::secrets::shown;

/// What kube-controller-manager is given beside the distribution's own, with some arguments replaced and others taken out.
pub(super) fn manager_arguments(evidence: &Evidence, set: &[&str], without: &[&str]) -> Vec<String> {
    let servers = evidence.arguments().iter().filter(|one| one.is_server != Some(false));
    let all = servers.map(|one| one.of_component(Component::ControllerManager)).find(|given| !given.is_empty());
    arguments(all.into_iter().flatten().map(|one| (one.name.to_owned(), one.value.to_owned())), set, without)
}

/// The same for the kubelet of servers, or of agents.
pub(super) fn kubelet_arguments(evidence: &Evidence, of_servers: bool, set: &[&str], without: &[&str]) -> Vec<String> {
    let is_one = |one: &&NodeArguments| one.is_server.is_none_or(|is_server| is_server == of_servers);
    let all = evidence.arguments().iter().filter(is_one).map(|one| one.of_component(Component::Kubelet));
    let given = all.into_iter().find(|given| !given.is_empty()).into_iter().flatten();
    arguments(given.map(|one| (one.name.to_owned(), one.value.to_owned())), set, without)
}

fn arguments(given: impl Iterator<Item = (String, String)>, set: &[&str], without: &[&str]) -> Vec<String> {
    let name = |argument: &str| argument.split('=').next().unwrap_or_default().to_owned();
    let replaced: Vec<String> = set.iter().chain(without).map(|argument| name(argument)).collect();
    let kept = given
        .filter(|(name, _)| !replaced.contains(name))
        .map(|(name, value)| if value.is_empty() { name } else { shown("kubelet-arg", &format!("{name}={value}")) });
    kept.chain(set.iter().map(|argument| (*argument).to_owned())).collect()
}

/// A list of YAML under a key.
pub(super) fn list(key: &str, items: &[String], indent: usize) -> String {
    let pad = " ".repeat(indent);
    if items.is_empty() {
        return format!("{pad}{key}: []\n");
    }
    let mut text = format!("{pad}{key}:\n");
    for item in items {
        let _ = writeln!(text, "{pad}  - {}", scalar(item));
    }
    text
}

/// A text as YAML has it: in quotation marks where it would be something else.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,:".contains(c))
        && !text.ends_with(':')
        && !text.contains(": ");
    if is_plain { text.to_owned() } else { format!("{text:?}") }
}

/// Settings of the control planes of a cluster of Rancher.
pub(super) fn rancher_servers(settings: &str) -> String {
    let indented: String = settings.lines().flat_map(|line| ["          ", line, "\n"]).collect();
    format!(
        "spec:\n  rkeConfig:\n    machineSelectorConfig:\n      - config:\n{indented}        machineLabelSelector:\n          matchExpressions:\n            - key: rke.cattle.io/control-plane-role\n              operator: In\n              values:\n                - \"true\"\n"
    )
}
