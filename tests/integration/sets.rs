//! Reports of many targets: every format, what is new since an earlier run, and joining the shards of one.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::{Value, json};
use tagaudit::internals::finding::{Severity, Status};
use tagaudit::internals::inventory::Gap;
use tagaudit::internals::inventory::Read;
use tagaudit::internals::render::{ReportFormat, TableOptions};
use tagaudit::internals::report::{
    MergeInput, MergeLimits, NotAudited, PresentShard, Report, ReportSet, Shards, TargetOutcome, TargetReport,
};
use tagaudit::internals::target::{Shard, Target};

use super::binary::run;
use super::documents::{in_step, read, schema};
use super::{fixtures, worlds};

/// When everything here was read.
pub(crate) const READ: &str = "2026-11-21T02:00:00Z";

/// A report of a world as if it were in another account.
pub(crate) fn report_in(world: &str, account_id: &str, read_at: &str) -> Report {
    let world = worlds::all().into_iter().find(|one| one.name == world).unwrap();
    let first = world.inventory.accounts[0].account_id.clone();
    let mut inventory = world.inventory;
    inventory.collected_at = Some(read_at.to_owned());
    let text = serde_json::to_string(&inventory).unwrap().replace(&first, account_id);
    let inventory = serde_json::from_str(&text).unwrap();
    Report::new(&fixtures::report(&inventory, world.cluster_id, None))
}

/// A report as if it were of another region than Frankfurt.
fn moved(report: &Report, region: &str) -> Report {
    let text = serde_json::to_string(report).unwrap().replace("eu-central-1", region);
    serde_json::from_str(&text).unwrap()
}

fn limits(hours: i64) -> MergeLimits {
    MergeLimits { max_age: Some(SignedDuration::from_hours(hours)), not_before: None }
}

fn present(index: u32) -> PresentShard {
    PresentShard { index, collected_at: READ.to_owned() }
}

pub(crate) fn target(account_id: &str, reports: Vec<Report>) -> TargetReport {
    TargetReport {
        role: Some("audit".to_owned()),
        collected_at: Some(READ.to_owned()),
        reports,
        ..TargetReport::new(vec![account_id.to_owned()])
    }
}

fn refused(account_id: &str) -> TargetReport {
    let entry = NotAudited {
        what: "sts:AssumeRole".to_owned(),
        resource: Some(format!("arn:aws:iam::{account_id}:role/audit")),
        account_id: Some(account_id.to_owned()),
        region: None,
        reason: "AssumeRoleFailed".to_owned(),
        message: "AccessDenied: not authorized | <b>here</b>".to_owned(),
        rules: Vec::new(),
    };
    TargetReport { outcome: TargetOutcome::NotAudited, not_audited: vec![entry], ..target(account_id, Vec::new()) }
}

fn suspended(account_id: &str) -> TargetReport {
    TargetReport {
        outcome: TargetOutcome::Skipped,
        why: Some("the account is SUSPENDED".to_owned()),
        name: Some("old".to_owned()),
        role: None,
        ..target(account_id, Vec::new())
    }
}

/// Everything that can happen to a target.
fn whole() -> ReportSet {
    let mut unread = report_in("clean-kops", "444444444444", READ);
    unread.complete = false;
    unread.not_audited.push(NotAudited {
        what: "iam:GetRolePolicy".to_owned(),
        resource: Some("arn:aws:iam::444444444444:role/x".to_owned()),
        account_id: Some("444444444444".to_owned()),
        region: None,
        reason: "AccessDenied".to_owned(),
        message: "not authorized".to_owned(),
        rules: vec!["iam-action-missing".to_owned()],
    });
    unread.summary.not_audited = 1;
    let targets = vec![
        target("111111111111", vec![report_in("demo", "111111111111", READ)]),
        target("222222222222", vec![report_in("clean-rke2", "222222222222", READ)]),
        // The same id in another region is another cluster.
        TargetReport {
            regions: vec!["eu-west-1".to_owned()],
            ..target("222222222222", vec![moved(&report_in("broken-rke2", "222222222222", READ), "eu-west-1")])
        },
        target("333333333333", Vec::new()),
        target("444444444444", vec![unread]),
        refused("555555555555"),
        suspended("666666666666"),
    ];
    ReportSet::new(targets, None, Vec::new())
}

