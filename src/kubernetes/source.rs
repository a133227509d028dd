//! Texts that describe a cluster, and places in them.

use std::ops::Range;
use std::sync::Arc;

use crate::policy::json::{JsonError, Node, Span, Value, line_and_column};
use crate::policy::yaml::{self, Documents};

use super::whole_number::whole_number;

/// A place in a file: lines and columns are one-based, columns count characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// File, as it was given.
    pub file: Arc<str>,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    /// Column after the end.
    pub end_column: usize,
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    pub value: T,
    /// Place of the value.
    pub place: Place,
}

/// A text: a file, or a YAML block within another text.
#[derive(Debug)]
pub struct Source {
    /// File, as it was given.
    pub file: Arc<str>,
    text: String,
    /// Counts at each [`STEP`] of the text: one number a line would take up to a tenth of the size of a long list.
    lines: Vec<Counted>,
    within: Within,
}

/// Lines and characters before an offset.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    /// Completed lines.
    lines: usize,
    /// Characters since the last line end: a list may be all on one line.
    characters: usize,
}

impl Counted {
    /// Counts after the bytes that follow.
    fn and(self, bytes: &[u8]) -> Self {
        match memchr::memrchr(b'\n', bytes) {
            Some(last) => Self {
                lines: self.lines + newlines(bytes),
                characters: characters(bytes.get(last + 1..).unwrap_or_default()),
            },
            None => Self { characters: self.characters + characters(bytes), ..self },
        }
    }
}

/// Bytes between two counts.
const STEP: usize = 8 * 1024;

/// Maximum number of bytes of a line that are shown before and after a place.
const AROUND: usize = 4 * 1024;

/// Relation between the lines of a text and of its file.
#[derive(Debug)]
enum Within {
    /// The text is the file.
    File,
    /// The text is an indented block that begins at a line.
    Block { line: usize, indent: usize },
    /// The lines are unknown: all of the text has one place.
    Place(Place),
}

impl Source {
    /// Source of a whole file.
    #[must_use]
    pub fn new(file: &str, text: String) -> Self {
        Self { file: file.into(), lines: count_lines(&text), text, within: Within::File }
    }

    /// Source of the text of a string in this one. A literal block (`|`) keeps its lines.
    #[must_use]
    pub fn inner(&self, node: &Node) -> Option<Self> {
        let text = node.as_str()?.to_owned();
        let within = match (&self.within, self.block(node)) {
            (Within::File, Some((line, indent))) => Within::Block { line, indent },
            (Within::Block { line: outer, indent: all }, Some((line, indent))) => {
                Within::Block { line: outer + line, indent: all + indent }
            }
            _ => Within::Place(self.place(node.span)),
        };
        Some(Self { file: Arc::clone(&self.file), lines: count_lines(&text), text, within })
    }

    /// Number of lines before the content of a literal block, and its indentation. The span of a block begins with its
    /// content: its header is the line before, which ends with `|`.
    fn block(&self, node: &Node) -> Option<(usize, usize)> {
        let start = node.span.start;
        let before = self.text.get(..start)?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let (before, indent) = (self.text.get(..line_start)?, self.text.get(line_start..start)?);
        let empty = before.lines().rev().take_while(|line| line.trim().is_empty()).count();
        let header = before.lines().rev().nth(empty)?.trim_end();
        let is_literal = header.ends_with('|') || header.ends_with("|-") || header.ends_with("|+");
        let line = self.line(line_start);
        (is_literal && indent.bytes().all(|byte| byte == b' ')).then_some((line - 1 - empty, indent.len()))
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Place of a span in the file.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        let (line, column) = self.position(span.start);
        let (end_line, end_column) = self.position(self.end(span.range()));
        let file = Arc::clone(&self.file);
        match &self.within {
            Within::File => Place { file, line, column, end_line, end_column },
            Within::Block { line: before, indent } => Place {
                file,
                line: before + line,
                column: indent + column,
                end_line: before + end_line,
                end_column: indent + end_column,
            },
            Within::Place(place) => place.clone(),
        }
    }

    /// End of a range without the white space that closes a block.
    fn end(&self, range: Range<usize>) -> usize {
        let part = self.text.get(range.clone()).unwrap_or_default();
        range.start + part.trim_end().len()
    }

    fn position(&self, offset: usize) -> (usize, usize) {
        let found = self.counted(offset);
        (found.lines + 1, found.characters + 1)
    }

    /// Text of a line, without its line end.
    #[must_use]
    pub fn line_text(&self, line: usize) -> Option<&str> {
        self.text.get(self.line_start(line)?..)?.lines().next()
    }

