use crate::aws::view::RegionView;
use crate::aws::{Subnet, Tagged};
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::Scheme;
use crate::rules::prelude::*;
use crate::tags;

use super::{CCM_SUBNETS, INSTANCES, Offer, SUBNET, SUBNETS, TABLES, ZONES};

pub(super) const RULE: Rule = Rule {
    id: "subnet-az-ambiguous",
    title: "two equal subnets in one zone",
    severity: RuleSeverity::always(Severity::Warning),
    resources: SUBNET,
    condition: "Two or more subnets of a zone are equally good for a scheme: all or none have the role tag, and likewise the cluster tag. The controller chooses the smallest id and logs a warning.",
    impact: "only the subnet ids decide which subnet a load balancer is placed in",
    fix: "Tag the intended subnet with the scheme's role tag; if no subnet of the VPC has it yet, tag the intended subnets of all zones together.",
    applicability: Applicability::Choice,
    sources: &[CCM_SUBNETS, "kubernetes-sigs/aws-load-balancer-controller docs/deploy/subnet_discovery.md"],
    example: "subnet-0a wins over subnet-0b for internet-facing load balancers in us-east-1a by its id alone",
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
            for choice in offer.choose(own, scheme).into_iter().filter(|choice| !choice.equals.is_empty()) {
                let losers: Vec<&str> = choice.equals.iter().map(|subnet| subnet.id.as_str()).collect();
                let message = format!(
                    "{} wins over {} for {} load balancers in {} by its id alone",
                    choice.chosen.id,
                    text::list(&losers, 4),
                    scheme.name(),
                    choice.zone
                );
                let all = std::iter::once(choice.chosen).chain(choice.equals.iter().copied());
                let all: Vec<&Subnet> = all.collect();
                let key = scheme.role_tag();
                // The first role tag of a scheme makes the AWS Load Balancer Controller use only tagged subnets, and an
                // Application Load Balancer needs two zones: then the winners of all zones are tagged together.
                let is_first = offer.candidates.iter().all(|c| tags::value(&c.subnet.tags, key).is_none());
                let winners: Vec<String> = offer
                    .choose(own, scheme)
                    .iter()
                    .filter(|other| other.zone != choice.zone)
                    .map(|other| other.chosen.id.clone())
                    .collect();
                let choices = all.iter().map(|subnet| {
                    let mut changes = Vec::new();
                    if is_first && !winners.is_empty() {
                        let mut together = winners.clone();
                        together.push(subnet.id.clone());
                        together.sort();
                        changes.extend(region.set_tag(ResourceKind::Subnet, &together, key, "1"));
                        let summary = format!(
                            "{} and the subnets that win the other zones ({}) carry `{key}=1`: with the tag in only one zone, the AWS Load Balancer Controller would use no other zone",
                            subnet.id,
                            text::list(&winners, 4)
                        );
                        return Choice::with(format!("{}:{}", scheme.name(), subnet.id), summary, changes);
                    }
                    if tags::value(&subnet.tags, key).is_none() {
                        changes.extend(region.set_tag(ResourceKind::Subnet, [&subnet.id], key, "1"));
                    }
                    // If all of them have the tag, it distinguishes them only when the others lose it.
                    for other in all.iter().filter(|other| other.id != subnet.id) {
                        let tag = other.tags.iter().find(|tag| tag.key == key);
                        let tag = tag.into_iter();
                        changes.extend(tag.flat_map(|tag| region.remove_tag(ResourceKind::Subnet, [&other.id], tag)));
                    }
                    let summary = format!("{} alone carries `{key}=1`", subnet.id);
                    Choice::with(format!("{}:{}", scheme.name(), subnet.id), summary, changes)
                });
                let fix =
                    Fix::choose(format!("tag the intended subnet with `{}=1`", scheme.role_tag()), choices.collect());
                let others = choice.equals.iter().map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
                violations.push(
                    Violation::new(Severity::Warning, region.resource(Tagged::Subnet(choice.chosen)), message, fix)
                        .related(others)
                        .cause(Cause::Pair(offer.vpc_id.into(), Key::from_parts([choice.zone, scheme.name()]))),
                );
            }
        }
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, untag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let mut second = c.subnet(aws::PRIVATE).clone();
            second.id = "subnet-privz".to_owned();
            c.region().subnets.push(second);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let mut second = c.subnet(aws::PRIVATE).clone();
            second.id = "subnet-privz".to_owned();
            untag(&mut second.tags, "kubernetes.io/role/internal-elb");
            c.region().subnets.push(second);
        });
    }
}
