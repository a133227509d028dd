//! The built binary on files: formats, exit codes, errors, help.

use std::path::Path;
use std::process::{Command, Output};

use super::fixtures;
use super::formats::FEW_RULES;

/// The binary in an environment that holds nothing of this machine.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tagaudit"));
    command.env_clear().env("HOME", "/nonexistent").env("AWS_EC2_METADATA_DISABLED", "true").env("COLUMNS", "100");
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    command().current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(run(arguments).stdout).unwrap()
}

/// Exit code and standard error.
fn failure(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(arguments);
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn help_of_every_command() {
    let commands: &[&[&str]] = &[
        &[],
        &["scan"],
        &["apply"],
        &["undo"],
        &["clusters"],
        &["roles"],
        &["simulate"],
        &["why"],
        &["why", "service"],
        &["why", "pod"],
        &["guard"],
        &["record"],
        &["lint"],
        &["migrate"],
        &["example"],
        &["policy"],
        &["policy", "diff"],
        &["policy", "eval"],
        &["policy", "lint"],
        &["policy", "expand"],
        &["policy", "shrink"],
        &["report"],
        &["merge"],
        &["rules"],
        &["explain"],
        &["baseline"],
        &["baseline", "list"],
        &["baseline", "show"],
        &["baseline", "changes"],
        &["permissions"],
        &["completions"],
        &["man"],
    ];
    for words in commands {
        let mut arguments = words.to_vec();
        arguments.push("--help");
        let name = if words.is_empty() { "tagaudit".to_owned() } else { words.join("-") };
        insta::assert_snapshot!(format!("help-{name}"), stdout(&arguments));
    }
}

/// The short help of the main command is read at once.
#[test]
fn the_short_help_of_a_scan_fits_a_screen() {
    let short = stdout(&["scan", "-h"]);
    assert!(short.lines().count() <= 50, "{short}");
    assert!(short.contains("--cluster-id") && short.contains("--help") && !short.contains("--iam-reads"), "{short}");
    insta::assert_snapshot!("short-help-scan", short);
}

#[test]
fn the_table_of_the_demo() {
    let arguments = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"];
    insta::assert_snapshot!("table-demo", stdout(&arguments));
    let colored = stdout(&[&arguments[..], &["--color", "always"]].concat());
    assert!(colored.contains("\u{1b}[1m\u{1b}[31merror"), "errors are red");
    let plain =
        colored.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest)).collect::<String>();
    let first = colored.split('\u{1b}').next().unwrap();
    assert!(plain.len() < colored.len() && first.is_empty());
}

#[test]
fn the_table_of_everything_that_can_go_wrong() {
    let arguments = [
        "scan",
        "--cluster-id",
        "bravo",
        "--inventory",
        "fixtures/broken.json",
        "--nodes",
        "fixtures/broken.nodes.json",
    ];
    insta::assert_snapshot!("table-broken", stdout(&arguments));
    let verbose = [&arguments[..], &["-v"], &FEW_RULES].concat();
    insta::assert_snapshot!("table-broken-verbose", stdout(&verbose));
}

#[test]
fn the_json_of_the_demo() {
    let arguments = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--format", "json"];
    // Without roles, each of which has an entry for every action of its baseline.
    let without_roles: Vec<&str> =
        FEW_RULES.chunks(2).filter(|pair| !pair[1].starts_with("iam-")).flatten().copied().collect();
    insta::assert_snapshot!("json-demo", stdout(&[&arguments[..], &without_roles].concat()));
    let mut report: serde_json::Value = serde_json::from_str(&stdout(&arguments)).unwrap();
    let role = &mut report["roles"][0];
    for list in ["actions", "excess"] {
        role[list].as_array_mut().unwrap().truncate(1);
    }
    insta::assert_snapshot!("json-demo-role", format!("{role:#}"));
    assert_eq!(stdout(&arguments), stdout(&arguments), "same input, same bytes");
}

#[test]
fn a_clean_cluster_and_an_unread_list() {
    let path = fixtures::path("clean-rke1.json");
    let arguments = ["scan", "--cluster-id", "c-7cjkr", "--inventory", path.to_str().unwrap()];
    assert_eq!(run(&arguments).status.code(), Some(0));
    insta::assert_snapshot!("table-clean", stdout(&arguments));

    let arguments = ["scan", "--cluster-id", "c-7cjkr", "--inventory", "fixtures/unreadable.json"];
    assert_eq!(run(&arguments).status.code(), Some(3));
    insta::assert_snapshot!("table-gap", stdout(&arguments));
}

