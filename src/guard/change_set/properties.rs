//! Properties of resources of CloudFormation as the attributes of a plan.

use serde_json::{Map, Value, json};

use super::UNKNOWN;
use super::types::{ATTACHMENT, Form, Row};

/// The row of a part of a resource.
pub(super) fn kind(own: &'static Row, kind: &str) -> &'static Row {
    if kind == ATTACHMENT.kind { &ATTACHMENT } else { own }
}

type Properties = Option<Map<String, Value>>;

/// A change that a resource is, or a part of it.
pub(super) struct Part {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) before: Properties,
    pub(super) after: Properties,
}

/// True if a policy does not state the roles that it is for.
pub(super) fn has_unknown_roles(row: &Row, properties: Option<&Map<String, Value>>) -> bool {
    let takes_roles = matches!(row.cloudformation, "AWS::IAM::Policy" | "AWS::IAM::ManagedPolicy");
    takes_roles && properties.and_then(|one| one.get("Roles")).is_some_and(is_unknown)
}

/// The changes that one resource is: its own, and one for each role that it names. `id` is that of the resource, if it exists.
pub(super) fn expanded(
    row: &'static Row,
    (logical, id): (&str, &str),
    before: Properties,
    after: Properties,
) -> Vec<Part> {
    let roles = |side: &Properties| -> Vec<String> {
        let listed = side.as_ref().and_then(|one| one.get("Roles")?.as_array().cloned()).unwrap_or_default();
        listed.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let arn: Value = if id.is_empty() { UNKNOWN.into() } else { id.into() };
    let fields = |held: &Map<String, Value>, role: &str| match row.cloudformation {
        "AWS::IAM::Policy" => {
            json!({"RoleName": role, "PolicyName": held.get("PolicyName"), "PolicyDocument": held.get("PolicyDocument")})
        }
        _ => json!({"Role": role, "PolicyArn": arn}),
    };
    let of_role = |side: &Properties, role: &str| -> Properties {
        let held = side.as_ref().filter(|_| roles(side).iter().any(|one| one == role))?;
        fields(held, role).as_object().cloned()
    };
    let kind = match row.cloudformation {
        "AWS::IAM::Policy" => row.kind,
        "AWS::IAM::ManagedPolicy" => ATTACHMENT.kind,
        _ => return vec![Part { kind: row.kind, name: logical.to_owned(), before, after }],
    };
    let mut all = roles(&before);
    all.extend(roles(&after).into_iter().filter(|role| !all.contains(role)).collect::<Vec<_>>());
    let parts: Vec<Part> = all
        .iter()
        .map(|role| Part {
            kind,
            name: format!("{logical} of {role}"),
            before: of_role(&before, role),
            after: of_role(&after, role),
        })
        .collect();
    let own = (kind != row.kind).then(|| Part { kind: row.kind, name: logical.to_owned(), before, after });
    own.into_iter().chain(parts).collect()
}

/// Adds the tags of the stack to those of a new resource.
pub(super) fn add_tags(row: &Row, properties: &mut Map<String, Value>, stack: &Value) {
    let of_stack = stack.as_array().map_or(&[][..], Vec::as_slice);
    if !row.takes_tags() || of_stack.is_empty() {
        return;
    }
    let tags = properties.entry("Tags").or_insert_with(|| json!([]));
    if let Some(tags) = tags.as_array_mut() {
        let held: Vec<Value> = tags.iter().filter_map(|tag| tag.get("Key").cloned()).collect();
        tags.extend(of_stack.iter().filter(|tag| tag.get("Key").is_some_and(|key| !held.contains(key))).cloned());
    }
}

impl Row {
    /// True if its resources have tags.
    pub(super) fn takes_tags(&self) -> bool {
        self.attributes.iter().any(|(_, pointer, _)| *pointer == "/Tags")
    }

    /// The known attributes, and the flags of the unknown parts.
    pub(super) fn attributes(&self, properties: &Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
        let whole = Value::Object(properties.clone());
        let (mut values, mut unknown) = (Map::new(), Map::new());
        for (name, pointer, form) in self.attributes {
            let Some(value) = whole.pointer(pointer).filter(|value| !value.is_null()) else { continue };
            let (value, flags) = split(form.written(value));
            values.insert((*name).to_owned(), value);
            if let Some(flags) = flags {
                unknown.insert((*name).to_owned(), flags);
            }
        }
        (values, unknown)
    }

    /// Sets the attributes that are the physical id of a resource that exists.
    pub(super) fn name_by(&self, id: &str, values: &mut Map<String, Value>, unknown: &mut Map<String, Value>) {
        for name in self.named_by_id {
            values.entry(*name).or_insert_with(|| id.into());
            unknown.remove(*name);
        }
    }
}

impl Form {
    /// The attribute, with the marks of unknown values.
    fn written(self, value: &Value) -> Value {
        if is_unknown(value) {
            return value.clone();
        }
        let items = || value.as_array().map_or(&[][..], Vec::as_slice);
        match self {
            Self::Plain => value.clone(),
            Self::Literal => literal(value),
            Self::Tags => tags(items()),
            Self::GroupTags => items().iter().map(snake).collect(),
            Self::Document if has_unknown(value) => UNKNOWN.into(),
            Self::Document => value.as_str().map_or_else(|| value.to_string(), str::to_owned).into(),
            Self::First => items().first().cloned().unwrap_or_default(),
            Self::Ingress => items().iter().map(ingress).collect(),
            Self::InlinePolicies => items()
                .iter()
                .map(|one| {
                    let document = one.get("PolicyDocument").map(|one| Self::Document.written(one));
                    json!({"name": one.get("PolicyName"), "policy": document})
                })
                .collect(),
            Self::Block => json!([snake(value)]),
            Self::Blocks => items()
                .iter()
                .map(|one| {
                    let mut block = snake(one);
                    if let (Some(groups), Some(block)) = (one.get("Groups"), block.as_object_mut()) {
                        block.insert("security_groups".to_owned(), groups.clone());
                    }
                    block
                })
                .collect(),
            Self::TemplateReference => template(value, ["id", "name"]),
            Self::MixedInstances => mixed_instances(value),
            Self::TagSpecifications => items()
                .iter()
                .map(|one| {
                    let held = one.get("Tags").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                    json!({"resource_type": one.get("ResourceType"), "tags": tags(held)})
                })
                .collect(),
        }
    }
}

/// A template that a group or an instance names, by the names of the attributes of its id and its name.
fn template(value: &Value, [id, name]: [&str; 2]) -> Value {
    if is_unknown(value) {
        return value.clone();
    }
    let version = value.get("Version").map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned));
    json!([{id: value.get("LaunchTemplateId"), name: value.get("LaunchTemplateName"), "version": version}])
}

