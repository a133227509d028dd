//! Resources that a cluster left behind, as far as EC2 alone shows it. Nothing here is
//! ever deleted automatically, and only `owned` (or the legacy tag, which implies it) qualifies.

use super::aws::Context;
use super::{CheckResult, Rule, Violation};
use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::finding::{Cause, Fix, Severity};
use crate::inventory::Read;
use crate::tags;
use crate::text;

mod orphan_eni;
mod orphan_network;
mod orphan_security_group;
mod orphan_volume;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/orphans.rs"));

const INSTANCES: Read = Read::DescribeInstances;

/// True if the cluster has no live instance in the region.
fn is_dead(context: &Context<'_>, region: &RegionView<'_>) -> bool {
    region.members.is_empty()
        && !region
            .region
            .instances
            .iter()
            .any(|i| i.state.is_live() && tags::has_cluster_tag(&i.tags, context.cluster_id()))
}

/// One finding for all resources of one kind, as one deletion left them behind.
fn one(region: &RegionView<'_>, found: &[Tagged<'_>], message: String, fix: &str) -> CheckResult {
    let Some(first) = found.first() else { return CheckResult::clean() };
    let others = found.iter().skip(1).map(|resource| region.bare(resource.kind(), resource.id()));
    vec![
        Violation::new(Severity::Warning, region.resource(*first), message, Fix::none(fix))
            .related(others)
            .cause(Cause::Group(first.kind().name().into())),
    ]
    .into()
}

fn left_by(context: &Context<'_>, number: usize, noun: &str, verb: &str) -> String {
    format!(
        "{} {} by `{}`, which has no live instance here",
        text::count(number, noun),
        if number == 1 { format!("is {verb}") } else { format!("are {verb}") },
        text::printable(context.cluster_id())
    )
}
