//! What RKE2 and K3s started the nodes with: each version gate on both sides, and the neighbours that are no defect.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tagaudit::internals::audit::Audit;
use tagaudit::internals::finding::Severity::{self, Error, Warning};
use tagaudit::internals::nodes;

use super::fixtures::report;
use super::worlds;

const RULES: [&str; 5] = [
    "apiserver-cloud-provider-flag",
    "embedded-ccm-still-on",
    "feature-gate-removed",
    "in-tree-cloud-provider",
    "kubelet-cloud-config-flag",
];

/// What these rules find where one Node of a clean cluster is started with other arguments.
fn found(version: &str, annotations: &Value) -> Vec<(&'static str, Severity)> {
    let report = audit(version, annotations);
    let of_arguments = report.findings.iter().filter(|finding| RULES.contains(&finding.rule));
    of_arguments.map(|finding| (finding.rule, finding.severity)).collect()
}

fn audit(version: &str, annotations: &Value) -> Audit {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-rke2").unwrap();
    let mut nodes = world.nodes.unwrap();
    let node = &mut nodes["items"][0];
    node["metadata"]["annotations"] = annotations.clone();
    node["status"]["nodeInfo"]["kubeletVersion"] = json!(version);
    let nodes = nodes::parse("nodes", nodes.to_string().as_bytes()).unwrap();
    report(&world.inventory, world.cluster_id, Some(&nodes))
}

fn rke2(version: &str, words: &[&str]) -> Vec<(&'static str, Severity)> {
    found(version, &json!({"rke2.io/node-args": json!(words).to_string()}))
}

fn k3s(version: &str, words: &[&str]) -> Vec<(&'static str, Severity)> {
    found(version, &json!({"k3s.io/node-args": json!(words).to_string()}))
}

const OFF: &str = "--disable-cloud-controller=true";

#[test]
fn an_argument_is_a_warning_until_the_version_without_it_and_an_error_from_then_on() {
    for (argument, rule, last, first) in [
        ("--kube-apiserver-arg=cloud-provider=external", "apiserver-cloud-provider-flag", "1.32.9", "1.33.0"),
        ("--kubelet-arg=cloud-config=/etc/c", "kubelet-cloud-config-flag", "1.33.5", "1.34.0"),
        ("--kubelet-arg=cloud-provider=aws", "in-tree-cloud-provider", "1.26.15", "1.27.0"),
        ("--kube-apiserver-arg=cloud-provider=aws", "in-tree-cloud-provider", "1.26.15", "1.27.0"),
        ("--kube-controller-manager-arg=cloud-provider=aws", "in-tree-cloud-provider", "1.26.15", "1.27.0"),
        ("--kubelet-arg=feature-gates=CSIMigrationAWS=false", "feature-gate-removed", "1.24.17", "1.25.0"),
        ("--kubelet-arg=feature-gates=A=true,CSIMigration=true", "feature-gate-removed", "1.26.15", "1.27.0"),
        (
            "--kube-controller-manager-arg=feature-gates=ControllerManagerLeaderMigration=true",
            "feature-gate-removed",
            "1.26.0",
            "1.27.1",
        ),
        ("--kubelet-arg=feature-gates=KubeletCredentialProviders=true", "feature-gate-removed", "1.28.1", "1.29.0"),
        ("--kubelet-arg=feature-gates=InTreePluginAWSUnregister=true", "feature-gate-removed", "1.30.1", "1.31.0"),
        ("--kube-apiserver-arg=feature-gates=DisableCloudProviders=false", "feature-gate-removed", "1.32.1", "1.33.0"),
        (
            "--kubelet-arg=feature-gates=DisableKubeletCloudCredentialProviders=true",
            "feature-gate-removed",
            "1.32.1",
            "1.33.0",
        ),
    ] {
        for run in [rke2, k3s] {
            let on = |version: &str| run(&format!("v{version}+x1"), &["server", OFF, argument]);
            assert_eq!(on(last), [(rule, Warning)], "{argument} on {last}");
            assert_eq!(on(first), [(rule, Error)], "{argument} on {first}");
        }
    }
}

