//! Fixing through the real SDK against the mock. The numbers are those of the table of faults in `docs/fixing.md`.
//!
//! One file, though long: a test for each row of the table of `docs/fixing.md`, in its order, over one set of helpers.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tagaudit::internals::inventory::Inventory;
use tagaudit::internals::journal::Journal;

use super::binary::command;
use super::fix_worlds::{
    ACCOUNT, ALLOW_FORTY, CLUSTER, REGION, forty, instance, key, many, named, region, untag, untagged, worker,
};
use super::mock::{Call, Fault, Mock};
use super::worlds::tags;

/// A mock, and a folder for everything that is written.
pub(crate) struct Site {
    pub(crate) mock: Mock,
    folder: tempfile::TempDir,
    cluster_id: &'static str,
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Site {
    pub(crate) fn new(mock: Mock) -> Self {
        Self { mock, folder: tempfile::tempdir().unwrap(), cluster_id: CLUSTER }
    }

    pub(crate) fn of(inventory: &Inventory) -> Self {
        Self::new(Mock::serve(inventory))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Who fixes has Nodes at hand: what they name belongs to the cluster for certain.
    fn nodes(&self, arguments: &[&str]) -> Vec<String> {
        if arguments.first() != Some(&"scan") || !arguments.contains(&CLUSTER) {
            return Vec::new();
        }
        let (file, inventory) = (self.path("nodes.json"), self.mock.inventory());
        let label = ("node-role.kubernetes.io/controlplane", "true");
        let region = &inventory.accounts[0].regions[0];
        let mut nodes = super::worlds::nodes_of(region, label, "v1.31.4", |id| id.contains("cp"));
        // One has not been initialised yet: it is found by its private DNS name.
        nodes["items"][0]["spec"] = serde_json::json!({});
        std::fs::write(&file, nodes.to_string()).unwrap();
        vec!["--nodes".to_owned(), file.to_str().unwrap().to_owned()]
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        command.args(arguments).args(self.nodes(arguments));
        command
            .args(["--endpoint-url", &self.mock.url, "--requests-per-second", "100"])
            .env("HOME", self.folder.path())
            .env("TAGAUDIT_LOCK_FOLDER", self.folder.path())
            .env("AWS_REGION", REGION)
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "verysecretkey")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let before = self.mock.writes().len();
        let output = self.command(arguments).output().unwrap();
        if arguments.first() == Some(&"scan") && !arguments.contains(&"--fix") {
            assert_eq!(self.mock.writes().len(), before, "a scan never writes");
        }
        let ended = Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert_lawful(&self.mock.calls());
        ended
    }

    /// Starts a run that the mock may kill.
    fn start(&self, arguments: &[&str]) -> Child {
        let child = self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.mock.client(child.id());
        child
    }

    fn start_applying(&self) -> Child {
        let words = self.applying(&[]);
        self.start(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// `scan --fix`, agreed to.
    pub(crate) fn fix(&self, more: &[&str]) -> Ended {
        let mut arguments =
            vec!["scan", "--cluster-id", self.cluster_id, "--fix", "--yes", "--expect-account", ACCOUNT];
        arguments.extend(more);
        self.run(&arguments)
    }

    /// Saves a plan.
    pub(crate) fn plan(&self, more: &[&str]) -> Ended {
        let mut arguments = vec!["scan", "--cluster-id", self.cluster_id, "--fix", "--plan-out", "plan.json"];
        arguments.extend(more);
        let ended = self.run(&arguments);
        let printed = ended.stderr.lines().find_map(|line| line.strip_prefix("  tagaudit "));
        std::fs::write(self.path("apply.words"), printed.unwrap_or_default()).unwrap();
        ended
    }

    /// The command that was printed when the plan was saved, agreed to.
    fn applying(&self, more: &[&str]) -> Vec<String> {
        let printed = std::fs::read_to_string(self.path("apply.words")).unwrap();
        let mut words = shell_words::split(&printed).unwrap();
        let endpoint = words.iter().position(|word| word == "--endpoint-url").unwrap();
        words.drain(endpoint..endpoint + 2);
        let agreed = ["--yes", "--expect-account", ACCOUNT, "--journal", "journal.jsonl"];
        words.extend(agreed.iter().chain(more).map(|word| (*word).to_owned()));
        words
    }

    /// Carries the saved plan out.
    pub(crate) fn apply(&self, more: &[&str]) -> Ended {
        let words = self.applying(more);
        self.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub(crate) fn undo(&self, more: &[&str]) -> Ended {
        let mut arguments = vec!["undo", "journal.jsonl", "--yes", "--expect-account", ACCOUNT];
        arguments.extend(more);
        self.run(&arguments)
    }

    fn tag(&self, id: &str, key: &str) -> Option<String> {
        let inventory = self.mock.inventory();
        let held = inventory.accounts[0].regions[0].tags_of(id)?.to_vec();
        held.into_iter().find(|tag| tag.key == key).map(|tag| tag.value)
    }
}

/// W24, after every run of every test: a tag is removed by key and value, and no call is without resources.
fn assert_lawful(calls: &[Call]) {
    for call in calls.iter().filter(|call| call.action == "DeleteTags" || call.action == "CreateTags") {
        for name in ["ResourceId.1", "Tag.1.Key", "Tag.1.Value"] {
            assert!(call.parameters.contains_key(name), "{} without {name}: {:?}", call.action, call.parameters);
        }
    }
}

fn has(text: &str, wanted: &str) {
    assert!(text.contains(wanted), "{wanted:?} is not in:\n{text}");
}

#[test]
fn safe_fixes_are_made_read_back_and_shown() {
    let site = Site::of(&untagged(3));
    let ended = site.fix(&["--format", "json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for number in 0..3 {
        assert_eq!(site.tag(&worker(number), &key()).as_deref(), Some("owned"));
    }
    assert_eq!(site.mock.writes().len(), 1, "one batch");
    has(&ended.stderr, "+ kubernetes.io/cluster/c-7cjkr = \"owned\"");
    has(&ended.stderr, "3 changes: 3 applied");
    has(&ended.stderr, "instance-cluster-tag-missing: 1 finding before, 0 now");
    has(&ended.stderr, "to undo it: tagaudit undo");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 0, "the report is that of the state afterwards");
}

#[test]
fn every_kind_of_change_is_made_and_taken_back_byte_for_byte() {
    let site = Site::of(&forty());
    let before = site.mock.inventory();
    let planned = site.plan(ALLOW_FORTY);
    has(&planned.stderr, "40 changes: 25 to add, 11 to change, 4 to remove (20 safe, 20 confirm)");
    assert_eq!(planned.code, Some(1), "the findings are still there: {}", planned.stderr);
    let applied = site.apply(&[]);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    has(&applied.stderr, "40 changes: 40 applied");
    assert_eq!(site.mock.writes().len(), 15);
    assert_eq!(site.mock.effects().len(), 40);
    let undone = site.undo(&ALLOW_FORTY[10..]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(site.mock.inventory() == before, "W18: tags and policies are as they were");
    let again = site.undo(&[]);
    assert_eq!(again.code, Some(0));
    has(&again.stderr, "Nothing to undo");
}

#[test]
fn w1_scan_plan_dry_run_and_emit_write_nothing() {
    let site = Site::of(&forty());
    site.run(&["scan", "--cluster-id", CLUSTER]);
    site.plan(ALLOW_FORTY);
    let dry = site.run(&[&["scan", "--cluster-id", CLUSTER, "--fix", "--dry-run"], ALLOW_FORTY].concat());
    has(&dry.stderr, "dry run: allowed for this caller");
    has(&dry.stderr, "dry run: not supported for this call");
    assert_eq!(dry.code, Some(1), "{}", dry.stderr);
    for language in ["terraform", "cloudformation", "aws-cli"] {
        let emitted =
            site.run(&[&["scan", "--cluster-id", CLUSTER, "--fix", "--emit", language], ALLOW_FORTY].concat());
        has(&emitted.stdout, &key());
    }
    assert!(site.mock.writes().is_empty(), "{:?}", site.mock.writes());
    assert!(site.mock.calls().iter().any(|call| call.action == "CreateTags"), "EC2 was asked");
}

#[test]
fn an_endpoint_that_ignores_dry_runs_is_not_asked_twice() {
    let site = Site::new(Mock::serve(&low_hops(3)).fault("ec2:ModifyInstanceMetadataOptions", Fault::Ignored));
    let allow = ["--allow", "imds-hop-limit-low"];
    let ended = site.run(&[&["scan", "--cluster-id", CLUSTER, "--fix", "--dry-run"][..], &allow].concat());
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "the endpoint does not support dry runs and may have made the change");
    assert_eq!(site.mock.count("ec2:ModifyInstanceMetadataOptions"), 1);
}

#[test]
fn what_is_about_mending_takes_fix() {
    let site = Site::of(&untagged(1));
    for more in [
        &["--yes"][..],
        &["--expect-account", ACCOUNT],
        &["--max-changes", "3"],
        &["--verify-timeout", "60"],
        &["--journal", "x"],
    ] {
        let ended = site.run(&[&["scan", "--cluster-id", CLUSTER][..], more].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        has(&ended.stderr, "help: add --fix");
    }
    assert_eq!(site.mock.calls().len(), 0);
}

#[test]
fn w2_what_somebody_else_changed_is_left_alone() {
    let site = Site::of(&untagged(3));
    site.plan(&[]);
    site.mock.edit(|inventory| {
        instance(inventory, "i-10001").tags.extend(tags(&[("kubernetes.io/cluster/other", "owned")]));
    });
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(
        &ended.stderr,
        "skipped: i-10000 kubernetes.io/cluster/c-7cjkr: check the cluster id first: these nodes are tagged for other",
    );
    has(&ended.stderr, "skipped: i-10001 kubernetes.io/cluster/c-7cjkr: ");
    assert!(site.mock.writes().is_empty(), "whose the three nodes are is a question now");
}

#[test]
fn w3_a_plan_is_for_one_account_region_partition_and_cluster() {
    let inventory = untagged(1);
    type Edit = fn(&mut Inventory);
    let edits: [(Edit, &str); 2] = [
        (
            |inventory| inventory.accounts[0].account_id = "999999999999".into(),
            "the credentials belong to 999999999999",
        ),
        (
            |inventory| inventory.accounts[0].caller_arn = "arn:aws-cn:iam::111122223333:user/auditor".into(),
            "the credentials belong to 111122223333 (aws-cn)",
        ),
    ];
    for (edit, described) in edits {
        let site = Site::of(&inventory);
        site.plan(&[]);
        site.mock.edit(edit);
        let ended = site.apply(&[]);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, described);
        assert!(site.mock.writes().is_empty());
    }
    let site = Site::of(&inventory);
    site.plan(&[]);
    for (more, described) in [
        (["--region", "eu-west-1"], "the plan is for us-east-1, but --region is eu-west-1"),
        (["--cluster-id", "other"], "the plan is for the cluster `c-7cjkr`, but --cluster-id is `other`"),
    ] {
        let ended = site.apply(&more);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, described);
    }
    assert!(site.mock.writes().is_empty());
}

#[test]
fn w4_edited_expired_newer_and_applied_plans_are_refused() {
    let site = Site::of(&untagged(1));
    site.plan(&[]);
    let saved = std::fs::read_to_string(site.path("plan.json")).unwrap();
    let cases = [
        (saved.replace("\"owned\"", "\"Owned\""), 2, "was edited after it was made"),
        (format!("{saved} "), 2, "was edited after it was made"),
        (saved.replace("tagaudit.plan/1", "tagaudit.plan/2"), 2, "has the schema `tagaudit.plan/2`"),
        (saved.replace("\"changes\"", "\"change\""), 2, "is not a plan: unknown field `change`"),
        (saved.chars().take(saved.len() / 2).collect(), 2, "is not a plan: EOF"),
    ];
    for (text, code, described) in cases {
        std::fs::write(site.path("plan.json"), text).unwrap();
        let ended = site.apply(&[]);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        has(&ended.stderr, described);
    }
    let expired =
        super::plans::planned(&site.mock.inventory(), CLUSTER, "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z");
    std::fs::write(site.path("plan.json"), expired.to_json().unwrap()).unwrap();
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "the plan expired at 2026-01-01T01:00:00Z");
    assert!(site.mock.writes().is_empty());

    std::fs::write(site.path("plan.json"), saved).unwrap();
    assert_eq!(site.apply(&[]).code, Some(0));
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "was already applied");
    assert_eq!(site.mock.writes().len(), 1);
}

#[test]
fn w5_what_the_evidence_does_not_cover_is_not_planned() {
    let refused = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let site = Site::new(Mock::serve(&untagged(1)).fault("ec2:DescribeSecurityGroups", refused));
    let ended = site.fix(&["--allow", "instance-cluster-tag-missing"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "the evidence is incomplete where it matters: ec2:DescribeSecurityGroups");
    assert!(site.mock.writes().is_empty());
}

#[test]
fn w6_more_changes_than_agreed_are_refused_before_the_first() {
    let site = Site::of(&untagged(40));
    let ended = site.fix(&["--max-changes", "25"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "the plan has 40 changes, more than --max-changes 25");
    assert!(site.mock.writes().is_empty());
    let dry = site.run(&["scan", "--cluster-id", CLUSTER, "--fix", "--dry-run", "--max-changes", "25"]);
    assert_eq!(dry.code, Some(1), "not in a dry run: {}", dry.stderr);
}

#[test]
fn an_undo_may_be_as_large_as_the_run_that_it_takes_back() {
    let site = Site::of(&untagged(60));
    let before = site.mock.inventory();
    let ended = site.fix(&["--max-changes", "60", "--journal", "journal.jsonl"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let undone = site.undo(&[]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(site.mock.inventory() == before);
}

#[test]
fn w7_one_bad_id_does_not_lose_the_batch() {
    let mock = Mock::serve(&untagged(25)).meanwhile("ec2:CreateTags", 1, |inventory| {
        region(inventory).instances.retain(|instance| instance.id != "i-10007");
    });
    let site = Site::new(mock);
    let ended = site.fix(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "24 applied, 1 stale");
    has(&ended.stderr, "stale i-10007 kubernetes.io/cluster/c-7cjkr: it does not exist");
    assert_eq!(site.mock.effects().len(), 24);
}

#[test]
fn w8_a_lost_reply_is_looked_after_and_not_sent_again() {
    let site = Site::new(Mock::serve(&untagged(3)).fault_on("ec2:CreateTags", &[1], Fault::DropAfter));
    let ended = site.fix(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    has(&ended.stderr, "3 changes: 3 applied");
    assert_eq!(site.mock.writes().len(), 1);
}

#[test]
fn a_call_that_never_arrived_is_made_again() {
    let site = Site::new(Mock::serve(&untagged(3)).fault_on("ec2:CreateTags", &[1], Fault::Drop));
    let ended = site.fix(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!((site.mock.writes().len(), site.mock.effects().len()), (2, 3));
}

/// A role without room for inline policies, which lacks actions; with our managed policy attached or not.
fn full_role(attached: bool) -> Inventory {
    use tagaudit::internals::inventory::{InlinePolicy, ManagedPolicy};
    use tagaudit::internals::role_audit::grant;
    let mut inventory = many(0);
    let account = &mut inventory.accounts[0];
    let role = account.roles.iter_mut().find(|role| role.name == "rancher-worker").unwrap();
    role.attached_policies = Some(Vec::new());
    let large = format!(
        r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":"ec2:DescribeInstances","Resource":["{}"]}}]}}"#,
        "x".repeat(10_100)
    );
    role.inline_policies = Some(vec![InlinePolicy { name: "large".into(), document: Some(large) }]);
    if attached {
        let role = role.clone();
        let arn = grant::managed_arn(account, &role);
        account.managed_policies.push(ManagedPolicy {
            arn: arn.clone(),
            version_id: Some("v1".into()),
            document: Some(grant::document(&["ec2:DescribeRegions".to_owned()])),
        });
        account.roles.iter_mut().find(|role| role.name == "rancher-worker").unwrap().attached_policies =
            Some(vec![arn]);
    }
    inventory.canonicalise();
    inventory
}

/// Of [`ALLOW_FORTY`], what is about policies.
const ALLOW_GRANT: &[&str] = ALLOW_FORTY.split_at(8).1;

#[test]
fn w9_a_lost_reply_makes_no_second_version_and_no_second_attachment() {
    let mock = Mock::serve(&full_role(true)).fault_on("iam:CreatePolicyVersion", &[1], Fault::DropAfter);
    let site = Site::new(mock);
    let ended = site.fix(ALLOW_GRANT);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.mock.writes().len(), 1);

    let mock = Mock::serve(&full_role(false)).fault_on("iam:AttachRolePolicy", &[1], Fault::DropAfter).fault_on(
        "iam:CreatePolicy",
        &[1],
        Fault::DropAfter,
    );
    let site = Site::new(mock);
    let before = site.mock.inventory();
    let ended = site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let actions: Vec<String> = site.mock.writes().iter().map(|call| call.action.clone()).collect();
    assert_eq!(actions, ["CreatePolicy", "AttachRolePolicy"]);
    let undone = site.undo(&[]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(site.mock.inventory() == before);
}

#[test]
fn w10_a_write_that_does_nothing_is_not_called_applied() {
    for fault in [Fault::Ignored, Fault::ReturnFalse] {
        let site = Site::new(Mock::serve(&untagged(1)).fault("ec2:CreateTags", fault));
        let ended = site.fix(&["--verify-timeout", "1"]);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        assert!(!ended.stderr.contains("1 applied"), "{}", ended.stderr);
        assert!(site.mock.effects().is_empty());
    }
}

#[test]
fn w11_reading_back_waits_and_then_says_unconfirmed() {
    let site = Site::new(Mock::serve(&untagged(2)).lag(Duration::from_secs(2)));
    let ended = site.fix(&["--verify-timeout", "20"]);
    has(&ended.stderr, "2 changes: 2 applied");
    let site = Site::new(Mock::serve(&untagged(2)).lag(Duration::from_mins(10)));
    let ended = site.fix(&["--verify-timeout", "1"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "2 unconfirmed");
    assert_eq!(site.mock.writes().len(), 1, "neither written again nor taken back");
}

#[test]
fn a_value_that_somebody_else_wrote_at_the_same_time_is_a_lost_race() {
    // After the scan and the gate the first read of the instances by id is the look before, the second reads back.
    let mock = Mock::serve(&untagged(1)).meanwhile("ec2:DescribeInstances", 4, |inventory| {
        instance(inventory, "i-10000").tags.iter_mut().filter(|tag| tag.key == key()).for_each(|tag| {
            tag.value = "shared".into();
        });
    });
    let site = Site::new(mock);
    let ended = site.fix(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "1 conflict");
    assert_eq!(site.mock.writes().len(), 1);
}

#[test]
fn w13_sigterm_finishes_the_call_in_flight() {
    use std::os::unix::process::ExitStatusExt;
    let site = Site::new(Mock::serve(&forty()).fault_on("write", &[3], Fault::Signal("TERM")));
    site.plan(ALLOW_FORTY);
    let status = site.start_applying().wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(143), None));
    assert_eq!(site.mock.writes().len(), 3, "the third was finished, and no fourth was begun");
    let journal = Journal::open(&site.path("journal.jsonl"), None).unwrap();
    assert!(journal.unfinished().is_some());
    drop(journal);
    site.mock.heal();
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.mock.effects().len(), 40);
}

/// Number of calls of an action before the first write of an undisturbed run, and in the whole of it.
fn undisturbed(action: &str) -> (usize, usize) {
    let site = Site::of(&untagged(3));
    site.plan(&[]);
    assert_eq!(site.apply(&[]).code, Some(0));
    let calls = site.mock.calls();
    let first_write = calls.iter().position(|call| call.action == "CreateTags").unwrap();
    let count = |calls: &[Call]| calls.iter().filter(|call| call.name() == action).count();
    (count(&calls[..first_write]), count(&calls))
}

/// A signal that comes during the read just before a write stops the run: the write is not sent any more.
#[test]
fn a_signal_before_a_write_is_the_end() {
    let (looked, _) = undisturbed("ec2:DescribeInstances");
    let mock = Mock::serve(&untagged(3)).fault_on("ec2:DescribeInstances", &[looked], Fault::Signal("TERM"));
    let site = Site::new(mock);
    site.plan(&[]);
    assert_eq!(site.start_applying().wait().unwrap().code(), Some(143));
    assert!(site.mock.writes().is_empty(), "{:?}", site.mock.writes());
    site.mock.heal();
    assert_eq!(site.apply(&[]).code, Some(0));
    assert_eq!(site.mock.effects().len(), 3);
}

/// Otherwise the report of the scan after the writes would be lost.
#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_first_write() {
    let site = Site::of(&untagged(3));
    let ended = site.fix(&["-o", "missing/report.json"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    has(&ended.stderr, "error: cannot write `missing/report.json`");
    assert!(site.mock.calls().is_empty(), "{:?}", site.mock.calls());
}

/// A write of a policy needs reads of its own. A signal during any of them stops the run as well.
#[test]
fn a_signal_during_the_reads_of_a_write_is_the_end() {
    let fix = [ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat();
    for undone in [false, true] {
        let site = Site::of(&full_role(true));
        assert_eq!(site.fix(&fix).code, Some(0));
        let begin = if undone { site.mock.calls().len() } else { 0 };
        assert_eq!(site.undo(&[]).code, Some(0));
        let calls = site.mock.calls();
        let is_write = |call: &Call| ["CreatePolicyVersion", "SetDefaultPolicyVersion"].contains(&&*call.action);
        let write = begin + calls[begin..].iter().position(is_write).unwrap();
        let reads = ["iam:GetPolicy", "iam:GetPolicyVersion", "iam:ListPolicyVersions"];
        for at in write - 4..write {
            let name = calls[at].name();
            assert!(reads.contains(&&*name), "{name}");
            let number = calls[..=at].iter().filter(|call| call.name() == name).count();
            let site = Site::new(Mock::serve(&full_role(true)).fault_on(&name, &[number], Fault::Signal("TERM")));
            let mut words =
                vec!["scan", "--cluster-id", site.cluster_id, "--fix", "--yes", "--expect-account", ACCOUNT];
            words.extend(&fix);
            if undone {
                assert_eq!(site.fix(&fix).code, Some(0));
                words = UNDO.to_vec();
            }
            let written = site.mock.writes().len();
            assert_eq!(site.start(&words).wait().unwrap().code(), Some(143), "{name} {number}");
            assert_eq!(site.mock.writes().len(), written, "{name} {number}");
        }
    }
}

#[test]
fn a_signal_while_a_write_is_throttled_ends_with_its_exit_code() {
    let mock = Mock::serve(&untagged(3)).fault_on("write", &[1], Fault::SignalThrottled("TERM"));
    let site = Site::new(mock);
    site.plan(&[]);
    assert_eq!(site.start_applying().wait().unwrap().code(), Some(143));
    assert_eq!(site.mock.writes().len(), 1);
    site.mock.heal();
    assert_eq!(site.apply(&[]).code, Some(0));
}

/// The writes are made and verified, but nobody knows what else they did.
#[test]
fn a_scan_afterwards_that_cannot_be_made_is_not_a_success() {
    let (_, all) = undisturbed("ec2:DescribeSubnets");
    let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let site = Site::new(Mock::serve(&untagged(3)).fault_on("ec2:DescribeSubnets", &[all], denied));
    site.plan(&[]);
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    has(&ended.stderr, "3 changes: 3 applied");
    has(&ended.stderr, "not audited");
}

#[test]
fn an_undo_reports_a_denied_read_instead_of_missing_consent() {
    let denied = || Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let (_, all) = undisturbed("ec2:DescribeInstances");
    let site = Site::new(Mock::serve(&untagged(3)).fault_on("ec2:DescribeInstances", &[all + 1], denied()));
    site.plan(&[]);
    assert_eq!(site.apply(&[]).code, Some(0));
    let writes = site.mock.writes().len();
    let undone = site.undo(&[]);
    assert_eq!(undone.code, Some(5), "{}", undone.stderr);
    has(&undone.stderr, "not read: ec2:DescribeInstances");
    has(&undone.stderr, "the account was not read completely");
    assert!(!undone.stderr.contains("--allow"), "{}", undone.stderr);
    assert_eq!(site.mock.writes().len(), writes);
    assert_eq!(site.undo(&[]).code, Some(0));
}

#[test]
fn a_lock_folder_that_cannot_be_used_is_an_error() {
    let site = Site::of(&untagged(1));
    site.plan(&[]);
    let words = site.applying(&[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let missing = site.path("missing");
    std::fs::write(site.path("file"), "").unwrap();
    for folder in [missing, site.path("file")] {
        let output = site.command(&words).env("TAGAUDIT_LOCK_FOLDER", &folder).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        has(&stderr, "of TAGAUDIT_LOCK_FOLDER cannot hold a lock");
    }
    // Without a home folder the lock is still the shared one.
    let output = site.command(&words).env_remove("HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let locks = std::fs::read_dir(site.folder.path()).unwrap().flatten();
    let locks = locks.filter(|entry| entry.file_name().to_string_lossy().ends_with(".lock"));
    assert_eq!(locks.count(), 1);
}

#[test]
fn w14_two_cannot_work_on_one_cluster_at_a_time() {
    let site = Site::of(&untagged(1));
    site.plan(&[]);
    let held = Journal::open(&site.path("journal.jsonl"), None).unwrap();
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "another tagaudit process is using this cluster");
    assert!(site.mock.writes().is_empty());
    drop(held);
    assert_eq!(site.apply(&[]).code, Some(0));
}

/// Many workers with a low hop limit: a call for each.
fn low_hops(workers: usize) -> Inventory {
    let mut inventory = many(workers);
    for number in 0..workers {
        instance(&mut inventory, &worker(number)).metadata_options.as_mut().unwrap().http_put_response_hop_limit =
            Some(1);
    }
    inventory
}

fn stops_and_goes_on(fault: Fault) {
    let from_the_tenth: Vec<usize> = (10..200).collect();
    let mock = Mock::serve(&low_hops(40)).fault_on("ec2:ModifyInstanceMetadataOptions", &from_the_tenth, fault);
    let site = Site::new(mock);
    site.plan(&["--allow", "imds-hop-limit-low"]);
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "40 changes: 9 applied, 31 not attempted");
    has(&ended.stderr, "help: run the same command again");
    assert_eq!(site.mock.effects().len(), 9);
    site.mock.heal();
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.mock.effects().len(), 40, "each once");
}

#[test]
fn w15_throttled_for_good_stops_and_can_be_gone_on_with() {
    stops_and_goes_on(Fault::Error(503, "RequestLimitExceeded", "Request limit exceeded."));
}

#[test]
fn w16_expired_credentials_stop_and_can_be_gone_on_with() {
    stops_and_goes_on(Fault::Error(400, "RequestExpired", "Request has expired."));
}

#[test]
fn w17_after_a_fix_there_is_nothing_to_plan() {
    let site = Site::of(&forty());
    assert_eq!(site.fix(ALLOW_FORTY).code, Some(0));
    let writes = site.mock.writes().len();
    let again = site.fix(ALLOW_FORTY);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    has(&again.stderr, "Nothing to write.");
    assert_eq!(site.mock.writes().len(), writes);
}

#[test]
fn w18_undo_leaves_alone_what_is_no_longer_ours() {
    let site = Site::of(&untagged(3));
    site.fix(&["--journal", "journal.jsonl"]);
    site.mock.edit(|inventory| {
        let tag = instance(inventory, "i-10001").tags.iter_mut().find(|tag| tag.key == key()).unwrap();
        tag.value = "shared".into();
    });
    let ended = site.undo(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "stale i-10001 kubernetes.io/cluster/c-7cjkr: it is `shared` now, not `owned`");
    assert_eq!(site.tag("i-10000", &key()), None);
    assert_eq!(site.tag("i-10001", &key()).as_deref(), Some("shared"));
}

#[test]
fn w19_what_ec2_would_refuse_is_not_sent() {
    let mut inventory = untagged(2);
    let full = instance(&mut inventory, "i-10001");
    let room = 50 - full.tags.len();
    for number in 0..room {
        full.tags.extend(tags(&[(format!("filler-{number:02}").as_str(), "x")]));
    }
    full.tags.extend(tags(&[("aws:reserved", "does not count")]));
    inventory.canonicalise();
    let site = Site::of(&inventory);
    let ended = site.fix(&["--allow", "instance-cluster-tag-missing"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "! instance-cluster-tag-missing on i-10001: it has 50 tags already");
    let writes = site.mock.writes();
    assert_eq!(writes.len(), 1);
    assert!(!writes[0].parameters.values().any(|value| value == "i-10001"));
    let long = "x".repeat(106);
    assert_eq!(site.run(&["scan", "--cluster-id", &long, "--fix"]).code, Some(2));
}

#[test]
fn w20_instance_metadata_tags_make_the_key_impossible() {
    let on = |inventory: &mut Inventory| {
        let options = instance(inventory, "i-10000").metadata_options.as_mut().unwrap();
        options.instance_metadata_tags = Some("enabled".into());
    };
    let mut inventory = untagged(1);
    on(&mut inventory);
    let site = Site::of(&inventory);
    let ended = site.fix(&["--allow", "instance-cluster-tag-missing"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "turn instance metadata tags off first");
    assert!(site.mock.writes().is_empty());

    let site = Site::of(&untagged(1));
    site.plan(&[]);
    site.mock.edit(on);
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "turn instance metadata tags off first");
    assert!(site.mock.writes().is_empty());
}

#[test]
fn w21_no_plan_gives_a_node_a_second_tagged_group() {
    let mut inventory = many(2);
    let region_ = region(&mut inventory);
    let mut other = region_.security_groups[0].clone();
    other.id = "sg-0other".into();
    other.name = "other".into();
    other.tags.clear();
    region_.security_groups.push(other);
    // The untagged group is the only one of one node and the second one of another.
    instance(&mut inventory, "i-10000").security_groups = vec!["sg-0other".into()];
    instance(&mut inventory, "i-10001").security_groups.push("sg-0other".into());
    inventory.canonicalise();
    let site = Site::of(&inventory);
    let ended = site.fix(&["--allow", "sg-single-untagged"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "instance i-10001 would have several tagged security groups");
    assert!(site.mock.writes().is_empty());
}

#[test]
fn a_group_is_only_untagged_while_the_one_to_keep_is_tagged() {
    let mut inventory = many(2);
    let region_ = region(&mut inventory);
    let mut second = region_.security_groups[0].clone();
    second.id = "sg-0second".into();
    second.name = "second".into();
    region_.security_groups.push(second);
    for id in ["i-10000", "i-10001"] {
        instance(&mut inventory, id).security_groups.push("sg-0second".into());
    }
    inventory.canonicalise();
    let choose = ["--choose", "sg-multiple-tagged-on-instance:i-10001=sg-0aa1"];
    let site = Site::of(&inventory);
    site.plan(&choose);
    site.mock.edit(|inventory| {
        region(inventory).security_groups.iter_mut().find(|group| group.id == "sg-0aa1").unwrap().tags.clear();
    });
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "the cluster tags of sg-0aa1, which is on the same nodes, have changed since");
    assert!(site.mock.writes().is_empty());

    let site = Site::of(&inventory);
    let ended = site.fix(&choose);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.tag("sg-0second", &key()), None);
    assert_eq!(site.tag("sg-0aa1", &key()).as_deref(), Some("owned"));
}

#[test]
fn only_what_the_rules_that_were_asked_for_find_is_mended() {
    let site = Site::of(&forty());
    let rule = "cluster-tag-value-invalid";
    let ended = site.fix(&["--rule", rule, "--allow", rule]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    has(&ended.stderr, "4 changes: 4 applied");
    assert_eq!(site.tag("i-10000", &key()), None, "safe, and another rule's");
}

#[test]
fn surplus_groups_are_untagged_one_after_the_other() {
    let mut inventory = many(1);
    let region_ = region(&mut inventory);
    for id in ["sg-0second", "sg-0third", "sg-0fourth"] {
        let mut group = region_.security_groups[0].clone();
        group.id = id.into();
        group.name = id.into();
        region_.security_groups.push(group);
    }
    instance(&mut inventory, "i-10000")
        .security_groups
        .extend(["sg-0second", "sg-0third", "sg-0fourth"].map(Into::into));
    inventory.canonicalise();
    let choose = ["--choose", "sg-multiple-tagged-on-instance:i-10000=sg-0aa1", "--verify-timeout", "20"];
    // Reads lag behind: each is written only when the one before it shows.
    let site = Site::new(Mock::serve(&inventory).lag(Duration::from_millis(700)));
    let ended = site.fix(&choose);
    has(&ended.stderr, "3 changes: 3 applied");
    assert_eq!(site.mock.writes().len(), 3);
    assert_eq!(site.tag("sg-0aa1", &key()).as_deref(), Some("owned"));
}

#[test]
fn dns_support_is_turned_on_before_host_names_and_off_after_them() {
    let mut inventory = many(0);
    let vpc = &mut region(&mut inventory).vpcs[0];
    (vpc.enable_dns_support, vpc.enable_dns_hostnames) = (Some(false), Some(false));
    let site = Site::of(&inventory);
    let before = site.mock.inventory();
    let ended = site.fix(&["--allow", "vpc-dns-attributes-disabled", "--journal", "journal.jsonl"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let undone = site.undo(&[]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(site.mock.inventory() == before);
}

#[test]
fn w22_foreign_tags_make_nothing_safe_and_are_never_removed_unasked() {
    let site = Site { cluster_id: "demo", ..Site::of(&named("demo").inventory) };
    let demo = |more: &[&str]| {
        let common = ["scan", "--cluster-id", "demo", "--fix", "--yes", "--expect-account", "123456789012"];
        site.run(&[&common, more].concat())
    };
    let ended = demo(&[]);
    has(&ended.stderr, "Nothing to write.");
    assert!(site.mock.writes().is_empty());
    let ended = demo(&["--allow", "subnet-foreign-cluster-tag"]);
    has(&ended.stderr, "2 changes: 2 applied");
    assert_eq!(site.tag("subnet-privc0d1", "kubernetes.io/cluster/staging").as_deref(), Some("shared"), "theirs stays");
    assert_eq!(site.tag("subnet-privc0d1", "kubernetes.io/cluster/demo").as_deref(), Some("shared"));
}

#[test]
fn w25_a_full_role_gets_a_managed_policy_and_five_versions_are_not_exceeded() {
    let site = Site::of(&full_role(false));
    let ended = site.fix(ALLOW_GRANT);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let inventory = full_role(true);
    let arn = inventory.accounts[0].roles.iter().find(|role| role.name == "rancher-worker").unwrap();
    let arn = arn.attached_policies.as_ref().unwrap()[0].clone();
    let document = |action: &str| tagaudit::internals::role_audit::grant::document(&[action.to_owned()]);
    let versions = [("v1", "ec2:DescribeRegions"), ("v2", "a:B"), ("v3", "a:C"), ("v4", "a:D"), ("v5", "a:E")];
    let versions = versions.iter().map(|(id, action)| ((*id).to_owned(), document(action))).collect();
    let site = Site::new(Mock::serve(&inventory).versions(&arn, versions));
    let ended = site.fix(ALLOW_GRANT);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "5 versions of the policy are stored");
    assert!(site.mock.writes().is_empty());
}

#[test]
fn a_new_version_is_taken_back_to_the_old_one() {
    let site = Site::of(&full_role(true));
    let before = site.mock.inventory();
    let ended = site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let undone = site.undo(&[]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(site.mock.inventory() == before);
    let actions: Vec<String> = site.mock.writes().iter().map(|call| call.action.clone()).collect();
    assert_eq!(actions, ["CreatePolicyVersion", "SetDefaultPolicyVersion", "DeletePolicyVersion"]);
}

#[test]
fn an_undo_that_was_interrupted_deletes_the_version_of_the_fix() {
    let denied = Fault::Error(403, "AccessDenied", "User is not authorized to perform: iam:DeletePolicyVersion");
    for fault in [Fault::KillBefore, denied] {
        let site = Site::new(Mock::serve(&full_role(true)).fault_on("iam:DeletePolicyVersion", &[1], fault));
        let before = site.mock.inventory();
        let ended = site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let undo = ["undo", "journal.jsonl", "--yes", "--expect-account", ACCOUNT];
        let interrupted = site.start(&undo).wait().unwrap();
        assert_ne!(interrupted.code(), Some(0));
        site.mock.heal();
        let undone = site.undo(&[]);
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
        assert!(site.mock.inventory() == before);
        assert_eq!(site.mock.writes().last().unwrap().action, "DeletePolicyVersion", "{}", undone.stderr);
    }
}

/// The delete was carried out and its answer lost, or throttled at first: a read decides, in the same undo.
#[test]
fn a_lost_answer_to_the_last_delete_is_found_by_reading() {
    for fault in [Fault::DropAfter, Fault::Error(503, "Throttling", "Rate exceeded")] {
        let site = Site::new(Mock::serve(&full_role(true)).fault_on("iam:DeletePolicyVersion", &[1], fault));
        let before = site.mock.inventory();
        let ended = site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let undone = site.undo(&[]);
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
        assert!(site.mock.inventory() == before);
        assert_eq!(versions(&site).0.len(), 1);
    }
}

/// Stored versions of the only policy that tagaudit wrote, and its default one.
fn versions(site: &Site) -> (Vec<String>, String) {
    let inventory = site.mock.inventory();
    let policies = &inventory.accounts[0].managed_policies;
    let policy = policies.iter().find(|policy| policy.arn.contains("tagaudit-baseline")).unwrap();
    (site.mock.stored_versions(&policy.arn), policy.version_id.clone().unwrap())
}

/// A role whose policy of tagaudit has these versions, `v1` first, the last one in force; `None` stands for the document of the fix.
fn versioned(documents: &[Option<&str>], fault: Option<Fault>) -> Site {
    let fixed = Site::of(&full_role(true));
    assert_eq!(fixed.fix(ALLOW_GRANT).code, Some(0));
    let fixed = fixed.mock.inventory();
    let is_own = |policy: &&tagaudit::internals::inventory::ManagedPolicy| policy.arn.contains("tagaudit-baseline");
    let made = fixed.accounts[0].managed_policies.iter().find(is_own).unwrap().document.clone().unwrap();
    let document = |action: &str| tagaudit::internals::role_audit::grant::document(&[action.to_owned()]);
    let stored = documents
        .iter()
        .enumerate()
        .map(|(index, action)| (format!("v{}", index + 1), action.map_or_else(|| made.clone(), document)));
    let stored: Vec<(String, String)> = stored.collect();
    let mut inventory = full_role(true);
    let policies = &mut inventory.accounts[0].managed_policies;
    let policy = policies.iter_mut().find(|policy| policy.arn.contains("tagaudit-baseline")).unwrap();
    let (id, text) = stored.last().unwrap().clone();
    (policy.version_id, policy.document) = (Some(id), Some(text));
    let arn = policy.arn.clone();
    let mock = Mock::serve(&inventory).versions(&arn, stored);
    Site::new(match fault {
        Some(fault) => mock.fault_on("iam:DeletePolicyVersion", &[1], fault),
        None => mock,
    })
}

const UNDO: [&str; 5] = ["undo", "journal.jsonl", "--yes", "--expect-account", ACCOUNT];

/// The delete was carried out and its answer lost: another version with the text of the fix is the operator's.
#[test]
fn a_repeated_undo_deletes_no_version_of_the_same_text() {
    for fault in [Fault::KillAfter, Fault::DropAfter] {
        let site = versioned(&[None, Some("ec2:DescribeRegions")], Some(fault));
        let ended = site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(versions(&site).0, ["v1", "v2", "v3"]);
        let _ = site.start(&UNDO).wait().unwrap();
        site.mock.heal();
        let undone = site.undo(&[]);
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
        assert_eq!(versions(&site), (vec!["v1".to_owned(), "v2".to_owned()], "v2".to_owned()), "{}", undone.stderr);
    }
}

#[test]
fn an_undo_restores_the_version_that_was_the_default_not_one_of_the_same_text() {
    let site = versioned(&[Some("ec2:DescribeRegions"), Some("ec2:DescribeRegions")], None);
    let ended = site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let undone = site.undo(&[]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(versions(&site), (vec!["v1".to_owned(), "v2".to_owned()], "v2".to_owned()));
}

/// Rounds of fix and interrupted undo would fill the five versions of a policy.
#[test]
fn a_fix_after_an_interrupted_undo_deletes_the_version_of_the_first_fix() {
    let site = versioned(&[Some("ec2:DescribeRegions")], Some(Fault::KillBefore));
    let fix = [ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat();
    assert_eq!(site.fix(&fix).code, Some(0));
    assert_eq!(site.start(&UNDO).wait().unwrap().code(), None);
    assert_eq!(versions(&site).0.len(), 2, "the undo left the version of the fix");
    site.mock.heal();
    let ended = site.fix(&fix);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(versions(&site).0.len(), 2, "{}", ended.stderr);
    assert_eq!(site.undo(&[]).code, Some(0));
    assert_eq!(versions(&site), (vec!["v1".to_owned()], "v1".to_owned()));
}

/// Once an undo took the tag from an instance, nothing but the journal connects it with the cluster.
#[test]
fn an_interrupted_undo_of_tags_goes_on_without_consent() {
    let agreed = ["--yes", "--expect-account", "123456789012"];
    let fix = ["scan", "--cluster-id", "demo", "--fix", "--journal", "journal.jsonl", "--fail-on", "never"];
    let allow = ["--allow", "instance-cluster-tag-missing", "--allow", "subnet-foreign-cluster-tag"];
    let undo = [&["undo", "journal.jsonl"][..], &agreed].concat();
    for (write, fault) in [(3, Fault::KillAfter), (4, Fault::KillBefore), (4, Fault::KillAfter)] {
        let mock = Mock::serve(&named("demo").inventory).fault_on("write", &[write], fault);
        let site = Site { cluster_id: "demo", ..Site::new(mock) };
        let before = site.mock.inventory();
        let ended = site.run(&[&fix[..], &allow, &agreed].concat());
        has(&ended.stderr, "3 changes: 3 applied");
        assert_eq!(site.mock.writes().len(), 2);
        assert_eq!(site.start(&undo).wait().unwrap().code(), None);
        site.mock.heal();
        let undone = site.run(&undo);
        assert!(site.mock.inventory() == before, "write {write}: {}", undone.stderr);
        assert!(!undone.stderr.contains("consent"), "write {write}: {}", undone.stderr);
    }
}

/// The last write was made, and nothing is left to plan: the same command still finds out and ends the run.
#[test]
fn a_fix_that_was_killed_after_its_last_write_is_settled_by_the_same_command() {
    let site = Site::new(Mock::serve(&untagged(1)).fault_on("write", &[1], Fault::KillAfter));
    let fix =
        ["scan", "--cluster-id", CLUSTER, "--fix", "--yes", "--expect-account", ACCOUNT, "--journal", "journal.jsonl"];
    assert_eq!(site.start(&fix).wait().unwrap().code(), None);
    site.mock.heal();
    let ended = site.run(&fix);
    has(&ended.stderr, "Nothing to write.");
    let journal = std::fs::read_to_string(site.path("journal.jsonl")).unwrap();
    assert!(journal.lines().last().unwrap().contains("\"record\":\"end\""), "{journal}");
    assert_eq!(site.mock.writes().len(), 1);
}

/// An undo of a later fix was interrupted between `SetDefaultPolicyVersion` and `DeletePolicyVersion`: its version is still stored.
#[test]
fn a_policy_is_deleted_with_the_versions_that_tagaudit_left() {
    let policy = |site: &Site| {
        let inventory = site.mock.inventory();
        let made =
            inventory.accounts[0].managed_policies.iter().find(|policy| policy.arn.contains("tagaudit-baseline"));
        made.map(|policy| (policy.arn.clone(), policy.document.clone().unwrap()))
    };
    let first = Site::of(&full_role(false));
    assert_eq!(first.fix(ALLOW_GRANT).code, Some(0));
    let (arn, document) = policy(&first).unwrap();
    for (left, code) in [
        (tagaudit::internals::role_audit::grant::document(&["ec2:DescribeRegions".to_owned()]), Some(0)),
        (document.replace("\"Allow\"", "\"Deny\""), Some(5)),
    ] {
        let versions = vec![("v1".to_owned(), document.clone()), ("v2".to_owned(), left)];
        let site = Site::new(Mock::serve(&full_role(false)).versions(&arn, versions));
        let ended = site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let undone = site.undo(&[]);
        assert_eq!(undone.code, code, "{}", undone.stderr);
        assert_eq!(policy(&site).is_none(), code == Some(0));
        if code == Some(0) {
            let actions: Vec<String> = site.mock.writes().iter().map(|call| call.action.clone()).collect();
            assert!(actions.ends_with(&["DeletePolicyVersion".to_owned(), "DeletePolicy".to_owned()]), "{actions:?}");
        } else {
            has(&undone.stderr, "the policy has a version that tagaudit did not write");
        }
    }
}

#[test]
fn w26_a_policy_of_our_name_that_others_wrote_is_not_replaced() {
    use tagaudit::internals::inventory::InlinePolicy;
    let mut inventory = many(0);
    let role = inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rancher-worker").unwrap();
    role.attached_policies = Some(Vec::new());
    let theirs = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}"#;
    role.inline_policies =
        Some(vec![InlinePolicy { name: "tagaudit-baseline-worker".into(), document: Some(theirs.into()) }]);
    let site = Site::of(&inventory);
    let ended = site.fix(ALLOW_GRANT);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "holds something that tagaudit did not write");
    assert!(site.mock.writes().is_empty());

    // Somebody makes one between plan and apply.
    let role = inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rancher-worker").unwrap();
    role.inline_policies = Some(Vec::new());
    let site = Site::of(&inventory);
    site.plan(ALLOW_GRANT);
    site.mock.edit(move |inventory| {
        let role = inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rancher-worker").unwrap();
        role.inline_policies =
            Some(vec![InlinePolicy { name: "tagaudit-baseline-worker".into(), document: Some(theirs.into()) }]);
    });
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "skipped: rancher-worker inline policy tagaudit-baseline-worker: ");
    has(&ended.stderr, "holds something that tagaudit did not write");
    assert!(site.mock.writes().is_empty());
}

#[test]
fn w26_a_managed_policy_that_others_wrote_is_not_attached() {
    use tagaudit::internals::inventory::ManagedPolicy;
    let mut inventory = full_role(false);
    let role = inventory.accounts[0].roles.iter().find(|role| role.name == "rancher-worker").unwrap().clone();
    let arn = tagaudit::internals::role_audit::grant::managed_arn(&inventory.accounts[0], &role);
    let theirs = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#;
    // It is attached to nothing, so that no scan sees it.
    inventory.accounts[0].managed_policies.push(ManagedPolicy {
        arn,
        version_id: Some("v1".into()),
        document: Some(theirs.into()),
    });
    inventory.canonicalise();
    let site = Site::of(&inventory);
    let ended = site.fix(ALLOW_GRANT);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "stale rancher-worker");
    assert!(site.mock.writes().is_empty());
}

#[test]
fn undo_deletes_no_policy_that_others_have_come_to_use() {
    let site = Site::of(&full_role(false));
    site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
    site.mock.edit(|inventory| {
        let arn = inventory.accounts[0].managed_policies.iter().find(|policy| policy.arn.contains("/tagaudit/"));
        let arn = arn.unwrap().arn.clone();
        let other = inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rancher-controlplane").unwrap();
        other.attached_policies.as_mut().unwrap().push(arn);
    });
    let ended = site.undo(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "the policy is attached elsewhere");
    assert!(!site.mock.writes().iter().any(|call| call.action.starts_with("DeletePolicy")));
}

#[test]
fn an_undo_that_was_refused_can_be_made_again() {
    let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let site = Site::new(Mock::serve(&untagged(2)).fault("ec2:DeleteTags", denied));
    let before = site.mock.inventory();
    site.fix(&["--journal", "journal.jsonl"]);
    assert_eq!(site.undo(&[]).code, Some(5));
    site.mock.heal();
    let ended = site.undo(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(site.mock.inventory() == before);
}

#[test]
fn what_a_lost_reply_left_behind_is_ours_to_take_back() {
    let mock = Mock::serve(&untagged(2)).lag(Duration::from_secs(2)).fault_on("ec2:CreateTags", &[1], Fault::DropAfter);
    let site = Site::new(mock);
    let before = site.mock.inventory();
    let ended = site.fix(&["--journal", "journal.jsonl"]);
    has(&ended.stderr, "2 applied");
    std::thread::sleep(Duration::from_secs(2));
    let ended = site.undo(&["--verify-timeout", "20"]);
    assert!(site.mock.inventory() == before, "{}", ended.stderr);
}

#[test]
fn a_run_is_taken_back_by_name_and_the_cluster_is_locked_meanwhile() {
    let site = Site::of(&untagged(1));
    site.fix(&["--journal", "journal.jsonl"]);
    site.mock.edit(|inventory| untag(inventory, "i-0wk1"));
    site.fix(&["--journal", "journal.jsonl"]);
    let runs: Vec<String> =
        Journal::open(&site.path("journal.jsonl"), None).unwrap().runs.iter().map(|run| run.id.clone()).collect();
    let lock = std::fs::read_dir(site.path(".")).unwrap().map(|entry| entry.unwrap().path());
    let lock = lock.into_iter().find(|path| path.extension().is_some_and(|end| end == "lock")).unwrap();
    let held = Journal::open(&site.path("other.jsonl"), Some(&lock)).unwrap();
    let ended = site.undo(&["--run", &runs[0]]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "another tagaudit process is using");
    // Another user of the machine has another home, and finds the same lock.
    let other_home = tempfile::tempdir().unwrap();
    let agreed = ["--yes", "--expect-account", ACCOUNT, "--run", &runs[0]];
    let other =
        site.command(&[&["undo", "journal.jsonl"][..], &agreed].concat()).env("HOME", other_home.path()).output();
    assert_eq!(other.unwrap().status.code(), Some(5));
    drop(held);
    assert_eq!(site.undo(&["--run", "nonsense"]).code, Some(2));
    let ended = site.undo(&["--run", &runs[0]]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.tag("i-10000", &key()), None);
    assert_eq!(site.tag("i-0wk1", &key()).as_deref(), Some("owned"));
}

#[test]
fn terraform_makes_a_policy_before_it_attaches_it() {
    let site = Site::of(&full_role(false));
    let scan = ["scan", "--cluster-id", CLUSTER, "--fix", "--emit", "terraform"];
    let emitted = site.run(&[&scan, ALLOW_GRANT].concat());
    hcl::parse(&emitted.stdout).unwrap();
    has(&emitted.stdout, "policy_arn = aws_iam_policy.tagaudit_");
    let site = Site::of(&full_role(true));
    let emitted = site.run(&[&scan, ALLOW_GRANT].concat());
    hcl::parse(&emitted.stdout).unwrap();
    has(&emitted.stdout, "import {");
}

#[test]
fn w27_what_others_make_is_never_safe_and_what_aws_owns_is_never_planned() {
    let mut inventory = untagged(3);
    let mark = |inventory: &mut Inventory, id: &str, key: &str| {
        instance(inventory, id).tags.extend(tags(&[(key, "nodes")]));
    };
    mark(&mut inventory, "i-10000", "aws:cloudformation:stack-name");
    mark(&mut inventory, "i-10001", "karpenter.sh/nodepool");
    mark(&mut inventory, "i-10002", "aws:autoscaling:groupName");
    inventory.canonicalise();
    let role = inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rancher-worker").unwrap();
    role.attached_policies = Some(Vec::new());
    role.inline_policies = Some(Vec::new());
    for path in ["/aws-service-role/ec2.amazonaws.com/", "/aws-reserved/sso.amazonaws.com/"] {
        let mut inventory = inventory.clone();
        inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rancher-worker").unwrap().path = path.into();
        let site = Site::of(&inventory);
        let ended = site.fix(ALLOW_GRANT);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, "only AWS can change this role");
        assert!(site.mock.writes().is_empty(), "nothing was safe either");
    }
    let site = Site::of(&inventory);
    let ended = site.fix(&["--allow", "instance-cluster-tag-missing"]);
    has(&ended.stderr, "stack `nodes`, the Karpenter node pool `nodes`: fix that too, or it comes back");
    has(&ended.stderr, "group `nodes`: fix that too, or it comes back");
    has(&ended.stderr, "3 applied");
}

#[test]
fn w28_a_refused_call_fails_for_good_and_the_others_go_on() {
    let denied = Fault::Error(
        403,
        "UnauthorizedOperation",
        "You are not authorized to perform this operation. with an explicit deny in a service control policy",
    );
    let site = Site::new(Mock::serve(&forty()).fault_for("ec2:CreateTags", "ResourceId.1=i-", denied));
    let ended = site.fix(ALLOW_FORTY);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "explicit deny in a service control policy");
    // What depends on the refused ones is not touched; the rest is made.
    has(&ended.stderr, "10 applied");
    has(&ended.stderr, "26 failed");
    has(&ended.stderr, "4 stale");
    let refused = site.mock.writes().iter().filter(|call| call.action == "CreateTags").count();
    assert!(refused <= 9, "{refused} calls are a storm");
}

#[test]
fn w29_nobody_who_can_be_asked_means_no() {
    let site = Site::of(&untagged(1));
    let fix = ["scan", "--cluster-id", CLUSTER, "--fix"];
    for more in [&[][..], &["--yes"], &["--expect-account", ACCOUNT], &["--yes", "--expect-account", "999999999999"]] {
        let ended = site.run(&[&fix[..], more].concat());
        assert_eq!(ended.code, Some(5), "{more:?}: {}", ended.stderr);
    }
    use std::io::Write;
    let mut child =
        site.command(&fix).stdin(Stdio::piped()).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all("yes\n".repeat(100).as_bytes());
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert!(site.mock.writes().is_empty());
}

/// The binary on a terminal.
fn on_a_terminal(site: &Site, arguments: &[&str]) -> rexpect::session::PtySession {
    let mut command = command();
    command
        .args(arguments)
        .args(site.nodes(arguments))
        .args(["--endpoint-url", &site.mock.url, "--region", REGION, "--color", "never"])
        .env("HOME", site.path(""))
        .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "verysecretkey");
    rexpect::session::spawn_command(command, Some(30_000)).unwrap()
}

fn exit_code(session: &mut rexpect::session::PtySession) -> i32 {
    session.exp_eof().unwrap();
    // `Exited(Pid(…), CODE)`: the type is not exported.
    let status = format!("{:?}", session.process().wait().unwrap());
    let code = status.strip_prefix("Exited(").and_then(|rest| rest.rsplit(' ').next()?.strip_suffix(')')?.parse().ok());
    code.unwrap_or_else(|| panic!("{status}"))
}

#[test]
fn w29_on_a_terminal_only_the_names_agree() {
    let site = Site::of(&untagged(1));
    for (answer, code) in [("yes", 5), ("111122223333 c-7cjkx", 5), ("111122223333 c-7cjkr", 0)] {
        let mut session = on_a_terminal(&site, &["scan", "--cluster-id", CLUSTER, "--fix"]);
        session.exp_string("caller   arn:aws:").unwrap();
        session.exp_string("Type the account and the cluster, `111122223333 c-7cjkr`, to make 1 change:").unwrap();
        session.send_line(answer).unwrap();
        assert_eq!(exit_code(&mut session), code, "{answer}");
        assert_eq!(site.mock.writes().len(), usize::from(code == 0), "{answer}");
    }
}

#[test]
fn ctrl_c_at_the_question_ends_it() {
    let site = Site::of(&untagged(1));
    let mut session = on_a_terminal(&site, &["scan", "--cluster-id", CLUSTER, "--fix"]);
    session.exp_string("Type the account and the cluster").unwrap();
    session.send_control('c').unwrap();
    assert_eq!(exit_code(&mut session), 130);
    assert!(site.mock.writes().is_empty());
}

#[test]
fn on_a_terminal_questions_are_asked_with_the_proposed_answer_first() {
    let site = Site { cluster_id: "demo", ..Site::of(&named("demo").inventory) };
    let mut session = on_a_terminal(&site, &["scan", "--cluster-id", "demo", "--fix"]);
    session.exp_string("1  keep sg-0d1 (rke2-nodes): every node has it (proposed)").unwrap();
    session.exp_string("1 to 2, or Enter to skip it:").unwrap();
    session.send_line("7").unwrap();
    session.exp_string("that is not one of the choices").unwrap();
    session.send_line("1").unwrap();
    session.exp_string("1 to 1, or Enter to skip it:").unwrap();
    session.send_line("").unwrap();
    session.exp_string("Type the account and the cluster").unwrap();
    session.send_line("123456789012 demo").unwrap();
    session.exp_string("1 applied").unwrap();
    exit_code(&mut session);
    assert_eq!(site.tag("sg-0d2", "kubernetes.io/cluster/demo"), None);
    assert_eq!(site.mock.writes().len(), 1);
}

#[test]
fn fixing_one_cluster_adds_no_finding_to_the_other() {
    let world = named("clean-two-clusters");
    let scan = |site: &Site, cluster: &str| -> Value {
        let ended = site.run(&["scan", "--cluster-id", cluster, "--format", "json"]);
        serde_json::from_str(&ended.stdout).unwrap()
    };
    let regions: Vec<String> = world.inventory.accounts[0].regions.iter().map(|region| region.name.clone()).collect();
    assert_eq!(regions, [REGION]);
    let mut inventory = world.inventory.clone();
    let own = format!("kubernetes.io/cluster/{}", world.cluster_id);
    for instance in
        region(&mut inventory).instances.iter_mut().filter(|i| i.tags.iter().any(|tag| tag.key == own)).take(1)
    {
        instance.tags.retain(|tag| tag.key != own);
    }
    let other = if world.cluster_id == "alpha" { "bravo" } else { "alpha" };
    let site = Site::of(&inventory);
    let account = inventory.accounts[0].account_id.clone();
    let before = scan(&site, other);
    let fix = ["scan", "--cluster-id", world.cluster_id, "--fix", "--yes", "--expect-account", &account];
    let allow = ["--allow", "instance-cluster-tag-missing"];
    let ended = site.run(&[&fix[..], &allow].concat());
    assert!(!site.mock.effects().is_empty(), "{}", ended.stderr);
    let after = scan(&site, other);
    assert_eq!(before["findings"], after["findings"]);
    assert_eq!(scan(&site, world.cluster_id)["findings"].as_array().unwrap().len(), 0, "{}", ended.stderr);
}

#[test]
fn a_thousand_changes_take_no_more_calls_than_batches_and_looks() {
    let site = Site::of(&untagged(1_000));
    let ended = site.fix(&["--max-changes", "1000", "-q"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let calls = site.mock.calls();
    let count = |name: &str| calls.iter().filter(|call| call.name() == name).count();
    assert_eq!(count("ec2:CreateTags"), 40, "25 in a call");
    // Three scans (before, at the gate, afterwards), a look before each batch, and reading back 200 at a time.
    assert_eq!(count("ec2:DescribeInstances"), 3 * 2 + 40 + 5);
    assert_eq!(site.mock.effects().len(), 1_000);
}

#[test]
fn a_fix_asks_for_nothing_outside_its_printed_policy() {
    let site = Site::of(&forty());
    site.fix(&[ALLOW_FORTY, &["--journal", "journal.jsonl"]].concat());
    site.undo(&ALLOW_FORTY[10..]);
    super::permissions::assert_covered(&site.mock.calls(), CLUSTER, &["rancher-worker"]);
    for attached in [false, true] {
        let site = Site::of(&full_role(attached));
        site.fix(&[ALLOW_GRANT, &["--journal", "journal.jsonl"]].concat());
        site.undo(&[]);
        super::permissions::assert_covered(&site.mock.calls(), CLUSTER, &["rancher-worker"]);
    }
}

#[test]
fn what_was_broken_off_is_reconciled_by_the_next_scan_too() {
    let site = Site::new(Mock::serve(&untagged(30)).fault_on("write", &[2], Fault::KillAfter));
    let fix = ["scan", "--cluster-id", CLUSTER, "--fix", "--yes", "--expect-account", ACCOUNT];
    let status = site.start(&fix).wait().unwrap();
    assert_eq!(status.code(), None, "killed");
    site.mock.heal();
    site.mock.edit(|inventory| untag(inventory, "i-0wk1"));
    let ended = site.fix(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    has(&ended.stderr, "was interrupted; its outcome:");
    has(&ended.stderr, "applied i-10029");
    has(&ended.stderr, "1 change: 1 applied");
}

/// Kills the binary at every write of a plan, in one way, and goes on with it.
fn killed_everywhere(fault: &Fault) {
    let inventory = forty();
    let whole = Site::of(&inventory);
    whole.plan(ALLOW_FORTY);
    let plan = std::fs::read(whole.path("plan.json")).unwrap();
    assert_eq!(whole.apply(&[]).code, Some(0));
    let (end, mut effects) = (whole.mock.inventory(), whole.mock.effects());
    effects.sort();
    for write in 1..=whole.mock.writes().len() {
        let site = Site::new(Mock::serve(&inventory).fault_on("write", &[write], fault.clone()));
        std::fs::write(site.path("plan.json"), &plan).unwrap();
        std::fs::copy(whole.path("apply.words"), site.path("apply.words")).unwrap();
        let status = site.start_applying().wait().unwrap();
        assert_eq!(status.code(), None, "write {write}: killed");
        site.mock.heal();
        // What was in flight is waited for no longer than anything else.
        let ended = site.apply(&["--verify-timeout", "1"]);
        assert_eq!(ended.code, Some(0), "write {write}: {}", ended.stderr);
        assert!(site.mock.inventory() == end, "write {write}: the end is the same");
        let mut found = site.mock.effects();
        found.sort();
        assert_eq!(found, effects, "write {write}: each change once, and nothing else");
    }
}

#[test]
fn w12_killed_before_any_write_it_goes_on_where_it_was() {
    killed_everywhere(&Fault::KillBefore);
}

#[test]
fn w12_killed_after_any_write_it_goes_on_where_it_was() {
    killed_everywhere(&Fault::KillAfter);
}
