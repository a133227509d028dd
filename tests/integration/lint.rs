//! `tagaudit lint` from the built binary, and the rules on Kubernetes alone: each fires on its planted defect, and none on what is
//! right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tagaudit::internals::finding::{Finding, Severity};
use tagaudit::internals::inventory::Provider;
use tagaudit::internals::kubernetes::{Evidence, Target};
use tagaudit::internals::kubernetes_lint::KubernetesLint;
use tagaudit::internals::rules::RULES;

use super::binary::{command, run};
use super::documents::schema;

/// The folder of fixtures of one kind.
fn folder(kind: &str) -> PathBuf {
    super::fixtures::path("kubernetes").join(kind)
}

/// What stands together for one cluster: a file or a folder, but for what says so.
fn clusters(kind: &str) -> Vec<Vec<PathBuf>> {
    let mut all: Vec<Vec<PathBuf>> = Vec::new();
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let files = if entry.is_dir() { files_of(&entry) } else { vec![entry.clone()] };
        match all.iter_mut().find(|_| entry.ends_with("broken/nodes.yaml")) {
            // The nodes of the cluster of `controller.yaml`.
            Some(_) => all.iter_mut().find(|one| one[0].ends_with("controller.yaml")).unwrap().extend(files),
            None => all.push(files),
        }
    }
    all
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_of(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// What the rules say of files.
fn checked(files: &[PathBuf]) -> KubernetesLint {
    checked_towards(files, Target::default())
}

/// The same on the way to other versions.
fn checked_towards(files: &[PathBuf], target: Target) -> KubernetesLint {
    let mut evidence = Evidence::default();
    for file in files {
        let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string();
        evidence = evidence.and(Evidence::parse(&name, std::fs::read(file).unwrap()).unwrap());
    }
    let mut lint = KubernetesLint::default();
    lint.check(&[evidence.towards(target)], &RULES);
    lint
}

/// What the rules say of a text.
pub(super) fn found(text: &str) -> Vec<Finding> {
    let mut lint = KubernetesLint::default();
    lint.check(&[Evidence::parse("f.yaml", text.as_bytes().to_vec()).unwrap()], &RULES);
    lint.findings
}

/// Rules and severities of what is found in a text.
pub(super) fn rules_of(text: &str) -> Vec<(&'static str, Severity)> {
    found(text).into_iter().map(|finding| (finding.rule, finding.severity)).collect()
}

#[test]
fn what_is_right_gives_nothing() {
    for files in clusters("clean") {
        let lint = checked(&files);
        let told: Vec<String> = lint.findings.iter().map(|one| format!("{}: {}", one.rule, one.message)).collect();
        assert_eq!(told, Vec::<String>::new(), "{files:?}");
        assert!(lint.rules.iter().any(|rule| rule.checked > 0), "{files:?}: something was looked at");
    }
}

/// One line per finding, with its place: what changes here changes what users are told.
#[test]
fn findings_of_every_broken_file() {
    let mut lines = String::new();
    for files in clusters("broken") {
        for finding in checked(&files).findings {
            let place = finding.locations.first().map_or_else(
                || "-".to_owned(),
                |place| {
                    let file = place.file.trim_start_matches("fixtures/kubernetes/broken/");
                    format!("{file}:{}:{}", place.line, place.column)
                },
            );
            let severity = finding.severity.name();
            lines.push_str(&format!(
                "{place} {severity} {}: {} => {}\n",
                finding.rule,
                finding.message,
                finding.advice()
            ));
        }
    }
    insta::assert_snapshot!("lint-findings", lines);
}

/// Findings stand on what their rule is about, and never say what a `ConfigMap` holds.
#[test]
fn findings_are_about_what_their_rule_looks_at_and_tell_no_secret() {
    let mut places = 0;
    for files in clusters("broken") {
        for finding in checked(&files).findings {
            let rule = tagaudit::internals::rules::find(finding.rule).unwrap();
            assert!(rule.resources.contains(&finding.resource.kind), "{}: {:?}", rule.id, finding.resource);
            let told = format!("{} {} {}", finding.message, finding.impact, finding.fix.summary);
            assert!(!told.contains("not-a-secret") && !told.contains("not-a-key"), "{told}");
            places += finding.locations.len();
        }
    }
    assert!(places > 60, "{places} places are too few to prove anything");
}

/// The finding of a rule in a text, with its line.
fn line_of(text: &str, rule: &str) -> Option<usize> {
    found(text).iter().find(|finding| finding.rule == rule).map(|finding| finding.locations[0].line)
}

fn rancher(version: &str, config: &str) -> String {
    format!(
        "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {{name: c, namespace: f}}\nspec:\n  kubernetesVersion: {version}\n  rkeConfig:\n{config}"
    )
}

#[test]
fn an_argument_of_a_configuration_is_a_warning_until_the_version_without_it() {
    let of = |version: &str, argument: &str| {
        let config = format!(
            "    machineGlobalConfig:\n      disable-cloud-controller: true\n      {argument}\n    machinePools: [{{name: a, etcdRole: true, controlPlaneRole: true, workerRole: true}}]\n"
        );
        rules_of(&rancher(version, &config))
    };
    for (argument, rule, last, first) in [
        ("kube-apiserver-arg: [cloud-provider=external]", "apiserver-cloud-provider-flag", "v1.32.9", "v1.33.0"),
        ("kubelet-arg: [cloud-config=/etc/c]", "kubelet-cloud-config-flag", "v1.33.5", "v1.34.0"),
        ("kubelet-arg: [cloud-provider=aws]", "in-tree-cloud-provider", "v1.26.15", "v1.27.0"),
        ("kubelet-arg: [feature-gates=CSIMigrationAWS=false]", "feature-gate-removed", "v1.24.17", "v1.25.0"),
    ] {
        for distribution in ["rke2r1", "k3s1"] {
            let on = |version: &str| of(&format!("{version}+{distribution}"), argument);
            assert_eq!(on(last), [(rule, Severity::Warning)], "{argument} on {last}");
            assert_eq!(on(first), [(rule, Severity::Error)], "{argument} on {first}");
        }
    }
}

#[test]
fn the_name_aws_of_rke2_means_three_things() {
    let of = |version: &str, more: &str| {
        let config = format!(
            "    machineGlobalConfig:\n      cloud-provider-name: aws\n      disable-cloud-controller: true\n{more}    machinePools: [{{name: a, etcdRole: true, controlPlaneRole: true, workerRole: true}}]\n"
        );
        let all = rules_of(&rancher(&format!("{version}+rke2r1"), &config));
        all.into_iter().find(|(rule, _)| *rule == "rke2-cloud-provider-aws").map(|(_, severity)| severity)
    };
    let kubelet = "      kubelet-arg: [cloud-provider=external]\n";
    let all = "      kubelet-arg: [cloud-provider=external]\n      kube-apiserver-arg: [cloud-provider=external]\n      kube-controller-manager-arg: [cloud-provider=external]\n";
    for (version, more, expected) in [
        ("v1.26.15", "", Some(Severity::Warning)),
        ("v1.27.0", "", Some(Severity::Error)),
        ("v1.27.0", all, Some(Severity::Info)),
        ("v1.29.10", kubelet, Some(Severity::Error)),
        ("v1.29.11", kubelet, Some(Severity::Info)),
        ("v1.29.11", "", Some(Severity::Error)),
        ("v1.30.6", kubelet, Some(Severity::Error)),
        ("v1.30.7", kubelet, Some(Severity::Info)),
        ("v1.31.2", kubelet, Some(Severity::Error)),
        ("v1.31.3", kubelet, Some(Severity::Info)),
        ("v1.36.0", kubelet, Some(Severity::Info)),
    ] {
        assert_eq!(of(version, more), expected, "{version} {more}");
    }
}

#[test]
fn selectors_of_rancher_match_as_the_planner_does() {
    let of = |selector: &str| {
        let config = format!(
            "    machineGlobalConfig:\n      kubelet-arg: [cloud-provider=external]\n    machineSelectorConfig:\n      - config:\n          kubelet-arg: [max-pods=1]\n{selector}    machinePools: [{{name: a, etcdRole: true, controlPlaneRole: true}}, {{name: b, workerRole: true}}]\n"
        );
        let all = found(&rancher("v1.33.1+rke2r1", &config));
        let names: Vec<String> = all
            .iter()
            .filter(|finding| finding.rule == "rancher-selector-replaces-list")
            .map(|finding| finding.message.split(" replaces").next().unwrap().to_owned())
            .collect();
        (names.len(), all.iter().any(|finding| finding.rule == "rancher-selector-matches-no-machine"))
    };
    let expression =
        |body: &str| format!("        machineLabelSelector:\n          matchExpressions:\n            - {{{body}}}\n");
    let label = |body: &str| format!("        machineLabelSelector:\n          matchLabels: {{{body}}}\n");
    for (selector, expected) in [
        (String::new(), (1, false)),
        ("        machineLabelSelector: null\n".to_owned(), (1, false)),
        (label("rke.cattle.io/worker-role: 'true'"), (1, false)),
        (label("rke.cattle.io/worker-role: true"), (0, true)),
        (label("rke.cattle.io/worker-role: 'yes'"), (0, true)),
        (label("node-role.kubernetes.io/worker: 'true'"), (0, true)),
        (label("team: shop"), (0, false)),
        (expression("key: rke.cattle.io/etcd-role, operator: In, values: ['true']"), (1, false)),
        (expression("key: rke.cattle.io/etcd-role, operator: NotIn, values: ['true']"), (1, false)),
        (expression("key: rke.cattle.io/etcd-role, operator: Exists"), (1, false)),
        (expression("key: rke.cattle.io/etcd-role, operator: In, values: ['false']"), (0, true)),
    ] {
        assert_eq!(of(&selector), expected, "{selector}");
    }
}

#[test]
fn drop_ins_of_rke2_replace_or_add() {
    let of = |drop_in: &str| {
        let main =
            "cloud-provider-name: external\ndisable-cloud-controller: true\nkubelet-arg:\n  - cloud-config=/etc/c\n";
        let evidence = Evidence::parse("/etc/rancher/rke2/config.yaml", main.into()).unwrap();
        let more = Evidence::parse("/etc/rancher/rke2/config.yaml.d/10.yaml", drop_in.into()).unwrap();
        let mut lint = KubernetesLint::default();
        lint.check(&[more.and(evidence)], &RULES);
        lint.findings.iter().map(|finding| finding.rule).collect::<Vec<_>>()
    };
    assert_eq!(of("kubelet-arg:\n  - max-pods=10\n"), Vec::<&str>::new(), "a later list replaces an earlier one");
    assert_eq!(of("kubelet-arg+:\n  - max-pods=10\n"), ["kubelet-cloud-config-flag"], "and one with a plus adds to it");
}

/// A cloud controller as a manifest, with nodes.
fn controller(pod: &str, args: &str, nodes: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: ccm, namespace: kube-system}}\nspec:\n  template:\n    spec:\n      hostNetwork: true\n{pod}      containers:\n        - name: ccm\n          image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0\n          args: [--cloud-provider=aws, {args}]\n{nodes}"
    )
}

