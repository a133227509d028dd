use crate::alibaba::service_tag_value;
use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{annotation, kept};

pub(super) const RULE: Rule = Rule {
    id: "ali-load-balancer-duplicate",
    title: "several load balancers carry the tag of one Service",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "Two or more load balancers of the kind that a Service requests carry `kubernetes.do.not.delete` with the value derived from its UID, in a region with nodes. Skipped are Services that name their load balancer with the annotation `…-loadbalancer-id` or are being deleted, and controllers before 2.3.0, which take the first one.",
    impact: "the controller gives up (`find multiple loadbalances by tag`): no listener and no backend of the Service is updated any more",
    fix: "Find out which of them clients use, and delete the others.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/slb/loadbalancer.go#FindLoadBalancerByTags",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/nlb/loadbalancer.go#FindNLBByTag",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/pull/287",
    ],
    example: "2 load balancers carry the tag of Service `shop/web`: lb-bp1, lb-bp2",
    reads: &[Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

/// First version that refuses to choose; 2.2.0 takes the first load balancer.
const FIRST_TO_REFUSE: ControllerVersion = ControllerVersion::new(2, 3, 0);

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let kubernetes = context.on_kubernetes();
    if kubernetes.alibaba_controller_version().is_some_and(|version| version < FIRST_TO_REFUSE) {
        return CheckResult::not_applicable("this version takes the first load balancer with the tag");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    let is_searched = |service: &&Service| annotation(service, "id").is_none() && !service.uid.is_empty();
    for service in services.iter().filter(is_searched) {
        let Some(kind) = kept(&kubernetes, service) else { continue };
        checked += 1;
        let tag = service_tag_value(&service.uid);
        // The controller searches the region of its own instance.
        for view in context.view.regions.iter().filter(|view| !view.members.is_empty()) {
            let own = view.region.load_balancers_of_services(|value| value == tag).filter(|one| one.kind == kind);
            let ids: Vec<&str> = own.map(|one| one.id.as_str()).collect();
            if ids.len() < 2 {
                continue;
            }
            let name = service.full_name();
            let message = format!(
                "{} carry the tag of Service `{}`: {}",
                text::count(ids.len(), "load balancer"),
                text::printable(&name),
                text::list(&ids, 4)
            );
            let fix = Fix::none("find out which of them clients use, and delete the others");
            let violation =
                Violation::new(Severity::Error, ResourceRef::bare(ResourceKind::Service, &name), message, fix);
            let related = ids.iter().map(|id| alibaba::resource(view, ResourceKind::LoadBalancer, id, None));
            found.push(violation.related(related));
        }
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    fn add_second(c: &mut alibaba::Cluster, uid: &str) {
        let mut second = c.load_balancer("lb-bp1web").clone();
        second.id = "lb-bp1second".to_owned();
        tag(&mut second.tags, "kubernetes.do.not.delete", uid);
        c.region().load_balancers.as_mut().unwrap().push(second);
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| add_second(c, "a2222222200004000800000000000000"));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| add_second(c, "a9999999900004000800000000000000"));
    }

    /// A network load balancer with the tag belongs to an earlier class of the Service: the controller does not list it.
    #[test]
    fn another_kind_is_not_searched() {
        alibaba::silent(&RULE, |c| {
            add_second(c, "a2222222200004000800000000000000");
            c.load_balancer("lb-bp1second").kind = crate::alibaba::LoadBalancerKind::Nlb;
        });
    }
}
