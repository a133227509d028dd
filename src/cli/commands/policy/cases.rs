//! `tagaudit policy eval --cases`: answers questions line by line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::io::failure::{Exit, Failure};
use crate::policy::{
    self, Context, ContextValue, Decision, Dialect, Document, NamedDocument, PolicySet, PreparedPolicies, Request,
};
use crate::text;

use super::eval::matched_json;

/// Longest line of a file of questions, in bytes: many times a role with every policy that it may have.
const MAX_CASE_BYTES: u64 = 16 * 1024 * 1024;

/// One line of `--cases`.
#[derive(Deserialize)]
struct Case {
    id: Value,
    identity_policies: Vec<CasePolicy>,
    #[serde(default)]
    permissions_boundary: Option<CasePolicy>,
    #[serde(default)]
    scps: Option<Vec<Vec<CasePolicy>>>,
    #[serde(default)]
    session_policy: Option<CasePolicy>,
    #[serde(default)]
    resource_group_policies: Vec<CasePolicy>,
    request: CaseRequest,
}

#[derive(Deserialize)]
struct CasePolicy {
    name: String,
    document: Box<serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct CaseRequest {
    #[serde(default)]
    #[expect(dead_code, reason = "part of the schema; what a request knows of its principal is in its context")]
    principal: Option<Value>,
    action: String,
    resource: String,
    #[serde(default)]
    context: BTreeMap<String, CaseValue>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CaseValue {
    One(String),
    Many(Vec<String>),
}

/// A policy of a question that is not a policy document.
#[derive(Debug, thiserror::Error)]
#[error("policy `{name}`: {error}")]
struct InvalidPolicy {
    name: String,
    error: policy::DocumentError,
}

fn parse(policies: &[CasePolicy], dialect: Option<&'static Dialect>) -> Result<Vec<NamedDocument>, InvalidPolicy> {
    policies
        .iter()
        .map(|policy| {
            // A document may also be the string that the IAM API returns.
            let raw = policy.document.get();
            let text: Cow<'_, str> = match serde_json::from_str::<String>(raw) {
                Ok(text) => text.into(),
                Err(_) => raw.into(),
            };
            let document = Document::parse_as(&text, dialect)
                .map_err(|error| InvalidPolicy { name: policy.name.clone(), error })?;
            Ok(NamedDocument { name: policy.name.clone(), document })
        })
        .collect()
}

/// An answer; its members are written in this order.
#[derive(Serialize)]
struct CaseAnswer {
    id: Value,
    decision: Decision,
    matched: Value,
}

fn answer(line: &str, dialect: Option<&'static Dialect>) -> Result<CaseAnswer, (Value, String)> {
    let case: Case = serde_json::from_str(line).map_err(|error| {
        let id = serde_json::from_str::<Value>(line).ok().and_then(|value| value.get("id").cloned());
        (id.unwrap_or(Value::Null), format!("column {}: {}", error.column(), text::without_position(&error)))
    })?;
    let fail = |error: InvalidPolicy| (case.id.clone(), error.to_string());
    let parse = |policies: &[CasePolicy]| parse(policies, dialect);
    let identity = parse(&case.identity_policies).map_err(fail)?;
    let boundary = parse(case.permissions_boundary.as_slice()).map_err(fail)?.pop();
    let session = parse(case.session_policy.as_slice()).map_err(fail)?.pop();
    let in_group = parse(&case.resource_group_policies).map_err(fail)?;
    let levels = case.scps.as_deref().unwrap_or_default();
    let scps = levels.iter().map(|level| parse(level)).collect::<Result<Vec<_>, _>>().map_err(fail)?;
    let mut context = Context::default();
    for (key, value) in &case.request.context {
        context.insert(
            key,
            match value {
                CaseValue::One(text) => ContextValue::One(text.clone()),
                CaseValue::Many(list) => ContextValue::Many(list.clone()),
            },
        );
    }
    let request = Request::new(&case.request.action, &case.request.resource, context);
    let set = PolicySet::for_identity(identity)
        .with_boundary(boundary)
        .with_session_policy(session)
        .with_resource_group("of the policies", in_group)
        .with_control_policies(scps);
    let policies = PreparedPolicies::new(&set);
    let decided = policies.decide(&request);
    let (decision, matched) = (decided.decision, matched_json(&decided));
    Ok(CaseAnswer { id: case.id, decision, matched })
}

/// Answers each line in order; a line that cannot be read is answered with its error, and the others go on.
pub(in crate::cli) fn cases(
    path: &Path,
    dialect: Option<&'static Dialect>,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let shown = path.display();
    let failed =
        |error: io::Error| Failure::usage(format!("cannot read the questions `{shown}`")).cause(error.to_string());
    let mut reader: Box<dyn BufRead> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(io::BufReader::new(std::fs::File::open(path).map_err(failed)?))
    };
    let (mut exit, mut number, mut line) = (Exit::Clean, 0_usize, Vec::new());
    let mut out = io::BufWriter::new(out);
    loop {
        line.clear();
        number += 1;
        let read = io::Read::take(&mut reader, MAX_CASE_BYTES + 1).read_until(b'\n', &mut line).map_err(failed)?;
        if read == 0 {
            break;
        }
        let answered = if line.len() as u64 > MAX_CASE_BYTES {
            reader.skip_until(b'\n').map_err(failed)?;
            Err((Value::Null, format!("longer than {MAX_CASE_BYTES} bytes")))
        } else {
            match std::str::from_utf8(&line) {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => answer(text.trim_end(), dialect),
                Err(_) => Err((Value::Null, "not UTF-8".to_owned())),
            }
        };
        let rendered = match &answered {
            Ok(answer) => serde_json::to_string(answer).unwrap_or_default(),
            Err((id, error)) => {
                exit = Exit::Usage;
                let id = serde_json::to_string(id).unwrap_or_default();
                format!("{{\"id\":{id},\"error\":{}}}", Value::from(format!("line {number}: {error}")))
            }
        };
        if let Err(error) = writeln!(out, "{}", text::json_printable(&rendered)).and_then(|()| out.flush()) {
            // A reader that closed the pipe is not a failure.
            return if error.kind() == io::ErrorKind::BrokenPipe { Ok(exit) } else { Err(failed(error)) };
        }
    }
    Ok(exit)
}
