use crate::kubernetes::CloudController;
use crate::kubernetes::arguments::Component;
use crate::rules::AWS;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "leader-migration-left-on",
    title: "the cloud controller still uses the migration lock",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Workload],
    condition: "An AWS cloud controller has `--enable-leader-migration`, but kube-controller-manager no longer works for AWS: Kubernetes is 1.27 or later, or all instances are external.",
    impact: "one more lease is renewed; nothing breaks",
    fix: "Remove the flag: it was for the migration.",
    sources: &[r#"Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager""#],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--enable-leader-migration`, but the migration is over",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let of_aws = evidence.aws_controllers();
    let of_aws: Vec<&CloudController> = of_aws.collect();
    if of_aws.is_empty() {
        return CheckResult::not_applicable(
            "neither a workload nor values of a chart of an AWS cloud controller were given",
        );
    }
    let providers: Vec<&str> = evidence
        .arguments()
        .iter()
        .filter_map(|one| one.component_value(Component::ControllerManager, "cloud-provider"))
        .collect();
    let is_past = evidence.kubernetes_version().is_some_and(|version| version.minor().is_some_and(|minor| minor >= 27));
    let is_over = is_past || !providers.is_empty() && providers.iter().all(|provider| *provider == "external");
    let left = |controller: &&CloudController| {
        let flag = controller.flag("enable-leader-migration").filter(|_| is_over)?;
        if !controller.is_on("enable-leader-migration", false) {
            return None;
        }
        let name = controller.name();
        let message = format!("{} has `--enable-leader-migration`, but the migration is over", text::printable(&name));
        let resource = ResourceRef::bare(ResourceKind::Workload, name);
        Some(Violation::new(Severity::Info, resource, message, Fix::none("remove the flag")).at(&flag.place))
    };
    let is_unknown = evidence.kubernetes_version().is_none() && providers.is_empty();
    let why = is_unknown
        .then_some("neither the version of Kubernetes nor the arguments of kube-controller-manager were given");
    CheckResult::counted(of_aws.len(), of_aws.iter().filter_map(left)).unless(why)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: control-1
status:
  nodeInfo:
    kubeletVersion: v1.31.4
---
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.31.9
        args:
        - --enable-leader-migration=true
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "migration=true", "migration=false");
    }
}
