//! What the cloud says about a change before it is made.

/// What the cloud says about a call in a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DryRunAnswer {
    /// The caller may make it.
    Allowed,
    /// The caller may not: why.
    Refused(String),
    /// The call has no dry run: none of IAM, RAM and tags of ECS has.
    Unknown,
}
