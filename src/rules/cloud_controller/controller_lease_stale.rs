use jiff::{SignedDuration, Timestamp};

use crate::controller::ControllerVersion;
use crate::inventory::Provider;
use crate::inventory::kubernetes::List;
use crate::kubernetes::{CloudController, Document, DocumentKind, Object, is_false};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::on;

pub(super) const RULE: Rule = Rule {
    id: "controller-lease-stale",
    title: "no Pod of the cloud controller is the leader",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "The Lease of the cloud controller in kube-system (`--leader-elect-resource-name`; by default `cloud-controller-manager`, for the controller of Alibaba Cloud `ccm`) was last renewed more than five minutes before the most recently renewed Lease in kube-system.",
    impact: "the controller reconciles nothing: new Nodes keep the taint `node.cloudprovider.kubernetes.io/uninitialized`, and new Services of type LoadBalancer stay pending",
    fix: "Check the status and the logs of its Pods: whether they start, reach the API server, and are allowed to update the Lease.",
    sources: &[
        "kubernetes/client-go tools/leaderelection/leaderelection.go#renew",
        "kubernetes/kubernetes staging/src/k8s.io/component-base/config/v1alpha1/defaults.go",
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/runtime_config.go",
    ],
    example: "Lease `ccm` of DaemonSet kube-system/cloud-controller-manager was last renewed 2 hours before the most recently renewed Lease in kube-system",
    lists: &[List::Leases],
    ..Rule::evidence(ANY_CLOUD, check)
};

/// Time without a renewal after which the controller has no leader: a lease lasts 15 seconds.
const STALE: SignedDuration = SignedDuration::from_mins(5);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let leases = evidence.documents_by_kind(DocumentKind::Lease).map(Document::object);
    // Others of the same list, such as that of the scheduler, show when it was read.
    let Some(newest) = leases.filter_map(renewed).max() else {
        return CheckResult::not_applicable("no lease of kube-system was given");
    };
    let mut checked = 0;
    let mut found = Vec::new();
    for controller in evidence.controllers() {
        let Some(name) = lease_name(controller) else { continue };
        let Some(at) = evidence.leases(name).find_map(renewed) else { continue };
        checked += 1;
        let age = newest.duration_since(at);
        if age <= STALE {
            continue;
        }
        let message = format!(
            "Lease `{}` of {} was last renewed {} before the most recently renewed Lease in kube-system",
            text::printable(name),
            text::printable(&controller.name()),
            text::lasted(age)
        );
        let fix = "see the log of its Pods, and whether they start";
        found.push(on(controller, Severity::Error, controller.place(), message, fix));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no lease of a cloud controller was given");
    }
    CheckResult::counted(checked, found)
}

fn renewed(lease: Object<'_>) -> Option<Timestamp> {
    lease.text(&["spec", "renewTime"])?.parse().ok()
}

/// The lease in kube-system for which a controller competes; `None` if it does not, or if the name is not known.
fn lease_name(controller: &CloudController) -> Option<&str> {
    let flag = |name: &str| controller.flag(name).map(|flag| flag.value.as_str());
    let is_elsewhere = flag("leader-elect-resource-namespace").is_some_and(|namespace| namespace != "kube-system");
    if !controller.knows_flags || is_elsewhere || flag("leader-elect").is_some_and(is_false) {
        return None;
    }
    let default = match controller.cloud {
        Provider::Aws => "cloud-controller-manager",
        // Version 1 locks an Endpoints object.
        Provider::Alibaba if controller.version? >= ControllerVersion::new(2, 0, 0) => "ccm",
        Provider::Alibaba => return None,
    };
    Some(flag("leader-elect-resource-name").unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
        args:
        - --v=2
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: cloud-controller-manager
  namespace: kube-system
spec:
  holderIdentity: a_1
  renewTime: \"2026-01-05T05:00:00.000000Z\"
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: kube-scheduler
  namespace: kube-system
spec:
  holderIdentity: a_2
  renewTime: \"2026-01-05T07:05:00.000000Z\"
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let alibaba = DEFECT
            .replace(
                "registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0",
                "acs/cloud-controller-manager-amd64:v2.14.0",
            )
            .replace("name: cloud-controller-manager", "name: ccm");
        lint::fires(&RULE, &alibaba);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "2026-01-05T05:00:00", "2026-01-05T07:04:50");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("--v=2", "--leader-elect=false"));
        lint::does_not_apply(&RULE, &DEFECT.replace("--v=2", "--leader-elect-resource-name=other"));
        lint::does_not_apply(&RULE, &DEFECT.replace("kind: Lease", "kind: Leash"));
    }
}
