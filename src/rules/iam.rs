//! The policies of the nodes' roles against what their nodes need (rule catalogue, section 3).

use crate::controller::{self, CallRole, Need};
use crate::finding::{Applicability, Fix, ResourceRef, Severity};
use crate::inventory::Read;
use crate::policy::Verdict;
use crate::resource::ResourceKind;
use crate::role_audit::{ActionAudit, RoleAudit, grant};
use crate::text;
use crate::view::NodeRole;

use super::Rule;

mod iam_action_denied;
mod iam_action_excess;
mod iam_action_missing;
mod iam_action_partial;
mod iam_condition_tag_missing;
mod iam_controller_action_missing;
mod iam_controller_credentials_elsewhere;
mod iam_privilege_escalation;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/iam.rs"));

const ROLE: &[ResourceKind] = &[ResourceKind::Role];

const INSTANCES: Read = Read::DescribeInstances;

fn instances(audit: &RoleAudit<'_>) -> Vec<ResourceRef> {
    audit.members.iter().map(|member| ResourceRef::bare(ResourceKind::Instance, &member.instance.id)).collect()
}

/// How bad it is when a call does not work; actions of an operator's own baseline are asked for by the operator.
fn severity_of(need: Option<Need>) -> Severity {
    match need {
        None | Some(Need::Always) => Severity::Error,
        Some(Need::Feature | Need::Storage | Need::OptIn) => Severity::Warning,
        Some(Need::Tolerated | Need::Never) => Severity::Info,
    }
}

fn need(action: &ActionAudit) -> Option<Need> {
    controller::find(action.call_role, &action.action).map(|call| call.need)
}

/// What the worst of the actions break, most important first.
fn breaks(calls: impl Iterator<Item = (String, Option<&'static controller::Call>)>) -> Option<String> {
    let mut known: Vec<(Severity, String)> = calls
        .filter_map(|(action, call)| {
            call.map(|call| (severity_of(Some(call.need)), format!("{action}: {}", call.breaks)))
        })
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

/// Puts actions into a policy of our own name, if the role may be written to at all.
fn grant_fix(audit: &RoleAudit<'_>, actions: &[&str]) -> Fix {
    if audit.is_protected() {
        return Fix::none("only AWS can change this role: associate another instance profile");
    }
    if !audit.is_reliable {
        return Fix::none(
            "say which role the nodes have with --node-role first: granting this to the wrong nodes is a privilege escalation",
        );
    }
    let is_controlplane = audit.node_roles.contains(NodeRole::Controlplane);
    let node_role = if is_controlplane { CallRole::Controlplane } else { CallRole::Worker };
    // What the baseline limits is not granted without its limits.
    let is_limited = |action: &&str| audit.actions.iter().any(|one| one.is_limited && one.action == **action);
    let (limited, actions): (Vec<&str>, Vec<&str>) = actions.iter().copied().partition(is_limited);
    if actions.is_empty() {
        return Fix::none(super::LIMITED_ACTIONS);
    }
    let what = text::count(actions.len(), "action");
    let what = if limited.is_empty() { what } else { format!("{what} that the baseline does not limit") };
    let actions = actions.as_slice();
    match grant::place(audit.account, audit.role, node_role, actions) {
        Ok(changes) => Fix::with(Applicability::Confirm, format!("add the {what} in one policy of their own"), changes),
        Err(refused) => Fix::none(format!("add the {what} by hand: {refused}")),
    }
}

/// Whether a role of control-plane nodes grants nothing at all that only the controller does: as a rule the controller then
/// has other credentials.
fn uses_other_credentials(audit: &RoleAudit<'_>) -> bool {
    if audit.is_controllers || !audit.node_roles.contains(NodeRole::Controlplane) {
        return false;
    }
    let is_own = |action: &&ActionAudit| {
        let name = action.action.to_ascii_lowercase();
        action.call_role == CallRole::Controlplane
            && (name.starts_with("elasticloadbalancing:")
                || ["ec2:authorizesecuritygroupingress", "ec2:createsecuritygroup", "ec2:createroute"]
                    .contains(&name.as_str()))
    };
    let own: Vec<&ActionAudit> = audit.actions.iter().filter(is_own).collect();
    !own.is_empty() && own.iter().all(|action| action.assessment.verdict == Verdict::Missing)
}

/// Why a role says nothing about the controller.
const NO_CONTROLPLANE: &str = "no role of control-plane nodes was compared";

/// Why the calls of the controller are not asked of a role.
const ELSEWHERE: &str = "the controller seems to use other credentials";

fn is_workers_only(audit: &RoleAudit<'_>) -> bool {
    !audit.node_roles.is_unknown() && !audit.node_roles.contains(NodeRole::Controlplane)
}
