//! The rule catalogue and its runner. A rule is one entry of [`RULES`]: what it says about itself, and one pure function.
//! `rules`, `explain`, `docs/rules.md` and the reports are all made from these entries.

use std::collections::HashMap;

use crate::controller::ControllerVersion;
use crate::finding::{Applicability, Cause, Fix, Key, ResourceRef, Severity};
use crate::inventory::{Account, Gap, Provider, Read, Tagged};
use crate::kubernetes::{DocumentKind, Evidence, Place};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::role_audit::{RoleAudit, RoleAudits};
use crate::tags;
use crate::view::{ClusterView, RegionView};

pub mod alibaba;
mod alibaba_identity;
mod alibaba_instance;
mod alibaba_kubernetes;
mod alibaba_network;
mod alibaba_node;
mod alibaba_policy;
mod alibaba_safety;
mod alibaba_service;
mod aws;
mod cloud_controller;
mod cluster_configuration;
mod files;
pub(crate) mod fix_safety;
mod iam;
mod instance;
mod instance_tags;
mod load_balancer_subnets;
mod metadata;
mod network;
mod node;
mod node_arguments;
mod orphans;
mod outcome;
mod ownership;
mod region;
mod run;
mod security_groups;
mod service;
mod storage;
mod subjects;
mod subnets;
mod unread_lists;

use region::{has, ids, instances_phrase, safe_if_certain};

pub(crate) use load_balancer_subnets::is_public;
pub use load_balancer_subnets::{Candidate, Scheme, choose_subnets};
pub use outcome::{Outcome, Outcomes, RuleOutcome};
pub use run::{RuleContext, Task, run};
pub use subjects::Subjects;

/// What is said of actions that a baseline asks for with limits, which a policy of our own would not have.
const LIMITED_ACTIONS: &str =
    "add the actions by hand, on the resources and under the conditions that the baseline names";

/// A rule of the catalogue.
#[derive(Debug)]
pub struct Rule {
    /// Stable id; waivers depend on it.
    pub id: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// How bad it is.
    pub severity: RuleSeverity,
    /// Resources it speaks about.
    pub resources: &'static [ResourceKind],
    /// When it reports.
    pub condition: &'static str,
    /// What breaks; the sentence of the finding unless the facts say it better.
    pub impact: &'static str,
    /// What fixes it.
    pub fix: &'static str,
    /// The most that `--fix` may do about it.
    pub applicability: Applicability,
    /// Where the controllers or documents decide this.
    pub sources: &'static [&'static str],
    /// A message it gives, as an example.
    pub example: &'static str,
    /// Reads without which it would be wrong: with a gap in one of them it is not run; with a gap of one resource, it is
    /// not said to have been checked there.
    pub reads: &'static [Read],
    /// What it looks at: where there is none of it, the rule does not apply.
    pub subjects: Subjects,
    /// The check.
    pub check: Check,
}

/// How bad the findings of a rule are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSeverity {
    /// As a rule.
    pub default: Severity,
    /// What it depends on, in words that begin with the default; `None` where it is always the same.
    pub note: Option<&'static str>,
}

impl RuleSeverity {
    const fn always(default: Severity) -> Self {
        Self { default, note: None }
    }

    const fn depends(default: Severity, note: &'static str) -> Self {
        Self { default, note: Some(note) }
    }

    /// The whole in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        self.note.unwrap_or(self.default.name())
    }
}

