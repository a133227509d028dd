//! The audit of an inventory of AWS.

use std::collections::BTreeMap;

use crate::aws::Inventory;
use crate::aws::companion_audit::{AuditedCompanion, audited_companions};
use crate::aws::companions::{ObjectUse, companions_on_nodes};
use crate::aws::ingresses::object_use;
use crate::aws::role_overview;
use crate::aws::roles::{RoleAudit, RoleAudits};
use crate::aws::topology::topology;
use crate::aws::trusted_companions::{TrustedRole, trusted_companions};
use crate::aws::view::ClusterView;
use crate::baseline::BaselineError;
use crate::controller::companion::CompanionRow;
use crate::finding::Finding;
use crate::inventory::{Gap, Provider, Read};
use crate::membership::Apart;
use crate::model::any_account::listener_use;
use crate::model::existing::Existing;
use crate::resource::ResourceKind;
use crate::role_audit::{Missing, RoleAuditOptions, RoleGap, RoleGapCause};
use crate::rules::aws::Context;
use crate::rules::{self, JudgedRoles, Outcomes};
use crate::used_role::RoleOverview;

use super::{ActionReport, Auditor, Examined, RoleReport, count_nodes, note_unread, unread, unseen};

pub(super) fn view<'a>(auditor: &Auditor<'a>, inventory: &'a Inventory) -> ClusterView<'a> {
    ClusterView::after(inventory, auditor.cluster_id, auditor.nodes(), auditor.selectors, auditor.held)
}

pub(super) fn apart(auditor: &Auditor<'_>, inventory: &Inventory) -> Option<Apart> {
    view(auditor, inventory).apart()
}

pub(super) fn findings(auditor: &Auditor<'_>, inventory: &Inventory) -> Result<Vec<Finding>, BaselineError> {
    let view = view(auditor, inventory);
    let options = with_evidence(auditor);
    let trusted = trusted_companions(&view, auditor.kubernetes, &options);
    Ok(run(auditor, &options, &view, objects_of(auditor), &trusted, &gaps(auditor, &view))?.1.findings)
}

pub(super) fn examine(auditor: &Auditor<'_>, inventory: &Inventory) -> Result<Examined, BaselineError> {
    let view = view(auditor, inventory);
    let gaps = gaps(auditor, &view);
    let options = with_evidence(auditor);
    let trusted = trusted_companions(&view, auditor.kubernetes, &options);
    let objects = objects_of(auditor);
    let (roles, outcomes, companions) = run(auditor, &options, &view, objects, &trusted, &gaps)?;
    let mut controllers = Vec::new();
    if !roles.audits.is_empty() {
        controllers = role_overview::controllers(&view, (auditor.kubernetes, objects), &companions, &options);
        controllers.extend(trusted.iter().map(role_overview::trusted_role));
    }
    Ok(Examined {
        outcomes,
        gaps,
        is_anything_here: view.is_anything_here(),
        roles: roles.audits.iter().map(role_report).collect(),
        controllers,
        resources: count_resources(inventory),
        nodes: count_nodes(view.members().map(|member| &member.roles)),
        topology: topology(&view),
    })
}

pub(super) fn role_overview(auditor: &Auditor<'_>, inventory: &Inventory) -> Result<RoleOverview, BaselineError> {
    let view = view(auditor, inventory);
    let options = with_evidence(auditor);
    let roles = crate::aws::roles::audit(&view, &options, &on_nodes(auditor, &view))?;
    let objects = objects_of(auditor);
    let companions = audited_companions(&view, auditor.kubernetes, objects, &options);
    let trusted = trusted_companions(&view, auditor.kubernetes, &options);
    let gaps = gaps(auditor, &view);
    let evidence = (auditor.kubernetes, objects);
    Ok(role_overview::overview(&view, evidence, &roles, &companions, &trusted, &options, &gaps))
}

/// Options, with the version of the cloud controller from its image if none is given.
fn with_evidence(auditor: &Auditor<'_>) -> RoleAuditOptions {
    let given = auditor.role_audit;
    let images = auditor.kubernetes.aws_controllers().filter_map(|one| one.version);
    RoleAuditOptions { controller_version: given.controller_version.or_else(|| images.max()), ..given.clone() }
}

