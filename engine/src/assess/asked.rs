//! Resources and conditions of a question, prepared for a region of the resources.

use crate::automaton::Language;
use crate::condition::{Compiled, Truth};
use crate::context::Context;
use crate::document::Condition;
use crate::pattern::Match;
use crate::truth::{Atom, Expression};

use super::Prepared;
use super::judge::Active;
use super::scope::ActionScope;

/// Resources in question, and the statements that deny a part of them.
#[derive(Clone, Copy)]
pub(super) struct Requested<'q> {
    pub(super) resources: &'q [RequestedResource<'q>],
    pub(super) denies: &'q [(&'q Prepared, Match)],
}

/// Resources and denying statements in question, within one region.
#[derive(Clone, Copy, Default)]
pub(super) struct RequestedInRegion<'q> {
    /// Name of the region; `None` for actions without one.
    pub(super) region: Option<&'q str>,
    pub(super) resources: &'q [RequestedResource<'q>],
    pub(super) denies: &'q [Active<'q>],
}

/// A resource pattern in question, with the conditions that the requests in question fulfil.
pub(super) struct RequestedResource<'q> {
    pub(super) language: Language,
    /// Set if a variable of the pattern has a different value in each request.
    pub(super) uncertainty: Option<Atom>,
    /// True if the pattern covers all resources.
    pub(super) is_everything: bool,
    pub(super) conditions: &'q [Condition],
}

impl RequestedResource<'_> {
    pub(super) fn expression(&self, context: &Context, scope: &ActionScope<'_>) -> Expression {
        let compiled = self.conditions.iter().filter_map(|condition| Compiled::new(condition, scope.dialect, true));
        let each = compiled.map(|condition| match condition.truth(context, |key| scope.is_absent(key)) {
            Truth::True => Expression::True,
            Truth::False => Expression::False,
            Truth::Unknown => Expression::from_condition(&condition),
        });
        Expression::All(each.chain(self.uncertainty.clone().map(Expression::Atom)).collect())
    }
}
