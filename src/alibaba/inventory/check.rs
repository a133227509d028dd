//! Validation of a recorded inventory. A list that holds the same name twice with different content has no correct
//! reading: the order of the entries would decide.

use std::collections::HashMap;

use crate::inventory::Provider;
use crate::target;

use super::{Inventory, Region};

impl Inventory {
    /// First contradiction, with its JSON pointer: an invalid id, or entries that contradict one another.
    #[must_use]
    pub fn contradiction(&self) -> Option<(String, String)> {
        let accounts = self.accounts.iter().enumerate();
        let twice = repeated("/accounts", "account", accounts.clone().map(|(_, one)| (one.account_id.as_str(), one)));
        twice.or_else(|| {
            accounts.into_iter().find_map(|(index, account)| {
                let place = format!("/accounts/{index}");
                if !Provider::Alibaba.is_account_id(&account.account_id) {
                    let reason = format!("`{}` is not an account id, which has digits only", account.account_id);
                    return Some((format!("{place}/account_id"), reason));
                }
                let principals =
                    account.principals.iter().map(|one| (format!("{} {}", one.kind.name(), one.name), one));
                let policies =
                    account.policies.iter().map(|one| (format!("{} {}", one.policy_type.name(), one.name), one));
                let regions = account.regions.iter().map(|one| (one.name.as_str(), one));
                repeated(&format!("{place}/principals"), "principal", principals)
                    .or_else(|| repeated(&format!("{place}/policies"), "policy", policies))
                    .or_else(|| repeated(&format!("{place}/regions"), "region", regions))
                    .or_else(|| {
                        let mut regions = account.regions.iter().enumerate();
                        regions.find_map(|(index, region)| check_region(&format!("{place}/regions/{index}"), region))
                    })
            })
        })
    }
}

fn check_region(place: &str, region: &Region) -> Option<(String, String)> {
    if !target::is_region(&region.name) {
        return Some((format!("{place}/name"), format!("`{}` is not a region", region.name)));
    }
    macro_rules! of {
        ($list:ident, $noun:literal) => {
            || {
                let list = region.$list.iter().map(|one| (one.id.as_str(), one));
                repeated(&format!(concat!("{}/", stringify!($list)), place), $noun, list)
            }
        };
    }
    macro_rules! asked {
        ($list:ident, $noun:literal) => {
            || {
                let list = region.$list.iter().flatten().map(|one| (one.id.as_str(), one));
                repeated(&format!(concat!("{}/", stringify!($list)), place), $noun, list)
            }
        };
    }
    of!(instances, "instance")()
        .or_else(of!(vpcs, "VPC"))
        .or_else(of!(vswitches, "vSwitch"))
        .or_else(of!(route_tables, "route table"))
        .or_else(of!(security_groups, "security group"))
        .or_else(of!(network_interfaces, "network interface"))
        .or_else(of!(disks, "disk"))
        .or_else(asked!(load_balancers, "load balancer"))
        .or_else(asked!(application_load_balancers, "load balancer"))
        .or_else(asked!(elastic_ips, "Elastic IP address"))
}

/// First entry without a name, or with the name of an entry that differs.
fn repeated<N: AsRef<str> + Eq + std::hash::Hash + Clone, T: PartialEq>(
    place: &str,
    noun: &str,
    list: impl Iterator<Item = (N, T)>,
) -> Option<(String, String)> {
    let mut seen: HashMap<N, T> = HashMap::new();
    for (index, (name, one)) in list.enumerate() {
        let shown = name.as_ref().to_owned();
        if shown.is_empty() {
            return Some((format!("{place}/{index}"), format!("the {noun} has no name")));
        }
        match seen.get(&name) {
            Some(other) if *other != one => {
                return Some((
                    format!("{place}/{index}"),
                    format!("{noun} `{shown}` occurs twice with different content"),
                ));
            }
            Some(_) => {}
            None => {
                seen.insert(name, one);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alibaba::{Account, Instance};

    fn inventory(change: impl FnOnce(&mut Account)) -> Inventory {
        let mut account = Account { account_id: "1234567890123456".to_owned(), ..Account::default() };
        let mut region = Region::new("cn-hangzhou");
        region.instances = vec![Instance { id: "i-1".to_owned(), ..Instance::default() }];
        account.regions = vec![region];
        change(&mut account);
        let mut inventory = Inventory::new(None);
        inventory.accounts = vec![account];
        inventory
    }

    #[test]
    fn what_cannot_be_is_named_with_its_place() {
        let of = |change: fn(&mut Account)| inventory(change).contradiction();
        assert_eq!(of(|_| ()), None);
        let same = of(|one| {
            let again = one.regions[0].instances[0].clone();
            one.regions[0].instances.push(again);
        });
        assert_eq!(same, None, "the same twice");
        let cases: [(fn(&mut Account), &str, &str); 6] = [
            (|one| one.account_id = "<b>x".to_owned(), "/accounts/0/account_id", "`<b>x` is not an account id"),
            (|one| one.account_id.clear(), "/accounts/0", "the account has no name"),
            (|one| one.regions[0].name = "mars".to_owned(), "/accounts/0/regions/0/name", "`mars` is not a region"),
            (
                |one| one.regions[0].instances[0].id.clear(),
                "/accounts/0/regions/0/instances/0",
                "the instance has no name",
            ),
            (
                |one| {
                    let other = Instance { status: "Stopped".to_owned(), ..one.regions[0].instances[0].clone() };
                    one.regions[0].instances.push(other);
                },
                "/accounts/0/regions/0/instances/1",
                "instance `i-1` occurs twice with different content",
            ),
            (
                |one| one.regions.push(Region::new("cn-hangzhou")),
                "/accounts/0/regions/1",
                "region `cn-hangzhou` occurs twice with different content",
            ),
        ];
        for (change, place, reason) in cases {
            let (found, why) = of(change).unwrap();
            assert_eq!(found, place);
            assert!(why.starts_with(reason), "{why}");
        }
    }
}
