//! `tagaudit policy eval`: answers one question from the command line.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::failure::{Exit, Failure};
use crate::cli::input;
use crate::policy::{
    self, Catalogue, CompiledPolicy, Context, ContextValue, Decision, Environment, Limit, Matched, NamedDocument,
    Policies, PolicySet, PreparedPolicies, Question, Request, Verdict, control_levels,
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

/// Names of the policies of a question.
pub(super) struct Sources<'n> {
    pub(super) identity: &'n [&'n str],
    pub(super) resource_group: &'n [&'n str],
    pub(super) session: &'n str,
    pub(super) boundary: &'n str,
    pub(super) scps: &'n [Vec<&'n str>],
}

pub(super) fn matched_json(matched: &Matched, sources: &Sources<'_>) -> Value {
    let by_name = |names: &[&str], list: &[(usize, usize)]| -> Value {
        list.iter().map(|(policy, statement)| json!([names.get(*policy), statement])).collect()
    };
    let of = |name: &str, list: &[usize]| -> Value { list.iter().map(|statement| json!([name, statement])).collect() };
    let scp = |(level, policy, statement): &(usize, usize, usize)| {
        json!([sources.scps.get(*level).and_then(|level| level.get(*policy)), statement])
    };
    let mut answer = json!({
        "identity_allow": by_name(sources.identity, &matched.identity_allow),
        "identity_deny": by_name(sources.identity, &matched.identity_deny),
        "boundary_allow": of(sources.boundary, &matched.boundary_allow),
        "boundary_deny": of(sources.boundary, &matched.boundary_deny),
        "scp_deny": matched.scp_deny.iter().map(scp).collect::<Value>(),
    });
    // Only if there are such policies.
    for (key, found) in [
        ("group_allow", by_name(sources.resource_group, &matched.group_allow)),
        ("group_deny", by_name(sources.resource_group, &matched.group_deny)),
        ("session_allow", of(sources.session, &matched.session_allow)),
        ("session_deny", of(sources.session, &matched.session_deny)),
    ] {
        if let Some(answer) = answer.as_object_mut().filter(|_| found.as_array().is_some_and(|list| !list.is_empty())) {
            answer.insert(key.to_owned(), found);
        }
    }
    answer
}

/// The policies of a question, in one language.
struct Given {
    catalogue: &'static Catalogue,
    identity: Vec<NamedDocument>,
    resource_group: Vec<NamedDocument>,
    session: Option<NamedDocument>,
    boundary: Option<NamedDocument>,
    scps: Vec<NamedDocument>,
}

impl Given {
    fn read(args: &EvalArgs) -> Result<Self, Failure> {
        // The first policy decides the language of all of them, unless the operator does.
        let first = args.policy.first().map(|path| input::policy_document(path, "policy", None));
        let found = if args.language.dialect.is_some() { None } else { first.transpose()? };
        let catalogue = input::language(&args.language, found.map(|named| named.document.dialect))?;
        let dialect = catalogue.dialect;
        let documents = |paths: &[PathBuf], what: &str| -> Result<Vec<NamedDocument>, Failure> {
            paths.iter().map(|path| input::policy_document(path, what, dialect)).collect()
        };
        let one = |path: &Option<PathBuf>, what: &str| {
            path.as_deref().map(|path| input::policy_document(path, what, dialect)).transpose()
        };
        if dialect.has_resource_groups && args.boundary.is_some() {
            return Err(
                Failure::usage("RAM has no permissions boundaries").help("control policies are given with --scp")
            );
        }
        if !dialect.has_resource_groups && !args.resource_group_policy.is_empty() {
            return Err(Failure::usage("only RAM has policies of a resource group, and these policies are IAM's"));
        }
        Ok(Self {
            catalogue,
            identity: documents(&args.policy, "policy")?,
            resource_group: documents(&args.resource_group_policy, "policy of a resource group")?,
            session: one(&args.session_policy, "session policy")?,
            boundary: one(&args.boundary, "permissions boundary")?,
            scps: documents(&args.scp, "control policy")?,
        })
    }

