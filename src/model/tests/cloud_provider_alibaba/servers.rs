//! The servers of load balancers of Alibaba Cloud.

use serde_json::{Value, json};

use super::super::holds;
use super::{ID, ZONES, configure, decide, endpoints, nlb, own, service};
use crate::testing::alibaba::{Cluster, WORKER};

#[test]
fn labels_and_conditions_keep_nodes_out() {
    let without = |change: &dyn Fn(&mut Value), version: &str, more: &[(&str, &str)]| {
        let found = decide(version, service(more, json!({})), |c| change(c.node(WORKER)));
        !found["targets"].as_array().unwrap().contains(&json!(WORKER))
    };
    let label =
        |key: &'static str, value: &'static str| move |node: &mut Value| node["metadata"]["labels"][key] = json!(value);
    assert!(without(&label("node-role.kubernetes.io/master", ""), "2.14.0", &[]));
    assert!(!without(&label("node-role.kubernetes.io/control-plane", ""), "2.14.0", &[]));
    assert!(without(&label("node.kubernetes.io/exclude-from-external-load-balancers", "false"), "2.14.0", &[]));
    assert!(!without(&label("node.kubernetes.io/exclude-from-external-load-balancers", ""), "2.5.1", &[]));
    assert!(without(&label("alpha.service-controller.kubernetes.io/exclude-balancer", ""), "2.5.1", &[]));
    assert!(without(&label("service.alibabacloud.com/exclude-node", ""), "2.14.0", &[]));
    assert!(without(&label("pool", "b"), "2.14.0", &[("backend-label", "node-role.kubernetes.io/control-plane=")]));
    let cordoned = |node: &mut Value| node["spec"]["unschedulable"] = json!(true);
    assert!(!without(&cordoned, "2.14.0", &[]));
    assert!(without(&cordoned, "2.14.0", &[("remove-unscheduled-backend", "on")]));
    let not_ready = |node: &mut Value| node["status"]["conditions"][0]["status"] = json!("Unknown");
    assert!(without(&not_ready, "2.14.0", &[]));
    let tainted = |key: &'static str| {
        move |node: &mut Value| node["spec"]["taints"] = json!([{"key": key, "effect": "NoSchedule"}])
    };
    assert!(without(&tainted("ToBeDeletedByClusterAutoscaler"), "2.14.0", &[]));
    assert!(!without(&tainted("node.cloudprovider.kubernetes.io/uninitialized"), "2.14.0", &[]));
    let hybrid = |node: &mut Value| node["spec"]["providerID"] = json!("ack-hybrid://worker");
    let mut found = decide("2.14.0", service(&[], json!({})), |c| hybrid(c.node(WORKER)));
    assert!(found["error"].is_null() && found["nodes_left_out"][0]["reason"].as_str().unwrap().contains("hybrid"));
    found = decide("2.14.0", service(&[("backend-label", "pool")], json!({})), |_| {});
    assert!(found["error"].as_str().unwrap().ends_with("parse backend label: pool, [k1=v1,k2=v2]"), "{found:#}");
    // Without its conditions, nothing is known about a Node.
    let found = decide("2.14.0", service(&[], json!({})), |c| {
        drop(c.node(WORKER)["status"].as_object_mut().unwrap().remove("conditions"));
    });
    holds(&found, json!({"targets": "unknown"}));
}

