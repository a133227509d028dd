//! `tagaudit migrate`: the stage of each fixture, what it says to do, and its exit codes.

use std::path::PathBuf;

use serde_json::Value;
use tagaudit::internals::kubernetes::Evidence;
use tagaudit::internals::migration::{Judged, Migration, Stage, State};
use tagaudit::internals::rules::{self, KubernetesContext, RULES, Rule};

use super::binary::run;
use super::documents::schema;
use super::migration_worlds::{Made, configuration, controller, objects, plan, workload};

fn folder() -> PathBuf {
    super::fixtures::path("kubernetes").join("migration")
}

/// The files of a cluster at a stage.
fn files(made: Made, stage: &str) -> Vec<(PathBuf, String)> {
    let plan = plan(stage);
    let path = |name: String| folder().join(made.name()).join(name);
    let mut files = vec![(path(format!("{stage}.json")), format!("{:#}\n", objects(made, &plan)))];
    files.extend(configuration(made, &plan).map(|text| (path(format!("{stage}.cluster.yml")), text)));
    files
}

/// `UPDATE_FIXTURES=1 cargo test fixtures` rewrites what this compares.
#[test]
fn migration_fixtures_are_the_clusters_of_the_tests() {
    #[expect(clippy::disallowed_methods, reason = "a switch for developers")]
    let update = std::env::var_os("UPDATE_FIXTURES").is_some();
    for made in Made::ALL {
        for stage in Stage::ALL {
            for (path, text) in files(made, stage.told().id) {
                if update {
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(&path, &text).unwrap();
                }
                let found = std::fs::read_to_string(&path).unwrap_or_default();
                assert!(found == text, "{}: run UPDATE_FIXTURES=1 cargo test fixtures", path.display());
            }
        }
    }
}

fn assessed(evidence: &Evidence) -> Migration {
    let selected: Vec<&'static Rule> = RULES.iter().copied().filter(|rule| rule.is_on_evidence()).collect();
    let context = KubernetesContext {
        cluster_id: "cluster",
        evidence,
        cloud: Some(tagaudit::internals::inventory::Provider::Aws),
        controller_version: None,
        alibaba_routes: false,
        alibaba: None,
    };
    let outcomes = rules::run(&context, &selected);
    let judged = Judged { findings: &outcomes.findings, rules: &outcomes.rules, has_cloud: false };
    Migration::assess(evidence, judged)
}

fn of(objects: &Value, configuration: Option<&str>) -> Migration {
    let mut evidence = Evidence::parse("objects.json", objects.to_string().into_bytes()).unwrap();
    if let Some(text) = configuration {
        evidence = evidence.and(Evidence::parse("cluster.yml", text.as_bytes().to_vec()).unwrap());
    }
    assessed(&evidence)
}

fn at(made: Made, stage: &str) -> Migration {
    let plan = plan(stage);
    of(&objects(made, &plan), configuration(made, &plan).as_deref())
}

fn state(migration: &Migration, id: &str) -> State {
    migration.checks.iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no {id}")).state
}

#[test]
fn every_stage_is_told_for_every_distribution() {
    for made in Made::ALL {
        for stage in Stage::ALL {
            let found = at(made, stage.told().id);
            assert_eq!(found.stage, Ok(stage), "{made:?} {:#?}", found.signals);
            assert!(!found.next.is_empty(), "{made:?} {stage}");
        }
    }
}

#[test]
fn the_next_step_of_every_stage_on_every_distribution() {
    for made in Made::ALL {
        let mut page = Vec::new();
        for stage in Stage::ALL {
            let options = tagaudit::internals::render::TableOptions::plain(100);
            tagaudit::internals::render::migration(&at(made, stage.told().id), &options, &mut page).unwrap();
            page.extend_from_slice(b"\n----\n\n");
        }
        insta::assert_snapshot!(format!("migration-{}", made.name()), String::from_utf8(page).unwrap());
    }
}

#[test]
fn signals_that_are_missing_leave_the_stage_open() {
    let mut objects = objects(Made::Kubeadm, &plan("S3"));
    let items = objects["items"].as_array_mut().unwrap();
    items.retain(|item| item["kind"] != "Pod");
    let found = of(&objects, None);
    assert!(found.stage.unwrap_err().contains("kube-controller-manager"), "{:?}", found.stage);
    assert!(found.next.is_empty() && !found.is_complete() && !found.has_failed());
}

