//! The formats of a report: each says the same as the JSON, and nothing that others wrote does anything in it.

use std::collections::BTreeSet;

use clap::ValueEnum;
use serde_json::Value;
use tagaudit::internals::finding::Severity;
use tagaudit::internals::inventory::{Gap, Read, Subnet};
use tagaudit::internals::render::{FileFormat, FindingsFormat, ReportFormat, TableOptions};
use tagaudit::internals::report::{Report, ResourceRef};
use tagaudit::internals::rules::{Outcome, RULES};
use tagaudit::internals::view::Confidence;

use super::binary::run;
use super::{fixtures, worlds};

/// Every format but the table and the JSON, which have tests of their own.
const FORMATS: [ReportFormat; 8] = [
    ReportFormat::Csv,
    ReportFormat::Junit,
    ReportFormat::Markdown,
    ReportFormat::Sarif,
    ReportFormat::Html,
    ReportFormat::Prometheus,
    ReportFormat::Ocsf,
    ReportFormat::Asff,
];

fn page(report: &Report, format: ReportFormat) -> String {
    let mut bytes = Vec::new();
    format.write(report, &TableOptions::plain(120), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn parsed(report: &Report, format: ReportFormat) -> Value {
    serde_json::from_str(&page(report, format)).unwrap()
}

/// The findings of all requests.
fn imported(report: &Report) -> Vec<Value> {
    let text = page(report, ReportFormat::Asff);
    let requests = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    requests.flat_map(|request| request["Findings"].as_array().unwrap().clone()).collect()
}

fn count(all: &[Value], pointer: &str, is: &Value) -> usize {
    all.iter().filter(|one| one.pointer(pointer) == Some(is)).count()
}

fn reports() -> Vec<(String, Report)> {
    let mut all = Vec::new();
    for world in worlds::all() {
        let nodes = fixtures::parsed_nodes(&world);
        let report = Report::new(&fixtures::report(&world.inventory, world.cluster_id, nodes.as_deref()));
        all.push((world.name.to_owned(), report));
    }
    let mut world = worlds::all().into_iter().find(|world| world.name == "demo").unwrap();
    world.inventory.gaps.push(Gap {
        read: Read::DescribeVpcs,
        account_id: Some(world.inventory.accounts[0].account_id.clone()),
        region: Some(world.inventory.accounts[0].regions[0].name.clone()),
        resource: None,
        policy: None,
        reason: "UnauthorizedOperation".to_owned(),
        message: "you are not authorized | <b>here</b>".to_owned(),
    });
    let report = Report::new(&fixtures::report(&world.inventory, world.cluster_id, None));
    assert!(!report.complete && report.count_rules(Outcome::NotAudited) > 0);
    all.push(("with a gap".to_owned(), report));
    all
}

/// A rule with each outcome and one of each kind of finding: formats that list all rules would say the same 211 times.
pub(crate) const FEW_RULES: [&str; 10] = [
    "--rule",
    "sg-multiple-tagged-on-instance",
    "--rule",
    "subnet-foreign-cluster-tag",
    "--rule",
    "iam-privilege-escalation",
    "--rule",
    "vpc-dns-attributes-disabled",
    "--rule",
    "ccm-duplicate",
];

#[test]
fn the_demo_in_every_format() {
    for format in FORMATS {
        let name = format.to_possible_value().unwrap().get_name().to_owned();
        let scan = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--format", &name];
        let ended = run(&[&scan[..], &FEW_RULES].concat());
        assert_eq!(ended.status.code(), Some(1), "{name}");
        insta::assert_snapshot!(format!("{name}-demo"), String::from_utf8(ended.stdout).unwrap());
    }
}

/// Findings, what was not audited, and what became of the rules are the same numbers in every format.
#[test]
fn the_totals_agree_in_every_format() {
    for (name, report) in reports() {
        let of = |outcome: Outcome| report.rules.iter().filter(|rule| rule.outcome == outcome).count();
        let (findings, unread) = (report.findings.len(), report.not_audited.len());

        let text = page(&report, ReportFormat::Csv);
        let rows: Vec<csv::StringRecord> =
            csv::Reader::from_reader(text.as_bytes()).records().map(Result::unwrap).collect();
        let records = |kind: &str| rows.iter().filter(|row| &row[0] == kind).count();
        assert_eq!(
            (records("finding"), records("not_audited"), records("rule")),
            (findings, unread, report.rules.len())
        );
        for (outcome, word) in [(Outcome::Passed, "passed"), (Outcome::NotAudited, "not_audited")] {
            let told = rows.iter().filter(|row| &row[0] == "rule" && &row[2] == word).count();
            assert_eq!(told, of(outcome), "{name}: {word}");
        }

        let text = page(&report, ReportFormat::Junit);
        let notes = report.findings.iter().filter(|finding| finding.severity == Severity::Info).count();
        assert_eq!(text.matches("<failure ").count(), findings - notes, "{name}");
        let root = text.lines().find(|line| line.contains("<testsuites ")).unwrap();
        assert!(!root.contains("skipped="), "{root}");
        assert_eq!(text.matches("<error ").count(), unread + of(Outcome::NotAudited), "{name}");
        assert_eq!(text.matches("<skipped ").count(), of(Outcome::NotApplicable) + notes, "{name}");
        let cases = findings + unread + report.rules.len() - of(Outcome::Failed);
        assert_eq!(text.matches("<testcase ").count(), cases, "{name}");

        let text = page(&report, ReportFormat::Markdown);
        let verdict = format!(
            "{} rules passed, {} failed, {} not applicable, {} not audited.",
            of(Outcome::Passed),
            of(Outcome::Failed),
            of(Outcome::NotApplicable),
            of(Outcome::NotAudited)
        );
        assert!(text.contains(&verdict), "{name}: {text}");
        assert_eq!(text.matches("<details>").count(), findings, "{name}");
        assert_eq!(text.contains("### Not audited"), unread > 0, "{name}");

        let log = parsed(&report, ReportFormat::Sarif);
        let run = &log["runs"][0];
        assert_eq!(run["results"].as_array().unwrap().len(), findings, "{name}");
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), report.rules.len(), "{name}");
        let invocation = &run["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], unread == 0, "{name}");
        let notifications = invocation["toolExecutionNotifications"].as_array().map_or(0, Vec::len);
        assert_eq!(notifications, unread, "{name}");

        let text = page(&report, ReportFormat::Html);
        assert_eq!(text.matches("data-finding=").count(), findings, "{name}");
        for (outcome, words) in [(Outcome::Passed, "passed"), (Outcome::NotAudited, "not audited")] {
            assert_eq!(text.matches(&format!(">{words}</td>")).count(), of(outcome), "{name}: {words}");
        }

        let text = page(&report, ReportFormat::Prometheus);
        let sum = |start: &str| -> usize {
            let samples = text.lines().filter(|line| line.starts_with(start));
            samples.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
        };
        assert_eq!(sum("tagaudit_findings{"), findings, "{name}");
        assert_eq!(sum("tagaudit_scope_not_audited{"), unread, "{name}");
        assert_eq!(sum("tagaudit_complete{"), usize::from(unread == 0), "{name}");
        assert_eq!(sum("tagaudit_rules{"), report.rules.len(), "{name}");

        let events = parsed(&report, ReportFormat::Ocsf).as_array().unwrap().clone();
        let of_status = |status: u64| count(&events, "/compliance/status_id", &Value::from(status));
        assert_eq!((of_status(3), of_status(2), of_status(1)), (findings, unread, of(Outcome::Passed)), "{name}");

        let all = imported(&report);
        let of_status = |status: &str| count(&all, "/Compliance/Status", &Value::from(status));
        let counted = (of_status("FAILED"), of_status("NOT_AVAILABLE"), of_status("PASSED"));
        assert_eq!(counted, (findings, unread, of(Outcome::Passed)), "{name}");
    }
}

/// S1: what tags, names and messages hold does nothing in a spreadsheet, an XML reader, a pull request or a terminal.
#[test]
fn s1_hostile_texts_are_inert_in_every_format() {
    let hostile = [
        "=cmd|' /C calc'!A0",
        "+1",
        "@SUM(1)",
        "\t=1",
        "<script>alert(1)</script>",
        "]]><!--",
        "\u{1b}[2J\u{1b}]8;;http://x\u{7}",
        "\u{202e}\u{0}\u{fffe}",
        "| a | b |",
        "`x` ```",
        "@octocat #1 https://example.com www.example.com",
        "![x](http://x)",
        "::error::x%0A",
        "a\r\n::set-output name=x::y",
        "$(id) ${x}",
    ];
    let (_, mut report) = reports().into_iter().find(|(name, _)| name == "demo").unwrap();
    let sample = report.findings[0].clone();
    report.findings = hostile
        .iter()
        .map(|text| {
            let mut finding = sample.clone();
            for field in [&mut finding.message, &mut finding.impact, &mut finding.fix.summary, &mut finding.resource.id]
            {
                (*text).clone_into(field);
            }
            finding.resource.name = Some((*text).to_owned());
            finding.related = vec![ResourceRef::bare(finding.resource.kind, *text)];
            finding
        })
        .collect();
    for format in FORMATS {
        let text = page(&report, format);
        assert!(!text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r')), "{format:?}: {text:?}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{format:?}");
        // JSON is for programs: there it is whole.
        if matches!(format, ReportFormat::Ocsf | ReportFormat::Asff | ReportFormat::Sarif) {
            assert!(text.contains("<script>"), "{format:?}");
            continue;
        }
        assert!(!text.contains(['\u{202e}', '\u{fffe}']), "{format:?}: {text}");
        assert!(format == ReportFormat::Csv || !text.contains("<script>"), "{format:?}: {text}");
    }
    let log = parsed(&report, ReportFormat::Sarif);
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let message = result["message"]["text"].as_str().unwrap();
        assert!(!message.contains(['\u{1b}', '\u{202e}']) && !message.contains("![x]("), "{message}");
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%/".contains(&byte)), "{uri}");
        assert!(!uri.starts_with('/') && !uri.split('/').any(|part| part == ".." || part == "."), "{uri}");
    }
    let text = page(&report, ReportFormat::Csv);
    for row in csv::Reader::from_reader(text.as_bytes()).records().map(Result::unwrap) {
        assert!(!row.iter().any(|field| field.starts_with(['=', '+', '-', '@', '\t', '\r'])), "{row:?}");
    }
    let text = page(&report, ReportFormat::Markdown);
    let prose: String = text.split("```").step_by(2).collect();
    for wrong in ["@octocat", "#1 ", "https://example", "www.example", "![", "| a | b |"] {
        assert!(!prose.contains(wrong), "{wrong}: {prose}");
    }
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        assert_eq!(line.matches(" | ").count(), 3, "{line}");
    }
}

