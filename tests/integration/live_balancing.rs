//! Load balancers of a live account, answered by the mock.

use tagaudit::internals::inventory::{
    Listener, LoadBalancer, LoadBalancerKind, LoadBalancing, PrefixList, RuleSource, Tag, TargetGroup, TargetHealth,
};

use super::live::{rules, scan, world};
use super::mock::{Fault, Mock};
use super::worlds::World;

const KEY: &str = "kubernetes.io/cluster/c-m-4x8z2k9q";
const NODES: [&str; 4] = ["i-0cp0", "i-0cp1", "i-0wk0", "i-0wk1"];

fn tags(cluster: &str, service: &str) -> Vec<Tag> {
    let tag = |key: &str, value: &str| Tag { key: key.to_owned(), value: value.to_owned() };
    vec![tag(cluster, "owned"), tag("kubernetes.io/service-name", service)]
}

fn arn(kind: &str, name: &str) -> String {
    format!("arn:aws:elasticloadbalancing:eu-central-1:111122223333:{kind}/{name}/0a")
}

/// A Network Load Balancer with its target group.
fn network(balancing: &mut LoadBalancing, name: &str, cluster: &str) {
    let balancer = arn("loadbalancer/net", name);
    let group = arn("targetgroup", name);
    let target = |id: &str| TargetHealth {
        id: id.to_owned(),
        port: Some(30443),
        state: "healthy".to_owned(),
        ..TargetHealth::default()
    };
    balancing.load_balancers.push(LoadBalancer {
        kind: LoadBalancerKind::Network,
        name: name.to_owned(),
        arn: Some(balancer.clone()),
        dns_name: format!("{name}.elb.eu-central-1.amazonaws.com"),
        vpc_id: Some("vpc-0bb1".to_owned()),
        scheme: Some("internet-facing".to_owned()),
        state: Some("active".to_owned()),
        created_at: Some("2026-11-20T10:00:00Z".to_owned()),
        subnets: vec!["subnet-puba0bb1".to_owned(), "subnet-pubb0bb1".to_owned()],
        zones: vec!["eu-central-1a".to_owned(), "eu-central-1b".to_owned()],
        allocations: vec!["eipalloc-0a".to_owned()],
        tags: Some(tags(cluster, "shop/web")),
        listeners: Some(vec![Listener {
            port: 443,
            protocol: "TLS".to_owned(),
            certificates: vec!["arn:aws:acm:eu-central-1:111122223333:certificate/0a".to_owned()],
            target_groups: vec![group.clone()],
            instance_port: None,
        }]),
        ..LoadBalancer::default()
    });
    balancing.target_groups.push(TargetGroup {
        arn: group,
        name: name.to_owned(),
        port: Some(30443),
        protocol: Some("TCP".to_owned()),
        target_type: Some("instance".to_owned()),
        vpc_id: Some("vpc-0bb1".to_owned()),
        health_check_port: Some("traffic-port".to_owned()),
        health_check_protocol: Some("TCP".to_owned()),
        load_balancers: vec![balancer],
        tags: Some(tags(cluster, "shop/web")),
        targets: Some(NODES.iter().map(|id| target(id)).collect()),
    });
}

/// A Classic Load Balancer.
fn classic(balancing: &mut LoadBalancing, name: &str, cluster: &str) {
    let state = |id: &str| TargetHealth { id: id.to_owned(), state: "InService".to_owned(), ..TargetHealth::default() };
    balancing.load_balancers.push(LoadBalancer {
        kind: LoadBalancerKind::Classic,
        name: name.to_owned(),
        dns_name: format!("{name}.eu-central-1.elb.amazonaws.com"),
        vpc_id: Some("vpc-0bb1".to_owned()),
        scheme: Some("internet-facing".to_owned()),
        created_at: Some("2026-11-20T10:00:00Z".to_owned()),
        subnets: vec!["subnet-puba0bb1".to_owned(), "subnet-pubb0bb1".to_owned()],
        zones: vec!["eu-central-1a".to_owned(), "eu-central-1b".to_owned()],
        tags: Some(tags(cluster, "shop/old")),
        listeners: Some(vec![Listener {
            port: 80,
            protocol: "TCP".to_owned(),
            instance_port: Some(30080),
            ..Listener::default()
        }]),
        instances: NODES.iter().map(|id| (*id).to_owned()).collect(),
        health: Some(NODES.iter().map(|id| state(id)).collect()),
        ..LoadBalancer::default()
    });
}

/// A cluster with a load balancer of each kind, beside those of another one.
pub(crate) fn with_balancers() -> World {
    let mut world = world("clean-rke2");
    let region = &mut world.inventory.accounts[0].regions[0];
    let group = region.security_groups.iter_mut().find(|group| group.id == "sg-0bb1").unwrap();
    let mut open = group.ingress[0].clone();
    open.groups.clear();
    open.ranges =
        vec![tagaudit::internals::inventory::RuleSource { source: "10.0.0.0/16".to_owned(), ..Default::default() }];
    group.ingress.push(open);
    let balancing = region.load_balancing.get_or_insert_default();
    network(balancing, "a5e4dbfc9c2ae4642b0335607860aef6", KEY);
    classic(balancing, "a0c0ffee", KEY);
    network(balancing, "other", "kubernetes.io/cluster/other");
    classic(balancing, "another", "kubernetes.io/cluster/other");
    world.inventory.canonicalise();
    world
}