/// Neighbours of the fixtures: one thing changed, and the stage that it makes.
#[test]
fn one_change_makes_another_stage() {
    let changed = |stage: &str, change: &dyn Fn(&mut Vec<Value>)| {
        let mut objects = objects(Made::Kubeadm, &plan(stage));
        change(objects["items"].as_array_mut().unwrap());
        of(&objects, None).stage
    };
    let on_controller = |items: &mut Vec<Value>, change: &dyn Fn(&mut Value)| {
        let is_one = |item: &&mut Value| {
            item["metadata"]["name"] == "aws-cloud-controller-manager" && item["kind"] == "DaemonSet"
        };
        change(items.iter_mut().find(is_one).unwrap());
    };
    let args = |set: &mut Value, argument: &str| {
        set["spec"]["template"]["spec"]["containers"][0]["args"].as_array_mut().unwrap().push(argument.into());
    };
    // A controller that is stopped, or that leaves the work, owns nothing.
    let stopped =
        |set: &mut Value| set["spec"]["template"]["spec"]["nodeSelector"]["tagaudit.invalid/stopped"] = "true".into();
    assert_eq!(changed("X1", &|items| on_controller(items, &stopped)), Ok(Stage::StorageReady));
    let left = |set: &mut Value| args(set, "--controllers=*,-service,-route,-cloud-node-lifecycle");
    assert_eq!(changed("X1", &|items| on_controller(items, &left)), Ok(Stage::StorageReady));
    let half = |set: &mut Value| args(set, "--controllers=*,-route,-cloud-node-lifecycle");
    assert_eq!(changed("X1", &|items| on_controller(items, &half)), Ok(Stage::DoubleOwnership));
    // Without the flag it does not wait for the lock.
    let off = |set: &mut Value| args(set, "--enable-leader-migration=false");
    assert_eq!(changed("S3", &|items| on_controller(items, &off)), Ok(Stage::DoubleOwnership));
    assert_eq!(changed("S5", &|items| on_controller(items, &off)), Ok(Stage::External));
    // The controller is gone.
    let gone = |items: &mut Vec<Value>| items.retain(|item| item["metadata"]["name"] != "aws-cloud-controller-manager");
    assert_eq!(changed("S6", &gone), Ok(Stage::NotInitialised));
    assert_eq!(changed("S3", &gone), Ok(Stage::MigrationOn));
    // A Node that waits is late after five minutes.
    let taint = |created: &'static str| {
        move |items: &mut Vec<Value>| {
            let node = items.iter_mut().find(|item| item["kind"] == "Node").unwrap();
            node["metadata"]["creationTimestamp"] = created.into();
            node["spec"] = serde_json::json!({"taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}]});
        }
    };
    assert_eq!(changed("S6", &taint("2026-01-05T09:56:00Z")), Ok(Stage::External));
    assert_eq!(changed("S6", &taint("2026-01-05T09:54:00Z")), Ok(Stage::NotInitialised));
    // The id of another controller cannot be changed.
    let stub = |items: &mut Vec<Value>| {
        items.iter_mut().find(|item| item["kind"] == "Node").unwrap()["spec"]["providerID"] = "rke2://a".into();
    };
    assert_eq!(changed("S6", &stub), Ok(Stage::NotInitialised));
}

#[test]
fn one_control_plane_makes_a_pause_instead_of_a_lock() {
    let mut objects = objects(Made::Kubeadm, &plan("S1"));
    let items = objects["items"].as_array_mut().unwrap();
    let is_other = |item: &Value| {
        let name = item["metadata"]["name"].as_str().unwrap();
        name.contains("10-0-1-12") || name.contains("10-0-1-13")
    };
    items.retain(|item| !is_other(item));
    let found = of(&objects, None);
    assert_eq!(found.stage, Ok(Stage::StorageReady));
    let text: String = found.next.iter().map(|step| step.title.clone()).collect();
    assert!(text.contains("load balancers are not changed") && !text.contains("the lock"), "{text}");
}

#[test]
fn the_lock_has_to_be_held_before_the_controller_comes() {
    for (holder, expected) in
        [("ip-10-0-1-11_0b8f2a36-6a4f-4c1c-9d0e-1f2a3b4c5d6e", "install"), ("", "let"), ("x", "let")]
    {
        let mut objects = objects(Made::Rke2, &plan("S2"));
        for item in objects["items"].as_array_mut().unwrap() {
            if item["metadata"]["name"] == "cloud-provider-extraction-migration" {
                item["spec"]["holderIdentity"] = holder.into();
            }
        }
        let found = of(&objects, None);
        assert_eq!(found.stage, Ok(Stage::MigrationOn));
        let last = &found.next.last().unwrap().title;
        assert!(last.starts_with(expected), "{holder}: {last}");
    }
}

/// The titles of what is to be done, one a line, and all texts to apply.
fn advice(migration: &Migration) -> (String, String) {
    let titles: Vec<&str> = migration.next.iter().map(|step| step.title.as_str()).collect();
    let titles = titles.join("\n");
    let texts = migration.next.iter().flat_map(|step| &step.snippets).map(|snippet| snippet.text.clone()).collect();
    (titles, texts)
}

/// A cluster at a stage, with its items changed.
fn changed(made: Made, stage: &str, change: &dyn Fn(&mut Vec<Value>)) -> Migration {
    let plan = plan(stage);
    let mut objects = objects(made, &plan);
    change(objects["items"].as_array_mut().unwrap());
    of(&objects, configuration(made, &plan).as_deref())
}

fn nodes(items: &mut [Value]) -> impl Iterator<Item = &mut Value> {
    items.iter_mut().filter(|item| item["kind"] == "Node")
}

#[test]
fn clusters_of_others_are_told_nothing_to_do() {
    let with_id = |id: &'static str| {
        move |items: &mut Vec<Value>| nodes(items).for_each(|node| node["spec"]["providerID"] = id.into())
    };
    let eks = |items: &mut Vec<Value>| {
        nodes(items).for_each(|node| node["status"]["nodeInfo"]["kubeletVersion"] = "v1.29.6-eks-1552ad0".into());
    };
    let alibaba = |items: &mut Vec<Value>| {
        let image = "registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.14.0";
        items.push(workload("DaemonSet", "cloud-controller-manager", image));
    };
    for stage in ["S1", "S6", "S7"] {
        for change in [&with_id("cn-hangzhou.i-1") as &dyn Fn(&mut Vec<Value>), &with_id("vsphere://1"), &eks, &alibaba]
        {
            let found = changed(Made::Rke2, stage, change);
            assert!(found.stage.is_err() && found.next.is_empty(), "{stage}: {:?}", found.stage);
        }
    }
    // A machine elsewhere beside those of AWS is left alone.
    let hybrid = |items: &mut Vec<Value>| nodes(items).last().unwrap()["spec"]["providerID"] = "vsphere://1".into();
    assert_eq!(changed(Made::Rke2, "S6", &hybrid).stage, Ok(Stage::External));
}

