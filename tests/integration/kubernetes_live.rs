//! `--kube-context`: the built binary against a double of the API server, faults included, and the rights that it needs.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tagaudit::internals::inventory::Provider;
use tagaudit::internals::kubernetes::{Evidence, List, RecordedList, Recording, Rights, recorded_text};
use tagaudit::internals::rules::{self, KubernetesContext, RULES, Rule};

use super::binary::command;
use super::kubernetes_api::{ApiServer, Call, Fault};
use super::migration_worlds::{Made, objects, plan};

/// The cluster of most tests: RKE2 behind the switch.
fn cluster() -> Value {
    objects(Made::Rke2, &plan("S6"))
}

/// The same with the controller of Cluster API Provider AWS, a cluster and a machine template of it.
fn management_cluster() -> Value {
    let mut all = cluster();
    let version = "infrastructure.cluster.x-k8s.io/v1beta2";
    let named = |name: &str, namespace: &str| json!({"name": name, "namespace": namespace, "uid": name});
    let container = json!({"name": "manager", "image": "registry.k8s.io/cluster-api-aws/cluster-api-aws-controller:v2.8.1", "args": ["--leader-elect"]});
    let machine = json!({"ami": {"id": "ami-0a"}, "iamInstanceProfile": "nodes", "sshKeyName": "secret", "ignition": {"version": "3.1", "proxy": {"httpProxy": "http://user:secret@proxy"}}});
    let annotations = json!({"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/rke2-server"});
    let account =
        json!({"name": "capa-controller-manager", "namespace": "capa-system", "uid": "s", "annotations": annotations});
    all["items"].as_array_mut().unwrap().extend([
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": named("capa-controller-manager", "capa-system"),
            "spec": {"template": {"spec": {"serviceAccountName": "capa-controller-manager", "containers": [container]}}}}),
        json!({"apiVersion": version, "kind": "AWSCluster", "metadata": named("prod", "clusters"),
            "spec": {"region": "eu-west-1", "network": {"vpc": {"cidrBlock": "10.0.0.0/16"}}, "bastion": {"enabled": true}}}),
        json!({"apiVersion": version, "kind": "AWSMachineTemplate", "metadata": named("prod", "clusters"),
            "spec": {"template": {"spec": machine}}}),
    ]);
    all
}

fn migrate(kubeconfig: &str, arguments: &[&str]) -> Output {
    let words = ["migrate", "--from", "in-tree", "--to", "external", "--kube-context", "test", "--format", "json"];
    command().env("KUBECONFIG", kubeconfig).args(words).args(arguments).output().unwrap()
}

fn asked(server: &ApiServer, arguments: &[&str]) -> (Option<i32>, Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = migrate(&server.kubeconfig(folder.path(), &json!({})), arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), error)
}

fn check<'r>(report: &'r Value, id: &str) -> &'r Value {
    let checks = report["checks"].as_array().unwrap_or_else(|| panic!("{report}"));
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn a_cluster_is_read_page_by_page() {
    for page in [1, 2, usize::MAX] {
        let server = ApiServer::serve(&cluster()).page(page);
        let (code, report, error) = asked(&server, &[]);
        assert_eq!((code, error.as_str()), (Some(3), ""), "AWS was not asked");
        assert_eq!(report["stage"]["id"], "S6", "{report}");
        for id in ["V1", "V4", "V5"] {
            assert_eq!(check(&report, id)["state"], "passed", "{id}");
        }
        let calls = server.calls();
        let of = |path: &str| calls.iter().filter(|call| call.path == path).count();
        assert_eq!(of("/api/v1/nodes"), if page == usize::MAX { 1 } else { 5_usize.div_ceil(page) });
        assert!(calls.iter().all(|call| call.path.ends_with("config") || call.query.starts_with("limit=500")));
        assert!(!calls.iter().any(|call| call.path.contains("secrets") || call.query.contains("watch")), "{calls:?}");
    }
}

