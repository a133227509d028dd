//! Steps for Nodes that the cloud controller does not know.

use crate::kubernetes::{Evidence, UNINITIALIZED};
use crate::nodes::KubernetesNode;
use crate::text::{list, shell_quote};

use super::super::signals::{CloudProvider, Maker, Signals};
use super::super::stage::{Initialised, initialised};
use super::{ANYWHERE, NAMED, Step, bring};

/// Steps for each kind of Node that the cloud controller does not know.
pub(super) fn steps(evidence: &Evidence, signals: &Signals<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    if !signals.initialises() {
        steps.extend(bring(signals, false));
    }
    let that_are = |wanted: Initialised| -> Vec<&KubernetesNode> {
        signals.nodes.iter().filter(|node| initialised(node, evidence) == wanted).collect()
    };
    if !that_are(Initialised::Late).is_empty() && signals.initialises() {
        steps.push(
            Step::new("find out why the cloud controller does not initialise the waiting Nodes")
                .about("its log shows the cause: the Node name, tags, permissions or the metadata; `tagaudit scan` checks all of them")
                .with(ANYWHERE, log(signals)),
        );
    }
    // A machine that was started without a provider may not be an instance at all.
    let is_without = |node: &&KubernetesNode| {
        signals.kubelets.iter().any(|one| one.who == node.name && one.provider == CloudProvider::None)
    };
    let (without, never): (Vec<_>, Vec<_>) = that_are(Initialised::Never).into_iter().partition(is_without);
    if !without.is_empty() {
        steps.push(
            Step::new(format!("decide about Nodes whose kubelet runs without a provider: {}", named(&without)))
                .about("on an instance, start it with `cloud-provider=external` and register the Node again; a machine elsewhere stays as it is, outside of load balancers"),
        );
    }
    let taint = |name: &str| format!("kubectl taint node {name} {UNINITIALIZED}=true:NoSchedule");
    if let Some((first, others)) = never.split_first() {
        let mut step = Step::new("add the uninitialized taint to one Node without providerID, and check that the controller initialises it")
            .about("the cloud controller sets the providerID and removes the taint; no pod is scheduled there meanwhile. A machine that is not an instance must not get it")
            .with(ANYWHERE, commands(&[*first], taint));
        if !others.is_empty() {
            step = step.with(
                "when its taint is removed: if the controller cannot initialise it, it cannot initialise the others",
                commands(others, taint),
            );
        }
        steps.push(step);
    }
    steps.extend(anew(signals, &that_are(Initialised::Elsewhere)));
    steps
}

/// Steps to re-register Nodes whose id cannot be changed; no command deletes a member of etcd.
fn anew(signals: &Signals<'_>, elsewhere: &[&KubernetesNode]) -> Vec<Step> {
    let is_server = |node: &&&KubernetesNode| node.is_embedded_etcd_member() || node.has_control_plane_label();
    let (servers, agents): (Vec<&KubernetesNode>, Vec<&KubernetesNode>) =
        elsewhere.iter().copied().partition(|node| is_server(&node));
    let mut steps = Vec::new();
    let restart = match signals.maker {
        Maker::Rancher | Maker::Rke2 => "`systemctl restart rke2-agent` there",
        Maker::K3s => "`systemctl restart k3s-agent` there",
        _ => "restart the kubelet there",
    };
    if !agents.is_empty() {
        let command = |name: &str| {
            format!("kubectl drain {name} --ignore-daemonsets --delete-emptydir-data && kubectl delete node {name}")
        };
        steps.push(
            Step::new("re-register Nodes with a providerID of another controller, one at a time")
                .about(format!("a providerID cannot be changed. First make sure that the other controller is disabled (`disable-cloud-controller: true` on all servers). After each: {restart}"))
                .with(ANYWHERE, commands(&agents, command)),
        );
    }
    if !servers.is_empty() {
        let about = if signals.control_planes == Some(1) {
            "it is the only control plane: deleting its Node would destroy the cluster. Add a second one first, or leave it as it is, outside of load balancers"
        } else {
            "take an etcd snapshot, then replace them one at a time: deleting the Node of an RKE2 or K3s server removes it from etcd"
        };
        steps.push(
            Step::new(format!("replace control planes with a providerID of another controller: {}", named(&servers)))
                .about(about),
        );
    }
    steps
}

fn named(nodes: &[&KubernetesNode]) -> String {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    list(&names, NAMED)
}

fn commands(nodes: &[&KubernetesNode], command: impl Fn(&str) -> String) -> String {
    let mut text: String = nodes.iter().take(NAMED).map(|node| command(&shell_quote(&node.name)) + "\n").collect();
    if nodes.len() > NAMED {
        text.push_str(&format!("# and {} more\n", nodes.len() - NAMED));
    }
    text
}

/// Command to read the log of the cloud controller.
pub(super) fn log(signals: &Signals<'_>) -> String {
    let Some(controller) = signals.working.iter().chain(&signals.idle).next() else {
        return "kubectl get pods -n kube-system".to_owned();
    };
    let workload = &controller.workload;
    let kind = workload.kind.name().to_ascii_lowercase();
    let namespace = if workload.namespace.is_empty() { "kube-system" } else { &workload.namespace };
    format!("kubectl logs -n {} {kind}/{} --tail=100", shell_quote(namespace), shell_quote(&workload.name))
}
