//! `tagaudit policy eval --cases`: answers questions line by line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::failure::{Exit, Failure};
use crate::policy::{self, CompiledPolicy, Context, ContextValue, Decision, Dialect, Document, Policies, Request};
use crate::text;

use super::eval::{Sources, matched_json};

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

fn compile(policies: &[CasePolicy], dialect: Option<&'static Dialect>) -> Result<Vec<CompiledPolicy>, InvalidPolicy> {
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
            Ok(CompiledPolicy::new(&document))
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
    let compile = |policies: &[CasePolicy]| compile(policies, dialect);
    let identity = compile(&case.identity_policies).map_err(fail)?;
    let boundary = compile(case.permissions_boundary.as_slice()).map_err(fail)?;
    let session = compile(case.session_policy.as_slice()).map_err(fail)?;
    let in_group = compile(&case.resource_group_policies).map_err(fail)?;
    let levels = case.scps.as_deref().unwrap_or_default();
    let scps = levels.iter().map(|level| compile(level)).collect::<Result<Vec<_>, _>>().map_err(fail)?;
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
    let policies = Policies {
        boundary: boundary.first(),
        scps: &scps,
        session: session.first(),
        resource_group: &in_group,
        ..Policies::for_identity(&identity)
    };
    let (decision, matched) = policy::decide(policies, &request);
    let names: Vec<&str> = case.identity_policies.iter().map(|policy| policy.name.as_str()).collect();
    let boundary = case.permissions_boundary.as_ref().map(|policy| policy.name.as_str()).unwrap_or_default();
    let scp_names: Vec<Vec<&str>> =
        levels.iter().map(|level| level.iter().map(|policy| policy.name.as_str()).collect()).collect();
    let session = case.session_policy.as_ref().map(|policy| policy.name.as_str()).unwrap_or_default();
    let in_group: Vec<&str> = case.resource_group_policies.iter().map(|policy| policy.name.as_str()).collect();
    let sources = Sources { identity: &names, resource_group: &in_group, session, boundary, scps: &scp_names };
    let matched = matched_json(&matched, &sources);
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
