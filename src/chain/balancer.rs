//! The chain of a Service or an Ingress: object, controller, rights, decision, subnets, groups, load balancer, targets,
//! address.

use std::collections::BTreeSet;

use crate::aws::ingresses::is_deleted;
use crate::aws::load_balancers::{MadeFor, Maker};
use crate::finding::Severity;
use crate::inventory::Read;
use crate::kubernetes::{DocumentKind, Ingress, Service};
use crate::model::existing::Balancer;
use crate::model::objects::Objects;
use crate::model::simulate::{AskedController, ObjectKind, Options, Simulation, VersionSource, simulate};
use crate::model::{Answer, Decision, ModelledController, ObjectName};
use crate::resource::ResourceKind;
use crate::rules;
use crate::text;

use super::causes::Found;
use super::targets::{is_about_targets, names_of, targets};
use super::{Audited, Chain, ChainError, Facts, ItemState, Link, LinkName, SHOWN, State};

/// Annotation with which a Service names its subnets.
const SUBNETS_OF_SERVICE: &str = "service.beta.kubernetes.io/aws-load-balancer-subnets";

/// Annotation with which an Ingress names its subnets.
const SUBNETS_OF_INGRESS: &str = "alb.ingress.kubernetes.io/subnets";

/// The chain of a Service.
///
/// # Errors
/// If the evidence does not hold it, or the model cannot decide.
pub(crate) fn service(facts: &Facts<'_>, namespace: &str, name: &str) -> Result<Chain, ChainError> {
    let (asked, reference, own) = asked_service(&facts.audited, namespace, name)?;
    chain(facts, &reference, own, &asked)
}

/// A Service, with its link and the resource of findings about it.
pub(super) fn asked_service(
    audited: &Audited<'_>,
    namespace: &str,
    name: &str,
) -> Result<(Asked, (ResourceKind, String), Link), ChainError> {
    let services = audited.evidence.services.as_ref().ok_or(ChainError::NotGiven { kind: "Service" })?;
    let is_it = |one: &&Service| one.name == name && (one.namespace == namespace || one.namespace.is_empty());
    let found = services.iter().find(is_it);
    let found = found.ok_or_else(|| ChainError::Missing { kind: "Service", name: format!("{namespace}/{name}") })?;
    let object = ObjectName { kind: "Service", namespace: found.namespace.clone(), name: name.to_owned() };
    let reference = (ResourceKind::Service, found.full_name());
    let ports: Vec<String> = found.ports.iter().map(|port| port.port.to_string()).collect();
    let class = found.load_balancer_class.as_ref().map(|class| format!(", class `{class}`")).unwrap_or_default();
    let own =
        Link::new(LinkName::Object).fact(format!("type {}{class}, ports {}", found.service_type, ports.join(", ")));
    let own = if found.service_type == "LoadBalancer" {
        own
    } else {
        own.broken("only Services of type LoadBalancer get a load balancer from a controller")
    };
    let own = match &found.deleted_at {
        Some(time) => own.fact(format!("it is being deleted since {time}")),
        None => own,
    };
    let addresses = found.ingress.iter().map(|one| match one {
        Ingress::Hostname(text) | Ingress::Address(text) => text.clone(),
    });
    let addresses = addresses.collect();
    let asked = Asked {
        object,
        kind: ObjectKind::Service,
        may_be_of_others: found.load_balancer_class.is_some(),
        life: Life::new(!found.uid.is_empty(), found.deleted_at.is_some()),
        names_subnets: found.annotations.contains_key(SUBNETS_OF_SERVICE),
        addresses,
    };
    Ok((asked, reference, own))
}

