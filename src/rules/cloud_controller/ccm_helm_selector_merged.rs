use crate::kubernetes::CloudController;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, nodes, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-helm-selector-merged",
    title: "the chart's own node selector is merged with another one",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: r#"Values of the chart set `nodeSelector` with a role label but keep the chart's own key: Helm merges maps. The chart selects `node-role.kubernetes.io/control-plane: ""`, and up to 0.0.6 `node-role.kubernetes.io/master: ""`."#,
    impact: "the pod needs a node with both labels, and none has both: no pod is created, and nothing reports it",
    fix: "Set the chart's own key to `null` next to the other one, or use the same key.",
    sources: &[
        "https://github.com/kubernetes/cloud-provider-aws/issues/430",
        r#"Helm documentation, "Values Files", "Deleting a Default Key""#,
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/values.yaml",
    ],
    example: r#"the values select node-role.kubernetes.io/controlplane, and the chart adds node-role.kubernetes.io/control-plane: """#,
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        let chart = controller.chart.as_ref()?;
        let place = chart.own_selector_left.as_ref()?;
        if !has_role_key(controller)
            || nodes(context, controller)
                .is_some_and(|nodes| nodes.iter().any(|node| controller.workload.selects(node)))
        {
            return None;
        }
        let selector = &controller.workload.node_selector;
        let ((own, _), given) = selector.split_last()?;
        let given: Vec<&str> = given.iter().map(|(key, _)| key.value.as_str()).collect();
        let message = format!("the values select {}, and the chart adds {}: \"\"", text::list(&given, 3), own.value);
        let fix = format!("also set `{}: null` in `nodeSelector`", own.value);
        Some(on(controller, Severity::Error, place, message, fix))
    })
}

/// True if the values of its chart select by a role label. A selector by another label, such as the operating system,
/// may well be intended as an addition.
pub(super) fn has_role_key(controller: &CloudController) -> bool {
    let given = controller.workload.node_selector.split_last().map(|(_, given)| given).unwrap_or_default();
    given.iter().any(|(key, _)| key.value.starts_with("node-role.kubernetes.io/"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
apiVersion: helm.cattle.io/v1
kind: HelmChart
spec:
  chart: aws-cloud-controller-manager
  valuesContent: |-
    nodeSelector:
      node-role.kubernetes.io/controlplane: "true"
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "node-role.kubernetes.io/controlplane: \"true\"",
            "topology.kubernetes.io/zone: eu-west-1a",
        );
    }
}
