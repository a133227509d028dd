//! Lossless YAML, as the same [`Node`]s as JSON, every value with its position in the text. Templates are parsed like
//! AWS's readers do, and [`documents`] like Kubernetes'.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::json::{JsonError, MAX_DEPTH, Member, Node, Span, Value, line_and_column};
use super::repeated::RepeatedKey;

/// Maximum number of values, including repetitions by aliases: aliases of aliases would otherwise grow without bound.
const MAX_NODES: usize = 500_000;

/// Parses the first document of a text. A local tag such as `!Ref` becomes an object with one member, as in
/// CloudFormation's short form: `{"Ref": …}`, `{"Fn::Sub": …}`.
///
/// # Errors
/// If it is not YAML, nested deeper than [`MAX_DEPTH`], or larger than any template may be.
pub(super) fn parse(text: &str) -> Result<Node, JsonError> {
    let mut repaired = text.to_owned();
    let mut repairs: Vec<usize> = Vec::new();
    let mut readings = 0;
    loop {
        let error = match read(&repaired) {
            Ok(mut node) => {
                if !repairs.is_empty() {
                    node.move_places(&|span| Span {
                        start: original_offset(&repairs, span.start),
                        end: original_offset(&repairs, span.end),
                    });
                }
                return Ok(node);
            }
            Err(error) => error,
        };
        let offset = original_offset(&repairs, error.offset);
        let (line, column) = line_and_column(text, offset);
        let error = JsonError { reason: error.reason, line, column, offset };
        // A line of a bracketed list or a quoted text that is indented less than its key: AWS's template readers accept
        // it.
        let mut starts = if error.reason.contains("invalid indentation in quoted") {
            // The error is at the start of the quoted text: repair all of its lines at once.
            quoted_lines(text, offset)
        } else if error.reason.contains("invalid indentation") {
            vec![text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)]
        } else {
            Vec::new()
        };
        starts.retain(|start| repairs.binary_search(start).is_err());
        readings += 1;
        if starts.is_empty() || readings > MAX_READINGS {
            return Err(error);
        }
        repairs.extend(starts);
        repairs.sort_unstable();
        repaired = String::with_capacity(text.len() + repairs.len() * REPAIR.len());
        let mut at = 0;
        for start in &repairs {
            repaired.push_str(text.get(at..*start).unwrap_or_default());
            repaired.push_str(REPAIR);
            at = *start;
        }
        repaired.push_str(text.get(at..).unwrap_or_default());
    }
}

/// Starts of the lines of a quoted text, except the first line. The text is the first quoted one from an offset on.
fn quoted_lines(text: &str, offset: usize) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut quote = None;
    let mut rest = text.get(offset..).unwrap_or_default().char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        match (quote, character) {
            (None, '"' | '\'') => quote = Some(character),
            (Some('"'), '\\') => {
                let escaped = rest.next().filter(|(_, escaped)| *escaped == '\n');
                starts.extend(escaped.map(|(at, _)| offset + at + 1));
            }
            (Some('\''), '\'') if rest.next_if(|(_, next)| *next == '\'').is_some() => {}
            (Some(open), _) if open == character => break,
            (Some(_), '\n') => starts.push(offset + at + 1),
            _ => {}
        }
    }
    starts
}

/// Maximum number of attempts, each with the indentation of further lines repaired.
const MAX_READINGS: usize = 64;
/// Indentation deeper than that of any key in a template.
const REPAIR: &str = "                                        ";

/// Maps an offset to the original text, before lines were indented.
fn original_offset(repairs: &[usize], offset: usize) -> usize {
    // All repairs have the same length and are sorted: use binary search.
    let length = REPAIR.len();
    let (mut low, mut high) = (0, repairs.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let is_before = repairs.get(middle).is_some_and(|start| start + middle * length + length <= offset);
        if is_before { low = middle + 1 } else { high = middle }
    }
    match repairs.get(low) {
        // An offset within the inserted indentation maps to the start of the line.
        Some(start) if start + low * length <= offset => *start,
        _ => offset - low * length,
    }
}

/// Documents of a text.
#[derive(Debug, Default, PartialEq)]
pub struct Documents {
    /// Documents that are not empty.
    pub nodes: Vec<Node>,
    /// Repeated keys, in the order of the text.
    pub repeated: Vec<RepeatedKey>,
}

