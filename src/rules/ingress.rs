//! Ingresses and `TargetGroupBinding` objects of the AWS Load Balancer Controller, compared with the account.
//! Sources: kubernetes-sigs/aws-load-balancer-controller `pkg/ingress/class_loader.go`, `pkg/ingress/group_loader.go`,
//! `pkg/ingress/model_build_load_balancer.go`.

use crate::aws::companions::companions;
use crate::controller::companion::Companion;
use crate::finding::ResourceRef;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object, Place};
use crate::resource::ResourceKind;

use super::Rule;

mod gateway_not_judged;
mod ingress_class_unusable;
mod ingress_reference_missing;
mod ingress_sync_fails;
mod ingress_zones_too_few;
mod target_group_binding_service_missing;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/ingress.rs"));

const NO_INGRESS: &str = "no Ingress of one AWS Load Balancer Controller was given";

/// Prefix of the annotations of the controller.
const PREFIX: &str = "alb.ingress.kubernetes.io/";

/// `spec.controller` of its classes.
const CONTROLLER: &str = "ingress.k8s.aws/alb";

/// An Ingress that the AWS Load Balancer Controller serves.
struct AlbIngress<'e> {
    object: Object<'e>,
    /// `NAMESPACE/NAME`.
    name: String,
    /// Parameters of its class: `None` if the class has none.
    parameters: Option<Parameters<'e>>,
}

/// Parameters of a class.
#[derive(Clone, Copy)]
enum Parameters<'e> {
    Given(Object<'e>),
    /// They were not given.
    Unknown,
}

impl<'e> AlbIngress<'e> {
    fn annotation(&self, name: &str) -> Option<&'e str> {
        self.object.text(&["metadata", "annotations", &format!("{PREFIX}{name}")])
    }

    /// Entries of an annotation that is a list.
    fn list(&self, name: &str) -> Vec<&'e str> {
        let text = self.annotation(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect()
    }

    fn place(&self, name: &str) -> Place {
        let annotation = self.object.at(&["metadata", "annotations", &format!("{PREFIX}{name}")]);
        annotation.map_or_else(|| self.object.head(), Object::place)
    }

    /// Name of its group: Ingresses of one group share a load balancer.
    fn group(&self) -> Option<&'e str> {
        let of_class = match self.parameters {
            Some(Parameters::Given(parameters)) => parameters.text(&["spec", "group", "name"]),
            _ => None,
        };
        of_class.or_else(|| self.annotation("group.name"))
    }

    /// True if the parameters of its class may set the subnets.
    fn has_class_subnets(&self) -> bool {
        match self.parameters {
            Some(Parameters::Given(parameters)) => parameters.at(&["spec", "subnets"]).is_some(),
            Some(Parameters::Unknown) => true,
            None => false,
        }
    }

    fn reference(&self) -> ResourceRef {
        ResourceRef::bare(ResourceKind::ClusterConfig, format!("Ingress/{}", self.name))
    }
}

/// `NAMESPACE/NAME` of an object.
fn full_name(object: Object<'_>) -> String {
    let text = |key: &str, default| object.text(&["metadata", key]).filter(|text| !text.is_empty()).unwrap_or(default);
    format!("{}/{}", text("namespace", "default"), text("name", ""))
}

/// True if an object is being deleted.
fn is_deleted(object: Object<'_>) -> bool {
    object.at(&["metadata", "deletionTimestamp"]).is_some()
}

/// Ingresses that the one AWS Load Balancer Controller of the evidence serves: by their class, or by the legacy
/// annotation with the default of `--ingress-class`.
fn alb_ingresses(evidence: &Evidence) -> Vec<AlbIngress<'_>> {
    let objects = |kind| evidence.documents_by_kind(kind).map(Document::object);
    let named = |object: &Object<'_>, name: &str| object.text(&["metadata", "name"]) == Some(name);
    let controllers = companions(evidence).into_iter();
    let controllers: Vec<_> =
        controllers.filter(|run| run.row.companion == Companion::LoadBalancerController).collect();
    // Several controllers may share the Ingresses.
    let [only] = controllers.as_slice() else { return Vec::new() };
    let own_class = only.argument("ingress-class").unwrap_or("alb");
    let watched = only.argument("watch-namespace").filter(|name| !name.is_empty());
    let found = objects(DocumentKind::Ingress).filter_map(|object| {
        let namespace = object.text(&["metadata", "namespace"]).unwrap_or("default");
        if is_deleted(object) || watched.is_some_and(|watched| watched != namespace) {
            return None;
        }
        let annotation = |name: &str| object.text(&["metadata", "annotations", name]);
        let class = object.text(&["spec", "ingressClassName"]);
        let class = class.and_then(|class| objects(DocumentKind::IngressClass).find(|one| named(one, class)));
        let is_served = match class {
            Some(class) => class.text(&["spec", "controller"]) == Some(CONTROLLER),
            // Without its class, nothing is known about an Ingress that names one.
            None => {
                object.text(&["spec", "ingressClassName"]).is_none()
                    && annotation("kubernetes.io/ingress.class") == Some(own_class)
            }
        };
        let parameters = class.and_then(|class| {
            let name = class.text(&["spec", "parameters", "name"])?;
            let given = objects(DocumentKind::IngressClassParams).find(|one| named(one, name));
            Some(given.map_or(Parameters::Unknown, Parameters::Given))
        });
        is_served.then(|| AlbIngress { object, name: full_name(object), parameters })
    });
    found.collect()
}
