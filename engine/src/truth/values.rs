//! Finds the conditions on one key that can hold together, by trying values that distinguish them.

use std::collections::{BTreeSet, HashSet};

use crate::automaton::{BUDGET, Language, explore};
use crate::condition::{Compiled, block, instant};
use crate::context::{Context, ContextValue};
use crate::global_keys::global_kind;
use crate::operator::{Comparison, Operator, Quantifier};
use crate::pattern::ResourcePattern;
use crate::variables::{self, Piece};

use super::Atom;

/// Maximum number of combinations that are tried for one key.
const MAX_VECTORS: usize = 512;

/// Facts about one key.
pub(super) struct KeyFacts {
    /// Bit mask of the facts.
    pub(super) mask: usize,
    /// Combinations that some request has.
    pub(super) witnessed: HashSet<usize>,
    /// All combinations that a request can have; `None` if unknown.
    pub(super) possible: Option<HashSet<usize>>,
}

/// Facts about each key.
pub(super) fn by_key(atoms: &[Atom]) -> Vec<KeyFacts> {
    let keys: BTreeSet<&str> = atoms.iter().filter_map(Atom::key).collect();
    keys.into_iter().map(|key| key_facts(atoms, key)).collect()
}

/// True if at most one fact in a combination depends on policy variables, and no other fact concerns those variables:
/// the value of one variable can decide several facts, so that a combination of others may be impossible.
pub(super) fn is_plain(atoms: &[Atom], combination: usize) -> bool {
    let mut holding = atoms.iter().enumerate().filter(|(at, atom)| {
        let hangs = match atom {
            Atom::Wide(_) => true,
            Atom::Holds { has_variables, .. } => *has_variables,
            _ => false,
        };
        hangs && combination >> at & 1 == 1
    });
    let Some((_, first)) = holding.next() else { return true };
    let texts = match first {
        Atom::Wide(text) => std::slice::from_ref(text),
        Atom::Holds { values, .. } => values.as_slice(),
        _ => &[],
    };
    let is_asked = |key: &str| atoms.iter().any(|atom| atom.key() == Some(key));
    let free = texts.iter().flat_map(|text| variables::pieces(text)).all(|piece| match piece {
        Piece::Variable { key, .. } => !is_asked(&key),
        _ => true,
    });
    free && holding.next().is_none()
}

fn key_facts(atoms: &[Atom], key: &str) -> KeyFacts {
    let here = || atoms.iter().enumerate().filter(|(_, atom)| atom.key() == Some(key));
    let bit = |at: usize| 1_usize << at;
    let mask = here().fold(0, |mask, (at, _)| mask | bit(at));
    let present = here().filter(|(_, atom)| matches!(atom, Atom::Present(_))).fold(0, |mask, (at, _)| mask | bit(at));
    let (mut compared, mut with_variables): (Vec<(usize, Compiled)>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, atom) in here() {
        if let Atom::Holds { comparison, quantifier, negated, key, values, has_variables } = atom {
            let (comparison, quantifier, negated) = (*comparison, *quantifier, *negated);
            let operator = Operator { quantifier, comparison, negated, if_exists: false };
            if *has_variables {
                with_variables.push(at);
            } else {
                compared.push((at, Compiled::from_values(operator, key, values)));
            }
        }
    }
    let (values, told_apart) = candidates(key, &compared);
    let vector = |value: ContextValue| {
        let mut context = Context::default();
        context.insert(key, value);
        compared.iter().fold(
            present,
            |vector, (at, condition)| {
                if condition.holds(&context) { vector | bit(*at) } else { vector }
            },
        )
    };
    // A request without the key has none of the facts.
    let mut witnessed = HashSet::from([0]);
    witnessed.extend(values.iter().map(|value| vector(ContextValue::One(value.clone()))));
    let lists: BTreeSet<usize> = values.iter().map(|value| vector(ContextValue::Many(vec![value.clone()]))).collect();
    let all_of = |quantifier| {
        let bits = compared.iter().filter(|(_, one)| one.operator.quantifier == Some(quantifier));
        bits.fold(0, |mask, (at, _)| mask | bit(*at))
    };
    let (every, some) = (all_of(Quantifier::All), all_of(Quantifier::Any));
    let (closed, whole) = closure(&lists, every, some);
    let mut possible = witnessed.clone();
    // A single-valued key has no list of values.
    let is_single = global_kind(key).is_some_and(|kind| !kind.starts_with("ArrayOf"));
    if !is_single {
        possible.extend(&closed);
    }
    if every | some != 0 && !is_single {
        // A condition on every or some value implies a multivalued key.
        witnessed.extend(&closed);
    }
    if let [only] = with_variables.as_slice()
        && compared.is_empty()
    {
        witnessed.insert(present | bit(*only));
    }
    let possible = (told_apart && whole && with_variables.is_empty()).then_some(possible);
    KeyFacts { mask, witnessed, possible }
}

