//! The cloud controller of AWS.

use serde_json::{Value, json};

use super::{CLASSIC, decision, holds, service};
use crate::inventory::Tag;
use crate::model::ModelledController::CloudProviderAws;
use crate::testing::aws::{Cluster, KEY, OTHER_KEY, PLAIN_GROUP, PRIVATE, PUBLIC, PUBLIC_B, TAGGED_GROUP, WORKER};
use crate::testing::{tag, untag};

const NLB: (&str, &str) = ("aws-load-balancer-type", "nlb");

fn with(version: &str, annotations: &[(&str, &str)], spec: Value, change: impl FnOnce(&mut Cluster)) -> Value {
    decision(CloudProviderAws, version, service(annotations, spec), change)
}

fn plain(annotations: &[(&str, &str)]) -> Value {
    with("1.31", annotations, json!({}), |_| {})
}

/// The error of a Service.
fn error(version: &str, annotations: &[(&str, &str)], spec: Value) -> Value {
    with(version, annotations, spec, |_| {})["error"].clone()
}

/// A cloud configuration in the cluster.
fn configured(line: &str) -> &'static str {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cloud-config\n  namespace: kube-system\ndata:\n  cloud.conf: |\n    [Global]\n    {line}\n").leak()
}

#[test]
fn a_service_gets_a_classic_load_balancer_by_default() {
    let found = plain(&[]);
    holds(
        &found,
        json!({
            "handled": true, "error": null, "kind": "clb", "scheme": "internet-facing", "name": CLASSIC,
            "subnets": [PUBLIC, PUBLIC_B],
            "lb_groups": [format!("new:k8s-elb-{CLASSIC}")],
            "node_groups": [TAGGED_GROUP],
            "rules": [{"group": TAGGED_GROUP, "protocol": "-1", "source": format!("new:k8s-elb-{CLASSIC}")}],
            "targets": ["i-0cp0", "i-0cp1", "i-0wk0", "i-0wk1"],
            "health_check": {"target": "TCP:30080", "interval": 10, "timeout": 5, "healthy": 2, "unhealthy": 6},
        }),
    );
    let rules = &found["new_group"]["rules"];
    assert_eq!(rules[0]["from"], 80);
    assert_eq!((&rules[1]["protocol"], &rules[1]["to"]), (&json!("icmp"), &json!(4)));
    assert!(found["steps"].as_array().unwrap().len() > 5);
}

#[test]
fn what_ec2_refuses_in_a_rule_is_not_certain_to_succeed() {
    let ranged = |range: &str| error("1.31", &[], json!({"loadBalancerSourceRanges": [range]}));
    assert_eq!((ranged("10.0.0.0/8"), ranged("2001:db8::/32")), (Value::Null, json!("unknown")));
}

/// `VPC` is for controllers outside of the cluster, which need two other variables.
#[test]
fn the_vpc_of_the_configuration_counts_only_with_a_subnet_and_a_tag() {
    let of = |lines: &'static str| with("1.31", &[], json!({}), |c| c.manifests = configured(lines));
    holds(&of("VPC = vpc-0else"), json!({"subnets": [PUBLIC, PUBLIC_B]}));
    let all = "VPC = vpc-0else\n    SubnetID = subnet-0else\n    KubernetesClusterID = c-m-4x8z2k9q";
    holds(&of(all), json!({"error": "could not find any suitable subnets for creating the ELB"}));
}

/// The controller skips every port, and asks for a load balancer without listeners.
#[test]
fn a_service_without_node_ports_is_no_success() {
    let spec = json!({"allocateLoadBalancerNodePorts": false, "ports": [{"port": 80, "protocol": "TCP"}]});
    holds(&with("1.31", &[], spec, |_| {}), json!({"error": "unknown"}));
}

