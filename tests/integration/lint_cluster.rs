//! Rules on what only a cluster says (ages, leases, deletions), each on both sides of its condition; and what the documents that people
//! copy from say, word for word.

use serde_json::{Value, json};
use tagaudit::internals::finding::Severity;
use tagaudit::internals::kubernetes::Evidence;
use tagaudit::internals::kubernetes_lint::KubernetesLint;
use tagaudit::internals::rules::RULES;

use super::binary::run;
use super::migration_worlds::{Made, controller, workload};

const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// What the rules say of some objects.
fn told(objects: &[Value], rule: &str) -> Vec<(Severity, String)> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let mut checked = KubernetesLint::default();
    checked.check(&[Evidence::parse("f.json", list.to_string().into_bytes()).unwrap()], &RULES);
    let found = checked.findings.into_iter().filter(|finding| finding.rule == rule);
    found.map(|finding| (finding.severity, finding.message)).collect()
}

/// The words that a report uses for machine sets appear in the path of a configuration for one node.
#[test]
fn the_name_of_a_folder_does_not_make_a_machine_set() {
    let text = "server: https://10.0.0.1:9345\ntoken: t\nkubelet-arg: [provider-id=aws:///eu-west-1a/i-0123456789abcdef0]\nnode-name: n1\n";
    for file in ["a/config.yaml", "x, machines of y/config.yaml", "KubeadmConfig in x/config.yaml"] {
        let mut checked = KubernetesLint::default();
        checked.check(&[Evidence::parse(file, text.as_bytes().to_vec()).unwrap()], &RULES);
        let found: Vec<_> = checked.findings.iter().map(|finding| finding.rule).collect();
        assert_eq!(found, Vec::<&str>::new(), "{file}");
    }
}

fn node(created: &str, version: &str, provider_id: &str, waits: bool, addresses: &[&str]) -> Value {
    let taints =
        if waits { json!([{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]) } else { json!([]) };
    let addresses: Vec<Value> = addresses.iter().map(|one| json!({"type": "InternalIP", "address": one})).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a", "uid": "n", "creationTimestamp": created},
        "spec": {"providerID": provider_id, "taints": taints},
        "status": {"nodeInfo": {"kubeletVersion": version}, "addresses": addresses},
    })
}

/// A Node that runs what is for control planes.
fn control_plane() -> Value {
    let mut made = node("2025-01-05T00:00:00Z", "v1.31.4", "aws:///a/i-0000000000000000c", false, &["10.0.0.9"]);
    made["metadata"]["name"] = json!("c");
    made["metadata"]["uid"] = json!("nc");
    made["metadata"]["labels"] = json!({"node-role.kubernetes.io/control-plane": ""});
    made
}

fn lease(renewed: &str) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": "kube-node-lease", "name": "a"}, "spec": {"renewTime": renewed}})
}

/// A healthy set of workloads, with or without the cloud controller.
fn workloads(has_controller: bool) -> Vec<Value> {
    let mut all = vec![
        workload("Deployment", "coredns", "registry.k8s.io/coredns/coredns:v1.11.1"),
        workload("DaemonSet", "kube-proxy", "registry.k8s.io/kube-proxy:v1.31.4"),
    ];
    if has_controller {
        all.extend(controller(Made::Kubeadm, 31, false));
    }
    all
}

#[test]
fn a_node_may_wait_for_five_minutes() {
    let rule = "node-uninitialized-stuck";
    let at =
        |created: &str| told(&[node(created, "v1.31.4", "", true, &["10.0.0.1"]), lease("2026-01-05T10:00:00Z")], rule);
    assert_eq!(at("2026-01-05T09:55:00Z"), []);
    assert_eq!(at("2026-01-05T09:54:00Z")[0].1, "Node a has waited for the cloud controller for 6 minutes");
    assert_eq!(at("2026-01-05T09:00:00Z")[0].1, "Node a has waited for the cloud controller for 1 hour");
    assert_eq!(at("2026-01-02T09:00:00Z")[0].1, "Node a has waited for the cloud controller for 3 days");
    // Nothing says what time it is: the Node itself is the youngest thing.
    assert_eq!(told(&[node("2026-01-05T09:00:00Z", "v1.31.4", "", true, &["10.0.0.1"])], rule), []);
    // Another object is younger.
    let younger = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b", "creationTimestamp": "2026-01-05T09:30:00Z"}, "spec": {"providerID": "aws:///a/i-0000000000000000b"}, "status": {"nodeInfo": {"kubeletVersion": "v1.31.4"}}});
    assert_eq!(told(&[node("2026-01-05T09:00:00Z", "v1.31.4", "", true, &["10.0.0.1"]), younger], rule).len(), 1);
}

