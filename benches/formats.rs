//! `cargo bench --no-default-features --bench formats`: rewrites a saved report with 30,000 findings in every format,
//! with the
//! built binary.

#![expect(
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a failed measurement aborts the benchmark"
)]

use clap::ValueEnum;
use std::process::Command;
use tagaudit::internals::finding::Severity;
use tagaudit::internals::render::ReportFormat;
use tagaudit::internals::report::Report;

mod process;

use process::watched;

const FINDINGS: usize = 30_000;
const RUNS: usize = 5;

fn main() {
    let root = env!("CARGO_MANIFEST_DIR");
    let inventory = format!("{root}/fixtures/broken.json");
    let scan = Command::new(env!("CARGO_BIN_EXE_tagaudit"))
        .args(["scan", "--cluster-id", "bravo", "--inventory", &inventory, "--format", "json"])
        .output()
        .unwrap();
    let mut report = Report::from_slice("scan", &scan.stdout).unwrap();
    let samples = report.findings.clone();
    report.findings = (0..FINDINGS)
        .map(|number| {
            let mut finding = samples[number % samples.len()].clone();
            finding.resource.id = format!("{}-{number}", finding.resource.id);
            finding.fingerprint = format!("{number:032x}");
            finding
        })
        .collect();
    for severity in Severity::WORST_FIRST {
        let number = report.findings.iter().filter(|finding| finding.severity == severity).count();
        report.summary.findings.insert(severity.name().to_owned(), number);
    }
    let file = std::env::temp_dir().join("tagaudit-bench-formats.json");
    std::fs::write(&file, serde_json::to_vec(&report).unwrap()).unwrap();
    drop(report);
    let file = file.to_str().unwrap();
    println!("a report of {FINDINGS} findings, {:.1} MB", std::fs::metadata(file).unwrap().len() as f64 / 1e6);
    for format in ReportFormat::value_variants() {
        let value = format.to_possible_value().unwrap();
        let (time, peak) = watched(RUNS, &["report", file, "--format", value.get_name(), "--fail-on", "never"]);
        println!("{:<12} {:>5} ms {:>7.1} MB", value.get_name(), time.as_millis(), peak as f64 / 1e6);
    }
    let (time, peak) = watched(RUNS, &["report", file, "--compare", file, "--fail-on", "never"]);
    println!("{:<12} {:>5} ms {:>7.1} MB", "--compare", time.as_millis(), peak as f64 / 1e6);
}
