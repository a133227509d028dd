//! Remarks on policies, for display: each with the line of the source and the place marked.

use std::io::{self, Write};

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::policy::lint::{CHECKS, LintLevel};
use crate::policy_lint::PolicyLint;
use crate::text;

use super::style::TableOptions;

/// Writes remarks on policies for display.
///
/// # Errors
/// When the writer fails.
pub(crate) fn lint(outcome: &PolicyLint, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let renderer = if options.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(options.width);
    let linted = &outcome.policies;
    for one in linted {
        let name = one.name();
        let name = text::printable(&name);
        let source = text::same_length_printable(&one.text);
        for finding in &one.findings {
            let level = match finding.level {
                LintLevel::Error => Level::ERROR,
                LintLevel::Warning => Level::WARNING,
                LintLevel::Suggestion => Level::NOTE.with_name("suggestion"),
            };
            let message = text::printable(&finding.message);
            let snippet = Snippet::source(source.as_ref())
                .path(name.as_ref())
                .annotation(AnnotationKind::Primary.span(finding.span.range()));
            let mut group = level.primary_title(message.as_ref()).id(finding.check).element(snippet);
            let help = finding.help.as_deref().map(text::printable);
            if let Some(help) = &help {
                group = group.element(Level::HELP.message(help.as_ref()));
            }
            writeln!(out, "{}\n", renderer.render(&[group]))?;
        }
    }
    let count =
        |level: LintLevel| linted.iter().flat_map(|one| &one.findings).filter(|finding| finding.level == level).count();
    let described = [LintLevel::Error, LintLevel::Warning, LintLevel::Suggestion]
        .map(|level| text::count(count(level), level.name()));
    if !linted.is_empty() {
        let documents = text::count(linted.len(), "policy document");
        writeln!(out, "{} in {documents}: {} checks", described.join(", "), CHECKS.len())?;
    }
    for file in &outcome.without_policies {
        writeln!(out, "no policies found in {}", text::printable(file))?;
    }
    if !outcome.skipped.is_empty() {
        writeln!(out, "\nNot checked, or only in part: {}", outcome.skipped.len())?;
        for what in &outcome.skipped {
            writeln!(out, "  {}", text::printable(what))?;
        }
    }
    Ok(())
}
