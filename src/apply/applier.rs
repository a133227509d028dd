//! One run of a plan: read, record the intent, write, read again.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::estate::Estate;
use crate::fix::journal::{Journal, JournalError, Outcome, Progress, Record};
use crate::fix::plan::{Fit, Kind, Plan, PlannedChange, batches, default_version, fit, observe, waves};
use crate::provider::account_writer::{AccountWriter, RecordedVersions};
use crate::provider::signals::SignalGuard;
use crate::provider::write_error::{WriteError, WriteErrorKind};
use crate::transition::{Attribute, Transition};

use super::writer::pauses;
use super::{Applied, ChangeOutcome, Options, Stop, now};

mod sent;

use sent::{ANOTHER_VALUE, Seen, Sent};

/// Attempts of a write that was throttled, or that shows no effect.
const TRIES: usize = 5;

/// Single calls in a row that may be refused after a batch was; then the rest of the batch is given up.
const REFUSED_IN_A_ROW: usize = 3;

pub(super) struct Applier<'a, 'r> {
    pub(super) writer: Box<dyn AccountWriter>,
    pub(super) plan: &'a Plan,
    pub(super) journal: &'a mut Journal,
    pub(super) run: &'a str,
    pub(super) options: &'a Options<'r>,
    pub(super) stop: SignalGuard,
}

type StepResult = Result<Option<Stop>, JournalError>;

