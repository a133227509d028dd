use crate::alibaba::RegionView;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{is_of, lives, one};

pub(super) const RULE: Rule = Rule {
    id: "ali-orphan-security-group",
    title: "a security group of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::SecurityGroup],
    condition: "A security group carries `ack.aliyun.com` with the cluster id or the tag of an installer, no instance and no network interface has it, and the region has no node of the cluster and no running instance without the tag of a cluster. The rule does not apply if the state of the cluster in Kubernetes is given. Groups that a service of Alibaba Cloud manages are skipped.",
    impact: "it counts against the quota of security groups, and blocks the deletion of its VPC",
    fix: "Delete the security group.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/annotation/annotations.go#GetDefaultTags",
        "https://www.alibabacloud.com/help/en/ecs/user-guide/manage-security-groups",
    ],
    example: "1 security group is left by `bravo`, which has no instance in cn-hangzhou",
    reads: &[Read::EcsDescribeInstances, Read::EcsDescribeSecurityGroups, Read::EcsDescribeNetworkInterfaces],
    reports_leftovers: true,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if let Some(why) = lives(context, view) {
        return CheckResult::not_applicable(why);
    }
    let region = view.region;
    let is_used = |id: &String| {
        region.instances.iter().any(|one| one.security_groups.contains(id))
            || region.network_interfaces.iter().any(|one| one.security_groups.contains(id))
    };
    let groups = region.security_groups.iter().filter(|group| !group.is_service_managed && !is_used(&group.id));
    let left: Vec<_> = groups
        .filter(|group| is_of(&group.tags, context.cluster_id()))
        .map(|group| (group.id.as_str(), group.name.as_deref()))
        .collect();
    let fix = "check that no scaling group uses them, then delete them".to_owned();
    one(context, view, (ResourceKind::SecurityGroup, region.security_groups.len()), &left, ("security group", fix))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    fn left(c: &mut alibaba::Cluster) {
        let mut group = c.region().security_groups.first().unwrap().clone();
        group.id = "sg-bp1left".to_owned();
        tag(&mut group.tags, alibaba::KEY, "prod");
        c.region().security_groups.push(group);
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            left(c);
            c.without_instances();
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            left(c);
            c.without_instances();
            c.add_interface().security_groups.push("sg-bp1left".to_owned());
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, left);
    }
}
