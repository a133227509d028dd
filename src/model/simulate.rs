//! Simulation: what the controllers do with objects, in the world of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::aws::view::ClusterView;
use crate::controller::ControllerVersion;
use crate::kubernetes::{DocumentKind, Evidence, Service};

use super::decision::{Answer, Decision, ObjectName};
use super::world::{NoRegion, World};
use super::{cloud_provider_aws, load_balancer_controller};

/// Schema of [`Simulation`]; `docs/simulate.schema.json` describes it.
const SCHEMA: &str = "tagaudit.simulate/1";

/// A controller of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelledController {
    CloudProviderAws,
    LoadBalancerController,
}

impl ModelledController {
    const ALL: [Self; 2] = [Self::CloudProviderAws, Self::LoadBalancerController];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CloudProviderAws => cloud_provider_aws::NAME,
            Self::LoadBalancerController => load_balancer_controller::NAME,
        }
    }

    /// Name for display.
    pub(crate) fn describe(name: &str) -> &'static str {
        if name == cloud_provider_aws::NAME { "cloud controller" } else { "AWS Load Balancer Controller" }
    }

    fn newest(self) -> ControllerVersion {
        match self {
            Self::CloudProviderAws => cloud_provider_aws::NEWEST,
            Self::LoadBalancerController => load_balancer_controller::NEWEST,
        }
    }

    /// The first version of the model.
    fn oldest(self) -> ControllerVersion {
        match self {
            Self::CloudProviderAws => ControllerVersion::new(1, 20, 0),
            Self::LoadBalancerController => ControllerVersion::new(2, 5, 0),
        }
    }

    fn version_in(self, evidence: &Evidence) -> Option<ControllerVersion> {
        match self {
            Self::CloudProviderAws => cloud_provider_aws::Config::version_in(evidence),
            Self::LoadBalancerController => load_balancer_controller::Config::version_in(evidence),
        }
    }

    /// True if the controller runs, as far as the evidence shows.
    fn is_in(self, evidence: &Evidence) -> bool {
        match self {
            Self::CloudProviderAws => evidence.aws_controllers().next().is_some(),
            Self::LoadBalancerController => load_balancer_controller::Config::is_in(evidence),
        }
    }
}

/// Options of a simulation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// The only controller to ask.
    pub(crate) controller: Option<ModelledController>,
    /// Versions that the operator gives.
    pub(crate) versions: BTreeMap<ModelledController, ControllerVersion>,
}

/// Evidence for the version of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VersionSource {
    Option,
    Image,
    /// The newest version of the model: the version is not known.
    Assumed,
}

/// A controller that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AskedController {
    pub(crate) controller: &'static str,
    pub(crate) version: String,
    pub(crate) version_source: VersionSource,
    /// True if the evidence shows that it runs.
    pub(crate) is_running: bool,
}

/// The decisions about objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Simulation {
    pub(crate) schema: &'static str,
    pub(crate) cluster_id: String,
    pub(crate) region: String,
    pub(crate) controllers: Vec<AskedController>,
    /// One entry for each load balancer, or object that gets none: Ingresses first, then Services.
    pub(crate) objects: Vec<Decision>,
}

