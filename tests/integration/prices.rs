//! `--prices`: what leftovers cost a month.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::binary::run;
use super::documents::{read, schema};

/// The example of `deploy`, for the region of the leftovers of `fixtures/broken.json`.
fn prices(folder: &tempfile::TempDir, change: impl Fn(&str) -> String) -> PathBuf {
    let file = folder.path().join("prices.toml");
    fs::write(&file, change(&read("deploy/prices.toml").replace("us-east-1", "eu-west-1"))).unwrap();
    file
}

fn scan(file: &std::path::Path, format: &str) -> (Option<i32>, String, String) {
    let file = file.display().to_string();
    let output = run(&[
        "scan",
        "--inventory",
        "fixtures/broken.json",
        "--cluster-id=bravo",
        "--rule=orphan-*",
        "--prices",
        &file,
        "--format",
        format,
    ]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// 100 GiB of gp3 at 0.08 a GiB; groups, subnets and interfaces cost nothing.
#[test]
fn leftovers_state_their_cost_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let file = prices(&folder, str::to_owned);
    let (_, json, _) = scan(&file, "json");
    let report: Value = serde_json::from_str(&json).unwrap();
    let errors: Vec<String> = schema("report.schema.json").iter_errors(&report).map(|one| one.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let costs: Vec<(&Value, &Value)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| !finding["monthly_cost"].is_null())
        .map(|finding| (&finding["rule"], &finding["monthly_cost"]))
        .collect();
    let expected = serde_json::json!({"amount": "8.00", "currency": "USD", "prices_of": "2026-11-29"});
    assert_eq!(costs, [(&Value::from("orphan-volume"), &expected)]);
    let stated = "about 8.00 USD a month at the prices of 2026-11-29";
    for format in ["table", "markdown", "html", "csv", "junit", "sarif"] {
        let (_, page, error) = scan(&file, format);
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(stated), "{format}: {error}{page}");
    }
    let (_, samples, _) = scan(&file, "prometheus");
    assert!(samples.contains("tagaudit_leftovers{cluster_id=\"bravo\"} 4\n"), "{samples}");
    assert!(
        samples.contains("tagaudit_leftovers_monthly_cost{cluster_id=\"bravo\",currency=\"USD\"} 8\n"),
        "{samples}"
    );
}

#[test]
fn without_a_price_there_is_no_figure() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [("gp3", "io2"), ("eu-west-1", "us-west-2")] {
        let (_, page, error) = scan(&prices(&folder, |text| text.replace(from, to)), "table");
        assert!(page.contains("orphan-volume") && !page.contains("a month"), "{error}{page}");
    }
}

#[test]
fn a_mistake_in_the_list_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = prices(&folder, |text| text.replace("kind = \"gp3\"\n", ""));
    let (code, _, error) = scan(&file, "table");
    assert_eq!(code, Some(2), "{error}");
    let text = fs::read_to_string(&file).unwrap();
    let line = text.lines().position(|line| line.contains("\"volume\"")).unwrap();
    assert!(error.contains(&format!("line {line}, column 1: the price has no `kind`")), "{error}");
    assert!(error.contains("help: for example kind = \"gp3\""), "{error}");
}