/// Facts of lists with several values, from the facts of each single value: all values of the list for `ForAllValues`,
/// any for `ForAnyValue`. The flag is true if the set is complete.
fn closure(single: &BTreeSet<usize>, every: usize, some: usize) -> (BTreeSet<usize>, bool) {
    let mut found = single.clone();
    if every | some == 0 {
        return (found, true);
    }
    let mut open: Vec<usize> = single.iter().copied().collect();
    while let Some(one) = open.pop() {
        for other in single {
            let joined = (one & other & every) | ((one | other) & some) | (one & !(every | some));
            if found.insert(joined) {
                open.push(joined);
            }
        }
        if found.len() > MAX_VECTORS {
            return (found, false);
        }
    }
    (found, true)
}

/// Family of comparisons that parse a value in the same way.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Family {
    Text,
    Number,
    Instant,
    Bool,
    Address,
    Arn,
}

fn family(comparison: Comparison) -> Family {
    match comparison {
        Comparison::StringEquals
        | Comparison::StringEqualsIgnoreCase
        | Comparison::StringLike
        | Comparison::Binary
        | Comparison::Null => Family::Text,
        Comparison::Numeric(_) => Family::Number,
        Comparison::Date(_) => Family::Instant,
        Comparison::Bool => Family::Bool,
        Comparison::IpAddress => Family::Address,
        Comparison::Arn => Family::Arn,
    }
}

/// Family of the values of a type, if comparisons of that family cannot parse other values; `None` otherwise.
fn kind_family(kind: &str) -> Option<Family> {
    match kind.trim_start_matches("ArrayOf") {
        "Numeric" => Some(Family::Number),
        "Date" => Some(Family::Instant),
        "Bool" => Some(Family::Bool),
        "IPAddress" => Some(Family::Address),
        "ARN" => Some(Family::Arn),
        _ => None,
    }
}

/// Values of a key that distinguish the conditions; complete if the flag is true.
fn candidates(key: &str, compared: &[(usize, Compiled)]) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    let families = compared.iter().map(|(_, one)| family(one.operator.comparison));
    let families: Vec<Family> = families.fold(Vec::new(), |mut known, family| {
        if !known.contains(&family) {
            known.push(family);
        }
        known
    });
    let declared = global_kind(key).and_then(kind_family);
    if declared.is_none_or(|declared| families != [declared]) {
        // A value that differs from all values in the conditions.
        found.push("\u{1}".to_owned());
    }
    let mut whole = families.len() < 2;
    for family_here in families {
        let of_family = || compared.iter().filter(|(_, one)| family(one.operator.comparison) == family_here);
        let texts: BTreeSet<&str> = of_family().flat_map(|(_, one)| &one.values).map(|value| &**value).collect();
        match family_here {
            Family::Text => whole &= text_values(of_family().map(|(_, one)| one), &mut found),
            Family::Number => number_values(&texts, &mut found),
            Family::Instant => instant_values(&texts, &mut found),
            Family::Bool => found.extend(["true".to_owned(), "false".to_owned()]),
            Family::Address => address_values(&texts, &mut found),
            Family::Arn => whole &= arn_values(&texts, &mut found),
        }
    }
    (found, whole)
}

