//! Whether a fix may be made without asking, by cloud.

pub(super) mod alibaba;
pub(crate) mod aws;
