//! IAM globs: `*` matches any sequence of characters, `?` any one character, and all else is literal.

use std::collections::{BTreeSet, VecDeque};

/// One position of a pattern whose literal characters may be wildcards elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// One literal character.
    Literal(char),
    /// Any one character.
    One,
    /// Any sequence of characters.
    Run,
}

impl Token {
    /// Token for a character of a pattern.
    pub(super) fn from_pattern(character: char) -> Self {
        match character {
            '*' => Self::Run,
            '?' => Self::One,
            other => Self::Literal(other),
        }
    }
}

/// Fit of one position of a pattern to one of a text.
enum Fit {
    /// A run, which consumes as little as possible, and more if the rest does not fit.
    Run,
    /// A run at the end of the pattern, which consumes the rest.
    Rest,
    /// Matches the text here; the text continues at this offset.
    Matches(usize),
    /// Does not match the text here, or the text has ended.
    No,
    /// The pattern has ended.
    End,
}

/// Matches a whole text against a pattern. Iterative, without recursion; linear for typical patterns and at worst the
/// product of both lengths, even for patterns like `*a*a*a*b`.
fn fits(end: usize, fit: impl Fn(usize, usize) -> Fit, next: impl Fn(usize) -> usize) -> bool {
    let (mut at, mut here) = (0, 0);
    // Backtrack target: the pattern after the last run, and the text that the run has not consumed yet.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match fit(at, here) {
            Fit::Run => {
                at += 1;
                retry = Some((at, here));
                continue;
            }
            Fit::Matches(behind) => {
                (at, here) = (at + 1, behind);
                continue;
            }
            Fit::Rest => return true,
            Fit::End if here == end => return true,
            // The text has ended: consuming more of it cannot help.
            Fit::No if here == end => return false,
            Fit::No | Fit::End => {}
        }
        let Some((after_run, swallowed)) = &mut retry else { return false };
        *swallowed = next(*swallowed);
        if *swallowed > end {
            return false;
        }
        (at, here) = (*after_run, *swallowed);
    }
}

/// True if the pattern matches the whole text.
///
/// ```
/// assert!(tagaudit_policy::matches("ec2:Describe*", "ec2:DescribeVpcs"));
/// ```
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let fit = |at: usize, here: usize| match (pattern.get(at), text.get(here)) {
        (Some(b'*'), _) if at + 1 == pattern.len() => Fit::Rest,
        (Some(b'*'), _) => Fit::Run,
        (None, _) => Fit::End,
        (Some(b'?'), Some(_)) => Fit::Matches(next_character(text, here)),
        (Some(literal), Some(byte)) if literal == byte => Fit::Matches(here + 1),
        _ => Fit::No,
    };
    // Advances by whole characters, so that `?` never matches a part of one.
    fits(text.len(), fit, |at| next_character(text, at))
}

/// Start of the next character.
fn next_character(text: &[u8], at: usize) -> usize {
    let mut next = at + 1;
    while text.get(next).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {
        next += 1;
    }
    next
}

/// Matches tokens instead of a textual pattern.
pub(super) fn matches_tokens(pattern: &[Token], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let fit = |at: usize, here: usize| match (pattern.get(at), text.get(here)) {
        (Some(Token::Run), _) if at + 1 == pattern.len() => Fit::Rest,
        (Some(Token::Run), _) => Fit::Run,
        (None, _) => Fit::End,
        (Some(Token::One), Some(_)) => Fit::Matches(here + 1),
        (Some(Token::Literal(literal)), Some(character)) if literal == character => Fit::Matches(here + 1),
        _ => Fit::No,
    };
    fits(text.len(), fit, |at| at + 1)
}

/// Maximum number of positions in the containment search; beyond it the answer is conservative.
const MAX_POSITIONS: usize = 5_000;

/// True if `outer` matches everything that `inner` matches. Exact, except for hostile patterns that need more than
/// 5,000 positions: these yield `false`, which never claims a permission that is not granted.
///
/// ```
/// use tagaudit_policy::contains;
///
/// assert!(contains("ec2:*", "ec2:Describe*"));
/// assert!(!contains("ec2:Describe*", "ec2:D*"));
/// ```
#[must_use]
pub fn contains(outer: &str, inner: &str) -> bool {
    if outer == "*" || outer == inner {
        return true;
    }
    if !inner.contains(['*', '?']) {
        return matches(outer, inner);
    }
    // Most patterns are a prefix and a star, and contain `inner` if and only if it begins with the prefix.
    if let Some(beginning) = outer.strip_suffix('*')
        && !beginning.contains(['*', '?'])
    {
        return inner.starts_with(beginning);
    }
    let outer: Vec<char> = outer.chars().collect();
    let inner: Vec<char> = inner.chars().collect();
    // Letters that distinguish words: the literals of `outer`, and one that represents every other character.
    let mut letters: Vec<Option<char>> = outer.iter().filter(|c| !matches!(c, '*' | '?')).map(|c| Some(*c)).collect();
    letters.sort_unstable();
    letters.dedup();
    letters.push(None);

    let start = (0, closure(&outer, [0]));
    let mut seen = BTreeSet::from([start.clone()]);
    let mut queue = VecDeque::from([start]);
    let mut positions = 0;
    while let Some((at, states)) = queue.pop_front() {
        if at == inner.len() && !states.contains(&outer.len()) {
            return false;
        }
        let Some(&wanted) = inner.get(at) else { continue };
        let mut next: Vec<(usize, BTreeSet<usize>)> = Vec::new();
        match wanted {
            '*' => {
                next.push((at + 1, states.clone()));
                next.extend(letters.iter().map(|letter| (at, step(&outer, &states, *letter))));
            }
            '?' => next.extend(letters.iter().map(|letter| (at + 1, step(&outer, &states, *letter)))),
            literal => next.push((at + 1, step(&outer, &states, Some(literal)))),
        }
        for state in next {
            if positions > MAX_POSITIONS {
                return false;
            }
            if seen.insert(state.clone()) {
                positions += state.1.len();
                queue.push_back(state);
            }
        }
    }
    true
}

