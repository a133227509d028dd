//! `tagaudit undo`: undoes a fix.

use std::collections::BTreeMap;

use crate::apply::is_complete;
use crate::cli::args::fix::UndoArgs;
use crate::cli::io::clock::{now, stamp};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input::unknown_rule;
use crate::cli::io::terminal::{Out, line, say};
use crate::cli::session::Scope;
use crate::fix::journal::{Journal, Run};
use crate::fix::plan;
use crate::render;
use crate::rules;
use crate::text;

use super::account::{connection, options};
use super::consent::{agree, refuse_rights};
use super::gate;
use super::live::{finish, look_again, reconcile_earlier};
use super::state_files::{StateFiles, unusable};

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
    let options = options(&connection, &args.carry_out, &first, args.terminal.quiet);
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
    let deleted = tell_deletions(run);
    let plan = broken_off.unwrap_or(inverse);
    if plan.changes.is_empty() && deleted > 0 {
        return Ok(Exit::Unfixed);
    }
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
    let harms = gate::tell_created(&scope, &before, &after.estate, &plan)?;
    Ok(after.exit(is_complete(&applied) && !harms))
}

/// States how many deletions of a run stay; returns their number.
fn tell_deletions(run: &Run) -> usize {
    let deleted = run.own_changes().iter().filter(|change| change.transition.is_deletion()).count();
    if deleted > 0 {
        let what = text::count(deleted, "deletion");
        line(&format!("{what} of the run {} cannot be undone; the journal describes what was there.", run.id));
    }
    deleted
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
