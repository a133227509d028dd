//! Roles that the usual ServiceAccounts of controllers may assume, of a cluster whose workloads were not given. Which
//! controller runs, and which version of it, is then unknown: only what holds for every release is compared.

use crate::aws::companion_audit::{lacking, published_needs};
use crate::aws::companions::environment;
use crate::aws::roles::{admitted_service_accounts, names_cluster, policy_set, roles_of_cluster};
use crate::aws::view::ClusterView;
use crate::aws::web_identity::{Token, Trust, issuer_regions, trust};
use crate::aws::{Account, Role};
use crate::clusters::Clusters;
use crate::controller::companion::{COMPANIONS, Companion, CompanionRow};
use crate::controller::needed_action::{NeededAction, Trigger};
use crate::kubernetes::{Evidence, SUBJECT_PREFIX};
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

/// A role with the usual ServiceAccounts that may certainly assume it.
struct Admitting<'a> {
    role: &'a Role,
    /// Names and namespaces in its trust policy, which may be patterns.
    named: Vec<(String, String)>,
    /// Controllers, each with its ServiceAccount as `NAMESPACE/NAME`.
    users: Vec<(&'static CompanionRow, String)>,
}

impl<'a> Admitting<'a> {
    fn new(role: &'a Role, account: &Account, issuers: &[&str]) -> Self {
        let named = admitted_service_accounts(role.trust_policy.as_deref());
        let own = |row: &'static CompanionRow| Some((row, admitted(row, role, &named, account, issuers)?));
        let users = COMPANIONS.iter().filter_map(own).collect();
        Self { role, named, users }
    }

    /// The ServiceAccount of a controller that may assume the role.
    fn service_account(&self, row: &CompanionRow) -> Option<&String> {
        self.users.iter().find(|(user, _)| user.companion == row.companion).map(|(_, account)| account)
    }
}

/// Usual ServiceAccount of a controller that may certainly assume a role, as `NAMESPACE/NAME`. A token of STS has the
/// audience that the guides of the controllers set.
fn admitted(
    row: &'static CompanionRow,
    role: &Role,
    named: &[(String, String)],
    account: &Account,
    issuers: &[&str],
) -> Option<String> {
    const AUDIENCE: &str = "sts.amazonaws.com";
    let usual = named.iter().filter_map(|(namespace, name)| Some((namespace, usual_name(row, name)?)));
    usual.into_iter().find_map(|(namespace, name)| {
        let is_pattern = namespace.contains(['*', '?']);
        let own = if is_pattern { "kube-system" } else { namespace.as_str() };
        let subject = format!("{SUBJECT_PREFIX}{own}:{name}");
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
        let roles = account.roles.iter().map(|role| Admitting::new(role, account, &issuers));
        let admitting: Vec<Admitting<'_>> = roles.filter(|one| !one.users.is_empty() && is_here(&one.role)).collect();
        for row in COMPANIONS {
            let trusting: Vec<&Role> =
                admitting.iter().filter(|one| one.service_account(row).is_some()).map(|one| one.role).collect();
            // The only one may be that of another cluster.
            let is_ours = |role: &&Role| names_cluster(role, view.cluster_id);
            if trusting.is_empty() || !trusting.iter().any(is_ours) && (trusting.len() != 1 || has_other_clusters(view))
            {
                continue;
            }
            let ours = roles_of_cluster(view.cluster_id, &trusting);
            for one in admitting.iter().filter(|one| ours.iter().any(|role| std::ptr::eq(*role, one.role))) {
                let Some(service_account) = one.service_account(row) else { continue };
                let others = one.named.iter().filter(|(_, name)| usual_name(row, name).is_none());
                let users: Vec<&'static CompanionRow> = one.users.iter().map(|(user, _)| *user).collect();
                found.push(TrustedRole {
                    row,
                    role: one.role,
                    service_account: service_account.clone(),
                    others: others.map(|(namespace, name)| format!("ServiceAccount {namespace}/{name}")).collect(),
                    audited: audit(row, &users, account, one.role, view, options),
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
    let mut lacking = lacking(&needed, &prepared, &environment, catalogue, true);
    // It may assume the role that has the rights, such as one in the account of the DNS zone; external-dns also has
    // providers other than Route 53. Source: kubernetes-sigs/external-dns `docs/tutorials/aws-sd.md`.
    let is_for_another = row.companion == Companion::ExternalDns
        && (lacking.len() == needed.len() || grants("servicediscovery:RegisterInstance"));
    if is_for_another || grants("sts:AssumeRole") {
        lacking.clear();
    }
    let mut needs = published_needs(users);
    needs.extend(users.iter().flat_map(|user| user.needed).map(|needed| Need::everywhere(needed.action)));
    let beyond = policy::excess(&set, &prepared, &needs, &environment, catalogue);
    Ok(TrustedAudit { needed: needed.len(), lacking, excess: beyond.unneeded(), paths: beyond.paths })
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
