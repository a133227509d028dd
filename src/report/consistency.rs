//! Checks that a saved report is consistent: a report that was edited or truncated is rejected.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::finding::{Severity, Status};
use crate::inventory::Provider;
use crate::rules::Outcome;

use super::{Finding, Report};

impl Report {
    /// The first contradiction in a report, with its JSON pointer.
    pub(super) fn contradiction(&self) -> Option<(String, String)> {
        let wrong = |pointer: String, reason: &str| Some((pointer, reason.to_owned()));
        if self.cluster_id.trim().is_empty() || self.cluster_id.chars().any(char::is_control) {
            return wrong("/cluster_id".to_owned(), "is not a cluster id");
        }
        if let Some(at) = &self.source.collected_at
            && at.parse::<Timestamp>().is_err()
        {
            return wrong("/source/collected_at".to_owned(), "is not a date");
        }
        let date = |at: &Option<String>| at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
        if self.source.collected_until.is_some()
            && date(&self.source.collected_at)
                .zip(date(&self.source.collected_until))
                .is_none_or(|(began, ended)| ended < began)
        {
            return wrong(
                "/source/collected_until".to_owned(),
                "is not a date on or after that on which reading began",
            );
        }
        for (index, account) in self.accounts.iter().enumerate() {
            let is_one = self.provider.is_account_id(&account.account_id);
            if !is_one {
                return wrong(format!("/accounts/{index}/account_id"), "is not an account id");
            }
            if !account.regions.iter().all(|region| is_name(region)) || !is_name(&account.partition) {
                return wrong(format!("/accounts/{index}"), "has an invalid region or partition");
            }
        }
        if self.complete != self.not_audited.is_empty() {
            return wrong("/complete".to_owned(), "must be true exactly if `not_audited` is empty");
        }
        let mut fingerprints = BTreeSet::new();
        for (index, finding) in self.findings.iter().enumerate() {
            let reason = match finding.status {
                Status::New | Status::Unchanged => finding_contradiction(self.provider, finding),
                Status::Waived if finding.waiver.as_ref().is_some_and(|waiver| !waiver.expired) => {
                    finding_contradiction(self.provider, finding)
                }
                Status::Waived => Some("is waived, but has no valid waiver"),
                Status::Resolved | Status::Unknown => Some("is resolved or unknown, but listed as a finding"),
            };
            let reason = reason.or_else(|| {
                (!fingerprints.insert(&finding.fingerprint)).then_some("has the fingerprint of another finding")
            });
            if let Some(reason) = reason {
                return wrong(format!("/findings/{index}"), reason);
            }
        }
        self.rule_contradiction().or_else(|| self.count_mismatch()).or_else(|| {
            let comparison = self.comparison.as_ref()?;
            let lists = [
                ("resolved", &comparison.resolved, Status::Resolved),
                ("unknown", &comparison.unknown, Status::Unknown),
            ];
            lists.into_iter().find_map(|(name, gone, status)| {
                let is_wrong = |gone: &super::GoneFinding| {
                    gone.finding.status != status || finding_contradiction(self.provider, &gone.finding).is_some()
                };
                let index = gone.iter().position(is_wrong)?;
                wrong(format!("/comparison/{name}/{index}"), "does not belong there")
            })
        })
    }

    fn rule_contradiction(&self) -> Option<(String, String)> {
        let mut known = BTreeMap::new();
        for (index, rule) in self.rules.iter().enumerate() {
            if !is_name(&rule.rule) || known.insert(&*rule.rule, rule.outcome).is_some() {
                return Some((format!("/rules/{index}"), "is not a rule, or a duplicate".to_owned()));
            }
        }
        let found: BTreeSet<&str> = self.findings.iter().map(|finding| finding.rule.as_str()).collect();
        let is_wrong = |rule: &&str| {
            known.get(*rule).is_some_and(|outcome| (*outcome == Outcome::Failed) != found.contains(*rule))
        };
        let index = self.rules.iter().position(|rule| is_wrong(&&*rule.rule))?;
        Some((format!("/rules/{index}/outcome"), "contradicts the findings".to_owned()))
    }

    fn count_mismatch(&self) -> Option<(String, String)> {
        let open = |severity: Severity| self.open().filter(|finding| finding.severity == severity).count();
        let waived = self.findings.len() - self.open().count();
        let counted = Severity::WORST_FIRST.into_iter().all(|severity| self.count_findings(severity) == open(severity));
        let agrees = counted && self.summary.waived == waived && self.summary.not_audited == self.not_audited.len();
        (!agrees).then(|| ("/summary".to_owned(), "does not match the content".to_owned()))
    }
}

fn finding_contradiction(provider: Provider, finding: &Finding) -> Option<&'static str> {
    if !is_name(&finding.rule) {
        return Some("has no rule");
    }
    if finding.fingerprint.is_empty() {
        return Some("has no fingerprint");
    }
    let resources = || std::iter::once(&finding.resource).chain(&finding.related);
    let is_placed = resources().all(|resource| {
        resource.account_id.as_deref().is_none_or(|id| provider.is_account_id(id))
            && resource.region.as_deref().is_none_or(is_name)
    });
    if !is_placed {
        return Some("has an invalid account or region");
    }
    let is_located = |place: &super::Location| {
        place.line > 0 && place.column > 0 && place.end_line >= place.line && place.end_column > 0
    };
    (!finding.locations.iter().all(is_located)).then_some("has an invalid place")
}

/// True if a text has the form of a rule id, a region or a partition.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
