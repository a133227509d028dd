use std::collections::BTreeMap;

use crate::controller::ControllerVersion;
use crate::finding::{Applicability, Fix, Severity};
use crate::kubernetes::Place;
use crate::kubernetes::arguments::{Component, Distribution, NodeArguments, Started};
use crate::resource::ResourceKind;
use crate::rules::{ANY_CLOUD, Check, Counted, KubernetesContext, Rule, RuleSeverity, Subjects, Violation};
use crate::text;

use super::{UNSAID, of_configuration, of_nodes};

pub(super) const RULE: Rule = Rule {
    id: "embedded-ccm-still-on",
    title: "the distribution's own cloud controller runs beside another one",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning where RKE2 still switches its own off, and no --target-kubernetes says otherwise",
    ),
    resources: &[ResourceKind::Cluster, ResourceKind::ClusterConfig],
    condition: "Servers of RKE2 or K3s ask for another cloud controller (`cloud-provider-name` of RKE2, or `cloud-provider=external` in `kubelet-arg`) and do not have `disable-cloud-controller: true`. RKE2 switched its own off wherever a name was given, until 1.35; `rancher-vsphere` and `harvester` still do.",
    impact: "the distribution's controller gives new Nodes `rke2://` or `k3s://` providerIDs, which cannot be changed: such a Node has to be replaced",
    fix: "Set `disable-cloud-controller: true` in the configuration of all servers, those that run only etcd included.",
    applicability: Applicability::None,
    sources: &[
        "https://github.com/rancher/rke2/issues/10346",
        "rancher/rke2 pkg/rke2/rke2_linux.go#initExecutor",
        "https://github.com/k3s-io/k3s/issues/1049",
        "https://github.com/rancher/rancher/issues/55579",
    ],
    example: "3 servers rely on RKE2 to switch its own cloud controller off, which it does until 1.35",
    reads: &[],
    subjects: Subjects::Evidence,
    check: Check::Evidence(ANY_CLOUD, check),
};

/// The first version of RKE2 with a cloud controller of its own, and the first that leaves it on.
const FIRST: ControllerVersion = ControllerVersion::new(1, 21, 3);
const LEFT_ON: ControllerVersion = ControllerVersion::new(1, 36, 0);

/// Names of providers that the distribution brings along.
const BUNDLED: [&str; 3] = ["rke2", "rancher-vsphere", "harvester"];

fn check(context: &KubernetesContext<'_>) -> Counted {
    let all = context.evidence.arguments();
    let distributions = [Distribution::Rke2, Distribution::K3s];
    let servers: Vec<&NodeArguments> = all
        .iter()
        .filter(|arguments| arguments.is_server == Some(true) && distributions.contains(&arguments.distribution))
        .collect();
    if servers.is_empty() {
        return Counted::not_applicable(UNSAID);
    }
    let mut found: BTreeMap<(Distribution, Asked), Vec<(&NodeArguments, Severity)>> = BTreeMap::new();
    let mut violations = Vec::new();
    for arguments in &servers {
        let Some((asked, severity)) = of_server(arguments, context.evidence.target.kubernetes) else { continue };
        match &arguments.started {
            Started::Node(_) => found.entry((arguments.distribution, asked)).or_default().push((arguments, severity)),
            Started::Declared { name, place } => {
                violations.push(of_declared(context, arguments, (name, place), asked, severity));
            }
        }
    }
    violations.extend(found.into_iter().map(|((distribution, asked), servers)| {
        let severity = servers.iter().map(|(_, severity)| *severity).max().unwrap_or(Severity::Error);
        let nodes: Vec<&NodeArguments> = servers.into_iter().map(|(arguments, _)| arguments).collect();
        let (servers, is_one, name) = (text::count(nodes.len(), "server"), nodes.len() == 1, distribution.name());
        let message = if severity == Severity::Error {
            let (ask, run) = if is_one { ("asks", "runs") } else { ("ask", "run") };
            format!("{servers} {ask} for another cloud controller, and {run} {name}'s own as well")
        } else {
            let rely = if is_one { "relies" } else { "rely" };
            format!("{servers} {rely} on {name} to switch its own cloud controller off, which it does until 1.35")
        };
        of_nodes(context, severity, message, fix(severity), &nodes).with_respect_to(format!("{name} {asked:?}"))
    }));
    Counted::new(servers.len(), violations)
}

fn fix(severity: Severity) -> Fix {
    let when = if severity == Severity::Error { "" } else { " before the upgrade to 1.36" };
    Fix::none(format!("set `disable-cloud-controller: true` in the configuration of all servers{when}"))
}

/// A configuration of servers.
fn of_declared(
    context: &KubernetesContext<'_>,
    arguments: &NodeArguments,
    (name, place): (&str, &Place),
    asked: Asked,
    severity: Severity,
) -> Violation {
    let distribution = arguments.distribution.name();
    let message = if severity == Severity::Error {
        format!("servers ask for another cloud controller, and run {distribution}'s own as well")
    } else {
        format!("servers rely on {distribution} to switch its own cloud controller off, which it does until 1.35")
    };
    let at = match asked {
        Asked::ByName => arguments.place_of("cloud-provider-name"),
        Asked::ByKubelet => {
            let kubelet = arguments.of_component(Component::Kubelet);
            kubelet.iter().rfind(|argument| argument.name == "cloud-provider").and_then(|argument| argument.place)
        }
    };
    let violation = of_configuration(context, severity, name, message, fix(severity));
    violation.with_respect_to(format!("{asked:?}")).at(at.unwrap_or(place))
}

/// How a server asks for another cloud controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    ByName,
    ByKubelet,
}

/// How one server asks for another cloud controller beside its own, and how bad that is; `None` where it does not.
fn of_server(arguments: &NodeArguments, target: Option<ControllerVersion>) -> Option<(Asked, Severity)> {
    if arguments.is_on("disable-cloud-controller") {
        return None;
    }
    let name = arguments.cloud_provider_name().filter(|_| arguments.distribution == Distribution::Rke2);
    if name.is_some_and(|name| BUNDLED.contains(&name)) {
        return None;
    }
    let is_external = arguments.component_value(Component::Kubelet, "cloud-provider") == Some("external");
    let version = arguments.version;
    match (arguments.distribution, name) {
        (Distribution::Rke2, _) if version.is_some_and(|version| version < FIRST) => None,
        (Distribution::Rke2, Some(_)) if version.is_some_and(|version| version >= LEFT_ON) => {
            Some((Asked::ByName, Severity::Error))
        }
        (Distribution::Rke2, Some(_)) if target.is_some_and(|target| target >= LEFT_ON) => {
            Some((Asked::ByName, Severity::Error))
        }
        (Distribution::Rke2, Some(_)) => Some((Asked::ByName, Severity::Warning)),
        _ => is_external.then_some((Asked::ByKubelet, Severity::Error)),
    }
}
