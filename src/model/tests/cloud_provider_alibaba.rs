//! The cloud controller of Alibaba Cloud in the clean cluster of the tests, with one change.

use serde_json::{Value, json};

use crate::alibaba::{ClusterView, LoadBalancer, LoadBalancerKind, VSwitch};
use crate::controller::alibaba::{AlibabaController, calls};
use crate::kubernetes::Evidence;
use crate::model::ModelledController::CloudProviderAlibaba;
use crate::model::objects::Objects;
use crate::model::simulate::{Options, SimulationError, simulate_alibaba};
use crate::testing::alibaba::Cluster;
use crate::testing::tag;

use super::{CLASSIC, UID, holds};

mod servers;

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
const ZONES: (&str, &str) = ("zone-maps", "cn-hangzhou-h:vsw-h,cn-hangzhou-g:vsw-g");
const ID: &str = "lb-bp1own";
const TARGETS: [&str; 5] = ["i-bp1master1", "i-bp1master2", "i-bp1master3", "i-bp1worker1", "i-bp1worker2"];

/// A Service with annotations, by their names after the prefix, and fields that replace those of its `spec`.
fn service(annotations: &[(&str, &str)], spec: Value) -> Value {
    let mut service = super::service(&[], spec);
    for (name, value) in annotations {
        service["metadata"]["annotations"][format!("{PREFIX}{name}")] = json!(value);
    }
    service
}

fn nlb(annotations: &[(&str, &str)]) -> Value {
    service(annotations, json!({"loadBalancerClass": "alibabacloud.com/nlb"}))
}

/// The decision about a Service; the other Services of the cluster are dropped.
fn decide(version: &str, service: Value, change: impl FnOnce(&mut Cluster)) -> Value {
    let mut cluster = Cluster::new();
    cluster.objects.retain(|object| object["kind"] != "Service");
    for node in &mut cluster.objects {
        node["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    }
    for (id, zone) in [("vsw-h", "cn-hangzhou-h"), ("vsw-g", "cn-hangzhou-g"), ("vsw-x", "cn-hangzhou-h")] {
        cluster.region().vswitches.push(VSwitch {
            id: id.to_owned(),
            vpc_id: "vpc-bp1".to_owned(),
            zone_id: Some(zone.to_owned()),
            ..VSwitch::default()
        });
    }
    change(&mut cluster);
    cluster.objects.push(service);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": cluster.objects}).to_string();
    let evidence = Evidence::parse("f.json", list.into_bytes()).unwrap();
    let objects = Objects::of_cluster(&evidence);
    let view = ClusterView::new(&cluster.inventory, cluster.id, evidence.nodes.as_deref(), &[]);
    let versions = [(CloudProviderAlibaba, version.parse().unwrap())].into();
    let options = Options { controller: Some(CloudProviderAlibaba), versions, ..Options::default() };
    let mut found = simulate_alibaba(&view, &objects, &options).unwrap().objects;
    assert_eq!(found.len(), 1, "{found:#?}");
    serde_json::to_value(found.remove(0)).unwrap()
}

/// Adds a load balancer that belongs to its user.
fn own(cluster: &mut Cluster) -> &mut LoadBalancer {
    let one = LoadBalancer {
        id: ID.to_owned(),
        kind: LoadBalancerKind::Clb,
        address: Some("192.0.2.10".to_owned()),
        ..LoadBalancer::default()
    };
    let all = cluster.region().load_balancers.get_or_insert_default();
    all.push(one);
    all.last_mut().unwrap()
}

/// Adds the cloud configuration.
fn configure(cluster: &mut Cluster, global: &Value) {
    let text = json!({"Global": global}).to_string();
    let metadata = json!({"name": "cloud-config", "namespace": "kube-system"});
    let data = json!({"cloud-config.conf": text});
    cluster.objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}));
}

