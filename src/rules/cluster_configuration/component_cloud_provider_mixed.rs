use crate::kubernetes::arguments::{Component, NodeArguments};
use crate::rules::AWS;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "component-cloud-provider-mixed",
    title: "some Nodes use the old cloud provider and some the new one",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Cluster],
    condition: "Kubelets of some Nodes are started with `cloud-provider=aws` and those of others with `cloud-provider=external`.",
    impact: "the migration is half done: two controllers may own Services, and an upgrade to 1.27 stops at every Node with the old provider",
    fix: "Finish the migration before anything else: control planes first, then workers.",
    sources: &[
        r#"Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager""#,
        "https://github.com/kubernetes/kubernetes/pull/115838",
    ],
    example: "kubelets of 2 Nodes are started with `cloud-provider=aws`, and those of 3 with `external`",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes: Vec<&NodeArguments> = context.evidence.arguments().iter().filter(|one| one.node().is_some()).collect();
    if nodes.is_empty() {
        return CheckResult::not_applicable("no Node records its arguments, as Nodes of RKE2 and K3s do");
    }
    let with = |provider: &str| -> Vec<&str> {
        let is_one =
            |one: &&&NodeArguments| one.component_value(Component::Kubelet, "cloud-provider") == Some(provider);
        nodes.iter().filter(is_one).filter_map(|one| one.node()).collect()
    };
    let (old, new) = (with("aws"), with("external"));
    if old.is_empty() || new.is_empty() {
        return CheckResult::counted(nodes.len(), []);
    }
    let message = format!(
        "kubelets of {} are started with `cloud-provider=aws`, and those of {} with `external`",
        text::count(old.len(), "Node"),
        new.len()
    );
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
    let related = old.iter().map(|name| ResourceRef::bare(ResourceKind::Node, *name));
    let fix = Fix::none("finish the migration before anything else: control planes first, then workers");
    CheckResult::counted(nodes.len(), [Violation::new(Severity::Warning, resource, message, fix).related(related)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: Node
metadata:
  name: old
  annotations:
    rke2.io/node-args: '["agent", "--kubelet-arg", "cloud-provider=aws"]'
---
kind: Node
metadata:
  name: new
  annotations:
    rke2.io/node-args: '["agent", "--kubelet-arg", "cloud-provider=external"]'
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "cloud-provider=aws", "cloud-provider=external");
    }
}
