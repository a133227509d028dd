//! The entry of a rule in the catalogue: its texts, its scope and its check.

use crate::aws::Account;
use crate::aws::roles::RoleAudit;
use crate::aws::view::RegionView;
use crate::finding::{Applicability, Severity};
use crate::inventory::kubernetes::List;
use crate::inventory::{Provider, Read};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;

use super::check_result::CheckResult;
use super::kubernetes_context::KubernetesContext;
use super::subjects::Subjects;
use super::{alibaba, aws};

/// Roles of ServiceAccounts that a rule judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JudgedRoles {
    None,
    /// Those that ServiceAccounts of controllers may assume.
    Trusted,
    /// Those that controllers use.
    OfControllers,
    /// The trust policies of those that ServiceAccounts name.
    TrustPolicies,
}

/// A rule of the catalogue.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact about the rule")]
pub struct Rule {
    /// Stable id; waivers depend on it.
    pub id: &'static str,
    /// The defect, in a few words.
    pub title: &'static str,
    /// Severity of its findings.
    pub severity: RuleSeverity,
    /// Kinds of resources that its findings are about.
    pub resources: &'static [ResourceKind],
    /// Condition under which it reports.
    pub condition: &'static str,
    /// Consequence of the defect; a finding repeats it unless the check states a more specific one.
    pub impact: &'static str,
    /// Repair, as an imperative.
    pub fix: &'static str,
    /// The most that `--fix` may do about it.
    pub applicability: Applicability,
    /// Code of the controllers, or documentation, that decides this.
    pub sources: &'static [&'static str],
    /// Example of its message.
    pub example: &'static str,
    /// Reads without which it would be wrong: with a gap in one of them it is not run; with a gap of one resource, that
    /// resource does not count as checked.
    pub reads: &'static [Read],
    /// Lists of a live cluster without which it reports nothing, other than those that every rule on its kinds of resources
    /// needs.
    pub(crate) lists: &'static [List],
    /// Resources that it checks; if there are none, the rule does not apply.
    pub subjects: Subjects,
    /// Runs whatever `--rule` selects: its finding is the reason for which every other rule is silent.
    pub always_runs: bool,
    /// A fix may create its findings for a neighbouring cluster: they report a state that an answer of the operator
    /// intends, or one that existed before.
    pub spares_neighbours: bool,
    /// It reports what a cluster or a Service left behind: deleting a part of that may leave the rest.
    pub reports_leftovers: bool,
    /// Its findings repeat the error at which the model of a controller stops, and name no other cause.
    pub restates_model: bool,
    /// True if its findings on workloads are defects with which none of their Pods can run.
    pub stops_workloads: bool,
    /// True if it reports workloads none of whose Pods runs.
    pub reports_stopped: bool,
    /// Roles of ServiceAccounts that it judges: one that was not read is not audited.
    pub(crate) judges: JudgedRoles,
    /// Its findings are about rights beyond need or secrets in the open.
    pub is_about_security: bool,
    /// The step of a migration to the external cloud controller that it decides.
    pub migration: Option<Prerequisite>,
    pub check: Check,
    /// The check of files, where the other one needs an account.
    pub(crate) on_files: Option<fn(&KubernetesContext<'_>) -> CheckResult>,
}

/// Requirements of a migration to the external cloud controller that rules decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prerequisite {
    /// Cluster tags of instances, subnets and security groups.
    Tags,
    /// Policies of control planes and workers.
    Policies,
    /// Instance profiles and the metadata service.
    Profiles,
    /// Names of Nodes.
    Names,
    /// Services of type `LoadBalancer`.
    Services,
    /// The cloud controller and its configuration.
    Controller,
    /// The EBS CSI driver.
    Storage,
    /// Instances of Nodes.
    Instances,
    /// Zone labels of Nodes.
    Labels,
}

/// A check, by cloud.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// A cluster in AWS.
    Aws(aws::Check),
    /// A cluster in Alibaba Cloud.
    Alibaba(alibaba::Check),
    /// The state in Kubernetes, or files from which a cluster is made, on these clouds. No cloud is asked.
    Evidence(&'static [Provider], fn(&KubernetesContext<'_>) -> CheckResult),
}

/// Severity of the findings of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSeverity {
    pub default: Severity,
    /// Text that states the default and its exceptions; `None` if the severity is always the same.
    pub note: Option<&'static str>,
}

impl RuleSeverity {
    pub(super) const fn always(default: Severity) -> Self {
        Self { default, note: None }
    }

    pub(super) const fn depends(default: Severity, note: &'static str) -> Self {
        Self { default, note: Some(note) }
    }

    /// The note, or else the name of the default.
    #[must_use]
    pub fn describe(self) -> &'static str {
        self.note.unwrap_or(self.default.name())
    }
}

