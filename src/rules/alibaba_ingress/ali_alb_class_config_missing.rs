use crate::kubernetes::{Document, DocumentKind};
use crate::policy::json::Value;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{LISTS, classes, has_open_controller, has_separate_controller};

pub(super) const RULE: Rule = Rule {
    id: "ali-alb-class-config-missing",
    title: "an IngressClass names an AlbConfig that does not exist",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "The parameters of an IngressClass of `ingress.k8s.alibabacloud/alb` name an `AlbConfig` that is not in the list of them, or are of another kind. AlbConfigs have to be given. The controller within the open cloud controller ignores these parameters: the rule does not apply if it alone serves Ingresses.",
    impact: "the controller makes no load balancer: every Ingress of the class has no address",
    fix: "Create the AlbConfig, or correct the name in the IngressClass.",
    sources: &[
        r#"Container Service for Kubernetes documentation, "ALB Ingress quick start": `spec.parameters` of an IngressClass"#,
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/alb_controller.go#makeAlbConfig",
    ],
    example: "IngressClass alb names the AlbConfig `web`, which does not exist",
    lists: LISTS,
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    if has_open_controller(evidence) && !has_separate_controller(evidence) {
        return CheckResult::not_applicable("the cloud controller serves Ingresses, and creates their AlbConfigs");
    }
    let is_known = evidence.document_lists.contains(&DocumentKind::AlbConfig);
    let mut checked = 0;
    let mut found = Vec::new();
    for class in classes(evidence) {
        let parameters = class.at(&["spec", "parameters"]).filter(|given| given.node.value != Value::Null);
        let Some(parameters) = parameters else { continue };
        let text = |key: &str| parameters.text(&[key]).unwrap_or_default();
        let is_kind = text("apiGroup") == "alibabacloud.com" && text("kind") == "AlbConfig";
        if is_kind && !is_known {
            continue;
        }
        checked += 1;
        let name = text("name");
        let mut configs = evidence.documents_by_kind(DocumentKind::AlbConfig).map(Document::object);
        let fault = match is_kind {
            false => "has parameters that are not an AlbConfig of alibabacloud.com".to_owned(),
            true if configs.any(|one| one.text(&["metadata", "name"]) == Some(name)) => continue,
            true => format!("names the AlbConfig `{}`, which does not exist", text::printable(name)),
        };
        let class_name = class.text(&["metadata", "name"]).unwrap_or_default();
        let message = format!("IngressClass {} {fault}", text::printable(class_name));
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, format!("IngressClass/{class_name}"));
        let fix = Fix::none("create the AlbConfig, or correct the name in the IngressClass");
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&parameters.place()));
    }
    if checked == 0 {
        return CheckResult::not_applicable(
            "no IngressClass of the ALB Ingress controller, or no AlbConfigs were given",
        );
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata:
  name: alb
spec:
  controller: ingress.k8s.alibabacloud/alb
  parameters:
    apiGroup: alibabacloud.com
    kind: AlbConfig
    name: web
---
apiVersion: v1
kind: List
items:
- apiVersion: alibabacloud.com/v1
  kind: AlbConfig
  metadata:
    name: api
  spec:
    config: {}
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("kind: AlbConfig\n    name: web", "kind: ConfigMap\n    name: web"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "name: api", "name: web");
    }

    #[test]
    fn the_open_controller_ignores_parameters() {
        let with = |controllers: &str, image: &str| {
            format!(
                "{DEFECT}---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1
        command:
        - --controllers={controllers}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: other
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: {image}
"
            )
        };
        lint::does_not_apply(&RULE, &with("node,ingress", "coredns:1.9"));
        lint::fires(&RULE, &with("node,service", "coredns:1.9"));
        lint::fires(&RULE, &with("node,ingress", "registry.example.com/acs/alb-ingress-controller:v2.13.0"));
    }

    #[test]
    fn does_not_apply() {
        // Of a single manifest nobody knows what else there is.
        let (class, _) = DEFECT.split_once("---").unwrap();
        lint::does_not_apply(&RULE, class);
        lint::does_not_apply(&RULE, &DEFECT.replace("alibabacloud/alb", "example/other"));
        let given = "parameters:\n    apiGroup: alibabacloud.com\n    kind: AlbConfig\n    name: web";
        lint::does_not_apply(&RULE, &DEFECT.replace(given, "parameters: null"));
    }
}
