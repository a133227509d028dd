//! Refuses answers that the SDK would mistake for complete ones: it parses a body that was cut in the middle as success
//! with what it saw so far (an instance without its cluster tag), and an answer without its list as an empty one.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    AfterDeserializationInterceptorContextRef, BeforeDeserializationInterceptorContextMut,
};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use http_body_util::Limited;

/// Largest body of an answer that is accepted: 64 MiB, fifty times a full page of instances.
const MAX_BODY_BYTES: usize = 64 << 20;

/// An answer that cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[error("the answer of {operation} {problem}")]
pub(super) struct Untrusted {
    operation: String,
    problem: &'static str,
}

/// Checks the raw body of every successful response of the services that answer in XML.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strict;

/// Limits the body of an answer in JSON, which cannot be parsed if it was cut off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounded;

/// Element that holds the list of each operation: an answer without it means "unknown", not "none".
/// Two versions of Elastic Load Balancing have an operation of the same name.
const LISTS: &[(&str, &str)] = &[
    ("DescribeAccountAttributes", "accountAttributeSet"),
    ("DescribeAccountLimits", "Limits"),
    ("DescribeAddresses", "addressesSet"),
    ("DescribeAutoScalingGroups", "AutoScalingGroups"),
    ("DescribeAvailabilityZones", "availabilityZoneInfo"),
    ("DescribeDhcpOptions", "dhcpOptionsSet"),
    ("DescribeIamInstanceProfileAssociations", "iamInstanceProfileAssociationSet"),
    ("DescribeImages", "imagesSet"),
    ("DescribeInstances", "reservationSet"),
    ("DescribeInstanceHealth", "InstanceStates"),
    ("DescribeInstanceRefreshes", "InstanceRefreshes"),
    ("DescribeLaunchTemplateVersions", "launchTemplateVersionSet"),
    ("DescribeLifecycleHooks", "LifecycleHooks"),
    ("DescribeListeners", "Listeners"),
    ("DescribeLoadBalancerAttributes", "Attributes"),
    ("DescribeLoadBalancers", "LoadBalancerDescriptions"),
    ("DescribeLoadBalancers", "LoadBalancers"),
    ("DescribeManagedPrefixLists", "prefixListSet"),
    ("DescribeNetworkInterfaces", "networkInterfaceSet"),
    ("DescribeRegions", "regionInfo"),
    ("DescribeRouteTables", "routeTableSet"),
    ("DescribeSecurityGroups", "securityGroupInfo"),
    ("DescribeSubnets", "subnetSet"),
    ("DescribeTags", "TagDescriptions"),
    ("DescribeTargetGroups", "TargetGroups"),
    ("DescribeTargetHealth", "TargetHealthDescriptions"),
    ("DescribeVolumes", "volumeSet"),
    ("DescribeVpcs", "vpcSet"),
    ("GetAccountAuthorizationDetails", "RoleDetailList"),
    ("GetInstanceProfile", "Roles"),
    ("ListAttachedRolePolicies", "AttachedPolicies"),
    ("ListOpenIDConnectProviders", "OpenIDConnectProviderList"),
    ("ListPolicyVersions", "Versions"),
    ("ListRolePolicies", "PolicyNames"),
    ("ListRoles", "Roles"),
];

/// Operations whose answer reports in `return` whether they did anything.
const WRITES: &[&str] = &["CreateTags", "DeleteTags", "ModifyInstanceAttribute", "ModifyVpcAttribute"];

#[aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint]
impl Intercept for Strict {
    fn name(&self) -> &'static str {
        "TagauditStrict"
    }

    /// Limits the body: the SDK reads it to its end before any check, and an endless one would fill the memory.
    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        limit(context);
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        settings: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response();
        if !response.status().is_success() {
            return Ok(());
        }
        let operation = settings.load::<Metadata>().map(Metadata::name).unwrap_or_default();
        let Some(body) = response.body().bytes() else {
            return Err(Box::new(Untrusted { operation: operation.to_owned(), problem: "cannot be inspected" }));
        };
        check(operation, body).map_err(Into::into)
    }
}

#[aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint]
impl Intercept for Bounded {
    fn name(&self) -> &'static str {
        "TagauditBounded"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        limit(context);
        Ok(())
    }
}

fn limit(context: &mut BeforeDeserializationInterceptorContextMut<'_>) {
    let body = std::mem::replace(context.response_mut().body_mut(), SdkBody::taken());
    *context.response_mut().body_mut() = SdkBody::from_body_1_x(Limited::new(body, MAX_BODY_BYTES));
}

fn check(operation: &str, body: &[u8]) -> Result<(), Untrusted> {
    let refuse = |problem| Err(Untrusted { operation: operation.to_owned(), problem });
    let end = body.trim_ascii_end();
    if !end.ends_with(format!("</{operation}Response>").as_bytes()) {
        return refuse("ends before its closing tag: it was cut off in transit");
    }
    // The SDK ignores it: a write that reports that it did nothing would count as done.
    if memchr::memmem::find(body, b"<return>false</return>").is_some() && WRITES.contains(&operation) {
        return refuse("reports that nothing was done");
    }
    let mut lists = LISTS.iter().filter(|(name, _)| *name == operation).map(|(_, list)| *list).peekable();
    let has = |list: &str| {
        let element = format!("<{list}");
        let found = memchr::memmem::find(body, element.as_bytes()).and_then(|at| body.get(at + element.len()));
        found.is_some_and(|next| matches!(next, b'>' | b'/' | b' '))
    };
    if lists.peek().is_some() && !lists.any(has) {
        return refuse("contains no list, not even an empty one");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_bodies_and_missing_lists_are_refused() {
        let whole = b"<?xml version=\"1.0\"?><DescribeSubnetsResponse><subnetSet/></DescribeSubnetsResponse>\n";
        assert!(check("DescribeSubnets", whole).is_ok());
        for cut in 1..whole.len() - 2 {
            assert!(check("DescribeSubnets", &whole[..cut]).is_err(), "{cut}");
        }
        assert!(check("DescribeSubnets", b"<DescribeSubnetsResponse></DescribeSubnetsResponse>").is_err());
        assert!(check("DescribeSubnets", b"<DescribeSubnetsResponse><subnetSetX/></DescribeSubnetsResponse>").is_err());
        for list in ["LoadBalancers", "LoadBalancerDescriptions"] {
            let body = format!("<DescribeLoadBalancersResponse><{list}/></DescribeLoadBalancersResponse>");
            assert!(check("DescribeLoadBalancers", body.as_bytes()).is_ok());
        }
        let without = b"<DescribeLoadBalancersResponse></DescribeLoadBalancersResponse>";
        assert!(check("DescribeLoadBalancers", without).is_err());
        assert!(check("DescribeSubnets", b"<html></html>").is_err());
        let done = |said: bool| format!("<CreateTagsResponse><return>{said}</return></CreateTagsResponse>");
        assert!(check("CreateTags", done(true).as_bytes()).is_ok());
        assert!(check("CreateTags", done(false).as_bytes()).is_err());
        assert!(check("GetCallerIdentity", b"<GetCallerIdentityResponse></GetCallerIdentityResponse>").is_ok());
    }
}
