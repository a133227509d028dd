//! Plans on the cluster of the rules' tests.

use serde_json::{Value, json};

use crate::audit::Auditor;
use crate::estate::{EstateRef, SourceKind};
use crate::inventory::Provider;
use crate::kubernetes::Evidence;
use crate::rules::RULES;
use crate::testing::aws::{self, Cluster};

use super::{Guard, Plan, guard, read_plan};

mod load_balancing;
mod order;
mod releases;

/// An entry of `resource_changes`: its address, actions, values before and after, and what is unknown after.
pub(super) fn change(address: &str, actions: &[&str], [before, after, unknown]: [Value; 3]) -> Value {
    let at = address
        .rfind("].aws_")
        .map(|at| at + 1)
        .or_else(|| address.strip_prefix("module.")?.find(".aws_").map(|at| at + 7));
    let (module, resource) = match at.and_then(|at| address.split_at_checked(at)) {
        Some((module, resource)) => (module, resource.trim_start_matches('.')),
        None => ("", address),
    };
    let (kind, name) = resource.split_once('.').unwrap();
    let (name, index) = name.split_once('[').map_or((name, None), |(name, index)| (name, index.strip_suffix(']')));
    let index: Option<Value> = index.map(|index| serde_json::from_str(index).unwrap());
    json!({
        "address": address, "module_address": module, "mode": "managed", "type": kind, "name": name, "index": index,
        "provider_name": "registry.terraform.io/hashicorp/aws",
        "change": {"actions": actions, "before": before, "after": after, "after_unknown": unknown},
    })
}

pub(super) fn update(address: &str, before: Value, after: Value) -> Value {
    change(address, &["update"], [before, after, json!({})])
}

pub(super) fn plan(changes: &[Value], configuration: &Value) -> Plan {
    let document = json!({
        "format_version": "1.2", "terraform_version": "1.11.4", "planned_values": {}, "resource_changes": changes,
        "configuration": configuration,
    });
    Plan::new(read_plan(document.to_string().as_bytes()).unwrap(), Provider::Aws)
}

pub(super) fn auditor<'a>(cluster: &'a Cluster, evidence: &'a Evidence) -> Auditor<'a> {
    Auditor {
        cluster_id: cluster.id,
        kubernetes: evidence,
        selectors: &[],
        role_audit: &cluster.options,
        rules: &RULES,
        cloud_routes: false,
        installer: None,
        source: SourceKind::Inventory,
        prices: None,
        held: None,
    }
}

/// Tries a plan on a cluster.
pub(super) fn tried(cluster: &Cluster, plan: &Plan) -> Guard {
    guard(EstateRef::Aws(&cluster.inventory), (plan, None), &[auditor(cluster, &Evidence::default())], &|_| {}).unwrap()
}

/// Kinds of the resources of the new findings above a note, each with its addresses.
pub(super) fn new(guard: &Guard) -> Vec<(&str, String)> {
    let worth = guard.new.iter().filter(|one| one.severity > crate::finding::Severity::Info);
    worth.map(|one| (one.resource.kind.name(), one.addresses.join(" "))).collect()
}

pub(super) fn undecided(guard: &Guard) -> Vec<&str> {
    guard.undecided.iter().map(|one| one.address.as_str()).collect()
}

fn is_nothing(guard: &Guard) {
    let found = (&guard.new, &guard.resolved, &guard.undecided, &guard.later);
    assert_eq!(found, (&vec![], &vec![], &vec![], &vec![]));
}

/// A subnet as the provider shows it, with these tags.
fn subnet(cluster: &Cluster, id: &str, tags: &Value) -> Value {
    let subnet = cluster.inventory.accounts[0].regions[0].subnets.iter().find(|one| one.id == id).unwrap();
    json!({
        "id": id, "vpc_id": subnet.vpc_id, "availability_zone": subnet.availability_zone,
        "cidr_block": subnet.cidr_block, "tags": tags, "tags_all": tags,
    })
}

