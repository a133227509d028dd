//! Neighbours of a clean cluster in Alibaba Cloud: one thing is changed, and what is said of it has to be what the controller does.

use serde_json::{Value, json};

use super::alibaba::{found, scan};
use super::alibaba_worlds::{self as worlds, ACCOUNT, World};
use super::binary::command;

fn clean() -> World {
    worlds::all().into_iter().find(|world| world.name == "clean-handmade").unwrap()
}

/// Errors and warnings after a change of the Nodes, with the exit code and what was not audited.
fn after(change: impl FnOnce(&mut Vec<Value>), more: &[&str]) -> (Option<i32>, Vec<String>, Vec<String>) {
    let mut world = clean();
    change(world.nodes.as_mut().unwrap()["items"].as_array_mut().unwrap());
    let (code, report) = scan(&world, true, more);
    let bad = found(&report).into_iter().filter(|line| !line.starts_with("info")).collect();
    let gaps = report["not_audited"].as_array().unwrap().iter();
    (code, bad, gaps.map(|one| format!("{} {}", one["what"], one["region"]).replace('"', "")).collect())
}

/// The findings about Nodes; those of Services follow from them.
fn with_id(id: &str) -> (Option<i32>, Vec<String>, Vec<String>) {
    after(|nodes| nodes[3]["spec"]["providerID"] = json!(id), &["--skip-rule", "ali-svc-sync-fails"])
}

#[test]
fn a_provider_id_is_good_where_the_controller_finds_the_instance() {
    for good in ["cn-hangzhou.i-bp1worker1", "ack-hybrid://a.b"] {
        assert_eq!(with_id(good), (Some(0), vec![], vec![]), "{good}");
    }
    // The world has routes, which the prefix breaks.
    let prefixed = "alicloud://cn-hangzhou.i-bp1worker1";
    let (code, bad, _) = with_id(prefixed);
    assert_eq!((code, bad.len()), (Some(1), 1), "{bad:?}");
    assert!(bad[0].starts_with("error ali-provider-id-invalid") && bad[0].contains("writes routes"), "{bad:?}");
    let mut world = clean();
    world.arguments = &[];
    world.nodes.as_mut().unwrap()["items"][3]["spec"]["providerID"] = json!(prefixed);
    let (code, report) = scan(&world, true, &[]);
    assert_eq!(code, Some(0), "{:?}", found(&report));
    for foreign in [
        "aws:///cn-hangzhou.i-bp1worker1",
        "azure:///x.i-bp1worker1",
        "alicloud:///cn-hangzhou.i-bp1worker1",
        "ALICLOUD://cn-hangzhou.i-bp1worker1",
        " cn-hangzhou.i-bp1worker1",
        "cn-hangzhou.",
        ".",
        ".i-bp1worker1",
        "i-bp1worker1",
    ] {
        let (code, bad, _) = with_id(foreign);
        assert_eq!((code, bad.len()), (Some(1), 1), "{foreign}: {bad:?}");
        assert!(bad[0].starts_with("error ali-provider-id-invalid"), "{foreign}: {bad:?}");
    }
    for gone in ["cn-hangzhou.I-BP1WORKER1", "cn-hangzhou.i-bp1other"] {
        let (code, bad, _) = with_id(gone);
        assert_eq!((code, bad.len()), (Some(1), 1), "{gone}: {bad:?}");
        assert!(bad[0].starts_with("error ali-node-without-instance"), "{gone}: {bad:?}");
    }
    let (code, bad, _) = with_id("cn-hangzhou.i-bp1worker1.more");
    assert_eq!(code, Some(0));
    assert!(bad.len() == 1 && bad[0].starts_with("warning ali-provider-id-invalid"), "{bad:?}");
}

#[test]
fn a_node_in_a_region_that_nobody_read_is_not_audited() {
    for region in ["cn-shanghai", "xx-mars"] {
        let (code, bad, gaps) = with_id(&format!("{region}.i-bp1other"));
        assert_eq!((code, bad, gaps), (Some(3), vec![], vec![format!("ecs:DescribeInstances {region}")]));
        // Ids are unique: an instance that was read is in no other region.
        let (code, bad, gaps) = with_id(&format!("{region}.i-bp1worker1"));
        assert_eq!((code, bad.len(), gaps), (Some(1), 1, vec![]), "{bad:?}");
        assert!(bad[0].contains("but the instance is in cn-hangzhou"), "{bad:?}");
    }
}

