//! Recordings of a live cluster: of each object only the parts that rules check. Environments, labels of unrelated
//! volumes, values that may hold credentials and everything that no rule needs are dropped first.

use serde_json::{Map, Value};

use crate::inventory::kubernetes::{List, ListGap, RecordedList, Recording};
use crate::text::secrets::{is_credential, masked};

use super::alibaba_cloud_config::{KEYS, is_crossed_out, is_encoded};
use super::cloud_config::{self, CloudConfig};
use super::document::{ALIBABA_DISK_DRIVER, EBS_DRIVER};
use super::error::KubernetesError;
use super::evidence::Evidence;
use super::gcfg;
use super::read::is_looked_at;
use super::source::Source;
use super::terway_config;

use shapes::{CLUSTER_CONFIGURATION, kept, shape};
use words::{hide_arguments, hide_words, redact_setting};

mod files;
mod shapes;
mod words;

pub(crate) use files::Kept;

impl Recording {
    /// Evidence in the recording. A list that holds an object that does not fit its kind counts as unread.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let mut all = Evidence::default();
        let mut gaps = self.gaps.clone();
        for RecordedList { list, items } in &self.lists {
            let (version, kind) = list.kind();
            let text = serde_json::json!({"kind": format!("{kind}List"), "apiVersion": version, "items": items});
            match Evidence::parse("", text.to_string().into_bytes()) {
                // Places in a recording are of no use to the user.
                Ok(found) => all = all.and(found.without_sources()),
                Err(error) => {
                    let message = match error {
                        KubernetesError::Object { kind, reason, .. } => {
                            format!("invalid {kind}: {reason}")
                        }
                        other => other.to_string(),
                    };
                    gaps.push(ListGap { list: *list, reason: "Protocol".to_owned(), message });
                }
            }
        }
        gaps.sort();
        all.seen_at = self.read_at.as_deref().and_then(|time| time.parse().ok()).or(all.seen_at);
        let has = |list: List| self.lists.iter().any(|one| one.list == list);
        let has_gap = |list: List| gaps.iter().any(|gap| gap.list == list);
        let deciding = [List::Services, List::Ingresses];
        let custom = [List::IngressClassParams, List::TargetGroupBindings];
        // Events pass: that there are none shows nothing.
        let is_needed = |list: &&List| !list.is_custom() && **list != List::Events;
        all.is_whole = List::ALL.iter().filter(is_needed).all(|list| has(*list) || has_gap(*list))
            && deciding.into_iter().all(|list| has(list) && !has_gap(list))
            && !custom.into_iter().any(has_gap);
        all.gaps = gaps;
        // The API never writes repeated keys, whatever the source files hold.
        all.read_as_written = 0;
        all
    }
}

/// Records the parts of a list item that rules check, from the JSON of the API; `None` for an item that no rule checks,
/// such as most pods, which are not even parsed.
///
/// # Errors
/// If it is not JSON.
pub fn recorded_text(list: List, item: &str) -> Result<Option<Value>, serde_json::Error> {
    if list == List::Pods && !is_looked_at(item) {
        return Ok(None);
    }
    Ok(Some(recorded(list, serde_json::from_str(item)?)))
}

/// Records the parts of a parsed list item that rules check.
#[must_use]
pub(crate) fn recorded(list: List, item: Value) -> Value {
    let mut kept = kept(item, shape(list));
    match list {
        List::Nodes => hide_arguments(&mut kept),
        List::DaemonSets | List::Deployments | List::StatefulSets => {
            hide_words(kept.pointer_mut("/spec/template/spec"), false);
        }
        List::Pods => hide_words(kept.pointer_mut("/spec"), true),
        List::StorageClasses if !is_ebs(&kept) => {
            kept.as_object_mut().map(|class| class.remove("parameters"));
        }
        List::StorageClasses => hide_members(kept.get_mut("parameters")),
        List::PersistentVolumes if !has_disk_id(&kept) => {
            kept.pointer_mut("/spec/csi").and_then(Value::as_object_mut).map(|csi| csi.remove("volumeHandle"));
        }
        List::Services | List::Ingresses => hide_members(kept.pointer_mut("/metadata/annotations")),
        List::ConfigMaps => hide_data(&mut kept),
        List::Events => {
            if let Some(Value::String(message)) = kept.get_mut("message") {
                *message = masked(message).into_owned();
            }
        }
        // Several kinds share the rules, and the items of a list have no kind.
        _ if list.is_of_cluster_api() => {
            kept.as_object_mut().map(|object| object.insert("kind".to_owned(), list.kind().1.into()));
        }
        _ => {}
    }
    kept
}

