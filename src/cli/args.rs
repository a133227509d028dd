//! Options shared by several commands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::controller::companion::{CompanionVersions, NamedVersion};
use crate::controller::{Controller, ControllerVersion};
use crate::finding::Severity;
use crate::inventory::Provider;
use crate::kubernetes::Target;
use crate::membership::NodeRoleSelector;
#[cfg(feature = "aws")]
use crate::provider::IamReads;
use crate::rules::alibaba::Installer;

pub(super) mod ask;
pub(super) mod catalogue;
mod chinese;
pub(super) mod command;
pub(super) mod config;
pub(super) mod examples;
pub(super) mod fix;
mod help;
pub(super) mod language;
pub(super) mod outputs;
mod plugin;
pub(super) mod policy;
pub(super) mod said;
pub(super) mod values;

use values::{days, region};

/// Source of the evidence.
#[derive(Debug, Args)]
pub(in crate::cli) struct SourceArgs {
    /// Read a recording, or a folder of AWS CLI or `aliyun` output, instead of a live account
    ///
    /// `-` reads the recording from standard input.
    #[arg(long, value_name = "PATH", help_heading = "Source", conflicts_with_all = ["profile", "endpoint_url", "assume_role"])]
    pub(in crate::cli) inventory: Option<PathBuf>,
    /// Cloud provider [default: aws, or the cloud of the inventory]
    #[arg(long, value_enum, help_heading = "Source")]
    pub(in crate::cli) provider: Option<ProviderName>,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
    /// Read all regions that are enabled for the account
    #[arg(long, help_heading = "Scope", conflicts_with_all = ["region", "inventory"])]
    pub(in crate::cli) all_regions: bool,
    /// Also read the audit trail for the principal and the version of the cloud controller (Alibaba Cloud only): up to
    /// twelve requests for each region, two per second
    #[arg(long, help_heading = "Source", conflicts_with = "inventory")]
    pub(in crate::cli) audit_trail: bool,
    /// Method of reading roles: `auto` picks the one with fewer calls
    #[arg(long, value_enum, default_value_t = IamReadsName::Auto, help_heading = "Source", conflicts_with = "inventory")]
    pub(in crate::cli) iam_reads: IamReadsName,
}

