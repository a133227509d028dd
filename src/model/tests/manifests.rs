//! Objects as charts write them: without what the API server adds.

use serde_json::{Value, json};

use super::ingress::{alb, ingress};
use super::{EXTERNAL, decision, decisions, holds, service};
use crate::model::ModelledController::{CloudProviderAws, LoadBalancerController};
use crate::testing::aws::{Cluster, PRIVATE, PUBLIC_B, TAGGED_GROUP};
use crate::testing::tag;

const NLB: (&str, &str) = ("aws-load-balancer-type", "nlb");

/// Without uid, and ports without node ports.
fn fresh(mut service: Value) -> Value {
    service["metadata"].as_object_mut().unwrap().remove("uid");
    for port in service["spec"]["ports"].as_array_mut().unwrap() {
        port.as_object_mut().unwrap().remove("nodePort");
    }
    service
}

/// The objects of the Ingress with a change of its Service.
fn with_service(annotations: &[(&str, &str)], change: impl Fn(Value) -> Value) -> Vec<Value> {
    let objects = ingress("web", annotations, None).into_iter();
    objects.map(|one| if one["kind"] == "Service" { change(one) } else { one }).collect()
}

fn reasons(decision: &Value, field: &str) -> Vec<String> {
    let all = decision["unknown"].as_array().into_iter().flatten().filter(|one| one["field"] == field);
    all.map(|one| one["reason"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_ingress_waits_for_node_ports_and_a_cluster_ip_never_has_one() {
    let found = alb("2.14.0", &with_service(&[], fresh), |_| {});
    holds(&found, json!({"error": null, "created": true, "rules": "unknown", "target_groups": "unknown"}));
    holds(&found, json!({"node_groups": [TAGGED_GROUP], "target_type": "instance"}));
    assert!(reasons(&found, "rules")[0].contains("node port of port 80"), "{found:#}");
    let cluster_ip = |mut one: Value| {
        one["spec"]["type"] = json!("ClusterIP");
        fresh(one)
    };
    let found = alb("2.14.0", &with_service(&[], cluster_ip), |_| {});
    assert!(
        found["error"].as_str().unwrap().starts_with("ingress: default/web: TargetGroup port is empty."),
        "{found:#}"
    );
    holds(&found, json!({"created": false}));
}

#[test]
fn an_object_of_the_cluster_keeps_what_the_api_server_added() {
    let mut live = service(&EXTERNAL, json!({"externalTrafficPolicy": "Local", "healthCheckNodePort": 32_000}));
    live["spec"]["ipFamilies"] = json!(["IPv4"]);
    let held: &'static str = live.to_string().leak();
    let mut applied = fresh(live.clone());
    for key in ["healthCheckNodePort", "ipFamilies"] {
        applied["spec"].as_object_mut().unwrap().remove(key);
    }
    applied["spec"]["ipFamilyPolicy"] = json!("PreferDualStack");
    let found = decision(LoadBalancerController, "2.14.0", applied, |c| c.manifests = held);
    let whole = decision(LoadBalancerController, "2.14.0", live, |_| {});
    assert_eq!(found, whole);
    assert_eq!(whole["health_check"]["port"], "32000");
    let mut with_address = ingress("web", &[], None);
    let one = with_address.iter_mut().find(|one| one["kind"] == "Ingress").unwrap();
    one["status"] = json!({"loadBalancer": {"ingress": [{"hostname": "x.elb.amazonaws.com"}]}});
    let held: &'static str = one.to_string().leak();
    let found = alb("2.14.0", &ingress("web", &[], None), |c| c.manifests = held);
    holds(&found, json!({"error": "unknown", "subnets": null}));
}

#[test]
fn the_health_check_of_local_traffic_waits_for_its_port() {
    let local = |annotations: &[(&str, &str)]| {
        let mut service = service(annotations, json!({"externalTrafficPolicy": "Local"}));
        service["metadata"].as_object_mut().unwrap().remove("uid");
        service
    };
    for (controller, version, annotations) in [
        (LoadBalancerController, "2.14.0", EXTERNAL.to_vec()),
        (CloudProviderAws, "1.36", vec![NLB]),
        (CloudProviderAws, "1.36", vec![]),
    ] {
        let found = decision(controller, version, local(&annotations), |_| {});
        holds(&found, json!({"error": null, "health_check": "unknown"}));
        assert!(reasons(&found, "health_check")[0].contains("healthCheckNodePort"), "{found:#}");
        assert!(!found.to_string().contains("\"from\":0,"), "{found:#}");
    }
    let own = [EXTERNAL.as_slice(), &[("aws-load-balancer-healthcheck-port", "8080")]].concat();
    let found = decision(LoadBalancerController, "2.14.0", local(&own), |_| {});
    assert_eq!(found["health_check"]["port"], "8080");
}

#[test]
fn names_without_a_uid_have_a_placeholder() {
    let found = decision(LoadBalancerController, "2.14.0", fresh(service(&EXTERNAL, json!({}))), |_| {});
    holds(
        &found,
        json!({"name": "unknown", "new_group": {"name": "k8s-default-web-UID", "description": "[k8s] Managed SecurityGroup for LoadBalancer", "rules": found["new_group"]["rules"]}}),
    );
    assert_eq!(found["lb_groups"][0], "new:k8s-default-web-UID");
    assert_eq!(reasons(&found, "new_group").len(), 1);
}

#[test]
fn a_network_load_balancer_of_the_cloud_controller_waits_for_node_ports() {
    let found = decision(CloudProviderAws, "1.36", fresh(service(&[NLB], json!({}))), |_| {});
    holds(
        &found,
        json!({"error": null, "target_groups": "unknown", "rules": "unknown", "node_groups": [TAGGED_GROUP]}),
    );
    let bogus = [("aws-load-balancer-ssl-cert", "arn"), ("aws-load-balancer-backend-protocol", "bogus")];
    let found = decision(CloudProviderAws, "1.36", fresh(service(&bogus, json!({}))), |_| {});
    assert!(found["error"].as_str().unwrap().starts_with("Invalid backend protocol bogus"), "{found:#}");
}

#[test]
fn errors_of_rules_name_their_ingress_in_the_order_of_paths() {
    let path = |kind: &str, path: &str, port: u32| json!({"path": path, "pathType": kind, "backend": {"service": {"name": "web", "port": {"number": port}}}});
    let with_paths = |paths: Vec<Value>| {
        let mut objects = ingress("web", &[], None);
        let one = objects.iter_mut().find(|one| one["kind"] == "Ingress").unwrap();
        one["spec"]["rules"][0]["http"]["paths"] = Value::Array(paths);
        alb("2.14.0", &objects, |_| {})["error"].clone()
    };
    let paths = vec![
        path("ImplementationSpecific", "/*", 1),
        path("Prefix", "/a", 2),
        path("Prefix", "/longer", 3),
        path("Exact", "/", 4),
    ];
    assert_eq!(with_paths(paths.clone()), "ingress: default/web: unable to find port 4 on service default/web");
    assert_eq!(with_paths(paths[..3].to_vec()), "ingress: default/web: unable to find port 3 on service default/web");
    let mut objects = ingress("web", &[], None);
    let one = objects.iter_mut().find(|one| one["kind"] == "Ingress").unwrap();
    one["spec"]["defaultBackend"] = json!({"service": {"name": "web", "port": {"number": 5}}});
    assert_eq!(alb("2.14.0", &objects, |_| {})["error"], "unable to find port 5 on service default/web");
}

#[test]
fn target_groups_that_differ_are_not_described_as_one() {
    let mut objects = ingress("web", &[], None);
    let mut other = objects.iter().find(|one| one["kind"] == "Service").unwrap().clone();
    other["metadata"]["name"] = json!("other");
    other["metadata"]["uid"] = json!("6e4dbfc9-c2ae-4642-b033-5607860aef6b");
    other["metadata"]["annotations"]["alb.ingress.kubernetes.io/healthcheck-path"] = json!("/other");
    objects.push(other);
    let one = objects.iter_mut().find(|one| one["kind"] == "Ingress").unwrap();
    let mut path = one["spec"]["rules"][0]["http"]["paths"][0].clone();
    path["backend"]["service"]["name"] = json!("other");
    one["spec"]["rules"][0]["http"]["paths"].as_array_mut().unwrap().push(path);
    let found = alb("2.14.0", &objects, |_| {});
    holds(&found, json!({"error": null, "health_check": "unknown", "target_type": "instance"}));
    assert_eq!(found["target_groups"].as_array().unwrap().len(), 2);
    objects.last_mut().unwrap()["metadata"]["annotations"] = json!({"alb.ingress.kubernetes.io/target-type": "ip"});
    holds(&alb("2.14.0", &objects, |_| {}), json!({"error": null, "target_type": "unknown", "targets": "unknown"}));
}

#[test]
fn families_are_those_of_the_policy() {
    let with = |policy: &str| {
        let mut all = service(&EXTERNAL, json!({"ipFamilyPolicy": policy}));
        all["metadata"].as_object_mut().unwrap().remove("uid");
        decision(LoadBalancerController, "2.14.0", all, |_| {})["error"].clone()
    };
    assert_eq!(with("RequireDualStack"), "unsupported IPv6 configuration, lb not dual-stack");
    assert_eq!(with("PreferDualStack"), "unknown");
    assert_eq!(with("SingleStack"), Value::Null);
}

#[test]
fn policies_of_tls_must_agree_in_a_group() {
    let member = |name: &str, policy: &str| {
        ingress(name, &[("group.name", "g"), ("certificate-arn", "c"), ("ssl-policy", policy)], None)
    };
    let mut objects = member("a", "P1");
    objects.extend(member("b", "P2").into_iter().filter(|one| one["kind"] == "Ingress"));
    assert_eq!(
        alb("3.5.0", &objects, |_| {})["error"],
        "failed to merge listenPort config for port: 443: conflicting sslPolicy, default/a: P1 | default/b: P2"
    );
}

#[test]
fn attributes_of_a_port_precede_those_of_all() {
    let with = |version: &str, value: &str| {
        let more =
            [("aws-load-balancer-target-group-attributes.80", value), ("aws-load-balancer-disable-nlb-sg", "true")];
        decision(LoadBalancerController, version, service(&[EXTERNAL.as_slice(), &more].concat(), json!({})), |_| {})
    };
    let wrong = with("2.14.0", "preserve_client_ip.enabled=maybe");
    assert!(wrong["error"].as_str().unwrap().contains("preserve_client_ip.enabled=maybe"), "{wrong:#}");
    let sources = |decision: &Value| -> Vec<String> {
        let rules = decision["rules"].as_array().unwrap().iter();
        rules.map(|rule| rule["source"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!sources(&with("2.14.0", "preserve_client_ip.enabled=false")).contains(&"10.0.0.0/16".to_owned()));
    assert!(sources(&with("2.14.0", "preserve_client_ip.enabled=true")).contains(&"10.0.0.0/16".to_owned()));
}

#[test]
fn pods_leave_rules_open_only_where_rules_are_managed() {
    let ip = [("aws-load-balancer-type", "external"), ("aws-load-balancer-nlb-target-type", "ip")];
    let found = decision(LoadBalancerController, "2.14.0", service(&ip, json!({})), |_| {});
    holds(&found, json!({"error": null, "targets": "unknown", "rules": "unknown"}));
    assert_eq!(reasons(&found, "rules").len(), 1);
    let listed = [ip.as_slice(), &[("aws-load-balancer-security-groups", TAGGED_GROUP)]].concat();
    let found = decision(LoadBalancerController, "2.14.0", service(&listed, json!({})), |_| {});
    holds(&found, json!({"error": null, "targets": "unknown", "rules": [], "node_groups": [], "new_group": null}));
}

#[test]
fn two_protocols_share_a_listener() {
    let ports = |second: &str| {
        json!({"ports": [
            {"name": "a", "port": 53, "targetPort": 53, "nodePort": 30_053, "protocol": "TCP"},
            {"name": "b", "port": 53, "targetPort": 53, "nodePort": 30_054, "protocol": second},
        ]})
    };
    let more = [EXTERNAL.as_slice(), &[("aws-load-balancer-enable-tcp-udp-listener", "true")]].concat();
    let with = |version: &str, more: &[(&str, &str)], second: &str| {
        decision(LoadBalancerController, version, service(more, ports(second)), |_| {})
    };
    let opened = |found: &Value| -> Vec<(String, i64)> {
        let rules = found["rules"].as_array().unwrap().iter();
        rules.map(|one| (one["protocol"].as_str().unwrap().to_owned(), one["from"].as_i64().unwrap())).collect()
    };
    let found = with("3.5.0", &more, "UDP");
    holds(&found, json!({"error": null}));
    assert_eq!(opened(&found), [("tcp".to_owned(), 30_053), ("udp".to_owned(), 30_053)]);
    // The name of a target group has its protocol.
    let alone = with("3.5.0", &EXTERNAL, "UDP");
    assert_eq!(opened(&alone), [("tcp".to_owned(), 30_053)]);
    assert_ne!(found["target_groups"], alone["target_groups"]);
    assert_eq!(with("2.12.0", &more, "UDP")["target_groups"], alone["target_groups"]);
    holds(&with("3.5.0", &more, "TCP"), json!({"error": "protocols can't match for merging: TCP"}));
    holds(&with("3.5.0", &more, "SCTP"), json!({"error": "unsupported protocol for merging: SCTP"}));
}

#[test]
fn an_object_without_a_namespace_is_in_that_of_the_option() {
    let mut object = service(&[], json!({}));
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    let found = decisions(CloudProviderAws, "1.36", &[object], |_: &mut Cluster| {});
    holds(&found[0], json!({"object": {"kind": "Service", "namespace": "default", "name": "web"}}));
    assert!(found[0]["subnets"].as_array().unwrap().iter().all(|one| one != PRIVATE));
}

#[test]
fn nodes_without_conditions_leave_the_targets_open() {
    let trimmed = |c: &mut Cluster| {
        c.node("i-0wk1")["status"].as_object_mut().unwrap().remove("conditions");
    };
    let found = decision(LoadBalancerController, "2.14.0", service(&EXTERNAL, json!({})), trimmed);
    holds(&found, json!({"error": null, "targets": "unknown", "rules": "unknown"}));
    assert!(reasons(&found, "targets")[0].contains("`Ready`"), "{found:#}");
    holds(&decision(CloudProviderAws, "1.26", service(&[], json!({})), trimmed), json!({"targets": "unknown"}));
    holds(
        &decision(CloudProviderAws, "1.27", service(&[], json!({})), trimmed),
        json!({"targets": ["i-0cp0", "i-0cp1", "i-0wk0", "i-0wk1"]}),
    );
}

#[test]
fn names_are_patterns_where_ec2_filters_by_them() {
    let listed = |list: &'static str| [("aws-load-balancer-subnets", list)];
    let cloud = |list| decision(CloudProviderAws, "1.34", service(&listed(list), json!({})), |_| {});
    holds(&cloud("pub-a*,pub-?"), json!({"error": null, "subnets": ["subnet-puba0bb1", "subnet-pubb0bb1"]}));
    holds(&cloud("pub-*"), json!({"error": "expected to find 1, but found 2 subnets"}));
    holds(&cloud("PUB-a"), json!({"error": "expected to find 1, but found 0 subnets"}));
    let balancer = |version: &str, list| {
        let all = [EXTERNAL.as_slice(), &listed(list)].concat();
        decision(LoadBalancerController, version, service(&all, json!({})), |_| {})
    };
    holds(&balancer("2.14.0", "pub-a*"), json!({"error": null, "subnets": ["subnet-puba0bb1"]}));
    let same = |version: &str| {
        let all = [EXTERNAL.as_slice(), &listed("pub-a,pub-a")].concat();
        decision(LoadBalancerController, version, service(&all, json!({})), |c| {
            tag(&mut c.subnet(PUBLIC_B).tags, "Name", "pub-a");
        })
    };
    holds(&same("2.14.0"), json!({"error": null, "subnets": ["subnet-puba0bb1", "subnet-pubb0bb1"]}));
    holds(&same("3.1.0"), json!({"error": "unknown", "subnets": null}));
    let failed = "failed to list subnets by names or IDs: ";
    holds(&balancer("3.0.0", "pub-a*"), json!({"error": format!("{failed}subnet with Name tag not found: pub-a*")}));
    holds(
        &balancer("3.2.0", "pub-a*"),
        json!({"error": format!("{failed}couldn't find all subnets, missing names: [pub-a*]")}),
    );
}
