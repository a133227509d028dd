//! `cargo bench --no-default-features --bench recorded`: 100,000 instances, read, checked and reported by the built
//! binary,
//! compared with the time that `serde_json` takes to parse the same bytes into its own types.

#![expect(
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a failed measurement aborts the benchmark"
)]

use std::process::{Command, Stdio};

use tagaudit::internals::inventory::Inventory;

mod process;

use process::{median, watched};

const INSTANCES: usize = 100_000;
const RUNS: usize = 5;

fn main() {
    let root = env!("CARGO_MANIFEST_DIR");
    let file = std::env::temp_dir().join("tagaudit-bench-recorded.json");
    let seed = std::fs::read(format!("{root}/fixtures/clean-rke2.json")).unwrap();
    let mut inventory = Inventory::from_slice("seed", &seed).unwrap();
    let region = inventory.accounts.first_mut().unwrap().regions.first_mut().unwrap();
    let template = region.instances.first().unwrap().clone();
    for number in 0..INSTANCES {
        let mut instance = template.clone();
        instance.id = format!("i-{number:017x}");
        instance.private_dns_name = Some(format!(
            "ip-10-{}-{}-{}.eu-central-1.compute.internal",
            number >> 16,
            (number >> 8) & 255,
            number & 255
        ));
        region.instances.push(instance);
    }
    inventory.canonicalise();
    std::fs::write(&file, inventory.to_json().unwrap()).unwrap();
    drop(inventory);
    let bytes = std::fs::read(&file).unwrap();

    let parse = median(RUNS, || drop(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()));
    let typed = median(RUNS, || drop(Inventory::from_slice("bench", &bytes).unwrap()));
    let scan = ["scan", "--cluster-id", "c-m-4x8z2k9q", "--format", "json", "--inventory", file.to_str().unwrap()];
    let (scan, peak) = watched(RUNS, &scan);
    let size = bytes.len();
    println!("instances                      {INSTANCES}");
    println!("size of the inventory          {:.1} MB", size as f64 / 1e6);
    println!("serde_json into its own types  {} ms", parse.as_millis());
    println!("serde_json into an inventory   {} ms", typed.as_millis());
    println!(
        "tagaudit scan, whole process   {} ms = {:.2} times serde_json",
        scan.as_millis(),
        scan.as_secs_f64() / parse.as_secs_f64()
    );
    println!(
        "peak memory of the process     {:.1} MB = {:.2} times the size",
        peak as f64 / 1e6,
        peak as f64 / size as f64
    );
    let version = median(RUNS, || {
        let done = Command::new(env!("CARGO_BIN_EXE_tagaudit")).arg("--version").stdout(Stdio::null()).status();
        assert!(done.is_ok_and(|status| status.success()));
    });
    println!("tagaudit --version             {:.1} ms", version.as_secs_f64() * 1e3);
    let binary = std::fs::metadata(env!("CARGO_BIN_EXE_tagaudit")).unwrap().len();
    println!("size of the binary             {:.1} MB", binary as f64 / 1e6);
}
