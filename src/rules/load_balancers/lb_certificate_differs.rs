use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_with_listeners, is_new, listed, on_balancer};

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
    for_each_with_listeners(context, |one, listeners, asked| {
        let (mut found, mut plain) = (Vec::new(), Vec::new());
        for listener in listeners {
            // Two ports of one number share a listener of both protocols, which has no TLS.
            let asked = asked.iter().find(|one| one.port == i64::from(listener.port));
            let wanted = asked.and_then(|asked| asked.certificates.first()).filter(|arn| arn.starts_with("arn:"));
            let Some(wanted) = wanted.filter(|_| !listener.protocol.contains("UDP")) else { continue };
            let Some(held) = listener.certificates.first() else {
                plain.push((listener.port.to_string(), wanted));
                continue;
            };
            if listener.certificates.contains(wanted) {
                continue;
            }
            let message = format!(
                "the listener {} of {} has the certificate {} instead of {}",
                listener.port,
                described(one),
                text::printable(held),
                text::printable(wanted)
            );
            found.push(on_balancer(one, Severity::Warning, message, FIX).with_respect_to(listener.port.to_string()));
        }
        if let Some((_, wanted)) = plain.first().filter(|_| !is_new(context, one)) {
            let (noun, verb) = if plain.len() == 1 { ("the listener", "has") } else { ("the listeners", "have") };
            let message = format!(
                "{noun} {} of {} {verb} no certificate, and the Service asks for {}",
                listed(plain.iter().map(|(port, _)| port.as_str())),
                described(one),
                text::printable(wanted)
            );
            found.push(on_balancer(one, Severity::Warning, message, FIX).with_respect_to("none"));
        }
        found
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