#[test]
fn exit_codes_follow_the_threshold() {
    let code = |arguments: &[&str]| {
        let common = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"];
        run(&[&common[..], arguments].concat()).status.code()
    };
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["--fail-on", "never"]), Some(0));
    assert_eq!(code(&["--rule", "iam-*"]), Some(0), "warnings alone do not fail");
    assert_eq!(code(&["--rule", "iam-*", "--fail-on", "warning"]), Some(1));
    assert_eq!(code(&["--rule", "vpc-dns-*", "--fail-on", "info"]), Some(0));
    assert_eq!(code(&["--skip-rule", "*-tag*", "--skip-rule", "sg-*"]), Some(0));
}

#[test]
fn wrong_input_names_its_place_and_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| -> String {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let demo = std::fs::read_to_string(fixtures::path("demo.json")).unwrap();
    let not_json = put("a.json", "{\"schema\": \"tagaudit.inventory/1\",\n oops");
    let newer = put("b.json", &demo.replace("tagaudit.inventory/1", "tagaudit.inventory/7"));
    let wrong_type = put("c.json", &demo.replacen("\"device_index\": 0", "\"device_index\": \"zero\"", 1));
    let unknown = put("d.json", &demo.replacen("\"gaps\"", "\"gpas\"", 1));
    let duplicate =
        put("e.json", &demo.replacen("\"provider\": \"aws\",", "\"provider\": \"aws\", \"provider\": \"aws\",", 1));
    let pods = put("pods.json", r#"{"kind": "PodList", "items": []}"#);
    let policy = put("policy.json", r#"{"Statement": [{"Effect": "allow", "Action": "a:b"}]}"#);
    let deep = put("deep.json", &"[".repeat(200_000));
    let scan = |inventory: &str, more: &[&str]| {
        let common = ["scan", "--cluster-id", "demo", "--inventory", inventory];
        let (code, text) = failure(&[&common[..], more].concat());
        assert_eq!(code, Some(2), "{text}");
        text.replace(folder.path().to_str().unwrap(), "DIR")
    };
    let texts = [
        scan(&not_json, &[]),
        scan(&newer, &[]),
        scan(&wrong_type, &[]),
        scan(&unknown, &[]),
        scan(&duplicate, &[]),
        scan(&deep, &[]),
        scan("missing.json", &[]),
        scan("fixtures/demo.json", &["--nodes", &pods]),
        scan("fixtures/demo.json", &["--baseline", &format!("worker={policy}")]),
        scan("fixtures/demo.json", &["--baseline", "worker=nobody"]),
        scan("fixtures/demo.json", &["--baseline", "boss=rancher-worker"]),
        scan("fixtures/demo.json", &["--rule", "no-such-rule"]),
        scan("fixtures/demo.json", &["--region", "eu-west-1"]),
        scan("fixtures/demo.json", &["--node-role", "everything=worker"]),
        scan("fixtures/demo.json", &["--controller-version", "latest"]),
        scan("-", &["--nodes", "-"]),
    ];
    insta::assert_snapshot!("errors", texts.join("\n"));
}

#[test]
fn a_folder_without_files_is_a_gap_for_each_and_needs_an_account() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let (code, text) = failure(&["scan", "--cluster-id", "x", "--inventory", path, "--region", "us-east-1"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("get-caller-identity.json"), "{text}");
    let identity = r#"{"UserId": "AIDA", "Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/a"}"#;
    std::fs::write(folder.path().join("get-caller-identity.json"), identity).unwrap();
    std::fs::write(folder.path().join("describe-instances.json"), r#"{"Reservations": [], "NextToken": "more"}"#)
        .unwrap();
    let output = run(&["scan", "--cluster-id", "x", "--inventory", path, "--region", "us-east-1", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(4), "nothing is known");
    let reasons: Vec<&str> =
        report["not_audited"].as_array().unwrap().iter().map(|e| e["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons.iter().filter(|reason| **reason == "NotProvided").count(), 11);
    assert_eq!(reasons.iter().filter(|reason| **reason == "Pagination").count(), 1);
}

#[test]
fn a_folder_without_identity_belongs_to_the_owner_of_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("describe-instances.json", r#"{"Reservations": [{"OwnerId": "123456789012", "Instances": []}]}"#);
    // The example of the AWS CLI has no ZoneType; the group is shared by another account.
    write(
        "describe-availability-zones.json",
        r#"{"AvailabilityZones": [{"State": "available", "ZoneName": "cn-north-1a", "RegionName": "cn-north-1", "Messages": []}]}"#,
    );
    write(
        "describe-security-groups.json",
        r#"{"SecurityGroups": [{"GroupId": "sg-1", "GroupName": "a", "OwnerId": "999999999999", "IpPermissions": []}]}"#,
    );
    let path = folder.path().to_str().unwrap();
    let report = || -> serde_json::Value {
        let output = run(&["scan", "--cluster-id", "x", "--inventory", path, "--format", "json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    assert_eq!(report()["accounts"][0]["account_id"], "123456789012");
    std::fs::remove_file(folder.path().join("describe-instances.json")).unwrap();
    assert_eq!(report()["accounts"][0]["account_id"], "999999999999", "only one owner");
    write("describe-vpcs.json", r#"{"Vpcs": [{"VpcId": "vpc-1", "OwnerId": "123456789012"}]}"#);
    let (code, text) = failure(&["scan", "--cluster-id", "x", "--inventory", path]);
    assert_eq!(code, Some(2));
    assert!(text.contains("nothing else in it names one account"), "{text}");
}

#[test]
fn a_rule_with_a_typing_error_is_answered_with_the_one_that_may_be_meant() {
    let scan = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"];
    for more in [
        &["--rule", "subnet-az-ambigous"][..],
        &["--skip-rule", "subnet-az-ambigous"],
        &["--fix", "--dry-run", "--allow", "subnet-az-ambigous"],
        &["--fix", "--dry-run", "--choose", "subnet-az-ambigous:a=b"],
    ] {
        let (code, text) = failure(&[&scan[..], more].concat());
        assert_eq!(code, Some(2), "{more:?}");
        assert!(text.contains("did you mean `subnet-az-ambiguous`?"), "{more:?}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn output_goes_to_devices_and_pipes() {
    let arguments = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--format", "json", "-o"];
    let to = |target: &str| run(&[&arguments[..], &[target]].concat());
    let expected = stdout(&arguments[..arguments.len() - 1]);
    assert_eq!(String::from_utf8(to("/dev/stdout").stdout).unwrap(), expected);
    let nowhere = to("/dev/null");
    assert_eq!((nowhere.status.code(), nowhere.stdout.len()), (Some(1), 0));
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    assert_eq!(to(pipe.to_str().unwrap()).status.code(), Some(1));
    assert_eq!(reader.join().unwrap(), expected);
    assert!(!std::fs::symlink_metadata(&pipe).unwrap().is_file(), "it is still a pipe");
    assert_eq!(to("-").status.code(), Some(2));
    assert_eq!(to(folder.path().to_str().unwrap()).status.code(), Some(2), "a folder takes no bytes");
}

#[test]
fn reports_and_inventories_are_written_whole_and_private() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let arguments = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--format", "json"];
    let target = file.to_str().unwrap();
    let output = run(&[&arguments[..], &["-o", target]].concat());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), stdout(&arguments));
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // A link at the target is replaced, never followed.
        let precious = folder.path().join("precious");
        std::fs::write(&precious, "keep").unwrap();
        let link = folder.path().join("link.json");
        symlink(&precious, &link).unwrap();
        run(&[&arguments[..], &["-o", link.to_str().unwrap()]].concat());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "keep");
    }
    let nowhere = folder.path().join("no/such/folder/report.json");
    let (code, text) = failure(&[&arguments[..], &["-o", nowhere.to_str().unwrap()]].concat());
    assert_eq!(code, Some(2), "{text}");
    assert!(!Path::new(&nowhere).exists());
}

#[test]
fn clusters_lists_every_id_by_kind_and_value() {
    insta::assert_snapshot!("clusters-broken", stdout(&["clusters", "--inventory", "fixtures/broken.json"]));
    let json: serde_json::Value = serde_json::from_str(&stdout(&[
        "clusters",
        "--inventory",
        "fixtures/clean-two-clusters.json",
        "--format",
        "json",
    ]))
    .unwrap();
    let ids: Vec<&str> =
        json["clusters"].as_array().unwrap().iter().map(|c| c["cluster_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["alpha", "bravo"]);
    assert_eq!(json["clusters"][0]["instances"], 4);
}

#[test]
fn operators_can_say_which_role_a_node_has() {
    let common = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--format", "json"];
    let with = [
        "--node-role",
        "name:*controlplane*=controlplane,etcd",
        "--node-role",
        "asg:demo-workers=worker",
        "--controller-version",
        "1.31",
    ];
    let report: serde_json::Value = serde_json::from_str(&stdout(&[&common[..], &with].concat())).unwrap();
    assert_eq!(report["summary"]["nodes"], serde_json::json!({"controlplane+etcd": 3, "worker": 4}));
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["rule"] == "iam-controller-action-missing").unwrap();
    assert_eq!(finding["severity"], "error", "the version is known");
    assert_eq!(finding["fix"]["changes"][0]["operation"], "iam:PutRolePolicy");
    let missing = finding["fix"]["changes"][0]["document"].as_str().unwrap();
    assert!(
        missing.contains("ec2:DescribeAvailabilityZones") && !missing.contains("SetSecurityGroups"),
        "SetSecurityGroups came with v1.35"
    );
}

#[test]
fn rules_are_filtered_and_listed_one_per_line() {
    let list = |arguments: &[&str]| stdout(&[&["rules"], arguments].concat());
    let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).count() - 1;
    let all = list(&[]);
    assert_eq!(lines(&all), tagaudit::internals::rules::RULES.len());
    let alibaba = list(&["--provider", "alibaba", "--severity", "error", "--search", "vSwitch"]);
    assert!(lines(&alibaba) > 0 && lines(&alibaba) < lines(&all), "{alibaba}");
    for line in alibaba.lines().take_while(|line| !line.is_empty()) {
        assert!(line.contains("  error    alibaba"), "{line}");
    }
    let subnets = list(&["--resource", "subnet", "--format", "json"]);
    let subnets: serde_json::Value = serde_json::from_str(&subnets).unwrap();
    let is_about = |rule: &serde_json::Value| rule["resources"].as_array().unwrap().contains(&"subnet".into());
    assert!(subnets["rules"].as_array().unwrap().iter().all(is_about));
    assert!(list(&["--search", "no rule has these words"]).contains("0 rules"));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = command()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["rules", "--format", "markdown"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn printed_policies_and_baselines_are_policies() {
    for arguments in [
        &["permissions"][..],
        &["baseline", "show", "rancher-worker"],
        &["baseline", "show", "effective-controlplane", "--controller-version", "1.29"],
    ] {
        let document = tagaudit::internals::policy::Document::parse(&stdout(arguments)).unwrap();
        assert!(document.allowed_actions().count() > 5, "{arguments:?}");
    }
    let names = stdout(&["baseline", "list"]);
    assert!(names.contains("rancher-controlplane") && names.contains("effective-worker"));
    insta::assert_snapshot!("explain", stdout(&["explain", "sg-multiple-tagged-on-instance"]));
    insta::assert_snapshot!("explain-zh", stdout(&["explain", "ali-provider-id-missing", "--lang", "zh"]));
    let chinese = stdout(&["rules", "--lang", "zh", "--search", "网段"]);
    assert!(
        chinese.contains("无法在 VPC 中为 Node 的 `podCIDR` 创建路由条目") && chinese.contains("条规则"),
        "{chinese}"
    );
    // What is not translated stays English, and says so.
    let untranslated = stdout(&["explain", "sg-multiple-tagged-on-instance", "--lang", "zh"]);
    assert!(untranslated.contains("尚无中文说明") && untranslated.contains("What breaks"), "{untranslated}");
    let (code, text) = failure(&["explain", "sg-multiple-tagged-instance"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("did you mean `sg-multiple-tagged-on-instance`"), "{text}");
}

#[test]
fn completions_and_manual_are_written() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(stdout(&["completions", shell]).contains("cluster-id"), "{shell}");
    }
    let manual = stdout(&["man"]);
    assert!(manual.contains(".TH tagaudit") && manual.contains("controller\\-version"));
}

/// Answer to bash for a line whose last word is being typed.
fn completed(words: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
    let output = command()
        .args(["--", "tagaudit"])
        .args(words)
        .env("TAGAUDIT_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_IFS", "\n")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_that_asks_gets_values() {
    let rules =
        ["ali-pod-cidr-holds-node", "ali-pod-cidr-missing", "ali-pod-cidr-shared", "ali-pod-cidr-without-route"];
    for option in ["--rule", "--skip-rule"] {
        assert_eq!(completed(&["scan", option, "ali-pod-cidr"], &[]), rules);
    }
    assert_eq!(completed(&["explain", "ali-pod-cidr-s"], &[]), ["ali-pod-cidr-shared"]);
    assert_eq!(completed(&["baseline", "show", "ssm"], &[]), ["ssm-core"]);
    assert_eq!(completed(&["scan", "--baseline", "worker=ssm"], &[]), ["worker=ssm-core"]);
    let inventory = fixtures::path("clean-two-clusters.json");
    let inventory = inventory.to_str().unwrap();
    let ids = stdout(&["clusters", "--format", "json", "--inventory", inventory]);
    let ids: serde_json::Value = serde_json::from_str(&ids).unwrap();
    let mut ids: Vec<&str> =
        ids["clusters"].as_array().unwrap().iter().map(|one| one["cluster_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(completed(&["scan", "--inventory", inventory, "--cluster-id", ""], &[]), ids);
    assert_eq!(completed(&["scan", "--inventory", "missing.json", "--cluster-id", ""], &[]), [""; 0]);
    // What a shell would write to the terminal as it is.
    let hostile = std::fs::read_to_string(inventory).unwrap().replace(ids[0], "\\u001b[2Jprod");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), hostile).unwrap();
    let found = completed(&["scan", "--inventory", file.path().to_str().unwrap(), "--cluster-id", ""], &[]);
    assert_eq!(found, ids[1..]);
}

#[test]
fn an_unknown_shell_is_a_usage_error() {
    let output = command().args(["--", "tagaudit", "scan"]).env("TAGAUDIT_COMPLETE", "tcsh").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.starts_with("error: ") && error.contains("tcsh") && error.contains("help: "), "{error}");
}

/// What the files of other programs name is completed where the feature that reads them is there.
#[test]
fn contexts_and_profiles_are_completed() {
    let home = tempfile::tempdir().unwrap();
    let folder = |name: &str| home.path().join(name);
    for name in [".aws", ".aliyun"] {
        std::fs::create_dir(folder(name)).unwrap();
    }
    let config = "apiVersion: v1\nkind: Config\nclusters: []\nusers: []\ncontexts:\n- {name: prod-a, context: {cluster: a, user: a}}\n- {name: dev, context: {cluster: a, user: a}}\n";
    std::fs::write(folder("kubeconfig"), config).unwrap();
    std::fs::write(folder(".aws/config"), "[profile audit]\nregion = eu-west-1\n").unwrap();
    std::fs::write(folder(".aliyun/config.json"), r#"{"current": "ack", "profiles": [{"name": "ack"}]}"#).unwrap();
    let kubeconfig = folder("kubeconfig");
    let environment = [("HOME", home.path().to_str().unwrap()), ("KUBECONFIG", kubeconfig.to_str().unwrap())];
    if cfg!(feature = "kubernetes") {
        assert_eq!(completed(&["scan", "--kube-context", "prod"], &environment), ["prod-a"]);
        assert_eq!(completed(&["scan", "--kube-context", ""], &[("KUBECONFIG", "/nonexistent")]), [""; 0]);
    }
    #[cfg(any(feature = "aws", feature = "alibaba"))]
    {
        let found = completed(&["scan", "--profile", "a"], &environment);
        assert_eq!(found.contains(&"audit".to_owned()), cfg!(feature = "aws"), "{found:?}");
        assert_eq!(found.contains(&"ack".to_owned()), cfg!(feature = "alibaba"), "{found:?}");
    }
}

#[test]
fn hostile_recordings_cannot_write_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(fixtures::path("broken.json")).unwrap();
    // Every name, region and id gets an escape sequence; the JSON escape makes it one.
    let hostile = text
        .replace("bravo-cp", "bravo\\u001b[7m-cp")
        .replace("us-east-1", "us-east\\u001b[2J-1")
        .replace("sg-0", "sg-\\u001b]0;x\\u0007");
    let file = folder.path().join("hostile.json");
    std::fs::write(&file, hostile).unwrap();
    let path = file.to_str().unwrap();
    for arguments in [
        &["scan", "--cluster-id", "bravo", "-v", "--color", "never", "--inventory", path][..],
        &["clusters", "--inventory", path],
    ] {
        let output = run(arguments);
        assert!(output.stdout.len() > 1_000, "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&0x07), "{arguments:?}");
    }
}

/// An inventory that says it is of another cloud than it is.
#[test]
fn an_inventory_of_another_shape_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut inventory = super::worlds::all().remove(0).inventory;
    inventory.provider = tagaudit::internals::inventory::Provider::Alibaba;
    let file = folder.path().join("inventory.json");
    std::fs::write(&file, inventory.to_json().unwrap()).unwrap();
    for arguments in [&["scan", "--cluster-id", "x"][..], &["clusters"]] {
        let ended = run(&[arguments, &["--inventory", file.to_str().unwrap()]].concat());
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(said.contains("is not a tagaudit inventory: unknown field `partition`"), "{said}");
    }
}

#[test]
fn an_account_that_was_not_read_leaves_the_whole_scan_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let mut inventory = super::worlds::unreadable().inventory;
    inventory.gaps = vec![tagaudit::internals::inventory::Gap {
        read: tagaudit::internals::inventory::Read::AssumeRole,
        account_id: Some("999988887777".into()),
        region: None,
        resource: Some("arn:aws:iam::999988887777:role/audit".into()),
        policy: None,
        reason: "AssumeRoleFailed".into(),
        message: "AccessDenied".into(),
    }];
    let file = folder.path().join("inventory.json");
    std::fs::write(&file, inventory.to_json().unwrap()).unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(run(&["clusters", "--inventory", path]).status.code(), Some(3));
    let report = stdout(&["scan", "--cluster-id", "of-that-account", "--format", "json", "--inventory", path]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let found = report["findings"].as_array().unwrap();
    assert!(found.iter().all(|finding| finding["rule"] != "cluster-id-unexpected"), "the id may be that account's");
}

#[test]
fn an_id_that_matches_nothing_is_said_whatever_is_asked_for() {
    let output = run(&["scan", "--cluster-id", "nobody", "--inventory", "fixtures/demo.json", "--rule", "sg-*"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn files_of_a_folder_are_read_whole_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let scan = ["scan", "--cluster-id", "x", "--inventory", path, "--region", "us-east-1", "--format", "json"];
    put(
        "get-caller-identity.json",
        r#"{"UserId": "AIDA", "Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/a"}"#,
    );
    put("describe-subnets.json", "{\"Subnets\": []}\n{\"Subnets\": []}");
    let (code, text) = failure(&scan);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("describe-subnets.json") && text.contains("line 2"), "{text}");
    put("describe-subnets.json", "{\"Subnets\": []}");
    put(
        "describe-instances.json",
        r#"{"Reservations": [{"Instances": [{"InstanceId": "i-1", "VpcId": "vpc-1", "State": {"Name": "hibernated"}}, {"InstanceId": "i-2", "VpcId": "vpc-1", "State": {"Name": "running"}}]}]}"#,
    );
    put("describe-vpcs.json", r#"{"Vpcs": [{"VpcId": "vpc-1"}]}"#);
    put("describe-vpc-attributes.json", "[]");
    let report: serde_json::Value = serde_json::from_str(&stdout(&scan)).unwrap();
    let entries: Vec<String> = report["not_audited"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| format!("{} {}", e["what"].as_str().unwrap(), e["reason"].as_str().unwrap()))
        .collect();
    assert!(entries.contains(&"ec2:DescribeInstances Protocol".to_owned()), "{entries:?}");
    assert!(entries.contains(&"ec2:DescribeVpcAttribute NotProvided".to_owned()), "{entries:?}");
}
