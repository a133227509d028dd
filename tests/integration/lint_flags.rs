//! Flags of the cloud controller and of kube-controller-manager, by version.

use serde_json::{Value, json};
use tagaudit::internals::finding::Severity;
use tagaudit::internals::kubernetes::{Evidence, Target};
use tagaudit::internals::kubernetes_lint::KubernetesLint;
use tagaudit::internals::rules::RULES;

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
            "`--configure-cloud-route`, which is not one of its flags: use `--configure-cloud-routes`",
        ),
        (
            "--service-cluster-ip-range=10.0.0.0/16",
            "`--service-cluster-ip-range`, which is not one of its flags: remove `--service-cluster-ip-range`",
        ),
        ("--port=0", "`--port`, which it supported until 1.23: remove `--port`"),
        (
            "--concurrent-node-status-updates=1",
            "`--concurrent-node-status-updates`, which it supports from 1.36 on: remove `--concurrent-node-status-updates`",
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
    let told = "DaemonSet kube-system/ccm has `--logtostderr`, which it supports until 1.25, and the target is 1.26";
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

fn cloud_config(text: &str) -> Value {
    let metadata = json!({"name": "cloud-config", "namespace": "kube-system"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"cloud.conf": text}})
}

/// What is said of a cloud configuration with some lines in `[Global]`, for a controller of a version.
fn said_of_global(tag: &str, lines: &str, target: Target) -> Vec<(Severity, String)> {
    let text = format!("[Global]\nKubernetesClusterID = x\n{lines}\n");
    let objects = [controller(tag, &[], &["--cloud-provider=aws"]), cloud_config(&text)];
    let all = told(&objects, "ccm-cloud-config-invalid", target);
    all.into_iter().map(|(severity, message, _)| (severity, message)).collect()
}

#[test]
fn the_cloud_controller_knows_the_variables_of_its_version() {
    let of = |tag: &str, line: &str| {
        let all = said_of_global(tag, line, Target::default());
        all.into_iter().map(|(severity, _)| severity).collect::<Vec<Severity>>()
    };
    const ENDS: [Severity; 1] = [Severity::Error];
    const READS_OVER: [Severity; 1] = [Severity::Warning];
    for (line, tag, expected) in [
        ("NodeIPFamilies=ipv4", "v1.21.5", ENDS.as_slice()),
        ("NodeIPFamilies=ipv4", "v1.22.0", &[]),
        ("Region=us-east-1", "v1.27.0", &ENDS),
        ("Region=us-east-1", "v1.27.1", &[]),
        ("Region=us-east-1", "v1.26.7", &READS_OVER),
        ("SourceARN=x", "v1.28.1", &ENDS),
        ("SourceARN=x", "v1.28.2", &[]),
        ("DisableStrictZoneCheck=true", "v1.27.0", &[]),
        ("DisableStrictZoneCheck=true", "v1.27.1", &ENDS),
        ("DisableStrictZoneCheck=true", "v1.27.3", &READS_OVER),
        ("SupportedTopologyInstanceTypePattern=x", "v1.32.1", &READS_OVER),
        ("SupportedTopologyInstanceTypePattern=x", "v1.32.2", &[]),
        ("ClusterServiceLoadBalancerHealthProbeMode=Shared", "v1.32.9", &READS_OVER),
        ("ClusterServiceLoadBalancerHealthProbeMode=Shared", "v1.33.0", &[]),
        ("NLBSecurityGroupMode=Managed", "v1.34.3", &READS_OVER),
        ("NLBSecurityGroupMode=Managed", "v1.35.0", &[]),
        ("Nonsense=x", "v1.28.1", &ENDS),
        ("Nonsense=x", "v1.28.2", &READS_OVER),
        // Of a version that is not known it is only certain that the setting does nothing.
        ("Nonsense=x", "latest", &READS_OVER),
        ("NLBSecurityGroupMode=Managed", "latest", &[]),
        ("DisableStrictZoneCheck=true", "latest", &[]),
    ] {
        assert_eq!(of(tag, line), expected, "{tag} {line}");
    }
    let on_the_way = said_of_global("v1.26.0", "DisableStrictZoneCheck=true", aim("1.27.1"));
    let message = "`DisableStrictZoneCheck` exists only before 1.27.1, but the target is 1.27.1".to_owned();
    assert_eq!(on_the_way, [(Severity::Error, message)]);
    assert_eq!(
        said_of_global("v1.26.0", "DisableStrictZoneCheck=true", aim("1.36")).first().map(|one| one.0),
        Some(Severity::Warning)
    );
    assert_eq!(said_of_global("v1.33.0", "Region=us-east-1", aim("1.36")), []);
}

