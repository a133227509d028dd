use crate::alibaba::LoadBalancer;
use crate::kubernetes::Service;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{annotation, kept};

pub(super) const RULE: Rule = Rule {
    id: "ali-load-balancer-unusable",
    title: "a Service names a load balancer that its nodes cannot be behind",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service names, with the annotation `…-loadbalancer-id`, a load balancer that the regions of the nodes do not have, one of another kind than its class requests, or one of a VPC in which no node lives.",
    impact: "the controller does not find it, or cannot add the nodes as backends; the Service gets no address or no traffic",
    fix: "Name a load balancer of the nodes' VPC, or remove the annotation and let the controller create one.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/slb/loadbalancer.go#FindLoadBalancer",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/nlb/loadbalancer.go#FindNLB",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/105",
    ],
    example: "Service `shop/web` names load balancer `lb-bp1`, which is in VPC `vpc-bp2`, but the nodes are in vpc-bp1",
    reads: &[Read::EcsDescribeInstances, Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let regions = || context.view.regions.iter().filter(|view| !view.members.is_empty());
    if regions().next().is_none() || regions().any(|view| view.region.load_balancers.is_none()) {
        return CheckResult::not_applicable("the load balancers in the regions of the nodes are not known");
    }
    let vpcs: Vec<&str> = regions().flat_map(|view| view.member_vpcs()).collect();
    let kubernetes = context.on_kubernetes();
    let mut checked = 0;
    let mut found = Vec::new();
    for service in services {
        let (Some(kind), Some(id)) = (kept(&kubernetes, service), annotation(service, "id")) else { continue };
        checked += 1;
        let all = regions().flat_map(|view| view.region.load_balancers.iter().flatten());
        let named: Option<&LoadBalancer> = all.into_iter().find(|one| one.id == id);
        let defect = match named {
            None => {
                let searched: Vec<&str> = regions().map(|view| view.region.name.as_str()).collect();
                format!("which {} does not have", text::list(&searched, 3))
            }
            Some(one) if one.kind != kind => {
                format!("which is a {}, but its class requests a {}", one.kind.noun(), kind.noun())
            }
            Some(LoadBalancer { vpc_id: Some(vpc), .. }) if !vpcs.is_empty() && !vpcs.contains(&vpc.as_str()) => {
                format!("which is in VPC `{}`, but the nodes are in {}", text::printable(vpc), text::list(&vpcs, 3))
            }
            Some(_) => continue,
        };
        let name = service.full_name();
        let (shown, id) = (text::printable(&name), text::printable(id));
        let message = format!("Service `{shown}` names load balancer `{id}`, {defect}");
        let fix = Fix::none("name one of the nodes' VPC, or remove the annotation");
        let violation = Violation::new(Severity::Error, ResourceRef::bare(ResourceKind::Service, &name), message, fix);
        found.push(violation.related(named.map(|one| ResourceRef::bare(ResourceKind::LoadBalancer, &one.id))));
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::alibaba::LoadBalancerKind;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.load_balancer("lb-bp1hand").vpc_id = Some("vpc-bp2".to_owned()));
        alibaba::fires(&RULE, |c| c.load_balancer("lb-bp1hand").kind = LoadBalancerKind::Nlb);
        alibaba::fires(&RULE, |c| c.load_balancer("lb-bp1hand").id = "lb-bp1other".to_owned());
    }

    /// A load balancer for the internet has no VPC.
    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| c.load_balancer("lb-bp1hand").vpc_id = None);
    }
}
