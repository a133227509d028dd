//! Policies inside of infrastructure code: Terraform plans as JSON, and CloudFormation templates as JSON or YAML. Each is
//! named by its address; the roles say which of them belong together.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{JsonError, Node};

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
        return cloudformation(&yaml(text)?, pseudo);
    }
    let node = Node::parse(text).map_err(TemplateError::Json)?;
    if node.get("Statement").is_some() {
        return Ok(plain(text));
    }
    if node.get("Resources").is_some() || node.get("planned_values").is_some() || node.get("resource_changes").is_some()
    {
        let value: Value = serde_json::from_str(text).map_err(|error| TemplateError::Yaml(error.to_string()))?;
        return if value.get("Resources").is_some() { cloudformation(&value, pseudo) } else { Ok(terraform(&value)) };
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

fn yaml(text: &str) -> Result<Value, TemplateError> {
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

/// The logical name that a property refers to.
fn referred(value: &Value) -> Option<&str> {
    let members = value.as_object()?;
    match members.iter().next()? {
        (name, Value::String(target)) if name == "Ref" => Some(target),
        (name, Value::Array(path)) if name == "Fn::GetAtt" => path.first()?.as_str(),
        _ => None,
    }
}

fn cloudformation(template: &Value, pseudo: &Pseudo) -> Result<Found, TemplateError> {
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
            let text = resolve(document, pseudo).to_string();
            documents.insert(name, FoundPolicy { address: format!("Resources.{name}"), text });
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
                let text = resolve(document, pseudo).to_string();
                role.policies.push(FoundPolicy { address: format!("{address}.Policies.{label}"), text });
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

/// Every resource of a plan's modules: address, type, values.
fn planned<'v>(module: &'v Value, found: &mut Vec<(&'v str, &'v str, &'v Value)>) {
    for resource in module.get("resources").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| resource.get(key).and_then(Value::as_str).unwrap_or_default();
        if let Some(values) = resource.get("values") {
            found.push((text("address"), text("type"), values));
        }
    }
    for child in module.get("child_modules").and_then(Value::as_array).into_iter().flatten() {
        planned(child, found);
    }
}

/// What the configuration of a resource refers to, by address and argument.
fn references(module: &Value, prefix: &str, found: &mut BTreeMap<(String, String), Vec<String>>) {
    for resource in module.get("resources").and_then(Value::as_array).into_iter().flatten() {
        let address = resource.get("address").and_then(Value::as_str).unwrap_or_default();
        for (argument, expression) in resource.get("expressions").and_then(Value::as_object).into_iter().flatten() {
            let names = expression.get("references").and_then(Value::as_array).into_iter().flatten();
            let names: Vec<String> = names.filter_map(Value::as_str).map(|name| format!("{prefix}{name}")).collect();
            if !names.is_empty() {
                found.insert((format!("{prefix}{address}"), argument.clone()), names);
            }
        }
    }
    for (name, call) in module.get("module_calls").and_then(Value::as_object).into_iter().flatten() {
        if let Some(inner) = call.get("module") {
            references(inner, &format!("{prefix}module.{name}."), found);
        }
    }
}

/// An address without the index of `count` or `for_each`, as configurations write it.
fn without_index(address: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for character in address.chars() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            other if depth == 0 => out.push(other),
            _ => {}
        }
    }
    out
}

/// The index of an address, such as `["a"]`; empty without one.
fn index_of(address: &str) -> &str {
    address.rfind('[').filter(|_| address.ends_with(']')).and_then(|at| address.get(at..)).unwrap_or_default()
}

