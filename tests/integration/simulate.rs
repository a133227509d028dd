//! `tagaudit simulate`: the built binary on an inventory and manifests.

use std::process::Output;

use serde_json::Value;

use super::binary::run;
use super::documents::schema;
use super::fixtures::changed;

const MANIFESTS: &str = "fixtures/simulate/shop.yaml";

fn on_kubeadm(more: &[&str]) -> Output {
    let mut arguments = vec![
        "simulate",
        "--cluster-id",
        "kubeadm",
        "--inventory",
        "fixtures/clean-kubeadm.json",
        "--nodes",
        "fixtures/clean-kubeadm.nodes.json",
    ];
    arguments.extend(more);
    run(&arguments)
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

/// A file that is removed with the folder.
fn manifest(folder: &tempfile::TempDir, content: &str) -> String {
    let path = folder.path().join("manifest.yaml");
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_table_shows_what_each_object_gets() {
    let output = on_kubeadm(&["--controller", "ccm", "--controller-version", "1.33", MANIFESTS]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("table", text(&output.stdout));
    let verbose = on_kubeadm(&["--controller", "lbc", "--verbose", MANIFESTS]);
    assert_eq!(verbose.status.code(), Some(0), "{}", text(&verbose.stderr));
    insta::assert_snapshot!("ignored", text(&verbose.stdout));
}

#[test]
fn every_answer_follows_the_schema() {
    let schema = schema("simulate.schema.json");
    let folder = tempfile::tempdir().unwrap();
    let ingress = manifest(
        &folder,
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: shop, annotations: {kubernetes.io/ingress.class: alb}}\nspec: {defaultBackend: {service: {name: web, port: {name: https}}}}\n",
    );
    for more in [
        vec![MANIFESTS],
        vec![MANIFESTS, &ingress],
        vec!["--controller", "lbc", "--controller-version", "2.9", &ingress],
        vec![],
    ] {
        let output = on_kubeadm(&[more.as_slice(), &["--format", "json"]].concat());
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let errors: Vec<String> =
            schema.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new(), "{json:#}");
    }
}

/// A load balancer that exists keeps what it has.
#[test]
fn load_balancers_that_were_not_read_are_an_assumption() {
    let inventory = changed("clean-kubeadm.json", |inventory| {
        inventory["accounts"][0]["regions"][0].as_object_mut().unwrap().remove("load_balancing");
    });
    let arguments =
        ["simulate", "--cluster-id", "kubeadm", "--inventory", inventory.path().to_str().unwrap(), MANIFESTS];
    assert!(text(&run(&arguments).stdout).contains("assumed  the load balancers of the region were not read"));
    let json = run(&[&arguments[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(schema("simulate.schema.json").is_valid(&json) && json["assumptions"].is_array(), "{json:#}");
    let held = on_kubeadm(&[MANIFESTS, "--format", "json"]);
    assert!(serde_json::from_slice::<Value>(&held.stdout).unwrap().get("assumptions").is_none());
}

#[test]
fn an_upgrade_is_shown_as_what_differs() {
    let older = ["--controller", "ccm", "--controller-version", "1.20"];
    let at =
        |target: &'static str| on_kubeadm(&[older.as_slice(), &["--target-controller", target, MANIFESTS]].concat());
    insta::assert_snapshot!("target", text(&at("1.36").stdout));
    assert!(text(&at("1.20").stdout).contains("at the target (cloud controller 1.20): nothing differs\n"));
    let json =
        on_kubeadm(&[older.as_slice(), &["--target-controller", "1.36", MANIFESTS, "--format", "json"]].concat());
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(schema("simulate.schema.json").is_valid(&json), "{json:#}");
    assert_eq!(on_kubeadm(&["--target-controller", "karpenter=1.3", MANIFESTS]).status.code(), Some(2));
}

#[test]
fn objects_of_the_gateway_api_are_not_modelled_and_never_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = manifest(
        &folder,
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: web, namespace: shop}\nspec: {gatewayClassName: alb}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web}\nspec: {parentRefs: [{name: web}]}\n",
    );
    let output = on_kubeadm(&["--namespace", "shop", &gateway, "--format", "json"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema("simulate.schema.json").is_valid(&json), "{json:#}");
    let name = |kind: &str| serde_json::json!({"kind": kind, "namespace": "shop", "name": "web"});
    assert_eq!(json["not_modelled"], serde_json::json!([name("Gateway"), name("HTTPRoute")]));
    assert_eq!(json["objects"], serde_json::json!([]));
    assert!(text(&on_kubeadm(&[&gateway]).stdout).contains("not modelled Gateway shop/web"));
}

#[test]
fn exit_codes_tell_success_failure_and_what_is_not_known_apart() {
    let folder = tempfile::tempdir().unwrap();
    let service = |name: &str, annotations: &str| {
        let path = folder.path().join(format!("{name}.yaml"));
        let head = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
        let spec = "spec: {type: LoadBalancer, ports: [{port: 80, nodePort: 30080}]}\n";
        std::fs::write(&path, format!("{head}  annotations: {annotations}\n{spec}")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let code = |more: &[&str]| on_kubeadm(more).status.code();
    assert_eq!(code(&["--controller", "ccm", &service("good", "{}")]), Some(0));
    let bad = service("bad", "{service.beta.kubernetes.io/aws-load-balancer-subnets: none-of-them}");
    assert_eq!(code(&["--controller", "ccm", &bad]), Some(1));
    let open = service("open", "{service.beta.kubernetes.io/aws-load-balancer-subnets: subnet-0}");
    assert_eq!(code(&["--controller", "ccm", &open]), Some(3));
}

#[test]
fn wrong_input_is_refused_with_its_reason() {
    let refused = |more: &[&str]| {
        let output = on_kubeadm(more);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    assert!(refused(&["-", "--kubernetes", "-"]).contains("--kubernetes and FILE cannot both read standard input"));
    let folder = tempfile::tempdir().unwrap();
    let other = manifest(&folder, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    assert!(refused(&[&other]).contains("the files hold no Service and no Ingress"));
    assert!(
        refused(&["--controller", "lbc", "--controller-version", "2.4", MANIFESTS])
            .contains("the model of the AWS Load Balancer Controller begins with version 2.5")
    );
    let broken = manifest(&folder, "kind: Service\n  metadata: x\n");
    let message = refused(&[&broken]);
    assert!(message.contains("manifest.yaml") && message.contains("line"), "{message}");
    assert!(refused(&["--controller", "alibaba-ccm", MANIFESTS]).contains("a controller of another cloud"));
    let on_alibaba = |more: &[&str]| text(&on_alibaba(more).stderr);
    assert!(on_alibaba(&["--controller", "lbc"]).contains("a controller of another cloud"));
    assert!(on_alibaba(&["--controller-version", "1.33"]).contains("no version 1.33"));
    assert!(on_alibaba(&["--controller-version", "2.4.0"]).contains("begins with version 2.5.1"));
}

/// A field of the wrong type does not count as absent.
#[test]
fn objects_that_the_api_server_rejects_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let service = |metadata: &str, spec: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n{metadata}spec:\n  type: LoadBalancer\n{spec}"
        )
    };
    let ports = "  ports:\n  - port: 80\n";
    for (text, expected) in [
        (
            service("", "  ports:\n  - port: \"80\"\n"),
            "`spec.ports[0].port` is a string instead of an integer\ncause: ",
        ),
        (
            service("", &format!("  loadBalancerSourceRanges: 10.0.0.0/8\n{ports}")),
            "`spec.loadBalancerSourceRanges` is a string instead of a list",
        ),
        (service("  annotations: [a]\n", ports), "`metadata.annotations` is a list instead of an object"),
        (
            service("  annotations:\n    service.beta.kubernetes.io/aws-load-balancer-internal: true\n", ports),
            "is a boolean instead of a string",
        ),
    ] {
        let output = on_kubeadm(&[&manifest(&folder, &text)]);
        let said = self::text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("the API server rejects Service shop/web: ") && said.contains(expected), "{said}");
        assert!(said.contains("manifest.yaml:"), "{said}");
    }
}

/// Two objects that share the start of their names are not one object.
#[test]
fn objects_without_a_name_cannot_be_applied() {
    let folder = tempfile::tempdir().unwrap();
    for (metadata, document) in [("generateName: web-", "Service web-"), ("namespace: shop", "Service shop/")] {
        let text =
            format!("apiVersion: v1\nkind: Service\nmetadata: {{{metadata}}}\nspec: {{ports: [{{port: 80}}]}}\n");
        let output = on_kubeadm(&[&manifest(&folder, &text)]);
        let said = self::text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = format!("`kubectl apply` rejects {document}: it has no `metadata.name`\ncause: ");
        assert!(said.contains(&expected), "{said}");
    }
}

/// `kubectl apply` takes one document after the other.
#[test]
fn of_two_documents_about_one_object_the_last_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let service = |kind: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: twice}}\nspec: {{type: {kind}, ports: [{{port: 80}}]}}\n"
        )
    };
    let file = manifest(&folder, &format!("{}---\n{}", service("LoadBalancer"), service("ClusterIP")));
    let output = on_kubeadm(&["--format", "json", &file]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let objects = found["objects"].as_array().unwrap();
    assert_eq!((objects.len(), &objects[0]["handled"]), (1, &Value::Bool(false)), "{found}");
    // Files are applied in the order of the command line, whatever their names are.
    let [first, second] = ["z.yaml", "a.yaml"].map(|name| folder.path().join(name));
    std::fs::write(&first, service("LoadBalancer")).unwrap();
    std::fs::write(&second, service("ClusterIP")).unwrap();
    let [first, second] = [&first, &second].map(|file| file.to_str().unwrap());
    for (files, is_handled) in
        [(vec![first, second], false), (vec![second, first], true), (vec![first, second, first], true)]
    {
        let output = on_kubeadm(&[&["--format", "json"], files.as_slice()].concat());
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let objects = found["objects"].as_array().unwrap();
        let handled: Vec<bool> = objects.iter().map(|one| one["handled"] == true).collect();
        assert!(!handled.is_empty() && handled.iter().all(|handled| *handled == is_handled), "{files:?} {found}");
    }
}

