//! Ingresses for Application Load Balancer of Alibaba Cloud, their classes and `AlbConfig` objects. The controller is a part of the
//! open cloud controller, or a Deployment of ACK.

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;
use super::alibaba_node::is_cared_for;
use crate::alibaba::{ALB_CONFIG_TAG, ApplicationLoadBalancer, CLUSTER_TAG, ClusterView, INGRESS_TAG, RegionView};
use crate::aws::ingresses::is_deleted;
use crate::controller::alibaba::AlibabaController;
use crate::controller::alibaba_companion::image_parts;
use crate::inventory::kubernetes::List;
use crate::kubernetes::{DocumentKind, Evidence, Object};
use crate::tags;

mod ali_alb_class_config_missing;
mod ali_alb_config_not_reusable;
mod ali_alb_config_unusable;
mod ali_alb_config_zone_unavailable;
mod ali_alb_duplicate;
mod ali_alb_leftover;
mod ali_ingress_unserved;

/// Lists that these rules use.
const LISTS: &[List] = &[List::AlbConfigs, List::Ingresses, List::IngressClasses];

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_ingress.rs"));

/// Controller of the `IngressClass` objects.
/// Source: Container Service for Kubernetes documentation, "ALB Ingress quick start".
const CONTROLLER: &str = "ingress.k8s.alibabacloud/alb";

/// Class of the open controller, whatever its `IngressClass` states.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/ingress/reconcile/store/common.go#IngressClassName`.
const CLASS: &str = "alb";

/// Name of the separate controller: of its image, its Deployment and its account.
/// Source: Container Service for Kubernetes documentation, "Manage the ALB Ingress controller".
const SEPARATE: &str = "alb-ingress-controller";

/// Name of an `AlbConfig`, which the open controller defines in namespaces.
fn config_name(config: Object<'_>) -> String {
    let text = |key: &str| config.text(&["metadata", key]).filter(|text| !text.is_empty());
    let name = text("name").unwrap_or_default();
    text("namespace").map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// The load balancers that carry the tags of the cluster's controller in a region, by the `AlbConfig` that they were made
/// for: its namespace and name.
fn by_config<'v>(view: &'v RegionView<'_>, ids: &[&str]) -> BTreeMap<&'v str, Vec<&'v ApplicationLoadBalancer>> {
    let mut found: BTreeMap<&str, Vec<&ApplicationLoadBalancer>> = BTreeMap::new();
    for one in view.region.application_load_balancers.iter().flatten() {
        let value = |key: &str| tags::value(&one.tags, key);
        let is_own = value(CLUSTER_TAG).is_some_and(|id| ids.contains(&id)) && value(INGRESS_TAG).is_some();
        if let Some(config) = value(ALB_CONFIG_TAG).filter(|_| is_own) {
            found.entry(config).or_default().push(one);
        }
    }
    found
}

/// True unless the load balancer of an `AlbConfig` exists: one that exists keeps its vSwitches, since an update does not
/// state them.
fn is_new(config: &Object<'_>) -> bool {
    let is_set = |path: &[&str]| config.text(path).is_some_and(|id| !id.is_empty());
    !is_set(&["spec", "config", "id"]) && !is_set(&["status", "loadBalancer", "id"]) && !is_deleted(*config)
}

/// The region with the nodes of the cluster and their VPC, or the reason why it is not known. Nodes that a label excludes
/// from the controller do not count.
fn place_of_nodes<'v>(view: &'v ClusterView<'v>) -> Result<(&'v RegionView<'v>, &'v str), &'static str> {
    let vpcs = |region: &'v RegionView<'v>| -> BTreeSet<&'v str> {
        let members = region.members.iter().filter(|member| is_cared_for(view, member));
        members.filter_map(|member| member.instance.vpc_id.as_deref()).collect()
    };
    let with_nodes: Vec<(&RegionView<'_>, BTreeSet<&str>)> =
        view.regions.iter().map(|region| (region, vpcs(region))).filter(|(_, vpcs)| !vpcs.is_empty()).collect();
    let [(region, vpcs)] = with_nodes.as_slice() else { return Err("the nodes are not in one region") };
    let [vpc] = vpcs.iter().collect::<Vec<_>>()[..] else { return Err("the nodes are not in one VPC") };
    Ok((region, vpc))
}

/// True if the separate controller runs.
fn has_separate_controller(evidence: &Evidence) -> bool {
    evidence.workloads.iter().filter(|workload| workload.replicas > 0).any(|workload| {
        let images = || workload.containers.iter().map(|one| image_parts(&one.image.value).0);
        let is_named = workload.name == SEPARATE || workload.service_account == SEPARATE;
        // `aws-alb-ingress-controller` is another one, which has the same name.
        let is_of_aws = images().any(|image| image.starts_with("aws-"));
        !is_of_aws && (is_named || images().any(|image| image.ends_with(SEPARATE)))
    })
}

/// True if the open cloud controller runs with its controller of Ingresses.
fn has_open_controller(evidence: &Evidence) -> bool {
    evidence.alibaba_running().is_some_and(|running| running.contains(&AlibabaController::Ingress))
}

/// `IngressClass` objects of the controller.
fn classes(evidence: &Evidence) -> impl Iterator<Item = Object<'_>> {
    let all = evidence.documents_by_kind(DocumentKind::IngressClass).map(crate::kubernetes::Document::object);
    all.filter(|class| class.text(&["spec", "controller"]) == Some(CONTROLLER))
}
