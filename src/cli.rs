//! The command line: arguments in, exit codes out. What a command does stands in `run`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::controller::{Controller, ControllerVersion};
use crate::finding::Severity;
use crate::inventory::Provider;
use crate::provider::IamReads;
use crate::render::ReportFormat;
use crate::rules::alibaba::Installer;
use crate::view::NodeRoleSelector;

use outputs::Outputs;

mod cluster;
mod config;
mod example;
mod failure;
mod fix;
mod input;
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
mod terminal;
mod text_commands;

pub use config::config_schema;
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

/// Where the evidence comes from.
#[derive(Debug, Args)]
struct SourceArgs {
    /// Read a recorded inventory (`-` for standard input) or a folder of outputs of the AWS CLI or the `aliyun` command line instead of a live account
    #[arg(long, value_name = "PATH", help_heading = "Source", conflicts_with_all = ["profile", "endpoint_url", "assume_role"])]
    inventory: Option<PathBuf>,
    /// Cloud provider [default: aws, or what the inventory says]
    #[arg(long, value_enum, help_heading = "Source")]
    provider: Option<ProviderName>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Read every region that is enabled for the account
    #[arg(long, help_heading = "Scope", conflicts_with_all = ["region", "inventory"])]
    all_regions: bool,
    /// How to read roles: `auto` counts which way takes fewer calls
    #[arg(long, value_enum, default_value_t = IamReadsName::Auto, help_heading = "Source", conflicts_with = "inventory")]
    iam_reads: IamReadsName,
}

/// How to reach an account.
#[derive(Debug, Args)]
struct ConnectionArgs {
    /// Named profile of the configuration of the AWS CLI, or of `aliyun`; it goes before credentials of the environment
    #[arg(long, value_name = "NAME", help_heading = "Source")]
    profile: Option<String>,
    /// Send every request to this endpoint
    ///
    /// The credentials come from where they are configured, as with the AWS CLI: `AWS_ENDPOINT_URL` moves the requests for
    /// those too.
    #[arg(long, value_name = "URL", help_heading = "Source")]
    endpoint_url: Option<String>,
    /// Accept an endpoint that is neither HTTPS nor on this machine
    #[arg(long, help_heading = "Source", requires = "endpoint_url")]
    insecure_endpoint: bool,
    /// Region; repeatable. For a folder of CLI outputs: the region it was read from
    #[arg(long, value_name = "REGION", value_parser = region, help_heading = "Scope")]
    region: Vec<String>,
    /// Assume this role and work in its account; repeatable where nothing is written
    #[arg(long, value_name = "ARN", help_heading = "Scope", group = "accounts")]
    assume_role: Vec<String>,
    /// External id for the roles that are assumed
    #[arg(long, value_name = "ID", help_heading = "Scope", requires = "accounts")]
    external_id: Option<String>,
    /// Requests a second for each API of EC2, or of ECS and VPC; the default is a quarter of what an account has by default
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Source")]
    requests_per_second: u32,
    /// Give up on what is not read after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "Source")]
    timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProviderName {
    /// Amazon Web Services
    Aws,
    /// Alibaba Cloud
    Alibaba,
}

impl From<ProviderName> for Provider {
    fn from(name: ProviderName) -> Self {
        match name {
            ProviderName::Aws => Self::Aws,
            ProviderName::Alibaba => Self::Alibaba,
        }
    }
}

/// How the output looks.
#[derive(Debug, Args)]
struct OutputArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    terminal: TerminalArgs,
}

#[derive(Debug, Args)]
struct TerminalArgs {
    /// No progress and no warnings on standard error
    #[arg(short, long, help_heading = "Output", conflicts_with = "verbose")]
    quiet: bool,
    /// Show everything instead of folding long lists, and every request on standard error
    #[arg(short, long, help_heading = "Output")]
    verbose: bool,
    /// Colours; `NO_COLOR` is respected
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Output")]
    color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person at a terminal
    Table,
    /// One JSON document
    Json,
}

/// What counts for the exit code.
#[derive(Debug, Args)]
struct VerdictArgs {
    /// Exit with 1 if there is a finding at least this bad
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY", help_heading = "Output")]
    fail_on: FailOn,
    /// Say what is new since this report, what was resolved, and what is unknown because it was not audited this time
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    compare: Option<PathBuf>,
    /// Exit with 1 only for findings that are new since then, or worse
    #[arg(long, help_heading = "Output", requires = "compare")]
    fail_on_new: bool,
    /// Exit with 0 instead of 4 where no cluster is found
    #[arg(long, help_heading = "Output")]
    allow_empty: bool,
    /// Exit with 1 if fewer clusters than this are found
    #[arg(long, value_name = "N", help_heading = "Output")]
    expect_clusters: Option<usize>,
}

