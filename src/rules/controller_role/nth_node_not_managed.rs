use crate::aws::termination_handler::{HandlerScope, is_drained_by_others, queue_handlers};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::Tag;

use super::workload_violation;

pub(super) const RULE: Rule = Rule {
    id: "nth-node-not-managed",
    title: "the node termination handler drops the events of every node",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The AWS node termination handler reads a queue and checks the tags of an instance before it drains the node (`CHECK_TAG_BEFORE_DRAINING`, on by default), and no node of the cluster has the tag (`MANAGED_TAG`, by default `aws-node-termination-handler/managed`); before 1.17.0 a tag of the Auto Scaling group counts too. If some nodes have the tag, the others are skipped on purpose. Nodes of managed node groups of EKS and of Karpenter do not count.",
    impact: "it deletes the messages about spot interruptions, scale-in and maintenance without draining a node, and logs that at debug level only",
    fix: "Let the Auto Scaling groups propagate the tag, tag the running instances, or set `CHECK_TAG_BEFORE_DRAINING` to `false`.",
    sources: &[
        "aws/aws-node-termination-handler pkg/monitor/sqsevent/sqs-monitor.go#processInterruptionEvents",
        "aws/aws-node-termination-handler pkg/config/config.go",
        "aws/aws-node-termination-handler README.md",
    ],
    example: "Deployment kube-system/aws-node-termination-handler handles only instances with the tag `aws-node-termination-handler/managed`, which none of 12 nodes has",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let handlers = queue_handlers(context.kubernetes);
    if handlers.is_empty() {
        return CheckResult::not_applicable("no node termination handler with a queue, or its options are not known");
    }
    let regions = context.view.regions.iter();
    let nodes: Vec<(bool, &[Tag], &[Tag])> = regions
        .flat_map(|region| {
            let of_group = |name: &str| -> &[Tag] {
                let mut groups = region.region.auto_scaling_groups.iter().flatten();
                groups.find(|group| group.name == name).map_or(&[], |group| group.tags.as_slice())
            };
            region.members.iter().map(move |one| {
                let of_group = one.auto_scaling_group().map_or(&[][..], of_group);
                (is_drained_by_others(one), &*one.instance.tags, of_group)
            })
        })
        .collect();
    let number = nodes.iter().filter(|(is_drained, ..)| !is_drained).count();
    if number == 0 {
        return CheckResult::not_applicable("no node that the handler would drain");
    }
    let found = handlers.iter().filter_map(|handler| {
        let HandlerScope::Tagged(tag) = &handler.scope else { return None };
        if nodes.iter().any(|(_, of_instance, of_group)| handler.takes(of_instance, of_group)) {
            return None;
        }
        let nodes = match number {
            1 => "the only node does not have".to_owned(),
            count => format!("none of {} has", text::count(count, "node")),
        };
        let message = format!("handles only instances with the tag `{}`, which {nodes}", text::printable(tag));
        let fix = format!(
            "let the Auto Scaling groups propagate `{}`, tag the running instances, or set `CHECK_TAG_BEFORE_DRAINING` to `false`",
            text::printable(tag)
        );
        Some(workload_violation(&handler.run, Severity::Warning, &message, Fix::none(fix)))
    });
    CheckResult::counted(handlers.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::tag;

    const KEY: &str = "aws-node-termination-handler/managed";

    /// A handler of this version with these further variables.
    macro_rules! handler {
        ($version:literal $(, $name:literal: $value:literal)*) => {
            concat!(
                "
apiVersion: apps/v1
kind: Deployment
metadata: {name: nth, namespace: kube-system}
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/aws-ec2/aws-node-termination-handler:v",
                $version,
                "
        env:
        - {name: ENABLE_SQS_TERMINATION_DRAINING, value: 'true'}
        - {name: QUEUE_URL, value: https://sqs.us-east-1.amazonaws.com/111122223333/prod}
",
                $("        - {name: ", $name, ", value: '", $value, "'}\n",)*
            )
        };
    }

    #[test]
    fn fires() {
        for manifests in [
            handler!("1.25.0"),
            handler!("1.25.0", "CHECK_TAG_BEFORE_DRAINING": "true", "MANAGED_TAG": "drain"),
            handler!("1.25.0", "CHECK_ASG_TAG_BEFORE_DRAINING": "false", "CHECK_TAG_BEFORE_DRAINING": "1"),
            handler!("1.16.5", "CHECK_TAG_BEFORE_DRAINING": "false"),
        ] {
            aws::fires(&RULE, |c| c.manifests = manifests);
        }
        // The tag of the group alone.
        aws::fires(&RULE, |c| {
            c.manifests = handler!("1.25.0");
            tag(&mut c.launch_group("workers").tags, KEY, "");
        });
    }

    #[test]
    fn silent() {
        // Those of Karpenter have it.
        aws::silent(&RULE, |c| {
            c.manifests = handler!("1.25.0");
            let held = &mut c.instance(aws::WORKER).tags;
            tag(held, "karpenter.sh/nodepool", "default");
            tag(held, KEY, "");
        });
        for manifests in [
            handler!("1.25.0", "DRY_RUN": "false", "CHECK_TAG_BEFORE_DRAINING": "f"),
            handler!("1.25.0", "CHECK_TAG_BEFORE_DRAINING": "false"),
            handler!("1.25.0", "CHECK_ASG_TAG_BEFORE_DRAINING": "false"),
            handler!("1.16.5", "CHECK_ASG_TAG_BEFORE_DRAINING": "false"),
        ] {
            aws::silent(&RULE, |c| c.manifests = manifests);
        }
        let tagged = |manifests: &'static str, change: fn(&mut Cluster)| {
            aws::silent(&RULE, |c| {
                c.manifests = manifests;
                change(c);
            });
        };
        tagged(handler!("1.25.0"), |c| tag(&mut c.instance(aws::WORKER).tags, KEY, ""));
        tagged(handler!("1.25.0", "MANAGED_ASG_TAG": "drain"), |c| tag(&mut c.instance(aws::WORKER).tags, "drain", ""));
        tagged(handler!("1.16.5"), |c| tag(&mut c.launch_group("workers").tags, KEY, "true"));
    }

    /// Flags come before the environment, with one or two dashes; a boolean takes no next word.
    #[test]
    fn flags_are_read_as_go_reads_them() {
        let with = |flags: &str| {
            let checked = handler!("1.25.0", "CHECK_TAG_BEFORE_DRAINING": "false");
            format!("{checked}        args: [{flags}]\n").leak()
        };
        for flags in [
            "--check-tag-before-draining",
            "-check-tag-before-draining, 'false'",
            "--check-tag-before-draining=T",
            // The first other word ends them.
            "--check-tag-before-draining, x, --check-tag-before-draining=false",
            "--check-tag-before-draining, --, --check-tag-before-draining=false",
            "--check-tag-before-draining, --node-name, --check-tag-before-draining=false",
        ] {
            aws::fires(&RULE, |c| c.manifests = with(flags));
        }
        for flags in ["-check-tag-before-draining=false", "-managed-tag, drain, -check-tag-before-draining=true"] {
            aws::silent(&RULE, |c| {
                c.manifests = with(flags);
                tag(&mut c.instance(aws::WORKER).tags, "drain", "");
            });
        }
        let by_flag =
            handler!("1.25.0").replace("'true'}", "''}") + "        args: [--enable-sqs-termination-draining]\n";
        aws::fires(&RULE, |c| c.manifests = by_flag.leak());
    }

    #[test]
    fn what_is_not_known_decides_nothing() {
        let hidden = concat!(
            handler!("1.25.0"),
            "        - {name: MANAGED_TAG, valueFrom: {configMapKeyRef: {name: nth, key: tag}}}\n"
        );
        aws::does_not_apply(&RULE, |c| c.manifests = hidden);
        aws::does_not_apply(&RULE, |c| c.manifests = handler!("1.25.0", "DRY_RUN": "true"));
        aws::does_not_apply(&RULE, |c| c.manifests = handler!("1.25.0", "CHECK_TAG_BEFORE_DRAINING": "perhaps"));
        // EKS drains the nodes of its managed groups.
        aws::does_not_apply(&RULE, |c| {
            c.manifests = handler!("1.25.0");
            for id in c.inventory.accounts[0].regions[0].instances.iter().map(|one| one.id.clone()).collect::<Vec<_>>()
            {
                tag(&mut c.instance(&id).tags, "eks:nodegroup-name", "pool");
            }
        });
    }
}
