use crate::controller::ControllerVersion;
use crate::kubernetes::Object;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{LISTS, NO_CLASSES, node_classes, reference};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-ami-unpublished",
    title: "an EC2NodeClass names images that do not exist for the Kubernetes version",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "An EC2NodeClass selects the images of EKS for Amazon Linux 2 (`alias: al2@…`, or `amiFamily: AL2` without `amiSelectorTerms`), and a node, or `--target-kubernetes`, has Kubernetes 1.33 or later. EKS publishes them up to 1.32.",
    impact: "Karpenter makes no nodes of the class (`failed to discover any AMIs for alias`)",
    fix: "Use `al2023@…` or `bottlerocket@…`, and test workloads on it: cgroups and the bootstrap differ.",
    sources: &[
        "aws/karpenter-provider-aws pkg/providers/amifamily/al2.go#DescribeImageQuery",
        "Amazon EKS User Guide, Upgrade from Amazon Linux 2 to Amazon Linux 2023",
    ],
    example: "EC2NodeClass default selects the images `al2@latest`, which EKS publishes up to Kubernetes 1.32; the cluster has 1.33",
    lists: LISTS,
    ..Rule::evidence(AWS, check)
};

/// The first Kubernetes version without images for Amazon Linux 2.
const WITHOUT: ControllerVersion = ControllerVersion::new(1, 33, 0);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let classes: Vec<(&str, Object<'_>)> = node_classes(evidence).collect();
    if classes.is_empty() {
        return CheckResult::not_applicable(NO_CLASSES);
    }
    // No kubelet is newer than the API server, whose version counts.
    let (running, target) = (evidence.kubernetes_version(), evidence.target.kubernetes);
    let Some(version) = running.max(target) else {
        return CheckResult::not_applicable("the Kubernetes version is not known");
    };
    let verb = if running < Some(version) { "the target version is" } else { "the cluster has" };
    let found = classes.iter().filter_map(|(name, object)| {
        let (alias, place) = amazon_linux_2(*object).filter(|_| version >= WITHOUT)?;
        let message = format!(
            "EC2NodeClass {} selects the images `{}`, which EKS publishes up to Kubernetes 1.32; {verb} {version}",
            text::printable(name),
            text::printable(alias)
        );
        let fix = Fix::none("use `al2023@…` or `bottlerocket@…` in `amiSelectorTerms`");
        let violation = Violation::new(Severity::Error, reference("EC2NodeClass", name), message, fix);
        Some(violation.at(&place.place()))
    });
    let found: Vec<Violation> = found.collect();
    CheckResult::counted(classes.len(), found)
}

/// The alias or the family of a class whose images are those of EKS for Amazon Linux 2, and its place.
fn amazon_linux_2(class: Object<'_>) -> Option<(&str, Object<'_>)> {
    let terms: Vec<Object<'_>> = class.items(&["spec", "amiSelectorTerms"]).collect();
    if terms.is_empty() {
        let family = class.at(&["spec", "amiFamily"])?;
        return class.text(&["spec", "amiFamily"]).filter(|name| *name == "AL2").map(|name| (name, family));
    }
    // A class with an alias has no other term.
    let is_old = |alias: &&str| alias.split('@').next().is_some_and(|name| name.eq_ignore_ascii_case("al2"));
    terms.into_iter().find_map(|term| Some((term.text(&["alias"]).filter(is_old)?, term)))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const CLASS: &str = "
apiVersion: v1
kind: Node
metadata: {name: a}
status: {nodeInfo: {kubeletVersion: v1.33.2-eks-1}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiSelectorTerms:
  - alias: al2@latest
";

    #[test]
    fn fires() {
        lint::fires(&RULE, CLASS);
        lint::fires(&RULE, &CLASS.replace("al2@latest", "al2@v20250620"));
        let family = CLASS.replace("  amiSelectorTerms:\n  - alias: al2@latest", "  amiFamily: AL2");
        lint::fires(&RULE, &family);
        // The target of these tests is 1.33.
        lint::fires(&RULE, &CLASS.replace("v1.33.2", "v1.31.2"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, CLASS, "al2@latest", "al2023@latest");
        // Images of one's own.
        lint::silent(&RULE, CLASS, "alias: al2@latest", "id: ami-0123456789abcdef0");
        let own = CLASS.replace("  - alias: al2@latest", "  - id: ami-0123456789abcdef0\n  amiFamily: AL2");
        lint::silent(&RULE, &own, "v1.33.2", "v1.34.0");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, CLASS.split("---").next().unwrap());
    }
}
