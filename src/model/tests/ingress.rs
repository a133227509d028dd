//! Ingresses of the AWS Load Balancer Controller.

use serde_json::{Value, json};

use super::{decisions, holds, service};
use crate::model::ModelledController::LoadBalancerController;
use crate::testing::aws::{Cluster, PRIVATE, PUBLIC, PUBLIC_B, TAGGED_GROUP};

const PRIVATE_B: &str = "subnet-privb0bb1";
const VERSION: &str = "2.14.0";

/// An Ingress of the controller, its class and the Service behind it.
pub(super) fn ingress(name: &str, annotations: &[(&str, &str)], parameters: Option<Value>) -> Vec<Value> {
    let annotations: serde_json::Map<String, Value> = annotations
        .iter()
        .map(|(suffix, value)| (format!("alb.ingress.kubernetes.io/{suffix}"), json!(value)))
        .collect();
    let mut class = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "alb"}, "spec": {"controller": "ingress.k8s.aws/alb"}});
    let mut objects = Vec::new();
    if let Some(spec) = parameters {
        class["spec"]["parameters"] = json!({"apiGroup": "elbv2.k8s.aws", "kind": "IngressClassParams", "name": "alb"});
        objects.push(json!({"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "IngressClassParams", "metadata": {"name": "alb"}, "spec": spec}));
    }
    objects.push(class);
    objects.push(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"ingressClassName": "alb", "rules": [{"http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
        ]}}]}
    }));
    objects.push(service(&[], json!({"type": "NodePort"})));
    objects
}

