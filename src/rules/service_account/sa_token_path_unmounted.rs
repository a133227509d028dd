use crate::inventory::kubernetes::List;
use crate::kubernetes::WorkloadKind;
use crate::rules::AWS;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "sa-token-path-unmounted",
    title: "no volume is mounted at the path from which a container reads the token for its role",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "A container has `AWS_ROLE_ARN` and `AWS_WEB_IDENTITY_TOKEN_FILE` in its manifest, with a path below `/var/run/secrets` that is not the one of the API server, none of its `volumeMounts` contains that path, and no volume of the Pod projects a token. Unless the Pod already runs, its ServiceAccount must be given and must not name a role, because a webhook would then mount the token.",
    impact: "the SDK does not find the token: the container has no credentials, or waits for those of the node",
    fix: "Mount a projected `serviceAccountToken` volume with the audience of the trust policy at the path.",
    sources: &[
        "Kubernetes documentation, \"Configure a Pod to Use a Projected Volume for Storage\"",
        "aws/amazon-eks-pod-identity-webhook README.md",
        "AWS SDKs and Tools Reference Guide, \"Assume role with web identity\"",
    ],
    example: "container `app` of Deployment shop/app reads its token at /var/run/secrets/amazonaws.com/token, where nothing is mounted",
    lists: &[List::ServiceAccounts],
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let mut checked = 0;
    let mut found = Vec::new();
    for workload in &evidence.workloads {
        let Some(identity) = &workload.web_identity else { continue };
        let is_its = |namespace: &str, name: &str| namespace == workload.namespace && name == workload.service_account;
        let is_given = evidence.service_accounts().any(|(namespace, name, _)| is_its(namespace, name));
        // A webhook may have another prefix.
        let mut accounts = evidence.service_accounts().filter(|(namespace, name, _)| is_its(namespace, name));
        let has_role = accounts.any(|(_, _, account)| {
            account.members(&["metadata", "annotations"]).any(|(key, _)| key.value.ends_with("/role-arn"))
        });
        // A webhook has done its part before a Pod runs.
        let is_running = workload.kind == WorkloadKind::Pod && workload.status.is_some();
        if !is_running && (workload.is_owned || !is_given || has_role) {
            continue;
        }
        for container in &workload.containers {
            let Some(path) = &container.token_file else { continue };
            let file = without_link(&path.value);
            // Admission mounts the token of the API server, and injectors and scripts have other paths.
            if !file.starts_with("/run/secrets/") || file.starts_with("/run/secrets/kubernetes.io/") {
                continue;
            }
            checked += 1;
            let holds = |mount: &String| {
                let mount = without_link(mount.trim_end_matches('/'));
                // A volume at `/var` has `run` too, unless `/var/run` is a symbolic link.
                let rest = file.strip_prefix(mount);
                mount == "/var" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if identity.has_token || container.mounts.iter().any(holds) {
                continue;
            }
            let name = workload.full_name();
            let message = format!(
                "container `{}` of {} reads its token at {}, where nothing is mounted",
                text::printable(&container.name),
                text::printable(&name),
                text::printable(&path.value)
            );
            let fix = Fix::none(
                "mount a projected `serviceAccountToken` volume with the audience of the trust policy at this path",
            );
            let violation =
                Violation::new(Severity::Warning, ResourceRef::bare(ResourceKind::Workload, &name), message, fix);
            found.push(violation.at(&path.place));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable("no container sets a role and the path of its token itself");
    }
    CheckResult::counted(checked, found)
}

/// A path below `/run`, to which `/var/run` is a link in most images.
fn without_link(path: &str) -> &str {
    let rest = path.strip_prefix("/var").filter(|rest| *rest == "/run" || rest.starts_with("/run/"));
    rest.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: app, namespace: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: shop}
spec:
  template:
    spec:
      serviceAccountName: app
      containers:
      - name: app
        image: shop
        env:
        - {name: AWS_ROLE_ARN, value: 'arn:aws:iam::123456789012:role/app'}
        - {name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /var/run/secrets/amazonaws.com/token}
        volumeMounts:
        - {name: data, mountPath: /var/run/secrets/amazon}
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        for path in [
            "/var/run",
            "/var",
            "/run",
            "/var/run/secrets/amazonaws.com",
            "/var/run/secrets/amazonaws.com/",
            "/",
            "/var/run/secrets/amazonaws.com/token",
        ] {
            lint::silent(&RULE, DEFECT, "mountPath: /var/run/secrets/amazon}", &format!("mountPath: {path}}}"));
        }
        let containers = "containers:\n";
        let volume = "volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: token}}]}}]\n      ";
        lint::silent(&RULE, DEFECT, containers, &format!("{volume}{containers}"));
    }

    #[test]
    fn a_running_pod_has_what_it_will_have() {
        let annotated = "{name: app, namespace: shop, annotations: {eks.amazonaws.com/role-arn: 'arn:aws:iam::123456789012:role/app'}}";
        let pod = "
---
apiVersion: v1
kind: Pod
metadata: {name: app, namespace: shop}
spec:
  serviceAccountName: app
  containers:
  - name: app
    image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
    env:
    - {name: AWS_ROLE_ARN, value: 'arn:aws:iam::123456789012:role/app'}
    - {name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /var/run/secrets/aws/token}
status: {phase: Running}
";
        let account = DEFECT.split("---").next().unwrap().replace("{name: app, namespace: shop}", annotated);
        lint::fires(&RULE, &format!("{account}{pod}"));
        lint::does_not_apply(&RULE, &format!("{account}{}", pod.replace("status: {phase: Running}", "")));
    }

    #[test]
    fn paths_that_others_fill_decide_nothing() {
        let of = |path: &str| DEFECT.replace("/var/run/secrets/amazonaws.com/token", path);
        lint::fires(&RULE, &of("/run/secrets/aws/token"));
        for path in ["/var/run/secrets/kubernetes.io/serviceaccount/token", "/vault/secrets/token", "/tmp/token"] {
            lint::does_not_apply(&RULE, &of(path));
        }
        let annotated = "{name: app, namespace: shop, annotations: {iam.example.com/role-arn: 'arn:aws:iam::123456789012:role/app'}}";
        lint::does_not_apply(&RULE, &DEFECT.replacen("{name: app, namespace: shop}", annotated, 1));
        lint::silent(&RULE, DEFECT, "mountPath: /var/run/secrets/amazon}", "mountPath: /run/secrets/amazonaws.com}");
    }

    #[test]
    fn does_not_apply() {
        let annotated = "{name: app, namespace: shop, annotations: {eks.amazonaws.com/role-arn: 'arn:aws:iam::123456789012:role/app'}}";
        lint::does_not_apply(&RULE, &DEFECT.replacen("{name: app, namespace: shop}", annotated, 1));
        lint::does_not_apply(&RULE, &DEFECT.replace("serviceAccountName: app", "serviceAccountName: other"));
        lint::does_not_apply(&RULE, &DEFECT.replace("AWS_ROLE_ARN", "ROLE"));
    }
}
