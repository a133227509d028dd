//! Arguments of the commands that write.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::args::{AuditArgs, ConnectionArgs, TerminalArgs};
use crate::fix::plan::{self, Answer, Mandate};
use crate::render::EmitFormat;

/// Default of `--max-changes`.
pub(in crate::cli) const MAX_CHANGES: usize = 50;
/// Default of `--verify-timeout`, in seconds.
const VERIFY_TIMEOUT: u64 = 60;
/// The same for a plan that deletes resources.
const VERIFY_TIMEOUT_OF_DELETIONS: u64 = 600;

/// Invalid value of `--plan-valid-for`.
#[derive(Debug, thiserror::Error)]
enum InvalidLifetime {
    #[error("not a number of hours or minutes, such as `24h` or `90m`")]
    Form,
    #[error("must be at least a minute and at most a week (`168h`)")]
    Range,
}

/// Parses `--plan-valid-for`.
fn valid_for(text: &str) -> Result<jiff::SignedDuration, InvalidLifetime> {
    let duration: jiff::SignedDuration = text.parse().map_err(|_| InvalidLifetime::Form)?;
    if duration < jiff::SignedDuration::from_mins(1) || duration > plan::MAX_LIFETIME {
        return Err(InvalidLifetime::Range);
    }
    Ok(duration)
}

/// Options of a fix.
#[derive(Debug, Args)]
pub(in crate::cli) struct FixArgs {
    /// Fix findings: add what is missing if that is provably safe. The plan is shown first
    #[arg(long, help_heading = "Fix", group = "fixing")]
    pub(in crate::cli) fix: bool,
    /// Delete what controllers left behind: load balancers, target groups, security groups and rules, each with --choose
    ///
    /// A deletion cannot be undone: the journal keeps a description of what was there.
    #[arg(long, help_heading = "Fix", group = "fixing")]
    pub(in crate::cli) fix_leftovers: bool,
    /// Also apply fixes that overwrite, remove or widen something, for the findings of this rule; repeatable
    #[arg(long, value_name = "RULE", help_heading = "Fix", requires = "fixing")]
    pub(in crate::cli) allow: Vec<String>,
    /// Answer the question of a finding; repeatable
    #[arg(long, value_name = "RULE:RESOURCE=VALUE", help_heading = "Fix", requires = "fixing")]
    pub(in crate::cli) choose: Vec<Answer>,
    /// Show the plan without applying it
    ///
    /// EC2 is asked if this caller may make the calls; Alibaba Cloud has no such check.
    ///
    /// As with --plan-out and --emit, the exit code is that of the scan: 1 as long as there are findings, 5 if
    /// something in the plan was refused.
    #[arg(long, help_heading = "Fix", requires = "fixing", conflicts_with_all = ["plan_out", "emit"])]
    pub(in crate::cli) dry_run: bool,
    /// Save the plan for `tagaudit apply` instead of applying it; it is valid for an hour after the account was read
    #[arg(long, value_name = "FILE", help_heading = "Fix", requires = "fixing", conflicts_with = "emit")]
    pub(in crate::cli) plan_out: Option<PathBuf>,
    /// Lifetime of the saved plan instead of an hour, counted from when the account was read: `90m`, `24h`, at most
    /// `168h`
    #[arg(long, value_name = "DURATION", help_heading = "Fix", requires = "plan_out", value_parser = valid_for)]
    pub(in crate::cli) plan_valid_for: Option<jiff::SignedDuration>,
    /// Print the plan for other tools instead of applying it; replaces the report
    #[arg(long, value_enum, value_name = "LANGUAGE", help_heading = "Fix", requires = "fixing")]
    pub(in crate::cli) emit: Option<EmitName>,
    #[command(flatten)]
    pub(in crate::cli) carry_out: CarryOutArgs,
    /// Journal of the changes; the default is one per account and cluster, in the user's state folder
    #[arg(long, value_name = "FILE", help_heading = "Fix")]
    pub(in crate::cli) journal: Option<PathBuf>,
}

impl FixArgs {
    /// True if the scan plans fixes.
    pub(in crate::cli) fn is_on(&self) -> bool {
        self.fix || self.fix_leftovers
    }

    /// What the plan may do.
    pub(in crate::cli) fn mandate(&self) -> Mandate {
        if self.fix_leftovers { Mandate::RemoveLeftovers } else { Mandate::Repair }
    }
}

