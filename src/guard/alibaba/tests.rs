//! Plans for Alibaba Cloud on the cluster of the rules' tests.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::audit::Auditor;
use crate::estate::{EstateRef, SourceKind};
use crate::finding::Severity;
use crate::guard::{Guard, GuardError, Plan, guard, read_plan};
use crate::inventory::Provider;
use crate::kubernetes::Evidence;
use crate::rules::RULES;
use crate::testing::alibaba::{self, Cluster};

mod undecided;

const VPC: &str = "vpc-bp1prod";

/// An entry of `resource_changes`.
fn change(address: &str, actions: &[&str], [before, after, unknown]: [Value; 3]) -> Value {
    let (kind, name) = address.split_once('.').unwrap();
    json!({
        "address": address, "mode": "managed", "type": kind, "name": name,
        "provider_name": "registry.terraform.io/aliyun/alicloud",
        "change": {"actions": actions, "before": before, "after": after, "after_unknown": unknown},
    })
}

fn update(address: &str, before: Value, after: Value) -> Value {
    change(address, &["update"], [before, after, json!({})])
}

fn create(address: &str, after: Value, unknown: Value) -> Value {
    change(address, &["create"], [Value::Null, after, unknown])
}

fn delete(address: &str, before: Value) -> Value {
    change(address, &["delete"], [before, Value::Null, json!({})])
}

fn plan_of(changes: &[Value], configuration: &Value) -> Plan {
    let document = json!({
        "format_version": "1.2", "terraform_version": "1.11.4", "planned_values": {}, "resource_changes": changes,
        "configuration": configuration,
    });
    Plan::new(read_plan(document.to_string().as_bytes()).unwrap(), Provider::Alibaba)
}

fn try_plan(cluster: &Cluster, plan: &Plan) -> Result<Guard, GuardError> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": cluster.objects}).to_string();
    let evidence = match cluster.objects.as_slice() {
        [] => Evidence::default(),
        _ => Evidence::parse("f.json", list.into_bytes()).unwrap(),
    };
    let auditor = Auditor {
        cluster_id: cluster.id,
        kubernetes: &evidence,
        selectors: &[],
        role_audit: &cluster.options,
        rules: &RULES,
        cloud_routes: true,
        installer: cluster.installer,
        source: SourceKind::Inventory,
        prices: None,
        held: None,
    };
    guard(EstateRef::Alibaba(&cluster.inventory), (plan, None), &[auditor], &|_| {})
}

fn tried(cluster: &Cluster, changes: &[Value]) -> Guard {
    try_plan(cluster, &plan_of(changes, &json!({}))).unwrap()
}

/// Kinds of the resources of the new findings above a note, and their addresses, each once.
fn new(guard: &Guard) -> Vec<(&str, String)> {
    let worth = guard.new.iter().chain(&guard.worse).filter(|one| one.severity > Severity::Info);
    let distinct: BTreeSet<_> = worth.map(|one| (one.resource.kind.name(), one.addresses.join(" "))).collect();
    distinct.into_iter().collect()
}

fn undecided(guard: &Guard) -> Vec<(&str, &str)> {
    guard.undecided.iter().map(|one| (one.address.as_str(), one.why.as_str())).collect()
}

#[track_caller]
fn is_nothing(guard: &Guard) {
    let found = (&guard.new, &guard.worse, &guard.resolved, &guard.undecided, &guard.later);
    assert_eq!(found, (&vec![], &vec![], &vec![], &vec![], &vec![]));
    assert_eq!(guard.not_audited, Vec::<String>::new());
}

/// The policy of the controller's role, as the provider shows it: under both names of the attribute.
fn policy(cluster: &mut Cluster, actions: &[&str]) -> (Value, Value) {
    let held = cluster.account().policies.iter().find(|one| one.policy_type == crate::alibaba::PolicyType::Custom);
    let (name, old) = held.map(|one| (one.name.clone(), one.document.clone().unwrap())).unwrap();
    let new =
        json!({"Version": "1", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}).to_string();
    let before = json!({"id": name, "policy_name": name, "name": name, "policy_document": old, "document": old});
    let mut after = before.clone();
    after["policy_document"] = json!(new);
    (before, after)
}

