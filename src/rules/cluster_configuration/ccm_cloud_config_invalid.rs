use std::collections::BTreeMap;

use regex::Regex;

use crate::controller::ControllerVersion;
use crate::kubernetes::CloudConfig;
use crate::kubernetes::cloud_config::{self, Known, REQUIRED, ValueType, reads_over};
use crate::kubernetes::gcfg::{Section, Variable};
use crate::policy::json::Span;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::on;

pub(super) const RULE: Rule = Rule {
    id: "ccm-cloud-config-invalid",
    title: "the cloud configuration is invalid",
    severity: RuleSeverity::depends(Severity::Error, "error; warning for what the controller ignores"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A configuration of the AWS cloud controller (a file, in a ConfigMap, or among the files that a kubeadm configuration writes) has a syntax error, or a value that its variable does not accept; names a cluster by two ids, or by an id other than the audited one; or has a service override that lacks `Service`, `Region`, `URL` or `SigningRegion`, or that repeats a service and region. An unknown section or variable stops the controller up to 1.28.1 (1.23.17, 1.24.15, 1.25.11, 1.26.6 and 1.27.2 of the earlier minor versions). Later versions ignore it: then it is a warning, as when the version is not known. The version is that of the image, and that of `--target-controller`.",
    impact: "the controller does not start, creates no load balancers, or ignores the setting",
    fix: "Correct the reported place.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/config/config.go#CloudConfig",
        "kubernetes/cloud-provider-aws pkg/providers/v1/config/config.go#ValidateOverrides",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#readAWSCloudConfig",
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#init",
        "gopkg.in/gcfg.v1 set.go",
    ],
    example: "unknown variable `KubernetesClusterName` in `[Global]`",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

/// Versions of the controllers that read the configuration, and the target version.
struct Versions {
    running: Vec<ControllerVersion>,
    target: Option<ControllerVersion>,
}

impl Versions {
    fn of(context: &KubernetesContext<'_>) -> Self {
        let controllers = context.evidence.aws_controllers();
        let running = match context.controller_version {
            Some(version) => vec![version],
            None => controllers.filter_map(|one| one.version).collect(),
        };
        Self { running, target: context.evidence.target.controller }
    }

    fn all(&self) -> impl Iterator<Item = ControllerVersion> {
        self.running.iter().copied().chain(self.target)
    }

    /// Severity of a setting that some versions do not support.
    fn severity(&self, lacks: impl Fn(ControllerVersion) -> bool) -> Severity {
        let ends = self.all().any(|version| lacks(version) && !reads_over(version));
        if ends { Severity::Error } else { Severity::Warning }
    }
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let all = &context.evidence.cloud_configs;
    if all.is_empty() {
        return CheckResult::not_applicable("no configuration of the AWS cloud controller was given");
    }
    let versions = Versions::of(context);
    let found = all.iter().flat_map(|config| match &config.sections {
        Ok(sections) => {
            let mut found: Vec<Violation> =
                sections.iter().flat_map(|section| in_section(config, section, &versions)).collect();
            found.extend(clusters(context, config));
            found.extend(overrides(config, sections));
            found
        }
        Err(error) => {
            let message = format!("the cloud configuration cannot be read: {}", error.reason);
            let span = Span { start: error.offset, end: error.offset };
            vec![at(config, Severity::Error, span, "language", message, "correct the line")]
        }
    });
    CheckResult::counted(all.len(), found)
}

/// Impact if the controller starts despite the setting.
const NOTHING: &str = "the controller ignores it";
const NO_LOAD_BALANCER: &str = "no Network Load Balancer is created";
const NO_ADDRESSES: &str = "the controller writes no address of that family on Nodes";
const NO_START: &str = "the controller does not start";

fn at(
    config: &CloudConfig,
    severity: Severity,
    span: Span,
    what: &str,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Violation {
    let impact = if severity == Severity::Warning { NOTHING } else { NO_START };
    on(&config.name, severity, &config.source.place(span), what, message, fix).impact(Some(impact.to_owned()))
}

/// Problems within one section.
fn in_section(config: &CloudConfig, section: &Section, versions: &Versions) -> Vec<Violation> {
    let Some(is_override) = cloud_config::is_override(section) else {
        let shown = match section.subsection.as_str() {
            "" => format!("[{}]", section.name),
            subsection => format!("[{} \"{subsection}\"]", section.name),
        };
        let message = format!("unknown section `{}` in the cloud configuration", text::printable(&shown));
        let severity = versions.severity(|_| true);
        return vec![at(config, severity, section.span, &shown, message, "remove it, or write `[Global]`")];
    };
    let known = cloud_config::variables(is_override);
    let heading = if is_override { "[ServiceOverride]" } else { "[Global]" };
    let check = |variable: &Variable| {
        // Dashes in a name mean underscores, which no variable has.
        let Some(one) = known.iter().find(|one| one.name.eq_ignore_ascii_case(&variable.name)) else {
            // Only very old clusters use the tag.
            let names = known.iter().map(|one| one.name).filter(|name| *name != "KubernetesClusterTag");
            let nearest = text::most_alike(&variable.name, names, 0.9);
            let fix = nearest.map_or_else(|| "remove it".to_owned(), |nearest| format!("write `{nearest}`"));
            let message = format!("unknown variable `{}` in `{heading}`", text::printable(&variable.name));
            let severity = versions.severity(|_| true);
            return Some(at(config, severity, variable.span, &variable.name, message, fix));
        };
        unknown_to_version(config, variable, one, versions).or_else(|| wrong_value(config, variable, one))
    };
    section.variables.iter().filter_map(check).collect()
}

fn unknown_to_version(
    config: &CloudConfig,
    variable: &Variable,
    known: &Known,
    versions: &Versions,
) -> Option<Violation> {
    let lacks = |version: ControllerVersion| !known.is_available_in(version);
    let name = known.name;
    let severity = versions.severity(lacks);
    let since = known.versions();
    let fix = format!("remove `{name}`, or run a version that supports it");
    let message = match (versions.running.iter().find(|version| lacks(**version)), versions.target) {
        (Some(running), _) => format!("`{name}` exists only {since}, but the controller is {running}"),
        (None, Some(target)) if lacks(target) => format!("`{name}` exists only {since}, but the target is {target}"),
        _ => return None,
    };
    Some(at(config, severity, variable.span, name, message, fix))
}

/// Problem with the value of a variable.
fn wrong_value(config: &CloudConfig, variable: &Variable, known: &Known) -> Option<Violation> {
    let name = known.name;
    let wrong = |value: &str, fix: String| {
        let message = format!("`{name}` cannot be `{}`", text::printable(value));
        let impact = match known.holds {
            ValueType::OneOf(_) => NO_LOAD_BALANCER,
            ValueType::ManyOf(_) => NO_ADDRESSES,
            ValueType::Text | ValueType::Pattern | ValueType::Switch | ValueType::Number => NO_START,
        };
        let found = at(config, Severity::Error, variable.span, name, message, fix);
        Some(found.impact(Some(impact.to_owned())))
    };
    let one_of = |values: &[&str]| {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        values.join(" or ")
    };
    let Some(value) = variable.value.as_deref() else {
        // Without a value, a switch is on and a list is reset.
        return match known.holds {
            ValueType::Switch | ValueType::ManyOf(_) => None,
            ValueType::Text | ValueType::Pattern | ValueType::Number | ValueType::OneOf(_) => {
                let message = format!("`{name}` has no value");
                Some(at(
                    config,
                    Severity::Error,
                    variable.span,
                    name,
                    message,
                    format!("write `{name}=` and its value"),
                ))
            }
        };
    };
    match known.holds {
        ValueType::Text => None,
        ValueType::Pattern if is_pattern(value) => None,
        ValueType::Pattern => wrong(value, "write a regular expression".to_owned()),
        ValueType::Switch if is_switch(value) => None,
        ValueType::Switch => wrong(value, "write `true` or `false`".to_owned()),
        ValueType::Number if is_number(value) => None,
        ValueType::Number => wrong(value, "write a number".to_owned()),
        ValueType::OneOf(values) if value.is_empty() || values.contains(&value) => None,
        ValueType::OneOf(values) => wrong(value, format!("write {}", one_of(values))),
        ValueType::ManyOf(values) if values.contains(&value) => None,
        ValueType::ManyOf(values) => {
            wrong(value, format!("write {}, each on a separate line `{name}=`", one_of(values)))
        }
    }
}

/// True if Go accepts the value as a regular expression. Syntax that Go accepts and Rust does not is never reported:
/// text between `\\Q` and `\\E`, `\\C`, octal escapes and the flag `U`.
/// Source: Go `regexp/syntax`; kubernetes/cloud-provider-aws `pkg/providers/v1/topology.go#NewInstanceTopologyManager`.
fn is_pattern(value: &str) -> bool {
    let is_of_go = ["\\Q", "\\C", "\\0", "\\1", "(?"].iter().any(|mark| value.contains(mark));
    is_of_go || !matches!(Regex::new(value), Err(regex::Error::Syntax(_)))
}

/// Source: `gopkg.in/gcfg.v1` `types/bool.go`.
fn is_switch(value: &str) -> bool {
    ["true", "yes", "on", "1", "false", "no", "off", "0"].iter().any(|one| one.eq_ignore_ascii_case(value))
}

/// Source: `gopkg.in/gcfg.v1` `types/int.go`: decimal, or hexadecimal after `0x`.
fn is_number(value: &str) -> bool {
    let value = value.trim();
    let (is_negative, has_plus, digits) = match (value.strip_prefix('-'), value.strip_prefix('+')) {
        (Some(digits), _) => (true, false, digits),
        (None, Some(digits)) => (false, true, digits),
        (None, None) => (false, false, value),
    };
    let found = match digits.strip_prefix("0x").filter(|_| !has_plus) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse::<u32>(),
    };
    let limit = i32::MAX.unsigned_abs() + u32::from(is_negative);
    !digits.starts_with('+') && found.is_ok_and(|number| number <= limit)
}

/// Checks the cluster id that the configuration names.
fn clusters(context: &KubernetesContext<'_>, config: &CloudConfig) -> Option<Violation> {
    const NAMES: [&str; 2] = ["KubernetesClusterID", "KubernetesClusterTag"];
    let [id, tag] = NAMES.map(|name| config.global(name));
    let span = |name: &str| {
        let sections = config.sections.iter().flatten();
        let found = sections.flat_map(|section| &section.variables).filter(|one| one.name.eq_ignore_ascii_case(name));
        found.map(|one| one.span).next_back()
    };
    if let (Some(id), Some(tag)) = (id, tag)
        && id != tag
    {
        let [shown_id, shown_tag] = [id, tag].map(text::printable);
        let message = format!("`KubernetesClusterID` is `{shown_id}`, but `KubernetesClusterTag` is `{shown_tag}`");
        let fix = "keep `KubernetesClusterID` alone";
        return Some(at(config, Severity::Error, span(NAMES[1])?, "cluster", message, fix));
    }
    let name = if id.is_some() { NAMES[0] } else { NAMES[1] };
    let named = id.or(tag).filter(|named| context.cloud.is_some() && *named != context.cluster_id)?;
    let message = format!(
        "`{name}` is `{}`, but the audited cluster is `{}`",
        text::printable(named),
        text::printable(context.cluster_id)
    );
    let fix = "write the id from the cluster's tags: the controller looks for no other";
    let impact = "the controller finds none of the cluster's nodes, subnets and security groups by their tags";
    Some(at(config, Severity::Error, span(name)?, "cluster", message, fix).impact(Some(impact.to_owned())))
}

/// Reports service overrides that are incomplete or repeated.
fn overrides(config: &CloudConfig, sections: &[Section]) -> Vec<Violation> {
    // Sections with the same name are merged.
    let mut all: BTreeMap<&str, (Span, BTreeMap<String, &str>)> = BTreeMap::new();
    for section in sections.iter().filter(|section| cloud_config::is_override(section) == Some(true)) {
        let (_, values) = all.entry(&section.subsection).or_insert((section.span, BTreeMap::new()));
        for variable in &section.variables {
            let value = variable.value.as_deref().unwrap_or_default().trim();
            values.insert(variable.name.to_ascii_lowercase(), value);
        }
    }
    let mut found = Vec::new();
    let mut known: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for (name, (span, values)) in all {
        let value = |of: &str| values.get(&of.to_ascii_lowercase()).copied().filter(|value| !value.is_empty());
        let shown = text::printable(name);
        if let Some(missing) = REQUIRED.into_iter().find(|required| value(required).is_none()) {
            let message = format!("the override `{shown}` lacks `{missing}`");
            found.push(at(
                config,
                Severity::Error,
                span,
                &format!("{name} {missing}"),
                message,
                format!("add `{missing}`"),
            ));
            continue;
        }
        let (Some(service), Some(region)) = (value("Service"), value("Region")) else { continue };
        if let Some(first) = known.insert((service, region), name) {
            let message = format!(
                "the overrides `{}` and `{shown}` are both for `{}` in `{}`",
                text::printable(first),
                text::printable(service),
                text::printable(region)
            );
            found.push(at(config, Severity::Error, span, &format!("{name} twice"), message, "keep one of them"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: ConfigMap
metadata:
  name: cloud-config
data:
  cloud.conf: |
    [Global]
    DisableSecurityGroupIngress = perhaps
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "= perhaps", "= true");
    }
}
