//! The copy of an account on which a plan is tried.

use crate::aws::Inventory;

use super::change::{Action, Change};
use super::links::{self, Open, Side};
use super::place::{Held, place};
use super::plan::Plan;
use super::scope::Affected;
use super::trial::{Effect, Trial};
use super::{links_on_copy, load_balancing, objects};

/// Order of the changes on the copy: objects before what connects them.
fn rank(kind: &str) -> u8 {
    match kind {
        "aws_vpc" | "aws_default_vpc" | "aws_vpc_dhcp_options" | "aws_iam_policy" => 0,
        "aws_subnet"
        | "aws_default_subnet"
        | "aws_security_group"
        | "aws_default_security_group"
        | "aws_route_table"
        | "aws_default_route_table"
        | "aws_iam_role" => 1,
        "aws_iam_instance_profile" | "aws_network_interface" | "aws_ebs_volume" => 2,
        "aws_launch_template" => 3,
        "aws_instance" | "aws_autoscaling_group" => 4,
        // They take away what they do not list, whatever else the plan adds.
        "aws_iam_role_policies_exclusive" | "aws_iam_role_policy_attachments_exclusive" => 9,
        _ => 5,
    }
}

/// Applies a plan to a copy of an inventory, without one of its changes if so asked; returns the copy, and the effect
/// of each change by its position in the plan.
pub(super) fn applied(
    before: &Inventory,
    plan: &Plan,
    affected: &Affected,
    without: Option<usize>,
) -> (Inventory, Vec<Effect>) {
    let mut inventory = before.clone();
    let accounts = before.accounts.iter();
    let held: Held<'_> = accounts
        .map(|one| (one.account_id.as_str(), one.regions.iter().map(|region| region.name.as_str()).collect()))
        .collect();
    let mut effects = vec![Effect::default(); plan.changes.len()];
    let mut order: Vec<(usize, &Change)> = plan.effective().filter(|(at, _)| Some(*at) != without).collect();
    order.sort_by_key(|(at, change)| (rank(&change.kind), *at));
    // Everything that a plan takes away goes first: what replaces it may have the same key.
    for takes_away in [true, false] {
        for (at, change) in &order {
            let Some(effect) = effects.get_mut(*at) else { continue };
            if !is_modelled(&change.kind) {
                unmodelled((plan, change), before, affected, effect);
                continue;
            }
            let is_global = is_global(&change.kind);
            let Some((account, at)) = place(plan, change, &held, is_global, effect) else { continue };
            let Some(account) = inventory.accounts.get_mut(account) else { continue };
            let mut trial = Trial { plan, change, account, at, affected, effect };
            if takes_away {
                trial.take_away();
            } else {
                trial.put();
            }
        }
    }
    links::note_races((plan, without), Change::overwrites, links::keys_of, false, &mut effects);
    inventory.canonicalise();
    (inventory, effects)
}

impl Trial<'_> {
    fn take_away(&mut self) {
        let change = self.change;
        if change.is(Action::Create) || change.is_released {
            return;
        }
        match links::link(Side::Before(change)) {
            None if change.is(Action::Update) => {}
            None => objects::take_away(self),
            Some(Ok(link)) => {
                // If the new connection is unknown, so is what the old one is replaced by.
                let is_open = change.keeps() && matches!(links::link(Side::After(self.plan, change)), Some(Err(_)));
                if !is_open {
                    links_on_copy::revert(self, &link);
                }
            }
            Some(Err(Open(_))) => {}
        }
    }

    fn put(&mut self) {
        let change = self.change;
        // What it makes again is there.
        if change.is(Action::Delete) || change.claims.is_some() {
            return;
        }
        match links::link(Side::After(self.plan, change)) {
            None => objects::put(self),
            Some(Ok(link)) => {
                links_on_copy::make(self, &link);
                if links::deletes_what_it_made(self.plan, change) {
                    links_on_copy::revert(self, &link);
                }
            }
            Some(Err(Open(attribute))) => {
                if links_on_copy::may_matter(self) {
                    self.open(attribute);
                }
            }
        }
    }
}

