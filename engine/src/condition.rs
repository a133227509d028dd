//! Conditions, evaluated over a complete context (true or false) or a partly known one (true, false or unknown).
//! Semantics: AWS IAM User Guide, "IAM JSON policy elements: Condition operators" and "Using multiple keys and values".

use std::net::IpAddr;

use super::context::{Context, ContextValue};
use super::dialect::Dialect;
use super::document::Condition;
use super::glob::{self, Token};
use super::operator::{Comparison, Operator, Quantifier};
use super::pattern::{ARN_PARTS, ResourcePattern, split_arn, tokens};
use super::text::Text;
use super::variables::{self, Piece};

/// Result of a condition over a partly known context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

/// A value of the policy, parsed for comparison.
#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Text(String),
    /// A text with variables.
    Pieces(Vec<Piece>),
    Number(f64),
    Instant(jiff::Timestamp),
    Bool(bool),
    Block(IpAddr, u8),
    Arn(ResourcePattern),
    /// Not a value of the type that the operator compares.
    Invalid,
    /// Unknown until deployment, entirely or partly.
    Open,
}

/// A condition prepared for evaluation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compiled {
    pub(super) operator: Operator,
    /// True if the result without the key is defined; RAM does not document it.
    pub(super) absent_decides: bool,
    /// Context key, in lower case.
    pub(super) key: String,
    operands: Vec<Operand>,
    /// Values as written.
    pub(super) values: Vec<Text>,
    /// Condition for display.
    pub(super) description: String,
}

/// Parses a date in W3C's profile of ISO 8601, or in seconds since 1970.
pub(super) fn instant(text: &str) -> Option<jiff::Timestamp> {
    if let Ok(seconds) = text.parse::<i64>() {
        // Four digits are a year, not seconds after midnight.
        return if text.len() == 4 {
            format!("{text}-01-01T00:00:00Z").parse().ok()
        } else {
            jiff::Timestamp::from_second(seconds).ok()
        };
    }
    let whole = match text.len() {
        7 => format!("{text}-01T00:00:00Z"),
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    };
    whole.contains('-').then(|| whole.parse().ok()).flatten()
}

/// Parses an address or a CIDR block; without a length it is a single address.
pub(super) fn block(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let length = match length {
        Some(text) => text.parse::<u8>().ok().filter(|length| *length <= bits)?,
        None => bits,
    };
    Some((address, length))
}

fn in_block(address: IpAddr, (block, length): (IpAddr, u8)) -> bool {
    let (one, other, bits) = match (address, block) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(one.to_bits()), u128::from(other.to_bits()), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    let shift = bits - u32::from(length);
    // A shift by all 128 bits would overflow, and no bits remain to compare.
    one.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
}

impl Operand {
    fn new(text: &str, comparison: Comparison, with_variables: bool) -> Self {
        let takes_variables = matches!(
            comparison,
            Comparison::StringEquals
                | Comparison::StringEqualsIgnoreCase
                | Comparison::StringLike
                | Comparison::Arn
                | Comparison::Bool
        );
        if with_variables && takes_variables && text.contains("${") {
            let pieces = variables::pieces(text);
            if pieces.iter().any(|piece| !matches!(piece, Piece::Text(_))) {
                return Self::Pieces(pieces);
            }
        }
        let read = match comparison {
            Comparison::StringEquals
            | Comparison::StringEqualsIgnoreCase
            | Comparison::StringLike
            | Comparison::Binary => Some(Self::Text(text.to_owned())),
            Comparison::Numeric(_) => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Number),
            Comparison::Date(_) => instant(text).map(Self::Instant),
            Comparison::Bool | Comparison::Null => boolean(text).map(Self::Bool),
            Comparison::IpAddress => block(text).map(|(address, length)| Self::Block(address, length)),
            Comparison::Arn => Some(Self::Arn(ResourcePattern::from_arn(text))),
        };
        read.unwrap_or(Self::Invalid)
    }

    /// True if a value of the request matches; `None` if the two cannot be compared.
    fn compare(&self, actual: &str, comparison: Comparison, context: &Context) -> Option<bool> {
        match (comparison, self) {
            (_, Self::Pieces(pieces)) => {
                // A variable without a value matches nothing.
                let Some(tokens) = tokens(pieces, context) else { return Some(false) };
                Some(match comparison {
                    Comparison::StringLike => glob::matches_tokens(&tokens, actual),
                    Comparison::Arn => {
                        let parts = split_arn(actual);
                        if parts.first() != Some(&"arn") {
                            return None;
                        }
                        arn_tokens_match(&tokens, actual)
                    }
                    Comparison::StringEqualsIgnoreCase => plain(&tokens).to_lowercase() == actual.to_lowercase(),
                    Comparison::Bool => plain(&tokens).eq_ignore_ascii_case(actual),
                    _ => plain(&tokens) == actual,
                })
            }
            (Comparison::StringEquals | Comparison::Binary, Self::Text(wanted)) => Some(wanted == actual),
            (Comparison::StringEqualsIgnoreCase, Self::Text(wanted)) => {
                Some(wanted.eq_ignore_ascii_case(actual) || wanted.to_lowercase() == actual.to_lowercase())
            }
            (Comparison::StringLike, Self::Text(wanted)) => Some(glob::matches(wanted, actual)),
            (Comparison::Numeric(order), Self::Number(wanted)) => {
                actual.parse::<f64>().ok().map(|actual| order.holds(&actual, wanted))
            }
            (Comparison::Date(order), Self::Instant(wanted)) => {
                instant(actual).map(|actual| order.holds(&actual, wanted))
            }
            (Comparison::Bool, Self::Bool(wanted)) => Some(boolean(actual) == Some(*wanted)),
            (Comparison::IpAddress, Self::Block(address, length)) => {
                actual.parse().ok().map(|actual| in_block(actual, (*address, *length)))
            }
            (Comparison::Arn, Self::Arn(pattern)) => {
                let parts = split_arn(actual);
                let is_arn = parts.first() == Some(&"arn") && actual.splitn(ARN_PARTS, ':').count() == ARN_PARTS;
                is_arn.then(|| pattern.matches(Some(&parts), context))
            }
            _ => None,
        }
    }
}

