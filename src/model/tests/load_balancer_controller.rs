//! The AWS Load Balancer Controller.

use serde_json::{Value, json};

use super::ingress::{alb, ingress};
use super::{UID, decision, holds, service};
use crate::aws::LoadBalancing;
use crate::inventory::Tag;
use crate::model::ModelledController::{CloudProviderAws, LoadBalancerController};
use crate::testing::aws::{Cluster, KEY, OTHER_KEY, PLAIN_GROUP, PRIVATE, PUBLIC, PUBLIC_B, TAGGED_GROUP, WORKER};
use crate::testing::{tag, untag};

const PRIVATE_B: &str = "subnet-privb0bb1";
const PUBLIC_SCHEME: (&str, &str) = ("aws-load-balancer-scheme", "internet-facing");

fn external<'s>(more: &[(&'s str, &'s str)]) -> Vec<(&'s str, &'s str)> {
    let mut all = vec![("aws-load-balancer-type", "external"), ("aws-load-balancer-nlb-target-type", "instance")];
    all.extend(more);
    all
}

fn with(version: &str, more: &[(&str, &str)], spec: Value, change: impl FnOnce(&mut Cluster)) -> Value {
    decision(LoadBalancerController, version, service(&external(more), spec), change)
}

fn plain(more: &[(&str, &str)]) -> Value {
    with("2.13.4", more, json!({}), |_| {})
}

fn error(more: &[(&str, &str)], spec: Value) -> Value {
    with("2.13.4", more, spec, |_| {})["error"].clone()
}

/// The controller with arguments.
fn running(arguments: &[&str]) -> &'static str {
    let arguments: Vec<String> = arguments.iter().map(|one| format!("\"{one}\"")).collect();
    format!("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: lbc\n  namespace: kube-system\nspec:\n  template:\n    spec:\n      containers:\n      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4\n        args: [{}]\n", arguments.join(", ")).leak()
}

#[test]
fn a_service_gets_a_network_load_balancer_with_two_groups() {
    let found = plain(&[]);
    let backend = found["lb_groups"][1].as_str().unwrap();
    assert!(backend.starts_with("new:k8s-traffic-cm4x8z2k9q-"), "{backend}");
    holds(
        &found,
        json!({
            "handled": true, "error": null, "kind": "nlb", "scheme": "internal", "ip_address_type": "ipv4",
            "subnets": [PRIVATE, PRIVATE_B], "target_type": "instance", "node_groups": [TAGGED_GROUP],
            "targets": ["i-0cp0", "i-0cp1", "i-0wk0", "i-0wk1"],
            "rules": [{"group": TAGGED_GROUP, "protocol": "tcp", "source": backend, "from": 30080, "to": 30080, "description": "elbv2.k8s.aws/targetGroupBinding=shared"}],
            "health_check": {"protocol": "TCP", "port": "traffic-port", "interval": 10, "timeout": 10, "healthy": 3, "unhealthy": 3},
        }),
    );
    assert_eq!(found["new_group"]["rules"][0]["source"], "0.0.0.0/0");
}

#[test]
fn a_class_decides_alone_else_type_and_target_type() {
    let handled = |annotations: &[(&str, &str)], spec: Value| {
        decision(LoadBalancerController, "2.13.4", service(annotations, spec), |_| {})["handled"].clone()
    };
    assert_eq!(handled(&[], json!({})), false);
    assert_eq!(handled(&[("aws-load-balancer-type", "external")], json!({})), false);
    assert_eq!(handled(&[("aws-load-balancer-type", "nlb-ip")], json!({})), true);
    assert_eq!(handled(&[], json!({"loadBalancerClass": "service.k8s.aws/nlb"})), true);
    assert_eq!(handled(&external(&[]), json!({"loadBalancerClass": "other"})), false);
    // Other types of Services are taken too, unless a gate is on.
    assert_eq!(handled(&external(&[]), json!({"type": "NodePort"})), true);
    let gate = |c: &mut Cluster| c.manifests = running(&["--feature-gates=ServiceTypeLoadBalancerOnly=true"]);
    holds(&with("2.13.4", &[], json!({"type": "NodePort"}), gate), json!({"handled": false}));
}

