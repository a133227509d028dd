//! The roles of the nodes in a scan: what the policy engine's answers become there.

use serde_json::{Value, json};
use tagaudit::internals::inventory::InlinePolicy;

use super::binary::command;
use super::fixtures::{path, report};
use super::worlds;

fn demo() -> worlds::World {
    worlds::all().into_iter().find(|world| world.name == "demo").unwrap()
}

#[test]
fn a_control_policy_takes_away_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guard.json");
    let guard = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},
        {"Sid":"KeepVolumes","Effect":"Deny","Action":"ec2:DeleteVolume","Resource":"*"}]}"#;
    std::fs::write(&file, guard).unwrap();
    let scan = |extra: &[&str]| -> Value {
        let output = command()
            .args(["scan", "--cluster-id", "demo", "--format", "json", "--inventory"])
            .arg(path("demo.json"))
            .args(extra)
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
    };
    let of_rule = |report: &Value, rule: &str| -> Vec<String> {
        let findings = report["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == rule);
        findings.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of_rule(&scan(&[]), "iam-action-denied"), Vec::<String>::new());
    let denied = of_rule(&scan(&["--scp", file.to_str().unwrap()]), "iam-action-denied");
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert!(denied[0].contains("ec2:DeleteVolume by statement 2 of") && denied[0].contains("guard.json"), "{denied:?}");
    let narrow = guard.replace("\"Action\":\"*\"", "\"Action\":\"ecr:*\"");
    std::fs::write(&file, narrow).unwrap();
    let denied = of_rule(&scan(&["--scp", file.to_str().unwrap()]), "iam-action-denied").join("\n");
    assert!(denied.contains("the control policy") && denied.contains("which does not allow it"), "{denied}");
}

#[test]
fn a_more_privileged_role_that_can_be_assumed_is_an_escalation_path() {
    let mut world = demo();
    let account = &mut world.inventory.accounts[0];
    let trust = |principal: &str| {
        json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"},
            {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "sts:AssumeRole"}]})
        .to_string()
    };
    let stronger = account.roles.iter().position(|role| role.name == "demo-controlplane").unwrap();
    let weaker = 1 - stronger;
    let arn = account.roles[stronger].arn.clone();
    let assume = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": arn}]});
    let policy = InlinePolicy { name: "assume".into(), document: Some(assume.to_string()) };
    account.roles[weaker].inline_policies = Some(vec![policy]);
    for (principal, expected) in [("arn:aws:iam::123456789012:root", true), ("arn:aws:iam::999988887777:root", false)] {
        let account = &mut world.inventory.accounts[0];
        account.roles[stronger].trust_policy = Some(trust(principal));
        let report = report(&world.inventory, world.cluster_id, None);
        let found: Vec<&str> = report
            .findings
            .iter()
            .filter(|finding| finding.rule == "iam-privilege-escalation")
            .map(|finding| finding.message.as_str())
            .collect();
        assert_eq!(
            found.iter().any(|message| message.contains(&format!("assume the more privileged {arn}"))),
            expected,
            "{found:?}"
        );
        let role = report.roles.iter().find(|role| role.role.ends_with("demo-worker")).unwrap();
        assert_eq!(role.assumable_roles.contains(&arn), expected);
    }
}

#[test]
fn roles_with_the_same_policies_get_the_same_answers_under_their_own_names() {
    let mut world = demo();
    let account = &mut world.inventory.accounts[0];
    let (mut role, mut profile) = (account.roles[1].clone(), account.instance_profiles[1].clone());
    assert_eq!(profile.roles, [role.name.clone()]);
    role.arn = role.arn.replace(&role.name, "twin");
    role.name = "twin".into();
    profile.arn = "arn:aws:iam::123456789012:instance-profile/twin".into();
    profile.roles = vec!["twin".into()];
    let worker = account.regions[0].instances.iter_mut().rfind(|instance| instance.id.starts_with("i-0d1w")).unwrap();
    worker.instance_profile_arn = Some(profile.arn.clone());
    account.roles.push(role);
    account.instance_profiles.push(profile);
    let report = report(&world.inventory, world.cluster_id, None);
    let named = |name: &str| report.roles.iter().find(|role| role.role.ends_with(name)).unwrap();
    let (one, other) = (named("demo-worker"), named("twin"));
    assert_ne!(one.instances, other.instances);
    assert_eq!(serde_json::to_value(&one.actions).unwrap(), serde_json::to_value(&other.actions).unwrap());
    assert_eq!(serde_json::to_value(&one.excess).unwrap(), serde_json::to_value(&other.excess).unwrap());
    // The same documents in another place are another role: here the last one becomes the boundary.
    let account = &mut world.inventory.accounts[0];
    let twin = account.roles.iter_mut().find(|role| role.name == "twin").unwrap();
    twin.permissions_boundary = twin.attached_policies.as_mut().unwrap().pop();
    let report = super::fixtures::report(&world.inventory, world.cluster_id, None);
    let named = |name: &str| report.roles.iter().find(|role| role.role.ends_with(name)).unwrap();
    assert!(
        named("demo-worker")
            .actions
            .iter()
            .all(|action| action.verdict == tagaudit::internals::policy::Verdict::Granted)
    );
    assert!(named("twin").actions.iter().all(|action| action.verdict == tagaudit::internals::policy::Verdict::Missing));
}

/// The image of the running cloud controller states the version whose calls the role must have.
#[test]
fn the_version_of_the_cloud_controller_is_that_of_its_image() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ccm.yaml");
    let message = |tag: &str| {
        let image = format!("registry.k8s.io/provider-aws/cloud-controller-manager:{tag}");
        let text = format!(
            "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: aws-cloud-controller-manager, namespace: kube-system}}\nspec: {{template: {{spec: {{containers: [{{name: c, image: '{image}', args: [--v=2]}}]}}}}}}\n"
        );
        std::fs::write(&path, text).unwrap();
        let words = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--format", "json"];
        let output = command().args(words).arg("--kubernetes").arg(&path).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|one| one["rule"] == "iam-controller-action-missing");
        found.map(|one| one["message"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    let new = message("v1.33.1");
    assert!(new.contains("1.33.1") && new.contains("ec2:DescribeInstanceTopology"), "{new}");
    // It does not call that yet.
    assert!(!message("v1.25.0").contains("ec2:DescribeInstanceTopology"));
    assert!(message("latest").contains("version not given"));
}
