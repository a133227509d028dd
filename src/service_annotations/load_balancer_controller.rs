//! Values that the AWS Load Balancer Controller accepts on Services, as its parser and its model builder read them.
//!
//! Sources: kubernetes-sigs/aws-load-balancer-controller `pkg/annotations/parser.go`,
//! `pkg/service/model_build_load_balancer.go`, `pkg/service/model_build_listener.go`,
//! `pkg/service/model_build_target_group.go`.

use crate::kubernetes::{is_false, is_true};

/// Values that an annotation accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// A text that Go parses as a boolean.
    Bool,
    /// A whole number.
    Number,
    /// Exactly one of these.
    OneOf(&'static [&'static str]),
    /// One of these, in any case.
    AnyCaseOf(&'static [&'static str]),
    /// Pairs `KEY=VALUE`; a part without `=` is an error.
    Pairs,
    /// The name of a load balancer.
    Name,
    /// `traffic-port`, a port, or the name of a port of the Service.
    Port,
    /// `CapacityUnits=N`.
    Capacity,
    Networks,
}

/// Values that annotations accept, by name after the prefix. A name that ends with a full stop continues with a
/// protocol or a port.
const VALUES: [(&str, Takes); 26] = [
    ("aws-load-balancer-access-log-enabled", Takes::Bool),
    ("aws-load-balancer-additional-resource-tags", Takes::Pairs),
    ("aws-load-balancer-attributes", Takes::Pairs),
    ("aws-load-balancer-cross-zone-load-balancing-enabled", Takes::Bool),
    ("aws-load-balancer-disable-nlb-sg", Takes::Bool),
    ("aws-load-balancer-enable-prefix-for-ipv6-source-nat", Takes::OneOf(&["on", "off"])),
    ("aws-load-balancer-healthcheck-healthy-threshold", Takes::Number),
    ("aws-load-balancer-healthcheck-interval", Takes::Number),
    ("aws-load-balancer-healthcheck-port", Takes::Port),
    ("aws-load-balancer-healthcheck-protocol", Takes::AnyCaseOf(&["tcp", "http", "https"])),
    ("aws-load-balancer-healthcheck-timeout", Takes::Number),
    ("aws-load-balancer-healthcheck-unhealthy-threshold", Takes::Number),
    ("aws-load-balancer-inbound-sg-rules-on-private-link-traffic", Takes::OneOf(&["on", "off"])),
    ("aws-load-balancer-internal", Takes::Bool),
    ("aws-load-balancer-ip-address-type", Takes::OneOf(&["ipv4", "dualstack"])),
    ("aws-load-balancer-listener-attributes.", Takes::Pairs),
    ("aws-load-balancer-manage-backend-security-group-rules", Takes::Bool),
    ("aws-load-balancer-minimum-load-balancer-capacity", Takes::Capacity),
    ("aws-load-balancer-multi-cluster-target-group", Takes::Bool),
    ("aws-load-balancer-name", Takes::Name),
    ("aws-load-balancer-proxy-protocol", Takes::OneOf(&["*"])),
    ("aws-load-balancer-scheme", Takes::OneOf(&["internal", "internet-facing"])),
    ("aws-load-balancer-target-group-attributes", Takes::Pairs),
    ("aws-load-balancer-target-group-attributes.", Takes::Pairs),
    ("aws-load-balancer-target-node-labels", Takes::Pairs),
    ("load-balancer-source-ranges", Takes::Networks),
];

/// Values that TLS listeners accept; without such a listener they are not read.
const ALPN: (&str, &[&str]) =
    ("aws-load-balancer-alpn-policy", &["HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred", "None"]);

