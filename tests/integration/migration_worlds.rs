//! Clusters at each stage of the way to the external cloud controller, for RKE2, RKE and kubeadm, as kubectl prints them.

use serde_json::{Value, json};

/// What makes the clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    Rke2,
    Rke,
    Kubeadm,
}

impl Made {
    pub(crate) const ALL: [Self; 3] = [Self::Rke2, Self::Rke, Self::Kubeadm];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rke2 => "rke2",
            Self::Rke => "rke",
            Self::Kubeadm => "kubeadm",
        }
    }
}

/// What decides a stage.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Provider of each control plane, and whether it uses the lock.
    managers: [(&'static str, bool); 3],
    /// Provider of the workers.
    workers: &'static str,
    /// What RKE's configuration says, which is of all nodes.
    rke: &'static str,
    minor: u32,
    driver: bool,
    /// The cloud controller: whether it uses the lock.
    controller: Option<bool>,
    /// Who holds the lock.
    lock: Option<&'static str>,
    /// The provider id of the youngest Node.
    youngest: &'static str,
}

const MANAGER: &str = "ip-10-0-1-11_0b8f2a36-6a4f-4c1c-9d0e-1f2a3b4c5d6e";
const CONTROLLER: &str = "ip-10-0-1-12.ec2.internal_7c9e6679-7425-40de-944b-e07fc1f90ae7";

/// The plan of each stage.
pub(crate) fn plan(stage: &str) -> Plan {
    let old = Plan {
        managers: [("aws", false); 3],
        workers: "aws",
        rke: "aws",
        minor: 26,
        driver: true,
        controller: None,
        lock: None,
        youngest: "aws:///us-east-1b/i-0000000000000000e",
    };
    let new = Plan {
        managers: [("external", false); 3],
        workers: "external",
        rke: "external-aws",
        controller: Some(false),
        ..old.clone()
    };
    match stage {
        "S0" => Plan { driver: false, ..old },
        "S1" => old,
        "S2" => Plan { managers: [("aws", true); 3], lock: Some(MANAGER), ..old },
        "S3" => Plan { managers: [("aws", true); 3], lock: Some(MANAGER), controller: Some(true), ..old },
        "S4" => Plan {
            managers: [("external", false), ("aws", true), ("aws", true)],
            rke: "external-aws",
            lock: Some(MANAGER),
            controller: Some(true),
            ..old
        },
        "S5" => Plan { controller: Some(true), lock: Some(CONTROLLER), ..new },
        "S6" => new,
        "S7" => Plan { youngest: "", ..new },
        "X1" => Plan { controller: Some(false), ..old },
        "X2" => Plan { minor: 27, ..old },
        "X3" => Plan { managers: [("", false); 3], workers: "", rke: "", ..old },
        _ => panic!("no stage is called {stage}"),
    }
}

/// The names of the Nodes: three control planes and two workers.
const NODES: [(&str, &str); 5] =
    [("a", "10-0-1-11"), ("b", "10-0-1-12"), ("c", "10-0-1-13"), ("d", "10-0-1-21"), ("e", "10-0-1-22")];

/// The objects of a cluster.
pub(crate) fn objects(made: Made, plan: &Plan) -> Value {
    let mut items = Vec::new();
    for (index, (id, address)) in NODES.into_iter().enumerate() {
        items.push(node(made, plan, index, id, address));
        items.push(csi_node(plan, index, address));
        items.push(lease("kube-node-lease", &format!("ip-{address}.ec2.internal"), "", "2026-01-05T10:00:00.000000Z"));
    }
    if made == Made::Kubeadm {
        let managers = plan.managers.iter().zip(NODES);
        items.extend(managers.map(|((provider, migrates), (_, address))| static_pod(provider, *migrates, address)));
    }
    items.push(lease("kube-system", "kube-controller-manager", MANAGER, "2026-01-05T10:00:02.000000Z"));
    if let Some(holder) = plan.lock {
        items.push(lease("kube-system", "cloud-provider-extraction-migration", holder, "2026-01-05T10:00:02.000000Z"));
    }
    if let Some(uses_lock) = plan.controller {
        items.push(lease("kube-system", "cloud-controller-manager", CONTROLLER, "2026-01-05T10:00:01.000000Z"));
        items.extend(controller(made, plan.minor, uses_lock));
    }
    if plan.driver {
        items.push(json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com", "uid": "d0"}, "spec": {"attachRequired": true}}));
        items.push(workload("DaemonSet", "ebs-csi-node", "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.38.1"));
    }
    items.push(workload("DaemonSet", "kube-proxy", "registry.k8s.io/kube-proxy:v1.26.15"));
    items.push(workload("Deployment", "coredns", "registry.k8s.io/coredns/coredns:v1.9.3"));
    items.push(json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "gp3", "uid": "s0"}, "provisioner": "ebs.csi.aws.com", "volumeBindingMode": "WaitForFirstConsumer"}));
    items.push(json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1", "uid": "v0"}, "spec": {"storageClassName": "gp3", "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-00000000000000001"}}}));
    items.extend(services());
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
}