/// What is read live is what files of the same objects say.
#[test]
fn a_live_cluster_and_its_files_give_the_same() {
    for made in Made::ALL {
        for stage in ["S0", "S2", "S4", "S7", "X1"] {
            let objects = objects(made, &plan(stage));
            let server = ApiServer::serve(&objects);
            let (_, live, _) = asked(&server, &[]);
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("cluster.json");
            std::fs::write(&file, objects.to_string()).unwrap();
            let words = ["migrate", "--from", "in-tree", "--to", "external", "--format", "json", "--kubernetes"];
            let output = command().args(words).arg(&file).output().unwrap();
            let filed: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!((&live["stage"], &live["next"]), (&filed["stage"], &filed["next"]), "{made:?} {stage}");
        }
    }
}

/// Every right that is printed is needed, and every call is allowed by them.
#[test]
fn the_rights_that_are_printed_are_those_that_are_used() {
    let server = ApiServer::serve(&cluster());
    asked(&server, &[]);
    let printed = command().args(["permissions", "--kubernetes"]).output().unwrap();
    assert_eq!(printed.status.code(), Some(0));
    let evidence = Evidence::parse("rights.yaml", printed.stdout).unwrap();
    let rights = Rights::new(&evidence, "tagaudit", "tagaudit");
    assert!(!rights.has_unknown);
    let mut used: Vec<(String, String, Option<String>)> = server.calls().iter().map(needed).collect();
    assert!(!used.iter().any(|(_, resource, _)| resource.contains("cluster.x-k8s.io")), "its controller does not run");
    let server = ApiServer::serve(&management_cluster());
    asked(&server, &[]);
    used.extend(server.calls().iter().map(needed));
    used.sort();
    used.dedup();
    for (verb, resource, namespace) in &used {
        let (group, name) = resource.split_once('/').unwrap();
        assert!(rights.allows(verb, group, name, namespace.as_deref()), "{verb} {resource} {namespace:?}");
    }
    let mut granted: Vec<(String, String, Option<String>)> = List::ALL
        .into_iter()
        .map(|list| {
            let resource = format!("{}/{}", list.group(), list.resource());
            (list.verb().to_owned(), resource, list.namespace().map(str::to_owned))
        })
        .collect();
    granted.sort();
    assert_eq!(used, granted, "nothing is granted that is not used");
    for (verb, group, name, namespace) in [
        ("get", "", "secrets", Some("kube-system")),
        ("list", "", "secrets", None),
        ("list", "", "pods", Some("default")),
        ("list", "", "configmaps", Some("kube-system")),
        ("update", "", "nodes", None),
        ("watch", "", "nodes", None),
    ] {
        assert!(!rights.allows(verb, group, name, namespace), "{verb} {name}");
    }
    let table = command().args(["permissions", "--kubernetes", "--format", "table"]).output().unwrap();
    insta::assert_snapshot!("rights", String::from_utf8(table.stdout).unwrap());
    let other = command().args(["permissions", "--kubernetes", "--service-account", "audit/reader"]).output().unwrap();
    let evidence = Evidence::parse("rights.yaml", other.stdout).unwrap();
    assert!(Rights::new(&evidence, "audit", "reader").allows("list", "", "nodes", None));
    for wrong in ["reader", "a/B", "a/", "/b", "a.b/c", "a/b/c", "a/-"] {
        let refused = command().args(["permissions", "--kubernetes", "--service-account", wrong]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{wrong}");
    }
}

/// The verb, `GROUP/RESOURCE` and namespace of a call.
fn needed(call: &Call) -> (String, String, Option<String>) {
    let parts: Vec<&str> = call.path.trim_start_matches('/').split('/').collect();
    let (group, rest) = if parts[0] == "apis" { (parts[1], &parts[3..]) } else { ("", &parts[2..]) };
    let (namespace, rest) = if rest[0] == "namespaces" { (Some(rest[1].to_owned()), &rest[2..]) } else { (None, rest) };
    let verb = if rest.len() > 1 { "get" } else { "list" };
    assert_eq!(call.method, "GET");
    (verb.to_owned(), format!("{group}/{}", rest[0]), namespace)
}

/// Objects of Cluster API show what its controller calls, read live as from files, and their recording has nothing else.
#[test]
fn objects_of_cluster_api_are_read_where_its_controller_runs() {
    let objects = management_cluster();
    let server = ApiServer::serve(&objects);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = server.kubeconfig(folder.path(), &json!({}));
    let recorded = folder.path().join("recorded.json");
    let words = ["record", "--inventory", "fixtures/clean-rke2.json", "--kube-context", "test", "-o"];
    let output = command().env("KUBECONFIG", &kubeconfig).args(words).arg(&recorded).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&recorded).unwrap();
    let is_there = |part: &str| text.contains(part);
    assert!(is_there("aws-machine-templates") && is_there("ami-0a"), "{text}");
    assert!(!is_there("sshKeyName") && !is_there("httpProxy") && !is_there("bastion"), "{text}");
    let file = folder.path().join("cluster.json");
    std::fs::write(&file, objects.to_string()).unwrap();
    let roles = |arguments: &[&str]| {
        let words = ["roles", "--cluster-id", "c-m-4x8z2k9q", "--inventory"];
        let output = command().args(words).args(arguments).args(["--format", "json"]).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = found["roles"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["controller"].as_str().unwrap().contains("Cluster API")).unwrap()
    };
    let of_files = roles(&["fixtures/clean-rke2.json", "--kubernetes", file.to_str().unwrap()]);
    assert_eq!(roles(&[recorded.to_str().unwrap()]), of_files);
    assert!(of_files["needed"].as_u64().is_some_and(|needed| needed > 0), "{of_files}");
    // Without the right to read them, what the controller calls is not known, and a gap says so.
    let server = ApiServer::serve(&objects).fault("awsclusters", Fault::Status(403, "Forbidden"));
    let (_, report, _) = asked(&server, &[]);
    assert_eq!(report["not_read"][0]["what"], "kubernetes:list awsclusters.infrastructure.cluster.x-k8s.io");
}

