//! What was read of a live cluster, kept: of each object only what rules look at. Environments, labels of volumes of others, values that
//! may hold credentials and everything that no rule needs are left out before anything else sees them.

use serde_json::{Map, Value};

use crate::inventory::kubernetes::{List, ListGap, RecordedList, Recording};
use crate::text::secrets::{is_credential, masked, shown};

use super::evidence::{Evidence, KubernetesError};
use super::read::is_looked_at;
use super::source::Source;

impl Recording {
    /// What it says of the cluster. A list with an object that is not what its kind has is not read.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let mut all = Evidence::default();
        let mut gaps = self.gaps.clone();
        for RecordedList { list, items } in &self.lists {
            let (version, kind) = list.kind();
            let text = serde_json::json!({"kind": format!("{kind}List"), "apiVersion": version, "items": items});
            match Evidence::parse("", text.to_string().into_bytes()) {
                // Places in what was read are none that a person could go to.
                Ok(found) => all = all.and(found.without_sources()),
                Err(error) => {
                    let message = match error {
                        KubernetesError::Object { kind, reason, .. } => {
                            format!("it holds a {kind} that is none: {reason}")
                        }
                        other => other.to_string(),
                    };
                    gaps.push(ListGap { list: *list, reason: "Protocol".to_owned(), message });
                }
            }
        }
        gaps.sort();
        all.seen_at = self.read_at.as_deref().and_then(|time| time.parse().ok()).or(all.seen_at);
        all.gaps = gaps;
        all
    }
}

/// An item of a list as far as rules look at it; `None` where they do not.
#[must_use]
pub fn recorded(list: List, item: Value) -> Option<Value> {
    let is_pod = list == List::Pods;
    if is_pod && !is_looked_at(&item.to_string()) {
        return None;
    }
    let mut kept = kept(item, shape(list));
    match list {
        List::Nodes => hide_arguments(&mut kept),
        List::DaemonSets | List::Deployments | List::StatefulSets => {
            hide_words(kept.pointer_mut("/spec/template/spec"), false);
        }
        List::Pods => hide_words(kept.pointer_mut("/spec"), true),
        List::StorageClasses if !is_of_ebs(&kept) => {
            kept.as_object_mut().map(|class| class.remove("parameters"));
        }
        List::ConfigMaps => hide_data(&mut kept),
        _ => {}
    }
    Some(kept)
}

fn is_of_ebs(class: &Value) -> bool {
    matches!(class["provisioner"].as_str(), Some("ebs.csi.aws.com" | "kubernetes.io/aws-ebs"))
}

/// What is kept of a value.
#[derive(Clone, Copy)]
enum Keep {
    /// All of it.
    All,
    /// These members.
    Members(&'static [(&'static str, Keep)]),
    /// This of each item.
    Items(&'static Keep),
    /// Members whose names hold one of these texts.
    Named(&'static [&'static str]),
}

use Keep::{All, Items, Members, Named};

fn kept(value: Value, keep: Keep) -> Value {
    match (value, keep) {
        // What is not of the shape that the API gives is for whoever reads it to say.
        (value, All) | (value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)), _) => value,
        (Value::Object(mut members), Members(wanted)) => {
            let found = wanted.iter().filter_map(|(name, keep)| {
                let value = members.remove(*name)?;
                Some(((*name).to_owned(), kept(value, *keep)))
            });
            Value::Object(found.collect::<Map<String, Value>>())
        }
        (Value::Array(items), Items(keep)) => items.into_iter().map(|item| kept(item, *keep)).collect(),
        (Value::Object(members), Named(texts)) => {
            let is_named = |name: &str| texts.iter().any(|text| name.contains(text));
            Value::Object(members.into_iter().filter(|(name, _)| is_named(name)).collect())
        }
        (Value::Object(_) | Value::Array(_), _) => Value::Null,
    }
}

const PLAIN_METADATA: Keep = Members(&[("name", All), ("namespace", All), ("uid", All), ("creationTimestamp", All)]);

