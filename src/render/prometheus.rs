//! The report for the textfile collector of Prometheus' node exporter (its README: no timestamps, one name with one help text).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::Timestamp;

use crate::finding::Severity;
use crate::report::Report;
use crate::rules::{self, Outcome};

/// Writes a report as metrics. Resources are not among the labels: their number has no bound.
///
/// # Errors
/// When the writer fails.
pub fn prometheus(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { text: String::new(), cluster_id: &report.cluster_id };
    let version = [("version", report.tool.version.as_str()), ("provider", report.provider.name())];
    page.metric("info", "The tool that wrote this.", &[(&version, 1.0)]);

    // What is in order is there with 0: a series that comes and goes raises no alert.
    let mut findings: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
    for rule in &report.rules {
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

    page.counts("findings_waived", "Findings that are left as they are.", &[([], report.summary.waived)]);
    if let Some(comparison) = &report.comparison {
        let changes = [
            ("new", comparison.new),
            ("unchanged", comparison.unchanged),
            ("resolved", comparison.resolved.len()),
            ("unknown", comparison.unknown.len()),
        ];
        let series = changes.map(|(status, number)| ([("status", status)], number));
        page.counts("findings_compared", "Findings beside those of the earlier report.", &series);
    }
    let outcomes = [Outcome::Passed, Outcome::Failed, Outcome::NotApplicable, Outcome::NotAudited];
    let series = outcomes.map(|outcome| ([("outcome", outcome.name())], report.rules_of(outcome)));
    page.counts("rules", "Rules by what became of them.", &series);

    let series: Vec<_> =
        report.summary.resources.iter().map(|(kind, number)| ([("kind", kind.as_str())], *number)).collect();
    page.counts("resources", "Resources that were read.", &series);

    page.counts("scope_not_audited", "What could not be audited.", &[([], report.not_audited.len())]);
    page.counts("complete", "Whether everything could be audited.", &[([], usize::from(report.complete))]);
    if let Some(read) = report.source.collected_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok()) {
        let seconds = read.as_duration().as_secs_f64();
        page.metric("last_run_timestamp_seconds", "When the evidence was read.", &[(&[], seconds)]);
        if report.complete {
            let help = "When evidence was last read whole; missing where this time it was not.";
            page.metric("last_success_timestamp_seconds", help, &[(&[], seconds)]);
        }
    }
    out.write_all(page.text.as_bytes())?;
    out.flush()
}

struct Page<'r> {
    text: String,
    cluster_id: &'r str,
}

impl Page<'_> {
    fn counts<const N: usize>(&mut self, name: &str, help: &str, series: &[([(&str, &str); N], usize)]) {
        #[expect(clippy::cast_precision_loss, reason = "a sample is a float, and no report holds 2^52 of anything")]
        let series: Vec<(&[(&str, &str)], f64)> =
            series.iter().map(|(labels, number)| (labels.as_slice(), *number as f64)).collect();
        self.metric(name, help, &series);
    }

    /// A family of gauges.
    fn metric(&mut self, name: &str, help: &str, series: &[(&[(&str, &str)], f64)]) {
        let _ = write!(self.text, "# HELP tagaudit_{name} {help}\n# TYPE tagaudit_{name} gauge\n");
        for (labels, value) in series {
            let _ = write!(self.text, "tagaudit_{name}{{cluster_id=\"{}\"", escaped(self.cluster_id));
            for (label, text) in *labels {
                let _ = write!(self.text, ",{label}=\"{}\"", escaped(text));
            }
            let _ = writeln!(self.text, "}} {value}");
        }
    }
}

/// The value of a label (Prometheus, "Exposition formats", text-based format), with nothing hidden in it.
fn escaped(value: &str) -> String {
    crate::text::printable(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