fn witnesses(universe: &Language, languages: &[Language], found: &mut Vec<String>) -> bool {
    let languages: Vec<&Language> = languages.iter().collect();
    let regions = explore(universe, &languages, &mut BUDGET.clone());
    let whole = regions.is_some();
    found.extend(regions.into_iter().flatten().map(|region| region.witness));
    whole
}

fn text_values<'c>(conditions: impl Iterator<Item = &'c Compiled>, found: &mut Vec<String>) -> bool {
    let mut languages: Vec<Language> = Vec::new();
    // Some letters beyond ASCII change their length with their case.
    let mut is_plain = true;
    for condition in conditions {
        for value in &condition.values {
            let language = match condition.operator.comparison {
                Comparison::StringLike => Language::from_glob(value),
                Comparison::StringEqualsIgnoreCase => {
                    is_plain &= value.is_ascii();
                    Language::folded(value)
                }
                _ => Language::literal(value),
            };
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
    }
    witnesses(&Language::everything(), &languages, found) && is_plain
}

fn arn_values(texts: &BTreeSet<&str>, found: &mut Vec<String>) -> bool {
    let languages: Vec<Language> =
        texts.iter().filter_map(|text| Language::from_resource(&ResourcePattern::from_arn(text))).collect();
    Language::from_resource(&ResourcePattern::from_arn("arn:*:*:*:*:*"))
        .is_some_and(|universe| witnesses(&universe, &languages, found))
}

fn number_values(texts: &BTreeSet<&str>, found: &mut Vec<String>) {
    let mut numbers: Vec<f64> =
        texts.iter().filter_map(|text| text.parse().ok()).filter(|one: &f64| one.is_finite()).collect();
    numbers.sort_by(f64::total_cmp);
    let between = numbers.windows(2).filter_map(|pair| Some(f64::midpoint(*pair.first()?, *pair.get(1)?)));
    if numbers.is_empty() {
        found.push("0".to_owned());
    }
    let outside = [numbers.first().map(|one| one - 1.0), numbers.last().map(|one| one + 1.0)];
    found
        .extend(between.chain(outside.into_iter().flatten()).chain(numbers.iter().copied()).map(|one| one.to_string()));
}

fn instant_values(texts: &BTreeSet<&str>, found: &mut Vec<String>) {
    found.push("1970-01-01T00:00:00Z".to_owned());
    for at in texts.iter().filter_map(|text| instant(text)) {
        let step = jiff::SignedDuration::from_nanos(1);
        let around = [at.checked_sub(step).ok(), Some(at), at.checked_add(step).ok()];
        found.extend(around.into_iter().flatten().map(|at| at.to_string()));
    }
}

fn address_values(texts: &BTreeSet<&str>, found: &mut Vec<String>) {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    for (address, length) in texts.iter().filter_map(|text| block(text)) {
        // First and last address of a block, and the addresses just outside it.
        let ends = |bits: u128, width: u32| {
            let free = width.saturating_sub(u32::from(length));
            let mask = 1_u128.checked_shl(free).map_or(u128::MAX, |size| size - 1);
            let (first, last) = (bits & !mask, bits | mask);
            [Some(first), Some(last), first.checked_sub(1), last.checked_add(1)].into_iter().flatten()
        };
        match address {
            IpAddr::V4(address) => found.extend(
                ends(address.to_bits().into(), 32)
                    .filter_map(|bits| u32::try_from(bits).ok())
                    .map(|bits| Ipv4Addr::from_bits(bits).to_string()),
            ),
            IpAddr::V6(address) => {
                found.extend(ends(address.to_bits(), 128).map(|bits| Ipv6Addr::from_bits(bits).to_string()));
            }
        }
    }
    // An address of each kind outside of all blocks, if possible.
    found.extend(["203.0.113.77".to_owned(), "2001:db8:ffff::77".to_owned()]);
}
