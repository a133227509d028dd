//! Findings where a question is answered: what is wrong, and the commands that repair it.

use serde::Serialize;

use crate::finding::{ResourceRef, Severity};
use crate::text;

use super::Finding;

/// A finding that answers a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cause {
    pub(crate) rule: String,
    pub(crate) severity: Severity,
    pub(crate) resource: ResourceRef,
    /// Resources that were asked about, if the finding groups several and is named after another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) also: Vec<String>,
    pub(crate) message: String,
    pub(crate) fix: String,
    /// Shell lines that make the fix, each tried on a copy of the account or marked as not tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) commands: Vec<String>,
    #[serde(skip)]
    pub(crate) fingerprint: String,
}

impl Cause {
    /// The message, with the resources that were asked about and that it does not name.
    pub(crate) fn message_with_others(&self) -> String {
        match self.also.as_slice() {
            [] => self.message.clone(),
            also => format!("{} (also {})", self.message, text::list(also, 3)),
        }
    }
}

impl From<&Finding> for Cause {
    fn from(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.clone(),
            severity: finding.severity,
            resource: finding.resource.clone(),
            also: Vec::new(),
            message: finding.message.clone(),
            fix: finding.fix.summary.clone(),
            commands: finding.fix.shown_commands(),
            fingerprint: finding.fingerprint.clone(),
        }
    }
}
