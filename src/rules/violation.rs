//! Findings of checks, before the runner completes them from the rule.

use std::collections::HashMap;

use crate::finding::{Cause, Fix, Key, ResourceRef, Severity};
use crate::kubernetes::Place;

/// A defect that a check found; the runner completes it from the rule.
#[derive(Debug)]
pub struct Violation {
    pub severity: Severity,
    pub resource: ResourceRef,
    /// Causes and further resources.
    pub related: Vec<ResourceRef>,
    /// Places in files.
    pub locations: Vec<Place>,
    /// The facts.
    pub message: String,
    /// Consequence, if it is more specific than that of the rule.
    pub impact: Option<String>,
    /// Repair.
    pub fix: Fix,
    /// The defect, as it identifies the finding.
    pub cause: Cause,
    /// Actions that it is about, also as patterns; empty if it is not about certain actions.
    pub actions: Vec<String>,
}

impl Violation {
    pub(super) fn new(severity: Severity, resource: ResourceRef, message: impl Into<String>, fix: Fix) -> Self {
        let cause = Cause::Resource;
        let (related, locations, actions) = (Vec::new(), Vec::new(), Vec::new());
        Self { severity, resource, related, locations, message: message.into(), impact: None, fix, cause, actions }
    }

    pub(super) fn related(mut self, related: impl IntoIterator<Item = ResourceRef>) -> Self {
        self.related.extend(related);
        self
    }

    /// Sets the actions that it is about.
    pub(super) fn about<Action: AsRef<str>>(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.actions = actions.into_iter().map(|action| action.as_ref().to_owned()).collect();
        self
    }

    /// Adds its place in a file.
    pub(super) fn at(mut self, place: &Place) -> Self {
        // Objects read from a live cluster have no file.
        if !place.file.is_empty() {
            self.locations.push(place.clone());
        }
        self
    }

    pub(super) fn cause(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    /// Distinguishes it from others with the same cause.
    pub(super) fn with_respect_to(self, what: impl Into<Key>) -> Self {
        let cause = match &self.cause {
            Cause::Resource => Key::from(self.resource.id.as_str()),
            Cause::Group(group) => group.clone(),
            Cause::Pair(one, other) => one.clone().and(other.clone()),
        };
        self.cause(Cause::Pair(cause, what.into()))
    }

    /// Distinguishes findings of one cause at several severities. The worst keeps the identity of the cause, so that a
    /// finding whose severity changes stays the same finding.
    pub(super) fn with_rank(self, rank: usize) -> Self {
        if rank == 0 { self } else { self.with_respect_to(rank.to_string()) }
    }

    /// Sets a consequence that is more specific than that of the rule.
    pub(super) fn impact(mut self, impact: Option<String>) -> Self {
        self.impact = impact;
        self
    }
}

/// Merges violations with the same locations and message, such as those of several resources that one place of a file
/// defines; the other resources become related ones.
pub(super) fn once(found: impl IntoIterator<Item = Violation>) -> Vec<Violation> {
    let mut all: Vec<Violation> = Vec::new();
    let mut told: HashMap<(Vec<Place>, String), usize> = HashMap::new();
    for violation in found {
        if violation.locations.is_empty() {
            all.push(violation);
            continue;
        }
        let first = *told.entry((violation.locations.clone(), violation.message.clone())).or_insert(all.len());
        match all.get_mut(first) {
            Some(first) if first.resource == violation.resource => {}
            Some(first) => first.related.push(violation.resource),
            None => all.push(violation),
        }
    }
    all
}
