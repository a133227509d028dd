//! The commands and their arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cli::io::failure::Exit;
use crate::controller::ControllerVersion;
use crate::render::{FindingsFormat, ReportFormat};
use crate::target::ShardArgument;

use super::ask::{GuardArgs, SimulateArgs, WhyArgs};
use super::catalogue::{BaselineCommand, CompletionsArgs, ConfigCommand, ExplainArgs, PermissionsArgs, RulesArgs};
use super::fix::{ApplyArgs, FixArgs, UndoArgs};
use super::language::{LanguageName, Languages};
use super::outputs::Outputs;
use super::policy::PolicyCommand;
use super::values::cluster_id;
use super::{
    AuditArgs, ConfigurationArgs, FailOn, OutputArgs, ProviderName, SourceArgs, TargetArgs, TerminalArgs, VerdictArgs,
};

/// Table of exit codes, below the help.
fn exit_codes() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {:<4} {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", lines.join("\n"))
}

/// Audit the AWS or Alibaba Cloud resources that a self-managed Kubernetes cluster needs: cluster tags, security
/// groups, subnets, and the IAM or RAM policies of its nodes
#[derive(Debug, Parser)]
#[command(name = "tagaudit", version, propagate_version = true, arg_required_else_help = true, after_help = exit_codes())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Audit a cluster and report findings
    Scan(Box<ScanArgs>),
    /// Apply a plan saved by `scan --fix --plan-out`
    Apply(Box<ApplyArgs>),
    /// Undo a completed or interrupted fix
    Undo(Box<UndoArgs>),
    /// List the cluster ids found in the account and region, by kind of resource and value
    Clusters(ClustersArgs),
    /// Show the role of each controller in a cluster, the source of that information, the missing actions, and what else may use the role
    Roles(Box<RolesArgs>),
    /// Show what the controllers do with Services and Ingresses: subnets, security groups, rules, targets, or the error
    Simulate(Box<SimulateArgs>),
    /// Show what a Terraform plan, a CloudFormation change set or a Kubernetes release breaks: it is tried on a copy of the account, and all clusters are audited before and after
    Guard(Box<GuardArgs>),
    /// Show why a Service, Ingress, Node or Pod is not ready, or explain log lines, events or a pasted error
    Why(Box<WhyArgs>),
    /// Record an inventory, to audit it elsewhere
    Record(RecordArgs),
    /// Check manifests and cluster configurations, without an account or a cluster
    Lint(LintArgs),
    /// Show how far a cluster has migrated from the in-tree AWS provider to the external one, and the next safe step
    Migrate(Box<MigrateArgs>),
    /// Run the policy engine on files, without an account
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Show a saved report in any format
    Report(ReportArgs),
    /// Merge the reports of the shards of a run
    Merge(MergeArgs),
    /// Check a configuration, or print its schema
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List the rules
    Rules(RulesArgs),
    /// Explain a rule (condition, impact, fix, sources) or a line of a log, or show the arguments that a node is started with
    Explain(ExplainArgs),
    /// Print a correct minimal setup for a cloud controller: configuration, chart values or manifest, policies, tags
    Example(ExampleArgs),
    /// List or print the embedded baseline policies
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Print the least-privilege IAM policy for a scan or a fix
    Permissions(PermissionsArgs),
    /// Print a shell completion script
    ///
    /// A shell that asks the binary at each word completes values too: rules, baselines, contexts of the kubeconfig, profiles,
    /// and the cluster ids of the inventory in the line. Put `source <(TAGAUDIT_COMPLETE=bash tagaudit)` into ~/.bashrc,
    /// `source <(TAGAUDIT_COMPLETE=zsh tagaudit)` into ~/.zshrc, or `TAGAUDIT_COMPLETE=fish tagaudit | source` into
    /// config.fish.
    Completions(CompletionsArgs),
    /// Print the manual, or write a page for each command
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(short, long, value_name = "FOLDER")]
    pub(in crate::cli) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Report written by `scan --format json`; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Show only this cluster of a report of many clusters
    #[arg(long, value_name = "ID", help_heading = "Scope")]
    pub(crate) cluster_id: Option<String>,
    /// Language of tables and HTML; JSON stays English. By default that of the locale, on a terminal
    /// and in HTML
    #[arg(long, value_enum, env = "TAGAUDIT_LANG", value_name = "LANGUAGE", help_heading = "Output")]
    pub(crate) lang: Option<LanguageName>,
    /// Account of that cluster, if other accounts have one with the same id
    #[arg(long, value_name = "ID", help_heading = "Scope", requires = "cluster_id")]
    pub(crate) account: Option<String>,
    /// Region of that cluster, if the account has another one with the same id
    #[arg(long, value_name = "REGION", help_heading = "Scope", requires = "cluster_id")]
    pub(crate) region: Option<String>,
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
    #[command(flatten)]
    pub(crate) output: Outputs<ReportFormat>,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Cluster id: the part after `kubernetes.io/cluster/` in the tags (`tagaudit clusters` lists the ids)
    #[arg(
        long,
        value_name = "ID",
        env = "TAGAUDIT_CLUSTER_ID",
        value_parser = cluster_id,
        required_unless_present_any = ["all_clusters", "targets", "organization"],
        conflicts_with_all = ["all_clusters", "organization"]
    )]
    pub(crate) cluster_id: Option<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) many: ManyArgs,
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArgs,
    /// Run only these rules; repeatable, `*` and `?` allowed
    #[arg(long, value_name = "ID", help_heading = "Audit")]
    pub(crate) rule: Vec<String>,
    /// Skip these rules; repeatable, `*` and `?` allowed
    #[arg(long, value_name = "ID", help_heading = "Audit")]
    pub(crate) skip_rule: Vec<String>,
    /// Language of tables and HTML; JSON stays English. By default that of the locale, on a terminal
    /// and in HTML
    #[arg(long, value_enum, value_name = "LANGUAGE", help_heading = "Output")]
    pub(crate) lang: Option<LanguageName>,
    /// Prices of load balancers, addresses and volumes, with which findings state what leftovers cost a month (TOML)
    #[arg(long, value_name = "FILE", help_heading = "Audit")]
    pub(crate) prices: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
    #[command(flatten)]
    pub(crate) fix: FixArgs,
    #[command(flatten)]
    pub(crate) output: Outputs<ReportFormat>,
}

