//! The report for a browser: one page that makes no network requests. The verdict, the map of the cluster, findings
//! that can be filtered, the policies of the roles, and everything that was not audited.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::finding::{Severity, Status};
use crate::policy::Verdict;
use crate::report::{ActionReport, Found, Gone, Report, ReportView, RoleReport};
use crate::rules::Outcome;

use super::console::console_link;
use super::rule_page;
use super::words::{Language, verdict_words};

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
pub(crate) fn html(report: &Report, language: Language, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Markup::new(language);
    let view = ReportView::from(report);
    main(&mut page);
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
    let heading = match language {
        Language::English => view.subject.clone(),
        Language::Chinese => language.fill("Cluster {id}", &[("id", &report.cluster_id)]),
    };
    whole(page, &view, &heading, out)
}

/// Columns of the tables.
const EXCESS: [&str; 4] = ["granted", "highest access", "actions", "the worst"];
const FOUND: [&str; 4] = ["severity", "rule", "resource", "why"];
const UNREAD: [&str; 4] = ["what", "where", "why", "rules not checked"];
const OUTCOMES: [&str; 4] = ["rule", "outcome", "checked on", "why"];

/// Texts that the script shows, by the attribute in which it finds them.
const SCRIPT_WORDS: [(&str, &str); 15] = [
    ("data-all-shown", "{number} shown"),
    ("data-some-shown", "{number} of {total} shown"),
    ("data-more", " and {number} more"),
    ("data-on-map", "show on the map"),
    ("data-copy", "copy"),
    ("data-copied", "copied"),
    ("data-select", "select the text to copy it"),
    ("data-download", "save the drawing (SVG)"),
    ("data-larger", "larger"),
    ("data-smaller", "smaller"),
    ("data-fit", "fit to width"),
    ("data-colours", "colours show"),
    ("data-by-tag", "tags"),
    ("data-by-role", "roles"),
    ("data-by-finding", "findings"),
];

/// Opens the body, with the words of the script, whose values stay in braces.
fn main(page: &mut Markup) {
    let language = page.language();
    let own = SCRIPT_WORDS.map(|(_, text)| language.fill(text, &[("number", &"{number}"), ("total", &"{total}")]));
    let attributes: Vec<(&'static str, &dyn std::fmt::Display)> =
        SCRIPT_WORDS.iter().zip(&own).map(|((name, _), text)| (*name, text as &dyn std::fmt::Display)).collect();
    page.open("main", &attributes).raw("\n");
}

/// Writes a page with this body and title.
fn whole(mut page: Markup, report: &ReportView<'_>, heading: &str, out: &mut dyn Write) -> io::Result<()> {
    page.raw("</main>\n<footer>").text(format_args!("{} {}", report.tool.name, report.tool.version)).raw("</footer>\n");
    document(&format!("tagaudit: {heading}"), page, Some(SCRIPT), out)
}

/// Writes the verdict, in a box that is closed after the facts.
fn verdict_box(page: &mut Markup, report: &ReportView<'_>) {
    let verdict = report.verdict();
    let worst = verdict.iter().filter_map(|part| part.severity()).max().map_or("good", Severity::name);
    page.open("div", &[("class", &format_args!("verdict {worst}"))]).raw("<strong>");
    for (index, part) in verdict.into_iter().enumerate() {
        let words = verdict_words(part, page.language());
        let class = part.severity().map_or(if report.complete { "good" } else { "" }, Severity::name);
        let separator = if index == 0 { "" } else { page.language().comma() };
        page.raw(separator).element("span", &[("class", &class)], words);
    }
    page.raw("</strong>\n");
    if let Some(changes) = &report.changes {
        page.element("p", &[], &changes.description).raw("\n");
    }
}

fn header(page: &mut Markup, report: &Report, view: &ReportView<'_>) {
    let language = page.language();
    page.element("h1", &[], language.fill("Cluster {id}", &[("id", &report.cluster_id)]));
    verdict_box(page, view);
    page.raw("<dl class=\"facts\">\n");
    let mut fact = |name: &'static str, value: &dyn std::fmt::Display| {
        page.element("dt", &[], language.text(name)).element("dd", &[], value).raw("\n");
    };
    for account in &report.accounts {
        let regions = account.regions.join(", ");
        let partition = format!(" ({})", account.partition);
        let values: [(&str, &dyn std::fmt::Display); 3] =
            [("account", &account.account_id), ("partition", &partition), ("regions", &regions)];
        fact("account", &language.fill("{account}{partition} in {regions}", &values));
        if let Some(caller) = report.source.describe_caller(account) {
            fact("caller", &caller);
        }
    }
    fact("evidence", &report.source.describe());
    if let Some(configuration) = &report.configuration {
        fact("configuration", &configuration.describe());
    }
    let nodes: Vec<String> = report.summary.nodes.iter().map(|(roles, number)| format!("{number} {roles}")).collect();
    let guessed = if nodes.iter().any(|node| node.ends_with('?')) {
        language.text(" (? guessed from names)")
    } else {
        Cow::Borrowed("")
    };
    fact(
        "nodes",
        &if nodes.is_empty() { language.text("none found").into_owned() } else { nodes.join(", ") + &guessed },
    );
    let outcomes = [Outcome::Passed, Outcome::Failed, Outcome::NotApplicable, Outcome::NotAudited];
    let outcomes =
        outcomes.map(|outcome| format!("{} {}", report.count_rules(outcome), language.text(outcome.words())));
    fact("rules", &outcomes.join(language.comma()));
    page.raw("</dl>\n</div>\n");
}

