//! Presentation: pages for a person, JSON for programs, and what other tools read. Each is a function of one finished
//! document and computes nothing about it.

mod clusters;
mod csv;
mod emit;
mod json;
mod junit;
mod lint;
mod markdown;
mod plan;
mod roles;
mod style;
mod table;

pub use clusters::clusters;
pub use csv::csv;
pub use emit::{EmitFormat, emit};
pub use json::json;
pub use junit::junit;
pub use lint::lint;
pub use markdown::markdown;
pub use plan::{plan, skipped};
pub use roles::policy_diff;
pub use style::TableOptions;
pub(crate) use style::layout;
pub use table::report;
