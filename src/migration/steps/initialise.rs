//! Nodes that the cloud controller does not know.

use crate::kubernetes::{Evidence, UNINITIALIZED};
use crate::nodes::KubernetesNode;
use crate::text::{list, shell_quote};

use super::super::signals::{CloudProvider, Maker, Signals};
use super::super::stage::{Initialised, initialised};
use super::{ANYWHERE, NAMED, Step, bring};

/// Nodes that the cloud controller does not know, and what to do about each kind.
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
            Step::new("find out why the cloud controller does not initialise Nodes that wait")
                .about("its log says it: the name of the Node, its tags, its permissions, or the metadata; `tagaudit scan` looks at all of them")
                .with(ANYWHERE, log(signals)),
        );
    }
    // Who was started without a provider may not be an instance at all.
    let is_without = |node: &&KubernetesNode| {
        signals.kubelets.iter().any(|one| one.who == node.name && one.provider == CloudProvider::None)
    };
    let (without, never): (Vec<_>, Vec<_>) = that_are(Initialised::Never).into_iter().partition(is_without);
    if !without.is_empty() {
        steps.push(
            Step::new(format!("decide about Nodes whose kubelet was started without a provider: {}", named(&without)))
                .about("of an instance, start it with `cloud-provider=external` and register the Node anew; a machine elsewhere stays as it is, and out of load balancers"),
        );
    }
    let taint = |name: &str| format!("kubectl taint node {name} {UNINITIALIZED}=true:NoSchedule");
    if let Some((first, others)) = never.split_first() {
        let mut step = Step::new("give one Node without providerID the taint that asks for it, and check that the controller initialises it")
            .about("the cloud controller writes the id and takes the taint away; no pod is scheduled there meanwhile. A machine that is no instance must not get it")
            .with(ANYWHERE, commands(&[*first], taint));
        if !others.is_empty() {
            step = step.with(
                "when its taint is gone: if the controller cannot initialise it, it can initialise none of the others",
                commands(others, taint),
            );
        }
        steps.push(step);
    }
    steps.extend(anew(signals, &that_are(Initialised::Elsewhere)));
    steps
}

/// Nodes whose id cannot be changed register anew; members of etcd are none that a command takes away.
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
            Step::new("register Nodes with an id of another controller again, one after another")
                .about(format!("a providerID cannot be changed. First make sure that the other controller is off (`disable-cloud-controller: true` on all servers). Behind each: {restart}"))
                .with(ANYWHERE, commands(&agents, command)),
        );
    }
    if !servers.is_empty() {
        let about = if signals.control_planes == Some(1) {
            "it is the only control plane: deleting its Node would end the cluster. Add a second one first, or leave it as it is, out of load balancers"
        } else {
            "take a snapshot of etcd, then replace them one at a time: the Node of a server of RKE2 or K3s leaves etcd when it is deleted"
        };
        steps.push(
            Step::new(format!("replace control planes with an id of another controller: {}", named(&servers)))
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

/// How to read the log of the cloud controller.
pub(super) fn log(signals: &Signals<'_>) -> String {
    let Some(controller) = signals.working.iter().chain(&signals.idle).next() else {
        return "kubectl get pods -n kube-system".to_owned();
    };
    let workload = &controller.workload;
    let kind = workload.kind.name().to_ascii_lowercase();
    let namespace = if workload.namespace.is_empty() { "kube-system" } else { &workload.namespace };
    format!("kubectl logs -n {} {kind}/{} --tail=100", shell_quote(namespace), shell_quote(&workload.name))
}
