use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_class, on};

pub(super) const RULE: Rule = Rule {
    id: "storageclass-immediate-binding",
    title: "volumes are created before their zone is known",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::StorageClass],
    condition: "A storage class for EBS has `volumeBindingMode: Immediate`, which is the default, and no `allowedTopologies` with a single zone.",
    impact: "the volume is created in any zone, and its pod stays pending if that zone has no room for it",
    fix: "Create a class with `volumeBindingMode: WaitForFirstConsumer`: the mode of a class cannot be changed.",
    sources: &[r#"Kubernetes documentation, "Storage Classes", "Volume binding mode""#],
    example: "StorageClass gp3 creates volumes before a pod needs them",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_class(context, |class, _| {
        let object = class.object();
        let mode = object.located(&["volumeBindingMode"]);
        let expressions = object
            .items(&["allowedTopologies"])
            .flat_map(|one| one.items(&["matchLabelExpressions"]).collect::<Vec<_>>());
        let zones: usize = expressions.map(|one| one.items(&["values"]).count()).sum();
        if mode.as_ref().is_some_and(|mode| mode.value == "WaitForFirstConsumer") || zones == 1 {
            return Vec::new();
        }
        let message = format!("{} creates volumes before a pod needs them", text::printable(&class.name));
        let fix = "create a class with `volumeBindingMode: WaitForFirstConsumer`";
        let place = mode.map_or_else(|| object.head(), |mode| mode.place);
        vec![on(class, Severity::Warning, &place, "volumeBindingMode", message, fix)]
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
        lint::silent(
            &RULE,
            DEFECT,
            "kubernetes.io/aws-ebs",
            "ebs.csi.aws.com\nvolumeBindingMode: WaitForFirstConsumer",
        );
    }
}
