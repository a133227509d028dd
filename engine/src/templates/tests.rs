use serde_json::Value as Json;

use crate::{
    Catalogue, Environment, NamedDocument, PolicySet, PreparedPolicies, Question, Verdict, json::line_and_column,
};

use super::*;

mod attachment;
mod ram;
mod unknown_values;

fn printed(policy: &FoundPolicy) -> String {
    policy.document.as_ref().unwrap().to_string()
}

fn pseudo() -> Pseudo {
    Pseudo { partition: Some("aws".into()), is_home: true, ..Pseudo::default() }
}

#[test]
fn a_policy_is_found_as_itself() {
    let text = r#"{"Statement":[]}"#;
    let found = find(text, &pseudo()).unwrap();
    assert_eq!((printed(&found.policies[0]).as_str(), found.is_template), (text, false));
    for (wrong, message) in
        [("{}", "no `Statement`"), ("[", "not JSON"), ("{\"format_version\":\"1.0\"}", "show -json")]
    {
        let error = find(wrong, &pseudo()).unwrap_err().to_string();
        assert!(error.contains(message), "{wrong}: {error}");
    }
}

#[test]
fn cloudformation_roles_keep_their_policies_together() {
    let yaml = "\
AWSTemplateFormatVersion: 2010-09-09
Resources:
  Boundary:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument: {Version: 2012-10-17, Statement: [{Effect: Allow, Action: 'ec2:*', Resource: '*'}]}
  Worker:
    Type: AWS::IAM::Role
    Properties:
      PermissionsBoundary: !Ref Boundary
      ManagedPolicyArns:
        - !Sub arn:${AWS::Partition}:iam::aws:policy/AmazonSSMManagedInstanceCore
      Policies:
        - PolicyName: pull
          PolicyDocument:
            Version: 2012-10-17
            Statement:
              - Effect: Allow
                Action: [ecr:BatchGetImage]
                Resource: !Sub 'arn:${AWS::Partition}:ecr:${AWS::Region}:${AWS::AccountId}:repository/${Team}/*'
  Extra:
    Type: AWS::IAM::Policy
    Properties:
      Roles: [!Ref Worker]
      PolicyDocument:
        Version: 2012-10-17
        Statement: {Effect: Allow, Action: 's3:GetObject', Resource: !Join ['', [!GetAtt Bucket.Arn, '/${!aws:userid}']]}
";
    let found = find(yaml, &pseudo()).unwrap();
    let [role] = found.roles.as_slice() else { panic!("{found:?}") };
    let addresses: Vec<&str> = role.policies.iter().map(|policy| policy.address.as_str()).collect();
    assert_eq!(
        addresses,
        ["Resources.Worker.Policies.pull", "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore", "Resources.Extra"]
    );
    assert!(printed(&role.policies[0]).contains("arn:aws:ecr:*:*:repository/${Team}/*"), "{role:?}");
    assert!(printed(&role.policies[2]).contains("${Bucket.Arn}/${!aws:userid}"), "{role:?}");
    assert_eq!(role.boundary.as_ref().unwrap().address, "Resources.Boundary");
    assert_eq!(found.policies, []);
    assert_eq!(found.unknown.len(), 1);
    assert!(found.unknown[0].contains("AmazonSSMManagedInstanceCore"), "{:?}", found.unknown);
}

#[test]
fn for_each_instances_keep_their_policies() {
    let role = |key: &str| serde_json::json!({"address": format!("aws_iam_role.r[\"{key}\"]"), "type": "aws_iam_role", "values": {"name": format!("role-{key}")}});
    let policy = |key: &str, known: bool| {
        let mut values = serde_json::json!({"policy": format!("{{\"Id\":\"{key}\"}}")});
        if known {
            values["role"] = format!("role-{key}").into();
        }
        serde_json::json!({"address": format!("aws_iam_role_policy.p[\"{key}\"]"), "type": "aws_iam_role_policy", "values": values})
    };
    for known in [true, false] {
        let plan = serde_json::json!({
            "planned_values": {"root_module": {"resources": [role("a"), role("b"), policy("a", known), policy("b", known)]}},
            "configuration": {"root_module": {"resources": [
                {"address": "aws_iam_role_policy.p", "expressions": {"role": {"references": ["aws_iam_role.r", "each.key"]}}}]}}
        });
        let found = find(&plan.to_string(), &pseudo()).unwrap();
        for role in &found.roles {
            let addresses: Vec<&str> = role.policies.iter().map(|policy| policy.address.as_str()).collect();
            assert_eq!(addresses, [role.address.replace("aws_iam_role.r", "aws_iam_role_policy.p")], "{known}");
        }
    }
}