fn owned() -> Value {
    json!({aws::KEY: "owned", "kubernetes.io/role/elb": "1"})
}

fn foreign() -> Value {
    json!({aws::OTHER_KEY: "shared", "kubernetes.io/role/elb": "1"})
}

#[test]
fn a_foreign_tag_is_new_at_its_address() {
    let cluster = Cluster::new();
    let (before, after) = (subnet(&cluster, aws::PUBLIC, &owned()), subnet(&cluster, aws::PUBLIC, &foreign()));
    let address = r#"module.net["a.b[0]"].aws_subnet.public["x"]"#;
    let guard = tried(&cluster, &plan(&[update(address, before, after)], &json!({})));
    let at = |kind| (kind, address.to_owned());
    assert_eq!(new(&guard), [at("vpc"), at("vpc")]);
}

#[test]
fn what_writes_nothing_changes_nothing() {
    let cluster = Cluster::new();
    let (before, after) = (subnet(&cluster, aws::PUBLIC, &owned()), subnet(&cluster, aws::PUBLIC, &foreign()));
    for actions in [&["no-op"][..], &["forget"], &["read"]] {
        let one = change("aws_subnet.public", actions, [before.clone(), after.clone(), json!({})]);
        is_nothing(&tried(&cluster, &plan(&[one], &json!({}))));
    }
    // The provider only forgets the default objects of a VPC and exclusive resources.
    let table = json!({"id": "rtb-pub-0bb1", "default_route_table_id": "rtb-pub-0bb1"});
    let forgotten = change("aws_default_route_table.main", &["delete"], [table, json!(null), json!({})]);
    is_nothing(&tried(&cluster, &plan(&[forgotten], &json!({}))));
    let only = json!({"role_name": aws::SERVER_ROLE, "policy_names": []});
    let exclusive = change("aws_iam_role_policies_exclusive.only", &["delete"], [only, json!(null), json!({})]);
    is_nothing(&tried(&cluster, &plan(&[exclusive], &json!({}))));
}

#[test]
fn only_the_difference_is_applied() {
    let cluster = Cluster::new();
    // The provider ignores the cluster's tags: neither side of the plan has them.
    let side = |team: &str| subnet(&cluster, aws::PUBLIC, &json!({"team": team}));
    is_nothing(&tried(&cluster, &plan(&[update("aws_subnet.public", side("a"), side("b"))], &json!({}))));
    // `tags_all` counts: the tag moves to the defaults of the provider.
    let mut moved = subnet(&cluster, aws::PUBLIC, &owned());
    moved["tags"] = json!({});
    let before = subnet(&cluster, aws::PUBLIC, &owned());
    is_nothing(&tried(&cluster, &plan(&[update("aws_subnet.public", before, moved)], &json!({}))));
}

#[test]
fn a_node_that_loses_its_only_tag_is_still_a_node() {
    let mut cluster = Cluster::new();
    // Without a profile nothing else tells that it is a node.
    cluster.instance(aws::WORKER).instance_profile_arn = None;
    let side = |tags: Value| json!({"id": aws::WORKER, "subnet_id": aws::PRIVATE, "tags": tags, "tags_all": tags});
    let one = update("aws_instance.worker", side(json!({aws::KEY: "owned"})), side(json!({})));
    let guard = tried(&cluster, &plan(&[one], &json!({})));
    assert_eq!(new(&guard), [("instance", "aws_instance.worker".to_owned())]);
    assert!(guard.new[0].message.contains("it was a node before the change"), "{}", guard.new[0].message);
}