/// Connection to an account.
#[derive(Debug, Args)]
pub(in crate::cli) struct ConnectionArgs {
    /// Named profile of the AWS CLI or of `aliyun`; takes precedence over credentials in the environment
    #[arg(long, value_name = "NAME", help_heading = "Source")]
    pub(in crate::cli) profile: Option<String>,
    /// Send every request to this endpoint
    ///
    /// Credentials still come from their configured source, as with the AWS CLI: `AWS_ENDPOINT_URL` redirects the
    /// requests for them too.
    #[arg(long, value_name = "URL", help_heading = "Source")]
    pub(in crate::cli) endpoint_url: Option<String>,
    /// Accept an endpoint that is neither HTTPS nor on this machine
    #[arg(long, help_heading = "Source", requires = "endpoint_url")]
    pub(in crate::cli) insecure_endpoint: bool,
    /// Region; repeatable. For a folder of CLI output: the region that it was read from
    #[arg(long, value_name = "REGION", value_parser = region, help_heading = "Scope")]
    pub(in crate::cli) region: Vec<String>,
    /// Assume this role and work in its account; repeatable for commands that write nothing
    #[arg(long, value_name = "ARN", help_heading = "Scope", group = "accounts")]
    pub(in crate::cli) assume_role: Vec<String>,
    /// External id for the roles to assume
    #[arg(long, value_name = "ID", help_heading = "Scope", requires = "accounts")]
    pub(in crate::cli) external_id: Option<String>,
    /// Requests per second for each API of EC2, or of ECS and VPC; the default is a quarter of the default rate of an
    /// account
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Source")]
    pub(in crate::cli) requests_per_second: u32,
    /// Give up on anything not read after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "Source")]
    pub(in crate::cli) timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ProviderName {
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

/// Format and destination of the output.
#[derive(Debug, Args)]
pub(in crate::cli) struct OutputArgs {
    /// Output format [default: that of the file name, else a table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub(in crate::cli) format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(in crate::cli) output: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) terminal: TerminalArgs,
}

#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct TerminalArgs {
    /// Print no progress and no warnings on standard error
    #[arg(short, long, help_heading = "Output", conflicts_with = "verbose")]
    pub(in crate::cli) quiet: bool,
    /// Show long lists in full, and every request on standard error
    #[arg(short, long, help_heading = "Output")]
    pub(in crate::cli) verbose: bool,
    /// Use of colours; `NO_COLOR` and `FORCE_COLOR` are respected
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(in crate::cli) color: ColorChoice,
    /// Severity from which a finding fails a test: that of --fail-on.
    #[arg(skip)]
    pub(in crate::cli) threshold: Option<Severity>,
    /// Language of tables and HTML: that of --lang.
    #[arg(skip)]
    pub(in crate::cli) languages: language::Languages,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// Tables, for a terminal
    Table,
    /// One JSON document
    Json,
}

/// Conditions for the exit code.
#[derive(Debug, Args)]
pub(in crate::cli) struct VerdictArgs {
    /// Exit with 1 if there is a finding at least this bad
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY", help_heading = "Output")]
    pub(in crate::cli) fail_on: FailOn,
    /// Compare with this report: report findings that are new, resolved, or unknown because they were not audited this
    /// time
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(in crate::cli) compare: Option<PathBuf>,
    /// Exit with 1 only for findings that are new or more severe than in that report
    #[arg(long, help_heading = "Output", requires = "compare")]
    pub(in crate::cli) fail_on_new: bool,
    /// Exit with 0 instead of 4 if no cluster is found
    #[arg(long, help_heading = "Output")]
    pub(in crate::cli) allow_empty: bool,
    /// Exit with 1 if fewer clusters than this are found
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(in crate::cli) expect_clusters: Option<usize>,
    /// Write a new configuration in which every open finding at or above --fail-on is waived: the next scan
    /// with --config FILE fails only for what is new
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(in crate::cli) write_waivers: Option<PathBuf>,
    /// Number of days after which the waivers expire
    #[arg(long, value_name = "DAYS", default_value = "90", value_parser = days, help_heading = "Output", requires = "write_waivers")]
    pub(in crate::cli) expires: u16,
}

/// Configuration to read.
#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigurationArgs {
    /// Read scan options, severities and waivers from this file [default: tagaudit.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "TAGAUDIT_CONFIG", hide_env_values = true, help_heading = "Audit")]
    pub(in crate::cli) config: Option<PathBuf>,
    /// Do not read a configuration
    #[arg(long, help_heading = "Audit")]
    pub(in crate::cli) no_config: bool,
}

/// Evidence about a cluster.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct EvidenceArgs {
    /// Output of `kubectl get nodes -o json` (`-` for standard input)
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub(in crate::cli) nodes: Option<PathBuf>,
    /// Cluster state and configurations, in YAML or JSON: a file, a folder, or `-` for standard input; repeatable
    ///
    /// They are output of `kubectl get … -A -o json`, manifests, and configurations of RKE2, K3s, RKE, Rancher and kubeadm. In a
    /// scan of many clusters, each file, and each file or folder in a named folder, is about one cluster.
    #[arg(long, value_name = "PATH", help_heading = "Scope")]
    pub(in crate::cli) kubernetes: Vec<PathBuf>,
    /// Read the cluster itself, through this context of the kubeconfig, or `in-cluster` in a pod
    ///
    /// The kubeconfig is KUBECONFIG, or ~/.kube/config. In a scan of many clusters the option is repeatable and accepts patterns such as
    /// `prod-*`. `tagaudit permissions --kubernetes` prints the permissions that are needed.
    #[arg(long, value_name = "NAME", help_heading = "Scope", conflicts_with = "nodes")]
    pub(in crate::cli) kube_context: Vec<String>,
    /// Assign roles to nodes: `SELECTOR=ROLE[,ROLE]`, where a selector is an instance id, `name:GLOB`, `profile:GLOB`, `asg:GLOB` or `tag:KEY[=VALUE]`
    #[arg(long, value_name = "SELECTOR=ROLE", help_heading = "Audit")]
    pub(in crate::cli) node_role: Vec<NodeRoleSelector>,
    /// Controller version, in place of that of the image: `VERSION` for the cloud controller manager, such as 1.31 (AWS)
    /// or 2.14 (Alibaba Cloud), or `NAME=VERSION` for another controller, such as `lbc=2.13`. Names: lbc, ebs-csi, efs-csi,
    /// autoscaler, karpenter, external-dns, vpc-cni, nth; repeatable
    #[arg(long, value_name = "[NAME=]VERSION", help_heading = "Audit")]
    pub(in crate::cli) controller_version: Vec<NamedVersion>,
}

