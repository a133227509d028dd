//! The instances behind a load balancer.
//! Sources: kubernetes/cloud-provider `controllers/service/controller.go#getNodePredicatesForService`;
//! kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#findInstancesForELB`, `aws.go#describeInstances`.

use crate::aws::Instance;
use crate::inventory::Read;
use crate::nodes::{EXCLUDED_FROM_LOAD_BALANCERS, KubernetesNode, ProviderId, parse_provider_id};

use super::{Request, Stop};
use crate::model::annotations::{pairs, parse_bool};
use crate::model::decision::{Answer, Decision, NodeLeftOut};

/// The reason for which the controller skips a Node.
struct Reason(String);

/// Taint that the cluster autoscaler sets before it deletes a Node.
const AUTOSCALER_TAINT: &str = "ToBeDeletedByClusterAutoscaler";

/// Label of masters, which v1.20 skips.
const MASTER: &str = "node-role.kubernetes.io/master";

impl<'a> Request<'a> {
    /// The instances behind the load balancer, by id.
    pub(super) fn targets(&self, decision: &mut Decision) -> Answer<Vec<&'a Instance>> {
        let world = self.world;
        let known = world.nodes().and_then(|nodes| {
            world.must_have(Read::DescribeInstances, "targets")?;
            Ok(nodes)
        });
        let nodes = match known {
            Ok(nodes) => nodes,
            Err(Stop::Unknown(unknown)) => {
                decision.unknown.push(unknown);
                decision.targets = Answer::Unknown;
                return Answer::Unknown;
            }
            Err(Stop::Error(_)) => return Answer::Unknown,
        };
        if !self.ignores_readiness()
            && let Some(node) = nodes.iter().find(|node| node.is_ready.is_none())
        {
            decision
                .note_unknown("targets", format!("the condition `Ready` of the Node `{}` was not given", node.name));
            decision.targets = Answer::Unknown;
            return Answer::Unknown;
        }
        let wanted = pairs(self.annotation("aws-load-balancer-target-node-labels").unwrap_or_default());
        let mut found: Vec<&Instance> = Vec::new();
        for node in nodes {
            let is_wanted = |(key, value): (&String, &String)| {
                node.labels.get(key).is_some_and(|held| value.is_empty() || held == value)
            };
            let target = if let Some(reason) = self.excludes(node) {
                Err(Reason(reason))
            } else if !wanted.iter().all(is_wanted) {
                Err(Reason("it lacks a label of `aws-load-balancer-target-node-labels`".to_owned()))
            } else {
                self.instance_of(node)
            };
            match target {
                Ok(instance) => found.push(instance),
                Err(Reason(reason)) => decision.nodes_left_out.push(NodeLeftOut { node: node.name.clone(), reason }),
            }
        }
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found.dedup_by(|a, b| a.id == b.id);
        decision.targets = Answer::Is(found.iter().map(|instance| instance.id.clone()).collect());
        Answer::Is(found)
    }

    /// The reason for which the service controller leaves a Node out.
    fn excludes(&self, node: &KubernetesNode) -> Option<String> {
        let config = self.config;
        if node.is_being_deleted && config.is_since(27, 0) {
            return Some("it is being deleted".to_owned());
        }
        if let Some(value) = node.labels.get(EXCLUDED_FROM_LOAD_BALANCERS)
            && !(config.is_since(34, 0) && parse_bool(value) == Some(false))
        {
            return Some(format!("it has the label `{EXCLUDED_FROM_LOAD_BALANCERS}`"));
        }
        if !config.is_since(21, 0) && node.labels.contains_key(MASTER) {
            return Some(format!("it has the label `{MASTER}`"));
        }
        if config.is_since(21, 1) && node.taints.iter().any(|taint| taint.key == AUTOSCALER_TAINT) {
            return Some(format!("it has the taint `{AUTOSCALER_TAINT}`"));
        }
        (!self.ignores_readiness() && node.is_ready != Some(true)).then(|| "it is not ready".to_owned())
    }

    /// True if Nodes that are not ready stay targets.
    fn ignores_readiness(&self) -> bool {
        let config = self.config;
        let of_local = config.is_since(25, 0) && !config.is_since(29, 0) && self.service.is_local;
        config.is_since(27, 0) && config.has_stable_nodes || of_local
    }

    /// The instance of a Node, or the reason for which the controller skips it.
    fn instance_of(&self, node: &KubernetesNode) -> Result<&'a Instance, Reason> {
        if node.provider_id.is_empty() {
            return Err(Reason("it has no providerID".to_owned()));
        }
        let Some(ProviderId::Instance(id)) = parse_provider_id(&node.provider_id) else {
            return Err(Reason(format!("its providerID `{}` is not that of an EC2 instance", node.provider_id)));
        };
        let Some(instance) = self.world.instance(id) else {
            return Err(Reason(format!("the instance `{id}` is not in the account and region")));
        };
        if self.world.has_cluster_tag(&instance.tags) {
            Ok(instance)
        } else {
            Err(Reason(format!("the instance `{id}` does not have the tag of the cluster")))
        }
    }
}
