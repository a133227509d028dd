//! The main job as one pure function: an inventory in, a report out.

use std::collections::BTreeMap;

use crate::baseline::BaselineError;
use crate::estate::EstateRef;
use crate::finding::Status;
use crate::finding::{Finding, Severity};
use crate::inventory::{Gap, Inventory, Provider};
use crate::kubernetes::{Evidence, ListGap};
use crate::nodes::KubernetesNode;
use crate::plan;
use crate::report::{Account, ActionReport, Configuration, RoleReport, Source, SourceKind};
use crate::resource::ResourceKind;
use crate::role_audit::{self, RoleAudit, RoleAuditOptions, RoleAudits, RoleGap};
use crate::rules::{self, Context, Outcomes, RULES, Rule, RuleOutcome};
use crate::text;
use crate::topology::{VpcTopology, topology};
use crate::view::{Apart, ClusterView, NodeRoleSelector, RoleAssignment};

mod alibaba;
mod promise;
mod report;
mod unseen;

pub use alibaba::AlibabaAuditor;

/// What an audit is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A report prints commands: each has to be tried first.
    Report,
    /// A plan is made of the findings, and tries what it holds by itself.
    Plan,
}

/// Audits inventories for a cluster, all with the same options: the one that was read, and what plans would make of it.
#[derive(Debug, Clone, Copy)]
pub struct Auditor<'a> {
    /// The cluster id.
    pub cluster_id: &'a str,
    /// What Kubernetes says, as far as it was given.
    pub kubernetes: &'a Evidence,
    /// `--node-role`.
    pub selectors: &'a [NodeRoleSelector],
    /// What the roles are compared with.
    pub role_audit: &'a RoleAuditOptions,
    /// Rules to run.
    pub rules: &'a [&'static Rule],
    /// `--cloud-routes`.
    pub cloud_routes: bool,
    /// Where the evidence comes from.
    pub source: SourceKind,
}

impl Auditor<'_> {
    fn nodes(&self) -> Option<&[KubernetesNode]> {
        self.kubernetes.nodes.as_deref()
    }

    /// Audits an inventory for a report. What it calls safe is what `--fix` makes of it without another word, and the commands that it
    /// prints were tried on a copy.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn audit(&self, inventory: &Inventory) -> Result<Audit, BaselineError> {
        self.audit_for(inventory, Purpose::Report)
    }

    /// The same for whatever it is needed.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn audit_for(&self, inventory: &Inventory, purpose: Purpose) -> Result<Audit, BaselineError> {
        let view = ClusterView::new(inventory, self.cluster_id, self.nodes(), self.selectors);
        let gaps = gaps(&view);
        let (roles, mut outcome) = self.run(&view, &gaps)?;
        let again = |estate: EstateRef<'_>, cluster_id: &str| self.again(estate, cluster_id);
        promise::keep(EstateRef::Aws(inventory), &self.scope(), &again, purpose, &mut outcome.findings);
        let not_audited = not_audited(&gaps, outcome.unread, outcome.uncompared, &outcome.unlisted);
        let accounts = inventory.accounts.iter().map(|account| Account {
            account_id: account.account_id.clone(),
            partition: account.partition.clone(),
            regions: account.regions.iter().map(|region| region.name.clone()).collect(),
            caller: self.source.caller(&account.caller_arn),
        });
        Ok(Audit {
            provider: inventory.provider,
            cluster_id: self.cluster_id.to_owned(),
            accounts: accounts.collect(),
            configuration: None,
            source: Source {
                kind: self.source,
                collected_at: inventory.collected_at.clone(),
                collected_until: inventory.collected_until.clone(),
                profile: inventory.profile.clone(),
            },
            nothing_to_audit: outcome.findings.is_empty() && not_audited.is_empty() && !view.is_anything_here(),
            not_audited,
            findings: outcome.findings,
            roles: roles.audits.iter().map(role_report).collect(),
            rules: outcome.rules,
            resources: count_resources(inventory),
            nodes: count_nodes(view.members().map(|member| &member.roles)),
            topology: topology(&view),
        })
    }

    /// What a plan is made for that nobody keeps.
    fn scope(&self) -> plan::Scope<'_> {
        plan::Scope::unkept(self.cluster_id, self.source, self.nodes(), self.rules)
    }

    /// Where the tag and the Nodes have no instance in common though both name some.
    #[must_use]
    pub fn apart(&self, inventory: &Inventory) -> Option<Apart> {
        ClusterView::new(inventory, self.cluster_id, self.nodes(), self.selectors).apart()
    }

    /// What all rules find in a changed inventory, for the audited cluster or one near it: whatever rules the operator asked
    /// for, a change must not break what another one looks at.
    ///
    /// # Errors
    /// When a baseline is broken, or the inventory is of another cloud.
    pub fn again(&self, estate: EstateRef<'_>, cluster_id: &str) -> Result<Vec<Finding>, String> {
        let EstateRef::Aws(inventory) = estate else {
            return Err("an inventory of another cloud cannot be audited for AWS".to_owned());
        };
        let is_other = cluster_id != self.cluster_id;
        let rules: Vec<&'static Rule> =
            RULES.iter().copied().filter(|rule| !(is_other && rule.check.is_of_policies())).collect();
        // The roles and Nodes of other clusters were not read.
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
                ..*self
            }
        } else {
            Auditor { rules: &rules, ..*self }
        };
        auditor.findings(inventory).map_err(|error| error.to_string())
    }

    /// What the rules find, as they see it: whether a fix of theirs would break something else is not looked at.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn findings(&self, inventory: &Inventory) -> Result<Vec<Finding>, BaselineError> {
        let view = ClusterView::new(inventory, self.cluster_id, self.nodes(), self.selectors);
        Ok(self.run(&view, &gaps(&view))?.1.findings)
    }

    /// Compares the roles and runs the rules.
    fn run<'v>(&self, view: &'v ClusterView<'v>, gaps: &[Gap]) -> Result<(RoleAudits<'v>, Outcomes), BaselineError> {
        let selected = rules::of_provider(self.rules, Provider::Aws);
        let wants_policies = selected.iter().any(|rule| rule.check.is_of_policies());
        let roles = if wants_policies { role_audit::audit(view, self.role_audit)? } else { RoleAudits::default() };
        let context = Context {
            view,
            gaps,
            roles: &roles,
            controller_version: self.role_audit.controller_version,
            credentials_elsewhere: self.role_audit.credentials_elsewhere,
            cloud_routes: self.cloud_routes,
            kubernetes: self.kubernetes,
        };
        let outcome = rules::run(&context, &selected);
        Ok((roles, outcome))
    }
}

