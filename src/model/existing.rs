//! The load balancers of a cluster that exist, joined with what the controllers would do about their objects today.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::load_balancers::{Claim, MadeFor, Maker, Names};
use crate::aws::view::{ClusterView, RegionView};
use crate::aws::{LoadBalancer, LoadBalancerKind, TargetGroup};
use crate::controller::ControllerVersion;
use crate::kubernetes::{Evidence, Service};

use super::decision::{Answer, Decision, ModelledController, ObjectName};
use super::load_balancer_controller;
use super::objects::{Objects, object_name};
use super::simulate::{ObjectKind, Options, simulate};

/// A load balancer of the cluster.
#[derive(Debug)]
pub(crate) struct Balancer<'a> {
    pub(crate) region: &'a RegionView<'a>,
    pub(crate) balancer: &'a LoadBalancer,
    /// One for each controller that claims it; never empty.
    pub(crate) claims: Vec<Claim<'a>>,
    /// Its Service, if it was given.
    pub(crate) service: Option<&'a Service>,
    /// The decision of the controller about its object. What versions that may run decide differently is unknown.
    pub(crate) decision: Option<Decision>,
    /// Its target groups.
    pub(crate) groups: Vec<&'a TargetGroup>,
}

impl Balancer<'_> {
    /// The first claim.
    pub(crate) fn claim(&self) -> Option<Claim<'_>> {
        self.claims.first().copied()
    }

    /// Ids of the instances behind it, as far as they were read; `None` if some were not, or if targets are addresses.
    pub(crate) fn instances(&self) -> Option<BTreeSet<&str>> {
        if self.balancer.kind == LoadBalancerKind::Classic {
            return Some(self.balancer.instances.iter().map(String::as_str).collect());
        }
        let mut all = BTreeSet::new();
        for group in &self.groups {
            if group.target_type.as_deref() != Some("instance") {
                return None;
            }
            // A target that leaves is no target any more.
            let staying = group.targets.as_ref()?.iter().filter(|target| target.state != "draining");
            all.extend(staying.map(|target| target.id.as_str()));
        }
        (!self.groups.is_empty()).then_some(all)
    }

    /// Ids of the instances that lack a target group of it, of those that each of them should have; `None` as for
    /// [`Balancer::instances`].
    pub(crate) fn lacking<'w>(&self, wanted: &'w [String]) -> Option<BTreeSet<&'w str>> {
        let all = self.instances()?;
        let is_in = |group: &TargetGroup, id: &str| {
            group.targets.iter().flatten().any(|target| target.id == id && target.state != "draining")
        };
        let lacks = |id: &&str| !all.contains(id) || self.groups.iter().any(|group| !is_in(group, id));
        Some(wanted.iter().map(String::as_str).filter(lacks).collect())
    }

    /// True if the load balancer is the one that the controller means today: of the same kind and name.
    pub(crate) fn is_meant(&self) -> bool {
        let Some(decision) = &self.decision else { return self.service.is_some() };
        let kind = match self.balancer.kind {
            LoadBalancerKind::Classic => "clb",
            LoadBalancerKind::Network => "nlb",
            LoadBalancerKind::Application => "alb",
            LoadBalancerKind::Gateway => "gateway",
        };
        let is_other_kind = decision.kind.known().is_some_and(|known| *known != kind);
        let is_other_name = decision.name.known().is_some_and(|name| *name != self.balancer.name);
        !is_other_kind && !is_other_name
    }
}

/// The load balancers of the cluster, and its target groups that no load balancer uses.
#[derive(Debug, Default)]
pub(crate) struct Existing<'a> {
    pub(crate) balancers: Vec<Balancer<'a>>,
    pub(crate) unused_groups: Vec<(&'a RegionView<'a>, &'a TargetGroup, Claim<'a>)>,
    /// True if a region has load balancers that were read.
    pub(crate) was_read: bool,
    /// `--cluster-name` of the AWS Load Balancer Controller.
    cluster_name: String,
}

