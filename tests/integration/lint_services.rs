//! `tagaudit lint` on Services as charts, operators and people write them: what is right has no finding, and what is wrong has one.

use serde_json::Value;

use super::lint::{lint, text};

const P: &str = "service.beta.kubernetes.io/aws-load-balancer-";

/// The rules with findings, of a report in JSON, each once.
fn rules_of(page: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(page).unwrap();
    let mut found: Vec<String> =
        report["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap().to_owned()).collect();
    found.sort();
    found.dedup();
    found
}

/// The rules with findings on a file; `None` where it is not read.
fn rules(file: &str, content: &str) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    std::fs::write(&path, content.replace("P-", P)).unwrap();
    let path = path.to_str().unwrap();
    let (code, page) = text(&lint(&[path]));
    if !matches!(code, Some(0 | 1)) {
        assert!(code == Some(2) || code == Some(4), "{page}");
        return None;
    }
    Some(rules_of(&text(&lint(&[path, "--format", "json"])).1))
}

fn values(content: &str) -> Vec<String> {
    rules("values.yaml", content).unwrap_or_default()
}

fn service(annotations: &str, spec: &str) -> Vec<String> {
    let ports = "ports: [{port: 80}]";
    rules(
        "service.yaml",
        &format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations: {{{annotations}}}\nspec: {{type: LoadBalancer, {ports}{spec}}}\n"
        ),
    )
    .unwrap()
}

#[test]
fn the_class_of_a_service_may_stand_around_its_annotations() {
    let class = "loadBalancerClass: service.k8s.aws/nlb";
    let own = "P-scheme: internal, P-nlb-target-type: ip";
    for right in [
        format!("service:\n  type: LoadBalancer\n  annotations: {{{own}}}\n  spec: {{{class}}}\n"),
        format!(
            "spec:\n  http:\n    service:\n      metadata: {{annotations: {{{own}}}}}\n      spec: {{type: LoadBalancer, {class}}}\n"
        ),
        format!(
            "spec:\n  listenersServiceTemplate:\n    metadata: {{annotations: {{P-type: external, {own}}}}}\n    spec: {{type: LoadBalancer, {class}}}\n"
        ),
        format!(
            "configuration:\n  class: service.k8s.aws/nlb\n  bootstrap: {{annotations: {{{own}}}}}\n  brokers:\n    - annotations: {{{own}}}\n"
        ),
        format!("k8s:\n  serviceAnnotations: {{{own}}}\n  service: {{{class}}}\n"),
    ] {
        assert_eq!(values(&right), Vec::<String>::new(), "{right}");
    }
    let without = format!("service:\n  type: LoadBalancer\n  annotations: {{{own}}}\n");
    assert!(values(&without).contains(&"svc-annotation-wrong-controller".to_owned()));
}

#[test]
fn a_chart_that_makes_no_load_balancer_has_none() {
    for right in [
        "service: {type: ClusterIP}\nserviceAnnotations: {P-scheme: internal}\n",
        "serviceType: ClusterIP\nserviceAnnotations: {P-scheme: internal}\n",
        "service: {enabled: false, annotations: {P-scheme: internal}}\n",
        "controller: {service: {type: NodePort, internal: {enabled: true, annotations: {P-scheme: internal}}}}\n",
        "controller: {service: {internal: {annotations: {P-scheme: internal}}}}\n",
        "spec: {http: {service: {metadata: {annotations: {P-shceme: x}}, spec: {type: ClusterIP}}}}\n",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: x}\nspec: {rules: [{mutate: {patchStrategicMerge: {metadata: {annotations: {P-scheme: internal}}}}}]}\n",
    ] {
        assert_eq!(values(right), Vec::<String>::new(), "{right}");
    }
    let made = "controller: {service: {internal: {enabled: true, annotations: {P-scheme: internal}}}}\n";
    assert_eq!(values(made), ["svc-annotation-wrong-controller"]);
}

#[test]
fn a_value_that_the_load_balancer_controller_does_not_look_at_is_not_judged() {
    let own = "P-type: external, P-nlb-target-type: ip";
    for right in [
        "P-backend-protocol: http",
        "P-scheme: internal, P-internal: 0.0.0.0/0",
        "P-additional-resource-tags: 'Env=prod,Owners=alice\\,bob,Team=a'",
        "P-manage-backend-security-group-rules: 'yes'",
        "P-target-node-labels: ingress-gw",
        "P-minimum-load-balancer-capacity: ''",
        "P-enable-tcp-udp-listener: 'yes'",
    ] {
        assert_eq!(service(&format!("{own}, {right}"), ""), Vec::<String>::new(), "{right}");
    }
    let ranges = "service.beta.kubernetes.io/load-balancer-source-ranges: nonsense";
    let spec = ", loadBalancerSourceRanges: [10.0.0.0/8]";
    assert_eq!(service(&format!("{own}, {ranges}"), spec), Vec::<String>::new());
    assert_eq!(service(&format!("{own}, {ranges}"), ""), ["svc-annotation-value"]);
}

