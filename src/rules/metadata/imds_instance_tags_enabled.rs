use crate::aws::view::{Member, RegionView};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, instances_phrase};
use crate::tags;
use crate::transition::{MetadataOption, State, Value};

use super::{INSTANCE, options, set};

pub(super) const RULE: Rule = Rule {
    id: "imds-instance-tags-enabled",
    title: "instance tags are readable through the metadata service",
    severity: RuleSeverity::depends(Severity::Error, "error if the cluster tag is missing, else warning"),
    resources: INSTANCE,
    condition: "A member has `InstanceMetadataTags=enabled`; the setting may come from the launch template or an account default.",
    impact: "tag keys cannot contain a slash: adding the cluster tag fails with `is not a valid tag key`, and so does every launch with it",
    fix: "Set `InstanceMetadataTags=disabled` before adding tags.",
    applicability: Applicability::Confirm,
    sources: &[
        "https://github.com/kubernetes/cloud-provider-aws/issues/762",
        "https://github.com/aws/karpenter-provider-aws/issues/7012",
        "Amazon EC2 User Guide, View tags using instance metadata",
    ],
    example: "instance `i-0a` has instance metadata tags on and no cluster tag",
    migration: Some(Prerequisite::Profiles),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let on = region
        .members
        .iter()
        .filter(|m| options(m).is_some_and(|o| o.instance_metadata_tags.as_deref() == Some("enabled")));
    let severity = |member: &Member<'_>| {
        if tags::has_cluster_tag(&member.instance.tags, own) { Severity::Warning } else { Severity::Error }
    };
    region.grouped(on, severity, |members| {
        let untagged = members.iter().any(|member| !tags::has_cluster_tag(&member.instance.tags, own));
        let and = if untagged { " and no cluster tag" } else { "" };
        let message = format!("{} {} instance metadata tags on{and}", instances_phrase(members), has(members));
        let changes = set(region, members, MetadataOption::InstanceMetadataTags, &Value::State(State::Disabled));
        (message, Fix::with(Applicability::Confirm, "turn instance metadata tags off before any tag is added", changes))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.instance(aws::WORKER).metadata_options.as_mut().unwrap().instance_metadata_tags =
                Some("enabled".to_owned());
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
    }
}
