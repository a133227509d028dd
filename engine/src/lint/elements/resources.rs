//! Resources of a statement, and the actions that fit them.

use crate::automaton::{Language, overlaps};
use crate::catalogue::{Action, Catalogue, Service};
use crate::display;
use crate::document::{Document, Effect, Statement};
use crate::pattern::{ActionPattern, ResourcePattern, is_everything};
use crate::text::Text;

use super::super::Remarks;
use super::{Types, has_slash};

/// Possible resources of a statement.
pub(super) enum Resources {
    /// Any resource, or unknown: `*`, `NotResource`, no such element.
    Any,
    /// Patterns; the flag is true if everything that the pattern matches has a slash.
    These(Vec<(Language, bool)>),
}

impl Resources {
    pub(super) fn new(document: &Document, statement: &Statement) -> Self {
        let Some(resource) = statement.resource.as_ref().filter(|resource| !resource.negated) else { return Self::Any };
        if resource.patterns.iter().any(|pattern| is_everything(pattern)) {
            return Self::Any;
        }
        let patterns = resource.patterns.iter();
        let languages: Vec<(Language, bool)> = patterns
            .flat_map(|pattern| {
                let slash = has_slash(pattern);
                let most = Language::at_most(
                    &ResourcePattern::from_text(pattern, document.dialect, document.has_variables()),
                    document.dialect,
                );
                most.into_iter().map(move |language| (language, slash))
            })
            .collect();
        if languages.is_empty() { Self::Any } else { Self::These(languages) }
    }

    /// True if an action supports one of the resources.
    pub(super) fn supports(&self, action: &Action, service: &Service, types: &mut Types) -> bool {
        let Self::These(languages) = self else { return true };
        if !types.is_known {
            return true;
        }
        additional_resources(action).any(|kind| languages.iter().any(|(language, _)| overlaps(&kind, language)))
            || action.types.iter().any(|(at, _)| {
                let is_bucket = service.prefix == "s3"
                    && service.types.get(*at).is_some_and(|kind| kind.arn.ends_with("${BucketName}"));
                types.language(service, *at).is_some_and(|kind| {
                    languages.iter().any(|(language, slash)| !(is_bucket && *slash) && overlaps(kind, language))
                })
            })
    }
}

/// Further resources of actions, which the Service Authorization Reference lacks. Source: AWS `CodePipeline` User Guide
/// and AWS SAM Developer Guide: a change set of a template with a transform needs the action on the transform. Amazon
/// EKS User Guide, "Create a cluster"; AWS Step Functions Developer Guide and aws/aws-cdk#8486 (tokens of tasks);
/// Amazon `CloudWatch` Logs User Guide, "Identity-based policy examples"; Amazon S3 User Guide, "Identity-based policy
/// examples", and IAM User Guide, "S3 full access except production" (lists of the account on `arn:aws:s3:::*`); API
/// Gateway Developer Guide, "Control access to a WebSocket API with IAM authorization".
pub(super) const ADDITIONAL_RESOURCES: &[(&str, &str)] = &[
    ("cloudformation:createchangeset", "arn:*:cloudformation:*:aws:transform/*"),
    ("eks:createcluster", "arn:*:eks:*:*:cluster/*"),
    ("execute-api:invoke", "arn:*:execute-api:*:*:*/*/*"),
    ("logs:describeloggroups", "arn:*:logs:*:*:log-group:*"),
    ("s3:getaccountpublicaccessblock", "arn:*:s3:::*"),
    ("s3:listaccesspoints", "arn:*:s3:::*"),
    ("s3:listallmybuckets", "arn:*:s3:::*"),
    ("states:sendtaskfailure", "arn:*:states:*:*:*"),
    ("states:sendtaskheartbeat", "arn:*:states:*:*:*"),
    ("states:sendtasksuccess", "arn:*:states:*:*:*"),
];

pub(super) fn additional_resources(action: &Action) -> impl Iterator<Item = Language> {
    let named = ADDITIONAL_RESOURCES.iter().filter(|(name, _)| *name == action.folded);
    named.filter_map(|(_, arn)| Language::from_resource(&ResourcePattern::from_arn(arn)))
}

