//! Saved reports: their schemas, and errors of reading them.

use crate::json_input::{self, JsonError, SchemaProbe};

/// Schema of the JSON report; `docs/report.schema.json` describes it.
pub(crate) const SCHEMA: &str = "tagaudit.report/1";

/// Reasons why a saved report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The text is not JSON or not a report.
    #[error("`{file}` is not a report: {error}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// Error, with its position.
        error: JsonError,
    },
    /// It contradicts itself: it was edited, or is incomplete.
    #[error("`{file}` contradicts itself: `{pointer}` {reason}")]
    Contradiction {
        /// Name of the input.
        file: String,
        /// JSON pointer to the contradiction.
        pointer: String,
        /// Description of the contradiction.
        reason: String,
    },
    /// Another or a newer schema.
    #[error("`{file}` has the schema `{found}`, but this version of tagaudit reads `{SCHEMA}` and `{SET_SCHEMA}`")]
    Schema {
        /// Name of the input.
        file: String,
        /// Its schema.
        found: String,
    },
}

/// Byte order mark, which some editors and shells put before a text.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The `schema` of a document; text after the document is not checked here.
pub(super) fn probe_schema(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    schema_first(bytes).or_else(|| json_input::parse_first::<SchemaProbe>(bytes).ok().map(|probe| probe.schema))
}

/// Schema of a document that begins with it, as all of ours do, without reading the rest of many megabytes.
fn schema_first(bytes: &[u8]) -> Option<String> {
    let head = std::str::from_utf8(bytes.get(..bytes.len().min(200))?).ok()?;
    let value = head.trim_start().strip_prefix('{')?.trim_start().strip_prefix("\"schema\"")?;
    let value = value.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (schema, _) = value.split_once('"')?;
    (!schema.contains('\\')).then(|| schema.to_owned())
}

/// Schema of the JSON document; `docs/report-set.schema.json` describes it.
pub const SET_SCHEMA: &str = "tagaudit.report-set/1";
