//! Tries a plan of Terraform or OpenTofu, or a change set of CloudFormation, on a copy of an account, and compares the
//! findings of all clusters before and after it. A pure function of an inventory and a plan.
//!
//! The plan is applied as the difference of each attribute, never as the state after it: an attribute may repeat what
//! another resource manages. Values that are known only after the plan is applied are followed to the resources of the
//! plan that make them; the rest is undecided where a cluster depends on it, and left alone where none does.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::audit::{Auditor, NotAudited, Purpose, RoleReport};
use crate::baseline::BaselineError;
use crate::estate::EstateRef;
use crate::finding::{Finding, ResourceRef, Severity, Status, Waiver};
use crate::inventory::Provider;
use crate::kubernetes::Evidence;
use crate::membership::Held;
use crate::policy::Verdict;
use crate::resource::ResourceKind;
use crate::rules::{self, Prerequisite};
use crate::text;

mod addresses;
mod alibaba;
mod change;
mod change_set;
mod choices;
mod copy;
mod hide;
mod identity;
mod ingress;
mod instances;
mod launch_templates;
mod links;
mod links_on_copy;
mod load_balancing;
mod manifests;
mod metadata_options;
mod objects;
mod place;
mod plan;
mod references;
mod scaling;
mod scope;
mod secrets;
mod subject;
mod tags;
mod terraform;
mod trial;

pub(crate) use change_set::read_plan;
pub(crate) use choices::Choice;
pub(crate) use manifests::Manifests;
pub(crate) use plan::Plan;
pub(crate) use terraform::{Document, PlanError};

use addresses::{Key, addresses};
use place::account_of;
use subject::Subject;
use trial::Effect;

/// Schema of [`Guard`]; `docs/guard.schema.json` describes it.
const SCHEMA: &str = "tagaudit.guard/1";

/// Verdict on a plan, for the clusters of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Guard {
    pub(crate) schema: &'static str,
    /// The judged clusters.
    pub(crate) clusters: Vec<String>,
    /// Time at which the inventory was read; absent if it does not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) collected_at: Option<String>,
    /// Version of the tool that wrote the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan_version: Option<String>,
    /// Number of changes to the cloud in the plan.
    pub(crate) changes: usize,
    /// Objects of Kubernetes that are applied: kind and name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) objects: Vec<String>,
    /// Findings that the plan causes or makes worse, worst first.
    pub(crate) new: Vec<Judged>,
    /// Findings of before that concern more resources after the plan, or more permissions of a role.
    pub(crate) worse: Vec<Judged>,
    /// Findings that the plan causes or makes worse, and that the configuration waives: they do not count.
    pub(crate) waived: Vec<Judged>,
    /// Findings that the plan resolves.
    pub(crate) resolved: Vec<Judged>,
    /// Decisions of controllers about load balancers that the plan changes.
    pub(crate) choices: Vec<Choice>,
    /// Changes whose effect is not known before the plan is applied.
    pub(crate) undecided: Vec<Told>,
    /// Changes that concern instances that are launched later.
    pub(crate) later: Vec<Told>,
    /// Parts that were not judged.
    pub(crate) not_audited: Vec<String>,
}

/// A finding, with the changes that cause or resolve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Judged {
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    pub(crate) cluster: String,
    pub(crate) resource: ResourceRef,
    /// First of the addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    /// Addresses in the plan.
    pub(crate) addresses: Vec<String>,
    pub(crate) message: String,
    pub(crate) impact: String,
    /// The fix, in one sentence.
    pub(crate) fix: String,
    pub(crate) fingerprint: String,
    /// The waiver of the configuration, also if it has expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiver: Option<Waiver>,
}

/// A change, with a statement about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Told {
    pub(crate) address: String,
    pub(crate) why: String,
}

/// A plan that cannot be tried on an inventory.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuardError {
    #[error("the plan is about account {plan}, and the inventory holds {}", .inventory.join(", "))]
    OtherAccount { plan: String, inventory: Vec<String> },
    #[error("the plan changes nothing in {}, which the inventory is about", .0.describe())]
    OtherCloud(Provider),
    #[error(transparent)]
    Baseline(#[from] BaselineError),
}

impl Guard {
    /// Number of new and worse findings of at least this severity.
    pub(crate) fn at_least(&self, severity: Severity) -> usize {
        self.new.iter().chain(&self.worse).filter(|finding| finding.severity >= severity).count()
    }
}

