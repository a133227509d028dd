use crate::controller::ControllerVersion;
use crate::kubernetes::{EBS_DRIVER, Object};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{IN_TREE, for_each_class, on};

pub(super) const RULE: Rule = Rule {
    id: "storageclass-in-tree-provisioner",
    title: "a storage class names the removed in-tree provisioner",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::StorageClass],
    condition: "A storage class has the provisioner `kubernetes.io/aws-ebs`. It was part of Kubernetes until 1.26; since 1.23 the driver `ebs.csi.aws.com`, if installed, creates its volumes instead.",
    impact: "there are no snapshots and no `gp3` by default; without the driver, claims wait forever",
    fix: "Create a class with the provisioner `ebs.csi.aws.com`, and make it the default instead: parameters of a class cannot be changed.",
    sources: &["kubernetes/kubernetes staging/src/k8s.io/csi-translation-lib/plugins/aws_ebs.go"],
    example: "StorageClass gp2 has the provisioner `kubernetes.io/aws-ebs`",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_class(context, |class, provisioner| {
        let before =
            context.evidence.kubernetes_version().and_then(ControllerVersion::minor).is_some_and(|minor| minor < 23);
        if provisioner != IN_TREE || before {
            return Vec::new();
        }
        let message = format!("{} has the provisioner `{IN_TREE}`", text::printable(&class.name));
        let fix = format!("create a class with the provisioner `{EBS_DRIVER}`, and make it the default instead");
        let place = class.object().at(&["provisioner"]).map_or_else(|| class.object().head(), Object::place);
        vec![on(class, Severity::Warning, &place, "provisioner", message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: storage.k8s.io/v1
kind: StorageClass
provisioner: kubernetes.io/aws-ebs
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "kubernetes.io/aws-ebs", "ebs.csi.aws.com");
    }
}
