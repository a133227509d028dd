//! Recognises the items of a list before they are parsed.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::controller::companion;
use crate::policy::json::{JsonError, Node};

use super::super::source::Source;

/// Marks of pods that rules check, next to the images of other controllers: cloud controllers, static pods, and pods that no
/// node takes.
const OF_PODS: [&str; 3] = ["cloud-controller-manager", "kubernetes.io/config.mirror", "\"Unschedulable\""];

/// Finds the mark of a pod that rules check.
static MARKS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(OF_PODS.into_iter().chain(companion::images())).ok());

/// True if a pod, as JSON, is one that rules check.
pub(in crate::kubernetes) fn is_looked_at(pod: &str) -> bool {
    MARKS.as_ref().is_none_or(|marks| marks.is_match(pod))
}

/// `apiVersion` and `kind` of a JSON object. The API writes them first; the rest is then not read.
pub(in crate::kubernetes) fn first_look(item: &str) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
    let mut found = (None, None);
    let mut deserializer = serde_json::Deserializer::from_str(item);
    // Stopping early is an error for the deserializer, and expected here.
    let _ = FirstLook(&mut found).deserialize(&mut deserializer);
    found
}

pub(super) struct FirstLook<'f, 't>(&'f mut (Option<Cow<'t, str>>, Option<Cow<'t, str>>));

impl<'t> DeserializeSeed<'t> for FirstLook<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'t> Visitor<'t> for FirstLook<'_, 't> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<Cow<'t, str>>()? {
            match &*key {
                "apiVersion" => self.0.0 = Some(members.next_value::<Text<'t>>()?.0),
                "kind" => self.0.1 = Some(members.next_value::<Text<'t>>()?.0),
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
            if self.0.0.is_some() && self.0.1.is_some() {
                break;
            }
        }
        Ok(())
    }
}

/// A text, borrowed if possible.
#[derive(Deserialize)]
pub(super) struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

/// Parses a part of a JSON text, with places relative to the whole.
pub(super) fn placed(source: &Source, part: &str) -> Result<Node, JsonError> {
    let before = part.as_ptr().addr().saturating_sub(source.text().as_ptr().addr());
    let mut node = Node::parse(part)?;
    node.move_by(before);
    Ok(node)
}
