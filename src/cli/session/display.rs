//! Display of the progress of reads.

use std::io::{self, IsTerminal};

use crate::cli::args::TerminalArgs;
use crate::provider::progress::{Display, INTERVAL};

/// Display of the progress: none next to the requests themselves.
pub(in crate::cli) fn display(terminal: &TerminalArgs) -> Display {
    match (terminal.quiet || terminal.verbose, io::stderr().is_terminal()) {
        (true, _) => Display::Hidden,
        (false, true) => Display::Terminal,
        (false, false) => Display::Lines(INTERVAL),
    }
}