#[test]
fn annotations_without_quotes_are_told_at_their_place() {
    for wrong in ["P-internal: true", "P-internal: yes", "P-healthcheck-port: 8080", "example.com/a: on"] {
        assert_eq!(service(wrong, ""), ["svc-annotation-not-string"], "{wrong}");
    }
    for right in
        ["P-internal: 'true'", "P-internal: 'yes', P-scheme: internal", "example.com/a: \"on\"", "P-internal: null"]
    {
        assert!(!service(right, "").contains(&"svc-annotation-not-string".to_owned()), "{right}");
    }
    // The chart puts what Helm reads as a boolean in quotes.
    let chart = "controller: {service: {annotations: {P-cross-zone-load-balancing-enabled: yes, P-type: nlb}}}\n";
    assert_eq!(values(chart), Vec::<String>::new());
}

#[test]
fn parts_without_a_name_are_nothing_to_look_at() {
    for part in [
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\nspec: {containers: []}\n",
        "apiVersion: v1\nkind: Service\nspec: {type: LoadBalancer}\n",
        "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2}\n",
    ] {
        assert_ne!(rules("part.yaml", part), Some(vec!["x".to_owned()]), "{part}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("part.yaml"), part).unwrap();
        let right = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n";
        std::fs::write(folder.path().join("right.yaml"), right).unwrap();
        let (code, page) = text(&lint(&[folder.path().to_str().unwrap()]));
        assert_eq!(code, Some(0), "{part}: {page}");
    }
}

#[test]
fn the_chart_of_the_load_balancer_controller_gives_new_services_its_class() {
    let own = "apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {P-scheme: internal, P-nlb-target-type: ip}}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n";
    let controller = |version: &str| {
        format!(
            "{own}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: c, namespace: kube-system}}\nspec: {{template: {{spec: {{containers: [{{name: c, image: public.ecr.aws/eks/aws-load-balancer-controller:{version}}}]}}}}}}\n"
        )
    };
    let found = |version: &str| rules("all.yaml", &controller(version)).unwrap();
    assert!(!found("v2.8.1").contains(&"svc-annotation-wrong-controller".to_owned()));
    assert!(found("v2.4.7").contains(&"svc-annotation-wrong-controller".to_owned()));
}

#[test]
fn servers_of_rke2_run_their_own_controller_beside_a_declared_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let aws = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: aws-cloud-controller-manager, namespace: kube-system}\nspec: {template: {spec: {containers: [{name: c, image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0, args: [--cloud-provider=aws]}]}}}\n";
    std::fs::write(path("aws.yaml"), aws).unwrap();
    let of = |config: &str| {
        std::fs::write(path("config.yaml"), config).unwrap();
        rules_of(&text(&lint(&[&path("aws.yaml"), &path("config.yaml"), "--format", "json"])).1)
    };
    let on = of("cni: canal\ntoken: x\ntls-san: [a]\nwrite-kubeconfig-mode: '0644'\n");
    assert!(on.contains(&"embedded-ccm-still-on".to_owned()), "{on:?}");
    assert!(!on.contains(&"kubelet-cloud-provider-missing".to_owned()), "{on:?}");
    let off = of("cni: canal\ntls-san: [a]\ndisable-cloud-controller: true\n");
    assert!(off.contains(&"kubelet-cloud-provider-missing".to_owned()), "{off:?}");
    assert!(!off.contains(&"embedded-ccm-still-on".to_owned()), "{off:?}");
    let misspelt =
        of("cni: canal\ntls-san: [a]\ndisable-cloud-controller: true\nkubelet-arg: [cloud-provider=extrenal]\n");
    assert!(misspelt.contains(&"kubelet-cloud-provider-missing".to_owned()), "{misspelt:?}");
}

#[test]
fn values_that_lie_over_others_are_for_the_same_service() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content.replace("P-", P)).unwrap();
    };
    let found = || rules_of(&text(&lint(&[folder.path().to_str().unwrap(), "--format", "json"])).1);
    write("values-prod.yaml", "controller: {service: {annotations: {P-scheme: internal}}}\n");
    assert_eq!(found(), ["svc-annotation-wrong-controller"]);
    write("values.yaml", "controller: {service: {annotations: {P-type: external, P-nlb-target-type: ip}}}\n");
    assert_eq!(found(), Vec::<String>::new());
    write("values.yaml", "other: {service: {annotations: {P-type: external, P-nlb-target-type: ip}}}\n");
    assert_eq!(found(), ["svc-annotation-wrong-controller"]);
}