impl<'a> Applier<'a, '_> {
    fn progress(&self, change: &PlannedChange) -> Progress {
        self.journal.run(self.run).map_or(Progress::Open, |run| run.change_progress(change))
    }

    /// Changes for which nothing was sent.
    pub(super) fn open(&self) -> Vec<&'a PlannedChange> {
        self.plan.changes.iter().filter(|change| self.progress(change) == Progress::Open).collect()
    }

    fn is_doubtful(&self, change: &PlannedChange) -> bool {
        self.journal.run(self.run).is_some_and(|run| run.doubtful.contains(&change.id))
    }

    /// Records the default versions of policies that are about to get another document.
    fn record_versions(&mut self, changes: &[&PlannedChange], seen: &Estate) -> Result<(), JournalError> {
        for change in changes {
            let is_known = self.journal.run(self.run).is_some_and(|run| run.versions.contains_key(&change.id));
            if let Some(version) = default_version(seen.as_ref(), change).filter(|_| !is_known) {
                let (run, change) = (self.run.to_owned(), change.id.clone());
                self.journal.append(&Record::PolicyVersion { run, at: now(), change, version })?;
            }
        }
        Ok(())
    }

    /// Versions of the policy of a change that this run and the run that it undoes recorded.
    fn recorded_versions(&self, change: &PlannedChange) -> RecordedVersions {
        let Some(run) = self.journal.run(self.run) else { return RecordedVersions::default() };
        let undone = run.undoes.as_deref().and_then(|undone| self.journal.run(undone));
        let Transition { target, attribute, .. } = &change.transition;
        let restored = undone.and_then(|undone| {
            let mut changes = undone.plan.changes.iter();
            let fixed =
                changes.find(|fixed| fixed.transition.target == *target && fixed.transition.attribute == *attribute)?;
            undone.versions.get(&fixed.id).cloned()
        });
        RecordedVersions { restored, replaced: run.versions.get(&change.id).cloned() }
    }

    pub(super) fn signal(&self) -> Option<Stop> {
        self.stop.came().map(Stop::Signal)
    }

    /// Waits, unless a signal comes.
    async fn pause(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = self.stop.signal() => {}
        }
    }

    /// Reads what a write depends on; a signal ends the wait, and nothing is written after it.
    async fn look_before_write(&self, changes: &[&PlannedChange]) -> Result<Estate, Stop> {
        let seen = tokio::select! {
            biased;
            kind = self.stop.signal() => return Err(Stop::Signal(kind)),
            seen = self.look(changes) => seen,
        };
        // The client of Alibaba Cloud blocks: a signal that came meanwhile is seen only now.
        match (seen, self.signal()) {
            (_, Some(stop)) => Err(stop),
            (Ok(seen), None) => Ok(seen),
            (Err(error), None) => Err(Stop::Blocked(format!("cannot read before writing: {}", error.message))),
        }
    }

    /// Reads what a write depends on until nothing that is leaving uses its resource any more, for as long as a change is
    /// verified.
    async fn look_until_free(&self, changes: &[&PlannedChange]) -> Result<Estate, Stop> {
        let deadline = Instant::now() + self.options.verify_timeout;
        let mut pauses = pauses();
        loop {
            let seen = self.look_before_write(changes).await?;
            let is_busy = changes.iter().any(|change| matches!(fit(seen.as_ref(), change), Fit::Busy(_)));
            let left = deadline.saturating_duration_since(Instant::now());
            if !is_busy || left.is_zero() {
                return Ok(seen);
            }
            self.pause(pauses.next().unwrap_or(left).min(left)).await;
            if let Some(stop) = self.signal() {
                return Err(stop);
            }
        }
    }

    /// Records and reports the outcome of changes.
    pub(super) fn conclude(
        &mut self,
        changes: &[&PlannedChange],
        outcome: Outcome,
        detail: Option<&str>,
    ) -> Result<(), JournalError> {
        if changes.is_empty() {
            return Ok(());
        }
        for change in changes {
            let why = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            (self.options.tell)(&format!(
                "{} {} {}{why}",
                outcome.name(),
                change.transition.target.id,
                change.transition.attribute.label()
            ));
        }
        self.journal.append(&Record::Settled {
            run: self.run.to_owned(),
            at: now(),
            changes: changes.iter().map(|change| change.id.clone()).collect(),
            outcome,
            detail: detail.map(str::to_owned),
        })
    }

    /// Sorts changes by their current value, records those whose outcome is known, and returns those that still have
    /// the old value or are not visible.
    fn sort_out(
        &mut self,
        changes: &[&'a PlannedChange],
        seen: &Estate,
    ) -> Result<Vec<&'a PlannedChange>, JournalError> {
        let (mut applied, mut lost, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for &change in changes {
            let Transition { target, attribute, old, new } = &change.transition;
            match observe(seen.as_ref(), target, attribute).map(|found| found.value) {
                Some(value) if value == *new => applied.push(change),
                Some(value) if value != *old => lost.push(change),
                Some(_) | None => rest.push(change),
            }
        }
        self.conclude(&applied, Outcome::Applied, None)?;
        self.conclude(&lost, Outcome::Conflict, Some(ANOTHER_VALUE))?;
        Ok(rest)
    }

    pub(super) fn end(&mut self) -> Result<(), JournalError> {
        self.journal.append(&Record::End { run: self.run.to_owned(), at: now() })
    }

    pub(super) fn ended(&self, stopped: Option<Stop>) -> Applied {
        let mut outcomes = Vec::new();
        let mut open = 0;
        for change in &self.plan.changes {
            match self.progress(change) {
                Progress::Settled(outcome) => {
                    let detail = self.journal.run(self.run).and_then(|run| run.details.get(&change.id).cloned());
                    outcomes.push(ChangeOutcome { change: change.id.clone(), outcome, detail });
                }
                Progress::Open | Progress::InFlight => open += 1,
            }
        }
        Applied { outcomes, open, stopped }
    }

    pub(super) async fn run(&mut self, left_out: &BTreeMap<String, String>) -> StepResult {
        if let Some(why) = self.reconcile_in_flight().await? {
            return Ok(Some(Stop::Blocked(why)));
        }
        for change in self.open() {
            if let Some(why) = left_out.get(&change.id) {
                self.conclude(&[change], Outcome::Stale, Some(why))?;
            }
        }
        for wave in waves(&self.open()) {
            let mut sent = Vec::new();
            let mut stopped = None;
            for batch in batches(&wave) {
                stopped = self.signal();
                if stopped.is_some() {
                    break;
                }
                stopped = self.batch(&batch, &mut sent).await?;
                if stopped.is_some() {
                    break;
                }
            }
            // What was sent is always verified; the next wave depends on it.
            let unsettled = self.verify(&sent).await?;
            if stopped.is_none() {
                stopped = unsettled;
            }
            if stopped.is_some() {
                return Ok(stopped);
            }
        }
        self.delete_undone_versions().await
    }

    /// Deletes versions of policies that the fix created and this undo replaced. An interrupted undo finds them again:
    /// the run stays open until none is left.
    pub(super) async fn delete_undone_versions(&self) -> StepResult {
        if self.plan.kind != Kind::Undo {
            return Ok(None);
        }
        for change in &self.plan.changes {
            if let Some(stop) = self.signal() {
                return Ok(Some(stop));
            }
            let is_undone = matches!(self.progress(change), Progress::Settled(Outcome::Applied | Outcome::Unchanged));
            if is_undone && let Some(stop) = self.delete_undone_version(change).await {
                return Ok(Some(stop));
            }
        }
        Ok(None)
    }

    /// Deletes the undone version of one policy. The writer lists the versions first, so a call whose answer was lost is
    /// found by reading, and throttling is waited out.
    async fn delete_undone_version(&self, change: &PlannedChange) -> Option<Stop> {
        let versions = self.recorded_versions(change);
        let policy = &change.transition.target.id;
        let mut last = String::new();
        for pause in pauses().take(TRIES) {
            match self.writer.delete_undone_version(change, &versions).await {
                Ok(()) => return None,
                Err(error) => {
                    last = format!("cannot delete the version of `{policy}` that the fix created: {}", error.message);
                    if !matches!(error.kind, WriteErrorKind::Throttled | WriteErrorKind::Ambiguous) {
                        break;
                    }
                }
            }
            self.pause(pause).await;
            if let Some(stop) = self.signal() {
                return Some(stop);
            }
        }
        Some(self.signal().unwrap_or(Stop::Blocked(last)))
    }

    /// Reads the resources of changes; reads have their own retries.
    async fn look(&self, changes: &[&PlannedChange]) -> Result<Estate, WriteError> {
        self.writer.look(changes).await
    }

    /// Settles changes of unknown outcome by their current value. Returns the reason if that cannot be read.
    pub(super) async fn reconcile_in_flight(&mut self) -> Result<Option<String>, JournalError> {
        let in_flight: Vec<&'a PlannedChange> =
            self.plan.changes.iter().filter(|change| self.progress(change) == Progress::InFlight).collect();
        if in_flight.is_empty() {
            return Ok(None);
        }
        // After a run was killed during a write, the first read may come too early: old values are read again.
        let deadline = Instant::now() + self.options.verify_timeout.min(RECONCILE_FOR);
        let mut waiting = in_flight;
        for pause in pauses() {
            let seen = match self.look(&waiting).await {
                Ok(seen) => seen,
                Err(error) => return Ok(Some(error.message)),
            };
            waiting = self.sort_out(&waiting, &seen)?;
            if waiting.is_empty() || Instant::now() >= deadline {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        let reopened: Vec<String> = waiting.iter().map(|change| change.id.clone()).collect();
        if !reopened.is_empty() {
            self.reopen(&reopened, false)?;
        }
        Ok(None)
    }

    /// Reads the resources of a batch, settles changes that are not as planned, and writes the rest.
    async fn batch(&mut self, batch: &[&'a PlannedChange], sent: &mut Vec<&'a PlannedChange>) -> StepResult {
        let seen = match self.look_until_free(batch).await {
            Ok(seen) => seen,
            Err(stop) => return Ok(Some(stop)),
        };
        let (mut fitting, mut done) = (Vec::new(), Vec::new());
        for &change in batch {
            match fit(seen.as_ref(), change) {
                Fit::AsPlanned => fitting.push(change),
                // The value comes from an unanswered call of this run.
                Fit::Done if self.is_doubtful(change) => self.conclude(&[change], Outcome::Applied, None)?,
                Fit::Done => done.push(change),
                Fit::Stale(why) | Fit::Busy(why) => self.conclude(&[change], Outcome::Stale, Some(&why))?,
            }
        }
        self.conclude(&done, Outcome::Unchanged, None)?;
        if fitting.is_empty() {
            return Ok(None);
        }
        self.record_versions(&fitting, &seen)?;
        match self.send(&fitting).await? {
            Sent::Yes => {
                sent.extend(fitting);
                Ok(None)
            }
            Sent::No(error) if fitting.len() > 1 => self.one_by_one(&fitting, &error, sent).await,
            Sent::No(error) => {
                self.conclude(&fitting, Outcome::Failed, Some(&error.message))?;
                Ok(None)
            }
            Sent::Never(stop) => Ok(Some(stop)),
        }
    }

    /// Makes the changes of a failed batch one by one: the bad resource is named only in the error message.
    async fn one_by_one(
        &mut self,
        batch: &[&'a PlannedChange],
        error: &WriteError,
        sent: &mut Vec<&'a PlannedChange>,
    ) -> StepResult {
        let mut refused = 0;
        for &change in batch {
            if let Some(stop) = self.signal() {
                return Ok(Some(stop));
            }
            // If nothing at all is allowed, more calls would only be refused too.
            if error.kind == WriteErrorKind::Denied && refused >= REFUSED_IN_A_ROW {
                self.conclude(&[change], Outcome::Failed, Some(&error.message))?;
                continue;
            }
            let seen = match self.look_before_write(&[change]).await {
                Ok(seen) => seen,
                Err(stop) => return Ok(Some(stop)),
            };
            match fit(seen.as_ref(), change) {
                Fit::AsPlanned => {}
                Fit::Done => {
                    // After a call of unknown outcome, the value counts as written by this run.
                    let ours = error.kind == WriteErrorKind::Ambiguous || self.is_doubtful(change);
                    self.conclude(&[change], if ours { Outcome::Applied } else { Outcome::Unchanged }, None)?;
                    continue;
                }
                Fit::Stale(why) | Fit::Busy(why) => {
                    self.conclude(&[change], Outcome::Stale, Some(&why))?;
                    continue;
                }
            }
            match self.send(&[change]).await? {
                Sent::Yes => {
                    refused = 0;
                    sent.push(change);
                }
                Sent::No(error) => {
                    refused += 1;
                    self.conclude(&[change], Outcome::Failed, Some(&error.message))?;
                }
                Sent::Never(stop) => return Ok(Some(stop)),
            }
        }
        Ok(None)
    }

    /// Makes one call, recorded before and after. Throttling is waited out; after a lost answer, a read decides.
    async fn send(&mut self, batch: &[&PlannedChange]) -> Result<Sent, JournalError> {
        let ids: Vec<String> = batch.iter().map(|change| change.id.clone()).collect();
        let operation =
            batch.first().map(|change| change.transition.operation().action().to_owned()).unwrap_or_default();
        let mut last = String::new();
        let (mut in_doubt, mut busy) = (false, None);
        for pause in pauses().take(TRIES) {
            self.journal.append(&Record::Intent {
                run: self.run.to_owned(),
                at: now(),
                operation: operation.clone(),
                changes: ids.clone(),
            })?;
            let versions = batch.first().map(|change| self.recorded_versions(change)).unwrap_or_default();
            let answer = self.writer.write(self.plan, batch, &versions).await;
            let error = answer.as_ref().err().cloned();
            self.journal.append(&Record::Result {
                run: self.run.to_owned(),
                at: now(),
                changes: ids.clone(),
                accepted: error.is_none(),
                request_id: answer.ok().flatten(),
                error: error.as_ref().map(|error| error.message.clone()),
            })?;
            let Some(error) = error else { return Ok(Sent::Yes) };
            last.clone_from(&error.message);
            // After an unanswered call, what already exists was most likely created by this run.
            let kind = match error.kind {
                WriteErrorKind::Invalid if in_doubt && error.code.starts_with("EntityAlreadyExists") => {
                    WriteErrorKind::Ambiguous
                }
                kind => kind,
            };
            match kind {
                WriteErrorKind::Denied | WriteErrorKind::Invalid => {
                    self.reopen(&ids, true)?;
                    return Ok(Sent::No(error));
                }
                WriteErrorKind::Credentials => {
                    self.reopen(&ids, true)?;
                    return Ok(Sent::Never(Stop::Blocked(error.message)));
                }
                WriteErrorKind::Stopped => {
                    self.reopen(&ids, true)?;
                    return Ok(Sent::Never(self.signal().unwrap_or(Stop::Blocked(error.message))));
                }
                WriteErrorKind::Throttled => {
                    self.reopen(&ids, true)?;
                    busy = None;
                }
                // What used it may take a moment to let go.
                WriteErrorKind::Busy => {
                    self.reopen(&ids, true)?;
                    busy = Some(error);
                }
                WriteErrorKind::Ambiguous => {
                    in_doubt = true;
                    // A read decides. An unknown outcome stays in flight, and counts as this run's if it shows.
                    match self.look_after(batch).await {
                        Err(error) => return Ok(Sent::Never(Stop::Blocked(error.message))),
                        Ok(Seen::Made) => return Ok(Sent::Yes),
                        // Part of it is there, or someone else wrote: one by one, each after a read.
                        Ok(Seen::Changed) => return Ok(Sent::No(WriteError { kind, ..error })),
                        Ok(Seen::Nothing) => {}
                    }
                }
            }
            self.pause(pause).await;
            if let Some(stop) = self.signal() {
                return Ok(Sent::Never(stop));
            }
        }
        Ok(busy.map_or(Sent::Never(Stop::Blocked(last)), Sent::No))
    }

    /// Outcome of an unanswered call. Tags can be written twice; a policy cannot be created twice, so it is read until
    /// it would have shown. After a signal one read has to do: what does not show stays in flight.
    async fn look_after(&self, batch: &[&PlannedChange]) -> Result<Seen, WriteError> {
        let is_made_once =
            batch.iter().any(|change| matches!(change.transition.attribute, Attribute::ManagedPolicy {}));
        let deadline = Instant::now() + if is_made_once { RECONCILE_FOR } else { Duration::ZERO };
        let mut pauses = pauses();
        loop {
            let seen = self.look(batch).await?;
            let is_made = |change: &&PlannedChange| {
                let Transition { target, attribute, new, .. } = &change.transition;
                observe(seen.as_ref(), target, attribute).is_some_and(|found| found.value == *new)
            };
            if batch.iter().all(is_made) {
                return Ok(Seen::Made);
            }
            if !batch.iter().all(|change| fit(seen.as_ref(), change) == Fit::AsPlanned) {
                return Ok(Seen::Changed);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.signal().is_some() {
                return Ok(Seen::Nothing);
            }
            self.pause(pauses.next().unwrap_or(left).min(left)).await;
        }
    }

    /// Records that changes were not made: the call was refused, or nothing of it is visible.
    fn reopen(&mut self, ids: &[String], refused: bool) -> Result<(), JournalError> {
        self.journal.append(&Record::Reopened { run: self.run.to_owned(), at: now(), changes: ids.to_vec(), refused })
    }

    /// Reads back what was sent until it shows, or the time is up.
    async fn verify(&mut self, sent: &[&'a PlannedChange]) -> StepResult {
        let deadline = Instant::now() + self.options.verify_timeout;
        let mut waiting: Vec<&'a PlannedChange> = sent.to_vec();
        let mut pauses = pauses();
        while !waiting.is_empty() {
            let seen = match self.look(&waiting).await {
                Ok(seen) => seen,
                // What was sent stays in flight: the next run reconciles it.
                Err(error) => return Ok(Some(Stop::Blocked(format!("cannot read back: {}", error.message)))),
            };
            waiting = self.sort_out(&waiting, &seen)?;
            if waiting.is_empty() {
                break;
            }
            if let Some(stop) = self.signal() {
                return Ok(Some(stop));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let detail = format!("not visible within {} s", self.options.verify_timeout.as_secs());
                self.conclude(&waiting, Outcome::Unconfirmed, Some(&detail))?;
                break;
            }
            self.pause(pauses.next().unwrap_or(left).min(left)).await;
        }
        Ok(None)
    }
}

/// Time for which a value of a call in flight may stay old before the call counts as not made.
const RECONCILE_FOR: Duration = Duration::from_secs(5);
