//! Rules that hold what Kubernetes says against what the cloud says.

use serde_json::{Value, json};
use tagaudit::finding::Severity;
use tagaudit::inventory::{InterfaceAddresses, Inventory};
use tagaudit::kubernetes::Evidence;
use tagaudit::role_audit::RoleAuditOptions;
use tagaudit::rules::Outcome;
use tagaudit::scan::Audit;

use super::fixtures::audited;
use super::worlds;

const CLUSTER: &str = "kops.example.com";

/// A clean cluster of kOps.
fn inventory() -> Inventory {
    worlds::all().into_iter().find(|world| world.name == "clean-kops").unwrap().inventory
}

fn scan(inventory: &Inventory, items: &[Value]) -> Audit {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let evidence = Evidence::parse("f.json", list.to_string().into_bytes()).unwrap();
    audited(inventory, CLUSTER, &evidence, &RoleAuditOptions::default())
}

/// Severities and messages of one rule, and what became of it.
fn told(audit: &Audit, rule: &str) -> (Vec<(Severity, String)>, Outcome) {
    let found = audit.findings.iter().filter(|finding| finding.rule == rule);
    let outcome = audit.rules.iter().find(|outcome| outcome.rule == rule).unwrap();
    (found.map(|finding| (finding.severity, finding.message.clone())).collect(), outcome.outcome)
}

/// Rules that find something here alone.
pub(crate) fn fired() -> Vec<&'static str> {
    let inventory = inventory();
    let volume = &inventory.accounts[0].regions[0].volumes[0];
    let audit = scan(&inventory, &[volume_of_driver(&volume.id, &["us-east-1z"])]);
    audit.findings.iter().map(|finding| finding.rule).collect()
}

fn volume_of_driver(id: &str, zones: &[&str]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "uid": "1"},
        "spec": {
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": id},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.ebs.csi.aws.com/zone", "operator": "In", "values": zones},
            ]}]}},
        },
    })
}

fn zone_label(id: &str, label: &str, zone: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pv-2", "uid": "2", "labels": {label: zone}},
        "spec": {"awsElasticBlockStore": {"volumeID": format!("aws://{zone}/{id}")}},
    })
}

#[test]
fn a_volume_is_where_its_persistent_volume_says() {
    let inventory = inventory();
    let volume = &inventory.accounts[0].regions[0].volumes[0];
    let (id, zone) = (volume.id.as_str(), volume.availability_zone.as_deref().unwrap());
    let of = |item: Value| told(&scan(&inventory, &[item]), "pv-zone-mismatch");
    for right in [
        volume_of_driver(id, &[zone]),
        volume_of_driver(id, &["us-east-1z", zone]),
        zone_label(id, "topology.kubernetes.io/zone", zone),
        zone_label(id, "failure-domain.beta.kubernetes.io/zone", &format!("us-east-1z__{zone}")),
        // A volume of another region.
        volume_of_driver("vol-elsewhere", &["eu-west-1a"]),
    ] {
        assert_eq!(of(right.clone()), (Vec::new(), Outcome::Passed), "{right}");
    }
    for wrong in [
        volume_of_driver(id, &["us-east-1z"]),
        zone_label(id, "topology.kubernetes.io/zone", "us-east-1z"),
        zone_label(id, "failure-domain.beta.kubernetes.io/zone", "us-east-1z"),
    ] {
        let (found, outcome) = of(wrong.clone());
        let [(Severity::Error, message)] = found.as_slice() else { panic!("{wrong}: {found:?}") };
        assert!(message.contains("us-east-1z, and volume `vol-") && message.ends_with(zone), "{message}");
        assert_eq!(outcome, Outcome::Failed);
    }
    // Any zone, another driver, and nothing at all.
    let mut any = volume_of_driver(id, &["us-east-1z"]);
    any["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        .as_array_mut()
        .unwrap()
        .push(json!({"matchExpressions": []}));
    assert_eq!(of(any), (Vec::new(), Outcome::Passed));
    let mut other = volume_of_driver(id, &["us-east-1z"]);
    other["spec"]["csi"]["driver"] = json!("efs.csi.aws.com");
    assert_eq!(of(other), (Vec::new(), Outcome::NotApplicable));
}

fn node(name: &str, provider_id: &str, address: &str, is_initialized: bool) -> Value {
    let taints = if is_initialized {
        json!([])
    } else {
        json!([{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}])
    };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": {"alpha.kubernetes.io/provided-node-ip": address}},
        "spec": {"providerID": provider_id, "taints": taints},
        "status": {"nodeInfo": {"kubeletVersion": "v1.31.4"}},
    })
}

