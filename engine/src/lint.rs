//! Finds defects of a policy document, with their positions: elements that the cloud rejects, that have no effect, that
//! are misleading, or that are redundant. The checks include those of IAM Access Analyzer's `ValidatePolicy` that apply
//! to identity, boundary, control and trust policies (IAM User Guide, "Access Analyzer policy check reference"), and
//! some that need the whole catalogue or the whole document.

use super::catalogue::Catalogue;
use super::dialect::Dialect;
use super::document::{self, Document, DocumentError, Statement};
use super::json::{Node, Span, Value};
use super::operator::Operator;
use super::text::{Text, TextPart};

mod arns;
mod conditions;
mod elements;
mod overlap;
mod placeholders;
mod principals;
mod values;

pub use super::dialect::PolicyKind;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LintLevel {
    /// It could be shorter or clearer.
    Suggestion,
    /// It has no effect, or not the apparent one.
    Warning,
    /// The cloud rejects it, or it cannot be parsed.
    Error,
}

impl LintLevel {
    /// Word for the level in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Suggestion => "suggestion",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Impact on the document, as a sentence.
    #[must_use]
    pub fn impact(self) -> &'static str {
        match self {
            Self::Suggestion => "the document could be shorter or clearer",
            Self::Warning => "a part of the document has no effect, or not the apparent one",
            Self::Error => "the cloud rejects the document, or it cannot be parsed",
        }
    }
}

/// A finding about a document.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct LintFinding {
    /// Stable name of the check.
    pub check: &'static str,
    /// Severity of the finding.
    pub level: LintLevel,
    /// Description of the defect.
    pub message: String,
    /// Suggested replacement or next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Zero-based position of the statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<usize>,
    /// One-based line.
    pub line: usize,
    /// One-based column, in characters.
    pub column: usize,
    /// Bytes to which it refers.
    #[serde(skip)]
    pub span: Span,
}