#[test]
fn what_the_controller_leaves_alone_is_left_alone() {
    for (label, value) in [
        ("type", "virtual-kubelet"),
        ("service.alibabacloud.com/exclude-node", ""),
        ("service.beta.kubernetes.io/exclude-node", "true"),
        ("alibabacloud.com/lingjun-worker", "true"),
    ] {
        for id in ["", "aws:///x", "cn-hangzhou.i-gone"] {
            let changed = after(
                |nodes| {
                    let labels = json!({label: value});
                    let mut node = json!({"metadata": {"name": "other", "labels": labels}, "spec": {}, "status": {}});
                    if !id.is_empty() {
                        node["spec"]["providerID"] = json!(id);
                    }
                    nodes.push(node);
                },
                &[],
            );
            assert_eq!(changed, (Some(0), vec![], vec![]), "{label}={value} {id}");
        }
    }
}

#[test]
fn two_nodes_of_one_instance_are_an_error() {
    let (code, bad, _) = with_id("cn-hangzhou.i-bp1worker2");
    assert_eq!(code, Some(1));
    assert_eq!(
        bad,
        [
            "error ali-provider-id-shared: 2 Nodes have the providerID `cn-hangzhou.i-bp1worker2`: prod-worker-1, prod-worker-2"
        ]
    );
}

#[test]
fn the_lookup_by_address_wants_exactly_one() {
    let second = json!({"type": "InternalIP", "address": "10.9.9.9"});
    let bad = |more: Option<Value>| {
        after(
            |nodes| {
                nodes[3]["spec"].as_object_mut().unwrap().remove("providerID");
                nodes[3]["status"]["addresses"].as_array_mut().unwrap().extend(more);
            },
            &["--controller-version", "2.6"],
        )
        .1
    };
    assert_eq!(bad(None), [""; 0]);
    assert!(bad(Some(second))[0].starts_with("error ali-provider-id-missing"));
}

