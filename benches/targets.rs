//! `cargo bench --bench targets`: a scan of 200 accounts with 2 regions each at 20 ms of latency, one of which refuses
//! access,
//! with different numbers of concurrent accounts; then with twice as many accounts, to measure memory growth; and
//! merging shards.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a failed measurement aborts the benchmark"
)]
#![allow(
    dead_code,
    clippy::allow_attributes,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "the mock is written for the tests"
)]

use std::process::{Command, Stdio};
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

use serde_json::{Value, json};
use tagaudit::internals::inventory::Inventory;

const LATENCY: Duration = Duration::from_millis(20);
const REGIONS: [&str; 2] = ["eu-central-1", "eu-west-1"];

fn id(index: usize) -> String {
    format!("{:012}", 100_000_000_000 + index)
}

/// Accounts with a cluster of 50 nodes in each of two regions.
fn organization(number: usize) -> (Inventory, Vec<Value>) {
    let seed = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/clean-rke2.json")).unwrap();
    let mut inventory = Inventory::from_slice("seed", &seed).unwrap();
    let mut first = inventory.accounts.remove(0);
    let region = &mut first.regions[0];
    let template = region.instances.iter().find(|instance| instance.id.contains("wk")).unwrap().clone();
    for number in region.instances.len()..50 {
        let mut instance = template.clone();
        instance.id = format!("i-{number:017x}");
        region.instances.push(instance);
    }
    let other =
        serde_json::to_string(&region).unwrap().replace(REGIONS[0], REGIONS[1]).replace("c-m-4x8z2k9q", "c-m-second");
    first.regions.push(serde_json::from_str(&other).unwrap());
    let text = serde_json::to_string(&first).unwrap();
    let copies = (0..number).map(|index| serde_json::from_str(&text.replace(&first.account_id, &id(index))).unwrap());
    inventory.accounts = copies.collect();
    // One account refuses access.
    inventory.accounts.remove(number / 2);
    inventory.canonicalise();
    let members = (0..number).map(|index| json!({"Id": id(index), "Name": format!("team-{index}"), "State": "ACTIVE"}));
    (inventory, members.collect())
}

fn main() {
    println!("accounts, regions, at once    requests     seconds   accounts/s   peak of memory");
    for (number, at_once) in [(1, 8), (200, 1), (200, 8), (200, 32), (400, 8)] {
        let (inventory, members) = organization(number.max(2));
        let mock =
            mock::Mock::serve(&inventory).organization(members.into_iter().take(number).collect()).latency(LATENCY);
        let started = Instant::now();
        let file = std::env::temp_dir().join("tagaudit-bench-targets.json");
        let mut child = Command::new(env!("CARGO_BIN_EXE_tagaudit"))
            .env_clear()
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .args(["scan", "--organization", "--target-role", "audit", "--endpoint-url", &mock.url, "-q"])
            .args(["--region", REGIONS[0], "--region", REGIONS[1], "--targets-at-once", &at_once.to_string()])
            .args(["--format", "json", "-o", file.to_str().unwrap()])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut peak = 0.0_f64;
        let status = loop {
            let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
            let kibibytes: f64 = mark.split_whitespace().next().and_then(|mark| mark.parse().ok()).unwrap_or_default();
            peak = peak.max(kibibytes / 1024.0);
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let elapsed = started.elapsed();
        let set: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let refused = usize::from(number > 1);
        assert_eq!(status.code(), Some(if number > 1 { 3 } else { 0 }));
        assert_eq!(set["summary"]["targets"]["audited"], number - refused);
        assert_eq!(set["summary"]["clusters"], 2 * (number - refused));
        println!(
            "{number:>8} {:>8} {at_once:>10} {:>11} {:>11.2} {:>12.1} {peak:>12.0} MiB",
            REGIONS.len(),
            mock.calls().len(),
            elapsed.as_secs_f64(),
            number as f64 / elapsed.as_secs_f64()
        );
        let _ = std::fs::remove_file(file);
    }
}