fn node(labels: &str, taints: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Node\nmetadata: {{name: n, labels: {{{labels}}}}}\nspec: {{taints: [{taints}]}}\nstatus: {{nodeInfo: {{kubeletVersion: v1.33.1}}}}\n"
    )
}

const NO_ROUTES: &str = "--configure-cloud-routes=false";

/// Kubernetes' own table: core/v1 `TestTolerationToleratesTaint`, and the tolerations that pods of a `DaemonSet` get.
#[test]
fn taints_are_tolerated_as_the_scheduler_does() {
    let of = |toleration: &str, taint: &str| {
        let uninitialized = "        - {key: node.cloudprovider.kubernetes.io/uninitialized, operator: Exists}\n";
        let pod = format!("      tolerations:\n{uninitialized}        - {toleration}\n");
        let all = rules_of(&controller(&pod, NO_ROUTES, &node("", taint)));
        all.iter().all(|(rule, _)| *rule != "ccm-toleration-missing")
    };
    let taint = "{key: foo, value: bar, effect: NoSchedule}";
    for (toleration, taint, tolerates) in [
        ("{key: foo, operator: Exists, effect: NoSchedule}", taint, true),
        ("{key: foo, operator: Exists}", taint, true),
        ("{operator: Exists}", taint, true),
        ("{key: foo, value: bar}", taint, true),
        ("{key: foo, operator: Equal, value: bar, effect: NoSchedule}", taint, true),
        ("{key: foo, value: other}", taint, false),
        ("{key: other, operator: Exists}", taint, false),
        ("{key: foo, value: bar, effect: NoExecute}", taint, false),
        ("{key: foo}", "{key: foo, effect: NoSchedule}", true),
        ("{key: foo, value: ''}", "{key: foo, value: '', effect: NoSchedule}", true),
        ("{key: foo, value: 'true'}", "{key: foo, effect: NoSchedule}", false),
        ("{key: x}", "{key: foo, effect: PreferNoSchedule}", true),
        ("{key: x}", "{key: node.kubernetes.io/not-ready, effect: NoExecute}", true),
        ("{key: x}", "{key: node.kubernetes.io/unschedulable, effect: NoSchedule}", true),
    ] {
        assert_eq!(of(toleration, taint), tolerates, "{toleration} and {taint}");
    }
}

#[test]
fn selectors_and_affinity_are_matched_as_the_scheduler_does() {
    let of = |pod: &str, labels: &str| {
        let pod = format!("      tolerations: [{{operator: Exists}}]\n{pod}");
        rules_of(&controller(&pod, NO_ROUTES, &node(labels, ""))).is_empty()
    };
    let affinity = |terms: &str| {
        format!(
            "      affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{terms}]}}}}}}\n"
        )
    };
    let term = |body: &str| affinity(&format!("{{matchExpressions: [{{{body}}}]}}"));
    let label = "node-role.kubernetes.io/control-plane";
    for (pod, labels, selects) in [
        (String::new(), String::new(), true),
        (format!("      nodeSelector: {{{label}: ''}}\n"), format!("{label}: ''"), true),
        (format!("      nodeSelector: {{{label}: ''}}\n"), format!("{label}: 'true'"), false),
        (format!("      nodeSelector: {{{label}: 'true'}}\n"), format!("{label}: 'true'"), true),
        (term(&format!("key: {label}, operator: Exists")), format!("{label}: 'true'"), true),
        (term(&format!("key: {label}, operator: DoesNotExist")), format!("{label}: 'true'"), false),
        (term("key: a, operator: In, values: [x, y]"), "a: y".to_owned(), true),
        (term("key: a, operator: NotIn, values: [x, y]"), "a: y".to_owned(), false),
        (term("key: a, operator: NotIn, values: [x, y]"), String::new(), true),
        (term("key: a, operator: Gt, values: ['3']"), "a: '4'".to_owned(), true),
        (term("key: a, operator: Lt, values: ['3']"), "a: '4'".to_owned(), false),
        (
            affinity(
                "{matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: b, operator: Exists}]}",
            ),
            "b: ''".to_owned(),
            true,
        ),
        (affinity("{}"), "b: ''".to_owned(), false),
    ] {
        assert_eq!(of(&pod, &labels), selects, "{pod} on {labels}");
    }
}

#[test]
fn cloud_routes_need_a_range_that_can_be_used() {
    let of = |args: &str| {
        let pod = "      tolerations: [{operator: Exists}]\n";
        let all = rules_of(&controller(pod, args, ""));
        !all.iter().any(|(rule, _)| *rule == "ccm-cloud-routes-without-cidr")
    };
    for (args, works) in [
        ("--v=2", false),
        ("--configure-cloud-routes=false", true),
        ("--configure-cloud-routes=0", true),
        ("--configure-cloud-routes", false),
        ("--cluster-cidr=10.244.0.0/16", true),
        ("--cluster-cidr, 10.244.0.0/16", true),
        ("'--cluster-cidr=10.244.0.0/16,fd00::/48'", true),
        ("'--cluster-cidr=10.244.0.0/16,10.245.0.0/16'", false),
        ("--cluster-cidr=10.244.0.0", false),
        ("--cluster-cidr=10.244.0.0/33", false),
        ("'--controllers=*,-route'", true),
        ("'--controllers=*,-node-route-controller'", true),
        ("--controllers=service", true),
        ("'--controllers=*,-service'", false),
    ] {
        assert_eq!(of(args), works, "{args}");
    }
}

#[test]
fn the_version_of_the_controller_follows_that_of_kubernetes() {
    let of = |tag: &str, kubelet: &str| {
        let text = controller("      tolerations: [{operator: Exists}]\n", NO_ROUTES, &node("", ""));
        let text = text.replace("v1.33.0", tag).replace("v1.33.1", kubelet);
        rules_of(&text).into_iter().find(|(rule, _)| *rule == "ccm-version-skew").map(|(_, severity)| severity)
    };
    for (tag, kubelet, expected) in [
        ("v1.33.0", "v1.33.9", None),
        ("v1.32.0", "v1.33.0", None),
        ("v1.31.0", "v1.33.0", Some(Severity::Warning)),
        ("v1.34.0", "v1.33.0", Some(Severity::Warning)),
        ("v1.35.0", "v1.33.0", Some(Severity::Error)),
        ("v1.26.0", "v1.27.0", Some(Severity::Error)),
        ("v1.25.0", "v1.26.0", None),
        ("latest", "v1.33.0", None),
    ] {
        assert_eq!(of(tag, kubelet), expected, "{tag} on {kubelet}");
    }
}

