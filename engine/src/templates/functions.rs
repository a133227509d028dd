//! Evaluates CloudFormation's intrinsic functions, as far as their values are known.
//! Source: AWS CloudFormation User Guide, "Intrinsic function reference" and "Pseudo parameters reference".

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::Pseudo;
use crate::json::{Either, Member, Node, Value};
use crate::text::{Text, TextPart};

/// Maximum length of a function argument that is shown in full.
const MAX_SHOWN: usize = 60;

/// The function call in a value, with its argument.
pub(super) fn function(node: &Node) -> Option<(&str, &Node)> {
    match node.members()? {
        [member] if *member.key == *"Ref" || member.key.starts_with("Fn::") => Some((&member.key, &member.value)),
        _ => None,
    }
}

/// Logical name that a property references.
pub(super) fn referenced_name(node: &Node) -> Option<&str> {
    match function(node)? {
        ("Ref", target) => target.as_str(),
        ("Fn::GetAtt", path) => match path.items() {
            Some(parts) => parts.first()?.as_str(),
            None => path.as_str()?.split('.').next(),
        },
        _ => None,
    }
}

/// True if a value is `AWS::NoValue`, which removes the property.
pub(super) fn is_no_value(node: &Node) -> bool {
    referenced_name(node) == Some("AWS::NoValue")
}

/// Condition and the two values of `Fn::If`.
pub(super) fn choice(node: &Node) -> Option<(&str, &Node, &Node)> {
    match function(node)? {
        ("Fn::If", argument) => match argument.items()? {
            [condition, then, otherwise] => Some((condition.as_str()?, then, otherwise)),
            _ => None,
        },
        _ => None,
    }
}

/// Evaluates the functions in a value; `None` for no value.
pub(super) fn resolve(node: &Node, pseudo: &Pseudo) -> Option<Node> {
    if let Some((condition, then, otherwise)) = choice(node) {
        let (then, otherwise) = (resolve(then, pseudo), resolve(otherwise, pseudo));
        if then.as_ref().map(|one| &one.value) == otherwise.as_ref().map(|one| &one.value) {
            return then;
        }
        let either = Either { condition: condition.to_owned(), then, otherwise };
        return Some(Node { span: node.span, value: Value::Either(Box::new(either)) });
    }
    let value = match &node.value {
        Value::Array(items) => Value::Array(items.iter().filter_map(|item| resolve(item, pseudo)).collect()),
        Value::Object(_) if is_no_value(node) => return None,
        Value::Object(members) => match function(node) {
            Some(("Fn::ToJsonString", argument)) => return resolve(argument, pseudo),
            Some((name, argument)) => Value::String(whole_parts(&call(name, argument, pseudo), pseudo)),
            None => {
                let members = members
                    .iter()
                    .filter_map(|member| Some(Member { value: resolve(&member.value, pseudo)?, ..member.clone() }));
                Value::Object(members.collect())
            }
        },
        other => other.clone(),
    };
    Some(Node { span: node.span, value })
}

/// A value as text; an unknown value is shown as its function.
pub(super) fn text(node: &Node, pseudo: &Pseudo) -> Text {
    match resolve(node, pseudo).map(|node| node.value) {
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.into(),
        Some(Value::Bool(value)) => value.to_string().into(),
        None => Text::default(),
        Some(_) => Text::unknown(&shown("", node)),
    }
}

fn call(name: &str, argument: &Node, pseudo: &Pseudo) -> Text {
    let unknown = || Text::unknown(&shown(name.trim_start_matches("Fn::"), argument));
    match (name, &argument.value) {
        ("Ref", Value::String(name)) => reference(name, pseudo),
        ("Fn::Sub", Value::String(template)) => substitute(template, &BTreeMap::new(), pseudo),
        ("Fn::Sub", Value::Array(parts)) => match parts.first().and_then(Node::as_str) {
            Some(template) => substitute(template, &substitutes(parts.get(1), pseudo), pseudo),
            None => unknown(),
        },
        ("Fn::Join", Value::Array(parts)) => match parts.as_slice() {
            [separator, list] if separator.as_str().is_some() && list.items().is_some() => {
                let mut joined = Text::default();
                for (index, item) in
                    list.items().unwrap_or_default().iter().filter(|item| !is_no_value(item)).enumerate()
                {
                    if index > 0 {
                        joined.push_str(separator.as_str().unwrap_or_default());
                    }
                    joined.push(&text(item, pseudo));
                }
                joined
            }
            _ => unknown(),
        },
        ("Fn::GetAtt", Value::Array(parts)) => {
            let path: Vec<&str> = parts.iter().filter_map(Node::as_str).collect();
            Text::unknown(&path.join("."))
        }
        ("Fn::GetAtt", Value::String(path)) => Text::unknown(path),
        _ => unknown(),
    }
}

