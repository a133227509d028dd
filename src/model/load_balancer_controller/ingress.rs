//! The Application Load Balancers of Ingresses, one for each group.
//! Sources: aws-load-balancer-controller `pkg/ingress/group_loader.go`, `class_loader.go`, `model_builder.go#run`,
//! `model_build_load_balancer.go`, `model_build_listener.go`, `model_build_target_group.go`.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::load_balancers::MadeFor;
use crate::kubernetes::{DocumentKind, Evidence, Object, Service};

use super::groups::{GroupSearch, Groups, node_groups};
use super::node_rules::{Opening, Source, add};
use super::targets::targets;
use super::{Config, Kind, Scheme, Stop, default_scheme};
use crate::aws::ingresses::has_paths;
use crate::aws::ingresses::{CONTROLLER, PREFIX};
use crate::model::annotations::{Annotations, go_list, go_set};
use crate::model::calls::Call;
use crate::model::creation::{Creation, ListenerRules};
use crate::model::decision::{Answer, Decision, HealthCheck, IngressRule, ModelledController, ObjectName, Presence};
use crate::model::names;
use crate::model::objects::ingress_name;
use crate::model::world::{Held, World};

mod actions;
mod attributes;
mod backends;
mod class;
mod listeners;
mod subnets;

use backends::Backend;
use class::{Class, classify, sort};
use listeners::Listener;

/// An Ingress, with its annotations and the parameters of its class.
#[derive(Debug)]
struct Member<'e> {
    object: Object<'e>,
    name: ObjectName,
    annotations: BTreeMap<String, String>,
    parameters: Option<Object<'e>>,
    /// As [`Annotations::has_escapes`].
    has_escapes: bool,
}

impl Member<'_> {
    fn annotations(&self) -> Annotations<'_> {
        Annotations { all: &self.annotations, prefix: PREFIX, has_escapes: self.has_escapes }
    }

    /// A text of the class parameters.
    fn parameter(&self, path: &[&str]) -> Option<&str> {
        // Without a path the parameters do not hold it.
        if path.is_empty() {
            return None;
        }
        self.parameters.as_ref()?.text(path).filter(|text| !text.is_empty())
    }
}

/// A group of Ingresses that share a load balancer.
struct Group<'e> {
    /// Name of an explicit group.
    explicit: Option<String>,
    members: Vec<Member<'e>>,
    /// A member that is being deleted and whose deletion protection is on.
    protected: Option<String>,
}

impl Group<'_> {
    /// `NAME`, or `NAMESPACE/NAME` of the only member.
    fn id(&self) -> String {
        match (&self.explicit, self.members.first()) {
            (Some(name), _) => name.clone(),
            (None, Some(only)) => format!("{}/{}", only.name.namespace, only.name.name),
            (None, None) => String::new(),
        }
    }

    /// Distinct values over the members: the class parameters of each precede its annotation.
    fn values(&self, path: &[&str], suffix: &str) -> BTreeSet<String> {
        let of = |member: &Member<'_>| {
            let own = member.annotations();
            member.parameter(path).or_else(|| own.get(suffix)).map(str::to_owned)
        };
        self.members.iter().filter_map(of).collect()
    }
}

