//! Groups, rules and Nodes that exist already, and what is missing.

use serde_json::{Value, json};

use super::{CLASSIC, decision, holds, service};
use crate::aws::{IngressPermission, RuleSource};
use crate::model::ModelledController::{CloudProviderAws, LoadBalancerController};
use crate::testing::aws::{Cluster, KEY, PLAIN_GROUP, PRIVATE, PRIVATE as PRIVATE_A, TAGGED_GROUP};
use crate::testing::{tag, untag};

const NLB: (&str, &str) = ("aws-load-balancer-type", "nlb");
const SHARED: &str = "elbv2.k8s.aws/targetGroupBinding=shared";

fn cloud(version: &str, annotations: &[(&str, &str)], spec: Value, change: impl FnOnce(&mut Cluster)) -> Value {
    decision(CloudProviderAws, version, service(annotations, spec), change)
}

fn balancer(version: &str, more: &[(&str, &str)], spec: Value, change: impl FnOnce(&mut Cluster)) -> Value {
    let mut all = vec![("aws-load-balancer-type", "external"), ("aws-load-balancer-nlb-target-type", "instance")];
    all.extend(more);
    decision(LoadBalancerController, version, service(&all, spec), change)
}

fn permission(protocol: &str, port: Option<i32>, source: &str, description: Option<&str>) -> IngressPermission {
    let source =
        RuleSource { source: source.to_owned(), description: description.map(str::to_owned), ..RuleSource::default() };
    let is_group = source.source.starts_with("sg-");
    IngressPermission {
        protocol: protocol.to_owned(),
        from_port: port,
        to_port: port,
        ranges: if is_group { Vec::new() } else { vec![source.clone()] },
        groups: if is_group { vec![source] } else { Vec::new() },
    }
}

/// The only group of all nodes gets a permission.
fn open(cluster: &mut Cluster, permission: IngressPermission) {
    cluster.group(TAGGED_GROUP).ingress.push(permission);
}