fn endpoints(pods: &[(&str, &str)]) -> Value {
    let endpoints: Vec<Value> = pods
        .iter()
        .map(|(node, ip)| json!({"addresses": [ip], "nodeName": node, "conditions": {"ready": true}}))
        .collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": endpoints,
        "metadata": {"name": "web-x", "namespace": "default", "labels": {"kubernetes.io/service-name": "web"}}
    })
}

#[test]
fn a_plain_service_gets_a_classic_load_balancer() {
    let found = decide("2.14.0", service(&[], json!({})), |_| {});
    let tags = json!({"ack.aliyun.com": "prod", "kubernetes.do.not.delete": CLASSIC});
    holds(&found, json!({"handled": true, "created": true, "error": null, "kind": "clb", "scheme": "internet"}));
    holds(&found, json!({"name": CLASSIC, "tags": tags, "targets": TARGETS, "listeners_written": true}));
    holds(&found, json!({"server_groups": ["k8s/30080/web/default/prod"], "subnets": null, "target_type": "ecs"}));
    assert!(found["weights"].as_object().unwrap().values().all(|weight| weight == 100), "{found:#}");
}

#[test]
fn a_vswitch_that_is_not_there_or_is_elsewhere_may_be_refused() {
    for zones in ["cn-hangzhou-h:vsw-h,cn-hangzhou-g:vsw-no", "cn-hangzhou-h:vsw-h,cn-hangzhou-i:vsw-g"] {
        holds(&decide("2.14.0", nlb(&[("zone-maps", zones)]), |_| {}), json!({"error": "unknown"}));
    }
    let intranet = |id| service(&[("address-type", "intranet"), ("vswitch-id", id)], json!({}));
    holds(&decide("2.14.0", intranet("vsw-no"), |_| {}), json!({"error": "unknown", "subnets": ["vsw-no"]}));
    holds(&decide("2.14.0", intranet("vsw-x"), |_| {}), json!({"error": null}));
}

#[test]
fn a_load_balancer_of_the_user_keeps_its_name_scheme_and_tags() {
    let named = |more: (&str, &str)| service(&[("id", ID), more], json!({}));
    let held = |c: &mut Cluster| {
        let one = own(c);
        (one.name, one.address_type) = (Some("made".to_owned()), Some("intranet".to_owned()));
    };
    // Its server group was not read, and the rest is known.
    let found = decide("2.14.0", named(("vgroup-port", "rsp-1:80")), held);
    holds(&found, json!({"name": "made", "scheme": "intranet", "tags": null, "load_balancer_id": ID}));
    let found = decide("2.14.0", named(("weight", "60")), |c| {
        c.region().load_balancers = Some(Vec::new());
    });
    holds(&found, json!({"name": "unknown", "scheme": "unknown", "error": "unknown"}));
}

#[test]
fn other_kinds_are_other_controllers() {
    let is_handled = |version: &str, service: Value| decide(version, service, |_| {})["handled"] == true;
    assert!(!is_handled("2.14.0", service(&[], json!({"loadBalancerClass": "example.com/lb"}))));
    assert!(!is_handled("2.14.0", service(&[], json!({"type": "NodePort"}))));
    assert!(!is_handled("2.14.0", service(&[("tunnel-type", "")], json!({}))));
    assert!(is_handled("2.11.2", service(&[("tunnel-type", "")], json!({}))));
    let mut classed = service(&[], json!({}));
    classed["metadata"]["annotations"]["service.beta.kubernetes.io/class"] = json!("mine");
    assert!(!is_handled("2.14.0", classed));
    // The annotation needs a feature gate of the configuration.
    let typed = || service(&[("type", "nlb"), ZONES], json!({}));
    holds(&decide("2.14.0", typed(), |_| {}), json!({"kind": "clb"}));
    let gate = |c: &mut Cluster| configure(c, &json!({"featureGates": "LoadBalancerTypeAnnotation=true"}));
    holds(&decide("2.14.0", typed(), gate), json!({"kind": "nlb", "error": null}));
    // A gate that the version does not have stops it at its start.
    holds(&decide("2.9.1", typed(), gate), json!({"error": "unknown"}));
}

