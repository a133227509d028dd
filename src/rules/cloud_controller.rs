//! The cloud controller, mostly that of AWS: its presence, placement, flags and rights. All of these rules need
//! workloads, or values of its chart.

use std::borrow::Cow;

use super::kubernetes_context::NODES_NOT_GIVEN;
use super::{ANY_CLOUD, AWS, CheckResult, KubernetesContext, Rule, Violation};
use crate::finding::{Fix, ResourceRef, Severity};
use crate::inventory::Provider;
use crate::kubernetes::{CloudController, DocumentKind, Place, Rights, UNINITIALIZED, declared_beside, declared_nodes};
use crate::nodes::{KubernetesNode, Taint};
use crate::resource::ResourceKind;
use crate::text;

mod ccm_absent;
mod ccm_allocate_node_cidrs;
mod ccm_authentication_role_elsewhere;
mod ccm_cloud_config_not_mounted;
mod ccm_cloud_provider_flag;
mod ccm_cloud_routes_without_cidr;
mod ccm_cluster_name;
mod ccm_controllers_unknown;
mod ccm_dns_policy;
mod ccm_duplicate;
mod ccm_flag_unknown;
mod ccm_helm_selector_merged;
mod ccm_image_registry;
mod ccm_no_leader_election;
mod ccm_not_host_network;
mod ccm_rbac_missing;
mod ccm_rbac_serviceaccount_get;
mod ccm_rbac_subject_mismatch;
mod ccm_rbac_wide;
mod ccm_selector_matches_no_node;
mod ccm_toleration_missing;
mod ccm_version_skew;
mod controller_lease_stale;
mod controller_manifest_obsolete;
mod node_addresses_empty;
mod node_controller_disabled;
mod node_exclude_label_false;
mod node_excluded_worker;
mod node_provider_id_missing;
mod node_uninitialized_stuck;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/cloud_controller.rs"));

/// Reason that these rules do not apply.
const NO_CONTROLLER: &str = "neither a workload nor chart values of such a cloud controller were given";

/// Runs a check on each AWS cloud controller.
fn for_each_aws(context: &KubernetesContext<'_>, check: impl Fn(&CloudController) -> Option<Violation>) -> CheckResult {
    for_each_in_clouds(context, AWS, check)
}

/// Runs a check on each cloud controller of the audited cloud, or of any cloud if none is audited.
fn for_each_audited(
    context: &KubernetesContext<'_>,
    check: impl Fn(&CloudController) -> Option<Violation>,
) -> CheckResult {
    match &context.cloud {
        Some(cloud) => for_each_in_clouds(context, std::slice::from_ref(cloud), check),
        None => for_each_in_clouds(context, ANY_CLOUD, check),
    }
}

fn for_each_in_clouds(
    context: &KubernetesContext<'_>,
    clouds: &[Provider],
    check: impl Fn(&CloudController) -> Option<Violation>,
) -> CheckResult {
    let all = context.evidence.controllers().iter().filter(|controller| clouds.contains(&controller.cloud));
    let all: Vec<&CloudController> = all.collect();
    if all.is_empty() {
        return CheckResult::not_applicable(NO_CONTROLLER);
    }
    CheckResult::counted(all.len(), all.into_iter().filter_map(check))
}

