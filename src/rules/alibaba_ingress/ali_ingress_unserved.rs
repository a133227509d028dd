use crate::aws::ingresses::{full_name, is_deleted};
use crate::controller::alibaba::AlibabaController;
use crate::kubernetes::{Document, DocumentKind, Object, WorkloadKind};
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{CLASS, LISTS, classes, has_separate_controller};

pub(super) const RULE: Rule = Rule {
    id: "ali-ingress-unserved",
    title: "no controller serves the Ingresses of the class for application load balancers",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "An Ingress without an address has the class `alb`, or an IngressClass of `ingress.k8s.alibabacloud/alb`; the cloud controller runs without `ingress` in `--controllers`, or with it and the class is not `alb`, the only one that it serves; and no Deployment of the whole cluster is the ALB Ingress controller.",
    impact: "nothing creates its load balancer: the Ingress stays without an address",
    fix: "Add `ingress` to `--controllers` (before Kubernetes 1.22 only), deploy the ALB Ingress controller, or use another class.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/controller.go#AddToManager",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/store/common.go#IsValid",
    ],
    example: "Ingress shop/web has the class `alb`, and `--controllers` of the cloud controller has no `ingress`",
    lists: LISTS,
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let Some(running) = evidence.alibaba_running() else {
        return CheckResult::not_applicable("the cloud controller was not given with its flags");
    };
    if !evidence.has_all_workloads(&[WorkloadKind::Deployment]) {
        return CheckResult::not_applicable("the Deployments of the whole cluster were not given");
    }
    let is_separate = has_separate_controller(evidence);
    let is_open = running.contains(&AlibabaController::Ingress);
    let own: Vec<&str> = classes(evidence).filter_map(|class| class.text(&["metadata", "name"])).collect();
    let mut checked = 0;
    let mut found = Vec::new();
    let all = [DocumentKind::Ingress, DocumentKind::RemovedIngress].into_iter();
    for ingress in all.flat_map(|kind| evidence.documents_by_kind(kind)).map(Document::object) {
        let Some(class) = class(ingress) else { continue };
        if is_deleted(ingress) || !(own.contains(&class) || is_default(evidence, class)) {
            continue;
        }
        checked += 1;
        let has_address = ingress.items(&["status", "loadBalancer", "ingress"]).next().is_some();
        if is_separate || has_address || is_open && class == CLASS {
            continue;
        }
        let name = full_name(ingress);
        let why = if is_open {
            "the cloud controller serves the class `alb` alone"
        } else {
            "`--controllers` of the cloud controller has no `ingress`"
        };
        let (shown, class) = (text::printable(&name), text::printable(class));
        let message = format!("Ingress {shown} has the class `{class}`, and {why}");
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, format!("Ingress/{name}"));
        let fix = Fix::none("deploy the ALB Ingress controller, or use another class");
        found.push(Violation::new(Severity::Warning, resource, message, fix).at(&ingress.head()));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no Ingress requests an application load balancer");
    }
    CheckResult::counted(checked, found)
}

/// Class of an Ingress: that of the annotation first.
fn class(ingress: Object<'_>) -> Option<&str> {
    let annotated = ingress.text(&["metadata", "annotations", "kubernetes.io/ingress.class"]);
    annotated.or_else(|| ingress.text(&["spec", "ingressClassName"])).filter(|class| !class.is_empty())
}

/// True for the class that the open controller takes, unless an `IngressClass` gives it to another controller.
fn is_default(evidence: &crate::kubernetes::Evidence, class: &str) -> bool {
    let mut all = evidence.documents_by_kind(DocumentKind::IngressClass).map(Document::object);
    class == CLASS && !all.any(|one| one.text(&["metadata", "name"]) == Some(class))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
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
          - --controllers=node,service
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: coredns
    namespace: kube-system
    uid: a-b
  spec:
    template:
      spec:
        containers:
        - image: coredns:1.9
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata:
    name: web
    namespace: shop
  spec:
    ingressClassName: alb
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        // Without the flag, it runs without `ingress`.
        lint::fires(&RULE, &DEFECT.replace("          command:\n          - --controllers=node,service\n", ""));
        let annotated = DEFECT
            .replace(
                "    namespace: shop\n",
                "    namespace: shop\n    annotations:\n      kubernetes.io/ingress.class: alb\n",
            )
            .replace("    ingressClassName: alb\n", "    rules: []\n");
        lint::fires(&RULE, &annotated);
        lint::fires(&RULE, &DEFECT.replace("networking.k8s.io/v1", "networking.k8s.io/v1beta1"));
        lint::fires(&RULE, &DEFECT.replace("networking.k8s.io/v1", "extensions/v1beta1"));
    }

    #[test]
    fn the_open_controller_serves_one_class_alone() {
        let class = "- apiVersion: networking.k8s.io/v1\n  kind: IngressClass\n  metadata: {name: public}\n  spec: {controller: ingress.k8s.alibabacloud/alb}\n";
        let named = format!("{}{class}", DEFECT.replace("ingressClassName: alb", "ingressClassName: public"));
        let open = named.replace("node,service", "node,service,ingress");
        lint::fires(&RULE, &open);
        lint::silent(&RULE, &open, "coredns:1.9", "registry.example.com/acs/alb-ingress-controller:v2.13.0");
    }

    #[test]
    fn a_similar_name_is_not_the_controller() {
        for name in ["alb-ingress-controller-dashboard", "grafana-alb-ingress-controller-exporter"] {
            lint::fires(&RULE, &DEFECT.replace("name: coredns", &format!("name: {name}")));
        }
        let aws = DEFECT.replace("coredns:1.9", "amazon/aws-alb-ingress-controller:v1.1.9");
        lint::fires(&RULE, &aws.replace("name: coredns", "name: alb-ingress-controller"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "node,service", "node,service,ingress");
        lint::silent(&RULE, DEFECT, "name: coredns", "name: alb-ingress-controller");
        lint::silent(&RULE, DEFECT, "coredns:1.9", "registry.example.com/acs/alb-ingress-controller:v2.13.0");
        let status =
            "ingressClassName: alb\n  status:\n    loadBalancer:\n      ingress:\n      - hostname: alb-1.example.com";
        lint::silent(&RULE, DEFECT, "ingressClassName: alb", status);
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("ingressClassName: alb", "ingressClassName: nginx"));
        // The class of the AWS Load Balancer Controller has this name too.
        let class = "- apiVersion: networking.k8s.io/v1\n  kind: IngressClass\n  metadata: {name: alb}\n  spec: {controller: ingress.k8s.aws/alb}\n";
        lint::does_not_apply(&RULE, &format!("{DEFECT}{class}"));
    }
}
