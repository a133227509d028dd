//! Listeners that the controllers in AWS ask for.

use serde_json::{Value, json};

use super::{EXTERNAL, decision, service};
use crate::model::ModelledController::{self, CloudProviderAws, LoadBalancerController};

const ARN: &str = "arn:aws:acm:eu-central-1:111122223333:certificate/0a";
const OTHER: &str = "arn:aws:acm:eu-central-1:111122223333:certificate/0b";
const CERTIFICATE: (&str, &str) = ("aws-load-balancer-ssl-cert", ARN);
const NLB: (&str, &str) = ("aws-load-balancer-type", "nlb");

fn listeners(controller: ModelledController, version: &str, annotations: &[(&str, &str)], spec: Value) -> Value {
    decision(controller, version, service(annotations, spec), |_| {})["listeners"].clone()
}

/// Two ports, of which the second has a name.
fn two_ports() -> Value {
    json!({"ports": [
        {"port": 80, "nodePort": 30_080, "protocol": "TCP"},
        {"name": "Https", "port": 443, "targetPort": 8443, "nodePort": 30_443, "protocol": "TCP"},
    ]})
}

/// `PORT PROTOCOL to PORT PROTOCOL`, with `*` if it has a certificate.
fn short(listeners: &Value) -> Vec<String> {
    let all = listeners.as_array().unwrap().iter().map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or("?").to_owned();
        let star = if one["certificates"].is_array() { "*" } else { "" };
        format!("{} {} to {} {}{star}", one["port"], text("protocol"), one["target_port"], text("target_protocol"))
    });
    all.collect()
}

#[test]
fn classic_load_balancers_take_their_protocols_from_certificate_and_backend() {
    let first = |more: &[(&str, &str)]| {
        short(&listeners(CloudProviderAws, "1.33", more, two_ports())).into_iter().next_back().unwrap()
    };
    let backend = |protocol: &'static str| [CERTIFICATE, ("aws-load-balancer-backend-protocol", protocol)];
    assert_eq!(first(&[]), "443 TCP to 30443 TCP");
    assert_eq!(first(&[("aws-load-balancer-backend-protocol", "http")]), "443 HTTP to 30443 HTTP");
    // Without a certificate no other protocol of the backends counts.
    assert_eq!(first(&[("aws-load-balancer-backend-protocol", "https")]), "443 TCP to 30443 TCP");
    assert_eq!(first(&[CERTIFICATE]), "443 SSL to 30443 TCP*");
    assert_eq!(first(&backend("tcp")), "443 SSL to 30443 TCP*");
    assert_eq!(first(&backend("ssl")), "443 SSL to 30443 SSL*");
    assert_eq!(first(&backend("http")), "443 HTTPS to 30443 HTTP*");
    assert_eq!(first(&backend("https")), "443 HTTPS to 30443 HTTPS*");
}

#[test]
fn ports_with_tls_are_listed_by_number_or_name() {
    let with_tls = |controller, more: &[(&str, &str)], ports: &str| -> Vec<String> {
        let annotations = [more, &[CERTIFICATE, ("aws-load-balancer-ssl-ports", ports)]].concat();
        let all = listeners(
            controller,
            if controller == CloudProviderAws { "1.33" } else { "2.13.4" },
            &annotations,
            two_ports(),
        );
        let has = all.as_array().unwrap().iter().filter(|one| one["certificates"].is_array());
        has.map(|one| one["port"].to_string()).collect()
    };
    for controller in [CloudProviderAws, LoadBalancerController] {
        let nlb: &[(&str, &str)] = if controller == CloudProviderAws { &[NLB] } else { &EXTERNAL };
        assert_eq!(with_tls(controller, nlb, "443"), ["443"]);
        assert_eq!(with_tls(controller, nlb, "Https"), ["443"]);
        assert_eq!(with_tls(controller, nlb, "80,443"), ["80", "443"]);
    }
    // The names of ports of a Classic Load Balancer are compared in lower case, and items as they are written.
    assert_eq!(with_tls(CloudProviderAws, &[], "https"), ["443"]);
    assert_eq!(with_tls(CloudProviderAws, &[], "Https"), [""; 0]);
    assert_eq!(with_tls(CloudProviderAws, &[], "80, 443"), ["80"]);
    assert_eq!(with_tls(LoadBalancerController, &EXTERNAL, "80, 443"), ["80", "443"]);
    assert_eq!(with_tls(CloudProviderAws, &[], "*"), ["80", "443"]);
}

