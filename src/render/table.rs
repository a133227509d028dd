//! The report for a terminal: first the summary, then the findings, the policies, and everything that was not audited.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::finding::{Applicability, Severity};
use crate::report::{Finding, GoneFinding, Report, ReportView, RuleOutcome};
use crate::rules::{self, Outcome};
use crate::text;
use crate::transition::Call;

use super::console::console_link;
use super::roles::roles;
use super::rule_page;
use super::style::{NARROW, Painter, TableOptions, fact, linked, padded, paragraph};
use super::words::{Language, verdict_words};

/// Maximum number of findings of one rule that are shown in full before the rest is folded.
const SHOWN_PER_RULE: usize = 5;

/// Writes a report for a terminal.
///
/// # Errors
/// When the writer fails.
pub fn report(report: &Report, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    let mut page = String::new();
    header(&mut page, report, painter, options);
    for severity in Severity::WORST_FIRST {
        findings(&mut page, report, severity, painter, options);
    }
    roles(&mut page, &report.roles, painter, options);
    gone(&mut page, report, painter, options);
    waived(&mut page, report, painter, options);
    not_audited(&mut page, report, painter, options);
    not_applicable(&mut page, report, painter, options);
    footer(&mut page, report, painter, options);
    out.write_all(page.as_bytes())?;
    out.flush()
}

fn header(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    let language = options.language;
    let mut line = |label: &'static str, value: &str| fact(page, &language.text(label), value, painter, options);
    line("cluster", &painter.bold(&text::printable(&report.cluster_id)));
    for account in &report.accounts {
        let partition = if account.partition == report.provider.name() {
            String::new()
        } else {
            format!(" ({})", text::printable(&account.partition))
        };
        line(
            "account",
            &language.fill(
                "{account}{partition} in {regions}",
                &[
                    ("account", &text::printable(&account.account_id)),
                    ("partition", &partition),
                    ("regions", &text::list(&account.regions, 40)),
                ],
            ),
        );
        if let Some(caller) = report.source.describe_caller(account) {
            line("caller", &text::printable(&caller));
        }
    }
    line("evidence", &text::printable(&report.source.describe()));
    if let Some(configuration) = &report.configuration {
        line("config", &text::printable(&configuration.describe()));
    }
    let nodes: Vec<String> = report.summary.nodes.iter().map(|(roles, number)| format!("{number} {roles}")).collect();
    let guessed = if nodes.iter().any(|node| node.ends_with('?')) {
        language.text(" (? guessed from names)")
    } else {
        Cow::Borrowed("")
    };
    line(
        "nodes",
        &if nodes.is_empty() { language.text("none found").into_owned() } else { nodes.join(", ") + &guessed },
    );
    if let Some(leftovers) = report.describe_leftovers() {
        line("leftover", &leftovers);
    }
    line("rules", &outcomes(report, language));
    let label = painter.dim(&padded(&language.text("result"), 9));
    let _ = writeln!(page, "{label}{}", verdict(report, painter, language));
    if let Some(comparison) = &report.comparison {
        let _ = writeln!(
            page,
            "{}{}",
            painter.dim(&padded(&language.text("changes"), 9)),
            text::printable(&comparison.describe())
        );
    }
    overview(page, report, painter, options);
}

/// Counts of the rules by outcome.
fn outcomes(report: &Report, language: Language) -> String {
    let outcomes = [Outcome::Passed, Outcome::Failed, Outcome::NotApplicable, Outcome::NotAudited];
    let described: Vec<String> = outcomes
        .into_iter()
        .map(|outcome| (report.count_rules(outcome), outcome.words()))
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{number} {}", language.text(words)))
        .collect();
    let described = described.join(language.comma());
    // Half of the rules check evidence that was not given: that is not a fault of the cluster, and easily changed.
    let is_given = report.options.iter().any(|option| option == "--kubernetes");
    let is_waiting = |rule: &&RuleOutcome| {
        rule.outcome == Outcome::NotApplicable && rules::find(&rule.rule).is_some_and(rules::Rule::is_on_evidence)
    };
    match report.rules.iter().filter(is_waiting).count() {
        0 => described,
        _ if is_given => described,
        number => {
            let waiting = language.fill("({number} of them need --kubernetes)", &[("number", &number)]);
            format!("{described} {waiting}")
        }
    }
}

