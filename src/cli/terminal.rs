//! Messages on standard error, and questions to the operator.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::text;

use super::failure::{Exit, Failure};
use super::output::error_width;
use super::{ColorChoice, TerminalArgs};

/// Properties of standard error.
pub(super) struct Out {
    pub(super) color: bool,
    pub(super) width: usize,
}

impl Out {
    pub(super) fn new(terminal: &TerminalArgs) -> Self {
        let color = match terminal.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never,
        };
        Self { color, width: error_width() }
    }
}

/// Writes to standard error, even with `--quiet`.
pub(super) fn say(page: &str) {
    let _ = io::stderr().lock().write_all(page.as_bytes());
}

pub(super) fn line(line: &str) {
    say(&format!("{}\n", text::printable(line)));
}

pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

pub(super) fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| {
        Failure::new(Exit::Unfixed, "cannot read the answer; nothing was written").cause(error.to_string())
    })?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}