#[test]
fn a_list_of_a_controller_that_is_not_installed_is_no_gap() {
    let server = ApiServer::serve(&cluster())
        .fault("nodepools", Fault::Status(404, "NotFound"))
        .fault("targetgroupbindings", Fault::Body(404, "404 page not found"));
    let (_, report, _) = asked(&server, &[]);
    assert_eq!(report["not_read"], json!([]));
    // Without the right to read it, nothing is known.
    let server = ApiServer::serve(&cluster()).fault("nodepools", Fault::Status(403, "Forbidden"));
    let (_, report, _) = asked(&server, &[]);
    assert_eq!(report["not_read"][0]["what"], "kubernetes:list nodepools.karpenter.sh");
}

#[test]
fn a_list_that_is_denied_is_a_gap() {
    let server = ApiServer::serve(&cluster()).fault("services", Fault::Status(403, "Forbidden"));
    let (code, report, _) = asked(&server, &[]);
    assert_eq!((code, &report["stage"]["id"]), (Some(3), &json!("S6")));
    assert_eq!(check(&report, "V4")["state"], "not_audited");
    assert_eq!(report["not_read"][0]["what"], "kubernetes:list services");
    // Whether the controller runs is not known without the list of what runs it.
    let server = ApiServer::serve(&cluster()).fault("daemonsets", Fault::Status(403, "Forbidden"));
    let (code, report, _) = asked(&server, &[]);
    assert_eq!((code, &report["stage"]), (Some(4), &Value::Null), "{report}");
}

