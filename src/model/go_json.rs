//! The texts of Go for JSON that is not valid.
//! Source: Go `encoding/json/scanner.go`, `state*`, `quoteChar`.

/// Deepest value that is followed; Go follows more, which no annotation holds.
const MAX_DEPTH: usize = 64;

/// The error for a text that is not JSON; `None` for valid JSON, and where the text is not rebuilt.
pub(super) fn syntax_error(raw: &str) -> Option<String> {
    let mut scanner = Scanner { rest: raw };
    let end = scanner.value(0).and_then(|()| {
        scanner.space();
        scanner.rest.chars().next().map_or(Ok(()), |c| Err(Refused::At(c, "after top-level value".to_owned())))
    });
    match end {
        Ok(()) | Err(Refused::TooDeep) => None,
        Err(Refused::End) => Some("unexpected end of JSON input".to_owned()),
        Err(Refused::At(c, context)) => Some(format!("invalid character {} {context}", quoted(c))),
    }
}

/// What is wrong.
enum Refused {
    /// A character, and its context.
    At(char, String),
    End,
    TooDeep,
}

/// A character as Go shows it.
fn quoted(c: char) -> String {
    match c {
        '\'' => r"'\''".to_owned(),
        '"' => "'\"'".to_owned(),
        _ => format!("'{}'", super::annotations::go_quoted(&c.to_string()).trim_matches('"')),
    }
}

struct Scanner<'t> {
    rest: &'t str,
}

impl Scanner<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    /// The next character, which must be there.
    fn peek(&self) -> Result<char, Refused> {
        self.rest.chars().next().ok_or(Refused::End)
    }

    fn skip(&mut self, c: char) {
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
    }

    fn next(&mut self) -> Result<char, Refused> {
        let c = self.peek()?;
        self.skip(c);
        Ok(c)
    }

    fn value(&mut self, depth: usize) -> Result<(), Refused> {
        if depth > MAX_DEPTH {
            return Err(Refused::TooDeep);
        }
        self.space();
        match self.next()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' => self.string(),
            '-' => match self.next()? {
                '0' => self.fraction(),
                '1'..='9' => {
                    self.digits();
                    self.fraction()
                }
                other => Err(at(other, "in numeric literal")),
            },
            '0' => self.fraction(),
            '1'..='9' => {
                self.digits();
                self.fraction()
            }
            't' => self.literal("true"),
            'f' => self.literal("false"),
            'n' => self.literal("null"),
            other => Err(at(other, "looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), Refused> {
        self.space();
        if self.peek()? == '}' {
            self.skip('}');
            return Ok(());
        }
        loop {
            self.space();
            match self.next()? {
                '"' => self.string()?,
                other => return Err(at(other, "looking for beginning of object key string")),
            }
            self.space();
            match self.next()? {
                ':' => self.value(depth + 1)?,
                other => return Err(at(other, "after object key")),
            }
            self.space();
            match self.next()? {
                ',' => {}
                '}' => return Ok(()),
                other => return Err(at(other, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Refused> {
        self.space();
        if self.peek()? == ']' {
            self.skip(']');
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.space();
            match self.next()? {
                ',' => {}
                ']' => return Ok(()),
                other => return Err(at(other, "after array element")),
            }
        }
    }

    fn string(&mut self) -> Result<(), Refused> {
        loop {
            match self.next()? {
                '"' => return Ok(()),
                '\\' => match self.next()? {
                    'b' | 'f' | 'n' | 'r' | 't' | '\\' | '/' | '"' => {}
                    'u' => {
                        for _ in 0..4 {
                            let c = self.next()?;
                            if !c.is_ascii_hexdigit() {
                                return Err(at(c, r"in \u hexadecimal character escape"));
                            }
                        }
                    }
                    other => return Err(at(other, "in string escape code")),
                },
                c if c < ' ' => return Err(at(c, "in string literal")),
                _ => {}
            }
        }
    }

    fn digits(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
    }

    /// What may follow the digits of a number; anything else ends it.
    fn fraction(&mut self) -> Result<(), Refused> {
        if self.rest.starts_with('.') {
            self.skip('.');
            let c = self.next()?;
            if !c.is_ascii_digit() {
                return Err(at(c, "after decimal point in numeric literal"));
            }
            self.digits();
        }
        if self.rest.starts_with(['e', 'E']) {
            self.skip('e');
            if self.peek()? == '+' || self.peek()? == '-' {
                self.skip('+');
            }
            let c = self.next()?;
            if !c.is_ascii_digit() {
                return Err(at(c, "in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(())
    }

    /// The letters of a word after its first.
    fn literal(&mut self, word: &str) -> Result<(), Refused> {
        for expected in word.chars().skip(1) {
            let c = self.next()?;
            if c != expected {
                return Err(Refused::At(c, format!("in literal {word} (expecting '{expected}')")));
            }
        }
        Ok(())
    }
}

fn at(c: char, context: &str) -> Refused {
    Refused::At(c, context.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that `json.Unmarshal` gives.
    #[test]
    fn errors_are_those_of_go() {
        for (raw, expected) in [
            ("", "unexpected end of JSON input"),
            ("[{\"HTTP\": 80", "unexpected end of JSON input"),
            ("[{'HTTP': 80}]", r"invalid character '\'' looking for beginning of object key string"),
            ("[{\"HTTP\": 80},]", "invalid character ']' looking for beginning of value"),
            ("[{\"HTTP\": 80,}]", "invalid character '}' looking for beginning of object key string"),
            ("[{\"HTTP\" 80}]", "invalid character '8' after object key"),
            ("[{\"HTTP\": 80 \"A\": 1}]", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[] x", "invalid character 'x' after top-level value"),
            ("HTTP", "invalid character 'H' looking for beginning of value"),
            ("[trUe]", "invalid character 'U' in literal true (expecting 'u')"),
            ("[-a]", "invalid character 'a' in numeric literal"),
            ("[1.x]", "invalid character 'x' after decimal point in numeric literal"),
            ("[1ex]", "invalid character 'x' in exponent of numeric literal"),
            ("[\"\\x\"]", "invalid character 'x' in string escape code"),
            ("[01]", "invalid character '1' after array element"),
        ] {
            assert_eq!(syntax_error(raw).as_deref(), Some(expected), "{raw}");
        }
        for valid in ["[]", " {\"a\": [1, -0.5e+3, \"\\u00e4\", null, true, {}]} ", "null", "0"] {
            assert_eq!(syntax_error(valid), None, "{valid}");
            assert!(serde_json::from_str::<serde_json::Value>(valid).is_ok(), "{valid}");
        }
    }

    proptest::proptest! {
        /// What serde refuses as JSON, and nothing else, has an error.
        #[test]
        fn refuses_what_serde_refuses(raw in "[\\[\\]{}:,\"a-c0-2. tfn-]{0,16}") {
            let is_valid = serde_json::from_str::<serde_json::Value>(&raw).is_ok();
            proptest::prop_assert_eq!(syntax_error(&raw).is_none(), is_valid, "{}", raw);
        }
    }
}
