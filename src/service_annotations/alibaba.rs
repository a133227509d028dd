//! Annotations of Services that the cloud controller of Alibaba Cloud reads, by version.

use crate::controller::ControllerVersion;
use crate::kubernetes::Service;

/// Prefixes of the annotations: the current one, and the one before it, which the controller still reads.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/annotation/annotations.go#AnnotationRequest`.
pub(crate) const PREFIXES: [&str; 2] =
    ["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-", "service.beta.kubernetes.io/alicloud-loadbalancer-"];

/// Value of an annotation, by its name after the prefix; empty if it has none. The current prefix wins even if its value
/// is empty.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/annotation/annotations.go#AnnotationRequest.Get`.
pub(crate) fn get<'s>(service: &'s Service, name: &str) -> &'s str {
    let mut values = PREFIXES.iter().filter_map(|prefix| service.annotations.get(&format!("{prefix}{name}")));
    values.next().map(String::as_str).unwrap_or_default()
}

/// Annotation names after the prefix, as of 2.14.0.
pub(crate) const KNOWN: [&str; 84] = [
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

/// A version: major, minor, patch.
type Release = (u32, u32, u32);

/// Annotations added by a version: the last published version without the annotation, and the first one with it.
/// Versions between the two are not published. Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/annotations.go` and, from 2.5.1 on,
/// `pkg/controller/service/reconcile/annotation/annotations.go`, by tag from 2.1.0 to 2.14.0.
const CAME: [(&str, Release, Release); 33] = [
    ("additional-cert-ids", (2, 12, 4), (2, 13, 0)),
    ("alpn", (2, 9, 1), (2, 10, 0)),
    ("alpn-policy", (2, 9, 1), (2, 10, 0)),
    ("bandwidth-package-id", (2, 8, 0), (2, 9, 1)),
    ("cacert", (2, 4, 4), (2, 5, 1)),
    ("cacert-id", (2, 4, 4), (2, 5, 1)),
    ("cps", (2, 4, 4), (2, 5, 1)),
    ("cross-zone-enabled", (2, 12, 4), (2, 13, 0)),
    ("default-weight", (2, 13, 0), (2, 14, 0)),
    ("domain-extensions", (2, 12, 4), (2, 13, 0)),
    ("established-timeout", (2, 2, 0), (2, 3, 0)),
    ("health-check-method", (2, 2, 0), (2, 3, 0)),
    ("health-check-switch", (2, 5, 1), (2, 6, 0)),
    ("hostname", (2, 2, 0), (2, 3, 0)),
    ("ignore-weight-update", (2, 10, 0), (2, 11, 2)),
    ("instance-charge-type", (2, 3, 0), (2, 4, 0)),
    ("ip", (2, 6, 0), (2, 7, 0)),
    ("ipv6-address-type", (2, 8, 0), (2, 9, 1)),
    ("listener-port-range", (2, 10, 0), (2, 11, 2)),
    ("network-type", (2, 11, 2), (2, 12, 4)),
    ("ppv2-pvl-ep-id-enabled", (2, 8, 0), (2, 9, 1)),
    ("ppv2-pvl-eps-id-enabled", (2, 8, 0), (2, 9, 1)),
    ("ppv2-pvl-vpc-id-enabled", (2, 8, 0), (2, 9, 1)),
    ("preserve-client-ip", (2, 4, 4), (2, 5, 1)),
    ("preserve-lb-on-delete", (2, 9, 1), (2, 10, 0)),
    ("proxy-protocol", (2, 4, 4), (2, 5, 1)),
    ("request-timeout", (2, 2, 0), (2, 3, 0)),
    ("security-group-ids", (2, 5, 1), (2, 6, 0)),
    ("server-group-type", (2, 7, 0), (2, 8, 0)),
    ("tls-cipher-policy", (2, 3, 0), (2, 4, 0)),
    ("xforwardedfor-clientsrcport", (2, 8, 0), (2, 9, 1)),
    ("xforwardedfor-slbport", (2, 8, 0), (2, 9, 1)),
    ("zone-maps", (2, 4, 4), (2, 5, 1)),
];

/// Annotations removed by a version: the first version with the annotation, the last one with it, and the first one
/// without it. Same source.
const WENT: [(&str, Release, Release, Release); 9] = [
    ("associate-eip", (2, 7, 0), (2, 8, 0), (2, 9, 1)),
    ("backend-weight", (2, 7, 0), (2, 8, 0), (2, 9, 1)),
    ("eip-bandwidth", (2, 7, 0), (2, 8, 0), (2, 9, 1)),
    ("eip-id", (2, 7, 0), (2, 8, 0), (2, 9, 1)),
    ("eip-instance-chargetype", (2, 7, 0), (2, 8, 0), (2, 9, 1)),
    ("eip-internet-chargetype", (2, 7, 0), (2, 8, 0), (2, 9, 1)),
    ("network-id", (2, 7, 0), (2, 8, 0), (2, 9, 1)),
    ("reuse", (2, 7, 0), (2, 8, 0), (2, 9, 1)),
    ("slb-network-type", (1, 9, 3), (2, 11, 2), (2, 12, 4)),
];

/// The last published version before the annotations for the edge.
const LAST_BEFORE_EDGE: Release = (2, 6, 0);

/// True if a version reads an annotation; `None` if that is not known, or if all versions or none read it.
pub(crate) fn reads(name: &str, version: ControllerVersion) -> Option<bool> {
    let of = |(major, minor, patch): Release| ControllerVersion::new(major, minor, patch);
    let came = CAME.iter().find(|(known, ..)| *known == name).map(|(_, without, with)| {
        let is_late = (version >= of(*with)).then_some(true);
        is_late.or((version <= of(*without)).then_some(false))
    });
    let went = WENT.iter().find(|(known, ..)| *known == name).map(|(_, first, last, without)| {
        let is_over = (version >= of(*without)).then_some(false);
        // No tag before 2.7.0 has those that came with it.
        let is_early = (*first > LAST_BEFORE_EDGE && version <= of(LAST_BEFORE_EDGE)).then_some(false);
        is_over.or(is_early).or((version >= of(*first) && version <= of(*last)).then_some(true))
    });
    came.or(went).flatten()
}

/// True unless a version is known not to read an annotation.
pub(crate) fn is_read(name: &str, version: ControllerVersion) -> bool {
    reads(name, version) != Some(false)
}

/// True if some versions read an annotation and others do not.
pub(crate) fn is_by_version(name: &str) -> bool {
    CAME.iter().any(|(known, ..)| *known == name) || WENT.iter().any(|(known, ..)| *known == name)
}

/// All annotations by name, each with the first published version that has it and the first one that no longer has it.
/// `None` if every version has it, or if no version removed it.
pub(crate) fn spans() -> Vec<(&'static str, Option<ControllerVersion>, Option<ControllerVersion>)> {
    let of = |(major, minor, patch): Release| ControllerVersion::new(major, minor, patch);
    let kept = KNOWN.iter().map(|name| {
        let came = CAME.iter().find(|(known, ..)| known == name);
        (*name, came.map(|(_, _, with)| of(*with)), None)
    });
    let removed = WENT
        .iter()
        .map(|(name, first, _, without)| (*name, (*first > LAST_BEFORE_EDGE).then(|| of(*first)), Some(of(*without))));
    let mut all: Vec<_> = kept.chain(removed).collect();
    all.sort_by_key(|(name, ..)| *name);
    all
}

/// True if a version removed an annotation.
pub(crate) fn is_removed(name: &str) -> bool {
    WENT.iter().any(|(known, ..)| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_what_their_tags_have() {
        let of = |name: &str, version: &str| reads(name, version.parse().unwrap());
        for (name, version, expected) in [
            ("preserve-lb-on-delete", "2.9.1", Some(false)),
            ("preserve-lb-on-delete", "2.10.0", Some(true)),
            ("preserve-lb-on-delete", "1.9.3", Some(false)),
            ("ignore-weight-update", "2.10.0", Some(false)),
            ("ignore-weight-update", "2.11.0", None),
            ("ignore-weight-update", "2.11.2", Some(true)),
            ("slb-network-type", "2.11.2", Some(true)),
            ("slb-network-type", "2.12.0", None),
            ("slb-network-type", "2.12.4", Some(false)),
            ("slb-network-type", "1.9.3", Some(true)),
            ("network-type", "2.11.2", Some(false)),
            ("zone-maps", "2.5.1", Some(true)),
            ("zone-maps", "2.4.4", Some(false)),
            ("eip-id", "2.6.0", Some(false)),
            ("eip-id", "2.6.1", None),
            ("eip-id", "2.8.0", Some(true)),
            ("eip-id", "2.14.0", Some(false)),
            ("spec", "2.14.0", None),
        ] {
            assert_eq!(of(name, version), expected, "{name} {version}");
        }
        assert!(CAME.iter().all(|(name, without, with)| KNOWN.contains(name) && without < with));
        assert!(
            WENT.iter().all(|(name, first, last, without)| !KNOWN.contains(name) && first < last && last < without)
        );
        assert!(CAME.is_sorted_by_key(|(name, ..)| *name) && WENT.is_sorted_by_key(|(name, ..)| *name));
    }
}