#[test]
fn values_of_the_cloud_configuration_are_those_that_it_takes() {
    for (line, is_right) in [
        ("DisableSecurityGroupIngress", true),
        ("DisableSecurityGroupIngress=YES", true),
        ("disablesecuritygroupingress=0", true),
        ("DisableSecurityGroupIngress=enabled", false),
        ("DisableSecurityGroupIngress=", false),
        ("VPC", false),
        ("VPC=", true),
        ("NodeIPFamilies=ipv6\nNodeIPFamilies=ipv4", true),
        ("NodeIPFamilies=ipv4,ipv6", false),
        ("NodeIPFamilies=IPv4", false),
        ("NodeIPFamilies", true),
        ("ClusterServiceLoadBalancerHealthProbeMode=ServiceNodePort", true),
        ("ClusterServiceLoadBalancerHealthProbeMode=shared", false),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=10256", true),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=0x2810", true),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=-2147483648", true),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=2147483648", false),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=http", false),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=", false),
        ("NLBSecurityGroupMode=", true),
        ("NLBSecurityGroupMode=managed", false),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=\" 10256 \"", true),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=+5", true),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=+0x10", false),
        ("ClusterServiceSharedLoadBalancerHealthProbePort=0X2810", false),
        ("SupportedTopologyInstanceTypePattern=^(p|trn)[0-9]+", true),
        ("SupportedTopologyInstanceTypePattern=([", false),
        ("SupportedTopologyInstanceTypePattern=\"\\\\Qa[\\\\E\"", true),
        ("KubernetesClusterTag=x", true),
        ("KubernetesClusterTag=y", false),
    ] {
        let found = said_of_global("v1.36.0", line, Target::default());
        assert_eq!(found.is_empty(), is_right, "{line}: {found:?}");
        assert!(found.iter().all(|(severity, _)| *severity == Severity::Error), "{line}: {found:?}");
    }
}

#[test]
fn overrides_of_services_are_whole_and_stand_once() {
    let whole = "Service=ec2\nRegion=us-east-1\nURL=https://x\nSigningRegion=us-east-1\n";
    let of = |text: &str| {
        let all = told(&[cloud_config(text)], "ccm-cloud-config-invalid", Target::default());
        all.into_iter().map(|(_, message, _)| message).collect::<Vec<String>>()
    };
    let one = format!("[ServiceOverride \"1\"]\n{whole}");
    assert_eq!(of(&one), Vec::<String>::new());
    for missing in ["Service", "Region", "URL", "SigningRegion"] {
        let kept: Vec<&str> = one.lines().filter(|line| !line.starts_with(&format!("{missing}="))).collect();
        let text = kept.join("\n") + "\n";
        assert_eq!(of(&text), [format!("the override `1` lacks `{missing}`")]);
        let empty = text + &format!("{missing} = \" \"\n");
        assert_eq!(of(&empty), [format!("the override `1` lacks `{missing}`")]);
    }
    let twice = format!("{one}[ServiceOverride \"2\"]\n{whole}");
    assert_eq!(of(&twice), ["the overrides `1` and `2` are both for `ec2` in `us-east-1`"]);
    assert_eq!(of(&twice.replacen("us-east-1", "us-west-2", 1)), Vec::<String>::new());
    // A section in two parts is one.
    assert_eq!(of(&format!("{one}[serviceoverride \"1\"]\nSigningName=ec2\n")), Vec::<String>::new());
    assert_eq!(of(&format!("{one}SignRegion=x\n")), ["unknown variable `SignRegion` in `[ServiceOverride]`"]);
    assert_eq!(of(&format!("{one}[Globl]\nVPC=x\n")), ["unknown section `[Globl]` in the cloud configuration"]);
}

fn deployment(image: &str, more: &Value) -> Value {
    let mut pod = json!({"containers": [{"name": "web", "image": image}]});
    pod.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"template": {"spec": pod}}})
}

