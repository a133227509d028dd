//! Options of the metadata service in a plan.

use serde_json::{Map, Value};

use crate::aws::MetadataOptions;

/// Options of the metadata service in a block.
pub(super) fn metadata(block: &Map<String, Value>, held: Option<MetadataOptions>) -> MetadataOptions {
    let text = |key: &str| block.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let limit = block.get("http_put_response_hop_limit").and_then(Value::as_i64);
    let held = held.unwrap_or_default();
    MetadataOptions {
        http_endpoint: text("http_endpoint").or(held.http_endpoint),
        http_tokens: text("http_tokens").or(held.http_tokens),
        http_put_response_hop_limit: limit
            .and_then(|limit| i32::try_from(limit).ok())
            .filter(|limit| *limit > 0)
            .or(held.http_put_response_hop_limit),
        instance_metadata_tags: text("instance_metadata_tags").or(held.instance_metadata_tags),
    }
}
