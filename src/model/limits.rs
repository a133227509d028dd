//! How many more load balancers and target groups the account allows.

use serde::Serialize;

use crate::aws::{LoadBalancerKind, Region};

use super::decision::{Answer, Decision, Presence};

/// A limit of the account in the region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Room {
    /// Name of the limit.
    pub(crate) limit_name: &'static str,
    pub(crate) limit: u64,
    /// Number that exists.
    pub(crate) existing: u64,
    /// Number that the objects ask for, in addition.
    pub(crate) asked: u64,
}

impl Room {
    /// Number that may still be created before the objects get theirs.
    pub(crate) fn free(&self) -> u64 {
        self.limit.saturating_sub(self.existing)
    }
}

/// `target-groups`, per region.
const TARGET_GROUPS: &str = "target-groups";

/// The limits that new load balancers of the decisions meet; empty if they were not read. A load balancer beyond one may be
/// refused.
pub(super) fn room(region: &Region, decisions: &mut [Decision]) -> Vec<Room> {
    let Some(balancing) = &region.load_balancing else { return Vec::new() };
    let Some(limits) = &balancing.limits else { return Vec::new() };
    let is_new =
        |one: &Decision| one.handled && one.presence == Presence::New && one.failure().is_none() && one.requested;
    let mut rooms = Vec::new();
    for (kind, name) in
        [(LoadBalancerKind::Classic, "clb"), (LoadBalancerKind::Network, "nlb"), (LoadBalancerKind::Application, "alb")]
    {
        let is_asked = |one: &&mut Decision| is_new(one) && one.kind == Answer::Is(name);
        let asked = decisions.iter_mut().filter(is_asked).count() as u64;
        let existing = balancing.load_balancers.iter().filter(|one| one.kind == kind).count() as u64;
        let limit_name = kind.limit_name();
        let Some(limit) = limits.get(limit_name).copied().filter(|_| asked > 0) else { continue };
        let room = Room { limit_name, limit, existing, asked };
        for decision in decisions.iter_mut().filter(is_asked).filter(|_| asked > room.free()) {
            refuse(decision, &room);
        }
        rooms.push(room);
    }
    // Their number is known if the names are.
    if decisions.iter().any(|one| is_new(one) && one.target_groups == Answer::Unknown) {
        return rooms;
    }
    let groups = |one: &Decision| one.target_groups.known().map_or(0, Vec::len) as u64;
    let asked: u64 = decisions.iter().filter(|one| is_new(one)).map(groups).sum();
    if let Some(limit) = limits.get(TARGET_GROUPS).copied().filter(|_| asked > 0) {
        let existing = balancing.target_groups.len() as u64;
        let room = Room { limit_name: TARGET_GROUPS, limit, existing, asked };
        let wants = |one: &&mut Decision| is_new(one) && groups(one) > 0;
        for decision in decisions.iter_mut().filter(wants).filter(|_| asked > room.free()) {
            refuse(decision, &room);
        }
        rooms.push(room);
    }
    rooms
}

fn refuse(decision: &mut Decision, room: &Room) {
    let Room { limit_name, limit, existing, asked } = room;
    decision
        .may_fail(format!("{existing} of {limit} exist (limit {limit_name}), and the objects ask for {asked} more"));
}
