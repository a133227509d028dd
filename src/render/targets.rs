//! The reports of many targets for a terminal: findings by cluster, worst first, and each rule once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::finding::Severity;
use crate::report::{ReportSet, ReportView, TargetOutcome, TargetReport};
use crate::text;

use super::style::{NARROW, Painter, TableOptions, fact, layout, padded, paragraph};
use super::table;
use super::words::verdict_words;

/// Columns of the table of clusters.
const COLUMNS: [&str; 8] = ["cluster", "account", "region", "nodes", "errors", "warnings", "notes", "not audited"];
const NARROW_COLUMNS: [&str; 3] = ["cluster", "account", "result"];

/// Maximum number of rows that are shown before the rest is folded.
const SHOWN: usize = 30;

/// Writes the reports of many targets for a terminal; with `-v`, each report in full.
///
/// # Errors
/// When the writer fails.
pub(crate) fn targets(set: &ReportSet, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    let mut page = String::new();
    header(&mut page, set, painter, options);
    clusters(&mut page, set, options);
    rules(&mut page, set, painter, options);
    gone(&mut page, set, painter, options);
    not_audited(&mut page, set, painter, options);
    others(&mut page, set, painter, options);
    out.write_all(page.as_bytes())?;
    if options.verbose {
        for (_, report) in set.audited() {
            writeln!(out, "\n{}", painter.dim(&"─".repeat(options.width)))?;
            table::report(report, options, out)?;
        }
    } else if set.summary.clusters > 0 {
        let hint = options.language.text(
            "-v shows each report; for one of them: `--format json -o FILE`, then `tagaudit report FILE --cluster-id ID`",
        );
        writeln!(out)?;
        for line in text::wrap(&hint, options.width, "", "") {
            writeln!(out, "{}", painter.dim(&line))?;
        }
    }
    out.flush()
}

fn header(page: &mut String, set: &ReportSet, painter: Painter, options: &TableOptions) {
    let language = options.language;
    let mut line = |label: &'static str, value: &str| fact(page, &language.text(label), value, painter, options);
    let outcomes: Vec<String> = TargetOutcome::ALL
        .into_iter()
        .map(|outcome| (set.count_targets(outcome), outcome.words()))
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{number} {}", language.text(words)))
        .collect();
    line(
        "targets",
        &if outcomes.is_empty() {
            language.text("none in this shard").into_owned()
        } else {
            outcomes.join(language.comma())
        },
    );
    line("evidence", &text::printable(&set.evidence()));
    let clean = set.audited().filter(|(_, report)| report.complete && report.open().next().is_none()).count();
    line(
        "clusters",
        &match set.summary.clusters {
            0 => language.text("none audited").into_owned(),
            number => language.fill("{number}, {clean} of them clean", &[("number", &number), ("clean", &clean)]),
        },
    );
    let verdict: Vec<String> = ReportView::from(set)
        .verdict()
        .into_iter()
        .map(|part| {
            let words = verdict_words(part, language);
            match part.severity() {
                Some(severity) => painter.severity(severity, &words),
                None if set.complete => painter.good(&words),
                None => words,
            }
        })
        .collect();
    let label = painter.dim(&padded(&language.text("result"), 9));
    let _ = writeln!(page, "{label}{}", verdict.join(language.comma()));
    if let Some(changes) = set.changes() {
        let _ = writeln!(page, "{}{}", painter.dim(&padded(&language.text("changes"), 9)), text::printable(&changes));
    }
}

/// A row for each cluster with findings or gaps.
fn clusters(page: &mut String, set: &ReportSet, options: &TableOptions) {
    let rows = set.worst_first();
    let worth: Vec<_> = rows
        .into_iter()
        .filter(|(_, report)| options.verbose || !report.complete || report.open().next().is_some())
        .collect();
    if worth.is_empty() {
        return;
    }
    let is_narrow = options.width < NARROW;
    let language = options.language;
    let columns: &[&str] = if is_narrow { &NARROW_COLUMNS } else { &COLUMNS };
    let columns: Vec<_> = columns.iter().map(|column| language.text(column)).collect();
    let mut table = layout(options.width, &columns.iter().map(|column| &**column).collect::<Vec<_>>());
    let limit = if options.verbose { usize::MAX } else { SHOWN };
    for (target, report) in worth.iter().take(limit) {
        let (cluster, account) =
            (text::printable(&report.cluster_id), text::printable(&target.describe()).into_owned());
        let found = Severity::WORST_FIRST.map(|severity| shown(report.count_findings(severity)));
        let unread = shown(report.not_audited.len());
        if is_narrow {
            let words: Vec<String> =
                ReportView::from(*report).verdict().into_iter().map(|part| verdict_words(part, language)).collect();
            table.add_row([cluster.into_owned(), account, words.join(language.comma())]);
        } else {
            let regions: Vec<&str> = report.regions().into_iter().collect();
            let [errors, warnings, infos] = found;
            let regions = text::printable(&text::list(&regions, 3)).into_owned();
            let row =
                [cluster.into_owned(), account, regions, report.nodes().to_string(), errors, warnings, infos, unread];
            table.add_row(row);
        }
    }
    let _ = writeln!(page, "\n{table}");
    if worth.len() > limit {
        let _ = writeln!(page, "{}", options.language.left_out(worth.len() - limit));
    }
}

/// A count, or a dot for zero.
fn shown(number: usize) -> String {
    if number == 0 { "·".to_owned() } else { number.to_string() }
}