fn mixed_instances(policy: &Value) -> Value {
    let named = |held: &Value| {
        let one = held.get("LaunchTemplateSpecification")?;
        Some(template(one, ["launch_template_id", "launch_template_name"]))
    };
    let written = |held: &Value| {
        let overrides = held.get("Overrides").map(|all| match all.as_array() {
            Some(all) => all.iter().map(|one| json!({"launch_template_specification": named(one)})).collect(),
            None => all.clone(),
        });
        json!([{"launch_template_specification": named(held), "override": overrides}])
    };
    let template = policy.get("LaunchTemplate").map(|held| if is_unknown(held) { held.clone() } else { written(held) });
    json!([{"launch_template": template, "instances_distribution": policy.get("InstancesDistribution")}])
}

/// A number or a truth value, also as the text that templates write.
fn literal(value: &Value) -> Value {
    match value.as_str() {
        Some("true") => true.into(),
        Some("false") => false.into(),
        Some(text) => text.parse::<i64>().map_or_else(|_| value.clone(), Value::from),
        None => value.clone(),
    }
}

fn tags(items: &[Value]) -> Value {
    let mut all = Map::new();
    for tag in items {
        let Some(key) = tag.get("Key").and_then(Value::as_str) else { continue };
        if key.contains(UNKNOWN) {
            return UNKNOWN.into();
        }
        let value = tag.get("Value").cloned().unwrap_or_default();
        all.insert(key.to_owned(), value.as_str().map_or_else(|| value.to_string(), str::to_owned).into());
    }
    all.into()
}

/// A rule of a group as a block.
fn ingress(rule: &Value) -> Value {
    let listed = |key: &str| rule.get(key).map_or_else(|| json!([]), |value| json!([value]));
    let number = |key: &str| rule.get(key).map(literal);
    let protocol = rule.get("IpProtocol").map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned));
    json!({
        "protocol": protocol, "from_port": number("FromPort"), "to_port": number("ToPort"),
        "cidr_blocks": listed("CidrIp"), "ipv6_cidr_blocks": listed("CidrIpv6"),
        "prefix_list_ids": listed("SourcePrefixListId"), "security_groups": listed("SourceSecurityGroupId"),
        "description": rule.get("Description"), "self": false,
    })
}

/// An object with its names in lower case and underscores: `HttpTokens` is `http_tokens`.
fn snake(value: &Value) -> Value {
    let Some(members) = value.as_object() else { return value.clone() };
    let name = |key: &str| {
        let mut name = String::new();
        for one in key.chars() {
            if one.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(one.to_ascii_lowercase());
        }
        name
    };
    members.iter().map(|(key, value)| (name(key), literal(value))).collect::<Map<_, _>>().into()
}

fn is_unknown(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains(UNKNOWN))
}

fn has_unknown(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_unknown),
        Value::Object(members) => members.values().any(has_unknown),
        other => is_unknown(other),
    }
}

/// A value without its unknown parts, and their flags, as a plan writes them.
fn split(value: Value) -> (Value, Option<Value>) {
    if is_unknown(&value) {
        return (Value::Null, Some(true.into()));
    }
    match value {
        Value::Array(items) => {
            let (values, flags): (Vec<Value>, Vec<Option<Value>>) = items.into_iter().map(split).unzip();
            let has_some = flags.iter().any(Option::is_some);
            let flags: Vec<Value> = flags.into_iter().map(|one| one.unwrap_or(false.into())).collect();
            (values.into(), has_some.then(|| flags.into()))
        }
        Value::Object(members) => {
            let (mut values, mut flags) = (Map::new(), Map::new());
            for (key, value) in members {
                let (value, flag) = split(value);
                // An unknown member is absent from the known ones.
                if flag.as_ref() != Some(&Value::Bool(true)) {
                    values.insert(key.clone(), value);
                }
                flags.extend(flag.map(|flag| (key, flag)));
            }
            let has_some = !flags.is_empty();
            (values.into(), has_some.then(|| flags.into()))
        }
        other => (other, None),
    }
}
