//! The writes that mend a finding, as the report names them.

use serde::Serialize;

use crate::text;

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
    /// Makes a managed policy of our own name.
    #[serde(rename = "iam:CreatePolicy")]
    CreatePolicy {
        /// ARN that it will have.
        policy_arn: String,
        /// Document, minified.
        document: String,
    },
    /// Gives a managed policy of our own name a new default version.
    #[serde(rename = "iam:CreatePolicyVersion")]
    CreatePolicyVersion {
        /// ARN.
        policy_arn: String,
        /// Document, minified.
        document: String,
    },
    /// Attaches a managed policy of our own name to a role.
    #[serde(rename = "iam:AttachRolePolicy")]
    AttachRolePolicy {
        /// Role name.
        role: String,
        /// ARN.
        policy_arn: String,
    },
}

/// How many ids a shown command carries before it is cut.
const SHOWN_IDS: usize = 20;

impl Change {
    /// Region of what it writes on; `None` for IAM, which has none.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        match self {
            Self::CreateTags { region, .. }
            | Self::DeleteTags { region, .. }
            | Self::ModifyInstanceMetadataOptions { region, .. }
            | Self::ModifyVpcAttribute { region, .. }
            | Self::DisableSourceDestCheck { region, .. } => Some(region),
            Self::PutRolePolicy { .. }
            | Self::CreatePolicy { .. }
            | Self::CreatePolicyVersion { .. }
            | Self::AttachRolePolicy { .. } => None,
        }
    }

    /// Ids of the EC2 resources that it writes on.
    pub fn ec2_resources(&self) -> impl Iterator<Item = &str> {
        let ids = match self {
            Self::CreateTags { resources, .. }
            | Self::DeleteTags { resources, .. }
            | Self::ModifyInstanceMetadataOptions { resources, .. }
            | Self::DisableSourceDestCheck { resources, .. } => resources.as_slice(),
            Self::ModifyVpcAttribute { resource, .. } => std::slice::from_ref(resource),
            Self::PutRolePolicy { .. }
            | Self::CreatePolicy { .. }
            | Self::CreatePolicyVersion { .. }
            | Self::AttachRolePolicy { .. } => &[],
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
            Self::CreatePolicy { policy_arn, document } => {
                let (path, name) = policy_path(policy_arn);
                vec![format!(
                    "aws iam create-policy --policy-name {} --path {} --policy-document {}",
                    text::shell_quote(name),
                    text::shell_quote(&path),
                    text::shell_quote(document)
                )]
            }
            Self::CreatePolicyVersion { policy_arn, document } => vec![format!(
                "aws iam create-policy-version --policy-arn {} --set-as-default --policy-document {}",
                text::shell_quote(policy_arn),
                text::shell_quote(document)
            )],
            Self::AttachRolePolicy { role, policy_arn } => vec![format!(
                "aws iam attach-role-policy --role-name {} --policy-arn {}",
                text::shell_quote(role),
                text::shell_quote(policy_arn)
            )],
        }
    }
}

/// Path and name of a managed policy, from its ARN.
pub(crate) fn policy_path(arn: &str) -> (String, &str) {
    let resource = arn.splitn(6, ':').nth(5).and_then(|resource| resource.strip_prefix("policy")).unwrap_or(arn);
    match resource.rsplit_once('/') {
        Some((path, name)) => (format!("{path}/"), name),
        None => ("/".to_owned(), resource),
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
    fn policy_arns_are_taken_apart() {
        let arn = "arn:aws:iam::123456789012:policy/tagaudit/baseline-a";
        assert_eq!(policy_path(arn), ("/tagaudit/".to_owned(), "baseline-a"));
        assert_eq!(policy_path("arn:aws:iam::aws:policy/ReadOnlyAccess"), ("/".to_owned(), "ReadOnlyAccess"));
    }
}
