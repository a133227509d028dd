use crate::alibaba::{CLUSTER_TAG, INGRESS_TAG, RegionView, SERVICE_TAG};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags::{self, Tag};

use super::{block, lives, one};

pub(super) const RULE: Rule = Rule {
    id: "ali-orphan-load-balancer",
    title: "a load balancer of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::LoadBalancer],
    condition: "A load balancer that a controller created (`kubernetes.do.not.delete` on classic and network ones, `ingress.k8s.alibaba/resource` on application ones) carries `ack.aliyun.com` with the cluster id, and the region has no node of the cluster and no running instance without the tag of a cluster. The rule does not apply if the state of the cluster in Kubernetes is given. With Services, `ali-load-balancer-leftover` decides.",
    impact: "it costs money, counts against quotas, and no controller ever deletes it",
    fix: "Make sure that no DNS record leads to it, and delete it.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/annotation/annotations.go#GetDefaultTags",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/tracking/tracking.go#ResourceTags",
        r#"VPC documentation, "Delete a VPC""#,
    ],
    example: "2 load balancers are left by `bravo`, which has no instance in cn-hangzhou",
    reads: &[
        Read::EcsDescribeInstances,
        Read::SlbDescribeLoadBalancers,
        Read::NlbListLoadBalancers,
        Read::AlbListLoadBalancers,
    ],
    reports_leftovers: true,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if let Some(why) = lives(context, view) {
        return CheckResult::not_applicable(why);
    }
    let (of_services, of_ingresses) = (&view.region.load_balancers, &view.region.application_load_balancers);
    if of_services.is_none() && of_ingresses.is_none() {
        return CheckResult::not_applicable("the load balancers were not read: a recording holds them");
    }
    // Recordings of earlier versions lack those of Ingresses.
    let balancers = of_services.as_deref().unwrap_or_default();
    let of_ingresses = of_ingresses.as_deref().unwrap_or_default();
    let is_left = |held: &[Tag], made: &str| {
        tags::value(held, CLUSTER_TAG) == Some(context.cluster_id()) && tags::value(held, made).is_some()
    };
    let services = || balancers.iter().filter(|one| is_left(&one.tags, SERVICE_TAG));
    let ingresses = || of_ingresses.iter().filter(|one| is_left(&one.tags, INGRESS_TAG));
    let left: Vec<_> = services()
        .map(|one| (one.id.as_str(), one.name.as_deref()))
        .chain(ingresses().map(|one| (one.id.as_str(), one.name.as_deref())))
        .collect();
    let vpcs = services().filter_map(|one| one.vpc_id.as_deref());
    let vpcs = vpcs.chain(ingresses().filter_map(|one| one.vpc_id.as_deref()));
    let groups = services().flat_map(|one| one.security_groups.iter().flatten()).map(String::as_str);
    let fix = format!(
        "check that no scaling group brings the cluster back and that no name leads to them, then delete them{}",
        block(vpcs, groups)
    );
    one(
        context,
        view,
        (ResourceKind::LoadBalancer, balancers.len() + of_ingresses.len()),
        &left,
        ("load balancer", fix),
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::alibaba::{ApplicationLoadBalancer, LoadBalancerKind};
    use crate::testing::{alibaba, tag};

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.without_instances();
        });
    }

    #[test]
    fn what_it_blocks_is_stated() {
        let (found, _) = alibaba::changed(&RULE, |c| {
            c.without_instances();
            let one = c.load_balancer("lb-bp1web");
            (one.kind, one.security_groups) = (LoadBalancerKind::Nlb, Some(vec!["sg-bp1lb".to_owned()]));
        });
        assert!(
            found[0].fix.summary.ends_with("; they block the deletion of vpc-bp1, sg-bp1lb"),
            "{}",
            found[0].fix.summary
        );
    }

    #[test]
    fn one_of_an_ingress_is_left_as_well() {
        let with = |c: &mut alibaba::Cluster, id: &str| {
            c.without_instances();
            c.load_balancer("lb-bp1web").tags.clear();
            let mut one = ApplicationLoadBalancer { id: "alb-bp1left".to_owned(), ..Default::default() };
            tag(&mut one.tags, alibaba::KEY, id);
            tag(&mut one.tags, "ingress.k8s.alibaba/resource", "ApplicationLoadBalancer");
            c.region().application_load_balancers = Some(vec![one]);
        };
        alibaba::fires(&RULE, |c| with(c, "prod"));
        // Those of Services were not given.
        alibaba::fires(&RULE, |c| {
            with(c, "prod");
            c.region().load_balancers = None;
        });
        alibaba::silent(&RULE, |c| with(c, "staging"));
        // One that its user made, and put into the cluster with a tag alone.
        alibaba::silent(&RULE, |c| {
            with(c, "prod");
            let one = c.region().application_load_balancers.as_mut().unwrap().first_mut().unwrap();
            one.tags.retain(|tag| tag.key == alibaba::KEY);
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.without_instances();
            c.load_balancer("lb-bp1web").tags.clear();
            c.region().application_load_balancers = None;
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| c.objects.clear());
        alibaba::does_not_apply(&RULE, |c| {
            c.without_instances();
            c.region().load_balancers = None;
            c.region().application_load_balancers = None;
        });
        // Its nodes are in another account.
        alibaba::does_not_apply(&RULE, |c| {
            let mut other = c.account().clone();
            other.account_id = "6543210987654321".to_owned();
            c.without_instances();
            c.inventory.accounts.push(other);
        });
        // Its instances carry no tag, or its API server answers.
        alibaba::does_not_apply(&RULE, |c| {
            c.objects.clear();
            c.region().instances.iter_mut().for_each(|one| one.tags.clear());
        });
        alibaba::does_not_apply(&RULE, |c| {
            c.without_nodes();
            c.region().instances.clear();
        });
    }
}