#[test]
fn a_controller_that_may_be_hidden_leaves_the_stage_open() {
    let hidden =
        |items: &mut Vec<Value>| items.retain(|item| item["kind"] != "DaemonSet" && item["kind"] != "Deployment");
    for stage in ["S1", "S2", "S3", "X1", "S6"] {
        assert!(changed(Made::Rke2, stage, &hidden).stage.is_err(), "{stage}");
    }
}

#[test]
fn kubelets_that_no_list_shows_come_before_the_upgrade() {
    for stage in ["S4", "S5", "S6"] {
        let found = at(Made::Kubeadm, stage);
        let (titles, texts) = advice(&found);
        assert!(texts.contains("/var/lib/kubelet/kubeadm-flags.env"), "{stage}: {titles}");
        assert_eq!(state(&found, "V7"), State::ByHand);
        assert_eq!(state(&at(Made::Rke2, stage), "V7"), if stage == "S4" { State::Failed } else { State::Passed });
    }
}

#[test]
fn the_controller_never_comes_beside_one_without_a_lock() {
    // Kubelets are external already, and kube-controller-manager works on without the lock.
    let found = changed(Made::Rke2, "S1", &|items| {
        for node in nodes(items) {
            let text = node["metadata"]["annotations"]["rke2.io/node-args"].as_str().unwrap();
            let text = text.replacen("cloud-provider=aws", "cloud-provider=external", 1);
            node["metadata"]["annotations"]["rke2.io/node-args"] = text.into();
        }
    });
    assert_eq!(found.stage, Ok(Stage::Rolling));
    let (titles, texts) = advice(&found);
    let at = |text: &str| titles.find(text).unwrap_or_else(|| panic!("{text}: {titles}"));
    assert!(at("use the lock") < at("install the cloud controller"), "{titles}");
    assert!(texts.contains("--enable-leader-migration=true"));
}

#[test]
fn what_is_of_one_node_or_secret_is_not_written_for_all() {
    let add = |items: &mut Vec<Value>| {
        for (index, node) in nodes(items).enumerate() {
            let annotation = &mut node["metadata"]["annotations"]["rke2.io/node-args"];
            let mut words: Vec<String> = serde_json::from_str(annotation.as_str().unwrap()).unwrap();
            for argument in
                [format!("provider-id=aws:///a/i-{index}"), "kube-reserved=cpu=1".to_owned(), "x-token=leak".to_owned()]
            {
                words.extend(["--kubelet-arg".to_owned(), argument]);
            }
            words.extend(["--kube-controller-manager-arg".to_owned(), "terminated-pod-gc-threshold=50".to_owned()]);
            *annotation = serde_json::json!(words).to_string().into();
        }
    };
    for stage in ["S1", "S3", "S4", "X2"] {
        let (_, texts) = advice(&changed(Made::Rke2, stage, &add));
        for never in ["i-0", "leak", "not shown", "cpu=1", "threshold=50"] {
            assert!(!texts.contains(never), "{stage}: {never} in {texts}");
        }
        assert!(texts.contains("terminated-pod-gc-threshold"), "{stage}: it is named\n{texts}");
    }
}

