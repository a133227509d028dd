//! Permissions of tagaudit itself: the exact policy, and the reason for each action.

mod alibaba;
mod aws;
mod beyond;
mod kubernetes;

pub(crate) use alibaba::ReadsAlibaba;
pub use alibaba::{FIX_ALIBABA, SCAN_ALIBABA, fix_policy_alibaba, organization_policy_alibaba, scan_policy_alibaba};
pub use aws::{
    FIX, LAUNCH_TEMPLATES, LEFTOVERS, SCAN, fix_policy, launch_templates_policy, leftovers_policy, organization_policy,
    scan_policy,
};
pub(crate) use aws::{MULTI_ACCOUNT, WHY, scan_policy_without_balancers, why_policy, without_balancers};
pub(crate) use beyond::beyond;
pub(crate) use kubernetes::{WHY as WHY_KUBERNETES, kubernetes_roles};

/// A call of a scan.
#[derive(Debug)]
pub struct Permission {
    /// IAM action.
    pub action: &'static str,
    pub purpose: &'static str,
    /// Checks that are not possible without it; `None` if nothing works without it.
    pub without: Option<&'static str>,
}

/// Limits of the policy for a fix.
#[derive(Debug, Clone, Default)]
pub struct FixLimits {
    /// Partition of the ARNs.
    pub partition: String,
    /// Account; any if absent.
    pub account_id: Option<String>,
    /// Clusters whose tags may be written; any if empty.
    pub cluster_ids: Vec<String>,
    /// Roles whose policies may be added to, by ARN; without any, nothing is written in IAM.
    pub roles: Vec<String>,
    /// The role that tagaudit itself runs as, by ARN: anyone who may write its policies is an administrator.
    pub own_role: Option<String>,
}
