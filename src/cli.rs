//! The command line: arguments in, exit codes out. Module `run` carries out the commands.

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

/// Table of exit codes, below the help.
fn exit_codes() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {:<4} {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", lines.join("\n"))
}

/// Audit the AWS or Alibaba Cloud resources that a self-managed Kubernetes cluster needs: cluster tags, security
/// groups, subnets, and the IAM or RAM policies of its nodes
#[derive(Debug, Parser)]
#[command(name = "tagaudit", version, propagate_version = true, arg_required_else_help = true, after_help = exit_codes())]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Audit a cluster and report findings
    Scan(Box<ScanArgs>),
    /// Apply a plan saved by `scan --fix --plan-out`
    Apply(Box<fix::args::ApplyArgs>),
    /// Undo a completed or interrupted fix
    Undo(Box<fix::args::UndoArgs>),
    /// List the cluster ids found in the account and region, by kind of resource and value
    Clusters(ClustersArgs),
    /// Record an inventory, to audit it elsewhere
    Record(RecordArgs),
    /// Check manifests and cluster configurations, without an account or a cluster
    Lint(lint::LintArgs),
    /// Show how far a cluster has migrated from the in-tree AWS provider to the external one, and the next safe step
    Migrate(Box<migrate::MigrateArgs>),
    /// Run the policy engine on files, without an account
    #[command(subcommand)]
    Policy(policy::args::PolicyCommand),
    /// Show a saved report in any format
    Report(ReportArgs),
    /// Merge the reports of the shards of a run
    Merge(merge::MergeArgs),
    /// Check a configuration, or print its schema
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List the rules
    Rules(RulesArgs),
    /// Explain a rule (condition, impact, fix, sources), or show the arguments that a node is started with
    Explain(ExplainArgs),
    /// Print a correct minimal setup for a cloud controller: configuration, chart values or manifest, policies, tags
    Example(example::ExampleArgs),
    /// List or print the embedded baseline policies
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Print the least-privilege IAM policy for a scan or a fix
    Permissions(PermissionsArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

#[derive(Debug, Args)]
struct ReportArgs {
    /// Report written by `scan --format json`; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show only this cluster of a report of many clusters
    #[arg(long, value_name = "ID", help_heading = "Scope")]
    cluster_id: Option<String>,
    /// Account of that cluster, if other accounts have one with the same id
    #[arg(long, value_name = "ID", help_heading = "Scope", requires = "cluster_id")]
    account: Option<String>,
    /// Region of that cluster, if the account has another one with the same id
    #[arg(long, value_name = "REGION", help_heading = "Scope", requires = "cluster_id")]
    region: Option<String>,
    #[command(flatten)]
    verdict: VerdictArgs,
    #[command(flatten)]
    output: Outputs<ReportFormat>,
}

#[derive(Debug, Args)]
struct ScanArgs {
    /// Cluster id: the part after `kubernetes.io/cluster/` in the tags (`tagaudit clusters` lists the ids)
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
    /// Skip these rules; repeatable, `*` and `?` allowed
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
    /// File to write; readable only by its owner
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
    /// Also read the cluster itself, through this context of the kubeconfig, or `in-cluster`
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    kube_context: Option<String>,
    /// Also record the output of kubectl: files in JSON or YAML, or `-`; repeatable. Only the fields that rules check
    /// are kept
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
    /// Show the effective arguments of a Node, or of the nodes of a configuration whose name contains this: drop-ins,
    /// selectors and lists merged, each with the place that sets it
    #[arg(long, value_name = "NODE", requires = "kubernetes")]
    effective: Option<String>,
    /// Nodes and configurations, as for `scan --kubernetes`; repeatable
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
        /// Configuration file [default: tagaudit.toml]
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
        /// Name of the baseline
        name: String,
        /// Version of the cloud controller manager, for computed baselines
        #[arg(long, value_name = "VERSION")]
        controller_version: Option<ControllerVersion>,
    },
}

#[derive(Debug, Args)]
struct PermissionsArgs {
    /// Cloud provider: `aws` or `alibaba`
    #[arg(long, value_enum, default_value_t = ProviderName::Aws)]
    provider: ProviderName,
    /// Output format
    #[arg(long, value_enum, default_value_t = PermissionsFormat::Policy)]
    format: PermissionsFormat,
    /// Print the permissions to apply and undo a fix instead of those of a scan
    #[arg(long)]
    fix: bool,
    /// Print the cluster permissions that --kube-context needs, as roles and bindings for a `ServiceAccount`
    #[arg(long, conflicts_with_all = ["fix", "target_role", "provider", "account"])]
    kubernetes: bool,
    /// `ServiceAccount` that gets the permissions
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "tagaudit/tagaudit", requires = "kubernetes", value_parser = service_account)]
    service_account: (String, String),
    /// Allow a scan of many accounts to assume the role of this name in each
    #[arg(long, value_name = "NAME", value_parser = crate::target::role_name, conflicts_with = "fix")]
    target_role: Option<String>,
    /// Allow the scan to list the accounts of the organization
    #[arg(long, requires = "target_role")]
    organization: bool,
    /// Limit the fix to the tags of this cluster; repeatable, for answers that also change a neighbour's tags
    #[arg(long, value_name = "ID", requires = "fix", value_parser = cluster_id)]
    cluster_id: Vec<String>,
    /// Allow the fix to add to the policies of this role of the nodes; repeatable. Without it, the fix writes nothing
    /// in IAM or RAM
    #[arg(long, value_name = "ARN", requires_all = ["fix", "own_role"], value_parser = role_arn)]
    role: Vec<String>,
    /// Role that tagaudit itself runs as; its policies are never written
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
    /// Purpose of each action
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
