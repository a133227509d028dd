//! Policy documents: lossless, with the position of every element. Rejects what the cloud rejects. Grammar: AWS IAM
//! User Guide, "Grammar of the IAM JSON policy language"; Alibaba Cloud RAM documentation, "Policy structure and
//! syntax".

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::context::Context;
use super::dialect::{Dialect, IAM};
use super::json::{JsonError, Node, Span, Value, line_and_column};
use super::text::Text;
use super::variables;

mod reader;

use reader::{Reader, is_unknown, node_text, placeholder_statements};

/// Maximum size of a document: IAM accepts 131,072 characters of at most two bytes.
const MAX_DOCUMENT_BYTES: usize = 2 * 131_072;

/// Error for a document that cannot be evaluated. AWS rejects such documents when they are written, so their meaning is
/// undefined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(JsonError),
    /// JSON, but not a policy.
    #[error("{} at {} (line {line}, column {column})", problem.reason, problem.pointer)]
    Policy {
        /// Problem, with its position.
        problem: Malformed,
        /// One-based line.
        line: usize,
        /// One-based column.
        column: usize,
    },
    /// Larger than any policy may be.
    #[error("larger than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge,
}

/// A problem that makes a part of a document unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// Position of the problem.
    pub span: Span,
    /// JSON pointer.
    pub pointer: String,
    /// Description of the problem.
    pub reason: String,
}

/// Effect of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Grants.
    Allow,
    /// Denies, regardless of other grants.
    Deny,
}

/// `Action`/`NotAction` or `Resource`/`NotResource`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// True for the `Not…` form.
    pub negated: bool,
    /// Patterns, as written.
    pub patterns: Vec<Text>,
    /// Patterns for matching: lower-cased for actions, which are not case-sensitive; as written for resources.
    pub folded: Vec<Text>,
    /// Position of the element's name.
    pub key_span: Span,
    /// Position of each pattern.
    pub spans: Vec<Span>,
}

/// One key of one condition operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Operator, such as `StringEqualsIfExists`.
    pub operator: String,
    /// Position of the operator.
    pub operator_span: Span,
    /// Context key.
    pub key: Text,
    /// Position of the key.
    pub key_span: Span,
    /// Values; any of them satisfies a positive operator.
    pub values: Vec<Text>,
    /// Position of each value.
    pub spans: Vec<Span>,
}

/// `Principal` or `NotPrincipal` of a trust policy: (type, value) pairs; `*` is written as `("*", "*")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// True for `NotPrincipal`.
    pub negated: bool,
    /// Pairs such as `("Service", "ec2.amazonaws.com")`.
    pub entries: Vec<(String, Text)>,
    /// Position of the element.
    pub key_span: Span,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Zero-based position in the document.
    pub index: usize,
    /// Position of the statement.
    pub span: Span,
    /// `Sid`, if present, with its position.
    pub sid: Option<(String, Span)>,
    /// Allow or Deny.
    pub effect: Effect,
    /// Actions that are allowed or denied.
    pub action: Element,
    /// Resources. Absent in trust policies.
    pub resource: Option<Element>,
    /// Conditions; all of them must hold.
    pub conditions: Vec<Condition>,
    /// Principals; in trust policies only.
    pub principal: Option<Principal>,
    /// Stack conditions that decide if the statement is present.
    pub guards: Vec<Guard>,
    /// True for a placeholder of a statement that is unknown until deployment: it has no content itself.
    pub is_placeholder: bool,
}

/// A decision made when a template is deployed: the statement is present only with the required result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Decision, such as `condition IsProduction`.
    pub decision: String,
    /// Required result.
    pub holds: bool,
}

/// A policy document.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Text to which all positions refer: the input, URL-decoded if it was encoded.
    pub text: String,
    /// Language of the document.
    pub dialect: &'static Dialect,
    /// Complete content, including unknown keys.
    pub root: Node,
    /// `Version`; without it, variables are plain text.
    pub version: Option<String>,
    /// Statements in order.
    pub statements: Vec<Statement>,
}