const POD: Keep = Members(&[
    ("nodeSelector", All),
    ("affinity", Members(&[("nodeAffinity", All)])),
    ("tolerations", All),
    ("hostNetwork", All),
    ("dnsPolicy", All),
    ("serviceAccountName", All),
    ("serviceAccount", All),
    ("containers", Items(&Members(&[("name", All), ("image", All), ("command", All), ("args", All)]))),
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
            ("labels", All),
            (
                "annotations",
                Named(&[
                    "/node-args",
                    "/node-env",
                    "rke.cattle.io/",
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
    ("status", Members(&[("addresses", All), ("nodeInfo", Members(&[("kubeletVersion", All)]))])),
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
            // What is misspelt is looked at as well.
            (
                "annotations",
                Named(&["load-balancer", "loadbalancer", "service.beta", "service.alpha", "alibaba", "alicloud"]),
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
    ("spec", Members(&[("replicas", All), ("template", Members(&[("spec", POD)]))])),
]);
const STATIC_POD: Keep = Members(&[
    KINDS[0],
    KINDS[1],
    (
        "metadata",
        Members(&[
            ("name", All),
            ("namespace", All),
            ("uid", All),
            ("creationTimestamp", All),
            ("annotations", Named(&["kubernetes.io/config.mirror", "kubernetes.io/config.source"])),
            ("ownerReferences", Items(&Members(&[("kind", All), ("name", All)]))),
        ]),
    ),
    ("spec", POD),
]);
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
const WEBHOOK: Keep =
    Members(&[KINDS[0], KINDS[1], ("metadata", PLAIN_METADATA), ("webhooks", Items(&Members(&[("name", All)])))]);
const CONFIG_MAP: Keep = Members(&[KINDS[0], KINDS[1], ("metadata", PLAIN_METADATA), ("data", All)]);

/// What rules look at, of each list.
fn shape(list: List) -> Keep {
    match list {
        List::Nodes => NODE,
        List::Services => SERVICE,
        List::DaemonSets | List::Deployments | List::StatefulSets => WORKLOAD,
        List::Pods => STATIC_POD,
        List::StorageClasses => STORAGE_CLASS,
        List::PersistentVolumes => VOLUME,
        List::CsiDrivers => NAMED,
        List::CsiNodes => CSI_NODE,
        List::ClusterRoles | List::ClusterRoleBindings | List::Roles | List::RoleBindings => RIGHTS,
        List::Leases => LEASE,
        List::MutatingWebhookConfigurations => WEBHOOK,
        List::ConfigMaps => CONFIG_MAP,
    }
}

/// What is said instead of a value that may be a credential, as RKE2 and K3s do.
const HIDDEN: &str = "********";

/// The value of a setting, if it is known to hold no credential.
fn harmless(name: &str, value: &str) -> String {
    let told = shown(name, value);
    if told.ends_with("(not shown)") {
        match value.split_once('=') {
            Some((flag, _)) if name.ends_with("-arg") => format!("{flag}={HIDDEN}"),
            _ => HIDDEN.to_owned(),
        }
    } else {
        told
    }
}

/// Hides what is not known to be harmless in the arguments that RKE2 and K3s write on their Nodes.
fn hide_arguments(node: &mut Value) {
    let Some(annotations) = node.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else { return };
    for (name, value) in annotations {
        let Some(text) = value.as_str() else { continue };
        let hidden = if name.ends_with("/node-args") {
            serde_json::from_str::<Vec<String>>(text).ok().map(|words| Value::from(hidden_words(&words)))
        } else if name.ends_with("/node-env") {
            // One variable of it is looked at.
            serde_json::from_str::<Map<String, Value>>(text).ok().map(|mut variables| {
                variables.retain(|name, _| name == "RKE2_CLOUD_PROVIDER_NAME");
                Value::Object(variables)
            })
        } else {
            continue;
        };
        *value = hidden.unwrap_or_default().to_string().into();
    }
}

/// Arguments with their values hidden: `--name`, value or `--name=value`.
fn hidden_words(words: &[String]) -> Vec<String> {
    let mut last = String::new();
    let hide = |word: &String| {
        let Some(argument) = word.strip_prefix('-') else {
            let name = std::mem::take(&mut last);
            // The first word is the role.
            return if name.is_empty() { word.clone() } else { harmless(&name, word) };
        };
        let argument = argument.trim_start_matches('-');
        if let Some((name, value)) = argument.split_once('=') {
            last.clear();
            format!("--{name}={}", harmless(name, value))
        } else {
            argument.clone_into(&mut last);
            word.clone()
        }
    };
    words.iter().map(hide).collect()
}

/// Hides the words of containers that are none of a cloud controller or a control plane, and credentials in the others.
fn hide_words(pod: Option<&mut Value>, is_pod: bool) {
    let containers = pod.and_then(|pod| pod.get_mut("containers")).and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let is_known = is_pod || {
            let text = container.to_string();
            ["cloud-controller-manager", "cloud-provider"].iter().any(|mark| text.contains(mark))
        };
        let Some(container) = container.as_object_mut() else { continue };
        let mut is_secret = false;
        for list in ["command", "args"] {
            if !is_known {
                container.remove(list);
                continue;
            }
            for word in container.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(text) = word.as_str() {
                    let (hidden, next) = hidden_word(text, is_secret);
                    is_secret = next;
                    *word = hidden.into();
                }
            }
        }
    }
}

/// A word of a command line without its credential, and whether the next one is one: behind a flag without a value.
fn hidden_word(word: &str, is_secret: bool) -> (String, bool) {
    let is_flag = word.starts_with('-');
    match word.split_once('=').filter(|_| is_flag) {
        _ if is_secret && !is_flag => (HIDDEN.to_owned(), false),
        Some((name, _)) if is_credential(name) => (format!("{name}={HIDDEN}"), false),
        None if is_flag => (word.to_owned(), is_credential(word)),
        _ => {
            // A script is one word: what stands behind a name in it may be long.
            let shown = masked(word);
            let is_script = word.contains(char::is_whitespace) && shown != word;
            (if is_script { HIDDEN.to_owned() } else { shown.into_owned() }, false)
        }
    }
}

/// Hides what a configuration map holds, but for what rules look at.
fn hide_data(map: &mut Value) {
    let Some(data) = map.get_mut("data").and_then(Value::as_object_mut) else { return };
    data.retain(|name, _| {
        ["cloud-config.conf", "special.keyid", "special.keysecret", "ClusterConfiguration"].contains(&name.as_str())
    });
    for (name, value) in data {
        let Some(text) = value.as_str() else { continue };
        *value = match name.as_str() {
            "cloud-config.conf" => hidden_json(text).into(),
            "ClusterConfiguration" => hidden_cluster_configuration(text).into(),
            _ => HIDDEN.into(),
        };
    }
}

/// What stands for a credential: of Base64 something that is Base64 as well, which is looked at.
fn stand_in(text: &str) -> &'static str {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    if !text.is_empty() && text.len().is_multiple_of(4) && text.chars().all(is_base64) { "bWFza2Vk" } else { HIDDEN }
}

/// A JSON text without its credentials; one that is no JSON is hidden as a whole.
fn hidden_json(text: &str) -> String {
    fn hide(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match value {
                        Value::String(text) if is_credential(name) => *value = stand_in(text).into(),
                        value => hide(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(hide),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            hide(&mut value);
            value.to_string()
        }
        Err(_) => HIDDEN.to_owned(),
    }
}

/// Of a configuration of kubeadm the version and the arguments of components, as JSON, which is YAML.
fn hidden_cluster_configuration(text: &str) -> String {
    let source = Source::new("", text.to_owned());
    let documents = source.documents().unwrap_or_default();
    let Some(node) = documents.first() else { return HIDDEN.to_owned() };
    let Ok(value) = serde_json::from_str::<Value>(&node.to_string()) else { return HIDDEN.to_owned() };
    const COMPONENT: Keep = Members(&[("extraArgs", All)]);
    const CONFIGURATION: Keep = Members(&[
        KINDS[0],
        KINDS[1],
        ("kubernetesVersion", All),
        ("apiServer", COMPONENT),
        ("controllerManager", COMPONENT),
    ]);
    let mut kept = kept(value, CONFIGURATION);
    for component in ["/apiServer/extraArgs", "/controllerManager/extraArgs"] {
        match kept.pointer_mut(component) {
            Some(Value::Object(arguments)) => {
                for (name, value) in arguments {
                    if let Some(text) = value.as_str() {
                        *value = harmless(name, text).into();
                    }
                }
            }
            Some(Value::Array(arguments)) => {
                for argument in arguments {
                    let name = argument["name"].as_str().unwrap_or_default().to_owned();
                    if let Some(text) = argument.get("value").and_then(Value::as_str) {
                        let hidden = harmless(&name, text);
                        argument["value"] = hidden.into();
                    }
                }
            }
            _ => {}
        }
    }
    kept.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_rule_needs_is_left_out() {
        let pod = json!({"spec": {"containers": [{"name": "a", "image": "a:1", "args": ["--token=x"], "env": [{"name": "A", "value": "secret"}], "envFrom": []}], "volumes": []}});
        let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a", "annotations": {"x": "secret"}, "managedFields": []}, "spec": {"template": pod}, "status": {}});
        let kept = recorded(List::DaemonSets, set).unwrap();
        let expected = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}});
        assert_eq!(kept, expected);
    }

    #[test]
    fn words_of_a_controller_stay_and_credentials_in_them_do_not() {
        let words = json!(["--cloud-provider=aws", "--aws-secret=abc", "--v=2"]);
        let set = json!({"spec": {"template": {"spec": {"containers": [{"image": "a/cloud-controller-manager:v1", "args": words}]}}}});
        let kept = recorded(List::DaemonSets, set).unwrap();
        let found = &kept["spec"]["template"]["spec"]["containers"][0]["args"];
        assert_eq!(*found, json!(["--cloud-provider=aws", "--aws-secret=********", "--v=2"]));
    }

    #[test]
    fn credentials_behind_a_flag_or_in_a_script_are_hidden() {
        let words = json!([
            "--cloud-provider=aws",
            "--password",
            "leak",
            "--v",
            "2",
            "--etcd-password=le ak leak",
            "AWS_SECRET_ACCESS_KEY=\"a leak\" exec x"
        ]);
        let set = json!({"spec": {"template": {"spec": {"containers": [{"image": "a/cloud-controller-manager:v1", "args": words}]}}}});
        let kept = recorded(List::DaemonSets, set).unwrap();
        let found = &kept["spec"]["template"]["spec"]["containers"][0]["args"];
        assert!(!found.to_string().contains("leak"), "{found}");
        assert_eq!((&found[3], &found[4]), (&json!("--v"), &json!("2")));
    }

    #[test]
    fn pods_that_nobody_looks_at_are_left_out() {
        let pod = |annotation: &str| json!({"metadata": {"name": "a", "annotations": {annotation: "x"}}, "spec": {"containers": []}});
        assert!(recorded(List::Pods, pod("kubernetes.io/config.mirror")).is_some());
        assert!(recorded(List::Pods, pod("other")).is_none());
    }

    #[test]
    fn arguments_of_nodes_are_hidden_unless_they_are_known_to_be_harmless() {
        let words = [
            "server",
            "--token",
            "abc",
            "--node-ip=10.0.0.1",
            "--kubelet-arg",
            "cloud-provider=external",
            "--kubelet-arg=x=y",
            "--datastore-endpoint=mysql://u:p@h",
            "--disable-cloud-controller",
            "--agent-token",
            "z",
        ];
        let node = json!({"metadata": {"annotations": {
            "rke2.io/node-args": json!(words).to_string(),
            "rke2.io/node-env": json!({"RKE2_TOKEN": "x", "RKE2_CLOUD_PROVIDER_NAME": "aws"}).to_string(),
            "other": "secret",
        }}});
        let kept = recorded(List::Nodes, node).unwrap();
        let annotations = &kept["metadata"]["annotations"];
        let expected = [
            "server",
            "--token",
            HIDDEN,
            "--node-ip=10.0.0.1",
            "--kubelet-arg",
            "cloud-provider=external",
            "--kubelet-arg=x=********",
            "--datastore-endpoint=********",
            "--disable-cloud-controller",
            "--agent-token",
            HIDDEN,
        ];
        assert_eq!(annotations["rke2.io/node-args"], json!(json!(expected).to_string()));
        assert_eq!(annotations["rke2.io/node-env"], json!(r#"{"RKE2_CLOUD_PROVIDER_NAME":"aws"}"#));
        assert_eq!(annotations.as_object().unwrap().len(), 2);
    }

    #[test]
    fn access_keys_of_configuration_maps_are_hidden() {
        let configuration = "kubernetesVersion: v1.31.0\ncontrollerManager:\n  extraArgs:\n    - {name: cloud-provider, value: external}\n    - {name: x-token, value: leak}\netcd: {external: {password: leak}}\n";
        let map = json!({"data": {
            "cloud-config.conf": r#"{"Global": {"accessKeyID": "abc", "accessKeySecret": "bGVhaw==", "region": "cn-hangzhou"}}"#,
            "special.keyid": "leak",
            "ClusterConfiguration": configuration,
            "other": "leak",
        }});
        let kept = recorded(List::ConfigMaps, map).unwrap();
        let expected = r#"{"Global":{"accessKeyID":"********","accessKeySecret":"bWFza2Vk","region":"cn-hangzhou"}}"#;
        assert_eq!(kept["data"]["cloud-config.conf"], expected);
        assert!(!kept.to_string().contains("leak") && !kept.to_string().contains("bGVhaw"), "{kept}");
        let found = kept["data"]["ClusterConfiguration"].as_str().unwrap();
        assert!(found.contains("external") && found.contains("v1.31.0"), "{found}");
        let broken = json!({"data": {"cloud-config.conf": "password = leak\ntoken: |\n  leak"}});
        assert!(!recorded(List::ConfigMaps, broken).unwrap().to_string().contains("leak"));
    }
}
