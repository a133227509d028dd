//! Comments in the files themselves that leave findings as they are: `# tagaudit: ignore[rule] reason`, at the end of the line that a
//! finding marks, or on lines of their own right above it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::{Finding, Status, Waiver};
use crate::kubernetes::Source;
use crate::rules;

/// The word before the rules.
const MARK: &str = "tagaudit:";

/// A comment that names rules.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Comment<'t> {
    rules: Vec<&'t str>,
    reason: &'t str,
}

/// Marks the findings as waived that comments leave as they are; a finding that marks several lines needs one at each. Returns what is
/// wrong with the comments, each with its place: rules that do not exist, a reason that is missing, no finding to leave.
pub(super) fn heed(
    findings: &mut [Finding],
    texts: &BTreeMap<Arc<str>, Arc<Source>>,
    selected: &[&'static rules::Rule],
) -> Vec<String> {
    let mut used: BTreeSet<(&str, usize, &str)> = BTreeSet::new();
    for finding in findings.iter_mut() {
        let mut held: Option<(&str, &str, usize)> = None;
        let mut places = 0;
        for place in &finding.locations {
            let Some((file, source)) = texts.get_key_value(&place.file) else { continue };
            let of_rule = |comment: &Comment<'_>| comment.rules.contains(&finding.rule) && !comment.reason.is_empty();
            let Some((line, comment)) = about(source, place.line).find(|(_, comment)| of_rule(comment)) else {
                continue;
            };
            places += 1;
            used.insert((file, line, finding.rule));
            held = held.or(Some((comment.reason, file, line)));
        }
        if let Some((reason, file, line)) = held.filter(|_| places == finding.locations.len()) {
            finding.status = Status::Waived;
            finding.waiver = Some(Waiver {
                reason: reason.to_owned(),
                owner: None,
                expires: None,
                place: format!("{file}:{line}"),
                expired: false,
            });
        }
    }
    texts.iter().flat_map(|(file, source)| wrong(file, source, selected, &used)).collect()
}

/// The mistakes in the comments of a file.
fn wrong(
    file: &str,
    source: &Source,
    selected: &[&'static rules::Rule],
    used: &BTreeSet<(&str, usize, &str)>,
) -> Vec<String> {
    // Almost no file has one.
    if memchr::memmem::find(source.text().as_bytes(), MARK.as_bytes()).is_none() {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (line, comment) in source.text().lines().zip(1..).filter_map(|(text, line)| Some((line, comment(text)?))) {
        if comment.reason.is_empty() {
            wrong.push(format!("{file}:{line}: the comment gives no reason, and is not heeded: write it after `]`"));
            continue;
        }
        for name in comment.rules {
            let is_run = selected.iter().any(|rule| rule.id == name);
            if rules::find(name).is_none() {
                wrong.push(format!("{file}:{line}: no rule is called `{name}`"));
            } else if is_run && !used.contains(&(file, line, name)) {
                wrong.push(format!("{file}:{line}: the comment on `{name}` leaves no finding as it is"));
            }
        }
    }
    wrong
}

/// The comments about a line: its own, and those of the lines of comments right above it.
fn about(source: &Source, line: usize) -> impl Iterator<Item = (usize, Comment<'_>)> {
    let own = source.line_text(line).and_then(comment).map(|comment| (line, comment));
    let above = (1..line)
        .rev()
        .map_while(|line| Some((line, source.line_text(line)?)))
        .take_while(|(_, text)| text.trim_start().starts_with('#'))
        .filter_map(|(line, text)| Some((line, comment(text)?)));
    own.into_iter().chain(above)
}

/// The comment of a line that names rules.
fn comment(text: &str) -> Option<Comment<'_>> {
    let mark = text.find(MARK)?;
    let (before, behind) = text.split_at(mark);
    let before = before.trim_end();
    // A comment starts the line or stands behind white space. Source: YAML 1.2.2, 6.6 "Comments".
    let rest = before.strip_suffix('#')?.trim_end_matches('#');
    if !(rest.is_empty() || rest.ends_with([' ', '\t'])) {
        return None;
    }
    let (rules, reason) = behind.strip_prefix(MARK)?.trim_start().strip_prefix("ignore[")?.split_once(']')?;
    let rules = rules.split(',').map(str::trim).filter(|rule| !rule.is_empty()).collect();
    Some(Comment { rules, reason: reason.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_rules_and_a_reason() {
        for (text, rules, reason) in [
            ("# tagaudit: ignore[a] why", &["a"][..], "why"),
            ("  key: value # tagaudit: ignore[a,b] why so", &["a", "b"], "why so"),
            ("## tagaudit:ignore[ a , b ]", &["a", "b"], ""),
            ("\t# tagaudit: ignore[] why", &[], "why"),
        ] {
            let found = comment(text).unwrap();
            assert_eq!((found.rules.as_slice(), found.reason), (rules, reason), "{text}");
        }
        for text in [
            "tagaudit: ignore[a] why",
            "value#tagaudit: ignore[a] why",
            "# tagaudit: ignore",
            "# tagaudit: ignore[a",
            "# tagaudit: skip[a]",
        ] {
            assert_eq!(comment(text), None, "{text}");
        }
    }
}