/// Evidence and options that a cluster is audited with.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct AuditArgs {
    #[command(flatten)]
    pub(in crate::cli) evidence: EvidenceArgs,
    /// Compare roles with this baseline: `controlplane=NAME|FILE` or `worker=NAME|FILE`; combine several as
    /// `worker=A+B`
    #[arg(long, value_name = "ROLE=NAME|FILE", help_heading = "Audit")]
    pub(in crate::cli) baseline: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(in crate::cli) target: TargetArgs,
    /// The controller runs with --configure-cloud-routes
    #[arg(long, help_heading = "Audit")]
    pub(in crate::cli) cloud_routes: bool,
    /// Controller that is switched off (`--controllers`), so that its permissions are not required, or `balancers`:
    /// the load balancers of the account are not read; repeatable
    #[arg(long, value_name = "WHAT", help_heading = "Audit")]
    pub(in crate::cli) without: Vec<Without>,
    #[command(flatten)]
    pub(in crate::cli) rights: ControllerRightsArgs,
    /// Installer that created the machines, whose tags are checked too (Alibaba Cloud only)
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Audit")]
    pub(in crate::cli) installer: Option<InstallerName>,
}

/// Whose permissions the cloud controller has, and what limits them.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct ControllerRightsArgs {
    /// Role that the cloud controller uses, if it is not that of its nodes (IRSA, Pod Identity, static keys); detected
    /// if its trust policy names the controller's service account; on Alibaba Cloud also a user,
    /// `acs:ram::ACCOUNT:user/NAME`; repeatable
    #[arg(long, value_name = "ARN", help_heading = "Audit")]
    pub(in crate::cli) controller_role: Vec<String>,
    /// The cloud controller has credentials other than those of its nodes, which cannot be named: its permissions are
    /// not required of the nodes' role
    #[arg(long, value_enum, value_name = "WHERE", help_heading = "Audit", conflicts_with = "controller_role")]
    pub(in crate::cli) controller_credentials: Option<ControllerCredentials>,
    /// Service control policy of the account, for callers that cannot read Organizations; repeatable: each is a level
    /// that must allow, and one that only denies joins the level before it
    #[arg(long, value_name = "FILE", help_heading = "Audit")]
    pub(in crate::cli) scp: Vec<PathBuf>,
}

/// `--installer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum InstallerName {
    /// Gardener: `kubernetes.io/cluster/ID=1`
    #[value(help = "Gardener: kubernetes.io/cluster/ID=1")]
    Gardener,
    /// The `OpenShift` installer: `kubernetes.io/cluster/ID=owned`
    #[value(help = "The OpenShift installer: kubernetes.io/cluster/ID=owned")]
    Openshift,
    /// Cluster API: `kubernetes.io/cluster/ID=owned`
    #[value(help = "Cluster API: kubernetes.io/cluster/ID=owned")]
    Capi,
    /// kOps: `KubernetesCluster=ID`
    #[value(help = "kOps: KubernetesCluster=ID")]
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
pub(in crate::cli) enum ControllerCredentials {
    /// Separate keys, a token or a role
    Elsewhere,
}