/// True if the handle of a volume is the id of a disk; those of other drivers may hold paths and addresses.
fn has_disk_id(volume: &Value) -> bool {
    let driver = volume.pointer("/spec/csi/driver").and_then(Value::as_str);
    driver.is_some_and(|driver| [EBS_DRIVER, ALIBABA_DISK_DRIVER].contains(&driver))
}

fn is_ebs(class: &Value) -> bool {
    matches!(class["provisioner"].as_str(), Some(EBS_DRIVER | "kubernetes.io/aws-ebs"))
}

/// Replacement for a value that may be a credential, as in RKE2 and K3s.
const HIDDEN: &str = "********";

/// Hides the values of a map whose names denote credentials, and credentials in the others.
fn hide_members(map: Option<&mut Value>) {
    for (name, value) in map.and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(text) = value.as_str() else { continue };
        let hidden = if is_credential(name) { HIDDEN.to_owned() } else { masked(text).into_owned() };
        *value = hidden.into();
    }
}

/// Hides the data of a `ConfigMap`, except for the entries that rules check.
fn hide_data(map: &mut Value) {
    let Some(data) = map.get_mut("data").and_then(Value::as_object_mut) else { return };
    data.retain(|name, value| {
        ["cloud-config.conf", "special.keyid", "special.keysecret", "ClusterConfiguration", terway_config::ENTRY]
            .contains(&name.as_str())
            || value.as_str().is_some_and(CloudConfig::is_one)
    });
    for (name, value) in data {
        let Some(text) = value.as_str() else { continue };
        *value = match name.as_str() {
            _ if CloudConfig::is_one(text) => hidden_cloud_config(text).into(),
            _ if is_crossed_out(text) => continue,
            "cloud-config.conf" => hidden_json(text).into(),
            terway_config::ENTRY => hidden_terway_configuration(text).into(),
            "ClusterConfiguration" => hidden_cluster_configuration(text).into(),
            _ => HIDDEN.into(),
        };
    }
}

/// Hides credentials and the values of unknown variables in a configuration of the AWS cloud controller. If it cannot
/// be parsed, the names of variables and sections and the syntax error stay: letters and digits of the rest become `x`.
fn hidden_cloud_config(text: &str) -> String {
    let Ok(sections) = gcfg::parse(text) else {
        let known =
            |name: &str| cloud_config::variables(false).iter().any(|known| known.name.eq_ignore_ascii_case(name));
        let plain = |text: &str| text.chars().map(|c| if c.is_alphanumeric() { 'x' } else { c }).collect::<String>();
        let is_heading = |text: &str| {
            let name = text.trim_start_matches(['\u{feff}', ' ', '\t', '[']).to_ascii_lowercase();
            name.starts_with("global") || name.starts_with("serviceoverride")
        };
        let hide = |line: &str| match (line.split_once(']'), line.split_once('=')) {
            (Some((heading, rest)), _) if is_heading(heading) => format!("{heading}]{}", plain(rest)),
            (_, Some((name, value))) if known(name.trim()) => format!("{name}={}", plain(value)),
            _ => plain(line),
        };
        return text.split('\n').map(hide).collect::<Vec<String>>().join("\n");
    };
    let mut written = String::new();
    for section in sections {
        written.push_str(&match section.subsection.as_str() {
            "" => format!("[{}]\n", section.name),
            // The name of a subsection has two escapes.
            subsection => {
                let escaped = subsection.replace('\\', "\\\\").replace('"', "\\\"");
                format!("[{} \"{escaped}\"]\n", section.name)
            }
        });
        let known = cloud_config::is_override(&section).map(cloud_config::variables).unwrap_or_default();
        for variable in section.variables {
            let is_known = known.iter().any(|known| known.name.eq_ignore_ascii_case(&variable.name));
            written.push_str(&match &variable.value {
                None => variable.name,
                Some(value) if is_known => format!("{}={}", variable.name, gcfg::quoted(&masked(value))),
                Some(_) => format!("{}={HIDDEN}", variable.name),
            });
            written.push('\n');
        }
    }
    written
}

/// Replacement for a credential: valid Base64 if the credential is, because rules check that.
fn stand_in(text: &str) -> &'static str {
    if is_encoded(text) { "bWFza2Vk" } else { HIDDEN }
}

