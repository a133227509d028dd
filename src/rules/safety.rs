//! Limits of fixes that are made without asking, by cloud.

pub(super) mod alibaba;
pub(crate) mod aws;
