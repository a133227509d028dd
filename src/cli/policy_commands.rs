//! `tagaudit policy`: the policy engine on files, without an account.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::policy::lint::{LintFinding, LintLevel, PolicyKind, lint, lint_within, no_policy};
use crate::policy::templates::{self, FoundPolicy, FoundRole, Pseudo, TemplateError, Use};
use crate::policy::{
    self, Catalogue, CompiledPolicy, Context, ContextValue, Decision, Document, Environment, Layer, Limit, Matched,
    NamedDocument, Policies, PreparedPolicies, Question, Request, Verdict,
};
use crate::report::{ActionReport, PolicyDiff, RoleReport};
use crate::text;

use super::failure::{Exit, Failure};
use super::policy_args::{AnswerFormat, DiffArgs, EvalArgs, ExpandArgs, LintArgs, LintFailOn, ShrinkArgs};
use super::{Format, input, lint_report};

/// Longest file of actions to shrink.
const MAX_ACTIONS_BYTES: u64 = 16 * 1024 * 1024;
/// Longest line of a file of questions: a role with every policy that it may have, many times over.
const MAX_CASE_BYTES: u64 = 16 * 1024 * 1024;

/// The context of `KEY=VALUE` arguments; a key given again is multivalued.
fn context(arguments: &[String]) -> Result<Context, Failure> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for argument in arguments {
        let Some((key, value)) = argument.split_once('=').filter(|(key, _)| key.contains(':')) else {
            return Err(Failure::usage(format!("`--context {argument}` is not KEY=VALUE"))
                .help("for example --context aws:RequestedRegion=us-east-1"));
        };
        values.entry(key.to_ascii_lowercase()).or_default().push(value.to_owned());
    }
    let mut context = Context::default();
    for (key, mut values) in values {
        let value = if values.len() == 1 { ContextValue::One(values.remove(0)) } else { ContextValue::Many(values) };
        context.insert(&key, value);
    }
    Ok(context)
}

/// What a file holds, with names that tell from where.
fn found(path: &Path, pseudo: &Pseudo) -> Result<templates::Found, Failure> {
    let text = input::text(path, templates::MAX_TEMPLATE_BYTES, "policy")?;
    let shown = path.display().to_string();
    let mut found = templates::find(&text, pseudo).map_err(|error| {
        Failure::usage(format!("cannot read the policy `{shown}`"))
            .cause(error.to_string())
            .help("a policy document, the output of `terraform show -json PLAN`, or a CloudFormation template is read")
    })?;
    let name = |policy: &mut FoundPolicy| {
        if policy.used_as != Use::NotHere {
            policy.address =
                if policy.address.is_empty() { shown.clone() } else { format!("{shown}: {}", policy.address) };
        }
    };
    for role in &mut found.roles {
        role.address = format!("{shown}: {}", role.address);
        role.policies.iter_mut().chain(&mut role.boundary).for_each(name);
    }
    found.policies.iter_mut().for_each(name);
    for unknown in &mut found.unknown {
        *unknown = format!("{shown}: {unknown}");
    }
    if found.is_template && found.all().is_empty() && found.roles.is_empty() {
        note(&format!("no policies found in {shown}"));
    }
    Ok(found)
}

fn parse(policy: &FoundPolicy) -> Result<NamedDocument, Failure> {
    let document = policy.evaluable().map_err(|error| {
        Failure::usage(format!("the policy `{}` cannot be evaluated", policy.address))
            .cause(error)
            .help("`tagaudit policy lint` shows the place")
    })?;
    Ok(NamedDocument { name: policy.address.clone(), document })
}

