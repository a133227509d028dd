//! Many accounts in one run: the targets to read, and the callbacks that receive them.

use std::fmt;

use crate::estate::Estate;
use crate::inventory::{Gap, Read};
use crate::target::{Member, Target};

/// Account of the credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) account_id: String,
    /// Partition; `alibaba` in Alibaba Cloud.
    pub(crate) partition: String,
    /// Configured region.
    pub(crate) home_region: Option<String>,
}

/// Accounts of an organization.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    /// Accounts that were listed.
    pub(crate) members: Vec<Member>,
    /// Reason the list may be incomplete.
    pub(crate) gap: Option<Gap>,
}

/// Targets to read, and the callbacks that receive them.
pub(crate) struct ManyTargets<'t> {
    /// True to list the accounts of the organization.
    pub(crate) organization: bool,
    /// Accounts that are read concurrently.
    pub(crate) at_once: usize,
    /// Chooses the targets to read, from the account of the credentials and the members of the organization.
    pub(crate) choose: &'t mut dyn FnMut(&Identity, Members) -> Vec<Target>,
    /// Clusters of a target to audit in addition to those that are found.
    #[cfg_attr(
        not(feature = "aws"),
        expect(dead_code, reason = "in Alibaba Cloud the roles of all instances are read")
    )]
    pub(crate) also: &'t dyn Fn(&Target) -> Vec<String>,
    /// Receives the evidence of a target, or the gap if it was not read.
    pub(crate) take: &'t mut dyn FnMut(Target, Result<Estate, Box<Gap>>),
}

impl fmt::Debug for ManyTargets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { organization, at_once, .. } = self;
        f.debug_struct("ManyTargets")
            .field("organization", organization)
            .field("at_once", at_once)
            .finish_non_exhaustive()
    }
}

/// Gap of a target that was not read.
pub(crate) fn unread_target(target: &Target, reason: &str, message: &str) -> Gap {
    Gap {
        read: Read::GetCallerIdentity,
        account_id: Some(target.account_id.clone()),
        region: None,
        resource: None,
        policy: None,
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

/// Gap of a target whose credentials belong to another account.
pub(crate) fn of_other_account(target: &Target, account_id: &str) -> Gap {
    let message = match &target.role {
        Some(role) => format!("the role {role} gives credentials of account {account_id}"),
        None => format!("the credentials are of account {account_id}, and no role is named to assume in this one"),
    };
    unread_target(target, "OtherAccount", &message)
}