/// The decision about Ingresses.
pub(super) fn alb(version: &str, objects: &[Value], change: impl FnOnce(&mut Cluster)) -> Value {
    let mut all = decisions(LoadBalancerController, version, objects, change);
    all.retain(|one| one["object"]["kind"] == "Ingress");
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

/// The decision about an Ingress with annotations, and a change of its manifest.
fn changed(version: &str, annotations: &[(&str, &str)], change: impl FnOnce(&mut Value)) -> Value {
    let mut objects = ingress("web", annotations, None);
    change(objects.iter_mut().find(|one| one["kind"] == "Ingress").unwrap());
    alb(version, &objects, |_| {})
}

fn plain(annotations: &[(&str, &str)]) -> Value {
    changed(VERSION, annotations, |_| {})
}

/// The decision about two Ingresses of a group.
fn group(first: &[(&str, &str)], second: &[(&str, &str)]) -> Value {
    let mut all: Vec<(&str, &str)> = vec![("group.name", "shop")];
    all.extend(first);
    let mut objects = ingress("a", &all, None);
    let mut all: Vec<(&str, &str)> = vec![("group.name", "shop")];
    all.extend(second);
    objects.extend(ingress("b", &all, None).into_iter().filter(|one| one["kind"] == "Ingress"));
    alb(VERSION, &objects, |_| {})
}

/// Sources of the rules of the created group.
fn sources(decision: &Value) -> Vec<&str> {
    let rules = decision["new_group"]["rules"].as_array().unwrap();
    rules.iter().map(|rule| rule["source"].as_str().unwrap()).collect()
}

#[test]
fn an_ingress_gets_an_application_load_balancer() {
    let found = alb("2.13.4", &ingress("web", &[], None), |_| {});
    holds(
        &found,
        json!({
            "handled": true, "error": null, "kind": "alb", "scheme": "internal", "subnets": [PRIVATE, PRIVATE_B],
            "target_type": "instance", "node_groups": [TAGGED_GROUP],
            "health_check": {"protocol": "HTTP", "port": "traffic-port", "path": "/", "interval": 15, "timeout": 5, "healthy": 2, "unhealthy": 2},
        }),
    );
    assert_eq!(found["new_group"]["rules"].as_array().unwrap().len(), 1);
    let tls = alb(
        "2.13.4",
        &ingress("web", &[("certificate-arn", "arn:aws:acm:eu-central-1:111122223333:certificate/a")], None),
        |_| {},
    );
    assert_eq!(tls["new_group"]["rules"][0]["from"], 443);
    let both = alb("2.13.4", &ingress("web", &[("listen-ports", r#"[{"HTTP": 80}, {"HTTPS": 443}]"#)], None), |_| {});
    holds(&both, json!({"error": "unknown"}));
    assert!(both["unknown"][0]["reason"].as_str().unwrap().contains("ACM"), "{both:#}");
    let wrong = alb("2.13.4", &ingress("web", &[("listen-ports", r#"[{"TCP": 80}]"#)], None), |_| {});
    assert_eq!(wrong["error"], "ingress: default/web: listen protocol must be within [HTTP, HTTPS]: TCP");
}

#[test]
fn listeners_have_certificates_and_redirect() {
    let arn = |name: &str| format!("arn:aws:acm:eu-central-1:111122223333:certificate/{name}");
    let (a, b) = (arn("a"), arn("b"));
    let ports = ("listen-ports", r#"[{"HTTP": 80}, {"HTTPS": 443}]"#);
    let both = format!("{a},{b}");
    let found = plain(&[ports, ("certificate-arn", &both), ("ssl-redirect", "443"), ("ssl-policy", "P")]);
    assert_eq!(
        found["listeners"],
        json!([
            {"port": 80, "protocol": "HTTP", "redirects_to": 443},
            {"port": 443, "protocol": "HTTPS", "certificates": [a, b], "ssl_policy": "P"},
        ])
    );
    assert_eq!(plain(&[])["listeners"], json!([{"port": 80, "protocol": "HTTP"}]));
    // Members add their certificates, each once; the first one stays the default, and may be one for names as well.
    let found = group(&[("certificate-arn", &b)], &[("certificate-arn", &both)]);
    assert_eq!(found["listeners"][0]["certificates"], json!([b, a, b]));
    let twice = format!("{a},{b},{a}");
    let of = |version: &str| {
        let found = alb(version, &ingress("web", &[("certificate-arn", twice.as_str())], None), |_| {});
        found["listeners"][0]["certificates"].clone()
    };
    assert_eq!((of("2.12.0"), of("2.13.4")), (json!([a, b]), json!([a, b, a])));
    // One that a member leaves to discovery may be the default.
    let https = ("listen-ports", r#"[{"HTTPS": 443}]"#);
    assert_eq!(group(&[https], &[("certificate-arn", &b)])["listeners"][0]["certificates"], Value::Null);
    // One member may leave the policy to the others.
    let found = group(&[("certificate-arn", &b)], &[("certificate-arn", &b), ("ssl-policy", "P")]);
    assert_eq!(found["listeners"][0]["ssl_policy"], "P");
}

#[test]
fn members_of_a_group_must_agree() {
    let found = group(&[("scheme", "internet-facing")], &[]);
    holds(
        &found,
        json!({"error": null, "scheme": "internet-facing", "members": [{"kind": "Ingress", "namespace": "default", "name": "b"}]}),
    );
    assert!(found["name"].as_str().unwrap().starts_with("k8s-shop-"), "{found:#}");
    assert_eq!(
        group(&[("scheme", "internal")], &[("scheme", "internet-facing")])["error"],
        "conflicting scheme: map[internal:{} internet-facing:{}]"
    );
    assert_eq!(
        group(&[("load-balancer-name", "foo")], &[("load-balancer-name", "baz")])["error"],
        "conflicting load balancer name: map[baz:{} foo:{}]"
    );
    assert_eq!(
        group(&[("subnets", "pub-a,pub-b")], &[("subnets", "pub-a")])["error"],
        "conflicting subnets: [pub-a pub-b] | [pub-a]"
    );
    holds(&group(&[("subnets", "pub-a,pub-b")], &[("subnets", "pub-b,pub-a")]), json!({"error": null}));
}

#[test]
fn class_parameters_precede_annotations() {
    let parameters = |spec: Value| alb("2.13.4", &ingress("web", &[("scheme", "internal")], Some(spec)), |_| {});
    let ids = parameters(json!({"scheme": "internet-facing", "subnets": {"ids": [PRIVATE, PUBLIC_B]}}));
    holds(&ids, json!({"scheme": "internet-facing", "subnets": [PRIVATE, PUBLIC_B]}));
    let tags = parameters(json!({"subnets": {"tags": {"Name": ["pub-a", "pub-b"]}}}));
    holds(&tags, json!({"scheme": "internal", "subnets": [PUBLIC, PUBLIC_B]}));
    let missing = ingress("web", &[], Some(json!({}))).into_iter().filter(|one| one["kind"] != "IngressClassParams");
    let found = alb("2.13.4", &missing.collect::<Vec<_>>(), |_| {});
    holds(&found, json!({"handled": false, "error": "unknown"}));
}

#[test]
fn backends_that_were_not_given_leave_the_targets_open() {
    let objects: Vec<Value> = ingress("web", &[], None).into_iter().filter(|one| one["kind"] != "Service").collect();
    let found = alb("2.13.4", &objects, |_| {});
    holds(&found, json!({"error": "unknown", "targets": "unknown", "subnets": [PRIVATE, PRIVATE_B]}));
    let ip = alb("2.13.4", &ingress("web", &[("target-type", "ip")], None), |_| {});
    holds(&ip, json!({"error": null, "target_type": "ip", "targets": "unknown"}));
    let wrong = alb("2.13.4", &ingress("web", &[("target-type", "pod")], None), |_| {});
    assert_eq!(wrong["error"], "ingress: default/web: unknown targetType: pod");
}

#[test]
fn a_member_without_ranges_takes_those_of_the_others() {
    let found = group(&[("inbound-cidrs", "10.0.0.0/8")], &[]);
    holds(&found, json!({"error": null}));
    assert_eq!(sources(&found), ["10.0.0.0/8"]);
    assert_eq!(sources(&group(&[], &[("security-group-prefix-lists", "pl-1")])), ["pl-1"]);
    assert_eq!(
        group(&[("inbound-cidrs", "10.0.0.0/8")], &[("inbound-cidrs", "10.1.0.0/16")])["error"],
        "failed to merge listenPort config for port: 80: conflicting inbound-cidrs, default/a: [10.0.0.0/8], [] | default/b: [10.1.0.0/16], []"
    );
    assert_eq!(
        group(
            &[("listen-ports", r#"[{"HTTP": 80}]"#)],
            &[("listen-ports", r#"[{"HTTPS": 80}]"#), ("certificate-arn", "c")]
        )["error"],
        "failed to merge listenPort config for port: 80: conflicting protocol, default/a: HTTP | default/b: HTTPS"
    );
}

#[test]
fn an_ingress_without_a_class_takes_the_default_one() {
    let without = |version: &str, count: usize| {
        let mut objects = ingress("web", &[], None);
        let class = objects.iter_mut().find(|one| one["kind"] == "IngressClass").unwrap();
        class["metadata"]["annotations"] = json!({"ingressclass.kubernetes.io/is-default-class": "true"});
        let mut other = class.clone();
        other["metadata"]["name"] = json!("other");
        objects.extend((1..count).map(|_| other.clone()));
        let spec = objects.iter_mut().find(|one| one["kind"] == "Ingress").unwrap()["spec"].as_object_mut().unwrap();
        spec.remove("ingressClassName");
        alb(version, &objects, |_| {})
    };
    holds(&without("2.5.0", 1), json!({"handled": true, "error": null}));
    holds(&without(VERSION, 2), json!({"handled": true, "error": "multiple default IngressClasses found"}));
    let no_class = |ingress: &mut Value| {
        ingress["spec"].as_object_mut().unwrap().remove("ingressClassName");
    };
    holds(&changed(VERSION, &[], no_class), json!({"handled": false, "error": null}));
    let annotated = |class: &str| {
        changed(VERSION, &[], |ingress| {
            ingress["metadata"]["annotations"]["kubernetes.io/ingress.class"] = json!(class);
        })
    };
    holds(&annotated("alb"), json!({"handled": true}));
    holds(&annotated("nginx"), json!({"handled": false}));
}

#[test]
fn a_class_may_be_unusable() {
    let selecting = ingress("web", &[], Some(json!({"namespaceSelector": {"matchLabels": {"team": "a"}}})));
    holds(&alb(VERSION, &selecting, |_| {}), json!({"handled": false, "error": "unknown"}));
    let all = ingress("web", &[], Some(json!({"namespaceSelector": {}})));
    holds(&alb(VERSION, &all, |_| {}), json!({"handled": true, "error": null}));
    let mut wrong = ingress("web", &[], None);
    let class = wrong.iter_mut().find(|one| one["kind"] == "IngressClass").unwrap();
    class["spec"]["parameters"] = json!({"kind": "ConfigMap", "name": "x"});
    holds(
        &alb(VERSION, &wrong, |_| {}),
        json!({"handled": true, "error": "invalid ingress class: IngressClass alb references unknown parameters"}),
    );
}

#[test]
fn names_and_orders_of_groups_are_checked() {
    let words = "groupName must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
    for name in ["A B", "", "-a", "a-", "\u{fc}"] {
        assert_eq!(plain(&[("group.name", name)])["error"], format!("invalid ingress group: {words}"), "{name}");
    }
    let long = "a".repeat(64);
    assert_eq!(
        plain(&[("group.name", &long)])["error"],
        "invalid ingress group: groupName must be no more than 63 characters"
    );
    assert_eq!(
        plain(&[("group.order", "x")])["error"],
        "failed to load Ingress group order for ingress: default/web: failed to parse int32 annotation, alb.ingress.kubernetes.io/group.order: x: strconv.ParseInt: parsing \"x\": invalid syntax"
    );
    assert_eq!(
        plain(&[("group.order", "2000")])["error"],
        "explicit Ingress group order must be within [-1000:1000], Ingress: default/web, order: 2000"
    );
    let found = group(&[("group.order", "5")], &[("group.order", "-5")]);
    holds(&found, json!({"object": {"kind": "Ingress", "namespace": "default", "name": "b"}, "error": null}));
}

#[test]
fn redirects_need_a_port_with_tls() {
    assert_eq!(plain(&[("ssl-redirect", "443")])["error"], "listener does not exist for SSLRedirect port: 443");
    assert_eq!(plain(&[("ssl-redirect", "80")])["error"], "listener protocol non-SSL for SSLRedirect port: 80");
    let ports = ("listen-ports", r#"[{"HTTP": 80}, {"HTTPS": 443}]"#);
    holds(&plain(&[("ssl-redirect", "443"), ports, ("certificate-arn", "c")]), json!({"error": null}));
    assert_eq!(
        group(&[("ssl-redirect", "443"), ports, ("certificate-arn", "c")], &[("ssl-redirect", "80")])["error"],
        "conflicting sslRedirect port: [80 443]"
    );
}

#[test]
fn backends_are_services_or_actions_of_annotations() {
    let backend = |backend: Value, annotations: &[(&str, &str)]| {
        changed(VERSION, annotations, |one| one["spec"]["rules"][0]["http"]["paths"][0]["backend"] = backend)
    };
    let resource = json!({"resource": {"kind": "Bucket", "name": "b"}});
    assert_eq!(backend(resource, &[])["error"], "ingress: default/web: missing required \"service\" field");
    let action = |text: &str| {
        backend(json!({"service": {"name": "go", "port": {"name": "use-annotation"}}}), &[("actions.go", text)])
    };
    let forward = r#"{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"web","ServicePort":"80"}]}}"#;
    holds(&action(forward), json!({"error": null, "node_groups": [TAGGED_GROUP], "target_type": "instance"}));
    let redirect = r#"{"type":"redirect","redirectConfig":{"host":"x","statusCode":"HTTP_301"}}"#;
    holds(&action(redirect), json!({"error": null, "targets": [], "rules": []}));
    for (text, words) in [
        (r#"{"type":"redirect"}"#, "missing RedirectConfig"),
        (
            r#"{"type":"fixed-response","fixedResponseConfig":{}}"#,
            "invalid FixedResponseConfig: statusCode is required",
        ),
        (r#"{"type":"jump"}"#, "unknown action type: jump"),
        (r#"{"type":"forward"}"#, "missing ForwardConfig or TargetGroupARN/TargetGroupName"),
        (
            r#"{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web"}]}}"#,
            "invalid ForwardConfig: invalid TargetGroupTuple: missing servicePort",
        ),
        (
            r#"{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80},{"targetGroupARN":"a"}]}}"#,
            "invalid ForwardConfig: weight must be set when route to multiple target groups",
        ),
        (
            "x",
            "failed to parse json annotation, alb.ingress.kubernetes.io/actions.go: x: invalid character 'x' looking for beginning of value",
        ),
    ] {
        assert_eq!(action(text)["error"], format!("ingress: default/web: {words}"));
    }
    let missing = backend(json!({"service": {"name": "go", "port": {"name": "use-annotation"}}}), &[]);
    holds(&missing, json!({"error": null, "targets": []}));
}

#[test]
fn paths_tags_and_ports_are_checked() {
    let path = |kind: &str, path: &str| {
        changed(VERSION, &[], |one| {
            one["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!(path);
            one["spec"]["rules"][0]["http"]["paths"][0]["pathType"] = json!(kind);
        })
    };
    assert_eq!(path("Prefix", "/a*")["error"], "ingress: default/web: prefix path shouldn't contain wildcards: /a*");
    assert_eq!(path("Exact", "/a?")["error"], "ingress: default/web: exact path shouldn't contain wildcards: /a?");
    holds(&path("ImplementationSpecific", "/a*"), json!({"error": null}));
    assert_eq!(
        plain(&[("tags", "a")])["error"],
        "failed to parse stringMap annotation, alb.ingress.kubernetes.io/tags: a"
    );
    assert_eq!(group(&[("tags", "a=1")], &[("tags", "a=2")])["error"], "conflicting tag a: 1 | 2");
    let pool = |name: &'static str| [("customer-owned-ipv4-pool", name)];
    assert_eq!(
        plain(&pool(""))["error"],
        "cannot use empty value for customer-owned-ipv4-pool annotation, ingress: default/web"
    );
    assert_eq!(group(&pool("b"), &pool("a"))["error"], "conflicting CustomerOwnedIPv4Pool: [a b]");
    assert_eq!(plain(&pool("a"))["error"], Value::Null);
    assert_eq!(
        group(&[("load-balancer-attributes", "a=1")], &[("load-balancer-attributes", "a=2")])["error"],
        "conflicting load balancer attributes a: 1 | 2"
    );
    for (raw, words) in [
        ("x", "invalid character 'x' looking for beginning of value"),
        ("", "unexpected end of JSON input"),
        (r#"[{"HTTP":"80"}]"#, "json: cannot unmarshal string into Go value of type int32"),
    ] {
        assert_eq!(
            plain(&[("listen-ports", raw)])["error"],
            format!("ingress: default/web: failed to parse listen-ports configuration: `{raw}`: {words}")
        );
    }
    let grpc = plain(&[("backend-protocol-version", "GRPC")]);
    assert_eq!(grpc["health_check"]["path"], "/AWS.ALB/healthcheck");
}

#[test]
fn annotations_that_are_not_modelled_leave_the_end_open() {
    for suffix in ["mutual-authentication", "auth-idp-oidc", "listener-attributes.HTTP-80", "enable-frontend-nlb"] {
        let found = plain(&[(suffix, "{}")]);
        holds(&found, json!({"error": "unknown", "subnets": [PRIVATE, PRIVATE_B]}));
        assert!(found["unknown"][0]["reason"].as_str().unwrap().contains(suffix), "{found:#}");
    }
    for (suffix, value) in [("auth-type", "none"), ("wafv2-acl-arn", "arn"), ("ssl-policy", "x"), ("unheard-of", "x")] {
        holds(&plain(&[(suffix, value)]), json!({"error": null}));
    }
}

#[test]
fn fields_of_class_parameters_came_with_versions() {
    let with = |version: &str, spec: Value| alb(version, &ingress("web", &[], Some(spec)), |_| {});
    let lists = |key: &str| json!({key: ["pl-1"]});
    for (version, key, used) in [
        ("2.12.0", "PrefixListsIDs", false),
        ("2.13.0", "PrefixListsIDs", true),
        ("2.13.0", "prefixListsIDs", false),
        ("2.14.0", "prefixListsIDs", true),
    ] {
        let found = with(version, lists(key));
        assert_eq!(sources(&found) == ["pl-1"], used, "{version} {key}");
    }
    assert_eq!(with("2.14.0", json!({"loadBalancerName": "mine"}))["name"], "mine");
    assert_ne!(with("2.13.4", json!({"loadBalancerName": "mine"}))["name"], "mine");
    assert_eq!(with("2.13.0", json!({"targetType": "ip"}))["target_type"], "ip");
    assert_eq!(with("2.12.0", json!({"targetType": "ip"}))["target_type"], "instance");
    assert_eq!(
        with(VERSION, json!({"inboundCIDRs": ["x"]}))["error"],
        "ingress: default/web: invalid CIDR in IngressClassParams InboundCIDR x: invalid CIDR address: x"
    );
}
