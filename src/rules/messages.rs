//! What the controllers write in logs and events, with the versions that write it and the function that does. One table
//! for each component.

use std::sync::LazyLock;

mod alibaba;
mod cloud_controller;
mod load_balancer_controller;
mod nodes;
mod scaling;
mod storage;

/// Rules that find why a call was refused, the most probable first.
pub(crate) mod refusals {
    /// A RAM policy refused.
    pub(crate) const RAM: &[&str] =
        &["ram-action-missing", "ram-action-denied", "ram-action-partial", "ram-controller-principal-assumed"];
    /// No policy of the role allows the action.
    pub(crate) const NOTHING_ALLOWS: &[&str] = &["iam-action-missing", "iam-action-partial"];
    /// The line does not state which policy refused.
    pub(crate) const UNSTATED: &[&str] = &["iam-action-missing", "iam-action-partial", "iam-action-denied"];
    /// A policy refused whatever the role allows.
    pub(crate) const DENIED: &[&str] = &["iam-action-denied"];
}

/// Something that a component writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) component: &'static str,
    /// Constant parts of its text, all of which it contains.
    pub(crate) parts: &'static [&'static str],
    /// Parts that it does not contain.
    without: &'static [&'static str],
    /// Versions of the component that write it; `..` before the first that was read.
    pub(crate) versions: &'static str,
    /// `path#function` in the repository of the component, or a document.
    pub(crate) source: &'static str,
    pub(crate) meaning: &'static str,
    /// False if nothing is wrong.
    pub(crate) is_defect: bool,
    /// Rules that find the cause, the most probable first.
    pub(crate) rules: &'static [&'static str],
    /// Rules that apply under a further condition.
    pub(crate) conditions: &'static [&'static str],
    /// True if it counts although the line reports a refusal of IAM.
    pub(crate) is_over_refusal: bool,
}

/// All messages.
pub(crate) fn all() -> impl Iterator<Item = &'static Message> {
    let tables = [
        cloud_controller::MESSAGES,
        load_balancer_controller::MESSAGES,
        storage::MESSAGES,
        scaling::MESSAGES,
        nodes::MESSAGES,
        alibaba::MESSAGES,
    ];
    tables.into_iter().flatten()
}

const fn message(
    component: &'static str,
    parts: &'static [&'static str],
    versions: &'static str,
    source: &'static str,
    is_defect: bool,
) -> Message {
    Message {
        component,
        parts,
        without: &[],
        versions,
        source,
        meaning: "",
        is_defect,
        rules: &[],
        conditions: &[],
        is_over_refusal: false,
    }
}

/// A message that reports a defect.
const fn defect(
    component: &'static str,
    parts: &'static [&'static str],
    versions: &'static str,
    source: &'static str,
) -> Message {
    message(component, parts, versions, source, true)
}

/// A message that looks bad, or good, and reports no defect.
const fn harmless(
    component: &'static str,
    parts: &'static [&'static str],
    versions: &'static str,
    source: &'static str,
) -> Message {
    message(component, parts, versions, source, false)
}

impl Message {
    const fn rules(self, rules: &'static [&'static str]) -> Self {
        Self { rules, ..self }
    }

    const fn conditions(self, conditions: &'static [&'static str]) -> Self {
        Self { conditions, ..self }
    }

    const fn means(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    const fn unless(self, without: &'static [&'static str]) -> Self {
        Self { without, ..self }
    }

    const fn over_refusal(self) -> Self {
        Self { is_over_refusal: true, ..self }
    }

    /// Number of characters that are constant: the more, the more specific.
    fn weight(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}

/// A message, with its parts in lower case: pastes are compared without regard to case.
struct Pattern {
    message: &'static Message,
    parts: Vec<String>,
    without: Vec<String>,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let lower = |parts: &[&str]| parts.iter().map(|part| part.to_lowercase()).collect();
    let pattern =
        |message: &'static Message| Pattern { message, parts: lower(message.parts), without: lower(message.without) };
    all().map(pattern).collect()
});

impl Pattern {
    /// True if a text in lower case is this message.
    fn is_in(&self, text: &str) -> bool {
        let has = |part: &String| text.contains(part.as_str());
        self.parts.iter().all(has) && !self.without.iter().any(has)
    }

    /// True if a text in lower case ends within this message: a paste that was cut.
    fn is_cut_off_in(&self, text: &str) -> bool {
        let [whole] = self.parts.as_slice() else { return false };
        let least = SHORTEST_CUT.max(whole.len() * 2 / 5);
        let ends = (least..whole.len()).rev().filter(|end| whole.is_char_boundary(*end));
        ends.filter_map(|end| whole.get(..end)).any(|start| text.ends_with(start))
    }
}

/// Fewest characters by which a message that was cut is known.
const SHORTEST_CUT: usize = 18;

/// The most specific message of readings of a text, in lower case. A message that was cut counts only if no whole one is
/// there.
pub(crate) fn find(readings: &[String], is_refusal: bool) -> Option<&'static Message> {
    let counts = |pattern: &&Pattern| !is_refusal || pattern.message.is_over_refusal;
    let is_whole = |pattern: &&Pattern| readings.iter().any(|text| pattern.is_in(text));
    let whole = PATTERNS.iter().filter(counts).filter(is_whole).map(|pattern| pattern.message);
    // Of equals the first counts.
    let best = whole.reduce(|best, other| if other.weight() > best.weight() { other } else { best });
    best.or_else(|| {
        let is_cut = |pattern: &&Pattern| readings.iter().any(|text| pattern.is_cut_off_in(text));
        PATTERNS.iter().filter(|_| !is_refusal).find(is_cut).map(|pattern| pattern.message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_a_message_exists() {
        for message in all() {
            for rule in message.rules.iter().chain(message.conditions) {
                assert!(crate::rules::find(rule).is_some(), "{rule} of {:?}", message.parts);
            }
            assert!(!message.meaning.is_empty() && !message.source.is_empty(), "{:?}", message.parts);
            assert!(message.is_defect || message.rules.is_empty(), "{:?}", message.parts);
        }
    }

    /// Each message is found by its own constant parts: no other one is more specific there.
    #[test]
    fn no_message_hides_another() {
        for message in all() {
            let text = message.parts.join(" … ").to_lowercase();
            let found = find(&[text], false).unwrap();
            assert!(
                std::ptr::eq(found, message) || found.rules == message.rules,
                "{:?} is taken for {:?}",
                message.parts,
                found.parts
            );
        }
    }

    #[test]
    fn a_message_that_was_cut_is_known_by_its_beginning() {
        assert!(find(&["x: multiple tagged secur".to_owned()], false).is_some());
        assert!(find(&["failed to ensure load balancer: error".to_owned()], false).is_none());
    }
}
