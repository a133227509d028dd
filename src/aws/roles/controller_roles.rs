//! Roles that the controller itself assumes, separate from those of its nodes.

use crate::aws::{Account, Role};
use crate::inventory::Read;
use crate::policy::{self, Document};
use crate::tags;

use super::RoleAuditOptions;
use super::{Missing, RoleGap, RoleGapCause};

/// The roles that the controller itself assumes: those that the operator names, else those whose trust policy names the
/// service account of the cloud controller, if it is clear which of them belongs to this cluster.
/// Sources: kubernetes/kops `pkg/model/iam/iam_builder.go#BuildAWSPolicy`; Amazon EKS User Guide, "IAM roles for
/// service accounts".
pub(super) fn controller_roles<'a>(
    cluster_id: &str,
    account: &'a Account,
    baselines: &RoleAuditOptions,
    gaps: &mut Vec<RoleGap>,
) -> Vec<&'a Role> {
    let here = |arn: &&String| arn.split(':').nth(4) == Some(account.account_id.as_str());
    let given: Vec<&String> = baselines.controller_roles.iter().filter(here).collect();
    if !baselines.controller_roles.is_empty() {
        let mut found = Vec::new();
        for arn in given {
            match account.roles.iter().find(|role| role.arn == *arn) {
                Some(role) => found.push(role),
                None => gaps.push(RoleGap {
                    account_id: account.account_id.clone(),
                    role: arn.clone(),
                    cause: RoleGapCause::NotRead(Read::GetRole, Missing::OfController),
                }),
            }
        }
        return found;
    }
    let trusts = |role: &&Role| trusts_the_controller(role.trust_policy.as_deref());
    let trusting: Vec<&Role> = account.roles.iter().filter(trusts).collect();
    let tags_of = |role: &Role| role.tags.clone().unwrap_or_default();
    let is_ours = |role: &Role| tags::has_cluster_tag(&tags_of(role), cluster_id) || role.name.contains(cluster_id);
    let ours: Vec<&Role> = trusting.iter().copied().filter(|role| is_ours(role)).collect();
    match (ours.is_empty(), trusting.as_slice()) {
        (false, _) => ours,
        (true, [only]) if !tags::has_foreign_cluster_tag(&tags_of(only), cluster_id) => vec![only],
        _ => Vec::new(),
    }
}

/// Names of the service account of the cloud controller.
const CONTROLLER_ACCOUNTS: [&str; 2] = ["aws-cloud-controller-manager", "cloud-controller-manager"];

/// Prefix of the subject of a service account.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// True if a role's trust policy admits the service account of the cloud controller, in whatever namespace.
#[must_use]
pub(crate) fn trusts_the_controller(trust_policy: Option<&str>) -> bool {
    !namespaces_of_controller(trust_policy).is_empty()
}

/// Namespaces in which a role's trust policy admits a service account of the cloud controller; a pattern stands for
/// several. A pattern for every service account identifies none in particular.
pub(crate) fn namespaces_of_controller(trust_policy: Option<&str>) -> Vec<String> {
    let Some(document) = trust_policy.and_then(|text| Document::parse(text).ok()) else { return Vec::new() };
    let allowing = document.statements.iter().filter(|statement| statement.effect == policy::Effect::Allow);
    let by_web = allowing.filter(|statement| {
        statement.action.folded.iter().any(|pattern| policy::matches(pattern, "sts:assumerolewithwebidentity"))
    });
    let conditions = by_web.flat_map(|statement| &statement.conditions);
    let subjects = conditions.filter(|condition| condition.key.ends_with(":sub")).flat_map(|one| &one.values);
    let mut found: Vec<String> = subjects
        .filter_map(|subject| {
            let (namespace, name) = subject.strip_prefix(SERVICE_ACCOUNT)?.rsplit_once(':')?;
            let is_its = name.contains("cloud-controller-manager")
                && CONTROLLER_ACCOUNTS.iter().any(|account| policy::matches(name, account));
            is_its.then(|| namespace.to_owned())
        })
        .collect();
    found.sort();
    found.dedup();
    found
}
