//! What the security groups of a network load balancer do with the traffic to its listeners.
//!
//! A network load balancer has a group of the service besides those that it joins: with priority 100 it accepts all
//! traffic. So rules that accept restrict nothing, and only a rule that drops does. Of all groups together the smallest
//! priority decides, and of one priority the rule that drops.
//! Source: Alibaba Cloud NLB documentation, "Add an NLB instance to a security group"; ECS 2014-05-26
//! `AuthorizeSecurityGroup`.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::alibaba::{LoadBalancer, LoadBalancerKind, RegionView, RulePolicy, SecurityGroupRule, service_tag_value};
use crate::kubernetes::{Service, ServicePort};
use crate::rules::alibaba::Context;

use super::alibaba_service::{annotation, has_annotation, kept};

/// A Service with the network load balancer that the controller maintains for it, and the rules that its groups add.
pub(in crate::rules) struct Guarded<'a> {
    pub(in crate::rules) service: &'a Service,
    pub(in crate::rules) view: &'a RegionView<'a>,
    pub(in crate::rules) balancer: &'a LoadBalancer,
    /// Groups that it joined, without those of Alibaba Cloud's services.
    pub(in crate::rules) groups: Vec<&'a str>,
    rules: Vec<&'a SecurityGroupRule>,
    /// Protocols and ports.
    listeners: Vec<(String, i64)>,
}

/// What the groups do with the IPv4 traffic to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum Fate {
    /// Nobody reaches it.
    Dropped,
    /// Rules accept it from some addresses, and none drops it from the others.
    AcceptedWithoutEffect,
    /// All else, also where a rule names what is not recorded.
    Reached,
}

/// Services whose network load balancer joined security groups that were all read.
pub(in crate::rules) fn guarded<'a>(context: &Context<'a>, services: &'a [Service]) -> Vec<Guarded<'a>> {
    let kubernetes = context.on_kubernetes();
    let mut found = Vec::new();
    // One that a Service names is its user's, whatever its tags.
    let is_found_by_tag = |service: &&Service| !service.uid.is_empty() && !has_annotation(service, "id");
    for service in services.iter().filter(is_found_by_tag) {
        if kept(&kubernetes, service) != Some(LoadBalancerKind::Nlb) {
            continue;
        }
        let tag = service_tag_value(&service.uid);
        for view in context.view.regions.iter().filter(|view| !view.members.is_empty()) {
            let all = view.region.load_balancers_of_services(|value| value == tag);
            let own = all.filter(|one| one.kind == LoadBalancerKind::Nlb);
            found.extend(own.filter_map(|balancer| of_balancer(service, view, balancer)));
        }
    }
    found
}

/// `None` if the load balancer joined no group, or a group was not read.
fn of_balancer<'a>(service: &'a Service, view: &'a RegionView<'a>, balancer: &'a LoadBalancer) -> Option<Guarded<'a>> {
    let mut guarded =
        Guarded { service, view, balancer, groups: Vec::new(), rules: Vec::new(), listeners: listeners(service)? };
    for id in balancer.security_groups.iter().flatten() {
        let group = view.region.security_groups.iter().find(|group| group.id == *id)?;
        if group.is_service_managed {
            continue;
        }
        guarded.groups.push(id);
        guarded.rules.extend(group.rules.as_ref()?);
    }
    (!guarded.groups.is_empty()).then_some(guarded)
}

impl Guarded<'_> {
    fn fate(&self, protocol: &str, port: i64) -> Fate {
        let mut certain: Vec<(Range, &SecurityGroupRule)> = Vec::new();
        let mut uncertain: Vec<&SecurityGroupRule> = Vec::new();
        for rule in &self.rules {
            let is_partial = rule.source_ports.is_some() || rule.destination.is_some();
            match (rule.matches_port(protocol, port), Range::read(&rule.source)) {
                (Some(false), _) | (_, Source::OtherFamily) => {}
                (Some(true), Source::Range(range)) if !is_partial => certain.push((range, rule)),
                _ => uncertain.push(rule),
            }
        }
        let decided: Vec<Option<&SecurityGroupRule>> = parts(&certain).map(|part| deciding(&certain, part)).collect();
        let is_dropped = |rule: Option<&SecurityGroupRule>| {
            let drop = rule.filter(|rule| rule.policy == RulePolicy::Drop);
            let may_accept = |one: &&SecurityGroupRule, drop: &SecurityGroupRule| {
                one.policy == RulePolicy::Accept && one.priority < drop.priority
            };
            drop.is_some_and(|drop| !uncertain.iter().any(|one| may_accept(one, drop)))
        };
        let is_accepted = |rule: Option<&SecurityGroupRule>| rule.is_some_and(|rule| rule.policy == RulePolicy::Accept);
        if decided.iter().copied().all(is_dropped) {
            return Fate::Dropped;
        }
        let is_list = decided.iter().copied().any(is_accepted) && decided.iter().any(Option::is_none);
        let restricts = decided.iter().flatten().any(|rule| rule.policy == RulePolicy::Drop);
        if is_list && !restricts && uncertain.is_empty() { Fate::AcceptedWithoutEffect } else { Fate::Reached }
    }

    /// Listeners of the Service with this fate, as `443/TCP`.
    pub(in crate::rules) fn listeners(&self, fate: Fate) -> Vec<String> {
        let all = self.listeners.iter().filter(|(protocol, port)| self.fate(protocol, *port) == fate);
        all.map(|(protocol, port)| format!("{port}/{protocol}")).collect()
    }
}

