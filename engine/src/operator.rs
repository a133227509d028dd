//! Parses condition operators. Semantics: AWS IAM User Guide, "IAM JSON policy elements: Condition operators"; Alibaba
//! Cloud RAM documentation, "Policy elements", "Condition operators".

/// `ForAllValues:` and `ForAnyValue:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// Every value of the request must match; true if there is none.
    All,
    /// Some value of the request must match; false if there is none.
    Any,
}

/// Comparison between a value of the request and one of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Case-sensitive string equality.
    StringEquals,
    /// String equality, ignoring case.
    StringEqualsIgnoreCase,
    /// String match with `*` and `?`.
    StringLike,
    /// Numbers.
    Numeric(Order),
    /// Dates, or seconds since 1970.
    Date(Order),
    /// `true` and `false`.
    Bool,
    /// Base64.
    Binary,
    /// An address in a CIDR block.
    IpAddress,
    /// ARNs, part by part; `ArnEquals` is equivalent to `ArnLike`.
    Arn,
    /// Test for an absent key.
    Null,
}

/// Comparison of numbers and dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// `Equals`
    Equal,
    /// `LessThan`
    Less,
    /// `LessThanEquals`
    LessOrEqual,
    /// `GreaterThan`
    Greater,
    /// `GreaterThanEquals`
    GreaterOrEqual,
}

impl Order {
    pub(super) fn holds<T: PartialOrd>(self, actual: &T, wanted: &T) -> bool {
        match self {
            Self::Equal => actual == wanted,
            Self::Less => actual < wanted,
            Self::LessOrEqual => actual <= wanted,
            Self::Greater => actual > wanted,
            Self::GreaterOrEqual => actual >= wanted,
        }
    }
}

/// A parsed condition operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operator {
    /// `ForAllValues:` or `ForAnyValue:`.
    pub quantifier: Option<Quantifier>,
    /// Comparison of the values.
    pub comparison: Comparison,
    /// True for the `Not…` form.
    pub negated: bool,
    /// True if it ends in `IfExists`.
    pub if_exists: bool,
}

/// Operators of a language.
#[derive(Debug)]
pub struct Operators {
    /// Names without prefix and suffix, with the comparison and a flag for negation.
    pub names: &'static [(&'static str, Comparison, bool)],
    /// True if they may have `ForAllValues:`, `ForAnyValue:` and `IfExists`.
    pub with_sets: bool,
}

/// All operators of Alibaba Cloud RAM. Source: RAM documentation, "Condition operators" (2025-12-09).
pub(super) const RAM_OPERATORS: &Operators = &Operators {
    with_sets: false,
    names: &[
        ("StringEquals", Comparison::StringEquals, false),
        ("StringNotEquals", Comparison::StringEquals, true),
        ("StringEqualsIgnoreCase", Comparison::StringEqualsIgnoreCase, false),
        ("StringNotEqualsIgnoreCase", Comparison::StringEqualsIgnoreCase, true),
        ("StringLike", Comparison::StringLike, false),
        ("StringNotLike", Comparison::StringLike, true),
        ("NumericEquals", Comparison::Numeric(Order::Equal), false),
        ("NumericNotEquals", Comparison::Numeric(Order::Equal), true),
        ("NumericLessThan", Comparison::Numeric(Order::Less), false),
        ("NumericLessThanEquals", Comparison::Numeric(Order::LessOrEqual), false),
        ("NumericGreaterThan", Comparison::Numeric(Order::Greater), false),
        ("NumericGreaterThanEquals", Comparison::Numeric(Order::GreaterOrEqual), false),
        ("DateEquals", Comparison::Date(Order::Equal), false),
        ("DateNotEquals", Comparison::Date(Order::Equal), true),
        ("DateLessThan", Comparison::Date(Order::Less), false),
        ("DateLessThanEquals", Comparison::Date(Order::LessOrEqual), false),
        ("DateGreaterThan", Comparison::Date(Order::Greater), false),
        ("DateGreaterThanEquals", Comparison::Date(Order::GreaterOrEqual), false),
        ("Bool", Comparison::Bool, false),
        ("IpAddress", Comparison::IpAddress, false),
        ("NotIpAddress", Comparison::IpAddress, true),
    ],
};

/// All operators of AWS IAM.
pub(super) const OPERATORS: &Operators = &Operators {
    with_sets: true,
    names: &[
        ("StringEquals", Comparison::StringEquals, false),
        ("StringNotEquals", Comparison::StringEquals, true),
        ("StringEqualsIgnoreCase", Comparison::StringEqualsIgnoreCase, false),
        ("StringNotEqualsIgnoreCase", Comparison::StringEqualsIgnoreCase, true),
        ("StringLike", Comparison::StringLike, false),
        ("StringNotLike", Comparison::StringLike, true),
        ("NumericEquals", Comparison::Numeric(Order::Equal), false),
        ("NumericNotEquals", Comparison::Numeric(Order::Equal), true),
        ("NumericLessThan", Comparison::Numeric(Order::Less), false),
        ("NumericLessThanEquals", Comparison::Numeric(Order::LessOrEqual), false),
        ("NumericGreaterThan", Comparison::Numeric(Order::Greater), false),
        ("NumericGreaterThanEquals", Comparison::Numeric(Order::GreaterOrEqual), false),
        ("DateEquals", Comparison::Date(Order::Equal), false),
        ("DateNotEquals", Comparison::Date(Order::Equal), true),
        ("DateLessThan", Comparison::Date(Order::Less), false),
        ("DateLessThanEquals", Comparison::Date(Order::LessOrEqual), false),
        ("DateGreaterThan", Comparison::Date(Order::Greater), false),
        ("DateGreaterThanEquals", Comparison::Date(Order::GreaterOrEqual), false),
        ("Bool", Comparison::Bool, false),
        ("BinaryEquals", Comparison::Binary, false),
        ("IpAddress", Comparison::IpAddress, false),
        ("NotIpAddress", Comparison::IpAddress, true),
        ("ArnEquals", Comparison::Arn, false),
        ("ArnNotEquals", Comparison::Arn, true),
        ("ArnLike", Comparison::Arn, false),
        ("ArnNotLike", Comparison::Arn, true),
        ("Null", Comparison::Null, false),
    ],
};

impl Operator {
    /// Parses an operator of a language; `None` if the language does not have it.
    #[must_use]
    pub fn parse(text: &str, operators: &Operators) -> Option<Self> {
        let (quantifier, rest) = match text.split_once(':') {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case("ForAllValues") => (Some(Quantifier::All), rest),
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case("ForAnyValue") => (Some(Quantifier::Any), rest),
            Some(_) => return None,
            None => (None, text),
        };
        let suffix = rest.len().checked_sub("IfExists".len()).and_then(|at| rest.split_at_checked(at));
        let (base, if_exists) = match suffix {
            Some((base, suffix)) if suffix.eq_ignore_ascii_case("IfExists") => (base, true),
            _ => (rest, false),
        };
        if (quantifier.is_some() || if_exists) && !operators.with_sets {
            return None;
        }
        let (_, comparison, negated) = operators.names.iter().find(|(name, ..)| name.eq_ignore_ascii_case(base))?;
        Some(Self { quantifier, comparison: *comparison, negated: *negated, if_exists })
    }
}