#[test]
fn a_rule_of_the_cloud_controller_exists_with_any_description() {
    let found =
        cloud("1.34", &[NLB], json!({}), |c| open(c, permission("tcp", Some(30_080), "0.0.0.0/0", Some("mine"))));
    let rules = found["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 1, "{found:#}");
    assert_eq!(rules[0]["protocol"], "icmp");
    let subnet = json!({"loadBalancerSourceRanges": ["10.0.0.0/24"]});
    let internal = [NLB, ("aws-load-balancer-internal", "true"), ("aws-load-balancer-subnets", PRIVATE_A)];
    let found = cloud("1.34", &internal, subnet, |c| c.subnet(PRIVATE).cidr_block = Some("10.0.0.0/24".to_owned()));
    let of_range: Vec<&Value> = found["rules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|rule| rule["source"] == "10.0.0.0/24" && rule["protocol"] == "tcp")
        .collect();
    assert_eq!(of_range.len(), 1, "{found:#}");
    assert_eq!(of_range[0]["description"], format!("kubernetes.io/rule/nlb/health={CLASSIC}"));
}

#[test]
fn the_cloud_controller_removes_only_the_rule_that_it_adds() {
    let elb = |cluster: &mut Cluster, port: Option<i32>, protocol: &str, is_tagged: bool| {
        cluster.add_group("sg-elb").name = format!("k8s-elb-{CLASSIC}");
        let other = cluster.add_group("sg-other");
        other.ingress.push(permission(protocol, port, "sg-elb", None));
        if is_tagged {
            tag(&mut cluster.group("sg-other").tags, KEY, "owned");
        }
        tag(&mut cluster.group("sg-elb").tags, KEY, "owned");
    };
    let found = cloud("1.34", &[], json!({}), |c| elb(c, Some(80), "tcp", true));
    holds(&found, json!({"lb_groups": ["sg-elb"], "new_group": null, "rules_removed": []}));
    let found = cloud("1.34", &[], json!({}), |c| elb(c, None, "-1", true));
    holds(&found, json!({"rules_removed": [{"group": "sg-other", "protocol": "-1", "source": "sg-elb"}]}));
    let found = cloud("1.34", &[], json!({}), |c| elb(c, None, "-1", false));
    holds(&found, json!({"rules_removed": []}));
    // To v1.31 a rule of a group without the tag does not count.
    for (version, added) in [("1.31", 1), ("1.32", 0)] {
        let found = cloud(version, &[], json!({}), |c| {
            elb(c, None, "-1", false);
            for instance in &mut c.region().instances {
                instance.security_groups = vec![TAGGED_GROUP.to_owned()];
            }
            untag(&mut c.group(TAGGED_GROUP).tags, KEY);
            open(c, permission("tcp", Some(80), "sg-elb", None));
        });
        assert_eq!(found["rules"].as_array().map(Vec::len), Some(added), "{version} {found:#}");
    }
}

#[test]
fn an_order_that_is_not_strict_leaves_the_source_open() {
    let listed = [("aws-load-balancer-security-groups", "sg-x,sg-y")];
    let both = |cluster: &mut Cluster, tagged: &[&str]| {
        for id in ["sg-x", "sg-y"] {
            cluster.add_group(id);
        }
        for id in tagged {
            tag(&mut cluster.group(id).tags, KEY, "owned");
        }
    };
    holds(&cloud("1.34", &listed, json!({}), |c| both(c, &["sg-y"])), json!({"error": null, "rules": "unknown"}));
    for tagged in [&["sg-x"][..], &[], &["sg-x", "sg-y"]] {
        let found = cloud("1.34", &listed, json!({}), |c| both(c, tagged));
        assert_eq!(found["rules"][0]["source"], "sg-x", "{tagged:?}");
    }
    assert_eq!(cloud("1.31", &listed, json!({}), |c| both(c, &["sg-y"]))["rules"][0]["source"], "sg-x");
}

#[test]
fn the_load_balancer_controller_adds_only_what_is_missing() {
    let shared = |cluster: &mut Cluster| {
        cluster.add_group("sg-traffic");
        for (key, value) in [("elbv2.k8s.aws/cluster", "mycluster"), ("elbv2.k8s.aws/resource", "backend-sg")] {
            tag(&mut cluster.group("sg-traffic").tags, key, value);
        }
    };
    let id = Cluster::new().id;
    let shared = |cluster: &mut Cluster| {
        shared(cluster);
        tag(&mut cluster.group("sg-traffic").tags, "elbv2.k8s.aws/cluster", id);
    };
    let found = balancer("2.14.0", &[], json!({}), shared);
    assert_eq!(found["lb_groups"][1], "sg-traffic", "{found:#}");
    assert_eq!(found["rules"][0]["source"], "sg-traffic");
    for description in [None, Some("mine"), Some(SHARED)] {
        let found = balancer("2.14.0", &[], json!({}), |c| {
            shared(c);
            open(c, permission("tcp", Some(30_080), "sg-traffic", description));
        });
        holds(&found, json!({"rules": [], "node_groups": [TAGGED_GROUP]}));
    }
    let found = balancer("2.14.0", &[], json!({}), |c| {
        shared(c);
        open(c, permission("tcp", Some(31_000), "sg-traffic", Some(SHARED)));
    });
    holds(&found, json!({"error": null, "rules": "unknown"}));
    // The name alone is not enough.
    let found = balancer("2.14.0", &[], json!({}), |c| {
        let name = balancer("2.14.0", &[], json!({}), |_| {})["lb_groups"][1].as_str().unwrap().replace("new:", "");
        c.add_group("sg-named").name = name;
    });
    assert!(found["lb_groups"][1].as_str().unwrap().starts_with("new:"), "{found:#}");
}

#[test]
fn the_managed_group_of_the_load_balancer_controller_is_found_by_its_tags() {
    let id = Cluster::new().id;
    let found = balancer("2.14.0", &[], json!({}), |c| {
        c.add_group("sg-managed");
        for (key, value) in [
            ("elbv2.k8s.aws/cluster", id),
            ("service.k8s.aws/stack", "default/web"),
            ("service.k8s.aws/resource", "ManagedLBSecurityGroup"),
        ] {
            tag(&mut c.group("sg-managed").tags, key, value);
        }
    });
    holds(&found, json!({"new_group": null}));
    assert_eq!(found["lb_groups"][0], "sg-managed");
}

#[test]
fn a_target_that_is_not_in_the_account_leaves_the_end_open() {
    let found = balancer("2.14.0", &[], json!({}), |c| c.region().instances.retain(|one| one.id != "i-0wk1"));
    holds(&found, json!({"error": "unknown"}));
    assert!(found["unknown"][0]["reason"].as_str().unwrap().contains("i-0wk1"), "{found:#}");
    let found = balancer("2.14.0", &[], json!({}), |c| c.instance("i-0wk1").network_interfaces.clear());
    holds(&found, json!({"error": "unknown"}));
}

#[test]
fn a_node_port_that_is_allocated_later_leaves_the_rules_open() {
    let ports = json!({"ports": [{"port": 80, "targetPort": 8080, "protocol": "TCP"}]});
    let manifest = |annotations: &[(&str, &str)]| {
        let mut service = service(annotations, ports.clone());
        service["metadata"].as_object_mut().unwrap().remove("uid");
        service
    };
    let external = [("aws-load-balancer-type", "external"), ("aws-load-balancer-nlb-target-type", "instance")];
    let found = decision(LoadBalancerController, "2.14.0", manifest(&external), |_| {});
    holds(&found, json!({"error": null, "rules": "unknown", "node_groups": [TAGGED_GROUP], "target_type": "instance"}));
    let found = decision(CloudProviderAws, "1.34", manifest(&[NLB]), |_| {});
    holds(&found, json!({"error": null, "rules": "unknown", "node_groups": [TAGGED_GROUP]}));
    let found = decision(CloudProviderAws, "1.34", manifest(&[]), |_| {});
    holds(&found, json!({"error": null, "health_check": "unknown"}));
    assert_eq!(found["rules"].as_array().unwrap().len(), 1);
    assert_ne!(PLAIN_GROUP, TAGGED_GROUP);
}

#[test]
fn what_a_service_asks_is_checked_to_the_end() {
    let error = |more: &[(&str, &str)]| balancer("2.14.0", more, json!({}), |_| {})["error"].clone();
    assert_eq!(
        error(&[("aws-load-balancer-ssl-cert", "c"), ("aws-load-balancer-ssl-ports", "443")]),
        "Unused port in ssl-ports annotation [443]"
    );
    assert_eq!(
        error(&[("aws-load-balancer-additional-resource-tags", "a")]),
        "failed to parse stringMap annotation, service.beta.kubernetes.io/aws-load-balancer-additional-resource-tags: a"
    );
    assert_eq!(
        error(&[("aws-load-balancer-multi-cluster-target-group", "x")]),
        "failed to parse bool annotation, service.beta.kubernetes.io/aws-load-balancer-multi-cluster-target-group: x: strconv.ParseBool: parsing \"x\": invalid syntax"
    );
    assert_eq!(error(&[("aws-load-balancer-alpn-policy", "x")]), Value::Null);
    assert_eq!(
        error(&[("aws-load-balancer-alpn-policy", "x"), ("aws-load-balancer-ssl-cert", "c")]),
        "invalid ALPN policy x, policy must be one of [None, HTTP1Only, HTTP2Only, HTTP2Optional, HTTP2Preferred]"
    );
    assert_eq!(error(&[("aws-load-balancer-quic-enabled-ports", "443")]), "unknown");
    let twice = json!({"ports": [
        {"name": "a", "port": 80, "targetPort": 80, "nodePort": 30_080, "protocol": "TCP"},
        {"name": "b", "port": 80, "targetPort": 80, "nodePort": 30_081, "protocol": "UDP"},
    ]});
    let found = balancer("2.14.0", &[], twice, |_| {});
    assert_eq!(found["target_groups"].as_array().unwrap().len(), 1, "{found:#}");
    assert!(found["rules"].as_array().unwrap().iter().all(|rule| rule["protocol"] == "tcp"), "{found:#}");
}

#[test]
fn what_releases_of_the_cloud_controller_differ_in() {
    let attributes = [("aws-load-balancer-target-group-attributes", "preserve_client_ip.enabled=true")];
    let words = json!("target group annotations attribute is only supported for NLB");
    for (version, fails) in [
        ("1.32.5", false),
        ("1.32.6", true),
        ("1.33.2", false),
        ("1.33.3", true),
        ("1.34.0", true),
        ("1.34.1", false),
        ("1.34.2", true),
    ] {
        let found = cloud(version, &attributes, json!({}), |_| {});
        assert_eq!(found["error"] == words, fails, "{version} {found:#}");
    }
    let mixed = json!({"ports": [
        {"name": "a", "port": 80, "nodePort": 30_080, "protocol": "TCP"}, {"name": "b", "port": 81, "nodePort": 30_081, "protocol": "UDP"}
    ]});
    assert_eq!(cloud("1.21.0", &[], mixed.clone(), |_| {})["error"], "Protocol UDP not supported by LoadBalancer");
    assert_eq!(cloud("1.22.0", &[], mixed, |_| {})["error"], "mixed protocol is not supported for LoadBalancer");
    let class = json!({"loadBalancerClass": "x"});
    holds(&cloud("1.20.0", &[], class.clone(), |_| {}), json!({"handled": true}));
    holds(&cloud("1.21.0", &[], class, |_| {}), json!({"handled": false}));
    let low = [("aws-load-balancer-healthcheck-interval", "1")];
    let text = |version: &str| cloud(version, &low, json!({}), |_| {})["error"].as_str().unwrap().to_owned();
    assert!(text("1.29.8").contains("minimum field value of 5, HealthCheck.Interval."), "{}", text("1.29.8"));
    assert!(text("1.29.9").contains("Interval must be at least 5"), "{}", text("1.29.9"));
    let gate = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  name: ccm\n  namespace: kube-system\nspec:\n  template:\n    spec:\n      containers:\n      - name: c\n        image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.27.1\n        args: [--cloud-provider=aws, --feature-gates=StableLoadBalancerNodeSet=false]\n";
    let not_ready = |c: &mut Cluster| {
        c.manifests = gate;
        c.node("i-0wk1")["status"]["conditions"][0]["status"] = json!("False");
    };
    for (version, count) in [("1.27.1", 3), ("1.30.0", 4)] {
        let found = cloud(version, &[], json!({}), not_ready);
        assert_eq!(found["targets"].as_array().unwrap().len(), count, "{version} {found:#}");
    }
}

#[test]
fn the_cloud_controller_keeps_scheme_and_subnets_of_a_network_load_balancer() {
    let found = cloud("1.34", &[NLB, ("aws-load-balancer-eip-allocations", "a")], json!({}), |c| {
        let held = c.add_network();
        CLASSIC.clone_into(&mut held.name);
        held.scheme = Some("internal".to_owned());
        held.subnets = vec![PRIVATE.to_owned()];
    });
    holds(&found, json!({"error": null, "scheme": "internal", "subnets": [PRIVATE]}));
}

#[test]
fn the_load_balancer_controller_keeps_the_name_of_a_load_balancer() {
    let found = balancer("3.5", &[("aws-load-balancer-name", "newname")], json!({}), |c| {
        let held = c.add_network();
        held.scheme = Some("internal".to_owned());
        held.name = "held".to_owned();
        let tags = [
            ("elbv2.k8s.aws/cluster", crate::testing::aws::ID),
            ("service.k8s.aws/stack", "default/web"),
            ("service.k8s.aws/resource", "LoadBalancer"),
        ];
        let tags = tags.map(|(key, value)| crate::inventory::Tag { key: key.to_owned(), value: value.to_owned() });
        held.tags = Some(tags.to_vec());
    });
    holds(&found, json!({"name": "held"}));
}
