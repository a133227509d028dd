//! Kubernetes permissions that reading a cluster needs: exactly those of [`List::ALL`].

use serde_json::{Value, json};

use crate::kubernetes::List;

/// Name of the roles and bindings.
const NAME: &str = "tagaudit";

/// A right that one question needs, and no audit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RightToAsk {
    pub(crate) verb: &'static str,
    /// API group; empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) purpose: &'static str,
}

const fn right(verb: &'static str, group: &'static str, resource: &'static str, purpose: &'static str) -> RightToAsk {
    RightToAsk { verb, group, resource, purpose }
}

/// Further rights of `tagaudit why pod` and `tagaudit why service`.
pub(crate) const WHY: [RightToAsk; 4] = [
    right("get", "", "pods", "the Pod that is named: its status"),
    right("get", "", "persistentvolumeclaims", "the claims of its volumes"),
    right("list", "", "events", "the events about the Pod and its claims"),
    right("list", "discovery.k8s.io", "endpointslices", "the Nodes with a ready Pod of the Service that is named"),
];

/// Roles and bindings for a `ServiceAccount`, as YAML; `why` adds [`WHY`].
#[must_use]
pub(crate) fn kubernetes_roles(namespace: &str, name: &str, why: bool) -> String {
    let mut namespaces: Vec<Option<&str>> = List::ALL.iter().map(|list| list.namespace()).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    let documents = namespaces.into_iter().flat_map(|of| {
        let prefix = if of.is_some() { "" } else { "Cluster" };
        let metadata = |of: Option<&str>| match of {
            Some(of) => json!({"name": NAME, "namespace": of}),
            None => json!({"name": NAME}),
        };
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": format!("{prefix}Role"),
            "metadata": metadata(of),
            "rules": with_why(rules(of), why && of.is_none()),
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": format!("{prefix}RoleBinding"),
            "metadata": metadata(of),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": format!("{prefix}Role"), "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        });
        [role, binding]
    });
    let texts = documents.map(|document| serde_saphyr::to_string(&document).unwrap_or_default());
    texts.collect::<Vec<String>>().join("---\n")
}

fn with_why(mut rules: Vec<Value>, why: bool) -> Vec<Value> {
    let further = WHY.iter().filter(|_| why);
    rules
        .extend(further.map(|one| json!({"apiGroups": [one.group], "resources": [one.resource], "verbs": [one.verb]})));
    rules
}

/// Rules of a namespace, or of the whole cluster: one for each API group, and one for each list that is read by name.
fn rules(namespace: Option<&str>) -> Vec<Value> {
    let lists: Vec<List> = List::ALL.into_iter().filter(|list| list.namespace() == namespace).collect();
    let mut groups: Vec<&str> = lists.iter().map(|list| list.group()).collect();
    groups.sort_unstable();
    groups.dedup();
    let of_group = groups.into_iter().filter_map(|group| {
        let resources = lists.iter().filter(|list| list.group() == group && list.names().is_empty());
        let resources: Vec<&str> = resources.map(|list| list.resource()).collect();
        (!resources.is_empty()).then(|| json!({"apiGroups": [group], "resources": resources, "verbs": ["list"]}))
    });
    let by_name = lists.iter().filter(|list| !list.names().is_empty()).map(|list| {
        json!({
            "apiGroups": [list.group()],
            "resources": [list.resource()],
            "resourceNames": list.names(),
            "verbs": [list.verb()],
        })
    });
    of_group.chain(by_name).collect()
}