#[test]
fn kubelets_fetch_credentials_for_ecr_by_themselves_until_1_26() {
    const IMAGE: &str = "111122223333.dkr.ecr.us-east-1.amazonaws.com/web:1";
    let node = |version: &str, arguments: &str| {
        let annotations = json!({"rke2.io/node-args": arguments});
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "annotations": annotations},
            "status": {"nodeInfo": {"kubeletVersion": version}},
        })
    };
    let of = |node: Value, pod: &Value, image: &str, target: Option<&str>| {
        let kubernetes = target.map(|version| version.parse().unwrap());
        let target = Target { kubernetes, ..Target::default() };
        let found = told(&[node, deployment(image, pod)], "ecr-credential-provider-missing", target);
        found.into_iter().map(|(severity, message, _)| (severity, message)).collect::<Vec<_>>()
    };
    let bare = json!({});
    let external = r#"["agent","--kubelet-arg","cloud-provider=external"]"#;
    let in_tree = r#"["agent","--kubelet-arg","cloud-provider=aws"]"#;
    let given = r#"["agent","--image-credential-provider-config","/etc/x.yaml"]"#;
    let given_to_kubelet = r#"["agent","--kubelet-arg","image-credential-provider-config=/etc/x.yaml"]"#;
    let message = |aim: &str| {
        let pulls = "Deployment shop/web pulls from 111122223333.dkr.ecr.us-east-1.amazonaws.com";
        [(Severity::Warning, format!("the kubelet has no image credentials{aim}, but {pulls}"))]
    };
    assert_eq!(of(node("v1.27.0+rke2r1", in_tree), &bare, IMAGE, None), message(""));
    assert_eq!(of(node("v1.26.15+rke2r1", in_tree), &bare, IMAGE, None), []);
    assert_eq!(of(node("v1.26.15+rke2r1", in_tree), &bare, IMAGE, Some("1.26")), []);
    assert_eq!(
        of(node("v1.26.15+rke2r1", in_tree), &bare, IMAGE, Some("1.27")),
        message(" at the target version 1.27")
    );
    assert_eq!(of(node("v1.26.15+rke2r1", external), &bare, IMAGE, None), message(""));
    for given in [given, given_to_kubelet] {
        assert_eq!(of(node("v1.31.0+rke2r1", given), &bare, IMAGE, None), []);
    }
    let secrets = json!({"imagePullSecrets": [{"name": "ecr"}]});
    assert_eq!(of(node("v1.31.0+rke2r1", external), &secrets, IMAGE, None), []);
    let never = json!({"containers": [{"name": "web", "image": IMAGE, "imagePullPolicy": "Never"}]});
    assert_eq!(of(node("v1.31.0+rke2r1", external), &never, IMAGE, None), []);
    let with_account = json!({"serviceAccountName": "web"});
    let account = |secrets: Value| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web", "namespace": "shop"}, "imagePullSecrets": secrets});
    let beside = |account: Value| {
        let objects = [node("v1.31.0+rke2r1", external), deployment(IMAGE, &with_account), account];
        told(&objects, "ecr-credential-provider-missing", Target::default()).len()
    };
    assert_eq!([beside(account(json!([{"name": "ecr"}]))), beside(account(json!([])))], [0, 1]);
    let waits = json!({"initContainers": [{"name": "wait", "image": IMAGE}]});
    assert_eq!(of(node("v1.31.0+rke2r1", external), &waits, "nginx", None), message(""));
    for image in ["public.ecr.aws/nginx/nginx:1.29", "nginx", "registry.example.com/x"] {
        assert_eq!(of(node("v1.31.0+rke2r1", external), &bare, image, None), [], "{image}");
    }
}

#[test]
fn versions_and_components_of_a_leader_migration_are_those_of_kubernetes() {
    let of = |kubernetes: &str, version: &str, component: &str| {
        let configuration = json!({
            "apiVersion": format!("controllermanager.config.k8s.io/{version}"), "kind": "LeaderMigrationConfiguration",
            "leaderName": "cloud-provider-extraction-migration", "resourceLock": "leases",
            "controllerLeaders": [{"name": "route", "component": component}],
        });
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"},
            "status": {"nodeInfo": {"kubeletVersion": kubernetes}},
        });
        told(&[configuration, node], "leader-migration-config-invalid", Target::default()).len()
    };
    for (kubernetes, version, expected) in [
        ("v1.22.0", "v1alpha1", 0),
        ("v1.31.0", "v1beta2", 1),
        ("v1.22.0", "v1beta1", 0),
        ("v1.23.9", "v1", 1),
        ("v1.24.0", "v1", 0),
    ] {
        assert_eq!(of(kubernetes, version, "*"), expected, "{kubernetes} {version}");
    }
    for (component, expected) in [
        ("kube-controller-manager", 0),
        ("cloud-controller-manager", 0),
        ("aws-cloud-controller-manager", 1),
        ("kcm", 1),
    ] {
        assert_eq!(of("v1.26.0", "v1", component), expected, "{component}");
    }
    // The star came with 1.22.
    assert_eq!([of("v1.21.0", "v1alpha1", "*"), of("v1.21.0", "v1alpha1", "kube-controller-manager")], [1, 0]);
    assert_eq!(of("v1.21.0", "v1beta1", "kube-controller-manager"), 1);
}

