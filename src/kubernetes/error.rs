//! Inputs that cannot be read, and errors in texts within them.

use std::string::FromUtf8Error;

use super::cloud_config::CloudConfig;
use super::field_types::WrongType;
use super::source::{Place, Source};

/// A text within a document that is not YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    pub document: String,
    /// Place where parsing stopped.
    pub place: Place,
    /// Reason for display.
    pub reason: String,
}

/// Keys that occur twice in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedKeys {
    pub document: String,
    /// First of the repeated keys.
    pub key: String,
    /// Place of the later occurrence.
    pub place: Place,
    /// Place of the earlier occurrence.
    pub before: Place,
    /// True if both have the same value.
    pub is_same: bool,
    /// Number of further repeated keys.
    pub more: usize,
}

/// An object that the API server rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// `KIND NAMESPACE/NAME`.
    pub document: String,
    /// The first field with a wrong type.
    pub wrong: WrongType,
}

/// An object without a name, which only `kubectl create` accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unnamed {
    /// `KIND NAMESPACE/`, and `generateName` if it has one.
    pub document: String,
    /// Place of `generateName`, or of the object.
    pub place: Place,
}

/// Reason why an input could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubernetesError {
    /// Neither JSON nor YAML.
    #[error("`{file}` is not the output of `kubectl get … -o json`, or YAML: {reason} at line {line}, column {column}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// Description of the syntax error.
        reason: String,
        /// One-based line.
        line: usize,
        /// One-based column.
        column: usize,
    },
    /// An object that does not fit its kind.
    #[error("invalid {kind} in `{file}`: {reason} ({place})")]
    Object {
        /// Name of the input.
        file: String,
        /// Kind of the object.
        kind: String,
        /// Description of the defect.
        reason: String,
        /// JSON pointer and line of the object.
        place: String,
    },
    /// An input without anything that a rule checks.
    #[error("`{file}` holds nothing that tagaudit checks")]
    Nothing {
        /// Name of the input.
        file: String,
    },
    /// A list without its items.
    #[error("`{file}` is a `{kind}` without `items`")]
    NoItems {
        /// Name of the input.
        file: String,
        kind: String,
    },
    /// One page of a longer list, as the API returns with `limit`: other objects may exist.
    #[error("`{file}` holds only the first part of a list: the rest is behind its `metadata.continue`")]
    Partial {
        /// Name of the input.
        file: String,
    },
}

impl From<&NotUtf8> for KubernetesError {
    fn from(refused: &NotUtf8) -> Self {
        let valid = refused.bytes().get(..refused.error.utf8_error().valid_up_to()).unwrap_or_default();
        Self::Malformed {
            file: refused.file.clone(),
            reason: "the text is not UTF-8".to_owned(),
            line: valid.split(|byte| *byte == b'\n').count(),
            column: valid.iter().rev().take_while(|byte| **byte != b'\n').count() + 1,
        }
    }
}

impl From<NotUtf8> for KubernetesError {
    fn from(refused: NotUtf8) -> Self {
        Self::from(&refused)
    }
}

/// An input that is not UTF-8.
#[derive(Debug)]
pub struct NotUtf8 {
    file: String,
    error: FromUtf8Error,
}

impl NotUtf8 {
    /// Bytes of the input.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.error.as_bytes()
    }
}

impl Source {
    /// Decodes a file and drops a byte order mark, which an editor may have added; a configuration of a cloud
    /// controller keeps it, because that controller does not ignore it.
    ///
    /// # Errors
    /// If it is not UTF-8.
    pub fn decode(file: &str, bytes: Vec<u8>) -> Result<Self, NotUtf8> {
        let text = String::from_utf8(bytes).map_err(|error| NotUtf8 { file: file.to_owned(), error })?;
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) if !CloudConfig::is_one(rest) => rest.to_owned(),
            Some(_) | None => text,
        };
        Ok(Self::new(file, text))
    }
}
