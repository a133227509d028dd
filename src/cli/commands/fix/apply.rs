//! `tagaudit apply`: applies a saved plan.

use std::collections::BTreeMap;

use crate::apply::is_complete;
use crate::cli::args::fix::ApplyArgs;
use crate::cli::io::clock::now;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files;
use crate::cli::io::terminal::{Out, line, say};
use crate::cli::session::Scope;
use crate::fix::plan::{self, Approvals, Mandate, Plan};
use crate::render;
use crate::rules::RULES;
use crate::text;

use super::account::{connection, options};
use super::consent::{agree, refuse_rights};
use super::gate;
use super::live::{finish, look_again, reconcile_earlier};
use super::state_files::open;

/// Maximum difference between the clocks of two machines.
const CLOCK_SKEW: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);

/// Loads a saved plan that may be applied now.
fn load(args: &ApplyArgs) -> Result<Plan, Failure> {
    let shown = args.plan.display().to_string();
    let bytes = files::read_bytes(&args.plan, plan::MAX_PLAN_BYTES, "plan")?;
    let plan = Plan::from_slice(&shown, &bytes).map_err(|error| {
        Failure::from_error(Exit::Usage, &error).help("create a new one with `tagaudit scan --fix --plan-out`")
    })?;
    let refuse = |why: String| Err(Failure::new(Exit::Unfixed, why));
    if plan.kind == plan::Kind::Undo {
        return refuse("the plan undoes a fix: use `tagaudit undo JOURNAL`".to_owned());
    }
    if let Some(wanted) = args.cluster_id.as_deref().filter(|wanted| *wanted != plan.cluster_id) {
        return refuse(format!("the plan is for the cluster `{}`, but --cluster-id is `{wanted}`", plan.cluster_id));
    }
    if let Some(other) = args.connection.region.iter().find(|region| !plan.regions.contains(region)) {
        return refuse(format!("the plan is for {}, but --region is {other}", text::list(&plan.regions, 5)));
    }
    let made: Result<jiff::Timestamp, _> = plan.created_at.parse();
    if made.is_ok_and(|made| made.duration_since(now()) > CLOCK_SKEW) {
        return refuse(format!("the plan's creation time {} is in the future; nothing was written", plan.created_at));
    }
    let expires: Result<jiff::Timestamp, _> = plan.expires_at.parse();
    if expires.map_or(true, |expires| now() > expires) {
        return Err(Failure::new(
            Exit::Unfixed,
            format!("the plan expired at {}; nothing was written", plan.expires_at),
        )
        .help("create a new one: its evidence is old"));
    }
    Ok(plan)
}

/// `tagaudit apply`.
pub(in crate::cli) fn apply(args: &ApplyArgs) -> Result<Exit, Failure> {
    let plan = load(args)?;
    let out = Out::new(&args.terminal);
    let scope = Scope::read(&plan.cluster_id, &args.audit, &args.connection, &args.terminal)?;
    refuse_rights(&plan)?;
    let connected = connection(&args.connection, &args.terminal, Some(&scope), &plan)?;
    let mut journal = open(args.journal.as_ref(), &plan)?;
    if plan.changes.is_empty() {
        line("Nothing to write.");
        return Ok(Exit::Clean);
    }
    if let Some(run) = journal.run_for_plan(&plan).filter(|run| run.is_over) {
        return Err(Failure::new(
            Exit::Unfixed,
            format!("the plan {} was already applied, in the run {}; nothing was written", plan.short_id(), run.id),
        )
        .help("create a new one with `tagaudit scan --fix --plan-out`"));
    }
    say(&render::plan(&plan, &BTreeMap::new(), out.color, out.width));
    let said = scope.options();
    let unsaid: Vec<String> = plan
        .evidence
        .options
        .iter()
        .filter(|option| !said.contains(option))
        .map(|option| text::printable(option).into_owned())
        .collect();
    if !unsaid.is_empty() {
        line(&format!("note: the plan was created with {}; changes that depend on it are skipped", unsaid.join(" ")));
    }
    agree(&plan, &connected, &args.carry_out, args.carry_out.most_changes())?;
    let renewed = scope.asked_again(&args.connection, &args.terminal)?;
    let scope = renewed.as_ref().unwrap_or(&scope);
    let connected = connection(&args.connection, &args.terminal, Some(scope), &plan)?;
    let options = options(&connected, &args.carry_out, &plan, args.terminal.quiet);
    reconcile_earlier(&mut journal, Some(&plan), &options)?;
    let mandate = if args.fix_leftovers { Mandate::RemoveLeftovers } else { Mandate::Repair };
    let approvals = Approvals { mandate, allow: args.allow.clone(), answers: args.choose.clone() };
    let passed = gate::pass(&plan, scope, &RULES, approvals, &connected)?;
    // An interrupted run of the plan is resumed, as far as the rebuilt plan holds the rest.
    let applied = match journal.unfinished().map(|run| run.plan.clone()) {
        Some(broken_off) => finish(&broken_off, &mut journal, None, &passed.skipped_changes(&broken_off), &options)?,
        None => finish(&passed.again.plan, &mut journal, None, &BTreeMap::new(), &options)?,
    };
    let after = look_again(&plan, scope, &connected)?;
    let harms = gate::tell_created(scope, &passed.before, &after.estate, &plan)?;
    let whole = is_complete(&applied) && passed.left_out.is_empty() && !harms;
    Ok(after.exit(whole))
}
