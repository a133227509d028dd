//! Resources in Alibaba Cloud that a cluster without nodes left behind. Nothing here is ever deleted automatically.

use std::collections::BTreeSet;

use super::alibaba::{self, Context};
use super::{CheckResult, Rule, Violation};
use crate::alibaba::{CLUSTER_TAG, DEFAULT_CLUSTER_ID, NetworkInterface, RegionView};
use crate::finding::{Cause, Fix, Severity};
use crate::resource::ResourceKind;
use crate::tags::{self, Tag};
use crate::text;

mod ali_orphan_disk;
mod ali_orphan_elastic_ip;
mod ali_orphan_load_balancer;
mod ali_orphan_network_interface;
mod ali_orphan_security_group;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_leftover.rs"));

/// A resource that is left, by id and name.
type Left<'r> = (&'r str, Option<&'r str>);

/// Reason that the rules do not apply in a region; `None` if nothing shows that the cluster lives there.
fn lives(context: &Context<'_>, view: &RegionView<'_>) -> Option<&'static str> {
    if context.cluster_id() == DEFAULT_CLUSTER_ID {
        return Some("the cluster id is the default: several clusters may have it");
    }
    if context.view.has_members_in(&view.region.name) {
        return Some("the cluster has nodes in the region");
    }
    if context.kubernetes.has_objects() {
        return Some("the state of the cluster in Kubernetes is given: it exists");
    }
    alibaba::has_unclaimed_instances(view)
        .then_some("instances without the tag of a cluster may be its nodes: give the Nodes with --nodes")
}

/// True if a resource was made for the cluster: by a component of Alibaba Cloud, or by an installer.
fn is_of(held: &[Tag], cluster_id: &str) -> bool {
    match tags::value(held, CLUSTER_TAG) {
        Some(id) => id == cluster_id,
        None => {
            tags::has_cluster_tag_owned(held, cluster_id) || tags::value(held, tags::LEGACY_TAG) == Some(cluster_id)
        }
    }
}

/// One finding for all resources of one kind, of as many as were checked, as one deletion left them behind.
fn one(
    context: &Context<'_>,
    view: &RegionView<'_>,
    (kind, checked): (ResourceKind, usize),
    left: &[Left<'_>],
    (noun, fix): (&str, String),
) -> CheckResult {
    let Some((id, name)) = left.first() else { return CheckResult::counted(checked, Vec::new()) };
    let verb = if left.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} {verb} left by `{}`, which has no instance in {}",
        text::count(left.len(), noun),
        text::printable(context.cluster_id()),
        view.region.name
    );
    let others = left.iter().skip(1).map(|(id, _)| alibaba::resource(view, kind, id, None).to_bare());
    let violation =
        Violation::new(Severity::Warning, alibaba::resource(view, kind, id, *name), message, Fix::none(fix));
    CheckResult::counted(checked, vec![violation.related(others).cause(Cause::Group(kind.name().into()))])
}

/// The vSwitches and security groups that cannot be deleted because of interfaces.
/// Source: VPC documentation, "Delete a vSwitch"; ECS documentation, "Delete a security group".
fn blocked(interfaces: &[&NetworkInterface]) -> String {
    let vswitches = interfaces.iter().filter_map(|one| one.vswitch_id.as_deref());
    block(vswitches, interfaces.iter().flat_map(|one| &one.security_groups).map(String::as_str))
}

/// What cannot be deleted because of the resources that are left: each once, and in order.
pub(super) fn block<'r>(places: impl Iterator<Item = &'r str>, groups: impl Iterator<Item = &'r str>) -> String {
    let (places, groups): (BTreeSet<&str>, BTreeSet<&str>) = (places.collect(), groups.collect());
    let ids: Vec<&str> = places.into_iter().chain(groups).collect();
    if ids.is_empty() { String::new() } else { format!("; they block the deletion of {}", text::list(&ids, 6)) }
}
