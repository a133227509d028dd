//! Roles that were not compared, or not wholly.

use crate::inventory::{Gap, GapSubject, REASON_NOT_PROVIDED, Read};

/// A role that was not compared, or not wholly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGap {
    /// Its account.
    pub account_id: String,
    /// ARN of the role; what is known of it where that was not read.
    pub role: String,
    /// Why.
    pub cause: RoleGapCause,
}

/// Why a role was not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleGapCause {
    /// A call that nobody made, or that failed; the call that would have shown it.
    NotRead(Read, Missing),
    /// The document of a policy is none.
    Malformed {
        /// Name or ARN of the policy.
        policy: String,
        /// What is wrong with it.
        error: String,
    },
    /// There is no verdict on an action; the rest of the role was compared.
    Undecided {
        /// The action.
        action: String,
        /// What it hangs on.
        by: Vec<String>,
    },
    /// Whether the role trusts its service is not known; what it may do is compared.
    Trust {
        /// What is wrong with the trust policy; absent where it hangs on a condition.
        error: Option<String>,
    },
}

/// What of a role was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// Which role the profile of the nodes holds, or the role of the nodes.
    OfNodes,
    /// The role that the operator named as the controller's.
    OfController,
    /// Trust policy, boundary and tags.
    Role,
    /// The list of inline policies.
    InlinePolicies,
    /// One of them, by name.
    InlinePolicy(String),
    /// The list of attached policies.
    AttachedPolicies,
    /// The policies that hold in a resource group of Alibaba Cloud.
    ResourceGroupPolicies,
    /// The trust policy, and nothing else.
    TrustPolicy,
    /// One of them, by ARN.
    AttachedPolicy(String),
    /// The permissions boundary, by ARN.
    Boundary(String),
}

impl RoleGap {
    /// What it is called in a report: the call, or what was being done.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match &self.cause {
            RoleGapCause::NotRead(read, _) => read.action(),
            RoleGapCause::Malformed { .. } | RoleGapCause::Undecided { .. } | RoleGapCause::Trust { .. } => {
                "policy document"
            }
        }
    }

    /// The reason, in a word.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match &self.cause {
            RoleGapCause::NotRead(..) => REASON_NOT_PROVIDED,
            RoleGapCause::Malformed { .. } | RoleGapCause::Trust { error: Some(_) } => "MalformedPolicy",
            RoleGapCause::Undecided { .. } | RoleGapCause::Trust { error: None } => "Undecided",
        }
    }

    /// What happened, for a person.
    #[must_use]
    pub fn message(&self) -> String {
        match &self.cause {
            RoleGapCause::NotRead(_, missing) => match missing {
                Missing::OfNodes => "the nodes that have it were not compared: it was not read".to_owned(),
                Missing::OfController => {
                    "the role of the controller was not read, so its permissions were not compared".to_owned()
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
                "the trust policy lets its service in under a condition whose keys are not known before the request"
                    .to_owned()
            }
        }
    }

    /// Whether only the trust policy is unknown: what the role may do is not.
    #[must_use]
    pub fn is_of_trust(&self) -> bool {
        match &self.cause {
            RoleGapCause::NotRead(_, missing) => *missing == Missing::TrustPolicy,
            RoleGapCause::Trust { .. } => true,
            RoleGapCause::Malformed { .. } | RoleGapCause::Undecided { .. } => false,
        }
    }

    /// The whole in a sentence.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("`{}`: {}", self.role, self.message())
    }

    /// Whether the gap of a read says the same: it is the call that failed, or the policy that was asked for.
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
