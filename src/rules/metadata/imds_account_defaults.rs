use crate::aws::scaling_groups::launched_alone;
use crate::aws::view::{Member, RegionView};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "imds-account-defaults",
    title: "the account exposes tags of new instances through the metadata service",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info if none of these nodes exposes its tags: their launches may set the option",
    ),
    resources: &[ResourceKind::Cluster],
    condition: "`InstanceMetadataTags` is `enabled` in the defaults of the account for the metadata service, and nodes of the cluster are neither in an Auto Scaling group nor launched by Karpenter, which sets the option. Launches of Auto Scaling groups are checked by `asg-cannot-launch`.",
    impact: "tag keys cannot contain a slash then: a launch with the cluster tag that does not set the option ends with `is not a valid tag key`, and one without the tag cannot get it later",
    fix: "Set `InstanceMetadataTags=disabled` in the defaults of the account, or in every launch of a node.",
    sources: &[
        "Amazon EC2 User Guide, Where to configure instance metadata options",
        "Amazon EC2 User Guide, View tags using instance metadata",
        "https://github.com/aws/karpenter-provider-aws/issues/7012",
        "https://github.com/kubernetes/cloud-provider-aws/issues/762",
    ],
    example: "new instances in eu-central-1 expose their tags by default (`InstanceMetadataTags=enabled`); 3 nodes were launched outside Auto Scaling groups",
    reads: &[Read::DescribeInstances, Read::GetInstanceMetadataDefaults],
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let nodes: Vec<&Member<'_>> = launched_alone(region).collect();
    let alone = nodes.len();
    if alone == 0 {
        return CheckResult::not_applicable("all nodes are in Auto Scaling groups, or Karpenter launched them");
    }
    let Some(defaults) = &region.region.metadata_defaults else {
        return CheckResult::not_applicable("the defaults of the account for the metadata service were not read");
    };
    if defaults.options.instance_metadata_tags.as_deref() != Some("enabled") {
        return CheckResult::clean();
    }
    let exposes = |node: &Member<'_>| {
        let options = node.instance.metadata_options.as_ref();
        options.is_none_or(|options| options.instance_metadata_tags.as_deref() != Some("disabled"))
    };
    let has_exposed = nodes.iter().any(|node| exposes(node));
    let severity = if has_exposed { Severity::Warning } else { Severity::Info };
    let name = &region.region.name;
    let was = if alone == 1 { "was" } else { "were" };
    let message = format!(
        "new instances in {name} expose their tags by default (`InstanceMetadataTags=enabled`); {} {was} launched outside Auto Scaling groups",
        text::count(alone, "node")
    );
    let command =
        ["aws", "ec2", "modify-instance-metadata-defaults", "--region", name, "--instance-metadata-tags", "disabled"]
            .map(text::shell_quote)
            .join(" ");
    let fix = Fix::none("disable it for the account, or in every launch of a node").untried(command);
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id());
    CheckResult::counted(1, [Violation::new(severity, resource, message, fix).with_respect_to(name.as_str())])
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
