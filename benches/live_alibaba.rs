//! `cargo bench --no-default-features --features alibaba --bench live_alibaba`: a scan of 200 instances in Alibaba
//! Cloud at 50 ms of latency, compared with the longest chain of dependent calls: with the node role, with a user in two
//! groups, and with the load balancers of Services; then a scan of 3,000 instances at 50 requests a second.

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

#[path = "../tests/integration/alibaba_mock.rs"]
mod alibaba_mock;
#[path = "../tests/integration/alibaba_worlds.rs"]
mod alibaba_worlds;
#[path = "../tests/integration/alibaba_writes.rs"]
mod alibaba_writes;
#[path = "../tests/integration/started_nodes.rs"]
mod started_nodes;

use alibaba_mock::{KEY_ID, Mock, SECRET};
use tagaudit::internals::alibaba::Inventory;

/// Two pages of instances, their roles, the policies of a role, a policy. Identity and named principals are read in
/// parallel.
const CHAIN: u32 = 5;
const LATENCY: Duration = Duration::from_millis(50);
const RUNS: usize = 21;

fn world_inventory(name: &str) -> Inventory {
    alibaba_worlds::all().into_iter().find(|world| world.name == name).unwrap().inventory
}

/// Instances of the large cluster.
const MANY: usize = 3_000;

fn scan(mock: &Mock, more: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_tagaudit"))
        .env_clear()
        .env("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")
        .env("ALIBABA_CLOUD_ACCESS_KEY_ID", KEY_ID)
        .env("ALIBABA_CLOUD_ACCESS_KEY_SECRET", SECRET)
        .args(["scan", "--provider", "alibaba", "--cluster-id", "prod", "--region", "cn-hangzhou"])
        .args(["--endpoint-url", &mock.url])
        .args(more)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Fills the region with workers up to a number of instances.
fn fill(inventory: &mut Inventory, instances: usize) {
    let region = &mut inventory.accounts[0].regions[0];
    let template = region.instances.iter().find(|instance| instance.id.contains("worker")).unwrap().clone();
    for number in region.instances.len()..instances {
        let mut instance = template.clone();
        instance.id = format!("i-bp{number:018x}");
        instance.private_addresses = vec![format!("192.168.{}.{}", 100 + number / 200, number % 200)];
        region.instances.push(instance);
    }
    inventory.canonicalise();
}

fn main() {
    let mut inventory = world_inventory("clean-handmade");
    let rancher = world_inventory("clean-rancher").accounts.remove(0);
    let account = &mut inventory.accounts[0];
    account.principals.extend(rancher.principals);
    account.policies.extend(rancher.policies);
    fill(&mut inventory, 200);
    let services = "fixtures/alibaba/clean-handmade.services.json";
    let user = "acs:ram::1234567890123456:user/k8s-cloud-provider";
    println!("instances                       200, two pages; roles of fifty in a call");
    println!("longest chain                   {CHAIN} calls = {} ms", (LATENCY * CHAIN).as_millis());
    let scans = [
        ("role of the nodes", &[][..]),
        ("user with two groups", &["--controller-role", user][..]),
        ("load balancers of Services", &["--kubernetes", services][..]),
    ];
    for (what, more) in scans {
        let mut times = Vec::new();
        let mut calls = 0;
        for _ in 0..RUNS {
            let mock = Mock::serve(&inventory).latency(LATENCY);
            let started = Instant::now();
            scan(&mock, more);
            times.push(started.elapsed());
            calls = mock.calls().len();
        }
        times.sort_unstable();
        let median = times[RUNS / 2];
        println!("{what}: {calls} requests");
        println!(
            "  tagaudit scan, whole process  {} ms = {:.2} times the chain ({} to {} ms)",
            median.as_millis(),
            median.as_secs_f64() / (LATENCY * CHAIN).as_secs_f64(),
            times[0].as_millis(),
            times[RUNS - 1].as_millis()
        );
    }
    fill(&mut inventory, MANY);
    let mock = Mock::serve(&inventory);
    let started = Instant::now();
    scan(&mock, &["--requests-per-second", "50"]);
    let took = started.elapsed();
    println!("{MANY} instances at 50 requests a second: {} requests, {} ms", mock.calls().len(), took.as_millis());
}
