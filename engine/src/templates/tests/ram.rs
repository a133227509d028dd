//! Policies of Alibaba Cloud, in Terraform plans and templates of ROS.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::*;
use crate::RAM;

const DELETE: &str =
    r#"{"Version":"1","Statement":[{"Effect":"Allow","Action":"slb:DeleteLoadBalancer","Resource":"*"}]}"#;
const TRUST: &str = r#"{"Version":"1","Statement":[{"Effect":"Allow","Principal":{"Service":["ecs.aliyuncs.com"]},"Action":"sts:AssumeRole"}]}"#;

fn plan(resources: &[(&str, Json)], references: &[(&str, &str, &str)]) -> String {
    let kind = |address: &str| address.split('.').next().unwrap_or_default().to_owned();
    let resources: Vec<Json> = resources
        .iter()
        .map(
            |(address, values)| json!({"address": address, "mode": "managed", "type": kind(address), "values": values}),
        )
        .collect();
    let mut expressions: BTreeMap<&str, serde_json::Map<String, Json>> = BTreeMap::new();
    for (address, argument, name) in references {
        let target = name.rsplit_once('.').map_or(*name, |(target, _)| target);
        let reference = json!({"references": [name, target]});
        expressions.entry(address).or_default().insert((*argument).to_owned(), reference);
    }
    let configured: Vec<Json> =
        expressions.into_iter().map(|(address, own)| json!({"address": address, "expressions": own})).collect();
    json!({
        "format_version": "1.2", "terraform_version": "1.11.4",
        "planned_values": {"root_module": {"resources": resources}},
        "configuration": {"root_module": {"resources": configured}}
    })
    .to_string()
}

/// Verdict on `slb:DeleteLoadBalancer` for each role, user and group.
fn verdicts(file: &str) -> Vec<(String, Verdict)> {
    let found = find(file, &Pseudo::default()).unwrap();
    let environment = Environment { account_id: "1234567890123456".to_owned(), ..Environment::default() };
    let judged = found.roles.iter().map(|role| {
        assert_eq!(role.dialect, Some(&RAM));
        let named = |policy: &FoundPolicy| NamedDocument {
            name: policy.address.clone(),
            document: policy.evaluable(&RAM).unwrap(),
        };
        let set = PolicySet::for_identity(role.policies.iter().map(named).collect());
        let question = Question::on("slb:DeleteLoadBalancer", &[]);
        let catalogue = Catalogue::for_dialect(&RAM);
        (role.address.clone(), PreparedPolicies::new(&set).assess(question, &environment, catalogue).verdict)
    });
    judged.collect()
}

#[test]
fn a_plan_attaches_ram_policies_to_roles_users_and_groups() {
    let policy = |name: &str| json!({name: "lb", "policy_document": DELETE, "type": "Custom"});
    let role = |key: &str| json!({key: "master", "assume_role_policy_document": TRUST});
    let attached = json!({"policy_name": "lb", "policy_type": "Custom", "role_name": "master"});
    for (policy_key, role_key) in [("policy_name", "role_name"), ("name", "name")] {
        let text = plan(
            &[
                ("alicloud_ram_policy.lb", policy(policy_key)),
                ("alicloud_ram_role.master", role(role_key)),
                ("alicloud_ram_role.worker", json!({"role_name": "worker", "document": TRUST})),
                ("alicloud_ram_role_policy_attachment.lb", attached.clone()),
            ],
            &[],
        );
        assert_eq!(
            verdicts(&text),
            [
                ("alicloud_ram_role.master".to_owned(), Verdict::Granted),
                ("alicloud_ram_role.worker".to_owned(), Verdict::Missing)
            ]
        );
        let found = find(&text, &Pseudo::default()).unwrap();
        assert_eq!((found.trusts.len(), found.policies.len(), found.skipped.len()), (2, 0, 0));
    }
    // Deprecated arguments, a user, and a user in a group.
    let text = plan(
        &[
            ("alicloud_ram_policy.lb", json!({"name": "lb", "document": DELETE})),
            ("alicloud_ram_user.one", json!({"name": "one"})),
            ("alicloud_ram_user.two", json!({"name": "two"})),
            ("alicloud_ram_group.all", json!({"name": "all"})),
            ("alicloud_ram_group_membership.all", json!({"group_name": "all", "user_names": ["two"]})),
            (
                "alicloud_ram_user_policy_attachment.one",
                json!({"policy_name": "lb", "policy_type": "Custom", "user_name": "one"}),
            ),
            (
                "alicloud_ram_group_policy_attachment.all",
                json!({"policy_name": "lb", "policy_type": "Custom", "group_name": "all"}),
            ),
        ],
        &[],
    );
    let granted: Vec<_> = verdicts(&text).into_iter().filter(|(_, verdict)| *verdict == Verdict::Granted).collect();
    assert_eq!(granted.len(), 3, "{granted:?}");
}

