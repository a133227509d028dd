//! The command line: arguments in, exit codes out. What a command does stands in `run`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::controller::ControllerVersion;
use crate::render::ReportFormat;

use args::{
    AuditArgs, ColorChoice, ConfigurationArgs, ConnectionArgs, FailOn, Format, OutputArgs, ProviderName, SourceArgs,
    TargetArgs, TerminalArgs, VerdictArgs,
};
use outputs::Outputs;
use values::{cluster_id, role_arn, service_account};

mod args;
mod clock;
mod cluster;
mod config;
mod config_command;
mod example;
mod failure;
mod files;
mod fix;
mod input;
mod kubernetes_files;
mod lint;
mod many;
mod merge;
mod migrate;
mod output;
mod outputs;
mod policy;
mod run;
mod said;
mod session;
mod show;
mod terminal;
mod text_commands;
mod values;

pub use config_command::config_schema;
pub use failure::{Exit, Failure};
pub use run::main;
pub use text_commands::rules_markdown;

/// The exit codes, below the help.
fn exit_codes() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {:<4} {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", lines.join("\n"))
}

/// Audits what a self-managed Kubernetes cluster needs from AWS or Alibaba Cloud: cluster tags, security groups, subnets, and the IAM or
/// RAM policies of its nodes.
#[derive(Debug, Parser)]
#[command(name = "tagaudit", version, propagate_version = true, arg_required_else_help = true, after_help = exit_codes())]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Collect, check, report
    Scan(Box<ScanArgs>),
    /// Carry out a plan that `scan --fix --plan-out` saved
    Apply(Box<fix::args::ApplyArgs>),
    /// Take back a fix, finished or broken off
    Undo(Box<fix::args::UndoArgs>),
    /// List the cluster ids seen in the account and region, by kind of resource and value
    Clusters(ClustersArgs),
    /// Collect only, and write the inventory for auditing elsewhere
    Record(RecordArgs),
    /// Check manifests and the configurations of clusters: no account and no cluster needed
    Lint(lint::LintArgs),
    /// Say how far a cluster is on its way from Kubernetes' own AWS provider to the external one, and the next safe step
    Migrate(Box<migrate::MigrateArgs>),
    /// The policy engine on files: no account needed
    #[command(subcommand)]
    Policy(policy::args::PolicyCommand),
    /// Show a saved report again, in any format
    Report(ReportArgs),
    /// Join the reports of the shards of a run
    Merge(merge::MergeArgs),
    /// Check a configuration, or print its schema
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List the rules
    Rules(RulesArgs),
    /// Explain one rule (condition, what breaks, fix, sources), or what a node is started with
    Explain(ExplainArgs),
    /// Print a correct minimal set for a cloud controller: configuration, chart values or manifest, policies, tags
    Example(example::ExampleArgs),
    /// The embedded baseline policies
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Print the least-privilege IAM policy that a scan, or a fix, itself needs
    Permissions(PermissionsArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

#[derive(Debug, Args)]
struct ReportArgs {
    /// A report that `scan --format json` wrote; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Of a report of many clusters, this one
    #[arg(long, value_name = "ID", help_heading = "Scope")]
    cluster_id: Option<String>,
    /// The account of that cluster, where others have one with the same id
    #[arg(long, value_name = "ID", help_heading = "Scope", requires = "cluster_id")]
    account: Option<String>,
    /// Its region, where the account has another one with the same id
    #[arg(long, value_name = "REGION", help_heading = "Scope", requires = "cluster_id")]
    region: Option<String>,
    #[command(flatten)]
    verdict: VerdictArgs,
    #[command(flatten)]
    output: Outputs<ReportFormat>,
}

#[derive(Debug, Args)]
struct ScanArgs {
    /// The cluster id: what follows `kubernetes.io/cluster/` in the tags (`tagaudit clusters` lists them)
    #[arg(
        long,
        value_name = "ID",
        env = "TAGAUDIT_CLUSTER_ID",
        value_parser = cluster_id,
        required_unless_present_any = ["all_clusters", "targets", "organization"],
        conflicts_with_all = ["all_clusters", "organization"]
    )]
    cluster_id: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    many: many::ManyArgs,
    #[command(flatten)]
    configuration: ConfigurationArgs,
    /// Run only these rules; repeatable, `*` and `?` allowed
    #[arg(long, value_name = "ID", help_heading = "Audit")]
    rule: Vec<String>,
    /// Leave these rules out; repeatable, `*` and `?` allowed
    #[arg(long, value_name = "ID", help_heading = "Audit")]
    skip_rule: Vec<String>,
    #[command(flatten)]
    audit: AuditArgs,
    #[command(flatten)]
    verdict: VerdictArgs,
    #[command(flatten)]
    fix: fix::args::FixArgs,
    #[command(flatten)]
    output: Outputs<ReportFormat>,
}

