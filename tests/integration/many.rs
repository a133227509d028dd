//! Many accounts, regions and clusters in one run, through the real SDK against the mock. The rows are those of the catalogue
//! in `docs/architecture.md`.

use std::process::Output;

use serde_json::{Value, json};
use tagaudit::internals::inventory::Inventory;
use tagaudit::internals::permissions;
use tagaudit::internals::policy::Decision;

use super::binary::command;
use super::mock::{Fault, Mock};
use super::permissions::decision;
use super::worlds;

/// As many accounts as asked for: the first is that of the credentials, and all hold the cluster of a clean world.
pub(crate) fn accounts(number: usize) -> (Inventory, &'static str) {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-rke2").unwrap();
    let mut inventory = world.inventory;
    let first = inventory.accounts.remove(0);
    let text = serde_json::to_string(&first).unwrap();
    let copies = (0..number).map(|index| {
        let id = format!("{:012}", 100_000_000_000 + index);
        serde_json::from_str(&text.replace(&first.account_id, &id)).unwrap()
    });
    inventory.accounts = copies.collect();
    inventory.canonicalise();
    (inventory, world.cluster_id)
}

fn id(index: usize) -> String {
    format!("{:012}", 100_000_000_000 + index)
}

/// An account as `ListAccounts` tells it today: `State` alone.
fn member(index: usize, state: &str) -> Value {
    json!({"Id": id(index), "Name": format!("team-{index}"), "State": state, "Arn": "arn:aws:organizations::1:account/o-1/1"})
}

fn run(mock: &Mock, folder: &std::path::Path, arguments: &[&str]) -> Output {
    let output = command()
        .args(arguments)
        .args(["--endpoint-url", &mock.url, "--region", "eu-central-1"])
        .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "verysecretkey")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(mock.writes().is_empty(), "{:?}", mock.writes());
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

/// J1.
#[test]
fn one_account_that_refuses_and_one_that_is_suspended_hide_nothing_of_the_others() {
    let (mut inventory, cluster_id) = accounts(21);
    // Nobody can assume a role in the eighth.
    inventory.accounts.remove(7);
    let members = (0..21).map(|index| member(index, if index == 20 { "SUSPENDED" } else { "ACTIVE" })).collect();
    let mock = Mock::serve(&inventory).organization(members);
    let folder = tempfile::tempdir().unwrap();
    let scan = ["scan", "--organization", "--target-role", "audit", "--format", "json"];
    let output = run(&mock, folder.path(), &scan);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let set = set(&output);
    for (index, (account, outcome, reports)) in outcomes(&set).into_iter().enumerate() {
        assert_eq!(account, id(index));
        let expected = match index {
            7 => ("not_audited", 0),
            20 => ("skipped", 0),
            _ => ("audited", 1),
        };
        assert_eq!((outcome.as_str(), reports), expected, "{account}");
    }
    assert_eq!(
        set["summary"]["targets"],
        json!({"audited": 19, "not_audited": 1, "nothing_to_audit": 0, "skipped": 1})
    );
    assert_eq!(set["targets"][20]["why"], "the account is SUSPENDED");
    assert_eq!(set["targets"][3]["reports"][0]["cluster_id"], cluster_id);
    let refused = &set["targets"][7]["not_audited"][0];
    assert_eq!(refused["what"], "sts:AssumeRole");
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("AccessDenied: sts:AssumeRole: not authorized to perform"), "{message}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("100000000007 (team-7) is not audited"));
    // The credentials are of the first account: nobody assumes a role there, and nowhere twice.
    assert_eq!(mock.count("sts:AssumeRole"), 19);
    // S5: all of it is in the policies that are printed.
    let start = permissions::organization_policy("aws", "audit", true);
    for call in mock.calls().iter().filter(|call| call.action != "GetCallerIdentity") {
        let resource = call.parameters.get("RoleArn").map_or("*", String::as_str);
        assert_eq!(decision(&start, &call.name(), resource, &[]), Decision::Allowed, "{} on {resource}", call.name());
    }
    let other = "arn:aws:iam::100000000003:role/admin";
    assert_ne!(decision(&start, "sts:AssumeRole", other, &[]), Decision::Allowed);
}

