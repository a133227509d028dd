//! Messages on standard error, and questions to the operator.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::text;

use crate::cli::args::{ColorChoice, TerminalArgs};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::output::{error_width, is_forced};

/// Properties of standard error.
pub(in crate::cli) struct Out {
    pub(in crate::cli) color: bool,
    pub(in crate::cli) width: usize,
}

impl Out {
    pub(in crate::cli) fn new(terminal: &TerminalArgs) -> Self {
        let color = match terminal.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                is_forced() || anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
            }
        };
        Self { color, width: error_width() }
    }
}

/// Writes to standard error, even with `--quiet`.
pub(in crate::cli) fn say(page: &str) {
    let _ = io::stderr().lock().write_all(page.as_bytes());
}

pub(in crate::cli) fn line(line: &str) {
    say(&format!("{}\n", text::printable(line)));
}

pub(in crate::cli) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

pub(in crate::cli) fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| {
        Failure::new(Exit::Unfixed, "cannot read the answer; nothing was written").cause(error.to_string())
    })?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}
