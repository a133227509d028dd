//! The load balancers that a controller of the cluster certainly does not finish.

use crate::alibaba;
use crate::aws::view::ClusterView;
use crate::controller::ControllerVersion;
use crate::kubernetes::{Evidence, List, ListGap};

use super::decision::{Decision, Duration, ModelledController};
use super::load_balancer_controller;
use super::objects::Objects;
use super::simulate::{
    ObjectKind, Options, Simulation, SimulationError, region_of_alibaba, simulate, simulate_alibaba,
};

/// A load balancer at which a controller stops with an error.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) controller: ModelledController,
    pub(crate) decision: Decision,
    /// The error, in the words of the controller.
    pub(crate) error: String,
    /// First and last of the versions that stop, if the version of the controller is not known.
    pub(crate) versions: Option<(ControllerVersion, ControllerVersion)>,
    /// True if some of these versions stop with another error.
    pub(crate) has_other_errors: bool,
}

/// The failures of the controllers at the objects of one kind, and the number of load balancers that a controller takes.
/// A controller whose version is not known counts only if every version stops; one whose configuration is not known
/// does not count.
pub(crate) fn certain_failures(
    view: &ClusterView<'_>,
    evidence: &Evidence,
    kind: ObjectKind,
    version: Option<ControllerVersion>,
) -> Result<(usize, Vec<Failure>), SimulationError> {
    let mut objects = Objects::of_cluster(evidence);
    let mut taken = 0;
    let mut failures = Vec::new();
    for controller in ModelledController::OF_AWS {
        if !is_configuration_known(controller, evidence) {
            continue;
        }
        let given = version.filter(|_| controller == ModelledController::CloudProviderAws);
        let known = given.or_else(|| controller.version_in(evidence));
        let ask = |objects: &Objects<'_>, options: &Options| {
            simulate(view, objects, &Options { kind: Some(kind), ..options.clone() })
        };
        let (count, found) = of_controller(controller, known, &mut objects, ask)?;
        taken += count;
        failures.extend(found);
    }
    Ok((taken, failures))
}

/// The failures of the cloud controller of Alibaba Cloud at Services.
pub(crate) fn certain_failures_of_alibaba(
    view: &alibaba::ClusterView<'_>,
    evidence: &Evidence,
    version: Option<ControllerVersion>,
) -> Result<(usize, Vec<Failure>), SimulationError> {
    let controller = ModelledController::CloudProviderAlibaba;
    let known = version.or_else(|| controller.version_in(evidence));
    let ask = |objects: &Objects<'_>, options: &Options| simulate_alibaba(view, objects, options);
    of_controller(controller, known, &mut Objects::of_cluster(evidence), ask)
}

/// The decisions of the cloud controller of Alibaba Cloud about the Services of a cluster, and the region of its nodes. If
/// the version is not known, the newest decides.
pub(crate) fn decisions_of_alibaba<'a>(
    view: &'a alibaba::ClusterView<'a>,
    evidence: &Evidence,
    version: Option<ControllerVersion>,
) -> Result<(&'a alibaba::RegionView<'a>, Vec<Decision>), SimulationError> {
    let controller = ModelledController::CloudProviderAlibaba;
    let version = version.or_else(|| controller.version_in(evidence)).unwrap_or(controller.newest());
    let versions = [(controller, version)].into();
    let options = Options { versions, forgets_targets: true, ..Options::default() };
    let objects = Objects::of_cluster(evidence);
    Ok((region_of_alibaba(view)?, simulate_alibaba(view, &objects, &options)?.objects))
}

