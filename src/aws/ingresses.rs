//! The Ingresses that the AWS Load Balancer Controller serves.
//! Sources: kubernetes-sigs/aws-load-balancer-controller `pkg/ingress/class_loader.go`, `pkg/ingress/group_loader.go`,
//! `pkg/ingress/model_build_load_balancer.go`.

use crate::aws::cluster_api::ClusterApiTasks;
use crate::aws::companions::{CompanionRun, ListenerUse, ObjectUse, companions};
use crate::controller::companion::Companion;
use crate::finding::ResourceRef;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object, Place, Service};
use crate::resource::ResourceKind;

/// Prefix of the annotations of the controller.
pub(crate) const PREFIX: &str = "alb.ingress.kubernetes.io/";

/// `spec.controller` of its classes.
pub(crate) const CONTROLLER: &str = "ingress.k8s.aws/alb";

/// An Ingress that the AWS Load Balancer Controller serves.
pub(crate) struct AlbIngress<'e> {
    pub(crate) object: Object<'e>,
    /// `NAMESPACE/NAME`.
    pub(crate) name: String,
    /// Parameters of its class: `None` if the class has none.
    pub(crate) parameters: Option<Parameters<'e>>,
}

/// Parameters of a class.
#[derive(Clone, Copy)]
pub(crate) enum Parameters<'e> {
    Given(Object<'e>),
    /// They were not given.
    Unknown,
}

impl<'e> AlbIngress<'e> {
    pub(crate) fn annotation(&self, name: &str) -> Option<&'e str> {
        self.object.text(&["metadata", "annotations", &format!("{PREFIX}{name}")])
    }

    /// Entries of an annotation that is a list.
    pub(crate) fn list(&self, name: &str) -> Vec<&'e str> {
        entries(self.annotation(name).unwrap_or_default())
    }

    pub(crate) fn place(&self, name: &str) -> Place {
        let annotation = self.object.at(&["metadata", "annotations", &format!("{PREFIX}{name}")]);
        annotation.map_or_else(|| self.object.head(), Object::place)
    }

    /// Name of its group: Ingresses of one group share a load balancer.
    pub(crate) fn group(&self) -> Option<&'e str> {
        let of_class = match self.parameters {
            Some(Parameters::Given(parameters)) => parameters.text(&["spec", "group", "name"]),
            _ => None,
        };
        of_class.or_else(|| self.annotation("group.name"))
    }

    /// True if the parameters of its class may set the subnets.
    pub(crate) fn has_class_subnets(&self) -> bool {
        match self.parameters {
            Some(Parameters::Given(parameters)) => parameters.at(&["spec", "subnets"]).is_some(),
            Some(Parameters::Unknown) => true,
            None => false,
        }
    }

    /// True if its class or the Ingress itself certainly sets a certificate; it is not certain where the parameters of
    /// its class were not given.
    /// Source: `pkg/ingress/model_build_listener.go#computeIngressExplicitTLSCertARNs`.
    fn has_certificate(&self) -> bool {
        let class_has_one = match self.parameters {
            Some(Parameters::Unknown) => return false,
            Some(Parameters::Given(parameters)) => {
                parameters.items(&["spec", "certificateArn"]).any(|item| item.node.as_str().is_some())
            }
            None => false,
        };
        class_has_one || !self.list("certificate-arn").is_empty()
    }

    /// True if it certainly has an HTTPS listener: one of `listen-ports`, or the default with a certificate.
    /// Source: `pkg/ingress/model_build_listener.go#computeIngressListenPorts`.
    fn has_https(&self) -> bool {
        match self.annotation("listen-ports").filter(|ports| !ports.is_empty()) {
            Some(ports) => ports.contains("\"HTTPS\""),
            None => self.has_certificate(),
        }
    }

    /// True if a backend is behind an authentication by Amazon Cognito. The Service decides before the Ingress.
    /// Source: `pkg/ingress/enhanced_backend_builder.go#buildAuthConfig`.
    fn authenticates_by_cognito(&self, evidence: &Evidence) -> bool {
        let namespace = self.object.text(&["metadata", "namespace"]).unwrap_or("default");
        let rules = self.object.items(&["spec", "rules"]);
        let paths = rules.flat_map(|rule| rule.items(&["http", "paths"]));
        let names = paths.filter_map(|path| path.text(&["backend", "service", "name"]));
        let mut names = names.chain(self.object.text(&["spec", "defaultBackend", "service", "name"]));
        let stated = |name: &str| {
            let mut services = evidence.services.iter().flatten();
            let service = services.find(|service| service.namespace == namespace && service.name == name);
            service.and_then(|service| service.annotations.get(&format!("{PREFIX}auth-type"))).map(String::as_str)
        };
        names.any(|name| stated(name).or(self.annotation("auth-type")) == Some("cognito"))
    }

    /// True if it, or its class, reserves capacity.
    /// Source: `pkg/ingress/model_build_load_balancer.go#buildLoadBalancerMinimumCapacity`.
    fn has_capacity(&self) -> bool {
        let of_class = match self.parameters {
            Some(Parameters::Given(parameters)) => parameters.at(&["spec", "minimumLoadBalancerCapacity"]).is_some(),
            Some(Parameters::Unknown) | None => false,
        };
        of_class || !self.list("minimum-load-balancer-capacity").is_empty()
    }

    pub(crate) fn reference(&self) -> ResourceRef {
        reference(&self.name)
    }
}

