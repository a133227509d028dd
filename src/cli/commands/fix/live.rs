//! Applies plans to an account, and audits it again.

use std::collections::{BTreeMap, BTreeSet};

use crate::apply::{self as engine, Applied, Connection, Stop, is_complete};
use crate::audit::{Audit, Purpose};
use crate::cli::args::command::ScanArgs;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::terminal::line;
use crate::cli::session::Scope;
use crate::estate::Estate;
use crate::finding::Severity;
use crate::fix::journal::{Journal, Outcome};
use crate::fix::plan::{self, Approvals, DryRunAnswer, Plan};
use crate::provider::ErrorKind;
use crate::report::SourceKind;
use crate::rules::{RULES, Rule};
use crate::text;

use super::account::{connection, failure, options};
use super::consent::agree;
use super::gate;
use super::outcome::CarriedOut;
use super::state_files::{StateFiles, open};

pub(super) fn dry_run(args: &ScanArgs, plan: &Plan) -> Result<BTreeMap<String, DryRunAnswer>, Failure> {
    if plan.changes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let connection = connection(&args.source.connection, &args.output.terminal, None, plan)?;
    engine::dry_run(plan, &connection).map_err(failure)
}

/// Determines the outcome of an earlier run that was interrupted, unless it is the one to resume.
pub(super) fn reconcile_earlier(
    journal: &mut Journal,
    plan: Option<&Plan>,
    options: &engine::Options<'_>,
) -> Result<(), Failure> {
    let earlier = journal.unfinished().filter(|run| plan.is_none_or(|plan| !run.applies_plan(plan)));
    let Some(id) = earlier.map(|run| run.id.clone()) else { return Ok(()) };
    line(&format!("an earlier run, {id}, was interrupted; its outcome:"));
    let applied = engine::reconcile(journal, &id, options).map_err(failure)?;
    let Some(stop) = &applied.stopped else { return Ok(()) };
    let (exit, why) = stopped(stop);
    Err(Failure::new(exit, format!("cannot determine the outcome of the run {id}; nothing was written")).cause(why))
}

/// Settles a fix that was interrupted after its last write, if nothing is left to plan. Nothing is sent: an interrupted
/// undo waits for the next fix or undo.
pub(super) fn settle_earlier(args: &ScanArgs, scope: &Scope<'_>, plan: &Plan) -> Result<(), Failure> {
    let named = match &args.fix.journal {
        Some(named) => Some(named.clone()),
        None => StateFiles::new(plan)?.journal,
    };
    if !named.is_some_and(|path| path.exists()) {
        return Ok(());
    }
    let mut journal = open(args.fix.journal.as_ref(), plan)?;
    let fix = journal.unfinished().filter(|run| run.plan.kind == plan::Kind::Fix).map(|run| run.plan.clone());
    let Some(fix) = fix else { return Ok(()) };
    let connection = connection(&args.source.connection, &args.output.terminal, Some(scope), &fix)?;
    let options = options(&connection, &args.fix.carry_out, &fix, args.output.terminal.quiet);
    reconcile_earlier(&mut journal, None, &options)
}

