//! Conditions over a context that is known only in part: true, false, or unknown.
//! Semantics: AWS IAM User Guide, "IAM JSON policy elements: Condition operators".

use std::collections::BTreeMap;

use super::document::Condition;
use super::glob;

/// Whether a condition holds, as far as the known context tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

/// Evaluates one condition. Keys of the context are lower-case. A key that is not in it is unknown, never absent, and so
/// is every operator that this version does not decide.
pub(super) fn evaluate(
    condition: &Condition,
    context: &BTreeMap<String, String>,
    is_absent: impl Fn(&str) -> bool,
) -> Truth {
    let key = condition.key.to_ascii_lowercase();
    let operator = condition.operator.as_str();
    if is_absent(&key) {
        // A missing key: negated operators and `IfExists` hold, `Null` asks for just that, everything else does not hold.
        let holds = match operator {
            "Null" => condition.values.iter().any(|value| value.eq_ignore_ascii_case("true")),
            _ => operator.contains("Not") || operator.ends_with("IfExists") || operator.starts_with("ForAllValues:"),
        };
        return if holds { Truth::True } else { Truth::False };
    }
    let Some(actual) = context.get(&key) else { return Truth::Unknown };
    // A known key is present, so `IfExists` adds nothing.
    let operator = operator.strip_suffix("IfExists").unwrap_or(operator);
    // A policy variable stands for something that is not known here.
    if condition.values.iter().any(|value| value.contains("${")) {
        return Truth::Unknown;
    }
    let any = |test: &dyn Fn(&str) -> bool| condition.values.iter().any(|value| test(value));
    let holds = match operator {
        "StringEquals" => any(&|value| value == actual),
        "StringNotEquals" => !any(&|value| value == actual),
        "StringEqualsIgnoreCase" => any(&|value| value.to_lowercase() == actual.to_lowercase()),
        "StringNotEqualsIgnoreCase" => !any(&|value| value.to_lowercase() == actual.to_lowercase()),
        "StringLike" => any(&|value| glob::matches(value, actual)),
        "StringNotLike" => !any(&|value| glob::matches(value, actual)),
        "Bool" => any(&|value| value.eq_ignore_ascii_case(actual)),
        "Null" => any(&|value| value.eq_ignore_ascii_case("false")),
        _ => return Truth::Unknown,
    };
    if holds { Truth::True } else { Truth::False }
}

/// The condition for a person.
pub(super) fn describe(condition: &Condition) -> String {
    format!("{} {} {}", condition.key, condition.operator, condition.values.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_and_operators_stay_unknown() {
        let context = BTreeMap::from([("aws:requestedregion".to_owned(), "us-east-1".to_owned())]);
        let test = |operator: &str, key: &str, values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            evaluate(&Condition { operator: operator.into(), key: key.into(), values }, &context, |key| {
                key == "aws:gone"
            })
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
        assert_eq!(test("NumericLessThan", "aws:RequestedRegion", &["1"]), Truth::Unknown);
        assert_eq!(test("StringEquals", "aws:RequestedRegion", &["${aws:PrincipalTag/region}"]), Truth::Unknown);
    }
}