#[test]
fn a_server_of_etcd_alone_runs_no_controller_manager() {
    let etcd = |items: &mut Vec<Value>| {
        let mut node = nodes(items).next().unwrap().clone();
        node["metadata"]["name"] = "etcd-1".into();
        let words = [
            "server",
            "--cloud-provider-name",
            "aws",
            "--disable-apiserver",
            "--disable-controller-manager",
            "--disable-scheduler",
        ];
        node["metadata"]["annotations"]["rke2.io/node-args"] = serde_json::json!(words).to_string().into();
        items.push(node);
        let mut csi = items.iter().find(|item| item["kind"] == "CSINode").unwrap().clone();
        csi["metadata"]["name"] = "etcd-1".into();
        items.push(csi);
    };
    assert_eq!(changed(Made::Rke2, "S2", &etcd).stage, Ok(Stage::MigrationOn));
    assert_eq!(changed(Made::Rke2, "S3", &etcd).stage, Ok(Stage::BothRun));
    // The same in a cluster of Rancher, with what is printed for it.
    let cluster = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n    machineGlobalConfig:\n      cloud-provider-name: aws\n    machineSelectorConfig:\n      - config:\n          kube-controller-manager-arg: [enable-leader-migration=true]\n        machineLabelSelector:\n          matchExpressions:\n            - {key: rke.cattle.io/control-plane-role, operator: In, values: [\"true\"]}\n    machinePools:\n      - {name: etcd, etcdRole: true, quantity: 3}\n      - {name: control, controlPlaneRole: true, quantity: 2}\n      - {name: work, workerRole: true, quantity: 2}\n";
    let evidence = Evidence::parse("cluster.yaml", cluster.as_bytes().to_vec()).unwrap();
    assert_eq!(assessed(&evidence).stage, Ok(Stage::MigrationOn));
}

#[test]
fn machines_of_etcd_alone_have_a_step_of_their_own() {
    let cluster = |selectors: &str| {
        let text = format!(
            "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {{name: prod, namespace: fleet-default}}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n    machineGlobalConfig: {{cloud-provider-name: aws, cni: calico}}\n    machinePools:\n      - {{name: cp, controlPlaneRole: true, quantity: 3}}\n      - {{name: etcd, etcdRole: true, quantity: 3}}\n      - {{name: w, workerRole: true, quantity: 5}}\n{selectors}"
        );
        assessed(&Evidence::parse("cluster.yaml", text.into_bytes()).unwrap())
    };
    let of = |migration: &Migration| -> String {
        let texts = migration.next.iter().flat_map(|step| step.snippets.iter().map(|snippet| snippet.text.clone()));
        texts.filter(|text| text.contains("cloud-provider=external")).collect::<Vec<_>>().join("---\n")
    };
    let entries = |text: &str| -> String {
        let bodies = text.split("    machineSelectorConfig:\n").skip(1);
        bodies.map(|body| body.split("---\n").next().unwrap_or_default()).collect()
    };
    let first = cluster(
        "    machineSelectorConfig:\n      - config: {cloud-provider-name: external, disable-cloud-controller: true, kubelet-arg: [cloud-provider=external], kube-controller-manager-arg: [cloud-provider=external]}\n        machineLabelSelector: {matchLabels: {rke.cattle.io/control-plane-role: \"true\"}}\n",
    );
    let text = of(&first);
    assert!(text.contains("rke.cattle.io/etcd-role") && text.contains("operator: DoesNotExist"), "{text}");
    // Carried out, the way is done.
    let done = cluster(&format!(
        "    machineSelectorConfig:\n      - config: {{cloud-provider-name: external, disable-cloud-controller: true, kubelet-arg: [cloud-provider=external], kube-controller-manager-arg: [cloud-provider=external]}}\n        machineLabelSelector: {{matchLabels: {{rke.cattle.io/control-plane-role: \"true\"}}}}\n{}",
        entries(&text)
    ));
    assert_eq!(of(&done), "", "{:?}", done.stage);
}

#[test]
fn the_switch_waits_until_the_controller_can_lead_and_the_lock_is_where_it_was() {
    let lease = |name: &'static str, change: &'static dyn Fn(&mut Value)| {
        move |items: &mut Vec<Value>| {
            for item in items.iter_mut().filter(|item| item["kind"] == "Lease" && item["metadata"]["name"] == name) {
                change(item);
            }
        }
    };
    let is_switch = |found: &Migration| advice(found).0.contains("make the control planes external");
    assert!(is_switch(&at(Made::Rke2, "S3")));
    let old = lease("cloud-controller-manager", &|item| item["spec"]["renewTime"] = "2026-01-05T09:00:00Z".into());
    let foreign = lease("cloud-provider-extraction-migration", &|item| item["spec"]["holderIdentity"] = "x".into());
    let none = |items: &mut Vec<Value>| items.retain(|item| item["kind"] != "Lease");
    for (change, expected) in [
        (&old as &dyn Fn(&mut Vec<Value>), "does not lead"),
        (&foreign, "write the lock"),
        (&none, "who holds the lock"),
    ] {
        let found = changed(Made::Rke2, "S3", change);
        let (titles, _) = advice(&found);
        assert!(found.stage == Ok(Stage::BothRun) && !is_switch(&found) && titles.contains(expected), "{titles}");
    }
}

#[test]
fn a_lock_that_nobody_may_take_is_given_back_first() {
    let keep = |items: &mut Vec<Value>| {
        for node in nodes(items).take(3) {
            let annotation = &mut node["metadata"]["annotations"]["rke2.io/node-args"];
            let mut words: Vec<String> = serde_json::from_str(annotation.as_str().unwrap()).unwrap();
            words.extend(["--kube-controller-manager-arg".to_owned(), "enable-leader-migration".to_owned()]);
            *annotation = serde_json::json!(words).to_string().into();
        }
    };
    let found = changed(Made::Rke2, "S5", &keep);
    assert_eq!(found.stage, Ok(Stage::Rolling));
    assert!(advice(&found).0.contains("remove `enable-leader-migration` from every external kube-controller-manager"));
}

#[test]
fn flags_are_read_however_they_are_written_and_not_where_a_shell_writes_them() {
    let with = |command: &'static [&'static str]| {
        changed(Made::Kubeadm, "S2", &move |items| {
            for pod in items.iter_mut().filter(|item| item["kind"] == "Pod") {
                pod["spec"]["containers"][0]["command"] = serde_json::json!(command);
            }
        })
    };
    let flags = ["kube-controller-manager", "--cloud_provider=aws", "--enable_leader_migration"];
    assert_eq!(with(Box::leak(Box::new(flags))).stage, Ok(Stage::MigrationOn));
    let shell = ["/bin/sh", "-c", "exec kube-controller-manager --cloud-provider=aws"];
    assert!(with(Box::leak(Box::new(shell))).stage.is_err());
}

#[test]
fn a_control_plane_is_never_deleted() {
    let stub = |items: &mut Vec<Value>| nodes(items).for_each(|node| node["spec"]["providerID"] = "rke2://a".into());
    let found = changed(Made::Rke2, "S6", &stub);
    assert_eq!(found.stage, Ok(Stage::NotInitialised));
    let (titles, texts) = advice(&found);
    assert!(
        titles.contains("replace control planes") && texts.contains("kubectl delete node ip-10-0-1-21"),
        "{titles}"
    );
    assert!(!texts.contains("kubectl delete node ip-10-0-1-11"), "{texts}");
}

#[test]
fn what_the_controller_has_stays_when_the_lock_goes() {
    let custom = |items: &mut Vec<Value>| {
        let set = items.iter_mut().find(|item| item["metadata"]["name"] == "aws-cloud-controller-manager").unwrap();
        let args = &mut set["spec"]["template"]["spec"]["containers"][0]["args"];
        args.as_array_mut().unwrap().push("--cluster-name=prod".into());
    };
    let (_, texts) = advice(&changed(Made::Rke2, "S5", &custom));
    assert!(texts.contains("- --cluster-name=prod\n") && !texts.contains("enable-leader-migration"), "{texts}");
    assert!(!texts.contains("helm upgrade"), "{texts}");
}

#[test]
fn routes_go_over_to_the_controller() {
    let routes = |items: &mut Vec<Value>| {
        for pod in items.iter_mut().filter(|item| item["kind"] == "Pod") {
            let command = pod["spec"]["containers"][0]["command"].as_array_mut().unwrap();
            command.extend(["--allocate-node-cidrs=true".into(), "--cluster-cidr=10.244.0.0/16".into()]);
        }
    };
    let (_, texts) = advice(&changed(Made::Kubeadm, "S2", &routes));
    assert!(
        texts.contains("--configure-cloud-routes=true") && texts.contains("--cluster-cidr=10.244.0.0/16"),
        "{texts}"
    );
    assert!(advice(&at(Made::Kubeadm, "S2")).1.contains("--configure-cloud-routes=false"));
}

#[test]
fn services_of_another_controller_are_not_compared() {
    let other = |items: &mut Vec<Value>| {
        let service = items.iter_mut().find(|item| item["metadata"]["name"] == "web").unwrap();
        service["metadata"]["annotations"] = serde_json::json!({
            "service.beta.kubernetes.io/aws-load-balancer-type": "external",
            "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip",
        });
        service["status"]["loadBalancer"]["ingress"][0]["hostname"] =
            "k8s-shop-web-1.elb.us-east-1.amazonaws.com".into();
    };
    assert_eq!(state(&changed(Made::Rke2, "S6", &other), "V4"), State::Passed);
}

#[test]
fn the_lease_is_that_of_the_controller() {
    let with = |flag: &'static str, rename: &'static str, holder: &'static str| {
        changed(Made::Rke2, "S6", &move |items| {
            for item in items.iter_mut() {
                if item["metadata"]["name"] == "aws-cloud-controller-manager" {
                    let args = &mut item["spec"]["template"]["spec"]["containers"][0]["args"];
                    args.as_array_mut().unwrap().push(flag.into());
                } else if item["metadata"]["name"] == "cloud-controller-manager" && item["kind"] == "Lease" {
                    item["metadata"]["name"] = rename.into();
                    item["spec"]["holderIdentity"] = holder.into();
                }
            }
        })
    };
    assert_eq!(state(&with("--leader-elect-resource-name=aws-ccm", "aws-ccm", "ip-10-0-1-11_a"), "V5"), State::Passed);
    assert_eq!(state(&with("--leader-elect=false", "x", "a"), "V5"), State::ByHand);
    assert_eq!(state(&with("--v=2", "cloud-controller-manager", ""), "V5"), State::Failed);
}