#[test]
fn what_a_plan_does_not_know_stays_open() {
    // The names are known only after apply: the references identify both.
    let text = plan(
        &[
            ("alicloud_ram_policy.lb", json!({"policy_document": DELETE})),
            ("alicloud_ram_role.master", json!({"assume_role_policy_document": TRUST})),
            ("alicloud_ram_role_policy_attachment.lb", json!({"policy_type": "Custom"})),
        ],
        &[
            ("alicloud_ram_role_policy_attachment.lb", "policy_name", "alicloud_ram_policy.lb.policy_name"),
            ("alicloud_ram_role_policy_attachment.lb", "role_name", "alicloud_ram_role.master.role_name"),
        ],
    );
    assert_eq!(verdicts(&text)[0].1, Verdict::Granted);
    // A system policy is not the custom one of the same name.
    let text = plan(
        &[
            ("alicloud_ram_policy.lb", json!({"policy_name": "AliyunSLBFullAccess", "policy_document": DELETE})),
            ("alicloud_ram_role.master", json!({"role_name": "master"})),
            (
                "alicloud_ram_role_policy_attachment.lb",
                json!({"policy_name": "AliyunSLBFullAccess", "policy_type": "System", "role_name": "master"}),
            ),
        ],
        &[],
    );
    assert_eq!(verdicts(&text)[0].1, Verdict::Undecided);
    let found = find(&text, &Pseudo::default()).unwrap();
    assert!(found.unknown.iter().any(|one| one.contains("AliyunSLBFullAccess is not in the plan")), "{found:?}");
    assert_eq!(found.policies.len(), 1, "the custom policy is found by itself");
}

#[test]
fn control_policies_and_aws_roles_keep_their_language() {
    let text = plan(
        &[
            ("alicloud_resource_manager_control_policy.no", json!({"policy_document": DELETE})),
            ("aws_iam_role.node", json!({"name": "node"})),
        ],
        &[],
    );
    let found = find(&text, &Pseudo::default()).unwrap();
    assert_eq!((found.policies[0].used_as, found.policies[0].dialect), (Use::Control, Some(&RAM)));
    assert_eq!(found.roles[0].dialect, Some(&crate::IAM));
}

const ROS: &str = "\
ROSTemplateFormatVersion: '2015-09-01'
Resources:
  Master:
    Type: ALIYUN::RAM::Role
    Properties:
      RoleName: master
      AssumeRolePolicyDocument: {Version: '1', Statement: [{Effect: Allow, Action: 'sts:AssumeRole', Principal: {Service: [ecs.aliyuncs.com]}}]}
";

#[test]
fn a_template_of_ros_attaches_ram_policies_in_each_way() {
    let document = "{Version: '1', Statement: [{Effect: Allow, Action: ['slb:DeleteLoadBalancer'], Resource: ['*']}]}";
    let policy = |more: &str| {
        format!(
            "  Policy:\n    Type: ALIYUN::RAM::ManagedPolicy\n    Properties:\n      PolicyName: lb\n      PolicyDocument: {document}\n{more}"
        )
    };
    let attachment =
        "  Attachment:\n    Type: ALIYUN::RAM::AttachPolicyToRole\n    Properties:\n      PolicyType: Custom\n";
    for (text, verdict) in [
        (format!("{ROS}{}", policy("")), Verdict::Missing),
        (format!("{ROS}      Policies: [{{PolicyName: lb, PolicyDocument: {document}}}]\n"), Verdict::Granted),
        (format!("{ROS}{}", policy("      Roles: [!Ref Master]\n")), Verdict::Granted),
        (format!("{ROS}{}", policy("      Roles: [master]\n")), Verdict::Granted),
        (format!("{ROS}{}", policy("      Roles: [other]\n")), Verdict::Missing),
        (
            format!(
                "{ROS}{}{attachment}      PolicyName: !Ref Policy\n      RoleName: !GetAtt Master.RoleName\n",
                policy("")
            ),
            Verdict::Granted,
        ),
        (format!("{ROS}{}{attachment}      PolicyName: lb\n      RoleName: master\n", policy("")), Verdict::Granted),
        (format!("{ROS}{attachment}      PolicyName: lb\n      RoleName: master\n"), Verdict::Undecided),
        (format!("{ROS}      PolicyAttachments: {{Custom: [lb]}}\n{}", policy("")), Verdict::Granted),
        (format!("{ROS}      PolicyAttachments: {{System: [AliyunSLBFullAccess]}}\n"), Verdict::Undecided),
    ] {
        let found = verdicts(&text);
        assert_eq!(found, [("Resources.Master".to_owned(), verdict)], "{text}");
    }
    let unchecked = policy("      PolicyDocumentUnchecked: {Version: '1', Statement: []}\n      Roles: [master]\n");
    assert_eq!(verdicts(&format!("{ROS}{unchecked}"))[0].1, Verdict::Missing, "the checked document is ignored");
    let found = find(ROS, &Pseudo::default()).unwrap();
    assert_eq!((found.trusts.len(), found.trusts[0].dialect), (1, Some(&RAM)));
}
