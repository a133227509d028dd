//! The audit of a cluster as one pure function: an estate in, findings and gaps out.

use std::collections::BTreeMap;

use crate::aws::view::ClusterView;
use crate::baseline::BaselineError;
use crate::estate::{Account, EstateRef, Identity, Source, SourceKind};
use crate::finding::{Finding, Severity, Status};
use crate::fix::plan;
use crate::inventory::{Gap, Provider};
use crate::kubernetes::Evidence;
use crate::membership::{Apart, Held, NodeRoleSelector, RoleAssignment};
use crate::nodes::KubernetesNode;
use crate::prices::Prices;
use crate::resource::ResourceKind;
use crate::role_audit::{RoleAuditOptions, RoleGap};
use crate::rules::alibaba::Installer;
use crate::rules::{self, JudgedRoles, Outcome, Outcomes, RULES, Rule, RuleOutcome};
use crate::topology::VpcTopology;
use crate::used_role::RoleOverview;

pub(crate) mod alibaba;
mod aws;
mod configuration;
mod leftover_costs;
mod not_audited;
mod promise;
mod roles;
mod unread;
mod unseen;

pub(crate) use crate::used_role::UsedRole;
pub(crate) use configuration::Configuration;
pub(crate) use not_audited::NotAudited;
pub(crate) use roles::{ActionReport, RoleReport};

/// Consumer of the findings of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A report: it prints commands, and each is tried first.
    Report,
    /// A plan: it is built from the findings and tries its own changes.
    Plan,
}
/// Audits estates for one cluster with one set of options: the estate that was read, and the copies that plans change.
#[derive(Debug, Clone, Copy)]
pub struct Auditor<'a> {
    pub cluster_id: &'a str,
    /// The state of the cluster in Kubernetes, as far as it was given.
    pub kubernetes: &'a Evidence,
    pub selectors: &'a [NodeRoleSelector],
    /// Baselines and options for roles and principals.
    pub role_audit: &'a RoleAuditOptions,
    /// Rules to run; those of other clouds are skipped.
    pub rules: &'a [&'static Rule],
    pub cloud_routes: bool,
    /// `--installer`; for Alibaba Cloud alone.
    pub installer: Option<Installer>,
    /// Origin of the evidence.
    pub source: SourceKind,
    /// Prices of resources, if they were given.
    pub prices: Option<&'a Prices>,
    /// The nodes before a change of a plan that is tried on a copy; `None` for everything else.
    pub held: Option<&'a Held>,
}

/// Results of the rules of one cloud, with the parts of an audit that its inventory gives.
struct Examined {
    outcomes: Outcomes,
    /// Reads that failed, and lists that the Nodes contradict.
    gaps: Vec<Gap>,
    /// True if something that was read belongs to the cluster.
    is_anything_here: bool,
    roles: Vec<RoleReport>,
    controllers: Vec<UsedRole>,
    resources: BTreeMap<ResourceKind, usize>,
    nodes: BTreeMap<String, usize>,
    topology: Vec<VpcTopology>,
}

impl<'a> Auditor<'a> {
    fn nodes(&self) -> Option<&'a [KubernetesNode]> {
        self.kubernetes.nodes.as_deref()
    }

    /// Audits an estate for a report. Fixes that are reported as safe are those that `--fix` makes without consent, and
    /// every printed command was tried on a copy.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn audit(&self, estate: EstateRef<'_>) -> Result<Audit, BaselineError> {
        self.audit_for(estate, Purpose::Report)
    }

    /// Audits an estate for a report or a plan.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn audit_for(&self, estate: EstateRef<'_>, purpose: Purpose) -> Result<Audit, BaselineError> {
        // Each cloud has its own view of an estate; everything after it is shared.
        let examined = match estate {
            EstateRef::Aws(inventory) => aws::examine(self, inventory)?,
            EstateRef::Alibaba(inventory) => alibaba::examine(self, inventory)?,
        };
        let Outcomes { mut findings, rules, unread, uncompared, unlisted } = examined.outcomes;
        let re_audit = |estate: EstateRef<'_>, cluster_id: &str| self.re_audit(estate, cluster_id);
        let scope = plan::Scope::preview(self.cluster_id, self.source, self.nodes(), self.rules);
        promise::verify(estate, &scope, &re_audit, purpose, &mut findings);
        if let Some(prices) = self.prices {
            leftover_costs::note(prices, estate, self.rules, &mut findings);
        }
        let not_audited = not_audited::not_audited(&examined.gaps, unread, uncompared, &unlisted);
        let account = |identity: Identity| Account {
            account_id: identity.account_id,
            partition: identity.partition,
            regions: identity.regions,
            caller: self.source.caller(&identity.caller_arn),
        };
        Ok(Audit {
            provider: estate.provider(),
            cluster_id: self.cluster_id.to_owned(),
            accounts: estate.identities().into_iter().map(account).collect(),
            configuration: None,
            source: Source {
                kind: self.source,
                collected_at: estate.collected_at(),
                collected_until: estate.collected_until(),
                profile: estate.profile(),
            },
            nothing_to_audit: findings.is_empty() && not_audited.is_empty() && !examined.is_anything_here,
            not_audited,
            findings,
            roles: examined.roles,
            controllers: examined.controllers,
            rules,
            resources: examined.resources,
            nodes: examined.nodes,
            topology: examined.topology,
        })
    }

    /// The roles of a cluster in AWS, and what uses them.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub(crate) fn role_overview(&self, estate: EstateRef<'_>) -> Result<RoleOverview, BaselineError> {
        match estate {
            EstateRef::Aws(inventory) => aws::role_overview(self, inventory),
            EstateRef::Alibaba(inventory) => alibaba::role_overview(self, inventory),
        }
    }

    /// The cluster in an inventory of AWS.
    #[must_use]
    pub(crate) fn view(&self, inventory: &'a crate::aws::Inventory) -> ClusterView<'a> {
        aws::view(self, inventory)
    }

    /// The cluster in an inventory of Alibaba Cloud.
    #[must_use]
    pub(crate) fn view_of_alibaba(&self, inventory: &'a crate::alibaba::Inventory) -> crate::alibaba::ClusterView<'a> {
        alibaba::view(self, inventory)
    }

    /// Contradiction between the cluster's tag and its Nodes, if both name instances and have none in common.
    #[must_use]
    pub fn apart(&self, estate: EstateRef<'_>) -> Option<Apart> {
        match estate {
            EstateRef::Aws(inventory) => aws::apart(self, inventory),
            EstateRef::Alibaba(inventory) => alibaba::apart(self, inventory),
        }
    }

    /// Findings of all rules in a changed estate, for the audited cluster or another one near it: a change must break
    /// nothing, whichever rules the operator selected.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn re_audit(&self, estate: EstateRef<'_>, cluster_id: &str) -> Result<Vec<Finding>, BaselineError> {
        let is_other = cluster_id != self.cluster_id;
        let rules: Vec<&'static Rule> =
            RULES.iter().copied().filter(|rule| !(is_other && rule.check.inspects_policies())).collect();
        // The roles, principals and Nodes of other clusters were not read.
        let defaults = RoleAuditOptions::default();
        let nothing = Evidence::default();
        let auditor = if is_other {
            Auditor {
                cluster_id,
                kubernetes: &nothing,
                selectors: &[],
                role_audit: &defaults,
                rules: &rules,
                cloud_routes: false,
                installer: None,
                source: self.source,
                prices: None,
                held: None,
            }
        } else {
            Auditor { rules: &rules, ..*self }
        };
        auditor.findings(estate)
    }

    /// Findings as the rules give them: their fixes were not tried.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn findings(&self, estate: EstateRef<'_>) -> Result<Vec<Finding>, BaselineError> {
        match estate {
            EstateRef::Aws(inventory) => aws::findings(self, inventory),
            EstateRef::Alibaba(inventory) => alibaba::findings(self, inventory),
        }
    }
}

