use crate::controller::ControllerVersion;
use crate::kubernetes::{Document, DocumentKind, Object, Place};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "leader-migration-config-invalid",
    title: "the leader migration configuration is invalid",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A `LeaderMigrationConfiguration` has no `leaderName`, a different one than the configuration next to it, or a `resourceLock` other than `leases` or `endpoints`. Or a controller has no name or no component, a component other than the two (or `*`, from 1.22 on), or was never run by kube-controller-manager (`cloud-node`). Or Kubernetes does not have the version of the configuration yet: `v1beta1` came with 1.22, and `v1` with 1.24.",
    impact: "the component refuses the file, or the two sides wait for different locks and both work, or neither does",
    fix: "Use the same `leaderName` on both sides, `leases`, and the controllers `route`, `service` and `cloud-node-lifecycle`. From 1.22 on it works without a file.",
    sources: &[
        "kubernetes/controller-manager config/types.go#LeaderMigrationConfiguration",
        "kubernetes/controller-manager pkg/leadermigration/config",
    ],
    example: "`leaderName` is `a` here and `b` in LeaderMigrationConfiguration of ccm.yaml",
    ..Rule::evidence(AWS, check)
};

/// Controllers that can migrate: those that kube-controller-manager ran, under both of their names.
/// Source: kubernetes/controller-manager `pkg/leadermigration/config/default.go`; kubernetes/kubernetes
/// `cmd/kube-controller-manager/names/controller_names.go`.
const CONTROLLERS: [&str; 8] = [
    "service",
    "route",
    "cloud-node-lifecycle",
    "nodeipam",
    "service-lb-controller",
    "node-route-controller",
    "cloud-node-lifecycle-controller",
    "node-ipam-controller",
];

/// Components that can run the controllers.
const COMPONENTS: [&str; 3] = ["kube-controller-manager", "cloud-controller-manager", "*"];

/// Versions of the configuration, each with the first minor version of Kubernetes that supports it.
/// Source: kubernetes/controller-manager `pkg/leadermigration/config/config.go`, by its tags.
const VERSIONS: [(&str, u32); 2] =
    [("controllermanager.config.k8s.io/v1beta1", 22), ("controllermanager.config.k8s.io/v1", 24)];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let minor = context.evidence.kubernetes_version().and_then(ControllerVersion::minor);
    let all: Vec<&Document> = context.evidence.documents_by_kind(DocumentKind::LeaderMigration).collect();
    let name = |document: &Document| document.object().text(&["leaderName"]).unwrap_or_default().to_owned();
    for_each_document(context, DocumentKind::LeaderMigration, |document| {
        let object = document.object();
        let called = format!("{} of {}", document.name, document.source.file);
        let mut found: Vec<Violation> = Vec::new();
        let mut say = |place: &Place, what: &str, message: String, fix: &str| {
            found.push(on(&called, Severity::Error, place, what, message, fix));
        };
        let version = object.located(&["apiVersion"]);
        if let Some((version, minor)) = version.zip(minor)
            && let Some((_, first)) = VERSIONS.iter().find(|(known, first)| *known == version.value && minor < *first)
        {
            let message = format!("`{}` requires Kubernetes 1.{first}, but this is 1.{minor}", version.value);
            let fix = "write `apiVersion: controllermanager.config.k8s.io/v1alpha1`";
            say(&version.place, "apiVersion", message, fix);
        }
        let is_version = |version: &str| {
            version == "controllermanager.config.k8s.io/v1alpha1" || VERSIONS.iter().any(|(known, _)| *known == version)
        };
        if let Some(version) = object.located(&["apiVersion"]).filter(|version| !is_version(&version.value)) {
            let message = format!("`{}` is not a version of this configuration", text::printable(&version.value));
            say(&version.place, "apiVersion", message, "write `apiVersion: controllermanager.config.k8s.io/v1`");
        }
        let own = name(document);
        let place = object.at(&["leaderName"]).map_or_else(|| object.head(), Object::place);
        let other = all.iter().find(|other| !name(other).is_empty() && name(other) != own);
        if own.is_empty() {
            let fix = "write `leaderName: cloud-provider-extraction-migration` on both sides";
            say(&place, "leaderName", "`leaderName` is missing: it is the name of the lock".to_owned(), fix);
        } else if let Some(other) = other {
            let message = format!(
                "`leaderName` is `{}` here and `{}` in {} of {}",
                text::printable(&own),
                text::printable(&name(other)),
                text::printable(&other.name),
                text::printable(&other.source.file)
            );
            say(&place, "leaderName", message, "use the same name on both sides");
        }
        if let Some(lock) =
            object.located(&["resourceLock"]).filter(|lock| !["leases", "endpoints"].contains(&&*lock.value))
        {
            let message = format!("`resourceLock` is `{}`, which no component supports", text::printable(&lock.value));
            say(&lock.place, "resourceLock", message, "write `resourceLock: leases`");
        }
        for leader in object.items(&["controllerLeaders"]) {
            let value = |key: &str| leader.text(&[key]).filter(|text| !text.is_empty());
            match (value("name"), value("component")) {
                (Some(controller), Some(_)) if !CONTROLLERS.contains(&controller) => {
                    let shown = text::printable(controller);
                    let message = format!("kube-controller-manager never ran a controller `{shown}`");
                    say(&leader.place(), controller, message, "name `route`, `service` or `cloud-node-lifecycle`");
                }
                (Some(controller), Some(component)) if !COMPONENTS.contains(&component) => {
                    let message = format!("`{}` is not a component that runs it", text::printable(component));
                    let fix = "write `cloud-controller-manager`, `kube-controller-manager` or `\"*\"`";
                    say(&leader.place(), &format!("{controller} {component}"), message, fix);
                }
                // Source: kubernetes/controller-manager `pkg/leadermigration/migrator.go`, at v0.21.0 and v0.22.0.
                (Some(controller), Some("*")) if minor.is_some_and(|minor| minor < 22) => {
                    let message =
                        "`component: \"*\"` requires Kubernetes 1.22: earlier versions have no such component"
                            .to_owned();
                    let fix = "write `kube-controller-manager` on the old side, and `cloud-controller-manager` on the new one";
                    say(&leader.place(), &format!("{controller} *"), message, fix);
                }
                (Some(_), Some(_)) => {}
                _ => {
                    let message = "a controller has no name or no component".to_owned();
                    say(&leader.place(), "controllerLeaders", message, "write `name` and `component`");
                }
            }
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "LeaderMigrationConfiguration\n",
            "LeaderMigrationConfiguration\nleaderName: cloud-provider-extraction-migration\n",
        );
    }
}
