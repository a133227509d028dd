//! The configuration that an audit was made with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::Severity;

/// A configuration that a report was made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// The file, as it was named.
    pub file: String,
    /// Severities that it gives to rules.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub severities: BTreeMap<String, Severity>,
}

impl Configuration {
    /// The file and the severities that it changes.
    #[must_use]
    pub fn describe(&self) -> String {
        let changed = self.severities.iter().map(|(rule, severity)| format!("{rule} is {}", severity.name()));
        let changed: Vec<String> = changed.collect();
        if changed.is_empty() { self.file.clone() } else { format!("{}: {}", self.file, changed.join(", ")) }
    }
}
