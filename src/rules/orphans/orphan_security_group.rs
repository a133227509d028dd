use std::collections::BTreeSet;

use crate::aws::interface_holder::holder;
use crate::aws::view::RegionView;
use crate::aws::{SecurityGroup, Tagged, leftovers};
use crate::rules::aws::Context;
use crate::rules::instance_tags::is_load_balancer_group;
use crate::rules::load_balancers::{
    self, NAME_MAY_BE_USED, OBJECTS_UNKNOWN, has_instances, knows_objects, leaves_to_code,
};
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, is_dead, serves_an_object};

pub(super) const RULE: Rule = Rule {
    id: "orphan-security-group",
    title: "a load balancer's security group was left behind",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info for a group that something still uses"),
    resources: &[ResourceKind::SecurityGroup],
    condition: "A group that the cloud controller or the AWS Load Balancer Controller (`elbv2.k8s.aws/cluster=<ID>`) created for a load balancer is owned by the cluster and is on no network interface. If no live instance of the region is tagged for the cluster, any group that the cluster owns is reported, one that is on network interfaces with what they belong to.",
    impact: "it counts against the security group quota and blocks the deletion of the VPC, and rules that refer to it stay in the nodes' group",
    fix: "Revoke the rules that refer to it, then delete the group (`--fix-leftovers`, if a controller created it).",
    applicability: Applicability::Choice,
    sources: &[
        "https://github.com/kubernetes/kubernetes/issues/79994",
        "https://github.com/kubernetes/kubernetes/issues/84366",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4526",
        "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/tracking/provider.go",
    ],
    example: "security group `sg-0a` (k8s-elb-a1b2) was created for a load balancer and is on no network interface",
    reads: &[INSTANCES, Read::DescribeSecurityGroups, Read::DescribeNetworkInterfaces],
    subjects: Subjects::Region,
    reports_leftovers: true,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let dead = is_dead(context, region) == Some(true);
    let used = region.groups_in_use();
    let groups = region.region.security_groups.iter().filter(|group| !serves_an_object(context.kubernetes, group));
    groups
        .filter_map(|group| {
            let owned = tags::has_cluster_tag_owned(&group.tags, own);
            if used.contains(group.id.as_str()) {
                return (dead && owned).then(|| held(context, region, group)).flatten();
            }
            let of_controller = is_load_balancer_group(&group.name, &group.description);
            // The name alone may be that of a cluster in another VPC.
            let of_other = tags::value(&group.tags, tags::LBC_CLUSTER_TAG) == Some(own)
                && !context.view.is_elsewhere(group.vpc_id.as_deref());
            (of_other || (owned && (of_controller || dead))).then(|| unused(context, region, group))
        })
        .collect()
}

/// A group of a cluster without instances that network interfaces of others still have.
fn held(context: &Context<'_>, region: &RegionView<'_>, group: &SecurityGroup) -> Option<Violation> {
    let interfaces = region.network_interfaces().iter().filter(|one| one.security_groups.contains(&group.id));
    let holders: BTreeSet<String> = interfaces.map(holder).collect();
    let holders: Vec<String> = holders.into_iter().collect();
    let message = format!(
        "security group `{}` ({}) is owned by `{}`, which has no live instance here, and still belongs to {}",
        group.id,
        text::printable(&group.name),
        text::printable(context.cluster_id()),
        text::printable(&text::list(&holders, 6))
    );
    let fix = Fix::none("delete what uses it first, or give that another group");
    let violation = Violation::new(Severity::Info, region.resource(Tagged::SecurityGroup(group)), message, fix);
    (!holders.is_empty()).then_some(violation)
}

