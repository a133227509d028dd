use crate::alibaba::companions::companions;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-rrsa-ignored",
    title: "a controller does not read the role that RRSA gives it",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "A controller has a role by RRSA (`pod-identity.alibabacloud.com/role-name` on its ServiceAccount, `ALIBABA_CLOUD_ROLE_ARN`) and does not read it: terway and external-dns in any version, the CSI driver before 1.34.1, the cluster autoscaler before 1.32.0, and since then without `REGION_ID` and a session name (`ALIBABA_CLOUD_SESSION_NAME`), which the webhook does not set. An autoscaler with its own variables (`ALICLOUD_ROLE_ARN`) or a configuration file is not checked. `ali-credentials-ignored` is about the cloud controller.",
    impact: "it uses its other credentials or the RAM role of its node, and lacks the permissions of this role",
    fix: "Set the variables that it needs, upgrade it, or grant the permissions to the RAM role of its nodes.",
    sources: &[
        "AliyunContainerService/terway daemon/builder.go#setupAliyunClient",
        "kubernetes-sigs/external-dns provider/alibabacloud/alibaba_cloud.go#newProvider",
        "kubernetes-sigs/alibaba-cloud-csi-driver pkg/credentials/credential.go#NewProvider",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/alicloud/alicloud_cloud_config.go#isValid",
    ],
    example: "Deployment kube-system/cluster-autoscaler (cluster autoscaler 1.32.1) has the role `autoscaler` of its ServiceAccount, which it reads only with `REGION_ID` and a session name",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let runs = companions(context.evidence);
    if runs.is_empty() {
        return CheckResult::not_applicable("no such controller was given");
    }
    let found = runs.iter().filter_map(|run| {
        let (given, reason) = run.ignored_rrsa(context.evidence)?;
        let name = run.workload.full_name();
        let message = format!("{} ({}) has {}, {reason}", text::printable(&name), run.label(), text::printable(&given));
        let fix =
            Fix::none("set the variables that it needs, upgrade it, or grant the permissions to the role of its nodes");
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        Some(Violation::new(Severity::Warning, resource, message, fix).at(&run.workload.place))
    });
    CheckResult::counted(runs.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const AUTOSCALER: &str = "
kind: ServiceAccount
metadata:
  name: cluster-autoscaler
  namespace: kube-system
  annotations:
    pod-identity.alibabacloud.com/role-name: autoscaler
---
kind: Deployment
metadata:
  name: cluster-autoscaler
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: cluster-autoscaler
      containers:
      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1
        command: [./cluster-autoscaler, --cloud-provider=alicloud]
        env:
        - name: TZ
          value: x
";

    const TERWAY: &str = "
kind: DaemonSet
metadata:
  name: terway-eniip
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: terway
      containers:
      - image: registry-cn-hangzhou.ack.aliyuncs.com/acs/terway:v1.16.7
        env:
        - name: ALIBABA_CLOUD_ROLE_ARN
          value: acs:ram::1234567890123456:role/terway
";

    #[test]
    fn fires() {
        lint::fires(&RULE, AUTOSCALER);
        lint::fires(&RULE, &AUTOSCALER.replace("name: TZ", "name: REGION_ID"));
        let both = "name: REGION_ID\n          value: cn-hangzhou\n        - name: ALIBABA_CLOUD_SESSION_NAME";
        lint::fires(&RULE, &AUTOSCALER.replace("name: TZ", both).replace("v1.32.1", "v1.30.1"));
        lint::fires(&RULE, TERWAY);
        lint::fires(&RULE, &TERWAY.replace("acs/terway:v1.16.7", "acs/csi-plugin:v1.33.4-576836c-aliyun"));
    }

    #[test]
    fn silent() {
        let both = "name: REGION_ID\n          value: cn-hangzhou\n        - name: ALIBABA_CLOUD_SESSION_NAME";
        lint::silent(&RULE, AUTOSCALER, "name: TZ", both);
        lint::silent(
            &RULE,
            AUTOSCALER,
            "--cloud-provider=alicloud",
            "--cloud-provider=alicloud, --cloud-config=/etc/c",
        );
        lint::silent(&RULE, TERWAY, "acs/terway:v1.16.7", "acs/csi-plugin:v1.35.1");
        lint::silent(&RULE, AUTOSCALER, "name: TZ", "name: ALICLOUD_ROLE_ARN");
        // Nothing shows which version it is.
        lint::silent(&RULE, TERWAY, "acs/terway:v1.16.7", "acs/csi-plugin");
        lint::silent(&RULE, TERWAY, "ALIBABA_CLOUD_ROLE_ARN", "TZ");
    }
}