#[test]
fn a_configuration_can_forbid_public_addresses() {
    let change = |c: &mut Cluster| configure(c, &json!({"clusterID": "prod", "disablePublicSLB": true}));
    let found = decide("2.14.0", service(&[], json!({})), change);
    holds(&found, json!({"handled": false, "error": null}));
    assert!(found["notes"][0].as_str().unwrap().contains("create public address slb is not allowed"), "{found:#}");
    let intranet = service(&[("address-type", "intranet"), ("vswitch-id", "vsw-x")], json!({}));
    holds(&decide("2.14.0", intranet, change), json!({"handled": true, "scheme": "intranet", "subnets": ["vsw-x"]}));
    holds(&decide("2.14.0", nlb(&[ZONES]), change), json!({"handled": true}));
}

#[test]
fn the_vswitch_of_a_private_address_depends_on_the_version() {
    let intranet = || service(&[("address-type", "intranet")], json!({}));
    let with = |vswitches: &'static str| {
        move |c: &mut Cluster| configure(c, &json!({"vpcid": "vpc-bp1", "clusterID": "prod", "vswitchid": vswitches}))
    };
    // Without a configuration, it is that of the machine.
    holds(&decide("2.14.0", intranet(), |_| {}), json!({"subnets": ["vsw-bp1"]}));
    let two = "cn-hangzhou-h:vsw-1,cn-hangzhou-g:vsw-2";
    holds(&decide("2.12.4", intranet(), with(two)), json!({"subnets": ["vsw-1"]}));
    holds(&decide("2.12.4", intranet(), with("vsw-1")), json!({"subnets": ["vsw-1"], "error": null}));
    let found = decide("2.13.0", intranet(), with(two));
    holds(&found, json!({"subnets": "unknown", "subnets_one_of": ["vsw-1", "vsw-2"], "error": null}));
    let found = decide("2.13.0", intranet(), with("vsw-1"));
    holds(&found, json!({"created": false}));
    assert!(
        found["error"].as_str().unwrap().ends_with("get vsw id from metadata error: no vswitches found"),
        "{found:#}"
    );
    let full = decide("2.13.0", intranet(), |c| {
        with(two)(c);
        for (id, free) in [("vsw-1", 0), ("vsw-2", 9)] {
            let one = VSwitch { id: id.to_owned(), free_addresses: Some(free), ..VSwitch::default() };
            c.region().vswitches.push(one);
        }
    });
    holds(&full, json!({"subnets": ["vsw-2"]}));
}

#[test]
fn a_network_load_balancer_needs_zones() {
    let found = decide("2.14.0", nlb(&[]), |_| {});
    let error = "build lb local model error: build nlb attribute error: ParameterMissing, zone mappings are required";
    holds(&found, json!({"error": error, "created": false}));
    let found = decide("2.14.0", nlb(&[("zone-maps", "vsw-h,vsw-g")]), |_| {});
    assert!(found["error"].as_str().unwrap().contains("ZoneMapping format error"), "{found:#}");
    let found = decide("2.14.0", nlb(&[ZONES, ("security-group-ids", "sg-1,sg-2")]), |_| {});
    let zones = json!([{"zone": "cn-hangzhou-h", "vswitch": "vsw-h"}, {"zone": "cn-hangzhou-g", "vswitch": "vsw-g"}]);
    holds(&found, json!({"error": null, "zone_mappings": zones, "subnets": ["vsw-h", "vsw-g"]}));
    holds(&found, json!({"lb_groups": ["sg-1", "sg-2"], "server_groups": ["k8s.30080.TCP.web.default.prod"]}));
}

#[test]
fn source_ranges_that_the_api_may_refuse_are_not_decided() {
    let zones = "cn-hangzhou-h:vsw-h,cn-hangzhou-g:vsw-g";
    let with = |ranges: Vec<String>| {
        let mut ranged = nlb(&[("zone-maps", zones)]);
        ranged["spec"]["loadBalancerSourceRanges"] = json!(ranges);
        decide("2.14.0", ranged, |_| {})["error"].clone()
    };
    let many = |count: u8| (0..count).map(|n| format!("10.{n}.0.0/16")).collect::<Vec<_>>();
    assert_eq!(with(many(199)), Value::Null);
    assert_eq!(with(many(200)), "unknown");
    assert_eq!(with(vec!["10.0.0.0/8".to_owned(), "2001:db8::/32".to_owned()]), "unknown");
}

