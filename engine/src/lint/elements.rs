//! Checks the actions and resources of a statement.

use std::collections::HashMap;

use crate::automaton::Language;
use crate::catalogue::{AccessLevel, Action, Catalogue, Service};
use crate::dialect::PolicyKind;
use crate::display;
use crate::document::{Document, Effect, Statement};
use crate::json::Span;
use crate::pattern::{ARN_PARTS, ActionPattern, ResourcePattern, is_everything, split_arn, split_name};
use crate::text::{Text, TextPart};
use crate::variables::{self, VariableError};

use super::{Remarks, arns, principals};

mod resources;

use resources::{Resources, scope};

pub(super) fn check(
    document: &Document,
    statement: &Statement,
    kind: PolicyKind,
    catalogue: &Catalogue,
    remarks: &mut Remarks<'_>,
) {
    let mut types = Types { is_known: catalogue.dialect.knows_resources, ..Types::default() };
    let on = Resources::new(document, statement);
    // A control policy does not grant its Allow actions; other policies must.
    let grants =
        statement.effect == Effect::Allow && !matches!(kind, PolicyKind::Control | PolicyKind::ResourceControl);
    actions(statement, grants, &on, &mut types, catalogue, remarks);
    let Some(resource) = &statement.resource else { return };
    if resource.patterns.is_empty() {
        let message = if resource.negated {
            "`NotResource` excludes nothing: the statement covers every resource"
        } else {
            "an empty list of resources: the statement has no effect"
        };
        remarks.report("empty", Some(statement), resource.key_span, message.to_owned());
    }
    if resource.negated && resource.patterns.iter().any(|pattern| pattern.is_known() && is_everything(pattern)) {
        let message = "`NotResource` with `*` excludes every resource: the statement has no effect";
        remarks.report("empty", Some(statement), resource.key_span, message.to_owned());
    } else if resource.negated && grants {
        let message = "`NotResource` with Allow grants every other resource, including future ones";
        remarks.report("allow-not-resource", Some(statement), resource.key_span, message.to_owned());
    }
    for (pattern, span) in resource.patterns.iter().zip(&resource.spans) {
        resource_form(document, statement, pattern, *span, remarks);
    }
    scope(statement, &on, &mut types, catalogue, remarks);
}

fn actions(
    statement: &Statement,
    grants: bool,
    on: &Resources,
    types: &mut Types,
    catalogue: &Catalogue,
    remarks: &mut Remarks<'_>,
) {
    let action = &statement.action;
    if action.patterns.is_empty() {
        let message = if action.negated {
            "`NotAction` excludes nothing: the statement covers every action"
        } else {
            "an empty list of actions: the statement has no effect"
        };
        remarks.report("empty", Some(statement), action.key_span, message.to_owned());
    }
    if action.negated && grants {
        let message = if matches!(on, Resources::Any) {
            "`NotAction` with Allow grants every other action of every service"
        } else {
            "`NotAction` with Allow grants every other action on these resources, including future ones"
        };
        remarks.report("allow-not-action", Some(statement), action.key_span, message.to_owned());
    }
    for ((pattern, folded), span) in action.patterns.iter().zip(&action.folded).zip(&action.spans) {
        let compiled = ActionPattern::from_text(folded, catalogue.dialect);
        // Formats the pattern lazily: almost every one is correct.
        let shown = || display::printable(pattern);
        match &compiled {
            ActionPattern::Nothing => {
                let rest =
                    if remarks.dialect.has_service_wildcards { "" } else { ", without a wildcard before the colon" };
                let message = format!("`{}` is not an action: expected `service:Name`{rest}", shown());
                remarks.report("action-form", Some(statement), *span, message);
            }
            ActionPattern::Exact(_) => {
                if catalogue.action(folded).is_none() && !DOCUMENTED.contains(&&**folded) {
                    let meant = catalogue.did_you_mean(pattern);
                    // Not every RAM action is published: a name that resembles no other may be valid.
                    if remarks.dialect.knows_resources || meant.is_some() {
                        let help = meant.map(|meant| format!("did you mean `{meant}`?"));
                        let message = format!("unknown action `{}`", shown());
                        remarks.report_with_help("action-unknown", Some(statement), *span, message, help);
                    }
                }
            }
            ActionPattern::Everything => {
                // A policy of a resource or an endpoint applies to that one only.
                if grants && !action.negated && statement.principal.is_none() && !excludes_everything(statement) {
                    let message = format!("`{}` grants every action of every service", shown());
                    remarks.report("action-wildcard-wide", Some(statement), *span, message);
                }
            }
            ActionPattern::Open(_) => {
                // Its possible values can be checked if the service is known.
                if folded.known_start().contains(':') && catalogue.matching(&compiled).is_empty() {
                    let message = format!("`{}` covers no known action for any value", shown());
                    remarks.report("action-wildcard-empty", Some(statement), *span, message);
                }
            }
            ActionPattern::Prefix(_) | ActionPattern::Glob(_) => {
                // For example, the default policy of a KMS key grants all access to its account.
                let grants = grants
                    && (statement.principal.is_none()
                        || statement.conditions.is_empty() && principals::is_for_everyone(statement));
                wildcard(statement, grants, (pattern, folded, *span), &compiled, on, types, catalogue, remarks);
            }
        }
    }
}