#[test]
fn a_policy_that_loses_actions_is_judged_by_either_name_of_its_document() {
    let mut cluster = Cluster::new();
    let (before, after) = policy(&mut cluster, &["ecs:DescribeInstances"]);
    let guard = tried(&cluster, &[update("alicloud_ram_policy.ccm", before.clone(), after.clone())]);
    assert_eq!(new(&guard), [("ram-role", "alicloud_ram_policy.ccm".to_owned())]);
    let mut older = before.clone();
    older["document"] = after["policy_document"].clone();
    let again = tried(&cluster, &[update("alicloud_ram_policy.ccm", before.clone(), older)]);
    assert_eq!(again.new, guard.new);
    // Only other attributes change: the document stays as it is in the account.
    let mut described = before.clone();
    described["description"] = json!("of the controller");
    is_nothing(&tried(&cluster, &[update("alicloud_ram_policy.ccm", before, described)]));
}

#[test]
fn a_document_that_is_known_later_is_undecided_for_a_policy_in_use() {
    let mut cluster = Cluster::new();
    let (before, mut after) = policy(&mut cluster, &[]);
    after.as_object_mut().unwrap().remove("policy_document");
    let unknown = json!({"policy_document": true});
    let one = change("alicloud_ram_policy.ccm", &["update"], [before, after, unknown.clone()]);
    assert_eq!(
        undecided(&tried(&cluster, &[one])),
        [("alicloud_ram_policy.ccm", "`policy_document` is known only after the plan is applied")]
    );
    let other = json!({"policy_name": "another"});
    is_nothing(&tried(&cluster, &[create("alicloud_ram_policy.other", other, unknown)]));
}

#[test]
fn a_policy_that_is_detached_is_missing_and_one_of_the_plan_is_read() {
    let mut cluster = Cluster::new();
    let (before, _) = policy(&mut cluster, &[]);
    let name = before["id"].as_str().unwrap();
    let of = |policy: &str| json!({"policy_name": policy, "policy_type": "Custom", "role_name": alibaba::ROLE});
    let gone = delete("alicloud_ram_role_policy_attachment.ccm", of(name));
    let guard = tried(&cluster, std::slice::from_ref(&gone));
    let missing = ("ram-role", "alicloud_ram_role_policy_attachment.ccm".to_owned());
    assert_eq!(new(&guard), [missing]);
    // A new policy with the same document takes its place. The provider computes its type.
    let made = create(
        "alicloud_ram_policy.ccm",
        json!({"policy_name": "ccm-2", "policy_document": before["policy_document"]}),
        json!({"document": true, "name": true, "type": true, "id": true}),
    );
    let attached = create(
        "alicloud_ram_role_policy_attachment.new",
        json!({"policy_name": "ccm-2", "role_name": alibaba::ROLE}),
        json!({"policy_type": true, "id": true}),
    );
    let resource = |kind: &str, name: &str, expressions: Value| json!({"mode": "managed", "type": kind, "name": name, "expressions": expressions});
    let reference = json!({"references": ["alicloud_ram_policy.ccm.type", "alicloud_ram_policy.ccm"]});
    let configuration = json!({"root_module": {"resources": [
        resource("alicloud_ram_policy", "ccm", json!({"policy_name": {"constant_value": "ccm-2"}})),
        resource("alicloud_ram_role_policy_attachment", "new", json!({"policy_type": reference})),
    ]}});
    let moved = plan_of(&[gone.clone(), made, attached.clone()], &configuration);
    is_nothing(&try_plan(&cluster, &moved).unwrap());
    // A policy that neither the account nor the plan shows may allow or deny anything.
    let mut system = attached;
    system["change"]["after"]["policy_type"] = json!("System");
    system["change"]["after_unknown"] = json!({});
    let guard = tried(&cluster, &[gone, system]);
    assert_eq!(
        undecided(&guard),
        [("alicloud_ram_role_policy_attachment.new", "the document of the policy `ccm-2` is not in the inventory")]
    );
}

