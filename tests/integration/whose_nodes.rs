//! Whose the Nodes are, and who else lives in the VPC: what is `safe`, and what a fix refuses before it plans anything.

use std::path::Path;

use serde_json::{Value, json};
use tagaudit::internals::inventory::{Instance, Inventory, NetworkInterface, Volume};

use super::binary::command;
use super::fix_worlds::{CLUSTER, instance, key, region, untagged};
use super::worlds::tags;

struct Ended {
    code: Option<i32>,
    stderr: String,
    report: Value,
}

/// Nodes of the instances of an inventory that a filter takes, each with providerID, address and name.
fn nodes_of(inventory: &Inventory, is_meant: impl Fn(&Instance) -> bool) -> Value {
    let region = &inventory.accounts[0].regions[0];
    let node = |one: &Instance| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": one.private_dns_name, "labels": {"node-role.kubernetes.io/worker": "true"}},
            "spec": {"providerID": format!("aws:///{}/{}", one.availability_zone.as_deref().unwrap_or_default(), one.id)},
            "status": {
                "addresses": [{"type": "InternalIP", "address": one.private_ip_address}],
                "nodeInfo": {"kubeletVersion": "v1.31.4"},
            },
        })
    };
    let items: Vec<Value> = region.instances.iter().filter(|one| is_meant(one)).map(node).collect();
    json!({"kind": "List", "apiVersion": "v1", "items": items})
}

