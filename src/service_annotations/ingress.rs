//! Annotations of Ingresses that the AWS Load Balancer Controller reads, each with the first release that reads it.
//! Source: kubernetes-sigs/aws-load-balancer-controller `pkg/annotations/constants.go` and
//! `pkg/ingress/enhanced_backend_builder.go`, read at every tag from v2.0.0 to v3.5.0. No release dropped one.

use crate::controller::ControllerVersion;

/// Names without the prefix, with minor and patch of the first release.
const SINCE: &[((u32, u32, u32), &[&str])] = &[
    (
        (2, 0, 0),
        &[
            "auth-idp-cognito",
            "auth-idp-oidc",
            "auth-on-unauthenticated-request",
            "auth-scope",
            "auth-session-cookie",
            "auth-session-timeout",
            "auth-type",
            "backend-protocol",
            "certificate-arn",
            "group.name",
            "group.order",
            "healthcheck-interval-seconds",
            "healthcheck-path",
            "healthcheck-port",
            "healthcheck-protocol",
            "healthcheck-timeout-seconds",
            "healthy-threshold-count",
            "inbound-cidrs",
            "ip-address-type",
            "listen-ports",
            "load-balancer-attributes",
            "scheme",
            "security-groups",
            "shield-advanced-protection",
            "ssl-policy",
            "subnets",
            "success-codes",
            "tags",
            "target-group-attributes",
            "target-type",
            "unhealthy-threshold-count",
            "waf-acl-id",
            "wafv2-acl-arn",
            "web-acl-id",
        ],
    ),
    ((2, 1, 0), &["backend-protocol-version", "customer-owned-ipv4-pool"]),
    ((2, 2, 0), &["load-balancer-name", "ssl-redirect", "target-node-labels"]),
    ((2, 3, 0), &["manage-backend-security-group-rules"]),
    ((2, 7, 0), &["mutual-authentication"]),
    ((2, 8, 0), &["security-group-prefix-lists"]),
    ((2, 10, 0), &["multi-cluster-target-group"]),
    ((2, 11, 0), &["minimum-load-balancer-capacity"]),
    ((2, 12, 0), &["ipam-ipv4-pool-id"]),
    (
        (2, 13, 0),
        &[
            "enable-frontend-nlb",
            "frontend-nlb-healthcheck-healthy-threshold-count",
            "frontend-nlb-healthcheck-interval-seconds",
            "frontend-nlb-healthcheck-path",
            "frontend-nlb-healthcheck-port",
            "frontend-nlb-healthcheck-protocol",
            "frontend-nlb-healthcheck-success-codes",
            "frontend-nlb-healthcheck-timeout-seconds",
            "frontend-nlb-healthcheck-unhealthy-threshold-count",
            "frontend-nlb-listener-port-mapping",
            "frontend-nlb-scheme",
            "frontend-nlb-security-groups",
            "frontend-nlb-subnets",
        ],
    ),
    ((2, 14, 0), &["frontend-nlb-eip-allocations", "frontend-nlb-tags", "wafv2-acl-name"]),
    ((2, 14, 1), &["use-regex-path-match"]),
    ((2, 15, 0), &["jwt-validation"]),
    ((2, 16, 0), &["target-control-port"]),
    ((3, 2, 0), &["frontend-nlb-attributes"]),
    ((3, 3, 0), &["acm-pca-arn", "create-acm-cert"]),
    ((3, 4, 0), &["dry-run-plan"]),
];

/// Beginnings of names, to which the Ingress adds the name of a backend, or a protocol and a port.
const BEGINNINGS: &[((u32, u32, u32), &str)] = &[
    ((2, 0, 0), "actions."),
    ((2, 0, 0), "conditions."),
    ((2, 9, 0), "listener-attributes."),
    ((2, 14, 1), "transforms."),
];

/// Names that only v1 reads, with those of today.
/// Source: kubernetes-sigs/aws-load-balancer-controller v1.1.9 `internal/ingress/annotations`.
pub(crate) const FORMER: [(&str, &str); 3] = [
    ("attributes", "load-balancer-attributes"),
    ("security-group-inbound-cidrs", "inbound-cidrs"),
    ("successCodes", "success-codes"),
];

/// All whole names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SINCE.iter().flat_map(|(_, names)| names.iter().copied())
}

/// The first release that reads an annotation, by its name without the prefix; `None` if none does.
pub(crate) fn since(name: &str) -> Option<ControllerVersion> {
    let whole = SINCE.iter().find(|(_, names)| names.contains(&name)).map(|(version, _)| version);
    let begun = || {
        let named = |beginning: &str| name.strip_prefix(beginning).is_some_and(|rest| !rest.is_empty());
        BEGINNINGS.iter().find(|(_, beginning)| named(beginning)).map(|(version, _)| version)
    };
    let (major, minor, patch) = *whole.or_else(begun)?;
    Some(ControllerVersion::new(major, minor, patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_beginnings_have_a_first_release() {
        let version = |name: &str| since(name).map(|version| version.to_string());
        assert_eq!(version("scheme").as_deref(), Some("2.0.0"));
        assert_eq!(version("transforms.web").as_deref(), Some("2.14.1"));
        assert_eq!(version("listener-attributes.HTTPS-443").as_deref(), Some("2.9.0"));
        for name in ["actions.", "listener-attributes", "schema", "attributes"] {
            assert_eq!(version(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_is_listed_once() {
        let mut all: Vec<&str> = names().collect();
        let number = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number);
    }
}
