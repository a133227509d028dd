//! Reports: separate versioned types, so that internal changes do not break the scripts of users.

mod audit;
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

pub use crate::audit::{ActionReport, Configuration, ExcessReport, RoleReport};
pub use crate::estate::{Account, Source, SourceKind};
pub use crate::finding::ResourceRef;
pub use compare::{CompareError, PickError};
pub use finding::{Caveat, Choice, Finding, Fix, Location};
pub use kubernetes_lint::{LINT_SCHEMA, LintReport};
pub use migration::{
    CheckReport, MIGRATION_SCHEMA, MigrationReport, NotReadReport, SnippetReport, StageReport, StepReport,
};
pub use policy_diff::{POLICY_DIFF_SCHEMA, PolicyDiff, PolicyDiffFindings};
pub use policy_lint::{POLICY_LINT_SCHEMA, PolicyLintReport};
pub use read::{ReportError, SCHEMA, SET_SCHEMA};
pub use set::{
    MergeError, MergeInput, MergeLimits, PresentShard, ReportSet, SetSummary, Shards, TargetOutcome, TargetReport,
};
pub use v1::{Comparison, GoneFinding, NotAudited, Report, RuleOutcome, Summary, Tool};
pub use view::{Changes, Found, Gone, ReportView};