/// Decides about all Ingresses: one decision for each load balancer, and one for each Ingress that gets none.
pub(crate) fn decide_groups(world: World<'_>, config: &Config<'_>) -> Vec<Decision> {
    let mut groups: BTreeMap<(bool, String), Group<'_>> = BTreeMap::new();
    let mut decisions = Vec::new();
    for document in world.evidence.documents_by_kind(DocumentKind::Ingress) {
        let object = document.object();
        let mut decision = Decision::new(
            ingress_name(object, world.given.namespace),
            ModelledController::LoadBalancerController,
            config.version.to_string(),
        );
        decision.step("handled", "aws-load-balancer-controller pkg/ingress/group_loader.go#classifyIngress");
        match classify(world, config, object) {
            Class::Taken(member, explicit) => {
                let id = explicit.clone().unwrap_or_else(|| format!("{}/{}", member.name.namespace, member.name.name));
                let key = (explicit.is_some(), id);
                let new = || Group { explicit, members: Vec::new(), protected: None };
                groups.entry(key).or_insert_with(new).members.push(member);
            }
            Class::NotTaken => decisions.push(decision),
            Class::Stops(stop) => {
                decision.handled = matches!(stop, Stop::Error(_));
                decision.stopped(stop);
                decisions.push(decision);
            }
        }
    }
    for document in world.evidence.documents_by_kind(DocumentKind::Ingress) {
        let Some((group, name)) = class::protected(document.object()) else { continue };
        if let Some(group) = group.and_then(|group| groups.get_mut(&(true, group.to_owned()))) {
            group.protected.get_or_insert_with(|| name.to_owned());
            continue;
        }
        // Nothing else is in its group.
        let object = ingress_name(document.object(), world.given.namespace);
        if let Some(alone) = decisions.iter_mut().find(|one| one.object == object) {
            alone.handled = true;
            alone.stopped(Stop::Error(still_protected(name)));
        }
    }
    decisions.extend(groups.into_values().map(|group| decide(world, config, group)));
    decisions.sort_by(|a, b| a.object.cmp(&b.object));
    decisions
}

fn still_protected(name: &str) -> String {
    format!("deletion_protection is enabled, cannot delete the ingress: {name}")
}

/// A group with what was decided so far.
struct Request<'a> {
    world: World<'a>,
    config: &'a Config<'a>,
    group: &'a Group<'a>,
    vpc: String,
}

fn decide(world: World<'_>, config: &Config<'_>, mut group: Group<'_>) -> Decision {
    let sorted = sort(&mut group.members);
    let mut names = group.members.iter().map(|member| member.name.clone());
    let first =
        names.next().unwrap_or_else(|| ObjectName { kind: "Ingress", namespace: String::new(), name: String::new() });
    let mut decision = Decision::new(first, ModelledController::LoadBalancerController, config.version.to_string());
    decision.members = names.collect();
    decision.stack = group.id();
    decision.step("handled", "aws-load-balancer-controller pkg/ingress/group_loader.go#classifyIngress");
    decision.handled = true;
    decision.notes.extend(config.assumes_name.map(str::to_owned));
    decision.kind = Answer::Is("alb");
    let vpc = match sorted.and_then(|()| config.vpc(&world)) {
        Ok(vpc) => vpc,
        Err(stop) => {
            decision.stopped(stop);
            return decision;
        }
    };
    let request = Request { world, config, group: &group, vpc };
    if let Err(stop) = request.run(&mut decision) {
        decision.stopped(stop);
    }
    decision.calls = request.calls(&decision);
    decision
}

impl<'a> Request<'a> {
    /// The load balancer of the group.
    fn held(&self) -> Held<'a> {
        let made_for = match (&self.group.explicit, self.group.members.first()) {
            (Some(name), _) => MadeFor::IngressGroup(name),
            (None, Some(only)) => MadeFor::Ingress(&only.name.namespace, &only.name.name),
            (None, None) => return Held::None,
        };
        self.world.load_balancer_of(self.config.cluster_name, made_for)
    }

    /// True if a member has an address.
    fn has_address(&self) -> bool {
        self.group.members.iter().any(|member| {
            self.world.given.ingresses.with_address.contains(&member.name)
                || member.object.items(&["status", "loadBalancer", "ingress"]).next().is_some()
        })
    }

    /// True if the load balancer of the group exists, or may exist: without a list, an address shows it.
    fn may_exist(&self) -> bool {
        match self.held() {
            Held::NotRead => self.world.here().load_balancing.is_some() || self.has_address(),
            Held::One(_) => true,
            Held::None => false,
        }
    }
}

