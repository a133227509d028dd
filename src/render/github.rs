//! Findings as workflow commands of GitHub Actions, which become annotations.
//! Source: GitHub Docs, "Workflow commands for GitHub Actions", *Setting an error message*; actions/toolkit
//! `packages/core/src/command.ts#escapeData`, `#escapeProperty`.

use std::io::{self, Write};

use crate::finding::Severity;
use crate::report::{Found, ReportView};
use crate::text;

use super::words::{Language, verdict_words};

/// Writes an annotation for each finding, at its place in a file if it has one, worst first: GitHub shows ten of each
/// level for a step, and the log has all.
///
/// # Errors
/// When the writer fails.
pub(crate) fn github(report: &ReportView<'_>, out: &mut dyn Write) -> io::Result<()> {
    for severity in Severity::WORST_FIRST {
        for finding in report.open().filter(|finding| finding.severity == severity) {
            annotation(finding, out)?;
        }
    }
    for entry in report.not_audited.iter() {
        let place = [&entry.account_id, &entry.region, &entry.resource].into_iter().flatten();
        let mut parts: Vec<&str> = vec![&entry.what];
        parts.extend(place.map(String::as_str));
        let why = format!("{}: {}", entry.reason, entry.message);
        writeln!(out, "::warning title={}::{}", property(&format!("not audited: {}", parts.join(" "))), data(&why))?;
    }
    let mut verdict: Vec<String> =
        report.verdict().into_iter().map(|part| verdict_words(part, Language::English)).collect();
    verdict.extend(report.changes.as_ref().map(|changes| changes.description.clone()));
    let title = format!("tagaudit: {}", report.subject);
    writeln!(out, "::notice title={}::{}", property(&title), data(&verdict.join(", ")))?;
    out.flush()
}

fn annotation(finding: &Found<'_>, out: &mut dyn Write) -> io::Result<()> {
    let at = finding.locations.first().map(|location| {
        format!(
            "file={},line={},endLine={},col={},",
            property(&location.file),
            location.line,
            location.end_line.max(location.line),
            location.column
        )
    });
    let more = if finding.more() > 0 { format!(" and {} more", finding.more()) } else { String::new() };
    let title = match finding.cluster_id {
        Some(cluster_id) => format!("{}: {cluster_id}: {}{more}", finding.rule, finding.resource.id),
        None => format!("{}: {}{more}", finding.rule, finding.resource.id),
    };
    let lines =
        [finding.message.clone(), format!("impact: {}", finding.impact), format!("fix: {}", finding.fix.described())];
    let lines: Vec<String> = lines.iter().map(|line| data(line)).collect();
    let (level, at) = (level(finding.severity), at.unwrap_or_default());
    writeln!(out, "::{level} {at}title={}::{}", property(&title), lines.join("%0A"))
}

/// Level of an annotation.
pub(super) fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    }
}

/// The text of a workflow command.
pub(super) fn data(text: &str) -> String {
    text::printable(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
pub(super) fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};

    #[test]
    fn a_name_cannot_end_a_workflow_command() {
        assert_eq!(data("100%0A"), "100%250A");
        assert!(!data("one\r\n::error::two").contains(['\r', '\n']));
        assert_eq!(property("aws_subnet.a[\"x,y::z\"]"), "aws_subnet.a[\"x%2Cy%3A%3Az\"]");
    }
}
