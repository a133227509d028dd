//! Security groups of the load balancer of a Service.
//! Sources: aws-load-balancer-controller `pkg/service/model_build_load_balancer.go#buildLoadBalancerSecurityGroups`,
//! `model_build_managed_sg.go`.

use super::Request;
use crate::model::decision::{Answer, Decision, IngressRule, Stop};
use crate::model::load_balancer_controller::Kind;
use crate::model::load_balancer_controller::groups::{GroupSearch, Groups};
use crate::model::world::Held;
use crate::model::{UID, names};

impl Request<'_> {
    /// Security groups; `None` for a load balancer without any.
    pub(super) fn groups(
        &self,
        decision: &mut Decision,
        held: Held<'_>,
        is_dual_stack: bool,
    ) -> Result<Option<Groups>, Stop> {
        // Network Load Balancers have groups since v2.6, the annotation since v2.14.
        let is_off = self.config.is_since(2, 14)
            && self.annotations.switch("aws-load-balancer-disable-nlb-sg")?.unwrap_or_default();
        let has_groups = self.config.is_since(2, 6) && self.config.gate("NLBSecurityGroup", true) && !is_off;
        let stays_without = match held {
            Held::NotRead => {
                return Stop::unknown(
                    "lb_groups",
                    "an existing load balancer without groups stays without, and load balancers were not read",
                );
            }
            Held::One(balancer) => balancer.security_groups.is_empty(),
            Held::None => false,
        };
        if self.config.is_since(2, 6) && !has_groups && matches!(held, Held::One(_)) && !stays_without {
            return Stop::error("conflicting security groups configuration");
        }
        if !has_groups || stays_without {
            decision.lb_groups = Answer::Is(Vec::new());
            decision.new_group = Answer::Is(None);
            return Ok(None);
        }
        let service = self.service;
        let hash = if service.uid.is_empty() {
            UID.to_owned()
        } else {
            names::sha256(&[self.config.cluster_name, &service.name, &service.namespace, &service.uid])
        };
        let listed = self.annotations.list("aws-load-balancer-security-groups").unwrap_or_default();
        let manages_rules = self.manages_rules(&listed)?;
        let search = GroupSearch {
            world: self.world,
            config: self.config,
            vpc: &self.vpc,
            managed_name: names::of_object(&service.namespace, &service.name, &hash),
            kind: Kind::Network,
            stack: service.full_name(),
            listed,
            manages_rules,
        };
        let found = search.decide(decision, |group| self.managed_rules(group, is_dual_stack)).map(Some);
        if service.uid.is_empty() && matches!(decision.new_group, Answer::Is(Some(_))) {
            decision.note_unknown(
                "new_group",
                "its name contains the uid of the Service, which a manifest does not state: `UID` stands for that part",
            );
        }
        found
    }

    fn manages_rules(&self, listed: &[String]) -> Result<bool, Stop> {
        if listed.is_empty() {
            return Ok(true);
        }
        let default = self.config.switch("enable-manage-backend-security-group-rules", false);
        let own = self.annotations.switch("aws-load-balancer-manage-backend-security-group-rules")?;
        Ok(own.unwrap_or(default))
    }

    /// Rules of the group that the controller creates: `model_build_managed_sg.go`.
    fn managed_rules(&self, group: &str, is_dual_stack: bool) -> Result<Vec<IngressRule>, Stop> {
        // The tags of the group come first: `#buildManagedSecurityGroupSpec`.
        self.annotations.map("aws-load-balancer-additional-resource-tags")?;
        // Since v2.12, and prefix lists since v2.8.
        let opens_icmp = self.config.is_since(2, 12)
            && self.annotations.get("aws-load-balancer-enable-icmp-for-path-mtu-discovery") == Some("on");
        let lists = self
            .annotations
            .list("aws-load-balancer-security-group-prefix-lists")
            .filter(|_| self.config.is_since(2, 8));
        let mut ranges = self.source_ranges();
        if let Some(range) = ranges.iter().find(|range| range.contains(':') && !is_dual_stack) {
            return Stop::error(format!("unsupported v6 cidr {range} when lb is not dualstack"));
        }
        if ranges.is_empty() && lists.is_none() {
            ranges.push("0.0.0.0/0".to_owned());
            if is_dual_stack {
                ranges.push("::/0".to_owned());
            }
        }
        let mut found = Vec::new();
        for port in &self.service.ports {
            let protocol = port.protocol.to_lowercase();
            for range in &ranges {
                found.push(IngressRule::port(group, &protocol, range, port.port));
                if opens_icmp {
                    found.push(if range.contains(':') {
                        IngressRule { from: Some(2), to: Some(0), ..IngressRule::port(group, "icmpv6", range, 2) }
                    } else {
                        IngressRule::path_mtu(group, range)
                    });
                }
            }
            let lists = lists.iter().flatten();
            found.extend(lists.map(|list| IngressRule::port(group, &protocol, list, port.port)));
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    pub(super) fn source_ranges(&self) -> Vec<String> {
        if self.service.source_ranges.is_empty() {
            self.annotations.list("load-balancer-source-ranges").unwrap_or_default()
        } else {
            self.service.source_ranges.clone()
        }
    }
}
