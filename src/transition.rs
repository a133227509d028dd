//! The one model of a write: a value of an attribute of a resource goes from what it is to what it should be. What a
//! finding proposes, a plan holds, a journal records and an undo reverses are transitions; API calls, AWS CLI commands,
//! Terraform and CloudFormation are made from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::inventory::Provider;
use crate::resource::{ResourceKey, ResourceKind};

mod aliyun;
mod call;
mod command;

pub use aliyun::policy_name;
pub use call::{Call, Operation};
pub use command::{calls, managed_policy_path};

/// What a transition is made on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Cloud; files name it where it is not AWS.
    #[serde(default, skip_serializing_if = "Provider::is_aws")]
    pub provider: Provider,
    /// Kind of resource.
    pub kind: ResourceKind,
    /// Region, for EC2 and ECS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Id; for roles the name, for policies the ARN, in Alibaba Cloud `acs:ram::ACCOUNT:policy/NAME`.
    pub id: String,
}

impl Target {
    /// A resource of EC2.
    #[must_use]
    pub fn ec2(region: &str, key: ResourceKey<'_>) -> Self {
        Self { provider: Provider::Aws, kind: key.kind, region: Some(region.to_owned()), id: key.id.to_owned() }
    }

    /// An instance of ECS.
    #[must_use]
    pub fn ecs_instance(region: &str, id: &str) -> Self {
        let kind = ResourceKind::Instance;
        Self { provider: Provider::Alibaba, kind, region: Some(region.to_owned()), id: id.to_owned() }
    }

    /// A role of RAM by name.
    #[must_use]
    pub fn ram_role(name: &str) -> Self {
        Self { provider: Provider::Alibaba, kind: ResourceKind::RamRole, region: None, id: name.to_owned() }
    }

    /// A custom policy of RAM: `acs:ram::ACCOUNT:policy/NAME`.
    #[must_use]
    pub fn ram_policy(arn: &str) -> Self {
        Self { provider: Provider::Alibaba, kind: ResourceKind::Policy, region: None, id: arn.to_owned() }
    }

    /// What it is within its account and region.
    #[must_use]
    pub fn key(&self) -> ResourceKey<'_> {
        ResourceKey::new(self.kind, &self.id)
    }

    /// A role by name.
    #[must_use]
    pub fn role(name: &str) -> Self {
        Self { provider: Provider::Aws, kind: ResourceKind::Role, region: None, id: name.to_owned() }
    }

    /// A managed policy by ARN.
    #[must_use]
    pub fn policy(arn: &str) -> Self {
        Self { provider: Provider::Aws, kind: ResourceKind::Policy, region: None, id: arn.to_owned() }
    }

    /// The region of a resource of EC2 or ECS, which every one of them has; empty for others.
    #[must_use]
    pub fn region(&self) -> &str {
        self.region.as_deref().unwrap_or_default()
    }
}

/// The one value that a transition is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Attribute {
    /// A tag of EC2 or ECS.
    Tag {
        /// Key.
        key: String,
    },
    /// An option of the instance metadata service.
    MetadataOption {
        /// Option.
        option: MetadataOption,
    },
    /// A DNS attribute of a VPC.
    VpcAttribute {
        /// Attribute.
        attribute: VpcAttribute,
    },
    /// The source/destination check of an instance.
    SourceDestCheck {},
    /// The document of an inline policy of a role.
    InlinePolicy {
        /// Policy name.
        name: String,
    },
    /// The default document of a managed policy of IAM, or of a custom policy of RAM.
    ManagedPolicy {},
    /// Whether such a policy is attached to a role.
    AttachedPolicy {
        /// ARN of the policy.
        policy_arn: String,
    },
}

/// The options of the instance metadata service that tagaudit sets, spelled as in the AWS CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataOption {
    /// Whether the service answers.
    HttpEndpoint,
    /// How many hops a token's answer may take.
    HttpPutResponseHopLimit,
    /// Whether tags are readable through the service; EC2 then refuses keys with a slash.
    InstanceMetadataTags,
}

impl MetadataOption {
    /// The option in the AWS CLI, without its dashes in front.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HttpEndpoint => "http-endpoint",
            Self::HttpPutResponseHopLimit => "http-put-response-hop-limit",
            Self::InstanceMetadataTags => "instance-metadata-tags",
        }
    }

    /// The property of `MetadataOptions` in CloudFormation.
    #[must_use]
    pub fn property(self) -> &'static str {
        match self {
            Self::HttpEndpoint => "HttpEndpoint",
            Self::HttpPutResponseHopLimit => "HttpPutResponseHopLimit",
            Self::InstanceMetadataTags => "InstanceMetadataTags",
        }
    }
}

