//! The part of writing that needs an account.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::apply::{self as engine, Applied, ApplyError, Connection, Stop, is_complete};
use crate::audit::{Audit, Purpose};
use crate::cli::args::command::ScanArgs;
use crate::cli::args::{ConnectionArgs, TerminalArgs};
use crate::cli::io::clock::{now, stamp};
use crate::cli::io::failure::{Exit, Failure, provider_failure};
use crate::cli::io::files;
use crate::cli::io::input::unknown_rule;
use crate::cli::io::terminal::{Out, is_interactive, line, read_line, say};
use crate::cli::session::{self, CarriedOut, Scope};
use crate::estate::Estate;
use crate::finding::Severity;
use crate::fix::journal::{Journal, Outcome, Run};
use crate::fix::plan::{self, Approvals, DryRunAnswer, Plan, Planned};
use crate::inventory::Provider;
use crate::provider::ErrorKind;
#[cfg(feature = "alibaba")]
use crate::provider::alibaba::live;
#[cfg(feature = "aws")]
use crate::provider::aws;
use crate::render;
use crate::report::SourceKind;
use crate::rules::{self, RULES, Rule};
use crate::text;

use super::state_files::{StateFiles, open, unusable};
use super::{FixRequest, gate};
use crate::cli::args::fix::{ApplyArgs, CarryOutArgs, UndoArgs};

fn failure(error: ApplyError) -> Failure {
    match error {
        ApplyError::Provider(error) => provider_failure(error),
        ApplyError::OtherAccount { planned, found } => Failure::new(
            Exit::Unfixed,
            format!(
                "the plan is for account {} ({}), but the credentials belong to {} ({}); nothing was written",
                planned.0, planned.1, found.0, found.1
            ),
        ),
        ApplyError::Journal(error) => Failure::from_error(Exit::Unfixed, &error)
            .help("free some space, or name another --journal: a change is sent only after it is in the journal"),
    }
}

fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "  {}", text::printable(line));
}

fn say_nothing(_: &str) {}

fn options<'a>(connection: &'a Connection<'a>, args: &CarryOutArgs, quiet: bool) -> engine::Options<'a> {
    engine::Options { connection, verify_timeout: args.verify_timeout(), tell: if quiet { say_nothing } else { tell } }
}

pub(super) fn dry_run(args: &ScanArgs, plan: &Plan) -> Result<BTreeMap<String, DryRunAnswer>, Failure> {
    if plan.changes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let connection = connection(&args.source.connection, &args.output.terminal, None, plan)?;
    engine::dry_run(plan, &connection).map_err(failure)
}

/// Connection to the account of a plan, in its regions.
#[cfg_attr(
    all(feature = "aws", feature = "alibaba"),
    expect(clippy::unnecessary_wraps, reason = "a build with one cloud cannot write to the other")
)]
fn connection<'a>(
    args: &ConnectionArgs,
    terminal: &TerminalArgs,
    scope: Option<&'a Scope<'_>>,
    plan: &Plan,
) -> Result<Connection<'a>, Failure> {
    let provider = if plan.partition == Provider::Alibaba.name() { Provider::Alibaba } else { Provider::Aws };
    match provider {
        #[cfg(feature = "aws")]
        Provider::Aws => Ok(Connection::Aws(aws::Request {
            regions: plan.regions.clone(),
            ..session::request(args, terminal, scope)
        })),
        #[cfg(feature = "alibaba")]
        Provider::Alibaba => Ok(Connection::Alibaba(live::Request {
            regions: plan.regions.clone(),
            ..session::request_alibaba(args, terminal, scope)
        })),
        #[cfg(not(all(feature = "aws", feature = "alibaba")))]
        provider => Err(Failure::usage(format!(
            "this build cannot write to an account of {}: it was built without the feature `{}`",
            provider.describe(),
            provider.name()
        ))
        .help("install tagaudit with its default features")),
    }
}