#[test]
fn a_command_is_safe_to_paste_whatever_a_node_is_called() {
    let name = "a'; rm -rf /; '";
    let mut world = clean();
    let node = &mut world.nodes.as_mut().unwrap()["items"][3];
    node["metadata"]["name"] = json!(name);
    node["spec"].as_object_mut().unwrap().remove("providerID");
    let (_, report) = scan(&world, true, &[]);
    let findings = report["findings"].as_array().unwrap();
    let missing = findings.iter().find(|one| one["rule"] == "ali-provider-id-missing").unwrap();
    let words = shell_words::split(missing["fix"]["untried"][0].as_str().unwrap()).unwrap();
    assert_eq!(words[..4], ["kubectl", "patch", "node", name]);
    assert_eq!(words[5], r#"{"spec":{"providerID":"cn-hangzhou.i-bp1worker1"}}"#);
    assert_eq!(words.len(), 6);
}

#[test]
fn the_roles_of_control_planes_are_no_workers_where_the_controller_has_its_own_principal() {
    let world = clean();
    let other = format!("acs:ram::{ACCOUNT}:role/k8s-other");
    let (code, report) = scan(&world, true, &["--controller-role", &other]);
    let bad: Vec<String> = found(&report).into_iter().filter(|line| !line.starts_with("info")).collect();
    assert!(!bad.iter().any(|line| line.contains("on-worker") || line.starts_with("error")), "{bad:?}");
    assert_eq!(code, Some(3), "the principal that was named was not read");
}

#[test]
fn what_is_unknown_of_a_trust_policy_is_not_audited() {
    let trust = |more: &str, principal: &str| {
        format!(
            r#"{{"Version":"1","Statement":[{{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{principal}{more}}}]}}"#
        )
    };
    let ecs = r#"{"Service":["ecs.aliyuncs.com"]}"#;
    for (text, code, outcome) in [
        (Some(trust("", ecs)), Some(0), "passed"),
        (Some(trust("", r#"{"Service":["fc.aliyuncs.com"]}"#)), Some(1), "failed"),
        (Some(trust(r#","Condition":{"StringEquals":{"acs:x":"1"}}"#, ecs)), Some(3), "not_audited"),
        (Some("{".to_owned()), Some(3), "not_audited"),
        (None, Some(3), "not_audited"),
    ] {
        let mut world = clean();
        world.inventory.accounts[0].principals[0].trust_policy = text.clone();
        let (found_code, report) = scan(&world, true, &[]);
        let outcome_of = |rule: &str| {
            let rules = report["rules"].as_array().unwrap();
            rules.iter().find(|one| one["rule"] == rule).unwrap()["outcome"].as_str().unwrap().to_owned()
        };
        assert_eq!((found_code, outcome_of("ram-role-trust-not-ecs").as_str()), (code, outcome), "{text:?}");
        assert_eq!(outcome_of("ram-action-missing"), "passed", "what it may do is known: {text:?}");
    }
}

#[test]
fn unread_policies_of_resource_groups_leave_the_role_uncompared() {
    let mut world = clean();
    world.inventory.accounts[0].principals[0].resource_group_attachments = None;
    let (code, report) = scan(&world, true, &[]);
    assert_eq!(code, Some(3));
    let entry = &report["not_audited"][0];
    assert_eq!(entry["what"], "ram:ListPolicyAttachments");
    assert!(entry["message"].as_str().unwrap().contains("hold in a resource group"), "{entry}");
}

/// What a scan wrote can be read again, and compared with.
#[test]
fn reports_on_alibaba_cloud_are_read_back_in_every_format() {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let scan = ["scan", "--cluster-id", "broken", "--inventory", "fixtures/alibaba/broken.json"];
    let written = command().current_dir(root).args(scan).args(["--format", "json", "-o"]).arg(&file).output().unwrap();
    assert_eq!(written.status.code(), Some(1));
    for format in ["table", "json", "csv", "markdown", "html", "junit", "github", "sarif", "prometheus", "ocsf"] {
        let output = command().arg("report").arg(&file).args(["--format", format]).output().unwrap();
        assert!(output.status.code() < Some(2) && !output.stdout.is_empty(), "{format}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        // Feature gates are called as they are called.
        let text = text.replace("CSIMigrationAWS", "").replace("InTreePluginAWSUnregister", "");
        assert!(!text.contains("AWS"), "{format} speaks of another cloud");
    }
    let compared =
        command().current_dir(root).args(scan).args(["--format", "json", "--compare"]).arg(&file).output().unwrap();
    let report: Value = serde_json::from_slice(&compared.stdout).unwrap();
    assert_eq!(
        (compared.status.code(), &report["comparison"]["new"]),
        (Some(1), &json!(0)),
        "{}",
        report["comparison"]
    );
    let schema: Value =
        serde_json::from_slice(&std::fs::read(format!("{root}/docs/report.schema.json")).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(&report).map(|error| format!("{} {error}", error.instance_path())).collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn what_asks_for_nothing_of_this_cloud_is_refused() {
    for (arguments, expected) in [
        (vec!["--rule", "subnet-*"], "`subnet-*` names no rule of Alibaba Cloud"),
        (vec!["--skip-rule", "*"], "--skip-rule leaves no rule to check"),
        (vec!["--controller-version", "1.31"], "the cloud controller manager of Alibaba Cloud has no version 1.31"),
        (vec!["--controller-version", "99.0"], "the cloud controller manager of Alibaba Cloud has no version 99.0"),
    ] {
        let output = command()
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["scan", "--cluster-id", "prod", "--inventory", "fixtures/alibaba/clean-handmade.json"])
            .args(&arguments)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(expected), "{arguments:?}: {said}");
    }
    for version in ["1.9.3", "2.1", "2.14.0", "v2.15"] {
        let output =
            command().args(["baseline", "show", "ccm-v2.14", "--controller-version", version]).output().unwrap();
        assert!(output.status.success() && !String::from_utf8(output.stdout).unwrap().contains("[]"), "{version}");
    }
}
