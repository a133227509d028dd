//! What a rule found: on which resource, what it breaks, and what would mend it.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::text;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is broken.
    Info,
    /// Something will break, or works by luck.
    Warning,
    /// The controller fails, or silently leaves something out.
    Error,
}

impl Severity {
    /// All severities, worst first.
    pub const WORST_FIRST: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    /// The word used in reports and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Kinds of resources in a report; a closed set that scripts may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each variant is the resource it names")]
pub enum ResourceKind {
    Instance,
    Subnet,
    Vpc,
    SecurityGroup,
    RouteTable,
    Volume,
    NetworkInterface,
    InstanceProfile,
    Role,
    Policy,
    Node,
    Cluster,
}

impl ResourceKind {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Subnet => "subnet",
            Self::Vpc => "vpc",
            Self::SecurityGroup => "security-group",
            Self::RouteTable => "route-table",
            Self::Volume => "volume",
            Self::NetworkInterface => "network-interface",
            Self::InstanceProfile => "instance-profile",
            Self::Role => "role",
            Self::Policy => "policy",
            Self::Node => "node",
            Self::Cluster => "cluster",
        }
    }

    /// The name in a sentence.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Vpc => "VPC",
            Self::SecurityGroup => "security group",
            Self::RouteTable => "route table",
            Self::NetworkInterface => "network interface",
            Self::InstanceProfile => "instance profile",
            other => other.name(),
        }
    }
}

/// A resource in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResourceRef {
    /// What it is.
    pub kind: ResourceKind,
    /// Its id; the ARN for IAM resources.
    pub id: String,
    /// ARN, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arn: Option<String>,
    /// `Name` tag or name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Region, for regional resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

impl ResourceRef {
    /// A reference by kind and id alone, as in `related`.
    #[must_use]
    pub fn bare(kind: ResourceKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into(), arn: None, name: None, region: None, account_id: None }
    }

    /// The same without what the main resource of a finding already says.
    #[must_use]
    pub fn to_bare(&self) -> Self {
        Self { name: self.name.clone(), ..Self::bare(self.kind, self.id.clone()) }
    }
}

/// Who decides whether a fix is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Applicability {
    /// There is nothing the tool could write.
    None,
    /// Right only with a choice that the tool cannot make.
    Choice,
    /// Deterministic, but it overwrites, deletes or widens something.
    Confirm,
    /// Adds what is missing, with the one lawful value.
    Safe,
}

impl Applicability {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Choice => "choice",
            Self::Confirm => "confirm",
            Self::Safe => "safe",
        }
    }
}

/// A change to the account; a closed set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "operation")]
pub enum Change {
    /// Adds or overwrites one tag.
    #[serde(rename = "ec2:CreateTags")]
    CreateTags {
        /// Region of the resources.
        region: String,
        /// Ids of the resources.
        resources: Vec<String>,
        /// Tag key.
        key: String,
        /// New value.
        value: String,
    },
    /// Removes one tag if it still has this value.
    #[serde(rename = "ec2:DeleteTags")]
    DeleteTags {
        /// Region of the resources.
        region: String,
        /// Ids of the resources.
        resources: Vec<String>,
        /// Tag key.
        key: String,
        /// The value it must have to be removed.
        value: String,
    },
    /// Changes one metadata option.
    #[serde(rename = "ec2:ModifyInstanceMetadataOptions")]
    ModifyInstanceMetadataOptions {
        /// Region of the instances.
        region: String,
        /// Ids of the instances.
        resources: Vec<String>,
        /// Option as the CLI spells it, such as `http-endpoint`.
        option: String,
        /// New value.
        value: String,
    },
    /// Turns a DNS attribute of a VPC on.
    #[serde(rename = "ec2:ModifyVpcAttribute")]
    ModifyVpcAttribute {
        /// Region of the VPC.
        region: String,
        /// Id of the VPC.
        resource: String,
        /// Attribute as the CLI spells it, such as `enable-dns-hostnames`.
        attribute: String,
    },
    /// Turns the source/destination check of instances off.
    #[serde(rename = "ec2:ModifyInstanceAttribute")]
    DisableSourceDestCheck {
        /// Region of the instances.
        region: String,
        /// Ids of the instances.
        resources: Vec<String>,
    },
    /// Writes an inline policy of our own name.
    #[serde(rename = "iam:PutRolePolicy")]
    PutRolePolicy {
        /// Role name.
        role: String,
        /// Policy name.
        policy_name: String,
        /// Document, minified.
        document: String,
    },
}

/// How many ids a shown command carries before it is cut.
const SHOWN_IDS: usize = 20;

impl Change {
    /// Ids of the EC2 resources that it writes on.
    pub fn ec2_resources(&self) -> impl Iterator<Item = &str> {
        let ids = match self {
            Self::CreateTags { resources, .. }
            | Self::DeleteTags { resources, .. }
            | Self::ModifyInstanceMetadataOptions { resources, .. }
            | Self::DisableSourceDestCheck { resources, .. } => resources.as_slice(),
            Self::ModifyVpcAttribute { resource, .. } => std::slice::from_ref(resource),
            Self::PutRolePolicy { .. } => &[],
        };
        ids.iter().map(String::as_str)
    }

