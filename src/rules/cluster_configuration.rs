//! Files that define clusters: RKE2, K3s, Rancher, RKE, kubeadm, and the kubelet's image credentials. All of these
//! rules need such files.

use std::collections::BTreeSet;

use super::{CheckResult, KubernetesContext, Rule, Violation};
use crate::finding::{Fix, ResourceRef, Severity};
use crate::kubernetes::arguments::{ComponentArgument, NodeArguments, Started};
use crate::kubernetes::images::private_ecr_host;
use crate::kubernetes::{CloudController, Document, DocumentKind, Evidence, Located, Object, Place, Workload, is_true};
use crate::resource::ResourceKind;
use crate::text;

mod ali_kubelet_provider_id_unset;
mod ccm_cloud_config_invalid;
mod cloud_provider_unknown;
mod component_argument_misspelt;
mod component_cloud_provider_mixed;
mod ecr_config_does_not_match;
mod ecr_config_invalid;
mod ecr_credential_flag_alone;
mod ecr_credential_provider_missing;
mod embedded_manifest_malformed;
mod helm_chart_not_bootstrap;
mod helm_chart_unknown;
mod kcm_external_volume_plugin;
mod key_repeated;
mod kubeadm_extra_args_shape;
mod kubeadm_version_refused;
mod kubelet_cloud_provider_missing;
mod leader_migration_config_invalid;
mod leader_migration_kcm_external;
mod leader_migration_left_on;
mod leader_migration_lock_denied;
mod leader_migration_one_side;
mod leader_migration_single_control_plane;
mod node_name_constant;
mod object_field_type;
mod provider_id_constant;
mod rancher_chart_values_unknown;
mod rancher_machine_metadata_off;
mod rancher_machine_profile_arn;
mod rancher_machine_tags_invalid;
mod rancher_selector_config_misindented;
mod rancher_selector_matches_no_machine;
mod rancher_selector_replaces_list;
mod rke2_cloud_options_conflict;
mod rke2_cloud_provider_aws;
mod rke_extra_args_cloud_provider;
mod rke_in_tree_aws_removed;
mod rke_key_unknown;
mod rke_metadata_hostname_off;
mod servicelb_beside_cloud_controller;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/cluster_configuration.rs"));

/// Reason that rules on ECR registries do not apply.
const NOTHING_PULLED: &str = "no given workload pulls from a private ECR registry with the kubelet's credentials";

/// True if a configuration belongs to the cluster that a controller is declared for: both are in one file, or
/// everything that was given has one such declaration. Among several, as for production and test, the right one is
/// unknown.
pub(super) fn is_declared_for<'c>(controllers: impl Iterator<Item = &'c CloudController>, place: &Place) -> bool {
    let files: BTreeSet<&str> = controllers.map(|one| &*one.place().file).collect();
    files.contains(&*place.file) || files.len() == 1
}

/// True for a value of `cloud-provider` that is a misspelling of `external`.
fn is_misspelt_external(value: &str) -> bool {
    /// Similarity, from 0 to 1, from which on a provider counts as misspelt.
    const ALIKE: f64 = 0.8;
    value != "external" && text::most_alike(value, ["external"], ALIKE).is_some()
}

/// Runs a check on each document of a kind.
fn for_each_document(
    context: &KubernetesContext<'_>,
    kind: DocumentKind,
    check: impl Fn(&Document) -> Vec<Violation>,
) -> CheckResult {
    let documents: Vec<&Document> = context.evidence.documents_by_kind(kind).collect();
    if documents.is_empty() {
        return CheckResult::not_applicable(match kind {
            DocumentKind::RancherCluster => "no Rancher cluster was given",
            DocumentKind::RancherMachine => "no `Amazonec2Config` and no `NodeTemplate` of Rancher was given",
            DocumentKind::RkeCluster => "no RKE `cluster.yml` was given",
            DocumentKind::Kubeadm => "no kubeadm configuration was given",
            DocumentKind::CredentialProviderConfig => "no image credential configuration was given",
            DocumentKind::LeaderMigration => "no leader migration configuration was given",
            _ => "no such configuration was given",
        });
    }
    CheckResult::counted(documents.len(), documents.into_iter().flat_map(check))
}