#[test]
fn schemes_are_read_in_order_and_strictly() {
    let scheme = |more: &[(&str, &str)]| plain(more)["scheme"].clone();
    assert_eq!(scheme(&[PUBLIC_SCHEME, ("aws-load-balancer-internal", "true")]), "internet-facing");
    assert_eq!(scheme(&[("aws-load-balancer-internal", "false")]), "internet-facing");
    assert_eq!(error(&[("aws-load-balancer-scheme", "public")], json!({})), "unknown scheme: public");
    let refused = error(&[("aws-load-balancer-internal", "0.0.0.0/0")], json!({}));
    assert!(refused.as_str().unwrap().starts_with(
        "failed to parse bool annotation, service.beta.kubernetes.io/aws-load-balancer-internal: 0.0.0.0/0"
    ));
    let flag = |c: &mut Cluster| c.manifests = running(&["--default-load-balancer-scheme=internet-facing"]);
    holds(&with("2.13.4", &[], json!({}), flag), json!({"scheme": "internet-facing"}));
}

#[test]
fn subnets_are_discovered_by_role_and_by_reachability_only_without_any_role() {
    holds(&plain(&[PUBLIC_SCHEME]), json!({"subnets": [PUBLIC, PUBLIC_B]}));
    let without = |c: &mut Cluster| {
        for subnet in &mut c.region().subnets {
            untag(&mut subnet.tags, "kubernetes.io/role/elb");
        }
    };
    holds(&with("2.13.4", &[PUBLIC_SCHEME], json!({}), without), json!({"subnets": [PUBLIC, PUBLIC_B]}));
    holds(
        &with("2.12.0", &[PUBLIC_SCHEME], json!({}), without),
        json!({"error": "unable to resolve at least one subnet (0 match VPC and tags: [kubernetes.io/role/elb])"}),
    );
    holds(
        &with("2.6.2", &[PUBLIC_SCHEME], json!({}), without),
        json!({"error": "unable to resolve at least one subnet (0 match VPC and tags)"}),
    );
    holds(
        &with("2.5.0", &[PUBLIC_SCHEME], json!({}), without),
        json!({"error": "unable to resolve at least one subnet"}),
    );
    // One role tag of another cluster turns the search by reachability off.
    let foreign = |c: &mut Cluster| {
        without(c);
        let tags = &mut c.subnet(PUBLIC).tags;
        untag(tags, KEY);
        tag(tags, OTHER_KEY, "owned");
        tag(tags, "kubernetes.io/role/elb", "1");
    };
    holds(
        &with("2.13.4", &[PUBLIC_SCHEME], json!({}), foreign),
        json!({"error": "unable to resolve at least one subnet. Evaluated 1 subnets: 1 are tagged for other clusters, and 0 have insufficient available IP addresses"}),
    );
    let full = |c: &mut Cluster| c.subnet(PUBLIC).available_ip_address_count = Some(7);
    holds(&with("2.13.4", &[PUBLIC_SCHEME], json!({}), full), json!({"subnets": [PUBLIC_B]}));
    // The value of the role tag counts, and the prefix of clusters has no slash.
    let wrong = |c: &mut Cluster| tag(&mut c.subnet(PUBLIC).tags, "kubernetes.io/role/elb", "0");
    holds(&with("2.13.4", &[PUBLIC_SCHEME], json!({}), wrong), json!({"subnets": [PUBLIC_B]}));
    let prefix = |c: &mut Cluster| {
        let tags = &mut c.subnet(PUBLIC).tags;
        untag(tags, KEY);
        tag(tags, "kubernetes.io/cluster-x", "1");
    };
    holds(&with("2.13.4", &[PUBLIC_SCHEME], json!({}), prefix), json!({"subnets": [PUBLIC_B]}));
}

/// Addresses that the Service states need no free ones before v2.13.
#[test]
fn full_subnets_are_taken_for_stated_addresses_before_2_13() {
    let full = |c: &mut Cluster| {
        for subnet in &mut c.region().subnets {
            subnet.available_ip_address_count = Some(2);
        }
    };
    let stated = [("aws-load-balancer-private-ipv4-addresses", "10.0.0.9,10.0.1.9")];
    let of = |version: &str, more: &[(&str, &str)]| with(version, more, json!({}), full)["error"].to_string();
    assert!(!of("2.12.0", &stated).contains("free IPs"), "{}", of("2.12.0", &stated));
    assert!(of("2.12.0", &[]).contains("2 have fewer than 8 free IPs"), "{}", of("2.12.0", &[]));
    assert!(of("2.13.0", &stated).contains("2 have insufficient available IP addresses"), "{}", of("2.13.0", &stated));
}

