use crate::kubernetes::{Service, ServicePort};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{Owner, joined, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-certificate-elsewhere",
    title: "a Service's certificate is in another region",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service's `aws-load-balancer-ssl-cert` is not the ARN of an ACM or IAM certificate, or names a certificate in another partition, or an ACM certificate in a region other than the nodes'. The cloud controller accepts one ARN, the AWS Load Balancer Controller several. Nothing is reported if the nodes are in several regions.",
    impact: "Elastic Load Balancing refuses the listener (`CertificateNotFound`), and the load balancer is not created",
    fix: "Use a certificate in the nodes' region.",
    sources: &[
        "AWS documentation of ACM, \"Supported Regions\"",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#getListener",
    ],
    example: "Service shop/web names a certificate in eu-west-1, but the nodes are in us-east-1",
    reads: &[Read::DescribeInstances],
    migration: Some(Prerequisite::Services),
    ..Rule::joined(check)
};

const SUFFIX: &str = "aws-load-balancer-ssl-cert";

fn check(context: &Context<'_>) -> CheckResult {
    joined(context, |region, service, owner| {
        let (partition, region) = (region.account.partition.as_str(), region.region.name.as_str());
        let given = value(service, SUFFIX).filter(|arn| !arn.is_empty() && is_used(service, owner))?;
        // The AWS Load Balancer Controller accepts several.
        let takes_several = owner == Owner::LoadBalancerController;
        let named: Vec<&str> = if takes_several {
            given.split(',').map(str::trim).filter(|arn| !arn.is_empty()).collect()
        } else {
            vec![given]
        };
        let of_partition = |of: &str| {
            let other = text::printable(of);
            (of != partition)
                .then(|| format!("a certificate in the partition {other}, but the nodes are in {partition}"))
        };
        let wrong = named.into_iter().find_map(|arn| match arn.splitn(6, ':').collect::<Vec<_>>().as_slice() {
            ["arn", of, "acm", at, _, resource] if resource.starts_with("certificate/") && !resource.contains(',') => {
                let elsewhere = || {
                    let other = text::printable(at);
                    (*at != region).then(|| format!("a certificate in {other}, but the nodes are in {region}"))
                };
                of_partition(of).or_else(elsewhere)
            }
            ["arn", of, "iam", "", _, resource] if resource.starts_with("server-certificate/") => of_partition(of),
            _ => Some(format!("`{}`, which is not a certificate ARN", text::printable(arn))),
        })?;
        let name = service.full_name();
        let message = format!("Service {} names {wrong}", text::printable(&name));
        Some(on(service, Some(SUFFIX), Severity::Error, message, format!("use a certificate in {region}")))
    })
}

/// True if a TCP port has a listener with the certificate: one that `ssl-ports` names, or any if it names none.
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

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.manifests = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-ssl-cert: arn:aws:acm:eu-west-1:111122223333:certificate/a
spec:
  type: LoadBalancer
  ports:
  - port: 443
";
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-ssl-cert: arn:aws:acm:eu-central-1:111122223333:certificate/a
spec:
  type: LoadBalancer
  ports:
  - port: 443
";
        });
    }
}
