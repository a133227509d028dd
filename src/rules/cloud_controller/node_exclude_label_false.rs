use crate::controller::ControllerVersion;
use crate::kubernetes::is_false;
use crate::nodes::EXCLUDED_FROM_LOAD_BALANCERS;
use crate::rules::AWS;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "node-exclude-label-false",
    title: "an exclusion label set to `false` still excludes its Node",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Node],
    condition: "A Node has the label `node.kubernetes.io/exclude-from-external-load-balancers` with the value `false`, and an AWS cloud controller before 1.34 runs, for which any value excludes the Node.",
    impact: "the Node is behind no load balancer, until the upgrade to 1.34 suddenly adds it",
    fix: "Remove the label.",
    sources: &["kubernetes/cloud-provider controllers/service/controller.go#nodeIncludedPredicate, by its tags"],
    example: "Node `worker-1` has the label `node.kubernetes.io/exclude-from-external-load-balancers=false`, which excludes it before cloud controller 1.34",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = context.evidence.nodes.as_deref().unwrap_or_default();
    let Some(version) = context.aws_controller_version().filter(|_| !nodes.is_empty()) else {
        return CheckResult::not_applicable("the Nodes, or the version of the cloud controller, are not known");
    };
    let reads_value = version >= ControllerVersion::new(1, 34, 0);
    let found = nodes.iter().filter(|node| {
        !reads_value && node.labels.get(EXCLUDED_FROM_LOAD_BALANCERS).is_some_and(|value| is_false(value))
    });
    let found = found.map(|node| {
        let message = format!(
            "Node `{}` has the label `{EXCLUDED_FROM_LOAD_BALANCERS}=false`, which excludes it before cloud controller 1.34",
            text::printable(&node.name)
        );
        let resource = ResourceRef::bare(ResourceKind::Node, &node.name);
        Violation::new(Severity::Warning, resource, message, Fix::none("remove the label"))
    });
    CheckResult::counted(nodes.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: control-1
  labels:
    node.kubernetes.io/exclude-from-external-load-balancers: 'false'
---
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "v1.33.0", "v1.34.0");
    }
}
