//! Formatting of text: foreign text made safe to show, and layout for display.

use std::borrow::Cow;

use jiff::SignedDuration;

pub(crate) mod encoding;
pub(crate) mod secrets;

pub(crate) use tagaudit_policy::display::{
    count, hex, json_printable, list, printable, same_length_printable, without_position,
};

/// Lines of at most `width` columns, with an indent for the first and one for the rest. Breaks only at spaces:
/// ids and names must stay copyable.
pub(crate) fn wrap(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let options = textwrap::Options::new(width.max(20))
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .initial_indent(first)
        .subsequent_indent(rest);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

/// The JSON pointer (RFC 6901) of a path that `serde_path_to_error` recorded.
pub(crate) fn json_pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        let step = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.clone(),
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => "?".to_owned(),
        };
        pointer.push('/');
        pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
    }
    if pointer.is_empty() { "/".to_owned() } else { pointer }
}

/// True for a text that something fills in before it is used: a template, a variable, or a name in brackets.
pub(crate) fn is_filled_in_later(text: &str) -> bool {
    ["{{", "${", "$("].iter().any(|mark| text.contains(mark)) || text.trim_start().starts_with(['$', '<', '@', '%'])
}

/// A duration for display: in minutes, from one hour on in hours, from two days on in days.
pub(crate) fn lasted(time: SignedDuration) -> String {
    let whole = |number: i64, noun: &str| count(usize::try_from(number).unwrap_or_default(), noun);
    match (time.as_hours(), time.as_mins()) {
        (0, minutes) => whole(minutes, "minute"),
        (hours @ 1..48, _) => whole(hours, "hour"),
        (hours, _) => whole(hours / 24, "day"),
    }
}

/// Quotes an argument for a POSIX shell.
#[must_use]
pub(crate) fn shell_quote(argument: &str) -> Cow<'_, str> {
    shell_words::quote(argument)
}

/// The name with the highest similarity to `name`, if it is at least `at_least` (at most 1); the first of equal ones.
pub(crate) fn most_alike<'n>(name: &str, names: impl IntoIterator<Item = &'n str>, at_least: f64) -> Option<&'n str> {
    names
        .into_iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .max_by(|(a, x), (b, y)| a.total_cmp(b).then_with(|| y.cmp(x)))
        .filter(|(alike, _)| *alike >= at_least)
        .map(|(_, known)| known)
}