/// Reports actions that support none of the statement's resources.
pub(super) fn scope(
    statement: &Statement,
    on: &Resources,
    types: &mut Types,
    catalogue: &Catalogue,
    remarks: &mut Remarks<'_>,
) {
    let Some(resource) = statement.resource.as_ref().filter(|resource| !resource.negated) else { return };
    if statement.action.negated {
        return;
    }
    if statement.principal.is_none() && resource.patterns.iter().any(|pattern| is_everything(pattern)) {
        pass_role(statement, remarks);
        service_linked_role(statement, remarks);
    }
    if matches!(on, Resources::Any) || !catalogue.dialect.knows_resources {
        return;
    }
    // A value known only at deployment may be `*`.
    let may_be_everything =
        resource.patterns.iter().any(|pattern| !pattern.is_known() && pattern.known_start().is_empty());
    for ((pattern, folded), span) in
        statement.action.patterns.iter().zip(&statement.action.folded).zip(&statement.action.spans)
    {
        let compiled = ActionPattern::from_text(folded, catalogue.dialect);
        if matches!(compiled, ActionPattern::Everything | ActionPattern::Nothing | ActionPattern::Open(_)) {
            continue;
        }
        let covered = catalogue.matching(&compiled);
        let Some(service) = folded.split_once(':').and_then(|(prefix, _)| catalogue.service(prefix)) else { continue };
        // A resource policy may name parents or children of its resource; only S3 rejects such a statement.
        if statement.principal.is_some() && service.prefix != "s3" {
            continue;
        }
        let takes_none = |action: &&&Action| action.types.is_empty() && additional_resources(action).next().is_none();
        let unscopable = covered.iter().filter(takes_none).count();
        if !covered.is_empty() && unscopable == covered.len() {
            if may_be_everything || statement.principal.is_some() {
                continue;
            }
            let message = format!(
                "`{}` does not support resources: only a statement on `*` {} it",
                display::printable(pattern),
                if statement.effect == Effect::Allow { "grants" } else { "denies" }
            );
            remarks.report_with_help(
                "resource-unscopable",
                Some(statement),
                *span,
                message,
                Some("move it to a statement with \"Resource\": \"*\"".to_owned()),
            );
            continue;
        }
        if !covered.is_empty() && !covered.iter().any(|action| on.supports(action, service, types)) {
            let mut kinds: Vec<&str> = Vec::new();
            for (at, _) in covered.iter().flat_map(|action| &action.types) {
                match service.types.get(*at).map(|kind| kind.name.as_str()) {
                    Some(name) if !kinds.contains(&name) => kinds.push(name),
                    _ => {}
                }
            }
            if kinds.is_empty() {
                kinds.extend(
                    ADDITIONAL_RESOURCES
                        .iter()
                        .filter(|(name, _)| covered.iter().any(|one| one.folded == *name))
                        .map(|(_, arn)| *arn),
                );
            }
            let message = format!(
                "`{}` applies to {}, which none of the statement's resources can match",
                display::printable(pattern),
                display::list(&kinds, 3)
            );
            remarks.report("resource-mismatch", Some(statement), *span, message);
        }
    }
}

pub(super) fn pass_role(statement: &Statement, remarks: &mut Remarks<'_>) {
    let dialect = remarks.dialect;
    let action = dialect.pass_role.to_lowercase();
    let passes = |folded: &Text| ActionPattern::from_text(folded, dialect).matches(&action);
    let limit = if dialect.knows_resources { "iam:PassedToService" } else { "acs:Service" };
    let passed_to = statement.conditions.iter().any(|one| one.key.eq_ignore_ascii_case(limit));
    if statement.effect == Effect::Allow
        && !passed_to
        && let Some(at) = statement.action.folded.iter().position(passes)
        && statement.action.folded.get(at).is_some_and(|folded| !is_everything(folded))
    {
        let span = statement.action.spans.get(at).copied().unwrap_or(statement.span);
        let message = format!("`{}` on `*`: any role can be passed to any service", dialect.pass_role);
        remarks.report_with_help(
            "pass-role-everywhere",
            Some(statement),
            span,
            message,
            Some(format!("name the roles, or limit `{limit}`")),
        );
    }
}

/// Reports `iam:CreateServiceLinkedRole` on `*` without a condition on the service. The wildcard check reports patterns
/// that cover it. Source: IAM User Guide, "IAM Access Analyzer policy check reference", "Create SLR with star in
/// resource".
pub(super) fn service_linked_role(statement: &Statement, remarks: &mut Remarks<'_>) {
    let is_limited = statement.conditions.iter().any(|one| one.key.eq_ignore_ascii_case("iam:AWSServiceName"));
    let position = statement.action.folded.iter().position(|folded| **folded == *"iam:createservicelinkedrole");
    let Some(at) = position.filter(|_| statement.effect == Effect::Allow && !is_limited) else { return };
    let span = statement.action.spans.get(at).copied().unwrap_or(statement.span);
    let message = "`iam:CreateServiceLinkedRole` on `*` can create the role of any service";
    let help = "name the role, or limit `iam:AWSServiceName`";
    remarks.report_with_help(
        "service-linked-role-everywhere",
        Some(statement),
        span,
        message.to_owned(),
        Some(help.to_owned()),
    );
}