/// A Service for a load balancer of AWS, with annotations behind the common prefix.
pub(super) fn service(annotations: &[(&str, &str)], more: &str) -> String {
    let prefix = "service.beta.kubernetes.io/";
    let line = |(key, value): &(&str, &str)| format!("    {prefix}{key}: {}\n", serde_json::json!(value));
    let annotations = annotations.iter().map(line).collect::<Vec<String>>().concat();
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    {prefix}aws-load-balancer-additional-resource-tags: a=b\n{annotations}spec:\n  type: LoadBalancer\n  ports: [{{name: https, port: 443}}]\n{more}"
    )
}

#[test]
fn who_owns_a_service_decides_what_its_annotations_do() {
    const TYPE: &str = "aws-load-balancer-type";
    const TARGET: &str = "aws-load-balancer-nlb-target-type";
    let of = |annotations: &[(&str, &str)], more: &str| -> Vec<&'static str> {
        rules_of(&service(annotations, more)).into_iter().map(|(rule, _)| rule).collect()
    };
    // `scheme` is read by the AWS Load Balancer Controller alone, `connection-idle-timeout` by the cloud controller for Classic ones.
    let scheme = ("aws-load-balancer-scheme", "internal");
    let idle = ("aws-load-balancer-connection-idle-timeout", "60");
    let wrong = "svc-annotation-wrong-controller";
    for (annotations, more, expected) in [
        (vec![idle], "", vec![]),
        (vec![scheme], "", vec![wrong]),
        (vec![(TYPE, "nlb"), idle], "", vec!["svc-annotation-no-effect"]),
        (vec![(TYPE, "nlb-ip"), scheme], "", vec![]),
        (vec![(TYPE, "nlb-ip"), idle], "", vec![wrong]),
        (vec![(TYPE, "external"), (TARGET, "ip"), scheme], "", vec![]),
        (vec![(TYPE, "external"), (TARGET, "instance"), scheme], "", vec![]),
        (vec![(TYPE, "external")], "", vec!["svc-owned-by-nobody"]),
        (vec![(TYPE, "external"), (TARGET, "pods")], "", vec!["svc-owned-by-nobody"]),
        (vec![(TYPE, "alb"), idle], "", vec!["svc-type-value-unknown"]),
        (vec![scheme], "  loadBalancerClass: service.k8s.aws/nlb\n", vec![]),
        (vec![scheme, idle], "  loadBalancerClass: example.com/own\n", vec![]),
        // With the webhook of the AWS Load Balancer Controller new Services are its own.
        (
            vec![(TYPE, "nlb"), scheme],
            "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: w}\nwebhooks: [{name: mservice.elbv2.k8s.aws}]\n",
            vec![],
        ),
    ] {
        assert_eq!(of(&annotations, more), expected, "{annotations:?} {more}");
    }
}

#[test]
fn values_of_annotations_are_read_as_the_controller_does() {
    let of = |annotations: &[(&str, &str)]| -> Vec<(&'static str, Severity)> { rules_of(&service(annotations, "")) };
    let nlb = ("aws-load-balancer-type", "nlb");
    let internal = "aws-load-balancer-internal";
    let value = "svc-annotation-value";
    for (annotations, expected) in [
        (vec![(internal, "true")], vec![]),
        (vec![(internal, "false")], vec![]),
        (vec![(internal, "")], vec![]),
        (vec![(internal, "0.0.0.0/0")], vec![]),
        (vec![(internal, "False")], vec![("svc-internal-value", Severity::Error)]),
        (vec![(internal, "0")], vec![("svc-internal-value", Severity::Error)]),
        (vec![(internal, "no")], vec![("svc-internal-value", Severity::Error)]),
        (vec![(internal, "yes")], vec![("svc-internal-value", Severity::Warning)]),
        (vec![("aws-load-balancer-access-log-enabled", "T")], vec![]),
        (vec![("aws-load-balancer-access-log-enabled", "on")], vec![(value, Severity::Error)]),
        (vec![("aws-load-balancer-healthcheck-interval", "5")], vec![]),
        (vec![("aws-load-balancer-healthcheck-interval", "4")], vec![(value, Severity::Error)]),
        (vec![nlb, ("aws-load-balancer-healthcheck-interval", "4")], vec![]),
        (vec![("aws-load-balancer-healthcheck-interval", "5s")], vec![(value, Severity::Error)]),
        (vec![("aws-load-balancer-healthcheck-protocol", "HTTP")], vec![]),
        (vec![("aws-load-balancer-healthcheck-protocol", "SSL")], vec![]),
        (vec![nlb, ("aws-load-balancer-healthcheck-protocol", "SSL")], vec![(value, Severity::Error)]),
        (vec![("aws-load-balancer-access-log-enabled", "")], vec![]),
        (vec![("aws-load-balancer-proxy-protocol", "")], vec![]),
        (vec![("aws-load-balancer-connection-draining-timeout", "")], vec![]),
        (vec![("aws-load-balancer-healthcheck-interval", "")], vec![(value, Severity::Error)]),
        (vec![nlb, ("aws-load-balancer-target-group-attributes", "preserve_client_ip.enabled=true,")], vec![]),
        (
            vec![nlb, ("aws-load-balancer-target-group-attributes", "preserve_client_ip.enabled = true")],
            vec![(value, Severity::Error)],
        ),
        (vec![nlb, ("aws-load-balancer-healthcheck-port", "")], vec![(value, Severity::Error)]),
        (vec![nlb, ("aws-load-balancer-healthcheck-protocol", "")], vec![(value, Severity::Error)]),
        (vec![("aws-load-balancer-healthcheck-port", "")], vec![(value, Severity::Error)]),
        (vec![("aws-load-balancer-healthcheck-protocol", "")], vec![]),
        (vec![("aws-load-balancer-healthcheck-path", "")], vec![]),
        (vec![("aws-load-balancer-healthcheck-port", "traffic-port")], vec![]),
        (vec![("aws-load-balancer-healthcheck-port", "https")], vec![(value, Severity::Error)]),
        (vec![("aws-load-balancer-subnets", " , ")], vec![(value, Severity::Error)]),
        (vec![("aws-load-balancer-proxy-protocol", "*")], vec![]),
        (vec![("aws-load-balancer-proxy-protocol", "true")], vec![(value, Severity::Error)]),
        (vec![nlb, ("aws-load-balancer-target-group-attributes", "proxy_protocol_v2.enabled=true")], vec![]),
        (
            vec![nlb, ("aws-load-balancer-target-group-attributes", "stickiness.enabled=true")],
            vec![(value, Severity::Error)],
        ),
        (
            vec![("aws-load-balancer-target-group-attributes", "proxy_protocol_v2.enabled=true")],
            vec![("svc-annotation-no-effect", Severity::Error)],
        ),
        (vec![("aws-load-balancer-ssl-ports", "443")], vec![]),
        (vec![("aws-load-balancer-ssl-ports", "HTTPS")], vec![("svc-ssl-ports-match-nothing", Severity::Warning)]),
        (vec![("aws-load-balancer-ssl-ports", "https")], vec![]),
        (vec![nlb, ("aws-load-balancer-ssl-ports", "HTTPS")], vec![("svc-ssl-ports-match-nothing", Severity::Warning)]),
        (vec![("aws-load-balancer-ssl-ports", "*")], vec![]),
        (
            vec![("aws-load-balancer-ssl-cert", "a"), ("aws-load-balancer-backend-protocol", "HTTP")],
            vec![(value, Severity::Error)],
        ),
        (vec![("aws-load-balancer-backend-protocol", "HTTP")], vec![("svc-annotation-no-effect", Severity::Warning)]),
        (vec![("aws-load-balancer-backend-protocol", "http")], vec![]),
    ] {
        assert_eq!(of(&annotations), expected, "{annotations:?}");
    }
}

#[test]
fn annotations_are_new_in_a_version_on_both_sides_of_it() {
    let of = |suffix: &str, value: &str, tag: &str| {
        let text = service(&[("aws-load-balancer-type", "nlb"), (suffix, value)], "---\n");
        let text =
            text + &controller("      tolerations: [{operator: Exists}]\n", NO_ROUTES, "").replace("v1.33.0", tag);
        rules_of(&text).iter().any(|(rule, _)| *rule == "svc-annotation-too-new")
    };
    let addresses = |tag: &str| of("aws-load-balancer-private-ipv4-addresses", "10.0.0.1", tag);
    assert_eq!(["v1.34.0", "v1.35.0"].map(addresses), [true, false]);
    let attributes =
        |tag: &str| of("aws-load-balancer-target-group-attributes", "preserve_client_ip.enabled=true", tag);
    for (tag, is_new) in [
        ("v1.31.9", true),
        ("v1.32.5", true),
        ("v1.32.6", false),
        ("v1.33.2", true),
        ("v1.33.3", false),
        ("v1.34.0", false),
        ("v1.34.1", true),
        ("v1.34.2", false),
        ("v1.35.0", false),
    ] {
        assert_eq!(attributes(tag), is_new, "{tag}");
    }
    let extra = |tag: &str| {
        let text =
            service(&[("aws-load-balancer-type", "nlb"), ("aws-load-balancer-extra-security-groups", "sg-1")], "---\n");
        let text =
            text + &controller("      tolerations: [{operator: Exists}]\n", NO_ROUTES, "").replace("v1.33.0", tag);
        let all = rules_of(&text);
        all.into_iter().find(|(rule, _)| *rule == "svc-annotation-no-effect").map(|(_, severity)| severity)
    };
    assert_eq!(["v1.34.3", "v1.35.0"].map(extra), [Some(Severity::Warning), Some(Severity::Error)]);
}

#[test]
fn names_of_annotations_that_nobody_reads_are_told_with_what_was_meant() {
    let text = |key: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n    {key}: x\nspec: {{type: LoadBalancer}}\n"
        )
    };
    for (key, meant) in [
        (
            "service.beta.kubernetes.io/aws-load-balancer-ssl-certs",
            Some("service.beta.kubernetes.io/aws-load-balancer-ssl-cert"),
        ),
        (
            "service.kubernetes.io/aws-load-balancer-ssl-cert",
            Some("service.beta.kubernetes.io/aws-load-balancer-ssl-cert"),
        ),
        (
            "service.beta.kuberntes.io/aws-load-balancer-ssl-cert",
            Some("service.beta.kubernetes.io/aws-load-balancer-ssl-cert"),
        ),
        (
            "service.alpha.kubernetes.io/aws-load-balancer-ssl-cert",
            Some("service.beta.kubernetes.io/aws-load-balancer-ssl-cert"),
        ),
        ("service.beta.kubernetes.io/aws-load-balancer-ssl-cert", None),
        ("service.beta.kubernetes.io/aws-load-balancer-listener-attributes.TCP-80", None),
        ("service.beta.kubernetes.io/do-loadbalancer-name", None),
        ("alb.ingress.kubernetes.io/aws-load-balancer-x", None),
    ] {
        let all = found(&text(key));
        let told = all.iter().find(|finding| finding.rule == "svc-annotation-unknown");
        assert_eq!(
            told.map(|finding| finding.fix.summary.clone()),
            meant.map(|meant| format!("write `{meant}`")),
            "{key}"
        );
        if told.is_some() {
            assert_eq!(line_of(&text(key), "svc-annotation-unknown"), Some(6), "the key is marked");
        }
    }
}

