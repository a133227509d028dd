//! Files of the operator, bounded in size.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::policy::json;
use crate::text::encoding::{in_utf8, is_utf16};

use crate::cli::io::failure::Failure;

/// Largest node list or output of kubectl that is read, in bytes.
pub(in crate::cli) const MAX_NODES_BYTES: u64 = 1 << 30;

/// Reads a file, or standard input for `-`, up to a limit. Text in UTF-16 is returned in UTF-8.
pub(in crate::cli) fn read_bytes(path: &Path, limit: u64, what: &str) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let failed =
        |error: std::io::Error| Failure::usage(format!("cannot read the {what} `{shown}`")).cause(error.to_string());
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        if let Ok(metadata) = file.metadata() {
            // A hint only: reading is bounded anyway.
            bytes.reserve(usize::try_from(metadata.len().min(limit)).unwrap_or_default());
        }
        file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.len() as u64 > limit {
        return Err(Failure::usage(format!("the {what} `{shown}` is larger than {limit} bytes")));
    }
    Ok(decoded(bytes))
}

/// The text in UTF-8.
fn decoded(bytes: Vec<u8>) -> Vec<u8> {
    match in_utf8(&bytes) {
        Cow::Owned(decoded) => decoded,
        Cow::Borrowed(_) => bytes,
    }
}

/// Reads a file, or these bytes of it.
///
/// # Errors
/// If it cannot be read, or ends before.
pub(in crate::cli) fn part(path: &Path, part: Option<&Range<u64>>) -> std::io::Result<Vec<u8>> {
    let Some(Range { start, end }) = part else { return std::fs::read(path).map(decoded) };
    let mut file = std::fs::File::open(path)?;
    let mut mark = Vec::new();
    (&mut file).take(2).read_to_end(&mut mark)?;
    if is_utf16(&mark) {
        // Places are those of the text in UTF-8.
        let whole = decoded(std::fs::read(path)?);
        let places = usize::try_from(*start).ok().zip(usize::try_from(*end).ok());
        let held = places.and_then(|(start, end)| whole.get(start..end.min(whole.len())));
        return Ok(held.unwrap_or_default().to_vec());
    }
    file.seek(SeekFrom::Start(*start))?;
    let mut bytes = Vec::new();
    file.take(end.saturating_sub(*start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a file, or of standard input for `-`.
pub(in crate::cli) fn read_text(path: &Path, limit: u64, what: &str) -> Result<String, Failure> {
    let bytes = read_bytes(path, limit, what)?;
    let text = json::decode_utf8(&bytes).map_err(|error| {
        Failure::usage(format!("cannot read the {what} `{}`", path.display())).cause(error.to_string())
    })?;
    Ok(text.to_owned())
}

/// Entries directly in a folder that are wanted, by name, without hidden ones.
///
/// # Errors
/// If the folder cannot be read.
pub(in crate::cli) fn list(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let unread = |error: std::io::Error| {
        Failure::usage(format!("cannot read the folder `{}`", folder.display())).cause(error.to_string())
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !is_hidden && is_wanted(&path) {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}