/// All checks: name, level, description.
pub static CHECKS: &[(&str, LintLevel, &str)] = &[
    ("syntax", LintLevel::Error, "text that is not JSON, or exceeds the maximum size of a policy"),
    ("malformed", LintLevel::Error, "an element that is missing, unknown, repeated or of the wrong type"),
    ("character", LintLevel::Error, "a character that IAM does not accept"),
    ("element-undocumented", LintLevel::Warning, "an element that the documentation of the language does not list"),
    ("size", LintLevel::Error, "more characters than the quota for this kind of policy"),
    ("size-white-space", LintLevel::Suggestion, "a control policy that is too long only because of its white space"),
    ("sid", LintLevel::Error, "a `Sid` with characters other than letters and digits, or a duplicate one"),
    ("principal", LintLevel::Error, "a principal that is not allowed, or a missing one"),
    ("principal-action", LintLevel::Error, "an action that is not valid in a trust policy, or not for its principals"),
    ("principal-gone", LintLevel::Warning, "the id of a deleted user or role as a principal"),
    ("trust-open", LintLevel::Warning, "trust in everyone, or in every identity of a shared identity provider"),
    ("resource-forbidden", LintLevel::Error, "a resource in a trust policy"),
    ("resource-missing", LintLevel::Error, "a statement without `Resource` or `NotResource`"),
    ("version", LintLevel::Suggestion, "no `Version`, or the old one"),
    ("action-form", LintLevel::Error, "an action not of the form `service:Name`, or in IAM a wildcard in the service"),
    ("action-unknown", LintLevel::Warning, "an action that is not in the catalogue"),
    ("action-wildcard-empty", LintLevel::Warning, "a wildcard that covers no known action"),
    (
        "action-wildcard-wide",
        LintLevel::Suggestion,
        "a wildcard that grants permissions management and any future action",
    ),
    ("resource-form", LintLevel::Error, "a resource that is neither `*` nor a complete resource name"),
    ("arn-part", LintLevel::Warning, "a partition, Region or account that is not valid in an ARN"),
    ("resource-colons", LintLevel::Warning, "a wildcard that matches only if it crosses colons"),
    ("resource-unscopable", LintLevel::Warning, "resources on an action that can only be granted on `*`"),
    ("resource-mismatch", LintLevel::Warning, "an action that none of the statement's resources supports"),
    ("pass-role-everywhere", LintLevel::Warning, "`iam:PassRole` or `ram:PassRole` on every role"),
    ("service-linked-role-everywhere", LintLevel::Suggestion, "`iam:CreateServiceLinkedRole` for every service"),
    ("allow-not-action", LintLevel::Warning, "`NotAction` with Allow, which also grants all other services"),
    ("allow-not-resource", LintLevel::Warning, "`NotResource` with Allow, which also grants all future resources"),
    ("condition-key-unknown", LintLevel::Warning, "a condition key that does not exist"),
    ("condition-key-absent", LintLevel::Warning, "a condition key that no action of the statement carries"),
    ("condition-value", LintLevel::Error, "a value that the operator cannot parse"),
    ("condition-value-other", LintLevel::Warning, "a value that the key never has"),
    ("condition-key-twice", LintLevel::Error, "a condition key repeated in another case under one operator"),
    ("condition-booleans", LintLevel::Error, "`Bool` or `Null` with both values"),
    ("mfa-key-absent", LintLevel::Suggestion, "a Deny without MFA that does not apply to requests with access keys"),
    ("source-ip-private", LintLevel::Warning, "a private address as the source of a request from the internet"),
    ("address-range", LintLevel::Suggestion, "a CIDR block that does not start with its first address"),
    ("wildcard-without-like", LintLevel::Warning, "a wildcard that the operator treats as plain text"),
    ("condition-type", LintLevel::Warning, "an operator for a type other than the key's"),
    ("condition-operator", LintLevel::Error, "`IfExists` or a set operator on `Null`"),
    ("condition-case", LintLevel::Suggestion, "an operator not spelled as documented"),
    ("set-operator-allow", LintLevel::Suggestion, "`ForAllValues` with Allow on a key that requests may lack"),
    ("set-operator-single", LintLevel::Warning, "a set operator on a single-valued key"),
    ("set-operator-missing", LintLevel::Warning, "a plain operator on a multivalued key"),
    ("empty", LintLevel::Warning, "an empty list or object, without effect or without the apparent one"),
    ("variable", LintLevel::Error, "a malformed variable, or one that the operator does not support"),
    ("variable-version", LintLevel::Warning, "a variable that is plain text, because of the version or the place"),
    ("duplicate", LintLevel::Suggestion, "a pattern that another one in the list covers"),
    ("statement-covered", LintLevel::Suggestion, "a statement that another one covers"),
    ("statement-denied", LintLevel::Warning, "an Allow that a Deny in the same document revokes entirely"),
];

/// Collects the findings of a document.
pub(super) struct Remarks<'d> {
    text: &'d str,
    dialect: &'static Dialect,
    found: Vec<LintFinding>,
}

impl Remarks<'_> {
    pub(super) fn report(&mut self, check: &'static str, statement: Option<&Statement>, span: Span, message: String) {
        self.report_with_help(check, statement, span, message, None);
    }

    pub(super) fn report_with_help(
        &mut self,
        check: &'static str,
        statement: Option<&Statement>,
        span: Span,
        message: String,
        help: Option<String>,
    ) {
        let level = CHECKS.iter().find(|(name, ..)| *name == check).map_or(LintLevel::Warning, |(_, level, _)| *level);
        self.found.push(LintFinding {
            check,
            level,
            message,
            help,
            statement: statement.map(|statement| statement.index),
            line: 0,
            column: 0,
            span,
        });
    }
}

