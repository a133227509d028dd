//! `tagaudit guard`: the built binary on an inventory and a plan. The plans in `fixtures/guard` were written by hand in
//! Terraform's format.

use std::process::Output;

use serde_json::Value;

use super::binary::run;
use super::documents::schema;

const PLAN: &str = "fixtures/guard/demo.plan.json";
const HARMLESS: &str = "fixtures/guard/harmless.plan.json";

fn on_demo(plan: &str, more: &[&str]) -> Output {
    run(&[&["guard", plan, "--inventory", "fixtures/demo.json"], more].concat())
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

#[test]
fn the_table_ends_with_the_verdict() {
    let output = on_demo(PLAN, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("table", text(&output.stdout));
    let clean = on_demo(HARMLESS, &[]);
    assert_eq!(clean.status.code(), Some(0), "{}", text(&clean.stderr));
    insta::assert_snapshot!("clean", text(&clean.stdout));
}

#[test]
fn a_comment_is_markdown() {
    insta::assert_snapshot!("comment", text(&on_demo(PLAN, &["--format", "markdown"]).stdout));
}

/// A Service in a plan decides about load balancers, and is not read.
#[test]
fn services_of_a_plan_are_not_audited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    let planned_with = |kind: &str, provider: &str, action: &str, after: Value| {
        let plan = serde_json::json!({"format_version": "1.2", "terraform_version": "1.9.0", "planned_values": {}, "configuration": {}, "resource_changes": [{
            "address": format!("{kind}.web"), "mode": "managed", "type": kind, "name": "web",
            "provider_name": format!("registry.terraform.io/hashicorp/{provider}"),
            "change": {"actions": [action], "before": null, "after": after, "after_unknown": {}}
        }]});
        std::fs::write(&path, plan.to_string()).unwrap();
        let output = on_demo(path.to_str().unwrap(), &["--format", "json"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), json["not_audited"].as_array().map_or(0, Vec::len))
    };
    let planned = |kind: &str, provider: &str, action: &str| {
        planned_with(kind, provider, action, serde_json::json!({"metadata": [{"name": "web"}]}))
    };
    let of_type = |name: &str| serde_json::json!({"spec": [{"type": name}]});
    assert_eq!(planned_with("kubernetes_service_v1", "kubernetes", "create", of_type("ClusterIP")), (Some(0), 0));
    assert_eq!(planned_with("kubernetes_service_v1", "kubernetes", "create", of_type("LoadBalancer")), (Some(3), 1));
    let manifest = |kind: &str| serde_json::json!({"manifest": {"kind": kind}, "kind": kind});
    assert_eq!(planned_with("kubernetes_manifest", "kubernetes", "create", manifest("IngressClass")), (Some(3), 1));
    assert_eq!(planned_with("kubernetes_manifest", "kubernetes", "create", manifest("ConfigMap")), (Some(0), 0));
    assert_eq!(planned_with("kubernetes_annotations", "kubernetes", "create", manifest("Service")), (Some(3), 1));
    assert_eq!(planned("kubernetes_service_v1", "kubernetes", "create"), (Some(3), 1));
    assert_eq!(planned("helm_release", "helm", "create"), (Some(3), 1));
    assert_eq!(planned("kubernetes_config_map", "kubernetes", "create"), (Some(0), 0));
    assert_eq!(planned("kubernetes_service_v1", "kubernetes", "no-op"), (Some(0), 0));
}

#[test]
fn annotations_are_workflow_commands() {
    insta::assert_snapshot!("annotations", text(&on_demo(PLAN, &["--format", "github"]).stdout));
}

#[test]
fn a_waived_finding_is_shown_and_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let config = |expires: &str| {
        let path = folder.path().join(format!("{expires}.toml"));
        let waiver = format!(
            "[[waiver]]\nrule = \"iam-action-denied\"\nresource = \"*\"\nreason = \"frozen\"\nexpires = {expires}\n"
        );
        std::fs::write(&path, waiver).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let judged = |path: &str| {
        let output = on_demo(PLAN, &["--config", path, "--format", "json"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(schema("guard.schema.json").is_valid(&json), "{json:#}");
        let of = |list: &str| -> Vec<Value> {
            let all = json[list].as_array().unwrap().iter();
            all.filter(|one| one["rule"] == "iam-action-denied").map(|one| one["waiver"]["expired"].clone()).collect()
        };
        (output.status.code(), of("new"), of("waived"))
    };
    // What is undecided in this plan is left.
    assert_eq!(judged(&config("2999-01-01")), (Some(3), vec![], vec![Value::Bool(false)]));
    assert_eq!(judged(&config("2001-01-01")), (Some(1), vec![Value::Bool(true)], vec![]));
    let shown = text(&on_demo(PLAN, &["--config", &config("2999-01-01")]).stdout);
    assert!(shown.contains("waived iam-action-denied") && shown.contains("frozen (until 2999-01-01"), "{shown}");
}

#[test]
fn other_severities_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tagaudit.toml");
    std::fs::write(&path, "[severity]\niam-action-denied = \"warning\"\n").unwrap();
    assert_eq!(on_demo(PLAN, &["--config", path.to_str().unwrap()]).status.code(), Some(3));
}

#[test]
fn every_answer_follows_the_schema() {
    let schema = schema("guard.schema.json");
    for more in [vec![PLAN], vec![HARMLESS]] {
        let output = on_demo(more[0], &["--format", "json"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let errors: Vec<String> =
            schema.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new(), "{json:#}");
    }
}

#[test]
fn what_services_lose_is_shown() {
    let output = on_demo(PLAN, &["--kubernetes", "fixtures/simulate/shop.yaml", "--format", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lost: Vec<&Value> = json["choices"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["what"] == "subnets" && one["lost"] == serde_json::json!(["subnet-puba0d1"]))
        .collect();
    assert!(!lost.is_empty(), "{json:#}");
    assert!(schema("guard.schema.json").is_valid(&json));
}

/// A plan that is removed with the folder.
fn plan(folder: &tempfile::TempDir, change: impl FnOnce(&mut Value)) -> String {
    let mut plan: Value = serde_json::from_slice(&std::fs::read(PLAN).unwrap()).unwrap();
    change(&mut plan);
    let path = folder.path().join("plan.json");
    std::fs::write(&path, plan.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn exit_codes_tell_errors_warnings_and_what_is_undecided_apart() {
    let folder = tempfile::tempdir().unwrap();
    let only = |address: &'static str| {
        plan(&folder, |plan| plan["resource_changes"].as_array_mut().unwrap().retain(|one| one["address"] == address))
    };
    let code = |address: &'static str, more: &[&str]| on_demo(&only(address), more).status.code();
    assert_eq!(code("module.vpc.aws_subnet.public[0]", &[]), Some(0), "warnings alone");
    assert_eq!(code("module.vpc.aws_subnet.public[0]", &["--fail-on", "warning"]), Some(1));
    assert_eq!(code("aws_route.internet", &[]), Some(3));
    assert_eq!(code("aws_route.internet", &["--allow-undecided"]), Some(0));
    assert_eq!(code("aws_s3_bucket.logs", &[]), Some(0));
    assert_eq!(on_demo(PLAN, &["--fail-on", "never"]).status.code(), Some(3), "undecided does not pass");
    let failed = plan(&folder, |plan| {
        plan["resource_changes"] = serde_json::json!([]);
        plan["errored"] = serde_json::json!(true);
    });
    assert_eq!(on_demo(&failed, &[]).status.code(), Some(3), "planning failed");
}

#[test]
fn what_is_no_plan_is_refused_with_the_command_to_use() {
    let folder = tempfile::tempdir().unwrap();
    let other = plan(&folder, |plan| {
        let text = plan.to_string().replace("123456789012", "999999999999");
        *plan = serde_json::from_str(&text).unwrap();
    });
    for (plan, cause) in [
        ("README.md", "text form"),
        ("fixtures/demo.json", "not a plan"),
        (other.as_str(), "999999999999"),
        ("does-not-exist.json", "No such file"),
    ] {
        let output = on_demo(plan, &[]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{plan}: {error}");
        assert!(error.contains(cause) && output.stdout.is_empty(), "{plan}: {error}");
    }
    assert!(text(&on_demo("README.md", &[]).stderr).contains("terraform show -json"));
}

#[test]
fn secrets_of_a_plan_are_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "s3cr3t-value";
    let path = plan(&folder, |plan| {
        plan["variables"]["password"] = serde_json::json!({"value": secret});
        for change in plan["resource_changes"].as_array_mut().unwrap() {
            if change["change"]["after"].is_object() {
                change["change"]["after"]["user_data"] = serde_json::json!(secret);
                change["change"]["after_sensitive"]["user_data"] = serde_json::json!(true);
            }
        }
    });
    for format in ["table", "json", "markdown"] {
        let output = on_demo(&path, &["--format", format, "--verbose"]);
        assert!(!text(&output.stdout).contains(secret) && !text(&output.stderr).contains(secret), "{format}");
    }
}

const CHANGE_SET: &str = "fixtures/guard/demo.change-set.json";

/// The change set makes the changes of the plan, under the names of its stack.
#[test]
fn a_change_set_is_judged_as_the_plan_of_the_same_changes() {
    let judged = |plan: &str| -> Value {
        let output = on_demo(plan, &["--format", "json"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(schema("guard.schema.json").is_valid(&json), "{json:#}");
        json
    };
    let (of_plan, of_set) = (judged(PLAN), judged(CHANGE_SET));
    for list in ["new", "worse", "resolved"] {
        let fingerprints = |json: &Value| -> Vec<Value> {
            json[list].as_array().unwrap().iter().map(|one| one["fingerprint"].clone()).collect()
        };
        assert_eq!(fingerprints(&of_set), fingerprints(&of_plan), "{list}");
    }
    insta::assert_snapshot!("change-set", text(&on_demo(CHANGE_SET, &["--format", "markdown"]).stdout));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.json");
    let mut bare: Value = serde_json::from_slice(&std::fs::read(CHANGE_SET).unwrap()).unwrap();
    bare["Changes"][0]["ResourceChange"].as_object_mut().unwrap().remove("AfterContext");
    std::fs::write(&path, bare.to_string()).unwrap();
    let refused = on_demo(path.to_str().unwrap(), &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--include-property-values"), "{}", text(&refused.stderr));
}

const ALIBABA: &str = "fixtures/alibaba/clean-handmade.json";
const ALIBABA_PLAN: &str = "fixtures/guard/alibaba.plan.json";

#[test]
fn a_plan_for_alibaba_cloud_is_tried_on_its_inventory() {
    let judged = |more: &[&str]| run(&[&["guard", ALIBABA_PLAN, "--inventory", ALIBABA], more].concat());
    let output = judged(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("alibaba", text(&output.stdout));
    let json: Value = serde_json::from_slice(&judged(&["--format", "json"]).stdout).unwrap();
    assert!(schema("guard.schema.json").is_valid(&json), "{json:#}");
    // With cloud routes, the second route table of the VPC matters too.
    let routes: Value = serde_json::from_slice(&judged(&["--cloud-routes", "--format", "json"]).stdout).unwrap();
    let rules: Vec<&str> = routes["new"].as_array().unwrap().iter().filter_map(|one| one["rule"].as_str()).collect();
    assert!(rules.contains(&"ali-route-tables-several"), "{rules:?}");
    let objects = [
        "--kubernetes",
        "fixtures/alibaba/clean-handmade.services.json",
        "--nodes",
        "fixtures/alibaba/clean-handmade.nodes.json",
    ];
    assert_eq!(judged(&objects).status.code(), Some(1));
}

#[test]
fn a_plan_for_the_other_cloud_is_refused() {
    for (plan, inventory, cloud) in [(PLAN, ALIBABA, "Alibaba Cloud"), (ALIBABA_PLAN, "fixtures/demo.json", "AWS")] {
        let refused = run(&["guard", plan, "--inventory", inventory]);
        assert_eq!(refused.status.code(), Some(2));
        let message = format!("the plan changes nothing in {cloud}");
        assert!(text(&refused.stderr).contains(&message), "{}", text(&refused.stderr));
    }
}

const CLUSTER: &str = "fixtures/guard/cluster.yaml";
const RELEASE: &str = "fixtures/guard/release.yaml";

fn applied(more: &[&str]) -> Output {
    run(&[&["guard", "--inventory", "fixtures/demo.json", "--cluster-id", "demo"], more].concat())
}

#[test]
fn objects_of_kubernetes_are_judged_against_those_of_today() {
    let output = applied(&["--kubernetes", CLUSTER, "--manifests", RELEASE]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("manifests", text(&output.stdout));
    // The same objects again change nothing, and neither does a plan without effect.
    let same = applied(&["--kubernetes", CLUSTER, "--manifests", CLUSTER]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stdout));
    let both = applied(&[HARMLESS, "--kubernetes", CLUSTER, "--manifests", RELEASE, "--format", "json"]);
    let json: Value = serde_json::from_slice(&both.stdout).unwrap();
    assert!(schema("guard.schema.json").is_valid(&json), "{json:#}");
    let of_services = json["new"].as_array().unwrap().iter().filter(|one| one["resource"]["kind"] == "service");
    assert!(of_services.into_iter().all(|one| one["address"].as_str().unwrap().starts_with("Service shop/")));
    // An object of another namespace is another object.
    let elsewhere = applied(&["--kubernetes", CLUSTER, "--manifests", CLUSTER, "--namespace", "other"]);
    assert_eq!(elsewhere.status.code(), Some(0), "{}", text(&elsewhere.stdout));
}

#[test]
fn the_last_of_several_documents_and_a_load_balancer_that_ends_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.yaml");
    let service = |kind: &str, subnets: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop, annotations: {{service.beta.kubernetes.io/aws-load-balancer-type: nlb{subnets}}}}}\nspec: {{type: {kind}, ports: [{{name: https, port: 443, nodePort: 30443}}]}}\n---\n"
        )
    };
    let judged = |text: &str| -> (Option<i32>, Value) {
        std::fs::write(&path, text).unwrap();
        let output = applied(&["--kubernetes", CLUSTER, "--manifests", path.to_str().unwrap(), "--format", "json"]);
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    };
    let (good, bad) = (
        service("LoadBalancer", ""),
        service("LoadBalancer", ", service.beta.kubernetes.io/aws-load-balancer-subnets: none"),
    );
    assert_eq!(judged(&(good.clone() + &bad)).0, Some(1));
    assert_eq!(judged(&(bad + &good)).0, Some(0));
    let (code, json) = judged(&service("ClusterIP", ""));
    assert_eq!((code, &json["choices"][0]["what"]), (Some(0), &Value::from("load_balancer")));
    assert!(schema("guard.schema.json").is_valid(&json), "{json:#}");
    // Objects that decide nothing are no error.
    assert_eq!(judged("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n").0, Some(0));
}

#[test]
fn objects_that_a_release_no_longer_has_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("next.yaml");
    std::fs::write(&path, "apiVersion: v1\nkind: Service\nmetadata: {name: other, namespace: shop}\n").unwrap();
    let next = path.to_str().unwrap();
    let arguments = ["--kubernetes", CLUSTER, "--manifests", next, "--manifests-before", CLUSTER, "--format", "json"];
    let output = applied(&arguments);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema("guard.schema.json").is_valid(&json), "{json:#}");
    assert_eq!(json["choices"][0]["what"], "load_balancer", "{json:#}");
    let objects: Vec<&str> = json["objects"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let all = ["DaemonSet kube-system/aws-cloud-controller-manager", "Service shop/other", "Service shop/web"];
    assert_eq!(objects, all);
}

#[test]
fn objects_need_the_state_of_one_cluster() {
    for (arguments, error) in [
        (&["--manifests", RELEASE][..], "--manifests needs the Services"),
        (&[], "required arguments were not provided"),
        (&["-", "--manifests", "-", "--kubernetes", CLUSTER], "cannot both read standard input"),
        (&["--manifests", "-", "--manifests-before", "-", "--kubernetes", CLUSTER], "cannot both read standard input"),
        (&["--manifests-before", RELEASE, "--kubernetes", CLUSTER], "required arguments were not provided"),
    ] {
        let output = applied(arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert!(text(&output.stderr).contains(error), "{}", text(&output.stderr));
    }
}

/// The state of a cluster: its Nodes, and a Service whose annotation names subnets.
fn state(cluster: &str, first: u8, subnets: &str) -> String {
    let node = |number: u8, instance: &str, zone: char| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: ip-10-0-1-{number}.ec2.internal}}\nspec: {{providerID: 'aws:///us-east-1{zone}/{instance}'}}\n---\n"
        )
    };
    let nodes =
        node(first, &format!("i-0{cluster}worker0"), 'a') + &node(first + 2, &format!("i-0{cluster}worker1"), 'b');
    let service = format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop, annotations: {{service.beta.kubernetes.io/aws-load-balancer-type: nlb, service.beta.kubernetes.io/aws-load-balancer-subnets: '{subnets}'}}}}\nspec: {{type: LoadBalancer, ports: [{{port: 443, nodePort: 30443}}]}}\n"
    );
    nodes + &service
}

