//! Policy documents: a reader that keeps order, refuses repeated keys and says where it stumbled.
//! Grammar: AWS IAM User Guide, "Grammar of the IAM JSON policy language".

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Longest document that is read: IAM takes 131,072 characters of at most two bytes.
const MAX_DOCUMENT_BYTES: usize = 2 * 131_072;

/// Why a document cannot be evaluated. AWS refuses such documents when they are written, so what it means is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON.
    #[error("not JSON: {reason} at line {line}, column {column}")]
    Json {
        /// What is wrong.
        reason: String,
        /// One-based line.
        line: usize,
        /// One-based column.
        column: usize,
    },
    /// JSON, but not a policy.
    #[error("{reason} at {pointer}")]
    Policy {
        /// What is wrong.
        reason: String,
        /// JSON pointer.
        pointer: String,
    },
    /// Larger than any policy may be.
    #[error("larger than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge,
}

/// Effect of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Grants.
    Allow,
    /// Takes away, whatever else grants.
    Deny,
}

/// `Action`/`NotAction` or `Resource`/`NotResource`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Whether it is the `Not…` form.
    pub negated: bool,
    /// Patterns, as written.
    pub patterns: Vec<String>,
    /// Lower-cased patterns of actions, which are matched without regard to case; the same as written for resources.
    pub folded: Vec<String>,
}

/// One key of one condition operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Operator, such as `StringEqualsIfExists`.
    pub operator: String,
    /// Context key.
    pub key: String,
    /// Values; any of them satisfies a positive operator.
    pub values: Vec<String>,
}

/// `Principal` or `NotPrincipal` of a trust policy: (type, value) pairs; `*` is written as `("*", "*")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Whether it is `NotPrincipal`.
    pub negated: bool,
    /// Pairs such as `("Service", "ec2.amazonaws.com")`.
    pub entries: Vec<(String, String)>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// `Sid`, if it has one.
    pub sid: Option<String>,
    /// Allow or Deny.
    pub effect: Effect,
    /// What may (not) be done.
    pub action: Element,
    /// On what. Absent in trust policies.
    pub resource: Option<Element>,
    /// Under which conditions; all of them must hold.
    pub conditions: Vec<Condition>,
    /// For whom; in trust policies only.
    pub principal: Option<Principal>,
}

/// A policy document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// `Version`; without it variables are plain text.
    pub version: Option<String>,
    /// Statements in order.
    pub statements: Vec<Statement>,
}

impl Document {
    /// Parses a document.
    ///
    /// # Errors
    /// When it is not JSON, repeats a key, or is not a policy that AWS would have taken.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(DocumentError::TooLarge);
        }
        let json: Json = serde_json::from_str(text).map_err(|error| DocumentError::Json {
            line: error.line(),
            column: error.column(),
            reason: crate::text::without_position(&error),
        })?;
        let Json::Object(members) = json else { return refuse("", "a policy is a JSON object") };
        let mut version = None;
        let mut statements = Vec::new();
        for (key, value) in members {
            match (key.as_str(), value) {
                ("Version", Json::Text(text)) if matches!(text.as_str(), "2008-10-17" | "2012-10-17") => {
                    version = Some(text);
                }
                ("Version", _) => return refuse("/Version", "the version is neither `2012-10-17` nor `2008-10-17`"),
                ("Id", Json::Text(_)) => {}
                ("Statement", Json::List(items)) => {
                    for (index, item) in items.into_iter().enumerate() {
                        statements.push(statement(&format!("/Statement/{index}"), item)?);
                    }
                }
                ("Statement", item @ Json::Object(_)) => statements.push(statement("/Statement", item)?),
                (other, _) => return refuse(&format!("/{other}"), &format!("`{other}` is not an element of a policy")),
            }
        }
        Ok(Self { version, statements })
    }

    /// Every action pattern of the `Allow` statements, as written, in order: what a baseline document asks for.
    pub fn allowed_actions(&self) -> impl Iterator<Item = &str> {
        self.statements
            .iter()
            .filter(|statement| statement.effect == Effect::Allow && !statement.action.negated)
            .flat_map(|statement| statement.action.patterns.iter().map(String::as_str))
    }
}

fn refuse<T>(pointer: &str, reason: &str) -> Result<T, DocumentError> {
    let pointer = if pointer.is_empty() { "/" } else { pointer };
    Err(DocumentError::Policy { reason: reason.to_owned(), pointer: pointer.to_owned() })
}

