use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::for_each_controller;

pub(super) const RULE: Rule = Rule {
    id: "ali-credentials-ignored",
    title: "the cloud controller does not read its credentials",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The cloud controller of Alibaba Cloud is given credentials that no version of it reads: RRSA (`pod-identity.alibabacloud.com/role-name` on its ServiceAccount, `ALIBABA_CLOUD_ROLE_ARN`), `ALIBABA_CLOUD_ACCESS_KEY_ID`, or one of `ACCESS_KEY_ID` and `ACCESS_KEY_SECRET` alone. It reads the file that ACK mounts, the key of its cloud configuration, these two variables together, and the RAM role of its node, in this order. A controller that has a key is skipped.",
    impact: "it uses the RAM role of its node, with the permissions of that role",
    fix: "Grant the permissions to the RAM role of its nodes, or give it a key by `accessKeyID` and `accessKeySecret`.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth"],
    example: "DaemonSet kube-system/cloud-controller-manager does not read its credentials: the environment variable ALIBABA_CLOUD_ROLE_ARN",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    if crate::rules::has_alibaba_key(context.evidence) {
        return CheckResult::not_applicable("the cloud configuration has an access key");
    }
    for_each_controller(context, |controller| {
        let ignored = context.evidence.ignored_credentials(controller)?;
        let name = controller.name();
        let message =
            format!("{} does not read its credentials: {}", text::printable(&name), text::printable(&ignored));
        let fix = "grant the permissions to the RAM role of its nodes";
        Some(crate::rules::cloud_controller::on(controller, Severity::Warning, controller.place(), message, fix))
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
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: cloud-controller-manager
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1
        env:
        - name: ALIBABA_CLOUD_ACCESS_KEY_ID
          value: x
        command:
        - --cluster-cidr=10.0.0.0/8
";

    const RRSA: &str = "
kind: ServiceAccount
metadata:
  name: cloud-controller-manager
  namespace: kube-system
  annotations:
    pod-identity.alibabacloud.com/role-name: ccm
---";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("ALIBABA_CLOUD_ACCESS_KEY_ID", "ACCESS_KEY_ID"));
        lint::fires(&RULE, &format!("{RRSA}{}", DEFECT.replace("ALIBABA_CLOUD_ACCESS_KEY_ID", "TZ")));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "ALIBABA_CLOUD_ACCESS_KEY_ID", "TZ");
        let both = "ACCESS_KEY_ID\n          value: x\n        - name: ACCESS_KEY_SECRET";
        lint::silent(&RULE, DEFECT, "ALIBABA_CLOUD_ACCESS_KEY_ID", both);
    }
}
