use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{audited_roles, role_check_result, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "controller-action-excess",
    title: "the role of a controller has more permissions than needed",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Role],
    condition: "The role of a controller grants actions that this version of the controller does not call and that no policy published by its project contains. A role that several controllers use is skipped. A privilege escalation path is reported by `controller-escalation`.",
    impact: "anyone who compromises a Pod of the controller has these permissions as well",
    fix: "Attach the policy that the project publishes, and nothing more.",
    sources: &["docs/policy-engine.md, Beyond the baseline"],
    example: "role `lbc` of AWS Load Balancer Controller 2.13.4 has 2 permissions that the controller does not need: dynamodb:*, s3:*",
    is_about_security: true,
    judges: JudgedRoles::OfControllers,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found = Vec::new();
    // What another controller with the same role needs is not excess.
    let users = |arn: &str| context.companions.iter().filter(|entry| entry.one.role.arn == arn).count();
    for (one, audited) in audited_roles(context).filter(|(one, _)| users(&one.role.arn) == 1) {
        let excess: Vec<&str> = audited.excess.iter().map(String::as_str).collect();
        if excess.is_empty() {
            continue;
        }
        let message = format!(
            "role `{}` of {} has {} that the controller does not need: {}",
            text::printable(&one.role.name),
            one.run.label(),
            text::count(excess.len(), "permission"),
            text::list(&excess, 6),
        );
        let fix = Fix::none(format!(
            "attach the policy that the project of {} publishes, and nothing more",
            one.run.row.name
        ));
        found.push(Violation::new(Severity::Info, role_reference(one.role), message, fix).at(&one.run.workload.place));
    }
    role_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const WORLD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ebs-csi-controller
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: ebs-csi-controller-sa
      containers:
      - name: ebs-plugin
        image: registry.k8s.io/provider-aws/aws-ebs-csi-driver:v1.58.0
        env:
        - name: AWS_ROLE_ARN
          value: arn:aws:iam::111122223333:role/ebs
        - name: AWS_WEB_IDENTITY_TOKEN_FILE
          value: /var/run/secrets/token
";

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.manifests = WORLD;
            c.add_role(
                "ebs",
                r#"{"Statement":[{"Effect":"Allow","Action":["s3:*","ec2:CreateVolume"],"Resource":"*"}]}"#,
            );
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = WORLD;
            c.add_role("ebs", include_str!("../../../policies/ebs-csi.json"));
        });
    }
}
