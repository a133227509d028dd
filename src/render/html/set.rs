//! The page of many targets: a row for each cluster, and the findings of all.

use std::io::{self, Write};

use crate::finding::Severity;
use crate::report::{ReportSet, ReportView, TargetOutcome};
use crate::text;

use super::markup::{FOLDED_TABLE, Markup, TABLE};

/// Writes the reports of many targets as a page for a browser. The map and the policies of a cluster are on its own
/// page.
///
/// # Errors
/// When the writer fails.
pub(crate) fn html_set(set: &ReportSet, out: &mut dyn Write) -> io::Result<()> {
    let view = ReportView::from(set);
    let mut page = Markup::default();
    page.raw("<main>\n").element("h1", &[], &view.subject);
    super::verdict_box(&mut page, &view);
    page.raw("<dl class=\"facts\">\n");
    let outcomes = TargetOutcome::ALL.map(|outcome| format!("{} {}", set.count_targets(outcome), outcome.words()));
    page.raw("<dt>evidence</dt>").element("dd", &[], set.evidence());
    page.raw("<dt>targets</dt>").element("dd", &[], outcomes.join(", ")).raw("\n</dl>\n</div>\n");
    clusters(&mut page, set);
    others(&mut page, set);
    super::findings(&mut page, &view);
    super::gone(&mut page, &view);
    super::waived(&mut page, &view);
    super::not_audited(&mut page, &view);
    super::rules(&mut page, &view);
    super::whole(page, &view, out)
}

/// A row for each cluster, the worst first.
fn clusters(page: &mut Markup, set: &ReportSet) {
    let rows = set.worst_first();
    if rows.is_empty() {
        return;
    }
    page.raw("<h2>Clusters</h2>\n").raw(TABLE).raw("<table>\n<thead><tr><th>cluster</th><th>account</th><th>regions</th><th>nodes</th><th>errors</th><th>warnings</th><th>notes</th><th>waived</th><th>not audited</th></tr></thead>\n<tbody>\n");
    for (target, report) in rows {
        let regions: Vec<&str> = report.regions().into_iter().collect();
        page.raw("<tr>")
            .element("td", &[("class", &"id")], &report.cluster_id)
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
    page.raw("</tbody></table></div>\n<p class=\"dim\">The map and the policies of one cluster: ")
        .raw("<code>tagaudit report FILE --cluster-id ID --format html</code></p>\n");
}

/// Targets without a report: those that could not be read, hold no cluster, or were skipped.
fn others(page: &mut Markup, set: &ReportSet) {
    let without = || set.targets.iter().filter(|target| target.reports.is_empty());
    if without().next().is_none() {
        return;
    }
    page.raw("<details><summary>")
        .text(format_args!("{} without an audited cluster", text::count(without().count(), "target")))
        .raw("</summary>\n")
        .raw(FOLDED_TABLE)
        .raw("<table><tr><th>account</th><th>outcome</th><th>why</th></tr>\n");
    for target in without() {
        let is_due = target.outcome == TargetOutcome::NotAudited || !target.missing_cluster_ids.is_empty();
        let class =
            if is_due || (target.outcome == TargetOutcome::Empty && set.is_nothing()) { "warning" } else { "dim" };
        page.raw("<tr>")
            .element("td", &[("class", &"id")], target.describe())
            .element("td", &[("class", &class)], target.outcome.words())
            .element("td", &[("class", &"note")], target.reason())
            .raw("</tr>\n");
    }
    page.raw("</table></div></details>\n");
}