#[test]
fn an_explicit_deny_in_a_new_policy_is_found() {
    let cluster = Cluster::new();
    let document = json!({"Version": "1", "Statement": [{"Effect": "Deny", "Action": "slb:*", "Resource": "*"}]});
    let changes = [
        create(
            "alicloud_ram_policy.deny",
            json!({"policy_name": "deny", "policy_document": document.to_string()}),
            json!({}),
        ),
        create(
            "alicloud_ram_role_policy_attachment.deny",
            json!({"policy_name": "deny", "policy_type": "Custom", "role_name": alibaba::ROLE}),
            json!({}),
        ),
    ];
    let guard = tried(&cluster, &changes);
    let kinds: Vec<&str> = new(&guard).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["ram-role"]);
}

#[test]
fn a_second_route_table_stops_the_routes() {
    let cluster = Cluster::new();
    let vpc = cluster.inventory.accounts[0].regions[0].vpcs[0].id.clone();
    let table = |vpc: &str| {
        let after = json!({"vpc_id": vpc, "route_table_name": "egress"});
        create("alicloud_route_table.egress", after, json!({"id": true, "name": true}))
    };
    let guard = tried(&cluster, &[table(&vpc)]);
    assert_eq!(new(&guard), [("vpc", "alicloud_route_table.egress".to_owned())]);
    // One in another VPC is none of the cluster's.
    is_nothing(&tried(&cluster, &[table(VPC)]));
}

#[test]
fn a_trust_policy_without_ecs_is_found() {
    let mut cluster = Cluster::new();
    let trust = cluster.principal(alibaba::ROLE).trust_policy.clone().unwrap();
    let before = json!({"id": alibaba::ROLE, "role_name": alibaba::ROLE, "name": alibaba::ROLE,
        "assume_role_policy_document": trust, "document": trust});
    let mut after = before.clone();
    after["assume_role_policy_document"] = json!(trust.replace("ecs.aliyuncs.com", "fc.aliyuncs.com"));
    let guard = tried(&cluster, &[update("alicloud_ram_role.master", before, after)]);
    assert_eq!(new(&guard), [("ram-role", "alicloud_ram_role.master".to_owned())]);
}

#[test]
fn a_node_without_its_role_is_undecided_unless_the_plan_gives_it_back() {
    let cluster = Cluster::new();
    let link = |role: &str| json!({"instance_id": alibaba::MASTER, "ram_role_name": role});
    let gone = delete("alicloud_ecs_ram_role_attachment.one", link(alibaba::ROLE));
    let guard = tried(&cluster, std::slice::from_ref(&gone));
    let why = format!(
        "`{}` loses its RAM role `{}`: what takes its credentials from the node has none",
        alibaba::MASTER,
        alibaba::ROLE
    );
    assert_eq!(undecided(&guard), [("alicloud_ecs_ram_role_attachment.one", why.as_str())]);
    let back = create("alicloud_ecs_ram_role_attachment.two", link(alibaba::ROLE), json!({"id": true}));
    is_nothing(&tried(&cluster, &[gone, back]));
    // The role itself goes.
    let role = delete("alicloud_ram_role.master", json!({"id": alibaba::ROLE, "role_name": alibaba::ROLE}));
    let guard = tried(&cluster, &[role]);
    assert_eq!(undecided(&guard).len(), 1);
    assert_eq!(guard.resolved, []);
}

