//! Reports: separate versioned types, so that internal changes do not break the scripts of users.

mod audit;
mod cause;
mod compare;
mod consistency;
mod empty;
mod finding;
mod kubernetes_lint;
mod migration;
mod policy_diff;
mod policy_lint;
mod read;
mod set;
mod v1;
mod view;
mod waivers;

pub(crate) use crate::audit::{ActionReport, Configuration, RoleReport};
pub use crate::estate::SourceKind;
pub(crate) use crate::estate::{Account, Source};
pub use crate::finding::ResourceRef;
pub(crate) use cause::Cause;
pub(crate) use compare::CompareError;
pub(crate) use finding::{Finding, Fix, Location};
pub use kubernetes_lint::LINT_SCHEMA;
pub(crate) use kubernetes_lint::LintReport;
pub use migration::MIGRATION_SCHEMA;
pub(crate) use migration::MigrationReport;
pub(crate) use policy_diff::{PolicyDiff, PolicyDiffFindings};
pub use policy_lint::POLICY_LINT_SCHEMA;
pub(crate) use policy_lint::PolicyLintReport;
pub use read::SET_SCHEMA;
pub(crate) use read::{ReportError, SCHEMA};
pub use set::{MergeInput, MergeLimits, PresentShard, ReportSet, Shards, TargetOutcome, TargetReport};
pub(crate) use v1::{Comparison, GoneFinding, RuleOutcome, Summary, Tool};
pub use v1::{NotAudited, Report};
pub(crate) use view::{Found, Gone, ReportView};
pub(crate) use waivers::{Waivers, waivers};
