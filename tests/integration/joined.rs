//! Rules that hold what Kubernetes says against what the cloud says.

use serde_json::{Value, json};
use tagaudit::internals::audit::Audit;
use tagaudit::internals::finding::Severity;
use tagaudit::internals::inventory::{InterfaceAddresses, Inventory};
use tagaudit::internals::kubernetes::Evidence;
use tagaudit::internals::role_audit::RoleAuditOptions;
use tagaudit::internals::rules::Outcome;

use super::binary::command;
use super::fixtures::audited;
use super::worlds;

const CLUSTER: &str = "kops.example.com";

/// A clean cluster of kOps.
fn inventory() -> Inventory {
    worlds::all().into_iter().find(|world| world.name == "clean-kops").unwrap().inventory
}

fn scan(inventory: &Inventory, items: &[Value]) -> Audit {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let evidence = match items {
        [] => Evidence::default(),
        _ => Evidence::parse("f.json", list.to_string().into_bytes()).unwrap(),
    };
    audited(inventory, CLUSTER, &evidence, &RoleAuditOptions::default())
}

/// Severities and messages of one rule, and what became of it.
fn told(audit: &Audit, rule: &str) -> (Vec<(Severity, String)>, Outcome) {
    let found = audit.findings.iter().filter(|finding| finding.rule == rule);
    let outcome = audit.rules.iter().find(|outcome| outcome.rule == rule).unwrap();
    (found.map(|finding| (finding.severity, finding.message.clone())).collect(), outcome.outcome)
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
        assert!(message.contains("us-east-1z, but volume `vol-") && message.ends_with(zone), "{message}");
        assert_eq!(outcome, Outcome::Failed);
    }
    // All expressions of a term have to hold, and each label.
    let mut both = volume_of_driver(id, &[zone]);
    let expressions = &mut both["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"];
    expressions
        .as_array_mut()
        .unwrap()
        .push(json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-1z"]}));
    assert!(of(both).0[0].1.contains("names two zones at once"));
    let mut labels = zone_label(id, "topology.kubernetes.io/zone", zone);
    labels["metadata"]["labels"]["failure-domain.beta.kubernetes.io/zone"] = json!("us-east-1z");
    assert_eq!(of(labels).0.len(), 1);
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
    let message = format!("Node `{name}` is given 172.17.0.1, which is not an address of its instance `{id}`");
    assert_eq!(found, [(Severity::Error, message)]);
    assert_eq!(of("", &own, false).0, []);
    for (text, shown) in [("what-is-none", "what-is-none"), ("", ""), (&format!("{own},"), "")] {
        let message = format!("Node `{name}` is given `{shown}`, which is not a valid address");
        assert_eq!(of("", text, false).0, [(Severity::Error, message)]);
    }
    // What the cloud configuration leaves out the controller does not know.
    let with = |families: &str| {
        let data = format!("[Global]\nKubernetesClusterID={CLUSTER}\n{families}");
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"cloud.conf": data}});
        told(&scan(&inventory, &[node(&name, &provider_id, "2001:db8::1", true), map]), rule).0
    };
    assert_eq!(with("NodeIPFamilies=ipv4\nNodeIPFamilies=ipv6\n"), []);
    let message =
        format!("Node `{name}` is given 2001:db8::1, but the cloud configuration has no `NodeIPFamilies=ipv6`");
    assert_eq!(with(""), [(Severity::Warning, message)]);
    // Configurations that differ say nothing.
    let map = |name: &str, families: &str| {
        let data = format!("[Global]\nKubernetesClusterID={CLUSTER}\n{families}");
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"cloud.conf": data}})
    };
    let objects = [node(&name, &provider_id, "2001:db8::1", true), map("a", ""), map("b", "NodeIPFamilies=ipv6\n")];
    assert_eq!(told(&scan(&inventory, &objects), rule).0, []);
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
    let message = format!("`KubernetesClusterTag` is `other`, but the audited cluster is `{CLUSTER}`");
    assert_eq!(found, [(Severity::Error, message)]);
}

fn service(annotation: &str, value: &str) -> Value {
    let annotations = json!({format!("service.beta.kubernetes.io/{annotation}"): value});
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]},
    })
}