#[test]
fn network_load_balancers_forward_to_target_groups() {
    let policy = ("aws-load-balancer-ssl-negotiation-policy", "ELBSecurityPolicy-TLS13-1-2-2021-06");
    let ssl = ("aws-load-balancer-backend-protocol", "ssl");
    for (controller, version, kind) in
        [(CloudProviderAws, "1.33", &[NLB][..]), (LoadBalancerController, "2.13.4", &EXTERNAL[..])]
    {
        let plain = listeners(controller, version, kind, two_ports());
        assert_eq!(short(&plain), ["80 TCP to 30080 TCP", "443 TCP to 30443 TCP"]);
        let tls = listeners(controller, version, &[kind, &[CERTIFICATE, policy]].concat(), two_ports());
        assert_eq!(short(&tls), ["80 TLS to 30080 TCP*", "443 TLS to 30443 TCP*"]);
        assert_eq!((&tls[0]["certificates"], &tls[0]["ssl_policy"]), (&json!([ARN]), &json!(policy.1)));
        let both = listeners(controller, version, &[kind, &[CERTIFICATE, ssl]].concat(), two_ports());
        assert_eq!(short(&both), ["80 TLS to 30080 TLS*", "443 TLS to 30443 TLS*"]);
        let udp = json!({"ports": [{"port": 53, "nodePort": 30_053, "protocol": "UDP"}]});
        let udp = listeners(controller, version, &[kind, &[CERTIFICATE]].concat(), udp);
        assert_eq!(short(&udp), ["53 UDP to 30053 UDP"]);
    }
    // The cloud controller takes one certificate, the other one a list.
    let two = format!("{ARN}, {OTHER}");
    let annotations = [&EXTERNAL[..], &[("aws-load-balancer-ssl-cert", two.as_str())]].concat();
    let all = listeners(LoadBalancerController, "2.13.4", &annotations, two_ports());
    assert_eq!(all[0]["certificates"], json!([ARN, OTHER]));
    let ip = [&EXTERNAL[..], &[("aws-load-balancer-nlb-target-type", "ip")]].concat();
    let all = listeners(LoadBalancerController, "2.13.4", &ip, two_ports());
    assert_eq!(short(&all)[1], "443 TCP to 8443 TCP");
}

#[test]
fn ports_without_a_node_port_have_no_listener_of_the_cloud_controller() {
    let ports = json!({"allocateLoadBalancerNodePorts": false, "ports": [
        {"port": 80, "protocol": "TCP"}, {"port": 81, "nodePort": 30_081, "protocol": "TCP"},
    ]});
    let all = listeners(CloudProviderAws, "1.33", &[], ports);
    assert_eq!(short(&all), ["81 TCP to 30081 TCP"]);
}

#[test]
fn ports_of_one_number_share_a_listener_since_2_13() {
    let ports = || {
        json!({"ports": [
            {"name": "a", "port": 53, "nodePort": 30_053, "protocol": "TCP"},
            {"name": "b", "port": 53, "nodePort": 30_054, "protocol": "UDP"},
        ]})
    };
    let merged = [&EXTERNAL[..], &[CERTIFICATE, ("aws-load-balancer-enable-tcp-udp-listener", "true")]].concat();
    let all = listeners(LoadBalancerController, "2.13.4", &merged, ports());
    assert_eq!(short(&all), ["53 TCP_UDP to 30053 TCP_UDP"]);
    let all = listeners(LoadBalancerController, "2.12.0", &merged, ports());
    assert_eq!(short(&all), ["53 TLS to 30053 TCP*"]);
}

/// The listeners of a Service are known where the controller stops for another reason.
#[test]
fn an_error_about_subnets_leaves_the_listeners() {
    for (controller, version, kind) in
        [(CloudProviderAws, "1.33", &[][..]), (LoadBalancerController, "2.13.4", &EXTERNAL[..])]
    {
        let annotations = [kind, &[("aws-load-balancer-subnets", "none")]].concat();
        let found = decision(controller, version, service(&annotations, two_ports()), |_| {});
        assert!(found["error"].is_string(), "{found:#}");
        assert_eq!(short(&found["listeners"]).len(), 2);
    }
}
