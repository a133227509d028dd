use crate::aws::view::RegionView;
use crate::aws::{RouteTable, Tagged};
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, ROLE_ELB, ROLE_INTERNAL_ELB};

use super::{INSTANCES, LBC_SUBNETS, SUBNET, SUBNETS, TABLES};

pub(super) const RULE: Rule = Rule {
    id: "subnet-role-tag-wrong-reachability",
    title: "the load balancer role tag does not match the subnet's routes",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning for role/elb on a private subnet; info for role/internal-elb on a public one where private ones exist",
    ),
    resources: SUBNET,
    condition: "A subnet without a route to an internet gateway has `kubernetes.io/role/elb`, or one with such a route has `kubernetes.io/role/internal-elb` in a VPC where the cluster has private subnets too. kOps puts the latter on public subnets on purpose if there are no others. A subnet whose default route leads through the endpoint of a firewall (`vpce-…`) is not reported: the cloud controller counts it as private, while the AWS Load Balancer Controller uses it by its tag.",
    impact: "the cloud controller drops the private subnet for internet-facing load balancers; the AWS Load Balancer Controller uses it, and the load balancer cannot be reached",
    fix: "Move the tag to a subnet with the right routes, or fix the routes.",
    applicability: Applicability::Choice,
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#isSubnetPublic", LBC_SUBNETS],
    example: "subnet `subnet-0a` has `kubernetes.io/role/elb` and no route to an internet gateway",
    reads: &[INSTANCES, SUBNETS, TABLES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for vpc_id in region.member_vpcs() {
        let candidates = region.candidates(vpc_id);
        let ours = || candidates.iter().filter(|c| tags::is_usable(&c.subnet.tags, own));
        let has_private = ours().any(|candidate| !candidate.is_public);
        for candidate in ours() {
            let has = |key| tags::value(&candidate.subnet.tags, key).is_some();
            let is_behind_firewall =
                || region.route_table(candidate.subnet).is_some_and(RouteTable::leads_through_endpoint);
            let (severity, wrong, message) = if has(ROLE_ELB) && !candidate.is_public && !is_behind_firewall() {
                (
                    Severity::Warning,
                    ROLE_ELB,
                    format!("subnet `{}` has `{ROLE_ELB}` and no route to an internet gateway", candidate.subnet.id),
                )
            } else if has(ROLE_INTERNAL_ELB) && !has(ROLE_ELB) && candidate.is_public && has_private {
                (
                    Severity::Info,
                    ROLE_INTERNAL_ELB,
                    format!(
                        "subnet `{}` has `{ROLE_INTERNAL_ELB}` and a route to an internet gateway",
                        candidate.subnet.id
                    ),
                )
            } else {
                continue;
            };
            let tag = candidate.subnet.tags.iter().find(|tag| tag.key == wrong);
            let id = &candidate.subnet.id;
            let remove = tag.into_iter().flat_map(|tag| region.remove_tag(ResourceKind::Subnet, [id], tag)).collect();
            let fix = Fix::choose(
                "move the tag or fix the routes",
                vec![
                    Choice::with("remove-tag", "the routes are right: remove the tag", remove),
                    Choice::advice("change-routes", "the tag is right: change the routes"),
                ],
            );
            violations.push(Violation::new(severity, region.resource(Tagged::Subnet(candidate.subnet)), message, fix));
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
        aws::fires(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, "kubernetes.io/role/elb", "1"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.subnet(aws::PUBLIC).tags, "kubernetes.io/role/elb", ""));
    }
}
