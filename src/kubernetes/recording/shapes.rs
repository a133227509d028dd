//! Parts of each kind of object that rules check.

use serde_json::{Map, Value, json};

use crate::inventory::kubernetes::List;
use crate::kubernetes::workload::{CREDENTIAL_ANNOTATIONS, is_checked_variable, is_public_variable};

use super::words::plain;

/// Parts of a value that are recorded.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    /// The whole value.
    All,
    /// These members.
    Members(&'static [(&'static str, Keep)]),
    /// These parts of each item.
    Items(&'static Keep),
    /// These parts of each item that has one of them; nothing if there is none.
    Some(&'static Keep),
    /// Environment variables that rules check. The value is kept if it is a role, a token file or a setting of a
    /// controller; of credentials only the name is kept.
    Variables,
    /// Members whose names contain one of these texts.
    Named(&'static [&'static str]),
}

use Keep::{All, Items, Members, Named, Variables};

pub(super) fn kept(value: Value, keep: Keep) -> Value {
    match (value, keep) {
        // The reader reports values that do not have the shape of the API.
        (value, All) | (value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)), _) => value,
        (Value::Object(mut members), Members(wanted)) => {
            let found = wanted.iter().filter_map(|(name, keep)| {
                let value = kept(members.remove(*name)?, *keep);
                let is_nothing =
                    matches!(keep, Variables | Keep::Some(_)) && value.as_array().is_some_and(Vec::is_empty);
                (!is_nothing).then(|| ((*name).to_owned(), value))
            });
            Value::Object(found.collect::<Map<String, Value>>())
        }
        (Value::Array(items), Items(keep)) => items.into_iter().map(|item| kept(item, *keep)).collect(),
        (Value::Array(items), Keep::Some(keep)) => items
            .into_iter()
            .map(|item| kept(item, *keep))
            .filter(|item| item.as_object().is_none_or(|members| !members.is_empty()))
            .collect(),
        (Value::Object(members), Named(texts)) => {
            let is_named = |name: &str| texts.iter().any(|text| name.contains(text));
            Value::Object(members.into_iter().filter(|(name, _)| is_named(name)).collect())
        }
        (Value::Array(items), Variables) => items.iter().filter_map(variable).collect(),
        (Value::Object(_) | Value::Array(_), _) => Value::Null,
    }
}

/// An environment variable that rules check. An empty value is the same as none.
fn variable(item: &Value) -> Option<Value> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let name = text("name").filter(|name| is_checked_variable(name))?;
    let mut kept = Map::from_iter([("name".to_owned(), name.into())]);
    if let Some(value) = text("value").filter(|value| value.is_empty() || is_public_variable(name)) {
        kept.insert("value".to_owned(), plain(value).into());
    }
    // The name of the Secret, never the key within it.
    if let Some(secret) = item.get("valueFrom").and_then(|from| from.get("secretKeyRef")) {
        let named = |key: &str| Some((key.to_owned(), secret.get(key)?.clone()));
        let secret: Map<String, Value> = ["name", "optional"].into_iter().filter_map(named).collect();
        if !secret.is_empty() {
            kept.insert("valueFrom".to_owned(), json!({"secretKeyRef": secret}));
        }
    }
    Some(Value::Object(kept))
}

const PLAIN_METADATA: Keep = Members(&[("name", All), ("namespace", All), ("uid", All), ("creationTimestamp", All)]);

const POD: Keep = Members(&[
    ("nodeSelector", All),
    ("affinity", Members(&[("nodeAffinity", All)])),
    ("tolerations", All),
    ("hostNetwork", All),
    ("dnsPolicy", All),
    ("serviceAccountName", All),
    ("nodeName", All),
    ("serviceAccount", All),
    (
        "containers",
        Items(&Members(&[
            ("name", All),
            ("image", All),
            ("imagePullPolicy", All),
            ("command", All),
            ("args", All),
            // Never the values of credentials.
            ("env", Variables),
            // The Secrets that it names, never their content.
            ("envFrom", Keep::Some(&All)),
            ("volumeMounts", Keep::Some(&Members(&[("mountPath", All)]))),
            ("livenessProbe", Members(&[("httpGet", Members(&[("host", All), ("port", All)]))])),
        ])),
    ),
    ("initContainers", Items(&Members(&[("image", All), ("imagePullPolicy", All)]))),
    ("imagePullSecrets", Items(&Members(&[("name", All)]))),
    (
        "volumes",
        Keep::Some(&Members(&[(
            "projected",
            Members(&[("sources", Items(&Members(&[("serviceAccountToken", Members(&[("audience", All)]))])))]),
        )])),
    ),
]);