#[test]
fn source_ranges_get_a_group_of_a_network_load_balancer() {
    let mut ranged = nlb(&[ZONES]);
    ranged["spec"]["loadBalancerSourceRanges"] = json!(["10.0.0.0/8"]);
    let found = decide("2.14.0", ranged.clone(), |_| {});
    let name = format!("k8s-nlb-{CLASSIC}");
    holds(&found, json!({"lb_groups": [format!("new:{name}")]}));
    assert_eq!(found["new_group"]["name"], json!(name));
    holds(&decide("2.13.0", ranged, |_| {}), json!({"lb_groups": [], "new_group": null}));
}

#[test]
fn a_reused_load_balancer_keeps_its_listeners() {
    let reused = |more: &[(&str, &str)]| service(&[&[("id", ID)], more].concat(), json!({}));
    let found = decide("2.14.0", reused(&[]), |c| drop(own(c).id.clone()));
    holds(&found, json!({"error": null, "load_balancer_id": ID, "listeners_written": false, "targets": TARGETS}));
    let found = decide("2.14.0", reused(&[("force-override-listeners", "true")]), |c| drop(own(c).id.clone()));
    holds(&found, json!({"listeners_written": true}));
    let tagged = |c: &mut Cluster| tag(&mut own(c).tags, "ack.aliyun.com", "other");
    let reason =
        "alicloud: the loadbalancer lb-bp1own can not be reused, can not reuse loadbalancer created by kubernetes.";
    let error = format!("apply model error: update lb attribute error: {reason}");
    holds(&decide("2.14.0", reused(&[]), tagged), json!({"error": error}));
    holds(&decide("2.9.1", reused(&[]), tagged), json!({"error": format!("apply model error: {reason}")}));
    // One that is not in the inventory may exist all the same.
    holds(&decide("2.14.0", reused(&[]), |_| {}), json!({"error": "unknown"}));
    let mut bound = reused(&[]);
    bound["status"] = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.99"}]}});
    let found = decide("2.14.0", bound, |c| drop(own(c).id.clone()));
    assert!(
        found["error"]
            .as_str()
            .unwrap()
            .contains("associated with ip [192.0.2.99], cannot be bound to ip [192.0.2.10]")
    );
}

#[test]
fn a_load_balancer_is_found_by_tag_and_then_by_name() {
    let by_tag = |c: &mut Cluster| tag(&mut own(c).tags, "kubernetes.do.not.delete", CLASSIC);
    holds(&decide("2.14.0", service(&[], json!({})), by_tag), json!({"load_balancer_id": ID, "tags": null}));
    let by_name = |c: &mut Cluster| own(c).name = Some(CLASSIC.to_owned());
    holds(&decide("2.14.0", service(&[], json!({})), by_name), json!({"load_balancer_id": ID, "name": CLASSIC}));
    let twice = |c: &mut Cluster| {
        by_tag(c);
        let mut second = own(c).clone();
        second.id = "lb-bp1second".to_owned();
        tag(&mut second.tags, "kubernetes.do.not.delete", CLASSIC);
        c.region().load_balancers.as_mut().unwrap().push(second);
    };
    let found = decide("2.14.0", service(&[], json!({})), twice);
    assert!(found["error"].as_str().unwrap().contains("find multiple loadbalances by tag"), "{found:#}");
    // The status has an address, but nothing carries the tag.
    let mut lost = service(&[], json!({}));
    lost["status"] = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.99"}]}});
    let found = decide("2.14.0", lost.clone(), |_| {});
    assert!(found["error"].as_str().unwrap().contains("defined in service [192.0.2.99]"), "{found:#}");
    let unread = decide("2.14.0", lost, |c| c.region().load_balancers = None);
    holds(&unread, json!({"load_balancer_id": "unknown", "error": null}));
    let changed = decide("2.14.0", service(&[("address-type", "intranet")], json!({})), |c| {
        by_tag(c);
        own(c);
        c.region().load_balancers.as_mut().unwrap().pop();
        c.load_balancer(ID).address_type = Some("internet".to_owned());
    });
    assert!(changed["error"].as_str().unwrap().contains("can not change LoadBalancer AddressType"), "{changed:#}");
}

