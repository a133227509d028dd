//! The formats of a report: each says the same as the JSON, and nothing that others wrote does anything in it.

use tagaudit::inventory::{Gap, Read};
use tagaudit::render;
use tagaudit::report::{Report, ResourceRef};
use tagaudit::rules::Outcome;
use tagaudit::view::Confidence;

use super::binary::run;
use super::{fixtures, worlds};

type Write = fn(&Report, &mut dyn std::io::Write) -> std::io::Result<()>;

const FORMATS: [(&str, Write); 3] = [("csv", render::csv), ("junit", render::junit), ("markdown", render::markdown)];

fn page(report: &Report, write: Write) -> String {
    let mut bytes = Vec::new();
    write(report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
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
    assert!(!report.complete && report.rules_of(Outcome::NotAudited) > 0);
    all.push(("with a gap".to_owned(), report));
    all
}

#[test]
fn the_demo_in_every_format() {
    for (format, _) in FORMATS {
        let ended = run(&["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--format", format]);
        assert_eq!(ended.status.code(), Some(1), "{format}");
        insta::assert_snapshot!(format!("{format}-demo"), String::from_utf8(ended.stdout).unwrap());
    }
}

/// Findings, what was not audited, and what became of the rules are the same numbers in every format.
#[test]
fn the_totals_agree_in_every_format() {
    for (name, report) in reports() {
        let of = |outcome: Outcome| report.rules.iter().filter(|rule| rule.outcome == outcome).count();
        let (findings, unread) = (report.findings.len(), report.not_audited.len());

        let text = page(&report, render::csv);
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

        let text = page(&report, render::junit);
        assert_eq!(text.matches("<failure ").count(), findings, "{name}");
        assert_eq!(text.matches("<error ").count(), unread + of(Outcome::NotAudited), "{name}");
        assert_eq!(text.matches("<skipped ").count(), of(Outcome::NotApplicable), "{name}");
        let cases = findings + unread + report.rules.len() - of(Outcome::Failed);
        assert_eq!(text.matches("<testcase ").count(), cases, "{name}");

        let text = page(&report, render::markdown);
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
    for (format, write) in FORMATS {
        let text = page(&report, write);
        assert!(!text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r')), "{format}: {text:?}");
        assert!(!text.contains(['\u{202e}', '\u{fffe}']), "{format}: {text}");
        assert!(format == "csv" || !text.contains("<script>"), "{format}: {text}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{format}");
    }
    let text = page(&report, render::csv);
    for row in csv::Reader::from_reader(text.as_bytes()).records().map(Result::unwrap) {
        assert!(!row.iter().any(|field| field.starts_with(['=', '+', '-', '@', '\t', '\r'])), "{row:?}");
    }
    let text = page(&report, render::markdown);
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
        for format in ["table", "json", "csv", "junit", "markdown"] {
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
    let text = page(&report, render::junit);
    assert_eq!(text.matches("<failure ").count(), report.findings.len());
}

/// Nothing found is said of what could be read, and never of the rest.
#[test]
fn what_was_not_audited_is_part_of_the_verdict() {
    let (_, mut report) = reports().into_iter().find(|(_, report)| !report.complete).unwrap();
    report.findings.clear();
    report.summary.findings.clear();
    let text = page(&report, render::markdown);
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
