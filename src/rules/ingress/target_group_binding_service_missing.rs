use crate::kubernetes::{Document, DocumentKind, covers_all_namespaces};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{LISTS, full_name};

pub(super) const RULE: Rule = Rule {
    id: "target-group-binding-service-missing",
    title: "a TargetGroupBinding names a Service that does not exist",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info if the Services of all namespaces were not given",
    ),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`serviceRef` of a TargetGroupBinding names a Service that is not among the Services that were given.",
    impact: "the AWS Load Balancer Controller deregisters all targets of the target group (`BackendNotFound`)",
    fix: "Correct `serviceRef`, or delete the TargetGroupBinding.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/targetgroupbinding/resource_manager.go#Reconcile"],
    example: "TargetGroupBinding shop/legacy names Service shop/old, which does not exist",
    lists: LISTS,
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let Some(services) = &evidence.services else {
        return CheckResult::not_applicable("no Services were given");
    };
    let covers_all = covers_all_namespaces(services);
    let bindings = evidence.documents_by_kind(DocumentKind::TargetGroupBinding).map(Document::object);
    let mut checked = 0;
    let mut found = Vec::new();
    for object in bindings {
        let Some(service) = object.text(&["spec", "serviceRef", "name"]) else { continue };
        checked += 1;
        let name = full_name(object);
        let namespace = name.split('/').next().unwrap_or_default();
        if services.iter().any(|one| one.namespace == namespace && one.name == service) {
            continue;
        }
        let (severity, verb) = if covers_all {
            (Severity::Warning, "does not exist")
        } else {
            (Severity::Info, "is not among the given Services")
        };
        let message = format!(
            "TargetGroupBinding {} names Service {}/{}, which {verb}",
            text::printable(&name),
            text::printable(namespace),
            text::printable(service)
        );
        let place =
            object.at(&["spec", "serviceRef", "name"]).map_or_else(|| object.head(), crate::kubernetes::Object::place);
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, format!("TargetGroupBinding/{name}"));
        let fix = Fix::none("correct `serviceRef`, or delete the TargetGroupBinding");
        found.push(Violation::new(severity, resource, message, fix).at(&place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no TargetGroupBinding was given");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata:
  name: legacy
  namespace: shop
spec:
  serviceRef:
    name: gone
    port: 80
---
apiVersion: v1
kind: Service
metadata:
  name: kubernetes
  namespace: default
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "name: gone", "name: web");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("kind: TargetGroupBinding", "kind: TargetGroup"));
    }
}
