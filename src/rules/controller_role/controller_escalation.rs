use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{audited_roles, escalation, role_check_result, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "controller-escalation",
    title: "the role of a controller opens a privilege escalation path",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Role],
    condition: "The role of a controller grants every action of a known path to more permissions or to code on other machines, and at least one of them is in no policy that its project publishes.",
    impact: "a compromised Pod of the controller can use this path",
    fix: "Attach the policy that the project publishes, and nothing more.",
    sources: &["docs/policy-engine.md, Beyond the baseline"],
    example: "role `lbc` of AWS Load Balancer Controller 2.13.4 can attach any policy to a role, including its own (iam:AttachRolePolicy): privilege escalation",
    is_about_security: true,
    judges: JudgedRoles::OfControllers,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found = Vec::new();
    for (one, audited) in audited_roles(context) {
        let Some(described) = escalation(&audited.paths) else { continue };
        let message = format!(
            "role `{}` of {} can {described}: privilege escalation",
            text::printable(&one.role.name),
            one.run.label(),
        );
        let fix = Fix::none(format!(
            "attach the policy that the project of {} publishes, and nothing more",
            one.run.row.name
        ));
        found.push(
            Violation::new(Severity::Warning, role_reference(one.role), message, fix).at(&one.run.workload.place),
        );
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
            c.add_role("ebs", r#"{"Statement":[{"Effect":"Allow","Action":["iam:*","ec2:*"],"Resource":"*"}]}"#);
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
