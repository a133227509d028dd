//! The report for a browser: one page that makes no network requests. The verdict, the map of the cluster, findings
//! that can be filtered, the policies of the roles, and everything that was not audited.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::finding::{Severity, Status};
use crate::policy::Verdict;
use crate::report::{ActionReport, Found, Gone, Report, ReportView, RoleReport};
use crate::rules::Outcome;
use crate::text;

use super::console::console_link;
use super::rule_page;

mod chain;
mod controllers;
mod document;
mod map;
mod markup;
mod set;

use document::document;
use markup::{FOLDED_TABLE, Markup, TABLE};

pub(crate) use chain::html_chain;
pub(crate) use set::html_set;

const SCRIPT: &str = include_str!("html/page.js");

/// Maximum number of findings of one rule that are shown with their commands; further ones take a line each, so that
/// pages with tens of thousands of findings open at once.
const IN_FULL: usize = 200;

/// Maximum number of findings of a report that are shown expanded: a short list is not hidden.
const OPEN: usize = 12;

/// Maximum number of related resources that are listed.
const RELATED: usize = 50;

/// Writes a report as a page for a browser.
///
/// # Errors
/// When the writer fails.
pub(crate) fn html(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Markup::default();
    let view = ReportView::from(report);
    page.raw("<main>\n");
    header(&mut page, report, &view);
    // A long list comes first: behind a large map nobody finds it.
    if view.open().count() > OPEN {
        findings(&mut page, &view, IN_FULL);
        map::map(&mut page, report);
    } else {
        map::map(&mut page, report);
        findings(&mut page, &view, IN_FULL);
    }
    gone(&mut page, &view);
    waived(&mut page, &view);
    policies(&mut page, &report.roles);
    controllers::controllers(&mut page, &report.controllers);
    not_audited(&mut page, &view);
    rules(&mut page, &view);
    whole(page, &view, out)
}

/// Writes a page with this body.
fn whole(mut page: Markup, report: &ReportView<'_>, out: &mut dyn Write) -> io::Result<()> {
    page.raw("</main>\n<footer>").text(format_args!("{} {}", report.tool.name, report.tool.version)).raw("</footer>\n");
    document(&format!("tagaudit: {}", report.subject), page, Some(SCRIPT), out)
}

/// Writes the verdict, in a box that is closed after the facts.
fn verdict_box(page: &mut Markup, report: &ReportView<'_>) {
    let verdict = report.verdict();
    let worst = verdict.iter().filter_map(|(severity, _)| *severity).max().map_or("good", Severity::name);
    page.open("div", &[("class", &format_args!("verdict {worst}"))]).raw("<strong>");
    for (index, (severity, words)) in verdict.iter().enumerate() {
        let class = severity.map_or(if report.complete { "good" } else { "" }, Severity::name);
        page.raw(if index == 0 { "" } else { ", " }).element("span", &[("class", &class)], words);
    }
    page.raw("</strong>\n");
    if let Some(changes) = &report.changes {
        page.element("p", &[], &changes.description).raw("\n");
    }
}

fn header(page: &mut Markup, report: &Report, view: &ReportView<'_>) {
    page.element("h1", &[], format_args!("Cluster {}", report.cluster_id));
    verdict_box(page, view);
    page.raw("<dl class=\"facts\">\n");
    let mut fact = |name: &'static str, value: &dyn std::fmt::Display| {
        page.element("dt", &[], name).element("dd", &[], value).raw("\n");
    };
    for account in &report.accounts {
        let regions = account.regions.join(", ");
        fact("account", &format_args!("{} ({}) in {regions}", account.account_id, account.partition));
        if let Some(caller) = report.source.describe_caller(account) {
            fact("caller", &caller);
        }
    }
    fact("evidence", &report.source.describe());
    if let Some(configuration) = &report.configuration {
        fact("configuration", &configuration.describe());
    }
    let nodes: Vec<String> = report.summary.nodes.iter().map(|(roles, number)| format!("{number} {roles}")).collect();
    let guessed = if nodes.iter().any(|node| node.ends_with('?')) { " (? guessed from names)" } else { "" };
    fact("nodes", &if nodes.is_empty() { "none found".to_owned() } else { nodes.join(", ") + guessed });
    let outcomes = [Outcome::Passed, Outcome::Failed, Outcome::NotApplicable, Outcome::NotAudited];
    let outcomes = outcomes.map(|outcome| format!("{} {}", report.count_rules(outcome), outcome.words()));
    fact("rules", &outcomes.join(", "));
    page.raw("</dl>\n</div>\n");
}

