//! The report as a table for spreadsheets: a row for each finding, each rule and everything that was not audited, so
//! that the totals of the report are those of the file, and one for each finding of an earlier report that this one
//! does not have.

use std::io::{self, Write};

use crate::finding::{Status, Waiver};
use crate::report::{ReportView, ResourceRef};
use crate::rules::Outcome;
use crate::text;

/// The columns, in order.
const COLUMNS: [&str; 20] = [
    "record",
    "rule",
    "outcome",
    "severity",
    "confidence",
    "account_id",
    "region",
    "kind",
    "resource",
    "place",
    "name",
    "related",
    "message",
    "impact",
    "fix",
    "caveats",
    "fingerprint",
    "status",
    "why",
    "cluster_id",
];

/// Writes a report as CSV (RFC 4180); values that a spreadsheet would interpret as a formula become text.
///
/// # Errors
/// When the writer fails.
pub(crate) fn csv(report: &ReportView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    rows.write_record(COLUMNS)?;
    let gone = report.changes.iter().flat_map(|changes| changes.resolved.iter().chain(&changes.unknown));
    let gone = gone.map(|gone| (gone.found.status.name(), &gone.found, gone.why.unwrap_or_default().to_owned()));
    let cluster = report.cluster_id.unwrap_or_default();
    let found = report
        .findings
        .iter()
        .map(|finding| ("finding", finding, finding.waiver.as_ref().map(Waiver::describe).unwrap_or_default()));
    for (record, finding, why) in found.chain(gone) {
        let ResourceRef { kind, id, name, region, account_id, .. } = &finding.resource;
        let related: Vec<&str> = finding.related.iter().map(|related| related.id.as_str()).collect();
        let caveats: Vec<&str> = finding.caveats.iter().map(|caveat| caveat.message.as_str()).collect();
        let fix = format!("{} [{}]", finding.fix.described(), finding.fix.applicability.name());
        let place = if finding.locations.is_empty() { String::new() } else { finding.place() };
        rows.write_record(row(&[
            record,
            &finding.rule,
            match finding.status {
                Status::New | Status::Unchanged => Outcome::Failed.name(),
                Status::Resolved => Outcome::Passed.name(),
                Status::Unknown => Outcome::NotAudited.name(),
                Status::Waived => Status::Waived.name(),
            },
            finding.severity.name(),
            finding.confidence.name(),
            account_id.as_deref().unwrap_or_default(),
            region.as_deref().unwrap_or_default(),
            kind.name(),
            id,
            &place,
            name.as_deref().unwrap_or_default(),
            &related.join(" "),
            &finding.message,
            &finding.impact,
            &fix,
            &caveats.join("; "),
            &finding.fingerprint,
            finding.status.name(),
            &why,
            finding.cluster_id.unwrap_or(cluster),
        ]))?;
    }
    let unread = report.not_audited.iter().map(|entry| ("not_audited", entry));
    for (record, entry) in unread.chain(report.nothing.iter().map(|entry| ("nothing_to_audit", entry))) {
        rows.write_record(row(&[
            record,
            &entry.rules.join(" "),
            record,
            "",
            "",
            entry.account_id.as_deref().unwrap_or_default(),
            entry.region.as_deref().unwrap_or_default(),
            "",
            entry.resource.as_deref().unwrap_or_default(),
            "",
            "",
            "",
            &format!("{}: {}: {}", entry.what, entry.reason, entry.message),
            "",
            "",
            "",
            "",
            "",
            "",
            cluster,
        ]))?;
    }
    for rule in report.rules.iter() {
        let checked = text::count(rule.checked, "resource");
        let message = match &rule.why {
            Some(why) => format!("checked on {checked}: {why}"),
            None => format!("checked on {checked}"),
        };
        let outcome = rule.outcome.name();
        rows.write_record(row(&[
            "rule", &rule.rule, outcome, "", "", "", "", "", "", "", "", "", &message, "", "", "", "", "", "", cluster,
        ]))?;
    }
    rows.flush()
}

/// Fields without hidden characters, and without anything that a spreadsheet computes.
/// Source: OWASP, "CSV Injection".
fn row(fields: &[&str; COLUMNS.len()]) -> [String; COLUMNS.len()] {
    fields.map(|field| {
        let shown = text::printable(field);
        let is_formula =
            shown.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
        if is_formula { format!("'{shown}") } else { shown.into_owned() }
    })
}
