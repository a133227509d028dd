//! Files of the operator, bounded in size.

use std::io::Read;
use std::path::Path;

use crate::policy::json;

use crate::cli::io::failure::Failure;

/// Largest node list or output of kubectl that is read, in bytes.
pub(in crate::cli) const MAX_NODES_BYTES: u64 = 1 << 30;

/// Reads a file, or standard input for `-`, up to a limit.
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