/// Writes the findings; of each rule, a number with their commands.
fn findings(page: &mut Markup, report: &ReportView<'_>, in_full: usize) {
    page.raw("<h2 id=\"findings\">").say("Findings").raw("</h2>\n");
    let language = page.language();
    let open: Vec<&Found<'_>> = report.open().collect();
    if open.is_empty() {
        let words = match (report.is_nothing, report.complete) {
            (true, _) => language
                .text("Nothing to audit: no cluster was found. Check the account, the region and the cluster id."),
            (false, true) => language.text("Nothing found."),
            (false, false) => language.text("Nothing found in what could be read."),
        };
        page.element("p", &[], words);
        return;
    }
    let (hint, name) = (language.text("filter: id, name, action; a|b for either"), language.text("filter"));
    page.raw("<div class=\"tools\" hidden>\n")
        .open("input", &[("type", &"search"), ("id", &"search"), ("placeholder", &hint), ("aria-label", &name)]);
    page.raw("\n");
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
    page.raw("<span class=\"dim\">").say("fix:").raw("</span>\n");
    for (fix, number) in fixes {
        toggle(page, "fix", fix, number);
    }
    if report.changes.is_some() {
        page.raw("<span class=\"dim\">").say("since then:").raw("</span>\n");
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

fn toggle(page: &mut Markup, name: &'static str, value: &'static str, number: usize) {
    let words = page.language().text(value);
    page.raw("<label>")
        .open("input", &[("type", &"checkbox"), ("name", &name), ("value", &value), ("checked", &"")])
        .text(format_args!(" {words} {number}"))
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
            let words = page.language().count(number, severity.noun());
            page.element("span", &[("class", &class)], words).raw(" ");
        }
    }
    let language = page.language();
    page.element("strong", &[], rule)
        .element("span", &[("class", &"dim")], format_args!(" {}", language.title_or_english(rule)))
        .raw("</summary>\n");
    let impacts: BTreeSet<&str> = findings.iter().map(|finding| finding.impact.as_str()).collect();
    let impact = (impacts.len() == 1).then(|| impacts.first().copied()).flatten();
    if let Some(impact) = impact {
        page.raw("<div class=\"body\"><p><strong>").say("What breaks.").raw("</strong> ");
        page.prose(&language.impact(rule, impact)).raw("</p></div>\n");
    }
    if let Some(fix) = language.fix(rule) {
        page.raw("<div class=\"body\"><p><strong>").say("Fix").raw("</strong> ").prose(&fix).raw("</p></div>\n");
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
            .say_filled(
                "The last {number} are shown without commands: `tagaudit scan --fix` and the JSON report have all.",
                &[("number", &more)],
            )
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
    let language = page.language();
    let severity = language.severity(finding.severity);
    page.element("span", &[("class", &format_args!("badge {}", finding.severity.name()))], severity).raw(" ");
    if let Some(change) = finding.change().filter(|_| is_compared) {
        page.element("span", &[("class", &"badge")], language.text(&change)).raw(" ");
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
        page.say_filled(" and {number} more", &[("number", &more)]);
    }
    page.raw(" <span class=\"dim\">").prose(&finding.message).raw("</span>");
}

/// Writes the links to the code and documents that decide a rule.
fn sources(page: &mut Markup, rule: &str) {
    let mut linked = rule_page::sources(rule).iter().filter_map(|source| Some((source, rule_page::link(source)?)));
    let Some((first, target)) = linked.next() else { return };
    page.raw("<div class=\"body\"><p class=\"dim\">").say("Decided in").raw(" ");
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
    let language = page.language();
    let entry = |page: &mut Markup, name: Cow<'static, str>, text: &str| {
        page.raw("<p><strong>").text(name).raw("</strong> ").prose(text).raw("</p>\n");
    };
    if with_impact {
        entry(page, language.text("What breaks."), &language.impact(&finding.rule, &finding.impact));
    }
    // In Chinese the fix of the rule stands above, and this is the step for the resource, which is data.
    let name = if language.fix(&finding.rule).is_some() { language.text("Step") } else { language.text("Fix") };
    let consent = language.applicability(finding.fix.applicability);
    let values: [(&str, &dyn std::fmt::Display); 2] = [("consent", &consent), ("summary", &finding.fix.summary)];
    entry(page, name, &language.fill("({consent}): {summary}", &values));
    for choice in &finding.fix.choices {
        page.raw("<p>").element("code", &[], &choice.value).raw(" ").prose(&choice.summary).raw("</p>\n");
    }
    for caveat in &finding.caveats {
        entry(page, language.text("Note."), &caveat.message);
    }
    if let Some(waiver) = &finding.waiver {
        entry(page, language.text("Waiver."), &waiver.describe());
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
        page.raw("<p class=\"dim\">").say("Related:").raw(" ");
        for (index, related) in finding.related.iter().take(RELATED).enumerate() {
            page.raw(if index == 0 { "" } else { ", " }).element("span", &[("class", &"id")], &related.id);
        }
        if finding.related.len() > RELATED {
            page.say_filled(" and {number} more", &[("number", &(finding.related.len() - RELATED))]);
        }
        page.raw("</p>\n");
    }
    page.raw("<p class=\"dim\">")
        .say_filled("Confidence: {level}. Fingerprint:", &[("level", &finding.confidence.name())])
        .raw(" ")
        .element("span", &[("class", &"id")], &finding.fingerprint)
        .raw(". ")
        .element("a", &[("href", &format_args!("#{anchor}"))], language.text("Link to this finding"));
    if let Some(target) = console_link(&finding.resource) {
        page.raw(", ");
        link(page, &target, &language.text("open in the console"));
    }
    page.raw("</p>\n");
}

