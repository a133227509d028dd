//! Assumptions that decisions state, and objects that get in each other's way.

use serde_json::{Value, json};

use super::ingress::{alb, ingress};
use super::{EXTERNAL, decision, decisions, holds, service};
use crate::model::ModelledController::{CloudProviderAws, LoadBalancerController};

const VERSION: &str = "2.14.0";

/// The manifest of the AWS Load Balancer Controller with arguments.
fn controller(arguments: &[&str]) -> &'static str {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "aws-load-balancer-controller", "namespace": "kube-system"},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{
            "name": "controller", "image": "public.ecr.aws/eks/aws-load-balancer-controller:v2.14.0", "args": arguments
        }]}}}
    })
    .to_string()
    .leak()
}

fn network(annotations: &[(&str, &str)], spec: Value) -> Value {
    service(&[EXTERNAL.as_slice(), annotations].concat(), spec)
}

fn notes(decision: &Value) -> Vec<&str> {
    decision["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn a_cluster_name_that_is_not_known_is_an_assumption() {
    let of = |arguments: &'static [&'static str]| {
        decision(LoadBalancerController, VERSION, network(&[], json!({})), |c| c.manifests = controller(arguments))
    };
    assert!(notes(&of(&["--cluster-name=$(CLUSTER)"]))[0].contains("is a variable"));
    assert!(notes(&of(&["--ingress-class=alb"]))[0].contains("no `--cluster-name`"));
    let named = of(&["--cluster-name=prod"]);
    assert!(notes(&named).is_empty(), "{named:#}");
    assert_eq!(of(&["--cluster-name", "prod"])["name"], named["name"]);
}

#[test]
fn a_controller_beyond_the_model_is_decided_as_the_newest() {
    use crate::model::cloud_provider_aws::NEWEST;
    let beyond = |text: &str| text.parse::<crate::controller::ControllerVersion>().unwrap().is_beyond(NEWEST);
    assert!(beyond("1.36.2") && beyond("1.37") && beyond("2.0.0"));
    assert!(!beyond("1.36") && !beyond("1.36.1") && !beyond("1.20.0"));
}

#[test]
fn the_second_of_two_ports_with_one_number_is_dropped() {
    let ports = json!([
        {"name": "tcp", "port": 53, "targetPort": 53, "nodePort": 30053, "protocol": "TCP"},
        {"name": "udp", "port": 53, "targetPort": 53, "nodePort": 30053, "protocol": "UDP"}
    ]);
    let found = decision(LoadBalancerController, VERSION, network(&[], json!({"ports": ports})), |_| {});
    holds(&found, json!({"error": null}));
    assert!(notes(&found)[0].contains("the listener of the first alone"), "{found:#}");
}

#[test]
fn sctp_opens_nothing_and_is_refused_later() {
    let ports = json!([{"name": "m3ua", "port": 2905, "targetPort": 2905, "nodePort": 30905, "protocol": "SCTP"}]);
    let found = decision(LoadBalancerController, VERSION, network(&[], json!({"ports": ports})), |_| {});
    holds(&found, json!({"error": "unknown", "rules": []}));
}

#[test]
fn labels_of_a_selector_must_be_valid() {
    let error = |labels: &str| {
        let annotations = [("aws-load-balancer-target-node-labels", labels)];
        let found = decision(LoadBalancerController, VERSION, network(&annotations, json!({})), |_| {});
        found["error"].as_str().map(str::to_owned)
    };
    assert!(error("a=b c").unwrap().starts_with("values[0][a]: Invalid value: \"b c\": a valid label must be"));
    assert!(error("a b=c").unwrap().starts_with("key: Invalid value: \"a b\": name part must consist of"));
    assert_eq!(error("example.com/a=b_c.d"), None);
}

#[test]
fn load_balancers_of_one_name_may_be_refused() {
    let one = |name: &str, uid: &str| {
        let mut one = network(&[("aws-load-balancer-name", "front")], json!({}));
        one["metadata"]["name"] = json!(name);
        one["metadata"]["uid"] = json!(uid);
        one
    };
    let objects = [one("a", "5e4dbfc9-0000-4642-b033-5607860aef6a"), one("b", "5e4dbfc9-1111-4642-b033-5607860aef6a")];
    let all = decisions(LoadBalancerController, VERSION, &objects, |_| {});
    assert!(all.iter().all(|one| one["error"] == "unknown"), "{all:#?}");
    let alone = decisions(LoadBalancerController, VERSION, &objects[..1], |_| {});
    holds(&alone[0], json!({"error": null}));
}

