//! The description of a rule, as a page.

use std::fmt::Write as _;

use crate::rules::{self, Rule};

/// The page of a rule in Markdown.
#[must_use]
pub(crate) fn markdown(rule: &Rule) -> String {
    let resources: Vec<&str> = rule.resources.iter().map(|kind| kind.name()).collect();
    let mut page = format!(
        "## {}\n\n{}. Severity: {}. Resources: {}.\n\n**Reports when.** {}\n\n**What breaks.** {}.\n\n**Fix ({}).** {}\n\n**For example.** {}\n\n**Decided in**\n\n",
        rule.id,
        capitalised(rule.title),
        rule.severity.describe(),
        resources.join(", "),
        rule.condition,
        capitalised(rule.impact),
        rule.applicability.name(),
        rule.fix,
        rule.example
    );
    for source in rule.sources {
        let _ = match link(source) {
            Some(link) => writeln!(page, "- [{source}]({link})"),
            None => writeln!(page, "- {source}"),
        };
    }
    page
}

/// A link to `repo path#function` on GitHub; other sources are titles of documents.
pub(crate) fn link(source: &str) -> Option<String> {
    if source.starts_with("https://") {
        return Some(source.to_owned());
    }
    let (repository, path) = source.split_once(' ')?;
    let is_repository = repository.matches('/').count() == 1 && !path.contains(' ');
    is_repository.then(|| {
        let path = path.split('#').next().unwrap_or_default();
        format!("https://github.com/{repository}/blob/HEAD/{path}")
    })
}

/// The text with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The sources of a rule; none if this version does not know it.
pub(crate) fn sources(id: &str) -> &'static [&'static str] {
    rules::find(id).map_or(&[], |rule| rule.sources)
}

/// The title of a rule; its id if this version does not know it.
pub(crate) fn title(id: &str) -> &str {
    rules::find(id).map_or(id, |rule| rule.title)
}
