//! HTML that is escaped by construction: markup comes only from the source of the tool, everything else is text.

use std::fmt::Display;

use crate::text;

use super::super::words::Language;

/// Start of a table that scrolls sideways, which a keyboard reaches as well.
pub(super) const TABLE: &str = "<div class=\"matrix\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">";

/// The same for a table of many rows, which scrolls in its place under its head.
pub(super) const LONG_TABLE: &str = "<div class=\"matrix long\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">";

/// The same in a part that folds.
pub(super) const FOLDED_TABLE: &str = "<div class=\"body matrix\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">";

/// A page under construction.
#[derive(Debug, Default)]
pub(super) struct Markup {
    page: String,
    language: Language,
}

impl Markup {
    /// A page in this language.
    pub(super) fn new(language: Language) -> Self {
        Self { page: String::new(), language }
    }

    /// The language of the page.
    pub(super) fn language(&self) -> Language {
        self.language
    }

    /// Appends a text in the language of the page.
    pub(super) fn say(&mut self, english: &'static str) -> &mut Self {
        let text = self.language.text(english);
        self.text(text)
    }

    /// Appends a text in the language of the page, with values.
    pub(super) fn say_filled(&mut self, english: &'static str, values: &[(&'static str, &dyn Display)]) -> &mut Self {
        let text = self.language.fill(english, values);
        self.text(text)
    }

    /// Appends the row of a table's head, in the language of the page.
    pub(super) fn head(&mut self, columns: &[&'static str]) -> &mut Self {
        self.raw("<tr>");
        for column in columns {
            self.raw("<th>").say(column).raw("</th>");
        }
        self.raw("</tr>")
    }

    /// Appends literal markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.page.push_str(markup);
        self
    }

    /// Appends an opening tag.
    pub(super) fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &dyn Display)]) -> &mut Self {
        self.page.push('<');
        self.page.push_str(tag);
        for (name, value) in attributes {
            self.page.push(' ');
            self.page.push_str(name);
            self.page.push_str("=\"");
            escape(&mut self.page, &value.to_string());
            self.page.push('"');
        }
        self.page.push('>');
        self
    }

    /// Appends a closing tag.
    pub(super) fn close(&mut self, tag: &'static str) -> &mut Self {
        self.page.push_str("</");
        self.page.push_str(tag);
        self.page.push('>');
        self
    }

    /// Appends text.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        escape(&mut self.page, &text.to_string());
        self
    }

    /// Appends text in which anything between backticks is code.
    pub(super) fn prose(&mut self, text: &str) -> &mut Self {
        let parts: Vec<&str> = text.split('`').collect();
        let last = parts.len() - 1;
        for (index, part) in parts.into_iter().enumerate() {
            match index % 2 {
                // An unpaired backtick is a plain backtick.
                1 if index == last => self.text('`').text(part),
                1 => self.element("code", &[], part),
                _ => self.text(part),
            };
        }
        self
    }

    /// Appends an element with text in it.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &dyn Display)],
        text: impl Display,
    ) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// The finished page.
    pub(super) fn into_string(self) -> String {
        self.page
    }
}

/// Appends text without hidden characters and with markup escaped.
fn escape(page: &mut String, text: &str) {
    for character in text::printable(text).chars() {
        match character {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            other => page.push(other),
        }
    }
}