/// The chain of an Ingress.
///
/// # Errors
/// If the evidence does not hold it, or the model cannot decide.
pub(crate) fn ingress(facts: &Facts<'_>, namespace: &str, name: &str) -> Result<Chain, ChainError> {
    let of_kind = |one: &&crate::kubernetes::Document| one.kind == DocumentKind::Ingress;
    let mut ingresses = facts.audited.evidence.documents.iter().filter(of_kind).peekable();
    if ingresses.peek().is_none() && !facts.audited.evidence.document_lists.contains(&DocumentKind::Ingress) {
        return Err(ChainError::NotGiven { kind: "Ingress" });
    }
    let full_name = format!("{namespace}/{name}");
    let is_it = |one: &&crate::kubernetes::Document| {
        let object = one.object();
        let held = object.text(&["metadata", "namespace"]).unwrap_or("default");
        object.text(&["metadata", "name"]) == Some(name) && held == namespace
    };
    let found = ingresses.find(is_it);
    let found = found.ok_or_else(|| ChainError::Missing { kind: "Ingress", name: full_name.clone() })?;
    let class = found.object().text(&["spec", "ingressClassName"]);
    let own = Link::new(LinkName::Object).fact(match class {
        Some(class) => format!("class `{class}`"),
        None => "no `ingressClassName`".to_owned(),
    });
    let status = found.object().items(&["status", "loadBalancer", "ingress"]);
    let addresses = status.filter_map(|one| one.text(&["hostname"]).map(str::to_owned)).collect();
    let object = ObjectName { kind: "Ingress", namespace: namespace.to_owned(), name: name.to_owned() };
    let names_subnets = found.object().text(&["metadata", "annotations", SUBNETS_OF_INGRESS]).is_some();
    let asked = Asked {
        object,
        kind: ObjectKind::Ingress,
        may_be_of_others: true,
        life: Life::new(found.object().text(&["metadata", "uid"]).is_some(), is_deleted(found.object())),
        names_subnets,
        addresses,
    };
    chain(facts, &(ResourceKind::ClusterConfig, format!("Ingress/{full_name}")), own, &asked)
}

/// What the API server knows of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// Nothing: it is a manifest.
    Manifest,
    Applied,
    /// It has a deletion time.
    Ending,
}

impl Life {
    fn new(is_applied: bool, is_ending: bool) -> Self {
        match (is_ending, is_applied) {
            (true, _) => Self::Ending,
            (false, true) => Self::Applied,
            (false, false) => Self::Manifest,
        }
    }
}

/// An object to ask the controllers about.
pub(super) struct Asked {
    pub(super) object: ObjectName,
    kind: ObjectKind,
    pub(super) life: Life,
    /// True if controllers that are not modelled may take it: a Service with a class, or an Ingress.
    pub(super) may_be_of_others: bool,
    /// True if an annotation names its subnets: their tags do not matter.
    names_subnets: bool,
    /// Host names in its status.
    addresses: Vec<String>,
}

/// `reference`: the resource of findings about the object.
fn chain(facts: &Facts<'_>, reference: &(ResourceKind, String), own: Link, asked: &Asked) -> Result<Chain, ChainError> {
    let mut objects = Objects::of_cluster(facts.audited.evidence);
    objects.subjects = [asked.object.clone()].into();
    let versions = facts.version.map(|version| (ModelledController::CloudProviderAws, version)).into_iter().collect();
    let options = Options { versions, kind: Some(asked.kind), ..Options::default() };
    let is_its = |one: &&Decision| one.object == asked.object || one.members.contains(&asked.object);
    let its = |simulation: &Simulation| -> Option<Decision> {
        let its: Vec<&Decision> = simulation.objects.iter().filter(is_its).collect();
        its.iter().copied().find(|one| one.handled).or(its.first().copied()).cloned()
    };
    let mut simulation = simulate(facts.view, &objects, &options)?;
    let mut found = its(&simulation);
    // A controller that the evidence does not show may run all the same.
    for controller in ModelledController::OF_AWS {
        if found.as_ref().is_some_and(|one| one.handled) {
            break;
        }
        let options = Options { controller: Some(controller), ..options.clone() };
        let other = simulate(facts.view, &objects, &options)?;
        if let Some(taken) = its(&other).filter(|one| one.handled) {
            (simulation, found) = (other, Some(taken));
        }
    }
    let Some(decision) = &found else {
        let link = Link::new(LinkName::Controller).broken("no modelled controller takes it");
        return Ok(Chain::new(&facts.audited, asked.object.clone(), vec![own, link]));
    };
    let controller = simulation.controllers.iter().find(|one| one.controller == decision.controller);
    let mut links = vec![own, controller_link(decision, controller, asked, facts.of_controller(decision.controller))];
    if decision.handled {
        links.push(facts.permissions(decision.controller));
        links.push(decision_link(&facts.audited, decision, reference));
        let is_stopped = decision.failure().is_some() && !decision.created;
        links.push(subnets(facts, asked, decision, is_stopped));
        links.push(groups(facts, decision, is_stopped));
        let existing = existing(facts, decision, asked);
        links.push(load_balancer(facts, existing, asked, decision, is_stopped));
        links.push(targets(facts, existing, decision, is_stopped));
        links.push(address(asked, is_stopped));
    }
    Ok(Chain::new(&facts.audited, asked.object.clone(), links))
}

