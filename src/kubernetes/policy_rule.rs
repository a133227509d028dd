//! Rules of roles.

use super::source::Object;

/// A rule of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
}

impl PolicyRule {
    pub(super) fn read(rule: Object<'_>) -> Self {
        let texts = |key: &str| rule.items(&[key]).filter_map(|value| value.node.as_str().map(str::to_owned)).collect();
        Self { groups: texts("apiGroups"), resources: texts("resources"), verbs: texts("verbs") }
    }

    /// True if it allows a verb on a resource of a group.
    /// Source: kubernetes/kubernetes `plugin/pkg/auth/authorizer/rbac/rbac.go#RuleAllows`.
    #[must_use]
    pub fn allows(&self, verb: &str, group: &str, resource: &str) -> bool {
        let has = |values: &[String], wanted: &str| values.iter().any(|value| value == "*" || value == wanted);
        let part = resource.split_once('/').map(|(_, part)| format!("*/{part}"));
        has(&self.verbs, verb)
            && has(&self.groups, group)
            && (has(&self.resources, resource) || part.is_some_and(|part| self.resources.contains(&part)))
    }
}