impl Rule {
    /// The parts that most rules share: no fix, no reads, nothing special. The texts are given by each rule.
    const fn with(check: Check, subjects: Subjects) -> Self {
        Self {
            id: "",
            title: "",
            severity: RuleSeverity::always(Severity::Error),
            resources: &[],
            condition: "",
            impact: "",
            fix: "",
            applicability: Applicability::None,
            sources: &[],
            example: "",
            reads: &[],
            lists: &[],
            subjects,
            always_runs: false,
            spares_neighbours: false,
            reports_leftovers: false,
            restates_model: false,
            stops_workloads: false,
            reports_stopped: false,
            judges: JudgedRoles::None,
            is_about_security: false,
            migration: None,
            check,
            on_files: None,
        }
    }

    /// A rule on each region of an AWS account; counts the members.
    pub(super) const fn region(check: fn(&aws::Context<'_>, &RegionView<'_>) -> CheckResult) -> Self {
        Self::with(Check::Aws(aws::Check::Region(check)), Subjects::Members)
    }

    /// True if it judges the roles of the nodes and of the cloud controller.
    pub(super) fn judges_nodes(&self) -> bool {
        matches!(self.check, Check::Aws(aws::Check::Role(_)))
    }

    /// A rule on each compared role.
    pub(super) const fn role(check: fn(&aws::Context<'_>, &RoleAudit<'_>) -> CheckResult) -> Self {
        Self::with(Check::Aws(aws::Check::Role(check)), Subjects::ComparedRoles)
    }

    /// A rule on each AWS account; counts the instance profiles of the members.
    pub(super) const fn account(check: fn(&aws::Context<'_>, &Account) -> CheckResult) -> Self {
        Self::with(Check::Aws(aws::Check::Account(check)), Subjects::MemberProfiles)
    }

    /// A rule on a cluster in AWS as a whole.
    pub(super) const fn cluster(check: fn(&aws::Context<'_>) -> CheckResult) -> Self {
        Self::with(Check::Aws(aws::Check::Cluster(check)), Subjects::Cluster)
    }

    /// A rule on the Nodes of a cluster in AWS.
    pub(super) const fn nodes(check: fn(&aws::Context<'_>, &[KubernetesNode]) -> CheckResult) -> Self {
        Self::with(Check::Aws(aws::Check::Nodes(check)), Subjects::KubernetesNodes)
    }

    /// A rule that compares the state in Kubernetes with AWS.
    pub(super) const fn joined(check: fn(&aws::Context<'_>) -> CheckResult) -> Self {
        Self::with(Check::Aws(aws::Check::Joined(check)), Subjects::Evidence)
    }

    /// A rule on the state in Kubernetes or on files, for clusters in these clouds.
    pub(super) const fn evidence(
        clouds: &'static [Provider],
        check: fn(&KubernetesContext<'_>) -> CheckResult,
    ) -> Self {
        Self::with(Check::Evidence(clouds, check), Subjects::Evidence)
    }

    /// A rule on a cluster in Alibaba Cloud; counts what its check is made for.
    pub(super) const fn alibaba(check: alibaba::Check) -> Self {
        let subjects = match check {
            alibaba::Check::Region(_) => Subjects::Members,
            alibaba::Check::Principal(_) | alibaba::Check::Trust(_) => Subjects::RamPrincipals,
            alibaba::Check::Cluster(_) => Subjects::Cluster,
            alibaba::Check::Nodes(_) => Subjects::KubernetesNodes,
            alibaba::Check::Services(_) => Subjects::Services,
        };
        Self::with(Check::Alibaba(check), subjects)
    }

    /// Clouds that the rule applies to.
    #[must_use]
    pub fn providers(&self) -> &'static [Provider] {
        match self.check {
            Check::Evidence(providers, _) => providers,
            Check::Alibaba(_) => Provider::ALIBABA,
            Check::Aws(_) => Provider::AWS,
        }
    }

    /// True if it can check files without an account.
    #[must_use]
    pub fn runs_on_files(&self) -> bool {
        self.is_on_evidence() || self.on_files.is_some()
    }

    /// True if it asks no cloud.
    #[must_use]
    pub fn is_on_evidence(&self) -> bool {
        matches!(self.check, Check::Evidence(..))
    }
}

impl Check {
    /// True if it inspects the policies of roles.
    #[must_use]
    pub fn inspects_policies(&self) -> bool {
        matches!(
            self,
            Self::Aws(aws::Check::Role(_)) | Self::Alibaba(alibaba::Check::Principal(_) | alibaba::Check::Trust(_))
        )
    }

    /// True if it is made once for all Nodes.
    #[must_use]
    pub fn inspects_nodes(&self) -> bool {
        matches!(self, Self::Aws(aws::Check::Nodes(_)) | Self::Alibaba(alibaba::Check::Nodes(_)))
    }

    /// True if it reads the state of the cluster in Kubernetes.
    pub(super) fn is_on_kubernetes(&self) -> bool {
        match self {
            Self::Evidence(..)
            | Self::Aws(aws::Check::Nodes(_) | aws::Check::Joined(_))
            | Self::Alibaba(alibaba::Check::Nodes(_) | alibaba::Check::Services(_)) => true,
            Self::Aws(_) | Self::Alibaba(_) => false,
        }
    }
}
