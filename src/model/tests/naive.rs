//! A second, naive implementation of what the controllers decide about a Service without further annotations: subnets,
//! scheme, targets and groups of the nodes. Written from the controllers' steps, in the order of their code, and not from the
//! model.
//! Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#EnsureLoadBalancer`, `#findSubnets`, `#findELBSubnets`,
//! `#findSecurityGroupForInstance`; kubernetes/cloud-provider `controllers/service/controller.go`;
//! kubernetes-sigs/aws-load-balancer-controller `pkg/networking/subnet_resolver.go`, `pkg/backend/endpoint_resolver.go`,
//! `pkg/networking/networking_manager.go`.

use std::collections::{BTreeMap, BTreeSet};

const OWN: &str = "kubernetes.io/cluster/c-m-4x8z2k9q";
const CLUSTER: &str = "c-m-4x8z2k9q";

#[derive(Debug, Clone, Copy)]
pub(super) enum Controller {
    /// v1.minor.0
    Cloud {
        minor: u32,
    },
    LoadBalancer {
        major: u32,
        minor: u32,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Subnet {
    pub(super) id: String,
    pub(super) in_vpc: bool,
    /// 3 is a local zone.
    pub(super) zone: usize,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) free: i32,
    /// Whether its own table has a route to an internet gateway; the main table counts without one.
    pub(super) is_public_by_own_table: Option<bool>,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a random world")]
pub(super) struct Node {
    pub(super) ready: String,
    pub(super) deleting: bool,
    pub(super) excluded: Option<String>,
    pub(super) master: bool,
    pub(super) drained: bool,
    pub(super) disrupted: bool,
    pub(super) provider: String,
}

#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub(super) has_tag: bool,
    pub(super) groups: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) tags: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub(super) struct Service {
    pub(super) internal: Option<String>,
    pub(super) is_local: bool,
    pub(super) is_nlb: bool,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) subnets: Vec<Subnet>,
    /// The main table of the VPC; `None` if it has none.
    pub(super) is_main_public: Option<bool>,
    pub(super) nodes: Vec<Node>,
    /// That of each Node.
    pub(super) instances: Vec<Instance>,
    pub(super) groups: Vec<Group>,
    pub(super) service: Service,
    pub(super) controller: Controller,
}

/// What is decided; `None` for what the controller does not reach, or what is not compared.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) fails: bool,
    /// True if it depends on the instance on which the controller runs.
    pub(super) is_open: bool,
    pub(super) scheme: Option<&'static str>,
    pub(super) subnets: Option<BTreeSet<String>>,
    pub(super) targets: Option<BTreeSet<String>>,
    pub(super) groups: Option<BTreeSet<String>>,
}

pub(super) fn decide(world: &World) -> Answer {
    match world.controller {
        Controller::Cloud { minor } => cloud(world, minor),
        Controller::LoadBalancer { major, minor } => load_balancer(world, (major, minor)),
    }
}

fn fail(answer: Answer) -> Answer {
    Answer { fails: true, ..answer }
}

// --- cloud controller ---

fn cloud(world: &World, minor: u32) -> Answer {
    let mut answer = Answer::default();
    let mut targets = Vec::new();
    for (number, node) in world.nodes.iter().enumerate() {
        if is_in_for_cloud(node, minor, world.service.is_local)
            && matches!(node.provider.as_str(), "full" | "bare")
            && world.instances[number].has_tag
        {
            targets.push(number);
        }
    }
    answer.targets = Some(targets.iter().map(|number| format!("i-{number}")).collect());
    let is_public = match &world.service.internal {
        None => true,
        Some(value) => value.is_empty() || value == "false",
    };
    answer.scheme = Some(if is_public { "internet-facing" } else { "internal" });
    if world.subnets.iter().any(|subnet| subnet.in_vpc) && candidates(world).is_empty() {
        answer.is_open = true;
        return answer;
    }
    match cloud_subnets(world, is_public, minor) {
        Some(subnets) if !subnets.is_empty() => answer.subnets = Some(subnets),
        _ => return fail(answer),
    }
    let mut groups = BTreeSet::new();
    for number in targets {
        match cloud_group(world, &world.instances[number]) {
            Some(group) => {
                groups.insert(format!("sg-{group}"));
            }
            None => return fail(answer),
        }
    }
    answer.groups = Some(groups);
    answer
}

fn is_in_for_cloud(node: &Node, minor: u32, is_local: bool) -> bool {
    if node.deleting && minor >= 27 || node.drained {
        return false;
    }
    if let Some(value) = &node.excluded {
        let counts_as_absent = minor >= 34 && ["0", "f", "F", "false", "False", "FALSE"].contains(&value.as_str());
        if !counts_as_absent {
            return false;
        }
    }
    if minor >= 27 || is_local { true } else { node.ready == "True" }
}

/// Subnets of the cluster, and those of none.
fn candidates(world: &World) -> Vec<&Subnet> {
    let mut candidates = Vec::new();
    for subnet in &world.subnets {
        if !subnet.in_vpc {
            continue;
        }
        let is_own =
            subnet.tags.contains_key(OWN) || subnet.tags.get("KubernetesCluster").is_some_and(|id| id == CLUSTER);
        let is_untagged = !subnet.tags.keys().any(|key| key.starts_with("kubernetes.io/cluster/"));
        if is_own || is_untagged {
            candidates.push(subnet);
        }
    }
    candidates
}

