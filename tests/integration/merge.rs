//! `merge` keeps of each report only what is shown, and reads the rest again for JSON: the bytes are those of a merge that
//! keeps all of it in memory.

use std::fs;
use std::path::Path;

use super::binary::command;

/// Names of files in every format that a merge of both clouds writes.
const FILES: [&str; 8] = ["all.json", "all.html", "all.md", "all.sarif", "all.xml", "all.csv", "all.prom", "all.ocsf"];

/// Reports of several worlds, one after a byte order mark, and a set of two more targets.
fn reports(folder: &Path) {
    let scan = |world: &str, cluster: &str, file: &Path| {
        let mut words = vec!["scan", "--cluster-id", cluster, "--inventory", world, "-q", "-o"];
        words.push(file.to_str().unwrap());
        let output = command().args(&words).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for (world, cluster) in [("broken-rke2", "demo"), ("clean-kops", "kops.example.com"), ("demo", "demo")] {
        scan(&format!("fixtures/{world}.json"), cluster, &folder.join(format!("{world}.json")));
    }
    scan("fixtures/alibaba/broken.json", "prod", &folder.join("alibaba.json"));
    let marked = folder.join("clean-kops.json");
    let text = fs::read(&marked).unwrap();
    fs::write(&marked, [b"\xef\xbb\xbf".as_slice(), &text].concat()).unwrap();
    let parts = tempfile::tempdir().unwrap();
    for (world, cluster) in [("clean-rke2", "demo"), ("clean-capa", "demo")] {
        scan(&format!("fixtures/{world}.json"), cluster, &parts.path().join(format!("{world}.json")));
    }
    let set = folder.join("set.json");
    let words = ["merge", parts.path().to_str().unwrap(), "--fail-on", "never", "-q", "-o", set.to_str().unwrap()];
    let output = command().args(words).args(["--max-age", "100000h"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Merges into a table and the files; returns the table.
fn merge(reports: &Path, into: &Path, more: &[&str]) -> String {
    let mut command = command();
    command.arg("merge").arg(reports).args(["--max-age", "100000h"]).args(more);
    for file in FILES.into_iter().chain(["table.txt"]) {
        command.arg("-o").arg(into.join(file));
    }
    let output = command.output().unwrap();
    assert!(matches!(output.status.code(), Some(1 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(into.join("table.txt")).unwrap()
}

#[test]
fn a_merge_that_reads_again_writes_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let [given, in_part, whole] = ["given", "in-part", "whole"].map(|name| folder.path().join(name));
    for one in [&given, &in_part, &whole] {
        fs::create_dir(one).unwrap();
    }
    reports(&given);
    let table = merge(&given, &in_part, &[]);
    // With `-v`, the table shows each report in full, and so all of them stay in memory.
    let verbose = merge(&given, &whole, &["-v"]);
    assert!(verbose.len() > table.len());
    for file in FILES {
        let [in_part, whole] = [&in_part, &whole].map(|folder| fs::read(folder.join(file)).unwrap());
        assert!(in_part == whole, "{file} differs");
    }
    let text = fs::read_to_string(in_part.join("all.json")).unwrap();
    let set: serde_json::Value = serde_json::from_str(&text).unwrap();
    let reports = set["targets"].as_array().unwrap().iter().flat_map(|one| one["reports"].as_array().unwrap());
    let with_roles = reports.filter(|report| report["roles"].as_array().is_some_and(|roles| !roles.is_empty())).count();
    assert!(with_roles > 0, "the roles of nodes are there");
    let alone = folder.path().join("alone.json");
    let status = command().arg("merge").arg(&given).args(["--max-age", "100000h", "-q", "-o"]).arg(&alone).status();
    assert_eq!(status.unwrap().code(), Some(1));
    assert!(fs::read(&alone).unwrap() == text.as_bytes(), "JSON alone differs");
}

/// JSON alone keeps of each report only what decides the exit code.
#[test]
fn json_alone_ends_like_every_other_format() {
    let given = tempfile::tempdir().unwrap();
    reports(given.path());
    let before = tempfile::tempdir().unwrap();
    // Findings that are unchanged, and warnings that are new.
    let compared = before.path().join("compared.json");
    let older = given.path().join("broken-rke2.json");
    let text = fs::read_to_string(&older).unwrap();
    let mut report: serde_json::Value = serde_json::from_str(&text).unwrap();
    report["findings"].as_array_mut().unwrap().retain(|finding| finding["severity"] != "warning");
    report["summary"]["findings"]["warning"] = 0.into();
    let rest: Vec<String> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].to_string()).collect();
    for outcome in report["rules"].as_array_mut().unwrap() {
        if outcome["outcome"] == "failed" && !rest.contains(&outcome["rule"].to_string()) {
            outcome["outcome"] = "passed".into();
        }
    }
    fs::write(before.path().join("before.json"), report.to_string()).unwrap();
    let output = command()
        .args(["report", older.to_str().unwrap(), "--compare"])
        .arg(before.path().join("before.json"))
        .args(["-q", "-o"])
        .arg(&compared)
        .output()
        .unwrap();
    assert!(compared.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    let clean = given.path().join("clean-kops.json");
    for file in [&compared, &clean, &older, &given.path().join("alibaba.json"), &given.path().to_path_buf()] {
        let verdicts: [&[&str]; 7] = [
            &[],
            &["--fail-on", "error"],
            &["--fail-on", "warning"],
            &["--fail-on", "info", "--fail-on-new"],
            &["--fail-on", "error", "--fail-on-new"],
            &["--fail-on", "never"],
            &["--expect-clusters", "3", "--fail-on", "never"],
        ];
        let mut codes = std::collections::BTreeSet::new();
        for verdict in verdicts {
            let end = |format: &str| {
                let words = ["--max-age", "100000h", "-q", "--format", format];
                command().arg("merge").arg(file).args(words).args(verdict).output().unwrap().status.code()
            };
            assert_eq!(end("json"), end("table"), "{} {verdict:?}", file.display());
            codes.insert(end("json"));
        }
        assert!(file == &clean || codes.len() > 1, "{}: {codes:?}", file.display());
    }
}

#[cfg(unix)]
#[test]
fn a_report_from_a_pipe_stays_whole() {
    let folder = tempfile::tempdir().unwrap();
    reports(folder.path());
    let report = folder.path().join("broken-rke2.json");
    let words = ["--fail-on", "never", "--format", "json"];
    let of_file = command().arg("merge").arg(&report).args(words).output().unwrap();
    let script = format!(
        "cat '{}' | '{}' merge /dev/stdin {}",
        report.display(),
        env!("CARGO_BIN_EXE_tagaudit"),
        words.join(" ")
    );
    let of_pipe = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&of_pipe.stderr), "");
    assert!(!of_file.stdout.is_empty() && of_file.stdout == of_pipe.stdout);
}

/// Of two reports that differ and weigh the same, one counts in every order, and after a second merge.
#[test]
fn content_decides_between_reports_that_weigh_the_same() {
    let folder = tempfile::tempdir().unwrap();
    reports(folder.path());
    let one = folder.path().join("broken-rke2.json");
    let other = folder.path().join("other.json");
    let text = fs::read_to_string(&one).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version));
    fs::write(&other, text.replacen(&version, "\"version\": \"0.0.9\"", 1)).unwrap();
    let merge = |files: &[&Path]| {
        let output =
            command().arg("merge").args(files).args(["--fail-on", "never", "--format", "json"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        output.stdout
    };
    let both = merge(&[&one, &other]);
    assert!(both == merge(&[&other, &one]));
    let merged = folder.path().join("merged.json");
    fs::write(&merged, &both).unwrap();
    for again in [&one, &other] {
        assert!(both == merge(&[&merged, again]), "{}", again.display());
    }
}
