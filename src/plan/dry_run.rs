//! What AWS says about a change before it is made.

/// What EC2 says about a call in a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DryRunAnswer {
    /// The caller may make it.
    Allowed,
    /// The caller may not: why.
    Refused(String),
    /// IAM has no dry run.
    Unknown,
}
