//! Many accounts of Alibaba Cloud in one run, against the mock over HTTP.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tagaudit::internals::alibaba::Inventory;
use tagaudit::internals::permissions;
use tagaudit::internals::policy::{
    Context, Decision, Document, PolicySet, PreparedPolicies, RAM, Request as PolicyRequest,
};

use super::alibaba_mock::{Fault, KEY_ID, Mock, SECRET};
use super::alibaba_worlds;
use super::binary::command;

/// As many accounts as asked for: the first is that of the credentials, and all hold the same clean cluster.
fn accounts(number: usize) -> (Inventory, &'static str) {
    accounts_of("clean-gardener", number)
}

fn accounts_of(world: &str, number: usize) -> (Inventory, &'static str) {
    let world = alibaba_worlds::all().into_iter().find(|one| one.name == world).unwrap();
    let mut inventory = world.inventory;
    let first = inventory.accounts.remove(0);
    let text = serde_json::to_string(&first).unwrap();
    let copies = (0..number).map(|index| serde_json::from_str(&text.replace(&first.account_id, &id(index))).unwrap());
    inventory.accounts = copies.collect();
    inventory.canonicalise();
    (inventory, world.cluster_id)
}

fn id(index: usize) -> String {
    format!("{:016}", 1_000_000_000_000_000 + index)
}

/// An account as `ListAccounts` tells it.
fn member(index: usize, status: &str) -> Value {
    json!({"AccountId": id(index), "DisplayName": format!("team-{index}"), "Status": status, "Type": "ResourceAccount", "FolderId": "fd-1",
        "ResourceDirectoryPath": format!("rd-1/r-1/fd-1/{}", id(index))})
}

fn run(mock: &Mock, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = command();
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ALIBABA")) {
        command.env_remove(name);
    }
    let output = command
        .args(arguments)
        .args(["--provider", "alibaba", "--endpoint-url", &mock.url])
        .env_remove("HOME")
        .env("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")
        .env("ALIBABA_CLOUD_ACCESS_KEY_ID", KEY_ID)
        .env("ALIBABA_CLOUD_ACCESS_KEY_SECRET", SECRET)
        .current_dir(folder)
        .output()
        .unwrap();
    assert_eq!(mock.complaints(), [""; 0], "the mock refuses what the service would");
    output
}

