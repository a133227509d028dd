//! Contradictions in the evidence: a live resource names an id that the list of its kind lacks. Such a list was
//! filtered, truncated, or read in another region or account, and proves nothing about missing entries.

use std::collections::BTreeMap;

use crate::resource::ResourceKind;

use super::{Gap, REASON_CONTRADICTED, Read};

/// Number of ids that a message names before it counts the rest.
const NAMED: usize = 3;

/// An id that a live resource names and the list of its kind lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unlisted<'a> {
    /// The call that lists the kind.
    pub read: Read,
    pub id: &'a str,
    /// Kind of the resource that names it.
    pub named_by: (ResourceKind, &'a str),
}

/// One gap for each list that lacks ids, unless the list is already known to be incomplete.
pub(crate) fn gaps(account_id: &str, region: &str, known: &[Gap], unlisted: &[Unlisted<'_>]) -> Vec<Gap> {
    let mut by_read: BTreeMap<Read, BTreeMap<&str, (ResourceKind, &str)>> = BTreeMap::new();
    for one in unlisted {
        by_read.entry(one.read).or_default().entry(one.id).or_insert(one.named_by);
    }
    let is_said = |read: Read| {
        known.iter().any(|gap| {
            gap.read == read
                && gap.concerns_list()
                && gap.concerns_account(account_id)
                && gap.region.as_deref().is_none_or(|name| name == region)
        })
    };
    let unsaid = by_read.into_iter().filter(|(read, _)| !is_said(*read));
    unsaid
        .map(|(read, lacking)| {
            let shown = lacking.iter().take(NAMED).map(|(id, (kind, by))| format!("`{id}` of {} `{by}`", kind.noun()));
            let shown = shown.collect::<Vec<_>>().join(", ");
            let rest = match lacking.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Gap {
                read,
                account_id: Some(account_id.to_owned()),
                region: Some(region.to_owned()),
                resource: None,
                policy: None,
                reason: REASON_CONTRADICTED.to_owned(),
                message: format!("the list lacks {shown}{rest}: it was filtered, or read in another region or account"),
            }
        })
        .collect()
}
