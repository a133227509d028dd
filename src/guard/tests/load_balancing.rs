//! Load balancers and target groups of a plan: those of a controller are the controller's, others concern nobody.

use serde_json::{Value, json};

use crate::estate::EstateRef;
use crate::kubernetes::Evidence;
use crate::resource::ResourceKind;
use crate::testing::aws::{self, Cluster};
use crate::testing::load_balancers::{NETWORK_SERVICE, WHOLE_CLUSTER};

use super::{Guard, auditor, change, guard, is_nothing, new, plan, undecided, update};

const VPC: &str = "vpc-0bb1";
const OPERATORS: &str = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:loadbalancer/app/front/0c";
const OPERATORS_GROUP: &str = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:targetgroup/front/0d";

/// The cluster with the load balancer of its Service, and one of the operator in the same VPC.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new();
    let controllers = cluster.add_network();
    let mut own = controllers.clone();
    (own.arn, own.name) = (Some(OPERATORS.to_owned()), "front".to_owned());
    own.dns_name = "front-0c.eu-central-1.elb.amazonaws.com".to_owned();
    own.tags = Some(Vec::new());
    let read = cluster.region().load_balancing.as_mut().unwrap();
    read.load_balancers.push(own);
    let mut group = read.target_groups.first().unwrap().clone();
    (group.arn, group.name, group.load_balancers) =
        (OPERATORS_GROUP.to_owned(), "front".to_owned(), vec![OPERATORS.to_owned()]);
    group.tags = Some(Vec::new());
    read.target_groups.push(group);
    cluster
}

/// ARNs of the load balancer of the Service, and of its target group.
fn controllers(cluster: &mut Cluster) -> (String, String) {
    let read = cluster.region().load_balancing.as_ref().unwrap();
    let arn = read.load_balancers.first().and_then(|one| one.arn.clone()).unwrap();
    (arn, read.target_groups.first().unwrap().arn.clone())
}

fn evidence(text: &str) -> Evidence {
    Evidence::parse("f.yaml", text.as_bytes().to_vec()).unwrap()
}

fn tried(cluster: &Cluster, objects: &str, changes: &[Value]) -> Guard {
    let evidence = evidence(objects);
    let plan = plan(changes, &json!({}));
    guard(EstateRef::Aws(&cluster.inventory), (&plan, None), &[auditor(cluster, &evidence)], &|_| {}).unwrap()
}

fn balancer(arn: &str, groups: &[&str]) -> Value {
    let name = arn.rsplit('/').nth(1);
    json!({"id": arn, "arn": arn, "name": name, "vpc_id": VPC, "load_balancer_type": "network",
        "internal": false, "subnets": [aws::PUBLIC, aws::PUBLIC_B], "security_groups": groups})
}

fn deleted(address: &str, before: Value) -> Value {
    change(address, &["delete"], [before, Value::Null, json!({})])
}

fn why(guard: &Guard) -> String {
    guard.undecided.iter().map(|one| one.why.as_str()).collect::<Vec<_>>().join("; ")
}

#[test]
fn load_balancers_of_the_operator_concern_nobody() {
    let cluster = cluster();
    let own = || balancer(OPERATORS, &[]);
    let listener = json!({"id": "l", "load_balancer_arn": OPERATORS, "port": 80});
    let target = json!({"id": "t", "target_group_arn": OPERATORS_GROUP, "target_id": aws::SERVER});
    for one in [
        deleted("aws_lb.front", own()),
        update("aws_lb.front", own(), balancer(OPERATORS, &["sg-0new"])),
        deleted("aws_lb_listener.front", listener),
        deleted("aws_lb_target_group_attachment.front", target),
        deleted("aws_lb_target_group.front", json!({"id": OPERATORS_GROUP, "name": "front", "vpc_id": VPC})),
    ] {
        is_nothing(&tried(&cluster, NETWORK_SERVICE, &[one]));
    }
    let new = json!({"name": "next", "load_balancer_type": "application", "subnets": [aws::PUBLIC]});
    let unknown = json!({"id": true, "arn": true, "vpc_id": true});
    let made = change("aws_lb.next", &["create"], [Value::Null, new, unknown]);
    is_nothing(&tried(&cluster, NETWORK_SERVICE, &[made]));
}

