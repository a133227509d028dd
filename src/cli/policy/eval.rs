//! `tagaudit policy eval`: one question of the command line.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::failure::{Exit, Failure};
use crate::cli::input;
use crate::policy::{
    self, Catalogue, CompiledPolicy, Context, ContextValue, Decision, Environment, Limit, Matched, NamedDocument,
    Policies, PolicySet, PreparedPolicies, Question, Request, Verdict,
};
use crate::report::ActionReport;
use crate::text;

use super::args::{AnswerFormat, EvalArgs};

/// The context of `KEY=VALUE` arguments; a key given again is multivalued.
pub(super) fn context(arguments: &[String]) -> Result<Context, Failure> {
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

pub(super) fn matched_json(matched: &Matched, identity: &[&str], boundary: &str, scps: &[Vec<&str>]) -> Value {
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

/// One question of the command line.
pub(in crate::cli) fn eval(args: &EvalArgs, out: &mut dyn Write) -> Result<(io::Result<()>, Exit), Failure> {
    let action = args.action.as_deref().unwrap_or_default();
    if !action.contains(':') {
        return Err(Failure::usage(format!("`{action}` is not an action")).help("for example ec2:DescribeInstances"));
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
        let set = PolicySet::of_identity(identity)
            .with_boundary(boundary)
            .under(scps.into_iter().map(|scp| vec![scp]).collect());
        let catalogue = input::catalogue(&args.catalogue)?;
        return Ok(unknown(args, action, &set, context, catalogue, out));
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

pub(super) fn unknown(
    args: &EvalArgs,
    action: &str,
    set: &PolicySet,
    context: Context,
    catalogue: &Catalogue,
    out: &mut dyn Write,
) -> (io::Result<()>, Exit) {
    let environment = Environment { context, ..Environment::default() };
    let resources: &[String] = if args.resource == "*" { &[] } else { std::slice::from_ref(&args.resource) };
    let question = Question::on(action, resources);
    let answer = PreparedPolicies::new(set).assess(question, &environment, catalogue);
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