#[test]
fn a_value_that_nobody_reads_may_be_unknown() {
    let cluster = Cluster::new();
    let before = subnet(&cluster, aws::PUBLIC, &owned());
    let mut after = before.clone();
    after.as_object_mut().unwrap().remove("tags_all");
    let of = |unknown: Value| {
        let mut after = after.clone();
        for key in unknown["tags"].as_object().into_iter().flatten().map(|(key, _)| key) {
            after["tags"].as_object_mut().unwrap().remove(key);
        }
        let one = change("aws_subnet.public", &["update"], [before.clone(), after, unknown]);
        tried(&cluster, &plan(&[one], &json!({})))
    };
    is_nothing(&of(json!({"tags": {"build": true}, "tags_all": true})));
    assert_eq!(undecided(&of(json!({"tags": {aws::KEY: true}, "tags_all": true}))), ["aws_subnet.public"]);
    assert_eq!(undecided(&of(json!({"tags": true, "tags_all": true}))), ["aws_subnet.public"]);
}

/// A policy that the plan makes, and its attachment to the servers, at an address in a module.
fn attached(reference: &[&str], configuration: impl Fn(Value) -> Value) -> Guard {
    let deny = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "ec2:*", "Resource": "*"}]});
    let policy = json!({"name": "deny", "path": "/", "policy": deny.to_string()});
    let changes = [
        change("aws_iam_policy.deny", &["create"], [json!(null), policy, json!({"arn": true, "id": true})]),
        change(
            "module.role.aws_iam_role_policy_attachment.this",
            &["create"],
            [json!(null), json!({"role": aws::SERVER_ROLE}), json!({"policy_arn": true, "id": true})],
        ),
    ];
    let attachment = json!({
        "mode": "managed", "type": "aws_iam_role_policy_attachment", "name": "this",
        "expressions": {"policy_arn": {"references": reference}},
    });
    tried(&Cluster::new(), &plan(&changes, &configuration(attachment)))
}

#[test]
fn a_reference_is_followed_through_a_variable_of_a_module() {
    let configuration = |attachment: Value| {
        json!({"root_module": {"module_calls": {"role": {
            "expressions": {"arn": {"references": ["aws_iam_policy.deny.arn", "aws_iam_policy.deny"]}},
            "module": {"resources": [attachment]},
        }}}})
    };
    let found = attached(&["var.arn"], configuration);
    assert!(new(&found).contains(&("role", "module.role.aws_iam_role_policy_attachment.this".to_owned())));
    assert_eq!(undecided(&found), Vec::<&str>::new());
    // What the plan does not show is undecided, and no verdict.
    for reference in [&["local.arn"][..], &["data.aws_iam_policy.x.arn", "data.aws_iam_policy.x"], &["var.other"]] {
        let found = attached(reference, configuration);
        assert_eq!(new(&found), [], "{reference:?}");
        assert_eq!(undecided(&found), ["module.role.aws_iam_role_policy_attachment.this"], "{reference:?}");
    }
}

#[test]
fn a_module_that_refers_to_itself_ends() {
    let configuration = |attachment: Value| {
        json!({"root_module": {"module_calls": {"role": {
            "expressions": {"arn": {"references": ["module.role.arn"]}},
            "module": {"resources": [attachment], "outputs": {"arn": {"expression": {"references": ["var.arn"]}}}},
        }}}})
    };
    assert_eq!(undecided(&attached(&["var.arn"], configuration)), ["module.role.aws_iam_role_policy_attachment.this"]);
}

#[test]
fn an_attribute_that_repeats_another_resource_is_not_applied() {
    let mut cluster = Cluster::new();
    let policy = cluster.server_policy().clone();
    let attached = cluster.role(aws::SERVER_ROLE).attached_policies.clone().unwrap_or_default();
    // The entry of the role shows what the last refresh read, and the attachment goes.
    let role = json!({"name": aws::SERVER_ROLE, "id": aws::SERVER_ROLE, "managed_policy_arns": attached, "inline_policy": [{"name": "x", "policy": policy}]});
    let mut changes = vec![change("aws_iam_role.server", &["no-op"], [role.clone(), role, json!({})])];
    let inline = cluster.role(aws::SERVER_ROLE).inline_policies.clone().unwrap_or_default();
    for (at, arn) in attached.iter().enumerate() {
        let one = json!({"role": aws::SERVER_ROLE, "policy_arn": arn});
        changes.push(change(
            &format!("aws_iam_role_policy_attachment.this[{at}]"),
            &["delete"],
            [one, json!(null), json!({})],
        ));
    }
    for (at, one) in inline.iter().enumerate() {
        let one = json!({"role": aws::SERVER_ROLE, "name": one.name, "policy": one.document});
        changes.push(change(&format!("aws_iam_role_policy.this[{at}]"), &["delete"], [one, json!(null), json!({})]));
    }
    let guard = tried(&cluster, &plan(&changes, &json!({})));
    assert!(new(&guard).iter().any(|(kind, _)| *kind == "role"), "{:?}", new(&guard));
}