/// Writes the findings; of each rule, a number with their commands.
fn findings(page: &mut Markup, report: &ReportView<'_>, in_full: usize) {
    page.raw("<h2 id=\"findings\">Findings</h2>\n");
    let open: Vec<&Found<'_>> = report.open().collect();
    if open.is_empty() {
        let words = match (report.is_nothing, report.complete) {
            (true, _) => "Nothing to audit: no cluster was found. Check the account, the region and the cluster id.",
            (false, true) => "Nothing found.",
            (false, false) => "Nothing found in what could be read.",
        };
        page.element("p", &[], words);
        return;
    }
    page.raw("<div class=\"tools\" hidden>\n<input type=\"search\" id=\"search\" placeholder=\"filter: id, name, action; a|b for either\" aria-label=\"filter\">\n");
    for severity in Severity::WORST_FIRST {
        let number = open.iter().filter(|finding| finding.severity == severity).count();
        if number > 0 {
            toggle(page, "severity", severity.name(), number);
        }
    }
    let mut fixes: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &open {
        *fixes.entry(finding.fix.applicability.name()).or_default() += 1;
    }
    page.raw("<span class=\"dim\">fix:</span>\n");
    for (fix, number) in fixes {
        toggle(page, "fix", fix, number);
    }
    if report.changes.is_some() {
        page.raw("<span class=\"dim\">since then:</span>\n");
        for status in [Status::New, Status::Unchanged] {
            let number = open.iter().filter(|finding| finding.status == status).count();
            toggle(page, "status", status.name(), number);
        }
    }
    page.raw("<button id=\"picked\" hidden></button>\n");
    page.raw("<span class=\"dim\" id=\"shown\" aria-live=\"polite\"></span>\n</div>\n");
    // Rules in the order of their worst finding.
    let mut groups: Vec<(&str, Vec<&Found<'_>>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &open {
        let place = *places.entry(&finding.rule).or_insert_with(|| {
            groups.push((&finding.rule, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, group)) = groups.get_mut(place) {
            group.push(finding);
        }
    }
    let shown = Shown { is_open: open.len() <= OPEN, is_compared: report.changes.is_some(), in_full };
    for (rule, group) in groups {
        rule_findings(page, rule, &group, shown);
    }
}

fn toggle(page: &mut Markup, name: &'static str, value: &str, number: usize) {
    page.raw("<label>")
        .open("input", &[("type", &"checkbox"), ("name", &name), ("value", &value), ("checked", &"")])
        .text(format_args!(" {value} {number}"))
        .raw("</label>\n");
}

/// Display options of findings.
#[derive(Clone, Copy)]
struct Shown {
    /// True to expand all of them.
    is_open: bool,
    /// True if they are compared with an earlier report.
    is_compared: bool,
    /// Number of findings of a rule that are shown with their commands.
    in_full: usize,
}

/// Writes the findings of a rule: the common parts once, then each finding.
fn rule_findings(page: &mut Markup, rule: &str, findings: &[&Found<'_>], shown: Shown) {
    open_details(page, &[("id", &format_args!("g-{rule}")), ("data-group", &rule)], shown.is_open);
    page.raw("<summary>");
    for severity in Severity::WORST_FIRST {
        let number = findings.iter().filter(|finding| finding.severity == severity).count();
        if number > 0 {
            let class = format_args!("badge {}", severity.name()).to_string();
            page.element("span", &[("class", &class)], text::count(number, severity.noun())).raw(" ");
        }
    }
    page.element("strong", &[], rule)
        .element("span", &[("class", &"dim")], format_args!(" {}", rule_page::title(rule)))
        .raw("</summary>\n");
    let impacts: BTreeSet<&str> = findings.iter().map(|finding| finding.impact.as_str()).collect();
    let impact = (impacts.len() == 1).then(|| impacts.first().copied()).flatten();
    if let Some(impact) = impact {
        page.raw("<div class=\"body\"><p><strong>What breaks.</strong> ").prose(impact).raw("</p></div>\n");
    }
    sources(page, rule);
    for (index, finding) in findings.iter().enumerate() {
        let ids = std::iter::once(&finding.resource).chain(&finding.related).map(|resource| resource.id.as_str());
        let ids: Vec<&str> = finding.cluster_id.into_iter().chain(ids).collect();
        let ids = ids.join(" ");
        let key = finding.key();
        let anchor = format!("f-{key}");
        let (severity, fix, status) =
            (finding.severity.name(), finding.fix.applicability.name(), finding.status.name());
        // A page of a fleet has thousands of these: what nothing reads is left out.
        let mut place: Vec<(&'static str, &dyn std::fmt::Display)> =
            vec![("id", &anchor), ("data-ids", &ids), ("data-severity", &severity), ("data-fix", &fix)];
        if shown.is_compared {
            place.push(("data-status", &status));
        }
        if index < shown.in_full {
            place.push(("data-finding", &key));
            open_details(page, &place, shown.is_open && findings.len() == 1);
            page.raw("<summary>");
            line(page, finding, shown.is_compared);
            page.raw("</summary>\n<div class=\"body\">");
            details(page, finding, impact.is_none(), &anchor);
            page.raw("</div></details>\n");
        } else {
            place.extend([("class", &"compact" as &dyn std::fmt::Display), ("data-finding", &"")]);
            page.open("div", &place);
            line(page, finding, shown.is_compared);
            page.raw("</div>\n");
        }
    }
    if findings.len() > shown.in_full {
        let more = findings.len() - shown.in_full;
        page.open("div", &[("class", &"body dim")])
            .text(format_args!(
                "The last {more} are shown without commands: `tagaudit scan --fix` and the JSON report have all."
            ))
            .raw("</div>\n");
    }
    page.raw("</details>\n");
}

fn open_details(page: &mut Markup, attributes: &[(&'static str, &dyn std::fmt::Display)], is_open: bool) {
    let mut attributes = attributes.to_vec();
    if is_open {
        attributes.push(("open", &""));
    }
    page.open("details", &attributes);
}

fn line(page: &mut Markup, finding: &Found<'_>, is_compared: bool) {
    let more = finding.more();
    page.element("span", &[("class", &format_args!("badge {}", finding.severity.name()))], finding.severity.name())
        .raw(" ");
    if let Some(change) = finding.change().filter(|_| is_compared) {
        page.element("span", &[("class", &"badge")], change).raw(" ");
    }
    if let Some(cluster_id) = finding.cluster_id {
        page.element("strong", &[], cluster_id).raw(" ");
    }
    page.element("span", &[("class", &"id")], &finding.resource.id);
    if let Some(name) = finding.resource.name.as_deref().filter(|name| !name.is_empty() && *name != finding.resource.id)
    {
        page.text(format_args!(" {name}"));
    }
    if more > 0 {
        page.text(format_args!(" and {more} more"));
    }
    page.raw(" <span class=\"dim\">").prose(&finding.message).raw("</span>");
}

/// Writes the links to the code and documents that decide a rule.
fn sources(page: &mut Markup, rule: &str) {
    let mut linked = rule_page::sources(rule).iter().filter_map(|source| Some((source, rule_page::link(source)?)));
    let Some((first, target)) = linked.next() else { return };
    page.raw("<div class=\"body\"><p class=\"dim\">Decided in ");
    link(page, &target, first);
    for (source, target) in linked {
        page.raw(", ");
        link(page, &target, source);
    }
    page.raw("</p></div>\n");
}

/// Writes a link to another site, which does not learn of this page.
fn link(page: &mut Markup, target: &str, text: &str) {
    page.open("a", &[("href", &target), ("rel", &"noopener noreferrer"), ("target", &"_blank")]).text(text).close("a");
}

fn details(page: &mut Markup, finding: &Found<'_>, with_impact: bool, anchor: &str) {
    let entry = |page: &mut Markup, name: &'static str, text: &str| {
        page.raw("<p><strong>").text(name).raw("</strong> ").prose(text).raw("</p>\n");
    };
    if with_impact {
        entry(page, "What breaks.", &finding.impact);
    }
    entry(page, "Fix", &format!("({}): {}", finding.fix.applicability.name(), finding.fix.summary));
    for choice in &finding.fix.choices {
        page.raw("<p>").element("code", &[], &choice.value).raw(" ").prose(&choice.summary).raw("</p>\n");
    }
    for caveat in &finding.caveats {
        entry(page, "Note.", &caveat.message);
    }
    if let Some(waiver) = &finding.waiver {
        entry(page, "Waiver.", &waiver.describe());
    }
    let commands = finding.fix.shown_commands();
    if !commands.is_empty() {
        page.raw("<pre>");
        for (index, command) in commands.iter().enumerate() {
            page.raw(if index == 0 { "" } else { "\n" }).text(command);
        }
        page.raw("</pre>\n");
    }
    if !finding.related.is_empty() {
        page.raw("<p class=\"dim\">Related: ");
        for (index, related) in finding.related.iter().take(RELATED).enumerate() {
            page.raw(if index == 0 { "" } else { ", " }).element("span", &[("class", &"id")], &related.id);
        }
        if finding.related.len() > RELATED {
            page.text(format_args!(" and {} more", finding.related.len() - RELATED));
        }
        page.raw("</p>\n");
    }
    page.raw("<p class=\"dim\">Confidence: ")
        .text(finding.confidence.name())
        .raw(". Fingerprint: ")
        .element("span", &[("class", &"id")], &finding.fingerprint)
        .raw(". ")
        .element("a", &[("href", &format_args!("#{anchor}"))], "Link to this finding");
    if let Some(target) = console_link(&finding.resource) {
        page.raw(", ");
        link(page, &target, "open in the console");
    }
    page.raw("</p>\n");
}

/// Roles against the actions of their baselines.
fn policies(page: &mut Markup, roles: &[RoleReport]) {
    if roles.is_empty() {
        return;
    }
    page.raw("<h2>Policies</h2>\n");
    // For each role, its actions by name: a matrix needs every pair.
    let entries: Vec<BTreeMap<&str, &ActionReport>> =
        roles.iter().map(|role| role.actions.iter().map(|action| (action.action.as_str(), action)).collect()).collect();
    let actions: BTreeSet<&str> = entries.iter().flat_map(|actions| actions.keys().copied()).collect();
    let is_granted = |action: &&str| {
        entries.iter().filter_map(|actions| actions.get(action)).all(|entry| entry.verdict == Verdict::Granted)
    };
    let (granted, other): (Vec<&str>, Vec<&str>) = actions.into_iter().partition(is_granted);
    if other.is_empty() {
        page.element("p", &[("class", &"good")], "Every role is granted everything that its baseline requires.");
    } else {
        matrix(page, roles, &entries, &other);
    }
    if !granted.is_empty() {
        page.raw("<details data-print=\"no\"><summary>")
            .text(format_args!(
                "{} granted to every role whose baseline requires them",
                text::count(granted.len(), "action")
            ))
            .raw("</summary>\n<div class=\"body\">\n");
        matrix(page, roles, &entries, &granted);
        page.raw("</div></details>\n");
    }
    for role in roles.iter().filter(|role| !role.excess.is_empty()) {
        let name = role.role.rsplit('/').next().unwrap_or(&role.role);
        page.raw("<details><summary>")
            .element("strong", &[], name)
            .text(format_args!(" goes beyond its baseline: {}", text::count(role.excess.len(), "pattern")))
            .raw("</summary>\n")
            .raw(FOLDED_TABLE)
            .raw("<table><tr><th>granted</th><th>highest access</th><th>actions</th><th>the worst</th></tr>\n");
        for excess in &role.excess {
            let open = if excess.open_ended { " and any that the cloud adds" } else { "" };
            page.raw("<tr>")
                .element("td", &[("class", &"id")], &excess.action)
                .element("td", &[], excess.access_level.name())
                .element("td", &[], format_args!("{}{open}", excess.actions))
                .element("td", &[("class", &"note")], excess.worst.join(", "))
                .raw("</tr>\n");
        }
        page.raw("</table></div></details>\n");
    }
}

/// Roles against actions.
fn matrix(page: &mut Markup, roles: &[RoleReport], entries: &[BTreeMap<&str, &ActionReport>], actions: &[&str]) {
    page.raw(TABLE).raw("<table>\n<thead><tr><th>action</th>");
    for role in roles {
        let about = format!("{}, {}", role.baseline, text::count(role.instances.len(), "node"));
        page.open("th", &[("title", &role.role)])
            .text(role.role.rsplit('/').next().unwrap_or(&role.role))
            .raw("<br>")
            .element("span", &[("class", &"dim")], about)
            .raw("</th>");
    }
    page.raw("</tr></thead>\n<tbody>\n");
    for action in actions {
        page.raw("<tr>").element("td", &[("class", &"id")], action);
        for entries in entries {
            match entries.get(action) {
                Some(entry) => verdict(page, entry),
                None => {
                    page.raw("<td class=\"dim\"></td>");
                }
            }
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
}

fn verdict(page: &mut Markup, entry: &ActionReport) {
    let (class, mark) = match entry.verdict {
        Verdict::Granted => ("granted", "✓"),
        Verdict::Partial => ("partial", "◐"),
        Verdict::Denied => ("denied", "✕"),
        Verdict::Missing => ("missing-action", "–"),
        Verdict::Undecided => ("undecided", "?"),
    };
    let limits = [("only on", &entry.only_on), ("only if", &entry.only_if)];
    let mut why: Vec<String> = limits
        .into_iter()
        .filter(|(_, limits)| !limits.is_empty())
        .map(|(words, limits)| format!("{words} {}", limits.join(", ")))
        .collect();
    why.extend(entry.reason.clone());
    page.open("td", &[("class", &class), ("title", &why.join("; "))])
        .text(format_args!("{mark} {}", entry.verdict.name()))
        .raw("</td>");
}

/// Findings of the earlier report that this one does not have.
fn gone(page: &mut Markup, report: &ReportView<'_>) {
    let Some(changes) = &report.changes else { return };
    let parts = [("Resolved", &changes.resolved), ("Unknown: not checked this time", &changes.unknown)];
    for (heading, gone) in parts.into_iter().filter(|(_, gone)| !gone.is_empty()) {
        page.element("h2", &[], heading)
            .raw(TABLE)
            .raw("<table><tr><th>severity</th><th>rule</th><th>resource</th><th>why</th></tr>\n");
        for Gone { found: finding, why } in gone {
            page.raw("<tr>")
                .element("td", &[], finding.severity.name())
                .element("td", &[], &finding.rule)
                .element("td", &[("class", &"id")], finding.full_place())
                .element("td", &[("class", &"note")], why.unwrap_or("no longer found"))
                .raw("</tr>\n");
        }
        page.raw("</table></div>\n");
    }
}

/// Waived findings, each with its waiver.
fn waived(page: &mut Markup, view: &ReportView<'_>) {
    if view.waived().next().is_none() {
        return;
    }
    page.raw("<h2>Waived</h2>\n")
        .raw(TABLE)
        .raw("<table><tr><th>severity</th><th>rule</th><th>resource</th><th>why</th></tr>\n");
    for (finding, waiver) in view.waived() {
        page.raw("<tr>")
            .element("td", &[], finding.severity.name())
            .element("td", &[], &finding.rule)
            .element("td", &[("class", &"id")], finding.full_place())
            .element("td", &[("class", &"note")], waiver.describe())
            .raw("</tr>\n");
    }
    page.raw("</table></div>\n");
}

fn not_audited(page: &mut Markup, report: &ReportView<'_>) {
    page.raw("<h2>Not audited</h2>\n");
    if report.not_audited.is_empty() {
        page.raw("<p>Everything that was requested could be audited.</p>\n");
        return;
    }
    page.raw(TABLE).raw("<table><tr><th>what</th><th>where</th><th>why</th><th>rules not checked</th></tr>\n");
    for entry in report.not_audited.iter() {
        let place = [&entry.account_id, &entry.region, &entry.resource].into_iter().flatten();
        let place: Vec<&str> = place.map(String::as_str).collect();
        page.raw("<tr>")
            .element("td", &[("class", &"id")], &entry.what)
            .element("td", &[("class", &"note")], place.join(" "))
            .element("td", &[("class", &"note")], format_args!("{}: {}", entry.reason, entry.message))
            .element("td", &[("class", &"note")], entry.rules.join(", "))
            .raw("</tr>\n");
    }
    page.raw("</table></div>\n");
}

fn rules(page: &mut Markup, report: &ReportView<'_>) {
    page.raw("<h2>Rules</h2>\n<details data-print=\"no\"><summary>")
        .text(format_args!("Outcomes of {}", text::count(report.rules.len(), "rule")))
        .raw("</summary>\n")
        .raw(FOLDED_TABLE)
        .raw("<table><tr><th>rule</th><th>outcome</th><th>checked on</th><th>why</th></tr>\n");
    for rule in report.rules.iter() {
        let class = match rule.outcome {
            Outcome::Passed => "good",
            Outcome::Failed => "error",
            Outcome::NotApplicable => "dim",
            Outcome::NotAudited => "warning",
        };
        page.raw("<tr>")
            .open("td", &[("title", &rule_page::title(&rule.rule))])
            .text(&rule.rule)
            .raw("</td>")
            .element("td", &[("class", &class)], rule.outcome.words())
            .element("td", &[], rule.checked)
            .element("td", &[("class", &"note")], rule.why.as_deref().unwrap_or_default())
            .raw("</tr>\n");
    }
    page.raw("</table></div></details>\n");
}