#[test]
fn subnets_that_a_service_names_are_those_of_the_cluster() {
    let mut inventory = inventory();
    let region = &mut inventory.accounts[0].regions[0];
    let name = region.name.clone();
    let vpc = region
        .instances
        .iter()
        .find(|one| one.tags.iter().any(|tag| tag.key.ends_with(CLUSTER)))
        .unwrap()
        .vpc_id
        .clone()
        .unwrap();
    let mut by_zone: Vec<(String, String)> = Vec::new();
    for subnet in region.subnets.iter().filter(|subnet| subnet.vpc_id == vpc) {
        by_zone.push((subnet.availability_zone.clone(), subnet.id.clone()));
    }
    by_zone.sort();
    let (zone, first) = by_zone[0].clone();
    let same_zone = by_zone.iter().skip(1).find(|(other, _)| *other == zone).unwrap().1.clone();
    let elsewhere = by_zone.iter().find(|(other, _)| *other != zone).unwrap().1.clone();
    let named = |id: &str, name: &str| (id.to_owned(), name.to_owned());
    for (id, called) in [named(&first, "one"), named(&elsewhere, "two"), named(&same_zone, "two")] {
        let subnet = region.subnets.iter_mut().find(|subnet| subnet.id == id).unwrap();
        subnet.tags.retain(|tag| tag.key != "Name");
        subnet.tags.push(tagaudit::internals::inventory::Tag { key: "Name".to_owned(), value: called });
    }
    let mut foreign = region.subnets[0].clone();
    (foreign.id, foreign.vpc_id) = ("subnet-0foreign".to_owned(), "vpc-0other".to_owned());
    foreign.availability_zone = "nowhere".to_owned();
    region.subnets.push(foreign);
    let of = |list: &str| {
        let (found, _) =
            told(&scan(&inventory, &[service("aws-load-balancer-subnets", list)]), "svc-subnets-unresolved");
        found
            .into_iter()
            .map(|(severity, message)| {
                assert_eq!(severity, Severity::Error);
                message.trim_start_matches("Service shop/web names ").to_owned()
            })
            .collect::<Vec<_>>()
    };
    const RIGHT: Vec<String> = Vec::new();
    assert_eq!(of(&first), RIGHT);
    assert_eq!(of(&format!(" {first} , {elsewhere},")), RIGHT);
    assert_eq!(of(&format!("one,{elsewhere}")), RIGHT);
    assert_eq!(of(&format!("{first},{same_zone}")), [format!("two subnets in {zone}")]);
    assert_eq!(of(&format!("{first},{first}")), [format!("the subnet `{first}` twice")]);
    assert_eq!(of(&format!("{first},one")), [format!("the subnet `{first}` twice")]);
    assert_eq!(of("subnet-0gone"), [format!("the subnet `subnet-0gone`, which is not in {name}")]);
    assert_eq!(of("three"), [format!("the subnet `three`, which is not in {vpc}")]);
    assert_eq!(of("two"), ["the subnet `two`, but 2 subnets have that name"]);
    // Names are wildcards, and only the number counts.
    assert_eq!(of("on?"), RIGHT);
    assert_eq!(of("on*,tw?"), ["the subnet `tw?`, but 2 subnets have that name"]);
    assert_eq!(of("one,tw*,three"), [format!("two subnets in {zone}")]);
    assert_eq!(
        of("subnet-0foreign"),
        [format!("the subnet `subnet-0foreign`, which is in vpc-0other, but the nodes are in {vpc}")]
    );
}

