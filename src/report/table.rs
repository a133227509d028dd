//! The report for a person: first what a tired one needs, then the findings, the policies, and what was not audited.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};

use crate::finding::{Applicability, Severity};
use crate::policy::{Gain, ServiceExcess, Verdict};
use crate::rules::Outcome;
use crate::text;
use crate::transition::Call;

use super::{Finding, Report, RoleReport, SourceKind};

/// How to lay the table out.
#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// Columns to use.
    pub width: usize,
    /// Whether to use colours.
    pub color: bool,
    /// Whether to show everything instead of folding long lists.
    pub verbose: bool,
}

/// Findings of one rule that are shown in full before the rest is folded.
const SHOWN_PER_RULE: usize = 5;
/// Width under which columns are given up.
const NARROW: usize = 70;
/// Width under which the eight columns of the roles are.
const COMPACT: usize = 90;

/// Puts colours around text, or not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    /// Whether to.
    pub(crate) color: bool,
}

impl Painter {
    fn paint(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// What matters less.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    fn severity(self, severity: Severity, text: &str) -> String {
        let color = match severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Info => AnsiColor::Cyan,
        };
        self.paint(Style::new().bold().fg_color(Some(color.into())), text)
    }

    /// What is right, or is added.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint(Style::new().bold().fg_color(Some(AnsiColor::Green.into())), text)
    }

    /// What is changed.
    pub(crate) fn warn(self, text: &str) -> String {
        self.paint(Style::new().fg_color(Some(AnsiColor::Yellow.into())), text)
    }

    /// What is wrong, or is removed.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint(Style::new().fg_color(Some(AnsiColor::Red.into())), text)
    }
}

/// A table in the common layout.
pub(crate) fn layout(width: usize, header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(header.iter().copied());
    table
}

pub(super) fn write(report: &Report, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    let mut page = String::new();
    header(&mut page, report, painter, options);
    for severity in Severity::WORST_FIRST {
        findings(&mut page, report, severity, painter, options);
    }
    roles(&mut page, &report.roles, painter, options);
    not_audited(&mut page, report, painter, options);
    not_applicable(&mut page, report, painter, options);
    footer(&mut page, report, painter);
    out.write_all(page.as_bytes())?;
    out.flush()
}

fn header(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    let mut line = |label: &str, value: &str| {
        for (index, part) in text::wrap(value, options.width.saturating_sub(9), "", "").iter().enumerate() {
            let label = if index == 0 { painter.dim(&format!("{label:<9}")) } else { " ".repeat(9) };
            let _ = writeln!(page, "{label}{part}");
        }
    };
    line("cluster", &painter.bold(&text::printable(&report.cluster_id)));
    for account in &report.accounts {
        let partition = if account.partition == report.provider.name() {
            String::new()
        } else {
            format!(" ({})", text::printable(&account.partition))
        };
        line(
            "account",
            &format!("{}{partition} in {}", text::printable(&account.account_id), text::list(&account.regions, 40)),
        );
    }
    let read = match (&report.source.collected_at, report.source.kind) {
        (Some(at), SourceKind::Live) => format!("live at {}", text::printable(at)),
        (Some(at), SourceKind::Inventory) => format!("recorded inventory of {}", text::printable(at)),
        (None, _) => "recorded evidence without a date".to_owned(),
    };
    line("evidence", &read);
    let nodes: Vec<String> = report.summary.nodes.iter().map(|(roles, number)| format!("{number} {roles}")).collect();
    let guessed = if nodes.iter().any(|node| node.ends_with('?')) { " (? guessed from names)" } else { "" };
    line("nodes", &if nodes.is_empty() { "none found".to_owned() } else { nodes.join(", ") + guessed });
    line("rules", &outcomes(report));
    let counts = &report.summary.findings;
    let number = |severity: Severity| counts.get(severity.name()).copied().unwrap_or(0);
    let mut verdict: Vec<String> = Vec::new();
    for severity in Severity::WORST_FIRST {
        let noun = if severity == Severity::Info { "note" } else { severity.name() };
        if number(severity) > 0 {
            verdict.push(painter.severity(severity, &text::count(number(severity), noun)));
        }
    }
    if verdict.is_empty() {
        verdict.push(if report.complete {
            painter.good("nothing found")
        } else {
            "nothing found in what could be read".to_owned()
        });
    }
    if !report.complete {
        verdict.push(painter.severity(Severity::Warning, &format!("{} not audited", report.not_audited.len())));
    }
    let _ = writeln!(page, "{}{}", painter.dim("result   "), verdict.join(", "));
    overview(page, report, painter, options);
}

