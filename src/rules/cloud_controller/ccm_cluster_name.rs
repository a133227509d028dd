use std::collections::BTreeSet;

use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{of_each, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-cluster-name",
    title: "the name of the cluster is taken for its id",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "`--cluster-name` of an AWS cloud controller is the id of another cluster than that of the audit, by the cluster tags in the account. The controller takes its id from the tags of its instance, or from its cloud configuration, and not from this flag.",
    impact: "the controller works for the cluster of the audit all the same; whoever set the flag may have meant another one, and security groups of Network Load Balancers are called after it",
    fix: "Write the id of the cluster, or take the flag out.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#initFromTags",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#ensureNLBSecurityGroup",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--cluster-name=staging`, and the cluster is `prod`",
    reads: &[Read::DescribeInstances],
    migration: Some(Prerequisite::Controller),
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let resources = context.view.regions.iter().flat_map(crate::view::RegionView::tagged);
    let ids: BTreeSet<String> = resources
        .flat_map(crate::inventory::Tagged::tags)
        .filter_map(|tag| tag.key.strip_prefix(tags::CLUSTER_TAG_PREFIX))
        .map(str::to_owned)
        .collect();
    of_each(&context.on_kubernetes(), |controller| {
        let flag = controller.flag("cluster-name")?;
        if flag.value == context.cluster_id() || !ids.contains(&flag.value) {
            return None;
        }
        let name = controller.name();
        let message = format!(
            "{} has `--cluster-name={}`, and the cluster is `{}`",
            text::printable(&name),
            text::printable(&flag.value),
            text::printable(context.cluster_id())
        );
        Some(on(controller, Severity::Warning, &flag.place, message, "write the id of the cluster, or take it out"))
    })
}
