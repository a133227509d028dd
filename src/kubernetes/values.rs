//! Services that a chart or an operator creates: load balancer annotations in chart values and in custom resources.
//! They imply a Service of type `LoadBalancer`, unless the values next to them set another type.

use std::collections::BTreeMap;

use super::service::Service;
use super::source::{Object, Source};
use crate::policy::json::Node;

/// The prefix of the annotations that cloud controllers read on Services. Sources: kubernetes/cloud-provider-aws
/// `pkg/providers/v1/aws.go`, AWS Load Balancer Controller and Alibaba Cloud's controller, which share the prefix.
const PREFIX: &str = "service.beta.kubernetes.io/";

/// Maximum number of Services in one document: no real chart creates more.
const MAX_SERVICES: usize = 1_000;

/// API groups whose objects match or modify other objects and create none themselves.
const OF_POLICIES: [&str; 2] = ["kyverno.io/", "policies.kyverno.io/"];

/// Services that a document creates without being a Service itself, in source order.
pub(super) fn services_in(source: &Source, document: &Node) -> Vec<Service> {
    let mut found = Vec::new();
    let text = |key: &str| document.get(key).and_then(Node::as_str);
    let outer = [document];
    match (text("apiVersion"), text("kind")) {
        (Some(version), Some(_)) if OF_POLICIES.iter().any(|group| version.starts_with(group)) => {}
        (Some(_), Some(_)) => {
            // Annotations in the metadata of an object belong to that object.
            let members = document.members().unwrap_or_default().iter().filter(|member| *member.key != *"metadata");
            for member in members {
                walk(source, &member.value, &outer, &mut vec![member.key.to_string()], &mut found);
            }
        }
        _ => walk(source, document, &[], &mut Vec::new(), &mut found),
    }
    found
}

fn walk(source: &Source, node: &Node, outer: &[&Node], path: &mut Vec<String>, found: &mut Vec<Service>) {
    let around: Vec<&Node> = outer.iter().copied().chain([node]).collect();
    for (index, item) in node.items().unwrap_or_default().iter().enumerate() {
        path.push(index.to_string());
        walk(source, item, &around, path, found);
        path.pop();
    }
    for member in node.members().unwrap_or_default() {
        if found.len() == MAX_SERVICES {
            return;
        }
        if let Some(service) = from_holder(Object { source, node }, outer, path, &member.key) {
            found.push(service);
            continue;
        }
        path.push(member.key.to_string());
        walk(source, &member.value, &around, path, found);
        path.pop();
    }
}

/// Maximum number of levels between the annotations of a Service and its fields in chart values.
const MAX_LEVELS: usize = 3;

/// Value of a Service field next to its annotations or around them: in the same map, in its `spec` or `service`, or in
/// a map that contains it. Sources: `values.yaml` of ingress-nginx, Traefik (`service.spec`), elastic/cloud-on-k8s
/// (`service.metadata`, `service.spec`), emqx/emqx-operator (`listenersServiceTemplate.spec`).
fn around<'n>(holder: &'n Node, outer: &[&'n Node], of: impl Fn(&'n Node) -> Option<&'n str>) -> Option<&'n str> {
    let near = std::iter::once(holder).chain(outer.iter().rev().copied()).take(MAX_LEVELS);
    let mut maps = near.flat_map(|map| {
        let service = map.get("service");
        [Some(map), map.get("spec"), service, service.and_then(|service| service.get("spec"))].into_iter().flatten()
    });
    maps.find_map(of)
}

/// Class of a Service, also under the key that Strimzi's listeners use. A value without a slash is a class of something
/// else.
fn service_class(map: &Node) -> Option<&str> {
    let class = map.get("loadBalancerClass").and_then(Node::as_str).filter(|class| !class.is_empty());
    class.or_else(|| map.get("class").and_then(Node::as_str).filter(|class| class.contains('/')))
}

fn service_type(map: &Node) -> Option<&str> {
    const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    let of = |key: &str| map.get(key).and_then(Node::as_str).filter(|name| TYPES.contains(name));
    of("type").or_else(|| of("serviceType"))
}

/// True if the chart creates no Service from a map because it is disabled. The second Service of ingress-nginx is
/// disabled by default. Source: kubernetes/ingress-nginx `charts/ingress-nginx/values.yaml`,
/// `controller.service.internal.enabled`.
fn is_off(holder: Object<'_>, path: &[String]) -> bool {
    let is_internal = path.ends_with(&["controller".to_owned(), "service".to_owned(), "internal".to_owned()]);
    match holder.switch(&["enabled"]) {
        Some(is_on) => !is_on,
        None => is_internal,
    }
}

/// Service whose annotations are under a key of a map.
fn from_holder(holder: Object<'_>, outer: &[&Node], path: &[String], key: &str) -> Option<Service> {
    let mut annotations = BTreeMap::new();
    let mut annotation_places = BTreeMap::new();
    for (annotation, value) in holder.members(&[key]) {
        // The chart may quote other values itself.
        let Some(text) = value.node.as_str().filter(|_| value.without_quotes().is_none()) else { continue };
        annotation_places.insert(annotation.value.clone(), (annotation.place, value.place()));
        annotations.insert(annotation.value, text.to_owned());
    }
    if !annotations.keys().any(|annotation| annotation.starts_with(PREFIX)) || is_off(holder, path) {
        return None;
    }
    let text = |key: &str| holder.text(&[key]).filter(|text| !text.is_empty()).map(str::to_owned);
    let texts = |key: &str| holder.items(&[key]).filter_map(|item| item.node.as_str().map(str::to_owned)).collect();
    let name: Vec<&str> =
        path.iter().map(String::as_str).chain([key].into_iter().filter(|_| path.is_empty())).collect();
    Some(Service {
        namespace: String::new(),
        name: name.join("."),
        uid: String::new(),
        annotations,
        annotation_places,
        not_strings: BTreeMap::new(),
        finalizers: Vec::new(),
        service_type: around(holder.node, outer, service_type).unwrap_or("LoadBalancer").to_owned(),
        load_balancer_class: around(holder.node, outer, service_class).map(str::to_owned),
        load_balancer_ip: text("loadBalancerIP"),
        source_ranges: texts("loadBalancerSourceRanges"),
        ip_families: texts("ipFamilies"),
        ip_family_policy: text("ipFamilyPolicy"),
        is_local: holder.text(&["externalTrafficPolicy"]) == Some("Local"),
        has_selector: true,
        has_client_affinity: holder.text(&["sessionAffinity"]) == Some("ClientIP"),
        is_without_node_ports: holder.switch(&["allocateLoadBalancerNodePorts"]) == Some(false),
        health_check_node_port: None,
        // Each chart has its own format for ports.
        ports: Vec::new(),
        ingress: Vec::new(),
        deleted_at: None,
        field_places: holder.members(&[]).map(|(key, _)| (key.value, key.place)).collect(),
        place: holder.at(&[key])?.head(),
    })
}
