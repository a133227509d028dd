//! The rules of an answer, checked in an audit of the cluster.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::aws::view::ClusterView;
use crate::finding::Severity;
use crate::membership::NodeRole;
use crate::nodes::KubernetesNode;
use crate::policy;
use crate::report::{Cause, Finding, Report};
use crate::resource::ResourceKind;
use crate::rules::{self, Outcome, Prerequisite, messages};

use super::{LineAnswer, Why, fields, paste, texts};

/// A rule that finds a cause of a line, with what it found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CheckedRule {
    pub(crate) rule: &'static str,
    pub(crate) outcome: Outcome,
    /// Reason that it was not checked, or not everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Open findings on what the line names, or all if it names nothing of their kinds; worst first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<Cause>,
    /// Number of open findings on other resources.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) elsewhere: usize,
    /// Number of open findings on workers alone, for a cause that is at the instance on which the controller runs.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) on_workers: usize,
    /// Number of open findings that do not lead to the message today: the rules that check its condition passed.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) overruled: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Fields whose values are ids or names of resources.
const NAMED: [(&str, ResourceKind); 13] = [
    ("instance", ResourceKind::Instance),
    ("security_groups", ResourceKind::SecurityGroup),
    ("subnets", ResourceKind::Subnet),
    ("subnets", ResourceKind::VSwitch),
    ("eni", ResourceKind::NetworkInterface),
    ("volume", ResourceKind::Volume),
    ("vpc", ResourceKind::Vpc),
    ("load_balancer", ResourceKind::LoadBalancer),
    ("service", ResourceKind::Service),
    ("node", ResourceKind::Node),
    ("role", ResourceKind::Role),
    ("role", ResourceKind::RamRole),
    ("asg", ResourceKind::AutoScalingGroup),
];

impl Why {
    /// Adds what the rules of each known line found in an audit, the certain causes first. Rules of another cloud are not part
    /// of the audit, and are not added. `workers` are the instances that run no control plane.
    pub(crate) fn check(&mut self, report: &Report, nodes: Option<&[KubernetesNode]>, workers: &BTreeSet<&str>) {
        self.cluster_id = Some(report.cluster_id.clone());
        for line in self.lines.iter_mut().filter(|line| line.known) {
            if names_role_of_none(line, report) {
                line.rules.retain(|rule| !rules::judges_nodes(rule));
            }
            let rules = line.rules.iter().chain(&line.conditions);
            let mut checked: Vec<CheckedRule> = rules.filter_map(|rule| checked(line, rule, report, workers)).collect();
            if is_decided_otherwise(line, &checked) {
                checked.iter_mut().for_each(CheckedRule::overrule);
            }
            // What is not in the evidence was not checked: nothing is excluded.
            let is_elsewhere = is_of_other_cluster(line, report) || names_no_node(line, nodes);
            if line.excludes_nothing || report.nothing_to_audit || is_elsewhere {
                checked.retain(|one| one.rank() == FOUND);
            }
            checked.sort_by_key(CheckedRule::rank);
            let mut causes = checked.iter().flat_map(|one| &one.findings);
            // What is harmless in most clusters has a cause in this one.
            if line.is_defect == Some(false) && causes.any(|cause| cause.severity >= Severity::Warning) {
                line.is_defect = Some(true);
            }
            line.checked = checked;
        }
    }
}

/// Rank of a rule with a finding.
const FOUND: u8 = 0;

impl CheckedRule {
    /// The order of causes: found, possible because something was not read, found elsewhere, excluded.
    fn rank(&self) -> u8 {
        match self.outcome {
            _ if !self.findings.is_empty() => FOUND,
            Outcome::NotAudited => 1,
            _ if self.elsewhere > 0 || self.on_workers > 0 || self.overruled > 0 => 2,
            Outcome::NotApplicable => 3,
            Outcome::Failed | Outcome::Passed => 4,
        }
    }

    fn overrule(&mut self) {
        self.overruled = self.findings.len();
        self.findings.clear();
    }
}

/// True if the line names a role, and neither the nodes nor the cloud controller use it.
fn names_role_of_none(line: &LineAnswer, report: &Report) -> bool {
    let Some(named) = line.fields.get("role") else { return false };
    let is_used = |name: &str| report.roles.iter().any(|role| is_named(&role.role, name));
    !report.roles.is_empty() && !texts(named).any(is_used)
}

/// True if the condition of a message is not met today: every rule that checks it passed.
fn is_decided_otherwise(line: &LineAnswer, checked: &[CheckedRule]) -> bool {
    let passed = |rule| checked.iter().any(|one| one.rule == rule && one.outcome == Outcome::Passed);
    !line.deciding.is_empty() && line.deciding.iter().all(|rule| passed(*rule))
}

/// True if the line names another cluster than the audited one.
fn is_of_other_cluster(line: &LineAnswer, report: &Report) -> bool {
    let named = line.fields.get("cluster_id");
    named.is_some_and(|named| texts(named).all(|id| id != report.cluster_id))
}

/// True if the line names a Node that is not among the Nodes, or these are not known.
fn names_no_node(line: &LineAnswer, nodes: Option<&[KubernetesNode]>) -> bool {
    let Some(named) = line.fields.get("node") else { return false };
    nodes.is_none_or(|nodes| texts(named).all(|name| !nodes.iter().any(|node| node.name == name)))
}

