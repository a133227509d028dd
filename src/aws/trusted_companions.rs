//! Roles that the usual ServiceAccounts of controllers may assume, of a cluster whose workloads were not given. Which
//! controller runs, and which version of it, is then unknown: only what holds for every release is compared.

use crate::aws::companion_audit::lacking;
use crate::aws::companions::environment;
use crate::aws::roles::{admitted_service_accounts, names_cluster, policy_set, roles_of_cluster};
use crate::aws::view::ClusterView;
use crate::aws::web_identity::{Token, Trust, issuer_regions, trust};
use crate::aws::{Account, Role};
use crate::baseline;
use crate::clusters::Clusters;
use crate::controller::companion::{COMPANIONS, Companion, CompanionRow, NeededAction, Trigger};
use crate::kubernetes::Evidence;
use crate::policy::{self, Assessment, EscalationPath, Need, PreparedPolicies, Question, Verdict};
use crate::role_audit::{RoleAuditOptions, RoleGap};

/// A role that the usual ServiceAccount of a controller may assume.
#[derive(Debug)]
pub(crate) struct TrustedRole<'a> {
    pub(crate) row: &'static CompanionRow,
    pub(crate) role: &'a Role,
    /// `NAMESPACE/NAME` of the ServiceAccount, for display.
    pub(crate) service_account: String,
    /// Other ServiceAccounts that its trust policy names.
    pub(crate) others: Vec<String>,
    /// The gaps if a policy was not read or is malformed.
    pub(crate) audited: Result<TrustedAudit, Vec<RoleGap>>,
}

/// Grants of such a role.
#[derive(Debug)]
pub(crate) struct TrustedAudit {
    /// Number of actions that every release calls in everyday work.
    pub(crate) needed: usize,
    /// Those of them that it grants nowhere, with the assessment.
    pub(crate) lacking: Vec<(&'static str, Assessment)>,
    /// Patterns beyond what the projects of its controllers publish for any release, worst first.
    pub(crate) excess: Vec<String>,
    /// Escalation paths through actions that nothing published for these controllers needs.
    pub(crate) paths: Vec<EscalationPath>,
}

/// True if a role's trust policy names the usual ServiceAccount of a controller.
#[cfg(feature = "aws")]
pub(crate) fn trusts_a_companion(trust_policy: Option<&str>) -> bool {
    let named = admitted_service_accounts(trust_policy);
    COMPANIONS.iter().any(|row| named.iter().any(|(_, name)| usual_name(row, name).is_some()))
}

/// The usual ServiceAccount of a controller that a name, or a pattern of one, stands for. A pattern for nearly every name
/// identifies none in particular.
fn usual_name(row: &'static CompanionRow, name: &str) -> Option<&'static str> {
    const LITERAL: usize = 6;
    let is_pattern = name.contains(['*', '?']);
    let is_specific = !is_pattern || name.chars().filter(|one| !matches!(one, '*' | '?')).count() >= LITERAL;
    row.service_accounts.iter().copied().find(|own| is_specific && policy::matches(name, own))
}

/// Usual ServiceAccounts of a controller that may certainly assume a role, as `NAMESPACE/NAME`. A token of STS has the
/// audience that the guides of the controllers set.
fn admitted(row: &'static CompanionRow, role: &Role, account: &Account, issuers: &[&str]) -> Option<String> {
    const AUDIENCE: &str = "sts.amazonaws.com";
    let named = admitted_service_accounts(role.trust_policy.as_deref()).into_iter();
    named.filter_map(|(namespace, name)| Some((namespace, usual_name(row, &name)?))).find_map(|(namespace, name)| {
        let is_pattern = namespace.contains(['*', '?']);
        let own = if is_pattern { "kube-system" } else { namespace.as_str() };
        let subject = format!("system:serviceaccount:{own}:{name}");
        let providers = account.oidc_providers.as_deref();
        let token = Token { subject: &subject, audience: Some(AUDIENCE), issuers, providers };
        let is_admitted = trust(role, &token) == Trust::Admitted { is_open: false };
        is_admitted.then(|| if is_pattern { format!("{name} of any namespace") } else { format!("{own}/{name}") })
    })
}

/// Roles of the controllers of a cluster, by their trust policies. None if workloads were given: they show which
/// controllers run, and with which roles. In an account with several clusters, only those that name this one.
pub(crate) fn trusted_companions<'a>(
    view: &'a ClusterView<'a>,
    evidence: &Evidence,
    options: &RoleAuditOptions,
) -> Vec<TrustedRole<'a>> {
    if !evidence.workloads.is_empty() {
        return Vec::new();
    }
    let issuers = evidence.token_issuers();
    let regions: Vec<&str> = view.regions.iter().map(|region| region.region.name.as_str()).collect();
    let mut found = Vec::new();
    for account in &view.inventory.accounts {
        // IAM is global: the role may be that of a cluster in a region that was not read.
        let is_here = |role: &&Role| {
            let of_issuers = issuer_regions(role);
            of_issuers.is_empty() || of_issuers.iter().any(|region| regions.contains(&region.as_str()))
        };
        for row in COMPANIONS {
            let own = |role: &Role| admitted(row, role, account, &issuers);
            let trusting: Vec<&Role> =
                account.roles.iter().filter(is_here).filter(|role| own(role).is_some()).collect();
            // The only one may be that of another cluster.
            let is_ours = |role: &&Role| names_cluster(role, view.cluster_id);
            if !trusting.iter().any(is_ours) && (trusting.len() != 1 || has_other_clusters(view)) {
                continue;
            }
            for role in roles_of_cluster(view.cluster_id, &trusting) {
                let Some(service_account) = own(role) else { continue };
                let named = admitted_service_accounts(role.trust_policy.as_deref()).into_iter();
                let others = named.filter(|(_, name)| usual_name(row, name).is_none());
                let users: Vec<&'static CompanionRow> =
                    COMPANIONS.iter().filter(|one| admitted(one, role, account, &issuers).is_some()).collect();
                found.push(TrustedRole {
                    row,
                    role,
                    service_account,
                    others: others.map(|(namespace, name)| format!("ServiceAccount {namespace}/{name}")).collect(),
                    audited: audit(row, &users, account, role, view, options),
                });
            }
        }
    }
    found
}

