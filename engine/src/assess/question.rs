//! What is asked: an action with its resources, and what is known of the requests.

use crate::context::Context;
use crate::document::Condition;

use super::PreparedPolicies;

/// What is known of the requests that matter.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Partition of the account, such as `aws-cn`; any when empty.
    pub partition: String,
    /// Account whose resources are meant; any when empty.
    pub account_id: String,
    /// Regions whose resources are meant; any when empty.
    pub regions: Vec<String>,
    /// Context keys with a value known for every one of these requests.
    pub context: Context,
    /// Keys (lower-case) that none of these requests carries.
    pub absent: Vec<String>,
    /// Whether resources that are not of the service, in the account and region, are left out where the action has some that
    /// are: images belong to no account, address pools to no region.
    pub is_home_only: bool,
}

/// What is asked for: an action, on which resources.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    /// An action, or a pattern of which everything is meant.
    pub action: &'q str,
    /// The resources that are meant; all that the action can be done on when empty. Variables stand for what they are in each
    /// request.
    pub resources: &'q [String],
    /// For each of the resources the conditions that the requests which are meant fulfil; none when empty.
    pub conditions: &'q [Vec<Condition>],
    /// Policies whose Deny statements take requests out of what is meant: a baseline asks for nothing that it denies itself.
    pub except: Option<&'q PreparedPolicies>,
}

impl<'q> Question<'q> {
    /// Every request for an action on some resources; on all that it can be done on when there are none.
    #[must_use]
    pub fn on(action: &'q str, resources: &'q [String]) -> Self {
        Self { action, resources, conditions: &[], except: None }
    }
}
