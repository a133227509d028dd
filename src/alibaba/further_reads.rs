//! Reads that only some objects of a cluster need.

use std::collections::BTreeSet;

use crate::inventory::Read;
use crate::kubernetes::{Document, DocumentKind, Evidence};
use crate::service_annotations::alibaba as annotations;

/// Reads that are made only where an object of a cluster needs them, or for a recording of everything.
pub(crate) const FURTHER: [Read; 5] = [
    Read::AlbDescribeZones,
    Read::AlbListLoadBalancers,
    Read::DescribeEipAddresses,
    Read::NlbDescribeZones,
    Read::SlbDescribeAvailableResource,
];

/// Those of [`FURTHER`] that the objects of a cluster need: the zones of the products in which they state zones, and the
/// load balancers that an `AlbConfig` may name or have left behind.
pub(crate) fn further_reads(evidence: &Evidence) -> BTreeSet<Read> {
    let mut reads = BTreeSet::new();
    for service in evidence.services.iter().flatten() {
        let states = |name: &str| !annotations::get(service, name).is_empty();
        if states("master-zoneid") || states("slave-zoneid") {
            reads.insert(Read::SlbDescribeAvailableResource);
        }
        if states("zone-maps") {
            reads.insert(Read::NlbDescribeZones);
        }
    }
    // With all of them, those that are left behind are known.
    if evidence.document_lists.contains(&DocumentKind::AlbConfig) {
        reads.insert(Read::AlbListLoadBalancers);
    }
    for config in evidence.documents_by_kind(DocumentKind::AlbConfig).map(Document::object) {
        let is_named = config.text(&["spec", "config", "id"]).is_some_and(|id| !id.is_empty());
        reads.insert(if is_named { Read::AlbListLoadBalancers } else { Read::AlbDescribeZones });
    }
    reads
}