/// Checks a document within a larger text. Returns the findings in the order of the text, and notes on the parts that
/// were skipped or checked under the assumption that a stack condition holds.
#[must_use]
pub fn lint_within(
    text: &str,
    node: &Node,
    kind: PolicyKind,
    catalogue: &Catalogue,
) -> (Vec<LintFinding>, Vec<String>) {
    let (mut document, malformed) = Document::from_node(String::new(), node.clone(), catalogue.dialect);
    placeholders::mark(&mut document);
    let mut remarks = Remarks { text, dialect: catalogue.dialect, found: Vec::new() };
    for problem in malformed {
        remarks.report("malformed", None, problem.span, format!("{} ({})", problem.reason, problem.pointer));
    }
    check(&document, kind, catalogue, &mut remarks);
    let mut notes = Vec::new();
    for statement in &document.statements {
        for guard in &statement.guards {
            let decision = &guard.decision;
            notes.push(match decision.strip_prefix("condition ") {
                Some(condition) => format!(
                    "statement {} depends on the stack condition `{condition}`, and is checked as if present",
                    statement.index + 1
                ),
                None if statement.is_placeholder => {
                    format!("statement {} is known only at deployment, and skipped", statement.index + 1)
                }
                None => format!("statement {} depends on values known only at deployment", statement.index + 1),
            });
        }
    }
    notes.sort();
    notes.dedup();
    (finish(remarks), notes)
}

/// Checks the total size of the inline policies of one user, group or role. Reports nothing if a template decides which
/// of them exist. Source: IAM User Guide, "IAM and AWS STS quotas", "IAM and STS character limits".
#[must_use]
pub fn lint_combined_size(text: &str, nodes: &[&Node], kind: PolicyKind, catalogue: &Catalogue) -> Vec<LintFinding> {
    let documents: Vec<Document> =
        nodes.iter().map(|node| Document::from_node(String::new(), (*node).clone(), catalogue.dialect).0).collect();
    let is_decided = |document: &Document| document.statements.iter().all(|statement| statement.guards.is_empty());
    let characters: usize = documents.iter().map(Document::characters).sum();
    let quota = (catalogue.dialect.quota)(kind).filter(|quota| characters > *quota);
    let (Some(quota), Some(last)) = (quota, nodes.last()) else { return Vec::new() };
    // A policy that is too long by itself already has a finding.
    if nodes.len() < 2
        || !documents.iter().all(is_decided)
        || documents.iter().any(|document| document.characters() > quota)
    {
        return Vec::new();
    }
    let mut remarks = Remarks { text, dialect: catalogue.dialect, found: Vec::new() };
    let start = last.span.start;
    let number = nodes.len();
    let message =
        format!("the {number} inline policies here have {characters} characters in total; the limit is {quota}");
    remarks.report("size", None, Span { start, end: last.span.end.min(start + 1) }, message);
    finish(remarks)
}

/// Creates a finding for text that should be a policy but is not.
#[must_use]
pub fn not_a_policy(
    text: &str,
    check: &'static str,
    offset: usize,
    reason: &str,
    dialect: &'static Dialect,
) -> Vec<LintFinding> {
    let start = offset.min(text.len());
    let end = text.get(start..).and_then(|rest| rest.chars().next()).map_or(start, |c| start + c.len_utf8());
    let mut remarks = Remarks { text, dialect, found: Vec::new() };
    remarks.report(check, None, Span { start, end }, reason.to_owned());
    finish(remarks)
}

/// Version of data protection policies, which resemble those of IAM. Source: Amazon SNS Developer Guide, "Data
/// protection policies in Amazon SNS"; Amazon `CloudWatch` Logs User Guide, "Help protect sensitive log data".
const DATA_PROTECTION_VERSION: &str = "2021-06-01";
const NOT_IAM_POLICY: &str = "a data protection policy of Amazon SNS or CloudWatch Logs, not an IAM policy";

