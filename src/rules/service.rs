//! Services of type `LoadBalancer` on AWS: the controller that creates each load balancer, and the effect of the
//! Service's annotations on it. All of these rules need Services.

use super::alibaba::SERVICES_NOT_GIVEN;
use super::aws::Context;
use super::{CheckResult, KubernetesContext, Rule, Violation};
use crate::aws::view::RegionView;
use crate::controller::ControllerVersion;
use crate::finding::{Fix, ResourceRef, Severity};
use crate::kubernetes::{Evidence, Ingress, Service};
use crate::model::load_balancer_controller::gives_a_class;
use crate::resource::ResourceKind;
use crate::service_annotations::PREFIX;

mod svc_annotation_no_effect;
mod svc_annotation_not_string;
mod svc_annotation_too_new;
mod svc_annotation_unknown;
mod svc_annotation_value;
mod svc_annotation_wrong_controller;
mod svc_certificate_elsewhere;
mod svc_field_unsupported;
mod svc_health_check_overridden;
mod svc_host_name_not_classic;
mod svc_internal_drift;
mod svc_internal_value;
mod svc_ip_family;
mod svc_list_spaces;
mod svc_local_health_check;
mod svc_no_eligible_node;
mod svc_no_node_port;
mod svc_orphan_finalizer;
mod svc_owned_by_nobody;
mod svc_owned_by_two;
mod svc_protocol_unsupported;
mod svc_ssl_ports_match_nothing;
mod svc_static_ip_count;
mod svc_subnets_unresolved;
mod svc_sync_fails;
mod svc_type_annotation_changed;
mod svc_type_value_unknown;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/service.rs"));

/// Controller that creates the load balancer of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The cloud controller creates a Classic Load Balancer.
    Classic,
    /// The cloud controller creates a Network Load Balancer.
    Network,
    /// The AWS Load Balancer Controller.
    LoadBalancerController,
    /// Another controller that knows its class.
    OtherClass,
    /// None: the type is `external` without a target type, and each controller leaves it to the other.
    Nobody,
}

impl Owner {
    /// True if it is the cloud controller.
    fn is_cloud_controller(self) -> bool {
        matches!(self, Self::Classic | Self::Network)
    }

    /// Noun phrase for the load balancer.
    fn load_balancer(self) -> &'static str {
        match self {
            Self::Classic => "a Classic Load Balancer",
            Self::Network | Self::LoadBalancerController | Self::OtherClass | Self::Nobody => "a Network Load Balancer",
        }
    }
}

/// The class that the AWS Load Balancer Controller handles by default.
const OF_LOAD_BALANCER_CONTROLLER: &str = "service.k8s.aws/nlb";

/// The finalizers that identify the controller that created the load balancer.
/// Sources: kubernetes/cloud-provider `service/helpers/helper.go#LoadBalancerCleanupFinalizer`;
/// aws-load-balancer-controller `controllers/service/service_controller.go`.
const CLEANUP: &str = "service.kubernetes.io/load-balancer-cleanup";
const RESOURCES: &str = "service.k8s.aws/resources";

/// The controller that creates the load balancer of a Service, according to its spec.
/// Sources: kubernetes/cloud-provider `controllers/service/controller.go#wantsLoadBalancer`; cloud-provider-aws
/// `pkg/providers/v1/aws_loadbalancer.go#isNLB`, `#isLBExternal`; aws-load-balancer-controller
/// `pkg/service/service_utils.go`.
fn owner(context: &KubernetesContext<'_>, service: &Service) -> Owner {
    let service = whole(context.evidence, service);
    if let Some(class) = &service.load_balancer_class {
        return if class == OF_LOAD_BALANCER_CONTROLLER { Owner::LoadBalancerController } else { Owner::OtherClass };
    }
    let annotation = |suffix: &str| value(service, suffix);
    match (annotation("aws-load-balancer-type"), annotation("aws-load-balancer-nlb-target-type")) {
        (Some("nlb-ip"), _) | (Some("external"), Some("ip" | "instance")) => Owner::LoadBalancerController,
        // A webhook sets the class of new Services, whatever their other fields.
        _ if service.uid.is_empty() && gives_a_class(context.evidence) => Owner::LoadBalancerController,
        (Some("external"), _) => Owner::Nobody,
        (Some("nlb"), _) => Owner::Network,
        _ => Owner::Classic,
    }
}

/// The Service that determines the owner: this one, or, for chart values that override others, the same Service in
/// another values file. Helm merges the maps of all files. Source: Helm documentation, "Values Files".
fn whole<'s>(evidence: &'s Evidence, service: &'s Service) -> &'s Service {
    let says = |one: &Service| one.load_balancer_class.is_some() || value(one, "aws-load-balancer-type").is_some();
    if says(service) || !service.is_of_values() {
        return service;
    }
    let mut others = evidence.services.iter().flatten();
    others.find(|one| one.name == service.name && one.is_of_values() && says(one)).unwrap_or(service)
}

