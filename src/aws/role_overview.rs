//! The role of each controller of a cluster: the source of that information, missing and excess actions, and what else may
//! use the role.

use crate::aws::companion_audit::AuditedCompanion;
use crate::aws::companions::{CompanionRole, CompanionRun, ObjectUse, companions, is_isolated};
use crate::aws::node_rights::role_rights;
use crate::aws::pod_identity::service_account_of;
use crate::aws::roles::{RoleAudit, RoleAudits};
use crate::aws::trusted_companions::TrustedRole;
use crate::aws::view::ClusterView;
use crate::aws::web_identity::{Token, Trust, trust};
use crate::aws::{Account, PodIdentity, Role};
use crate::baseline::{Release, Variant, published_for};
use crate::controller::companion::Companion;
use crate::inventory::{Gap, Read};
use crate::kubernetes::{Evidence, SUBJECT_PREFIX, WebIdentity};
use crate::policy::Verdict;
use crate::role_audit::RoleAuditOptions;
use crate::used_role::{RoleOverview, RoleSource, UsedRole, nodes, secret};

/// Lists the roles of the controllers next to the cloud controller.
pub(crate) fn controllers(
    view: &ClusterView<'_>,
    (evidence, objects): (&Evidence, ObjectUse),
    audited: &[AuditedCompanion<'_>],
    options: &RoleAuditOptions,
) -> Vec<UsedRole> {
    let mut found: Vec<UsedRole> = Vec::new();
    for run in companions(evidence) {
        let own = audited.iter().find(|entry| std::ptr::eq(entry.one.run.workload, run.workload));
        match own {
            Some(entry) => found.push(own_role(entry, evidence, view)),
            None if run.uses_node_role(view, evidence) && !run.workload.has_keys => {
                found.extend(
                    run.node_roles(view, evidence)
                        .into_iter()
                        .map(|one| role_through_node(&run, one, view, (evidence, objects), options)),
                );
            }
            None if run.workload.has_keys => found.push(UsedRole {
                role_source: RoleSource::AccessKeys,
                secret: secret(run.workload),
                ..unknown_role(&run, view)
            }),
            None => found.push(unread_role(&run, view)),
        }
    }
    found.sort_by(|a, b| (&a.controller, &a.workload, &a.role).cmp(&(&b.controller, &b.workload, &b.role)));
    found
}

/// Lists the roles of a cluster.
pub(crate) fn overview(
    view: &ClusterView<'_>,
    (evidence, objects): (&Evidence, ObjectUse),
    audits: &RoleAudits<'_>,
    audited: &[AuditedCompanion<'_>],
    trusted: &[TrustedRole<'_>],
    options: &RoleAuditOptions,
    gaps: &[Gap],
) -> RoleOverview {
    let mut roles: Vec<UsedRole> = audits.audits.iter().map(|audit| node_role(audit, evidence, view)).collect();
    roles.extend(controllers(view, (evidence, objects), audited, options));
    roles.extend(trusted.iter().map(trusted_role));
    let is_about_roles = |read: Read| {
        read.is_iam() || matches!(read, Read::ListPodIdentityAssociations | Read::DescribePodIdentityAssociation)
    };
    let not_audited = gaps.iter().filter(|gap| is_about_roles(gap.read)).cloned().collect();
    RoleOverview::new(view.cluster_id, roles, not_audited)
}

/// A role that the usual ServiceAccount of a controller may assume; no workload shows if it runs.
pub(crate) fn trusted_role(one: &TrustedRole<'_>) -> UsedRole {
    let audited = one.audited.as_ref().ok();
    UsedRole {
        role: Some(one.role.arn.clone()),
        needed: audited.map(|audited| audited.needed),
        lacking: audited
            .map(|audited| audited.lacking.iter().map(|(action, _)| (*action).to_owned()).collect())
            .unwrap_or_default(),
        excess: audited.map(|audited| audited.excess.clone()),
        shared_with: one.others.clone(),
        ..UsedRole::new(one.row.name.to_owned(), RoleSource::TrustPolicy)
    }
}

/// A controller whose role was not read: that of its association, or an unknown one.
fn unread_role(run: &CompanionRun<'_>, view: &ClusterView<'_>) -> UsedRole {
    let unknown = unknown_role(run, view);
    let association = view.pod_identity_of(service_account_of(run.workload)).ok().flatten();
    match association.and_then(PodIdentity::credentials_role) {
        Some(arn) if run.workload.credentials.is_empty() && !run.workload.has_hidden_credentials => {
            UsedRole { role: Some(arn.to_owned()), role_source: RoleSource::PodIdentity, ..unknown }
        }
        _ => unknown,
    }
}

/// A controller whose role is not known yet.
fn unknown_role(run: &CompanionRun<'_>, view: &ClusterView<'_>) -> UsedRole {
    UsedRole {
        version: run.version.map(|version| version.to_string()),
        workload: Some(run.workload.full_name()),
        published: published(run, view),
        ..UsedRole::new(run.row.name.to_owned(), RoleSource::Unknown)
    }
}

/// A role of the nodes, or that of the cloud controller.
fn node_role(audit: &RoleAudit<'_>, evidence: &Evidence, view: &ClusterView<'_>) -> UsedRole {
    let lacking =
        audit.actions.iter().filter(|one| matches!(one.assessment.verdict, Verdict::Missing | Verdict::Denied));
    let (controller, role_source, shared_with) = if audit.is_controllers {
        let controllers = evidence.aws_controllers().next().map(|one| &one.workload);
        let own = controllers.map(|one| (one.namespace.as_str(), one.service_account.as_str()));
        let tokens = trusted_service_accounts(audit.role, evidence, view, own);
        ("cloud controller".to_owned(), RoleSource::TrustPolicy, tokens)
    } else {
        (nodes(audit.node_roles), RoleSource::InstanceProfile, vec![node_pods(audit)])
    };
    UsedRole {
        role: Some(audit.role.arn.clone()),
        needed: Some(audit.actions.len()),
        lacking: lacking.map(|one| one.action.clone()).collect(),
        excess: Some(audit.beyond.unneeded()),
        shared_with,
        ..UsedRole::new(controller, role_source)
    }
}

/// Baselines of the release that runs, in the partition of the cluster.
fn published(run: &CompanionRun<'_>, view: &ClusterView<'_>) -> Vec<String> {
    let releases = run.version.into_iter().flat_map(|version| published_for(run.row.companion, version));
    let is_published_there = |release: &&Release| match release.variant {
        Variant::Isolated => is_isolated(view),
        Variant::Standard => !is_isolated(view) || run.row.companion != Companion::LoadBalancerController,
        Variant::Nas
        | Variant::TaggedVolumes
        | Variant::ClusterScoped
        | Variant::Ipv4
        | Variant::Ipv6
        | Variant::Eks => true,
    };
    releases.filter(is_published_there).map(|release| release.baseline.to_owned()).collect()
}

/// Pods that reach the credentials of the nodes: with a hop limit of 1 those on the host network alone.
/// Source: Amazon EC2 User Guide, "Configure the Instance Metadata Service options".
fn node_pods(audit: &RoleAudit<'_>) -> String {
    let options = || audit.members.iter().map(|member| member.instance.metadata_options.as_ref());
    let is_closed = |one: &crate::aws::MetadataOptions| {
        one.http_put_response_hop_limit == Some(1) && one.http_tokens.as_deref() == Some("required")
    };
    if options().all(|one| one.is_some_and(is_closed)) {
        "Pods on the host network of these nodes".to_owned()
    } else {
        "every Pod on these nodes that reaches the metadata service".to_owned()
    }
}

/// A controller with a separate role.
fn own_role(entry: &AuditedCompanion<'_>, evidence: &Evidence, view: &ClusterView<'_>) -> UsedRole {
    let one = &entry.one;
    let role_source = match (one.is_by_pod_identity, &one.run.workload.web_identity) {
        (true, _) => RoleSource::PodIdentity,
        (false, Some(_)) => RoleSource::Environment,
        (false, None) => RoleSource::ServiceAccount,
    };
    let audited = entry.audited.as_ref().ok();
    let owned = |actions: &[&str]| actions.iter().map(|action| (*action).to_owned()).collect::<Vec<String>>();
    let own = (one.run.workload.namespace.as_str(), one.run.workload.service_account.as_str());
    let mut shared_with = trusted_service_accounts(one.role, evidence, view, Some(own));
    shared_with.extend(associated_service_accounts(one, view));
    UsedRole {
        role: Some(one.role.arn.clone()),
        role_source,
        // None is needed where nothing shows which calls it makes.
        needed: audited.map(|audited| audited.needed).filter(|needed| *needed > 0),
        lacking: audited
            .map(|audited| audited.lacking.iter().map(|(action, _)| (*action).to_owned()).collect())
            .unwrap_or_default(),
        unmet: audited.map(|audited| owned(&audited.unmet)).unwrap_or_default(),
        excess: audited.map(|audited| audited.excess.clone()),
        shared_with,
        ..unknown_role(&one.run, view)
    }
}

/// A controller that uses a role of the nodes.
fn role_through_node(
    run: &CompanionRun<'_>,
    (account, role): (&Account, &Role),
    view: &ClusterView<'_>,
    used: (&Evidence, ObjectUse),
    options: &RoleAuditOptions,
) -> UsedRole {
    let compared = role_rights(run, (account, role), view, used, options);
    let unmet = compared.iter().flat_map(|one| &one.unmet);
    let mut unmet: Vec<String> = unmet.map(|(action, _)| (*action).to_owned()).collect();
    unmet.dedup();
    let (needed, lacking) = compared.map(|one| (Some(one.needed), one.lacking)).unwrap_or_default();
    UsedRole {
        role: Some(role.arn.clone()),
        role_source: RoleSource::NodeMetadata,
        needed: needed.filter(|needed| *needed > 0),
        lacking: lacking.into_iter().map(str::to_owned).collect(),
        unmet,
        shared_with: vec!["the nodes, and other Pods on them".to_owned()],
        ..unknown_role(run, view)
    }
}

/// ServiceAccounts, other than that of the controller itself, to which EKS Pod Identity gives its role.
fn associated_service_accounts(one: &CompanionRole<'_>, view: &ClusterView<'_>) -> Vec<String> {
    let own = service_account_of(one.run.workload);
    let all = view.pod_identities().into_iter().flatten();
    let others = all.filter(|other| (other.namespace.as_str(), other.service_account.as_str()) != own);
    let same = others.filter(|other| other.credentials_role() == Some(one.role.arn.as_str()));
    same.map(|other| format!("ServiceAccount {}/{}", other.namespace, other.service_account)).collect()
}

/// ServiceAccounts, other than that of the controller itself, that may assume a role with their token.
fn trusted_service_accounts(
    role: &Role,
    evidence: &Evidence,
    view: &ClusterView<'_>,
    own: Option<(&str, &str)>,
) -> Vec<String> {
    let issuers = evidence.token_issuers();
    let account = view.inventory.accounts.iter().find(|account| account.roles.iter().any(|one| one.arn == role.arn));
    let identities = evidence.web_identities();
    let is_admitted = |subject: &str, audience: Option<&str>| {
        let providers = account.and_then(|account| account.oidc_providers.as_deref());
        trust(role, &Token { subject, audience, issuers: &issuers, providers })
    };
    let mut found = Vec::new();
    for (namespace, name, _) in evidence.service_accounts() {
        let audience = identities.iter().find(|one| (one.namespace, one.service_account) == (namespace, name));
        let subject = format!("{SUBJECT_PREFIX}{namespace}:{name}");
        match is_admitted(&subject, audience.and_then(|one: &WebIdentity<'_>| one.audience)) {
            Trust::Admitted { is_open: true } => return vec!["every ServiceAccount of the cluster".to_owned()],
            Trust::Admitted { is_open: false } if Some((namespace, name)) != own => {
                found.push(format!("ServiceAccount {namespace}/{name}"));
            }
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    found
}
