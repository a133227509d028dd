use crate::kubernetes::Place;
use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::service_annotations::{
    OF_CLOUD_CONTROLLER, OF_LOAD_BALANCER_CONTROLLER, PREFIX, cloud_controller_annotation,
    is_load_balancer_controller_only,
};

use super::for_each_service;

pub(super) const RULE: Rule = Rule {
    id: "svc-annotation-unknown",
    title: "no controller reads an annotation",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info for a name that resembles no known one"),
    resources: &[ResourceKind::Service],
    condition: "A Service has an AWS load balancer annotation whose name or prefix neither the cloud controller nor the AWS Load Balancer Controller knows. The prefix is `service.beta.kubernetes.io/` for both.",
    impact: "it has no effect, and no controller reports an error",
    fix: "Correct the name.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go",
        "kubernetes-sigs/aws-load-balancer-controller pkg/annotations/constants.go",
    ],
    example: "Service shop/web has `service.beta.kubernetes.io/aws-load-balancer-internall`, which no controller reads",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, _| {
        let name = service.full_name();
        let unread = |(key, (place, _)): (&String, &(Place, Place))| {
            if is_read(key) {
                return None;
            }
            let meant = meant(key);
            let message =
                format!("Service {} has `{}`, which no controller reads", text::printable(&name), text::printable(key));
            // An annotation in no table may come from a later version.
            let severity = if meant.is_some() { Severity::Warning } else { Severity::Info };
            let fix = meant.map_or("remove it".to_owned(), |meant| format!("write `{meant}`"));
            let resource = ResourceRef::bare(ResourceKind::Service, &name);
            let violation = Violation::new(severity, resource, message, Fix::none(fix));
            Some(violation.with_respect_to(key.as_str()).at(place))
        };
        service.annotation_places.iter().filter_map(unread).collect()
    })
}

/// Minimum similarity to a known name, from 0 to 1, for a typo.
const ALIKE: f64 = 0.9;

/// True if a controller reads the key, or if it is not a load balancer annotation.
fn is_read(key: &str) -> bool {
    let Some((prefix, name)) = key.split_once('/').filter(|(_, name)| name.starts_with("aws-")) else { return true };
    let own = PREFIX.trim_end_matches('/');
    if prefix == own {
        return cloud_controller_annotation(name).is_some() || is_load_balancer_controller_only(name);
    }
    // Other prefixes belong to other software.
    let is_meant =
        prefix.contains("kubern") && prefix.starts_with("service") || strsim::jaro_winkler(prefix, own) > ALIKE;
    !is_meant || !name.starts_with("aws-load-balancer-")
}

/// Known annotation that an unread key resembles most, if any.
fn meant(key: &str) -> Option<String> {
    let (_, name) = key.split_once('/')?;
    let known = OF_CLOUD_CONTROLLER.iter().map(|known| known.suffix).chain(OF_LOAD_BALANCER_CONTROLLER);
    text::most_alike(name, known, ALIKE).map(|known| format!("{PREFIX}{known}"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Service
metadata:
  name: web
  annotations:
    service.kubernetes.io/aws-load-balancer-ssl-cert: arn:aws:acm:eu-west-1:111122223333:certificate/a
spec:
  type: LoadBalancer
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "service.kubernetes.io", "service.beta.kubernetes.io");
    }
}
