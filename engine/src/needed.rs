//! Actions that a baseline needs.

use std::collections::HashSet;

use super::glob;

/// A needed action pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Action pattern, in any case.
    pub action: String,
    /// Resources on which it is needed; all when empty.
    pub resources: Vec<String>,
}

impl Need {
    /// Creates a need on all resources.
    pub fn everywhere(action: impl Into<String>) -> Self {
        Self { action: action.into(), resources: Vec::new() }
    }
}

/// Needed action patterns, in lower case.
#[derive(Debug, Default)]
pub(super) struct Needed {
    exact: HashSet<String>,
    globs: Vec<String>,
}

impl Needed {
    pub(super) fn new(needs: &[Need]) -> Self {
        let mut needed = Self::default();
        for need in needs {
            let folded = need.action.to_lowercase();
            if folded.contains(['*', '?']) {
                needed.globs.push(folded);
            } else {
                needed.exact.insert(folded);
            }
        }
        needed
    }

    /// True if everything that a pattern (lower-case) covers is needed.
    pub(super) fn covers(&self, folded: &str) -> bool {
        self.exact.contains(folded) || self.globs.iter().any(|glob| glob::contains(glob, folded))
    }
}
