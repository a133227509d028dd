//! Instance profiles, roles and their policies.

use serde::{Deserialize, Serialize};

use crate::tags::Tag;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceProfileAssociation {
    /// `iip-assoc-…`.
    pub id: String,
    pub instance_id: String,
    pub instance_profile_arn: String,
    /// `associating`, `associated`, `disassociating` or `disassociated`.
    pub state: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceProfile {
    pub arn: String,
    /// True if IAM still has it; an instance keeps showing a deleted profile.
    pub exists: bool,
    /// Names of its roles; IAM allows one.
    pub roles: Vec<String>,
}

/// A role with everything that determines its permissions. A part that could not be read is absent, with a gap that
/// states why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    pub name: String,
    pub arn: String,
    /// `AROA…`: changes when a role is deleted and re-created under the same name.
    pub role_id: String,
    pub path: String,
    /// Trust policy, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_policy: Option<String>,
    /// ARN of the permissions boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions_boundary: Option<String>,
    /// Inline policies; absent when they could not all be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_policies: Option<Vec<InlinePolicy>>,
    /// ARNs of the attached managed policies; absent when they could not be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached_policies: Option<Vec<String>>,
    /// Tags, sorted by key; absent when `GetRole` was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Tag>>,
}

/// The services of service-linked roles, by the paths of roles.
/// Source: AWS IAM User Guide, "Create a service-linked role": `/aws-service-role/SERVICE/`.
pub(crate) fn linked_services<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<String> {
    let services = paths.filter_map(|path| path.strip_prefix("/aws-service-role/")?.strip_suffix('/'));
    let services: std::collections::BTreeSet<&str> = services.collect();
    services.into_iter().map(str::to_owned).collect()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlinePolicy {
    pub name: String,
    /// Document, verbatim; absent when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// A managed policy in its default version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManagedPolicy {
    pub arn: String,
    /// Id of the default version, such as `v3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
    /// Document, verbatim; absent when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}