#[test]
fn the_load_balancer_of_a_service_is_made_again() {
    let mut cluster = cluster();
    let (arn, group) = controllers(&mut cluster);
    let gone = tried(&cluster, NETWORK_SERVICE, &[deleted("aws_lb.web", balancer(&arn, &[]))]);
    assert_eq!(undecided(&gone), ["aws_lb.web"]);
    assert!(why(&gone).contains("load balancer of Service `shop/web`"), "{}", why(&gone));
    let services = gone.new.iter().filter(|one| one.resource.kind == ResourceKind::Service);
    assert_eq!(services.count(), 1, "{:?}", gone.new);
    let moved = update("aws_lb.web", balancer(&arn, &[]), balancer(&arn, &["sg-0new"]));
    let back = tried(&cluster, NETWORK_SERVICE, &[moved]);
    assert!(why(&back).contains("sets `security_groups` back"), "{}", why(&back));
    for part in [
        deleted("aws_lb_target_group.web", json!({"id": group, "name": "k8s-shop-web-0a", "vpc_id": VPC})),
        deleted("aws_lb_target_group_attachment.web", json!({"id": "t", "target_group_arn": group})),
        deleted("aws_lb_listener.web", json!({"id": "l", "load_balancer_arn": arn})),
        deleted(
            "aws_lb_listener_rule.web",
            json!({"id": "r", "listener_arn": format!("{}/0e", arn.replace(":loadbalancer/", ":listener/"))}),
        ),
    ] {
        let guard = tried(&cluster, NETWORK_SERVICE, std::slice::from_ref(&part));
        assert_eq!(guard.undecided.len(), 1, "{part}");
        assert!(
            why(&guard).contains("of Service `shop/web`") || why(&guard).contains("to Service `shop/web`"),
            "{}",
            why(&guard)
        );
    }
}

/// A plan that removes what a controller left behind is a repair.
#[test]
fn a_leftover_is_deleted_without_a_question() {
    let mut cluster = cluster();
    let (arn, _) = controllers(&mut cluster);
    let gone = tried(&cluster, WHOLE_CLUSTER, &[deleted("aws_lb.web", balancer(&arn, &[]))]);
    assert_eq!(undecided(&gone), [""; 0], "{}", why(&gone));
    assert!(gone.resolved.iter().any(|one| one.resource.kind == ResourceKind::LoadBalancer), "{:?}", gone.resolved);
}

#[test]
fn a_target_group_that_a_binding_names_is_missed() {
    let binding = format!(
        "{NETWORK_SERVICE}---\napiVersion: elbv2.k8s.aws/v1beta1\nkind: TargetGroupBinding\nmetadata: {{name: front, namespace: shop}}\nspec: {{targetGroupARN: '{OPERATORS_GROUP}', serviceRef: {{name: web, port: 443}}}}\n"
    );
    let group = || json!({"id": OPERATORS_GROUP, "name": "front", "vpc_id": VPC});
    let target = json!({"id": "t", "target_group_arn": OPERATORS_GROUP, "target_id": aws::SERVER});
    let replaced = change(
        "aws_lb_target_group.front",
        &["delete", "create"],
        [group(), json!({"name": "front", "vpc_id": VPC}), json!({"id": true, "arn": true})],
    );
    let added = change("aws_lb_target_group_attachment.front", &["create"], [Value::Null, target, json!({})]);
    for one in [deleted("aws_lb_target_group.front", group()), replaced.clone(), added.clone()] {
        let guard = tried(&cluster(), &binding, std::slice::from_ref(&one));
        assert!(why(&guard).contains("TargetGroupBinding `shop/front`"), "{one}: {}", why(&guard));
    }
    let by_name = binding.replace(&format!("targetGroupARN: '{OPERATORS_GROUP}'"), "targetGroupName: front");
    is_nothing(&tried(&cluster(), &by_name, &[replaced]));
    let guard = tried(&cluster(), &by_name, &[added]);
    assert!(why(&guard).contains("TargetGroupBinding `shop/front`"), "{}", why(&guard));
}