impl Request<'_> {
    fn calls(&self, decision: &Decision) -> Vec<Call> {
        let members = &self.group.members;
        let of_members = members.iter().filter_map(|member| member.annotations().map("tags").ok());
        let extra: BTreeMap<String, String> = of_members.flatten().collect();
        let mut tags = self.config.tags("ingress", &decision.stack, &extra);
        // Class parameters, and the Services behind, add tags too.
        tags.has_others |=
            members.iter().any(|member| member.parameters.is_some_and(|one| one.at(&["spec", "tags"]).is_some()));
        let group_tags = tags.clone();
        let has_paths = members.iter().any(|member| has_paths(member.object));
        let (world, vpc, kind) = (self.world, &self.vpc, "loadbalancer/app");
        let creation = Creation {
            world,
            vpc,
            kind,
            tags,
            group_tags,
            tags_with_group: true,
            tags_target_groups: false,
            starts_with_balancer: false,
            listener_rules: if has_paths { ListenerRules::Created } else { ListenerRules::Read },
        };
        creation.calls(decision)
    }

    fn run(&self, decision: &mut Decision) -> Result<(), Stop> {
        if let Some(name) = &self.group.protected {
            decision.step("error", "aws-load-balancer-controller pkg/ingress/model_builder.go#run");
            return Stop::error(still_protected(name));
        }
        decision.step(
            "error",
            "aws-load-balancer-controller pkg/ingress/model_build_listener.go#computeIngressListenPortConfigByPort",
        );
        let listeners = self.listeners(decision)?;
        decision.step(
            "scheme",
            "aws-load-balancer-controller pkg/ingress/model_build_load_balancer.go#buildLoadBalancerScheme",
        );
        decision.presence = Presence::new(self.may_exist());
        let scheme = self.scheme()?;
        decision.scheme = Answer::Is(scheme.name());
        let ip_address_type = self.ip_address_type()?;
        decision.ip_address_type = Answer::Is(ip_address_type.clone());
        let is_dual_stack = ip_address_type.starts_with("dualstack");
        decision.step(
            "subnets",
            "aws-load-balancer-controller pkg/ingress/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
        );
        let subnets = self.subnets(decision, scheme, &ip_address_type)?;
        decision.subnets = Answer::Is(subnets.iter().map(|subnet| subnet.id.clone()).collect());
        decision.step(
            "lb_groups",
            "aws-load-balancer-controller pkg/ingress/model_build_load_balancer.go#buildLoadBalancerSecurityGroups",
        );
        let groups = self.groups(decision, &listeners, is_dual_stack)?;
        // The tags of a group that the controller creates come before the attributes.
        if matches!(decision.new_group, Answer::Is(Some(_))) {
            self.validate_tags()?;
        }
        self.validate_pool()?;
        self.validate_attributes()?;
        self.validate_tags()?;
        decision.step(
            "name",
            "aws-load-balancer-controller pkg/ingress/model_build_load_balancer.go#buildLoadBalancerName",
        );
        decision.name = Answer::Is(self.name(scheme)?);
        let redirect = self.redirect(&listeners)?;
        decision.listeners = Answer::Is(listeners.iter().map(|one| one.decided(redirect)).collect());
        decision.step(
            "target_groups",
            "aws-load-balancer-controller pkg/ingress/model_build_target_group.go#buildTargetGroup",
        );
        self.target_groups(decision, &groups, &listeners, redirect.is_some(), is_dual_stack)?;
        self.note_not_modelled(decision);
        Ok(())
    }

    fn scheme(&self) -> Result<Scheme, Stop> {
        let values = self.group.values(&["spec", "scheme"], "scheme");
        let mut names = values.iter();
        match (names.next(), names.next()) {
            (None, _) => Ok(default_scheme(self.config)),
            (Some(_), Some(_)) => {
                Stop::error(format!("conflicting scheme: {}", go_set(values.iter().map(String::as_str))))
            }
            (Some(raw), None) => match Scheme::parse(raw) {
                Some(scheme) => Ok(scheme),
                None => Stop::error(format!("unknown scheme: {raw}")),
            },
        }
    }

    fn ip_address_type(&self) -> Result<String, Stop> {
        let values = self.group.values(&["spec", "ipAddressType"], "ip-address-type");
        let values: Vec<String> = values.into_iter().collect();
        match values.as_slice() {
            [] => Ok("ipv4".to_owned()),
            [one] if matches!(one.as_str(), "ipv4" | "dualstack") => Ok(one.clone()),
            // Since v2.8.
            [one] if one == "dualstack-without-public-ipv4" && self.config.is_since(2, 8) => Ok(one.clone()),
            [one] => Stop::error(format!("unknown IPAddressType: {one}")),
            several => Stop::error(format!("conflicting IPAddressType: {}", go_list(several))),
        }
    }

    fn groups(&self, decision: &mut Decision, listeners: &[Listener], is_dual_stack: bool) -> Result<Groups, Stop> {
        let lists: Vec<Vec<String>> =
            self.group.members.iter().filter_map(|member| member.annotations().list("security-groups")).collect();
        let listed = match lists.split_first() {
            None => Vec::new(),
            Some((first, others)) => {
                if let Some(other) = others.iter().find(|other| *other != first) {
                    return Stop::error(format!("conflicting securityGroups: {} | {}", go_list(first), go_list(other)));
                }
                first.clone()
            }
        };
        let mut manages = BTreeSet::new();
        // Without listed groups the controller does not read it.
        for member in self.group.members.iter().filter(|_| !listed.is_empty()) {
            manages.extend(member.annotations().switch("manage-backend-security-group-rules")?);
        }
        if manages.len() > 1 {
            return Stop::error("conflicting manage backend security group rules settings");
        }
        let default = self.config.switch("enable-manage-backend-security-group-rules", false);
        let id = self.group.id();
        let hash = names::sha256(&[self.config.cluster_name, &id]);
        let search = GroupSearch {
            world: self.world,
            config: self.config,
            vpc: &self.vpc,
            managed_name: self.own_name(&hash),
            kind: Kind::Application,
            stack: id,
            listed,
            manages_rules: manages.first().copied().unwrap_or(default),
        };
        search.decide(decision, |group| Ok(managed_rules(group, listeners, is_dual_stack)))
    }

    fn name(&self, scheme: Scheme) -> Result<String, Stop> {
        // Class parameters hold it since v2.14.
        let of_class: &[&str] = if self.config.is_since(2, 14) { &["spec", "loadBalancerName"] } else { &[] };
        let values = self.group.values(of_class, "load-balancer-name");
        let mut names = values.iter();
        match (names.next(), names.next()) {
            (Some(name), None) if name.len() > 32 => {
                Stop::error("load balancer name cannot be longer than 32 characters")
            }
            (Some(name), None) => Ok(name.clone()),
            (Some(_), Some(_)) => {
                Stop::error(format!("conflicting load balancer name: {}", go_set(values.iter().map(String::as_str))))
            }
            (None, _) => {
                let hash = names::sha256(&[self.config.cluster_name, &self.group.id(), scheme.name()]);
                Ok(self.own_name(&hash))
            }
        }
    }

    /// A name of the controller for the group.
    fn own_name(&self, hash: &str) -> String {
        match (&self.group.explicit, self.group.members.first()) {
            (Some(name), _) => format!("k8s-{}-{hash}", names::sanitized(name, 17)),
            (None, Some(only)) => names::of_object(&only.name.namespace, &only.name.name, hash),
            (None, None) => String::new(),
        }
    }

    /// Target groups of the backends, their targets, and the rules of nodes.
    fn target_groups(
        &self,
        decision: &mut Decision,
        groups: &Groups,
        listeners: &[Listener],
        redirects: bool,
        is_dual_stack: bool,
    ) -> Result<(), Stop> {
        let Some(backends) = self.backends(decision, listeners, redirects, is_dual_stack)? else {
            decision.targets = Answer::Unknown;
            decision.node_groups = Answer::Unknown;
            decision.rules = Answer::Unknown;
            return Ok(());
        };
        decision.created = true;
        describe(decision, &backends);
        if backends.iter().any(|backend| backend.target_type == "ip") {
            let manages = groups.backend.is_some();
            decision.has_pods(manages);
            return Ok(());
        }
        let openings = self.openings(groups, &backends);
        decision
            .step("targets", "aws-load-balancer-controller pkg/backend/endpoint_resolver.go#ResolveNodePortEndpoints");
        let wanted = backends.first().map(|backend| backend.node_labels.clone()).unwrap_or_default();
        if backends.iter().any(|backend| backend.node_labels != wanted) {
            let reason = "the backends select different Nodes with `target-node-labels`";
            for field in ["targets", "node_groups", "rules"] {
                decision.note_unknown(field, reason);
            }
            (decision.targets, decision.node_groups, decision.rules) =
                (Answer::Unknown, Answer::Unknown, Answer::Unknown);
            return Ok(());
        }
        let ids = if backends.is_empty() {
            Vec::new()
        } else {
            let Some(ids) = targets(self.world, self.config, &wanted, decision)? else { return Ok(()) };
            ids
        };
        decision.step(
            "node_groups",
            "aws-load-balancer-controller pkg/networking/networking_manager.go#resolveEndpointSGForENI",
        );
        let found =
            if openings.is_empty() { Vec::new() } else { node_groups(self.world, self.config, &ids, decision)? };
        if decision.rules != Answer::Unknown {
            add(self.world, decision, &found, &openings);
        }
        decision.node_groups = Answer::Is(found);
        decision.targets = Answer::Is(ids);
        Ok(())
    }

    fn openings(&self, groups: &Groups, backends: &[Backend]) -> Vec<Opening> {
        let Some(group) = &groups.backend else { return Vec::new() };
        let open = |port| Opening { protocol: "tcp", source: Source::Group(group.clone()), port };
        if self.config.switch("disable-restricted-sg-rules", false) {
            return vec![open(None)];
        }
        let health = |backend: &Backend| backend.health.port.as_deref().and_then(|port| port.parse::<i64>().ok());
        let ports = backends.iter().flat_map(|backend| [Some(backend.port), health(backend)]);
        ports.flatten().map(|port| open(Some(port))).collect()
    }
}

