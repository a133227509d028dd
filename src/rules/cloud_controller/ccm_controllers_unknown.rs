use crate::controller::ControllerVersion;
use crate::kubernetes::string_slice;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-controllers-unknown",
    title: "`--controllers` names an unknown controller",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`--controllers` of an AWS cloud controller names a controller that its version does not have, with or without a leading dash. It has `cloud-node`, `cloud-node-lifecycle`, `service`, `route` and `tagging`; from 1.28 on, the first four are also named `cloud-node-controller`, `cloud-node-lifecycle-controller`, `service-lb-controller` and `node-route-controller`. 1.22.0, 1.23.0, 1.23.1 and 1.28.0 do not accept `tagging`. Spaces are part of a name, and an empty name after the last comma also counts.",
    impact: "it does not start: `is not in the list of known controllers`",
    fix: "Use a name that it has.",
    sources: &[
        "kubernetes/controller-manager options/generic.go#Validate",
        "kubernetes/cloud-provider names/controller_names.go#CCMControllerAliases",
        "kubernetes/cloud-provider-aws cmd/aws-cloud-controller-manager/main.go",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `service-lb` in `--controllers`, which is not one of its controllers",
    migration: Some(Prerequisite::Controller),
    stops_workloads: true,
    ..Rule::evidence(AWS, check)
};

const SHORT: [&str; 4] = ["cloud-node", "cloud-node-lifecycle", "service", "route"];
const LONG: [&str; 4] =
    ["cloud-node-controller", "cloud-node-lifecycle-controller", "service-lb-controller", "node-route-controller"];
const TAGGING: &str = "tagging";

/// Versions without the tagging controller, or with an alias that points to nothing.
const WITHOUT_TAGGING: [ControllerVersion; 4] = [
    ControllerVersion::new(1, 22, 0),
    ControllerVersion::new(1, 23, 0),
    ControllerVersion::new(1, 23, 1),
    ControllerVersion::new(1, 28, 0),
];

/// True if a version has a controller with this name, or may have it because the version is unknown.
fn has(version: Option<ControllerVersion>, name: &str) -> bool {
    const FIRST_LONG: ControllerVersion = ControllerVersion::new(1, 28, 0);
    SHORT.contains(&name)
        || LONG.contains(&name) && version.is_none_or(|version| version >= FIRST_LONG)
        || name == TAGGING && version.is_none_or(|version| !WITHOUT_TAGGING.contains(&version))
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        if !controller.knows_flags {
            return None;
        }
        let lists = controller.flags.iter().filter(|flag| flag.name == "controllers");
        let mut names = lists.flat_map(|flag| string_slice(&flag.value).into_iter().map(move |name| (flag, name)));
        let (flag, name) = names.find(|(_, item)| {
            let name = item.strip_prefix('-').unwrap_or(item);
            item != "*" && !has(controller.version, name)
        })?;
        let name = name.as_str();
        let bare = name.trim().trim_start_matches('-');
        let why = match controller.version {
            Some(version) if LONG.contains(&bare) || bare == TAGGING => format!("which {version} does not have"),
            _ => "which is not one of its controllers".to_owned(),
        };
        let full_name = controller.name();
        let message =
            format!("{} has `{}` in `--controllers`, {why}", text::printable(&full_name), text::printable(name));
        let short = LONG.iter().position(|long| *long == bare).and_then(|at| SHORT.get(at)).copied();
        let known = SHORT.into_iter().chain(LONG).chain([TAGGING]);
        let meant = short.or_else(|| text::most_alike(bare, known, 0.8)).filter(|meant| *meant != name);
        let fix = match meant {
            Some(meant) if name != bare || meant != bare => format!("write `{meant}`"),
            _ => "remove it".to_owned(),
        };
        Some(on(controller, Severity::Error, &flag.place, message, fix).with_respect_to(name))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
        args:
        - --controllers=*,-nodeipam
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "-nodeipam", "-node-route-controller");
    }
}