/// True if resources of other clusters were read.
fn has_other_clusters(view: &ClusterView<'_>) -> bool {
    Clusters::from_inventory(view.inventory).ids().iter().any(|id| id != view.cluster_id)
}

/// Compares a role with what every release of a controller needs, and its excess with the needs of all of its users.
fn audit(
    row: &'static CompanionRow,
    users: &[&'static CompanionRow],
    account: &Account,
    role: &Role,
    view: &ClusterView<'_>,
    options: &RoleAuditOptions,
) -> Result<TrustedAudit, Vec<RoleGap>> {
    let set = policy_set(account, role, &options.scps)?;
    let prepared = PreparedPolicies::new(&set);
    let environment = environment(account, role, view);
    let catalogue = options.catalogue();
    let is_always = |one: &&NeededAction| one.trigger == Trigger::Always && one.since.is_none() && one.until.is_none();
    let needed: Vec<&'static NeededAction> = row.needed.iter().filter(is_always).collect();
    let grants = |action: &'static str| {
        let assessment = prepared.assess(Question::on(action, &[]), &environment, catalogue);
        !matches!(assessment.verdict, Verdict::Missing | Verdict::Denied)
    };
    let mut lacking = lacking(&needed, &prepared, &environment, catalogue);
    // It may assume the role that has the rights, such as one in the account of the DNS zone; external-dns also has
    // providers other than Route 53. Source: kubernetes-sigs/external-dns `docs/tutorials/aws-sd.md`.
    let is_for_another = row.companion == Companion::ExternalDns
        && (lacking.len() == needed.len() || grants("servicediscovery:RegisterInstance"));
    if is_for_another || grants("sts:AssumeRole") {
        lacking.clear();
    }
    let mut needs: Vec<Need> = vec![Need::everywhere("ec2:Describe*")];
    for user in users {
        needs.extend(baseline::needs_of_any_release(user.companion));
        needs.extend(user.needed.iter().map(|needed| Need::everywhere(needed.action)));
        needs.extend(user.optional.iter().map(|action| Need::everywhere(*action)));
    }
    let beyond = policy::excess(&set, &prepared, &needs, &environment, catalogue);
    Ok(TrustedAudit {
        needed: needed.len(),
        lacking,
        excess: beyond.excess.into_iter().filter(|one| one.needed_on.is_empty()).map(|one| one.action).collect(),
        paths: beyond.paths,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_usual_names() {
        let of = |name: &str| COMPANIONS.iter().filter_map(|row| usual_name(row, name)).collect::<Vec<_>>();
        assert_eq!(of("efs-csi-*"), ["efs-csi-controller-sa"]);
        assert_eq!(of("ebs-csi-controller-s?"), ["ebs-csi-controller-sa"]);
        assert_eq!(of("karpenter"), ["karpenter"]);
        for name in ["*", "*-sa", "a*", "web", "karpenter2"] {
            assert!(of(name).is_empty(), "{name}");
        }
    }
}