/// Checks a document in the language of the catalogue. Returns the text to which the positions refer, and the findings
/// in the order of the text.
///
/// ```
/// use tagaudit_policy::Catalogue;
/// use tagaudit_policy::lint::{PolicyKind, lint};
///
/// let policy = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:CreateTag", "Resource": "*"}]}"#;
/// let (_, findings) = lint(policy, PolicyKind::Managed, Catalogue::embedded());
/// assert!(!findings.is_empty());
/// ```
#[must_use]
pub fn lint(text: &str, kind: PolicyKind, catalogue: &Catalogue) -> (String, Vec<LintFinding>) {
    match Document::read(text, Some(catalogue.dialect)) {
        Ok((document, _)) if document.root.get("Version").and_then(Node::as_str) == Some(DATA_PROTECTION_VERSION) => {
            let start = document.root.span.start;
            let found = not_a_policy(&document.text, "malformed", start, NOT_IAM_POLICY, document.dialect);
            (document.text, found)
        }
        Ok((mut document, malformed)) => {
            placeholders::mark(&mut document);
            let mut remarks = Remarks { text: &document.text, dialect: document.dialect, found: Vec::new() };
            for problem in malformed {
                remarks.report("malformed", None, problem.span, format!("{} ({})", problem.reason, problem.pointer));
            }
            check(&document, kind, catalogue, &mut remarks);
            let found = finish(remarks);
            (document.text, found)
        }
        Err(error) => {
            let offset = match &error {
                DocumentError::Json(error) => error.offset,
                _ => 0,
            };
            let message = match &error {
                DocumentError::Json(error) => format!("not JSON: {}", error.reason),
                other => other.to_string(),
            };
            // The position refers to the decoded text.
            let text = &*document::source(text);
            let mut remarks = Remarks { text, dialect: catalogue.dialect, found: Vec::new() };
            let end = text.get(offset..).and_then(|rest| rest.chars().next()).map_or(offset, |c| offset + c.len_utf8());
            remarks.report("syntax", None, Span { start: offset, end }, message);
            let found = finish(remarks);
            (text.to_owned(), found)
        }
    }
}

fn finish(remarks: Remarks<'_>) -> Vec<LintFinding> {
    let mut found = remarks.found;
    found.sort_by(|a, b| (a.span, a.check, &a.message).cmp(&(b.span, b.check, &b.message)));
    found.dedup();
    // Positions ascend, so each is counted from the previous one.
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    for finding in &mut found {
        let between = remarks.text.get(at..finding.span.start).unwrap_or_default();
        line += between.bytes().filter(|byte| *byte == b'\n').count();
        if let Some(newline) = between.rfind('\n') {
            line_start = at + newline + 1;
        }
        at = finding.span.start.max(at);
        finding.line = line;
        finding.column = remarks.text.get(line_start..at).map_or(1, |line| line.chars().count() + 1);
    }
    found
}

/// Reports a policy that is longer than its limit.
fn check_size(document: &Document, kind: PolicyKind, whole: Span, remarks: &mut Remarks<'_>) {
    if let Some(quota) = (document.dialect.quota)(kind) {
        let is_of_organization = matches!(kind, PolicyKind::Control | PolicyKind::ResourceControl);
        let (compact, written) = (document.characters(), document.text.chars().count());
        if compact > quota {
            remarks.report(
                "size",
                None,
                whole,
                format!("{compact} characters; the limit for such a policy is {quota}"),
            );
        } else if is_of_organization && written > quota {
            let message = format!(
                "{written} characters, with a limit of {quota}: the API counts white space, which the console drops"
            );
            remarks.report("size-white-space", None, whole, message);
        }
    }
}

