//! Completion in a shell that asks the binary at each word: rules, baselines, contexts, profiles, and the cluster ids of
//! an inventory.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::baseline;
use crate::cli::args::config::command_with_environment;
use crate::cli::io::failure::Failure;
use crate::cli::io::input;
use crate::rules::FAMILIES;
use crate::text;

/// Variable by which a shell asks. That of clap, `COMPLETE`, may be set for another program.
const VARIABLE: &str = "TAGAUDIT_COMPLETE";

/// Answers a shell that set the variable; false if none asks.
///
/// # Errors
/// If the shell is unknown, or does not listen.
pub(super) fn answered(arguments: Vec<OsString>) -> Result<bool, Failure> {
    if arguments.is_empty() {
        return Ok(false);
    }
    // An inventory that the line names holds cluster ids.
    let inventory = value_of("--inventory", &arguments).map(PathBuf::from);
    let command = move || with_values(command_with_environment(), inventory.as_ref());
    let asked = CompleteEnv::with_factory(command).var(VARIABLE).bin("tagaudit");
    asked.try_complete(arguments, None).map_err(|error| {
        let reason = error.to_string();
        Failure::usage("cannot answer the shell that completes a line")
            .cause(reason.trim_start_matches("error: ").trim_end())
            .help(format!("{VARIABLE} is bash, zsh, fish, elvish or powershell, or not set"))
    })
}

/// Value of an option on a line.
fn value_of(option: &str, arguments: &[OsString]) -> Option<String> {
    let mut words = arguments.iter().filter_map(|word| word.to_str());
    let is_it = |word: &str| word == option;
    let given = |word: &str| word.strip_prefix(option)?.strip_prefix('=').map(str::to_owned);
    while let Some(word) = words.next() {
        if is_it(word) {
            // bash takes `=` for a word.
            return words.find(|word| *word != "=").map(str::to_owned);
        }
        if let Some(value) = given(word) {
            return Some(value);
        }
    }
    None
}

/// Adds the values to the options of a command and of those below it.
fn with_values(command: clap::Command, inventory: Option<&PathBuf>) -> clap::Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|arg| {
        let values = match arg.get_long() {
            Some("rule" | "skip-rule" | "allow") => completer(rules),
            None if name == "explain" && arg.get_id() == "rule" => completer(rules),
            None if name == "show" && arg.get_id() == "name" => completer(baselines),
            Some("baseline") if name == "diff" => completer(baselines),
            Some("baseline") => completer(baselines_of_roles),
            Some("kube-context") => completer(contexts),
            Some("profile") => completer(profiles),
            Some("cluster-id") => {
                let inventory = inventory.cloned();
                completer(move || clusters(inventory.as_ref()))
            }
            _ => return arg,
        };
        arg.add(values)
    });
    command.mut_subcommands(|below| with_values(below, inventory))
}

fn completer(values: impl Fn() -> BTreeSet<String> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let begun = current.to_string_lossy().into_owned();
        // The shell writes them to the terminal as they are.
        let is_printable = |value: &String| !value.is_empty() && text::printable(value) == value.as_str();
        let fitting = values().into_iter().filter(is_printable).filter(move |value| value.starts_with(&begun));
        fitting.map(CompletionCandidate::new).collect::<Vec<_>>()
    })
}

fn rules() -> BTreeSet<String> {
    FAMILIES.iter().flat_map(|(_, rules)| rules.iter()).map(|rule| rule.id.to_owned()).collect()
}

fn baselines() -> BTreeSet<String> {
    baseline::all().into_iter().map(|one| one.name.to_owned()).collect()
}

/// Baselines as a scan takes them: for the nodes of a role.
fn baselines_of_roles() -> BTreeSet<String> {
    let of_role = |role| baselines().into_iter().map(move |name| format!("{role}={name}"));
    ["controlplane", "worker"].into_iter().flat_map(of_role).collect()
}

/// Cluster ids of an inventory; none if it cannot be read.
fn clusters(inventory: Option<&PathBuf>) -> BTreeSet<String> {
    // Standard input and pipes belong to the shell.
    let file = inventory.filter(|path| path.is_file());
    let estate = file.and_then(|path| input::if_recorded(path).ok().flatten());
    estate.map(|estate| estate.as_ref().clusters().ids()).unwrap_or_default()
}

#[cfg(feature = "kubernetes")]
fn contexts() -> BTreeSet<String> {
    crate::provider::kubernetes::contexts("*").unwrap_or_default().into_iter().collect()
}

#[cfg(not(feature = "kubernetes"))]
fn contexts() -> BTreeSet<String> {
    BTreeSet::new()
}

/// Profiles of both command lines.
fn profiles() -> BTreeSet<String> {
    #[allow(unused_mut, clippy::allow_attributes, reason = "without the clouds there are none")]
    let mut found = BTreeSet::new();
    #[cfg(feature = "aws")]
    found.extend(crate::provider::aws::profile_names());
    #[cfg(feature = "alibaba")]
    found.extend(crate::provider::alibaba::live::profile_names());
    found
}