#[test]
fn listed_subnets_are_taken_in_order_since_3_2() {
    let listed = |version: &str, list: &str, change: fn(&mut Cluster)| {
        with(version, &[("aws-load-balancer-subnets", list)], json!({}), change)
    };
    let same: fn(&mut Cluster) = |c| tag(&mut c.subnet(PUBLIC_B).tags, "Name", "pub-a");
    holds(&listed("3.2.0", "pub-a", same), json!({"error": null, "subnets": [PUBLIC]}));
    holds(&listed("3.2.0", "pub-a,pub-a", same), json!({"subnets": [PUBLIC, PUBLIC_B]}));
    holds(
        &listed("3.2.0", "pub-a,pub-a", |_| {}),
        json!({"error": "failed to list subnets by names or IDs: subnet with Name tag \"pub-a\" requested 2 times but only 1 subnet(s) found with that name"}),
    );
    holds(&listed("3.2.0", "subnet-pubb0bb1,pub-a", |_| {}), json!({"subnets": [PUBLIC_B, PUBLIC]}));
    assert!(
        listed("3.1.0", "pub-a", same)["error"]
            .as_str()
            .unwrap()
            .starts_with("failed to list subnets by names or IDs: couldn't find all subnets, want: [pub-a]")
    );
    assert_eq!(listed("2.13.4", " , ", |_| {})["error"], "unable to resolve at least one subnet");
    assert_eq!(
        listed("2.13.4", "pub-a,priv-a", |_| {})["error"],
        format!("multiple subnets in same Availability Zone eu-central-1a: [{PRIVATE} {PUBLIC}]")
    );
    // Cluster tags and free addresses are not checked.
    let foreign: fn(&mut Cluster) = |c| {
        c.subnet(PUBLIC).tags.retain(|tag| tag.key == "Name");
        c.subnet(PUBLIC).tags.push(Tag { key: OTHER_KEY.to_owned(), value: "owned".to_owned() });
        c.subnet(PUBLIC).available_ip_address_count = Some(0);
    };
    holds(&listed("2.13.4", "pub-a", foreign), json!({"error": null, "subnets": [PUBLIC]}));
}

#[test]
fn locales_do_not_mix_and_an_alb_needs_two_zones() {
    let local = |c: &mut Cluster| "local-zone".clone_into(&mut c.region().availability_zones[1].zone_type);
    holds(
        &with("2.13.4", &[], json!({}), local),
        json!({"error": "subnets in multiple locales: [availability-zone local-zone]"}),
    );
    let one = |c: &mut Cluster| c.region().subnets.retain(|subnet| subnet.availability_zone == "eu-central-1a");
    let objects = ingress("web", &[], None);
    holds(
        &alb("2.13.4", &objects, one),
        json!({"error": "couldn't auto-discover subnets: subnets count less than minimal required count: 1 < 2"}),
    );
    let gate = |c: &mut Cluster| {
        one(c);
        c.manifests = running(&["--feature-gates=ALBSingleSubnet=true"]);
    };
    holds(&alb("2.13.4", &objects, gate), json!({"error": null, "subnets": [PRIVATE]}));
    holds(&with("2.13.4", &[], json!({}), one), json!({"error": null, "subnets": [PRIVATE]}));
}

#[test]
fn dual_stack_needs_ipv6_ranges_since_3_5() {
    let dual = [("aws-load-balancer-ip-address-type", "dualstack")];
    holds(&with("3.4.0", &dual, json!({}), |_| {}), json!({"error": null}));
    let found = with("3.5.0", &dual, json!({}), |_| {});
    assert!(
        found["error"].as_str().unwrap().ends_with(
            "and 2 don't have an associated IPv6 CIDR block, which is required for dualstack load balancers"
        )
    );
    // Older inventories do not state the ranges.
    let unread = |c: &mut Cluster| c.region().subnets.iter_mut().for_each(|subnet| subnet.ipv6_cidr_blocks = None);
    holds(&with("3.5.0", &dual, json!({}), unread), json!({"error": null}));
    assert_eq!(error(&[("aws-load-balancer-ip-address-type", "ipv6")], json!({})), "unknown IPAddressType: ipv6");
}

