use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, NODE, provider_id_instance, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-zone-label-mismatch",
    title: "a Node's label names a zone other than its instance's",
    severity: RuleSeverity::always(Severity::Error),
    resources: NODE,
    condition: "A Node's zone or region label, under its current name or the one before 1.17, differs from the instance that its providerID names.",
    impact: "volumes are created in the wrong zone, and their pods stay pending (`volume node affinity conflict`); the controller never checks again, and copies the older label over the current one",
    fix: "Set both labels: `topology.kubernetes.io/zone` and, if present, `failure-domain.beta.kubernetes.io/zone`.",
    sources: &["kubernetes/cloud-provider controllers/node/node_controller.go#reconcileNodeLabels"],
    example: "Node `worker-1` has the label for zone us-east-1a, but its instance `i-0a` is in us-east-1b",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Labels),
    ..Rule::nodes(check)
};

/// Zone and region labels: the current name, then the one before 1.17.
const ZONES: [&str; 2] = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
const REGIONS: [&str; 2] = ["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"];

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    nodes
        .iter()
        .filter_map(|node| {
            let (region, instance) = provider_id_instance(context, node)?;
            let zone = instance.availability_zone.as_deref()?;
            let wrong = |labels: [&'static str; 2], is: &str| {
                labels.into_iter().find(|label| node.labels.get(*label).is_some_and(|value| value != is))
            };
            let (what, label, is) = match (wrong(ZONES, zone), wrong(REGIONS, region)) {
                (Some(label), _) => ("zone", label, zone),
                (None, Some(label)) => ("region", label, region),
                (None, None) => return None,
            };
            let says = node.labels.get(label).map(String::as_str).unwrap_or_default();
            let message = format!(
                "Node `{}` has the label for {what} {}, but its instance `{}` is in {is}",
                text::printable(&node.name),
                text::printable(says),
                text::printable(&instance.id)
            );
            let labels = if what == "zone" { ZONES } else { REGIONS };
            let set = labels.into_iter().filter(|label| node.labels.contains_key(*label));
            let set: Vec<String> = set.map(|label| format!("{label}={is}")).collect();
            let name = text::shell_quote(&node.name);
            let command = format!("kubectl label node {name} {} --overwrite", set.join(" "));
            let fix = Fix::none("set the labels to the location of the instance").untried(command);
            let instance = ResourceRef::bare(ResourceKind::Instance, &instance.id);
            Some(
                Violation::new(Severity::Error, resource(node), message, fix).related([instance]).with_respect_to(what),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.node(aws::WORKER)["metadata"]["labels"]["topology.kubernetes.io/zone"] = "eu-central-1b".into();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.node(aws::WORKER)["metadata"]["labels"]["topology.kubernetes.io/zone"] = "eu-central-1a".into();
        });
    }
}
