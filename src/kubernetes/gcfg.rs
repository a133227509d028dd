//! Parser for gcfg, the Git-style syntax of AWS cloud configurations: sections and variables. The controller exits on a
//! file that is rejected here. Source: `gopkg.in/gcfg.v1` `read.go#readIntoPass`, `scanner/scanner.go`.

use crate::policy::json::Span;

/// A section: `[Global]`, or `[ServiceOverride "1"]`. It may occur more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Name, case-insensitive.
    pub name: String,
    /// Quoted name after the section name; empty if there is none.
    pub subsection: String,
    /// Span of the name.
    pub span: Span,
    /// Variables, in source order.
    pub variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Name, case-insensitive.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// Value without quotation marks; `None` without an equals sign.
    pub value: Option<String>,
}

/// Syntax error, which ends parsing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntaxError {
    /// Byte offset of the error.
    pub offset: usize,
    /// Description of the error.
    pub reason: &'static str,
}

/// Parses a text into sections.
///
/// # Errors
/// If the text is not valid gcfg.
pub(crate) fn parse(text: &str) -> Result<Vec<Section>, SyntaxError> {
    if let Some(offset) = text.find('\0') {
        return Err(SyntaxError { offset, reason: "unexpected NUL character" });
    }
    let mut reader = GcfgReader { text, at: 0 };
    let mut sections: Vec<Section> = Vec::new();
    loop {
        reader.skip_blanks();
        let start = reader.at;
        match reader.peek() {
            None => return Ok(sections),
            Some('\n') => reader.at += 1,
            Some('[') => sections.push(reader.section()?),
            Some(letter) if letter.is_alphabetic() => {
                let variable = reader.variable()?;
                let reason = "variable before the first section";
                let section = sections.last_mut().ok_or(SyntaxError { offset: start, reason })?;
                section.variables.push(variable);
            }
            Some(_) => return Err(reader.error("expected a section or a variable")),
        }
    }
}

/// Quotes and escapes a value.
#[must_use]
pub(crate) fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