pub(crate) fn page(set: &ReportSet, format: ReportFormat) -> String {
    let mut page = Vec::new();
    format.write_set(set, &TableOptions::plain(120), &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

fn parsed(set: &ReportSet, format: ReportFormat) -> Value {
    serde_json::from_str(&page(set, format)).unwrap()
}

#[test]
fn a_set_in_every_format() {
    let set = whole();
    for format in [ReportFormat::Table, ReportFormat::Markdown, ReportFormat::Prometheus] {
        let name = format.to_possible_value().unwrap().get_name().to_owned();
        insta::assert_snapshot!(format!("{name}-set"), page(&set, format));
    }
    let narrow = {
        let mut page = Vec::new();
        let options = TableOptions::plain(60);
        ReportFormat::Table.write_set(&set, &options, &mut page).unwrap();
        String::from_utf8(page).unwrap()
    };
    insta::assert_snapshot!("table-set-narrow", narrow);
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
}

/// Findings and what was not audited are the same numbers in every format.
#[test]
fn the_totals_of_a_set_agree_in_every_format() {
    let set = whole();
    let findings: usize = set.reports().map(|report| report.findings.len()).sum();
    let unread = set.unread().count();
    assert_eq!((set.summary.not_audited, unread, set.complete), (2, 2, false));
    assert!(findings > 5, "{findings}");

    let text = page(&set, ReportFormat::Csv);
    let rows: Vec<csv::StringRecord> =
        csv::Reader::from_reader(text.as_bytes()).records().map(Result::unwrap).collect();
    let records = |kind: &str| rows.iter().filter(|row| &row[0] == kind).count();
    assert_eq!((records("finding"), records("not_audited")), (findings, unread));
    assert!(rows.iter().filter(|row| &row[0] == "finding").all(|row| !row[19].is_empty()), "each says its cluster");

    let text = page(&set, ReportFormat::Junit);
    assert_eq!(text.matches("<failure ").count(), findings);

    let text = page(&set, ReportFormat::Markdown);
    assert_eq!(text.matches("<details>").count(), findings);

    let log = parsed(&set, ReportFormat::Sarif);
    assert_eq!(log["runs"].as_array().unwrap().len(), 1);
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), findings);
    let keys: std::collections::BTreeSet<&str> =
        results.iter().map(|result| result["partialFingerprints"]["tagaudit/v1"].as_str().unwrap()).collect();
    assert_eq!(keys.len(), findings, "no two are taken for one");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    assert_eq!(run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap().len(), unread);

    let text = page(&set, ReportFormat::Html);
    assert_eq!(text.matches("data-finding=").count(), findings);

    let text = page(&set, ReportFormat::Prometheus);
    let sum = |name: &str| -> usize {
        let samples = text.lines().filter(|line| line.starts_with(&format!("tagaudit_{name}{{")));
        samples.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
    };
    assert_eq!(sum("findings"), findings);
    assert!(text.contains(&format!("tagaudit_run_scope_not_audited {unread}\n")), "{text}");
    let series: Vec<&str> =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(series.iter().collect::<std::collections::BTreeSet<_>>().len(), series.len(), "no series twice");

    let failed = |value: &Value| value["compliance"]["status"] == "Fail";
    let events = parsed(&set, ReportFormat::Ocsf);
    let events = events.as_array().unwrap();
    assert_eq!(events.iter().filter(|event| failed(event)).count(), findings);
    let warned = events.iter().filter(|event| event["compliance"]["status"] == "Warning").count();
    assert_eq!(warned, unread);

    let text = page(&set, ReportFormat::Asff);
    let imported: Vec<Value> = text
        .lines()
        .flat_map(|line| serde_json::from_str::<Value>(line).unwrap()["Findings"].as_array().unwrap().clone())
        .collect();
    let of = |status: &str| imported.iter().filter(|one| one["Compliance"]["Status"] == status).count();
    assert_eq!((of("FAILED"), of("NOT_AVAILABLE")), (findings, unread));

    let by_severity: usize = Severity::WORST_FIRST.into_iter().map(|severity| set.count_findings(severity)).sum();
    assert_eq!(by_severity, findings);
}

#[test]
fn a_set_is_what_its_schema_says_and_reads_back_as_it_was() {
    let report: Value = serde_json::from_str(&read("docs/report.schema.json")).unwrap();
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let mut defs = report["$defs"].as_object().unwrap().clone();
    let mut alone = report.clone();
    for name in ["$schema", "$id", "$defs"] {
        alone.as_object_mut().unwrap().remove(name);
    }
    defs.insert("report".to_owned(), alone);
    let unread = report["properties"]["not_audited"].clone();
    let counts = json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/count"}});
    let outcomes: Vec<&str> = TargetOutcome::ALL.map(TargetOutcome::name).into();
    let schema_of_sets = json!({
        "$schema": report["$schema"],
        "$id": tagaudit::internals::report::SET_SCHEMA,
        "title": "Reports of many targets",
        "description": "The output of `tagaudit scan` with --targets, --organization or --all-clusters, and of `tagaudit merge`, with --format json.",
        "type": "object",
        "additionalProperties": false,
        "required": ["schema", "tool", "complete", "not_audited", "targets", "summary"],
        "properties": {
            "schema": {"const": tagaudit::internals::report::SET_SCHEMA},
            "tool": report["properties"]["tool"],
            "complete": {"type": "boolean"},
            "shards": {
                "description": "Which parts of a run it holds",
                "type": "object",
                "additionalProperties": false,
                "required": ["count", "present"],
                "properties": {
                    "count": {"$ref": "#/$defs/count"},
                    "present": {"type": "array", "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["index", "collected_at"],
                        "properties": {"index": {"$ref": "#/$defs/count"}, "collected_at": {"type": "string"}},
                    }},
                },
            },
            "not_audited": unread,
            "targets": {"type": "array", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["account_ids", "regions", "cluster_ids", "outcome", "not_audited", "reports"],
                "properties": {
                    "account_ids": texts,
                    "name": {"type": "string"},
                    "role": {"type": "string"},
                    "regions": texts,
                    "cluster_ids": texts,
                    "collected_at": {"type": "string"},
                    "outcome": {"enum": outcomes},
                    "why": {"type": "string"},
                    "not_audited": unread,
                    "gone_cluster_ids": texts,
                    "missing_cluster_ids": texts,
                    "reports": {"type": "array", "items": {"$ref": "#/$defs/report"}},
                },
            }},
            "summary": {
                "type": "object",
                "additionalProperties": false,
                "required": ["targets", "clusters", "findings", "waived", "not_audited"],
                "properties": {
                    "targets": counts,
                    "clusters": {"$ref": "#/$defs/count"},
                    "findings": counts,
                    "waived": {"$ref": "#/$defs/count"},
                    "not_audited": {"$ref": "#/$defs/count"},
                },
            },
        },
        "$defs": defs,
    });
    in_step("docs/report-set.schema.json", &(serde_json::to_string_pretty(&schema_of_sets).unwrap() + "\n"));
    let validator = schema("report-set.schema.json");
    let mut sharded = whole();
    sharded.shards = Some(Shards { count: 4, present: vec![present(1), present(3)] });
    for set in [whole(), sharded] {
        let written = serde_json::to_value(&set).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&written).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new());
        let text = page(&set, ReportFormat::Json);
        let back = ReportSet::from_slice("set.json", text.as_bytes()).unwrap();
        assert!(back == set);
    }
    let mut wrong = serde_json::to_value(whole()).unwrap();
    wrong["targets"][0]["outcome"] = "fine".into();
    assert!(!validator.is_valid(&wrong), "the schema can fail");
}