fn statement(at: &str, json: Json) -> Result<Statement, DocumentError> {
    let Json::Object(members) = json else { return refuse(at, "a statement is a JSON object") };
    let (mut sid, mut effect, mut action, mut resource, mut principal) = (None, None, None, None, None);
    let mut conditions = Vec::new();
    for (key, value) in members {
        let here = format!("{at}/{key}");
        match (key.as_str(), value) {
            ("Sid", Json::Text(text)) => sid = Some(text),
            ("Effect", Json::Text(text)) => {
                effect = match text.as_str() {
                    "Allow" => Some(Effect::Allow),
                    "Deny" => Some(Effect::Deny),
                    _ => return refuse(&here, "the effect is neither `Allow` nor `Deny`"),
                }
            }
            (name @ ("Action" | "NotAction"), value) => {
                if action.is_some() {
                    return refuse(&here, "`Action` and `NotAction` exclude each other");
                }
                let patterns = strings(&here, value)?;
                let folded = patterns.iter().map(|text| text.to_lowercase()).collect();
                action = Some(Element { negated: name == "NotAction", patterns, folded });
            }
            (name @ ("Resource" | "NotResource"), value) => {
                if resource.is_some() {
                    return refuse(&here, "`Resource` and `NotResource` exclude each other");
                }
                let patterns = strings(&here, value)?;
                resource = Some(Element { negated: name == "NotResource", folded: patterns.clone(), patterns });
            }
            (name @ ("Principal" | "NotPrincipal"), value) => {
                principal = Some(Principal { negated: name == "NotPrincipal", entries: principals(&here, value)? });
            }
            ("Condition", Json::Object(operators)) => {
                for (operator, keys) in operators {
                    let here = format!("{here}/{operator}");
                    let Json::Object(keys) = keys else { return refuse(&here, "an operator holds an object of keys") };
                    for (key, values) in keys {
                        let values = scalars(&format!("{here}/{key}"), values)?;
                        conditions.push(Condition { operator: operator.clone(), key, values });
                    }
                }
            }
            (other, _) => return refuse(&here, &format!("`{other}` is not understood here")),
        }
    }
    let Some(effect) = effect else { return refuse(at, "the statement has no `Effect`") };
    let Some(action) = action else { return refuse(at, "the statement has neither `Action` nor `NotAction`") };
    Ok(Statement { sid, effect, action, resource, conditions, principal })
}

fn strings(at: &str, json: Json) -> Result<Vec<String>, DocumentError> {
    match json {
        Json::Text(text) => Ok(vec![text]),
        Json::List(items) => items
            .into_iter()
            .map(|item| match item {
                Json::Text(text) => Ok(text),
                _ => refuse(at, "the list holds something other than strings"),
            })
            .collect(),
        _ => refuse(at, "neither a string nor a list of strings"),
    }
}

/// Condition values: strings, numbers and booleans, alone or in a list.
fn scalars(at: &str, json: Json) -> Result<Vec<String>, DocumentError> {
    match json {
        Json::Text(text) | Json::Scalar(text) => Ok(vec![text]),
        Json::List(items) => items
            .into_iter()
            .map(|item| match item {
                Json::Text(text) | Json::Scalar(text) => Ok(text),
                _ => refuse(at, "the list holds something other than plain values"),
            })
            .collect(),
        Json::Object(_) => refuse(at, "neither a value nor a list of values"),
    }
}

fn principals(at: &str, json: Json) -> Result<Vec<(String, String)>, DocumentError> {
    match json {
        Json::Text(text) if text == "*" => Ok(vec![("*".to_owned(), text)]),
        Json::Object(members) => {
            let mut entries = Vec::new();
            for (kind, value) in members {
                let values = strings(&format!("{at}/{kind}"), value)?;
                entries.extend(values.into_iter().map(|value| (kind.clone(), value)));
            }
            Ok(entries)
        }
        _ => refuse(at, "neither `*` nor an object of principals"),
    }
}

/// JSON that keeps the order of members and refuses to hold the same key twice.
enum Json {
    Text(String),
    Scalar(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Json, E> {
        Err(E::custom("`null` has no place in a policy"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut keys = std::collections::BTreeSet::new();
        while let Some((key, value)) = entries.next_entry::<String, Json>()? {
            if !keys.insert(key.clone()) {
                return Err(serde::de::Error::custom(format_args!("the key `{key}` is there twice")));
            }
            members.push((key, value));
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_statement_and_one_string_need_no_brackets() {
        let document = Document::parse(
            r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"EC2:Describe*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":true}}}}"#,
        )
        .unwrap();
        let statement = &document.statements[0];
        assert_eq!(statement.action.patterns, ["EC2:Describe*"]);
        assert_eq!(statement.action.folded, ["ec2:describe*"]);
        assert_eq!(statement.resource.as_ref().unwrap().patterns, ["*"]);
        assert_eq!(statement.conditions[0].values, ["true"]);
    }

    #[test]
    fn what_aws_would_refuse_is_refused_with_its_place() {
        let cases = [
            (
                r#"{"Statement":[{"Effect":"Allow","Action":"a:b","Resource":"*"},{"Effect":"allow"}]}"#,
                "/Statement/1/Effect",
            ),
            (r#"{"Statement":[{"Effect":"Allow","Resource":"*"}]}"#, "/Statement/0"),
            (r#"{"Statement":[{"Effect":"Allow","Action":["a:b",7],"Resource":"*"}]}"#, "/Statement/0/Action"),
            (r#"{"Version":"2013-01-01","Statement":[]}"#, "/Version"),
            ("[]", "/"),
        ];
        for (text, pointer) in cases {
            match Document::parse(text) {
                Err(DocumentError::Policy { pointer: found, .. }) => assert_eq!(found, pointer, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_repeated_key_is_refused_and_not_half_read() {
        let error = Document::parse(
            "{\"Statement\":[{\"Effect\":\"Deny\",\n\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"}]}",
        );
        assert!(matches!(error, Err(DocumentError::Json { line: 2, .. })), "{error:?}");
    }

    #[test]
    fn depth_is_bounded() {
        assert!(Document::parse(&"[".repeat(100_000)).is_err());
    }
}
