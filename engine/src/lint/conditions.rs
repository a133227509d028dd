//! Checks the conditions of a statement.

use crate::catalogue::{AccessLevel, Action, Catalogue, Service};
use crate::dialect::Dialect;
use crate::display;
use crate::document::{Condition, Document, Effect, Statement};
use crate::global_keys::{GLOBAL_KEYS, RAM_KEYS, global_kind};
use crate::operator::{Comparison, Operator, Quantifier};
use crate::pattern::ActionPattern;

use super::{Remarks, canonical, values};

pub(super) fn check(document: &Document, statement: &Statement, catalogue: &Catalogue, remarks: &mut Remarks<'_>) {
    empty(document, statement, remarks);
    duplicate_keys(statement, remarks);
    for condition in &statement.conditions {
        let Some(operator) = Operator::parse(&condition.operator, document.dialect.operators) else { continue };
        spelling(statement, condition, operator, remarks);
        values::check(document, statement, condition, operator, remarks);
        let kind = key(statement, condition, catalogue, remarks);
        quantifier(statement, condition, operator, kind, catalogue, remarks);
    }
}

/// Reports conditions without an operator, and operators without a key.
fn empty(document: &Document, statement: &Statement, remarks: &mut Remarks<'_>) {
    let Some(statements) = document.root.get("Statement") else { return };
    let statements = statements.items().unwrap_or(std::slice::from_ref(statements));
    // If a template decides which statements exist, their positions cannot be used.
    let node = statements.iter().find(|node| node.span == statement.span);
    let Some(conditions) = node.and_then(|node| node.get("Condition")) else { return };
    let operators = conditions.members().unwrap_or_default().iter().map(|member| &member.value);
    for node in std::iter::once(conditions).chain(operators).filter(|node| node.members().is_some_and(<[_]>::is_empty))
    {
        let message = "an empty condition: it always holds";
        remarks.report("empty", Some(statement), node.span, message.to_owned());
    }
}

/// Reports keys repeated under one operator. Source: IAM User Guide, "IAM Access Analyzer policy check reference",
/// "Duplicate keys with different case": keys are not case-sensitive.
fn duplicate_keys(statement: &Statement, remarks: &mut Remarks<'_>) {
    for (at, condition) in statement.conditions.iter().enumerate() {
        let is_same = |other: &Condition| {
            other.operator == condition.operator
                && other.operator_span == condition.operator_span
                && other.key.is_known()
                && *other.key != *condition.key
                && other.key.eq_ignore_ascii_case(&condition.key)
        };
        if condition.key.is_known() && statement.conditions.iter().take(at).any(is_same) {
            let message =
                format!("duplicate key `{}` under this operator, in another case", display::printable(&condition.key));
            remarks.report("condition-key-twice", Some(statement), condition.key_span, message);
        }
    }
}

fn spelling(statement: &Statement, condition: &Condition, operator: Operator, remarks: &mut Remarks<'_>) {
    if let Some(right) = canonical(&condition.operator, remarks.dialect).filter(|right| *right != condition.operator) {
        let message = format!("{} spells the operator `{right}`", remarks.dialect.vendor);
        remarks.report("condition-case", Some(statement), condition.operator_span, message);
    }
    if operator.comparison == Comparison::Null && (operator.if_exists || operator.quantifier.is_some()) {
        let message = "`Null` tests if the key exists: it allows neither `IfExists` nor a set operator";
        remarks.report("condition-operator", Some(statement), condition.operator_span, message.to_owned());
    }
}

