//! The findings of an audit that belong to a link.

use std::collections::BTreeSet;

use crate::finding::Severity;
use crate::report::{Cause, Finding, Report};
use crate::resource::ResourceKind;
use crate::rules::{self, messages};

use super::{Audited, Link, State};

/// A finding, and the resources of a link that it is about.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    pub(super) finding: &'a Finding,
    resources: Vec<&'a str>,
}

impl From<&Found<'_>> for Cause {
    fn from(found: &Found<'_>) -> Self {
        let finding = found.finding;
        let is_named = found.resources.is_empty() || found.resources.contains(&finding.resource.id.as_str());
        let also = if is_named { Vec::new() } else { found.resources.iter().map(|id| (*id).to_owned()).collect() };
        Self { also, ..Self::from(finding) }
    }
}

impl Found<'_> {
    /// True if the finding names a resource of a kind.
    pub(super) fn names(&self, kind: ResourceKind) -> bool {
        named(self.finding, kind).next().is_some()
    }
}

impl<'a> From<&'a Finding> for Found<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self { finding, resources: Vec::new() }
    }
}

/// Ids of the resources of one kind that a finding names.
fn named(finding: &Finding, kind: ResourceKind) -> impl Iterator<Item = &str> {
    let all = std::iter::once(&finding.resource).chain(&finding.related);
    all.filter(move |one| one.kind == kind).map(|one| one.id.as_str())
}

/// True if a text contains an id that is not part of a longer one.
fn mentions(text: &str, id: &str) -> bool {
    let is_part = |one: char| one.is_alphanumeric() || one == '-' || one == '_';
    text.match_indices(id).any(|(start, _)| {
        let before = text.get(..start).and_then(|text| text.chars().next_back());
        let after = text.get(start + id.len()..).and_then(|text| text.chars().next());
        !id.is_empty() && !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

impl<'a> Audited<'a> {
    /// Open findings worth more than a note about resources.
    pub(super) fn findings(&self, is_about: impl Fn(&Finding) -> bool) -> Vec<&'a Finding> {
        let report: &'a Report = self.report;
        let open = report.findings.iter().filter(|one| one.is_open() && one.severity > Severity::Info);
        open.filter(|one| is_about(one)).collect()
    }

    /// Findings about resources of one kind: on one of these, or on several of which it is one.
    pub(super) fn findings_on(&self, kind: ResourceKind, ids: &BTreeSet<&str>) -> Vec<Found<'a>> {
        let found = self
            .findings(|one| one.resource.kind == kind)
            .into_iter()
            .map(|finding| Found { finding, resources: named(finding, kind).filter(|id| ids.contains(id)).collect() });
        found.filter(|one| !one.resources.is_empty()).collect()
    }

    /// Findings about the subnets of the cluster.
    pub(super) fn findings_on_subnets(&self) -> Vec<Found<'a>> {
        self.findings(|one| one.resource.kind == ResourceKind::Subnet).into_iter().map(Found::from).collect()
    }

    /// Findings about instances because of their security groups; `None`: all instances.
    pub(super) fn findings_on_groups_of(&self, instances: Option<&BTreeSet<&str>>) -> Vec<Found<'a>> {
        let is_about = |one: &Finding| {
            one.resource.kind == ResourceKind::Instance && named(one, ResourceKind::SecurityGroup).next().is_some()
        };
        let found = self.findings(is_about).into_iter().filter_map(|finding| match instances {
            None => Some(Found::from(finding)),
            Some(ids) => {
                let resources: Vec<&str> =
                    named(finding, ResourceKind::Instance).filter(|id| ids.contains(id)).collect();
                (!resources.is_empty()).then_some(Found { finding, resources })
            }
        });
        found.collect()
    }

    /// Findings about a Service because of the security groups of its load balancer.
    pub(super) fn findings_on_groups_of_service(&self, name: &str) -> Vec<Found<'a>> {
        let is_about = |one: &Finding| {
            one.resource.kind == ResourceKind::Service
                && one.resource.id == name
                && named(one, ResourceKind::SecurityGroup).next().is_some()
        };
        self.findings(is_about).into_iter().map(Found::from).collect()
    }

    /// Findings of the rules that find the cause of an error of a controller, the most probable first: those on a resource
    /// that the error names, or all if it names none. `kind` is that of the object: findings about other objects of the
    /// kind have other causes, and those that repeat the error of a controller are none.
    pub(super) fn findings_behind(&self, error: &str, kind: ResourceKind) -> Vec<Found<'a>> {
        const LINE: messages::Line = messages::Line { is_refusal: false, is_of_controller: true, is_long: false };
        let Some(message) = messages::find(&messages::bare(error), LINE) else { return Vec::new() };
        let rank = |finding: &Finding| message.rules.iter().position(|rule| *rule == finding.rule);
        let mut found =
            self.findings(|one| one.resource.kind != kind && rank(one).is_some() && !rules::restates_model(&one.rule));
        let is_named = |finding: &&Finding| {
            let mut all = std::iter::once(&finding.resource).chain(&finding.related);
            all.any(|one| mentions(error, &one.id))
        };
        if found.iter().any(&is_named) {
            found.retain(|one| is_named(one));
        }
        found.sort_by_key(|one| rank(one));
        found.into_iter().map(Found::from).collect()
    }
}

impl Link {
    /// Adds findings, each once. An error breaks the link if it stops what the link is for; everything else degrades it.
    pub(super) fn found<'f>(
        mut self,
        findings: impl IntoIterator<Item = impl Into<Found<'f>>>,
        errors_break: bool,
    ) -> Self {
        for found in findings {
            let cause = Cause::from(&found.into());
            if self.findings.iter().any(|one| one.fingerprint == cause.fingerprint) {
                continue;
            }
            if cause.severity == Severity::Error && errors_break {
                self.state = State::Broken;
            } else if self.state == State::Ok {
                self.state = State::Degraded;
            }
            self.findings.push(cause);
        }
        self
    }

    /// Adds the errors that the controller would meet here next, if it got this far.
    pub(super) fn found_next<'f>(self, findings: Vec<Found<'f>>) -> Self {
        self.found(findings.into_iter().filter(|one: &Found<'f>| one.finding.severity == Severity::Error), false)
    }
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn an_id_is_not_found_in_a_longer_one() {
        assert!(mentions("instance i-0a1 has 2 groups", "i-0a1"));
        assert!(mentions("Multiple tagged security groups found for instance i-0a1; ensure", "i-0a1"));
        assert!(!mentions("instance i-0a12", "i-0a1"));
        assert!(!mentions("instance xi-0a1", "i-0a1"));
        assert!(!mentions("anything", ""));
    }
}
