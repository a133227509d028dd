//! Policies of the node roles compared with what the nodes need.

use crate::aws::Role;
use crate::aws::grant::{self, PolicyPurpose};
use crate::aws::roles::{ActionAudit, RoleAudit, trusts_the_controller};
use crate::controller::{self, CallRole, Need};
use crate::finding::{Applicability, Fix, ResourceRef, Severity};
use crate::inventory::{Gap, Provider, Read};
use crate::membership::NodeRole;
use crate::policy::{self, Verdict};
use crate::resource::ResourceKind;
use crate::role_audit::grant::Grant;
use crate::text;

use super::Rule;
use super::aws::Context;

mod iam_action_denied;
mod iam_action_excess;
mod iam_action_missing;
mod iam_action_partial;
mod iam_condition_tag_missing;
mod iam_controller_action_missing;
mod iam_controller_credentials_elsewhere;
mod iam_controller_role_namespace;
mod iam_policy_near_quota;
mod iam_privilege_escalation;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/iam.rs"));

const ROLE: &[ResourceKind] = &[ResourceKind::Role];

const INSTANCES: Read = Read::DescribeInstances;

fn instances(audit: &RoleAudit<'_>) -> Vec<ResourceRef> {
    audit.members.iter().map(|member| ResourceRef::bare(ResourceKind::Instance, &member.instance.id)).collect()
}

/// The severity of a call that is not allowed.
fn call_severity(need: Need) -> Severity {
    match need {
        Need::Always => Severity::Error,
        Need::Feature | Need::Storage | Need::OptIn => Severity::Warning,
        Need::Once | Need::Tolerated | Need::Never => Severity::Info,
    }
}

/// Need of a baseline action; for a pattern, the greatest need among the actions that it covers.
fn need(action: &ActionAudit) -> Option<Need> {
    let covered = controller::calls().iter().filter(|call| {
        call.node_role == action.call_role
            && policy::contains(&action.action.to_lowercase(), &call.action.to_lowercase())
    });
    covered.map(|call| call.need).max_by_key(|need| call_severity(*need))
}

/// The severity of a baseline action that is not allowed. An action that no list of calls has is an error if the
/// operator chose the baseline, and info if tagaudit did.
fn severity_in(audit: &RoleAudit<'_>, action: &ActionAudit) -> Severity {
    match need(action) {
        Some(need) => call_severity(need),
        None if audit.is_baseline_given => Severity::Error,
        None => Severity::Info,
    }
}

/// Consequences of the worst actions, most important first.
fn breaks(calls: impl Iterator<Item = (String, Option<&'static controller::Call>)>) -> Option<String> {
    let mut known: Vec<(Severity, String)> = calls
        .filter_map(|(action, call)| call.map(|call| (call_severity(call.need), format!("{action}: {}", call.breaks))))
        .collect();
    known.sort_by(|(a, _), (b, _)| b.cmp(a));
    let shown: Vec<String> = known.iter().take(4).map(|(_, text)| text.clone()).collect();
    let rest = known.len().saturating_sub(4);
    match (shown.is_empty(), rest) {
        (true, _) => None,
        (false, 0) => Some(shown.join("; ")),
        (false, _) => Some(format!("{}; and {rest} more", shown.join("; "))),
    }
}

/// Grants actions in a policy that tagaudit names, if the role can be changed at all.
fn grant_fix(audit: &RoleAudit<'_>, actions: &[&str]) -> Fix {
    if audit.is_protected() {
        return Fix::none("only AWS can change this role: associate another instance profile");
    }
    if !audit.is_reliable {
        return Fix::none(
            "name the role of the nodes with --node-role first: granting this to the wrong nodes is a privilege escalation",
        );
    }
    let is_controlplane = audit.node_roles.contains(NodeRole::Controlplane);
    let purpose = if is_controlplane { PolicyPurpose::Controlplane } else { PolicyPurpose::Worker };
    // Actions that the baseline limits are not granted without the limits.
    let is_limited = |action: &&str| audit.actions.iter().any(|one| one.is_limited && one.action == **action);
    let (limited, actions): (Vec<&str>, Vec<&str>) = actions.iter().copied().partition(is_limited);
    if actions.is_empty() {
        return Fix::none(super::LIMITED_ACTIONS);
    }
    let what = text::count(actions.len(), "action");
    let what = if limited.is_empty() { what } else { format!("{what} that the baseline does not limit") };
    match grant::place(audit.account, audit.role, purpose, &Grant::everywhere(actions)) {
        Ok(changes) => Fix::with(Applicability::Confirm, format!("add the {what} in a separate policy"), changes),
        Err(refused) => Fix::none(format!("add the {what} by hand: {refused}")),
    }
}

/// The credentials of the controller, as far as the role of control-plane nodes shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Credentials {
    /// Those of this role: it grants an action that only the controller calls, or nothing shows that there are others.
    OfNodes,
    /// Others, by this evidence.
    Elsewhere(String),
    /// Unknown: it grants none of the controller's actions, and the account's roles could not be listed.
    Unknown,
}

