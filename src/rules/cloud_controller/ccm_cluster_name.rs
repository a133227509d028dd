use std::collections::BTreeSet;

use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-cluster-name",
    title: "`--cluster-name` is the id of another cluster",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "`--cluster-name` of an AWS cloud controller is the id of a cluster other than the audited one, according to the cluster tags in the account. The controller takes its id from the tags of its instance or from its cloud configuration, not from this flag.",
    impact: "the controller still works for the audited cluster, although the flag suggests another one; security groups of Network Load Balancers are named after the flag",
    fix: "Set the flag to the cluster's id, or remove it.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#initFromTags",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#ensureNLBSecurityGroup",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--cluster-name=staging`, but the cluster is `prod`",
    reads: &[Read::DescribeInstances],
    migration: Some(Prerequisite::Controller),
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let resources = context.view.regions.iter().flat_map(crate::aws::view::RegionView::tagged);
    let ids: BTreeSet<String> = resources
        .flat_map(crate::aws::Tagged::tags)
        .filter_map(|tag| tag.key.strip_prefix(tags::CLUSTER_TAG_PREFIX))
        .map(str::to_owned)
        .collect();
    for_each_aws(&context.on_kubernetes(), |controller| {
        let flag = controller.flag("cluster-name")?;
        if flag.value == context.cluster_id() || !ids.contains(&flag.value) {
            return None;
        }
        let name = controller.name();
        let message = format!(
            "{} has `--cluster-name={}`, but the cluster is `{}`",
            text::printable(&name),
            text::printable(&flag.value),
            text::printable(context.cluster_id())
        );
        Some(on(controller, Severity::Warning, &flag.place, message, "set it to the cluster's id, or remove it"))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_other_instance();
            c.manifests = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.31.0
        args: [--cluster-name=staging]
";
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_other_instance();
            c.manifests = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.31.0
        args: [--cluster-name=c-m-4x8z2k9q]
";
        });
    }
}