#[test]
fn rights_are_bound_to_who_runs() {
    let binding = |role: &str, subject: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}, "subjects": [subject],
        })
    };
    let account = |namespace: &str, name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
    let mut ccm = controller("v1.33.0", &[], &["--cloud-provider=aws"]);
    ccm["spec"]["template"]["spec"]["serviceAccountName"] = json!("ccm");
    let of = |others: &[Value]| {
        let objects: Vec<Value> = std::iter::once(&ccm).chain(others).cloned().collect();
        told(&objects, "ccm-rbac-subject-mismatch", Target::default())
            .into_iter()
            .map(|(_, message, _)| message)
            .collect::<Vec<_>>()
    };
    const NOBODY: Vec<String> = Vec::new();
    let runs = "but DaemonSet kube-system/ccm runs as kube-system/ccm";
    let role = "system:cloud-controller-manager";
    assert_eq!(of(&[]), NOBODY);
    assert_eq!(of(&[binding(role, account("kube-system", "ccm"))]), NOBODY);
    assert_eq!(of(&[binding(role, json!({"kind": "User", "name": "system:serviceaccount:kube-system:ccm"}))]), NOBODY);
    assert_eq!(
        of(&[binding(role, account("default", "ccm"))]),
        [format!("ClusterRoleBinding b names ServiceAccount default/ccm, {runs}")]
    );
    assert_eq!(
        of(&[binding("rights", json!({"kind": "ServiceAccount", "name": "ccm"}))]),
        [format!("ClusterRoleBinding b names ServiceAccount ccm, {runs}")]
    );
    assert_eq!(
        of(&[binding(role, account("kube-system", "cloud-controller-manager"))]),
        [format!("ClusterRoleBinding b names ServiceAccount kube-system/cloud-controller-manager, {runs}")]
    );
    // Of others: another role, another workload, and the one beside the right one.
    assert_eq!(of(&[binding("view", account("default", "viewer"))]), NOBODY);
    assert_eq!(of(&[binding(role, account("default", "ccm")), binding(role, account("kube-system", "ccm"))]), NOBODY);
    let mut other = deployment("nginx", &json!({"serviceAccountName": "ccm"}));
    other["metadata"]["namespace"] = json!("default");
    assert_eq!(of(&[binding("x", account("default", "ccm")), other]), NOBODY);
    // Whoever applies it says the namespace; a group has the rights.
    let mut nowhere = ccm.clone();
    nowhere["metadata"].as_object_mut().unwrap().remove("namespace");
    let objects = [nowhere, binding(role, account("kube-system", "ccm"))];
    assert!(told(&objects, "ccm-rbac-subject-mismatch", Target::default()).is_empty());
    let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let admin = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "all"}, "rules": all});
    let of_group = binding("all", json!({"kind": "Group", "name": "system:serviceaccounts:kube-system"}));
    assert_eq!(of(&[admin, of_group, binding(role, account("default", "ccm"))]), NOBODY);
    // A file says who it is.
    let mut with_file = ccm.clone();
    with_file["spec"]["template"]["spec"]["containers"][0]["args"] =
        json!(["--cloud-provider=aws", "--kubeconfig=/etc/x"]);
    let objects = [with_file, binding(role, account("default", "ccm"))];
    assert!(told(&objects, "ccm-rbac-subject-mismatch", Target::default()).is_empty());
}