#[test]
fn what_passes_is_waited_for() {
    for (fault, calls) in [
        (Fault::Throttle("0"), &[1, 2][..]),
        (Fault::Throttle("1"), &[1]),
        (Fault::Status(503, "ServiceUnavailable"), &[1]),
        (Fault::Status(500, "InternalError"), &[1]),
        (Fault::Drop, &[1, 2]),
        (Fault::Cut, &[1]),
        (Fault::Body(502, "<html>Bad Gateway</html>"), &[1, 2]),
    ] {
        let server = ApiServer::serve(&cluster()).page(2).fault_on("/nodes", calls, fault.clone());
        let (code, report, error) = asked(&server, &[]);
        assert_eq!((code, &report["stage"]["id"]), (Some(3), &json!("S6")), "{fault:?} {error}");
    }
}

#[test]
fn pages_that_have_expired_are_read_anew_from_the_first() {
    for reason in ["Expired", "Gone", ""] {
        let server = ApiServer::serve(&cluster()).page(2).fault_on("/nodes", &[3], Fault::Status(410, reason));
        let (_, report, _) = asked(&server, &[]);
        assert_eq!(report["stage"]["id"], "S6", "{reason}");
        let calls: Vec<Call> = server.calls().into_iter().filter(|call| call.path.ends_with("/nodes")).collect();
        assert_eq!(calls.len(), 6, "two pages, the one that is gone, and all three again");
        assert!(!calls[3].query.contains("continue"), "{calls:?}");
        let signals = report["signals"].to_string();
        assert!(signals.contains("and 2 more"), "no Node twice: {signals}");
    }
    let server = ApiServer::serve(&cluster()).page(2).fault("/nodes", Fault::Status(410, "Expired"));
    let (code, report, _) = asked(&server, &[]);
    assert_eq!((code, &report["stage"]), (Some(4), &Value::Null));
}

#[test]
fn what_is_no_list_is_a_gap() {
    for fault in [
        Fault::Body(200, "<html>Sign in</html>"),
        Fault::Body(200, "{\"kind\": \"Status\"}"),
        Fault::Body(200, "{\"kind\": \"PodList\", \"items\": []}"),
        Fault::Body(200, "{\"kind\": \"ServiceList\", \"items\": [1, 2]}"),
        Fault::Body(200, "{\"kind\": \"ServiceList\", \"items\": [null, {}]}"),
        Fault::Body(200, "{\"kind\": \"ServiceList\"}"),
        Fault::Body(200, ""),
        Fault::RepeatedToken,
        Fault::Cut,
        Fault::Status(404, "NotFound"),
    ] {
        let server = ApiServer::serve(&cluster()).fault("/services", fault.clone());
        let (code, report, error) = asked(&server, &[]);
        assert_eq!(code, Some(3), "{fault:?}: {error}");
        assert_eq!(check(&report, "V4")["state"], "not_audited", "{fault:?}");
    }
    let server = ApiServer::serve(&cluster()).fault("statefulsets", Fault::Null);
    assert_eq!(asked(&server, &[]).1["stage"]["id"], "S6", "a list may be null");
}

#[test]
fn a_cluster_that_does_not_answer_is_given_up() {
    let server = ApiServer::serve(&cluster()).fault("/services", Fault::Hang);
    let (code, report, _) = asked(&server, &["--timeout", "2"]);
    assert_eq!((code, &report["stage"]["id"]), (Some(3), &json!("S6")));
    assert_eq!(check(&report, "V4")["state"], "not_audited");
}

fn scan(kubeconfig: &str, arguments: &[&str]) -> (Option<i32>, Value, String) {
    let words = ["scan", "--cluster-id", "c-m-4x8z2k9q", "--inventory", "fixtures/clean-rke2.json", "--format", "json"];
    let output = command()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("KUBECONFIG", kubeconfig)
        .args(words)
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), error)
}

