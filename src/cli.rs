//! The command line, in layers: [`args`] are parsed, `session` reads the clouds that they name, and each file of
//! `commands` carries out one command. `io` is the terminal, files, the clock, and exit codes.

mod args;
mod commands;
mod io;
mod session;

pub use commands::alibaba_versions::alibaba_versions_markdown;
pub use commands::baseline::releases_markdown;
pub use commands::catalogue::{rules_markdown, rules_markdown_in_chinese};
pub use commands::config::config_schema;
pub use commands::run::main;
pub use io::failure::{Exit, Failure};