#[test]
fn a_saved_report_is_shown_again_as_the_scan_showed_it_with_the_same_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("report.json");
    let saved = saved.to_str().unwrap();
    for (fixture, cluster) in [("demo", "demo"), ("clean-kops-irsa", "irsa.example.com"), ("broken", "bravo")] {
        let fixture = format!("fixtures/{fixture}.json");
        let scan = ["scan", "--cluster-id", cluster, "--inventory", &fixture];
        let first = run(&[&scan[..], &["-o", saved]].concat());
        for format in ReportFormat::value_variants() {
            let value = format.to_possible_value().unwrap();
            let format = value.get_name();
            let scanned = run(&[&scan[..], &["--format", format]].concat());
            let again = run(&["report", saved, "--format", format]);
            assert_eq!(again.stdout, scanned.stdout, "{fixture} as {format}");
            assert_eq!(again.status.code(), scanned.status.code(), "{fixture} as {format}");
            assert_eq!(again.status.code(), first.status.code(), "{fixture} as {format}");
        }
    }
}

/// A report that somebody edited, or that a later version wrote, loses no finding: its rule need not be listed.
#[test]
fn a_finding_whose_rule_is_not_listed_is_a_failure_all_the_same() {
    let (_, mut report) = reports().into_iter().find(|(name, _)| name == "demo").unwrap();
    report.rules.clear();
    let text = page(&report, ReportFormat::Junit);
    assert_eq!(text.matches("<failure ").count(), report.findings.len());
}

