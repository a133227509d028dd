//! `cargo bench --bench live`: a scan of 200 instances with three instance profiles at 50 ms of latency, compared with
//! the
//! longest chain of dependent calls.

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

use tagaudit::internals::inventory::Inventory;

/// Identity, instances, instance profile, attached policies, policy, policy version.
const CHAIN: u32 = 6;
const LATENCY: Duration = Duration::from_millis(50);
const RUNS: usize = 21;

fn main() {
    let seed = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/clean-rke2.json")).unwrap();
    let mut inventory = Inventory::from_slice("seed", &seed).unwrap();
    let account = &mut inventory.accounts[0];
    // A third profile, for etcd nodes.
    let mut profile = account.instance_profiles[0].clone();
    profile.arn = profile.arn.replace("rke2-agent", "rke2-etcd");
    profile.roles = vec!["rke2-etcd".into()];
    let mut role = account.roles[0].clone();
    (role.name, role.arn) = ("rke2-etcd".into(), role.arn.replace("rke2-agent", "rke2-etcd"));
    account.instance_profiles.push(profile.clone());
    account.roles.push(role);
    let region = &mut account.regions[0];
    let template = region.instances.iter().find(|instance| instance.id.contains("wk")).unwrap().clone();
    for number in region.instances.len()..200 {
        let mut instance = template.clone();
        instance.id = format!("i-{number:017x}");
        if number % 50 == 0 {
            instance.instance_profile_arn = Some(profile.arn.clone());
        }
        region.instances.push(instance);
    }
    inventory.canonicalise();
    // `-- BINARY` alternates runs with another build of the tool.
    let mut binaries = vec![env!("CARGO_BIN_EXE_tagaudit").to_owned()];
    binaries.extend(std::env::args().skip(1).filter(|argument| !argument.starts_with('-')));
    let mut times = vec![Vec::new(); binaries.len()];
    let mut calls = vec![0; binaries.len()];
    for _ in 0..RUNS {
        for (index, binary) in binaries.iter().enumerate() {
            let mock = mock::Mock::serve(&inventory).latency(LATENCY);
            let started = Instant::now();
            let output = Command::new(binary)
                .env_clear()
                .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
                .env("AWS_SECRET_ACCESS_KEY", "secret")
                .args(["scan", "--cluster-id", "c-m-4x8z2k9q", "--region", "eu-central-1"])
                .args(["--endpoint-url", &mock.url])
                .output()
                .unwrap();
            times[index].push(started.elapsed());
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            calls[index] = mock.calls().len();
        }
    }
    let chain = LATENCY * CHAIN;
    println!("instances, profiles            200, 3");
    println!("longest chain                  {CHAIN} calls = {} ms", chain.as_millis());
    for ((binary, times), calls) in binaries.iter().zip(&mut times).zip(&calls) {
        times.sort_unstable();
        let median = times[RUNS / 2];
        println!("binary                         {binary}");
        println!("requests                       {calls}");
        println!(
            "tagaudit scan, whole process   {} ms = {:.2} times the chain ({} to {} ms)",
            median.as_millis(),
            median.as_secs_f64() / chain.as_secs_f64(),
            times[0].as_millis(),
            times[RUNS - 1].as_millis()
        );
    }
}
