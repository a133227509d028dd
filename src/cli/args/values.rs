//! Values of options: parsers for clap.

use std::str::FromStr;

use thiserror::Error;

use crate::tags::InvalidClusterId;

/// Invalid value of an option; clap names the option and the value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum InvalidValue {
    #[error("this is a zone; use its region, `{region}`")]
    Zone { region: String },
    #[error(transparent)]
    ClusterId(#[from] InvalidClusterId),
    #[error("not of the form NAMESPACE/NAME")]
    ServiceAccount,
    #[error("not of the form NAMESPACE/NAME, such as shop/web")]
    NamespacedName,
    #[error("must name one role, without wildcards")]
    Wildcard,
    #[error("not the ARN of a role")]
    RoleArn,
    #[error("not a number of days from 1 to 3650, such as 90d")]
    Days,
}

/// Namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamespacedName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl FromStr for NamespacedName {
    type Err = InvalidValue;

    /// A name without a namespace is that of an object in `default`.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
        let is_name = |part: &str| !part.is_empty() && !part.contains('/');
        if !is_name(namespace) || !is_name(name) {
            return Err(InvalidValue::NamespacedName);
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// Parses a region; the error for a zone (`us-east-1a`, `cn-hangzhou-h`) names its region.
/// Sources: Amazon EC2 User Guide, "Regions and Zones"; Alibaba Cloud documentation of ECS, "Regions and zones".
pub(in crate::cli) fn region(text: &str) -> Result<String, InvalidValue> {
    let of_aws = || crate::nodes::region_from_zone(text).filter(|region| region.len() < text.len());
    let before = || text.strip_suffix(|last: char| last.is_ascii_lowercase())?.strip_suffix('-');
    match of_aws().or_else(|| before().filter(|region| region.contains('-'))) {
        Some(region) => Err(InvalidValue::Zone { region: region.to_owned() }),
        None => Ok(text.to_owned()),
    }
}

/// Parses a cluster id.
pub(in crate::cli) fn cluster_id(text: &str) -> Result<String, InvalidValue> {
    crate::tags::check_cluster_id(text)?;
    Ok(text.to_owned())
}

/// Parses `NAMESPACE/NAME` of a `ServiceAccount`. Source: Kubernetes documentation, "Object Names and IDs", "DNS
/// Subdomain Names".
pub(in crate::cli) fn service_account(text: &str) -> Result<(String, String), InvalidValue> {
    let is_name = |name: &str| {
        let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        (1..=253).contains(&name.len())
            && name.chars().all(|c| is_alphanumeric(c) || c == '-' || c == '.')
            && name.starts_with(is_alphanumeric)
            && name.ends_with(is_alphanumeric)
    };
    match text.split_once('/') {
        Some((namespace, name)) if is_name(namespace) && is_name(name) && !namespace.contains('.') => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err(InvalidValue::ServiceAccount),
    }
}

/// Parses the ARN of a role, of either cloud.
pub(in crate::cli) fn role_arn(text: &str) -> Result<String, InvalidValue> {
    if text.contains(['*', '?']) {
        return Err(InvalidValue::Wildcard);
    }
    if matches!(crate::alibaba::roles::named(text), Some((_, crate::alibaba::PrincipalKind::Role, _))) {
        return Ok(text.to_owned());
    }
    let mut parts = text.splitn(6, ':');
    let is_role =
        parts.next() == Some("arn") && text.splitn(6, ':').nth(5).is_some_and(|name| name.starts_with("role/"));
    if is_role { Ok(text.to_owned()) } else { Err(InvalidValue::RoleArn) }
}

/// A number of days, `90` or `90d`: at most ten years.
pub(in crate::cli) fn days(value: &str) -> Result<u16, InvalidValue> {
    let number = value.strip_suffix('d').unwrap_or(value).parse::<u16>().ok();
    number.filter(|days| (1..=3_650).contains(days)).ok_or(InvalidValue::Days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_cluster_ids_are_refused() {
        assert!(cluster_id("prod/eu").is_ok());
        for text in ["", "a\nb", "kubernetes.io/cluster/a", &"a".repeat(106)] {
            assert!(cluster_id(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_zone_is_no_region() {
        for (zone, of) in [
            ("us-east-1a", "us-east-1"),
            ("us-west-2-lax-1a", "us-west-2"),
            ("us-gov-west-1b", "us-gov-west-1"),
            ("cn-hangzhou-h", "cn-hangzhou"),
            ("ap-southeast-1b", "ap-southeast-1"),
        ] {
            assert!(region(zone).is_err_and(|error| error.to_string().contains(&format!("`{of}`"))), "{zone}");
        }
        for right in
            ["us-east-1", "us-gov-west-1", "cn-hangzhou", "cn-beijing-finance-1", "cn-shanghai", "me-east-1", "a"]
        {
            assert_eq!(region(right).as_deref(), Ok(right));
        }
    }
}
