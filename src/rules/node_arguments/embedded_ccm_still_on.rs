use std::collections::BTreeMap;

use crate::controller::ControllerVersion;
use crate::kubernetes::arguments::{Component, Distribution, NodeArguments, Started};
use crate::kubernetes::{Place, WorkloadKind};
use crate::rules::ANY_CLOUD;
use crate::rules::cluster_configuration::is_declared_for;
use crate::rules::prelude::*;

use super::{UNSAID, configuration_finding, nodes_finding};

pub(super) const RULE: Rule = Rule {
    id: "embedded-ccm-still-on",
    title: "the distribution's own cloud controller runs alongside another one",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning where RKE2 still switches its own off, unless --target-kubernetes changes that",
    ),
    resources: &[ResourceKind::Cluster, ResourceKind::ClusterConfig],
    condition: "Servers of RKE2 or K3s request another cloud controller (`cloud-provider-name` of RKE2, or `cloud-provider=external` in `kubelet-arg`), or another one runs or is declared for the same cluster, and the servers do not set `disable-cloud-controller: true`. RKE2 switched its own off if a name was given, until 1.35; for `rancher-vsphere` and `harvester` it still does.",
    impact: "the distribution's controller gives new Nodes `rke2://` or `k3s://` providerIDs, which cannot be changed: such a Node has to be replaced",
    fix: "Set `disable-cloud-controller: true` in the configuration of all servers, including those that run only etcd.",
    sources: &[
        "https://github.com/rancher/rke2/issues/10346",
        "rancher/rke2 pkg/rke2/rke2_linux.go#initExecutor",
        "https://github.com/k3s-io/k3s/issues/1049",
        "https://github.com/rancher/rancher/issues/55579",
    ],
    example: "3 servers rely on RKE2 to switch its own cloud controller off, which it does until 1.35",
    ..Rule::evidence(ANY_CLOUD, check)
};

/// First RKE2 version with its own cloud controller, and first that leaves it on.
const FIRST: ControllerVersion = ControllerVersion::new(1, 21, 3);
const LEFT_ON: ControllerVersion = ControllerVersion::new(1, 36, 0);

/// Names of providers that the distribution bundles.
const BUNDLED: [&str; 3] = ["rke2", "rancher-vsphere", "harvester"];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let all = context.evidence.arguments();
    let distributions = [Distribution::Rke2, Distribution::K3s];
    let servers: Vec<&NodeArguments> = all
        .iter()
        .filter(|arguments| arguments.is_server == Some(true) && distributions.contains(&arguments.distribution))
        .filter(|arguments| !arguments.is_part)
        .collect();
    if servers.is_empty() {
        return CheckResult::not_applicable(UNSAID);
    }
    let mut found: BTreeMap<(Distribution, RequestedState), Vec<(&NodeArguments, When)>> = BTreeMap::new();
    let mut violations = Vec::new();
    for arguments in &servers {
        let is_beside = is_beside(context, arguments);
        let Some((asked, when)) = of_server(arguments, context.evidence.target.kubernetes, is_beside) else { continue };
        match &arguments.started {
            Started::Node(_) => found.entry((arguments.distribution, asked)).or_default().push((arguments, when)),
            Started::Declared { place, .. } => {
                let name = arguments.started.name();
                violations.push(of_declared(context, arguments, (&name, place), asked, when));
            }
        }
    }
    violations.extend(found.into_iter().map(|((distribution, asked), servers)| {
        let when = servers.iter().map(|(_, when)| *when).max().unwrap_or(When::Now);
        let nodes: Vec<&NodeArguments> = servers.into_iter().map(|(arguments, _)| arguments).collect();
        let who = text::count(nodes.len(), "server");
        let message = told(&who, nodes.len() == 1, distribution.name(), asked, when);
        let name = distribution.name();
        nodes_finding(context, when.severity(), message, fix(when), &nodes)
            .with_respect_to(Key::from_parts([name, asked.key()]))
    }));
    let is_off = servers.iter().all(|arguments| arguments.is_on("disable-cloud-controller"));
    let has_workloads = context.evidence.has_all_workloads(&[WorkloadKind::DaemonSet, WorkloadKind::Deployment]);
    let why = (!is_off && !has_workloads)
        .then_some("another cloud controller may run: DaemonSets and Deployments were not given");
    CheckResult::counted(servers.len(), violations).unless(why)
}

