use crate::nodes::KubernetesNode;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-node-without-instance",
    title: "a Node names an instance that does not exist",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "The region of a Node's providerID was read and has no such instance, or the instance is in another region that was read. If the region was not read, the report states that, and the Node is not audited.",
    impact: "once the Node is not ready (`Unknown`), the controller deletes it from the cluster; until then its addresses stay as they are",
    fix: "Delete the Node if the machine was released; register it again if the providerID belongs to another machine.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/node_controller.go#syncECSNodes"],
    example: "Node `worker-1` names `cn-hangzhou.i-bp1`, but cn-hangzhou has no such instance",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Nodes(check))
};

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    let mut found = Vec::new();
    let mut checked = 0;
    for node in super::cared_for(nodes) {
        let Some((region, id, _)) = super::named(node) else { continue };
        let elsewhere = context.view.region_of(id).filter(|own| *own != region && !node.is_being_deleted);
        if !context.view.has_region(region) && elsewhere.is_none() {
            continue;
        }
        checked += 1;
        if let Some(own) = elsewhere.filter(|_| context.view.instance(region, id).is_none()) {
            let (name, given) = (text::printable(&node.name), text::printable(&node.provider_id));
            let message = format!("Node `{name}` names `{given}`, but the instance is in {}", text::printable(own));
            let fix = Fix::none(format!(
                "register the node again with --provider-id={}.{}",
                text::printable(own),
                text::printable(id)
            ));
            let violation = Violation::new(Severity::Error, super::resource(node), message, fix);
            let impact = "the controller asks for the instance in the region that the providerID states: it does not find it there; if the API refuses the region, no Node of the batch is updated";
            found.push(violation.impact(Some(impact.to_owned())));
            continue;
        }
        if context.view.instance(region, id).is_none() {
            let (name, given) = (text::printable(&node.name), text::printable(&node.provider_id));
            let region = text::printable(region);
            let message = format!("Node `{name}` names `{given}`, but {region} has no such instance");
            let fix = Fix::none("delete the Node if the machine was released; otherwise register it again");
            found.push(Violation::new(Severity::Error, super::resource(node), message, fix));
        }
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.region().instances.retain(|instance| instance.id != alibaba::WORKER));
        // A zone, and a region that does not exist.
        for wrong in ["cn-hangzhou-h", "cn-hangzou"] {
            alibaba::fires(&RULE, |c| {
                c.node(alibaba::WORKER)["spec"]["providerID"] = format!("{wrong}.{}", alibaba::WORKER).into();
            });
        }
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |_| ());
    }
}
