//! Presentation: pages for display, JSON for programs, and the formats of other tools. Each is a function of one
//! finished document and computes nothing about it.

mod asff;
mod clusters;
mod csv;
mod effective;
mod emit;
mod event;
mod format;
mod html;
mod json;
mod junit;
mod kubernetes_lint;
mod lint;
mod markdown;
mod migration;
mod ocsf;
mod plan;
mod prometheus;
mod roles;
pub(crate) mod rule_page;
mod sarif;
mod style;
mod table;
mod targets;

pub(crate) use asff::asff;
pub(crate) use clusters::clusters;
pub(crate) use csv::csv;
pub(crate) use effective::{effective, effective_json};
pub use emit::{EmitFormat, emit};
pub use format::{FileFormat, FindingsFormat, ReportFormat};
pub(crate) use html::{html, html_set};
pub use json::json;
pub(crate) use junit::junit;
pub(crate) use kubernetes_lint::kubernetes_lint;
pub(crate) use lint::lint;
pub(crate) use markdown::{markdown, markdown_set};
pub use migration::migration;
pub(crate) use ocsf::ocsf;
pub use plan::{plan, skipped};
pub(crate) use prometheus::{prometheus, prometheus_set};
pub(crate) use roles::policy_diff;
pub(crate) use sarif::sarif;
pub use style::TableOptions;
pub(crate) use style::layout;
pub use table::report;
pub(crate) use targets::targets;