/// A check, by what it is done for one at a time. What could not be read of one leaves the others checked.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// A region of an account.
    Region(fn(&Context<'_>, &RegionView<'_>) -> Checked),
    /// A role of the nodes or of the controller, compared with its baseline.
    Role(fn(&Context<'_>, &RoleAudit<'_>) -> Checked),
    /// The instance profiles and roles of an account.
    Account(fn(&Context<'_>, &Account) -> Checked),
    /// The cluster in everything that was read.
    Cluster(fn(&Context<'_>) -> Checked),
    /// The Nodes of the cluster, where they are known.
    Kubernetes(fn(&Context<'_>, &[KubernetesNode]) -> Checked),
    /// What Kubernetes says beside what the cloud says.
    Joined(fn(&Context<'_>) -> Counted),
    /// What Kubernetes says, or files from which a cluster is made, on these clouds. No cloud is asked.
    Evidence(&'static [Provider], fn(&KubernetesContext<'_>) -> Counted),
    /// Something of Alibaba Cloud.
    Alibaba(alibaba::Check),
}

impl Rule {
    /// The clouds that it is about.
    #[must_use]
    pub fn providers(&self) -> &'static [Provider] {
        match self.check {
            Check::Evidence(providers, _) => providers,
            Check::Alibaba(_) => &[Provider::Alibaba],
            Check::Region(_)
            | Check::Role(_)
            | Check::Account(_)
            | Check::Cluster(_)
            | Check::Kubernetes(_)
            | Check::Joined(_) => &[Provider::Aws],
        }
    }
}

/// The rules of a list that are about a cloud.
#[must_use]
pub fn of_provider(rules: &[&'static Rule], provider: Provider) -> Vec<&'static Rule> {
    rules.iter().copied().filter(|rule| rule.providers().contains(&provider)).collect()
}

/// Whether a rule asks no cloud.
#[must_use]
pub fn is_on_evidence(rule: &Rule) -> bool {
    matches!(rule.check, Check::Evidence(..))
}

impl Check {
    /// Whether it looks at the policies of roles.
    #[must_use]
    pub fn is_of_policies(&self) -> bool {
        match self {
            Self::Role(_) | Self::Alibaba(alibaba::Check::Principal(_) | alibaba::Check::Trust(_)) => true,
            Self::Region(_)
            | Self::Account(_)
            | Self::Cluster(_)
            | Self::Kubernetes(_)
            | Self::Joined(_)
            | Self::Evidence(..)
            | Self::Alibaba(_) => false,
        }
    }

    /// True if it reads the state of the cluster in Kubernetes.
    fn is_on_kubernetes(&self) -> bool {
        match self {
            Self::Evidence(..)
            | Self::Kubernetes(_)
            | Self::Joined(_)
            | Self::Alibaba(alibaba::Check::Kubernetes(_) | alibaba::Check::Services(_)) => true,
            Self::Region(_) | Self::Role(_) | Self::Account(_) | Self::Cluster(_) | Self::Alibaba(_) => false,
        }
    }
}

/// The reason why a rule on Nodes does not apply.
const NODES_NOT_GIVEN: &str = "the Nodes are not known: give them with --kubernetes";

/// The clouds of which a rule on Kubernetes alone is.
const ANY_CLOUD: &[Provider] = &[Provider::Aws, Provider::Alibaba];
const AWS: &[Provider] = &[Provider::Aws];
const ALIBABA: &[Provider] = &[Provider::Alibaba];

/// True if a `ConfigMap` gives Alibaba Cloud's cloud controller an access key.
pub(crate) fn has_alibaba_key(evidence: &Evidence) -> bool {
    let mut maps = evidence.documents_of(DocumentKind::ConfigMap);
    maps.any(|map| alibaba_kubernetes::ali_cloud_config_content::cloud_config(map).is_some_and(|config| config.has_key))
}

/// Everything that a check on Kubernetes alone may look at.
#[derive(Debug, Clone, Copy)]
pub struct KubernetesContext<'a> {
    /// The audited cluster id.
    pub cluster_id: &'a str,
    /// What was given.
    pub evidence: &'a Evidence,
    /// The cloud that it is of, where that is known.
    pub cloud: Option<Provider>,
    /// `--controller-version`.
    pub controller_version: Option<ControllerVersion>,
    /// The cluster in an account of Alibaba Cloud, where one was read.
    pub alibaba: Option<&'a crate::alibaba::ClusterView<'a>>,
}

impl<'a> KubernetesContext<'a> {
    /// The Nodes, where they are of a cloud: the one that is audited, or else the one that a providerID or a cloud controller is of.
    fn nodes_of(&self, cloud: Provider) -> Result<&'a [KubernetesNode], &'static str> {
        let nodes = self.evidence.nodes.as_deref().ok_or(NODES_NOT_GIVEN)?;
        let names_it = |node: &KubernetesNode| match cloud {
            Provider::Aws => node.provider_id.starts_with("aws://"),
            Provider::Alibaba => crate::alibaba::provider_id::looks_like_one(
                node.provider_id.strip_prefix("alicloud://").unwrap_or(&node.provider_id),
            )
            .is_some(),
        };
        let is_told = || self.evidence.controllers().iter().any(|one| one.cloud == cloud) || nodes.iter().any(names_it);
        if self.cloud.map_or_else(is_told, |audited| audited == cloud) {
            return Ok(nodes);
        }
        Err("the Nodes are of another cloud, or nothing says of which")
    }

    /// The version of the cloud controller of Alibaba Cloud: what was said, or what its image says.
    fn alibaba_controller_version(&self) -> Option<ControllerVersion> {
        let controllers = self.evidence.controllers().iter().filter(|one| one.cloud == Provider::Alibaba);
        self.controller_version.or_else(|| controllers.filter_map(|one| one.version).min())
    }

    /// True if Alibaba Cloud's cloud controller is there and writes routes, which version 2 does unless it is told not to.
    fn alibaba_writes_routes(&self) -> bool {
        let mut controllers = self.evidence.controllers().iter().filter(|one| one.cloud == Provider::Alibaba);
        controllers.any(|one| one.knows_flags && one.is_on("configure-cloud-routes", true))
    }

    /// The version of the AWS cloud controller: what was said, or what its image says.
    fn aws_controller_version(&self) -> Option<ControllerVersion> {
        let controllers = self.evidence.controllers().iter().filter(|one| one.cloud == Provider::Aws);
        self.controller_version.or_else(|| controllers.filter_map(|one| one.version).max())
    }
}

/// What a check comes to.
#[derive(Debug)]
pub enum Checked {
    /// It was done, and found these.
    Done(Vec<Violation>),
    /// It says nothing here: why.
    NotApplicable(&'static str),
}

/// What a check came to, with the number of resources that it looked at.
#[derive(Debug)]
pub struct Counted {
    /// How many it looked at.
    pub checked: usize,
    /// What it found, or why it says nothing.
    pub outcome: Checked,
}

impl Counted {
    fn new(checked: usize, found: impl IntoIterator<Item = Violation>) -> Self {
        Self { checked, outcome: Checked::Done(once(found)) }
    }

    fn not_applicable(why: &'static str) -> Self {
        Self { checked: 0, outcome: Checked::NotApplicable(why) }
    }

    /// The same, except that finding nothing passes nothing where it is known why it could not.
    fn unless(self, why: Option<&'static str>) -> Self {
        match (why, &self.outcome) {
            (Some(why), Checked::Done(found)) if found.is_empty() => Self::not_applicable(why),
            _ => self,
        }
    }
}

/// What shows at one place of a file for several of what the file makes is told once, with all of them.
fn once(found: impl IntoIterator<Item = Violation>) -> Vec<Violation> {
    let mut all: Vec<Violation> = Vec::new();
    let mut told: HashMap<(Vec<Place>, String), usize> = HashMap::new();
    for violation in found {
        if violation.locations.is_empty() {
            all.push(violation);
            continue;
        }
        let first = *told.entry((violation.locations.clone(), violation.message.clone())).or_insert(all.len());
        match all.get_mut(first) {
            Some(first) if first.resource == violation.resource => {}
            Some(first) => first.related.push(violation.resource),
            None => all.push(violation),
        }
    }
    all
}

impl From<Vec<Violation>> for Checked {
    fn from(found: Vec<Violation>) -> Self {
        Self::Done(found)
    }
}

impl FromIterator<Violation> for Checked {
    fn from_iter<I: IntoIterator<Item = Violation>>(found: I) -> Self {
        Self::Done(found.into_iter().collect())
    }
}

impl Checked {
    /// It was done and found nothing.
    fn clean() -> Self {
        Self::Done(Vec::new())
    }
}

/// Everything a check may look at. No client, no clock, no environment.
#[derive(Debug)]
pub struct Context<'a> {
    /// The cluster.
    pub view: &'a ClusterView<'a>,
    /// The lists that could not be read, and those that contradict each other.
    pub gaps: &'a [Gap],
    /// The roles, compared with their baselines.
    pub roles: &'a RoleAudits<'a>,
    /// `--controller-version`.
    pub controller_version: Option<ControllerVersion>,
    /// `--controller-credentials elsewhere`.
    pub credentials_elsewhere: bool,
    /// `--cloud-routes`: the controller programs routes to pod networks.
    pub cloud_routes: bool,
    /// What Kubernetes says.
    pub kubernetes: &'a Evidence,
}

impl Context<'_> {
    /// The audited cluster id.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        self.view.cluster_id
    }

    /// What a check on Kubernetes alone looks at.
    fn on_kubernetes(&self) -> KubernetesContext<'_> {
        KubernetesContext {
            cluster_id: self.cluster_id(),
            evidence: self.kubernetes,
            cloud: Some(Provider::Aws),
            controller_version: self.controller_version,
            alibaba: None,
        }
    }

    fn cluster_key(&self) -> String {
        tags::cluster_key(self.view.cluster_id)
    }
}

/// What a check found; the runner adds what the rule knows.
#[derive(Debug)]
pub struct Violation {
    /// How bad.
    pub severity: Severity,
    /// The resource.
    pub resource: ResourceRef,
    /// Causes and further resources.
    pub related: Vec<ResourceRef>,
    /// Where it stands in files.
    pub locations: Vec<Place>,
    /// The facts.
    pub message: String,
    /// What breaks, where it says more than the rule does.
    pub impact: Option<String>,
    /// What fixes it.
    pub fix: Fix,
    /// What is wrong, by which the finding is known again.
    pub cause: Cause,
}

impl Violation {
    fn new(severity: Severity, resource: ResourceRef, message: impl Into<String>, fix: Fix) -> Self {
        let cause = Cause::Resource;
        let (related, locations) = (Vec::new(), Vec::new());
        Self { severity, resource, related, locations, message: message.into(), impact: None, fix, cause }
    }

    fn related(mut self, related: impl IntoIterator<Item = ResourceRef>) -> Self {
        self.related.extend(related);
        self
    }

    /// Where it stands in a file.
    fn at(mut self, place: &Place) -> Self {
        // What was read of a live cluster stands in no file.
        if !place.file.is_empty() {
            self.locations.push(place.clone());
        }
        self
    }

    fn cause(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    /// Distinguishes it from others of the same cause.
    fn with_respect_to(self, what: impl Into<Key>) -> Self {
        let cause = match &self.cause {
            Cause::Resource => Key::from(self.resource.id.as_str()),
            Cause::Group(group) => group.clone(),
            Cause::Pair(one, other) => one.clone().and(other.clone()),
        };
        self.cause(Cause::Pair(cause, what.into()))
    }

    /// Distinguishes what one cause leads to at several severities: the worst keeps the identity of the cause, so that a finding whose
    /// severity changes stays the same finding.
    fn of_rank(self, rank: usize) -> Self {
        if rank == 0 { self } else { self.with_respect_to(rank.to_string()) }
    }

    /// What breaks, where more is known than the rule says.
    fn impact(mut self, impact: Option<String>) -> Self {
        self.impact = impact;
        self
    }
}

/// Rules by id. The tables of each family stand in the file of the family.
pub static RULES: std::sync::LazyLock<Vec<&'static Rule>> = std::sync::LazyLock::new(|| {
    let families: [&'static [Rule]; 22] = [
        alibaba_identity::RULES,
        alibaba_instance::RULES,
        alibaba_kubernetes::RULES,
        alibaba_network::RULES,
        alibaba_node::RULES,
        alibaba_policy::RULES,
        alibaba_service::RULES,
        cloud_controller::RULES,
        cluster_configuration::RULES,
        iam::RULES,
        instance::RULES,
        instance_tags::RULES,
        metadata::RULES,
        network::RULES,
        node::RULES,
        node_arguments::RULES,
        orphans::RULES,
        ownership::RULES,
        security_groups::RULES,
        service::RULES,
        storage::RULES,
        subnets::RULES,
    ];
    let mut rules: Vec<&'static Rule> = families.into_iter().flatten().collect();
    rules.sort_by_key(|rule| rule.id);
    rules
});

/// The rule of an id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id).copied()
}

/// How alike a name has to be, of 1, for a rule to be what was meant.
const ALIKE: f64 = 0.8;

/// The rule that a name with a typing error may mean.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    crate::text::most_alike(name, RULES.iter().map(|rule| rule.id), ALIKE)
}