#[test]
fn rights_are_those_of_all_roles_that_are_bound() {
    let of = |role: &str, binding: &str| {
        let text =
            controller("      serviceAccountName: ccm\n      tolerations: [{operator: Exists}]\n", NO_ROUTES, "");
        let role = format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: ccm}}\nrules: [{role}]\n"
        );
        let binding = format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: ccm}}\nroleRef: {{kind: ClusterRole, name: {binding}}}\nsubjects: [{{kind: ServiceAccount, name: ccm, namespace: kube-system}}]\n"
        );
        let all = found(&(text + &role + &binding));
        all.into_iter().find(|finding| finding.rule == "ccm-rbac-missing").map(|finding| finding.message)
    };
    let all = "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}";
    assert_eq!(of(all, "ccm"), None);
    assert_eq!(of(all, "other"), None, "of a role that was not given nothing is known");
    let most = "{apiGroups: [''], resources: [nodes, '*/status', services, events], verbs: ['*']}";
    assert_eq!(
        of(most, "ccm").as_deref(),
        Some("ServiceAccount kube-system/ccm may not get leases, create leases, update leases")
    );
    let leases = "{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}";
    assert_eq!(of(&format!("{most}, {leases}"), "ccm"), None);
}

// The built binary.

pub(super) fn text(output: &Output) -> (Option<i32>, String) {
    let all = [output.stdout.clone(), output.stderr.clone()].concat();
    (output.status.code(), String::from_utf8(all).unwrap())
}

pub(super) fn lint(arguments: &[&str]) -> Output {
    run(&[&["lint"], arguments].concat())
}

#[test]
fn the_page_shows_the_line_and_marks_the_place() {
    let (code, page) = text(&lint(&["fixtures/kubernetes/broken/rancher.yaml"]));
    assert_eq!(code, Some(1));
    insta::assert_snapshot!("lint", page);
}

#[test]
fn the_page_on_the_use_shows_what_it_prints() {
    let (_, page) = text(&lint(&["fixtures/kubernetes/broken/rancher.yaml"]));
    let usage = super::documents::read("docs/using.md");
    let shown = usage.split("```text\n").find(|block| block.starts_with("error[rancher-")).unwrap();
    let shown = shown.split("```").next().unwrap().trim_end();
    assert!(page.contains(shown), "{shown}");
}

#[test]
fn lines_that_are_shown_hide_credentials() {
    for format in ["table", "json", "sarif", "markdown", "junit", "github", "csv"] {
        let (_, page) = text(&lint(&["--format", format, "fixtures/kubernetes/broken/alibaba.yaml"]));
        assert!(page.contains("ali-access-key-in-configmap"), "{format}");
        assert!(!page.contains("not-a-key") && !page.contains("not-a-secret"), "{format}: {page}");
    }
}

#[test]
fn every_format_has_the_places() {
    let file = "fixtures/kubernetes/broken/services.yaml";
    let output = lint(&["--format", "json", file]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let errors: Vec<String> = schema("lint.schema.json")
        .iter_errors(&report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.len() > 10 && findings.iter().all(|finding| finding["locations"][0]["file"] == file));
    let sarif: Value = serde_json::from_slice(&lint(&["--format", "sarif", file]).stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), findings.len());
    for result in results {
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert!(region["startLine"].as_u64().unwrap() > 1 && region["endColumn"].as_u64().unwrap() > 1, "{result}");
    }
    for format in ["markdown", "junit", "csv"] {
        let (code, page) = text(&lint(&["--format", format, file]));
        assert!(code == Some(1) && page.contains("svc-owned-by-nobody"), "{format}");
    }
    insta::assert_snapshot!("lint-sarif-result", serde_json::to_string_pretty(&results[0]).unwrap());
}

