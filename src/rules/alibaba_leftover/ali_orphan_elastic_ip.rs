use crate::alibaba::RegionView;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{is_of, lives, one};

pub(super) const RULE: Rule = Rule {
    id: "ali-orphan-elastic-ip",
    title: "an Elastic IP address of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ElasticIp],
    condition: "An Elastic IP address is `Available`, carries `ack.aliyun.com` with the cluster id or the tag of an installer, and the region has no node of the cluster and no running instance without the tag of a cluster. The rule does not apply if the state of the cluster in Kubernetes is given, or if the addresses were not read.",
    impact: "nothing uses it, and it is billed until it is released",
    fix: "Make sure that no DNS record and no allowlist names it, then release it.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/model/tag/tags.go",
        "https://github.com/openshift/installer/blob/55b897f28634ece17e1a761dd3cff79b1ad903aa/data/data/alibabacloud/cluster/vpc/eip.tf",
        r#"Elastic IP Address documentation, "Billing overview""#,
    ],
    example: "2 Elastic IP addresses are left by `bravo`, which has no instance in cn-hangzhou",
    reads: &[Read::EcsDescribeInstances, Read::DescribeEipAddresses],
    reports_leftovers: true,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

/// Status of an address that is associated with nothing. Source: VPC API reference, `DescribeEipAddresses`.
const UNUSED: &str = "Available";

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if let Some(why) = lives(context, view) {
        return CheckResult::not_applicable(why);
    }
    let Some(addresses) = &view.region.elastic_ips else {
        return CheckResult::not_applicable("the Elastic IP addresses were not read: a recording holds them");
    };
    let unused = addresses.iter().filter(|one| one.status == UNUSED && one.instance_id.is_none());
    let left: Vec<_> = unused
        .filter(|one| is_of(&one.tags, context.cluster_id()))
        .map(|one| (one.id.as_str(), one.address.as_deref().or(one.name.as_deref())))
        .collect();
    let fix = "check that no scaling group brings the cluster back and that nothing names them, then release them";
    let noun = ("Elastic IP address", fix.to_owned());
    one(context, view, (ResourceKind::ElasticIp, addresses.len()), &left, noun)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::alibaba::ElasticIp;
    use crate::testing::{alibaba, tag};

    fn left(c: &mut alibaba::Cluster) -> &mut ElasticIp {
        c.without_instances();
        let addresses = c.region().elastic_ips.get_or_insert_default();
        addresses.push(ElasticIp {
            id: "eip-bp1left".to_owned(),
            address: Some("203.0.113.7".to_owned()),
            status: "Available".to_owned(),
            ..ElasticIp::default()
        });
        let one = addresses.last_mut().unwrap();
        tag(&mut one.tags, alibaba::KEY, "prod");
        one
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            left(c);
        });
        // OpenShift and Gardener tag by the name of the cluster.
        alibaba::fires(&RULE, |c| {
            let one = left(c);
            one.tags.clear();
            tag(&mut one.tags, "kubernetes.io/cluster/prod", "owned");
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            let one = left(c);
            "InUse".clone_into(&mut one.status);
            one.instance_id = Some("ngw-bp1".to_owned());
        });
        alibaba::silent(&RULE, |c| tag(&mut left(c).tags, alibaba::KEY, "staging"));
        alibaba::silent(&RULE, |c| tag(&mut left(c).tags, alibaba::KEY, ""));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| {
            c.without_instances();
            c.region().elastic_ips = None;
        });
        alibaba::does_not_apply(&RULE, |c| c.region().elastic_ips = Some(Vec::new()));
    }
}