#[test]
fn a_node_without_an_id_and_without_the_taint_stays_so() {
    let rule = "node-provider-id-missing";
    let with = |created: &str, id: &str, waits: bool, has_controller: bool| {
        let mut objects = workloads(has_controller);
        objects.push(control_plane());
        objects.extend([node(created, "v1.31.4", id, waits, &["10.0.0.1"]), lease("2026-01-05T10:00:00Z")]);
        told(&objects, rule).len()
    };
    assert_eq!(with("2026-01-05T09:49:00Z", "", false, true), 1);
    assert_eq!(with("2026-01-05T09:51:00Z", "", false, true), 0, "it may be between taint and id");
    assert_eq!(with("2026-01-05T09:49:00Z", "", true, true), 0, "the taint asks for it");
    assert_eq!(with("2026-01-05T09:49:00Z", "aws:///a/i-0000000000000000a", false, true), 0);
    assert_eq!(with("2026-01-05T09:49:00Z", "", false, false), 0, "nobody is to give it one");
    // The taint would stay for ever where no node runs the controller.
    let mut objects = workloads(true);
    objects.extend([node("2026-01-05T09:49:00Z", "v1.31.4", "", false, &["10.0.0.1"]), lease("2026-01-05T10:00:00Z")]);
    assert_eq!(told(&objects, rule), []);
    // A machine outside of AWS is not asked for anything.
    let mut outside = node("2026-01-05T09:49:00Z", "v1.31.4+rke2r1", "", false, &["10.0.0.1"]);
    outside["metadata"]["annotations"] = json!({"rke2.io/node-args": "[\"agent\"]"});
    let mut objects = workloads(true);
    objects.extend([control_plane(), outside, lease("2026-01-05T10:00:00Z")]);
    assert_eq!(told(&objects, rule)[0].0, Severity::Warning);
}

#[test]
fn a_taint_that_was_just_given_waits_from_then_on() {
    let with = |added: Option<&str>| {
        let mut waiting = node("2026-01-01T00:00:00Z", "v1.31.4", "", true, &["10.0.0.1"]);
        waiting["spec"]["taints"][0]["timeAdded"] = json!(added);
        told(&[waiting, lease("2026-01-05T10:00:00Z")], "node-uninitialized-stuck").len()
    };
    assert_eq!((with(None), with(Some("2026-01-05T09:58:00Z")), with(Some("2026-01-05T09:50:00Z"))), (1, 0, 1));
}

