//! Resource patterns as terms of the answer.

use std::collections::HashMap;

use super::super::automaton::{self, Language, Relation};
use super::super::dialect::Dialect;
use super::super::document::Effect;
use super::super::evaluate::CompiledStatement;
use super::super::glob;
use super::super::pattern::{ActionPattern, Match, Part, ResourcePattern};
use super::super::text::Text;
use super::super::truth::Atom;
use super::ResourceTerm;
use super::scope::ResourceTarget;
use super::work::Work;

/// Cached results for equivalent actions: the same statements match them, they apply to the same resources, in the same
/// region, and lack the same keys.
pub(crate) struct EquivalentActions {
    pub(super) known: HashMap<(String, Vec<(usize, Match)>, Vec<String>, Vec<bool>), bool>,
    /// Work left for all actions together: they are one question.
    pub(super) work: Work,
}

impl Default for EquivalentActions {
    fn default() -> Self {
        Self { known: HashMap::new(), work: Work::whole() }
    }
}

/// Result of matching a pattern: the same in every region, or tracked by region.
pub(super) enum Bit {
    Fixed(bool),
    Tracked(usize),
}

/// Patterns that match part of a target, without duplicates.
#[derive(Default)]
pub(super) struct Tracked<'l> {
    pub(super) languages: Vec<&'l Language>,
    pub(super) places: HashMap<&'l Language, usize>,
}

pub(super) fn bit<'l>(target: &ResourceTarget, language: &'l Language, tracked: &mut Tracked<'l>) -> Bit {
    let Some(universe) = &target.universe else {
        // Only asterisks match a request that names no resource.
        return Bit::Fixed(*language == Language::everything());
    };
    match automaton::relation(universe, language) {
        Relation::Covers => Bit::Fixed(true),
        Relation::Disjoint => Bit::Fixed(false),
        Relation::Overlaps => {
            let next = tracked.languages.len();
            let place = *tracked.places.entry(language).or_insert(next);
            if place == next {
                tracked.languages.push(language);
            }
            Bit::Tracked(place)
        }
    }
}

/// True if a pattern holds a variable, whose value differs between requests.
pub(super) fn is_wide(pattern: &ResourcePattern) -> bool {
    matches!(pattern, ResourcePattern::Arn(parts) if parts.iter().any(|part| matches!(part, Part::Pieces(_))))
}

/// Languages of a statement's pattern; if its reading is open, also the widest possible reading, marked as uncertain.
pub(super) fn terms(text: &Text, pattern: &ResourcePattern, dialect: &Dialect) -> Vec<ResourceTerm> {
    let has_variable = is_wide(pattern);
    let uncertainty = || Atom::Wide(text.to_string());
    let term = |language, uncertainty| ResourceTerm { text: text.to_string(), language, uncertainty };
    if let ResourcePattern::Open(open) = pattern {
        let deployed = || Some(Atom::Deployed(format!("`{text}` matches")));
        return Language::widest(open, dialect).into_iter().map(|language| term(language, deployed())).collect();
    }
    let mut found = Vec::new();
    if let Some(language) = Language::from_resource(pattern) {
        found.push(term(language, has_variable.then(uncertainty)));
    }
    // Part by part, `arn:aws:ec2:*:instance/*` matches nothing; it matches everything intended if `*` may cross colons
    // at the end of a part, as newer text of the IAM User Guide has it.
    let colons = text.matches(':').count();
    let is_name = text.split_once(':').is_some_and(|(prefix, _)| prefix == dialect.resource_prefix);
    if is_name && colons + 1 < dialect.resource_parts && text.trim_end_matches('*').contains('*') {
        found.push(term(Language::spanning(text), Some(uncertainty())));
    }
    found
}

/// Matches a statement against an action or a whole pattern. An Allow that covers a part of the pattern does not match;
/// a Deny that covers a part does.
pub(super) fn match_action(statement: &CompiledStatement, action: &str) -> Match {
    if !action.contains(['*', '?']) {
        return statement.matches_action(action);
    }
    let by = |glob: &dyn Fn(&str) -> bool, pattern: &ActionPattern| match pattern {
        ActionPattern::Open(widest) if glob::intersects(widest, action) => Match::Open,
        known => known.as_glob().is_some_and(|text| glob(&text)).into(),
    };
    let any = |test: &dyn Fn(&str) -> bool| Match::any(statement.actions.iter().map(|pattern| by(test, pattern)));
    let covers = |glob: &str| glob::contains(glob, action);
    let touches = |glob: &str| glob::intersects(glob, action);
    match (statement.effect, statement.not_action) {
        (Effect::Allow, false) => any(&covers),
        (Effect::Allow, true) => any(&touches).not(),
        (Effect::Deny, false) => any(&touches),
        (Effect::Deny, true) => any(&covers).not(),
    }
}
