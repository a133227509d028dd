//! RAM policies compared with the actions that the controllers of Alibaba Cloud call.

use super::Rule;
use super::alibaba::Context;
use super::check_result::CheckResult;
use super::violation::Violation;
use crate::alibaba::rrsa::{Rights, RrsaRole};
use crate::alibaba::{Member, PrincipalAudit, Use, grant};
use crate::finding::{Applicability, Fix, ResourceRef};
use crate::resource::ResourceKind;
use crate::text;

mod ali_rrsa_refused;
mod ram_action_denied;
mod ram_action_excess;
mod ram_action_missing;
mod ram_action_partial;
mod ram_controller_principal_assumed;
mod ram_controller_principal_differs;
mod ram_controller_rights_on_worker;
mod ram_node_rights_missing;
mod ram_policy_near_quota;
mod ram_privilege_escalation;
mod ram_role_trust_not_ecs;
mod ram_rrsa_action_missing;
mod ram_rrsa_escalation;
mod ram_rrsa_excess;
mod ram_rrsa_trust_wide;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_policy.rs"));

/// Roles that controllers assume by RRSA, with their rights.
fn rrsa_rights<'c>(context: &'c Context<'_>) -> impl Iterator<Item = (&'c RrsaRole<'c>, &'c Rights<'c>)> {
    context.rrsa.roles.iter().filter_map(|one| Some((one, one.rights.as_ref()?)))
}

/// Result of a check of those roles.
fn rrsa_check_result(context: &Context<'_>, found: impl IntoIterator<Item = Violation>) -> CheckResult {
    match context.rrsa.roles.len() {
        0 => CheckResult::not_applicable("no controller is known to assume a role by RRSA"),
        checked => CheckResult::counted(checked, found),
    }
}

fn instances(audit: &PrincipalAudit<'_>) -> Vec<ResourceRef> {
    references(&audit.members)
}

fn references(members: &[&Member<'_>]) -> Vec<ResourceRef> {
    members.iter().map(|member| ResourceRef::bare(ResourceKind::Instance, &member.instance.id)).collect()
}

/// Grants actions in a policy that tagaudit names, if the principal can be changed at all.
fn grant_fix(context: &Context<'_>, audit: &PrincipalAudit<'_>, actions: &[&str]) -> Fix {
    let what = format!("{} that it lacks", text::count(actions.len(), "action"));
    // Anybody in the account can call with the user agent of the controller.
    if audit.used_by == Use::Controller && context.options.is_controller_seen {
        return Fix::none(format!(
            "add the {what} by hand, or confirm the principal with --controller-role first: only the audit trail names it"
        ));
    }
    let is_guessed = audit.used_by != Use::Controller && !audit.members.iter().all(|one| one.roles.is_reliable());
    if audit.used_by == Use::UnknownNodes || is_guessed {
        return Fix::none(format!(
            "add the {what} by hand, or name the role of the nodes with --node-role first: granting this to the wrong nodes is a privilege escalation"
        ));
    }
    // Actions that the baseline limits are not granted without the limits.
    let is_limited = |action: &&str| audit.actions.iter().any(|one| one.is_limited && one.action == **action);
    let (limited, actions): (Vec<&str>, Vec<&str>) = actions.iter().copied().partition(is_limited);
    if actions.is_empty() {
        return Fix::none(super::LIMITED_ACTIONS);
    }
    let what = match (limited.len(), actions.len()) {
        (0, _) => what,
        (_, number) => format!("{} that it lacks and the baseline does not limit", text::count(number, "action")),
    };
    match grant::place(audit.account, audit.principal, &actions) {
        Ok(changes) => {
            let name = text::printable(&audit.principal.name);
            let summary = match audit.used_by {
                Use::ControlplaneNodes => format!(
                    "add the {what} in a separate custom policy, if the controller uses the role `{name}` (confirm with --controller-role)"
                ),
                _ => format!("add the {what} in a separate custom policy"),
            };
            Fix::with(Applicability::Confirm, summary, changes)
        }
        Err(refused) => Fix::none(format!("add the {what} by hand, in a separate custom policy: {refused}")),
    }
}

/// "role `k8s-master`".
fn principal_label(audit: &PrincipalAudit<'_>) -> String {
    format!("{} `{}`", audit.principal.kind.name(), text::printable(&audit.principal.name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::alibaba::{Attachment, Policy, PolicyType, Principal, PrincipalKind};
    use crate::testing::alibaba::Cluster;

    /// The ServiceAccount of the CSI driver, in tokens.
    pub(super) const CSI_SUBJECT: &str = "system:serviceaccount:kube-system:csi-admin";

    /// Adds a CSI driver that assumes a role by RRSA.
    pub(super) fn with_rrsa(c: &mut Cluster, version: &str, subject: &str, actions: &[&str]) {
        c.objects.push(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "csi-admin",
            "namespace": "kube-system", "annotations": {"pod-identity.alibabacloud.com/role-name": "csi"}}}));
        c.objects.push(json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "csi-provisioner", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"serviceAccountName": "csi-admin", "containers": [{"name": "a",
                "args": ["--driver=disk"],
                "image": format!("registry-cn-hangzhou.ack.aliyuncs.com/acs/csi-plugin:{version}")}]}}}}));
        let trust = json!({"Version": "1", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
            "Principal": {"Federated": ["acs:ram::1234567890123456:oidc-provider/prod"]},
            "Condition": {"StringEquals": {"oidc:aud": ["sts.aliyuncs.com"], "oidc:iss": ["https://oidc.example.com"]},
                "StringLike": {"oidc:sub": [subject]}}}]});
        let document = json!({"Version": "1", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]});
        let account = c.account();
        account.policies.push(Policy {
            policy_type: PolicyType::Custom,
            name: "csi".to_owned(),
            default_version: Some("v1".to_owned()),
            document: Some(document.to_string()),
            attachment_count: Some(1),
        });
        let attachment =
            Attachment { policy_type: PolicyType::Custom, policy: "csi".to_owned(), resource_group_id: None };
        account.principals.push(Principal {
            id: Some("32".to_owned()),
            trust_policy: Some(trust.to_string()),
            attachments: Some(if actions.is_empty() { Vec::new() } else { vec![attachment] }),
            resource_group_attachments: Some(Vec::new()),
            ..Principal::new(PrincipalKind::Role, "csi")
        });
    }
}