#[test]
fn groups_by_annotation_are_ids_or_name_tags() {
    let listed = |list: &str, more: &[(&str, &str)]| {
        let mut all = vec![("aws-load-balancer-security-groups", list)];
        all.extend(more);
        with("2.13.4", &all, json!({}), |c| tag(&mut c.group(PLAIN_GROUP).tags, "Name", "front"))
    };
    holds(
        &listed("front", &[]),
        json!({"lb_groups": [PLAIN_GROUP], "new_group": null, "rules": [], "node_groups": []}),
    );
    assert_eq!(listed("ssh", &[])["error"], "couldn't find all security groups: requested names [ssh] but found []");
    let managed = listed("front", &[("aws-load-balancer-manage-backend-security-group-rules", "true")]);
    assert_eq!(managed["lb_groups"].as_array().unwrap().len(), 2, "{managed:#}");
    assert_eq!(managed["rules"][0]["source"], managed["lb_groups"][1]);
}

#[test]
fn a_load_balancer_without_groups_opens_ranges() {
    let off = [("aws-load-balancer-disable-nlb-sg", "true")];
    // The annotation is known since v2.14.
    assert_eq!(plain(&off)["lb_groups"].as_array().unwrap().len(), 2);
    let found = with("2.14.0", &off, json!({}), |_| {});
    holds(&found, json!({"lb_groups": [], "new_group": null}));
    assert_eq!(found["rules"][0]["source"], "10.0.0.0/16", "an internal one: the VPC");
    // Network Load Balancers have groups since v2.6.
    holds(&with("2.5.0", &[PUBLIC_SCHEME], json!({}), |_| {}), json!({"lb_groups": []}));
    let public = with("2.5.0", &[PUBLIC_SCHEME], json!({}), |_| {});
    assert_eq!(public["rules"][0]["source"], "0.0.0.0/0");
    let unread = with("2.14.0", &off, json!({}), |c| c.vpc().cidr_blocks = None);
    holds(&unread, json!({"error": null, "rules": "unknown"}));
}

#[test]
fn one_rule_covers_the_lowest_to_the_highest_port() {
    let local = json!({"externalTrafficPolicy": "Local", "healthCheckNodePort": 31000});
    let found = with("2.13.4", &[], local, |_| {});
    assert_eq!((&found["rules"][0]["from"], &found["rules"][0]["to"]), (&json!(30080), &json!(31000)));
    assert_eq!(found["health_check"]["path"], "/healthz");
    let open = |c: &mut Cluster| c.manifests = running(&["--disable-restricted-sg-rules=true"]);
    let found = with("2.13.4", &[], json!({}), open);
    assert_eq!((&found["rules"][0]["from"], &found["rules"][0]["to"]), (&json!(0), &json!(65535)));
}

#[test]
fn the_primary_interface_decides_which_group_gets_rules() {
    let twice = |c: &mut Cluster| tag(&mut c.group(PLAIN_GROUP).tags, KEY, "owned");
    let found = with("2.13.4", &[], json!({}), twice);
    assert_eq!(
        found["error"],
        format!(
            "expected exactly one securityGroup tagged with {KEY} for eni eni-0cp0, got: [sg-0bb1 sg-0bb2] (clusterName: c-m-4x8z2k9q)"
        )
    );
    // The legacy tag is unknown to it, and a single group needs no tag.
    let legacy = |c: &mut Cluster| {
        untag(&mut c.group(TAGGED_GROUP).tags, KEY);
        tag(&mut c.group(TAGGED_GROUP).tags, "KubernetesCluster", "c-m-4x8z2k9q");
    };
    assert!(with("2.13.4", &[], json!({}), legacy)["error"].as_str().unwrap().contains("got: []"));
    let single = |c: &mut Cluster| {
        untag(&mut c.group(TAGGED_GROUP).tags, KEY);
        for instance in &mut c.region().instances {
            instance.network_interfaces[0].security_groups = vec![TAGGED_GROUP.to_owned()];
        }
    };
    holds(&with("2.13.4", &[], json!({}), single), json!({"error": null, "node_groups": [TAGGED_GROUP]}));
}

