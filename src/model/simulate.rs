//! Simulation: what the controllers do with objects, in the world of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::alibaba;
use crate::aws::view::ClusterView;
use crate::controller::ControllerVersion;
use crate::kubernetes::{DocumentKind, Evidence, Service};

use super::decision::{Answer, Decision, ModelledController, ObjectName};
use super::limits::{self, Room};
use super::objects::{Objects, object_name};
use super::world::{Given, Index, NoRegion, World, only_region, region_of};
use super::{cloud_provider_alibaba, cloud_provider_aws, load_balancer_controller, together};

/// Schema of [`Simulation`]; `docs/simulate.schema.json` describes it.
const SCHEMA: &str = "tagaudit.simulate/1";

impl ModelledController {
    /// Controllers of clusters in Alibaba Cloud.
    const OF_ALIBABA: [Self; 1] = [Self::CloudProviderAlibaba];

    /// Controllers of clusters in AWS.
    pub(crate) const OF_AWS: [Self; 2] = [Self::CloudProviderAws, Self::LoadBalancerController];

    pub(super) fn newest(self) -> ControllerVersion {
        match self {
            Self::CloudProviderAws => cloud_provider_aws::NEWEST,
            Self::LoadBalancerController => load_balancer_controller::NEWEST,
            Self::CloudProviderAlibaba => cloud_provider_alibaba::NEWEST,
        }
    }

    /// The first version of the model.
    fn oldest(self) -> ControllerVersion {
        match self {
            Self::CloudProviderAws => ControllerVersion::new(1, 20, 0),
            Self::LoadBalancerController => ControllerVersion::new(2, 5, 0),
            Self::CloudProviderAlibaba => cloud_provider_alibaba::OLDEST,
        }
    }

    /// The versions that may run where none is stated: the first of each minor version, and the newest; ascending.
    /// Cloud controllers before v1.22 are not among them: no supported Kubernetes has one since 2022.
    pub(super) fn releases(self) -> Vec<ControllerVersion> {
        let first = |major| move |minor| ControllerVersion::new(major, minor, 0);
        let mut all: Vec<ControllerVersion> = match self {
            Self::CloudProviderAws => (22..=36).map(first(1)).collect(),
            Self::LoadBalancerController => (5..=17).map(first(2)).chain((0..=5).map(first(3))).collect(),
            Self::CloudProviderAlibaba => cloud_provider_alibaba::RELEASES.to_vec(),
        };
        all.push(self.newest());
        all.dedup();
        all
    }

    pub(crate) fn version_in(self, evidence: &Evidence) -> Option<ControllerVersion> {
        match self {
            Self::CloudProviderAws => cloud_provider_aws::Config::version_in(evidence),
            Self::LoadBalancerController => load_balancer_controller::Config::version_in(evidence),
            Self::CloudProviderAlibaba => cloud_provider_alibaba::Config::version_in(evidence),
        }
    }

    /// True if the controller runs, as far as the evidence shows.
    pub(crate) fn is_in(self, evidence: &Evidence) -> bool {
        match self {
            Self::CloudProviderAws => evidence.aws_controllers().next().is_some(),
            Self::LoadBalancerController => load_balancer_controller::Config::is_in(evidence),
            Self::CloudProviderAlibaba => evidence.alibaba_controllers().next().is_some(),
        }
    }
}

/// Note of a Service whose class is assumed.
const ASSUMED_CLASS: &str = "its class is that of the webhook that the chart of the AWS Load Balancer Controller creates by default; the webhook was not given";

/// Options of a simulation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// The only controller to ask.
    pub(crate) controller: Option<ModelledController>,
    /// Versions that the operator gives.
    pub(crate) versions: BTreeMap<ModelledController, ControllerVersion>,
    /// The only kind of objects to decide about.
    pub(crate) kind: Option<ObjectKind>,
    /// True to forget the targets of each load balancer of Alibaba Cloud once its decision is made: they take the memory of
    /// all Nodes for each Service.
    pub(crate) forgets_targets: bool,
}

/// A kind of objects that load balancers are created for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Service,
    Ingress,
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
    pub(crate) controller: ModelledController,
    pub(crate) version: String,
    pub(crate) version_source: VersionSource,
    /// The newest version of the model, if that of the controller is newer still: it decides in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) modelled_as: Option<String>,
    /// ARNs of the roles with whose policies its calls are compared; empty if they are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) roles: Vec<String>,
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
    /// What the decisions assume because it was not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) assumptions: Vec<&'static str>,
    /// One entry for each load balancer, or object that gets none: Ingresses first, then Services.
    pub(crate) objects: Vec<Decision>,
    /// Limits of the account that new load balancers meet; empty if they were not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) room: Vec<Room>,
    /// Objects that a controller may create load balancers for, and that the model has no decision about.
    pub(crate) not_modelled: Vec<ObjectName>,
}