/// Checks that the key exists; returns the type of its values, if known.
fn key(
    statement: &Statement,
    condition: &Condition,
    catalogue: &Catalogue,
    remarks: &mut Remarks<'_>,
) -> Option<&'static str> {
    let folded = condition.key.to_ascii_lowercase();
    let shown = display::printable(&condition.key);
    let Some((prefix, _)) = folded.split_once(':') else {
        let message = format!("`{shown}` is not a condition key: it has no prefix");
        remarks.report("condition-key-unknown", Some(statement), condition.key_span, message);
        return None;
    };
    if !remarks.dialect.knows_resources {
        // No complete list of keys is published.
        return RAM_KEYS.iter().find(|(name, _)| *name == folded).map(|(_, kind)| *kind);
    }
    if prefix == "aws" {
        let kind = global_kind(&folded);
        if kind.is_none() {
            let help = GLOBAL_KEYS
                .iter()
                .map(|(name, _)| *name)
                .find(|name| {
                    name.replace(['-', '_'], "").contains(folded.trim_end_matches('s')) || folded.contains(name)
                })
                .map(|name| format!("did you mean `{name}`?"));
            let message = format!("unknown global condition key `{shown}`");
            remarks.report_with_help("condition-key-unknown", Some(statement), condition.key_span, message, help);
            return None;
        }
        let of_request = folded.starts_with("aws:requesttag/") || folded == "aws:tagkeys";
        let of_resource = folded.starts_with("aws:resourcetag/");
        if of_request || of_resource {
            absent(statement, condition, &folded, &covered(statement, catalogue), catalogue, remarks);
        }
        return kind;
    }
    if !condition.key.is_known()
        && !catalogue.service(prefix).is_some_and(|service| service.keys.iter().any(|known| known.is(&folded)))
    {
        // The name is not known before deployment.
        return None;
    }
    let Some(service) = catalogue.service(prefix) else {
        // For example, the SAML keys are in the tables of STS.
        if let Some(known) = catalogue.services().flat_map(|service| &service.keys).find(|known| known.is(&folded)) {
            return Some(known.kind);
        }
        // Keys of identity providers (`accounts.google.com:aud`, `sts.…`) have no service.
        if !prefix.contains('.') && !prefix.contains('/') {
            let message = format!("no known service has the prefix of `{shown}`");
            remarks.report("condition-key-unknown", Some(statement), condition.key_span, message);
        }
        return None;
    };
    let Some(known) = service.keys.iter().find(|known| known.is(&folded)) else {
        // `ec2:osuser` is in the table of EC2 Instance Connect.
        if let Some(known) = catalogue.services().flat_map(|service| &service.keys).find(|known| known.is(&folded)) {
            return Some(known.kind);
        }
        if DOCUMENTED.iter().any(|key| folded.starts_with(key)) {
            return None;
        }
        let message = format!("unknown condition key `{shown}`");
        remarks.report("condition-key-unknown", Some(statement), condition.key_span, message);
        return None;
    };
    absent(statement, condition, &folded, &covered(statement, catalogue), catalogue, remarks);
    Some(known.kind)
}

/// Keys, or their prefixes, that the guides of services list and the Service Authorization Reference lacks, in lower
/// case. Sources: API Gateway Developer Guide, "AWS condition keys that can be used in API Gateway resource policies";
/// AWS Glue Developer Guide, "Identity-based policy examples"; AWS `IoT` Core Developer Guide, "`IoT` Core policy
/// variables".
const DOCUMENTED: [&str; 6] = [
    "apigateway:cognitouserpoolproviderarn",
    "glue:resourcetag/",
    "iot:certificate.",
    "iot:clientid",
    "iot:connect",
    "iot:domainname",
];

/// Keys that the guides of services compare with both plain and set operators, in lower case. Sources: Amazon
/// `EventBridge` User Guide, "Using IAM policy conditions in Amazon `EventBridge`"; AWS Secrets Manager User Guide,
/// "Resource-based policies"; AWS Organizations User Guide, "Example SCPs for AWS RAM"; IAM User Guide, examples of
/// policies for AWS Data Pipeline.
const EITHER_OPERATOR_KEYS: [&str; 4] =
    ["datapipeline:pipelinecreator", "events:detail-type", "ram:principal", "secretsmanager:versionstage"];