/// Reason that the rights of a controller are not known; `None` if each role that is bound to it was given.
pub(super) fn rights_not_given(context: &KubernetesContext<'_>, clouds: &[Provider]) -> Option<&'static str> {
    let mut of_clouds = context.evidence.controllers().iter().filter(|one| clouds.contains(&one.cloud)).peekable();
    of_clouds.peek()?;
    let is_known = |controller: &CloudController| {
        let workload = &controller.workload;
        let rights = Rights::new(context.evidence, &workload.namespace, &workload.service_account);
        let replaces_rules = controller.chart.as_ref().is_some_and(|chart| chart.role_rules.is_some());
        (replaces_rules || !rights.bindings.is_empty()) && !rights.has_unknown
    };
    (!of_clouds.any(is_known)).then_some(RIGHTS_NOT_GIVEN)
}

/// Reason that bindings cannot be checked; `None` if there are bindings.
fn bindings_not_given(context: &KubernetesContext<'_>) -> Option<&'static str> {
    let mut bindings = context.evidence.documents_by_kind(DocumentKind::RoleBinding);
    bindings.next().is_none().then_some("neither RoleBindings nor ClusterRoleBindings were given")
}

/// Reason that the rights of a controller are not checked.
const RIGHTS_NOT_GIVEN: &str =
    "the bindings of the controller's ServiceAccount, or a role that they bind, were not given";

/// A finding on a controller, at the place that shows it.
pub(super) fn on(
    controller: &CloudController,
    severity: Severity,
    place: &Place,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Violation {
    let resource = ResourceRef::bare(ResourceKind::Workload, controller.name());
    Violation::new(severity, resource, message, Fix::none(fix)).at(place)
}

/// A finding on the rights that the `ServiceAccount` of a controller lacks: cluster-wide verbs on resources of a group,
/// and those on leases in kube-system if it elects a leader.
pub(super) fn lacking<'n>(
    controller: &CloudController,
    rights: &Rights<'_>,
    needed: impl Iterator<Item = (&'n str, &'n str, &'n [&'n str])>,
) -> Option<Violation> {
    let workload = &controller.workload;
    let needed = needed.flat_map(|(group, resource, verbs)| verbs.iter().map(move |verb| (group, resource, *verb)));
    let mut missing: Vec<String> = needed
        .filter(|(group, resource, verb)| !rights.allows(verb, group, resource, None))
        .map(|(_, resource, verb)| format!("{verb} {resource}"))
        .collect();
    let leads = controller.is_on("leader-elect", true);
    let leases = ["get", "create", "update"]
        .into_iter()
        .filter(|verb| leads && !rights.allows(verb, "coordination.k8s.io", "leases", Some("kube-system")));
    missing.extend(leases.map(|verb| format!("{verb} leases")));
    if missing.is_empty() {
        return None;
    }
    let name = format!("{}/{}", workload.namespace, workload.service_account);
    let message = format!("ServiceAccount {} may not {}", text::printable(&name), text::list(&missing, 6));
    let of_chart = controller.chart.as_ref().and_then(|chart| chart.role_rules.as_ref());
    let (place, fix) = match (of_chart, rights.bindings.first()) {
        (Some((_, place)), _) => {
            (place.clone(), "add them to `clusterRoleRules`: the list replaces the rules of the chart")
        }
        (None, Some(binding)) => (binding.object().head(), "add the rights to its ClusterRole"),
        (None, None) => (controller.place().clone(), "add the rights to its ClusterRole"),
    };
    Some(on(controller, Severity::Error, &place, message, fix))
}

/// The nodes on which a controller may run: those that were given, or else those that a configuration declares.
fn nodes<'e>(context: &'e KubernetesContext<'_>, controller: &CloudController) -> Option<Cow<'e, [KubernetesNode]>> {
    // Files without a cluster may belong to several clusters; those in one file belong to one.
    let beside = || declared_beside(context.evidence, controller.place());
    if let Some(declared) = context.cloud.is_none().then(beside).flatten() {
        return Some(Cow::Owned(declared));
    }
    match &context.evidence.nodes {
        // A manifest may declare a Node; only a Node of a running cluster has a kubelet version.
        Some(nodes) if nodes.iter().all(|node| !node.kubelet_version.is_empty()) => Some(Cow::Borrowed(nodes)),
        _ => declared_nodes(context.evidence, controller.place()).map(Cow::Owned),
    }
}

/// Reason that the placement of the controllers is not checked; `None` if the nodes of one of them are known.
fn nodes_not_given(context: &KubernetesContext<'_>) -> Option<&'static str> {
    let mut all = context.evidence.controllers().iter();
    (!all.any(|controller| nodes(context, controller).is_some())).then_some(NODES_NOT_GIVEN)
}

/// The taint that every node has until its cloud controller has seen it.
fn uninitialized() -> Taint {
    Taint::new(UNINITIALIZED, "true", "NoSchedule")
}

/// True if a taint describes a temporary state: the node is not ready, or about to be removed.
fn is_passing(taint: &Taint) -> bool {
    let key = taint.key.as_str();
    key.starts_with("node.kubernetes.io/")
        || key.starts_with("node.cloudprovider.kubernetes.io/")
        || key.starts_with("ToBeDeletedBy")
        || key.starts_with("DeletionCandidateOf")
}

/// A selector as it is written.
fn selector(controller: &CloudController) -> String {
    let workload = &controller.workload;
    let mut parts: Vec<String> = workload
        .node_selector
        .iter()
        .map(|(key, value)| format!("{}: {}", key.value, if value.is_empty() { "\"\"" } else { value.as_str() }))
        .collect();
    if let Some(terms) = &workload.required_affinity {
        let terms: Vec<String> = terms
            .iter()
            .map(|term| {
                let expressions = term.expressions.iter().map(|expression| {
                    let values = expression.values.join(", ");
                    let values = if values.is_empty() { values } else { format!(" {values}") };
                    format!("{} {}{values}", expression.key, expression.operator)
                });
                expressions.collect::<Vec<String>>().join(" and ")
            })
            .collect();
        parts.push(format!("({})", terms.join(" or ")));
    }
    parts.join(", ")
}
