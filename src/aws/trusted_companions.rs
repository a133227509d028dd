//! Roles that the usual ServiceAccounts of controllers may assume, of a cluster whose workloads were not given. Which
//! controller runs, and which version of it, is then unknown: only what holds for every release is compared.

use crate::aws::companion_audit::lacking;
use crate::aws::companions::environment;
use crate::aws::roles::{admitted_service_accounts, names_cluster, policy_set, roles_of_cluster};
use crate::aws::view::ClusterView;
use crate::aws::{Account, Role};
use crate::baseline;
use crate::clusters::Clusters;
use crate::controller::companion::{COMPANIONS, CompanionRow, NeededAction, Trigger};
use crate::kubernetes::Evidence;
use crate::policy::{self, Assessment, EscalationPath, Need, PreparedPolicies, Question, Verdict};
use crate::role_audit::RoleAuditOptions;

/// A role that the usual ServiceAccount of a controller may assume.
#[derive(Debug)]
pub(crate) struct TrustedRole<'a> {
    pub(crate) row: &'static CompanionRow,
    pub(crate) role: &'a Role,
    /// `NAMESPACE/NAME` of the ServiceAccount; may be a pattern.
    pub(crate) service_account: String,
    /// `None` if a policy was not read or is malformed.
    pub(crate) audited: Option<TrustedAudit>,
}

/// Grants of such a role.
#[derive(Debug)]
pub(crate) struct TrustedAudit {
    /// Number of actions that every release calls in everyday work.
    pub(crate) needed: usize,
    /// Those of them that it grants nowhere, with the assessment.
    pub(crate) lacking: Vec<(&'static str, Assessment)>,
    /// Patterns beyond what its project publishes for any release, worst first.
    pub(crate) excess: Vec<String>,
    /// Escalation paths through actions that nothing published for the controller needs.
    pub(crate) paths: Vec<EscalationPath>,
}

/// True if a role's trust policy admits the usual ServiceAccount of a controller.
#[cfg(feature = "aws")]
pub(crate) fn trusts_a_companion(trust_policy: Option<&str>) -> bool {
    let admitted = admitted_service_accounts(trust_policy);
    admitted.iter().any(|(_, name)| COMPANIONS.iter().any(|row| row.service_accounts.contains(&name.as_str())))
}

/// Roles of the controllers of a cluster, by their trust policies. None if workloads were given: they show which
/// controllers run, and with which roles. In an account with several clusters, only those that name this one.
pub(crate) fn trusted_companions<'a>(
    view: &'a ClusterView<'a>,
    evidence: &Evidence,
    options: &RoleAuditOptions,
) -> Vec<TrustedRole<'a>> {
    if !evidence.workloads.is_empty() || !evidence.web_identities().is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for account in &view.inventory.accounts {
        for row in COMPANIONS {
            let own = |role: &Role| {
                let mut admitted = admitted_service_accounts(role.trust_policy.as_deref()).into_iter();
                admitted.find(|(_, name)| row.service_accounts.contains(&name.as_str()))
            };
            let trusting: Vec<&Role> = account.roles.iter().filter(|role| own(role).is_some()).collect();
            // The only one may be that of another cluster.
            let is_ours = |role: &&Role| names_cluster(role, view.cluster_id);
            if !trusting.iter().any(is_ours) && (trusting.len() != 1 || has_other_clusters(view)) {
                continue;
            }
            for role in roles_of_cluster(view.cluster_id, &trusting) {
                let Some((namespace, name)) = own(role) else { continue };
                found.push(TrustedRole {
                    row,
                    role,
                    service_account: format!("{namespace}/{name}"),
                    audited: audit(row, account, role, view, options),
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

/// Compares a role with what every release of a controller needs. `None` if a policy was not read or is malformed.
fn audit(
    row: &'static CompanionRow,
    account: &Account,
    role: &Role,
    view: &ClusterView<'_>,
    options: &RoleAuditOptions,
) -> Option<TrustedAudit> {
    let set = policy_set(account, role, &options.scps).ok()?;
    let prepared = PreparedPolicies::new(&set);
    let environment = environment(account, role, view);
    let catalogue = options.catalogue();
    let is_always = |one: &&NeededAction| one.trigger == Trigger::Always && one.since.is_none() && one.until.is_none();
    let needed: Vec<&'static NeededAction> = row.needed.iter().filter(is_always).collect();
    // It may assume the role that has the rights, such as one in the account of the DNS zone.
    let assumes = prepared.assess(Question::on("sts:AssumeRole", &[]), &environment, catalogue);
    let lacking = if matches!(assumes.verdict, Verdict::Missing | Verdict::Denied) {
        lacking(&needed, &prepared, &environment, catalogue)
    } else {
        Vec::new()
    };
    let mut needs: Vec<Need> = vec![Need::everywhere("ec2:Describe*")];
    needs.extend(baseline::needs_of_any_release(row.companion));
    needs.extend(row.needed.iter().map(|needed| Need::everywhere(needed.action)));
    needs.extend(row.optional.iter().map(|action| Need::everywhere(*action)));
    let beyond = policy::excess(&set, &prepared, &needs, &environment, catalogue);
    Some(TrustedAudit {
        needed: needed.len(),
        lacking,
        excess: beyond.excess.into_iter().filter(|one| one.needed_on.is_empty()).map(|one| one.action).collect(),
        paths: beyond.paths,
    })
}