impl<'a> Existing<'a> {
    /// Finds the load balancers of a cluster, and asks the controllers about their Services.
    pub(crate) fn new(view: &'a ClusterView<'a>, evidence: &'a Evidence, version: Option<ControllerVersion>) -> Self {
        let config = load_balancer_controller::Config::new(evidence, view.cluster_id, load_balancer_controller::NEWEST);
        let names = Names { cluster_id: view.cluster_id, cluster_name: config.cluster_name() };
        let mut existing = Self { cluster_name: config.cluster_name().to_owned(), ..Self::default() };
        let services: BTreeMap<(&str, &str), &Service> = evidence
            .services
            .iter()
            .flatten()
            .filter(|service| !service.is_of_values())
            .map(|service| ((service.namespace.as_str(), service.name.as_str()), service))
            .collect();
        for region in &view.regions {
            let Some(read) = &region.region.load_balancing else { continue };
            existing.was_read = true;
            for balancer in read.load_balancers.iter().filter(|one| !view.is_elsewhere(one.vpc_id.as_deref())) {
                let claims = names.claims(balancer.tags.as_deref().unwrap_or_default());
                let Some(claim) = claims.first() else { continue };
                let service = match claim.made_for {
                    MadeFor::Service(namespace, name) => services.get(&(namespace, name)).copied(),
                    MadeFor::Ingress(..) | MadeFor::IngressGroup(_) => None,
                };
                let is_its =
                    |group: &&TargetGroup| balancer.arn.as_ref().is_some_and(|arn| group.load_balancers.contains(arn));
                let groups = read.target_groups.iter().filter(is_its).collect();
                existing.balancers.push(Balancer { region, balancer, claims, service, decision: None, groups });
            }
            let unused = read.target_groups.iter().filter(|group| group.load_balancers.is_empty());
            for group in unused.filter(|group| !view.is_elsewhere(group.vpc_id.as_deref())) {
                let claims = names.claims(group.tags.as_deref().unwrap_or_default());
                existing.unused_groups.extend(claims.first().map(|claim| (region, group, *claim)));
            }
        }
        for controller in ModelledController::OF_AWS {
            existing.ask(view, evidence, controller, version);
        }
        existing
    }

    /// The names by which the controllers of the cluster tag their resources.
    pub(crate) fn names<'n>(&'n self, cluster_id: &'n str) -> Names<'n> {
        Names { cluster_id, cluster_name: &self.cluster_name }
    }

    /// Asks a controller about the Services of its load balancers.
    fn ask(
        &mut self,
        view: &ClusterView<'_>,
        evidence: &Evidence,
        controller: ModelledController,
        version: Option<ControllerVersion>,
    ) {
        let maker = match controller {
            ModelledController::CloudProviderAws => Maker::CloudController,
            ModelledController::LoadBalancerController => Maker::LoadBalancerController,
            ModelledController::CloudProviderAlibaba => return,
        };
        let mut objects = Objects::of_cluster(evidence);
        let mut asked: Vec<(Stack, &mut Balancer<'_>)> =
            self.balancers.iter_mut().filter_map(|one| Some((Stack::of(one, maker)?, one))).collect();
        if asked.is_empty() {
            return;
        }
        let kind = |asked: &[(Stack, &mut Balancer<'_>)]| {
            // The Ingresses of a group are not known before the controller groups them.
            let services: Option<BTreeSet<ObjectName>> = asked.iter().map(|(stack, _)| stack.service.clone()).collect();
            (services.is_some().then_some(ObjectKind::Service), services.unwrap_or_default())
        };
        let known = match controller {
            ModelledController::CloudProviderAws => version.or_else(|| controller.version_in(evidence)),
            ModelledController::LoadBalancerController | ModelledController::CloudProviderAlibaba => {
                controller.version_in(evidence)
            }
        };
        let decide = |objects: &Objects<'_>, kind: Option<ObjectKind>, version: ControllerVersion| {
            let versions = [(controller, version)].into();
            let options = Options { controller: Some(controller), versions, kind, ..Options::default() };
            simulate(view, objects, &options).map(|simulation| simulation.objects).unwrap_or_default()
        };
        let (of_kind, subjects) = kind(&asked);
        objects.subjects = subjects;
        let decisions = decide(&objects, of_kind, known.unwrap_or(controller.newest()));
        for (stack, one) in &mut asked {
            one.decision = decisions.iter().find(|decision| stack.is_of(decision)).cloned();
        }
        if known.is_some() {
            return;
        }
        // Without a version, what releases decide differently from each other is unknown. Those that agree with what
        // exists need no second opinion: nothing is reported of them.
        asked.retain(|(_, one)| one.differs());
        if asked.is_empty() {
            return;
        }
        let (of_kind, subjects) = kind(&asked);
        objects.subjects = subjects;
        for version in controller.releases().into_iter().filter(|release| *release != controller.newest()) {
            for other in decide(&objects, of_kind, version) {
                let same = asked.iter_mut().find(|(stack, _)| stack.is_of(&other));
                if let Some(decision) = same.and_then(|(_, one)| one.decision.as_mut()) {
                    decision.keep_agreed(&other);
                }
            }
        }
    }
}

/// The object of a load balancer, as decisions name it.
struct Stack {
    name: String,
    /// The Service; absent for Ingresses.
    service: Option<ObjectName>,
}

impl Stack {
    /// The object that the first claim names; `None` if another controller made it, or a Service was not given.
    fn of(one: &Balancer<'_>, maker: Maker) -> Option<Self> {
        let claim = one.claims.first().filter(|claim| claim.maker == maker)?;
        match claim.made_for {
            MadeFor::Service(..) => {
                let service = object_name(one.service?);
                Some(Self { name: format!("{}/{}", service.namespace, service.name), service: Some(service) })
            }
            MadeFor::Ingress(namespace, name) => Some(Self { name: format!("{namespace}/{name}"), service: None }),
            MadeFor::IngressGroup(name) => Some(Self { name: name.to_owned(), service: None }),
        }
    }

