use crate::kubernetes::{Evidence, Service};
use crate::model::simulate::ObjectKind;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::sync_failures::{READS, Stopped, check as check_failures, check_files as check_failures_on_files};

use super::is_on_aws;

const NO_SERVICE: &str = "no Service requests an AWS load balancer";

pub(super) const RULE: Rule = Rule {
    id: "svc-sync-fails",
    title: "a controller stops with an error at a Service",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The cloud controller or the AWS Load Balancer Controller, as [`tagaudit simulate`](simulate.md) models them, stops with an error at a Service of type `LoadBalancer`. The version is that of the option or of the image; if it is not known, every version must stop (cloud controller from 1.22 on, AWS Load Balancer Controller from 2.5 on). `lint` runs the same check against an account that contains every resource that the objects name, so an error is caused by the object alone. Skipped: errors that depend on facts that were not read, controllers whose `--cloud-config` was not given, and Services that several AWS Load Balancer Controllers share.",
    impact: "no load balancer is created, or an existing one does not follow any change",
    fix: "Correct what the error names; `tagaudit simulate` shows the steps before it.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer",
        "kubernetes-sigs/aws-load-balancer-controller controllers/service/service_controller.go#buildModel",
    ],
    example: "the cloud controller (1.31.0) stops at Service shop/web: `could not find any suitable subnets for creating the ELB`",
    reads: READS,
    migration: Some(Prerequisite::Services),
    restates_model: true,
    on_files: Some(check_files),
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    check_failures(context, ObjectKind::Service, NO_SERVICE, |stopped| violation(context.kubernetes, stopped))
}

fn check_files(context: &KubernetesContext<'_>) -> CheckResult {
    check_failures_on_files(context, ObjectKind::Service, NO_SERVICE, |stopped| {
        let service = named(context.evidence, stopped)?;
        is_on_aws(context, service).then(|| violation(context.evidence, stopped))
    })
}

/// The Service at which a controller stops.
fn named<'e>(evidence: &'e Evidence, stopped: &Stopped<'_>) -> Option<&'e Service> {
    let object = &stopped.failure.decision.object;
    let mut services = evidence.services.iter().flatten();
    services.find(|one| one.namespace == object.namespace && one.name == object.name)
}

fn violation(evidence: &Evidence, stopped: &Stopped<'_>) -> Violation {
    let service = named(evidence, stopped);
    let name = service.map_or_else(|| stopped.name.clone(), Service::full_name);
    let has_address = service.is_some_and(|one| !one.ingress.is_empty());
    let place = service.map(|one| &one.place);
    stopped.violation("Service", ResourceRef::bare(ResourceKind::Service, name), has_address, place)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::controller::ControllerVersion;
    use crate::controller::companion::Companion;
    use crate::testing::aws::{self, with_load_balancer_controller};

    /// A Service of the cloud controller with further annotations.
    macro_rules! service {
        ($($annotation:literal)*) => {
            concat!(
                "
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  uid: 5e4dbfc9-c2ae-4642-b033-5607860aef6a
  annotations:
    example.com/team: shop
", $("    service.beta.kubernetes.io/", $annotation, "\n",)*
                "spec:
  type: LoadBalancer
  ports:
  - port: 443
    nodePort: 30443
"
            )
        };
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.manifests = service!("aws-load-balancer-subnets: pub-a,absent"));
        aws::fires(&RULE, |c| {
            c.manifests = service!(
                "aws-load-balancer-type: nlb"
                "aws-load-balancer-scheme: internet-facing"
                "aws-load-balancer-eip-allocations: eipalloc-1"
            );
        });
    }

    #[test]
    fn fires_for_the_load_balancer_controller() {
        aws::fires(&RULE, |c| {
            c.manifests = with_load_balancer_controller!(
                "
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  uid: 5e4dbfc9-c2ae-4642-b033-5607860aef6a
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: external
    service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: instance
    service.beta.kubernetes.io/aws-load-balancer-scheme: public
spec:
  type: LoadBalancer
  ports:
  - port: 443
    nodePort: 30443
"
            );
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.manifests = service!());
    }

    #[test]
    fn chart_values_are_no_service_without_ports() {
        // The cloud controller would stop for lack of ports.
        aws::silent(&RULE, |c| {
            c.manifests = concat!(
                service!(),
                "---
controller:
  service:
    type: LoadBalancer
    annotations:
      service.beta.kubernetes.io/aws-load-balancer-type: nlb
"
            );
        });
    }

    #[test]
    fn silent_if_only_some_versions_stop() {
        // A target group without a class: v1.36 refuses the annotation, earlier versions ignore it.
        aws::silent(&RULE, |c| {
            c.manifests = service!("aws-load-balancer-type: nlb" "aws-load-balancer-security-groups: sg-0bb1");
        });
    }

    /// Network Load Balancers have no security groups before v2.6.
    #[test]
    fn the_version_that_is_given_decides_without_an_image() {
        let named = service!(
            "aws-load-balancer-type: external"
            "aws-load-balancer-nlb-target-type: instance"
            "aws-load-balancer-security-groups: absent"
        );
        let given = |c: &mut aws::Cluster, minor| {
            c.manifests = named;
            let version = ControllerVersion::new(2, minor, 0);
            c.companions.running = [(Companion::LoadBalancerController, version)].into();
        };
        aws::silent(&RULE, |c| c.manifests = named);
        aws::silent(&RULE, |c| given(c, 5));
        aws::fires(&RULE, |c| given(c, 13));
    }
}
