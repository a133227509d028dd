//! Calls of the controllers, and the answers of policies to them.

use serde::Serialize;

use crate::controller::call_tags::{CallTags, TaggedCall};
use crate::policy::{StatementRef, Verdict};

/// A call of a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Call {
    pub(crate) action: &'static str,
    /// ARNs; `*` for a part that AWS chooses.
    pub(crate) resources: Vec<String>,
    /// Action that creates the resource, for tags that are part of a creation.
    #[serde(skip)]
    pub(crate) creation: Option<&'static str>,
    #[serde(skip)]
    pub(crate) request: CallTags,
    #[serde(skip)]
    pub(crate) resource: CallTags,
    /// The answer of the policies; absent if the role of the controller is not known.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<CallAnswer>,
}

/// What the policies of a role answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CallAnswer {
    pub(crate) verdict: Verdict,
    /// Statements that decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) because: Vec<StatementRef>,
    /// ARN of the role.
    pub(crate) role: String,
}

impl Call {
    /// A call without tags in the request. The tags of the resource are not known: a resource that is being created may count
    /// as one with the tags of the request.
    pub(super) fn new(action: &'static str, resources: Vec<String>) -> Self {
        let (request, resource) = (CallTags::default(), CallTags::unknown());
        Self { action, resources, creation: None, request, resource, answer: None }
    }

    /// The question for policies.
    pub(super) fn tagged(&self) -> TaggedCall<'_> {
        let Self { action, resources, creation, request, resource, .. } = self;
        TaggedCall { action, resources, creation: *creation, request, resource }
    }

    /// True if the role certainly may not make it.
    pub(crate) fn is_refused(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| matches!(answer.verdict, Verdict::Missing | Verdict::Denied))
    }

    /// True if it is not known if the role may make it.
    pub(crate) fn is_open(&self) -> bool {
        let verdict = self.answer.as_ref().map(|answer| answer.verdict);
        matches!(verdict, None | Some(Verdict::Partial | Verdict::Undecided))
    }
}