/// Note at a Service with a deletion timestamp.
const BEING_DELETED: &str = "the Service is being deleted: the controller that created its load balancer deletes it";

/// An existing load balancer keeps its scheme, and with the AWS Load Balancer Controller its subnets.
/// Sources: kubernetes-sigs/aws-load-balancer-controller `pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnets`;
/// kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancer`.
const ASSUMED_NEW: &str =
    "the load balancers of the region were not read: an object without an address is decided as a new one";

/// Reason why nothing is decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SimulationError {
    #[error(transparent)]
    Region(#[from] NoRegion),
    #[error("the model of the {controller} begins with version {oldest}, not {version}")]
    TooOld { controller: &'static str, version: ControllerVersion, oldest: ControllerVersion },
}

/// Decides about the named objects; about all of the evidence if none is named.
pub(crate) fn simulate(
    view: &ClusterView<'_>,
    objects: &Objects<'_>,
    options: &Options,
) -> Result<Simulation, SimulationError> {
    let not_modelled = objects.not_modelled(&[]);
    let Objects { evidence, subjects, namespace, ingresses, with_assumed_class } = objects;
    let evidence: &Evidence = evidence;
    let region = region_of(view)?;
    let index = Index::new(region.region);
    let world = World::new(view, region, evidence, Given { namespace, ingresses }, &index);
    let is_subject = |name: &ObjectName| subjects.is_empty() || subjects.contains(name);
    let asked = asked(evidence, options, &ModelledController::OF_AWS)?;
    let has = |kind: ObjectKind| options.kind.is_none_or(|only| only == kind);
    let services =
        || services(evidence).filter(|service| has(ObjectKind::Service) && is_subject(&object_name(service)));
    let mut objects: Vec<Decision> = Vec::new();
    let mut by_object: BTreeMap<ObjectName, Vec<Decision>> = BTreeMap::new();
    for (controller, version, _) in &asked {
        match controller {
            ModelledController::CloudProviderAws => {
                let config = cloud_provider_aws::Config::new(evidence, *version);
                for service in services() {
                    let decision = cloud_provider_aws::decide(world, &config, service);
                    by_object.entry(decision.object.clone()).or_default().push(decision);
                }
            }
            ModelledController::LoadBalancerController => {
                let config = load_balancer_controller::Config::new(evidence, view.cluster_id, *version);
                for service in services() {
                    let decision = load_balancer_controller::decide_service(world, &config, service);
                    by_object.entry(decision.object.clone()).or_default().push(decision);
                }
                let groups = has(ObjectKind::Ingress).then(|| load_balancer_controller::decide_groups(world, &config));
                let is_meant = |one: &Decision| is_subject(&one.object) || one.members.iter().any(is_subject);
                for decision in groups.into_iter().flatten().filter(is_meant) {
                    by_object.entry(decision.object.clone()).or_default().push(decision);
                }
            }
            // It is in no cluster of AWS.
            ModelledController::CloudProviderAlibaba => {}
        }
    }
    for decision in by_object.values_mut().flatten() {
        // Every range is an IPv4 range to the cloud controller: `pkg/providers/v1/aws.go#EnsureLoadBalancer`.
        decision.may_be_refused_by_ec2(decision.controller == ModelledController::CloudProviderAws);
        if decision.controller == ModelledController::LoadBalancerController
            && decision.handled
            && with_assumed_class.contains(&decision.object)
        {
            decision.notes.push(ASSUMED_CLASS.to_owned());
        }
    }
    note_deleted(by_object.values_mut().flatten(), evidence);
    for decisions in by_object.into_values() {
        // An object that a controller takes is not shown as one that another leaves.
        let (taken, left): (Vec<Decision>, Vec<Decision>) = decisions.into_iter().partition(|one| one.handled);
        if taken.is_empty() { objects.extend(left.into_iter().next()) } else { objects.extend(taken) }
    }
    together::join_rules(&mut objects);
    together::compare_names(&mut objects);
    limits::rules(world.here(), &mut objects);
    let room = limits::room(world.here(), &mut objects);
    let asked = asked_controllers(asked, evidence);
    let objects = objects.into_iter().map(Decision::sorted).collect();
    let (cluster_id, region) = (view.cluster_id.to_owned(), world.here().name.clone());
    let is_unread = world.here().load_balancing.is_none();
    let assumptions = is_unread.then_some(ASSUMED_NEW).into_iter().collect();
    Ok(Simulation { schema: SCHEMA, cluster_id, region, controllers: asked, assumptions, objects, room, not_modelled })
}

/// Decides about the named Services of a cluster in Alibaba Cloud; about all of the evidence if none is named.
pub(crate) fn simulate_alibaba(
    view: &alibaba::ClusterView<'_>,
    objects: &Objects<'_>,
    options: &Options,
) -> Result<Simulation, SimulationError> {
    let region = region_of_alibaba(view)?;
    let evidence: &Evidence = &objects.evidence;
    let is_subject = |name: &ObjectName| objects.subjects.is_empty() || objects.subjects.contains(name);
    let asked = asked(evidence, options, &ModelledController::OF_ALIBABA)?;
    let world = cloud_provider_alibaba::World { cluster_id: view.cluster_id, region, evidence };
    let mut decisions: Vec<Decision> = Vec::new();
    for (_, version, _) in &asked {
        let config = cloud_provider_alibaba::Config::new(evidence, world.cluster_id, *version);
        let services = services(evidence).filter(|service| is_subject(&object_name(service)));
        decisions.extend(services.map(|service| {
            let mut decision = cloud_provider_alibaba::decide(world, &config, service);
            if options.forgets_targets {
                decision.forget_targets();
            }
            decision.sorted()
        }));
    }
    note_deleted(decisions.iter_mut(), evidence);
    decisions.sort_by(|one, other| one.object.cmp(&other.object));
    let controllers = asked_controllers(asked, evidence);
    let (cluster_id, region) = (view.cluster_id.to_owned(), region.region.name.clone());
    let not_modelled = objects.not_modelled(&[DocumentKind::Ingress]);
    Ok(Simulation {
        schema: SCHEMA,
        cluster_id,
        region,
        controllers,
        assumptions: Vec::new(),
        objects: decisions,
        room: Vec::new(),
        not_modelled,
    })
}

/// Notes at Services that are being deleted why no controller takes them.
fn note_deleted<'d>(decisions: impl Iterator<Item = &'d mut Decision>, evidence: &Evidence) {
    let deleted = evidence.services.iter().flatten().filter(|service| service.deleted_at.is_some());
    let deleted: BTreeSet<ObjectName> = deleted.map(object_name).collect();
    for decision in decisions.filter(|one| !one.handled && deleted.contains(&one.object)) {
        decision.notes.push(BEING_DELETED.to_owned());
    }
}

