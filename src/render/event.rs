//! Parts that events of other tools have in common.

use std::io;

use jiff::Timestamp;
use serde_json::Value;

use crate::report::Report;

/// Time at which the evidence was read.
pub(super) fn evidence_time(report: &Report, format: &str) -> io::Result<Timestamp> {
    let Some(read) = &report.source.collected_at else {
        let reason = format!("the evidence has no date, but {format} requires one; `tagaudit record` stores it");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    };
    read.parse()
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, format!("`collected_at` is not a date: {error}")))
}

/// The value without its empty fields.
pub(super) fn present(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, value)| (name, present(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(present).collect()),
        other => other,
    }
}
