//! The names that most rules use.

pub(super) use super::check_result::CheckResult;
pub(super) use super::kubernetes_context::KubernetesContext;
pub(super) use super::rule::{JudgedRoles, Prerequisite, Rule, RuleSeverity};
pub(super) use super::subjects::Subjects;
pub(super) use super::violation::Violation;
pub(super) use crate::finding::{Applicability, Cause, Choice, Fix, Key, ResourceRef, Severity};
pub(super) use crate::inventory::Read;
pub(super) use crate::resource::{ResourceKey, ResourceKind};
pub(super) use crate::text;
pub(super) use crate::transition::Transition;
