//! Lossless JSON: every value with its position in the text, members in order, repeated keys preserved.
//!
//! `serde_json` validates the text; this reader then walks the same bytes for the details that `serde_json` discards.

use std::fmt;
use std::ops::Range;

use super::text::Text;

/// Maximum nesting depth. A policy needs seven levels, a Terraform plan with its modules a few dozen.
pub const MAX_DEPTH: usize = 100;

/// Byte range of an element in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// First byte after the element.
    pub end: usize,
}

impl Span {
    /// Converts to a range, for slicing.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A value with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Position in the text.
    pub span: Span,
    /// The value itself.
    pub value: Value,
}

/// A JSON value, without the losses of a map.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string, unescaped.
    String(Text),
    /// A list.
    Array(Vec<Node>),
    /// Members in order, including repeated keys.
    Object(Vec<Member>),
    /// In a template: one of two values, or none, depending on a stack condition.
    Either(Box<Either>),
}

/// Two values between which a stack condition decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Either {
    /// Name of the condition.
    pub condition: String,
    /// Value if the condition holds; `None` for no value.
    pub then: Option<Node>,
    /// Value if the condition does not hold.
    pub otherwise: Option<Node>,
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Key, unescaped.
    pub key: Text,
    /// Position of the key, including its quotes.
    pub key_span: Span,
    /// Value of the member.
    pub value: Node,
}

/// Error for a text that is not JSON, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {line}, column {column}")]
pub struct JsonError {
    /// Description of the problem.
    pub reason: String,
    /// One-based line.
    pub line: usize,
    /// One-based column, in characters.
    pub column: usize,
    /// Byte offset.
    pub offset: usize,
}

/// Converts a byte offset to a one-based line and column, in characters.
#[must_use]
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before.get(line_start..).map_or(0, |line| line.chars().count()) + 1)
}

fn error_at(text: &str, offset: usize, reason: impl Into<String>) -> JsonError {
    let (line, column) = line_and_column(text, offset);
    JsonError { reason: reason.into(), line, column, offset }
}

/// Decodes the text of a file as UTF-8. A byte order mark, which editors on Windows write, is not part of the text.
///
/// # Errors
/// If it is not UTF-8; the error has the position of the first invalid byte.
pub fn decode_utf8(bytes: &[u8]) -> Result<&str, JsonError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok()).unwrap_or("");
        error_at(valid, valid.len(), "the file is not UTF-8")
    })
}

impl Node {
    /// Parses a text.
    ///
    /// # Errors
    /// If it is not JSON, or nested deeper than [`MAX_DEPTH`].
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        if text.starts_with('\u{feff}') {
            return Err(error_at(text, 0, "the text starts with a byte order mark, which JSON does not allow"));
        }
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
            let line_start: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
            let mut offset = (line_start + error.column().saturating_sub(1)).min(text.len());
            while !text.is_char_boundary(offset) {
                offset -= 1;
            }
            return Err(error_at(text, offset, crate::display::without_position(&error)));
        }
        let mut reader = JsonReader { text, at: 0 };
        reader.skip_whitespace();
        reader.value(0)
    }

    /// Text of a string; `None` for other values.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Members of an object; `None` for other values.
    #[must_use]
    pub fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Items of a list; `None` for other values.
    #[must_use]
    pub fn items(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Value of the first member with a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members()?.iter().find(|member| *member.key == *key).map(|member| &member.value)
    }

    /// Value at a path of keys.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Items of a list; any other value as its only item.
    #[must_use]
    pub fn listed(&self) -> &[Node] {
        self.items().unwrap_or(std::slice::from_ref(self))
    }

    /// Shifts all positions, to embed the text in a longer one.
    pub fn move_by(&mut self, bytes: usize) {
        self.move_places(&|span| Span { start: span.start + bytes, end: span.end + bytes });
    }

    /// Maps the position of every part.
    pub(super) fn move_places(&mut self, moved: &impl Fn(Span) -> Span) {
        self.span = moved(self.span);
        match &mut self.value {
            Value::Array(items) => items.iter_mut().for_each(|item| item.move_places(moved)),
            Value::Object(members) => {
                for member in members {
                    member.key_span = moved(member.key_span);
                    member.value.move_places(moved);
                }
            }
            _ => {}
        }
    }

    /// Kind of the value, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
            Value::Either(_) => "a choice",
        }
    }
}

