//! The binary as a plugin of kubectl: installed as `kubectl-tagaudit`, it reads the cluster that kubectl would ask.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// Name of the binary as a plugin of kubectl (kubernetes/kubectl pkg/cmd/plugin.go).
const BINARY: &str = "kubectl-tagaudit";

/// Options that give the state of a cluster, or a recording in place of the account: with one of them, the current
/// context is not read.
const EVIDENCE: [&str; 6] = ["kube_context", "kubernetes", "nodes", "inventory", "targets", "organization"];

/// True if kubectl runs the binary.
pub(in crate::cli) fn is_plugin(arguments: &[OsString]) -> bool {
    arguments.first().is_some_and(|name| Path::new(name).file_stem().is_some_and(|stem| stem == BINARY))
}

/// The command under the name that its user types.
pub(in crate::cli) fn named(command: Command) -> Command {
    command.bin_name("kubectl tagaudit")
}

/// The arguments with `--kube-context` of the current context, where the command takes one and has no other evidence.
pub(in crate::cli) fn with_context(
    command: Command,
    arguments: &[OsString],
    current: impl FnOnce() -> Option<String>,
) -> Vec<OsString> {
    let mut whole = arguments.to_vec();
    let lenient = command.ignore_errors(true).try_get_matches_from(arguments);
    let asks = |matches: &ArgMatches| {
        matches.try_contains_id("kube_context").is_ok() && !EVIDENCE.iter().any(|one| is_given(matches, one))
    };
    if lenient.is_ok_and(|matches| asks(deepest(&matches)))
        && let Some(name) = current()
    {
        whole.push(OsString::from(format!("--kube-context={name}")));
    }
    whole
}

/// True if an option has a value that is not its default; `value_source` panics for an unknown one.
fn is_given(matches: &ArgMatches, option: &str) -> bool {
    matches.try_contains_id(option).is_ok_and(|has_value| has_value)
        && matches.value_source(option) != Some(ValueSource::DefaultValue)
}

/// The matches of the innermost command.
fn deepest(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| deepest(inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::config::command_with_environment;

    fn with(line: &str) -> Vec<String> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let whole = with_context(command_with_environment(), &arguments, || Some("here".to_owned()));
        whole[arguments.len()..].iter().map(|one| one.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_plugin_is_known_by_its_name() {
        for (name, expected) in [
            ("kubectl-tagaudit", true),
            ("/home/me/.krew/bin/kubectl-tagaudit", true),
            ("kubectl-tagaudit.exe", true),
            ("tagaudit", false),
            ("kubectl", false),
        ] {
            assert_eq!(is_plugin(&[OsString::from(name)]), expected, "{name}");
        }
        assert!(!is_plugin(&[]));
    }

    #[test]
    fn commands_about_a_cluster_read_the_current_context() {
        for line in [
            "kubectl-tagaudit scan --cluster-id demo",
            "kubectl-tagaudit why service shop/web --cluster-id demo",
            "kubectl-tagaudit simulate --cluster-id demo -",
            "kubectl-tagaudit roles --cluster-id demo --region us-east-1",
        ] {
            assert_eq!(with(line), ["--kube-context=here"], "{line}");
        }
    }

    #[test]
    fn given_evidence_takes_the_place_of_the_current_context() {
        for line in [
            "kubectl-tagaudit scan --cluster-id demo --kube-context other",
            "kubectl-tagaudit scan --cluster-id demo --kubernetes objects.yaml",
            "kubectl-tagaudit scan --cluster-id demo --nodes nodes.json",
            "kubectl-tagaudit scan --cluster-id demo --inventory demo.json",
            "kubectl-tagaudit lint manifests",
            "kubectl-tagaudit rules",
            "kubectl-tagaudit",
        ] {
            assert!(with(line).is_empty(), "{line}");
        }
    }
}
