//! The single model of a write: an attribute of a resource changes from its current to its target value. Transitions
//! are proposed by findings, stored in plans, recorded in journals and reversed by an undo; API calls, AWS CLI
//! commands, Terraform and CloudFormation are generated from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::inventory::Provider;
use crate::resource::{ResourceKey, ResourceKind};

mod aliyun;
mod call;
mod command;
mod further;
mod stage;
pub(crate) mod tag_specifications;

pub(crate) use aliyun::policy_name;
pub(crate) use call::Call;
pub use call::Operation;
pub(crate) use command::{calls, managed_policy_path};

/// Target of a transition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Cloud; omitted in files if it is AWS.
    #[serde(default, skip_serializing_if = "Provider::is_aws")]
    pub provider: Provider,
    pub kind: ResourceKind,
    /// Region, for EC2 and ECS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Id; for roles the name, for policies the ARN, in Alibaba Cloud `acs:ram::ACCOUNT:policy/NAME`.
    pub id: String,
}

impl Target {
    #[must_use]
    pub fn ec2(region: &str, key: ResourceKey<'_>) -> Self {
        Self { provider: Provider::Aws, kind: key.kind, region: Some(region.to_owned()), id: key.id.to_owned() }
    }

    #[must_use]
    pub fn ecs_instance(region: &str, id: &str) -> Self {
        let kind = ResourceKind::Instance;
        Self { provider: Provider::Alibaba, kind, region: Some(region.to_owned()), id: id.to_owned() }
    }

    #[must_use]
    pub fn ram_role(name: &str) -> Self {
        Self { provider: Provider::Alibaba, kind: ResourceKind::RamRole, region: None, id: name.to_owned() }
    }

    /// A custom RAM policy: `acs:ram::ACCOUNT:policy/NAME`.
    #[must_use]
    pub fn ram_policy(arn: &str) -> Self {
        Self { provider: Provider::Alibaba, kind: ResourceKind::Policy, region: None, id: arn.to_owned() }
    }

    /// Its key within its account and region.
    #[must_use]
    pub fn key(&self) -> ResourceKey<'_> {
        ResourceKey::new(self.kind, &self.id)
    }

    #[must_use]
    pub fn role(name: &str) -> Self {
        Self { provider: Provider::Aws, kind: ResourceKind::Role, region: None, id: name.to_owned() }
    }

    /// A managed policy by ARN.
    #[must_use]
    pub fn policy(arn: &str) -> Self {
        Self { provider: Provider::Aws, kind: ResourceKind::Policy, region: None, id: arn.to_owned() }
    }

    /// The region of an EC2 or ECS resource, which always has one; empty for others.
    #[must_use]
    pub fn region(&self) -> &str {
        self.region.as_deref().unwrap_or_default()
    }
}

/// The attribute that a transition changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Attribute {
    /// A tag of an EC2 or ECS resource.
    Tag { key: String },
    /// A tag of an Auto Scaling group, with the flag that new instances get it.
    GroupTag { key: String },
    /// All tags that a launch template gives to what it creates: its versions do not change, so that a new one is made from
    /// the one of an alias.
    TemplateTags { version: TemplateAlias },
    /// An option of the instance metadata service.
    MetadataOption { option: MetadataOption },
    /// A DNS attribute of a VPC.
    VpcAttribute { attribute: VpcAttribute },
    /// The source/destination check of an instance.
    SourceDestCheck {},
    /// The document of an inline policy of a role.
    InlinePolicy {
        /// Policy name.
        name: String,
    },
    /// The default document of a managed IAM policy, or of a custom RAM policy.
    ManagedPolicy {},
    /// The attachment of such a policy to a role.
    AttachedPolicy { policy_arn: String },
    /// The resource itself: its value is a description of it, and it is deleted by removing that.
    Resource {},
    /// An inbound rule of a security group. Its value is the description of the rule.
    IngressRule { rule: IngressRule },
}

/// A name of a version of a launch template that moves, spelled as in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TemplateAlias {
    /// The version that was made last.
    #[serde(rename = "$Latest")]
    Latest,
    /// The default version, which a new one replaces only by a separate call.
    #[serde(rename = "$Default")]
    Default,
}

