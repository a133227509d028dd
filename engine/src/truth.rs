//! Boolean functions over unknown conditions, as truth tables: always true, never true, or conditional.
//!
//! Facts are of two kinds. Facts of a request (a condition) differ between requests: anything that depends on one holds
//! sometimes. Facts of a deployment (a value that a template leaves open) are the same for every request but not yet
//! known: anything that depends on one has a lower and an upper bound. A condition on such a value is neither: it
//! depends on both the value and the request, so it is unknown for which requests it holds.

use super::condition::Compiled;
use super::document::Guard;
use super::glob;
use super::operator::{Comparison, Quantifier};

mod values;

/// Maximum number of unknown facts: 4,096 combinations.
pub(super) const MAX_ATOMS: usize = 12;

/// An unknown fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Atom {
    /// The request carries a key (lower-case).
    Present(String),
    /// A positive comparison holds; values are sorted. For `ForAllValues` and `ForAnyValue` it includes the negation.
    Holds {
        comparison: Comparison,
        quantifier: Option<Quantifier>,
        negated: bool,
        key: String,
        values: Vec<String>,
        /// True if a value holds a policy variable.
        has_variables: bool,
    },
    /// A resource pattern whose reading is open has its widest reading.
    Wide(String),
    /// A decision made at deployment has the required result.
    Deployed(String),
    /// A statement matches the action: its position among all statements, and a description for display.
    MatchesAction(usize, String),
    /// A condition with a value unknown until deployment holds for the request.
    HoldsOnceDeployed(String),
    /// A negated condition holds for the request, in a language that does not define its result without the key.
    Opaque(String),
}

impl Atom {
    fn key(&self) -> Option<&str> {
        match self {
            Self::Present(key) | Self::Holds { key, .. } => Some(key),
            Self::Wide(_)
            | Self::Deployed(_)
            | Self::MatchesAction(..)
            | Self::HoldsOnceDeployed(_)
            | Self::Opaque(_) => None,
        }
    }
}

/// A boolean expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    True,
    False,
    Atom(Atom),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    /// Fact for a decision made at deployment.
    pub(super) fn from_guard(guard: &Guard) -> Self {
        let decided = Self::Atom(Atom::Deployed(guard.decision.clone()));
        if guard.holds { decided } else { Self::Not(Box::new(decided)) }
    }

    /// Expression for a condition with an unknown result.
    pub(super) fn from_condition(condition: &Compiled) -> Self {
        let key = condition.key.clone();
        let operator = condition.operator;
        let present = || Self::Atom(Atom::Present(key.clone()));
        let not = |expression: Self| Self::Not(Box::new(expression));
        if condition.is_open() {
            return Self::Atom(Atom::HoldsOnceDeployed(condition.description.clone()));
        }
        if operator.negated && !condition.absent_decides {
            return Self::Atom(Atom::Opaque(condition.description.clone()));
        }
        let has_variables = condition.has_variables();
        let mut values: Vec<String> = condition.values.iter().map(ToString::to_string).collect();
        values.sort();
        values.dedup();
        let says = |text: &str| values.iter().any(|value| value.eq_ignore_ascii_case(text));
        if operator.comparison == Comparison::Null {
            return match (says("true"), says("false")) {
                (true, true) => Self::True,
                (true, false) => not(present()),
                (false, true) => present(),
                (false, false) => Self::False,
            };
        }
        if let Some(quantifier) = operator.quantifier {
            let holds = Self::Atom(Atom::Holds {
                comparison: operator.comparison,
                quantifier: Some(quantifier),
                negated: operator.negated,
                key: key.clone(),
                values,
                has_variables,
            });
            return match quantifier {
                Quantifier::All => Self::Any(vec![not(present()), holds]),
                Quantifier::Any => holds,
            };
        }
        // A value that cannot be compared satisfies neither an operator nor its negation, so for numbers, dates,
        // addresses and ARNs the negation is a separate fact. Strings always compare.
        let is_total = matches!(
            operator.comparison,
            Comparison::StringEquals | Comparison::StringEqualsIgnoreCase | Comparison::StringLike
        );
        let own_negation = operator.negated && !is_total;
        let holds = Self::Atom(Atom::Holds {
            comparison: operator.comparison,
            quantifier: None,
            negated: own_negation,
            key: key.clone(),
            values,
            has_variables,
        });
        if own_negation {
            Self::Any(vec![not(present()), holds])
        } else if operator.negated {
            not(holds)
        } else if operator.if_exists {
            Self::Any(vec![not(present()), holds])
        } else {
            holds
        }
    }

    fn atoms<'e>(&'e self, found: &mut Vec<&'e Atom>) {
        match self {
            Self::True | Self::False => {}
            Self::Atom(atom) => {
                if !found.contains(&atom) {
                    found.push(atom);
                }
            }
            Self::Not(inner) => inner.atoms(found),
            Self::All(list) | Self::Any(list) => list.iter().for_each(|inner| inner.atoms(found)),
        }
    }
}

