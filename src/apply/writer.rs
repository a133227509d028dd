//! Connects to the account that is written to.

use std::time::Duration;

use crate::provider::Error;
use crate::provider::account_writer::AccountWriter;
#[cfg(feature = "alibaba")]
use crate::provider::alibaba::live;
#[cfg(feature = "aws")]
use crate::provider::aws;

/// Settings by which an account is reached.
#[derive(Debug, Clone)]
pub(crate) enum Connection<'a> {
    #[cfg(feature = "aws")]
    Aws(aws::Request<'a>),
    /// Alibaba Cloud.
    #[cfg(feature = "alibaba")]
    Alibaba(live::Request<'a>),
}

impl Connection<'_> {
    /// Connects, and identifies the caller. The client of Alibaba Cloud blocks: a plan is carried out by one task, and nothing else waits.
    #[cfg_attr(not(feature = "aws"), expect(clippy::unused_async, reason = "the SDK of AWS is asynchronous"))]
    pub(super) async fn open(&self) -> Result<Box<dyn AccountWriter>, Error> {
        match self {
            #[cfg(feature = "aws")]
            Self::Aws(request) => Ok(Box::new(aws::Writer::connect(request).await?)),
            #[cfg(feature = "alibaba")]
            Self::Alibaba(request) => Ok(Box::new(live::Writer::connect(request)?)),
        }
    }
}

/// Growing pauses: a fifth of a second, doubling up to eight seconds.
pub(super) fn pauses() -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(Duration::from_millis(200)), |pause| Some((*pause * 2).min(Duration::from_secs(8))))
}
