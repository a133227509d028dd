//! Configurations of the cloud controller of Alibaba Cloud.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::controller::ControllerVersion;

use crate::policy::json::Value;
use crate::text::is_filled_in_later;

use super::{Document, DocumentKind, Evidence, Located, Object, Place};

/// The access key of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKey {
    None,
    /// One part without the other.
    Half,
    /// A placeholder of a manifest, in an object of a live cluster.
    Placeholder,
    /// Both parts, and one is not in Base64.
    Plain,
    Encoded,
}

/// A switch of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    Off,
    On,
    /// A text, which Go refuses.
    Text,
}

/// A key that some version knows.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// As the file spells it.
    pub(crate) name: Located<String>,
    pub(crate) key: &'static Key,
    /// True if Go refuses the value: it is not of the type of the key.
    pub(crate) is_of_other_type: bool,
}

/// Type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    Text,
    Whole,
    Switch,
}

impl KeyType {
    /// For a sentence.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Whole => "a whole number without quotation marks",
            Self::Switch => "`true` or `false` without quotation marks",
        }
    }

    /// True if Go accepts a value. Numbers and truth values are as good as texts.
    /// Source: sigs.k8s.io/yaml `yaml.go#convertToJSONableObject`.
    fn accepts(self, value: Object<'_>) -> bool {
        match self {
            Self::Text => value.scalar().is_some(),
            Self::Whole => value.number(&[]).is_some(),
            Self::Switch => value.is_switch(),
        }
    }
}

/// A key of `Global`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) holds: KeyType,
    /// First version that has it; `None` for one that version 1.9.3 has.
    pub(crate) since: Option<ControllerVersion>,
}

const fn two(minor: u32, patch: u32) -> ControllerVersion {
    ControllerVersion::new(2, minor, patch)
}

const fn key(name: &'static str, holds: KeyType, since: Option<ControllerVersion>) -> Key {
    Key { name, holds, since }
}

/// Keys of `Global`, except `zoneid`, which no version reads.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/cloud_config.go#CloudConfig`, v2.1.0 to v2.14.0, and
/// `cloud-controller-manager/alicloud.go#CloudConfig` of v1.9.3.
pub(crate) const KEYS: &[Key] = &[
    key("accessKeyID", KeyType::Text, None),
    key("accessKeySecret", KeyType::Text, None),
    key("clusterID", KeyType::Text, None),
    key("disablePublicSLB", KeyType::Switch, None),
    key("featureGates", KeyType::Text, Some(two(0, 0))),
    key("kubernetesClusterTag", KeyType::Text, None),
    key("nodeAddrSyncPeriod", KeyType::Whole, None),
    key("nodeMaxConcurrentReconciles", KeyType::Whole, Some(two(9, 1))),
    key("nodeMonitorPeriod", KeyType::Whole, None),
    key("privateZoneId", KeyType::Text, None),
    key("privateZoneRecordTTL", KeyType::Whole, None),
    key("region", KeyType::Text, None),
    key("resourceGroupID", KeyType::Text, Some(two(9, 1))),
    key("routeMaxConcurrentReconciles", KeyType::Whole, Some(two(11, 2))),
    key("routeTableIDs", KeyType::Text, None),
    key("serviceBackendType", KeyType::Text, None),
    key("serviceMaxConcurrentReconciles", KeyType::Whole, Some(two(9, 1))),
    key("uid", KeyType::Text, None),
    key("vpcid", KeyType::Text, None),
    key("vswitchid", KeyType::Text, None),
];

/// The cloud configuration of a `ConfigMap`.
pub(crate) struct CloudConfig {
    /// Its place in the file.
    pub(crate) place: Place,
    pub(crate) access_key: AccessKey,
    /// Keys that the controller does not know.
    pub(crate) unknown: Vec<Located<String>>,
    /// Known keys, with their values.
    pub(crate) settings: Vec<Setting>,
    /// `clusterID`.
    pub(crate) cluster_id: Option<String>,
    /// `vpcid`.
    pub(crate) vpc: Option<String>,
    /// `vswitchid`: items ZONE:VSWITCH, separated by commas.
    pub(crate) vswitches: Option<String>,
    /// `region`.
    pub(crate) region: Option<String>,
    /// `routeTableIDs`, separated by commas.
    pub(crate) route_tables: Option<String>,
    /// `kubernetesClusterTag`: the tag key that finds instances, instead of `ack.aliyun.com`.
    pub(crate) cluster_tag: Option<String>,
    /// `featureGates`.
    pub(crate) feature_gates: Option<String>,
    /// `serviceBackendType`.
    pub(crate) backend_type: Option<String>,
    /// `disablePublicSLB`, which forbids internet-facing Classic Load Balancers.
    pub(crate) public_disabled: Switch,
}

