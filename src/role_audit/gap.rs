//! Roles that were not compared, or not completely.

use crate::inventory::{Gap, GapSubject, REASON_NOT_PROVIDED, Read};

/// A role that was not compared, or not completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGap {
    pub account_id: String,
    /// ARN of the role; if that was not read, its known part.
    pub role: String,
    pub cause: RoleGapCause,
}

/// Reason why a role was not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleGapCause {
    /// A call that was not made or failed; the call that would have returned it.
    NotRead(Read, Missing),
    /// The document of a policy is invalid.
    Malformed {
        /// Name or ARN of the policy.
        policy: String,
        /// The defect.
        error: String,
    },
    /// There is no verdict on an action; the rest of the role was compared.
    Undecided {
        action: String,
        /// Undecided conditions.
        by: Vec<String>,
    },
    /// The trust in its service is unknown; the permissions of the role were compared.
    Trust {
        /// The defect of the trust policy; absent if the answer depends on a condition.
        error: Option<String>,
    },
}

/// Part of a role that was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The role of an instance profile of the nodes, or the role of the nodes.
    OfNodes,
    /// The role that the operator named as the controller's.
    OfController,
    /// The role that a ServiceAccount gives a controller.
    OfServiceAccount,
    /// Trust policy, boundary and tags.
    Role,
    /// The list of inline policies.
    InlinePolicies,
    /// One inline policy, by name.
    InlinePolicy(String),
    /// The list of attached policies.
    AttachedPolicies,
    /// The policies attached in a resource group of Alibaba Cloud.
    ResourceGroupPolicies,
    /// Only the trust policy.
    TrustPolicy,
    /// One attached policy, by ARN.
    AttachedPolicy(String),
    /// The permissions boundary, by ARN.
    Boundary(String),
}

impl RoleGap {
    /// Its name in a report: the call, or the attempted operation.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match &self.cause {
            RoleGapCause::NotRead(read, _) => read.action(),
            RoleGapCause::Malformed { .. } | RoleGapCause::Undecided { .. } | RoleGapCause::Trust { .. } => {
                "policy document"
            }
        }
    }

    /// The reason, as a code.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match &self.cause {
            RoleGapCause::NotRead(..) => REASON_NOT_PROVIDED,
            RoleGapCause::Malformed { .. } | RoleGapCause::Trust { error: Some(_) } => "MalformedPolicy",
            RoleGapCause::Undecided { .. } | RoleGapCause::Trust { error: None } => "Undecided",
        }
    }

    /// The reason, for display.
    #[must_use]
    pub fn message(&self) -> String {
        match &self.cause {
            RoleGapCause::NotRead(_, missing) => match missing {
                Missing::OfNodes => "it was not read, so the nodes that use it were not compared".to_owned(),
                Missing::OfController => {
                    "the role of the controller was not read, so its permissions were not compared".to_owned()
                }
                Missing::OfServiceAccount => {
                    "the role of a ServiceAccount was not read, so its permissions were not compared".to_owned()
                }
                Missing::Role => "the role itself was not read, so its permissions boundary is unknown".to_owned(),
                Missing::InlinePolicies => "the inline policies were not read".to_owned(),
                Missing::InlinePolicy(name) => format!("inline policy `{name}` was not read"),
                Missing::AttachedPolicies => "the attached policies were not read".to_owned(),
                Missing::ResourceGroupPolicies => "the policies that hold in a resource group were not read".to_owned(),
                Missing::TrustPolicy => "the trust policy was not read".to_owned(),
                Missing::AttachedPolicy(arn) => format!("managed policy `{arn}` was not read"),
                Missing::Boundary(arn) => format!("permissions boundary `{arn}` was not read"),
            },
            RoleGapCause::Malformed { policy, error } => format!("policy `{policy}` cannot be evaluated: {error}"),
            RoleGapCause::Undecided { action, by } => format!("{action}: {}", by.join("; ")),
            RoleGapCause::Trust { error: Some(error) } => format!("the trust policy cannot be evaluated: {error}"),
            RoleGapCause::Trust { error: None } => {
                "the trust policy admits its service under a condition whose keys are known only at request time"
                    .to_owned()
            }
        }
    }

    /// True if only the trust policy is unknown, and the permissions of the role are known.
    #[must_use]
    pub fn concerns_trust_policy(&self) -> bool {
        match &self.cause {
            RoleGapCause::NotRead(_, missing) => *missing == Missing::TrustPolicy,
            RoleGapCause::Trust { .. } => true,
            RoleGapCause::Malformed { .. } | RoleGapCause::Undecided { .. } => false,
        }
    }

    /// The call that would have returned it, as a gap; `None` if everything was read.
    pub(crate) fn unread(&self) -> Option<Gap> {
        let RoleGapCause::NotRead(read, _) = self.cause else { return None };
        Some(Gap {
            read,
            account_id: Some(self.account_id.clone()),
            region: None,
            resource: Some(self.role.clone()),
            policy: None,
            reason: self.reason().to_owned(),
            message: self.message(),
        })
    }

    /// Role and reason, in one sentence.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("`{}`: {}", self.role, self.message())
    }

    /// True if the gap of a read covers it: the same failed call, or the requested policy.
    #[must_use]
    pub fn is_said_by(&self, read: &Gap) -> bool {
        let RoleGapCause::NotRead(call, missing) = &self.cause else { return false };
        if read.account_id.as_ref() != Some(&self.account_id) || !read.read.is_iam() {
            return false;
        }
        match (missing, read.subject()) {
            (Missing::InlinePolicy(wanted), GapSubject::InlinePolicy { role, name }) => {
                role == self.role && name == wanted
            }
            (Missing::AttachedPolicy(arn) | Missing::Boundary(arn), GapSubject::Resource(resource)) => resource == arn,
            (_, GapSubject::Resource(resource)) => *call == read.read && resource == self.role,
            (_, GapSubject::List | GapSubject::InlinePolicy { .. }) => false,
        }
    }
}
