//! CloudFormation templates, as JSON or YAML.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Found, FoundPolicy, FoundRole, Pseudo, TemplateError};

pub(super) fn yaml(text: &str) -> Result<Value, TemplateError> {
    let value: serde_yaml_ng::Value =
        serde_yaml_ng::from_str(text).map_err(|error| TemplateError::Yaml(error.to_string()))?;
    Ok(untag(value))
}

/// YAML with CloudFormation's short tags, as the JSON that it stands for.
fn untag(value: serde_yaml_ng::Value) -> Value {
    use serde_yaml_ng::Value as Yaml;
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::Bool(value),
        Yaml::Number(number) => serde_json::to_value(number).unwrap_or(Value::Null),
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(items) => Value::Array(items.into_iter().map(untag).collect()),
        Yaml::Mapping(members) => Value::Object(
            members
                .into_iter()
                .map(|(key, value)| {
                    let key = match untag(key) {
                        Value::String(text) => text,
                        // `Version: 2012-10-17` is text in every reader; a number as a key is spelt out.
                        other => other.to_string(),
                    };
                    (key, untag(value))
                })
                .collect(),
        ),
        Yaml::Tagged(tagged) => {
            let name = tagged.tag.to_string();
            let name = name.trim_start_matches('!');
            let function = if name == "Ref" || name == "Condition" { name.to_owned() } else { format!("Fn::{name}") };
            let mut argument = untag(tagged.value);
            if name == "GetAtt"
                && let Value::String(text) = &argument
            {
                argument = text.splitn(2, '.').map(|part| Value::from(part.to_owned())).collect();
            }
            Value::Object([(function, argument)].into_iter().collect())
        }
    }
}

/// Replaces functions by what they give, as far as that is known; a part that is not known becomes a variable.
fn resolve(value: &Value, pseudo: &Pseudo) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(|item| resolve(item, pseudo)).collect()),
        Value::Object(members) => {
            if let (1, Some((name, argument))) = (members.len(), members.iter().next())
                && (name == "Ref" || name.starts_with("Fn::"))
            {
                return Value::String(whole_parts(&function(name, argument, pseudo)));
            }
            Value::Object(members.iter().map(|(key, value)| (key.clone(), resolve(value, pseudo))).collect())
        }
        other => other.clone(),
    }
}

/// An ARN whose partition, region or account is only known when the stack is made is one of any.
fn whole_parts(text: &str) -> String {
    if !text.starts_with("arn:") {
        return text.to_owned();
    }
    let unknown = ["AWS::Partition", "AWS::Region", "AWS::AccountId"].map(variable);
    let parts = text.splitn(6, ':').enumerate();
    let any = parts.map(|(index, part)| if index < 5 && unknown.iter().any(|name| name == part) { "*" } else { part });
    any.collect::<Vec<_>>().join(":")
}

fn function(name: &str, argument: &Value, pseudo: &Pseudo) -> String {
    let text = |value: &Value| match resolve(value, pseudo) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    match (name, argument) {
        ("Ref", Value::String(name)) => reference(name, pseudo),
        ("Fn::Sub", Value::String(template)) => substitute(template, &BTreeMap::new(), pseudo),
        ("Fn::Sub", Value::Array(parts)) => {
            let values = parts.get(1).and_then(Value::as_object);
            let values = values.map(|map| map.iter().map(|(key, value)| (key.clone(), text(value))).collect());
            let template = parts.first().and_then(Value::as_str).unwrap_or_default();
            substitute(template, &values.unwrap_or_default(), pseudo)
        }
        ("Fn::Join", Value::Array(parts)) => {
            let separator = parts.first().and_then(Value::as_str).unwrap_or_default();
            let items = parts.get(1).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            items.iter().map(text).collect::<Vec<_>>().join(separator)
        }
        ("Fn::GetAtt", Value::Array(parts)) => {
            let path: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            variable(&path.join("."))
        }
        (name, _) => variable(name),
    }
}

fn reference(name: &str, pseudo: &Pseudo) -> String {
    match name {
        "AWS::Partition" if pseudo.partition != "*" => pseudo.partition.clone(),
        "AWS::Region" if pseudo.region != "*" => pseudo.region.clone(),
        "AWS::AccountId" if pseudo.account_id != "*" => pseudo.account_id.clone(),
        "AWS::URLSuffix" => "amazonaws.com".to_owned(),
        other => variable(other),
    }
}

/// A value that is known only when the stack is made, as a policy variable that no request carries a known value for.
fn variable(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '.' }).collect();
    // Without a colon, which would look like the border of an ARN's part.
    format!("${{cloudformation.{name}}}")
}