#[test]
fn rights_of_all_service_accounts_of_a_namespace_count() {
    let mut ccm = controller("v1.33.0", &[], &["--cloud-provider=aws"]);
    ccm["spec"]["template"]["spec"]["serviceAccountName"] = json!("ccm");
    let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": all});
    let of = |group: &str, rules: &Value| {
        let mut role = role.clone();
        role["rules"] = rules.clone();
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
            "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "Group", "name": group}],
        });
        told(&[ccm.clone(), role, binding], "ccm-rbac-missing", Target::default()).len()
    };
    assert_eq!(of("system:serviceaccounts:kube-system", &all), 0);
    assert_eq!(of("system:serviceaccounts:kube-system", &json!([])), 1);
    // Of another namespace it says nothing, and no other binding was given.
    assert_eq!(of("system:serviceaccounts:default", &json!([])), 0);
}

#[test]
fn controllers_have_the_names_of_their_version() {
    let of = |tag: &str, list: &str| {
        let flag = format!("--controllers={list}");
        let found = told(
            &[controller(tag, &[], &["--cloud-provider=aws", &flag])],
            "ccm-controllers-unknown",
            Target::default(),
        );
        found
            .into_iter()
            .map(|(_, message, fix)| format!("{}: {fix}", message.trim_start_matches("DaemonSet kube-system/ccm has ")))
            .collect::<Vec<_>>()
    };
    for (tag, list, is_right) in [
        ("v1.27.9", "*,-service", true),
        ("v1.27.9", "*,-service-lb-controller", false),
        ("v1.28.0", "*,-service-lb-controller", true),
        ("v1.36.0", "cloud-node,cloud-node-lifecycle,route", true),
        ("latest", "*,-service-lb-controller,tagging", true),
        ("v1.27.9", "*,tagging", true),
        ("v1.28.0", "*,tagging", false),
        ("v1.28.1", "*,tagging", true),
        ("v1.36.0", "*, -service", false),
        ("v1.36.0", "*,-nodeipam", false),
        ("v1.36.0", "*,-tagging-controller", false),
        ("v1.36.0", "", true),
        ("v1.36.0", "*,", false),
        ("v1.36.0", "\"*\",-route", true),
        ("v1.21.4", "*,tagging", true),
        ("v1.22.0", "*,tagging", false),
        ("v1.22.1", "*,tagging", true),
        ("v1.23.1", "*,tagging", false),
        ("v1.23.2", "*,tagging", true),
    ] {
        assert_eq!(of(tag, list).is_empty(), is_right, "{tag} {list}");
    }
    assert_eq!(
        of("v1.27.9", "*,-service-lb-controller"),
        ["`-service-lb-controller` in `--controllers`, which 1.27.9 does not have: write `service`"]
    );
    assert_eq!(
        of("v1.36.0", "*, -service"),
        ["` -service` in `--controllers`, which is not one of its controllers: write `service`"]
    );
    assert_eq!(
        of("v1.36.0", "service-lb"),
        ["`service-lb` in `--controllers`, which is not one of its controllers: write `service`"]
    );
    assert_eq!(of("v1.36.0", "*,-foo"), ["`-foo` in `--controllers`, which is not one of its controllers: remove it"]);
    assert_eq!(of("v1.28.0", "tagging"), ["`tagging` in `--controllers`, which 1.28.0 does not have: remove it"]);
}

#[test]
fn volumes_that_go_over_to_the_driver_are_told_before_the_upgrade() {
    let node = |version: &str, arguments: &str| {
        let annotations = json!({"rke2.io/node-args": arguments});
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "annotations": annotations},
            "status": {"nodeInfo": {"kubeletVersion": version}},
        })
    };
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"awsElasticBlockStore": {"volumeID": "vol-1"}},
    });
    let of = |today: &str, arguments: &str, target: &str| {
        let target = Target { kubernetes: target.parse().ok(), ..Target::default() };
        told(&[node(today, arguments), volume.clone()], "csi-migration-undrained", target).len()
    };
    let plain = r#"["agent"]"#;
    let off = r#"["agent","--kubelet-arg","feature-gates=A=true,CSIMigrationAWS=F"]"#;
    let on = r#"["agent","--kubelet-arg","feature-gates=CSIMigrationAWS=true"]"#;
    for (today, arguments, target, expected) in [
        ("v1.21.9", plain, "1.22", 0),
        ("v1.22.17", plain, "1.23", 1),
        ("v1.22.17", plain, "1.33", 1),
        ("v1.23.0", plain, "1.24", 0),
        ("v1.23.0", off, "1.24", 0),
        ("v1.23.0", off, "1.25", 1),
        ("v1.22.17", off, "1.24", 0),
        ("v1.22.17", on, "1.24", 0),
        ("v1.25.0", plain, "1.33", 0),
    ] {
        assert_eq!(of(today, arguments, target), expected, "{today} {arguments} {target}");
    }
    let target = Target { kubernetes: "1.23".parse().ok(), ..Target::default() };
    assert!(told(&[node("v1.22.17", plain)], "csi-migration-undrained", target).is_empty(), "no volume");
    let mut migrated = volume.clone();
    migrated["metadata"]["annotations"] = json!({"pv.kubernetes.io/migrated-to": "ebs.csi.aws.com"});
    assert!(told(&[node("v1.22.17", plain), migrated], "csi-migration-undrained", target).is_empty());
}

