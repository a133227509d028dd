//! Fixes before they are applied: [`plan`] collects the transitions of findings and proves them on a copy, and
//! [`journal`] records what was done, for `undo`. `apply` carries a plan out.

pub(crate) mod journal;
pub(crate) mod journal_files;
pub(crate) mod plan;