#[test]
fn a_deleted_role_of_the_controller_can_do_nothing() {
    let mut cluster = Cluster::new();
    let arn = cluster.inventory.accounts[0].arn(crate::alibaba::PrincipalKind::Role, alibaba::ROLE);
    cluster.options.controller_roles = vec![arn];
    let role = delete("alicloud_ram_role.master", json!({"id": alibaba::ROLE, "role_name": alibaba::ROLE}));
    let guard = tried(&cluster, &[role]);
    assert_eq!(new(&guard), [("ram-role", "alicloud_ram_role.master".to_owned())]);
}

#[test]
fn a_node_that_moves_to_another_vpc_is_found() {
    let mut cluster = Cluster::new();
    let worker = cluster.instance(alibaba::WORKER).clone();
    let vpc = create("alicloud_vpc.new", json!({"vpc_name": "new", "cidr_block": "10.0.0.0/8"}), json!({"id": true}));
    let vswitch = create(
        "alicloud_vswitch.new",
        json!({"cidr_block": "10.0.0.0/24", "zone_id": "cn-hangzhou-h"}),
        json!({"id": true, "vpc_id": true}),
    );
    let before = json!({"id": worker.id, "vswitch_id": worker.vswitch_id, "tags": {}});
    let one = change(
        "alicloud_instance.worker",
        &["update"],
        [before, json!({"id": worker.id, "tags": {}}), json!({"vswitch_id": true})],
    );
    let reference = |to: &str| json!({"references": [format!("{to}.id"), to]});
    let resource = |kind: &str, name: &str, expressions: Value| json!({"mode": "managed", "type": kind, "name": name, "expressions": expressions});
    let configuration = json!({"root_module": {"resources": [
        resource("alicloud_vpc", "new", json!({})),
        resource("alicloud_vswitch", "new", json!({"vpc_id": reference("alicloud_vpc.new")})),
        resource("alicloud_instance", "worker", json!({"vswitch_id": reference("alicloud_vswitch.new")})),
    ]}});
    let guard = try_plan(&cluster, &plan_of(&[vpc, vswitch, one], &configuration)).unwrap();
    assert_eq!(new(&guard), [("instance", "alicloud_instance.worker".to_owned())]);
}

#[test]
fn a_node_that_loses_its_only_tag_is_still_a_node() {
    let mut cluster = Cluster::new();
    cluster.objects.clear();
    let before = json!({"id": alibaba::WORKER, "tags": {alibaba::KEY: "prod"}});
    let after = json!({"id": alibaba::WORKER, "tags": {alibaba::KEY: "staging"}});
    let guard = tried(&cluster, &[update("alicloud_instance.worker", before, after)]);
    let found: Vec<_> = guard.new.iter().map(|one| (one.rule, one.addresses.join(" "))).collect();
    assert!(found.iter().all(|(_, at)| at == "alicloud_instance.worker"), "{found:?}");
    assert!(!found.is_empty());
}

#[test]
fn a_plan_of_another_cloud_or_account_is_refused() {
    let cluster = Cluster::new();
    let mut one = delete("aws_subnet.one", json!({"id": "subnet-1"}));
    one["provider_name"] = json!("registry.terraform.io/hashicorp/aws");
    let refused = try_plan(&cluster, &plan_of(std::slice::from_ref(&one), &json!({})));
    assert!(matches!(refused, Err(GuardError::OtherCloud(Provider::Alibaba))), "{refused:?}");
    let role = json!({"id": "x", "role_name": "x", "arn": "acs:ram::9999999999999999:role/x"});
    let refused = try_plan(&cluster, &plan_of(&[delete("alicloud_ram_role.x", role)], &json!({})));
    assert!(matches!(refused, Err(GuardError::OtherAccount { .. })), "{refused:?}");
}