/// Hides credentials in a text of JSON or YAML, as JSON; hides all of any other text.
fn hidden_json(text: &str) -> String {
    fn hide(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    if is_credential(name) { replace(value) } else { hide(value) }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(hide),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    /// Replaces a value under such a name, whatever its type.
    fn replace(value: &mut Value) {
        match value {
            // Rules check for a missing value.
            Value::Null | Value::Bool(_) => {}
            Value::String(text) if text.is_empty() || is_crossed_out(text) => {}
            Value::String(text) => *value = stand_in(text).into(),
            Value::Number(_) => *value = 0.into(),
            Value::Array(items) => items.iter_mut().for_each(replace),
            Value::Object(members) => *members = Map::new(),
        }
    }
    let Some(mut value) = as_json(text) else { return HIDDEN.to_owned() };
    hide(&mut value);
    // An unknown key may hold anything, also if it is misspelt.
    for (name, value) in value.as_object_mut().into_iter().flatten() {
        if !name.eq_ignore_ascii_case("Global") {
            replace(value);
        }
        for (name, value) in value.as_object_mut().into_iter().flatten() {
            let is_known = KEYS.iter().any(|known| known.name.eq_ignore_ascii_case(name));
            if !is_known && !is_credential(name) {
                replace(value);
            }
        }
    }
    value.to_string()
}

/// Keeps of the configuration of terway its modes, and whether it has credentials.
fn hidden_terway_configuration(text: &str) -> String {
    let Ok(Value::Object(mut members)) = serde_json::from_str(text) else { return HIDDEN.to_owned() };
    members.retain(|name, value| {
        let is_mode = terway_config::MODES.contains(&name.as_str());
        let kept: &[&str] = if is_mode { &terway_config::VALUES } else { &[""] };
        if value.as_str().is_none_or(|text| !kept.contains(&text)) {
            *value = HIDDEN.into();
        }
        is_mode || terway_config::CREDENTIALS.contains(&name.as_str())
    });
    Value::Object(members).to_string()
}

/// Only document of a YAML text; JSON is YAML too.
fn as_json(text: &str) -> Option<Value> {
    let source = Source::new("", text.to_owned());
    let documents = source.documents().ok()?;
    serde_json::from_str(&documents.first()?.to_string()).ok()
}

/// Hides what may be a credential in the value of a kubeadm argument: a string, or a scalar that reads like one.
fn hide_argument(name: &str, value: &mut Value) {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Null => return,
        Value::Array(_) | Value::Object(_) => HIDDEN.to_owned(),
    };
    *value = redact_setting(name, &text).into();
}

