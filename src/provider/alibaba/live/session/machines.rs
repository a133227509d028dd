//! Principals that machines and options name.

use std::collections::BTreeSet;

use crate::alibaba::{Account, ClusterView, Inventory, PrincipalKind, roles};

use super::super::Request;

/// Principals of an account that the operator names as the controller's.
pub(super) fn named_principals(account_id: &str, request: &Request<'_>) -> BTreeSet<(PrincipalKind, String)> {
    let named = request.cluster.iter().flat_map(|cluster| cluster.controller_roles);
    let named = named.filter_map(|arn| roles::named(arn)).filter(|(of, ..)| *of == account_id);
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
    let Some(cluster) = request.cluster else {
        let instances = account.regions.iter().flat_map(|region| &region.instances);
        return instances.filter_map(|instance| instance.ram_role.clone()).collect();
    };
    let mut inventory = Inventory::new(None);
    inventory.accounts.push(Account { principals: Vec::new(), policies: Vec::new(), ..account.clone() });
    inventory.canonicalise();
    let view = ClusterView::new(&inventory, cluster.cluster_id, cluster.nodes, &[]);
    view.members().filter_map(|member| member.instance.ram_role.clone()).collect()
}
