use crate::controller::ControllerVersion;
use crate::finding::{Applicability, Fix, ResourceRef, Severity};
use crate::resource::ResourceKind;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::{ALIBABA, Check, Counted, KubernetesContext, Rule, RuleSeverity, Subjects, Violation};
use crate::text;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-annotation-unknown",
    title: "an annotation that the cloud controller does not read",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info for a name that is like none that is known"),
    resources: &[ResourceKind::Service],
    condition: "A Service has an annotation `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-…` (or the older `alicloud-loadbalancer-…`) whose name the cloud controller does not know, or which its version does not read: `preserve-lb-on-delete` before 2.10.0, `network-type` before 2.12.4, `slb-network-type` from then on.",
    impact: "it does nothing, and nothing says so",
    fix: "Correct the name.",
    applicability: Applicability::None,
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/annotation/annotations.go"],
    example: "Service shop/web has `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-adress-type`, which the cloud controller does not read",
    reads: &[],
    subjects: Subjects::Evidence,
    check: Check::Evidence(ALIBABA, check),
};

/// Names behind the prefix, of 2.14.0.
const KNOWN: [&str; 84] = [
    "acl-id",
    "acl-status",
    "acl-type",
    "additional-cert-ids",
    "additional-resource-tags",
    "address-type",
    "alpn",
    "alpn-policy",
    "backend-ip-version",
    "backend-label",
    "bandwidth",
    "bandwidth-package-id",
    "cacert",
    "cacert-id",
    "cert-id",
    "charge-type",
    "connection-drain",
    "connection-drain-timeout",
    "cookie",
    "cookie-timeout",
    "cps",
    "cross-zone-enabled",
    "default-weight",
    "delete-protection",
    "domain-extensions",
    "established-timeout",
    "external-ip-type",
    "force-override-listeners",
    "forward-port",
    "health-check-connect-port",
    "health-check-connect-timeout",
    "health-check-domain",
    "health-check-flag",
    "health-check-httpcode",
    "health-check-interval",
    "health-check-method",
    "health-check-switch",
    "health-check-timeout",
    "health-check-type",
    "health-check-uri",
    "healthy-threshold",
    "hostname",
    "http2-enabled",
    "id",
    "idle-timeout",
    "ignore-weight-update",
    "instance-charge-type",
    "ip",
    "ip-version",
    "ipv6-address-type",
    "listener-port-range",
    "master-zoneid",
    "modification-protection",
    "name",
    "network-type",
    "persistence-timeout",
    "ppv2-pvl-ep-id-enabled",
    "ppv2-pvl-eps-id-enabled",
    "ppv2-pvl-vpc-id-enabled",
    "preserve-client-ip",
    "preserve-lb-on-delete",
    "protocol-port",
    "proxy-protocol",
    "remove-unscheduled-backend",
    "request-timeout",
    "resource-group-id",
    "scheduler",
    "security-group-ids",
    "server-group-type",
    "slave-zoneid",
    "spec",
    "sticky-session",
    "sticky-session-type",
    "tls-cipher-policy",
    "tunnel-type",
    "type",
    "unhealthy-threshold",
    "vgroup-port",
    "vswitch-id",
    "weight",
    "xforwardedfor-clientsrcport",
    "xforwardedfor-proto",
    "xforwardedfor-slbport",
    "zone-maps",
];

/// Annotations that not every version of 2 reads: the first version that does, and the first that does no more.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/model/annotations.go` (`pkg/controller/service/reconcile/annotation`) by tag.
const SINCE: [(&str, Option<ControllerVersion>, Option<ControllerVersion>); 3] = [
    ("network-type", Some(ControllerVersion::new(2, 12, 4)), None),
    ("preserve-lb-on-delete", Some(ControllerVersion::new(2, 10, 0)), None),
    ("slb-network-type", None, Some(ControllerVersion::new(2, 12, 4))),
];

const PREFIXES: [&str; 2] =
    ["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-", "service.beta.kubernetes.io/alicloud-loadbalancer-"];

fn check(context: &KubernetesContext<'_>) -> Counted {
    let Some(services) = &context.evidence.services else { return Counted::not_applicable(SERVICES_NOT_GIVEN) };
    let asked: Vec<_> = services.iter().filter(|service| service.is_load_balancer()).collect();
    let mut found = Vec::new();
    let version = context.alibaba_controller_version();
    for service in &asked {
        for (key, (place, _)) in &service.annotation_places {
            let Some((prefix, name)) = PREFIXES.iter().find_map(|prefix| Some((prefix, key.strip_prefix(prefix)?)))
            else {
                continue;
            };
            let full = service.full_name();
            let since = SINCE.iter().find(|(known, ..)| *known == name);
            if let Some((_, first, last)) = since {
                let Some(version) = version else { continue };
                let is_read = first.is_none_or(|first| version >= first) && last.is_none_or(|last| version < last);
                if !is_read {
                    let message = format!(
                        "Service {} has `{}`, which version {version} of the cloud controller does not read",
                        text::printable(&full),
                        text::printable(key)
                    );
                    let fix = match name {
                        "slb-network-type" => "write `network-type`",
                        "network-type" => "write `slb-network-type`, or upgrade the controller",
                        _ => "upgrade the controller",
                    };
                    let resource = ResourceRef::bare(ResourceKind::Service, full.as_str());
                    let violation = Violation::new(Severity::Warning, resource, message, Fix::none(fix));
                    found.push(violation.with_respect_to(key.as_str()).at(place));
                }
                continue;
            }
            if KNOWN.contains(&name) {
                continue;
            }
            let message = format!(
                "Service {} has `{}`, which the cloud controller does not read",
                text::printable(&full),
                text::printable(key)
            );
            let nearest = text::most_alike(name, KNOWN.iter().copied(), 0.9);
            // What no table has may be of a later version.
            let severity = if nearest.is_some() { Severity::Warning } else { Severity::Info };
            let fix = nearest.map_or_else(|| "take it out".to_owned(), |nearest| format!("write `{prefix}{nearest}`"));
            let resource = ResourceRef::bare(ResourceKind::Service, full.as_str());
            let violation = Violation::new(severity, resource, message, Fix::none(fix));
            found.push(violation.with_respect_to(key.as_str()).at(place));
        }
    }
    Counted::new(asked.len(), found)
}
