use crate::alibaba::LoadBalancerKind;
use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_service::{PREFIXES, annotation, kept};
use crate::rules::prelude::*;

use crate::service_annotations::alibaba::is_read;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-annotation-value",
    title: "an annotation whose value the cloud controller or the service refuses",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if the controller cannot parse the value; warning if the service refuses it",
    ),
    resources: &[ResourceKind::Service],
    condition: "A Service that the cloud controller keeps has an annotation with a number that is none (`bandwidth`, timeouts, thresholds, intervals), a `protocol-port` that is not written as expected or names an unknown protocol, or an `address-type`, `charge-type`, `ip-version` or switch that is none of the documented values.",
    impact: "the sync of the Service ends with an error, and it stays pending or keeps its old listeners",
    fix: "Correct the value: integers without a unit, `https:443,http:80`, `internet` or `intranet`, `on` or `off`.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/listeners.go#buildListenerFromServicePort, #protocol",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/loadbalancer.go#BuildLocalModel",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/listeners.go#nlbListenerProtocol",
        "Alibaba Cloud SLB documentation, CreateLoadBalancer, CreateLoadBalancerHTTPListener",
    ],
    example: "Service shop/web has `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-bandwidth: 5M`, which is not an integer",
    ..Rule::evidence(ALIBABA, check)
};

/// Annotations that the controller parses as an integer, for classic load balancers.
const INTEGERS: [&str; 13] = [
    "bandwidth",
    "connection-drain-timeout",
    "cookie-timeout",
    "established-timeout",
    "health-check-connect-port",
    "health-check-connect-timeout",
    "health-check-interval",
    "health-check-timeout",
    "healthy-threshold",
    "idle-timeout",
    "persistence-timeout",
    "request-timeout",
    "unhealthy-threshold",
];

/// The same for network load balancers. Those of health checks are only read if a check is switched on.
const INTEGERS_OF_NLB: [&str; 3] = ["connection-drain-timeout", "cps", "idle-timeout"];

/// Values that the service accepts, in lower case. The controller passes them on as they are.
const ENUMERATIONS: [(&str, &[&str]); 11] = [
    ("acl-status", &["off", "on"]),
    ("acl-type", &["black", "white"]),
    ("address-type", &["internet", "intranet"]),
    ("charge-type", &["paybybandwidth", "paybytraffic"]),
    ("connection-drain", &["off", "on"]),
    ("delete-protection", &["off", "on"]),
    ("health-check-flag", &["off", "on"]),
    ("health-check-switch", &["off", "on"]),
    ("http2-enabled", &["off", "on"]),
    ("ip-version", &["ipv4", "ipv6"]),
    ("sticky-session", &["off", "on"]),
];

/// Those that the controller sends for listeners of HTTP and HTTPS alone.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/slb/listener.go`.
const OF_HTTP: [&str; 3] = ["health-check-flag", "http2-enabled", "sticky-session"];

/// The same for network load balancers.
const ENUMERATIONS_OF_NLB: [(&str, &[&str]); 2] =
    [("address-type", &["internet", "intranet"]), ("ip-version", &["dualstack", "ipv4"])];

/// Protocols of listeners. Those of network load balancers are accepted in any case.
const PROTOCOLS: [&str; 4] = ["http", "https", "tcp", "udp"];
const PROTOCOLS_OF_NLB: [&str; 3] = ["TCP", "TCPSSL", "UDP"];

/// A value that is refused, and how it should be.
struct Refused<'s> {
    name: &'static str,
    value: &'s str,
    severity: Severity,
    /// To follow "which".
    defect: String,
    fix: String,
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let version = context.alibaba_controller_version();
    let mut checked = 0;
    let mut found = Vec::new();
    for service in services {
        let Some(kind) = kept(context, service) else { continue };
        let is_annotated = service.annotations.keys().any(|key| PREFIXES.iter().any(|prefix| key.starts_with(prefix)));
        if !is_annotated {
            continue;
        }
        checked += 1;
        for refused in refused_values(service, kind, version) {
            let name = service.full_name();
            let keys = PREFIXES.iter().map(|prefix| format!("{prefix}{}", refused.name));
            let key = keys.into_iter().find(|key| service.annotation_places.contains_key(key));
            let message = format!(
                "Service {} has `{}: {}`, which {}",
                text::printable(&name),
                key.as_deref().unwrap_or(refused.name),
                text::printable(refused.value),
                refused.defect
            );
            let place = key.as_ref().and_then(|key| service.annotation_places.get(key)).map(|(place, _)| place);
            let resource = ResourceRef::bare(ResourceKind::Service, &name);
            let violation = Violation::new(refused.severity, resource, message, Fix::none(refused.fix));
            found.push(violation.with_respect_to(refused.name).at(place.unwrap_or(&service.place)));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable("no Service has annotations of Alibaba Cloud");
    }
    CheckResult::counted(checked, found)
}