    fn decide(&self, request: &Request) -> (Decision, Value) {
        fn compile(named: &[NamedDocument]) -> Vec<CompiledPolicy> {
            named.iter().map(|named| CompiledPolicy::new(&named.document)).collect()
        }
        fn names(named: &[NamedDocument]) -> Vec<&str> {
            named.iter().map(|named| named.name.as_str()).collect()
        }
        let (identity, group) = (compile(&self.identity), compile(&self.resource_group));
        let (session, boundary) = (compile(self.session.as_slice()), compile(self.boundary.as_slice()));
        let control = control_levels(&self.scps);
        let levels: Vec<Vec<CompiledPolicy>> = control.iter().map(|level| compile(level)).collect();
        let policies = Policies {
            boundary: boundary.first(),
            scps: &levels,
            resource_group: &group,
            session: session.first(),
            ..Policies::for_identity(&identity)
        };
        let (decision, matched) = policy::decide(policies, request);
        let scp_names: Vec<Vec<&str>> = control.iter().map(|level| names(level)).collect();
        let sources = Sources {
            identity: &names(&self.identity),
            resource_group: &names(&self.resource_group),
            session: self.session.as_ref().map_or("", |named| &named.name),
            boundary: self.boundary.as_ref().map_or("", |named| &named.name),
            scps: &scp_names,
        };
        (decision, matched_json(&matched, &sources))
    }

    fn into_set(self) -> PolicySet {
        let set = PolicySet::for_identity(self.identity)
            .with_boundary(self.boundary)
            .with_session_policy(self.session)
            .with_control_policies(control_levels(&self.scps));
        if self.resource_group.is_empty() {
            set
        } else {
            set.with_resource_group("of the policies", self.resource_group)
        }
    }
}

/// Answers one question from the command line.
pub(in crate::cli) fn eval(args: &EvalArgs, out: &mut dyn Write) -> Result<(io::Result<()>, Exit), Failure> {
    let action = args.action.as_deref().unwrap_or_default();
    if !action.contains(':') {
        return Err(Failure::usage(format!("`{action}` is not an action"))
            .help("for example ec2:DescribeInstances, or ecs:DescribeInstances in Alibaba Cloud"));
    }
    let given = Given::read(args)?;
    let context = context(&args.context)?;
    if args.unknown_context {
        let catalogue = given.catalogue;
        return Ok(unknown(args, action, &given.into_set(), context, catalogue, out));
    }
    let (decision, matched) = given.decide(&Request::new(action, &args.resource, context));
    let exit = match decision {
        Decision::Allowed => Exit::Clean,
        Decision::ExplicitlyDenied | Decision::ImplicitlyDenied => Exit::Findings,
        Decision::Undecided => Exit::Incomplete,
    };
    if args.format == AnswerFormat::Json {
        let answer = format!("{:#}", json!({"decision": decision, "matched": matched}));
        return Ok((writeln!(out, "{}", text::json_printable(&answer)), exit));
    }
    Ok((out.write_all(page(decision, &matched).as_bytes()), exit))
}

/// A decision with its statements, for display.
fn page(decision: Decision, matched: &Value) -> String {
    let mut page = format!("{}\n", json!(decision).as_str().unwrap_or_default());
    if decision == Decision::Undecided {
        page.push_str(
            "  a condition uses a key that the request does not carry, and the RAM documentation does not define the\n  result; give the key with --context KEY=VALUE\n",
        );
    }
    for (key, what) in [
        ("identity_deny", "denied by"),
        ("group_deny", "denied in the resource group by"),
        ("session_deny", "denied by the session policy,"),
        ("boundary_deny", "denied by the boundary,"),
        ("scp_deny", "denied by the control policy,"),
        ("identity_allow", "allowed by"),
        ("group_allow", "allowed in the resource group by"),
        ("session_allow", "allowed by the session policy,"),
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
    page
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
