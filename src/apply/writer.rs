//! The accounts that are written to, of either cloud.

use std::time::Duration;

use crate::estate::Estate;
use crate::plan::{DryRunAnswer, Plan, PlannedChange};
use crate::provider::Error;
#[cfg(feature = "alibaba")]
use crate::provider::alibaba::live;
#[cfg(feature = "aws")]
use crate::provider::aws;
use crate::provider::write_error::WriteError;

/// How an account is reached.
#[derive(Debug, Clone)]
pub enum Connection<'a> {
    /// One of AWS.
    #[cfg(feature = "aws")]
    Aws(aws::Request<'a>),
    /// One of Alibaba Cloud.
    #[cfg(feature = "alibaba")]
    Alibaba(live::Request<'a>),
}

/// A connection to one account, for looking and writing.
pub(super) enum Writer {
    #[cfg(feature = "aws")]
    Aws(Box<aws::Writer>),
    #[cfg(feature = "alibaba")]
    Alibaba(Box<live::Writer>),
}

impl Writer {
    /// Connects, and says who is asking. The client of Alibaba Cloud blocks: a plan is carried out by one task, and nothing else waits.
    #[cfg_attr(not(feature = "aws"), expect(clippy::unused_async, reason = "the SDK of AWS is asynchronous"))]
    pub(super) async fn connect(connection: &Connection<'_>) -> Result<Self, Error> {
        match connection {
            #[cfg(feature = "aws")]
            Connection::Aws(request) => aws::Writer::connect(request).await.map(Box::new).map(Self::Aws),
            #[cfg(feature = "alibaba")]
            Connection::Alibaba(request) => live::Writer::connect(request).map(Box::new).map(Self::Alibaba),
        }
    }

    /// Account and partition.
    pub(super) fn account(&self) -> (&str, &str) {
        match self {
            #[cfg(feature = "aws")]
            Self::Aws(writer) => writer.account(),
            #[cfg(feature = "alibaba")]
            Self::Alibaba(writer) => writer.account(),
        }
    }

    /// ARN of the caller, and the profile that is named.
    pub(super) fn caller(&self) -> (&str, Option<&str>) {
        match self {
            #[cfg(feature = "aws")]
            Self::Aws(writer) => writer.caller(),
            #[cfg(feature = "alibaba")]
            Self::Alibaba(writer) => writer.caller(),
        }
    }

    /// Reads exactly the resources that changes are made on, and those that they depend on.
    #[cfg_attr(not(feature = "aws"), expect(clippy::unused_async, reason = "the SDK of AWS is asynchronous"))]
    pub(super) async fn look(&self, changes: &[&PlannedChange]) -> Result<Estate, WriteError> {
        match self {
            #[cfg(feature = "aws")]
            Self::Aws(writer) => writer.look(changes).await,
            #[cfg(feature = "alibaba")]
            Self::Alibaba(writer) => writer.look(changes),
        }
    }

    /// Deletes the version of a policy that a fix created and an undo replaced as the default.
    #[cfg_attr(not(feature = "aws"), expect(clippy::unused_async, reason = "the SDK of AWS is asynchronous"))]
    pub(super) async fn delete_undone_version(&self, change: &PlannedChange) -> Result<(), WriteError> {
        match self {
            #[cfg(feature = "aws")]
            Self::Aws(writer) => writer.delete_undone_version(change).await,
            #[cfg(feature = "alibaba")]
            Self::Alibaba(writer) => writer.delete_undone_version(change),
        }
    }

    /// Makes a batch of changes, once. The request id of the answer comes back.
    #[cfg_attr(not(feature = "aws"), expect(clippy::unused_async, reason = "the SDK of AWS is asynchronous"))]
    pub(super) async fn write(&self, plan: &Plan, batch: &[&PlannedChange]) -> Result<Option<String>, WriteError> {
        match self {
            #[cfg(feature = "aws")]
            Self::Aws(writer) => writer.write(plan, batch, false).await,
            #[cfg(feature = "alibaba")]
            Self::Alibaba(writer) => writer.write(plan, batch),
        }
    }

    /// Asks whether this caller may make a batch of changes, without making it; and whether to ask no more.
    #[cfg_attr(not(feature = "aws"), expect(clippy::unused_async, unused_variables, reason = "only EC2 has dry runs"))]
    pub(super) async fn try_out(&self, plan: &Plan, batch: &[&PlannedChange]) -> (DryRunAnswer, bool) {
        match (self, batch.first()) {
            #[cfg(feature = "aws")]
            (Self::Aws(writer), Some(change)) if aws::Writer::has_dry_run(change) => {
                match writer.write(plan, batch, true).await {
                    Ok(_) => (DryRunAnswer::Allowed, false),
                    Err(error) => {
                        let is_ignored = error.code == aws::DRY_RUN_IGNORED;
                        (DryRunAnswer::Refused(error.message), is_ignored)
                    }
                }
            }
            _ => (DryRunAnswer::Unknown, false),
        }
    }
}

/// Pauses of a wait that grows: a fifth of a second, then twice as long each time, up to eight seconds.
pub(super) fn pauses() -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(Duration::from_millis(200)), |pause| Some((*pause * 2).min(Duration::from_secs(8))))
}
