use crate::alibaba::provider_id;
use crate::nodes::KubernetesNode;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-node-name-mismatch",
    title: "a Node has the name of another instance",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "The name of a Node has the shape REGION.INSTANCE, as old guides recommend, and differs from its providerID. Any other name is fine: only the providerID matters.",
    impact: "the machine was cloned with its kubelet's flags: two machines may fight for one Node",
    fix: "Give the kubelet its own `--hostname-override` and `--provider-id`.",
    sources: &[
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/154",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/278",
    ],
    example: "Node `cn-hangzhou.i-bp1` has the providerID `cn-hangzhou.i-bp2`",
    ..Rule::alibaba(alibaba::Check::Nodes(check))
};

fn check(_: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    let differ = super::cared_for(nodes).filter(|node| {
        let given = super::named(node).map(|(region, id, _)| (region, id));
        matches!((provider_id::looks_like_one(&node.name), given), (Some(named), Some(given)) if named != given)
    });
    let found = differ.map(|node| {
        let (name, given) = (text::printable(&node.name), text::printable(&node.provider_id));
        let message = format!("Node `{name}` has the providerID `{given}`");
        let fix = Fix::none("give the kubelet its own --hostname-override and --provider-id");
        Violation::new(Severity::Error, super::resource(node), message, fix)
    });
    CheckResult::counted(nodes.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.node(alibaba::WORKER)["metadata"]["name"] = "cn-hangzhou.i-bp1worker2".into());
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| c.node(alibaba::WORKER)["metadata"]["name"] = "cn-hangzhou.i-bp1worker1".into());
    }
}
