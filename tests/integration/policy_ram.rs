//! Policies of Alibaba Cloud RAM, from the built binary.

use std::fs;

use serde_json::Value;
use tagaudit::internals::policy::{Document, RAM};

use super::binary::command;

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = command().current_dir(env!("CARGO_MANIFEST_DIR")).arg("policy").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

fn json(arguments: &[&str]) -> Value {
    let output = command().current_dir(env!("CARGO_MANIFEST_DIR")).arg("policy").args(arguments).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The action entries of a comparison that are not granted.
fn lacking(baseline: &str, policy: &str) -> Vec<String> {
    let report = json(&["diff", "--baseline", baseline, "--format", "json", policy]);
    let actions = report["roles"][0]["actions"].as_array().unwrap();
    let lacking = actions.iter().filter(|entry| entry["verdict"] != "granted");
    lacking.map(|entry| entry["action"].as_str().unwrap().to_owned()).collect()
}

/// The policy of the guide for v1.9 has no trace of what came later, and grants too much of what was there.
#[test]
fn the_policy_of_the_old_guide_lacks_what_todays_controllers_call() {
    let guide = "policies/ack-2019.json";
    assert_eq!(lacking("ccm-v2.14-service", guide), [""; 0]);
    assert_eq!(lacking("ccm-v2.14-route", guide), [""; 0]);
    assert_eq!(lacking("ccm-v2.14-node", guide), ["ecs:ModifyNetworkInterfaceAttribute", "eflo:DescribeNode"]);
    assert_eq!(lacking("ccm-v2.14-nlb", guide).len(), 41);
    let published = "policies/ack-2022.json";
    assert_eq!(lacking("ccm-v2.14-route", published), ["vpc:CreateRouteEntries", "vpc:DeleteRouteEntries"]);
    assert_eq!(
        lacking("ccm-v2.14-ingress", published),
        ["log:AnalyzeProductLog"],
        "on the logs of load balancers only"
    );
    assert_eq!(
        lacking("ccm-v2.14-service", published),
        [
            "slb:CreateDomainExtension",
            "slb:DeleteDomainExtension",
            "slb:ListTagResources",
            "slb:ModifyLoadBalancerInstanceChargeType",
            "slb:SetDomainExtensionAttribute",
            "slb:TagResources",
            "slb:UntagResources"
        ]
    );
}

#[test]
fn a_version_asks_for_what_it_calls() {
    let older = ["diff", "--baseline", "ccm-v2.14-route", "--controller-version", "2.11.1", "policies/ack-2022.json"];
    assert_eq!(run(&older).0, Some(0));
    let newer = ["diff", "--baseline", "ccm-v2.14-route", "--controller-version", "2.11.2", "policies/ack-2022.json"];
    assert_eq!(run(&newer).0, Some(1));
}

#[test]
fn a_comparison_for_a_person() {
    let (code, page) = run(&["diff", "--baseline", "ccm-v2.14-node", "policies/ack-2019.json"]);
    assert_eq!(code, Some(1));
    insta::assert_snapshot!("policy-diff-ram", page);
}

#[test]
fn a_tightened_policy_is_one_of_ram() {
    let report = json(&["diff", "--baseline", "ccm-v2.14-route", "--format", "json", "policies/ack-2019.json"]);
    let tightened = report["roles"][0]["tightened_policy"].to_string();
    let document = Document::parse_as(&tightened, &RAM).unwrap();
    assert_eq!(document.allowed_actions().count(), 6, "{tightened}");
}

#[test]
fn one_request_is_decided_in_the_order_of_ram() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let policy = |effect: &str, condition: &str| {
        format!(
            r#"{{"Version":"1","Statement":[{{"Effect":"{effect}","Action":"ecs:StopInstance","Resource":"*"{condition}}}]}}"#
        )
    };
    let allow = file("allow.json", &policy("Allow", ""));
    let deny = file("deny.json", &policy("Deny", ""));
    let none = file("none.json", r#"{"Version":"1","Statement":[]}"#);
    let from_office =
        file("office.json", &policy("Allow", r#","Condition":{"IpAddress":{"acs:SourceIp":"203.0.113.0/24"}}"#));
    let ask = |arguments: &[&str]| {
        let (code, page) = run(&[&["eval", "--action", "ecs:StopInstance"], arguments].concat());
        (code, page.lines().next().unwrap_or_default().to_owned())
    };
    assert_eq!(ask(&["--policy", &allow]), (Some(0), "Allowed".into()));
    // An Allow of the account ends the step before the Deny of the resource group.
    assert_eq!(ask(&["--policy", &allow, "--resource-group-policy", &deny]), (Some(0), "Allowed".into()));
    assert_eq!(ask(&["--policy", &none, "--resource-group-policy", &deny]), (Some(1), "ExplicitlyDenied".into()));
    assert_eq!(ask(&["--policy", &none, "--resource-group-policy", &allow]), (Some(0), "Allowed".into()));
    assert_eq!(ask(&["--policy", &allow, "--session-policy", &none]), (Some(1), "ImplicitlyDenied".into()));
    assert_eq!(ask(&["--policy", &allow, "--scp", &deny]), (Some(1), "ExplicitlyDenied".into()));
    assert_eq!(ask(&["--policy", &from_office]), (Some(3), "Undecided".into()));
    assert_eq!(ask(&["--policy", &from_office, "--context", "acs:SourceIp=203.0.113.9"]), (Some(0), "Allowed".into()));
    assert_eq!(
        ask(&["--policy", &none, "--resource-group-policy", &allow, "--unknown-context"]),
        (Some(1), "only if in a resource group: the resource is in the resource group of the policies".into())
    );
    let iam = file("iam.json", r#"{"Version":"2012-10-17","Statement":[]}"#);
    for (arguments, expected) in [
        (vec!["--policy", &iam, "--resource-group-policy", &allow], "only RAM has policies of a resource group"),
        (vec!["--policy", &allow, "--boundary", &allow], "RAM has no permissions boundaries"),
        (vec!["--policy", &allow, "--policy", &iam], "the version is not `1`"),
        (vec!["--policy", &allow, "--dialect", "iam"], "the version is neither `2012-10-17`"),
    ] {
        let (code, page) = run(&[vec!["eval", "--action", "ecs:StopInstance"], arguments].concat());
        assert!(code == Some(2) && page.contains(expected), "{page}");
    }
}

#[test]
fn questions_by_the_line_may_be_about_ram() {
    let case = r#"{"id":1,"identity_policies":[{"name":"p","document":{"Version":"1","Statement":[]}}],"resource_group_policies":[{"name":"g","document":{"Version":"1","Statement":[{"Effect":"Allow","Action":"ecs:*","Resource":"*"}]}}],"session_policy":{"name":"s","document":{"Version":"1","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}},"request":{"action":"ecs:StopInstance","resource":"acs:ecs:cn-hangzhou:1:instance/i-1"}}"#;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.jsonl");
    fs::write(&file, case).unwrap();
    let (code, page) = run(&["eval", "--cases", &file.display().to_string()]);
    assert_eq!(code, Some(0), "{page}");
    let answer: Value = serde_json::from_str(&page).unwrap();
    assert_eq!(answer["decision"], "Allowed");
    assert_eq!(answer["matched"]["group_allow"], serde_json::json!([["g", 0]]));
    assert_eq!(answer["matched"]["session_allow"], serde_json::json!([["s", 0]]));
}

#[test]
fn lint_reads_each_file_in_its_language() {
    let (code, page) = run(&["lint", "--fail-on", "warning", "policies/ack-2022.json", "policies/rancher-worker.json"]);
    assert_eq!(code, Some(0), "{page}");
    let (code, page) = run(&["lint", "--dialect", "iam", "policies/ack-2022.json"]);
    assert!(code == Some(1) && page.contains("the version is neither"), "{page}");
}

#[test]
fn patterns_of_ram_expand_and_shrink() {
    let (code, page) = run(&["expand", "--dialect", "ram", "vpc:*RouteEntr*"]);
    assert_eq!(code, Some(0));
    assert!(page.lines().any(|line| line == "vpc:CreateRouteEntries"), "{page}");
    let (_, page) = run(&["shrink", "--dialect", "ram", "nlb:*"]);
    assert_eq!(page, "nlb:*\n");
    let (_, page) = run(&["expand", "vpc:*RouteEntr*"]);
    assert!(page.contains("covers no known action"), "{page}");
}

#[test]
fn a_baseline_of_another_language_is_refused() {
    let (code, page) = run(&["diff", "--baseline", "ack-2022", "--dialect", "iam", "fixtures/policy/worker.json"]);
    assert!(code == Some(2) && page.contains("the baseline `ack-2022` is a policy of RAM, not of IAM"), "{page}");
    let (code, page) = run(&["diff", "--baseline", "ack-2022", "fixtures/policy/worker.json"]);
    assert!(
        code == Some(2) && page.contains("cannot be evaluated") && page.contains("the version is not `1`"),
        "{page}"
    );
}