/// Rules that had nothing to check, by reason; with `-v` only.
fn not_applicable(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rule in report.rules.iter().filter(|rule| rule.outcome == Outcome::NotApplicable) {
        by_reason.entry(rule.why.as_deref().unwrap_or_default()).or_default().push(&rule.rule);
    }
    if !options.verbose || by_reason.is_empty() {
        return;
    }
    let _ = writeln!(page, "{}\n", painter.bold(&options.language.text("Not applicable: there is nothing to check")));
    for (reason, rules) in by_reason {
        for part in text::wrap(&text::printable(reason), options.width.saturating_sub(2), "", "") {
            let _ = writeln!(page, "  {part}");
        }
        for part in text::wrap(&rules.join(", "), options.width.saturating_sub(4), "", "") {
            let _ = writeln!(page, "    {}", painter.dim(&part));
        }
    }
    page.push('\n');
}

/// One row per rule, worst first, when there is more than a screenful of findings to read.
fn overview(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    if report.open().count() < 4 {
        return;
    }
    let mut rules: Vec<(&Finding, usize, usize)> = Vec::new();
    for finding in report.open() {
        let resources = 1 + finding.related.iter().filter(|related| related.kind == finding.resource.kind).count();
        match rules.iter_mut().find(|(known, ..)| known.rule == finding.rule && known.severity == finding.severity) {
            Some(row) => {
                row.1 += 1;
                row.2 += resources;
            }
            None => rules.push((finding, 1, resources)),
        }
    }
    page.push('\n');
    for (finding, number, resources) in rules {
        let name = options.language.severity(finding.severity);
        let severity = painter.severity(finding.severity, &padded(&name, 8));
        let what = text::count(resources, finding.resource.kind.noun());
        let times = if number > 1 {
            options.language.fill(" in {number} findings", &[("number", &number)])
        } else {
            String::new()
        };
        if options.width < NARROW {
            let _ = writeln!(page, "{severity} {}\n         {what}{times}", text::printable(&finding.rule));
        } else {
            let _ = writeln!(page, "{severity} {:<36} {what}{times}", text::printable(&finding.rule));
        }
    }
}

fn findings(page: &mut String, report: &Report, severity: Severity, painter: Painter, options: &TableOptions) {
    let mut found: Vec<&Finding> = report.open().filter(|finding| finding.severity == severity).collect();
    if found.is_empty() {
        return;
    }
    let is_compared = report.comparison.is_some();
    if is_compared {
        // New findings of a rule are not folded first.
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, finding) in found.iter().enumerate() {
            places.entry(&finding.rule).or_insert(index);
        }
        found.sort_by_key(|finding| (places.get(finding.rule.as_str()).copied(), !finding.is_new_or_worse()));
    }
    let heading = match severity {
        Severity::Error => options.language.text("Errors: the controllers fail or skip something"),
        Severity::Warning => options.language.text("Warnings: works by chance, or will break"),
        Severity::Info => options.language.text("Notes"),
    };
    let _ = writeln!(page, "\n{}", painter.bold(&heading));
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    let mut folded: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, finding) in found.iter().enumerate() {
        let number = shown.entry(finding.rule.as_str()).or_default();
        *number += 1;
        if options.verbose || *number <= SHOWN_PER_RULE {
            block(page, finding, is_compared, painter, options);
        } else {
            *folded.entry(finding.rule.as_str()).or_default() += 1;
        }
        let last_of_rule = found.get(index + 1).is_none_or(|next| next.rule != finding.rule);
        if let Some(number) = folded.get(finding.rule.as_str()).filter(|_| last_of_rule) {
            let _ = writeln!(
                page,
                "\n  {}",
                painter.dim(&options.language.fill(
                    "and {number} more of {rule}: -v or --format json shows them",
                    &[("number", number), ("rule", &text::printable(&finding.rule))]
                ))
            );
        }
    }
}

/// The code or document that decides a rule.
fn decided_in(rule: &str) -> Option<String> {
    rule_page::sources(rule).iter().find_map(|source| rule_page::link(source))
}

