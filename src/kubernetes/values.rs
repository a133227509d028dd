//! Services that something else makes: annotations for load balancers in values of charts and in custom resources. Where they stand
//! there is a Service of type `LoadBalancer` to come, unless the values beside them say another type.

use std::collections::BTreeMap;

use super::service::Service;
use super::source::{Object, Source};
use crate::policy::json::Node;

/// The prefix of the annotations that cloud controllers read on Services. Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go`,
/// AWS Load Balancer Controller and Alibaba Cloud's controller, which share the prefix.
const PREFIX: &str = "service.beta.kubernetes.io/";

/// Services in one document, at most: nobody's chart makes more.
const MAX_SERVICES: usize = 1_000;

/// The Services to come of a document that is none itself, in the order of the text.
pub(super) fn services_in(source: &Source, document: &Node) -> Vec<Service> {
    let mut found = Vec::new();
    let is_object = document.get("apiVersion").is_some() && document.get("kind").is_some();
    if !is_object {
        walk(source, document, &mut Vec::new(), &mut found);
        return found;
    }
    // The annotations in the metadata of an object are about that object.
    for member in document.members().unwrap_or_default().iter().filter(|member| *member.key != *"metadata") {
        walk(source, &member.value, &mut vec![member.key.to_string()], &mut found);
    }
    found
}

fn walk(source: &Source, node: &Node, path: &mut Vec<String>, found: &mut Vec<Service>) {
    for (index, item) in node.items().unwrap_or_default().iter().enumerate() {
        path.push(index.to_string());
        walk(source, item, path, found);
        path.pop();
    }
    for member in node.members().unwrap_or_default() {
        if found.len() == MAX_SERVICES {
            return;
        }
        if let Some(service) = of_holder(Object { source, node }, path, &member.key) {
            found.push(service);
            continue;
        }
        path.push(member.key.to_string());
        walk(source, &member.value, path, found);
        path.pop();
    }
}

/// The Service whose annotations stand in a map under a key.
fn of_holder(holder: Object<'_>, path: &[String], key: &str) -> Option<Service> {
    let mut annotations = BTreeMap::new();
    let mut annotation_places = BTreeMap::new();
    for (annotation, value) in holder.members(&[key]) {
        // The chart may put other values in quotes.
        let Some(text) = value.node.as_str() else { continue };
        annotation_places.insert(annotation.value.clone(), (annotation.place, value.place()));
        annotations.insert(annotation.value, text.to_owned());
    }
    if !annotations.keys().any(|annotation| annotation.starts_with(PREFIX)) {
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
        finalizers: Vec::new(),
        service_type: text("type").unwrap_or_else(|| "LoadBalancer".to_owned()),
        load_balancer_class: text("loadBalancerClass"),
        load_balancer_ip: text("loadBalancerIP"),
        source_ranges: texts("loadBalancerSourceRanges"),
        ip_families: texts("ipFamilies"),
        ip_family_policy: text("ipFamilyPolicy"),
        is_local: holder.text(&["externalTrafficPolicy"]) == Some("Local"),
        has_client_affinity: holder.text(&["sessionAffinity"]) == Some("ClientIP"),
        is_without_node_ports: holder.switch(&["allocateLoadBalancerNodePorts"]) == Some(false),
        // Each chart writes them in another shape.
        ports: Vec::new(),
        ingress: Vec::new(),
        deleted_at: None,
        field_places: holder.members(&[]).map(|(key, _)| (key.value, key.place)).collect(),
        place: holder.at(&[key])?.head(),
    })
}
