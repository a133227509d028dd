//! `tagaudit policy` from the built binary.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::Value;

use super::binary::command;
use super::documents::schema;

fn run(arguments: &[&str], stdin: &str) -> Output {
    let mut child = command()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg("policy")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not wait for what it would have read.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(output: &Output) -> (Option<i32>, String) {
    let all = [output.stdout.clone(), output.stderr.clone()].concat();
    (output.status.code(), String::from_utf8(all).unwrap())
}

const WORKER: &str = "fixtures/policy/worker.json";

#[test]
fn a_diff_says_what_is_missing_then_what_is_dangerous_then_the_rest() {
    let (code, page) = text(&run(&["diff", "--baseline", "rancher-worker", WORKER], ""));
    assert_eq!(code, Some(1));
    insta::assert_snapshot!("policy-diff", page);
    let output = run(&["diff", "--baseline", "rancher-worker", "--format", "json", WORKER], "");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema("policy-diff.schema.json").is_valid(&report));
    let entry = |action: &str| {
        let actions = report["roles"][0]["actions"].as_array().unwrap();
        actions.iter().find(|entry| entry["action"] == action).unwrap().clone()
    };
    assert_eq!(entry("ecr:GetRepositoryPolicy")["verdict"], "denied");
    assert_eq!(entry("ecr:GetRepositoryPolicy")["because"][0]["statement"], 4);
    assert_eq!(entry("ecr:ListImages")["only_on"][0], "arn:aws:ecr:*:*:repository/team/*");
    assert_eq!(
        entry("ecr:ListImages")["not_granted"][0]["example_resource"],
        "arn:aws:ecr:us-east-1:123456789012:repository/x"
    );
    assert_eq!(entry("ecr:DescribeRepositories")["only_if"][0], "aws:RequestedRegion StringEquals us-east-1");
    assert_eq!(report["roles"][0]["tightened_policy"]["Statement"][0]["Resource"], "*");
}

#[test]
fn what_is_known_of_the_requests_settles_conditions() {
    let arguments = ["diff", "--baseline", "rancher-worker", "--format", "json", "--region", "us-east-1", WORKER];
    let report: Value = serde_json::from_slice(&run(&arguments, "").stdout).unwrap();
    let actions = report["roles"][0]["actions"].as_array().unwrap();
    let found = actions.iter().find(|entry| entry["action"] == "ecr:DescribeRepositories").unwrap();
    assert_eq!(found["verdict"], "granted");
}

#[test]
fn a_tightened_policy_grants_its_baseline_and_nothing_else() {
    for baseline in ["rancher-worker", "rancher-controlplane", "kops-controller", "upstream-node"] {
        let wide = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#;
        let output = run(&["diff", "--baseline", baseline, "--format", "json", "-"], wide);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let tightened = report["roles"][0]["tightened_policy"].to_string();
        let output = run(&["diff", "--baseline", baseline, "--format", "json", "-"], &tightened);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{baseline}");
        assert_eq!(report["roles"][0]["excess"], serde_json::json!([]), "{baseline}");
    }
}

#[test]
fn boundaries_and_control_policies_take_away() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guard.json");
    let guard = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ecr:*","Resource":"*"}]}"#;
    std::fs::write(&file, guard).unwrap();
    for option in ["--boundary", "--scp"] {
        let arguments =
            ["diff", "--baseline", "rancher-worker", "--format", "json", option, file.to_str().unwrap(), WORKER];
        let report: Value = serde_json::from_slice(&run(&arguments, "").stdout).unwrap();
        let first = &report["roles"][0]["actions"][0];
        assert_eq!(
            (first["action"].as_str(), first["verdict"].as_str()),
            (Some("ec2:DescribeInstances"), Some("denied"))
        );
        assert!(first["because"][0]["policy"].as_str().unwrap().ends_with("guard.json"), "{option}: {first}");
        // What is taken away opens no way to further rights.
        let paths = report["roles"][0]["escalation_paths"].as_array().unwrap();
        assert_eq!(paths.len(), 0, "{option}: {paths:?}");
    }
}

