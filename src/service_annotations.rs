//! Annotations of Services that the AWS controllers read: the reading controller, its first version, and the permitted
//! values.
//!
//! Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go`, `aws_loadbalancer.go`, `aws_validations.go`;
//! aws-load-balancer-controller `pkg/annotations/constants.go` and `pkg/service`; both by their tags.

use crate::controller::ControllerVersion;
use crate::kubernetes::{is_false, is_true};

pub(crate) mod alibaba;
pub(crate) mod ingress;
pub(crate) mod load_balancer_controller;

/// Prefix of all annotations.
pub(crate) const PREFIX: &str = "service.beta.kubernetes.io/";

/// Effect of an annotation on a kind of load balancer of the cloud controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The controller uses it.
    Used,
    /// The controller ignores it.
    Ignored,
    /// Refused from this minor version on; ignored before.
    Refused(u32),
}

/// Permitted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// Anything.
    Any,
    /// A boolean in Go's syntax.
    Bool,
    /// A number; for a Classic Load Balancer not below the first and not above the second.
    Number(i64, i64),
    /// One of these numbers.
    NumberOf(&'static [i64]),
    /// One of these, in any case.
    OneOf(&'static [&'static str]),
    /// `*` and nothing else.
    Star,
    /// `traffic-port` or a number.
    Port,
    /// A list that is not empty.
    List,
    TargetGroupAttributes,
}

/// An annotation that the cloud controller reads.
#[derive(Debug)]
pub(crate) struct OfCloudController {
    /// Name without the prefix.
    pub suffix: &'static str,
    /// Effect on a Classic Load Balancer.
    pub classic: Effect,
    /// Effect on a Network Load Balancer.
    pub network: Effect,
    /// Permitted values.
    pub value: Value,
    /// True if the AWS Load Balancer Controller reads it as well.
    pub is_shared: bool,
    /// The first version with it; `None` if every version released apart from Kubernetes has it.
    pub since: Option<ControllerVersion>,
}

const fn both(suffix: &'static str, value: Value) -> OfCloudController {
    OfCloudController { suffix, classic: Effect::Used, network: Effect::Used, value, is_shared: true, since: None }
}

const fn classic(suffix: &'static str, value: Value) -> OfCloudController {
    OfCloudController { network: Effect::Ignored, is_shared: false, ..both(suffix, value) }
}

const fn network(suffix: &'static str, value: Value) -> OfCloudController {
    OfCloudController { classic: Effect::Ignored, ..both(suffix, value) }
}

const HEALTH_PROTOCOLS: &[&str] = &["tcp", "http", "https"];

/// Annotations that the cloud controller reads.
pub(crate) const OF_CLOUD_CONTROLLER: [OfCloudController; 31] = [
    both("aws-load-balancer-type", Value::Any),
    both("aws-load-balancer-internal", Value::Any),
    both("aws-load-balancer-subnets", Value::List),
    both("aws-load-balancer-ssl-cert", Value::Any),
    both("aws-load-balancer-ssl-ports", Value::Any),
    both("aws-load-balancer-ssl-negotiation-policy", Value::Any),
    both("aws-load-balancer-backend-protocol", Value::Any),
    both("aws-load-balancer-additional-resource-tags", Value::Any),
    OfCloudController { network: Effect::Refused(35), ..both("aws-load-balancer-security-groups", Value::Any) },
    OfCloudController {
        network: Effect::Refused(35),
        ..classic("aws-load-balancer-extra-security-groups", Value::Any)
    },
    both("aws-load-balancer-cross-zone-load-balancing-enabled", Value::Bool),
    both("aws-load-balancer-access-log-enabled", Value::Bool),
    both("aws-load-balancer-access-log-s3-bucket-name", Value::Any),
    both("aws-load-balancer-access-log-s3-bucket-prefix", Value::Any),
    classic("aws-load-balancer-access-log-emit-interval", Value::NumberOf(&[5, 60])),
    classic("aws-load-balancer-connection-draining-enabled", Value::Bool),
    classic("aws-load-balancer-connection-draining-timeout", Value::Number(1, 3_600)),
    classic("aws-load-balancer-connection-idle-timeout", Value::Number(1, 4_000)),
    OfCloudController { is_shared: true, ..classic("aws-load-balancer-proxy-protocol", Value::Star) },
    both("aws-load-balancer-healthcheck-protocol", Value::OneOf(HEALTH_PROTOCOLS)),
    both("aws-load-balancer-healthcheck-port", Value::Port),
    both("aws-load-balancer-healthcheck-path", Value::Any),
    both("aws-load-balancer-healthcheck-healthy-threshold", Value::Number(2, 10)),
    both("aws-load-balancer-healthcheck-unhealthy-threshold", Value::Number(2, 10)),
    both("aws-load-balancer-healthcheck-interval", Value::Number(5, 300)),
    both("aws-load-balancer-healthcheck-timeout", Value::Number(2, 60)),
    both("aws-load-balancer-target-node-labels", Value::Any),
    network("aws-load-balancer-eip-allocations", Value::Any),
    OfCloudController {
        since: Some(ControllerVersion::new(1, 35, 0)),
        ..network("aws-load-balancer-private-ipv4-addresses", Value::Any)
    },
    OfCloudController {
        classic: Effect::Refused(0),
        since: Some(ControllerVersion::new(1, 32, 6)),
        ..network("aws-load-balancer-target-group-attributes", Value::TargetGroupAttributes)
    },
    both("load-balancer-source-ranges", Value::Any),
];

