//! The chain of a Service or a Node of a cluster in Alibaba Cloud.

use std::collections::BTreeSet;

use crate::alibaba::{ClusterView, LoadBalancer, Member};
use crate::controller::ControllerVersion;
use crate::inventory::Read;
use crate::kubernetes::CloudController;
use crate::model::objects::Objects;
use crate::model::simulate::{Options, simulate_alibaba};
use crate::model::{Answer, Decision, ModelledController, ObjectName};
use crate::resource::ResourceKind;
use crate::text;

use super::SHOWN;
use super::balancer::{Asked, Life, address, asked_service, controller_link, decision_link, unknown};
use super::causes::Found;
use super::node::{given, initialization, is_uninitialized, object};
use super::{Audited, Chain, ChainError, ItemState, Link, LinkName, State};

/// Everything that a chain is built from.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) audited: Audited<'a>,
    pub(crate) view: &'a ClusterView<'a>,
    /// Version of the controller that the operator gives.
    pub(crate) version: Option<ControllerVersion>,
}

const CONTROLLER: ModelledController = ModelledController::CloudProviderAlibaba;

/// Reads that decide what a RAM role or user grants.
const RAM_READS: [Read; 7] = [
    Read::ListGroupsForUser,
    Read::ListPoliciesForGroup,
    Read::ListPoliciesForRole,
    Read::ListPoliciesForUser,
    Read::ListPolicyAttachments,
    Read::RamGetPolicy,
    Read::RamGetRole,
];

/// The chain of a Service.
///
/// # Errors
/// If the evidence does not hold it, or the model cannot decide.
pub(crate) fn service(facts: &Facts<'_>, namespace: &str, name: &str) -> Result<Chain, ChainError> {
    let (asked, reference, own) = asked_service(&facts.audited, namespace, name)?;
    let mut objects = Objects::of_cluster(facts.audited.evidence);
    objects.subjects = [asked.object.clone()].into();
    let versions = facts.version.map(|version| (CONTROLLER, version)).into_iter().collect();
    let simulation = simulate_alibaba(facts.view, &objects, &Options { versions, ..Options::default() })?;
    let Some(decision) = simulation.objects.first() else {
        let link = Link::new(LinkName::Controller).broken("no modelled controller takes it");
        return Ok(Chain::new(&facts.audited, asked.object.clone(), vec![own, link]));
    };
    let findings = of_controller(&facts.audited);
    let mut controller = controller_link(decision, simulation.controllers.first(), &asked, findings);
    controller = of_configuration(&facts.audited, controller);
    let mut links = vec![own, controller];
    if decision.handled {
        let is_stopped = decision.failure().is_some() && !decision.created;
        links.push(permissions(&facts.audited));
        links.push(decision_link(&facts.audited, decision, &reference));
        links.push(vswitches(facts, decision, is_stopped));
        links.extend(groups(facts, decision));
        links.push(load_balancer(facts, decision, &asked, is_stopped));
        links.push(targets(facts, decision, is_stopped));
        links.push(address(&asked, is_stopped));
    }
    Ok(Chain::new(&facts.audited, asked.object.clone(), links))
}

/// The chain of a Node.
///
/// # Errors
/// If the evidence does not hold it.
pub(crate) fn node(facts: &Facts<'_>, name: &str) -> Result<Chain, ChainError> {
    let found = given(&facts.audited, name)?;
    let member = facts.view.members().find(|member| member.node.is_some_and(|node| node.name == name));
    let own = ObjectName { kind: "Node", namespace: String::new(), name: name.to_owned() };
    let links = vec![
        object(&facts.audited, found),
        instance(facts, member),
        running(&facts.audited),
        permissions(&facts.audited),
        initialization(found),
    ];
    Ok(Chain::new(&facts.audited, own, links))
}

/// The cloud controller, as far as the evidence shows it.
fn running(audited: &Audited<'_>) -> Link {
    let link = Link::new(LinkName::Controller);
    let link = match CONTROLLER.version_in(audited.evidence) {
        Some(version) => link.fact(format!("{} {version}", CONTROLLER.describe())),
        None if CONTROLLER.is_in(audited.evidence) => link.fact(CONTROLLER.describe()),
        None => link.unread(format!("the evidence does not show that the {} runs", CONTROLLER.describe())),
    };
    of_configuration(audited, link.found(of_controller(audited), true))
}

