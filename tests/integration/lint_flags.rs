//! Flags of the cloud controller and of kube-controller-manager, by version.

use serde_json::{Value, json};
use tagaudit::finding::Severity;
use tagaudit::kubernetes::{Evidence, Target};
use tagaudit::kubernetes_lint::KubernetesLint;
use tagaudit::rules::RULES;

/// What one rule says of some objects, with versions that are aimed at: severity, message and advice.
fn told(objects: &[Value], rule: &str, target: Target) -> Vec<(Severity, String, String)> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let mut evidence = Evidence::parse("f.json", list.to_string().into_bytes()).unwrap();
    evidence.target = target;
    let mut checked = KubernetesLint::default();
    checked.check(&[evidence], &RULES);
    let found = checked.findings.into_iter().filter(|finding| finding.rule == rule);
    found.map(|finding| (finding.severity, finding.message, finding.fix.summary)).collect()
}

fn controller(tag: &str, command: &[&str], arguments: &[&str]) -> Value {
    let image = format!("registry.k8s.io/provider-aws/cloud-controller-manager:{tag}");
    let mut container = json!({"name": "ccm", "image": image, "args": arguments});
    if !command.is_empty() {
        container["command"] = json!(command);
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "ccm", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"hostNetwork": true, "containers": [container]}}},
    })
}

fn aim(controller: &str) -> Target {
    Target { controller: Some(controller.parse().unwrap()), ..Target::default() }
}

#[test]
fn the_cloud_controller_knows_the_flags_of_its_version() {
    let is_wrong = |tag: &str, flag: &str| {
        !told(&[controller(tag, &[], &["--cloud-provider=aws", flag])], "ccm-flag-unknown", Target::default())
            .is_empty()
    };
    for (flag, last, first) in [
        ("--port=0", "v1.23.20", "v1.24.0"),
        ("--address=127.0.0.1", "v1.23.20", "v1.24.0"),
        ("--insecure-port=0", "v1.23.20", "v1.24.0"),
        ("--logtostderr", "v1.25.12", "v1.26.0"),
        ("--log_dir=/var/log", "v1.25.12", "v1.26.0"),
        ("--stderrthreshold=INFO", "v1.25.12", "v1.26.0"),
    ] {
        assert_eq!([last, first].map(|tag| is_wrong(tag, flag)), [false, true], "{flag}");
    }
    for (flag, last, first) in [
        ("--enable-leader-migration", "v1.20.4", "v1.21.0"),
        ("--concurrent-node-syncs=5", "v1.26.12", "v1.27.0"),
        ("--concurrent-node-status-updates=5", "v1.35.2", "v1.36.0"),
    ] {
        assert_eq!([last, first].map(|tag| is_wrong(tag, flag)), [true, false], "{flag}");
    }
    for flag in
        ["--v=2", "-v=2", "--v", "--cluster_name=x", "--feature-gates=A=true", "--tagging-controller-rate-limit=1"]
    {
        assert!(!["v1.20.0", "v1.36.1"].into_iter().any(|tag| is_wrong(tag, flag)), "{flag}");
    }
    // Neither a version without a number nor one of before the lists says which flags it knows.
    for tag in ["latest", "v1.19.0-alpha.1", "v20210510"] {
        assert!(!is_wrong(tag, "--logtostderr") && !is_wrong(tag, "--concurrent-node-syncs=5"), "{tag}");
        assert!(is_wrong(tag, "--configure-cloud-route=false"), "{tag}");
    }
}

