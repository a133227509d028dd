//! Plans of Terraform and OpenTofu for Alibaba Cloud, tried on a copy of an account.
//! Source: aliyun/terraform-provider-alicloud, `alicloud/resource_alicloud_*.go`: schemas, and the `Create`, `Update` and
//! `Delete` functions, as cited. Many attributes have an older name too (`name`, `vswitch_name`): the one that is not
//! configured is computed, and keeps its old value in a plan.

use std::collections::BTreeSet;

use crate::alibaba::{Account, Instance, Inventory, Region};
use crate::resource::ResourceKind;

use super::change::{Action, Change};
use super::place::{Held, place};
use super::plan::{Plan, Text};
use super::tags::{self, TagChange};
use super::trial::Effect;

mod instances;
mod links;
mod network;
mod others;
mod principals;
mod scope;
#[cfg(test)]
mod tests;

pub(super) use scope::Affected;

/// One change on the copy.
#[derive(Debug)]
struct Trial<'t> {
    plan: &'t Plan,
    change: &'t Change,
    account: &'t mut Account,
    /// Index of its region in the account.
    at: usize,
    affected: &'t Affected,
    effect: &'t mut Effect,
}

/// Changes an object of the copy, or a connection between two of them.
type Step = fn(&mut Trial<'_>);

/// The steps of a kind: what a change takes away, and what it makes.
struct Steps {
    /// Objects come before what connects them.
    rank: u8,
    /// True for a connection: an update takes the old one away. An object that is updated stays.
    is_link: bool,
    take_away: Step,
    put: Step,
}

/// The steps of a kind of resources; `None` if the copy holds no such objects.
fn steps(kind: &str) -> Option<Steps> {
    let of = |rank, take_away: Step, put: Step| Some(Steps { rank, is_link: false, take_away, put });
    match kind {
        "alicloud_vpc" => of(0, network::remove, network::vpc),
        "alicloud_vswitch" | "alicloud_subnet" => of(1, network::remove, network::vswitch),
        "alicloud_security_group" => of(1, network::remove, network::security_group),
        "alicloud_route_table" => of(1, network::remove, network::route_table),
        "alicloud_slb_load_balancer" | "alicloud_slb" | "alicloud_nlb_load_balancer" => {
            of(3, network::remove, network::load_balancer)
        }
        "alicloud_ecs_disk" | "alicloud_disk" => of(2, network::remove, instances::disk),
        "alicloud_ecs_network_interface" | "alicloud_network_interface" => of(2, network::remove, instances::interface),
        "alicloud_instance" => of(3, instances::remove, instances::instance),
        "alicloud_ram_policy" | "alicloud_resource_manager_policy" => {
            of(0, principals::remove_policy, principals::policy)
        }
        "alicloud_ram_role" | "alicloud_resource_manager_role" => of(1, principals::remove_role, principals::role),
        "alicloud_ram_user" => of(1, principals::remove_user, principals::user),
        "alicloud_ram_group" => of(1, principals::remove_group, principals::group),
        _ if links::is_link(kind) => Some(Steps { rank: 5, is_link: true, take_away: links::revert, put: links::make }),
        _ => None,
    }
}

/// Kinds of a whole account.
fn is_global(kind: &str) -> bool {
    // That of instances is a call of ECS.
    kind != "alicloud_ram_role_attachment"
        && (kind.starts_with("alicloud_ram_") || kind.starts_with("alicloud_resource_manager_"))
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
    let mut order: Vec<(usize, &Change, Option<Steps>)> = plan
        .effective()
        .filter(|(at, _)| Some(*at) != without)
        .map(|(at, change)| (at, change, steps(&change.kind)))
        .collect();
    order.sort_by_key(|(at, _, steps)| (steps.as_ref().map_or(9, |steps| steps.rank), *at));
    // Everything that a plan takes away goes first: what replaces it may have the same key.
    for takes_away in [true, false] {
        for (at, change, steps) in &order {
            let Some(effect) = effects.get_mut(*at) else { continue };
            let Some(steps) = steps else {
                if takes_away {
                    others::unmodelled(plan, change, affected, effect);
                }
                continue;
            };
            let is_global = is_global(&change.kind);
            let Some((account, at)) = place(plan, change, &held, is_global, effect) else { continue };
            let Some(account) = inventory.accounts.get_mut(account) else { continue };
            let mut trial = Trial { plan, change, account, at, affected, effect };
            match takes_away {
                // An object that another change makes again stays.
                true if (steps.is_link || !change.is(Action::Update))
                    && !change.is(Action::Create)
                    && !change.is_released =>
                {
                    (steps.take_away)(&mut trial);
                }
                false if !change.is(Action::Delete) && change.claims.is_none() => (steps.put)(&mut trial),
                _ => {}
            }
        }
    }
    let is_link = |change: &Change| links::is_link(&change.kind);
    super::links::note_races((plan, without), is_link, links::keys_of, true, &mut effects);
    inventory.canonicalise();
    note_lost_roles(before, &inventory, affected, &mut effects);
    (inventory, effects)
}

/// A node that loses its RAM role has no credentials from the metadata service. Whether the cloud controller, or a plugin,
/// takes them from there is not known from the account.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth`.
fn note_lost_roles(before: &Inventory, after: &Inventory, affected: &Affected, effects: &mut [Effect]) {
    let without: BTreeSet<&str> =
        instances(after).filter(|one| one.ram_role.is_none()).map(|one| one.id.as_str()).collect();
    for one in instances(before).filter(|one| affected.ids.contains(&one.id) && without.contains(one.id.as_str())) {
        let (id, Some(role)) = (&one.id, &one.ram_role) else { continue };
        let key = (ResourceKind::Instance, id.clone());
        for effect in effects.iter_mut().filter(|effect| effect.touched.contains(&key)) {
            let why = format!("`{id}` loses its RAM role `{role}`: what takes its credentials from the node has none");
            effect.undecided(why);
        }
    }
}

fn instances(inventory: &Inventory) -> impl Iterator<Item = &Instance> {
    inventory.accounts.iter().flat_map(|account| &account.regions).flat_map(|region| &region.instances)
}

/// The value that a change gives an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
enum New {
    Text(String),
    /// It was set, and is not set after the plan.
    Removed,
    /// Known only after the plan is applied.
    Unknown(&'static str),
    Unchanged,
}

impl Trial<'_> {
    fn region(&mut self) -> Option<&mut Region> {
        self.account.regions.get_mut(self.at)
    }

    fn touch(&mut self, kind: ResourceKind, id: &str) {
        self.effect.touched.insert((kind, id.to_owned()));
    }

    fn undecided(&mut self, why: impl Into<String>) {
        self.effect.undecided(why.into());
    }

    /// Records an attribute that is known only after the plan is applied.
    fn open(&mut self, attribute: &str) {
        self.undecided(format!("`{attribute}` is known only after the plan is applied"));
    }

    /// True if the object after the change is another one.
    fn is_new(&self) -> bool {
        self.change.makes()
    }

    /// True if no object of the change is left.
    fn is_gone(&self) -> bool {
        self.change.is(Action::Delete) || self.change.claims.is_some()
    }

    /// True if the configuration gives an attribute another value, known or not, rather than the provider alone.
    fn sets(&self, key: &str) -> bool {
        self.change.differs(key) && (!self.change.has_unknown(key) || self.plan.is_configured(self.change, key))
    }

    /// The id of the object that a change takes away.
    fn old_id(&self) -> String {
        match self.change.before_text("id") {
            Some(id) if self.change.claims.is_some() => id.to_owned(),
            _ => self.change.identity(),
        }
    }

    /// The value that the change gives an attribute, by any of its names.
    fn new_text(&self, names: &[&'static str]) -> New {
        let (plan, change) = (self.plan, self.change);
        let mut unknown = None;
        for name in names {
            match plan.text(change, name) {
                Text::Known(text) if self.is_new() || change.before_text(name) != Some(&text) => {
                    return New::Text(text);
                }
                Text::Unknown if plan.may_be_configured(change, name) => unknown = unknown.or(Some(*name)),
                Text::Known(_) | Text::Absent | Text::Unknown => {}
            }
        }
        if let Some(name) = unknown {
            return New::Unknown(name);
        }
        let is_set = |name: &&&str| change.before_text(name).is_some();
        let is_removed = |name: &&&str| plan.text(change, name) == Text::Absent;
        match names.iter().find(is_set) {
            Some(name) if is_removed(&name) => New::Removed,
            _ => New::Unchanged,
        }
    }

    /// A text of a new object, by any of its names; absent if it is not known.
    fn text(&self, names: &[&'static str]) -> Option<String> {
        match self.new_text(names) {
            New::Text(text) => Some(text),
            New::Removed | New::Unknown(_) | New::Unchanged => None,
        }
    }

    /// The VPC of an object, which may be in one already. A new one whose VPC is unknown is not added to the copy.
    fn vpc_of(&mut self, held: Option<String>) -> Option<String> {
        if held.is_some() && !self.is_new() {
            return held;
        }
        match self.plan.text(self.change, "vpc_id") {
            Text::Known(id) => Some(id),
            Text::Absent => Some(held.unwrap_or_default()),
            Text::Unknown => {
                let tags = tags::change(self.plan, self.change);
                // One more route table stops the routes of its VPC.
                let may_stop_routes = self.affected.has_routes && self.change.kind == "alicloud_route_table";
                let is_near = held.as_ref().is_some_and(|vpc| self.affected.vpcs.contains(vpc));
                if is_near || may_stop_routes || self.is_for_a_cluster(&tags) {
                    self.open("vpc_id");
                }
                held
            }
        }
    }

    /// True if a change sets a tag with the id of a judged cluster, or one whose value is not known.
    fn is_for_a_cluster(&self, changed: &TagChange) -> bool {
        let clusters = &self.affected.clusters;
        let in_key =
            |key: &String| key.strip_prefix(crate::tags::CLUSTER_TAG_PREFIX).is_some_and(|id| clusters.contains(id));
        let own = changed.set.get(crate::alibaba::CLUSTER_TAG);
        own.is_some_and(|id| clusters.contains(id))
            || changed.unknown.iter().any(|key| key == crate::alibaba::CLUSTER_TAG)
            || changed.set.keys().chain(&changed.unknown).any(in_key)
    }

    /// True for an update of an object that the inventory lacks. It is undecided if its place or its tags are those of a
    /// judged cluster.
    fn is_missing(&mut self, id: &str, is_held: bool) -> bool {
        if !self.change.is(Action::Update) || is_held {
            return false;
        }
        let is_near = self.change.before_text("vpc_id").is_some_and(|vpc| self.affected.vpcs.contains(vpc));
        let tags = tags::change(self.plan, self.change);
        if is_near || self.is_for_a_cluster(&tags) {
            self.undecided(format!("the inventory does not hold `{id}`"));
        }
        true
    }

    /// Applies the tags of a change to an object.
    fn put_tags(&mut self, kind: ResourceKind, id: &str) {
        let changed = tags::change(self.plan, self.change);
        self.open_tags(id, &changed);
        if changed.is_empty() && !changed.is_new {
            return;
        }
        let Some(held) = self.region().and_then(|region| tags_of_mut(region, kind, id)) else { return };
        // The keys that Alibaba Cloud sets follow from what the object is part of.
        let is_system = |tag: &&crate::tags::Tag| changed.is_new && tag.key.starts_with("acs:");
        let kept: Vec<crate::tags::Tag> = held.iter().filter(is_system).cloned().collect();
        changed.apply(held);
        held.extend(kept);
        held.sort();
        held.dedup();
        self.touch(kind, id);
    }

    /// Records tags that are known only after the plan is applied, if something decides by them.
    fn open_tags(&mut self, id: &str, changed: &TagChange) {
        let is_near = self.change.after_text("vpc_id").is_some_and(|vpc| self.affected.vpcs.contains(vpc));
        let may_join = is_near && changed.is_new && changed.is_unknown && changed.set.is_empty();
        if !self.affected.ids.contains(id) && !self.is_for_a_cluster(changed) && !may_join {
            return;
        }
        changed.open().into_iter().for_each(|why| self.undecided(why));
    }
}

fn tags_of_mut<'r>(region: &'r mut Region, kind: ResourceKind, id: &str) -> Option<&'r mut Vec<crate::tags::Tag>> {
    macro_rules! of {
        ($list:expr) => {
            $list.iter_mut().find(|one| one.id == id).map(|one| &mut one.tags)
        };
    }
    match kind {
        ResourceKind::Instance => of!(region.instances),
        ResourceKind::Vpc => of!(region.vpcs),
        ResourceKind::VSwitch => of!(region.vswitches),
        ResourceKind::RouteTable => of!(region.route_tables),
        ResourceKind::SecurityGroup => of!(region.security_groups),
        ResourceKind::NetworkInterface => of!(region.network_interfaces),
        ResourceKind::Volume => of!(region.disks),
        ResourceKind::LoadBalancer => of!(region.load_balancers.as_mut()?),
        _ => None,
    }
}