#[test]
fn folders_are_read_and_what_cannot_be_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let root = folder.path().to_str().unwrap();
    write("readme.md", "# nothing");
    write("other.yaml", "a: b\n");
    let (code, page) = text(&lint(&[root]));
    assert_eq!(code, Some(4), "nothing was looked at: {page}");
    write("web.yaml", &service(&[], ""));
    write(".hidden/bad.yaml", "a: [");
    let (code, page) = text(&lint(&[root]));
    assert_eq!(code, Some(0), "{page}");
    assert!(page.contains("nothing to check in 1 other file"), "{page}");
    write("chart/templates/ccm.yaml", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  {{- include \"x\" . }}\n");
    let (code, page) = text(&lint(&[root]));
    assert_eq!(code, Some(0), "a folder may hold templates: {page}");
    assert!(page.contains("1 template skipped"), "{page}");
    let (code, page) = text(&lint(&[&format!("{root}/chart/templates/ccm.yaml")]));
    assert!(code == Some(4) && page.contains("1 template skipped"), "nothing else was named: {page}");
    write("patch.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 2}\n");
    let (code, page) = text(&lint(&[root]));
    assert_eq!(code, Some(0), "a patch is no workload: {page}");
    assert!(page.contains("nothing to check in 3 other files"), "{page}");
    write("broken.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n\tname: x\n");
    write("z.yaml", &service(&[("aws-load-balancer-type", "external")], ""));
    let (code, page) = text(&lint(&[root]));
    assert_eq!(code, Some(1), "{page}");
    assert!(page.contains("svc-owned-by-nobody"), "what is in the other files is told: {page}");
    assert!(page.contains("broken.yaml") && page.contains("line 4"), "{page}");
}

#[test]
fn hostile_files_end_in_an_error_with_their_place() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let before = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", ")));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.yaml");
    for (text_of, told) in [
        (bomb, "aliases"),
        (format!("a: {}", "[".repeat(5_000)), "recursion limit exceeded at line 1"),
        (format!("{{\"kind\": \"List\", \"items\": {}", "[".repeat(5_000)), "line 1"),
        ("a:\n\t- b\n".to_owned(), "line 2"),
        ("a: &a [*a]\n".to_owned(), "contains it"),
        (
            "apiVersion: v1\nkind: ServiceList\nmetadata: {continue: abc}\nitems: []\n".to_owned(),
            "first part of a list",
        ),
        ("\u{0}\u{1}\u{2}".to_owned(), "line 1"),
    ] {
        std::fs::write(&file, &text_of).unwrap();
        let (code, page) = text(&lint(&[file.to_str().unwrap()]));
        assert_eq!(code, Some(2), "{page}");
        assert!(page.contains("error: ") && page.contains(told), "{told}: {page}");
    }
    // An object that the API server rejects is a finding, and the others are checked.
    for (text_of, told) in [
        (
            "{\"kind\": \"List\", \"items\": [{\"kind\": \"Service\", \"metadata\": {\"name\": \"x\", \"namespace\": 7}}]}",
            "Service x: `metadata.namespace` is a number instead of a string",
        ),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: x, annotations: {a: [true]}}\n",
            "Service x: `metadata.annotations[\"a\"]` is a list instead of a string",
        ),
    ] {
        std::fs::write(&file, text_of).unwrap();
        let (code, page) = text(&lint(&[file.to_str().unwrap()]));
        assert!(code == Some(1) && page.contains(told), "{told}: {page}");
    }
    std::fs::write(&file, b"a: \xff").unwrap();
    assert!(text(&lint(&[file.to_str().unwrap()])).1.contains("not UTF-8 at line 1, column 4"));
}

#[test]
fn names_from_files_do_not_steer_the_terminal() {
    let hostile = service(&[("aws-load-balancer-type", "\u{1b}[31mx\u{202e}")], "");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.yaml");
    std::fs::write(&file, hostile.replace("\\u001b", "\\e")).unwrap();
    for format in ["table", "json", "markdown", "sarif", "junit", "csv"] {
        let output = command().args(["lint", "--format", format, file.to_str().unwrap()]).output().unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        assert!(page.contains("svc-type-value-unknown"), "{format}: {page}");
        assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'), "{format}");
    }
}

#[test]
fn rules_clouds_and_versions_are_chosen() {
    let file = "fixtures/kubernetes/broken/rke2/config.yaml";
    let (_, page) = text(&lint(&["--rule", "kubelet-cloud-config-flag", "--kubernetes-version", "1.34", file]));
    assert!(page.starts_with("error[kubelet-cloud-config-flag]"), "{page}");
    assert!(!page.contains("feature-gate-removed"), "{page}");
    let (_, page) = text(&lint(&["--rule", "kubelet-cloud-config-flag", "--kubernetes-version", "1.33", file]));
    assert!(page.starts_with("warning[kubelet-cloud-config-flag]"), "{page}");
    let (code, page) = text(&lint(&["--rule", "subnet-*", file]));
    assert_eq!(code, Some(2), "{page}");
    let (_, page) = text(&lint(&["--provider", "aws", "fixtures/kubernetes/broken/alibaba.yaml"]));
    assert!(!page.contains("ali-"), "{page}");
    let (code, page) = text(&lint(&["--fail-on", "never", "fixtures/kubernetes/broken/services.yaml"]));
    assert_eq!(code, Some(0), "{page}");
}

