//! What becomes of a connection or an object depends on the order of a plan's writes, or on what keeps the old one.

use serde_json::{Value, json};

use crate::resource::ResourceKind;
use crate::testing::aws::{self, Cluster};

use super::{change, is_nothing, new, plan, tried, undecided, update};

fn tag() -> Value {
    json!({"id": "x", "resource_id": aws::TAGGED_GROUP, "key": aws::KEY, "value": "owned"})
}

/// A tag of the security group of the nodes that is replaced by itself.
fn replaced(actions: &[&str]) -> super::Guard {
    let one = change("aws_ec2_tag.a", actions, [tag(), tag(), json!({})]);
    tried(&Cluster::new(), &plan(&[one], &json!({})))
}

#[test]
fn a_connection_that_is_made_before_the_same_one_is_deleted_is_lost() {
    is_nothing(&replaced(&["delete", "create"]));
    let lost = replaced(&["create", "delete"]);
    let addresses: Vec<&str> = lost.new.iter().flat_map(|one| &one.addresses).map(String::as_str).collect();
    assert!(!addresses.is_empty() && addresses.iter().all(|one| *one == "aws_ec2_tag.a"), "{lost:#?}");
}

#[test]
fn two_resources_of_one_connection_have_no_order() {
    let old = change("aws_ec2_tag.a", &["delete"], [tag(), Value::Null, json!({})]);
    let renamed = change("aws_ec2_tag.b", &["create"], [Value::Null, tag(), json!({})]);
    assert_eq!(undecided(&tried(&Cluster::new(), &plan(&[old.clone(), renamed], &json!({})))), ["aws_ec2_tag.b"]);
    let mut other = tag();
    other["key"] = "team".into();
    let another = change("aws_ec2_tag.b", &["create"], [Value::Null, other, json!({})]);
    assert_eq!(undecided(&tried(&Cluster::new(), &plan(&[old, another], &json!({})))), [""; 0]);
}

#[test]
fn instances_keep_a_deleted_profile() {
    let mut cluster = Cluster::new();
    let arn = cluster.instance(aws::SERVER).instance_profile_arn.clone().unwrap();
    let name = arn.rsplit('/').next().unwrap().to_owned();
    let held = json!({"id": name, "name": name, "arn": arn, "path": "/", "role": aws::SERVER_ROLE});
    let one = change("aws_iam_instance_profile.s", &["delete", "create"], [held.clone(), held.clone(), json!({})]);
    assert_eq!(undecided(&tried(&cluster, &plan(&[one], &json!({})))), ["aws_iam_instance_profile.s"]);
    let mut moved = held.clone();
    moved["path"] = "/other/".into();
    moved.as_object_mut().unwrap().remove("arn");
    let one = change("aws_iam_instance_profile.s", &["delete", "create"], [held, moved, json!({"arn": true})]);
    let found = tried(&cluster, &plan(&[one], &json!({})));
    assert_eq!(new(&found)[0].0, ResourceKind::InstanceProfile.name(), "{found:#?}");
}

#[test]
fn the_end_of_all_nodes_is_undecided() {
    let mut cluster = Cluster::new();
    let deleted =
        |id: &str| change(&format!("aws_instance.{id}"), &["delete"], [json!({"id": id}), Value::Null, json!({})]);
    let ids: Vec<String> = cluster.region().instances.iter().map(|one| one.id.clone()).collect();
    let whys = |ids: &[String]| -> Vec<String> {
        let changes: Vec<Value> = ids.iter().map(|id| deleted(id)).collect();
        tried(&cluster, &plan(&changes, &json!({}))).undecided.into_iter().map(|one| one.why).collect()
    };
    assert_eq!(whys(&ids), [format!("the plan deletes every node of `{}`", aws::ID)]);
    let servers: Vec<String> = ids.iter().filter(|id| id.contains("cp")).cloned().collect();
    assert_eq!(whys(&servers), [format!("the plan deletes every node of the control plane of `{}`", aws::ID)]);
    assert_eq!(whys(&ids[..1]), [""; 0]);
}

#[test]
fn a_group_that_gets_the_size_zero_terminates_its_nodes() {
    let mut cluster = Cluster::new();
    let held = cluster.instance(aws::WORKER);
    crate::testing::tag(&mut held.tags, "aws:autoscaling:groupName", "workers");
    let sizes = |maximum: u32, desired: u32| json!({"id": "workers", "name": "workers", "max_size": maximum, "min_size": 0, "desired_capacity": desired});
    for after in [sizes(0, 0), sizes(3, 0)] {
        let one = update("aws_autoscaling_group.w", sizes(3, 2), after);
        assert_eq!(undecided(&tried(&cluster, &plan(&[one], &json!({})))), ["aws_autoscaling_group.w"]);
    }
    let one = update("aws_autoscaling_group.w", sizes(3, 2), sizes(3, 1));
    assert_eq!(undecided(&tried(&cluster, &plan(&[one], &json!({})))), [""; 0]);
}

#[test]
fn an_instance_elsewhere_concerns_no_cluster() {
    let after =
        json!({"subnet_id": "subnet-0other", "iam_instance_profile": "bastion", "tags_all": {"Name": "bastion"}});
    let unknown = json!({"id": true, "vpc_security_group_ids": true});
    let one = change("aws_instance.bastion", &["create"], [Value::Null, after, unknown]);
    is_nothing(&tried(&Cluster::new(), &plan(&[one], &json!({}))));
}