#[test]
fn a_counted_list_that_shifts_is_judged_by_its_end() {
    let cluster = Cluster::new();
    let (first, second) = (subnet(&cluster, aws::PUBLIC, &owned()), subnet(&cluster, aws::PUBLIC_B, &owned()));
    let mut made = second.clone();
    made.as_object_mut().unwrap().remove("id");
    let changes = [
        change("aws_subnet.public[0]", &["delete", "create"], [first, made, json!({"id": true})]),
        change("aws_subnet.public[1]", &["delete"], [second, json!(null), json!({})]),
    ];
    let guard = tried(&cluster, &plan(&changes, &json!({})));
    assert_eq!(new(&guard), [("vpc", "aws_subnet.public[0]".to_owned())]);
}

#[test]
fn a_failed_plan_is_never_nothing_new() {
    let document = json!({
        "format_version": "1.2", "planned_values": {}, "errored": true, "complete": false, "applyable": false,
        "prior_state": {"values": {"root_module": {"child_modules": [{"resources": [
            {"address": "module.a.aws_subnet.x", "mode": "managed", "type": "aws_subnet", "provider_name": "registry.opentofu.org/hashicorp/aws"},
            {"address": "module.a.random_id.x", "mode": "managed", "type": "random_id", "provider_name": "registry.opentofu.org/hashicorp/random"},
        ]}]}}},
    });
    let plan = Plan::new(read_plan(document.to_string().as_bytes()).unwrap(), Provider::Aws);
    let guard = tried(&Cluster::new(), &plan);
    assert_eq!(undecided(&guard), ["module.a.aws_subnet.x"]);
    assert!(!guard.not_audited.is_empty());
}

#[test]
fn another_region_is_not_judged_and_another_account_is_refused() {
    let cluster = Cluster::new();
    let there =
        |arn: &str| json!({"id": "subnet-x", "arn": arn, "tags": {aws::KEY: "owned"}, "tags_all": {aws::KEY: "owned"}});
    let of = |arn: &str| plan(&[update("aws_subnet.x", there(arn), json!({"id": "subnet-x"}))], &json!({}));
    let guard = tried(&cluster, &of("arn:aws:ec2:eu-north-1:111122223333:subnet/subnet-x"));
    assert_eq!(guard.not_audited, ["aws_subnet.x: it is about region eu-north-1, which the inventory does not hold"]);
    assert_eq!(new(&guard), []);
    let other = of("arn:aws:ec2:us-east-1:999999999999:subnet/subnet-x");
    assert!(super::check_account(EstateRef::Aws(&cluster.inventory), &other).is_err());
}