#[test]
fn an_address_that_the_kubelet_is_given_is_one_of_its_instance() {
    let mut inventory = inventory();
    let instances = &mut inventory.accounts[0].regions[0].instances;
    let at = instances.iter().position(|one| one.tags.iter().any(|tag| tag.key.ends_with(CLUSTER))).unwrap();
    let instance = &mut instances[at];
    let own = instance.private_ip_address.clone().unwrap();
    instance.public_ip_address = Some("203.0.113.7".to_owned());
    instance.network_interfaces[0].addresses = Some(InterfaceAddresses {
        ipv4: vec![own.clone(), "10.0.77.1".to_owned()],
        ipv6: vec!["2001:db8::1".to_owned(), "2001:db8::2".to_owned()],
    });
    let (id, name) = (instance.id.clone(), instance.private_dns_name.clone().unwrap());
    let provider_id = format!("aws:///us-east-1a/{id}");
    let rule = "node-provided-ip-mismatch";
    let of = |provider_id: &str, address: &str, is_initialized: bool| {
        told(&scan(&inventory, &[node(&name, provider_id, address, is_initialized)]), rule)
    };
    for right in [own.as_str(), "10.0.77.1", "203.0.113.7", "2001:db8::1", "2001:0db8:0::1", "10.0.77.1,2001:db8::1"] {
        assert_eq!(of(&provider_id, right, true), (Vec::new(), Outcome::Passed), "{right}");
    }
    for wrong in ["172.17.0.1", "2001:db8::2", "10.0.77.1,2001:db8::2"] {
        let (found, _) = of(&provider_id, wrong, true);
        assert_eq!(found.iter().map(|(severity, _)| *severity).collect::<Vec<_>>(), [Severity::Warning], "{wrong}");
    }
    // As long as it has no providerID its name says which instance it is, and the taint stays.
    let (found, _) = of("", "172.17.0.1", false);
    let message = format!("Node `{name}` is told 172.17.0.1, which is no address of its instance `{id}`");
    assert_eq!(found, [(Severity::Error, message)]);
    assert_eq!(of("", &own, false).0, []);
    assert_eq!(of("", "what-is-none", false).0, []);
    // What the cloud configuration leaves out the controller does not know.
    let with = |families: &str| {
        let data = format!("[Global]\nKubernetesClusterID={CLUSTER}\n{families}");
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"cloud.conf": data}});
        told(&scan(&inventory, &[node(&name, &provider_id, "2001:db8::1", true), map]), rule).0
    };
    assert_eq!(with("NodeIPFamilies=ipv4\nNodeIPFamilies=ipv6\n"), []);
    let message =
        format!("Node `{name}` is told 2001:db8::1, and the cloud configuration has no `NodeIPFamilies=ipv6`");
    assert_eq!(with(""), [(Severity::Warning, message)]);
    // An inventory of before addresses were read says nothing.
    inventory.accounts[0].regions[0].instances[at].network_interfaces[0].addresses = None;
    let (found, outcome) = told(&scan(&inventory, &[node(&name, &provider_id, "172.17.0.1", true)]), rule);
    assert_eq!((found, outcome), (Vec::new(), Outcome::NotApplicable));
}

#[test]
fn the_cloud_configuration_names_the_cluster_of_the_audit() {
    let inventory = inventory();
    let with = |data: &str| {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"cloud.conf": data}});
        told(&scan(&inventory, &[map]), "ccm-cloud-config-invalid").0
    };
    assert_eq!(with(&format!("[Global]\nKubernetesClusterID={CLUSTER}\n")), []);
    let found = with("[Global]\nKubernetesClusterTag = \"other\"\n");
    let message = format!("`KubernetesClusterTag` is `other`, and the cluster of this audit is `{CLUSTER}`");
    assert_eq!(found, [(Severity::Error, message)]);
}
