//! Texts of the rules in Chinese: `zh-CN.ftl`, in the syntax of Fluent. A rule that has none there is shown in English.

use std::borrow::Cow;
use std::sync::LazyLock;

use fluent_bundle::FluentResource;
use fluent_bundle::concurrent::FluentBundle;

use crate::finding::Severity;

use super::Rule;

const CHINESE: &str = include_str!("zh-CN.ftl");

/// The texts of a rule in one language.
pub(crate) struct RuleTexts<'t> {
    pub(crate) title: Cow<'t, str>,
    /// Severities, and what decides between them.
    pub(crate) severity: Cow<'t, str>,
    pub(crate) condition: Cow<'t, str>,
    pub(crate) impact: Cow<'t, str>,
    pub(crate) fix: Cow<'t, str>,
}

impl RuleTexts<'_> {
    /// The texts of the catalogue.
    pub(crate) fn english(rule: &Rule) -> RuleTexts<'static> {
        RuleTexts {
            title: rule.title.into(),
            severity: rule.severity.describe().into(),
            condition: rule.condition.into(),
            impact: rule.impact.into(),
            fix: rule.fix.into(),
        }
    }
}

/// The Chinese texts of rules.
pub(crate) struct Chinese(FluentBundle<FluentResource>);

static TEXTS: LazyLock<Chinese> = LazyLock::new(|| Chinese(bundle(CHINESE)));

/// The Chinese texts of rules, read once.
pub(crate) fn chinese() -> &'static Chinese {
    &TEXTS
}

/// The texts of a file in Chinese; tests hold that the files have no errors.
pub(crate) fn bundle(file: &'static str) -> FluentBundle<FluentResource> {
    let texts = FluentResource::try_new(file.to_owned()).unwrap_or_else(|(texts, _)| texts);
    let mut bundle = FluentBundle::new_concurrent(Vec::new());
    // Marks around values would be copied with them.
    bundle.set_use_isolating(false);
    bundle.add_resource_overriding(texts);
    bundle
}

impl Chinese {
    /// The texts of a rule; `None` if it is not translated.
    pub(crate) fn texts(&self, rule: &Rule) -> Option<RuleTexts<'_>> {
        let message = self.0.get_message(rule.id)?;
        let text = |pattern| self.0.format_pattern(pattern, None, &mut Vec::new());
        let attribute = |name| message.get_attribute(name).map(|attribute| text(attribute.value()));
        let severity = match rule.severity.default {
            Severity::Error => "错误",
            Severity::Warning => "警告",
            Severity::Info => "提示",
        };
        Some(RuleTexts {
            title: text(message.value()?),
            severity: attribute("severity").unwrap_or_else(|| severity.into()),
            condition: attribute("condition")?,
            impact: attribute("impact")?,
            fix: attribute("fix")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::RULES;
    use super::*;
    use crate::inventory::Provider;

    /// What stands in backticks, which no language changes.
    fn code(text: &str) -> BTreeSet<&str> {
        text.split('`').skip(1).step_by(2).collect()
    }

    #[test]
    fn the_file_has_no_errors() {
        let errors = FluentResource::try_new(CHINESE.to_owned()).map_err(|(_, errors)| errors).err();
        assert!(errors.is_none(), "{errors:?}");
    }

    #[test]
    fn every_rule_of_alibaba_cloud_is_translated() {
        let chinese = chinese();
        for rule in RULES.iter().filter(|rule| rule.providers().contains(&Provider::Alibaba)) {
            let own = chinese.texts(rule).unwrap_or_else(|| panic!("{} is not translated", rule.id));
            let english = RuleTexts::english(rule);
            for (own, english) in [
                (own.title, english.title),
                (own.severity, english.severity),
                (own.condition, english.condition),
                (own.impact, english.impact),
                (own.fix, english.fix),
            ] {
                assert_eq!(code(&own), code(&english), "{}: {own}", rule.id);
                let is_chinese = own.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
                assert!(is_chinese && !own.contains("\u{2068}"), "{}: {own}", rule.id);
            }
        }
    }

    #[test]
    fn every_text_belongs_to_a_rule() {
        let known: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        let is_message = |line: &&str| line.starts_with(|c: char| c.is_ascii_lowercase());
        for line in CHINESE.lines().filter(is_message) {
            let id = line.split(" = ").next().unwrap_or_default();
            assert!(known.contains(id), "{id} is no rule");
        }
    }

    /// A severity with a condition needs its words; one without has none.
    #[test]
    fn notes_on_severities_are_translated() {
        let chinese = chinese();
        for rule in RULES.iter().filter(|rule| rule.providers().contains(&Provider::Alibaba)) {
            let has_note = chinese.0.get_message(rule.id).is_some_and(|one| one.get_attribute("severity").is_some());
            assert_eq!(has_note, rule.severity.note.is_some(), "{}", rule.id);
        }
    }
}