/// Tries a plan, and objects of Kubernetes, on a copy of an inventory, for each of these clusters. `configure` sets the severities that the operator
/// chose, and marks waived findings.
///
/// # Errors
/// If the plan is about other accounts, or a baseline is broken.
pub(crate) fn guard(
    estate: EstateRef<'_>,
    (plan, manifests): (&Plan, Option<&Manifests>),
    auditors: &[Auditor<'_>],
    configure: &dyn Fn(&mut [Finding]),
) -> Result<Guard, GuardError> {
    check_account(estate, plan)?;
    let clusters: BTreeSet<String> = auditors.iter().map(|auditor| auditor.cluster_id.to_owned()).collect();
    let (subject, nodes) = Subject::new(estate, auditors, plan, &clusters);
    let (changed, effects) = subject.applied(plan, None);
    let after = changed.as_ref();
    let deleted: BTreeSet<String> = estate.live_instances().difference(&after.live_instances()).cloned().collect();
    let has_new = after.live_instances().difference(&estate.live_instances()).next().is_some();
    let objects = objects_of(manifests, auditors);
    let mut guard = Guard {
        schema: SCHEMA,
        clusters: clusters.into_iter().collect(),
        collected_at: estate.collected_at(),
        plan_version: plan.version.clone(),
        changes: plan.effective().count(),
        objects: objects.iter().map(addresses::ObjectAddress::describe).collect(),
        new: Vec::new(),
        worse: Vec::new(),
        waived: Vec::new(),
        resolved: Vec::new(),
        choices: Vec::new(),
        undecided: told(plan, &effects, |effect| &effect.undecided),
        later: told(plan, &effects, |effect| &effect.later),
        not_audited: plan.notes.clone(),
    };
    guard.undecided.extend(plan.open.iter().map(|(address, why)| Told { address: address.clone(), why: why.clone() }));
    for (auditor, held) in auditors.iter().zip(&nodes) {
        // New nodes may take their place.
        if let Some(ended) = held.is_ended_without(&deleted).filter(|_| !has_new) {
            let is_it = |(kind, id): &(ResourceKind, String)| *kind == ResourceKind::Instance && deleted.contains(id);
            let deleting = plan.changes.iter().zip(&effects).find(|(_, effect)| effect.touched.iter().any(is_it));
            guard.undecided.extend(deleting.map(|(change, _)| Told {
                address: change.address.clone(),
                why: format!("the plan deletes {} of `{}`", ended.describe(), text::printable(auditor.cluster_id)),
            }));
        }
        let refused = manifests.map(|manifests| manifests.refused(auditor.kubernetes)).unwrap_or_default();
        guard.undecided.extend(refused.into_iter().map(|(object, why)| Told { address: object.describe(), why }));
        let evidence = evidence_after(auditor.kubernetes, manifests, (held, &deleted));
        let kubernetes = evidence.as_ref().unwrap_or(auditor.kubernetes);
        let holding = Auditor { held: Some(held), kubernetes, ..*auditor };
        let without = |at: usize| {
            let (copy, _) = subject.applied(plan, Some(at));
            let mut findings = holding.findings(copy.as_ref())?;
            configure(&mut findings);
            Ok(findings)
        };
        let mut before = auditor.audit_for(estate, Purpose::Plan)?;
        let mut found = holding.audit_for(after, Purpose::Plan)?;
        // A plan that deletes the last leftover of a cluster leaves nothing that carries its id, as it should.
        if before.nodes.is_empty() {
            found.findings.retain(|one| !rules::find(one.rule).is_some_and(|rule| rule.always_runs));
        }
        let ends_a_controller = manifests::ends_a_controller(auditor.kubernetes, kubernetes);
        if manifests.is_some() && !ends_a_controller {
            let held = |one: &Finding| before.findings.iter().any(|old| Key::of(old) == Key::of(one));
            found.findings.retain(|one| !reports_leftovers(one) || held(one) || is_touched(one, &effects));
        }
        configure(&mut before.findings);
        configure(&mut found.findings);
        guard.not_audited.extend(before.not_audited.iter().map(|gap| unread(auditor.cluster_id, gap)));
        // What the plan puts in the place of what was read may not have been read.
        let is_new = |gap: &&NotAudited| {
            !before.not_audited.iter().any(|old| (&old.what, &old.resource) == (&gap.what, &gap.resource))
        };
        let unread_after: Vec<&NotAudited> = found.not_audited.iter().filter(is_new).collect();
        guard
            .not_audited
            .extend(unread_after.iter().map(|gap| format!("{}, after the plan", unread(auditor.cluster_id, gap))));
        let lost = lost_rights(&before.roles, &found.roles);
        let objects = objects.as_slice();
        let trial = addresses::Trial { objects, plan, effects: &effects, without: &without };
        guard.choices.extend(choices::choices((auditor, estate), (&holding, after)));
        let after = After { findings: &found.findings, unread: &unread_after, lost: &lost };
        guard.compare(auditor.cluster_id, &before.findings, &after, &trial)?;
    }
    for (change, effect) in plan.changes.iter().zip(&effects) {
        if let Some(elsewhere) = &effect.elsewhere {
            guard.not_audited.push(format!("{}: {elsewhere}", change.address));
        }
    }
    guard.hide(&plan.changes.iter().flat_map(|change| &change.secrets).map(String::as_str).collect());
    guard.sort();
    Ok(guard)
}

/// The objects that are applied or deleted in one of the clusters.
fn objects_of(manifests: Option<&Manifests>, auditors: &[Auditor<'_>]) -> Vec<addresses::ObjectAddress> {
    let Some(manifests) = manifests else { return Vec::new() };
    let mut objects: Vec<_> = auditors.iter().flat_map(|one| manifests.addresses(one.kubernetes)).collect();
    objects.sort();
    objects.dedup();
    objects
}

/// The state of a cluster after the plan, if it differs. The node lifecycle controller deletes the Nodes of instances that
/// the plan deletes.
/// Source: kubernetes/cloud-provider `controllers/nodelifecycle/node_lifecycle_controller.go#MonitorNodes`;
/// kubernetes/cloud-provider-alibaba-cloud `pkg/controller/node/node_controller.go#syncCloudNode`.
fn evidence_after(
    before: &Evidence,
    manifests: Option<&Manifests>,
    (held, deleted): (&Held, &BTreeSet<String>),
) -> Option<Evidence> {
    let names: BTreeSet<&str> = deleted.iter().filter_map(|id| held.node(id)).collect();
    let mut after = manifests.map(|manifests| manifests.applied(before));
    if !names.is_empty() {
        let after = after.get_or_insert_with(|| before.clone());
        after.nodes.iter_mut().for_each(|nodes| nodes.retain(|node| !names.contains(node.name.as_str())));
    }
    after
}

/// A plan for other accounts only is the wrong plan, or the inventory is.
fn check_account(estate: EstateRef<'_>, plan: &Plan) -> Result<(), GuardError> {
    if plan.is_of_another_cloud() {
        return Err(GuardError::OtherCloud(estate.provider()));
    }
    let held: Vec<String> = estate.identities().into_iter().map(|identity| identity.account_id).collect();
    let mut named: Vec<&str> = plan.changes.iter().filter_map(account_of).collect();
    if named.is_empty() {
        named.extend(plan.account.as_deref());
    }
    match named.first() {
        Some(first) if !named.iter().any(|account| held.iter().any(|one| one == account)) => {
            Err(GuardError::OtherAccount { plan: (*first).to_owned(), inventory: held })
        }
        _ => Ok(()),
    }
}

/// ARNs of the roles that the plan takes a needed permission from, or deletes.
fn lost_rights(before: &[RoleReport], after: &[RoleReport]) -> BTreeSet<String> {
    let is_lost = |old: &&RoleReport| {
        let Some(new) = after.iter().find(|new| new.role == old.role) else { return true };
        let granted = |role: &RoleReport, action: &str| {
            role.actions.iter().any(|one| one.action == action && one.verdict == Verdict::Granted)
        };
        old.actions.iter().any(|one| granted(old, &one.action) && !granted(new, &one.action))
    };
    before.iter().filter(is_lost).map(|old| old.role.clone()).collect()
}

/// True for a finding about resources that a controller did not delete. A running controller deletes what it created
/// for a deleted object.
fn reports_leftovers(finding: &Finding) -> bool {
    rules::find(finding.rule).is_some_and(|rule| rule.reports_leftovers)
}

/// True if a change of the plan touched a resource that a finding names.
fn is_touched(finding: &Finding, effects: &[Effect]) -> bool {
    let mut named = std::iter::once(&finding.resource).chain(&finding.related);
    named.any(|one| effects.iter().any(|effect| effect.touched.contains(&(one.kind, one.id.clone()))))
}

/// True for a finding about a role, in either cloud.
fn is_role(finding: &Finding) -> bool {
    matches!(finding.resource.kind, ResourceKind::Role | ResourceKind::RamRole)
}

/// True if a finding concerns a resource that it did not concern before, or the permissions of a role that lost some.
fn concerns_more(old: &Finding, new: &Finding, lost: &BTreeSet<String>) -> bool {
    let named = |finding: &Finding| -> BTreeSet<(ResourceKind, String)> {
        let all = std::iter::once(&finding.resource).chain(&finding.related);
        // What a finding names as its cause may change without a further defect.
        all.filter(|one| one.kind == finding.resource.kind).map(|one| (one.kind, one.id.clone())).collect()
    };
    let takes_rights = crate::rules::prerequisite(new.rule) == Some(Prerequisite::Policies);
    !named(new).is_subset(&named(old)) || (takes_rights && is_role(new) && lost.contains(&new.resource.id))
}

fn told(plan: &Plan, effects: &[Effect], of: fn(&Effect) -> &Vec<String>) -> Vec<Told> {
    let one = |(change, effect): (&change::Change, &Effect)| {
        let why = of(effect);
        (!why.is_empty()).then(|| Told { address: change.address.clone(), why: why.join("; ") })
    };
    plan.changes.iter().zip(effects).filter_map(one).collect()
}

fn unread(cluster: &str, gap: &NotAudited) -> String {
    let place = gap.resource.as_deref().map(|resource| format!(" {resource}")).unwrap_or_default();
    format!("cluster {cluster}: {}{place}: {}", gap.what, gap.reason)
}

/// The audit of a cluster after the plan.
struct After<'a> {
    findings: &'a [Finding],
    /// Judged before, and not judged after.
    unread: &'a [&'a NotAudited],
    /// ARNs of the roles that lose permissions.
    lost: &'a BTreeSet<String>,
}