/// A group that is on no network interface.
fn unused(context: &Context<'_>, region: &RegionView<'_>, group: &SecurityGroup) -> Violation {
    let others = region.region.security_groups.iter().filter(|other| other.id != group.id);
    let referring: Vec<&str> = others
        .filter(|other| other.ingress.iter().any(|p| p.groups.iter().any(|source| source.source == group.id)))
        .map(|other| other.id.as_str())
        .collect();
    let of_load_balancer = is_load_balancer_group(&group.name, &group.description)
        || tags::value(&group.tags, tags::LBC_CLUSTER_TAG).is_some();
    let what = if of_load_balancer {
        "was created for a load balancer".to_owned()
    } else {
        format!("is owned by `{}`, which has no live instance here,", text::printable(context.cluster_id()))
    };
    let mut message = format!(
        "security group `{}` ({}) {what} and is on no network interface",
        group.id,
        text::printable(&group.name)
    );
    if !referring.is_empty() {
        message.push_str(&format!("; rules of {} refer to it", text::list(&referring, 3)));
    }
    let fix = fix(context, region, group);
    Violation::new(Severity::Warning, region.resource(Tagged::SecurityGroup(group)), message, fix)
        .related(referring.iter().map(|id| region.bare(ResourceKind::SecurityGroup, id)))
}

const BY_HAND: &str = "check that its Service is deleted, revoke the rules that refer to it, then delete the group";

/// The question if a group is to be deleted with the rules that name it. A group that no controller created may be in a
/// template that a later launch uses.
fn fix(context: &Context<'_>, region: &RegionView<'_>, group: &SecurityGroup) -> Fix {
    let names = context.existing.names(context.cluster_id());
    let is_by_name = tags::value(&group.tags, tags::LBC_CLUSTER_TAG).is_some();
    let is_of_controller = is_by_name || is_load_balancer_group(&group.name, &group.description);
    if !is_of_controller {
        return Fix::none("revoke the rules that refer to it, then delete the group");
    }
    if let Some(tool) = leaves_to_code(Some(&group.tags)) {
        return Fix::none(format!("{BY_HAND}; {tool} manages it: delete it there"));
    }
    if context.view.is_elsewhere(group.vpc_id.as_deref()) {
        return Fix::none(format!(
            "{BY_HAND}; no node of the cluster is in its VPC, and `--fix-leftovers` does not offer it"
        ));
    }
    let is_empty = load_balancers::is_dead(context);
    if !is_empty && !knows_objects(context) {
        return Fix::none(format!("{BY_HAND}; {OBJECTS_UNKNOWN}"));
    }
    if is_empty && is_by_name && has_instances(region, group.vpc_id.as_deref()) {
        return Fix::none(format!("{BY_HAND}; {NAME_MAY_BE_USED}"));
    }
    let is_own = |other: &SecurityGroup| leaves_to_code(Some(&other.tags)).is_none();
    match leftovers::group_deletion(region.region, group, names, is_own) {
        Err(why) => Fix::none(format!("{BY_HAND}; `--fix-leftovers` does not offer it: {why}")),
        Ok(changes) => {
            let rules = changes.len().saturating_sub(1);
            let with = if rules == 0 {
                String::new()
            } else {
                format!(" with {}", text::count(rules, "rule of other groups"))
            };
            Fix::choose(BY_HAND, vec![Choice::with("delete", format!("delete it{with}"), changes)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let group = c.add_group("sg-0elb");
            group.name = "k8s-elb-a1b2c3".to_owned();
            tag(&mut group.tags, aws::KEY, "owned");
        });
    }

    #[test]
    fn a_group_that_something_else_uses() {
        let use_group = |c: &mut aws::Cluster| {
            tag(&mut c.add_group("sg-0data").tags, aws::KEY, "owned");
            c.interface("eni-0rds", "in-use", "RDSNetworkInterface").security_groups = vec!["sg-0data".to_owned()];
        };
        let found = aws::messages(&RULE, |c| {
            use_group(c);
            c.terminate();
        });
        assert!(found.iter().any(|one| one.ends_with("and still belongs to an RDS instance")), "{found:?}");
        aws::silent(&RULE, use_group);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let group = c.add_group("sg-0elb");
            group.name = "k8s-elb-a1b2c3".to_owned();
            tag(&mut group.tags, aws::KEY, "shared");
        });
    }
}
