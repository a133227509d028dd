//! RKE2 settings in the format of its configuration: the arguments that a step writes, and the names of those that
//! stay. Values of a single node and secrets are not written out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::kubernetes::Evidence;
use crate::kubernetes::arguments::{Component, NodeArguments};

/// Arguments that are the same in the whole cluster and hold no secret.
const OF_THE_CLUSTER: [&str; 6] =
    ["allocate-node-cidrs", "cloud-provider", "cluster-cidr", "configure-cloud-routes", "controllers", "feature-gates"];

/// A list of arguments.
pub(super) struct Arguments {
    /// Arguments to write.
    written: Vec<String>,
    /// Names of arguments that stay as they are on each node.
    kept: BTreeSet<String>,
}

impl Arguments {
    /// Arguments of a component of servers or agents, with some replaced and others removed.
    pub(super) fn new(
        evidence: &Evidence,
        component: Component,
        of_servers: bool,
        set: &[&str],
        without: &[&str],
    ) -> Self {
        let is_one = |one: &&NodeArguments| one.is_server.is_none_or(|is_server| is_server == of_servers);
        let name = |argument: &str| argument.split('=').next().unwrap_or_default().to_owned();
        let changed: Vec<String> = set.iter().chain(without).map(|argument| name(argument)).collect();
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for arguments in evidence.arguments().iter().filter(is_one) {
            for argument in arguments.component_arguments(component) {
                values.entry(argument.name).or_default().insert(argument.value);
            }
        }
        values.retain(|name, _| !changed.iter().any(|changed| changed == name));
        let mut written: Vec<String> = Vec::new();
        let mut kept = BTreeSet::new();
        for (name, values) in values {
            match values.first().filter(|_| values.len() == 1 && OF_THE_CLUSTER.contains(&name)) {
                Some(value) => written.push(format!("{name}={value}")),
                None => {
                    kept.insert(name.to_owned());
                }
            }
        }
        written.extend(set.iter().map(|argument| (*argument).to_owned()));
        Self { written, kept }
    }

    /// YAML list under a key.
    pub(super) fn list(&self, key: &str) -> String {
        let mut text = if self.written.is_empty() { format!("{key}: []\n") } else { format!("{key}:\n") };
        for item in &self.written {
            let _ = writeln!(text, "  - {}", scalar(item));
        }
        if !self.kept.is_empty() {
            let names: Vec<String> = self.kept.iter().map(|name| name.escape_debug().to_string()).collect();
            let _ = writeln!(text, "  # and these, as each node has them now: {}", names.join(", "));
        }
        text
    }
}

/// Formats a text as a YAML scalar: quoted if it would be read as something else. JSON strings are YAML.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,:".contains(c))
        && !text.ends_with(':')
        && !text.contains(": ");
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// Rancher settings for machines with the label of one role, and without the label of another.
/// Source: rancher/rancher `pkg/capr/planner`: a machine has the labels of its roles only.
pub(super) fn rancher_selector(role: &str, without: Option<&str>, settings: &str) -> String {
    let indented: String = settings.lines().flat_map(|line| ["          ", line, "\n"]).collect();
    let without = without.map_or_else(String::new, |role| {
        format!("            - key: rke.cattle.io/{role}-role\n              operator: DoesNotExist\n")
    });
    format!(
        "spec:\n  rkeConfig:\n    machineSelectorConfig:\n      - config:\n{indented}        machineLabelSelector:\n          matchExpressions:\n            - key: rke.cattle.io/{role}-role\n              operator: In\n              values:\n                - \"true\"\n{without}"
    )
}