/// Which configuration is read.
#[derive(Debug, Args)]
struct ConfigurationArgs {
    /// Read options of a scan, severities and waivers from this file [default: tagaudit.toml, where there is one]
    #[arg(long, value_name = "FILE", env = "TAGAUDIT_CONFIG", hide_env_values = true, help_heading = "Audit")]
    config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, help_heading = "Audit")]
    no_config: bool,
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

/// What the cluster is compared with.
#[derive(Debug, Args)]
struct AuditArgs {
    /// Output of `kubectl get nodes -o json` (`-` for standard input)
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    nodes: Option<PathBuf>,
    /// What the cluster says of itself, and what it is made from, in YAML or JSON: outputs of `kubectl get … -A -o json`,
    /// manifests, configurations of RKE2, K3s, RKE, Rancher and kubeadm; a file, a folder of them, or `-` for standard input;
    /// repeatable
    #[arg(long, value_name = "PATH", help_heading = "Scope")]
    kubernetes: Vec<PathBuf>,
    /// Ask the cluster itself, through this context of the kubeconfig (KUBECONFIG, or ~/.kube/config), or through the service
    /// account of this pod: `in-cluster`. `tagaudit permissions --kubernetes` prints the rights that are needed
    #[arg(long, value_name = "NAME", help_heading = "Scope", conflicts_with = "nodes")]
    kube_context: Option<String>,
    /// Compare roles with this baseline: `controlplane=NAME|FILE` or `worker=NAME|FILE`; several add up as `worker=A+B`
    #[arg(long, value_name = "ROLE=NAME|FILE", help_heading = "Audit")]
    baseline: Vec<String>,
    /// A service control policy that holds for the account, where nobody can read Organizations; repeatable, each is a level that
    /// must allow, and one that only denies is beside the one before it
    #[arg(long, value_name = "FILE", help_heading = "Audit")]
    scp: Vec<PathBuf>,
    #[command(flatten)]
    catalogue: policy::args::CatalogueArgs,
    #[command(flatten)]
    target: lint::TargetArgs,
    /// Say which role nodes have: `SELECTOR=ROLE[,ROLE]`, where a selector is an instance id, `name:GLOB`, `profile:GLOB`, `asg:GLOB` or `tag:KEY[=VALUE]`
    #[arg(long, value_name = "SELECTOR=ROLE", help_heading = "Audit")]
    node_role: Vec<NodeRoleSelector>,
    /// Version of the cloud controller manager, such as 1.31 of AWS or 2.14 of Alibaba Cloud
    #[arg(long, value_name = "VERSION", help_heading = "Audit")]
    controller_version: Option<ControllerVersion>,
    /// The controller runs with --configure-cloud-routes
    #[arg(long, help_heading = "Audit")]
    cloud_routes: bool,
    /// A controller that is switched off (`--controllers`), so that its permissions are not required; repeatable
    #[arg(long, value_name = "CONTROLLER", help_heading = "Audit")]
    without: Vec<WithoutController>,
    /// The role that the cloud controller really uses, where it is not that of its nodes (IRSA, Pod Identity, static keys);
    /// found by its trust policy where that names the controller's service account; on Alibaba Cloud also a user,
    /// `acs:ram::ACCOUNT:user/NAME`; repeatable
    #[arg(long, value_name = "ARN", help_heading = "Audit")]
    controller_role: Vec<String>,
    /// The cloud controller has credentials that are not those of its nodes and that cannot be named: what it needs is not asked of
    /// the nodes' role
    #[arg(long, value_enum, value_name = "WHERE", help_heading = "Audit", conflicts_with = "controller_role")]
    controller_credentials: Option<ControllerCredentials>,
    /// On Alibaba Cloud: the installer that made the machines, whose tags are checked as well
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Audit")]
    installer: Option<InstallerName>,
}

/// `--installer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InstallerName {
    /// Gardener: `kubernetes.io/cluster/ID=1`
    Gardener,
    /// The installer of `OpenShift`: `kubernetes.io/cluster/ID=owned`
    Openshift,
    /// Cluster API: `kubernetes.io/cluster/ID=owned`
    Capi,
    /// kOps: `KubernetesCluster=ID`
    Kops,
}

impl From<InstallerName> for Installer {
    fn from(name: InstallerName) -> Self {
        match name {
            InstallerName::Gardener => Self::Gardener,
            InstallerName::Openshift => Self::OpenShift,
            InstallerName::Capi => Self::ClusterApi,
            InstallerName::Kops => Self::Kops,
        }
    }
}

/// `--controller-credentials`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ControllerCredentials {
    /// Keys, a token or a role of its own
    Elsewhere,
}