#[test]
fn certificates_are_of_the_region_of_the_nodes() {
    let inventory = inventory();
    let region = inventory.accounts[0].regions[0].name.clone();
    let of = |arn: &str| {
        let (found, _) =
            told(&scan(&inventory, &[service("aws-load-balancer-ssl-cert", arn)]), "svc-certificate-elsewhere");
        found
            .into_iter()
            .map(|(_, message)| message.trim_start_matches("Service shop/web names ").to_owned())
            .collect::<Vec<_>>()
    };
    const RIGHT: Vec<String> = Vec::new();
    assert_eq!(of(&format!("arn:aws:acm:{region}:111122223333:certificate/a")), RIGHT);
    let two =
        format!("arn:aws:acm:{region}:111122223333:certificate/a,arn:aws:acm:{region}:111122223333:certificate/b");
    assert_eq!(of(&two), [format!("`{two}`, which is not a certificate ARN")], "the cloud controller takes one");
    assert_eq!(of("arn:aws:iam::111122223333:server-certificate/path/a"), RIGHT);
    let elsewhere = "arn:aws:acm:eu-west-1:111122223333:certificate/b";
    let message = format!("a certificate in eu-west-1, but the nodes are in {region}");
    assert_eq!(of(elsewhere), [message.as_str()]);
    assert_eq!(of(""), RIGHT, "no certificate");
    let on_ports = |ports: Value, of: Option<&str>| {
        let mut service = service("aws-load-balancer-ssl-cert", elsewhere);
        service["spec"]["ports"] = ports;
        service["metadata"]["annotations"]["service.beta.kubernetes.io/aws-load-balancer-type"] = json!("nlb");
        if let Some(of) = of {
            service["metadata"]["annotations"]["service.beta.kubernetes.io/aws-load-balancer-ssl-ports"] = json!(of);
        }
        told(&scan(&inventory, &[service]), "svc-certificate-elsewhere").0.len()
    };
    let both = json!([{"port": 443, "name": "https"}, {"port": 53, "protocol": "UDP", "name": "dns"}]);
    for (ports, of, expected) in [
        (json!([{"port": 53, "protocol": "UDP"}]), None, 0),
        (both.clone(), None, 1),
        (both.clone(), Some("*"), 1),
        (both.clone(), Some("443"), 1),
        (both.clone(), Some("https"), 1),
        (both.clone(), Some("8443"), 0),
        (both, Some("dns"), 0),
    ] {
        assert_eq!(on_ports(ports.clone(), of), expected, "{ports} {of:?}");
    }
    let of_load_balancer_controller = |list: &str| {
        let mut service = service("aws-load-balancer-ssl-cert", list);
        service["spec"]["loadBalancerClass"] = json!("service.k8s.aws/nlb");
        told(&scan(&inventory, &[service]), "svc-certificate-elsewhere").0.len()
    };
    assert_eq!([of_load_balancer_controller(&two), of_load_balancer_controller(&format!("{two},{elsewhere}"))], [0, 1]);
    assert_eq!(
        of("arn:aws-cn:acm:cn-north-1:111122223333:certificate/a"),
        ["a certificate in the partition aws-cn, but the nodes are in aws"]
    );
    assert_eq!(
        of("arn:aws:iam::111122223333:role/a"),
        ["`arn:aws:iam::111122223333:role/a`, which is not a certificate ARN"]
    );
    assert_eq!(of("my-certificate"), ["`my-certificate`, which is not a certificate ARN"]);
}

#[test]
fn a_provider_id_names_the_zone_of_its_instance() {
    let inventory = inventory();
    let instances = &inventory.accounts[0].regions[0].instances;
    let instance = instances.iter().find(|one| one.tags.iter().any(|tag| tag.key.ends_with(CLUSTER))).unwrap();
    let (id, zone) = (instance.id.as_str(), instance.availability_zone.as_deref().unwrap());
    let name = instance.private_dns_name.as_deref().unwrap();
    let of = |provider_id: &str| {
        let node = node(name, provider_id, instance.private_ip_address.as_deref().unwrap(), true);
        told(&scan(&inventory, &[node]), "node-provider-id-zone-mismatch").0
    };
    assert_eq!(of(&format!("aws:///{zone}/{id}")), []);
    // Without a zone `node-provider-id-without-zone` has a word to say.
    assert_eq!(of(&format!("aws:////{id}")), []);
    let message = format!("Node `{name}` names eu-west-1a in its providerID, but its instance `{id}` is in {zone}");
    assert_eq!(of(&format!("aws:///eu-west-1a/{id}")), [(Severity::Warning, message)]);
}

