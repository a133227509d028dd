//! `tagaudit policy`: runs the policy engine on files, without an account.

mod actions;
mod cases;
mod diff;
mod eval;
mod lint;

pub(in crate::cli) use actions::{expand, shrink};
pub(in crate::cli) use cases::cases;
pub(in crate::cli) use diff::{diff, diff_exit};
pub(in crate::cli) use eval::eval;
pub(in crate::cli) use lint::{lint_exit, lint_files};