/// `--without`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WithoutController {
    /// The service controller: another one handles all Services
    Service,
    /// The route controller (`--configure-cloud-routes=false`)
    Route,
    /// The tagging controller (AWS)
    Tagging,
    /// The controller of network load balancers (Alibaba Cloud)
    Nlb,
}

impl From<WithoutController> for Controller {
    fn from(without: WithoutController) -> Self {
        match without {
            WithoutController::Service => Self::Service,
            WithoutController::Route => Self::Route,
            WithoutController::Tagging => Self::Tagging,
            WithoutController::Nlb => Self::Nlb,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Info,
    Never,
}

impl FailOn {
    fn threshold(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
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

/// A region. That of a zone is meant where a zone is given: `us-east-1a`, `cn-hangzhou-h`.
/// Sources: Amazon EC2 User Guide, "Regions and Zones"; Alibaba Cloud documentation of ECS, "Regions and zones".
fn region(text: &str) -> Result<String, String> {
    let of_aws = || crate::nodes::region_of_zone(text).filter(|region| region.len() < text.len());
    let before = || text.strip_suffix(|last: char| last.is_ascii_lowercase())?.strip_suffix('-');
    match of_aws().or_else(|| before().filter(|region| region.contains('-'))) {
        Some(region) => Err(format!("it is a zone: write its region, `{region}`")),
        None => Ok(text.to_owned()),
    }
}

/// A cluster id that can be one.
fn cluster_id(text: &str) -> Result<String, String> {
    crate::tags::check_cluster_id(text).map(|()| text.to_owned())
}

/// `NAMESPACE/NAME` of a `ServiceAccount`. Source: Kubernetes documentation, "Object Names and IDs", "DNS Subdomain Names".
fn service_account(text: &str) -> Result<(String, String), String> {
    let is_name = |name: &str| {
        let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        (1..=253).contains(&name.len())
            && name.chars().all(|c| is_alphanumeric(c) || c == '-' || c == '.')
            && name.starts_with(is_alphanumeric)
            && name.ends_with(is_alphanumeric)
    };
    match text.split_once('/') {
        Some((namespace, name)) if is_name(namespace) && is_name(name) && !namespace.contains('.') => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("not of the form NAMESPACE/NAME".to_owned()),
    }
}

/// The ARN of a role, of either cloud.
fn role_arn(text: &str) -> Result<String, String> {
    if text.contains(['*', '?']) {
        return Err("it has to name one role, and holds a wildcard".to_owned());
    }
    if matches!(crate::alibaba::principals::named(text), Some((_, crate::alibaba::PrincipalKind::Role, _))) {
        return Ok(text.to_owned());
    }
    let mut parts = text.splitn(6, ':');
    let is_role =
        parts.next() == Some("arn") && text.splitn(6, ':').nth(5).is_some_and(|name| name.starts_with("role/"));
    if is_role { Ok(text.to_owned()) } else { Err("not the ARN of a role".to_owned()) }
}

/// Values of `--iam-reads`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum IamReadsName {
    /// Whichever takes fewer calls
    Auto,
    /// Each role of an instance profile in use by itself
    PerRole,
    /// The whole account with `GetAccountAuthorizationDetails`
    Account,
}

impl From<IamReadsName> for IamReads {
    fn from(name: IamReadsName) -> Self {
        match name {
            IamReadsName::Auto => Self::Auto,
            IamReadsName::PerRole => Self::PerRole,
            IamReadsName::Account => Self::Account,
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

    #[test]
    fn every_exit_has_a_code_of_its_own_and_they_stand_in_order() {
        assert!(Exit::ALL.map(Exit::code).is_sorted_by(|one, other| one < other));
        assert_eq!(Exit::ALL.len(), Exit::Terminated as usize + 1, "an exit is missing in the list");
    }

    #[test]
    fn impossible_cluster_ids_are_refused() {
        assert!(cluster_id("prod/eu").is_ok());
        for text in ["", "a\nb", "kubernetes.io/cluster/a", &"a".repeat(106)] {
            assert!(cluster_id(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_zone_is_no_region() {
        for (zone, of) in [
            ("us-east-1a", "us-east-1"),
            ("us-west-2-lax-1a", "us-west-2"),
            ("us-gov-west-1b", "us-gov-west-1"),
            ("cn-hangzhou-h", "cn-hangzhou"),
            ("ap-southeast-1b", "ap-southeast-1"),
        ] {
            assert!(region(zone).is_err_and(|why| why.contains(&format!("`{of}`"))), "{zone}");
        }
        for right in
            ["us-east-1", "us-gov-west-1", "cn-hangzhou", "cn-beijing-finance-1", "cn-shanghai", "me-east-1", "a"]
        {
            assert_eq!(region(right).as_deref(), Ok(right));
        }
    }
}
