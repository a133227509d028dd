//! The report for pull requests and step summaries: GitHub Flavored Markdown.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::finding::Severity;
use crate::report::{Found, Gone, ReportSet, ReportView};
use crate::rules::Outcome;
use crate::text;

/// Writes the reports of many targets as Markdown: a row for each cluster, then the parts that concern all.
///
/// # Errors
/// When the writer fails.
pub(crate) fn markdown_set(set: &ReportSet, out: &mut dyn Write) -> io::Result<()> {
    markdown(&ReportView::from(set), out)?;
    let mut page = format!("\nEvidence {}.\n", escape_inline(&set.evidence()));
    let rows = set.worst_first();
    if !rows.is_empty() {
        page.push_str("\n### Clusters\n\n| cluster | account | nodes | errors | warnings | notes | not audited |\n|---|---|---:|---:|---:|---:|---:|\n");
    }
    for (target, report) in rows {
        let found = Severity::WORST_FIRST.map(|severity| report.count_findings(severity).to_string()).join(" | ");
        let (cluster, account) = (escape_inline(&report.cluster_id), escape_inline(&target.describe()));
        let _ =
            writeln!(page, "| {cluster} | {account} | {} | {found} | {} |", report.nodes(), report.not_audited.len());
    }
    let mut others = set.targets.iter().filter(|target| target.reports.is_empty()).peekable();
    if others.peek().is_some() {
        page.push_str("\n### Targets without a cluster\n\n| account | outcome | why |\n|---|---|---|\n");
    }
    for target in others {
        let (account, why) = (escape_inline(&target.describe()), escape_inline(&target.reason()));
        let _ = writeln!(page, "| {account} | {} | {why} |", target.outcome.words());
    }
    out.write_all(page.as_bytes())?;
    out.flush()
}

/// Writes a report as Markdown. Nothing that others wrote becomes a link, a mention, a reference or markup.
///
/// # Errors
/// When the writer fails.
pub(crate) fn markdown(report: &ReportView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = format!("## tagaudit: {}\n\n", escape_inline(&report.subject));
    let verdict: Vec<String> = report.verdict().into_iter().map(|(_, words)| words).collect();
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
    if report.open().next().is_some() {
        page.push_str("\n| severity | rule | resource | what |\n|---|---|---|---|\n");
        for finding in report.open() {
            let more = if finding.more() > 0 { format!(" and {} more", finding.more()) } else { String::new() };
            let _ = writeln!(
                page,
                "| {}{} | {} | {}{more} | {} |",
                finding.severity.name(),
                change(report, finding),
                escape_inline(&finding.rule),
                escape_inline(&finding.full_place()),
                escape_inline(&finding.message)
            );
        }
        for finding in report.open() {
            details(&mut page, finding);
        }
    }
    if report.waived().next().is_some() {
        page.push_str("\n### Waived\n\n| severity | rule | resource | why |\n|---|---|---|---|\n");
        for (finding, waiver) in report.waived() {
            let (rule, id) = (escape_inline(&finding.rule), escape_inline(&finding.full_place()));
            let _ = writeln!(
                page,
                "| {} | {rule} | {id} | {} |",
                finding.severity.name(),
                escape_inline(&waiver.describe())
            );
        }
    }
    let gone = report.changes.as_ref().map(|changes| [("Resolved", &changes.resolved), ("Unknown", &changes.unknown)]);
    for (heading, gone) in gone.into_iter().flatten().filter(|(_, gone)| !gone.is_empty()) {
        let _ = write!(page, "\n### {heading}\n\n| severity | rule | resource | why |\n|---|---|---|---|\n");
        for Gone { found: finding, why } in gone {
            let why = why.unwrap_or("no longer found");
            let (rule, id) = (escape_inline(&finding.rule), escape_inline(&finding.full_place()));
            let _ = writeln!(page, "| {} | {rule} | {id} | {} |", finding.severity.name(), escape_inline(why));
        }
    }
    if report.is_nothing {
        page.push_str("\n> **Nothing to audit.** No cluster was found: check the account, the region and the cluster id. This is not a pass.\n");
    }
    if !report.not_audited.is_empty() {
        page.push_str("\n### Not audited\n\n| what | where | why | rules |\n|---|---|---|---|\n");
        for entry in report.not_audited.iter() {
            let place = [&entry.account_id, &entry.region, &entry.resource].into_iter().flatten();
            let place: Vec<&str> = place.map(String::as_str).collect();
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} |",
                escape_inline(&entry.what),
                escape_inline(&place.join(" ")),
                escape_inline(&format!("{}: {}", entry.reason, entry.message)),
                entry.rules.len()
            );
        }
    }
    out.write_all(page.as_bytes())?;
    out.flush()
}

/// Change of a finding, if reports are compared.
fn change(report: &ReportView<'_>, finding: &Found<'_>) -> String {
    let change = finding.change().filter(|_| report.changes.is_some());
    change.map(|change| format!(", **{change}**")).unwrap_or_default()
}

fn details(page: &mut String, finding: &Found<'_>) {
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