/// Nothing found is said of what could be read, and never of the rest.
#[test]
fn what_was_not_audited_is_part_of_the_verdict() {
    let (_, mut report) = reports().into_iter().find(|(_, report)| !report.complete).unwrap();
    report.findings.clear();
    report.summary.findings.clear();
    let text = page(&report, ReportFormat::Markdown);
    let number = report.not_audited.len();
    assert!(text.contains(&format!("**nothing found in what could be read, {number} not audited**: ")), "{text}");
}

/// The words of the formats are those of the JSON.
#[test]
fn outcomes_and_confidences_have_one_word_each() {
    for outcome in [Outcome::Passed, Outcome::Failed, Outcome::NotApplicable, Outcome::NotAudited] {
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
    }
    for confidence in [Confidence::Probable, Confidence::Strong, Confidence::Certain] {
        assert_eq!(serde_json::to_value(confidence).unwrap(), confidence.name());
    }
}

#[test]
fn the_name_of_the_file_says_the_format() {
    let folder = tempfile::tempdir().unwrap();
    for (name, start) in [
        ("r.json", "{\n  \"schema\": \"tagaudit.report/1\""),
        ("r.csv", "record,rule,"),
        ("r.XML", "<?xml "),
        ("r.md", "## tagaudit: cluster demo"),
        ("r.sarif", "{\n  \"$schema\": \"https://docs.oasis-open.org/sarif/"),
        ("r.html", "<!DOCTYPE html>"),
        ("r.prom", "# HELP tagaudit_info "),
        ("r.ocsf", "[\n{\"activity_id\":1"),
        ("r.asff", "{\"Findings\":[{\"AwsAccountId\""),
        ("r.txt", "cluster  demo"),
    ] {
        let file = folder.path().join(name);
        let file = file.to_str().unwrap();
        run(&["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "-o", file]);
        let written = std::fs::read_to_string(file).unwrap();
        assert!(written.starts_with(start), "{name}: {written}");
    }
}

#[test]
fn what_is_no_report_ends_with_its_place_and_two() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    for (text, said) in [
        ("{", "at line 1"),
        ("{\"schema\": \"tagaudit.report/9\"}", "has the schema `tagaudit.report/9`"),
        ("{\"schema\": \"tagaudit.report/1\", \"tool\": 1}", "(/tool)"),
    ] {
        std::fs::write(&file, text).unwrap();
        let ended = run(&["report", file.to_str().unwrap()]);
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
}

/// Several formats in one run are the same as several runs.
#[test]
fn formats_in_one_run_are_those_of_a_run_each() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let scan = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"];
    let (json, sarif, prometheus) = (file("a.log"), file("code"), file("t.prom"));
    let rest =
        ["--format", "csv", "-o", &json, "--format", "sarif", "-o", &sarif, "-o", &prometheus, "--format", "table"];
    let ended = run(&[&scan[..], &rest[..]].concat());
    assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.stdout, run(&scan).stdout);
    for (format, file) in [("csv", &json), ("sarif", &sarif), ("prometheus", &prometheus)] {
        let alone = run(&[&scan[..], &["--format", format]].concat());
        assert_eq!(std::fs::read(file).unwrap(), alone.stdout, "{format}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |file: &str| std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&json), mode(&prometheus)), (0o600, 0o644), "the collector is another user");
    }
}

/// Nothing is written where one of the formats cannot be.
#[test]
fn of_several_formats_all_are_written_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("report.json");
    let (_, mut report) = reports().into_iter().find(|(name, _)| name == "demo").unwrap();
    report.source.collected_at = None;
    std::fs::write(&saved, serde_json::to_vec(&report).unwrap()).unwrap();
    let csv = folder.path().join("a.csv");
    let ocsf = folder.path().join("a.ocsf");
    let ended = run(&["report", saved.to_str().unwrap(), "-o", csv.to_str().unwrap(), "-o", ocsf.to_str().unwrap()]);
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the evidence has no date, but OCSF requires one"), "{stderr}");
    assert!(!csv.exists() && !ocsf.exists());
}