#[test]
fn volumes_need_the_old_plugin_while_the_gate_is_off_or_a_node_has_no_driver() {
    let off = |items: &mut Vec<Value>| {
        for node in nodes(items) {
            node["status"]["nodeInfo"]["kubeletVersion"] = "v1.24.9+rke2r1".into();
            let annotation = &mut node["metadata"]["annotations"]["rke2.io/node-args"];
            let mut words: Vec<String> = serde_json::from_str(annotation.as_str().unwrap()).unwrap();
            words.extend(["--kubelet-arg".to_owned(), "feature-gates=A=true,CSIMigrationAWS=false".to_owned()]);
            *annotation = serde_json::json!(words).to_string().into();
        }
    };
    assert_eq!(state(&changed(Made::Rke2, "S1", &off), "P7"), State::Failed);
    let missing = |items: &mut Vec<Value>| {
        let last = items.iter().rposition(|item| item["kind"] == "CSINode").unwrap();
        items.remove(last);
    };
    assert_eq!(state(&changed(Made::Rke2, "S1", &missing), "P7"), State::Failed);
    let windows = |items: &mut Vec<Value>| {
        missing(items);
        nodes(items).last().unwrap()["metadata"]["labels"]["kubernetes.io/os"] = "windows".into();
    };
    assert_eq!(state(&changed(Made::Rke2, "S1", &windows), "P7"), State::Passed);
}

#[test]
fn older_kubelets_beside_a_newer_control_plane_still_run() {
    let mixed = |items: &mut Vec<Value>| {
        for (index, node) in nodes(items).enumerate() {
            let version = if index < 3 { "v1.27.16+rke2r1" } else { "v1.26.15+rke2r1" };
            node["status"]["nodeInfo"]["kubeletVersion"] = version.into();
            if index >= 3 {
                let words = ["agent", "--kubelet-arg", "cloud-provider=aws"];
                node["metadata"]["annotations"]["rke2.io/node-args"] = serde_json::json!(words).to_string().into();
            }
        }
    };
    assert_eq!(changed(Made::Rke2, "S6", &mixed).stage, Ok(Stage::Rolling));
}

#[test]
fn a_name_whose_meaning_the_version_decides_is_no_stage_without_it() {
    let config = |version: Option<&str>| {
        let evidence = Evidence::parse("rke2/config.yaml", b"cloud-provider-name: aws\ntoken: x\n".to_vec()).unwrap();
        assessed(&evidence.assuming(version.map(|version| version.parse().unwrap()))).stage
    };
    assert!(config(None).is_err());
    assert_eq!((config(Some("1.26")), config(Some("1.28"))), (Ok(Stage::InTree), Ok(Stage::BrokenUpgrade)));
    assert_eq!(config(Some("1.31.4")), Ok(Stage::NoProvider));
}

