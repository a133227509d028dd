//! Policy engine: reads documents of AWS IAM and Alibaba Cloud RAM, and returns decisions with reasons. It has no
//! knowledge of EC2, Kubernetes or tags. [`Dialect`] has the differences between the two languages.
//!
//! - [`Document`] reads policies losslessly, with the position of every element ([`json`]).
//! - [`PreparedPolicies::decide`] answers one request: allowed, explicitly or implicitly denied, and by which statements.
//! - [`PreparedPolicies::assess`] answers for all resources at once, over a partly known context: granted, partial,
//!   denied, missing or undecided, with the statements, the conditions, and the remainder that is not granted.
//! - [`Catalogue`] describes every action: its access level, resource types and condition keys.
//!
//! A set of policies is built once, prepared once, and then asked:
//!
//! ```
//! use tagaudit_policy::{
//!     Catalogue, Document, Environment, NamedDocument, PolicySet, PreparedPolicies, Question, Verdict,
//! };
//!
//! let allow = Document::parse(
//!     r#"{"Statement": [{"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}]}"#,
//! )?;
//! let boundary = Document::parse(
//!     r#"{"Statement": [{"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}]}"#,
//! )?;
//! let set = PolicySet::from(allow)
//!     .with_boundary(Some(NamedDocument { name: "boundary".into(), document: boundary }));
//! let policies = PreparedPolicies::new(&set);
//! let ask = |action| policies.assess(Question::on(action, &[]), &Environment::default(), Catalogue::embedded());
//! assert_eq!(ask("ec2:DescribeVpcs").verdict, Verdict::Granted);
//! assert_eq!(ask("ec2:CreateTags").verdict, Verdict::Denied);
//! # Ok::<(), tagaudit_policy::DocumentError>(())
//! ```
//!
//! An answer depends on its question alone: each has a budget of work, so hostile policies end undecided, not in minutes,
//! and the types can be shared between threads.
//!
//! `docs/policy-engine.md` states the guarantees of each part, and where AWS's documentation is silent.

#![warn(missing_docs)]

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
