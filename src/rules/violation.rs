//! What checks find, before the runner completes it from the rule.

use std::collections::HashMap;

use crate::finding::{Cause, Fix, Key, ResourceRef, Severity};
use crate::kubernetes::Place;

/// What a check found; the runner adds what the rule knows.
#[derive(Debug)]
pub struct Violation {
    /// How bad.
    pub severity: Severity,
    /// The resource.
    pub resource: ResourceRef,
    /// Causes and further resources.
    pub related: Vec<ResourceRef>,
    /// Where it stands in files.
    pub locations: Vec<Place>,
    /// The facts.
    pub message: String,
    /// What breaks, where it says more than the rule does.
    pub impact: Option<String>,
    /// What fixes it.
    pub fix: Fix,
    /// What is wrong, by which the finding is known again.
    pub cause: Cause,
}

impl Violation {
    pub(super) fn new(severity: Severity, resource: ResourceRef, message: impl Into<String>, fix: Fix) -> Self {
        let cause = Cause::Resource;
        let (related, locations) = (Vec::new(), Vec::new());
        Self { severity, resource, related, locations, message: message.into(), impact: None, fix, cause }
    }

    pub(super) fn related(mut self, related: impl IntoIterator<Item = ResourceRef>) -> Self {
        self.related.extend(related);
        self
    }

    /// Where it stands in a file.
    pub(super) fn at(mut self, place: &Place) -> Self {
        // What was read of a live cluster stands in no file.
        if !place.file.is_empty() {
            self.locations.push(place.clone());
        }
        self
    }

    pub(super) fn cause(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    /// Distinguishes it from others of the same cause.
    pub(super) fn with_respect_to(self, what: impl Into<Key>) -> Self {
        let cause = match &self.cause {
            Cause::Resource => Key::from(self.resource.id.as_str()),
            Cause::Group(group) => group.clone(),
            Cause::Pair(one, other) => one.clone().and(other.clone()),
        };
        self.cause(Cause::Pair(cause, what.into()))
    }

    /// Distinguishes what one cause leads to at several severities: the worst keeps the identity of the cause, so that a finding whose
    /// severity changes stays the same finding.
    pub(super) fn of_rank(self, rank: usize) -> Self {
        if rank == 0 { self } else { self.with_respect_to(rank.to_string()) }
    }

    /// What breaks, where more is known than the rule says.
    pub(super) fn impact(mut self, impact: Option<String>) -> Self {
        self.impact = impact;
        self
    }
}

/// What shows at one place of a file for several of what the file makes is told once, with all of them.
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
