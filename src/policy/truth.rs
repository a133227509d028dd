//! Boolean functions over conditions that are not known, as truth tables: what holds always, never, or only if.

use super::condition::{Comparison, Compiled, Quantifier};
use super::glob;

/// Most unknown facts that are told apart: 4,096 combinations.
pub(super) const MAX_ATOMS: usize = 12;

/// A fact about a request that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Atom {
    /// The request carries a key (lower-case).
    Present(String),
    /// A positive comparison holds; the values in order. For `ForAllValues` and `ForAnyValue` the negation belongs to it.
    Holds { comparison: Comparison, quantifier: Option<Quantifier>, negated: bool, key: String, values: Vec<String> },
    /// A resource pattern whose reading is open matches as widely as it may.
    Wide(String),
}

impl Atom {
    fn key(&self) -> Option<&str> {
        match self {
            Self::Present(key) | Self::Holds { key, .. } => Some(key),
            Self::Wide(_) => None,
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
    /// What a condition that is not settled says.
    pub(super) fn of_condition(condition: &Compiled) -> Self {
        let key = condition.key.clone();
        let operator = condition.operator;
        let present = || Self::Atom(Atom::Present(key.clone()));
        let not = |expression: Self| Self::Not(Box::new(expression));
        let mut values = condition.values.clone();
        if condition.has_variables() {
            // The same text is another fact where it is plain text.
            for value in &mut values {
                value.insert_str(0, "variables in ");
            }
        }
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
            });
            return match quantifier {
                Quantifier::All => Self::Any(vec![not(present()), holds]),
                Quantifier::Any => holds,
            };
        }
        // What cannot be compared satisfies neither an operator nor its negation, so of numbers, dates, addresses and ARNs
        // the negation is a fact of its own. Strings always compare.
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

/// The facts of a question, and which combinations of them can be.
#[derive(Debug)]
pub(super) struct Facts {
    atoms: Vec<Atom>,
    possible: Table,
}

/// For each combination of facts, whether something holds.
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

/// How often something holds, over all combinations that can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Always,
    Sometimes,
    Never,
}

impl Facts {
    /// Collects the facts of some expressions; `None` when there are too many to tell apart.
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
        let possible = (0..size).map(|combination| is_possible(&atoms, combination)).collect();
        Some(Self { atoms, possible: Table { bits: possible } })
    }

    /// No facts: everything is known.
    pub(super) fn none() -> Self {
        Self { atoms: Vec::new(), possible: Table { bits: vec![true] } }
    }

    /// How many combinations of facts are told apart.
    pub(super) fn combinations(&self) -> usize {
        self.possible.bits.len()
    }

    pub(super) fn constant(&self, value: bool) -> Table {
        Table { bits: vec![value; self.possible.bits.len()] }
    }

    pub(super) fn table(&self, expression: &Expression) -> Table {
        match expression {
            Expression::True => self.constant(true),
            Expression::False => self.constant(false),
            Expression::Atom(atom) => {
                let at = self.atoms.iter().position(|known| known == atom).unwrap_or(0);
                Table { bits: (0..self.possible.bits.len()).map(|combination| combination >> at & 1 == 1).collect() }
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

    /// How often a table holds where an assumption does.
    pub(super) fn holds(&self, table: &Table, assumption: &Table) -> Holds {
        let (mut some, mut all) = (false, true);
        for ((holds, assumed), possible) in table.bits.iter().zip(&assumption.bits).zip(&self.possible.bits) {
            if *assumed && *possible {
                some |= holds;
                all &= holds;
            }
        }
        match (all, some) {
            (true, true) => Holds::Always,
            (_, false) => Holds::Never,
            (false, true) => Holds::Sometimes,
        }
    }
}

/// Whether facts can be true and false in this combination.
fn is_possible(atoms: &[Atom], combination: usize) -> bool {
    let is_true = |at: usize| combination >> at & 1 == 1;
    for (at, atom) in atoms.iter().enumerate() {
        for (other_at, other) in atoms.iter().enumerate() {
            if at == other_at || atom.key().is_none() || atom.key() != other.key() {
                continue;
            }
            if let (Atom::Holds { quantifier: None | Some(Quantifier::Any), .. }, Atom::Present(_)) = (atom, other)
                && is_true(at)
                && !is_true(other_at)
            {
                return false;
            }
            if let (
                Atom::Holds { comparison: one, quantifier: None, negated: false, values, .. },
                Atom::Holds { comparison: same, quantifier: None, negated: true, values: others, .. },
            ) = (atom, other)
                && one == same
                && values == others
                && is_true(at)
                && is_true(other_at)
            {
                return false;
            }
            if let (
                Atom::Holds { comparison: Comparison::StringEquals, quantifier: None, values: narrow, .. },
                Atom::Holds { comparison, quantifier: None, values: wide, .. },
            ) = (atom, other)
                && is_true(at)
            {
                let plain = |values: &[String]| values.iter().all(|value| !value.contains("${"));
                let within = |value: &String| match comparison {
                    Comparison::StringEquals => Some(wide.contains(value)),
                    Comparison::StringLike => Some(wide.iter().any(|pattern| glob::matches(pattern, value))),
                    _ => None,
                };
                if plain(narrow) && plain(wide) {
                    let inside: Vec<Option<bool>> = narrow.iter().map(within).collect();
                    // One of the narrow values is the value: if all are within the wide ones, so is it; if none, it is not.
                    if inside.iter().all(|within| *within == Some(true)) && !is_true(other_at) {
                        return false;
                    }
                    if inside.iter().all(|within| *within == Some(false)) && is_true(other_at) {
                        return false;
                    }
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(operator: &str, key: &str, values: &[&str]) -> Expression {
        let text = serde_json::json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*",
            "Resource": "*", "Condition": {operator: {key: values}}}});
        let document = crate::policy::Document::parse(&text.to_string()).unwrap();
        Expression::of_condition(&Compiled::new(&document.statements[0].conditions[0], true).unwrap())
    }

    fn union(conditions: &[Expression]) -> Holds {
        let facts = Facts::new(conditions).unwrap();
        let table = conditions.iter().fold(facts.constant(false), |table, one| table.or(&facts.table(one)));
        facts.holds(&table, &facts.constant(true))
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
            assert_eq!(union(&[one.clone(), other.clone()]), Holds::Always, "{one:?} {other:?}");
            assert_eq!(union(&[one]), Holds::Sometimes);
        }
        // A value that cannot be compared satisfies neither.
        for (one, other) in [
            (condition("Bool", "k", &["true"]), condition("BoolIfExists", "k", &["false"])),
            (condition("IpAddress", "k", &["10.0.0.0/8"]), condition("NotIpAddress", "k", &["10.0.0.0/8"])),
            (condition("NumericEquals", "k", &["5"]), condition("NumericNotEquals", "k", &["5"])),
        ] {
            assert_eq!(union(&[one, other]), Holds::Sometimes);
        }
        // Without the key neither holds.
        let both = [condition("Bool", "k", &["true"]), condition("Bool", "k", &["false"])];
        assert_eq!(union(&both), Holds::Sometimes);
        let apart = [condition("StringEquals", "k", &["a"]), condition("StringNotEquals", "k", &["b"])];
        assert_eq!(union(&apart), Holds::Sometimes);
    }

    #[test]
    fn too_many_facts_are_not_told_apart() {
        let many: Vec<Expression> = (0..13).map(|n| condition("StringEquals", &format!("k{n}"), &["a"])).collect();
        assert!(Facts::new(&many).is_none());
        assert!(Facts::new(&many[..12]).is_some());
    }
}
