//! The Network Load Balancer of a Service.
//! Sources: aws-load-balancer-controller `pkg/service/model_builder.go#buildModel`, `model_build_load_balancer.go`,
//! `service_utils.go#IsServiceSupported`.

use crate::aws::Subnet;
use crate::aws::load_balancers::MadeFor;
use crate::kubernetes::Service;
use crate::service_annotations::PREFIX;

use super::groups::Groups;
use super::subnets::Search;
use super::{Config, Kind, Scheme, Stop, default_scheme};
use crate::model::annotations::{Annotations, go_quoted, parse_bool};
use crate::model::creation::{Creation, ListenerRules};
use crate::model::decision::{Answer, Decision, ModelledController, ObjectName, Presence};
use crate::model::names;
use crate::model::world::{Held, World};

mod groups;
mod listeners;
mod openings;

/// Annotation that gives ports the protocol QUIC, since v2.15.
const QUIC: &str = "aws-load-balancer-quic-enabled-ports";

/// Annotations with which the controller can fail, and that are not modelled: a name, or the start of several.
const NOT_MODELLED: [&str; 5] = [
    "actions.",
    "aws-load-balancer-enable-prefix-for-ipv6-source-nat",
    "aws-load-balancer-listener-attributes.",
    QUIC,
    "aws-load-balancer-source-nat-ipv6-prefixes",
];

/// Values of `dns_record.client_routing_policy`, which the controller checks since v2.8.
const ROUTING_POLICIES: [&str; 3] =
    ["any_availability_zone", "partial_availability_zone_affinity", "availability_zone_affinity"];

/// A Service with what was decided so far.
struct Request<'a> {
    world: World<'a>,
    config: &'a Config<'a>,
    service: &'a Service,
    annotations: Annotations<'a>,
    vpc: String,
}

/// Facts on which the rules of nodes depend.
struct Network<'n> {
    scheme: Scheme,
    subnets: &'n [&'n Subnet],
    groups: Option<Groups>,
}

/// Decides about a Service.
pub(crate) fn decide(world: World<'_>, config: &Config<'_>, service: &Service) -> Decision {
    let object = ObjectName { kind: "Service", namespace: service.namespace.clone(), name: service.name.clone() };
    let mut decision = Decision::new(object, ModelledController::LoadBalancerController, config.version.to_string());
    decision.requested = service.is_load_balancer();
    decision.step("handled", "aws-load-balancer-controller pkg/service/service_utils.go#IsServiceSupported");
    if !is_supported(config, service) {
        if let Err(stop) = check_deletion(config, service) {
            decision.handled = true;
            decision.stopped(stop);
        }
        return decision;
    }
    decision.handled = true;
    decision.notes.extend(config.assumes_name.map(str::to_owned));
    decision.kind = Answer::Is("nlb");
    let annotations = Annotations { all: &service.annotations, prefix: PREFIX, has_escapes: config.has_escapes() };
    let vpc = match config.vpc(&world) {
        Ok(vpc) => vpc,
        Err(stop) => {
            decision.stopped(stop);
            return decision;
        }
    };
    let request = Request { world, config, service, annotations, vpc };
    if let Err(stop) = request.run(&mut decision) {
        decision.stopped(stop);
    }
    let extra = request.annotations.map("aws-load-balancer-additional-resource-tags").unwrap_or_default();
    let tags = config.tags("service", &decision.stack, &extra);
    let group_tags = tags.clone();
    let vpc = &request.vpc;
    let kind = "loadbalancer/net";
    let creation = Creation {
        world,
        vpc,
        kind,
        tags,
        group_tags,
        tags_with_group: true,
        tags_target_groups: true,
        starts_with_balancer: false,
        listener_rules: ListenerRules::Read,
    };
    decision.calls = creation.calls(&decision);
    decision
}

/// Finalizer of a Service with a load balancer.
/// Source: `pkg/shared_constants/finalizers.go#ServiceFinalizer`.
const FINALIZER: &str = "service.k8s.aws/resources";

/// A load balancer with deletion protection is not deleted: the Service keeps its finalizer.
/// Source: `pkg/service/model_builder.go#run`, `#getDeletionProtectionViaAnnotation`.
fn check_deletion(config: &Config<'_>, service: &Service) -> Result<(), Stop> {
    if !service.finalizers.iter().any(|one| one == FINALIZER) || !config.gate("EnableServiceController", true) {
        return Ok(());
    }
    let annotations = Annotations { all: &service.annotations, prefix: PREFIX, has_escapes: config.has_escapes() };
    let attributes = annotations.map("aws-load-balancer-attributes")?;
    let Some(raw) = attributes.get("deletion_protection.enabled") else { return Ok(()) };
    match parse_bool(raw) {
        Some(true) => {
            Stop::error(format!("deletion_protection is enabled, cannot delete the service: {}", service.name))
        }
        Some(false) => Ok(()),
        None => Stop::error(format!("strconv.ParseBool: parsing {}: invalid syntax", go_quoted(raw))),
    }
}