/// IPv4 addresses from one to another.
#[derive(Debug, Clone, Copy)]
struct Range {
    first: u32,
    last: u32,
}

/// What a rule names as its source.
enum Source {
    Range(Range),
    /// A range of IPv6, which decides about other traffic.
    OtherFamily,
    /// A group or a prefix list: what it holds is not recorded.
    NotRecorded,
}

impl Range {
    fn read(source: &str) -> Source {
        let (address, length) = source.split_once('/').unwrap_or((source, "32"));
        let read = address.parse::<Ipv4Addr>().ok().zip(length.parse::<u32>().ok().filter(|length| *length <= 32));
        match read {
            Some((address, length)) => {
                let hosts = u32::MAX.checked_shr(length).unwrap_or(0);
                let first = u32::from(address) & !hosts;
                Source::Range(Self { first, last: first | hosts })
            }
            None if address.contains(':') => Source::OtherFamily,
            None => Source::NotRecorded,
        }
    }
}

/// First address of each part of the address space in which the same rules match.
fn parts(rules: &[(Range, &SecurityGroupRule)]) -> impl Iterator<Item = u32> {
    let firsts = rules.iter().map(|(range, _)| range.first);
    let after = rules.iter().filter_map(|(range, _)| range.last.checked_add(1));
    let all: BTreeSet<u32> = firsts.chain(after).chain([0]).collect();
    all.into_iter()
}

/// The rule that decides about an address.
fn deciding<'r>(rules: &[(Range, &'r SecurityGroupRule)], address: u32) -> Option<&'r SecurityGroupRule> {
    let matching = rules.iter().filter(|(range, _)| range.first <= address && address <= range.last);
    // The smallest priority first, and of one priority the rule that drops.
    matching.map(|(_, rule)| *rule).min_by_key(|rule| (rule.priority, rule.policy != RulePolicy::Drop))
}

/// Protocols and ports on which the load balancer listens; `None` if an annotation sets ranges, or the controller stops at
/// one.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/nlbv2/listeners.go#nlbListenerProtocol`.
fn listeners(service: &Service) -> Option<Vec<(String, i64)>> {
    if has_annotation(service, "listener-port-range") {
        return None;
    }
    let named = annotation(service, "protocol-port").unwrap_or_default();
    if named.is_empty() && has_annotation(service, "protocol-port") {
        return None;
    }
    let listener = |port: &ServicePort| {
        for item in named.split(',').filter(|_| !named.is_empty()) {
            let mut parts = item.split(':');
            let (protocol, number) = (parts.next()?, parts.next()?);
            let protocol = match protocol.to_uppercase().as_str() {
                "UDP" => "UDP",
                "TCP" | "TCPSSL" => "TCP",
                _ => return None,
            };
            if number == port.port.to_string() {
                return Some((protocol.to_owned(), port.port));
            }
        }
        Some((port.protocol.to_uppercase(), port.port))
    };
    service.ports.iter().map(listener).collect()
}

#[cfg(test)]
pub(in crate::rules) mod testing {
    //! A Service with a network load balancer that joined a security group.

    use serde_json::json;

    use crate::alibaba::{LoadBalancer, LoadBalancerKind, SecurityGroup, SecurityGroupRule};
    use crate::testing::{alibaba::Cluster, tag};

    /// A rule, in the terms of the API.
    pub(in crate::rules) fn rule(
        priority: u8,
        policy: &str,
        protocol: &str,
        ports: &str,
        source: &str,
    ) -> SecurityGroupRule {
        let rule =
            json!({"priority": priority, "policy": policy, "protocol": protocol, "ports": ports, "source": source});
        serde_json::from_value(rule).unwrap()
    }

    /// Gives Service `web` an internet-facing network load balancer for 443/TCP, with a group that has these rules.
    pub(in crate::rules) fn join(c: &mut Cluster, rules: Vec<SecurityGroupRule>) {
        let service = c.service("web");
        service["spec"]["loadBalancerClass"] = "alibabacloud.com/nlb".into();
        service["spec"]["ports"] = json!([{"port": 443, "protocol": "TCP", "nodePort": 30_443}]);
        let uid = crate::alibaba::service_tag_value(service["metadata"]["uid"].as_str().unwrap());
        let region = c.region();
        let vpc_id = region.vpcs.first().map(|vpc| vpc.id.clone());
        let mut balancer = LoadBalancer {
            id: "nlb-bp1web".to_owned(),
            kind: LoadBalancerKind::Nlb,
            vpc_id: vpc_id.clone(),
            address_type: Some("Internet".to_owned()),
            security_groups: Some(vec!["sg-bp1lb".to_owned()]),
            ..LoadBalancer::default()
        };
        tag(&mut balancer.tags, "kubernetes.do.not.delete", &uid);
        region.load_balancers.as_mut().unwrap().push(balancer);
        let group = SecurityGroup { id: "sg-bp1lb".to_owned(), vpc_id, rules: Some(rules), ..SecurityGroup::default() };
        region.security_groups.push(group);
    }
}
