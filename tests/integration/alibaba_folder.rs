//! Folders of outputs of the `aliyun` command line: what is in them counts, and what is not in them is not audited.

use std::path::Path;

use serde_json::{Value, json};
use tagaudit::internals::alibaba::Inventory;

use super::alibaba_mock;
use super::alibaba_worlds::{self as worlds, World};
use super::binary::command;

type Files = Vec<(String, Value)>;

fn write(folder: &Path, files: &Files) {
    for (name, value) in files {
        std::fs::write(folder.join(format!("{name}.json")), format!("{value:#}\n")).unwrap();
    }
}

fn world(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).unwrap()
}

/// The scan of a folder, as JSON, or what was said instead; with its exit code.
fn scan(world: &World, folder: &Path, more: &[&str]) -> (Option<i32>, Result<Value, String>) {
    let mut command = command();
    command.args(["scan", "--cluster-id", world.cluster_id, "--format", "json", "--inventory"]).arg(folder);
    let nodes = tempfile::NamedTempFile::new().unwrap();
    if let Some(given) = &world.nodes {
        std::fs::write(nodes.path(), given.to_string()).unwrap();
        command.arg("--nodes").arg(nodes.path());
    }
    let output = command.args(world.arguments).args(more).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).map_err(|_| said))
}

fn scan_files(world: &World, change: impl FnOnce(&mut Files)) -> (Option<i32>, Result<Value, String>) {
    let mut files = alibaba_mock::files(&world.inventory);
    change(&mut files);
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &files);
    scan(world, folder.path(), &[])
}

fn not_audited(report: &Value) -> Vec<String> {
    let entries = report["not_audited"].as_array().unwrap().iter();
    entries.map(|one| format!("{}: {}", one["what"].as_str().unwrap(), one["reason"].as_str().unwrap())).collect()
}

fn entry<'f>(files: &'f mut Files, name: &str) -> &'f mut Value {
    &mut files.iter_mut().find(|(found, _)| found == name).unwrap_or_else(|| panic!("{name}")).1
}

/// The report without what tells where the evidence is from.
fn findings(report: &Value) -> Value {
    json!([report["findings"], report["rules"], report["roles"]])
}

#[test]
fn a_folder_says_what_the_recording_of_the_account_says() {
    for world in worlds::all() {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("inventory.json");
        std::fs::write(&recording, tagaudit::internals::inventory::to_json(&world.inventory).unwrap()).unwrap();
        let (of_recording, recorded) = scan(&world, &recording, &[]);
        let (of_folder, read) = scan_files(&world, |_| ());
        let (recorded, read) = (recorded.unwrap(), read.unwrap());
        assert_eq!(not_audited(&read), not_audited(&recorded), "{}", world.name);
        assert_eq!(findings(&read), findings(&recorded), "{}", world.name);
        assert_eq!(of_folder, of_recording, "{}", world.name);
    }
}

#[test]
fn a_file_that_is_missing_empty_or_a_refusal_is_a_gap_and_never_a_pass() {
    let world = world("clean-handmade");
    let refusal = json!({"Code": "NoPermission", "Message": "no", "RequestId": "R", "HostId": "h"});
    let names: Vec<String> = alibaba_mock::files(&world.inventory).into_iter().map(|(name, _)| name).collect();
    for name in names.iter().filter(|name| *name != "sts-GetCallerIdentity") {
        let (code, report) = scan_files(&world, |files| files.retain(|(found, _)| found != name));
        let report = report.unwrap();
        // Nothing of a cluster with nodes depends on these.
        let is_unneeded = ["alb-ListLoadBalancers", "vpc-DescribeEipAddresses"].contains(&name.as_str());
        if is_unneeded || name.ends_with("-DescribeZones") || name == "slb-DescribeAvailableResource" {
            assert_eq!((code, &report["complete"]), (Some(0), &json!(true)), "without {name}");
            continue;
        }
        assert_eq!((code, &report["complete"]), (Some(3), &json!(false)), "without {name}");

        let (code, report) = scan_files(&world, |files| *entry(files, name) = refusal.clone());
        let gaps = not_audited(&report.unwrap());
        assert_eq!(code, Some(3), "{name} refused");
        assert!(gaps.iter().any(|gap| gap.ends_with(": NoPermission")), "{name}: {gaps:?}");

        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &alibaba_mock::files(&world.inventory));
        std::fs::write(folder.path().join(format!("{name}.json")), "").unwrap();
        assert_eq!(scan(&world, folder.path(), &[]).0, Some(3), "{name} empty");

        let (code, said) = scan_files(&world, |files| *entry(files, name) = json!({}));
        assert_eq!(code, Some(2), "{name}: an object that is no answer");
        assert!(said.unwrap_err().contains("is not the output of its `aliyun` command"));
    }
    let (code, said) = scan_files(&world, |files| *entry(files, "sts-GetCallerIdentity") = refusal.clone());
    assert_eq!(code, Some(2));
    assert!(said.unwrap_err().contains("identifies the account"));
}

