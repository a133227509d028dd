//! `tagaudit policy`: runs the policy engine on files, without an account.

mod actions;
pub(super) mod args;
mod cases;
mod diff;
mod eval;
mod lint;

pub(super) use actions::{expand, shrink};
pub(super) use cases::cases;
pub(super) use diff::{diff, diff_exit};
pub(super) use eval::eval;
pub(super) use lint::{lint_exit, lint_files};
