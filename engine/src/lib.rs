//! Policy engine: reads documents of AWS IAM and Alibaba Cloud RAM, and returns decisions with reasons. It has no
//! knowledge of EC2, Kubernetes or tags. [`Dialect`] has the differences between the two languages.
//!
//! - [`Document`] reads policies losslessly, with the position of every element ([`json`]).
//! - [`PreparedPolicies::decide`] answers one request: allowed, explicitly or implicitly denied, and by which statements.
//! - [`PreparedPolicies::assess`] answers for all resources at once, over a partly known context: granted, partial,
//!   denied, missing or undecided, with the statements, the conditions, and the remainder that is not granted.
//! - [`Catalogue`] describes every action: its access level, resource types and condition keys.
//!
//! `docs/policy-engine.md` states the guarantees of each part, and where AWS's documentation is silent.

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
    Assessment, Decided, DeniedOn, Environment, Limit, MatchedStatement, NamedDocument, NotGranted, OpenCondition,
    PolicySet, PreparedPolicies, Question, Stage, StageKind, StatementRef, Verdict, control_levels,
};
pub use catalogue::{AccessLevel, Action, Catalogue, CatalogueError, ConditionKey, ResourceType, Service};
pub use context::{Context, ContextValue};
pub use dialect::{DIALECTS, Dialect, IAM, RAM};
pub use document::{Condition, Document, DocumentError, Effect, Element, Guard, Malformed, Principal, Statement};
pub use escalation::{EscalationPath, Step};
pub use evaluate::{Caller, Decision, Request, trusts};
pub use excess::{Excess, ExcessGrants, ServiceExcess, excess, tightened};
pub use glob::{contains, intersects, matches};
pub use methods::{Impact, METHODS, Method, RAM_METHODS};
pub use needed::Need;
pub use operator::{Comparison, Operator, Operators, Order, Quantifier};
pub use repeated::RepeatedKey;
pub use shrink::shrink;
pub use text::{Text, TextPart};