    fn is_of(&self, decision: &Decision) -> bool {
        let is_kind = match &self.service {
            Some(service) => *service == decision.object,
            None => decision.object.kind == "Ingress",
        };
        is_kind && self.name == decision.stack
    }
}

impl Balancer<'_> {
    /// True if the decision is not what exists.
    fn differs(&self) -> bool {
        let Some(decision) = &self.decision else { return false };
        let subnets = decision.subnets.known().is_some_and(|known| {
            let known: BTreeSet<&String> = known.iter().collect();
            known != self.balancer.subnets.iter().collect()
        });
        let targets = decision.targets.known().is_some_and(|known| {
            let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
            self.instances().is_some_and(|held| held != known)
        });
        let scheme =
            decision.asked_scheme().known().is_some_and(|known| self.balancer.scheme.as_deref() != Some(*known));
        let is_type = |group: &&TargetGroup, known: &str| group.target_type.as_deref() == Some(known);
        let target_type =
            decision.target_type.known().is_some_and(|known| !self.groups.iter().all(|one| is_type(one, known)));
        let not_followed = decision.subnets_if_new.known().is_some_and(|known| {
            let known: BTreeSet<&String> = known.iter().collect();
            known != self.balancer.subnets.iter().collect()
        });
        subnets || not_followed || targets || scheme || target_type || !decision.handled || !self.is_meant()
    }
}

impl Decision {
    /// Keeps what another version decides too.
    fn keep_agreed(&mut self, other: &Self) {
        fn keep<T: PartialEq>(held: &mut Answer<T>, other: &Answer<T>) {
            if *held != *other {
                *held = Answer::Unknown;
            }
        }
        // The order of subnets does not matter here.
        fn keep_set(held: &mut Answer<Vec<String>>, other: &Answer<Vec<String>>) {
            let sorted = |answer: &Answer<Vec<String>>| {
                answer.known().map(|names| names.iter().cloned().collect::<BTreeSet<String>>())
            };
            if sorted(held) != sorted(other) {
                *held = Answer::Unknown;
            }
        }
        keep(&mut self.error, &other.error);
        keep(&mut self.kind, &other.kind);
        keep(&mut self.scheme, &other.scheme);
        keep(&mut self.scheme_if_new, &other.scheme_if_new);
        keep(&mut self.name, &other.name);
        keep_set(&mut self.subnets, &other.subnets);
        keep_set(&mut self.subnets_if_new, &other.subnets_if_new);
        keep(&mut self.listeners, &other.listeners);
        keep(&mut self.targets, &other.targets);
        keep(&mut self.target_type, &other.target_type);
        // A version that takes the object counts.
        self.handled |= other.handled;
    }
}