/// The load balancers for which a security group would have more rules than the account, or the default, allows, and the
/// number of load balancers that a controller takes. If the version of a controller is not known, the newest decides.
pub(crate) fn crowded_groups(
    view: &ClusterView<'_>,
    evidence: &Evidence,
    version: Option<ControllerVersion>,
) -> Result<(usize, Vec<Decision>), SimulationError> {
    let objects = Objects::of_cluster(evidence);
    let mut taken = 0;
    let mut found = Vec::new();
    for controller in ModelledController::OF_AWS.into_iter().filter(|one| is_configuration_known(*one, evidence)) {
        let given = version.filter(|_| controller == ModelledController::CloudProviderAws);
        let known = given.or_else(|| controller.version_in(evidence)).unwrap_or(controller.newest());
        let versions = [(controller, known)].into();
        let options = Options { controller: Some(controller), versions, forgets_targets: true, ..Options::default() };
        let decisions = match simulate(view, &objects, &options) {
            Ok(simulation) => simulation.objects,
            Err(SimulationError::TooOld { .. }) => continue,
            Err(error) => return Err(error),
        };
        let handled = decisions.into_iter().filter(|one| one.handled);
        handled.for_each(|decision| {
            taken += 1;
            found.extend(decision.crowded.is_some().then_some(decision));
        });
    }
    Ok((taken, found))
}

/// The failures of one controller, at its version or at every version.
fn of_controller(
    controller: ModelledController,
    known: Option<ControllerVersion>,
    objects: &mut Objects<'_>,
    simulated: impl Fn(&Objects<'_>, &Options) -> Result<Simulation, SimulationError>,
) -> Result<(usize, Vec<Failure>), SimulationError> {
    let ask = |objects: &Objects<'_>, version: ControllerVersion| {
        let versions = [(controller, version)].into();
        let options = Options { controller: Some(controller), versions, forgets_targets: true, ..Options::default() };
        simulated(objects, &options)
    };
    let decisions = match ask(objects, known.unwrap_or(controller.newest())) {
        Ok(simulation) => simulation.objects,
        // The model begins with a later version.
        Err(SimulationError::TooOld { .. }) => return Ok((0, Vec::new())),
        Err(error) => return Err(error),
    };
    let handled = decisions.into_iter().filter(|one| one.handled);
    let mut taken = 0;
    let mut found: Vec<Failure> = Vec::new();
    for decision in handled {
        taken += 1;
        if let Some(error) = lasting(&decision) {
            let error = error.to_owned();
            found.push(Failure { controller, decision, error, versions: None, has_other_errors: false });
        }
    }
    if known.is_none() {
        let releases = controller.releases();
        for version in releases.iter().rev().copied().filter(|version| *version != controller.newest()) {
            if found.is_empty() {
                break;
            }
            objects.subjects = found.iter().map(|one| one.decision.object.clone()).collect();
            let stops = ask(objects, version)?.objects;
            found.retain_mut(|one| {
                let same = stops.iter().find(|other| other.object == one.decision.object);
                let error = same.and_then(lasting);
                one.has_other_errors |= error.is_some_and(|error| error != one.error);
                error.is_some()
            });
        }
        objects.subjects.clear();
        let range = releases.first().map(|first| (*first, controller.newest()));
        for one in &mut found {
            one.versions = range;
        }
    }
    Ok((taken, found))
}

/// An error that does not end by itself.
fn lasting(decision: &Decision) -> Option<&str> {
    decision.failure().filter(|_| decision.duration == Duration::Lasting)
}

/// True if nothing shows that the controller has a configuration that is not part of the evidence.
fn is_configuration_known(controller: ModelledController, evidence: &Evidence) -> bool {
    let configures = |gap: &ListGap| {
        matches!(
            gap.list,
            List::DaemonSets
                | List::Deployments
                | List::StatefulSets
                | List::ConfigMaps
                | List::IngressClasses
                | List::IngressClassParams
                | List::MutatingWebhookConfigurations
        )
    };
    if evidence.gaps.iter().any(configures) {
        return false;
    }
    match controller {
        ModelledController::CloudProviderAws => {
            let mut controllers = evidence.aws_controllers();
            !evidence.cloud_configs.is_empty() || controllers.all(|one| one.flag("cloud-config").is_none())
        }
        // Several controllers share the objects by flags.
        ModelledController::LoadBalancerController => load_balancer_controller::Config::runs_in(evidence) < 2,
        ModelledController::CloudProviderAlibaba => true,
    }
}
