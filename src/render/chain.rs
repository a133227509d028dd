//! The chain of an object for a terminal: a block for each link, the verdict last.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::chain::{Chain, Link, LinkName, State};
use crate::report::Cause;
use crate::text;

use super::style::{Painter, TableOptions, fact, paragraph};

/// Commands of a finding that are shown before the rest is counted.
const COMMANDS: usize = 3;

/// Writes a chain.
///
/// # Errors
/// When the writer fails.
pub(crate) fn chain(chain: &Chain, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    let mut page = String::new();
    let object = &chain.object;
    let namespace = if object.namespace.is_empty() { String::new() } else { format!("{}/", object.namespace) };
    let name = format!("{} {namespace}{}", object.kind, object.name);
    fact(&mut page, "object", &text::printable(&name), painter, options);
    fact(&mut page, "cluster", &text::printable(&chain.cluster_id), painter, options);
    let mut shown = BTreeMap::new();
    for link in &chain.links {
        block(&mut page, link, &shown, painter, options);
        for cause in &link.findings {
            shown.entry(cause.fingerprint.as_str()).or_insert(link.name);
        }
    }
    let _ = writeln!(page, "\n{}", verdict(chain, painter));
    out.write_all(page.as_bytes())?;
    out.flush()
}

fn verdict(chain: &Chain, painter: Painter) -> String {
    let verdict = chain.verdict();
    match chain.first_broken {
        Some(_) => painter.bad(&verdict),
        None if chain.is_complete() => painter.good(&verdict),
        None => painter.warn(&verdict),
    }
}

/// `shown`: findings of links before this one.
fn block(page: &mut String, link: &Link, shown: &BTreeMap<&str, LinkName>, painter: Painter, options: &TableOptions) {
    let paint: fn(Painter, &str) -> String = match link.state {
        State::Ok => Painter::good,
        State::Degraded | State::NotAudited => Painter::warn,
        State::Broken => Painter::bad,
        State::NotReached => Painter::dim,
    };
    let word = format!("{:<11}", link.state.describe());
    let _ = writeln!(page, "\n{} {}", paint(painter, &word), painter.bold(link.name.describe()));
    for fact in &link.facts {
        paragraph(page, "", fact, painter, options);
    }
    for reason in &link.not_audited {
        paragraph(page, "unknown", reason, painter, options);
    }
    for cause in &link.findings {
        match shown.get(cause.fingerprint.as_str()) {
            Some(before) => {
                let there = format!("{}: see {}", cause.rule, before.describe());
                paragraph(page, cause.severity.noun(), &there, painter, options);
            }
            None => finding(page, cause, painter, options),
        }
    }
    if options.verbose {
        for source in &link.sources {
            paragraph(page, "source", source, painter, options);
        }
    }
}

fn finding(page: &mut String, cause: &Cause, painter: Painter, options: &TableOptions) {
    paragraph(
        page,
        cause.severity.noun(),
        &format!("{}: {}", cause.rule, cause.message_with_others()),
        painter,
        options,
    );
    paragraph(page, "fix", &cause.fix, painter, options);
    let shown = if options.verbose { cause.commands.len() } else { COMMANDS };
    for command in cause.commands.iter().take(shown) {
        let _ = writeln!(page, "          {}", text::printable(command));
    }
    if cause.commands.len() > shown {
        let more = text::count(cause.commands.len() - shown, "further line");
        paragraph(page, "", &format!("{more}: --verbose shows all"), painter, options);
    }
}
