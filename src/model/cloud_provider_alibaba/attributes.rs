//! Values of annotations.

use std::collections::BTreeMap;

use crate::model::decision::{Stop, ZoneMapping};

/// The additional tags of a load balancer: the text after a second equals sign is dropped.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/annotation/annotations.go#GetLoadBalancerAdditionalTags`.
pub(super) fn additional_tags(text: &str) -> BTreeMap<String, String> {
    let pairs = text.trim().split(',').map(str::trim).filter_map(|pair| {
        let mut parts = pair.split('=');
        let key = parts.next().filter(|key| !key.is_empty())?;
        Some((key.to_owned(), parts.next().unwrap_or_default().to_owned()))
    });
    pairs.collect()
}

/// The zones of a Network Load Balancer: `ZONE:VSWITCH[:ADDRESS[:ALLOCATION]]`, separated by commas. White space stays.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/nlbv2/loadbalancer.go#parseZoneMappings`.
pub(super) fn zone_mappings(text: &str) -> Result<Vec<ZoneMapping>, Stop> {
    let mapping = |item: &str| {
        let mut parts = item.split(':').map(str::to_owned);
        let (zone, vswitch) = (parts.next()?, parts.next()?);
        let mut optional = || parts.next().filter(|part| !part.is_empty());
        Some(ZoneMapping { zone, vswitch, address: optional(), allocation: optional() })
    };
    let mappings: Option<Vec<ZoneMapping>> = text.split(',').map(mapping).collect();
    mappings.ok_or_else(|| {
        Stop::Error(format!("ZoneMapping format error, expect [zone-a:vsw-id-1,zone-b:vsw-id-2], got {text}"))
    })
}