#[test]
fn accounts_are_told_by_their_state_or_by_what_it_replaces() {
    let (inventory, _) = accounts(5);
    let mut members = vec![member(0, "ACTIVE")];
    for (index, field, value) in [
        (1, "Status", Some("ACTIVE")),
        (2, "Status", Some("SUSPENDED")),
        (3, "State", Some("CLOSED")),
        (4, "State", None),
    ] {
        let mut account = json!({"Id": id(index), "Name": "x"});
        if let Some(value) = value {
            account[field] = value.into();
        }
        members.push(account);
    }
    // `State` decides where both are there.
    members[1]["State"] = "PENDING_CLOSURE".into();
    let mock = Mock::serve(&inventory).organization(members);
    let folder = tempfile::tempdir().unwrap();
    let output = run(&mock, folder.path(), &["scan", "--organization", "--target-role", "audit", "--format", "json"]);
    let told: Vec<String> = outcomes(&set(&output)).into_iter().map(|(_, outcome, _)| outcome).collect();
    // Of what is not known to be closed, silence would be no answer.
    assert_eq!(told, ["audited", "skipped", "skipped", "skipped", "audited"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_list_of_accounts_that_breaks_off_is_not_all_of_them() {
    let (inventory, _) = accounts(30);
    let members: Vec<Value> = (0..30).map(|index| member(index, "ACTIVE")).collect();
    let folder = tempfile::tempdir().unwrap();
    let scan = ["scan", "--organization", "--target-role", "audit", "--format", "json", "-q"];
    let denied = || Fault::Error(400, "AccessDeniedException", "You don't have permissions");
    let mock = Mock::serve(&inventory).organization(members.clone()).page(20).fault_on(
        "organizations:ListAccounts",
        &[2],
        denied(),
    );
    let output = run(&mock, folder.path(), &scan);
    let told = set(&output);
    assert_eq!((output.status.code(), told["complete"].as_bool()), (Some(3), Some(false)));
    assert_eq!(outcomes(&told).len(), 20);
    assert_eq!(told["not_audited"][0]["what"], "organizations:ListAccounts");
    assert!(told["not_audited"][0]["message"].as_str().unwrap().ends_with("there may be more accounts"));

    for fault in [denied(), Fault::WithoutList, Fault::Body("{}"), Fault::Body("<html>")] {
        let mock =
            Mock::serve(&inventory).organization(members.clone()).fault("organizations:ListAccounts", fault.clone());
        let output = run(&mock, folder.path(), &scan);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 0), "{fault:?}: {stderr}");
        assert!(stderr.contains("cannot list the accounts of the organization"), "{stderr}");
    }
    let output = run(&Mock::serve(&inventory), folder.path(), &scan);
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--targets FILE"));
}

#[test]
fn targets_come_from_a_file_or_the_configuration_and_say_their_own_regions_and_clusters() {
    let (mut inventory, cluster_id) = accounts(3);
    for account in &mut inventory.accounts {
        let mut other = account.regions[0].clone();
        let text =
            serde_json::to_string(&other).unwrap().replace("eu-central-1", "eu-west-1").replace(cluster_id, "other");
        other = serde_json::from_str(&text).unwrap();
        account.regions.push(other);
    }
    inventory.canonicalise();
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        json!({"account": id(0)}),
        json!({"account": id(1), "role": "audit", "regions": ["eu-central-1", "eu-west-1"]}),
        json!({"role": format!("arn:aws:iam::{}:role/audit", id(2)), "regions": ["eu-west-1"], "cluster-ids": ["other"]}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    std::fs::write(folder.path().join("targets.jsonl"), &text).unwrap();
    let toml = format!(
        "[scan]\nformat = \"json\"\n[[target]]\naccount = \"{}\"\n[[target]]\naccount = \"{}\"\nrole = \"audit\"\nregions = \
         [\"eu-central-1\", \"eu-west-1\"]\n[[target]]\nrole = \"arn:aws:iam::{}:role/audit\"\nregions = [\"eu-west-1\"]\n\
         cluster-ids = [\"other\"]\n",
        id(0),
        id(1),
        id(2)
    );
    let mock = Mock::serve(&inventory);
    let of_file = run(&mock, folder.path(), &["scan", "--targets", "targets.jsonl", "--format", "json"]);
    let set = set(&of_file);
    assert_eq!(of_file.status.code(), Some(0), "{}", String::from_utf8_lossy(&of_file.stderr));
    let clusters = |target: usize| -> Vec<(String, Vec<Value>)> {
        let reports = set["targets"][target]["reports"].as_array().unwrap();
        reports
            .iter()
            .map(|report| {
                let id = report["cluster_id"].as_str().unwrap().to_owned();
                (id, report["accounts"][0]["regions"].as_array().unwrap().clone())
            })
            .collect()
    };
    assert_eq!(clusters(0), [(cluster_id.to_owned(), vec![json!("eu-central-1")])]);
    let both = vec![json!("eu-central-1"), json!("eu-west-1")];
    assert_eq!(clusters(1), [(cluster_id.to_owned(), both.clone()), ("other".to_owned(), both)]);
    assert_eq!(clusters(2), [("other".to_owned(), vec![json!("eu-west-1")])]);

    let without_dates = |output: &Output| {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        regex::Regex::new(r"\d{4}-\d\d-\d\dT[\d:]+Z").unwrap().replace_all(&text, "…").into_owned()
    };
    std::fs::write(folder.path().join("tagaudit.toml"), &toml).unwrap();
    let of_configuration = run(&mock, folder.path(), &["scan"]);
    // Each report names the configuration; otherwise they are the same.
    let named = regex::Regex::new(r#"\s+"configuration": \{\s+"file": "tagaudit.toml"\s+\},"#).unwrap();
    let (whole, without) = (without_dates(&of_configuration), without_dates(&of_file));
    assert_eq!(named.find_iter(&whole).count(), 4);
    assert_eq!(named.replace_all(&whole, ""), without);
    std::fs::write(folder.path().join("accounts.toml"), &toml).unwrap();
    let of_toml = run(&mock, folder.path(), &["scan", "--no-config", "--targets", "accounts.toml", "--format", "json"]);
    assert_eq!(without_dates(&of_toml), without_dates(&of_file));
    // Who names something else on the command line means that.
    let alone = run(
        &mock,
        folder.path(),
        &["scan", "--cluster-id", cluster_id, "--assume-role", "arn:aws:iam::100000000001:role/audit"],
    );
    let report: Value = serde_json::from_slice(&alone.stdout).unwrap();
    assert_eq!((report["cluster_id"].as_str(), alone.status.code()), (Some(cluster_id), Some(0)));
}

#[test]
fn an_account_that_fails_in_whatever_way_costs_only_itself() {
    let (inventory, _) = accounts(4);
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..4).map(|index| json!({"account": id(index), "role": "audit"}).to_string()).collect();
    std::fs::write(folder.path().join("targets.json"), lines).unwrap();
    let denied = Fault::Error(403, "AccessDenied", "not authorized | <b>");
    for (action, fault) in
        [("sts:AssumeRole", denied.clone()), ("sts:AssumeRole", Fault::Drop), ("sts:AssumeRole", Fault::Body("<html>"))]
    {
        let mock = Mock::serve(&inventory).fault_for(action, "100000000002", fault.clone());
        let scan = ["scan", "--targets", "targets.json", "--format", "json", "-q", "--timeout", "3"];
        let output = run(&mock, folder.path(), &scan);
        let told: Vec<String> = outcomes(&set(&output)).into_iter().map(|(_, outcome, _)| outcome).collect();
        assert_eq!(told, ["audited", "audited", "not_audited", "audited"], "{action} {fault:?}");
        assert_eq!((output.status.code(), output.stderr.len()), (Some(3), 0), "{action} {fault:?}");
    }
    // One whose lists are refused is read, and its cluster is not known to be there.
    let mut poor = inventory.clone();
    poor.accounts.truncate(1);
    let mock = Mock::serve(&poor).fault("*", denied.clone());
    let output = run(&mock, folder.path(), &["scan", "--targets", "targets.json", "--format", "json", "-q"]);
    assert_eq!(output.status.code(), Some(4), "no identity: {}", String::from_utf8_lossy(&output.stderr));
    let mut mock = Mock::serve(&poor);
    for list in tagaudit::internals::clusters::READS {
        mock = mock.fault(list.action(), denied.clone());
    }
    std::fs::write(folder.path().join("one.json"), json!({"account": id(0)}).to_string()).unwrap();
    let output = run(&mock, folder.path(), &["scan", "--targets", "one.json", "--format", "json", "-q"]);
    assert_eq!(outcomes(&set(&output)), [(id(0), "not_audited".to_owned(), 0)]);
    assert_eq!(output.status.code(), Some(4));
    let told = set(&output);
    assert!(told["targets"][0]["not_audited"].as_array().unwrap().len() > 5, "{told}");
}

#[test]
fn credentials_of_another_account_audit_nothing_in_its_name() {
    let (inventory, _) = accounts(2);
    let mock = Mock::serve(&inventory);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.json"), json!([{"account": id(0)}, {"account": id(1)}]).to_string()).unwrap();
    let output = run(&mock, folder.path(), &["scan", "--targets", "t.json", "--format", "json"]);
    let told = set(&output);
    assert_eq!(outcomes(&told)[1], (id(1), "not_audited".to_owned(), 0));
    let message = told["targets"][1]["not_audited"][0]["message"].as_str().unwrap();
    assert!(message.contains("the credentials are of account 100000000000"), "{message}");
}

#[test]
fn all_clusters_of_an_account_are_found_and_audited() {
    let (inventory, cluster_id) = accounts(1);
    let mock = Mock::serve(&inventory);
    let folder = tempfile::tempdir().unwrap();
    let output = run(&mock, folder.path(), &["scan", "--all-clusters", "--format", "json"]);
    let told = set(&output);
    assert_eq!((output.status.code(), outcomes(&told)), (Some(0), vec![(id(0), "audited".to_owned(), 1)]));
    assert_eq!(told["targets"][0]["reports"][0]["cluster_id"], cluster_id);
    assert!(told["targets"][0]["reports"][0]["roles"].as_array().unwrap().len() > 1, "roles of the nodes are read");
}

/// An Indexed Job: a process for each index, all at once, each with nothing but its index; one of them is evicted, one runs
/// twice. What they wrote is joined.
#[test]
fn the_processes_of_an_indexed_job_are_one_run() {
    let (mut inventory, _) = accounts(13);
    inventory.accounts.remove(4);
    let members: Vec<Value> =
        (0..13).map(|index| member(index, if index == 12 { "SUSPENDED" } else { "ACTIVE" })).collect();
    let mock = Mock::serve(&inventory).organization(members).latency(std::time::Duration::from_millis(5));
    let folder = tempfile::tempdir().unwrap();
    let pod = |index: usize, variable: &str| {
        let mut command = command();
        command
            .args(["scan", "--organization", "--target-role", "audit", "--shard", "/5", "--fail-on", "never", "-q"])
            .args(["--region", "eu-central-1", "--endpoint-url", &mock.url])
            .args(["--format", "json", "-o", &format!("shard-{index}.json")])
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "verysecretkey")
            .env(variable, index.to_string())
            .current_dir(folder.path());
        command.spawn().unwrap()
    };
    let merged = || {
        let files = (0..5).map(|index| format!("shard-{index}.json"));
        let output =
            command().arg("merge").args(files).args(["--format", "json"]).current_dir(folder.path()).output().unwrap();
        (output.status.code(), set(&output))
    };
    let mut pods: Vec<_> = (0..5).map(|index| pod(index, "JOB_COMPLETION_INDEX")).collect();
    pods.push(pod(1, "AWS_BATCH_JOB_ARRAY_INDEX"));
    // Evicted before it could write anything.
    pods[3].kill().unwrap();
    let codes: Vec<Option<i32>> = pods.iter_mut().map(|pod| pod.wait().unwrap().code()).collect();
    // A shard may hold nothing but the account that refuses.
    assert!(codes.iter().flatten().all(|code| [0, 3, 4].contains(code)), "{codes:?}");
    let (code, told) = merged();
    assert_eq!(code, Some(3));
    assert_eq!(told["not_audited"][0]["resource"], "shard-3.json");
    assert_eq!(told["not_audited"][1]["resource"], "3/5");
    // The Job replaces the pod, and now all are there.
    let retried = pod(3, "JOB_COMPLETION_INDEX").wait().unwrap().code();
    assert!(retried.is_some_and(|code| [0, 3, 4].contains(&code)));
    let (code, told) = merged();
    assert_eq!((code, told["shards"]["present"].as_array().unwrap().len()), (Some(3), 5));
    assert_eq!(
        told["summary"]["targets"],
        json!({"audited": 11, "not_audited": 1, "nothing_to_audit": 0, "skipped": 1})
    );
    // The same as one process would have found.
    let scan = ["scan", "--organization", "--target-role", "audit", "--format", "json", "-q"];
    let alone = set(&run(&mock, folder.path(), &scan));
    assert_eq!(outcomes(&told), outcomes(&alone));
    assert_eq!(told["summary"], alone["summary"]);

    let mut lost = command();
    lost.args(["scan", "--organization", "--target-role", "audit", "--shard", "/5"]).env("JOB_COMPLETION_INDEX", "5");
    assert_eq!(lost.output().unwrap().status.code(), Some(2));
}

/// What is new since the merged report of the run before, by shard and by account.
#[test]
fn shards_compare_what_is_theirs_with_the_merged_report_of_the_run_before() {
    let (mut inventory, cluster_id) = accounts(6);
    let folder = tempfile::tempdir().unwrap();
    let members: Vec<Value> = (0..6).map(|index| member(index, "ACTIVE")).collect();
    let break_in = |inventory: &mut Inventory, index: usize| {
        let instance = &mut inventory.accounts[index].regions[0].instances[0];
        instance.tags.retain(|tag| !tag.key.starts_with("kubernetes.io/cluster/"));
    };
    break_in(&mut inventory, 1);
    let scan = |mock: &Mock, more: &[&str]| {
        let all = ["scan", "--organization", "--target-role", "audit", "--format", "json", "-q"];
        run(mock, folder.path(), &[&all[..], more].concat())
    };
    let mock = Mock::serve(&inventory).organization(members.clone());
    scan(&mock, &["-o", "before.json"]);
    // One account is mended, another broken.
    let (mut inventory, _) = accounts(6);
    break_in(&mut inventory, 2);
    let mock = Mock::serve(&inventory).organization(members);
    for (shard, file) in [("0/2", "0.json"), ("1/2", "1.json")] {
        let output = scan(&mock, &["--shard", shard, "--compare", "before.json", "-o", file, "--fail-on", "never"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let joined = run_merge(
        folder.path(),
        &["0.json", "1.json", "--fail-on", "info", "--fail-on-new", "--compare", "before.json"],
    );
    let compared = run_merge(folder.path(), &["0.json", "1.json", "--fail-on", "info"]);
    let told = set(&compared);
    let of = |index: usize, field: &str| -> u64 {
        let comparison = &told["targets"][index]["reports"][0]["comparison"];
        comparison[field].as_array().map_or_else(|| comparison[field].as_u64().unwrap_or(0), |list| list.len() as u64)
    };
    assert!(of(1, "resolved") > 0 && of(1, "new") == 0, "{}", told["targets"][1]["reports"][0]["comparison"]);
    assert!(of(2, "new") > 0 && of(2, "resolved") == 0);
    for index in [0, 3, 4, 5] {
        assert_eq!(
            (of(index, "new"), of(index, "resolved"), of(index, "unknown")),
            (0, 0, 0),
            "{index} of {cluster_id}"
        );
    }
    assert_eq!(told["summary"], set(&joined)["summary"]);
    assert_eq!((joined.status.code(), compared.status.code()), (Some(1), Some(1)));
}

fn run_merge(folder: &std::path::Path, arguments: &[&str]) -> Output {
    command().arg("merge").args(arguments).args(["--format", "json"]).current_dir(folder).output().unwrap()
}
