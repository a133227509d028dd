//! A tried plan, for a terminal and for a comment on a pull request.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::finding::Severity;
use crate::guard::{Choice, Guard, Judged, Told};
use crate::text;

use super::github::{data, level, property};
use super::markdown::{escape_inline, omitted, section};
use super::style::{Painter, TableOptions, fact, paragraph};

/// Addresses of a finding that are shown before the rest is counted.
const SHOWN: usize = 4;

/// Writes a tried plan for a terminal: the verdict comes last.
///
/// # Errors
/// When the writer fails.
pub(crate) fn guard(guard: &Guard, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    let mut page = String::new();
    let clusters: Vec<String> = guard.clusters.iter().map(|id| text::printable(id).into_owned()).collect();
    let shown = if options.verbose { usize::MAX } else { SHOWN };
    fact(&mut page, "clusters", &text::list(&clusters, shown), painter, options);
    fact(&mut page, "account", &read_at(guard), painter, options);
    let version = guard
        .plan_version
        .as_deref()
        .map(|version| format!(", version {}", text::printable(version)))
        .unwrap_or_default();
    if guard.objects.is_empty() || guard.changes > 0 {
        fact(&mut page, "plan", &format!("{}{version}", text::count(guard.changes, "change")), painter, options);
    }
    if !guard.objects.is_empty() {
        fact(&mut page, "objects", &text::printable(&text::list(&guard.objects, 6)), painter, options);
    }
    for finding in &guard.new {
        let word = painter.severity(finding.severity, finding.severity.name());
        block(&mut page, &word, finding, true, painter, options);
    }
    for finding in &guard.worse {
        let word = painter.severity(finding.severity, &format!("{} grows:", finding.severity.name()));
        block(&mut page, &word, finding, true, painter, options);
    }
    for finding in &guard.waived {
        block(&mut page, &painter.dim("waived"), finding, true, painter, options);
    }
    for finding in &guard.resolved {
        block(&mut page, &painter.good("resolved"), finding, false, painter, options);
    }
    if !guard.choices.is_empty() {
        let _ = writeln!(page, "\n{}", painter.bold("load balancers"));
    }
    for choice in &guard.choices {
        paragraph(&mut page, "", &described(choice, shown), painter, options);
    }
    list(&mut page, "undecided", &guard.undecided, painter, options);
    list(&mut page, "later", &guard.later, painter, options);
    if !guard.not_audited.is_empty() {
        let _ = writeln!(page, "\n{}", painter.bold("not audited"));
    }
    for what in &guard.not_audited {
        paragraph(&mut page, "", what, painter, options);
    }
    let paint: fn(Painter, &str) -> String = if guard.at_least(Severity::Error) > 0 {
        Painter::bad
    } else if guard.new.is_empty() && guard.worse.is_empty() && guard.undecided.is_empty() {
        Painter::good
    } else {
        Painter::warn
    };
    let _ = writeln!(page, "\n{}", paint(painter, &verdict(guard)));
    out.write_all(page.as_bytes())?;
    out.flush()
}

/// The verdict in one sentence.
fn verdict(guard: &Guard) -> String {
    let of = |severity: Severity| guard.new.iter().filter(|finding| finding.severity == severity).count();
    let mut parts: Vec<String> = Severity::WORST_FIRST
        .into_iter()
        .filter(|severity| of(*severity) > 0)
        .map(|severity| text::count(of(severity), &format!("new {}", severity.noun())))
        .collect();
    if parts.is_empty() {
        parts.push("no new finding".to_owned());
    }
    let mut add = |number: usize, words: &str| {
        if number > 0 {
            parts.push(format!("{number} {words}"));
        }
    };
    add(guard.worse.len(), "worse than before");
    add(guard.waived.len(), "waived");
    add(guard.resolved.len(), "resolved");
    add(guard.choices.len(), "changed at load balancers");
    add(guard.undecided.len(), "undecided");
    add(guard.later.len(), "for later instances");
    add(guard.not_audited.len(), "not audited");
    parts.join(", ")
}

/// The age of the evidence.
fn read_at(guard: &Guard) -> String {
    match &guard.collected_at {
        Some(time) => format!("read at {}", text::printable(time)),
        None => "read at a time that the inventory does not state".to_owned(),
    }
}

/// A changed decision in one sentence.
fn described(choice: &Choice, most: usize) -> String {
    let object = &choice.object;
    let part = |word: &str, ids: &[String]| {
        if ids.is_empty() { String::new() } else { format!(" {word} {}", text::list(ids, most)) }
    };
    let (lost, gained) = (part("loses", &choice.lost), part("gains", &choice.gained));
    let and = if lost.is_empty() || gained.is_empty() { "" } else { " and" };
    format!(
        "{} {}/{} of cluster {}: {} ({}){lost}{and}{gained}",
        object.kind,
        object.namespace,
        object.name,
        choice.cluster,
        choice.what.describe(),
        choice.controller.describe()
    )
}

