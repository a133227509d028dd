//! Tags of the calls of controllers, for conditions on them.

use std::collections::BTreeMap;

/// A call with its tags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaggedCall<'c> {
    pub(crate) action: &'c str,
    /// ARNs.
    pub(crate) resources: &'c [String],
    /// Action that creates the resource, for tags that are part of a creation.
    pub(crate) creation: Option<&'static str>,
    pub(crate) request: &'c CallTags,
    pub(crate) resource: &'c CallTags,
}

/// Tags of a request, or of the resource that it changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallTags {
    /// Values by key; `None` for a value that is not known.
    pub(crate) known: BTreeMap<String, Option<String>>,
    /// True if there are others.
    pub(crate) has_others: bool,
}

impl CallTags {
    pub(crate) fn with(mut self, key: impl Into<String>, value: Option<&str>) -> Self {
        self.known.insert(key.into(), value.map(str::to_owned));
        self
    }

    /// Of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self { known: BTreeMap::new(), has_others: true }
    }
}
