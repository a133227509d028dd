//! The quota of rules of a security group.

use std::collections::BTreeSet;

use aws_sdk_servicequotas::Client;

use crate::aws::{NetworkLimits, RULES_PER_GROUP, Region, quota};
use crate::inventory::{Gap, Read};
use crate::kubernetes::{DocumentKind, Evidence};
use crate::model::limits::{DEFAULT_RULES, counted};

use super::call::Caller;

/// Rules from which the quota matters: half of the default, which accounts can only raise.
const MANY: usize = DEFAULT_RULES / 2;

/// True if a security group of some VPCs, or of any without them, has many inbound rules or names a prefix list, whose size
/// is not known yet.
pub(super) fn is_crowded(region: &Region, vpcs: &BTreeSet<String>) -> bool {
    let mut groups = region
        .security_groups
        .iter()
        .filter(|group| vpcs.is_empty() || group.vpc_id.as_ref().is_some_and(|vpc| vpcs.contains(vpc)));
    groups.any(|group| {
        let sources = group.ingress.iter().flat_map(|one| one.ranges.iter().chain(&one.groups));
        let sources: Vec<&str> = sources.map(|one| one.source.as_str()).collect();
        sources.iter().any(|source| source.starts_with("pl-"))
            || counted(sources.into_iter(), &region.prefix_lists) > MANY
    })
}

/// Annotations with source ranges or prefix lists.
/// Source: kubernetes-sigs/aws-load-balancer-controller `docs/guide/service/annotations.md`, `docs/guide/ingress/annotations.md`.
const RANGES: [&str; 3] = ["/inbound-cidrs", "load-balancer-source-ranges", "-prefix-lists"];

/// Ports of an Ingress, which usually are 80 and 443.
const PORTS: usize = 2;

/// True if a Service or an Ingress names many source ranges, for each of its ports.
pub(super) fn has_many_ranges(evidence: &Evidence) -> bool {
    let listed = |key: &str, value: &str| {
        if RANGES.iter().any(|name| key.ends_with(name)) { value.split(',').count() } else { 0 }
    };
    let of_services = evidence.services.iter().flatten().map(|service| {
        let annotated = service.annotations.iter().map(|(key, value)| listed(key, value)).max();
        annotated.unwrap_or_default().max(service.source_ranges.len()) * service.ports.len()
    });
    let of_ingresses = evidence.documents_by_kind(DocumentKind::Ingress).map(|document| {
        let annotations = document.object().members(&["metadata", "annotations"]);
        let counts = annotations.map(|(key, value)| value.scalar().map_or(0, |value| listed(&key.value, &value)));
        counts.max().unwrap_or_default() * PORTS
    });
    of_services.chain(of_ingresses).any(|rules| rules > MANY)
}

/// Reads the quota. An account with the default value leaves it unread.
/// Source: Service Quotas API Reference, `GetServiceQuota`: `NoSuchResourceException` if only the default is available.
pub(super) async fn read(
    client: &Client,
    region: &str,
    found: &mut Option<NetworkLimits>,
    caller: &Caller,
) -> Option<Gap> {
    const API: Read = Read::GetServiceQuota;
    let request = || client.get_service_quota().service_code("vpc").quota_code(RULES_PER_GROUP).send();
    match caller.call(API.action(), region, request).await {
        Ok(output) => {
            if let Some(value) = output.quota.and_then(|quota| quota.value).and_then(quota) {
                found.get_or_insert_default().rules_per_group = Some(value);
            }
            None
        }
        Err(error) if error.code == "NoSuchResourceException" => None,
        Err(error) => Some(error.gap(API, region, None)),
    }
}