/// With Services, the rules of the groups that their load balancers joined are needed.
#[test]
fn rules_of_security_groups_are_needed_with_services() {
    let world = world("clean-network");
    let file = "ecs-DescribeSecurityGroupAttribute-sg-bp1edge";
    let scan_with_services = |change: &dyn Fn(&mut Files)| {
        let mut files = alibaba_mock::files(&world.inventory);
        change(&mut files);
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &files);
        let services = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(services.path(), world.services.as_ref().unwrap().to_string()).unwrap();
        let (code, report) = scan(&world, folder.path(), &["--kubernetes", services.path().to_str().unwrap()]);
        (code, not_audited(&report.unwrap()))
    };
    assert_eq!(scan_with_services(&|_| ()), (Some(0), Vec::new()));
    let without = scan_with_services(&|files| files.retain(|(name, _)| name != file));
    assert_eq!(without, (Some(3), vec!["ecs:DescribeSecurityGroupAttribute: NotProvided".to_owned()]));
    let cut = scan_with_services(&|files| entry(files, file)["NextToken"] = json!("more"));
    assert_eq!(cut, (Some(3), vec!["ecs:DescribeSecurityGroupAttribute: Pagination".to_owned()]));
}

#[test]
fn what_is_cut_is_not_the_whole() {
    let world = world("clean-handmade");
    let cuts: [(&str, fn(&mut Value)); 5] = [
        ("ecs-DescribeInstances", |answer| answer["NextToken"] = json!("more")),
        ("vpc-DescribeVpcs", |answer| answer["TotalCount"] = json!(9)),
        ("ram-ListPoliciesForRole-k8s-master", |answer| answer["IsTruncated"] = json!(true)),
        ("resourcemanager-ListPolicyAttachments-k8s-master", |answer| answer["TotalCount"] = json!(20)),
        ("ecs-DescribeInstanceRamRole", |answer| answer["TotalCount"] = json!(99)),
    ];
    for (name, cut) in cuts {
        let (code, report) = scan_files(&world, |files| cut(entry(files, name)));
        let gaps = not_audited(&report.unwrap());
        assert!(code == Some(3) && gaps.iter().any(|gap| gap.ends_with(": Pagination")), "{name}: {gaps:?}");
    }
}

#[test]
fn pages_follow_one_another_in_a_file_and_a_mark_of_the_editor_is_nothing() {
    let world = world("clean-handmade");
    let files = alibaba_mock::files(&world.inventory);
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &files);
    let all = &files.iter().find(|(name, _)| name == "ecs-DescribeInstances").unwrap().1;
    let instances = all["Instances"]["Instance"].as_array().unwrap();
    let mut text = String::from("\u{feff}");
    for (number, one) in instances.iter().enumerate() {
        let token = if number + 1 == instances.len() { "" } else { "more" };
        text +=
            &json!({"Instances": {"Instance": [one]}, "NextToken": token, "TotalCount": instances.len()}).to_string();
        text += "\r\n";
    }
    std::fs::write(folder.path().join("ecs-DescribeInstances.json"), text).unwrap();
    let (code, report) = scan(&world, folder.path(), &[]);
    assert_eq!((code, not_audited(&report.unwrap())), (Some(0), Vec::new()));
}

#[test]
fn an_instance_of_which_the_roles_say_nothing_is_not_one_without_a_role() {
    let world = world("clean-handmade");
    let (code, report) = scan_files(&world, |files| {
        let set = &mut entry(files, "ecs-DescribeInstanceRamRole")["InstanceRamRoleSets"]["InstanceRamRoleSet"];
        set.as_array_mut().unwrap().remove(0);
        entry(files, "ecs-DescribeInstanceRamRole")["TotalCount"] = json!(0);
    });
    let report = report.unwrap();
    assert_eq!((code, not_audited(&report)), (Some(3), vec!["ecs:DescribeInstanceRamRole: NotProvided".to_owned()]));
    assert!(report["not_audited"][0]["message"].as_str().unwrap().contains("1 instance, such as `i-"));
}