impl TemplateAlias {
    /// Its name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latest => "$Latest",
            Self::Default => "$Default",
        }
    }
}

/// An inbound rule with one source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IngressRule {
    /// `tcp`, `udp`, `icmp`, `-1`, or a protocol number.
    pub protocol: String,
    /// First port; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_port: Option<i32>,
    /// Last port; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_port: Option<i32>,
    /// Id of a security group or a prefix list, or an address range.
    pub source: String,
}

/// Kind of the source of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    Group,
    PrefixList,
    Ipv4,
    Ipv6,
}

impl IngressRule {
    /// Kind of its source, by the form of its id or range.
    pub(crate) fn source_kind(&self) -> SourceKind {
        match self.source.as_str() {
            source if source.starts_with("sg-") => SourceKind::Group,
            source if source.starts_with("pl-") => SourceKind::PrefixList,
            source if source.contains(':') => SourceKind::Ipv6,
            _ => SourceKind::Ipv4,
        }
    }
}

impl fmt::Display for IngressRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.protocol == "-1" { "all traffic" } else { &self.protocol };
        match (self.from_port, self.to_port) {
            (Some(from), Some(to)) if from != to => write!(f, "{protocol} {from}-{to} from {}", self.source),
            (Some(port), _) if port >= 0 => write!(f, "{protocol} {port} from {}", self.source),
            _ => write!(f, "{protocol} from {}", self.source),
        }
    }
}

/// The options of the instance metadata service that tagaudit sets, spelled as in the AWS CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataOption {
    /// State of the service.
    HttpEndpoint,
    /// Maximum number of hops of a token response.
    HttpPutResponseHopLimit,
    /// Readability of tags through the service; if enabled, EC2 refuses keys with a slash.
    InstanceMetadataTags,
}

impl MetadataOption {
    /// The option in the AWS CLI, without its leading dashes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HttpEndpoint => "http-endpoint",
            Self::HttpPutResponseHopLimit => "http-put-response-hop-limit",
            Self::InstanceMetadataTags => "instance-metadata-tags",
        }
    }

    /// Name within `MetadataOptions` in CloudFormation.
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
    /// The Amazon DNS server resolves names.
    EnableDnsSupport,
    /// Instances get DNS host names.
    EnableDnsHostnames,
}

impl VpcAttribute {
    /// The attribute in the AWS CLI, without its leading dashes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EnableDnsSupport => "enable-dns-support",
            Self::EnableDnsHostnames => "enable-dns-hostnames",
        }
    }

    /// CloudFormation property of this VPC attribute.
    #[must_use]
    pub fn property(self) -> &'static str {
        match self {
            Self::EnableDnsSupport => "EnableDnsSupport",
            Self::EnableDnsHostnames => "EnableDnsHostnames",
        }
    }
}

/// A value of an attribute. It is written as text; the attribute determines how to parse it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// The value of a tag, or an API value that tagaudit never sets.
    Text(String),
    /// A VPC attribute, or the source/destination check: `true` or `false`.
    Switch(bool),
    /// A state of the metadata service: `enabled` or `disabled`.
    State(State),
    /// The hop limit.
    Number(i32),
    /// A policy document, verbatim.
    Document(String),
    /// The policy is attached.
    Attached,
    /// The description of a resource, as JSON.
    Resource(String),
    /// The value of a tag of an Auto Scaling group, and its `PropagateAtLaunch`.
    GroupTag { value: String, propagates: bool },
}

/// The end of the text of a group's tag.
const PROPAGATES: [(&str, bool); 2] = [(" (propagates)", true), (" (does not propagate)", false)];

/// State of an option of the metadata service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Enabled,
    Disabled,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Document(text) | Self::Resource(text) => f.write_str(text),
            Self::Switch(on) => write!(f, "{on}"),
            Self::State(State::Enabled) => f.write_str("enabled"),
            Self::State(State::Disabled) => f.write_str("disabled"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Attached => f.write_str("attached"),
            Self::GroupTag { value, propagates } => {
                let end = PROPAGATES.iter().find(|(_, flag)| flag == propagates).map_or("", |(end, _)| end);
                write!(f, "{value}{end}")
            }
        }
    }
}

