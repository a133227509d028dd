//! Reports without findings because nothing was checked.

use std::collections::BTreeMap;

use crate::finding::Severity;
use crate::inventory::Provider;

use super::{Account, NotAudited, Report, SCHEMA, Source, SourceKind, Summary, Tool};

/// Provider, cluster id, accounts with their regions, and fingerprints.
type ReportIdentity<'r> = (&'static str, &'r str, Vec<(&'r str, Vec<&'r str>)>, Vec<&'r str>);

impl Report {
    /// Report of entries that could not be audited in accounts and belong to no cluster; its cluster id is `*`, for
    /// any.
    pub(super) fn unread(accounts: Vec<Account>, collected_at: Option<String>, entries: &[NotAudited]) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            tool: Tool::this(),
            provider: Provider::default(),
            cluster_id: "*".to_owned(),
            accounts,
            source: Source { kind: SourceKind::Live, collected_at, collected_until: None, profile: None },
            options: Vec::new(),
            configuration: None,
            complete: false,
            nothing_to_audit: false,
            not_audited: entries.to_vec(),
            findings: Vec::new(),
            roles: Vec::new(),
            controllers: Vec::new(),
            rules: Vec::new(),
            topology: Vec::new(),
            comparison: None,
            summary: Summary::nothing(entries.len()),
        }
    }

    /// Identity of the cluster of a report; for the remainder of an earlier report, with the findings that are known.
    pub(super) fn identity(&self) -> ReportIdentity<'_> {
        let mut places: Vec<(&str, Vec<&str>)> = Vec::new();
        for account in &self.accounts {
            let mut regions: Vec<&str> = account.regions.iter().map(String::as_str).collect();
            regions.sort_unstable();
            places.push((&account.account_id, regions));
        }
        places.sort_unstable();
        let known = self.comparison.iter().filter(|_| self.is_left_over());
        let known = known.flat_map(|comparison| comparison.unknown.iter().chain(&comparison.resolved));
        let known = known.map(|gone| gone.finding.fingerprint.as_str()).collect();
        (self.provider.name(), &self.cluster_id, places, known)
    }

    /// True if it is the remainder of an earlier report, not an audit.
    #[must_use]
    pub fn is_left_over(&self) -> bool {
        self.rules.is_empty() && self.comparison.is_some()
    }

    /// A report of the same cluster in which nothing was checked. The places of the cluster are kept: only its
    /// instances show if it was deleted.
    pub(super) fn nothing(&self) -> Self {
        Self {
            complete: true,
            nothing_to_audit: false,
            not_audited: Vec::new(),
            findings: Vec::new(),
            roles: Vec::new(),
            controllers: Vec::new(),
            rules: Vec::new(),
            comparison: None,
            summary: Summary::nothing(0),
            ..self.clone()
        }
    }
}

impl Summary {
    /// Summary of a report without evidence.
    fn nothing(not_audited: usize) -> Self {
        let findings = Severity::WORST_FIRST.map(|severity| (severity.name().to_owned(), 0));
        Self { resources: BTreeMap::new(), nodes: BTreeMap::new(), findings: findings.into(), waived: 0, not_audited }
    }
}