fn set(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn outcomes(set: &Value) -> Vec<(String, String, usize)> {
    let target = |target: &Value| {
        (
            target["account_ids"][0].as_str().unwrap().to_owned(),
            target["outcome"].as_str().unwrap().to_owned(),
            target["reports"].as_array().unwrap().len(),
        )
    };
    set["targets"].as_array().unwrap().iter().map(target).collect()
}

fn decision(policy: &str, action: &str, resource: &str) -> Decision {
    let set = PolicySet::from(Document::parse_as(policy, &RAM).unwrap());
    PreparedPolicies::new(&set).decide(&PolicyRequest::new(action, resource, Context::default())).decision
}

const ORGANIZATION: [&str; 8] =
    ["scan", "--organization", "--target-role", "audit", "--region", "cn-hangzhou", "--format", "json"];

#[test]
fn a_resource_directory_is_read_with_its_management_account() {
    let (mut inventory, cluster_id) = accounts(6);
    // Nobody can assume a role in the third.
    inventory.accounts.remove(2);
    let states = ["CreateSuccess", "InviteSuccess", "PromoteFailed", "CreateVerifying"];
    // The management account, from which the run starts, is not one of the members.
    let members = vec![member(1, states[0]), member(2, states[1]), member(3, states[2]), member(4, states[3])];
    let mut members = members;
    members.push(member(5, "NewState"));
    let mock = Mock::serve(&inventory).directory(&id(0), members).page(2);
    let folder = tempfile::tempdir().unwrap();
    let output = run(&mock, folder.path(), &ORGANIZATION);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let set = set(&output);
    let expected = [("audited", 1), ("audited", 1), ("not_audited", 0), ("audited", 1), ("skipped", 0), ("audited", 1)];
    let expected: Vec<(String, String, usize)> = expected
        .iter()
        .enumerate()
        .map(|(index, (outcome, reports))| (id(index), (*outcome).to_owned(), *reports))
        .collect();
    assert_eq!(outcomes(&set), expected);
    assert_eq!(set["targets"][0]["name"], "management");
    assert_eq!(set["targets"][4]["why"], "the account is CreateVerifying");
    assert_eq!(set["targets"][1]["reports"][0]["cluster_id"], cluster_id);
    assert_eq!(set["summary"]["findings"]["error"], 0);
    assert_eq!(set["summary"]["findings"]["warning"], 0);
    assert_eq!(set["targets"][1]["role"], "audit");
    let refused = &set["targets"][2]["not_audited"][0];
    assert_eq!((&refused["what"], &refused["reason"]), (&json!("sts:AssumeRole"), &json!("AssumeRole")));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(&format!("{} (team-2) is not audited", id(2))), "{told}");
    // Nobody assumes a role in the account of the credentials, and no account is asked twice who it is.
    assert_eq!(mock.count("sts:GetCallerIdentity"), 1 + 4);
    // The policy that is printed for the start allows exactly these calls.
    let start = permissions::organization_policy_alibaba("audit", true);
    let is_start = |action: &str| action.starts_with("resourcemanager:Get") || action == "resourcemanager:ListAccounts";
    for call in mock.calls().iter().filter(|call| is_start(&call.action)) {
        assert_eq!(decision(&start, &call.action, "*"), Decision::Allowed, "{}", call.action);
    }
    let role = |account: usize, name: &str| format!("acs:ram::{}:role/{name}", id(account));
    assert_eq!(decision(&start, "sts:AssumeRole", &role(3, "audit")), Decision::Allowed);
    assert_ne!(decision(&start, "sts:AssumeRole", &role(3, "admin")), Decision::Allowed);
}

/// Every call.
const FULL: &str = r#"{"Version": "1", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}"#;

#[test]
fn control_policies_decide_about_the_roles_of_members_alone() {
    let (mut inventory, _) = accounts_of("clean-handmade", 3);
    let role = inventory.accounts[0].principals[0].name.clone();
    for account in &mut inventory.accounts {
        account.principals.retain(|one| one.name == role);
        for policy in &mut account.policies {
            policy.document = Some(FULL.to_owned());
        }
    }
    let deny =
        r#"{"Version": "1", "Statement": [{"Effect": "Deny", "Action": "ecs:DescribeInstances", "Resource": "*"}]}"#;
    let serve = || {
        let mock =
            Mock::serve(&inventory).directory(&id(0), vec![member(1, "CreateSuccess"), member(2, "CreateSuccess")]);
        let mock = mock.control("r-1", "FullAliyunAccess", FULL).control("fd-1", "FullAliyunAccess", FULL);
        let mock = mock.control(&id(1), "FullAliyunAccess", FULL).control(&id(2), "FullAliyunAccess", FULL);
        mock.control(&id(2), "no-instances", deny)
    };
    let folder = tempfile::tempdir().unwrap();
    let roles: Vec<String> = (0..3).map(|index| format!("acs:ram::{}:role/{role}", id(index))).collect();
    let mut scan = ORGANIZATION.to_vec();
    for arn in &roles {
        scan.extend(["--controller-role", arn]);
    }
    let mock = serve();
    let found = set(&run(&mock, folder.path(), &scan));
    let denied = |set: &Value, index: usize| {
        let findings = set["targets"][index]["reports"][0]["findings"].as_array().unwrap().iter();
        findings.filter(|one| one["rule"] == "ram-action-denied").count()
    };
    // A Deny on one member concerns that member: not its neighbour, and never the management account.
    assert_eq!([0, 1, 2].map(|index| denied(&found, index)), [0, 0, 1], "{found:#}");
    let text = found["targets"][2].to_string();
    assert!(text.contains("no-instances"), "{text}");
    // Four nodes, and each policy once.
    assert_eq!(mock.count("resourcemanager:ListControlPolicyAttachmentsForTarget"), 4);
    assert_eq!(mock.count("resourcemanager:GetControlPolicy"), 2);
    // What was not read is not audited, where control policies apply.
    let refused = Fault::Error(403, "NoPermission", "no");
    let mock = serve().fault("resourcemanager:ListControlPolicyAttachmentsForTarget", refused);
    let output = run(&mock, folder.path(), &scan);
    assert_eq!(output.status.code(), Some(3));
    let found = set(&output);
    let gaps = |index: usize| {
        let gaps = found["targets"][index]["reports"][0]["not_audited"].as_array().unwrap().iter();
        gaps.filter(|one| one["what"] == "resourcemanager:ListControlPolicyAttachmentsForTarget").count()
    };
    assert_eq!([0, 1, 2].map(gaps), [0, 1, 1], "{found:#}");
}