/// How many rules came to what.
fn outcomes(report: &Report) -> String {
    let number = |outcome: Outcome| report.rules.iter().filter(|rule| rule.outcome == outcome).count();
    let counts = [
        (Outcome::Passed, "passed"),
        (Outcome::Failed, "failed"),
        (Outcome::NotApplicable, "not applicable"),
        (Outcome::NotAudited, "not audited"),
    ];
    let told: Vec<String> = counts
        .into_iter()
        .map(|(outcome, words)| (number(outcome), words))
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{number} {words}"))
        .collect();
    told.join(", ")
}

/// The rules that had nothing to look at, by the reason; with `-v` only.
fn not_applicable(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rule in report.rules.iter().filter(|rule| rule.outcome == Outcome::NotApplicable) {
        by_reason.entry(rule.why.as_deref().unwrap_or_default()).or_default().push(&rule.rule);
    }
    if !options.verbose || by_reason.is_empty() {
        return;
    }
    let _ = writeln!(page, "{}\n", painter.bold("Not applicable: there is nothing to look at"));
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
    if report.findings.len() < 4 {
        return;
    }
    let mut rules: Vec<(&Finding, usize, usize)> = Vec::new();
    for finding in &report.findings {
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
        let severity = painter.severity(finding.severity, &format!("{:<8}", finding.severity.name()));
        let what = text::count(resources, finding.resource.kind.noun());
        let times = if number > 1 { format!(" in {number} findings") } else { String::new() };
        if options.width < NARROW {
            let _ = writeln!(page, "{severity} {}\n         {what}{times}", finding.rule);
        } else {
            let _ = writeln!(page, "{severity} {:<36} {what}{times}", finding.rule);
        }
    }
}

fn findings(page: &mut String, report: &Report, severity: Severity, painter: Painter, options: &TableOptions) {
    let found: Vec<&Finding> = report.findings.iter().filter(|finding| finding.severity == severity).collect();
    if found.is_empty() {
        return;
    }
    let heading = match severity {
        Severity::Error => "Errors: the controllers fail or leave something out",
        Severity::Warning => "Warnings: works by luck, or will break",
        Severity::Info => "Notes",
    };
    let _ = writeln!(page, "\n{}", painter.bold(heading));
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    let mut folded: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, finding) in found.iter().enumerate() {
        let number = shown.entry(finding.rule.as_str()).or_default();
        *number += 1;
        if options.verbose || *number <= SHOWN_PER_RULE {
            block(page, finding, painter, options);
        } else {
            *folded.entry(finding.rule.as_str()).or_default() += 1;
        }
        let last_of_rule = found.get(index + 1).is_none_or(|next| next.rule != finding.rule);
        if let Some(number) = folded.get(finding.rule.as_str()).filter(|_| last_of_rule) {
            let _ = writeln!(
                page,
                "\n  {}",
                painter.dim(&format!("and {number} more of {}: -v or --format json shows them", finding.rule))
            );
        }
    }
}

