//! Random worlds: the model agrees with a second implementation of the controllers' steps, which shares no code with it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::naive::{self, Answer, Controller, Group, Instance, Node, Service, Subnet, World};
use super::{decision, service};
use crate::aws::{AvailabilityZone, Route, RouteTable};
use crate::inventory::Tag;
use crate::model::ModelledController::{CloudProviderAws, LoadBalancerController};
use crate::testing::aws::{Cluster, ID, WORKER};

/// Worlds in CI; `TAGAUDIT_WORLDS` sets another number.
const CASES: u32 = 500;

fn cases() -> u32 {
    option_env!("TAGAUDIT_WORLDS").and_then(|text| text.parse().ok()).unwrap_or(CASES)
}

fn tags(choices: &'static [(&'static str, &'static str)]) -> impl Strategy<Value = BTreeMap<String, String>> {
    proptest::sample::subsequence(choices, 0..=choices.len())
        .prop_map(|chosen| chosen.into_iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

const SUBNET_TAGS: &[(&str, &str)] = &[
    ("kubernetes.io/cluster/c-m-4x8z2k9q", "shared"),
    ("kubernetes.io/cluster/staging", "owned"),
    ("kubernetes.io/role/elb", "1"),
    ("kubernetes.io/role/internal-elb", ""),
    ("KubernetesCluster", "c-m-4x8z2k9q"),
];

const GROUP_TAGS: &[(&str, &str)] = &[
    ("kubernetes.io/cluster/c-m-4x8z2k9q", "owned"),
    ("kubernetes.io/cluster/staging", "owned"),
    ("KubernetesCluster", "c-m-4x8z2k9q"),
];

prop_compose! {
    fn subnet()(
        in_vpc in prop::bool::weighted(0.9), zone in 0_usize..4, tags in tags(SUBNET_TAGS),
        free in select(vec![0, 7, 8, 200]), table in prop::option::weighted(0.6, any::<bool>()),
        rank in 0_u32..1000,
    ) -> Subnet {
        Subnet { id: format!("subnet-{rank:04}"), in_vpc, zone, tags, free, is_public_by_own_table: table }
    }
}

prop_compose! {
    fn node()(
        ready in select(vec!["True", "False", "Unknown"]), deleting in prop::bool::weighted(0.1),
        excluded in select(vec![None, None, None, Some(""), Some("true"), Some("false")]),
        master in prop::bool::weighted(0.15), drained in prop::bool::weighted(0.1), disrupted in prop::bool::weighted(0.1),
        provider in select(vec!["full", "full", "full", "full", "bare", "none", "other"]),
        has_tag in prop::bool::weighted(0.8), groups in proptest::sample::subsequence(vec![0_usize, 1, 2], 1..=3),
    ) -> (Node, Instance) {
        let excluded = excluded.map(str::to_owned);
        let node = Node { ready: ready.to_owned(), deleting, excluded, master, drained, disrupted, provider: provider.to_owned() };
        (node, Instance { has_tag, groups })
    }
}

prop_compose! {
    fn world()(
        subnets in prop::collection::vec(subnet(), 0..7), main in prop::option::weighted(0.8, any::<bool>()),
        nodes in prop::collection::vec(node(), 1..4), groups in prop::collection::vec(tags(GROUP_TAGS), 3),
        internal in select(vec![None, None, Some(""), Some("false"), Some("true"), Some("False"), Some("0.0.0.0/0")]),
        is_local: bool, is_nlb: bool,
        version in select(vec![26_u32, 30, 33, 34, 36]), later in select(vec![(2_u32, 12_u32), (2, 13), (2, 14), (3, 2)]),
        is_lbc: bool,
    ) -> World {
        // Ids are unique.
        let mut seen = BTreeSet::new();
        let subnets: Vec<Subnet> = subnets.into_iter().filter(|one| seen.insert(one.id.clone())).collect();
        let (nodes, instances) = nodes.into_iter().unzip();
        let groups = groups.into_iter().map(|tags| Group { tags }).collect();
        let internal = internal.map(str::to_owned);
        let controller = if is_lbc { Controller::LoadBalancer { major: later.0, minor: later.1 } } else { Controller::Cloud { minor: version } };
        World { subnets, is_main_public: main, nodes, instances, groups, service: Service { internal, is_local, is_nlb }, controller }
    }
}

fn list(tags: &BTreeMap<String, String>) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag { key: key.clone(), value: value.clone() }).collect()
}

