//! `tagaudit why service`, `why ingress` and `why node`: the built binary on an inventory and the state of a cluster.

use std::process::Output;

use serde_json::Value;

use super::binary::run;
use super::documents::schema;
use super::fixtures::changed;

const PENDING: &str = "fixtures/why/pending.yaml";

fn why(object: &[&str], more: &[&str]) -> Output {
    let inventory = ["--cluster-id", "demo", "--inventory", "fixtures/demo.json"];
    run(&[&["why"], object, &inventory[..], more].concat())
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

/// The chain of an object, checked against the schema.
fn chain(object: &[&str], more: &[&str]) -> Value {
    let output = why(object, &[more, &["--format", "json"]].concat());
    let json: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    let schema = schema("why-object.schema.json");
    let errors: Vec<String> =
        schema.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new(), "{json:#}");
    json
}

fn state<'v>(chain: &'v Value, link: &str) -> &'v str {
    let links = chain["links"].as_array().unwrap();
    links.iter().find(|one| one["name"] == link).and_then(|one| one["state"].as_str()).unwrap_or("absent")
}

#[test]
fn the_table_ends_with_the_first_broken_link() {
    let output = why(&["service", "shop/web"], &["--kubernetes", PENDING]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("service", text(&output.stdout));
    let output = why(&["ingress", "shop/site"], &["--kubernetes", PENDING]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("ingress", text(&output.stdout));
}

#[test]
fn links_after_a_stop_are_not_reached() {
    let chain = chain(&["service", "shop/web"], &["--kubernetes", PENDING]);
    assert_eq!(chain["first_broken"], "decision");
    for link in ["subnets", "load_balancer", "targets", "address"] {
        assert_eq!(state(&chain, link), "not_reached", "{link}: {chain:#}");
    }
}

/// Rules of the findings at a link.
fn rules<'v>(chain: &'v Value, link: &str) -> Vec<&'v str> {
    let links = chain["links"].as_array().unwrap();
    let found = links.iter().find(|one| one["name"] == link).and_then(|one| one["findings"].as_array());
    found.into_iter().flatten().filter_map(|one| one["rule"].as_str()).collect()
}

const GROUPS: &str = "fixtures/why/several-groups.yaml";

/// The finding on several instances is named after another one.
#[test]
fn a_finding_on_several_instances_is_at_each_of_their_nodes() {
    let chain = chain(&["node", "ip-10-0-1-16.ec2.internal"], &["--kubernetes", GROUPS]);
    assert_eq!(state(&chain, "security_groups"), "degraded");
    assert_eq!(rules(&chain, "security_groups"), ["sg-multiple-tagged-on-instance"]);
    let links = chain["links"].as_array().unwrap();
    let groups = links.iter().find(|one| one["name"] == "security_groups").unwrap();
    assert_eq!(groups["findings"][0]["also"], serde_json::json!(["i-0d1w3"]));
    // It is initialised: the missing tag did not stop the controller.
    assert_eq!(state(&chain, "instance"), "degraded");
    assert_eq!(rules(&chain, "instance"), ["instance-cluster-tag-missing"]);
}

#[test]
fn the_error_of_a_controller_has_the_finding_of_its_cause() {
    let chain = chain(&["service", "shop/web"], &["--kubernetes", GROUPS]);
    assert_eq!(chain["first_broken"], "decision");
    assert_eq!(rules(&chain, "decision"), ["sg-multiple-tagged-on-instance"]);
    let links = chain["links"].as_array().unwrap();
    let decision = links.iter().find(|one| one["name"] == "decision").unwrap();
    let commands = decision["findings"][0]["commands"].as_array().unwrap();
    assert!(commands[0].as_str().unwrap().starts_with("aws ec2 delete-tags "), "{commands:?}");
    assert_eq!(rules(&chain, "targets"), ["instance-cluster-tag-missing"]);
}

#[test]
fn errors_that_the_controller_meets_next_are_at_links_that_it_does_not_reach() {
    let chain = chain(&["service", "shop/web"], &["--kubernetes", PENDING]);
    assert_eq!(chain["errors_next"], serde_json::json!(["security_groups"]));
    assert_eq!(state(&chain, "security_groups"), "not_reached");
    // The Service names its subnets: their tags do not matter.
    assert_eq!(rules(&chain, "subnets"), Vec::<&str>::new());
}

#[test]
fn a_controller_that_the_evidence_does_not_show_may_run_all_the_same() {
    // Only the AWS Load Balancer Controller is given, and it ignores the Service.
    let chain = chain(&["service", "shop/web"], &["--kubernetes", PENDING]);
    assert_eq!(state(&chain, "controller"), "not_audited");
}