#[test]
fn verification_compares_services_leases_and_nodes() {
    let found = at(Made::Rke2, "S6");
    for id in ["V1", "V4", "V5"] {
        assert_eq!(state(&found, id), State::Passed, "{id}");
    }
    assert_eq!((state(&found, "V2"), state(&found, "V6")), (State::NotAudited, State::ByHand));
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut objects = objects(Made::Rke2, &plan("S6"));
        objects["items"].as_array_mut().unwrap().iter_mut().for_each(change);
        of(&objects, None)
    };
    let other_name = changed(&|item| {
        if item["metadata"]["name"] == "web" {
            item["status"]["loadBalancer"]["ingress"][0]["hostname"] = "b2f0c7d3e-1.us-east-1.elb.amazonaws.com".into();
        }
    });
    assert_eq!(state(&other_name, "V4"), State::Failed);
    let internal = changed(&|item| {
        if item["metadata"]["name"] == "web" {
            item["status"]["loadBalancer"]["ingress"][0]["hostname"] =
                "internal-a2f0c7d3e6a1b4c5d8e9f0a1b2c3d4e5-12.us-east-1.elb.amazonaws.com".into();
        }
    });
    assert_eq!(state(&internal, "V4"), State::Passed);
    for (renewed, expected) in [("2026-01-05T09:59:10Z", State::Passed), ("2026-01-05T09:58:50Z", State::Failed)] {
        let old = changed(&|item| {
            if item["metadata"]["name"] == "cloud-controller-manager" {
                item["spec"]["renewTime"] = renewed.into();
            }
        });
        assert_eq!(state(&old, "V5"), expected, "{renewed}");
    }
    let new_node = changed(&|item| {
        if item["kind"] == "Node" {
            item["metadata"]["creationTimestamp"] = "2025-12-24T08:00:00Z".into();
        }
    });
    assert_eq!(state(&new_node, "V6"), State::Passed);
}

#[test]
fn storage_is_ready_on_every_node_or_not_at_all() {
    let changed = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut objects = objects(Made::Rke2, &plan("S1"));
        change(objects["items"].as_array_mut().unwrap());
        of(&objects, None)
    };
    let one_without = changed(&|items| {
        items.iter_mut().find(|item| item["kind"] == "CSINode").unwrap()["spec"]["drivers"] = Value::Null;
    });
    assert_eq!((one_without.stage, state(&one_without, "P7")), (Ok(Stage::InTree), State::Failed));
    let unknown = changed(&|items| items.retain(|item| item["kind"] != "CSINode"));
    assert_eq!((unknown.stage, state(&unknown, "P7")), (Ok(Stage::InTree), State::NotAudited));
    let unused = changed(&|items| {
        items.retain(|item| item["kind"] != "CSINode" && item["kind"] != "CSIDriver");
        for item in items {
            if item["kind"] == "StorageClass" {
                item["provisioner"] = "driver.longhorn.io".into();
            } else if item["kind"] == "PersistentVolume" {
                item["spec"]["csi"]["driver"] = "driver.longhorn.io".into();
            }
        }
    });
    assert_eq!((unused.stage, state(&unused, "P7")), (Ok(Stage::StorageReady), State::Passed));
}

#[test]
fn a_manifest_beside_the_cluster_is_checked_and_does_not_run() {
    let values = "image:\n  repository: registry.k8s.io/provider-aws/cloud-controller-manager\n  tag: v1.26.14\nargs:\n  - --cloud-provider=aws\n";
    let objects = objects(Made::Rke2, &plan("S2"));
    let evidence = Evidence::parse("objects.json", objects.to_string().into_bytes()).unwrap();
    let evidence = evidence.and(Evidence::parse("values.yaml", values.as_bytes().to_vec()).unwrap());
    let found = assessed(&evidence);
    assert_eq!(found.stage, Ok(Stage::MigrationOn));
    // The chart selects an empty value, and routes have no range.
    assert_eq!(state(&found, "P6"), State::Failed);
}

