//! Findings on files, for display: each with the lines of the source and the place marked.

use std::io::{self, Write};
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::finding::{Finding, Severity, Status, Waiver};
use crate::kubernetes::Place;
use crate::kubernetes_lint::KubernetesLint;
use crate::rules::Outcome;
use crate::text;
use crate::text::secrets::masked;

use super::style::TableOptions;

/// Writes findings on files for display.
///
/// # Errors
/// When the writer fails.
pub(crate) fn kubernetes_lint(lint: &KubernetesLint, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let renderer = if options.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(options.width);
    for finding in lint.open() {
        writeln!(out, "{}\n", shown(lint, finding, &renderer))?;
    }
    let count = |severity: Severity| lint.open().filter(|finding| finding.severity == severity).count();
    let counts = Severity::WORST_FIRST.map(|severity| text::count(count(severity), severity.noun()));
    let checked = lint.rules.iter().filter(|rule| rule.outcome != Outcome::NotApplicable).count();
    let files = text::count(lint.files.len(), "file");
    writeln!(out, "{} in {files}: {} had something to check", counts.join(", "), text::count(checked, "rule"))?;
    let waived: Vec<&Finding> = lint.findings.iter().filter(|finding| finding.status == Status::Waived).collect();
    if options.verbose {
        for finding in waived {
            let why = finding.waiver.as_ref().map(Waiver::describe).unwrap_or_default();
            let (message, why) = (text::printable(&finding.message), text::printable(&why));
            writeln!(out, "waived: {}: {message} ({why})", finding.rule)?;
        }
    } else if !waived.is_empty() {
        writeln!(out, "{} waived (-v lists them)", waived.len())?;
    }
    if options.verbose {
        for file in &lint.without {
            writeln!(out, "nothing to check in {}", text::printable(file))?;
        }
    } else if !lint.without.is_empty() {
        writeln!(out, "nothing to check in {} (-v lists them)", text::count(lint.without.len(), "other file"))?;
    }
    if !lint.skipped.is_empty() {
        writeln!(out, "\nNot checked: {}", lint.skipped.len())?;
        for what in &lint.skipped {
            writeln!(out, "  {}", text::printable(what))?;
        }
    }
    Ok(())
}

fn shown(lint: &KubernetesLint, finding: &Finding, renderer: &Renderer) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::NOTE,
    };
    let message = text::printable(&finding.message);
    let place = finding.locations.first();
    let excerpt = place.and_then(|place| lint.texts.get(&place.file)?.excerpt(place));
    let (marked, skipped) = excerpt.map_or((None, 0), |(part, skipped)| (Some(part), skipped));
    // The length stays the same, so that places stay correct.
    let marked = marked.map(text::same_length_printable);
    let marked = marked.as_deref().map(masked);
    let name = place.map(|place| text::printable(&place.file).into_owned());
    let mut group = level.primary_title(message.as_ref()).id(finding.rule).elements(
        marked.as_deref().zip(place).zip(name.as_deref()).map(|((source, place), name)| {
            let span = span(source, place, skipped);
            Snippet::source(source).line_start(place.line).path(name).annotation(AnnotationKind::Primary.span(span))
        }),
    );
    // The file is shown above, and a resource that the message names is not repeated.
    let named: Vec<&str> = std::iter::once(&finding.resource)
        .chain(&finding.related)
        .map(|one| one.id.as_str())
        .filter(|id| place.is_none_or(|place| &*place.file != *id) && !finding.message.contains(id))
        .collect();
    let named = (!named.is_empty()).then(|| format!("in {}", text::list(&named, 3)));
    if let Some(named) = &named {
        group = group.element(Level::NOTE.message(named.as_str()));
    }
    let others = finding.locations.iter().skip(1);
    let others: Vec<String> =
        others.map(|place| format!("{}:{}:{}", text::printable(&place.file), place.line, place.column)).collect();
    let others = (!others.is_empty()).then(|| format!("also at {}", text::list(&others, 3)));
    if let Some(others) = &others {
        group = group.element(Level::NOTE.message(others.as_str()));
    }
    let (impact, advice) = (finding.impact.clone(), finding.advice());
    let (impact, advice) = (text::printable(&impact), text::printable(&advice));
    group = group.element(Level::NOTE.message(impact.as_ref())).element(Level::HELP.message(advice.as_ref()));
    renderer.render(&[group])
}

/// Bytes of a place in its line, less the characters skipped at the start; for a place over several lines, those of the
/// first.
fn span(source: &str, place: &Place, skipped: usize) -> Range<usize> {
    let offset = |column: usize| {
        source.char_indices().nth(column.saturating_sub(skipped + 1)).map_or(source.len(), |(at, _)| at)
    };
    let start = offset(place.column);
    let end = if place.end_line == place.line { offset(place.end_column) } else { source.len() };
    start..end.max(start)
}