#[test]
fn services_of_others_are_not_taken() {
    for (annotations, spec) in [
        (vec![], json!({"type": "ClusterIP"})),
        (vec![], json!({"loadBalancerClass": "service.k8s.aws/nlb"})),
        (vec![("aws-load-balancer-type", "external")], json!({})),
        (vec![("aws-load-balancer-type", "nlb-ip")], json!({})),
    ] {
        let found = with("1.31", &annotations, spec, |_| {});
        holds(&found, json!({"handled": false, "error": null, "kind": null, "subnets": null}));
    }
    holds(&plain(&[("aws-load-balancer-type", "NLB")]), json!({"kind": "clb"}));
}

#[test]
fn only_false_and_an_empty_value_are_internet_facing() {
    for (value, scheme) in
        [("false", "internet-facing"), ("", "internet-facing"), ("False", "internal"), ("0.0.0.0/0", "internal")]
    {
        holds(&plain(&[("aws-load-balancer-internal", value)]), json!({"scheme": scheme}));
    }
}

#[test]
fn subnets_are_chosen_by_role_then_cluster_tag_then_id() {
    let found = with("1.31", &[], json!({}), |c| untag(&mut c.subnet(PUBLIC).tags, "kubernetes.io/role/elb"));
    holds(&found, json!({"subnets": [PUBLIC, PUBLIC_B]}));
    assert!(found["subnets_passed_over"].to_string().contains("no route to an internet gateway"), "{found:#}");
    // Internal ones do not avoid public subnets: the role tag decides, then the id.
    let internal = [("aws-load-balancer-internal", "true")];
    holds(&plain(&internal), json!({"subnets": [PRIVATE, "subnet-privb0bb1"]}));
    let found = with("1.31", &internal, json!({}), |c| {
        for subnet in &mut c.region().subnets {
            untag(&mut subnet.tags, "kubernetes.io/role/internal-elb");
        }
    });
    holds(&found, json!({"subnets": [PRIVATE, "subnet-privb0bb1"]}));
    assert!(found["subnets_passed_over"].to_string().contains("smaller id"), "{found:#}");
}

#[test]
fn subnets_of_other_clusters_are_passed_over_unless_there_are_no_others() {
    let foreign = |c: &mut Cluster, id: &str| {
        let tags = &mut c.subnet(id).tags;
        untag(tags, KEY);
        tag(tags, OTHER_KEY, "shared");
    };
    holds(&with("1.31", &[], json!({}), |c| foreign(c, PUBLIC)), json!({"subnets": [PUBLIC_B]}));
    // v1.20 takes tagged ones only.
    let untagged = |c: &mut Cluster| untag(&mut c.subnet(PUBLIC).tags, KEY);
    holds(&with("1.20", &[], json!({}), untagged), json!({"subnets": [PUBLIC_B]}));
    holds(&with("1.21", &[], json!({}), untagged), json!({"subnets": [PUBLIC, PUBLIC_B]}));
    // Then it takes that of the instance that it runs on, which is not known with servers in two subnets.
    let found = with("1.31", &[], json!({}), |c| {
        for id in [PUBLIC, PUBLIC_B, PRIVATE, "subnet-privb0bb1"] {
            foreign(c, id);
        }
    });
    holds(&found, json!({"error": "unknown", "subnets": null}));
}

#[test]
fn local_zones_are_left_out_since_1_26_1() {
    let local = |c: &mut Cluster| "local-zone".clone_into(&mut c.region().availability_zones[1].zone_type);
    holds(&with("1.26.0", &[], json!({}), local), json!({"subnets": [PUBLIC, PUBLIC_B]}));
    holds(&with("1.26.1", &[], json!({}), local), json!({"subnets": [PUBLIC]}));
}

#[test]
fn listed_subnets_are_counted_and_nothing_else_is_checked() {
    let listed = |list: &str| error("1.31", &[("aws-load-balancer-subnets", list)], json!({}));
    assert_eq!(listed(""), "unable to resolve empty subnet slice");
    assert_eq!(listed("pub-a, nowhere"), "expected to find 2, but found 1 subnets");
    assert_eq!(listed("pub-a, pub-a"), "expected to find 2, but found 1 subnets");
    assert_eq!(listed("subnet-0gone"), "unknown", "EC2 refuses an id that does not exist");
    let found = plain(&[("aws-load-balancer-subnets", "pub-b, subnet-puba0bb1")]);
    holds(&found, json!({"error": null, "subnets": [PUBLIC, PUBLIC_B]}));
    holds(
        &plain(&[("aws-load-balancer-subnets", PRIVATE)]),
        json!({"subnets": [PRIVATE], "scheme": "internet-facing"}),
    );
}

