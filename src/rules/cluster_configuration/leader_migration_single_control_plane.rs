use crate::kubernetes::arguments::Component;
use crate::rules::AWS;
use crate::rules::kubernetes_context::NODES_NOT_GIVEN;
use crate::rules::prelude::*;

use super::{for_each_arguments, migration, on_started};

pub(super) const RULE: Rule = Rule {
    id: "leader-migration-single-control-plane",
    title: "a migration lock with a single control plane",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "kube-controller-manager has `enable-leader-migration`, but only one Node runs a control plane.",
    impact: "nothing: with one control plane, every kube-controller-manager stops during the switch anyway",
    fix: "Omit it: the switch takes one step (`tagaudit migrate`).",
    sources: &[r#"Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager""#],
    example: "kube-controller-manager has `enable-leader-migration`, but there is only one control plane",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(nodes) = &context.evidence.nodes else { return CheckResult::not_applicable(NODES_NOT_GIVEN) };
    let is_alone = nodes.iter().filter(|node| node.has_control_plane_label()).count() == 1;
    for_each_arguments(context, |arguments| {
        let given = arguments.component_arguments(Component::ControllerManager);
        let flag = migration(&given).filter(|_| is_alone)?;
        let message = "kube-controller-manager has `enable-leader-migration`, but there is only one control plane";
        let fix = "omit it: the switch takes one step";
        Some(on_started(arguments, Severity::Info, flag.place, "leader migration", message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: Node
metadata:
  name: control-1
  labels:
    node-role.kubernetes.io/control-plane: 'true'
  annotations:
    rke2.io/node-args: '["server","--kube-controller-manager-arg","cloud-provider=aws","--kube-controller-manager-arg","enable-leader-migration=true","--kubelet-arg","cloud-provider=aws"]'
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "enable-leader-migration=true", "enable-leader-migration=false");
    }
}
