//! Checks after the migration.

use jiff::SignedDuration;

use crate::kubernetes::{CloudController, Document, DocumentKind, Evidence, Ingress, Service, covers_all_namespaces};
use crate::nodes::KubernetesNode;
use crate::rules::Prerequisite;
use crate::text;

use super::super::Judged;
use super::super::signals::{CloudProvider, Maker, Signals};
use super::super::stage::{Initialised, initialised};
use super::{Check, SHOWN, State, Verdict, by_cloud_rules, not_audited};

/// Checks after the switch.
pub(in crate::migration) fn after(evidence: &Evidence, signals: &Signals<'_>, judged: Judged<'_>) -> Vec<Check> {
    vec![
        Check::new("V1", "no Node waits for initialisation", waiting(evidence)),
        Check::new("V2", "every Node has the providerID of its instance", provider_ids(evidence, judged)),
        Check::new(
            "V3",
            "zone, region and type of Nodes are those of their instances",
            by_cloud_rules(judged, Prerequisite::Labels),
        ),
        Check::new("V4", "every Service has its own load balancer", host_names(evidence)),
        Check::new("V5", "a cloud controller leads", leads(evidence, signals)),
        Check::new("V6", "a new Node is initialised", newest(evidence, signals)),
        Check::new("V7", "every kubelet is external", kubelets(signals)),
    ]
}

fn nodes(evidence: &Evidence) -> Result<&[KubernetesNode], Verdict> {
    match evidence.nodes.as_deref() {
        Some(nodes) if nodes.iter().any(|node| !node.kubelet_version.is_empty()) => Ok(nodes),
        _ => Err(not_audited("Nodes were not given")),
    }
}

/// Names of the Nodes in some initialisation states.
fn that_are<'e>(nodes: &'e [KubernetesNode], evidence: &Evidence, wanted: &[Initialised]) -> Vec<&'e str> {
    nodes.iter().filter(|node| wanted.contains(&initialised(node, evidence))).map(|node| node.name.as_str()).collect()
}

fn waiting(evidence: &Evidence) -> Verdict {
    let nodes = match nodes(evidence) {
        Ok(nodes) => nodes,
        Err(unknown) => return unknown,
    };
    let late = that_are(nodes, evidence, &[Initialised::Late]);
    if !late.is_empty() {
        let many = text::count(late.len(), "Node");
        return (State::Failed, vec![format!("for more than 5 minutes: {many}, {}", text::list(&late, SHOWN))]);
    }
    let unknown = that_are(nodes, evidence, &[Initialised::Unknown]);
    if !unknown.is_empty() {
        return not_audited(format!("the waiting time is not known: {}", text::list(&unknown, SHOWN)));
    }
    (State::Passed, Vec::new())
}

fn provider_ids(evidence: &Evidence, judged: Judged<'_>) -> Verdict {
    let nodes = match nodes(evidence) {
        Ok(nodes) => nodes,
        Err(unknown) => return unknown,
    };
    let never = that_are(nodes, evidence, &[Initialised::Never]);
    let elsewhere = that_are(nodes, evidence, &[Initialised::Elsewhere]);
    let mut why = Vec::new();
    if !never.is_empty() {
        why.push(format!("without providerID: {}", text::list(&never, SHOWN)));
    }
    if !elsewhere.is_empty() {
        why.push(format!("with a providerID of another controller: {}", text::list(&elsewhere, SHOWN)));
    }
    if why.is_empty() { by_cloud_rules(judged, Prerequisite::Instances) } else { (State::Failed, why) }
}

/// Name that both controllers give the load balancer of a Service: it depends on the uid, so that an existing one is
/// found.
/// Source: kubernetes/cloud-provider `cloud.go#DefaultLoadBalancerName`.
pub(super) fn load_balancer_name(service: &Service) -> String {
    std::iter::once('a').chain(service.uid.chars().filter(|character| *character != '-')).take(32).collect()
}

