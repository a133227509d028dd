//! Services.

use std::collections::BTreeMap;

use crate::policy::json::Value;

use super::source::{Object, Place};

/// A Kubernetes Service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of its specification")]
pub struct Service {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; empty in a manifest.
    pub uid: String,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// Places of the key and value of each annotation.
    pub annotation_places: BTreeMap<String, (Place, Place)>,
    /// Annotations whose values are not strings, because quotes are missing, with their types. The API server rejects
    /// such an object.
    /// Source: kubernetes/apimachinery `pkg/apis/meta/v1/types.go#ObjectMeta`, `Annotations`.
    pub not_strings: BTreeMap<String, &'static str>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// `spec.type`; `ClusterIP` if not set.
    pub service_type: String,
    /// `spec.loadBalancerClass`.
    pub load_balancer_class: Option<String>,
    /// `spec.loadBalancerIP`.
    pub load_balancer_ip: Option<String>,
    /// `spec.loadBalancerSourceRanges`.
    pub source_ranges: Vec<String>,
    /// `spec.ipFamilies`.
    pub ip_families: Vec<String>,
    /// `spec.ipFamilyPolicy`.
    pub ip_family_policy: Option<String>,
    /// True if `spec.externalTrafficPolicy` is `Local`.
    pub is_local: bool,
    /// True if it selects Pods: the control plane writes its endpoints.
    pub has_selector: bool,
    /// True if `spec.sessionAffinity` is `ClientIP`.
    pub has_client_affinity: bool,
    /// True if `spec.allocateLoadBalancerNodePorts` is off.
    pub is_without_node_ports: bool,
    /// `spec.healthCheckNodePort`, if one is allocated.
    pub health_check_node_port: Option<i64>,
    /// `spec.ports`.
    pub ports: Vec<ServicePort>,
    /// `status.loadBalancer.ingress`: host names and addresses.
    pub ingress: Vec<Ingress>,
    /// `metadata.deletionTimestamp`, set while the Service is being deleted.
    pub deleted_at: Option<String>,
    /// Place of its name.
    pub place: Place,
    /// Places of the fields of `spec`.
    pub field_places: BTreeMap<String, Place>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServicePort {
    /// `name`; empty if not set.
    pub name: String,
    pub port: i64,
    /// `protocol`; `TCP` if not set.
    pub protocol: String,
    /// `nodePort`, if one is allocated.
    pub node_port: Option<i64>,
    /// `targetPort`, if it is a number.
    pub target_port: Option<i64>,
    /// `targetPort`, if it is the name of a port of the Pods.
    pub target_name: Option<String>,
}

/// Address of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ingress {
    /// Host name.
    Hostname(String),
    /// IP address.
    Address(String),
}

impl Service {
    /// True for chart values from which a template makes the Service: they state neither namespace nor ports, without
    /// which the API server admits none.
    pub fn is_of_values(&self) -> bool {
        self.namespace.is_empty() && self.uid.is_empty() && self.ports.is_empty()
    }

    /// `NAMESPACE/NAME`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// True if the API server allocates the node port of a port when the Service is applied.
    pub(crate) fn awaits_node_port(&self, port: &ServicePort) -> bool {
        let has_node_ports = self.service_type == "NodePort" || self.is_load_balancer() && !self.is_without_node_ports;
        port.node_port.is_none() && has_node_ports
    }

    /// True if the API server allocates `spec.healthCheckNodePort` when the Service is applied.
    pub(crate) fn awaits_health_check_node_port(&self) -> bool {
        self.is_load_balancer() && self.is_local && self.health_check_node_port.is_none()
    }

    /// True if it requests a load balancer.
    #[must_use]
    pub fn is_load_balancer(&self) -> bool {
        self.service_type == "LoadBalancer"
    }

    /// Reads a Service whose fields have the types of the API; `None` if it has no name, as in a patch.
    pub(super) fn read(object: Object<'_>) -> Option<Self> {
        let text = |path: &[&str]| object.text(path).map(str::to_owned);
        let mut annotations = BTreeMap::new();
        let mut annotation_places = BTreeMap::new();
        let mut not_strings = BTreeMap::new();
        for (key, value) in object.members(&["metadata", "annotations"]) {
            // A patch removes an annotation with null.
            if value.node.value == Value::Null {
                continue;
            }
            let text = match (value.without_quotes(), value.node.as_str()) {
                (Some((kind, text)), _) => {
                    not_strings.insert(key.value.clone(), kind);
                    text
                }
                (None, text) => text.unwrap_or_default().to_owned(),
            };
            annotation_places.insert(key.value.clone(), (key.place, value.place()));
            annotations.insert(key.value, text);
        }
        let name = object.located(&["metadata", "name"]).or_else(|| object.located(&["metadata", "generateName"]))?;
        let ports = object.items(&["spec", "ports"]).map(|port| ServicePort {
            name: port.text(&["name"]).unwrap_or_default().to_owned(),
            port: port.number(&["port"]).unwrap_or_default(),
            protocol: port.text(&["protocol"]).unwrap_or("TCP").to_owned(),
            node_port: port.number(&["nodePort"]).filter(|port| *port != 0),
            // Without a target port the port is used.
            target_port: port
                .number(&["targetPort"])
                .or_else(|| port.number(&["port"]).filter(|_| port.at(&["targetPort"]).is_none())),
            target_name: port.text(&["targetPort"]).map(str::to_owned),
        });
        let ingress = object.items(&["status", "loadBalancer", "ingress"]).filter_map(|ingress| {
            let hostname = ingress.text(&["hostname"]).filter(|name| !name.is_empty());
            let hostname = hostname.map(|name| Ingress::Hostname(name.to_owned()));
            hostname.or_else(|| Some(Ingress::Address(ingress.text(&["ip"])?.to_owned())))
        });
        let texts =
            |path: &[&str]| object.items(path).filter_map(|item| item.node.as_str().map(str::to_owned)).collect();
        Some(Self {
            namespace: text(&["metadata", "namespace"]).unwrap_or_default(),
            name: name.value,
            uid: text(&["metadata", "uid"]).unwrap_or_default(),
            annotations,
            annotation_places,
            not_strings,
            finalizers: texts(&["metadata", "finalizers"]),
            service_type: text(&["spec", "type"]).unwrap_or_else(|| "ClusterIP".to_owned()),
            load_balancer_class: text(&["spec", "loadBalancerClass"]),
            load_balancer_ip: text(&["spec", "loadBalancerIP"]).filter(|address| !address.is_empty()),
            source_ranges: texts(&["spec", "loadBalancerSourceRanges"]),
            ip_families: texts(&["spec", "ipFamilies"]),
            ip_family_policy: text(&["spec", "ipFamilyPolicy"]),
            is_local: object.text(&["spec", "externalTrafficPolicy"]) == Some("Local"),
            has_selector: object.members(&["spec", "selector"]).next().is_some(),
            has_client_affinity: object.text(&["spec", "sessionAffinity"]) == Some("ClientIP"),
            is_without_node_ports: object.switch(&["spec", "allocateLoadBalancerNodePorts"]) == Some(false),
            health_check_node_port: object.number(&["spec", "healthCheckNodePort"]).filter(|port| *port != 0),
            ports: ports.collect(),
            ingress: ingress.collect(),
            deleted_at: object.text(&["metadata", "deletionTimestamp"]).map(str::to_owned),
            field_places: object.members(&["spec"]).map(|(key, _)| (key.value, key.place)).collect(),
            place: name.place,
        })
    }
}
