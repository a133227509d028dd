//! Formats example resources in a readable form.

use crate::automaton::{Class, Language};
use crate::dialect::Dialect;
use crate::pattern::split_name;

/// Typical values for the common parts of a resource name: partition, region, account.
fn examples(dialect: &Dialect) -> &'static [(usize, &'static str)] {
    match dialect.resource_parts {
        5 => &[(2, "cn-hangzhou"), (3, "1234567890123456")],
        _ => &[(1, "aws"), (3, "us-east-1"), (4, "123456789012")],
    }
}

/// Example resource of a pattern, for display.
pub(super) fn sample(pattern: &str, dialect: &Dialect) -> String {
    if pattern == "*" {
        return "*".to_owned();
    }
    let examples = examples(dialect);
    let example = |index: usize, part: &str| match examples.iter().find(|(at, _)| *at == index) {
        Some((_, example)) if part == "*" => (*example).to_owned(),
        _ => part.replace(['*', '?'], "x"),
    };
    let parts = split_name(pattern, dialect).into_iter().take(dialect.resource_parts);
    parts.enumerate().map(|(index, part)| example(index, part)).collect::<Vec<_>>().join(":")
}

/// Witness of a region with its empty parts filled in, as long as it stays in the region.
pub(super) fn readable(region: &Class, universe: &Language, tracked: &[&Language], dialect: &Dialect) -> String {
    let parts = split_name(&region.witness, dialect).map(str::to_owned);
    let is_same = |text: &str| {
        universe.matches(text)
            && tracked.iter().zip(&region.matches).all(|(language, expected)| language.matches(text) == *expected)
    };
    let mut best = region.witness.clone();
    for (at, filling) in examples(dialect) {
        let mut filled = split_name(&best, dialect).map(str::to_owned);
        if parts.get(*at).is_some_and(|part| part.len() <= 1)
            && let Some(part) = filled.get_mut(*at)
        {
            (*filling).clone_into(part);
            let filled: Vec<String> = filled.into_iter().take(dialect.resource_parts).collect();
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
