//! Associations of EKS Pod Identity.

use serde::{Deserialize, Serialize};

/// The role that EKS Pod Identity provides to the Pods of a ServiceAccount.
/// Source: Amazon EKS API Reference, `PodIdentityAssociation`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodIdentity {
    /// Namespace of the ServiceAccount.
    pub namespace: String,
    /// Name of the ServiceAccount.
    pub service_account: String,
    /// ARN of the role that EKS assumes; absent if the association was listed but not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_arn: Option<String>,
    /// ARN of the role that EKS assumes with the credentials of the first one, and whose credentials the Pods get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_role_arn: Option<String>,
    /// True if EKS sets no session tags.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session_tags_disabled: bool,
}

impl PodIdentity {
    /// ARN of the role whose credentials the Pods get; `None` if the association was not read.
    #[must_use]
    pub fn credentials_role(&self) -> Option<&str> {
        self.target_role_arn.as_deref().or(self.role_arn.as_deref())
    }

    /// ARNs of its roles.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.role_arn.as_deref().into_iter().chain(self.target_role_arn.as_deref())
    }
}