/// True if another cloud controller is a workload of the server's cluster, or is declared for the same cluster.
fn is_beside(context: &KubernetesContext<'_>, arguments: &NodeArguments) -> bool {
    let controllers = context.evidence.controllers();
    match &arguments.started {
        Started::Node(_) => controllers.iter().any(|controller| controller.chart.is_none()),
        Started::Declared { place, .. } => is_declared_for(controllers.iter(), place),
    }
}

/// Time from which both controllers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    /// After an upgrade that is not planned yet.
    Later,
    /// After the planned upgrade.
    AtTarget(ControllerVersion),
    /// Both run already.
    Now,
}

impl When {
    fn severity(self) -> Severity {
        if self == Self::Later { Severity::Warning } else { Severity::Error }
    }
}

/// Message of a finding on some servers.
fn told(who: &str, is_one: bool, distribution: &str, asked: RequestedState, when: When) -> String {
    let verb = |one: &'static str, several: &'static str| if is_one { one } else { several };
    if when == When::Now {
        let run = verb("runs", "run");
        return match asked {
            RequestedState::ByName | RequestedState::ByKubelet => {
                let ask = verb("requests", "request");
                format!("{who} {ask} another cloud controller, but also {run} {distribution}'s own")
            }
            RequestedState::Beside => {
                format!("{who} {run} {distribution}'s own cloud controller alongside another one")
            }
        };
    }
    let rely = verb("relies", "rely");
    let target = match when {
        When::AtTarget(target) => format!(", and the target is {target}"),
        When::Later | When::Now => String::new(),
    };
    format!("{who} {rely} on {distribution} to switch its own cloud controller off, which it does until 1.35{target}")
}

fn fix(when: When) -> Fix {
    let before = if when == When::Now { "" } else { " before the upgrade to 1.36" };
    Fix::none(format!("set `disable-cloud-controller: true` in the configuration of all servers{before}"))
}

/// Finding on a configuration of servers.
fn of_declared(
    context: &KubernetesContext<'_>,
    arguments: &NodeArguments,
    (name, place): (&str, &Place),
    asked: RequestedState,
    when: When,
) -> Violation {
    let message = told("servers", false, arguments.distribution.name(), asked, when);
    let at = match asked {
        RequestedState::ByName => arguments.place("cloud-provider-name"),
        RequestedState::ByKubelet => {
            let kubelet = arguments.component_arguments(Component::Kubelet);
            kubelet.iter().rfind(|argument| argument.name == "cloud-provider").and_then(|argument| argument.place)
        }
        RequestedState::Beside => None,
    };
    let violation = configuration_finding(context, when.severity(), name, message, fix(when));
    violation.with_respect_to(asked.key()).at(at.unwrap_or(place))
}

/// Evidence that a server has another cloud controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RequestedState {
    ByName,
    ByKubelet,
    Beside,
}

impl RequestedState {
    /// Part of a finding's identity.
    fn key(self) -> &'static str {
        match self {
            Self::ByName => "cloud-provider-name",
            Self::ByKubelet => "kubelet",
            Self::Beside => "controller",
        }
    }
}

/// Evidence that a server has another cloud controller, and time from which both run; `None` if both never run.
fn of_server(
    arguments: &NodeArguments,
    target: Option<ControllerVersion>,
    is_beside: bool,
) -> Option<(RequestedState, When)> {
    if arguments.is_on("disable-cloud-controller") {
        return None;
    }
    let name = arguments.cloud_provider_name().filter(|_| arguments.distribution == Distribution::Rke2);
    if name.is_some_and(|name| BUNDLED.contains(&name)) {
        return None;
    }
    let is_external = arguments.component_value(Component::Kubelet, "cloud-provider") == Some("external");
    let version = arguments.version;
    match (arguments.distribution, name, target.filter(|target| *target >= LEFT_ON)) {
        (Distribution::Rke2, _, _) if version.is_some_and(|version| version < FIRST) => None,
        (Distribution::Rke2, Some(_), _) if version.is_some_and(|version| version >= LEFT_ON) => {
            Some((RequestedState::ByName, When::Now))
        }
        (Distribution::Rke2, Some(_), Some(target)) => Some((RequestedState::ByName, When::AtTarget(target))),
        (Distribution::Rke2, Some(_), None) => Some((RequestedState::ByName, When::Later)),
        _ if is_external => Some((RequestedState::ByKubelet, When::Now)),
        _ => is_beside.then_some((RequestedState::Beside, When::Now)),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
cloud-provider-name: aws
kubelet-arg:
- cloud-provider=external
server: https://10.0.0.1:9345
flannel-backend: vxlan
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "flannel-backend: vxlan", "disable-cloud-controller: true");
    }
}