/// `findings`: those about the controller.
pub(super) fn controller_link(
    decision: &Decision,
    controller: Option<&AskedController>,
    asked: &Asked,
    findings: Vec<Found<'_>>,
) -> Link {
    let (name, version) = (decision.controller.describe(), &decision.version);
    let sources = decision.steps.first().map(|step| step.function);
    let mut link = Link::new(LinkName::Controller);
    link.sources = sources.into_iter().collect();
    let is_open = decision.error == Answer::Unknown;
    let link = match (decision.handled, is_open) {
        (true, _) => link.fact(format!("the {name} {version} takes it")),
        (false, _) if asked.life == Life::Ending => {
            return link.unread(
                "it is being deleted: the controller that made its load balancer deletes that, then removes its finalizer; its events show what stops it",
            );
        }
        (false, true) => link.unread(format!("whether the {name} {version} takes it is not known")),
        (false, false) if asked.may_be_of_others => {
            return link.unread("no modelled controller takes it: its class can be that of another controller");
        }
        (false, false) => {
            link.broken(format!("the {name} {version} does not take it, and no other modelled controller does"))
        }
    };
    let link = link.found(findings, true);
    let Some(controller) = controller else { return link };
    let link = match controller.version_source {
        VersionSource::Assumed => link.fact("its version is not known: the newest of the model is assumed"),
        VersionSource::Option | VersionSource::Image => link,
    };
    if controller.is_running { link } else { link.unread(format!("the evidence does not show that the {name} runs")) }
}

/// The controller's decision: its error, or the load balancer. Findings about the object belong here.
pub(super) fn decision_link(audited: &Audited<'_>, decision: &Decision, (kind, id): &(ResourceKind, String)) -> Link {
    let mut link = Link::new(LinkName::Decision);
    link.sources = decision.steps.last().map(|step| step.function).into_iter().collect();
    let known = |answer: &Answer<&'static str>| answer.known().copied();
    let parts: Vec<&str> = [known(&decision.scheme), known(&decision.kind)].into_iter().flatten().collect();
    let name = decision.name.known().map(|name| format!(" `{name}`")).unwrap_or_default();
    if !parts.is_empty() {
        link = link.fact(format!("it asks for: {}{name}", parts.join(" ")));
    }
    link = match &decision.error {
        Answer::Is(Some(error)) => link.broken(format!("the controller stops: {error}")),
        Answer::Is(None) => link,
        Answer::Unknown | Answer::NotReached => {
            let reasons = decision.unknown.iter().filter(|one| one.field == "error").map(|one| one.reason.clone());
            let mut reasons: Vec<String> = reasons.collect();
            if reasons.is_empty() {
                reasons.push("it is not known if the controller finishes".to_owned());
            }
            reasons.into_iter().fold(link, Link::unread)
        }
    };
    let ids = BTreeSet::from([id.as_str()]);
    if let Answer::Is(Some(error)) = &decision.error {
        link = link.found(audited.findings_behind(error, *kind), false);
    }
    // The error of the controller is the verdict: other errors about the object alone stop nothing.
    let (restating, own): (Vec<_>, Vec<_>) =
        audited.findings_on(*kind, &ids).into_iter().partition(|one| rules::restates_model(&one.finding.rule));
    let link = link.found(own, false);
    if link.findings.iter().any(|one| one.severity == Severity::Error) { link } else { link.found(restating, false) }
}

