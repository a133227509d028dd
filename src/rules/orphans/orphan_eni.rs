use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::aws::view::{Neighbour, RegionView, made_for, named_clusters};
use crate::aws::{NetworkInterface, Tagged};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, LAUNCHES_UNREAD, is_dead, left_by, one};

pub(super) const RULE: Rule = Rule {
    id: "orphan-eni",
    title: "network interfaces were left behind",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info if the cluster lives"),
    resources: &[ResourceKind::NetworkInterface],
    condition: "A network interface is `available`, and no live instance of the region is tagged for the cluster that owns it or for which the VPC CNI made it (`cluster.k8s.amazonaws.com/name`). Or the VPC CNI or Cilium made it for an instance that no longer runs, and it is tagged for the cluster, or has no tag that names another cluster and a security group of its nodes, or is in a VPC in which no other cluster is known. The interfaces of a deleted Network Load Balancer disappear by themselves within an hour; so do those of the VPC CNI while it runs with its rights, unless `DISABLE_LEAKED_ENI_CLEANUP` is set: younger ones are skipped if the cluster lives.",
    impact: "it holds addresses and blocks the deletion of its subnet and security groups",
    fix: "Delete the network interface.",
    sources: &[
        "https://github.com/aws/amazon-vpc-cni-k8s/issues/69",
        "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/6067",
        "aws/amazon-vpc-cni-k8s pkg/awsutils/awsutils.go#getLeakedENIs",
    ],
    example: "3 available network interfaces are left by `bravo`, which has no live instance here; they keep subnet-0a and sg-0a from being deleted",
    reads: &[INSTANCES, Read::DescribeNetworkInterfaces],
    subjects: Subjects::Region,
    reports_leftovers: true,
    ..Rule::region(check)
};

/// Tag of the VPC CNI with the time at which it created an interface (RFC 3339).
/// Source: aws/amazon-vpc-cni-k8s `pkg/awsutils/awsutils.go#eniCreatedAtTagKey`.
const CREATED: &str = "node.k8s.amazonaws.com/createdAt";

/// Interval at which the VPC CNI deletes the interfaces of instances that do not exist.
/// Source: aws/amazon-vpc-cni-k8s `pkg/awsutils/awsutils.go#New`.
const CLEANED_EVERY: SignedDuration = SignedDuration::from_hours(1);

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let Some(is_dead) = is_dead(context, region) else { return CheckResult::not_applicable(LAUNCHES_UNREAD) };
    let own = context.cluster_id();
    let free = region.network_interfaces().iter();
    let free = free.filter(|interface| interface.status == "available" && interface.managed_by.is_none());
    let is_tagged = |interface: &NetworkInterface| {
        tags::has_cluster_tag_owned(&interface.tags, own)
            || tags::value(&interface.tags, "cluster.k8s.amazonaws.com/name") == Some(own)
    };
    let left: Vec<&NetworkInterface> = free
        .filter(|interface| {
            let is_own = is_tagged(interface) || is_of_cluster(context, region, interface);
            let is_without_instance = made_for(interface).is_some_and(|id| !runs(region, id));
            if is_dead {
                is_tagged(interface) || is_own && is_without_instance
            } else {
                is_own && is_without_instance && !is_young(context, interface)
            }
        })
        .collect();
    let found: Vec<Tagged<'_>> = left.iter().copied().map(Tagged::NetworkInterface).collect();
    let blocked = blocked(&left);
    if is_dead {
        let message = left_by(context, found.len(), "available network interface", "left");
        let fix = "delete them; those of a Network Load Balancer disappear by themselves within an hour";
        return one(region, &found, Severity::Warning, format!("{message}{blocked}"), fix);
    }
    let instances: BTreeSet<&str> = left.iter().filter_map(|interface| made_for(interface)).collect();
    let instances: Vec<&str> = instances.into_iter().collect();
    let message = format!(
        "{} of instances that do not exist ({}) {} left{blocked}",
        text::count(found.len(), "available network interface"),
        text::printable(&text::list(&instances, 6)),
        if found.len() == 1 { "is" } else { "are" }
    );
    let fix = "delete them; the VPC CNI does so every hour with the rights `ec2:DescribeNetworkInterfaces` and `ec2:DeleteNetworkInterface`";
    one(region, &found, Severity::Info, message, fix)
}