/// Type, health check and names of the target groups; unknown where they differ or are not known yet.
fn describe(decision: &mut Decision, backends: &[Backend]) {
    let Some(first) = backends.first() else {
        decision.target_groups = Answer::Is(Vec::new());
        return;
    };
    if backends.iter().all(|backend| backend.target_type == first.target_type) {
        decision.target_type = Answer::Is(first.target_type);
    } else {
        decision.note_unknown("target_type", "the target groups have different types");
        decision.target_type = Answer::Unknown;
    }
    if let Some(later) = backends.iter().find_map(|backend| backend.later.clone()) {
        decision.note_unknown("rules", later);
        decision.rules = Answer::Unknown;
    }
    if let Some(later) = backends.iter().find_map(|backend| backend.health_later.clone()) {
        decision.note_unknown("health_check", later);
        decision.health_check = Answer::Unknown;
    } else if backends.iter().all(|backend| backend.health == first.health) {
        decision.health_check = Answer::Is(first.health.clone());
    } else {
        decision.note_unknown("health_check", "the target groups have different health checks");
        decision.health_check = Answer::Unknown;
    }
    decision.target_groups = if backends.iter().any(|backend| !backend.has_uid) {
        decision.note_unknown(
            "target_groups",
            "their names contain the uid of the Service, which a manifest does not state",
        );
        Answer::Unknown
    } else if backends.iter().any(|backend| backend.later.is_some()) {
        Answer::Unknown
    } else {
        Answer::Is(backends.iter().map(|backend| backend.name.clone()).collect())
    };
}