fn block(page: &mut String, finding: &Finding, painter: Painter, options: &TableOptions) {
    let same = finding.related.iter().filter(|related| related.kind == finding.resource.kind).count();
    let mut resource = short_id(&finding.resource.id).into_owned();
    if let Some(name) = finding.resource.name.as_deref().filter(|name| !resource.ends_with(name)) {
        let _ = write!(resource, " ({})", text::printable(name));
    }
    if same > 0 {
        let _ = write!(resource, " and {same} more");
    }
    let _ = writeln!(
        page,
        "\n{} {}  {resource}",
        painter.severity(finding.severity, finding.severity.name()),
        painter.bold(&finding.rule)
    );
    let mut paragraph = |label: &str, body: &str| paragraph(page, label, body, painter, options);
    paragraph("what", &finding.message);
    paragraph("impact", &finding.impact);
    let class = match finding.fix.applicability {
        Applicability::None => String::new(),
        other => format!(" [{}]", other.name()),
    };
    paragraph("fix", &format!("{}{class}", finding.fix.summary));
    for choice in finding.fix.choices.iter().take(4) {
        paragraph("", &format!("- {}", choice.summary));
    }
    for caveat in &finding.caveats {
        paragraph("note", &caveat.message);
    }
    // Commands are never wrapped: they are there to be copied.
    let commands: Vec<String> = finding.fix.changes.iter().flat_map(Call::shown_commands).collect();
    let limit = if options.verbose { commands.len() } else { 4 };
    for (index, command) in commands.iter().take(limit).enumerate() {
        let label = if index == 0 { painter.dim("  run     ") } else { " ".repeat(10) };
        let _ = writeln!(page, "{label}{}", text::printable(command));
    }
    if commands.len() > limit {
        let _ = writeln!(
            page,
            "          {}",
            painter.dim(&format!("# and {} more: -v shows them", commands.len() - limit))
        );
    }
}

/// A labelled paragraph under a heading; whatever the text holds, it only shows.
fn paragraph(page: &mut String, label: &str, body: &str, painter: Painter, options: &TableOptions) {
    let indent = 10;
    let body = text::printable(body);
    for (index, part) in text::wrap(&body, options.width.saturating_sub(indent), "", "").iter().enumerate() {
        let label = if index == 0 { painter.dim(&format!("  {label:<8}")) } else { " ".repeat(indent) };
        let _ = writeln!(page, "{label}{part}");
    }
}

/// The part of an ARN that tells it apart.
fn short_id(id: &str) -> std::borrow::Cow<'_, str> {
    text::printable(if id.starts_with("arn:") { id.rsplit(':').next().unwrap_or(id) } else { id })
}

fn roles(page: &mut String, roles: &[RoleReport], painter: Painter, options: &TableOptions) {
    if roles.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{}", painter.bold("Policies of the nodes' roles"));
    if options.width < COMPACT {
        for role in roles {
            let name = text::printable(role.role.rsplit('/').next().unwrap_or(&role.role));
            let _ = writeln!(page, "{} on {} {}", painter.bold(&name), role.instances.len(), nodes_of(role));
            let counts = COUNTED.map(|verdict| format!("{} {}", count_of(role, verdict), verdict.name()));
            let line =
                format!("{}: {}, {} excess", text::printable(&role.baseline), counts.join(", "), role.excess.len());
            for part in text::wrap(&line, options.width, "  ", "  ") {
                let _ = writeln!(page, "{part}");
            }
        }
    } else {
        let header = ["role", "nodes", "baseline", "granted", "partial", "denied", "missing", "excess"];
        let mut table = layout(options.width, &header);
        for role in roles {
            let of = |verdict: Verdict| count_of(role, verdict).to_string();
            table.add_row([
                text::printable(role.role.rsplit('/').next().unwrap_or(&role.role)).into_owned(),
                format!("{} {}", role.instances.len(), nodes_of(role)),
                text::printable(&role.baseline).into_owned(),
                of(Verdict::Granted),
                of(Verdict::Partial),
                of(Verdict::Denied),
                of(Verdict::Missing),
                role.excess.len().to_string(),
            ]);
        }
        let _ = writeln!(page, "{table}");
    }
    for role in roles {
        let mut lines = String::new();
        diff(&mut lines, role, painter, options);
        if !lines.is_empty() {
            let name = text::printable(role.role.rsplit('/').next().unwrap_or(&role.role)).into_owned();
            let _ = write!(page, "{}\n{lines}", painter.bold(&name));
        }
    }
}