/// True if an interface that names no other cluster has a security group of the nodes, or one that the cluster owns, or if
/// nodes of this cluster alone are in its VPC.
fn is_of_cluster(context: &Context<'_>, region: &RegionView<'_>, interface: &NetworkInterface) -> bool {
    let is_owned = |id: &String| {
        let group = region.region.security_groups.iter().find(|group| group.id == *id);
        group.is_some_and(|group| tags::has_cluster_tag_owned(&group.tags, context.cluster_id()))
    };
    let is_alone = || {
        let vpc = interface.vpc_id.as_deref();
        let has_nodes = region.members.iter().any(|member| member.instance.vpc_id.as_deref() == vpc);
        vpc.is_some_and(|vpc| has_nodes && !region.neighbours(vpc).any(|(one, _)| matches!(one, Neighbour::Cluster(_))))
    };
    named_clusters(&interface.tags).iter().all(|name| *name == context.cluster_id())
        && (interface.security_groups.iter().any(|id| region.member_groups().contains(id.as_str()) || is_owned(id))
            || is_alone())
}

fn runs(region: &RegionView<'_>, id: &str) -> bool {
    region.region.instance(id).is_some_and(|instance| instance.state.is_live())
}

/// True if the VPC CNI had no time to delete an interface.
fn is_young(context: &Context<'_>, interface: &NetworkInterface) -> bool {
    let created = tags::value(&interface.tags, CREATED).and_then(|time| time.parse::<Timestamp>().ok());
    let now = context.view.inventory.collected_at.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
    // Without the time of the reading it is not known.
    created.is_some_and(|created| now.is_none_or(|now| now.duration_since(created) < CLEANED_EVERY))
}

/// The subnets and groups that interfaces keep from being deleted, as the end of a sentence.
fn blocked(left: &[&NetworkInterface]) -> String {
    let subnets: BTreeSet<&str> = left.iter().filter_map(|interface| interface.subnet_id.as_deref()).collect();
    let groups: BTreeSet<&str> = left.iter().flat_map(|one| one.security_groups.iter().map(String::as_str)).collect();
    let all: Vec<&str> = subnets.into_iter().chain(groups).collect();
    match all.as_slice() {
        [] => String::new(),
        all => {
            let keeps = if left.len() == 1 { "it keeps" } else { "they keep" };
            format!("; {keeps} {} from being deleted", text::printable(&text::list(all, 6)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::finding::Severity;
    use crate::testing::aws::{self, PRIVATE, TAGGED_GROUP, WORKER};
    use crate::testing::tag;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let interface = c.interface("eni-0left", "available", "aws-K8S-i-0gone");
            tag(&mut interface.tags, "cluster.k8s.amazonaws.com/name", aws::ID);
            c.terminate();
        });
    }

    /// An interface that the VPC CNI made, without the name of a cluster.
    fn of_instance(c: &mut aws::Cluster, instance: &str, group: &str) {
        let interface = c.interface("eni-0left", "available", &format!("aws-K8S-{instance}"));
        tag(&mut interface.tags, "node.k8s.amazonaws.com/instance_id", instance);
        interface.security_groups = vec![group.to_owned()];
    }

    #[test]
    fn interfaces_of_instances_that_are_gone() {
        let (found, _) = aws::changed(&RULE, |c| of_instance(c, "i-0gone", TAGGED_GROUP));
        assert_eq!(found[0].severity, Severity::Info);
        assert_eq!(
            found[0].message,
            format!(
                "1 available network interface of instances that do not exist (i-0gone) is left; it keeps {PRIVATE}, {TAGGED_GROUP} from being deleted"
            )
        );
        // No other cluster is known in the VPC.
        aws::fires(&RULE, |c| of_instance(c, "i-0gone", "sg-0ssh"));
        // The cluster is gone too, and its group is left.
        aws::fires(&RULE, |c| {
            of_instance(c, "i-0gone", TAGGED_GROUP);
            c.terminate();
        });
    }

    #[test]
    fn silent() {
        // Its instance runs.
        aws::silent(&RULE, |c| of_instance(c, WORKER, TAGGED_GROUP));
        // Of another cluster in the same VPC.
        aws::silent(&RULE, |c| {
            c.add_other_instance();
            of_instance(c, "i-0gone", "sg-0other");
        });
        aws::silent(&RULE, |c| {
            of_instance(c, "i-0gone", TAGGED_GROUP);
            tag(&mut c.region().network_interfaces.last_mut().unwrap().tags, "cluster.k8s.amazonaws.com/name", "other");
        });
        // The VPC CNI deletes it soon.
        aws::silent(&RULE, |c| {
            of_instance(c, "i-0gone", TAGGED_GROUP);
            let interface = c.region().network_interfaces.last_mut().unwrap();
            tag(&mut interface.tags, "node.k8s.amazonaws.com/createdAt", "2026-11-20T23:30:00Z");
            c.inventory.collected_at = Some("2026-11-21T00:00:00Z".to_owned());
        });
    }
}
