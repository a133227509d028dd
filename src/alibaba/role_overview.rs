//! The RAM principal of each controller of a cluster: the source of that information, missing and excess actions.

use crate::inventory::Gap;
use crate::kubernetes::Evidence;
use crate::policy::Verdict;
use crate::role_audit::{RoleAuditOptions, RoleGap};
use crate::used_role::{RoleOverview, RoleSource, UsedRole, nodes, secret};

use super::companions::{CompanionRun, OnNodes, companions, companions_on_nodes};
use super::inventory::PrincipalKind;
use super::roles::{PrincipalAudit, PrincipalAudits, Use};
use super::rrsa::{RrsaRole, RrsaRoles, rrsa_roles};
use super::view::ClusterView;

/// Lists the principals of a cluster: nodes and cloud controller first, then the other controllers by name.
pub(crate) fn overview(
    view: &ClusterView<'_>,
    evidence: &Evidence,
    audits: &PrincipalAudits<'_>,
    options: &RoleAuditOptions,
    gaps: &[Gap],
) -> RoleOverview {
    let mut roles: Vec<UsedRole> = audits.audits.iter().map(|audit| principal(audit, options)).collect();
    let rrsa = rrsa_roles(view, evidence, options);
    roles.extend(controllers(&companions_on_nodes(view, evidence, options), &rrsa, evidence));
    let mut not_audited: Vec<Gap> = gaps.iter().filter(|gap| gap.read.is_iam()).cloned().collect();
    let unread = rrsa.gaps.iter().filter(|gap| !gaps.iter().any(|read| gap.is_said_by(read)));
    not_audited.extend(unread.filter_map(RoleGap::unread));
    RoleOverview::new(view.cluster_id, roles, not_audited)
}

/// Lists the controllers next to the cloud controller.
pub(crate) fn controllers(on_nodes: &[OnNodes<'_>], rrsa: &RrsaRoles<'_>, evidence: &Evidence) -> Vec<UsedRole> {
    let mut found: Vec<UsedRole> = Vec::new();
    for run in companions(evidence) {
        let is_its = |other: &CompanionRun<'_>| std::ptr::eq(other.workload, run.workload);
        if let Some(one) = on_nodes.iter().find(|one| is_its(&one.run)) {
            found.extend(through_nodes(one));
        } else if let Some(one) = rrsa.roles.iter().find(|one| is_its(&one.run)) {
            found.push(by_rrsa(one));
        } else {
            found.push(of_unknown(&run));
        }
    }
    found.sort_by(|a, b| (&a.controller, &a.workload, &a.role).cmp(&(&b.controller, &b.workload, &b.role)));
    found
}

/// A principal of the nodes, or one that the operator names for the cloud controller.
fn principal(audit: &PrincipalAudit<'_>, options: &RoleAuditOptions) -> UsedRole {
    let (controller, role_source) = match audit.used_by {
        Use::Controller => {
            let source = if options.is_controller_seen { RoleSource::AuditTrail } else { RoleSource::Option };
            ("cloud controller".to_owned(), source)
        }
        Use::ControlplaneNodes | Use::OtherNodes | Use::UnknownNodes => {
            (nodes(audit.node_roles), RoleSource::InstanceRole)
        }
    };
    // The actions of another principal are not required of this one.
    let actions = if audit.has_other_credentials() { &[] } else { audit.actions.as_slice() };
    let lacking = actions.iter().filter(|one| matches!(one.assessment.verdict, Verdict::Missing | Verdict::Denied));
    let shared = "every Pod on these nodes that reaches the metadata service".to_owned();
    UsedRole {
        role: Some(audit.account.principal_arn(audit.principal)),
        needed: Some(actions.len()),
        lacking: lacking.map(|one| one.action.clone()).collect(),
        excess: Some(audit.beyond.unneeded()),
        shared_with: if audit.members.is_empty() { Vec::new() } else { vec![shared] },
        version: options
            .controller_version
            .filter(|_| role_source == RoleSource::AuditTrail)
            .map(|version| version.to_string()),
        ..UsedRole::new(controller, role_source)
    }
}

/// A controller that uses the roles of its nodes.
fn through_nodes(one: &OnNodes<'_>) -> Vec<UsedRole> {
    let roles = one.roles.iter().map(|role| UsedRole {
        role: Some(role.account.principal_arn(role.principal)),
        role_source: RoleSource::NodeMetadata,
        needed: Some(one.needed),
        lacking: role.lacking.iter().map(|action| (*action).to_owned()).collect(),
        shared_with: vec!["the nodes, and other Pods on them".to_owned()],
        ..of_unknown(&one.run)
    });
    roles.collect()
}

/// A controller that assumes a role by RRSA.
fn by_rrsa(one: &RrsaRole<'_>) -> UsedRole {
    let rights = one.rights.as_ref();
    UsedRole {
        role: Some(one.account.arn(PrincipalKind::Role, one.name)),
        role_source: one.source,
        needed: rights.map(|rights| rights.needed),
        lacking: rights.iter().flat_map(|rights| &rights.lacking).map(|action| (*action).to_owned()).collect(),
        excess: rights.map(|rights| rights.excess.clone()),
        ..of_unknown(&one.run)
    }
}

/// A controller whose principal is not known.
fn of_unknown(run: &CompanionRun<'_>) -> UsedRole {
    let role_source = if run.has_key() { RoleSource::AccessKeys } else { RoleSource::Unknown };
    UsedRole {
        secret: secret(run.workload).filter(|_| run.has_key()),
        version: run.version.map(|version| version.to_string()),
        published: run.published(),
        workload: Some(run.workload.full_name()),
        ..UsedRole::new(run.companion.name().to_owned(), role_source)
    }
}
