//! Alibaba Cloud: its rules over every fixture, from the built binary.

use std::path::PathBuf;

use serde_json::Value;
use tagaudit::internals::inventory::{Gap, Provider, Read};
use tagaudit::internals::rules::{RULES, for_provider};

use super::alibaba_worlds::{self as worlds, World};
use super::binary::command;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/alibaba").join(name)
}

/// The report of a world, through the binary; with its exit code.
pub(crate) fn scan(world: &World, with_nodes: bool, more: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let inventory = folder.path().join("inventory.json");
    std::fs::write(&inventory, tagaudit::internals::inventory::to_json(&world.inventory).unwrap()).unwrap();
    let mut command = command();
    command.args(["scan", "--cluster-id", world.cluster_id, "--format", "json", "--inventory"]).arg(&inventory);
    if with_nodes && let Some(nodes) = &world.nodes {
        let file = folder.path().join("nodes.json");
        std::fs::write(&file, nodes.to_string()).unwrap();
        command.arg("--nodes").arg(file);
        if let Some(services) = &world.services {
            let file = folder.path().join("services.json");
            std::fs::write(&file, services.to_string()).unwrap();
            command.arg("--kubernetes").arg(file);
        }
    }
    let output = command.args(world.arguments).args(more).output().unwrap();
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    static SCHEMA: std::sync::LazyLock<jsonschema::Validator> =
        std::sync::LazyLock::new(|| super::documents::schema("report.schema.json"));
    let wrong: Vec<String> =
        SCHEMA.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(wrong, [""; 0], "{}", world.name);
    (output.status.code(), report)
}

pub(crate) fn found(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings
        .map(|one| format!("{} {}: {}", text(&one["severity"]), text(&one["rule"]), text(&one["message"])))
        .collect()
}

/// `UPDATE_FIXTURES=1 cargo test fixtures` rewrites what this compares.
#[test]
fn fixtures_of_alibaba_are_the_worlds_of_the_tests() {
    #[expect(clippy::disallowed_methods, reason = "a switch for developers")]
    let update = std::env::var_os("UPDATE_FIXTURES").is_some();
    for world in worlds::all().iter().filter(|world| !world.name.starts_with("broken-")) {
        let mut files =
            vec![(format!("{}.json", world.name), tagaudit::internals::inventory::to_json(&world.inventory).unwrap())];
        if let Some(nodes) = &world.nodes {
            files.push((format!("{}.nodes.json", world.name), format!("{nodes:#}\n").into_bytes()));
        }
        if let Some(services) = &world.services {
            files.push((format!("{}.services.json", world.name), format!("{services:#}\n").into_bytes()));
        }
        for (name, bytes) in files {
            if update {
                std::fs::write(path(&name), &bytes).unwrap();
            }
            let found = std::fs::read(path(&name)).unwrap_or_default();
            assert!(found == bytes, "fixtures/alibaba/{name}: run UPDATE_FIXTURES=1 cargo test fixtures");
        }
    }
}

#[test]
fn clean_clusters_of_alibaba_give_no_error_and_no_warning() {
    for world in worlds::all().iter().filter(|world| world.name.starts_with("clean")) {
        let (code, report) = scan(world, true, &["--fail-on", "warning"]);
        let bad: Vec<String> = found(&report).into_iter().filter(|line| !line.starts_with("info")).collect();
        assert_eq!(bad, [""; 0], "{}", world.name);
        assert_eq!((code, &report["complete"]), (Some(0), &Value::Bool(true)), "{}", world.name);
    }
}

#[test]
fn a_cluster_of_alibaba_has_findings_of_its_own_rules_alone() {
    let rules = for_provider(&RULES, Provider::Alibaba);
    for world in worlds::all().iter().filter(|world| world.name.starts_with("broken")) {
        let (_, report) = scan(world, true, &[]);
        let ids: Vec<&str> =
            report["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
        assert!(!ids.is_empty(), "{}", world.name);
        let others: Vec<&&str> = ids.iter().filter(|id| !rules.iter().any(|rule| rule.id == **id)).collect();
        assert!(others.is_empty(), "{}: rules of another cloud: {others:?}", world.name);
    }
}

/// One line per finding: what changes here changes what users are told.
#[test]
fn findings_of_every_fixture_of_alibaba() {
    for world in worlds::all() {
        let (_, report) = scan(&world, true, &[]);
        insta::assert_snapshot!(format!("alibaba-{}", world.name), found(&report).join("\n"));
    }
}

#[test]
fn the_table_of_a_broken_cluster_of_alibaba() {
    let output = command()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["scan", "--cluster-id", "broken", "--inventory", "fixtures/alibaba/broken.json"])
        .args(["--nodes", "fixtures/alibaba/broken.nodes.json", "--cloud-routes"])
        .args(["--kubernetes", "fixtures/alibaba/broken.services.json"])
        .output()
        .unwrap();
    insta::assert_snapshot!("alibaba-table", String::from_utf8(output.stdout).unwrap());
}

