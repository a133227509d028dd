//! The subnets of a load balancer.
//! Source: aws-load-balancer-controller `pkg/networking/subnet_resolver.go`.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::Subnet;
use crate::controller::ControllerVersion;
use crate::inventory::Read;
use crate::tags::{self, ROLE_ELB, ROLE_INTERNAL_ELB};

use super::{Config, Kind, Scheme, Stop};
use crate::model::annotations::{go_list, go_quoted};
use crate::model::decision::{Answer, Decision, PassedOver};
use crate::model::world::World;
use crate::policy::matches as has_value;

/// Free addresses that a subnet needs.
const FREE_ADDRESSES: i32 = 8;

/// Prefix of the keys of clusters, without a slash: `#isSubnetContainsEligibleClusterTag`.
const CLUSTER_PREFIX: &str = "kubernetes.io/cluster";

/// A search for subnets.
pub(super) struct Search<'s> {
    pub(super) world: World<'s>,
    pub(super) config: &'s Config<'s>,
    pub(super) vpc: &'s str,
    pub(super) kind: Kind,
    pub(super) scheme: Scheme,
    pub(super) is_dual_stack: bool,
    pub(super) ip_address_type: &'s str,
    /// True if subnets without free addresses are taken.
    pub(super) takes_full: bool,
}

