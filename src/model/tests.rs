//! Decisions in the clean cluster of the tests, with one change.

use serde_json::{Value, json};

use crate::aws::view::ClusterView;
use crate::kubernetes::{Evidence, Kept};
use crate::testing::aws::Cluster;

use super::decision::ModelledController;
use super::objects::Objects;
use super::simulate::{Options, simulate};

mod assumptions;
mod cloud_provider_alibaba;
mod cloud_provider_aws;
mod existing;
mod ingress;
mod listeners;
mod load_balancer_controller;
mod manifests;
mod naive;
mod order;
mod rights;
mod worlds;

/// A Service of the AWS Load Balancer Controller with instances as targets.
const EXTERNAL: [(&str, &str); 2] =
    [("aws-load-balancer-type", "external"), ("aws-load-balancer-nlb-target-type", "instance")];

pub(super) const UID: &str = "5e4dbfc9-c2ae-4642-b033-5607860aef6a";
/// Name of the load balancer of the cloud controller for a Service with this uid.
pub(super) const CLASSIC: &str = "a5e4dbfc9c2ae4642b0335607860aef6";

/// A Service with annotations, and fields that replace those of its `spec`.
pub(super) fn service(annotations: &[(&str, &str)], spec: Value) -> Value {
    let annotations: serde_json::Map<String, Value> = annotations
        .iter()
        .map(|(suffix, value)| (format!("service.beta.kubernetes.io/{suffix}"), json!(value)))
        .collect();
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "default", "uid": UID, "annotations": annotations},
        "spec": {
            "type": "LoadBalancer", "externalTrafficPolicy": "Cluster",
            "ports": [{"name": "http", "port": 80, "targetPort": 8080, "nodePort": 30080, "protocol": "TCP"}]
        }
    });
    if let (Some(held), Value::Object(new)) = (service["spec"].as_object_mut(), spec) {
        held.extend(new);
    }
    service
}

/// The decisions of a controller about objects, as JSON.
pub(super) fn decisions(
    controller: ModelledController,
    version: &str,
    objects: &[Value],
    change: impl FnOnce(&mut Cluster),
) -> Vec<Value> {
    let mut cluster = Cluster::new();
    for node in &mut cluster.nodes {
        node["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    }
    // The ranges of subnets and VPC are not in the fixture.
    for (number, subnet) in cluster.region().subnets.iter_mut().enumerate() {
        subnet.cidr_block = Some(format!("10.0.{number}.0/24"));
        subnet.ipv6_cidr_blocks = Some(Vec::new());
    }
    cluster.vpc().cidr_blocks = Some(vec!["10.0.0.0/16".to_owned()]);
    change(&mut cluster);
    let text = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let nodes = json!({"apiVersion": "v1", "kind": "List", "items": cluster.nodes}).to_string();
    let nodes = if cluster.nodes.is_empty() { "" } else { &nodes };
    let parse = |name: &str, text: &str| Evidence::parse(name, text.as_bytes().to_vec()).unwrap();
    let mut kept = Kept::default();
    let mut context = Evidence::default();
    for (name, text) in [("nodes.json", nodes), ("cluster.yaml", cluster.manifests)] {
        if !text.is_empty() {
            context = context.and(parse(name, text));
            kept.add(name, text.as_bytes().to_vec()).unwrap();
        }
    }
    let options = Options {
        controller: Some(controller),
        versions: [(controller, version.parse().unwrap())].into_iter().collect(),
        ..Options::default()
    };
    let decide = |context: Evidence| {
        let objects = Objects::new(context, parse("objects.json", &text), "default");
        let view = ClusterView::new(&cluster.inventory, cluster.id, objects.evidence.nodes.as_deref(), &[]);
        serde_json::to_value(simulate(&view, &objects, &options).unwrap().objects).unwrap()
    };
    // Configurations are not objects of the API.
    let is_whole = kept.left_out == 0;
    let recorded = is_whole.then(|| decide(kept.clone().recording().evidence()));
    if is_whole {
        // The objects as those of a cluster, from a recording of it.
        let decide = |evidence: &Evidence| {
            let view = ClusterView::new(&cluster.inventory, cluster.id, evidence.nodes.as_deref(), &[]);
            let objects = Objects::of_cluster(evidence);
            serde_json::to_value(simulate(&view, &objects, &options).unwrap().objects).unwrap()
        };
        let whole = context.clone().and(parse("objects.json", &text));
        kept.add("objects.json", text.as_bytes().to_vec()).unwrap();
        assert_eq!(decide(&kept.recording().evidence()), decide(&whole), "the recording (left) and the files (right)");
    }
    let found = decide(context);
    if let Some(recorded) = recorded {
        assert_eq!(recorded, found, "the recording (left) and the files (right)");
    }
    serde_json::from_value(found).unwrap()
}

/// The only decision of a controller about a Service.
pub(super) fn decision(
    controller: ModelledController,
    version: &str,
    service: Value,
    change: impl FnOnce(&mut Cluster),
) -> Value {
    let mut all = decisions(controller, version, &[service], change);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

/// Asserts that a decision has these fields, among others.
#[track_caller]
pub(super) fn holds(decision: &Value, expected: Value) {
    let Value::Object(fields) = expected else { panic!("{expected} is not an object") };
    for (key, value) in fields {
        let found = if value.is_null() { decision.get(&key).unwrap_or(&Value::Null) } else { &decision[&key] };
        assert_eq!(*found, value, "{key} of {decision:#}");
    }
}
