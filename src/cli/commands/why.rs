//! `tagaudit why`.

use crate::render;
use crate::why;

use crate::cli::args::Format;
use crate::cli::args::ask::WhyArgs;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files::read_bytes;
use crate::cli::io::output::emit;

/// Largest paste that is read, in bytes.
const MAX_PASTE_BYTES: u64 = 64 << 20;

/// Answers pasted lines.
pub(in crate::cli) fn run(args: &WhyArgs) -> Result<Exit, Failure> {
    let bytes = read_bytes(&args.file, MAX_PASTE_BYTES, "log")?;
    // Terminals and logs cut characters in two.
    let answers = why::answer(&String::from_utf8_lossy(&bytes));
    emit(args.output.output.as_deref(), &args.output.terminal, |options, out| match args.output.format {
        Format::Table => render::why(&answers, &options, out),
        Format::Json => render::json(&answers, out),
    })?;
    Ok(if answers.is_known() { Exit::Clean } else { Exit::Incomplete })
}
