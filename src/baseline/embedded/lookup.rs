//! Embedded baselines by name.

use crate::baseline::{Baseline, BaselineError};
use crate::controller::{self, ControllerVersion, alibaba};

use super::published::PUBLISHED;
use super::{Content, EMBEDDED, Embedded};

impl Embedded {
    /// The document as text; computed for the controller version if it depends on one.
    #[must_use]
    pub fn document(&self, version: Option<ControllerVersion>) -> String {
        let actions: Vec<&str> = match self.content {
            Content::Document(text) => return text.to_owned(),
            Content::AwsCalls => {
                controller::effective(self.node_role, version).map(|call| call.action.as_str()).collect()
            }
            Content::AlibabaCalls(controllers) => {
                let calls = controllers.iter().flat_map(|controller| alibaba::calls(*controller, version));
                let mut actions: Vec<&str> = calls.map(|call| call.action.as_str()).collect();
                actions.sort_unstable();
                actions.dedup();
                actions
            }
        };
        let document = serde_json::json!({
            "Version": self.dialect.newest_version(),
            "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
        });
        format!("{document:#}\n")
    }

    /// The baseline.
    ///
    /// # Errors
    /// Never for the embedded documents; a test parses them all.
    pub fn baseline(&self, version: Option<ControllerVersion>) -> Result<Baseline, BaselineError> {
        Baseline::parse(self.name, &self.document(version))
    }
}

/// All embedded baselines, by name.
pub(crate) fn all() -> Vec<&'static Embedded> {
    let mut all: Vec<&Embedded> = EMBEDDED.iter().chain(PUBLISHED).collect();
    all.sort_unstable_by_key(|embedded| embedded.name);
    all
}

/// Looks up an embedded baseline by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Embedded> {
    EMBEDDED.iter().chain(PUBLISHED).find(|embedded| embedded.name == name)
}
