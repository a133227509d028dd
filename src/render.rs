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

pub use asff::asff;
pub use clusters::clusters;
pub use csv::csv;
pub use effective::{effective, effective_json};
pub use emit::{EmitFormat, emit};
pub use format::{FileFormat, FindingsFormat, ReportFormat};
pub use html::{html, html_set};
pub use json::json;
pub use junit::junit;
pub use kubernetes_lint::kubernetes_lint;
pub use lint::lint;
pub use markdown::{markdown, markdown_set};
pub use migration::migration;
pub use ocsf::ocsf;
pub use plan::{plan, skipped};
pub use prometheus::{prometheus, prometheus_set};
pub use roles::policy_diff;
pub use sarif::sarif;
pub use style::TableOptions;
pub(crate) use style::layout;
pub use table::report;
pub use targets::targets;
