//! `cargo bench --no-default-features --features kubernetes --bench live_kubernetes`: reads a cluster of 5,000 Nodes,
//! 20,000 pods in
//! kube-system and 3,000 Services from a local server in pages of 500 and judges it; measures the whole process and its
//! peak memory. The
//! server caches its pages after the first run, because it shares the same two cores.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed measurement aborts the benchmark")]
#![allow(
    dead_code,
    clippy::allow_attributes,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "the test double is written for the tests"
)]

mod cluster;
#[path = "../tests/integration/kubernetes_api.rs"]
mod kubernetes_api;
mod process;

use kubernetes_api::ApiServer;
use serde_json::json;

const RUNS: usize = 5;

fn main() {
    let server = ApiServer::serve(&cluster::objects(Some("kube-system"))).keeping_answers();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = server.kubeconfig(folder.path(), &json!({}));
    let run = ["migrate", "--from", "in-tree", "--to", "external", "--kube-context", "test"];
    let (time, peak) = process::watched_with(RUNS, &run, &[("KUBECONFIG", &kubeconfig)]);
    println!("requests of a run               {}", server.calls().len() / RUNS);
    println!("tagaudit migrate, whole process {} ms, {} MB at most", time.as_millis(), peak / 1_000_000);
}