const KINDS: [(&str, Keep); 2] = [("apiVersion", All), ("kind", All)];

const NODE: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[
            ("name", All),
            ("uid", All),
            ("creationTimestamp", All),
            ("deletionTimestamp", All),
            ("labels", All),
            (
                "annotations",
                Named(&[
                    "/node-args",
                    "/node-env",
                    "rke.cattle.io/internal-ip",
                    "provided-node-ip",
                    "kubeadm.alpha.kubernetes.io/",
                ]),
            ),
        ]),
    ),
    (
        "spec",
        Members(&[("providerID", All), ("taints", All), ("podCIDR", All), ("podCIDRs", All), ("unschedulable", All)]),
    ),
    (
        "status",
        Members(&[
            ("addresses", All),
            ("nodeInfo", Members(&[("kubeletVersion", All)])),
            ("conditions", Items(&Members(&[("type", All), ("status", All), ("reason", All)]))),
        ]),
    ),
]);
const SERVICE: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[
            ("name", All),
            ("namespace", All),
            ("uid", All),
            ("creationTimestamp", All),
            ("deletionTimestamp", All),
            ("finalizers", All),
            // Rules check misspelt annotations as well.
            (
                "annotations",
                // The AWS Load Balancer Controller merges those of a backend into its Ingress.
                Named(&[
                    "load-balancer",
                    "loadbalancer",
                    "service.beta",
                    "service.alpha",
                    "alibaba",
                    "alicloud",
                    "alb.ingress.kubernetes.io/",
                ]),
            ),
        ]),
    ),
    ("spec", All),
    ("status", Members(&[("loadBalancer", All)])),
]);
const WORKLOAD: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", PLAIN_METADATA),
    (
        "status",
        Members(&[
            ("replicas", All),
            ("readyReplicas", All),
            ("desiredNumberScheduled", All),
            ("currentNumberScheduled", All),
            ("numberReady", All),
            ("conditions", Items(&Members(&[("type", All), ("status", All), ("reason", All), ("message", All)]))),
        ]),
    ),
    (
        "spec",
        Members(&[
            ("replicas", All),
            (
                "template",
                Members(&[("metadata", Members(&[("annotations", Named(CREDENTIAL_ANNOTATIONS))])), ("spec", POD)]),
            ),
        ]),
    ),
]);
/// Annotations of pods: the mirror of a static one, and the role that a proxy of the metadata service assigns.
const OF_POD: &[&str] = &[
    "kubernetes.io/config.mirror",
    "kubernetes.io/config.source",
    "iam.amazonaws.com/role",
    "eks.amazonaws.com/skip-containers",
];
const CHECKED_POD: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[
            ("name", All),
            ("namespace", All),
            ("uid", All),
            ("creationTimestamp", All),
            ("annotations", Named(OF_POD)),
            ("ownerReferences", Items(&Members(&[("kind", All), ("name", All)]))),
        ]),
    ),
    ("spec", POD),
    (
        "status",
        Members(&[
            ("conditions", Items(&Members(&[("type", All), ("status", All), ("reason", All), ("message", All)]))),
            ("containerStatuses", CONTAINER_STATES),
            ("initContainerStatuses", CONTAINER_STATES),
        ]),
    ),
]);
const CONTAINER_STATES: Keep = Items(&Members(&[("state", Members(&[("waiting", Members(&[("reason", All)]))]))]));
const STORAGE_CLASS: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", Members(&[("name", All), ("uid", All), ("annotations", Named(&["is-default-class"]))])),
    ("provisioner", All),
    ("parameters", All),
    ("reclaimPolicy", All),
    ("volumeBindingMode", All),
    ("allowedTopologies", All),
]);
const VOLUME: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[("name", All), ("uid", All), ("labels", All), ("annotations", Named(&["pv.kubernetes.io/"]))]),
    ),
    (
        "spec",
        Members(&[
            ("storageClassName", All),
            ("awsElasticBlockStore", All),
            ("csi", Members(&[("driver", All), ("volumeHandle", All)])),
            ("nodeAffinity", All),
            ("persistentVolumeReclaimPolicy", All),
            ("claimRef", Members(&[("namespace", All), ("name", All)])),
        ]),
    ),
]);
const CSI_NODE: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", Members(&[("name", All), ("uid", All), ("annotations", Named(&["migrated-plugins"]))])),
    ("spec", Members(&[("drivers", Items(&Members(&[("name", All), ("nodeID", All)])))])),
]);
const RIGHTS: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", PLAIN_METADATA),
    ("rules", All),
    ("aggregationRule", All),
    ("roleRef", All),
    ("subjects", All),
]);
const LEASE: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", PLAIN_METADATA),
    ("spec", Members(&[("holderIdentity", All), ("renewTime", All)])),
]);
const NAMED: Keep = Members(&[KINDS[0], KINDS[1], ("metadata", PLAIN_METADATA)]);
const WEBHOOK: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", PLAIN_METADATA),
    (
        "webhooks",
        Items(&Members(&[
            ("name", All),
            ("failurePolicy", All),
            ("clientConfig", Members(&[("service", All), ("caBundle", All)])),
        ])),
    ),
]);
const SERVICE_ACCOUNT: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[
            ("name", All),
            ("namespace", All),
            ("uid", All),
            // Misspelt keys too.
            ("annotations", Named(&["amazonaws", "role-arn", "eks.", "pod-identity.alibabacloud.com/"])),
        ]),
    ),
]);
const INGRESS: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[
            ("name", All),
            ("namespace", All),
            ("uid", All),
            ("deletionTimestamp", All),
            ("finalizers", All),
            ("annotations", Named(&["alb.ingress.kubernetes.io/", "kubernetes.io/ingress.class"])),
        ]),
    ),
    ("spec", Members(&[("ingressClassName", All), ("defaultBackend", All), ("rules", All), ("tls", All)])),
    ("status", Members(&[("loadBalancer", All)])),
]);
const INGRESS_CLASS: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", Members(&[("name", All), ("uid", All), ("annotations", Named(&["ingressclass.kubernetes.io/"]))])),
    ("spec", Members(&[("controller", All), ("parameters", All)])),
]);
const CLASS_PARAMETERS: Keep = Members(&[KINDS[0], KINDS[1], ("metadata", PLAIN_METADATA), ("spec", All)]);
const BINDING: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", PLAIN_METADATA),
    (
        "spec",
        Members(&[
            ("serviceRef", All),
            ("targetGroupARN", All),
            ("targetGroupName", All),
            ("multiClusterTargetGroup", All),
            ("targetType", All),
            ("iamRoleArnToAssume", All),
            ("networking", All),
        ]),
    ),
]);
const ALB_CONFIG: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[
            ("name", All),
            ("namespace", All),
            ("uid", All),
            ("creationTimestamp", All),
            ("deletionTimestamp", All),
        ]),
    ),
    ("spec", Members(&[("config", Members(&[("addressType", All), ("id", All), ("zoneMappings", All)]))])),
    ("status", Members(&[("loadBalancer", Members(&[("id", All)]))])),
]);
/// Objects of Cluster API Provider AWS, as far as they decide what its controller calls.
const CLUSTER_API: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[
            ("name", All),
            ("namespace", All),
            ("uid", All),
            ("deletionTimestamp", All),
            ("annotations", Named(&["cluster.x-k8s.io/"])),
        ]),
    ),
    (
        "spec",
        Members(&[
            ("identityRef", All),
            (
                "network",
                Members(&[
                    ("vpc", Members(&[("id", All)])),
                    ("subnets", Items(&Members(&[("id", All)]))),
                    ("securityGroupOverrides", All),
                ]),
            ),
            ("controlPlaneLoadBalancer", Members(&[("name", All), ("loadBalancerType", All)])),
            ("controlPlaneEndpoint", Members(&[("host", All)])),
            MACHINE[0],
            MACHINE[1],
            MACHINE[2],
            MACHINE[3],
            MACHINE[4],
            ("template", Members(&[("spec", Members(&MACHINE))])),
        ]),
    ),
]);
const MACHINE: [(&str, Keep); 5] = [
    ("iamInstanceProfile", All),
    ("ami", Members(&[("id", All)])),
    ("rootVolume", Members(&[("size", All)])),
    ("cloudInit", Members(&[("secureSecretsBackend", All), ("insecureSkipSecretsManager", All)])),
    ("ignition", Members(&[("version", All)])),
];
const NODE_CLASS: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", PLAIN_METADATA),
    (
        "spec",
        Members(&[
            ("subnetSelectorTerms", All),
            ("securityGroupSelectorTerms", All),
            ("role", All),
            ("instanceProfile", All),
            ("tags", All),
            ("amiFamily", All),
            ("amiSelectorTerms", All),
        ]),
    ),
]);
const NODE_POOL: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", PLAIN_METADATA),
    ("spec", Members(&[("template", Members(&[("spec", Members(&[("nodeClassRef", All)]))]))])),
]);
const EVENT: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("metadata", PLAIN_METADATA),
    ("involvedObject", Members(&[("kind", All), ("namespace", All), ("name", All), ("uid", All)])),
    ("type", All),
    ("reason", All),
    ("message", All),
    ("lastTimestamp", All),
    ("eventTime", All),
    ("series", Members(&[("lastObservedTime", All)])),
]);
const CONFIG_MAP: Keep = Members(&[KINDS[0], KINDS[1], ("metadata", PLAIN_METADATA), ("data", All)]);

