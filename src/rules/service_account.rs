//! ServiceAccounts that assume roles by web identity, compared with the roles and providers of the account.

use crate::aws::Role;
use crate::aws::pod_identity::used_identities;
use crate::aws::web_identity::{Token, Trust, trust};
use crate::finding::ResourceRef;
use crate::kubernetes::WebIdentity;
use crate::resource::ResourceKind;

use super::Rule;
use super::aws::Context;

mod pod_identity_agent_missing;
mod pod_identity_role_missing;
mod pod_identity_trust_incomplete;
mod sa_role_annotation_misspelt;
mod sa_role_annotation_unused;
mod sa_role_arn_invalid;
mod sa_role_missing;
mod sa_role_subject_missing;
mod sa_role_trust_mismatch;
mod sa_role_trust_wide;
mod sa_token_not_mounted;
mod sa_token_path_unmounted;
mod sa_token_pod_without;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/service_account.rs"));

const NO_IDENTITY: &str = "no ServiceAccount or pod names a role of the account, or none was given";

/// A ServiceAccount with the role that it names.
struct Assumed<'a> {
    identity: WebIdentity<'a>,
    role: &'a Role,
    trust: Trust,
}

/// ServiceAccounts whose role was read.
fn assumed<'a>(context: &'a Context<'_>) -> Vec<Assumed<'a>> {
    let issuers = context.kubernetes.token_issuers();
    let identities = used_identities(context.view, context.kubernetes).into_iter();
    let found = identities.filter_map(|identity| {
        let mut accounts = context.view.inventory.accounts.iter();
        let account = accounts.find(|account| account.roles.iter().any(|role| role.arn == identity.role_arn))?;
        let role = account.roles.iter().find(|role| role.arn == identity.role_arn)?;
        let subject = identity.subject();
        let token = Token {
            subject: &subject,
            audience: identity.audience,
            issuers: &issuers,
            providers: account.oidc_providers.as_deref(),
        };
        let trust = trust(role, &token);
        Some(Assumed { identity, role, trust })
    });
    found.collect()
}

/// Reference to a ServiceAccount in a report.
fn reference(identity: &WebIdentity<'_>) -> ResourceRef {
    ResourceRef::bare(ResourceKind::ServiceAccount, identity.account_name())
}

/// Reference to a role in a report.
pub(super) fn role_reference(role: &Role) -> ResourceRef {
    ResourceRef {
        arn: Some(role.arn.clone()),
        name: Some(role.name.clone()),
        account_id: role.arn.split(':').nth(4).map(str::to_owned),
        ..ResourceRef::bare(ResourceKind::Role, &role.arn)
    }
}

/// `ServiceAccount NAMESPACE/NAME`, with the workload that names the role in its environment.
fn label(identity: &WebIdentity<'_>) -> String {
    let account = format!("ServiceAccount {}", crate::text::printable(&identity.account_name()));
    match identity.workload {
        Some(workload) => format!("{account} of {}", crate::text::printable(&workload.full_name())),
        None => account,
    }
}
