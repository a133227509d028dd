//! What a live cluster says of itself.

use crate::kubernetes::{Evidence, Recording};

use super::failure::Failure;
use super::{AuditArgs, ConnectionArgs, TerminalArgs};

/// What `--kube-context` reads, where it is given.
pub(super) fn live(
    audit: &AuditArgs,
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
) -> Result<Evidence, Failure> {
    match &audit.kube_context {
        Some(context) => Ok(read(context, connection, terminal)?.evidence()),
        None => Ok(Evidence::default()),
    }
}

/// Reads the lists of a context.
#[cfg(feature = "kubernetes")]
pub(super) fn read(context: &str, connection: &ConnectionArgs, terminal: &TerminalArgs) -> Result<Recording, Failure> {
    use crate::provider::kubernetes;
    let timeout = std::time::Duration::from_secs(connection.timeout);
    let request = kubernetes::Request { context, timeout, verbose: terminal.verbose };
    kubernetes::collect(&request).map_err(super::session::provider_failure)
}

#[cfg(not(feature = "kubernetes"))]
pub(super) fn read(_: &str, _: &ConnectionArgs, _: &TerminalArgs) -> Result<Recording, Failure> {
    Err(Failure::usage("this build cannot ask a cluster: it was made without the feature `kubernetes`")
        .help("give outputs of kubectl with --kubernetes, or install tagaudit with its default features"))
}
