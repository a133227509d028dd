//! Long text on a terminal, through the pager of its user.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::process::{Command, Stdio};

/// Pager where no variable names one.
const DEFAULT: &str = "less";

/// Options of `less`, unless its user has some: leave short text on the screen, show colours, do not clear the screen.
/// Source: git-config, "core.pager".
const LESS: &str = "FRX";

/// Writes text to standard output: through a pager if it is a terminal and the text is longer than the screen.
///
/// # Errors
/// When standard output fails. If a pager cannot be started, the text is written without one.
pub(in crate::cli) fn write(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let is_long = || terminal_size::terminal_size().is_some_and(|(_, height)| lines(text) >= usize::from(height.0));
    if stdout.is_terminal()
        && is_long()
        && let Some(command) = command(variable("TAGAUDIT_PAGER"), variable("PAGER"))
        && paged(&command, text)
    {
        return Ok(());
    }
    stdout.write_all(text)
}

#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The words of the pager; `None` if it is switched off, by an empty value or `cat`.
fn command(own: Option<OsString>, common: Option<OsString>) -> Option<Vec<String>> {
    let named = own.or(common).map_or_else(|| DEFAULT.to_owned(), |value| value.to_string_lossy().into_owned());
    let words = shell_words::split(&named).ok()?;
    (words.first().is_some_and(|program| program != "cat")).then_some(words)
}

fn lines(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').count() - 1
}

/// True if the pager was started.
fn paged(command: &[String], text: &[u8]) -> bool {
    let [program, arguments @ ..] = command else { return false };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    if variable("LESS").is_none() {
        command.env("LESS", LESS);
    }
    // Where the locale is not installed, `less` would show Chinese as numbers.
    if variable("LESSCHARSET").is_none() {
        command.env("LESSCHARSET", "utf-8");
    }
    let Ok(mut pager) = command.spawn() else { return false };
    if let Some(mut input) = pager.stdin.take() {
        // Whoever has read enough closes the pager.
        let _ = input.write_all(text);
    }
    let _ = pager.wait();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(own: Option<&str>, common: Option<&str>) -> Option<Vec<String>> {
        command(own.map(OsString::from), common.map(OsString::from))
    }

    #[test]
    fn the_own_variable_counts_more_than_the_common_one() {
        assert_eq!(words(None, None).unwrap(), ["less"]);
        assert_eq!(words(None, Some("most -s")).unwrap(), ["most", "-s"]);
        assert_eq!(words(Some("bat --style 'plain x'"), Some("most")).unwrap(), ["bat", "--style", "plain x"]);
    }

    #[test]
    fn an_empty_value_and_cat_switch_it_off() {
        for (own, common) in [(Some(""), Some("less")), (Some("cat"), None), (None, Some("")), (None, Some("  "))] {
            assert_eq!(words(own, common), None, "{own:?} {common:?}");
        }
        assert_eq!(words(Some("'"), None), None, "an open quotation mark");
    }

    #[test]
    fn a_pager_that_does_not_exist_is_not_started() {
        assert!(!paged(&["/nonexistent/pager".to_owned()], b"text"));
        assert!(!paged(&[], b"text"));
    }
}
