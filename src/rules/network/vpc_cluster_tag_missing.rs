use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, SHARED};

use super::{CAPA_PREFIX, INSTANCES, VPC, VPCS, member_vpcs};

pub(super) const RULE: Rule = Rule {
    id: "vpc-cluster-tag-missing",
    title: "the VPC has no cluster tag",
    severity: RuleSeverity::always(Severity::Info),
    resources: VPC,
    condition: "A VPC in which members live has no cluster tag and no Cluster API tag. The RKE documentation asks for the cluster tag; the cloud controller does not read it.",
    impact: "no effect on the cloud controller; the AWS Load Balancer Controller with `--aws-vpc-tags` and the deletion of kOps clusters read it",
    fix: "Add `kubernetes.io/cluster/<ID>=shared`.",
    applicability: Applicability::Confirm,
    sources: &[
        "RKE documentation, AWS cloud provider, Tagging AWS Resources",
        "https://github.com/rancher/rancher/issues/25148",
    ],
    example: "VPC `vpc-0a` has no tag `kubernetes.io/cluster/bravo`",
    reads: &[INSTANCES, VPCS],
    subjects: Subjects::MemberVpcs,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let key = context.cluster_key();
    member_vpcs(region)
        .into_iter()
        .filter(|vpc| {
            !tags::has_cluster_tag(&vpc.tags, own) && !vpc.tags.iter().any(|tag| tag.key.starts_with(CAPA_PREFIX))
        })
        .filter(|vpc| !vpc.tags.iter().any(|tag| tags::is_certain_near_miss(tag, own)))
        .map(|vpc| {
            let changes = region.set_tag(ResourceKind::Vpc, [&vpc.id], &key, SHARED);
            let fix = Fix::with(Applicability::Confirm, format!("add `{key}={SHARED}`"), changes);
            Violation::new(
                Severity::Info,
                region.resource(Tagged::Vpc(vpc)),
                format!("VPC `{}` has no tag `{key}`", vpc.id),
                fix,
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.vpc().tags.clear());
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let tags = &mut c.vpc().tags;
            tags.clear();
            tag(tags, "sigs.k8s.io/cluster-api-provider-aws/cluster/prod", "owned");
        });
    }
}