#[test]
fn a_set_that_contradicts_itself_is_refused_with_its_place() {
    let whole = serde_json::to_value(whole()).unwrap();
    let edits: [(&str, Value, &str); 11] = [
        ("/complete", json!(true), "/complete"),
        ("/summary/clusters", json!(99), "/summary"),
        ("/summary/not_audited", json!(0), "/summary"),
        ("/targets/0/account_ids/0", json!("x"), "/targets/0"),
        ("/targets/5/not_audited", json!([]), "/targets/5"),
        ("/targets/0/account_ids", json!([]), "/targets/0"),
        ("/targets/0/collected_at", json!("garbage"), "/targets/0/reports/0/source/collected_at"),
        ("/targets/0/collected_at", json!("2026-11-25T00:00:00Z"), "/targets/0/reports/0/source/collected_at"),
        ("/targets/0/reports/0/schema", json!("tagaudit.report/9"), "/targets/0/reports/0/schema"),
        ("/targets/0/reports/0/complete", json!(false), "/targets/0/reports/0/complete"),
        ("/targets/0/reports/0/findings/0/fingerprint", json!(""), "/targets/0/reports/0/findings/0"),
    ];
    for (pointer, value, place) in edits {
        let mut edited = whole.clone();
        *edited.pointer_mut(pointer).unwrap() = value;
        let error = ReportSet::from_slice("set.json", edited.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains("contradicts itself") && error.contains(&format!("`{place}`")), "{pointer}: {error}");
    }
    let mut shards = whole;
    shards["shards"] = json!({"count": 2, "present": [{"index": 2, "collected_at": READ}]});
    let error = ReportSet::from_slice("set.json", shards.to_string().as_bytes()).unwrap_err().to_string();
    assert!(error.contains("`/shards`"), "{error}");
}

/// Eight shards of twelve accounts.
fn shards() -> Vec<ReportSet> {
    let accounts: Vec<String> = (0..12).map(|index| format!("{:012}", 700_000_000_000_u64 + index)).collect();
    (0..8)
        .map(|index| {
            let shard = Shard { index, count: 8 };
            let held = accounts.iter().enumerate().filter(|(_, id)| shard.holds(id));
            let targets = held
                .map(|(number, id)| match number {
                    3 => refused(id),
                    5 => suspended(id),
                    number => {
                        let world = if number % 2 == 0 { "demo" } else { "clean-rke1" };
                        target(id, vec![report_in(world, id, READ)])
                    }
                })
                .collect();
            ReportSet::new(targets, Some(Shards { count: 8, present: vec![present(index)] }), Vec::new())
        })
        .collect()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn merged(files: &[&Path], more: &[&str]) -> (Option<i32>, String) {
    let files = files.iter().map(|file| file.to_str().unwrap());
    let arguments: Vec<&str> =
        ["merge"].into_iter().chain(files).chain(["--format", "json"]).chain(more.iter().copied()).collect();
    let output = run(&arguments);
    (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
}

/// J6.
#[test]
fn shards_in_any_order_with_one_twice_one_missing_and_one_corrupt_are_the_same_bytes() {
    let folder = Folder::new();
    let files: Vec<PathBuf> = shards()
        .iter()
        .enumerate()
        .map(|(index, set)| folder.write(&format!("shard-{index}.json"), &page(set, ReportFormat::Json)))
        .collect();
    let cut = fs::read_to_string(&files[6]).unwrap();
    fs::write(&files[6], &cut.as_bytes()[..cut.len() / 2]).unwrap();
    // The second is missing, the seventh cut, the first there twice.
    let given: Vec<&Path> = [0, 2, 3, 4, 5, 6, 7, 0].into_iter().map(|index: usize| files[index].as_path()).collect();
    let (code, text) = merged(&given, &["--fail-on", "never"]);
    assert_eq!(code, Some(3), "{text}");
    let set: Value = serde_json::from_str(&text).unwrap();
    let told: Vec<String> = set["not_audited"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {}", entry["what"].as_str().unwrap(), entry["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(told, ["report Unreadable", "shard Missing", "shard Missing"], "{text}");
    let here: Vec<Value> =
        set["shards"]["present"].as_array().unwrap().iter().map(|shard| shard["index"].clone()).collect();
    assert_eq!(here, [0, 2, 3, 4, 5, 7]);
    for turn in 1..given.len() {
        let mut turned = given.clone();
        turned.rotate_left(turn);
        assert!(merged(&turned, &["--fail-on", "never"]).1 == text, "turned by {turn}");
        turned.reverse();
        assert!(merged(&turned, &["--fail-on", "never"]).1 == text, "turned by {turn} and reversed");
    }
    // In two steps, and once more.
    let (_, first) = merged(&given[..4], &[]);
    let (_, second) = merged(&given[4..], &[]);
    let (first, second) = (folder.write("first.json", &first), folder.write("second.json", &second));
    assert!(merged(&[&second, &first], &["--fail-on", "never"]).1 == text);
    let whole = folder.write("whole.json", &text);
    assert!(merged(&[&whole], &["--fail-on", "never"]).1 == text);
    // With findings that count, and with everything there.
    assert_eq!(merged(&given, &[]).0, Some(1));
    fs::write(&files[6], &cut).unwrap();
    let all: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let (code, text) = merged(&all, &["--fail-on", "never"]);
    let set: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &set["not_audited"]), (Some(3), &json!([])), "one account was refused");
    assert_eq!(
        set["summary"]["targets"],
        json!({"audited": 10, "not_audited": 1, "nothing_to_audit": 0, "skipped": 1})
    );
    // Of nothing that can be read, nothing is known.
    assert_eq!(merged(&[Path::new("nowhere.json")], &[]).0, Some(4));
}

#[test]
fn shards_of_different_runs_are_not_joined() {
    let folder = Folder::new();
    let files: Vec<PathBuf> = shards()
        .iter()
        .take(2)
        .enumerate()
        .map(|(index, set)| folder.write(&format!("{index}.json"), &page(set, ReportFormat::Json)))
        .collect();
    let other = ReportSet::new(Vec::new(), Some(Shards { count: 10, present: vec![present(9)] }), Vec::new());
    let other = folder.write("other.json", &page(&other, ReportFormat::Json));
    let (code, text) = merged(&[&files[0], &other, &files[1]], &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("a run with 8 shards, and of one with 10"), "{text}");
    // What an earlier run left behind is only missing.
    let present = vec![PresentShard { index: 9, collected_at: "2026-11-19T02:00:00Z".to_owned() }];
    let old = folder.write(
        "old.json",
        &page(&ReportSet::new(Vec::new(), Some(Shards { count: 10, present }), Vec::new()), ReportFormat::Json),
    );
    let (code, text) = merged(&[&files[0], &old, &files[1]], &["--fail-on", "never"]);
    let set: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &set["shards"]["count"]), (Some(3), &json!(8)), "{text}");
    // By the clock, all of it is of another run.
    let (code, text) = merged(&[&files[0], &files[1]], &["--fail-on", "never", "--newer-than", "1h"]);
    let set: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, set["shards"]["present"].as_array().unwrap().len()), (Some(4), 0), "{text}");
    assert_eq!(set["summary"]["targets"]["audited"], 0);
}

