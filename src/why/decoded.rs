//! Encoded authorization messages of EC2, and what is in them once STS has decoded them.
//! Source: AWS STS API Reference, `DecodeAuthorizationMessage`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::text;

use super::paste::{Record, expression};

/// Maximum number of messages decoded from a paste: each is a call.
#[cfg(any(feature = "aws", test))]
const MOST: usize = 20;

/// The decoded text of each encoded message, or the reason for which there is none.
pub(crate) type Decoded = BTreeMap<String, Result<String, NotDecoded>>;

/// A message that was not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotDecoded {
    /// Code and message of STS.
    pub(crate) reason: String,
}

static ENCODED: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"(?i)encoded authorization failure message: ?([A-Za-z0-9_-]{20,})"));

static BEGINNING: LazyLock<Option<Regex>> = LazyLock::new(|| expression(r#"\{\s*"allowed"\s*:\s*false"#));

/// The encoded messages of a paste, each once, at most [`MOST`].
#[cfg(any(feature = "aws", test))]
pub(crate) fn encoded(paste: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for message in super::paste::records(paste).iter().filter_map(message) {
        if found.len() < MOST && !found.contains(&message) {
            found.push(message);
        }
    }
    found
}

/// The encoded message of a record. A reading without the line breaks of the paste has all of it.
fn message(record: &Record) -> Option<String> {
    let expression = ENCODED.as_ref()?;
    let found = record.readings.iter().filter_map(|text| expression.captures(text)?.get(1));
    found.map(|one| one.as_str().to_owned()).max_by_key(String::len)
}

/// The parts of a decoded message about a refusal, as far as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    explicit_deny: bool,
    #[serde(default)]
    matched_statements: Items<Statement>,
    context: Context,
}

#[derive(Deserialize)]
struct Items<T> {
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(default)]
    statement_id: String,
    #[serde(default)]
    effect: String,
    #[serde(default)]
    conditions: Items<Condition>,
}

#[derive(Deserialize)]
struct Context {
    principal: Principal,
    action: String,
    resource: String,
    #[serde(default)]
    conditions: Items<Condition>,
}

#[derive(Deserialize)]
struct Principal {
    arn: String,
}

#[derive(Deserialize)]
struct Condition {
    key: String,
    #[serde(default)]
    values: Items<ConditionValue>,
}

#[derive(Deserialize)]
struct ConditionValue {
    value: String,
}

/// A record with its decoded message in place of the encoded one, and what the message states besides the refusal.
pub(super) fn replaced(record: &Record, decoded: &Decoded) -> Option<(Record, Vec<String>)> {
    let message = message(record)?;
    let text = match decoded.get(&message)? {
        Ok(text) => text,
        Err(NotDecoded { reason }) => {
            return Some((record.clone(), vec![format!("not audited: the encoded message was not decoded: {reason}")]));
        }
    };
    let Ok(Message { explicit_deny, matched_statements, context }) = serde_json::from_str(text) else {
        let unknown = "not audited: the decoded message has a form that is not known";
        return Some((record.clone(), vec![unknown.to_owned()]));
    };
    let Context { principal, action, resource, conditions } = context;
    // In the words of the services that do not encode, which the table of messages knows.
    let refusal = format!(
        "User: {} is not authorized to perform: {action} on resource: {resource} (\"explicitDeny\":{explicit_deny})",
        principal.arn
    );
    let mut readings: Vec<String> = record
        .readings
        .iter()
        .filter_map(|text| Some(ENCODED.as_ref()?.replace_all(text, regex::NoExpand(&refusal)).into_owned()))
        .collect();
    // A reading with the line breaks of the paste keeps a part of the encoded message.
    readings.push(refusal);
    let here = stated(explicit_deny, &matched_statements.items, &conditions.items);
    Some((Record { readings, ..record.clone() }, here))
}

/// Statements of a decoded message in the paste, besides the refusal.
pub(super) fn pasted(record: &Record) -> Vec<String> {
    let found = record.readings.iter().find_map(|text| {
        let start = BEGINNING.as_ref()?.find(text)?.start();
        serde_json::Deserializer::from_str(text.get(start..)?).into_iter::<Message>().next()?.ok()
    });
    found.map_or_else(Vec::new, |Message { explicit_deny, matched_statements, context }| {
        stated(explicit_deny, &matched_statements.items, &context.conditions.items)
    })
}

/// The statement that denies, and the tags of the request.
fn stated(explicit_deny: bool, matched: &[Statement], conditions: &[Condition]) -> Vec<String> {
    let mut here = Vec::new();
    let named: Vec<String> =
        matched.iter().filter(|one| one.effect != "ALLOW" && !one.statement_id.is_empty()).map(described).collect();
    if explicit_deny && !named.is_empty() {
        here.push(format!("the decoded message names the statement that denies it: {}", text::list(&named, 3)));
    }
    let tags: Vec<String> = conditions.iter().filter_map(tag).collect();
    if !tags.is_empty() {
        here.push(format!("the request had {}", text::list(&tags, 6)));
    }
    here
}

