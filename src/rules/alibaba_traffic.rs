//! What the security groups of a network load balancer do with the traffic to its listeners.
//!
//! A network load balancer has a group of the service besides those that it joins: with priority 100 it accepts all
//! traffic. So rules that accept restrict nothing, and only a rule that drops does. Of all groups together the smallest
//! priority decides, and of one priority the rule that drops.
//! Source: Alibaba Cloud NLB documentation, "Add an NLB instance to a security group"; ECS 2014-05-26
//! `AuthorizeSecurityGroup`.

use crate::alibaba::{
    LoadBalancer, LoadBalancerKind, RegionView, RulePolicy, SERVICE_TAG, SecurityGroupRule, service_tag_value,
};
use crate::kubernetes::{Service, ServicePort};
use crate::rules::alibaba::Context;
use crate::tags;

use super::alibaba_service::kept;

/// A Service with the network load balancer that the controller maintains for it, and the rules that its groups add.
pub(in crate::rules) struct Guarded<'a> {
    pub(in crate::rules) service: &'a Service,
    pub(in crate::rules) view: &'a RegionView<'a>,
    pub(in crate::rules) balancer: &'a LoadBalancer,
    /// Groups that it joined, without those of Alibaba Cloud's services.
    pub(in crate::rules) groups: Vec<&'a str>,
    rules: Vec<&'a SecurityGroupRule>,
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
    for service in services.iter().filter(|service| !service.uid.is_empty()) {
        if kept(&kubernetes, service) != Some(LoadBalancerKind::Nlb) {
            continue;
        }
        let tag = service_tag_value(&service.uid);
        for view in context.view.regions.iter().filter(|view| !view.members.is_empty()) {
            let all = view.region.load_balancers.iter().flatten();
            let own = all.filter(|one| {
                one.kind == LoadBalancerKind::Nlb && tags::value(&one.tags, SERVICE_TAG) == Some(tag.as_str())
            });
            found.extend(own.filter_map(|balancer| of_balancer(service, view, balancer)));
        }
    }
    found
}

/// `None` if the load balancer joined no group, or a group was not read.
fn of_balancer<'a>(service: &'a Service, view: &'a RegionView<'a>, balancer: &'a LoadBalancer) -> Option<Guarded<'a>> {
    let mut guarded = Guarded { service, view, balancer, groups: Vec::new(), rules: Vec::new() };
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
    pub(in crate::rules) fn fate(&self, port: &ServicePort) -> Fate {
        let matching = |policy: RulePolicy| {
            let rules = self.rules.iter().filter(move |rule| rule.policy == policy);
            rules.filter_map(|rule| match rule.matches_port(&port.protocol, port.port) {
                Some(false) => None,
                matched => Some((*rule, matched == Some(true))),
            })
        };
        let dropped = matching(RulePolicy::Drop).filter(|(rule, is_certain)| *is_certain && rule.is_for_everyone());
        if let Some(priority) = dropped.map(|(rule, _)| rule.priority).min() {
            let is_accepted = matching(RulePolicy::Accept).any(|(rule, _)| rule.priority < priority);
            return if is_accepted { Fate::Reached } else { Fate::Dropped };
        }
        let mut accepted = matching(RulePolicy::Accept).peekable();
        let is_list = accepted.peek().is_some()
            && accepted.all(|(rule, is_certain)| is_certain && is_range(&rule.source) && rule.source != "0.0.0.0/0");
        if is_list && matching(RulePolicy::Drop).next().is_none() {
            return Fate::AcceptedWithoutEffect;
        }
        Fate::Reached
    }

    /// Ports of the Service with this fate, as `443/TCP`.
    pub(in crate::rules) fn ports(&self, fate: Fate) -> Vec<String> {
        let ports = self.service.ports.iter().filter(|port| self.fate(port) == fate);
        ports.map(|port| format!("{}/{}", port.port, port.protocol)).collect()
    }
}

/// True for an IPv4 range or address: what a group or a prefix list holds is not recorded.
fn is_range(source: &str) -> bool {
    let address = source.split_once('/').map_or(source, |(address, _)| address);
    address.parse::<std::net::Ipv4Addr>().is_ok()
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
