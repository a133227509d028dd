//! Patterns of actions and resources, prepared for matching.

use super::context::Context;
use super::dialect::{Dialect, IAM};
use super::glob;
use super::text::Text;
use super::variables::{self, Piece};

/// A pattern of `Action` or `NotAction`, lower-case. Source: AWS IAM User Guide, "IAM JSON policy elements: Action":
/// the name may hold `*` and `?`; the service prefix may in RAM only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActionPattern {
    Everything,
    Exact(String),
    /// Matches everything that starts with the text.
    Prefix(String),
    Glob(String),
    /// No prefix, or a wildcard in it where the language accepts none: AWS does not document that it matches anything.
    Nothing,
    /// Partly unknown until deployment: it matches an unknown subset of this glob.
    Open(String),
}

/// Result of matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Match {
    Yes,
    No,
    /// Depends on values unknown until deployment.
    Open,
}

impl Match {
    pub(super) fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Open => Self::Open,
        }
    }

    /// Combines the results of several patterns.
    pub(super) fn any(matches: impl Iterator<Item = Self>) -> Self {
        let mut found = Self::No;
        for one in matches {
            match one {
                Self::Yes => return Self::Yes,
                Self::Open => found = Self::Open,
                Self::No => {}
            }
        }
        found
    }
}

impl From<bool> for Match {
    fn from(matches: bool) -> Self {
        if matches { Self::Yes } else { Self::No }
    }
}

impl ActionPattern {
    /// Parses a pattern, which must be in lower case.
    pub(super) fn from_text(folded: &Text, dialect: &Dialect) -> Self {
        if folded.is_known() { Self::new(folded, dialect) } else { Self::Open(folded.widest()) }
    }

    pub(super) fn new(folded: &str, dialect: &Dialect) -> Self {
        let Some((service, name)) = folded.split_once(':') else {
            return if is_everything(folded) { Self::Everything } else { Self::Nothing };
        };
        if is_everything(service) && is_everything(name) {
            return Self::Everything;
        }
        if service.is_empty() || (service.contains(['*', '?']) && !dialect.has_service_wildcards) {
            return Self::Nothing;
        }
        match folded.find(['*', '?']) {
            None => Self::Exact(folded.to_owned()),
            Some(at) if folded.get(at..).is_some_and(is_everything) => {
                Self::Prefix(folded.get(..at).unwrap_or_default().to_owned())
            }
            Some(_) => Self::Glob(folded.to_owned()),
        }
    }

    /// True if it certainly matches an action (lower-case).
    pub(super) fn matches(&self, action: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Exact(text) => text == action,
            Self::Prefix(prefix) => action.starts_with(prefix.as_str()),
            Self::Glob(pattern) => glob::matches(pattern, action),
            Self::Nothing | Self::Open(_) => false,
        }
    }

    /// Matches an action (lower-case), as far as known.
    pub(super) fn match_action(&self, action: &str) -> Match {
        match self {
            Self::Open(widest) if glob::matches(widest, action) => Match::Open,
            other => other.matches(action).into(),
        }
    }

    /// The pattern as a glob; `None` if it does not certainly match anything.
    pub(super) fn as_glob(&self) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            Self::Everything => Some("*".into()),
            Self::Exact(text) | Self::Glob(text) => Some(text.into()),
            Self::Prefix(prefix) => Some(format!("{prefix}*").into()),
            Self::Nothing | Self::Open(_) => None,
        }
    }
}

pub(super) fn is_everything(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'*')
}

/// Number of parts of an ARN: `arn`, partition, service, region, account, resource.
pub(super) const ARN_PARTS: usize = 6;

/// A pattern of `Resource` or `NotResource`, or of an ARN condition. Wildcards stay within their part of the ARN,
/// except that one at the very end of a shorter pattern represents the missing parts.
/// Source: AWS IAM User Guide, "IAM JSON policy elements: Resource".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResourcePattern {
    /// Only asterisks.
    Everything,
    /// Part by part.
    Arn(Box<[Part]>),
    /// Not an ARN: matches nothing.
    Nothing,
    /// Partly unknown until deployment.
    Open(Text),
}

/// Pattern of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Any,
    Exact(String),
    Glob(String),
    /// A text with variables.
    Pieces(Vec<Piece>),
}

impl Part {
    fn new(text: &str, with_variables: bool) -> Self {
        if with_variables && text.contains("${") {
            let pieces = variables::pieces(text);
            if pieces.iter().any(|piece| !matches!(piece, Piece::Text(_))) {
                return Self::Pieces(pieces);
            }
        }
        if is_everything(text) {
            Self::Any
        } else if text.contains(['*', '?']) {
            Self::Glob(text.to_owned())
        } else {
            Self::Exact(text.to_owned())
        }
    }

    fn matches(&self, text: &str, context: &Context) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => exact == text,
            Self::Glob(pattern) => glob::matches(pattern, text),
            Self::Pieces(pieces) => tokens(pieces, context).is_some_and(|tokens| glob::matches_tokens(&tokens, text)),
        }
    }
}

