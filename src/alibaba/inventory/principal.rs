//! Principals of RAM and their policies.

use serde::{Deserialize, Serialize};

use crate::inventory::Read;

/// Kind of principal to which a policy is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrincipalKind {
    /// A RAM role.
    Role,
    /// A RAM user.
    User,
    /// A group of users.
    Group,
}

impl PrincipalKind {
    /// Word in sentences and resource names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::User => "user",
            Self::Group => "group",
        }
    }

    /// Read that lists its policies.
    #[must_use]
    pub fn policies_read(self) -> Read {
        match self {
            Self::Role => Read::ListPoliciesForRole,
            Self::User => Read::ListPoliciesForUser,
            Self::Group => Read::ListPoliciesForGroup,
        }
    }
}

/// A RAM role, user or group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    pub kind: PrincipalKind,
    pub name: String,
    /// Id that distinguishes a role from a deleted one of the same name; absent if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Trust policy of a role, verbatim; absent if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_policy: Option<String>,
    /// Policies that apply in the whole account; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// Policies that apply in one resource group; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_group_attachments: Option<Vec<Attachment>>,
    /// Names of the groups of a user; absent for other principals, and if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
}

impl Principal {
    /// Principal of which nothing has been read yet.
    #[must_use]
    pub fn new(kind: PrincipalKind, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            id: None,
            trust_policy: None,
            attachments: None,
            resource_group_attachments: None,
            groups: None,
        }
    }
}

/// Owner of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PolicyType {
    /// Alibaba Cloud.
    System,
    /// The account.
    Custom,
}

impl PolicyType {
    /// Spelling of the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "System",
            Self::Custom => "Custom",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// Owner of the policy.
    pub policy_type: PolicyType,
    /// Name of the policy.
    pub policy: String,
    /// Resource group in which it applies; absent if it applies in the whole account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_group_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Owner.
    pub policy_type: PolicyType,
    pub name: String,
    /// Version in effect, such as `v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_version: Option<String>,
    /// Document, verbatim; absent if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Number of users, groups and roles to which it is attached; absent if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment_count: Option<u64>,
}

/// Control policies of one node of the Resource Directory: its root, a folder or the account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlPolicyLevel {
    /// Id of the node.
    pub node_id: String,
    /// Policies that are attached to it, by name.
    pub policies: Vec<Policy>,
}