fn host_names(evidence: &Evidence) -> Verdict {
    let Some(services) = evidence.services.as_deref().filter(|services| covers_all_namespaces(services)) else {
        return not_audited("Services of all namespaces were not given");
    };
    // The finalizer identifies the controller of a load balancer.
    const OF_CLOUD_CONTROLLER: &str = "service.kubernetes.io/load-balancer-cleanup";
    // The cloud controller adds its finalizer before it detects that another controller is requested.
    const OF_OTHERS: &str = "service.k8s.aws/resources";
    let is_of_others = |service: &Service| {
        let kind = service.annotations.get("service.beta.kubernetes.io/aws-load-balancer-type").map(String::as_str);
        service.load_balancer_class.is_some()
            || matches!(kind, Some("external" | "nlb-ip"))
            || service.finalizers.iter().any(|finalizer| finalizer == OF_OTHERS)
    };
    let mine = services.iter().filter(|service| {
        service.is_load_balancer()
            && service.deleted_at.is_none()
            && !service.uid.is_empty()
            && !is_of_others(service)
            && service.finalizers.iter().any(|finalizer| finalizer == OF_CLOUD_CONTROLLER)
    });
    let (mut count, mut why) = (0, Vec::new());
    for service in mine {
        count += 1;
        let wanted = load_balancer_name(service);
        let full_name = service.full_name();
        let mut names = service.ingress.iter().filter_map(|ingress| match ingress {
            Ingress::Hostname(name) => Some(name.as_str()),
            Ingress::Address(_) => None,
        });
        match names.next() {
            None => why.push(format!("Service {full_name} has no host name")),
            Some(name) if !name.trim_start_matches("internal-").starts_with(&wanted) => {
                why.push(format!("Service {full_name} has {name}, but its load balancer is named {wanted}"));
            }
            Some(_) => {}
        }
    }
    if why.is_empty() {
        return (State::Passed, vec![format!("{} of the cloud controller", text::count(count, "Service"))]);
    }
    let more = why.len().saturating_sub(SHOWN);
    why.truncate(SHOWN);
    why.extend((more > 0).then(|| format!("and {more} more")));
    (State::Failed, why)
}

/// True if the holder of a lock is on no Node that runs the controller: on the host network its identity is
/// `HOST_UUID`. False if host names differ from Node names, because then nothing is known.
/// Source: kubernetes/cloud-provider `app/controllermanager.go#Run`.
fn is_elsewhere(holder: &str, controller: &CloudController, evidence: &Evidence, signals: &Signals<'_>) -> bool {
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let on_host = |holder: &str| {
        let host = first(holder.rsplit_once('_').map_or(holder, |(host, _)| host));
        signals.nodes.iter().filter(move |node| first(&node.name) == host).collect::<Vec<_>>()
    };
    // If the control plane's own locks name Nodes, hosts have the names of Nodes.
    let of_system = evidence.documents_by_kind(DocumentKind::Lease).map(Document::object).filter(|lease| {
        ["kube-controller-manager", "kube-scheduler"].contains(&lease.text(&["metadata", "name"]).unwrap_or_default())
    });
    let mut holders = of_system.filter_map(|lease| lease.text(&["spec", "holderIdentity"]));
    let hosts_are_nodes = holders.any(|holder| !on_host(holder).is_empty());
    let on = on_host(holder);
    controller.workload.is_on_host_network
        && (hosts_are_nodes || !on.is_empty())
        && !on.iter().any(|node| controller.workload.selects(node))
}

/// Maximum age of a renewed lock: locks are renewed every few seconds.
const FRESH: SignedDuration = SignedDuration::from_mins(1);