impl<'s> Search<'s> {
    /// Subnets by id, anywhere, and by the tag `Name`, in the VPC: `#ResolveViaNameOrIDSlice`.
    pub(super) fn by_name_or_id(&self, named: &[String]) -> Result<Vec<&'s Subnet>, Stop> {
        let found = if self.config.is_since(3, 2) { self.in_listed_order(named) } else { self.counted(named) };
        let mut found = found.map_err(|stop| match stop {
            Stop::Error(message) if self.config.is_since(2, 13) => {
                Stop::Error(format!("failed to list subnets by names or IDs: {message}"))
            }
            stop => stop,
        })?;
        // To v2.10.0 by id.
        if self.config.version <= ControllerVersion::new(2, 10, 0) {
            found.sort_by(|a, b| a.id.cmp(&b.id));
        }
        self.validate_named(&found)?;
        Ok(found)
    }

    /// Since v3.2: in the order listed; a name that is listed several times takes its subnets by id.
    fn in_listed_order(&self, named: &[String]) -> Result<Vec<&'s Subnet>, Stop> {
        let own = self.world.subnets(self.vpc)?;
        let wanted: BTreeSet<&String> = named.iter().filter(|one| !is_id(one)).collect();
        let with_name = |name: &str| -> Vec<&'s Subnet> {
            let mut all: Vec<&Subnet> =
                own.iter().filter(|subnet| tags::value(&subnet.tags, "Name") == Some(name)).copied().collect();
            all.sort_by(|a, b| a.id.cmp(&b.id));
            all
        };
        let missing: Vec<&String> = wanted.iter().filter(|name| with_name(name).is_empty()).copied().collect();
        self.each_once(&named.iter().filter(|one| is_id(one)).collect::<Vec<_>>())?;
        if !missing.is_empty() {
            return Stop::error(format!("couldn't find all subnets, missing names: {}", go_list(&missing)));
        }
        let mut used: BTreeMap<&str, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for one in named {
            if is_id(one) {
                found.push(self.by_id(one)?);
                continue;
            }
            let all = with_name(one);
            let index = used.entry(one).or_default();
            let Some(subnet) = all.get(*index) else {
                return Stop::error(format!(
                    "subnet with Name tag {} requested {} times but only {} subnet(s) found with that name",
                    go_quoted(one),
                    *index + 1,
                    all.len()
                ));
            };
            *index += 1;
            found.push(*subnet);
        }
        Ok(found)
    }

    /// EC2 lists a subnet once.
    fn each_once(&self, ids: &[&String]) -> Result<Vec<&'s Subnet>, Stop> {
        let mut found: Vec<&Subnet> = Vec::new();
        for id in ids {
            let subnet = self.by_id(id)?;
            if !found.iter().any(|one| one.id == subnet.id) {
                found.push(subnet);
            }
        }
        if self.config.is_since(2, 13) && found.len() != ids.len() {
            let held: Vec<&str> = found.iter().map(|subnet| subnet.id.as_str()).collect();
            return Stop::error(format!(
                "couldn't find all subnets, want: {}, found: {}",
                go_list(ids),
                go_list(&held)
            ));
        }
        Ok(found)
    }

    /// To v3.1: as many as are listed. EC2 reads `*` and `?` in names as wildcards.
    fn counted(&self, named: &[String]) -> Result<Vec<&'s Subnet>, Stop> {
        let own = self.world.subnets(self.vpc)?;
        let (ids, wanted): (Vec<&String>, Vec<&String>) = named.iter().partition(|one| is_id(one));
        let mut found = self.each_once(&ids)?;
        let has_name = |subnet: &&&Subnet| {
            tags::value(&subnet.tags, "Name").is_some_and(|name| wanted.iter().any(|one| has_value(one, name)))
        };
        let mut by_name: Vec<&Subnet> = own.iter().filter(has_name).copied().collect();
        by_name.sort_by(|a, b| a.id.cmp(&b.id));
        if self.config.is_since(2, 13) {
            if by_name.len() != wanted.len() {
                let held: Vec<&str> = by_name.iter().map(|subnet| subnet.id.as_str()).collect();
                return Stop::error(format!(
                    "couldn't find all subnets, want: {}, found: {}",
                    go_list(&wanted),
                    go_list(&held)
                ));
            }
            found.extend(by_name);
            // Since v3.0 in the listed order, and each name as it is written.
            if self.config.is_since(3, 0) {
                let is_held =
                    |one: &&&String| found.iter().any(|subnet| tags::value(&subnet.tags, "Name") == Some(one.as_str()));
                if let Some(pattern) = wanted.iter().find(|one| !is_held(one)) {
                    return Stop::error(format!("subnet with Name tag not found: {pattern}"));
                }
                let mut once = BTreeSet::new();
                if let Some(name) = wanted.iter().find(|one| !once.insert(**one)) {
                    return Stop::unknown(
                        "subnets",
                        format!(
                            "v3.0 and v3.1 take one of the subnets with the name `{name}` twice, and then stop: which one is not known"
                        ),
                    );
                }
                let is_it =
                    |subnet: &Subnet, one: &str| subnet.id == *one || tags::value(&subnet.tags, "Name") == Some(one);
                found.sort_by_key(|subnet| named.iter().position(|one| is_it(subnet, one)));
            }
            return Ok(found);
        }
        found.extend(by_name);
        if found.len() != named.len() {
            return Stop::error(format!(
                "couldn't find all subnets, nameOrIDs: {}, found: {}",
                go_list(named),
                found.len()
            ));
        }
        Ok(found)
    }

    fn by_id(&self, id: &str) -> Result<&'s Subnet, Stop> {
        match self.world.subnet(id) {
            Some(subnet) => Ok(subnet),
            None => Stop::unknown(
                "subnets",
                format!(
                    "the subnet `{id}` is not in the inventory: if it does not exist, EC2 answers InvalidSubnetID.NotFound"
                ),
            ),
        }
    }

    /// Subnets by the ids of a class: `#ResolveViaSelector`.
    pub(super) fn by_ids(&self, ids: &[String]) -> Result<Vec<&'s Subnet>, Stop> {
        let found = self.each_once(&ids.iter().collect::<Vec<_>>());
        // Since v2.13 the error of the list has a prefix.
        let found = found.map_err(|stop| match stop {
            Stop::Error(message) if self.config.is_since(2, 13) => {
                Stop::Error(format!("failed to list subnets by IDs: {message}"))
            }
            stop => stop,
        })?;
        self.validate_named(&found)?;
        Ok(found)
    }

    /// Subnets of the VPC that have all of these tags, each with one of its values: `#ResolveViaSelector`.
    pub(super) fn by_tags(
        &self,
        wanted: &BTreeMap<String, Vec<String>>,
        decision: &mut Decision,
    ) -> Result<Vec<&'s Subnet>, Stop> {
        let has = |subnet: &&&Subnet| {
            wanted.iter().all(|(key, values)| {
                tags::value(&subnet.tags, key).is_some_and(|value| values.iter().any(|one| one == value))
            })
        };
        let all: Vec<&Subnet> = self.world.subnets(self.vpc)?.iter().filter(has).copied().collect();
        let keys: Vec<&String> = wanted.keys().collect();
        self.choose(all, &keys, decision)
    }

    /// Subnets for a new load balancer, for a decision that keeps those of an existing one.
    pub(super) fn if_new(&self, decision: &Decision) -> Answer<Vec<String>> {
        let mut apart = decision.clone();
        let found = self.discovered(&mut apart).ok();
        Answer::from(found.map(|found| found.iter().map(|subnet| subnet.id.clone()).collect()))
    }

    /// Subnets by role tag, or by reachability if there is none with the tag: `#ResolveViaDiscovery`.
    pub(super) fn discovered(&self, decision: &mut Decision) -> Result<Vec<&'s Subnet>, Stop> {
        let role = match self.scheme {
            Scheme::Internal => ROLE_INTERNAL_ELB,
            Scheme::InternetFacing => ROLE_ELB,
        };
        let own = self.world.subnets(self.vpc)?;
        let has_role = |subnet: &&Subnet| matches!(tags::value(&subnet.tags, role), Some("" | "1"));
        let (mut found, without): (Vec<&Subnet>, Vec<&Subnet>) = own.iter().copied().partition(has_role);
        let by_reachability = self.config.is_since(2, 13) && self.config.gate("SubnetDiscoveryByReachability", true);
        if found.is_empty() && by_reachability {
            decision.step(
                "subnets",
                "aws-load-balancer-controller pkg/networking/subnet_resolver.go#listSubnetsByReachability",
            );
            self.world.must_have(Read::DescribeRouteTables, "subnets")?;
            for subnet in own {
                let Some(table) = self.world.route_table(subnet) else {
                    return Stop::error(format!(
                        "failed to list subnets by reachability: [this shall never happen] could not identify main route table for vpc: {}",
                        self.vpc
                    ));
                };
                if table.is_public() == (self.scheme == Scheme::InternetFacing) {
                    found.push(subnet);
                } else {
                    let reason = if table.is_public() { "it is a public subnet" } else { "it is not a public subnet" };
                    pass_over(decision, subnet, reason);
                }
            }
        } else {
            for subnet in without {
                let held = subnet.tags.iter().find(|tag| tag.key == *role);
                let reason = match held {
                    Some(tag) => {
                        format!("its tag `{role}` has the value `{}`, which is neither empty nor `1`", tag.value)
                    }
                    None => format!("it lacks the tag `{role}`"),
                };
                pass_over(decision, subnet, &reason);
            }
        }
        self.choose(found, &[&role.to_owned()], decision)
    }

    /// One eligible subnet for each zone: `#chooseAndValidateSubnetsPerAZ`.
    fn choose(&self, all: Vec<&'s Subnet>, keys: &[&String], decision: &mut Decision) -> Result<Vec<&'s Subnet>, Stop> {
        let count = all.len();
        let asks_ipv6 = self.is_dual_stack && self.config.is_since(3, 5);
        let (mut foreign, mut full, mut without_ipv6) = (0, 0, 0);
        let mut zones: BTreeMap<&str, Vec<&Subnet>> = BTreeMap::new();
        for subnet in all {
            if self.is_foreign(subnet) {
                foreign += 1;
                pass_over(decision, subnet, "it is tagged for other clusters only");
            } else if !self.takes_full && subnet.available_ip_address_count.is_some_and(|free| free < FREE_ADDRESSES) {
                full += 1;
                pass_over(decision, subnet, "it has fewer than 8 free addresses");
            } else if asks_ipv6 && subnet.ipv6_cidr_blocks.as_ref().is_some_and(Vec::is_empty) {
                without_ipv6 += 1;
                pass_over(decision, subnet, "it has no IPv6 range");
            } else {
                zones.entry(&subnet.availability_zone).or_default().push(subnet);
            }
        }
        let mut chosen: Vec<&Subnet> = Vec::new();
        for competing in zones.values_mut() {
            competing.sort_by(|a, b| (!self.is_own(a), &a.id).cmp(&(!self.is_own(b), &b.id)));
            let Some((best, others)) = competing.split_first() else { continue };
            for other in others {
                let why =
                    if self.is_own(best) == self.is_own(other) { "the smaller id" } else { "the tag of the cluster" };
                pass_over(decision, other, &format!("`{}` of the same zone has {why}", best.id));
            }
            chosen.push(best);
        }
        chosen.sort_by(|a, b| a.id.cmp(&b.id));
        if chosen.is_empty() {
            return Stop::error(if self.config.is_since(2, 13) {
                let start = format!(
                    "unable to resolve at least one subnet. Evaluated {count} subnets: {foreign} are tagged for other clusters, "
                );
                if asks_ipv6 {
                    format!(
                        "{start}{full} have insufficient available IP addresses, and {without_ipv6} don't have an associated IPv6 CIDR block, which is required for {} load balancers",
                        self.ip_address_type
                    )
                } else {
                    format!("{start}and {full} have insufficient available IP addresses")
                }
            } else if !self.config.is_since(2, 6) {
                "unable to resolve at least one subnet".to_owned()
            } else {
                let mut explanation = format!("{count} match VPC and tags");
                if self.config.is_since(2, 7) {
                    explanation.push_str(&format!(": {}", go_list(keys)));
                }
                if foreign > 0 {
                    explanation.push_str(&format!(", {foreign} tagged for other cluster"));
                }
                if full > 0 {
                    explanation.push_str(&format!(", {full} have fewer than {FREE_ADDRESSES} free IPs"));
                }
                format!("unable to resolve at least one subnet ({explanation})")
            });
        }
        self.validate_count(&chosen)?;
        Ok(chosen)
    }

    /// True if a subnet has the tag of this cluster; the legacy tag is not known.
    fn is_own(&self, subnet: &Subnet) -> bool {
        tags::value(&subnet.tags, &tags::cluster_key(self.config.cluster_name)).is_some()
    }

    fn is_foreign(&self, subnet: &Subnet) -> bool {
        let is_checked = self.config.gate("SubnetsClusterTagCheck", true);
        is_checked && !self.is_own(subnet) && subnet.tags.iter().any(|tag| tag.key.starts_with(CLUSTER_PREFIX))
    }

    /// `#validateSpecifiedSubnets`.
    fn validate_named(&self, subnets: &[&Subnet]) -> Result<(), Stop> {
        if subnets.is_empty() {
            return Stop::error("unable to resolve at least one subnet");
        }
        let mut zones: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for subnet in subnets {
            zones.entry(&subnet.availability_zone).or_default().push(&subnet.id);
        }
        if let Some((zone, ids)) = zones.iter().find(|(_, ids)| ids.len() > 1) {
            return Stop::error(format!("multiple subnets in same Availability Zone {zone}: {}", go_list(ids)));
        }
        self.validate_count(subnets)?;
        if self.is_dual_stack && self.config.is_since(3, 5) {
            let lacks = |subnet: &&&Subnet| subnet.ipv6_cidr_blocks.as_ref().is_some_and(Vec::is_empty);
            let without: Vec<&str> = subnets.iter().filter(lacks).map(|subnet| subnet.id.as_str()).collect();
            if !without.is_empty() {
                return Stop::error(format!(
                    "subnets {} do not have an associated IPv6 CIDR block, which is required for {} load balancers",
                    go_list(&without),
                    self.ip_address_type
                ));
            }
        }
        Ok(())
    }

    /// One locale, and enough subnets for it: `#validateSubnetsLocaleUniformity`, `#validateSubnetsMinimalCount`.
    fn validate_count(&self, subnets: &[&Subnet]) -> Result<(), Stop> {
        let locale = |subnet: &&Subnet| match (&subnet.outpost_arn, self.world.zone_type(subnet)) {
            (Some(_), _) => "outpost",
            (None, "local-zone") => "local-zone",
            (None, "wavelength-zone") => "wavelength-zone",
            (None, _) => "availability-zone",
        };
        let locales: BTreeSet<&str> = subnets.iter().map(locale).collect();
        if locales.len() > 1 {
            let locales: Vec<&str> = locales.into_iter().collect();
            return Stop::error(format!("subnets in multiple locales: {}", go_list(&locales)));
        }
        let is_ordinary = locales.contains("availability-zone");
        let asks_two = self.kind == Kind::Application && is_ordinary && !self.config.gate("ALBSingleSubnet", false);
        let least = if asks_two { 2 } else { 1 };
        if subnets.len() < least {
            return Stop::error(format!("subnets count less than minimal required count: {} < {least}", subnets.len()));
        }
        Ok(())
    }
}

fn is_id(text: &str) -> bool {
    text.starts_with("subnet-")
}

fn pass_over(decision: &mut Decision, subnet: &Subnet, reason: &str) {
    decision.subnets_passed_over.push(PassedOver {
        subnet: subnet.id.clone(),
        zone: subnet.availability_zone.clone(),
        reason: reason.to_owned(),
    });
}
