//! Policies that tagaudit writes, in the terms that both clouds share.

use std::fmt;

/// Prefix of the name of every policy that tagaudit writes.
pub(crate) const NAME_PREFIX: &str = "tagaudit-baseline-";

/// A right in a policy that tagaudit writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// An action on every resource.
    Everywhere(String),
    /// An action as a published policy limits it.
    Limited(String, Limits),
}

/// Resources and conditions of a right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limits {
    /// ARN patterns, sorted.
    pub(crate) resources: Vec<String>,
    /// The condition element as minified JSON; empty without one.
    pub(crate) condition: String,
}

impl Grant {
    /// Grants actions on every resource.
    pub(crate) fn everywhere<S: AsRef<str>>(actions: impl IntoIterator<Item = S>) -> Vec<Self> {
        actions.into_iter().map(|action| Self::Everywhere(action.as_ref().to_owned())).collect()
    }

    pub(crate) fn action(&self) -> &str {
        match self {
            Self::Everywhere(action) | Self::Limited(action, _) => action,
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere(action) => f.write_str(action),
            Self::Limited(action, limits) => {
                write!(f, "{action} on {}", limits.resources.join(", "))?;
                if limits.condition.is_empty() { Ok(()) } else { write!(f, " if {}", limits.condition) }
            }
        }
    }
}

/// True if a pattern grants everything of a service, or of all: no policy of tagaudit does.
pub(crate) fn is_whole_service(action: &str) -> bool {
    let name = action.split_once(':').map_or("", |(_, name)| name);
    !name.contains(|c: char| c.is_ascii_alphanumeric())
}

/// The version that a fix created and its undo replaced: it is not the default, and holds the document that the undo
/// replaced. If the journal recorded its id, no other version counts; otherwise the newest does, by id.
/// Versions are tuples of id, true for the default version, and document.
#[cfg(any(feature = "aws", feature = "alibaba"))]
#[must_use]
pub(crate) fn undone_version<'v>(
    versions: &'v [(String, bool, Option<String>)],
    undone: Option<&str>,
    recorded: Option<&str>,
) -> Option<&'v str> {
    let number = |id: &str| id.trim_start_matches('v').parse::<u64>().unwrap_or_default();
    let left = versions.iter().filter(|(id, is_default, held)| {
        let is_recorded = recorded.is_none_or(|recorded| recorded == id);
        is_recorded && !is_default && undone.is_some() && held.as_deref() == undone
    });
    left.map(|(id, ..)| id.as_str()).max_by_key(|id| number(id))
}

/// The version that an undo makes the default again: the recorded one, if it still holds the document, otherwise the
/// first that does.
#[cfg(any(feature = "aws", feature = "alibaba"))]
#[must_use]
pub(crate) fn restored_version<'v>(
    versions: &'v [(String, bool, Option<String>)],
    document: &str,
    recorded: Option<&str>,
) -> Option<&'v str> {
    let holds = |(_, _, held): &&(String, bool, Option<String>)| held.as_deref() == Some(document);
    let is_recorded = |(id, ..): &&(String, bool, Option<String>)| recorded == Some(id.as_str());
    let mut all = versions.iter().filter(holds);
    let found = all.clone().find(is_recorded).or_else(|| all.next());
    found.map(|(id, ..)| id.as_str())
}
