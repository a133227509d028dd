//! Fixing in Alibaba Cloud, by the built binary against the mock. The numbers are those of the table of faults in `docs/fixing.md`.
//!
//! One file, though long: a test for each row of that table that Alibaba Cloud has, in its order, over one set of helpers.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use sha2::Digest;
use tagaudit::internals::alibaba::{Attachment, Inventory, Policy, PolicyType, grant};
use tagaudit::internals::tags::Tag;

use super::alibaba_mock::{Call, Fault, KEY_ID, Mock, SECRET};
use super::alibaba_worlds::{self as worlds, ACCOUNT};
use super::binary::command;

const CLUSTER: &str = "prod";
const KEY: &str = "ack.aliyun.com";
const ROLE: &str = "k8s-master";
const POLICY: &str = "tagaudit-baseline-k8s-master";

/// What makes both findings: v2.8 finds an instance by its tag, and calls more than the published policy grants.
const SCAN: [&str; 6] = [
    "--controller-version",
    "2.8",
    "--controller-role",
    "acs:ram::1234567890123456:role/k8s-master",
    "--region",
    "cn-hangzhou",
];
const GRANT: [&str; 2] = ["--allow", "ram-action-missing"];

/// A hand-made cluster of which some workers lack the tag and the providerID, and whose controller lacks actions.
fn lacking(workers: usize) -> Inventory {
    let mut inventory = worlds::all().into_iter().find(|world| world.name == "clean-handmade").unwrap().inventory;
    let account = &mut inventory.accounts[0];
    let worker = account.regions[0].instances.iter().find(|one| one.id == "i-bp1worker1").unwrap().clone();
    for number in 0..workers {
        let mut one = worker.clone();
        one.id = format!("i-bp1new{number:03}");
        one.name = Some(format!("prod-new-{number}"));
        one.private_addresses = vec![format!("192.168.{}.{}", 10 + number / 200, number % 200)];
        one.tags = vec![Tag { key: "team".to_owned(), value: "a".to_owned() }];
        account.regions[0].instances.push(one);
    }
    account.principals[0].attachments.as_mut().unwrap().retain(|one| one.policy == "k8s-ccm");
    account.policies.retain(|one| one.name == "k8s-ccm");
    inventory.canonicalise();
    inventory
}

/// A mock, and a folder for everything that is written.
struct Site {
    mock: Mock,
    folder: tempfile::TempDir,
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Site {
    fn new(mock: Mock) -> Self {
        let site = Self { mock, folder: tempfile::tempdir().unwrap() };
        let inventory = site.mock.inventory();
        let instances = inventory.accounts[0].regions[0].instances.iter();
        let nodes: Vec<Value> = instances
            .map(|one| {
                let name = one.name.as_deref().unwrap();
                let roles: &[&str] = if name.contains("master") { &["control-plane"] } else { &[] };
                let id = format!("cn-hangzhou.{}", one.id);
                let id = if one.id.contains("new") { "" } else { id.as_str() };
                worlds::node(name, id, roles, &one.private_addresses[0], &[])
            })
            .collect();
        std::fs::write(site.path("nodes.json"), worlds::list(&nodes).to_string()).unwrap();
        site
    }

    fn of(inventory: &Inventory) -> Self {
        Self::new(Mock::serve(inventory))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ALIBABA") {
                command.env_remove(name);
            }
        }
        command.args(arguments).args(["--endpoint-url", &self.mock.url, "--requests-per-second", "100"]);
        command
            .env("HOME", self.folder.path())
            .env("TAGAUDIT_LOCK_FOLDER", self.folder.path())
            .env("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")
            .env("ALIBABA_CLOUD_ACCESS_KEY_ID", KEY_ID)
            .env("ALIBABA_CLOUD_ACCESS_KEY_SECRET", SECRET)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(self.mock.complaints(), [""; 0], "the mock refuses what the service would");
        assert_lawful(&self.mock.calls());
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let child = self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.mock.client(child.id());
        child
    }

    fn scan(&self, more: &[&str]) -> Ended {
        let base = ["scan", "--provider", "alibaba", "--cluster-id", CLUSTER, "--nodes", "nodes.json"];
        self.run(&[&base[..], &SCAN, more].concat())
    }

    fn fix(&self, more: &[&str]) -> Ended {
        let agreed = ["--fix", "--yes", "--expect-account", ACCOUNT, "--journal", "journal.jsonl"];
        self.scan(&[&agreed[..], more].concat())
    }

    fn plan(&self, more: &[&str]) -> Ended {
        self.scan(&[&["--fix", "--plan-out", "plan.json"], more].concat())
    }

    fn applying<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let base = ["apply", "plan.json", "--yes", "--expect-account", ACCOUNT, "--journal", "journal.jsonl"];
        // What is read again is planned with the same options, and with the consent that any of the plans needs.
        [&base[..], &["--nodes", "nodes.json"], &SCAN, &GRANT, more].concat()
    }

    fn apply(&self, more: &[&str]) -> Ended {
        self.run(&Self::applying(more))
    }

    fn undo(&self, more: &[&str]) -> Ended {
        let base = ["undo", "journal.jsonl", "--yes", "--expect-account", ACCOUNT, "--nodes", "nodes.json"];
        self.run(&[&base[..], &SCAN[..4], more].concat())
    }

    fn tag(&self, id: &str) -> Option<String> {
        let inventory = self.mock.inventory();
        let instance = inventory.accounts[0].regions[0].instances.iter().find(|one| one.id == id)?.clone();
        instance.tags.into_iter().find(|tag| tag.key == KEY).map(|tag| tag.value)
    }

    fn policy(&self) -> Option<Policy> {
        let inventory = self.mock.inventory();
        inventory.accounts[0].policies.iter().find(|one| one.name == POLICY).cloned()
    }

    fn is_attached(&self) -> bool {
        is_attached(&self.mock.inventory())
    }

    /// Of each write its action.
    fn written(&self) -> Vec<String> {
        self.mock.writes().into_iter().map(|call| call.action).collect()
    }
}

