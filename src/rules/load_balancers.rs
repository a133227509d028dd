//! Load balancers of the controllers: what exists, compared with what their Services ask for.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::aws::ingresses::PREFIX;
use crate::aws::load_balancers::{MadeFor, Maker};
use crate::aws::view::{RegionView, is_alive};
use crate::aws::{Instance, InstanceState, Listener, LoadBalancer, TargetGroup};
use crate::finding::{Fix, ResourceRef, Severity};
use crate::inventory::{Read, Tag};
use crate::kubernetes::{Document, DocumentKind, Ingress, Object, Service, covers_all_namespaces};
use crate::model;
use crate::model::existing::Balancer;
use crate::resource::ResourceKind;
use crate::tags;
use crate::text;

use super::aws::Context;
use super::safety::aws::manager;
use super::{CheckResult, Rule, Violation};

mod lb_addresses_differ;
mod lb_certificate_differs;
mod lb_deleted;
mod lb_deletion_protected;
mod lb_group_lacks_listener_port;
mod lb_internet_facing_without_route;
mod lb_left_behind;
mod lb_listener_missing;
mod lb_listener_not_requested;
mod lb_local_pods_no_target;
mod lb_node_not_registered;
mod lb_node_port_differs;
mod lb_node_skipped;
mod lb_not_active;
mod lb_of_two_controllers;
mod lb_pods_not_registered;
mod lb_registered_by_scaling_group;
mod lb_scheme_differs;
mod lb_service_linked_role_missing;
mod lb_subnets_differ;
mod lb_target_group_unused;
mod lb_target_not_node;
mod lb_target_type_differs;
mod lb_targets_unhealthy;
mod lb_user_group_deleted;
mod lb_zone_not_enabled;
mod limit_near;
mod sg_rule_stale;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/load_balancers.rs"));

const BALANCER: &[ResourceKind] = &[ResourceKind::LoadBalancer];

/// The lists that show which load balancers are the cluster's.
const BALANCERS: Read = Read::DescribeLoadBalancers;
const TAGS: Read = Read::DescribeLoadBalancerTags;

/// Names in a message before `and N more`.
const MOST_NAMES: usize = 5;

/// Runs a check on each load balancer of the cluster. One of which the check cannot know enough gives `None`, and does not
/// count as checked.
fn for_each(context: &Context<'_>, check: impl Fn(&Balancer<'_>) -> Option<Vec<Violation>>) -> CheckResult {
    if !context.existing.was_read {
        return CheckResult::not_applicable("the load balancers were not read");
    }
    if context.existing.balancers.is_empty() {
        return CheckResult::not_applicable("no load balancer belongs to a controller of the cluster");
    }
    let checked: Vec<Vec<Violation>> = context.existing.balancers.iter().filter_map(check).collect();
    if checked.is_empty() {
        return CheckResult::not_applicable(
            "what the load balancers are for was not given, or their details were not read",
        );
    }
    CheckResult::counted(checked.len(), checked.into_iter().flatten())
}

