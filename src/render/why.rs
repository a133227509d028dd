//! Answers to pasted lines for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::Value;

use crate::rules;
use crate::rules::Outcome;
use crate::text;
use crate::why::{CheckedRule, LineAnswer, Why};

use super::style::{Painter, TableOptions, paragraph};

/// Writes the answers.
///
/// # Errors
/// When the writer fails.
pub(crate) fn why(answers: &Why, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    let mut page = String::new();
    let (known, unknown): (Vec<&LineAnswer>, Vec<&LineAnswer>) = answers.lines.iter().partition(|line| line.known);
    for line in &known {
        block(&mut page, (line, answers.cluster_id.as_deref()), painter, options);
    }
    if !unknown.is_empty() {
        let noun = if known.is_empty() { "message" } else { "further message" };
        let messages = text::count(unknown.len(), noun);
        let verb = if unknown.len() == 1 { "is" } else { "are" };
        let _ = writeln!(
            page,
            "{messages} {verb} not known: no controller that tagaudit covers writes that, or too little is left"
        );
    }
    if answers.lines.is_empty() {
        let _ = writeln!(page, "the input is empty");
    }
    if answers.not_read > 0 {
        let _ = writeln!(page, "{} were not read: give fewer lines", text::count(answers.not_read, "message"));
    }
    out.write_all(page.as_bytes())?;
    out.flush()
}

fn block(page: &mut String, (line, cluster_id): (&LineAnswer, Option<&str>), painter: Painter, options: &TableOptions) {
    let word = if line.is_defect == Some(false) { painter.good("harmless") } else { painter.bad("defect") };
    let place = if line.line == line.last_line {
        format!("line {}", line.line)
    } else {
        format!("lines {} to {}", line.line, line.last_line)
    };
    let times = if line.times > 1 { format!(", {} times", line.times) } else { String::new() };
    let by = match (line.component, line.versions) {
        (Some(component), Some("all")) => format!("  {component}"),
        (Some(component), Some(versions)) => format!("  {component}, {}", span(versions)),
        _ => String::new(),
    };
    let _ = writeln!(page, "{word} {}{times}{}", painter.bold(&place), painter.dim(&by));
    if let Some(meaning) = line.meaning {
        paragraph(page, "what", meaning, painter, options);
    }
    if !line.fields.is_empty() {
        let field = |(name, value): (&&str, &Value)| format!("{} {}", name.replace('_', " "), shown(value));
        let fields: Vec<String> = line.fields.iter().map(field).collect();
        paragraph(page, "found", &fields.join("; "), painter, options);
    }
    for sentence in &line.here {
        paragraph(page, "here", sentence, painter, options);
    }
    if !line.checked.is_empty() {
        checked(page, &line.checked, painter, options);
        let _ = writeln!(page);
        return;
    }
    for (index, rule) in line.rules.iter().enumerate() {
        let title = rules::find(rule).map_or("", |rule| rule.title);
        // Nothing was found yet, so no cause is known.
        let label = if index == 0 { "check" } else { "or" };
        paragraph(page, label, &format!("{title} ({rule})"), painter, options);
    }
    for rule in &line.conditions {
        let title = rules::find(rule).map_or("", |rule| rule.title);
        paragraph(page, "perhaps", &format!("{title} ({rule})"), painter, options);
    }
    if let Some(next) = next(line, cluster_id) {
        paragraph(page, "next", &next, painter, options);
    }
    let _ = writeln!(page);
}

/// Maximum number of findings shown for a rule.
const SHOWN: usize = 3;

/// The causes, as an audit of the cluster found them.
fn checked(page: &mut String, rules: &[CheckedRule], painter: Painter, options: &TableOptions) {
    let mut excluded: Vec<&str> = Vec::new();
    for checked in rules {
        let rule = checked.rule;
        for cause in checked.findings.iter().take(SHOWN) {
            paragraph(page, "cause", &format!("{} ({rule})", cause.message), painter, options);
            paragraph(page, "fix", &cause.fix, painter, options);
            for command in &cause.commands {
                let _ = writeln!(page, "          {}", text::printable(command));
            }
        }
        if checked.findings.len() > SHOWN {
            let more = text::count(checked.findings.len() - SHOWN, "more finding");
            paragraph(page, "", &format!("{more} of {rule}"), painter, options);
        }
        if !checked.findings.is_empty() {
            continue;
        }
        let title = rules::find(rule).map_or("", |rule| rule.title);
        if checked.on_workers > 0 {
            let others = text::count(checked.on_workers, "finding");
            let body = format!("{title} ({rule}): {others} on workers: a cause only if the controller runs there");
            paragraph(page, "or", &body, painter, options);
            continue;
        }
        if checked.overruled > 0 {
            let others = text::count(checked.overruled, "finding");
            let body = format!(
                "{title} ({rule}): {others}, without this effect today: the condition of the message is not met"
            );
            paragraph(page, "or", &body, painter, options);
            continue;
        }
        match (checked.outcome, checked.elsewhere) {
            (Outcome::NotAudited | Outcome::NotApplicable, 0) => {
                let reason = checked.reason.as_deref().unwrap_or("its evidence was not read");
                let outcome = checked.outcome.words();
                paragraph(page, "or", &format!("{title} ({rule}): {outcome}: {reason}"), painter, options);
            }
            (_, 0) => excluded.push(rule),
            (_, others) => {
                let others = text::count(others, "finding");
                let body = format!("{title} ({rule}): {others}, but not about what the line names");
                paragraph(page, "or", &body, painter, options);
            }
        }
    }
    if !excluded.is_empty() {
        let names = excluded.join(", ");
        paragraph(page, "passed", &format!("checked, without a finding: {names}"), painter, options);
    }
}

/// The command that finds which of the causes it is.
fn next(line: &LineAnswer, cluster_id: Option<&str>) -> Option<String> {
    let mut wanted = line.rules.iter().chain(&line.conditions).peekable();
    wanted.peek()?;
    let rules: Vec<String> = wanted.map(|rule| format!("--rule {rule}")).collect();
    let id = cluster_id.map_or(Cow::Borrowed("ID"), text::shell_quote);
    Some(format!("tagaudit scan --cluster-id {} {}", text::printable(&id), rules.join(" ")))
}

/// "1.20 to 1.36", "up to 1.33".
fn span(versions: &str) -> String {
    match versions.split_once("..") {
        Some(("", last)) => format!("up to {last}"),
        Some((first, last)) => format!("{first} to {last}"),
        None => versions.to_owned(),
    }
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<String>>().join(", "),
        Value::Bool(true) => "yes".to_owned(),
        other => other.to_string(),
    };
    text::printable(&text).into_owned()
}
