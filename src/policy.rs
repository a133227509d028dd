//! The policy engine: IAM documents in, decisions with reasons out. It knows nothing of EC2, Kubernetes or tags.
//!
//! What it answers today is "may a holder of these policies do this action on everything the action can be done on, and
//! if not, why": [`assess`] says granted, partial, denied or missing, with the statements that decided.

mod assess;
mod condition;
mod document;
mod excess;
mod glob;

pub use assess::{Assessment, Environment, Layer, NamedDocument, StatementRef, Verdict, assess};
pub use document::{Condition, Document, DocumentError, Effect, Element, Principal, Statement};
pub use excess::{AccessLevel, Excess, excess};
pub use glob::{contains, intersects, matches};
