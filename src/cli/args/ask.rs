//! Commands that answer a question before or after something happens.

use std::error::Error;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use super::values::{NamespacedName, cluster_id};
use super::{
    AuditArgs, ConfigurationArgs, ControllerRightsArgs, EvidenceArgs, FailOn, OutputArgs, SourceArgs, TargetArgs,
    TerminalArgs,
};

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Services and Ingresses in YAML or JSON, such as the output of `helm template`: files, folders, or `-` for standard
    /// input. They replace objects of the same name in the cluster. Without any, those of the cluster are simulated
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Cluster id: the part after `kubernetes.io/cluster/` in the tags (`tagaudit clusters` lists the ids)
    #[arg(long, value_name = "ID", env = "TAGAUDIT_CLUSTER_ID", value_parser = cluster_id)]
    pub(crate) cluster_id: String,
    /// Namespace of objects in the files that do not set one
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default", help_heading = "Scope")]
    pub(crate) namespace: String,
    /// Ask this controller only [default: those that run in the cluster]
    #[arg(long, value_enum, help_heading = "Scope")]
    pub(crate) controller: Option<ControllerName>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
    #[command(flatten)]
    pub(crate) rights: ControllerRightsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// Plan in JSON, as `terraform show -json PLANFILE` or `tofu show -json PLANFILE` prints it, or a change set of
    /// CloudFormation, as `aws cloudformation describe-change-set --include-property-values` does; `-` for standard input
    #[arg(value_name = "PLAN", required_unless_present = "manifests")]
    pub(crate) plan: Option<PathBuf>,
    /// Kubernetes objects to apply, with or without a plan, such as the output of `helm template` or
    /// `kustomize build`: files, folders, or `-` for standard input; repeatable. They replace those of the same name in the
    /// state of the cluster, which --kube-context or --kubernetes gives
    #[arg(long, value_name = "PATH")]
    pub(crate) manifests: Vec<PathBuf>,
    /// Objects of the installed release, such as the output of `helm get manifest`; those missing from --manifests are
    /// treated as deleted; repeatable
    #[arg(long, value_name = "PATH", requires = "manifests")]
    pub(crate) manifests_before: Vec<PathBuf>,
    /// Namespace of objects that do not set one
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default", requires = "manifests")]
    pub(crate) namespace: String,
    /// Judge this cluster; repeatable [default: every cluster that has instances]
    #[arg(long, value_name = "ID", env = "TAGAUDIT_CLUSTER_ID", value_parser = cluster_id, help_heading = "Scope")]
    pub(crate) cluster_id: Vec<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArgs,
    /// Exit with 1 if the plan causes a finding of at least this severity
    #[arg(long, value_enum, default_value_t = FailOn::Error, help_heading = "Verdict")]
    pub(crate) fail_on: FailOn,
    /// Exit with 0 if something is undecided or not audited, and nothing else is wrong
    #[arg(long, help_heading = "Verdict")]
    pub(crate) allow_undecided: bool,
    /// Output format [default: that of the file name, else a table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) format: Option<GuardFormat>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}

/// `--format` of `guard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GuardFormat {
    /// Tables, for a terminal
    Table,
    /// One JSON document
    Json,
    /// Markdown, for a comment on a pull request
    Markdown,
    /// Annotations of a workflow of GitHub Actions
    Github,
}

/// `--controller`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ControllerName {
    /// Cloud controller of AWS
    Ccm,
    /// AWS Load Balancer Controller
    Lbc,
    /// Cloud controller of Alibaba Cloud
    AlibabaCcm,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct WhyArgs {
    /// File with lines as they were pasted: a log, the output of `kubectl describe` or `kubectl get events`, an error;
    /// `-` for standard input; or one line in quotation marks
    #[arg(value_name = "FILE", required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Check the rules that find the causes in this cluster, in the recording of --inventory or in the live account. Not
    /// needed if the inventory has one cluster
    #[arg(long, value_name = "ID", value_parser = cluster_id)]
    pub(crate) cluster_id: Option<String>,
    /// Decode encoded EC2 authorization failure messages with `sts:DecodeAuthorizationMessage`, with credentials of the
    /// same account (`tagaudit permissions --why` prints the permission)
    #[arg(long)]
    pub(crate) decode: bool,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(subcommand)]
    pub(crate) object: Option<WhyObject>,
}

/// An object to explain.
#[derive(Debug, Subcommand)]
pub(crate) enum WhyObject {
    /// Show why a Service has no load balancer, link by link: controller, permissions, subnets, security groups, targets
    Service(Box<WhyObjectArgs<NamespacedName>>),
    /// Show why an Ingress has no load balancer, link by link
    Ingress(Box<WhyObjectArgs<NamespacedName>>),
    /// Show why a Node is not initialised: its instance, and the permissions of the cloud controller
    Node(Box<WhyObjectArgs<String>>),
    /// Show why a Pod does not start: scheduling, its Node, volumes, images and containers
    Pod(Box<WhyPodArgs>),
}

/// Arguments of `why pod`.
#[derive(Debug, Args)]
pub(crate) struct WhyPodArgs {
    #[command(flatten)]
    pub(crate) object: WhyObjectArgs<NamespacedName>,
    /// The Pod, the claims of its volumes and their events, as `kubectl get pods,pvc,events -n NAMESPACE -o json` prints them;
    /// `-` for standard input; repeatable. With --kube-context they are read by name
    /// (`tagaudit permissions --kubernetes --why`)
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub(crate) objects: Vec<PathBuf>,
}

/// Arguments about one object.
#[derive(Debug, Args)]
pub(crate) struct WhyObjectArgs<Name: Clone + Send + Sync + FromStr + 'static>
where
    Name::Err: Into<Box<dyn Error + Send + Sync + 'static>>,
{
    /// Name of the object, with its namespace if it has one: `NAMESPACE/NAME`
    #[arg(value_name = "NAME")]
    pub(crate) name: Name,
    /// Cluster id: the part after `kubernetes.io/cluster/` in the tags (`tagaudit clusters` lists the ids)
    #[arg(long, value_name = "ID", env = "TAGAUDIT_CLUSTER_ID", value_parser = cluster_id)]
    pub(crate) cluster_id: String,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) output: ChainOutputArgs,
}

/// Format and destination of the chain of an object.
#[derive(Debug, Args)]
pub(crate) struct ChainOutputArgs {
    /// Output format [default: that of the file name, else a table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) format: Option<ChainFormat>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}

/// `--format` of `why service`, `why ingress` and `why node`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChainFormat {
    /// Text, for a terminal
    Table,
    /// One JSON document
    Json,
    /// Page for a browser: the way of the object as a drawing
    Html,
}
