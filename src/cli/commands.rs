//! One file for each command.

pub(super) mod alibaba_versions;
pub(super) mod baseline;
pub(super) mod catalogue;
pub(super) mod complete;
pub(super) mod config;
pub(super) mod example;
pub(super) mod fix;
pub(super) mod guard;
pub(super) mod lint;
pub(super) mod manual;
pub(super) mod many;
pub(super) mod merge;
pub(super) mod migrate;
pub(super) mod permissions;
pub(super) mod policy;
pub(super) mod roles;
pub(super) mod run;
pub(super) mod show;
pub(super) mod simulate;
pub(super) mod why;
