use crate::aws::companion_requests::RoleGrants;
use crate::controller::companion::Companion;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::workload_violation;

pub(super) const RULE: Rule = Rule {
    id: "nth-queue-not-granted",
    title: "the node termination handler may not read its queue",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`QUEUE_URL` of the AWS node termination handler names a queue of the account of its role, on which the role does not grant `sqs:ReceiveMessage` or `sqs:DeleteMessage`: the statement names another queue. A role that grants them on no queue at all is reported by controller-action-missing.",
    impact: "it fails with AccessDenied on its queue: interruptions and lifecycle actions are not handled",
    fix: "Name the queue in the resource of the statement, or correct `QUEUE_URL`.",
    sources: &[
        "aws/aws-node-termination-handler pkg/monitor/sqsevent/sqs-monitor.go",
        "aws/aws-node-termination-handler README.md",
    ],
    example: "Deployment kube-system/aws-node-termination-handler has `QUEUE_URL` of the queue `prod`, on which role `nth` does not grant sqs:ReceiveMessage or sqs:DeleteMessage",
    ..Rule::joined(check)
};

const ACTIONS: [&str; 2] = ["sqs:ReceiveMessage", "sqs:DeleteMessage"];

/// Region, account and name of a queue: `https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`.
fn queue(url: &str) -> Option<(&str, &str, &str)> {
    let (host, path) = url.strip_prefix("https://")?.split_once('/')?;
    let region = host.strip_prefix("sqs.")?.split('.').next()?;
    let (account, name) = path.split_once('/')?;
    (!name.is_empty() && !name.contains('/')).then_some((region, account, name))
}

fn check(context: &Context<'_>) -> CheckResult {
    let mut checked = 0;
    let mut found = Vec::new();
    let catalogue = context.role_options.catalogue();
    let all = context.companions.iter().map(|entry| &entry.one);
    for one in all.filter(|one| one.run.row.companion == Companion::NodeTerminationHandler) {
        let Some((region, account, name)) = one.run.container.settings.get("QUEUE_URL").and_then(|url| queue(url))
        else {
            continue;
        };
        let Ok(grants) = RoleGrants::new(one, context.view, context.role_options) else { continue };
        // The policy of a queue of another account decides too.
        if account != one.account.account_id {
            continue;
        }
        checked += 1;
        let arn = format!("arn:{}:sqs:{region}:{account}:{name}", one.account.partition);
        let refused = grants.refused_on(&ACTIONS, &arn, catalogue);
        if refused.is_empty() {
            continue;
        }
        let message = format!(
            "has `QUEUE_URL` of the queue `{}`, on which role `{}` does not grant {}",
            text::printable(name),
            text::printable(&one.role.name),
            refused.join(" or "),
        );
        let fix = Fix::none("name the queue in the resource of the statement, or correct `QUEUE_URL`");
        found.push(workload_violation(&one.run, Severity::Error, &message, fix));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no node termination handler with a queue and a role that was read");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const WORLD: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: nth
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/nth
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-node-termination-handler
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: nth
      containers:
      - image: public.ecr.aws/aws-ec2/aws-node-termination-handler:v1.25.0
        env:
        - name: ENABLE_SQS_TERMINATION_DRAINING
          value: 'true'
        - name: QUEUE_URL
          value: https://sqs.eu-central-1.amazonaws.com/111122223333/prod
";

    fn with(resource: &str) -> impl FnOnce(&mut aws::Cluster) {
        let policy = format!(
            r#"{{"Statement":[{{"Effect":"Allow","Action":["sqs:ReceiveMessage","sqs:DeleteMessage"],"Resource":"{resource}"}}]}}"#
        );
        move |c| {
            c.manifests = WORLD;
            c.add_role("nth", &policy);
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, with("arn:aws:sqs:eu-central-1:111122223333:other"));
    }

    #[test]
    fn silent() {
        for resource in ["arn:aws:sqs:eu-central-1:111122223333:prod", "arn:aws:sqs:*:*:pro*", "*"] {
            aws::silent(&RULE, with(resource));
        }
    }
}
