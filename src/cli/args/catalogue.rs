//! Arguments of commands that print what the binary holds: rules, baselines, permissions, completions.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};

use crate::controller::ControllerVersion;
use crate::finding::Severity;
use crate::resource::ResourceKind;
use crate::rules::FAMILIES;

use super::ProviderName;
use super::language::LanguageName;
use super::values::{cluster_id, role_arn, service_account};

#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    /// Only rules for this cloud
    #[arg(long, value_enum)]
    pub(crate) provider: Option<ProviderName>,
    /// Only rules of this severity
    #[arg(long, value_enum)]
    pub(crate) severity: Option<SeverityName>,
    /// Only rules about this kind of resource, such as `subnet`
    #[arg(long, value_name = "KIND", value_parser = resource_kind())]
    pub(crate) resource: Option<String>,
    /// Only rules of this family, such as `security-groups`
    #[arg(long, value_name = "FAMILY", value_parser = family())]
    pub(crate) family: Option<String>,
    /// Only rules whose id, title, condition or impact contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Language; JSON stays English
    #[arg(long, value_enum, env = "TAGAUDIT_LANG")]
    pub(crate) lang: Option<LanguageName>,
    /// Output format
    #[arg(long, value_enum, default_value_t = RulesFormat::Table)]
    pub(crate) format: RulesFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SeverityName {
    Error,
    Warning,
    Info,
}

impl From<SeverityName> for Severity {
    fn from(name: SeverityName) -> Self {
        match name {
            SeverityName::Error => Self::Error,
            SeverityName::Warning => Self::Warning,
            SeverityName::Info => Self::Info,
        }
    }
}

/// Reads the name of a family of rules.
fn family() -> PossibleValuesParser {
    PossibleValuesParser::new(FAMILIES.map(|(name, _)| name))
}

/// Reads a kind of resource.
fn resource_kind() -> PossibleValuesParser {
    PossibleValuesParser::new(ResourceKind::ALL.map(ResourceKind::name))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesFormat {
    /// One line for each rule
    Table,
    /// One JSON document, with all texts
    Json,
    /// The page of each rule, in Markdown
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Rule id, or a line of a log as `tagaudit why` takes it
    #[arg(required_unless_present = "effective", conflicts_with = "effective", allow_hyphen_values = true)]
    pub(crate) rule: Option<String>,
    /// Show the effective arguments of a Node, or of the nodes of a configuration whose name contains this: drop-ins,
    /// selectors and lists merged, each with the place that sets it
    #[arg(long, value_name = "NODE", requires = "kubernetes")]
    pub(crate) effective: Option<String>,
    /// Nodes and configurations, as for `scan --kubernetes`; repeatable
    #[arg(long, value_name = "PATH", requires = "effective")]
    pub(crate) kubernetes: Vec<PathBuf>,
    /// Language of a rule; JSON stays English
    #[arg(long, value_enum, env = "TAGAUDIT_LANG")]
    pub(crate) lang: Option<LanguageName>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ExplainFormat::Text)]
    pub(crate) format: ExplainFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    Text,
    Json,
    Markdown,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check a configuration without a scan
    Check {
        /// Configuration file [default: tagaudit.toml]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Exit with 1 if a waiver has expired, or expires within this number of days
        #[arg(long, value_name = "DAYS", value_parser = super::values::days)]
        expiring: Option<u16>,
    },
    /// Write a configuration to start from
    Init {
        /// File to write, which must not exist [default: tagaudit.toml]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print the JSON Schema of a configuration, for editors
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// List the baselines
    List,
    /// Print a baseline as a policy document
    Show {
        /// Name of the baseline
        name: String,
        /// Version of the cloud controller manager, for computed baselines
        #[arg(long, value_name = "VERSION")]
        controller_version: Option<ControllerVersion>,
        /// Cluster id, for baselines that hold `CLUSTER_NAME`
        #[arg(long, value_name = "ID")]
        cluster_id: Option<String>,
    },
    /// List the changes between the policies that a controller's project publishes by release
    Changes {
        /// Controller, such as `lbc` or `karpenter`; all controllers by default
        controller: Option<String>,
    },
}