/// Findings about the workload of the controller.
fn of_controller<'a>(audited: &Audited<'a>) -> Vec<Found<'a>> {
    let names: Vec<String> = audited.evidence.alibaba_controllers().map(CloudController::name).collect();
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    audited.findings_on(ResourceKind::Workload, &names)
}

/// Adds the findings about its cloud configuration, which seldom stop the controller.
fn of_configuration(audited: &Audited<'_>, link: Link) -> Link {
    let configs = audited.evidence.alibaba_cloud_configs();
    let names: BTreeSet<&str> = configs.iter().map(|(map, _)| map.name.as_str()).collect();
    link.found(audited.findings_on(ResourceKind::ClusterConfig, &names), false)
}

/// The rights of the controller's principal.
fn permissions(audited: &Audited<'_>) -> Link {
    let link = Link::new(LinkName::Permissions);
    let roles = audited.controlplane_roles();
    if roles.is_empty() {
        return link
            .unless_read(audited, &RAM_READS)
            .unread("the principal that the controller uses is not known: give it with --controller-role");
    }
    let ids: BTreeSet<&str> =
        roles.iter().filter_map(|arn| arn.rsplit('/').next()).chain(roles.iter().copied()).collect();
    let link = roles.iter().fold(link, |link, role| link.fact(format!("`{role}`")));
    let kinds = [ResourceKind::RamRole, ResourceKind::RamUser];
    let findings = kinds.into_iter().flat_map(|kind| audited.findings_on(kind, &ids));
    link.found(findings, true).unless_read(audited, &RAM_READS)
}

fn vswitches(facts: &Facts<'_>, decision: &Decision, is_stopped: bool) -> Link {
    let mut link = Link::new(LinkName::Subnets);
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    link = match (&decision.subnets, &decision.subnets_one_of) {
        (Answer::Is(chosen), _) => {
            ids.extend(chosen.iter().map(String::as_str));
            link.fact(format!("vSwitches: {}", text::list(chosen, SHOWN)))
        }
        (_, Answer::Is(candidates)) => {
            ids.extend(candidates.iter().map(String::as_str));
            link.fact(format!("one of these vSwitches, at random: {}", text::list(candidates, SHOWN)))
        }
        (Answer::Unknown, _) => unknown(link, decision, "subnets"),
        (Answer::NotReached, _) if held(facts, decision).is_some() => {
            return link.fact("the load balancer exists, and keeps its network");
        }
        (Answer::NotReached, _) if is_stopped => link.not_reached(),
        (Answer::NotReached, _) => link.fact("it has no vSwitch: its address is public"),
    };
    for id in &ids {
        let regions = &facts.view.regions;
        let held = regions.iter().flat_map(|one| &one.region.vswitches).find(|one| one.id == *id);
        let zone = held.and_then(|one| one.zone_id.as_deref());
        let is_chosen = decision.subnets.known().is_some();
        let (state, note) =
            if is_chosen { (ItemState::Used, None) } else { (ItemState::NotUsed, Some("one of these")) };
        link.item(id, state, zone, note);
        match held {
            Some(held) if held.free_addresses == Some(0) => link = link.broken(format!("{id} has no free address")),
            Some(_) => {}
            None => link = link.unread(format!("{id} is not in the inventory")),
        }
    }
    link.found(facts.audited.findings_on(ResourceKind::VSwitch, &ids), false)
        .unless_read(&facts.audited, &[Read::DescribeVSwitches])
}

/// The security groups of a Network Load Balancer; a Classic Load Balancer has none.
fn groups(facts: &Facts<'_>, decision: &Decision) -> Option<Link> {
    let groups = decision.lb_groups.known()?;
    let ids: BTreeSet<&str> = groups.iter().map(String::as_str).collect();
    let shown = if groups.is_empty() { "none".to_owned() } else { text::list(groups, SHOWN) };
    let mut link = Link::new(LinkName::SecurityGroups).fact(format!("of the load balancer: {shown}"));
    for id in groups {
        link.item(id, ItemState::Used, None, None);
    }
    for id in ids.iter().filter(|id| !id.starts_with("new:")) {
        let regions = &facts.view.regions;
        if !regions.iter().flat_map(|one| &one.region.security_groups).any(|one| one.id == *id) {
            link = link.unread(format!("{id} is not in the inventory: if it does not exist, the API refuses it"));
        }
    }
    let findings = facts.audited.findings_on(ResourceKind::SecurityGroup, &ids);
    let name = format!("{}/{}", decision.object.namespace, decision.object.name);
    let link = link.found(findings, false).found(facts.audited.findings_on_groups_of_service(&name), true);
    let reads = [Read::EcsDescribeSecurityGroups, Read::EcsDescribeSecurityGroupAttribute];
    Some(link.unless_read(&facts.audited, &reads))
}

