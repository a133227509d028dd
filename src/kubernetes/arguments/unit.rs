//! Arguments in the systemd unit of a kubelet, in a drop-in of it, or in the file of environment variables that it reads.
//! Sources: systemd documentation, systemd.exec(5) `EnvironmentFile=` and systemd.service(5) `ExecStart=`;
//! kubernetes/release `cmd/krel/templates/latest/kubeadm/10-kubeadm.conf`: `KUBELET_EXTRA_ARGS` comes last.

use std::ops::Range;
use std::sync::Arc;

use super::{Component, Distribution, NodeArguments};
use crate::kubernetes::source::Source;
use crate::kubernetes::{Located, parse_flags};
use crate::policy::json::Span;

/// A setting of a unit or an environment variable, with continued lines.
struct Setting<'t> {
    name: &'t str,
    /// Position of its value in the text.
    value: Range<usize>,
}

/// True for a text of which each line is a section or a setting, and one of them holds arguments of the kubelet.
pub(in crate::kubernetes) fn is_unit(text: &str) -> bool {
    settings(text).is_some_and(|all| all.iter().any(|one| holds_arguments(text, one)))
}

/// Arguments of the kubelet in such a text; `name` is that of the text for display.
pub(in crate::kubernetes) fn from_unit(name: &str, source: &Arc<Source>) -> NodeArguments {
    let text = source.text();
    let all = settings(text).unwrap_or_default();
    let value = |one: &Setting<'_>| text.get(one.value.clone()).unwrap_or_default();
    // An empty command takes back the earlier ones.
    let mut command = None;
    for one in all.iter().filter(|one| one.name == COMMAND) {
        if value(one).trim().is_empty() {
            command = None;
        } else if holds_arguments(text, one) {
            command = Some(one);
        }
    }
    // Of a variable the last value counts, if the command takes it at all.
    let mut variables: Vec<(&str, &Setting<'_>)> = Vec::new();
    for one in &all {
        if let Some(name) = variable_of(text, one)
            && command.is_none_or(|command| value(command).contains(name))
        {
            variables.retain(|(known, _)| *known != name);
            variables.push((name, one));
        }
    }
    let parts = variables.iter().map(|(_, one)| *one).chain(command);
    let words: Vec<Located<String>> = parts.flat_map(|one| words_in(source, one.value.clone())).collect();
    // The unit of the packages has a bare command, which a drop-in replaces.
    let is_whole = command.is_some_and(|one| value(one).contains("--") && !value(one).contains('$'));
    let flags = parse_flags(&words);
    let arguments = flags.into_iter().map(|flag| {
        let value = format!("{}={}", flag.name.replace('_', "-"), flag.value);
        (Component::Kubelet.argument().to_owned(), Located { value, place: flag.place })
    });
    let start = source.place(Span { start: 0, end: text.len() });
    let head = source.place(Span { start: 0, end: text.lines().next().map_or(0, str::len) });
    let place = crate::kubernetes::Place { line: start.line, column: start.column, ..head };
    let own = NodeArguments::from_configuration(
        format!("kubelet of {name}"),
        place,
        Distribution::Unit,
        None,
        None,
        arguments,
    );
    NodeArguments { is_part: !is_whole, ..own }
}

const COMMAND: &str = "ExecStart";

/// Settings of a text in order; `None` if a line is neither a setting, nor a section, nor a comment.
fn settings(text: &str) -> Option<Vec<Setting<'_>>> {
    let mut found: Vec<Setting<'_>> = Vec::new();
    let (mut at, mut continues) = (0, false);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let held = line.trim();
        let is_section = held.starts_with('[') && held.ends_with(']');
        let is_setting = !(held.is_empty() || held.starts_with(['#', ';']) || is_section);
        if continues {
            if let Some(last) = found.last_mut() {
                last.value.end = at;
            }
        } else if is_setting {
            let (name, _) = held.split_once('=')?;
            let name = name.trim_end();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            let sign = line.find('=').unwrap_or_default();
            found.push(Setting { name, value: start + sign + 1..at });
        }
        continues = (continues || is_setting) && held.ends_with('\\');
    }
    Some(found)
}

/// True for `KUBELET_…ARGS=`, for `Environment="KUBELET_…ARGS=`, and for the command that starts a kubelet.
fn holds_arguments(text: &str, setting: &Setting<'_>) -> bool {
    let value = text.get(setting.value.clone()).unwrap_or_default();
    let starts_kubelet = || {
        let program = value.split_whitespace().next().unwrap_or_default().trim_start_matches(['-', '@', ':', '+', '!']);
        program.trim_matches(['"', '\'']).rsplit('/').next() == Some("kubelet")
    };
    variable_of(text, setting).is_some() || setting.name == COMMAND && starts_kubelet()
}

/// The variable with arguments of the kubelet that a setting sets.
fn variable_of<'t>(text: &'t str, setting: &Setting<'t>) -> Option<&'t str> {
    let name = match setting.name {
        "Environment" => {
            let value = text.get(setting.value.clone())?.trim().trim_start_matches(['"', '\'']);
            value.split_once('=')?.0
        }
        name => name,
    };
    (name.starts_with("KUBELET_") && name.ends_with("ARGS")).then_some(name)
}

