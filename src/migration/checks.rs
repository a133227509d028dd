//! Checks before the switch (P1 to P9), and after it (V1 to V7).

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::finding::{Finding, Severity};
use crate::kubernetes::{
    CloudController, Document, DocumentKind, EBS_DRIVER, Evidence, Ingress, Service, covers_all_namespaces,
};
use crate::nodes::KubernetesNode;
use crate::rules::{self, Outcome, Prerequisite};
use crate::text;

use super::Judged;
use super::signals::{CloudProvider, Maker, Signals};
use super::stage::{Initialised, initialised};

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The condition holds.
    Passed,
    /// The condition does not hold.
    Failed,
    /// The evidence that decides was not given, or not read.
    NotAudited,
    /// The check must be done by hand.
    ByHand,
}

impl State {
    /// Word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotAudited => "not_audited",
            Self::ByHand => "by_hand",
        }
    }

    /// Label for display.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotAudited => "not audited",
            Self::ByHand => "by hand",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Short id that does not change.
    pub id: &'static str,
    /// Condition that must hold.
    pub title: &'static str,
    /// Result.
    pub state: State,
    /// Reasons, one sentence each.
    pub why: Vec<String>,
}

impl Check {
    fn new(id: &'static str, title: &'static str, (state, why): (State, Vec<String>)) -> Self {
        Self { id, title, state, why }
    }
}

/// Maximum number of reasons that are listed.
const SHOWN: usize = 3;

/// True if a rule decides this step.
fn decides(rule: &str, step: Prerequisite) -> bool {
    rules::find(rule).is_some_and(|rule| rule.migration == Some(step))
}

type Verdict = (State, Vec<String>);

fn not_audited(why: impl Into<String>) -> Verdict {
    (State::NotAudited, vec![why.into()])
}

/// Verdict of some rules: failed if one has an error, passed if all were audited.
fn by_rules(judged: Judged<'_>, step: Prerequisite) -> Verdict {
    let wrong: Vec<&Finding> = judged
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error && decides(finding.rule, step))
        .collect();
    if !wrong.is_empty() {
        let mut why: Vec<String> =
            wrong.iter().take(SHOWN).map(|finding| format!("{} ({})", finding.message, finding.rule)).collect();
        if wrong.len() > SHOWN {
            why.push(format!("and {} more", wrong.len() - SHOWN));
        }
        return (State::Failed, why);
    }
    let mine = || judged.rules.iter().filter(|outcome| decides(outcome.rule, step));
    let unread = mine().find(|outcome| outcome.outcome == Outcome::NotAudited);
    if let Some(unread) = unread {
        let why = unread.why.clone().unwrap_or_default();
        return not_audited(format!("{} was not audited: {why}", unread.rule));
    }
    if !mine().any(|outcome| matches!(outcome.outcome, Outcome::Passed | Outcome::Failed)) {
        let why = mine().find_map(|outcome| outcome.why.clone());
        return not_audited(why.unwrap_or_else(|| "there was nothing to check".to_owned()));
    }
    let warnings = judged
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Warning && decides(finding.rule, step))
        .count();
    let why = (warnings > 0).then(|| format!("with {}", text::count(warnings, "warning")));
    (State::Passed, why.into_iter().collect())
}

fn by_cloud_rules(judged: Judged<'_>, step: Prerequisite) -> Verdict {
    if judged.has_cloud {
        by_rules(judged, step)
    } else {
        not_audited("AWS was not read: give --cluster-id, and --inventory unless it is read live")
    }
}

