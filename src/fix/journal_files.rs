//! Files of the journal and of the lock of a cluster.

use std::fs::{File, OpenOptions};
use std::path::Path;

/// Opens a file that only its owner can read. A symbolic link is not followed: tagaudit must not write to its target.
pub(super) fn open_private(path: &Path) -> std::io::Result<File> {
    if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a file that every user of the machine can lock and nobody reads; its owner does not matter.
///
/// # Errors
/// When it does not exist and cannot be created, or is not a file.
pub(crate) fn open_shared(path: &Path) -> std::io::Result<File> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"))
        }
        Ok(_) => File::open(path),
        Err(_) => match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
            // Another process created it in the meantime.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => File::open(path),
            Ok(file) => {
                // Regardless of the umask: another user must be able to open it.
                #[cfg(unix)]
                file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
                Ok(file)
            }
            Err(error) => Err(error),
        },
    }
}
