//! Checks before the switch (P1 to P9), and after it (V1 to V7).

use std::collections::BTreeSet;

use crate::finding::{Finding, Severity};
use crate::kubernetes::{DocumentKind, EBS_DRIVER, Evidence, covers_all_namespaces};
use crate::rules::{self, Outcome, Prerequisite};
use crate::text;

use super::Judged;
use super::signals::Signals;

mod afterwards;

pub(super) use afterwards::after;

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

#[cfg(test)]
mod tests {
    use super::afterwards::load_balancer_name;
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
