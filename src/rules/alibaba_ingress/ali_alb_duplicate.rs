use crate::alibaba::RegionView;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::by_config;

pub(super) const RULE: Rule = Rule {
    id: "ali-alb-duplicate",
    title: "several application load balancers carry the tags of one AlbConfig",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::LoadBalancer],
    condition: "Two or more application load balancers of a region carry `ack.aliyun.com` with the cluster id, `ingress.k8s.alibaba/resource`, and the same value of `ingress.k8s.alibaba/albconfig`.",
    impact: "the sync of the AlbConfig fails with `at most one loadBalancer can find by stack tag`: nothing of the AlbConfig is updated",
    fix: "Find the load balancer to which DNS records point; delete the others, or remove their tags.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/applier/alb.go#Apply"],
    example: "2 application load balancers carry the tags of AlbConfig `kube-system/alb`: alb-bp1, alb-bp2",
    reads: &[Read::AlbListLoadBalancers],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let all = by_config(view, &[context.cluster_id()]);
    if all.is_empty() {
        return CheckResult::not_applicable(
            "no application load balancer that was read carries the tags of an AlbConfig",
        );
    }
    let checked = all.values().map(Vec::len).sum();
    let found = all.into_iter().filter_map(|(config, balancers)| {
        let [first, rest @ ..] = balancers.as_slice() else { return None };
        if rest.is_empty() {
            return None;
        }
        let ids: Vec<&str> = balancers.iter().map(|one| one.id.as_str()).collect();
        let message = format!(
            "{} carry the tags of AlbConfig `{}`: {}",
            text::count(ids.len(), "application load balancer"),
            text::printable(config),
            text::list(&ids, 4)
        );
        let resource = alibaba::resource(view, ResourceKind::LoadBalancer, &first.id, first.name.as_deref());
        let fix = Fix::none("delete the one that no DNS record names, or remove its tags");
        let related = rest.iter().map(|one| ResourceRef::bare(ResourceKind::LoadBalancer, &one.id));
        Some(Violation::new(Severity::Error, resource, message, fix).related(related))
    });
    CheckResult::counted(checked, found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba::{self, Cluster, albs};

    fn with(configs: &[&str]) -> impl FnOnce(&mut Cluster) + use<> {
        let all = albs(configs);
        move |c| c.region().application_load_balancers = Some(all)
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, with(&["kube-system/alb", "kube-system/alb"]));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, with(&["kube-system/alb", "kube-system/other"]));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| c.region().application_load_balancers = None);
        alibaba::does_not_apply(&RULE, with(&[]));
    }
}
