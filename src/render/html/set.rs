//! The page of many targets: which rules fail in how many clusters, accounts by families of rules, a row for each cluster, and
//! the findings of all.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::finding::Severity;
use crate::report::{Report, ReportSet, ReportView, TargetOutcome, TargetReport};
use crate::rules;

use super::markup::{FOLDED_TABLE, LONG_TABLE, Markup};
use crate::render::Language;

/// Columns of the tables.
const BY_RULE: [&str; 5] = ["rule", "severity", "clusters", "findings", "where"];
const BY_CLUSTER: [&str; 9] =
    ["cluster", "account", "regions", "nodes", "errors", "warnings", "notes", "waived", "not audited"];
const WITHOUT: [&str; 3] = ["account", "outcome", "why"];

/// Clusters of a rule that are named in its row.
const NAMED: usize = 4;

/// Clusters without findings that are not folded.
const SHORT: usize = 6;

/// Findings of one rule that are shown with their commands: most of a fleet's repeat them.
const IN_FULL: usize = 2;

/// A cluster that was audited.
type Row<'s> = (&'s TargetReport, &'s Report);

/// Writes the reports of many targets as a page for a browser. The map and the policies of a cluster are on its own
/// page.
///
/// # Errors
/// When the writer fails.
pub(crate) fn html_set(set: &ReportSet, language: Language, out: &mut dyn Write) -> io::Result<()> {
    let view = ReportView::from(set);
    let mut page = Markup::new(language);
    super::main(&mut page);
    page.element("h1", &[], subject(set, &view, language));
    super::verdict_box(&mut page, &view);
    page.raw("<dl class=\"facts\">\n");
    let outcomes =
        TargetOutcome::ALL.map(|outcome| format!("{} {}", set.count_targets(outcome), language.text(outcome.words())));
    page.raw("<dt>").say("evidence").raw("</dt>").element("dd", &[], set.evidence());
    page.raw("<dt>")
        .say("targets")
        .raw("</dt>")
        .element("dd", &[], outcomes.join(language.comma()))
        .raw("\n</dl>\n</div>\n");
    let rows = set.worst_first();
    rules_by_cluster(&mut page, &rows);
    accounts_by_family(&mut page, &rows);
    clusters(&mut page, &rows);
    others(&mut page, set);
    super::findings(&mut page, &view, IN_FULL);
    super::gone(&mut page, &view);
    super::waived(&mut page, &view);
    super::not_audited(&mut page, &view);
    super::rules(&mut page, &view);
    super::whole(page, &view, &subject(set, &view, language), out)
}

/// The heading: what the reports are about.
fn subject(set: &ReportSet, view: &ReportView<'_>, language: Language) -> String {
    match language {
        Language::English => view.subject.clone(),
        Language::Chinese => language.fill(
            "{clusters} in {targets}",
            &[
                ("clusters", &language.count(set.reports().count(), "cluster")),
                ("targets", &language.count(set.targets.len(), "target")),
            ],
        ),
    }
}

/// Findings of a rule in all clusters.
#[derive(Default)]
struct OfRule<'s> {
    worst: Option<Severity>,
    findings: usize,
    clusters: BTreeSet<&'s str>,
}