/// Without a read, what rests on it is not audited, never passed.
#[test]
fn what_was_not_read_of_alibaba_is_not_audited() {
    let clean = worlds::all().remove(0);
    for read in Read::ALL {
        let is_alibaba = ["ecs:", "ram:", "vpc:"].iter().any(|prefix| read.action().starts_with(prefix));
        // Only leftovers of clusters without nodes need the addresses.
        if !is_alibaba || *read == Read::DescribeEipAddresses {
            continue;
        }
        let mut world = World {
            inventory: clean.inventory.clone(),
            nodes: clean.nodes.clone(),
            services: clean.services.clone(),
            ..clean
        };
        world.inventory.gaps.push(Gap {
            read: *read,
            account_id: Some(worlds::ACCOUNT.into()),
            region: (!read.is_iam()).then(|| "cn-hangzhou".to_owned()),
            resource: None,
            policy: None,
            reason: "Forbidden.RAM".into(),
            message: "refused".into(),
        });
        let (code, report) = scan(&world, true, &[]);
        assert_eq!((code, &report["complete"]), (Some(3), &Value::Bool(false)), "{read}");
        for rule in for_provider(&RULES, Provider::Alibaba) {
            let entry = report["rules"].as_array().unwrap().iter().find(|one| one["rule"] == rule.id).unwrap();
            if rule.reads.contains(read) {
                assert_ne!(entry["outcome"], "passed", "{} without {read}", rule.id);
            }
        }
    }
}

/// A role whose policies were not read is no role without permissions.
#[test]
fn an_unread_policy_leaves_its_principal_uncompared() {
    let mut world = worlds::all().remove(0);
    world.inventory.accounts[0].policies[0].document = None;
    let (code, report) = scan(&world, true, &[]);
    assert_eq!(code, Some(3));
    let entry = &report["not_audited"][0];
    assert_eq!(
        (entry["what"].as_str(), entry["reason"].as_str()),
        (Some("ram:GetPolicy"), Some("NotProvided")),
        "{entry}"
    );
    assert!(!found(&report).iter().any(|line| line.contains("ram-action")), "{:?}", found(&report));
}

/// What an Allow in a resource group gives, it gives there only.
#[test]
fn an_allow_in_a_resource_group_is_partial() {
    let mut world = worlds::all().remove(0);
    let role = &mut world.inventory.accounts[0].principals[0];
    let moved = role.attachments.as_mut().unwrap().remove(1);
    role.resource_group_attachments
        .as_mut()
        .unwrap()
        .push(tagaudit::internals::alibaba::Attachment { resource_group_id: Some("rg-acfm1".into()), ..moved });
    let (_, report) = scan(&world, true, &["--controller-version", "2.14"]);
    let partial: Vec<String> = found(&report).into_iter().filter(|line| line.contains("ram-action-partial")).collect();
    assert!(
        partial[0].contains("if in a resource group: the resource is in the resource group rg-acfm1"),
        "{partial:?}"
    );
}

#[test]
fn versions_decide_what_an_empty_provider_id_comes_to() {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-handmade").unwrap();
    let mut nodes = world.nodes.clone().unwrap();
    nodes["items"][0]["spec"].as_object_mut().unwrap().remove("providerID");
    let untagged = {
        let mut inventory = world.inventory.clone();
        inventory.accounts[0].regions[0].instances[0].tags.clear();
        inventory
    };
    for (inventory, version, expected) in [
        (&world.inventory, "2.14", vec!["error ali-provider-id-missing", "error ali-svc-sync-fails"]),
        (&world.inventory, "2.4.0", vec![]),
        (&world.inventory, "2.10", vec![]),
        (&world.inventory, "2.11.2", vec!["error ali-provider-id-missing", "error ali-svc-sync-fails"]),
        (&world.inventory, "2.3", vec!["error ali-provider-id-missing"]),
        (
            &untagged,
            "2.10",
            vec!["error ali-instance-tag-missing", "error ali-provider-id-missing", "error ali-svc-sync-fails"],
        ),
    ] {
        let world = World { inventory: inventory.clone(), nodes: Some(nodes.clone()), ..worlds::all().remove(0) };
        let (_, report) = scan(&world, true, &["--controller-version", version, "--rule", "ali-*"]);
        let mut lines: Vec<String> = found(&report)
            .into_iter()
            .filter(|line| !line.starts_with("info"))
            .map(|line| line.split(':').next().unwrap().to_owned())
            .collect();
        // Several Services stop for one Node.
        lines.dedup();
        assert_eq!(lines, expected, "{version}");
    }
}

#[test]
fn what_is_of_another_cloud_is_refused() {
    let file = "fixtures/alibaba/clean-handmade.json";
    for (arguments, expected) in [
        (
            vec!["--baseline", "controlplane=rancher-controlplane"],
            "the baseline `rancher-controlplane` does not belong to Alibaba Cloud",
        ),
        (
            vec!["--controller-role", "arn:aws:iam::111122223333:role/x"],
            "the principal `arn:aws:iam::111122223333:role/x` does not belong to Alibaba Cloud",
        ),
        (vec!["--fix", "--emit", "cloudformation"], "--emit names a language of AWS, but Alibaba Cloud is audited"),
        (vec!["--format", "asff"], "Security Hub accepts only findings on AWS"),
        (vec!["--provider", "aws"], "is an inventory of Alibaba Cloud, but --provider is aws"),
    ] {
        let output = command()
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["scan", "--cluster-id", "prod", "--inventory", file])
            .args(&arguments)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(expected), "{arguments:?}: {said}");
    }
    let output = command()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--installer", "gardener"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}
