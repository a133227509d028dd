use crate::alibaba::RegionView;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{blocked, is_of, lives, one};

pub(super) const RULE: Rule = Rule {
    id: "ali-orphan-network-interface",
    title: "a network interface of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::NetworkInterface],
    condition: "A secondary network interface is `Available`, carries `ack.aliyun.com` with the cluster id (as Terway tags its interfaces) or the tag of an installer, and the region has no node of the cluster and no running instance without the tag of a cluster. The rule does not apply if the state of the cluster in Kubernetes is given. Scaling groups are not read.",
    impact: "it holds an address, and blocks the deletion of its vSwitch and its security groups",
    fix: "Delete the network interface.",
    sources: &[
        "AliyunContainerService/terway types/aliyun.go#TagKeyClusterID",
        "https://www.alibabacloud.com/help/en/vpc/user-guide/create-and-manage-a-vswitch",
    ],
    example: "3 network interfaces are left by `bravo`, which has no instance in cn-hangzhou",
    reads: &[Read::EcsDescribeInstances, Read::EcsDescribeNetworkInterfaces],
    reports_leftovers: true,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if let Some(why) = lives(context, view) {
        return CheckResult::not_applicable(why);
    }
    let interfaces: Vec<_> = view
        .region
        .network_interfaces
        .iter()
        .filter(|one| one.status.as_deref() == Some("Available") && one.interface_type.as_deref() == Some("Secondary"))
        .filter(|one| is_of(&one.tags, context.cluster_id()))
        .collect();
    let left: Vec<_> = interfaces.iter().map(|one| (one.id.as_str(), None)).collect();
    let fix = format!("delete them{}", blocked(&interfaces));
    one(
        context,
        view,
        (ResourceKind::NetworkInterface, view.region.network_interfaces.len()),
        &left,
        ("network interface", fix),
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    fn left(c: &mut alibaba::Cluster) {
        c.region().network_interfaces.push(crate::alibaba::NetworkInterface {
            id: "eni-bp1left".to_owned(),
            interface_type: Some("Secondary".to_owned()),
            status: Some("Available".to_owned()),
            vswitch_id: Some("vsw-bp1".to_owned()),
            security_groups: vec!["sg-bp1".to_owned()],
            ..Default::default()
        });
        tag(&mut c.region().network_interfaces.last_mut().unwrap().tags, alibaba::KEY, "prod");
    }

    #[test]
    fn fires() {
        let (findings, _) = alibaba::changed(&RULE, |c| {
            left(c);
            c.without_instances();
        });
        let [only] = findings.as_slice() else { panic!("one finding: {findings:?}") };
        assert!(only.fix.summary.ends_with("they block the deletion of vsw-bp1, sg-bp1"), "{}", only.fix.summary);
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            left(c);
            c.without_instances();
            c.region().network_interfaces.last_mut().unwrap().status = Some("InUse".to_owned());
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, left);
    }
}
