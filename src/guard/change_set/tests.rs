//! Change sets on the cluster of the rules' tests: the same as the plan of Terraform for the same change.

use serde_json::{Value, json};

use crate::estate::EstateRef;
use crate::finding::Severity;
use crate::guard::terraform::{Document, PlanError};
use crate::guard::{Guard, Plan, guard};
use crate::inventory::Provider;
use crate::kubernetes::Evidence;
use crate::testing::aws::Cluster;

use super::{UNKNOWN, read_plan};

/// A change set of these changes.
fn change_set(changes: &[Value]) -> Value {
    let changes: Vec<Value> =
        changes.iter().map(|change| json!({"Type": "Resource", "ResourceChange": change})).collect();
    json!({
        "StackName": "net", "StackId": "arn:aws:cloudformation:eu-central-1:111122223333:stack/net/1",
        "Status": "CREATE_COMPLETE", "Changes": changes, "Tags": [{"Key": "team", "Value": "platform"}]
    })
}

fn read(changes: &[Value]) -> Document {
    read_plan(change_set(changes).to_string().as_bytes()).unwrap()
}

fn context(properties: &Value) -> String {
    json!({"Properties": properties}).to_string()
}

/// A change of a resource from some properties to others.
fn modified(kind: &str, id: &str, before: &Value, after: &Value) -> Value {
    json!({
        "Action": "Modify", "Replacement": "False", "LogicalResourceId": "One", "PhysicalResourceId": id,
        "ResourceType": kind, "BeforeContext": context(before), "AfterContext": context(after)
    })
}

fn tried(cluster: &Cluster, document: Document) -> Guard {
    let evidence = Evidence::default();
    let auditors = [crate::guard::tests::auditor(cluster, &evidence)];
    guard(EstateRef::Aws(&cluster.inventory), (&Plan::new(document, Provider::Aws), None), &auditors, &|_| {}).unwrap()
}