    /// The AWS CLI commands that make this change, quoted for a shell. EC2 takes at most a thousand ids in a call; a
    /// person is shown the first twenty and told that there are more.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let each = |region: &str, resources: &[String], arguments: &dyn Fn(&str) -> String| -> Vec<String> {
            let mut lines: Vec<String> = resources
                .iter()
                .take(3)
                .map(|id| {
                    format!("aws ec2 {} --region {}", arguments(&text::shell_quote(id)), text::shell_quote(region))
                })
                .collect();
            if resources.len() > 3 {
                lines.push(format!("# and the same for {} more", resources.len() - 3));
            }
            lines
        };
        match self {
            Self::CreateTags { region, resources, key, value } => {
                tag_command("create-tags", region, resources, key, value)
            }
            Self::DeleteTags { region, resources, key, value } => {
                tag_command("delete-tags", region, resources, key, value)
            }
            Self::ModifyInstanceMetadataOptions { region, resources, option, value } => {
                each(region, resources, &|id| {
                    format!(
                        "modify-instance-metadata-options --instance-id {id} --{option} {}",
                        text::shell_quote(value)
                    )
                })
            }
            Self::ModifyVpcAttribute { region, resource, attribute } => {
                each(region, std::slice::from_ref(resource), &|id| {
                    format!("modify-vpc-attribute --vpc-id {id} --{attribute}")
                })
            }
            Self::DisableSourceDestCheck { region, resources } => each(region, resources, &|id| {
                format!("modify-instance-attribute --instance-id {id} --no-source-dest-check")
            }),
            Self::PutRolePolicy { role, policy_name, document } => vec![format!(
                "aws iam put-role-policy --role-name {} --policy-name {} --policy-document {}",
                text::shell_quote(role),
                text::shell_quote(policy_name),
                text::shell_quote(document)
            )],
        }
    }
}

fn tag_command(verb: &str, region: &str, resources: &[String], key: &str, value: &str) -> Vec<String> {
    let shown: Vec<_> = resources.iter().take(SHOWN_IDS).map(|id| text::shell_quote(id)).collect();
    // The JSON form of `--tags`: the shorthand form would read `,` and `=` in a key or value.
    let tags = serde_json::json!([{"Key": key, "Value": value}]).to_string();
    let mut lines = vec![format!(
        "aws ec2 {verb} --region {} --resources {} --tags {}",
        text::shell_quote(region),
        shown.join(" "),
        text::shell_quote(&tags)
    )];
    if resources.len() > SHOWN_IDS {
        lines.push(format!("# and the same for {} more: --format json names them all", resources.len() - SHOWN_IDS));
    }
    lines
}

/// One of the answers to a question that only the operator can decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The answer.
    pub value: String,
    /// What it means.
    pub summary: String,
}

/// What would mend a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// Who decides.
    pub applicability: Applicability,
    /// What to do, one sentence.
    pub summary: String,
    /// The writes, when they are known.
    pub changes: Vec<Change>,
    /// The answers to choose from, when there is a question.
    pub choices: Vec<Choice>,
}

impl Fix {
    /// Advice without a write.
    #[must_use]
    pub fn none(summary: impl Into<String>) -> Self {
        Self { applicability: Applicability::None, summary: summary.into(), changes: Vec::new(), choices: Vec::new() }
    }

    /// A fix with its writes.
    #[must_use]
    pub fn with(applicability: Applicability, summary: impl Into<String>, changes: Vec<Change>) -> Self {
        Self { applicability, summary: summary.into(), changes, choices: Vec::new() }
    }

    /// A question with its answers.
    #[must_use]
    pub fn choose(summary: impl Into<String>, choices: Vec<Choice>) -> Self {
        Self { applicability: Applicability::Choice, summary: summary.into(), changes: Vec::new(), choices }
    }
}

/// Whether a finding was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not known from an earlier report.
    New,
}

/// A finding of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Rule id.
    pub rule: &'static str,
    /// How bad.
    pub severity: Severity,
    /// The resource it is about; the first of them when one cause shows on many.
    pub resource: ResourceRef,
    /// Other resources: what causes it, and where else it shows.
    pub related: Vec<ResourceRef>,
    /// One sentence with the facts.
    pub message: String,
    /// One sentence: what breaks.
    pub breaks: String,
    /// What would mend it.
    pub fix: Fix,
    /// Stable over runs: rule, resource or cause, and what is wrong; no times, no order.
    pub fingerprint: String,
    /// New, unchanged or waived.
    pub status: Status,
}

/// The fingerprint of a rule and its cause: the first 128 bits of a SHA-256 in hexadecimal.
#[must_use]
pub fn fingerprint(rule: &str, scope: &str, cause: &str) -> String {
    use std::fmt::Write;
    let mut hash = Sha256::new();
    for part in [rule, scope, cause] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(16).fold(String::with_capacity(32), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_quote_hostile_values() {
        let change = Change::CreateTags {
            region: "us-east-1".into(),
            resources: vec!["i-1".into()],
            key: "kubernetes.io/cluster/a'; rm -rf $(HOME)".into(),
            value: "owned".into(),
        };
        let commands = change.commands();
        let words = shell_words::split(&commands[0]).unwrap();
        let tags: serde_json::Value = serde_json::from_str(words.last().unwrap()).unwrap();
        assert_eq!(tags[0]["Key"], "kubernetes.io/cluster/a'; rm -rf $(HOME)");
    }

    #[test]
    fn fingerprints_do_not_run_parts_together() {
        assert_ne!(fingerprint("a", "bc", "d"), fingerprint("ab", "c", "d"));
    }
}