#[test]
fn static_pods_of_kubeadm_are_looked_at_as_configurations_are() {
    let of = |stage: &str| {
        let file = format!("fixtures/kubernetes/migration/kubeadm/{stage}.json");
        let evidence = Evidence::parse(&file, std::fs::read(&file).unwrap()).unwrap();
        let mut checked = KubernetesLint::default();
        checked.check(&[evidence], &RULES);
        let found = checked.findings.into_iter().filter(|finding| finding.severity == Severity::Error);
        found.map(|finding| finding.rule).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(of("X2").contains("in-tree-cloud-provider"), "{:?}", of("X2"));
    assert!(!of("S0").contains("in-tree-cloud-provider") && of("S6").is_empty(), "{:?} {:?}", of("S0"), of("S6"));
}

#[test]
fn the_controller_of_alibaba_watches_endpointslices_from_2_9_1_on() {
    let of = |tag: &str, gates: &str, groups: &[&str], configuration: Option<&str>| {
        let image = format!("r/acs/cloud-controller-manager-amd64:{tag}");
        let rule =
            |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": ["*"]});
        let mut rules = vec![
            rule("", &["nodes", "nodes/status", "services", "services/status", "endpoints", "events"]),
            rule("coordination.k8s.io", &["leases"]),
        ];
        rules.extend(groups.iter().map(|group| rule(group, &["endpointslices"])));
        let subjects = json!([{"kind": "ServiceAccount", "name": "ccm", "namespace": "kube-system"}]);
        let objects = [
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "ccm", "namespace": "kube-system"}, "spec": {"template": {"spec": {"serviceAccountName": "ccm", "containers": [{"name": "c", "image": image, "args": ["--cloud-provider=alibaba", gates]}]}}}}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "ccm"}, "rules": rules}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "ccm"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "ccm"}, "subjects": subjects}),
        ];
        let config = configuration.map(|text| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cloud-config", "namespace": "kube-system"}, "data": {"cloud-config.conf": text}}));
        let objects: Vec<Value> = objects.into_iter().chain(config).collect();
        (told(&objects, "ali-rbac-missing").len(), told(&objects, "ali-flag-removed").len())
    };
    let with = |tag: &str, gates: &str, groups: &[&str]| of(tag, gates, groups, None).0;
    assert_eq!((with("v2.8.0", "--v=2", &[]), with("v2.9.1", "--v=2", &[])), (0, 1));
    assert_eq!((with("v2.14.0", "--v=2", &["discovery.k8s.io"]), with("v2.14.0", "--v=2", &["extensions"])), (0, 1));
    // Gates come by flag up to 2.8 only, and by the cloud configuration from 2.9.1 on.
    assert_eq!(of("v2.14.0", "--feature-gates=EndpointSlice=false", &[], None), (1, 1));
    assert_eq!(of("v2.8.0", "--feature-gates=EndpointSlice=false", &[], None), (0, 0));
    let configuration = r#"{"global": {"clusterID": "prod", "featureGates": "EndpointSlice=false"}}"#;
    assert_eq!(of("v2.14.0", "--v=2", &[], Some(configuration)), (0, 0));
}

#[test]
fn what_goes_with_the_switch_is_not_lost() {
    let of = |global: &[&str], own: &[&str]| {
        let cluster = json!({
            "apiVersion": "provisioning.cattle.io/v1",
            "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "f"},
            "spec": {"kubernetesVersion": "v1.26.15+rke2r1", "rkeConfig": {
                "machineGlobalConfig": {"kube-controller-manager-arg": global},
                "machineSelectorConfig": [{"config": {"kube-controller-manager-arg": own}, "machineLabelSelector": {"matchLabels": {"rke.cattle.io/control-plane-role": "true"}}}],
                "machinePools": [{"name": "a", "etcdRole": true, "controlPlaneRole": true, "workerRole": true}],
            }},
        });
        told(&[cluster], "rancher-selector-replaces-list").len()
    };
    let before = &["cloud-provider=aws", "enable-leader-migration=true"];
    assert_eq!(of(before, &["cloud-provider=external"]), 0);
    assert_eq!(of(before, &["cloud-provider=aws"]), 1, "the lock is lost");
    assert_eq!(of(&["cluster-cidr=10.0.0.0/16"], &["cloud-provider=external"]), 1);
    assert_eq!(of(&["cluster-cidr=10.0.0.0/16"], &["cluster-cidr=10.1.0.0/16"]), 0, "it has another value");
    assert_eq!(of(&["cloud-provider=external"], &["cloud-provider=aws"]), 1);
}