fn on_alibaba(more: &[&str]) -> Output {
    let inventory = ["simulate", "--cluster-id", "prod", "--inventory", "fixtures/alibaba/clean-handmade.json"];
    let nodes = ["--nodes", "fixtures/alibaba/clean-handmade.nodes.json"];
    run(&[&inventory[..], &nodes, &["--kubernetes", "fixtures/alibaba/clean-handmade.services.json"], more].concat())
}

/// Services of Alibaba Cloud: a new network load balancer, one without zones, and those of the cluster.
#[test]
fn the_controller_of_alibaba_cloud_is_asked_in_its_accounts() {
    let folder = tempfile::tempdir().unwrap();
    let new = manifest(
        &folder,
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: edge\n  namespace: shop\n  annotations:\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-zone-maps: cn-hangzhou-h:vsw-bp1\nspec: {type: LoadBalancer, loadBalancerClass: alibabacloud.com/nlb, ports: [{port: 443, nodePort: 30444}]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: lost, namespace: shop}\nspec: {type: LoadBalancer, loadBalancerClass: alibabacloud.com/nlb, ports: [{port: 443, nodePort: 30445}]}\n",
    );
    let output = on_alibaba(&["--controller-version", "2.14.0", &new]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("alibaba-new", text(&output.stdout));
    let output = on_alibaba(&["--controller-version", "2.14.0"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    insta::assert_snapshot!("alibaba-cluster", text(&output.stdout));
    let schema = schema("simulate.schema.json");
    for more in
        [vec![new.as_str()], vec![], vec!["--target-controller", "2.14.0", "--controller-version", "2.9.1", &new]]
    {
        let output = on_alibaba(&[&more[..], &["--format", "json"]].concat());
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let errors: Vec<String> =
            schema.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new(), "{json:#}");
    }
    // The role may not create the listeners of one of them.
    let refused = {
        let text = std::fs::read_to_string("fixtures/alibaba/clean-handmade.json").unwrap();
        let path = folder.path().join("inventory.json");
        std::fs::write(&path, text.replace("nlb:*", "nlb:CreateLoadBalancer")).unwrap();
        let path = path.to_str().unwrap().to_owned();
        run(&["simulate", "--cluster-id", "prod", "--inventory", &path, "--controller-version", "2.14.0", &new])
    };
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    let table = text(&refused.stdout);
    assert!(table.contains("refused Service shop/edge") && table.contains("nlb:ListLoadBalancers on *"), "{table}");
    // An ALB is another controller's.
    let ingress = manifest(
        &folder,
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: shop}\nspec: {ingressClassName: alb}\n",
    );
    let output = on_alibaba(&[&ingress]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("the ALB Ingress controller of Alibaba Cloud is not modelled"));
}

#[test]
fn hostile_names_do_not_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: \"a\\e[2Jb\"\n  annotations:\n    service.beta.kubernetes.io/aws-load-balancer-subnets: \"x\\e[31m\"\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n";
    let output = on_kubeadm(&["--controller", "ccm", "--color", "never", &manifest(&folder, service)]);
    assert!(!output.stdout.contains(&0x1b), "{}", text(&output.stdout));
}