/// Entries of a value that is a list.
fn entries(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

/// `NAMESPACE/NAME` of an object.
pub(crate) fn full_name(object: Object<'_>) -> String {
    let text = |key: &str, default| object.text(&["metadata", key]).filter(|text| !text.is_empty()).unwrap_or(default);
    format!("{}/{}", text("namespace", "default"), text("name", ""))
}

/// An Ingress, by its full name, in a report.
pub(crate) fn reference(name: &str) -> ResourceRef {
    ResourceRef::bare(ResourceKind::ClusterConfig, format!("Ingress/{name}"))
}

/// True if an object is being deleted.
pub(crate) fn is_deleted(object: Object<'_>) -> bool {
    object.at(&["metadata", "deletionTimestamp"]).is_some()
}

/// The one AWS Load Balancer Controller of the evidence. None of several: they may share the Ingresses and Services.
pub(crate) fn only_controller(evidence: &Evidence) -> Option<CompanionRun<'_>> {
    let mut all = companions(evidence).into_iter().filter(|run| run.row.companion == Companion::LoadBalancerController);
    all.next().filter(|_| all.next().is_none())
}

/// Ingresses that the one AWS Load Balancer Controller of the evidence serves: by their class, or by the legacy
/// annotation with the default of `--ingress-class`.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/ingress/group_loader.go#classifyIngress`.
pub(crate) fn alb_ingresses(evidence: &Evidence) -> Vec<AlbIngress<'_>> {
    let objects = |kind| evidence.documents_by_kind(kind).map(Document::object);
    let named = |object: &Object<'_>, name: &str| object.text(&["metadata", "name"]) == Some(name);
    let Some(only) = only_controller(evidence) else { return Vec::new() };
    let own_class = only.argument("ingress-class").unwrap_or("alb");
    let watched = only.argument("watch-namespace").filter(|name| !name.is_empty());
    let found = objects(DocumentKind::Ingress).filter_map(|object| {
        let namespace = object.text(&["metadata", "namespace"]).unwrap_or("default");
        if is_deleted(object) || watched.is_some_and(|watched| watched != namespace) {
            return None;
        }
        let annotation = |name: &str| object.text(&["metadata", "annotations", name]);
        // The annotation comes before the class, and has no parameters.
        let legacy = annotation("kubernetes.io/ingress.class");
        let class = object.text(&["spec", "ingressClassName"]).filter(|_| legacy.is_none());
        let class = class.and_then(|class| objects(DocumentKind::IngressClass).find(|one| named(one, class)));
        let is_served = match class {
            Some(class) => class.text(&["spec", "controller"]) == Some(CONTROLLER),
            // Without its class, nothing is known about an Ingress that names one.
            None => legacy == Some(own_class),
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

/// True if an Ingress has a path, which becomes a rule of its listener.
pub(crate) fn has_paths(object: Object<'_>) -> bool {
    object.items(&["spec", "rules"]).any(|rule| rule.items(&["http", "paths"]).next().is_some())
}

/// Calls that the Ingresses in the evidence cause, and the listeners of the load balancers that the controller creates.
pub(crate) fn object_use(evidence: &Evidence, listeners: ListenerUse) -> ObjectUse {
    let all = alb_ingresses(evidence);
    let of_class = |one: &AlbIngress<'_>, name: &str| match one.parameters {
        Some(Parameters::Given(parameters)) => parameters.text(&["spec", name]).is_some_and(is_web_acl),
        _ => false,
    };
    let classes = || evidence.documents_by_kind(DocumentKind::Ec2NodeClass).map(Document::object);
    let reconciled = services_of_only_controller(evidence);
    let of_service = |service: &Service, name: &str| {
        let stated = service.annotations.get(&format!("service.beta.kubernetes.io/aws-load-balancer-{name}"));
        stated.map(|value| entries(value).len()).unwrap_or_default()
    };
    let has = |name: &str| all.iter().any(|one| one.annotation(name).is_some_and(is_web_acl));
    ObjectUse {
        exists: !all.is_empty(),
        has_paths: all.iter().any(|one| has_paths(one.object)),
        has_web_acl: all.iter().any(|one| one.annotation("wafv2-acl-arn").is_some_and(|value| !value.is_empty())),
        has_web_acl_arn: has("wafv2-acl-arn"),
        has_web_acl_name: has("wafv2-acl-name") || all.iter().any(|one| of_class(one, "wafv2AclName")),
        has_web_acl_of_class: all.iter().any(|one| of_class(one, "wafv2AclArn")),
        has_cognito: all.iter().any(|one| one.has_https() && one.authenticates_by_cognito(evidence)),
        has_capacity: all.iter().any(AlbIngress::has_capacity)
            || reconciled.iter().any(|service| of_service(service, "minimum-load-balancer-capacity") > 0),
        has_certificates: listeners.has_several_certificates,
        has_tls: listeners.has_tls,
        has_services: evidence.services.iter().flatten().any(is_of_load_balancer_controller),
        has_class_role: classes().any(|class| class.text(&["spec", "role"]).is_some_and(|role| !role.is_empty())),
        cluster_api: ClusterApiTasks::of(evidence),
        has_ami_alias: classes()
            .any(|class| class.items(&["spec", "amiSelectorTerms"]).any(|term| term.text(&["alias"]).is_some())),
    }
}

/// Services whose load balancers the one AWS Load Balancer Controller of the evidence certainly keeps.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/config/feature_gates.go`, `EnableServiceController`.
fn services_of_only_controller(evidence: &Evidence) -> Vec<&Service> {
    let only = only_controller(evidence).filter(CompanionRun::knows_arguments);
    let Some(only) = only.filter(|only| only.gate("EnableServiceController") != Some(false)) else {
        return Vec::new();
    };
    let watched = only.argument("watch-namespace").filter(|name| !name.is_empty());
    let services = evidence.services.iter().flatten().filter(|service| is_of_load_balancer_controller(service));
    services.filter(|service| watched.is_none_or(|watched| watched == service.namespace)).collect()
}

/// True for a Service that only the AWS Load Balancer Controller takes.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/k8s/service_utils.go#IsServiceSupported`.
fn is_of_load_balancer_controller(service: &Service) -> bool {
    let is_external = || {
        let of_type = service.annotations.get("service.beta.kubernetes.io/aws-load-balancer-type");
        of_type.is_some_and(|one| ["external", "nlb-ip"].contains(&one.as_str()))
    };
    let class = service.load_balancer_class.as_deref();
    service.is_load_balancer()
        && service.deleted_at.is_none()
        && class.map_or_else(is_external, |class| class == "service.k8s.aws/nlb")
}

/// True for a value that names a web ACL: `none` removes the association.
fn is_web_acl(value: &str) -> bool {
    !value.is_empty() && value != "none"
}
