//! Permissions of a `ServiceAccount`: the rules of all roles bound to it, as the API server's authorizer evaluates
//! them.

use super::document::{Document, DocumentKind};
use super::evidence::Evidence;
use super::policy_rule::PolicyRule;
use super::source::Object;

/// Permissions of a `ServiceAccount`, as far as the evidence covers them.
#[derive(Debug)]
pub struct Rights<'e> {
    /// Rules with the namespace in which they apply; `None` means everywhere.
    rules: Vec<(Option<&'e str>, PolicyRule)>,
    /// True if a bound role is not part of the evidence: then no permission can be reported as missing.
    pub has_unknown: bool,
    /// Bindings that name the account.
    pub bindings: Vec<&'e Document>,
}

impl<'e> Rights<'e> {
    /// Collects the permissions of the `ServiceAccount` `name` in a namespace.
    #[must_use]
    pub fn new(evidence: &'e Evidence, namespace: &str, name: &str) -> Self {
        let mut rights = Self { rules: Vec::new(), has_unknown: false, bindings: Vec::new() };
        for binding in evidence.documents_by_kind(DocumentKind::RoleBinding) {
            let object = binding.object();
            let is_subject = |subject: Object<'_>| {
                let text = |key: &str| subject.text(&[key]).unwrap_or_default();
                match text("kind") {
                    "ServiceAccount" => text("name") == name && text("namespace") == namespace,
                    "Group" => {
                        ["system:serviceaccounts", "system:authenticated"].contains(&text("name"))
                            || text("name").strip_prefix("system:serviceaccounts:") == Some(namespace)
                    }
                    "User" => text("name") == format!("system:serviceaccount:{namespace}:{name}"),
                    _ => false,
                }
            };
            if !object.items(&["subjects"]).any(is_subject) {
                continue;
            }
            rights.bindings.push(binding);
            let own = object.text(&["metadata", "namespace"]);
            let holds_in =
                if binding.kind_name() == "ClusterRoleBinding" { None } else { Some(own.unwrap_or_default()) };
            let role = (object.text(&["roleRef", "kind"]), object.text(&["roleRef", "name"]));
            match find(evidence, role, own) {
                // The API server fills in the rules of an aggregated role.
                Some(role)
                    if role.node.get("aggregationRule").is_some()
                        && role.object().items(&["rules"]).next().is_none() =>
                {
                    rights.has_unknown = true;
                }
                Some(role) => {
                    let rules = role.object().items(&["rules"]);
                    rights.rules.extend(rules.map(|rule| (holds_in, PolicyRule::read(rule))));
                }
                None => rights.has_unknown = true,
            }
        }
        rights
    }

    /// True if an action is allowed in a namespace, or everywhere if `namespace` is `None`.
    #[must_use]
    pub fn allows(&self, verb: &str, group: &str, resource: &str, namespace: Option<&str>) -> bool {
        let holds = |holds_in: Option<&str>| holds_in.is_none_or(|holds_in| namespace == Some(holds_in));
        self.rules.iter().any(|(holds_in, rule)| holds(*holds_in) && rule.allows(verb, group, resource))
    }

    /// Adds rules that apply everywhere.
    #[must_use]
    pub fn with(mut self, rules: &[PolicyRule]) -> Self {
        self.rules.extend(rules.iter().map(|rule| (None, rule.clone())));
        self
    }

    /// True if every action is allowed everywhere.
    #[must_use]
    pub fn allows_all(&self) -> bool {
        self.allows("*", "*", "*", None)
    }
}

/// Role that a reference names by kind and name, for a binding in a namespace.
fn find<'e>(
    evidence: &'e Evidence,
    role: (Option<&str>, Option<&str>),
    namespace: Option<&str>,
) -> Option<&'e Document> {
    evidence.documents_by_kind(DocumentKind::Role).find(|document| {
        let object = document.object();
        Some(document.kind_name()) == role.0
            && object.text(&["metadata", "name"]) == role.1
            && (role.0 == Some("ClusterRole") || object.text(&["metadata", "namespace"]) == namespace)
    })
}
