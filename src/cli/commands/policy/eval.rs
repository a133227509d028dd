//! `tagaudit policy eval`: answers one question from the command line.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input;
use crate::policy::{
    Catalogue, Context, ContextValue, Decided, Decision, Effect, Environment, Limit, NamedDocument, PolicySet,
    PreparedPolicies, Question, Request, StageKind, Verdict, control_levels,
};
use crate::report::ActionReport;
use crate::text;

use crate::cli::args::policy::{AnswerFormat, EvalArgs};

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

/// The statements that match, by stage and effect, each as name of the policy and position.
pub(super) fn matched_json(decided: &Decided<'_>) -> Value {
    let matching = |stage: StageKind, effect: Effect| -> Value {
        let matched = decided.matched.iter().filter(|one| one.stage == stage && one.effect == effect);
        matched.map(|one| json!([one.policy, one.statement])).collect()
    };
    let mut answer = json!({
        "identity_allow": matching(StageKind::Identity, Effect::Allow),
        "identity_deny": matching(StageKind::Identity, Effect::Deny),
        "boundary_allow": matching(StageKind::Boundary, Effect::Allow),
        "boundary_deny": matching(StageKind::Boundary, Effect::Deny),
        "scp_deny": matching(StageKind::ControlPolicy, Effect::Deny),
    });
    // Only if there are such policies.
    for (key, found) in [
        ("group_allow", matching(StageKind::ResourceGroup, Effect::Allow)),
        ("group_deny", matching(StageKind::ResourceGroup, Effect::Deny)),
        ("session_allow", matching(StageKind::Session, Effect::Allow)),
        ("session_deny", matching(StageKind::Session, Effect::Deny)),
    ] {
        if let Some(answer) = answer.as_object_mut().filter(|_| found.as_array().is_some_and(|list| !list.is_empty())) {
            answer.insert(key.to_owned(), found);
        }
    }
    answer
}

/// The policies of a question, in one language.
struct Given {
    catalogue: input::ChosenCatalogue,
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

    fn into_set(self) -> (PolicySet, input::ChosenCatalogue) {
        let set = PolicySet::for_identity(self.identity)
            .with_boundary(self.boundary)
            .with_session_policy(self.session)
            .with_control_policies(control_levels(&self.scps));
        let set = if self.resource_group.is_empty() {
            set
        } else {
            set.with_resource_group("of the policies", self.resource_group)
        };
        (set, self.catalogue)
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
    let (set, catalogue) = given.into_set();
    if args.unknown_context {
        return Ok(unknown(args, action, &set, context, &catalogue, out));
    }
    let policies = PreparedPolicies::new(&set);
    let decided = policies.decide(&Request::new(action, &args.resource, context));
    let (decision, matched) = (decided.decision, matched_json(&decided));
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
                entry.get(1).and_then(Value::as_u64).unwrap_or_default() + 1,
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
        let statement = reference.statement.map_or_else(String::new, |index| format!("statement {} of ", index + 1));
        page.push_str(&format!("  decided by {statement}{}\n", text::printable(&reference.policy)));
    }
    (out.write_all(page.as_bytes()), exit)
}
