//! Common parts of the pages for display: colours, widths, tables.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};

use crate::finding::Severity;
use crate::text;

use super::words::Language;

/// Layout options of a page.
#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// Columns to use.
    pub width: usize,
    /// True to use colours.
    pub color: bool,
    /// True to link rules and resources, as the terminal can (OSC 8).
    pub links: bool,
    /// True to show everything instead of folding long lists.
    pub verbose: bool,
    /// Severity from which a finding fails a test; without one, that of a warning.
    pub threshold: Option<Severity>,
    /// Language of what is not data.
    pub language: Language,
}

impl TableOptions {
    /// Options for text of this width without colours, links and long lists, in English.
    #[must_use]
    pub fn plain(width: usize) -> Self {
        Self { width, color: false, links: false, verbose: false, threshold: None, language: Language::English }
    }
}

/// Width below which columns are dropped.
pub(super) const NARROW: usize = 70;

/// Width below which the eight columns of the roles are dropped.
pub(super) const COMPACT: usize = 90;

/// Paints text in colours, if they are enabled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    /// True if colours are enabled.
    pub(crate) color: bool,
}

impl Painter {
    /// Paints text in any other style.
    pub(super) fn paint(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Paints a heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Paints text of lesser importance.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    pub(super) fn severity(self, severity: Severity, text: &str) -> String {
        let color = match severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Info => AnsiColor::Cyan,
        };
        self.paint(Style::new().bold().fg_color(Some(color.into())), text)
    }

    /// Paints text about something correct or added.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint(Style::new().bold().fg_color(Some(AnsiColor::Green.into())), text)
    }

    /// Paints text about something changed.
    pub(crate) fn warn(self, text: &str) -> String {
        self.paint(Style::new().fg_color(Some(AnsiColor::Yellow.into())), text)
    }

    /// Paints text about something wrong or removed.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint(Style::new().fg_color(Some(AnsiColor::Red.into())), text)
    }
}

/// Text that leads to a page, if the terminal shows links.
/// Source: "Hyperlinks in terminal emulators" (OSC 8), <https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>.
pub(super) fn linked(text: &str, target: Option<&str>, options: &TableOptions) -> String {
    // Characters beyond those of an address would end the sequence.
    let target = target.filter(|target| options.links && target.chars().all(|c| c.is_ascii_graphic()));
    target.map_or_else(|| text.to_owned(), |target| format!("\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\"))
}

/// Creates a table in the common layout.
pub(crate) fn layout(width: usize, header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(header.iter().copied());
    table
}

/// A text with spaces up to this number of columns: a Chinese character takes two.
pub(super) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text::columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Writes a line of the head of a page, which may hold colours.
pub(super) fn fact(page: &mut String, label: &str, value: &str, painter: Painter, options: &TableOptions) {
    for (index, part) in text::wrap(value, options.width.saturating_sub(9), "", "").iter().enumerate() {
        let label = if index == 0 { painter.dim(&padded(label, 9)) } else { " ".repeat(9) };
        let _ = writeln!(page, "{label}{part}");
    }
}

/// Writes a labelled paragraph under a heading; the text is shown without effect, whatever it holds.
pub(super) fn paragraph(page: &mut String, label: &str, body: &str, painter: Painter, options: &TableOptions) {
    let indent = 10;
    let body = text::printable(body);
    for (index, part) in text::wrap(&body, options.width.saturating_sub(indent), "", "").iter().enumerate() {
        let label = if index == 0 { painter.dim(&format!("  {}", padded(label, 8))) } else { " ".repeat(indent) };
        let _ = writeln!(page, "{label}{part}");
    }
}
