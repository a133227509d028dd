//! Merges the configuration into the command line: the file sets options that neither the command line nor the
//! environment sets.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::builder::BoolishValueParser;
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser};

use crate::config::{self, Config, ConfigError, ConfigOption, OptionSpec, Takes};
use crate::owner;
use crate::text;

use crate::cli::args::ConfigurationArgs;
use crate::cli::args::chinese;
use crate::cli::args::command::Cli;
use crate::cli::args::examples::with_examples;
use crate::cli::args::help;
use crate::cli::args::plugin;
use crate::cli::io::failure::Failure;
use crate::cli::io::files;
use crate::cli::session::kubernetes as cluster;

/// Options that no file can set: those that write, redirect requests with the operator's credentials, or select the
/// file to read.
const SAID_BY_HAND: [&str; 9] = [
    "help",
    "version",
    "config",
    "no-config",
    "endpoint-url",
    "insecure-endpoint",
    "output",
    "write-waivers",
    "expires",
];

/// Options that a fix accepts only from the command line, its variables, or a file that is named: they decide whose
/// resources are written to, with whose permissions, and what policies grant. A file that was merely found lies in a
/// repository, and others write it.
const EVIDENCE_OR_CONSENT: [&str; 12] = [
    "assume-role",
    "baseline",
    "catalogue",
    "controller-credentials",
    "controller-role",
    "external-id",
    "kube-context",
    "kubernetes",
    "node-role",
    "nodes",
    "profile",
    "scp",
];

/// Reason why there is no command line to work on.
pub(in crate::cli) enum Refusal {
    /// Error of clap; help and version are among them.
    Usage(clap::Error),
    /// The configuration is invalid.
    Config(Failure),
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Self {
        Self::Usage(error)
    }
}

/// Parses the command line together with its configuration.
pub(in crate::cli) fn command_line(arguments: &[OsString]) -> Result<(Cli, Option<Config>), Refusal> {
    // Required options may be set in the file.
    let lenient = command_with_environment().ignore_errors(true).try_get_matches_from(arguments);
    let scan = lenient.as_ref().ok().and_then(|matches| matches.subcommand_matches("scan"));
    let path = scan.filter(|scan| !is_set(scan, "no_config")).and_then(config_file);
    let (Some(scan), Some(path)) = (scan, path) else {
        return Ok((parsed(arguments)?, None));
    };
    let config = read(&path).map_err(Refusal::Config)?;
    let used = unset_options(&config, scan);
    if is_set(scan, "fix") && is_found(scan) {
        check_found(&path, &config.file, &used).map_err(Refusal::Config)?;
    }
    let more = file_arguments(&config, &used, scan);
    let whole: Vec<OsString> = arguments.iter().cloned().chain(more.iter().map(OsString::from)).collect();
    let cli = parsed(&whole).map_err(|error| {
        // If the command line alone is invalid too, the file is not the cause.
        let is_of_file = error.use_stderr() && !more.is_empty() && parsed(arguments).is_ok();
        if is_of_file {
            let said = first_line(&error);
            let failure = Failure::usage(format!("`{}` conflicts with the command line", config.file)).cause(said);
            return Refusal::Config(failure.help("ignore it with --no-config"));
        }
        Refusal::Usage(error)
    })?;
    Ok((cli, Some(config)))
}

/// Options of `scan` in its short help; `--help` has all of them.
const COMMON: [&str; 16] = [
    "all-clusters",
    "cluster-id",
    "config",
    "dry-run",
    "fail-on",
    "fix",
    "format",
    "help",
    "inventory",
    "kube-context",
    "kubernetes",
    "output",
    "profile",
    "provider",
    "region",
    "rule",
];

/// The command, with an environment variable for every scan option that a file may hold.
pub(in crate::cli) fn command_with_environment() -> clap::Command {
    with_examples(Cli::command()).mut_subcommand("scan", |scan| {
        let is_common = |arg: &Arg| arg.get_long().is_some_and(|name| COMMON.contains(&name));
        let scan = scan.mut_args(|arg| if is_common(&arg) { arg } else { arg.hide_short_help(true) });
        scan.mut_args(|arg| match name_in_file(&arg) {
            Some(name) => {
                let variable = format!("TAGAUDIT_{}", name.replace('-', "_").to_uppercase());
                let arg = arg.env(variable).hide_env_values(true);
                if arg.get_action().takes_values() { arg } else { arg.value_parser(BoolishValueParser::new()) }
            }
            None => arg,
        })
    })
}

