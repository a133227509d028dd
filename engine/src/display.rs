//! Formats text for display: escapes text written by others, and joins lists and counts.

use std::borrow::Cow;
use std::fmt::Write;

/// Replaces everything that could move the cursor, change colours or reorder the text on screen (C0, C1, DEL,
/// bidirectional and other format characters) by a visible escape. Tags, names and error messages come from others.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ if is_hidden(character) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
            }
            _ => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// JSON with hidden characters and terminal control characters written as `\uXXXX`. They occur only within strings.
#[must_use]
pub fn json_printable(json: &str) -> Cow<'_, str> {
    let is_bad = |character: char| is_hidden(character) && character != '\n';
    if !json.chars().any(is_bad) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_bad(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Text of the same length in bytes with no hidden characters except line breaks and tabs, to show source with
/// positions.
#[must_use]
pub fn same_length_printable(text: &str) -> Cow<'_, str> {
    let is_bad = |character: char| is_hidden(character) && !matches!(character, '\n' | '\t');
    if !text.chars().any(is_bad) {
        return Cow::Borrowed(text);
    }
    let stand_in = |character: char| match character.len_utf8() {
        1 => '?',
        2 => '\u{bf}',
        3 => '\u{fffd}',
        _ => '\u{1f7e5}',
    };
    Cow::Owned(text.chars().map(|c| if is_bad(c) { stand_in(c) } else { c }).collect())
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        // Noncharacters, which XML forbids too.
        || u32::from(character) & 0xfffe == 0xfffe
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A number with its noun: `1 subnet`, `2 subnets`; forms the plural of `policy`, `vSwitch` and similar nouns correctly.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !noun.ends_with("ay") && !noun.ends_with("ey") => format!("{number} {stem}ies"),
        _ if ["ch", "sh", "ss", "x"].iter().any(|end| noun.ends_with(end)) => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// Joins up to `limit` items with commas, followed by the number of further items.
#[must_use]
pub fn list<S: AsRef<str>>(items: &[S], limit: usize) -> String {
    let shown: Vec<Cow<'_, str>> = items.iter().take(limit).map(|item| printable(item.as_ref())).collect();
    let rest = items.len().saturating_sub(limit);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}

/// Message of a JSON error without the position, which is reported separately.
#[must_use]
pub fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((message, _)) => message.to_owned(),
        None => text,
    }
}

/// First `bytes` bytes of a digest in hexadecimal.
#[must_use]
pub fn hex(digest: &[u8], bytes: usize) -> String {
    digest.iter().take(bytes).fold(String::with_capacity(bytes * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_in_json_and_replaced_in_source() {
        let hostile = "{\"a\": \"\u{9b}31m\u{202e}\u{e0001}\",\n\"b\": 1}";
        let json = json_printable(hostile);
        assert_eq!(json, "{\"a\": \"\\u009b31m\\u202e\\udb40\\udc01\",\n\"b\": 1}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&json), read(hostile));
        let shown = same_length_printable(hostile);
        assert_eq!(shown.len(), hostile.len());
        assert!(!shown.chars().any(|c| is_hidden(c) && c != '\n'));
    }

    #[test]
    fn control_and_format_characters_become_visible() {
        assert_eq!(printable("a\u{1b}[31mb\n\u{202e}c"), "a\\u{1b}[31mb\\n\\u{202e}c");
        assert_eq!(printable("plain — text"), "plain — text");
    }

    #[test]
    fn nouns_are_counted() {
        assert_eq!(count(1, "policy"), "1 policy");
        assert_eq!(count(2, "policy"), "2 policies");
        assert_eq!(count(2, "vSwitch"), "2 vSwitches");
        assert_eq!(count(0, "address"), "0 addresses");
        assert_eq!(count(0, "gateway"), "0 gateways");
    }

    #[test]
    fn long_lists_end_with_how_many_more() {
        assert_eq!(list(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(list(&["a", "b"], 2), "a, b");
    }
}
