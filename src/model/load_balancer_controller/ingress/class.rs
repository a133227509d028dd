//! Which Ingresses the controller takes, and in which group.
//! Source: aws-load-balancer-controller `pkg/ingress/group_loader.go#classifyIngress`, `#loadGroupID`,
//! `#sortGroupMembers`; `class_loader.go#Load`; `class_annotation_matcher.go`.

use std::collections::BTreeMap;

use crate::kubernetes::{Document, DocumentKind, Evidence, Object};

use super::{CONTROLLER, Member, PREFIX};
use crate::model::annotations::parse_bool;
use crate::model::decision::{ObjectName, Stop};
use crate::model::load_balancer_controller::Config;
use crate::model::objects::ingress_name;
use crate::model::world::World;

const DEFAULT_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";
const ORDERS: std::ops::RangeInclusive<i64> = -1000..=1000;

/// Result of the classification of an Ingress.
pub(super) enum Class<'e> {
    /// Takes it, in a group with a name, or alone.
    Taken(Member<'e>, Option<String>),
    NotTaken,
    Stops(Stop),
}

/// Classifies an Ingress.
pub(super) fn classify<'e>(world: World<'e>, config: &Config<'_>, object: Object<'e>) -> Class<'e> {
    let name = ingress_name(object, world.given.namespace);
    if object.at(&["metadata", "deletionTimestamp"]).is_some() {
        return Class::NotTaken;
    }
    if let Err(stop) = admitted(world, config, object, &name) {
        return Class::Stops(stop);
    }
    let own_namespace = config.flag("watch-namespace").is_none_or(|only| only.is_empty() || only == name.namespace);
    if !own_namespace {
        return Class::NotTaken;
    }
    let annotations = texts(object, &["metadata", "annotations"]);
    let parameters = match parameters(world.evidence, config, object, &annotations) {
        Ok(Parameters::Are(parameters)) => Some(parameters),
        Ok(Parameters::None) => None,
        Ok(Parameters::OfOthers) => return Class::NotTaken,
        Err(stop) => return Class::Stops(stop),
    };
    let of_class = parameters.and_then(|parameters| parameters.at(&["spec", "group"]));
    let group = match of_class {
        Some(group) => Some(group.text(&["name"]).unwrap_or_default().to_owned()),
        None => annotations.get(&format!("{PREFIX}group.name")).cloned(),
    };
    if let Some(wrong) = group.as_deref().and_then(why_invalid) {
        return Class::Stops(Stop::Error(format!("invalid ingress group: {wrong}")));
    }
    let member = Member { object, name, annotations, parameters, has_escapes: config.has_escapes() };
    Class::Taken(member, group)
}

/// Annotations that flags forbid for new Ingresses.
/// Source: `webhooks/networking/ingress_validator.go#checkIngressClassAnnotationUsage`, `#checkGroupNameAnnotationUsage`.
fn admitted(world: World<'_>, config: &Config<'_>, object: Object<'_>, name: &ObjectName) -> Result<(), Stop> {
    if world.given.ingresses.all.contains(name) {
        return Ok(());
    }
    let annotations = texts(object, &["metadata", "annotations"]);
    let own_class = config.flag("ingress-class").unwrap_or("alb");
    let class = annotations.get("kubernetes.io/ingress.class");
    let refused = |key: &str| Stop::error(format!("new usage of `{key}` annotation is forbidden"));
    if config.switch("disable-ingress-class-annotation", false) && class.is_some_and(|class| class == own_class) {
        return refused("kubernetes.io/ingress.class");
    }
    let group = format!("{PREFIX}group.name");
    let is_forbidden =
        config.switch("disable-ingress-group-name-annotation", false) && annotations.contains_key(&group);
    let is_own = || !matches!(parameters(world.evidence, config, object, &annotations), Ok(Parameters::OfOthers));
    if is_forbidden && is_own() { refused(&group) } else { Ok(()) }
}

/// Finalizer of an Ingress without an explicit group.
/// Source: `pkg/shared_constants/finalizers.go#ImplicitGroupFinalizer`.
const OF_ONE: &str = "ingress.k8s.aws/resources";

/// Explicit group and name of an Ingress that is being deleted while its deletion protection is on: it stops the whole group.
/// Source: `model_builder.go#getDeletionProtectionViaAnnotation`.
pub(super) fn protected(object: Object<'_>) -> Option<(Option<&str>, &str)> {
    object.at(&["metadata", "deletionTimestamp"])?;
    let mut finalizers = object.items(&["metadata", "finalizers"]).filter_map(|one| one.text(&[]));
    let group = finalizers.find_map(|one| match one.strip_prefix("group.ingress.k8s.aws/") {
        Some(group) => Some(Some(group)),
        None => (one == OF_ONE).then_some(None),
    })?;
    let attributes = object.text(&["metadata", "annotations", "alb.ingress.kubernetes.io/load-balancer-attributes"])?;
    let attributes = crate::model::annotations::pairs(attributes);
    let is_on = attributes.get("deletion_protection.enabled").and_then(|value| parse_bool(value)) == Some(true);
    is_on.then_some((group, object.text(&["metadata", "name"])?))
}

