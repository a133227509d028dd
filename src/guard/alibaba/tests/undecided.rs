//! Changes of objects that the copy of an account does not hold in full, and updates that change nothing.

use serde_json::{Value, json};

use super::{REPLACE, UPDATE, change, create, delete, edited, is_nothing, tried, undecided};
use crate::alibaba::PrincipalKind;
use crate::testing::alibaba::{self, Cluster};

fn custom(name: &str) -> Value {
    json!({"id": name, "policy_name": name})
}

/// A cluster whose controller uses the role of the control plane and a user.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new();
    let arn = |kind, name: &str| cluster.inventory.accounts[0].arn(kind, name);
    cluster.options.controller_roles = vec![arn(PrincipalKind::User, "ccm"), arn(PrincipalKind::Role, alibaba::ROLE)];
    cluster
}

/// Changes of principals that decide for the cluster.
fn of_principals() -> Vec<Value> {
    let role = json!({"id": alibaba::ROLE, "role_name": alibaba::ROLE});
    let attachment = json!({
        "policy_type": "Custom", "principal_name": format!("{}@role.1.onaliyunservice.com", alibaba::ROLE),
        "principal_type": "ServiceRole", "resource_group_id": "1234567890123456",
    });
    let unknown_policy = change(
        "alicloud_resource_manager_policy_attachment.one",
        &["create"],
        [Value::Null, attachment, json!({"policy_name": true})],
    );
    vec![
        edited(
            "alicloud_ram_policy.one",
            UPDATE,
            &custom("k8s-ccm"),
            [json!({"statement": [{"effect": "Allow"}]}), json!({"statement": []})],
        ),
        edited(
            "alicloud_resource_manager_policy.one",
            UPDATE,
            &custom("k8s-ccm"),
            [json!({"default_version": "v2"}), json!({"default_version": "v1"})],
        ),
        edited(
            "alicloud_ram_role.one",
            UPDATE,
            &role,
            [json!({"services": ["ecs.aliyuncs.com"]}), json!({"services": ["fc.aliyuncs.com"]})],
        ),
        edited("alicloud_ram_user.one", REPLACE, &json!({"name": "ccm", "id": "2"}), [json!({}), json!({})]),
        edited(
            "alicloud_ram_user.one",
            UPDATE,
            &json!({"id": "2"}),
            [json!({"name": "ccm"}), json!({"name": "ccm-2"})],
        ),
        unknown_policy,
    ]
}

/// Changes of machines and load balancers that decide for the cluster.
fn of_machines() -> Vec<Value> {
    vec![
        edited(
            "alicloud_instance.one",
            UPDATE,
            &json!({"id": alibaba::MASTER}),
            [json!({"http_endpoint": "enabled"}), json!({"http_endpoint": "disabled"})],
        ),
        edited(
            "alicloud_slb_load_balancer.one",
            UPDATE,
            &json!({"id": "lb-bp1hand"}),
            [json!({"status": "active"}), json!({"status": "inactive"})],
        ),
        edited("alicloud_slb_load_balancer.one", REPLACE, &json!({"id": "lb-bp1hand"}), [json!({}), json!({})]),
        edited(
            "alicloud_slb_load_balancer.one",
            UPDATE,
            &json!({"id": "lb-bp1web"}),
            [json!({"tags": {"kubernetes.do.not.delete": "a2222222200004000800000000000000"}}), json!({"tags": {}})],
        ),
        edited(
            "alicloud_ecs_instance_set.one",
            REPLACE,
            &json!({"instance_ids": [alibaba::MASTER]}),
            [json!({}), json!({})],
        ),
    ]
}

#[test]
fn what_cannot_be_judged_is_undecided_at_its_address() {
    let cluster = cluster();
    for one in of_principals().into_iter().chain(of_machines()) {
        let address = one["address"].as_str().unwrap().to_owned();
        let guard = tried(&cluster, std::slice::from_ref(&one));
        let addresses: Vec<&str> = undecided(&guard).into_iter().map(|(address, _)| address).collect();
        assert_eq!(addresses, [address.as_str()], "{one:#}: {:?}", guard.new);
    }
}