#[test]
fn a_service_of_another_type_asks_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.yaml");
    std::fs::write(
        &path,
        "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop, uid: a}\nspec: {ports: [{port: 5432}]}\n",
    )
    .unwrap();
    let chain = chain(&["service", "shop/db"], &["--kubernetes", path.to_str().unwrap()]);
    assert_eq!(chain["first_broken"], "object");
}

#[test]
fn a_role_that_lost_its_rights_breaks_permissions() {
    let inventory = changed("clean-rke2.json", |inventory| {
        for role in inventory["accounts"][0]["roles"].as_array_mut().unwrap() {
            role["inline_policies"] = serde_json::json!([]);
            role["attached_policies"] = serde_json::json!([]);
        }
    });
    let output = run(&[
        "why",
        "service",
        "shop/web",
        "--cluster-id",
        "c-m-4x8z2k9q",
        "--inventory",
        inventory.path().to_str().unwrap(),
        "--nodes",
        "fixtures/clean-rke2.nodes.json",
        "--kubernetes",
        "fixtures/simulate/shop.yaml",
        "--format",
        "json",
    ]);
    let chain: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(chain["first_broken"], "permissions", "{chain:#}");
    // A clean cluster has no broken link.
    let output = run(&[
        "why",
        "service",
        "shop/web",
        "--cluster-id",
        "c-m-4x8z2k9q",
        "--inventory",
        "fixtures/clean-rke2.json",
        "--nodes",
        "fixtures/clean-rke2.nodes.json",
        "--kubernetes",
        "fixtures/simulate/shop.yaml",
        "--format",
        "json",
    ]);
    let chain: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(chain.get("first_broken"), None, "{chain:#}");
    assert_eq!(output.status.code(), Some(3), "a manifest has no load balancer yet");
}

