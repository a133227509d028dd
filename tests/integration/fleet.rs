//! Scans of many clusters with evidence from Kubernetes: each piece goes to the cluster of its Nodes, and to no other.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::binary::command;

const TWO_CLUSTERS: &str = "fixtures/clean-two-clusters.json";

fn fixture() -> PathBuf {
    super::fixtures::path("clean-two-clusters.json")
}

/// Nodes of the instances of a cluster of the fixture, with a Service that no controller accepts.
fn objects(cluster: &str, service: &str) -> Value {
    let inventory: Value = serde_json::from_slice(&std::fs::read(fixture()).unwrap()).unwrap();
    let instances = inventory["accounts"][0]["regions"][0]["instances"].as_array().unwrap().clone();
    let own = instances.iter().filter(|one| one["id"].as_str().unwrap().starts_with(&format!("i-0{cluster}")));
    let nodes = own.map(|instance| {
        let zone = instance["availability_zone"].as_str().unwrap_or("us-east-1a");
        let is_control_plane = instance["id"].as_str().unwrap().contains("controlplane");
        let role = if is_control_plane { "control-plane" } else { "worker" };
        let labels = json!({format!("node-role.kubernetes.io/{role}"): "true"});
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": instance["private_dns_name"], "uid": instance["id"], "labels": labels},
            "spec": {"providerID": format!("aws:///{zone}/{}", instance["id"].as_str().unwrap())},
            "status": {"addresses": [{"type": "InternalIP", "address": instance["private_ip_address"]}]},
        })
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": service, "namespace": "shop", "annotations": {"service.beta.kubernetes.io/aws-load-balancer-type": "NLB"}},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 443}]},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": nodes.chain([service]).collect::<Vec<Value>>()})
}

fn write(folder: &Path, name: &str, value: &Value) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, value.to_string()).unwrap();
    path.display().to_string()
}

fn run(arguments: &[&str]) -> (Option<i32>, Value, String) {
    let output =
        command().current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).args(["--format", "json"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), error)
}

fn all_clusters(arguments: &[&str]) -> (Option<i32>, Value, String) {
    run(&[&["scan", "--no-config", "--all-clusters", "--inventory", TWO_CLUSTERS], arguments].concat())
}

/// The report of a cluster of a set, without the options of its scan.
fn report(set: &Value, cluster: &str) -> Value {
    let reports = set["targets"][0]["reports"].as_array().unwrap_or_else(|| panic!("{set}"));
    let mut report = reports.iter().find(|report| report["cluster_id"] == cluster).unwrap().clone();
    report.as_object_mut().unwrap().remove("options");
    report
}