impl Document {
    /// Parses an IAM document, as JSON or as URL-encoded JSON.
    ///
    /// # Errors
    /// If it is not JSON, repeats a key, or is not a policy that AWS would accept.
    ///
    /// ```
    /// use tagaudit_policy::Document;
    ///
    /// let document = Document::parse(r#"{"Statement": {"Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "*"}}"#)?;
    /// assert_eq!(document.allowed_actions().collect::<Vec<_>>(), ["ec2:CreateTags"]);
    /// let error = Document::parse(r#"{"Statement": {"Effect": "Permit", "Action": "*", "Resource": "*"}}"#).unwrap_err();
    /// assert!(error.to_string().contains("Effect"), "{error}");
    /// # Ok::<(), tagaudit_policy::DocumentError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        Self::parse_as(text, &IAM)
    }

    /// Parses a document in a given language; `None` detects the language from the document.
    ///
    /// # Errors
    /// Same as [`Self::parse`].
    pub fn parse_as(text: &str, dialect: impl Into<Option<&'static Dialect>>) -> Result<Self, DocumentError> {
        let (document, problems) = Self::read(text, dialect.into())?;
        match problems.into_iter().next() {
            None => Ok(document),
            Some(problem) => {
                let (line, column) = line_and_column(&document.text, problem.span.start);
                Err(DocumentError::Policy { problem, line, column })
            }
        }
    }

    /// Reads as much as possible, and returns the problems. A malformed statement is skipped; the others keep their
    /// positions. Without a language, the document determines it; the default is IAM.
    ///
    /// # Errors
    /// If it is not JSON or too large.
    pub fn read(text: &str, dialect: Option<&'static Dialect>) -> Result<(Self, Vec<Malformed>), DocumentError> {
        let text = source(text);
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(DocumentError::TooLarge);
        }
        let root = Node::parse(&text).map_err(DocumentError::Json)?;
        let dialect = dialect.or_else(|| Dialect::detect(&root)).unwrap_or(&IAM);
        Ok(Self::from_node(text.into_owned(), root, dialect))
    }

    /// Reads a document from a value within a larger text.
    #[must_use]
    pub fn from_node(text: String, root: Node, dialect: &'static Dialect) -> (Self, Vec<Malformed>) {
        let mut reader = Reader { dialect, problems: Vec::new() };
        let mut version = None;
        let mut statements = Vec::new();
        reader.repeated_keys(&root, "");
        if is_unknown(&root.value) {
            let text = node_text(&root).unwrap_or_default();
            statements = placeholder_statements(0, root.span, &format!("the document {text}"), &[]);
        } else if let Some(members) = root.members() {
            for member in members {
                let pointer = format!("/{}", member.key);
                match (&*member.key, &member.value.value) {
                    ("Version", Value::String(text)) if dialect.versions.contains(&&**text) => {
                        version = Some(text.to_string());
                    }
                    // An unknown version is the newest one: the old version is not used as a parameter.
                    ("Version", value) if is_unknown(value) => version = Some(dialect.newest_version().to_owned()),
                    ("Version", _) => {
                        let newest_first: Vec<String> =
                            dialect.versions.iter().rev().map(|version| format!("`{version}`")).collect();
                        let reason = match newest_first.as_slice() {
                            [only] => format!("the version is not {only}"),
                            several => format!("the version is neither {}", several.join(" nor ")),
                        };
                        reader.refuse(&member.value, &pointer, &reason);
                    }
                    ("Id", Value::String(_)) => {}
                    ("Statement", _) => reader.statements(&pointer, &member.value, &[], &mut statements),
                    (other, _) => reader.problems.push(Malformed {
                        span: member.key_span,
                        reason: format!("`{}` is not an element of a policy", crate::display::printable(other)),
                        pointer,
                    }),
                }
            }
            if root.get("Statement").is_none() {
                reader.refuse(&root, "/", "the policy has no `Statement`");
            }
        } else {
            reader.refuse(&root, "/", "a policy is a JSON object");
        }
        reader.problems.sort_by_key(|problem| problem.span);
        (Self { text, dialect, root, version, statements }, reader.problems)
    }

    /// A document whose content is unknown: it may allow, and deny if `may_deny`.
    #[must_use]
    pub fn unknown(what: &str, may_deny: bool, dialect: &'static Dialect) -> Self {
        let root = Node { span: Span::default(), value: Value::Null };
        let mut statements = placeholder_statements(0, Span::default(), what, &[]);
        statements.retain(|statement| may_deny || statement.effect == Effect::Allow);
        Self { text: String::new(), dialect, root, version: None, statements }
    }

    /// Every action pattern of the `Allow` statements, as written, in order: the actions that a baseline document
    /// needs.
    pub fn allowed_actions(&self) -> impl Iterator<Item = &str> {
        self.statements
            .iter()
            .filter(|statement| statement.effect == Effect::Allow && !statement.action.negated)
            .flat_map(|statement| statement.action.patterns.iter().map(|pattern| &**pattern))
    }

    /// True if `${…}` is a variable. Under IAM's old version, the default, it is plain text.
    #[must_use]
    pub fn has_variables(&self) -> bool {
        self.dialect.reads_variables(self.version.as_deref())
    }

    /// Replaces the variables in resources whose value is the same in every request.
    #[must_use]
    pub fn filled(mut self, context: &Context) -> Self {
        if !self.has_variables() {
            return self;
        }
        let resources = self.statements.iter_mut().filter_map(|statement| statement.resource.as_mut());
        for pattern in resources.flat_map(|resource| resource.patterns.iter_mut().chain(&mut resource.folded)) {
            if pattern.is_known() && pattern.contains("${") {
                *pattern = variables::filled(pattern, |key| context.single(key)).into();
            }
        }
        self
    }

    /// Number of characters without white space, as counted against IAM's quotas.
    #[must_use]
    pub fn characters(&self) -> usize {
        self.root.to_string().chars().filter(|c| !c.is_whitespace()).count()
    }
}

