//! Languages of resource patterns: decides exactly which combinations of patterns a resource can match.
//!
//! A pattern is a word over characters and wildcards, so a set of positions in it is a state of an automaton.
//! [`explore()`] walks the product of several automata, breadth first, and returns each combination of patterns that some
//! resource matches, with the shortest such resource. Containment in a union, intersection and difference all follow
//! from that list. The product of `n` patterns could have exponentially many states. Two properties keep it small for
//! realistic patterns, and a work budget stops the rest:
//!
//! - once a `*` is reached, positions before it add nothing (whatever follows them follows the `*` too), so only the
//!   last `*` reached in a part and the positions after it are kept;
//! - a pattern that has reached a `*` at its end matches every continuation.

use super::dialect::Dialect;
use super::pattern::{ARN_PARTS, Part, ResourcePattern};
use super::text::{Text, TextPart};
use super::variables::Piece;

mod explore;

pub(crate) use explore::{BUDGET, Class, explore};

/// One position of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Symbol {
    /// One exact character.
    Character(char),
    /// One ASCII letter in either case, stored in lower case.
    Folded(char),
    /// Any one character; in the first five parts of an ARN, any except a colon.
    One { colon: bool },
    /// Any sequence of such characters.
    Run { colon: bool },
}

impl Symbol {
    fn matches(self, letter: char) -> bool {
        match self {
            Self::Character(character) => character == letter,
            Self::Folded(character) => letter.eq_ignore_ascii_case(&character),
            Self::One { colon } | Self::Run { colon } => colon || letter != ':',
        }
    }

    fn is_run(self) -> bool {
        matches!(self, Self::Run { .. })
    }
}

/// The set of resources that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Language {
    symbols: Vec<Symbol>,
    /// Number of parts in the names of resources.
    count: usize,
}

impl Language {
    /// All resources.
    pub(super) fn everything() -> Self {
        Self { symbols: vec![Symbol::Run { colon: true }], count: ARN_PARTS }
    }

    /// Language of a plain glob over text without parts, such as an action.
    pub(super) fn from_glob(pattern: &str) -> Self {
        let mut language = Self { symbols: Vec::new(), count: ARN_PARTS };
        language.push(pattern, true);
        language
    }

    /// Language of one text; its asterisks and question marks are literal.
    pub(super) fn literal(text: &str) -> Self {
        Self { symbols: text.chars().map(Symbol::Character).collect(), count: ARN_PARTS }
    }

    /// Language of one text, with its ASCII letters in either case.
    pub(super) fn folded(text: &str) -> Self {
        let symbol = |letter: char| {
            if letter.is_ascii_alphabetic() {
                Symbol::Folded(letter.to_ascii_lowercase())
            } else {
                Symbol::Character(letter)
            }
        };
        Self { symbols: text.chars().map(symbol).collect(), count: ARN_PARTS }
    }

    /// Language of a resource pattern. An unknown variable matches any text, so the result is an upper bound. `None`
    /// for a pattern that matches nothing, and for one with parts that are unknown until deployment ([`Self::widest`]).
    pub(super) fn from_resource(pattern: &ResourcePattern) -> Option<Self> {
        let parts = match pattern {
            ResourcePattern::Everything => return Some(Self::everything()),
            ResourcePattern::Nothing | ResourcePattern::Open(_) => return None,
            ResourcePattern::Arn(parts) => parts,
        };
        let mut language = Self { symbols: Vec::new(), count: parts.len() };
        for (index, part) in parts.iter().enumerate() {
            let last = index + 1 == parts.len();
            match part {
                Part::Any => language.push("*", last),
                Part::Exact(text) | Part::Glob(text) => language.push(text, last),
                Part::Pieces(pieces) => {
                    for piece in pieces {
                        match piece {
                            Piece::Text(text) => language.push(text, last),
                            Piece::Literal(text) => language.symbols.extend(text.chars().map(Symbol::Character)),
                            Piece::Variable { .. } => language.push("*", last),
                        }
                    }
                }
            }
            if !last {
                language.symbols.push(Symbol::Character(':'));
            }
        }
        Some(language)
    }

    /// Upper bound of a pattern's matches.
    pub(super) fn at_most(pattern: &ResourcePattern, dialect: &Dialect) -> Vec<Self> {
        match pattern {
            ResourcePattern::Open(text) => Self::widest(text, dialect),
            known => Self::from_resource(known).into_iter().collect(),
        }
    }

