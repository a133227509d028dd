use crate::kubernetes::CloudController;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "node-controller-disabled",
    title: "no cloud controller initialises nodes",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`--controllers` of the only AWS cloud controller excludes `cloud-node` (`cloud-node-controller`).",
    impact: "new nodes keep the taint `node.cloudprovider.kubernetes.io/uninitialized` and get no providerID: ordinary pods do not run there, and load balancers skip them",
    fix: "Remove `-cloud-node` from `--controllers`. To leave Services to the AWS Load Balancer Controller, `--controllers=*,-service` is enough.",
    sources: &[
        "kubernetes/cloud-provider app/controllermanager.go#ControllersDisabledByDefault",
        "kubernetes/cloud-provider names/controller_names.go",
        "kubernetes/controller-manager app/helper.go#IsControllerEnabled",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--controllers=*,-cloud-node`",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let is_done = context.evidence.aws_controllers().any(|controller| controller.runs(&CloudController::NODE));
    for_each_aws(context, |controller| {
        if is_done {
            return None;
        }
        let flag = controller.flag("controllers")?;
        let name = controller.name();
        let message = format!("{} has `--controllers={}`", text::printable(&name), text::printable(&flag.value));
        Some(on(controller, Severity::Error, &flag.place, message, "remove `-cloud-node` from `--controllers`"))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.36.0
        args:
        - --controllers=*,-cloud-node-controller
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "-cloud-node-controller", "-node-route-controller");
    }
}
