use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{LISTS, karpenters};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-queue-not-granted",
    title: "Karpenter may not read its interruption queue",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`INTERRUPTION_QUEUE` of Karpenter names a queue on which its role does not grant `sqs:GetQueueUrl`, `sqs:ReceiveMessage` or `sqs:DeleteMessage`: the statement names another queue. A role that grants them on no queue at all is reported by controller-action-missing.",
    impact: "Karpenter fails with AccessDenied on its queue: interruptions of Spot instances are not handled in time",
    fix: "Name the queue in the resource of the statement, or correct `INTERRUPTION_QUEUE`.",
    sources: &[
        "aws/karpenter-provider-aws pkg/providers/sqs/sqs.go",
        "aws/karpenter-provider-aws website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml",
    ],
    example: "role `prod-karpenter` of Karpenter 1.6.0 does not grant sqs:ReceiveMessage or sqs:DeleteMessage on the queue `prod` (INTERRUPTION_QUEUE)",
    lists: LISTS,
    ..Rule::joined(check)
};

const ACTIONS: [&str; 3] = ["sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"];

fn check(context: &Context<'_>) -> CheckResult {
    let mut checked = 0;
    let mut found = Vec::new();
    let catalogue = context.role_options.catalogue();
    for (one, grants) in karpenters(context) {
        // The argument precedes the variable; an ARN or a URL is not the name of a queue.
        if !one.run.arguments("interruption-queue").is_empty() {
            continue;
        }
        let queue = one.run.container.settings.get("INTERRUPTION_QUEUE");
        let Some(queue) = queue.filter(|name| !name.is_empty() && !name.contains([':', '/'])) else { continue };
        checked += 1;
        let arn = format!("arn:{}:sqs:*:{}:{queue}", one.account.partition, one.account.account_id);
        let refused = grants.refused_on(&ACTIONS, &arn, catalogue);
        if refused.is_empty() {
            continue;
        }
        let name = one.run.workload.full_name();
        let message = format!(
            "role `{}` of {} does not grant {} on the queue `{}` (INTERRUPTION_QUEUE)",
            text::printable(&one.role.name),
            one.run.label(),
            refused.join(" or "),
            text::printable(queue)
        );
        let fix = Fix::none("name the queue in the resource of the statement, or correct `INTERRUPTION_QUEUE`");
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&one.run.workload.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no Karpenter with an interruption queue and a role that was read");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::controllers::controller_with_role;

    const WORLD: &str = controller_with_role!(
        "karpenter",
        "karpenter",
        "      - image: public.ecr.aws/karpenter/controller:1.6.0
        env:
        - name: INTERRUPTION_QUEUE
          value: prod
"
    );

    fn reading(c: &mut aws::Cluster, resource: &str) {
        c.manifests = WORLD;
        c.add_role("karpenter", &format!(r#"{{"Statement":[{{"Effect":"Allow","Action":["ec2:*","iam:PassRole"],"Resource":"*"}},{{"Effect":"Allow","Action":"sqs:*","Resource":"{resource}"}}]}}"#));
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| reading(c, "arn:aws:sqs:*:111122223333:staging"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| reading(c, "arn:aws:sqs:*:111122223333:prod"));
        // It grants nothing of the kind: another rule reports it.
        aws::silent(&RULE, |c| {
            c.manifests = WORLD;
            c.add_role(
                "karpenter",
                r#"{"Statement":[{"Effect":"Allow","Action":["ec2:*","iam:PassRole"],"Resource":"*"}]}"#,
            );
        });
    }
}
