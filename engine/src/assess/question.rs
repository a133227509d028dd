//! A question: an action with its resources, and the known context of the requests.

use crate::context::Context;
use crate::document::Condition;

use super::PreparedPolicies;

/// Known facts about the requests in question.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Partition of the account, such as `aws-cn`; any when empty.
    pub partition: String,
    /// Account of the resources; any when empty.
    pub account_id: String,
    /// Regions of the resources; any when empty.
    pub regions: Vec<String>,
    /// Context keys whose value is known for every request in question.
    pub context: Context,
    /// Context keys (lower-case) absent from every request in question.
    pub absent: Vec<String>,
    /// True to ignore resource types without the service, account and region in their names if the action has other
    /// types: images have no account, address pools no region.
    pub is_home_only: bool,
}

/// An action and its resources.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    /// An action, or a pattern, which stands for all actions that it covers.
    pub action: &'q str,
    /// Resources in question; if empty, all that the action supports. Variables have their value in each request.
    pub resources: &'q [String],
    /// For each resource the conditions that the requests in question fulfil; none when empty.
    pub conditions: &'q [Vec<Condition>],
    /// Policies whose Deny statements exclude requests from the question: a baseline does not need what it denies
    /// itself.
    pub except: Option<&'q PreparedPolicies>,
}

impl<'q> Question<'q> {
    /// Asks about every request for an action on some resources, or on all that it supports if none is given.
    #[must_use]
    pub fn on(action: &'q str, resources: &'q [String]) -> Self {
        Self { action, resources, conditions: &[], except: None }
    }
}