/// Members of a mapping with texts as their values.
fn texts(object: Object<'_>, path: &[&str]) -> BTreeMap<String, String> {
    let members = object.members(path);
    members.filter_map(|(key, value)| Some((key.value, value.node.as_str()?.to_owned()))).collect()
}

/// Parameters of a class.
enum Parameters<'e> {
    Are(Object<'e>),
    None,
    /// Another controller takes the Ingress.
    OfOthers,
}

/// The parameters of the class of an Ingress.
fn parameters<'e>(
    evidence: &'e Evidence,
    config: &Config<'_>,
    object: Object<'e>,
    annotations: &BTreeMap<String, String>,
) -> Result<Parameters<'e>, Stop> {
    let own_class = config.flag("ingress-class").unwrap_or("alb");
    if let Some(class) = annotations.get("kubernetes.io/ingress.class") {
        let is_own = class == own_class || own_class.is_empty() && class == "alb";
        return Ok(if is_own { Parameters::None } else { Parameters::OfOthers });
    }
    let objects = |kind| evidence.documents_by_kind(kind).map(Document::object);
    let named = |kind, name: &str| objects(kind).find(|one| one.text(&["metadata", "name"]) == Some(name));
    let class = match object.text(&["spec", "ingressClassName"]) {
        Some(name) => match named(DocumentKind::IngressClass, name) {
            Some(class) => class,
            None => return Stop::unknown("handled", format!("the IngressClass `{name}` was not given")),
        },
        None => match default_class(objects(DocumentKind::IngressClass))? {
            Some(class) => class,
            None if own_class.is_empty() => return Ok(Parameters::None),
            None => return Ok(Parameters::OfOthers),
        },
    };
    if class.text(&["spec", "controller"]) != Some(CONTROLLER) {
        return Ok(Parameters::OfOthers);
    }
    let Some(reference) = class.at(&["spec", "parameters"]) else { return Ok(Parameters::None) };
    let text = |key| reference.text(&[key]).unwrap_or_default();
    if text("apiGroup") != "elbv2.k8s.aws" || text("kind") != "IngressClassParams" {
        let class = class.text(&["metadata", "name"]).unwrap_or_default();
        return Stop::error(format!("invalid ingress class: IngressClass {class} references unknown parameters"));
    }
    let Some(parameters) = named(DocumentKind::IngressClassParams, text("name")) else {
        return Stop::unknown("handled", format!("the IngressClassParams `{}` were not given", text("name")));
    };
    if parameters.at(&["spec", "namespaceSelector"]).is_some_and(|selector| !is_empty(selector)) {
        // Namespaces are not in the evidence.
        return Stop::unknown(
            "handled",
            format!(
                "the IngressClassParams `{}` select namespaces by label, and the labels of namespaces were not read",
                text("name")
            ),
        );
    }
    Ok(Parameters::Are(parameters))
}

/// True for a selector without conditions, which matches every namespace.
fn is_empty(selector: Object<'_>) -> bool {
    selector.members(&["matchLabels"]).next().is_none() && selector.items(&["matchExpressions"]).next().is_none()
}

/// The class of Ingresses without one.
/// Source: `class_loader.go#GetDefaultIngressClass`.
fn default_class<'e>(classes: impl Iterator<Item = Object<'e>>) -> Result<Option<Object<'e>>, Stop> {
    let is_default = |class: &Object<'e>| class.text(&["metadata", "annotations", DEFAULT_CLASS]) == Some("true");
    let mut found = classes.filter(is_default);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Stop::error("multiple default IngressClasses found"),
        (first, _) => Ok(first),
    }
}

/// The reason for which the controller refuses the name of a group: `#validateGroupName`.
fn why_invalid(group: &str) -> Option<String> {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_inner = |c: char| is_end(c) || matches!(c, '-' | '.');
    if !(group.starts_with(is_end) && group.ends_with(is_end) && group.chars().all(is_inner)) {
        return Some(
            "groupName must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
                .to_owned(),
        );
    }
    (group.len() > 63).then(|| "groupName must be no more than 63 characters".to_owned())
}

/// Sorts the members of a group: by `group.order`, then by name.
pub(super) fn sort(members: &mut [Member<'_>]) -> Result<(), Stop> {
    members.sort_by_cached_key(|member| member.name.clone());
    let mut orders = BTreeMap::new();
    for member in members.iter() {
        let full = format!("{}/{}", member.name.namespace, member.name.name);
        let order = match member.annotations().number("group.order") {
            Ok(order) => order,
            Err(Stop::Error(message)) => {
                return Stop::error(format!("failed to load Ingress group order for ingress: {full}: {message}"));
            }
            Err(stop) => return Err(stop),
        };
        if let Some(order) = order.filter(|order| !ORDERS.contains(order)) {
            return Stop::error(format!(
                "explicit Ingress group order must be within [{}:{}], Ingress: {full}, order: {order}",
                ORDERS.start(),
                ORDERS.end()
            ));
        }
        orders.insert(member.name.clone(), order.unwrap_or(0));
    }
    members.sort_by_cached_key(|member| (orders.get(&member.name).copied(), member.name.clone()));
    Ok(())
}
