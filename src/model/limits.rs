//! Limits of the account on load balancers, target groups and rules of security groups.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::aws::{LoadBalancerKind, PrefixList, Region, SecurityGroup};

use super::decision::{Answer, Crowded, Decision, IngressRule, ModelledController, Presence};

/// Inbound rules of a security group that EC2 allows by default. Accounts can raise it.
/// Source: Amazon VPC User Guide, "Amazon VPC quotas".
pub(crate) const DEFAULT_RULES: usize = 60;

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

/// Number of inbound rules as EC2 counts them: those of IPv4 and of IPv6 each have the quota, and a group as the source
/// counts for both. A prefix list counts as its maximum number of entries, and as one here if that was not read.
/// Source: Amazon VPC User Guide, "Amazon VPC quotas".
pub(crate) fn counted<'r>(sources: impl Iterator<Item = &'r str>, lists: &BTreeMap<String, PrefixList>) -> usize {
    let (mut v4, mut v6) = (0, 0);
    for source in sources {
        if source.starts_with("sg-") || source.starts_with("new:") {
            (v4, v6) = (v4 + 1, v6 + 1);
            continue;
        }
        let list = lists.get(source);
        let weight = list.and_then(|list| usize::try_from(list.weight?).ok()).unwrap_or(1);
        if source.contains(':') || list.is_some_and(|list| list.is_ipv6) {
            v6 += weight;
        } else {
            v4 += weight;
        }
    }
    v4.max(v6)
}

/// Notes the groups that would have more rules than EC2 allows: above the quota of the account the controller stops; above
/// the default it may stop if that was not read.
/// Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#setSecurityGroupIngress`, `#addSecurityGroupIngress`;
/// kubernetes-sigs/aws-load-balancer-controller `pkg/deploy/ec2/security_group_manager.go#Create`.
pub(super) fn rules(region: &Region, decisions: &mut [Decision]) {
    let read = region.limits.as_ref().and_then(|limits| limits.rules_per_group);
    let quota = read.and_then(|quota| usize::try_from(quota).ok());
    let (quota, is_read) = (quota.unwrap_or(DEFAULT_RULES), quota.is_some());
    let of_group = |group: &SecurityGroup| {
        let sources = group.ingress.iter().flat_map(|one| one.ranges.iter().chain(&one.groups));
        counted(sources.map(|one| one.source.as_str()), &region.prefix_lists)
    };
    // A group above the default shows that the quota was raised, but not its value.
    if !is_read && region.security_groups.iter().any(|group| of_group(group) > quota) {
        return;
    }
    for decision in decisions.iter_mut().filter(|one| one.handled && one.requested) {
        let own = decision.own_rules.first().map(|first| {
            let sources = decision.own_rules.iter().map(|rule| rule.source.as_str());
            (first.group.clone(), counted(sources, &region.prefix_lists), true)
        });
        let of_nodes = groups_of_nodes(region, decision).into_iter().map(|(group, rules)| (group, rules, false));
        let all: Vec<(String, usize, bool)> = own.into_iter().chain(of_nodes).collect();
        let Some((group, rules, is_own)) = all.into_iter().find(|(_, rules, _)| *rules > quota) else { continue };
        decision.crowded = Some(Crowded { group, rules, quota, is_read, is_own });
        if decision.error != Answer::Is(None) {
            continue;
        }
        let stops = is_own || decision.controller == ModelledController::CloudProviderAws;
        if is_read && stops {
            decision.error = Answer::Is(Some(refusal(decision.controller).to_owned()));
            decision.created &= !(is_own && decision.presence == Presence::New);
        } else {
            let which = if is_read {
                format!("the quota is {quota}")
            } else {
                format!("the quota of the account was not read, and the default is {quota}")
            };
            decision.may_fail(format!("a security group would have {rules} inbound rules; {which}"));
        }
    }
}

/// Groups of nodes with the number of rules that they would have, where the controller adds some.
fn groups_of_nodes(region: &Region, decision: &Decision) -> Vec<(String, usize)> {
    let added: &[IngressRule] = decision.rules.known().map_or(&[], Vec::as_slice);
    let removed: &[IngressRule] = decision.rules_removed.known().map_or(&[], Vec::as_slice);
    let mut groups: Vec<&str> = added.iter().map(|rule| rule.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    let count = |group: &str| {
        let held = region.security_groups.iter().filter(|one| one.id == group).flat_map(|one| &one.ingress);
        let held = held.flat_map(|one| one.ranges.iter().chain(&one.groups)).map(|one| one.source.as_str());
        let sources = |rules: &'_ [IngressRule]| -> Vec<String> {
            rules.iter().filter(|rule| rule.group == group).map(|rule| rule.source.clone()).collect()
        };
        let mut all: Vec<String> = held.map(str::to_owned).chain(sources(added)).collect();
        for source in sources(removed) {
            if let Some(at) = all.iter().position(|one| *one == source) {
                all.swap_remove(at);
            }
        }
        counted(all.iter().map(String::as_str), &region.prefix_lists)
    };
    groups.into_iter().map(|group| (group.to_owned(), count(group))).collect()
}

/// The error in the words of a controller.
fn refusal(controller: ModelledController) -> &'static str {
    match controller {
        ModelledController::CloudProviderAws => {
            "error authorizing security group ingress: RulesPerSecurityGroupLimitExceeded: The maximum number of rules per security group has been reached."
        }
        ModelledController::LoadBalancerController | ModelledController::CloudProviderAlibaba => {
            "RulesPerSecurityGroupLimitExceeded: The maximum number of rules per security group has been reached."
        }
    }
}