/// The Nodes of each piece of evidence decide which cluster it is about.
#[test]
fn services_of_all_clusters_of_an_account_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let states = folder.path().join("states");
    std::fs::create_dir(&states).unwrap();
    std::fs::write(states.join("a.yaml"), state("alpha", 11, "subnet-puba0gg1,subnet-pubb0gg1")).unwrap();
    std::fs::write(states.join("b.yaml"), state("bravo", 15, "subnet-pubb0gg1")).unwrap();
    let subnet = serde_json::json!({"id": "subnet-puba0gg1", "vpc_id": "vpc-0gg1", "availability_zone": "us-east-1a", "tags": {}});
    let plan = serde_json::json!({
        "format_version": "1.2", "terraform_version": "1.11.4", "planned_values": {}, "configuration": {},
        "resource_changes": [{
            "address": "aws_subnet.a", "mode": "managed", "type": "aws_subnet", "name": "a",
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {"actions": ["delete"], "before": subnet, "after": null, "after_unknown": {}}
        }]
    });
    let path = folder.path().join("plan.json");
    std::fs::write(&path, plan.to_string()).unwrap();
    let judged = || -> (Option<i32>, Value) {
        let words = ["guard", path.to_str().unwrap(), "--inventory", "fixtures/clean-two-clusters.json"];
        let output = run(&[&words[..], &["--kubernetes", states.to_str().unwrap(), "--format", "json"]].concat());
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    };
    let (code, json) = judged();
    assert_eq!(json["clusters"], serde_json::json!(["alpha", "bravo"]));
    let new = json["new"].as_array().unwrap();
    let of_services: Vec<&Value> = new.iter().filter(|one| one["resource"]["kind"] == "service").collect();
    assert!(code == Some(1) && !of_services.is_empty(), "{json:#}");
    assert!(of_services.iter().all(|one| one["cluster"] == "alpha"), "{json:#}");
    assert_eq!(json["not_audited"], serde_json::json!([]));
    // One cluster is not judged with the state of another.
    let words =
        ["guard", path.to_str().unwrap(), "--inventory", "fixtures/clean-two-clusters.json", "--cluster-id", "alpha"];
    let mixed = run(&[&words[..], &["--kubernetes", states.to_str().unwrap()]].concat());
    assert_eq!(mixed.status.code(), Some(2), "{}", text(&mixed.stdout));
    assert!(text(&mixed.stderr).contains("the state of another cluster: `bravo`"), "{}", text(&mixed.stderr));
    // Evidence about another account is named.
    let elsewhere = state("alpha", 11, "x").replace("i-0alpha", "i-0other").replace("ip-10-0", "ip-10-9");
    std::fs::write(states.join("c.yaml"), elsewhere).unwrap();
    let (_, json) = judged();
    assert!(json["not_audited"][0].as_str().unwrap().contains("c.yaml"), "{json:#}");
}