fn ours() -> Attachment {
    Attachment { policy_type: PolicyType::Custom, policy: POLICY.to_owned(), resource_group_id: None }
}

fn is_attached(inventory: &Inventory) -> bool {
    inventory.accounts[0].principals[0].attachments.as_ref().unwrap().contains(&ours())
}

/// Puts a policy of our name into an inventory, attached or not.
fn with_policy(mut inventory: Inventory, document: &str, attached: bool) -> Inventory {
    let account = &mut inventory.accounts[0];
    account.policies.push(Policy {
        policy_type: PolicyType::Custom,
        name: POLICY.to_owned(),
        default_version: Some("v1".to_owned()),
        document: Some(document.to_owned()),
        attachment_count: None,
    });
    if attached {
        account.principals[0].attachments.as_mut().unwrap().push(ours());
    }
    inventory.canonicalise();
    inventory
}

/// W23 and W24, after every run: no call is without resources, and only tags of the cluster are written.
fn assert_lawful(calls: &[Call]) {
    for call in
        calls.iter().filter(|call| call.action.ends_with("tagResources") || call.action.ends_with("TagResources"))
    {
        let get = |key: &str| call.parameters.get(key).map(String::as_str);
        assert!(get("ResourceId.1").is_some_and(|id| !id.is_empty()), "{call:?}");
        assert_eq!(get("Tag.1.Key").or(get("TagKey.1")), Some(KEY), "{call:?}");
        assert!(get("All").is_none() && get("Tag.2.Key").is_none() && get("TagKey.2").is_none(), "{call:?}");
    }
}

fn has(text: &str, wanted: &str) {
    assert!(text.contains(wanted), "`{wanted}` is not in:\n{text}");
}