/// True if the controller takes a Service.
pub(crate) fn is_supported(config: &Config<'_>, service: &Service) -> bool {
    let watches = config.flag("watch-namespace").is_none_or(|only| only.is_empty() || only == service.namespace);
    if service.deleted_at.is_some() || !watches || !config.gate("EnableServiceController", true) {
        return false;
    }
    if config.gate("ServiceTypeLoadBalancerOnly", false) && !service.is_load_balancer() {
        return false;
    }
    if let Some(class) = &service.load_balancer_class {
        return class == config.class();
    }
    let annotations = Annotations { all: &service.annotations, prefix: PREFIX, has_escapes: config.has_escapes() };
    match annotations.get("aws-load-balancer-type") {
        Some("nlb-ip") => true,
        Some("external") => matches!(annotations.get("aws-load-balancer-nlb-target-type"), Some("ip" | "instance")),
        _ => false,
    }
}

impl Request<'_> {
    fn run(&self, decision: &mut Decision) -> Result<(), Stop> {
        let held = self.held();
        decision.presence = Presence::new(!matches!(held, Held::None));
        decision
            .step("listeners", "aws-load-balancer-controller pkg/service/model_build_listener.go#buildListenerSpec");
        if self.config.is_since(2, 15) && self.annotations.get(QUIC).is_some() {
            decision.listeners = Answer::Unknown;
            decision.note_unknown("listeners", "the protocol QUIC is not modelled");
        } else {
            decision.listeners = Answer::Is(self.asked_listeners());
        }
        decision.step(
            "scheme",
            "aws-load-balancer-controller pkg/service/model_build_load_balancer.go#buildLoadBalancerScheme",
        );
        let scheme = self.scheme(held)?;
        decision.scheme = Answer::Is(scheme.name());
        let (ip_address_type, unknown_type) = match self.annotations.get("aws-load-balancer-ip-address-type") {
            None => ("ipv4", None),
            Some(known @ ("ipv4" | "dualstack")) => (known, None),
            Some(other) => ("ipv4", Some(Stop::error(format!("unknown IPAddressType: {other}")))),
        };
        // Until v3.4 the subnets come first.
        let checks_type_first = self.config.is_since(3, 5);
        if let Some(refused) = unknown_type.clone().filter(|_| checks_type_first) {
            return refused;
        }
        decision.ip_address_type = Answer::Is(ip_address_type.to_owned());
        decision.step(
            "subnets",
            "aws-load-balancer-controller pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnets",
        );
        let is_dual_stack = ip_address_type == "dualstack";
        // Since v2.13 the option is not passed any more, and the limit always counts.
        let has_addresses = self.annotations.list("aws-load-balancer-private-ipv4-addresses").is_some();
        let search = Search {
            takes_full: scheme == Scheme::Internal && has_addresses && !self.config.is_since(2, 13),
            world: self.world,
            config: self.config,
            vpc: &self.vpc,
            kind: Kind::Network,
            scheme,
            is_dual_stack,
            ip_address_type,
        };
        let subnets = self.subnets(decision, held, &search)?;
        decision.subnets = Answer::Is(subnets.iter().map(|subnet| subnet.id.clone()).collect());
        if let Some(refused) = unknown_type {
            decision.ip_address_type = Answer::NotReached;
            return refused;
        }
        self.validate_attributes()?;
        decision.step(
            "lb_groups",
            "aws-load-balancer-controller pkg/service/model_build_load_balancer.go#buildLoadBalancerSecurityGroups",
        );
        let groups = self.groups(decision, held, is_dual_stack)?;
        self.validate_tags()?;
        self.validate_addresses(scheme, &subnets, is_dual_stack)?;
        decision.step(
            "name",
            "aws-load-balancer-controller pkg/service/model_build_load_balancer.go#buildLoadBalancerName",
        );
        decision.name = match held {
            // A load balancer of the same scheme is not replaced, whatever its name is.
            Held::One(balancer) if balancer.scheme.as_deref() == Some(scheme.name()) => {
                self.name(decision, scheme)?;
                Answer::Is(balancer.name.clone())
            }
            Held::One(_) | Held::None | Held::NotRead => self.name(decision, scheme)?,
        };
        decision.step(
            "target_groups",
            "aws-load-balancer-controller pkg/service/model_build_target_group.go#buildTargetGroup",
        );
        let network = Network { scheme, subnets: &subnets, groups };
        self.listeners(decision, &network, is_dual_stack)?;
        self.note_not_modelled(decision);
        Ok(())
    }

    /// Subnets of the load balancer: `pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnets`.
    fn subnets<'s>(
        &self,
        decision: &mut Decision,
        held: Held<'_>,
        search: &Search<'s>,
    ) -> Result<Vec<&'s Subnet>, Stop> {
        if let Some(named) = self.annotations.list("aws-load-balancer-subnets") {
            return search.by_name_or_id(&named);
        }
        match held {
            Held::NotRead => Stop::unknown(
                "subnets",
                "an existing load balancer of the same scheme keeps its subnets, and load balancers were not read",
            ),
            Held::One(balancer) if balancer.scheme.as_deref() == Some(search.scheme.name()) => {
                decision.subnets_if_new = search.if_new(decision);
                search.by_name_or_id(&balancer.subnets)
            }
            Held::One(_) | Held::None => search.discovered(decision),
        }
    }

    /// Source: `pkg/service/model_build_load_balancer.go#buildLoadBalancerTags`, and the attribute that follows.
    fn validate_tags(&self) -> Result<(), Stop> {
        let tags = self.annotations.map("aws-load-balancer-additional-resource-tags")?;
        let managed = self.config.list("external-managed-tags");
        if let Some(key) = tags.keys().find(|key| managed.contains(key)) {
            return Stop::error(format!("external managed tag key {key} cannot be specified on Service"));
        }
        // Since v2.8.
        let suffix = "aws-load-balancer-inbound-sg-rules-on-private-link-traffic";
        if let Some(other) =
            self.annotations.get(suffix).filter(|one| self.config.is_since(2, 8) && !matches!(*one, "on" | "off"))
        {
            return Stop::error(format!(
                "Invalid value for securityGroupsInboundRulesOnPrivateLink status: {other}, value must be one of [on, off]"
            ));
        }
        Ok(())
    }

    /// Annotations with which the controller may fail after all that was decided.
    fn note_not_modelled(&self, decision: &mut Decision) {
        let is_named = |suffix: &&str| NOT_MODELLED.iter().any(|one| suffix.starts_with(one));
        for suffix in self.annotations.suffixes().filter(is_named) {
            decision.is_not_modelled(&self.annotations.key(suffix));
        }
        let ports = &self.service.ports;
        let mut numbers = std::collections::BTreeSet::new();
        let has_twice = !ports.iter().all(|port| numbers.insert(port.port));
        if has_twice && !self.merges_ports() {
            decision.notes.push(
                "of two ports with the same number the controller creates the listener of the first alone".to_owned(),
            );
        }
    }

    /// The load balancer of the Service. Without a list of load balancers, an address shows that there is one.
    fn held(&self) -> Held<'_> {
        let Service { namespace, name, .. } = self.service;
        match self.world.load_balancer_of(self.config.cluster_name, MadeFor::Service(namespace, name)) {
            Held::NotRead if self.service.ingress.is_empty() && self.world.here().load_balancing.is_none() => {
                Held::None
            }
            held => held,
        }
    }

    fn scheme(&self, held: Held<'_>) -> Result<Scheme, Stop> {
        if let Some(raw) = self.annotations.get("aws-load-balancer-scheme") {
            return match Scheme::parse(raw) {
                Some(scheme) => Ok(scheme),
                None => Stop::error(format!("unknown scheme: {raw}")),
            };
        }
        if let Some(is_internal) = self.annotations.switch("aws-load-balancer-internal")? {
            return Ok(if is_internal { Scheme::Internal } else { Scheme::InternetFacing });
        }
        match held {
            Held::NotRead => {
                Stop::unknown("scheme", "an existing load balancer keeps its scheme, and load balancers were not read")
            }
            Held::One(balancer) => match balancer.scheme.as_deref().and_then(Scheme::parse) {
                Some(scheme) => Ok(scheme),
                None => Stop::error("invalid load balancer scheme"),
            },
            Held::None => Ok(default_scheme(self.config)),
        }
    }

    /// Annotations about attributes that the controller refuses.
    fn validate_attributes(&self) -> Result<(), Stop> {
        let attributes = self.annotations.map("aws-load-balancer-attributes")?;
        let policy = attributes.get("dns_record.client_routing_policy");
        if let Some(policy) =
            policy.filter(|one| self.config.is_since(2, 8) && !ROUTING_POLICIES.contains(&one.as_str()))
        {
            let [any, partial, own] = ROUTING_POLICIES;
            return Stop::error(format!(
                "invalid dns_record.client_routing_policy set in annotation aws-load-balancer-attributes: got '{policy}' expected one of ['{any}', '{partial}', '{own}']"
            ));
        }
        self.annotations.switch("aws-load-balancer-access-log-enabled")?;
        self.annotations.switch("aws-load-balancer-cross-zone-load-balancing-enabled")?;
        if self.config.is_since(2, 11) && self.config.gate("LBCapacityReservation", true) {
            for (key, value) in self.annotations.map("aws-load-balancer-minimum-load-balancer-capacity")? {
                if key != "CapacityUnits" {
                    return Stop::error(format!("invalid key to set the capacity: {key}, Expected key: CapacityUnits"));
                }
                if value.parse::<i32>().is_err() {
                    return Stop::error(format!(
                        "invalid value to set the capacity: {value}: strconv.ParseInt: parsing {}: invalid syntax",
                        crate::model::annotations::go_quoted(&value)
                    ));
                }
            }
        }
        Ok(())
    }

    /// Addresses by annotation: `#buildLoadBalancerSubnetMappings`.
    fn validate_addresses(&self, scheme: Scheme, subnets: &[&Subnet], is_dual_stack: bool) -> Result<(), Stop> {
        let held = subnets;
        let subnets = held.len();
        let count = |what: &str, list: &[String]| {
            if list.len() == subnets {
                Ok(())
            } else {
                Stop::error(format!("count of {what} ({}) and subnets ({subnets}) must match", list.len()))
            }
        };
        if let Some(list) = self.annotations.list("aws-load-balancer-eip-allocations") {
            if scheme != Scheme::InternetFacing {
                return Stop::error("EIP allocations can only be set for internet facing load balancers");
            }
            count("EIP allocations", &list)?;
        }
        if let Some(list) = self.annotations.list("aws-load-balancer-private-ipv4-addresses") {
            if scheme != Scheme::Internal {
                return Stop::error("private IPv4 addresses can only be set for internal load balancers");
            }
            count("private IPv4 addresses", &list)?;
            must_be_of("private IPv4 addresses", "IPv4", &list)?;
            let addresses: Vec<std::net::Ipv4Addr> = list.iter().filter_map(|one| one.parse().ok()).collect();
            for subnet in held {
                let Some(block) = subnet.cidr_block.as_ref().and_then(|block| block.parse::<ipnet::Ipv4Net>().ok())
                else {
                    return Stop::unknown(
                        "error",
                        "the ranges of the subnets are not in the inventory: record it again",
                    );
                };
                if addresses.iter().filter(|address| block.contains(*address)).count() != 1 {
                    return Stop::error(format!(
                        "expect one private IPv4 address configured for subnet: {}",
                        subnet.id
                    ));
                }
            }
        }
        if let Some(list) = self.annotations.list("aws-load-balancer-ipv6-addresses") {
            if !is_dual_stack {
                return Stop::error("IPv6 addresses can only be set for dualstack load balancers");
            }
            count("IPv6 addresses", &list)?;
            must_be_of("IPv6 addresses", "IPv6", &list)?;
            return Stop::unknown("error", "the IPv6 ranges of the subnets are not compared with the addresses");
        }
        Ok(())
    }

    fn name(&self, decision: &mut Decision, scheme: Scheme) -> Result<Answer<String>, Stop> {
        if let Some(name) = self.annotations.get("aws-load-balancer-name") {
            if name.len() > 32 {
                return Stop::error("load balancer name cannot be longer than 32 characters");
            }
            if name.is_empty() {
                decision.may_fail("the name in the annotation is empty, which Elastic Load Balancing refuses");
            }
            return Ok(Answer::Is(name.to_owned()));
        }
        let service = self.service;
        if service.uid.is_empty() {
            decision.note_unknown("name", "it contains the uid of the Service, which a manifest does not state");
            return Ok(Answer::Unknown);
        }
        let hash = names::sha256(&[self.config.cluster_name, &service.uid, scheme.name()]);
        Ok(Answer::Is(names::of_object(&service.namespace, &service.name, &hash)))
    }
}

/// Addresses of an annotation must be of one family.
/// Source: `pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnetMappings`.
fn must_be_of(what: &str, family: &str, addresses: &[String]) -> Result<(), Stop> {
    for raw in addresses {
        let Ok(address) = raw.parse::<std::net::IpAddr>() else {
            return Stop::error(format!("{what} must be valid IP address: {raw}"));
        };
        if address.is_ipv6() != (family == "IPv6") {
            return Stop::error(format!("{what} must be valid {family} address: {raw}"));
        }
    }
    Ok(())
}