    /// Upper bound of a pattern's matches for any values of its unknown parts. These may contain colons and thus shift
    /// the parts after them. A pattern that may have too few parts also matches any continuation.
    pub(super) fn widest(text: &Text, dialect: &Dialect) -> Vec<Self> {
        let count = dialect.resource_parts;
        let mut language = Self { symbols: Vec::new(), count };
        let mut colons = 0;
        for part in text.parts() {
            match part {
                TextPart::Unknown(_) => {
                    colons = count;
                    language.push("*", true);
                }
                TextPart::Known(known) => {
                    for character in known.chars() {
                        language.push(character.encode_utf8(&mut [0; 4]), colons + 1 >= count);
                        colons += usize::from(character == ':');
                    }
                }
            }
        }
        let is_surely_whole = text.parts().filter_map(|part| match part {
            TextPart::Known(known) => Some(known.matches(':').count()),
            TextPart::Unknown(_) => None,
        });
        if is_surely_whole.sum::<usize>() + 1 >= count || language.symbols.last().is_some_and(|last| last.is_run()) {
            return vec![language];
        }
        let mut followed = language.clone();
        followed.push(":*", true);
        vec![language, followed]
    }

    /// Language in which wildcards cross colons: the other reading of a pattern with too few parts.
    pub(super) fn spanning(text: &str) -> Self {
        Self::from_glob(text)
    }

    fn push(&mut self, text: &str, colon: bool) {
        for character in text.chars() {
            let symbol = match character {
                '*' => Symbol::Run { colon },
                '?' => Symbol::One { colon },
                other => Symbol::Character(other),
            };
            // `**` equals `*`, as wide as the wider of the two.
            match (symbol, self.symbols.last_mut()) {
                (Symbol::Run { colon }, Some(Symbol::Run { colon: known })) => *known |= colon,
                _ => self.symbols.push(symbol),
            }
        }
    }

    /// True if the language contains a text.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut positions = self.start();
        for letter in text.chars() {
            positions = self.step(&positions, letter);
        }
        self.accepts(&positions)
    }

    /// Parts of the name of a resource; `None` for a language whose wildcards cross them.
    fn parts(&self) -> Option<[&[Symbol]; ARN_PARTS]> {
        let mut parts: [&[Symbol]; ARN_PARTS] = [&[]; ARN_PARTS];
        let mut found = self.symbols.splitn(self.count, |symbol| *symbol == Symbol::Character(':'));
        for (index, part) in parts.iter_mut().enumerate().take(self.count) {
            *part = found.next()?;
            if index + 1 < self.count && part.iter().any(|symbol| symbol.matches(':')) {
                return None;
            }
        }
        Some(parts)
    }

    /// Adds the positions after runs, which may be empty, and drops redundant ones.
    fn epsilon_closure(&self, positions: &mut Vec<u32>) {
        let mut at = 0;
        while let Some(&position) = positions.get(at) {
            if self.symbols.get(position as usize).is_some_and(|symbol| symbol.is_run()) {
                positions.push(position + 1);
            }
            at += 1;
        }
        positions.sort_unstable();
        positions.dedup();
        // The furthest run reaches everything that a position before it can still reach, unless a colon is required
        // between them that the run does not match.
        let run = positions.iter().rev().find_map(|&position| match self.symbols.get(position as usize) {
            Some(Symbol::Run { colon }) => Some((position, *colon)),
            _ => None,
        });
        if let Some((run, colon)) = run {
            let needs_colon = |from: u32| {
                let between = self.symbols.get(from as usize..run as usize).unwrap_or_default();
                between.iter().any(|symbol| symbol.matches(':'))
            };
            positions.retain(|&position| position >= run || (!colon && needs_colon(position)));
        }
    }

    fn step(&self, positions: &[u32], letter: char) -> Vec<u32> {
        let mut next = Vec::with_capacity(positions.len() + 1);
        for &position in positions {
            if let Some(symbol) = self.symbols.get(position as usize)
                && symbol.matches(letter)
            {
                next.push(if symbol.is_run() { position } else { position + 1 });
            }
        }
        self.epsilon_closure(&mut next);
        next
    }

    fn start(&self) -> Vec<u32> {
        let mut positions = vec![0];
        self.epsilon_closure(&mut positions);
        positions
    }

    fn accepts(&self, positions: &[u32]) -> bool {
        positions.last().is_some_and(|last| *last as usize == self.symbols.len())
    }

    /// True if every continuation is accepted.
    fn is_universal(&self, positions: &[u32]) -> bool {
        let last = self.symbols.len().wrapping_sub(1);
        matches!(self.symbols.last(), Some(Symbol::Run { colon: true }))
            && positions.iter().any(|position| *position as usize == last)
    }
}

