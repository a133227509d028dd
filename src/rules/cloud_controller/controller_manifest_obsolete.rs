use crate::kubernetes::Rights;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::on;

pub(super) const RULE: Rule = Rule {
    id: "controller-manifest-obsolete",
    title: "a manifest uses a removed API version",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller is a DaemonSet or a Deployment in `extensions/v1beta1`, `apps/v1beta1` or `apps/v1beta2`, last served by Kubernetes 1.15, or a role bound to it uses `rbac.authorization.k8s.io/v1beta1`, last served by 1.21.",
    impact: "the API server refuses the manifest: `no matches for kind`",
    fix: "Use `apps/v1` with a `selector`, and `rbac.authorization.k8s.io/v1`.",
    sources: &["https://kubernetes.io/docs/reference/using-api/deprecation-guide/"],
    example: "DaemonSet kube-system/cloud-controller-manager uses `extensions/v1beta1`, which Kubernetes removed in 1.16",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    if evidence.controllers().is_empty() {
        return CheckResult::not_applicable("no cloud controller was given");
    }
    let version = evidence.kubernetes_version().and_then(crate::controller::ControllerVersion::minor);
    let mut found = Vec::new();
    for controller in evidence.controllers() {
        let workload = &controller.workload;
        let is_gone = |since: u32| version.is_none_or(|minor| minor >= since);
        if ["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"].contains(&workload.api_version.as_str())
            && is_gone(16)
        {
            let name = controller.name();
            let message =
                format!("{} uses `{}`, which Kubernetes removed in 1.16", text::printable(&name), workload.api_version);
            found.push(on(controller, Severity::Error, &workload.place, message, "use `apps/v1` with a `selector`"));
        }
        let rights = Rights::new(evidence, &workload.namespace, &workload.service_account);
        let old = rights.bindings.iter().find(|one| one.api_version() == "rbac.authorization.k8s.io/v1beta1");
        if let Some(old) = old.filter(|_| is_gone(22)) {
            let message = format!(
                "{} uses `rbac.authorization.k8s.io/v1beta1`, which Kubernetes removed in 1.22",
                text::printable(&old.name)
            );
            let violation =
                on(controller, Severity::Error, &old.object().head(), message, "use `rbac.authorization.k8s.io/v1`");
            found.push(violation.with_respect_to("rbac"));
        }
    }
    CheckResult::counted(evidence.controllers().len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: extensions/v1beta1
kind: DaemonSet
metadata:
  name: cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.0
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "extensions/v1beta1", "apps/v1");
    }
}
