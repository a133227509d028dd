//! What events of other tools have in common.

use std::io;

use jiff::Timestamp;
use serde_json::Value;

use crate::report::Report;

/// When the evidence was read.
pub(super) fn time_of(report: &Report, format: &str) -> io::Result<Timestamp> {
    let Some(read) = &report.source.collected_at else {
        let reason = format!("the evidence has no date, and {format} asks for one; `tagaudit record` writes it down");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    };
    read.parse()
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, format!("`collected_at` is not a date: {error}")))
}

/// The value without the fields that hold nothing.
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