pub(super) fn diff(args: &DiffArgs) -> Result<(PolicyDiff, Vec<String>), Failure> {
    let catalogue = input::catalogue(&args.catalogue)?;
    let baseline = input::named_baseline(&args.baseline, args.controller_version)?;
    let pseudo = Pseudo {
        partition: Some(args.partition.clone()).filter(|partition| !partition.is_empty()),
        region: match args.region.as_slice() {
            [region] => Some(region.clone()),
            _ => None,
        },
        account_id: args.account.clone(),
        is_home: true,
    };
    let boundary =
        args.boundary.as_deref().map(|path| input::policy_document(path, "permissions boundary")).transpose()?;
    let scps: Vec<Vec<NamedDocument>> = args
        .scp
        .iter()
        .map(|path| Ok(vec![input::policy_document(path, "service control policy")?]))
        .collect::<Result<_, Failure>>()?;
    let environment = Environment {
        partition: args.partition.clone(),
        account_id: args.account.clone().unwrap_or_default(),
        regions: args.region.clone(),
        context: context(&args.context)?,
        ..Environment::default()
    };
    let mut unknown = Vec::new();
    let mut roles: Vec<FoundRole> = Vec::new();
    let mut plain = FoundRole::default();
    for path in &args.policies {
        let found = found(path, &pseudo)?;
        unknown.extend(found.unknown);
        let is_template = found.is_template;
        roles.extend(found.roles);
        for policy in found.policies {
            if is_template {
                // A policy of a template that no role of it has is compared by itself.
                roles.push(FoundRole { address: policy.address.clone(), policies: vec![policy], boundary: None });
            } else {
                plain.policies.push(policy);
            }
        }
    }
    if !plain.policies.is_empty() {
        plain.address = plain.policies.iter().map(|policy| policy.address.as_str()).collect::<Vec<_>>().join(" + ");
        roles.insert(0, plain);
    }
    let mut reports = Vec::new();
    for role in &roles {
        let identity = role.policies.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let own = role.boundary.as_ref().map(parse).transpose()?;
        let layer = Layer { identity, boundary: boundary.clone().or(own), scps: scps.clone() };
        let prepared = PreparedPolicies::new(&layer);
        let actions = baseline
            .actions
            .iter()
            .map(|action| {
                let (resources, conditions): (Vec<String>, Vec<_>) = baseline.asked(action).into_iter().unzip();
                let question = Question { action, resources: &resources, conditions: &conditions };
                ActionReport::new(action, &prepared.assess(question, &environment, catalogue))
            })
            .collect();
        let beyond = policy::excess(&layer, &prepared, &baseline.needs(), &environment, catalogue);
        let tightened = policy::tightened(&[&baseline.document], &[]);
        reports.push(RoleReport {
            actions,
            ..RoleReport::of_policies(role.address.clone(), baseline.name.clone(), &beyond, &tightened)
        });
    }
    Ok((PolicyDiff::new(reports), unknown))
}

/// How a comparison ends: with 1 when something of the baseline is not granted.
pub(super) fn diff_exit(diff: &PolicyDiff, unknown: &[String]) -> Exit {
    let verdicts = || diff.roles.iter().flat_map(|role| &role.actions).map(|action| action.verdict);
    if verdicts().any(|verdict| matches!(verdict, Verdict::Missing | Verdict::Denied | Verdict::Partial)) {
        Exit::Findings
    } else if !unknown.is_empty() || verdicts().any(|verdict| verdict == Verdict::Undecided) {
        Exit::Incomplete
    } else {
        Exit::Clean
    }
}

/// One line of `--cases`.
#[derive(Deserialize)]
struct Case {
    id: Value,
    identity_policies: Vec<CasePolicy>,
    #[serde(default)]
    permissions_boundary: Option<CasePolicy>,
    #[serde(default)]
    scps: Option<Vec<Vec<CasePolicy>>>,
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

fn compile(policies: &[CasePolicy]) -> Result<Vec<CompiledPolicy>, String> {
    policies
        .iter()
        .map(|policy| {
            // A document may also be given as the string that IAM's own API hands out.
            let raw = policy.document.get();
            let text: Cow<'_, str> = match serde_json::from_str::<String>(raw) {
                Ok(text) => text.into(),
                Err(_) => raw.into(),
            };
            let document = Document::parse(&text).map_err(|error| format!("policy `{}`: {error}", policy.name))?;
            Ok(CompiledPolicy::new(&document))
        })
        .collect()
}

/// An answer; its members come in this order.
#[derive(Serialize)]
struct CaseAnswer {
    id: Value,
    decision: Decision,
    matched: Value,
}

fn answer(line: &str) -> Result<CaseAnswer, (Value, String)> {
    let case: Case = serde_json::from_str(line).map_err(|error| {
        let id = serde_json::from_str::<Value>(line).ok().and_then(|value| value.get("id").cloned());
        (id.unwrap_or(Value::Null), format!("column {}: {}", error.column(), text::without_position(&error)))
    })?;
    let fail = |error: String| (case.id.clone(), error);
    let identity = compile(&case.identity_policies).map_err(fail)?;
    let boundary = compile(case.permissions_boundary.as_slice()).map_err(fail)?;
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
    let policies = Policies { identity: &identity, boundary: boundary.first(), scps: &scps };
    let (decision, matched) = policy::decide(policies, &request);
    let names: Vec<&str> = case.identity_policies.iter().map(|policy| policy.name.as_str()).collect();
    let boundary = case.permissions_boundary.as_ref().map(|policy| policy.name.as_str()).unwrap_or_default();
    let scp_names: Vec<Vec<&str>> =
        levels.iter().map(|level| level.iter().map(|policy| policy.name.as_str()).collect()).collect();
    let matched = matched_json(&matched, &names, boundary, &scp_names);
    Ok(CaseAnswer { id: case.id, decision, matched })
}