/// Decodes a URL-encoded document, as IAM's own API returns it; any other text is unchanged.
pub(super) fn source(text: &str) -> Cow<'_, str> {
    if text.trim_start().starts_with("%7B") || text.trim_start().starts_with("%7b") {
        percent_decode_str(text.trim()).decode_utf8_lossy()
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_statement_and_one_string_need_no_brackets() {
        let document = Document::parse(
            r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"EC2:Describe*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":true}}}}"#,
        )
        .unwrap();
        let statement = &document.statements[0];
        assert_eq!(statement.action.patterns, ["EC2:Describe*"]);
        assert_eq!(statement.action.folded, ["ec2:describe*"]);
        assert_eq!(statement.resource.as_ref().unwrap().patterns, ["*"]);
        assert_eq!(statement.conditions[0].values, ["true"]);
        assert_eq!(document.text.get(statement.action.spans[0].range()), Some("\"EC2:Describe*\""));
    }

    #[test]
    fn url_encoded_documents_are_decoded() {
        let document = Document::parse(
            "%7B%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%22s3:a+b%22%2C%22Resource%22%3A%22*%22%7D%5D%7D",
        );
        assert_eq!(document.unwrap().statements[0].action.patterns, ["s3:a+b"], "a plus is a plus");
    }

    #[test]
    fn what_aws_would_refuse_is_refused_with_its_place() {
        let cases = [
            (r#"{"Statement":[{"Effect":"Allow","Action":"a:b","Resource":"*"},{"Effect":"allow"}]}"#, "/Statement/1"),
            (r#"{"Statement":[{"Effect":"Allow","Resource":"*"}]}"#, "/Statement/0"),
            (r#"{"Statement":[{"Effect":"Allow","Action":["a:b",7],"Resource":"*"}]}"#, "/Statement/0/Action"),
            (r#"{"Version":"2013-01-01","Statement":[]}"#, "/Version"),
            (
                r#"{"Statement":[{"Effect":"Deny","Effect":"Allow","Action":"*","Resource":"*"}]}"#,
                "/Statement/0/Effect",
            ),
            (
                r#"{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringEqual":{"a":"b"}}}]}"#,
                "/Statement/0/Condition/StringEqual",
            ),
            ("[]", "/"),
            ("{}", "/"),
        ];
        for (text, pointer) in cases {
            match Document::parse(text) {
                Err(DocumentError::Policy { problem, .. }) => assert_eq!(problem.pointer, pointer, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_malformed_statement_leaves_the_others_their_positions() {
        let text = r#"{"Statement":[{"Effect":"allow"},{"Effect":"Allow","Action":"a:b","Resource":"*"}]}"#;
        let (document, problems) = Document::read(text, None).unwrap();
        assert_eq!(document.statements[0].index, 1);
        assert_eq!(problems.len(), 2);
    }

    #[test]
    fn depth_and_size_are_bounded() {
        assert!(Document::parse(&"[".repeat(100_000)).is_err());
        assert!(matches!(Document::parse(&" ".repeat(300_000)), Err(DocumentError::TooLarge)));
    }
}
