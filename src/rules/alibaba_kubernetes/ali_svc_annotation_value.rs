use crate::alibaba::LoadBalancerKind;
use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_node::named;
use crate::rules::alibaba_service::{PREFIXES, annotation, has_annotation, kept};
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
    condition: "A Service that the cloud controller keeps has an annotation with a number that is none (`bandwidth`, timeouts, thresholds, intervals), a `protocol-port` that is not written as expected or names an unknown protocol, an `address-type`, `charge-type`, `health-check-type`, `instance-charge-type`, `ip-version`, `scheduler`, `spec` or switch that is none of the documented values, a `bandwidth` that no load balancer has, an HTTPS or TCPSSL listener without `cert-id`, `acl-status: on` without `acl-id`, or a `master-zoneid` or `slave-zoneid` that is in another region than all Nodes.",
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
type Values = (&'static str, &'static [&'static str]);

/// Those of a load balancer that the controller creates; afterwards they cannot be changed, or it does not send them.
const OF_NEW: [Values; 4] = [
    ("address-type", &["internet", "intranet"]),
    ("delete-protection", &["off", "on"]),
    ("ip-version", &["ipv4", "ipv6"]),
    ("spec", &SPECIFICATIONS),
];

/// Those that it sets on each load balancer, that of a user too.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/loadbalancer.go#Update`.
const OF_BALANCER: [Values; 2] =
    [("charge-type", &["paybybandwidth", "paybytraffic"]), ("instance-charge-type", &["paybyclcu", "paybyspec"])];

/// Those of its listeners.
const OF_LISTENERS: [Values; 9] = [
    ("acl-status", &["off", "on"]),
    ("acl-type", &["black", "white"]),
    ("connection-drain", &["off", "on"]),
    ("health-check-flag", &["off", "on"]),
    ("health-check-switch", &["off", "on"]),
    ("health-check-type", &["http", "tcp"]),
    ("http2-enabled", &["off", "on"]),
    ("scheduler", &["qch", "rr", "sch", "tch", "wlc", "wrr"]),
    ("sticky-session", &["off", "on"]),
];

/// Source: Alibaba Cloud SLB documentation, `CreateLoadBalancer` (`LoadBalancerSpec`) and `DescribeLoadBalancerAttribute`.
const SPECIFICATIONS: [&str; 8] = [
    "slb.lcu.elastic",
    "slb.s0.share",
    "slb.s1.small",
    "slb.s2.medium",
    "slb.s2.small",
    "slb.s3.large",
    "slb.s3.medium",
    "slb.s3.small",
];

/// Highest bandwidth of a load balancer, in Mbit/s. Source: Alibaba Cloud ROS documentation, `ALIYUN::SLB::LoadBalancer`.
const MAX_BANDWIDTH: i64 = 10_000;

/// Those that the controller sends for listeners of HTTP and HTTPS alone.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/slb/listener.go`.
const OF_HTTP: [&str; 3] = ["health-check-flag", "http2-enabled", "sticky-session"];

/// Sent for listeners of TCP alone.
const OF_TCP: &str = "health-check-type";

/// The same for network load balancers.
const OF_NEW_NLB: [Values; 2] = [("address-type", &["internet", "intranet"]), ("ip-version", &["dualstack", "ipv4"])];

/// Those of the server groups of network load balancers; the last one is read if health checks are switched on.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/nlbv2/server_groups.go#setServerGroupAttributeFromAnno`.
const OF_SERVER_GROUPS: [Values; 2] =
    [("scheduler", &["qch", "rr", "sch", "tch", "wlc", "wrr"]), ("health-check-type", &["http", "tcp", "udp"])];

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
    let region = region(context);
    let mut checked = 0;
    let mut found = Vec::new();
    for service in services {
        let Some(kind) = kept(context, service) else { continue };
        let is_annotated = service.annotations.keys().any(|key| PREFIXES.iter().any(|prefix| key.starts_with(prefix)));
        if !is_annotated {
            continue;
        }
        checked += 1;
        let mut all = refused_values(service, kind, version);
        all.extend(refused_zones(service, kind, region));
        for refused in all {
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
    let integers: &[&'static str] = match kind {
        LoadBalancerKind::Clb => &INTEGERS,
        LoadBalancerKind::Nlb => &INTEGERS_OF_NLB,
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
    // The listeners of a reused load balancer belong to its owner, unless they are overridden (`clbv1/model_applier.go#Apply`).
    let is_reused = annotation(service, "id").is_some();
    let writes_listeners = !is_reused || annotation(service, "force-override-listeners") == Some("true");
    if writes_listeners {
        refused.extend(incomplete(service, kind, version));
    }
    let is_checked = annotation(service, "health-check-flag") == Some("on");
    let enumerations: Vec<Values> = match kind {
        LoadBalancerKind::Clb => {
            let of_new = OF_NEW.into_iter().filter(|_| !is_reused);
            of_new.chain(OF_BALANCER).chain(OF_LISTENERS.into_iter().filter(|_| writes_listeners)).collect()
        }
        LoadBalancerKind::Nlb => {
            let of_new = OF_NEW_NLB.into_iter().filter(|_| !is_reused);
            let of_groups = OF_SERVER_GROUPS.into_iter().filter(|(name, _)| is_checked || *name != OF_TCP);
            of_new.chain(of_groups.filter(|_| !is_reused)).collect()
        }
    };
    let has_http = annotation(service, "protocol-port").is_some_and(|ports| ports.contains("http"));
    let has_tcp = kind == LoadBalancerKind::Nlb || has_tcp_listener(service);
    let is_sent = |name: &str| {
        (has_http || !OF_HTTP.contains(&name) || kind == LoadBalancerKind::Nlb) && (has_tcp || name != OF_TCP)
    };
    for (name, accepted) in enumerations.iter().filter(|(name, _)| is_sent(name)) {
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

/// True if a port has a listener of TCP: what `protocol-port` does not name has the protocol of the port.
fn has_tcp_listener(service: &Service) -> bool {
    let ports = annotation(service, "protocol-port").unwrap_or_default();
    let is_named = |port: i64| {
        let mut items = ports.split(',').filter_map(|item| item.split_once(':'));
        let of_port = items.find(|(_, rest)| rest.split(':').next() == Some(port.to_string().as_str()));
        of_port.map(|(protocol, _)| protocol)
    };
    service.ports.iter().any(|port| is_named(port.port).map_or_else(|| port.protocol == "TCP", |named| named == "tcp"))
}

/// Values that the service refuses without another one, or in this size.
fn incomplete(service: &Service, kind: LoadBalancerKind, version: Option<ControllerVersion>) -> Vec<Refused<'_>> {
    let value = |name: &str| annotation(service, name).filter(|_| version.is_none_or(|version| is_read(name, version)));
    let severity = Severity::Warning;
    let mut refused = Vec::new();
    let secured = value("protocol-port").filter(|ports| {
        // The first item with a port decides about it.
        service.ports.iter().any(|port| {
            let items = ports.split(',').filter_map(|item| item.split_once(':'));
            let mut of_port = items.filter(|(_, rest)| rest.split(':').next() == Some(&port.port.to_string()));
            of_port.next().is_some_and(|(protocol, _)| match kind {
                LoadBalancerKind::Clb => protocol == "https",
                LoadBalancerKind::Nlb => protocol.eq_ignore_ascii_case("tcpssl"),
            })
        })
    });
    // A placeholder is filled in.
    if let Some(value) = secured.filter(|_| !has_annotation(service, "cert-id")) {
        let defect = "has a listener with TLS, and no `cert-id` states its certificate".to_owned();
        let fix = "add the annotation `cert-id` with the id of a certificate".to_owned();
        refused.push(Refused { name: "protocol-port", value, severity, defect, fix });
    }
    if kind == LoadBalancerKind::Nlb {
        return refused;
    }
    if let Some(value) = value("acl-status").filter(|value| *value == "on" && !has_annotation(service, "acl-id")) {
        let defect = "needs an access control list, and no `acl-id` states one".to_owned();
        let fix = "add the annotations `acl-id` and `acl-type`, or remove `acl-status`".to_owned();
        refused.push(Refused { name: "acl-status", value, severity, defect, fix });
    }
    // The controller does not send 0 (`pkg/provider/alibaba/slb/loadbalancer.go#setRequest`), and -1 is no limit.
    let is_refused = |value: &&str| value.parse::<i64>().is_ok_and(|value| !(-1..=MAX_BANDWIDTH).contains(&value));
    // It is not sent for one that no address of the Internet leads to.
    let is_internal = annotation(service, "address-type").is_some_and(|kind| kind.eq_ignore_ascii_case("intranet"));
    if let Some(value) = value("bandwidth").filter(is_refused).filter(|_| !is_internal) {
        let defect = if value.starts_with('-') {
            "is not a bandwidth".to_owned()
        } else {
            format!("is more than {MAX_BANDWIDTH} Mbit/s, the most of a load balancer")
        };
        let fix = "write a bandwidth in Mbit/s".to_owned();
        refused.push(Refused { name: "bandwidth", value, severity, defect, fix });
    }
    refused
}

/// The region of all Nodes; `None` if they are in several, or not known.
fn region<'e>(context: &KubernetesContext<'e>) -> Option<&'e str> {
    let mut regions = context.evidence.nodes.iter().flatten().filter_map(named).map(|(region, _, _)| region);
    let first = regions.next()?;
    regions.all(|other| other == first).then_some(first)
}

/// Zones of a new load balancer that do not exist in the region of the Nodes.
fn refused_zones<'s>(service: &'s Service, kind: LoadBalancerKind, region: Option<&str>) -> Vec<Refused<'s>> {
    if kind == LoadBalancerKind::Nlb || annotation(service, "id").is_some() {
        return Vec::new();
    }
    let zones = ["master-zoneid", "slave-zoneid"].map(|name| (name, annotation(service, name)));
    let severity = Severity::Warning;
    let elsewhere = zones.into_iter().filter_map(|(name, value)| {
        let (value, region) = (value?, region?);
        // `cn-hangzhou-h`; after a number, `ap-southeast-5a`.
        let zone = value.strip_prefix(region).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
        let is_here = zone.is_some_and(|zone| zone.starts_with(|first: char| first.is_ascii_alphabetic()));
        let (defect, fix) =
            (format!("is not a zone of {region}, where the Nodes are"), "name a zone of the region".to_owned());
        (!is_here).then_some(Refused { name, value, severity, defect, fix })
    });
    elsewhere.collect()
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
            "protocol-port: 'https:443'",
            "acl-status: 'on'",
            "bandwidth: '9999999'",
            "bandwidth: '-5'",
            "scheduler: random",
            "instance-charge-type: PayByHour",
            "health-check-type: ping",
            "id: lb-bp1\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-charge-type: byhour",
            "id: lb-bp1\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-force-override-listeners: 'true'\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-scheduler: random",
            "spec: slb.s9.huge",
            "protocol-port: 'https:443'\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id: lb-bp1\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-force-override-listeners: 'true'",
        ] {
            lint::fires(&RULE, &with(annotation));
        }
        let nlb = |annotation: &str| with(annotation) + "  loadBalancerClass: alibabacloud.com/nlb\n";
        for annotation in [
            "protocol-port: 'https:443'",
            "protocol-port: 'tcpssl:443'",
            "cps: many",
            "address-type: private",
            "health-check-flag: 'on'\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-health-check-type: https",
        ] {
            lint::fires(&RULE, &nlb(annotation));
        }
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "internal", "intranet");
        for annotation in [
            "bandwidth: '5'",
            "bandwidth: '-1'",
            "scheduler: WRR",
            "instance-charge-type: PayByCLCU",
            "health-check-type: http",
            "protocol-port: 'http:443'\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-health-check-type: udp",
            "id: lb-bp1\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-scheduler: random",
            "address-type: intranet\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-bandwidth: '20000'",
            "spec: slb.s1.small",
            "protocol-port: 'https:8443,http:443'",
            "protocol-port: 'http:443,https:443'",
            "master-zoneid: cn-hangzhou-h\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-slave-zoneid: cn-hangzhou-g",
            "protocol-port: 'https:443,http:80'\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-cert-id: 1-2",
            "address-type: Intranet",
            "health-check-flag: 'true'",
            "protocol-port: 'https:443,HTTP:80'\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-cert-id: '${CERT}'",
            "cps: many",
            "address-type: internal\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id: lb-bp1",
        ] {
            lint::silent(&RULE, DEFECT, "address-type: internal", annotation);
        }
        let nlb = DEFECT.to_owned() + "  loadBalancerClass: alibabacloud.com/nlb\n";
        for annotation in
            ["protocol-port: 'tcp:443'", "ip-version: DualStack", "bandwidth: 5M", "health-check-type: https"]
        {
            lint::silent(&RULE, &nlb.replace("internal", "private"), "address-type: private", annotation);
        }
    }

    #[test]
    fn zones_are_those_of_the_nodes() {
        let node = "---\nkind: Node\nmetadata:\n  name: worker-1\nspec:\n  providerID: cn-hangzhou.i-bp1\n";
        let with = |zone: &str| DEFECT.replace("address-type: internal", &format!("master-zoneid: {zone}")) + node;
        lint::fires(&RULE, &with("cn-beijing-h"));
        lint::fires(&RULE, &with("cn-hangzhou"));
        lint::silent(&RULE, &with("cn-beijing-h"), "cn-beijing-h", "cn-hangzhou-h");
        let numbered = with("ap-southeast-1a").replace("cn-hangzhou.", "ap-southeast-5.");
        lint::silent(&RULE, &numbered, "ap-southeast-1a", "ap-southeast-5a");
        lint::fires(&RULE, &numbered);
        // Nodes of several regions: which one is not known.
        let other = node.replace("worker-1", "worker-2").replace("cn-hangzhou", "cn-beijing");
        lint::silent(&RULE, &(with("cn-hangzhou") + &other), "cn-hangzhou\n", "cn-beijing-h\n");
    }
}
