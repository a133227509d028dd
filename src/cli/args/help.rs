//! Help for the terminal: doc comments are written in Markdown, whose code spans become quoted words there.

use std::ffi::OsString;

use clap::Command;
use clap::builder::StyledStr;

/// The command with help for the terminal. The short help has no environment variables; the long one has.
pub(super) fn for_terminal(command: Command, arguments: &[OsString]) -> Command {
    let is_short = arguments.iter().any(|argument| argument == "-h");
    readable(command, is_short)
}

fn readable(mut command: Command, is_short: bool) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |inner| readable(inner, is_short));
    }
    let about = command.get_about().map(plain);
    let long_about = command.get_long_about().map(plain);
    let after = command.get_after_help().map(plain);
    let long_after = command.get_after_long_help().map(plain);
    if let Some(text) = about {
        command = command.about(text);
    }
    if let Some(text) = long_about {
        command = command.long_about(text);
    }
    if let Some(text) = after {
        command = command.after_help(text);
    }
    if let Some(text) = long_after {
        command = command.after_long_help(text);
    }
    command.mut_args(|arg| {
        let (help, long) = (arg.get_help().map(plain), arg.get_long_help().map(plain));
        let arg = if is_short { arg.hide_env(true) } else { arg };
        let arg = if let Some(help) = help { arg.help(help) } else { arg };
        if let Some(long) = long { arg.long_help(long) } else { arg }
    })
}

/// A text with quotation marks in place of code spans.
fn plain(text: &StyledStr) -> StyledStr {
    quoted(&text.ansi().to_string()).into()
}

fn quoted(text: &str) -> String {
    let mut parts = text.split('`');
    let mut found = parts.next().unwrap_or_default().to_owned();
    let mut is_code = true;
    for part in parts {
        found.push('\'');
        found.push_str(part);
        is_code = !is_code;
    }
    // An odd mark is not a span.
    if is_code { found } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::config::command_with_environment;

    #[test]
    fn spans_are_quoted() {
        assert_eq!(quoted("a `b` and `c d`"), "a 'b' and 'c d'");
        assert_eq!(quoted("a ` b"), "a ` b");
    }

    /// No help has marks of Markdown.
    #[test]
    fn no_help_has_marks_of_markdown() {
        fn check(command: &mut Command) {
            let text = command.render_long_help().to_string();
            assert!(!text.contains('`'), "{}: {text}", command.get_name());
            command.get_subcommands_mut().for_each(check);
        }
        check(&mut for_terminal(command_with_environment(), &[]));
    }
}
