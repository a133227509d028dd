//! Owners of files.

use std::fs::Metadata;

/// True if a file belongs to a user other than the effective user of this process.
#[cfg(unix)]
pub(crate) fn has_other_owner(file: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(file) != rustix::process::geteuid().as_raw()
}

/// True if root owns a file.
#[cfg(unix)]
pub(crate) fn is_owned_by_root(file: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(file) == 0
}

/// True if users other than its owner can write a file.
#[cfg(unix)]
pub(crate) fn is_writable_by_others(file: &Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o022 != 0
}

// Other systems have access control lists instead, which are not read.
#[cfg(not(unix))]
mod elsewhere {
    use super::Metadata;

    pub(crate) fn has_other_owner(_: &Metadata) -> bool {
        false
    }

    pub(crate) fn is_owned_by_root(_: &Metadata) -> bool {
        false
    }

    pub(crate) fn is_writable_by_others(_: &Metadata) -> bool {
        false
    }
}

#[cfg(not(unix))]
pub(crate) use elsewhere::{has_other_owner, is_owned_by_root, is_writable_by_others};