#[test]
fn a_flag_that_no_version_knows_is_told_with_what_was_meant() {
    let rule = "ccm-flag-unknown";
    let of = |flag: &str| {
        let all = told(&[controller("v1.33.0", &[], &["--cloud-provider=aws", flag])], rule, Target::default());
        all.into_iter().map(|(severity, message, fix)| (severity, format!("{message}: {fix}"))).collect::<Vec<_>>()
    };
    let ccm = "DaemonSet kube-system/ccm has";
    for (flag, message) in [
        (
            "--configure-cloud-route=false",
            "`--configure-cloud-route`, which it does not know: write `--configure-cloud-routes`",
        ),
        (
            "--service-cluster-ip-range=10.0.0.0/16",
            "`--service-cluster-ip-range`, which it does not know: take `--service-cluster-ip-range` out",
        ),
        ("--port=0", "`--port`, which it knew until 1.23: take `--port` out"),
        (
            "--concurrent-node-status-updates=1",
            "`--concurrent-node-status-updates`, which it knows from 1.36 on: take `--concurrent-node-status-updates` out",
        ),
    ] {
        assert_eq!(of(flag), [(Severity::Error, format!("{ccm} {message}"))]);
    }
    // A shell or a template may make something else of the words.
    let shell = controller("v1.33.0", &["/bin/sh", "-c"], &["exec ccm --nonsense", "--nonsense"]);
    assert_eq!(told(&[shell], rule, Target::default()), []);
    let template = controller("v1.33.0", &[], &["--cloud-provider=aws", "--{{ .Values.flag }}=1"]);
    assert_eq!(told(&[template], rule, Target::default()), []);
}

#[test]
fn a_flag_that_goes_on_the_way_to_a_version_is_told_before() {
    let of = |tag: &str, target: &str, flag: &str| {
        let all = told(&[controller(tag, &[], &["--cloud-provider=aws", flag])], "ccm-flag-unknown", aim(target));
        all.into_iter().map(|(_, message, _)| message).collect::<Vec<_>>()
    };
    let told = "DaemonSet kube-system/ccm has `--logtostderr`, which it knows until 1.25, and the target is 1.26";
    assert_eq!(of("v1.25.3", "1.26", "--logtostderr"), [told]);
    assert_eq!(of("v1.24.1", "1.25", "--logtostderr"), Vec::<String>::new());
    assert_eq!(of("latest", "1.26", "--logtostderr"), [told]);
    assert_eq!(of("v1.25.3", "1.27", "--concurrent-node-syncs=1").len(), 1, "it does not know it today");
}

#[test]
fn the_volumes_of_the_provider_that_is_gone_stop_the_controller_manager() {
    let of = |version: &str, arguments: &[&str], target: Option<&str>| {
        let cluster = json!({
            "apiVersion": "provisioning.cattle.io/v1",
            "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "f"},
            "spec": {"kubernetesVersion": version, "rkeConfig": {"machineGlobalConfig": {"kube-controller-manager-arg": arguments}}},
        });
        let target = Target { kubernetes: target.map(|target| target.parse().unwrap()), ..Target::default() };
        let all = told(&[cluster], "kcm-external-volume-plugin", target);
        all.into_iter().map(|(severity, ..)| severity).collect::<Vec<_>>()
    };
    let both = &["cloud-provider=external", "external-cloud-volume-plugin=aws"];
    for (version, expected) in [
        ("v1.26.15+rke2r1", vec![Severity::Warning]),
        ("v1.27.0+rke2r1", vec![Severity::Error]),
        ("v1.31.9+rke2r1", vec![Severity::Error]),
        ("v1.32.0+rke2r1", vec![]),
    ] {
        assert_eq!(of(version, both, None), expected, "{version}");
    }
    for (target, expected) in [("1.26", Severity::Warning), ("1.27", Severity::Error), ("1.33", Severity::Error)] {
        assert_eq!(of("v1.24.17+rke2r1", both, Some(target)), [expected], "{target}");
    }
    for other in [
        &["external-cloud-volume-plugin=aws"] as &[&str],
        &["cloud-provider=aws", "external-cloud-volume-plugin=aws"],
        &["cloud-provider=external", "external-cloud-volume-plugin=gce"],
        &["cloud-provider=external", "external-cloud-volume-plugin="],
        &["cloud-provider=external"],
    ] {
        assert_eq!(of("v1.27.0+rke2r1", other, None), [], "{other:?}");
    }
}
