//! The policies of RAM against what the controllers of Alibaba Cloud call.

use super::Rule;
use crate::alibaba::PrincipalAudit;
use crate::finding::ResourceRef;
use crate::resource::ResourceKind;
use crate::text;

mod ram_action_denied;
mod ram_action_excess;
mod ram_action_missing;
mod ram_action_partial;
mod ram_controller_principal_assumed;
mod ram_controller_rights_on_worker;
mod ram_policy_near_quota;
mod ram_privilege_escalation;
mod ram_role_trust_not_ecs;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_policy.rs"));

fn instances(audit: &PrincipalAudit<'_>) -> Vec<ResourceRef> {
    audit.members.iter().map(|member| ResourceRef::bare(ResourceKind::Instance, &member.instance.id)).collect()
}

/// "role `k8s-master`".
fn whom(audit: &PrincipalAudit<'_>) -> String {
    format!("{} `{}`", audit.principal.kind.name(), text::printable(&audit.principal.name))
}