fn subnets(facts: &Facts<'_>, asked: &Asked, decision: &Decision, is_stopped: bool) -> Link {
    const READS: [Read; 4] =
        [Read::DescribeSubnets, Read::DescribeRouteTables, Read::DescribeVpcs, Read::DescribeAvailabilityZones];
    let mut link = Link::new(LinkName::Subnets);
    // What is wrong with others matters only while none is chosen.
    let is_chosen = decision.subnets.known().is_some_and(|chosen| !chosen.is_empty()) && decision.failure().is_none();
    let passed_over = decision.subnets_passed_over.iter().filter(|_| !is_chosen);
    let mut ids: BTreeSet<&str> = passed_over.map(|one| one.subnet.as_str()).collect();
    link = match &decision.subnets {
        Answer::Is(subnets) => {
            ids.extend(subnets.iter().map(String::as_str));
            link.fact(format!("chosen: {}", text::list(subnets, SHOWN)))
        }
        Answer::Unknown => unknown(link, decision, "subnets"),
        Answer::NotReached if is_stopped => {
            let next = if asked.names_subnets { Vec::new() } else { facts.audited.findings_on_subnets() };
            return link.not_reached().found_next(next);
        }
        Answer::NotReached => link,
    };
    for id in decision.subnets.known().into_iter().flatten() {
        let regions = facts.view.regions.iter().flat_map(|one| &one.region.subnets);
        let held = regions.into_iter().find(|one| one.id == *id);
        link.item(id, ItemState::Used, held.map(|one| one.availability_zone.as_str()), None);
    }
    for one in &decision.subnets_passed_over {
        link.item(&one.subnet, ItemState::NotUsed, Some(&one.zone), Some(&one.reason));
    }
    for one in decision.subnets_passed_over.iter().take(SHOWN) {
        link = link.fact(format!("not {} ({}): {}", one.subnet, one.zone, one.reason));
    }
    link.found(facts.audited.findings_on(ResourceKind::Subnet, &ids), false).unless_read(&facts.audited, &READS)
}

fn groups(facts: &Facts<'_>, decision: &Decision, is_stopped: bool) -> Link {
    const READS: [Read; 2] = [Read::DescribeSecurityGroups, Read::DescribeInstances];
    let mut link = Link::new(LinkName::SecurityGroups);
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    for (what, field, answer) in [
        ("of the load balancer", "lb_groups", &decision.lb_groups),
        ("of the nodes", "node_groups", &decision.node_groups),
    ] {
        link = match answer {
            Answer::Is(groups) => {
                ids.extend(groups.iter().map(String::as_str));
                for id in groups {
                    link.item(id, ItemState::Used, None, Some(what));
                }
                let shown = if groups.is_empty() { "none".to_owned() } else { text::list(groups, SHOWN) };
                link.fact(format!("{what}: {shown}"))
            }
            Answer::Unknown => unknown(link, decision, field),
            Answer::NotReached => link,
        };
    }
    if is_stopped && ids.is_empty() {
        link = link.not_reached();
    }
    let of_nodes = facts.audited.findings_on_groups_of(None);
    if link.state == State::NotReached {
        return link.found_next(of_nodes);
    }
    link.found(of_nodes, false)
        .found(facts.audited.findings_on(ResourceKind::SecurityGroup, &ids), false)
        .unless_read(&facts.audited, &READS)
}

/// Notes why a part of the decision is not known.
pub(super) fn unknown(link: Link, decision: &Decision, field: &'static str) -> Link {
    let reasons = decision.unknown.iter().filter(|one| one.field == field).map(|one| one.reason.clone());
    let reasons: Vec<String> = reasons.collect();
    if reasons.is_empty() {
        return link.unread("the decision depends on something that was not read");
    }
    reasons.into_iter().fold(link, Link::unread)
}