fn substitute(template: &str, values: &BTreeMap<String, String>, pseudo: &Pseudo) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = behind.split_once('}') else {
            out.push_str("${");
            rest = behind;
            continue;
        };
        if let Some(literal) = name.strip_prefix('!') {
            // `${!aws:username}` is a policy variable of the document itself.
            out.push_str(&format!("${{{literal}}}"));
        } else if let Some(value) = values.get(name) {
            out.push_str(value);
        } else {
            out.push_str(&reference(name.trim(), pseudo));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A document as text, without the statements that only a condition of the stack decides about.
fn document_of(document: &Value, pseudo: &Pseudo, address: &str, unknown: &mut Vec<String>) -> String {
    let mut document = document.clone();
    if let Some(Value::Array(statements)) = document.get_mut("Statement") {
        let is_choice = |statement: &Value| {
            statement
                .as_object()
                .is_some_and(|members| members.keys().all(|key| key == "Ref" || key.starts_with("Fn::")))
        };
        if statements.iter().any(is_choice) {
            unknown.push(format!("{address}: a statement depends on a condition of the stack"));
            statements.retain(|statement| !is_choice(statement));
        }
    }
    resolve(&document, pseudo).to_string()
}

/// The logical name that a property refers to.
fn referred(value: &Value) -> Option<&str> {
    let members = value.as_object()?;
    match members.iter().next()? {
        (name, Value::String(target)) if name == "Ref" => Some(target),
        (name, Value::Array(path)) if name == "Fn::GetAtt" => path.first()?.as_str(),
        _ => None,
    }
}

pub(super) fn find(template: &Value, pseudo: &Pseudo) -> Result<Found, TemplateError> {
    let Some(resources) = template.get("Resources").and_then(Value::as_object) else {
        return Err(TemplateError::Unknown("its `Resources` is no object"));
    };
    let mut found = Found::default();
    let mut roles: BTreeMap<&str, FoundRole> = BTreeMap::new();
    let mut documents: BTreeMap<&str, FoundPolicy> = BTreeMap::new();
    let kind = |resource: &Value| resource.get("Type").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (name, resource) in resources {
        let document = resource.pointer("/Properties/PolicyDocument");
        if matches!(kind(resource).as_str(), "AWS::IAM::ManagedPolicy" | "AWS::IAM::Policy" | "AWS::IAM::RolePolicy")
            && let Some(document) = document
        {
            let address = format!("Resources.{name}");
            let text = document_of(document, pseudo, &address, &mut found.unknown);
            documents.insert(name, FoundPolicy { address, text });
        }
    }
    for (name, resource) in resources.iter().filter(|(_, resource)| kind(resource) == "AWS::IAM::Role") {
        let address = format!("Resources.{name}");
        let mut role = FoundRole { address: address.clone(), ..FoundRole::default() };
        let mut list = |property: &str| -> Vec<Value> {
            match resource.pointer(&format!("/Properties/{property}")) {
                Some(Value::Array(items)) => items.clone(),
                Some(_) => {
                    found.unknown.push(format!("{address}: its {property} are known when the stack is made only"));
                    Vec::new()
                }
                None => Vec::new(),
            }
        };
        let (inline_policies, managed_arns) = (list("Policies"), list("ManagedPolicyArns"));
        for (index, inline) in inline_policies.iter().enumerate() {
            if let Some(document) = inline.get("PolicyDocument") {
                let inline_name = inline.get("PolicyName").map(|name| resolve(name, pseudo));
                let label =
                    inline_name.as_ref().and_then(Value::as_str).map_or_else(|| index.to_string(), str::to_owned);
                let address = format!("{address}.Policies.{label}");
                let text = document_of(document, pseudo, &address, &mut found.unknown);
                role.policies.push(FoundPolicy { address, text });
            } else {
                found.unknown.push(format!("{address}: an inline policy is known when the stack is made only"));
            }
        }
        for arn in &managed_arns {
            if let Some(policy) = referred(arn).and_then(|target| documents.get(target)) {
                role.policies.push(policy.clone());
            } else {
                let arn = resolve(arn, pseudo);
                found.unknown.push(format!("{address}: the managed policy {arn} is not in the template"));
            }
        }
        let boundary = resource.pointer("/Properties/PermissionsBoundary");
        if let Some(boundary) = boundary.filter(|boundary| referred(boundary) != Some("AWS::NoValue")) {
            if let Some(policy) = referred(boundary).and_then(|target| documents.get(target)) {
                role.boundary = Some(policy.clone());
            } else {
                let arn = resolve(boundary, pseudo);
                found.unknown.push(format!("{address}: the permissions boundary {arn} is not in the template"));
            }
        }
        roles.insert(name, role);
    }
    // A policy may name its roles as well.
    for (name, resource) in resources {
        let Some(policy) = documents.get(name.as_str()) else { continue };
        let named =
            ["Roles", "RoleName"].iter().filter_map(|property| resource.pointer(&format!("/Properties/{property}")));
        let targets: Vec<&Value> = named
            .flat_map(|value| value.as_array().map_or_else(|| vec![value], |list| list.iter().collect()))
            .collect();
        for target in targets {
            // By reference, or by the name that the template gives the role.
            let is_named = |logical: &str| {
                let name = resources.get(logical).and_then(|role| role.pointer("/Properties/RoleName"));
                name.is_some_and(|name| target.is_string() && resolve(name, pseudo) == resolve(target, pseudo))
            };
            let logical = referred(target).or_else(|| roles.keys().copied().find(|logical| is_named(logical)));
            match logical.and_then(|logical| roles.get_mut(logical)) {
                Some(role) => role.policies.push(policy.clone()),
                None => {
                    found
                        .unknown
                        .push(format!("{}: it is put into a role that is not in the template", policy.address));
                }
            }
        }
    }
    let used = |policy: &FoundPolicy| {
        roles.values().any(|role| role.policies.contains(policy) || role.boundary.as_ref() == Some(policy))
    };
    found.policies = documents.values().filter(|policy| !used(policy)).cloned().collect();
    found.roles = roles.into_values().collect();
    Ok(found)
}
