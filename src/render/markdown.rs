//! The report for pull requests and step summaries: GitHub Flavored Markdown.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::finding::Severity;
use crate::report::{Found, Gone, ReportSet, ReportView};
use crate::rules::Outcome;
use crate::text;

use super::words::{Language, verdict_words};

/// Longest page in bytes without its last line: a comment on GitHub has at most 65,536 characters.
const LONGEST: usize = 59_800;

/// Adds a part as far as it fits; returns the number of entries that did not.
pub(super) fn section(page: &mut String, head: &str, items: impl IntoIterator<Item = String>) -> usize {
    section_within(page, head, items, LONGEST)
}

/// The same with another length of the page. An entry that is too long does not keep those after it out.
fn section_within(page: &mut String, head: &str, items: impl IntoIterator<Item = String>, longest: usize) -> usize {
    let mut items = items.into_iter().peekable();
    if items.peek().is_none() {
        return 0;
    }
    page.push_str(head);
    let mut left = 0;
    for item in items {
        if page.len() + item.len() > longest {
            left += 1;
        } else {
            page.push_str(&item);
        }
    }
    left
}

/// States the number of entries that did not fit.
pub(super) fn omitted(page: &mut String, number: usize) {
    if number > 0 {
        let entries = text::count(number, "entry");
        let _ = writeln!(page, "\n{entries} omitted: a comment has a limit. `--format json` has all.");
    }
}

/// Writes the reports of many targets as Markdown: a row for each cluster, then the parts that concern all.
///
/// # Errors
/// When the writer fails.
pub(crate) fn markdown_set(set: &ReportSet, out: &mut dyn Write) -> io::Result<()> {
    let mut page = String::new();
    // The clusters have their place, however many findings there are.
    let mut left = written(&mut page, &ReportView::from(set), LONGEST * 2 / 3);
    let _ = write!(page, "\nEvidence {}.\n", escape_inline(&set.evidence()));
    let rows = set.worst_first().into_iter().map(|(target, report)| {
        let found = Severity::WORST_FIRST.map(|severity| report.count_findings(severity).to_string()).join(" | ");
        let (cluster, account) = (escape_inline(&report.cluster_id), escape_inline(&target.describe()));
        let nodes = report.nodes();
        format!("| {cluster} | {account} | {nodes} | {found} | {} |\n", report.not_audited.len())
    });
    let head = "\n### Clusters\n\n| cluster | account | nodes | errors | warnings | notes | not audited |\n|---|---|---:|---:|---:|---:|---:|\n";
    left += section(&mut page, head, rows);
    let others = set.targets.iter().filter(|target| target.reports.is_empty()).map(|target| {
        let (account, why) = (escape_inline(&target.describe()), escape_inline(&target.reason()));
        format!("| {account} | {} | {why} |\n", target.outcome.words())
    });
    let head = "\n### Targets without a cluster\n\n| account | outcome | why |\n|---|---|---|\n";
    left += section(&mut page, head, others);
    omitted(&mut page, left);
    out.write_all(page.as_bytes())?;
    out.flush()
}

/// Writes a report as Markdown: what does not fit into a comment is counted. Nothing that others wrote becomes a link, a
/// mention, a reference or markup.
///
/// # Errors
/// When the writer fails.
pub(crate) fn markdown(report: &ReportView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = String::new();
    let left = written(&mut page, report, LONGEST);
    omitted(&mut page, left);
    out.write_all(page.as_bytes())?;
    out.flush()
}