/// Kinds of resources whose effect is applied to the copy.
fn is_modelled(kind: &str) -> bool {
    links::is_link(kind) || objects::is_object(kind)
}

/// A change of a kind that the copy does not hold: undecided if a controller or a rule reads such objects.
fn unmodelled((plan, change): (&Plan, &Change), before: &Inventory, affected: &Affected, effect: &mut Effect) {
    /// Kinds of which a new object changes nothing that is there, by the beginning of their names.
    const READ: [&str; 14] = [
        "aws_lb",
        "aws_alb",
        "aws_elb",
        "aws_eks_cluster",
        "aws_eks_node_group",
        "aws_eks_addon",
        "aws_eks_pod_identity_association",
        "aws_eks_access",
        "aws_launch_configuration",
        "aws_vpc_ipv4_cidr_block_association",
        "aws_ec2_managed_prefix_list",
        "aws_spot_fleet_request",
        "aws_ec2_fleet",
        "aws_organizations_policy",
    ];
    /// Kinds of which a new object can change what is there.
    const ADDED: [&str; 6] = [
        "aws_network_acl",
        "aws_default_network_acl",
        "aws_organizations_policy_attachment",
        "aws_vpc_security_group_rules_exclusive",
        "aws_ec2_instance_state",
        "aws_network_interface_attachment",
    ];
    if load_balancing::is_part(&change.kind) {
        if let Some(why) = load_balancing::part(plan, change, affected) {
            effect.undecided(why);
        }
        return;
    }
    let is_added = ADDED.iter().any(|kind| change.kind.starts_with(kind))
        && (!change.is(Action::Create) || joins(change, affected));
    let is_read = is_added || (!change.is(Action::Create) && READ.iter().any(|kind| change.kind.starts_with(kind)));
    let is_gateway = !change.is(Action::Create)
        && matches!(change.kind.as_str(), "aws_internet_gateway" | "aws_internet_gateway_attachment")
        && (change.is(Action::Delete) || change.is(Action::Replace) || change.differs("vpc_id"))
        && leads(change, before, affected);
    let vpc = change.before_text("vpc_id").or_else(|| change.after_text("vpc_id"));
    let cluster = change.before_text("cluster_name").or_else(|| change.after_text("cluster_name"));
    let is_elsewhere = vpc.is_some_and(|vpc| !affected.vpcs.contains(vpc))
        || cluster.is_some_and(|cluster| !affected.clusters.contains(cluster));
    if ((is_read && !is_elsewhere) || is_gateway) && effect.undecided.is_empty() {
        effect.undecided.push(format!("changes of `{}` are not modelled", change.shown_kind));
    }
}

/// True if a new object names something that a cluster uses, or an object whose use is not known.
fn joins(change: &Change, affected: &Affected) -> bool {
    const NAMES: [&str; 7] = [
        "subnet_id",
        "network_acl_id",
        "default_network_acl_id",
        "security_group_id",
        "instance_id",
        "network_interface_id",
        "target_id",
    ];
    let subnets = super::change::texts(change.known("subnet_ids"));
    let named = NAMES.into_iter().filter_map(|key| change.after_text(key)).map(str::to_owned).chain(subnets);
    // Network ACLs and the targets of control policies are not in the inventory.
    let is_unread = |id: &str| id.starts_with("acl-") || !id.contains('-');
    named.into_iter().any(|id| affected.ids.contains(&id) || is_unread(&id))
}

/// True if a route of a cluster's VPC leads to an internet gateway.
fn leads(gateway: &Change, before: &Inventory, affected: &Affected) -> bool {
    let id = gateway.before_text("internet_gateway_id").or_else(|| gateway.before_text("id"));
    let tables = before.accounts.iter().flat_map(|account| &account.regions).flat_map(|region| &region.route_tables);
    let mut routes = tables.filter(|table| affected.vpcs.contains(&table.vpc_id)).flat_map(|table| &table.routes);
    routes.any(|route| id.is_some() && route.gateway_id.as_deref() == id)
}

/// Kinds of a whole account.
fn is_global(kind: &str) -> bool {
    kind.starts_with("aws_iam_")
}
