//! Target groups of a Network Load Balancer, and the rules of the nodes' groups.
//! Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#buildTargetGroupName`,
//! `#updateInstanceSecurityGroupsForNLB`, `#updateInstanceSecurityGroupForNLBTraffic`,
//! `#updateInstanceSecurityGroupForNLBMTU`.

use std::collections::BTreeSet;

use sha1::{Digest, Sha1};

use crate::aws::{Instance, SecurityGroup};
use crate::text;

use super::{Request, Stop};
use crate::model::decision::{Answer, Decision, HealthCheck, IngressRule};
use crate::model::names;

const CLIENT: &str = "kubernetes.io/rule/nlb/client";
const HEALTH: &str = "kubernetes.io/rule/nlb/health";
const MTU: &str = "kubernetes.io/rule/nlb/mtu";
const TRAFFIC_PORT: &str = "traffic-port";

/// The rules of a group after an update.
struct Traffic<'r> {
    description: String,
    protocol: &'r str,
    ports: BTreeSet<i64>,
    ranges: &'r [String],
}

impl<'a> Request<'a> {
    /// Names of the target groups, one for each port.
    pub(super) fn target_group_names(&self, health: &HealthCheck) -> Vec<String> {
        let service = self.service;
        let interval = health.interval.to_string();
        let is_tls = self.annotation("aws-load-balancer-backend-protocol") == Some("ssl")
            && self.annotation("aws-load-balancer-ssl-cert").is_some_and(|arn| !arn.is_empty());
        let name = |(port, node_port): (i64, i64)| {
            let protocol =
                if is_tls && self.protocol() != "UDP" && self.is_tls_port(port) { "TLS" } else { self.protocol() };
            let parts = [
                self.world.cluster_id,
                &service.namespace,
                &service.name,
                &port.to_string(),
                &node_port.to_string(),
                protocol,
                "instance",
                health.protocol.as_deref().unwrap_or_default(),
                &interval,
            ];
            let hash = text::hex(&Sha1::digest(parts.concat().as_bytes()), 5);
            names::of_object(&service.namespace, &service.name, &hash)
        };
        self.node_ports().into_iter().map(name).collect()
    }