#[test]
fn what_a_node_does_not_run_or_what_is_taken_back_ends_nothing() {
    for words in [
        &["server", OFF, "--kubelet-arg", "cloud-provider=external"][..],
        &["agent", "--kube-apiserver-arg=cloud-provider=external"],
        &["server", OFF, "--disable-apiserver", "true", "--kube-apiserver-arg=cloud-provider=external"],
        &["server", OFF, "--kubelet-arg=cloud-provider=aws", "--kubelet-arg=cloud-provider=external"],
        &["server", OFF, "--kube-controller-manager-arg=cloud-provider=external"],
        &["server", OFF, "--kubelet-arg=feature-gates=CSIMigrationAzureFile=true,GracefulNodeShutdown=false"],
    ] {
        assert_eq!(rke2("v1.36.1+rke2r1", words), [], "{words:?}");
    }
}

#[test]
fn the_distributions_own_controller_beside_another_one_is_found_by_version() {
    let rule = "embedded-ccm-still-on";
    let named = ["server", "--cloud-provider-name", "external"];
    let by_kubelet = ["server", "--kubelet-arg", "cloud-provider=external"];
    assert_eq!(rke2("v1.35.9+rke2r1", &named), [(rule, Warning)]);
    assert_eq!(rke2("v1.36.0+rke2r1", &named), [(rule, Error)]);
    assert_eq!(rke2("v1.31.4+rke2r1", &by_kubelet), [(rule, Error)], "only a name switches it off");
    assert_eq!(rke2("v1.21.2+rke2r1", &by_kubelet), [], "it had none yet");
    assert_eq!(k3s("v1.31.4+k3s1", &by_kubelet), [(rule, Error)]);
    for silent in [
        &["server"][..],
        &["server", "--cloud-provider-name", "rancher-vsphere"],
        &["server", "--cloud-provider-name", "external", "--disable-cloud-controller"],
        &["agent", "--cloud-provider-name", "external"],
    ] {
        assert_eq!(rke2("v1.36.0+rke2r1", silent), [], "{silent:?}");
    }
    assert_eq!(k3s("v1.31.4+k3s1", &["server"]), [], "its own controller, and no other");
    let environment =
        json!({"rke2.io/node-args": r#"["server"]"#, "rke2.io/node-env": r#"{"RKE2_CLOUD_PROVIDER_NAME":"external"}"#});
    assert_eq!(found("v1.36.0+rke2r1", &environment), [(rule, Error)]);
}

/// A finding that was known as a warning is the same one when it has become an error.
#[test]
fn an_upgrade_makes_no_new_finding_of_an_old_one() {
    let fingerprints = |version: &str| {
        let words = ["server", "--cloud-provider-name", "external", "--kube-apiserver-arg=cloud-provider=external"];
        let report = audit(version, &json!({"rke2.io/node-args": json!(words).to_string()}));
        let of_arguments = report.findings.into_iter().filter(|finding| RULES.contains(&finding.rule));
        of_arguments.map(|finding| finding.fingerprint).collect::<BTreeSet<_>>()
    };
    assert_eq!(fingerprints("v1.32.1+rke2r1").len(), 2);
    assert_eq!(fingerprints("v1.32.1+rke2r1"), fingerprints("v1.36.0+rke2r1"));
}

#[test]
fn without_arguments_the_rules_do_not_apply_and_say_why() {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-kubeadm").unwrap();
    let nodes = nodes::parse("nodes", world.nodes.unwrap().to_string().as_bytes()).unwrap();
    let report = report(&world.inventory, world.cluster_id, Some(&nodes));
    for id in RULES {
        let rule = report.rules.iter().find(|rule| rule.rule == id).unwrap();
        assert_eq!(
            rule.why.as_deref(),
            Some("no Node reports its arguments, as those of RKE2 and K3s do, and no configuration was given")
        );
    }
}