fn matched_json(matched: &Matched, identity: &[&str], boundary: &str, scps: &[Vec<&str>]) -> Value {
    let by_name = |list: &[(usize, usize)]| -> Value {
        list.iter().map(|(policy, statement)| json!([identity.get(*policy), statement])).collect()
    };
    let bounded = |list: &[usize]| -> Value { list.iter().map(|statement| json!([boundary, statement])).collect() };
    let scp = |(level, policy, statement): &(usize, usize, usize)| {
        json!([scps.get(*level).and_then(|level| level.get(*policy)), statement])
    };
    json!({
        "identity_allow": by_name(&matched.identity_allow),
        "identity_deny": by_name(&matched.identity_deny),
        "boundary_allow": bounded(&matched.boundary_allow),
        "boundary_deny": bounded(&matched.boundary_deny),
        "scp_deny": matched.scp_deny.iter().map(scp).collect::<Value>(),
    })
}

/// Answers each line in order; a line that cannot be read is answered with its error, and the others go on.
pub(super) fn cases(path: &Path, out: &mut dyn Write) -> Result<Exit, Failure> {
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
                Ok(text) => answer(text.trim_end()),
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
            // A reader that has seen enough is no failure.
            return if error.kind() == io::ErrorKind::BrokenPipe { Ok(exit) } else { Err(failed(error)) };
        }
    }
    Ok(exit)
}

/// One question of the command line.
pub(super) fn eval(args: &EvalArgs, out: &mut dyn Write) -> Result<(io::Result<()>, Exit), Failure> {
    let action = args.action.as_deref().unwrap_or_default();
    if !action.contains(':') {
        return Err(Failure::usage(format!("`{action}` is no action")).help("for example ec2:DescribeInstances"));
    }
    let documents = |paths: &[PathBuf], what: &str| -> Result<Vec<NamedDocument>, Failure> {
        paths.iter().map(|path| input::policy_document(path, what)).collect()
    };
    let identity = documents(&args.policy, "policy")?;
    let boundary =
        args.boundary.as_deref().map(|path| input::policy_document(path, "permissions boundary")).transpose()?;
    let scps = documents(&args.scp, "service control policy")?;
    let context = context(&args.context)?;
    if args.unknown_context {
        let layer = Layer { identity, boundary, scps: scps.into_iter().map(|scp| vec![scp]).collect() };
        let catalogue = input::catalogue(&args.catalogue)?;
        return Ok(unknown(args, action, &layer, context, catalogue, out));
    }
    let compiled: Vec<CompiledPolicy> = identity.iter().map(|named| CompiledPolicy::new(&named.document)).collect();
    let bound = boundary.as_ref().map(|named| CompiledPolicy::new(&named.document));
    let levels: Vec<Vec<CompiledPolicy>> =
        scps.iter().map(|named| vec![CompiledPolicy::new(&named.document)]).collect();
    let policies = Policies { identity: &compiled, boundary: bound.as_ref(), scps: &levels };
    let (decision, matched) = policy::decide(policies, &Request::new(action, &args.resource, context));
    let names: Vec<&str> = identity.iter().map(|named| named.name.as_str()).collect();
    let boundary_name = boundary.as_ref().map(|named| named.name.as_str()).unwrap_or_default();
    let scp_names: Vec<Vec<&str>> = scps.iter().map(|named| vec![named.name.as_str()]).collect();
    let exit = if decision == Decision::Allowed { Exit::Clean } else { Exit::Findings };
    let matched = matched_json(&matched, &names, boundary_name, &scp_names);
    if args.format == AnswerFormat::Json {
        return Ok((
            writeln!(
                out,
                "{}",
                text::json_printable(&format!("{:#}", json!({"decision": decision, "matched": matched})))
            ),
            exit,
        ));
    }
    let mut page = format!("{}\n", json!(decision).as_str().unwrap_or_default());
    for (key, what) in [
        ("identity_deny", "denied by"),
        ("boundary_deny", "denied by the boundary,"),
        ("scp_deny", "denied by the control policy,"),
        ("identity_allow", "allowed by"),
        ("boundary_allow", "allowed by the boundary,"),
    ] {
        for entry in matched.get(key).and_then(Value::as_array).into_iter().flatten() {
            let name = entry.get(0).and_then(Value::as_str).unwrap_or_default();
            page.push_str(&format!(
                "  {what} statement {} of {}\n",
                entry.get(1).unwrap_or(&Value::Null),
                text::printable(name)
            ));
        }
    }
    Ok((out.write_all(page.as_bytes()), exit))
}