fn migrate(arguments: &[&str]) -> (Option<i32>, String, String) {
    let words = [&["migrate", "--from", "in-tree", "--to", "external"], arguments].concat();
    let output = run(&words);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_binary_ends_as_every_command_does() {
    let (code, page, _) = migrate(&["--kubernetes", "fixtures/kubernetes/migration/rke2/S2.json"]);
    assert_eq!(code, Some(3), "{page}");
    assert!(page.starts_with("S2 · the lock is used"), "{page}");
    for (file, expected) in [("S0", 1), ("X1", 1), ("X2", 1), ("S7", 1), ("S6", 3)] {
        let path = format!("fixtures/kubernetes/migration/rke2/{file}.json");
        assert_eq!(migrate(&["--kubernetes", &path]).0, Some(expected), "{file}");
    }
    let (code, page, error) = migrate(&[]);
    assert_eq!((code, page.as_str()), (Some(2), ""));
    assert!(
        error.contains("there is no evidence of the cluster")
            && error.contains("help: give --kube-context NAME, or --kubernetes"),
        "{error}"
    );
    let (code, _, error) = migrate(&["--kubernetes", "fixtures/kubernetes/clean/storage.yaml"]);
    assert_eq!((code, error.as_str()), (Some(4), ""), "nothing that decides was given");
    let (code, _, error) =
        migrate(&["--provider", "alibaba", "--kubernetes", "fixtures/kubernetes/clean/storage.yaml"]);
    assert!(code == Some(2) && error.contains("Alibaba Cloud"), "{error}");
    let (code, _, error) =
        migrate(&["--inventory", "fixtures/demo.json", "--kubernetes", "fixtures/kubernetes/clean/storage.yaml"]);
    assert!(code == Some(2) && error.contains("--cluster-id"), "{error}");
}

#[test]
fn the_json_follows_its_schema() {
    let validator = schema("migration.schema.json");
    for made in Made::ALL {
        for stage in Stage::ALL {
            let path = folder().join(made.name());
            let id = stage.told().id;
            let mut arguments = vec!["--format".to_owned(), "json".to_owned()];
            for (file, _) in files(made, id) {
                arguments
                    .extend(["--kubernetes".to_owned(), path.join(file.file_name().unwrap()).display().to_string()]);
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let (_, page, error) = migrate(&arguments);
            let report: Value = serde_json::from_str(&page).unwrap_or_else(|_| panic!("{error}"));
            let errors: Vec<String> =
                validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert_eq!(errors, Vec::<String>::new());
            assert_eq!(report["stage"]["id"], id);
        }
    }
}

#[test]
fn aws_is_asked_about_tags_policies_and_instances() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("workloads.json");
    let mut items = controller(Made::Rke2, 31, false);
    items.push(workload("Deployment", "coredns", "registry.k8s.io/coredns/coredns:v1.9.3"));
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    std::fs::write(&path, list.to_string()).unwrap();
    let path = path.display().to_string();
    let of_aws = ["--inventory", "fixtures/clean-rke2.json", "--cluster-id", "c-m-4x8z2k9q", "--format", "json"];
    let files = ["--kubernetes", "fixtures/clean-rke2.nodes.json", "--kubernetes", &path];
    let (code, page, error) = migrate(&[&files[..], &of_aws[..]].concat());
    assert_eq!(error, "");
    let report: Value = serde_json::from_str(&page).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let state = |id: &str| checks.iter().find(|check| check["id"] == id).map(|check| check["state"].as_str().unwrap());
    assert_eq!((state("V2"), state("V3")), (Some("passed"), Some("passed")), "{page}");
    assert_eq!((code, state("V4")), (Some(3), Some("not_audited")), "{page}");
    // Without the controller its absence is not known either.
    let (code, page, _) = migrate(&[&files[..2], &of_aws[..]].concat());
    let report: Value = serde_json::from_str(&page).unwrap();
    assert_eq!((code, &report["stage"]), (Some(4), &Value::Null), "{page}");
}

#[test]
fn a_controller_that_was_stopped_goes_on_with_the_lock() {
    let stopped = |uses_lock: bool| {
        move |items: &mut Vec<Value>| {
            let mut objects = objects(Made::Kubeadm, &plan(if uses_lock { "S3" } else { "X1" }));
            let sets = objects["items"].as_array_mut().unwrap();
            let mut set = sets
                .iter()
                .find(|item| item["kind"] == "DaemonSet" && item["metadata"]["name"] == "aws-cloud-controller-manager")
                .unwrap()
                .clone();
            set["spec"]["template"]["spec"]["nodeSelector"]["tagaudit.invalid/stopped"] = "true".into();
            items.push(set);
        }
    };
    const GOES_ON: &str = r#"[{"op": "remove", "path": "/spec/template/spec/nodeSelector/tagaudit.invalid~1stopped"}]"#;
    for uses_lock in [true, false] {
        let found = changed(Made::Kubeadm, "S2", &stopped(uses_lock));
        assert_eq!(found.stage, Ok(Stage::MigrationOn));
        let (titles, texts) = advice(&found);
        assert!(titles.contains("resume DaemonSet kube-system/aws-cloud-controller-manager"), "{titles}");
        assert!(texts.contains(GOES_ON) && !texts.contains("helm"), "{texts}");
        assert_eq!(texts.contains("- --enable-leader-migration=true"), !uses_lock, "{texts}");
    }
}

#[test]
fn without_leases_nobody_is_told_to_write_a_lock() {
    let without = |items: &mut Vec<Value>| items.retain(|item| item["kind"] != "Lease");
    let found = changed(Made::Kubeadm, "S2", &without);
    assert_eq!(found.stage, Ok(Stage::MigrationOn));
    let (titles, texts) = advice(&found);
    assert!(titles.contains("check who holds the lock") && !texts.contains("kubectl patch role"), "{titles}");
}

#[test]
fn a_node_that_is_given_twice_is_one() {
    let twice = |items: &mut Vec<Value>| {
        let mut all: Vec<Value> = nodes(items).map(|node| node.clone()).collect();
        for node in &mut all {
            node["metadata"]["labels"]["seen"] = "later".into();
        }
        items.extend(all);
    };
    let told = |found: &Migration| found.checks.iter().map(|check| (check.id, check.state)).collect::<Vec<_>>();
    let (once, both) = (at(Made::Rke2, "S2"), changed(Made::Rke2, "S2", &twice));
    assert_eq!((told(&once), &once.signals), (told(&both), &both.signals));
    // An older look at it, before it was made anew.
    let anew = |items: &mut Vec<Value>| {
        let mut all: Vec<Value> = nodes(items).map(|node| node.clone()).collect();
        for node in &mut all {
            node["metadata"]["uid"] = "older".into();
            node["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z".into();
            node["spec"]["providerID"] = "".into();
        }
        items.extend(all);
    };
    let both = changed(Made::Rke2, "S2", &anew);
    assert_eq!((told(&once), &once.signals), (told(&both), &both.signals));
}

#[test]
fn a_lock_that_is_held_where_the_controller_does_not_run_is_looked_at() {
    let held_by = |holder: &'static str| {
        move |items: &mut Vec<Value>| {
            let is_one =
                |item: &&mut Value| item["kind"] == "Lease" && item["metadata"]["name"] == "cloud-controller-manager";
            items.iter_mut().find(is_one).unwrap()["spec"]["holderIdentity"] = holder.into();
        }
    };
    let of = |holder: &'static str| state(&changed(Made::Kubeadm, "S6", &held_by(holder)), "V5");
    let name = |index: usize| {
        let mut objects = objects(Made::Kubeadm, &plan("S6"));
        let node = nodes(objects["items"].as_array_mut().unwrap()).nth(index).unwrap().clone();
        &*Box::leak(
            format!("{}_0a1b", node["metadata"]["name"].as_str().unwrap().split('.').next().unwrap()).into_boxed_str(),
        )
    };
    assert_eq!(of(name(0)), State::Passed);
    // The locks of the control plane say how hosts are called.
    assert_eq!(of("a-host-of-another-name_0a1b"), State::NotAudited);
    assert_eq!(of(name(4)), State::NotAudited);
}

#[test]
fn kops_mends_what_it_has_broken() {
    let of_kops = |items: &mut Vec<Value>| {
        for node in nodes(items) {
            node["metadata"]["labels"]["kops.k8s.io/instancegroup"] = "a".into();
            node["metadata"]["annotations"] = serde_json::json!({});
        }
    };
    let found = changed(Made::Kubeadm, "X2", &of_kops);
    assert_eq!(found.stage, Ok(Stage::BrokenUpgrade));
    let (_, texts) = advice(&found);
    assert!(texts.contains("kops update cluster --yes") && !texts.contains("helm"), "{texts}");
}

#[test]
fn a_controller_that_does_nothing_is_brought_back_and_no_other_is_installed() {
    let on_controller = |change: fn(&mut Value)| {
        move |items: &mut Vec<Value>| {
            let is_one = |item: &&mut Value| {
                item["kind"] == "DaemonSet" && item["metadata"]["name"] == "aws-cloud-controller-manager"
            };
            change(items.iter_mut().find(is_one).unwrap());
        }
    };
    let stopped = |set: &mut Value| {
        set["spec"]["template"]["spec"]["nodeSelector"]["tagaudit.invalid/stopped"] = "true".into();
    };
    for stage in ["S4", "S5", "S6"] {
        let (titles, texts) = advice(&changed(Made::Kubeadm, stage, &on_controller(stopped)));
        assert!(titles.contains("resume DaemonSet kube-system/aws-cloud-controller-manager"), "{stage}: {titles}");
        assert!(texts.contains("tagaudit.invalid~1stopped") && !texts.contains("helm upgrade"), "{stage}: {texts}");
    }
    let left = |set: &mut Value| {
        let arguments = &mut set["spec"]["template"]["spec"]["containers"][0]["args"];
        arguments.as_array_mut().unwrap().push("--controllers=*,-service,-route,-cloud-node-lifecycle".into());
    };
    let found = changed(Made::Kubeadm, "S3", &on_controller(left));
    assert_eq!(found.stage, Ok(Stage::MigrationOn));
    let (_, texts) = advice(&found);
    assert!(texts.contains("# without --controllers=*,-service,-route,-cloud-node-lifecycle"), "{texts}");
    assert!(!texts.contains("helm upgrade"), "{texts}");
    // As a Deployment, by its selector.
    let deployment = |set: &mut Value| {
        set["kind"] = "Deployment".into();
        set["spec"]["replicas"] = 2.into();
        set["spec"]["template"]["spec"]["nodeSelector"]["tagaudit.invalid/stopped"] = "true".into();
    };
    let found = changed(Made::Kubeadm, "S3", &on_controller(deployment));
    assert_eq!(found.stage, Ok(Stage::MigrationOn));
    assert!(advice(&found).1.contains("kubectl patch deployment -n kube-system aws-cloud-controller-manager"));
}

#[test]
fn a_kubelet_without_a_provider_is_not_external() {
    let without = |items: &mut Vec<Value>| {
        let node = nodes(items).last().unwrap();
        node["metadata"]["annotations"]["rke2.io/node-args"] = r#"["agent"]"#.into();
    };
    assert_eq!(state(&at(Made::Rke2, "S6"), "V7"), State::Passed);
    assert_eq!(state(&changed(Made::Rke2, "S6", &without), "V7"), State::Failed);
    let newer = |items: &mut Vec<Value>| {
        nodes(items).for_each(|node| node["status"]["nodeInfo"]["kubeletVersion"] = "v1.28.3".into());
    };
    assert_eq!(state(&changed(Made::Kubeadm, "S6", &newer), "V7"), State::ByHand, "what is not known is not passed");
}

#[test]
fn the_lock_of_the_cloud_controller_is_not_that_of_another_process() {
    let held_as = |items: &mut Vec<Value>| {
        let holder = |name: &str, items: &[Value]| {
            let lease = items.iter().find(|item| item["kind"] == "Lease" && item["metadata"]["name"] == name);
            lease.map(|lease| lease["spec"]["holderIdentity"].clone())
        };
        let other = holder("kube-controller-manager", items).unwrap();
        let is_one =
            |item: &&mut Value| item["kind"] == "Lease" && item["metadata"]["name"] == "cloud-controller-manager";
        items.iter_mut().find(is_one).unwrap()["spec"]["holderIdentity"] = other;
    };
    assert_eq!(state(&at(Made::Kubeadm, "S3"), "V5"), State::Passed);
    assert_eq!(state(&changed(Made::Kubeadm, "S3", &held_as), "V5"), State::Failed);
}

#[test]
fn kops_installs_the_driver_itself() {
    let of_kops = |items: &mut Vec<Value>| {
        for node in nodes(items) {
            node["metadata"]["labels"]["kops.k8s.io/instancegroup"] = "a".into();
            node["metadata"]["annotations"] = serde_json::json!({});
        }
    };
    let (_, texts) = advice(&changed(Made::Kubeadm, "S0", &of_kops));
    assert!(texts.contains("awsEBSCSIDriver") && !texts.contains("helm"), "{texts}");
    let (_, texts) = advice(&changed(Made::Kubeadm, "X2", &of_kops));
    assert!(texts.contains("--cloudonly"), "{texts}");
}
