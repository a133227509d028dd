use crate::kubernetes::CloudController;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-duplicate",
    title: "two AWS cloud controllers run",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "Two workloads run the node controller of the AWS cloud controller, or two run its service controller, under separate locks: in different namespaces (`--leader-elect-resource-namespace`) or with different names (`--leader-elect-resource-name`).",
    impact: "both write providerIDs, which cannot be changed, and both create and change the load balancers of every Service",
    fix: "Remove one of them, or give them different `--controllers`.",
    sources: &[
        "kubernetes/cloud-provider app/controllermanager.go#Run",
        "kubernetes/component-base config/types.go#LeaderElectionConfiguration",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager and Deployment cloud/aws-ccm both run the service controller",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    const JOBS: [(&str, [&str; 2]); 2] = [("node", CloudController::NODE), ("service", CloudController::SERVICE)];
    // Static pods of several control planes are one controller.
    let all = context.evidence.aws_controllers().filter(|one| one.chart.is_none());
    let mut all: Vec<&CloudController> = all.collect();
    let lock = |one: &CloudController| {
        let said =
            |flag: &str, default: &str| one.flag(flag).map_or_else(|| default.to_owned(), |flag| flag.value.clone());
        (
            said("leader-elect-resource-namespace", "kube-system"),
            said("leader-elect-resource-name", "cloud-controller-manager"),
        )
    };
    all.sort_by_key(|one| lock(one));
    // Controllers that share a lock exclude each other.
    all.dedup_by_key(|one| lock(one));
    let first = all.first().copied();
    let mut found: Option<Violation> = None;
    if let Some(first) = first {
        for other in all.iter().skip(1) {
            let both = JOBS.into_iter().find(|(_, names)| first.runs(names) && other.runs(names));
            if let (Some((job, _)), None) = (both, &found) {
                let (one, two) = (first.name(), other.name());
                let message =
                    format!("{} and {} both run the {job} controller", text::printable(&one), text::printable(&two));
                let fix = "remove one of them, or give them different `--controllers`";
                found = Some(on(first, Severity::Error, first.place(), message, fix).at(other.place()));
            }
        }
    }
    let mut counted = for_each_aws(context, |_| None);
    if let (Ok(violations), Some(found)) = (&mut counted.outcome, found) {
        violations.push(found);
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.36.0
---
kind: Deployment
metadata:
  name: ccm
spec:
  template:
    spec:
      containers:
      - image: registry.example.com/mirror/cloud-controller-manager:v1.36.0
        args:
        - --cloud-provider=aws
        - --leader-elect-resource-namespace=cloud
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "        - --leader-elect-resource-namespace=cloud\n", "");
    }
}