#[test]
fn a_subnet_that_loses_its_tag_is_as_in_a_plan() {
    let mut cluster = Cluster::new();
    let subnet = cluster.region().subnets[0].clone();
    let own: Vec<Value> = subnet.tags.iter().map(|tag| json!({"Key": tag.key, "Value": tag.value})).collect();
    let of_set =
        |tags: &[Value]| json!({"VpcId": subnet.vpc_id, "AvailabilityZone": subnet.availability_zone, "Tags": tags});
    let other = [json!({"Key": "kubernetes.io/cluster/another", "Value": "owned"})];
    let set = read(&[modified("AWS::EC2::Subnet", &subnet.id, &of_set(&own), &of_set(&other))]);
    let of_plan = |tags: Value| json!({"id": subnet.id, "vpc_id": subnet.vpc_id, "tags": tags});
    let map: Value = subnet
        .tags
        .iter()
        .map(|tag| (tag.key.clone(), Value::from(tag.value.clone())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let plan = json!({
        "format_version": "1.2", "planned_values": {}, "resource_changes": [{
            "address": "aws_subnet.one", "mode": "managed", "type": "aws_subnet", "name": "one",
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {"actions": ["update"], "before": of_plan(map), "after": of_plan(json!({"kubernetes.io/cluster/another": "owned"})), "after_unknown": {}}
        }]
    });
    let of_terraform = tried(&cluster, read_plan(plan.to_string().as_bytes()).unwrap());
    let of_cloudformation = tried(&cluster, set);
    let fingerprints = |guard: &Guard| guard.new.iter().map(|one| one.fingerprint.clone()).collect::<Vec<_>>();
    assert!(!of_terraform.new.is_empty());
    assert_eq!(fingerprints(&of_cloudformation), fingerprints(&of_terraform));
    assert_eq!(of_cloudformation.new[0].addresses, ["One"]);
}

#[test]
fn properties_are_attributes_with_their_unknown_parts() {
    let rule = json!({"IpProtocol": "tcp", "FromPort": "80", "ToPort": 80, "SourceSecurityGroupId": UNKNOWN});
    let group = json!({"GroupDescription": "nodes", "VpcId": "vpc-1", "SecurityGroupIngress": [rule],
        "Tags": [{"Key": "kubernetes.io/cluster/a", "Value": UNKNOWN}]});
    let document = read(&[json!({
        "Action": "Add", "LogicalResourceId": "Nodes", "ResourceType": "AWS::EC2::SecurityGroup",
        "AfterContext": context(&group)
    })]);
    let change = &document.resource_changes[0];
    assert_eq!(
        (change.kind.as_str(), change.change.actions.as_slice()),
        ("aws_security_group", &["create".to_owned()][..])
    );
    let after = Value::from(change.change.after.clone().unwrap());
    assert_eq!(after["ingress"][0]["from_port"], 80);
    assert_eq!(after["tags"], json!({"team": "platform"}));
    let unknown = Value::from(change.change.after_unknown.clone());
    assert_eq!(unknown, json!({"ingress": [{"security_groups": [true]}], "tags": {"kubernetes.io/cluster/a": true}}));
    assert_eq!(document.account.as_deref(), Some("111122223333"));
}

#[test]
fn a_policy_is_a_change_for_each_of_its_roles() {
    let policy = |roles: &[&str]| json!({"PolicyName": "p", "PolicyDocument": {"Statement": []}, "Roles": roles});
    let document = read(&[modified("AWS::IAM::Policy", "p", &policy(&["a", "b"]), &policy(&["b", "c"]))]);
    let found: Vec<(String, &str)> = document
        .resource_changes
        .iter()
        .map(|one| {
            let of = |side: &Option<serde_json::Map<String, Value>>| {
                side.as_ref().and_then(|one| one["role"].as_str().map(str::to_owned))
            };
            (one.change.actions.join(" "), of(&one.change.after).or(of(&one.change.before)).unwrap())
        })
        .map(|(actions, role)| {
            (
                actions,
                if role == "a" {
                    "a"
                } else if role == "b" {
                    "b"
                } else {
                    "c"
                },
            )
        })
        .collect();
    let expected = [("delete".to_owned(), "a"), ("update".to_owned(), "b"), ("create".to_owned(), "c")];
    assert_eq!(found, expected);
    let managed = json!({"ManagedPolicyName": "m", "PolicyDocument": {"Statement": []}, "Roles": ["a"]});
    let added = json!({"Action": "Add", "LogicalResourceId": "M", "ResourceType": "AWS::IAM::ManagedPolicy", "AfterContext": context(&managed)});
    let kinds: Vec<String> = read(&[added]).resource_changes.iter().map(|one| one.kind.clone()).collect();
    assert_eq!(kinds, ["aws_iam_policy", "aws_iam_role_policy_attachment"]);
}

#[test]
fn undecided_and_absent_changes_are_distinguished() {
    let subnet = json!({"VpcId": "vpc-1"});
    let with = |fields: Value| {
        let mut change = modified("AWS::EC2::Subnet", "subnet-1", &subnet, &subnet);
        change.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        change
    };
    let replaced = read(&[with(json!({"Replacement": "True"}))]);
    assert_eq!(replaced.resource_changes[0].change.actions, ["create", "delete"]);
    for open in [json!({"Replacement": "Conditional"}), json!({"Action": "Dynamic"}), json!({"Action": "Sync"})] {
        let document = read(&[with(open)]);
        assert_eq!((document.resource_changes.len(), document.open.len()), (0, 1));
    }
    let kept = json!({"Action": "Remove", "PolicyAction": "Retain", "AfterContext": null});
    assert!(read(&[with(kept)]).resource_changes.is_empty());
    let removed = read(&[with(json!({"Action": "Remove", "PolicyAction": "Delete", "AfterContext": null}))]);
    assert_eq!(removed.resource_changes[0].change.actions, ["delete"]);
    let in_module = read(&[with(json!({"ModuleInfo": {"LogicalIdHierarchy": "Vpc/Public"}}))]);
    assert_eq!(in_module.resource_changes[0].address, "Vpc/Public/One");
    let nested = json!({"Action": "Modify", "LogicalResourceId": "Inner", "ResourceType": "AWS::CloudFormation::Stack", "ChangeSetId": "arn:inner"});
    assert!(read(&[nested]).notes[0].contains("arn:inner"));
    let refused = |set: Value| read_plan(set.to_string().as_bytes()).unwrap_err();
    assert_eq!(refused(change_set(&[with(json!({"AfterContext": null}))])), PlanError::WithoutValues);
    let mut failed = change_set(&[]);
    let mut ros = failed.clone();
    ros["Changes"] =
        json!([{"Type": "Resource", "ResourceChange": {"Action": "Modify", "ResourceType": "ALIYUN::ECS::VPC"}}]);
    assert!(matches!(read_plan(ros.to_string().as_bytes()), Err(PlanError::OfRos)));
    failed["Status"] = "FAILED".into();
    failed["StatusReason"] = "Template error".into();
    assert_eq!(refused(failed.clone()), PlanError::FailedChangeSet("Template error".to_owned()));
    failed["StatusReason"] = "The submitted information didn't contain changes. Submit different information".into();
    assert!(read_plan(failed.to_string().as_bytes()).unwrap().resource_changes.is_empty());
    let mut first = change_set(&[]);
    first["NextToken"] = "t".into();
    assert_eq!(read_plan(first.to_string().as_bytes()).unwrap().notes.len(), 1);
}

/// A document that denies everything.
const DENY: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}"#;

fn undecided(guard: &Guard) -> Vec<&str> {
    guard.undecided.iter().map(|one| one.address.as_str()).collect()
}

#[test]
fn roles_lose_and_gain_the_policies_that_name_them() {
    let mut cluster = Cluster::new();
    let role = crate::testing::aws::SERVER_ROLE;
    let attached = cluster.role(role).attached_policies.clone().unwrap_or_default();
    let arn = attached.first().cloned().unwrap_or_else(|| "arn:aws:iam::111122223333:policy/none".to_owned());
    let policy = |roles: &[&str]| json!({"PolicyDocument": {"Statement": []}, "Roles": roles});
    let detached = read(&[modified("AWS::IAM::ManagedPolicy", &arn, &policy(&[role]), &policy(&[]))]);
    let change = detached.resource_changes.iter().find(|one| one.kind == "aws_iam_role_policy_attachment").unwrap();
    assert_eq!(change.change.before.as_ref().unwrap()["policy_arn"], arn);
    // A new policy of the same change set is followed to its document.
    let deny: Value = serde_json::from_str(DENY).unwrap();
    let added = json!({
        "Action": "Add", "LogicalResourceId": "Deny", "ResourceType": "AWS::IAM::ManagedPolicy",
        "AfterContext": context(&json!({"PolicyDocument": deny, "Roles": [role]}))
    });
    let found = tried(&cluster, read(&[added]));
    let is_denied = |one: &crate::guard::Judged| one.severity == Severity::Error && one.resource.id.ends_with(role);
    assert!(found.new.iter().any(is_denied), "{found:?}");
    // One that was not read may deny anything.
    let with = |arns: &[&str]| json!({"RoleName": role, "ManagedPolicyArns": arns});
    let unread = "arn:aws:iam::aws:policy/AWSDenyAll";
    let found = tried(&cluster, read(&[modified("AWS::IAM::Role", role, &with(&[]), &with(&[unread]))]));
    assert_eq!(undecided(&found), ["One"]);
    let unknown = json!({"PolicyName": "p", "PolicyDocument": {"Statement": []}, "Roles": UNKNOWN});
    let found = tried(&cluster, read(&[modified("AWS::IAM::Policy", "p", &policy(&[]), &unknown)]));
    assert_eq!(undecided(&found), ["One"]);
}

#[test]
fn a_change_set_that_cannot_be_executed_is_refused() {
    for (key, value) in [("Status", "CREATE_IN_PROGRESS"), ("ExecutionStatus", "EXECUTE_COMPLETE")] {
        let mut set = change_set(&[]);
        set[key] = value.into();
        let refused = read_plan(set.to_string().as_bytes()).unwrap_err();
        assert!(matches!(&refused, PlanError::UnreadyChangeSet(reason) if reason.contains(value)), "{refused:?}");
    }
    let mut change = modified("AWS::EC2::Subnet", "subnet-1", &json!({"VpcId": "vpc-1"}), &json!({"VpcId": "vpc-1"}));
    change["Scope"] = json!(["Tags"]);
    assert_eq!(read(&[change]).open.len(), 1);
}

#[test]
fn an_inline_policy_that_moves_under_its_name_is_undecided() {
    let policy = json!({"PolicyName": "ccm", "PolicyDocument": {"Statement": []}, "Roles": ["r"]});
    let change = |action: &str, id: &str, side: &str| json!({"Action": action, "LogicalResourceId": id, "ResourceType": "AWS::IAM::Policy", side: context(&policy)});
    let moved = read(&[change("Add", "New", "AfterContext"), change("Remove", "Old", "BeforeContext")]);
    assert_eq!(moved.open.iter().map(|(address, _)| address.as_str()).collect::<Vec<_>>(), ["Old"]);
    assert!(read(&[change("Remove", "Old", "BeforeContext")]).open.is_empty());
}

#[test]
fn a_document_that_is_known_later_is_undecided_for_the_roles_that_have_it() {
    let mut cluster = Cluster::new();
    let role = crate::testing::aws::SERVER_ROLE;
    let arn = "arn:aws:iam::111122223333:policy/ccm";
    cluster.account().managed_policies.push(crate::aws::ManagedPolicy {
        arn: arn.to_owned(),
        version_id: None,
        document: Some(r#"{"Version":"2012-10-17","Statement":[]}"#.to_owned()),
    });
    cluster.role(role).attached_policies.get_or_insert_default().push(arn.to_owned());
    let policy = |document: Value, roles: &[&str]| json!({"PolicyDocument": document, "Roles": roles});
    let known = json!({"Version": "2012-10-17", "Statement": []});
    let partly =
        json!({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": UNKNOWN}]});
    for later in [Value::from(UNKNOWN), partly] {
        let set =
            read(&[modified("AWS::IAM::ManagedPolicy", arn, &policy(known.clone(), &[role]), &policy(later, &[role]))]);
        assert!(!undecided(&tried(&cluster, set)).is_empty());
    }
}