/// "`Sid` with a condition on `aws:RequestTag/team`".
fn described(statement: &Statement) -> String {
    let keys: Vec<String> =
        statement.conditions.items.iter().map(|one| format!("`{}`", text::printable(&one.key))).collect();
    let condition =
        if keys.is_empty() { String::new() } else { format!(" with a condition on {}", text::list(&keys, 3)) };
    format!("`{}`{condition}", text::printable(&statement.statement_id))
}

/// A tag of the request or of the resource, on which policies of controllers depend.
fn tag(condition: &Condition) -> Option<String> {
    let lower = condition.key.to_lowercase();
    let is_tag = ["aws:requesttag/", "aws:resourcetag/", "ec2:resourcetag/"].iter().any(|one| lower.starts_with(one));
    let values: Vec<&str> = condition.values.items.iter().map(|one| one.value.as_str()).collect();
    is_tag.then(|| format!("`{}={}`", text::printable(&condition.key), text::printable(&values.join(","))))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Decoded, NotDecoded, encoded};
    use crate::why::{LineAnswer, answer_decoded};

    const BLOB: &str = "Ed90HQ81VpL6vS4bC5v-SweQ582e7Pq2_Zx";

    fn line() -> String {
        format!(
            "E0105 08:00:01.200000 1 a.go:1] could not create volume in EC2: UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: {BLOB}"
        )
    }

    fn message(explicit_deny: bool) -> Value {
        json!({
            "allowed": false, "explicitDeny": explicit_deny,
            "matchedStatements": {"items": if explicit_deny {
                json!([{"statementId": "DenyOthers", "effect": "DENY"}])
            } else {
                json!([])
            }},
            "failures": {"items": []},
            "context": {
                "principal": {"id": "AROAEXAMPLE:i-0a1b2c3d", "arn": "arn:aws:sts::111122223333:assumed-role/prod-worker/i-0a1b2c3d"},
                "action": "ec2:CreateVolume",
                "resource": "arn:aws:ec2:eu-central-1:111122223333:volume/*",
                "conditions": {"items": [
                    {"key": "aws:RequestTag/CSIVolumeName", "values": {"items": [{"value": "pvc-1"}]}},
                    {"key": "ec2:VolumeSize", "values": {"items": [{"value": "8"}]}}
                ]}
            }
        })
    }

    fn answered(text: Result<String, NotDecoded>) -> LineAnswer {
        let decoded: Decoded = [(BLOB.to_owned(), text)].into();
        answer_decoded(&line(), &decoded).lines.remove(0)
    }

    #[test]
    fn a_decoded_message_names_role_action_resource_and_statement() {
        let found = answered(Ok(message(true).to_string()));
        assert_eq!(found.fields["role"], "prod-worker");
        assert_eq!(found.fields["action"], "ec2:CreateVolume");
        assert_eq!(found.fields["resource"], "arn:aws:ec2:eu-central-1:111122223333:volume/*");
        assert_eq!(found.fields["deny"], "explicit");
        assert_eq!(found.rules.first(), Some(&"iam-action-denied"));
        let here = [
            "the decoded message names the statement that denies it: `DenyOthers`",
            "the request had `aws:RequestTag/CSIVolumeName=pvc-1`",
        ];
        assert_eq!(found.here, here);
        let found = answered(Ok(message(false).to_string()));
        assert!(!found.fields.contains_key("deny"), "{found:?}");
        assert_eq!(found.rules.first(), Some(&"iam-action-missing"));
    }

    #[test]
    fn a_decoded_message_in_the_paste_names_the_same() {
        let mut text = message(true);
        text["matchedStatements"]["items"][0]["conditions"] = json!({"items": [
            {"key": "aws:RequestTag/team-id", "values": {"items": [{"value": "true"}]}}
        ]});
        let here = [
            "the decoded message names the statement that denies it: `DenyOthers` with a condition on `aws:RequestTag/team-id`",
            "the request had `aws:RequestTag/CSIVolumeName=pvc-1`",
        ];
        let wrapped = json!({"DecodedMessage": text.to_string()}).to_string();
        for paste in [text.to_string(), format!("{text:#}"), wrapped] {
            let found = crate::why::answer(&paste).lines.remove(0);
            assert_eq!(found.fields["role"], "prod-worker");
            assert_eq!(
                found.fields["principal"], "arn:aws:sts::111122223333:assumed-role/prod-worker/i-0a1b2c3d",
                "{paste}"
            );
            assert_eq!(found.here, here, "{paste}");
        }
    }

    #[test]
    fn a_message_that_was_not_decoded_is_not_audited() {
        let refused = answered(Err(NotDecoded { reason: "AccessDenied: not authorized".to_owned() }));
        assert_eq!(refused.here, ["not audited: the encoded message was not decoded: AccessDenied: not authorized"]);
        assert_eq!(refused.fields["action"], "ec2:CreateVolume");
        let unknown = answered(Ok("{}".to_owned()));
        assert!(unknown.here[0].contains("a form that is not known"), "{unknown:?}");
    }

    #[test]
    fn a_message_that_a_terminal_broke_is_whole() {
        let (first, second) = BLOB.split_at(24);
        let broken = line().replace(BLOB, &format!("{first}\n{second}"));
        assert_eq!(encoded(&format!("{broken}\n{}", line())), [BLOB]);
        assert_eq!(encoded("Encoded authorization failure message: short"), Vec::<String>::new());
    }
}