/// `None` for an error. Local zones are dropped since v1.26.1.
fn cloud_subnets(world: &World, is_public: bool, minor: u32) -> Option<BTreeSet<String>> {
    let role = if is_public { "kubernetes.io/role/elb" } else { "kubernetes.io/role/internal-elb" };
    let mut by_zone: BTreeMap<usize, &Subnet> = BTreeMap::new();
    let mut in_order = candidates(world);
    in_order.sort_by(|a, b| a.id.cmp(&b.id));
    for subnet in in_order {
        let is_routed = subnet.is_public_by_own_table.or(world.is_main_public)?;
        if is_public && !is_routed {
            continue;
        }
        let Some(held) = by_zone.get(&subnet.zone) else {
            by_zone.insert(subnet.zone, subnet);
            continue;
        };
        let has = |one: &Subnet, key: &str| one.tags.contains_key(key);
        if has(held, role) != has(subnet, role) {
            if has(subnet, role) {
                by_zone.insert(subnet.zone, subnet);
            }
            continue;
        }
        // The tag of the cluster, old or new.
        let is_tagged =
            |one: &Subnet| has(one, OWN) || one.tags.get("KubernetesCluster").is_some_and(|id| id == CLUSTER);
        if is_tagged(subnet) && !is_tagged(held) {
            by_zone.insert(subnet.zone, subnet);
        }
    }
    Some(
        by_zone.into_iter().filter(|(zone, _)| *zone != 3 || minor < 27).map(|(_, subnet)| subnet.id.clone()).collect(),
    )
}

/// The group of an instance; `None` for an error.
fn cloud_group(world: &World, instance: &Instance) -> Option<usize> {
    let is_tagged = |number: &&usize| {
        let tags = &world.groups[**number].tags;
        tags.contains_key(OWN) || tags.get("KubernetesCluster").is_some_and(|id| id == CLUSTER)
    };
    let tagged: Vec<usize> = instance.groups.iter().filter(is_tagged).copied().collect();
    match (tagged.as_slice(), instance.groups.as_slice()) {
        ([only], _) | ([], [only]) => Some(*only),
        _ => None,
    }
}

// --- AWS Load Balancer Controller ---

fn load_balancer(world: &World, version: (u32, u32)) -> Answer {
    let mut answer = Answer::default();
    let is_internal = match world.service.internal.as_deref() {
        None | Some("true" | "True" | "TRUE" | "t" | "T" | "1") => true,
        Some("false" | "False" | "FALSE" | "f" | "F" | "0") => false,
        Some(_) => return fail(answer),
    };
    answer.scheme = Some(if is_internal { "internal" } else { "internet-facing" });
    match discovered(world, version, is_internal) {
        Some(subnets) => answer.subnets = Some(subnets),
        None => return fail(answer),
    }
    let mut candidates = Vec::new();
    for (number, node) in world.nodes.iter().enumerate() {
        let is_out = node.master || node.excluded.is_some() || node.drained || version >= (2, 12) && node.disrupted;
        if !is_out {
            candidates.push((number, node));
        }
    }
    let mut chosen: Vec<_> = candidates.iter().filter(|(_, node)| node.ready == "True").collect();
    if chosen.is_empty() {
        chosen = candidates.iter().filter(|(_, node)| node.ready == "Unknown").collect();
    }
    let mut targets = BTreeSet::new();
    let mut groups = BTreeSet::new();
    for (number, node) in chosen {
        if !matches!(node.provider.as_str(), "full" | "bare") {
            return fail(answer);
        }
        targets.insert(format!("i-{number}"));
    }
    for target in &targets {
        let number: usize = target.trim_start_matches("i-").parse().unwrap();
        let own = &world.instances[number].groups;
        let tagged: Vec<&usize> = own.iter().filter(|group| world.groups[**group].tags.contains_key(OWN)).collect();
        match (own.as_slice(), tagged.as_slice()) {
            ([only], _) => groups.insert(format!("sg-{only}")),
            (_, [only]) => groups.insert(format!("sg-{only}")),
            _ => return fail(answer),
        };
    }
    answer.targets = Some(targets);
    answer.groups = Some(groups);
    answer
}

fn discovered(world: &World, version: (u32, u32), is_internal: bool) -> Option<BTreeSet<String>> {
    let role = if is_internal { "kubernetes.io/role/internal-elb" } else { "kubernetes.io/role/elb" };
    let here: Vec<&Subnet> = world.subnets.iter().filter(|subnet| subnet.in_vpc).collect();
    let mut found: Vec<&Subnet> = here
        .iter()
        .filter(|subnet| subnet.tags.get(role).is_some_and(|value| value.is_empty() || value == "1"))
        .copied()
        .collect();
    if found.is_empty() && version >= (2, 13) {
        for subnet in here {
            let is_public = subnet.is_public_by_own_table.or(world.is_main_public)?;
            if is_public != is_internal {
                found.push(subnet);
            }
        }
    }
    found.retain(|subnet| {
        let is_of_others = subnet.tags.keys().any(|key| key.starts_with("kubernetes.io/cluster"));
        (subnet.tags.contains_key(OWN) || !is_of_others) && subnet.free >= 8
    });
    found.sort_by_key(|subnet| (!subnet.tags.contains_key(OWN), subnet.id.clone()));
    let mut by_zone: BTreeMap<usize, String> = BTreeMap::new();
    for subnet in found {
        by_zone.entry(subnet.zone).or_insert_with(|| subnet.id.clone());
    }
    let is_mixed = by_zone.contains_key(&3) && by_zone.len() > 1;
    (!by_zone.is_empty() && !is_mixed).then(|| by_zone.into_values().collect())
}