/// The load balancer that exists for the object: a controller knows those that it made.
fn existing<'e>(facts: &'e Facts<'_>, decision: &Decision, asked: &Asked) -> Option<&'e Balancer<'e>> {
    let object = &asked.object;
    let is_its = |one: &&Balancer<'_>| {
        let maker = match decision.controller {
            ModelledController::LoadBalancerController => Maker::LoadBalancerController,
            ModelledController::CloudProviderAws | ModelledController::CloudProviderAlibaba => Maker::CloudController,
        };
        let own = one.claims.iter().filter(|claim| claim.maker == maker);
        own.into_iter().any(|claim| match claim.made_for {
            MadeFor::Service(namespace, name) => {
                object.kind == "Service" && (namespace, name) == (object.namespace.as_str(), object.name.as_str())
            }
            MadeFor::Ingress(namespace, name) => {
                object.kind == "Ingress" && (namespace, name) == (object.namespace.as_str(), object.name.as_str())
            }
            MadeFor::IngressGroup(name) => object.kind == "Ingress" && decision.stack == name,
        })
    };
    let balancers: &'e [Balancer<'_>] = &facts.existing.balancers;
    let mut found: Vec<&'e Balancer<'e>> = balancers.iter().filter(is_its).collect();
    // Of several, the one that the controller would make today.
    found.sort_by_key(|one| !one.is_meant());
    found.first().copied()
}

/// True if a load balancer has a name.
fn is_named(facts: &Facts<'_>, name: &str) -> bool {
    let read = facts.view.regions.iter().filter_map(|region| region.region.load_balancing.as_ref());
    read.flat_map(|read| &read.load_balancers).any(|one| one.name == name)
}

/// Reads that decide which load balancers are there.
const BALANCER_READS: [Read; 2] = [Read::DescribeLoadBalancers, Read::DescribeLoadBalancerTags];

fn load_balancer(
    facts: &Facts<'_>,
    existing: Option<&Balancer<'_>>,
    asked: &Asked,
    decision: &Decision,
    is_stopped: bool,
) -> Link {
    let link = Link::new(LinkName::LoadBalancer);
    let Some(one) = existing else {
        let link = link.unless_read(&facts.audited, &BALANCER_READS);
        return if !facts.existing.was_read {
            link.unread("the load balancers of the account were not read")
        } else if link.state == State::NotAudited {
            link
        } else if is_stopped {
            link.not_reached()
        } else if asked.life == Life::Manifest {
            link.unread("the object is a manifest: it has no load balancer before it is applied")
        } else if let Some(name) = decision.name.known().filter(|name| is_named(facts, name)) {
            // The cloud controller finds it by its name alone.
            link.unread(format!("a load balancer with the name `{name}` exists, and its tags do not name the object"))
        } else {
            link.broken("it does not exist: the controller did not create it, or its cluster tag names another cluster")
                .fact("read the log of the controller: `kubectl logs` of its Pods, and pipe it to `tagaudit why -`")
        };
    };
    let balancer = one.balancer;
    let state = balancer.state.as_deref().map(|state| format!(", {state}")).unwrap_or_default();
    let link = link.fact(format!("`{}`{state}, {}", balancer.name, balancer.dns_name));
    let link = match balancer.state.as_deref() {
        Some("failed") => link.broken("AWS could not create it"),
        Some("provisioning") => link.broken("AWS is still creating it"),
        _ => link,
    };
    let link = match (decision.scheme.known(), balancer.scheme.as_deref()) {
        // The cloud controller keeps the scheme, and a finding says so.
        (Some(asked), Some(held)) if *asked != held => {
            let mut link = link.fact(format!(
                "it is {held}, and the object asks for {asked}: the controller deletes it and creates another, with another host name"
            ));
            if link.state == State::Ok {
                link.state = State::Degraded;
            }
            link
        }
        _ => link,
    };
    let names = names_of(one);
    let findings =
        facts.audited.findings_on(ResourceKind::LoadBalancer, &names).into_iter().filter(|one| !is_about_targets(one));
    link.found(findings, false).unless_read(&facts.audited, &BALANCER_READS)
}

pub(super) fn address(asked: &Asked, is_stopped: bool) -> Link {
    let link = Link::new(LinkName::Address);
    match asked.addresses.as_slice() {
        [] if asked.life == Life::Manifest => link.unread("the object is a manifest: it has no status"),
        [] if is_stopped => link.not_reached(),
        [] => link.broken("its status has no address: it is pending"),
        addresses => link.fact(text::list(addresses, SHOWN)),
    }
}
