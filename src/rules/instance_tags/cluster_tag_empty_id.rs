use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::CLUSTER_TAG_PREFIX;

use super::{ANY, in_reach};

pub(super) const RULE: Rule = Rule {
    id: "cluster-tag-empty-id",
    title: "a cluster tag without a cluster id",
    severity: RuleSeverity::depends(Severity::Error, "error on instances, warning elsewhere"),
    resources: ANY,
    condition: "A member instance, or a subnet, VPC, security group or route table of the cluster's VPCs, has a tag whose key is exactly `kubernetes.io/cluster/`.",
    impact: "the order in which EC2 returns the tags decides whether the cloud controller fails; a subnet with the tag counts as another cluster's and is never used",
    fix: "Remove the tag; add the right one first where it is missing.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#findClusterIDs",
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasNoClusterPrefixTag",
    ],
    example: "subnet `subnet-0a` has the tag key `kubernetes.io/cluster/` without an id",
    subjects: Subjects::Region,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let reach = in_reach(region);
    region
        .tagged()
        .filter_map(|resource| {
            let tag = resource.tags().iter().find(|tag| tag.key == CLUSTER_TAG_PREFIX)?;
            if !reach(resource) {
                return None;
            }
            let severity = if resource.kind() == ResourceKind::Instance { Severity::Error } else { Severity::Warning };
            let message = format!(
                "{} `{}` has the tag key `{CLUSTER_TAG_PREFIX}` without an id",
                resource.kind().noun(),
                resource.id()
            );
            let fix = Fix::with(
                Applicability::Confirm,
                "remove the tag; it names no cluster",
                region.remove_tag(resource.kind(), [resource.id()], tag),
            );
            Some(Violation::new(severity, region.resource(resource), message, fix))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, "kubernetes.io/cluster/", "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, aws::OTHER_KEY, "owned"));
    }
}
