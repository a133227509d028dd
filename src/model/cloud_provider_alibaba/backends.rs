//! The servers of a Service: Nodes, or Pods.

use std::collections::{BTreeMap, HashMap};

use crate::kubernetes::ServicePort;
use crate::model::allocated_later;
use crate::model::decision::{Answer, Decision};
use crate::model::pods::{Families, Pods, Reading, pods};
use crate::nodes::KubernetesNode;

use super::nodes::{Address, ServerError, is_virtual, server};
use super::{Request, atoi};

/// Weight of a Node without an annotation.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/vgroups.go#DefaultServerWeight`.
const DEFAULT_WEIGHT: i64 = 100;

/// The server groups of a Service, as far as their backends are known.
#[derive(Debug)]
pub(super) enum Backends {
    /// Weights by instance id or address.
    Are(Answer<BTreeMap<String, i64>>),
    /// The error at each port, in the words of the controller.
    Fail(String),
}

/// A server of a group; a Node is listed once for each of its Pods.
struct Server {
    id: String,
    is_pod: bool,
}

impl Request<'_> {
    /// Names of the server groups of all ports.
    /// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/listeners.go#getVGroupNamedKey`,
    /// `pkg/controller/service/nlbv2/server_groups.go#getServerGroupNamedKey`.
    pub(super) fn group_names(
        &self,
        decision: &mut Decision,
        mut name: impl FnMut(&ServicePort, String) -> String,
    ) -> Answer<Vec<String>> {
        let has_pods = self.config.has_pods_as_backends(self.service);
        let mut names: Vec<String> = Vec::new();
        for port in &self.service.ports {
            let number = match has_pods {
                Answer::Is(true) => port.target_name.clone().or_else(|| port.target_port.map(|port| port.to_string())),
                Answer::Is(false) if self.service.is_without_node_ports => {
                    decision.may_fail("the Service has no node ports: the API decides about servers with the port 0");
                    Some(port.node_port.unwrap_or(0).to_string())
                }
                Answer::Is(false) => port.node_port.map(|port| port.to_string()),
                _ => None,
            };
            let Some(number) = number else {
                let reason = match has_pods {
                    Answer::Is(false) => allocated_later(port),
                    _ => "the default kind of backends is not known".to_owned(),
                };
                decision.note_unknown("server_groups", reason);
                return Answer::Unknown;
            };
            let name = name(port, number);
            // Ports with one group share it.
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Answer::Is(names)
    }
    /// The servers of all ports; `nodes` are the candidates.
    /// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/vgroups.go#buildVGroupForServicePort`,
    /// `#buildClusterBackends`, `#buildLocalBackends`, `#buildENIBackends`; `pkg/controller/service/nlbv2/server_groups.go`.
    pub(super) fn backends(
        &self,
        nodes: Option<&[&KubernetesNode]>,
        by_address: bool,
        decision: &mut Decision,
    ) -> Backends {
        let (weight, default) = match (self.total_weight(), self.default_weight()) {
            (Ok(weight), Ok(default)) => (weight, default),
            (Err(error), _) | (_, Err(error)) => return Backends::Fail(error.to_string()),
        };
        let Some(families) = self.families() else {
            decision
                .note_unknown("targets", "cloud configurations differ in `featureGates`, on which IPv6 servers depend");
            return Backends::Are(Answer::Unknown);
        };
        let reading = Reading {
            families,
            skips_terminating: self.is_since(10),
            needs_named_port: self.is_since(12),
            takes_unstated: false,
        };
        let pods = pods(self.world.evidence, self.service, reading);
        decision.target_type = match self.config.has_pods_as_backends(self.service) {
            Answer::Is(true) if !by_address => Answer::Is("eni"),
            Answer::Is(true) => Answer::Is("ip"),
            Answer::Is(false) if by_address => Answer::Is("ip"),
            Answer::Is(false) => Answer::Is("ecs"),
            _ => {
                decision.note_unknown("targets", "the default kind of backends is not known");
                decision.target_type = Answer::Unknown;
                return Backends::Are(Answer::Unknown);
            }
        };
        let has_pods = self.config.has_pods_as_backends(self.service) == Answer::Is(true);
        let servers = if has_pods {
            let Some(pods) = pods else { return pods_not_given(decision) };
            note_pods(&pods, decision);
            if !by_address && !pods.ready.is_empty() {
                decision.notes.push(WITH_INTERFACES.to_owned());
            }
            let all = pods.ready.iter().map(|pod| Server { id: pod.address.to_owned(), is_pod: true });
            Ok(all.collect())
        } else {
            let Some(nodes) = nodes else { return Backends::Are(Answer::Unknown) };
            if pods.is_none() && (self.service.is_local || nodes.iter().any(|node| is_virtual(node))) {
                return pods_not_given(decision);
            }
            let address = match (by_address, self.is_since(9)) {
                (false, _) => Address::None,
                (true, false) => Address::First,
                (true, true) => Address::FirstIpv4,
            };
            self.on_nodes(nodes, &pods.unwrap_or_default(), address, decision)
        };
        match servers {
            Ok(servers) => Backends::Are(Answer::Is(self.weights(&servers, weight, default, has_pods))),
            Err(error) => {
                let mode = if self.service.is_local { "local" } else { "cluster" };
                Backends::Fail(format!("build {mode} backends error: {error}"))
            }
        }
    }

    /// Nodes, and the Pods of virtual Nodes.
    fn on_nodes(
        &self,
        nodes: &[&KubernetesNode],
        pods: &Pods<'_>,
        address: Address,
        decision: &mut Decision,
    ) -> Result<Vec<Server>, ServerError> {
        let of_node = |node: &KubernetesNode, word: &str, decision: &mut Decision| {
            let id = server(node, address, word).inspect_err(|_| self.note_temporary(node, decision))?;
            Ok(Server { id, is_pod: false })
        };
        let mut servers = Vec::new();
        if !self.service.is_local {
            for node in nodes {
                if !self.is_left_out(node, decision) {
                    servers.push(of_node(node, "normal ", decision)?);
                }
            }
        }
        let by_name: HashMap<&str, &KubernetesNode> = if pods.ready.is_empty() {
            HashMap::new()
        } else {
            nodes.iter().map(|node| (node.name.as_str(), *node)).collect()
        };
        for pod in &pods.ready {
            let Some(name) = pod.node else {
                let service = self.service.full_name();
                return Err(ServerError(format!(
                    "add ecs backends for service[{service}] error, NodeName is nil for ip {} ",
                    pod.address
                )));
            };
            let Some(node) = by_name.get(name) else { continue };
            if is_virtual(node) {
                servers.push(Server { id: pod.address.to_owned(), is_pod: true });
            } else if self.service.is_local && !self.is_left_out(node, decision) {
                servers.push(of_node(node, "", decision)?);
            }
        }
        if self.service.is_local {
            note_pods(pods, decision);
        }
        Ok(servers)
    }

    /// Weights of the servers.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/vgroups.go#podNumberAlgorithm`,
    /// `#podPercentAlgorithm`.
    fn weights(&self, servers: &[Server], total: Option<i64>, default: i64, has_pods: bool) -> BTreeMap<String, i64> {
        let number = i64::try_from(servers.len()).unwrap_or(i64::MAX).max(1);
        let is_by_pods = self.service.is_local && !has_pods;
        let mut pods: HashMap<&str, i64> = HashMap::new();
        for one in servers.iter().filter(|one| is_by_pods && !one.is_pod) {
            *pods.entry(&one.id).or_default() += 1;
        }
        let mut weights = BTreeMap::new();
        for one in servers {
            let same = pods.get(one.id.as_str()).copied().unwrap_or(1);
            let weight = match total {
                None if is_by_pods => same,
                None => default,
                Some(0) => 0,
                Some(total) if is_by_pods && one.is_pod => total / number,
                Some(total) if is_by_pods => (total.saturating_mul(same) / number).max(1),
                Some(total) => (total / number).max(1),
            };
            weights.insert(one.id.clone(), weight);
        }
        weights
    }

    /// The weight that the servers share, which only reused load balancers with groups of the user have.
    fn total_weight(&self) -> Result<Option<i64>, ServerError> {
        let text = self.annotation("weight");
        if text.is_empty() || !self.reads_own_groups() {
            return Ok(None);
        }
        let range = if self.is_network() { "[0, 100], got" } else { "[0,100] , got" };
        percentage(text)
            .map(Some)
            .ok_or_else(|| ServerError(format!("weight must be integer in range {range} [{text}]")))
    }

    /// Weight of Nodes and Pods.
    fn default_weight(&self) -> Result<i64, ServerError> {
        let text = self.annotation("default-weight");
        if text.is_empty() {
            return Ok(DEFAULT_WEIGHT);
        }
        percentage(text)
            .ok_or_else(|| ServerError(format!("default weight must be integer in range [0,100] , got [{text}]")))
    }

    /// IP families of the servers; `None` if the gate is not known.
    /// Source: kubernetes/cloud-provider-alibaba-cloud
    /// `pkg/controller/service/reconcile/backend/backend.go#setAddressIpVersion`.
    fn families(&self) -> Option<Families> {
        let asked = self.annotation("backend-ip-version");
        let is_ipv6 = if self.is_since(14) { asked.eq_ignore_ascii_case("ipv6") } else { asked == "ipv6" };
        let is_both = self.is_since(14) && self.is_network() && asked.eq_ignore_ascii_case("dualstack");
        let own = self.annotation("ip-version");
        let fits = match (self.is_network(), self.is_since(9)) {
            (_, false) => own == "ipv6",
            (false, true) => own.eq_ignore_ascii_case("ipv6"),
            (true, true) => own.eq_ignore_ascii_case("dualstack"),
        };
        if !(is_ipv6 || is_both) || !fits {
            return Some(Families::Ipv4);
        }
        match self.config.has_dual_stack {
            Answer::Is(false) => Some(Families::Ipv4),
            Answer::Is(true) if is_both => Some(Families::Both),
            Answer::Is(true) => Some(Families::Ipv6),
            _ => None,
        }
    }

    /// True if the controller reads `vgroup-port`.
    pub(super) fn reads_own_groups(&self) -> bool {
        let is_read = !self.is_network() || self.is_since(9);
        self.is_reused() && is_read && !self.annotation("vgroup-port").is_empty()
    }
}

/// A whole number from 0 to 100.
fn percentage(text: &str) -> Option<i64> {
    atoi(text, str::to_owned).ok().filter(|number| (0..=100).contains(number))
}

/// The assumption about Pods that are servers.
const WITH_INTERFACES: &str =
    "Pods are servers only if their addresses are those of network interfaces, as with Terway: this is assumed";

fn note_pods(pods: &Pods<'_>, decision: &mut Decision) {
    if pods.has_unready {
        decision
            .notes
            .push("Pods that are not ready become servers if they have the readiness gate of the Service".to_owned());
    }
}

fn pods_not_given(decision: &mut Decision) -> Backends {
    decision.note_unknown("targets", "the EndpointSlices of the Service were not given");
    Backends::Are(Answer::Unknown)
}

/// Takes over the backends.
pub(super) fn take(weights: Answer<BTreeMap<String, i64>>, decision: &mut Decision) {
    decision.targets = match &weights {
        Answer::Is(weights) => Answer::Is(weights.keys().cloned().collect()),
        _ => Answer::Unknown,
    };
    decision.weights = weights;
}
