//! Recordings made from output of kubectl, in the same format as those of a live cluster.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::inventory::kubernetes::{List, RecordedList, Recording};
use crate::text;

use super::super::error::KubernetesError;
use super::super::evidence::Evidence;
use super::super::read::first_look;
use super::super::source::Source;
use super::recorded_text;

/// A list of the API: its type and its items.
#[derive(Deserialize)]
struct Whole<'t> {
    #[serde(default)]
    kind: String,
    #[serde(default, rename = "apiVersion")]
    api_version: String,
    #[serde(default, borrow)]
    items: Option<Vec<&'t RawValue>>,
}

/// Recorder for the contents of files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    lists: BTreeMap<List, Vec<Value>>,
    seen_at: Option<Timestamp>,
    /// Number of objects that no recorded list covers: configurations of clusters, and objects that no rule checks.
    pub left_out: usize,
}

impl Kept {
    /// Adds the contents of a file: output of kubectl, or manifests, in JSON or YAML.
    ///
    /// # Errors
    /// As [`Evidence::parse`].
    pub(crate) fn add(&mut self, file: &str, bytes: Vec<u8>) -> Result<(), KubernetesError> {
        let evidence = Evidence::parse(file, bytes.clone())?;
        self.seen_at = self.seen_at.max(evidence.known_time());
        drop(evidence);
        let malformed =
            |reason: String| KubernetesError::Malformed { file: file.to_owned(), reason, line: 1, column: 1 };
        // It is UTF-8, because it was parsed above.
        let text = String::from_utf8(bytes).unwrap_or_default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let values: Result<Vec<&RawValue>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        let added = if let Ok(values) = values {
            values.iter().try_for_each(|value| self.value(value.get()))
        } else {
            let source = Source::new(file, text.to_owned());
            let documents = source.documents().map_err(|error| malformed(error.reason))?;
            documents.iter().try_for_each(|node| self.value(&node.to_string()))
        };
        added.map_err(|error| malformed(text::without_position(&error)))
    }

    /// Recording of all files, with the latest time that they mention.
    #[must_use]
    pub(crate) fn recording(self) -> Recording {
        let lists = self.lists.into_iter().map(|(list, items)| RecordedList { list, items });
        Recording { read_at: self.seen_at.map(|time| time.to_string()), lists: lists.collect(), gaps: Vec::new() }
    }

    fn value(&mut self, text: &str) -> Result<(), serde_json::Error> {
        let whole = match serde_json::from_str::<Whole<'_>>(text) {
            Ok(whole) => whole,
            Err(error) if error.is_data() => {
                self.left_out += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let (Some(items), Some(kind)) = (whole.items, whole.kind.strip_suffix("List")) else {
            return self.object(text, "", "");
        };
        if let Some(list) = find_list(&whole.api_version, kind) {
            self.lists.entry(list).or_default();
        }
        items.iter().try_for_each(|item| self.object(item.get(), &whole.api_version, kind))
    }

    /// Adds an object; items of a typed list do not repeat its kind.
    fn object(&mut self, text: &str, version: &str, kind: &str) -> Result<(), serde_json::Error> {
        let (own_version, own_kind) = first_look(text);
        let (version, kind) = (own_version.unwrap_or_else(|| version.into()), own_kind.unwrap_or_else(|| kind.into()));
        match find_list(&version, &kind) {
            Some(list) => self.lists.entry(list).or_default().extend(recorded_text(list, text)?),
            None => self.left_out += 1,
        }
        Ok(())
    }
}

/// List of an object in any version of its API group; workloads were in another group before.
fn find_list(version: &str, kind: &str) -> Option<List> {
    let group = |version: &str| version.split_once('/').map_or("", |(group, _)| group).to_owned();
    List::ALL.into_iter().find(|list| {
        let (of_version, of_kind) = list.kind();
        let is_of_group = group(&of_version) == group(version);
        of_kind == kind && (is_of_group || list.group() == "apps" && group(version) == "extensions")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_yaml_are_recorded() {
        for number in ["099720109477", "+1", ".5", "1.", "1e400", "17"] {
            let manifest = format!(
                "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: a}}\nspec: {{tags: {{owner: {number}}}}}\n"
            );
            let mut kept = Kept::default();
            kept.add("a.yaml", manifest.into_bytes()).unwrap();
            let recording = kept.recording();
            let owner = &recording.lists[0].items[0]["spec"]["tags"]["owner"];
            assert_eq!(owner.as_str().map_or_else(|| owner.to_string(), str::to_owned), number);
        }
    }
}