/// The objects that controllers serve, with the listeners that the model decides.
fn objects_of(auditor: &Auditor<'_>) -> ObjectUse {
    object_use(auditor.kubernetes, listener_use(auditor.kubernetes, auditor.cluster_id))
}

/// Compares the roles and runs the rules.
fn run<'v>(
    auditor: &Auditor<'v>,
    options: &RoleAuditOptions,
    view: &'v ClusterView<'v>,
    objects: ObjectUse,
    trusted: &[TrustedRole<'_>],
    gaps: &[Gap],
) -> Result<(RoleAudits<'v>, Outcomes, Vec<AuditedCompanion<'v>>), BaselineError> {
    let selected = rules::for_provider(auditor.rules, Provider::Aws);
    let wants_policies = selected.iter().any(|rule| rule.check.inspects_policies());
    let companions = on_nodes(auditor, view);
    let roles =
        if wants_policies { crate::aws::roles::audit(view, options, &companions)? } else { RoleAudits::default() };
    let companions = audited_companions(view, auditor.kubernetes, objects, options);
    let existing = Existing::new(view, auditor.kubernetes, options.controller_version);
    let context = Context {
        view,
        gaps,
        roles: &roles,
        companions: &companions,
        trusted,
        existing: &existing,
        role_options: options,
        controller_version: options.controller_version,
        credentials_elsewhere: options.credentials_elsewhere,
        cloud_routes: auditor.cloud_routes,
        kubernetes: auditor.kubernetes,
        objects,
    };
    let mut outcomes = rules::run(&context, &selected);
    let unread: Vec<RoleGap> = trusted.iter().filter_map(|one| one.audited.as_ref().err()).flatten().cloned().collect();
    note_unread(&mut outcomes, JudgedRoles::Trusted, &unread, &selected);
    let unread: Vec<RoleGap> =
        companions.iter().filter_map(|one| one.audited.as_ref().err()).flatten().cloned().collect();
    note_unread(&mut outcomes, JudgedRoles::OfControllers, &unread, &selected);
    note_unread(&mut outcomes, JudgedRoles::TrustPolicies, &unread_trust(auditor, view), &selected);
    Ok((roles, outcomes, companions))
}

/// Trust policies of roles that ServiceAccounts name, and that were not read.
fn unread_trust(auditor: &Auditor<'_>, view: &ClusterView<'_>) -> Vec<RoleGap> {
    let identities = auditor.kubernetes.web_identities();
    let named = |arn: &str| identities.iter().any(|identity| identity.role_arn == arn);
    let mut found = Vec::new();
    for account in &view.inventory.accounts {
        let unread = account.roles.iter().filter(|role| role.trust_policy.is_none() && named(&role.arn));
        found.extend(unread.map(|role| RoleGap {
            account_id: account.account_id.clone(),
            role: role.arn.clone(),
            cause: RoleGapCause::NotRead(Read::GetRole, Missing::TrustPolicy),
        }));
    }
    found
}

/// Controllers whose Pods use the roles of the nodes.
fn on_nodes(auditor: &Auditor<'_>, view: &ClusterView<'_>) -> Vec<&'static CompanionRow> {
    let mut rows: Vec<&CompanionRow> =
        companions_on_nodes(view, auditor.kubernetes).into_iter().map(|run| run.row).collect();
    rows.sort_by_key(|row| row.companion);
    rows.dedup_by_key(|row| row.companion);
    rows
}

/// Everything that is unknown about a cluster: reads that failed, lists that its Nodes contradict, and details that were
/// not read.
fn gaps(auditor: &Auditor<'_>, view: &ClusterView<'_>) -> Vec<Gap> {
    let mut gaps = view.inventory.gaps.clone();
    gaps.extend(unseen::aws_gaps(view));
    gaps.extend(unread::gaps(view, auditor.kubernetes));
    gaps.sort();
    gaps
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

fn role_report(audit: &RoleAudit<'_>) -> RoleReport {
    RoleReport {
        node_roles: audit.node_roles.iter().collect(),
        instances: audit.members.iter().map(|member| member.instance.id.clone()).collect(),
        actions: audit.actions.iter().map(|one| ActionReport::new(&one.action, &one.assessment)).collect(),
        assumable_roles: audit.more_privileged.iter().map(|arn| (*arn).to_owned()).collect(),
        ..RoleReport::from_policies(audit.role.arn.clone(), audit.baseline.clone(), &audit.beyond, &audit.tightened)
    }
}