fn unknown(
    args: &EvalArgs,
    action: &str,
    layer: &Layer,
    context: Context,
    catalogue: &Catalogue,
    out: &mut dyn Write,
) -> (io::Result<()>, Exit) {
    let environment = Environment { context, ..Environment::default() };
    let resources: &[String] = if args.resource == "*" { &[] } else { std::slice::from_ref(&args.resource) };
    let question = Question::on(action, resources);
    let answer = PreparedPolicies::new(layer).assess(question, &environment, catalogue);
    let word = match answer.verdict {
        Verdict::Granted => "always",
        Verdict::Missing | Verdict::Denied => "never",
        Verdict::Partial => "only if",
        Verdict::Undecided => "undecided",
    };
    let exit = match answer.verdict {
        Verdict::Granted => Exit::Clean,
        Verdict::Undecided => Exit::Incomplete,
        _ => Exit::Findings,
    };
    if args.format == AnswerFormat::Json {
        let report = ActionReport::new(action, &answer);
        return (
            writeln!(out, "{}", text::json_printable(&format!("{:#}", json!({"allowed": word, "detail": report})))),
            exit,
        );
    }
    let mut limits = answer.only_if();
    let of_resources = |wanted: bool| {
        answer.describe_limits(|limit| match limit {
            Limit::Resources { negated, .. } => *negated == wanted,
            Limit::Conditions { .. } | Limit::Unless { .. } | Limit::Actions(_) => false,
        })
    };
    let (excluded, included) = (of_resources(true), of_resources(false));
    if !included.is_empty() {
        limits.push(format!("the resource is {}", included.join(" or ")));
    }
    limits.extend(excluded.into_iter().map(|on| format!("the resource is {on}")));
    let mut page = if word == "only if" { format!("{word} {}\n", limits.join(", and ")) } else { format!("{word}\n") };
    page = text::printable(page.trim_end()).into_owned() + "\n";
    for reference in &answer.because {
        let statement = reference.statement.map_or_else(String::new, |index| format!("statement {index} of "));
        page.push_str(&format!("  decided by {statement}{}\n", text::printable(&reference.policy)));
    }
    (out.write_all(page.as_bytes()), exit)
}

/// The remarks on one policy.
pub(super) struct Linted {
    pub(super) name: String,
    /// What the places refer to.
    pub(super) text: Rc<str>,
    pub(super) findings: Vec<LintFinding>,
}

/// The remarks on all policies, and what they do not cover.
#[derive(Default)]
pub(super) struct LintOutcome {
    pub(super) policies: Vec<Linted>,
    /// Templates and plans without any policy.
    pub(super) empty: Vec<String>,
    /// What was not looked at, or only under an assumption.
    pub(super) left_out: Vec<String>,
}

pub(super) fn lint_files(args: &LintArgs) -> Result<LintOutcome, Failure> {
    let catalogue = input::catalogue(&args.catalogue)?;
    let asked = args.kind.map_or(PolicyKind::Unknown, PolicyKind::from);
    let mut outcome = LintOutcome::default();
    for path in &args.policies {
        let text = input::text(path, templates::MAX_TEMPLATE_BYTES, "policy")?;
        let shown = path.display().to_string();
        let is_json = text.trim_start().starts_with(['{', '[', '%', '"', '\u{feff}']);
        let found = match templates::find(&text, &Pseudo::default()) {
            Ok(found) if found.is_template || !is_json => found,
            // What is no template is a policy, and if it is none, that is what there is to say about it.
            result => {
                let (text, findings) = match result {
                    Err(TemplateError::Yaml(error)) => {
                        (text.clone(), no_policy(&text, "syntax", error.offset, &error.reason))
                    }
                    Err(error @ TemplateError::Unknown(_)) => {
                        let start = text.len() - text.trim_start().len();
                        (text.clone(), no_policy(&text, "malformed", start, &error.to_string()))
                    }
                    _ => lint(&text, asked, catalogue),
                };
                outcome.policies.push(Linted { name: shown, text: text.into(), findings });
                continue;
            }
        };
        let text: Rc<str> = text.into();
        let left_out = found.unknown.iter().chain(&found.left_out);
        outcome.left_out.extend(left_out.map(|what| format!("{shown}: {what}")));
        let policies = found.all();
        if policies.is_empty() {
            outcome.empty.push(shown.clone());
        }
        for policy in policies {
            let name = if policy.address.is_empty() { shown.clone() } else { format!("{shown}: {}", policy.address) };
            let kind = if asked == PolicyKind::Unknown { policy.used_as.kind() } else { asked };
            let findings = match &policy.document {
                Ok(document) => {
                    let (findings, notes) = lint_within(&text, document, kind, catalogue);
                    outcome.left_out.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
                    findings
                }
                Err(error) => no_policy(&text, "syntax", error.offset, &format!("not JSON: {}", error.reason)),
            };
            outcome.policies.push(Linted { name, text: Rc::clone(&text), findings });
        }
    }
    outcome.left_out.sort();
    outcome.left_out.dedup();
    Ok(outcome)
}