/// The DNS attributes of a VPC, spelled as in the AWS CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VpcAttribute {
    /// The Amazon DNS server answers.
    EnableDnsSupport,
    /// Instances get DNS host names.
    EnableDnsHostnames,
}

impl VpcAttribute {
    /// The attribute in the AWS CLI, without its dashes in front.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EnableDnsSupport => "enable-dns-support",
            Self::EnableDnsHostnames => "enable-dns-hostnames",
        }
    }

    /// The property of `AWS::EC2::VPC`.
    #[must_use]
    pub fn property(self) -> &'static str {
        match self {
            Self::EnableDnsSupport => "EnableDnsSupport",
            Self::EnableDnsHostnames => "EnableDnsHostnames",
        }
    }
}

/// A value of an attribute. It is written as text; the attribute says how to read it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// The value of a tag, or a word of the API that tagaudit never sets.
    Text(String),
    /// An attribute of a VPC, or the source/destination check: `true` or `false`.
    Switch(bool),
    /// A switch of the metadata service: `enabled` or `disabled`.
    State(State),
    /// The hop limit.
    Number(i32),
    /// A policy document, verbatim.
    Document(String),
    /// That the policy is attached.
    Attached,
}

/// How the metadata service says on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// `enabled`.
    Enabled,
    /// `disabled`.
    Disabled,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Document(text) => f.write_str(text),
            Self::Switch(on) => write!(f, "{on}"),
            Self::State(State::Enabled) => f.write_str("enabled"),
            Self::State(State::Disabled) => f.write_str("disabled"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Attached => f.write_str("attached"),
        }
    }
}

impl Value {
    /// The text of a policy document.
    #[must_use]
    pub fn document(&self) -> Option<&str> {
        match self {
            Self::Document(text) => Some(text),
            Self::Text(_) | Self::Switch(_) | Self::State(_) | Self::Number(_) | Self::Attached => None,
        }
    }
}

impl Attribute {
    /// Reads a value of this attribute; `None` for what it cannot be set to.
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<Value> {
        match self {
            Self::Tag { .. } => Some(Value::Text(text.to_owned())),
            Self::MetadataOption { option } => match option {
                MetadataOption::HttpEndpoint | MetadataOption::InstanceMetadataTags => match text {
                    "enabled" => Some(Value::State(State::Enabled)),
                    "disabled" => Some(Value::State(State::Disabled)),
                    _ => None,
                },
                // One spelling for each number, so that what is written reads back the same.
                MetadataOption::HttpPutResponseHopLimit => {
                    text.parse().ok().filter(|number: &i32| number.to_string() == text).map(Value::Number)
                }
            },
            Self::VpcAttribute { .. } | Self::SourceDestCheck {} => text.parse().ok().map(Value::Switch),
            Self::InlinePolicy { .. } | Self::ManagedPolicy {} => Some(Value::Document(text.to_owned())),
            Self::AttachedPolicy { .. } => (text == "attached").then_some(Value::Attached),
        }
    }