/// Annotations of a Service that the controller rejects: their names after the prefix, with the reason. `value` gives
/// the value of a name, `ports` are the port names of the Service, and `has_source_ranges` is true if its `spec` limits
/// the sources.
///
/// Sources: `pkg/service/model_build_load_balancer.go#buildLoadBalancerSchemeViaAnnotation`,
/// `#buildLoadBalancerMinimumCapacity`, `model_build_listener.go#buildBackendProtocol`,
/// `model_build_target_group.go#buildCIDRsFromSourceRanges`, `#buildTargetGroupBindingNodeSelector`.
#[must_use]
pub(crate) fn wrong<'s>(
    annotations: impl Iterator<Item = (&'s str, &'s str)>,
    value: impl Fn(&str) -> Option<&'s str>,
    ports: &[&str],
    has_source_ranges: bool,
) -> Vec<(&'s str, String)> {
    let is_set = |name: &str| value(name).is_some_and(|given| !given.trim().is_empty());
    // An annotation that another one overrides is not read.
    let is_read = |name: &str| match name {
        "aws-load-balancer-internal" => value("aws-load-balancer-scheme").is_none(),
        "aws-load-balancer-manage-backend-security-group-rules" => is_set("aws-load-balancer-security-groups"),
        "aws-load-balancer-target-node-labels" => value("aws-load-balancer-nlb-target-type") != Some("ip"),
        "load-balancer-source-ranges" => !has_source_ranges && !is_set("aws-load-balancer-security-groups"),
        "aws-load-balancer-minimum-load-balancer-capacity" => is_set(name),
        _ => true,
    };
    let mut found: Vec<(&str, String)> = annotations
        .filter_map(|(name, given)| {
            let is_it = |known: &str| if known.ends_with('.') { name.starts_with(known) } else { known == name };
            let (_, takes) = VALUES.iter().find(|(known, _)| is_it(known) && is_read(known))?;
            Some((name, refused(*takes, given, ports)?))
        })
        .collect();
    let has_certificate = value("aws-load-balancer-ssl-cert").is_some_and(|arn| !arn.trim().is_empty());
    if has_certificate && value(ALPN.0).is_some_and(|given| !ALPN.1.contains(&given.trim())) {
        found.push((ALPN.0, format!("is not one of {}", ALPN.1.join(", "))));
    }
    // The valid addresses depend on the scheme. Without an annotation the controller's own default decides, which is
    // not known here.
    let is_public = match (value("aws-load-balancer-scheme"), value("aws-load-balancer-internal")) {
        (Some(scheme), _) => Some(scheme == "internet-facing"),
        (None, internal) => internal.map(is_false),
    };
    for (name, is_refused, needs) in [
        ("aws-load-balancer-eip-allocations", is_public == Some(false), "internet-facing"),
        ("aws-load-balancer-private-ipv4-addresses", is_public == Some(true), "internal"),
    ] {
        if is_refused && is_set(name) {
            found.push((name, format!("is only for {needs} load balancers")));
        }
    }
    found
}

/// Reason why a value is rejected, if it is. Lists and pairs are trimmed, and empty parts are ignored.
fn refused(takes: Takes, given: &str, ports: &[&str]) -> Option<String> {
    let trimmed = given.trim();
    let pieces = || given.split(',').map(str::trim).filter(|part| !part.is_empty());
    match takes {
        Takes::Bool => (!is_true(given) && !is_false(given)).then(|| "is neither `true` nor `false`".to_owned()),
        Takes::Number => given.parse::<i64>().is_err().then(|| "is not a number".to_owned()),
        Takes::OneOf(values) => (!values.contains(&given)).then(|| format!("is not one of {}", values.join(", "))),
        Takes::AnyCaseOf(values) => {
            let is_one = values.contains(&trimmed.to_ascii_lowercase().as_str());
            (!is_one).then(|| format!("is not one of {}", values.join(", ")))
        }
        // A backslash keeps a comma within a value, from 2.15.0 on. Source: `pkg/annotations/parser.go#splitKeyValuePairs`.
        Takes::Pairs => given
            .replace("\\,", "")
            .split(',')
            .map(str::trim)
            .find(|part| !part.is_empty() && !part.contains('='))
            .map(|part| format!("has the part `{part}`, which is not KEY=VALUE")),
        // Source: Elastic Load Balancing API Reference 2015-12-01, `CreateLoadBalancer`, `Name`.
        Takes::Name => {
            const MOST: usize = 32;
            let number = given.chars().count();
            let is_taken = |character: char| character.is_ascii_alphanumeric() || character == '-';
            if number > MOST {
                Some(format!("has {number} characters, and a name has at most {MOST}"))
            } else if !given.chars().all(is_taken) {
                Some("contains characters other than letters, digits and hyphens".to_owned())
            } else if given.starts_with('-') || given.ends_with('-') {
                Some("begins or ends with a hyphen".to_owned())
            } else {
                given
                    .starts_with("internal-")
                    .then(|| "begins with `internal-`, like names that AWS assigns".to_owned())
            }
        }
        Takes::Port => {
            let is_port = given == "traffic-port" || given.parse::<u16>().is_ok() || ports.contains(&given);
            (!is_port).then(|| "is neither `traffic-port`, a port nor the name of a port of the Service".to_owned())
        }
        Takes::Capacity => {
            let units = trimmed.strip_prefix("CapacityUnits=").and_then(|units| units.parse::<u64>().ok());
            units.is_none().then(|| "is not `CapacityUnits=` and a number".to_owned())
        }
        Takes::Networks => {
            pieces().find(|part| !is_network(part)).map(|part| format!("has `{part}`, which is not a network"))
        }
    }
}