/// The configuration of the cluster, where that decides.
pub(crate) fn configuration(made: Made, plan: &Plan) -> Option<String> {
    if made != Made::Rke {
        return None;
    }
    let mut nodes = String::new();
    for (index, (_, address)) in NODES.into_iter().enumerate() {
        let (address, public) = (address.replace('-', "."), index + 10);
        let role = if index < 3 { "[controlplane, etcd]" } else { "[worker]" };
        nodes += &format!(
            "  - address: 203.0.113.{public}\n    internal_address: {address}\n    user: rancher\n    role: {role}\n"
        );
    }
    let provider = match plan.rke {
        "" => String::new(),
        name => format!("cloud_provider:\n  name: {name}\n  useInstanceMetadataHostname: true\n"),
    };
    let lock = if plan.rke == "aws" && plan.managers[1].1 {
        "services:\n  kube-controller:\n    extra_args:\n      enable-leader-migration: \"true\"\n"
    } else {
        ""
    };
    Some(format!("kubernetes_version: v1.{}.15-rancher1-1\n{provider}{lock}nodes:\n{nodes}", plan.minor))
}

fn node(made: Made, plan: &Plan, index: usize, id: &str, address: &str) -> Value {
    let is_server = index < 3;
    let name = format!("ip-{address}.ec2.internal");
    let zone = if index.is_multiple_of(2) { "us-east-1a" } else { "us-east-1b" };
    let is_youngest = index + 1 == NODES.len();
    let provider_id = match plan.rke {
        // Nobody gives a Node an id.
        "" => String::new(),
        _ if is_youngest => plan.youngest.to_owned(),
        _ => format!("aws:///{zone}/i-0000000000000000{id}"),
    };
    let (suffix, control_plane, value) = match made {
        Made::Rke2 => ("+rke2r1", "control-plane", "true"),
        Made::Rke => ("", "controlplane", "true"),
        Made::Kubeadm => ("", "control-plane", ""),
    };
    let mut labels = json!({
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": if is_youngest { "us-east-1b" } else { zone },
        "topology.kubernetes.io/region": "us-east-1",
    });
    if is_server {
        labels[format!("node-role.kubernetes.io/{control_plane}")] = value.into();
    }
    let (provider, migrates) = match plan.managers.get(index) {
        Some(manager) => *manager,
        None => (plan.workers, false),
    };
    let mut annotations = json!({});
    match made {
        Made::Rke2 => {
            let mut words = vec![if is_server { "server" } else { "agent" }.to_owned()];
            let mut add = |component: &str, argument: String| {
                words.extend([format!("--{component}-arg"), argument]);
            };
            if !provider.is_empty() {
                add("kubelet", format!("cloud-provider={provider}"));
                if is_server {
                    add("kube-controller-manager", format!("cloud-provider={provider}"));
                }
            }
            if migrates {
                add("kube-controller-manager", "enable-leader-migration".to_owned());
            }
            words.push("--disable-cloud-controller=true".to_owned());
            annotations["rke2.io/node-args"] = json!(words).to_string().into();
        }
        Made::Rke => annotations["rke.cattle.io/internal-ip"] = address.replace('-', ".").into(),
        Made::Kubeadm => {
            annotations["kubeadm.alpha.kubernetes.io/cri-socket"] = "unix:///run/containerd/containerd.sock".into();
        }
    }
    let taints = if is_server && made == Made::Kubeadm {
        json!([{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": format!("n-{id}"), "labels": labels, "annotations": annotations, "creationTimestamp": "2025-12-01T08:00:00Z"},
        "spec": {"providerID": provider_id, "taints": taints},
        "status": {
            "nodeInfo": {"kubeletVersion": format!("v1.{}.15{suffix}", plan.minor)},
            "addresses": [{"type": "InternalIP", "address": address.replace('-', ".")}],
        },
    })
}

fn csi_node(plan: &Plan, index: usize, address: &str) -> Value {
    let drivers = if plan.driver {
        json!([{"name": "ebs.csi.aws.com", "nodeID": format!("i-{index}"), "topologyKeys": ["topology.ebs.csi.aws.com/zone"]}])
    } else {
        json!(null)
    };
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": format!("ip-{address}.ec2.internal"), "uid": format!("c-{index}")}, "spec": {"drivers": drivers}})
}

fn lease(namespace: &str, name: &str, holder: &str, renewed: &str) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": namespace, "name": name, "uid": format!("l-{name}")}, "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}})
}

