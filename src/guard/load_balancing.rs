//! Load balancers and target groups of a plan in AWS. Those that a controller maintains are the controller's: it makes again
//! what a plan deletes, and sets back what a plan changes.
//! Sources: hashicorp/terraform-provider-aws `internal/service/elbv2/load_balancer.go`, `target_group.go`,
//! `target_group_attachment.go`, `listener.go`, `internal/service/elb/load_balancer.go`; kubernetes/cloud-provider-aws
//! `pkg/providers/v1/aws.go#EnsureLoadBalancer`; kubernetes-sigs/aws-load-balancer-controller
//! `pkg/deploy/elbv2/load_balancer_synthesizer.go`, `pkg/targetgroupbinding/resource_manager.go#Reconcile`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::aws::load_balancers::SERVICE_NAME;
use crate::aws::{LoadBalancer, LoadBalancerKind, LoadBalancing, TargetGroup};
use crate::resource::ResourceKind;
use crate::tags::{CLUSTER_TAG_PREFIX, LBC_CLUSTER_TAG};
use crate::text;

use super::change::{Action, Change, texts};
use super::plan::{Plan, Text};
use super::scope::Affected;
use super::tags::{self, TagChange};
use super::trial::Trial;

/// Attributes of a load balancer that a controller sets back. Those of the last lines exist with Classic Load Balancers alone:
/// the AWS Load Balancer Controller sets only the attributes that annotations name.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancer`,
/// `#ensureLoadBalancerHealthCheck`.
const READ_OF_BALANCER: [&str; 8] = [
    "enable_cross_zone_load_balancing",
    "instances",
    "internal",
    "listener",
    "name",
    "security_groups",
    "subnet_mapping",
    "subnets",
];

const UNREAD: &str = "the load balancers and target groups, or their tags, were not read: a controller may maintain it";

/// Further ones of a Classic Load Balancer.
const READ_OF_CLASSIC: [&str; 5] =
    ["access_logs", "connection_draining", "cross_zone_load_balancing", "health_check", "idle_timeout"];