/// The Nodes of the fixture, as the API has them.
fn nodes_of_fixture() -> Value {
    let path = super::fixtures::path("clean-rke2.nodes.json");
    let mut objects: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for item in objects["items"].as_array_mut().unwrap() {
        item["apiVersion"] = "v1".into();
        item["kind"] = "Node".into();
    }
    objects
}

#[test]
fn a_scan_joins_the_cluster_with_the_account() {
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::serve(&nodes_of_fixture());
    let (code, report, error) = scan(&server.kubeconfig(folder.path(), &json!({})), &["--kube-context", "test"]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{report}");
    let outcome = |report: &Value, id: &str| {
        let rules = report["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["rule"] == id).unwrap()["outcome"].clone()
    };
    assert_eq!(outcome(&report, "node-name-mismatch"), "passed");
    // The same without the Nodes: nothing that looks at them is said to be right.
    let server = ApiServer::serve(&nodes_of_fixture()).fault("/nodes", Fault::Status(403, "Forbidden"));
    let (code, report, _) = scan(&server.kubeconfig(folder.path(), &json!({})), &["--kube-context", "test"]);
    assert_eq!((code, &report["complete"]), (Some(3), &json!(false)));
    for id in ["node-name-mismatch", "node-provider-id-invalid", "in-tree-cloud-provider"] {
        assert_eq!(outcome(&report, id), "not_audited", "{id}");
    }
    let gap = &report["not_audited"][0];
    assert_eq!((&gap["what"], &gap["reason"]), (&json!("kubernetes:list nodes"), &json!("Forbidden")), "{report}");
}

#[test]
fn who_is_not_known_or_not_there_hides_everything() {
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::serve(&nodes_of_fixture()).token("right");
    let wrong = server.kubeconfig(folder.path(), &json!({"token": "t0k3n-of-nobody"}));
    let (code, report, _) = scan(&wrong, &["--kube-context", "test"]);
    assert_eq!((code, report["not_audited"].as_array().unwrap().len()), (Some(3), 1), "{report}");
    let gap = &report["not_audited"][0];
    assert_eq!((&gap["what"], &gap["reason"]), (&json!("kubernetes:list"), &json!("Unauthorized")));
    assert!(!report.to_string().contains("t0k3n"), "no credential is told");
    let kubeconfig = server.kubeconfig(folder.path(), &json!({"token": "right"}));
    assert_eq!(scan(&kubeconfig, &["--kube-context", "test"]).0, Some(0));
    drop(server);
    let (code, report, _) = scan(&kubeconfig, &["--kube-context", "test"]);
    assert_eq!((code, &report["not_audited"][0]["reason"]), (Some(3), &json!("Unreachable")), "{report}");
}

#[test]
fn plugins_of_the_kubeconfig_say_who_asks() {
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::serve(&nodes_of_fixture()).token("of-the-plugin");
    let credential = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "of-the-plugin"}});
    let exec = |command: &str, args: &Value| json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": args, "interactiveMode": "Never"}});
    let kubeconfig = server.kubeconfig(folder.path(), &exec("/bin/echo", &json!([credential.to_string()])));
    assert_eq!(scan(&kubeconfig, &["--kube-context", "test"]).0, Some(0));
    let kubeconfig = server.kubeconfig(folder.path(), &exec("/bin/false", &json!([])));
    let (code, report, error) = scan(&kubeconfig, &["--kube-context", "test"]);
    let told = format!("{report}{error}");
    assert!(matches!(code, Some(2 | 3)) && told.contains("its plugin ended with"), "{code:?} {told}");
}

