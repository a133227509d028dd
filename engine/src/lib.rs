//! The policy engine: documents of AWS IAM and Alibaba Cloud RAM in, decisions with reasons out. It knows nothing of EC2,
//! Kubernetes or tags. What differs between the two languages is in [`Dialect`].
//!
//! - [`Document`] reads policies losslessly, with the place of every element ([`json`]).
//! - [`decide`] answers one request: allowed, explicitly or implicitly denied, and by which statements.
//! - [`PreparedPolicies::assess`] answers for all resources at once, over what is known of the requests: granted, partial,
//!   denied, missing or undecided, with the statements, the conditions, and what is left over.
//! - [`Catalogue`] knows every action: its access level, resource types and condition keys.
//!
//! `docs/policy-engine.md` says what each part promises, and where AWS's documents are silent.

mod assess;
mod automaton;
mod catalogue;
mod condition;
mod context;
mod dialect;
pub mod display;
mod document;
mod escalation;
mod evaluate;
mod excess;
mod glob;
mod global_keys;
pub mod json;
pub mod lint;
mod methods;
mod needed;
mod operator;
mod pattern;
mod repeated;
mod shrink;
pub mod templates;
mod text;
mod truth;
mod variables;
pub mod yaml;

pub use assess::{
    Assessment, DeniedOn, Environment, Limit, NamedDocument, NotGranted, OpenCondition, PolicySet, PreparedPolicies,
    Question, Stage, StageKind, StatementRef, Verdict, control_levels,
};
pub use catalogue::{AccessLevel, Action, Catalogue, CatalogueError, ConditionKey, ResourceType, Service};
pub use context::{Context, ContextValue};
pub use dialect::{DIALECTS, Dialect, IAM, RAM};
pub use document::{Condition, Document, DocumentError, Effect, Element, Guard, Malformed, Principal, Statement};
pub use escalation::{EscalationPath, Step};
pub use evaluate::{Caller, CompiledPolicy, Decision, Matched, Policies, Request, decide, trusts};
pub use excess::{Beyond, Excess, ServiceExcess, excess, tightened};
pub use glob::{contains, intersects, matches};
pub use methods::{Gain, METHODS, Method, RAM_METHODS};
pub use needed::Need;
pub use operator::{Comparison, Operator, Operators, Order, Quantifier};
pub use repeated::RepeatedKey;
pub use shrink::shrink;
pub use text::{Text, TextPart};