/// The cluster names a route table, a vSwitch and a security group by their ids: what replaces them has others.
#[test]
fn what_the_cluster_names_by_its_id_is_not_replaced_silently() {
    let mut cluster = cluster();
    let config = json!({"Global": {"routeTableIDs": "vtb-bp1,vtb-bp2", "vswitchid": "cn-hangzhou-h:vsw-bp2"}});
    cluster.objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "cloud-config", "namespace": "kube-system"},
        "data": {"cloud-config.conf": config.to_string()}}));
    let mut table = cluster.region().route_tables[0].clone();
    table.id = "vtb-bp2".to_owned();
    cluster.region().route_tables.push(table);
    let mut vswitch = cluster.region().vswitches[0].clone();
    vswitch.id = "vsw-bp2".to_owned();
    cluster.region().vswitches.push(vswitch);
    for (address, id) in [("alicloud_route_table.one", "vtb-bp2"), ("alicloud_vswitch.one", "vsw-bp2")] {
        let base = json!({"vpc_id": "vpc-bp1", "zone_id": "cn-hangzhou-h"});
        let unknown = json!({"id": true});
        let one = change(
            address,
            REPLACE,
            [json!({"id": id, "vpc_id": "vpc-bp1", "zone_id": "cn-hangzhou-h"}), base, unknown],
        );
        assert_eq!(undecided(&tried(&cluster, &[one])).len(), 1, "{address}");
    }
}

#[test]
fn the_same_of_what_no_cluster_uses_changes_nothing() {
    let cluster = Cluster::new();
    for one in [
        edited(
            "alicloud_ram_policy.one",
            UPDATE,
            &custom("other"),
            [json!({"statement": [{"effect": "Allow"}]}), json!({"statement": []})],
        ),
        edited("alicloud_ram_user.one", REPLACE, &json!({"name": "ci", "id": "3"}), [json!({}), json!({})]),
        edited(
            "alicloud_slb_load_balancer.one",
            UPDATE,
            &json!({"id": "lb-bp1api"}),
            [json!({"status": "active"}), json!({"status": "inactive"})],
        ),
        delete("alicloud_nlb_load_balancer.other", json!({"id": "nlb-bp1other", "vpc_id": "vpc-bp1"})),
        delete("alicloud_slb_server_group.one", json!({"id": "rsp-1", "load_balancer_id": "lb-bp1web"})),
        edited(
            "alicloud_ims_oidc_provider.github",
            UPDATE,
            &json!({"id": "github"}),
            [json!({"description": "a"}), json!({"description": "b"})],
        ),
        create(
            "alicloud_resource_manager_control_policy_attachment.one",
            json!({"target_id": "9999999999999999"}),
            json!({}),
        ),
        create("alicloud_resource_manager_policy_version.one", json!({"policy_name": "unrelated"}), json!({})),
    ] {
        is_nothing(&tried(&cluster, &[one]));
    }
}

#[test]
fn an_update_of_other_attributes_changes_nothing() {
    let mut cluster = Cluster::new();
    // The Node is known by its address alone.
    cluster.node(alibaba::WORKER)["spec"].as_object_mut().unwrap().remove("providerID");
    for (address, base, [before, after]) in [
        (
            "alicloud_instance.master",
            json!({"id": alibaba::MASTER, "role_name": alibaba::ROLE, "vswitch_id": "vsw-bp1"}),
            [json!({"instance_name": "a"}), json!({"instance_name": "b"})],
        ),
        (
            "alicloud_instance.worker",
            json!({"id": alibaba::WORKER}),
            [json!({"user_data": "a"}), json!({"user_data": "b"})],
        ),
        (
            "alicloud_ram_role.master",
            json!({"id": alibaba::ROLE, "role_name": alibaba::ROLE, "force": true}),
            [json!({"description": "a"}), json!({"description": "b"})],
        ),
        (
            "alicloud_slb_load_balancer.web",
            json!({"id": "lb-bp1web", "tags": {}}),
            [json!({"bandwidth": 10}), json!({"bandwidth": 20})],
        ),
        (
            "alicloud_vswitch.one",
            json!({"id": "vsw-bp1", "vpc_id": "vpc-bp1"}),
            [json!({"description": "a"}), json!({"description": "b"})],
        ),
        (
            "alicloud_route_table.one",
            json!({"id": "vtb-bp1", "vpc_id": "vpc-bp1"}),
            [json!({"description": "a"}), json!({"description": "b"})],
        ),
    ] {
        is_nothing(&tried(&cluster, &[edited(address, UPDATE, &base, [before, after])]));
    }
}
