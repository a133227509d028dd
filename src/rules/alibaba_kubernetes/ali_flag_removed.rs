use crate::controller::ControllerVersion;
use crate::controller::alibaba_flags::{ALWAYS, FLAGS, is_of_version_two, is_unknown, two};
use crate::model::cloud_provider_alibaba::NEWEST;
use crate::rules::ALIBABA;
use crate::rules::cloud_controller::on;
use crate::rules::prelude::*;

use super::{for_each_with_flags, from_two_on};

pub(super) const RULE: Rule = Rule {
    id: "ali-flag-removed",
    title: "the cloud controller is started with a flag that its version does not have",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning for a flag that version 2 removed, if the controller is older or its version is not known",
    ),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller of Alibaba Cloud is started with a flag that its version does not have: a flag that version 2 removed, such as `--address` or `--profiling` (a warning on older versions); a flag of version 2 on version 1, such as `--controllers`; `--feature-gates` from 2.9.1 on; `--sync-period` from 2.8.0 on; `--allocate-node-cidrs` before 2.2.0; `--max-concurrent-actions` before 2.11.2; `--enable-imdsv2` before 2.12.4; or a flag of no version, such as a misspelt one.",
    impact: "it does not start: `unknown flag`",
    fix: "Remove the flag; for addresses use `--metrics-bind-addr` and `--health-probe-bind-addr`, for gates `featureGates` of the cloud configuration.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/runtime_config.go#BindFlags",
        "kubernetes/cloud-provider-alibaba-cloud v1.9.3.376 cmd/cloudprovider/app/options/options.go#AddFlags",
    ],
    example: "DaemonSet kube-system/cloud-controller-manager has `--address`, which version 2 of it does not know",
    stops_workloads: true,
    ..Rule::evidence(ALIBABA, check)
};

/// Minimum similarity, from 0 to 1, of a flag to the one that is suggested for it.
const ALIKE: f64 = 0.85;

/// The reason that a controller exits at a flag, with the fix.
struct Refusal {
    /// The version that does not know it, if it is not version 2 as such.
    version: Option<ControllerVersion>,
    fix: String,
}

fn refusal(flag: &str, version: Option<ControllerVersion>) -> Option<Refusal> {
    if version.is_some_and(|version| is_of_version_two(flag, version)) {
        return Some(Refusal { version, fix: "remove it, or upgrade the controller".to_owned() });
    }
    let Some((_, first, last)) = FLAGS.iter().find(|(name, ..)| *name == flag) else {
        let version = version.filter(|version| is_unknown(flag, *version, NEWEST))?;
        let fix = match text::most_alike(flag, ALWAYS.iter().copied(), ALIKE) {
            Some(other) => format!("replace it with `--{other}`, or remove it"),
            None => "remove it".to_owned(),
        };
        return Some(Refusal { version: Some(version), fix });
    };
    if *last == Some(two(0, 0)) {
        let fix = match flag {
            "address" | "bind-address" | "port" | "secure-port" => {
                "use `--metrics-bind-addr` and `--health-probe-bind-addr`"
            }
            _ => "remove it",
        };
        return Some(Refusal { version: None, fix: fix.to_owned() });
    }
    let version = version.filter(|version| *version >= two(0, 0))?;
    let is_outside = first.is_some_and(|first| version < first) || last.is_some_and(|last| version >= last);
    let fix = match flag {
        "feature-gates" => "set them as `featureGates` in the cloud configuration",
        _ => "remove it, or upgrade the controller",
    };
    is_outside.then(|| Refusal { version: Some(version), fix: fix.to_owned() })
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_with_flags(context, |controller| {
        let refused = controller.flags.iter().filter_map(|flag| Some((flag, refusal(&flag.name, controller.version)?)));
        let found = refused.map(|(flag, Refusal { version, fix })| {
            let message = |of_two: &str| {
                let version = version.map_or(of_two.to_owned(), |version| format!("version {version}"));
                let name = controller.name();
                let (name, flag) = (text::printable(&name), text::printable(&flag.name));
                format!("{name} has `--{flag}`, which {version} does not know")
            };
            let violation = match version {
                Some(_) => on(controller, Severity::Error, &flag.place, message("it"), &fix),
                None => from_two_on(controller, &flag.place, message, (RULE.impact, &fix)),
            };
            violation.with_respect_to(flag.name.as_str())
        });
        found.collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::finding::Severity;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.0
        command:
        - --address=127.0.0.1
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        for flag in ["sync-period=5m", "configure-cloud-route=false", "sg-batch-size=20"] {
            lint::fires(
                &RULE,
                &DEFECT
                    .replace("address=127.0.0.1", flag)
                    .replace("v2.9.0", if flag.starts_with("sg") { "v2.7.0" } else { "v2.8.0" }),
            );
        }
    }

    #[test]
    fn version_one_has_other_flags() {
        let old = DEFECT.replace("v2.9.0", "v1.9.3.376-g5c84e19-aliyun");
        for flag in ["--controllers=node", "--metrics-bind-addr=0", "--network=vpc"] {
            let (findings, _) = lint::outcome(&RULE, &old.replace("--address=127.0.0.1", flag));
            assert!(matches!(findings.as_slice(), [one] if one.severity == Severity::Error), "{flag}: {findings:?}");
        }
        for flag in ["--allocate-node-cidrs=true", "--leader-elect=true", "--cluster-cidr=10.0.0.0/8", "--v=5"] {
            lint::silent(&RULE, &old, "--address=127.0.0.1", flag);
        }
    }

    #[test]
    fn silent() {
        for flag in ["--cloud-config=/etc/c.conf", "--v=5", "--sg-batch-size=20", "--kubeconfig=/etc/k"] {
            lint::silent(&RULE, DEFECT, "--address=127.0.0.1", flag);
        }
        // A later version may have any flag.
        let later = DEFECT.replace("v2.9.0", "v2.99.0");
        lint::silent(&RULE, &later, "--address=127.0.0.1", "--new-flag=1");
    }
}