/// The one region of a cluster in Alibaba Cloud.
pub(super) fn region_of_alibaba<'a>(
    view: &'a alibaba::ClusterView<'a>,
) -> Result<&'a alibaba::RegionView<'a>, NoRegion> {
    only_region(&view.regions, |one| !one.members.is_empty(), |one| one.region.name.as_str())
}

/// The controllers that were asked, for the answer.
fn asked_controllers(asked: Vec<Asked>, evidence: &Evidence) -> Vec<AskedController> {
    let asked = asked.into_iter().map(|(controller, version, version_source)| AskedController {
        controller,
        version: version.to_string(),
        version_source,
        modelled_as: version.is_beyond(controller.newest()).then(|| controller.newest().to_string()),
        roles: Vec::new(),
        is_running: controller.is_in(evidence),
    });
    asked.collect()
}

/// A controller, with its version.
type Asked = (ModelledController, ControllerVersion, VersionSource);

fn services(evidence: &Evidence) -> impl Iterator<Item = &Service> {
    evidence.services.iter().flatten().filter(|service| !service.is_of_values())
}

/// Controllers to ask, with their versions: the one that is named, else those that run, else all of the model.
fn asked(evidence: &Evidence, options: &Options, all: &[ModelledController]) -> Result<Vec<Asked>, SimulationError> {
    let running = all.iter().copied().filter(|controller| controller.is_in(evidence));
    let mut controllers: Vec<ModelledController> = match options.controller {
        Some(only) => vec![only],
        None => running.collect(),
    };
    if controllers.is_empty() {
        controllers = all.to_vec();
    }
    let with_version = |controller: ModelledController| {
        let option = options.versions.get(&controller).map(|version| (*version, VersionSource::Option));
        let image = controller.version_in(evidence).map(|version| (version, VersionSource::Image));
        let (version, source) = option.or(image).unwrap_or((controller.newest(), VersionSource::Assumed));
        if version < controller.oldest() {
            let oldest = controller.oldest();
            return Err(SimulationError::TooOld { controller: controller.describe(), version, oldest });
        }
        Ok((controller, version, source))
    };
    controllers.into_iter().map(with_version).collect()
}

impl Simulation {
    /// True if a controller stops with an error, or may not make a call.
    pub(crate) fn has_failures(&self) -> bool {
        self.objects.iter().any(|one| one.failure().is_some() || one.refused().next().is_some())
    }

    /// True if it is not known if a controller finishes or may make its calls, or an object is not modelled.
    pub(crate) fn is_undecided(&self) -> bool {
        let is_open = |one: &Decision| one.error == Answer::Unknown || one.undecided_calls().next().is_some();
        self.objects.iter().any(is_open) || !self.not_modelled.is_empty()
    }
}