/// Makes the account and the Nodes of a world.
fn build(world: &World, cluster: &mut Cluster) {
    let vpc = cluster.vpc().id.clone();
    let template = cluster.instance(WORKER).clone();
    let subnet = cluster.region().subnets[0].clone();
    let group = cluster.region().security_groups[0].clone();
    let node = cluster.node(WORKER).clone();
    let region = cluster.region();
    let place = region.name.clone();
    let zone = |number: usize| {
        if number == 3 { format!("{place}-lax-1a") } else { format!("{place}{}", ["a", "b", "c"][number]) }
    };
    region.availability_zones = (0..4)
        .map(|number| AvailabilityZone {
            name: zone(number),
            zone_type: if number == 3 { "local-zone" } else { "availability-zone" }.to_owned(),
        })
        .collect();
    region.subnets = world
        .subnets
        .iter()
        .map(|one| {
            let mut made = subnet.clone();
            made.id.clone_from(&one.id);
            made.vpc_id = if one.in_vpc { vpc.clone() } else { "vpc-0other".to_owned() };
            made.availability_zone = zone(one.zone);
            made.available_ip_address_count = Some(one.free);
            made.tags = list(&one.tags);
            made.cidr_block = Some("10.0.0.0/24".to_owned());
            made
        })
        .collect();
    let table = |id: &str, main: bool, is_public: bool, subnet_ids: Vec<String>| {
        let route = |gateway: &str| Route {
            destination: "0.0.0.0/0".to_owned(),
            gateway_id: Some(gateway.to_owned()),
            instance_id: None,
            network_interface_id: None,
            state: Some("active".to_owned()),
        };
        RouteTable {
            id: id.to_owned(),
            vpc_id: vpc.clone(),
            owner_id: None,
            main,
            subnet_ids,
            routes: if is_public { vec![route("igw-0a")] } else { Vec::new() },
            tags: Vec::new(),
        }
    };
    let with_table = |is_public: bool| {
        let all = world.subnets.iter().filter(|one| one.is_public_by_own_table == Some(is_public));
        all.map(|one| one.id.clone()).collect()
    };
    region.route_tables =
        vec![table("rtb-public", false, true, with_table(true)), table("rtb-private", false, false, with_table(false))];
    region.route_tables.extend(world.is_main_public.map(|is_public| table("rtb-main", true, is_public, Vec::new())));
    region.security_groups = (0..3)
        .map(|number| {
            let mut made = group.clone();
            made.id = format!("sg-{number}");
            made.name = format!("group-{number}");
            made.tags = list(&world.groups[number].tags);
            made.ingress.clear();
            made
        })
        .collect();
    build_nodes(world, cluster, &template, &node);
    // The VPC of a cluster without nodes is the only one of the region.
    cluster.region().vpcs.truncate(1);
}

