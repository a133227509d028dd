//! Comments in files that waive findings: `# tagaudit: ignore[rule] reason`, at the end of the line that a finding
//! marks, or on separate lines directly above it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::{Finding, Status, Waiver};
use crate::kubernetes::Source;
use crate::policy::json::Span;
use crate::rules;

/// Word before the rules.
const MARK: &str = "tagaudit:";

/// A comment that lists rules.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Comment<'t> {
    rules: Vec<&'t str>,
    reason: &'t str,
}

/// Comments of a text that are addressed to tagaudit, by line; a malformed comment has no rules.
fn comments(source: &Source) -> BTreeMap<usize, Comment<'_>> {
    // Few texts have one, and a text may be a list of megabytes on a single line.
    let marks = memchr::memmem::find_iter(source.text().as_bytes(), MARK.as_bytes());
    let lines: BTreeSet<usize> = marks.map(|at| source.place(Span { start: at, end: at }).line).collect();
    lines
        .into_iter()
        .filter_map(|line| {
            let text = source.line_text(line)?;
            let unread = || is_comment(text.split_once(MARK)?.0).then_some(Comment { rules: Vec::new(), reason: "" });
            Some((line, comment(text).or_else(unread)?))
        })
        .collect()
}

/// Marks findings as waived by comments; a finding with several lines needs a comment at each. Returns the mistakes in
/// the comments, with their places: unknown rules, a missing reason, no matching finding.
pub(super) fn heed(
    findings: &mut [Finding],
    texts: &BTreeMap<Arc<str>, Arc<Source>>,
    selected: &[&'static rules::Rule],
) -> Vec<String> {
    let commented: BTreeMap<&str, (&Source, BTreeMap<usize, Comment<'_>>)> =
        texts.iter().map(|(file, source)| (&**file, (&**source, comments(source)))).collect();
    let mut used: BTreeSet<(&str, usize, &str)> = BTreeSet::new();
    for finding in findings.iter_mut() {
        let mut held: Option<(&str, &str, usize)> = None;
        let mut places = 0;
        for place in &finding.locations {
            let Some((file, (source, comments))) = commented.get_key_value(&*place.file) else { continue };
            let of_rule = |comment: &Comment<'_>| comment.rules.contains(&finding.rule) && !comment.reason.is_empty();
            let Some((line, comment)) = about(source, comments, place.line).find(|(_, comment)| of_rule(comment))
            else {
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
    commented.iter().flat_map(|(file, (_, comments))| wrong(file, comments, selected, &used)).collect()
}

/// Mistakes in the comments of a file.
fn wrong(
    file: &str,
    comments: &BTreeMap<usize, Comment<'_>>,
    selected: &[&'static rules::Rule],
    used: &BTreeSet<(&str, usize, &str)>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (line, comment) in comments {
        if comment.rules.is_empty() {
            let wanted = "write `# tagaudit: ignore[rule] reason`";
            wrong.push(format!("{file}:{line}: the comment names no rule and is ignored: {wanted}"));
            continue;
        }
        if comment.reason.is_empty() {
            wrong.push(format!("{file}:{line}: the comment gives no reason and is ignored: write it after `]`"));
            continue;
        }
        for name in &comment.rules {
            let is_run = selected.iter().any(|rule| rule.id == *name);
            if rules::find(name).is_none() {
                wrong.push(format!("{file}:{line}: no rule is called `{name}`"));
            } else if is_run && !used.contains(&(file, *line, *name)) {
                wrong.push(format!("{file}:{line}: the comment for `{name}` matches no finding"));
            }
        }
    }
    wrong
}

/// Comments about a line: its own, and those on the comment lines directly above it.
fn about<'c, 't>(
    source: &'t Source,
    comments: &'c BTreeMap<usize, Comment<'t>>,
    line: usize,
) -> impl Iterator<Item = (usize, &'c Comment<'t>)> {
    let lines_above = if comments.is_empty() { 0..0 } else { 1..line };
    let above = lines_above
        .rev()
        .take_while(|line| source.line_text(*line).is_some_and(|text| text.trim_start().starts_with('#')));
    std::iter::once(line).chain(above).filter_map(|line| Some((line, comments.get(&line)?)))
}

/// True if the text before the mark starts a comment: at the start of the line, or after white space.
/// Source: YAML 1.2.2, 6.6 "Comments".
fn is_comment(before: &str) -> bool {
    let rest = before.trim_end().strip_suffix('#').map(|rest| rest.trim_end_matches('#'));
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with([' ', '\t']))
}

/// Parses the comment of a line, if it lists rules.
fn comment(text: &str) -> Option<Comment<'_>> {
    let mark = text.find(MARK)?;
    let (before, behind) = text.split_at(mark);
    if !is_comment(before) {
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