/// The machine settings of a document of Rancher: those of an `Amazonec2Config`, or of a `NodeTemplate` for Amazon EC2.
fn machine_settings(document: &Document) -> Option<Object<'_>> {
    match document.kind_name() {
        "NodeTemplate" => document.object().at(&["amazonec2Config"]),
        _ => Some(document.object()),
    }
}

/// Workloads that pull from a private ECR registry with the kubelet's credentials alone, with each of their images from
/// there.
fn pulled_with_the_kubelets_credentials<'e>(
    context: &KubernetesContext<'e>,
) -> Vec<(&'e Workload, &'e Located<String>)> {
    let evidence = context.evidence;
    let has_secrets = |workload: &Workload| {
        evidence.documents_by_kind(DocumentKind::ServiceAccount).map(Document::object).any(|account| {
            let text = |key: &str| account.text(&["metadata", key]).unwrap_or_default();
            text("name") == workload.service_account
                && text("namespace") == workload.namespace
                && account.items(&["imagePullSecrets"]).next().is_some()
        })
    };
    let workloads = evidence.workloads.iter().filter(|workload| workload.pull_secrets.is_empty());
    let images = workloads.flat_map(|workload| workload.pulled_images().map(move |image| (workload, image)));
    let private = images.filter(|(_, image)| private_ecr_host(&image.value).is_some());
    private.filter(|(workload, _)| !has_secrets(workload)).collect()
}

/// Runs a check on everything that starts nodes: Nodes that report their arguments, and configurations.
fn for_each_arguments(
    context: &KubernetesContext<'_>,
    check: impl Fn(&NodeArguments) -> Option<Violation>,
) -> CheckResult {
    let all = context.evidence.arguments();
    if all.is_empty() {
        return CheckResult::not_applicable("no Node reports its arguments, and no configuration was given");
    }
    CheckResult::counted(all.len(), all.iter().filter_map(check))
}

/// `enable-leader-migration` among the arguments of kube-controller-manager, if it is on.
fn migration<'a, 'g>(given: &'g [ComponentArgument<'a>]) -> Option<&'g ComponentArgument<'a>> {
    let found = given.iter().rfind(|argument| argument.name == "enable-leader-migration");
    found.filter(|found| found.value.is_empty() || is_true(found.value))
}

/// A finding on a configuration, at a place in it.
fn on(
    name: &str,
    severity: Severity,
    place: &Place,
    what: &str,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Violation {
    let resource = ResourceRef::bare(ResourceKind::ClusterConfig, name);
    Violation::new(severity, resource, message, Fix::none(fix)).at(place).with_respect_to(what)
}

/// A finding on what starts nodes: on the Node, or on the configuration at a place in it.
/// Units of the kubelet that count for a configuration: those in files, and those that the same object writes.
fn units_for<'e>(evidence: &'e Evidence, started: &'e Started) -> impl Iterator<Item = &'e NodeArguments> {
    let wrappers = || evidence.documents_by_kind(DocumentKind::KubeadmWrapper);
    let holds = |document: &Document, place: &Place| {
        let whole = document.object().place();
        whole.file == place.file
            && (whole.line, whole.column) <= (place.line, place.column)
            && (place.line, place.column) <= (whole.end_line, whole.end_column)
    };
    evidence.kubelet_units.iter().filter(move |unit| {
        let (Started::Declared { place: of_unit, .. }, Started::Declared { place, .. }) = (&unit.started, started)
        else {
            return true;
        };
        wrappers().find(|document| holds(document, of_unit)).is_none_or(|document| holds(document, place))
    })
}

fn on_started(
    arguments: &NodeArguments,
    severity: Severity,
    place: Option<&Place>,
    what: &str,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Violation {
    match &arguments.started {
        Started::Declared { place: whole, .. } => {
            on(&arguments.started.name(), severity, place.unwrap_or(whole), what, message, fix)
        }
        Started::Node(name) => {
            let resource = ResourceRef::bare(ResourceKind::Node, name);
            Violation::new(severity, resource, message, Fix::none(fix)).with_respect_to(what)
        }
    }
}
