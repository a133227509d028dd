use crate::aws::Region;
use crate::kubernetes::{Ingress, Service};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::BALANCERS;

pub(super) const RULE: Rule = Rule {
    id: "lb-deleted",
    title: "the load balancer of a Service does not exist",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "The status of a Service of type `LoadBalancer` has a host name of Elastic Load Balancing in a region that was read, and no load balancer there has it.",
    impact: "clients cannot connect; the controller creates a new load balancer, with another name, only when it syncs the Service, and if the Service is deleted first, the cloud controller leaves target groups and security groups behind",
    fix: "Make the controller sync the Service: restart it, or change an annotation of the Service.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancerDeleted",
        "kubernetes/cloud-provider controllers/service/controller.go#needsUpdate",
    ],
    example: "no load balancer in us-east-1 has the host name of Service `shop/web`, a1b2-1.us-east-1.elb.amazonaws.com: it was deleted",
    reads: &[BALANCERS],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let Some(services) = context.kubernetes.services.as_deref() else {
        return CheckResult::not_applicable("no Services were given: see --kubernetes");
    };
    let read: Vec<&Region> =
        context.view.regions.iter().map(|region| region.region).filter(|one| one.load_balancing.is_some()).collect();
    if read.is_empty() {
        return CheckResult::not_applicable("the load balancers were not read");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    for service in services.iter().filter(|service| service.is_load_balancer() && service.deleted_at.is_none()) {
        for host in host_names(service) {
            let there: Vec<&&Region> = read.iter().filter(|region| is_in(&host, &region.name)).collect();
            let Some(region) = there.first() else { continue };
            checked += 1;
            let balancers =
                there.iter().filter_map(|one| one.load_balancing.as_ref()).flat_map(|one| &one.load_balancers);
            if balancers.into_iter().any(|one| one.dns_name.eq_ignore_ascii_case(&host)) {
                continue;
            }
            let name = service.full_name();
            let message = format!(
                "no load balancer in {} has the host name of Service `{}`, {}: it was deleted",
                text::printable(&region.name),
                text::printable(&name),
                text::printable(&host)
            );
            let fix =
                Fix::none("make the controller sync the Service: restart it, or change an annotation of the Service");
            let resource = ResourceRef::bare(ResourceKind::Service, name);
            found.push(
                Violation::new(Severity::Warning, resource, message, fix).with_respect_to(host).at(&service.place),
            );
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable(
            "no Service has a host name of Elastic Load Balancing in a region that was read",
        );
    }
    CheckResult::counted(checked, found)
}

fn host_names(service: &Service) -> impl Iterator<Item = String> + '_ {
    service.ingress.iter().filter_map(|address| match address {
        Ingress::Hostname(host) => {
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            Some(host.strip_prefix("dualstack.").map_or(host.clone(), str::to_owned))
        }
        Ingress::Address(_) => None,
    })
}

/// True if a host name is one of Elastic Load Balancing in a region: `NAME.REGION.elb.amazonaws.com`, or
/// `NAME.elb.REGION.amazonaws.com` for Network Load Balancers.
fn is_in(host: &str, region: &str) -> bool {
    let mut labels = host.split('.').skip(1);
    let (first, second, third) = (labels.next(), labels.next(), labels.next());
    let is_amazon = third.is_some_and(|label| label.starts_with("amazonaws"));
    is_amazon && (first == Some(region) && second == Some("elb") || first == Some("elb") && second == Some(region))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::load_balancers::SERVICE;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_classic();
            c.manifests = SERVICE;
            c.region().load_balancing.as_mut().unwrap().load_balancers.clear();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_classic();
            c.manifests = SERVICE;
        });
        // A balancer of another region was not read.
        aws::does_not_apply(&RULE, |c| {
            c.add_classic();
            c.region().name = "us-west-2".to_owned();
            c.manifests = SERVICE;
        });
    }
}