#[test]
fn no_instance_where_nodes_name_some_is_nothing_seen() {
    let world = world("clean-handmade");
    let (code, report) = scan_files(&world, |files| {
        *entry(files, "ecs-DescribeInstances") = json!({"Instances": {"Instance": []}, "TotalCount": 0});
    });
    let report = report.unwrap();
    assert_eq!((code, report["findings"].as_array().unwrap().len()), (Some(3), 0));
    assert!(not_audited(&report).contains(&"ecs:DescribeInstances: NothingSeen".to_owned()));
}

#[test]
fn answers_that_contradict_one_another_or_the_operator_are_refused() {
    let world = world("clean-handmade");
    let other_region = |files: &mut Files, index: usize| {
        entry(files, "ecs-DescribeInstances")["Instances"]["Instance"][index]["RegionId"] = json!("cn-shanghai");
    };
    for index in [0, 1] {
        let (code, said) = scan_files(&world, |files| other_region(files, index));
        assert_eq!(code, Some(2));
        assert!(said.unwrap_err().contains("cn-hangzhou and cn-shanghai, and one folder is one region"));
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &alibaba_mock::files(&world.inventory));
    assert_eq!(scan(&world, folder.path(), &["--region", "cn-shanghai"]).0, Some(2));
    assert_eq!(scan(&world, folder.path(), &["--provider", "aws"]).0, Some(2));

    let (code, said) = scan_files(&world, |files| {
        let list = &mut entry(files, "ecs-DescribeInstances")["Instances"]["Instance"];
        let mut twin = list[0].clone();
        twin["InstanceNetworkType"] = json!("classic");
        list.as_array_mut().unwrap().push(twin);
        entry(files, "ecs-DescribeInstances")["TotalCount"] = Value::Null;
    });
    assert_eq!(code, Some(2));
    assert!(said.unwrap_err().contains("occurs twice with different content"));

    let (code, said) = scan_files(&world, |files| entry(files, "sts-GetCallerIdentity")["AccountId"] = json!("<b>x"));
    assert_eq!(code, Some(2));
    assert!(said.unwrap_err().contains("is not an account id"));
}

/// The order of a list changes nothing.
#[test]
fn the_order_of_the_answers_changes_no_byte() {
    let world = world("broken");
    let forwards = scan_files(&world, |_| ()).1.unwrap();
    let backwards = scan_files(&world, |files| {
        for (_, value) in files.iter_mut() {
            reverse(value);
        }
    });
    assert_eq!(backwards.1.unwrap(), forwards);
}

fn reverse(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.reverse();
            items.iter_mut().for_each(reverse);
        }
        Value::Object(fields) => fields.values_mut().for_each(reverse),
        _ => {}
    }
}

#[test]
fn a_recording_that_contradicts_itself_is_refused_with_its_place() {
    let mut inventory: Inventory = world("clean-handmade").inventory;
    let other = tagaudit::internals::alibaba::Policy {
        document: Some("{}".to_owned()),
        ..inventory.accounts[0].policies[0].clone()
    };
    inventory.accounts[0].policies.push(other);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("inventory.json");
    std::fs::write(&file, tagaudit::internals::inventory::to_json(&inventory).unwrap()).unwrap();
    let (code, said) = scan(&world("clean-handmade"), &file, &[]);
    let said = said.unwrap_err();
    assert_eq!(code, Some(2));
    assert!(said.contains("occurs twice with different content (/accounts/0/policies/"), "{said}");
}

/// So the command line merges pages: nothing but the list, and `null` where it is empty.
#[test]
fn merged_pages_are_read_and_an_empty_list_is_empty() {
    let world = world("clean-handmade");
    let (code, report) = scan_files(&world, |files| {
        for name in ["ecs-DescribeInstances", "ecs-DescribeDisks", "vpc-DescribeVpcs", "vpc-DescribeVSwitches"] {
            entry(files, name).as_object_mut().unwrap().retain(|_, value| value.is_object());
        }
    });
    assert_eq!((code, not_audited(&report.unwrap())), (Some(0), Vec::new()));
    let (code, report) =
        scan_files(&world, |files| *entry(files, "ecs-DescribeDisks") = json!({"Disks": {"Disk": null}}));
    assert_eq!((code, not_audited(&report.unwrap())), (Some(3), vec!["ecs:DescribeDisks: NothingSeen".to_owned()]));
}