#[test]
fn files_of_others_are_not_taken_for_configurations() {
    let count = |file: &str, text: &str| {
        Evidence::parse(file, text.as_bytes().to_vec()).map_or(0, |found| found.documents.len())
    };
    for text in [
        "image: mysql\nnode-label: db\n",
        "selinux: true\nreplicas: 1\n",
        "cluster-domain: example.com\nhost: x\n",
        "kubernetes_version: '1.30'\ncloud_provider: {name: aws, region: us-east-1}\ncluster_name: prod\n",
        "kubernetes_version: v1.30.1\ncloud_provider: {name: aws, region: us-east-1}\n",
        "nodes: [{address: 10.0.0.1, role: worker, hostname: a}]\n",
    ] {
        assert_eq!(count("prod-rke2/values.yaml", text), 0, "{text}");
    }
    for text in [
        "selinux: true\n",
        "node-label: [a=b]\nserver: https://x:9345\ntoken: x\n",
        "kubelet-arg: [cloud-provider=external]\nother: 1\n",
        "kubernetes_version: v1.26.8-rancher1-1\n",
        "kubernetes_version: v1.26.8\ncloud_provider: {name: aws}\n",
        "nodes: [{address: 10.0.0.1, role: [worker]}]\n",
        "cloud_provider: {name: external-aws}\n",
        "services: {kubelet: {extra_args: {x: y}}}\n",
    ] {
        assert_eq!(count("config.yaml", text), 1, "{text}");
    }
}

#[test]
fn kubelets_from_1_29_on_publish_no_address_by_themselves() {
    let rule = "node-addresses-empty";
    let with = |version: &str, waits: bool, addresses: &[&str]| {
        told(&[node("2026-01-05T09:59:00Z", version, "", waits, addresses), lease("2026-01-05T10:10:00Z")], rule).len()
    };
    let young = [node("2026-01-05T09:59:00Z", "v1.31.4", "", true, &[]), lease("2026-01-05T10:00:00Z")];
    assert_eq!(told(&young, rule), []);
    assert_eq!((with("v1.31.4+rke2r1", true, &[]), with("v1.31.4+k3s1", true, &[])), (0, 0));
    assert_eq!((with("v1.28.9", true, &[]), with("v1.29.0", true, &[])), (0, 1));
    assert_eq!((with("v1.29.0", false, &[]), with("v1.29.0", true, &["10.0.0.1"])), (0, 0));
    let mut provided = node("2026-01-05T09:59:00Z", "v1.31.4", "", true, &[]);
    provided["metadata"]["annotations"] = json!({"alpha.kubernetes.io/provided-node-ip": "10.0.0.1"});
    assert_eq!(told(&[provided, lease("2026-01-05T10:10:00Z")], rule), []);
}

#[test]
fn a_service_that_goes_needs_somebody_to_take_its_load_balancer_away() {
    let rule = "svc-orphan-finalizer";
    let with = |deleted: &str, finalizer: &str, version: &str, has_controller: bool| {
        let mut objects = workloads(has_controller);
        let mut first = control_plane();
        first["status"]["nodeInfo"]["kubeletVersion"] = json!(version);
        objects.extend([
            node("2025-01-05T09:49:00Z", version, "aws:///a/i-0000000000000000a", false, &["10.0.0.1"]),
            first,
            lease("2026-01-05T10:00:00Z"),
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "web", "uid": "s", "deletionTimestamp": deleted, "finalizers": [finalizer]}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]}}),
        ]);
        told(&objects, rule)
    };
    let cleanup = "service.kubernetes.io/load-balancer-cleanup";
    let found = with("2026-01-05T09:30:00Z", cleanup, "v1.31.4", false);
    assert_eq!(
        found[0].1,
        "Service shop/web has been in deletion for 30 minutes, and no cloud controller removes its load balancer"
    );
    assert_eq!(with("2026-01-05T09:51:00Z", cleanup, "v1.31.4", false), []);
    assert_eq!(with("2026-01-05T09:30:00Z", cleanup, "v1.31.4", true), []);
    assert_eq!(with("2026-01-05T09:30:00Z", "service.k8s.aws/resources", "v1.31.4", false), []);
    assert_eq!(with("2026-01-05T09:30:00Z", cleanup, "v1.26.15", false), [], "Kubernetes' own provider may do it");
    assert_eq!(with("2026-01-05T09:30:00Z", cleanup, "v1.31.4-eks-a1b2c3d", false), [], "AWS runs the controller");
}