/// Determines the outcome of an earlier run that was interrupted, unless it is the one to resume.
fn reconcile_earlier(journal: &mut Journal, plan: Option<&Plan>, options: &engine::Options<'_>) -> Result<(), Failure> {
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
    let options = options(&connection, &args.fix.carry_out, args.output.terminal.quiet);
    reconcile_earlier(&mut journal, None, &options)
}

pub(super) fn carry_out_and_scan(
    args: &ScanArgs,
    scope: &Scope<'_>,
    rules: &[&'static Rule],
    planned: &Planned,
    asked: FixRequest<'_>,
) -> Result<CarriedOut, Failure> {
    let plan = &planned.plan;
    let (source, terminal) = (&args.source.connection, &args.output.terminal);
    let connected = connection(source, terminal, Some(scope), plan)?;
    agree(plan, &connected, &args.fix.carry_out, args.fix.carry_out.most_changes())?;
    let renewed = scope.asked_again(source, terminal)?;
    let scope = renewed.as_ref().unwrap_or(scope);
    let connected = connection(source, terminal, Some(scope), plan)?;
    let options = options(&connected, &args.fix.carry_out, terminal.quiet);
    let mut journal = open(args.fix.journal.as_ref(), plan)?;
    reconcile_earlier(&mut journal, None, &options)?;
    let passed = gate::pass(plan, scope, rules, asked.approvals, &connected)?;
    let applied = finish(&passed.again.plan, &mut journal, None, &BTreeMap::new(), &options)?;
    let estate = read_after(&connected)?;
    let (report, _) = scope.audited(estate.as_ref(), rules, SourceKind::Live)?;
    compare(plan, &report);
    let harms = gate::tell_created(scope, &passed.before, &estate, plan::Kind::Fix)?;
    let whole = is_complete(&applied) && passed.left_out.is_empty() && !harms;
    Ok(CarriedOut { report, estate, whole })
}

/// Reads the account after the writes, which stay if this fails.
fn read_after(connection: &Connection<'_>) -> Result<Estate, Failure> {
    gate::read(connection, "the plan was applied, but the scan after it failed")
        .map_err(|failure| failure.help("run `tagaudit scan` without `--fix`"))
}

/// Applies a plan and prints the outcome.
fn finish(
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
    let back = if undoes.is_none() {
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

/// Asks the operator for consent: by name on a terminal, by arguments elsewhere.
fn agree(plan: &Plan, connection: &Connection<'_>, args: &CarryOutArgs, max_changes: usize) -> Result<(), Failure> {
    let refuse = |why: String| Failure::new(Exit::Unfixed, why);
    if let Some(expected) = args.expect_account.as_deref().filter(|expected| *expected != plan.account_id) {
        return Err(refuse(format!(
            "the plan is for account {}, but --expect-account is {expected}; nothing was written",
            plan.account_id
        )));
    }
    if plan.changes.len() > max_changes {
        return Err(refuse(format!(
            "the plan has {}, more than --max-changes {}; nothing was written",
            text::count(plan.changes.len(), "change"),
            max_changes
        ))
        .help("review the plan with --dry-run, and raise --max-changes if it is right"));
    }
    if args.yes && (args.expect_account.is_some() || is_interactive()) {
        return Ok(());
    }
    if !is_interactive() {
        let why = if args.yes {
            "--yes without a terminal needs --expect-account"
        } else {
            "there is no terminal to confirm on"
        };
        return Err(refuse(format!("{why}; nothing was written"))
            .help(format!("without a terminal, confirm with --yes --expect-account {}", plan.account_id)));
    }
    // The account and the caller are shown before the question.
    let (caller, profile) = engine::caller(plan, connection).map_err(failure)?;
    let profile = profile.map(|name| format!(", profile {name}")).unwrap_or_default();
    line(&format!("account  {}", text::printable(&plan.account_id)));
    line(&format!("caller   {}", text::printable(&format!("{caller}{profile}"))));
    let wanted = format!("{} {}", plan.account_id, plan.cluster_id);
    say(&format!(
        "Type the account and the cluster, `{}`, to make {}: ",
        text::printable(&wanted),
        text::count(plan.changes.len(), "change")
    ));
    if read_line()? == wanted { Ok(()) } else { Err(refuse("not confirmed; nothing was written".to_owned())) }
}

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
    let options = options(&connected, &args.carry_out, args.terminal.quiet);
    reconcile_earlier(&mut journal, Some(&plan), &options)?;
    let approvals = Approvals { allow: args.allow.clone(), answers: args.choose.clone() };
    let passed = gate::pass(&plan, scope, &RULES, approvals, &connected)?;
    // An interrupted run of the plan is resumed, as far as the rebuilt plan holds the rest.
    let applied = match journal.unfinished().map(|run| run.plan.clone()) {
        Some(broken_off) => finish(&broken_off, &mut journal, None, &passed.skipped_changes(&broken_off), &options)?,
        None => finish(&passed.again.plan, &mut journal, None, &BTreeMap::new(), &options)?,
    };
    let after = look_again(&plan, scope, &connected)?;
    let harms = gate::tell_created(scope, &passed.before, &after.estate, plan::Kind::Fix)?;
    let whole = is_complete(&applied) && passed.left_out.is_empty() && !harms;
    Ok(after.exit(whole))
}

/// The account after the writes.
struct After {
    estate: Estate,
    /// True if everything could be audited.
    is_complete: bool,
}

impl After {
    /// Exit code of a command whose changes are in place and harm nobody, if `whole`.
    fn exit(&self, whole: bool) -> Exit {
        match (whole, self.is_complete) {
            (false, _) => Exit::Unfixed,
            (true, false) => Exit::Incomplete,
            (true, true) => Exit::Clean,
        }
    }
}

/// Scans once more and prints the result.
fn look_again(plan: &Plan, scope: &Scope<'_>, connection: &Connection<'_>) -> Result<After, Failure> {
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

/// `tagaudit undo`.
pub(in crate::cli) fn undo(args: &UndoArgs) -> Result<Exit, Failure> {
    if !args.journal.exists() {
        return Err(Failure::usage(format!("there is no journal `{}`", args.journal.display())));
    }
    // The journal names its account and cluster; then the whole cluster is locked, as for a fix.
    let about = Journal::open(&args.journal, None).map_err(|error| unusable(&error))?;
    let Some(first) = chosen(&about, args)?.map(|run| run.plan.clone()) else {
        line("Nothing to undo: the journal holds no run that is not yet undone.");
        return Ok(Exit::Clean);
    };
    drop(about);
    let lock = StateFiles::new(&first)?.lock;
    let mut journal = Journal::open(&args.journal, Some(&lock)).map_err(|error| unusable(&error))?;
    let scope = Scope::read(&first.cluster_id, &args.audit, &args.connection, &args.terminal)?;
    let connection = connection(&args.connection, &args.terminal, Some(&scope), &first)?;
    let options = options(&connection, &args.carry_out, args.terminal.quiet);
    // An interrupted undo of the same run is resumed; for any other interrupted run, the outcome is determined first.
    let wanted = chosen(&journal, args)?.map(|run| run.id.clone()).unwrap_or_default();
    if let Some(rule) = args.allow.iter().find(|rule| rules::find(rule).is_none()) {
        return Err(unknown_rule(rule));
    }
    if args.run.is_some() && journal.is_undone(&wanted) {
        line(&format!("Nothing to undo: the run {wanted} was already undone."));
        return Ok(Exit::Clean);
    }
    let broken_off =
        journal.unfinished().filter(|run| run.undoes.as_ref() == Some(&wanted)).map(|run| run.plan.clone());
    if broken_off.is_none() && !args.dry_run {
        reconcile_earlier(&mut journal, None, &options)?;
    }
    let Some(run) = journal.run(&wanted) else {
        return Err(Failure::usage(format!("the journal holds no run `{wanted}`")));
    };
    let created = now();
    let expires = created.checked_add(plan::LIFETIME).unwrap_or(created);
    let inverse = plan::undo(&run.plan, &run.own_changes(), run.plan.regions.clone(), stamp(created), stamp(expires));
    // An interrupted undo must match the inverse of the run itself, regardless of who wrote the journal.
    if let Some(other) = broken_off.as_ref().and_then(|undo| plan::unlike_inverse(undo, &inverse)) {
        return Err(Failure::new(
            Exit::Unfixed,
            format!(
                "the journal continues with an undo that is not the inverse of the run {wanted}; nothing was written"
            ),
        )
        .cause(format!("{}: {}", other.transition.target.id, other.transition.attribute.label()))
        .help("check who wrote that journal; the run can be undone by hand"));
    }
    let plan = broken_off.unwrap_or(inverse);
    if plan.changes.is_empty() {
        line(&format!("Nothing to undo: the run {wanted} changed nothing."));
        return Ok(Exit::Clean);
    }
    refuse_rights(&plan)?;
    let out = Out::new(&args.terminal);
    say(&render::plan(&plan, &BTreeMap::new(), out.color, out.width));
    if args.dry_run {
        return Ok(Exit::Clean);
    }
    // A run that was confirmed once may be undone as a whole.
    let made = journal.run(&wanted).map_or(0, |run| run.plan.changes.len());
    agree(&plan, &connection, &args.carry_out, args.carry_out.most_changes().max(made))?;
    // Each write checks just before it that the state is still as the run left it.
    let before = gate::read(&connection, "cannot read the account before the first write; nothing was written")?;
    let unread = gate::tell_gaps(&before);
    let unasked = plan::undo_needs_consent(&plan, before.as_ref(), scope.nodes(), &args.allow);
    if !unasked.is_empty() && unread > 0 {
        let why = "the account was not read completely, so it is unknown which resources belong to the cluster; nothing was written";
        return Err(Failure::new(Exit::Unfixed, why).help("repeat the command with permission for the calls above"));
    }
    if !unasked.is_empty() {
        let causes = unasked.iter().map(|(change, why)| {
            format!("{} {}: {why}", change.transition.target.id, change.transition.attribute.label())
        });
        let mut failure = Failure::new(Exit::Unfixed, "the undo needs more consent; nothing was written");
        failure.causes = causes.collect();
        return Err(failure.help("check who wrote the journal, then repeat the command with the --allow options"));
    }
    let applied = finish(&plan, &mut journal, Some(&wanted), &BTreeMap::new(), &options)?;
    let after = look_again(&plan, &scope, &connection)?;
    let harms = gate::tell_created(&scope, &before, &after.estate, plan::Kind::Undo)?;
    Ok(after.exit(is_complete(&applied) && !harms))
}

/// Refuses a saved plan that grants a principal additional permissions.
fn refuse_rights(plan: &Plan) -> Result<(), Failure> {
    match plan.escalation() {
        Some(way) => Err(Failure::new(
            Exit::Unfixed,
            format!("with the permissions that the plan grants, the nodes can {way}; nothing was written"),
        )
        .help("a file cannot consent to that: grant it by hand if necessary")),
        None => Ok(()),
    }
}

/// Run to undo: the one that is named, else the last fix that is not yet undone.
fn chosen<'j>(journal: &'j Journal, args: &UndoArgs) -> Result<Option<&'j Run>, Failure> {
    let Some(id) = &args.run else { return Ok(journal.last_fix()) };
    let run = journal.run(id).filter(|run| run.plan.kind == plan::Kind::Fix);
    run.map(Some).ok_or_else(|| {
        let fixes = journal.runs.iter().filter(|run| run.plan.kind == plan::Kind::Fix);
        let known: Vec<&str> = fixes.map(|run| run.id.as_str()).collect();
        Failure::usage(format!("the journal holds no fix `{id}`")).help(format!("it holds {}", text::list(&known, 10)))
    })
}
