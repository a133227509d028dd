//! Options that several commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::controller::{Controller, ControllerVersion};
use crate::finding::Severity;
use crate::inventory::Provider;
use crate::kubernetes::Target;
use crate::provider::IamReads;
use crate::rules::alibaba::Installer;
use crate::view::NodeRoleSelector;

use super::values::region;

/// Where the evidence comes from.
#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    /// Read a recorded inventory (`-` for standard input) or a folder of outputs of the AWS CLI or the `aliyun` command line instead of a live account
    #[arg(long, value_name = "PATH", help_heading = "Source", conflicts_with_all = ["profile", "endpoint_url", "assume_role"])]
    pub(super) inventory: Option<PathBuf>,
    /// Cloud provider [default: aws, or the cloud of the inventory]
    #[arg(long, value_enum, help_heading = "Source")]
    pub(super) provider: Option<ProviderName>,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    /// Read every region that is enabled for the account
    #[arg(long, help_heading = "Scope", conflicts_with_all = ["region", "inventory"])]
    pub(super) all_regions: bool,
    /// How to read roles: `auto` counts which way takes fewer calls
    #[arg(long, value_enum, default_value_t = IamReadsName::Auto, help_heading = "Source", conflicts_with = "inventory")]
    pub(super) iam_reads: IamReadsName,
}

/// How to reach an account.
#[derive(Debug, Args)]
pub(super) struct ConnectionArgs {
    /// Named profile of the configuration of the AWS CLI, or of `aliyun`; it goes before credentials of the environment
    #[arg(long, value_name = "NAME", help_heading = "Source")]
    pub(super) profile: Option<String>,
    /// Send every request to this endpoint
    ///
    /// The credentials come from where they are configured, as with the AWS CLI: `AWS_ENDPOINT_URL` moves the requests for
    /// those too.
    #[arg(long, value_name = "URL", help_heading = "Source")]
    pub(super) endpoint_url: Option<String>,
    /// Accept an endpoint that is neither HTTPS nor on this machine
    #[arg(long, help_heading = "Source", requires = "endpoint_url")]
    pub(super) insecure_endpoint: bool,
    /// Region; repeatable. For a folder of CLI outputs: the region it was read from
    #[arg(long, value_name = "REGION", value_parser = region, help_heading = "Scope")]
    pub(super) region: Vec<String>,
    /// Assume this role and work in its account; repeatable where nothing is written
    #[arg(long, value_name = "ARN", help_heading = "Scope", group = "accounts")]
    pub(super) assume_role: Vec<String>,
    /// External id for the roles that are assumed
    #[arg(long, value_name = "ID", help_heading = "Scope", requires = "accounts")]
    pub(super) external_id: Option<String>,
    /// Requests a second for each API of EC2, or of ECS and VPC; the default is a quarter of what an account has by default
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Source")]
    pub(super) requests_per_second: u32,
    /// Give up on what is not read after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "Source")]
    pub(super) timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProviderName {
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
pub(super) struct OutputArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(super) format: Format,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) terminal: TerminalArgs,
}

#[derive(Debug, Args)]
pub(super) struct TerminalArgs {
    /// No progress and no warnings on standard error
    #[arg(short, long, help_heading = "Output", conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Show everything instead of folding long lists, and every request on standard error
    #[arg(short, long, help_heading = "Output")]
    pub(super) verbose: bool,
    /// Colours; `NO_COLOR` is respected
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(super) color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Tables, for a terminal
    Table,
    /// One JSON document
    Json,
}

/// What counts for the exit code.
#[derive(Debug, Args)]
pub(super) struct VerdictArgs {
    /// Exit with 1 if there is a finding at least this bad
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY", help_heading = "Output")]
    pub(super) fail_on: FailOn,
    /// Report what is new since this report, what was resolved, and what is unknown because it was not audited this time
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) compare: Option<PathBuf>,
    /// Exit with 1 only for findings that are new since then, or worse
    #[arg(long, help_heading = "Output", requires = "compare")]
    pub(super) fail_on_new: bool,
    /// Exit with 0 instead of 4 where no cluster is found
    #[arg(long, help_heading = "Output")]
    pub(super) allow_empty: bool,
    /// Exit with 1 if fewer clusters than this are found
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(super) expect_clusters: Option<usize>,
}

/// Which configuration is read.
#[derive(Debug, Args)]
pub(super) struct ConfigurationArgs {
    /// Read options of a scan, severities and waivers from this file [default: tagaudit.toml, where there is one]
    #[arg(long, value_name = "FILE", env = "TAGAUDIT_CONFIG", hide_env_values = true, help_heading = "Audit")]
    pub(super) config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, help_heading = "Audit")]
    pub(super) no_config: bool,
}