#[test]
fn a_finding_that_grows_is_worse() {
    let mut cluster = Cluster::new();
    let groups = [aws::TAGGED_GROUP, "sg-0second"];
    cluster.add_group("sg-0second");
    crate::testing::tag(&mut cluster.group("sg-0second").tags, aws::KEY, "owned");
    cluster.set_groups(&groups);
    let before = tried(&cluster, &plan(&[], &json!({})));
    assert_eq!((before.new.len(), before.worse.len()), (0, 0));
    // The server gets the second group too.
    let side = |groups: &[&str]| json!({"id": aws::SERVER, "vpc_security_group_ids": groups});
    let held = cluster.instance(aws::SERVER).security_groups.clone();
    let held: Vec<&str> = held.iter().map(String::as_str).collect();
    let more: Vec<&str> = held.iter().copied().chain(groups).collect();
    let guard = tried(&cluster, &plan(&[update("aws_instance.server", side(&held), side(&more))], &json!({})));
    let grown: Vec<&str> =
        guard.worse.iter().chain(&guard.new).flat_map(|one| &one.addresses).map(String::as_str).collect();
    assert!(grown.contains(&"aws_instance.server"), "{guard:#?}");
    assert!(guard.at_least(crate::finding::Severity::Error) > 0);
}

#[test]
fn a_role_under_another_name_is_followed() {
    let cluster = Cluster::new();
    let role = |name: &str| json!({"name": name, "id": name, "assume_role_policy": "{}"});
    let profile =
        cluster.inventory.accounts[0].instance_profiles.iter().find(|one| one.roles == [aws::SERVER_ROLE]).unwrap();
    let name = profile.arn.rsplit('/').next().unwrap();
    let of = |role: &str| json!({"name": name, "id": name, "arn": profile.arn, "role": role});
    let renamed =
        change("aws_iam_role.server", &["delete", "create"], [role(aws::SERVER_ROLE), role("new"), json!({})]);
    let follows = update("aws_iam_instance_profile.server", of(aws::SERVER_ROLE), of("new"));
    // No policy follows: the new role grants nothing.
    let guard = tried(&cluster, &plan(&[renamed, follows], &json!({})));
    assert!(new(&guard).iter().any(|(kind, _)| *kind == "role"), "{guard:#?}");
    // Without the profile nothing does.
    let deleted = change("aws_iam_role.server", &["delete"], [role(aws::SERVER_ROLE), json!(null), json!({})]);
    let guard = tried(&cluster, &plan(&[deleted], &json!({})));
    assert_eq!(new(&guard), [("instance-profile", "aws_iam_role.server".to_owned())]);
}

#[test]
fn a_gateway_that_routes_lead_to_is_undecided() {
    let cluster = Cluster::new();
    let tables = cluster.inventory.accounts[0].regions[0].route_tables.iter();
    let gateway = tables
        .flat_map(|table| &table.routes)
        .find_map(|route| route.gateway_id.as_ref().filter(|id| id.starts_with("igw")))
        .unwrap();
    let of = |id: &str| change("aws_internet_gateway.this", &["delete"], [json!({"id": id}), json!(null), json!({})]);
    assert_eq!(undecided(&tried(&cluster, &plan(&[of(gateway)], &json!({})))), ["aws_internet_gateway.this"]);
    is_nothing(&tried(&cluster, &plan(&[of("igw-other")], &json!({}))));
}

#[test]
fn sensitive_values_are_judged_and_hidden() {
    let cluster = Cluster::new();
    let deny = json!({"Statement": [{"Effect": "Deny", "Action": "ec2:*", "Resource": "*", "Condition": {"StringNotEquals": {"aws:RequestedRegion": "s3cr3t-value"}}}]});
    let policy = json!({"role": aws::SERVER_ROLE, "name": "s3cr3t-name", "policy": deny.to_string()});
    let mut one = change("aws_iam_role_policy.x", &["create"], [json!(null), policy, json!({})]);
    one["change"]["after_sensitive"] = json!({"name": true, "policy": true});
    let guard = tried(&cluster, &plan(&[one], &json!({})));
    assert!(!guard.new.is_empty());
    let shown = serde_json::to_string(&guard).unwrap();
    assert!(!shown.contains("s3cr3t"), "{shown}");
}