/// Roles alone, as `policy diff` compares them.
pub(super) fn write_roles(roles: &[RoleReport], options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    let mut page = String::new();
    for role in roles {
        let total = role.actions.len();
        let granted = count_of(role, Verdict::Granted);
        let name = text::printable(&role.role);
        let verdict = if granted == total {
            painter.good(&format!("all {total} actions granted"))
        } else {
            painter.severity(Severity::Error, &format!("{granted} of {total} actions granted"))
        };
        let _ = writeln!(page, "{} against {}: {verdict}", painter.bold(&name), text::printable(&role.baseline));
        diff(&mut page, role, painter, options);
    }
    out.write_all(page.as_bytes())
}

fn nodes_of(role: &RoleReport) -> String {
    if role.node_roles.is_empty() {
        "unknown".to_owned()
    } else {
        role.node_roles.iter().map(|role| role.name()).collect::<Vec<_>>().join("+")
    }
}

/// The verdicts that a role is summed up in.
const COUNTED: [Verdict; 4] = [Verdict::Granted, Verdict::Partial, Verdict::Denied, Verdict::Missing];

fn count_of(role: &RoleReport, verdict: Verdict) -> usize {
    role.actions.iter().filter(|action| action.verdict == verdict).count()
}

/// Lines of a group before the rest is folded.
const GROUP: usize = 12;

/// What of a role is not as the baseline has it: what is missing first, then what is dangerous, then the rest folded.
fn diff(page: &mut String, role: &RoleReport, painter: Painter, options: &TableOptions) {
    let groups =
        [("", shortfall(role)), ("beyond the baseline it can", ways(role)), ("beyond the baseline", beyond(role))];
    if groups.iter().all(|(_, lines)| lines.is_empty()) {
        return;
    }
    let limit = if options.verbose { usize::MAX } else { GROUP };
    for (title, lines) in groups.iter().filter(|(_, lines)| !lines.is_empty()) {
        if !title.is_empty() {
            let _ = writeln!(page, "  {}", painter.dim(&format!("{title}:")));
        }
        for line in lines.iter().take(limit) {
            for part in text::wrap(&text::printable(line), options.width, "  ", "            ") {
                let _ = writeln!(page, "{part}");
            }
        }
        if lines.len() > limit {
            let _ = writeln!(page, "  {}", painter.dim(&format!("and {} more: -v shows them", lines.len() - limit)));
        }
    }
}

/// The baseline's actions that are not granted whole.
fn shortfall(role: &RoleReport) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for verdict in [Verdict::Missing, Verdict::Denied, Verdict::Partial, Verdict::Undecided] {
        for action in role.actions.iter().filter(|action| action.verdict == verdict) {
            let mut line = format!("{:<9} {}", verdict.name(), action.action);
            if !action.only_on.is_empty() {
                let _ = write!(line, " on {}", action.only_on.join(", "));
            }
            if !action.only_if.is_empty() {
                let _ = write!(line, " if {}", action.only_if.join(", and "));
            }
            if verdict == Verdict::Denied {
                let by: Vec<&str> = action.because.iter().map(|reference| reference.policy.as_str()).collect();
                let _ = write!(line, " by {}", by.join(", "));
            }
            if verdict == Verdict::Partial
                && let Some(left) = action.not_granted.first()
            {
                let when = if left.only_if.is_empty() { "" } else { " always" };
                let _ = write!(line, "; not{when} on {}", left.witness);
            }
            if let Some(reason) = &action.reason {
                let _ = write!(line, ": {reason}");
            }
            lines.push(line);
        }
    }
    lines
}

