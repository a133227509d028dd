//! Exit codes, and failures of commands.

use std::error::Error;
use std::fmt::Write as _;

use crate::text;

/// Result of a run, as an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// No open finding at or above the threshold.
    Clean,
    /// Findings at or above the threshold.
    Findings,
    /// Invalid arguments or input.
    Usage,
    /// Something could not be audited.
    Incomplete,
    /// Nothing could be audited.
    Nothing,
    /// A fix was refused or is incomplete.
    Unfixed,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Exit {
    /// All exits, by code.
    pub const ALL: [Self; 8] = [
        Self::Clean,
        Self::Findings,
        Self::Usage,
        Self::Incomplete,
        Self::Nothing,
        Self::Unfixed,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// Meaning, for the help and the README.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Clean => "complete, and no open finding at or above --fail-on",
            Self::Findings => "open findings at or above --fail-on",
            Self::Usage => "usage error: arguments, environment, an unreadable or invalid input file or plan",
            Self::Incomplete => "no such finding, but something could not be audited",
            Self::Nothing => {
                "nothing could be audited: no credentials, wrong account, endpoint unreachable, or no cluster was found (0 with --allow-empty)"
            }
            Self::Unfixed => "a fix was refused, went stale, or was not fully carried out or verified",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }

    /// Exit code for evidence without findings.
    pub(in crate::cli) fn for_evidence(is_empty_handed: bool, is_complete: bool) -> Self {
        match (is_empty_handed, is_complete) {
            (true, _) => Self::Nothing,
            (false, false) => Self::Incomplete,
            (false, true) => Self::Clean,
        }
    }

    /// Exit code of an audit without findings that count: one that found no cluster has audited nothing, unless that is
    /// allowed.
    pub(in crate::cli) fn for_audit(is_nothing: bool, is_empty_handed: bool, is_complete: bool) -> Self {
        if is_nothing { Self::Nothing } else { Self::for_evidence(is_empty_handed, is_complete) }
    }

    /// The exit code of the contract.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Incomplete => 3,
            Self::Nothing => 4,
            Self::Unfixed => 5,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

/// Failure of a command, shown at the terminal.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Exit code of the run.
    pub exit: Exit,
    /// Operation that failed, and its object.
    pub error: String,
    /// Causes, outermost first.
    pub causes: Vec<String>,
    /// One thing to do next.
    pub help: Option<String>,
}

impl Failure {
    /// Creates a failure with an exit code.
    #[must_use]
    pub fn new(exit: Exit, error: impl Into<String>) -> Self {
        Self { exit, error: error.into(), causes: Vec::new(), help: None }
    }

    /// Creates a usage error.
    #[must_use]
    pub fn usage(error: impl Into<String>) -> Self {
        Self::new(Exit::Usage, error)
    }

    /// Takes the message and the chain of causes of an error.
    #[must_use]
    pub fn from_error(exit: Exit, error: &dyn Error) -> Self {
        let mut failure = Self::new(exit, error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            failure.causes.push(cause.to_string());
            source = cause.source();
        }
        failure
    }

    /// Adds a cause.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Lines for standard error.
    #[must_use]
    pub fn render(&self) -> String {
        let mut lines = format!("error: {}\n", text::printable(&self.error));
        for cause in &self.causes {
            let _ = writeln!(lines, "cause: {}", text::printable(cause));
        }
        if let Some(help) = &self.help {
            let _ = writeln!(lines, "help: {}", text::printable(help));
        }
        lines
    }
}

/// Converts a provider error to a failure of the command line.
#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
pub(in crate::cli) fn provider_failure(error: crate::provider::Error) -> Failure {
    let exit = match error.kind {
        crate::provider::ErrorKind::Usage => Exit::Usage,
        crate::provider::ErrorKind::Unreachable => Exit::Nothing,
        crate::provider::ErrorKind::Interrupted => Exit::Interrupted,
        crate::provider::ErrorKind::Terminated => Exit::Terminated,
    };
    Failure { exit, error: error.message, causes: error.causes, help: error.help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_unique_and_ordered() {
        assert!(Exit::ALL.map(Exit::code).is_sorted_by(|one, other| one < other));
        assert_eq!(Exit::ALL.len(), Exit::Terminated as usize + 1, "an exit is missing in the list");
    }
}