#[test]
fn nodes_are_left_out_by_label_taint_and_tag() {
    let targets = |version: &str, change: fn(&mut Cluster)| with(version, &[], json!({}), change)["targets"].clone();
    let all = json!(["i-0cp0", "i-0cp1", "i-0wk0", "i-0wk1"]);
    let others = json!(["i-0cp0", "i-0cp1", "i-0wk1"]);
    let excluded: fn(&mut Cluster) = |c| {
        c.node(WORKER)["metadata"]["labels"]["node.kubernetes.io/exclude-from-external-load-balancers"] =
            json!("false");
    };
    assert_eq!((targets("1.33", excluded), targets("1.34", excluded)), (others.clone(), all.clone()));
    let not_ready: fn(&mut Cluster) =
        |c| c.node(WORKER)["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    assert_eq!((targets("1.26", not_ready), targets("1.27", not_ready)), (others.clone(), all.clone()));
    let tainted: fn(&mut Cluster) = |c| {
        c.node(WORKER)["spec"]["taints"] = json!([{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]);
    };
    assert_eq!(targets("1.31", tainted), others);
    let untagged: fn(&mut Cluster) = |c| untag(&mut c.instance(WORKER).tags, KEY);
    assert_eq!(targets("1.31", untagged), others);
    let embedded: fn(&mut Cluster) = |c| c.node(WORKER)["spec"]["providerID"] = json!("rke2://worker-i-0wk0");
    assert_eq!(targets("1.31", embedded), others);
    let deleted: fn(&mut Cluster) = |c| c.node(WORKER)["metadata"]["deletionTimestamp"] = json!("2026-11-20T00:00:00Z");
    assert_eq!((targets("1.26", deleted), targets("1.27", deleted)), (all, others));
    let labelled = [("aws-load-balancer-target-node-labels", "node-role.kubernetes.io/worker=")];
    holds(&plain(&labelled), json!({"targets": ["i-0wk0", "i-0wk1"]}));
}

#[test]
fn without_nodes_targets_and_rules_are_unknown() {
    let found = with("1.31", &[], json!({}), |c| c.nodes.clear());
    // A target with several tagged groups would stop the controller.
    holds(&found, json!({"error": "unknown", "subnets": [PUBLIC, PUBLIC_B], "targets": "unknown", "rules": "unknown"}));
}

#[test]
fn the_groups_of_an_instance_decide_where_rules_go() {
    let error = |change: fn(&mut Cluster)| with("1.31", &[], json!({}), change)["error"].clone();
    let several: fn(&mut Cluster) =
        |c| c.group(PLAIN_GROUP).tags.push(Tag { key: KEY.to_owned(), value: String::new() });
    let found = with("1.31", &[], json!({}), several);
    let text = found["error"].as_str().unwrap();
    assert_eq!(
        text,
        "Multiple tagged security groups found for instance i-0cp0; ensure only the k8s security group is tagged; the tagged groups were sg-0bb1(rke2-nodes) sg-0bb2(ssh) "
    );
    assert!(found["unknown"][0]["reason"].as_str().unwrap().contains("4 targets"), "{found:#}");
    let none: fn(&mut Cluster) = |c| c.group(TAGGED_GROUP).tags.clear();
    assert_eq!(
        error(none),
        "Multiple untagged security groups found for instance i-0cp0; ensure the k8s security group is tagged"
    );
    let foreign: fn(&mut Cluster) = |c| {
        c.group(TAGGED_GROUP).tags.clear();
        c.group(TAGGED_GROUP).tags.push(Tag { key: OTHER_KEY.to_owned(), value: "owned".to_owned() });
    };
    assert!(error(foreign).as_str().unwrap().starts_with("Multiple untagged"));
    // Two tagged groups on an instance that is not a target do no harm.
    let found = with("1.31", &[], json!({}), |c| {
        untag(&mut c.instance(WORKER).tags, KEY);
        c.add_group("sg-0third").tags.push(Tag { key: KEY.to_owned(), value: String::new() });
        c.set_groups(&["sg-0third", TAGGED_GROUP]);
    });
    holds(&found, json!({"error": null, "node_groups": [TAGGED_GROUP]}));
    let off = with("1.31", &[], json!({}), |c| {
        several(c);
        c.manifests = configured("DisableSecurityGroupIngress = true");
    });
    holds(&off, json!({"error": null, "node_groups": [], "rules": []}));
}

#[test]
fn the_first_group_opens_the_nodes() {
    let tagged = |c: &mut Cluster| tag(&mut c.add_group("sg-0lb").tags, KEY, "owned");
    let source = |version: &str, annotations: &[(&str, &str)]| {
        with(version, annotations, json!({}), tagged)["rules"][0]["source"].clone()
    };
    let own = ("aws-load-balancer-security-groups", "sg-0bb2, sg-0lb");
    assert_eq!(source("1.31", &[own]), "sg-0bb2");
    // Since v1.32 a tagged one may come first.
    assert_eq!(source("1.32", &[own]), Value::Null);
    let extra = ("aws-load-balancer-extra-security-groups", "sg-0bb2");
    let found = plain(&[extra]);
    holds(&found, json!({"lb_groups": [format!("new:k8s-elb-{CLASSIC}"), "sg-0bb2"]}));
    assert_eq!(source("1.31", &[extra]), format!("new:k8s-elb-{CLASSIC}"));
}

#[test]
fn an_existing_group_is_taken_over_unless_its_tag_differs() {
    let made = |value: Option<&'static str>| {
        move |c: &mut Cluster| {
            let group = c.add_group("sg-0old");
            group.name = format!("k8s-elb-{CLASSIC}");
            group.tags = value.map(|value| Tag { key: KEY.to_owned(), value: value.to_owned() }).into_iter().collect();
            group.tags.push(Tag { key: OTHER_KEY.to_owned(), value: "owned".to_owned() });
        }
    };
    let found = with("1.31", &[], json!({}), made(None));
    holds(&found, json!({"lb_groups": ["sg-0old"], "tags_added": {"sg-0old": {KEY: "owned"}}}));
    holds(&with("1.31", &[], json!({}), made(Some("owned"))), json!({"lb_groups": ["sg-0old"], "tags_added": null}));
    let refused = with("1.31", &[], json!({}), made(Some("shared")));
    holds(
        &refused,
        json!({"error": format!("resource \"sg-0old\" has tag belonging to another cluster: \"{KEY}\"=\"shared\" (expected \"owned\")")}),
    );
}

#[test]
fn network_load_balancers_open_the_node_port_for_clients_and_health_checks() {
    let found = with("1.31", &[NLB], json!({"loadBalancerSourceRanges": ["192.0.2.9/24"]}), |_| {});
    holds(
        &found,
        json!({"kind": "nlb", "lb_groups": [], "new_group": null, "target_groups": ["k8s-default-web-4f975e386f"]}),
    );
    let rules = found["rules"].as_array().unwrap();
    let of = |text: &str| rules.iter().filter(|rule| rule["description"].as_str().unwrap().contains(text)).count();
    assert_eq!((of("nlb/client="), of("nlb/health="), of("nlb/mtu"), rules.len()), (1, 2, 1, 4));
    assert_eq!(rules[0]["source"], "192.0.2.0/24", "host bits are cut: {rules:#?}");
    // Open to everybody: health checks are covered.
    let open = plain(&[NLB]);
    assert_eq!(open["rules"].as_array().unwrap().len(), 2, "{open:#}");
}

#[test]
fn rules_of_a_network_load_balancer_leave_groups_that_no_target_uses() {
    let description = format!("kubernetes.io/rule/nlb/client={CLASSIC}");
    let found = with("1.31", &[NLB], json!({}), |c| {
        let group = c.add_group("sg-0pool");
        group.tags.push(Tag { key: KEY.to_owned(), value: "owned".to_owned() });
        group.ingress = vec![crate::aws::IngressPermission {
            protocol: "tcp".to_owned(),
            from_port: Some(30_080),
            to_port: Some(30_080),
            ranges: vec![crate::aws::RuleSource {
                source: "0.0.0.0/0".to_owned(),
                description: Some(description.clone()),
                ..crate::aws::RuleSource::default()
            }],
            groups: Vec::new(),
        }];
    });
    let removed = &found["rules_removed"];
    assert_eq!((&removed[0]["group"], &removed[0]["description"]), (&json!("sg-0pool"), &json!(description)));
}

#[test]
fn groups_of_a_network_load_balancer_depend_on_mode_and_version() {
    let managed = |c: &mut Cluster| c.manifests = configured("NLBSecurityGroupMode = Managed");
    holds(&with("1.34", &[NLB], json!({}), managed), json!({"lb_groups": []}));
    let found = with("1.35.0", &[NLB], json!({}), managed);
    let name = found["new_group"]["name"].as_str().unwrap();
    assert!(name.starts_with("k8s-default-web-") && found["lb_groups"][0] == format!("new:{name}"), "{found:#}");
    let wrong = with("1.35.0", &[NLB], json!({}), |c| c.manifests = configured("NLBSecurityGroupMode = managed"));
    assert!(
        wrong["error"]
            .as_str()
            .unwrap()
            .ends_with("invalid NLB security group mode: \"managed\". Expected: \"Managed\"")
    );
    let own = [NLB, ("aws-load-balancer-security-groups", "sg-0bb2")];
    assert_eq!(error("1.34", &own, json!({})), Value::Null);
    let refused = "BYO security group annotation \"service.beta.kubernetes.io/aws-load-balancer-security-groups\" is not supported by NLB";
    for version in ["1.35.0", "1.36.1", "1.36"] {
        assert_eq!(error(version, &own, json!({})), refused, "{version}");
    }
    assert_eq!(error("1.37", &own, json!({})), Value::Null);
}

#[test]
fn annotations_and_fields_are_refused_in_the_words_of_the_controller() {
    let key = |suffix: &str| format!("service.beta.kubernetes.io/{suffix}");
    let cases: Vec<(&str, Vec<(&str, &str)>, Value, String)> = vec![
        ("1.31", vec![], json!({"sessionAffinity": "ClientIP"}), "unsupported load balancer affinity: ClientIP".into()),
        ("1.31", vec![], json!({"ports": []}), "requested load balancer with no ports".into()),
        ("1.31", vec![], json!({"loadBalancerIP": "192.0.2.1"}), "LoadBalancerIP cannot be specified for AWS ELB".into()),
        (
            "1.31",
            vec![],
            json!({"ports": [{"port": 53, "nodePort": 30053, "protocol": "UDP"}]}),
            "Protocol UDP not supported by LoadBalancer".into(),
        ),
        (
            "1.31",
            vec![NLB],
            json!({"ports": [{"port": 53, "nodePort": 30053, "protocol": "UDP"}, {"port": 53, "nodePort": 30054}]}),
            "mixed protocol is not supported for LoadBalancer".into(),
        ),
        (
            "1.31",
            vec![("aws-load-balancer-proxy-protocol", "true")],
            json!({}),
            format!("annotation \"{}\"=\"true\" detected, but the only value supported currently is '*'", key("aws-load-balancer-proxy-protocol")),
        ),
        (
            "1.31",
            vec![("aws-load-balancer-connection-idle-timeout", "60s")],
            json!({}),
            format!("error parsing service annotation: {}=60s", key("aws-load-balancer-connection-idle-timeout")),
        ),
        (
            "1.31",
            vec![NLB, ("aws-load-balancer-eip-allocations", "eipalloc-1")],
            json!({}),
            "error creating load balancer: Must have same number of EIP AllocationIDs (1) and SubnetIDs (2)".into(),
        ),
        (
            "1.34",
            vec![("aws-load-balancer-target-group-attributes", "preserve_client_ip.enabled=true")],
            json!({}),
            "target group annotations attribute is only supported for NLB".into(),
        ),
        (
            "1.31",
            vec![],
            json!({"loadBalancerSourceRanges": ["10.0.0.0"]}),
            "service.Spec.LoadBalancerSourceRanges: [10.0.0.0] is not valid. Expecting a list of IP ranges. For example, 10.0.0.0/24. Error msg: invalid CIDR address: 10.0.0.0".into(),
        ),
        (
            "1.31",
            vec![NLB, ("aws-load-balancer-healthcheck-protocol", "UDP")],
            json!({}),
            "Unsupported health check protocol UDP".into(),
        ),
        (
            "1.31",
            vec![("aws-load-balancer-healthcheck-interval", "3")],
            json!({}),
            format!("cannot update health check for load balancer \"{CLASSIC}\": \"some of the load balancer health check parameters are invalid: HealthCheck validation errors: Interval must be at least 5\""),
        ),
    ];
    for (version, annotations, spec, expected) in cases {
        assert_eq!(error(version, &annotations, spec), expected, "{annotations:?}");
    }
}

#[test]
fn the_type_of_an_existing_load_balancer_cannot_change_since_1_36() {
    let exists = |version: &str, annotations: &[(&str, &str)], host: &str| {
        let mut service = service(annotations, json!({}));
        service["status"] = json!({"loadBalancer": {"ingress": [{"hostname": host}]}});
        decision(CloudProviderAws, version, service, |_| {})["error"].clone()
    };
    let (classic, network) = ("x-1.eu-central-1.elb.amazonaws.com", "x-1.elb.eu-central-1.amazonaws.com");
    let refused = "cannot update Load Balancer Type annotation \"service.beta.kubernetes.io/aws-load-balancer-type\" after creation for";
    assert_eq!(exists("1.36", &[NLB], classic), format!("{refused} NLB"));
    assert_eq!(exists("1.36", &[], network), format!("{refused} Classic Load Balancer"));
    assert_eq!((exists("1.36", &[NLB], network), exists("1.35", &[NLB], classic)), (Value::Null, Value::Null));
}

#[test]
fn health_checks_follow_policy_annotations_and_configuration() {
    let local = json!({"externalTrafficPolicy": "Local", "healthCheckNodePort": 31000});
    let found = with("1.31", &[], local.clone(), |_| {});
    assert_eq!(found["health_check"]["target"], "HTTP:31000/healthz");
    let found = with("1.31", &[NLB], local, |_| {});
    let expected = json!({"protocol": "HTTP", "port": "31000", "path": "/healthz", "interval": 10, "timeout": 10, "healthy": 2, "unhealthy": 2});
    assert_eq!(found["health_check"], expected);
    let shared = |c: &mut Cluster| c.manifests = configured("ClusterServiceLoadBalancerHealthProbeMode = Shared");
    let at = |version: &str| with(version, &[], json!({}), shared)["health_check"]["target"].clone();
    assert_eq!((at("1.32"), at("1.33")), (json!("TCP:30080"), json!("HTTP:10256/healthz")));
}

#[test]
fn without_a_uid_names_are_unknown() {
    let mut service = service(&[], json!({}));
    service["metadata"].as_object_mut().unwrap().remove("uid");
    let found = decision(CloudProviderAws, "1.31", service, |_| {});
    holds(&found, json!({"error": null, "name": "unknown", "subnets": [PUBLIC, PUBLIC_B]}));
}

#[test]
fn a_list_that_was_not_read_leaves_the_answer_open() {
    use crate::inventory::{Gap, Read};
    let found = with("1.31", &[], json!({}), |c| {
        let gap = Gap {
            read: Read::DescribeRouteTables,
            account_id: Some("111122223333".to_owned()),
            region: Some("eu-central-1".to_owned()),
            resource: None,
            policy: None,
            reason: "AccessDenied".to_owned(),
            message: "not allowed".to_owned(),
        };
        c.inventory.gaps.push(gap);
    });
    holds(&found, json!({"error": "unknown", "subnets": null}));
}
