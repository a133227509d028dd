//! Policies inside of infrastructure code: Terraform plans as JSON, and CloudFormation templates as JSON or YAML. Each is
//! named by its address; the roles say which of them belong together.

use serde_json::Value;

use super::json::{JsonError, Node};

mod cloudformation;
mod terraform;

/// Most characters of a template that are read.
pub const MAX_TEMPLATE_BYTES: u64 = 256 * 1024 * 1024;

/// A policy that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPolicy {
    /// Address in the template, such as `aws_iam_role_policy.worker`; empty for a file that is a policy itself.
    pub address: String,
    /// The document as text.
    pub text: String,
}

/// A role that was found, with what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundRole {
    /// Address in the template.
    pub address: String,
    /// Inline and attached policies.
    pub policies: Vec<FoundPolicy>,
    /// Permissions boundary.
    pub boundary: Option<FoundPolicy>,
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Roles with their policies.
    pub roles: Vec<FoundRole>,
    /// Policies that belong to no role of the file.
    pub policies: Vec<FoundPolicy>,
    /// What the file does not tell: documents known only after it is applied, managed policies that are not in it.
    pub unknown: Vec<String>,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Neither JSON nor YAML.
    #[error("not JSON: {0}")]
    Json(JsonError),
    /// Meant to be YAML, and is not.
    #[error("not YAML: {0}")]
    Yaml(String),
    /// Neither a policy nor anything that holds some.
    #[error("no policy document, Terraform plan or CloudFormation template: {0}")]
    Unknown(&'static str),
}

/// Values of the environment for `AWS::Partition`, `AWS::Region` and `AWS::AccountId`; `*` where it is not known.
#[derive(Debug, Clone)]
pub struct Pseudo {
    /// Partition.
    pub partition: String,
    /// Region.
    pub region: String,
    /// Account id.
    pub account_id: String,
}

/// Finds the policies of a file.
///
/// # Errors
/// When it is none of the kinds that are known.
pub fn find(text: &str, pseudo: &Pseudo) -> Result<Found, TemplateError> {
    let trimmed = text.trim_start();
    let encoded = trimmed.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("%7b"));
    if encoded {
        return Ok(plain(text));
    }
    if !trimmed.starts_with(['{', '[', '\u{feff}']) && text.lines().any(|line| line.starts_with("Resources:")) {
        return cloudformation::find(&cloudformation::yaml(text)?, pseudo);
    }
    let node = Node::parse(text).map_err(TemplateError::Json)?;
    if node.get("Statement").is_some() {
        return Ok(plain(text));
    }
    if node.get("Resources").is_some() || node.get("planned_values").is_some() || node.get("resource_changes").is_some()
    {
        let value: Value = serde_json::from_str(text).map_err(|error| TemplateError::Yaml(error.to_string()))?;
        return if value.get("Resources").is_some() {
            cloudformation::find(&value, pseudo)
        } else {
            Ok(terraform::find(&value))
        };
    }
    if node.get("format_version").is_some() {
        return Err(TemplateError::Unknown(
            "a Terraform state or configuration; `terraform show -json PLAN` writes a plan",
        ));
    }
    Err(TemplateError::Unknown("it has no `Statement`, no `Resources` and no `planned_values`"))
}

fn plain(text: &str) -> Found {
    let policy = FoundPolicy { address: String::new(), text: text.to_owned() };
    Found { policies: vec![policy], ..Found::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pseudo() -> Pseudo {
        Pseudo { partition: "aws".into(), region: "*".into(), account_id: "*".into() }
    }

    #[test]
    fn a_policy_is_found_as_itself() {
        let text = r#"{"Statement":[]}"#;
        assert_eq!(
            find(text, &pseudo()).unwrap().policies,
            [FoundPolicy { address: String::new(), text: text.into() }]
        );
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
        assert_eq!(addresses, ["Resources.Worker.Policies.pull", "Resources.Extra"]);
        assert!(role.policies[0].text.contains("arn:aws:ecr:*:*:repository/${cloudformation.Team}/*"), "{role:?}");
        assert!(role.policies[1].text.contains("${cloudformation.Bucket.Arn}/${!aws:userid}"), "{role:?}");
        assert_eq!(role.boundary.as_ref().unwrap().address, "Resources.Boundary");
        assert_eq!(found.policies, []);
        assert_eq!(found.unknown.len(), 1);
        assert!(found.unknown[0].contains("AmazonSSMManagedInstanceCore"), "{:?}", found.unknown);
    }

    #[test]
    fn instances_of_for_each_keep_their_own_policies() {
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
    fn a_statement_that_depends_on_a_condition_is_unknown_and_the_others_count() {
        let template = "Resources:\n  P:\n    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      PolicyDocument:\n        Version: 2012-10-17\n        Statement:\n          - {Effect: Allow, Action: 'ec2:RunInstances', Resource: '*'}\n          - !If [Wide, {Effect: Allow, Action: '*', Resource: '*'}, !Ref AWS::NoValue]\n";
        let found = find(template, &pseudo()).unwrap();
        assert_eq!(found.unknown, ["Resources.P: a statement depends on a condition of the stack"]);
        let document = crate::policy::Document::parse(&found.policies[0].text).unwrap();
        assert_eq!(document.statements.len(), 1);
    }

    #[test]
    fn what_is_known_when_the_stack_is_made_is_no_wildcard() {
        let text = |resource: &str| {
            let template = format!(
                "Resources:\n  P:\n    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      PolicyDocument: {{Statement: [{{Effect: Allow, Action: 's3:GetObject', Resource: !Sub '{resource}'}}]}}\n"
            );
            find(&template, &pseudo()).unwrap().policies.remove(0).text
        };
        assert!(text("arn:aws:s3:::b-${AWS::AccountId}/*").contains("b-${cloudformation.AWS..AccountId}/*"));
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
                {"address": "aws_iam_role_policy_attachment.a", "expressions": {"policy_arn": {"references": ["module.m.aws_iam_policy.wide[0].arn", "module.m.aws_iam_policy.wide"]}}}
            ]}}
        });
        let found = find(&plan.to_string(), &pseudo()).unwrap();
        let [role] = found.roles.as_slice() else { panic!("{found:?}") };
        let addresses: Vec<&str> = role.policies.iter().map(|policy| policy.address.as_str()).collect();
        assert_eq!(addresses, ["aws_iam_role_policy.pull", "module.m.aws_iam_policy.wide[0]"]);
        assert_eq!(
            found.policies.iter().map(|policy| policy.address.as_str()).collect::<Vec<_>>(),
            ["aws_iam_policy.alone"]
        );
        assert_eq!(found.unknown.len(), 2, "{:?}", found.unknown);
    }
}
