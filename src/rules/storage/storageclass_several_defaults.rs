use crate::kubernetes::{Document, DocumentKind};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_class, on};

pub(super) const RULE: Rule = Rule {
    id: "storageclass-several-defaults",
    title: "several storage classes are the default",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::StorageClass],
    condition: r#"More than one storage class of the cluster has the annotation `storageclass.kubernetes.io/is-default-class: "true"`, and one of them is for EBS."#,
    impact: "a claim without a class gets the newest of them",
    fix: "Remove the annotation from all but one.",
    sources: &[r#"Kubernetes documentation, "Storage Classes", "Default StorageClass""#],
    example: "StorageClasses gp2, gp3 are both the default",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let is_default = |class: &&Document| {
        let object = class.object();
        let marks = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
        marks.iter().any(|mark| object.text(&["metadata", "annotations", *mark]) == Some("true"))
            && object.text(&["metadata", "uid"]).is_some()
    };
    let defaults: Vec<&Document> =
        context.evidence.documents_by_kind(DocumentKind::StorageClass).filter(is_default).collect();
    let mut counted = for_each_class(context, |_, _| Vec::new());
    if let (Ok(found), [first, _, ..]) = (&mut counted.outcome, defaults.as_slice()) {
        let names = defaults.iter().filter_map(|class| class.object().text(&["metadata", "name"]));
        let names: Vec<&str> = names.collect();
        let both = if names.len() == 2 { "both" } else { "all" };
        let message = format!("StorageClasses {} are {both} the default", text::list(&names, 5));
        let fix = "remove the annotation from all but one";
        found.push(on(first, Severity::Warning, &first.object().head(), "default", message, fix));
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  uid: 5f0c0006
  annotations:
    storageclass.kubernetes.io/is-default-class: 'true'
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  uid: 5f0c0007
  annotations:
    storageclass.kubernetes.io/is-default-class: 'true'
provisioner: ebs.csi.aws.com
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
            "5f0c0007\n  annotations:\n    storageclass.kubernetes.io/is-default-class: 'true'",
            "5f0c0007\n  annotations:\n    storageclass.kubernetes.io/is-default-class: 'false'",
        );
    }
}
