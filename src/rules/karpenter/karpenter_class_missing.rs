use crate::kubernetes::{Document, DocumentKind, Object};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{LISTS, node_classes, reference};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-class-missing",
    title: "a NodePool names an EC2NodeClass that does not exist",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`spec.template.spec.nodeClassRef` of a NodePool names an EC2NodeClass that is not among those given.",
    impact: "Karpenter makes no nodes for the NodePool (`NodeClassReady` is false)",
    fix: "Create the EC2NodeClass, or correct the name.",
    sources: &["kubernetes-sigs/karpenter pkg/controllers/nodepool/readiness/controller.go"],
    example: "NodePool gpu names the EC2NodeClass `gpu`, which does not exist",
    lists: LISTS,
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    if !evidence.document_lists.contains(&DocumentKind::Ec2NodeClass) {
        return CheckResult::not_applicable(super::NO_CLASSES);
    }
    let mut checked = 0;
    let mut found = Vec::new();
    for pool in evidence.documents_by_kind(DocumentKind::NodePool).map(Document::object) {
        let class = ["spec", "template", "spec", "nodeClassRef"];
        let is_of_aws = pool.text(&[&class[..], &["kind"]].concat()).is_none_or(|kind| kind == "EC2NodeClass")
            && pool.text(&[&class[..], &["group"]].concat()).is_none_or(|group| group == "karpenter.k8s.aws");
        let Some(name) = pool.text(&[&class[..], &["name"]].concat()).filter(|_| is_of_aws) else { continue };
        checked += 1;
        if node_classes(evidence).any(|(known, _)| known == name) {
            continue;
        }
        let pool_name = pool.text(&["metadata", "name"]).unwrap_or_default();
        let message = format!(
            "NodePool {} names the EC2NodeClass `{}`, which does not exist",
            text::printable(pool_name),
            text::printable(name)
        );
        let nearest = text::most_alike(name, node_classes(evidence).map(|(known, _)| known), 0.85);
        let fix = nearest.map_or_else(
            || "create the EC2NodeClass, or correct the name".to_owned(),
            |nearest| format!("write `{}`, or create the EC2NodeClass", text::printable(nearest)),
        );
        let place = pool.at(&class).map_or_else(|| pool.place(), Object::place);
        let violation = Violation::new(Severity::Error, reference("NodePool", pool_name), message, Fix::none(fix));
        found.push(violation.at(&place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no NodePool was given");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: node
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: gpu
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "name: gpu", "name: default");
    }
}
