use crate::aws::LifecycleHook;
use crate::aws::autoscaler::is_of_eks;
use crate::aws::termination_handler::queue_handlers;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_read_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "asg-termination-hook-missing",
    title: "an Auto Scaling group terminates nodes before the node termination handler can drain them",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "The AWS node termination handler reads a queue and handles the nodes of a group, which has no lifecycle hook for `autoscaling:EC2_INSTANCE_TERMINATING`. Groups whose maximum size is zero, and handlers in a dry run, do not count. Managed node groups of EKS are skipped: EKS drains their nodes.",
    impact: "on scale-in, rebalancing between zones and an instance refresh, the handler learns of a termination only from state changes, when the instance shuts down already; the cluster autoscaler drains the nodes that it removes",
    fix: "Put a lifecycle hook for `autoscaling:EC2_INSTANCE_TERMINATING` on the group.",
    sources: &[
        "aws/aws-node-termination-handler README.md, Create an ASG Termination Lifecycle Hook",
        "aws/aws-node-termination-handler pkg/monitor/sqsevent/asg-lifecycle-event.go",
    ],
    example: "`workers` has no lifecycle hook for terminations: Auto Scaling does not wait until the node termination handler has drained a node",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
        Read::DescribeLifecycleHooks,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let handlers = queue_handlers(context.kubernetes);
    if handlers.is_empty() {
        return CheckResult::not_applicable("no node termination handler with a queue, or its options are not known");
    }
    for_each_read_group(context, region, "the lifecycle hooks of the groups were not read", |one| {
        let hooks = one.group.hooks.as_ref()?;
        let is_handled =
            !is_of_eks(one.group) && one.group.max_size > 0 && handlers.iter().any(|handler| handler.takes_group(one));
        if !is_handled || hooks.iter().any(LifecycleHook::is_of_termination) {
            return Some(Vec::new());
        }
        let message = format!(
            "`{}` has no lifecycle hook for terminations: Auto Scaling does not wait until the node termination handler has drained a node",
            text::printable(&one.group.name)
        );
        let fix = "put a lifecycle hook for `autoscaling:EC2_INSTANCE_TERMINATING` on the group";
        Some(vec![on_group(region, one, Severity::Info, message, fix)])
    })
}

#[cfg(test)]
mod tests {
    use super::{LifecycleHook, RULE};
    use crate::testing::aws::{self, Cluster};
    use crate::testing::tag;

    const HANDLER: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: nth, namespace: kube-system}
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/aws-ec2/aws-node-termination-handler:v1.25.0
        env:
        - {name: ENABLE_SQS_TERMINATION_DRAINING, value: 'true'}
        - {name: CHECK_TAG_BEFORE_DRAINING, value: 'false'}
";

    fn with_hooks(c: &mut Cluster, transitions: &[&str]) {
        c.manifests = HANDLER;
        let hooks = transitions.iter().map(|transition| LifecycleHook {
            name: "hook".to_owned(),
            transition: (*transition).to_owned(),
            ..LifecycleHook::default()
        });
        c.launch_group("workers").hooks = Some(hooks.collect());
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| with_hooks(c, &[]));
        aws::fires(&RULE, |c| with_hooks(c, &["autoscaling:EC2_INSTANCE_LAUNCHING"]));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| with_hooks(c, &["autoscaling:EC2_INSTANCE_TERMINATING"]));
        aws::silent(&RULE, |c| {
            with_hooks(c, &[]);
            tag(&mut c.launch_group("workers").tags, "eks:nodegroup-name", "workers");
        });
        // The other rule reports that no node is handled.
        aws::silent(&RULE, |c| {
            with_hooks(c, &[]);
            c.manifests = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: nth, namespace: kube-system}
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/aws-ec2/aws-node-termination-handler:v1.25.0
        env: [{name: ENABLE_SQS_TERMINATION_DRAINING, value: 'true'}]
";
        });
    }

    #[test]
    fn hooks_that_were_not_read_decide_nothing() {
        aws::does_not_apply(&RULE, |c| {
            with_hooks(c, &[]);
            c.launch_group("workers").hooks = None;
        });
        aws::does_not_apply(&RULE, |c| {
            with_hooks(c, &[]);
            c.manifests = "";
        });
    }
}