/// A row for each rule that fails, those of most clusters first within a severity.
fn rules_by_cluster(page: &mut Markup, rows: &[Row<'_>]) {
    let mut by_rule: BTreeMap<&str, OfRule<'_>> = BTreeMap::new();
    for (_, report) in rows {
        for finding in report.open() {
            let of = by_rule.entry(&finding.rule).or_default();
            of.worst = of.worst.max(Some(finding.severity));
            of.findings += 1;
            of.clusters.insert(&report.cluster_id);
        }
    }
    if by_rule.is_empty() || rows.len() < 2 {
        return;
    }
    let mut all: Vec<(&str, OfRule<'_>)> = by_rule.into_iter().collect();
    all.sort_by_key(|(rule, of)| (std::cmp::Reverse((of.worst, of.clusters.len(), of.findings)), *rule));
    let language = page.language();
    page.raw("<h2>").say("Rules by cluster").raw("</h2>\n").raw(LONG_TABLE).raw("<table class=\"sortable\">\n<thead>");
    page.head(&BY_RULE).raw("</thead>\n<tbody>\n");
    for (rule, of) in all {
        let worst = of.worst.map_or("", Severity::name);
        let (number, total) = (of.clusters.len(), rows.len());
        let in_all: [(&str, &dyn std::fmt::Display); 2] = [("number", &number), ("total", &total)];
        page.raw("<tr><td class=\"note\">")
            .open("a", &[("href", &format_args!("#g-{rule}"))])
            .text(rule)
            .close("a")
            .raw(" ")
            .element("span", &[("class", &"dim")], language.title_or_english(rule))
            .raw("</td>")
            .element("td", &[("class", &worst)], language.text(worst))
            .element("td", &[], language.fill("{number} of {total}", &in_all))
            .element("td", &[], of.findings)
            .raw("<td>");
        for (index, id) in of.clusters.iter().take(NAMED).enumerate() {
            page.raw(if index == 0 { "" } else { ", " });
            cluster(page, id);
        }
        if of.clusters.len() > NAMED {
            page.element(
                "span",
                &[("class", &"dim")],
                language.fill(" and {number} more", &[("number", &(of.clusters.len() - NAMED))]),
            );
        }
        page.raw("</td></tr>\n");
    }
    page.raw("</tbody></table></div>\n");
}

/// The name of a cluster, which filters the findings by it.
fn cluster(page: &mut Markup, id: &str) {
    page.element("span", &[("class", &"id"), ("data-find", &id), ("role", &"button"), ("tabindex", &"0")], id);
}

/// Findings of an account in a family of rules.
#[derive(Default, Clone, Copy)]
struct Cell {
    worst: Option<Severity>,
    findings: usize,
}

/// A row for each account, a column for each family of rules in which something fails.
fn accounts_by_family(page: &mut Markup, rows: &[Row<'_>]) {
    let mut accounts: BTreeMap<String, BTreeMap<&str, Cell>> = BTreeMap::new();
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for (target, report) in rows {
        let cells = accounts.entry(target.describe()).or_default();
        for finding in report.open() {
            let family = rules::family(&finding.rule).unwrap_or("other");
            let cell = cells.entry(family).or_default();
            cell.worst = cell.worst.max(Some(finding.severity));
            cell.findings += 1;
            *totals.entry(family).or_default() += 1;
        }
    }
    if accounts.len() < 2 || totals.is_empty() {
        return;
    }
    let mut families: Vec<&str> = totals.keys().copied().collect();
    families.sort_by_key(|family| (std::cmp::Reverse(totals.get(family).copied()), *family));
    let worst = |cells: &BTreeMap<&str, Cell>| {
        let sum: usize = cells.values().map(|cell| cell.findings).sum();
        (cells.values().filter_map(|cell| cell.worst).max(), sum)
    };
    let mut all: Vec<(String, BTreeMap<&str, Cell>)> = accounts.into_iter().collect();
    all.sort_by(|(one, ours), (other, theirs)| worst(theirs).cmp(&worst(ours)).then(one.cmp(other)));
    let clean: Vec<String> = all.iter().filter(|(_, cells)| cells.is_empty()).map(|(name, _)| name.clone()).collect();
    page.raw("<h2>")
        .say("Accounts by family of rules")
        .raw("</h2>\n")
        .raw(LONG_TABLE)
        .raw("<table class=\"sortable heat\">\n<thead><tr><th>")
        .say("account")
        .raw("</th><th>")
        .say("findings")
        .raw("</th>");
    for family in &families {
        page.element("th", &[], family);
    }
    page.raw("</tr></thead>\n<tbody>\n");
    for (name, cells) in all.iter().filter(|(_, cells)| !cells.is_empty()) {
        page.raw("<tr>").element("td", &[("class", &"id")], name).element("td", &[], worst(cells).1);
        for family in &families {
            match cells.get(family) {
                Some(Cell { worst: Some(severity), findings }) => {
                    page.element("td", &[("class", &format_args!("hot {}", severity.name()))], findings);
                }
                _ => {
                    page.raw("<td></td>");
                }
            }
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
    let counted = page.language().count(clean.len(), "account");
    folded(page, &counted, &clean);
}

/// Names of what has no finding, folded.
fn folded(page: &mut Markup, counted: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    page.raw("<details><summary>")
        .say_filled("{counted} without findings", &[("counted", &counted)])
        .raw("</summary>\n<p class=\"body dim\">")
        .text(names.join(", "))
        .raw("</p></details>\n");
}

/// A row for each cluster with findings or gaps, the worst first; the others are named.
fn clusters(page: &mut Markup, rows: &[Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    let is_clean =
        |(_, report): &&Row<'_>| report.open().next().is_none() && report.complete && !report.nothing_to_audit;
    // A short list is not worth folding.
    let is_long = rows.iter().filter(is_clean).count() > SHORT;
    let shown: Vec<&Row<'_>> = rows.iter().filter(|row| !(is_long && is_clean(row))).collect();
    let clean = rows.iter().filter(|row| is_long && is_clean(row));
    let clean: Vec<String> =
        clean.map(|(target, report)| format!("{} in {}", report.cluster_id, target.describe())).collect();
    page.raw("<h2>").say("Clusters").raw("</h2>\n").raw(LONG_TABLE).raw("<table class=\"sortable\">\n<thead>");
    page.head(&BY_CLUSTER).raw("</thead>\n<tbody>\n");
    for (target, report) in shown {
        let regions: Vec<&str> = report.regions().into_iter().collect();
        page.raw("<tr><td>");
        cluster(page, &report.cluster_id);
        page.raw("</td>")
            .element("td", &[("class", &"id")], target.describe())
            .element("td", &[], regions.join(", "))
            .element("td", &[], report.nodes());
        for severity in Severity::WORST_FIRST {
            let number = report.count_findings(severity);
            page.element("td", &[("class", &if number > 0 { severity.name() } else { "dim" })], number);
        }
        let unread = report.not_audited.len();
        page.element("td", &[("class", &"dim")], report.summary.waived)
            .element("td", &[("class", &if unread > 0 { "warning" } else { "dim" })], unread)
            .raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
    let counted = page.language().count(clean.len(), "cluster");
    folded(page, &counted, &clean);
    page.raw("<p class=\"dim\">")
        .say("The map and the policies of one cluster:")
        .raw(" <code>tagaudit report FILE --cluster-id ID --format html</code></p>\n");
}

/// Targets without a report: those that could not be read, hold no cluster, or were skipped.
fn others(page: &mut Markup, set: &ReportSet) {
    let without = || set.targets.iter().filter(|target| target.reports.is_empty());
    if without().next().is_none() {
        return;
    }
    let counted = page.language().count(without().count(), "target");
    page.raw("<details><summary>")
        .say_filled("{targets} without an audited cluster", &[("targets", &counted)])
        .raw("</summary>\n")
        .raw(FOLDED_TABLE)
        .raw("<table>")
        .head(&WITHOUT)
        .raw("\n");
    let language = page.language();
    for target in without() {
        let is_due = target.outcome == TargetOutcome::NotAudited || !target.missing_cluster_ids.is_empty();
        let class =
            if is_due || (target.outcome == TargetOutcome::Empty && set.is_nothing()) { "warning" } else { "dim" };
        page.raw("<tr>")
            .element("td", &[("class", &"id")], target.describe())
            .element("td", &[("class", &class)], language.text(target.outcome.words()))
            .element("td", &[("class", &"note")], target.reason())
            .raw("</tr>\n");
    }
    page.raw("</table></div></details>\n");
}