#[test]
fn the_cloud_configuration_decides_about_health_checks() {
    let service = |annotations: Value, policy: &str| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
            "spec": {"type": "LoadBalancer", "externalTrafficPolicy": policy, "ports": [{"port": 80, "nodePort": 30080}]},
        })
    };
    // It refuses them whatever the configuration says.
    let of = |tag: &str, annotation: &str| {
        let annotations = json!({
            "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
            format!("service.beta.kubernetes.io/{annotation}"): "sg-1",
        });
        let managed = cloud_config("[Global]\nKubernetesClusterID=x\nNLBSecurityGroupMode=Managed\n");
        let objects = [controller(tag, &[], &["--cloud-provider=aws"]), service(annotations, "Cluster"), managed];
        let all = told(&objects, "svc-annotation-no-effect", Target::default());
        all.into_iter().map(|(severity, ..)| severity).collect::<Vec<_>>()
    };
    for annotation in ["aws-load-balancer-security-groups", "aws-load-balancer-extra-security-groups"] {
        assert_eq!(of("v1.34.3", annotation), [Severity::Warning], "{annotation}");
        assert_eq!(of("v1.35.0", annotation), [Severity::Error], "{annotation}");
    }
    let path = |kind: &str| {
        json!({
            "service.beta.kubernetes.io/aws-load-balancer-type": kind,
            "service.beta.kubernetes.io/aws-load-balancer-healthcheck-path": "/ready",
        })
    };
    let of = |annotations: Value, policy: &str, mode: &str| {
        let configuration =
            format!("[Global]\nKubernetesClusterID=x\nClusterServiceLoadBalancerHealthProbeMode={mode}\n");
        let objects = [
            controller("v1.35.0", &[], &["--cloud-provider=aws"]),
            service(annotations, policy),
            cloud_config(&configuration),
        ];
        told(&objects, "svc-health-check-overridden", Target::default()).len()
    };
    assert_eq!(of(path("nlb"), "Cluster", "Shared"), 1);
    assert_eq!(of(path("nlb"), "Local", "Shared"), 0);
    assert_eq!(of(path("nlb"), "Cluster", "ServiceNodePort"), 0);
    assert_eq!(of(path("elb"), "Cluster", "Shared"), 0, "a Classic one has checks of its own");
    let interval = json!({
        "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
        "service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval": "10",
    });
    assert_eq!(of(interval, "Cluster", "Shared"), 0);
    let same = json!({
        "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
        "service.beta.kubernetes.io/aws-load-balancer-healthcheck-protocol": "HTTP",
        "service.beta.kubernetes.io/aws-load-balancer-healthcheck-port": "10256",
        "service.beta.kubernetes.io/aws-load-balancer-healthcheck-path": "/healthz",
    });
    assert_eq!(of(same, "Cluster", "Shared"), 0, "nothing is replaced");
    let shared = cloud_config("[Global]\nKubernetesClusterID=x\nClusterServiceLoadBalancerHealthProbeMode=Shared\n");
    for (tag, expected) in [("v1.32.9", 0), ("v1.33.0", 1), ("latest", 1)] {
        let objects =
            [controller(tag, &[], &["--cloud-provider=aws"]), service(path("nlb"), "Cluster"), shared.clone()];
        assert_eq!(told(&objects, "svc-health-check-overridden", Target::default()).len(), expected, "{tag}");
    }
}

