//! `cargo bench --no-default-features --bench simulate`: what the controllers do with 300 Services of a cluster with 2,000
//! nodes, the chain of one of them, and a plan that changes one subnet, with the built binary on a recorded inventory.

#![expect(
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a failed measurement aborts the benchmark"
)]

use serde_json::{Value, json};

mod process;

use process::watched;

const NODES: usize = 2_000;
const SERVICES: usize = 300;
const RUNS: usize = 11;

/// The inventory of the fixture with so many copies of its worker, and their Nodes.
fn cluster() -> (Value, Value) {
    let root = env!("CARGO_MANIFEST_DIR");
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(format!("{root}/fixtures/{name}")).unwrap()).unwrap()
    };
    let mut inventory = read("clean-kubeadm.json");
    let mut nodes = read("clean-kubeadm.nodes.json");
    let node = nodes["items"].as_array().unwrap().last().unwrap().clone();
    let id = node["spec"]["providerID"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let zone = node["spec"]["providerID"].as_str().unwrap().trim_end_matches(&id).to_owned();
    let instances = inventory["accounts"][0]["regions"][0]["instances"].as_array_mut().unwrap();
    let worker = instances.iter().find(|one| one["id"] == json!(id)).unwrap().clone();
    for number in 0..NODES {
        let id = format!("i-{number:017x}");
        let mut instance = worker.clone();
        instance["id"] = json!(id);
        instance["private_dns_name"] = json!(format!("ip-10-{}-{}.ec2.internal", number / 250, number % 250));
        for interface in instance["network_interfaces"].as_array_mut().into_iter().flatten() {
            interface["id"] = json!(format!("eni-{number:017x}"));
        }
        instances.push(instance);
        let mut node = node.clone();
        node["metadata"]["name"] = json!(format!("node-{number}"));
        node["metadata"]["uid"] = json!(format!("node-{number}"));
        node["spec"]["providerID"] = json!(format!("{zone}{id}"));
        nodes["items"].as_array_mut().unwrap().push(node);
    }
    inventory["gaps"] = json!([]);
    (inventory, nodes)
}

/// Services of each controller in turn.
fn services() -> Value {
    let prefix = "service.beta.kubernetes.io/aws-load-balancer";
    let items: Vec<Value> = (0..SERVICES)
        .map(|number| {
            let annotations = match number % 3 {
                0 => json!({}),
                1 => json!({format!("{prefix}-type"): "nlb"}),
                _ => json!({format!("{prefix}-type"): "external", format!("{prefix}-nlb-target-type"): "instance"}),
            };
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {
                    "name": format!("service-{number}"), "namespace": "shop",
                    "uid": format!("{number:08x}-c2ae-4642-b033-5607860aef6a"), "annotations": annotations
                },
                "spec": {"type": "LoadBalancer", "ports": [
                    {"name": "http", "port": 80, "targetPort": 8080, "nodePort": 30_000 + number, "protocol": "TCP"}
                ]}
            })
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn main() {
    let folder = std::env::temp_dir().join("tagaudit-bench-simulate");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, value: &Value| {
        let path = folder.join(name);
        std::fs::write(&path, serde_json::to_vec(value).unwrap()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (inventory, nodes) = cluster();
    let (inventory, nodes) = (write("inventory.json", &inventory), write("nodes.json", &nodes));
    let services = write("services.json", &services());
    println!("{NODES} nodes, {SERVICES} Services");
    let evidence = ["--cluster-id", "kubeadm", "--inventory", &inventory, "--nodes", &nodes];
    let show = |name: &str, arguments: &[&str]| {
        let all: Vec<&str> = arguments.iter().chain(&evidence).copied().collect();
        let (time, peak) = watched(RUNS, &all);
        println!("{name:<22} {:>5} ms {:>7.1} MB", time.as_millis(), peak as f64 / 1e6);
    };
    show("scan", &["scan", "--no-config", "--fail-on", "never", "--kubernetes", &services, "--format", "json"]);
    show("simulate", &["simulate", &services, "--format", "json"]);
    show("why service", &["why", "service", "shop/service-1", "--kubernetes", &services, "--format", "json"]);
}