fn parsed(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let command = help::for_terminal(command_with_environment(), arguments);
    let command = chinese::translated(command, arguments, language_variable(), std::io::stdout().is_terminal());
    if !plugin::is_plugin(arguments) {
        return Cli::from_arg_matches(&command.try_get_matches_from(arguments)?);
    }
    let command = plugin::named(command);
    let whole = plugin::with_context(command.clone(), arguments, cluster::current_context);
    Cli::from_arg_matches(&command.try_get_matches_from(whole)?)
}

/// The variable of `--lang`.
#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn language_variable() -> Option<OsString> {
    std::env::var_os("TAGAUDIT_LANG").filter(|value| !value.is_empty())
}

/// True if a flag is set; the matches of a line that clap gave up on may be empty.
fn is_set(scan: &ArgMatches, flag: &str) -> bool {
    scan.try_get_one::<bool>(flag).ok().flatten().copied().unwrap_or(false)
}

/// True if no file is named and the one in the working folder is read.
fn is_found(scan: &ArgMatches) -> bool {
    scan.try_get_one::<PathBuf>("config").ok().flatten().is_none()
}

/// Refuses a found file for a fix if it belongs to another user or decides whose resources are written to.
fn check_found(path: &Path, file: &str, used: &[&ConfigOption]) -> Result<(), Failure> {
    let named = format!("name it with --config {}, or ignore it with --no-config", text::shell_quote(file));
    if belongs_to_another_user(path) {
        return Err(Failure::usage(format!("`{file}` belongs to another user, and a fix does not use it"))
            .cause("it was found in the working folder, but not named")
            .help(named));
    }
    let Some(option) = used.iter().find(|option| EVIDENCE_OR_CONSENT.contains(&option.name.as_str())) else {
        return Ok(());
    };
    let reason =
        format!("`{}` decides what a fix may write, but the file was only found in the working folder", option.name);
    let help = format!(
        "set --{} on the command line, or name the file with --config {}",
        option.name,
        text::shell_quote(file)
    );
    Err(failure(ConfigError { file: file.to_owned(), place: option.place, reason, help: Some(help) }))
}

/// True if a file, or the link to it, belongs neither to the caller nor to root.
fn belongs_to_another_user(path: &Path) -> bool {
    let places = [path.symlink_metadata(), path.metadata()];
    places.into_iter().flatten().any(|file| owner::has_other_owner(&file) && !owner::is_owned_by_root(&file))
}

/// `--config`, or the file of the working folder.
fn config_file(scan: &ArgMatches) -> Option<PathBuf> {
    named_or_default(scan.try_get_one::<PathBuf>("config").ok().flatten().cloned())
}

fn named_or_default(named: Option<PathBuf>) -> Option<PathBuf> {
    // Anything with this name is read: a folder or a dangling link is reported as an error.
    named.or_else(|| Some(PathBuf::from(config::FILE)).filter(|path| path.symlink_metadata().is_ok()))
}

/// Configuration of a command other than `scan`; its severities and waivers apply there too.
pub(in crate::cli) fn read_optional(args: &ConfigurationArgs) -> Result<Option<Config>, Failure> {
    if args.no_config {
        return Ok(None);
    }
    named_or_default(args.config.clone()).map(|path| read(&path)).transpose()
}

/// Parses a configuration.
pub(in crate::cli) fn parse(file: &str, bytes: &[u8]) -> Result<Config, Failure> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Failure::usage(format!("the configuration `{file}` is not UTF-8")).cause(error.to_string()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Config::parse(file, text, &options()).map_err(failure)
}

/// Reads a configuration and checks each of its options.
pub(in crate::cli) fn read(path: &Path) -> Result<Config, Failure> {
    let file = path.display().to_string();
    let config = parse(&file, &files::read_bytes(path, config::MAX_BYTES, "configuration")?)?;
    for option in &config.options {
        let alone = ["tagaudit", "scan"].map(str::to_owned).into_iter().chain(said(option));
        let Err(error) = Cli::try_parse_from(alone) else { continue };
        // Options that it requires are checked when everything is combined.
        let is_its_own = error
            .get(ContextKind::InvalidArg)
            .is_some_and(|arg| arg.to_string().split(' ').next() == Some(&format!("--{}", option.name)));
        if is_its_own && matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
            let reason = first_line(&error);
            return Err(failure(ConfigError { file, place: option.place, reason, help: None }));
        }
    }
    Ok(config)
}