/// Each rule with open findings once, with the clusters in which it was found.
fn rules(page: &mut String, set: &ReportSet, painter: Painter, options: &TableOptions) {
    let view = ReportView::from(set);
    let mut rules: Vec<(&str, Severity, usize, BTreeMap<&str, usize>)> = Vec::new();
    let mut places: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
    for found in view.open() {
        let at = *places.entry((&found.finding.rule, found.severity)).or_insert_with(|| {
            rules.push((&found.finding.rule, found.severity, 0, BTreeMap::new()));
            rules.len() - 1
        });
        if let Some((.., number, clusters)) = rules.get_mut(at) {
            *number += 1;
            *clusters.entry(found.cluster_id.unwrap_or_default()).or_default() += 1;
        }
    }
    if rules.is_empty() {
        return;
    }
    let language = options.language;
    let _ = writeln!(
        page,
        "\n{}",
        painter.bold(&language.text("Findings by rule: `tagaudit explain RULE` describes a rule"))
    );
    for (rule, severity, number, clusters) in rules {
        let severity = painter.severity(severity, &padded(&language.severity(severity), 8));
        let names: Vec<&str> = clusters.keys().copied().collect();
        let found = language.count(number, "finding");
        let limit = if options.verbose { usize::MAX } else { 4 };
        let places = text::printable(&text::list(&names, limit)).into_owned();
        let found_in = language.fill("{findings} in {clusters}", &[("findings", &found), ("clusters", &places)]);
        if options.width < NARROW {
            let _ = writeln!(page, "{severity} {}\n         {found_in}", text::printable(rule));
        } else {
            let _ = writeln!(page, "{severity} {:<36} {found_in}", text::printable(rule));
        }
    }
}

/// Earlier findings of clusters that are resolved or unknown now.
fn gone(page: &mut String, set: &ReportSet, painter: Painter, options: &TableOptions) {
    let view = ReportView::from(set);
    let Some(changes) = &view.changes else { return };
    let parts = [
        (options.language.text("Resolved: no longer found"), &changes.resolved),
        (options.language.text("Unknown: found before, but not checked this time"), &changes.unknown),
    ];
    let limit = if options.verbose { usize::MAX } else { SHOWN };
    for (heading, gone) in parts.into_iter().filter(|(_, gone)| !gone.is_empty()) {
        let _ = writeln!(page, "\n{}", painter.bold(&heading));
        for one in gone.iter().take(limit) {
            let severity =
                painter.severity(one.found.severity, &padded(&options.language.severity(one.found.severity), 8));
            let place = one.found.full_place();
            let _ = writeln!(page, "{severity} {:<36} {}", text::printable(&one.found.rule), text::printable(&place));
            if let Some(why) = one.why {
                paragraph(page, &options.language.text("why"), why, painter, options);
            }
        }
        if gone.len() > limit {
            let _ = writeln!(page, "  {}", painter.dim(&options.language.left_out(gone.len() - limit)));
        }
    }
}

/// Targets that could not be audited, and entries that belong to none.
fn not_audited(page: &mut String, set: &ReportSet, painter: Painter, options: &TableOptions) {
    let mut entries: Vec<(String, String)> = Vec::new();
    for entry in &set.not_audited {
        let what = [Some(&entry.what), entry.resource.as_ref()].into_iter().flatten();
        let what: Vec<&str> = what.map(String::as_str).collect();
        entries.push((what.join(" "), format!("{}: {}", entry.reason, entry.message)));
    }
    for target in &set.targets {
        for entry in &target.not_audited {
            entries.push((target.describe(), format!("{}: {}: {}", entry.what, entry.reason, entry.message)));
        }
    }
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{}", painter.bold(&options.language.text("Not audited: unknown, not clean")));
    let limit = if options.verbose { usize::MAX } else { SHOWN };
    for (what, why) in entries.iter().take(limit) {
        let _ = writeln!(page, "\n{}", painter.bold(&text::printable(what)));
        paragraph(page, &options.language.text("why"), why, painter, options);
    }
    if entries.len() > limit {
        let _ = writeln!(page, "  {}", painter.dim(&options.language.left_out(entries.len() - limit)));
    }
}

/// Targets without a cluster, and targets that were skipped.
fn others(page: &mut String, set: &ReportSet, painter: Painter, options: &TableOptions) {
    let names = |is_meant: &dyn Fn(&TargetReport) -> bool| -> Vec<String> {
        set.targets.iter().filter(|target| is_meant(target)).map(TargetReport::describe).collect()
    };
    let language = options.language;
    let limit = if options.verbose { usize::MAX } else { 6 };
    let mut say = |heading: &str, names: &[String]| {
        if !names.is_empty() {
            let _ = writeln!(page, "\n{}", painter.bold(heading));
            paragraph(page, &language.text("in"), &text::list(names, limit), painter, options);
        }
    };
    let is_empty = |target: &TargetReport| target.outcome == TargetOutcome::Empty;
    say(
        &language.text("Nothing to audit: no cluster found"),
        &names(&|target| is_empty(target) && target.missing_cluster_ids.is_empty()),
    );
    for target in set.targets.iter().filter(|target| !target.missing_cluster_ids.is_empty()) {
        let missing = text::list(&target.missing_cluster_ids, limit);
        say(
            &language.fill(
                "No cluster found any more: the earlier run audited {clusters}",
                &[("clusters", &text::printable(&missing))],
            ),
            &[target.describe()],
        );
    }
    let mut skipped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for target in set.targets.iter().filter(|target| target.outcome == TargetOutcome::Skipped) {
        skipped.entry(target.why.as_deref().unwrap_or_default()).or_default().push(target.describe());
    }
    for (why, names) in skipped {
        say(&language.fill("Skipped: {why}", &[("why", &text::printable(why))]), &names);
    }
}