#[test]
fn plugins_tell_no_credentials_and_are_not_waited_for_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::serve(&nodes_of_fixture());
    let script = |text: &str| json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": ["-c", text], "env": [{"name": "CLIENT_SECRET", "value": "leak1"}], "interactiveMode": "Never"}});
    for text in ["echo '{\"token\": \"leak2\"}'; exit 1", "echo leak3 leak4", "echo '{\"status\": {\"token\": \"leak5"]
    {
        let kubeconfig = server.kubeconfig(folder.path(), &script(text));
        let (code, report, error) = scan(&kubeconfig, &["--kube-context", "test"]);
        let told = format!("{report}{error}");
        assert!(!told.contains("leak"), "{text}: {told}");
        assert!(matches!(code, Some(2 | 3)) && told.contains("plugin"), "{text}: {told}");
    }
    let kubeconfig = server.kubeconfig(folder.path(), &script("exec sleep 20"));
    let (code, _, error) = scan(&kubeconfig, &["--kube-context", "test", "--timeout", "2"]);
    assert!(code == Some(4) && error.contains("did not end within 2 seconds"), "{code:?} {error}");
}

#[test]
fn of_several_kubeconfigs_those_that_are_there_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::serve(&nodes_of_fixture()).keeping_answers();
    let kubeconfig = server.kubeconfig(folder.path(), &json!({}));
    for several in [format!("/nonexistent:{kubeconfig}"), format!("{kubeconfig}:/nonexistent")] {
        assert_eq!(scan(&several, &["--kube-context", "test"]).0, Some(0), "{several}");
    }
}

#[test]
fn contexts_are_those_of_the_kubeconfig() {
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::serve(&nodes_of_fixture());
    let kubeconfig = server.kubeconfig(folder.path(), &json!({}));
    let (code, _, error) = scan(&kubeconfig, &["--kube-context", "tset"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("no context `tset`") && error.contains("did you mean `test`?"), "{error}");
    let (code, _, error) = scan("/nonexistent/config", &["--kube-context", "test"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("kubeconfig") && error.contains("help:"), "{error}");
    let (code, _, error) = scan(&kubeconfig, &["--kube-context", "in-cluster"]);
    assert!(code == Some(2) && error.contains("service account of this pod"), "{error}");
    std::fs::write(folder.path().join("broken"), "clusters: [").unwrap();
    let broken = folder.path().join("broken").display().to_string();
    let (code, _, error) = scan(&broken, &["--kube-context", "test"]);
    assert!(code == Some(2) && error.contains("cannot read the kubeconfig"), "{error}");
    let far = std::fs::read_to_string(&kubeconfig).unwrap().replace("http://127.0.0.1", "http://203.0.113.7");
    std::fs::write(&kubeconfig, far).unwrap();
    let (code, _, error) = scan(&kubeconfig, &["--kube-context", "test"]);
    assert!(code == Some(2) && error.contains("unencrypted"), "{error}");
}

#[test]
fn a_recording_holds_the_cluster_and_none_of_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let mut objects = nodes_of_fixture();
    let items = objects["items"].as_array_mut().unwrap();
    items[0]["metadata"]["annotations"]["example.com/password"] = "hunter2".into();
    items.push(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app", "namespace": "shop", "uid": "1"}, "spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:1", "args": ["--db=hunter2"], "env": [{"name": "DB", "value": "hunter2"}]}]}}}}));
    items.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cloud-config", "namespace": "kube-system"}, "data": {"cloud-config.conf": "{\"Global\": {\"accessKeySecret\": \"hunter2\"}}"}}));
    let server = ApiServer::serve(&objects).fault("leases", Fault::Status(403, "Forbidden"));
    let kubeconfig = server.kubeconfig(folder.path(), &json!({}));
    let file = folder.path().join("inventory.json");
    let record = command()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("KUBECONFIG", &kubeconfig)
        .args(["record", "--inventory", "fixtures/clean-rke2.json", "--kube-context", "test", "-o"])
        .arg(&file)
        .output()
        .unwrap();
    let error = String::from_utf8(record.stderr).unwrap();
    assert_eq!(record.status.code(), Some(3), "{error}");
    assert!(error.contains("warning: not read: kubernetes:list leases.coordination.k8s.io"), "{error}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("hunter2") && text.contains("accessKeySecret"), "keys stay, values do not");
    let recorded: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(recorded["kubernetes"]["read_at"], "2026-01-05T10:00:05Z");
    // The same report as live, without the cluster.
    let of_live = scan(&kubeconfig, &["--kube-context", "test"]);
    drop(server);
    let words = ["scan", "--cluster-id", "c-m-4x8z2k9q", "--format", "json", "--inventory"];
    let again = command().args(words).arg(&file).output().unwrap();
    let report: Value = serde_json::from_slice(&again.stdout).unwrap();
    for part in ["findings", "not_audited", "rules", "complete"] {
        assert_eq!(report[part], of_live.1[part], "{part}");
    }
    // One rule looks at leases, and nothing else is missing.
    assert_eq!((again.status.code(), of_live.0), (Some(3), Some(3)));
    assert_eq!(report["not_audited"].as_array().unwrap().len(), 1);
    assert_eq!(report["not_audited"][0]["rules"], json!(["controller-lease-stale"]));
}

