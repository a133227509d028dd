//! Reads that failed.

use serde::{Deserialize, Serialize};

use super::Read;

/// A read that failed or whose answer cannot be trusted. Its data is unknown, never absent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    #[serde(rename = "api")]
    pub read: Read,
    /// Account, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// Region, for regional calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// ARN or id of the one requested resource; absent if the whole list is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Name of the one requested inline policy of that role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Error code of the API, or one of tagaudit: `Pagination`, `Protocol`, `Timeout`, `NotProvided`, …
    pub reason: String,
    /// Description of the failure, for display.
    pub message: String,
}

/// Subject of a failed read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapSubject<'a> {
    /// A whole list: all of its entries are unknown.
    List,
    /// One resource; the list that names it is complete.
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
    #[must_use]
    pub fn subject(&self) -> GapSubject<'_> {
        match (self.resource.as_deref(), self.policy.as_deref()) {
            (None, _) => GapSubject::List,
            (Some(resource), None) => GapSubject::Resource(resource),
            (Some(role), Some(name)) => GapSubject::InlinePolicy { role, name },
        }
    }

    /// True if a whole list is unknown.
    #[must_use]
    pub fn concerns_list(&self) -> bool {
        self.subject() == GapSubject::List
    }

    /// True if it concerns an account; a gap without an account concerns all of them.
    #[must_use]
    pub fn concerns_account(&self, account_id: &str) -> bool {
        self.account_id.as_deref().is_none_or(|id| id == account_id)
    }

    /// True if it concerns a region of an account; a gap without a region concerns all of them.
    #[must_use]
    pub fn concerns_region(&self, account_id: &str, region: &str) -> bool {
        self.concerns_account(account_id) && self.region.as_deref().is_none_or(|name| name == region)
    }
}

/// Reason of a gap for an answer without entries that must exist: some products answer unauthorised callers with an
/// empty list.
pub(crate) const REASON_NOTHING_SEEN: &str = "NothingSeen";

/// Reason of a gap for a list that lacks entries that other resources refer to.
pub(crate) const REASON_CONTRADICTED: &str = "Contradicted";

/// Reason of a gap for evidence that was never provided.
pub(crate) const REASON_NOT_PROVIDED: &str = "NotProvided";