#[derive(Debug, Args)]
struct ClustersArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
struct RecordArgs {
    /// File to write; only its owner may read it
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
    /// Ask the cluster itself as well, through this context of the kubeconfig, or `in-cluster`
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    kube_context: Option<String>,
    /// Record what kubectl printed as well: files in JSON or YAML, or `-`; repeatable. Of each object only what rules look at is kept
    #[arg(long, value_name = "FILE", help_heading = "Scope", conflicts_with = "kube_context")]
    kubernetes: Vec<PathBuf>,
    #[command(flatten)]
    terminal: TerminalArgs,
}

#[derive(Debug, Args)]
struct RulesArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = RulesFormat::Table)]
    format: RulesFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RulesFormat {
    Table,
    Json,
    Markdown,
}

#[derive(Debug, Args)]
struct ExplainArgs {
    /// Rule id
    #[arg(required_unless_present = "effective", conflicts_with = "effective")]
    rule: Option<String>,
    /// Show what a Node, or the nodes of a configuration whose name holds this, are really started with: drop-ins, selectors
    /// and lists merged, each with the place that decides it
    #[arg(long, value_name = "NODE", requires = "kubernetes")]
    effective: Option<String>,
    /// Nodes and configurations, as with `scan --kubernetes`; repeatable
    #[arg(long, value_name = "PATH", requires = "effective")]
    kubernetes: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ExplainFormat::Text)]
    format: ExplainFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExplainFormat {
    Text,
    Json,
    Markdown,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check a configuration without a scan
    Check {
        /// The file [default: tagaudit.toml]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print the JSON Schema of a configuration, for editors
    Schema,
}

#[derive(Debug, Subcommand)]
enum BaselineCommand {
    /// List the baselines
    List,
    /// Print a baseline as a policy document
    Show {
        /// Name
        name: String,
        /// Version of the cloud controller manager, for the computed ones
        #[arg(long, value_name = "VERSION")]
        controller_version: Option<ControllerVersion>,
    },
}

#[derive(Debug, Args)]
struct PermissionsArgs {
    /// Cloud that is asked: `aws` or `alibaba`
    #[arg(long, value_enum, default_value_t = ProviderName::Aws)]
    provider: ProviderName,
    /// Output format
    #[arg(long, value_enum, default_value_t = PermissionsFormat::Policy)]
    format: PermissionsFormat,
    /// Print what carrying out and undoing a fix needs, instead of what a scan needs
    #[arg(long)]
    fix: bool,
    /// Print the rights in the cluster that --kube-context needs, as roles and bindings for a `ServiceAccount`
    #[arg(long, conflicts_with_all = ["fix", "target_role", "provider", "account"])]
    kubernetes: bool,
    /// The `ServiceAccount` that gets them
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "tagaudit/tagaudit", requires = "kubernetes", value_parser = service_account)]
    service_account: (String, String),
    /// Let a scan of many accounts assume the role of this name in each
    #[arg(long, value_name = "NAME", value_parser = crate::target::role_name, conflicts_with = "fix")]
    target_role: Option<String>,
    /// Let it list the accounts of the organization
    #[arg(long, requires = "target_role")]
    organization: bool,
    /// Limit the fix to the tags of this cluster; repeatable, for answers that change a neighbour's tags too
    #[arg(long, value_name = "ID", requires = "fix", value_parser = cluster_id)]
    cluster_id: Vec<String>,
    /// Let the fix add to the policies of this role of the nodes; repeatable. Without one it writes nothing in IAM or RAM
    #[arg(long, value_name = "ARN", requires_all = ["fix", "own_role"], value_parser = role_arn)]
    role: Vec<String>,
    /// The role that tagaudit itself runs as; its own policies are never written
    #[arg(long, value_name = "ARN", requires = "fix", value_parser = role_arn)]
    own_role: Option<String>,
    /// Account of the resources; any by default
    #[arg(long, value_name = "ID", requires = "fix")]
    account: Option<String>,
    /// Partition of the resources
    #[arg(long, value_name = "NAME", default_value = "aws")]
    partition: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PermissionsFormat {
    /// The policy document
    Policy,
    /// What each action is for
    Table,
}

#[derive(Debug, Args)]
struct CompletionsArgs {
    /// Shell
    shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
