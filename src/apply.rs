//! Applies a plan: read, write, record, read again. The only place that writes to an account.
//!
//! Wave by wave, batch by batch: the resources of a batch are read just before it is written, and a resource that has
//! left its planned state is not written to. Every call is recorded in the journal before and after. The effect of a
//! call whose answer was lost is determined by reading, never by blindly sending it again. Between the read and the
//! write another writer can still interfere: neither EC2 nor ECS has a conditional create.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::fix::journal::{Journal, JournalError, Outcome, Record, SCHEMA};
use crate::fix::plan::{DryRunAnswer, Plan, PlannedChange, batches};
use crate::provider::account_writer::AccountWriter;
use crate::provider::signals::SignalGuard;
use crate::provider::{Error, ErrorKind};

mod applier;
mod writer;

use applier::Applier;
pub(crate) use writer::Connection;

/// Outcome of a change, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangeOutcome {
    /// Id of the change.
    pub change: String,
    pub outcome: Outcome,
    /// Reason, for display.
    pub detail: Option<String>,
}

/// Result of applying a plan.
#[derive(Debug)]
pub(crate) struct Applied {
    /// Outcome of each change that was reached, in the order of the plan.
    pub outcomes: Vec<ChangeOutcome>,
    /// Number of changes that were not reached.
    pub open: usize,
    /// Reason for stopping before the end.
    pub stopped: Option<Stop>,
}

/// Reason for stopping a run before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Ctrl-C or SIGTERM.
    Signal(ErrorKind),
    /// No further write can succeed: persistent throttling, unusable credentials, no answers.
    Blocked(String),
}

/// Options for applying a plan.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    pub connection: &'a Connection<'a>,
    /// Maximum time to wait until a change is visible.
    pub verify_timeout: Duration,
    /// Receives a message about every step, for standard error.
    pub tell: fn(&str),
}

/// Reason why nothing was applied.
#[derive(Debug)]
pub(crate) enum ApplyError {
    /// The account cannot be reached.
    Provider(Error),
    /// The credentials belong to another account than the plan.
    OtherAccount {
        /// Account and partition of the plan.
        planned: (String, String),
        /// Account and partition of the credentials.
        found: (String, String),
    },
    /// The journal cannot be written: nothing may be sent.
    Journal(JournalError),
}

impl From<JournalError> for ApplyError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

#[expect(clippy::disallowed_methods, reason = "apply is one of the two places where the clock is read")]
fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

fn runtime() -> Result<tokio::runtime::Runtime, ApplyError> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        ApplyError::Provider(Error {
            kind: ErrorKind::Unreachable,
            message: "cannot start the runtime".to_owned(),
            causes: vec![error.to_string()],
            help: None,
        })
    })
}

async fn connect(plan: &Plan, connection: &Connection<'_>) -> Result<Box<dyn AccountWriter>, ApplyError> {
    let writer = connection.open().await.map_err(ApplyError::Provider)?;
    let (account, partition) = writer.account();
    if (account, partition) != (plan.account_id.as_str(), plan.partition.as_str()) {
        return Err(ApplyError::OtherAccount {
            planned: (plan.account_id.clone(), plan.partition.clone()),
            found: (account.to_owned(), partition.to_owned()),
        });
    }
    Ok(writer)
}

/// The caller who would apply a plan: its ARN, and the profile if one is named.
///
/// # Errors
/// When the account cannot be reached, or is another one.
pub(crate) fn caller(plan: &Plan, connection: &Connection<'_>) -> Result<(String, Option<String>), ApplyError> {
    runtime()?.block_on(async {
        let writer = connect(plan, connection).await?;
        let (arn, profile) = writer.caller();
        Ok((arn.to_owned(), profile.map(str::to_owned)))
    })
}

/// Asks the cloud, for every call of a plan that has a dry run, whether this caller may make it, without making it.
///
/// # Errors
/// When the account cannot be reached, or is another one.
pub(crate) fn dry_run(plan: &Plan, connection: &Connection<'_>) -> Result<BTreeMap<String, DryRunAnswer>, ApplyError> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let writer = connect(plan, connection).await?;
        let mut answers = BTreeMap::new();
        let changes: Vec<&PlannedChange> = plan.changes.iter().collect();
        for batch in batches(&changes) {
            let (answer, is_ignored) = writer.try_out(plan, &batch).await;
            answers.extend(batch.iter().map(|change| (change.id.clone(), answer.clone())));
            if is_ignored {
                break;
            }
        }
        Ok(answers)
    })
}

/// Determines and records the outcome of an interrupted run, and ends the run. Sends nothing.
///
/// # Errors
/// When the account cannot be reached, is another one, or the journal cannot be written.
pub(crate) fn reconcile(journal: &mut Journal, run: &str, options: &Options<'_>) -> Result<Applied, ApplyError> {
    let Some(plan) = journal.run(run).map(|run| run.plan.clone()) else {
        return Ok(Applied { outcomes: Vec::new(), open: 0, stopped: None });
    };
    let stop = SignalGuard::begin();
    runtime()?.block_on(async {
        let writer = connect(&plan, options.connection).await?;
        let mut applier = Applier { writer, plan: &plan, journal, run, options, stop };
        if let Some(why) = applier.reconcile_in_flight().await? {
            return Ok(applier.ended(Some(Stop::Blocked(why))));
        }
        if let Some(stop) = applier.signal() {
            return Ok(applier.ended(Some(stop)));
        }
        let open = applier.open();
        applier.conclude(&open, Outcome::NotAttempted, None)?;
        if let Some(stop) = applier.delete_undone_versions().await? {
            return Ok(applier.ended(Some(stop)));
        }
        applier.end()?;
        Ok(applier.ended(None))
    })
}

/// Applies a plan, or resumes its interrupted run; `left_out` maps changes for which nothing is sent to the reason.
///
/// # Errors
/// When the account cannot be reached, is another one, or the journal cannot be written.
pub(crate) fn apply(
    plan: &Plan,
    journal: &mut Journal,
    undoes: Option<&str>,
    left_out: &BTreeMap<String, String>,
    options: &Options<'_>,
) -> Result<Applied, ApplyError> {
    // From here on a signal is recorded, and the call in flight is first completed and journaled.
    let stop = SignalGuard::begin();
    let runtime = runtime()?;
    runtime.block_on(async {
        let writer = connect(plan, options.connection).await?;
        let broken_off = journal.unfinished().filter(|run| run.plan.digest == plan.digest).map(|run| run.id.clone());
        let run = if let Some(run) = broken_off {
            run
        } else {
            let run = journal.next_run(plan);
            journal.append(&Record::Begin {
                schema: SCHEMA.to_owned(),
                run: run.clone(),
                at: now(),
                undoes: undoes.map(str::to_owned),
                plan: Box::new(plan.clone()),
            })?;
            run
        };
        let mut applier = Applier { writer, plan, journal, run: &run, options, stop };
        let stopped = applier.run(left_out).await?;
        if stopped.is_none() {
            applier.end()?;
        }
        Ok(applier.ended(stopped))
    })
}

/// True if every change of an applied plan is in place.
#[must_use]
pub(crate) fn is_complete(applied: &Applied) -> bool {
    applied.stopped.is_none() && applied.open == 0 && applied.outcomes.iter().all(|one| one.outcome.is_good())
}