/// Checks before the switch.
pub(super) fn before(evidence: &Evidence, signals: &Signals<'_>, judged: Judged<'_>) -> Vec<Check> {
    vec![
        Check::new(
            "P1",
            "instances, subnets and one security group have the cluster tag",
            by_cloud_rules(judged, Prerequisite::Tags),
        ),
        Check::new(
            "P2",
            "the policies of control planes and workers are complete",
            by_cloud_rules(judged, Prerequisite::Policies),
        ),
        Check::new(
            "P3",
            "instance profiles are attached and the metadata can be read",
            by_cloud_rules(judged, Prerequisite::Profiles),
        ),
        Check::new("P4", "Node names are those that the cloud controller looks up", names(judged)),
        Check::new("P5", "Services request nothing that the cloud controller rejects", services(evidence, judged)),
        Check::new("P6", "the cloud controller fits this cluster", controller(evidence, signals, judged)),
        Check::new("P7", "the EBS CSI driver runs on every node", storage(evidence, signals, judged)),
        Check::new("P8", "several control planes, or a pause is planned", control_planes(signals)),
    ]
    .into_iter()
    .chain(readiness(signals).map(|verdict| Check::new("P9", "every Node is Ready", verdict)))
    .collect()
}

/// Nodes that are not Ready: no next step while a component is down, and the lifecycle controller deletes a Node that
/// is not Ready and whose instance it does not find. `None` if no Node has conditions.
/// Source: kubernetes/cloud-provider `controllers/nodelifecycle/node_lifecycle_controller.go#MonitorNodes`.
fn readiness(signals: &Signals<'_>) -> Option<Verdict> {
    if !signals.nodes.iter().any(|node| node.is_ready.is_some()) {
        return None;
    }
    let waiting = signals.not_ready();
    if waiting.is_empty() {
        return Some((State::Passed, Vec::new()));
    }
    let shown = waiting.iter().map(|name| format!("Node {} is not Ready", text::printable(name)));
    Some((State::Failed, shown.collect()))
}

fn names(judged: Judged<'_>) -> Verdict {
    let found = by_rules(judged, Prerequisite::Names);
    if found.0 == State::Failed { found } else { by_cloud_rules(judged, Prerequisite::Names) }
}

fn services(evidence: &Evidence, judged: Judged<'_>) -> Verdict {
    match &evidence.services {
        Some(services) if covers_all_namespaces(services) => {
            let asked = services.iter().filter(|service| service.is_load_balancer()).count();
            if asked == 0 {
                (State::Passed, vec!["no Service is of type LoadBalancer".to_owned()])
            } else {
                by_rules(judged, Prerequisite::Services)
            }
        }
        _ => not_audited("Services of all namespaces were not given"),
    }
}

fn controller(evidence: &Evidence, signals: &Signals<'_>, judged: Judged<'_>) -> Verdict {
    if signals.planned.is_empty() && signals.working.is_empty() && signals.idle.is_empty() {
        return not_audited("give the manifest or the chart values to be installed: --kubernetes FILE");
    }
    let found = by_rules(judged, Prerequisite::Controller);
    // A chart includes its RBAC rules.
    let needs_rights =
        signals.working.iter().chain(&signals.idle).chain(&signals.planned).any(|one| one.chart.is_none());
    let has_rights = evidence.documents_by_kind(DocumentKind::RoleBinding).next().is_some();
    if found.0 == State::Passed && needs_rights && !has_rights {
        return not_audited("its permissions were not given: ClusterRoles and ClusterRoleBindings");
    }
    found
}

fn control_planes(signals: &Signals<'_>) -> Verdict {
    match signals.control_planes {
        None => not_audited("the number of control plane nodes is not known"),
        Some(1) => (
            State::Passed,
            vec!["one control plane: the migration lock is of no use, and load balancers are not changed during the switch".to_owned()],
        ),
        Some(count) => (State::Passed, vec![text::count(count, "control plane")]),
    }
}