/// Result of an audit.
#[derive(Debug, Clone)]
pub struct Audit {
    /// Cloud.
    pub provider: Provider,
    /// Audited cluster id.
    pub cluster_id: String,
    /// Accounts and regions that were read.
    pub accounts: Vec<Account>,
    /// Origin of the evidence.
    pub source: Source,
    /// Configuration that changed severities and waived findings, if any.
    pub configuration: Option<Configuration>,
    /// Reads and roles that could not be audited.
    pub not_audited: Vec<NotAudited>,
    /// True if nothing that was read belongs to the cluster and there is no finding.
    pub nothing_to_audit: bool,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// The roles of the nodes, compared with their baselines.
    pub roles: Vec<RoleReport>,
    /// The roles of the controllers next to the cloud controller, as far as they are known.
    pub controllers: Vec<UsedRole>,
    /// Outcomes of the selected rules, by rule id.
    pub rules: Vec<RuleOutcome>,
    /// Resources read, by kind.
    pub resources: BTreeMap<ResourceKind, usize>,
    /// Nodes of the cluster, by role set.
    pub nodes: BTreeMap<String, usize>,
    /// The cluster in its network.
    pub topology: Vec<VpcTopology>,
}

impl Audit {
    /// True if everything could be audited.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.not_audited.is_empty()
    }

    /// Number of open findings of at least this severity.
    #[must_use]
    pub fn at_least(&self, severity: Severity) -> usize {
        self.open().filter(|finding| finding.severity >= severity).count()
    }

    /// True if everything was read, and nothing that belongs to the cluster is left.
    #[must_use]
    pub fn has_nothing_left(&self) -> bool {
        let is_about_absence = |finding: &Finding| rules::find(finding.rule).is_some_and(|rule| rule.always_runs);
        self.is_complete() && self.open().all(is_about_absence)
    }

    /// The findings that are not waived.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status != Status::Waived)
    }
}

/// Adds the roles of ServiceAccounts that were not read completely.
fn note_unread(outcomes: &mut Outcomes, judged: JudgedRoles, gaps: &[RoleGap], selected: &[&'static Rule]) {
    let Some(first) = gaps.first() else { return };
    let rules: Vec<&'static str> = selected.iter().filter(|rule| rule.judges == judged).map(|rule| rule.id).collect();
    for outcome in outcomes.rules.iter_mut().filter(|outcome| rules.contains(&outcome.rule)) {
        if outcome.outcome != Outcome::Failed {
            outcome.outcome = Outcome::NotAudited;
        }
        outcome.why = Some(first.describe());
    }
    for gap in gaps {
        if !outcomes.uncompared.iter().any(|(known, _)| known == gap) {
            outcomes.uncompared.push((gap.clone(), rules.clone()));
        }
    }
}

/// Counts the nodes of each set of roles; a question mark marks a guess.
fn count_nodes<'r>(assigned: impl Iterator<Item = &'r RoleAssignment>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for assignment in assigned {
        let mut roles = assignment.roles.describe();
        if !assignment.roles.is_unknown() && !assignment.is_reliable() {
            roles.push('?');
        }
        *counts.entry(roles).or_default() += 1;
    }
    counts
}