/// Rules of the group that the controller creates: `model_build_managed_sg.go`.
fn managed_rules(group: &str, listeners: &[Listener], is_dual_stack: bool) -> Vec<IngressRule> {
    let mut found = Vec::new();
    for listener in listeners {
        let ranges = listener.ranges.iter().filter(|range| is_dual_stack || !range.contains(':'));
        let sources = ranges.chain(&listener.prefix_lists);
        found.extend(sources.map(|source| IngressRule::port(group, "tcp", source, listener.port)));
    }
    found
}

/// The Service of a backend.
fn service<'e>(evidence: &'e Evidence, namespace: &str, name: &str) -> Option<&'e Service> {
    evidence.services.iter().flatten().find(|service| {
        let held = if service.namespace.is_empty() { "default" } else { service.namespace.as_str() };
        held == namespace && service.name == name
    })
}

/// A health check of an Application Load Balancer with its defaults.
/// Source: `pkg/ingress/model_builder.go`.
fn default_health(protocol: &str, version: &str) -> HealthCheck {
    HealthCheck {
        target: None,
        protocol: Some(protocol.to_owned()),
        port: Some("traffic-port".to_owned()),
        path: Some(if version == "GRPC" { "/AWS.ALB/healthcheck" } else { "/" }.to_owned()),
        interval: 15,
        timeout: 5,
        healthy: 2,
        unhealthy: 2,
    }
}