/// Checks that volumes no longer need the in-tree plugin.
/// Sources: kubernetes/kubernetes `pkg/volume/csimigration/plugin_manager.go`; aws-ebs-csi-driver docs/install.md.
fn storage(evidence: &Evidence, signals: &Signals<'_>, judged: Judged<'_>) -> Verdict {
    let has = |kind: DocumentKind| evidence.document_lists.contains(&kind);
    let uses_ebs = evidence.documents.iter().any(|document| {
        let object = document.object();
        match document.kind {
            DocumentKind::PersistentVolume => {
                object.at(&["spec", "awsElasticBlockStore"]).is_some()
                    || object.text(&["spec", "csi", "driver"]) == Some(EBS_DRIVER)
            }
            DocumentKind::StorageClass => {
                object.text(&["provisioner"]).is_some_and(|name| name == EBS_DRIVER || name == "kubernetes.io/aws-ebs")
            }
            _ => false,
        }
    });
    if !uses_ebs && has(DocumentKind::PersistentVolume) && has(DocumentKind::StorageClass) {
        return (State::Passed, vec!["no volume or storage class uses EBS".to_owned()]);
    }
    let found = by_rules(judged, Prerequisite::Storage);
    if found.0 == State::Failed {
        return found;
    }
    // A node without the driver fails the check, whatever else was given; the EBS driver is optional on Windows.
    let with: BTreeSet<&str> = evidence
        .documents_by_kind(DocumentKind::CsiNode)
        .filter(|node| node.has_driver(EBS_DRIVER))
        .filter_map(|node| node.object().text(&["metadata", "name"]))
        .collect();
    let without: Vec<&str> = signals
        .nodes
        .iter()
        .filter(|node| node.labels.get("kubernetes.io/os").is_none_or(|os| os != "windows"))
        .map(|node| node.name.as_str())
        .filter(|name| !with.contains(name))
        .collect();
    if has(DocumentKind::CsiNode) && !without.is_empty() {
        let many = text::count(without.len(), "Node");
        return (State::Failed, vec![format!("{many} without {EBS_DRIVER}: {}", text::list(&without, SHOWN))]);
    }
    if !has(DocumentKind::CsiDriver) || !has(DocumentKind::CsiNode) {
        return not_audited("CSIDrivers and CSINodes were not given");
    }
    if signals.nodes.is_empty() {
        return not_audited("the Nodes were not given, so those without the driver are not known");
    }
    let mut drivers = evidence.documents_by_kind(DocumentKind::CsiDriver);
    if !drivers.any(|driver| driver.has_driver(EBS_DRIVER)) {
        return (State::Failed, vec![format!("no CSIDriver {EBS_DRIVER}")]);
    }
    // With the gate off, the in-tree plugin still handles volumes.
    let gate = evidence.arguments().iter().find(|one| one.keeps_in_tree_volumes());
    if let Some(gate) = gate.filter(|_| !signals.is_from(25)) {
        let who = gate.node().unwrap_or("the configuration");
        return (
            State::Failed,
            vec![format!("{who} has `CSIMigrationAWS=false`: volumes still need the in-tree plugin")],
        );
    }
    // Before 1.23 the in-tree plugin still attaches its volumes unless the gate is on.
    if signals.version.is_some() && !signals.is_from(23) {
        return (
            State::NotAudited,
            vec!["before 1.23 in-tree volumes use the driver only with the gate CSIMigrationAWS, which is changed node by node after a drain".to_owned()],
        );
    }
    (State::Passed, vec![format!("every CSINode has {EBS_DRIVER}")])
}

/// Checks after the switch.
pub(super) fn after(evidence: &Evidence, signals: &Signals<'_>, judged: Judged<'_>) -> Vec<Check> {
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
fn load_balancer_name(service: &Service) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prerequisite_is_decided_by_a_rule() {
        use Prerequisite::{Controller, Instances, Labels, Names, Policies, Profiles, Services, Storage, Tags};
        for step in [Controller, Instances, Labels, Names, Policies, Profiles, Services, Storage, Tags] {
            assert!(rules::RULES.iter().any(|rule| rule.migration == Some(step)), "{step:?}");
        }
    }

    #[test]
    fn load_balancers_are_named_after_their_services() {
        let text = r#"{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a", "uid": "2f0c7d3e-6a1b-4c5d-8e9f-0a1b2c3d4e5f"}, "spec": {"type": "LoadBalancer"}}"#;
        let evidence = Evidence::parse("f", text.into()).unwrap();
        let service = &evidence.services.as_deref().unwrap()[0];
        assert_eq!(load_balancer_name(service), "a2f0c7d3e6a1b4c5d8e9f0a1b2c3d4e5");
    }
}
