//! HTML that is escaped by construction: markup comes from the source of the tool alone, everything else is text.

use std::fmt::Display;

use crate::text;

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Markup {
    page: String,
}

impl Markup {
    /// Markup as it is written here.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.page.push_str(markup);
        self
    }

    /// An opening tag.
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

    /// A closing tag.
    pub(super) fn close(&mut self, tag: &'static str) -> &mut Self {
        self.page.push_str("</");
        self.page.push_str(tag);
        self.page.push('>');
        self
    }

    /// Text.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        escape(&mut self.page, &text.to_string());
        self
    }

    /// Text in which what stands between backticks is code.
    pub(super) fn prose(&mut self, text: &str) -> &mut Self {
        let parts: Vec<&str> = text.split('`').collect();
        let last = parts.len() - 1;
        for (index, part) in parts.into_iter().enumerate() {
            match index % 2 {
                // A backtick without its counterpart is a backtick.
                1 if index == last => self.text('`').text(part),
                1 => self.element("code", &[], part),
                _ => self.text(part),
            };
        }
        self
    }

    /// An element with text in it.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &dyn Display)],
        text: impl Display,
    ) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// The page.
    pub(super) fn into_string(self) -> String {
        self.page
    }
}

/// Nothing hidden, and nothing that is markup.
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
