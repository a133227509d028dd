use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{label, reference};

pub(super) const RULE: Rule = Rule {
    id: "sa-role-annotation-unused",
    title: "EKS Pod Identity gives a ServiceAccount another role than its annotation names",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::ServiceAccount],
    condition: "A ServiceAccount names a role in `eks.amazonaws.com/role-arn`, and an association of EKS Pod Identity with it names another one. EKS then ignores the annotation. Associations whose role was not read are skipped.",
    impact: "new pods use the role of the association: changes of the role in the annotation, or of the annotation, have no effect",
    fix: "Remove the annotation, or delete the association.",
    sources: &["aws/amazon-eks-pod-identity-webhook pkg/handler/handler.go#buildPodPatchConfig"],
    example: "ServiceAccount kube-system/aws-load-balancer-controller names the role `lbc-old`, but EKS Pod Identity gives new pods the role `lbc`",
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut checked = 0;
    let mut found = Vec::new();
    for identity in context.kubernetes.web_identities().iter().filter(|identity| identity.workload.is_none()) {
        let association = context.view.pod_identity_of((identity.namespace, identity.service_account));
        let Some(role) = association.ok().flatten().and_then(|one| one.credentials_role()) else { continue };
        checked += 1;
        if role == identity.role_arn {
            continue;
        }
        let name = |arn: &str| text::printable(arn.rsplit('/').next().unwrap_or_default()).into_owned();
        let message = format!(
            "{} names the role `{}`, but EKS Pod Identity gives new pods the role `{}`",
            label(identity),
            name(identity.role_arn),
            name(role)
        );
        let fix = Fix::none("remove the annotation, or delete the association");
        found.push(Violation::new(Severity::Info, reference(identity), message, fix).at(&identity.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no ServiceAccount has both a role in its annotation and an association");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::PodIdentity;
    use crate::testing::aws;

    const WORLD: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: karpenter
  namespace: kube-system
  annotations: {eks.amazonaws.com/role-arn: 'arn:aws:iam::111122223333:role/old'}
";

    fn associated(c: &mut aws::Cluster, name: &str, role: Option<&str>) {
        c.manifests = WORLD;
        let one = PodIdentity {
            namespace: "kube-system".to_owned(),
            service_account: name.to_owned(),
            role_arn: role.map(|role| format!("arn:aws:iam::111122223333:role/{role}")),
            ..PodIdentity::default()
        };
        c.region().pod_identities.insert(aws::ID.to_owned(), vec![one]);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| associated(c, "karpenter", Some("new")));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| associated(c, "karpenter", Some("old")));
        aws::does_not_apply(&RULE, |c| associated(c, "karpenter", None));
        aws::does_not_apply(&RULE, |c| associated(c, "other", Some("new")));
        aws::does_not_apply(&RULE, |c| c.manifests = WORLD);
    }
}
