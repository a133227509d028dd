use crate::kubernetes::arguments::Component;
use crate::kubernetes::{DocumentKind, Evidence, MIGRATION_LOCK, Object};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_arguments, migration};

pub(super) const RULE: Rule = Rule {
    id: "leader-migration-lock-denied",
    title: "kube-controller-manager may not write the migration lock",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Cluster],
    condition: "kube-controller-manager works for AWS with `enable-leader-migration`, but no role bound to `system:kube-controller-manager` lets it update the lease `cloud-provider-extraction-migration` in kube-system. Requires the roles and bindings of kube-system.",
    impact: "nothing gets the lock: the service, route and node lifecycle controllers run nowhere",
    fix: "Add a rule for the lease to the Role `system::leader-locking-kube-controller-manager`; `tagaudit migrate` prints the command.",
    sources: &[r#"Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager""#],
    example: "kube-controller-manager uses the lock `cloud-provider-extraction-migration`, but may not get or update it",
    ..Rule::evidence(AWS, check)
};

const USER: &str = "system:kube-controller-manager";

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let uses_lock = for_each_arguments(context, |arguments| {
        let given = arguments.component_arguments(Component::ControllerManager);
        migration(&given)?;
        let mut old = given.iter().rev().filter(|argument| argument.name == "cloud-provider");
        old.next().filter(|found| found.value == "aws")?;
        let message = format!("kube-controller-manager uses the lock `{MIGRATION_LOCK}`, but may not get or update it");
        let fix = Fix::none("add the lease to the Role `system::leader-locking-kube-controller-manager`");
        let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
        Some(Violation::new(Severity::Error, resource, message, fix))
    });
    let Ok(mut violations) = uses_lock.outcome else { return uses_lock };
    let checked = uses_lock.checked.unwrap_or_default();
    match may_update(context.evidence) {
        None => CheckResult::not_applicable("the roles of kube-controller-manager were not given"),
        Some(true) => CheckResult::counted(checked, []),
        Some(false) => {
            violations.truncate(1);
            CheckResult::counted(checked, violations)
        }
    }
}

/// `Some(true)` if kube-controller-manager may get and update the lock; `None` if not all of its roles are known.
fn may_update(evidence: &Evidence) -> Option<bool> {
    let is_user =
        |subject: Object<'_>| subject.text(&["kind"]) == Some("User") && subject.text(&["name"]) == Some(USER);
    let bindings: Vec<_> = evidence
        .documents_by_kind(DocumentKind::RoleBinding)
        .filter(|binding| {
            let namespace = binding.object().text(&["metadata", "namespace"]);
            binding.kind_name() == "ClusterRoleBinding" || namespace == Some("kube-system")
        })
        .filter(|binding| binding.object().items(&["subjects"]).any(is_user))
        .collect();
    // Every cluster has such a binding: without one, the bindings were not given.
    bindings.first()?;
    let (mut may_get, mut may_update) = (false, false);
    for binding in bindings {
        let object = binding.object();
        let (kind, name) = (object.text(&["roleRef", "kind"])?, object.text(&["roleRef", "name"])?);
        let role = evidence
            .documents_by_kind(DocumentKind::Role)
            .find(|role| role.kind_name() == kind && role.object().text(&["metadata", "name"]) == Some(name))?;
        may_get |= role.object().items(&["rules"]).any(|rule| allows(rule, "get"));
        may_update |= role.object().items(&["rules"]).any(|rule| allows(rule, "update"));
    }
    Some(may_get && may_update)
}

/// True if a rule allows a verb on the lease of the migration.
fn allows(rule: Object<'_>, verb: &str) -> bool {
    let values = |key: &'static str| rule.items(&[key]).filter_map(|value| value.node.as_str());
    let has = |key: &'static str, wanted: &str| values(key).any(|value| value == "*" || value == wanted);
    let mut names = values("resourceNames").peekable();
    let is_named = names.peek().is_none() || names.any(|name| name == MIGRATION_LOCK);
    has("apiGroups", "coordination.k8s.io") && has("resources", "leases") && has("verbs", verb) && is_named
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
spec:
  rkeConfig:
    machineGlobalConfig:
      kube-controller-manager-arg:
      - cloud-provider=aws
      - enable-leader-migration
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: system::leader-locking-kube-controller-manager
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  namespace: kube-system
roleRef:
  kind: Role
  name: system::leader-locking-kube-controller-manager
subjects:
- kind: User
  name: system:kube-controller-manager
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
            "name: system::leader-locking-kube-controller-manager\n---",
            "name: system::leader-locking-kube-controller-manager\nrules:\n- apiGroups: [\"*\"]\n  resources: [\"*\"]\n  verbs: [\"*\"]\n---",
        );
    }
}