/// Parts of a kubeadm configuration that rules check.
pub(super) const CLUSTER_CONFIGURATION: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    ("kubernetesVersion", All),
    ("apiServer", EXTRA_ARGUMENTS),
    ("controllerManager", EXTRA_ARGUMENTS),
]);
const EXTRA_ARGUMENTS: Keep = Members(&[("extraArgs", All)]);

/// Parts of the items of a list that rules check.
pub(super) fn shape(list: List) -> Keep {
    match list {
        List::Nodes => NODE,
        List::Services => SERVICE,
        List::DaemonSets | List::Deployments | List::StatefulSets => WORKLOAD,
        List::Pods => CHECKED_POD,
        List::StorageClasses => STORAGE_CLASS,
        List::PersistentVolumes => VOLUME,
        List::CsiDrivers => NAMED,
        List::CsiNodes => CSI_NODE,
        List::ClusterRoles | List::ClusterRoleBindings | List::Roles | List::RoleBindings => RIGHTS,
        List::Leases => LEASE,
        List::MutatingWebhookConfigurations => WEBHOOK,
        List::ConfigMaps => CONFIG_MAP,
        List::ServiceAccounts => SERVICE_ACCOUNT,
        List::Events => EVENT,
        List::Ingresses => INGRESS,
        List::IngressClasses => INGRESS_CLASS,
        List::IngressClassParams => CLASS_PARAMETERS,
        List::TargetGroupBindings => BINDING,
        List::Ec2NodeClasses => NODE_CLASS,
        List::NodePools => NODE_POOL,
        List::AlbConfigs => ALB_CONFIG,
        List::AwsClusters
        | List::AwsMachines
        | List::AwsMachineTemplates
        | List::AwsMachinePools
        | List::AwsManagedControlPlanes => CLUSTER_API,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_keep_what_decides_and_no_secret() {
        let given = json!([
            {"name": "AWS_ACCESS_KEY_ID", "value": "leak"},
            {"name": "AWS_ROLE_ARN", "value": "arn:aws:iam::123456789012:role/a"},
            {"name": "AWS_PROFILE", "value": ""},
            {"name": "SERVICE_FORCE_BACKEND_ENI", "value": "leak"},
            {"name": "ACCESS_KEY_ID", "valueFrom": {"secretKeyRef": {"name": "s", "key": "leak", "optional": true}}},
            {"name": "OTHER", "value": "leak"},
        ]);
        let expected = json!([
            {"name": "AWS_ACCESS_KEY_ID"},
            {"name": "AWS_ROLE_ARN", "value": "arn:aws:iam::123456789012:role/a"},
            {"name": "AWS_PROFILE", "value": ""},
            {"name": "SERVICE_FORCE_BACKEND_ENI"},
            {"name": "ACCESS_KEY_ID", "valueFrom": {"secretKeyRef": {"name": "s", "optional": true}}},
        ]);
        assert_eq!(kept(given, Variables), expected);
    }
}
