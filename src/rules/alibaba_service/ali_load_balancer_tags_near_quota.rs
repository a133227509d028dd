use std::collections::BTreeSet;

use crate::alibaba::{LOAD_BALANCER_TAG_QUOTA, LoadBalancerKind, SERVICE_TAG, SYSTEM_TAG_PREFIX, service_tag_value};
use crate::kubernetes::Service;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-load-balancer-tags-near-quota",
    title: "a classic load balancer is at the controller's tag limit",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::LoadBalancer],
    condition: "The classic load balancer of a Service has ten tags or more: the controller treats that as the limit and silently adds none. Tags of Alibaba Cloud itself (`acs:…`) do not count.",
    impact: "tags that the Service requests are not added",
    fix: "Remove an unused tag.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/loadbalancer.go#MaxLBTagNum"],
    example: "load balancer `lb-bp1` has 10 of 10 tags",
    reads: &[Read::SlbDescribeLoadBalancers],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let known: BTreeSet<String> = services.iter().map(|service| service_tag_value(&service.uid)).collect();
    let mut checked = 0;
    let mut found = Vec::new();
    for view in &context.view.regions {
        for one in view.region.load_balancers.iter().flatten() {
            let is_ours = tags::value(&one.tags, SERVICE_TAG).is_some_and(|value| known.contains(value));
            if one.kind != LoadBalancerKind::Clb || !is_ours {
                continue;
            }
            checked += 1;
            let number = one.tags.iter().filter(|tag| !tag.key.starts_with(SYSTEM_TAG_PREFIX)).count();
            if number < LOAD_BALANCER_TAG_QUOTA {
                continue;
            }
            let resource = alibaba::resource(view, ResourceKind::LoadBalancer, &one.id, one.name.as_deref());
            let message = format!("load balancer `{}` has {number} of {LOAD_BALANCER_TAG_QUOTA} tags", one.id);
            let fix = Fix::none("remove an unused tag");
            found.push(Violation::new(Severity::Info, resource, message, fix));
        }
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            let tags = &mut c.load_balancer("lb-bp1web").tags;
            (tags.len()..10).for_each(|n| tag(tags, &format!("note-{n}"), "x"));
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            let tags = &mut c.load_balancer("lb-bp1web").tags;
            (tags.len()..9).for_each(|n| tag(tags, &format!("note-{n}"), "x"));
        });
    }
}
