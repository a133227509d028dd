//! `cargo bench --no-default-features --bench merge`: merges the reports of 5,000 and of 50,000 clusters into JSON and a page,
//! and measures the whole process.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed measurement aborts the benchmark")]
#![allow(dead_code, clippy::allow_attributes, clippy::expect_used, reason = "the module serves all benchmarks")]

use std::process::Command;

mod process;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one.json");
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/broken-rke2.json");
    let scan = ["scan", "--cluster-id", "demo", "--inventory", fixture, "-q", "--fail-on", "never", "-o"];
    let status = Command::new(env!("CARGO_BIN_EXE_tagaudit")).args(scan).arg(&one).status().unwrap();
    assert!(matches!(status.code(), Some(0 | 3)), "{status}");
    let text = std::fs::read_to_string(&one).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let first = report.pointer("/accounts/0/account_id").and_then(serde_json::Value::as_str).unwrap();
    println!("a report has {} bytes", text.len());
    let reports = folder.path().join("reports");
    std::fs::create_dir(&reports).unwrap();
    let mut written = 0_u64;
    for number in [5_000, 50_000] {
        for index in written..number {
            let account = format!("{:012}", 100_000_000_000 + index);
            std::fs::write(reports.join(format!("{account}.json")), text.replace(first, &account)).unwrap();
        }
        written = number;
        for format in ["json", "html"] {
            let file = folder.path().join(format!("all.{format}"));
            let arguments = ["merge", reports.to_str().unwrap(), "-q", "-o", file.to_str().unwrap()];
            let (time, peak) = process::watched(1, &arguments);
            println!("{number} reports to {format}: {:.1} s, {} MB at the peak", time.as_secs_f64(), peak / 1_000_000);
        }
    }
}