/// Privilege escalation paths.
fn ways(role: &RoleReport) -> Vec<String> {
    let mut lines: Vec<String> = role
        .assumable_roles
        .iter()
        .map(|arn| format!("{:<9} assume {arn}, which is more privileged", "rights"))
        .collect();
    lines.extend(role.escalation_paths.iter().map(|path| {
        let gain = match path.gain {
            Gain::PrivilegeEscalation => "rights",
            Gain::CodeExecution => "code",
            Gain::DataAccess => "data",
        };
        let steps: Vec<String> = path
            .actions
            .iter()
            .map(|step| if step.beyond { step.action.clone() } else { format!("{} (baseline)", step.action) })
            .collect();
        let doubt = if path.certain { "" } else { ", on some resources or under conditions" };
        format!("{gain:<9} {} ({}{doubt})", path.so_that, steps.join(", "))
    }));
    lines
}

/// Actions of a service beyond which they are counted by level instead of named.
const NAMED: usize = 6;

/// What else goes beyond the baseline: a line for each service, the worst first.
fn beyond(role: &RoleReport) -> Vec<String> {
    let mut services: Vec<&str> = Vec::new();
    for group in &role.excess_by_service {
        if !services.contains(&group.service.as_str()) {
            services.push(&group.service);
        }
    }
    let line = |service: &&str| {
        let groups: Vec<&ServiceExcess> =
            role.excess_by_service.iter().filter(|group| group.service == *service).collect();
        let total: usize = groups.iter().map(|group| group.actions).sum();
        let parts: Vec<String> = if total <= NAMED {
            groups
                .iter()
                .map(|group| format!("{} ({})", group.examples.join(", "), group.access_level.name()))
                .collect()
        } else {
            let counts = groups.iter().map(|group| format!("{} {}", group.actions, group.access_level.name()));
            let worst =
                groups.first().map(|group| group.examples.iter().take(3).cloned().collect::<Vec<_>>().join(", "));
            let counts = counts.collect::<Vec<_>>().join(", ");
            vec![format!("{total} actions of {service}: {counts}; such as {}", worst.unwrap_or_default())]
        };
        format!("{:<9} {}", "excess", parts.join(", "))
    };
    let unknown = role.excess.iter().filter(|excess| excess.actions == 0);
    let unknown = unknown.map(|excess| format!("{:<9} {} (no known action)", "excess", excess.action));
    let elsewhere = role
        .excess
        .iter()
        .filter(|excess| !excess.needed_on.is_empty())
        .map(|excess| format!("{:<9} {} on more than {}", "excess", excess.action, excess.needed_on.join(", ")));
    services.iter().map(line).chain(elsewhere).chain(unknown).collect()
}

fn not_audited(page: &mut String, report: &Report, painter: Painter, options: &TableOptions) {
    if report.not_audited.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{}", painter.bold("Not audited: unknown, not clean"));
    let limit = if options.verbose { usize::MAX } else { 20 };
    for entry in report.not_audited.iter().take(limit) {
        let place = entry.resource.as_deref().map(short_id).or_else(|| entry.region.as_deref().map(text::printable));
        let what = text::printable(&entry.what);
        let _ = writeln!(page, "\n{}  {}", painter.bold(&what), place.unwrap_or_default());
        paragraph(page, "why", &format!("{}: {}", entry.reason, entry.message), painter, options);
        if !entry.rules.is_empty() {
            let shown = if options.verbose { usize::MAX } else { 4 };
            paragraph(
                page,
                "rules",
                &format!("not checked on it: {}", text::list(&entry.rules, shown)),
                painter,
                options,
            );
        }
    }
    if report.not_audited.len() > limit {
        let _ = writeln!(
            page,
            "  {}",
            painter.dim(&format!("and {} more: -v shows them", report.not_audited.len() - limit))
        );
    }
}

fn footer(page: &mut String, report: &Report, painter: Painter) {
    if let Some(first) = report.findings.first() {
        let hint = format!("`tagaudit explain {}` tells more about a rule", first.rule);
        let _ = writeln!(page, "\n{}", painter.dim(&hint));
    }
}
