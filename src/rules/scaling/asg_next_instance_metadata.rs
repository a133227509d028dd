use crate::aws::MetadataOptions;
use crate::aws::view::{Distribution, Member, RegionView};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, next_key, next_phrase, on_group, template_resource};

pub(super) const RULE: Rule = Rule {
    id: "asg-next-instance-metadata",
    title: "an Auto Scaling group launches instances whose metadata service is off or out of reach",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "The launch template of a group, or else the default of the account, turns the metadata service off, or sets a hop limit below 2 with IMDSv2 required, and no node of the group has that today (of a group at zero: no node of the cluster). A low hop limit is not reported where kOps, Cluster API or EKS set it, nor in a cluster without nodes.",
    impact: "the cloud controller does not start on the next node, or pods there get no credentials from it",
    fix: "Set `HttpEndpoint=enabled`, and the hop limit that the present nodes have, in the launch template.",
    sources: &[
        "Amazon EC2 User Guide, Where to configure instance metadata options",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#buildSelfAWSInstance",
    ],
    example: "the next instance of `servers` (version 2 of `lt-0a`) has the metadata service off; none of its nodes has that today",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstanceRefreshes,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
        Read::GetInstanceMetadataDefaults,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    // kOps, Cluster API and EKS set it on purpose; without a node the distribution is not known.
    let is_other = region.distribution == Distribution::Other && !region.members.is_empty();
    let is_too_low = |options: &MetadataOptions| is_other && is_low(options);
    let defects: [(&dyn Fn(&MetadataOptions) -> bool, &str, &str); 2] = [
        (&is_off, "has the metadata service off", "http-endpoint"),
        (&is_too_low, "has a metadata hop limit below 2 with IMDSv2 required", "hop-limit"),
    ];
    for_each_group(context, region, |one| {
        let nodes_have = |defect: &dyn Fn(&MetadataOptions) -> bool| {
            let has = |member: &Member<'_>| member.instance.metadata_options.as_ref().is_some_and(defect);
            // A group at zero launches what the other nodes of the cluster are.
            if one.members.is_empty() { region.members.iter().any(has) } else { one.members.iter().any(|one| has(one)) }
        };
        let mut found = Vec::new();
        for next in one.known() {
            for (has, text, key) in defects {
                if !has(&next.metadata) || nodes_have(has) {
                    continue;
                }
                let message = format!("{} {text}; none of its nodes has that today", next_phrase(one, next));
                let fix = "set HttpEndpoint=enabled, and the hop limit of the present nodes, in the launch template";
                let violation = on_group(region, one, Severity::Warning, message, fix);
                let key = next_key(next).and(key);
                found.push(violation.related([template_resource(next)]).with_respect_to(key));
            }
        }
        (one.is_known_with_account(region.region) || !found.is_empty()).then_some(found)
    })
}

fn is_off(options: &MetadataOptions) -> bool {
    options.http_endpoint.as_deref() == Some("disabled")
}

fn is_low(options: &MetadataOptions) -> bool {
    !is_off(options)
        && options.http_tokens.as_deref() == Some("required")
        && options.http_put_response_hop_limit.is_some_and(|limit| limit < 2)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::{MetadataDefaults, MetadataOptions};
    use crate::testing::aws;

    fn off() -> MetadataOptions {
        MetadataOptions { http_endpoint: Some("disabled".to_owned()), ..MetadataOptions::default() }
    }

    fn low() -> MetadataOptions {
        MetadataOptions {
            http_tokens: Some("required".to_owned()),
            http_put_response_hop_limit: Some(1),
            ..MetadataOptions::default()
        }
    }

    #[test]
    fn fires() {
        for options in [off(), low()] {
            aws::fires(&RULE, |c| {
                c.launch_group("workers");
                c.template_version("workers", 2).metadata_options = Some(options.clone());
            });
            // The template leaves it to the account.
            aws::fires(&RULE, |c| {
                c.launch_group("workers");
                c.region().metadata_defaults =
                    Some(MetadataDefaults { options: options.clone(), tokens_enforced: false });
            });
        }
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| drop(c.launch_group("workers").clone()));
        // The instance rule reports the nodes.
        aws::silent(&RULE, |c| {
            c.launch_group("workers");
            c.template_version("workers", 2).metadata_options = Some(off());
            c.instance(aws::WORKER).metadata_options = Some(off());
        });
    }
}
