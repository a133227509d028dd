//! The tags that a launch template gives to what it creates, as text.
//! Source: Amazon EC2 API Reference, `LaunchTemplateTagSpecificationRequest`.

use serde::{Deserialize, Serialize};

use crate::tags::{Tag, TagSpecification};

/// A tag specification as the API takes it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Stated {
    resource_type: String,
    tags: Vec<StatedTag>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct StatedTag {
    key: String,
    value: String,
}

/// Tag specifications as JSON, sorted; `None` if there is none: a version without a list inherits the one of its source.
pub(crate) fn to_text(all: Vec<TagSpecification>) -> Option<String> {
    let stated: Vec<Stated> = canonical(all)
        .into_iter()
        .filter(|one| !one.tags.is_empty())
        .map(|one| Stated {
            resource_type: one.resource_type,
            tags: one.tags.into_iter().map(|Tag { key, value }| StatedTag { key, value }).collect(),
        })
        .collect();
    if stated.is_empty() {
        return None;
    }
    serde_json::to_string(&stated).ok()
}

/// The tag specifications of such a text; `None` for any other.
pub(crate) fn parse(json: &str) -> Option<Vec<TagSpecification>> {
    let stated: Vec<Stated> = serde_json::from_str(json).ok()?;
    let all: Vec<TagSpecification> = stated
        .into_iter()
        .map(|one| TagSpecification {
            resource_type: one.resource_type,
            tags: one.tags.into_iter().map(|StatedTag { key, value }| Tag { key, value }).collect(),
        })
        .collect();
    // One spelling for each list, so that what is written reads back the same.
    (to_text(all.clone()).as_deref() == Some(json)).then_some(all)
}

fn canonical(mut all: Vec<TagSpecification>) -> Vec<TagSpecification> {
    for one in &mut all {
        one.tags.sort();
    }
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_tags_reads_back_the_same() {
        let tag = |key: &str, value: &str| Tag { key: key.to_owned(), value: value.to_owned() };
        let of = |kind: &str, tags: Vec<Tag>| TagSpecification { resource_type: kind.to_owned(), tags };
        let all = vec![of("volume", vec![tag("team", "a")]), of("instance", vec![tag("b", "2"), tag("a", "1")])];
        let json = to_text(all.clone()).unwrap();
        assert_eq!(
            json,
            r#"[{"ResourceType":"instance","Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]},{"ResourceType":"volume","Tags":[{"Key":"team","Value":"a"}]}]"#
        );
        assert_eq!(parse(&json), Some(canonical(all)));
        for other in ["", "[]", "{}", r#"[{"ResourceType":"instance","Tags":[]}]"#, &format!(" {json}")] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