#[test]
fn zones_of_a_load_balancer_never_change() {
    let decided = |version: &str, annotations: &[(&str, &str)]| {
        decide(version, service(annotations, json!({})), |c| {
            let held = own(c);
            tag(&mut held.tags, "kubernetes.do.not.delete", CLASSIC);
            held.primary_zone = Some("cn-hangzhou-h".to_owned());
            held.secondary_zone = Some("cn-hangzhou-g".to_owned());
        })["error"]
            .clone()
    };
    let same = [("master-zoneid", "cn-hangzhou-h"), ("slave-zoneid", "cn-hangzhou-g")];
    assert_eq!(decided("2.14.0", &same), decided("2.14.0", &[]));
    let both = [("master-zoneid", "cn-hangzhou-g"), ("slave-zoneid", "cn-hangzhou-h")];
    let first = "alicloud: can not change LoadBalancer master zone id once created";
    let second = "alicloud: can not change LoadBalancer slave zone id once created";
    let prefix = "apply model error: update lb attribute error: ";
    assert_eq!(decided("2.14.0", &both[..1]), json!(format!("{prefix}{first}")));
    assert_eq!(decided("2.14.0", &both), json!(format!("{prefix}[{first}, {second}]")));
    assert_eq!(decided("2.5.1", &both), json!(format!("{prefix}{first}")));
    // A recording of before has no zones.
    let unread = decide("2.14.0", service(&both, json!({})), |c| {
        tag(&mut own(c).tags, "kubernetes.do.not.delete", CLASSIC);
    });
    assert_eq!(unread["error"], json!("unknown"));
    let unknown = unread["unknown"].as_array().unwrap();
    let of_zones = |one: &&Value| one["reason"].as_str().unwrap().contains("-zoneid` differs");
    assert_eq!(unknown.iter().filter(of_zones).count(), 2, "{unread:#}");
}

#[test]
fn numbers_are_read_as_go_reads_them() {
    let error = |version: &str, service: Value| {
        let found = decide(version, service, |_| {});
        found["error"].as_str().unwrap_or_default().to_owned()
    };
    let classic = |name: &str, value: &str| error("2.14.0", service(&[(name, value)], json!({})));
    assert!(
        classic("bandwidth", "5M")
            .ends_with("bandwidth must be integer, got [5M], error: strconv.Atoi: parsing \"5M\": invalid syntax")
    );
    assert!(
        classic("health-check-interval", "2s")
            .contains("Annotation HealthCheckInterval must be integer, but got [2s].")
    );
    assert!(classic("protocol-port", "443").ends_with("with colon separated. got=[[443]]"));
    assert!(classic("protocol-port", "HTTP:80").contains("protocol not supported wit [HTTP]"));
    assert_eq!(classic("protocol-port", "http:80,HTTP:443"), "");
    assert_eq!(classic("forward-port", "80"), "");
    let forwarded = service(&[("protocol-port", "http:80"), ("forward-port", "80")], json!({}));
    assert!(error("2.14.0", forwarded).contains("Annotation ForwardPort error: forward port format error: 80"));
    assert_eq!(classic("weight", "many"), "");
    assert!(classic("default-weight", "101").contains("can not find vgroup by name"));
    assert_eq!(error("2.13.0", service(&[("default-weight", "101")], json!({}))), "");
    let network = |name: &str, value: &str| error("2.14.0", nlb(&[ZONES, (name, value)]));
    assert!(network("cps", "many").contains("parse Mss error: strconv.Atoi"));
    assert!(network("protocol-port", "https:80").contains("protocol not supported with [https]"));
    assert!(network("cross-zone-enabled", "yes").ends_with("invalid flag \"yes\", should be \"on\" or \"off\""));
    assert!(network("server-group-type", "pod").ends_with("unsupport server ServerGroupType []"));
    assert!(network("default-weight", "101").contains("default weight must be integer in range [0,100] , got [101]"));
    assert!(network("listener-port-range", "1-2:80").contains("can only be used for eni backend type service"));
    assert_eq!(network("health-check-interval", "2s"), "");
    let two = json!([{"name": "a", "port": 80, "nodePort": 30080}, {"name": "b", "port": 80, "protocol": "UDP", "nodePort": 30081}]);
    let mut overlapping = nlb(&[ZONES, ("protocol-port", "tcp:80")]);
    overlapping["spec"]["ports"] = two;
    assert!(error("2.14.0", overlapping).ends_with("port of listener [80] overlaps with listener [80]"));
}

