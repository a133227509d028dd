//! Roles created by the AWS SAM transform: `Policies` of a function or a state machine belong to its execution role.
//! Source: AWS SAM Developer Guide, `AWS::Serverless::Function` and `AWS::Serverless::StateMachine`, `Policies` and
//! `Role`.

use super::{Template, kind, listed, property};
use crate::dialect::IAM;
use crate::json::{Node, Value};
use crate::templates::functions::function;
use crate::templates::{FoundPolicy, FoundRole, Use, guarded};
use crate::text::Text;

/// Types for which the transform creates a role.
pub(super) const TYPES: [&str; 2] = ["AWS::Serverless::Function", "AWS::Serverless::StateMachine"];

const BASIC: &str = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole";

impl<'t> Template<'t> {
    /// Execution role of a function or state machine without a `Role`.
    pub(super) fn execution_role(&mut self, name: &str, resource: &'t Node) -> Option<FoundRole> {
        if !TYPES.contains(&kind(resource)) || property(resource, "Role").is_some() {
            return None;
        }
        let address = format!("Resources.{name}");
        let mut role = FoundRole { address: address.clone(), dialect: Some(&IAM), ..FoundRole::default() };
        for (at, (decisions, given)) in listed(resource, "Policies").into_iter().enumerate() {
            let inline = format!("{address}.Policies.{at}");
            let is_call = function(given).is_some();
            let policy = match &given.value {
                Value::Object(_) if !is_call && given.get("Statement").is_some() => {
                    self.policy(inline, Use::Inline, &IAM, given).under(&decisions)
                }
                // A SAM policy template, such as `S3ReadPolicy`, which the transform expands.
                Value::Object(members) if !is_call => {
                    let named = members.first().map(|member| member.key.to_string()).unwrap_or_default();
                    self.found.unknown.push(format!("{inline}: SAM expands the policy template {named}"));
                    let document = Node { span: given.span, value: Value::String(Text::unknown(&named)) };
                    FoundPolicy {
                        address: inline,
                        used_as: Use::Inline,
                        dialect: Some(&IAM),
                        document: Ok(guarded(document, &decisions)),
                    }
                }
                _ => self.missing_policy(&address, given),
            };
            role.policies.push(policy);
        }
        if role.policies.is_empty() {
            return None;
        }
        // The transform always adds this one to the role of a function.
        if kind(resource) == TYPES[0] {
            role.policies.push(FoundPolicy::placeholder(&BASIC.into(), resource.span));
        }
        role.boundary = self.boundary(&address, resource);
        Some(role)
    }
}