#[test]
fn volumes_of_the_old_plugin_need_the_driver_from_1_23_on() {
    let rule = "pv-in-tree";
    let with = |version: &str, driver: bool| {
        let mut objects = workloads(false);
        objects.push(node("2025-01-05T09:49:00Z", version, "aws:///a/i-0000000000000000a", false, &["10.0.0.1"]));
        objects.push(json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1", "uid": "v"}, "spec": {"awsElasticBlockStore": {"volumeID": "vol-1"}}}));
        if driver {
            objects.push(json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com"}}));
        }
        told(&objects, rule).into_iter().map(|(severity, _)| severity).next()
    };
    assert_eq!((with("v1.22.9", false), with("v1.23.0", false)), (None, Some(Severity::Warning)));
    assert_eq!((with("v1.26.9", false), with("v1.27.0", false)), (Some(Severity::Warning), Some(Severity::Error)));
    assert_eq!(with("v1.27.0", true), None);
}

/// What a list of the API leaves out of its items is that of the list.
#[test]
fn a_list_as_the_api_gives_it_says_what_kubectl_prints() {
    let objects = controller(Made::Kubeadm, 31, false);
    let is_one = |object: &&Value, kind: &str| object["kind"] == kind;
    let mut whole = objects.clone();
    // Without the right to patch the status of Services.
    whole[1]["rules"][3]["verbs"] = json!(["list", "watch"]);
    whole[1]["rules"][4]["verbs"] = json!(["list"]);
    let lists: Vec<String> = ["DaemonSet", "ClusterRole", "ClusterRoleBinding"]
        .into_iter()
        .map(|kind| {
            let mut items: Vec<Value> = whole.iter().filter(|object| is_one(object, kind)).cloned().collect();
            let version = items[0]["apiVersion"].clone();
            for item in &mut items {
                item.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
            }
            json!({"kind": format!("{kind}List"), "apiVersion": version, "metadata": {}, "items": items}).to_string()
        })
        .collect();
    let mut lint = KubernetesLint::default();
    lint.check(&[Evidence::parse("f.json", lists.join("\n").into_bytes()).unwrap()], &RULES);
    let of_lists: Vec<String> =
        lint.findings.into_iter().filter(|one| one.rule == "ccm-rbac-missing").map(|one| one.message).collect();
    let of_kubectl: Vec<String> = told(&whole, "ccm-rbac-missing").into_iter().map(|(_, message)| message).collect();
    assert_eq!(of_lists, of_kubectl);
    assert_eq!(of_lists.len(), 1);
}

/// The manifests and configurations of the documents that people copy from, each as it stands there.
#[test]
fn what_documents_print_is_told_to_be_wrong() {
    let mut page = String::new();
    let mut folders: Vec<_> = std::fs::read_dir(super::fixtures::path("kubernetes").join("seeds"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    for folder in folders {
        let path = format!("fixtures/kubernetes/seeds/{folder}");
        let output = run(&["lint", "--kubernetes-version", "1.27", &path]);
        page += &format!("$ tagaudit lint --kubernetes-version 1.27 {path}\n");
        page += &String::from_utf8(output.stdout).unwrap();
        page += &String::from_utf8(output.stderr).unwrap();
        page += &format!("exit code {}\n\n", output.status.code().unwrap());
    }
    insta::assert_snapshot!("seeds", page);
    for (rule, text) in [
        ("rancher-selector-config-misindented", "seeds/rancher/control-plane.yaml:6:9"),
        ("rke2-cloud-provider-aws", "seeds/rancher/global.yaml:5:28"),
        ("ccm-helm-selector-merged", "seeds/rancher-rke-values/values.yaml"),
        ("rke-key-unknown", "seeds/rke/cluster.yml:4:3"),
        ("rke-metadata-hostname-off", "seeds/migrate-rke-last/cluster.yml:5:34"),
        ("rke-in-tree-aws-removed", "seeds/migrate-rke/services.yml"),
        ("controller-manifest-obsolete", "seeds/alibaba/cloud-controller-manager.yml"),
        ("ali-access-key-in-configmap", "seeds/alibaba/cloud-controller-manager.yml"),
    ] {
        let at = page.split(&format!("[{rule}]")).skip(1).any(|rest| rest.split("\n\n").next().unwrap().contains(text));
        assert!(at, "{rule} at {text}\n{page}");
    }
}

#[test]
fn examples_on_alibaba_cloud_pass_lint_and_cover_what_the_controller_calls() {
    let image = "registry.example.com/acs/cloud-controller-manager:v2.14.0";
    for distribution in ["rke2", "k3s", "kubeadm"] {
        for minor in 27..=36 {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("example").display().to_string();
            let version = format!("1.{minor}");
            let of = ["example", distribution, "--cloud", "alibaba", "--kubernetes-version", &version];
            let made = run(&[&of[..], &["--controller-image", image, "--cluster-id", "shop", "-o", &root]].concat());
            assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
            let checked = run(&["lint", "--fail-on", "info", "--kubernetes-version", &version, &root]);
            let page = String::from_utf8(checked.stdout).unwrap();
            assert_eq!(checked.status.code(), Some(0), "{distribution} {version}: {page}");
            assert!(!page.contains(" in 0 files"), "{page}");
            let policy = format!("{root}/policy-controlplane.json");
            let compared = run(&["policy", "diff", "--baseline", "ccm-v2.14", &policy]);
            assert_eq!(compared.status.code(), Some(0), "{}", String::from_utf8_lossy(&compared.stdout));
        }
    }
    let refused = |arguments: &[&str]| {
        let output = run(&[&["example", "rke2", "--kubernetes-version", "1.33"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["--cloud", "alibaba"]).contains("--controller-image"));
    assert!(refused(&["--cloud", "alibaba", "--controller-image", "a/b:v2.3.0"]).contains("2.4.0 is the first"));
    assert!(refused(&["--cloud", "alibaba", "--controller-image", "a/b"]).contains("has no tag that is a version"));
    assert!(refused(&["--cloud", "alibaba", "--controller-image", "a/b:v2.4.0\n- x"]).contains("is not an image"));
    assert!(refused(&["--controller-image", image]).contains("for Alibaba Cloud"));
    let rke =
        run(&["example", "rke", "--cloud", "alibaba", "--kubernetes-version", "1.30", "--controller-image", image]);
    assert_eq!(rke.status.code(), Some(2));
    let printed =
        run(&["example", "kubeadm", "--cloud", "alibaba", "--kubernetes-version", "1.33", "--controller-image", image]);
    insta::assert_snapshot!("example-alibaba", String::from_utf8(printed.stdout).unwrap());
}

/// Releases of the cloud controller of Alibaba Cloud for which there is an example.
const RELEASES: [&str; 12] =
    ["2.4.0", "2.4.4", "2.5.1", "2.6.0", "2.7.0", "2.8.0", "2.9.1", "2.10.0", "2.11.2", "2.12.4", "2.13.0", "2.14.0"];

/// The Nodes that register with the arguments of a set find their instances, and its controller runs on them.
#[test]
fn examples_on_alibaba_cloud_make_nodes_that_every_release_initialises() {
    for release in RELEASES {
        let image = format!("registry.example.com/acs/cloud-controller-manager:v{release}");
        for (distribution, suffix, label) in
            [("rke2", "+rke2r1", "true"), ("k3s", "+k3s1", "true"), ("kubeadm", "", "")]
        {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("example").display().to_string();
            let of = ["example", distribution, "--cloud", "alibaba", "--kubernetes-version", "1.30"];
            let made = run(&[&of[..], &["--controller-image", &image, "--cluster-id", "shop", "-o", &root]].concat());
            assert_eq!(made.status.code(), Some(0), "{release}: {}", String::from_utf8_lossy(&made.stderr));
            // Files that are named together are of one cluster.
            let mut files: Vec<String> =
                std::fs::read_dir(&root).unwrap().map(|file| file.unwrap().path().display().to_string()).collect();
            files.retain(|file| file.strip_suffix(".yaml").is_some());
            files.sort();
            let mut texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
            let id = texts.find_map(|text| {
                let (_, rest) = text.split_once("provider-id")?;
                let template = rest.trim_start_matches(['=', ':', ' ']).lines().next()?.trim().to_owned();
                Some(template.replace("${REGION_ID}", "cn-hangzhou").replace("${INSTANCE_ID}", "i-bp1a"))
            });
            let id = id.unwrap();
            assert_eq!(id, "cn-hangzhou.i-bp1a", "{distribution}");
            let node = |id: &str| {
                json!({"apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": "server-1", "labels": {"node-role.kubernetes.io/control-plane": label}},
                    "spec": {"providerID": id, "podCIDR": "10.42.0.0/24"},
                    "status": {"nodeInfo": {"kubeletVersion": format!("v1.30.1{suffix}")}, "conditions": [{"type": "Ready", "status": "True"}]}})
            };
            let nodes = folder.path().join("nodes.json");
            let nodes_path = nodes.display().to_string();
            let lint = |id: &str| {
                let list = json!({"apiVersion": "v1", "kind": "List", "items": [node(id)]});
                std::fs::write(&nodes, list.to_string()).unwrap();
                let mut arguments = vec!["lint", "--fail-on", "info", &nodes_path];
                arguments.extend(files.iter().map(String::as_str));
                let checked = run(&arguments);
                (checked.status.code(), String::from_utf8(checked.stdout).unwrap())
            };
            let (code, page) = lint(&id);
            assert_eq!(code, Some(0), "{distribution} v{release}: {page}");
            // The Nodes are part of what is checked.
            let (code, page) = lint("baremetal://i-bp1a");
            assert!(code == Some(1) && page.contains("ali-provider-id-invalid"), "{distribution} v{release}: {page}");
        }
    }
}

/// Keys of the cloud configuration of Alibaba Cloud's controller are read in any case, as Go reads them, and a file of AWS is none.
#[test]
fn the_cloud_configuration_of_alibaba_is_read_as_the_controller_does() {
    let of = |text: &str| {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cloud-config", "namespace": "kube-system"}, "data": {"cloud-config.conf": text}});
        let both =
            [told(std::slice::from_ref(&map), "ali-cloud-config-content"), told(&[map], "ali-access-key-in-configmap")];
        both.map(|found| found.len())
    };
    for (text, expected) in [
        (r#"{"global": {"clusterID": "prod"}}"#, [0, 0]),
        (r#"{"Global": {"clusterID": "prod", "accessKeyID": "YWI=", "accessKeySecret": "Y2Q="}}"#, [0, 1]),
        (r#"{"global": {"clusterid": "prod", "accesskeyid": "YWI=", "accesskeysecret": "Y2Q="}}"#, [0, 1]),
        (
            r#"{"Global": {"clusterID": "prod", "accessKeyID": "$your-AccessKeyID-base64", "accessKeySecret": "$your-AccessKeySecret-base64"}}"#,
            [0, 0],
        ),
        ("Global:\n  clusterID: prod\n", [0, 0]),
        (r#"{"Global": {"vpcid": "vpc-1"}}"#, [1, 0]),
        ("[Global]\nNodeIPFamilies=ipv6\nNodeIPFamilies=ipv4\n", [0, 0]),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

/// With routes on, the controller of Alibaba Cloud compares providerIDs without the prefix: it deletes and makes such routes for ever.
#[test]
fn a_prefix_in_front_of_a_provider_id_breaks_routes_of_alibaba() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "w", "labels": {"topology.kubernetes.io/region": "cn-hangzhou"}}, "spec": {"providerID": "alicloud://cn-hangzhou.i-bp1"}});
    let controller = |routes: &str| json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "ccm", "namespace": "kube-system"}, "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "r/acs/cloud-controller-manager-amd64:v2.14.0", "args": ["--cloud-provider=alibaba", routes]}]}}}});
    let of = |routes: &str| told(&[node.clone(), controller(routes)], "ali-provider-id-invalid").len();
    assert_eq!((of("--configure-cloud-routes=true"), of("--configure-cloud-routes=false")), (1, 0));
    assert_eq!(told(std::slice::from_ref(&node), "ali-provider-id-invalid").len(), 0);
}
