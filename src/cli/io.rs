//! The surroundings of the process: files, terminal, clock and exit codes.

pub(super) mod changed_files;
pub(super) mod clock;
pub(super) mod failure;
pub(super) mod files;
pub(super) mod input;
pub(super) mod kubernetes_files;
pub(super) mod output;
pub(super) mod pager;
pub(super) mod terminal;