/// J8: what GitHub and Security Hub take of one file is not exceeded.
#[test]
fn j8_thirty_thousand_findings_keep_the_limits_of_those_who_read_them() {
    let (_, mut report) = reports().into_iter().find(|(name, _)| name == "demo").unwrap();
    let samples = report.findings.clone();
    report.findings = (0..30_000)
        .map(|number| {
            let mut finding = samples[number % samples.len()].clone();
            finding.fingerprint = format!("{number:032x}");
            if number < 200 {
                finding.message = "x".repeat(2_000);
            }
            finding
        })
        .collect();
    let log = parsed(&report, ReportFormat::Sarif);
    let runs = log["runs"].as_array().unwrap();
    let sizes: Vec<usize> = runs.iter().map(|run| run["results"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [25_000, 5_000], "SARIF: 25,000 results a run, 20 runs a file");
    let ids: BTreeSet<&str> = runs.iter().map(|run| run["automationDetails"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "runs of one file have different categories");
    for request in page(&report, ReportFormat::Asff).lines() {
        let request: Value = serde_json::from_str(request).unwrap();
        let findings = request["Findings"].as_array().unwrap();
        assert!(findings.len() <= 100);
        for finding in findings {
            assert!(finding["Title"].as_str().unwrap().chars().count() <= 256);
            assert!(finding["Description"].as_str().unwrap().chars().count() <= 1024);
            assert!(finding["Resources"].as_array().unwrap().len() <= 32);
            assert!(finding.to_string().len() <= 240 * 1024);
        }
    }
}

/// A scraped series is there whether or not something is wrong, so that an alert on it can end.
#[test]
fn every_rule_is_a_series_and_no_resource_is_a_label() {
    let (_, report) = reports().into_iter().find(|(name, _)| name == "demo").unwrap();
    let text = page(&report, ReportFormat::Prometheus);
    for rule in &report.rules {
        let severity = RULES.iter().find(|known| known.id == &*rule.rule).unwrap().severity.default;
        let series = format!("rule=\"{}\",severity=\"{}\"}}", rule.rule, severity.name());
        let is_decided = matches!(rule.outcome, Outcome::Passed | Outcome::Failed);
        assert_eq!(text.contains(&series), is_decided, "{series}: what was not checked has no 0");
    }
    assert!(!text.contains("i-0d1"), "{text}");
    for severity in Severity::WORST_FIRST {
        assert_eq!(serde_json::to_value(severity).unwrap(), severity.name());
    }
}

/// What the map draws is what the topology holds.
#[test]
fn the_map_shows_every_node_subnet_and_security_group() {
    for (name, report) in reports() {
        let text = page(&report, ReportFormat::Html);
        for vpc in &report.topology {
            let drawn: usize = text.matches(&format!("aria-label=\"VPC {} in {}\"", vpc.vpc.id, vpc.region)).count();
            assert_eq!(drawn, 1, "{name}: {}", vpc.vpc.id);
            for part in vpc.subnets.iter().map(|subnet| &subnet.part).chain(&vpc.security_groups) {
                assert!(text.contains(&format!("data-find=\"{}\"", part.id)), "{name}: {}", part.id);
            }
        }
        // `3 × worker` for those that are drawn, `and 2 more nodes` for the rest.
        let numbers = |before: &str| -> usize {
            let parts: Vec<&str> = text.split(before).collect();
            let number =
                |part: &&str| part.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap().parse::<usize>().unwrap();
            parts[..parts.len() - 1].iter().map(number).sum()
        };
        let counted: usize = report.topology.iter().flat_map(|vpc| &vpc.nodes).map(|group| group.count).sum();
        assert_eq!(numbers(" × ") + numbers(" more node"), counted, "{name}");
    }
}

/// A large cluster is a table, in which no subnet with findings or nodes is left out; the drawing is folded behind it.
#[test]
fn a_large_cluster_is_a_table_before_its_drawing() {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-rke2").unwrap();
    let mut inventory = world.inventory;
    let region = &mut inventory.accounts[0].regions[0];
    let template = region.instances.iter().find(|instance| instance.id.contains("wk")).unwrap().clone();
    let home = region.subnets.iter().find(|subnet| Some(&subnet.id) == template.subnet_id.as_ref()).unwrap().clone();
    for number in 0..150 {
        let mut instance = template.clone();
        instance.id = format!("i-0many{number:03}");
        // More subnets than the drawing has room for, each with ten nodes; one node lacks its tags.
        instance.subnet_id = Some(format!("subnet-0many{:02}", number / 10));
        if number == 149 {
            instance.tags.retain(|tag| !tag.key.starts_with("kubernetes.io/"));
        }
        region.instances.push(instance);
    }
    for number in 0..15 {
        region.subnets.push(Subnet { id: format!("subnet-0many{number:02}"), ..home.clone() });
    }
    inventory.canonicalise();
    let report = Report::new(&fixtures::report(&inventory, world.cluster_id, None));
    let text = page(&report, ReportFormat::Html);
    let (table, drawing) = text.split_once("<summary>Drawing</summary>").unwrap();
    let table = table.split_once("<table class=\"sortable nodes\">").unwrap().1;
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("<tr><td>")).collect();
    for number in 0..15 {
        let row = rows.iter().find(|row| row.contains(&format!("subnet-0many{number:02}"))).unwrap();
        let wrong = usize::from(number == 14);
        assert!(
            row.contains(&format!(
                "<td>10</td><td class=\"{}\">{wrong}</td>",
                if wrong > 0 { "warning" } else { "dim" }
            )),
            "{row}"
        );
        assert_eq!(row.contains("data-find=\"i-0many149\""), wrong > 0, "{row}");
        assert!(row.contains(&format!("{} × worker", 10 - wrong)), "{row}");
    }
    assert!(drawing.contains("<svg"), "the drawing stays");
    // A small one is drawn alone.
    let small = worlds::all().into_iter().find(|world| world.name == "clean-rke2").unwrap();
    let report = Report::new(&fixtures::report(&small.inventory, small.cluster_id, None));
    assert!(!page(&report, ReportFormat::Html).contains("sortable nodes"));
}

/// Policies in files: the same numbers in every format, and the places of the file in SARIF.
#[test]
fn policy_commands_write_the_formats_of_findings() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("a policy.json");
    let text = "{\n  \"Statement\": [{\"Effect\": \"Allow\", \"Action\": [\"ecr:BatchGetImage\", \"ec2:Bogus\"], \"Resource\": \"*\"}]\n}\n";
    std::fs::write(&policy, text).unwrap();
    let path = policy.to_str().unwrap();
    for (arguments, code) in [
        (vec!["policy", "lint", path, "--fail-on", "warning"], Some(1)),
        (vec!["policy", "diff", "--baseline", "rancher-worker", path], Some(1)),
    ] {
        let written = |format: &str| {
            let ended = run(&[&arguments[..], &["--format", format]].concat());
            assert_eq!(ended.status.code(), code, "{arguments:?} {format}: {}", String::from_utf8_lossy(&ended.stderr));
            String::from_utf8(ended.stdout).unwrap()
        };
        let log: Value = serde_json::from_str(&written("sarif")).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert!(!results.is_empty());
        for result in results {
            let place = &result["locations"][0]["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert!(uri.starts_with("file:///") && uri.ends_with("/a%20policy.json"), "{uri}");
            assert!((1..=3).contains(&place["region"]["startLine"].as_u64().unwrap()), "{place}");
        }
        let notes = results.iter().filter(|result| result["level"] == "note").count();
        assert_eq!(written("junit").matches("<failure ").count(), results.len() - notes);
        assert_eq!(written("markdown").matches("<details>").count(), results.len());
        assert_eq!(written("csv").lines().filter(|line| line.starts_with("finding,")).count(), results.len());
    }
    let lint: Value = serde_json::from_slice(&run(&["policy", "lint", path, "--format", "sarif"]).stdout).unwrap();
    let unknown = lint["runs"][0]["results"].as_array().unwrap().iter().find(|one| one["ruleId"] == "action-unknown");
    let region = &unknown.unwrap()["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&region["startLine"], &region["endLine"]), (&Value::from(2), &Value::from(2)));
}

/// The table of `docs/formats.md` is that of the code.
#[test]
fn the_document_names_every_format_with_its_file() {
    let text = std::fs::read_to_string(fixtures::path("../docs/formats.md")).unwrap();
    // Annotations are for a log.
    let with_files = ReportFormat::value_variants().iter().filter(|format| **format != ReportFormat::Github);
    for format in with_files {
        let value = format.to_possible_value().unwrap();
        let start = format!("| `{}` | `.", value.get_name());
        let row = text.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{start}"));
        let extension = row.strip_prefix(&start).and_then(|rest| rest.split('`').next()).unwrap();
        assert_eq!(
            ReportFormat::from_file(std::path::Path::new("x").with_extension(extension).as_path()),
            Some(*format)
        );
        let is_of_policies = FindingsFormat::from_extension(extension).is_some();
        assert_eq!(row.ends_with("policy lint, policy diff |"), is_of_policies, "{row}");
    }
}