#[test]
fn safe_fixes_are_made_read_back_and_shown() {
    let site = Site::of(&lacking(2));
    let ended = site.fix(&["--fail-on", "never"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.written(), ["ecs:TagResources"], "two instances in one call");
    assert_eq!(site.tag("i-bp1new000").as_deref(), Some(CLUSTER));
    assert_eq!(site.tag("i-bp1new001").as_deref(), Some(CLUSTER));
    has(&ended.stderr, "2 changes: 2 to add, 0 to change, 0 to remove (2 safe)");
    has(&ended.stderr, "--allow ram-action-missing");
    assert!(site.policy().is_none(), "what widens rights is left until it is agreed to");
}

#[test]
fn every_kind_of_change_is_made_and_taken_back_byte_for_byte() {
    let granted = grant::document(&["ecs:DescribeInstances".to_owned()]);
    for before in [lacking(3), with_policy(lacking(3), &granted, true)] {
        let site = Site::of(&before);
        let ended = site.fix(&GRANT);
        assert!(site.is_attached() && site.policy().is_some(), "{}", ended.stderr);
        let actions = grant::own_actions(site.policy().unwrap().document.as_deref().unwrap()).unwrap();
        assert!(actions.contains(&"nlb:ListLoadBalancers".to_owned()) || actions.len() > 3, "{actions:?}");
        let report = site.scan(&["--format", "json"]);
        let report: Value = serde_json::from_str(&report.stdout).unwrap();
        let left: Vec<&str> =
            report["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
        assert!(!left.contains(&"ram-action-missing") && !left.contains(&"ali-instance-tag-missing"), "{left:?}");
        let ended = site.undo(&[]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(site.mock.inventory() == before, "W18: tags and policies are as they were");
        let again = site.undo(&[]);
        has(&again.stderr, "Nothing to undo");
    }
}

#[test]
fn w1_scan_plan_dry_run_and_emit_write_nothing() {
    let site = Site::of(&lacking(2));
    site.scan(&[]);
    site.plan(&GRANT);
    let dry = site.scan(&[&["--fix", "--dry-run"], &GRANT[..]].concat());
    has(&dry.stderr, "dry run: not supported for this call");
    for language in ["aliyun-cli", "terraform"] {
        let emitted = site.scan(&[&["--fix", "--emit", language], &GRANT[..]].concat());
        assert!(!emitted.stdout.is_empty(), "{}", emitted.stderr);
    }
    assert_eq!(site.written(), [""; 0]);
    for language in ["aws-cli", "cloudformation"] {
        let refused = site.scan(&["--fix", "--emit", language]);
        assert_eq!(refused.code, Some(2));
        has(&refused.stderr, "--emit names a language of AWS, but Alibaba Cloud is audited");
    }
}

#[test]
fn w2_what_somebody_else_changed_is_left_alone() {
    let site = Site::of(&lacking(2));
    site.plan(&GRANT);
    site.mock.edit(|inventory| {
        let account = &mut inventory.accounts[0];
        let other = Tag { key: KEY.to_owned(), value: "theirs".to_owned() };
        account.regions[0].instances.iter_mut().find(|one| one.id == "i-bp1new000").unwrap().tags.push(other);
        account.principals[0].id = Some("4711".to_owned());
    });
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "skipped: i-bp1new000 ack.aliyun.com: ");
    has(&ended.stderr, "skipped: i-bp1new001 ack.aliyun.com: it now needs --allow ali-instance-tag-missing: ");
    has(&ended.stderr, "the role has been deleted and re-created");
    assert_eq!(site.tag("i-bp1new000").as_deref(), Some("theirs"));
    assert_eq!(site.tag("i-bp1new001"), None, "whose the machines of these Nodes are is a question now");
    assert!(!site.is_attached());
}

#[test]
fn w3_a_plan_is_for_one_account_region_and_cluster() {
    let site = Site::of(&lacking(1));
    site.plan(&[]);
    let refused = |more: &[&str], why: &str| {
        let ended = site.apply(more);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, why);
    };
    refused(&["--cluster-id", "other"], "the plan is for the cluster `prod`");
    refused(&["--region", "cn-beijing"], "the plan is for cn-hangzhou, but --region is cn-beijing");
    site.mock.edit(|inventory| {
        inventory.accounts[0].account_id = "9999999999999999".to_owned();
        inventory.accounts[0].caller_arn = "acs:ram::9999999999999999:user/auditor".to_owned();
    });
    refused(&[], "the plan is for account 1234567890123456 (alibaba), but the credentials belong to 9999999999999999");
    assert_eq!(site.written(), [""; 0]);
}

#[test]
fn w4_edited_and_applied_plans_are_refused() {
    let site = Site::of(&lacking(1));
    site.plan(&[]);
    let saved = std::fs::read_to_string(site.path("plan.json")).unwrap();
    std::fs::write(site.path("plan.json"), saved.replacen("i-bp1new000", "i-bp1master1", 1)).unwrap();
    let edited = site.apply(&[]);
    assert_eq!(edited.code, Some(2));
    has(&edited.stderr, "was edited");
    std::fs::write(site.path("plan.json"), saved).unwrap();
    assert_eq!(site.apply(&[]).code, Some(0));
    has(&site.apply(&[]).stderr, "was already applied");
    assert_eq!(site.written().len(), 1);
}

#[test]
fn w5_what_the_evidence_does_not_cover_is_not_planned() {
    for read in ["ecs:DescribeInstanceRamRole", "resourcemanager:ListPolicyAttachments", "ram:GetPolicy"] {
        let mock = Mock::serve(&lacking(1)).fault(read, Fault::Error(403, "NoPermission", "no"));
        let site = Site::new(mock);
        let ended = site.fix(&GRANT);
        assert!(!site.is_attached() && site.policy().is_none(), "{read}: {}", ended.stderr);
    }
}

#[test]
fn w6_more_changes_than_agreed_are_refused_before_the_first() {
    let site = Site::of(&lacking(4));
    let ended = site.fix(&["--max-changes", "3"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(site.written(), [""; 0]);
}

#[test]
fn w7_one_bad_id_does_not_lose_the_batch() {
    let fault = Fault::Error(404, "InvalidResourceId.NotFound", "The specified ResourceIds are not found");
    let site = Site::new(Mock::serve(&lacking(3)).fault_on("ecs:TagResources", &[1, 3], fault));
    let ended = site.fix(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(site.mock.count("ecs:TagResources"), 4, "all at once, then one by one");
    let tagged = (0..3).filter(|number| site.tag(&format!("i-bp1new00{number}")).is_some()).count();
    assert_eq!(tagged, 2);
    has(&ended.stderr, "failed i-bp1new001 ack.aliyun.com: InvalidResourceId.NotFound");
}

#[test]
fn w8_a_lost_reply_is_looked_after_and_not_sent_again() {
    let site = Site::new(Mock::serve(&lacking(2)).fault_on("ecs:TagResources", &[1], Fault::DropAfter));
    let ended = site.fix(&["--fail-on", "never"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.mock.count("ecs:TagResources"), 1);
}

#[test]
fn a_call_that_never_arrived_is_made_again() {
    for fault in [Fault::Drop, Fault::Error(503, "ServiceUnavailable", "busy"), Fault::RetryAfter(20)] {
        let site = Site::new(Mock::serve(&lacking(1)).fault_on("ecs:TagResources", &[1], fault.clone()));
        let ended = site.fix(&["--fail-on", "never"]);
        assert_eq!(ended.code, Some(0), "{fault:?}: {}", ended.stderr);
        assert_eq!(site.mock.count("ecs:TagResources"), 2, "{fault:?}");
    }
}

#[test]
fn w9_a_lost_reply_makes_no_second_policy_version_or_attachment() {
    for action in ["ram:CreatePolicy", "ram:AttachPolicyToRole"] {
        let site = Site::new(Mock::serve(&lacking(0)).fault_on(action, &[1], Fault::DropAfter));
        let ended = site.fix(&[&GRANT[..], &["--fail-on", "never"]].concat());
        assert_eq!(ended.code, Some(0), "{action}: {}", ended.stderr);
        assert_eq!(site.mock.count(action), 1, "{action}");
        assert!(site.is_attached());
    }
    let granted = grant::document(&["ecs:DescribeInstances".to_owned()]);
    let mock = Mock::serve(&with_policy(lacking(0), &granted, true));
    let site = Site::new(mock.fault_on("ram:CreatePolicyVersion", &[1], Fault::DropAfter));
    let ended = site.fix(&[&GRANT[..], &["--fail-on", "never"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.mock.versions(POLICY), ["v1", "v2"]);
}

#[test]
fn w10_a_write_that_does_nothing_is_not_called_applied() {
    let site = Site::new(Mock::serve(&lacking(1)).fault("ecs:TagResources", Fault::NoEffect));
    let ended = site.fix(&["--verify-timeout", "1"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "unconfirmed i-bp1new000");
}

#[test]
fn w11_reading_back_waits_and_then_says_unconfirmed() {
    let slow = Site::new(Mock::serve(&lacking(1)).lag(Duration::from_secs(1)));
    let ended = slow.fix(&["--fail-on", "never"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let never = Site::new(Mock::serve(&lacking(1)).lag(Duration::from_mins(10)));
    let ended = never.fix(&["--verify-timeout", "1"]);
    assert_eq!(ended.code, Some(5));
    has(&ended.stderr, "unconfirmed i-bp1new000 ack.aliyun.com: not visible within 1 s");
    assert_eq!(never.written().len(), 1, "nothing is written again");
}

#[test]
fn a_value_that_somebody_else_wrote_at_the_same_time_is_a_lost_race() {
    fn theirs(inventory: &mut Inventory) {
        for instance in &mut inventory.accounts[0].regions[0].instances {
            for tag in instance.tags.iter_mut().filter(|tag| tag.key == KEY) {
                tag.value = "theirs".to_owned();
            }
        }
    }
    let site = Site::new(Mock::serve(&lacking(1)).fault("ecs:TagResources", Fault::Meddle(theirs)));
    let ended = site.fix(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "conflict i-bp1new000 ack.aliyun.com: somebody else wrote another value");
    let ended = site.undo(&[]);
    has(&ended.stderr, "Nothing to undo");
    assert_eq!(site.tag("i-bp1new000").as_deref(), Some("theirs"));
}

/// Kills the binary at every write of a plan, in one way, and goes on with it.
fn killed_everywhere(fault: &Fault) {
    let inventory = lacking(30);
    let whole = Site::of(&inventory);
    whole.plan(&GRANT);
    let plan = std::fs::read(whole.path("plan.json")).unwrap();
    assert_eq!(whole.apply(&[]).code, Some(0));
    let (end, mut effects) = (whole.mock.inventory(), whole.mock.effects());
    effects.sort();
    let all = ["ecs:TagResources", "ecs:TagResources", "ram:CreatePolicy", "ram:AttachPolicyToRole"];
    assert_eq!(whole.written(), all, "thirty instances in two calls");
    for (action, number) in [(all[0], 1), (all[1], 2), (all[2], 1), (all[3], 1)] {
        let site = Site::new(Mock::serve(&inventory).fault_on(action, &[number], fault.clone()));
        std::fs::write(site.path("plan.json"), &plan).unwrap();
        let status = site.start(&Site::applying(&[])).wait().unwrap();
        assert_eq!(status.code(), None, "{action} {number}: killed");
        site.mock.heal();
        let ended = site.apply(&["--verify-timeout", "1"]);
        assert_eq!(ended.code, Some(0), "{action} {number}: {}", ended.stderr);
        assert!(site.mock.inventory() == end, "{action} {number}: the end is the same");
        let mut found = site.mock.effects();
        found.sort();
        assert_eq!(found, effects, "{action} {number}: each change once, and nothing else");
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

#[test]
fn w13_sigterm_finishes_the_call_in_flight() {
    let site = Site::new(Mock::serve(&lacking(30)).fault_on("ecs:TagResources", &[1], Fault::Terminate));
    site.plan(&[]);
    let status = site.start(&Site::applying(&[])).wait().unwrap();
    assert_eq!(status.code(), Some(143));
    assert_eq!(site.mock.count("ecs:TagResources"), 1, "nothing after it");
    let journal = std::fs::read_to_string(site.path("journal.jsonl")).unwrap();
    has(&journal, "\"accepted\":true");
    site.mock.heal();
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.mock.effects().len(), 30);
}

fn stops_and_goes_on(fault: Fault) {
    let site = Site::new(Mock::serve(&lacking(30)).fault_on("ecs:TagResources", &[2, 3, 4, 5, 6], fault));
    site.plan(&[]);
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(site.mock.effects().len(), 25);
    site.mock.heal();
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.mock.effects().len(), 30, "each once");
}

#[test]
fn w15_throttled_for_good_stops_and_can_be_gone_on_with() {
    stops_and_goes_on(Fault::Error(400, "Throttling.User", "too many requests"));
}

#[test]
fn w16_expired_credentials_stop_and_can_be_gone_on_with() {
    stops_and_goes_on(Fault::Error(404, "InvalidAccessKeyId.NotFound", "no such key"));
}

#[test]
fn w17_after_a_fix_there_is_nothing_to_plan() {
    let site = Site::of(&lacking(2));
    site.fix(&GRANT);
    let written = site.written().len();
    let ended = site.fix(&GRANT);
    has(&ended.stderr, "Nothing to write.");
    assert_eq!(site.written().len(), written);
}

#[test]
fn w18_undo_leaves_alone_what_is_no_longer_ours() {
    let site = Site::of(&lacking(2));
    site.fix(&GRANT);
    site.mock.edit(|inventory| {
        let account = &mut inventory.accounts[0];
        let instance = account.regions[0].instances.iter_mut().find(|one| one.id == "i-bp1new000").unwrap();
        instance.tags.iter_mut().find(|tag| tag.key == KEY).unwrap().value = "theirs".to_owned();
        let policy = account.policies.iter_mut().find(|one| one.name == POLICY).unwrap();
        policy.document = policy.document.as_ref().map(|text| text.replace("[\"", "[\"oss:GetObject\",\""));
    });
    let ended = site.undo(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(site.tag("i-bp1new000").as_deref(), Some("theirs"));
    assert_eq!(site.tag("i-bp1new001"), None);
    assert!(site.policy().is_some(), "somebody changed the policy: it stays");
}

#[test]
fn w19_what_ecs_would_refuse_is_not_sent() {
    let mut inventory = lacking(1);
    let many = (0..19).map(|number| Tag { key: format!("note-{number:02}"), value: String::new() });
    inventory.accounts[0].regions[0].instances.iter_mut().find(|one| one.id.contains("new")).unwrap().tags.extend(many);
    let site = Site::of(&inventory);
    let ended = site.fix(&["--allow", "ali-instance-tag-missing"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "it has 20 tags already, as many as ECS allows");
    assert_eq!(site.written(), [""; 0]);
}

#[test]
fn w22_what_others_mark_is_never_safe_and_stays() {
    let cases: [(&str, &str, &str); 3] = [
        ("kubernetes.io/cluster/other", "owned", "carries the tag of another cluster: other"),
        ("acs:autoscaling:scalingGroupId", "asg-1", "managed by the scaling group `asg-1`"),
        ("acs:ros:stackId", "s-1", "managed by the ROS stack `s-1`"),
    ];
    for (key, value, why) in cases {
        let mut inventory = lacking(1);
        let instances = &mut inventory.accounts[0].regions[0].instances;
        let one = instances.iter_mut().find(|one| one.id.contains("new")).unwrap();
        one.tags.push(Tag { key: key.to_owned(), value: value.to_owned() });
        inventory.canonicalise();
        let site = Site::of(&inventory);
        let ended = site.fix(&["--format", "json", "-o", "report.json"]);
        assert_eq!(site.written(), [""; 0], "{key}: {}", ended.stderr);
        has(&std::fs::read_to_string(site.path("report.json")).unwrap(), why);
        let ended = site.fix(&["--allow", "ali-instance-tag-missing", "--fail-on", "never"]);
        assert_eq!(ended.code, Some(0), "{key}: {}", ended.stderr);
        assert_eq!(site.tag("i-bp1new000").as_deref(), Some(CLUSTER));
    }
}

/// The address of a Node may be that of a machine elsewhere: only a VPC in which the cluster is known makes it safe.
#[test]
fn an_instance_of_another_vpc_with_the_address_of_a_node_is_not_safe() {
    let mut inventory = lacking(1);
    let instances = &mut inventory.accounts[0].regions[0].instances;
    instances.iter_mut().find(|one| one.id.contains("new")).unwrap().vpc_id = Some("vpc-other".to_owned());
    let site = Site::of(&inventory);
    let ended = site.scan(&["--format", "json"]);
    // The address is that of another machine there: the Node is not known by it.
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let mut findings = report["findings"].as_array().unwrap().iter();
    assert!(findings.all(|one| one["rule"] != "ali-instance-tag-missing"), "{}", report["findings"]);
    site.fix(&[]);
    assert_eq!(site.written(), [""; 0]);
}

#[test]
fn w25_ten_policies_five_versions_and_the_length_are_not_exceeded() {
    let mut crowded = lacking(0);
    let attached = crowded.accounts[0].principals[0].attachments.as_mut().unwrap();
    attached.extend((0..9).map(|number| Attachment { policy: format!("p{number}"), ..ours() }));
    let more = (0..9).map(|number| Policy {
        policy_type: PolicyType::Custom,
        name: format!("p{number}"),
        default_version: Some("v1".to_owned()),
        document: Some(r#"{"Version":"1","Statement":[]}"#.to_owned()),
        attachment_count: None,
    });
    crowded.accounts[0].policies.extend(more);
    crowded.canonicalise();
    let site = Site::of(&crowded);
    let ended = site.fix(&[&GRANT[..], &["--format", "json", "-o", "report.json"]].concat());
    assert_eq!(site.written(), [""; 0], "{}", ended.stderr);
    has(&std::fs::read_to_string(site.path("report.json")).unwrap(), "10 custom policies are attached to the role");

    let granted = grant::document(&["ecs:DescribeInstances".to_owned()]);
    let full = Site::of(&with_policy(lacking(0), &granted, true));
    full.mock.store(POLICY, 5);
    let ended = full.fix(&GRANT);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "5 versions of the policy are stored, as many as RAM allows: delete one");
    assert_eq!(full.written(), [""; 0], "no version is deleted to make room");
}

#[test]
fn w26_a_policy_of_our_name_that_others_wrote_is_not_replaced_and_not_attached() {
    let theirs = r#"{"Version":"1","Statement":[{"Effect":"Allow","Action":"oss:*","Resource":"*"}]}"#;
    for attached in [true, false] {
        let before = with_policy(lacking(0), theirs, attached);
        let site = Site::of(&before);
        let ended = site.fix(&GRANT);
        assert_eq!(site.policy().unwrap().document.as_deref(), Some(theirs), "{}", ended.stderr);
        assert_eq!(site.is_attached(), attached);
        assert_eq!(site.written(), [""; 0], "{}", ended.stderr);
    }
}

#[test]
fn w27_what_only_alibaba_cloud_may_change_is_not_planned() {
    let mut inventory = lacking(0);
    let account = &mut inventory.accounts[0];
    account.principals[0].name = "AliyunServiceRoleForThis".to_owned();
    for instance in account.regions[0].instances.iter_mut().filter(|one| one.ram_role.is_some()) {
        instance.ram_role = Some("AliyunServiceRoleForThis".to_owned());
    }
    let site = Site::of(&inventory);
    let role = "acs:ram::1234567890123456:role/AliyunServiceRoleForThis";
    let ended = site.fix(&[&GRANT[..], &["--controller-role", role, "--format", "json", "-o", "r.json"]].concat());
    has(&std::fs::read_to_string(site.path("r.json")).unwrap(), "only Alibaba Cloud can change this role");
    assert_eq!(site.written(), [""; 0], "{}", ended.stderr);
}

#[test]
fn w28_a_refused_call_fails_for_good_and_the_others_go_on() {
    let denied = Fault::Error(403, "Forbidden.RAM", "User not authorized to operate on the specified resource.");
    let site = Site::new(Mock::serve(&lacking(30)).fault("ecs:TagResources", denied));
    let ended = site.fix(&GRANT);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(site.mock.count("ecs:TagResources") <= 8, "no storm of refusals");
    assert!(site.is_attached(), "what is something else goes on");
}

#[test]
fn undo_deletes_no_policy_that_others_have_come_to_use() {
    let site = Site::of(&lacking(0));
    site.fix(&GRANT);
    site.mock.edit(|inventory| {
        let mut other = inventory.accounts[0].principals[0].clone();
        other.name = "another".to_owned();
        other.attachments = Some(vec![ours()]);
        inventory.accounts[0].principals.push(other);
        inventory.canonicalise();
    });
    let ended = site.undo(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    has(&ended.stderr, "the policy is attached elsewhere");
    assert!(site.policy().is_some());
}

#[test]
fn roles_of_which_nobody_says_that_the_controller_uses_them_are_agreed_to_with_that_word() {
    let site = Site::of(&lacking(0));
    let base = ["scan", "--provider", "alibaba", "--cluster-id", CLUSTER, "--nodes", "nodes.json", "--region"];
    let report = site.run(&[&base[..], &["cn-hangzhou", "--format", "json"]].concat());
    has(&report.stdout, "if the controller uses the role `k8s-master` (confirm with --controller-role)");
}

#[test]
fn w30_hostile_values_stay_values_in_every_language() {
    let site = Site::of(&lacking(2));
    let hostile = "a'; touch pwned; '$(touch pwned)`${x}%{y}\"\\";
    let arguments = ["--provider", "alibaba", "--nodes", "nodes.json", "--cluster-id", hostile, "--fix", "--emit"];
    let emit = |language: &str| {
        let ended = site.run(&[&["scan"], &arguments[..], &[language], &SCAN[..], &GRANT[..]].concat());
        let allow = ["--allow", "ali-instance-tag-missing"];
        let with = site.run(&[&["scan"], &arguments[..], &[language], &SCAN[..], &GRANT[..], &allow[..]].concat());
        assert!(!ended.stdout.is_empty(), "{}", ended.stderr);
        with.stdout
    };
    let script = emit("aliyun-cli");
    let file = site.path("script.sh");
    std::fs::write(&file, &script).unwrap();
    let checked = Command::new("sh").arg("-n").arg(&file).status().unwrap();
    assert!(checked.success(), "{script}");
    let calls: Vec<Vec<String>> = script
        .lines()
        .filter(|line| line.starts_with("aliyun "))
        .map(|line| shell_words::split(line).unwrap())
        .collect();
    let tagging = calls.iter().find(|call| call[2] == "TagResources").unwrap();
    let at = tagging.iter().position(|word| word == "--Tag.1.Value").unwrap();
    assert_eq!(tagging[at + 1], hostile);
    assert!(calls.iter().any(|call| call[2] == "AttachPolicyToRole"), "{script}");
    let body = hcl::parse(&emit("terraform")).unwrap();
    let kinds: Vec<&str> = body.blocks().map(|block| block.labels()[0].as_str()).collect();
    assert_eq!(kinds, ["alicloud_ram_policy", "alicloud_ram_role_policy_attachment"]);
}

/// The script is run with an `aliyun` that sends what it is told to the mock's own writes: what is printed does what is planned.
#[test]
fn the_emitted_script_says_what_the_plan_does() {
    let site = Site::of(&lacking(1));
    let script = site.scan(&[&["--fix", "--emit", "aliyun-cli"], &GRANT[..]].concat()).stdout;
    let folder = site.path("bin");
    std::fs::create_dir(&folder).unwrap();
    let log = site.path("log");
    let stub = format!(
        "#!/bin/sh\nif [ \"$2\" = GetCallerIdentity ]; then printf '{{\\n\\t\"AccountId\": \"{ACCOUNT}\",\\n\\t\"Arn\": \"x\"\\n}}\\n'; exit 0; fi\nprintf '%s\\n' \"$*\" >> {}\n",
        log.display()
    );
    std::fs::write(folder.join("aliyun"), stub).unwrap();
    std::fs::write(site.path("fix.sh"), &script).unwrap();
    let run = |account: &str| {
        let script = script.replace(ACCOUNT, account);
        std::fs::write(site.path("fix.sh"), script).unwrap();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
        Command::new("chmod").args(["+x", folder.join("aliyun").to_str().unwrap()]).status().unwrap();
        Command::new("sh").arg(site.path("fix.sh")).env("PATH", path).status().unwrap().success()
    };
    assert!(!run("9999999999999999"), "another account");
    assert!(!log.exists());
    assert!(run(ACCOUNT), "{script}");
    let log = std::fs::read_to_string(log).unwrap();
    let words: Vec<&str> = log.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(words, ["TagResources", "CreatePolicy", "AttachPolicyToRole"]);
    has(&log, "--ResourceId.1 i-bp1new000 --Tag.1.Key ack.aliyun.com --Tag.1.Value prod");
}

#[test]
fn a_fix_works_under_exactly_its_printed_policy() {
    let policy = |more: &[&str]| {
        let base = ["permissions", "--provider", "alibaba", "--fix", "--account", ACCOUNT];
        let printed = command().args(base).args(more).output().unwrap();
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        String::from_utf8(printed.stdout).unwrap()
    };
    let role = |name: &str| format!("acs:ram::{ACCOUNT}:role/{name}");
    let own = role("tagaudit");
    let printed = policy(&["--role", &role(ROLE), "--own-role", &own]);
    let granted = grant::document(&["ecs:DescribeInstances".to_owned()]);
    for before in [lacking(2), with_policy(lacking(2), &granted, true)] {
        let site = Site::new(Mock::serve(&before).policy(&printed));
        let ended = site.fix(&[&GRANT[..], &["--fail-on", "never"]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(site.undo(&[]).code, Some(0));
        assert!(site.mock.inventory() == before);
    }
    for other in [policy(&[]), policy(&["--role", &role("another"), "--own-role", &own])] {
        let site = Site::new(Mock::serve(&lacking(1)).policy(&other));
        site.fix(&GRANT);
        assert!(!site.is_attached(), "another role");
    }
    let wrong =
        command().args(["permissions", "--provider", "alibaba", "--fix", "--cluster-id", "a"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

/// Half a grant is none: where the policy of our name is somebody else's, it is not attached either, wherever it is known from.
#[test]
fn w26_a_foreign_policy_of_our_name_on_another_role_or_in_a_resource_group_is_not_attached() {
    let theirs = r#"{"Version":"1","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#;
    for in_group in [false, true] {
        let mut before = with_policy(lacking(0), theirs, false);
        let account = &mut before.accounts[0];
        if in_group {
            let of_group = Attachment { resource_group_id: Some("rg-1".to_owned()), ..ours() };
            account.principals[0].resource_group_attachments.as_mut().unwrap().push(of_group);
        } else {
            let mut other = account.principals[0].clone();
            (other.name, other.attachments) = ("other".to_owned(), Some(vec![ours()]));
            account.principals.push(other);
        }
        before.canonicalise();
        let site = Site::of(&before);
        for more in [&GRANT[..], &[&GRANT[..], &["--emit", "aliyun-cli"]].concat()] {
            let ended = site.fix(more);
            assert_eq!(site.written(), [""; 0], "{}", ended.stderr);
            assert!(!ended.stdout.contains("AttachPolicyToRole --PolicyType"), "{}", ended.stdout);
        }
        assert!(!site.is_attached());
    }
}

#[test]
fn a_policy_that_something_else_has_attached_gets_no_new_version() {
    let granted = grant::document(&["ecs:DescribeInstances".to_owned()]);
    for attached in [true, false] {
        let mut before = with_policy(lacking(0), &granted, attached);
        let mut other = before.accounts[0].principals[0].clone();
        (other.name, other.attachments) = ("other".to_owned(), Some(vec![ours()]));
        before.accounts[0].principals.push(other);
        before.canonicalise();
        let site = Site::of(&before);
        let ended = site.fix(&[&GRANT[..], &["--format", "json", "-o", "report.json"]].concat());
        assert_eq!(site.written(), [""; 0], "{}", ended.stderr);
        has(&std::fs::read_to_string(site.path("report.json")).unwrap(), "is attached elsewhere too");
    }
    // The same between the plan and the write, and between the fix and its undo.
    let site = Site::of(&with_policy(lacking(0), &granted, true));
    let share = |inventory: &mut Inventory| {
        let mut other = inventory.accounts[0].principals[0].clone();
        (other.name, other.attachments) = ("other".to_owned(), Some(vec![ours()]));
        inventory.accounts[0].principals.push(other);
        inventory.canonicalise();
    };
    site.plan(&GRANT);
    site.mock.edit(share);
    let ended = site.apply(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(site.policy().unwrap().document.as_deref(), Some(granted.as_str()));
    let site = Site::of(&with_policy(lacking(0), &granted, true));
    site.fix(&GRANT);
    let wide = site.policy().unwrap().document;
    site.mock.edit(share);
    assert_eq!(site.undo(&[]).code, Some(5));
    assert_eq!(site.policy().unwrap().document, wide, "somebody else uses it by now");
}

#[test]
fn a_policy_that_is_there_and_attached_to_nothing_gets_a_version_and_is_attached() {
    let granted = grant::document(&["ecs:DescribeInstances".to_owned()]);
    let before = with_policy(lacking(0), &granted, false);
    let site = Site::of(&before);
    let ended = site.fix(&[&GRANT[..], &["--fail-on", "never"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(site.written(), ["ram:CreatePolicyVersion", "ram:AttachPolicyToRole"]);
    assert_eq!(site.undo(&[]).code, Some(0));
    assert!(site.mock.inventory() == before);
}

/// A Node without providerID is its address: an instance that lost it, or that something makes again by now, is another one.
#[test]
fn what_made_it_safe_has_to_hold_just_before_the_write() {
    fn instance(inventory: &mut Inventory) -> &mut tagaudit::internals::alibaba::Instance {
        let instances = &mut inventory.accounts[0].regions[0].instances;
        instances.iter_mut().find(|one| one.id == "i-bp1new000").unwrap()
    }
    let tag = |inventory: &mut Inventory, key: &str| {
        instance(inventory).tags.push(Tag { key: key.to_owned(), value: "x".to_owned() });
        inventory.canonicalise();
    };
    let cases: [(&dyn Fn(&mut Inventory), &str); 3] = [
        (
            &|inventory| instance(inventory).private_addresses = vec!["192.168.99.99".to_owned()],
            "its addresses have changed since",
        ),
        (
            &|inventory| tag(inventory, "acs:autoscaling:scalingGroupId"),
            "it now needs --allow ali-instance-tag-missing: instance `i-bp1new000` does not carry `ack.aliyun.com`; managed by",
        ),
        (&|inventory| tag(inventory, "acs:ros:stackId"), "it now needs --allow ali-instance-tag-missing: "),
    ];
    for (change, why) in cases {
        let site = Site::of(&lacking(1));
        site.plan(&[]);
        site.mock.edit(change);
        let ended = site.apply(&[]);
        assert_eq!((ended.code, site.written()), (Some(5), Vec::new()), "{}", ended.stderr);
        has(&ended.stderr, &format!("skipped: i-bp1new000 ack.aliyun.com: {why}"));
    }
}

#[test]
fn a_policy_is_not_written_for_a_role_that_was_made_again() {
    let granted = grant::document(&["ecs:DescribeInstances".to_owned()]);
    for before in [lacking(0), with_policy(lacking(0), &granted, true)] {
        let site = Site::of(&before);
        site.plan(&GRANT);
        site.mock.edit(|inventory| inventory.accounts[0].principals[0].id = Some("4711".to_owned()));
        let ended = site.apply(&[]);
        assert_eq!((ended.code, site.written()), (Some(5), Vec::new()), "no policy is left behind: {}", ended.stderr);
    }
}

#[test]
fn undo_detaches_nothing_that_holds_somebody_elses_text() {
    let site = Site::of(&lacking(0));
    site.fix(&GRANT);
    site.mock.edit(|inventory| {
        let policy = inventory.accounts[0].policies.iter_mut().find(|one| one.name == POLICY).unwrap();
        policy.document = Some(r#"{"Version":"1","Statement":[]}"#.to_owned());
    });
    let ended = site.undo(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(site.is_attached(), "what is attached is not ours any more");
}

/// A version that was there before with the right text is not the run's own, and stays when the run is taken back.
#[test]
fn undo_removes_the_version_that_the_run_made_and_no_other() {
    let granted = grant::document(&["ecs:DescribeInstances".to_owned()]);
    let whole = Site::of(&with_policy(lacking(0), &granted, true));
    whole.fix(&GRANT);
    let wide = whole.policy().unwrap().document.unwrap();
    let site = Site::of(&with_policy(lacking(0), &granted, true));
    site.mock.store_texts(POLICY, &[&granted, &wide], "v1");
    site.fix(&GRANT);
    assert_eq!(site.mock.versions(POLICY), ["v1", "v2", "v3"]);
    assert_eq!(site.undo(&[]).code, Some(0));
    assert_eq!(site.mock.versions(POLICY), ["v1", "v2"]);
    assert_eq!(site.policy().unwrap().document.as_deref(), Some(granted.as_str()));
}

/// The other machines of the same Nodes say which id is theirs.
#[test]
fn a_wrong_cluster_id_is_not_written_as_safe() {
    let site = Site::of(&lacking(2));
    for id in ["other", "Prod"] {
        let base = ["scan", "--provider", "alibaba", "--cluster-id", id, "--nodes", "nodes.json", "--fix", "--yes"];
        let ended = site.run(&[&base[..], &["--expect-account", ACCOUNT, "--journal", "j.jsonl"], &SCAN].concat());
        assert_eq!(site.written(), [""; 0], "{}", ended.stderr);
        has(&ended.stderr, "--allow ali-instance-tag-missing");
    }
}

#[test]
fn what_the_lookup_cannot_help_is_not_asked_for() {
    let site = Site::of(&lacking(1));
    let file = site.path("nodes.json");
    let nodes: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let at = nodes["items"].as_array().unwrap().iter().position(|one| one["spec"]["providerID"].is_null()).unwrap();
    let second = serde_json::json!({"type": "InternalIP", "address": "fd00::5"});
    let excluded = serde_json::json!({"service.alibabacloud.com/exclude-node": ""});
    for (pointer, value) in [("/status/addresses/-", second), ("/metadata/labels", excluded)] {
        let mut nodes = nodes.clone();
        match pointer.strip_suffix("/-") {
            Some(list) => nodes["items"][at].pointer_mut(list).unwrap().as_array_mut().unwrap().push(value),
            None => *nodes["items"][at].pointer_mut(pointer).unwrap() = value,
        }
        std::fs::write(&file, nodes.to_string()).unwrap();
        let report: Value = serde_json::from_str(&site.scan(&["--format", "json"]).stdout).unwrap();
        let rules: Vec<&Value> = report["findings"].as_array().unwrap().iter().map(|one| &one["rule"]).collect();
        assert!(!rules.iter().any(|rule| **rule == "ali-instance-tag-missing"), "{pointer}: {rules:?}");
    }
}

#[test]
fn what_a_baseline_limits_is_left_to_hands() {
    let site = Site::of(&lacking(0));
    let limited = serde_json::json!({"Version": "1", "Statement": [
        {"Effect": "Allow", "Action": "log:DeleteIndex", "Resource": "acs:log:*:*:project/*/logstore/alb_*"},
        {"Effect": "Allow", "Action": "ram:CreateServiceLinkedRole", "Resource": "*",
            "Condition": {"StringEquals": {"ram:ServiceName": "alb.aliyuncs.com"}}}]});
    let mut both = limited.clone();
    let open = serde_json::json!({"Effect": "Allow", "Action": "oss:ListBuckets", "Resource": "*"});
    both["Statement"].as_array_mut().unwrap().push(open);
    for (baseline, wanted) in [(limited, None), (both, Some(vec!["oss:ListBuckets".to_owned()]))] {
        std::fs::write(site.path("baseline.json"), baseline.to_string()).unwrap();
        let ended = site.fix(&[&GRANT[..], &["--baseline", "controlplane=baseline.json"]].concat());
        let held = site.policy().and_then(|policy| grant::own_actions(policy.document.as_deref()?));
        assert_eq!(held, wanted, "{}", ended.stderr);
    }
}

/// Plans that somebody sealed anew: no way to more rights, nothing taken away, nothing from the future.
#[test]
fn w4_resealed_plans_widen_and_take_away_nothing() {
    let reseal = |site: &Site, edit: &dyn Fn(&mut Value)| {
        let mut plan: Value = serde_json::from_slice(&std::fs::read(site.path("plan.json")).unwrap()).unwrap();
        edit(&mut plan);
        plan.as_object_mut().unwrap().remove("digest");
        let sealed = sha2::Sha256::digest(plan.to_string().as_bytes());
        let digest = sealed.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        plan["digest"] = digest.into();
        let mut bytes = serde_json::to_vec_pretty(&plan).unwrap();
        bytes.push(b'\n');
        std::fs::write(site.path("plan.json"), bytes).unwrap();
    };
    fn policy(plan: &mut Value) -> &mut Value {
        let changes = plan["changes"].as_array_mut().unwrap();
        changes.iter_mut().find(|change| change["attribute"]["kind"] == "managed-policy").unwrap()
    }
    let granted = grant::document(&["ecs:DescribeInstances".to_owned(), "slb:DescribeRegions".to_owned()]);
    let refused = |before: Inventory, edit: &dyn Fn(&mut Value), why: &str| {
        let site = Site::of(&before);
        site.plan(&GRANT);
        reseal(&site, edit);
        let ended = site.apply(&[]);
        assert!(matches!(ended.code, Some(2 | 5)), "{}", ended.stderr);
        has(&ended.stderr, why);
        assert_eq!(site.written(), [""; 0], "{why}");
    };
    let wide = grant::document(&["ram:AttachPolicyToUser".to_owned()]);
    refused(
        lacking(0),
        &|plan| policy(plan)["new"] = wide.clone().into(),
        "with the permissions that the plan grants, the nodes can",
    );
    let less = grant::document(&["slb:DescribeRegions".to_owned()]);
    let attached = || with_policy(lacking(0), &granted, true);
    refused(attached(), &|plan| policy(plan)["new"] = less.clone().into(), "a fix removes no rights");
    let future = |plan: &mut Value| {
        plan["created_at"] = "2099-12-31T23:30:00Z".into();
        plan["expires_at"] = "2100-01-01T00:00:00Z".into();
    };
    refused(lacking(0), &future, "is in the future");
}