pub(super) fn carry_out_and_scan(
    args: &ScanArgs,
    scope: &Scope<'_>,
    rules: &[&'static Rule],
    plan: &Plan,
    approvals: &Approvals,
) -> Result<CarriedOut, Failure> {
    let (source, terminal) = (&args.source.connection, &args.output.terminal);
    let connected = connection(source, terminal, Some(scope), plan)?;
    agree(plan, &connected, &args.fix.carry_out, args.fix.carry_out.most_changes())?;
    let renewed = scope.asked_again(source, terminal)?;
    let scope = renewed.as_ref().unwrap_or(scope);
    let connected = connection(source, terminal, Some(scope), plan)?;
    let options = options(&connected, &args.fix.carry_out, plan, terminal.quiet);
    let mut journal = open(args.fix.journal.as_ref(), plan)?;
    reconcile_earlier(&mut journal, None, &options)?;
    let passed = gate::pass(plan, scope, rules, approvals.clone(), &connected)?;
    let applied = finish(&passed.again.plan, &mut journal, None, &BTreeMap::new(), &options)?;
    let estate = read_after(&connected)?;
    let (report, _) = scope.audited(estate.as_ref(), rules, SourceKind::Live)?;
    compare(plan, &report);
    let harms = gate::tell_created(scope, &passed.before, &estate, plan)?;
    let is_whole = is_complete(&applied) && passed.left_out.is_empty() && !harms;
    Ok(CarriedOut { report, estate, is_whole })
}

/// Reads the account after the writes, which stay if this fails.
fn read_after(connection: &Connection<'_>) -> Result<Estate, Failure> {
    gate::read(connection, "the plan was applied, but the scan after it failed")
        .map_err(|failure| failure.help("run `tagaudit scan` without `--fix`"))
}

/// Applies a plan and prints the outcome.
pub(super) fn finish(
    plan: &Plan,
    journal: &mut Journal,
    undoes: Option<&str>,
    left_out: &BTreeMap<String, String>,
    options: &engine::Options<'_>,
) -> Result<Applied, Failure> {
    if plan.changes.is_empty() {
        line("Nothing to write.");
        return Ok(Applied { outcomes: Vec::new(), open: 0, stopped: None });
    }
    let applied = engine::apply(plan, journal, undoes, left_out, options).map_err(failure)?;
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for one in &applied.outcomes {
        *counts.entry(one.outcome).or_default() += 1;
    }
    if applied.open > 0 {
        *counts.entry(Outcome::NotAttempted).or_default() += applied.open;
    }
    let described: Vec<String> =
        counts.iter().map(|(outcome, number)| format!("{number} {}", outcome.name())).collect();
    line(&format!("{}: {}", text::count(plan.changes.len(), "change"), described.join(", ")));
    let path = journal.path().display().to_string();
    let all: Vec<&plan::PlannedChange> = plan.changes.iter().collect();
    let back = if undoes.is_none() && !plan.changes.iter().any(|change| plan::can_be_undone(change, &all)) {
        "; it describes what was deleted".to_owned()
    } else if undoes.is_none() {
        format!("; to undo it: tagaudit undo {}, with the same profile and endpoint", text::shell_quote(&path))
    } else {
        String::new()
    };
    line(&format!("journal: {path}{back}"));
    match &applied.stopped {
        None => Ok(applied),
        Some(stop) => {
            let (exit, why) = stopped(stop);
            Err(Failure::new(exit, "stopped before the whole plan was applied; the journal holds what was sent")
                .cause(why)
                .help("run the same command again: it checks what was sent and continues with the rest"))
        }
    }
}

/// Exit code of a run that was stopped, and the reason.
fn stopped(stop: &Stop) -> (Exit, String) {
    match stop {
        Stop::Signal(ErrorKind::Terminated) => (Exit::Terminated, "terminated".to_owned()),
        Stop::Signal(_) => (Exit::Interrupted, "interrupted".to_owned()),
        Stop::Blocked(why) => (Exit::Unfixed, why.clone()),
    }
}

/// Reports how many of the findings of a plan are left; unknown for a rule that could not be checked.
fn compare(plan: &Plan, after: &Audit) {
    let unchecked: BTreeSet<&str> = after.not_audited.iter().flat_map(|unread| unread.rules.iter().copied()).collect();
    let mut rules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for fixed in &plan.fixes {
        let entry = rules.entry(&fixed.rule).or_default();
        entry.0 += 1;
        let still = after.findings.iter().any(|finding| {
            finding.rule == fixed.rule
                && (finding.fingerprint == fixed.fingerprint || finding.resource.id == fixed.resource)
        });
        entry.1 += usize::from(still);
    }
    for (rule, (before, still)) in rules {
        let now = if unchecked.contains(rule) { "not checked now".to_owned() } else { format!("{still} now") };
        line(&format!("{rule}: {} before, {now}", text::count(before, "finding")));
    }
}

/// The account after the writes.
pub(super) struct After {
    pub(super) estate: Estate,
    /// True if everything could be audited.
    is_complete: bool,
}

impl After {
    /// Exit code of a command whose changes are in place and harm nobody, if `whole`.
    pub(super) fn exit(&self, whole: bool) -> Exit {
        match (whole, self.is_complete) {
            (false, _) => Exit::Unfixed,
            (true, false) => Exit::Incomplete,
            (true, true) => Exit::Clean,
        }
    }
}

/// Scans once more and prints the result.
pub(super) fn look_again(plan: &Plan, scope: &Scope<'_>, connection: &Connection<'_>) -> Result<After, Failure> {
    let estate = read_after(connection)?;
    let (report, _) = scope.audited_for(estate.as_ref(), &RULES, SourceKind::Live, Purpose::Plan)?;
    compare(plan, &report);
    let mut counts: Vec<String> = Vec::new();
    for severity in Severity::WORST_FIRST {
        let number = report.findings.iter().filter(|finding| finding.severity == severity).count();
        counts.extend((number > 0).then(|| text::count(number, severity.noun())));
    }
    if counts.is_empty() && report.is_complete() {
        counts.push("nothing found".to_owned());
    }
    if !report.is_complete() {
        counts.push(format!("{} not audited", text::count(report.not_audited.len(), "read")));
    }
    line(&format!("now: {}", counts.join(", ")));
    Ok(After { estate, is_complete: report.is_complete() })
}