#[test]
fn each_cluster_of_a_set_is_audited_as_alone() {
    let folder = tempfile::tempdir().unwrap();
    let clusters = folder.path().join("clusters");
    let alpha = write(&clusters, "one.json", &objects("alpha", "web"));
    let bravo = clusters.join("two");
    write(&bravo, "objects.json", &objects("bravo", "api"));
    write(&clusters, ".hidden.json", &json!("left out"));
    let (code, set, error) = all_clusters(&["--kubernetes", clusters.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{error}");
    for (cluster, evidence) in [("alpha", alpha.as_str()), ("bravo", bravo.to_str().unwrap())] {
        let alone = ["scan", "--no-config", "--cluster-id", cluster, "--inventory", TWO_CLUSTERS, "--kubernetes"];
        let (_, mut alone, _) = run(&[&alone[..], &[evidence]].concat());
        alone.as_object_mut().unwrap().remove("options");
        assert_eq!(report(&set, cluster), alone, "{cluster}");
        let found = alone["findings"].to_string();
        let (own, other) = if cluster == "alpha" { ("shop/web", "shop/api") } else { ("shop/api", "shop/web") };
        assert!(found.contains(own) && !found.contains(other), "{found}");
    }
    // Named one by one, in any order, and a recording of one of them: the same.
    let recording = folder.path().join("recording.json");
    let record = ["record", "--inventory", TWO_CLUSTERS, "--kubernetes", &alpha, "-o", recording.to_str().unwrap()];
    assert_eq!(command().current_dir(env!("CARGO_MANIFEST_DIR")).args(record).output().unwrap().status.code(), Some(0));
    let by_name = ["--kubernetes", bravo.to_str().unwrap(), "--kubernetes", recording.to_str().unwrap()];
    // A folder that is named is a folder of clusters.
    let (_, named, error) = all_clusters(&by_name);
    for cluster in ["alpha", "bravo"] {
        let essence = |report: &Value| {
            let findings = report["findings"].as_array().unwrap();
            findings.iter().map(|finding| finding["fingerprint"].clone()).collect::<Vec<Value>>()
        };
        assert_eq!(essence(&report(&named, cluster)), essence(&report(&set, cluster)), "{cluster}: {error}");
    }
    // The recording of the inventory itself is evidence of its cluster, too.
    let (_, joined, _) = run(&["scan", "--no-config", "--all-clusters", "--inventory", recording.to_str().unwrap()]);
    assert_eq!(report(&joined, "alpha")["findings"], report(&named, "alpha")["findings"]);
    let outcome = |set: &Value, cluster: &str| {
        let report = report(set, cluster);
        let rules = report["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["rule"] == "node-name-mismatch").unwrap()["outcome"].clone()
    };
    assert_eq!((outcome(&joined, "alpha"), outcome(&joined, "bravo")), (json!("passed"), json!("not_applicable")));
}

#[test]
fn evidence_of_a_cluster_elsewhere_is_not_audited() {
    let folder = tempfile::tempdir().unwrap();
    let mut elsewhere = objects("alpha", "web");
    for item in elsewhere["items"].as_array_mut().unwrap().iter_mut().filter(|item| item["kind"] == "Node") {
        item["spec"]["providerID"] = "aws:///us-east-1a/i-0123456789abcdef0".into();
    }
    let file = write(folder.path(), "elsewhere.json", &elsewhere);
    let (code, set, _) = all_clusters(&["--kubernetes", &file]);
    assert_eq!((code, &set["complete"]), (Some(3), &json!(false)));
    let entry = &set["not_audited"][0];
    assert_eq!((&entry["what"], &entry["reason"]), (&json!("kubernetes:list"), &json!("OtherAccount")), "{entry}");
    assert_eq!(entry["resource"], file);
    for cluster in ["alpha", "bravo"] {
        assert_eq!(report(&set, cluster)["complete"], true, "the account itself was audited");
    }
    // Nodes of another cloud, and files that cannot be read, stop neither the run nor hide.
    let text = elsewhere.to_string().replace("aws:///us-east-1a/", "gce://project/zone/");
    write(folder.path(), "bravo.json", &objects("bravo", "api"));
    for text in [text.as_str(), "", "{\"kind\": \"List\", \"items\": [}", "{\"kind\": \"List\", \"items\": []}"] {
        std::fs::write(&file, text).unwrap();
        let (code, set, error) = all_clusters(&["--kubernetes", folder.path().to_str().unwrap()]);
        assert_eq!((code, set["not_audited"].as_array().unwrap().len()), (Some(3), 1), "{text}: {error}");
        assert!(report(&set, "bravo")["findings"].to_string().contains("shop/api"), "{text}");
    }
    std::fs::remove_file(folder.path().join("bravo.json")).unwrap();
    // Instances without the tag of a cluster do not tell whose Nodes they are.
    let mut inventory: Value = serde_json::from_slice(&std::fs::read(fixture()).unwrap()).unwrap();
    for instance in inventory["accounts"][0]["regions"][0]["instances"].as_array_mut().unwrap() {
        if instance["id"].as_str().unwrap().starts_with("i-0alpha") {
            instance["tags"] = json!([]);
        }
    }
    let untagged = write(folder.path(), "inventory.json", &inventory);
    let alpha = write(folder.path(), "alpha.json", &objects("alpha", "web"));
    let (code, set, _) =
        run(&["scan", "--no-config", "--all-clusters", "--inventory", &untagged, "--kubernetes", &alpha]);
    assert_eq!((code, &set["complete"]), (Some(1), &json!(false)), "untagged instances are findings, too");
    let entry = &set["targets"][0]["not_audited"][0];
    assert!(entry["message"].as_str().unwrap().contains("without the tag of a cluster"), "{entry}");
}

#[test]
fn what_does_not_name_evidence_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let inventory = std::fs::read(fixture()).unwrap();
    std::fs::write(folder.path().join("inventory.json"), inventory).unwrap();
    for (path, said) in [
        (empty.to_str().unwrap(), "holds no file of a cluster"),
        (folder.path().join("inventory.json").to_str().unwrap(), "an inventory without the lists of a cluster"),
        ("/nonexistent.json", "cannot read"),
    ] {
        let (code, _, error) = all_clusters(&["--kubernetes", path]);
        assert!(code == Some(2) && error.contains(said), "{path}: {code:?} {error}");
    }
    for (text, said) in [
        (r#"[{"account": "111122223333", "kube-context": [""]}]"#, "`kube-context` has an empty name"),
        (r#"[{"account": "111122223333", "kube-context": 1}]"#, "a string, or an array of strings"),
    ] {
        let targets = folder.path().join("targets.json");
        std::fs::write(&targets, text).unwrap();
        let (code, _, error) = run(&["scan", "--no-config", "--targets", targets.to_str().unwrap()]);
        assert!(code == Some(2) && error.contains(said), "{text}: {code:?} {error}");
    }
}

/// Reports of clusters that audit themselves, in a folder.
#[test]
fn a_folder_of_reports_is_joined() {
    let folder = tempfile::tempdir().unwrap();
    let reports = folder.path().join("latest");
    std::fs::create_dir(&reports).unwrap();
    let mut files = Vec::new();
    for cluster in ["alpha", "bravo"] {
        let (_, report, _) = run(&["scan", "--no-config", "--cluster-id", cluster, "--inventory", TWO_CLUSTERS]);
        files.push(write(&reports, &format!("{cluster}.json"), &report));
    }
    write(&reports, "notes.txt", &json!("skipped"));
    write(&reports, ".alpha.json.part", &json!("skipped"));
    let (code, of_folder, error) = run(&["merge", reports.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(of_folder["summary"]["clusters"], 2);
    assert_eq!(run(&["merge", &files[1], &files[0]]).1, of_folder);
    assert_eq!(run(&["merge", reports.to_str().unwrap(), &files[0]]).1, of_folder, "a file twice counts once");
    write(&reports, "broken.json", &json!([]));
    let (code, set, _) = run(&["merge", reports.to_str().unwrap()]);
    assert_eq!((code, &set["not_audited"][0]["what"]), (Some(3), &json!("report")));
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let (code, _, error) = run(&["merge", empty.to_str().unwrap()]);
    assert!(code == Some(2) && error.contains("holds no report"), "{error}");
}

/// Contexts of a kubeconfig, against doubles of two API servers and of AWS.
#[cfg(all(feature = "aws", feature = "kubernetes"))]
mod live {
    use super::super::kubernetes_api::{ApiServer, Fault};
    use super::super::mock::Mock;
    use super::*;
    use tagaudit::internals::inventory::Inventory;

    const ACCOUNT: &str = "111122223333";

    /// A kubeconfig with a context for each server.
    fn kubeconfig(folder: &Path, servers: &[(&str, String)]) -> String {
        let of = |server: &(&str, String)| {
            let (name, url) = server;
            (
                json!({"name": name, "cluster": {"server": url}}),
                json!({"name": name, "context": {"cluster": name, "user": "u"}}),
            )
        };
        let (clusters, contexts): (Vec<Value>, Vec<Value>) = servers.iter().map(of).unzip();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "clusters": clusters, "contexts": contexts,
            "users": [{"name": "u", "user": {}}],
        });
        write(folder, "kubeconfig", &config)
    }

    fn scan(mock: &Mock, kubeconfig: &str, arguments: &[&str]) -> (Option<i32>, Value, String) {
        let output = command()
            .args(["scan", "--no-config", "--format", "json", "--endpoint-url", &mock.url, "--region", "us-east-1"])
            .args(arguments)
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "verysecretkey")
            .env("KUBECONFIG", kubeconfig)
            .output()
            .unwrap();
        assert!(mock.writes().is_empty());
        let error = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), error)
    }

    fn outcome(report: &Value, rule: &str) -> Value {
        let rules = report["rules"].as_array().unwrap();
        rules.iter().find(|one| one["rule"] == rule).unwrap()["outcome"].clone()
    }

    #[test]
    fn contexts_go_to_the_clusters_of_their_nodes() {
        let inventory = Inventory::from_slice("", &std::fs::read(fixture()).unwrap()).unwrap();
        let mock = Mock::serve(&inventory);
        let (alpha, bravo) = (ApiServer::serve(&objects("alpha", "web")), ApiServer::serve(&objects("bravo", "api")));
        let gone = ApiServer::serve(&objects("bravo", "api")).fault("/", Fault::Status(503, "ServiceUnavailable"));
        let folder = tempfile::tempdir().unwrap();
        let servers = [("prod-a", alpha.url()), ("prod-b", bravo.url()), ("dead", gone.url())];
        let config = kubeconfig(folder.path(), &servers);

        for selected in [&["--kube-context", "prod-*"][..], &["--kube-context", "prod-b", "--kube-context", "prod-a"]] {
            let (code, set, error) = scan(&mock, &config, &[&["--all-clusters"], selected].concat());
            assert_eq!(code, Some(0), "{error}");
            for (cluster, service) in [("alpha", "shop/web"), ("bravo", "shop/api")] {
                let report = report(&set, cluster);
                assert_eq!(outcome(&report, "node-name-mismatch"), "passed", "{cluster}");
                assert!(report["findings"].to_string().contains(service), "{cluster}");
            }
        }
        // A target takes its own contexts. One that does not answer is not audited, and nothing else.
        for (contexts, of_bravo) in
            [(json!(["prod-a", "prod-b"]), "passed"), (json!(["prod-a", "dead"]), "not_applicable")]
        {
            let targets =
                write(folder.path(), "targets.json", &json!([{"account": ACCOUNT, "kube-context": contexts}]));
            let (code, set, error) = scan(&mock, &config, &["--targets", &targets, "--timeout", "15"]);
            assert_eq!(code, Some(if of_bravo == "passed" { 0 } else { 3 }), "{error}");
            assert_eq!(outcome(&report(&set, "alpha"), "node-name-mismatch"), "passed");
            assert_eq!(outcome(&report(&set, "bravo"), "node-name-mismatch"), of_bravo);
            let unread = set["targets"][0]["not_audited"].as_array().map_or(0, Vec::len);
            assert_eq!((unread, &set["complete"]), (usize::from(of_bravo != "passed"), &json!(of_bravo == "passed")));
        }
        // With one cluster it is known whose evidence is missing.
        let target = json!([{"account": ACCOUNT, "cluster-ids": ["bravo"], "kube-context": "dead"}]);
        let targets = write(folder.path(), "targets.json", &target);
        let (code, set, _) = scan(&mock, &config, &["--targets", &targets, "--timeout", "15"]);
        assert_eq!(code, Some(3));
        assert_eq!(outcome(&report(&set, "bravo"), "node-name-mismatch"), "not_audited");
        assert_eq!(outcome(&report(&set, "bravo"), "sg-multiple-tagged-on-instance"), "passed");
        // The context of another cluster is rejected.
        let target = json!([{"account": ACCOUNT, "cluster-ids": ["bravo"], "kube-context": "prod-a"}]);
        let targets = write(folder.path(), "targets.json", &target);
        let (code, set, _) = scan(&mock, &config, &["--targets", &targets]);
        assert_eq!(code, Some(3), "{set}");
        let entry = &set["targets"][0]["not_audited"][0];
        assert!(entry["message"].as_str().unwrap().contains("cluster alpha, which is not one"), "{entry}");
        assert_eq!(outcome(&report(&set, "bravo"), "node-name-mismatch"), "not_applicable");
    }

    #[test]
    fn one_cluster_takes_one_context() {
        let inventory = Inventory::from_slice("", &std::fs::read(fixture()).unwrap()).unwrap();
        let mock = Mock::serve(&inventory);
        let alpha = ApiServer::serve(&objects("alpha", "web"));
        let folder = tempfile::tempdir().unwrap();
        let config = kubeconfig(folder.path(), &[("prod-a", alpha.url()), ("prod-b", alpha.url())]);
        let (code, report, error) = scan(&mock, &config, &["--cluster-id", "alpha", "--kube-context", "*-a"]);
        assert_eq!(outcome(&report, "node-name-mismatch"), "passed", "{code:?} {error}");
        let (code, _, error) = scan(&mock, &config, &["--cluster-id", "alpha", "--kube-context", "prod-?"]);
        assert!(code == Some(2) && error.contains("selects 2 contexts"), "{error}");
        for contexts in ["stage-*", "prod-c"] {
            let (code, _, error) = scan(&mock, &config, &["--all-clusters", "--kube-context", contexts]);
            assert!(code == Some(2) && error.contains("help:"), "{error}");
        }
        let (code, _, error) = scan(&mock, "/nonexistent", &["--all-clusters", "--kube-context", "prod-a"]);
        assert!(code == Some(2) && error.contains("cannot read the kubeconfig"), "{error}");
    }
}