#[test]
fn nodes_are_chosen_by_label_taint_and_readiness() {
    let targets = |version: &str, change: fn(&mut Cluster)| with(version, &[], json!({}), change)["targets"].clone();
    let (all, others) = (json!(["i-0cp0", "i-0cp1", "i-0wk0", "i-0wk1"]), json!(["i-0cp0", "i-0cp1", "i-0wk1"]));
    let master: fn(&mut Cluster) =
        |c| c.node(WORKER)["metadata"]["labels"]["node-role.kubernetes.io/master"] = json!("");
    assert_eq!(targets("2.13.4", master), others);
    let disrupted: fn(&mut Cluster) =
        |c| c.node(WORKER)["spec"]["taints"] = json!([{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]);
    assert_eq!((targets("2.11.0", disrupted), targets("2.12.0", disrupted)), (all.clone(), others.clone()));
    let unknown: fn(&mut Cluster) = |c| {
        for node in &mut c.nodes {
            node["status"]["conditions"] = json!([{"type": "Ready", "status": "Unknown"}]);
        }
    };
    assert_eq!(targets("2.13.4", unknown), all);
    let closed: fn(&mut Cluster) = |c| {
        for node in &mut c.nodes {
            node["status"]["conditions"] = json!([{"type": "Ready", "status": "Unknown"}]);
        }
        c.manifests = running(&["--feature-gates=EndpointsFailOpen=false"]);
    };
    assert_eq!(targets("2.13.4", closed), json!([]));
    // A chosen Node without a providerID stops all of them.
    let nameless: fn(&mut Cluster) = |c| c.node(WORKER)["spec"]["providerID"] = json!("");
    let found = with("2.13.4", &[], json!({}), nameless);
    assert_eq!(found["error"], "providerID is not specified for node: ip-10-0-1-11.eu-central-1.compute.internal");
    // The tag of the instance does not matter.
    let untagged: fn(&mut Cluster) = |c| untag(&mut c.instance(WORKER).tags, KEY);
    assert_eq!(targets("2.13.4", untagged), all);
}

#[test]
fn annotations_are_refused_in_the_words_of_the_controller() {
    let cases: [(&[(&str, &str)], Value, &str); 6] = [
        (
            &[("aws-load-balancer-name", "bazbazfoofoobazbazfoofoobazbazfoo")],
            json!({}),
            "load balancer name cannot be longer than 32 characters",
        ),
        (
            &[PUBLIC_SCHEME, ("aws-load-balancer-eip-allocations", "eipalloc-1")],
            json!({}),
            "count of EIP allocations (1) and subnets (2) must match",
        ),
        (
            &[("aws-load-balancer-eip-allocations", "eipalloc-1,eipalloc-2")],
            json!({}),
            "EIP allocations can only be set for internet facing load balancers",
        ),
        (&[], json!({"ipFamilies": ["IPv6"]}), "unsupported IPv6 configuration, lb not dual-stack"),
        (
            &[],
            json!({"ports": [{"port": 80, "targetPort": 8080}], "allocateLoadBalancerNodePorts": false}),
            "unable to support instance target type with an unallocated NodePort",
        ),
        (&[("aws-load-balancer-healthcheck-protocol", "UDP")], json!({}), "unsupported health check protocol UDP"),
    ];
    for (more, spec, expected) in cases {
        assert_eq!(error(more, spec), expected, "{more:?}");
    }
}

#[test]
fn an_existing_load_balancer_keeps_what_was_not_read() {
    let mut service = service(&external(&[]), json!({}));
    service["status"] = json!({"loadBalancer": {"ingress": [{"hostname": "x.elb.eu-central-1.amazonaws.com"}]}});
    let found = decision(LoadBalancerController, "2.13.4", service, |_| {});
    holds(&found, json!({"error": "unknown", "scheme": null, "subnets": null}));
}

/// It keeps its scheme and its zones, although a new one would get others.
#[test]
fn an_existing_load_balancer_that_was_read_keeps_scheme_and_subnets() {
    let mut service = service(&external(&[]), json!({}));
    service["status"] = json!({"loadBalancer": {"ingress": [{"hostname": "x.elb.eu-central-1.amazonaws.com"}]}});
    let with_balancer = |scheme: &'static str| {
        decision(LoadBalancerController, "2.13.4", service.clone(), move |c| {
            let cluster = c.id;
            let (namespace, name) = ("default", "web");
            let balancer = c.add_network();
            let tags = balancer.tags.as_mut().unwrap();
            tags.clear();
            tag(tags, "elbv2.k8s.aws/cluster", cluster);
            tag(tags, "service.k8s.aws/stack", &format!("{namespace}/{name}"));
            balancer.scheme = Some(scheme.to_owned());
            balancer.subnets = vec!["subnet-privb0bb1".to_owned()];
            balancer.security_groups = vec!["sg-0bb2".to_owned()];
        })
    };
    holds(&with_balancer("internal"), json!({"scheme": "internal", "subnets": ["subnet-privb0bb1"]}));
    // None exists: a new one is internal, in both zones.
    let new = decision(LoadBalancerController, "2.13.4", service.clone(), |c| {
        c.region().load_balancing = Some(LoadBalancing::default());
    });
    holds(&new, json!({"scheme": "internal", "subnets": ["subnet-priva0bb1", "subnet-privb0bb1"]}));
}

