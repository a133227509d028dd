//! Help of the most used commands in Chinese: `zh-CN.ftl`, in the syntax of Fluent. Other help stays English.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, Command};
use fluent_bundle::FluentResource;
use fluent_bundle::concurrent::FluentBundle;

use crate::cli::args::language::{LanguageName, Languages};
use crate::cli::io::failure::Exit;
use crate::render::Language;
use crate::rules::translation;

static BUNDLE: LazyLock<FluentBundle<FluentResource>> =
    LazyLock::new(|| translation::bundle(include_str!("zh-CN.ftl")));

/// Commands whose options are translated.
const TRANSLATED: [&str; 5] = ["clusters", "explain", "lint", "rules", "scan"];

/// The command with Chinese help, if the arguments, the variable or the locale of a terminal ask for it.
pub(super) fn translated(
    command: Command,
    arguments: &[OsString],
    variable: Option<OsString>,
    is_terminal: bool,
) -> Command {
    let languages = Languages::new(given(arguments, variable));
    if languages.of(is_terminal) == Language::Chinese { in_chinese(command) } else { command }
}

/// The language of `--lang`, or else of the variable. Help is printed before clap has read either.
fn given(arguments: &[OsString], variable: Option<OsString>) -> Option<LanguageName> {
    let mut value = variable.map(|value| value.to_string_lossy().into_owned());
    for (index, argument) in arguments.iter().enumerate() {
        let argument = argument.to_string_lossy();
        if let Some(text) = argument.strip_prefix("--lang=") {
            value = Some(text.to_owned());
        } else if argument == "--lang" {
            value = arguments.get(index + 1).map(|next| next.to_string_lossy().into_owned());
        }
    }
    <LanguageName as clap::ValueEnum>::from_str(&value?, true).ok()
}

fn in_chinese(command: Command) -> Command {
    let mut command = command.subcommand_help_heading(text("heading-commands").unwrap_or_default());
    if let Some(about) = text("about") {
        command = command.about(about.clone()).long_about(about);
    }
    let mut codes = text("exit-codes").unwrap_or_default();
    for exit in Exit::ALL {
        let meaning = text(&format!("exit-{}", exit.code())).unwrap_or_else(|| exit.meaning().to_owned());
        let _ = write!(codes, "\n  {:<4} {meaning}", exit.code());
    }
    command = standard(command.after_help(codes));
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(&name, |inner| {
            let inner = standard_within(inner);
            let about = text(&format!("command-{name}"));
            let inner = if let Some(about) = about { inner.about(about.clone()).long_about(about) } else { inner };
            if !TRANSLATED.contains(&name.as_str()) {
                return inner;
            }
            let examples = inner.get_after_help().map(|examples| in_examples(&examples.to_string()));
            let long = inner.get_after_long_help().map(|examples| in_examples(&examples.to_string()));
            let inner = if let Some(examples) = examples { inner.after_help(examples) } else { inner };
            let inner = if let Some(long) = long { inner.after_long_help(long) } else { inner };
            inner.mut_args(|arg| option(&name, arg))
        });
    }
    command
}

/// The heading of examples in Chinese.
fn in_examples(examples: &str) -> String {
    text("heading-examples").map_or_else(|| examples.to_owned(), |heading| examples.replacen("Examples:", &heading, 1))
}

/// The flags of a command and of those within.
fn standard_within(mut command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, standard_within);
    }
    standard(command)
}

/// The flags that clap adds to every command (its setting for them reaches those within), which have no text before it does.
fn standard(command: Command) -> Command {
    let flag = |name: &'static str, short, action| {
        let arg = Arg::new(name).short(short).long(name).action(action);
        let arg = if let Some(heading) = text("heading-options") { arg.help_heading(heading) } else { arg };
        if let Some(help) = text(&format!("option-{name}")) { arg.help(help) } else { arg }
    };
    let command = command.disable_help_flag(true).disable_version_flag(true);
    command.arg(flag("help", 'h', ArgAction::Help)).arg(flag("version", 'V', ArgAction::Version))
}

