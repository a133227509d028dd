use crate::aws::companions::{CompanionRun, companions};
use crate::controller::companion::Companion;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::workload_violation;

pub(super) const RULE: Rule = Rule {
    id: "lbc-cluster-name-missing",
    title: "the AWS Load Balancer Controller has no cluster name",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "The arguments of an AWS Load Balancer Controller have no `--cluster-name`, or an empty one. A shell or a variable that may set it is skipped.",
    impact: "the controller exits at start (`kubernetes cluster name must be specified`)",
    fix: "Set `--cluster-name` (the chart's value `clusterName`).",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/config/controller_config.go#Validate"],
    example: "Deployment kube-system/aws-load-balancer-controller has no `--cluster-name`",
    stops_workloads: true,
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let all = companions(context.evidence).into_iter();
    let all = all.filter(|run| run.row.companion == Companion::LoadBalancerController);
    // A patch has the image or the command alone, and a variable, a script or a template may hold any argument.
    let is_known = |words: &[String]| {
        let is_open = |word: &String| ["$(", "${", "{{"].iter().any(|mark| word.contains(mark));
        let is_script = |word: &String| {
            word == "-c" || std::path::Path::new(word).extension().is_some_and(|one| one.eq_ignore_ascii_case("sh"))
        };
        words.iter().any(|word| word.starts_with("--") && word.len() > 2)
            && !words.iter().any(|word| is_script(word) || is_open(word) && !word.starts_with("--"))
    };
    let words =
        |run: &CompanionRun<'_>| -> Vec<String> { run.container.words.iter().map(|word| word.value.clone()).collect() };
    let known: Vec<_> = all.filter(|run| is_known(&words(run)) && !run.container.starts_shell()).collect();
    let found = known.iter().filter_map(|run| {
        if run.arguments("cluster-name").last().is_some_and(|name| !name.is_empty()) {
            return None;
        }
        let fix = Fix::none("set `--cluster-name` to the name of the cluster");
        Some(workload_violation(run, Severity::Error, "has no `--cluster-name`", fix))
    });
    if known.is_empty() {
        return CheckResult::not_applicable("no AWS Load Balancer Controller with arguments was given");
    }
    CheckResult::counted(known.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args: ['--ingress-class=alb']
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("--ingress-class=alb", "--cluster-name="));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "--ingress-class=alb", "--cluster-name=prod");
        lint::silent(&RULE, DEFECT, "--ingress-class=alb", "--cluster-name=$(CLUSTER)");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("        args: ['--ingress-class=alb']\n", ""));
        for words in ["$(ARGS)", "/controller", "${LBC_ARGS}"] {
            lint::does_not_apply(&RULE, &DEFECT.replace("--ingress-class=alb", words));
        }
    }
}
