use crate::aws::companions::companions;
use crate::aws::scaling_groups::{awaits_first_instance, groups_of_cluster, launched_alone};
use crate::aws::view::{Member, RegionView};
use crate::controller::ControllerVersion;
use crate::controller::companion::Companion;
use crate::kubernetes::Evidence;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "imds-account-defaults",
    title: "the account exposes tags of new instances through the metadata service",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info if none of these nodes exposes its tags, or if there are none: their launches may set the option",
    ),
    resources: &[ResourceKind::Cluster],
    condition: "`InstanceMetadataTags` is `enabled` in the defaults of the account for the metadata service, and nodes of the cluster are neither in an Auto Scaling group nor launched by Karpenter, which sets the option from 1.1.0 on; or a VPC, subnet or security group is tagged for the cluster in the region, which has neither nodes nor groups that launch them. Launches of Auto Scaling groups are checked by `asg-cannot-launch`.",
    impact: "tag keys cannot contain a slash then: a launch with the cluster tag that does not set the option ends with `is not a valid tag key`, and one without the tag cannot get it later",
    fix: "Set `InstanceMetadataTags=disabled` in the defaults of the account, or in every launch of a node.",
    sources: &[
        "Amazon EC2 User Guide, Where to configure instance metadata options",
        "Amazon EC2 User Guide, View tags using instance metadata",
        "https://github.com/aws/karpenter-provider-aws/pull/7012",
        "https://github.com/kubernetes/cloud-provider-aws/issues/762",
    ],
    example: "new instances in eu-central-1 expose their tags by default (`InstanceMetadataTags=enabled`); 3 nodes were launched outside Auto Scaling groups",
    reads: &[Read::DescribeInstances, Read::GetInstanceMetadataDefaults],
    ..Rule::region(check)
};

/// First version of Karpenter that sets the option in each of its launch templates.
/// Source: aws/karpenter-provider-aws commit b19c64bc1, first in tag v1.1.0.
const SETS_OPTION: ControllerVersion = ControllerVersion::new(1, 1, 0);

/// Instances to which the defaults of the account apply.
struct Concerned<'a> {
    /// Nodes that were launched without an Auto Scaling group, by Karpenter only if its version leaves the option out.
    nodes: Vec<&'a Member<'a>>,
    /// The version of Karpenter that launched some of them.
    karpenter: Option<ControllerVersion>,
}

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let old = old_karpenter(context.kubernetes);
    let is_of_karpenter =
        |member: &&Member<'_>| member.instance.tags.iter().any(|tag| tag.key.starts_with("karpenter.sh/"));
    let nodes: Vec<&Member<'_>> =
        launched_alone(region).filter(|node| old.is_some() || !is_of_karpenter(node)).collect();
    let karpenter = old.filter(|_| nodes.iter().any(is_of_karpenter));
    let id = context.cluster_id();
    let launches_none = || groups_of_cluster(region, id).is_some_and(|groups| groups.is_empty());
    if nodes.is_empty() && !(awaits_first_instance(region, id) && launches_none()) {
        let why = "no node was launched outside Auto Scaling groups by what leaves the option to the account";
        return CheckResult::not_applicable(why);
    }
    let Some(defaults) = &region.region.metadata_defaults else {
        return CheckResult::not_applicable("the defaults of the account for the metadata service were not read");
    };
    if defaults.options.instance_metadata_tags.as_deref() != Some("enabled") {
        return CheckResult::clean();
    }
    let found = violation(context, region, &Concerned { nodes, karpenter });
    CheckResult::counted(1, [found])
}

fn violation(context: &Context<'_>, region: &RegionView<'_>, concerned: &Concerned<'_>) -> Violation {
    let exposes = |node: &&Member<'_>| {
        let options = node.instance.metadata_options.as_ref();
        options.is_none_or(|options| options.instance_metadata_tags.as_deref() != Some("disabled"))
    };
    let severity = if concerned.nodes.iter().any(exposes) { Severity::Warning } else { Severity::Info };
    let name = &region.region.name;
    let alone = concerned.nodes.len();
    let who = match (alone, concerned.karpenter) {
        (0, _) => "the cluster has no instance here yet".to_owned(),
        (_, Some(version)) => {
            format!("Karpenter {version} does not set the option in its launches (1.1.0 does)")
        }
        (1, None) => "1 node was launched outside Auto Scaling groups".to_owned(),
        (_, None) => format!("{alone} nodes were launched outside Auto Scaling groups"),
    };
    let message =
        format!("new instances in {name} expose their tags by default (`InstanceMetadataTags=enabled`); {who}");
    let command =
        ["aws", "ec2", "modify-instance-metadata-defaults", "--region", name, "--instance-metadata-tags", "disabled"]
            .map(text::shell_quote)
            .join(" ");
    let fix = Fix::none("disable it for the account, or in every launch of a node").untried(command);
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id());
    Violation::new(severity, resource, message, fix).with_respect_to(name.as_str())
}

/// The version of a Karpenter that leaves the option to the account.
fn old_karpenter(evidence: &Evidence) -> Option<ControllerVersion> {
    let runs = companions(evidence);
    let versions = runs.iter().filter(|run| run.row.companion == Companion::Karpenter).filter_map(|run| run.version);
    versions.filter(|version| *version < SETS_OPTION).min()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::{MetadataDefaults, MetadataOptions};
    use crate::testing::{aws, tag};

    fn defaults(c: &mut aws::Cluster, value: &str) {
        let options = MetadataOptions { instance_metadata_tags: Some(value.to_owned()), ..MetadataOptions::default() };
        c.region().metadata_defaults = Some(MetadataDefaults { options, tokens_enforced: false });
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| defaults(c, "enabled"));
    }

    const KARPENTER: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: kube-system}
spec:
  template:
    spec:
      containers: [{name: controller, image: 'public.ecr.aws/karpenter/controller:1.0.8'}]
";

    #[test]
    fn an_old_karpenter_leaves_the_option_to_the_account() {
        let of_karpenter = |c: &mut aws::Cluster, manifests| {
            defaults(c, "enabled");
            for instance in &mut c.region().instances {
                tag(&mut instance.tags, "karpenter.sh/nodepool", "default");
            }
            c.manifests = manifests;
        };
        let found = aws::messages(&RULE, |c| of_karpenter(c, KARPENTER));
        assert!(
            found[0].ends_with("; Karpenter 1.0.8 does not set the option in its launches (1.1.0 does)"),
            "{found:?}"
        );
        let newer = Box::leak(KARPENTER.replace("1.0.8", "1.1.0").into_boxed_str());
        aws::does_not_apply(&RULE, |c| of_karpenter(c, newer));
    }

    #[test]
    fn a_cluster_without_nodes_yet() {
        let found = aws::messages(&RULE, |c| {
            defaults(c, "enabled");
            c.forget_nodes();
        });
        assert!(found[0].ends_with("; the cluster has no instance here yet"), "{found:?}");
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| defaults(c, "disabled"));
        aws::silent(&RULE, |c| defaults(c, "no-preference"));
    }

    #[test]
    fn does_not_apply() {
        aws::does_not_apply(&RULE, |_| ());
        aws::does_not_apply(&RULE, |c| {
            defaults(c, "enabled");
            for instance in &mut c.region().instances {
                tag(&mut instance.tags, "karpenter.sh/nodepool", "default");
            }
        });
        aws::does_not_apply(&RULE, |c| {
            defaults(c, "enabled");
            for instance in &mut c.region().instances {
                tag(&mut instance.tags, "aws:autoscaling:groupName", "workers");
            }
        });
    }
}
