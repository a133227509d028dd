//! The webhook that sets the class of new Services.
//! Source: aws-load-balancer-controller `webhooks/core/service_mutator.go`.

use crate::controller::ControllerVersion;
use crate::kubernetes::{DocumentKind, Evidence};

/// True if the AWS Load Balancer Controller claims all new Services, as it does by default.
pub(crate) fn has_webhook(evidence: &Evidence) -> bool {
    has_hook(evidence, |name| name == "mservice.elbv2.k8s.aws")
}

fn has_hook(evidence: &Evidence, is_meant: impl Fn(&str) -> bool) -> bool {
    evidence
        .documents_by_kind(DocumentKind::Webhook)
        .any(|document| document.object().items(&["webhooks"]).any(|hook| hook.text(&["name"]).is_some_and(&is_meant)))
}

/// True if new Services get the class of the AWS Load Balancer Controller: from an existing webhook, or from the one
/// that a chart of 2.5.0 or later creates unless it is turned off. Source: aws-load-balancer-controller
/// `helm/aws-load-balancer-controller/values.yaml`, `enableServiceMutatorWebhook`.
pub(crate) fn gives_a_class(evidence: &Evidence) -> bool {
    const FIRST: ControllerVersion = ControllerVersion::new(2, 5, 0);
    let images =
        evidence.workloads.iter().flat_map(|workload| &workload.containers).map(|one| one.image.value.as_str());
    let mut versions = images.filter_map(|image| {
        let (name, tag) = image.rsplit_once(':')?;
        name.ends_with("aws-load-balancer-controller").then(|| tag.split('@').next()?.parse::<ControllerVersion>().ok())
    });
    // Its other webhooks without this one mean that the chart turned it off.
    let is_switched_off = || has_hook(evidence, |name| name.ends_with(".elbv2.k8s.aws"));
    has_webhook(evidence)
        || !is_switched_off() && versions.any(|version| version.is_some_and(|version| version >= FIRST))
}

/// True if the AWS Load Balancer Controller is among the workloads, or its webhook exists.
pub(crate) fn has_load_balancer_controller(evidence: &Evidence) -> bool {
    let images = evidence.workloads.iter().flat_map(|workload| &workload.containers);
    let mut images = images.map(|container| container.image.value.split([':', '@']).next().unwrap_or_default());
    images.any(|image| image.ends_with("aws-load-balancer-controller")) || has_webhook(evidence)
}