/// Reason why nothing is decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SimulationError {
    #[error(transparent)]
    Region(#[from] NoRegion),
    #[error("the model of the {controller} begins with version {oldest}, not {version}")]
    TooOld { controller: &'static str, version: ControllerVersion, oldest: ControllerVersion },
}

/// Adds objects to the evidence of a cluster, in place of those of the same name. A Service keeps its uid and status.
/// Returns the names of the Services and Ingresses among them.
pub(crate) fn with_objects(mut evidence: Evidence, mut objects: Evidence) -> (Evidence, BTreeSet<ObjectName>) {
    let mut names = BTreeSet::new();
    let mut given: Vec<Service> = objects.services.clone().unwrap_or_default();
    for service in &mut given {
        if service.namespace.is_empty() {
            "default".clone_into(&mut service.namespace);
        }
        let is_it = |one: &&Service| (&one.namespace, &one.name) == (&service.namespace, &service.name);
        if let Some(held) = evidence.services.iter().flatten().find(is_it)
            && service.uid.is_empty()
        {
            service.uid.clone_from(&held.uid);
            service.ingress.clone_from(&held.ingress);
            // The class of a Service cannot be removed.
            if service.load_balancer_class.is_none() {
                service.load_balancer_class.clone_from(&held.load_balancer_class);
            }
        }
        names.insert(object_name(service));
    }
    let is_replaced = |service: &Service| given.iter().any(|one| one.full_name() == service.full_name());
    if let Some(services) = &mut evidence.services {
        services.retain(|service| !is_replaced(service));
    }
    let of = |document: &crate::kubernetes::Document| {
        let object = document.object();
        let namespace = object.text(&["metadata", "namespace"]).unwrap_or("default").to_owned();
        let name = object.text(&["metadata", "name"]).unwrap_or_default().to_owned();
        (document.kind, namespace, name)
    };
    let own: BTreeSet<_> = objects.documents.iter().map(of).collect();
    evidence.documents.retain(|document| !own.contains(&of(document)));
    let ingresses = own.into_iter().filter(|(kind, ..)| *kind == DocumentKind::Ingress);
    names.extend(ingresses.map(|(_, namespace, name)| ObjectName { kind: "Ingress", namespace, name }));
    let new: BTreeSet<String> = given.iter().filter(|service| service.uid.is_empty()).map(Service::full_name).collect();
    objects.services = (!given.is_empty()).then_some(given);
    let mut all = evidence.and(objects);
    give_class(&mut all, &new);
    (all, names)
}

/// The webhook of the AWS Load Balancer Controller sets the class of new Services without one.
/// Source: aws-load-balancer-controller `webhooks/core/service_mutator.go#MutateCreate`.
fn give_class(evidence: &mut Evidence, new: &BTreeSet<String>) {
    if !load_balancer_controller::gives_a_class(evidence) {
        return;
    }
    let newest = ModelledController::LoadBalancerController.newest();
    let class = load_balancer_controller::Config::new(evidence, "", newest).class().to_owned();
    for service in evidence.services.iter_mut().flatten() {
        let lacks = service.is_load_balancer() && service.load_balancer_class.is_none();
        if lacks && new.contains(&service.full_name()) {
            service.load_balancer_class = Some(class.clone());
        }
    }
}

fn object_name(service: &Service) -> ObjectName {
    ObjectName { kind: "Service", namespace: service.namespace.clone(), name: service.name.clone() }
}

/// Decides about the named objects; about all of the evidence if none is named.
pub(crate) fn simulate(
    view: &ClusterView<'_>,
    evidence: &Evidence,
    subjects: &BTreeSet<ObjectName>,
    options: &Options,
) -> Result<Simulation, SimulationError> {
    let world = World::new(view, evidence)?;
    let is_subject = |name: &ObjectName| subjects.is_empty() || subjects.contains(name);
    let asked = asked(evidence, options)?;
    let mut objects: Vec<Decision> = Vec::new();
    let mut by_object: BTreeMap<ObjectName, Vec<Decision>> = BTreeMap::new();
    for (controller, version, _) in &asked {
        match controller {
            ModelledController::CloudProviderAws => {
                let config = cloud_provider_aws::Config::new(evidence, *version);
                for service in services(evidence).filter(|service| is_subject(&object_name(service))) {
                    let decision = cloud_provider_aws::decide(world, &config, service);
                    by_object.entry(decision.object.clone()).or_default().push(decision);
                }
            }
            ModelledController::LoadBalancerController => {
                let config = load_balancer_controller::Config::new(evidence, view.cluster_id, *version);
                for service in services(evidence).filter(|service| is_subject(&object_name(service))) {
                    let decision = load_balancer_controller::decide_service(world, &config, service);
                    by_object.entry(decision.object.clone()).or_default().push(decision);
                }
                let groups = load_balancer_controller::decide_groups(world, &config).into_iter();
                let is_meant = |one: &Decision| is_subject(&one.object) || one.members.iter().any(is_subject);
                for decision in groups.filter(is_meant) {
                    by_object.entry(decision.object.clone()).or_default().push(decision);
                }
            }
        }
    }
    for decisions in by_object.into_values() {
        // An object that a controller takes is not shown as one that another leaves.
        let (taken, left): (Vec<Decision>, Vec<Decision>) = decisions.into_iter().partition(|one| one.handled);
        if taken.is_empty() { objects.extend(left.into_iter().next()) } else { objects.extend(taken) }
    }
    Ok(Simulation {
        schema: SCHEMA,
        cluster_id: view.cluster_id.to_owned(),
        region: world.here().name.clone(),
        controllers: asked
            .into_iter()
            .map(|(controller, version, version_source)| AskedController {
                controller: controller.name(),
                version: version.to_string(),
                version_source,
                is_running: controller.is_in(evidence),
            })
            .collect(),
        objects: objects.into_iter().map(Decision::sorted).collect(),
    })
}

fn services(evidence: &Evidence) -> impl Iterator<Item = &Service> {
    evidence.services.iter().flatten()
}

/// Controllers to ask, with their versions: the one that is named, else those that run, else all of the model.
fn asked(
    evidence: &Evidence,
    options: &Options,
) -> Result<Vec<(ModelledController, ControllerVersion, VersionSource)>, SimulationError> {
    let running = ModelledController::ALL.into_iter().filter(|controller| controller.is_in(evidence));
    let mut controllers: Vec<ModelledController> = match options.controller {
        Some(only) => vec![only],
        None => running.collect(),
    };
    if controllers.is_empty() {
        controllers = ModelledController::ALL.to_vec();
    }
    let with_version = |controller: ModelledController| {
        let option = options.versions.get(&controller).map(|version| (*version, VersionSource::Option));
        let image = controller.version_in(evidence).map(|version| (version, VersionSource::Image));
        let (version, source) = option.or(image).unwrap_or((controller.newest(), VersionSource::Assumed));
        if version < controller.oldest() {
            let oldest = controller.oldest();
            return Err(SimulationError::TooOld {
                controller: ModelledController::describe(controller.name()),
                version,
                oldest,
            });
        }
        Ok((controller, version, source))
    };
    controllers.into_iter().map(with_version).collect()
}

impl Simulation {
    /// True if a controller stops with an error.
    pub(crate) fn has_failures(&self) -> bool {
        self.objects.iter().any(Decision::has_failed)
    }

    /// True if it is not known if a controller finishes.
    pub(crate) fn is_undecided(&self) -> bool {
        self.objects.iter().any(|one| one.error == Answer::Unknown)
    }
}
