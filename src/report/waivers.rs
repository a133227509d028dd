//! The open findings of reports as waivers of a configuration: accepted today, for a time.

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::finding::Severity;
use crate::text;

use super::Finding;

/// Maximum length of a reason in characters.
const REASON: usize = 160;

/// Waivers of open findings.
pub(crate) struct Waivers {
    /// The `[[waiver]]` tables.
    pub(crate) page: String,
    /// Number of findings that they waive.
    pub(crate) waived: usize,
    /// Number of findings on resources whose names would be patterns, which no waiver names exactly.
    pub(crate) left: usize,
}

/// Waives the open findings of at least a severity. A finding is waived only if every resource that it affects is, so each
/// has a waiver.
pub(crate) fn waivers<'f>(
    findings: impl IntoIterator<Item = &'f Finding>,
    threshold: Severity,
    today: Date,
    expires: Date,
) -> Waivers {
    let open: Vec<&Finding> = findings.into_iter().filter(|one| one.is_open() && one.severity >= threshold).collect();
    let mut written: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut page = format!("# Findings that were open on {today}. The last day of each waiver is {expires}.\n");
    let resources = |finding: &'f Finding| {
        let same_kind = finding.related.iter().filter(|one| one.kind == finding.resource.kind);
        std::iter::once(&finding.resource).chain(same_kind)
    };
    let is_exact = |finding: &&&'f Finding| resources(finding).all(|one| !one.id.contains(['*', '?']));
    let exact: Vec<&&Finding> = open.iter().filter(is_exact).collect();
    for finding in &exact {
        for resource in resources(finding) {
            if !written.insert((&finding.rule, &resource.id)) {
                continue;
            }
            let reason: String = format!("open on {today}: {}", finding.message).chars().take(REASON).collect();
            page.push_str(&format!(
                "\n[[waiver]]\nrule = {}\nresource = {}\nreason = {}\nexpires = {expires}\n",
                quoted(&finding.rule),
                quoted(&resource.id),
                quoted(&reason)
            ));
        }
    }
    Waivers { page, waived: exact.len(), left: open.len() - exact.len() }
}

/// A basic string of TOML: its escapes are those of JSON, and control characters that JSON allows are escaped too.
fn quoted(value: &str) -> String {
    let json = serde_json::Value::from(value).to_string();
    text::json_printable(&json).into_owned()
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn hostile_names_stay_within_their_string() {
        for name in ["a\"\n[[waiver]]\nrule = \"x", "\u{7f}\u{1b}[2J", "\\", "\u{202e}", "a\tb"] {
            let text = format!("v = {}", quoted(name));
            let table = toml::de::DeTable::parse(&text).unwrap();
            let value = table.get_ref().get("v").unwrap();
            assert_eq!(value.get_ref().as_str(), Some(name), "{text}");
            assert_eq!(text.lines().count(), 1);
        }
    }
}
