use crate::kubernetes::EBS_DRIVER;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{IN_TREE, for_each_class, on};

pub(super) const RULE: Rule = Rule {
    id: "storageclass-parameter-unknown",
    title: "a parameter that the EBS driver does not accept",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::StorageClass],
    condition: "A storage class of `ebs.csi.aws.com` has a parameter that the driver does not know (including `zone` and `zones`), both `iops` and `iopsPerGB`, or a parameter whose value is not a string, such as `encrypted: true`. A storage class of `kubernetes.io/aws-ebs` is reported if it has `zone` or `zones` next to `allowedTopologies`.",
    impact: "provisioning fails for every volume of this class",
    fix: "Remove it; set zones with `allowedTopologies`.",
    sources: &[
        "kubernetes-sigs/aws-ebs-csi-driver pkg/driver/controller.go#CreateVolume",
        "kubernetes-sigs/aws-ebs-csi-driver docs/parameters.md",
    ],
    example: "StorageClass fast has the parameter `zones`, which the driver does not accept",
    ..Rule::evidence(AWS, check)
};

/// Parameters of the driver, which it compares in lower case.
const KNOWN: [&str; 19] = [
    "allowautoiopsincreaseonmodify",
    "allowautoiopspergbincrease",
    "blockexpress",
    "blocksize",
    "bytesperinode",
    "csi.storage.k8s.io/fstype",
    "encrypted",
    "ext4bigalloc",
    "ext4clustersize",
    "ext4encryptionsupport",
    "fstype",
    "inodesize",
    "iops",
    "iopspergb",
    "kmskeyid",
    "numberofinodes",
    "throughput",
    "type",
    "volumeinitializationrate",
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_class(context, |class, provisioner| {
        let object = class.object();
        let has_topologies = object.items(&["allowedTopologies"]).next().is_some();
        let names: Vec<String> = object.members(&["parameters"]).map(|(key, _)| key.value.to_lowercase()).collect();
        let mut found = Vec::new();
        for (key, value) in object.members(&["parameters"]) {
            if value.node.as_str().is_none() {
                let message = format!(
                    "{} has the parameter `{}`, whose value is not a string",
                    text::printable(&class.name),
                    text::printable(&key.value)
                );
                let violation =
                    on(class, Severity::Error, &value.place(), &key.value, message, "put the value in quotes");
                found.push(violation.impact(Some("the API server refuses the class".to_owned())));
                continue;
            }
            let name = key.value.to_lowercase();
            let is_zone = name == "zone" || name == "zones";
            let is_of_driver = KNOWN.contains(&name.as_str())
                || name.starts_with("tagspecification")
                || name.starts_with("csi.storage.k8s.io/");
            let shown = text::printable(&key.value);
            let class_name = text::printable(&class.name);
            let (message, fix) = if provisioner == EBS_DRIVER && !is_of_driver {
                let fix = if is_zone { "set the zones with `allowedTopologies`" } else { "remove it" };
                (format!("{class_name} has the parameter `{shown}`, which the driver does not accept"), fix)
            } else if provisioner == IN_TREE && is_zone && has_topologies {
                (format!("{class_name} has `{shown}` next to `allowedTopologies`"), "remove the parameter")
            } else if provisioner == EBS_DRIVER && name == "iopspergb" && names.iter().any(|one| one == "iops") {
                (format!("{class_name} has both `iops` and `iopsPerGB`"), "keep one of them")
            } else {
                continue;
            };
            found.push(on(class, Severity::Error, &key.place, &key.value, message, fix));
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: storage.k8s.io/v1
kind: StorageClass
provisioner: ebs.csi.aws.com
parameters:
  zones: eu-west-1a, eu-west-1b
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "zones: eu-west-1a, eu-west-1b", "type: gp3");
    }
}
