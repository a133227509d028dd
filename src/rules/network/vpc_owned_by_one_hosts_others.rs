use std::collections::BTreeSet;

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, CLUSTER_TAG_PREFIX, OWNED, SHARED};

use super::{CAPA_PREFIX, INSTANCES, VPC, VPCS, member_vpcs};

pub(super) const RULE: Rule = Rule {
    id: "vpc-owned-by-one-hosts-others",
    title: "a VPC owned by one cluster hosts another",
    severity: RuleSeverity::always(Severity::Warning),
    resources: VPC,
    condition: "A VPC in which members live is `owned` by one cluster (new-style or Cluster API tag), and live instances or subnets in it are tagged for another.",
    impact: "deleting the owning cluster also tries to delete the network that the other cluster uses",
    fix: "Set the owner's tag to `shared` and add `shared` tags for the others.",
    applicability: Applicability::Choice,
    sources: &[
        "kubernetes/kops pkg/resources/aws/tags.go#HasOwnedTag",
        "https://github.com/kubernetes/kops/issues/3965",
    ],
    example: "VPC `vpc-0a` is owned by alpha and hosts nodes or subnets of bravo",
    reads: &[INSTANCES, VPCS, Read::DescribeSubnets],
    subjects: Subjects::MemberVpcs,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for vpc in member_vpcs(region) {
        let owners: BTreeSet<&str> = vpc
            .tags
            .iter()
            .filter(|tag| tag.value == OWNED)
            .filter_map(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX).or_else(|| tag.key.strip_prefix(CAPA_PREFIX)))
            .filter(|id| !id.is_empty())
            .collect();
        let instances =
            region.region.instances.iter().filter(|i| i.state.is_live() && i.vpc_id.as_deref() == Some(&vpc.id));
        let subnets = region.region.subnets.iter().filter(|subnet| subnet.vpc_id == vpc.id);
        // An instance or subnet with several tags is a separate finding and does not show which cluster lives here.
        let single = |ids: Vec<&'_ str>| -> Option<String> {
            let mut unique: Vec<&str> = ids.into_iter().filter(|id| !tags::is_slip(id, own)).collect();
            unique.dedup();
            match unique.as_slice() {
                [one] => Some((*one).to_owned()),
                _ => None,
            }
        };
        let guests: BTreeSet<String> = instances
            .filter_map(|instance| single(crate::aws::view::instance_clusters(&instance.tags).collect()))
            .chain(subnets.filter_map(|subnet| single(tags::cluster_ids(&subnet.tags).map(|(id, _)| id).collect())))
            .collect();
        for owner in owners {
            let others: Vec<&str> = guests.iter().map(String::as_str).filter(|guest| *guest != owner).collect();
            if others.is_empty() {
                continue;
            }
            let message = format!(
                "VPC `{}` is owned by {} and hosts nodes or subnets of {}",
                vpc.id,
                text::printable(owner),
                text::list(&others, 5)
            );
            let mut changes = Vec::new();
            if tags::cluster_value(&vpc.tags, owner).is_some() {
                changes.extend(region.set_tag(ResourceKind::Vpc, [&vpc.id], &tags::cluster_key(owner), SHARED));
            }
            changes.extend(
                others
                    .iter()
                    .flat_map(|id| region.set_tag(ResourceKind::Vpc, [&vpc.id], &tags::cluster_key(id), SHARED)),
            );
            let fix = Fix::choose(
                "set the VPC to `shared` for all of them",
                vec![Choice::with(SHARED, "no cluster deletes the VPC", changes)],
            );
            violations.push(
                Violation::new(Severity::Warning, region.resource(Tagged::Vpc(vpc)), message, fix)
                    .with_respect_to(owner),
            );
        }
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, crate::testing::aws::Cluster::add_other_instance);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_other_instance();
            tag(&mut c.vpc().tags, aws::KEY, "shared");
        });
    }
}