fn checked(line: &LineAnswer, rule: &'static str, report: &Report, workers: &BTreeSet<&str>) -> Option<CheckedRule> {
    let outcome = report.rules.iter().find(|one| &*one.rule == rule)?;
    let takes_rights = rules::prerequisite(rule) == Some(Prerequisite::Policies);
    let open = report.findings.iter().filter(|one| one.rule == rule && one.is_open());
    let (findings, elsewhere): (Vec<&Finding>, Vec<&Finding>) =
        open.partition(|finding| is_about(line, finding) && !(line.is_granted_today && takes_rights));
    let (on_workers, findings): (Vec<&Finding>, Vec<&Finding>) =
        findings.into_iter().partition(|finding| line.is_about_host && is_on_workers(finding, workers));
    Some(CheckedRule {
        rule,
        outcome: outcome.outcome,
        reason: outcome.why.as_deref().map(str::to_owned),
        findings: findings.into_iter().map(Cause::from).collect(),
        elsewhere: elsewhere.len(),
        on_workers: on_workers.len(),
        overruled: 0,
    })
}

/// The instances that run no control plane. None if there are no servers: it is not known then where the controller runs.
pub(crate) fn workers<'v>(view: &'v ClusterView<'_>) -> BTreeSet<&'v str> {
    let with = |role| view.members().filter(move |one| one.roles.roles.contains(role));
    let ids = |role| with(role).map(|one| one.instance.id.as_str()).collect::<BTreeSet<&str>>();
    let servers = ids(NodeRole::Controlplane);
    if servers.is_empty() { BTreeSet::new() } else { &ids(NodeRole::Worker) - &servers }
}

/// True if the finding is about instances, and all of them are workers.
/// Source: cloud-provider-aws `examples/existing-cluster/base/aws-cloud-controller-manager-daemonset.yaml`, which selects the
/// control plane; other manifests may not.
fn is_on_workers(finding: &Finding, workers: &BTreeSet<&str>) -> bool {
    let resources = std::iter::once(&finding.resource).chain(&finding.related);
    let mut instances = resources.filter(|one| one.kind == ResourceKind::Instance).peekable();
    instances.peek().is_some() && instances.all(|one| workers.contains(one.id.as_str()))
}

/// False if the finding repeats the error of a controller, and the line is another error.
fn repeats(line: &LineAnswer, finding: &Finding) -> bool {
    const OF_CONTROLLER: messages::Line = messages::Line { is_refusal: false, is_of_controller: true, is_long: false };
    if !rules::restates_model(&finding.rule) {
        return true;
    }
    let named = |field: &str| line.fields.contains_key(field);
    let is_other_kind = match finding.resource.kind {
        ResourceKind::Service => named("ingress") && !named("service"),
        // An Ingress, which has the kind of a document.
        ResourceKind::ClusterConfig => match line.fields.get("ingress") {
            Some(ingress) => !texts(ingress).any(|name| is_named(&finding.resource.id, name)),
            None => named("service"),
        },
        _ => false,
    };
    let has_annotation = |named: &Value| {
        let repeated = paste::records(&finding.message);
        repeated.first().is_some_and(|record| fields::fields(record, None).get("annotation") == Some(named))
    };
    if is_other_kind || !line.fields.get("annotation").is_none_or(has_annotation) {
        return false;
    }
    let message = messages::find(&messages::bare(&finding.message), OF_CONTROLLER);
    message.is_some_and(|one| line.source == Some(one.source) && line.meaning == Some(one.meaning))
}

/// False if the line names resources of a kind, and the finding is about others of this kind alone, or if the finding
/// repeats another error.
pub(super) fn is_about(line: &LineAnswer, finding: &Finding) -> bool {
    let resources = || std::iter::once(&finding.resource).chain(&finding.related);
    let is_named_there = NAMED.iter().all(|(field, kind)| {
        let Some(named) = line.fields.get(field) else { return true };
        let mut of_kind = resources().filter(|one| one.kind == *kind).peekable();
        of_kind.peek().is_none() || of_kind.any(|one| texts(named).any(|name| is_named(&one.id, name)))
    });
    let is_of_workload = |workload: &String| {
        let mut workloads = resources().filter(|one| one.kind == ResourceKind::Workload).peekable();
        workloads.peek().is_none() || workloads.any(|one| one.id == *workload)
    };
    is_named_there
        && is_about_action(line, finding)
        && line.workload.as_ref().is_none_or(is_of_workload)
        && repeats(line, finding)
}

/// False if the line names actions, and the finding is about others alone.
fn is_about_action(line: &LineAnswer, finding: &Finding) -> bool {
    let Some(named) = line.fields.get("action") else { return true };
    let is_one =
        |pattern: &String| texts(named).any(|action| policy::contains(&pattern.to_lowercase(), &action.to_lowercase()));
    let about = &finding.actions.0;
    about.is_empty() || about.iter().any(is_one)
}

/// True for an id, and for the name at the end of an ARN.
fn is_named(id: &str, name: &str) -> bool {
    id == name || id.strip_suffix(name).is_some_and(|rest| rest.ends_with(['/', ':']))
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn a_name_is_the_whole_last_part_of_an_arn() {
        assert!(is_named("i-0a1", "i-0a1"));
        assert!(is_named("arn:aws:iam::111122223333:role/nodes/prod", "prod"));
        assert!(is_named("acs:ram::1111222233334444:role/prod", "prod"));
        assert!(!is_named("arn:aws:iam::111122223333:role/nonprod", "prod"));
        assert!(!is_named("i-0a12", "i-0a1"));
    }
}
