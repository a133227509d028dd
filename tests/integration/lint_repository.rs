//! `tagaudit lint` in repositories: files of other tools, comments, Services that charts and operators make, objects of Cluster API.

use serde_json::Value;
use tagaudit::internals::finding::Severity;
use tagaudit::internals::kubernetes::Evidence;
use tagaudit::internals::kubernetes_lint::KubernetesLint;
use tagaudit::internals::rules::RULES;

use super::documents::schema;
use super::lint::{found, lint, rules_of, service, text};

/// The table of `docs/kubernetes.md`: what each input comes to, named and found, beside a file that is right.
#[test]
fn inputs_come_to_what_the_table_says() {
    let docs = super::documents::read("docs/kubernetes.md");
    let rows: Vec<Vec<&str>> = docs
        .split("| input | named on the command line | found in a folder |")
        .nth(1)
        .unwrap()
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let template = "apiVersion: v1\nkind: Service\nmetadata:\n  {{- include \"x\" . }}\n";
    let inputs: [&[&str]; 5] = [
        &[&service(&[("aws-load-balancer-type", "nlb")], "")],
        &[template, "{% if x %}\nkind: Service\n{% endif %}\n"],
        &["a: b\n", "{}\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"],
        &["@import 'x';\n", "a: [\n", "- a\nb\n"],
        &["apiVersion: v1\nkind: Service\nmetadata:\n\tname: x\n", "cloud-provider: [\n"],
    ];
    assert_eq!(rows.len(), inputs.len() + 1, "what cannot be opened depends on who opens it");
    for (row, texts) in rows.iter().zip(inputs) {
        for input in texts {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
            std::fs::write(path("right.yaml"), service(&[], "")).unwrap();
            std::fs::write(path("input.yaml"), input).unwrap();
            let named = text(&lint(&[&path("right.yaml"), &path("input.yaml")]));
            let found = text(&lint(&[folder.path().to_str().unwrap()]));
            for ((code, page), says) in [named, found].into_iter().zip([row[1], row[2]]) {
                let expected = says.rsplit_once("exit code ").map_or(0, |(_, code)| code.parse().unwrap());
                assert_eq!(code, Some(expected), "{input:?}: {says}: {page}");
                assert_eq!(
                    page.contains("nothing to check in 1 other file"),
                    says.contains("counted"),
                    "{input:?}: {page}"
                );
                assert_eq!(page.contains("1 template skipped"), says.contains("skipped"), "{input:?}: {page}");
                assert_eq!(page.contains("Not checked: 1"), says.contains("not read"), "{input:?}: {page}");
            }
        }
    }
}

/// Services that a chart or an operator makes: annotations are looked at wherever they stand, and nothing is said of what is not there.
#[test]
fn services_to_come_are_in_values_and_custom_resources() {
    let rule = "svc-annotation-unknown";
    let wrong = "service.beta.kubernetes.io/aws-load-balancer-tyype: nlb";
    for (text, expected) in [
        (format!("controller:\n  service:\n    annotations:\n      {wrong}\n"), Some("Service /controller.service ")),
        (format!("annotations:\n  {wrong}\n"), Some("Service /annotations ")),
        (format!("serviceAnnotations:\n  {wrong}\n"), Some("Service /serviceAnnotations ")),
        (format!("a:\n- b:\n    annotations: {{{wrong}}}\n"), Some("Service /a.0.b ")),
        (format!("service:\n  type: ClusterIP\n  annotations:\n    {wrong}\n"), None),
        (
            format!(
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: x}}\nspec:\n  values:\n    service:\n      annotations:\n        {wrong}\n"
            ),
            Some("Service /spec.values.service "),
        ),
        (
            format!(
                "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nmetadata: {{name: rke2-ingress-nginx, namespace: kube-system}}\nspec:\n  valuesContent: |\n    controller:\n      service:\n        annotations:\n          {wrong}\n"
            ),
            Some("Service /controller.service "),
        ),
        (
            format!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata:\n  name: x\n  annotations:\n    {wrong}\n"),
            None,
        ),
        ("service:\n  annotations:\n    prometheus.io/scrape: 'true'\n".to_owned(), None),
        ("controller:\n  service:\n    annotations:\n      service.beta.kubernetes.io/aws-load-balancer-type: nlb\n      service.beta.kubernetes.io/aws-load-balancer-ssl-ports: https\n".to_owned(), None),
    ] {
        let found = match Evidence::parse("values.yaml", text.clone().into_bytes()) {
            Ok(evidence) => {
                let mut lint = KubernetesLint::default();
                lint.check(&[evidence], &RULES);
                lint.findings
            }
            Err(error) => {
                assert!(expected.is_none() && error.to_string().contains("nothing"), "{text}: {error}");
                continue;
            }
        };
        let messages: Vec<&str> =
            found.iter().filter(|finding| finding.rule == rule).map(|finding| finding.message.as_str()).collect();
        match expected {
            Some(name) => assert!(messages.len() == 1 && messages[0].starts_with(name), "{text}: {messages:?}"),
            None => assert!(found.iter().all(|one| one.rule == "gateway-not-judged"), "{text}: {found:?}"),
        }
    }
}

