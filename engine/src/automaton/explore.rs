//! Explores all patterns at once: the classes into which they split the matches of another one.

use std::collections::{BTreeSet, HashSet, VecDeque};

use super::{Language, Symbol};

/// A combination of patterns that some resource of the universe matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    /// For each pattern, true if the resource matches it.
    pub(crate) matches: Vec<bool>,
    /// The shortest such resource.
    pub(crate) witness: String,
}

/// Positions after which an exploration stops: about 25 ms of work.
pub(crate) const BUDGET: usize = 200_000;

/// Every combination of patterns that resources of the universe match; `None` if the work would exceed the budget. The
/// work done is subtracted from the budget.
pub(crate) fn explore(universe: &Language, patterns: &[&Language], budget: &mut usize) -> Option<Vec<Class>> {
    let limit = BUDGET.min(*budget);
    let mut work = 0;
    let found = explore_within(universe, patterns, limit, &mut work);
    *budget = budget.saturating_sub(work);
    found
}

/// Marks a pattern that matches every continuation.
pub(super) const UNIVERSAL: u32 = u32::MAX;

/// Number of combinations after which an exploration stops.
pub(super) const MAX_REGIONS: usize = 8_192;

pub(super) fn explore_within(
    universe: &Language,
    patterns: &[&Language],
    limit: usize,
    work: &mut usize,
) -> Option<Vec<Class>> {
    let all: Vec<&Language> = std::iter::once(universe).chain(patterns.iter().copied()).collect();
    let collapse = |index: u32, language: &Language, positions: Vec<u32>| {
        if index > 0 && language.is_universal(&positions) { vec![UNIVERSAL] } else { positions }
    };
    let numbered = (0_u32..).zip(&all);
    let start: AutomatonState =
        numbered.map(|(index, language)| (index, collapse(index, language, language.start()))).collect();
    // Breadth first, so that the first resource of a combination is a shortest one; predecessors are kept to spell it
    // out.
    let mut came_from: Vec<(usize, char)> = vec![(0, '\0')];
    let mut seen: HashSet<AutomatonState> = HashSet::from([start.clone()]);
    let mut queue: VecDeque<(usize, AutomatonState)> = VecDeque::from([(0, start)]);
    let mut regions: Vec<Class> = Vec::new();
    let mut known: BTreeSet<Vec<u32>> = BTreeSet::new();
    while let Some((id, state)) = queue.pop_front() {
        let accepting: Vec<u32> = state
            .iter()
            .filter(|(index, positions)| {
                positions.as_slice() == [UNIVERSAL]
                    || all.get(*index as usize).is_some_and(|language| language.accepts(positions))
            })
            .map(|(index, _)| *index)
            .collect();
        if accepting.first() == Some(&0) && known.insert(accepting.clone()) {
            if regions.len() == MAX_REGIONS {
                return None;
            }
            let mut matches = vec![false; patterns.len()];
            for index in accepting.iter().skip(1) {
                if let Some(matched) = matches.get_mut(*index as usize - 1) {
                    *matched = true;
                }
            }
            regions.push(Class { matches, witness: spell(&came_from, id) });
        }
        for letter in letters(&all, &state) {
            let mut next: AutomatonState = Vec::new();
            for (index, positions) in &state {
                *work += positions.len();
                let Some(language) = all.get(*index as usize) else { continue };
                let stepped = if positions.as_slice() == [UNIVERSAL] {
                    vec![UNIVERSAL]
                } else {
                    collapse(*index, language, language.step(positions, letter))
                };
                if !stepped.is_empty() {
                    next.push((*index, stepped));
                } else if *index == 0 {
                    break;
                }
            }
            if *work > limit {
                return None;
            }
            if next.first().is_none_or(|(index, _)| *index != 0) {
                continue;
            }
            if seen.insert(next.clone()) {
                let new = came_from.len();
                came_from.push((id, letter));
                queue.push_back((new, next));
            }
        }
    }
    regions.sort_by(|a, b| a.matches.cmp(&b.matches));
    Some(regions)
}

/// Letters that can affect the result: the characters that some pattern expects next, a colon if some wildcard does not
/// match it, and one that represents all others.
pub(super) fn letters(all: &[&Language], state: &AutomatonState) -> Vec<char> {
    let waiting = |(index, positions): &(u32, Vec<u32>)| -> Vec<Symbol> {
        let symbols = all.get(*index as usize).map(|language| language.symbols.as_slice()).unwrap_or_default();
        positions.iter().filter_map(|position| symbols.get(*position as usize).copied()).collect()
    };
    let mut letters: BTreeSet<char> = BTreeSet::new();
    let mut open = false;
    for symbol in state.first().map(waiting).unwrap_or_default() {
        match symbol {
            Symbol::Character(character) => {
                letters.insert(character);
            }
            Symbol::Folded(character) => letters.extend([character, character.to_ascii_uppercase()]),
            _ => open = true,
        }
    }
    if open {
        for symbol in state.iter().flat_map(waiting) {
            match symbol {
                Symbol::Character(character) => {
                    letters.insert(character);
                }
                Symbol::Folded(character) => letters.extend([character, character.to_ascii_uppercase()]),
                Symbol::One { colon } | Symbol::Run { colon } => {
                    if !colon {
                        letters.insert(':');
                    }
                }
            }
        }
        let others = ('a'..='z').rev().skip(2).chain('0'..='9').chain('\u{e000}'..='\u{f8ff}');
        letters.extend(others.filter(|c| !letters.contains(c)).take(1).collect::<Vec<_>>());
    }
    letters.into_iter().collect()
}

pub(super) fn spell(came_from: &[(usize, char)], id: usize) -> String {
    let mut letters = Vec::new();
    let mut at = id;
    while at != 0 {
        let Some(&(before, letter)) = came_from.get(at) else { break };
        letters.push(letter);
        at = before;
    }
    letters.into_iter().rev().collect()
}

/// A state of the product: positions of the universe (0) and of each pattern (from 1) that can still match. Patterns
/// that cannot are dropped, so that a list of a thousand names costs as much as the few that are still possible.
pub(super) type AutomatonState = Vec<(u32, Vec<u32>)>;