/// Options for applying a plan.
#[derive(Debug, Args)]
pub(in crate::cli) struct CarryOutArgs {
    /// Largest plan that is applied. It matters if the option was given, so only the help states the default.
    #[arg(
        long,
        value_name = "N",
        help = format!("Refuse a plan with more changes, before making any [default: {MAX_CHANGES}]"),
        help_heading = "Fix"
    )]
    pub(in crate::cli) max_changes: Option<usize>,
    /// Do not ask for confirmation; without a terminal this requires --expect-account too
    #[arg(long, help_heading = "Fix")]
    pub(in crate::cli) yes: bool,
    /// Refuse to write to any other account
    #[arg(long, value_name = "ID", help_heading = "Fix")]
    pub(in crate::cli) expect_account: Option<String>,
    /// Seconds to wait until a change is visible; only the help states the default, as for `max_changes`.
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(0..=3_600),
        help = format!("Seconds to wait until a change is visible [default: {VERIFY_TIMEOUT}; {VERIFY_TIMEOUT_OF_DELETIONS} for deletions]"),
        help_heading = "Fix"
    )]
    pub(in crate::cli) verify_timeout: Option<u64>,
}

#[cfg(any(feature = "aws", feature = "alibaba"))]
impl CarryOutArgs {
    /// Maximum number of changes in a plan.
    pub(in crate::cli) fn most_changes(&self) -> usize {
        self.max_changes.unwrap_or(MAX_CHANGES)
    }

    /// Time to wait until a change is visible. The interfaces of a deleted load balancer take minutes to disappear.
    pub(in crate::cli) fn verify_timeout(&self, deletes: bool) -> std::time::Duration {
        let default = if deletes { VERIFY_TIMEOUT_OF_DELETIONS } else { VERIFY_TIMEOUT };
        std::time::Duration::from_secs(self.verify_timeout.unwrap_or(default))
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ApplyArgs {
    /// The saved plan
    pub(in crate::cli) plan: PathBuf,
    /// Refuse a plan for any other cluster
    #[arg(long, value_name = "ID", env = "TAGAUDIT_CLUSTER_ID", value_parser = crate::cli::args::values::cluster_id)]
    pub(in crate::cli) cluster_id: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
    #[command(flatten)]
    pub(in crate::cli) audit: AuditArgs,
    /// Also apply changes that overwrite, remove or widen something, for the findings of this rule; repeatable
    #[arg(long, value_name = "RULE", help_heading = "Fix")]
    pub(in crate::cli) allow: Vec<String>,
    /// Answer the question of a finding, as in the scan that created the plan; repeatable
    #[arg(long, value_name = "RULE:RESOURCE=VALUE", help_heading = "Fix")]
    pub(in crate::cli) choose: Vec<Answer>,
    /// Delete what controllers left behind, as in the scan that created the plan
    #[arg(long, help_heading = "Fix")]
    pub(in crate::cli) fix_leftovers: bool,
    #[command(flatten)]
    pub(in crate::cli) carry_out: CarryOutArgs,
    /// Journal of the changes; the default is one per account and cluster, in the user's state folder
    #[arg(long, value_name = "FILE", help_heading = "Fix")]
    pub(in crate::cli) journal: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) terminal: TerminalArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct UndoArgs {
    /// Journal of the fix
    pub(in crate::cli) journal: PathBuf,
    /// Undo this run instead of the last one that is not yet undone
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) run: Option<String>,
    /// Show the plan without applying it
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// Also undo changes of this rule to tags of other clusters, and to resources that do not belong to the cluster; repeatable
    #[arg(long, value_name = "RULE", help_heading = "Fix")]
    pub(in crate::cli) allow: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
    #[command(flatten)]
    pub(in crate::cli) audit: AuditArgs,
    #[command(flatten)]
    pub(in crate::cli) carry_out: CarryOutArgs,
    #[command(flatten)]
    pub(in crate::cli) terminal: TerminalArgs,
}

/// Values of `--emit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum EmitName {
    /// Terraform, HCL
    Terraform,
    /// A CloudFormation template, YAML
    Cloudformation,
    /// A POSIX shell script of AWS CLI commands
    AwsCli,
    /// A POSIX shell script of `aliyun` commands
    #[value(help = "A POSIX shell script of aliyun commands")]
    AliyunCli,
}

impl From<EmitName> for EmitFormat {
    fn from(name: EmitName) -> Self {
        match name {
            EmitName::Terraform => Self::Terraform,
            EmitName::Cloudformation => Self::Cloudformation,
            EmitName::AwsCli => Self::AwsCli,
            EmitName::AliyunCli => Self::AliyunCli,
        }
    }
}
