//! Principals that machines and options name.

use std::collections::BTreeSet;

use crate::alibaba::{Account, ClusterView, Inventory, PrincipalKind, roles};

use super::super::Request;

/// Principals of an account that the operator or the evidence names as those of controllers.
pub(super) fn named_principals(account_id: &str, request: &Request<'_>) -> BTreeSet<(PrincipalKind, String)> {
    let mut found = controller_principals(account_id, request);
    found.extend(rrsa_roles(account_id, request).map(|name| (PrincipalKind::Role, name.to_owned())));
    found
}

/// Roles of an account that ServiceAccounts give controllers.
fn rrsa_roles<'r>(account_id: &'r str, request: &'r Request<'_>) -> impl Iterator<Item = &'r str> {
    request
        .principals
        .rrsa_roles
        .iter()
        .filter(move |one| one.account_id.is_none_or(|id| id == account_id))
        .map(|one| one.name)
}

/// True for a role that only a ServiceAccount names: it may not exist.
pub(super) fn is_of_service_account(account_id: &str, request: &Request<'_>, role: &str) -> bool {
    let is_it = |name: &str| name.eq_ignore_ascii_case(role);
    let mut named = controller_principals(account_id, request).into_iter();
    rrsa_roles(account_id, request).any(is_it) && !named.any(|(kind, name)| kind == PrincipalKind::Role && is_it(&name))
}

/// Principals of an account that the operator names as the cloud controller's.
fn controller_principals(account_id: &str, request: &Request<'_>) -> BTreeSet<(PrincipalKind, String)> {
    let named = request
        .principals
        .controller_roles
        .iter()
        .filter_map(|arn| roles::named(arn))
        .filter(|(of, ..)| *of == account_id);
    named.map(|(_, kind, name)| (kind, name.to_owned())).collect()
}

/// True if a role is among them; role names are case-insensitive.
pub(super) fn is_named(account_id: &str, request: &Request<'_>, role: &str) -> bool {
    let mut named = named_principals(account_id, request).into_iter();
    named.any(|(kind, name)| kind == PrincipalKind::Role && name.eq_ignore_ascii_case(role))
}

pub(super) fn count_machines(account: &Account) -> usize {
    account.regions.iter().map(|region| region.instances.len()).sum()
}

/// Names of the roles of the cluster's instances; of all instances if no cluster is given.
pub(super) fn roles_in_use(account: &Account, request: &Request<'_>) -> BTreeSet<String> {
    let Some(cluster) = &request.principals.cluster else {
        let instances = account.regions.iter().flat_map(|region| &region.instances);
        return instances.filter_map(|instance| instance.ram_role.clone()).collect();
    };
    let mut inventory = Inventory::new(None);
    inventory.accounts.push(Account { principals: Vec::new(), policies: Vec::new(), ..account.clone() });
    inventory.canonicalise();
    let view = ClusterView::new(&inventory, cluster.cluster_id, cluster.nodes, &[]);
    view.members().filter_map(|member| member.instance.ram_role.clone()).collect()
}