/// Truth value for each combination of facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    bits: Vec<bool>,
}

impl Table {
    pub(super) fn and(&self, other: &Self) -> Self {
        Self { bits: self.bits.iter().zip(&other.bits).map(|(a, b)| *a && *b).collect() }
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        Self { bits: self.bits.iter().zip(&other.bits).map(|(a, b)| *a || *b).collect() }
    }

    pub(super) fn not(&self) -> Self {
        Self { bits: self.bits.iter().map(|a| !a).collect() }
    }
}

/// Frequency with which something holds, over all requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    Never,
    Sometimes,
    Always,
}

/// Lower and upper bound of the frequency, over all possible deployments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) least: Holds,
    pub(super) most: Holds,
}

impl Bounds {
    /// The common value of both bounds, or `Sometimes`.
    pub(super) fn holds(self) -> Holds {
        if self.least == self.most { self.least } else { Holds::Sometimes }
    }
}

/// Facts of a question, with the possible combinations.
#[derive(Debug)]
pub(super) struct Facts {
    atoms: Vec<Atom>,
    /// Combinations that are not ruled out.
    possible: Vec<bool>,
    /// Combinations that are known to occur in some request.
    witnessed: Vec<bool>,
    /// Bit mask of the facts decided by deployment.
    deployed: usize,
    /// Bit mask of the facts decided by deployment and request together.
    hidden: usize,
}