#[test]
fn what_was_not_read_may_be_a_controllers() {
    let mut unread = cluster();
    unread.region().load_balancing = None;
    let mut untagged = cluster();
    let read = untagged.region().load_balancing.as_mut().unwrap();
    read.load_balancers.iter_mut().for_each(|one| one.tags = None);
    for cluster in [unread, untagged] {
        for one in [
            deleted("aws_lb.front", balancer(OPERATORS, &[])),
            deleted("aws_lb_listener.front", json!({"id": "l", "load_balancer_arn": OPERATORS})),
        ] {
            let guard = tried(&cluster, WHOLE_CLUSTER, std::slice::from_ref(&one));
            assert!(why(&guard).contains("were not read"), "{one}: {}", why(&guard));
        }
    }
    let missing = deleted("aws_lb.other", balancer(&OPERATORS.replace("front", "other"), &[]));
    assert!(why(&tried(&cluster(), WHOLE_CLUSTER, &[missing])).contains("the inventory does not hold"));
}

/// The controller finds what it made by tags alone, and a leftover is found by them.
#[test]
fn tags_of_a_controller_are_not_taken_away() {
    let mut cluster = cluster();
    let (arn, group) = controllers(&mut cluster);
    let tags = || {
        let mut tags = serde_json::Map::new();
        tags.insert("kubernetes.io/service-name".to_owned(), "shop/web".into());
        tags.insert(aws::KEY.to_owned(), "owned".into());
        Value::Object(tags)
    };
    let mut before = balancer(&arn, &[]);
    before["tags_all"] = tags();
    let mut other = before.clone();
    other["tags_all"]["kubernetes.io/service-name"] = "shop/other".into();
    let mut without = before.clone();
    without["tags_all"] = json!({});
    for (objects, after, words) in [
        (NETWORK_SERVICE, &without, "the controller finds the load balancer of Service `shop/web` by"),
        (NETWORK_SERVICE, &other, "the controller finds the load balancer of Service `shop/web` by"),
        (WHOLE_CLUSTER, &without, "shows that a controller left it behind"),
    ] {
        let guard = tried(&cluster, objects, &[update("aws_lb.web", before.clone(), after.clone())]);
        assert!(why(&guard).contains(words), "{}", why(&guard));
    }
    let held = |tags: Value| json!({"id": group, "name": "k8s-shop-web-0a", "vpc_id": VPC, "tags_all": tags});
    let lost = update("aws_lb_target_group.web", held(tags()), held(json!({})));
    assert_eq!(undecided(&tried(&cluster, NETWORK_SERVICE, &[lost])), ["aws_lb_target_group.web"]);
    let mut team = before.clone();
    team["tags_all"]["team"] = "shop".into();
    is_nothing(&tried(&cluster, NETWORK_SERVICE, &[update("aws_lb.web", before, team)]));
}

#[test]
fn what_a_part_belongs_to_may_be_unknown() {
    let after = json!({"target_id": aws::SERVER});
    let added = change(
        "aws_lb_target_group_attachment.x",
        &["create"],
        [Value::Null, after, json!({"target_group_arn": true, "id": true})],
    );
    let guard = tried(&cluster(), NETWORK_SERVICE, std::slice::from_ref(&added));
    assert!(why(&guard).contains("`target_group_arn` is known only"), "{}", why(&guard));
    // No controller of the cluster has one.
    let mut none = Cluster::new();
    none.region().load_balancing.get_or_insert_default();
    is_nothing(&tried(&none, WHOLE_CLUSTER, &[added]));
}

#[test]
fn nothing_maintains_the_load_balancers_of_a_dead_cluster() {
    let mut dead = cluster();
    let (arn, _) = controllers(&mut dead);
    dead.terminate();
    dead.region().auto_scaling_groups = Some(Vec::new());
    let plan = plan(&[deleted("aws_lb.web", balancer(&arn, &[]))], &json!({}));
    let guard = guard(EstateRef::Aws(&dead.inventory), (&plan, None), &[auditor(&dead, &Evidence::default())], &|_| {});
    let guard = guard.unwrap();
    assert_eq!(undecided(&guard), [""; 0], "{}", why(&guard));
    assert_eq!(new(&guard), [], "{:?}", guard.new);
}