/// A scan takes the same files, and finds the same in them beside what it finds in the account.
#[test]
fn a_scan_takes_folders_of_yaml() {
    let scan = |kubernetes: &str| -> (Option<i32>, Value) {
        let inventory =
            ["scan", "--no-config", "--cluster-id", "c-m-4x8z2k9q", "--inventory", "fixtures/clean-rke2.json"];
        let output = run(&[&inventory[..], &["--format", "json", "--kubernetes", kubernetes]].concat());
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
    };
    let (code, report) = scan("fixtures/kubernetes/broken/rancher.yaml");
    assert_eq!(code, Some(1));
    let rules: BTreeSet<&str> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect();
    assert!(rules.contains("rancher-selector-config-misindented"), "{rules:?}");
    let of_lint: BTreeMap<String, String> = checked(&[folder("broken").join("rancher.yaml")])
        .findings
        .iter()
        .filter(|finding| tagaudit::internals::rules::find(finding.rule).unwrap().providers().contains(&Provider::Aws))
        .map(|finding| (finding.fingerprint.clone(), finding.rule.to_owned()))
        .collect();
    let of_scan: BTreeMap<String, String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| tagaudit::internals::rules::find(finding["rule"].as_str().unwrap()).unwrap().is_on_evidence())
        .map(|finding| {
            (finding["fingerprint"].as_str().unwrap().to_owned(), finding["rule"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(of_scan, of_lint);
    // The subnets and the certificate of `services.yaml` are not in this account.
    // The Node of `controller.yaml` names a region that this account was not read in.
    for (file, code) in [("rancher.yaml", 0), ("controller.yaml", 3), ("services.yaml", 1), ("rke2", 0)] {
        assert_eq!(scan(&format!("fixtures/kubernetes/clean/{file}")).0, Some(code), "{file}");
    }
    assert_eq!(scan("fixtures/kubernetes/nowhere").0, Some(2));
}

#[test]
fn what_ends_on_the_way_to_a_version_is_an_error() {
    let file = "fixtures/kubernetes/broken/kubeadm.yaml";
    let of =
        |target: &str| text(&lint(&["--rule", "apiserver-cloud-provider-flag", "--target-kubernetes", target, file])).1;
    assert!(of("1.32").starts_with("warning["), "{}", of("1.32"));
    assert!(
        of("1.33").starts_with("error[") && of("1.33").contains("until 1.32, and the target is 1.33"),
        "{}",
        of("1.33")
    );
    let excluded = "fixtures/kubernetes/broken/excluded.yaml";
    let of =
        |target: &str| text(&lint(&["--rule", "svc-host-name-not-classic", "--target-controller", target, excluded])).1;
    assert!(of("1.35").starts_with("note["), "{}", of("1.35"));
    assert!(of("1.36").starts_with("error["), "{}", of("1.36"));
    let cluster = rancher("v1.33.1+rke2r1", "    machineGlobalConfig: {cloud-provider-name: external}\n");
    let severity = |target: Option<&str>| {
        let target = Target { kubernetes: target.map(|target| target.parse().unwrap()), controller: None };
        let mut lint = KubernetesLint::default();
        lint.check(&[Evidence::parse("f.yaml", cluster.clone().into_bytes()).unwrap().towards(target)], &RULES);
        lint.findings.iter().find(|one| one.rule == "embedded-ccm-still-on").map(|one| one.severity)
    };
    assert_eq!(
        [None, Some("1.35"), Some("1.36")].map(severity),
        [Severity::Warning, Severity::Warning, Severity::Error].map(Some)
    );
}

#[test]
fn which_nodes_stand_behind_a_load_balancer() {
    let of = |labels: &str, tag: &str, annotations: &[(&str, &str)]| {
        let node = node(labels, "").replace("spec: {taints: []}", "spec: {providerID: 'aws:///a/i-1'}");
        let text = service(annotations, "")
            + "---\n"
            + &controller("      tolerations: [{operator: Exists}]\n", NO_ROUTES, &node).replace("v1.33.0", tag);
        let is_asked = |rule: &&str| rule.contains("node") && *rule != "node-excluded-worker";
        rules_of(&text).into_iter().map(|(rule, _)| rule).filter(is_asked).collect::<Vec<_>>()
    };
    const LABEL: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
    let no_node = "svc-no-eligible-node";
    assert_eq!(of("", "v1.33.0", &[]), [""; 0]);
    assert_eq!(of(&format!("{LABEL}: ''"), "v1.34.0", &[]), [no_node]);
    assert_eq!(of(&format!("{LABEL}: 'true'"), "v1.34.0", &[]), [no_node]);
    assert_eq!(of(&format!("{LABEL}: 'false'"), "v1.34.0", &[]), [""; 0]);
    assert_eq!(of(&format!("{LABEL}: 'false'"), "v1.33.0", &[]).len(), 2);
    let labels = [("aws-load-balancer-target-node-labels", "pool=web,zone")];
    assert_eq!(of("pool: web, zone: a", "v1.33.0", &labels), [""; 0]);
    assert_eq!(of("pool: db, zone: a", "v1.33.0", &labels), [no_node]);
    assert_eq!(of("pool: web", "v1.33.0", &labels), [no_node]);
}

/// What the tool prints as right is right for its own rules, at every version, and the versions that have none are refused.
#[test]
fn examples_pass_lint_at_every_version() {
    let mut checked_files = 0;
    for distribution in ["rke2", "k3s", "rke", "kubeadm"] {
        for minor in 27..=36 {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("example");
            let root = root.to_str().unwrap();
            let version = format!("1.{minor}");
            let example = |more: &[&str]| {
                run(&[&["example", distribution, "--kubernetes-version", version.as_str()], more].concat())
            };
            let (code, page) = text(&example(&["-o", root]));
            if distribution == "rke" && minor > 32 {
                assert_eq!(code, Some(2), "{page}");
                continue;
            }
            assert_eq!(code, Some(0), "{page}");
            assert_eq!(text(&example(&["-o", root])).0, Some(2), "nothing is overwritten");
            for file in files_of(Path::new(root)) {
                let name = file.file_name().unwrap().to_str().unwrap();
                let given = std::fs::read_to_string(&file).unwrap();
                if let Some(role) = name.strip_prefix("policy-").and_then(|name| name.strip_suffix(".json")) {
                    let baseline = format!("effective-{role}");
                    let against = [
                        "policy",
                        "diff",
                        "--baseline",
                        &baseline,
                        "--controller-version",
                        &version,
                        file.to_str().unwrap(),
                    ];
                    let (code, page) = text(&run(&against));
                    assert_eq!(code, Some(0), "{page}");
                    assert!(page.contains("granted"), "{page}");
                } else if name != "tags.md" {
                    let (code, page) =
                        text(&lint(&["--fail-on", "info", "--kubernetes-version", &version, file.to_str().unwrap()]));
                    assert_eq!(code, Some(0), "{distribution} 1.{minor} {name}: {page}\n{given}");
                    checked_files += 1;
                }
            }
            // All of it together, as one cluster has it.
            let (code, page) = text(&lint(&["--fail-on", "info", "--kubernetes-version", &version, root]));
            assert!(matches!(code, Some(0)), "{distribution} 1.{minor}: {page}");
        }
    }
    assert!(checked_files > 80, "{checked_files}");
    for version in ["1.26", "1.37", "2.0"] {
        assert_eq!(text(&run(&["example", "rke2", "--kubernetes-version", version])).0, Some(2), "{version}");
    }
    insta::assert_snapshot!(
        "example-rke2",
        text(&run(&["example", "rke2", "--kubernetes-version", "1.33", "--cluster-id", "shop"])).1
    );
    insta::assert_snapshot!("example-kubeadm", text(&run(&["example", "kubeadm", "--kubernetes-version", "1.30"])).1);
}

#[test]
fn what_nodes_are_started_with_is_shown_merged_and_without_secrets() {
    let explain = |arguments: &[&str]| text(&run(&[&["explain", "--effective"], arguments].concat()));
    let (code, page) = explain(&["prod", "--kubernetes", "fixtures/kubernetes/broken/rancher.yaml"]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("effective", page);
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("rke2/config.yaml.d/60.json", "{\"kubelet-arg\": [\"cloud-provider=aws\"]}");
    write("rke2/config.yaml.d/.70.yaml", "kubelet-arg+: [node-labels=x=y, node-labels=z=w, feature-gates+=A=true]\n");
    write(
        "rke2/config.yaml",
        "token: K10topsecret\nkubelet-arg: [node-ip=a=b, env=DB=topsecret]\ntls-san: [x]\netcd-s3-secret-key: topsecret\nvpn-auth: joinKey=topsecret\nserver: https://u:topsecret@h\nkube-apiserver-arg: [etcd-servers=https://u:topsecret@e]\n",
    );
    write("rke2/config.yaml.d/50.yaml", "kubelet-arg+: [c=d, registry-password=topsecret]\n");
    let root = folder.path().to_str().unwrap();
    for format in ["text", "json"] {
        let (code, page) = explain(&["config.yaml", "--kubernetes", root, "--format", format]);
        assert_eq!(code, Some(0), "{page}");
        assert!(page.contains("a=b") && page.contains("50.yaml") && !page.contains("topsecret"), "{page}");
        assert!(page.contains("x=y") && page.contains("z=w"), "flags that add up stay: {page}");
        assert!(!page.contains("60.json"), "drop-ins end like YAML: {page}");
    }
    let (code, page) = explain(&["other", "--kubernetes", root]);
    assert_eq!(code, Some(2), "{page}");
    assert!(page.contains("known names: "), "{page}");
}

#[test]
fn values_of_other_charts_are_not_taken_for_those_of_the_controller() {
    let is_one =
        |text: &str| Evidence::parse("values.yaml", text.into()).is_ok_and(|one| !one.controllers().is_empty());
    for (values, expected) in [
        ("args: [--cloud-provider=aws]\nnodeSelector: {a: b}\n", true),
        ("args: [--cloud-provider=aws]\n", false),
        ("image: {repository: registry.k8s.io/provider-aws/cloud-controller-manager}\n", true),
        (
            "image: {repository: registry.example.com/aws-cloud-controller-manager}\nargs: [--cloud-provider=external]\n",
            true,
        ),
        ("image: {repository: registry.example.com/cloud-controller-manager}\nargs: [--cloud-provider=aws]\n", true),
        ("image: {repository: registry.example.com/cloud-controller-manager}\nargs: [--cloud-provider=gce]\n", false),
        (
            "image: {repository: docker.io/hetznercloud/hcloud-cloud-controller-manager}\nargs: {cloud-provider: hcloud}\n",
            false,
        ),
        ("image: {repository: registry.k8s.io/provider-os/openstack-cloud-controller-manager}\n", false),
        (
            "image: {repository: registry.k8s.io/autoscaling/cluster-autoscaler}\nargs: [--cloud-provider=aws]\nnodeSelector: {a: b}\n",
            false,
        ),
        ("image: {repository: registry.k8s.io/kube-controller-manager}\nargs: [--cloud-provider=external]\n", false),
    ] {
        assert_eq!(is_one(values), expected, "{values}");
    }
}

#[test]
fn single_values_of_a_chart_go_over_the_others() {
    let of = |set: &str| {
        rules_of(&format!(
            "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {{name: ccm, namespace: kube-system}}\nspec:\n  chart: aws-cloud-controller-manager\n  bootstrap: yes\n  set: {set}\n  valuesContent: |-\n    args: [--cloud-provider=aws, --configure-cloud-routes=false]\n"
        ))
    };
    assert_eq!(of("{}"), [("ccm-not-host-network", Severity::Warning)]);
    assert_eq!(of("{hostNetworking: 'true'}"), []);
    assert_eq!(of("{hostNetworking: yes}"), []);
    assert_eq!(of("{'args[0]': --v=2}"), [], "what it makes of a list is not known");
}

#[test]
fn flags_are_read_as_the_controller_reads_them() {
    let of = |args: &str| -> Vec<&'static str> {
        let all = rules_of(&controller("      tolerations: [{operator: Exists}]\n", args, ""));
        all.into_iter().map(|(rule, _)| rule).collect()
    };
    assert_eq!(
        of("--configure-cloud-routes, 'false'"),
        ["ccm-cloud-routes-without-cidr"],
        "a switch takes no other word"
    );
    assert_eq!(of("--leader-elect, 'false', --configure-cloud-routes=false"), [""; 0]);
    assert_eq!(of("'--controllers=*', '--controllers=-node-route-controller'"), [""; 0], "lists add up");
    assert_eq!(of("'--controllers=-cloud-node', --configure-cloud-routes=false"), ["node-controller-disabled"]);
    assert_eq!(of("'--cluster-cidr=10.0.0.0/16, fd00::/48'"), ["ccm-cloud-routes-without-cidr"]);
    let kubeadm = |argument: &str| {
        rules_of(&format!(
            "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration: {{kubeletExtraArgs: {{{argument}}}}}\n"
        ))
    };
    assert_eq!(kubeadm("cloud_provider: external"), [], "underscores are dashes");
    assert_eq!(kubeadm("'cloud-provider ': external"), [("component-argument-misspelt", Severity::Error)]);
}

#[test]
fn booleans_of_yaml_1_1_are_booleans() {
    let config = |value: &str| {
        let text = format!(
            "cluster-init: true\nflannel-backend: none\ndisable-cloud-controller: {value}\nkubelet-arg: [cloud-provider=external]\n"
        );
        rules_of(&text).into_iter().map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    for value in ["true", "yes", "on", "Yes"] {
        assert_eq!(config(value), [""; 0], "{value}");
    }
    for value in ["false", "no", "off"] {
        assert_eq!(config(value), ["embedded-ccm-still-on"], "{value}");
    }
}

#[test]
fn roles_that_are_put_together_elsewhere_are_not_known() {
    let text = controller("      serviceAccountName: ccm\n      tolerations: [{operator: Exists}]\n", NO_ROUTES, "");
    let rest = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: ccm}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules: []\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: ccm}\nroleRef: {kind: ClusterRole, name: ccm}\nsubjects: [{kind: ServiceAccount, name: ccm, namespace: kube-system}]\n";
    assert_eq!(rules_of(&(text + rest)), []);
}

#[test]
fn pools_are_told_apart_where_a_selector_names_them() {
    let of = |pool: &str| {
        let config = format!(
            "    machineGlobalConfig: {{disable-cloud-controller: true}}\n    machineSelectorConfig:\n      - config: {{kube-apiserver-arg: [cloud-provider=external]}}\n        machineLabelSelector: {{matchLabels: {{rke.cattle.io/rke-machine-pool-name: {pool}}}}}\n    machinePools: [{{name: control, etcdRole: true, controlPlaneRole: true}}, {{name: work, workerRole: true}}]\n"
        );
        rules_of(&rancher("v1.33.1+rke2r1", &config)).into_iter().map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    assert_eq!(of("control"), ["apiserver-cloud-provider-flag"]);
    assert_eq!(of("work"), [""; 0], "workers run no kube-apiserver");
    let blank = "    machineSelectorConfig: [{config: {}}]\n";
    assert_eq!(rules_of(&rancher("v1.33.1+rke2r1", blank)), [], "Rancher's own form writes it");
}

#[test]
fn rancher_leaves_out_what_a_machine_does_not_take() {
    let of = |config: &str, quantity: usize| {
        let config = format!(
            "    machineGlobalConfig: {{disable-cloud-controller: true, {config}}}\n    machinePools: [{{name: a, etcdRole: true, controlPlaneRole: true, quantity: {quantity}}}]\n"
        );
        rules_of(&rancher("v1.33.1+rke2r1", &config)).into_iter().map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    assert_eq!(of("kubelet-arg: [cloud-config=/c]", 3), ["kubelet-cloud-config-flag"]);
    assert_eq!(of("kubelet-arg+: [cloud-config=/c]", 3), [""; 0], "it knows no such key");
    assert_eq!(of("node-name: a", 3), ["node-name-constant"]);
    assert_eq!(of("node-name: a", 1), [""; 0], "one machine may have one name");
}

#[test]
fn the_own_controller_of_k3s_makes_kubelets_external_and_stands_in_the_way() {
    let of = |config: &str| -> Vec<&'static str> {
        let values = "---\nimage: {repository: registry.k8s.io/provider-aws/cloud-controller-manager}\nhostNetworking: true\nargs: [--cloud-provider=aws, --configure-cloud-routes=false]\n";
        let server = format!("cluster-init: true\nflannel-backend: vxlan\ndisable: [servicelb]\n{config}");
        rules_of(&(server + values)).into_iter().map(|(rule, _)| rule).collect()
    };
    assert_eq!(of(""), ["embedded-ccm-still-on"]);
    assert_eq!(of("disable-cloud-controller: true\n"), ["kubelet-cloud-provider-missing"]);
    assert_eq!(of("kubelet-arg: [cloud-provider=external]\n"), ["embedded-ccm-still-on"]);
    assert_eq!(of("disable-cloud-controller: true\nkubelet-arg: [cloud-provider=external]\n"), [""; 0]);
}

#[test]
fn extra_arguments_of_rke_in_lists_are_read() {
    let of = |args: &str| {
        rules_of(&format!(
            "kubernetes_version: v1.28.5-rancher1-1\nnodes: [{{address: a, internal_address: b, role: [worker]}}]\nservices: {{kubelet: {{{args}}}}}\n"
        ))
    };
    assert_eq!(of("extra_args_array: {cloud-provider: [aws]}"), [("in-tree-cloud-provider", Severity::Error)]);
    assert_eq!(of("extra_args: {cloud-provider: aws}"), [("in-tree-cloud-provider", Severity::Error)]);
    assert_eq!(of("extra_args: {max-pods: '1'}"), []);
}

#[test]
fn what_is_lost_of_a_list_is_told_by_its_name() {
    let config = "    machineGlobalConfig: {kube-controller-manager-extra-env: [AWS_SECRET_ACCESS_KEY=topsecret]}\n    machineSelectorConfig:\n      - config: {kube-controller-manager-extra-env: [A=b]}\n    machinePools: [{name: a, controlPlaneRole: true}]\n";
    let all = found(&rancher("v1.33.1+rke2r1", config));
    let told = all.iter().find(|finding| finding.rule == "rancher-selector-replaces-list").unwrap();
    assert!(told.message.contains("AWS_SECRET_ACCESS_KEY") && !told.message.contains("topsecret"), "{}", told.message);
}

#[test]
fn what_the_scheduler_does_not_place_needs_no_toleration() {
    let of = |kind: &str, more: &str, args: &str| {
        let text = controller(more, args, "").replace("kind: DaemonSet", kind);
        rules_of(&text).iter().any(|(rule, _)| *rule == "ccm-toleration-missing")
    };
    assert!(of("kind: DaemonSet", "", NO_ROUTES) && of("kind: Deployment", "", NO_ROUTES));
    assert!(!of("kind: Deployment", "", &format!("{NO_ROUTES}, --kubeconfig=/k")), "it works for another cluster");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: ccm, namespace: kube-system}\nspec:\n  nodeName: a\n  hostNetwork: true\n  containers: [{name: c, image: 'x/aws-cloud-controller-manager:v1.33.0', args: [--cloud-provider=aws, --configure-cloud-routes=false]}]\n";
    assert_eq!(rules_of(pod), []);
}

#[test]
fn folders_are_clusters_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    for (name, namespace) in [("prod", "kube-system"), ("stage", "ccm")] {
        let args = format!("{NO_ROUTES}, --leader-elect-resource-namespace={namespace}");
        let text = controller("      tolerations: [{operator: Exists}]\n", &args, "");
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("ccm.yaml"), text).unwrap();
    }
    let root = folder.path().to_str().unwrap();
    assert_eq!(text(&lint(&[root])).0, Some(0));
    let [one, other] = ["prod", "stage"].map(|name| format!("{root}/{name}/ccm.yaml"));
    let (code, page) = text(&lint(&[&one, &other]));
    assert_eq!(code, Some(1), "files that are named together are of one cluster: {page}");
    assert!(page.contains("ccm-duplicate"), "{page}");
    std::fs::write(folder.path().join("t.yaml"), "a: {{ .Values.x }}\nb: [\n").unwrap();
    assert_eq!(text(&lint(&[&format!("{root}/t.yaml")])).0, Some(4), "a template by its name too");
}