/// Parses all documents of a text, except empty ones. Tags are ignored: the notation determines the type of a value.
/// The last value of a repeated key counts, as in `kubectl`.
/// Source: <https://github.com/kubernetes/kubernetes/issues/99286>.
///
/// # Errors
/// If it is not YAML, nested deeper than [`MAX_DEPTH`], or too large after alias expansion; the error has its position.
pub fn documents(text: &str) -> Result<Documents, JsonError> {
    let mut reader = YamlReader { is_template: false, ..YamlReader::new(text) };
    let mut documents = Documents::default();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {
                reader.anchors.clear();
            }
            Event::StreamEnd => return Ok(documents),
            event => {
                let mut node = reader.node(event, span, 0)?;
                if node.value != Value::Null {
                    documents.repeated.extend(node.deduplicate_keys());
                    documents.nodes.push(node);
                }
            }
        }
    }
}

fn read(text: &str) -> Result<Node, JsonError> {
    let mut reader = YamlReader::new(text);
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Node { span, value: Value::Null }),
            event => return reader.node(event, span, 0),
        }
    }
}

/// Byte offsets of every n-th character: the parser counts characters, and positions are bytes.
struct Places(Vec<usize>);

impl Places {
    const STRIDE: usize = 64;

    fn new(text: &str) -> Self {
        // In ASCII text, characters and bytes coincide.
        let starts = text.char_indices().step_by(Self::STRIDE).map(|(at, _)| at);
        Self(if text.is_ascii() { Vec::new() } else { starts.collect() })
    }

    fn byte(&self, text: &str, character: usize) -> usize {
        if self.0.is_empty() {
            return character.min(text.len());
        }
        let Some(start) = self.0.get(character / Self::STRIDE) else { return text.len() };
        let rest = text.get(*start..).unwrap_or_default();
        let behind = rest.char_indices().nth(character % Self::STRIDE);
        behind.map_or(text.len(), |(at, _)| start + at)
    }
}

struct YamlReader<'t> {
    text: &'t str,
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    places: Places,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    /// True if local tags are CloudFormation functions.
    is_template: bool,
}

impl<'t> YamlReader<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            parser: Parser::new_from_str(text),
            places: Places::new(text),
            anchors: HashMap::new(),
            nodes: 0,
            is_template: true,
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), JsonError> {
        match self.parser.next() {
            Some(Ok((event, span))) => {
                let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
                Ok((event, Span { start, end: end.max(start) }))
            }
            Some(Err(error)) => {
                let offset = self.byte(error.marker().index());
                Err(self.error(offset, format!("not YAML: {}", error.info())))
            }
            None => Err(self.error(self.text.len(), "not YAML: unexpected end of text".to_owned())),
        }
    }

    /// Byte offset of a character.
    fn byte(&self, character: usize) -> usize {
        self.places.byte(self.text, character)
    }

    fn error(&self, offset: usize, reason: String) -> JsonError {
        let (line, column) = line_and_column(self.text, offset);
        JsonError { reason, line, column, offset }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, JsonError> {
        self.nodes += 1;
        if depth > MAX_DEPTH {
            return Err(self.error(span.start, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let before = self.nodes;
        let (anchor, tag, node) = match event {
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor) else {
                    return Err(self.error(span.start, "an alias refers to a value that contains it".to_owned()));
                };
                self.nodes += size;
                let node = node.clone();
                self.check_size(span)?;
                return Ok(node);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.as_ref().is_none_or(|tag| is_local(tag));
                (
                    anchor,
                    tag,
                    Node {
                        span,
                        value: if plain { scalar(&text, self.is_template) } else { Value::String((*text).into()) },
                    },
                )
            }
            Event::SequenceStart(anchor, tag) => {
                let mut items = Vec::new();
                let end = loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => break end,
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                };
                let span = Span { start: span.start, end: end.end };
                (anchor, tag, Node { span, value: Value::Array(items) })
            }
            Event::MappingStart(anchor, tag) => {
                let (members, end) = self.members(depth)?;
                let span = Span { start: span.start, end: end.end };
                (anchor, tag, Node { span, value: Value::Object(members) })
            }
            _ => return Err(self.error(span.start, "not YAML: missing value".to_owned())),
        };
        self.check_size(span)?;
        let node = match tag.filter(|tag| self.is_template && is_local(tag)) {
            Some(tag) => tagged(&tag.suffix, node),
            None => node,
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), self.nodes - before + 1));
        }
        Ok(node)
    }

    fn check_size(&self, span: Span) -> Result<(), JsonError> {
        if self.nodes > MAX_NODES {
            return Err(self.error(span.start, format!("more than {MAX_NODES} values, including those of aliases")));
        }
        Ok(())
    }

    fn members(&mut self, depth: usize) -> Result<(Vec<Member>, Span), JsonError> {
        let mut members: Vec<Member> = Vec::new();
        let mut merged: Vec<Member> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                // Members of the object take precedence over merged ones, and earlier merges over later ones.
                let mut seen: HashSet<String> = HashSet::new();
                if !merged.is_empty() {
                    seen.extend(members.iter().map(|member| member.key.to_string()));
                }
                merged.retain(|one| seen.insert(one.key.to_string()));
                members.extend(merged);
                return Ok((members, span));
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            let text = match key.value {
                Value::String(text) => text,
                Value::Null => "null".into(),
                Value::Bool(value) => value.to_string().into(),
                Value::Number(text) => text.into(),
                _ => return Err(self.error(key.span.start, "a key must be plain text".to_owned())),
            };
            if *text == *"<<" {
                let sources = value.items().map_or_else(|| vec![value.clone()], <[Node]>::to_vec);
                for source in sources {
                    let Value::Object(list) = source.value else { continue };
                    merged.extend(list);
                }
                continue;
            }
            members.push(Member { key: text, key_span: key.span, value });
        }
    }
}