/// Positions of the pattern reachable on one letter; `None` is a letter that no literal of the pattern equals.
fn step(pattern: &[char], states: &BTreeSet<usize>, letter: Option<char>) -> BTreeSet<usize> {
    let moved = states.iter().filter_map(|&at| match pattern.get(at) {
        Some('*') => Some(at),
        Some('?') => Some(at + 1),
        Some(literal) if Some(*literal) == letter => Some(at + 1),
        _ => None,
    });
    closure(pattern, moved)
}

/// Adds the positions after each `*`, which may match nothing.
fn closure(pattern: &[char], states: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    for mut at in states {
        while all.insert(at) && pattern.get(at) == Some(&'*') {
            at += 1;
        }
    }
    all
}

/// True if some text matches both patterns.
///
/// ```
/// use tagaudit_policy::intersects;
///
/// assert!(intersects("*Tags", "ec2:Create*"));
/// assert!(!intersects("*Tags", "ec2:*Vpc"));
/// ```
#[must_use]
pub fn intersects(left: &str, right: &str) -> bool {
    let right: Vec<char> = right.chars().collect();
    // reachable[j]: some text matches the left pattern read so far and the first j characters of the right one.
    let mut reachable = vec![false; right.len() + 1];
    if let Some(first) = reachable.first_mut() {
        *first = true;
    }
    skip_stars(&right, &mut reachable);
    for wanted in left.chars() {
        let mut next = if wanted == '*' { reachable.clone() } else { vec![false; right.len() + 1] };
        for (at, &other) in right.iter().enumerate() {
            // A `*` on the left may consume more text, so the row updates itself.
            let here = if wanted == '*' { next.get(at) } else { reachable.get(at) };
            if here != Some(&true) {
                continue;
            }
            let target = match (wanted, other) {
                ('*', _) => at + 1,
                (_, '*') => at,
                (a, b) if a == '?' || b == '?' || a == b => at + 1,
                _ => continue,
            };
            if let Some(cell) = next.get_mut(target) {
                *cell = true;
            }
        }
        skip_stars(&right, &mut next);
        reachable = next;
    }
    reachable.last().copied().unwrap_or(false)
}

fn skip_stars(pattern: &[char], reachable: &mut [bool]) {
    for (at, character) in pattern.iter().enumerate() {
        if *character == '*'
            && reachable.get(at) == Some(&true)
            && let Some(cell) = reachable.get_mut(at + 1)
        {
            *cell = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn oracle(pattern: &str) -> regex::Regex {
        let mut expression = String::from("(?s)^");
        for character in pattern.chars() {
            match character {
                '*' => expression.push_str(".*"),
                '?' => expression.push('.'),
                other => expression.push_str(&regex::escape(&other.to_string())),
            }
        }
        expression.push('$');
        regex::Regex::new(&expression).unwrap()
    }

    /// Every word of up to `length` letters over a small alphabet.
    fn words(length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length {
            last = last.iter().flat_map(|word| ['a', 'b', 'z'].map(|letter| format!("{word}{letter}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn hostile_patterns_do_not_blow_up() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!matches(&pattern, &"a".repeat(2_000)));
        assert!(!contains(&"a".repeat(50), &"*a?".repeat(60)));
        assert!(!contains(&("*a".repeat(10_000) + "*"), &("a".repeat(10_000) + "*")), "given up, which claims nothing");
    }

    proptest! {
        #[test]
        fn matching_agrees_with_a_regular_expression(pattern in "[ab:é*?]{0,10}", text in "[ab:é€]{0,12}") {
            prop_assert_eq!(matches(&pattern, &text), oracle(&pattern).is_match(&text));
            let tokens: Vec<Token> = pattern.chars().map(Token::from_pattern).collect();
            prop_assert_eq!(matches_tokens(&tokens, &text), matches(&pattern, &text));
        }

        #[test]
        fn a_pattern_expanded_with_anything_matches(parts in prop::collection::vec("[a-c]{0,3}", 1..5), fill in "[a-d/:]{0,6}") {
            prop_assert!(matches(&parts.join("*"), &parts.join(&fill)));
        }

        #[test]
        fn containment_agrees_with_every_short_word(outer in "[ab*?]{0,5}", inner in "[ab*?]{0,4}") {
            // Words of five letters distinguish all patterns of this size: `inner` has at most four.
            let (outside, inside) = (oracle(&outer), oracle(&inner));
            let brute = words(6).iter().all(|word| !inside.is_match(word) || outside.is_match(word));
            prop_assert_eq!(contains(&outer, &inner), brute, "{} in {}", inner, outer);
        }

        #[test]
        fn intersection_agrees_with_every_short_word(left in "[ab*?]{0,4}", right in "[ab*?]{0,4}") {
            let (one, other) = (oracle(&left), oracle(&right));
            let brute = words(6).iter().any(|word| one.is_match(word) && other.is_match(word));
            prop_assert_eq!(intersects(&left, &right), brute, "{} and {}", left, right);
        }
    }
}