#[test]
fn one_unreadable_provider_id_stops_the_service() {
    let lost = |c: &mut Cluster| c.node(WORKER)["spec"]["providerID"] = json!("i-bp1worker1");
    let at = |version: &str, service: Value| decide(version, service, lost);
    let cause = "build cluster backends error: normal parse providerid: i-bp1worker1. expected: ${regionid}.${nodeid}, alicloud: unable to split instanceid and region from providerID, error unexpected providerID=i-bp1worker1";
    let found = at("2.11.2", service(&[], json!({})));
    let prefix = "build lb local model error: build vserver groups error: build vgroup for port 80 error: ";
    holds(&found, json!({"error": format!("{prefix}{cause}"), "created": false}));
    // Later versions drop the cause, and miss the group.
    let found = at("2.12.4", service(&[], json!({})));
    let error = "apply model error: merge listener: find vservergroup error: can not find vgroup by name k8s/30080/web/default/prod";
    holds(&found, json!({"error": error, "created": true, "targets": [], "server_groups": []}));
    let reused = decide("2.12.4", service(&[("id", ID)], json!({})), |c| {
        lost(c);
        own(c);
    });
    holds(&reused, json!({"error": null, "targets": [], "server_groups": []}));
    assert!(reused["notes"][0].as_str().unwrap().contains(cause), "{reused:#}");
    let found = at("2.14.0", nlb(&[ZONES]));
    let prefix = "build lb local model error: builid nlb server group error: set ServerGroup for port 80 error: ";
    holds(&found, json!({"error": format!("{prefix}{cause}")}));
    // By address, the providerID is not read.
    holds(&at("2.14.0", nlb(&[ZONES, ("server-group-type", "ip")])), json!({"error": null, "target_type": "ip"}));
    // A label that excludes the Node counts before its providerID.
    let found = decide("2.14.0", service(&[], json!({})), |c| {
        let node = c.node(WORKER);
        node["spec"]["providerID"] = json!("");
        node["metadata"]["labels"]["node.kubernetes.io/exclude-from-external-load-balancers"] = json!("");
    });
    holds(&found, json!({"error": null}));
}

#[test]
fn local_traffic_needs_the_pods() {
    let local = || service(&[], json!({"externalTrafficPolicy": "Local", "healthCheckNodePort": 31_000}));
    holds(&decide("2.14.0", local(), |_| {}), json!({"targets": "unknown", "error": null}));
    let names: Vec<String> = {
        let mut c = Cluster::new();
        let name = |id: &str, c: &mut Cluster| c.node(id)["metadata"]["name"].as_str().unwrap().to_owned();
        vec![name("i-bp1worker1", &mut c), name("i-bp1worker2", &mut c)]
    };
    let pods = [
        (names[0].as_str(), "10.1.0.1"),
        (names[0].as_str(), "10.1.0.2"),
        (names[1].as_str(), "10.1.1.1"),
        ("absent", "10.1.2.1"),
    ];
    let found = decide("2.14.0", local(), |c| c.objects.push(endpoints(&pods)));
    holds(
        &found,
        json!({"targets": ["i-bp1worker1", "i-bp1worker2"], "weights": {"i-bp1worker1": 2, "i-bp1worker2": 1}}),
    );
    holds(&decide("2.14.0", local(), |c| c.objects.push(endpoints(&[]))), json!({"targets": []}));
    let mut eni = service(&[], json!({}));
    eni["metadata"]["annotations"]["service.beta.kubernetes.io/backend-type"] = json!("eni");
    let found = decide("2.14.0", eni, |c| c.objects.push(endpoints(&pods)));
    holds(&found, json!({"target_type": "eni", "server_groups": ["k8s/8080/web/default/prod"]}));
    assert_eq!(found["targets"].as_array().unwrap().len(), 4);
}