/// Known actions that the statement covers; none if it covers everything.
fn covered<'c>(statement: &Statement, catalogue: &'c Catalogue) -> Vec<&'c Action> {
    let patterns: Vec<ActionPattern> =
        statement.action.folded.iter().map(|folded| ActionPattern::from_text(folded, catalogue.dialect)).collect();
    let is_open = |pattern: &ActionPattern| matches!(pattern, ActionPattern::Everything | ActionPattern::Open(_));
    if statement.action.negated || patterns.iter().any(is_open) {
        return Vec::new();
    }
    patterns.iter().flat_map(|pattern| catalogue.matching(pattern)).collect()
}

/// Reports a key that none of the statement's actions carries: the result of the condition is the same for every
/// request.
fn absent(
    statement: &Statement,
    condition: &Condition,
    folded: &str,
    covered: &[&Action],
    catalogue: &Catalogue,
    remarks: &mut Remarks<'_>,
) {
    let carries = |action: &&Action| {
        catalogue.action(&action.folded).is_some_and(|(service, action)| service.carries(action, folded))
    };
    let Some((prefix, name)) = folded.split_once(':') else { return };
    // The tables of a service do not always list the keys of other services. They do list keys of resource tags: for
    // example, the services that support `iam:ResourceTag` list it.
    let of_tags = name.starts_with("resourcetag/");
    let own =
        prefix == "aws" || of_tags || covered.iter().all(|action| action.folded.split(':').next() == Some(prefix));
    let comes_with_credentials = crate::assess::CREDENTIAL_KEYS.contains(&folded);
    if covered.is_empty() || !own || comes_with_credentials || covered.iter().any(carries) {
        return;
    }
    // The tables list it for the actions on agreements only. Source: AWS Marketplace Buyer Guide, "Controlling access
    // to AWS Marketplace subscriptions", policies that name products.
    // Requests for OpsItems carry their tags: AWS Systems Manager User Guide, "Setting up OpsCenter".
    if folded == "aws-marketplace:productid" || folded.starts_with("ssm:resourcetag/") {
        return;
    }
    // A key that the tables list for no action, such as `states:HTTPEndpoint`, is missing from the tables, not from
    // requests.
    let is_given = |service: &Service| service.actions.iter().any(|action| service.carries(action, folded));
    if prefix != "aws" && !catalogue.service(prefix).is_some_and(is_given) {
        return;
    }
    let Some(operator) = Operator::parse(&condition.operator, remarks.dialect.operators) else { return };
    let holds = match operator.comparison {
        Comparison::Null => condition.values.iter().any(|value| value.eq_ignore_ascii_case("true")),
        _ => operator.negated || operator.if_exists || operator.quantifier == Some(Quantifier::All),
    };
    let effect = match (holds, statement.effect) {
        (true, _) => "the condition always holds",
        (false, Effect::Allow) => "the statement grants nothing",
        (false, Effect::Deny) => "the statement denies nothing",
    };
    let message = format!(
        "according to the Service Authorization Reference, none of the statement's actions carries `{}`: {effect}",
        display::printable(&condition.key)
    );
    remarks.report("condition-key-absent", Some(statement), condition.key_span, message);
}

/// True if a condition fails for requests without a key. A tag of the request counts as one of `aws:TagKeys`.
fn requires_key(condition: &Condition, key: &str, dialect: &Dialect) -> bool {
    let Some(operator) = Operator::parse(&condition.operator, dialect.operators) else { return false };
    let is_same = condition.key.eq_ignore_ascii_case(key)
        || (key.eq_ignore_ascii_case("aws:TagKeys")
            && condition.key.get(..15).is_some_and(|front| front.eq_ignore_ascii_case("aws:RequestTag/")));
    let fails_without = match (operator.comparison, operator.quantifier) {
        (Comparison::Null, _) => condition.values.iter().all(|value| value.eq_ignore_ascii_case("false")),
        (_, Some(quantifier)) => quantifier == Quantifier::Any,
        (_, None) => !operator.negated && !operator.if_exists,
    };
    is_same && fails_without
}