/// Formats without white space, as counted against IAM's quotas; parses to the same value.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match &self.value {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(text) if serde_json::from_str::<serde_json::Number>(text).is_ok() => f.write_str(text),
            // A number of YAML that JSON does not have, such as 099720109477.
            Value::Number(text) => f.write_str(&quoted(text)),
            Value::String(text) => f.write_str(&quoted(text)),
            Value::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                f.write_str("{")?;
                for (index, member) in members.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{}", quoted(&member.key), member.value)?;
                }
                f.write_str("}")
            }
            // Use the longer one, which counts against a quota.
            Value::Either(either) => {
                let texts = [&either.then, &either.otherwise].map(|one| one.as_ref().map(ToString::to_string));
                let longest = texts.into_iter().flatten().max_by_key(String::len);
                f.write_str(longest.as_deref().unwrap_or("null"))
            }
        }
    }
}

/// Reader of a text that is known to be valid JSON.
struct JsonReader<'t> {
    text: &'t str,
    at: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Consumes a separator, if present, and the white space after it.
    fn consume(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
            self.skip_whitespace();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsonError> {
        let start = self.at;
        if depth > MAX_DEPTH {
            return Err(error_at(self.text, start, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let value = match self.peek() {
            Some(b'{') => {
                self.consume(b'{');
                let mut members = Vec::new();
                while self.peek() != Some(b'}') {
                    let (key, key_span) = self.string()?;
                    self.skip_whitespace();
                    self.consume(b':');
                    let value = self.value(depth + 1)?;
                    self.skip_whitespace();
                    self.consume(b',');
                    members.push(Member { key: key.into(), key_span, value });
                }
                self.at += 1;
                Value::Object(members)
            }
            Some(b'[') => {
                self.consume(b'[');
                let mut items = Vec::new();
                while self.peek() != Some(b']') {
                    items.push(self.value(depth + 1)?);
                    self.skip_whitespace();
                    self.consume(b',');
                }
                self.at += 1;
                Value::Array(items)
            }
            Some(b'"') => Value::String(self.string()?.0.into()),
            _ => {
                while self.peek().is_some_and(|byte| !b" \t\n\r,]}".contains(&byte)) {
                    self.at += 1;
                }
                match self.text.get(start..self.at).unwrap_or_default() {
                    "null" => Value::Null,
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    "" => return Err(error_at(self.text, start, "missing value")),
                    number => Value::Number(number.to_owned()),
                }
            }
        };
        Ok(Node { span: Span { start, end: self.at }, value })
    }

    fn string(&mut self) -> Result<(String, Span), JsonError> {
        let start = self.at;
        self.at += 1;
        let mut escaped = false;
        loop {
            match self.peek() {
                None => return Err(error_at(self.text, start, "unterminated string")),
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let span = Span { start, end: self.at };
        let raw = self.text.get(span.range()).unwrap_or_default();
        let text = if escaped {
            serde_json::from_str(raw)
                .map_err(|error| error_at(self.text, start, crate::display::without_position(&error)))?
        } else {
            raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default().to_owned()
        };
        Ok((text, span))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_value_knows_its_place() {
        let text = "{ \"a\" : [1, \"x\\\"y\"],\n \"a\": {\"b\": null} }";
        let node = Node::parse(text).unwrap();
        let members = node.members().unwrap();
        assert_eq!(members.len(), 2, "repeated keys are preserved");
        assert_eq!(text.get(members[0].key_span.range()), Some("\"a\""));
        assert_eq!(text.get(members[0].value.span.range()), Some("[1, \"x\\\"y\"]"));
        assert_eq!(members[0].value.items().unwrap()[1].as_str(), Some("x\"y"));
        assert_eq!(text.get(members[1].value.span.range()), Some("{\"b\": null}"));
        assert_eq!(line_and_column(text, members[1].key_span.start), (2, 2));
    }

    #[test]
    fn errors_name_line_and_column_in_characters() {
        let error = Node::parse("{\n \"é\": tru }").unwrap_err();
        assert_eq!((error.line, error.column), (2, 10), "{error}");
        assert!(Node::parse("\u{feff}{}").unwrap_err().reason.contains("byte order mark"));
        assert_eq!(decode_utf8(b"\xef\xbb\xbf{}").unwrap(), "{}");
        let error = decode_utf8(b"{\n\"a\xff\"}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 3));
        assert!(Node::parse(&("[".repeat(5_000) + &"]".repeat(5_000))).is_err());
        assert!(Node::parse("\"\\ud800\"").is_err(), "half a surrogate pair is not valid text");
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn parsing_printing_and_parsing_is_the_same(value in json(), pretty in any::<bool>()) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            let node = Node::parse(&text).unwrap();
            let printed = node.to_string();
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value);
            prop_assert_eq!(Node::parse(&printed).unwrap().to_string(), printed);
        }

        #[test]
        fn whatever_serde_json_takes_or_refuses_so_does_the_reader(text in "[\\[\\]{}:,\" \\\\a0-9tfnu.-]{0,20}") {
            prop_assert_eq!(Node::parse(&text).is_ok(), serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