/// Nobody gives a Node its id where the AWS Load Balancer Controller is alone.
#[test]
fn nodes_without_an_id_are_told_beside_the_load_balancer_controller_alone() {
    let node = |spec: &str| format!("apiVersion: v1\nkind: Node\nmetadata: {{name: a}}\nspec: {spec}\n---\n");
    let with = |image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: c, namespace: kube-system}}\nspec:\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      containers:\n      - {{name: c, image: '{image}'}}\n"
        )
    };
    let alone = with("public.ecr.aws/eks/aws-load-balancer-controller:v2.8.1");
    let waits = "{taints: [{key: node.cloudprovider.kubernetes.io/uninitialized, value: 'true', effect: NoSchedule}]}";
    for (text, expected) in [
        (node("{}") + &alone, true),
        (node("{providerID: 'aws:///eu-west-1a/i-0123456789abcdef0'}") + &alone, false),
        (node(waits) + &alone, false),
        (node("{}") + &with("nginx:1"), false),
    ] {
        let found = rules_of(&text).contains(&("node-provider-id-missing", Severity::Warning));
        assert_eq!(found, expected, "{text}");
    }
}

/// kOps chooses the cloud provider by itself, and hands feature gates on.
#[test]
fn objects_of_kops_are_configurations() {
    let cluster = |version: &str, provider: &str, gates: &str| {
        format!(
            "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {{name: x}}\nspec:\n  cloudProvider: {provider}\n  kubernetesVersion: {version}\n  kubelet:\n    cloudProvider: external\n    featureGates: {{{gates}}}\n"
        )
    };
    let group = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec: {role: Node, kubelet: {featureGates: {InTreePluginAWSUnregister: 'true'}}}\n";
    let gone = "InTreePluginAWSUnregister: 'true'";
    for (text, expected) in [
        (cluster("1.33.2", "aws", gone), vec![("feature-gate-removed", Severity::Error)]),
        (cluster("1.33.2", "{aws: {}}", gone), vec![("feature-gate-removed", Severity::Error)]),
        (cluster("1.33.2", "gce", gone), vec![]),
        (cluster("1.33.2", "{gce: {}}", gone), vec![]),
        (cluster("1.33.2", "aws", ""), vec![]),
        (cluster("1.33.2", "aws", "SidecarContainers: 'true'"), vec![]),
        (cluster("1.33.2", "aws", "").replace("cloudProvider: external", "cloudProvider: aws"), vec![]),
        (group.to_owned(), vec![("feature-gate-removed", Severity::Warning)]),
    ] {
        assert_eq!(rules_of(&text), expected, "{text}");
    }
}