    /// Part of a line around a place, and the number of characters of the line before that part. A list on one line may
    /// be megabytes long.
    #[must_use]
    pub fn excerpt(&self, place: &Place) -> Option<(&str, usize)> {
        let (start, column) = (self.line_start(place.line)?, place.column.saturating_sub(1));
        let key = |counted: &Counted| (counted.lines, counted.characters);
        let steps = self.lines.partition_point(|counted| key(counted) <= (place.line - 1, column));
        let near = steps.checked_sub(1).and_then(|step| Some((step * STEP, self.lines.get(step)?)));
        let (from, characters) = match near {
            Some((at, counted)) if counted.lines == place.line - 1 && at > start => {
                (self.boundary(at), counted.characters)
            }
            _ => (start, 0),
        };
        let rest = self.text.get(from..)?;
        let at = from + rest.char_indices().nth(column.saturating_sub(characters)).map_or(rest.len(), |(at, _)| at);
        let first = self.boundary(at.saturating_sub(AROUND).max(start));
        let skipped = column.saturating_sub(self.text.get(first..at)?.chars().count());
        let part = self.text.get(first..self.boundary((at + AROUND).min(self.text.len())))?;
        Some((part.lines().next().unwrap_or_default(), skipped))
    }

    /// First character boundary at or after an offset.
    fn boundary(&self, offset: usize) -> usize {
        (offset..self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(self.text.len())
    }

    /// Offset of the start of a line.
    fn line_start(&self, line: usize) -> Option<usize> {
        let before = line.checked_sub(1)?;
        // The last step at which not all lines before it have ended.
        let step = self.lines.partition_point(|counted| counted.lines < before).saturating_sub(1);
        let rest = self.text.as_bytes().get(step * STEP..)?;
        let missing = before - self.lines.get(step)?.lines;
        Some(match missing {
            0 if before == 0 => 0,
            0 => self.text.get(..step * STEP)?.rfind('\n').map_or(0, |at| at + 1),
            _ => step * STEP + memchr::memchr_iter(b'\n', rest).nth(missing - 1)? + 1,
        })
    }

    fn line(&self, offset: usize) -> usize {
        self.counted(offset).lines + 1
    }

    /// Counts before an offset.
    fn counted(&self, offset: usize) -> Counted {
        let offset = offset.min(self.text.len());
        let step = offset / STEP;
        let counted = self.lines.get(step).copied().unwrap_or_default();
        counted.and(self.text.as_bytes().get(step * STEP..offset).unwrap_or_default())
    }

    /// Parses the documents of YAML, or of JSON, which is YAML as well.
    ///
    /// # Errors
    /// If it is not YAML; the error has its place in the file.
    pub fn documents(&self) -> Result<Vec<Node>, JsonError> {
        self.read().map(|documents| documents.nodes)
    }

    /// Parses the documents, and collects the keys that are repeated in them.
    ///
    /// # Errors
    /// As [`Source::documents`].
    pub fn read(&self) -> Result<Documents, JsonError> {
        let is_json = self.text.trim_start().starts_with(['{', '[']);
        if is_json && let Ok(mut node) = Node::parse(&self.text) {
            let repeated = node.deduplicate_keys();
            return Ok(Documents { nodes: vec![node], repeated });
        }
        yaml::documents(&self.text).map_err(|error| self.moved(error))
    }

    /// Converts the place of an error in this text to the place in the file.
    fn moved(&self, error: JsonError) -> JsonError {
        let (line, column) = line_and_column(&self.text, error.offset);
        let (line, column) = match &self.within {
            Within::File => (line, column),
            Within::Block { line: before, indent } => (before + line, indent + column),
            Within::Place(place) => (place.line, place.column),
        };
        JsonError { line, column, ..error }
    }
}

fn count_lines(text: &str) -> Vec<Counted> {
    let mut counted = Counted::default();
    let mut counts = vec![counted];
    for part in text.as_bytes().chunks(STEP) {
        counted = counted.and(part);
        counts.push(counted);
    }
    counts
}

/// Number of UTF-8 characters that start in `bytes`.
fn characters(bytes: &[u8]) -> usize {
    // A list may be all on one line, and most are ASCII, which is checked a word at a time.
    if bytes.is_ascii() {
        return bytes.len();
    }
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// A node of a source, which rules read by keys.
#[derive(Debug, Clone, Copy)]
pub struct Object<'s> {
    /// The text that contains it.
    pub source: &'s Source,
    pub node: &'s Node,
}

impl<'s> Object<'s> {
    /// Value at a path of keys.
    #[must_use]
    pub fn at(self, path: &[&str]) -> Option<Object<'s>> {
        Some(Self { source: self.source, node: self.node.at(path)? })
    }