/// Keeps the version and the component arguments of a kubeadm configuration, as JSON, which is YAML.
fn hidden_cluster_configuration(text: &str) -> String {
    let Some(value) = as_json(text) else { return HIDDEN.to_owned() };
    let mut kept = kept(value, CLUSTER_CONFIGURATION);
    for component in ["/apiServer/extraArgs", "/controllerManager/extraArgs"] {
        match kept.pointer_mut(component) {
            Some(Value::Object(arguments)) => {
                for (name, value) in arguments {
                    hide_argument(name, value);
                }
            }
            Some(Value::Array(arguments)) => {
                for argument in arguments {
                    let name = argument["name"].as_str().unwrap_or_default().to_owned();
                    let Some(members) = argument.as_object_mut() else { continue };
                    members.retain(|key, _| ["name", "value"].contains(&key.as_str()));
                    if let Some(value) = members.get_mut("value") {
                        hide_argument(&name, value);
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
        let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a", "annotations": {"x": "secret"}, "managedFields": []}, "spec": {"template": pod}, "status": {"numberReady": 1, "collisionCount": 1}});
        let kept = recorded(List::DaemonSets, set);
        let expected = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "status": {"numberReady": 1}, "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}});
        assert_eq!(kept, expected);
    }

    #[test]
    fn pods_that_nobody_looks_at_are_left_out() {
        let pod = |annotation: &str| json!({"metadata": {"name": "a", "annotations": {annotation: "x"}}, "spec": {"containers": []}});
        assert!(recorded_text(List::Pods, &pod("kubernetes.io/config.mirror").to_string()).unwrap().is_some());
        assert!(recorded_text(List::Pods, &pod("other").to_string()).unwrap().is_none());
        let of_controller = json!({
            "metadata": {"name": "a", "annotations": {"iam.amazonaws.com/role": "autoscaler", "other": "x"}},
            "spec": {"containers": [{"image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0"}]},
            "status": {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "left out"}}}]},
        });
        let kept = recorded_text(List::Pods, &of_controller.to_string()).unwrap().unwrap();
        assert_eq!(kept["status"]["containerStatuses"][0]["state"], json!({"waiting": {"reason": "ImagePullBackOff"}}));
        assert_eq!(kept["metadata"]["annotations"], json!({"iam.amazonaws.com/role": "autoscaler"}));
    }

    #[test]
    fn hides_access_keys_in_config_maps() {
        let configuration = "kubernetesVersion: v1.31.0\ncontrollerManager:\n  extraArgs:\n    - {name: cloud-provider, value: external}\n    - {name: x-token, value: leak}\netcd: {external: {password: leak}}\n";
        let map = json!({"data": {
            "cloud-config.conf": r#"{"Global": {"accessKeyID": "abc", "accessKeySecret": "bGVhaw==", "region": "cn-hangzhou"}}"#,
            "special.keyid": "leak",
            "ClusterConfiguration": configuration,
            "other": "leak",
        }});
        let kept = recorded(List::ConfigMaps, map);
        let expected = r#"{"Global":{"accessKeyID":"********","accessKeySecret":"bWFza2Vk","region":"cn-hangzhou"}}"#;
        assert_eq!(kept["data"]["cloud-config.conf"], expected);
        assert!(!kept.to_string().contains("leak") && !kept.to_string().contains("bGVhaw"), "{kept}");
        let found = kept["data"]["ClusterConfiguration"].as_str().unwrap();
        assert!(found.contains("external") && found.contains("v1.31.0"), "{found}");
        let broken = json!({"data": {"cloud-config.conf": "password = leak\ntoken: |\n  leak"}});
        assert!(!recorded(List::ConfigMaps, broken).to_string().contains("leak"));
    }

    #[test]
    fn keeps_the_modes_of_terway_and_no_key() {
        let of =
            |text: &str| recorded(List::ConfigMaps, json!({"data": {"eni_conf": text}}))["data"]["eni_conf"].clone();
        let text = r#"{"version": "1", "access_key": "leak", "access_secret": "", "ipam_type": "crd", "security_group": "sg-1"}"#;
        let kept = of(text);
        assert_eq!(kept, r#"{"access_key":"********","access_secret":"","ipam_type":"crd"}"#);
        assert_eq!(of(kept.as_str().unwrap()), kept);
        assert_eq!(of("access_key: leak"), HIDDEN);
        assert_eq!(of(r#"{"ipam_type": {"a": "leak"}}"#), r#"{"ipam_type":"********"}"#);
    }

    #[test]
    fn keeps_aws_cloud_configurations() {
        let of = |text: &str| {
            let kept = recorded(List::ConfigMaps, json!({"data": {"cloud.conf": text}}));
            kept["data"]["cloud.conf"].as_str().map(str::to_owned)
        };
        let text = "[Global]\nKubernetesClusterID = x ; of prod\nVPC\nPassword = leak\nRoleARN = https://user:leak@host\n\n[Other]\nVPC = leak\n\n[ServiceOverride \"a\\\"\tb\"]\nURL = \"https://x;y\"\n";
        let kept = of(text).unwrap();
        let stars = "*".repeat("user:leak".len());
        let expected = format!(
            "[Global]\nKubernetesClusterID=\"x\"\nVPC\nPassword={HIDDEN}\nRoleARN=\"https://{stars}@host\"\n[Other]\nVPC={HIDDEN}\n[ServiceOverride \"a\\\"\tb\"]\nURL=\"https://x;y\"\n"
        );
        assert_eq!(kept, expected);
        assert_eq!(of(&kept), Some(kept), "a recording stays the same when recorded again");
        for (broken, expected) in [
            ("[Global]\nVPC = \"leak\n", "[Global]\nVPC = \"xxxx\n"),
            ("\u{feff}[Global]\nVPC=leak\nleak", "\u{feff}[Global]\nVPC=xxxx\nxxxx"),
            ("[Global]\nRoleARN = a\\leak\n", "[Global]\nRoleARN = x\\xxxx\n"),
        ] {
            assert_eq!(of(broken).as_deref(), Some(expected), "syntax errors stay");
        }
        assert_eq!(of("[Global]\nauth-url = leak\n"), None, "configurations of another cloud are dropped");
    }

    #[test]
    fn hides_credentials_with_any_type() {
        let of = |text: &str| {
            let kept = recorded(List::ConfigMaps, json!({"data": {"cloud-config.conf": text}}));
            kept["data"]["cloud-config.conf"].as_str().unwrap().to_owned()
        };
        for (text, expected) in [
            (r#"{"token": ["leak", {"x": "leak"}], "a": 1}"#, r#"{"a":0,"token":["********",{}]}"#),
            (
                r#"{"Global": {"acesKeySecrt": "leak!", "ak": "leak!", "region": "cn-hangzhou"}}"#,
                r#"{"Global":{"acesKeySecrt":"********","ak":"********","region":"cn-hangzhou"}}"#,
            ),
            (r#"{"Global": {"accessKeySecret": {"x": "leak"}}}"#, r#"{"Global":{"accessKeySecret":{}}}"#),
            (r#"{"password": 12345678}"#, r#"{"password":0}"#),
            (r#"{"Global": {"accessKeyID": "", "vpcid": "y"}}"#, r#"{"Global":{"accessKeyID":"","vpcid":"y"}}"#),
            (
                "Global:\n  accessKeyID: leak!\n  region: cn-hangzhou\n",
                r#"{"Global":{"accessKeyID":"********","region":"cn-hangzhou"}}"#,
            ),
            ("{broken: [leak", HIDDEN),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