fn block(page: &mut String, finding: &Finding, is_compared: bool, painter: Painter, options: &TableOptions) {
    let language = options.language;
    let same = finding.more();
    let console = console_link(&finding.resource);
    let mut resource = linked(&short_id(&finding.resource.id), console.as_deref(), options);
    let shown = short_id(&finding.resource.id);
    if let Some(name) = finding.resource.name.as_deref().filter(|name| !shown.ends_with(name)) {
        let _ = write!(resource, " ({})", text::printable(name));
    }
    if same > 0 {
        resource.push_str(&language.fill(" and {number} more", &[("number", &same)]));
    }
    let change = finding.change().filter(|_| is_compared).map(|change| format!(" [{}]", language.text(&change)));
    let change = change.unwrap_or_default();
    let _ = writeln!(
        page,
        "\n{}{change} {}  {resource}",
        painter.severity(finding.severity, &language.severity(finding.severity)),
        linked(&painter.bold(&text::printable(&finding.rule)), decided_in(&finding.rule).as_deref(), options)
    );
    let mut paragraph = |label: &'static str, body: &str| {
        let label = if label.is_empty() { Cow::Borrowed("") } else { language.text(label) };
        paragraph(page, &label, body, painter, options);
    };
    if let Some(title) = language.title(&finding.rule) {
        paragraph("rule", &title);
    }
    paragraph("what", &finding.message);
    paragraph("impact", &language.impact(&finding.rule, &finding.impact));
    let class = match finding.fix.applicability {
        Applicability::None => String::new(),
        other => format!(" [{}]", language.applicability(other)),
    };
    // The advice of the rule, and then the step for this resource, which is data.
    let own = language.fix(&finding.rule);
    if let Some(fix) = &own {
        paragraph("fix", fix);
    }
    paragraph(if own.is_some() { "step" } else { "fix" }, &format!("{}{class}", finding.fix.summary));
    for choice in finding.fix.choices.iter().take(4) {
        paragraph("", &format!("- {}", choice.summary));
    }
    for caveat in &finding.caveats {
        paragraph("note", &caveat.message);
    }
    if let Some(waiver) = &finding.waiver {
        paragraph("waiver", &waiver.describe());
    }
    // Commands are never wrapped, so that they can be copied.
    let commands = finding.fix.shown_commands();
    let limit = if options.verbose { commands.len() } else { 4 };
    for (index, command) in commands.iter().take(limit).enumerate() {
        let label =
            if index == 0 { painter.dim(&format!("  {}", padded(&language.text("run"), 8))) } else { " ".repeat(10) };
        let _ = writeln!(page, "{label}{}", text::printable(command));
    }
    if commands.len() > limit {
        let _ = writeln!(
            page,
            "          {}",
            painter.dim(&format!("# {}", options.language.left_out(commands.len() - limit)))
        );
    }
}

/// Distinctive part of an ARN.
fn short_id(id: &str) -> std::borrow::Cow<'_, str> {
    text::printable(if id.starts_with("arn:") || id.starts_with("acs:") {
        id.rsplit(':').next().unwrap_or(id)
    } else {
        id
    })
}

/// Findings of the earlier report that this one does not have.
fn gone(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    let Some(comparison) = &report.comparison else { return };
    let parts = [
        (options.language.text("Resolved: no longer found"), &comparison.resolved),
        (options.language.text("Unknown: found before, but not checked this time"), &comparison.unknown),
    ];
    let limit = if options.verbose { usize::MAX } else { 20 };
    for (heading, gone) in parts.into_iter().filter(|(_, gone)| !gone.is_empty()) {
        let _ = writeln!(page, "\n{}", painter.bold(&heading));
        for GoneFinding { finding, why } in gone.iter().take(limit) {
            let name = options.language.severity(finding.severity);
            let severity = painter.severity(finding.severity, &padded(&name, 8));
            let id = short_id(&finding.resource.id);
            let _ = writeln!(page, "{severity} {:<36} {id}", text::printable(&finding.rule));
            if let Some(why) = why {
                paragraph(page, &options.language.text("why"), why, painter, options);
            }
        }
        if gone.len() > limit {
            let _ = writeln!(page, "  {}", painter.dim(&options.language.left_out(gone.len() - limit)));
        }
    }
}