/// Textual form of a function. Functions with different values have different forms.
fn shown(name: &str, argument: &Node) -> String {
    let text = argument.to_string();
    let text = if text.len() > MAX_SHOWN {
        let start: String = text.chars().take(MAX_SHOWN / 2).collect();
        format!("{start}... {}", crate::display::hex(&Sha256::digest(&text), 4))
    } else {
        text.trim_matches('"').to_owned()
    };
    // A closing brace would end the name early.
    format!("{name} {text}").trim().replace(['{', '}'], "|")
}

fn reference(name: &str, pseudo: &Pseudo) -> Text {
    let known = match name {
        "AWS::Partition" => pseudo.partition.as_deref(),
        "AWS::Region" => pseudo.region.as_deref(),
        "AWS::AccountId" => pseudo.account_id.as_deref(),
        "AWS::URLSuffix" => pseudo.partition.as_deref().map(|partition| match partition {
            "aws-cn" => "amazonaws.com.cn",
            _ => "amazonaws.com",
        }),
        _ => None,
    };
    known.map_or_else(|| Text::unknown(name), Text::from)
}

/// Map of a `Fn::Sub` with two arguments.
pub(super) fn substitutes(map: Option<&Node>, pseudo: &Pseudo) -> BTreeMap<String, Text> {
    let members = map.and_then(Node::members).unwrap_or_default();
    members.iter().map(|member| (member.key.to_string(), text(&member.value, pseudo))).collect()
}

/// A `Fn::Sub` template with its variables replaced.
pub(super) fn substitute(template: &str, values: &BTreeMap<String, Text>, pseudo: &Pseudo) -> Text {
    let mut out = Text::default();
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
        } else if let Some(value) = values.get(name.trim()) {
            out.push(value);
        } else {
            out.push(&reference(name.trim(), pseudo));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Replaces partition, region and account of the stack in an ARN by `*`, if the question concerns the account and
/// region of the stack.
pub(super) fn whole_parts(text: &Text, pseudo: &Pseudo) -> Text {
    if text.is_known() || !pseudo.is_home || !text.starts_with("arn:") {
        return text.clone();
    }
    let parts: Vec<TextPart<'_>> = text.parts().collect();
    let (mut out, mut colons, mut is_certain) = (Text::default(), 0, true);
    for (at, part) in parts.iter().enumerate() {
        match part {
            TextPart::Known(known) => {
                colons += known.matches(':').count();
                out.push_str(known);
            }
            TextPart::Unknown(shown) => {
                let name = shown.trim_start_matches("${").trim_end_matches('}');
                let before = matches!(at.checked_sub(1).and_then(|at| parts.get(at)), Some(TextPart::Known(text)) if text.ends_with(':'));
                let behind = matches!(parts.get(at + 1), Some(TextPart::Known(text)) if text.starts_with(':'));
                let is_home = matches!(name, "AWS::Partition" | "AWS::Region" | "AWS::AccountId");
                if is_home && before && behind && colons < 5 && is_certain {
                    out.push_str("*");
                } else {
                    is_certain &= is_home;
                    out.push_unknown(name);
                }
            }
        }
    }
    out
}

/// True if two texts may be equal when the stack is created: their known prefixes and suffixes are compatible.
pub(super) fn may_be_equal(one: &Text, other: &Text) -> bool {
    if one.is_known() && other.is_known() {
        return false;
    }
    let known = |text: &Text, is_first: bool| {
        let parts: Vec<TextPart<'_>> = text.parts().collect();
        match if is_first { parts.first() } else { parts.last() } {
            Some(TextPart::Known(known)) => (*known).to_owned(),
            _ => String::new(),
        }
    };
    let (start, other_start) = (known(one, true), known(other, true));
    let (end, other_end) = (known(one, false), known(other, false));
    (start.starts_with(&other_start) || other_start.starts_with(&start))
        && (end.ends_with(&other_end) || other_end.ends_with(&end))
}