#[test]
fn a_statement_that_depends_on_a_condition_is_guarded_and_the_others_count() {
    let template = "Resources:\n  P:\n    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      PolicyDocument:\n        Version: 2012-10-17\n        Statement:\n          - {Effect: Allow, Action: 'ec2:RunInstances', Resource: '*'}\n          - !If [Wide, {Effect: Allow, Action: '*', Resource: '*'}, !Ref AWS::NoValue]\n";
    let found = find(template, &pseudo()).unwrap();
    let document = found.policies[0].evaluable(&crate::IAM).unwrap();
    let guards: Vec<usize> = document.statements.iter().map(|statement| statement.guards.len()).collect();
    assert_eq!(guards, [0, 1], "the second is there only if the condition holds");
}

#[test]
fn what_is_known_when_the_stack_is_made_is_no_wildcard() {
    let text = |resource: &str| {
        let template = format!(
            "Resources:\n  P:\n    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      PolicyDocument: {{Statement: [{{Effect: Allow, Action: 's3:GetObject', Resource: !Sub '{resource}'}}]}}\n"
        );
        printed(&find(&template, &pseudo()).unwrap().policies[0])
    };
    assert!(text("arn:aws:s3:::b-${AWS::AccountId}/*").contains("b-${AWS::AccountId}/*"));
    assert!(
        text("arn:${AWS::Partition}:ec2:${AWS::Region}:${AWS::AccountId}:volume/*")
            .contains("arn:aws:ec2:*:*:volume/*")
    );
}

#[test]
fn terraform_plans_join_policies_and_roles_by_value_or_reference() {
    let plan = serde_json::json!({
        "format_version": "1.2", "terraform_version": "1.9.0",
        "planned_values": {"root_module": {
            "resources": [
                {"address": "aws_iam_role.worker", "type": "aws_iam_role", "values": {"name": "worker", "inline_policy": []}},
                {"address": "aws_iam_role_policy.pull", "type": "aws_iam_role_policy", "values": {"policy": "{\"Statement\":[]}"}},
                {"address": "aws_iam_role_policy_attachment.a", "type": "aws_iam_role_policy_attachment", "values": {"role": "worker"}},
                {"address": "aws_iam_role_policy_attachment.b", "type": "aws_iam_role_policy_attachment",
                 "values": {"role": "worker", "policy_arn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}},
                {"address": "aws_iam_policy.alone", "type": "aws_iam_policy", "values": {"policy": "{\"Id\":\"alone\"}"}},
            ],
            "child_modules": [{"resources": [
                {"address": "module.m.aws_iam_policy.wide[0]", "type": "aws_iam_policy", "values": {"policy": "{\"Id\":\"wide\"}"}},
                {"address": "module.m.aws_iam_policy.later", "type": "aws_iam_policy", "values": {}}
            ]}]
        }},
        "configuration": {"root_module": {"resources": [
            {"address": "aws_iam_role_policy.pull", "expressions": {"role": {"references": ["aws_iam_role.worker.id", "aws_iam_role.worker"]}}},
            {"address": "aws_iam_role_policy_attachment.a", "expressions": {"policy_arn": {"references": ["module.m.wide", "module.m"]}}}
        ], "module_calls": {"m": {"module": {
            "resources": [{"address": "aws_iam_policy.wide", "count_expression": {"constant_value": 1}}],
            "outputs": {"wide": {"expression": {"references": ["aws_iam_policy.wide[0].arn", "aws_iam_policy.wide[0]", "aws_iam_policy.wide"]}}}
        }}}}}
    });
    let found = find(&plan.to_string(), &pseudo()).unwrap();
    let [role] = found.roles.as_slice() else { panic!("{found:?}") };
    let addresses: Vec<&str> = role.policies.iter().map(|policy| policy.address.as_str()).collect();
    assert_eq!(
        addresses,
        ["aws_iam_role_policy.pull", "module.m.aws_iam_policy.wide[0]", "arn:aws:iam::aws:policy/ReadOnlyAccess"]
    );
    assert_eq!(
        found.policies.iter().map(|policy| policy.address.as_str()).collect::<Vec<_>>(),
        ["aws_iam_policy.alone", "module.m.aws_iam_policy.later"]
    );
    assert_eq!(found.unknown.len(), 2, "{:?}", found.unknown);
}

/// localstack/localstack `tests/aws/templates/cfn_lambda_serverless.yml`, which AWS accepted, is an example.
#[test]
fn yaml_in_braces_is_a_template_and_a_broken_policy_is_none() {
    let template = r#"{"Resources": {"P": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*",},]},}},},}"#;
    let found = find(template, &Pseudo::default()).unwrap();
    assert!(found.is_template && found.policies.len() == 1, "{found:?}");
    assert!(found.policies[0].document.is_ok());
    for broken in
        [r#"{"Version": "2012-10-17", "Statement": [],}"#, r#"{"Resources": {"#, r#"{"Resources": {"a" "b"}}"#]
    {
        assert!(matches!(find(broken, &Pseudo::default()), Err(TemplateError::Json(_))), "{broken}");
    }
}
