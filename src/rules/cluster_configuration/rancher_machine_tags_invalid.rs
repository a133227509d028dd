use crate::kubernetes::DocumentKind;
use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::tags;

use super::{for_each_document, machine_settings, on};

pub(super) const RULE: Rule = Rule {
    id: "rancher-machine-tags-invalid",
    title: "the tags of machine settings of Rancher are not what they seem",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`tags` of an `Amazonec2Config`, or of the `amazonec2Config` of a `NodeTemplate`, is a list `key,value,key,value` with an odd number of parts, or with a key that contains `=`; or has several keys `kubernetes.io/cluster/…`; or `tags` of a `NodeTemplate` has one `kubernetes.io/cluster/…`: Rancher always adds that of the RKE cluster.",
    impact: "the last part is dropped, and a `key=value` becomes a key: the tags that were intended are missing; a second cluster tag makes an instance a node of two clusters",
    fix: "Write `key,value,key,value`. Omit the cluster tag in a `NodeTemplate`: Rancher sets it.",
    sources: &[
        "rancher/machine drivers/amazonec2/amazonec2.go#buildEC2Tags",
        "rancher/rancher pkg/controllers/management/node/controller.go#setEc2ClusterIDTag",
    ],
    example: "`tags` has 3 parts: `kubernetes.io/cluster/prod` has no value, and is dropped",
    migration: Some(Prerequisite::Tags),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RancherMachine, |document| {
        let Some(given) = machine_settings(document).and_then(|settings| settings.located(&["tags"])) else {
            return Vec::new();
        };
        if given.value.is_empty() {
            return Vec::new();
        }
        let mut parts: Vec<&str> = given.value.split(',').collect();
        // A comma at the end drops nothing.
        if parts.len() % 2 == 1 && parts.last().is_some_and(|last| last.is_empty()) {
            parts.pop();
        }
        let of_clusters: Vec<&str> =
            parts.iter().step_by(2).copied().filter(|key| key.starts_with(tags::CLUSTER_TAG_PREFIX)).collect();
        let is_template = document.kind_name() == "NodeTemplate";
        let message = if let Some(key) = parts.iter().step_by(2).find(|part| part.contains('=')) {
            format!("`tags` has the key `{}`: keys and values are separated by commas", text::printable(key))
        } else if let (1, Some(last)) = (parts.len() % 2, parts.last()) {
            let number = text::count(parts.len(), "part");
            format!("`tags` has {number}: `{}` has no value, and is dropped", text::printable(last))
        } else if let [first, second, ..] = of_clusters.as_slice() {
            let (first, second) = (text::printable(first), text::printable(second));
            format!("`tags` has `{first}` and `{second}`: a machine belongs to one cluster")
        } else if let ([key], true) = (of_clusters.as_slice(), is_template) {
            format!("`tags` has `{}`, and Rancher adds the tag of the RKE cluster", text::printable(key))
        } else {
            return Vec::new();
        };
        let fix = "write `key,value,key,value`, without the cluster tag in a `NodeTemplate`";
        vec![on(&document.name, Severity::Warning, &given.place, "tags", message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: rke-machine-config.cattle.io/v1
kind: Amazonec2Config
metadata:
  name: nc-prod-pool1
tags: team,a,kubernetes.io/cluster/prod
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        for tags in
            ["kubernetes.io/cluster/prod=owned,a", "kubernetes.io/cluster/a,owned,kubernetes.io/cluster/b,owned"]
        {
            lint::fires(&RULE, &DEFECT.replace("team,a,kubernetes.io/cluster/prod", tags));
        }
        lint::fires(
            &RULE,
            "
apiVersion: management.cattle.io/v3
kind: NodeTemplate
metadata:
  name: nt-1
amazonec2Config:
  tags: kubernetes.io/cluster/prod,owned
",
        );
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "kubernetes.io/cluster/prod", "kubernetes.io/cluster/prod,owned");
        for tags in ["''", "team,a=b", "team,a,", "url,https://x/?a=b"] {
            lint::silent(&RULE, DEFECT, "team,a,kubernetes.io/cluster/prod", tags);
        }
    }
}