    /// Place of the whole value.
    #[must_use]
    pub fn place(self) -> Place {
        self.source.place(self.node.span)
    }

    /// Place that represents the object: its name, or its first key.
    #[must_use]
    pub fn head(self) -> Place {
        let named = self.at(&["metadata", "name"]).map(Object::place);
        let first = || self.node.members()?.first().map(|member| self.source.place(member.key_span));
        named.or_else(first).unwrap_or_else(|| self.place())
    }

    /// Text at a path of keys.
    #[must_use]
    pub fn text(self, path: &[&str]) -> Option<&'s str> {
        self.node.at(path)?.as_str()
    }

    /// Text at a path of keys, with its place.
    #[must_use]
    pub fn located(self, path: &[&str]) -> Option<Located<String>> {
        let found = self.at(path)?;
        Some(Located { value: found.node.as_str()?.to_owned(), place: found.place() })
    }

    /// Kind and text of a value that would be a string if it were quoted; `None` for a string. `yes` and `on` are
    /// booleans of YAML 1.1, which kubectl and Helm read. Source: kubernetes-sigs/yaml `goyaml.v2/resolve.go`.
    #[must_use]
    pub fn without_quotes(self) -> Option<(&'static str, String)> {
        let written = || self.source.text.get(self.node.span.range());
        match &self.node.value {
            Value::Bool(value) => Some(("a boolean", value.to_string())),
            Value::Number(number) => Some(("a number", number.clone())),
            Value::String(text) if written() == Some(&**text) => match &**text {
                "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(("a boolean", true.to_string())),
                "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(("a boolean", false.to_string())),
                _ => None,
            },
            _ => None,
        }
    }

    /// Items of a list at a path of keys; none if there is no list.
    pub fn items(self, path: &[&str]) -> impl Iterator<Item = Object<'s>> + use<'s> {
        let items = self.node.at(path).and_then(Node::items).unwrap_or_default();
        items.iter().map(move |node| Self { source: self.source, node })
    }

    /// Members of a map at a path of keys: keys with their places, and values.
    pub fn members(self, path: &[&str]) -> impl Iterator<Item = (Located<String>, Object<'s>)> + use<'s> {
        let members = self.node.at(path).and_then(Node::members).unwrap_or_default();
        members.iter().map(move |member| {
            let key = Located { value: member.key.to_string(), place: self.source.place(member.key_span) };
            (key, Self { source: self.source, node: &member.value })
        })
    }

    /// State of a switch at a path of keys; `None` if not set.
    #[must_use]
    pub fn switch(self, path: &[&str]) -> Option<bool> {
        match &self.node.at(path)?.value {
            Value::Bool(value) => Some(*value),
            Value::String(text) => Some(is_true(text) || is_yes(text)),
            _ => None,
        }
    }

    /// Number at a path of keys.
    #[must_use]
    pub fn number(self, path: &[&str]) -> Option<i64> {
        Object { node: self.node.at(path)?, ..self }.integer()
    }

    /// The value as kubectl reads a number of YAML 1.1 or JSON, if it is whole.
    fn integer(self) -> Option<i64> {
        match &self.node.value {
            Value::Number(text) => whole_number(text),
            Value::String(text) if self.is_plain(text) => whole_number(text),
            _ => None,
        }
    }

    /// True if a value without quotes is a number of YAML 1.1, which this reader takes for a text.
    pub(super) fn is_number_of_yaml(self) -> bool {
        match &self.node.value {
            Value::Number(text) => text.parse::<f64>().is_ok_and(f64::is_finite),
            Value::String(text) => self.is_plain(text) && whole_number(text).is_some(),
            _ => false,
        }
    }

    /// True if YAML 1.1 reads the value as a truth value: one without quotes.
    pub(super) fn is_switch(self) -> bool {
        match &self.node.value {
            Value::Bool(_) => true,
            Value::String(text) => self.is_plain(text) && (is_yes(text) || is_no(text)),
            _ => false,
        }
    }

    /// True if the source states the type of the value by a tag, `!!int "80"`.
    pub(super) fn is_tagged(self) -> bool {
        // A list may be all on one line: only as many bytes as a tag has are read.
        let start = self.node.span.start;
        let before = self.source.text.as_bytes().get(start.saturating_sub(TAG)..start).unwrap_or_default();
        let word = before.trim_ascii_end().rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
        word.starts_with(b"!") || self.source.text.get(self.node.span.range()).is_some_and(|text| text.starts_with('!'))
    }

    /// True if the source has a text without quotes and without a tag.
    fn is_plain(self, text: &str) -> bool {
        self.source.text.get(self.node.span.range()) == Some(text)
    }

    /// Text of a string, a number or a boolean.
    #[must_use]
    pub fn scalar(self) -> Option<String> {
        match &self.node.value {
            Value::String(text) => Some(text.to_string()),
            Value::Number(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) | Value::Either(_) => None,
        }
    }
}