#[test]
fn a_configuration_of_the_alibaba_controller_of_unknown_version_is_a_warning() {
    let of = |tag: &str| {
        let text = std::fs::read_to_string(folder("broken").join("alibaba.yaml")).unwrap().replace("v2.9.0", tag);
        let all = rules_of(&text);
        all.into_iter().find(|(rule, _)| *rule == "ali-flag-removed").map(|(_, severity)| severity)
    };
    assert_eq!(
        ["v1.9.3.110-g3ab4ff5-aliyun", "latest", "v2.9.0"].map(of),
        [Severity::Warning, Severity::Warning, Severity::Error].map(Some)
    );
}

#[test]
fn fields_of_services_are_marked_where_they_stand() {
    let text = service(&[], "  sessionAffinity: ClientIP\n");
    let line = text.lines().position(|line| line.contains("sessionAffinity")).unwrap() + 1;
    assert_eq!(line_of(&text, "svc-field-unsupported"), Some(line));
}

#[test]
fn kubeadm_says_what_kubelets_are_given_where_it_registers_nodes() {
    let values = "---\nimage: {repository: registry.k8s.io/provider-aws/cloud-controller-manager}\nhostNetworking: true\nargs: [--cloud-provider=aws, --configure-cloud-routes=false]\n";
    let of = |configuration: &str| -> Vec<(&'static str, Severity)> {
        let text = format!("apiVersion: kubeadm.k8s.io/v1beta4\n{configuration}{values}");
        rules_of(&text).into_iter().filter(|(rule, _)| *rule == "kubelet-cloud-provider-missing").collect()
    };
    let rule = "kubelet-cloud-provider-missing";
    assert_eq!(of("kind: ClusterConfiguration\nkubernetesVersion: v1.31.0\n"), []);
    assert_eq!(of("kind: JoinConfiguration\n"), [(rule, Severity::Warning)], "the unit of the kubelet may say it");
    assert_eq!(of("kind: InitConfiguration\n"), [(rule, Severity::Warning)]);
    let with = |argument: &str| {
        format!("kind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n    - {{name: {argument}}}\n")
    };
    assert_eq!(of(&with("cloud-provider, value: external")), []);
    assert_eq!(of(&with("max-pods, value: \"50\"")), [(rule, Severity::Warning)], "the unit of the kubelet may say it");
    assert_eq!(of(&with("cloud-provider, value: \"\"")), [(rule, Severity::Warning)]);
}