const BALANCER_READS: [Read; 2] = [Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers];

/// The load balancer that the controller finds today.
fn held<'a>(facts: &Facts<'a>, decision: &Decision) -> Option<&'a LoadBalancer> {
    let id = decision.load_balancer_id.known()?;
    let regions = &facts.view.regions;
    regions.iter().flat_map(|one| one.region.load_balancers.iter().flatten()).find(|one| one.id == *id)
}

fn load_balancer(facts: &Facts<'_>, decision: &Decision, asked: &Asked, is_stopped: bool) -> Link {
    let link = Link::new(LinkName::LoadBalancer);
    let was_read = facts.view.regions.iter().any(|one| one.region.load_balancers.is_some());
    let Some(one) = held(facts, decision) else {
        let link = link.unless_read(&facts.audited, &BALANCER_READS);
        return if !was_read {
            link.unread("the load balancers of the account were not read")
        } else if link.state == State::NotAudited {
            link
        } else if is_stopped {
            link.not_reached()
        } else if asked.life == Life::Manifest {
            link.unread("the object is a manifest: its load balancer does not exist yet")
        } else if decision.load_balancer_id.known().is_some() {
            link.unread("the load balancer that it names is not in the inventory")
        } else {
            link.broken("no load balancer carries its tag or its name")
        };
    };
    let parts = [one.address_type.as_deref(), Some(one.kind.noun()), one.address.as_deref(), one.dns_name.as_deref()];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    let link = link.fact(format!("`{}`: {}", one.id, parts.join(", ")));
    let link = match decision.listeners_written {
        Answer::Is(false) => link.fact("it belongs to its user, and its listeners stay as they are"),
        _ => link,
    };
    let ids = BTreeSet::from([one.id.as_str()]);
    link.found(facts.audited.findings_on(ResourceKind::LoadBalancer, &ids), false)
        .unless_read(&facts.audited, &BALANCER_READS)
}

fn targets(facts: &Facts<'_>, decision: &Decision, is_stopped: bool) -> Link {
    let mut link = Link::new(LinkName::Targets);
    link = match &decision.targets {
        Answer::Is(targets) if targets.is_empty() => link.broken("the controller adds no server"),
        Answer::Is(targets) => link.fact(format!("the controller adds {}", text::list(targets, SHOWN))),
        Answer::Unknown => unknown(link, decision, "targets"),
        Answer::NotReached => link,
    };
    for id in decision.targets.known().into_iter().flatten() {
        link.item(id, ItemState::Expected, None, None);
    }
    for one in &decision.nodes_left_out {
        link.item(&one.node, ItemState::NotUsed, None, Some(&one.reason));
    }
    for one in decision.nodes_left_out.iter().take(SHOWN) {
        link = link.fact(format!("not {}: {}", one.node, one.reason));
    }
    if is_stopped {
        return link.not_reached();
    }
    if held(facts, decision).is_none() {
        return link.unread("no load balancer was found");
    }
    link.unread("the health of its servers is not read")
}

fn instance(facts: &Facts<'_>, member: Option<&Member<'_>>) -> Link {
    let link = Link::new(LinkName::Instance);
    let Some(member) = member else {
        let link = link.unless_read(&facts.audited, &[Read::EcsDescribeInstances]);
        return if link.not_audited.is_empty() {
            link.broken("no instance of the account and region is this Node, by its providerID or its address")
        } else {
            link
        };
    };
    let instance = member.instance;
    let zone = instance.zone_id.as_deref().unwrap_or("a zone that was not read");
    let link = link.fact(format!("`{}` in {zone}, {}", instance.id, member.roles.roles.describe()));
    let link = if instance.status == "Running" { link } else { link.broken(format!("it is {}", instance.status)) };
    let id = BTreeSet::from([instance.id.as_str()]);
    // An error cannot have stopped a Node that is initialised.
    let is_waiting = member.node.is_some_and(is_uninitialized);
    link.found(facts.audited.findings_on(ResourceKind::Instance, &id), is_waiting)
        .unless_read(&facts.audited, &[Read::EcsDescribeInstances])
}
