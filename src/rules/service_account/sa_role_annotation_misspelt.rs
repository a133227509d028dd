use crate::kubernetes::{Object, ROLE_ANNOTATION};
use crate::rules::AWS;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "sa-role-annotation-misspelt",
    title: "an annotation of a ServiceAccount that nothing reads",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ServiceAccount],
    condition: "A ServiceAccount has an annotation that resembles `eks.amazonaws.com/role-arn`, such as `eks.amazonaws.com/role_arn`, and not that one.",
    impact: "the pods get no token for the role: they use the role of their node, or have no credentials",
    fix: "Write `eks.amazonaws.com/role-arn`, and restart the pods.",
    sources: &["aws/amazon-eks-pod-identity-webhook pkg/cache/cache.go#addSA"],
    example: "ServiceAccount kube-system/aws-load-balancer-controller has the annotation `eks.amazonaws.com/role_arn`; nothing reads it",
    ..Rule::evidence(AWS, check)
};

/// Similarity from which a key counts as a misspelling.
const ALIKE: f64 = 0.93;

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let mut checked = 0;
    let mut found = Vec::new();
    for (namespace, name, object) in context.evidence.service_accounts() {
        checked += 1;
        let Some(annotations) = object.at(&["metadata", "annotations"]) else { continue };
        if annotations.at(&[ROLE_ANNOTATION]).is_some() {
            continue;
        }
        let names_role = |value: &Object<'_>| value.text(&[]).is_some_and(|value| value.contains(":role/"));
        let mut members = annotations.members(&[]);
        let misspelt = members
            .find(|(key, value)| names_role(value) && text::most_alike(&key.value, [ROLE_ANNOTATION], ALIKE).is_some());
        let Some((key, value)) = misspelt else { continue };
        let account = format!("{namespace}/{name}");
        let message = format!(
            "ServiceAccount {} has the annotation `{}`; nothing reads it",
            text::printable(&account),
            text::printable(&key.value)
        );
        let resource = ResourceRef::bare(ResourceKind::ServiceAccount, &account);
        let fix = Fix::none(format!("write `{ROLE_ANNOTATION}`, and restart the pods"));
        found.push(Violation::new(Severity::Warning, resource, message, fix).at(&value.place()));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no ServiceAccounts were given");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  annotations:
    eks.amazonaws.com/role_arn: arn:aws:iam::123456789012:role/app
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("role_arn", "rolearn"));
        lint::fires(&RULE, &DEFECT.replace("eks.amazonaws.com/role_arn", "eks.amazonaws.com/role-Arn"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "role_arn", "role-arn");
        lint::silent(&RULE, DEFECT, "eks.amazonaws.com/role_arn", "iam.example.com/role");
    }
}