/// What the cluster is compared with.
#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// Output of `kubectl get nodes -o json` (`-` for standard input)
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub(super) nodes: Option<PathBuf>,
    /// The state of the cluster and the files that it is created from, in YAML or JSON: outputs of `kubectl get … -A -o json`,
    /// manifests, configurations of RKE2, K3s, RKE, Rancher and kubeadm; a file, a folder of them, or `-` for standard input;
    /// repeatable
    #[arg(long, value_name = "PATH", help_heading = "Scope")]
    pub(super) kubernetes: Vec<PathBuf>,
    /// Ask the cluster itself, through this context of the kubeconfig (KUBECONFIG, or ~/.kube/config), or through the service
    /// account of this pod: `in-cluster`. `tagaudit permissions --kubernetes` prints the rights that are needed
    #[arg(long, value_name = "NAME", help_heading = "Scope", conflicts_with = "nodes")]
    pub(super) kube_context: Option<String>,
    /// Compare roles with this baseline: `controlplane=NAME|FILE` or `worker=NAME|FILE`; several add up as `worker=A+B`
    #[arg(long, value_name = "ROLE=NAME|FILE", help_heading = "Audit")]
    pub(super) baseline: Vec<String>,
    /// A service control policy that holds for the account, where nobody can read Organizations; repeatable, each is a level that
    /// must allow, and one that only denies joins the one before it
    #[arg(long, value_name = "FILE", help_heading = "Audit")]
    pub(super) scp: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// Assign roles to nodes: `SELECTOR=ROLE[,ROLE]`, where a selector is an instance id, `name:GLOB`, `profile:GLOB`, `asg:GLOB` or `tag:KEY[=VALUE]`
    #[arg(long, value_name = "SELECTOR=ROLE", help_heading = "Audit")]
    pub(super) node_role: Vec<NodeRoleSelector>,
    /// Version of the cloud controller manager, such as 1.31 of AWS or 2.14 of Alibaba Cloud
    #[arg(long, value_name = "VERSION", help_heading = "Audit")]
    pub(super) controller_version: Option<ControllerVersion>,
    /// The controller runs with --configure-cloud-routes
    #[arg(long, help_heading = "Audit")]
    pub(super) cloud_routes: bool,
    /// A controller that is switched off (`--controllers`), so that its permissions are not required; repeatable
    #[arg(long, value_name = "CONTROLLER", help_heading = "Audit")]
    pub(super) without: Vec<WithoutController>,
    /// The role that the cloud controller really uses, where it is not that of its nodes (IRSA, Pod Identity, static keys);
    /// found by its trust policy where that names the controller's service account; on Alibaba Cloud also a user,
    /// `acs:ram::ACCOUNT:user/NAME`; repeatable
    #[arg(long, value_name = "ARN", help_heading = "Audit")]
    pub(super) controller_role: Vec<String>,
    /// The cloud controller has credentials that are not those of its nodes and that cannot be named: what it needs is not asked of
    /// the nodes' role
    #[arg(long, value_enum, value_name = "WHERE", help_heading = "Audit", conflicts_with = "controller_role")]
    pub(super) controller_credentials: Option<ControllerCredentials>,
    /// On Alibaba Cloud: the installer that made the machines, whose tags are checked as well
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Audit")]
    pub(super) installer: Option<InstallerName>,
}

/// `--installer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum InstallerName {
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
pub(super) enum ControllerCredentials {
    /// Separate keys, a token or a role
    Elsewhere,
}

/// `--without`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum WithoutController {
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
pub(super) enum FailOn {
    Error,
    Warning,
    Info,
    Never,
}

impl FailOn {
    pub(super) fn threshold(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}

/// Values of `--iam-reads`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum IamReadsName {
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

/// The versions that an upgrade leads to.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// The version of Kubernetes that an upgrade leads to: what ends on the way there is an error
    #[arg(long, value_name = "VERSION", help_heading = "Audit")]
    pub(super) target_kubernetes: Option<ControllerVersion>,
    /// The version of the cloud controller that an upgrade leads to
    #[arg(long, value_name = "VERSION", help_heading = "Audit")]
    pub(super) target_controller: Option<ControllerVersion>,
}

impl From<&TargetArgs> for Target {
    fn from(args: &TargetArgs) -> Self {
        Self { kubernetes: args.target_kubernetes, controller: args.target_controller }
    }
}

/// Another catalogue of actions.
#[derive(Debug, Args)]
pub(super) struct CatalogueArgs {
    /// Use this catalogue of actions instead of the embedded one (docs/policy-engine.md describes the format)
    #[arg(long, value_name = "FILE", help_heading = "Audit")]
    pub(super) catalogue: Option<PathBuf>,
}
