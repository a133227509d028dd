//! Documents as JSON text within another document.

use std::collections::BTreeMap;

use super::Pseudo;
use super::functions::{substitute, whole_parts};
use crate::json::{JsonError, Node, Span, Value, line_and_column};
use crate::text::Text;

/// Parses a document from text, with its positions in the file: the text is the value of the string at `span`.
pub(super) fn parse(text: &str, span: Span, file: &str) -> Result<Node, JsonError> {
    let raw = file.get(span.range()).unwrap_or_default();
    let places = align(text, raw);
    let outer = |offset: usize| span.start + places.get(offset).copied().unwrap_or(raw.len());
    match Node::parse(text) {
        Ok(mut node) => {
            node.move_places(&|span| Span { start: outer(span.start), end: outer(span.end) });
            Ok(node)
        }
        Err(error) => {
            let offset = outer(error.offset);
            let (line, column) = line_and_column(file, offset);
            Err(JsonError { reason: error.reason, line, column, offset })
        }
    }
}

/// Replaces the variables of `Fn::Sub` in all texts and keys of a document.
pub(super) fn fill(node: &mut Node, values: &BTreeMap<String, Text>, pseudo: &Pseudo) {
    match &mut node.value {
        Value::String(text) => *text = whole_parts(&substitute(text, values, pseudo), pseudo),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, values, pseudo)),
        Value::Object(members) => {
            for member in members {
                member.key = substitute(&member.key, values, pseudo);
                fill(&mut member.value, values, pseudo);
            }
        }
        _ => {}
    }
}

/// Maps each byte of a text to its position in the source: a JSON string with escapes, or a YAML scalar with
/// indentation. Bytes that cannot be found map to the end.
fn align(text: &str, raw: &str) -> Vec<usize> {
    let mut places = Vec::with_capacity(text.len() + 1);
    let mut at = 0;
    for character in text.chars() {
        let mut rest = raw.get(at..).unwrap_or_default().chars();
        let start = loop {
            let Some(next) = rest.next() else { break raw.len() };
            let here = at;
            at += next.len_utf8();
            if next == character {
                break here;
            }
            if next == '\\'
                && let Some((decoded, length)) = escape(rest.as_str())
                && decoded == character
            {
                at += length;
                break here;
            }
        };
        places.extend(std::iter::repeat_n(start, character.len_utf8()));
    }
    places.push(at.min(raw.len()));
    places
}

/// Decodes an escape: the character, and the number of bytes after the backslash.
fn escape(behind: &str) -> Option<(char, usize)> {
    let unit = |at: usize| u32::from_str_radix(behind.get(at..at + 4)?, 16).ok();
    Some(match behind.chars().next()? {
        'n' => ('\n', 1),
        't' => ('\t', 1),
        'r' => ('\r', 1),
        'b' => ('\u{8}', 1),
        'f' => ('\u{c}', 1),
        'u' => match unit(1)? {
            high @ 0xd800..=0xdbff => {
                let low = unit(7)?.checked_sub(0xdc00)?;
                (char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)?, 11)
            }
            code => (char::from_u32(code)?, 5),
        },
        other => (other, other.len_utf8()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_refer_to_the_file() {
        for file in [
            r#"{"p": "{\"Statement\": [{\"Sid\": \"\u00e9\ud83d\ude00\", \"Action\": \"a:b\"}]}"}"#.to_owned(),
            "p: |\n    {\"Statement\":\n      [{\"Sid\": \"é😀\",\n        \"Action\": \"a:b\"}]}\n".to_owned(),
            "p: '{\"Statement\": [{\"Sid\": \"é😀\", \"Action\": \"a:b\"}]}'\n".to_owned(),
        ] {
            let outer = if file.starts_with('{') { Node::parse(&file) } else { crate::yaml::parse(&file) }.unwrap();
            let text = outer.get("p").unwrap();
            let document = parse(text.as_str().unwrap(), text.span, &file).unwrap();
            let action = document.get("Statement").unwrap().items().unwrap()[0].get("Action").unwrap();
            let shown = file.get(action.span.range()).unwrap();
            assert!(shown.contains("a:b") && shown.len() <= 8, "{file}: {shown}");
        }
        let file = r#"{"p": "{\"Statement\": [}"}"#;
        let outer = Node::parse(file).unwrap();
        let text = outer.get("p").unwrap();
        let error = parse(text.as_str().unwrap(), text.span, file).unwrap_err();
        assert_eq!(file.get(error.offset..=error.offset), Some("}"), "{error:?}");
    }
}