#[test]
fn a_member_that_administers_reads_the_management_account_too() {
    let (inventory, _) = accounts(2);
    // The credentials are of the first account, a delegated administrator; the second manages the directory.
    let mock = Mock::serve(&inventory).directory(&id(1), vec![member(0, "InviteSuccess")]);
    let folder = tempfile::tempdir().unwrap();
    let output = run(&mock, folder.path(), &ORGANIZATION);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(outcomes(&set(&output)), [(id(0), "audited".into(), 1), (id(1), "audited".into(), 1)]);
    // Without the right to ask who manages it, that account may be missing.
    let mock = Mock::serve(&inventory).directory(&id(1), vec![member(0, "InviteSuccess")]);
    let mock = mock.fault("resourcemanager:GetResourceDirectory", Fault::Error(403, "NoPermission", "no"));
    let output = run(&mock, folder.path(), &ORGANIZATION);
    assert_eq!(output.status.code(), Some(3));
    let set = set(&output);
    assert_eq!(outcomes(&set), [(id(0), "audited".into(), 1)]);
    assert_eq!(set["not_audited"][0]["what"], "resourcemanager:GetResourceDirectory");
    assert!(set["not_audited"][0]["message"].as_str().unwrap().ends_with("there may be more accounts"));
}

#[test]
fn without_a_directory_nothing_is_read() {
    let (inventory, _) = accounts(1);
    let folder = tempfile::tempdir().unwrap();
    for (fault, help) in [
        (None, "help: name the accounts with --targets FILE"),
        (
            Some(Fault::Error(403, "NoPermission", "no")),
            "help: run it in the management account of the Resource Directory",
        ),
    ] {
        let mut mock = Mock::serve(&inventory);
        if let Some(fault) = fault {
            mock = mock.fault("resourcemanager:ListAccounts", fault);
        }
        let output = run(&mock, folder.path(), &ORGANIZATION);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{told}");
        assert!(told.starts_with("error: cannot list the accounts of the Resource Directory"), "{told}");
        assert!(told.contains(help), "{told}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn targets_name_accounts_regions_clusters_and_evidence() {
    let (inventory, cluster_id) = accounts(3);
    let mock = Mock::serve(&inventory).directory(&id(0), Vec::new());
    let folder = tempfile::tempdir().unwrap();
    let targets = json!([
        {"account": id(0), "cluster-ids": [cluster_id]},
        {"role": format!("acs:ram::{}:role/audit", id(1)), "regions": ["cn-hangzhou"], "external-id": "secret"},
        {"account": id(2), "role": "audit", "regions": ["cn-nowhere"]},
    ]);
    std::fs::write(folder.path().join("targets.json"), targets.to_string()).unwrap();
    let scan = ["scan", "--targets", "targets.json", "--region", "cn-hangzhou", "--format", "json"];
    let output = run(&mock, folder.path(), &scan);
    let set = set(&output);
    assert_eq!(
        outcomes(&set),
        [(id(0), "audited".into(), 1), (id(1), "audited".into(), 1), (id(2), "not_audited".into(), 0)]
    );
    assert_eq!(output.status.code(), Some(3));
    let session = mock.calls().into_iter().find(|call| {
        call.action == "sts:AssumeRole" && call.parameters.get("RoleArn").is_some_and(|arn| arn.contains(&id(1)))
    });
    assert_eq!(session.unwrap().parameters["ExternalId"], "secret");
    let message = set["targets"][2]["not_audited"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("no region"), "{message}");
    // Parts of a run hold each account once, and the merged parts are the whole run.
    for (shard, file) in [("0/2", "part-0.json"), ("1/2", "part-1.json")] {
        let scan = [&scan[..], &["--shard", shard, "-o", file]].concat();
        run(&mock, folder.path(), &scan);
    }
    let merged = command()
        .args(["merge", "part-0.json", "part-1.json", "--format", "json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let merged: Value = serde_json::from_slice(&merged.stdout).unwrap();
    assert_eq!(outcomes(&merged), outcomes(&set));
}

#[test]
fn evidence_goes_to_the_cluster_of_its_nodes() {
    let world = alibaba_worlds::all().into_iter().find(|world| world.name == "clean-handmade").unwrap();
    let mock = Mock::serve(&world.inventory);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("nodes.json"), world.nodes.as_ref().unwrap().to_string()).unwrap();
    let account = &world.inventory.accounts[0].account_id;
    let nodes = |kubernetes: &str, cluster_id: &str| {
        let target = json!([{"account": account, "cluster-ids": [cluster_id], "kubernetes": kubernetes}]);
        std::fs::write(folder.path().join("targets.json"), target.to_string()).unwrap();
        let scan = ["scan", "--targets", "targets.json", "--region", "cn-hangzhou", "--format", "json"];
        set(&run(&mock, folder.path(), &scan))
    };
    // The instances have no tag of a cluster: the target names the only one that it can be.
    let found = nodes("nodes.json", world.cluster_id);
    assert_eq!(found["targets"][0]["reports"][0]["nothing_to_audit"], Value::Null, "{found:#}");
    assert_eq!(found["complete"], true, "{found:#}");
    let roles = found["targets"][0]["reports"][0]["roles"].as_array().unwrap();
    assert!(!roles.is_empty(), "{found:#}");
    // Nodes of another account are not evidence of this cluster.
    let other = world.nodes.as_ref().unwrap().to_string().replace("cn-hangzhou.i-", "cn-hangzhou.i-other");
    std::fs::write(folder.path().join("other.json"), other).unwrap();
    let found = nodes("other.json", world.cluster_id);
    let entry = &found["targets"][0]["not_audited"][0];
    assert_eq!((&entry["reason"], &entry["what"]), (&json!("OtherAccount"), &json!("kubernetes:list")), "{found:#}");
}

#[test]
fn accounts_of_the_other_cloud_are_refused_before_anything_is_read() {
    let (inventory, _) = accounts(1);
    let mock = Mock::serve(&inventory);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("targets.json"), r#"[{"account": "111122223333"}]"#).unwrap();
    let output = run(&mock, folder.path(), &["scan", "--targets", "targets.json", "--region", "cn-hangzhou"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("target 111122223333 is an account of AWS, and this run reads Alibaba Cloud"), "{told}");
    assert!(mock.calls().is_empty());
}

#[test]
fn every_cluster_of_an_account_is_audited_and_a_deleted_one_is_gone() {
    let world = alibaba_worlds::all().into_iter().find(|world| world.name == "clean-two-clusters").unwrap();
    let mock = Mock::serve(&world.inventory);
    let folder = tempfile::tempdir().unwrap();
    let scan = ["scan", "--all-clusters", "--region", "cn-hangzhou", "--format", "json"];
    let output = run(&mock, folder.path(), &scan);
    let found = set(&output);
    let ids = |set: &Value| -> Vec<String> {
        let reports = set["targets"][0]["reports"].as_array().unwrap().iter();
        reports.map(|report| report["cluster_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&found).len(), 2, "{found:#}");
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    // What a recording of the account gives is the same.
    let file = folder.path().join("inventory.json");
    std::fs::write(&file, tagaudit::internals::inventory::to_json(&world.inventory).unwrap()).unwrap();
    let recorded = command()
        .args(["scan", "--all-clusters", "--format", "json", "--inventory", file.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(ids(&set(&recorded)), ids(&found));
}