fn refused_values(service: &Service, kind: LoadBalancerKind, version: Option<ControllerVersion>) -> Vec<Refused<'_>> {
    let (integers, enumerations): (&[&'static str], &[(&'static str, &[&str])]) = match kind {
        LoadBalancerKind::Clb => (&INTEGERS, &ENUMERATIONS),
        LoadBalancerKind::Nlb => (&INTEGERS_OF_NLB, &ENUMERATIONS_OF_NLB),
    };
    let value = |name: &str| annotation(service, name).filter(|_| version.is_none_or(|version| is_read(name, version)));
    let mut refused = Vec::new();
    for name in integers {
        // As Go's `strconv.Atoi`: a sign and digits, nothing around them.
        if let Some(value) = value(name).filter(|value| value.parse::<i64>().is_err()) {
            let (defect, fix) = ("is not an integer".to_owned(), "write an integer, without a unit".to_owned());
            refused.push(Refused { name, value, severity: Severity::Error, defect, fix });
        }
    }
    // What a reused load balancer and its listeners are belongs to its owner: the controller does not send it.
    let enumerations = if annotation(service, "id").is_some() { &[] } else { enumerations };
    let has_http = annotation(service, "protocol-port").is_some_and(|ports| ports.contains("http"));
    for (name, accepted) in enumerations.iter().filter(|(name, _)| has_http || !OF_HTTP.contains(name)) {
        if let Some(value) = value(name).filter(|value| !accepted.contains(&value.to_lowercase().as_str())) {
            let choice = accepted.join("` or `");
            let (defect, fix) = (format!("is neither `{}`", accepted.join("` nor `")), format!("write `{choice}`"));
            refused.push(Refused { name, value, severity: Severity::Warning, defect, fix });
        }
    }
    if let Some(value) = value("protocol-port")
        && let Some(defect) = protocol_defect(value, service, kind)
    {
        let fix = match kind {
            LoadBalancerKind::Clb => "write PROTOCOL:PORT, for example `https:443,http:80`",
            LoadBalancerKind::Nlb => "write PROTOCOL:PORT, for example `tcpssl:443,tcp:80`",
        };
        refused.push(Refused { name: "protocol-port", value, severity: Severity::Error, defect, fix: fix.to_owned() });
    }
    refused
}

/// Defect of a `protocol-port`, to follow "which". For each port of the Service, the controller reads the items until
/// one has the port; an item after that has no effect.
fn protocol_defect(value: &str, service: &Service, kind: LoadBalancerKind) -> Option<String> {
    service.ports.iter().find_map(|port| {
        for item in value.split(',') {
            let Some((protocol, rest)) = item.split_once(':') else {
                return Some("is not written as PROTOCOL:PORT".to_owned());
            };
            let (is_known, known) = match kind {
                LoadBalancerKind::Clb => (PROTOCOLS.contains(&protocol), PROTOCOLS.join(", ")),
                LoadBalancerKind::Nlb => {
                    (PROTOCOLS_OF_NLB.contains(&protocol.to_uppercase().as_str()), PROTOCOLS_OF_NLB.join(", "))
                }
            };
            if !is_known {
                let protocol = text::printable(protocol);
                return Some(format!("names the protocol `{protocol}`; the listener can be {known}"));
            }
            if rest.split(':').next() == Some(&port.port.to_string()) {
                return None;
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type: internal
spec:
  type: LoadBalancer
  ports:
  - port: 443
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let with = |annotation: &str| DEFECT.replace("address-type: internal", annotation);
        for annotation in [
            "bandwidth: 5M",
            "persistence-timeout: 30s",
            "protocol-port: '443'",
            "protocol-port: 'HTTPS:443'",
            "protocol-port: 'https:80,HTTP:443'",
            "protocol-port: 'https:443'\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-health-check-flag: 'true'",
            "ip-version: dualstack",
        ] {
            lint::fires(&RULE, &with(annotation));
        }
        let nlb = |annotation: &str| with(annotation) + "  loadBalancerClass: alibabacloud.com/nlb\n";
        for annotation in ["protocol-port: 'https:443'", "cps: many", "address-type: private"] {
            lint::fires(&RULE, &nlb(annotation));
        }
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "internal", "intranet");
        for annotation in [
            "bandwidth: '5'",
            "protocol-port: 'https:443,http:80'",
            "address-type: Intranet",
            "health-check-flag: 'true'",
            "protocol-port: 'https:443,HTTP:80'",
            "cps: many",
            "address-type: internal\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id: lb-bp1",
        ] {
            lint::silent(&RULE, DEFECT, "address-type: internal", annotation);
        }
        let nlb = DEFECT.to_owned() + "  loadBalancerClass: alibabacloud.com/nlb\n";
        for annotation in ["protocol-port: 'tcpssl:443'", "ip-version: DualStack", "bandwidth: 5M"] {
            lint::silent(&RULE, &nlb.replace("internal", "private"), "address-type: private", annotation);
        }
    }
}