impl Value {
    /// The text of a policy document.
    #[must_use]
    pub fn document(&self) -> Option<&str> {
        match self {
            Self::Document(text) => Some(text),
            Self::Text(_)
            | Self::Switch(_)
            | Self::State(_)
            | Self::Number(_)
            | Self::Attached
            | Self::Resource(_)
            | Self::GroupTag { .. } => None,
        }
    }
}

impl Attribute {
    /// Parses a value of this attribute; `None` if it is invalid.
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<Value> {
        match self {
            Self::Tag { .. } | Self::IngressRule { .. } => Some(Value::Text(text.to_owned())),
            Self::TemplateTags { .. } => tag_specifications::parse(text).map(|_| Value::Text(text.to_owned())),
            Self::Resource {} => Some(Value::Resource(text.to_owned())),
            Self::GroupTag { .. } => PROPAGATES.iter().find_map(|(end, propagates)| {
                let value = text.strip_suffix(end)?.to_owned();
                Some(Value::GroupTag { value, propagates: *propagates })
            }),
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

    /// Permitted values, for a message about an invalid one.
    #[must_use]
    pub fn values(&self) -> &'static str {
        match self {
            Self::Tag { .. } | Self::IngressRule { .. } => "any text",
            Self::Resource {} => "a description as JSON",
            Self::TemplateTags { .. } => "tag specifications as sorted JSON",
            Self::GroupTag { .. } => "any text with ` (propagates)` or ` (does not propagate)`",
            Self::MetadataOption { option: MetadataOption::HttpPutResponseHopLimit } => "a number",
            Self::MetadataOption { .. } => "`enabled` or `disabled`",
            Self::VpcAttribute { .. } | Self::SourceDestCheck {} => "`true` or `false`",
            Self::InlinePolicy { .. } | Self::ManagedPolicy {} => "a policy document",
            Self::AttachedPolicy { .. } => "`attached`",
        }
    }

    /// True if a target can have this attribute.
    #[must_use]
    pub fn fits(&self, target: &Target) -> bool {
        let kind = target.kind;
        // ECS and RAM have fewer attributes that are written.
        if target.provider == Provider::Alibaba {
            return match self {
                Self::Tag { .. } => kind == ResourceKind::Instance,
                Self::AttachedPolicy { .. } => kind == ResourceKind::RamRole,
                Self::ManagedPolicy {} => kind == ResourceKind::Policy,
                Self::MetadataOption { .. }
                | Self::VpcAttribute { .. }
                | Self::SourceDestCheck {}
                | Self::InlinePolicy { .. }
                | Self::Resource {}
                | Self::GroupTag { .. }
                | Self::TemplateTags { .. }
                | Self::IngressRule { .. } => false,
            };
        }
        match self {
            Self::Tag { .. } => kind.is_ec2(),
            Self::MetadataOption { .. } | Self::SourceDestCheck {} => kind == ResourceKind::Instance,
            Self::VpcAttribute { .. } => kind == ResourceKind::Vpc,
            Self::InlinePolicy { .. } | Self::AttachedPolicy { .. } => kind == ResourceKind::Role,
            Self::ManagedPolicy {} => kind == ResourceKind::Policy,
            Self::Resource {} => {
                matches!(kind, ResourceKind::LoadBalancer | ResourceKind::TargetGroup | ResourceKind::SecurityGroup)
            }
            Self::IngressRule { .. } => kind == ResourceKind::SecurityGroup,
            Self::GroupTag { .. } => kind == ResourceKind::AutoScalingGroup,
            Self::TemplateTags { .. } => kind == ResourceKind::LaunchTemplate,
        }
    }

    /// Its name, for display.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Tag { key } | Self::GroupTag { key } => key.clone(),
            Self::MetadataOption { option } => option.name().to_owned(),
            Self::VpcAttribute { attribute } => attribute.name().to_owned(),
            Self::SourceDestCheck {} => "source-dest-check".to_owned(),
            Self::TemplateTags { version } => format!("tags of {}", version.name()),
            Self::InlinePolicy { name } => format!("inline policy {name}"),
            Self::ManagedPolicy {} => "document".to_owned(),
            Self::AttachedPolicy { policy_arn } => format!("attached policy {policy_arn}"),
            Self::Resource {} => "the resource".to_owned(),
            Self::IngressRule { rule } => format!("inbound rule {rule}"),
        }
    }

    /// True for a policy of IAM or RAM, or its attachment.
    #[must_use]
    pub fn is_iam(&self) -> bool {
        match self {
            Self::InlinePolicy { .. } | Self::ManagedPolicy {} | Self::AttachedPolicy { .. } => true,
            Self::Tag { .. }
            | Self::GroupTag { .. }
            | Self::TemplateTags { .. }
            | Self::MetadataOption { .. }
            | Self::VpcAttribute { .. }
            | Self::SourceDestCheck {}
            | Self::Resource {}
            | Self::IngressRule { .. } => false,
        }
    }
}