/// The value of an annotation with the common prefix.
fn value<'s>(service: &'s Service, suffix: &str) -> Option<&'s str> {
    service.annotations.get(&format!("{PREFIX}{suffix}")).map(String::as_str)
}

/// True if a Service belongs to a cluster on AWS, as its own fields or the cluster show.
pub(super) fn is_on_aws(context: &KubernetesContext<'_>, service: &Service) -> bool {
    let says_so = service.annotations.keys().any(|key| key.contains("/aws-load-balancer-"))
        || service.ingress.iter().any(|one| matches!(one, Ingress::Hostname(name) if name.contains(".elb.")))
        || service.finalizers.iter().any(|one| one == RESOURCES);
    let evidence = context.evidence;
    says_so
        || context.cloud.is_some_and(|cloud| cloud.is_aws())
        || evidence.aws_controllers().next().is_some()
        || evidence.nodes.iter().flatten().any(|node| node.provider_id.starts_with("aws://"))
}

/// The later of the present and the target version of the cloud controller: it rejects the most.
fn strictest_version(context: &KubernetesContext<'_>) -> Option<ControllerVersion> {
    context.aws_controller_version().max(context.evidence.target.controller)
}

/// Runs a check on each Service of type `LoadBalancer` on AWS.
fn for_each_service(context: &KubernetesContext<'_>, check: impl Fn(&Service, Owner) -> Vec<Violation>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let asked = services
        .iter()
        .filter(|service| service.is_load_balancer() && service.deleted_at.is_none() && is_on_aws(context, service));
    let asked: Vec<&Service> = asked.collect();
    if asked.is_empty() {
        return CheckResult::not_applicable("no Service requests an AWS load balancer");
    }
    CheckResult::counted(asked.len(), asked.into_iter().flat_map(|service| check(service, owner(context, service))))
}

/// Runs a check on each Service for which one of the two controllers creates a load balancer, in the region of the
/// nodes.
fn joined<'v>(
    context: &'v Context<'_>,
    check: impl Fn(&RegionView<'v>, &Service, Owner) -> Option<Violation>,
) -> CheckResult {
    let mut regions = context.view.regions.iter().filter(|region| !region.members.is_empty());
    let (Some(region), None) = (regions.next(), regions.next()) else {
        return CheckResult::not_applicable("the nodes are not in one region");
    };
    for_each_service(&context.on_kubernetes(), |service, owner| match owner {
        Owner::Classic | Owner::Network | Owner::LoadBalancerController => {
            check(region, service, owner).into_iter().collect()
        }
        Owner::OtherClass | Owner::Nobody => Vec::new(),
    })
}

/// A finding on a Service, at the value of one of its annotations, or at its name.
fn on(
    service: &Service,
    suffix: Option<&str>,
    severity: Severity,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Violation {
    let key = suffix.map(|suffix| format!("{PREFIX}{suffix}"));
    let place = key.as_ref().and_then(|key| service.annotation_places.get(key)).map(|(_, value)| value);
    let violation = on_service(service, severity, message, Fix::none(fix)).at(place.unwrap_or(&service.place));
    match suffix {
        Some(suffix) => violation.with_respect_to(suffix),
        None => violation,
    }
}

/// A finding on a Service as a whole.
fn on_service(service: &Service, severity: Severity, message: impl Into<String>, fix: Fix) -> Violation {
    Violation::new(severity, ResourceRef::bare(ResourceKind::Service, service.full_name()), message, fix)
}

/// An error on a Service, at a field of its `spec`.
fn on_field(service: &Service, field: &str, message: impl Into<String>, fix: impl Into<String>) -> Violation {
    let place = service.field_places.get(field).unwrap_or(&service.place);
    on_service(service, Severity::Error, message, Fix::none(fix)).at(place)
}

/// Kind of load balancer that has the Service's host name.
/// Source: AWS documentation of Elastic Load Balancing: `NAME.REGION.elb.amazonaws.com` for Classic Load Balancers, and
/// `NAME.elb.REGION.amazonaws.com` for Network Load Balancers.
fn host_kind(service: &Service) -> Option<Owner> {
    let Some(Ingress::Hostname(name)) = service.ingress.first() else { return None };
    let name = name.strip_suffix(".cn").unwrap_or(name);
    if name.ends_with(".elb.amazonaws.com") {
        return Some(Owner::Classic);
    }
    (name.contains(".elb.") && name.ends_with(".amazonaws.com")).then_some(Owner::Network)
}
