//! Application of a configuration to an audit.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::audit::{Audit, Configuration};
use crate::finding::{self, Finding, ResourceRef, Status};
use crate::policy;
use crate::rules::Outcome;

use super::{Config, Place, Waiver};

/// A notice to the author of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Place in the file.
    pub place: Place,
    pub message: String,
    /// True for a waiver that nothing matched; in one cluster of many that is expected.
    pub is_unused: bool,
}

impl Config {
    /// Sets the severities that the operator chose, and marks waived findings. A finding is waived only if every
    /// resource that it affects is; resources that were not audited are never waived.
    pub fn apply(&self, audit: &mut Audit, today: Date) -> Vec<Notice> {
        let (mut notices, used) = self.decide(&mut audit.findings, today);
        audit.configuration = Some(Configuration {
            file: self.file.clone(),
            severities: self.severities.iter().map(|one| (one.rule.clone(), one.severity)).collect(),
        });
        audit.findings.sort_by(|a, b| (b.severity, a.rule, &a.resource.id).cmp(&(a.severity, b.rule, &b.resource.id)));
        let outcomes: BTreeMap<&str, Outcome> = audit.rules.iter().map(|rule| (rule.rule, rule.outcome)).collect();
        let unread: Vec<&str> = audit.not_audited.iter().flat_map(|entry| entry.rules.iter().copied()).collect();
        for (waiver, _) in self.waivers.iter().zip(used).filter(|(_, used)| !used) {
            let outcome = outcomes.get(waiver.rule.as_str());
            let is_checked = outcome.is_some_and(|outcome| matches!(outcome, Outcome::Passed | Outcome::Failed))
                && !unread.contains(&waiver.rule.as_str());
            // A resource that was not checked may exist.
            if is_checked {
                let message =
                    format!("the waiver of `{}` for `{}` matches nothing that was read", waiver.rule, waiver.resource);
                notices.push(Notice { place: waiver.place, message, is_unused: true });
            }
        }
        notices.sort_by(|a, b| (a.place, &a.message).cmp(&(b.place, &b.message)));
        notices
    }

    /// Does the same for findings on files, which keep their order. A waiver that matches nothing there may apply to a
    /// cluster.
    pub fn apply_to_files(&self, findings: &mut [Finding], today: Date) -> Vec<Notice> {
        let (mut notices, _) = self.decide(findings, today);
        notices.sort_by(|a, b| (a.place, &a.message).cmp(&(b.place, &b.message)));
        notices
    }

    /// Applies severities and waivers; returns the notices, and whether each waiver matched.
    fn decide(&self, findings: &mut [Finding], today: Date) -> (Vec<Notice>, Vec<bool>) {
        let mut used = vec![false; self.waivers.len()];
        let mut notices = Vec::new();
        for finding in findings {
            if let Some(found) = self.severities.iter().find(|one| one.rule == finding.rule) {
                finding.severity = found.severity;
            }
            self.waive(finding, today, &mut used, &mut notices);
        }
        (notices, used)
    }

    fn waive(&self, finding: &mut Finding, today: Date, used: &mut [bool], notices: &mut Vec<Notice>) {
        let of_rule = || self.waivers.iter().enumerate().filter(|(_, waiver)| waiver.rule == finding.rule);
        // Related resources have only an id; ARNs of one kind differ only in it.
        let stem = finding.resource.arn.as_deref().and_then(|arn| arn.strip_suffix(&*finding.resource.id));
        let is_about = |waiver: &Waiver, resource: &ResourceRef| {
            let arn = resource.arn.clone().or_else(|| stem.map(|stem| format!("{stem}{}", resource.id)));
            std::iter::once(&resource.id).chain(&arn).any(|name| policy::matches(&waiver.resource, name))
        };
        let shown = || {
            std::iter::once(&finding.resource)
                .chain(finding.related.iter().filter(|related| related.kind == finding.resource.kind))
        };
        let (mut waived, mut resources) = (0, 0);
        let (mut holding, mut over): (Option<&Waiver>, Option<&Waiver>) = (None, None);
        for resource in shown() {
            resources += 1;
            let mut is_waived = false;
            for (index, waiver) in of_rule().filter(|(_, waiver)| is_about(waiver, resource)) {
                if let Some(used) = used.get_mut(index) {
                    *used = true;
                }
                if waiver.expires < today {
                    over = over.or(Some(waiver));
                } else {
                    is_waived = true;
                    holding = holding.or(Some(waiver));
                }
            }
            waived += usize::from(is_waived);
        }
        if let (Some(waiver), true) = (holding, waived == resources) {
            finding.waiver = Some(self.note(waiver, false));
            finding.status = Status::Waived;
        } else if let Some(waiver) = over {
            finding.waiver = Some(self.note(waiver, true));
            let message =
                format!("the waiver of `{}` expired on {}: the finding is open again", waiver.rule, waiver.expires);
            notices.push(Notice { place: waiver.place, message, is_unused: false });
        } else if let Some(waiver) = holding {
            let message = format!(
                "the waiver of `{}` covers {waived} of the {resources} resources of finding {}, which stays open",
                waiver.rule, finding.fingerprint
            );
            notices.push(Notice { place: waiver.place, message, is_unused: false });
        }
    }

    fn note(&self, waiver: &Waiver, expired: bool) -> finding::Waiver {
        finding::Waiver {
            reason: waiver.reason.clone(),
            owner: waiver.owner.clone(),
            expires: Some(waiver.expires.to_string()),
            place: format!("{}:{}", self.file, waiver.place.line),
            expired,
        }
    }
}
