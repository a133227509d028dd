//! Snippets that change a cluster, in the format of its distribution.

use crate::example::controller_image;
use crate::kubernetes::arguments::Component;
use crate::kubernetes::{Evidence, MIGRATION_LOCK, UNINITIALIZED};

use super::super::settings::{Arguments, rancher_selector};
use super::super::signals::{CloudProvider, Maker, Seen, Signals};
use super::{ANYWHERE, Step, kops};

const OF_RANCHER: &str =
    "the Rancher Cluster (a selector replaces the lists of machineGlobalConfig, so their items are repeated here)";
const MANIFEST: &str =
    "/etc/kubernetes/manifests/kube-controller-manager.yaml on control planes, one at a time: kubelet restarts it";
pub(super) const KUBEADM_CONFIG: &str = "ConfigMap kubeadm-config in kube-system, ClusterConfiguration: `kubeadm upgrade` generates the static pods from it";
pub(super) const KUBEADM_EXTERNAL: &str = "controllerManager:\n  extraArgs:\n    cloud-provider: external # and no enable-leader-migration, no cloud-config\n# and remove cloud-provider and cloud-config from apiServer.extraArgs\n";
const FLAGS: &str = "sudo sed -i 's/--cloud-provider=aws/--cloud-provider=external/' /var/lib/kubelet/kubeadm-flags.env\nsudo systemctl restart kubelet\n";

/// Configuration file of servers or agents.
fn config_file(maker: Maker, of_servers: bool) -> String {
    let (folder, server, agent) =
        if maker == Maker::K3s { ("k3s", "k3s", "k3s-agent") } else { ("rke2", "rke2-server", "rke2-agent") };
    let (who, service) = if of_servers { ("servers", server) } else { ("agents", agent) };
    format!("/etc/rancher/{folder}/config.yaml on {who}, one at a time, each with `systemctl restart {service}`")
}

/// Step that makes kube-controller-manager work under the lock.
pub(super) fn use_lock(evidence: &Evidence, signals: &Signals<'_>) -> Step {
    let step = Step::new("let kube-controller-manager use the lock of the migration");
    let step = if signals.version.is_some() && !signals.is_from(22) {
        step.about("before Kubernetes 1.22 it also needs the gate ControllerManagerLeaderMigration=true and a file for --leader-migration-config: upgrade to 1.22 first")
    } else {
        step.about("the provider stays as it is; afterwards one instance holds the lock")
    };
    let set = ["enable-leader-migration=true"];
    let list =
        Arguments::new(evidence, Component::ControllerManager, true, &set, &[]).list("kube-controller-manager-arg");
    let step = match signals.maker {
        Maker::Rancher => step.with(OF_RANCHER, rancher_selector("control-plane", None, &list)),
        Maker::Rke2 | Maker::K3s => step.with(config_file(signals.maker, true), list),
        Maker::Rke => step.with(
            "cluster.yml, then `rke up`, which uncordons nodes",
            "services:\n  kube-controller:\n    extra_args:\n      enable-leader-migration: \"true\"\n",
        ),
        Maker::Kubeadm => step
            .with(MANIFEST, "    - --enable-leader-migration=true\n")
            .with(KUBEADM_CONFIG, "controllerManager:\n  extraArgs:\n    enable-leader-migration: \"true\"\n"),
        Maker::Kops | Maker::Other => {
            step.with("the arguments of kube-controller-manager", "--enable-leader-migration=true\n")
        }
    };
    step.with(ANYWHERE, format!("kubectl get lease -n kube-system {MIGRATION_LOCK}"))
}

/// Step that lets kube-controller-manager write the lock.
/// Source: Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager", "Grant access
/// to Migration Lease"; the patch there replaces the rules of the role, this one adds to them.
pub(super) fn let_write_lock() -> Step {
    Step::new("let kube-controller-manager write the lock").with(
        ANYWHERE,
        format!(
            "kubectl patch role -n kube-system system::leader-locking-kube-controller-manager --type=json -p '[{{\"op\": \"add\", \"path\": \"/rules/-\", \"value\": {{\"apiGroups\": [\"coordination.k8s.io\"], \"resources\": [\"leases\"], \"resourceNames\": [\"{MIGRATION_LOCK}\"], \"verbs\": [\"create\", \"list\", \"get\", \"update\"]}}}}]'"
        ),
    )
}

