//! What could not be read.

use serde::{Deserialize, Serialize};

use super::Read;

/// A read that failed or whose answer cannot be trusted. What it would have shown is unknown, never absent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// The read.
    #[serde(rename = "api")]
    pub read: Read,
    /// Account, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// Region, for regional calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// ARN or id of the one resource that was asked for; absent when the whole list is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Name of the one inline policy of that role that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Error code of the API, or a word of ours: `Pagination`, `Protocol`, `Timeout`, `NotProvided`, …
    pub reason: String,
    /// What happened, for a person.
    pub message: String,
}

/// What a read that failed was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapSubject<'a> {
    /// A whole list: nothing is known of what it would hold.
    List,
    /// One resource; the list that names it is whole.
    Resource(&'a str),
    /// One inline policy of one role.
    InlinePolicy {
        /// ARN of the role.
        role: &'a str,
        /// Name of the policy.
        name: &'a str,
    },
}

impl Gap {
    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> GapSubject<'_> {
        match (self.resource.as_deref(), self.policy.as_deref()) {
            (None, _) => GapSubject::List,
            (Some(resource), None) => GapSubject::Resource(resource),
            (Some(role), Some(name)) => GapSubject::InlinePolicy { role, name },
        }
    }

    /// Whether a whole list is unknown.
    #[must_use]
    pub fn is_of_list(&self) -> bool {
        self.subject() == GapSubject::List
    }

    /// Whether it leaves something of an account unknown: one that names no account is of all.
    #[must_use]
    pub fn is_of_account(&self, account_id: &str) -> bool {
        self.account_id.as_deref().is_none_or(|id| id == account_id)
    }
}

/// Reason of a gap for what an answer has to hold and does not: some products answer a caller without permission with an empty list.
pub const REASON_NOTHING_SEEN: &str = "NothingSeen";

/// Reason of a gap for a list that lacks what other resources name.
pub const REASON_CONTRADICTED: &str = "Contradicted";

/// Reason of a gap for evidence that was never handed over.
pub const REASON_NOT_PROVIDED: &str = "NotProvided";
