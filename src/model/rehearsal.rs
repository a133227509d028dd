//! The same simulation at two versions of the controllers: what an upgrade changes.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::decision::{Decision, ModelledController, ObjectName};
use super::simulate::{AskedController, Simulation};

/// A simulation, with what differs at the target versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Rehearsed {
    #[serde(flatten)]
    pub(crate) today: Simulation,
    /// Absent without a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<Rehearsal>,
}

/// A simulation at the target versions, as the differences from the simulation at those of today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Rehearsal {
    pub(crate) controllers: Vec<AskedController>,
    /// Objects for which the answers differ, in the order of the simulation.
    pub(crate) differences: Vec<Difference>,
}

/// An object that a controller treats differently at its target version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    pub(crate) object: ObjectName,
    pub(crate) controller: ModelledController,
    pub(crate) fields: Vec<FieldDifference>,
}

/// A field of a decision at two versions; `null` where the controller does not reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FieldDifference {
    pub(crate) field: String,
    pub(crate) now: Value,
    pub(crate) then: Value,
}

/// Fields that explain a decision, or repeat what is compared by itself.
const EXPLAINING: [&str; 8] =
    ["object", "controller", "version", "steps", "notes", "unknown", "nodes_left_out", "subnets_passed_over"];

/// Compares the simulation of today with that at the target versions.
fn rehearse(now: &Simulation, then: &Simulation) -> Rehearsal {
    let key = |decision: &Decision| (decision.object.clone(), decision.controller);
    let old: BTreeMap<_, &Decision> = now.objects.iter().map(|decision| (key(decision), decision)).collect();
    let new: BTreeMap<_, &Decision> = then.objects.iter().map(|decision| (key(decision), decision)).collect();
    let only_then = then.objects.iter().filter(|decision| !old.contains_key(&key(decision)));
    let differences = now.objects.iter().chain(only_then).filter_map(|decision| {
        let key = key(decision);
        let (old, new) = (old.get(&key).copied(), new.get(&key).copied());
        let fields = fields(&members(old), &members(new));
        (!fields.is_empty()).then_some(Difference { object: key.0, controller: key.1, fields })
    });
    Rehearsal { controllers: then.controllers.clone(), differences: differences.collect() }
}

/// The compared fields of a decision.
fn members(decision: Option<&Decision>) -> Map<String, Value> {
    let written = decision.map(serde_json::to_value).and_then(Result::ok);
    let mut members = match written {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    members.retain(|field, _| !EXPLAINING.contains(&field.as_str()));
    members
}

fn fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<FieldDifference> {
    let only_new = new.keys().filter(|field| !old.contains_key(*field));
    let of = |members: &Map<String, Value>, field: &str| members.get(field).cloned().unwrap_or(Value::Null);
    let all = old.keys().chain(only_new);
    let both = all.map(|field| FieldDifference { field: field.clone(), now: of(old, field), then: of(new, field) });
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    both.filter(|one| one.now != one.then && !(is_empty(&one.now) && is_empty(&one.then))).collect()
}

impl Rehearsed {
    pub(crate) fn new(today: Simulation, then: Option<&Simulation>) -> Self {
        let target = then.map(|then| rehearse(&today, then));
        Self { today, target }
    }
}
