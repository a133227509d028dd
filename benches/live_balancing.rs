//! `cargo bench --bench live_balancing`: a scan of an account with 300 load balancers, 30 of them of the cluster, 40 Auto Scaling
//! groups and 60 launch templates, against the limits of Elastic Load Balancing: no call may exceed them. The scan takes the
//! seconds that its calls take at half of the rate, in which the other chains of calls end.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a failed measurement aborts the benchmark"
)]
#![allow(
    dead_code,
    clippy::allow_attributes,
    clippy::panic,
    clippy::too_many_lines,
    reason = "the mock is written for the tests"
)]

use std::process::Command;
use std::time::{Duration, Instant};

#[path = "../tests/integration/mock.rs"]
mod mock;
#[path = "../tests/integration/mock_answers.rs"]
mod mock_answers;
#[path = "../tests/integration/mock_balancing.rs"]
mod mock_balancing;
#[path = "../tests/integration/mock_eks.rs"]
mod mock_eks;
#[path = "../tests/integration/mock_scaling.rs"]
mod mock_scaling;
#[path = "../tests/integration/mock_writes.rs"]
mod mock_writes;

use tagaudit::internals::inventory::{
    AutoScalingGroup, Inventory, LaunchSettings, LaunchTemplate, Listener, LoadBalancer, LoadBalancerKind, Tag,
    TargetGroup, TargetHealth, TemplateVersion,
};

const BALANCERS: usize = 300;
const OF_CLUSTER: usize = 30;
const GROUPS: usize = 40;
const TEMPLATES: usize = 60;
const KEY: &str = "kubernetes.io/cluster/c-m-4x8z2k9q";
/// Identity, instances, instance profile, attached policies, policy, policy version.
const CHAIN: u32 = 6;
const LATENCY: Duration = Duration::from_millis(50);
/// Calls at once, and then a second, of which the tool takes half of what an account has.
const BURST: f64 = 20.0;
const RATE: f64 = 5.0;
const RUNS: usize = 5;

fn tag(key: &str, value: &str) -> Tag {
    Tag { key: key.to_owned(), value: value.to_owned() }
}

/// A Network Load Balancer with its target group, of a Service of the cluster or of something else.
fn balancer(number: usize, nodes: &[String]) -> (LoadBalancer, TargetGroup) {
    let arn = |kind: &str| {
        format!("arn:aws:elasticloadbalancing:eu-central-1:111122223333:{kind}/a{number:031x}/{number:016x}")
    };
    let is_own = number < OF_CLUSTER;
    let tags = if is_own {
        vec![tag(KEY, "owned"), tag("kubernetes.io/service-name", &format!("shop/web-{number}"))]
    } else {
        vec![tag("team", "other")]
    };
    let health = |id: &String| TargetHealth {
        id: id.clone(),
        port: Some(30443),
        state: "healthy".to_owned(),
        ..TargetHealth::default()
    };
    let vpc = Some(if is_own { "vpc-0bb1" } else { "vpc-0other" }.to_owned());
    let group = TargetGroup {
        arn: arn("targetgroup"),
        name: format!("a{number:031x}"),
        port: Some(30443),
        protocol: Some("TCP".to_owned()),
        target_type: Some("instance".to_owned()),
        vpc_id: vpc.clone(),
        health_check_port: Some("traffic-port".to_owned()),
        health_check_protocol: Some("TCP".to_owned()),
        load_balancers: vec![arn("loadbalancer/net")],
        tags: Some(tags.clone()),
        targets: Some(nodes.iter().map(health).collect()),
    };
    let balancer = LoadBalancer {
        kind: LoadBalancerKind::Network,
        name: format!("a{number:031x}"),
        arn: Some(arn("loadbalancer/net")),
        dns_name: format!("a{number:031x}-0a.elb.eu-central-1.amazonaws.com"),
        vpc_id: vpc,
        scheme: Some("internet-facing".to_owned()),
        state: Some("active".to_owned()),
        created_at: Some("2026-11-20T10:00:00Z".to_owned()),
        subnets: vec!["subnet-puba0bb1".to_owned(), "subnet-pubb0bb1".to_owned()],
        zones: vec!["eu-central-1a".to_owned(), "eu-central-1b".to_owned()],
        tags: Some(tags),
        listeners: Some(vec![Listener {
            port: 443,
            protocol: "TCP".to_owned(),
            target_groups: vec![arn("targetgroup")],
            ..Listener::default()
        }]),
        attributes: Some([("load_balancing.cross_zone.enabled".to_owned(), "true".to_owned())].into()),
        ..LoadBalancer::default()
    };
    (balancer, group)
}

fn main() {
    let seed = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/clean-rke2.json")).unwrap();
    let mut inventory = Inventory::from_slice("seed", &seed).unwrap();
    let region = &mut inventory.accounts[0].regions[0];
    let nodes: Vec<String> = region.instances.iter().map(|instance| instance.id.clone()).collect();
    let read = region.load_balancing.get_or_insert_default();
    for number in 0..BALANCERS {
        let (balancer, group) = balancer(number, &nodes);
        read.load_balancers.push(balancer);
        read.target_groups.push(group);
    }
    let groups = region.auto_scaling_groups.get_or_insert_default();
    for number in groups.len()..GROUPS {
        let launch = Some(LaunchSettings::default());
        groups.push(AutoScalingGroup { name: format!("other-{number}"), launch, ..AutoScalingGroup::default() });
    }
    let templates = region.launch_templates.get_or_insert_default();
    for number in templates.len()..TEMPLATES {
        let version = TemplateVersion { number: 1, ..TemplateVersion::default() };
        templates.push(LaunchTemplate {
            id: format!("lt-{number:017x}"),
            name: format!("other-{number}"),
            default_version: 1,
            latest_version: 1,
            versions: vec![version],
            ..LaunchTemplate::default()
        });
    }
    inventory.canonicalise();
    let mut times = Vec::new();
    let (mut calls, mut of_balancing) = (0, 0);
    for _ in 0..RUNS {
        let mock = mock::Mock::serve(&inventory).latency(LATENCY).throttled();
        let started = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_tagaudit"))
            .env_clear()
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .args(["scan", "--cluster-id", "c-m-4x8z2k9q", "--region", "eu-central-1"])
            .args(["--endpoint-url", &mock.url])
            .output()
            .unwrap();
        times.push(started.elapsed());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(mock.refused(), 0, "calls beyond the limits");
        let all = mock.calls();
        calls = all.len();
        of_balancing = all.iter().filter(|call| call.service == "elasticloadbalancing").count();
    }
    times.sort_unstable();
    let median = times[RUNS / 2];
    #[expect(clippy::cast_precision_loss, reason = "a few hundred calls")]
    let waiting = ((of_balancing as f64 - BURST) / RATE).max(0.0);
    let chain = (LATENCY * CHAIN).as_secs_f64();
    println!("load balancers, of the cluster {BALANCERS}, {OF_CLUSTER}");
    println!("requests, of load balancing    {calls}, {of_balancing}");
    println!("beyond the limits              0");
    println!("longest chain                  {CHAIN} calls = {chain:.2} s");
    println!("seconds of the rate alone      {waiting:.2} s");
    println!(
        "tagaudit scan, whole process   {:.2} s ({:.2} to {:.2} s)",
        median.as_secs_f64(),
        times[0].as_secs_f64(),
        times[RUNS - 1].as_secs_f64()
    );
}
