//! What kubectl prints of a cluster, as far as the rules need it: Nodes and Services. Lists of any kinds are taken; what is of another
//! kind is read over.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::json_input::{self, JsonError};
use crate::nodes::{KubernetesNode, RawNode};

/// A Kubernetes Service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `spec.type`; `ClusterIP` where it is not said.
    pub service_type: String,
    /// `spec.loadBalancerClass`.
    pub load_balancer_class: Option<String>,
}

impl Service {
    /// `NAMESPACE/NAME`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// What was given of a cluster. A list that was not given is not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Nodes, by name.
    pub nodes: Option<Vec<KubernetesNode>>,
    /// Services, by namespace and name.
    pub services: Option<Vec<Service>>,
}

/// Why an input could not be read.
#[derive(Debug, thiserror::Error)]
pub enum KubernetesError {
    /// Not JSON, or not what kubectl prints.
    #[error("`{file}` is not the output of `kubectl get … -o json`: {error}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// What is wrong, and where.
        error: JsonError,
    },
    /// An object that is not what its kind has.
    #[error("`{file}` holds a {kind} that is none: {reason} ({pointer})")]
    Object {
        /// Name of the input.
        file: String,
        /// Kind of the object.
        kind: String,
        /// What is wrong with it.
        reason: String,
        /// JSON pointer of the object.
        pointer: String,
    },
    /// Nothing of it is used.
    #[error("`{file}` holds neither Nodes nor Services")]
    Nothing {
        /// Name of the input.
        file: String,
    },
    /// A list without its items.
    #[error("`{file}` is a `{kind}` without `items`")]
    NoItems {
        /// Name of the input.
        file: String,
        /// Its `kind`.
        kind: String,
    },
    /// A page of a longer list, as the API gives with `limit`: what is not in it is not gone.
    #[error("`{file}` holds the first part of a list only: the rest is at its `metadata.continue`")]
    Partial {
        /// Name of the input.
        file: String,
    },
}

#[derive(Deserialize)]
struct RawService {
    metadata: RawMetadata,
    #[serde(default)]
    spec: RawSpec,
}

#[derive(Deserialize)]
struct RawMetadata {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
struct RawSpec {
    #[serde(default, rename = "type")]
    service_type: Option<String>,
    #[serde(default, rename = "loadBalancerClass")]
    load_balancer_class: Option<String>,
}

impl Evidence {
    /// Reads the output of `kubectl get nodes,services -A -o json`, or any part of it; `file` is only used in errors.
    ///
    /// # Errors
    /// When it is not JSON, or holds neither Nodes nor Services, or one that is none.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, KubernetesError> {
        let value: Value =
            json_input::first(bytes).map_err(|error| KubernetesError::Malformed { file: file.to_owned(), error })?;
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        // Items of a list of one kind do not repeat it.
        let of_list = kind.strip_suffix("List").unwrap_or_default();
        let (items, is_list) = match value {
            Value::Object(mut fields) if kind.ends_with("List") => {
                let next = fields.get("metadata").and_then(|metadata| metadata.get("continue")).and_then(Value::as_str);
                if next.is_some_and(|next| !next.is_empty()) {
                    return Err(KubernetesError::Partial { file: file.to_owned() });
                }
                match fields.remove("items") {
                    Some(Value::Array(items)) => (items, true),
                    _ => return Err(KubernetesError::NoItems { file: file.to_owned(), kind }),
                }
            }
            other => (vec![other], false),
        };
        // A list of one kind was given even where it is empty.
        let mut nodes: Option<Vec<KubernetesNode>> = (of_list == "Node").then(Vec::new);
        let mut services: Option<Vec<Service>> = (of_list == "Service").then(Vec::new);
        for (index, item) in items.into_iter().enumerate() {
            let kind = item.get("kind").and_then(Value::as_str).unwrap_or(of_list).to_owned();
            let pointer = if is_list { format!("/items/{index}") } else { String::new() };
            match kind.as_str() {
                "Node" => {
                    nodes.get_or_insert_default().push(object::<RawNode>(file, &kind, item, pointer)?.into());
                }
                "Service" => {
                    services.get_or_insert_default().push(object::<RawService>(file, &kind, item, pointer)?.into());
                }
                _ => {}
            }
        }
        if nodes.is_none() && services.is_none() {
            return Err(KubernetesError::Nothing { file: file.to_owned() });
        }
        if let Some(nodes) = &mut nodes {
            nodes.sort_by(|a, b| a.name.cmp(&b.name));
        }
        if let Some(services) = &mut services {
            services.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        }
        Ok(Self { nodes, services })
    }

