//! Converts an audit to the report that is written.

use std::collections::BTreeMap;

use crate::audit::{self, Audit};
use crate::finding::Severity;
use crate::topology;

use super::{Finding, NotAudited, Report, RuleOutcome, SCHEMA, Summary, Tool};

impl Report {
    /// Creates the report of an audit.
    #[must_use]
    pub fn new(audit: &Audit) -> Self {
        let mut findings: BTreeMap<String, usize> = BTreeMap::new();
        for severity in Severity::WORST_FIRST {
            let number = audit.open().filter(|finding| finding.severity == severity).count();
            findings.insert(severity.name().to_owned(), number);
        }
        let mut topology = audit.topology.clone();
        topology::mark(&mut topology, audit.open());
        Self {
            schema: SCHEMA.to_owned(),
            tool: Tool::this(),
            provider: audit.provider,
            cluster_id: audit.cluster_id.clone(),
            accounts: audit.accounts.clone(),
            source: audit.source.clone(),
            options: Vec::new(),
            configuration: audit.configuration.clone(),
            complete: audit.is_complete(),
            nothing_to_audit: audit.nothing_to_audit,
            not_audited: audit.not_audited.iter().map(NotAudited::from).collect(),
            findings: audit.findings.iter().map(Finding::from).collect(),
            roles: audit.roles.clone(),
            controllers: audit.controllers.clone(),
            rules: audit.rules.iter().map(RuleOutcome::from).collect(),
            topology,
            comparison: None,
            summary: Summary {
                resources: audit.resources.iter().map(|(kind, number)| (kind.name().to_owned(), *number)).collect(),
                nodes: audit.nodes.clone(),
                findings,
                waived: audit.findings.len() - audit.open().count(),
                not_audited: audit.not_audited.len(),
            },
        }
    }
}

impl From<&audit::NotAudited> for NotAudited {
    fn from(entry: &audit::NotAudited) -> Self {
        Self {
            what: entry.what.to_owned(),
            resource: entry.resource.clone(),
            account_id: entry.account_id.clone(),
            region: entry.region.clone(),
            reason: entry.reason.clone(),
            message: entry.message.clone(),
            rules: entry.rules.iter().map(|rule| (*rule).to_owned()).collect(),
        }
    }
}
