//! The report for the textfile collector of Prometheus' node exporter (its README: no timestamps, one name with one help text).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::Timestamp;

use crate::finding::Severity;
use crate::report::{Report, ReportSet, RuleOutcome, TargetOutcome};
use crate::rules::{self, Outcome};

/// Metrics of a file.
#[derive(Debug, Default)]
struct Exposition {
    families: Vec<Family>,
    /// Labels that the next samples have in common.
    labels: Vec<(&'static str, String)>,
}

/// Samples of one name.
#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    samples: String,
}

/// Writes a report as metrics. Resources are not among the labels: their number is unbounded.
///
/// # Errors
/// When the writer fails.
pub(crate) fn prometheus(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Exposition { labels: vec![("cluster_id", report.cluster_id.clone())], ..Exposition::default() };
    page.report(report, Detail::Everything);
    page.write(out)
}

/// Series of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Everything,
    /// Of hundreds of clusters: severities, and the rules that failed.
    Failures,
}

/// Writes the reports of many targets as metrics: those of each cluster, and those of the run.
///
/// # Errors
/// When the writer fails.
pub(crate) fn prometheus_set(set: &ReportSet, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Exposition::default();
    let series = TargetOutcome::ALL.map(|outcome| ([("outcome", outcome.name())], set.count_targets(outcome)));
    page.counts("targets", "Targets by outcome.", &series);
    page.counts(
        "run_complete",
        "1 if everything could be audited, in every target, and a cluster was found in one.",
        &[([], usize::from(set.complete && !set.is_nothing()))],
    );
    let help = "Entries that could not be audited, in all targets.";
    page.counts("run_scope_not_audited", help, &[([], set.summary.not_audited)]);
    for (target, report) in set.audited() {
        page.labels = vec![
            ("cluster_id", report.cluster_id.clone()),
            ("account_id", target.account_ids.join(",")),
            ("region", target.regions.join(",")),
        ];
        page.report(report, Detail::Failures);
    }
    page.write(out)
}

impl Exposition {
    /// The metrics of a report.
    fn report(&mut self, report: &Report, detail: Detail) {
        let page = self;
        let is_whole = detail == Detail::Everything;
        let version = [("version", report.tool.version.as_str()), ("provider", report.provider.name())];
        page.metric("info", "The tool that wrote this.", &[(&version, 1.0)]);

        let severities = report.configuration.iter().flat_map(|used| &used.severities);
        let series: Vec<_> =
            severities.map(|(rule, severity)| ([("rule", rule.as_str()), ("severity", severity.name())], 1)).collect();
        if !series.is_empty() {
            page.counts("severity_changed", "Severities that the configuration gives to rules.", &series);
        }

        let series = Severity::WORST_FIRST.map(|one| ([("severity", one.name())], report.count_findings(one)));
        page.counts("findings_by_severity", "Open findings by severity.", &series);

        // A passed rule has a sample of 0: a series that comes and goes raises no alert. A rule that did not apply, or
        // could not be audited, has none.
        let mut findings: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
        let is_decided = |rule: &&RuleOutcome| matches!(rule.outcome, Outcome::Passed | Outcome::Failed);
        for rule in report.rules.iter().filter(is_decided).filter(|_| is_whole) {
            let severity = rules::find(&rule.rule).map_or(Severity::Error, |rule| rule.severity.default);
            findings.entry((&rule.rule, severity)).or_default();
        }
        for finding in report.open() {
            *findings.entry((&finding.rule, finding.severity)).or_default() += 1;
        }
        let series: Vec<_> = findings
            .iter()
            .map(|((rule, severity), number)| ([("rule", *rule), ("severity", severity.name())], *number))
            .collect();
        page.counts("findings", "Open findings.", &series);

        let help = "Resources that were left behind, in open findings.";
        page.counts("leftovers", help, &[([], report.count_leftovers())]);
        for (currency, amount) in report.leftover_costs() {
            let help = "Monthly cost of the leftovers of which a price was given.";
            page.metric("leftovers_monthly_cost", help, &[(&[("currency", currency)], amount.units())]);
        }
        page.counts("findings_waived", "Waived findings.", &[([], report.summary.waived)]);
        if let Some(comparison) = &report.comparison {
            let changes = [
                ("new", comparison.new),
                ("unchanged", comparison.unchanged),
                ("resolved", comparison.resolved.len()),
                ("unknown", comparison.unknown.len()),
            ];
            let series = changes.map(|(status, number)| ([("status", status)], number));
            page.counts("findings_compared", "Findings compared with those of the earlier report.", &series);
        }
        let outcomes = [Outcome::Passed, Outcome::Failed, Outcome::NotApplicable, Outcome::NotAudited];
        let series = outcomes.map(|outcome| ([("outcome", outcome.name())], report.count_rules(outcome)));
        if is_whole {
            page.counts("rules", "Rules by outcome.", &series);
            let resources = &report.summary.resources;
            let series: Vec<_> = resources.iter().map(|(kind, number)| ([("kind", kind.as_str())], *number)).collect();
            page.counts("resources", "Resources that were read.", &series);
        }

        page.counts("scope_not_audited", "Entries that could not be audited.", &[([], report.not_audited.len())]);
        let is_complete = report.complete && !report.nothing_to_audit;
        page.counts(
            "complete",
            "1 if everything could be audited and the cluster was found.",
            &[([], usize::from(is_complete))],
        );
        if let Some(read) = report.source.collected_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok()) {
            let seconds = read.as_duration().as_secs_f64();
            page.metric("last_run_timestamp_seconds", "Time at which the evidence was read.", &[(&[], seconds)]);
            if is_complete {
                let help = "Time at which complete evidence was last read; missing if it was incomplete this time.";
                page.metric("last_success_timestamp_seconds", help, &[(&[], seconds)]);
            }
        }
    }

    /// Writes each family in one piece, as the format requires.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for Family { name, help, samples } in &self.families {
            write!(out, "# HELP tagaudit_{name} {help}\n# TYPE tagaudit_{name} gauge\n{samples}")?;
        }
        out.flush()
    }

    fn counts<const N: usize>(
        &mut self,
        name: &'static str,
        help: &'static str,
        series: &[([(&str, &str); N], usize)],
    ) {
        #[expect(clippy::cast_precision_loss, reason = "a sample is a float, and no report holds 2^52 of anything")]
        let series: Vec<(&[(&str, &str)], f64)> =
            series.iter().map(|(labels, number)| (labels.as_slice(), *number as f64)).collect();
        self.metric(name, help, &series);
    }

    /// A family of gauges.
    fn metric(&mut self, name: &'static str, help: &'static str, series: &[(&[(&str, &str)], f64)]) {
        let at = self.families.iter().position(|family| family.name == name).unwrap_or_else(|| {
            self.families.push(Family { name, help, samples: String::new() });
            self.families.len() - 1
        });
        let Some(Family { samples, .. }) = self.families.get_mut(at) else { return };
        let common = || self.labels.iter().map(|(label, text)| (*label, text.as_str()));
        for (labels, value) in series {
            let labels: Vec<String> = common()
                .chain(labels.iter().copied())
                .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
                .collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(samples, "tagaudit_{name}{labels} {value}");
        }
    }
}

/// Escapes the value of a label (Prometheus, "Exposition formats", text-based format), without hidden characters.
fn escaped(value: &str) -> String {
    crate::text::printable(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