    /// The same with what another input holds.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if let Some(nodes) = other.nodes {
            let all = self.nodes.get_or_insert_default();
            all.extend(nodes);
            all.sort_by(|a, b| a.name.cmp(&b.name));
            all.dedup();
        }
        if let Some(services) = other.services {
            let all = self.services.get_or_insert_default();
            all.extend(services);
            all.sort_by(|a, b| (&a.namespace, &a.name, &a.uid).cmp(&(&b.namespace, &b.name, &b.uid)));
            all.dedup();
        }
        self
    }
}

/// An object of a kind, whose place is only used in the error.
fn object<T: DeserializeOwned>(file: &str, kind: &str, item: Value, pointer: String) -> Result<T, KubernetesError> {
    serde_json::from_value(item).map_err(|error| KubernetesError::Object {
        file: file.to_owned(),
        kind: kind.to_owned(),
        reason: error.to_string(),
        pointer,
    })
}

impl From<RawService> for Service {
    fn from(raw: RawService) -> Self {
        Self {
            namespace: raw.metadata.namespace,
            name: raw.metadata.name,
            uid: raw.metadata.uid,
            annotations: raw.metadata.annotations,
            service_type: raw.spec.service_type.unwrap_or_else(|| "ClusterIP".to_owned()),
            load_balancer_class: raw.spec.load_balancer_class,
        }
    }
}

/// Whether Services are those of all namespaces: every cluster has `default/kubernetes`, which its API server makes.
/// Source: kubernetes/kubernetes `pkg/controlplane/controller/kubernetesservice/controller.go`.
#[must_use]
pub fn is_of_all_namespaces(services: &[Service]) -> bool {
    services.iter().any(|service| service.namespace == "default" && service.name == "kubernetes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Evidence, KubernetesError> {
        Evidence::parse("f", text.as_bytes())
    }

    const SERVICE: &str =
        r#"{"kind":"Service","metadata":{"name":"web","namespace":"shop","uid":"u-1"},"spec":{"type":"LoadBalancer"}}"#;

    #[test]
    fn lists_of_any_kinds_lists_of_one_kind_and_single_objects_are_read() {
        let node = r#"{"kind":"Node","metadata":{"name":"a"}}"#;
        let mixed = format!(r#"{{"kind":"List","items":[{SERVICE},{node},{{"kind":"Pod","metadata":{{}}}}]}}"#);
        let found = parse(&mixed).unwrap();
        assert_eq!(found.nodes.unwrap().len(), 1);
        assert_eq!(found.services.unwrap()[0].full_name(), "shop/web");
        let unnamed = SERVICE.replace(r#""kind":"Service","#, "");
        let list = parse(&format!(r#"{{"kind":"ServiceList","items":[{unnamed}]}}"#)).unwrap();
        assert_eq!((list.nodes, list.services.unwrap()[0].service_type.as_str()), (None, "LoadBalancer"));
        assert_eq!(
            parse(r#"{"kind":"ServiceList","items":[]}"#).unwrap().services,
            Some(Vec::new()),
            "given, and empty"
        );
        assert_eq!(parse(SERVICE).unwrap().services.unwrap().len(), 1);
    }

    #[test]
    fn what_is_none_of_them_is_refused_with_its_place() {
        for (text, why) in [
            ("{", "not the output of"),
            (r#"{"kind":"PodList","items":[]}"#, "neither Nodes nor Services"),
            (r#"{"kind":"List","items":[{"kind":"Service","metadata":{"name":7}}]}"#, "(/items/0)"),
            (r#"{"kind":"List","items":[{"kind":"Pod"},{"kind":"Node","metadata":{"name":7}}]}"#, "(/items/1)"),
            ("[]", "neither Nodes nor Services"),
            (r#"{"kind":"ServiceList"}"#, "without `items`"),
            (r#"{"kind":"ServiceList","items":{}}"#, "without `items`"),
            (r#"{"kind":"ServiceList","metadata":{"continue":"abc"},"items":[]}"#, "first part of a list"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn several_inputs_add_up_and_what_stands_in_two_counts_once() {
        let one = parse(SERVICE).unwrap();
        let other = parse(&SERVICE.replace("web", "api")).unwrap();
        let both = one.clone().and(other).and(one);
        assert_eq!(both.services.unwrap().len(), 2);
    }
}