#[test]
fn tls_behind_a_load_balancer_needs_a_certificate_in_front_of_it() {
    let of = |kind: &str, protocol: &str, certificate: Option<&str>| {
        let mut annotations = json!({
            "service.beta.kubernetes.io/aws-load-balancer-type": kind,
            "service.beta.kubernetes.io/aws-load-balancer-backend-protocol": protocol,
        });
        if let Some(arn) = certificate {
            annotations["service.beta.kubernetes.io/aws-load-balancer-ssl-cert"] = json!(arn);
        }
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 443, "nodePort": 30080}]},
        });
        told(&[service], "svc-annotation-no-effect", Target::default()).len()
    };
    const ARN: Option<&str> = Some("arn:aws:acm:us-east-1:111122223333:certificate/a");
    for (kind, protocol, certificate, expected) in [
        ("elb", "https", None, 1),
        ("elb", "ssl", Some(""), 1),
        ("elb", "https", ARN, 0),
        ("elb", "http", None, 0),
        ("elb", "tcp", None, 0),
        ("nlb", "ssl", ARN, 0),
        ("nlb", "ssl", None, 1),
        ("nlb", "https", ARN, 1),
        ("nlb", "http", None, 0),
        ("nlb", "SSL", ARN, 1),
        ("nlb", "foo", ARN, 1),
        ("elb", "HTTP", None, 1),
        ("elb", "", None, 0),
        ("nlb-ip", "https", None, 0),
    ] {
        assert_eq!(of(kind, protocol, certificate), expected, "{kind} {protocol} {certificate:?}");
    }
}

#[test]
fn ranges_of_pods_are_given_by_kube_controller_manager() {
    let server = |arguments: &[&str], ranges: Value| {
        let mut words = vec!["server"];
        for argument in arguments {
            words.extend(["--kube-controller-manager-arg", argument]);
        }
        let annotations = json!({"rke2.io/node-args": json!(words).to_string()});
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "annotations": annotations}, "spec": ranges,
            "status": {"nodeInfo": {"kubeletVersion": "v1.31.0+rke2r1"}},
        })
    };
    let ccm = |flag: &str| controller("v1.31.0", &[], &["--cloud-provider=aws", flag]);
    let of = |flag: &str, node: Value| told(&[ccm(flag), node], "ccm-allocate-node-cidrs", Target::default()).len();
    let on = "--allocate-node-cidrs=true";
    assert_eq!(of(on, server(&["v=2"], json!({}))), 1);
    assert_eq!(of("--allocate-node-cidrs=false", server(&["v=2"], json!({}))), 0);
    assert_eq!(of(on, server(&["allocate-node-cidrs=true"], json!({}))), 0);
    assert_eq!(of(on, server(&["cluster-cidr=10.0.0.0/16"], json!({}))), 0);
    assert_eq!(of(on, server(&[], json!({}))), 0, "what it is started with is not known");
    assert_eq!(of(on, server(&["v=2"], json!({"podCIDR": "10.244.0.0/24"}))), 0);
}

#[test]
fn workers_and_single_control_planes_are_told_from_others() {
    let node = |name: &str, labels: Value, arguments: &str| {
        let annotations = json!({"rke2.io/node-args": arguments});
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels, "annotations": annotations},
            "status": {"nodeInfo": {"kubeletVersion": "v1.26.15+rke2r1"}},
        })
    };
    let excluded = |value: &str| json!({"node.kubernetes.io/exclude-from-external-load-balancers": value});
    let of = |objects: &[Value], rule: &str| {
        told(objects, rule, Target::default()).into_iter().map(|one| one.1).collect::<Vec<_>>()
    };
    let rule = "node-excluded-worker";
    let message = "1 worker has the label `node.kubernetes.io/exclude-from-external-load-balancers`: w";
    assert_eq!(of(&[node("w", excluded(""), "[]")], rule), [message]);
    assert_eq!(of(&[node("w", excluded("false"), "[]")], rule).len(), 0);
    assert_eq!(of(&[node("w", json!({}), "[]")], rule).len(), 0);
    let mut control = excluded("");
    control["node-role.kubernetes.io/control-plane"] = json!("");
    assert_eq!(of(&[node("c", control, "[]")], rule).len(), 0);
    let server =
        |name: &str, arguments: &str| node(name, json!({"node-role.kubernetes.io/control-plane": "true"}), arguments);
    let locked = r#"["server","--kube-controller-manager-arg","enable-leader-migration=true"]"#;
    let rule = "leader-migration-single-control-plane";
    assert_eq!(of(&[server("a", locked)], rule).len(), 1);
    assert_eq!(of(&[server("a", r#"["server"]"#)], rule).len(), 0);
    assert_eq!(of(&[server("a", locked), server("b", locked)], rule).len(), 0);
}
