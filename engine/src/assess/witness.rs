//! Resources that show something, as a person would write them.

use crate::automaton::{Class, Language};
use crate::pattern::split_arn;

/// A resource of a pattern, for a person.
pub(super) fn sample(pattern: &str) -> String {
    if pattern == "*" {
        return "*".to_owned();
    }
    let parts = split_arn(pattern);
    let example = |index: usize, part: &str| match (index, part) {
        (1, "*") => "aws".to_owned(),
        (3, "*") => "us-east-1".to_owned(),
        (4, "*") => "123456789012".to_owned(),
        (_, part) => part.replace(['*', '?'], "x"),
    };
    parts.iter().enumerate().map(|(index, part)| example(index, part)).collect::<Vec<_>>().join(":")
}

/// The witness of a region with its empty parts filled in, as far as that leaves it in the region.
pub(super) fn readable(region: &Class, universe: &Language, tracked: &[&Language]) -> String {
    let parts = split_arn(&region.witness).map(str::to_owned);
    let is_same = |text: &str| {
        universe.matches(text)
            && tracked.iter().zip(&region.matches).all(|(language, expected)| language.matches(text) == *expected)
    };
    let mut best = region.witness.clone();
    for (at, filling) in [(1, "aws"), (3, "us-east-1"), (4, "123456789012")] {
        let mut filled = split_arn(&best).map(str::to_owned);
        if parts.get(at).is_some_and(|part| part.len() <= 1)
            && let Some(part) = filled.get_mut(at)
        {
            filling.clone_into(part);
            let text = filled.join(":");
            if is_same(&text) {
                best = text;
            }
        }
    }
    if best.ends_with(['/', ':']) {
        let text = format!("{best}x");
        if is_same(&text) {
            best = text;
        }
    }
    best
}