/// The Nodes, each with its instance.
fn build_nodes(world: &World, cluster: &mut Cluster, template: &crate::aws::Instance, node: &Value) {
    cluster.region().instances.clear();
    let (vpc, place) = (cluster.vpc().id.clone(), cluster.region().name.clone());
    cluster.nodes.clear();
    for (number, (one, instance)) in world.nodes.iter().zip(&world.instances).enumerate() {
        let id = format!("i-{number}");
        let mut made = template.clone();
        made.id.clone_from(&id);
        made.vpc_id = Some(vpc.clone());
        made.tags = if instance.has_tag {
            vec![Tag { key: format!("kubernetes.io/cluster/{ID}"), value: "owned".to_owned() }]
        } else {
            Vec::new()
        };
        made.security_groups = instance.groups.iter().map(|group| format!("sg-{group}")).collect();
        made.network_interfaces.truncate(1);
        for interface in &mut made.network_interfaces {
            interface.id = format!("eni-{number}");
            interface.security_groups.clone_from(&made.security_groups);
        }
        cluster.region().instances.push(made);
        let mut made = node.clone();
        made["metadata"] = json!({"name": format!("node-{number}"), "uid": format!("node-{number}"), "labels": {}});
        if one.deleting {
            made["metadata"]["deletionTimestamp"] = json!("2026-11-20T00:00:00Z");
        }
        let labels = made["metadata"]["labels"].as_object_mut().unwrap();
        if let Some(value) = &one.excluded {
            labels.insert("node.kubernetes.io/exclude-from-external-load-balancers".to_owned(), json!(value));
        }
        if one.master {
            labels.insert("node-role.kubernetes.io/master".to_owned(), json!(""));
        }
        let mut taints = Vec::new();
        if one.drained {
            taints.push(json!({"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}));
        }
        if one.disrupted {
            taints.push(json!({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}));
        }
        let provider = match one.provider.as_str() {
            "full" => format!("aws:///{place}a/{id}"),
            "bare" => id.clone(),
            "other" => "gce://project/zone/node".to_owned(),
            _ => String::new(),
        };
        made["spec"] = json!({"providerID": provider, "taints": taints});
        made["status"]["conditions"] = json!([{"type": "Ready", "status": one.ready}]);
        cluster.nodes.push(made);
    }
}

fn answered(world: &World) -> Value {
    let mut annotations: Vec<(&str, &str)> = Vec::new();
    if let Some(internal) = &world.service.internal {
        annotations.push(("aws-load-balancer-internal", internal));
    }
    let policy = if world.service.is_local {
        json!({"externalTrafficPolicy": "Local", "healthCheckNodePort": 32_000})
    } else {
        json!({})
    };
    let (controller, version) = match world.controller {
        Controller::Cloud { minor } => {
            if world.service.is_nlb {
                annotations.push(("aws-load-balancer-type", "nlb"));
            }
            (CloudProviderAws, format!("1.{minor}.0"))
        }
        Controller::LoadBalancer { major, minor } => {
            annotations.push(("aws-load-balancer-type", "external"));
            annotations.push(("aws-load-balancer-nlb-target-type", "instance"));
            (LoadBalancerController, format!("{major}.{minor}.0"))
        }
    };
    decision(controller, &version, service(&annotations, policy), |c| {
        build(world, c);
    })
}

/// A field of the decision, as the second implementation states it.
fn set(value: &Value) -> Option<BTreeSet<String>> {
    let items = value.as_array()?;
    Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn the_model_agrees_with_a_second_implementation(world in world()) {
        let found = answered(&world);
        let Answer { fails, is_open, scheme, subnets, targets, groups } = naive::decide(&world);
        // Where the controller runs is assumed from control-plane nodes, which other tests cover.
        prop_assume!(!is_open || !world.nodes.iter().any(|node| node.master));
        prop_assert_eq!(found["error"] == "unknown", is_open, "{:#}", found["unknown"]);
        prop_assert_eq!(found["error"].is_string(), fails || is_open, "{:#}", brief(&found));
        prop_assert_eq!(found["scheme"].as_str(), scheme, "{:#}", brief(&found));
        if let Some(subnets) = subnets {
            prop_assert_eq!(set(&found["subnets"]), Some(subnets), "{:#}", brief(&found));
        }
        if let Some(targets) = targets {
            prop_assert_eq!(set(&found["targets"]), Some(targets), "{:#}", brief(&found));
        }
        if let Some(groups) = groups {
            prop_assert_eq!(set(&found["node_groups"]), Some(groups), "{:#}", brief(&found));
        }
    }
}

/// A decision without its explanations.
fn brief(decision: &Value) -> Value {
    let mut brief = decision.clone();
    for field in ["calls", "steps", "nodes_left_out", "rules", "health_check", "new_group"] {
        brief.as_object_mut().unwrap().remove(field);
    }
    brief
}
