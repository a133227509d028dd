//! A Pod with what decides if it starts: its claims, their volumes, and its events. Read by name for `tagaudit why pod`: of them
//! a scan keeps the events alone. Environments, commands and mounts are not read.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::text;

use super::error::KubernetesError;
use super::source::Source;

/// Name and namespace of an object.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Metadata {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default, rename = "deletionTimestamp")]
    pub(crate) deletion_timestamp: Option<String>,
    #[serde(default, rename = "creationTimestamp")]
    creation_timestamp: Option<String>,
}

/// A Pod.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Pod {
    pub(crate) metadata: Metadata,
    #[serde(default)]
    pub(crate) spec: PodSpec,
    #[serde(default)]
    pub(crate) status: PodStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpec {
    pub(crate) node_name: String,
    restart_policy: String,
    pub(crate) image_pull_secrets: Vec<Metadata>,
    pub(crate) volumes: Vec<PodVolume>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodVolume {
    pub(crate) name: String,
    pub(crate) persistent_volume_claim: Option<ClaimSource>,
    /// A claim that the controller of ephemeral volumes creates under the name `POD-VOLUME`.
    ephemeral: Option<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimSource {
    pub(crate) claim_name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) init_container_statuses: Vec<Container>,
    pub(crate) container_statuses: Vec<Container>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Status of a container.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) ready: bool,
    pub(crate) restart_count: u64,
    pub(crate) state: ContainerState,
    pub(crate) last_state: ContainerState,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerState {
    pub(crate) waiting: Option<Waiting>,
    pub(crate) terminated: Option<Terminated>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Waiting {
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Terminated {
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) exit_code: i64,
}

/// A claim for a volume.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Claim {
    pub(crate) metadata: Metadata,
    #[serde(default)]
    pub(crate) spec: ClaimSpec,
    #[serde(default)]
    pub(crate) status: Phase,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimSpec {
    pub(crate) storage_class_name: Option<String>,
    pub(crate) volume_name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Phase {
    pub(crate) phase: String,
}

/// An event, of either API group.
/// Source: kubernetes/kubernetes `staging/src/k8s.io/api/core/v1/types.go#Event` and `events/v1/types.go#Event`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Event {
    metadata: Metadata,
    #[serde(alias = "regarding")]
    pub(crate) involved_object: Involved,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) reason: String,
    #[serde(alias = "note")]
    pub(crate) message: String,
    #[serde(alias = "deprecatedLastTimestamp")]
    last_timestamp: Option<String>,
    event_time: Option<String>,
    series: Option<Series>,
}

/// Repetitions of an event.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Series {
    last_observed_time: Option<String>,
}

/// Kinds of which Pods are made, and Pods.
const OF_PODS: [&str; 6] = ["DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"];

impl Event {
    /// True for a warning about a Pod, or about what creates Pods.
    pub(super) fn is_about_pods(&self) -> bool {
        self.kind == "Warning" && OF_PODS.contains(&self.involved_object.kind.as_str())
    }

    /// The last time that it occurred, if it is known.
    pub(crate) fn last_seen(&self) -> Option<Timestamp> {
        let series = self.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
        let times = [series, self.last_timestamp.as_ref(), self.event_time.as_ref()];
        let known = times.into_iter().flatten().filter_map(|time| time.parse().ok()).max();
        known.or_else(|| self.metadata.creation_timestamp.as_ref()?.parse().ok())
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Involved {
    pub(crate) uid: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The objects about Pods that were read. A list that is missing is not empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodObjects {
    /// True if Pods were read: one that is not here does not exist.
    pub(crate) has_pods: bool,
    pub(crate) pods: Vec<Pod>,
    pub(crate) claims: Option<Vec<Claim>>,
    pub(crate) events: Option<Vec<Event>>,
    /// Reads that failed, in sentences.
    pub(crate) gaps: Vec<String>,
}

impl Pod {
    /// Names of the claims of its volumes, each with the name of the volume.
    /// Source: kubernetes/kubernetes `staging/src/k8s.io/component-helpers/storage/ephemeral/ephemeral.go#VolumeClaimName`.
    pub(crate) fn claims(&self) -> impl Iterator<Item = (&str, String)> {
        self.spec.volumes.iter().filter_map(|volume| {
            let claim = match (&volume.persistent_volume_claim, &volume.ephemeral) {
                (Some(source), _) => source.claim_name.clone(),
                (None, Some(_)) => format!("{}-{}", self.metadata.name, volume.name),
                (None, None) => return None,
            };
            Some((volume.name.as_str(), claim))
        })
    }

    /// True if a container that has ended with success starts again.
    pub(crate) fn starts_again(&self) -> bool {
        matches!(self.spec.restart_policy.as_str(), "" | "Always")
    }

    /// Statuses of all containers, in the order in which they start.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Container> {
        self.status.init_container_statuses.iter().chain(&self.status.container_statuses)
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|one| one.kind == kind)
    }
}

#[derive(Deserialize)]
struct Typed<'t> {
    #[serde(default)]
    kind: String,
    #[serde(default, borrow)]
    items: Option<Vec<&'t RawValue>>,
}