#[test]
fn comments_that_cannot_be_read_are_told() {
    for (comment, is_told) in [
        ("# tagaudit: ignore[]", true),
        ("# tagaudit: ignore[ , ] why", true),
        ("# tagaudit: ignore(svc-annotation-unknown) why", true),
        ("# tagaudit: ignore [svc-annotation-unknown] why", true),
        ("# of tagaudit: nothing", false),
        ("# nothing", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.yaml");
        let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n";
        std::fs::write(&path, format!("{comment}\n{service}")).unwrap();
        let (code, page) = text(&lint(&[path.to_str().unwrap()]));
        assert_eq!(code, Some(0), "{page}");
        assert_eq!(page.contains("the comment names no rule"), is_told, "{comment}: {page}");
    }
}

/// As the kubelet mounts the keys of a `ConfigMap`; links to other places are not followed.
#[cfg(unix)]
#[test]
fn a_mounted_config_map_is_read_as_a_folder() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let hidden = root.join("mounted/..2026_11_24_00_00_00.1");
    std::fs::create_dir_all(&hidden).unwrap();
    let wrong = format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: web, annotations: {{{P}internal: true}}}}\nspec: {{ports: [{{port: 80}}]}}\n"
    );
    std::fs::write(hidden.join("web.yaml"), &wrong).unwrap();
    symlink("..2026_11_24_00_00_00.1", root.join("mounted/..data")).unwrap();
    symlink("..data/web.yaml", root.join("mounted/web.yaml")).unwrap();
    let found = |folder: &str| {
        let (code, page) = text(&lint(&[root.join(folder).to_str().unwrap(), "--format", "json"]));
        (code, serde_json::from_str::<Value>(&page).unwrap()["findings"].as_array().unwrap().len())
    };
    assert_eq!(found("mounted"), (Some(1), 1));
    std::fs::write(root.join("outside.yaml"), &wrong).unwrap();
    std::fs::create_dir(root.join("links")).unwrap();
    symlink("../outside.yaml", root.join("links/outside.yaml")).unwrap();
    symlink("loop.yaml", root.join("links/loop.yaml")).unwrap();
    symlink("../links", root.join("links/again")).unwrap();
    assert_eq!(found("links"), (Some(4), 0));
}

/// A key that stands twice is one finding of its document, at its place: the last value counts, and the rest of the file is read.
#[test]
fn a_key_that_stands_twice_costs_no_other_document() {
    let text_of = |document: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map}}\n{document}\n---\n{}",
            "apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {P-type: other}}\nspec: {type: LoadBalancer}\n".replace("P-", P)
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.yaml");
    let found = |document: &str| {
        std::fs::write(&file, text_of(document)).unwrap();
        let (_, page) = text(&lint(&[file.to_str().unwrap(), "--format", "json"]));
        let report: Value = serde_json::from_str(&page).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let mut told: Vec<String> = findings
            .map(|one| {
                let place = &one["locations"][0];
                format!(
                    "{} {} {}:{} {}",
                    one["severity"].as_str().unwrap(),
                    one["rule"].as_str().unwrap(),
                    place["line"],
                    place["column"],
                    one["message"].as_str().unwrap()
                )
            })
            .filter(|one| one.contains("key-repeated") || one.contains("svc-type-value-unknown"))
            .collect();
        told.sort();
        told
    };
    let of_service = |told: &[String]| told.iter().filter(|one| one.contains("svc-type-value-unknown")).count();
    for (document, severity, at) in [
        ("data: {a: b}", "", ""),
        ("data:\n  a: b\n  a: c", "warning", "6:3 ConfigMap map has the key `a` twice, at line 5 and at line 6"),
        (
            "data:\n  a: b\n  'a': b",
            "info",
            "6:3 ConfigMap map has the key `a` twice, at line 5 and at line 6, with the same value",
        ),
        ("data: {a: b, a: c}", "warning", "4:14 ConfigMap map has the key `a` twice, at line 4"),
        (
            "data: {a: b}\ndata: {a: c, a: d, a: e}",
            "warning",
            "5:1 ConfigMap map has the key `data` twice, at line 4 and at line 5, and 2 more keys",
        ),
        (
            "kind: ConfigMap",
            "info",
            "4:1 ConfigMap map has the key `kind` twice, at line 2 and at line 4, with the same value",
        ),
        (
            "x: &x {a: b, a: c}\ny: *x\nz: {<<: *x, a: d}",
            "warning",
            "4:14 ConfigMap map has the key `a` twice, at line 4",
        ),
    ] {
        let told = found(document);
        assert_eq!(of_service(&told), 1, "{document}: {told:?}");
        let repeated: Vec<&String> = told.iter().filter(|one| one.contains("key-repeated")).collect();
        let expected = if severity.is_empty() { Vec::new() } else { vec![format!("{severity} key-repeated {at}")] };
        assert_eq!(repeated, expected.iter().collect::<Vec<_>>(), "{document}");
    }
    // The value that stands last is the one that is judged.
    for (values, expected) in [(["other", "nlb"], 0), (["nlb", "other"], 1)] {
        let [first, last] = values.map(|value| format!("P-type: {value}"));
        let found = service(&format!("{first}, {last}"), "");
        assert!(found.contains(&"key-repeated".to_owned()), "{found:?}");
        assert_eq!(found.iter().filter(|rule| *rule == "svc-type-value-unknown").count(), expected, "{values:?}");
    }
}
