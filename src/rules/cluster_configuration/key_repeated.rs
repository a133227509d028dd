use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::on;

pub(super) const RULE: Rule = Rule {
    id: "key-repeated",
    title: "an object has a duplicate key",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info if both values are the same"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A YAML or JSON document has a key twice in the same object. The other rules judge the last value.",
    impact: "`kubectl apply` and most other readers use the last value and drop the other without a message; Kustomize refuses the file",
    fix: "Keep one of the two, or merge their values under one key.",
    sources: &[
        "https://github.com/kubernetes/kubernetes/issues/99286",
        "https://github.com/kubernetes/kubernetes/issues/125885",
        "https://github.com/kubernetes-sigs/kustomize/issues/3523",
    ],
    example: "Deployment kube-system/ccm has the key `args` twice, at line 14 and at line 20",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    if evidence.read_as_written == 0 {
        return CheckResult::not_applicable("no file was given that could have a duplicate key");
    }
    let found = evidence.repeated_keys.iter().map(|one| {
        let (document, key) = (text::printable(&one.document), text::printable(&one.key));
        let (before, again) = (one.before.line, one.place.line);
        let at =
            if before == again { format!("at line {again}") } else { format!("at line {before} and at line {again}") };
        let (severity, same) =
            if one.is_same { (Severity::Info, ", with the same value") } else { (Severity::Warning, "") };
        let more = match one.more {
            0 => String::new(),
            1 => ", and one more key".to_owned(),
            more => format!(", and {more} more keys"),
        };
        let message = format!("{document} has the key `{key}` twice, {at}{same}{more}");
        let fix = "keep one of the two, or merge their values under one key";
        on(&one.document, severity, &one.place, "key", message, fix)
    });
    CheckResult::counted(evidence.read_as_written, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    // The API has no repeated keys: only files do.
    const DEFECT: &str = "
kind: HelmChart
apiVersion: helm.cattle.io/v1
metadata:
  name: a
  name: b
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "  name: b", "  uid: b");
    }
}