/// What the binary says, as JSON.
fn report(arguments: &[&str]) -> Value {
    let output = command().current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn what_kubectl_printed_is_recorded_beside_the_account() {
    let folder = tempfile::tempdir().unwrap();
    let (yaml, recorded) = (folder.path().join("more.yaml"), folder.path().join("inventory.json"));
    let more = "
apiVersion: v1
kind: Node
metadata:
  name: yaml
  annotations: {example.com/password: hunter2}
status: {nodeInfo: {kubeletVersion: v1.31.0}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {p: hunter2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cloud-config, namespace: kube-system}
data:
  cloud.conf: |
    [Global]
    KubernetesClusterID = other
    Password = hunter2
---
kubelet-arg: [cloud-provider=external]
cluster-init: true
token: hunter2
";
    std::fs::write(&yaml, more).unwrap();
    let (yaml, file) = (yaml.to_str().unwrap(), recorded.to_str().unwrap());
    let live = "fixtures/kubernetes/broken/live.json";
    let account = ["--inventory", "fixtures/clean-kops.json"];
    let record = command()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["record", "--kubernetes", live, "--kubernetes", yaml, "-o", file])
        .args(account)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&record.stderr).into_owned();
    assert_eq!(record.status.code(), Some(0), "{error}");
    assert!(error.contains("not recorded: 2 objects"), "a Secret and a configuration: {error}");
    let text = std::fs::read_to_string(&recorded).unwrap();
    assert!(!text.contains("hunter2") && text.contains("KubernetesClusterID"));
    let scan = ["scan", "--cluster-id", CLUSTER, "--format", "json", "--no-config"];
    // What is not recorded is left out of the other scan too.
    let objects = folder.path().join("objects.yaml");
    let kept = std::fs::read_to_string(yaml).unwrap();
    let kept: Vec<&str> = kept.split("---\n").filter(|one| !one.contains("Secret") && !one.contains("token")).collect();
    std::fs::write(&objects, kept.join("---\n")).unwrap();
    let beside = ["--kubernetes", live, "--kubernetes", objects.to_str().unwrap()];
    let of_files = report(&[&scan[..], &account, &beside].concat());
    let of_recording = report(&[&scan[..], &["--inventory", file]].concat());
    let findings = |report: &Value| {
        let all = report["findings"].as_array().unwrap().iter().map(|finding| {
            (finding["rule"].clone().to_string(), finding["message"].to_string(), finding["fingerprint"].to_string())
        });
        all.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(findings(&of_files), findings(&of_recording));
    assert!(findings(&of_recording).iter().any(|(rule, ..)| rule.contains("ccm-cloud-config-invalid")));
    // How a file was written is not known from a recording.
    let outcomes = |report: &Value| {
        let all = report["rules"].as_array().unwrap().iter().filter(|one| one["rule"] != "key-repeated");
        all.cloned().collect::<Vec<_>>()
    };
    assert_eq!(outcomes(&of_files), outcomes(&of_recording));
    let wrong = command().args(["record", "--kubernetes", "/nonexistent", "-o", file]).args(account).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn what_stands_twice_is_one_finding_that_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (file, saved) = (folder.path().join("cloud.conf"), folder.path().join("report.json"));
    let text = format!("[Global]\nKubernetesClusterID={CLUSTER}\nNonsense=a\nNonsense=b\n");
    std::fs::write(&file, text).unwrap();
    let scan =
        ["scan", "--cluster-id", CLUSTER, "--inventory", "fixtures/clean-kops.json", "--format", "json", "--no-config"];
    let output = report(&[&scan[..], &["--kubernetes", file.to_str().unwrap()]].concat());
    let found: Vec<&Value> =
        output["findings"].as_array().unwrap().iter().filter(|one| one["rule"] == "ccm-cloud-config-invalid").collect();
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(found["locations"].as_array().unwrap().len(), 2);
    std::fs::write(&saved, output.to_string()).unwrap();
    let again = command().args(["report", saved.to_str().unwrap(), "--format", "json"]).output().unwrap();
    assert!(again.stderr.is_empty(), "{}", String::from_utf8_lossy(&again.stderr));
}

fn controller_called(name: &str) -> Value {
    let container = json!({
        "name": "ccm", "image": "registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0",
        "args": ["--cloud-provider=aws", "--configure-cloud-routes=false", format!("--cluster-name={name}")],
    });
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "ccm", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"hostNetwork": true, "containers": [container]}}},
    })
}

/// The account of the clean cluster, with a volume of another one.
fn with_another_cluster() -> Inventory {
    let mut inventory = inventory();
    let key = "kubernetes.io/cluster/other".to_owned();
    let volume = &mut inventory.accounts[0].regions[0].volumes[0];
    volume.tags.push(tagaudit::internals::inventory::Tag { key, value: "owned".to_owned() });
    inventory
}