/// Tokens as text, with wildcards as their original characters.
fn plain(tokens: &[Token]) -> String {
    let character = |token: &Token| match token {
        Token::Literal(character) => *character,
        Token::One => '?',
        Token::Run => '*',
    };
    tokens.iter().map(character).collect()
}

/// Matches part by part: a wildcard before the fifth colon does not match a colon.
fn arn_tokens_match(tokens: &[Token], actual: &str) -> bool {
    let mut rest = tokens;
    let parts = split_arn(actual);
    for (index, part) in parts.iter().enumerate() {
        let end = rest.iter().position(|token| *token == Token::Literal(':')).filter(|_| index + 1 < ARN_PARTS);
        let (here, behind) = match end {
            Some(end) => (rest.get(..end), rest.get(end + 1..)),
            None => (Some(rest), Some(&[][..])),
        };
        if !glob::matches_tokens(here.unwrap_or_default(), part) {
            return false;
        }
        rest = behind.unwrap_or_default();
    }
    true
}

fn boolean(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

impl Compiled {
    /// Result for a request without the key: true for negated operators, and for any operator with `IfExists`.
    fn without_key(&self) -> bool {
        match (self.operator.comparison, self.operator.quantifier) {
            (Comparison::Null, _) => self.operands.iter().any(|value| matches!(value, Operand::Bool(true))),
            (_, Some(quantifier)) => quantifier == Quantifier::All,
            (_, None) => self.operator.negated || self.operator.if_exists,
        }
    }

    /// Compiles a condition; `None` for an unknown operator, which no parsed document has.
    pub(super) fn new(condition: &Condition, dialect: &'static Dialect, with_variables: bool) -> Option<Self> {
        let operator = Operator::parse(&condition.operator, dialect.operators)?;
        Some(Self {
            operator,
            absent_decides: dialect.absent_keys_decide,
            key: condition.key.to_ascii_lowercase(),
            operands: condition
                .values
                .iter()
                .map(|value| {
                    if value.is_known() {
                        Operand::new(value, operator.comparison, with_variables)
                    } else {
                        Operand::Open
                    }
                })
                .collect(),
            values: condition.values.clone(),
            description: format!(
                "{} {} {}",
                condition.key,
                condition.operator,
                condition.values.iter().map(|value| &**value).collect::<Vec<_>>().join(" | ")
            ),
        })
    }

    /// Creates a comparison with plain values.
    pub(super) fn from_values(operator: Operator, key: &str, values: &[String]) -> Self {
        Self {
            operator,
            absent_decides: true,
            key: key.to_owned(),
            operands: values.iter().map(|value| Operand::new(value, operator.comparison, false)).collect(),
            values: values.iter().map(|value| value.as_str().into()).collect(),
            description: String::new(),
        }
    }

    /// True if a value holds a variable.
    pub(super) fn has_variables(&self) -> bool {
        self.operands.iter().any(|wanted| matches!(wanted, Operand::Pieces(_)))
    }

    /// True if a value is unknown until deployment.
    pub(super) fn is_open(&self) -> bool {
        self.operands.contains(&Operand::Open)
    }

    /// Evaluates the condition against a complete context, as far as its values are known.
    pub(super) fn evaluate(&self, context: &Context) -> Truth {
        if !self.absent_decides && context.get(&self.key).is_none() {
            return Truth::Unknown;
        }
        let as_known = self.holds(context);
        // Another value can make a positive operator hold, and a negated one fail.
        let can_turn = as_known == (self.operator.negated && self.operator.comparison != Comparison::Null);
        let is_compared = context.get(&self.key).is_some() || self.operator.comparison == Comparison::Null;
        if self.is_open() && is_compared && (can_turn || self.operator.quantifier.is_some()) {
            Truth::Unknown
        } else if as_known {
            Truth::True
        } else {
            Truth::False
        }
    }

    /// Evaluates the condition against a complete context: a key that is not in it is absent.
    pub(super) fn holds(&self, context: &Context) -> bool {
        let Some(actual) = context.get(&self.key) else { return self.without_key() };
        if self.operator.comparison == Comparison::Null {
            return self.operands.contains(&Operand::Bool(false));
        }
        match (self.operator.quantifier, actual) {
            (None, ContextValue::One(actual)) => self.matches(actual, context),
            // Undocumented; according to all reports, a list under a plain operator matches nothing.
            (None, ContextValue::Many(_)) => self.operator.negated,
            (Some(quantifier), ContextValue::One(actual)) => {
                self.quantified(quantifier, std::slice::from_ref(actual), context)
            }
            (Some(quantifier), ContextValue::Many(actual)) => self.quantified(quantifier, actual, context),
        }
    }

    fn quantified(&self, quantifier: Quantifier, actual: &[String], context: &Context) -> bool {
        match quantifier {
            Quantifier::All => actual.iter().all(|actual| self.matches(actual, context)),
            Quantifier::Any => actual.iter().any(|actual| self.matches(actual, context)),
        }
    }

    /// Compares one value of the request with all of the policy: any satisfies a positive operator, none a negated one.
    fn matches(&self, actual: &str, context: &Context) -> bool {
        let mut answers = self.operands.iter().map(|wanted| wanted.compare(actual, self.operator.comparison, context));
        if self.operator.negated {
            // A value that cannot be compared does not satisfy the negation either.
            answers.all(|answer| answer == Some(false))
        } else {
            answers.any(|answer| answer == Some(true))
        }
    }

    /// True if no value of the key satisfies it, and its absence does not either: each value of the policy has a
    /// variable without a value.
    fn matches_nothing(&self, known: &Context, is_absent: impl Fn(&str) -> bool) -> bool {
        let is_unset = |operand: &Operand| match operand {
            Operand::Pieces(pieces) => pieces.iter().any(|piece| match piece {
                Piece::Variable { key, default: None } => known.get(key).is_none() && is_absent(key),
                _ => false,
            }),
            _ => false,
        };
        !self.operator.negated && !self.without_key() && !self.operands.is_empty() && self.operands.iter().all(is_unset)
    }

    /// Evaluates the condition against a partly known context; `is_absent` accepts keys (lower-case) that requests
    /// cannot carry.
    pub(super) fn truth(&self, known: &Context, is_absent: impl Fn(&str) -> bool) -> Truth {
        if known.get(&self.key).is_none() && !is_absent(&self.key) {
            return if self.matches_nothing(known, is_absent) { Truth::False } else { Truth::Unknown };
        }
        let open = self.operands.iter().any(|wanted| match wanted {
            Operand::Pieces(pieces) => pieces.iter().any(|piece| match piece {
                Piece::Variable { key, .. } => known.get(key).is_none() && !is_absent(key),
                _ => false,
            }),
            _ => false,
        });
        if open && known.get(&self.key).is_some() {
            return Truth::Unknown;
        }
        self.evaluate(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(operator: &str, key: &str, values: &[&str]) -> Compiled {
        let values: Vec<Text> = values.iter().map(|value| (*value).into()).collect();
        let span = crate::json::Span::default();
        let condition = Condition {
            operator: operator.into(),
            operator_span: span,
            key: key.into(),
            key_span: span,
            spans: vec![span; values.len()],
            values,
        };
        Compiled::new(&condition, &crate::IAM, true).unwrap()
    }

    #[test]
    fn unknown_keys_stay_unknown_and_absent_ones_decide() {
        let context: Context = [("aws:RequestedRegion", "us-east-1")].into_iter().collect();
        let test = |operator: &str, key: &str, values: &[&str]| {
            condition(operator, key, values).truth(&context, |key| key == "aws:gone")
        };
        assert_eq!(test("StringEquals", "aws:RequestedRegion", &["eu-west-1", "us-east-1"]), Truth::True);
        assert_eq!(test("StringNotEquals", "aws:RequestedRegion", &["eu-west-1", "us-east-1"]), Truth::False);
        assert_eq!(test("StringLikeIfExists", "AWS:requestedregion", &["us-*"]), Truth::True);
        assert_eq!(test("Null", "aws:RequestedRegion", &["true"]), Truth::False);
        assert_eq!(test("StringEquals", "aws:SourceVpc", &["vpc-1"]), Truth::Unknown);
        assert_eq!(test("StringEquals", "aws:Gone", &["a"]), Truth::False);
        assert_eq!(test("StringNotEquals", "aws:Gone", &["a"]), Truth::True);
        assert_eq!(test("StringEqualsIfExists", "aws:Gone", &["a"]), Truth::True);
        assert_eq!(test("Null", "aws:Gone", &["true"]), Truth::True);
        assert_eq!(test("Null", "aws:Gone", &["false"]), Truth::False);
        assert_eq!(test("ForAllValues:StringEquals", "aws:Gone", &["a"]), Truth::True);
        assert_eq!(test("ForAnyValue:StringEquals", "aws:Gone", &["a"]), Truth::False);
        // A variable without a value matches no value of an unknown key.
        assert_eq!(test("StringEquals", "aws:SourceVpc", &["${aws:Gone}"]), Truth::False);
        for (operator, values) in [
            ("StringEquals", ["${aws:Gone}", "a"].as_slice()),
            ("StringEquals", &["${aws:Gone, 'a'}"]),
            ("StringEquals", &["${aws:Other}"]),
            ("StringEqualsIfExists", &["${aws:Gone}"]),
            ("StringNotEquals", &["${aws:Gone}"]),
            ("ForAllValues:StringEquals", &["${aws:Gone}"]),
        ] {
            assert_eq!(test(operator, "aws:SourceVpc", values), Truth::Unknown, "{operator} {values:?}");
        }
        assert_eq!(test("StringEquals", "aws:RequestedRegion", &["${aws:PrincipalTag/region}"]), Truth::Unknown);
        assert_eq!(test("StringEquals", "aws:RequestedRegion", &["${aws:Gone}"]), Truth::False);
        assert_eq!(test("StringNotEquals", "aws:RequestedRegion", &["${aws:Gone}"]), Truth::True);
    }

    #[test]
    fn addresses_dates_numbers_and_arns_are_compared_as_what_they_are() {
        let holds = |operator: &str, value: &str, wanted: &str| {
            condition(operator, "k", &[wanted]).holds(&[("k", value)].into_iter().collect())
        };
        for (operator, value, wanted, expected) in [
            ("IpAddress", "203.0.113.9", "203.0.113.0/24", true),
            ("IpAddress", "203.0.113.9", "203.0.113.8", false),
            ("IpAddress", "198.51.100.1", "0.0.0.0/0", true),
            ("IpAddress", "2001:db8::7", "2001:db8::/32", true),
            ("IpAddress", "2001:db8::7", "0.0.0.0/0", false),
            ("IpAddress", "2001:db8::7", "::/0", true),
            ("NotIpAddress", "2001:db8::7", "2001:db8::/32", false),
            ("NotIpAddress", "no address", "2001:db8::/32", false),
            ("DateLessThan", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", true),
            ("DateGreaterThan", "2026-01-01T00:00:00Z", "2025-12-31", true),
            ("DateEquals", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z", true),
            ("NumericLessThanEquals", "10", "10.0", true),
            ("NumericLessThan", "9", "10", true),
            ("NumericEquals", "x", "10", false),
            ("Bool", "True", "true", true),
            ("Bool", "false", "true", false),
            ("ArnLike", "arn:aws:iam::1:role/a/b", "arn:aws:iam::*:role/*", true),
            ("ArnEquals", "arn:aws:iam::1:role/a/b", "arn:aws:iam::*:role/*", true),
            ("ArnLike", "arn:aws:sns:us-east-1:1:t", "arn:aws:*:t", false),
            ("StringLike", "arn:aws:sns:us-east-1:1:t", "arn:aws:*:t", true),
            ("ArnNotLike", "no arn", "arn:aws:iam::*:role/*", false),
            ("ArnLike", "arn:aws:iam::1:role/A", "arn:aws:iam::1:role/a", false),
            ("BinaryEquals", "QmluYXJ5", "QmluYXJ5", true),
        ] {
            assert_eq!(holds(operator, value, wanted), expected, "{value} {operator} {wanted}");
        }
    }

    #[test]
    fn operators_are_taken_apart() {
        let operator = Operator::parse("ForAnyValue:StringNotLikeIfExists", crate::IAM.operators).unwrap();
        assert_eq!((operator.quantifier, operator.negated, operator.if_exists), (Some(Quantifier::Any), true, true));
        assert!(Operator::parse("stringequals", crate::IAM.operators).is_some());
        for wrong in ["StringEqual", "ForSomeValues:StringLike", "", "IfExists", "NotBool"] {
            assert!(Operator::parse(wrong, crate::IAM.operators).is_none(), "{wrong}");
        }
    }
}
