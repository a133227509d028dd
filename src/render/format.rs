//! The formats by name.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;

use crate::inventory::Access;
use crate::report::{Report, ReportSet, ReportView};

use super::TableOptions;

/// Formats of the report of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Tables, for a terminal
    Table,
    /// One JSON document, which `tagaudit report` reads back
    #[value(help = "One JSON document, which 'tagaudit report' reads back")]
    Json,
    /// One page for a browser: the map of the cluster, findings, policies
    Html,
    /// Markdown, for pull requests and step summaries
    Markdown,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for CI test reports
    Junit,
    /// Annotations of a workflow of GitHub Actions
    Github,
    /// CSV, for spreadsheets: findings, rules and everything that was not audited
    Csv,
    /// Metrics, for the textfile collector of Prometheus
    Prometheus,
    /// OCSF 1.5.0 Compliance Findings, for security lakes
    Ocsf,
    /// Security Hub `BatchImportFindings` requests, one per line
    #[value(help = "Security Hub BatchImportFindings requests, one per line")]
    Asff,
}

/// Formats of findings in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FindingsFormat {
    /// Tables, for a terminal
    Table,
    /// One JSON document
    Json,
    /// Markdown, for pull requests and step summaries
    Markdown,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for CI test reports
    Junit,
    /// Annotations of a workflow of GitHub Actions
    Github,
    /// CSV, for spreadsheets
    Csv,
}

/// Relation of formats to files.
pub trait FileFormat: Copy {
    /// The format for an extension, in lower case.
    fn from_extension(extension: &str) -> Option<Self>;

    /// The format for a file.
    #[must_use]
    fn from_file(file: &Path) -> Option<Self> {
        let extension = file.extension().and_then(OsStr::to_str)?;
        Self::from_extension(&extension.to_ascii_lowercase())
    }

    /// True if it is written as JSON.
    fn is_json(self) -> bool;

    /// Reason why a file of this name should not hold this format: its readers would mistake it for another. Any JSON
    /// fits `.json`, and an extension that implies no content fits every format.
    #[must_use]
    fn conflict(self, file: &Path) -> Option<String>
    where
        Self: PartialEq,
    {
        let extension = file.extension().and_then(OsStr::to_str)?.to_ascii_lowercase();
        let fits = match extension.as_str() {
            "json" => self.is_json(),
            "sarif" | "html" | "htm" | "csv" | "xml" | "prom" | "ocsf" | "asff" => {
                Self::from_extension(&extension) == Some(self)
            }
            _ => true,
        };
        (!fits).then_some(extension)
    }

    /// True for a page that a browser shows.
    #[must_use]
    fn is_page(self) -> bool {
        false
    }

    /// Access to a file of this format.
    #[must_use]
    fn access(self) -> Access {
        Access::Owner
    }
}

impl FileFormat for FindingsFormat {
    fn from_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "txt" => Self::Table,
            "json" => Self::Json,
            "md" | "markdown" => Self::Markdown,
            "sarif" => Self::Sarif,
            "xml" => Self::Junit,
            "csv" => Self::Csv,
            _ => return None,
        })
    }

    fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Sarif)
    }
}

impl FileFormat for ReportFormat {
    fn from_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "html" | "htm" => Self::Html,
            "prom" => Self::Prometheus,
            "ocsf" => Self::Ocsf,
            "asff" => Self::Asff,
            _ => match FindingsFormat::from_extension(extension)? {
                FindingsFormat::Table => Self::Table,
                FindingsFormat::Json => Self::Json,
                FindingsFormat::Markdown => Self::Markdown,
                FindingsFormat::Sarif => Self::Sarif,
                FindingsFormat::Junit => Self::Junit,
                FindingsFormat::Github => Self::Github,
                FindingsFormat::Csv => Self::Csv,
            },
        })
    }

    fn is_page(self) -> bool {
        self == Self::Html
    }

    fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Sarif | Self::Ocsf | Self::Asff)
    }

    fn access(self) -> Access {
        match self {
            // The collector is a service of another user.
            Self::Prometheus => Access::Everyone,
            _ => Access::Owner,
        }
    }
}

impl ReportFormat {
    /// Writes a report in this format.
    ///
    /// # Errors
    /// When the writer fails, or the format requires something that the report does not hold.
    pub fn write(self, report: &Report, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
        let view = || ReportView::from(report);
        match self {
            Self::Table => super::report(report, options, out),
            Self::Json => super::json(report, out),
            Self::Html => super::html(report, options.language, out),
            Self::Markdown => super::markdown(&view(), out),
            Self::Sarif => super::sarif(&view(), out),
            Self::Junit => super::junit(&view(), options.threshold, out),
            Self::Github => super::github(&view(), out),
            Self::Csv => super::csv(&view(), out),
            Self::Prometheus => super::prometheus(report, out),
            Self::Ocsf => super::ocsf(&[report], out),
            Self::Asff => super::asff(&[report], out),
        }
    }

    /// Writes the reports of many targets in this format.
    ///
    /// # Errors
    /// When the writer fails, or the format requires something that a report does not hold.
    pub fn write_set(self, set: &ReportSet, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
        let view = || ReportView::from(set);
        let events = |write: fn(&[&Report], &mut dyn Write) -> io::Result<()>, out: &mut dyn Write| {
            let reports = set.with_unread();
            write(&reports.iter().map(Cow::as_ref).collect::<Vec<_>>(), out)
        };
        match self {
            Self::Table => super::targets(set, options, out),
            Self::Json => super::json(set, out),
            Self::Html => super::html_set(set, options.language, out),
            Self::Markdown => super::markdown_set(set, out),
            Self::Sarif => super::sarif(&view(), out),
            Self::Junit => super::junit(&view(), options.threshold, out),
            Self::Github => super::github(&view(), out),
            Self::Csv => super::csv(&view(), out),
            Self::Prometheus => super::prometheus_set(set, out),
            Self::Ocsf => events(super::ocsf, out),
            Self::Asff => events(super::asff, out),
        }
    }
}