fn text_of(values: &Value, key: &str) -> Option<String> {
    values.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// A Terraform plan, taken apart.
struct Plan<'v> {
    /// Address, type and values of each resource.
    resources: Vec<(&'v str, &'v str, &'v Value)>,
    /// What each argument of the configuration refers to.
    refers: BTreeMap<(String, String), Vec<String>>,
    /// Managed policies: address, ARN if it is known, document.
    managed: Vec<(&'v str, Option<String>, FoundPolicy)>,
    found: Found,
    /// Addresses of policies that belong to a role.
    used: Vec<String>,
}

impl<'v> Plan<'v> {
    fn new(plan: &'v Value) -> Self {
        let mut resources = Vec::new();
        if let Some(root) = plan.pointer("/planned_values/root_module") {
            planned(root, &mut resources);
        }
        let mut refers = BTreeMap::new();
        if let Some(root) = plan.pointer("/configuration/root_module") {
            references(root, "", &mut refers);
        }
        let (mut found, mut managed) = (Found::default(), Vec::new());
        for (address, kind, values) in &resources {
            if *kind == "aws_iam_policy" {
                match text_of(values, "policy") {
                    Some(text) => {
                        let policy = FoundPolicy { address: (*address).to_owned(), text };
                        managed.push((*address, text_of(values, "arn"), policy));
                    }
                    None => found.unknown.push(format!("{address}: its document is known after apply only")),
                }
            }
        }
        Self { resources, refers, managed, found, used: Vec::new() }
    }

    /// Whether the configuration of an argument refers to a resource. Instances of `for_each` refer to those of their key.
    fn refers_to(&self, address: &str, argument: &str, target: &str) -> bool {
        let (one, other) = (index_of(address), index_of(target));
        let is_sibling = one.is_empty() || other.is_empty() || one == other;
        let list = self.refers.get(&(without_index(address), argument.to_owned()));
        let target = without_index(target);
        is_sibling
            && list
                .is_some_and(|list| list.iter().any(|name| *name == target || name.starts_with(&format!("{target}."))))
    }

    /// The managed policy that an argument names: by its ARN where that is known, by reference where it is not.
    fn named(&self, address: &str, argument: &str, arn: Option<&str>) -> Option<FoundPolicy> {
        let is_it = |(policy, known, _): &&(&str, Option<String>, FoundPolicy)| match (arn, known) {
            (Some(arn), Some(known)) => arn == known,
            _ => self.refers_to(address, argument, policy),
        };
        self.managed.iter().find(is_it).map(|(_, _, policy)| policy.clone())
    }

    fn attach(&mut self, role: &mut FoundRole, address: &str, argument: &str, arn: Option<&str>) {
        if let Some(policy) = self.named(address, argument, arn) {
            self.used.push(policy.address.clone());
            role.policies.push(policy);
        } else {
            let shown = arn.unwrap_or("of a data source");
            self.found.unknown.push(format!("{address}: the managed policy {shown} is not in the plan"));
        }
    }

    fn role(&mut self, address: &str, values: &Value) -> FoundRole {
        let mut role = FoundRole { address: address.to_owned(), ..FoundRole::default() };
        let name = text_of(values, "name");
        for inline in values.get("inline_policy").and_then(Value::as_array).into_iter().flatten() {
            let label = text_of(inline, "name").unwrap_or_default();
            match text_of(inline, "policy") {
                Some(text) => {
                    role.policies.push(FoundPolicy { address: format!("{address}.inline_policy.{label}"), text });
                }
                None => {
                    self.found.unknown.push(format!("{address}: the inline policy {label} is known after apply only"));
                }
            }
        }
        for arn in values.get("managed_policy_arns").and_then(Value::as_array).into_iter().flatten() {
            self.attach(&mut role, address, "managed_policy_arns", arn.as_str());
        }
        for (other, kind, values) in self.resources.clone() {
            // What is known decides; a reference does where it is known after apply only.
            let belongs = match text_of(values, "role") {
                Some(known) if name.is_some() => Some(known) == name,
                _ => self.refers_to(other, "role", address),
            };
            let listed = values.get("roles").and_then(Value::as_array).is_some_and(|roles| {
                name.as_deref().is_some_and(|name| roles.iter().any(|role| role.as_str() == Some(name)))
            });
            match kind {
                "aws_iam_role_policy" if belongs => match text_of(values, "policy") {
                    Some(text) => {
                        self.used.push(other.to_owned());
                        role.policies.push(FoundPolicy { address: other.to_owned(), text });
                    }
                    None => self.found.unknown.push(format!("{other}: its document is known after apply only")),
                },
                "aws_iam_role_policy_attachment" if belongs => {
                    self.attach(&mut role, other, "policy_arn", text_of(values, "policy_arn").as_deref());
                }
                "aws_iam_policy_attachment" if listed => {
                    self.attach(&mut role, other, "policy_arn", text_of(values, "policy_arn").as_deref());
                }
                _ => {}
            }
        }
        let arn = text_of(values, "permissions_boundary");
        let key = (without_index(address), "permissions_boundary".to_owned());
        if arn.is_some() || self.refers.contains_key(&key) {
            role.boundary = self.named(address, "permissions_boundary", arn.as_deref());
            if let Some(policy) = &role.boundary {
                self.used.push(policy.address.clone());
            } else {
                let arn = arn.unwrap_or_default();
                self.found.unknown.push(format!("{address}: the permissions boundary {arn} is not in the plan"));
            }
        }
        role
    }
}

fn terraform(plan: &Value) -> Found {
    let mut plan = Plan::new(plan);
    for (address, kind, values) in plan.resources.clone() {
        if kind == "aws_iam_role" {
            let role = plan.role(address, values);
            plan.found.roles.push(role);
        }
    }
    for (address, kind, values) in plan.resources.clone() {
        if kind == "aws_iam_role_policy"
            && !plan.used.iter().any(|known| known == address)
            && let Some(text) = text_of(values, "policy")
        {
            plan.found.policies.push(FoundPolicy { address: address.to_owned(), text });
        }
    }
    let Plan { mut found, managed, used, .. } = plan;
    let unattached = managed.into_iter().map(|(_, _, policy)| policy);
    found.policies.extend(unattached.filter(|policy| !used.contains(&policy.address)));
    found
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