/// An option in Chinese. The long help states more, and stays English.
fn option(command: &str, arg: Arg) -> Arg {
    let heading = arg.get_help_heading().and_then(|heading| text(&format!("heading-{}", heading.to_lowercase())));
    let heading = heading.or_else(|| text("heading-options")).filter(|_| !arg.is_positional());
    let arg = if let Some(heading) = heading { arg.help_heading(heading) } else { arg };
    let name = arg.get_id().as_str().replace('_', "-");
    let found = text(&format!("option-{command}-{name}")).or_else(|| text(&format!("option-{name}")));
    match found {
        Some(found) => {
            // Without a long text of its own, clap shows the short one there.
            let long = arg.get_long_help().or(arg.get_help()).cloned();
            let arg = arg.help(found);
            if let Some(long) = long { arg.long_help(long) } else { arg }
        }
        None => arg,
    }
}

/// A message of the catalogue.
fn text(id: &str) -> Option<String> {
    let pattern = BUNDLE.get_message(id)?.value()?;
    Some(BUNDLE.format_pattern(pattern, None, &mut Vec::new()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::args::config::command_with_environment;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_option_counts_more_than_the_variable() {
        let zh = || Some(OsString::from("zh"));
        for (line, variable, expected) in [
            ("tagaudit scan --lang zh -h", None, Some(LanguageName::Zh)),
            ("tagaudit scan --lang=zh-CN -h", None, Some(LanguageName::Zh)),
            ("tagaudit scan -h", zh(), Some(LanguageName::Zh)),
            ("tagaudit scan --lang en -h", zh(), Some(LanguageName::En)),
            ("tagaudit scan -h --lang", zh(), None),
            ("tagaudit scan --lang fr -h", None, None),
            ("tagaudit scan -h", None, None),
        ] {
            assert_eq!(given(&arguments(line), variable), expected, "{line}");
        }
    }

    #[test]
    fn every_option_of_the_short_help_is_translated() {
        let mut missing = Vec::new();
        let command = command_with_environment();
        for name in TRANSLATED {
            let command = command.find_subcommand(name).unwrap();
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_hide_short_help_set()) {
                let id = arg.get_id().as_str().replace('_', "-");
                if text(&format!("option-{name}-{id}")).or_else(|| text(&format!("option-{id}"))).is_none() {
                    missing.push(format!("option-{name}-{id}"));
                }
            }
        }
        for inner in command.get_subcommands() {
            let id = format!("command-{}", inner.get_name());
            if text(&id).is_none() {
                missing.push(id);
            }
        }
        missing
            .extend(Exit::ALL.map(|exit| format!("exit-{}", exit.code())).into_iter().filter(|id| text(id).is_none()));
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn every_text_belongs_to_a_command() {
        let command = command_with_environment();
        let mut known: BTreeSet<String> = [
            "about",
            "exit-codes",
            "heading-commands",
            "heading-examples",
            "heading-options",
            "option-help",
            "option-version",
        ]
        .map(str::to_owned)
        .into();
        known.extend(Exit::ALL.map(|exit| format!("exit-{}", exit.code())));
        for inner in command.get_subcommands() {
            let name = inner.get_name();
            known.insert(format!("command-{name}"));
            for arg in inner.get_arguments() {
                let id = arg.get_id().as_str().replace('_', "-");
                known.insert(format!("option-{id}"));
                known.insert(format!("option-{name}-{id}"));
                known.extend(arg.get_help_heading().map(|heading| format!("heading-{}", heading.to_lowercase())));
            }
        }
        let messages =
            include_str!("zh-CN.ftl").lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        for id in messages.map(|line| line.split(" = ").next().unwrap()) {
            assert!(known.contains(id), "nothing has {id}");
        }
    }

    #[test]
    fn help_is_chinese_where_it_is_asked_for() {
        let help = |line: &str, variable: Option<&str>| {
            let variable = variable.map(OsString::from);
            let command = translated(command_with_environment(), &arguments(line), variable, false);
            command.try_get_matches_from(arguments(line)).unwrap_err().to_string()
        };
        let chinese = help("tagaudit scan --lang zh -h", None);
        assert!(chinese.contains("审计一个集群") && chinese.contains("集群 ID"), "{chinese}");
        assert!(help("tagaudit -h", Some("zh")).contains("退出码"));
        assert!(!help("tagaudit scan -h", None).contains("集群"));
        for line in [
            "tagaudit why -h",
            "tagaudit why service --help",
            "tagaudit policy lint -h",
            "tagaudit help scan",
            "tagaudit scan -V",
        ] {
            let shown = help(line, Some("zh"));
            assert!(!shown.contains("unexpected argument") && !shown.contains("Print help"), "{line}: {shown}");
        }
    }
}
