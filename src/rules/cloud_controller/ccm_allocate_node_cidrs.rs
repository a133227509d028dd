use crate::kubernetes::arguments::Component;
use crate::kubernetes::{CloudController, is_true};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-allocate-node-cidrs",
    title: "nothing assigns pod CIDR ranges to Nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "An AWS cloud controller has `--allocate-node-cidrs=true`, but kube-controller-manager, whose arguments are known, does not. The AWS controller cannot allocate ranges: kube-controller-manager assigns them. Not reported if Nodes have ranges.",
    impact: "Nodes get no `podCIDR`; neither a network built on it nor the controller's routes are set up",
    fix: "Set `allocate-node-cidrs` and `cluster-cidr` on kube-controller-manager, or remove the flag from the cloud controller if the network has its own ranges.",
    sources: &[
        "kubernetes/cloud-provider-aws cmd/aws-cloud-controller-manager/main.go",
        "kubernetes/kubernetes cmd/kube-controller-manager/app/core.go#startNodeIpamController",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--allocate-node-cidrs`, but kube-controller-manager does not",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    const FLAG: &str = "allocate-node-cidrs";
    let evidence = context.evidence;
    let managers = evidence.arguments().iter().filter(|one| one.is_server == Some(true));
    let managers =
        managers.map(|one| one.component_arguments(Component::ControllerManager)).filter(|given| !given.is_empty());
    let managers: Vec<_> = managers.collect();
    let allocates = managers.iter().flatten().any(|argument| {
        argument.name == FLAG && (argument.value.is_empty() || is_true(argument.value))
            || argument.name == "cluster-cidr"
    });
    let has_ranges = evidence.nodes.iter().flatten().any(|node| !node.pod_cidrs.is_empty());
    let asks = |controller: &CloudController| controller.is_on(FLAG, false);
    if managers.is_empty() && !has_ranges && evidence.controllers().iter().any(asks) {
        return CheckResult::not_applicable("the arguments of kube-controller-manager are not known");
    }
    for_each_aws(context, |controller| {
        let flag = controller.flag(FLAG).filter(|_| asks(controller))?;
        if allocates || has_ranges {
            return None;
        }
        let name = controller.name();
        let message = format!("{} has `--{FLAG}`, but kube-controller-manager does not", text::printable(&name));
        let fix = "set `allocate-node-cidrs` and `cluster-cidr` on kube-controller-manager, or remove the flag here";
        Some(on(controller, Severity::Warning, &flag.place, message, fix))
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
  annotations:
    rke2.io/node-args: '["server","--kube-controller-manager-arg","cloud-provider=aws","--kube-controller-manager-arg","enable-leader-migration=true","--kubelet-arg","cloud-provider=aws"]'
---
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.12
        args:
        - --allocate-node-cidrs=true
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
            "\"server\",",
            "\"server\",\"--kube-controller-manager-arg\",\"allocate-node-cidrs=true\",",
        );
    }
}