/// Chart values for the labels and taints of the control planes.
fn values(signals: &Signals<'_>, uses_lock: bool) -> String {
    let (selector, taints): (&str, &[&str]) = match signals.maker {
        Maker::Rancher | Maker::Rke2 | Maker::K3s => {
            ("  node-role.kubernetes.io/control-plane: \"true\"\n", &["control-plane", "etcd"])
        }
        // Maps are merged: the chart's own key must be removed.
        Maker::Rke => (
            "  node-role.kubernetes.io/control-plane: null\n  node-role.kubernetes.io/controlplane: \"true\"\n",
            &["controlplane", "etcd"],
        ),
        // Up to 1.23 control planes also have the old taint.
        Maker::Kubeadm | Maker::Kops | Maker::Other => {
            ("  node-role.kubernetes.io/control-plane: \"\"\n", &["control-plane", "master"])
        }
    };
    let minor = signals.version.and_then(crate::controller::ControllerVersion::minor);
    let image = minor.and_then(controller_image).map_or_else(
        || "image:\n  tag: TAG # of the minor version of Kubernetes\n".to_owned(),
        |tag| format!("image:\n  tag: {tag}\n"),
    );
    let tolerations: String = taints
        .iter()
        .flat_map(|taint| ["  - key: node-role.kubernetes.io/", taint, "\n    operator: Exists\n"])
        .collect();
    let routes = match signals.routes() {
        // Without routes, pods on other nodes are unreachable.
        Some(range) => format!("  - --configure-cloud-routes=true\n  - --cluster-cidr={range}\n"),
        None => "  - --configure-cloud-routes=false\n".to_owned(),
    };
    let lock = if uses_lock { "  - --enable-leader-migration=true\n" } else { "" };
    format!(
        "hostNetworking: true\n{image}nodeSelector:\n{selector}tolerations:\n  - key: {UNINITIALIZED}\n    operator: Exists\n{tolerations}args:\n  - --v=2\n  - --cloud-provider=aws\n{routes}{lock}"
    )
}

const HELM: &str = "helm upgrade --install aws-cloud-controller-manager aws-cloud-controller-manager --repo https://kubernetes.github.io/cloud-provider-aws --namespace kube-system --values values.yaml";

/// Step that installs the cloud controller from its chart.
pub(super) fn install(signals: &Signals<'_>, uses_lock: bool) -> Step {
    let title = if uses_lock {
        "install the cloud controller, which waits for the lock"
    } else {
        "install the cloud controller"
    };
    Step::new(title)
        .about("a cordon does not stop a DaemonSet. Give values.yaml to `tagaudit migrate --kubernetes` first: P6 checks that it fits the nodes")
        .with("values.yaml", values(signals, uses_lock))
        .with(ANYWHERE, HELM)
}

/// True if instance metadata determines Node names.
fn named_by_metadata(evidence: &Evidence) -> bool {
    evidence.arguments().iter().any(|one| one.cloud_provider_name() == Some("aws") && one.value("node-name").is_none())
}

/// True if there are servers whose kubelet is still on the old side, without a kube-controller-manager on that side:
/// servers that run only etcd, and those of K3s.
fn other_servers(evidence: &Evidence, signals: &Signals<'_>) -> bool {
    let is_old =
        |seen: &[Seen], who: &str| seen.iter().any(|one| one.provider == CloudProvider::InTree && one.who == who);
    let mut servers = evidence.arguments().iter().filter(|one| one.is_server == Some(true));
    servers.any(|one| {
        let name = one.started.name();
        is_old(&signals.kubelets, &name) && !is_old(&signals.managers, &name)
    })
}