/// Everything that is unknown of a cluster: what could not be read, and lists that its Nodes contradict.
fn gaps(view: &ClusterView<'_>) -> Vec<Gap> {
    let mut gaps = view.inventory.gaps.clone();
    gaps.extend(unseen::of_aws(view));
    gaps.sort();
    gaps
}

/// What an audit comes to.
#[derive(Debug, Clone)]
pub struct Audit {
    /// Cloud.
    pub provider: Provider,
    /// Audited cluster id.
    pub cluster_id: String,
    /// Accounts and regions that were read.
    pub accounts: Vec<Account>,
    /// Where the evidence comes from.
    pub source: Source,
    /// The configuration that changed severities and waived findings, where there was one.
    pub configuration: Option<Configuration>,
    /// What could not be audited.
    pub not_audited: Vec<NotAudited>,
    /// True if nothing that was read is of the cluster, and no finding says so.
    pub nothing_to_audit: bool,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// The roles of the nodes, compared with their baselines.
    pub roles: Vec<RoleReport>,
    /// What became of each rule that was asked for, by its id.
    pub rules: Vec<RuleOutcome>,
    /// Resources read, by kind.
    pub resources: BTreeMap<ResourceKind, usize>,
    /// Nodes of the cluster, by role set.
    pub nodes: BTreeMap<String, usize>,
    /// The cluster in its network.
    pub topology: Vec<VpcTopology>,
}

/// Something that could not be audited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAudited {
    /// IAM name of the call, or what it is.
    pub what: &'static str,
    /// The resource; absent when a whole list is unknown.
    pub resource: Option<String>,
    /// Account.
    pub account_id: Option<String>,
    /// Region.
    pub region: Option<String>,
    /// Error code.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// Rules that were not checked because of it, or not on what it would have shown.
    pub rules: Vec<&'static str>,
}