pub(super) fn lint_exit(outcome: &LintOutcome, fail_on: LintFailOn) -> Exit {
    let threshold = match fail_on {
        LintFailOn::Error => LintLevel::Error,
        LintFailOn::Warning => LintLevel::Warning,
        LintFailOn::Suggestion => LintLevel::Suggestion,
        LintFailOn::Never => return Exit::Clean,
    };
    let bad = outcome.policies.iter().flat_map(|one| &one.findings).any(|finding| finding.level >= threshold);
    if bad { Exit::Findings } else { Exit::Clean }
}

pub(super) fn write_lint(
    outcome: &LintOutcome,
    format: Format,
    options: &crate::report::TableOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Table => lint_report::write(outcome, options, out),
        Format::Json => {
            let policies: Vec<Value> =
                outcome.policies.iter().map(|one| json!({"policy": one.name, "findings": one.findings})).collect();
            writeln!(
                out,
                "{}",
                text::json_printable(&format!(
                    "{:#}",
                    json!({
                        "schema": "tagaudit.policy-lint/1",
                        "policies": policies,
                        "without_policies": outcome.empty,
                        "left_out": outcome.left_out,
                    })
                ))
            )
        }
    }
}

pub(super) fn expand(args: &ExpandArgs, out: &mut dyn Write) -> Result<io::Result<()>, Failure> {
    let catalogue = input::catalogue(&args.catalogue)?;
    let mut actions: BTreeMap<&str, &policy::Action> = BTreeMap::new();
    for pattern in &args.patterns {
        let covered = catalogue.expand(pattern);
        if covered.is_empty() {
            warn(&format!("`{pattern}` covers no known action"));
        }
        actions.extend(covered.into_iter().map(|action| (action.folded.as_str(), action)));
    }
    if args.format == AnswerFormat::Json {
        let list: Vec<Value> = actions
            .values()
            .map(|action| {
                let service = catalogue.action(&action.folded).map(|(service, _)| service);
                let types = action.types.iter().filter_map(|(at, _)| service?.types.get(*at));
                let keys = service.into_iter().flat_map(|service| service.keys_of(action));
                json!({
                    "action": action.name,
                    "access_level": action.level,
                    "resource_types": types.map(|kind| format!("arn:${{Partition}}:{}", kind.arn)).collect::<Vec<_>>(),
                    "condition_keys": keys.map(|key| key.name.as_str()).collect::<Vec<_>>(),
                })
            })
            .collect();
        return Ok(writeln!(
            out,
            "{}",
            text::json_printable(&format!("{:#}", json!({"schema": "tagaudit.actions/1", "actions": list})))
        ));
    }
    Ok(actions.values().try_for_each(|action| writeln!(out, "{}", action.name)))
}

pub(super) fn shrink(args: &ShrinkArgs, out: &mut dyn Write) -> Result<io::Result<()>, Failure> {
    let catalogue = input::catalogue(&args.catalogue)?;
    let mut actions: Vec<String> = Vec::new();
    for argument in &args.actions {
        if argument == "-" {
            let text = input::text(Path::new("-"), MAX_ACTIONS_BYTES, "list of actions")?;
            let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '[' | ']'));
            actions.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        } else {
            actions.push(argument.clone());
        }
    }
    for action in &actions {
        if catalogue.expand(action).is_empty() {
            warn(&format!("`{action}` is no known action and stays as it is"));
        }
    }
    let patterns = policy::shrink(&actions, catalogue);
    if args.format == AnswerFormat::Json {
        return Ok(writeln!(out, "{}", text::json_printable(&format!("{:#}", json!(patterns)))));
    }
    Ok(patterns.iter().try_for_each(|pattern| writeln!(out, "{}", text::printable(pattern))))
}

pub(super) fn note(message: &str) {
    let _ = writeln!(io::stderr().lock(), "note: {}", text::printable(message));
}

pub(super) fn warn(message: &str) {
    let _ = writeln!(io::stderr().lock(), "warning: {}", text::printable(message));
}