#[test]
fn a_webhook_gives_new_services_the_class() {
    let mut new = service(&[], json!({}));
    let decide = |controller, object: &Value, arguments: &[&str]| {
        decision(
            controller,
            if controller == LoadBalancerController { "2.13.4" } else { "1.34" },
            object.clone(),
            |c| {
                c.manifests = running(arguments);
            },
        )
    };
    holds(&decide(LoadBalancerController, &new, &[]), json!({"handled": false}));
    new["metadata"].as_object_mut().unwrap().remove("uid");
    holds(&decide(LoadBalancerController, &new, &[]), json!({"handled": true, "kind": "nlb"}));
    holds(&decide(LoadBalancerController, &new, &["--load-balancer-class=mine"]), json!({"handled": true}));
    holds(&decide(CloudProviderAws, &new, &[]), json!({"handled": false}));
    new["spec"]["loadBalancerClass"] = json!("other");
    holds(&decide(LoadBalancerController, &new, &[]), json!({"handled": false}));
}

#[test]
fn a_named_object_replaces_that_of_the_cluster_and_keeps_its_uid() {
    let live = service(&external(&[]), json!({}));
    let mut changed = live.clone();
    changed["metadata"].as_object_mut().unwrap().remove("uid");
    changed["metadata"]["annotations"]["service.beta.kubernetes.io/aws-load-balancer-scheme"] =
        json!("internet-facing");
    let held: &'static str = live.to_string().leak();
    let found = decision(LoadBalancerController, "2.13.4", changed, |c| c.manifests = held);
    holds(&found, json!({"scheme": "internet-facing"}));
    assert_ne!(found["name"], "unknown");
    assert_eq!(UID.len(), 36);
}

#[test]
fn annotations_are_read_as_the_version_reads_them() {
    let error = |version: &str, more: &[(&str, &str)]| with(version, more, json!({}), |_| {})["error"].clone();
    let attributes = |value: &'static str| [("aws-load-balancer-attributes", value)];
    // A backslash escapes a comma, and an empty entry counts, since v2.14.1.
    assert!(error("2.14.0", &attributes(r"a=b\,c")).is_string());
    assert_eq!(error("2.14.1", &attributes(r"a=b\,c")), Value::Null);
    assert_eq!(error("2.14.0", &attributes(",a=b")), Value::Null);
    assert!(error("2.14.1", &attributes(",a=b")).is_string());
    let policy = attributes("dns_record.client_routing_policy=foo");
    assert_eq!(error("2.7.0", &policy), Value::Null);
    assert!(error("2.8.0", &policy).as_str().unwrap().starts_with("invalid dns_record.client_routing_policy"));
    let multi_cluster = [("aws-load-balancer-multi-cluster-target-group", "yes")];
    assert_eq!(error("2.9.2", &multi_cluster), Value::Null);
    assert!(error("2.10.0", &multi_cluster).is_string());
    let address = [("aws-load-balancer-scheme", "internal"), ("aws-load-balancer-private-ipv4-addresses", "foo,bar")];
    assert_eq!(error("3.5.0", &address), "private IPv4 addresses must be valid IP address: foo");
}

#[test]
fn arguments_switch_services_off_and_reserve_tags() {
    let found =
        with("3.5.0", &[], json!({}), |c| c.manifests = running(&["--feature-gates=EnableServiceController=false"]));
    assert_eq!(found["handled"], false);
    let found = with("3.5.0", &[("aws-load-balancer-additional-resource-tags", "a=b")], json!({}), |c| {
        c.manifests = running(&["--external-managed-tags=a"]);
    });
    assert_eq!(found["error"], "external managed tag key a cannot be specified on Service");
}
