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

    pub(crate) fn is_of_another_user(_: &Metadata) -> bool {
        false
    }

    pub(crate) fn is_of_root(_: &Metadata) -> bool {
        false
    }

    pub(crate) fn may_others_write(_: &Metadata) -> bool {
        false
    }
}

#[cfg(not(unix))]
pub(crate) use elsewhere::{is_of_another_user, is_of_root, may_others_write};