/// Actions that the guides of services list and the Service Authorization Reference lacks, in lower case. Sources: AWS
/// Lake Formation Developer Guide, "Managing cross-account permissions"; Amazon `OpenSearch` Service Developer Guide,
/// "Monitoring `OpenSearch` logs with Amazon `CloudWatch` Logs"; AWS `IoT` Core Developer Guide, "Authorizing direct
/// calls to AWS services".
const DOCUMENTED: [&str; 3] = ["glue:shareresource", "iot:assumerolewithcertificate", "logs:putlogeventsbatch"];

/// Reports a pattern that covers no action, or that grants permissions management.
#[expect(clippy::too_many_arguments, reason = "one pattern with the context of its statement")]
fn wildcard(
    statement: &Statement,
    grants: bool,
    (pattern, folded, span): (&Text, &Text, Span),
    compiled: &ActionPattern,
    on: &Resources,
    types: &mut Types,
    catalogue: &Catalogue,
    remarks: &mut Remarks<'_>,
) {
    let covered = catalogue.matching(compiled);
    if covered.is_empty() && !remarks.dialect.knows_resources {
        // Not every RAM action is published.
    } else if covered.is_empty() {
        let help = folded
            .split_once(':')
            .filter(|(prefix, _)| catalogue.service(prefix).is_none())
            .map(|(prefix, _)| format!("unknown service prefix `{}`", display::printable(prefix)));
        remarks.report_with_help(
            "action-wildcard-empty",
            Some(statement),
            span,
            format!("`{}` covers no known action", display::printable(pattern)),
            help,
        );
    } else if grants && !statement.action.negated && !excludes_everything(statement) {
        // Skip actions that are known not to apply to the statement's resources.
        let service = folded.split_once(':').and_then(|(prefix, _)| catalogue.service(prefix));
        let granted: Vec<&&Action> =
            covered.iter().filter(|action| service.is_none_or(|service| on.supports(action, service, types))).collect();
        let managing: Vec<&str> = granted
            .iter()
            .filter(|action| action.level == AccessLevel::PermissionsManagement)
            .map(|action| action.name.as_str())
            .collect();
        if !managing.is_empty() {
            let (number, shown) = (granted.len(), display::printable(pattern));
            let listed = display::list(&managing, 3);
            let message = if number == 1 {
                format!("`{shown}` grants one action, which manages permissions: {listed}")
            } else {
                format!("`{shown}` grants {number} actions, {} of which manage permissions: {listed}", managing.len())
            };
            remarks.report("action-wildcard-wide", Some(statement), span, message);
        }
    }
}

fn resource_form(
    document: &Document,
    statement: &Statement,
    pattern: &Text,
    span: crate::json::Span,
    remarks: &mut Remarks<'_>,
) {
    if is_everything(pattern) {
        return;
    }
    // API Gateway completes the ARN when the policy of an API is saved.
    // Source: API Gateway Developer Guide, "API Gateway resource policy examples".
    if statement.principal.is_some() && pattern.known_start().starts_with("execute-api:/") {
        return;
    }
    let dialect = document.dialect;
    let shown = display::printable(pattern);
    if !pattern.is_known() {
        // Report only what no value can fix.
        let start = pattern.known_start();
        let prefix = format!("{}:", dialect.resource_prefix);
        if !start.starts_with(&prefix) && !prefix.starts_with(start) && !is_everything(start) {
            let message = format!("`{shown}` is neither `*` nor {} for any value", dialect.resource_form);
            remarks.report("resource-form", Some(statement), span, message);
        }
        check_variables(document, statement, pattern, span, remarks);
        return;
    }
    let colons = pattern.matches(':').count();
    let ends_open = pattern.ends_with('*');
    let is_name = pattern.split_once(':').is_some_and(|(prefix, _)| prefix == dialect.resource_prefix);
    if !is_name || (colons + 1 < dialect.resource_parts && !ends_open) {
        let message = format!("`{shown}` is neither `*` nor {}", dialect.resource_form);
        remarks.report("resource-form", Some(statement), span, message);
        return;
    }
    // Region and account contain no slash: a slash there belongs to the resource.
    let parts = split_name(pattern, dialect);
    let misplaced = parts.iter().skip(dialect.resource_parts - 3).take(2).any(|part| part.contains('/'));
    if colons + 1 < dialect.resource_parts && misplaced && pattern.trim_end_matches('*').contains('*') {
        let message = format!(
            "`{shown}` matches only if its first `*` crosses colons, which {} does not guarantee",
            dialect.vendor
        );
        remarks.report_with_help(
            "resource-colons",
            Some(statement),
            span,
            message,
            Some(format!("write all {} parts", dialect.resource_parts)),
        );
    }
    arns::check(statement, pattern, span, remarks);
    let service = parts.get(dialect.resource_parts - 4).copied().unwrap_or_default();
    if dialect.knows_resources
        && colons >= 2
        && service.contains(['*', '?'])
        && !(is_everything(service) && colons == 2)
    {
        let message = format!("the service of `{shown}` has a wildcard, which AWS does not accept");
        remarks.report("resource-form", Some(statement), span, message);
    }
    if dialect.has_variables && pattern.contains("${") {
        check_variables(document, statement, pattern, span, remarks);
        if variables::is_used_before(pattern, ARN_PARTS - 1) {
            let message = format!("a variable before the fifth colon of `{shown}` is plain text");
            remarks.report("variable-version", Some(statement), span, message);
        }
    }
}