#[test]
fn several_plans_in_one_text_are_refused() {
    let plan = r#"{"format_version": "1.2", "planned_values": {}}"#;
    assert_eq!(read_plan(format!("{plan}\n{plan}").as_bytes()).unwrap_err(), super::PlanError::Several);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// A tag of a subnet of this cluster, of another one, or of neither.
    fn tags() -> impl Strategy<Value = Value> {
        let key = prop_oneof![Just(aws::KEY), Just(aws::OTHER_KEY), Just("kubernetes.io/role/elb"), Just("team")];
        prop::collection::btree_map(key, prop_oneof![Just("owned"), Just("shared"), Just("1")], 0..4)
            .prop_map(|tags| json!(tags))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// A plan finds what the audits of the account before and after the same change by hand differ in.
        #[test]
        fn agrees_with_the_same_change_by_hand(old in tags(), changed in tags()) {
            let mut cluster = Cluster::new();
            let set = |cluster: &mut Cluster, tags: &Value| {
                let pairs = tags.as_object().unwrap().iter();
                cluster.subnet(aws::PUBLIC).tags = pairs.map(|(key, value)| crate::tags::Tag {
                    key: key.clone(), value: value.as_str().unwrap().to_owned(),
                }).collect();
            };
            set(&mut cluster, &old);
            let side = |tags: &Value| subnet(&cluster, aws::PUBLIC, tags);
            let guard = tried(&cluster, &plan(&[update("aws_subnet.public", side(&old), side(&changed))], &json!({})));
            let findings = |cluster: &Cluster| -> Vec<(String, crate::finding::Severity)> {
                let estate = crate::estate::EstateRef::Aws(&cluster.inventory);
                let found = auditor(cluster, &Evidence::default()).findings(estate).unwrap();
                found.into_iter().map(|one| (one.fingerprint, one.severity)).collect()
            };
            let before = findings(&cluster);
            set(&mut cluster, &changed);
            let after = findings(&cluster);
            let mut expected: Vec<&str> = after
                .iter()
                .filter(|(key, severity)| before.iter().all(|(old, was)| old != key || was < severity))
                .map(|(key, _)| key.as_str())
                .collect();
            expected.sort_unstable();
            let mut found: Vec<&str> = guard.new.iter().map(|one| one.fingerprint.as_str()).collect();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}

/// A configuration with one resource, whose attributes refer to others.
fn configured(address: &str, references: &[(&str, &[&str])]) -> Value {
    let (kind, name) = address.split_once('.').unwrap();
    let expressions: serde_json::Map<String, Value> =
        references.iter().map(|(key, refs)| ((*key).to_owned(), json!({"references": refs}))).collect();
    json!({"root_module": {"resources": [
        {"mode": "managed", "type": kind, "name": name, "expressions": expressions, "provider_config_key": "aws.other"},
    ]}})
}

/// An unknown document, key or value is not the id of the object that it mentions.
#[test]
fn a_text_that_mentions_an_object_is_not_its_name() {
    let cluster = Cluster::new();
    let queue =
        change("aws_sqs_queue.q", &["create"], [json!(null), json!({"name": "q"}), json!({"id": true, "arn": true})]);
    let side =
        json!({"id": format!("{}:own", aws::SERVER_ROLE), "name": "own", "role": aws::SERVER_ROLE, "policy": "{}"});
    let after = json!({"name": "own", "role": aws::SERVER_ROLE});
    let policy = change("aws_iam_role_policy.own", &["update"], [side, after, json!({"policy": true})]);
    let configuration =
        configured("aws_iam_role_policy.own", &[("policy", &["aws_sqs_queue.q.arn", "aws_sqs_queue.q"])]);
    let guard = tried(&cluster, &plan(&[queue, policy], &configuration));
    assert_eq!((new(&guard), undecided(&guard)), (vec![], vec!["aws_iam_role_policy.own"]));
}

#[test]
fn a_provider_of_another_account_changes_nothing_here() {
    let cluster = Cluster::new();
    let side =
        json!({"id": format!("{}:own", aws::SERVER_ROLE), "name": "own", "role": aws::SERVER_ROLE, "policy": "{}"});
    let gone = change("aws_iam_role_policy.own", &["delete"], [side, json!(null), json!({})]);
    let mut configuration = configured("aws_iam_role_policy.own", &[]);
    configuration["provider_config"] = json!({"aws.other": {"expressions": {
        "assume_role": [{"role_arn": {"constant_value": "arn:aws:iam::999999999999:role/deploy"}}]}}});
    let guard = tried(&cluster, &plan(&[gone], &configuration));
    assert_eq!((new(&guard), undecided(&guard)), (vec![], vec![]));
    assert!(guard.not_audited.iter().any(|one| one.contains("account 999999999999")), "{:?}", guard.not_audited);
}

/// What the plan still makes has the rules that it lists, and what it forgets is kept.
#[test]
fn a_replaced_group_keeps_its_listed_rules_and_a_forgotten_subnet_its_tags() {
    let cluster = Cluster::new();
    let rules = json!([{"from_port": 443, "to_port": 443, "protocol": "tcp", "cidr_blocks": ["10.0.0.0/8"]}]);
    let side = |name: &str| json!({"id": aws::TAGGED_GROUP, "name": name, "ingress": rules, "tags": owned(), "tags_all": owned()});
    let replaced = change("aws_security_group.nodes", &["delete", "create"], [side("a"), side("b"), json!({})]);
    let guard = tried(&cluster, &plan(&[replaced], &json!({})));
    assert_eq!((new(&guard), guard.resolved.len()), (vec![], 0));
    let before = subnet(&cluster, aws::PUBLIC, &owned());
    let mut after = subnet(&cluster, aws::PUBLIC, &owned());
    after.as_object_mut().unwrap().remove("id");
    after["cidr_block"] = json!("10.9.0.0/24");
    let forgotten = change("aws_subnet.public", &["create", "forget"], [before, after, json!({"id": true})]);
    let guard = tried(&cluster, &plan(&[forgotten], &json!({})));
    assert!(guard.new.iter().all(|one| one.resource.id != aws::PUBLIC), "{:?}", guard.new);
}

/// Without its keys, nothing is known of a new object in the VPC of a cluster.
#[test]
fn unknown_tags_of_a_new_object_are_undecided() {
    let cluster = Cluster::new();
    let vpc = cluster.inventory.accounts[0].regions[0].vpcs[0].id.clone();
    let after = json!({"name": "n", "vpc_id": vpc});
    let open = json!({"id": true, "tags": true, "tags_all": true});
    let group = change("aws_security_group.new", &["create"], [json!(null), after, open]);
    assert_eq!(undecided(&tried(&cluster, &plan(&[group], &json!({})))), ["aws_security_group.new"]);
    let after = json!({"name": "n", "vpc_id": "vpc-0elsewhere"});
    let open = json!({"id": true, "tags": true, "tags_all": true});
    let group = change("aws_security_group.new", &["create"], [json!(null), after, open]);
    is_nothing(&tried(&cluster, &plan(&[group], &json!({}))));
}

/// Two elements of a list are paired only if everything that the configuration sets is known.
#[test]
fn elements_with_unknown_values_are_not_paired() {
    let cluster = Cluster::new();
    let side = |index: usize| json!({"id": format!("{}-{index}", aws::SERVER_ROLE), "role": aws::SERVER_ROLE, "policy_arn": format!("arn:aws:iam::111122223333:policy/p{index}")});
    let replaced = |index: usize| {
        let after = json!({"role": aws::SERVER_ROLE});
        let open = json!({"id": true, "policy_arn": true});
        change(&format!("aws_iam_role_policy_attachment.a[{index}]"), &["delete", "create"], [side(index), after, open])
    };
    let configuration = configured("aws_iam_role_policy_attachment.a", &[("policy_arn", &["local.arns"])]);
    let guard = tried(&cluster, &plan(&[replaced(0), replaced(1)], &configuration));
    assert_eq!(undecided(&guard).len(), 2, "{:?}", guard.undecided);
}
