//! Policies that tagaudit writes, in the terms that both clouds share.

/// Prefix of the name of every policy that tagaudit writes.
pub(crate) const NAME_PREFIX: &str = "tagaudit-baseline-";

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