fn scan(inventory: &Inventory, nodes: Option<&Value>, more: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut inventory = inventory.clone();
    inventory.canonicalise();
    std::fs::write(path("account.json"), serde_json::to_vec(&inventory).unwrap()).unwrap();
    let mut run = command();
    run.current_dir(folder.path()).args(["scan", "--cluster-id", CLUSTER, "--inventory", "account.json"]);
    run.args(["--format", "json", "--fail-on", "never"]).args(more);
    if let Some(nodes) = nodes {
        std::fs::write(path("nodes.json"), nodes.to_string()).unwrap();
        run.args(["--nodes", "nodes.json"]);
    }
    let output = run.output().unwrap();
    assert!(!Path::new("plan.json").exists());
    Ended {
        code: output.status.code(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        report: serde_json::from_slice(&output.stdout).unwrap_or_default(),
    }
}

/// Rule and caveats of every finding that proposes a write, by its applicability.
fn fixes(ended: &Ended, applicability: &str) -> Vec<(String, Vec<String>)> {
    let findings = ended.report["findings"].as_array().unwrap().iter();
    let meant = findings.filter(|one| one["fix"]["applicability"] == applicability);
    let of = |one: &Value| {
        let caveats = one["caveats"].as_array().map(Vec::as_slice).unwrap_or_default();
        let kinds = caveats.iter().map(|caveat| caveat["kind"].as_str().unwrap().to_owned()).collect();
        (one["rule"].as_str().unwrap().to_owned(), kinds)
    };
    meant.map(of).collect()
}

fn fix_of(ended: &Ended, rule: &str) -> (String, Vec<String>) {
    for applicability in ["safe", "confirm", "choice", "none"] {
        if let Some((_, caveats)) = fixes(ended, applicability).into_iter().find(|(found, _)| found == rule) {
            return (applicability.to_owned(), caveats);
        }
    }
    panic!("no {rule} in {}", ended.report["findings"]);
}

const MISSING: &str = "instance-cluster-tag-missing";

/// One worker of the cluster without its tag, and its Nodes: what is safe.
fn one_untagged() -> (Inventory, Value) {
    let inventory = untagged(1);
    let nodes = nodes_of(&inventory, |_| true);
    (inventory, nodes)
}

#[test]
fn a_node_that_agrees_with_its_instance_makes_the_tag_safe() {
    let (inventory, nodes) = one_untagged();
    assert_eq!(fix_of(&scan(&inventory, Some(&nodes), &[]), MISSING), ("safe".to_owned(), vec![]));
}

/// The Nodes of `staging`, and the id of `prod`.
#[test]
fn nodes_of_another_cluster_are_refused_before_anything_is_planned() {
    let (mut inventory, _) = one_untagged();
    let model = instance(&mut inventory, "i-10000").clone();
    for number in 0..3 {
        let mut other = model.clone();
        other.id = format!("i-2000{number}");
        other.vpc_id = Some("vpc-staging".to_owned());
        other.private_ip_address = Some(format!("10.9.0.{number}"));
        other.private_dns_name = Some(format!("ip-10-9-0-{number}.ec2.internal"));
        region(&mut inventory).instances.push(other);
    }
    let nodes = nodes_of(&inventory, |one| one.id.starts_with("i-2000"));
    let told = scan(&inventory, Some(&nodes), &[]);
    assert_eq!(told.code, Some(3), "{}", told.stderr);
    let gap = told.report["not_audited"].to_string();
    assert!(gap.contains("the cluster tag is on ") && gap.contains("ip-10-9-0-0.ec2.internal"), "{gap}");
    assert_eq!(fixes(&told, "safe"), []);
    let refused = scan(&inventory, Some(&nodes), &["--fix", "--plan-out", "plan.json", "--allow", MISSING]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("the cluster id and the Nodes do not belong to one cluster"), "{}", refused.stderr);
    assert!(refused.stderr.contains("ip-10-9-0-0.ec2.internal"), "{}", refused.stderr);
    // A terminated instance of the cluster is no Node that is there.
    let mut with_dead = inventory.clone();
    let dead = instance(&mut with_dead, "i-0wk0");
    dead.state = tagaudit::internals::inventory::InstanceState::Terminated;
    let named = nodes_of(&with_dead, |one| one.id.starts_with("i-2000") || one.id == "i-0wk0");
    assert_eq!(scan(&with_dead, Some(&named), &["--fix", "--plan-out", "plan.json"]).code, Some(2));
    // Nodes that are no instances of EC2 contradict nothing, and prove nothing.
    let mut hybrid = nodes.clone();
    for item in hybrid["items"].as_array_mut().unwrap() {
        item["spec"]["providerID"] = json!("eks-hybrid:///us-east-1/prod/mi-0a");
    }
    let told = scan(&inventory, Some(&hybrid), &[]);
    assert!(!told.report["not_audited"].to_string().contains("the cluster tag is on"), "{}", told.report);
    assert_eq!(fixes(&told, "safe"), []);
}

#[test]
fn without_a_single_tag_the_scan_reports_and_nothing_is_safe() {
    let (mut inventory, nodes) = one_untagged();
    for one in &mut region(&mut inventory).instances {
        one.tags.retain(|tag| tag.key != key());
    }
    let told = scan(&inventory, Some(&nodes), &[]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_eq!(fix_of(&told, MISSING).0, "confirm");
    assert_eq!(fixes(&told, "safe"), []);
}

/// Whoever may create a Node chooses a providerID.
#[test]
fn a_provider_id_alone_makes_a_finding_and_nothing_safe() {
    let (inventory, nodes) = one_untagged();
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut nodes = nodes.clone();
        let items = nodes["items"].as_array_mut().unwrap();
        let ours = |item: &&mut Value| item["spec"]["providerID"].as_str().unwrap().ends_with("i-10000");
        edit(items.iter_mut().find(ours).unwrap());
        fix_of(&scan(&inventory, Some(&nodes), &[]), MISSING)
    };
    let rename = |item: &mut Value| item["metadata"]["name"] = json!("worker-x");
    let address = |item: &mut Value, address: &str| item["status"]["addresses"][0]["address"] = json!(address);
    assert_eq!(edited(&rename).0, "safe", "the address agrees");
    assert_eq!(edited(&|item| address(item, "10.0.1.77")).0, "safe", "the private DNS name agrees");
    let alone = ("confirm".to_owned(), vec!["named-by-id-alone".to_owned()]);
    assert_eq!(
        edited(&|item| {
            rename(item);
            address(item, "10.0.1.77");
        }),
        alone
    );
    assert_eq!(
        edited(&|item| {
            rename(item);
            item["status"]["addresses"] = json!([]);
        }),
        alone
    );
}

/// A machine of another provider may be called as an instance is: its name proves nothing.
#[test]
fn nodes_of_other_providers_prove_nothing_by_their_names() {
    let (inventory, nodes) = one_untagged();
    for provider_id in ["eks-hybrid:///us-east-1/prod/x", "azure:///subscriptions/x", "aws:///us-east-1a/a/fargate-x"] {
        let of = |is_meant: &dyn Fn(&str) -> bool| {
            let mut nodes = nodes.clone();
            for item in nodes["items"].as_array_mut().unwrap() {
                if is_meant(item["spec"]["providerID"].as_str().unwrap()) {
                    item["spec"]["providerID"] = json!(provider_id);
                }
            }
            fixes(&scan(&inventory, Some(&nodes), &[]), "safe")
        };
        assert_eq!(of(&|id| id.ends_with("i-10000")), [], "{provider_id}: that Node");
        assert_eq!(of(&|_| true), [], "{provider_id}: all Nodes");
    }
}

#[test]
fn nothing_is_safe_in_a_vpc_without_a_certain_node() {
    let (mut inventory, _) = one_untagged();
    let stranger = instance(&mut inventory, "i-10000");
    stranger.vpc_id = Some("vpc-elsewhere".to_owned());
    let nodes = nodes_of(&inventory, |_| true);
    let told = scan(&inventory, Some(&nodes), &[]);
    assert_eq!(fix_of(&told, MISSING), ("confirm".to_owned(), vec!["no-certain-member".to_owned()]));
}

fn interface(inventory: &Inventory, id: &str, description: &str, marks: &[(&str, &str)]) -> NetworkInterface {
    let model = &inventory.accounts[0].regions[0].network_interfaces[0];
    NetworkInterface {
        id: id.to_owned(),
        description: description.to_owned(),
        instance_id: None,
        security_groups: Vec::new(),
        tags: tags(marks),
        ..model.clone()
    }
}

/// Each mark of Kubernetes on what is no member's takes `safe` away; the same on members and on detached volumes does not.
#[test]
fn a_mark_of_kubernetes_on_what_is_not_ours_is_a_neighbour() {
    let (inventory, nodes) = one_untagged();
    let applicability = |edit: &dyn Fn(&mut Inventory)| {
        let mut inventory = inventory.clone();
        edit(&mut inventory);
        fix_of(&scan(&inventory, Some(&nodes), &[]), MISSING).0
    };
    let stranger = |inventory: &mut Inventory, marks: &[(&str, &str)]| {
        let mut other = instance(inventory, "i-10000").clone();
        other.id = "i-9".to_owned();
        other.private_ip_address = Some("10.1.9.9".to_owned());
        other.private_dns_name = Some("ip-10-1-9-9.ec2.internal".to_owned());
        other.network_interfaces.clear();
        other.tags = tags(marks);
        region(inventory).instances.push(other);
    };
    let add = |inventory: &mut Inventory, description: &str, marks: &[(&str, &str)]| {
        let one = interface(inventory, "eni-9", description, marks);
        region(inventory).network_interfaces.push(one);
    };
    let volume = |inventory: &mut Inventory, attached_to: &[&str]| {
        let model = inventory.accounts[0].regions[0].volumes[0].clone();
        region(inventory).volumes.push(Volume {
            id: "vol-9".to_owned(),
            attached_to: attached_to.iter().map(|&id| id.to_owned()).collect(),
            tags: tags(&[("ebs.csi.aws.com/cluster", "true")]),
            ..model
        });
    };
    type Edit<'a> = Box<dyn Fn(&mut Inventory) + 'a>;
    let neighbours: Vec<(&str, Edit<'_>)> = vec![
        ("Cilium, named", Box::new(|all| add(all, "", &[("io.cilium/cluster-name", "staging")]))),
        ("Cilium, by description", Box::new(|all| add(all, "Cilium-CNI (i-9)", &[]))),
        (
            "VPC CNI without a name",
            Box::new(|all| add(all, "aws-K8S-i-9", &[("node.k8s.amazonaws.com/instance_id", "i-9")])),
        ),
        ("VPC CNI, by description", Box::new(|all| add(all, "aws-K8S-i-9", &[]))),
        ("Karpenter", Box::new(|all| stranger(all, &[("karpenter.sh/nodepool", "default")]))),
        ("cluster autoscaler", Box::new(|all| stranger(all, &[("k8s.io/cluster-autoscaler/enabled", "true")]))),
        ("EKS", Box::new(|all| stranger(all, &[("eks:nodegroup-name", "a")]))),
        (
            "a volume of the EBS CSI driver on a stranger",
            Box::new(|all| {
                stranger(all, &[]);
                volume(all, &["i-9"]);
            }),
        ),
    ];
    for (name, edit) in neighbours {
        assert_eq!(applicability(&edit), "confirm", "{name}");
    }
    let none: Vec<(&str, Edit<'_>)> = vec![
        ("a machine of others", Box::new(|all| stranger(all, &[("team", "payments")]))),
        ("a detached volume of the driver", Box::new(|all| volume(all, &[]))),
        ("a volume of the driver on a node", Box::new(|all| volume(all, &["i-10000"]))),
        (
            "VPC CNI of a node",
            Box::new(|all| add(all, "aws-K8S-i-10000", &[("node.k8s.amazonaws.com/instance_id", "i-10000")])),
        ),
        ("Cilium of a node", Box::new(|all| add(all, "Cilium-CNI (i-10000)", &[("io.cilium/cilium-managed", "true")]))),
        ("Cilium with our name", Box::new(|all| add(all, "", &[("cluster.k8s.amazonaws.com/name", CLUSTER)]))),
    ];
    for (name, edit) in none {
        assert_eq!(applicability(&edit), "safe", "{name}");
    }
}

/// Gardener's own keys are the cluster's tag on Alibaba Cloud: here on one instance of a shoot, and the only Node is the other one.
#[test]
fn nodes_of_another_shoot_are_refused_on_alibaba_cloud() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/alibaba/clean-gardener.json");
    let mut inventory: Value = serde_json::from_slice(&std::fs::read(fixture).unwrap()).unwrap();
    let instances = inventory["accounts"][0]["regions"][0]["instances"].as_array_mut().unwrap();
    let other = instances.iter_mut().find(|one| one["id"] == "i-bp1g2").unwrap();
    other["tags"].as_array_mut().unwrap().retain(|tag| tag["key"] == "Name");
    let node = |id: &str| json!({"metadata": {"name": id}, "spec": {"providerID": format!("cn-hangzhou.{id}")}});
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("account.json"), inventory.to_string()).unwrap();
    let scan = |nodes: &[&str], more: &[&str]| {
        let items: Vec<Value> = nodes.iter().map(|id| node(id)).collect();
        let list = json!({"kind": "List", "apiVersion": "v1", "items": items});
        std::fs::write(folder.path().join("nodes.json"), list.to_string()).unwrap();
        let mut run = command();
        run.current_dir(folder.path()).args(["scan", "--cluster-id", "shoot--dev--one", "--installer", "gardener"]);
        run.args(["--inventory", "account.json", "--nodes", "nodes.json", "--format", "json", "--fail-on", "never"]);
        let output = run.args(more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = scan(&["i-bp1g2"], &[]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("the cluster tag is on i-bp1g1, and the Nodes (i-bp1g2) are other instances"), "{told}");
    let (code, told) = scan(&["i-bp1g2"], &["--fix", "--plan-out", "plan.json"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("the cluster id and the Nodes do not belong to one cluster"), "{told}");
    assert!(!folder.path().join("plan.json").exists());
    let (code, told) = scan(&["i-bp1g1", "i-bp1g2"], &[]);
    assert!(code == Some(0) && !told.contains("the cluster tag is on"), "{told}");
}

/// A role tag alone is all that a neighbour's AWS Load Balancer Controller needs. Where it is no finding that some subnets are tagged and some
/// are not, the others do not wait.
#[test]
fn a_subnet_with_a_role_tag_and_no_node_of_ours_waits_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let output = command()
        .args(["scan", "--cluster-id", "shop-eks", "--format", "json", "--inventory"])
        .arg(folder.join("clean-eks.json"))
        .output()
        .unwrap();
    let told = Ended { code: None, stderr: String::new(), report: serde_json::from_slice(&output.stdout).unwrap() };
    let of = |applicability: &str| -> Vec<Vec<String>> {
        let found = fixes(&told, applicability).into_iter().filter(|(rule, _)| rule == "subnet-cluster-tag-missing");
        found.map(|(_, caveats)| caveats).collect()
    };
    assert_eq!(of("safe"), [Vec::<String>::new()]);
    assert_eq!(of("confirm"), [["role-tag-alone"]]);
}