/// The account of the clean cluster, with a role of the control plane that may do nothing of the controller's.
fn with_a_bare_role() -> Inventory {
    let mut inventory = inventory();
    let role = inventory.accounts[0].roles.iter_mut().find(|role| role.name.starts_with("masters.")).unwrap();
    let document = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}
    ]});
    let document = Some(document.to_string());
    role.inline_policies =
        Some(vec![tagaudit::internals::inventory::InlinePolicy { name: "reads".to_owned(), document }]);
    role.attached_policies = Some(Vec::new());
    inventory
}

/// A controller with something in its environment.
fn controller_with(variable: &str) -> Value {
    let mut set = controller_called(CLUSTER);
    set["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": variable, "value": "x"}]);
    set
}

fn controller_with_keys() -> Value {
    controller_with("AWS_ACCESS_KEY_ID")
}

/// That a role grants nothing is no evidence that the controller has other credentials: a policy that was never attached looks the same.
#[test]
fn a_role_without_the_controllers_rights_is_an_error_unless_other_credentials_show() {
    const MISSING: &str = "iam-action-missing";
    const ELSEWHERE: &str = "iam-controller-credentials-elsewhere";
    let bare = with_a_bare_role();
    let worst = |audit: &Audit, rule: &str| told(audit, rule).0.into_iter().map(|(severity, _)| severity).max();
    let account = |annotations: Value| {
        json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": "kube-system", "annotations": annotations}})
    };
    let nothing: [Vec<Value>; 4] = [
        vec![],
        vec![controller_called(CLUSTER)],
        vec![controller_with("HTTPS_PROXY")],
        vec![controller_called(CLUSTER), account(json!({"x": "y"}))],
    ];
    for items in nothing {
        let audit = scan(&bare, &items);
        assert_eq!(worst(&audit, MISSING), Some(Severity::Error), "{items:?}");
        assert_eq!(worst(&audit, ELSEWHERE), None, "{items:?}");
        let (found, _) = told(&audit, MISSING);
        assert!(found.iter().any(|(_, message)| message.contains("nothing shows")), "{found:?}");
        let fixes = audit.findings.iter().filter(|one| one.rule == MISSING).map(|one| one.fix.summary.as_str());
        assert!(fixes.into_iter().any(|fix| fix.contains("attach") && fix.contains("--controller-role")));
    }
    let role = json!({"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/x"});
    let evidence: [Vec<Value>; 3] = [
        vec![controller_with_keys()],
        vec![controller_with("AWS_WEB_IDENTITY_TOKEN_FILE")],
        vec![controller_called(CLUSTER), account(role)],
    ];
    for items in evidence {
        let audit = scan(&bare, &items);
        assert_eq!(worst(&audit, MISSING), None, "{items:?}");
        assert_eq!(worst(&audit, ELSEWHERE), Some(Severity::Info), "{items:?}");
    }
    let said = RoleAuditOptions { credentials_elsewhere: true, ..RoleAuditOptions::default() };
    let audit = audited(&bare, CLUSTER, &Evidence::default(), &said);
    assert_eq!((worst(&audit, MISSING), worst(&audit, ELSEWHERE)), (None, Some(Severity::Info)));
    // Where nobody could look for the controller's own role, nothing is passed.
    let mut unread = bare;
    unread.gaps.push(tagaudit::internals::inventory::Gap {
        read: tagaudit::internals::inventory::Read::ListRoles,
        account_id: Some(unread.accounts[0].account_id.clone()),
        region: None,
        resource: None,
        policy: None,
        reason: "AccessDenied".to_owned(),
        message: String::new(),
    });
    let audit = scan(&unread, &[]);
    assert_eq!((worst(&audit, MISSING), told(&audit, MISSING).1), (None, Outcome::NotAudited));
}

#[test]
fn a_name_that_is_the_id_of_another_cluster_is_told() {
    let of =
        |name: &str, inventory: &Inventory| told(&scan(inventory, &[controller_called(name)]), "ccm-cluster-name").0;
    let both = with_another_cluster();
    let message = format!("DaemonSet kube-system/ccm has `--cluster-name=other`, but the cluster is `{CLUSTER}`");
    assert_eq!(of("other", &both), [(Severity::Warning, message)]);
    assert_eq!(of(CLUSTER, &both), []);
    // No cluster of the account is called so: it is a name.
    assert_eq!([of("kubernetes", &both), of("other", &inventory())], [[], []]);
}