#[test]
fn a_report_of_an_earlier_run_counts_as_missing() {
    let old = |account: &str, read: &str| TargetReport {
        collected_at: Some(read.to_owned()),
        ..target(account, vec![report_in("clean-rke1", account, read)])
    };
    let sets = [
        ReportSet::new(vec![old("111111111111", "2026-11-20T01:59:59Z")], None, Vec::new()),
        ReportSet::new(vec![old("222222222222", "2026-11-20T02:00:00Z")], None, Vec::new()),
        ReportSet::new(vec![old("333333333333", READ)], None, Vec::new()),
    ];
    let join = |order: &[usize], hours: i64| {
        let inputs = order.iter().map(|index| MergeInput::Set(sets[*index].clone()));
        ReportSet::merge(inputs, limits(hours)).unwrap()
    };
    let set = join(&[0, 1, 2], 24);
    assert_eq!((set.count_targets(TargetOutcome::Audited), set.complete), (2, false));
    assert_eq!(set.targets[0].not_audited[0].reason, "TooOld");
    assert!(set == join(&[2, 0, 1], 24));
    assert!(join(&[0, 1, 2], 25).complete);
    // The later of two of the same account counts, whatever it says.
    let later = ReportSet::new(
        vec![TargetReport { collected_at: Some("2026-11-21T03:00:00Z".into()), ..refused("333333333333") }],
        None,
        Vec::new(),
    );
    let of_both = |one: &ReportSet, other: &ReportSet| {
        ReportSet::merge([one, other].map(|set| MergeInput::Set(set.clone())), MergeLimits::default()).unwrap()
    };
    let set = of_both(&sets[2], &later);
    assert!(set == of_both(&later, &sets[2]));
    assert_eq!(set.count_targets(TargetOutcome::NotAudited), 1);
}

/// What a file does not say never makes a run look whole.
#[test]
fn what_is_empty_undated_or_skipped_counts_for_nothing() {
    let merge = |sets: &[&ReportSet]| {
        let inputs = sets.iter().map(|set| MergeInput::Set((*set).clone()));
        ReportSet::merge(inputs, limits(24)).unwrap()
    };
    let both = |one: &ReportSet, other: &ReportSet| {
        let set = merge(&[one, other]);
        assert!(set == merge(&[other, one]) && set == merge(&[&set, one]) && set == merge(&[other, &set, &set]));
        set
    };
    let account = "111111111111";
    let in_region = |region: &str, world: &str| {
        let target = target(account, vec![report_in(world, account, READ)]);
        ReportSet::new(vec![TargetReport { regions: vec![region.to_owned()], ..target }], None, Vec::new())
    };
    // Two regions of one account are two audits.
    let set = both(&in_region("us-east-1", "demo"), &in_region("eu-central-1", "clean-rke2"));
    assert_eq!((set.summary.clusters, set.count_findings(Severity::Error)), (2, 3));
    // Two that say different things at the same moment: the worse one.
    let clean = ReportSet::new(vec![target(account, vec![report_in("clean-rke1", account, READ)])], None, Vec::new());
    let broken = ReportSet::new(vec![target(account, vec![report_in("demo", account, READ)])], None, Vec::new());
    assert_eq!(both(&clean, &broken).count_findings(Severity::Error), 3);
    // Skipped is no answer where there is one, however late it comes.
    let skipped = TargetReport {
        role: Some("audit".into()),
        collected_at: Some("2026-11-21T05:00:00Z".into()),
        ..suspended(account)
    };
    let skipped = ReportSet::new(vec![skipped], None, Vec::new());
    assert_eq!(both(&skipped, &broken).count_findings(Severity::Error), 3);
    // A shard without accounts has a date of its own.
    let shard = |index: u32, at: &str, targets: Vec<TargetReport>| {
        let present = vec![PresentShard { index, collected_at: at.to_owned() }];
        ReportSet::new(targets, Some(Shards { count: 2, present }), Vec::new())
    };
    let fresh = shard(1, READ, vec![target(account, Vec::new())]);
    let set = both(&fresh, &shard(0, "2026-11-20T01:00:00Z", Vec::new()));
    assert_eq!((set.complete, set.not_audited[0].resource.as_deref()), (false, Some("0/2")));
    assert!(both(&fresh, &shard(0, "2026-11-21T01:00:00Z", Vec::new())).complete);
    // And what has none is of no run.
    let undated = ReportSet::new(
        vec![TargetReport { collected_at: None, ..target("222222222222", Vec::new()) }],
        None,
        Vec::new(),
    );
    assert_eq!(both(&broken, &undated).targets[1].not_audited[0].reason, "NoDate");
    assert!(merge(&[&undated]).complete, "where nothing has one, nothing is older");
    // A set and a report of its own are not two.
    let alone = ReportSet::from(report_in("demo", account, READ));
    let set = both(&broken, &alone);
    assert_eq!((set.summary.clusters, set.count_findings(Severity::Error)), (1, 3));
    // Whichever of two reports of a cluster is shown, what either could not see is told.
    let mut unread = whole().targets.into_iter().find(|target| target.account_ids[0] == "444444444444").unwrap();
    let mut seen = unread.clone();
    seen.reports[0].complete = true;
    seen.reports[0].not_audited.clear();
    seen.reports[0].summary.not_audited = 0;
    seen.cluster_ids = vec![seen.reports[0].cluster_id.clone()];
    for _ in 0..2 {
        let (one, other) = (unread.clone(), seen.clone());
        let set = both(&ReportSet::new(vec![one], None, Vec::new()), &ReportSet::new(vec![other], None, Vec::new()));
        assert_eq!((set.complete, set.summary.clusters, set.summary.not_audited), (false, 1, 1));
        assert!(page(&set, ReportFormat::Table).contains("clusters 1, 0 of them clean"));
        std::mem::swap(&mut unread.cluster_ids, &mut seen.cluster_ids);
    }
    // Nothing at all is not clean.
    let folder = Folder::new();
    for (set, code) in [
        (ReportSet::new(Vec::new(), None, Vec::new()), 4),
        (skipped, 4),
        (shard(0, READ, Vec::new()), 4),
        (ReportSet::new(vec![target(account, Vec::new())], None, Vec::new()), 0),
    ] {
        let file = folder.write("set.json", &page(&set, ReportFormat::Json));
        assert_eq!(merged(&[&file], &[]).0, Some(code), "{set:?}");
    }
    // Alone, a shard without accounts is no failure of its pod.
    let file = folder.write("set.json", &page(&shard(0, READ, Vec::new()), ReportFormat::Json));
    assert_eq!(run(&["report", file.to_str().unwrap()]).status.code(), Some(0));
}