fn balancing(world: &mut World) -> &mut LoadBalancing {
    world.inventory.accounts[0].regions[0].load_balancing.as_mut().unwrap()
}

fn found(report: &serde_json::Value) -> Vec<&str> {
    rules(report).into_iter().filter(|rule| rule.starts_with("lb-")).collect()
}

/// Details are read for the load balancers of the cluster alone.
#[test]
fn details_are_read_of_the_load_balancers_of_the_cluster() {
    let world = with_balancers();
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(found(&report), Vec::<&str>::new(), "{report:#}");
    for (action, calls) in [
        // One of each version.
        ("DescribeLoadBalancers", 2),
        ("DescribeAccountLimits", 2),
        ("DescribeTags", 2),
        ("DescribeTargetGroups", 1),
        ("DescribeListeners", 1),
        ("DescribeLoadBalancerAttributes", 1),
        ("DescribeTargetHealth", 1),
        ("DescribeInstanceHealth", 1),
    ] {
        assert_eq!(mock.count(&format!("elasticloadbalancing:{action}")), calls, "{action}");
    }
}

/// Nothing of Elastic Load Balancing is asked, and its rules do not apply.
#[test]
fn without_balancers_none_is_read() {
    let world = with_balancers();
    let mock = Mock::serve(&world.inventory);
    let (code, report) = scan(&mock, &world, &["--without", "balancers"]);
    assert_eq!((code, found(&report)), (Some(0), Vec::new()), "{report:#}");
    let calls = mock.calls().into_iter().filter(|call| call.service == "elasticloadbalancing").count();
    assert_eq!(calls, 0);
    assert!(report["options"].to_string().contains("--without balancers"), "{}", report["options"]);
}

#[test]
fn unhealthy_targets_are_found_in_both_versions() {
    let mut world = with_balancers();
    for target in balancing(&mut world).target_groups.iter_mut().flat_map(|group| &mut group.targets).flatten() {
        target.state = "unhealthy".to_owned();
        target.reason = Some("Target.FailedHealthChecks".to_owned());
    }
    for state in balancing(&mut world).load_balancers.iter_mut().flat_map(|one| &mut one.health).flatten() {
        state.state = "OutOfService".to_owned();
        state.reason = Some("Instance".to_owned());
        state.description = Some(
            "Instance has failed at least the UnhealthyThreshold number of health checks consecutively.".to_owned(),
        );
    }
    let (_, report) = scan(&Mock::serve(&world.inventory), &world, &[]);
    // Their Services were not given.
    let expected = ["lb-targets-unhealthy", "lb-targets-unhealthy", "lb-left-behind", "lb-left-behind"];
    assert_eq!(found(&report), expected, "{report:#}");
}

/// Nobody deletes the load balancer of an object that lives.
#[test]
fn attributes_of_load_balancers_that_are_needed_are_not_read() {
    let world = with_balancers();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.yaml");
    for (deleted, calls) in [("", 0), (", deletionTimestamp: '2026-11-20T12:00:00Z'", 1)] {
        let service = format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop, uid: 0a{deleted}}}\nspec: {{type: LoadBalancer, ports: [{{port: 443, nodePort: 30443}}]}}\n"
        );
        std::fs::write(&path, service).unwrap();
        let mock = Mock::serve(&world.inventory);
        scan(&mock, &world, &["--kubernetes", path.to_str().unwrap()]);
        assert_eq!(mock.count("elasticloadbalancing:DescribeLoadBalancerAttributes"), calls, "{deleted}");
        assert_eq!(mock.count("elasticloadbalancing:DescribeListeners"), 1);
    }
}

/// The deletion of a protected load balancer is refused: the plan offers none.
#[test]
fn deletion_protection_is_read() {
    let mut world = with_balancers();
    let protected = balancing(&mut world).load_balancers.iter_mut().find(|one| one.name.starts_with("a5e4")).unwrap();
    protected.attributes = Some([("deletion_protection.enabled".to_owned(), "true".to_owned())].into());
    for target in balancing(&mut world).target_groups.iter_mut().flat_map(|group| &mut group.targets).flatten() {
        target.state = "unused".to_owned();
    }
    let (_, report) = scan(&Mock::serve(&world.inventory), &world, &[]);
    assert!(report["findings"].to_string().contains("its deletion protection is on"), "{report:#}");
    let denied = Fault::Error(403, "AccessDenied", "not authorized");
    let mock = Mock::serve(&world.inventory).fault("elasticloadbalancing:DescribeLoadBalancerAttributes", denied);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!(code, Some(3), "{report:#}");
    let unread = report["not_audited"].to_string();
    assert!(unread.contains("lb-left-behind"), "{unread}");
}

