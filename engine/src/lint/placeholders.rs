//! Placeholders in a policy that is itself a template; they are as unknown as values inserted at deployment.

use crate::document::{Document, Element};
use crate::text::Text;

/// Marks the placeholders of a document as unknown: `${name}` without the colon of a policy variable, `<name>`,
/// `{{ name }}`, `{name}`, `[NAME]`, `%(name)s` and `%name%`. None of them is valid text in a policy.
pub(super) fn mark(document: &mut Document) {
    for statement in &mut document.statements {
        element(&mut statement.action);
        statement.resource.iter_mut().for_each(element);
        for condition in &mut statement.conditions {
            each(std::iter::once(&mut condition.key).chain(&mut condition.values));
        }
        if let Some(principal) = &mut statement.principal {
            each(principal.entries.iter_mut().map(|(_, value)| value));
        }
    }
}

fn element(element: &mut Element) {
    // Both have the same text, except for case.
    for (pattern, folded) in element.patterns.iter_mut().zip(&mut element.folded) {
        if may_have_placeholder(pattern) {
            each([pattern, folded].into_iter());
        }
    }
}

fn each<'t>(texts: impl Iterator<Item = &'t mut Text>) {
    for text in texts {
        if may_have_placeholder(text)
            && let Some(marked) = marked(text)
        {
            *text = marked;
        }
    }
}

/// True if a text may have a placeholder; almost none does.
fn may_have_placeholder(text: &Text) -> bool {
    text.bytes().any(|byte| matches!(byte, b'$' | b'<' | b'{' | b'[' | b'%'))
}

/// The text with its placeholders unknown; `None` if it has none, or is already unknown until deployment.
fn marked(text: &Text) -> Option<Text> {
    if !text.is_known() {
        return None;
    }
    let mut found = Text::default();
    let mut rest: &str = text;
    while let Some((before, name, behind)) = next(rest) {
        found.push_str(before);
        found.push_unknown(name);
        rest = behind;
    }
    found.push_str(rest);
    (!found.is_known()).then_some(found)
}

/// A text without its placeholders.
pub(super) fn strip(text: &str) -> String {
    let (mut known, mut rest) = (String::new(), text);
    while let Some((before, _, behind)) = next(rest) {
        known.push_str(before);
        rest = behind;
    }
    known + rest
}

/// The text before the first placeholder, the name, and the text after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let starts = text.match_indices(['$', '<', '{', '[', '%']);
    starts.map(|(at, _)| text.split_at(at)).find_map(|(before, rest)| {
        let (name, behind) = placeholder(rest)?;
        Some((before, name, behind))
    })
}

/// Name of the placeholder at the start of a text, and the rest.
fn placeholder(text: &str) -> Option<(&str, &str)> {
    let within = |open: &str, close: &str, is_name: fn(&str) -> bool| {
        let (name, behind) = text.strip_prefix(open)?.split_once(close)?;
        let name = name.trim();
        (!name.is_empty() && is_name(name)).then_some((name, behind))
    };
    // A policy variable has a prefix before one colon, or is one of `${*}`, `${?}` and `${$}`.
    let is_no_variable = |name: &str| {
        !name.contains(char::is_whitespace)
            && !matches!(name, "*" | "?" | "$")
            && (!name.contains(':') || name.contains("::"))
    };
    if text.starts_with("${") {
        return within("${", "}", is_no_variable);
    }
    let is_any = |name: &str| !name.contains(['<', '{', '[']);
    let is_word = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- .".contains(&byte));
    within("{{", "}}", is_any)
        .or_else(|| within("<", ">", is_any))
        .or_else(|| within("{", "}", is_word))
        .or_else(|| within("[", "]", is_word))
        .or_else(|| within("%(", ")s", is_word))
        .or_else(|| within("%", "%", is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_unknown_and_variables_are_not() {
        for (text, known) in [
            ("${bucket_arn}", ""),
            ("arn:${AWS::Partition}:s3:::b", "arn::s3:::b"),
            ("<your user pool ARN>", ""),
            ("arn:aws:s3:::{{ bucket }}/*", "arn:aws:s3:::/*"),
            ("arn:aws:iam::{account}:root", "arn:aws:iam:::root"),
            ("[MAX_AGE]", ""),
            ("b-%(name)s-%OTHER%", "b--"),
        ] {
            let marked = marked(&Text::from(text)).unwrap();
            assert!(!marked.is_known(), "{text}");
            assert_eq!(strip(text), known, "{text}");
        }
        for text in
            ["${aws:username}/*", "${*}", "a${$}b", "${aws:PrincipalTag/team, 'none'}", "100%", "a<b", "${", "${}"]
        {
            assert_eq!(marked(&Text::from(text)), None, "{text}");
            assert_eq!(strip(text), text);
        }
    }
}
