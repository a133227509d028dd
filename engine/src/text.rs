//! Text with parts that may be unknown until a template is deployed.

use std::fmt;
use std::ops::{Deref, Range};

/// A text of a policy document. In a template, parts of it may be unknown until deployment (`!Ref`, `Fn::GetAtt`,
/// values that Terraform computes): such a part may be any text, with colons and wildcards, and is shown as `${Name}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text {
    text: String,
    /// Ranges of the unknown parts, in order.
    unknown: Vec<(usize, usize)>,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPart<'t> {
    /// Known.
    Known(&'t str),
    /// Unknown until deployment, with its textual form.
    Unknown(&'t str),
}

impl Text {
    /// Creates a text with a single unknown part.
    #[must_use]
    pub fn unknown(name: &str) -> Self {
        let mut text = Self::default();
        text.push_unknown(name);
        text
    }

    /// Appends a known text.
    pub fn push_str(&mut self, known: &str) {
        self.text.push_str(known);
    }

    /// Appends a part that is unknown until deployment, shown as `${name}`.
    pub fn push_unknown(&mut self, name: &str) {
        let start = self.text.len();
        self.text.push_str(&format!("${{{name}}}"));
        self.unknown.push((start, self.text.len()));
    }

    /// Appends another text.
    pub fn push(&mut self, other: &Self) {
        let at = self.text.len();
        self.unknown.extend(other.unknown.iter().map(|(start, end)| (start + at, end + at)));
        self.text.push_str(&other.text);
    }

    /// True if all of it is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty()
    }

    /// Known and unknown parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = TextPart<'_>> {
        let mut at = 0;
        let mut parts = Vec::with_capacity(self.unknown.len() * 2 + 1);
        for &(start, end) in &self.unknown {
            parts.push(TextPart::Known(self.slice(at..start)));
            parts.push(TextPart::Unknown(self.slice(start..end)));
            at = end;
        }
        parts.push(TextPart::Known(self.slice(at..self.text.len())));
        parts.into_iter().filter(|part| *part != TextPart::Known(""))
    }

    fn slice(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// Known text before the first unknown part; the whole text if everything is known.
    #[must_use]
    pub fn known_start(&self) -> &str {
        self.slice(0..self.unknown.first().map_or(self.text.len(), |(start, _)| *start))
    }

    /// The text with `*` for every unknown part: its widest reading as a pattern.
    #[must_use]
    pub fn widest(&self) -> String {
        self.parts()
            .map(|part| match part {
                TextPart::Known(text) => text,
                TextPart::Unknown(_) => "*",
            })
            .collect()
    }

    /// The text in lower case.
    #[must_use]
    pub fn to_lowercase(&self) -> Self {
        if self.is_known() {
            return self.text.to_lowercase().into();
        }
        let mut folded = Self::default();
        for part in self.parts() {
            match part {
                TextPart::Known(text) => folded.text.push_str(&text.to_lowercase()),
                TextPart::Unknown(text) => {
                    let start = folded.text.len();
                    folded.text.push_str(&text.to_lowercase());
                    folded.unknown.push((start, folded.text.len()));
                }
            }
        }
        folded
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self { text, unknown: Vec::new() }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.text
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_what_is_known_apart_from_what_is_not() {
        let mut text = Text::from("arn:aws:s3:::É");
        text.push_unknown("Bucket");
        let mut rest = Text::from("/");
        rest.push_unknown("Key");
        text.push(&rest);
        assert_eq!(text, "arn:aws:s3:::É${Bucket}/${Key}");
        assert_eq!(
            text.parts().collect::<Vec<_>>(),
            [
                TextPart::Known("arn:aws:s3:::É"),
                TextPart::Unknown("${Bucket}"),
                TextPart::Known("/"),
                TextPart::Unknown("${Key}")
            ]
        );
        assert_eq!((text.widest().as_str(), text.known_start()), ("arn:aws:s3:::É*/*", "arn:aws:s3:::É"));
        assert_eq!(text.to_lowercase().parts().nth(3), Some(TextPart::Unknown("${key}")));
        assert!(Text::from("${Bucket}").is_known(), "only parts pushed as unknown are");
    }
}
