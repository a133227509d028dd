//! Checks the values of conditions.

use std::net::IpAddr;

use crate::condition::{block, instant};
use crate::display;
use crate::document::{Condition, Document, Effect, Statement};
use crate::json::Span;
use crate::operator::{Comparison, Operator, Order};
use crate::text::Text;
use crate::variables;

use super::{Remarks, arns};

pub(super) fn check(
    document: &Document,
    statement: &Statement,
    condition: &Condition,
    operator: Operator,
    remarks: &mut Remarks<'_>,
) {
    if condition.values.is_empty() {
        let message = format!(
            "no value for `{}`: the condition does not have the apparent effect",
            display::printable(&condition.key)
        );
        remarks.report("empty", Some(statement), condition.key_span, message);
    }
    for (value, span) in condition.values.iter().zip(&condition.spans) {
        if !value.is_known() || value.contains("${") {
            super::elements::check_variables(document, statement, value, *span, remarks);
            without_variables(document, statement, condition, operator, (value, *span), remarks);
            continue;
        }
        let readable = match operator.comparison {
            Comparison::Numeric(_) => value.parse::<f64>().is_ok_and(f64::is_finite),
            Comparison::Date(_) => instant(value).is_some(),
            Comparison::Bool | Comparison::Null => {
                value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
            }
            Comparison::IpAddress => block(value).is_some(),
            Comparison::Arn => value.starts_with("arn:") || value.chars().all(|c| c == '*'),
            _ => true,
        };
        if !readable {
            let wanted = match operator.comparison {
                Comparison::Numeric(_) => "a number",
                Comparison::Date(_) => "a date such as 2026-01-31T00:00:00Z",
                Comparison::Bool | Comparison::Null => "`true` or `false`",
                Comparison::IpAddress => "an address or block such as 203.0.113.0/24",
                _ => "an ARN",
            };
            let message =
                format!("`{}` is not {wanted}, as `{}` requires", display::printable(value), condition.operator);
            remarks.report("condition-value", Some(statement), *span, message);
            continue;
        }
        if operator.comparison == Comparison::Arn {
            arns::check(statement, value, *span, remarks);
        }
        plain_wildcard(statement, condition, operator, (value, *span), remarks);
        if document.dialect.knows_resources {
            impossible_value(statement, condition, operator, (value, *span), remarks);
        }
        range(statement, operator, (value, *span), remarks);
    }
    private(statement, condition, operator, remarks);
    multi_factor(statement, condition, operator, remarks);
    value_combination(statement, condition, operator, remarks);
}

/// Reports variables in values that are neither text nor ARNs. Source: IAM User Guide, "IAM Access Analyzer policy
/// check reference", "Invalid variable for operator".
fn without_variables(
    document: &Document,
    statement: &Statement,
    condition: &Condition,
    operator: Operator,
    (value, span): (&Text, Span),
    remarks: &mut Remarks<'_>,
) {
    let takes_none = matches!(
        operator.comparison,
        Comparison::Numeric(_) | Comparison::Date(_) | Comparison::IpAddress | Comparison::Binary | Comparison::Null
    );
    if takes_none && document.has_variables() && value.is_known() && variables::is_used(value) {
        let message = format!(
            "`{}` does not compare text, so the variable in `{}` is literal",
            condition.operator,
            display::printable(value)
        );
        remarks.report("variable", Some(statement), span, message);
    }
}

/// Reports literal wildcards. Source: IAM User Guide, "IAM Access Analyzer policy check reference", "Wildcard without
/// like operator".
fn plain_wildcard(
    statement: &Statement,
    condition: &Condition,
    operator: Operator,
    (value, span): (&Text, Span),
    remarks: &mut Remarks<'_>,
) {
    let is_plain = matches!(operator.comparison, Comparison::StringEquals | Comparison::StringEqualsIgnoreCase);
    if !is_plain || !value.contains('*') {
        return;
    }
    let like = if operator.negated { "StringNotLike" } else { "StringLike" };
    let message = format!("`{}` treats the `*` of `{}` as literal", condition.operator, display::printable(value));
    remarks.report_with_help("wildcard-without-like", Some(statement), span, message, Some(format!("write `{like}`")));
}

/// Reports values that a global key never has. Sources: AWS User Guides, "AWS global condition context keys"; Amazon
/// VPC API Reference: ids of endpoints start with `vpce-`, those of VPCs with `vpc-`.
fn impossible_value(
    statement: &Statement,
    condition: &Condition,
    operator: Operator,
    (value, span): (&Text, Span),
    remarks: &mut Remarks<'_>,
) {
    let compares_text = matches!(
        operator.comparison,
        Comparison::StringEquals | Comparison::StringEqualsIgnoreCase | Comparison::StringLike
    );
    if !compares_text {
        return;
    }
    let (is, should) = match condition.key.to_ascii_lowercase().as_str() {
        "aws:sourcevpc" if value.starts_with("vpce-") => ("an endpoint id", "the key has a VPC id"),
        "aws:sourcevpce" if value.starts_with("vpc-") => ("a VPC id", "the key has an endpoint id"),
        "aws:requestedregion" | "ec2:region" if arns::is_invalid_region(value) => ("not a Region", "the key has one"),
        "aws:principalaccount" | "aws:resourceaccount" | "aws:sourceaccount" if arns::is_invalid_account(value) => {
            ("not an account id", "that has 12 digits")
        }
        "aws:principalorgid" | "aws:resourceorgid" | "aws:sourceorgid"
            if arns::is_number(value) || value.starts_with("ou-") || value.starts_with("r-") =>
        {
            ("not an organization id", "that begins with `o-`")
        }
        "iam:passedtoservice" if !value.contains(['.', '*', '?']) => {
            ("not a service principal", "that is a domain, such as `ec2.amazonaws.com`")
        }
        _ => return,
    };
    let message = format!("`{}` is {is}: {should}", display::printable(value));
    remarks.report("condition-value-other", Some(statement), span, message);
}