fn check(document: &Document, kind: PolicyKind, catalogue: &Catalogue, remarks: &mut Remarks<'_>) {
    let start = document.root.span.start;
    let whole = Span { start, end: document.root.span.end.min(start + 1) };
    let is_trust = matches!(kind, PolicyKind::Trust | PolicyKind::ResourceControl)
        || (kind == PolicyKind::Unknown && document.statements.iter().any(|statement| statement.principal.is_some()));
    check_size(document, kind, whole, remarks);
    let is_taken = |character: char| document.dialect.accepts.is_none_or(|takes| takes(character));
    let mut refuse = |character: char, span: Span| {
        let code = u32::from(character);
        let name = document.dialect.name;
        remarks.report("character", None, span, format!("{name} does not accept the character U+{code:04X}"));
    };
    if document.text.is_empty() {
        // In a template, IAM never sees the text between the values.
        each_text(&document.root, &mut |text, span| {
            let known = text.parts().filter_map(|part| match part {
                TextPart::Known(known) => Some(known),
                TextPart::Unknown(_) => None,
            });
            if let Some(character) = known.flat_map(str::chars).find(|character| !is_taken(*character)) {
                refuse(character, span);
            }
        });
    }
    for (at, character) in document.text.char_indices().filter(|(_, character)| !is_taken(*character)) {
        refuse(character, Span { start: at, end: at + character.len_utf8() });
    }
    match document.version.as_deref() {
        Some(version) if version == document.dialect.newest_version() => {}
        // AWS writes the default policies of queues and topics with the old version, and without variables.
        Some(_) if is_trust && !uses_variables(document) => {}
        Some(_) => remarks.report_with_help(
            "version",
            None,
            document.root.get("Version").map_or(whole, |node| node.span),
            "the old version: variables are plain text".to_owned(),
            Some(format!("write \"{}\"", document.dialect.newest_version())),
        ),
        None if document.root.members().is_some() => remarks.report_with_help(
            "version",
            None,
            whole,
            if document.dialect.versions.len() > 1 {
                "no `Version`: the old one applies, and variables are plain text".to_owned()
            } else {
                "no `Version`".to_owned()
            },
            Some(format!("add \"Version\": \"{}\"", document.dialect.newest_version())),
        ),
        None => {}
    }
    let mut sids: Vec<&str> = Vec::new();
    for statement in document.statements.iter().filter(|statement| !statement.is_placeholder) {
        if let Some((sid, span)) = &statement.sid {
            let has_sids = !document.dialect.undocumented_elements.contains(&"Sid");
            let is_plain = placeholders::strip(sid).chars().all(|c| c.is_ascii_alphanumeric());
            if !is_plain && !is_trust && has_sids {
                remarks.report("sid", Some(statement), *span, format!("`{sid}` must contain only letters and digits"));
            }
            if !sid.is_empty() && sids.contains(&sid.as_str()) {
                remarks.report("sid", Some(statement), *span, format!("another statement also has the `Sid` `{sid}`"));
            }
            sids.push(sid);
        }
        undocumented(document, statement, remarks);
        principals::check(document, statement, kind, is_trust, remarks);
        elements::check(document, statement, kind, catalogue, remarks);
        conditions::check(document, statement, catalogue, remarks);
    }
    overlap::check(document, remarks);
}

/// True if a value of a document holds `${`.
fn uses_variables(document: &Document) -> bool {
    let mut found = false;
    each_text(&document.root, &mut |text, _| found |= text.contains("${"));
    found
}

/// Reports elements that are accepted but not documented.
fn undocumented(document: &Document, statement: &Statement, remarks: &mut Remarks<'_>) {
    let elements = [
        ("Sid", statement.sid.as_ref().map(|(_, span)| *span)),
        ("NotResource", statement.resource.as_ref().filter(|resource| resource.negated).map(|found| found.key_span)),
        (
            "NotPrincipal",
            statement.principal.as_ref().filter(|principal| principal.negated).map(|found| found.key_span),
        ),
    ];
    for (name, span) in elements {
        let Some(span) = span.filter(|_| document.dialect.undocumented_elements.contains(&name)) else { continue };
        let message =
            format!("`{name}` is not in the documentation of {}: its meaning is unknown", document.dialect.name);
        remarks.report("element-undocumented", Some(statement), span, message);
    }
}

/// Calls `look` with every key and string of a value.
fn each_text(node: &Node, look: &mut impl FnMut(&Text, Span)) {
    match &node.value {
        Value::String(text) => look(text, node.span),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, look)),
        Value::Object(members) => {
            for member in members {
                look(&member.key, member.key_span);
                each_text(&member.value, look);
            }
        }
        Value::Either(either) => {
            either.then.iter().chain(&either.otherwise).for_each(|node| each_text(node, look));
        }
        _ => {}
    }
}

/// Documented spelling of a statement's operator.
fn canonical(operator: &str, dialect: &Dialect) -> Option<String> {
    let parsed = Operator::parse(operator, dialect.operators)?;
    let prefix = match parsed.quantifier {
        Some(super::operator::Quantifier::All) => "ForAllValues:",
        Some(super::operator::Quantifier::Any) => "ForAnyValue:",
        None => "",
    };
    let base = operator.rsplit(':').next().unwrap_or(operator);
    let base = if parsed.if_exists { base.get(..base.len() - "IfExists".len())? } else { base };
    let (name, ..) = dialect.operators.names.iter().find(|(name, ..)| name.eq_ignore_ascii_case(base))?;
    Some(format!("{prefix}{name}{}", if parsed.if_exists { "IfExists" } else { "" }))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod published;