/// The steps of an upgrade: what the target version requires comes before it.
#[test]
fn an_upgrade_has_its_steps_in_order() {
    let inventory = changed("clean-kubeadm.json", |inventory| {
        for policy in inventory["accounts"][0]["managed_policies"].as_array_mut().unwrap() {
            let document =
                policy["document"].as_str().unwrap().replace("ec2:DescribeAvailabilityZones", "ec2:DescribeHosts");
            policy["document"] = document.into();
        }
    });
    let base = ["simulate", "--cluster-id", "kubeadm", "--nodes", "fixtures/clean-kubeadm.nodes.json", "--inventory"];
    let at = |more: &[&str]| {
        let output =
            run(&[&base[..], &[inventory.path().to_str().unwrap(), MANIFESTS, "--format", "json"], more].concat());
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(schema("simulate.schema.json").is_valid(&json), "{json:#}");
        json["steps"].clone()
    };
    let steps = at(&["--controller-version", "1.26.0", "--target-controller", "1.36"]);
    assert_eq!(steps[0]["step"], "correct", "{steps:#}");
    assert!(steps[0]["findings"].to_string().contains("ec2:DescribeAvailabilityZones"), "{steps:#}");
    let upgrade = serde_json::json!({"step": "upgrade", "to": ["cloud controller 1.36"]});
    assert_eq!(steps[1], upgrade);
    let newest = at(&["--controller-version", "1.36", "--target-controller", "1.36", "--target-kubernetes", "1.36"]);
    assert_eq!(newest, serde_json::json!([{"step": "upgrade", "to": ["Kubernetes 1.36"]}]));
    assert_eq!(at(&[]), Value::Null);
}
