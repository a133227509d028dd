use std::collections::BTreeSet;

use crate::aws::Listener;
use crate::aws::load_balancers::Maker;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_of_service, is_new, listed, on_balancer};

/// Annotation of both controllers: ARNs of certificates, of which the first is the default one of a listener.
const CERTIFICATE: &str = "service.beta.kubernetes.io/aws-load-balancer-ssl-cert";

/// Annotation of both controllers: names or numbers of the ports with TLS.
const TLS_PORTS: &str = "service.beta.kubernetes.io/aws-load-balancer-ssl-ports";

const FIX: &str = "make the controller sync the Service; see its events for the reason why it did not";

pub(super) const RULE: Rule = Rule {
    id: "lb-certificate-differs",
    title: "a listener has another certificate than the Service asks for",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "The default certificate of a TLS or HTTPS listener is not the first one of the annotation `aws-load-balancer-ssl-cert` of the Service; or a listener without any has a port that `aws-load-balancer-ssl-ports` names, which are all of them without the annotation.",
    impact: "clients get the old certificate, and an error once it expires; without one the load balancer speaks no TLS",
    fix: "Make the controller sync the Service; see its events for the reason why it did not.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#buildListener",
        "kubernetes-sigs/aws-load-balancer-controller pkg/service/model_build_listener.go#buildListenerCertificates",
    ],
    example: "the listener 443 of `a1b2c3` (Service `shop/web`) has the certificate …/0b instead of …/0a",
    reads: &[BALANCERS, TAGS, Read::DescribeListeners],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each_of_service(context, |one, service| {
        let listeners = one.balancer.listeners.as_ref()?;
        let wanted = service.annotations.get(CERTIFICATE).and_then(|value| value.split(',').next()).map(str::trim);
        let Some(wanted) = wanted.filter(|arn| arn.starts_with("arn:")) else { return Some(Vec::new()) };
        let asked: BTreeSet<i64> = service.ports.iter().map(|port| port.port).collect();
        let other = listeners.iter().filter(|listener| asked.contains(&i64::from(listener.port)));
        // The cloud controller takes the entries as they are written.
        // Source: kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#getPortSets.
        let is_trimmed = one.claim().is_some_and(|claim| claim.maker == Maker::LoadBalancerController);
        let is_all = service.annotations.get(TLS_PORTS).is_none_or(|ports| ports.is_empty() || ports == "*");
        // The AWS Load Balancer Controller makes no TLS of ports that have both protocols.
        let wants_tls = |listener: &Listener| {
            if listener.protocol.contains("UDP") {
                return false;
            }
            let port = listener.port;
            let named = service.ports.iter().find(|one| one.port == i64::from(port) && one.protocol != "UDP");
            let ports = service.annotations.get(TLS_PORTS).map(String::as_str).filter(|ports| !ports.is_empty());
            let mut ports = ports.unwrap_or("*").split(',').map(|one| if is_trimmed { one.trim() } else { one });
            named.is_some_and(|one| {
                ports.any(|port| {
                    port == "*" && (is_all || is_trimmed)
                        || port == one.port.to_string()
                        || !port.is_empty() && one.name == port
                })
            })
        };
        let (plain, other): (Vec<_>, Vec<_>) = other.partition(|one| one.certificates.is_empty());
        let plain: Vec<String> =
            plain.into_iter().filter(|one| wants_tls(one)).map(|one| one.port.to_string()).collect();
        let without = (!plain.is_empty() && !is_new(context, one)).then(|| {
            let noun = if plain.len() == 1 { "the listener" } else { "the listeners" };
            let message = format!(
                "{noun} {} of {} {} no certificate, and the Service asks for {}",
                listed(plain.iter().map(String::as_str)),
                described(one),
                if plain.len() == 1 { "has" } else { "have" },
                text::printable(wanted)
            );
            on_balancer(one, Severity::Warning, message, FIX).with_respect_to("none")
        });
        let other = other.into_iter().filter(|one| one.certificates.iter().all(|arn| arn != wanted));
        let found = other.map(|listener| {
            let held = listener.certificates.first().map(String::as_str).unwrap_or_default();
            let message = format!(
                "the listener {} of {} has the certificate {} instead of {}",
                listener.port,
                described(one),
                text::printable(held),
                text::printable(wanted)
            );
            on_balancer(one, Severity::Warning, message, FIX).with_respect_to(listener.port.to_string())
        });
        Some(found.chain(without).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::load_balancers::{SERVICE, TLS_SERVICE};

    fn certificate(name: &str) -> Vec<String> {
        vec![format!("arn:aws:acm:us-east-1:111122223333:certificate/{name}")]
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_classic().listeners.as_mut().unwrap()[0].certificates = certificate("0b");
            c.manifests = TLS_SERVICE;
        });
    }

    #[test]
    fn fires_without_any_certificate() {
        aws::fires(&RULE, |c| {
            c.add_classic();
            c.manifests = TLS_SERVICE;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_classic().listeners.as_mut().unwrap()[0].certificates = certificate("0a");
            c.manifests = TLS_SERVICE;
        });
        // Nobody asks for one.
        aws::silent(&RULE, |c| {
            c.add_classic().listeners.as_mut().unwrap()[0].certificates = certificate("0b");
            c.manifests = SERVICE;
        });
    }
}