/// True if both languages have a text in common.
pub(super) fn overlaps(one: &Language, other: &Language) -> bool {
    let (rows, columns) = (one.symbols.len() + 1, other.symbols.len() + 1);
    let mut seen = vec![false; rows * columns];
    let mut open = vec![(0, 0)];
    while let Some((i, j)) = open.pop() {
        match seen.get_mut(i * columns + j) {
            Some(known) if !*known => *known = true,
            _ => continue,
        }
        let (a, b) = (one.symbols.get(i).copied(), other.symbols.get(j).copied());
        // A run may be empty.
        if a.is_some_and(Symbol::is_run) {
            open.push((i + 1, j));
        }
        if b.is_some_and(Symbol::is_run) {
            open.push((i, j + 1));
        }
        let (Some(a), Some(b)) = (a, b) else {
            if a.is_none() && b.is_none() {
                return true;
            }
            continue;
        };
        let is_shared = match (a, b) {
            (Symbol::Character(letter) | Symbol::Folded(letter), other)
            | (other, Symbol::Character(letter) | Symbol::Folded(letter)) => other.matches(letter),
            // Both match any letter except a colon.
            _ => true,
        };
        if is_shared {
            open.push((i + usize::from(!a.is_run()), j + usize::from(!b.is_run())));
        }
    }
    false
}

/// Relation of a pattern to a universe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// Matches none of it.
    Disjoint,
    /// Matches all of it.
    Covers,
    /// Matches a part of it, or the relation is unknown.
    Overlaps,
}

/// Relation of a pattern to a universe, by a cheap check. `Overlaps` is always a safe answer.
pub(super) fn relation(universe: &Language, pattern: &Language) -> Relation {
    if universe == pattern || matches!(pattern.symbols.as_slice(), [Symbol::Run { colon: true }]) {
        return Relation::Covers;
    }
    if universe.count != pattern.count {
        return Relation::Overlaps;
    }
    let (Some(one), Some(other)) = (universe.parts(), pattern.parts()) else { return Relation::Overlaps };
    let mut all = Relation::Covers;
    for (one, other) in one.iter().zip(&other) {
        match part_relation(one, other) {
            Relation::Disjoint => return Relation::Disjoint,
            Relation::Overlaps => all = Relation::Overlaps,
            Relation::Covers => {}
        }
    }
    all
}