/// Levels of control policies: each that allows is one, and a list that only denies is beside another.
#[test]
fn lists_that_only_deny_are_no_level_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, statement: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, format!(r#"{{"Version":"2012-10-17","Statement":[{statement}]}}"#)).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let all = write("all.json", r#"{"Effect":"Allow","Action":"*","Resource":"*"}"#);
    let ecr = write("ecr.json", r#"{"Effect":"Allow","Action":"ecr:*","Resource":"*"}"#);
    let ec2 = write("ec2.json", r#"{"Effect":"Allow","Action":"ec2:*","Resource":"*"}"#);
    let no_s3 = write("no-s3.json", r#"{"Effect":"Deny","Action":"s3:*","Resource":"*"}"#);
    let no_ecr = write("no-ecr.json", r#"{"Effect":"Deny","Action":"ecr:*","Resource":"*"}"#);
    let verdict = |scps: &[&String], action: &str| {
        let scps: Vec<&str> = scps.iter().flat_map(|scp| ["--scp", scp.as_str()]).collect();
        let diff = [&["diff", "--baseline", "rancher-worker", "--format", "json"][..], &scps, &[WORKER]].concat();
        let report: Value = serde_json::from_slice(&run(&diff, "").stdout).unwrap();
        let actions = report["roles"][0]["actions"].as_array().unwrap();
        let of_diff = actions.iter().find(|entry| entry["action"] == action).unwrap()["verdict"] == "granted";
        let eval = [&["eval", "--policy", &all, "--action", action, "--resource", "*"][..], &scps].concat();
        let (_, page) = text(&run(&eval, ""));
        assert_eq!(page.contains("Allowed"), of_diff, "{scps:?}: {page}");
        of_diff
    };
    for (scps, ecr_is_granted, ec2_is_granted) in [
        (&[&all, &no_s3][..], true, true),
        (&[&no_s3, &all], true, true),
        (&[&no_s3], true, true),
        (&[&no_s3, &no_ecr], false, true),
        (&[&all, &no_ecr], false, true),
        (&[&all, &ecr], true, false),
        (&[&ecr, &ec2], false, false),
        (&[&ecr, &no_s3, &all], true, false),
    ] {
        assert_eq!(verdict(scps, "ecr:GetAuthorizationToken"), ecr_is_granted, "{scps:?}");
        assert_eq!(verdict(scps, "ec2:DescribeInstances"), ec2_is_granted, "{scps:?}");
    }
}

#[test]
fn templates_are_compared_role_by_role() {
    let template = "fixtures/policy/template.yaml";
    let (code, page) = text(&run(&["diff", "--baseline", "rancher-worker", template], ""));
    assert_eq!(code, Some(0), "{page}");
    assert_eq!(page, "fixtures/policy/template.yaml: Resources.Worker against rancher-worker: all 9 actions granted\n");
    let unknown = "Resources:\n  Node:\n    Type: AWS::IAM::Role\n    Properties:\n      ManagedPolicyArns: [arn:aws:iam::aws:policy/ReadOnlyAccess]\n";
    let (code, page) = text(&run(&["diff", "--baseline", "rke-minimum", "-"], unknown));
    assert_eq!(code, Some(3), "what ReadOnlyAccess grants is not known: nothing is missing for certain");
    assert!(page.contains("warning: not compared: -: Resources.Node: the managed policy"), "{page}");
}

#[test]
fn lint_shows_the_line_and_marks_the_place() {
    let (code, page) = text(&run(&["lint", WORKER], ""));
    assert_eq!(code, Some(0), "warnings alone do not fail");
    insta::assert_snapshot!("policy-lint", page);
    assert_eq!(text(&run(&["lint", "--fail-on", "warning", WORKER], "")).0, Some(1));
    let output = run(&["lint", "--format", "json", "-"], "{\"Statement\": [{\"Effect\": \"allow\"}]");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let errors: Vec<String> = super::documents::schema("policy-lint.schema.json")
        .iter_errors(&report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    let finding = &report["findings"][0];
    let location = &finding["locations"][0];
    assert_eq!(
        (output.status.code(), finding["rule"].as_str(), location["file"].as_str(), location["column"].as_u64()),
        (Some(1), Some("syntax"), Some("-"), Some(35))
    );
}

#[test]
fn hostile_texts_stay_inert() {
    let hostile = "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ec2:\\u001b[31mX\\u202e\",\"Resource\":\"*\",\"Sid\":\"\u{202e}\u{1b}\"}]}";
    for arguments in [&["lint", "-"][..], &["diff", "--baseline", "rke-minimum", "-"]] {
        let (_, page) = text(&run(arguments, &hostile.replace('\u{1b}', "")));
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page:?}");
    }
}

#[test]
fn questions_are_answered_line_by_line_and_bad_lines_with_their_error() {
    let cases = std::fs::read_to_string(super::documents::path("engine/tests/cases.jsonl")).unwrap();
    let mut lines: Vec<&str> = cases.lines().collect();
    lines.insert(1, "{\"id\": \"bad\", \"identity_policies\": []}");
    lines.insert(2, "no json");
    lines.insert(3, "{\"id\": 7, \"identity_policies\": [{\"name\": \"p\", \"document\": {\"Statement\": 1}}], \"request\": {\"action\": \"a:b\", \"resource\": \"*\"}}");
    let output = run(&["eval", "--cases", "-"], &lines.join("\n"));
    assert_eq!(output.status.code(), Some(2));
    let answers: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len());
    let errors: Vec<(&Value, &str)> =
        answers.iter().filter_map(|answer| Some((&answer["id"], answer["error"].as_str()?))).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert_eq!(errors[0].0, "bad");
    assert!(errors[0].1.starts_with("line 2: ") && errors[1].1.starts_with("line 3: "), "{errors:?}");
    assert_eq!(errors[2].0, 7);
    for (line, answer) in lines.iter().zip(&answers).filter(|(_, answer)| answer["error"].is_null()) {
        let case: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&answer["id"], &answer["decision"], &answer["matched"]),
            (&case["id"], &case["expected"], &case["matched"])
        );
    }
}

#[test]
fn one_question_is_answered_with_its_statements() {
    let ask = |extra: &[&str]| {
        let arguments = [&["eval", "--policy", WORKER, "--action", "ecr:DescribeRepositories"], extra].concat();
        text(&run(&arguments, ""))
    };
    let allowed = "Allowed\n  allowed by statement 3 of fixtures/policy/worker.json\n";
    assert_eq!(ask(&["--context", "aws:requestedregion=us-east-1"]), (Some(0), allowed.to_owned()));
    assert_eq!(ask(&[]), (Some(1), "ImplicitlyDenied\n".to_owned()));
    let (code, page) = ask(&["--unknown-context"]);
    assert_eq!((code, page.lines().next()), (Some(1), Some("only if aws:RequestedRegion StringEquals us-east-1")));
    let (code, page) = ask(&["--unknown-context", "--context", "aws:RequestedRegion=us-east-1"]);
    assert_eq!((code, page.lines().next()), (Some(0), Some("always")));
    let (code, page) = ask(&["--unknown-context", "--context", "aws:RequestedRegion=eu-west-1"]);
    assert_eq!((code, page.lines().next()), (Some(1), Some("never")));
}

#[test]
fn patterns_expand_and_shrink() {
    assert_eq!(
        text(&run(&["expand", "ecr:batchg*"], "")).1,
        "ecr:BatchGetImage\necr:BatchGetRepositoryScanningConfiguration\n"
    );
    let (code, page) = text(&run(&["expand", "nosuch:*"], ""));
    assert_eq!((code, page.as_str()), (Some(0), "warning: `nosuch:*` covers no known action\n"));
    let all = text(&run(&["expand", "ecr:*"], "")).1;
    assert_eq!(text(&run(&["shrink", "-"], &all)).1, "ecr:*\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("catalogue.txt");
    std::fs::write(&file, "tagaudit.catalogue/2\nservice my\na L ListThings - -\na P GrantThings - -\n").unwrap();
    let own = text(&run(&["expand", "my:*", "--catalogue", file.to_str().unwrap()], ""));
    assert_eq!(own.1, "my:GrantThings\nmy:ListThings\n");
    std::fs::write(&file, "tagaudit.catalogue/2\nservice my\na X ListThings - -\n").unwrap();
    let (code, page) = text(&run(&["expand", "my:*", "--catalogue", file.to_str().unwrap()], ""));
    assert_eq!(code, Some(2));
    assert!(page.contains("cause: line 3: unknown access level"), "{page}");
}

#[test]
fn wrong_input_ends_with_its_place_and_two() {
    let cases: &[(&[&str], &str)] = &[
        (&["diff", "--baseline", "nosuch", WORKER], "neither a baseline nor a file"),
        (&["diff", "--baseline", "rancher-worker", "nosuch.json"], "cannot read the policy `nosuch.json`"),
        (&["diff", "--baseline", "rancher-worker", "Cargo.toml"], "not JSON"),
        (&["diff", "--baseline", "rancher-worker", "--context", "x", WORKER], "is not KEY=VALUE"),
        (&["eval", "--policy", WORKER, "--action", "DescribeInstances"], "`DescribeInstances` is not an action"),
        (&["eval", "--policy", "README.md", "--action", "a:b"], "is not a policy document"),
        (&["eval", "--cases", "nosuch.jsonl"], "cannot read the questions `nosuch.jsonl`"),
    ];
    for (arguments, message) in cases {
        let (code, page) = text(&run(arguments, ""));
        assert_eq!(code, Some(2), "{arguments:?}: {page}");
        assert!(page.contains(message) && page.starts_with("error: "), "{arguments:?}: {page}");
    }
    // Editors on Windows write a byte order mark.
    let with_mark = text(&run(&["diff", "--baseline", "rancher-worker", "-"], "\u{feff}{\"Statement\":[]}"));
    assert_eq!(with_mark, text(&run(&["diff", "--baseline", "rancher-worker", "-"], "{\"Statement\":[]}")));
    assert_eq!(with_mark.0, Some(1));
}