#[test]
fn numbers_without_end_and_marks_before_the_text_are_read_or_refused() {
    let folder = Folder::new();
    let whole = serde_json::to_value(whole()).unwrap();
    for (pointer, value) in [
        ("/targets/0/reports/0/summary/nodes", json!({"worker": u64::MAX, "x": 1})),
        ("/targets/0/reports/0/rules/0/checked", json!(u64::MAX)),
    ] {
        let mut edited = whole.clone();
        *edited.pointer_mut(pointer).unwrap() = value;
        let file = folder.write("set.json", &edited.to_string());
        for format in ["table", "html", "markdown", "csv", "prometheus"] {
            let output = run(&["report", file.to_str().unwrap(), "--format", format]);
            assert_eq!(
                output.status.code(),
                Some(1),
                "{pointer} {format}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    let marked = folder.write("bom.json", &format!("\u{feff}{whole}"));
    assert_eq!(run(&["report", marked.to_str().unwrap()]).status.code(), Some(1));
    for (text, said) in [
        (format!("{whole}{{}}"), "trailing characters"),
        (whole.to_string().replacen("report-set/1", "report-set/2", 1), "`tagaudit.report-set/1`"),
    ] {
        let file = folder.write("wrong.json", &text);
        let output = run(&["report", file.to_str().unwrap()]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
}

#[test]
fn targets_that_have_to_be_there_and_are_not_were_not_audited() {
    let folder = Folder::new();
    let account = "111111111111";
    let file = folder.write(
        "a.json",
        &page(&ReportSet::new(vec![target(account, Vec::new())], None, Vec::new()), ReportFormat::Json),
    );
    let targets = folder.write("targets.json", &json!([{"account": account}, {"account": "222222222222"}]).to_string());
    let (code, text) = merged(&[&file], &["--targets", targets.to_str().unwrap()]);
    let set: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (code, &set["summary"]["targets"]),
        (Some(3), &json!({"audited": 1, "not_audited": 1, "nothing_to_audit": 0, "skipped": 0}))
    );
    assert_eq!(set["targets"][1]["not_audited"][0]["reason"], "Missing");
    // A report of one cluster is one of the target.
    let report = report_in("clean-rke1", account, READ);
    let mut page = Vec::new();
    ReportFormat::Json.write(&report, &TableOptions::plain(80), &mut page).unwrap();
    let file = folder.write("one.json", std::str::from_utf8(&page).unwrap());
    let wanted = json!([{"account": account, "cluster-ids": [report.cluster_id]}]).to_string();
    let targets = folder.write("targets.json", &wanted);
    assert_eq!(merged(&[&file], &["--targets", targets.to_str().unwrap()]).0, Some(0));
    let targets = folder.write("targets.json", &json!([{"account": account, "cluster-ids": ["other"]}]).to_string());
    assert_eq!(merged(&[&file], &["--targets", targets.to_str().unwrap()]).0, Some(3));
    // One clean cluster, a skipped account, and half of the regions are not the whole account.
    let missing = |set: &ReportSet, wanted: &Value| {
        let mut set = set.clone();
        set.expect(&Target::list("t", json!([wanted]).to_string().as_bytes()).unwrap());
        !set.complete
    };
    let one = ReportSet::from(report.clone());
    let all = ReportSet::new(
        vec![TargetReport { regions: vec!["us-east-1".into()], ..target(account, Vec::new()) }],
        None,
        Vec::new(),
    );
    let gone = ReportSet::new(vec![suspended(account)], None, Vec::new());
    for (set, wanted, is_missing) in [
        (&one, json!({"account": account}), true),
        (&gone, json!({"account": account}), true),
        (&all, json!({"account": account}), false),
        (&all, json!({"account": account, "regions": ["us-east-1"]}), false),
        (&all, json!({"account": account, "regions": ["us-east-1", "eu-west-1"]}), true),
        (&all, json!({"account": account, "cluster-ids": ["nope"]}), true),
    ] {
        assert_eq!(missing(set, &wanted), is_missing, "{wanted}");
    }
    let expected = Target::list("t", wanted.as_bytes()).unwrap();
    let mut set = ReportSet::from(report);
    set.expect(&expected);
    assert!(set.complete);
}

#[test]
fn what_is_new_in_many_targets_and_what_nobody_looked_at() {
    let before = ReportSet::new(
        vec![
            target("111111111111", vec![report_in("demo", "111111111111", "2026-11-20T02:00:00Z")]),
            target("222222222222", vec![report_in("broken-rke2", "222222222222", "2026-11-20T02:00:00Z")]),
            target("333333333333", vec![report_in("demo", "333333333333", "2026-11-20T02:00:00Z")]),
            target("444444444444", vec![report_in("demo", "444444444444", "2026-11-20T02:00:00Z")]),
        ],
        None,
        Vec::new(),
    );
    let demo = before.targets[0].reports[0].findings.len();
    let broken = before.targets[1].reports[0].findings.len();
    let mut now = ReportSet::new(
        vec![
            target("111111111111", vec![report_in("demo", "111111111111", READ)]),
            refused("222222222222"),
            suspended("333333333333"),
            target("555555555555", vec![report_in("demo", "555555555555", READ)]),
        ],
        None,
        Vec::new(),
    );
    now.compare(&before).unwrap();
    let statuses = |set: &ReportSet, account: &str, status: Status| {
        let targets = set.targets.iter().filter(|target| target.account_ids[0] == account);
        let findings = targets.flat_map(|target| &target.reports).flat_map(|report| &report.findings);
        findings.filter(|finding| finding.status == status).count()
    };
    let unknown = |set: &ReportSet, account: &str| -> Vec<String> {
        let targets = set.targets.iter().filter(|target| target.account_ids[0] == account);
        let comparisons = targets.flat_map(|target| &target.reports).filter_map(|report| report.comparison.as_ref());
        comparisons.flat_map(|one| &one.unknown).filter_map(|gone| gone.why.clone()).collect()
    };
    assert_eq!(statuses(&now, "111111111111", Status::Unchanged), demo);
    assert_eq!(statuses(&now, "555555555555", Status::New), demo);
    let lost = unknown(&now, "222222222222");
    assert_eq!(lost.len(), broken);
    assert!(lost[0].contains("222222222222 was not audited: sts:AssumeRole"), "{}", lost[0]);
    assert_eq!(unknown(&now, "333333333333")[0], "the account is SUSPENDED");
    assert_eq!(unknown(&now, "444444444444")[0], "this run did not audit the cluster");
    assert_eq!(now.count_targets(TargetOutcome::Skipped), 2, "a target that nobody asked for makes nothing incomplete");
    let all = broken + 2 * demo;
    assert_eq!(
        now.changes().unwrap(),
        format!("{demo} new, {demo} unchanged, 0 resolved, {all} unknown since 2026-11-20T02:00:00Z")
    );
    for format in [ReportFormat::Json, ReportFormat::Table, ReportFormat::Html, ReportFormat::Junit, ReportFormat::Csv]
    {
        assert!(!page(&now, format).is_empty());
    }
    let text = page(&now, ReportFormat::Json);
    assert!(schema("report-set.schema.json").is_valid(&serde_json::from_str(&text).unwrap()));
    let saved = ReportSet::from_slice("now.json", text.as_bytes()).unwrap();

    // Of what nobody looked at there is nothing to show, and nothing that could pass.
    let folder = Folder::new();
    let file = folder.write("now.json", &text);
    assert_eq!(
        run(&["report", file.to_str().unwrap(), "--cluster-id", "demo", "--account", "444444444444"]).status.code(),
        Some(4)
    );
    // And joining changes nothing: what is left over has no date of this run.
    assert!(ReportSet::merge([MergeInput::Set(saved.clone())], limits(24)).unwrap() == saved);

    // An unread day loses nothing: when the account is read again, what is still there is not new, and the rest is resolved.
    let mut later = ReportSet::new(
        vec![
            target("222222222222", vec![report_in("broken-rke2", "222222222222", "2026-11-22T02:00:00Z")]),
            target("333333333333", vec![report_in("demo", "333333333333", "2026-11-22T02:00:00Z")]),
        ],
        None,
        Vec::new(),
    );
    later.compare(&saved).unwrap();
    assert_eq!(statuses(&later, "222222222222", Status::Unchanged), broken);
    assert_eq!(statuses(&later, "333333333333", Status::Unchanged), demo);
    assert_eq!(unknown(&later, "444444444444").len(), demo, "and what nobody looks at stays unknown");
}

/// What two targets of the earlier run hold is one cluster: that which was shown.
#[test]
fn a_cluster_that_was_there_twice_is_compared_once() {
    let account = "111111111111";
    let at = |hour: u32, role: &str, world: &str| {
        let read = format!("2026-11-20T{hour:02}:00:00Z");
        let mut report = report_in(world, account, &read);
        report.cluster_id = "demo".to_owned();
        TargetReport { role: Some(role.to_owned()), collected_at: Some(read), ..target(account, vec![report]) }
    };
    let number = at(1, "x", "demo").reports[0].findings.len();
    for (later, new) in [("demo", 0), ("clean", number)] {
        let clean = |hour, role| {
            let mut clean = at(hour, role, "demo");
            let report = &mut clean.reports[0];
            report.findings.clear();
            report.rules.iter_mut().for_each(|rule| rule.outcome = tagaudit::internals::rules::Outcome::Passed);
            report.summary.findings.values_mut().for_each(|count| *count = 0);
            clean
        };
        let pair = if later == "demo" {
            vec![clean(1, "a"), at(5, "b", "demo")]
        } else {
            vec![at(1, "a", "demo"), clean(5, "b")]
        };
        let before = ReportSet::new(pair, None, Vec::new());
        assert_eq!(before.summary.clusters, 1);
        let mut now = ReportSet::new(vec![target(account, vec![report_in("demo", account, READ)])], None, Vec::new());
        now.compare(&before).unwrap();
        let comparison = now.reports().next().unwrap().comparison.clone().unwrap();
        assert_eq!((comparison.new, comparison.unchanged), (new, number - new), "{later}");
        assert_eq!((comparison.resolved.len(), comparison.unknown.len(), now.targets.len()), (0, 0, 1), "{later}");
    }
}

/// A cluster that was deleted is over; one whose instances are still there lost its tags, and that is told.
#[test]
fn a_cluster_that_is_gone_is_resolved_and_one_that_lost_its_tags_is_not() {
    let folder = Folder::new();
    let demo = fs::read_to_string(fixtures::path("demo.json")).unwrap();
    let moved = demo.replace("kubernetes.io/cluster/demo", "kubernetes.io/cluster/moved");
    let scan = |inventory: &Path, more: &[&str]| {
        let inventory = inventory.to_str().unwrap();
        let output = run(&[&["scan", "--all-clusters", "--inventory", inventory, "--format", "json"], more].concat());
        let set = ReportSet::from_slice("set", &output.stdout).unwrap();
        (String::from_utf8(output.stdout).unwrap(), set)
    };
    let of = |set: &ReportSet, id: &str| set.reports().find(|report| report.cluster_id == id).cloned();
    let (before, known) = scan(&fixtures::path("demo.json"), &[]);
    let number = of(&known, "demo").unwrap().findings.len();
    let before = folder.write("before.json", &before);
    let compare = ["--compare", before.to_str().unwrap()];

    let (_, stripped) = scan(&folder.write("stripped.json", &moved), &compare);
    let report = of(&stripped, "demo").unwrap();
    assert_eq!(report.findings[0].rule, "cluster-id-unexpected");
    assert!(of(&stripped, "moved").is_some());

    let deleted = folder.write("deleted.json", &moved.replace("i-0d1", "i-0e1"));
    let (last, set) = scan(&deleted, &compare);
    let report = of(&set, "demo").unwrap();
    let comparison = report.comparison.unwrap();
    assert_eq!((report.findings.len(), comparison.resolved.len(), comparison.unknown.len()), (0, number, 0));
    assert_eq!(set.targets[0].gone_cluster_ids, ["demo"]);
    // An account that could not be read in between changes nothing of that.
    let mut unread = ReportSet::new(vec![TargetReport { role: None, ..refused("123456789012") }], None, Vec::new());
    unread.compare(&known).unwrap();
    let unread = folder.write("unread.json", &page(&unread, ReportFormat::Json));
    let (_, later) = scan(&folder.path("stripped.json"), &["--compare", unread.to_str().unwrap()]);
    assert_eq!(of(&later, "demo").unwrap().findings[0].rule, "cluster-id-unexpected");
    let (_, later) = scan(&deleted, &["--compare", unread.to_str().unwrap()]);
    assert_eq!(of(&later, "demo").unwrap().comparison.unwrap().resolved.len(), number);
    // Reports alone do not tell a cluster that was deleted from one that lost its tags.
    let (empty, _) = scan(&deleted, &[]);
    let empty = folder.write("empty.json", &empty);
    let joined = merged(&[&empty], &["--compare", before.to_str().unwrap()]).1;
    let joined = ReportSet::from_slice("set", joined.as_bytes()).unwrap();
    assert_eq!(joined.targets.len(), 1);
    let why = of(&joined, "demo").unwrap().comparison.unwrap().unknown[0].why.clone().unwrap();
    assert!(why.starts_with("no resource carries its id any more"), "{why}");
    // Where another region was looked at, nothing is known and nothing new.
    let elsewhere = folder.write("elsewhere.json", &moved.replace("us-east-1", "eu-west-1"));
    let (_, set) = scan(&elsewhere, &compare);
    assert!(of(&set, "demo").unwrap().findings.is_empty());
    assert_eq!(of(&set, "demo").unwrap().comparison.unwrap().unknown.len(), number);
    // And the next time nobody speaks of it.
    let last = folder.write("last.json", &last);
    let (_, next) = scan(&deleted, &["--compare", last.to_str().unwrap()]);
    assert!(of(&next, "demo").is_none());
}

#[test]
fn one_cluster_of_a_set_is_shown_as_its_own_scan_would() {
    let folder = Folder::new();
    let set = folder.0.path().join("set.json");
    let output = run(&[
        "scan",
        "--all-clusters",
        "--inventory",
        "fixtures/clean-two-clusters.json",
        "-o",
        set.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0));
    let saved = ReportSet::from_slice("set", &fs::read(&set).unwrap()).unwrap();
    for report in saved.reports() {
        let id = report.cluster_id.as_str();
        let alone =
            run(&["scan", "--cluster-id", id, "--inventory", "fixtures/clean-two-clusters.json", "--format", "json"]);
        let picked = run(&["report", set.to_str().unwrap(), "--cluster-id", id, "--format", "json"]);
        assert_eq!(alone.status.code(), picked.status.code());
        assert!(alone.stdout == picked.stdout, "{id}");
    }
    let wrong = run(&["report", set.to_str().unwrap(), "--cluster-id", "nope"]);
    assert_eq!(wrong.status.code(), Some(2));
    let several = ReportSet::new(
        ["111111111111", "222222222222"].map(|id| target(id, vec![report_in("demo", id, READ)])).into(),
        None,
        Vec::new(),
    );
    let file = folder.write("several.json", &page(&several, ReportFormat::Json));
    let wrong = run(&["report", file.to_str().unwrap(), "--cluster-id", "demo"]);
    assert!(
        String::from_utf8_lossy(&wrong.stderr)
            .contains("several clusters `demo`, in 111111111111 (us-east-1), 222222222222 (us-east-1)")
    );
    let one = run(&["report", file.to_str().unwrap(), "--cluster-id", "demo", "--account", "222222222222"]);
    assert_eq!(one.status.code(), Some(1));
    let nowhere = [
        "report",
        file.to_str().unwrap(),
        "--cluster-id",
        "demo",
        "--account",
        "222222222222",
        "--region",
        "eu-west-1",
    ];
    assert_eq!(run(&nowhere).status.code(), Some(2));
    let single = folder.0.path().join("single.json");
    run(&["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "-o", single.to_str().unwrap()]);
    let other = ["report", single.to_str().unwrap(), "--cluster-id", "demo", "--account", "999999999999"];
    assert_eq!(run(&other).status.code(), Some(2));
    // One cluster is compared with what many know of it.
    let scan = ["scan", "--cluster-id", "alpha", "--inventory", "fixtures/clean-two-clusters.json", "--compare"];
    assert_eq!(run(&[&scan[..], &[set.to_str().unwrap()]].concat()).status.code(), Some(0));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = Folder::new();
    let targets = folder.write("t.json", &json!([{"account": "111111111111"}]).to_string());
    let targets = targets.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["scan"], "--cluster-id"),
        (&["scan", "--cluster-id", "x", "--all-clusters"], "cannot be used with"),
        (&["scan", "--all-clusters", "--fix"], "cannot be used with"),
        (&["scan", "--all-clusters", "--nodes", "x"], "cannot be used with"),
        (&["scan", "--targets", targets, "--inventory", "fixtures/demo.json"], "cannot be used with"),
        (&["scan", "--targets", targets, "--organization", "--target-role", "x"], "cannot be used with"),
        (&["scan", "--organization"], "--target-role"),
        (&["scan", "--organization", "--target-role", "arn:aws:iam::111122223333:role/x"], "give the name"),
        (&["scan", "--cluster-id", "x", "--shard", "0/2"], "required"),
        (&["scan", "--targets", targets, "--shard", "2/2"], "indexes start at 0"),
        (&["scan", "--targets", targets, "--shard", "/2"], "JOB_COMPLETION_INDEX nor AWS_BATCH_JOB_ARRAY_INDEX is set"),
        (&["scan", "--targets", "nowhere.json"], "cannot read the list of targets"),
        (&["merge"], "<REPORT>"),
        (&["merge", "x", "--max-age=-1h"], "--max-age"),
        (&["merge", "x", "--max-age", "soon"], "--max-age"),
    ];
    for (arguments, said) in cases {
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}

/// A waiver that matches nothing in one cluster of many is no news; one that matches nothing anywhere is.
#[test]
fn waivers_of_many_clusters_are_unused_where_none_needs_them() {
    let folder = Folder::new();
    let waiver = |rule: &str, resource: &str| {
        format!("[[waiver]]\nrule = \"{rule}\"\nresource = \"{resource}\"\nreason = \"known\"\nexpires = 2999-12-31\n")
    };
    let demo: Value = serde_json::from_slice(
        &run(&["scan", "--cluster-id", "bravo", "--inventory", "fixtures/broken.json", "--format", "json"]).stdout,
    )
    .unwrap();
    let finding = demo["findings"].as_array().unwrap().iter().find(|one| one["rule"] == "imds-hop-limit-low").unwrap();
    let known = waiver("imds-hop-limit-low", finding["resource"]["id"].as_str().unwrap());
    let config = folder.write("c.toml", &(known + &waiver("imds-hop-limit-low", "i-nowhere")));
    let output =
        run(&["scan", "--all-clusters", "--inventory", "fixtures/broken.json", "--config", config.to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(stderr.matches("matches nothing").count(), 1, "{stderr}");
    assert!(stderr.contains("i-nowhere"), "{stderr}");
}

/// A gap for which nothing at all is known of a cluster.
#[test]
fn an_account_of_which_nothing_was_read_is_not_one_without_clusters() {
    let world = worlds::all().into_iter().find(|world| world.name == "demo").unwrap();
    let mut inventory = world.inventory;
    let account_id = inventory.accounts[0].account_id.clone();
    for region in &mut inventory.accounts[0].regions {
        *region = serde_json::from_value(json!({"name": region.name})).unwrap_or_else(|_| {
            let mut empty = region.clone();
            empty.instances.clear();
            empty.subnets.clear();
            empty.vpcs.clear();
            empty.security_groups.clear();
            empty.route_tables.clear();
            empty.volumes.clear();
            empty.network_interfaces.clear();
            (empty.auto_scaling_groups, empty.load_balancing) = (None, None);
            empty
        });
    }
    inventory.gaps.push(Gap {
        read: Read::DescribeInstances,
        account_id: Some(account_id),
        region: Some(inventory.accounts[0].regions[0].name.clone()),
        resource: None,
        policy: None,
        reason: "UnauthorizedOperation".to_owned(),
        message: "no".to_owned(),
    });
    let folder = Folder::new();
    let file = folder.write("inventory.json", &String::from_utf8(inventory.to_json().unwrap()).unwrap());
    let output = run(&["scan", "--all-clusters", "--inventory", file.to_str().unwrap(), "--format", "json"]);
    let set: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &set["targets"][0]["outcome"]), (Some(4), &json!("not_audited")));
    assert_eq!(set["targets"][0]["not_audited"][0]["what"], "ec2:DescribeInstances");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any way of joining any shards, some of them twice, comes to the same.
    #[test]
    fn joining_is_associative_commutative_and_idempotent(
        picks in proptest::collection::vec(0_usize..8, 1..10),
        split in 0_usize..10,
        turn in 0_usize..10,
    ) {
        let shards = small_shards();
        let join = |sets: Vec<ReportSet>| {
            ReportSet::merge(sets.into_iter().map(MergeInput::Set), limits(24)).unwrap()
        };
        let of = |picks: &[usize]| join(picks.iter().map(|index| shards[*index].clone()).collect());
        let all = of(&picks);
        let (left, right) = picks.split_at(split.min(picks.len()));
        let parts: Vec<ReportSet> = [right, left].into_iter().filter(|part| !part.is_empty()).map(of).collect();
        prop_assert!(join(parts) == all);
        let mut turned = picks.clone();
        turned.rotate_left(turn % picks.len());
        turned.extend_from_slice(&picks);
        prop_assert!(of(&turned) == all);
    }
}

/// Shards that join in no time: their reports hold nothing.
fn small_shards() -> Vec<ReportSet> {
    (0..8_u32)
        .map(|index| {
            let targets = (0..3)
                .map(|number| {
                    let id = format!("{:012}", u64::from(index) * 10 + number);
                    let read = format!("2026-11-{:02}T0{number}:00:00Z", 20 + index % 3);
                    let report = report_in("clean-rke1", &id, &read);
                    TargetReport { collected_at: Some(read), ..target(&id, vec![report]) }
                })
                .collect();
            ReportSet::new(targets, Some(Shards { count: 8, present: vec![present(index)] }), Vec::new())
        })
        .collect()
}
