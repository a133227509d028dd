//! Roles that the controller itself assumes, separate from those of its nodes.

use crate::aws::{Account, Role};
use crate::inventory::Read;
use crate::kubernetes::SUBJECT_PREFIX;
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
    roles_of_cluster(cluster_id, &trusting)
}

/// Of the roles that trust a service account, those of a cluster: by its tag or its id in their names, else the only one
/// that has no tag of another cluster.
pub(crate) fn roles_of_cluster<'a>(cluster_id: &str, trusting: &[&'a Role]) -> Vec<&'a Role> {
    let ours: Vec<&Role> = trusting.iter().copied().filter(|role| names_cluster(role, cluster_id)).collect();
    match (ours.is_empty(), trusting) {
        (false, _) => ours,
        (true, [only]) if !is_of_another_cluster(only, cluster_id) => vec![only],
        _ => Vec::new(),
    }
}

/// Tag of eksctl with the name of the cluster. Source: eksctl-io/eksctl `pkg/apis/eksctl.io/v1alpha5/types.go`.
const EKSCTL_TAG: &str = "alpha.eksctl.io/cluster-name";

/// True if a role has the tag of a cluster, or its id in its name and no tag of another one.
pub(crate) fn names_cluster(role: &Role, cluster_id: &str) -> bool {
    let tags = role.tags.as_deref().unwrap_or_default();
    tags::has_cluster_tag(tags, cluster_id)
        || tags::value(tags, EKSCTL_TAG) == Some(cluster_id)
        || has_word(&role.name, cluster_id) && !is_of_another_cluster(role, cluster_id)
}

/// True if a tag assigns a role to another cluster.
fn is_of_another_cluster(role: &Role, cluster_id: &str) -> bool {
    let tags = role.tags.as_deref().unwrap_or_default();
    let is_other = |key: &str| tags::value(tags, key).is_some_and(|id| id != cluster_id);
    tags::has_foreign_cluster_tag(tags, cluster_id) || is_other(EKSCTL_TAG) || is_other(tags::LEGACY_TAG)
}

/// True if a text has a word: `nonprod` does not have `prod`.
fn has_word(text: &str, word: &str) -> bool {
    let is_end = |rest: Option<char>| rest.is_none_or(|character| !character.is_alphanumeric());
    text.match_indices(word).any(|(start, found)| {
        let (before, after) = (text.get(..start), text.get(start + found.len()..));
        is_end(before.and_then(|before| before.chars().next_back()))
            && is_end(after.and_then(|after| after.chars().next()))
    })
}

/// Names of the service account of the cloud controller.
const CONTROLLER_ACCOUNTS: [&str; 2] = ["aws-cloud-controller-manager", "cloud-controller-manager"];

/// True if a role's trust policy admits the service account of the cloud controller, in whatever namespace.
#[must_use]
pub(crate) fn trusts_the_controller(trust_policy: Option<&str>) -> bool {
    !namespaces_of_controller(trust_policy).is_empty()
}

/// Namespaces in which a role's trust policy admits a service account of the cloud controller; a pattern stands for
/// several. A pattern for every service account identifies none in particular.
pub(crate) fn namespaces_of_controller(trust_policy: Option<&str>) -> Vec<String> {
    let is_its = |name: &str| {
        name.contains("cloud-controller-manager")
            && CONTROLLER_ACCOUNTS.iter().any(|account| policy::matches(name, account))
    };
    let admitted = admitted_service_accounts(trust_policy).into_iter();
    let mut found: Vec<String> = admitted.filter(|(_, name)| is_its(name)).map(|(namespace, _)| namespace).collect();
    found.dedup();
    found
}

/// Namespaces and names of the service accounts that a role's trust policy admits by their tokens, sorted; both may be
/// patterns.
pub(crate) fn admitted_service_accounts(trust_policy: Option<&str>) -> Vec<(String, String)> {
    let Some(document) = trust_policy.and_then(|text| Document::parse(text).ok()) else { return Vec::new() };
    let allowing = document.statements.iter().filter(|statement| statement.effect == policy::Effect::Allow);
    let by_web = allowing.filter(|statement| {
        statement.action.folded.iter().any(|pattern| policy::matches(pattern, "sts:assumerolewithwebidentity"))
    });
    let conditions = by_web.flat_map(|statement| &statement.conditions);
    let subjects = conditions.filter(|condition| condition.key.ends_with(":sub")).flat_map(|one| &one.values);
    let mut found: Vec<(String, String)> = subjects
        .filter_map(|subject| {
            let (namespace, name) = subject.strip_prefix(SUBJECT_PREFIX)?.rsplit_once(':')?;
            Some((namespace.to_owned(), name.to_owned()))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}
