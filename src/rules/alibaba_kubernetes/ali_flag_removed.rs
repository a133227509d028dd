use super::{from_two_on, of_each};
use crate::finding::{Applicability, Severity};
use crate::resource::ResourceKind;
use crate::rules::{ALIBABA, Check, Counted, KubernetesContext, Rule, RuleSeverity, Subjects};
use crate::text;

pub(super) const RULE: Rule = Rule {
    id: "ali-flag-removed",
    title: "a flag that version 2 of the cloud controller does not know",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning before version 2, and where the version is not known",
    ),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller of Alibaba Cloud is started with `--address`, `--port`, `--bind-address` or `--secure-port`, which version 2 does not have; a warning before that.",
    impact: "it does not start: `unknown flag`",
    fix: "Use `--metrics-bind-addr` and `--health-probe-bind-addr`.",
    applicability: Applicability::None,
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/config/runtime_config.go#BindFlags"],
    example: "DaemonSet kube-system/cloud-controller-manager has `--address`, which version 2 of it does not know",
    reads: &[],
    subjects: Subjects::Evidence,
    check: Check::Evidence(ALIBABA, check),
};

fn check(context: &KubernetesContext<'_>) -> Counted {
    of_each(context, |controller| {
        let removed = ["address", "port", "bind-address", "secure-port"];
        let flag = controller.flags.iter().find(|flag| removed.contains(&flag.name.as_str()))?;
        let name = controller.name();
        let told =
            |version: &str| format!("{} has `--{}`, which {version} does not know", text::printable(&name), flag.name);
        let fix = "use `--metrics-bind-addr` and `--health-probe-bind-addr`";
        Some(from_two_on(controller, &flag.place, told, (RULE.impact, fix)))
    })
}
