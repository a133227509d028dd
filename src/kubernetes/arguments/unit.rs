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
    let mut words = Vec::new();
    let mut is_whole = false;
    for one in all.iter().filter(|one| holds_arguments(text, one)) {
        let held = text.get(one.value.clone()).unwrap_or_default();
        if one.name == COMMAND {
            // The unit of the packages has a bare command, which a drop-in replaces.
            is_whole = held.contains("--") && !held.contains('$');
        }
        words.extend(words_in(source, one.value.clone()));
    }
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
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            let indent = line.len() - line.trim_start().len();
            found.push(Setting { name, value: start + indent + name.len() + 1..at });
        }
        continues = (continues || is_setting) && held.ends_with('\\');
    }
    Some(found)
}

/// True for `KUBELET_…ARGS=`, for `Environment="KUBELET_…ARGS=`, and for the command that starts a kubelet.
fn holds_arguments(text: &str, setting: &Setting<'_>) -> bool {
    let is_variable = |name: &str| name.starts_with("KUBELET_") && name.ends_with("ARGS");
    let value = text.get(setting.value.clone()).unwrap_or_default().trim();
    match setting.name {
        "Environment" => {
            value.trim_start_matches(['"', '\'']).split_once('=').is_some_and(|(name, _)| is_variable(name))
        }
        COMMAND => {
            let program =
                value.split_whitespace().next().unwrap_or_default().trim_start_matches(['-', '@', ':', '+', '!']);
            program.rsplit('/').next() == Some("kubelet")
        }
        name => is_variable(name),
    }
}

/// Words of a value with their places, without quotation marks around them.
fn words_in(source: &Source, range: Range<usize>) -> Vec<Located<String>> {
    let text = source.text().get(range.clone()).unwrap_or_default();
    let is_between = |c: char| c.is_whitespace() || c == '\\';
    let mut found = Vec::new();
    let mut at = 0;
    for part in text.split_inclusive(is_between) {
        let start = range.start + at;
        at += part.len();
        let word = part.trim_end_matches(is_between);
        // The first word of a variable in a unit begins with its name.
        let skipped = match word.find("ARGS=") {
            Some(name) if !word.starts_with('-') => name + "ARGS=".len(),
            _ => 0,
        };
        let quotes = |c: char| c == '"' || c == '\'';
        let rest = word.get(skipped..).unwrap_or_default();
        let plain = rest.trim_start_matches(quotes);
        let (begin, plain) = (start + skipped + rest.len() - plain.len(), plain.trim_end_matches(quotes));
        if !plain.is_empty() {
            let place = source.place(Span { start: begin, end: begin + plain.len() });
            found.push(Located { value: plain.to_owned(), place });
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
