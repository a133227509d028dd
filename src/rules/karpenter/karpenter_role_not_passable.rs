use crate::policy::{StatementRef, Verdict};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{LISTS, NO_CLASSES, karpenters, node_classes, reference};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-role-not-passable",
    title: "Karpenter may not pass the role of an EC2NodeClass",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`spec.role` of an EC2NodeClass names a role of the account for which the role of Karpenter does not grant `iam:PassRole`: the statement names another role, or requires a tag that this role lacks, or another statement denies it.",
    impact: "Karpenter cannot create the instance profile or launch nodes of the class (`not authorized to perform: iam:PassRole`)",
    fix: "Name the role in the resource of the statement, or correct `spec.role`.",
    sources: &[
        "aws/karpenter-provider-aws website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml",
        "aws/karpenter-provider-aws pkg/providers/instanceprofile/instanceprofile.go#Create",
    ],
    example: "role `prod-karpenter` of Karpenter 1.6.0 does not grant iam:PassRole on role `KarpenterNodeRole-prod` of EC2NodeClass default",
    lists: LISTS,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut checked = 0;
    let mut found = Vec::new();
    for (one, grants) in karpenters(context) {
        for (class, object) in node_classes(context.kubernetes) {
            let name = object.text(&["spec", "role"]).unwrap_or_default();
            let short = name.rsplit('/').next().unwrap_or(name);
            let Some(role) = one.account.roles.iter().find(|role| role.name == short) else { continue };
            checked += 1;
            let catalogue = context.role_options.catalogue();
            let Some(answer) = grants.refusal("iam:PassRole", &role.arn, role.tags.as_deref(), catalogue) else {
                continue;
            };
            // A Deny decides whatever the other statements grant.
            let is_denied = answer.verdict == Verdict::Denied;
            let denier = answer.because.iter().filter(|_| is_denied).map(StatementRef::describe).next();
            let (verb, by) = match &denier {
                Some(denier) => ("is denied", format!(" by {}", text::printable(denier))),
                None => ("does not grant", String::new()),
            };
            let message = format!(
                "role `{}` of {} {verb} iam:PassRole on role `{}` of EC2NodeClass {}{by}",
                text::printable(&one.role.name),
                one.run.label(),
                text::printable(&role.name),
                text::printable(class)
            );
            let fix = Fix::none(if denier.is_some() {
                "change the Deny, the boundary or the service control policy, or correct `spec.role`"
            } else {
                "name the role in the resource of the statement, or correct `spec.role`"
            });
            let place = object.at(&["spec", "role"]).map_or_else(|| object.place(), crate::kubernetes::Object::place);
            found.push(Violation::new(Severity::Error, reference("EC2NodeClass", class), message, fix).at(&place));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable(NO_CLASSES);
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const WORLD: &str = "
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: rke2-agent
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: karpenter
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/karpenter
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: karpenter
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: karpenter
      containers:
      - image: public.ecr.aws/karpenter/controller:1.6.0
        env:
        - name: INTERRUPTION_QUEUE
          value: prod
";

    fn passing(c: &mut aws::Cluster, resource: &str) {
        c.manifests = WORLD;
        c.add_role("karpenter", &format!(r#"{{"Statement":[{{"Effect":"Allow","Action":"ec2:*","Resource":"*"}},{{"Effect":"Allow","Action":"iam:PassRole","Resource":"{resource}","Condition":{{"StringEquals":{{"iam:PassedToService":"ec2.amazonaws.com"}}}}}}]}}"#));
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| passing(c, "arn:aws:iam::111122223333:role/KarpenterNodeRole-old"));
    }

    #[test]
    fn a_deny_is_named() {
        let messages = aws::messages(&RULE, |c| {
            c.manifests = WORLD;
            c.add_role("karpenter", r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"iam:PassRole","Resource":"*"}]}"#);
        });
        assert_eq!(messages.len(), 1);
        let end = "is denied iam:PassRole on role `rke2-agent` of EC2NodeClass default by statement 2 of `karpenter`";
        assert!(messages[0].ends_with(end), "{}", messages[0]);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| passing(c, "arn:aws:iam::111122223333:role/rke2-*"));
    }
}