impl Audit {
    /// Whether everything could be audited.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.not_audited.is_empty()
    }

    /// How many findings are at least this bad.
    #[must_use]
    pub fn at_least(&self, severity: Severity) -> usize {
        self.open().filter(|finding| finding.severity >= severity).count()
    }

    /// The findings that are not waived.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status != Status::Waived)
    }
}

/// What was not read and not compared; what could not be evaluated because a read failed is said once, by that read.
fn not_audited(
    gaps: &[Gap],
    reads: Vec<(Gap, Vec<&'static str>)>,
    uncompared: Vec<(RoleGap, Vec<&'static str>)>,
    unlisted: &[(ListGap, Vec<&'static str>)],
) -> Vec<NotAudited> {
    let mut not_audited: Vec<NotAudited> = reads.into_iter().map(unread).collect();
    for (gap, rules) in uncompared {
        let said = gaps.iter().position(|read| gap.is_said_by(read));
        if let Some(entry) = said.and_then(|at| not_audited.get_mut(at)) {
            entry.rules.extend(rules);
            entry.rules.sort_unstable();
            entry.rules.dedup();
        } else {
            not_audited.push(NotAudited {
                what: gap.what(),
                reason: gap.reason().to_owned(),
                message: gap.message(),
                resource: Some(gap.role),
                account_id: Some(gap.account_id),
                region: None,
                rules,
            });
        }
    }
    not_audited.extend(of_lists(unlisted));
    not_audited
}

/// Lists of a live cluster that were not read, where rules look at them; what failed for the same reason is said once.
fn of_lists(unlisted: &[(ListGap, Vec<&'static str>)]) -> Vec<NotAudited> {
    let gaps = unlisted.iter().map(|(gap, _)| gap.clone()).filter(|gap| !gap.list.looked_at().is_empty());
    let gaps: Vec<ListGap> = gaps.collect();
    let of_group = |group: Vec<&ListGap>| {
        let first = group.first()?;
        let mine = unlisted.iter().filter(|(gap, _)| group.contains(&gap));
        let mut rules: Vec<&'static str> = mine.flat_map(|(_, rules)| rules).copied().collect();
        rules.sort_unstable();
        rules.dedup();
        let (what, message) = match group.as_slice() {
            [one] => (one.list.what(), one.message.clone()),
            all => {
                let names: Vec<&str> = all.iter().map(|gap| gap.list.resource()).collect();
                ("kubernetes:list", format!("{}: {}", text::list(&names, 3), first.message))
            }
        };
        let (resource, account_id, region) = (None, None, None);
        Some(NotAudited { what, resource, account_id, region, reason: first.reason.clone(), message, rules })
    };
    ListGap::grouped(&gaps).into_iter().filter_map(of_group).collect()
}

/// A failed read in the report.
fn unread((gap, rules): (Gap, Vec<&'static str>)) -> NotAudited {
    NotAudited {
        what: gap.read.action(),
        resource: gap.resource,
        account_id: gap.account_id,
        region: gap.region,
        reason: gap.reason,
        message: gap.message,
        rules,
    }
}

fn count_resources(inventory: &Inventory) -> BTreeMap<ResourceKind, usize> {
    let mut counts: BTreeMap<ResourceKind, usize> = BTreeMap::new();
    let mut add = |kind: ResourceKind, number: usize| *counts.entry(kind).or_default() += number;
    for account in &inventory.accounts {
        add(ResourceKind::Role, account.roles.len());
        add(ResourceKind::InstanceProfile, account.instance_profiles.len());
        for region in &account.regions {
            for kind in ResourceKind::ALL.into_iter().filter(|kind| kind.is_ec2()) {
                add(kind, 0);
            }
            region.tagged().filter(|resource| resource.is_live()).for_each(|resource| add(resource.kind(), 1));
        }
    }
    counts
}

/// How many nodes have each set of roles; a question mark says that it is guessed.
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

fn role_report(audit: &RoleAudit<'_>) -> RoleReport {
    RoleReport {
        node_roles: audit.node_roles.iter().collect(),
        instances: audit.members.iter().map(|member| member.instance.id.clone()).collect(),
        actions: audit.actions.iter().map(|one| ActionReport::new(&one.action, &one.assessment)).collect(),
        assumable_roles: audit.more_privileged.iter().map(|arn| (*arn).to_owned()).collect(),
        ..RoleReport::of_policies(audit.role.arn.clone(), audit.baseline.clone(), &audit.beyond, &audit.tightened)
    }
}