/// Pieces with the values of a context inserted; `None` if a variable has neither value nor default.
pub(super) fn tokens(pieces: &[Piece], context: &Context) -> Option<Vec<glob::Token>> {
    let mut tokens = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => tokens.extend(text.chars().map(glob::Token::from_pattern)),
            Piece::Literal(text) => tokens.extend(text.chars().map(glob::Token::Literal)),
            Piece::Variable { key, default } => {
                let value = context.single(key).or(default.as_deref())?;
                tokens.extend(value.chars().map(glob::Token::Literal));
            }
        }
    }
    Some(tokens)
}

impl ResourcePattern {
    /// Parses a pattern of a document.
    pub(super) fn from_text(text: &Text, dialect: &Dialect, with_variables: bool) -> Self {
        if text.is_known() { Self::read(text, dialect, with_variables) } else { Self::Open(text.clone()) }
    }

    /// Parses an ARN pattern, without variables.
    pub(super) fn from_arn(text: &str) -> Self {
        Self::read(text, &IAM, false)
    }

    /// Parses a pattern; variables are recognised only after the fifth colon and under the new version.
    pub(super) fn read(text: &str, dialect: &Dialect, with_variables: bool) -> Self {
        if is_everything(text) {
            return Self::Everything;
        }
        let count = dialect.resource_parts;
        let parts = split_name(text, dialect);
        let given = text.splitn(count, ':').count();
        if parts.first() != Some(&dialect.resource_prefix) || given < 2 {
            return Self::Nothing;
        }
        let part = |(index, part): (usize, &str)| {
            if index >= given { Part::Any } else { Part::new(part, with_variables && index + 1 == count) }
        };
        Self::Arn(parts.into_iter().take(count).enumerate().map(part).collect())
    }

    /// True if it certainly matches a resource, given by its parts; `None` for a request that names no resource, which
    /// only asterisks match.
    pub(super) fn matches(&self, resource: Option<&[&str; ARN_PARTS]>, context: &Context) -> bool {
        match (self, resource) {
            (Self::Everything, _) => true,
            (Self::Arn(parts), Some(resource)) => {
                // Most patterns differ in the resource part.
                parts.iter().zip(resource).rev().all(|(part, text)| part.matches(text, context))
            }
            _ => false,
        }
    }

    /// Matches a resource, as far as known.
    pub(super) fn match_resource(&self, resource: Option<&[&str; ARN_PARTS]>, context: &Context) -> Match {
        match self {
            Self::Open(_) => Match::Open,
            other => other.matches(resource, context).into(),
        }
    }
}

/// Splits the name of a resource into the language's number of parts; missing parts are empty.
pub(super) fn split_name<'t>(text: &'t str, dialect: &Dialect) -> [&'t str; ARN_PARTS] {
    let mut parts = [""; ARN_PARTS];
    for (part, found) in parts.iter_mut().zip(text.splitn(dialect.resource_parts, ':')) {
        *part = found;
    }
    parts
}

/// Splits an AWS ARN at its first five colons; missing parts are empty.
pub(super) fn split_arn(text: &str) -> [&str; ARN_PARTS] {
    split_name(text, &IAM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, resource: &str) -> bool {
        let parts = split_arn(resource);
        ResourcePattern::read(pattern, &IAM, true).matches((resource != "*").then_some(&parts), &Context::default())
    }

    /// Example list of the IAM User Guide, "Resource", for `bucket/*/test/*`.
    #[test]
    fn wildcards_stand_for_anything_within_a_part() {
        let pattern = "arn:aws:s3:::DOC-EXAMPLE-BUCKET/*/test/*";
        for object in [
            "1/test/object.jpg",
            "1/2/test/object.jpg",
            "1/2/test/3/object.jpg",
            "1/2/3/test/4/object.jpg",
            "1///test///object.jpg",
            "1/test/.jpg",
            "/test/object.jpg",
            "1/test/",
        ] {
            assert!(matches(pattern, &format!("arn:aws:s3:::DOC-EXAMPLE-BUCKET/{object}")), "{object}");
        }
        for object in ["1-test/object.jpg", "test/object.jpg", "1/2/test.jpg"] {
            assert!(!matches(pattern, &format!("arn:aws:s3:::DOC-EXAMPLE-BUCKET/{object}")), "{object}");
        }
    }

    #[test]
    fn short_patterns_stand_for_the_rest_and_others_keep_their_parts() {
        let instance = "arn:aws:ec2:us-east-1:123456789012:instance/i-1";
        for pattern in ["*", "**", "arn:*", "arn:aws:ec2:*", "arn:aws:ec2:us-east-1:*", "arn:aws:ec2:us-?ast-1:*:*"] {
            assert!(matches(pattern, instance), "{pattern}");
        }
        for pattern in ["arn:aws:ec2:*:instance/*", "instance/*", "", "arn", "arn:aws:s3:*", "ARN:aws:ec2:*:*:*"] {
            assert!(!matches(pattern, instance), "{pattern}");
        }
        assert!(matches("*", "*") && !matches("arn:*", "*"));
    }

    #[test]
    fn a_service_prefix_takes_no_wildcard() {
        for (pattern, action, expected) in [
            ("*", "ec2:runinstances", true),
            ("*:*", "ec2:runinstances", true),
            ("ec2:*", "ec2:runinstances", true),
            ("ec*:runinstances", "ec2:runinstances", false),
            ("ec2", "ec2:runinstances", false),
            ("ec2:run?nstances", "ec2:runinstances", true),
        ] {
            assert_eq!(ActionPattern::new(pattern, &IAM).matches(action), expected, "{pattern}");
        }
    }
}
