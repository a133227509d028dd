//! `tagaudit config`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use clap::Parser;
use jiff::ToSpan;

use crate::config::{self, Config, Waiver};
use crate::text;

use crate::cli::args::catalogue::ConfigCommand;
use crate::cli::args::command::{Cli, Command};
use crate::cli::args::config::{first_line, options, read, said};
use crate::cli::io::clock::today;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input;
use crate::cli::io::output;

/// `tagaudit config`.
pub(in crate::cli) fn run(command: &ConfigCommand) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Check { file, expiring } => check(file.as_deref().unwrap_or(Path::new(config::FILE)), *expiring),
        ConfigCommand::Init { file } => init(file.as_deref().unwrap_or(Path::new(config::FILE))),
        ConfigCommand::Schema => output::printed(|out| Ok(out.write_all(config_schema().as_bytes()))),
    }
}

/// `docs/config.schema.json`: the schema of a configuration.
#[must_use]
pub fn config_schema() -> String {
    format!("{:#}\n", config::schema(&options()))
}

/// A configuration to start from.
const TEMPLATE: &str = include_str!("config.toml");

fn init(path: &Path) -> Result<Exit, Failure> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(TEMPLATE.as_bytes()));
    written.map_err(|error| {
        let help = "name another file, or edit this one";
        let failure = Failure::usage(format!("cannot write the configuration `{}`", path.display()));
        let failure = failure.cause(error.to_string());
        if error.kind() == io::ErrorKind::AlreadyExists { failure.help(help) } else { failure }
    })?;
    output::note(&format!("wrote `{}`: enter the id and the region of your cluster", path.display()));
    Ok(Exit::Clean)
}

fn check(path: &Path, expiring: Option<u16>) -> Result<Exit, Failure> {
    let config = read(path)?;
    try_together(&config)?;
    let today = today();
    let until = today.checked_add(i64::from(expiring.unwrap_or_default()).days());
    let until = until.map_err(|error| Failure::usage("--expiring is out of range").cause(error.to_string()))?;
    let ends = |waiver: &&Waiver| waiver.expires < today || expiring.is_some() && waiver.expires <= until;
    let over: Vec<_> = config.waivers.iter().filter(ends).collect();
    let exit = output::printed(|out| {
        let mut lines = vec![format!(
            "{}: {}, {}, {}, {}",
            text::printable(&config.file),
            text::count(config.options.len(), "option"),
            match config.severities.len() {
                1 => "1 severity".to_owned(),
                number => format!("{number} severities"),
            },
            text::count(config.waivers.len(), "waiver"),
            text::count(config.targets.len(), "target")
        )];
        lines.extend(over.iter().map(|waiver| {
            let verb = if waiver.expires < today { "expired" } else { "expires" };
            let (line, expires) = (waiver.place.line, waiver.expires);
            let (rule, resource) = (text::printable(&waiver.rule), text::printable(&waiver.resource));
            format!("line {line}: the waiver of `{rule}` for `{resource}` {verb} on {expires}")
        }));
        Ok(lines.iter().try_for_each(|line| writeln!(out, "{line}")))
    })?;
    Ok(if expiring.is_some() && !over.is_empty() { Exit::Findings } else { exit })
}

/// Checks the options as a scan would: options that conflict, rules and baselines that do not exist.
fn try_together(config: &Config) -> Result<(), Failure> {
    let wrong = |failure: Failure| {
        let mut whole =
            Failure::usage(format!("a scan cannot use the configuration `{}`", config.file)).cause(failure.error);
        whole.causes.extend(failure.causes);
        Failure { help: failure.help, ..whole }
    };
    let mut arguments: Vec<OsString> = ["tagaudit", "scan"].map(OsString::from).into();
    let says_which = ["cluster-id", "all-clusters", "organization", "targets"];
    if !config.options.iter().any(|option| says_which.contains(&option.name.as_str()) && !option.values.is_empty()) {
        arguments.push("--cluster-id=x".into());
    }
    arguments.extend(config.options.iter().flat_map(said).map(OsString::from));
    let cli = Cli::try_parse_from(arguments).map_err(|error| wrong(Failure::usage(first_line(&error))))?;
    if let Command::Scan(args) = &cli.command {
        input::selected_rules(args).map_err(wrong)?;
        input::baselines(&args.audit).map_err(wrong)?;
    }
    Ok(())
}