/// Words of a value with their places, without quotation marks around them.
fn words_in(source: &Source, range: Range<usize>) -> Vec<Located<String>> {
    let text = source.text().get(range.clone()).unwrap_or_default();
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_comment = at > 0 && line.trim_start().starts_with(['#', ';']);
        for part in line.split_inclusive(char::is_whitespace) {
            let start = range.start + at;
            at += part.len();
            let word = part.trim_end_matches(char::is_whitespace);
            // The first word of a variable in a unit begins with its name.
            let skipped = match word.find("ARGS=") {
                Some(name) if !word.trim_start_matches(['"', '\'']).starts_with('-') => name + "ARGS=".len(),
                _ => 0,
            };
            let quotes = |c: char| matches!(c, '"' | '\'' | '\\');
            let rest = word.get(skipped..).unwrap_or_default();
            let plain = rest.trim_start_matches(quotes);
            let (begin, plain) = (start + skipped + rest.len() - plain.len(), plain.trim_end_matches(quotes));
            if !plain.is_empty() && !is_comment {
                let place = source.place(Span { start: begin, end: begin + plain.len() });
                found.push(Located { value: plain.replace(quotes, ""), place });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> NodeArguments {
        assert!(is_unit(text), "{text}");
        from_unit("kubelet", &Arc::new(Source::new("kubelet", text.to_owned())))
    }

    fn value(text: &str, name: &str) -> Option<String> {
        read(text).component_value(Component::Kubelet, name).map(str::to_owned)
    }

    #[test]
    fn variables_and_commands_hold_arguments() {
        for text in [
            "KUBELET_EXTRA_ARGS=--cloud-provider=external --v=2\n",
            "# kubeadm\nKUBELET_EXTRA_ARGS=\"--v=2 --cloud-provider=external\"",
            "KUBELET_EXTRA_ARGS='--cloud-provider external'",
            "[Service]\nEnvironment=\"KUBELET_EXTRA_ARGS=--cloud-provider=external\"\n",
            "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet $KUBELET_KUBEADM_ARGS --cloud-provider=external\n",
            "[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/local/bin/kubelet \\\n  --v=2 \\\n  --cloud-provider=external\nRestart=always\n",
        ] {
            assert_eq!(value(text, "cloud-provider").as_deref(), Some("external"), "{text}");
        }
    }

    #[test]
    fn what_systemd_takes_back_or_never_takes_does_not_count() {
        for (text, expected) in [
            ("ExecStart=/usr/bin/kubelet --cloud-provider=aws\nExecStart=\nExecStart=/usr/bin/kubelet --v=2\n", None),
            ("Environment=KUBELET_A_ARGS=--cloud-provider=aws\nEnvironment=KUBELET_A_ARGS=--v=2\n", None),
            (
                "Environment=KUBELET_OLD_ARGS=--cloud-provider=aws\nExecStart=/usr/bin/kubelet --v=2 $KUBELET_NEW_ARGS\n",
                None,
            ),
            ("ExecStart=/usr/bin/kubelet \\\n# --cloud-provider=aws \\\n --v=2\n", None),
            ("ExecStart=/usr/bin/kubelet --cloud-provider=\"external\" --v=2\n", Some("external")),
            ("KUBELET_EXTRA_ARGS=\"--cloud-provider=\\\"external\\\"\"\n", Some("external")),
            ("ExecStart = /usr/bin/kubelet --cloud-provider=external\n", Some("external")),
        ] {
            assert_eq!(value(text, "cloud-provider").as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_command_without_variables_is_whole() {
        assert!(!read("ExecStart=/usr/bin/kubelet --v=2").is_part);
        assert!(read("ExecStart=/usr/bin/kubelet --v=2 $KUBELET_EXTRA_ARGS").is_part);
        assert!(read("KUBELET_EXTRA_ARGS=--v=2").is_part);
    }

    #[test]
    fn other_texts_are_not_units() {
        for text in [
            "",
            "KUBELET_EXTRA_ARGS",
            "write_files:\n- content: |\n    KUBELET_EXTRA_ARGS=--v=2\n",
            "#!/bin/sh\nexport KUBELET_EXTRA_ARGS=--v=2\n",
            "[Service]\nExecStart=/usr/bin/containerd\n",
            "AWS_REGION=eu-west-1\n",
        ] {
            assert!(!is_unit(text), "{text}");
        }
    }

    #[test]
    fn words_have_their_places() {
        let own = read("# one\nKUBELET_EXTRA_ARGS=\"--v=2 --provider-id=cn-hangzhou.i-bp1\"\n");
        let found = own.component_arguments(Component::Kubelet);
        let place = found.iter().find(|one| one.name == "provider-id").and_then(|one| one.place).unwrap();
        assert_eq!((place.line, place.column), (2, 27));
    }
}
