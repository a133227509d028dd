use crate::controller::ControllerVersion;
use crate::controller::alibaba_flags::{Kind, TYPED};
use crate::kubernetes::Flag;
use crate::model::annotations::parse_bool;
use crate::rules::ALIBABA;
use crate::rules::cloud_controller::on;
use crate::rules::prelude::*;
use crate::tags;

use super::for_each_with_flags;

pub(super) const RULE: Rule = Rule {
    id: "ali-flag-invalid",
    title: "a flag of the cloud controller has an invalid value",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "A flag of version 2 of the cloud controller of Alibaba Cloud has a value that does not parse as the type of the flag: a boolean (`--configure-cloud-routes`), a duration with a unit (`--route-reconciliation-period`), an integer (`--concurrent-service-syncs`) or a number; or `--max-concurrent-actions` or `--max-throttling-retry-times` is not positive.",
    impact: "it does not start: `invalid argument`, or `must be set to a positive integer`",
    fix: "Correct the value.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/controller_config.go#BindFlags, #Validate",
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/runtime_config.go#BindFlags",
        "spf13/pflag bool.go, duration.go, float32.go, int.go",
    ],
    example: "DaemonSet kube-system/cloud-controller-manager has `--route-reconciliation-period=10`, which is not a duration such as 5m",
    stops_workloads: true,
    ..Rule::evidence(ALIBABA, check)
};

const TWO: ControllerVersion = ControllerVersion::new(2, 0, 0);

/// Units of a duration, the longer of two that begin alike first. Source: the Go standard library, `time.ParseDuration`.
const UNITS: [&str; 8] = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"];

/// Reason why a value is refused, to follow "which".
fn refused(flag: &Flag) -> Option<&'static str> {
    let (_, kind) = TYPED.iter().find(|(name, _)| *name == flag.name)?;
    let value = flag.value.as_str();
    // Something fills it in, or the value is the next word.
    if tags::is_placeholder(value) || value.contains("$(") || (*kind != Kind::Switch && value == "true") {
        return None;
    }
    match kind {
        Kind::Switch => parse_bool(value).is_none().then_some("is not a truth value such as true"),
        Kind::Duration => (!is_duration(value)).then_some("is not a duration such as 5m"),
        Kind::Whole => (!is_whole(value)).then_some("is not a whole number"),
        Kind::Positive if !is_whole(value) => Some("is not a whole number"),
        Kind::Positive => value.parse::<i64>().is_ok_and(|number| number <= 0).then_some("is not positive"),
        Kind::Number => value.parse::<f32>().is_err().then_some("is not a number"),
    }
}

/// True for a whole number as Go reads it: decimal, or with the prefix of another base, and with `_` between digits.
/// Source: the Go standard library, `strconv.ParseInt` with base 0.
fn is_whole(text: &str) -> bool {
    let (is_negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = [("0x", 16), ("0b", 2), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, base)| Some((base, lower.strip_prefix(prefix)?)))
        .or_else(|| Some((8, lower.strip_prefix('0').filter(|rest| !rest.is_empty())?)))
        .unwrap_or((10, lower.as_str()));
    let is_written = !digits.is_empty() && !digits.ends_with('_') && !digits.contains("__");
    let plain: String = digits.chars().filter(|one| *one != '_').collect();
    let limit = i64::MAX.unsigned_abs() + u64::from(is_negative);
    // A sign behind the first one is none.
    let number = u64::from_str_radix(&plain, base).ok().filter(|_| !plain.starts_with('+'));
    is_written && number.is_some_and(|number| number <= limit)
}

/// True for a duration. Source: the Go standard library, `time.ParseDuration`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut has_part = false;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|one: char| one.is_ascii_digit() || one == '.');
        let digits = rest.get(..rest.len() - number.len()).unwrap_or_default();
        let is_number = digits.chars().any(|one| one.is_ascii_digit()) && digits.matches('.').count() < 2;
        let Some(unit) = UNITS.into_iter().find(|unit| number.starts_with(unit)).filter(|_| is_number) else {
            return false;
        };
        rest = number.get(unit.len()..).unwrap_or_default();
        has_part = true;
    }
    has_part
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_with_flags(context, |controller| {
        let is_two = controller.version.is_some_and(|version| version >= TWO);
        let found = controller.flags.iter().filter(|_| is_two).filter_map(|flag| {
            let why = refused(flag)?;
            let name = controller.name();
            let (name, value) = (text::printable(&name), text::printable(&flag.value));
            let message = format!("{name} has `--{}={value}`, which {why}", flag.name);
            let violation = on(controller, Severity::Error, &flag.place, message, "correct the value");
            Some(violation.with_respect_to(flag.name.as_str()))
        });
        found.collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::{RULE, is_duration, is_whole};
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.14.0
        command:
        - --configure-cloud-routes=no
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        for flag in [
            "--route-reconciliation-period=10",
            "--concurrent-service-syncs=3s",
            "--kube-api-qps=many",
            "--max-concurrent-actions=0",
            "--max-throttling-retry-times=-1",
        ] {
            lint::fires(&RULE, &DEFECT.replace("--configure-cloud-routes=no", flag));
        }
    }

    #[test]
    fn silent() {
        for flag in [
            "--configure-cloud-routes=F",
            "--configure-cloud-routes",
            "--route-reconciliation-period=1m30s",
            "--route-reconciliation-period=0",
            "--concurrent-service-syncs=0x10",
            "--kube-api-qps=12.5",
            "--max-concurrent-actions=1",
            "--cluster-name=no",
        ] {
            lint::silent(&RULE, DEFECT, "--configure-cloud-routes=no", flag);
        }
        lint::silent(&RULE, DEFECT, "v2.14.0", "v1.9.3");
        lint::does_not_apply(&RULE, &DEFECT.replace("=no", "=$(ROUTES)"));
    }

    #[test]
    fn whole_numbers_are_read_as_go_reads_them() {
        for text in ["0", "10", "-3", "0x1F", "0b11", "0o17", "017", "1_000", "9223372036854775807"] {
            assert!(is_whole(text), "{text}");
        }
        for text in ["", "3a", "08", "3.0", "0x", "1__0", "1_", "--1", "+-1", "9223372036854775808", "ten"] {
            assert!(!is_whole(text), "{text}");
        }
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for text in ["0", "5m", "-1.5h", "1h2m3s", ".5s", "1.s", "100\u{b5}s", "+2ms"] {
            assert!(is_duration(text), "{text}");
        }
        for text in ["", "5", "m", "5 m", "1.2.3s", "1d", "-", ".s"] {
            assert!(!is_duration(text), "{text}");
        }
    }
}