struct GcfgReader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> GcfgReader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn error(&self, reason: &'static str) -> SyntaxError {
        SyntaxError { offset: self.at, reason }
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
    }

    /// Skips spaces and a comment, which begins with `;` or `#`.
    fn skip_blanks(&mut self) {
        self.skip_spaces();
        if self.rest().starts_with([';', '#']) {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Expects the end of the line or of the text.
    fn end(&mut self, reason: &'static str) -> Result<(), SyntaxError> {
        self.skip_blanks();
        match self.peek() {
            None | Some('\n') => Ok(()),
            Some(_) => Err(self.error(reason)),
        }
    }

    /// Reads a name: a letter, then letters, digits and dashes.
    fn name(&mut self, reason: &'static str) -> Result<(String, Span), SyntaxError> {
        let start = self.at;
        if !self.peek().is_some_and(char::is_alphabetic) {
            return Err(self.error(reason));
        }
        let rest = self.rest();
        // Letters and digits of any script are allowed.
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(rest.len());
        self.at += length;
        Ok((rest.get(..length).unwrap_or_default().to_owned(), Span { start, end: self.at }))
    }

    fn section(&mut self) -> Result<Section, SyntaxError> {
        self.at += 1;
        self.skip_blanks();
        let (name, span) = self.name("expected a section name")?;
        self.skip_blanks();
        let mut subsection = String::new();
        if self.peek() == Some('"') {
            subsection = self.quoted()?;
            self.skip_blanks();
        }
        if self.peek() != Some(']') {
            return Err(self.error("missing `]` after the section name"));
        }
        self.at += 1;
        self.end("unexpected text after the section header")?;
        Ok(Section { name, subsection, span, variables: Vec::new() })
    }

    /// Reads the quoted name of a subsection.
    fn quoted(&mut self) -> Result<String, SyntaxError> {
        let start = self.at;
        self.at += 1;
        let mut found = String::new();
        loop {
            match self.next() {
                Some('"') if found.is_empty() => return Err(SyntaxError { offset: start, reason: "empty name" }),
                Some('"') => return Ok(found),
                Some('\\') => match self.next() {
                    Some(escaped @ ('\\' | '"')) => found.push(escaped),
                    _ => return Err(SyntaxError { offset: start, reason: "invalid escape sequence" }),
                },
                None | Some('\n') => return Err(SyntaxError { offset: start, reason: "unterminated quotation mark" }),
                Some(other) => found.push(other),
            }
        }
    }

    fn variable(&mut self) -> Result<Variable, SyntaxError> {
        let (name, span) = self.name("expected a variable name")?;
        self.skip_blanks();
        let value = match self.peek() {
            None | Some('\n') => None,
            Some('=') => {
                self.at += 1;
                self.skip_spaces();
                Some(self.value()?)
            }
            Some(_) => return Err(self.error("missing `=` after the variable name")),
        };
        self.end("unexpected text after the value")?;
        Ok(Variable { name, span, value })
    }

    /// Reads a value, up to the end of the line or an unquoted comment.
    fn value(&mut self) -> Result<String, SyntaxError> {
        let mut found = String::new();
        // Trailing spaces are dropped unless they are quoted.
        let mut kept = 0;
        let mut is_quoted = false;
        let mut quotation_mark = self.at;
        loop {
            let next = self.peek();
            let at = self.at;
            let failed = |offset, reason| Err(SyntaxError { offset, reason });
            if !is_quoted && matches!(next, None | Some('\n' | ';' | '#')) {
                found.truncate(kept);
                return Ok(found);
            }
            self.next();
            match next {
                Some('"') => {
                    is_quoted = !is_quoted;
                    quotation_mark = at;
                }
                Some('\\') if is_quoted => match self.next() {
                    Some(escaped @ ('\\' | '"')) => found.push(escaped),
                    Some('n') => found.push('\n'),
                    Some('t') => found.push('\t'),
                    _ => return failed(at, "invalid escape sequence"),
                },
                // An unquoted backslash joins two lines or escapes a quotation mark.
                Some('\\') => {
                    if self.peek() == Some('\r') {
                        self.next();
                    }
                    match self.next() {
                        Some('\n') => {}
                        Some('"') => found.push('"'),
                        _ => return failed(at, "invalid escape outside quotation marks"),
                    }
                }
                None | Some('\n') => return failed(quotation_mark, "unterminated quotation mark"),
                Some('\r') => {}
                Some(other) => found.push(other),
            }
            if is_quoted || !matches!(next, Some(' ' | '\t' | '\r')) {
                kept = found.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(text: &str) -> Vec<(String, Option<String>)> {
        let sections = parse(text).unwrap();
        sections.into_iter().flat_map(|one| one.variables).map(|one| (one.name, one.value)).collect()
    }

    /// Cases of gcfg's own `read_test.go`.
    #[test]
    fn values_are_read_as_gcfg_does() {
        for (text, expected) in [
            ("[section]\nname=value", Some("value")),
            ("[section]\nname=", Some("")),
            ("[section]\nname", None),
            ("\n[section]\nname=value", Some("value")),
            (" [section]\nname=value", Some("value")),
            ("[ section]\nname=value", Some("value")),
            ("[section ]\nname=value", Some("value")),
            ("[section]\n name=value", Some("value")),
            ("[section]\nname =value", Some("value")),
            ("[section]\nname= value", Some("value")),
            ("[section]\nname=value ", Some("value")),
            ("[section]\r\nname=value\r\n", Some("value")),
            ("; cmnt\n[section]\nname=value", Some("value")),
            ("# cmnt\n[section]\nname=value", Some("value")),
            (" ; cmnt\n[section]\nname=value", Some("value")),
            ("[section]; cmnt\nname=value", Some("value")),
            ("[section]\nname=value; cmnt", Some("value")),
            ("[section]\nname=value# cmnt", Some("value")),
            ("[section]\nname=\" value\"", Some(" value")),
            ("[section]\nname=\"value \"", Some("value ")),
            ("[section]\nname=\"va ; lue\"", Some("va ; lue")),
            ("[section]\nname=\"va \\\"lue\"", Some("va \"lue")),
            ("[section]\nname=\"a\\nb\\tc\"", Some("a\nb\tc")),
            ("[section]\nname=a\\\nb", Some("ab")),
            ("[section]\nname=a \\\nb", Some("a b")),
            ("[section]\nname=\\\"a", Some("\"a")),
            ("[section]\nname=a b  ", Some("a b")),
            ("[section]\nname=va=lue", Some("va=lue")),
        ] {
            let found = variables(text);
            assert_eq!(found, [("name".to_owned(), expected.map(str::to_owned))], "{text:?}");
        }
    }

    #[test]
    fn what_gcfg_refuses_is_refused_at_its_place() {
        for (text, offset) in [
            ("name=value", 0),
            ("[section]\nname value", 15),
            ("[section] name=value", 10),
            ("[sec.sub]\n", 4),
            ("[\"\"]\n", 1),
            ("[section \"\"]\n", 9),
            ("[section \"a]\n", 9),
            ("[section\n", 8),
            ("[]\n", 1),
            ("[section]\n=value", 10),
            ("[section]\n5=value", 10),
            ("[section]\nname=\"value", 15),
            ("[section]\nname=\"value\n\"", 15),
            ("[section]\nname=a\\b", 16),
            ("[section]\nname=\"a\\b\"", 17),
            ("[section]\n{}", 10),
            ("[section]\na_b=c", 11),
            ("[section]\nname=a\0b", 16),
        ] {
            assert_eq!(parse(text).map_err(|error| error.offset), Err(offset), "{text:?}");
        }
    }

    #[test]
    fn sections_keep_their_subsections() {
        let found = parse("[Global]\na=1\n[ServiceOverride \"x\\\"y\"]\nb=2\n[Global]\nc=3\n").unwrap();
        let names: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.subsection.as_str())).collect();
        assert_eq!(names, [("Global", ""), ("ServiceOverride", "x\"y"), ("Global", "")]);
        assert_eq!(found[1].variables[0].span, Span { start: 38, end: 39 });
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]\"\\\\;#=a-c \n\r\t\u{0}é-]{0,40}") {
            let _ = parse(&text);
        }

        /// A value that was quoted and escaped is read back unchanged.
        #[test]
        fn quoted_values_come_back(value in "[a-z \"\\\\;#\n\t=]{0,20}") {
            let text = format!("[s]\nn = {}\n", quoted(&value));
            proptest::prop_assert_eq!(variables(&text), [("n".to_owned(), Some(value))]);
        }
    }
}