#[test]
fn names_wait_for_what_the_api_server_adds() {
    let mut new = service(&[], json!({}));
    new["metadata"].as_object_mut().unwrap().remove("uid");
    new["spec"]["ports"][0].as_object_mut().unwrap().remove("nodePort");
    let found = decide("2.14.0", new, |_| {});
    holds(
        &found,
        json!({"name": "unknown", "tags": "unknown", "server_groups": "unknown", "error": null, "created": true}),
    );
    assert_eq!(UID.replace('-', "").get(..31).map(|id| format!("a{id}")), Some(CLASSIC.to_owned()));
}

#[test]
fn versions_before_network_load_balancers_are_not_modelled() {
    let cluster = Cluster::new();
    let evidence = Evidence::default();
    let view = ClusterView::new(&cluster.inventory, cluster.id, None, &[]);
    let versions = [(CloudProviderAlibaba, "2.4.0".parse().unwrap())].into();
    let options = Options { versions, ..Options::default() };
    let refused = simulate_alibaba(&view, &Objects::of_cluster(&evidence), &options);
    assert!(matches!(refused, Err(SimulationError::TooOld { .. })), "{refused:?}");
}

#[test]
fn network_load_balancers_read_groups_of_the_user_since_v2_9() {
    let change = |c: &mut Cluster| {
        let one = own(c);
        (one.kind, one.address_type) = (LoadBalancerKind::Nlb, Some("Intranet".to_owned()));
    };
    let reused = || nlb(&[("id", ID), ("vgroup-port", "x")]);
    holds(&decide("2.8.0", reused(), change), json!({"error": null, "scheme": "intranet"}));
    let error = decide("2.9.1", reused(), change)["error"].as_str().unwrap().to_owned();
    assert!(error.contains("server group id and protocol format must be like 'sg-xxx:443'"), "{error}");
}