#[test]
fn a_node_that_waits_for_its_initialization_is_broken_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.json");
    let mut nodes: Value = serde_json::from_slice(&std::fs::read("fixtures/clean-rke2.nodes.json").unwrap()).unwrap();
    nodes["items"][0]["spec"]["taints"] = serde_json::json!([
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
    ]);
    let name = nodes["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
    std::fs::write(&path, nodes.to_string()).unwrap();
    let output = run(&[
        "why",
        "node",
        &name,
        "--cluster-id",
        "c-m-4x8z2k9q",
        "--inventory",
        "fixtures/clean-rke2.json",
        "--nodes",
        path.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("node", text(&output.stdout));
}

#[test]
fn an_object_that_is_not_there_is_a_usage_error() {
    for (object, more, error) in [
        (&["service", "shop/none"][..], &["--kubernetes", PENDING][..], "no Service `shop/none`"),
        (&["service", "shop/web"], &[], "Service objects of the cluster were not given"),
        (&["ingress", "site"], &["--kubernetes", PENDING], "no Ingress `default/site`"),
        (&["node", "worker-1"], &[], "Node objects of the cluster were not given"),
        (&["service", "a/b/c"], &[], "NAMESPACE/NAME"),
    ] {
        let output = why(object, more);
        assert_eq!(output.status.code(), Some(2), "{object:?}");
        assert!(text(&output.stderr).contains(error), "{object:?}: {}", text(&output.stderr));
    }
}

/// A chain of the clean hand-made cluster in Alibaba Cloud.
fn on_alibaba(object: &[&str], more: &[&str]) -> Output {
    let inventory = ["--cluster-id", "prod", "--inventory", "fixtures/alibaba/clean-handmade.json"];
    let nodes = ["--nodes", "fixtures/alibaba/clean-handmade.nodes.json"];
    run(&[&["why"], object, &inventory[..], &nodes, more].concat())
}

#[test]
fn services_and_nodes_of_alibaba_cloud_have_chains() {
    let services = ["--kubernetes", "fixtures/alibaba/clean-handmade.services.json"];
    let output = on_alibaba(&["service", "shop/api"], &services);
    insta::assert_snapshot!("alibaba-service", text(&output.stdout));
    let output = on_alibaba(&["node", "prod-worker-1"], &[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    insta::assert_snapshot!("alibaba-node", text(&output.stdout));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lost.yaml");
    std::fs::write(
        &path,
        "apiVersion: v1\nkind: Service\nmetadata: {name: lost, namespace: shop, uid: u}\nspec: {type: LoadBalancer, loadBalancerClass: alibabacloud.com/nlb, ports: [{port: 443, nodePort: 30445}]}\n",
    )
    .unwrap();
    let output = on_alibaba(&["service", "shop/lost"], &["--kubernetes", path.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["first_broken"], "decision", "{json:#}");
    assert_eq!((state(&json, "load_balancer"), state(&json, "targets")), ("not_reached", "not_reached"));
    let schema = schema("why-object.schema.json");
    assert!(schema.is_valid(&json), "{json:#}");
    let ingress = on_alibaba(&["ingress", "shop/web"], &services);
    assert_eq!(ingress.status.code(), Some(2));
    assert!(text(&ingress.stderr).contains("is not modelled"));
}

/// Rules of the load balancer's groups decide who reaches it.
#[test]
fn a_load_balancer_whose_groups_drop_everything_is_broken_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory.json");
    let clean = std::fs::read_to_string("fixtures/alibaba/clean-network.json").unwrap();
    let services = ["--kubernetes", "fixtures/alibaba/clean-network.services.json"];
    let chain_of = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let object = ["why", "service", "shop/edge", "--cluster-id", "prod", "--format", "json"];
        let files = ["--inventory", path.to_str().unwrap(), "--nodes", "fixtures/alibaba/clean-network.nodes.json"];
        let output = run(&[&object[..], &files, &services].concat());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(state(&chain_of(&clean), "security_groups"), "ok");
    let mut closed: Value = serde_json::from_str(&clean).unwrap();
    let groups = closed["accounts"][0]["regions"][0]["security_groups"].as_array_mut().unwrap();
    let group = groups.iter_mut().find(|group| group.get("rules").is_some()).unwrap();
    group["rules"].as_array_mut().unwrap().remove(0);
    let chain = chain_of(&closed.to_string());
    assert_eq!(rules(&chain, "security_groups"), ["ali-load-balancer-port-dropped"]);
    assert_eq!((&chain["first_broken"], state(&chain, "security_groups")), (&"security_groups".into(), "broken"));
}

/// A policy of RAM that was not read could grant or deny anything.
#[test]
fn permissions_in_alibaba_cloud_are_not_audited_without_the_policies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory.json");
    let clean = std::fs::read("fixtures/alibaba/clean-handmade.json").unwrap();
    let mut inventory: Value = serde_json::from_slice(&clean).unwrap();
    for api in ["ram:GetPolicy", "ram:GetRole", "ram:ListPolicyAttachments"] {
        inventory["gaps"] = serde_json::json!([{
            "api": api, "account_id": inventory["accounts"][0]["account_id"], "region": null, "resource": null,
            "policy": null, "reason": "access_denied", "message": "NoPermission",
        }]);
        std::fs::write(&path, inventory.to_string()).unwrap();
        let object = ["why", "service", "shop/api", "--cluster-id", "prod", "--format", "json"];
        let files = ["--inventory", path.to_str().unwrap(), "--nodes", "fixtures/alibaba/clean-handmade.nodes.json"];
        let services = ["--kubernetes", "fixtures/alibaba/clean-handmade.services.json"];
        let output = run(&[&object[..], &files, &services].concat());
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(state(&json, "permissions"), "not_audited", "{api}: {json:#}");
    }
}

/// One page without scripts and requests, in which everything that others wrote is escaped.
#[test]
fn the_way_of_a_service_is_a_page() {
    let output = why(&["service", "shop/web"], &["--kubernetes", PENDING, "--format", "html"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    insta::assert_snapshot!("page", page.split_once("<body>").unwrap().1);
    assert!(page.contains("default-src &#39;none&#39;") && !page.contains("<script"), "{page}");
    let output = on_alibaba(
        &["service", "shop/web"],
        &["--kubernetes", "fixtures/alibaba/clean-handmade.services.json", "--format", "html"],
    );
    let page = text(&output.stdout);
    assert!(page.contains("i-bp1worker1") && page.contains("state-broken"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile.yaml");
    let hostile = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n  uid: u\n  annotations:\n    service.beta.kubernetes.io/aws-load-balancer-subnets: \"<img src=x onerror=alert(1)>,b\"\nspec: {type: LoadBalancer, ports: [{port: 80, nodePort: 30080}]}\n";
    std::fs::write(&path, hostile).unwrap();
    let output = why(&["service", "shop/web"], &["--kubernetes", path.to_str().unwrap(), "--format", "html"]);
    assert!(!text(&output.stdout).contains("<img"), "{}", text(&output.stdout));
}

const PODS: &str = "fixtures/why/pods.yaml";

/// The chain of a Pod of the clean cluster.
fn pod(name: &str, more: &[&str]) -> Output {
    let arguments = ["why", "pod", name, "--cluster-id", "c-m-4x8z2k9q", "--inventory", "fixtures/clean-rke2.json"];
    run(&[&arguments[..], &["--nodes", "fixtures/clean-rke2.nodes.json"], more].concat())
}

#[test]
fn a_pod_is_broken_where_it_waits() {
    let schema = schema("why-object.schema.json");
    for (name, code, broken) in [
        ("unscheduled", 1, Some("scheduling")),
        ("image", 1, Some("images")),
        ("volume", 1, Some("volumes")),
        ("crash", 1, Some("containers")),
        ("good", 0, None),
    ] {
        let name = format!("shop/{name}");
        let output = pod(&name, &["--objects", PODS, "--format", "json"]);
        let chain: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(schema.is_valid(&chain), "{chain:#}");
        assert_eq!((output.status.code(), chain["first_broken"].as_str()), (Some(code), broken), "{chain:#}");
    }
    insta::assert_snapshot!("pod", text(&pod("shop/image", &["--objects", PODS]).stdout));
    let page = pod("shop/volume", &["--objects", PODS, "--format", "html"]);
    let page = text(&page.stdout);
    assert!(page.contains("FailedAttachVolume") && !page.contains("Ed90HQ81VpL6vS4bC5v"), "{page}");
}

const EC2_ALONE: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"*"}]}"#;

/// The role of the Node is asked only about an image that is not pulled.
#[test]
fn the_role_of_the_node_decides_a_pull_from_ecr() {
    let inventory = changed("clean-rke2.json", |inventory| {
        let policies = inventory["accounts"][0]["managed_policies"].as_array_mut().unwrap();
        for policy in policies.iter_mut().filter(|policy| policy["arn"].as_str().unwrap().ends_with("/rancher-worker"))
        {
            policy["document"] = EC2_ALONE.into();
        }
    });
    let output = run(&[
        "why",
        "pod",
        "shop/image",
        "--cluster-id",
        "c-m-4x8z2k9q",
        "--inventory",
        inventory.path().to_str().unwrap(),
        "--nodes",
        "fixtures/clean-rke2.nodes.json",
        "--objects",
        PODS,
    ]);
    let shown = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let refused = "role `rke2-agent` of its Node does not grant ecr:GetAuthorizationToken on `*`, ecr:BatchGetImage on";
    assert!(shown.contains(refused), "{shown}");
}

#[test]
fn a_pod_that_was_not_given_is_a_usage_error() {
    for (name, more, error) in [
        ("shop/good", &[][..], "the Pod objects of the cluster were not given"),
        ("shop/none", &["--objects", PODS], "no Pod `shop/none`"),
        ("good", &["--objects", PODS], "no Pod `default/good`"),
        ("shop/good", &["--objects", "README.md"], "README.md"),
    ] {
        let output = pod(name, more);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert!(text(&output.stderr).contains(error), "{}", text(&output.stderr));
    }
    // Without events, what a Pod waits for is not known.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pod.yaml");
    let starting = "kind: Pod\nmetadata: {name: a, namespace: b}\nspec: {nodeName: ip-10-0-1-13.eu-central-1.compute.internal}\nstatus: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ContainerCreating}}}]}\n";
    std::fs::write(&path, starting).unwrap();
    let output = pod("b/a", &["--objects", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("its events were not given"), "{}", text(&output.stdout));
}

/// Pods in states that look alike: sidecars, readiness gates, restarts, successors, and what is over.
#[test]
fn a_pod_is_judged_by_its_present_state() {
    let states = "fixtures/why/pod-states.json";
    for (name, code, broken) in [
        ("sidecar", 1, Some("containers")),
        ("gate", 1, Some("containers")),
        ("reboot", 1, Some("containers")),
        ("waitrun", 1, Some("volumes")),
        ("two", 1, Some("images")),
        ("oom", 1, Some("containers")),
        ("cgroup", 1, Some("containers")),
        ("secret", 1, Some("containers")),
        // The event is of the Pod before it, and the attachment succeeded since.
        ("web-0", 3, None),
        ("attached", 3, None),
        ("initwait", 3, None),
        ("deleting", 3, None),
        ("job", 0, None),
        ("b-failed-init", 1, Some("containers")),
        ("b-unknown-ready", 1, Some("containers")),
        ("h-job-running-one-done", 0, None),
    ] {
        let output = pod(&format!("shop/{name}"), &["--objects", states, "--format", "json"]);
        let chain: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), chain["first_broken"].as_str()), (Some(code), broken), "{name}: {chain:#}");
    }
    let shown = text(&pod("shop/secret", &["--objects", states]).stdout);
    assert!(!shown.contains("hunter2") && shown.contains("its termination message means"), "{shown}");
    let both = text(&pod("shop/two", &["--objects", states]).stdout);
    assert!(both.ends_with("first broken link: images; also broken: containers\n"), "{both}");
}