/// True if requests for these actions may lack a multivalued key. With a few exceptions, requests to a service carry
/// its own keys; tag keys are in every request that only changes tags. Sources: Amazon `DynamoDB` Developer Guide,
/// "Using IAM policy conditions for fine-grained access control"; AWS KMS Developer Guide, "AWS KMS condition keys";
/// IAM User Guide, "Multivalued context keys".
fn may_lack(key: &str, covered: &[&Action]) -> bool {
    const OPTIONAL: [&str; 4] =
        ["dynamodb:attributes", "dynamodb:leadingkeys", "kms:encryptioncontextkeys", "s3:requestobjecttagkeys"];
    let folded = key.to_ascii_lowercase();
    let only_tag = !covered.is_empty() && covered.iter().all(|action| action.level == AccessLevel::Tagging);
    OPTIONAL.contains(&folded.as_str()) || (folded.starts_with("aws:") && !(folded == "aws:tagkeys" && only_tag))
}

fn quantifier(
    statement: &Statement,
    condition: &Condition,
    operator: Operator,
    kind: Option<&'static str>,
    catalogue: &Catalogue,
    remarks: &mut Remarks<'_>,
) {
    let shown = display::printable(&condition.key);
    if operator.quantifier == Some(Quantifier::All)
        && statement.effect == Effect::Allow
        && may_lack(&condition.key, &covered(statement, catalogue))
    {
        // A test for the presence of the key closes the gap.
        if !statement.conditions.iter().any(|other| requires_key(other, &condition.key, remarks.dialect)) {
            let message =
                format!("`ForAllValues` holds when `{shown}` is missing, so the statement allows requests without it");
            remarks.report_with_help(
                "set-operator-allow",
                Some(statement),
                condition.operator_span,
                message,
                Some(format!("add \"Null\": {{\"{shown}\": \"false\"}}")),
            );
        }
    }
    let Some(kind) = kind else { return };
    // The reference lists it as a string. Source: IAM User Guide, "Available keys for AWS OIDC federation", `amr`.
    let folded = condition.key.to_ascii_lowercase();
    if EITHER_OPERATOR_KEYS.contains(&folded.as_str()) {
        return;
    }
    let is_many = kind.starts_with("ArrayOf") || folded.ends_with(":amr");
    match operator.quantifier {
        Some(_) if !is_many => {
            let message = format!("`{shown}` has one value; set operators are for multivalued keys");
            remarks.report("set-operator-single", Some(statement), condition.operator_span, message);
        }
        None if is_many && operator.comparison != Comparison::Null => {
            let message = format!(
                "`{shown}` is multivalued: without `ForAnyValue` or `ForAllValues` the operator compares no value"
            );
            remarks.report("set-operator-missing", Some(statement), condition.operator_span, message);
        }
        _ => {}
    }
    if operator.comparison == Comparison::Null {
        // `Null` tests the presence of the key, not its values.
        return;
    }
    let single = kind.trim_start_matches("ArrayOf");
    let fits = match operator.comparison {
        Comparison::Numeric(_) => single == "Numeric" || single == "Date",
        Comparison::Date(_) => single == "Date" || single == "Numeric",
        Comparison::IpAddress => single == "IPAddress" || single == "String",
        Comparison::Bool => single == "Bool" || single == "String",
        Comparison::Arn => single == "ARN" || single == "String",
        Comparison::Binary => single == "Binary" || single == "String",
        // A variable has the type of another key; operators for addresses and numbers do not support variables.
        _ if condition.values.iter().all(|value| value.contains("${")) => true,
        // String operators accept every type that is written as a string.
        _ => !matches!(single, "Numeric" | "Date" | "IPAddress"),
    };
    if !fits {
        let message = format!("`{shown}` has type {single}, which `{}` does not compare", condition.operator);
        remarks.report("condition-type", Some(statement), condition.operator_span, message);
    }
}
