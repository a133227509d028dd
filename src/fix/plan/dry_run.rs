//! Dry runs: the cloud checks a change before it is made.

/// Answer of the cloud to a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DryRunAnswer {
    /// The caller may make the call.
    Allowed,
    /// The caller may not make the call; holds the reason.
    Refused(String),
    /// The call has no dry run: no call of IAM, of RAM, or for ECS tags has one.
    Unknown,
}
