//! JSON that others wrote, read into types of ours with the place of what does not fit.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::text;

/// What is wrong with a JSON text, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {line}, column {column} ({pointer})")]
pub struct JsonError {
    /// What is wrong.
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

/// Reads the first value of a text; what follows it is not looked at.
///
/// # Errors
/// When it is not JSON, or does not fit.
pub(crate) fn first<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    first_and_end(bytes).map(|(value, _)| value)
}

/// Reads a text that is one value.
///
/// # Errors
/// When it is not JSON, does not fit, or goes on after the value.
pub(crate) fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    let (value, end) = first_and_end(bytes)?;
    end.map(|()| value)
}

/// Reads the first value of a text, and says whether the text ends there.
///
/// # Errors
/// When it is not JSON, or does not fit.
pub(crate) fn first_and_end<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Result<(), JsonError>), JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| JsonError::new(error.inner(), text::json_pointer(error.path())))?;
    Ok((value, deserializer.end().map_err(|error| JsonError::new(&error, "/".to_owned()))))
}

/// Reads values that follow one another, such as one on each line.
///
/// # Errors
/// When one of them is not JSON, or does not fit; its pointer begins with its number, from 0.
pub(crate) fn lines<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, JsonError> {
    let mut texts = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    let mut values = Vec::new();
    while let Some(text) = texts.next() {
        let text = text.map_err(|error| JsonError::new(&error, format!("/{}", values.len())))?.get();
        let before = bytes.get(..texts.byte_offset().saturating_sub(text.len())).unwrap_or_default();
        values.push(whole(text.as_bytes()).map_err(|error| error.behind(before, values.len()))?);
    }
    Ok(values)
}

impl JsonError {
    /// The error of a value in the text that it stands in, which is the one of this number.
    fn behind(self, before: &[u8], number: usize) -> Self {
        let lines = before.split(|byte| *byte == b'\n').count() - 1;
        let columns = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        let pointer = format!("/{number}{}", self.pointer.trim_end_matches('/'));
        // What is wrong with the value as a whole has no place in it: it is where the value begins.
        let (line, column) = (self.line.max(1), self.column.max(1));
        Self { line: line + lines, column: if line == 1 { column + columns } else { column }, pointer, ..self }
    }
}