/// True if the role grants an action that only the controller calls.
fn grants_something(audit: &RoleAudit<'_>) -> bool {
    let is_own = |action: &&ActionAudit| {
        let name = action.action.to_ascii_lowercase();
        action.call_role == CallRole::Controlplane
            && (name.starts_with("elasticloadbalancing:")
                || ["ec2:authorizesecuritygroupingress", "ec2:createsecuritygroup", "ec2:createroute"]
                    .contains(&name.as_str()))
    };
    let mut own = audit.actions.iter().filter(is_own).peekable();
    own.peek().is_none() || own.any(|action| action.assessment.verdict != Verdict::Missing)
}

/// True if a role of control-plane nodes grants no action that only the controller calls. This is the most common
/// mistake: the policy was never attached, or the policies of workers and control plane were swapped.
fn is_bare(audit: &RoleAudit<'_>) -> bool {
    !audit.is_controllers && audit.node_roles.contains(NodeRole::Controlplane) && !grants_something(audit)
}

/// Reason that the other calls of the controller are not reported for a role that grants none.
const BARE: &str = "the role grants none of the controller's actions: `iam-action-missing` names all that it lacks";

/// The credentials of the controller. A role that grants nothing does not prove that there are others: a policy that
/// was never attached looks the same and is far more common.
fn credentials(context: &Context<'_>, audit: &RoleAudit<'_>) -> Credentials {
    if audit.is_controllers || !audit.node_roles.contains(NodeRole::Controlplane) {
        return Credentials::OfNodes;
    }
    if context.credentials_elsewhere {
        return Credentials::Elsewhere("--controller-credentials elsewhere".to_owned());
    }
    if grants_something(audit) {
        return Credentials::OfNodes;
    }
    if let Some(evidence) = context.kubernetes.own_credentials(Provider::Aws) {
        return Credentials::Elsewhere(evidence);
    }
    // Of several that cannot be distinguished, one is the controller's.
    let trusting = |role: &&Role| trusts_the_controller(role.trust_policy.as_deref());
    if let Some(role) = audit.account.roles.iter().find(trusting) {
        return Credentials::Elsewhere(format!("role `{}` trusts the controller's service account", role.name));
    }
    let is_unread = |gap: &Gap| gap.read == Read::ListRoles && gap.concerns_account(&audit.account.account_id);
    if context.gaps.iter().any(is_unread) { Credentials::Unknown } else { Credentials::OfNodes }
}

/// Reason that a role shows nothing about the controller.
const NO_CONTROLPLANE: &str = "no role of control-plane nodes was compared";

/// Reason that a role does not need the controller's calls.
const ELSEWHERE: &str = "the controller uses other credentials";

/// Reason that the need for the controller's calls is unknown.
const UNKNOWN_CREDENTIALS: &str = "the controller's credentials are unknown";

/// Reason that the controller's calls are not required of a role; `None` if they are.
fn not_asked(context: &Context<'_>, audit: &RoleAudit<'_>) -> Option<&'static str> {
    match credentials(context, audit) {
        Credentials::OfNodes => None,
        Credentials::Elsewhere(_) => Some(ELSEWHERE),
        Credentials::Unknown => Some(UNKNOWN_CREDENTIALS),
    }
}

fn is_workers_only(audit: &RoleAudit<'_>) -> bool {
    !audit.node_roles.is_unknown() && !audit.node_roles.contains(NodeRole::Controlplane)
}

/// Rules that `policy diff` answers from files, as a scan answers them from an account, in the order of their ids.
pub(crate) const COMPARED: ComparedRules = ComparedRules {
    denied: &iam_action_denied::RULE,
    excess: &iam_action_excess::RULE,
    missing: &iam_action_missing::RULE,
    partial: &iam_action_partial::RULE,
    escalation: &iam_privilege_escalation::RULE,
};

/// Rules that compare a set of policies with a baseline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ComparedRules {
    pub(crate) denied: &'static Rule,
    pub(crate) excess: &'static Rule,
    pub(crate) missing: &'static Rule,
    pub(crate) partial: &'static Rule,
    pub(crate) escalation: &'static Rule,
}

impl ComparedRules {
    pub(crate) fn all(&self) -> [&'static Rule; 5] {
        [self.denied, self.excess, self.missing, self.partial, self.escalation]
    }
}
