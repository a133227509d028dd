//! A simulation for a terminal: a block for each load balancer.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::Value;

use crate::model::rehearsal::{Rehearsal, Rehearsed};
use crate::model::simulate::{Simulation, VersionSource};
use crate::model::{Decision, ModelledController, ObjectName};
use crate::report::Cause;
use crate::text;
use crate::upgrade::{Step, Upgrade};

use super::style::{Painter, TableOptions, fact, paragraph};

mod block;

use block::{block, list};

/// Maximum number of entries of a list before the rest is folded.
const SHOWN: usize = 8;

/// Writes a simulation.
///
/// # Errors
/// When the writer fails.
pub(crate) fn simulate(upgrade: &Upgrade, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let Rehearsed { today: simulation, target } = &upgrade.rehearsed;
    let painter = Painter { color: options.color };
    let mut page = String::new();
    fact(&mut page, "cluster", &text::printable(&simulation.cluster_id), painter, options);
    fact(&mut page, "region", &text::printable(&simulation.region), painter, options);
    for one in &simulation.controllers {
        let source = match one.version_source {
            VersionSource::Option => "",
            VersionSource::Image => " (by its image)",
            VersionSource::Assumed => " (assumed: the newest of the model)",
        };
        let running = if one.is_running { "" } else { "; the evidence does not show it running" };
        let modelled = one.modelled_as.as_ref();
        let modelled =
            modelled.map(|newest| format!("; decided as {newest}, the newest of the model")).unwrap_or_default();
        let line = format!("{} {}{source}{running}{modelled}", one.controller.describe(), one.version);
        fact(&mut page, "asked", &line, painter, options);
        let roles: Vec<&str> = one.roles.iter().map(|arn| arn.rsplit('/').next().unwrap_or_default()).collect();
        let rights = if roles.is_empty() {
            "not known: its rights were not checked".to_owned()
        } else {
            text::printable(&text::list(&roles, SHOWN)).into_owned()
        };
        fact(&mut page, "role", &rights, painter, options);
    }
    for assumption in &simulation.assumptions {
        fact(&mut page, "assumed", assumption, painter, options);
    }
    if simulation.objects.is_empty() && simulation.not_modelled.is_empty() {
        let _ = writeln!(page, "\nno Service and no Ingress was given");
    }
    let (shown, others): (Vec<&Decision>, Vec<&Decision>) =
        simulation.objects.iter().partition(|one| one.requested || one.handled);
    for decision in shown {
        block(&mut page, decision, painter, options);
    }
    if !others.is_empty() {
        let count = text::count(others.len(), "Service");
        let verb = if others.len() == 1 { "asks" } else { "ask" };
        let _ = writeln!(page, "\n{}", painter.dim(&format!("{count} of another type {verb} for no load balancer")));
    }
    for object in &simulation.not_modelled {
        let _ = writeln!(page, "\n{} {}", painter.warn("not modelled"), painter.bold(&named(object)));
        paragraph(
            &mut page,
            "",
            if object.kind == "Ingress" {
                if has_alibaba(simulation) {
                    "the ALB Ingress controller of Alibaba Cloud is not modelled: what it does with an Ingress is unknown"
                } else {
                    "Kubernetes 1.22 removed its API version: write it as networking.k8s.io/v1"
                }
            } else {
                "the Gateway API is not modelled: what a controller does with it is unknown"
            },
            painter,
            options,
        );
    }
    if !simulation.room.is_empty() {
        let _ = writeln!(page);
    }
    for one in &simulation.room {
        let line = format!(
            "{}: {} of {} exist, {} more asked for, {} left after that",
            one.limit_name,
            one.existing,
            one.limit,
            one.asked,
            one.free().saturating_sub(one.asked)
        );
        fact(&mut page, "limit", &line, painter, options);
    }
    if let Some(target) = target {
        rehearsal(&mut page, target, painter, options);
    }
    steps(&mut page, &upgrade.steps, painter, options);
    out.write_all(page.as_bytes())?;
    out.flush()
}

/// True if the cluster is in Alibaba Cloud.
fn has_alibaba(simulation: &Simulation) -> bool {
    simulation.controllers.iter().any(|one| one.controller == ModelledController::CloudProviderAlibaba)
}

