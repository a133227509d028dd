use std::collections::BTreeMap;

use crate::aws::autoscaler::Autoscaling;
use crate::aws::scaling_groups::ScalingGroup;
use crate::aws::view::RegionView;
use crate::inventory::Tag;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{DISCOVERY, GROUP, for_each_group, group_tag, on_group};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-tags-on-template",
    title: "tags for the cluster autoscaler are in the launch template and not on the Auto Scaling group",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning if a known autoscaler selects groups by such a tag, info otherwise",
    ),
    resources: GROUP,
    condition: "The launch template of a group tags instances with `k8s.io/cluster-autoscaler/…`, and the group lacks the tag. A group that the autoscaler manages lacks only tags of what its nodes will be (`…/node-template/…`). Skipped: groups that a known autoscaler neither manages nor would select by the tags, tags with the value `false`, and labels and taints that the autoscaler asks EKS for.",
    impact: "the autoscaler reads the tags of the group alone: without the discovery tags it never scales the group, without `node-template` it does not know the labels, taints and resources of a group at zero",
    fix: "Set the tags on the group; they need not propagate. The tags of a managed node group of EKS do not reach its group either.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_wrapper.go#getAutoscalingGroupsByTags",
        "Amazon EKS User Guide, Managed node groups",
    ],
    example: "the launch template of `gpu` tags instances with `k8s.io/cluster-autoscaler/enabled`, and the group does not have this tag",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let autoscaling = Autoscaling::new(context.view, context.kubernetes);
    for_each_group(context, region, |one| {
        let is_managed = autoscaling.manages(one.group);
        let misplaced: BTreeMap<&str, &str> = of_instances(one)
            .into_iter()
            .filter(|(key, value)| tags::value(&one.group.tags, key).is_none() && *value != "false")
            .filter(|(key, _)| !is_managed || is_of_template(key))
            .filter(|(key, _)| !(is_of_template(key) && autoscaling.asks_eks(one.group)))
            .collect();
        let is_asked = misplaced.keys().any(|key| autoscaling.selects_by(key));
        if misplaced.is_empty() || autoscaling.is_known() && !is_managed && !is_asked {
            return Some(Vec::new());
        }
        let keys: Vec<String> = misplaced.keys().map(|key| format!("`{key}`")).collect();
        let these = if keys.len() == 1 { "this tag" } else { "these tags" };
        let message = format!(
            "the launch template of `{}` tags instances with {}, and the group does not have {these}",
            text::printable(&one.group.name),
            text::list(&keys, 6)
        );
        let severity = if !is_managed && is_asked { Severity::Warning } else { Severity::Info };
        let changes = misplaced.iter().map(|(key, value)| group_tag(region, one, (key, value), false)).collect();
        let fix = Fix::with(Applicability::Confirm, "set the tags on the group; they need not propagate", changes);
        Some(vec![Violation { fix, ..on_group(region, one, severity, message, String::new()) }])
    })
}

/// True for a tag that states what the nodes of a group will be.
fn is_of_template(key: &str) -> bool {
    key.strip_prefix(DISCOVERY).is_some_and(|rest| rest.starts_with("node-template/"))
}

/// Tags for the autoscaler that everything has that the group launches. Those of instances may be older than the group's.
fn of_instances<'a>(one: &'a ScalingGroup<'_>) -> Vec<(&'a str, &'a str)> {
    let launched: Vec<&[Tag]> = one.known().map(|next| next.tags.as_slice()).collect();
    let Some((first, rest)) = launched.split_first().filter(|_| one.is_known()) else { return Vec::new() };
    let common = first.iter().filter(|tag| tag.key.starts_with(DISCOVERY));
    let common = common.filter(|tag| rest.iter().all(|tags| tags.contains(tag)));
    common.map(|tag| (tag.key.as_str(), tag.value.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::finding::Severity;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::tag;

    const ENABLED: &str = "k8s.io/cluster-autoscaler/enabled";
    const LABEL: &str = "k8s.io/cluster-autoscaler/node-template/label/pool";

    fn template(c: &mut Cluster, key: &str) {
        c.launch_group("workers");
        tag(&mut c.template_version("workers", 2).instance_tags, key, "true");
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| template(c, ENABLED));
        // The autoscaler manages the group, and does not see the label.
        let messages = aws::messages(&RULE, |c| {
            template(c, ENABLED);
            template(c, LABEL);
            tag(&mut c.launch_group("workers").tags, ENABLED, "true");
        });
        assert_eq!(
            messages,
            [format!(
                "the launch template of `workers` tags instances with `{LABEL}`, and the group does not have this tag"
            )]
        );
    }

    /// An autoscaler that selects groups by these words.
    fn autoscaler(c: &mut Cluster, argument: &str) {
        let manifest = format!(
            "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: cluster-autoscaler, namespace: kube-system}}
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
        command: [./cluster-autoscaler, --cloud-provider=aws, {argument}]
"
        );
        c.manifests = Box::leak(manifest.into_boxed_str());
    }

    #[test]
    fn the_autoscaler_decides_what_the_tags_are_for() {
        let severity = |argument: &str| {
            let (found, _) = aws::changed(&RULE, |c| {
                template(c, ENABLED);
                autoscaler(c, argument);
            });
            found.first().map(|one| one.severity)
        };
        assert_eq!(severity(&format!("--node-group-auto-discovery=asg:tag={ENABLED}")), Some(Severity::Warning));
        assert_eq!(severity("--nodes=0:3:other"), None);
        assert_eq!(severity("--nodes=0:3:workers"), None);
        assert_eq!(severity("--nodes=$(GROUP)"), Some(Severity::Info));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.launch_group("workers");
            tag(&mut c.template_version("workers", 2).instance_tags, ENABLED, "false");
        });
        // The autoscaler asks EKS for the labels.
        aws::silent(&RULE, |c| {
            template(c, LABEL);
            tag(&mut c.launch_group("workers").tags, "eks:nodegroup-name", "workers");
        });
        aws::silent(&RULE, |c| {
            template(c, LABEL);
            let group = c.launch_group("workers");
            tag(&mut group.tags, ENABLED, "true");
            tag(&mut group.tags, LABEL, "true");
        });
        // An instance was tagged by hand.
        aws::silent(&RULE, |c| {
            c.launch_group("workers");
            let id = c.workers_of("workers").remove(0);
            tag(&mut c.instance(&id).tags, ENABLED, "true");
        });
    }
}