fn is_local(tag: &Tag) -> bool {
    tag.handle == "!" && !tag.suffix.is_empty()
}

/// Expands CloudFormation's short form of a function.
fn tagged(name: &str, node: Node) -> Node {
    let function = if matches!(name, "Ref" | "Condition") { name.to_owned() } else { format!("Fn::{name}") };
    let span = node.span;
    let argument = match (name, &node.value) {
        ("GetAtt", Value::String(path)) => {
            let parts = path.splitn(2, '.').map(|part| Node { span, value: Value::String(part.into()) });
            Node { span, value: Value::Array(parts.collect()) }
        }
        _ => node,
    };
    let member = Member { key: function.into(), key_span: span, value: argument };
    Node { span, value: Value::Object(vec![member]) }
}

/// Value of a plain scalar, by the core schema; everything else is text, such as the date of `Version: 2012-10-17`.
/// Templates are YAML 1.1, as in its readers for Python and Java. Source: AWS CloudFormation User Guide,
/// "CloudFormation template format".
fn scalar(text: &str, is_template: bool) -> Value {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" if is_template => Value::Bool(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" if is_template => Value::Bool(false),
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number if is_number(number) => Value::Number(number.to_owned()),
        text => Value::String(text.into()),
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.contains(|c: char| c.is_ascii_digit())
        && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_place_in_bytes() {
        let text = "é: [1, \"x\"]\nb:\n  - !Ref Québec\n  - |\n    line\n    two\nd: *no\n";
        let text = text.trim_end_matches("d: *no\n");
        let node = parse(text).unwrap();
        let members = node.members().unwrap();
        assert_eq!(text.get(members[0].key_span.range()), Some("é"));
        assert_eq!(text.get(members[0].value.items().unwrap()[1].span.range()), Some("\"x\""));
        let items = members[1].value.items().unwrap();
        assert_eq!(items[0].get("Ref").and_then(Node::as_str), Some("Québec"));
        assert_eq!(text.get(items[0].span.range()), Some("!Ref Québec"));
        assert_eq!(items[1].as_str(), Some("line\ntwo\n"));
    }

    #[test]
    fn short_forms_aliases_and_merges_are_what_they_stand_for() {
        let node = parse(
            "a: &a {x: 1, y: 2}\nb: *a\nc:\n  <<: *a\n  y: 3\nd: !GetAtt B.Arn\ne: !Sub ['${x}', {x: !Ref Y}]\nf: 2012-10-17\ng: ~\n",
        );
        assert_eq!(
            node.unwrap().to_string(),
            r#"{"a":{"x":1,"y":2},"b":{"x":1,"y":2},"c":{"y":3,"x":1},"d":{"Fn::GetAtt":["B","Arn"]},"e":{"Fn::Sub":["${x}",{"x":{"Ref":"Y"}}]},"f":"2012-10-17","g":null}"#
        );
    }

    #[test]
    fn lines_that_are_less_indented_than_their_key_are_taken_within_brackets_and_quotes() {
        let long = format!("a:\n    b: 'x\n{}it''s'\n    e: f\n", "  y\n".repeat(500));
        for (text, value) in [
            ("a:\n  b: {\n    \"c\": [\n  1\n ]\n}\n  e: f\n", r#"{"a":{"b":{"c":[1]},"e":"f"}}"#),
            ("a:\n  b: {\n    \"c\": 1\n  }\n  e: f\n", r#"{"a":{"b":{"c":1},"e":"f"}}"#),
            ("a:\n    b: 'x\n    y'\n    e: f\n", r#"{"a":{"b":"x y","e":"f"}}"#),
            ("a:\n    b: \"x\n  y\"\n    e: f\n", r#"{"a":{"b":"x y","e":"f"}}"#),
            ("a:\n    b: \"x\\\n  y\"\n    e: f\n", r#"{"a":{"b":"xy","e":"f"}}"#),
            (&long, &format!(r#"{{"a":{{"b":"x {}it's","e":"f"}}}}"#, "y ".repeat(500))),
        ] {
            let node = parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(node.to_string(), value);
            let e = node.get("a").unwrap().get("e").unwrap();
            assert_eq!(text.get(e.span.range()), Some("f"), "{text}");
        }
        assert!(parse("a:\n   b: c\n  d: e\n").is_err(), "elsewhere indentation is significant");
    }

    #[test]
    fn templates_use_yaml_1_1_booleans_and_manifests_do_not() {
        let text = "a: [yes, Off, \"on\", y, null]\nno: 1\n";
        assert_eq!(parse(text).unwrap().to_string(), r#"{"a":[true,false,"on","y",null],"false":1}"#);
        assert_eq!(documents(text).unwrap().nodes[0].to_string(), r#"{"a":["yes","Off","on","y",null],"no":1}"#);
    }

    #[test]
    fn documents_are_read_one_after_the_other_and_as_they_are_written() {
        let found = documents("# nothing\n---\na: !Ref b\n---\n---\n- 1\n...\n---\n# end\n").unwrap();
        let found: Vec<String> = found.nodes.iter().map(ToString::to_string).collect();
        assert_eq!(found, [r#"{"a":"b"}"#, "[1]"]);
        assert_eq!(documents("").unwrap(), Documents::default());
        let text = "a: 1\nb: &b\n  c: 1\n  d: 2\n  \"c\": 3\ne: *b\n---\nc: 1\n";
        let twice = documents(text).unwrap();
        assert_eq!(twice.nodes[0].to_string(), r#"{"a":1,"b":{"d":2,"c":3},"e":{"d":2,"c":3}}"#);
        let [one] = twice.repeated.as_slice() else { panic!("{:?}", twice.repeated) };
        assert_eq!((text.get(one.earlier.range()), text.get(one.later.range())), (Some("c"), Some("\"c\"")));
        let tab = documents("a:\n\tb: 1\n").unwrap_err();
        assert_eq!(tab.line, 2, "{tab}");
        assert!(documents("a: &a 1\n---\nb: *a\n").is_err(), "an anchor is limited to its document");
    }

    #[test]
    fn hostile_texts_end_in_an_error_with_its_place() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let before = format!("*a{}", level - 1);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", ")));
        }
        assert!(parse(&bomb).unwrap_err().reason.contains("aliases"), "a bomb");
        assert!(parse(&format!("a: {}", "[".repeat(5_000))).is_err(), "deep");
        let error = parse("a: b\nc: [d\ne: f\n").unwrap_err();
        assert!(error.line >= 2, "{error}");
        assert!(parse("a: &a [*a]\n").is_err(), "a value that contains itself");
        assert!(parse("? [a, b]\n: c\n").is_err(), "a key that is a list");
    }
}
