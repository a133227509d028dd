use super::of_each;
use crate::controller::ControllerVersion;
use crate::finding::{Applicability, Severity};
use crate::kubernetes::Rights;
use crate::resource::ResourceKind;
use crate::rules::cloud_controller::on;
use crate::rules::{ALIBABA, Check, Counted, KubernetesContext, Rule, RuleSeverity, Subjects};
use crate::text;

pub(super) const RULE: Rule = Rule {
    id: "ali-rbac-missing",
    title: "the cloud controller may not do what it does",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "The ServiceAccount of Alibaba Cloud's cloud controller of version 2 is bound to roles, and a right that its manifest asks for on nodes, Services, endpoints, events or leases in kube-system is in none of them. A role that was not given counts as one that allows it.",
    impact: "without leases it never becomes leader and does nothing at all; without the others its changes are refused (`forbidden`)",
    fix: "Add the right to its ClusterRole: the manifest of its version has them all.",
    applicability: Applicability::None,
    sources: &["kubernetes/cloud-provider-alibaba-cloud deploy/v2/cloud-controller-manager.yaml"],
    example: "ServiceAccount kube-system/cloud-controller-manager may not patch services/status",
    reads: &[],
    subjects: Subjects::Evidence,
    check: Check::Evidence(ALIBABA, check),
};

/// Verbs on resources of the core that the manifest asks for.
const NEEDED: [(&str, &[&str]); 6] = [
    ("nodes", &["get", "list", "watch", "update", "patch", "delete"]),
    ("nodes/status", &["patch"]),
    ("services", &["get", "list", "watch", "patch"]),
    ("services/status", &["patch"]),
    ("endpoints", &["get", "list", "watch"]),
    ("events", &["create", "patch"]),
];

fn check(context: &KubernetesContext<'_>) -> Counted {
    of_each(context, |controller| {
        let workload = &controller.workload;
        let rights = Rights::of(context.evidence, &workload.namespace, &workload.service_account);
        let is_two = controller.version.is_some_and(|version| version >= ControllerVersion::new(2, 0, 0));
        if !is_two || rights.bindings.is_empty() || rights.has_unknown {
            return None;
        }
        let mut missing: Vec<String> = NEEDED
            .into_iter()
            .flat_map(|(resource, verbs)| verbs.iter().map(move |verb| (resource, *verb)))
            .filter(|(resource, verb)| !rights.allows(verb, "", resource, None))
            .map(|(resource, verb)| format!("{verb} {resource}"))
            .collect();
        let leads = controller.is_on("leader-elect", true);
        let leases = ["get", "create", "update"]
            .into_iter()
            .filter(|verb| leads && !rights.allows(verb, "coordination.k8s.io", "leases", Some("kube-system")));
        missing.extend(leases.map(|verb| format!("{verb} leases")));
        if missing.is_empty() {
            return None;
        }
        let name = format!("{}/{}", workload.namespace, workload.service_account);
        let message = format!("ServiceAccount {} may not {}", text::printable(&name), text::list(&missing, 6));
        let place =
            rights.bindings.first().map_or_else(|| controller.place().clone(), |binding| binding.object().head());
        Some(on(controller, Severity::Error, &place, message, "add the rights to its ClusterRole"))
    })
}
