//! Inputs that cannot be read, and defects of texts within them.

use std::string::FromUtf8Error;

use super::cloud_config::CloudConfig;
use super::source::{Place, Source};

/// A text within a document that is not YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The document.
    pub document: String,
    /// Where the reading stopped.
    pub place: Place,
    /// Why.
    pub reason: String,
}

/// Keys that stand twice in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedKeys {
    /// The document.
    pub document: String,
    /// The first of them.
    pub key: String,
    /// Place of the later one.
    pub place: Place,
    /// Place of the earlier one.
    pub before: Place,
    /// True if both have the same value.
    pub is_same: bool,
    /// Number of the others.
    pub more: usize,
}

/// Why an input could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubernetesError {
    /// Neither JSON nor YAML.
    #[error("`{file}` is not the output of `kubectl get … -o json`, or YAML: {reason} at line {line}, column {column}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// What is wrong.
        reason: String,
        /// One-based line.
        line: usize,
        /// One-based column.
        column: usize,
    },
    /// An object that is not what its kind has.
    #[error("`{file}` holds a {kind} that is none: {reason} ({place})")]
    Object {
        /// Name of the input.
        file: String,
        /// Kind of the object.
        kind: String,
        /// What is wrong with it.
        reason: String,
        /// Its JSON pointer, and its line.
        place: String,
    },
    /// Nothing of it is used.
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
        /// Its `kind`.
        kind: String,
    },
    /// A page of a longer list, as the API returns with `limit`: an object that is not in it may exist.
    #[error("`{file}` holds the first part of a list only: the rest is at its `metadata.continue`")]
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
    /// The bytes of the input.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.error.as_bytes()
    }
}

impl Source {
    /// A file, without the byte order mark that an editor may put before it; the configuration of a cloud controller keeps it, because
    /// that controller does not ignore it.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn decode(file: &str, bytes: Vec<u8>) -> Result<Self, NotUtf8> {
        let text = String::from_utf8(bytes).map_err(|error| NotUtf8 { file: file.to_owned(), error })?;
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) if !CloudConfig::is_one(rest) => rest.to_owned(),
            Some(_) | None => text,
        };
        Ok(Self::new(file, text))
    }
}