/// Reads the cloud configuration of a `ConfigMap`; `None` if it has none, or an unreadable one. Go ignores the case of
/// keys.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/cloud_config.go#LoadCloudCFG`, with sigs.k8s.io/yaml.
pub(crate) fn cloud_config(map: &Document) -> Option<CloudConfig> {
    let text = map.object().at(&["data", "cloud-config.conf"])?;
    let inner = map.source.inner(text.node)?;
    let node = inner.documents().ok()?.into_iter().next()?;
    let config = Object { source: &inner, node: &node };
    let global = config.members(&[]).find(|(key, _)| key.value.eq_ignore_ascii_case("Global"))?.1;
    let value = |name: &str| {
        let mut members = global.members(&[]);
        let found = members.find(|(key, _)| key.value.eq_ignore_ascii_case(name))?.1;
        found.node.as_str().map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned)
    };
    // A number is as good as a text: sigs.k8s.io/yaml `yaml.go#convertToJSONableObject`.
    let scalar = |name: &str| {
        let mut members = global.members(&[]);
        let found = members.find(|(key, _)| key.value.eq_ignore_ascii_case(name))?.1;
        found.scalar().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let is_on = |name: &str| {
        let mut members = global.members(&[]);
        let found = members.find(|(key, _)| key.value.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.switch(&[])) == Some(true)
    };
    let is_placeholder = |value: &String| is_placeholder_of_key(value);
    let is_key = |name: &str| value(name).is_some();
    let is_open = |name: &str| value(name).as_ref().is_some_and(is_placeholder);
    // Something may fill in a manifest before it is applied.
    let is_live = map.object().text(&["metadata", "uid"]).is_some_and(|uid| !uid.is_empty());
    let is_unfilled = |name: &&str| value(name).as_ref().is_some_and(is_placeholder);
    let keys = [is_key("accessKeyID"), is_key("accessKeySecret")];
    let is_plain = |name: &str| value(name).is_some_and(|value| !is_encoded(&value));
    let unknown = global.members(&[]).map(|(key, _)| key).filter(|key| {
        !KEYS.iter().any(|known| known.name.eq_ignore_ascii_case(&key.value))
            && !key.value.eq_ignore_ascii_case("zoneid")
    });
    let settings = global.members(&[]).filter_map(|(name, value)| {
        let key = KEYS.iter().find(|known| known.name.eq_ignore_ascii_case(&name.value))?;
        // Something may fill a text in before it is applied, and Go leaves out what is null.
        let is_open = value.node.as_str().is_some_and(is_filled_in_later);
        let is_of_other_type = !is_open && !matches!(value.node.value, Value::Null) && !key.holds.accepts(value);
        Some(Setting { name, key, is_of_other_type })
    });
    let settings: Vec<Setting> = settings.collect();
    Some(CloudConfig {
        place: text.place(),
        access_key: match keys {
            _ if is_live && ["accessKeyID", "accessKeySecret"].iter().any(is_unfilled) => AccessKey::Placeholder,
            [false, false] => AccessKey::None,
            // Something may fill it in before it is applied.
            _ if is_open("accessKeyID") || is_open("accessKeySecret") => AccessKey::None,
            [true, true] if is_plain("accessKeyID") || is_plain("accessKeySecret") => AccessKey::Plain,
            [true, true] => AccessKey::Encoded,
            _ => AccessKey::Half,
        },
        unknown: unknown.collect(),
        settings,
        cluster_id: scalar("clusterID"),
        vpc: value("vpcid"),
        vswitches: value("vswitchid"),
        region: value("region"),
        route_tables: value("routeTableIDs"),
        cluster_tag: value("kubernetesClusterTag"),
        feature_gates: value("featureGates"),
        backend_type: value("serviceBackendType"),
        public_disabled: if value("disablePublicSLB").is_some() {
            Switch::Text
        } else if is_on("disablePublicSLB") {
            Switch::On
        } else {
            Switch::Off
        },
    })
}

/// True for what documentation prints in place of a part of an access key: `$your-AccessKeyID-base64`, `xxxxxxxx`.
fn is_placeholder_of_key(value: &str) -> bool {
    value.starts_with(['$', '<', '{']) || is_crossed_out(value)
}

/// True for a text of the letter X alone, which hides nothing.
pub(crate) fn is_crossed_out(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|one| matches!(one, 'x' | 'X'))
}

/// True if a text is the Base64 of one half of an access key. A key itself often reads like Base64, but not like that of
/// text.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/token.go#LoadAK`.
pub(super) fn is_encoded(text: &str) -> bool {
    STANDARD.decode(text).is_ok_and(|bytes| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_graphic))
}

impl CloudConfig {
    /// True if it has both parts of an access key.
    pub(crate) fn has_key(&self) -> bool {
        matches!(self.access_key, AccessKey::Plain | AccessKey::Encoded)
    }
}

impl Evidence {
    /// The configurations that a controller of Alibaba Cloud reads: it mounts a `ConfigMap` of its namespace.
    pub(crate) fn alibaba_cloud_configs(&self) -> Vec<(&Document, CloudConfig)> {
        self.alibaba_config_maps().filter_map(|map| Some((map, cloud_config(map)?))).collect()
    }

    /// True if a controller of Alibaba Cloud reads a configuration that is neither JSON nor YAML.
    pub(crate) fn has_unreadable_alibaba_config(&self) -> bool {
        let held =
            |map: &&Document| map.object().text(&["data", "cloud-config.conf"]).is_some_and(|text| !text.is_empty());
        let mut maps = self.alibaba_config_maps().filter(held);
        self.aws_controllers().next().is_none() && maps.any(|map| cloud_config(map).is_none())
    }

    fn alibaba_config_maps(&self) -> impl Iterator<Item = &Document> {
        let namespaces: Vec<&str> = self.alibaba_controllers().map(|one| one.workload.namespace.as_str()).collect();
        let is_read = move |map: &&Document| {
            let namespace = map.object().text(&["metadata", "namespace"]).unwrap_or_default();
            let is_default = namespaces.is_empty() && namespace == "kube-system";
            namespace.is_empty() || namespaces.contains(&namespace) || is_default
        };
        self.documents_by_kind(DocumentKind::ConfigMap).filter(is_read)
    }
}