fn block(page: &mut String, word: &str, finding: &Judged, is_new: bool, painter: Painter, options: &TableOptions) {
    let place = format!("{} {}", finding.resource.kind.name(), text::printable(&finding.resource.id));
    let _ = writeln!(page, "\n{word} {} {}", painter.bold(finding.rule), painter.dim(&place));
    paragraph(page, "", &finding.message, painter, options);
    let by = text::list(&finding.addresses, if options.verbose { usize::MAX } else { SHOWN });
    paragraph(page, "by", &by, painter, options);
    paragraph(page, "cluster", &finding.cluster, painter, options);
    if is_new {
        paragraph(page, "impact", &finding.impact, painter, options);
        paragraph(page, "fix", &finding.fix, painter, options);
    }
    if let Some(waiver) = &finding.waiver {
        paragraph(page, "waiver", &waiver.describe(), painter, options);
    }
}

fn list(page: &mut String, title: &str, told: &[Told], painter: Painter, options: &TableOptions) {
    if told.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{}", painter.bold(title));
    for one in told {
        paragraph(page, "", &format!("{}: {}", one.address, one.why), painter, options);
    }
}

/// Writes a tried plan as a comment for a pull request: what does not fit is counted.
///
/// # Errors
/// When the writer fails.
pub(crate) fn guard_markdown(guard: &Guard, out: &mut dyn Write) -> io::Result<()> {
    let mut page = format!("## tagaudit guard: {}\n\n", escape_inline(&verdict(guard)));
    let clusters: Vec<String> = guard.clusters.iter().map(|id| escape_inline(id)).collect();
    let _ = writeln!(page, "Clusters {}; account {}.", text::list(&clusters, 8), escape_inline(&read_at(guard)));
    let row = |finding: &Judged, word: &str| {
        let addresses: Vec<String> = finding.addresses.iter().map(|address| escape_inline(address)).collect();
        format!(
            "| {word} | {} | {} | {} | {} | {} |\n",
            escape_inline(finding.rule),
            escape_inline(&finding.cluster),
            escape_inline(&finding.resource.id),
            text::list(&addresses, SHOWN),
            escape_inline(&finding.message)
        )
    };
    let head = "\n| | rule | cluster | resource | change | what |\n|---|---|---|---|---|---|\n";
    let mut rows: Vec<String> = guard.new.iter().map(|finding| row(finding, finding.severity.name())).collect();
    rows.extend(guard.worse.iter().map(|finding| row(finding, &format!("{} grows", finding.severity.name()))));
    rows.extend(guard.waived.iter().map(|finding| row(finding, "waived")));
    rows.extend(guard.resolved.iter().map(|finding| row(finding, "resolved")));
    let mut left = section(&mut page, head, rows);
    let changed: Vec<String> =
        guard.choices.iter().map(|choice| format!("- {}\n", escape_inline(&described(choice, SHOWN)))).collect();
    left += section(&mut page, "\n### Load balancers\n\n", changed);
    for (title, told) in [("Undecided", &guard.undecided), ("Instances that are launched later", &guard.later)] {
        let items: Vec<String> = told
            .iter()
            .map(|one| format!("- {}: {}\n", escape_inline(&one.address), escape_inline(&one.why)))
            .collect();
        left += section(&mut page, &format!("\n### {title}\n\n"), items);
    }
    let items: Vec<String> = guard.not_audited.iter().map(|what| format!("- {}\n", escape_inline(what))).collect();
    left += section(&mut page, "\n### Not audited\n\n", items);
    omitted(&mut page, left);
    out.write_all(page.as_bytes())?;
    out.flush()
}

/// Writes a tried plan as workflow commands of GitHub Actions: an annotation for each new or worse finding. A plan has no
/// files and lines: the title has the address. Source: GitHub Docs, "Workflow commands for GitHub Actions", *Setting an
/// error message*; actions/toolkit `packages/core/src/command.ts#escapeData`, `#escapeProperty`.
///
/// # Errors
/// When the writer fails.
pub(crate) fn guard_annotations(guard: &Guard, out: &mut dyn Write) -> io::Result<()> {
    for finding in guard.new.iter().chain(&guard.worse) {
        let level = level(finding.severity);
        let title = format!("{}: {}", finding.rule, text::list(&finding.addresses, SHOWN));
        let lines = [
            data(&finding.message),
            data(&format!("cluster: {}", finding.cluster)),
            data(&format!("fix: {}", finding.fix)),
        ];
        writeln!(out, "::{level} title={}::{}", property(&title), lines.join("%0A"))?;
    }
    for told in &guard.undecided {
        writeln!(out, "::warning title={}::{}", property(&format!("undecided: {}", told.address)), data(&told.why))?;
    }
    for what in &guard.not_audited {
        writeln!(out, "::warning title=not audited::{}", data(what))?;
    }
    writeln!(out, "::notice title=tagaudit guard::{}", data(&verdict(guard)))?;
    out.flush()
}