/// `--without`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Without {
    /// The service controller: another one handles all Services
    Service,
    /// The route controller (`--configure-cloud-routes=false`)
    #[value(help = "The route controller (--configure-cloud-routes=false)")]
    Route,
    /// The tagging controller (AWS)
    Tagging,
    /// The controller of network load balancers (Alibaba Cloud)
    Nlb,
    /// Load balancers and target groups are not read
    Balancers,
}

impl Without {
    /// The controller that is switched off, if it is one.
    pub(in crate::cli) fn controller(self) -> Option<Controller> {
        match self {
            Self::Service => Some(Controller::Service),
            Self::Route => Some(Controller::Route),
            Self::Tagging => Some(Controller::Tagging),
            Self::Nlb => Some(Controller::Nlb),
            Self::Balancers => None,
        }
    }
}

impl AuditArgs {
    /// True if the load balancers of the account are read.
    #[cfg_attr(
        not(any(feature = "aws", feature = "alibaba")),
        expect(dead_code, reason = "only live accounts are read")
    )]
    pub(in crate::cli) fn reads_balancers(&self) -> bool {
        !self.without.contains(&Without::Balancers)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FailOn {
    Error,
    Warning,
    Info,
    Never,
}

impl FailOn {
    pub(in crate::cli) fn threshold(self) -> Option<Severity> {
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
pub(in crate::cli) enum IamReadsName {
    /// The method with fewer calls
    Auto,
    /// Each role of an instance profile in use separately
    PerRole,
    /// The whole account with `GetAccountAuthorizationDetails`
    #[value(help = "The whole account with GetAccountAuthorizationDetails")]
    Account,
}

#[cfg(feature = "aws")]
impl From<IamReadsName> for IamReads {
    fn from(name: IamReadsName) -> Self {
        match name {
            IamReadsName::Auto => Self::Auto,
            IamReadsName::PerRole => Self::PerRole,
            IamReadsName::Account => Self::Account,
        }
    }
}

/// Target versions of an upgrade.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct TargetArgs {
    /// Kubernetes version to upgrade to: anything that ends on the way there is an error
    #[arg(long, value_name = "VERSION", help_heading = "Audit")]
    pub(in crate::cli) target_kubernetes: Option<ControllerVersion>,
    /// Cloud controller version to upgrade to, or that of another controller, such as `lbc=2.14`; repeatable
    #[arg(long, value_name = "[NAME=]VERSION", help_heading = "Audit")]
    pub(in crate::cli) target_controller: Vec<NamedVersion>,
}

/// Version of the cloud controller among these.
fn cloud_controller(versions: &[NamedVersion]) -> Option<ControllerVersion> {
    versions.iter().find(|one| one.companion.is_none()).map(|one| one.version)
}

impl AuditArgs {
    /// `--controller-version` of the cloud controller.
    pub(in crate::cli) fn cloud_controller_version(&self) -> Option<ControllerVersion> {
        cloud_controller(&self.evidence.controller_version)
    }

    /// Versions of the other controllers.
    pub(in crate::cli) fn companion_versions(&self) -> CompanionVersions {
        let others =
            |versions: &[NamedVersion]| versions.iter().filter_map(|one| Some((one.companion?, one.version))).collect();
        CompanionVersions {
            running: others(&self.evidence.controller_version),
            target: others(&self.target.target_controller),
        }
    }
}

impl From<&TargetArgs> for Target {
    fn from(args: &TargetArgs) -> Self {
        Self { kubernetes: args.target_kubernetes, controller: cloud_controller(&args.target_controller) }
    }
}

/// Alternative catalogue of actions.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct CatalogueArgs {
    /// Use this catalogue of actions instead of the embedded one (docs/policy-engine.md describes the format)
    #[arg(long, value_name = "FILE", help_heading = "Audit")]
    pub(in crate::cli) catalogue: Option<PathBuf>,
}
