//! What the controller lets through to the nodes of a Service.
//! Source: aws-load-balancer-controller `pkg/service/model_build_target_group.go#buildTargetGroupBindingNetworking`.

use super::{Network, Request};
use crate::model::decision::{HealthCheck, Stop};
use crate::model::load_balancer_controller::Scheme;
use crate::model::load_balancer_controller::node_rules::{Opening, Source};

impl Request<'_> {
    /// What may reach the nodes; `None` if it is not known. Nothing if the rules are not managed.
    pub(super) fn openings(
        &self,
        network: &Network<'_>,
        target_port: i64,
        protocol: &str,
        health: &HealthCheck,
        preserves: bool,
    ) -> Result<Option<Vec<Opening>>, Stop> {
        // The controller opens nothing for other protocols.
        if protocol == "SCTP" {
            return Ok(Some(Vec::new()));
        }
        let Some(groups) = &network.groups else {
            return self.openings_without_groups(network, target_port, protocol, health, preserves);
        };
        let Some(backend) = &groups.backend else { return Ok(Some(Vec::new())) };
        let source = || Source::Group(backend.clone());
        let is_merged = protocol == "TCP_UDP";
        let is_udp = protocol == "UDP" || is_merged;
        let mut found = Vec::new();
        if self.config.switch("disable-restricted-sg-rules", false) {
            found.push(Opening { protocol: "tcp", source: source(), port: None });
            if is_udp {
                found.push(Opening { protocol: "udp", source: source(), port: None });
            }
            return Ok(Some(found));
        }
        let own = health.port.as_deref().and_then(|port| port.parse::<i64>().ok());
        if is_udp {
            found.push(Opening { protocol: "udp", source: source(), port: Some(target_port) });
        }
        if !is_udp || is_merged || own.is_none_or(|own| own == target_port) {
            found.push(Opening { protocol: "tcp", source: source(), port: Some(target_port) });
        }
        if let Some(own) = own.filter(|own| *own != target_port) {
            found.push(Opening { protocol: "tcp", source: source(), port: Some(own) });
        }
        Ok(Some(found))
    }

    /// A load balancer without groups: ranges instead of a group, `#buildTargetGroupBindingNetworkingLegacy`.
    fn openings_without_groups(
        &self,
        network: &Network<'_>,
        target_port: i64,
        protocol: &str,
        health: &HealthCheck,
        preserves: bool,
    ) -> Result<Option<Vec<Opening>>, Stop> {
        let own = self.annotations.switch("aws-load-balancer-manage-backend-security-group-rules")?;
        if own == Some(false) {
            return Ok(Some(Vec::new()));
        }
        // The IPv6 ranges of subnets and VPCs are not in the inventory.
        let is_ipv6 = self.service.ip_families.iter().any(|family| family == "IPv6");
        let blocks = || -> Option<Vec<String>> {
            network.subnets.iter().map(|subnet| subnet.cidr_block.clone().filter(|_| !is_ipv6)).collect()
        };
        let is_udp = protocol == "UDP";
        let is_merged = protocol == "TCP_UDP";
        let mut is_default = false;
        let mut traffic = Vec::new();
        if is_udp || is_merged || preserves {
            traffic.extend(self.source_ranges());
            if traffic.is_empty() {
                is_default = true;
                traffic = match network.scheme {
                    Scheme::InternetFacing if is_ipv6 => vec!["::/0".to_owned()],
                    Scheme::InternetFacing => vec!["0.0.0.0/0".to_owned()],
                    Scheme::Internal if is_ipv6 => return Ok(None),
                    Scheme::Internal => {
                        let mut vpcs = self.world.here().vpcs.iter();
                        let vpc = vpcs.find(|vpc| vpc.id == self.vpc);
                        let Some(blocks) = vpc.and_then(|vpc| vpc.cidr_blocks.clone()) else { return Ok(None) };
                        blocks
                    }
                };
            }
        } else {
            let Some(blocks) = blocks() else { return Ok(None) };
            traffic = blocks;
        }
        let name = if is_udp { "udp" } else { "tcp" };
        let open = |protocol, ranges: &[String], port| -> Vec<Opening> {
            ranges
                .iter()
                .map(|range| Opening { protocol, source: Source::Range(range.clone()), port: Some(port) })
                .collect()
        };
        let mut found = open(name, &traffic, target_port);
        if is_merged {
            found.extend(open("udp", &traffic, target_port));
        }
        let own_port = health.port.as_deref().and_then(|port| port.parse::<i64>().ok());
        let is_covered = !is_udp
            && own_port.is_none_or(|own| own == target_port)
            && (!preserves || is_default || traffic.iter().any(|range| matches!(range.as_str(), "0.0.0.0/0" | "::/0")));
        if !is_covered {
            let Some(blocks) = blocks() else { return Ok(None) };
            found.extend(open("tcp", &blocks, own_port.unwrap_or(target_port)));
        }
        Ok(Some(found))
    }
}
