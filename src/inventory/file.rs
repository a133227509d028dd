//! Reading and writing the recorded inventory.

use std::io::Write;
use std::path::Path;

use serde::Deserialize;

use crate::json_input::{self, JsonError};

use super::{Inventory, Provider, SCHEMA};

/// Largest inventory that is read: 2 GiB, about 1.5 million instances.
pub const MAX_INVENTORY_BYTES: u64 = 2 << 30;

/// Why a recorded inventory could not be used.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// The text is not JSON or not an inventory.
    #[error("`{file}` is not a tagaudit inventory: {error}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// What is wrong, and where.
        error: JsonError,
    },
    /// An inventory of a cloud whose rules are not known: those of another would say nothing true of it.
    #[error("`{file}` is an inventory of {}, and this version audits AWS", provider.describe())]
    Unsupported {
        /// Name of the input.
        file: String,
        /// The cloud.
        provider: Provider,
    },
    /// Another or a newer schema.
    #[error("`{file}` has the schema `{found}`, and this version of tagaudit reads `{SCHEMA}`")]
    Schema {
        /// Name of the input.
        file: String,
        /// What it says.
        found: String,
    },
}

#[derive(Deserialize)]
struct SchemaProbe {
    schema: String,
    provider: Option<Provider>,
}

impl Inventory {
    /// Reads a recorded inventory from its bytes; `file` is only used in errors.
    ///
    /// # Errors
    /// When the bytes are not JSON, not an inventory, or one of another schema.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, InventoryError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match serde_json::from_slice::<Self>(bytes) {
            Ok(inventory) if inventory.schema != SCHEMA => {
                Err(InventoryError::Schema { file: file.to_owned(), found: inventory.schema })
            }
            Ok(mut inventory) => {
                inventory.canonicalise();
                Ok(inventory)
            }
            Err(_) => Err(diagnose(file, bytes)),
        }
    }

    /// The bytes of the recorded form: pretty-printed, so that two recordings can be compared line by line.
    ///
    /// # Errors
    /// When serialising fails, which plain data does not.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Parses once more, slowly, to find the place; the fast parse has already failed.
fn diagnose(file: &str, bytes: &[u8]) -> InventoryError {
    if let Ok(probe) = serde_json::from_slice::<SchemaProbe>(bytes)
        && probe.schema != SCHEMA
    {
        return InventoryError::Schema { file: file.to_owned(), found: probe.schema };
    }
    // An inventory of another cloud has another shape: that is what there is to say about it.
    if let Ok(SchemaProbe { provider: Some(provider @ Provider::Alibaba), .. }) = serde_json::from_slice(bytes) {
        return InventoryError::Unsupported { file: file.to_owned(), provider };
    }
    let error = match json_input::first_and_end::<Inventory>(bytes) {
        Err(error) => error,
        Ok((_, end)) => {
            let (line, column) = end.err().map_or((0, 0), |error| (error.line, error.column));
            let reason = "text after the end of the JSON value".to_owned();
            JsonError { reason, line, column, pointer: "/".to_owned() }
        }
    };
    InventoryError::Malformed { file: file.to_owned(), error }
}

/// Whether there is something at a path that a file cannot be renamed over and that bytes can be sent to: a pipe, a
/// character device, or a link of the system to an open file, as `/dev/stdout` is.
fn is_stream(path: &Path) -> std::io::Result<bool> {
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(false) };
    if there.is_file() {
        return Ok(false);
    }
    // A link that leads nowhere is replaced as one to a file is.
    let Ok(behind) = std::fs::metadata(path) else { return Ok(false) };
    if there.is_symlink() && behind.is_file() {
        return Ok(path.starts_with("/dev") || path.starts_with("/proc"));
    }
    if behind.is_dir() || !takes_bytes(behind.file_type()) {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is neither a file nor a pipe"));
    }
    Ok(true)
}

#[cfg(unix)]
fn takes_bytes(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn takes_bytes(_: std::fs::FileType) -> bool {
    false
}

/// Writes a file that only its owner may read (0600): to a temporary file beside it, synced, then renamed over the
/// target, so that nobody ever sees half a file. A symbolic link to a file is replaced, never followed. Pipes and
/// character devices, `/dev/stdout` among them, are written to.
///
/// # Errors
/// When the folder cannot be written to or the disk is full; the old file is then still there.
pub fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_file(path, bytes, Access::Owner)
}

/// Who may read a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its owner alone.
    Owner,
    /// Everyone, for what a service of another user collects.
    Everyone,
}

/// Writes a file, which appears whole or not at all.
///
/// # Errors
/// When it cannot be written; what was there before is then left as it was.
pub fn write_file(path: &Path, bytes: &[u8], access: Access) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if is_stream(path)? {
        let mut stream = std::fs::OpenOptions::new().append(true).open(path)?;
        stream.write_all(bytes)?;
        return stream.flush();
    }
    let mut file = tempfile::Builder::new().prefix(".tagaudit-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    if access == Access::Everyone {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    #[cfg(not(unix))]
    let _ = access;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
