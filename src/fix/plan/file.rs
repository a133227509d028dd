//! The saved plan: canonical JSON with a digest. A plan that is read back is checked as if someone else had written it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::finding::Applicability;
use crate::json_input::{self, JsonError, SchemaProbe};
use crate::text;
use crate::transition::{Attribute, Operation, Target, Transition, Value};

use super::validate::{InvalidChange, check_change};
use super::{Expect, MAX_LIFETIME, Plan, PlannedChange, SCHEMA};

/// Largest plan that is read: 64 MiB, tens of thousands of changes.
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) const MAX_PLAN_BYTES: u64 = 64 << 20;

/// Error that prevents a saved plan from being applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The text is not JSON or not a plan.
    #[error("`{file}` is not a plan: {error}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// Error and its position.
        error: JsonError,
    },
    /// The schema is another or a newer one.
    #[error("`{file}` has the schema `{found}`; this version of tagaudit applies `{SCHEMA}`")]
    Schema {
        /// Name of the input.
        file: String,
        /// Schema of the file.
        found: String,
    },
    /// The digest does not match.
    #[error("`{file}` was edited after it was made: its digest does not match")]
    Edited {
        /// Name of the input.
        file: String,
    },
    /// The plan contains something that tagaudit never plans.
    #[error("`{file}` contains something that tagaudit does not plan: {reason} ({pointer})")]
    InvalidChange {
        /// Name of the input.
        file: String,
        /// The first reason.
        reason: InvalidChange,
        /// JSON pointer of the change.
        pointer: String,
    },
    /// Two changes have one id.
    #[error("`{file}` contains something that tagaudit does not plan: the same change appears twice ({pointer})")]
    Repeated {
        /// Name of the input.
        file: String,
        /// JSON pointer of the second change.
        pointer: String,
    },
    /// The times are not dates, or too far apart.
    #[error("`{file}` contains something that tagaudit does not plan: it may be applied for too long (/expires_at)")]
    Lifetime {
        /// Name of the input.
        file: String,
    },
}

/// A change in its saved form: flat, with values as text and derived fields.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeInFile {
    id: String,
    rules: Vec<String>,
    arn: String,
    target: Target,
    attribute: Attribute,
    operation: Operation,
    old: Option<String>,
    new: Option<String>,
    class: Applicability,
    reason: String,
    expect: Expect,
    /// Absent for a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inverse: Option<InverseInFile>,
}

/// Inverse of a change: the call, and the value that it restores; absent if it removes what was added.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InverseInFile {
    operation: Operation,
    value: Option<String>,
}

impl From<PlannedChange> for ChangeInFile {
    fn from(change: PlannedChange) -> Self {
        let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
        let transition = change.transition;
        let inverse = (!transition.is_deletion())
            .then(|| InverseInFile { operation: transition.inverse().operation(), value: text(&transition.old) });
        Self {
            id: change.id,
            rules: change.rules,
            arn: change.arn,
            operation: transition.operation(),
            old: text(&transition.old),
            new: text(&transition.new),
            target: transition.target,
            attribute: transition.attribute,
            class: change.class,
            reason: change.reason,
            expect: change.expect,
            inverse,
        }
    }
}

/// A saved change that contradicts itself.
#[derive(Debug, thiserror::Error)]
pub(super) enum SavedChangeError {
    #[error("`{value}` is not a valid value of `{attribute}`: expected {values}")]
    Value { value: String, attribute: String, values: String },
    #[error("its operation does not match its values")]
    Operation,
}

impl TryFrom<ChangeInFile> for PlannedChange {
    type Error = SavedChangeError;

    fn try_from(file: ChangeInFile) -> Result<Self, SavedChangeError> {
        let attribute = file.attribute;
        let value = |text: Option<String>| {
            text.map(|text| {
                attribute.parse(&text).ok_or_else(|| {
                    let (label, values) = (attribute.label(), attribute.values());
                    SavedChangeError::Value {
                        value: text::printable(&text).into_owned(),
                        attribute: text::printable(&label).into_owned(),
                        values: values.to_string(),
                    }
                })
            })
            .transpose()
        };
        let (old, new) = (value(file.old)?, value(file.new)?);
        let transition = Transition { target: file.target, attribute, old, new };
        let back = (!transition.is_deletion()).then(|| transition.inverse().operation());
        if file.operation != transition.operation() || file.inverse.map(|inverse| inverse.operation) != back {
            return Err(SavedChangeError::Operation);
        }
        Ok(Self {
            id: file.id,
            rules: file.rules,
            arn: file.arn,
            transition,
            class: file.class,
            reason: file.reason,
            expect: file.expect,
        })
    }
}

impl Plan {
    fn compute_digest(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("digest");
        }
        text::hex(&Sha256::digest(value.to_string().as_bytes()), 32)
    }

    /// True if the digest matches the plan.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.digest == self.compute_digest()
    }

    /// Sets the digest.
    pub(super) fn seal(&mut self) {
        self.digest = self.compute_digest();
    }

    /// Canonical saved form: sorted keys, indented by two spaces, one line feed at the end.
    ///
    /// # Errors
    /// If serialising fails, which does not happen for plain data.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(&serde_json::to_value(self)?)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads a saved plan; `file` is only used in errors.
    ///
    /// # Errors
    /// If it is not a plan, has another schema, was edited, or contains something that is never planned.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, PlanError> {
        if let Ok(probe) = serde_json::from_slice::<SchemaProbe>(bytes)
            && probe.schema != SCHEMA
        {
            return Err(PlanError::Schema { file: file.to_owned(), found: probe.schema });
        }
        let plan: Self =
            json_input::parse_first(bytes).map_err(|error| PlanError::Malformed { file: file.to_owned(), error })?;
        // Only the canonical form is accepted: every value and space as written, and no duplicate key.
        if !plan.is_sealed() || plan.to_json().ok().as_deref() != Some(bytes) {
            return Err(PlanError::Edited { file: file.to_owned() });
        }
        plan.check(file)?;
        Ok(plan)
    }

    /// Checks that the plan contains only what tagaudit plans.
    ///
    /// # Errors
    /// For the first invalid change.
    pub(crate) fn check(&self, file: &str) -> Result<(), PlanError> {
        let times =
            self.created_at.parse::<jiff::Timestamp>().ok().zip(self.expires_at.parse::<jiff::Timestamp>().ok());
        if times.is_none_or(|(from, to)| to.duration_since(from) > MAX_LIFETIME) {
            return Err(PlanError::Lifetime { file: file.to_owned() });
        }
        let mut seen = std::collections::BTreeSet::new();
        for (index, change) in self.changes.iter().enumerate() {
            let pointer = format!("/changes/{index}");
            if let Err(reason) = check_change(self, change) {
                return Err(PlanError::InvalidChange { file: file.to_owned(), reason, pointer });
            }
            if !seen.insert(&change.id) {
                return Err(PlanError::Repeated { file: file.to_owned(), pointer });
            }
        }
        Ok(())
    }
}