#[test]
fn a_switch_in_quotation_marks_is_a_text() {
    let of = |value: &str| {
        let text = format!(
            "kubernetes_version: v1.31.1-rancher1-1\ncloud_provider:\n  name: external-aws\n  useInstanceMetadataHostname: {value}\nnodes:\n  - {{address: 10.0.0.1, internal_address: 10.0.0.1, role: [worker]}}\n"
        );
        rules_of(&text).into_iter().filter(|(rule, _)| *rule == "rke-metadata-hostname-off").count()
    };
    for (value, expected) in [
        ("true", 0),
        ("yes", 0),
        ("on", 0),
        ("\"yes\"", 1),
        ("'on'", 1),
        ("\"true\"", 1),
        ("\"no\"", 1),
        ("maybe", 1),
        ("no", 1),
    ] {
        assert_eq!(of(value), expected, "{value}");
    }
}

#[test]
fn waivers_and_severities_hold_for_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let lint = |configuration: &str, more: &[&str]| {
        std::fs::write(folder.path().join("tagaudit.toml"), configuration).unwrap();
        let file = super::fixtures::path("kubernetes/broken/ecr.yaml");
        let output = command().current_dir(folder.path()).arg("lint").arg(file).args(more).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let waiver = |expires: &str, resource: &str| {
        format!(
            "[[waiver]]\nrule = \"ecr-config-invalid\"\nresource = \"{resource}\"\nreason = \"is replaced\"\nexpires = {expires}\n"
        )
    };
    assert_eq!(lint("", &[]).0, Some(1));
    let (code, page, error) = lint(&waiver("2999-12-31", "*"), &[]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{page}");
    assert!(page.contains("2 waived (-v lists them)") && page.contains("0 errors, 1 warning"), "{page}");
    assert!(!page.contains("error[ecr-config-invalid]"), "{page}");
    let (_, page, _) = lint(&waiver("2999-12-31", "*"), &["-v"]);
    assert!(page.contains("waived: ecr-config-invalid: ") && page.contains("is replaced (until 2999-12-31"), "{page}");
    let (_, json, _) = lint(&waiver("2999-12-31", "*"), &["--format", "json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    let left = report["findings"].as_array().unwrap().iter().filter(|finding| finding["status"] == "waived");
    assert_eq!(left.count(), 2);
    assert!(schema("lint.schema.json").is_valid(&report));
    // Expired, of another resource, and switched off.
    let (code, _, error) = lint(&waiver("2020-01-01", "*"), &[]);
    assert!(
        code == Some(1) && error.contains("tagaudit.toml:1: the waiver of `ecr-config-invalid` expired"),
        "{error}"
    );
    let (code, _, error) = lint(&waiver("2999-12-31", "other"), &[]);
    assert_eq!((code, error.as_str()), (Some(1), ""), "what matches nothing here may be for a cluster");
    assert_eq!(lint(&waiver("2999-12-31", "*"), &["--no-config"]).0, Some(1));
    let (code, page, _) = lint("[severity]\n\"ecr-config-invalid\" = \"info\"\n", &[]);
    assert!(code == Some(0) && page.contains("note[ecr-config-invalid]"), "{page}");
    let (code, _, error) = lint("[[waiver]]\nrule = \"nonsense\"\n", &[]);
    assert!(code == Some(2) && error.contains("tagaudit.toml"), "{error}");
}

#[test]
fn a_configuration_of_the_kubelet_has_gates_and_an_id() {
    let of = |version: &str, body: &str| {
        let text = format!(
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: {version}\n---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{body}"
        );
        found(&text)
            .into_iter()
            .map(|finding| (finding.rule, finding.severity, finding.locations[0].line))
            .collect::<Vec<_>>()
    };
    let gates = "featureGates:\n  Other: true\n  KubeletCredentialProviders: true\n";
    assert_eq!(of("v1.28.9", gates), [("feature-gate-removed", Severity::Warning, 9)]);
    assert_eq!(of("v1.29.0", gates), [("feature-gate-removed", Severity::Error, 9)]);
    assert_eq!(of("v1.29.0", "featureGates: {Other: false}\n"), []);
    assert_eq!(of("v1.31.0", "providerID: aws:///us-east-1a/i-0123456789abcdef0\n"), [], "it may be for one node");
    assert_eq!(of("v1.31.0", "providerID: my-node\n"), [("provider-id-constant", Severity::Error, 7)]);
    assert_eq!(of("v1.31.0", "maxPods: 50\n"), []);
}

/// A rule passes nothing without what it needed for its findings.
#[test]
fn what_was_not_given_is_not_passed() {
    use tagaudit::internals::kubernetes::DocumentKind;
    use tagaudit::internals::rules::Outcome;
    let newest = Target { kubernetes: "1.33".parse().ok(), controller: "1.36".parse().ok() };
    let mut wrong = Vec::new();
    for files in clusters("broken") {
        for target in [Target::default(), newest] {
            let whole = || {
                let mut evidence = Evidence::default();
                for file in &files {
                    let name = file.display().to_string();
                    evidence = evidence.and(Evidence::parse(&name, std::fs::read(file).unwrap()).unwrap());
                }
                evidence.towards(target)
            };
            let of = |evidence: Evidence| {
                let mut lint = KubernetesLint::default();
                lint.check(&[evidence], &RULES);
                lint
            };
            let all: BTreeSet<&str> = of(whole()).findings.iter().map(|one| one.rule).collect();
            let kinds: BTreeSet<DocumentKind> = whole().documents.iter().map(|one| one.kind).collect();
            let mut parts: Vec<(String, Evidence)> = Vec::new();
            let mut part = |name: &str, take: fn(&mut Evidence)| {
                let mut one = whole();
                take(&mut one);
                parts.push((name.to_owned(), one));
            };
            part("nodes", |one| one.nodes = None);
            part("services", |one| one.services = None);
            part("workloads", |one| {
                one.workloads.clear();
                one.workload_lists.clear();
            });
            part("configs", |one| one.cloud_configs.clear());
            for kind in kinds {
                let mut one = whole();
                one.documents.retain(|one| one.kind != kind);
                one.document_lists.remove(&kind);
                parts.push((format!("{kind:?}"), one));
            }
            for (part, evidence) in parts {
                let lint = of(evidence);
                for rule in &lint.rules {
                    if all.contains(rule.rule) && rule.outcome == Outcome::Passed {
                        wrong.push(format!("{} without {part} ({:?})", rule.rule, files[0].file_name()));
                    }
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert_eq!(wrong, Vec::<String>::new());
}

/// In a folder, files that git ignores and those of `--exclude` are skipped; a file that is named is read.
#[test]
fn folders_are_read_without_what_is_ignored_excluded_or_a_template() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let broken = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncloudProvider: external\n";
    let right = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ClusterIP}\n";
    write(".gitignore", "vendor/\n");
    write("vendor/kubelet.yaml", broken);
    write("tests/kubelet.yaml", broken);
    write("right.yaml", right);
    write("charts/a/templates/a.yaml", "kind: A\n{{ if .Values.b }}\nb: c\n{{ end }}\n");
    let lint = |more: &[&str], path: &str| {
        let path = folder.path().join(path);
        let all = [&["lint", "--no-config"], more, &[path.to_str().unwrap()]].concat();
        let output = super::binary::run(&all);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(lint(&[], "").0, Some(1), "what is not ignored is looked at");
    let (code, told) = lint(&["--exclude", "tests/"], "");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("1 template skipped"), "{told}");
    assert_eq!(lint(&["--exclude", "**/kubelet.yaml"], "").0, Some(0));
    assert_eq!(lint(&["--exclude", "tests/"], "vendor/kubelet.yaml").0, Some(1), "a file that is named");
    let (code, told) = lint(&["--exclude", "["], "");
    assert!(code == Some(2) && told.contains("--exclude ["), "{told}");
}