/// A change of one value of one attribute of one resource. It is serialised flat, with the values as text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition {
    pub target: Target,
    pub attribute: Attribute,
    /// The value before; `None` if there is none. In a finding also if any value is replaced.
    pub old: Option<Value>,
    /// The value after; `None` if it is removed.
    pub new: Option<Value>,
}

impl Transition {
    /// Sets an attribute, whatever its current value.
    #[must_use]
    pub fn set(target: Target, attribute: Attribute, new: Value) -> Self {
        Self { target, attribute, old: None, new: Some(new) }
    }

    /// Removes an attribute that has this value.
    #[must_use]
    pub fn remove(target: Target, attribute: Attribute, old: Value) -> Self {
        Self { target, attribute, old: Some(old), new: None }
    }

    /// The call that performs it.
    #[must_use]
    pub fn operation(&self) -> Operation {
        // The APIs have other operations.
        if self.target.provider == Provider::Alibaba {
            return aliyun::operation(self);
        }
        match (&self.attribute, &self.old, &self.new) {
            (Attribute::Tag { .. }, _, Some(_)) => Operation::CreateTags,
            (Attribute::Tag { .. }, _, None) => Operation::DeleteTags,
            (Attribute::GroupTag { .. }, _, Some(_)) => Operation::CreateOrUpdateGroupTags,
            (Attribute::GroupTag { .. }, _, None) => Operation::DeleteGroupTags,
            (Attribute::TemplateTags { .. }, ..) => Operation::CreateLaunchTemplateVersion,
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
            (Attribute::Resource {}, ..) => match self.target.kind {
                ResourceKind::LoadBalancer => Operation::DeleteLoadBalancer,
                ResourceKind::TargetGroup => Operation::DeleteTargetGroup,
                _ => Operation::DeleteSecurityGroup,
            },
            (Attribute::IngressRule { .. }, _, Some(_)) => Operation::AuthorizeSecurityGroupIngress,
            (Attribute::IngressRule { .. }, _, None) => Operation::RevokeSecurityGroupIngress,
        }
    }

    /// True if it takes away what a controller left behind: a resource, or a rule of a security group.
    #[must_use]
    pub fn removes_leftover(&self) -> bool {
        matches!(self.attribute, Attribute::Resource {} | Attribute::IngressRule { .. })
    }

    /// True if it deletes a resource, which nothing brings back.
    #[must_use]
    pub fn is_deletion(&self) -> bool {
        self.attribute == Attribute::Resource {}
    }

    /// The reverse transition.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { old: self.new.clone(), new: self.old.clone(), ..self.clone() }
    }

    /// The tag that it changes, if it changes one: key and, if set, the value.
    #[must_use]
    pub fn tag(&self) -> Option<(&str, Option<&Value>)> {
        match &self.attribute {
            Attribute::Tag { key } => Some((key, self.new.as_ref())),
            Attribute::GroupTag { .. }
            | Attribute::TemplateTags { .. }
            | Attribute::MetadataOption { .. }
            | Attribute::VpcAttribute { .. }
            | Attribute::SourceDestCheck {}
            | Attribute::InlinePolicy { .. }
            | Attribute::ManagedPolicy {}
            | Attribute::AttachedPolicy { .. }
            | Attribute::Resource {}
            | Attribute::IngressRule { .. } => None,
        }
    }
}
