//! Arguments of everything that writes.

use std::path::PathBuf;

use clap::Args;

use crate::plan::{Answer, EmitFormat};

use super::{AuditArgs, ConnectionArgs, TerminalArgs};

/// Default of `--max-changes`.
pub(super) const MAX_CHANGES: usize = 50;
/// Default of `--verify-timeout`, in seconds.
pub(super) const VERIFY_TIMEOUT: u64 = 60;

/// What is to be fixed, and how.
#[derive(Debug, Args)]
pub(super) struct FixArgs {
    /// Fix what is found: add what is missing where that is provably safe. The plan is shown first
    #[arg(long, help_heading = "Fix")]
    pub(super) fix: bool,
    /// Fix also what overwrites, removes or widens something, for the findings of this rule; repeatable
    #[arg(long, value_name = "RULE", help_heading = "Fix", requires = "fix")]
    pub(super) allow: Vec<String>,
    /// Answer the question of a finding; repeatable
    #[arg(long, value_name = "RULE:RESOURCE=VALUE", help_heading = "Fix", requires = "fix")]
    pub(super) choose: Vec<Answer>,
    /// Stop when the plan is shown, and ask EC2 whether this caller may make its calls
    ///
    /// As with --plan-out and --emit, the exit code is that of the scan: 1 as long as there are findings, 5 if something
    /// of the plan was refused.
    #[arg(long, help_heading = "Fix", requires = "fix", conflicts_with_all = ["plan_out", "emit"])]
    pub(super) dry_run: bool,
    /// Save the plan for `tagaudit apply` instead of carrying it out; it may be applied for an hour
    #[arg(long, value_name = "FILE", help_heading = "Fix", requires = "fix", conflicts_with = "emit")]
    pub(super) plan_out: Option<PathBuf>,
    /// Print the plan for other tools instead of carrying it out; it takes the place of the report
    #[arg(long, value_enum, value_name = "LANGUAGE", help_heading = "Fix", requires = "fix")]
    pub(super) emit: Option<EmitFormat>,
    #[command(flatten)]
    pub(super) carry_out: CarryOutArgs,
    /// Where to write down what was done; the default is one for each account and cluster, in the user's state folder
    #[arg(long, value_name = "FILE", help_heading = "Fix")]
    pub(super) journal: Option<PathBuf>,
}

/// How a plan is carried out.
#[derive(Debug, Args)]
pub(super) struct CarryOutArgs {
    /// Largest plan that is carried out; whether it was given matters, so that the default stands in the help alone.
    #[arg(
        long,
        value_name = "N",
        help = format!("Refuse a plan with more changes, before the first of them [default: {MAX_CHANGES}]"),
        help_heading = "Fix"
    )]
    pub(super) max_changes: Option<usize>,
    /// Do not ask; without a terminal it takes --expect-account as well
    #[arg(long, help_heading = "Fix")]
    pub(super) yes: bool,
    /// Refuse to write to any other account
    #[arg(long, value_name = "ID", help_heading = "Fix")]
    pub(super) expect_account: Option<String>,
    /// How long to wait for a change to show
    #[arg(long, value_name = "SECONDS", default_value_t = VERIFY_TIMEOUT, value_parser = clap::value_parser!(u64).range(0..=3_600), help_heading = "Fix")]
    pub(super) verify_timeout: u64,
}

#[cfg(feature = "aws")]
impl CarryOutArgs {
    /// Changes that a plan may have.
    pub(super) fn most_changes(&self) -> usize {
        self.max_changes.unwrap_or(MAX_CHANGES)
    }
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// The saved plan
    pub(super) plan: PathBuf,
    /// Refuse a plan for any other cluster
    #[arg(long, value_name = "ID", env = "TAGAUDIT_CLUSTER_ID", value_parser = super::cluster_id)]
    pub(super) cluster_id: Option<String>,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    #[command(flatten)]
    pub(super) audit: AuditArgs,
    #[command(flatten)]
    pub(super) carry_out: CarryOutArgs,
    /// Where to write down what was done; the default is one for each account and cluster, in the user's state folder
    #[arg(long, value_name = "FILE", help_heading = "Fix")]
    pub(super) journal: Option<PathBuf>,
    #[command(flatten)]
    pub(super) terminal: TerminalArgs,
}

#[derive(Debug, Args)]
pub(super) struct UndoArgs {
    /// The journal that the fix wrote
    pub(super) journal: PathBuf,
    /// Undo this run instead of the last one that is not undone yet
    #[arg(long, value_name = "ID")]
    pub(super) run: Option<String>,
    /// Stop when the plan is shown
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    #[command(flatten)]
    pub(super) audit: AuditArgs,
    #[command(flatten)]
    pub(super) carry_out: CarryOutArgs,
    #[command(flatten)]
    pub(super) terminal: TerminalArgs,
}
