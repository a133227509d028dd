//! Migration progress of a cluster towards the external cloud controller, for display.

use std::io::{self, Write};

use anstyle::AnsiColor;

use crate::kubernetes::ListGap;
use crate::migration::{Check, Migration, State, Step};
use crate::text;

use super::style::{Painter, TableOptions};

/// Writes the migration progress of a cluster for display.
///
/// # Errors
/// When the writer fails.
pub fn migration(migration: &Migration, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    match migration.stage {
        Ok(stage) => {
            let told = stage.told();
            let color = if stage.is_wrong() { AnsiColor::Red } else { AnsiColor::Cyan };
            let title = painter(options).paint(color.on_default().bold(), &format!("{} · {}", told.id, told.title));
            writeln!(out, "{title}")?;
            paragraph(told.meaning, "  ", "  ", options, out)?;
        }
        Err(why) => {
            writeln!(
                out,
                "{}",
                painter(options).paint(AnsiColor::Yellow.on_default().bold(), "cannot determine the migration stage")
            )?;
            paragraph(why, "  ", "  ", options, out)?;
        }
    }
    heading("Seen", options, out)?;
    for signal in &migration.signals {
        paragraph(signal, "  ", "    ", options, out)?;
    }
    if !migration.gaps.is_empty() {
        heading("Not read", options, out)?;
        for group in ListGap::grouped(&migration.gaps) {
            let names: Vec<&str> = group.iter().map(|gap| gap.list.resource()).collect();
            let why = ListGap::why(&group);
            paragraph(&format!("{}: {why}", text::list(&names, 3)), "  ", "    ", options, out)?;
        }
    }
    if !migration.next.is_empty() {
        heading("Next", options, out)?;
        for (index, step) in migration.next.iter().enumerate() {
            show_step(index + 1, step, options, out)?;
        }
    }
    if !migration.not_yet.is_empty() {
        heading("Not yet", options, out)?;
        for text in &migration.not_yet {
            paragraph(text, "  do not ", "    ", options, out)?;
        }
    }
    if !migration.checks.is_empty() {
        heading("Checks", options, out)?;
        let mut told: &[String] = &[];
        for check in &migration.checks {
            // A reason that several checks share is printed once.
            let why = if check.why.as_slice() == told { &[] } else { check.why.as_slice() };
            show_check(check, why, options, out)?;
            told = &check.why;
        }
    }
    Ok(())
}

fn painter(options: &TableOptions) -> Painter {
    Painter { color: options.color }
}

fn heading(title: &str, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", painter(options).bold(title))
}

fn paragraph(text: &str, first: &str, rest: &str, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    for line in text::wrap(&text::printable(text), options.width.min(120), first, rest) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn show_step(number: usize, step: &Step, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    paragraph(&step.title, &format!("  {number}. "), "     ", options, out)?;
    if let Some(about) = &step.about {
        paragraph(about, "     ", "     ", options, out)?;
    }
    for snippet in &step.snippets {
        paragraph(&format!("{}:", snippet.place), "     > ", "       ", options, out)?;
        // Text to copy keeps its lines, whatever the width.
        for line in snippet.text.lines() {
            writeln!(out, "         {}", text::printable(line))?;
        }
    }
    Ok(())
}

fn show_check(check: &Check, why: &[String], options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let color = match check.state {
        State::Passed => AnsiColor::Green,
        State::Failed => AnsiColor::Red,
        State::NotAudited => AnsiColor::Yellow,
        State::ByHand => AnsiColor::Cyan,
    };
    let state = format!("{:<11}", check.state.words());
    writeln!(out, "  {}  {} {}", check.id, painter(options).paint(color.on_default(), &state), check.title)?;
    for why in why {
        paragraph(why, "                   ", "                   ", options, out)?;
    }
    Ok(())
}