#[test]
fn servers_of_endpoints_depend_on_the_version() {
    let local = || service(&[], json!({"externalTrafficPolicy": "Local"}));
    let slice = |endpoint: Value| {
        let mut slice = endpoints(&[]);
        slice["endpoints"] = json!([endpoint]);
        slice
    };
    let with = |version: &str, service: Value, slice: Value| decide(version, service, |c| c.objects.push(slice));
    // An address without a Node, as someone writes by hand.
    let nowhere = || slice(json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true}}));
    let reason = "add ecs backends for service[default/web] error, NodeName is nil for ip 10.0.0.1 ";
    for (service, mode) in [(local(), "local"), (service(&[], json!({})), "cluster")] {
        let found = with("2.9.1", service, nowhere());
        let error = found["error"].as_str().unwrap();
        assert!(error.ends_with(&format!("build {mode} backends error: {reason}")), "{error}");
    }
    let name = Cluster::new().node(WORKER)["metadata"]["name"].clone();
    let leaving = || {
        let conditions = json!({"ready": true, "terminating": true});
        slice(json!({"addresses": ["10.0.0.1"], "nodeName": name, "conditions": conditions}))
    };
    holds(&with("2.9.1", local(), leaving()), json!({"targets": [WORKER]}));
    holds(&with("2.10.0", local(), leaving()), json!({"targets": []}));
    // The slice does not have the port that the Service names.
    let named = || {
        let ports = json!([{"name": "web", "port": 80, "targetPort": "http", "nodePort": 30080}]);
        service(&[], json!({"externalTrafficPolicy": "Local", "ports": ports}))
    };
    let other = || {
        let mut slice = endpoints(&[(name.as_str().unwrap(), "10.0.0.1")]);
        slice["ports"] = json!([{"name": "other", "port": 8080}]);
        slice
    };
    holds(&with("2.11.2", named(), other()), json!({"targets": [WORKER]}));
    holds(&with("2.12.4", named(), other()), json!({"targets": []}));
    let waiting = slice(json!({
        "addresses": ["10.0.0.1"], "nodeName": name, "conditions": {"ready": false}, "targetRef": {"kind": "Pod"}
    }));
    let found = with("2.14.0", local(), waiting);
    assert!(found["notes"][0].as_str().unwrap().contains("readiness gate"), "{found:#}");
}

#[test]
fn ipv6_servers_need_a_gate() {
    let pods = |service: Value, gates: &str| {
        let mut service = service;
        service["metadata"]["annotations"]["service.beta.kubernetes.io/backend-type"] = json!("eni");
        let gates = gates.to_owned();
        decide("2.14.0", service, move |c| {
            configure(c, &json!({"clusterID": "prod", "featureGates": gates}));
            let mut other = endpoints(&[("a", "fd00::1")]);
            other["addressType"] = json!("IPv6");
            other["metadata"]["name"] = json!("web-y");
            c.objects.extend([endpoints(&[("a", "10.0.0.1")]), other]);
        })
    };
    let gate = "IPv6DualStack=true";
    let classic = || service(&[("ip-version", "ipv6"), ("backend-ip-version", "ipv6")], json!({}));
    holds(&pods(classic(), gate), json!({"targets": ["fd00::1"]}));
    holds(&pods(classic(), ""), json!({"targets": ["10.0.0.1"]}));
    let both = nlb(&[ZONES, ("ip-version", "DualStack"), ("backend-ip-version", "dualstack")]);
    holds(&pods(both, gate), json!({"targets": ["10.0.0.1", "fd00::1"]}));
}

#[test]
fn the_weight_of_a_reused_load_balancer_is_shared() {
    let reused = |version: &str, weight: &str| {
        let annotations = [("id", ID), ("vgroup-port", "rsp-1:443"), ("weight", weight)];
        decide(version, service(&annotations, json!({})), |c| drop(own(c).id.clone()))
    };
    let found = reused("2.14.0", "10");
    assert!(found["weights"].as_object().unwrap().values().all(|weight| *weight == 2), "{found:#}");
    let error = reused("2.11.2", "500")["error"].as_str().unwrap().to_owned();
    assert!(error.ends_with("weight must be integer in range [0,100] , got [500]"), "{error}");
    // A group of the user is not read.
    let named = service(&[("id", ID), ("vgroup-port", "rsp-1:80")], json!({}));
    holds(
        &decide("2.14.0", named, |c| drop(own(c).id.clone())),
        json!({"error": "unknown", "server_groups": "unknown"}),
    );
}
