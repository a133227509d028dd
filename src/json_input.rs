//! Foreign JSON, read into tagaudit's types with the place of every mismatch.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::text;

/// A defect of a JSON text, and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {line}, column {column} ({pointer})")]
pub struct JsonError {
    /// The defect.
    pub reason: String,
    /// One-based line.
    pub line: usize,
    /// One-based column.
    pub column: usize,
    /// JSON pointer of the offending value.
    pub pointer: String,
}

impl JsonError {
    fn new(error: &serde_json::Error, pointer: String) -> Self {
        Self { reason: text::without_position(error), line: error.line(), column: error.column(), pointer }
    }
}

/// The `schema` of a document, whatever else it holds.
#[derive(Deserialize)]
pub(crate) struct SchemaProbe {
    /// Name and number, such as `tagaudit.report/1`.
    pub(crate) schema: String,
}

/// Reads the first value of a text; ignores the text after it.
///
/// # Errors
/// When it is not JSON, or does not fit.
pub(crate) fn parse_first<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    parse_first_and_end(bytes).map(|(value, _)| value)
}

/// Reads a text that consists of one value.
///
/// # Errors
/// When it is not JSON, does not fit, or has text after the value.
pub(crate) fn parse_complete<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    let (value, end) = parse_first_and_end(bytes)?;
    end.map(|()| value)
}

/// Reads the first value of a text, and reports whether the text ends there.
///
/// # Errors
/// When it is not JSON, or does not fit.
pub(crate) fn parse_first_and_end<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Result<(), JsonError>), JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| JsonError::new(error.inner(), text::json_pointer(error.path())))?;
    Ok((value, deserializer.end().map_err(|error| JsonError::new(&error, "/".to_owned()))))
}

/// Reads consecutive values, such as one per line.
///
/// # Errors
/// When one of them is not JSON, or does not fit; its pointer begins with its number, from 0.
pub(crate) fn parse_lines<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, JsonError> {
    let mut texts = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    let mut values = Vec::new();
    while let Some(text) = texts.next() {
        let text = text.map_err(|error| JsonError::new(&error, format!("/{}", values.len())))?.get();
        let before = bytes.get(..texts.byte_offset().saturating_sub(text.len())).unwrap_or_default();
        values.push(parse_complete(text.as_bytes()).map_err(|error| error.offset_by(before, values.len()))?);
    }
    Ok(values)
}

impl JsonError {
    /// The error relative to the text that contains the value, which has this number.
    fn offset_by(self, before: &[u8], number: usize) -> Self {
        let lines = before.split(|byte| *byte == b'\n').count() - 1;
        let columns = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        let pointer = format!("/{number}{}", self.pointer.trim_end_matches('/'));
        // A defect of the whole value has no place in it: it is reported where the value begins.
        let (line, column) = (self.line.max(1), self.column.max(1));
        Self { line: line + lines, column: if line == 1 { column + columns } else { column }, pointer, ..self }
    }
}