/// Kind and name of an object.
fn named(object: &ObjectName) -> String {
    format!("{} {}/{}", object.kind, text::printable(&object.namespace), text::printable(&object.name))
}

/// What differs at the target versions.
fn rehearsal(page: &mut String, target: &Rehearsal, painter: Painter, options: &TableOptions) {
    let versions: Vec<String> =
        target.controllers.iter().map(|one| format!("{} {}", one.controller.describe(), one.version)).collect();
    let count = match target.differences.len() {
        0 => "nothing differs".to_owned(),
        number => {
            format!("{} differs", text::count(number, "load balancer")).replace("balancers differs", "balancers differ")
        }
    };
    let _ = writeln!(page, "\n{} {count}", painter.bold(&format!("at the target ({}):", versions.join(", "))));
    for difference in &target.differences {
        let _ = writeln!(page, "\n{} {}", painter.warn("differs"), painter.bold(&named(&difference.object)));
        for field in &difference.fields {
            let name = field.field.replace('_', " ");
            let change = match field.field.as_str() {
                "calls" => changed(&calls(&field.now), &calls(&field.then), options),
                _ => changed(&field.now, &field.then, options),
            };
            paragraph(page, "", &format!("{name}: {change}"), painter, options);
        }
    }
}

/// The steps of the upgrade, with the findings that it causes.
fn steps(page: &mut String, steps: &[Step], painter: Painter, options: &TableOptions) {
    for (index, step) in steps.iter().enumerate() {
        let number = index + 1;
        match step {
            Step::Correct { findings } => {
                let count = text::count(findings.len(), "finding");
                let _ = writeln!(
                    page,
                    "\n{}",
                    painter.bold(&format!("step {number}: correct {count} caused by the target version"))
                );
                for cause in findings {
                    cause_of(page, cause, painter, options);
                }
            }
            Step::Upgrade { to } => {
                let to = text::list(to, SHOWN);
                let _ = writeln!(
                    page,
                    "\n{}",
                    painter.bold(&format!("step {number}: upgrade to {}", text::printable(&to)))
                );
            }
            Step::Expect { load_balancers } => {
                let what = text::count(*load_balancers, "load balancer");
                let _ =
                    writeln!(page, "\n{}", painter.bold(&format!("step {number}: expect changes to {what}, as above")));
            }
        }
    }
}

fn cause_of(page: &mut String, cause: &Cause, painter: Painter, options: &TableOptions) {
    let line = format!("{}: {}", cause.rule, cause.message);
    paragraph(page, cause.severity.noun(), &line, painter, options);
    paragraph(page, "fix", &cause.fix, painter, options);
}

/// Calls as their actions, each with the answer of the policies.
fn calls(value: &Value) -> Value {
    let short = |call: &Value| {
        let action = call.get("action").and_then(Value::as_str).unwrap_or_default();
        let verdict = call.get("verdict").and_then(Value::as_str);
        verdict.map_or_else(|| action.to_owned(), |verdict| format!("{action} ({verdict})"))
    };
    let mut all: Vec<String> = value.as_array().into_iter().flatten().map(short).collect();
    all.sort();
    all.dedup();
    all.into()
}

/// The change of a field; of two lists, what is lost and gained.
fn changed(now: &Value, then: &Value, options: &TableOptions) -> String {
    let (Value::Array(old), Value::Array(new)) = (now, then) else {
        return format!("{}, then {}", shown(now, options), shown(then, options));
    };
    let without = |some: &[Value], others: &[Value]| -> Vec<String> {
        some.iter().filter(|one| !others.contains(one)).map(|one| shown(one, options)).collect()
    };
    let part = |word: &str, items: &[String]| (!items.is_empty()).then(|| format!("{word} {}", list(items, options)));
    let parts = [part("loses", &without(old, new)), part("gains", &without(new, old))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { format!("in another order: {}", shown(then, options)) } else { parts.join("; ") }
}

/// A field of a decision.
fn shown(value: &Value, options: &TableOptions) -> String {
    let all = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { list(&items, options) };
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text::printable(text).into_owned(),
        Value::Array(items) => all(items.iter().map(|one| shown(one, options)).collect()),
        Value::Object(members) => {
            let pairs =
                members.iter().map(|(key, value)| format!("{} {}", text::printable(key), shown(value, options)));
            format!("({})", pairs.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
