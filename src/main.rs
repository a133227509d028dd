//! The binary: the only place that turns an outcome into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tagaudit::cli::main().code())
}