#[test]
fn listeners_have_protocols_and_ranges_of_their_load_balancer() {
    let sctp = || service(&[], json!({"ports": [{"port": 80, "nodePort": 30080, "protocol": "SCTP"}]}));
    let error = "apply model error: create listener error: sctp protocol is not supported";
    holds(&decide("2.14.0", sctp(), |_| {}), json!({"error": error, "created": true}));
    let error =
        "apply model error: update lb listeners error: create listener [80] error: sctp protocol is not supported";
    holds(&decide("2.8.0", sctp(), |_| {}), json!({"error": error}));
    let range = |range: &str| {
        let mut service = nlb(&[ZONES, ("listener-port-range", range)]);
        service["metadata"]["annotations"]["service.beta.kubernetes.io/backend-type"] = json!("eni");
        decide("2.14.0", service, |c| c.objects.push(endpoints(&[])))
    };
    let listeners = |service: Value| decide("2.14.0", service, |_| {})["listeners"].clone();
    assert_eq!(listeners(service(&[], json!({}))), json!([{"port": 80, "protocol": "tcp"}]));
    let https = [("protocol-port", "https:80"), ("cert-id", "1234_5"), ("tls-cipher-policy", "p")];
    let expected = json!([{"port": 80, "protocol": "https", "certificates": ["1234_5"], "ssl_policy": "p"}]);
    assert_eq!(listeners(service(&https, json!({}))), expected);
    let http = [("protocol-port", "http:80"), ("forward-port", "81:8443,80:443"), ("cert-id", "1234_5")];
    assert_eq!(listeners(service(&http, json!({}))), json!([{"port": 80, "protocol": "http", "redirects_to": 443}]));
    let tls = [ZONES, ("protocol-port", "TCPSSL:80"), ("cert-id", "1,2")];
    assert_eq!(listeners(nlb(&tls)), json!([{"port": 80, "protocol": "TCPSSL", "certificates": ["1", "2"]}]));
    assert_eq!(range("1000-2000:80")["listeners"], json!([{"port": 1000, "last_port": 2000, "protocol": "TCP"}]));
    holds(&range("1000-2000:80"), json!({"error": null, "server_groups": ["k8s.1000_2000.TCP.web.default.prod"]}));
    for (text, reason) in [
        ("1-2", "must be like 1000-2000:80"),
        ("a-2:80", "failed to convert port range [a-2:80] to int"),
        ("2000-1000:80", "start port should be smaller than end port"),
        ("0-70000:80", "port range [0-70000:80] is invalid"),
    ] {
        let found = range(text);
        assert!(found["error"].as_str().is_some_and(|error| error.contains(reason)), "{text}: {found:#}");
    }
    let without = service(&[], json!({"allocateLoadBalancerNodePorts": false, "ports": [{"port": 80}]}));
    holds(&decide("2.14.0", without, |_| {}), json!({"error": "unknown", "server_groups": ["k8s/0/web/default/prod"]}));
}

#[test]
fn a_configuration_that_stops_the_controller_decides_nothing() {
    for global in [
        json!({"featureGates": "Foo=true"}),
        json!({"featureGates": "EndpointSlice"}),
        json!({"disablePublicSLB": "true"}),
    ] {
        let found = decide("2.14.0", service(&[], json!({})), |c| configure(c, &global));
        holds(&found, json!({"error": "unknown", "created": false}));
    }
    let broken = |c: &mut Cluster| {
        configure(c, &json!({}));
        c.objects.last_mut().unwrap()["data"]["cloud-config.conf"] = json!("{\"Global\":");
    };
    holds(&decide("2.14.0", service(&[], json!({})), broken), json!({"error": "unknown"}));
}

/// Every call of the model is one that the source of the controller makes in that version.
#[test]
fn calls_are_those_of_the_controller() {
    let every = |version: &str, service: Value| {
        let found = decide(version, service, |_| {});
        let actions: Vec<String> =
            found["calls"].as_array().unwrap().iter().map(|call| call["action"].as_str().unwrap().to_owned()).collect();
        actions
    };
    let mut ranged = nlb(&[ZONES, ("security-group-ids", "sg-1")]);
    ranged["spec"]["loadBalancerSourceRanges"] = json!(["10.0.0.0/8"]);
    for version in ["2.5.1", "2.9.1", "2.14.0"] {
        for (service, kinds) in [
            (service(&[("protocol-port", "https:80")], json!({})), [AlibabaController::Service]),
            (ranged.clone(), [AlibabaController::Nlb]),
        ] {
            let parsed = version.parse().unwrap();
            let made: Vec<&str> =
                kinds.iter().flat_map(|kind| calls(*kind, Some(parsed))).map(|call| call.action.as_str()).collect();
            let actions = every(version, service);
            assert!(actions.len() > 6, "{actions:?}");
            for action in actions {
                assert!(made.contains(&action.as_str()), "{version} {action}");
            }
        }
    }
    // One that exists is not created.
    let found = decide("2.14.0", service(&[("id", ID)], json!({})), |c| drop(own(c).id.clone()));
    assert_eq!(found.get("calls"), None);
}
