use std::collections::{BTreeMap, BTreeSet};

use crate::aws::view::RegionView;
use crate::aws::{Subnet, Tagged};
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::{Scheme, choose_subnets};
use crate::rules::prelude::*;
use crate::tags::{self, CLUSTER_TAG_PREFIX, SHARED};

use super::{INSTANCES, LBC_SUBNETS, SUBNET, SUBNETS, TABLES, ZONES, subnets_in_reach};

pub(super) const RULE: Rule = Rule {
    id: "subnet-foreign-cluster-tag",
    title: "a subnet is tagged for other clusters only",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if a zone of the members has no other subnet for load balancers, warning if it has none for internet-facing ones and nodes live in the subnet (else `subnet-az-uncovered` reports the zone), else info",
    ),
    resources: SUBNET,
    condition: "A subnet in a VPC of the members has cluster tags, none of them this cluster's. A foreign `KubernetesCluster` tag does not count.",
    impact: "neither the cloud controller nor the AWS Load Balancer Controller uses the subnet",
    fix: "Add `kubernetes.io/cluster/<ID>=shared`: several cluster tags on a subnet are fine.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasNoClusterPrefixTag",
        LBC_SUBNETS,
        "https://github.com/kubernetes/kops/issues/3275",
    ],
    example: "1 subnet of VPC `vpc-0a` is tagged for alpha only: subnet-0a; 3 nodes of `bravo` there",
    reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let hosts = region.members_by_subnet();
    let coverage = Coverage::of(region, own);
    type Owners<'a> = (&'a str, BTreeSet<&'a str>);
    let mut groups: BTreeMap<(std::cmp::Reverse<Severity>, Owners<'_>), Vec<&Subnet>> = BTreeMap::new();
    for subnet in subnets_in_reach(region) {
        if tags::is_usable(&subnet.tags, own) {
            continue;
        }
        let near = |tag: &crate::inventory::Tag| tags::is_certain_near_miss(tag, own);
        if subnet.tags.iter().any(near) {
            continue;
        }
        let severity = coverage.severity(subnet, hosts.contains_key(subnet.id.as_str()));
        let ids = subnet.tags.iter().filter_map(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX)).collect();
        groups.entry((std::cmp::Reverse(severity), (&subnet.vpc_id, ids))).or_default().push(subnet);
    }
    let mut ranks: BTreeMap<Owners<'_>, usize> = BTreeMap::new();
    groups
        .into_iter()
        .filter_map(|((severity, owners), subnets)| {
            let rank = ranks.entry(owners.clone()).or_default();
            *rank += 1;
            let (vpc_id, ids) = owners;
            let first = subnets.first()?;
            let uncovers = severity.0 >= Severity::Warning;
            let nodes: usize = subnets.iter().filter_map(|subnet| hosts.get(subnet.id.as_str())).map(Vec::len).sum();
            let described: Vec<&str> = subnets.iter().map(|subnet| subnet.id.as_str()).collect();
            let named = match ids.iter().filter(|id| !id.is_empty()).copied().collect::<Vec<_>>().as_slice() {
                [] => "no cluster (an empty id)".to_owned(),
                ids => format!("{} only", text::list(ids, 4)),
            };
            let be = if subnets.len() == 1 { "is" } else { "are" };
            let mut message = format!(
                "{} of VPC `{vpc_id}` {be} tagged for {named}: {}",
                text::count(subnets.len(), "subnet"),
                text::list(&described, 4)
            );
            if severity.0 == Severity::Warning {
                message.push_str("; no other public subnet of their zone is left for internet-facing load balancers");
            }
            if nodes > 0 {
                message.push_str(&format!("; {} of `{}` there", text::count(nodes, "node"), text::printable(own)));
            }
            let known = region.tagged().any(|resource| tags::has_cluster_tag(resource.tags(), own));
            let fix = if uncovers && !known {
                Fix::none("check the cluster id first: nothing here is tagged for it")
            } else if uncovers {
                let ids = subnets.iter().map(|subnet| &subnet.id);
                Fix::with(
                    Applicability::Confirm,
                    format!("add `{key}={SHARED}`"),
                    region.set_tag(ResourceKind::Subnet, ids, &key, SHARED),
                )
            } else {
                Fix::none(format!(
                    "nothing unless `{}` should use these subnets: then add `{key}={SHARED}`",
                    text::printable(own)
                ))
            };
            let others = subnets.iter().skip(1).map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            let violation = Violation::new(severity.0, region.resource(Tagged::Subnet(first)), message, fix);
            Some(violation.related(others).cause(Cause::Pair(vpc_id.into(), Key::from_parts(ids))).with_rank(*rank - 1))
        })
        .collect()
}

/// Zones in which the cluster's load balancers can be placed without the tag on more subnets.
struct Coverage<'r> {
    zones_of_members: BTreeSet<&'r str>,
    /// VPC, scheme and zone. A zone with a private subnet of the cluster can hold internal load balancers, but no
    /// internet-facing ones.
    covered: BTreeSet<(&'r str, Scheme, &'r str)>,
    public: BTreeSet<&'r str>,
}

impl<'r> Coverage<'r> {
    fn of(region: &'r RegionView<'_>, own: &str) -> Self {
        let zones_of_members =
            region.members.iter().filter_map(|member| member.instance.availability_zone.as_deref()).collect();
        let mut coverage = Self { zones_of_members, covered: BTreeSet::new(), public: BTreeSet::new() };
        for vpc_id in region.member_vpcs() {
            let candidates = region.candidates(vpc_id);
            coverage.public.extend(candidates.iter().filter(|one| one.is_public).map(|one| one.subnet.id.as_str()));
            for scheme in Scheme::ALL {
                let choices = choose_subnets(&candidates, own, scheme, None);
                coverage.covered.extend(choices.iter().map(|choice| (vpc_id, scheme, choice.zone)));
            }
        }
        coverage
    }

    /// Severity of a foreign tag. Nodes live in any subnet: subnet tags only decide the placement of load balancers. Of a
    /// subnet without nodes `subnet-az-uncovered` reports the zone.
    fn severity(&self, subnet: &Subnet, has_nodes: bool) -> Severity {
        let (zone, vpc) = (subnet.availability_zone.as_str(), subnet.vpc_id.as_str());
        // A scheme that has no subnet anywhere is unused, or a separate finding.
        let has_any = |scheme: Scheme| self.covered.iter().any(|(one, other, _)| *one == vpc && *other == scheme);
        let lacks = |scheme| self.zones_of_members.contains(zone) && !self.covered.contains(&(vpc, scheme, zone));
        let is_public = self.public.contains(subnet.id.as_str());
        if lacks(Scheme::Internal) {
            Severity::Error
        } else if has_nodes && is_public && has_any(Scheme::InternetFacing) && lacks(Scheme::InternetFacing) {
            Severity::Warning
        } else {
            Severity::Info
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag, untag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let tags = &mut c.subnet(aws::PRIVATE).tags;
            untag(tags, aws::KEY);
            tag(tags, aws::OTHER_KEY, "shared");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let tags = &mut c.subnet(aws::PRIVATE).tags;
            tag(tags, aws::OTHER_KEY, "shared");
        });
    }
}