impl Guard {
    /// Compares the findings of a cluster before and after the plan.
    fn compare<Without>(
        &mut self,
        cluster: &str,
        before: &[Finding],
        &After { findings: after, unread, lost }: &After<'_>,
        trial: &addresses::Trial<'_, Without>,
    ) -> Result<(), BaselineError>
    where
        Without: Fn(usize) -> Result<Vec<Finding>, BaselineError>,
    {
        // A finding that was waived and is open after the plan counts as new.
        let before: Vec<&Finding> = before.iter().filter(|finding| finding.status != Status::Waived).collect();
        let old: BTreeMap<Key, &Finding> = before.iter().map(|finding| (Key::of(finding), *finding)).collect();
        let new: BTreeMap<Key, &Finding> = after.iter().map(|finding| (Key::of(finding), finding)).collect();
        let was = |finding: &Finding| old.get(&Key::of(finding)).copied();
        let (mut worse, mut with_more, mut waived) = (Vec::new(), Vec::new(), Vec::new());
        for finding in after {
            let is_new = was(finding).is_none_or(|old| finding.severity > old.severity);
            let is_more = || {
                was(finding).is_some_and(|old| {
                    (Severity::Warning..=old.severity).contains(&finding.severity) && concerns_more(old, finding, lost)
                })
            };
            if finding.status == Status::Waived {
                waived.extend((is_new || is_more()).then_some(finding));
            } else if is_new {
                worse.push(finding);
            } else if is_more() {
                with_more.push(finding);
            }
        }
        // A finding that is now worth a note only counts as resolved.
        let is_mended = |finding: &Finding| match new.get(&Key::of(finding)) {
            None => true,
            Some(new) => finding.severity > Severity::Info && new.severity == Severity::Info,
        };
        // A finding about a role that lost permissions is not resolved by that.
        let is_lost = |finding: &Finding| is_role(finding) && lost.contains(&finding.resource.id);
        // Nor is one that is not judged after it.
        let is_unread = |finding: &Finding| {
            unread.iter().any(|gap| {
                gap.rules.contains(&finding.rule) && gap.resource.as_ref().is_none_or(|id| *id == finding.resource.id)
            })
        };
        let is_resolved = |finding: &&Finding| is_mended(finding) && !is_lost(finding) && !is_unread(finding);
        let mended: Vec<&Finding> = before.into_iter().filter(is_resolved).collect();
        let judged = |finding: &Finding, addresses: Vec<String>| Judged {
            rule: finding.rule,
            severity: finding.severity,
            cluster: cluster.to_owned(),
            resource: finding.resource.clone(),
            address: addresses.first().cloned(),
            addresses,
            message: finding.message.clone(),
            impact: finding.impact.clone(),
            fix: finding.advice(),
            fingerprint: finding.fingerprint.clone(),
            waiver: finding.waiver.clone(),
        };
        let lists = [
            (&mut self.new, worse, true),
            (&mut self.worse, with_more, true),
            (&mut self.waived, waived, true),
            (&mut self.resolved, mended, false),
        ];
        for (list, findings, is_new) in lists {
            let addresses = addresses(trial, &findings, is_new)?;
            list.extend(findings.iter().zip(addresses).map(|(finding, at)| judged(finding, at)));
        }
        Ok(())
    }

    fn sort(&mut self) {
        let key = |one: &Judged| {
            let worst_first = std::cmp::Reverse(one.severity);
            (worst_first, one.cluster.clone(), one.rule, one.resource.id.clone(), one.fingerprint.clone())
        };
        self.new.sort_by_key(key);
        self.worse.sort_by_key(key);
        self.waived.sort_by_key(key);
        self.resolved.sort_by_key(key);
        self.choices.sort();
        self.undecided.sort();
        self.undecided.dedup();
        self.later.sort();
        self.later.dedup();
        self.not_audited.sort();
        self.not_audited.dedup();
    }
}

#[cfg(test)]
mod tests;