impl Facts {
    /// Collects the facts of some expressions; `None` if there are too many to enumerate.
    pub(super) fn new<'e>(expressions: impl IntoIterator<Item = &'e Expression>) -> Option<Self> {
        let mut found = Vec::new();
        for expression in expressions {
            expression.atoms(&mut found);
        }
        if found.len() > MAX_ATOMS {
            return None;
        }
        let atoms: Vec<Atom> = found.into_iter().cloned().collect();
        let size = 1_usize << atoms.len();
        let keys = values::by_key(&atoms);
        let mut possible = vec![true; size];
        let mut witnessed: Vec<bool> = (0..size).map(|combination| values::is_plain(&atoms, combination)).collect();
        let ruled_out = ruled_out(&atoms);
        for (combination, (possible, witnessed)) in possible.iter_mut().zip(&mut witnessed).enumerate() {
            *possible = !ruled_out.iter().any(|(mask, facts)| combination & mask == *facts);
            for key in &keys {
                let here = combination & key.mask;
                *possible &= key.possible.as_ref().is_none_or(|possible| possible.contains(&here));
                *witnessed &= key.witnessed.contains(&here);
            }
        }
        let bits = |is: fn(&Atom) -> bool| {
            atoms.iter().enumerate().filter(|(_, atom)| is(atom)).fold(0, |mask, (at, _)| mask | 1 << at)
        };
        Some(Self {
            possible,
            witnessed,
            deployed: bits(|atom| matches!(atom, Atom::Deployed(_) | Atom::MatchesAction(..))),
            hidden: bits(|atom| matches!(atom, Atom::HoldsOnceDeployed(_))),
            atoms,
        })
    }

    /// No facts: everything is known.
    pub(super) fn none() -> Self {
        Self { atoms: Vec::new(), possible: vec![true], witnessed: vec![true], deployed: 0, hidden: 0 }
    }

    /// Number of combinations of facts.
    pub(super) fn combinations(&self) -> usize {
        self.possible.len()
    }

    pub(super) fn constant(&self, value: bool) -> Table {
        Table { bits: vec![value; self.possible.len()] }
    }

    pub(super) fn table(&self, expression: &Expression) -> Table {
        match expression {
            Expression::True => self.constant(true),
            Expression::False => self.constant(false),
            Expression::Atom(atom) => {
                let at = self.atoms.iter().position(|known| known == atom).unwrap_or(0);
                Table { bits: (0..self.possible.len()).map(|combination| combination >> at & 1 == 1).collect() }
            }
            Expression::Not(inner) => self.table(inner).not(),
            Expression::All(list) => {
                list.iter().fold(self.constant(true), |table, inner| table.and(&self.table(inner)))
            }
            Expression::Any(list) => {
                list.iter().fold(self.constant(false), |table, inner| table.or(&self.table(inner)))
            }
        }
    }

    /// Bounds of a table. Combinations that cannot be ruled out prove that it always or never holds; combinations known
    /// to occur prove that it sometimes does.
    pub(super) fn bounds(&self, table: &Table) -> Bounds {
        self.bounds_within(table, &self.constant(true))
    }

    /// Same as [`Self::bounds`], over the requests in question.
    pub(super) fn bounds_within(&self, table: &Table, meant: &Table) -> Bounds {
        let mut whole: Option<Bounds> = None;
        let mut deployment = 0;
        loop {
            let here = self.deployment_bounds(table, meant, deployment);
            whole = Some(match whole {
                None => here,
                Some(known) => Bounds { least: known.least.min(here.least), most: known.most.max(here.most) },
            });
            deployment = next(deployment, self.deployed);
            if deployment == 0 {
                return whole.unwrap_or(Bounds { least: Holds::Never, most: Holds::Always });
            }
        }
    }

    fn deployment_bounds(&self, table: &Table, meant: &Table, deployment: usize) -> Bounds {
        let (mut may_hold, mut may_fail, mut does_hold, mut does_fail) = (false, false, false, false);
        let is = |bits: &[bool], at: usize| bits.get(at).copied().unwrap_or(false);
        let requests = (0..self.possible.len()).filter(|at| at & self.deployed == deployment && at & self.hidden == 0);
        for request in requests {
            // A request counts only if the result is the same for all values of the unknown conditions.
            let (mut holds_anyhow, mut fails_anyhow) = (true, true);
            let mut hidden = 0;
            loop {
                let at = request | hidden;
                let (holds, is_meant) = (is(&table.bits, at), is(&meant.bits, at));
                let (possible, witnessed) = (is(&self.possible, at), is(&self.witnessed, at));
                may_hold |= possible && is_meant && holds;
                may_fail |= possible && is_meant && !holds;
                holds_anyhow &= witnessed && is_meant && holds;
                fails_anyhow &= witnessed && is_meant && !holds;
                hidden = next(hidden, self.hidden);
                if hidden == 0 {
                    break;
                }
            }
            does_hold |= holds_anyhow;
            does_fail |= fails_anyhow;
        }
        let least = match (may_fail, does_hold) {
            (false, _) => Holds::Always,
            (true, true) => Holds::Sometimes,
            (true, false) => Holds::Never,
        };
        let most = match (may_hold, does_fail) {
            (false, _) => Holds::Never,
            (true, true) => Holds::Sometimes,
            (true, false) => Holds::Always,
        };
        // If nothing at all is possible, least and most would cross.
        Bounds { least: least.min(most), most }
    }

    /// Facts decided by deployment in some expressions.
    pub(super) fn open<'e>(expressions: impl IntoIterator<Item = &'e Expression>) -> Vec<String> {
        Self::texts(expressions, |atom| match atom {
            Atom::Deployed(text) | Atom::MatchesAction(_, text) | Atom::HoldsOnceDeployed(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// Patterns in some expressions that match some requests for a resource and not others.
    pub(super) fn wide<'e>(expressions: impl IntoIterator<Item = &'e Expression>) -> Vec<String> {
        Self::texts(expressions, |atom| match atom {
            Atom::Wide(text) => Some(format!("`{text}` matches")),
            _ => None,
        })
    }

    fn texts<'e>(
        expressions: impl IntoIterator<Item = &'e Expression>,
        text: impl Fn(&Atom) -> Option<String>,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for expression in expressions {
            expression.atoms(&mut found);
        }
        found.into_iter().filter_map(text).collect()
    }
}

/// Next combination of the bits of a mask; zero after the last.
fn next(combination: usize, mask: usize) -> usize {
    (combination | !mask).wrapping_add(1) & mask
}

/// Impossible combinations of two facts: the bits of both, and their values.
fn ruled_out(atoms: &[Atom]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, atom) in atoms.iter().enumerate() {
        for (other_at, other) in atoms.iter().enumerate() {
            if at == other_at || atom.key().is_none() || atom.key() != other.key() {
                continue;
            }
            let (this, that) = (1 << at, 1 << other_at);
            if let (Atom::Holds { quantifier: None | Some(Quantifier::Any), .. }, Atom::Present(_)) = (atom, other) {
                found.push((this | that, this));
            }
            if let (
                Atom::Holds { comparison: one, quantifier: None, negated: false, values, .. },
                Atom::Holds { comparison: same, quantifier: None, negated: true, values: others, .. },
            ) = (atom, other)
                && one == same
                && values == others
            {
                found.push((this | that, this | that));
            }
            if let (
                Atom::Holds { comparison: Comparison::StringEquals, quantifier: None, values: narrow, .. },
                Atom::Holds { comparison, quantifier: None, values: wide, .. },
            ) = (atom, other)
            {
                let plain = |values: &[String]| values.iter().all(|value| !value.contains("${"));
                let within = |value: &String| match comparison {
                    Comparison::StringEquals => Some(wide.contains(value)),
                    Comparison::StringLike => Some(wide.iter().any(|pattern| glob::matches(pattern, value))),
                    _ => None,
                };
                if plain(narrow) && plain(wide) {
                    let inside: Vec<Option<bool>> = narrow.iter().map(within).collect();
                    // The value is one of the narrow ones: if all of them are within the wide ones, so is it; if none
                    // is, it is not.
                    if inside.iter().all(|within| *within == Some(true)) {
                        found.push((this | that, this));
                    }
                    if inside.iter().all(|within| *within == Some(false)) {
                        found.push((this | that, this | that));
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(holds: Holds) -> Bounds {
        Bounds { least: holds, most: holds }
    }

    fn condition(operator: &str, key: &str, values: &[&str]) -> Expression {
        let text = serde_json::json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*",
            "Resource": "*", "Condition": {operator: {key: values}}}});
        let document = crate::Document::parse(&text.to_string()).unwrap();
        Expression::from_condition(
            &Compiled::new(&document.statements[0].conditions[0], document.dialect, true).unwrap(),
        )
    }

    fn union(conditions: &[Expression]) -> Bounds {
        let facts = Facts::new(conditions).unwrap();
        let table = conditions.iter().fold(facts.constant(false), |table, one| table.or(&facts.table(one)));
        facts.bounds(&table)
    }

    #[test]
    fn a_condition_and_its_negation_hold_together_always() {
        for (one, other) in [
            (condition("StringEquals", "k", &["a"]), condition("StringNotEquals", "K", &["a"])),
            (condition("Null", "k", &["true"]), condition("Null", "k", &["false"])),
            (condition("StringNotEquals", "k", &["a"]), condition("StringLike", "k", &["a*"])),
            (condition("StringNotEquals", "k", &["a"]), condition("StringNotEquals", "k", &["b"])),
            (condition("StringNotEquals", "k", &["a"]), condition("StringEqualsIfExists", "k", &["b", "a"])),
        ] {
            assert_eq!(union(&[one.clone(), other.clone()]), exactly(Holds::Always), "{one:?} {other:?}");
            assert_eq!(union(&[one]), exactly(Holds::Sometimes));
        }
        // A value that cannot be compared satisfies neither.
        for (one, other) in [
            (condition("Bool", "k", &["true"]), condition("BoolIfExists", "k", &["false"])),
            (condition("IpAddress", "k", &["10.0.0.0/8"]), condition("NotIpAddress", "k", &["10.0.0.0/8"])),
            (condition("NumericEquals", "k", &["5"]), condition("NumericNotEquals", "k", &["5"])),
        ] {
            assert_eq!(union(&[one, other]), exactly(Holds::Sometimes));
        }
        // If a key only has values of the type, one of them holds.
        for (one, other) in [
            (
                condition("Bool", "aws:SecureTransport", &["true"]),
                condition("BoolIfExists", "aws:securetransport", &["false"]),
            ),
            (
                condition("IpAddress", "aws:SourceIp", &["10.0.0.0/8"]),
                condition("NotIpAddress", "aws:SourceIp", &["10.0.0.0/8"]),
            ),
            (
                condition("NumericEquals", "aws:MultiFactorAuthAge", &["5"]),
                condition("NumericNotEquals", "aws:MultiFactorAuthAge", &["5"]),
            ),
            (
                condition("DateLessThan", "aws:CurrentTime", &["2026-01-01T00:00:00Z"]),
                condition("DateGreaterThanEqualsIfExists", "aws:CurrentTime", &["2026-01-01T00:00:00Z"]),
            ),
            (
                condition("ArnLike", "aws:SourceArn", &["arn:aws:sns:*:*:a"]),
                condition("ArnNotLike", "aws:SourceArn", &["arn:aws:sns:*:*:a"]),
            ),
        ] {
            assert_eq!(union(&[one.clone(), other.clone()]), exactly(Holds::Always), "{one:?} {other:?}");
        }
        // Without the key neither holds.
        let both = [condition("Bool", "k", &["true"]), condition("Bool", "k", &["false"])];
        assert_eq!(union(&both), exactly(Holds::Sometimes));
        let apart = [condition("StringEquals", "k", &["a"]), condition("StringNotEquals", "k", &["b"])];
        assert_eq!(union(&apart), exactly(Holds::Sometimes));
    }

    #[test]
    fn too_many_facts_are_not_told_apart() {
        let many: Vec<Expression> = (0..13).map(|n| condition("StringEquals", &format!("k{n}"), &["a"])).collect();
        assert!(Facts::new(&many).is_none());
        assert!(Facts::new(&many[..12]).is_some());
    }
}
