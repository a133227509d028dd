use crate::aws::view::RegionView;
use crate::aws::{Subnet, Tagged};
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::Scheme;
use crate::rules::prelude::*;
use crate::tags;

use super::{CCM_SUBNETS, INSTANCES, LBC_SUBNETS, Offer, SUBNET, SUBNETS, TABLES, ZONES, is_role_near_miss};

pub(super) const RULE: Rule = Rule {
    id: "subnet-role-tag-missing",
    title: "the load balancer role tag is missing",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning if the AWS Load Balancer Controller is in use, else info",
    ),
    resources: SUBNET,
    condition: "A public subnet of the cluster lacks `kubernetes.io/role/elb`, or a private one `kubernetes.io/role/internal-elb`, while others of its kind in the VPC have it. Subnets in local and wavelength zones and on Outposts are skipped.",
    impact: "the AWS Load Balancer Controller never uses it as long as another subnet has the tag; the cloud controller prefers the others",
    fix: "Add the tag with the value `1`.",
    applicability: Applicability::Safe,
    sources: &[CCM_SUBNETS, LBC_SUBNETS],
    example: "1 public subnet of VPC `vpc-0a` has no `kubernetes.io/role/elb`, which 2 others have",
    reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for offer in Offer::all(region) {
        for scheme in Scheme::ALL {
            let key = scheme.role_tag();
            let of_kind: Vec<&Subnet> = offer
                .candidates
                .iter()
                .filter(|c| c.is_public == (scheme == Scheme::InternetFacing) && c.in_availability_zone)
                .filter(|c| c.subnet.outpost_arn.is_none())
                .filter(|c| tags::has_cluster_tag(&c.subnet.tags, own))
                .map(|c| c.subnet)
                .collect();
            let (with, without): (Vec<&Subnet>, Vec<&Subnet>) =
                of_kind.into_iter().partition(|subnet| tags::value(&subnet.tags, key).is_some());
            // Next to a tagged subnet of its kind, a subnet without the tag is not intended for load balancers.
            let alone = |subnet: &&Subnet| with.iter().all(|other| other.availability_zone != subnet.availability_zone);
            let without: Vec<&Subnet> = without
                .into_iter()
                .filter(alone)
                .filter(|subnet| !subnet.tags.iter().any(|tag| is_role_near_miss(&tag.key, key)))
                .collect();
            let Some(first) = without.first().filter(|_| !with.is_empty()) else { continue };
            let kind = if scheme == Scheme::InternetFacing { "public" } else { "private" };
            let message = format!(
                "{} of VPC `{}` {} no `{key}`, which {} {}",
                text::count(without.len(), &format!("{kind} subnet")),
                offer.vpc_id,
                if without.len() == 1 { "has" } else { "have" },
                text::count(with.len(), "other"),
                if with.len() == 1 { "has" } else { "have" }
            );
            let severity = if uses_load_balancer_controller(region) { Severity::Warning } else { Severity::Info };
            let ids = without.iter().map(|subnet| &subnet.id);
            let changes = region.set_tag(ResourceKind::Subnet, ids, key, "1");
            let fix = Fix::with(Applicability::Safe, format!("add `{key}=1`"), changes);
            let others = without.iter().skip(1).map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            violations.push(
                Violation::new(severity, region.resource(Tagged::Subnet(first)), message, fix)
                    .related(others)
                    .cause(Cause::Pair(offer.vpc_id.into(), key.into())),
            );
        }
    }
    violations.into()
}

/// True if security groups of the region show that the AWS Load Balancer Controller is in use.
fn uses_load_balancer_controller(region: &RegionView<'_>) -> bool {
    region.region.security_groups.iter().any(|group| group.tags.iter().any(|tag| tag.key.starts_with("elbv2.k8s.aws/")))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, untag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| untag(&mut c.subnet(aws::PUBLIC).tags, "kubernetes.io/role/elb"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            for id in [aws::PUBLIC, aws::PUBLIC_B] {
                untag(&mut c.subnet(id).tags, "kubernetes.io/role/elb");
            }
        });
    }
}