fn failure(error: ConfigError) -> Failure {
    let failure = Failure::usage(format!("cannot use the configuration `{}`", error.file)).cause(error.to_string());
    match error.help {
        Some(help) => failure.help(help),
        None => failure,
    }
}

/// First paragraph of an error of clap, without usage and tips.
pub(in crate::cli) fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

/// Options of a file that neither the command line nor the environment sets.
fn unset_options<'c>(config: &'c Config, scan: &ArgMatches) -> Vec<&'c ConfigOption> {
    let command = Cli::command();
    let Some(known) = command.find_subcommand("scan") else { return Vec::new() };
    let is_used = |option: &&ConfigOption| {
        let mut arguments = known.get_arguments();
        arguments.any(|arg| arg.get_long() == Some(option.name.as_str()) && !is_overridden(arg, known, scan))
    };
    config.options.iter().filter(is_used).collect()
}

/// True if an option is set on the command line or in the environment, or conflicts with one that is.
fn is_overridden(arg: &Arg, known: &clap::Command, scan: &ArgMatches) -> bool {
    let is_given = |arg: &Arg| {
        let id = arg.get_id().as_str();
        let source = scan.try_contains_id(id).is_ok().then(|| scan.value_source(id)).flatten();
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    let given: Vec<&Arg> = known.get_arguments().filter(|arg| is_given(arg)).collect();
    // A file that is named on the command line gets its format there.
    let names_output = given.iter().any(|arg| arg.get_id() == "output");
    let conflicts = known.get_arg_conflicts_with(arg);
    let is_refused = |given: &&Arg| {
        given.get_id() == arg.get_id()
            || conflicts.iter().any(|other| other.get_id() == given.get_id())
            || known.get_arg_conflicts_with(given).iter().any(|other| other.get_id() == arg.get_id())
    };
    given.iter().any(is_refused) || (names_output && arg.get_id() == "format")
}

/// Arguments for the options of a file that are used in addition to the command line.
fn file_arguments(config: &Config, used: &[&ConfigOption], scan: &ArgMatches) -> Vec<String> {
    let mut arguments: Vec<String> = used.iter().flat_map(|option| said(option)).collect();
    let command = Cli::command();
    let Some(known) = command.find_subcommand("scan") else { return arguments };
    // Targets are an option whose value is the file itself.
    let targets = known.get_arguments().find(|arg| arg.get_id() == "targets");
    if !config.targets.is_empty() && targets.is_some_and(|targets| !is_overridden(targets, known, scan)) {
        arguments.push(format!("--targets={}", config.file));
    }
    arguments
}

/// An option as arguments of the command line.
pub(in crate::cli) fn said(option: &ConfigOption) -> Vec<String> {
    let one = |value: &Option<String>| match value {
        Some(value) => format!("--{}={value}", option.name),
        None => format!("--{}", option.name),
    };
    option.values.iter().map(one).collect()
}

/// Name of an option in a file and in the environment; `None` if it may not be set there.
fn name_in_file(arg: &Arg) -> Option<&str> {
    let is_of_fix = arg.get_help_heading() == Some("Fix");
    arg.get_long().filter(|name| !is_of_fix && !SAID_BY_HAND.contains(name))
}

/// The options that a file may hold, by name.
pub(in crate::cli) fn options() -> Vec<OptionSpec> {
    let command = Cli::command();
    let Some(scan) = command.find_subcommand("scan") else { return Vec::new() };
    let mut options: Vec<OptionSpec> = scan
        .get_arguments()
        .filter_map(|arg| Some((arg, name_in_file(arg)?)))
        .map(|(arg, name)| OptionSpec {
            name: name.to_owned(),
            help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
            takes: match arg.get_action() {
                // A second format would need a file, which only the command line can name.
                ArgAction::Append if name == "format" => Takes::One,
                ArgAction::Append => Takes::Many,
                ArgAction::SetTrue => Takes::Flag,
                _ => Takes::One,
            },
            choices: if arg.get_action().takes_values() {
                arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
            } else {
                Vec::new()
            },
        })
        .collect();
    options.sort_by(|a, b| a.name.cmp(&b.name));
    options
}
