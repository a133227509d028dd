//! The unknown never passes: whatever is taken out of a recording that another part of it names, a finding of before is there
//! still, or its rule was not audited; and a clean recording is not clean any more.

use std::collections::BTreeSet;

use tagaudit::internals::audit::Audit;
use tagaudit::internals::inventory::{Inventory, Region};
use tagaudit::internals::rules::Outcome;

use super::fixtures::{parsed_nodes, to_plan as report};
use super::worlds;

/// A list of a region, and how it is emptied.
type List = (&'static str, fn(&mut Region) -> usize);

/// Empties a list and tells how much it held.
macro_rules! list {
    ($name:ident) => {
        (stringify!($name), |region| std::mem::take(&mut region.$name).len())
    };
}

const LISTS: [List; 7] = [
    list!(subnets),
    list!(vpcs),
    list!(security_groups),
    list!(route_tables),
    list!(dhcp_options),
    list!(network_interfaces),
    list!(availability_zones),
];

/// An item by its id, and how it is taken out.
type Item = (&'static str, fn(&Region) -> Vec<String>, fn(&mut Region, &str));

macro_rules! item {
    ($name:ident) => {
        (
            stringify!($name),
            |region| region.$name.iter().map(|one| one.id.clone()).collect(),
            |region, id| region.$name.retain(|one| one.id != id),
        )
    };
}

const ITEMS: [Item; 3] = [item!(subnets), item!(vpcs), item!(security_groups)];

/// As a recording is read.
fn read(inventory: &Inventory) -> Inventory {
    Inventory::from_slice("inventory.json", &inventory.to_json().unwrap()).unwrap()
}

/// Rules with what they found, without what a list adds to it.
fn found(audit: &Audit) -> BTreeSet<(&'static str, String)> {
    audit.open().map(|finding| (finding.rule, finding.resource.id.clone())).collect()
}

/// Findings of before that are gone although their rule says that it looked.
fn lost(before: &Audit, after: &Audit) -> Vec<String> {
    let there = found(after);
    let is_unread = |rule: &str| {
        after.rules.iter().any(|one| {
            one.rule == rule
                && (one.outcome == Outcome::NotAudited || one.outcome == Outcome::Failed && one.why.is_some())
        })
    };
    let gone = found(before).into_iter().filter(|one| !there.contains(one) && !is_unread(one.0));
    gone.map(|(rule, id)| format!("{rule} on {id}")).collect()
}

#[test]
fn what_is_taken_out_of_a_recording_is_told_and_hides_nothing() {
    let mut wrong = Vec::new();
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        let audit = |inventory: &Inventory| report(inventory, world.cluster_id, nodes.as_deref());
        let before = audit(&read(&world.inventory));
        let mut check = |what: String, inventory: &Inventory| {
            let after = audit(&read(inventory));
            wrong.extend(lost(&before, &after).into_iter().map(|one| format!("{}: {what}: {one} is gone", world.name)));
            if after.not_audited.is_empty() {
                wrong.push(format!("{}: {what}: complete", world.name));
            }
        };
        let regions: Vec<(usize, usize)> = (0..world.inventory.accounts.len())
            .flat_map(|account| {
                (0..world.inventory.accounts[account].regions.len()).map(move |region| (account, region))
            })
            .collect();
        for (account, region) in regions {
            let original = &world.inventory.accounts[account].regions[region];
            let used: BTreeSet<&str> = original
                .instances
                .iter()
                .filter(|instance| instance.state.is_live())
                .flat_map(|one| one.subnet_id.iter().chain(&one.vpc_id).chain(&one.security_groups))
                .map(String::as_str)
                .collect();
            // Of a region in which nothing lives, empty lists are as good as any.
            if used.is_empty() {
                continue;
            }
            for (name, empty) in LISTS {
                let mut inventory = world.inventory.clone();
                if empty(&mut inventory.accounts[account].regions[region]) > 0 {
                    check(format!("without {name}"), &inventory);
                }
            }
            for (name, ids, take) in ITEMS {
                for id in ids(original) {
                    if used.contains(id.as_str()) {
                        let mut inventory = world.inventory.clone();
                        take(&mut inventory.accounts[account].regions[region], &id);
                        check(format!("without {id} of {name}"), &inventory);
                    }
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