/// Waived findings, each with its waiver.
fn waived(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    let view = ReportView::from(report);
    let waived: Vec<_> = view.waived().collect();
    if waived.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{}", painter.bold(&options.language.text("Waived: left as they are")));
    let limit = if options.verbose { usize::MAX } else { 20 };
    for (finding, waiver) in waived.iter().take(limit) {
        let severity = padded(&options.language.severity(finding.severity), 8);
        let id = short_id(&finding.resource.id);
        let _ = writeln!(page, "{} {:<36} {id}", painter.dim(&severity), text::printable(&finding.rule));
        paragraph(page, &options.language.text("waiver"), &waiver.describe(), painter, options);
    }
    if waived.len() > limit {
        let _ = writeln!(page, "  {}", painter.dim(&options.language.left_out(waived.len() - limit)));
    }
}

fn not_audited(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    if report.not_audited.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{}", painter.bold(&options.language.text("Not audited: unknown, not clean")));
    let limit = if options.verbose { usize::MAX } else { 20 };
    for entry in report.not_audited.iter().take(limit) {
        let place = entry.resource.as_deref().map(short_id).or_else(|| entry.region.as_deref().map(text::printable));
        let what = text::printable(&entry.what);
        let _ = writeln!(page, "\n{}  {}", painter.bold(&what), place.unwrap_or_default());
        let why = options.language.text("why");
        paragraph(page, &why, &format!("{}: {}", entry.reason, entry.message), painter, options);
        if !entry.rules.is_empty() {
            let shown = if options.verbose { usize::MAX } else { 4 };
            paragraph(
                page,
                &options.language.text("rules"),
                &options.language.fill("not checked on it: {rules}", &[("rules", &text::list(&entry.rules, shown))]),
                painter,
                options,
            );
        }
    }
    if report.not_audited.len() > limit {
        let _ = writeln!(page, "  {}", painter.dim(&options.language.left_out(report.not_audited.len() - limit)));
    }
}

/// The verdict in words.
fn verdict(report: &Report, painter: Painter, language: Language) -> String {
    let parts = ReportView::from(report).verdict().into_iter().map(|part| {
        let words = verdict_words(part, language);
        match part.severity() {
            Some(severity) => painter.severity(severity, &words),
            None if report.complete => painter.good(&words),
            None => words,
        }
    });
    parts.collect::<Vec<_>>().join(language.comma())
}

/// The verdict again, at the end of a page that may be long, and the next step.
fn footer(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    let Some(step) = next_step(report, options.language) else { return };
    let label = painter.dim(&padded(&options.language.text("result"), 9));
    let _ = writeln!(page, "\n{label}{}", verdict(report, painter, options.language));
    fact(page, &options.language.text("next"), &step, painter, options);
}

/// What to do next; `None` if nothing was found and everything was audited.
fn next_step(report: &Report, language: Language) -> Option<String> {
    let open = || report.findings.iter().filter(|finding| finding.is_open());
    // Nothing else is certain while the cluster id may be wrong.
    let may_be_wrong = |finding: &Finding| rules::find(&finding.rule).is_some_and(|rule| rule.always_runs);
    if report.nodes() == 0 && open().any(may_be_wrong) {
        return Some(language.text("`tagaudit clusters` lists the cluster ids of the account").into_owned());
    }
    let fixable = open().filter(|finding| !finding.fix.changes.is_empty() || !finding.fix.choices.is_empty());
    let (leftovers, fixes): (Vec<&Finding>, Vec<&Finding>) = fixable.partition(|finding| {
        let of_choices = finding.fix.choices.iter().flat_map(|choice| &choice.changes);
        finding.fix.changes.iter().chain(of_choices).any(Call::removes_leftover)
    });
    for (found, option) in [(fixes, "--fix"), (leftovers, "--fix-leftovers")] {
        if !found.is_empty() {
            let findings = language.count(found.len(), "finding");
            let values: [(&str, &dyn std::fmt::Display); 2] = [("option", &option), ("findings", &findings)];
            return Some(
                language.fill("`tagaudit scan … {option} --dry-run` previews the fixes of {findings}", &values),
            );
        }
    }
    let worst = open().max_by(|one, other| one.severity.cmp(&other.severity).then(other.rule.cmp(&one.rule)));
    match worst {
        Some(worst) => {
            let rule = text::printable(&worst.rule);
            Some(language.fill("`tagaudit explain {rule}` describes the rule", &[("rule", &rule)]))
        }
        None if report.complete => None,
        None => Some(language.text("`tagaudit permissions` prints the policy, where a call was refused").into_owned()),
    }
}
