//! JSON, for a file or another program.

use std::io::{self, Write};

use serde::Serialize;

use crate::text;

/// Writes a document as JSON, for a file or another program: hidden and control characters are escaped.
///
/// # Errors
/// When the writer fails.
pub fn json<T: Serialize>(document: &T, out: &mut dyn Write) -> io::Result<()> {
    let json_text = serde_json::to_string_pretty(document)?;
    out.write_all(text::json_printable(&json_text).as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
