//! JSON, for a file or another program.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::text;

/// Bytes that are escaped at once.
const PIECE: usize = 64 * 1024;

/// Writes a document as JSON, for a file or another program: hidden and control characters are escaped. The document is
/// never whole in memory.
///
/// # Errors
/// When the writer fails, or a part of the document cannot be read.
pub fn json<T: Serialize>(document: &T, out: &mut dyn Write) -> io::Result<()> {
    let mut pieces = BufWriter::with_capacity(PIECE, Escaped { out, rest: Vec::new() });
    serde_json::to_writer_pretty(&mut pieces, document)?;
    pieces.write_all(b"\n")?;
    pieces.flush()
}

/// Escapes hidden characters of a JSON text that comes in pieces.
struct Escaped<'w> {
    out: &'w mut dyn Write,
    /// The first bytes of a character whose other bytes are still to come.
    rest: Vec<u8>,
}

impl Write for Escaped<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(piece);
        let whole = match std::str::from_utf8(&bytes) {
            Ok(_) => bytes.len(),
            Err(error) => error.valid_up_to(),
        };
        let (text, rest) = bytes.split_at(whole);
        self.out.write_all(text::json_printable(&String::from_utf8_lossy(text)).as_bytes())?;
        self.rest = rest.to_vec();
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_between_pieces_stay_whole() {
        // Of three bytes each, so that a piece ends within one.
        let long = "\u{20ac}".repeat(PIECE) + "\u{202e}";
        let mut page = Vec::new();
        json(&serde_json::json!({ "a": long }), &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("\\u202e") && !page.contains('\u{202e}'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&page).unwrap()["a"], long);
    }
}