impl PodObjects {
    /// Reads the output of `kubectl get pods,pvc,events -o json`, or the same in YAML. Objects of other kinds are skipped.
    ///
    /// # Errors
    /// If it is neither JSON nor YAML, or an object does not fit its kind.
    pub(crate) fn parse(file: &str, bytes: Vec<u8>) -> Result<Self, KubernetesError> {
        let malformed = |reason: String, line: usize, column: usize| KubernetesError::Malformed {
            file: file.to_owned(),
            reason,
            line,
            column,
        };
        let read = String::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".to_owned(), 1, 1))?;
        let source = Source::new(file, read.strip_prefix('\u{feff}').unwrap_or(&read).to_owned());
        let documents = source.documents().map_err(|error| malformed(error.reason, error.line, error.column))?;
        let mut found = Self::default();
        for node in &documents {
            let place = source.place(node.span);
            let refused = |error: &serde_json::Error| {
                malformed(format!("invalid object: {}", text::without_position(error)), place.line, place.column)
            };
            found.add(&node.to_string(), "").map_err(|error| refused(&error))?;
        }
        Ok(found)
    }

    /// Adds an object, or the items of a list; items of a typed list do not repeat its kind.
    pub(crate) fn add(&mut self, text: &str, kind_of_list: &str) -> Result<(), serde_json::Error> {
        let typed: Typed<'_> = serde_json::from_str(text)?;
        if let (Some(items), Some(kind)) = (typed.items, typed.kind.strip_suffix("List")) {
            self.note_list(kind);
            return items.iter().try_for_each(|item| self.add(item.get(), kind));
        }
        let kind = if typed.kind.is_empty() { kind_of_list } else { typed.kind.as_str() };
        match kind {
            "Pod" => {
                self.pods.push(serde_json::from_str(text)?);
                self.has_pods = true;
            }
            "PersistentVolumeClaim" => self.claims.get_or_insert_default().push(serde_json::from_str(text)?),
            "Event" => self.events.get_or_insert_default().push(serde_json::from_str(text)?),
            _ => {}
        }
        Ok(())
    }

    /// Records that a kind was read, even if its list is empty.
    fn note_list(&mut self, kind: &str) {
        match kind {
            "Pod" => self.has_pods = true,
            "PersistentVolumeClaim" => {
                self.claims.get_or_insert_default();
            }
            "Event" => {
                self.events.get_or_insert_default();
            }
            _ => {}
        }
    }

    /// Adds the objects of another input.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.has_pods |= other.has_pods;
        self.pods.extend(other.pods);
        if let Some(claims) = other.claims {
            self.claims.get_or_insert_default().extend(claims);
        }
        if let Some(events) = other.events {
            self.events.get_or_insert_default().extend(events);
        }
        self.gaps.extend(other.gaps);
        self
    }

    pub(crate) fn pod(&self, namespace: &str, name: &str) -> Option<&Pod> {
        self.pods.iter().find(|pod| pod.metadata.name == name && pod.metadata.namespace == namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::PodObjects;

    #[test]
    fn lists_of_kubectl_and_of_the_api_are_read() {
        let text = r#"{"kind":"List","items":[
            {"kind":"Pod","metadata":{"name":"web-0","namespace":"shop"},"spec":{"volumes":[
                {"name":"data","persistentVolumeClaim":{"claimName":"data-web-0"}},{"name":"scratch","ephemeral":{}},{"name":"token","projected":{}}]}},
            {"kind":"Event","involvedObject":{"kind":"Pod","name":"web-0"},"type":"Warning","reason":"FailedMount","message":"m"},
            {"kind":"Event","regarding":{"kind":"Pod","name":"web-0"},"type":"Warning","reason":"FailedMount","note":"n"}]}"#;
        let found = PodObjects::parse("f", text.as_bytes().to_vec()).unwrap();
        let claims: Vec<(&str, String)> = found.pods[0].claims().collect();
        assert_eq!(claims, [("data", "data-web-0".to_owned()), ("scratch", "web-0-scratch".to_owned())]);
        let messages: Vec<&str> = found.events.iter().flatten().map(|event| event.message.as_str()).collect();
        assert_eq!(messages, ["m", "n"]);
        assert!(found.claims.is_none());
        let empty = r#"{"kind":"PersistentVolumeClaimList","items":[]}"#;
        assert_eq!(PodObjects::parse("f", empty.as_bytes().to_vec()).unwrap().claims.map(|all| all.len()), Some(0));
    }

    #[test]
    fn broken_text_has_its_place() {
        let text = "kind: ConfigMap\n---\nkind: Pod\nmetadata: a\n";
        let error = PodObjects::parse("f.yaml", text.as_bytes().to_vec()).unwrap_err().to_string();
        assert!(error.contains("f.yaml") && error.contains('3'), "{error}");
        assert!(PodObjects::parse("f", vec![0xff]).is_err());
        assert!(PodObjects::parse("f", b"{".to_vec()).is_err());
    }
}