/// Adds a report as far as it fits; returns the number of entries that did not.
fn written(page: &mut String, report: &ReportView<'_>, longest: usize) -> usize {
    let _ = write!(page, "## tagaudit: {}\n\n", escape_inline(&report.subject));
    let verdict: Vec<String> =
        report.verdict().into_iter().map(|part| verdict_words(part, Language::English)).collect();
    let _ = writeln!(
        page,
        "**{}**: {} rules passed, {} failed, {} not applicable, {} not audited.",
        verdict.join(", "),
        report.count_rules(Outcome::Passed),
        report.count_rules(Outcome::Failed),
        report.count_rules(Outcome::NotApplicable),
        report.count_rules(Outcome::NotAudited)
    );
    for configuration in &report.configurations {
        let _ = write!(page, "\nConfiguration: {}\n", escape_inline(configuration));
    }
    if let Some(changes) = &report.changes {
        let _ = write!(page, "\n{}.\n", escape_inline(&changes.description));
    }
    if report.is_nothing {
        page.push_str("\n> **Nothing to audit.** No cluster was found: check the account, the region and the cluster id. This is not a pass.\n");
    }
    let row = |finding: &Found<'_>, severity: &str, what: &str| {
        let (rule, place) = (escape_inline(&finding.rule), escape_inline(&finding.full_place()));
        let more = if finding.more() > 0 { format!(" and {} more", finding.more()) } else { String::new() };
        format!("| {severity} | {rule} | {place}{more} | {} |\n", escape_inline(what))
    };
    let open = report.open().map(|finding| {
        row(finding, &format!("{}{}", finding.severity.name(), change(report, finding)), &finding.message)
    });
    let mut left =
        section_within(page, "\n| severity | rule | resource | what |\n|---|---|---|---|\n", open, longest / 2);
    let unread = report.not_audited.iter().map(|entry| {
        let place = [&entry.account_id, &entry.region, &entry.resource].into_iter().flatten();
        let place: Vec<&str> = place.map(String::as_str).collect();
        format!(
            "| {} | {} | {} | {} |\n",
            escape_inline(&entry.what),
            escape_inline(&place.join(" ")),
            escape_inline(&format!("{}: {}", entry.reason, entry.message)),
            entry.rules.len()
        )
    });
    let head = "\n### Not audited\n\n| what | where | why | rules |\n|---|---|---|---|\n";
    left += section_within(page, head, unread, longest * 3 / 4);
    // Rows count, details that do not fit do not: each belongs to a row.
    let details_left = section_within(page, "", report.open().map(details), longest);
    if details_left > 0 {
        let _ = writeln!(page, "\nThe details of {} are omitted.", text::count(details_left, "finding"));
    }
    let waived = report.waived().map(|(finding, waiver)| row(finding, finding.severity.name(), &waiver.describe()));
    let head = "\n### Waived\n\n| severity | rule | resource | why |\n|---|---|---|---|\n";
    left += section_within(page, head, waived, longest);
    let gone = report.changes.as_ref().map(|changes| [("Resolved", &changes.resolved), ("Unknown", &changes.unknown)]);
    for (heading, gone) in gone.into_iter().flatten() {
        let head = format!("\n### {heading}\n\n| severity | rule | resource | why |\n|---|---|---|---|\n");
        let rows = gone.iter().map(|Gone { found: finding, why }| {
            row(finding, finding.severity.name(), why.unwrap_or("no longer found"))
        });
        left += section_within(page, &head, rows, longest);
    }
    left
}

/// Change of a finding, if reports are compared.
fn change(report: &ReportView<'_>, finding: &Found<'_>) -> String {
    let change = finding.change().filter(|_| report.changes.is_some());
    change.map(|change| format!(", **{change}**")).unwrap_or_default()
}

fn details(finding: &Found<'_>) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "\n<details><summary>{} {}: {}</summary>\n\n- **impact**: {}\n- **fix** ({}): {}\n",
        finding.severity.name(),
        escape_inline(&finding.rule),
        escape_inline(&finding.full_place()),
        escape_inline(&finding.impact),
        finding.fix.applicability.name(),
        escape_inline(&finding.fix.summary)
    );
    for choice in &finding.fix.choices {
        let _ = writeln!(page, "  - {}", escape_inline(&choice.summary));
    }
    for caveat in &finding.caveats {
        let _ = writeln!(page, "- **note**: {}", escape_inline(&caveat.message));
    }
    if let Some(waiver) = &finding.waiver {
        let _ = writeln!(page, "- **waiver**: {}", escape_inline(&waiver.describe()));
    }
    let commands = finding.fix.shown_commands();
    if !commands.is_empty() {
        let body = commands.iter().map(|command| text::printable(command).into_owned()).collect::<Vec<_>>().join("\n");
        // A fence is longer than any run of backticks within.
        let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        let _ = write!(page, "\n{fence}sh\n{body}\n{fence}\n");
    }
    page.push_str("\n</details>\n");
    page
}

/// Escapes text of others: characters of markup become character references, which no renderer reads as markup, and
/// which also keep addresses, mentions and references from becoming links.
///
/// Text between backticks is shown as code.
pub(super) fn escape_inline(text: &str) -> String {
    let shown = text::printable(text);
    let mut parts: Vec<&str> = shown.split('`').collect();
    // An unpaired backtick is a plain backtick.
    let last = if parts.len().is_multiple_of(2) { parts.pop() } else { None };
    let mut safe = String::with_capacity(text.len() + 16);
    for (index, part) in parts.into_iter().enumerate() {
        let is_code = index % 2 == 1;
        if is_code {
            safe.push_str("<code>");
        }
        escape(&mut safe, part);
        if is_code {
            safe.push_str("</code>");
        }
    }
    if let Some(last) = last {
        escape(&mut safe, "`");
        escape(&mut safe, last);
    }
    // GitHub recognises these as addresses without markup.
    safe.replace("://", "&#58;//").replace("www.", "www&#46;")
}

fn escape(safe: &mut String, text: &str) {
    for character in text.chars() {
        if matches!(
            character,
            '&' | '<' | '>' | '"' | '\'' | '`' | '|' | '*' | '_' | '[' | ']' | '~' | '@' | '#' | '\\' | '$' | '!'
        ) {
            let _ = write!(safe, "&#{};", u32::from(character));
        } else {
            safe.push(character);
        }
    }
}