    /// Rules of the nodes' groups.
    pub(super) fn rules_of_nlb(
        &self,
        decision: &mut Decision,
        subnets: &[String],
        ranges: &[String],
        health: &HealthCheck,
        instances: Option<&[&'a Instance]>,
    ) -> Result<(), Stop> {
        let Some(needed) = self.groups_to_open(decision, instances)? else { return Ok(()) };
        let later = self.awaiting().map(crate::model::allocated_later);
        let later = later.or_else(|| self.awaits_health_port().then(|| crate::model::HEALTH_PORT_LATER.to_owned()));
        if let Some(reason) = later {
            decision.note_unknown("rules", reason);
            decision.node_groups = Answer::Is(needed.into_iter().collect());
            decision.rules = Answer::Unknown;
            return Ok(());
        }
        decision.node_groups = Answer::Is(needed.iter().cloned().collect());
        let blocks: Option<Vec<String>> = subnets.iter().map(|id| self.world.subnet(id)?.cidr_block.clone()).collect();
        let ports: BTreeSet<i64> = self.node_ports().into_iter().map(|(_, node_port)| node_port).collect();
        let health_ports: BTreeSet<i64> = match health.port.as_deref() {
            Some(TRAFFIC_PORT) | None => ports.clone(),
            Some(number) => number.parse().into_iter().collect(),
        };
        let protocol = if self.protocol() == "UDP" { "udp" } else { "tcp" };
        // Since v1.24.2.
        let is_covered = self.config.is_since(24, 2) && ranges == ["0.0.0.0/0"] && protocol == "tcp";
        let is_open = is_covered && health_ports == ports;
        let name = self.name_or_placeholder();
        let Some(blocks) = blocks.or_else(|| is_open.then(Vec::new)) else {
            decision.note_unknown("rules", "the ranges of the subnets are not in the inventory: record it again");
            decision.rules = Answer::Unknown;
            return Ok(());
        };
        let health =
            Traffic { description: format!("{HEALTH}={name}"), protocol: "tcp", ports: health_ports, ranges: &blocks };
        let client = Traffic { description: format!("{CLIENT}={name}"), protocol, ports, ranges };
        // The group of the configuration is never changed.
        let untouched = self.config.text("ElbSecurityGroup", "rules")?;
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        let is_of_cluster =
            |group: &&SecurityGroup| needed.contains(&group.id) || self.world.has_cluster_tag(&group.tags);
        for group in self.world.here().security_groups.iter().filter(is_of_cluster) {
            if untouched == Some(group.id.as_str()) {
                continue;
            }
            let before = rules_of(group);
            let mut update =
                Update { held: before.iter().map(key).collect(), rules: before.clone(), ..Update::default() };
            if needed.contains(&group.id) {
                if !is_open {
                    update.traffic(&group.id, &health);
                }
                update.traffic(&group.id, &client);
            } else {
                update.set(&BTreeSet::new(), |rule| health.is_mine(rule));
                update.set(&BTreeSet::new(), |rule| client.is_mine(rule));
            }
            if update.rules != before {
                update.mtu(&group.id);
            }
            added.extend(update.added);
            removed.extend(update.removed);
        }
        decision.rules = Answer::Is(added);
        decision.rules_removed = Answer::Is(removed);
        Ok(())
    }
}

/// The parts of a rule that EC2 compares: a group has a rule once, with one description.
type Key = (String, Option<i64>, Option<i64>, String);

fn key(rule: &IngressRule) -> Key {
    (rule.protocol.clone(), rule.from, rule.to, rule.source.clone())
}

/// The update of a group.
#[derive(Default)]
struct Update {
    /// Rules as the controller remembers them.
    rules: BTreeSet<IngressRule>,
    /// Rules that the group has, with any description.
    held: BTreeSet<Key>,
    added: Vec<IngressRule>,
    removed: Vec<IngressRule>,
}

impl Update {
    /// Replaces rules of one kind.
    /// Sources: `pkg/providers/v1/aws.go#addSecurityGroupIngress`, `#ipPermissionExists`, which ignore descriptions.
    fn set(&mut self, wanted: &BTreeSet<IngressRule>, is_mine: impl Fn(&IngressRule) -> bool) {
        let old: Vec<IngressRule> =
            self.rules.iter().filter(|rule| is_mine(rule) && !wanted.contains(rule)).cloned().collect();
        for rule in old {
            self.rules.remove(&rule);
            self.held.remove(&key(&rule));
            self.removed.push(rule);
        }
        for rule in wanted {
            if self.rules.insert(rule.clone()) && self.held.insert(key(rule)) {
                self.added.push(rule.clone());
            }
        }
    }

    fn traffic(&mut self, group: &str, traffic: &Traffic<'_>) {
        let pairs = traffic.ports.iter().flat_map(|port| traffic.ranges.iter().map(move |range| (port, range)));
        let rule = |(port, range): (&i64, &String)| {
            IngressRule::port(group, traffic.protocol, range, *port).described(traffic.description.clone())
        };
        self.set(&pairs.map(rule).collect(), |rule| traffic.is_mine(rule));
    }

    /// The rules for path MTU discovery follow those of all clients.
    fn mtu(&mut self, group: &str) {
        let is_client = |rule: &&IngressRule| rule.description.as_deref().is_some_and(|text| text.contains(CLIENT));
        let rule = |rule: &IngressRule| IngressRule::path_mtu(group, &rule.source).described(MTU.to_owned());
        let wanted = self.rules.iter().filter(is_client).map(rule).collect();
        self.set(&wanted, |rule| rule.description.as_deref() == Some(MTU));
    }
}

impl Traffic<'_> {
    fn is_mine(&self, rule: &IngressRule) -> bool {
        rule.description.as_deref() == Some(self.description.as_str())
    }
}

/// The rules of a group with ranges as their sources, one by one.
fn rules_of(group: &SecurityGroup) -> BTreeSet<IngressRule> {
    let each =
        group.ingress.iter().flat_map(|permission| permission.ranges.iter().map(move |range| (permission, range)));
    each.map(|(permission, range)| IngressRule {
        group: group.id.clone(),
        protocol: permission.protocol.clone(),
        source: range.source.clone(),
        from: permission.from_port.map(i64::from),
        to: permission.to_port.map(i64::from),
        description: range.description.clone(),
    })
    .collect()
}
