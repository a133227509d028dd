use crate::controller::ControllerVersion;
use crate::controller::alibaba::AlibabaController;
use crate::model::cloud_provider_alibaba::OLDEST as FIRST_WITH_NLB;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;
use crate::tags;

use super::{for_each_with_flags, from_two_on};

pub(super) const RULE: Rule = Rule {
    id: "ali-controller-unknown",
    title: "`--controllers` names a controller that does not exist",
    severity: RuleSeverity::depends(Severity::Error, "error; warning before version 2, or if the version is not known"),
    resources: &[ResourceKind::Workload],
    condition: "`--controllers` of a cloud controller of Alibaba Cloud has a name that its version does not know. It knows `node`, `route`, `service`, `ingress`, `pvtz`, and from 2.5.1 on `nlb`. It does not read `*` and `-NAME`, as other cloud controllers do.",
    impact: "it does not start: `cannot find controller`",
    fix: "List the controllers to run, such as `--controllers=node,route,service,nlb`.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/controller.go#AddToManager"],
    example: "DaemonSet kube-system/cloud-controller-manager has `--controllers` with `*`, which version 2.14.0 does not know",
    stops_workloads: true,
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_with_flags(context, |controller| {
        let flag = controller.flag("controllers")?;
        let knows = |name: &str| {
            let found = AlibabaController::ALL.iter().find(|one| one.name() == name);
            found.is_some_and(|one| match (one, controller.version) {
                (AlibabaController::Nlb, Some(version)) => version >= FIRST_WITH_NLB,
                _ => true,
            })
        };
        let names = controller.listed("controllers");
        let unknown = names.iter().find(|name| !knows(name) && !tags::is_placeholder(name))?;
        let is_two = |version: &ControllerVersion| *version >= ControllerVersion::new(2, 0, 0);
        let version = controller.version.filter(is_two).map(|version| format!("version {version}"));
        let told = |of_two: &str| {
            format!(
                "{} has `--controllers` with `{}`, which {} does not know",
                text::printable(&controller.name()),
                text::printable(unknown),
                version.as_deref().unwrap_or(of_two),
            )
        };
        Some(from_two_on(controller, &flag.place, told, (RULE.impact, "name the controllers to run")))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1
        command:
        - --controllers=*,-route
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("*,-route", "node,nlb").replace("v2.9.1", "v2.4.0"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "*,-route", "node,route,service,nlb,ingress,pvtz");
        lint::silent(&RULE, DEFECT, "--controllers=*,-route", "--cluster-cidr=10.0.0.0/8");
    }
}
