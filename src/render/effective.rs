//! Effective arguments of nodes, for display and for programs: each argument with the place that sets it.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::kubernetes::Place;
use crate::kubernetes::arguments::{Component, Distribution, NodeArguments, Started};
use crate::text;
use crate::text::secrets::shown;

use super::style::layout;

fn title(arguments: &NodeArguments) -> String {
    let who = match &arguments.started {
        Started::Node(name) => format!("Node {name}"),
        Started::Declared { .. } => arguments.started.name().into_owned(),
    };
    let version = arguments.version.map(|version| format!(" {version}")).unwrap_or_default();
    let role = match arguments.is_server {
        Some(true) => ", server",
        Some(false) => ", agent",
        None => "",
    };
    format!("{who}: {}{version}{role}", arguments.distribution.name())
}

fn place(place: Option<&Place>) -> String {
    place.map_or_else(String::new, |place| format!("{}:{}:{}", place.file, place.line, place.column))
}

/// Writes the effective arguments of some nodes as tables.
///
/// # Errors
/// When the writer fails.
pub(crate) fn effective(found: &[&NodeArguments], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for (index, arguments) in found.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", text::printable(&title(arguments)))?;
        let mut table = layout(width, &["setting", "value", "decided at"]);
        for (name, value, at) in arguments.settings() {
            let value = shown(name, value);
            table.add_row([&*text::printable(name), &*text::printable(&value), &*text::printable(&place(at))]);
        }
        writeln!(out, "{table}")?;
        let mut started = layout(width, &["component", "is started with"]);
        for component in Component::ALL {
            for argument in arguments.component_arguments(component) {
                let value = shown(argument.name, argument.value);
                let word =
                    if value.is_empty() { argument.name.to_owned() } else { format!("{}={value}", argument.name) };
                started.add_row([component.name(), &*text::printable(&format!("--{word}"))]);
            }
        }
        writeln!(out, "{started}")?;
        if arguments.distribution != Distribution::Kubeadm {
            writeln!(out, "in addition to the arguments that {} sets itself", arguments.distribution.name())?;
        }
    }
    Ok(())
}

/// The effective arguments of some nodes as JSON.
#[must_use]
pub(crate) fn effective_json(found: &[&NodeArguments]) -> Value {
    let one = |arguments: &&NodeArguments| {
        let name = arguments.started.name();
        let kind = match &arguments.started {
            Started::Node(_) => "node",
            Started::Declared { .. } => "cluster-config",
        };
        let settings = arguments.settings().map(|(name, value, at)| {
            let place = at.map(|place| json!({"file": &*place.file, "line": place.line, "column": place.column}));
            json!({"name": name, "value": shown(name, value), "place": place})
        });
        let components = Component::ALL.into_iter().map(|component| {
            let given = arguments.component_arguments(component);
            let given = given.iter().map(|one| {
                let told = shown("kubelet-arg", &format!("{}={}", one.name, one.value));
                json!({"name": one.name, "value": told.split_once('=').map_or("", |(_, value)| value)})
            });
            (component.name().to_owned(), given.collect::<Vec<Value>>().into())
        });
        json!({
            "kind": kind,
            "name": name,
            "distribution": arguments.distribution.name(),
            "kubernetes_version": arguments.version.map(|version| version.to_string()),
            "server": arguments.is_server,
            "settings": settings.collect::<Vec<Value>>(),
            "components": components.collect::<serde_json::Map<String, Value>>(),
        })
    };
    json!({"schema": "tagaudit.effective/1", "started": found.iter().map(one).collect::<Vec<Value>>()})
}