/// The object that a part of a load balancer or of a target group belongs to.
enum Whole {
    /// Its ARN, or its name.
    Is(String),
    /// It is named by an attribute that is known only after the plan is applied.
    Open(&'static str),
    /// The plan does not name it.
    Unnamed,
}

/// The object that a change of `aws_lb_listener`, `aws_lb_target_group_attachment` and their like is a part of.
fn whole(plan: &Plan, change: &Change) -> Whole {
    const KEYS: [&str; 6] =
        ["listener_arn", "load_balancer_arn", "target_group_arn", "load_balancer_name", "load_balancer", "elb"];
    // `…:listener/net/NAME/ID/LISTENER` is a listener of `…:loadbalancer/net/NAME/ID`.
    let of_listener = |arn: &str| {
        let (start, path) = arn.split_once(":listener/")?;
        let (balancer, _) = path.rsplit_once('/')?;
        Some(format!("{start}:loadbalancer/{balancer}"))
    };
    for key in KEYS {
        if let Some(text) = change.before_text(key) {
            return Whole::Is(of_listener(text).unwrap_or_else(|| text.to_owned()));
        }
        match plan.text(change, key) {
            Text::Known(text) => return Whole::Is(of_listener(&text).unwrap_or(text)),
            Text::Unknown => return Whole::Open(key),
            Text::Absent => {}
        }
    }
    Whole::Unnamed
}

/// Name of a target group, from its ARN.
fn name_of_group(arn: &str) -> &str {
    arn.split_once(":targetgroup/").and_then(|(_, path)| path.split('/').next()).unwrap_or(arn)
}

/// A change of a part of a load balancer or of a target group: undecided if a controller maintains that one, or may do so.
pub(super) fn part(plan: &Plan, change: &Change, affected: &Affected) -> Option<String> {
    let key = match whole(plan, change) {
        Whole::Is(key) => key,
        Whole::Unnamed => return None,
        Whole::Open(attribute) => {
            let may_be_maintained = affected.has_unread_balancing || !affected.maintained.is_empty();
            return may_be_maintained.then(|| format!("`{attribute}` is known only after the plan is applied"));
        }
    };
    if let Some(of) = affected.maintained.get(&key) {
        return Some(format!("it belongs to {of}: the controller sets it back"));
    }
    let is_target =
        matches!(change.kind.as_str(), "aws_lb_target_group_attachment" | "aws_alb_target_group_attachment");
    let binding = affected.bound.get(&key).or_else(|| affected.bound.get(name_of_group(&key)));
    if let Some(binding) = binding.filter(|_| is_target) {
        return Some(format!("{binding} registers the targets of the target group, and deregisters all others"));
    }
    affected.has_unread_balancing.then(|| UNREAD.to_owned())
}

/// True for a part of a load balancer or of a target group.
pub(super) fn is_part(kind: &str) -> bool {
    const PARTS: [&str; 16] = [
        "aws_alb_listener",
        "aws_alb_listener_certificate",
        "aws_alb_listener_rule",
        "aws_alb_target_group_attachment",
        "aws_app_cookie_stickiness_policy",
        "aws_elb_attachment",
        "aws_lb_cookie_stickiness_policy",
        "aws_lb_listener",
        "aws_lb_listener_certificate",
        "aws_lb_listener_rule",
        "aws_lb_ssl_negotiation_policy",
        "aws_lb_target_group_attachment",
        "aws_load_balancer_backend_server_policy",
        "aws_load_balancer_listener_policy",
        "aws_load_balancer_policy",
        "aws_proxy_protocol_policy",
    ];
    PARTS.contains(&kind)
}

/// Removes a load balancer or a target group; an update takes nothing away.
pub(super) fn take_away(trial: &mut Trial<'_>, key: &str, is_gone: bool) {
    if trial.change.is(Action::Update) {
        return;
    }
    if trial.change.kind.ends_with("_target_group") {
        remove_target_group(trial, key, is_gone);
    } else {
        remove_balancer(trial, key, is_gone);
    }
}

/// Removes a load balancer. One that is replaced stays, with what [`balancer`] changes.
fn remove_balancer(trial: &mut Trial<'_>, key: &str, is_gone: bool) {
    if let Some(of) = trial.affected.maintained.get(key) {
        let why = format!("it is the load balancer of {of}: the controller creates another one, with another address");
        trial.undecided(why);
    } else {
        note_unread(trial);
    }
    if !is_gone {
        return;
    }
    trial.touch(ResourceKind::LoadBalancer, key);
    let Some(read) = balancing(trial) else { return };
    read.load_balancers.retain(|one| one.key() != key);
    for group in &mut read.target_groups {
        group.load_balancers.retain(|one| one != key);
    }
}

/// Removes a target group.
fn remove_target_group(trial: &mut Trial<'_>, arn: &str, is_gone: bool) {
    if let Some(of) = trial.affected.maintained.get(arn) {
        trial.undecided(format!("it is a target group of {of}: the controller creates another one"));
    } else {
        note_unread(trial);
    }
    let name = trial.change.before_text("name").unwrap_or_default();
    // A binding by name finds the group that takes the place of this one.
    let keeps_name = !is_gone && trial.change.after_text("name") == Some(name);
    if let Some(binding) =
        trial.affected.bound.get(arn).or_else(|| trial.affected.bound.get(name).filter(|_| !keeps_name))
    {
        trial.undecided(format!("{binding} names it: its Pods or Nodes are no longer registered"));
    }
    if !is_gone {
        return;
    }
    trial.touch(ResourceKind::TargetGroup, arn);
    let Some(read) = balancing(trial) else { return };
    read.target_groups.retain(|one| one.arn != arn);
    // The API refuses to delete one that a listener names: the plan takes it from there.
    for listener in read.load_balancers.iter_mut().flat_map(|one| one.listeners.iter_mut().flatten()) {
        listener.target_groups.retain(|one| one != arn);
    }
}

/// A load balancer.
pub(super) fn balancer(trial: &mut Trial<'_>) {
    let change = trial.change;
    let key = change.identity();
    let maintained = trial.affected.maintained.get(&key).cloned();
    let is_new = change.is(Action::Create);
    if maintained.is_none() {
        note_unread(trial);
    }
    let held = balancing(trial).and_then(|read| read.load_balancers.iter().find(|one| one.key() == key)).cloned();
    if balancing(trial).is_none() || (held.is_none() && !is_new) {
        return;
    }
    let is_classic = change.kind == "aws_elb";
    let mut new = held.unwrap_or_else(|| LoadBalancer {
        kind: kind(change, is_classic),
        arn: (!is_classic).then(|| key.clone()),
        name: key.clone(),
        tags: Some(Vec::new()),
        listeners: Some(Vec::new()),
        attributes: (!is_classic).then(BTreeMap::new),
        health: is_classic.then(Vec::new),
        ..LoadBalancer::default()
    });
    // A name that is replaced keeps the object: what refers to it follows.
    if let Some(name) = change.after_text("name").filter(|_| !is_classic) {
        name.clone_into(&mut new.name);
    }
    let differs = |key: &str| is_new || change.differs(key);
    let mut open = Vec::new();
    for (name, list) in [("subnets", &mut new.subnets), ("security_groups", &mut new.security_groups)] {
        if differs(name) {
            match trial.plan.list(change, name) {
                Some(mut ids) => {
                    ids.sort();
                    *list = ids;
                }
                None => open.push(name),
            }
        }
    }
    if differs("internal") {
        match trial.plan.text(change, "internal") {
            Text::Known(flag) => {
                new.scheme = Some(if flag == "true" { "internal" } else { "internet-facing" }.to_owned());
            }
            Text::Absent => new.scheme = Some("internet-facing".to_owned()),
            Text::Unknown => open.push("internal"),
        }
    }
    let is_protected = change.known("enable_deletion_protection") == Some(&Value::Bool(true));
    if let Some(attributes) = new.attributes.as_mut().filter(|_| differs("enable_deletion_protection")) {
        attributes.insert("deletion_protection.enabled".to_owned(), is_protected.to_string());
    }
    let changed = tags::change(trial.plan, change);
    note_lost_tags(trial, &changed);
    if let Some(of) = &maintained {
        let of_classic = READ_OF_CLASSIC.into_iter().filter(|_| is_classic);
        let set: Vec<&str> = READ_OF_BALANCER.into_iter().chain(of_classic).filter(|key| change.differs(key)).collect();
        // The controller makes another one in the place of one that is replaced.
        if !set.is_empty() && !change.is(Action::Replace) {
            let set = set.join("`, `");
            trial.undecided(format!("it is the load balancer of {of}: the controller sets `{set}` back"));
        }
        changed.open().into_iter().for_each(|why| trial.undecided(why));
        for name in open {
            trial.open(name);
        }
    }
    if let Some(held) = &mut new.tags {
        changed.apply(held);
    }
    place(trial, new);
    trial.touch(ResourceKind::LoadBalancer, &key);
}

/// Puts a load balancer into the copy, in the place of the one with its key.
fn place(trial: &mut Trial<'_>, mut new: LoadBalancer) {
    let Some(region) = trial.region() else { return };
    let zone = |id: &String| region.subnets.iter().find(|one| one.id == *id).map(|one| one.availability_zone.clone());
    let mut zones: Vec<String> = new.subnets.iter().filter_map(zone).collect();
    zones.sort();
    zones.dedup();
    let vpc = new.subnets.iter().find_map(|id| region.subnets.iter().find(|one| one.id == *id));
    new.vpc_id = vpc.map(|one| one.vpc_id.clone()).or(new.vpc_id);
    if !zones.is_empty() {
        new.zones = zones;
    }
    let Some(read) = region.load_balancing.as_mut() else { return };
    match read.load_balancers.iter_mut().find(|one| one.key() == new.key()) {
        Some(held) => *held = new,
        None => read.load_balancers.push(new),
    }
}

/// A target group.
pub(super) fn target_group(trial: &mut Trial<'_>) {
    let change = trial.change;
    let arn = change.identity();
    match trial.affected.maintained.get(&arn) {
        Some(of) if change.differs("health_check") => {
            trial.undecided(format!("it is a target group of {of}: the controller sets `health_check` back"));
        }
        Some(_) => {}
        None => note_unread(trial),
    }
    let changed = tags::change(trial.plan, change);
    note_lost_tags(trial, &changed);
    let vpc = match trial.plan.text(change, "vpc_id") {
        Text::Known(id) => Some(id),
        Text::Absent | Text::Unknown => None,
    };
    let is_new = change.is(Action::Create);
    let Some(read) = balancing(trial) else { return };
    if is_new {
        let text = |key: &str| change.after_text(key).map(str::to_owned);
        read.target_groups.push(TargetGroup {
            name: text("name").unwrap_or_else(|| arn.clone()),
            arn: arn.clone(),
            port: change.known("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok()),
            protocol: text("protocol"),
            target_type: text("target_type").or_else(|| Some("instance".to_owned())),
            vpc_id: vpc,
            tags: Some(Vec::new()),
            targets: Some(Vec::new()),
            ..TargetGroup::default()
        });
    }
    let Some(group) = read.target_groups.iter_mut().find(|one| one.arn == arn) else { return };
    if let Some(held) = &mut group.tags {
        changed.apply(held);
    }
    trial.touch(ResourceKind::TargetGroup, &arn);
}

/// The tags by which a controller finds what it made, or by which a leftover is found, are taken away.
/// Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/tags.go`; kubernetes-sigs/aws-load-balancer-controller
/// `pkg/deploy/elbv2/load_balancer_synthesizer.go#findSDKLoadBalancers`.
fn note_lost_tags(trial: &mut Trial<'_>, changed: &TagChange) {
    let change = trial.change;
    if change.is(Action::Create) || change.is(Action::Replace) {
        return;
    }
    let is_mark = |key: &str| {
        key == SERVICE_NAME
            || key == LBC_CLUSTER_TAG
            || key.starts_with(CLUSTER_TAG_PREFIX)
            || key.starts_with("service.k8s.aws/")
            || key.starts_with("ingress.k8s.aws/")
    };
    let key = change.identity();
    let held = balancing(trial).and_then(|read| {
        let of_balancer = read.load_balancers.iter().find(|one| one.key() == key).map(|one| &one.tags);
        let of_group = || read.target_groups.iter().find(|one| one.arn == key).map(|one| &one.tags);
        of_balancer.or_else(of_group)
    });
    let mut held = held.into_iter().flatten().flatten();
    let is_of_controller = held.any(|tag| tag.key == SERVICE_NAME || tag.key == LBC_CLUSTER_TAG);
    let lost = changed.removed.iter().chain(changed.set.keys()).find(|key| is_mark(key)).cloned();
    let Some(lost) = lost.filter(|_| is_of_controller) else { return };
    let lost = text::printable(&lost).into_owned();
    trial.undecided(match trial.affected.maintained.get(&key) {
        Some(of) => {
            format!("the controller finds the load balancer of {of} by `{lost}`: without it, it creates another one")
        }
        None => format!("`{lost}` shows that a controller left it behind: without it nothing does, and it stays"),
    });
}

fn balancing<'a>(trial: &'a mut Trial<'_>) -> Option<&'a mut LoadBalancing> {
    trial.region()?.load_balancing.as_mut()
}

fn kind(change: &Change, is_classic: bool) -> LoadBalancerKind {
    match change.after_text("load_balancer_type") {
        _ if is_classic => LoadBalancerKind::Classic,
        Some("network") => LoadBalancerKind::Network,
        Some("gateway") => LoadBalancerKind::Gateway,
        _ => LoadBalancerKind::Application,
    }
}

/// A change of an object near a cluster that a controller may maintain, because it was not read.
fn note_unread(trial: &mut Trial<'_>) {
    let change = trial.change;
    let named = texts(change.before("subnets"));
    let vpc = change.before_text("vpc_id");
    let is_near = vpc.is_some_and(|vpc| trial.affected.vpcs.contains(vpc))
        || named.iter().any(|id| trial.affected.ids.contains(id));
    if change.is(Action::Create) || !is_near {
        return;
    }
    if trial.affected.has_unread_balancing {
        trial.undecided(UNREAD);
        return;
    }
    let Some(id) = change.before_text("id") else { return };
    let is_held = balancing(trial).is_some_and(|read| {
        read.load_balancers.iter().any(|one| one.key() == id) || read.target_groups.iter().any(|one| one.arn == id)
    });
    if !is_held {
        trial.undecided(format!("the inventory does not hold `{}`", text::printable(id)));
    }
}