/// Runs a check on each load balancer that is the one of its Service.
fn for_each_of_service(
    context: &Context<'_>,
    check: impl Fn(&Balancer<'_>, &Service) -> Option<Vec<Violation>>,
) -> CheckResult {
    for_each(context, |one| {
        let service = one.service.filter(|service| service.is_load_balancer() && service.deleted_at.is_none())?;
        if one.is_meant() { check(one, service) } else { None }
    })
}

/// Runs a check on each load balancer of a Service, with the listeners that exist and those that the controller creates.
fn for_each_with_listeners(
    context: &Context<'_>,
    check: impl Fn(&Balancer<'_>, &[Listener], &[model::Listener]) -> Vec<Violation>,
) -> CheckResult {
    for_each_of_service(context, |one, _| {
        let asked = one.decision.as_ref().and_then(|decision| decision.listeners.known())?;
        Some(check(one, one.balancer.listeners.as_ref()?, asked))
    })
}

/// True if nothing that was read is a node of the cluster, launches one, or is its control plane.
pub(super) fn is_dead(context: &Context<'_>) -> bool {
    context.view.nodes.is_none_or(<[_]>::is_empty)
        && context.kubernetes.services.is_none()
        && context
            .view
            .regions
            .iter()
            .all(|region| region.members.is_empty() && is_alive(region.region, context.cluster_id()) == Some(false))
}

/// The tool that creates a resource from code, by its tags: a deletion belongs in that code.
pub(super) fn leaves_to_code(tags: Option<&[Tag]>) -> Option<String> {
    let held = tags.unwrap_or_default();
    let of_service = || held.iter().find(|tag| tag.key.starts_with("aws:") || tag.key.starts_with("crossplane"));
    manager(held).or_else(|| of_service().map(|tag| format!("the owner of the tag `{}`", text::printable(&tag.key))))
}

/// True if it is certain which Services and Ingresses exist: the API server was asked for all of them, and its Nodes are those
/// of the cluster.
pub(super) fn knows_objects(context: &Context<'_>) -> bool {
    let mut members = context.view.regions.iter().flat_map(|region| &region.members);
    members.any(|member| member.node.is_some())
        && context.kubernetes.is_whole
        && context.kubernetes.services.as_deref().is_some_and(covers_all_namespaces)
}

/// Reason for which a deletion is not offered.
pub(super) const OBJECTS_UNKNOWN: &str = "`--fix-leftovers` offers it only in a scan with --kube-context, or of its recording, which shows that no object needs it";

/// Reason for which what an AWS Load Balancer Controller made is not deleted by its name alone.
pub(super) const NAME_MAY_BE_USED: &str = "`--fix-leftovers` does not offer it: the AWS Load Balancer Controller of a cluster that runs in its VPC may have this name";

/// Live instances of a VPC; all of them if it is not known.
fn live_instances<'r>(region: &'r RegionView<'_>, vpc: Option<&str>) -> impl Iterator<Item = &'r Instance> {
    let in_vpc = move |one: &Instance| vpc.is_none() || one.vpc_id.as_deref() == vpc;
    region.region.instances.iter().filter(move |one| one.state.is_live() && in_vpc(one))
}

/// True if an instance runs in a VPC.
pub(super) fn has_instances(region: &RegionView<'_>, vpc: Option<&str>) -> bool {
    live_instances(region, vpc).next().is_some()
}

/// True if an instance that is none of the cluster's Nodes runs in a VPC: an AWS Load Balancer Controller there may have the
/// same `--cluster-name`.
pub(super) fn has_other_instances(region: &RegionView<'_>, vpc: Option<&str>) -> bool {
    live_instances(region, vpc).any(|one| !is_node(region, one))
}

/// True if an instance is one of the cluster's Nodes.
fn is_node(region: &RegionView<'_>, instance: &Instance) -> bool {
    region.members.iter().any(|one| one.instance.id == instance.id && one.node.is_some())
}

/// True if a controller keeps the targets of a group: an action of an Ingress may forward to one of the operator, which the
/// AWS Load Balancer Controller only names. Groups of the cloud controller may have no tags.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/ingress/config_types.go#TargetGroupTuple`.
fn is_kept(context: &Context<'_>, one: &Balancer<'_>, group: &TargetGroup) -> bool {
    let is_of_controller = || {
        let held = group.tags.as_deref();
        held.is_none_or(|held| !context.existing.names(context.cluster_id()).claims(held).is_empty())
    };
    one.claim().is_none_or(|claim| claim.maker != Maker::LoadBalancerController) || is_of_controller()
}

/// True if other clusters may register targets in a group as well.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/targetgroupbinding/multicluster_manager.go` (since 2.10).
fn has_other_clusters(context: &Context<'_>, one: &Balancer<'_>, group: &TargetGroup) -> bool {
    const NAME: &str = "multi-cluster-target-group";
    let objects = |kind| context.kubernetes.documents_by_kind(kind).map(Document::object);
    let is_bound = |binding: Object<'_>| {
        binding.text(&["spec", "targetGroupARN"]) == Some(&group.arn)
            && binding.switch(&["spec", "multiClusterTargetGroup"]) == Some(true)
    };
    let is_true = |value: &str| value == "true";
    let of_service = format!("service.beta.kubernetes.io/aws-load-balancer-{NAME}");
    let of_service = one.service.and_then(|service| service.annotations.get(&of_service));
    let of_ingress = format!("{PREFIX}{NAME}");
    objects(DocumentKind::TargetGroupBinding).any(is_bound)
        || of_service.is_some_and(|value| is_true(value))
        || one.claim().is_some_and(|claim| !matches!(claim.made_for, MadeFor::Service(..)))
            && objects(DocumentKind::Ingress)
                .any(|ingress| ingress.text(&["metadata", "annotations", &of_ingress]).is_some_and(is_true))
}

/// Target groups that a `TargetGroupBinding` names, by ARN or by name.
fn bound_target_groups<'c>(context: &'c Context<'_>) -> BTreeSet<&'c str> {
    let bindings = context.kubernetes.documents_by_kind(DocumentKind::TargetGroupBinding);
    bindings
        .flat_map(|document| {
            let object = document.object();
            [object.text(&["spec", "targetGroupARN"]), object.text(&["spec", "targetGroupName"])]
        })
        .flatten()
        .collect()
}

/// The time at which the evidence was read, if it states one.
fn read_at(context: &Context<'_>) -> Option<Timestamp> {
    let collected = context.view.inventory.collected_at.as_deref().and_then(|time| time.parse().ok());
    collected.max(context.kubernetes.seen_at)
}

/// True if a load balancer was created moments before, or still is: its controller may be at it.
fn is_new(context: &Context<'_>, one: &Balancer<'_>) -> bool {
    let created = one.balancer.created_at.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
    let is_young = match (created, read_at(context)) {
        (Some(created), Some(now)) => now.duration_since(created) < SETTLED,
        _ => false,
    };
    is_young || one.balancer.state.as_deref() == Some("provisioning")
}

/// Age from which a controller should have reacted.
const SETTLED: SignedDuration = SignedDuration::from_mins(15);

/// True if an instance is known and does not run: its target is about to leave, which is not a defect.
fn is_leaving(one: &Balancer<'_>, id: &str) -> bool {
    let runs = |state| matches!(state, InstanceState::Running | InstanceState::Pending);
    one.region.instance(id).is_some_and(|instance| !runs(instance.state))
}

/// A finding about a load balancer.
fn on_balancer(one: &Balancer<'_>, severity: Severity, message: String, fix: impl Into<String>) -> Violation {
    Violation::new(severity, resource(one), message, Fix::none(fix))
}

fn resource(one: &Balancer<'_>) -> ResourceRef {
    ResourceRef {
        arn: one.balancer.arn.clone(),
        ..in_region(one.region, ResourceKind::LoadBalancer, &one.balancer.name)
    }
}

fn group_resource(region: &RegionView<'_>, group: &TargetGroup) -> ResourceRef {
    ResourceRef { arn: Some(group.arn.clone()), ..in_region(region, ResourceKind::TargetGroup, &group.name) }
}

fn in_region(region: &RegionView<'_>, kind: ResourceKind, id: &str) -> ResourceRef {
    ResourceRef {
        region: Some(region.region.name.clone()),
        account_id: Some(region.account.account_id.clone()),
        ..ResourceRef::bare(kind, id)
    }
}

/// "`NAME` (Service `shop/web`)".
fn described(one: &Balancer<'_>) -> String {
    let name = text::printable(&one.balancer.name);
    match one.claim() {
        Some(claim) => format!("`{name}` ({})", text::printable(&claim.made_for.describe())),
        None => format!("`{name}`"),
    }
}

/// The Service to which an Ingress sends the traffic of a target group; `None` if it was not given, or is not certain.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/ingress/model_build_target_group.go#buildTargetGroupResourceID`
/// (`NAMESPACE/INGRESS-SERVICE:PORT`).
fn service_behind<'c>(context: &Context<'c>, group: &TargetGroup) -> Option<&'c Service> {
    let resource = tags::value(group.tags.as_deref()?, "ingress.k8s.aws/resource")?;
    let (namespace, rest) = resource.split_once('/')?;
    let (names, _) = rest.rsplit_once(':')?;
    let ingresses = context.kubernetes.documents_by_kind(DocumentKind::Ingress).map(Document::object);
    let here = ingresses.filter(|one| one.text(&["metadata", "namespace"]).unwrap_or("default") == namespace);
    let names: BTreeSet<&str> =
        here.filter_map(|one| names.strip_prefix(one.text(&["metadata", "name"])?)?.strip_prefix('-')).collect();
    let mut found = context.kubernetes.services.iter().flatten();
    let mut found = found.by_ref().filter(|one| one.namespace == namespace && names.contains(one.name.as_str()));
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// True if the status of a Service has the host name of a load balancer.
fn is_address_of(service: &Service, balancer: &LoadBalancer) -> bool {
    service.ingress.iter().any(|address| match address {
        Ingress::Hostname(host) => host.eq_ignore_ascii_case(&balancer.dns_name),
        Ingress::Address(_) => false,
    })
}

/// The first of some names, and the number of the others.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: BTreeSet<&str> = names.into_iter().collect();
    let first: Vec<String> = names.iter().take(MOST_NAMES).map(|name| text::printable(name).into_owned()).collect();
    match names.len().checked_sub(MOST_NAMES).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", first.join(", ")),
        None => first.join(", "),
    }
}