/// Findings, without the places that a file has.
fn findings(evidence: &Evidence) -> Vec<String> {
    let selected: Vec<&'static Rule> = RULES.iter().copied().filter(|rule| rule.is_on_evidence()).collect();
    let context = KubernetesContext {
        cluster_id: "c",
        evidence,
        cloud: Some(Provider::Aws),
        controller_version: None,
        alibaba_routes: false,
        alibaba: None,
    };
    let all = rules::run(&context, &selected);
    let mut found: Vec<String> = all.findings.iter().map(|one| format!("{} {}", one.rule, one.message)).collect();
    found.sort();
    found
}

/// What is left out of a recording is nothing that a rule looks at.
#[test]
fn a_recording_says_what_the_objects_say() {
    let mut compared = 0;
    let folders = ["broken", "clean", "migration/rke2", "migration/rke", "migration/kubeadm"];
    let files = folders.iter().flat_map(|folder| {
        let folder = super::fixtures::path("kubernetes").join(folder);
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())
    });
    for file in
        files.filter(|file| file.extension().is_some_and(|extension| extension == "json" || extension == "yaml"))
    {
        let Some(items) = items(&file) else { continue };
        let lists = List::ALL.into_iter().filter_map(|list| {
            let (version, kind) = list.kind();
            let of_list = items.iter().filter(|item| item["apiVersion"] == version && item["kind"] == kind);
            let items: Vec<Value> =
                of_list.filter_map(|item| recorded_text(list, &item.to_string()).unwrap()).collect();
            (!items.is_empty()).then_some(RecordedList { list, items })
        });
        let recording = Recording { lists: lists.collect(), ..Recording::default() };
        let known: Vec<Value> = items
            .iter()
            .filter(|item| {
                List::ALL.iter().any(|list| list.kind() == (text(item, "apiVersion"), text(item, "kind").as_str()))
            })
            .cloned()
            .collect();
        if known.is_empty() {
            continue;
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": known});
        let whole = Evidence::parse("f", list.to_string().into_bytes()).unwrap();
        let expected = findings(&whole);
        compared += expected.len();
        assert_eq!(findings(&recording.evidence()), expected, "{}", file.display());
    }
    assert!(compared > 50, "{compared}");
}

fn text(item: &Value, key: &str) -> String {
    item[key].as_str().unwrap_or_default().to_owned()
}

/// The objects of a file.
fn items(file: &Path) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(file).unwrap();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).ok()?;
    Some(
        documents
            .into_iter()
            .flat_map(|document| match document["items"].as_array() {
                Some(items) => items.clone(),
                None => vec![document],
            })
            .filter(|item| item["kind"].is_string())
            .collect(),
    )
}

