//! The calls of the controllers, the policies of their roles, and the limits of the account.

use serde_json::{Value, json};

use super::{Objects, Options, simulate};
use crate::aws::view::ClusterView;
use crate::kubernetes::Evidence;
use crate::model::ModelledController;
use crate::model::rights::Rights;
use crate::role_audit::RoleAuditOptions;
use crate::testing::aws::Cluster;

const NLB: (&str, &str) = ("aws-load-balancer-type", "nlb");

/// The simulation of a Service of the cloud controller after a change of the account.
fn simulated(annotations: &[(&str, &str)], change: impl FnOnce(&mut Cluster)) -> Value {
    let mut cluster = Cluster::new();
    for node in &mut cluster.nodes {
        node["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    }
    change(&mut cluster);
    let nodes = json!({"apiVersion": "v1", "kind": "List", "items": cluster.nodes}).to_string();
    let parse = |name: &str, text: String| Evidence::parse(name, text.into_bytes()).unwrap();
    let service = super::service(annotations, json!({})).to_string();
    let objects = Objects::new(parse("nodes.json", nodes), parse("service.json", service), "default");
    let view = ClusterView::new(&cluster.inventory, cluster.id, objects.evidence.nodes.as_deref(), &[]);
    let options = Options { controller: Some(ModelledController::CloudProviderAws), ..Options::default() };
    let mut simulation = simulate(&view, &objects, &options).unwrap();
    let of_roles = RoleAuditOptions::default();
    simulation.prove(&Rights::new(&view, &objects.evidence, &of_roles));
    serde_json::to_value(&simulation).unwrap()
}

fn verdicts(simulation: &Value) -> Vec<(&str, &str)> {
    let calls = simulation["objects"][0]["calls"].as_array().unwrap().iter();
    calls.map(|call| (call["action"].as_str().unwrap(), call["verdict"].as_str().unwrap_or("none"))).collect()
}

#[test]
fn a_network_load_balancer_is_created_before_its_target_groups() {
    let found = simulated(&[NLB], |_| {});
    let all = verdicts(&found);
    let place = |action: &str| all.iter().position(|(one, _)| *one == action).unwrap();
    assert!(place("elasticloadbalancing:CreateLoadBalancer") < place("elasticloadbalancing:CreateTargetGroup"));
    assert!(place("elasticloadbalancing:CreateTargetGroup") < place("ec2:AuthorizeSecurityGroupIngress"));
    assert!(all.iter().all(|(_, verdict)| *verdict == "granted"), "{all:?}");
    assert_eq!(found["controllers"][0]["roles"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_call_that_the_role_lacks_or_a_statement_denies_is_refused() {
    let denied = simulated(&[], |c| {
        let policy = c.server_policy();
        let mut document: Value = serde_json::from_str(policy).unwrap();
        let deny = json!({"Effect": "Deny", "Action": "elasticloadbalancing:CreateLoadBalancer", "Resource": "*"});
        document["Statement"].as_array_mut().unwrap().push(deny);
        *policy = document.to_string();
    });
    let all = verdicts(&denied);
    assert!(all.contains(&("elasticloadbalancing:CreateLoadBalancer", "denied")), "{all:?}");
    assert!(all.contains(&("elasticloadbalancing:ConfigureHealthCheck", "granted")), "{all:?}");
    // Of a tag that the request does not have.
    let conditional = simulated(&[], |c| {
        let allow = json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": ["ec2:*", "elasticloadbalancing:*"], "Resource": "*",
             "Condition": {"StringEquals": {"aws:RequestTag/team": "shop"}}}
        ]});
        *c.server_policy() = allow.to_string();
    });
    let all = verdicts(&conditional);
    assert!(all.contains(&("elasticloadbalancing:CreateLoadBalancer", "missing")), "{all:?}");
    let tagged = simulated(&[("aws-load-balancer-additional-resource-tags", "team=shop")], |c| {
        let allow = json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": "elasticloadbalancing:CreateLoadBalancer", "Resource": "*",
             "Condition": {"StringEquals": {"aws:RequestTag/team": "shop"}}}
        ]});
        *c.server_policy() = allow.to_string();
    });
    assert!(verdicts(&tagged).contains(&("elasticloadbalancing:CreateLoadBalancer", "granted")));
}

#[test]
fn without_its_role_nothing_is_said_about_a_call() {
    let found = simulated(&[], |c| c.account().roles.clear());
    assert!(verdicts(&found).iter().all(|(_, verdict)| *verdict == "none"));
    assert_eq!(found["controllers"][0].get("roles"), None);
}

#[test]
fn limits_of_the_account_are_counted() {
    let with_limit = |limit: u64| {
        simulated(&[NLB], |c| {
            // Not the load balancer of the Service.
            c.add_network().name = "another".to_owned();
            let balancing = c.region().load_balancing.as_mut().unwrap();
            balancing.limits = Some([("network-load-balancers".to_owned(), limit)].into());
        })
    };
    let full = with_limit(1);
    let room = json!([{"limit_name": "network-load-balancers", "limit": 1, "existing": 1, "asked": 1}]);
    assert_eq!(full["room"], room);
    assert_eq!(full["objects"][0]["error"], "unknown");
    assert_eq!(with_limit(50)["objects"][0]["error"], Value::Null);
}