#[test]
fn rules_of_several_services_are_one() {
    let one = |name: &str, uid: &str, port: i64| {
        let ports = json!([{"name": "http", "port": 80, "targetPort": 8080, "nodePort": port, "protocol": "TCP"}]);
        let mut one = network(&[], json!({"ports": ports}));
        one["metadata"]["name"] = json!(name);
        one["metadata"]["uid"] = json!(uid);
        one
    };
    let objects = [
        one("a", "5e4dbfc9-0000-4642-b033-5607860aef6a", 30080),
        one("b", "5e4dbfc9-1111-4642-b033-5607860aef6a", 32000),
    ];
    for found in decisions(LoadBalancerController, VERSION, &objects, |_| {}) {
        assert_eq!(found["rules"].as_array().map(Vec::len), Some(1), "{found:#}");
        assert_eq!((&found["rules"][0]["from"], &found["rules"][0]["to"]), (&json!(30080), &json!(32000)));
        assert!(notes(&found)[0].contains("joins the ports"));
    }
}

#[test]
fn flags_forbid_annotations_of_new_ingresses() {
    let of = |uid: Option<&str>, flag: &'static str| {
        let mut objects = ingress("web", &[("group.name", "shop")], None);
        let one = objects.iter_mut().find(|one| one["kind"] == "Ingress").unwrap();
        let mut held = one.clone();
        held["metadata"]["uid"] = json!("5e4dbfc9-2222-4642-b033-5607860aef6a");
        let manifests = match uid {
            Some(_) => format!("{}\n---\n{held}", controller(Vec::leak(vec![flag]))),
            None => controller(Vec::leak(vec![flag])).to_owned(),
        };
        let found = alb(VERSION, &objects, |c| c.manifests = manifests.leak());
        found["error"].as_str().filter(|error| error.contains("forbidden")).map(str::to_owned)
    };
    let forbidden = "--disable-ingress-group-name-annotation=true";
    let refused = "new usage of `alb.ingress.kubernetes.io/group.name` annotation is forbidden";
    assert_eq!(of(None, forbidden).as_deref(), Some(refused));
    assert_eq!(of(Some("held"), forbidden), None);
    assert_eq!(of(None, "--cluster-name=prod"), None);
}

#[test]
fn a_protected_member_that_is_being_deleted_stops_its_group() {
    let mut objects = ingress("a", &[("group.name", "shop")], None);
    let mut deleting = objects.iter().find(|one| one["kind"] == "Ingress").unwrap().clone();
    deleting["metadata"]["name"] = json!("b");
    deleting["metadata"]["deletionTimestamp"] = json!("2026-11-20T00:00:00Z");
    deleting["metadata"]["finalizers"] = json!(["group.ingress.k8s.aws/shop"]);
    let key = "alb.ingress.kubernetes.io/load-balancer-attributes";
    for (value, error) in [
        ("deletion_protection.enabled=true", json!("deletion_protection is enabled, cannot delete the ingress: b")),
        ("deletion_protection.enabled=false", Value::Null),
    ] {
        deleting["metadata"]["annotations"][key] = json!(value);
        objects.push(deleting.clone());
        let mut all = decisions(LoadBalancerController, VERSION, &objects, |_| {});
        all.retain(|one| one["object"]["name"] == "a" && one["object"]["kind"] == "Ingress");
        assert_eq!(all[0]["error"], error);
        objects.pop();
    }
}

#[test]
fn a_cloud_configuration_that_was_not_given_decides_groups() {
    let manifest = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "aws-cloud-controller-manager", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": [{
            "name": "ccm", "image": "registry.k8s.io/provider-aws/cloud-controller-manager:v1.36.1",
            "args": ["--cloud-provider=aws", "--cloud-config=/etc/kubernetes/cloud.config"]
        }]}}}
    });
    let manifest: &'static str = manifest.to_string().leak();
    let found = decision(CloudProviderAws, "1.36.1", service(&[], json!({})), |c| c.manifests = manifest);
    assert_eq!(found["error"], "unknown", "{found:#}");
    assert!(found["unknown"][0]["reason"].as_str().unwrap().contains("--cloud-config"), "{found:#}");
    assert!(found["subnets"].is_array(), "{found:#}");
}
