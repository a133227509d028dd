//! A large cluster: 5,000 Nodes, 20,000 pods and 3,000 Services.

use serde_json::{Value, json};

fn node(index: usize) -> Value {
    let is_server = index < 5;
    let words = json!([
        if is_server { "server" } else { "agent" },
        "--kubelet-arg",
        "cloud-provider=external",
        "--disable-cloud-controller",
        "true",
        "--token",
        "********"
    ]);
    let images: Vec<Value> = (0..50)
        .map(|image| json!({"names": [format!("registry.example.com/image-{image}@sha256:{image:064x}")], "sizeBytes": image}))
        .collect();
    let mut labels: serde_json::Map<String, Value> =
        (0..15).map(|label| (format!("example.com/label-{label}"), json!("value"))).collect();
    if is_server {
        labels.insert("node-role.kubernetes.io/control-plane".to_owned(), json!("true"));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": format!("ip-10-{}-{}-{}.eu-west-1.compute.internal", index / 62_500, index / 250 % 250, index % 250),
            "uid": format!("node-{index}"),
            "labels": labels,
            "annotations": {"rke2.io/node-args": words.to_string()}
        },
        "spec": {"providerID": format!("aws:///eu-west-1a/i-{index:017x}")},
        "status": {"nodeInfo": {"kubeletVersion": "v1.33.2+rke2r1"}, "images": images}
    })
}

fn service(index: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": format!("service-{index}"),
            "namespace": format!("team-{}", index % 100),
            "uid": format!("service-{index}"),
            "annotations": {
                "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
                "service.beta.kubernetes.io/aws-load-balancer-internal": "true"
            }
        },
        "spec": {"type": "LoadBalancer", "ports": [{"name": "https", "port": 443, "nodePort": 30_000 + index % 2_000}]},
        "status": {"loadBalancer": {"ingress": [{"hostname": "a-b.elb.eu-west-1.amazonaws.com"}]}}
    })
}

fn pod(index: usize) -> Value {
    let env: Vec<Value> =
        (0..20).map(|name| json!({"name": format!("NAME_{name}"), "value": "v".repeat(24)})).collect();
    let containers: Vec<Value> = (0..2)
        .map(|container| {
            json!({
                "name": format!("container-{container}"),
                "image": format!("registry.example.com/app:{index}"),
                "env": env,
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": true}]
            })
        })
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("pod-{index}"),
            "namespace": format!("team-{}", index % 100),
            "uid": format!("pod-{index}"),
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app", "uid": "app"}]
        },
        "spec": {"containers": containers, "nodeName": "ip-10-0-0-1.eu-west-1.compute.internal"},
        "status": {"phase": "Running", "podIP": "10.244.0.1"}
    })
}

/// All objects, with the pods in one given namespace or in one namespace per team.
pub(crate) fn objects(namespace: Option<&str>) -> Value {
    let controller = json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "aws-cloud-controller-manager", "namespace": "kube-system", "uid": "controller"},
        "spec": {"template": {"spec": {
            "hostNetwork": true,
            "nodeSelector": {"node-role.kubernetes.io/control-plane": "true"},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "controller",
                "image": "registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0",
                "args": ["--cloud-provider=aws", "--configure-cloud-routes=false"]
            }]
        }}}
    });
    let in_namespace = |mut pod: Value| {
        if let Some(namespace) = namespace {
            pod.pointer_mut("/metadata/namespace").into_iter().for_each(|own| *own = namespace.into());
        }
        pod
    };
    let pods = (0..20_000).map(pod).map(in_namespace);
    let items: Vec<Value> =
        (0..5_000).map(node).chain((0..3_000).map(service)).chain(pods).chain([controller]).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}
