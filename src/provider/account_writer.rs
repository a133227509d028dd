//! An account that changes are written to, of whichever cloud.

use std::future::Future;
use std::pin::Pin;

use crate::estate::Estate;
use crate::fix::plan::{DryRunAnswer, Plan, PlannedChange};

use super::write_error::WriteError;

/// The answer of an account, which may take a while.
pub(crate) type Answer<'w, T> = Pin<Box<dyn Future<Output = T> + 'w>>;

/// Versions of a policy that the journal recorded, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RecordedVersions {
    /// Default version before the fix: an undo makes it the default again.
    pub(crate) restored: Option<String>,
    /// Default version before the undo: the fix created it, and the undo deletes it.
    pub(crate) replaced: Option<String>,
}

/// A connection to one account, for looking and writing. Every write is sent exactly once; the caller finds out what a
/// lost answer means by looking.
pub(crate) trait AccountWriter {
    /// Account and partition.
    fn account(&self) -> (&str, &str);

    /// ARN of the caller, and the profile that is named.
    fn caller(&self) -> (&str, Option<&str>);

    /// Reads exactly the resources that changes are made on, and those that they depend on. A resource that does not
    /// exist is not in the answer.
    fn look<'w>(&'w self, changes: &'w [&'w PlannedChange]) -> Answer<'w, Result<Estate, WriteError>>;

    /// Makes a batch of changes; returns the request id of the answer.
    fn write<'w>(
        &'w self,
        plan: &'w Plan,
        batch: &'w [&'w PlannedChange],
        versions: &'w RecordedVersions,
    ) -> Answer<'w, Result<Option<String>, WriteError>>;

    /// Asks whether the caller may make a batch of changes, without making it; and whether to stop asking, because the
    /// endpoint ignores that it is only asked.
    fn try_out<'w>(&'w self, plan: &'w Plan, batch: &'w [&'w PlannedChange]) -> Answer<'w, (DryRunAnswer, bool)>;

    /// Deletes the version of a policy that a fix created and an undo replaced as the default.
    fn delete_undone_version<'w>(
        &'w self,
        change: &'w PlannedChange,
        versions: &'w RecordedVersions,
    ) -> Answer<'w, Result<(), WriteError>>;
}
