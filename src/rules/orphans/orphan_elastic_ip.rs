use crate::aws::view::RegionView;
use crate::finding::Cause;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, LAUNCHES_UNREAD, is_dead, left_by};

pub(super) const RULE: Rule = Rule {
    id: "orphan-elastic-ip",
    title: "an Elastic IP address of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ElasticIp],
    condition: "An Elastic IP address is associated with nothing, owned by the cluster, and no live instance of the region is tagged for it. The rule does not apply if an Auto Scaling group may launch nodes of the cluster.",
    impact: "nothing uses it, and it is billed until it is released; a region has five by default",
    fix: "Make sure that no DNS record and no allowlist names it, then release it.",
    sources: &[
        "kubernetes/kops upup/pkg/fi/cloudup/awstasks/elastic_ip.go",
        "Amazon EC2 API Reference, Address: `AssociationId`",
        "Amazon VPC pricing, Public IPv4 addresses",
    ],
    example: "2 Elastic IP addresses are owned by `bravo`, which has no live instance here",
    reads: &[INSTANCES, Read::DescribeAddresses],
    subjects: Subjects::Region,
    reports_leftovers: true,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let Some(addresses) = &region.region.elastic_ips else {
        return CheckResult::not_applicable("the Elastic IP addresses were not read");
    };
    let checked = addresses.len();
    match is_dead(context, region) {
        Some(true) => {}
        Some(false) => return CheckResult::counted(checked, []),
        None => return CheckResult::not_applicable(LAUNCHES_UNREAD),
    }
    let is_idle = |one: &&crate::aws::ElasticIp| one.association_id.is_none() && one.network_interface_id.is_none();
    let mut left = addresses
        .iter()
        .filter(is_idle)
        .filter(|one| tags::has_cluster_tag_owned(&one.tags, context.cluster_id()))
        .map(|one| region.bare(ResourceKind::ElasticIp, &one.id));
    let Some(first) = left.next() else { return CheckResult::counted(checked, []) };
    let others: Vec<ResourceRef> = left.collect();
    let message = left_by(context, others.len() + 1, "Elastic IP address", "owned");
    let fix = Fix::none(
        "check that no Auto Scaling group brings the cluster back and that nothing names them, then release them",
    );
    let violation = Violation::new(Severity::Warning, first, message, fix).related(others);
    CheckResult::counted(checked, [violation.cause(Cause::Group(ResourceKind::ElasticIp.name().into()))])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::ElasticIp;
    use crate::testing::{aws, tag};

    /// Adds an idle address that the cluster owns.
    fn own(c: &mut aws::Cluster) -> &mut ElasticIp {
        let mut one =
            ElasticIp { id: "eipalloc-0a".to_owned(), public_ip: "203.0.113.7".to_owned(), ..ElasticIp::default() };
        tag(&mut one.tags, aws::KEY, "owned");
        let addresses = c.region().elastic_ips.get_or_insert_default();
        addresses.push(one);
        addresses.last_mut().unwrap()
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            own(c);
            c.terminate();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| drop(own(c).id.clone()));
        aws::silent(&RULE, |c| {
            own(c).association_id = Some("eipassoc-0a".to_owned());
            c.terminate();
        });
    }

    #[test]
    fn one_that_clusters_share_is_not_left_behind() {
        aws::silent(&RULE, |c| {
            own(c).tags[0].value = "shared".to_owned();
            c.terminate();
        });
    }

    #[test]
    fn does_not_apply() {
        aws::does_not_apply(&RULE, |c| {
            c.region().elastic_ips = None;
            c.terminate();
        });
    }
}