/// A Pod is read by name, with its claims and the events about both, within the rights that are printed.
#[test]
fn a_pod_is_read_by_name() {
    let text = std::fs::read_to_string("fixtures/why/pods.yaml").unwrap();
    let pods: Value = serde_saphyr::from_str(&text).unwrap();
    let mut all = cluster();
    all["items"].as_array_mut().unwrap().extend(pods["items"].as_array().unwrap().clone());
    let server = ApiServer::serve(&all);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = server.kubeconfig(folder.path(), &json!({}));
    let why = |name: &str| {
        let words = ["why", "pod", name, "--cluster-id", "c-m-4x8z2k9q", "--inventory", "fixtures/clean-rke2.json"];
        let more = ["--kube-context", "test", "--format", "json"];
        command().env("KUBECONFIG", &kubeconfig).args(words).args(more).output().unwrap()
    };
    let before = server.calls().len();
    let output = why("shop/volume");
    let chain: Value = serde_json::from_slice(&output.stdout).unwrap();
    let shown = chain.to_string();
    assert!(shown.contains("FailedAttachVolume") && shown.contains("bound to `pvc-1`"), "{chain:#}");
    let printed = command().args(["permissions", "--kubernetes", "--why"]).output().unwrap().stdout;
    let printed = Evidence::parse("rights.yaml", printed).unwrap();
    let rights = Rights::new(&printed, "tagaudit", "tagaudit");
    let calls: Vec<Call> = server.calls().into_iter().skip(before).collect();
    for (verb, resource, namespace) in calls.iter().map(needed) {
        let (group, name) = resource.split_once('/').unwrap();
        assert!(rights.allows(&verb, group, name, namespace.as_deref()), "{verb} {resource} {namespace:?}");
    }
    let of_shop: Vec<&str> =
        calls.iter().filter_map(|call| call.path.strip_prefix("/api/v1/namespaces/shop/")).collect();
    let mut of_shop = of_shop;
    of_shop.sort_unstable();
    assert_eq!(of_shop, ["events", "events", "persistentvolumeclaims/data-volume", "pods/volume"]);
    let missing = why("shop/none");
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no Pod `shop/none`"));
}

#[test]
fn a_service_is_explained_with_its_endpoints() {
    let mut all = cluster();
    all["items"].as_array_mut().unwrap().push(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [],
        "metadata": {"name": "web-1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}},
    }));
    let server = ApiServer::serve(&all);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = server.kubeconfig(folder.path(), &json!({}));
    let words =
        ["why", "service", "shop/web", "--cluster-id", "c-m-4x8z2k9q", "--inventory", "fixtures/clean-rke2.json"];
    command().env("KUBECONFIG", kubeconfig).args(words).args(["--kube-context", "test"]).output().unwrap();
    let printed = command().args(["permissions", "--kubernetes", "--why"]).output().unwrap().stdout;
    let printed = Evidence::parse("rights.yaml", printed).unwrap();
    let rights = Rights::new(&printed, "tagaudit", "tagaudit");
    let calls = server.calls();
    let of_slices: Vec<&Call> = calls.iter().filter(|call| call.path.ends_with("/endpointslices")).collect();
    assert_eq!(of_slices.len(), 1);
    let (verb, resource, namespace) = needed(of_slices[0]);
    assert_eq!(resource, "discovery.k8s.io/endpointslices");
    assert!(rights.allows(&verb, "discovery.k8s.io", "endpointslices", namespace.as_deref()));
}

#[test]
fn a_pod_that_may_not_be_read_is_not_audited() {
    let server = ApiServer::serve(&cluster()).fault("/pods/web", Fault::Status(403, "Forbidden"));
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = server.kubeconfig(folder.path(), &json!({}));
    let words = ["why", "pod", "shop/web", "--cluster-id", "c-m-4x8z2k9q", "--inventory", "fixtures/clean-rke2.json"];
    let output = command().env("KUBECONFIG", kubeconfig).args(words).args(["--kube-context", "test"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("the Pod was not read: Forbidden") && error.contains("permissions --kubernetes --why"),
        "{error}"
    );
}