#[test]
fn what_is_not_modelled_is_undecided_only_near_the_cluster() {
    let mut cluster = Cluster::new();
    let service = cluster.load_balancer("lb-bp1web").clone();
    let listener = |id: &str| json!({"id": format!("{id}:tcp:80"), "load_balancer_id": id, "frontend_port": 80});
    let gone = delete("alicloud_slb_listener.http", listener(&service.id));
    assert_eq!(
        undecided(&tried(&cluster, &[gone])),
        [("alicloud_slb_listener.http", "changes of `alicloud_slb_listener` are not modelled")]
    );
    is_nothing(&tried(&cluster, &[delete("alicloud_slb_listener.http", listener("lb-other"))]));
    let key = |user: &str| json!({"id": "LTAI", "user_name": user});
    is_nothing(&tried(&cluster, &[delete("alicloud_ram_access_key.ci", key("ci"))]));
    let user = cluster.inventory.accounts[0].arn(crate::alibaba::PrincipalKind::User, "ccm");
    cluster.options.controller_roles = vec![user];
    assert_eq!(undecided(&tried(&cluster, &[delete("alicloud_ram_access_key.ccm", key("ccm"))])).len(), 1);
}

/// Traffic and routes of nodes, and load balancers of Ingresses.
#[test]
fn networks_of_nodes_are_undecided() {
    let cluster = Cluster::new();
    let node = cluster.inventory.accounts[0].regions[0].instances.iter().find(|one| one.id == alibaba::WORKER).unwrap();
    let (vswitch, group) = (node.vswitch_id.clone().unwrap(), node.security_groups[0].clone());
    let rule = |group: &str, policy: &str| json!({"security_group_id": group, "type": "ingress", "policy": policy, "ip_protocol": "all"});
    let entry = |hop: &str| json!({"id": "vtb-bp1:1", "route_table_id": "vtb-bp1", "nexthop_type": "Instance", "nexthop_id": hop});
    let acl = |vswitch: &str| json!({"vpc_id": "vpc-bp1", "resources": [{"resource_id": vswitch, "resource_type": "VSwitch"}]});
    let at = |address: &'static str, actions: &[&str], [before, after]: [Value; 2]| {
        let one = change(address, actions, [before, after, json!({})]);
        undecided(&tried(&cluster, &[one])).len()
    };
    for (address, actions, before, after) in [
        ("alicloud_security_group_rule.one", "create", Value::Null, rule(&group, "drop")),
        ("alicloud_security_group_rule.one", "delete", rule(&group, "accept"), Value::Null),
        ("alicloud_route_entry.one", "delete", entry(alibaba::WORKER), Value::Null),
        ("alicloud_network_acl.one", "create", Value::Null, acl(&vswitch)),
        ("alicloud_alb_load_balancer.one", "delete", json!({"id": "alb-bp1web"}), Value::Null),
        ("alicloud_alb_rule.one", "delete", json!({"id": "rule-1", "listener_id": "lsn-1"}), Value::Null),
        (
            "alicloud_route_entry.one",
            "delete",
            json!({"route_table_id": "vtb-bp1", "destination_cidrblock": "0.0.0.0/0", "nexthop_type": "NatGateway", "nexthop_id": "ngw-1"}),
            Value::Null,
        ),
    ] {
        assert_eq!(at(address, &[actions], [before, after]), 1, "{address} {actions}");
    }
    for (address, actions, before, after) in [
        ("alicloud_security_group_rule.one", "create", Value::Null, rule(&group, "accept")),
        ("alicloud_security_group_rule.one", "delete", rule(&group, "drop"), Value::Null),
        ("alicloud_security_group_rule.one", "create", Value::Null, rule("sg-other", "drop")),
        (
            "alicloud_security_group_rule.one",
            "update",
            json!({"id": "r", "security_group_id": &group, "policy": "accept", "description": "a"}),
            json!({"id": "r", "security_group_id": &group, "policy": "accept", "description": "b"}),
        ),
        ("alicloud_route_entry.one", "create", Value::Null, entry("i-other")),
        ("alicloud_network_acl.one", "create", Value::Null, acl("vsw-other")),
        ("alicloud_alb_load_balancer.one", "delete", json!({"id": "alb-other"}), Value::Null),
    ] {
        assert_eq!(at(address, &[actions], [before, after]), 0, "{address} {actions}");
    }
}