/// Relation between two patterns of one ARN component.
fn part_relation(one: &[Symbol], other: &[Symbol]) -> Relation {
    if one == other {
        return Relation::Covers;
    }
    for pair in one.iter().zip(other) {
        match pair {
            (Symbol::Character(a), Symbol::Character(b)) if a == b => {}
            (Symbol::Character(_), Symbol::Character(_)) => return Relation::Disjoint,
            _ => break,
        }
    }
    let is_literal = |part: &[Symbol]| part.iter().all(|symbol| matches!(symbol, Symbol::Character(_)));
    match other {
        [prefix @ .., Symbol::Run { .. }] if is_literal(prefix) && one.starts_with(prefix) => Relation::Covers,
        _ if is_literal(one) && is_literal(other) => Relation::Disjoint,
        _ => Relation::Overlaps,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::context::Context;
    use crate::glob;
    use crate::pattern::split_arn;

    /// Checks that the patterns together match all of the universe; returns a resource that none matches otherwise.
    fn contained(universe: &Language, patterns: &[&Language]) -> Option<Result<(), String>> {
        let uncovered = explore(universe, patterns, &mut BUDGET.clone())?
            .into_iter()
            .find(|region| !region.matches.contains(&true));
        Some(match uncovered {
            Some(region) => Err(region.witness),
            None => Ok(()),
        })
    }

    fn resource(text: &str) -> Language {
        Language::from_resource(&ResourcePattern::from_arn(text)).unwrap()
    }

    #[test]
    fn unions_cover_more_than_their_parts() {
        let universe = resource("arn:aws:ec2:us-east-1:1:volume/?");
        let rest = resource("arn:aws:ec2:us-east-1:1:volume/*");
        assert_eq!(contained(&universe, &[&rest]), Some(Ok(())));
        let narrow = [resource("arn:aws:ec2:*:1:volume/v*"), resource("arn:aws:ec2:us-*:*:volume/?")];
        assert_eq!(contained(&universe, &[&narrow[0], &narrow[1]]), Some(Ok(())));
        let Some(Err(witness)) = contained(&rest, &[&narrow[0], &narrow[1]]) else { panic!() };
        assert_eq!(witness, "arn:aws:ec2:us-east-1:1:volume/");
    }

    #[test]
    fn hostile_unions_end_undecided_or_decided_and_soon() {
        let patterns: Vec<Language> =
            (0..100).map(|n| Language::from_glob(&format!("*{}*{}*a?*b", n % 10, n / 10))).collect();
        let all: Vec<&Language> = patterns.iter().collect();
        let mut budget = 3 * BUDGET;
        assert_eq!(explore(&Language::everything(), &all, &mut budget), None);
        assert!(budget < 2 * BUDGET, "the work is paid for");
        assert_eq!(explore(&Language::everything(), &all, &mut 10), None);
    }

    /// Every word of up to `length` letters.
    fn words(letters: &[char], length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length {
            last = last.iter().flat_map(|word| letters.iter().map(move |letter| format!("{word}{letter}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    proptest! {
        #[test]
        fn combinations_agree_with_every_short_word(
            universe in "[ab*?]{0,4}",
            patterns in prop::collection::vec("[ab*?]{0,4}", 0..4),
        ) {
            let languages: Vec<Language> = patterns.iter().map(|pattern| Language::from_glob(pattern)).collect();
            let regions = explore(&Language::from_glob(&universe), &languages.iter().collect::<Vec<_>>(), &mut BUDGET.clone()).unwrap();
            let mut expected: BTreeSet<Vec<bool>> = BTreeSet::new();
            for word in words(&['a', 'b', 'c'], 7) {
                if glob::matches(&universe, &word) {
                    expected.insert(patterns.iter().map(|pattern| glob::matches(pattern, &word)).collect());
                }
            }
            let found: BTreeSet<Vec<bool>> = regions.iter().map(|region| region.matches.clone()).collect();
            prop_assert!(found.is_superset(&expected), "{found:?} {expected:?}");
            // A combination that needs a longer word is proven by its own witness.
            for region in regions {
                prop_assert!(glob::matches(&universe, &region.witness));
                let matches: Vec<bool> = patterns.iter().map(|pattern| glob::matches(pattern, &region.witness)).collect();
                prop_assert_eq!(matches, region.matches);
            }
        }

        #[test]
        fn two_patterns_meet_where_a_short_word_is_in_both(one in "[ab*?]{0,4}", other in "[ab*?]{0,4}") {
            let both = words(&['a', 'b', 'c'], 8).iter().any(|word| glob::matches(&one, word) && glob::matches(&other, word));
            prop_assert_eq!(overlaps(&Language::from_glob(&one), &Language::from_glob(&other)), both);
        }

        #[test]
        fn resource_patterns_agree_with_matching(
            universe in "(arn:(aws|\\*):(ec2|\\*|e?2):[a*]{0,2}:[1*?]{0,2}:[ab/:*?]{0,4}|\\*)",
            patterns in prop::collection::vec("(arn:(aws|\\*):(ec2|\\*)(:[a*]{0,2}(:[1*?]{0,2}(:[ab/:*?]{0,4})?)?)?|\\*)", 1..4),
        ) {
            let compiled: Vec<ResourcePattern> = patterns.iter().map(|text| ResourcePattern::from_arn(text)).collect();
            let languages: Vec<Language> = compiled.iter().map(|p| Language::from_resource(p).unwrap()).collect();
            let whole = ResourcePattern::from_arn(&universe);
            let language = Language::from_resource(&whole).unwrap();
            let regions = explore(&language, &languages.iter().collect::<Vec<_>>(), &mut BUDGET.clone()).unwrap();
            prop_assert!(!regions.is_empty());
            let context = Context::default();
            for region in &regions {
                let is_arn = region.witness.splitn(6, ':').count() == 6 && region.witness.starts_with("arn:");
                if is_arn {
                    let parts = split_arn(&region.witness);
                    prop_assert!(whole.matches(Some(&parts), &context), "{}", region.witness);
                    for (pattern, expected) in compiled.iter().zip(&region.matches) {
                        prop_assert_eq!(pattern.matches(Some(&parts), &context), *expected, "{}", &region.witness);
                    }
                }
            }
            for (index, other) in languages.iter().enumerate() {
                let all: BTreeSet<bool> = regions.iter().map(|region| region.matches[index]).collect();
                match relation(&language, other) {
                    Relation::Covers => prop_assert_eq!(all, BTreeSet::from([true])),
                    Relation::Disjoint => prop_assert_eq!(all, BTreeSet::from([false])),
                    Relation::Overlaps => {}
                }
            }
        }
    }
}