/// Setting that names the Node of an instance, if RKE2 does that.
fn node_name_setting(evidence: &Evidence, signals: &Signals<'_>) -> &'static str {
    if named_by_metadata(evidence) {
        "cloud-provider-name: aws # names the node after its instance; `external` and `node-name-from-cloud-provider-metadata: true` from 1.29.11, 1.30.7 and 1.31.3 on\n"
    } else if signals.maker == Maker::K3s {
        ""
    } else {
        "cloud-provider-name: external\n"
    }
}

/// Settings of a server without a control plane after the switch: it also has the flag of servers.
/// Source: rancher/rancher#55579.
fn external_etcd(evidence: &Evidence, signals: &Signals<'_>) -> String {
    let kubelet = Arguments::new(evidence, Component::Kubelet, true, EXTERNAL, GONE).list("kubelet-arg");
    format!("{}disable-cloud-controller: true\n{kubelet}", node_name_setting(evidence, signals))
}

/// Arguments that the components get with the switch, and those that they lose.
const EXTERNAL: &[&str] = &["cloud-provider=external"];
const GONE: &[&str] = &["cloud-config", "external-cloud-volume-plugin", "enable-leader-migration"];

/// Settings of a server or an agent after the switch.
fn external_rke2(evidence: &Evidence, signals: &Signals<'_>, of_servers: bool) -> String {
    let mut text = node_name_setting(evidence, signals).to_owned();
    if of_servers {
        text.push_str("disable-cloud-controller: true\n");
        let manager = Arguments::new(evidence, Component::ControllerManager, true, EXTERNAL, GONE);
        text.push_str(&manager.list("kube-controller-manager-arg"));
        if signals.api_servers.iter().any(|one| one.provider == CloudProvider::InTree) {
            text.push_str(
                "kube-apiserver-arg: # in addition to its own; remove it before 1.33\n  - cloud-provider=external\n",
            );
        }
    }
    text.push_str(&Arguments::new(evidence, Component::Kubelet, of_servers, EXTERNAL, GONE).list("kubelet-arg"));
    text
}

/// Step that switches the control planes, one at a time.
pub(super) fn switch_control_planes(evidence: &Evidence, signals: &Signals<'_>) -> Step {
    let step = Step::new("make the control planes external, one at a time").about(
        "kube-controller-manager gets `external` and loses `enable-leader-migration` in the same step. Node names must not change: a Node with another name is a new one",
    );
    match signals.maker {
        Maker::Rancher => step.with(OF_RANCHER, rancher_selector("control-plane", None, &external_rke2(evidence, signals, true))),
        Maker::Rke2 | Maker::K3s => step.with(config_file(signals.maker, true), external_rke2(evidence, signals, true)),
        Maker::Rke => step
            .about("RKE 1.4.15 or 1.5.0 and later. It changes control planes and workers in one run; `useInstanceMetadataHostname` must be in the same run, or Node names change")
            .with(
                "cluster.yml, without `enable-leader-migration` in services.kube-controller.extra_args; then `rke up`",
                "cloud_provider:\n  name: external-aws\n  useInstanceMetadataHostname: true\n",
            ),
        Maker::Kubeadm => step
            .with(MANIFEST, "    - --cloud-provider=external # instead of aws, and no --enable-leader-migration\n")
            .with("/etc/kubernetes/manifests/kube-apiserver.yaml", "# remove --cloud-provider and --cloud-config\n")
            .with(
                "each control plane: the kubelet",
                FLAGS,
            )
            .with(KUBEADM_CONFIG, KUBEADM_EXTERNAL),
        Maker::Kops => kops(signals),
        Maker::Other => step
            .with("the arguments of kube-controller-manager", "--cloud-provider=external\n")
            .with("the arguments of kubelet", "--cloud-provider=external\n")
            .with("the arguments of kube-apiserver", "# without --cloud-provider and --cloud-config\n"),
    }
}

/// Step that switches all other nodes.
pub(super) fn switch_workers(evidence: &Evidence, signals: &Signals<'_>) -> Step {
    let step = Step::new("make the kubelets of all other nodes external, one at a time");
    let settings = external_rke2(evidence, signals, false);
    match signals.maker {
        Maker::Rancher => {
            let step = if other_servers(evidence, signals) {
                let settings = external_etcd(evidence, signals);
                step.with(OF_RANCHER, rancher_selector("etcd", Some("control-plane"), &settings))
            } else {
                step
            };
            step.with(OF_RANCHER, rancher_selector("worker", None, &settings))
        }
        Maker::Rke2 | Maker::K3s => {
            let step = if other_servers(evidence, signals) {
                step.with(config_file(signals.maker, true), external_etcd(evidence, signals))
            } else {
                step
            };
            step.with(config_file(signals.maker, false), settings)
        }
        Maker::Rke => step.about("`rke up` does it in the same run: repeat it if it stopped"),
        Maker::Kubeadm => step
            .about("a running kubelet keeps its Node; only a newly registered one asks to be initialised")
            .with("each node", FLAGS),
        Maker::Kops => kops(signals),
        Maker::Other => step.with("the arguments of kubelet", "--cloud-provider=external\n"),
    }
}

pub(super) fn watch() -> Step {
    Step::new("check after each of them").with(
        ANYWHERE,
        format!(
            "kubectl get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID,TAINTS:.spec.taints[*].key\nkubectl get lease -n kube-system {MIGRATION_LOCK} cloud-controller-manager"
        ),
    )
}