/// Roles against the actions of their baselines.
fn policies(page: &mut Markup, roles: &[RoleReport]) {
    if roles.is_empty() {
        return;
    }
    page.raw("<h2>").say("Policies").raw("</h2>\n");
    let language = page.language();
    // For each role, its actions by name: a matrix needs every pair.
    let entries: Vec<BTreeMap<&str, &ActionReport>> =
        roles.iter().map(|role| role.actions.iter().map(|action| (action.action.as_str(), action)).collect()).collect();
    let actions: BTreeSet<&str> = entries.iter().flat_map(|actions| actions.keys().copied()).collect();
    let is_granted = |action: &&str| {
        entries.iter().filter_map(|actions| actions.get(action)).all(|entry| entry.verdict == Verdict::Granted)
    };
    let (granted, other): (Vec<&str>, Vec<&str>) = actions.into_iter().partition(is_granted);
    if other.is_empty() {
        let words = language.text("Every role is granted everything that its baseline requires.");
        page.element("p", &[("class", &"good")], words);
    } else {
        matrix(page, roles, &entries, &other);
    }
    if !granted.is_empty() {
        page.raw("<details data-print=\"no\"><summary>")
            .say_filled(
                "{actions} granted to every role whose baseline requires them",
                &[("actions", &language.count(granted.len(), "action"))],
            )
            .raw("</summary>\n<div class=\"body\">\n");
        matrix(page, roles, &entries, &granted);
        page.raw("</div></details>\n");
    }
    for role in roles.iter().filter(|role| !role.excess.is_empty()) {
        let name = role.role.rsplit('/').next().unwrap_or(&role.role);
        page.raw("<details><summary>")
            .element("strong", &[], name)
            .say_filled(
                " goes beyond its baseline: {patterns}",
                &[("patterns", &language.count(role.excess.len(), "pattern"))],
            )
            .raw("</summary>\n")
            .raw(FOLDED_TABLE)
            .raw("<table>")
            .head(&EXCESS)
            .raw("\n");
        for excess in &role.excess {
            let added = language.text(" and any that the cloud adds");
            let open = if excess.open_ended { &*added } else { "" };
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
    let language = page.language();
    page.raw(TABLE).raw("<table>\n<thead><tr><th>").say("action").raw("</th>");
    for role in roles {
        let about = format!("{}, {}", role.baseline, language.count(role.instances.len(), "node"));
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
    let language = page.language();
    let limits = [(language.text("only on"), &entry.only_on), (language.text("only if"), &entry.only_if)];
    let mut why: Vec<String> = limits
        .into_iter()
        .filter(|(_, limits)| !limits.is_empty())
        .map(|(words, limits)| format!("{words} {}", limits.join(", ")))
        .collect();
    why.extend(entry.reason.clone());
    page.open("td", &[("class", &class), ("title", &why.join("; "))])
        .text(format_args!("{mark} {}", language.text(entry.verdict.name())))
        .raw("</td>");
}

/// Findings of the earlier report that this one does not have.
fn gone(page: &mut Markup, report: &ReportView<'_>) {
    let Some(changes) = &report.changes else { return };
    let language = page.language();
    let parts = [
        (language.text("Resolved"), &changes.resolved),
        (language.text("Unknown: not checked this time"), &changes.unknown),
    ];
    for (heading, gone) in parts.into_iter().filter(|(_, gone)| !gone.is_empty()) {
        page.element("h2", &[], heading).raw(TABLE).raw("<table>").head(&FOUND).raw("\n");
        for Gone { found: finding, why } in gone {
            page.raw("<tr>")
                .element("td", &[], language.severity(finding.severity))
                .element("td", &[], &finding.rule)
                .element("td", &[("class", &"id")], finding.full_place())
                .element(
                    "td",
                    &[("class", &"note")],
                    why.map_or_else(|| language.text("no longer found"), Cow::Borrowed),
                )
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
    let language = page.language();
    page.raw("<h2>").say("Waived").raw("</h2>\n").raw(TABLE).raw("<table>").head(&FOUND).raw("\n");
    for (finding, waiver) in view.waived() {
        page.raw("<tr>")
            .element("td", &[], language.severity(finding.severity))
            .element("td", &[], &finding.rule)
            .element("td", &[("class", &"id")], finding.full_place())
            .element("td", &[("class", &"note")], waiver.describe())
            .raw("</tr>\n");
    }
    page.raw("</table></div>\n");
}

fn not_audited(page: &mut Markup, report: &ReportView<'_>) {
    page.raw("<h2>").say("Not audited").raw("</h2>\n");
    if report.not_audited.is_empty() {
        page.raw("<p>").say("Everything that was requested could be audited.").raw("</p>\n");
        return;
    }
    page.raw(TABLE).raw("<table>").head(&UNREAD).raw("\n");
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
    let language = page.language();
    page.raw("<h2>")
        .say("Rules")
        .raw("</h2>\n<details data-print=\"no\"><summary>")
        .say_filled("Outcomes of {rules}", &[("rules", &language.count(report.rules.len(), "rule"))])
        .raw("</summary>\n")
        .raw(FOLDED_TABLE)
        .raw("<table>")
        .head(&OUTCOMES)
        .raw("\n");
    for rule in report.rules.iter() {
        let class = match rule.outcome {
            Outcome::Passed => "good",
            Outcome::Failed => "error",
            Outcome::NotApplicable => "dim",
            Outcome::NotAudited => "warning",
        };
        page.raw("<tr>")
            .open("td", &[("title", &language.title_or_english(&rule.rule))])
            .text(&rule.rule)
            .raw("</td>")
            .element("td", &[("class", &class)], language.text(rule.outcome.words()))
            .element("td", &[], rule.checked)
            .element("td", &[("class", &"note")], rule.why.as_deref().unwrap_or_default())
            .raw("</tr>\n");
    }
    page.raw("</table></div></details>\n");
}