/// True if Go's `strconv.ParseBool` parses it as true.
#[must_use]
pub(crate) fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// True if YAML 1.1, and with it kubectl, Helm, RKE2 and K3s, reads it as true, other than `true` itself.
#[must_use]
pub(crate) fn is_yes(text: &str) -> bool {
    matches!(text, "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y")
}

/// True if YAML 1.1 reads it as false, other than `false` itself.
#[must_use]
pub(crate) fn is_no(text: &str) -> bool {
    matches!(text, "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N")
}

/// True if Go's `strconv.ParseBool` parses it as false.
#[must_use]
pub(crate) fn is_false(text: &str) -> bool {
    matches!(text, "0" | "f" | "F" | "false" | "FALSE" | "False")
}

/// Bytes before a value among which its tag is.
const TAG: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_lines_in_long_texts() {
        for width in [0, 1, 80, 9_000] {
            let lines: Vec<String> = (0..3_000).map(|line| format!("{line}é{}\n", "x".repeat(width))).collect();
            let text = lines.concat();
            let source = Source::new("f", text.clone());
            for (index, line) in text.lines().enumerate().step_by(7) {
                assert_eq!(source.line_text(index + 1), Some(line), "{width} {index}");
            }
            assert_eq!(source.line_text(3_001), None);
            assert_eq!(source.line_text(0), None);
        }
    }

    #[test]
    fn places_are_those_that_counting_gives() {
        for width in [0, 1, 80, 9_000, 100_000] {
            let lines: Vec<String> = (0..20).map(|line| format!("{line}é{}\n", "x€".repeat(width))).collect();
            let text = lines.concat();
            let source = Source::new("f", text.clone());
            let mut offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(width + 1).collect();
            offsets.push(text.len());
            for offset in offsets {
                let before = text.get(..offset).unwrap();
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
                assert_eq!(source.position(offset), (line, column), "{width} {offset}");
                let (part, skipped) = source.excerpt(&source.place(Span { start: offset, end: offset })).unwrap();
                let shown = part.chars().nth(column - 1 - skipped);
                let meant = text.get(offset..).unwrap().chars().next().filter(|character| *character != '\n');
                assert_eq!(shown, meant, "{width} {offset}");
                assert!(part.len() <= 2 * AROUND + 8, "{width} {offset}");
            }
        }
    }

    #[test]
    fn blocks_within_blocks_keep_their_lines() {
        let text = "spec:\n  manifest: |-\n    a: b\n    values: |-\n      args:\n        - --x\n  after: 1\n";
        let source = Source::new("f.yaml", text.to_owned());
        let root = source.documents().unwrap().remove(0);
        let inner = source.inner(root.at(&["spec", "manifest"]).unwrap()).unwrap();
        let node = inner.documents().unwrap().remove(0);
        let values = inner.inner(node.get("values").unwrap()).unwrap();
        let node = values.documents().unwrap().remove(0);
        let place = values.place(node.get("args").unwrap().items().unwrap()[0].span);
        assert_eq!((place.line, place.column, place.end_column), (6, 11, 14));
    }

    #[test]
    fn what_stands_in_a_block_keeps_its_lines() {
        let text = "a: 1\nvalues: |\n  # first\n  args:\n    - --é=x\n    - --b\nquoted: \"args: [a]\"\n";
        let source = Source::new("f.yaml", text.to_owned());
        let root = source.documents().unwrap().remove(0);
        let inner = source.inner(root.get("values").unwrap()).unwrap();
        let values = inner.documents().unwrap().remove(0);
        let second = &values.get("args").unwrap().items().unwrap()[1];
        let place = inner.place(second.span);
        assert_eq!((place.line, place.column, place.end_column), (6, 7, 10));
        let quoted = source.inner(root.get("quoted").unwrap()).unwrap();
        let values = quoted.documents().unwrap().remove(0);
        let place = quoted.place(values.get("args").unwrap().span);
        assert_eq!((place.line, place.column), (7, 9), "a quoted text is placed at its quotation marks");
        let broken = Source::new("f", "values: |\n  a: b\n  c: [\n".to_owned());
        let root = broken.documents().unwrap().remove(0);
        let error = broken.inner(root.get("values").unwrap()).unwrap().documents().unwrap_err();
        assert!(error.line >= 3, "{error}");
    }
}