/// True if a text is an address, a slash and a prefix length.
fn is_network(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    match (address.parse::<std::net::IpAddr>(), length.parse::<u8>()) {
        (Ok(address), Ok(length)) => length <= if address.is_ipv4() { 32 } else { 128 },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&'static str, &'static str)]) -> Vec<&'static str> {
        let value = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let found = wrong(pairs.iter().copied(), value, &["http"], false);
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn values_are_taken_as_the_parser_takes_them() {
        const P: &str = "aws-load-balancer-";
        assert!(VALUES.iter().all(|(name, _)| name.starts_with(P) || name.starts_with("load-balancer-")));
        for (name, value, is_right) in [
            ("aws-load-balancer-scheme", "internet-facing", true),
            ("aws-load-balancer-scheme", "internet-faceing", false),
            ("aws-load-balancer-scheme", "Internal", false),
            ("aws-load-balancer-name", "a-name-of-thirty-two-characters0", true),
            ("aws-load-balancer-name", "my_lb.prod", false),
            ("aws-load-balancer-name", "-web", false),
            ("aws-load-balancer-name", "internal-web", false),
            ("aws-load-balancer-name", "a-name-of-thirty-three-characters", false),
            ("aws-load-balancer-ip-address-type", "ipv6", false),
            ("aws-load-balancer-attributes", "deletion_protection.enabled=true, a=b,", true),
            ("aws-load-balancer-attributes", "deletion_protection.enabled", false),
            ("aws-load-balancer-target-group-attributes.80", "a", false),
            ("aws-load-balancer-additional-resource-tags", "Team", false),
            ("aws-load-balancer-healthcheck-protocol", "HTTP", true),
            ("aws-load-balancer-healthcheck-protocol", "ftp", false),
            ("aws-load-balancer-healthcheck-port", "http", true),
            ("aws-load-balancer-healthcheck-port", "8080", true),
            ("aws-load-balancer-healthcheck-port", "abc$", false),
            ("aws-load-balancer-manage-backend-security-group-rules", "yes", true),
            ("aws-load-balancer-backend-protocol", "http", true),
            ("aws-load-balancer-enable-tcp-udp-listener", "yes", true),
            ("aws-load-balancer-enable-icmp-for-path-mtu-discovery", "true", true),
            ("aws-load-balancer-minimum-load-balancer-capacity", "", true),
            ("aws-load-balancer-additional-resource-tags", "Env=prod,Owners=alice\\,bob,Team=a", true),
            ("aws-load-balancer-inbound-sg-rules-on-private-link-traffic", "true", false),
            ("aws-load-balancer-minimum-load-balancer-capacity", "CapacityUnits=1500", true),
            ("aws-load-balancer-minimum-load-balancer-capacity", "1500", false),
            ("load-balancer-source-ranges", "10.0.0.0/8, ::/0", true),
            ("load-balancer-source-ranges", "10.0.0.0", false),
            ("aws-load-balancer-alpn-policy", "h2", true),
        ] {
            assert_eq!(of(&[(name, value)]).is_empty(), is_right, "{name}={value}");
        }
        let groups = ("aws-load-balancer-security-groups", "sg-1");
        for (read, beside) in [
            (("aws-load-balancer-manage-backend-security-group-rules", "yes"), groups),
            (("aws-load-balancer-target-node-labels", "a"), ("aws-load-balancer-nlb-target-type", "instance")),
            (("aws-load-balancer-internal", "0.0.0.0/0"), groups),
        ] {
            assert_eq!(of(&[read, beside]), [read.0]);
        }
        for (unread, beside) in [
            (("aws-load-balancer-internal", "0.0.0.0/0"), ("aws-load-balancer-scheme", "internal")),
            (("aws-load-balancer-target-node-labels", "a"), ("aws-load-balancer-nlb-target-type", "ip")),
            (("load-balancer-source-ranges", "10.0.0.0"), groups),
        ] {
            assert!(of(&[unread, beside]).is_empty(), "{unread:?}");
        }
        let certificate = ("aws-load-balancer-ssl-cert", "arn:aws:acm:eu-west-1:111122223333:certificate/a");
        assert_eq!(of(&[certificate, ("aws-load-balancer-alpn-policy", "h2")]), ["aws-load-balancer-alpn-policy"]);
        assert!(of(&[certificate, ("aws-load-balancer-alpn-policy", "HTTP2Optional")]).is_empty());
        let public = ("aws-load-balancer-scheme", "internet-facing");
        let (private, elastic) = (
            ("aws-load-balancer-private-ipv4-addresses", "10.0.0.1"),
            ("aws-load-balancer-eip-allocations", "eipalloc-1"),
        );
        assert_eq!(of(&[public, private]).len(), 1);
        assert_eq!(of(&[("aws-load-balancer-scheme", "internal"), elastic]).len(), 1);
        assert!(of(&[public, elastic]).is_empty() && of(&[private]).is_empty() && of(&[elastic]).is_empty());
    }
}
