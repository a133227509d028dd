//! Reading and writing the recorded inventory.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::json_input::{self, JsonError, SchemaProbe};

use super::{Provider, SCHEMA};

/// Largest inventory that is read: 2 GiB, about 1.5 million instances.
pub(crate) const MAX_INVENTORY_BYTES: u64 = 2 << 30;

/// Reason why a recorded inventory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// The text is not JSON or not an inventory.
    #[error("`{file}` is not a tagaudit inventory: {error}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// The defect and its place.
        error: JsonError,
    },
    /// Another or newer schema.
    #[error("`{file}` has the schema `{found}`, and this version of tagaudit reads `{SCHEMA}`")]
    Schema {
        /// Name of the input.
        file: String,
        /// Its schema.
        found: String,
    },
    /// Its content is impossible.
    #[error("`{file}` contradicts itself: {reason} ({pointer})")]
    Contradiction {
        /// Name of the input.
        file: String,
        /// The contradiction.
        reason: String,
        /// JSON pointer of the contradiction.
        pointer: String,
    },
}

#[derive(Deserialize)]
struct ProviderProbe {
    provider: Provider,
}

/// The cloud of a recorded inventory, if the bytes state one. This tool writes it near the beginning; a recording that
/// was reordered is searched completely.
#[must_use]
pub(crate) fn detect_provider(bytes: &[u8]) -> Option<Provider> {
    const HEAD: usize = 400;
    let head = String::from_utf8_lossy(bytes.get(..HEAD.min(bytes.len())).unwrap_or_default());
    let compact: String = head.chars().filter(|character| !character.is_whitespace()).collect();
    for provider in [Provider::Aws, Provider::Alibaba] {
        let member = format!("\"provider\":\"{}\"", provider.name());
        if compact.contains(&member) {
            return Some(provider);
        }
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<ProviderProbe>(bytes).ok().map(|probe| probe.provider)
}

/// True if bytes begin like a recorded inventory of any schema. The recorded form has its schema first.
#[must_use]
pub(crate) fn is_recorded(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(bytes.get(..256).unwrap_or(bytes));
    start.contains("\"tagaudit.inventory/")
}

/// Reads a recorded inventory of a cloud from its bytes; `file` is only used in errors.
///
/// # Errors
/// When the bytes are not JSON, not an inventory, or one of another schema.
pub(crate) fn read_inventory<T: DeserializeOwned>(
    file: &str,
    bytes: &[u8],
    schema: impl Fn(&T) -> &str,
) -> Result<T, InventoryError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice::<T>(bytes) {
        Ok(inventory) if schema(&inventory) != SCHEMA => {
            Err(InventoryError::Schema { file: file.to_owned(), found: schema(&inventory).to_owned() })
        }
        Ok(inventory) => Ok(inventory),
        Err(_) => Err(diagnose::<T>(file, bytes)),
    }
}

/// Serialises a recorded form: pretty-printed, so that two recordings can be compared line by line.
///
/// # Errors
/// When serialising fails, which plain data does not.
pub fn to_json<T: Serialize>(inventory: &T) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(inventory)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Parses a second time, more slowly, to find the place; the fast parse has already failed.
fn diagnose<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> InventoryError {
    if let Ok(probe) = serde_json::from_slice::<SchemaProbe>(bytes)
        && probe.schema != SCHEMA
    {
        return InventoryError::Schema { file: file.to_owned(), found: probe.schema };
    }
    let error = match json_input::parse_first_and_end::<T>(bytes) {
        Err(error) => error,
        Ok((_, end)) => {
            let (line, column) = end.err().map_or((0, 0), |error| (error.line, error.column));
            let reason = "text after the end of the JSON value".to_owned();
            JsonError { reason, line, column, pointer: "/".to_owned() }
        }
    };
    InventoryError::Malformed { file: file.to_owned(), error }
}

/// True if the path refers to something that a file cannot be renamed over but that accepts bytes: a pipe, a
/// character device, or a system link to an open file, such as `/dev/stdout`.
fn is_stream(path: &Path) -> std::io::Result<bool> {
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(false) };
    if there.is_file() {
        return Ok(false);
    }
    // A dangling link is replaced, like a link to a file.
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

/// Writes a file that only its owner can read (0600): to a temporary file in the same folder, synced, then renamed over
/// the target, so that no reader ever sees a partial file. A symbolic link to a file is replaced, never followed. Pipes
/// and character devices, such as `/dev/stdout`, are written to directly.
///
/// # Errors
/// When the folder cannot be written to or the disk is full; the old file is then unchanged.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_file(path, bytes, Access::Owner)
}

/// Read access to a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only its owner.
    Owner,
    /// Everyone, for files that a service of another user collects.
    Everyone,
}

/// Writes a file atomically: it appears complete or not at all.
///
/// # Errors
/// When it cannot be written; an existing file is then unchanged.
pub(crate) fn write_file(path: &Path, bytes: &[u8], access: Access) -> std::io::Result<()> {
    PendingFile::create(path, access, |out| out.write_all(bytes))?.put()
}

/// A file that is written and not yet in its place.
pub(crate) enum PendingFile {
    Temporary {
        file: tempfile::NamedTempFile,
        path: PathBuf,
    },
    /// Something that a file cannot replace, and the bytes for it.
    Stream {
        path: PathBuf,
        bytes: Vec<u8>,
    },
}

impl PendingFile {
    /// Writes it next to its place, or into memory if it goes to a pipe.
    ///
    /// # Errors
    /// When it cannot be written; an existing file is then unchanged.
    pub(crate) fn create(
        path: &Path,
        access: Access,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> std::io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if is_stream(path)? {
            let mut bytes = Vec::new();
            write(&mut bytes)?;
            return Ok(Self::Stream { path: path.to_owned(), bytes });
        }
        let mut file = tempfile::Builder::new().prefix(".tagaudit-").tempfile_in(folder)?;
        let mut out = std::io::BufWriter::new(file.as_file_mut());
        write(&mut out)?;
        out.flush()?;
        drop(out);
        #[cfg(unix)]
        if access == Access::Everyone {
            use std::os::unix::fs::PermissionsExt;
            file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
        }
        #[cfg(not(unix))]
        let _ = access;
        file.as_file().sync_all()?;
        Ok(Self::Temporary { file, path: path.to_owned() })
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// When it cannot be put there; an existing file is then unchanged.
    pub(crate) fn put(self) -> std::io::Result<()> {
        match self {
            Self::Temporary { file, path } => {
                file.persist(path)?;
                Ok(())
            }
            Self::Stream { path, bytes } => {
                let mut stream = std::fs::OpenOptions::new().append(true).open(path)?;
                stream.write_all(&bytes)?;
                stream.flush()
            }
        }
    }
}