#[test]
fn what_a_scaling_group_launches_later_is_said_for_groups_of_nodes() {
    let mut cluster = Cluster::new();
    let tag = |key: &str, value: &str| crate::tags::Tag { key: key.to_owned(), value: value.to_owned() };
    cluster.instance(alibaba::WORKER).tags.push(tag("acs:autoscaling:scalingGroupId", "asg-bp1"));
    let of = |group: &str, role: &str| json!({"id": "asc-1", "scaling_group_id": group, "role_name": role});
    let one = |group: &str| update("alicloud_ess_scaling_configuration.w", of(group, "a"), of(group, "b"));
    let guard = tried(&cluster, &[one("asg-bp1")]);
    assert_eq!(guard.later.len(), 1);
    assert_eq!(guard.later[0].why, "instances that `asg-bp1` launches later get other values of `role_name`");
    is_nothing(&tried(&cluster, &[one("asg-other")]));
}

#[test]
fn an_instance_that_is_deleted_takes_its_node_with_it() {
    let mut cluster = Cluster::new();
    let gone = delete("alicloud_instance.worker", json!({"id": alibaba::WORKER, "tags": {alibaba::KEY: "prod"}}));
    is_nothing(&tried(&cluster, std::slice::from_ref(&gone)));
    // A Node without providerID is known by its address.
    let id = std::mem::replace(&mut cluster.node(alibaba::WORKER)["spec"]["providerID"], json!(""));
    let guard = tried(&cluster, std::slice::from_ref(&gone));
    assert_eq!((&guard.new, &guard.worse, &guard.undecided), (&vec![], &vec![], &vec![]));
    let is_it = |one: &&mut Value| one.pointer("/spec/providerID") == Some(&json!(""));
    cluster.objects.iter_mut().find(is_it).unwrap()["spec"]["providerID"] = id;
    // The last worker takes the backends of every Service with it: masters are none.
    for object in cluster.objects.iter_mut().filter(|one| one["kind"] == "Node") {
        if object.pointer("/metadata/labels/node-role.kubernetes.io~1control-plane").is_some() {
            object["metadata"]["labels"] = json!({"node-role.kubernetes.io/master": ""});
        }
    }
    let others = cluster.instance(alibaba::WORKER).clone();
    cluster.region().instances.retain(|one| one.id == others.id || one.name.as_deref() != Some("prod-worker-2"));
    cluster.objects.retain(|one| one.pointer("/metadata/name") != Some(&json!("prod-worker-2")));
    let guard = tried(&cluster, &[gone]);
    assert_eq!(new(&guard).first().map(|(kind, _)| *kind), Some("service"), "{:?}", guard.new);
}

#[test]
fn a_service_whose_load_balancer_is_deleted_gets_another_one() {
    let cluster = Cluster::new();
    let gone = |id: &str| delete("alicloud_slb_load_balancer.web", json!({"id": id}));
    let guard = tried(&cluster, &[gone("lb-bp1web")]);
    assert_eq!(
        undecided(&guard),
        [(
            "alicloud_slb_load_balancer.web",
            "it is the load balancer of a Service: the controller creates another one, with another address"
        )]
    );
    is_nothing(&tried(&cluster, &[gone("lb-bp1api")]));
}