/// Cluster API's provider for RKE2: arguments of lists, with dashes or without, by the version of the object.
#[test]
fn objects_of_cluster_api_for_rke2_are_configurations() {
    let control_plane = |version: &str, spec: &str| {
        format!(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: RKE2ControlPlane\nmetadata: {{name: x}}\nspec:\n  version: {version}\n{spec}"
        )
    };
    let server = |key: &str, argument: &str| {
        format!(
            "  serverConfig:\n    {key}:\n      extraArgs:\n      - {argument}\n  agentConfig:\n    kubelet:\n      extraArgs: [cloud-provider=external]\n"
        )
    };
    let template = "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: RKE2ConfigTemplate\nmetadata: {name: w}\nspec:\n  template:\n    spec:\n      agentConfig:\n        kubelet:\n          extraArgs: [\"--cloud-provider=aws\"]\n";
    for (text, expected) in [
        (
            control_plane("v1.33.1+rke2r1", &server("kubeAPIServer", "--cloud-provider=external")),
            vec![("apiserver-cloud-provider-flag", Severity::Error)],
        ),
        (
            control_plane("v1.32.1+rke2r1", &server("kubeAPIServer", "cloud-provider=external")),
            vec![("apiserver-cloud-provider-flag", Severity::Warning)],
        ),
        (
            control_plane("v1.28.1+rke2r1", &server("kubeControllerManager", "--cloud-provider=aws")),
            vec![("in-tree-cloud-provider", Severity::Error)],
        ),
        (control_plane("v1.33.1+rke2r1", &server("kubeControllerManager", "--cloud-provider=external")), vec![]),
        (template.to_owned(), vec![("in-tree-cloud-provider", Severity::Warning)]),
        (template.replace("provider=aws", "provider=external"), vec![]),
    ] {
        let found: Vec<_> = rules_of(&text).into_iter().filter(|(rule, _)| rule.contains("cloud-provider")).collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// A component without any provider gives no Node an id: what ends is replaced, and not only taken out.
#[test]
fn what_takes_the_place_of_an_argument_is_named() {
    let text = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n    cloud-provider: aws\n";
    let found = found(text);
    let finding = found.iter().find(|finding| finding.rule == "in-tree-cloud-provider").unwrap();
    assert!(
        finding.fix.summary.contains(
            "replace `cloud-provider=aws` with `cloud-provider=external`, once the external controller is installed"
        ),
        "{}",
        finding.fix.summary
    );
}

/// RKE takes any key of a service: only what is like one that all of them have is a mistake.
#[test]
fn keys_of_services_of_rke_that_are_nearly_right_are_told() {
    let of = |key: &str| {
        let text = format!(
            "nodes: []\nkubernetes_version: v1.26.4-rancher2-1\nservices:\n  kube-controller:\n    {key}: {{a: b}}\n"
        );
        rules_of(&text).contains(&("rke-key-unknown", Severity::Error))
    };
    for (key, is_wrong) in [
        ("extra_args", false),
        ("extra_args_array", false),
        ("extra_arg", true),
        ("extra-args", true),
        ("cluster_cidr", false),
        ("service_node_port_range", false),
    ] {
        assert_eq!(of(key), is_wrong, "{key}");
    }
}

/// A comment at the place of a finding leaves it as it is; one that is wrong, or about nothing, is told.
#[test]
fn comments_leave_findings_as_they_are() {
    let unknown = "    service.beta.kubernetes.io/aws-load-balancer-tyype: nlb";
    let with = |before: &str, behind: &str| {
        let annotations = format!("{before}{unknown}{behind}\n");
        format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  annotations:\n{annotations}spec:\n  type: LoadBalancer\n  ports: [{{port: 80}}]\n"
        )
    };
    let comment = |rules: &str, reason: &str| format!("    # tagaudit: ignore[{rules}]{reason}\n");
    let rule = "svc-annotation-unknown";
    for (before, behind, is_heeded, warning) in [
        (String::new(), "", false, ""),
        (comment(rule, " why"), "", true, ""),
        (String::new(), " # tagaudit: ignore[svc-annotation-unknown] why", true, ""),
        (
            comment(&format!("svc-owned-by-nobody, {rule}"), " why"),
            "",
            true,
            ":6: the comment for `svc-owned-by-nobody` matches no",
        ),
        (format!("{}    # another\n", comment(rule, " why")), "", true, ""),
        (
            format!("{}\n", comment(rule, " why")),
            "",
            false,
            ":6: the comment for `svc-annotation-unknown` matches no finding",
        ),
        (comment(rule, ""), "", false, ":6: the comment gives no reason"),
        (comment("svc-annotation", " why"), "", false, ":6: no rule is called `svc-annotation`"),
        (comment("*", " why"), "", false, ":6: no rule is called `*`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.yaml");
        std::fs::write(&path, with(&before, behind)).unwrap();
        let path = path.to_str().unwrap();
        let output = lint(&[path, "--format", "json", "--fail-on", "warning"]);
        assert_eq!(output.status.code(), Some(i32::from(!is_heeded)), "{before}{behind}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let of_rule = report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule).unwrap();
        assert_eq!(of_rule["status"] == "waived", is_heeded, "{before}{behind}");
        if is_heeded {
            assert_eq!(of_rule["waiver"]["reason"], "why");
            assert!(of_rule["waiver"].get("expires").is_none());
            assert!(schema("lint.schema.json").is_valid(&report), "{report}");
        }
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.is_empty(), warning.is_empty(), "{said}");
        assert!(said.contains(warning), "{said}");
        for format in ["sarif", "markdown", "junit", "csv", "table"] {
            let (_, page) = text(&lint(&[path, "--format", format, "-v"]));
            assert!(!is_heeded || page.contains("why"), "{format}: {page}");
        }
    }
}

/// A hook names every changed file, whatever tool it is for.
#[test]
fn a_hook_passes_files_of_other_tools_and_fails_on_findings() {
    let hooks = super::documents::read(".pre-commit-hooks.yaml");
    let entries: Vec<&str> = hooks.lines().filter_map(|line| line.trim().strip_prefix("entry: ")).collect();
    assert_eq!(entries, ["tagaudit lint --allow-empty"; 2]);
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let foreign = put("playbook.yaml", "- hosts: all\n  tasks: [\n");
    let secret = put("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n");
    let wrong = put("service.yaml", &service(&[("aws-load-balancer-cross-zone-load-balancing-enabled", "maybe")], ""));
    let code = |paths: &[&str]| lint(&[&["--allow-empty"], paths].concat()).status.code();
    assert_eq!(code(&[&foreign, &secret]), Some(0));
    assert_eq!(code(&[&secret]), Some(0));
    assert_eq!(code(&[&foreign, &wrong]), lint(&[wrong.as_str()]).status.code());
    assert_eq!(lint(&[wrong.as_str()]).status.code(), Some(1));
    // Without the flag, a file that was named on purpose must hold something.
    assert_eq!(lint(&[secret.as_str()]).status.code(), Some(4));
}

/// A branch is judged by what it changes, with everything else in view.
#[test]
fn only_files_that_changed_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let ended = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    };
    let wrong = service(&[("aws-load-balancer-typ", "nlb")], "");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("old.yaml", &wrong);
    write("same.yaml", &service(&[], ""));
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "a"]);
    let lint = |since: &[&str]| {
        let arguments = [&["lint", "--fail-on", "warning", "--format", "json", "."], since].concat();
        let output = super::binary::command().args(arguments).current_dir(folder.path()).output().unwrap();
        let files: Vec<String> = serde_json::from_slice::<Value>(&output.stdout)
            .map(|report| {
                let findings = report["findings"].as_array().unwrap().iter();
                findings.map(|one| one["locations"][0]["file"].as_str().unwrap().to_owned()).collect()
            })
            .unwrap_or_default();
        (output.status.code(), files, String::from_utf8(output.stderr).unwrap())
    };
    let has = |files: &[String], name: &str| files.iter().any(|file| file.ends_with(name));
    let (code, files, _) = lint(&[]);
    assert_eq!(code, Some(1));
    assert!(has(&files, "old.yaml"));
    // Nothing has changed.
    assert_eq!(lint(&["--changed-since", "HEAD"]).1, Vec::<String>::new());
    assert_eq!(lint(&["--changed-since", "HEAD"]).0, Some(0));
    write("new.yaml", &wrong);
    let (code, files, _) = lint(&["--changed-since", "HEAD"]);
    assert_eq!(code, Some(1));
    assert!(has(&files, "new.yaml") && !has(&files, "old.yaml"), "{files:?}");
    let (code, _, message) = lint(&["--changed-since", "--output=x"]);
    assert_eq!(code, Some(2));
    assert!(!folder.path().join("x").exists(), "{message}");
    let (code, _, message) = lint(&["--changed-since", "no-such-branch"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("cause:") && message.contains("no-such-branch"), "{message}");
}