fn leads(evidence: &Evidence, signals: &Signals<'_>) -> Verdict {
    let controller = signals.working.iter().chain(&signals.idle).next();
    if controller.is_some_and(|controller| !controller.is_on("leader-elect", true)) {
        return (
            State::ByHand,
            vec!["the cloud controller does not elect a leader: check in its log that it works".to_owned()],
        );
    }
    let lease_name =
        controller.and_then(|controller| Some(controller.flag("leader-elect-resource-name")?.value.as_str()));
    let lease_name = lease_name.unwrap_or("cloud-controller-manager");
    if !evidence.document_lists.contains(&DocumentKind::Lease) {
        return not_audited("leases of kube-system were not given");
    }
    let Some(lease) = evidence.leases(lease_name).next() else {
        return (State::Failed, vec![format!("no lease {lease_name} in kube-system: no controller has ever led")]);
    };
    let holder = lease.text(&["spec", "holderIdentity"]).unwrap_or_default();
    if holder.is_empty() {
        return (State::Failed, vec![format!("lease {lease_name} has no holder")]);
    }
    // A process has one identity for all of its locks.
    let identity = |name: &str| evidence.leases(name).find_map(|lease| lease.text(&["spec", "holderIdentity"]));
    if identity("kube-controller-manager") == Some(holder) {
        return (State::Failed, vec![format!("lease {lease_name} is held by kube-controller-manager")]);
    }
    if let Some(controller) = controller
        && is_elsewhere(holder, controller, evidence, signals)
    {
        let why =
            format!("lease {lease_name} is held by {holder}, which is on no Node that runs {}", controller.name());
        return not_audited(why);
    }
    let renewed = lease.text(&["spec", "renewTime"]).and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let Some((renewed, seen)) = renewed.zip(evidence.known_time()) else {
        return not_audited(format!("lease {lease_name} has no renewal time"));
    };
    // The evidence has the time of the youngest lease: a lease alone would always be young.
    let others = evidence.documents_by_kind(DocumentKind::Lease).count() > 1 || seen > renewed;
    let age = seen.duration_since(renewed);
    match (age > FRESH, others) {
        (true, _) => {
            (State::Failed, vec![format!("lease {lease_name} was last renewed {age:#} before the rest was written")])
        }
        (false, true) => (State::Passed, vec![format!("lease {lease_name} is renewed")]),
        (false, false) => {
            not_audited(format!("the age of lease {lease_name} cannot be determined from it alone: give all leases"))
        }
    }
}

fn kubelets(signals: &Signals<'_>) -> Verdict {
    let of = |provider: CloudProvider| -> Vec<&str> {
        signals.kubelets.iter().filter(|one| one.provider == provider).map(|one| one.who.as_str()).collect()
    };
    let old = of(CloudProvider::InTree);
    if !old.is_empty() {
        return (State::Failed, vec![format!("with `cloud-provider=aws`: {}", text::list(&old, SHOWN))]);
    }
    let none = of(CloudProvider::None);
    // K3s makes its kubelets external without an argument.
    if !none.is_empty() && signals.maker != Maker::K3s {
        return (State::Failed, vec![format!("without `cloud-provider=external`: {}", text::list(&none, SHOWN))]);
    }
    let seen = |node: &KubernetesNode| signals.kubelets.iter().any(|one| one.who == node.name);
    let is_declared = signals.kubelets.iter().any(|one| !signals.nodes.iter().any(|node| node.name == one.who));
    if !signals.kubelets.is_empty() && (is_declared || signals.nodes.iter().all(seen)) {
        return (State::Passed, Vec::new());
    }
    let why = "no list shows the kubelet arguments: check /var/lib/kubelet/kubeadm-flags.env or the unit on each node";
    (State::ByHand, vec![why.to_owned()])
}

fn newest(evidence: &Evidence, signals: &Signals<'_>) -> Verdict {
    let installed = signals.working.iter().filter_map(|controller| controller.workload.created_at).min();
    let is_external = |node: &KubernetesNode| {
        signals.kubelets.iter().any(|kubelet| kubelet.who == node.name && kubelet.provider == CloudProvider::External)
    };
    let nodes = evidence.nodes.as_deref().unwrap_or_default();
    let proof = nodes.iter().find(|node| {
        node.created_at.zip(installed).is_some_and(|(created, installed)| created > installed)
            && is_external(node)
            && initialised(node, evidence) == Initialised::Yes
    });
    match proof {
        Some(node) => {
            (State::Passed, vec![format!("{} is younger than the cloud controller, and was initialised", node.name)])
        }
        None => (
            State::ByHand,
            vec!["existing Nodes are not initialised again: add one, and check that its taint is removed".to_owned()],
        ),
    }
}