/// `permissions --without`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WithoutReads {
    /// Load balancers and target groups
    Balancers,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct PermissionsArgs {
    /// Cloud provider: `aws` or `alibaba`
    #[arg(long, value_enum, default_value_t = ProviderName::Aws)]
    pub(crate) provider: ProviderName,
    /// Output format
    #[arg(long, value_enum, default_value_t = PermissionsFormat::Policy)]
    pub(crate) format: PermissionsFormat,
    /// Print only what this policy, which is attached today, does not grant; repeatable
    #[arg(long, value_name = "FILE", conflicts_with = "kubernetes")]
    pub(crate) since: Vec<PathBuf>,
    /// Omit the permissions to read load balancers, for `scan --without balancers`
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["fixing", "kubernetes", "why", "target_role"])]
    pub(crate) without: Option<WithoutReads>,
    /// Print the permissions to apply and undo a fix instead of those of a scan
    #[arg(long, group = "fixing")]
    pub(crate) fix: bool,
    /// Print the permissions to delete what the controllers of a cluster left behind (`scan --fix-leftovers`)
    #[arg(long, group = "fixing", requires = "cluster_id", conflicts_with_all = ["role", "own_role"])]
    pub(crate) fix_leftovers: bool,
    /// Print the permissions to make new versions of launch templates (AWS only). They are separate because anyone who has them
    /// can run commands on new instances
    #[arg(long, group = "fixing", conflicts_with_all = ["role", "own_role", "cluster_id"])]
    pub(crate) fix_launch_templates: bool,
    /// Add the permissions of `tagaudit why --decode`; with --kubernetes, those of `why pod` and `why service`
    #[arg(long, conflicts_with_all = ["fixing", "target_role"])]
    pub(crate) why: bool,
    /// Print the cluster permissions that --kube-context needs, as roles and bindings for a `ServiceAccount`
    #[arg(long, conflicts_with_all = ["fixing", "target_role", "provider", "account"])]
    pub(crate) kubernetes: bool,
    /// `ServiceAccount` that gets the permissions
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "tagaudit/tagaudit", requires = "kubernetes", value_parser = service_account)]
    pub(crate) service_account: (String, String),
    /// Allow a scan of many accounts to assume the role of this name in each
    #[arg(long, value_name = "NAME", value_parser = crate::target::role_name, conflicts_with = "fixing")]
    pub(crate) target_role: Option<String>,
    /// Allow the scan to list the accounts of the organization, or of the Resource Directory
    #[arg(long, requires = "target_role")]
    pub(crate) organization: bool,
    /// Allow the scan to read the audit trail (`scan --audit-trail`, Alibaba Cloud only)
    #[arg(long, conflicts_with_all = ["fixing", "kubernetes", "why"])]
    pub(crate) audit_trail: bool,
    /// Limit the fix to the tags of this cluster; repeatable, for answers that also change a neighbour's tags
    #[arg(long, value_name = "ID", requires = "fixing", value_parser = cluster_id)]
    pub(crate) cluster_id: Vec<String>,
    /// Allow the fix to add to the policies of this role; repeatable. Without it, the fix writes nothing
    /// in IAM or RAM
    #[arg(long, value_name = "ARN", requires_all = ["fix", "own_role"], value_parser = role_arn)]
    pub(crate) role: Vec<String>,
    /// Role that tagaudit itself runs as; its policies are never written
    #[arg(long, value_name = "ARN", requires = "fix", value_parser = role_arn)]
    pub(crate) own_role: Option<String>,
    /// Account of the resources; any by default
    #[arg(long, value_name = "ID", requires = "fixing")]
    pub(crate) account: Option<String>,
    /// Partition of the resources
    #[arg(long, value_name = "NAME", default_value = "aws")]
    pub(crate) partition: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionsFormat {
    /// The policy document
    Policy,
    /// Purpose of each action
    Table,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    pub(crate) shell: clap_complete::Shell,
}
