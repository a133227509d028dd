use crate::kubernetes::{Service, ServicePort};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{Owner, joined, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-certificate-elsewhere",
    title: "the certificate of a Service is of another region",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "`aws-load-balancer-ssl-cert` of a Service is no ARN of a certificate of ACM or IAM (the cloud controller takes one, the AWS Load Balancer Controller several), or one of another partition, or one of ACM in another region than that of the nodes. Nothing is said where the nodes live in several regions.",
    impact: "Elastic Load Balancing refuses the listener (`CertificateNotFound`), and the load balancer is not made",
    fix: "Name a certificate of the region.",
    sources: &[
        "AWS documentation of ACM, \"Supported Regions\"",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#getListener",
    ],
    example: "Service shop/web names a certificate of eu-west-1, and the nodes are in us-east-1",
    reads: &[Read::DescribeInstances],
    migration: Some(Prerequisite::Services),
    ..Rule::joined(check)
};

const SUFFIX: &str = "aws-load-balancer-ssl-cert";

fn check(context: &Context<'_>) -> CheckResult {
    joined(context, |region, service, owner| {
        let (partition, region) = (region.account.partition.as_str(), region.region.name.as_str());
        let given = value(service, SUFFIX).filter(|arn| !arn.is_empty() && is_used(service, owner))?;
        // The AWS Load Balancer Controller takes several.
        let takes_several = owner == Owner::LoadBalancerController;
        let named: Vec<&str> = if takes_several {
            given.split(',').map(str::trim).filter(|arn| !arn.is_empty()).collect()
        } else {
            vec![given]
        };
        let of_partition = |of: &str| {
            let other = text::printable(of);
            (of != partition)
                .then(|| format!("a certificate of the partition {other}, and the nodes are in {partition}"))
        };
        let wrong = named.into_iter().find_map(|arn| match arn.splitn(6, ':').collect::<Vec<_>>().as_slice() {
            ["arn", of, "acm", at, _, resource] if resource.starts_with("certificate/") && !resource.contains(',') => {
                let elsewhere = || {
                    let other = text::printable(at);
                    (*at != region).then(|| format!("a certificate of {other}, and the nodes are in {region}"))
                };
                of_partition(of).or_else(elsewhere)
            }
            ["arn", of, "iam", "", _, resource] if resource.starts_with("server-certificate/") => of_partition(of),
            _ => Some(format!("`{}`, which is no ARN of a certificate", text::printable(arn))),
        })?;
        let name = service.full_name();
        let message = format!("Service {} names {wrong}", text::printable(&name));
        Some(on(service, Some(SUFFIX), Severity::Error, message, format!("name a certificate of {region}")))
    })
}

/// Whether a port has a listener with the certificate: those of TCP that `ssl-ports` names, or all of them.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#EnsureLoadBalancer`, `#getPortSets`.
fn is_used(service: &Service, owner: Owner) -> bool {
    let items = |list: &str| list.split(',').map(|item| item.trim().to_lowercase()).collect::<Vec<String>>();
    let named =
        value(service, "aws-load-balancer-ssl-ports").filter(|list| !list.is_empty() && *list != "*").map(items);
    let is_named = |port: &ServicePort| {
        named
            .as_ref()
            .is_none_or(|named| named.contains(&port.port.to_string()) || named.contains(&port.name.to_lowercase()))
    };
    owner == Owner::LoadBalancerController || service.ports.iter().any(|port| port.protocol != "UDP" && is_named(port))
}