/// Annotations that only the AWS Load Balancer Controller reads. A name that ends with a full stop continues with a
/// protocol and a port.
pub(crate) const OF_LOAD_BALANCER_CONTROLLER: [&str; 24] = [
    "actions.",
    "aws-load-balancer-alpn-policy",
    "aws-load-balancer-attributes",
    "aws-load-balancer-disable-nlb-sg",
    "aws-load-balancer-enable-icmp-for-path-mtu-discovery",
    "aws-load-balancer-enable-prefix-for-ipv6-source-nat",
    "aws-load-balancer-enable-tcp-udp-listener",
    "aws-load-balancer-healthcheck-success-codes",
    "aws-load-balancer-inbound-sg-rules-on-private-link-traffic",
    "aws-load-balancer-ip-address-type",
    "aws-load-balancer-ipv6-addresses",
    "aws-load-balancer-listener-attributes.",
    "aws-load-balancer-manage-backend-security-group-rules",
    "aws-load-balancer-minimum-load-balancer-capacity",
    "aws-load-balancer-multi-cluster-target-group",
    "aws-load-balancer-name",
    "aws-load-balancer-nlb-target-type",
    "aws-load-balancer-proxy-protocol-per-target-group",
    "aws-load-balancer-quic-enabled-containers",
    "aws-load-balancer-quic-enabled-ports",
    "aws-load-balancer-scheme",
    "aws-load-balancer-security-group-prefix-lists",
    "aws-load-balancer-source-nat-ipv6-prefixes",
    "aws-load-balancer-target-group-attributes.",
];

/// Looks up an annotation of the cloud controller by its name without the prefix.
#[must_use]
pub(crate) fn cloud_controller_annotation(suffix: &str) -> Option<&'static OfCloudController> {
    OF_CLOUD_CONTROLLER.iter().find(|known| known.suffix == suffix)
}

/// True if only the AWS Load Balancer Controller reads an annotation.
#[must_use]
pub(crate) fn is_load_balancer_controller_only(suffix: &str) -> bool {
    OF_LOAD_BALANCER_CONTROLLER
        .iter()
        .any(|known| if known.ends_with('.') { suffix.starts_with(known) } else { *known == suffix })
}

/// True if a version of the cloud controller has an annotation. Attributes of target groups were added to several
/// release lines at once, and are not in 1.34.1. Source: cloud-provider-aws, by its tags.
#[must_use]
pub(crate) fn is_in(annotation: &OfCloudController, version: ControllerVersion) -> bool {
    let at = |minor, patch| ControllerVersion::new(1, minor, patch);
    if annotation.suffix == "aws-load-balancer-target-group-attributes" {
        return match version.minor() {
            Some(32) => version >= at(32, 6),
            Some(33) => version >= at(33, 3),
            Some(34) => version != at(34, 1),
            Some(minor) => minor >= 35,
            None => true,
        };
    }
    annotation.since.is_none_or(|since| version >= since)
}

/// The defect of a value for a kind of load balancer; `None` if it is valid.
#[must_use]
pub(crate) fn wrong(annotation: &OfCloudController, value: &str, is_network: bool) -> Option<String> {
    // An empty value is ignored, except for health checks. Sources: `aws.go#buildNLBHealthCheckConfiguration`,
    // `aws_loadbalancer.go#ensureLoadBalancerHealthCheck`.
    if value.is_empty() && !annotation.suffix.starts_with("aws-load-balancer-healthcheck-") {
        return None;
    }
    match annotation.value {
        Value::Any => None,
        Value::Bool => (!is_true(value) && !is_false(value)).then(|| "is neither `true` nor `false`".to_owned()),
        // The Elastic Load Balancing API refuses other values (API Reference 2012-06-01, `HealthCheck`,
        // `ConnectionSettings`,
        // `ConnectionDraining`, `AccessLog`).
        Value::Number(least, most) => match value.parse::<i32>() {
            Err(_) => Some("is not a number".to_owned()),
            Ok(number) if !is_network && i64::from(number) < least => Some(format!("is below {least}")),
            Ok(number) if !is_network && i64::from(number) > most => Some(format!("is above {most}")),
            Ok(_) => None,
        },
        Value::NumberOf(numbers) => match value.parse::<i32>() {
            Err(_) => Some("is not a number".to_owned()),
            Ok(number) if numbers.contains(&i64::from(number)) => None,
            Ok(_) => {
                Some(format!("is not one of {}", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")))
            }
        },
        // ELB validates the value for Classic Load Balancers.
        Value::OneOf(_) if !is_network => None,
        Value::OneOf(values) => {
            let is_one = values.contains(&value.to_ascii_lowercase().as_str());
            (!is_one).then(|| format!("is not one of {}", values.join(", ")))
        }
        Value::Star => (value != "*").then(|| "must be `*`".to_owned()),
        Value::Port => {
            let is_port = value == "traffic-port" || value.parse::<u16>().is_ok();
            (!is_port).then(|| "is neither `traffic-port` nor a port".to_owned())
        }
        Value::List => {
            let is_empty = value.split(',').all(|item| item.trim().is_empty());
            is_empty.then(|| "is an empty list".to_owned())
        }
        // White space around the equals sign belongs to the key and the value, and the text after a second sign is
        // dropped.
        // Source: `aws_loadbalancer.go#getKeyValuePropertiesFromAnnotation`.
        Value::TargetGroupAttributes => value.split(',').find_map(|pair| {
            let (key, value) = pair.trim().split_once('=').unwrap_or((pair.trim(), ""));
            let value = value.split_once('=').map_or(value, |(value, _)| value);
            match (key, value) {
                ("", _) | ("preserve_client_ip.enabled" | "proxy_protocol_v2.enabled", "true" | "false") => None,
                ("preserve_client_ip.enabled" | "proxy_protocol_v2.enabled", _) => {
                    Some(format!("sets {key} to neither `true` nor `false`"))
                }
                (other, _) => Some(format!("has {other}, which the cloud controller does not set")),
            }
        }),
    }
}
