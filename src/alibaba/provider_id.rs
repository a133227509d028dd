//! The providerID of a Node, as Alibaba Cloud's controllers parse it.

/// Machine that a providerID identifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderId<'a> {
    /// An ECS instance of a region. The controller ignores anything after the second part.
    Instance {
        region: &'a str,
        /// Instance id.
        id: &'a str,
        /// True if there are further parts, which the controller ignores.
        has_more: bool,
    },
    /// A machine outside of Alibaba Cloud, which the controller ignores.
    Hybrid,
}

/// Parses a providerID; `None` if the controller fails on it. The text after `alicloud://`, or all of it, is split at
/// dots: the first part is the region, the second the instance, and neither is checked.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/util/helper.go#NodeFromProviderID`,
/// `pkg/controller/helper/node_utils.go#IsExcludedNode`.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<ProviderId<'_>> {
    if text.starts_with("ack-hybrid://") {
        return Some(ProviderId::Hybrid);
    }
    let rest = match text.strip_prefix("alicloud://") {
        Some(rest) => rest.split("://").next().unwrap_or(rest),
        None => text,
    };
    let mut parts = rest.split('.');
    let (region, id) = (parts.next()?, parts.next()?);
    Some(ProviderId::Instance { region, id, has_more: parts.next().is_some() })
}

/// Region and instance id in a name of that form, which guides once required for Nodes; `None` for another name.
#[must_use]
pub(crate) fn looks_like_one(name: &str) -> Option<(&str, &str)> {
    match parse(name) {
        Some(ProviderId::Instance { region, id, has_more: false }) if id.starts_with("i-") && region.contains('-') => {
            Some((region, id))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance<'a>(region: &'a str, id: &'a str, has_more: bool) -> ProviderId<'a> {
        ProviderId::Instance { region, id, has_more }
    }

    #[test]
    fn provider_ids_are_read_as_the_controller_does() {
        for (text, expected) in [
            ("cn-hangzhou.i-bp1x", Some(instance("cn-hangzhou", "i-bp1x", false))),
            ("alicloud://cn-hangzhou.i-bp1x", Some(instance("cn-hangzhou", "i-bp1x", false))),
            ("cn-hangzhou.i-bp1x.more", Some(instance("cn-hangzhou", "i-bp1x", true))),
            (".", Some(instance("", "", false))),
            ("aws:///us-east-1a/i-0.x", Some(instance("aws:///us-east-1a/i-0", "x", false))),
            ("ack-hybrid://cn-hangzhou/x", Some(ProviderId::Hybrid)),
            ("i-bp1x", None),
            ("aws:///us-east-1a/i-0a", None),
            ("alicloud://i-bp1x", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert_eq!(looks_like_one("cn-hangzhou.i-bp1x"), Some(("cn-hangzhou", "i-bp1x")));
        for other in ["worker-1.example.com", "cn-hangzhou", "i-bp1x", "cn-hangzhou.i-bp1x.internal"] {
            assert_eq!(looks_like_one(other), None, "{other}");
        }
    }
}
