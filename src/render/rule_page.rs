//! The description of a rule, as a page.

use std::fmt::Write as _;

use crate::rules::translation::RuleTexts;
use crate::rules::{self, Rule, messages};

/// Headings of a page in one language.
pub(crate) struct Headings {
    pub(crate) cloud: &'static str,
    pub(crate) severity: &'static str,
    pub(crate) resources: &'static str,
    pub(crate) condition: &'static str,
    pub(crate) impact: &'static str,
    pub(crate) fix: &'static str,
    pub(crate) example: &'static str,
    pub(crate) messages: &'static str,
    pub(crate) sources: &'static str,
}

pub(crate) const ENGLISH: Headings = Headings {
    cloud: "Cloud",
    severity: "Severity",
    resources: "Resources",
    condition: "Reports when",
    impact: "What breaks",
    fix: "Fix",
    example: "For example",
    messages: "In logs and events",
    sources: "Decided in",
};

pub(crate) const CHINESE: Headings = Headings {
    cloud: "云",
    severity: "级别",
    resources: "资源",
    condition: "报告条件",
    impact: "影响",
    fix: "修复",
    example: "示例",
    messages: "日志和事件",
    sources: "依据",
};

/// The page of a rule in Markdown.
#[must_use]
pub(crate) fn markdown(rule: &Rule) -> String {
    page(rule, &in_logs(rule, &ENGLISH, "."))
}

/// The page of a rule for code scanning: without the messages, which may be those of another cloud's controllers.
pub(crate) fn help(rule: &Rule) -> String {
    page(rule, "")
}

fn page(rule: &Rule, messages: &str) -> String {
    let mut page = format!(
        "## {}\n\n{}. Severity: {}. Resources: {}.\n\n**Reports when.** {}\n\n**What breaks.** {}.\n\n**Fix ({}).** {}\n\n**For example.** {}\n\n{}**Decided in**\n\n",
        rule.id,
        capitalised(rule.title),
        rule.severity.describe(),
        resources(rule),
        rule.condition,
        capitalised(rule.impact),
        rule.applicability.name(),
        rule.fix,
        rule.example,
        messages
    );
    push_sources(&mut page, rule);
    page
}

/// The page of a rule in Markdown, in Chinese.
#[must_use]
pub(crate) fn markdown_in_chinese(rule: &Rule, texts: &RuleTexts<'_>) -> String {
    let mut page = format!(
        "## {}\n\n{}。级别：{}。资源：{}。\n\n**报告条件：** {}\n\n**影响：** {}。\n\n**修复（{}）：** {}\n\n**示例：** {}\n\n{}**依据**\n\n",
        rule.id,
        texts.title,
        texts.severity,
        resources(rule),
        texts.condition,
        texts.impact,
        rule.applicability.name(),
        texts.fix,
        rule.example,
        in_logs(rule, &CHINESE, "：")
    );
    push_sources(&mut page, rule);
    page
}

/// The messages that lead to a rule, as a list with a heading; empty if none does.
fn in_logs(rule: &Rule, headings: &Headings, stop: &str) -> String {
    let messages = messages::of_rule(rule.id);
    if messages.is_empty() {
        return String::new();
    }
    let mut list = format!("**{}{stop}**\n\n", headings.messages);
    for (component, text) in messages {
        // A message may have backticks.
        let fence = if text.contains('`') { "``" } else { "`" };
        let _ = writeln!(list, "- {component}: {fence}{text}{fence}");
    }
    list.push('\n');
    list
}

/// Kinds of resources, by name.
pub(crate) fn resources(rule: &Rule) -> String {
    let names: Vec<&str> = rule.resources.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

fn push_sources(page: &mut String, rule: &Rule) {
    for source in rule.sources {
        let _ = match link(source) {
            Some(link) => writeln!(page, "- [{source}]({link})"),
            None => writeln!(page, "- {source}"),
        };
    }
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