/// Reports malformed variables in a resource or value.
pub(super) fn check_variables(
    document: &Document,
    statement: &Statement,
    text: &Text,
    span: crate::json::Span,
    remarks: &mut Remarks<'_>,
) {
    // A value inserted at deployment is not a variable of the policy.
    if !document.dialect.has_variables {
        return;
    }
    let known: Vec<&str> = text
        .parts()
        .filter_map(|part| match part {
            TextPart::Known(known) => Some(known),
            TextPart::Unknown(_) => None,
        })
        .filter(|known| known.contains("${"))
        .collect();
    if known.is_empty() {
        return;
    }
    let errors = known.iter().flat_map(|known| variables::errors(known));
    // A variable before an inserted value may be closed after it.
    for error in errors.filter(|error| text.is_known() || !matches!(error, VariableError::Unclosed)) {
        let what = match error {
            VariableError::Unclosed => "has no closing brace",
            VariableError::Empty => "has no name",
            VariableError::Space => "has white space in its name",
            VariableError::Quote => "has a default that is not in single quotes",
        };
        remarks.report(
            "variable",
            Some(statement),
            span,
            format!("a variable of `{}` {what}", display::printable(text)),
        );
    }
    if !document.has_variables() && known.iter().any(|known| variables::is_used(known)) {
        let message = format!("`{}` is plain text under the old version", display::printable(text));
        remarks.report_with_help(
            "variable-version",
            Some(statement),
            span,
            message,
            Some(format!("add \"Version\": \"{}\"", document.dialect.newest_version())),
        );
    }
}

/// Languages of resource types, each built once.
#[derive(Default)]
struct Types {
    /// True if the catalogue has the resources of actions.
    is_known: bool,
    cache: HashMap<(String, usize), Option<Language>>,
}

impl Types {
    fn language(&mut self, service: &Service, at: usize) -> Option<&Language> {
        let entry = self.cache.entry((service.prefix.clone(), at)).or_insert_with(|| {
            let kind = service.types.get(at)?;
            let pattern = format!("arn:*:{}", kind.arn_with(filled));
            Language::from_resource(&ResourcePattern::from_arn(&pattern))
        });
        entry.as_ref()
    }
}

/// Pattern for a part of a resource type's ARN: if the type has a Region, it is not empty. Resources shared by AWS,
/// such as public parameters of Systems Manager, have no account. Source: IAM User Guide, "Access Analyzer policy check
/// reference", "Missing ARN Region".
fn filled(part: &str) -> &'static str {
    if part == "Region" { "?*" } else { "*" }
}

/// True if a statement covers no resource at all.
fn excludes_everything(statement: &Statement) -> bool {
    statement
        .resource
        .as_ref()
        .is_some_and(|resource| resource.negated && resource.patterns.iter().any(|one| is_everything(one)))
}

/// True if everything that a pattern matches has a slash in its last part, ignoring variables: bucket names have none.
fn has_slash(pattern: &Text) -> bool {
    let mut is_within = false;
    let widest = pattern.widest();
    let mut characters = split_arn(&widest)[5].chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '$' if characters.peek() == Some(&'{') => is_within = true,
            '}' => is_within = false,
            '/' if !is_within => return true,
            _ => {}
        }
    }
    false
}
