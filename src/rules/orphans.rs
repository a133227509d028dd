//! Resources that a cluster left behind, as far as EC2 alone shows it. Nothing here is
//! ever deleted automatically, and only `owned` (or the legacy tag, which implies it) qualifies.

use super::aws::Context;
use super::{CheckResult, Rule, Violation};
use crate::aws::view::{RegionView, is_alive};
use crate::aws::{SecurityGroup, Tagged};
use crate::finding::{Cause, Fix, Severity};
use crate::inventory::Read;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object, Service};
use crate::model::default_load_balancer;
use crate::tags;
use crate::text;

mod orphan_elastic_ip;
mod orphan_eni;
mod orphan_network;
mod orphan_security_group;
mod orphan_volume;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/orphans.rs"));

const INSTANCES: Read = Read::DescribeInstances;

/// Reason for which it is not known if a cluster lives in the region.
const LAUNCHES_UNREAD: &str =
    "the launch templates of an Auto Scaling group, which may be the cluster's, were not read";

/// True if nothing shows that the cluster lives in the region. `None` if an Auto Scaling group may launch its nodes.
fn is_dead(context: &Context<'_>, region: &RegionView<'_>) -> Option<bool> {
    if !region.members.is_empty() {
        return Some(false);
    }
    let alive = is_alive(region.region, context.cluster_id());
    // Without a list of groups, the fixes of these rules ask to check them.
    alive.map(|alive| !alive).or(region.region.auto_scaling_groups.is_none().then_some(true))
}

/// One finding for all resources of one kind, as one deletion left them behind.
fn one(region: &RegionView<'_>, found: &[Tagged<'_>], severity: Severity, message: String, fix: &str) -> CheckResult {
    let Some(first) = found.first() else { return CheckResult::clean() };
    let others = found.iter().skip(1).map(|resource| region.bare(resource.kind(), resource.id()));
    vec![
        Violation::new(severity, region.resource(*first), message, Fix::none(fix))
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

/// True if the Service or Ingress that a group was created for exists: a controller creates the group before the load
/// balancer, and deletes it after it. The group that the AWS Load Balancer Controller shares serves all of its objects.
pub(super) fn serves_an_object(evidence: &Evidence, group: &SecurityGroup) -> bool {
    let services = || evidence.services.iter().flatten().filter(|service| !service.uid.is_empty());
    let ingresses = || evidence.documents_by_kind(DocumentKind::Ingress).map(Document::object);
    let is_of_service = |stack: &str| services().any(|service| service.full_name() == stack);
    let is_of_ingress = |stack: &str| {
        let (namespace, name) = stack.split_once('/').unwrap_or_default();
        let text = |object: Object<'_>, key: &str| object.text(&["metadata", key]).map(str::to_owned);
        ingresses().any(|one| {
            text(one, "namespace").as_deref() == Some(namespace) && text(one, "name").as_deref() == Some(name)
        })
    };
    let is_of_classic =
        || services().any(|service| group.name == format!("k8s-elb-{}", default_load_balancer(&service.uid)));
    let value = |key: &str| tags::value(&group.tags, key);
    match (value("service.k8s.aws/stack"), value("ingress.k8s.aws/stack")) {
        (Some(stack), _) => is_of_service(stack),
        // An explicit group of Ingresses has no namespace.
        (None, Some(stack)) if !stack.contains('/') => ingresses().next().is_some(),
        (None, Some(stack)) => is_of_ingress(stack),
        (None, None) if value("elbv2.k8s.aws/resource") == Some("backend-sg") => {
            ingresses().next().is_some() || services().any(Service::is_load_balancer)
        }
        (None, None) => is_of_classic(),
    }
}
