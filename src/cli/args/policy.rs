//! Arguments of `tagaudit policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::args::CatalogueArgs;
use crate::cli::args::outputs::Outputs;
use crate::controller::ControllerVersion;
use crate::policy::lint::PolicyKind;
use crate::policy::{Dialect, IAM, RAM};
use crate::render::FindingsFormat;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PolicyCommand {
    /// Compare policies with a baseline: granted, partial, denied, missing, excess
    Diff(Box<DiffArgs>),
    /// Decide requests: one on the command line, or many from a file
    Eval(EvalArgs),
    /// Find elements that are malformed, have no effect, or mean something other than they seem to
    Lint(LintArgs),
    /// List the actions that patterns cover
    Expand(ExpandArgs),
    /// Find the fewest patterns that cover exactly the given actions
    Shrink(ShrinkArgs),
}

/// A policy language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum DialectName {
    /// AWS IAM
    Iam,
    /// Alibaba Cloud RAM
    Ram,
}

impl DialectName {
    pub(in crate::cli) fn dialect(self) -> &'static Dialect {
        match self {
            Self::Iam => &IAM,
            Self::Ram => &RAM,
        }
    }
}

/// Language of policies, with its actions.
#[derive(Debug, Args)]
pub(in crate::cli) struct LanguageArgs {
    /// Language of the policies; by default the one that the version of each document implies, else IAM
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub(in crate::cli) dialect: Option<DialectName>,
    #[command(flatten)]
    pub(in crate::cli) catalogue: CatalogueArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DiffArgs {
    /// Policies of one role, or Terraform plans (`terraform show -json`), CloudFormation and ROS templates, whose roles are
    /// compared one by one; `-` for standard input
    #[arg(value_name = "POLICY", required = true)]
    pub(in crate::cli) policies: Vec<PathBuf>,
    /// Compare with this baseline: a name (`tagaudit baseline list`) or a policy document
    #[arg(long, value_name = "NAME|FILE")]
    pub(in crate::cli) baseline: String,
    /// Permissions boundary of the role
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) boundary: Option<PathBuf>,
    /// Service control policy that must allow too (RAM: a control policy); repeatable: each is a level, and one that
    /// only denies joins the level before it
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) scp: Vec<PathBuf>,
    /// Version of the cloud controller manager, for computed baselines
    #[arg(long, value_name = "VERSION")]
    pub(in crate::cli) controller_version: Option<ControllerVersion>,
    /// Cluster id, for baselines that hold `CLUSTER_NAME`
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) cluster_id: Option<String>,
    /// Account of the resources; any by default
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) account: Option<String>,
    /// Partition of the resources
    #[arg(long, value_name = "NAME", default_value = "aws")]
    pub(in crate::cli) partition: String,
    /// Region of the resources; repeatable; any by default
    #[arg(long, value_name = "REGION")]
    pub(in crate::cli) region: Vec<String>,
    /// Context key, with the value that every request carries; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(in crate::cli) context: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) language: LanguageArgs,
    #[command(flatten)]
    pub(in crate::cli) output: Outputs<FindingsFormat>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct EvalArgs {
    /// Questions, one JSON object per line; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "boundary", "scp", "session_policy", "resource_group_policy", "action", "resource", "context", "unknown_context"])]
    pub(in crate::cli) cases: Option<PathBuf>,
    /// An identity policy; repeatable
    #[arg(long, value_name = "FILE", required_unless_present = "cases")]
    pub(in crate::cli) policy: Vec<PathBuf>,
    /// Permissions boundary
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) boundary: Option<PathBuf>,
    /// Service control policy that must allow too (RAM: a control policy); repeatable: each is a level, and one that
    /// only denies joins the level before it
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) scp: Vec<PathBuf>,
    /// Session policy, which must allow too
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) session_policy: Option<PathBuf>,
    /// Identity policy that applies only in the resource group of the resource (RAM); repeatable
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) resource_group_policy: Vec<PathBuf>,
    /// Action of the request
    #[arg(long, value_name = "SERVICE:NAME", required_unless_present = "cases")]
    pub(in crate::cli) action: Option<String>,
    /// Resource of the request; `*` if the action takes none
    #[arg(long, value_name = "ARN", default_value = "*")]
    pub(in crate::cli) resource: String,
    /// Context key of the request; repeatable, and repeating a key makes it multivalued
    #[arg(long, value_name = "KEY=VALUE")]
    pub(in crate::cli) context: Vec<String>,
    /// Treat context keys that --context does not name as unknown instead of absent: answers `always`, `never` or `only
    /// if`
    #[arg(long)]
    pub(in crate::cli) unknown_context: bool,
    #[command(flatten)]
    pub(in crate::cli) language: LanguageArgs,
    /// Output format of a single answer; answers to --cases are always JSON lines
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(in crate::cli) format: AnswerFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum AnswerFormat {
    /// Human-readable text
    Text,
    /// One JSON document
    Json,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LintArgs {
    /// Policies, Terraform plans (`terraform show -json`), CloudFormation and ROS templates; `-` for standard input
    #[arg(value_name = "POLICY", required = true)]
    pub(in crate::cli) policies: Vec<PathBuf>,
    /// Kind of the policies, which decides their allowed content and length
    #[arg(long, value_enum)]
    pub(in crate::cli) kind: Option<KindName>,
    /// Exit with 1 if there is a remark of at least this level
    #[arg(long, value_enum, default_value_t = LintFailOn::Error, value_name = "LEVEL")]
    pub(in crate::cli) fail_on: LintFailOn,
    #[command(flatten)]
    pub(in crate::cli) language: LanguageArgs,
    #[command(flatten)]
    pub(in crate::cli) output: Outputs<FindingsFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LintFailOn {
    Error,
    Warning,
    Suggestion,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum KindName {
    /// A managed policy or permissions boundary
    Managed,
    /// An inline policy of a role
    Inline,
    /// A service control policy
    Scp,
    /// A resource control policy
    Rcp,
    /// A session policy
    Session,
    /// The trust policy of a role
    Trust,
}

impl From<KindName> for PolicyKind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Managed => Self::Managed,
            KindName::Inline => Self::Inline,
            KindName::Scp => Self::Control,
            KindName::Rcp => Self::ResourceControl,
            KindName::Session => Self::Session,
            KindName::Trust => Self::Trust,
        }
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ExpandArgs {
    /// Patterns such as `ec2:Describe*`
    #[arg(value_name = "PATTERN", required = true)]
    pub(in crate::cli) patterns: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(in crate::cli) format: AnswerFormat,
    #[command(flatten)]
    pub(in crate::cli) language: LanguageArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ShrinkArgs {
    /// Actions; `-` reads them from standard input, separated by whitespace or commas
    #[arg(value_name = "ACTION", required = true)]
    pub(in crate::cli) actions: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(in crate::cli) format: AnswerFormat,
    #[command(flatten)]
    pub(in crate::cli) language: LanguageArgs,
}