    /// What its values are, for a message about one that is none of them.
    #[must_use]
    pub fn values(&self) -> &'static str {
        match self {
            Self::Tag { .. } => "any text",
            Self::MetadataOption { option: MetadataOption::HttpPutResponseHopLimit } => "a number",
            Self::MetadataOption { .. } => "`enabled` or `disabled`",
            Self::VpcAttribute { .. } | Self::SourceDestCheck {} => "`true` or `false`",
            Self::InlinePolicy { .. } | Self::ManagedPolicy {} => "a policy document",
            Self::AttachedPolicy { .. } => "`attached`",
        }
    }

    /// Whether such a resource has it.
    #[must_use]
    pub fn fits(&self, target: &Target) -> bool {
        let kind = target.kind;
        if target.provider == Provider::Alibaba {
            return match self {
                Self::Tag { .. } => kind == ResourceKind::Instance,
                Self::AttachedPolicy { .. } => kind == ResourceKind::RamRole,
                Self::ManagedPolicy {} => kind == ResourceKind::Policy,
                Self::MetadataOption { .. }
                | Self::VpcAttribute { .. }
                | Self::SourceDestCheck {}
                | Self::InlinePolicy { .. } => false,
            };
        }
        match self {
            Self::Tag { .. } => kind.is_ec2(),
            Self::MetadataOption { .. } | Self::SourceDestCheck {} => kind == ResourceKind::Instance,
            Self::VpcAttribute { .. } => kind == ResourceKind::Vpc,
            Self::InlinePolicy { .. } | Self::AttachedPolicy { .. } => kind == ResourceKind::Role,
            Self::ManagedPolicy {} => kind == ResourceKind::Policy,
        }
    }

    /// Its name, in a few words.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Tag { key } => key.clone(),
            Self::MetadataOption { option } => option.name().to_owned(),
            Self::VpcAttribute { attribute } => attribute.name().to_owned(),
            Self::SourceDestCheck {} => "source-dest-check".to_owned(),
            Self::InlinePolicy { name } => format!("inline policy {name}"),
            Self::ManagedPolicy {} => "document".to_owned(),
            Self::AttachedPolicy { policy_arn } => format!("attached policy {policy_arn}"),
        }
    }

    /// Whether it is a policy of IAM or RAM, or its attachment.
    #[must_use]
    pub fn is_iam(&self) -> bool {
        match self {
            Self::InlinePolicy { .. } | Self::ManagedPolicy {} | Self::AttachedPolicy { .. } => true,
            Self::Tag { .. } | Self::MetadataOption { .. } | Self::VpcAttribute { .. } | Self::SourceDestCheck {} => {
                false
            }
        }
    }
}

/// One value of one attribute of one resource goes from old to new. It is written flat, with the values as text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition {
    /// What it is made on.
    pub target: Target,
    /// The value that it is about.
    pub attribute: Attribute,
    /// The value before; `None` where there is none. In a finding also where any value is replaced.
    pub old: Option<Value>,
    /// The value after; `None` where it is removed.
    pub new: Option<Value>,
}

impl Transition {
    /// Sets an attribute, whatever it is now.
    #[must_use]
    pub fn set(target: Target, attribute: Attribute, new: Value) -> Self {
        Self { target, attribute, old: None, new: Some(new) }
    }

    /// Removes an attribute that has this value.
    #[must_use]
    pub fn remove(target: Target, attribute: Attribute, old: Value) -> Self {
        Self { target, attribute, old: Some(old), new: None }
    }

    /// The call that makes it.
    #[must_use]
    pub fn operation(&self) -> Operation {
        if self.target.provider == Provider::Alibaba {
            return aliyun::operation(self);
        }
        match (&self.attribute, &self.old, &self.new) {
            (Attribute::Tag { .. }, _, Some(_)) => Operation::CreateTags,
            (Attribute::Tag { .. }, _, None) => Operation::DeleteTags,
            (Attribute::MetadataOption { .. }, ..) => Operation::ModifyInstanceMetadataOptions,
            (Attribute::VpcAttribute { .. }, ..) => Operation::ModifyVpcAttribute,
            (Attribute::SourceDestCheck {}, ..) => Operation::ModifyInstanceAttribute,
            (Attribute::InlinePolicy { .. }, _, Some(_)) => Operation::PutRolePolicy,
            (Attribute::InlinePolicy { .. }, _, None) => Operation::DeleteRolePolicy,
            (Attribute::ManagedPolicy {}, None, _) => Operation::CreatePolicy,
            (Attribute::ManagedPolicy {}, Some(_), Some(_)) => Operation::CreatePolicyVersion,
            (Attribute::ManagedPolicy {}, Some(_), None) => Operation::DeletePolicy,
            (Attribute::AttachedPolicy { .. }, _, Some(_)) => Operation::AttachRolePolicy,
            (Attribute::AttachedPolicy { .. }, _, None) => Operation::DetachRolePolicy,
        }
    }

    /// The way back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { old: self.new.clone(), new: self.old.clone(), ..self.clone() }
    }

    /// The tag that it is about, if it is about one: key and, where it is set, the value.
    #[must_use]
    pub fn tag(&self) -> Option<(&str, Option<&Value>)> {
        match &self.attribute {
            Attribute::Tag { key } => Some((key, self.new.as_ref())),
            Attribute::MetadataOption { .. }
            | Attribute::VpcAttribute { .. }
            | Attribute::SourceDestCheck {}
            | Attribute::InlinePolicy { .. }
            | Attribute::ManagedPolicy {}
            | Attribute::AttachedPolicy { .. } => None,
        }
    }
}