/// The list may end within a page, and tags are asked for in batches of twenty.
#[test]
fn long_lists_are_read_to_their_end() {
    let mut world = with_balancers();
    for index in 0..45 {
        network(balancing(&mut world), &format!("other-{index}"), "kubernetes.io/cluster/other");
    }
    world.inventory.canonicalise();
    let mock = Mock::serve(&world.inventory).page(10);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(found(&report), Vec::<&str>::new(), "{report:#}");
    // 47 load balancers and as many target groups, and two Classic Load Balancers.
    assert_eq!(mock.count("elasticloadbalancing:DescribeTags"), 94_usize.div_ceil(20) + 1);
    assert_eq!(mock.count("elasticloadbalancing:DescribeTargetHealth"), 1);
}

/// The controllers of the cluster need the limits of the API as well.
#[test]
fn a_scan_stays_within_the_limits_of_elastic_load_balancing() {
    let mut world = with_balancers();
    for number in 0..30 {
        network(balancing(&mut world), &format!("own-{number}"), KEY);
    }
    world.inventory.canonicalise();
    let mock = Mock::serve(&world.inventory).throttled();
    let (code, _) = scan(&mock, &world, &[]);
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    let calls = mock.calls().iter().filter(|call| call.service == "elasticloadbalancing").count();
    assert!(calls > 60, "{calls} calls hardly exceed what may be sent at once");
    assert_eq!(mock.refused(), 0, "of {calls} calls");
}

#[test]
fn a_call_that_is_refused_costs_only_the_rules_that_need_it() {
    let denied = || Fault::Error(403, "AccessDenied", "not authorized to perform this operation");
    for action in ["DescribeLoadBalancers", "DescribeTags", "DescribeTargetHealth", "DescribeTargetGroups"] {
        let mut world = with_balancers();
        for target in balancing(&mut world).target_groups.iter_mut().flat_map(|group| &mut group.targets).flatten() {
            target.state = "unhealthy".to_owned();
        }
        for fault in [denied(), Fault::WithoutList] {
            let mock = Mock::serve(&world.inventory).fault(&format!("elasticloadbalancing:{action}"), fault);
            let (code, report) = scan(&mock, &world, &[]);
            assert_eq!((code, found(&report)), (Some(3), Vec::new()), "{action}: {report:#}");
            let outcomes = report["rules"].as_array().unwrap();
            let outcome = outcomes.iter().find(|one| one["rule"] == "lb-targets-unhealthy").unwrap();
            assert_eq!(outcome["outcome"], "not_audited", "{action}");
        }
    }
}

/// A load balancer that was deleted between the list and its tags fails the whole call.
#[test]
fn a_load_balancer_that_is_deleted_meanwhile_hides_no_other() {
    let mut world = with_balancers();
    for target in balancing(&mut world).target_groups.iter_mut().flat_map(|group| &mut group.targets).flatten() {
        target.state = "unhealthy".to_owned();
    }
    let mock = Mock::serve(&world.inventory).meanwhile("elasticloadbalancing:DescribeTags", 1, |inventory| {
        let balancing = inventory.accounts[0].regions[0].load_balancing.as_mut().unwrap();
        balancing.load_balancers.retain(|one| one.name != "other");
        balancing.target_groups.retain(|one| one.name != "other");
        balancing.load_balancers.retain(|one| one.name != "another");
    });
    let (code, report) = scan(&mock, &world, &[]);
    assert_ne!(code, Some(3), "{report:#}");
    assert_eq!(found(&report), ["lb-targets-unhealthy", "lb-left-behind"], "{report:#}");
}

/// A cluster whose nodes have a group with a prefix list.
pub(crate) fn with_prefix_list() -> World {
    let mut world = world("clean-rke2");
    let region = &mut world.inventory.accounts[0].regions[0];
    let group = region.security_groups.iter_mut().find(|group| group.id == "sg-0bb1").unwrap();
    let source = RuleSource { source: "pl-0a".to_owned(), ..RuleSource::default() };
    group.ingress[0].ranges.push(source);
    let list = PrefixList { name: "offices".to_owned(), weight: Some(55), is_ipv6: false };
    region.prefix_lists.insert("pl-0a".to_owned(), list.clone());
    region.prefix_lists.insert("pl-0b".to_owned(), list);
    world
}

#[test]
fn prefix_lists_are_asked_for_where_a_group_names_one() {
    let plain = world("clean-rke2");
    let mock = Mock::serve(&plain.inventory);
    scan(&mock, &plain, &[]);
    assert_eq!(mock.count("ec2:DescribeManagedPrefixLists"), 0);
    let world = with_prefix_list();
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(mock.count("ec2:DescribeManagedPrefixLists"), 1);
    assert!(rules(&report).contains(&"sg-rules-near-limit"), "{report:#}");
    let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let mock = Mock::serve(&world.inventory).fault("ec2:DescribeManagedPrefixLists", denied);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!(code, Some(3), "{report:#}");
    assert!(!rules(&report).contains(&"sg-rules-near-limit"), "{report:#}");
}
