//! The rule catalogue and its runner. A rule is one entry of [`RULES`]: its description and one pure function.
//! `rules`, `explain`, `docs/rules.md` and the reports are all generated from these entries.

use crate::inventory::Provider;
use crate::kubernetes::{DocumentKind, Evidence};
use crate::resource::ResourceKind;

pub(crate) mod alibaba;
mod alibaba_identity;
mod alibaba_ingress;
mod alibaba_instance;
mod alibaba_kubernetes;
mod alibaba_leftover;
mod alibaba_network;
mod alibaba_node;
mod alibaba_policy;
mod alibaba_service;
mod alibaba_traffic;
pub(crate) mod aws;
mod balancer_traffic;
mod check_result;
mod cloud_controller;
mod cluster_configuration;
mod controller_role;
mod iam;
mod ingress;
mod instance;
mod instance_tags;
mod karpenter;
mod kubernetes_context;
mod load_balancer_subnets;
mod load_balancers;
pub(crate) mod messages;
mod metadata;
mod network;
mod network_plugin;
mod node;
mod node_arguments;
mod orphans;
mod outcome;
mod ownership;
mod prelude;
mod region;
mod rule;
mod run;
pub(crate) mod safety;
mod scaling;
mod security_groups;
mod service;
mod service_account;
mod storage;
mod subjects;
mod subnets;
mod sync_failures;
pub(crate) mod translation;
mod violation;

pub(crate) use check_result::CheckResult;
pub(crate) use iam::COMPARED;
pub use kubernetes_context::KubernetesContext;
pub use outcome::Outcome;
pub(crate) use outcome::{Outcomes, RuleOutcome};
pub(crate) use rule::JudgedRoles;
pub(crate) use rule::Prerequisite;
pub use rule::{Check, Rule};
pub use run::run;
pub(crate) use violation::Violation;

/// Fix for actions that the baseline limits: a policy that tagaudit writes would not have the limits.
const LIMITED_ACTIONS: &str = "add the actions by hand, limited to the resources and conditions of the baseline";

/// The rules of a list that apply to a cloud.
#[must_use]
pub fn for_provider(rules: &[&'static Rule], provider: Provider) -> Vec<&'static Rule> {
    rules.iter().copied().filter(|rule| rule.providers().contains(&provider)).collect()
}

/// Clouds of a rule that depends on Kubernetes alone.
const ANY_CLOUD: &[Provider] = Provider::ALL;
const AWS: &[Provider] = Provider::AWS;
const ALIBABA: &[Provider] = Provider::ALIBABA;

/// True if a `ConfigMap` gives Alibaba Cloud's cloud controller an access key.
pub(crate) fn has_alibaba_key(evidence: &Evidence) -> bool {
    let mut maps = evidence.documents_by_kind(DocumentKind::ConfigMap);
    maps.any(|map| crate::kubernetes::alibaba_cloud_config::cloud_config(map).is_some_and(|config| config.has_key()))
}

/// Families of rules, by name, with their tables.
pub(crate) const FAMILIES: [(&str, &[Rule]); 30] = [
    ("alibaba-identity", alibaba_identity::RULES),
    ("alibaba-ingress", alibaba_ingress::RULES),
    ("alibaba-instance", alibaba_instance::RULES),
    ("alibaba-kubernetes", alibaba_kubernetes::RULES),
    ("alibaba-leftover", alibaba_leftover::RULES),
    ("alibaba-network", alibaba_network::RULES),
    ("alibaba-node", alibaba_node::RULES),
    ("alibaba-policy", alibaba_policy::RULES),
    ("alibaba-service", alibaba_service::RULES),
    ("cloud-controller", cloud_controller::RULES),
    ("cluster-configuration", cluster_configuration::RULES),
    ("controller-role", controller_role::RULES),
    ("iam", iam::RULES),
    ("instance", instance::RULES),
    ("instance-tags", instance_tags::RULES),
    ("ingress", ingress::RULES),
    ("karpenter", karpenter::RULES),
    ("metadata", metadata::RULES),
    ("network", network::RULES),
    ("node", node::RULES),
    ("node-arguments", node_arguments::RULES),
    ("orphans", orphans::RULES),
    ("ownership", ownership::RULES),
    ("load-balancers", load_balancers::RULES),
    ("scaling", scaling::RULES),
    ("security-groups", security_groups::RULES),
    ("service", service::RULES),
    ("service-account", service_account::RULES),
    ("storage", storage::RULES),
    ("subnets", subnets::RULES),
];

/// Name of the family of a rule.
#[must_use]
pub(crate) fn family(id: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(_, rules)| rules.iter().any(|rule| rule.id == id)).map(|(name, _)| *name)
}

/// All rules, sorted by id. The table of each family is in the family's file.
pub static RULES: std::sync::LazyLock<Vec<&'static Rule>> = std::sync::LazyLock::new(|| {
    let families = FAMILIES.map(|(_, rules)| rules);
    let mut rules: Vec<&'static Rule> = families.into_iter().flatten().collect();
    rules.sort_by_key(|rule| rule.id);
    rules
});

#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id).copied()
}

/// The requirement of an external cloud controller that a rule checks.
pub(crate) fn prerequisite(id: &str) -> Option<Prerequisite> {
    find(id).and_then(|rule| rule.migration)
}

/// True if the findings of a rule repeat the error at which the model of a controller stops.
pub(crate) fn restates_model(id: &str) -> bool {
    find(id).is_some_and(|rule| rule.restates_model)
}

/// True if a rule judges the roles of the nodes and of the cloud controller.
pub(crate) fn judges_nodes(id: &str) -> bool {
    find(id).is_some_and(Rule::judges_nodes)
}

/// True if a rule has findings on resources of a kind.
pub(crate) fn is_about(id: &str, kind: ResourceKind) -> bool {
    find(id).is_some_and(|rule| rule.resources.contains(&kind))
}

/// Minimum similarity, from 0 to 1, of a name to the id that is suggested for it.
const ALIKE: f64 = 0.8;

/// The id closest to a misspelt name; `None` if none is close.
#[must_use]
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    crate::text::most_alike(name, RULES.iter().map(|rule| rule.id), ALIKE)
}