/// A change with these actions from one value of an attribute to another, of an object that is there.
fn edited(address: &str, action: &[&str], base: &Value, [before, after]: [Value; 2]) -> Value {
    let with = |more: &Value| {
        let mut all = base.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    change(address, action, [with(&before), with(&after), json!({})])
}

const UPDATE: &[&str] = &["update"];
const REPLACE: &[&str] = &["delete", "create"];

#[test]
fn a_document_that_refers_to_another_resource_is_not_its_id() {
    let mut cluster = Cluster::new();
    let (before, mut after) = policy(&mut cluster, &[]);
    after.as_object_mut().unwrap().remove("policy_document");
    let one = change("alicloud_ram_policy.ccm", UPDATE, [before, after, json!({"policy_document": true})]);
    let vpc = create("alicloud_vpc.n", json!({"vpc_name": "n"}), json!({"id": true}));
    let reference = json!({"policy_document": {"references": ["alicloud_vpc.n.id", "alicloud_vpc.n"]}});
    let configuration = json!({"root_module": {"resources": [
        {"mode": "managed", "type": "alicloud_ram_policy", "name": "ccm", "expressions": reference},
    ]}});
    let guard = try_plan(&cluster, &plan_of(&[one, vpc], &configuration)).unwrap();
    assert_eq!(
        undecided(&guard),
        [("alicloud_ram_policy.ccm", "`policy_document` is known only after the plan is applied")]
    );
}

#[test]
fn what_the_plan_makes_unknown_is_not_audited() {
    let cluster = Cluster::new();
    let all: Vec<Value> = ["i-bp1master1", "i-bp1master2", "i-bp1master3"]
        .iter()
        .map(|id| {
            let base = json!({"id": id});
            edited(
                &format!("alicloud_instance.{id}"),
                UPDATE,
                &base,
                [json!({"role_name": alibaba::ROLE}), json!({"role_name": "other"})],
            )
        })
        .collect();
    let guard = tried(&cluster, &all);
    assert!(
        guard.not_audited.iter().any(|gap| gap.contains("role/other") && gap.ends_with("after the plan")),
        "{:?}",
        guard.not_audited
    );
    assert_eq!(guard.resolved, []);
}

#[test]
fn a_replaced_route_table_is_in_its_new_vpc() {
    let mut cluster = Cluster::new();
    let mut other = cluster.region().route_tables[0].clone();
    (other.id, other.vpc_id) = ("vtb-zz".to_owned(), "vpc-zz".to_owned());
    other.table_type = Some("Custom".to_owned());
    for is_held in [false, true] {
        if is_held {
            cluster.region().route_tables.push(other.clone());
        }
        let moved = edited(
            "alicloud_route_table.t",
            REPLACE,
            &json!({"id": "vtb-zz"}),
            [json!({"vpc_id": "vpc-zz"}), json!({"vpc_id": "vpc-bp1"})],
        );
        assert_eq!(new(&tried(&cluster, &[moved])), [("vpc", "alicloud_route_table.t".to_owned())]);
    }
}

#[test]
fn the_account_of_the_provider_counts() {
    let mut cluster = Cluster::new();
    let (before, _) = policy(&mut cluster, &[]);
    let name = before["id"].as_str().unwrap();
    let link = json!({"policy_name": name, "policy_type": "Custom", "role_name": alibaba::ROLE});
    let gone = delete("alicloud_ram_role_policy_attachment.ccm", link);
    for expressions in [
        json!({"account_id": {"constant_value": "9999999999999999"}}),
        json!({"assume_role_with_oidc": [{"role_arn": {"constant_value": "acs:ram::9999999999999999:role/tf"}}]}),
    ] {
        let configuration = json!({
            "provider_config": {"alicloud": {"name": "alicloud", "expressions": expressions}},
            "root_module": {"resources": [{"mode": "managed", "type": "alicloud_ram_role_policy_attachment",
                "name": "ccm", "provider_config_key": "alicloud", "expressions": {}}]},
        });
        let guard = try_plan(&cluster, &plan_of(std::slice::from_ref(&gone), &configuration)).unwrap();
        assert_eq!((new(&guard), guard.not_audited.len()), (vec![], 1), "{configuration:#}");
    }
}
