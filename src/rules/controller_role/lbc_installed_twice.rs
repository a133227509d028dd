use std::collections::BTreeMap;

use crate::aws::companions::{CompanionRun, companions};
use crate::controller::companion::Companion;
use crate::rules::AWS;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "lbc-installed-twice",
    title: "the AWS Load Balancer Controller is installed twice for one cluster name",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "Two Deployments of the AWS Load Balancer Controller in different namespaces have the same `--cluster-name` and the same `--ingress-class`, and neither is limited to other namespaces by `--watch-namespace`. Each elects a separate leader.",
    impact: "both change the same load balancers and security groups: targets and rules appear and disappear",
    fix: "Uninstall one of them, or give each its own `--ingress-class` and `--watch-namespace`.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/config/runtime_config.go#BindFlags"],
    example: "Deployment ingress/alb-controller and Deployment kube-system/aws-load-balancer-controller run the AWS Load Balancer Controller for the cluster name `prod`",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let runs = companions(context.evidence);
    let runs: Vec<&CompanionRun<'_>> =
        runs.iter().filter(|run| run.row.companion == Companion::LoadBalancerController).collect();
    if runs.is_empty() {
        return CheckResult::not_applicable("no AWS Load Balancer Controller was given");
    }
    let mut by_scope: BTreeMap<(&str, &str, &str), Vec<&CompanionRun<'_>>> = BTreeMap::new();
    for run in &runs {
        let Some(name) = run.argument("cluster-name") else { continue };
        let class = run.argument("ingress-class").unwrap_or("alb");
        let namespace = run.argument("watch-namespace").unwrap_or_default();
        by_scope.entry((name, class, namespace)).or_default().push(run);
    }
    // In one namespace they share the lease, and one of them waits.
    let namespaces = |runs: &[&CompanionRun<'_>]| {
        runs.iter().map(|run| run.workload.namespace.as_str()).collect::<std::collections::BTreeSet<_>>().len()
    };
    let twice = by_scope.into_iter().filter(|(_, runs)| namespaces(runs) > 1);
    let found = twice.filter_map(|((cluster, ..), runs)| {
        let names: Vec<String> = runs.iter().map(|run| run.workload.full_name()).collect();
        let shown: Vec<String> = names.iter().map(|name| text::printable(name).into_owned()).collect();
        let message = format!(
            "{} run the AWS Load Balancer Controller for the cluster name `{}`",
            shown.join(" and "),
            text::printable(cluster)
        );
        let resource = ResourceRef::bare(ResourceKind::Workload, names.first()?);
        let fix = Fix::none("uninstall one of them, or give each its own `--ingress-class` and `--watch-namespace`");
        Some(Violation::new(Severity::Warning, resource, message, fix).at(&runs.first()?.workload.place))
    });
    CheckResult::counted(runs.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args:
        - --cluster-name=prod
---
kind: Deployment
metadata:
  name: alb-controller
  namespace: ingress
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args:
        - --cluster-name=prod
        - --v=1
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "--v=1", "--watch-namespace=ingress");
        lint::silent(&RULE, DEFECT, "--v=1", "--ingress-class=internal");
    }
}
