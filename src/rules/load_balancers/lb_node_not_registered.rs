use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::model::existing::Balancer;
use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, SETTLED, TAGS, described, for_each_of_service, is_leaving, listed, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-node-not-registered",
    title: "a node is not behind the load balancer of a Service",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "The controller of a Service, as [`tagaudit simulate`](simulate.md) models it, makes a Node a target of its load balancer, and the Node is not one, although it is ready and older than 15 minutes, and its instance runs.",
    impact: "the node gets no traffic from the load balancer; the controller does not sync the Service, or something deregistered the node",
    fix: "Make the controller sync the Service: restart it, and see its events.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#findInstancesForELB",
        "kubernetes/cloud-provider controllers/service/controller.go#syncNodes",
    ],
    example: "worker-2 (i-0b) is not registered with `a1b2c3` (Service `shop/web`)",
    reads: &[BALANCERS, TAGS, Read::DescribeInstances, Read::DescribeTargetGroups, Read::DescribeTargetHealth],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each_of_service(context, |one, _| {
        let wanted = one.decision.as_ref()?.targets.known()?;
        let lacking = one.lacking(wanted)?;
        let nodes = context.view.nodes.unwrap_or_default();
        let node_of = |id: &str| nodes.iter().find(|node| node.provider_id.ends_with(&format!("/{id}")));
        let missing: Vec<(&str, &KubernetesNode)> = lacking
            .into_iter()
            .filter(|id| !is_leaving(one, id))
            .filter_map(|id| Some((id, node_of(id)?)))
            .filter(|(_, node)| is_settled(context, one, node))
            .collect();
        if missing.is_empty() {
            return Some(Vec::new());
        }
        let names: BTreeSet<String> = missing.iter().map(|(id, node)| format!("{} ({id})", node.name)).collect();
        let message = format!(
            "{} {} not registered with {}",
            listed(names.iter().map(String::as_str)),
            if names.len() == 1 { "is" } else { "are" },
            described(one)
        );
        let fix = "make the controller sync the Service: restart it, and see its events";
        let related = missing.iter().map(|(id, _)| one.region.bare(ResourceKind::Instance, id));
        Some(vec![on_balancer(one, Severity::Warning, message, fix).related(related)])
    })
}

/// True if a Node is ready and has been there for a while, as far as the evidence shows its age.
fn is_settled(context: &Context<'_>, one: &Balancer<'_>, node: &KubernetesNode) -> bool {
    // The evidence is at least as young as the load balancer.
    let is_old = match (node.created_at, known_time(context, one)) {
        (Some(created), Some(now)) => now.duration_since(created) >= SETTLED,
        _ => true,
    };
    node.is_ready != Some(false) && is_old
}

/// The latest time that the evidence about a load balancer shows: it was read at that moment, or later.
fn known_time(context: &Context<'_>, one: &Balancer<'_>) -> Option<Timestamp> {
    let time = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
    let times =
        [context.kubernetes.known_time(), time(&context.view.inventory.collected_at), time(&one.balancer.created_at)];
    times.into_iter().flatten().max()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, WORKER};
    use crate::testing::load_balancers::{LOCAL_SERVICE, NETWORK_SERVICE, SERVICE};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.options.controller_version = "1.31.0".parse().ok();
            c.add_network();
            c.target_group().targets.as_mut().unwrap().retain(|target| target.id != WORKER);
            c.manifests = NETWORK_SERVICE;
        });
        aws::fires(&RULE, |c| {
            c.options.controller_version = "1.31.0".parse().ok();
            c.add_classic().instances.retain(|id| id != WORKER);
            c.manifests = SERVICE;
        });
    }

    #[test]
    fn a_node_has_to_be_in_every_target_group() {
        aws::fires(&RULE, |c| {
            c.options.controller_version = "1.31.0".parse().ok();
            c.add_network();
            let mut second = c.target_group().clone();
            second.arn.push_str("second");
            second.targets.as_mut().unwrap().retain(|target| target.id != WORKER);
            c.region().load_balancing.as_mut().unwrap().target_groups.push(second);
            c.manifests = NETWORK_SERVICE;
        });
    }

    #[test]
    fn silent() {
        // It leaves.
        aws::silent(&RULE, |c| {
            c.options.controller_version = "1.31.0".parse().ok();
            c.add_classic().instances.retain(|id| id != WORKER);
            c.instance(WORKER).state = crate::aws::InstanceState::Stopping;
            c.manifests = SERVICE;
        });
        aws::silent(&RULE, |c| {
            c.add_network();
            c.manifests = LOCAL_SERVICE;
        });
        aws::silent(&RULE, |c| {
            c.add_classic();
            c.manifests = SERVICE;
        });
        // The controller skips it.
        aws::silent(&RULE, |c| {
            c.add_network();
            c.target_group().targets.as_mut().unwrap().retain(|target| target.id != WORKER);
            c.node(WORKER)["metadata"]["labels"]["node.kubernetes.io/exclude-from-external-load-balancers"] =
                "true".into();
            c.manifests = NETWORK_SERVICE;
        });
    }
}