/// Reports CIDR blocks with bits set beyond the prefix length.
fn range(statement: &Statement, operator: Operator, (value, span): (&Text, Span), remarks: &mut Remarks<'_>) {
    let Some((address, length)) = block(value).filter(|_| operator.comparison == Comparison::IpAddress) else { return };
    let first: IpAddr = match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            std::net::Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            std::net::Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    };
    if first != address {
        let message = format!(
            "`{}` begins with {first}: the bits beyond the prefix length are ignored",
            display::printable(value)
        );
        remarks.report_with_help(
            "address-range",
            Some(statement),
            span,
            message,
            Some(format!("write `{first}/{length}`")),
        );
    }
}

/// True if no address of a block is routed on the internet. Sources: RFC 1918, RFC 3927, RFC 4193, RFC 6598, RFC 1122.
fn is_private((address, length): (IpAddr, u8)) -> bool {
    match address {
        IpAddr::V4(address) => {
            let is_shared = length >= 10 && address.octets().starts_with(&[100]) && address.octets()[1] & 0xc0 == 64;
            is_shared
                || (length >= 8 && (address.octets()[0] == 10 || address.is_loopback()))
                || (length >= 12 && address.octets()[0] == 172 && address.octets()[1] & 0xf0 == 16)
                || (length >= 16 && (address.is_link_local() || address.octets().starts_with(&[192, 168])))
        }
        IpAddr::V6(address) => {
            (length >= 7 && address.is_unique_local()) || (length >= 10 && address.is_unicast_link_local())
        }
    }
}

/// Reports private addresses in `aws:SourceIp`: requests through a VPC endpoint carry `aws:VpcSourceIp` instead.
/// Source: IAM User Guide, "IAM Access Analyzer policy check reference", "Private IP address", "Private `NotIpAddress`"
/// and their subsets.
fn private(statement: &Statement, condition: &Condition, operator: Operator, remarks: &mut Remarks<'_>) {
    if operator.comparison != Comparison::IpAddress || !condition.key.eq_ignore_ascii_case("aws:SourceIp") {
        return;
    }
    let is_private_text = |value: &&Text| value.is_known() && block(value).is_some_and(is_private);
    let number = condition.values.iter().filter(is_private_text).count();
    let all = number == condition.values.len();
    let what = match (all, operator.negated) {
        (true, false) => "the condition never holds",
        (true, true) => "the condition always holds",
        (false, _) => "this value has no effect",
    };
    for (value, span) in condition.values.iter().zip(&condition.spans).filter(|(value, _)| is_private_text(value)) {
        let message = format!("no request has the private source address `{}`: {what}", display::printable(value));
        let help = "for requests through a VPC endpoint write `aws:VpcSourceIp`";
        remarks.report_with_help("source-ip-private", Some(statement), *span, message, Some(help.to_owned()));
    }
}

/// Reports a Deny without MFA that tests for `false`: requests with access keys do not carry the key. Source: IAM User
/// Guide, "AWS global condition context keys", `aws:MultiFactorAuthPresent`.
fn multi_factor(statement: &Statement, condition: &Condition, operator: Operator, remarks: &mut Remarks<'_>) {
    let looks_for_false = condition.values.iter().all(|value| value.eq_ignore_ascii_case("false"));
    if statement.effect == Effect::Deny
        && operator.comparison == Comparison::Bool
        && !operator.if_exists
        && looks_for_false
        && condition.key.eq_ignore_ascii_case("aws:MultiFactorAuthPresent")
    {
        let message = "requests with a user's access keys lack the key: the statement does not deny them";
        let help = "write `BoolIfExists`";
        remarks.report_with_help(
            "mfa-key-absent",
            Some(statement),
            condition.operator_span,
            message.to_owned(),
            Some(help.to_owned()),
        );
    }
}

/// Reports values that are redundant or conflict with others: both values of `Bool`, and limits within another. Source:
/// IAM User Guide, "IAM Access Analyzer policy check reference", "Invalid condition multiple Boolean" and "Redundant
/// condition value num".
fn value_combination(statement: &Statement, condition: &Condition, operator: Operator, remarks: &mut Remarks<'_>) {
    let is_known = condition.values.iter().all(|value| value.is_known() && !value.contains("${"));
    if !is_known || condition.values.len() < 2 {
        return;
    }
    match operator.comparison {
        Comparison::Bool | Comparison::Null => {
            let has = |wanted: &str| condition.values.iter().any(|value| value.eq_ignore_ascii_case(wanted));
            if has("true") && has("false") {
                let message = format!("`{}` requires either `true` or `false`, not both", condition.operator);
                remarks.report("condition-booleans", Some(statement), condition.key_span, message);
            }
        }
        Comparison::Numeric(order @ (Order::Less | Order::LessOrEqual | Order::Greater | Order::GreaterOrEqual)) => {
            let numbers =
                || condition.values.iter().filter_map(|value| value.parse::<f64>().ok().filter(|one| one.is_finite()));
            let widest = match order {
                Order::Less | Order::LessOrEqual => numbers().reduce(f64::max),
                _ => numbers().reduce(f64::min),
            };
            let Some(widest) = widest.filter(|_| numbers().count() == condition.values.len()) else { return };
            for (value, span) in condition.values.iter().zip(&condition.spans) {
                if value.parse::<f64>().is_ok_and(|one| one.total_cmp(&widest).is_ne()) {
                    let message = format!("`{}` is already within the limit {widest}", display::printable(value));
                    remarks.report("duplicate", Some(statement), *span, message);
                }
            }
        }
        _ => {}
    }
}