#[derive(Debug, Args)]
pub(crate) struct ClustersArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RolesArgs {
    /// Cluster id: the part after `kubernetes.io/cluster/` in the tags (`tagaudit clusters` lists the ids)
    #[arg(long, value_name = "ID", env = "TAGAUDIT_CLUSTER_ID", value_parser = cluster_id)]
    pub(crate) cluster_id: String,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// File to write; readable only by its owner
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Also read the cluster itself, through this context of the kubeconfig, or `in-cluster`
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    pub(crate) kube_context: Option<String>,
    /// Also record the output of kubectl: files in JSON or YAML, or `-`; repeatable. Only the fields that rules check
    /// are kept
    #[arg(long, value_name = "FILE", help_heading = "Scope", conflicts_with = "kube_context")]
    pub(crate) kubernetes: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Manifests, output of kubectl, configurations of RKE2, K3s, RKE, Rancher and kubeadm, chart values of the cloud
    /// controller, in YAML or JSON, and its cloud configuration: files, folders, or `-` for standard input
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Skip files of folders whose path within the folder matches, as in `.gitignore`, which is respected too;
    /// repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Audit")]
    pub(crate) exclude: Vec<String>,
    /// Report only findings in files that the Git working tree has changed since this commit or branch
    ///
    /// All files are read all the same: rules join them.
    #[arg(long, value_name = "REF", help_heading = "Audit")]
    pub(crate) changed_since: Option<String>,
    /// Run only the rules for this cloud
    #[arg(long, value_enum, help_heading = "Audit")]
    pub(crate) provider: Option<ProviderName>,
    /// Kubernetes version of files that do not state their own, such as 1.33
    #[arg(long, value_name = "VERSION", help_heading = "Audit")]
    pub(crate) kubernetes_version: Option<ControllerVersion>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArgs,
    /// Run only these rules; repeatable, `*` and `?` allowed
    #[arg(long, value_name = "ID", help_heading = "Audit")]
    pub(crate) rule: Vec<String>,
    /// Skip these rules; repeatable, `*` and `?` allowed
    #[arg(long, value_name = "ID", help_heading = "Audit")]
    pub(crate) skip_rule: Vec<String>,
    /// Exit with 1 if there is a finding of at least this severity
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY", help_heading = "Output")]
    pub(crate) fail_on: FailOn,
    /// Exit with 0 instead of 4 if no file holds anything to check, and skip named files of other tools, as in folders: for
    /// hooks that name every changed file
    #[arg(long, help_heading = "Output")]
    pub(crate) allow_empty: bool,
    #[command(flatten)]
    pub(crate) output: Outputs<FindingsFormat>,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Provider to migrate from: the in-tree AWS provider, which ended with 1.26
    #[arg(long, value_enum, value_name = "PROVIDER")]
    pub(crate) from: FromProvider,
    /// Provider to migrate to: the external AWS cloud controller
    #[arg(long, value_enum, value_name = "PROVIDER")]
    pub(crate) to: ToProvider,
    /// Cluster id; also reads tags, policies and instances from AWS
    #[arg(long, value_name = "ID", value_parser = cluster_id)]
    pub(crate) cluster_id: Option<String>,
    /// Kubernetes version of files that do not state their own, such as 1.26
    #[arg(long, value_name = "VERSION", help_heading = "Audit")]
    pub(crate) kubernetes_version: Option<ControllerVersion>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FromProvider {
    /// The in-tree provider
    InTree,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToProvider {
    /// The external cloud controller
    External,
}

#[derive(Debug, Args)]
pub(crate) struct ExampleArgs {
    /// Distribution of the cluster
    #[arg(value_enum, value_name = "DISTRIBUTION")]
    pub(crate) distribution: DistributionName,
    /// Cloud provider
    #[arg(long, value_enum, value_name = "CLOUD", default_value_t = ProviderName::Aws)]
    pub(crate) cloud: ProviderName,
    /// Image of the cloud controller, version 2.4 or later, as named in its registry (Alibaba Cloud only)
    #[arg(long, value_name = "IMAGE", required_if_eq("cloud", "alibaba"))]
    pub(crate) controller_image: Option<String>,
    /// Kubernetes version, such as 1.33
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubernetes_version: ControllerVersion,
    /// Cluster id for the tags
    #[arg(long, value_name = "ID", value_parser = cluster_id, default_value = "prod")]
    pub(crate) cluster_id: String,
    /// Write the files into this folder instead of printing them; existing files are not overwritten
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DistributionName {
    /// RKE2, by itself or with Rancher
    Rke2,
    /// K3s
    K3s,
    /// RKE, which reached its end of life in 2025
    Rke,
    /// kubeadm
    Kubeadm,
}

/// Options for more than one cluster, region and account in one run.
#[derive(Debug, Args)]
pub(crate) struct ManyArgs {
    /// Audit every cluster that is found
    #[arg(long, help_heading = "Scope", conflicts_with_all = ["nodes", "fix"])]
    pub(crate) all_clusters: bool,
    /// Audit the accounts in this file: JSON, one target per line or in an array (`account`, `role`, `regions`,
    /// `cluster-ids`, `kube-context`, `kubernetes`), or `[[target]]` of a `.toml`
    #[arg(long, value_name = "FILE", help_heading = "Scope", group = "accounts", conflicts_with_all = ["inventory", "nodes", "fix", "organization", "assume_role"])]
    pub(crate) targets: Option<PathBuf>,
    /// Audit every active account of the organization, or of the Resource Directory of Alibaba Cloud
    #[arg(long, help_heading = "Scope", group = "accounts", requires = "target_role", conflicts_with_all = ["inventory", "nodes", "fix"])]
    pub(crate) organization: bool,
    /// Name of the role to assume in each account that names none, except in the account of the credentials
    #[arg(long, value_name = "NAME", help_heading = "Scope", value_parser = crate::target::role_name, requires = "accounts", conflicts_with = "assume_role")]
    pub(crate) target_role: Option<String>,
    /// Audit only this part of the accounts, such as 0/8; with `/8`, `JOB_COMPLETION_INDEX` or
    /// `AWS_BATCH_JOB_ARRAY_INDEX` names the part. `{shard}` in the name of an output becomes its index
    #[arg(
        long,
        value_name = "INDEX/COUNT",
        help_heading = "Scope",
        requires = "accounts",
        conflicts_with = "assume_role"
    )]
    pub(crate) shard: Option<ShardArgument>,
    /// Number of accounts to read at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Source")]
    pub(crate) targets_at_once: u16,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Reports written by `scan --format json`, and folders with such files (`*.json`)
    #[arg(value_name = "REPORT", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Count a report as missing if it is older than the newest by more than this: it belongs to another run
    #[arg(long, value_name = "DURATION", default_value = "24h", help_heading = "Scope")]
    pub(crate) max_age: jiff::SignedDuration,
    /// Count reports that are older than this as missing, by the clock: for jobs, of which one may not have run at all
    #[arg(long, value_name = "DURATION", help_heading = "Scope")]
    pub(crate) newer_than: Option<jiff::SignedDuration>,
    /// Targets that must be present; a missing one was not audited
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub(crate) targets: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
    #[command(flatten)]
    pub(crate) output: Outputs<ReportFormat>,
}

impl Command {
    /// Passes the threshold of --fail-on on to the formats that mark failures, and the language on to those for people.
    pub(in crate::cli) fn set_threshold(&mut self) {
        match self {
            Self::Scan(args) => {
                args.output.terminal.threshold = args.verdict.fail_on.threshold();
                args.output.terminal.languages = Languages::new(args.lang);
            }
            Self::Report(args) => {
                args.output.terminal.threshold = args.verdict.fail_on.threshold();
                args.output.terminal.languages = Languages::new(args.lang);
            }
            Self::Merge(args) => args.output.terminal.threshold = args.verdict.fail_on.threshold(),
            Self::Lint(args) => args.output.terminal.threshold = args.fail_on.threshold(),
            _ => {}
        }
    }
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
