//! Formatting of text: foreign text made safe to show, and layout for display.

use std::borrow::Cow;

use jiff::SignedDuration;
use textwrap::WordSeparator;
use textwrap::core::Word;

pub(crate) mod encoding;
pub(crate) mod secrets;

pub(crate) use tagaudit_policy::display::{
    count, hex, json_printable, list, printable, same_length_printable, without_position,
};

/// Lines of at most `width` columns, with an indent for the first and one for the rest. Breaks only at spaces and next to
/// Chinese characters: ids and names must stay copyable.
pub(crate) fn wrap(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let options = textwrap::Options::new(width.max(20))
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .initial_indent(first)
        .subsequent_indent(rest);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

/// Columns that a text takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// Words of a line: at spaces, and next to Chinese characters, but not before a mark that closes or after one that opens.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let is_chinese = |c: char| matches!(c, '\u{3000}'..='\u{303f}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}');
    let closes = |c: char| "，。；：、！？）】》”’,.;:!?)".contains(c);
    let opens = |c: char| "（【《“‘(".contains(c);
    let mut ends = Vec::new();
    let mut at = 0;
    for word in WordSeparator::AsciiSpace.find_words(line) {
        let mut characters = word.word.char_indices().peekable();
        while let Some((_, before)) = characters.next() {
            let Some((index, after)) = characters.peek() else { break };
            if (is_chinese(before) || is_chinese(*after)) && !closes(*after) && !opens(before) {
                ends.push(at + index);
            }
        }
        at += word.word.len() + word.whitespace.len();
        ends.push(at);
    }
    let mut start = 0;
    Box::new(
        ends.into_iter()
            .map(move |end| Word::from(line.get(std::mem::replace(&mut start, end)..end).unwrap_or_default())),
    )
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

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn chinese_breaks_between_characters_and_code_does_not() {
        let text = "节点一直带有污点 `node.cloudprovider.kubernetes.io/uninitialized`，没有 Pod 能在其上启动（包括系统组件）。";
        let lines = wrap(text, 52, "", "");
        assert!(lines.len() > 2, "{lines:?}");
        assert!(
            lines.iter().any(|line| line.contains("`node.cloudprovider.kubernetes.io/uninitialized`，")),
            "{lines:?}"
        );
        assert!(!lines.iter().any(|line| line.starts_with(['，', '。', '）']) || line.ends_with('（')), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn other_texts_break_at_spaces_alone() {
        assert_eq!(wrap("a…-loadbalancer-id, or b", 20, "", ""), ["a…-loadbalancer-id,", "or b"]);
        assert_eq!(wrap("kubernetes.io/cluster/a-b-c-d-e", 20, "", "").concat(), "kubernetes.io/cluster/a-b-c-d-e");
    }
}
