use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{of_each, on};

pub(super) const RULE: Rule = Rule {
    id: "storageclass-immediate-binding",
    title: "volumes are made before it is known where they are needed",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::StorageClass],
    condition: "A storage class for EBS has `volumeBindingMode: Immediate`, which is the default, and no `allowedTopologies` of one zone.",
    impact: "the volume is made in any zone, and its pod stays pending where there is no room for it in that zone",
    fix: "Make a class with `volumeBindingMode: WaitForFirstConsumer`: it cannot be changed.",
    sources: &[r#"Kubernetes documentation, "Storage Classes", "Volume binding mode""#],
    example: "StorageClass gp3 makes volumes before a pod needs them",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_each(context, |class, _| {
        let object = class.object();
        let mode = object.located(&["volumeBindingMode"]);
        let expressions = object
            .items(&["allowedTopologies"])
            .flat_map(|one| one.items(&["matchLabelExpressions"]).collect::<Vec<_>>());
        let zones: usize = expressions.map(|one| one.items(&["values"]).count()).sum();
        if mode.as_ref().is_some_and(|mode| mode.value == "WaitForFirstConsumer") || zones == 1 {
            return Vec::new();
        }
        let message = format!("{} makes volumes before a pod needs them", text::printable(&class.name));
        let fix = "make a class with `volumeBindingMode: WaitForFirstConsumer`";
        let place = mode.map_or_else(|| object.head(), |mode| mode.place);
        vec![on(class, Severity::Warning, &place, "volumeBindingMode", message, fix)]
    })
}