fn static_pod(provider: &str, migrates: bool, address: &str) -> Value {
    let mut command = vec!["kube-controller-manager".to_owned(), "--leader-elect=true".to_owned()];
    if !provider.is_empty() {
        command.push(format!("--cloud-provider={provider}"));
    }
    if migrates {
        command.push("--enable-leader-migration=true".to_owned());
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": "kube-system",
            "name": format!("kube-controller-manager-ip-{address}.ec2.internal"),
            "uid": format!("p-{address}"),
            "annotations": {"kubernetes.io/config.mirror": "0", "kubernetes.io/config.source": "file"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": format!("ip-{address}.ec2.internal"), "uid": "n"}],
        },
        "spec": {"hostNetwork": true, "containers": [{"name": "kube-controller-manager", "image": "registry.k8s.io/kube-controller-manager:v1.26.15", "command": command}]},
    })
}

pub(crate) fn workload(kind: &str, name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"namespace": "kube-system", "name": name, "uid": format!("w-{name}"), "creationTimestamp": "2025-12-20T08:00:00Z"},
        "spec": {"template": {"spec": {"containers": [{"name": name, "image": image}]}}},
    })
}

pub(crate) fn controller(made: Made, minor: u32, uses_lock: bool) -> Vec<Value> {
    let mut args = vec!["--v=2", "--cloud-provider=aws", "--configure-cloud-routes=false"];
    if uses_lock {
        args.push("--enable-leader-migration=true");
    }
    let (label, value) = match made {
        Made::Rke2 => ("control-plane", "true"),
        Made::Rke => ("controlplane", "true"),
        Made::Kubeadm => ("control-plane", ""),
    };
    let mut set = workload(
        "DaemonSet",
        "aws-cloud-controller-manager",
        &format!("registry.k8s.io/provider-aws/cloud-controller-manager:v1.{minor}.9"),
    );
    let pod = &mut set["spec"]["template"]["spec"];
    pod["hostNetwork"] = true.into();
    pod["dnsPolicy"] = "Default".into();
    pod["serviceAccountName"] = "cloud-controller-manager".into();
    pod["nodeSelector"] = json!({format!("node-role.kubernetes.io/{label}"): value});
    pod["tolerations"] = json!([
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists"},
        {"key": format!("node-role.kubernetes.io/{label}"), "operator": "Exists"},
        {"key": "node-role.kubernetes.io/etcd", "operator": "Exists"},
    ]);
    pod["containers"][0]["args"] = json!(args);
    let name = "system:cloud-controller-manager";
    vec![
        set,
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name, "uid": "r0"}, "rules": [
            {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch", "update"]},
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
            {"apiGroups": [""], "resources": ["services"], "verbs": ["list", "patch", "update", "watch"]},
            {"apiGroups": [""], "resources": ["services/status"], "verbs": ["list", "patch", "update", "watch"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "list", "watch", "update"]},
        ]}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name, "uid": "r1"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}, "subjects": [{"kind": "ServiceAccount", "name": "cloud-controller-manager", "namespace": "kube-system"}]}),
    ]
}

fn services() -> Vec<Value> {
    vec![
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": "kubernetes", "uid": "k0"}, "spec": {"type": "ClusterIP", "ports": [{"port": 443, "protocol": "TCP"}]}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "kube-system", "name": "kube-dns", "uid": "k1"}, "spec": {"type": "ClusterIP", "ports": [{"port": 53, "protocol": "UDP"}]}}),
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"namespace": "shop", "name": "web", "uid": "2f0c7d3e-6a1b-4c5d-8e9f-0a1b2c3d4e5f", "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]},
            "spec": {"type": "LoadBalancer", "ports": [{"name": "http", "port": 80, "protocol": "TCP", "nodePort": 30080}]},
            "status": {"loadBalancer": {"ingress": [{"hostname": "a2f0c7d3e6a1b4c5d8e9f0a1b2c3d4e5-1234567890.us-east-1.elb.amazonaws.com"}]}},
        }),
    ]
}
