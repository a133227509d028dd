//! Words of reports in two languages: English is in the code, Chinese in `zh-CN.ftl`, in the syntax of Fluent. What a
//! finding states about its resource stays English, and so do ids.

use std::borrow::Cow;
use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};

use crate::finding::{Applicability, Severity};
use crate::report::VerdictPart;
use crate::rules::{self, translation};
use crate::text;

use super::rule_page;

const CHINESE: &str = include_str!("zh-CN.ftl");

static BUNDLE: LazyLock<FluentBundle<FluentResource>> = LazyLock::new(|| translation::bundle(CHINESE));

/// Language of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    /// The code of the language in HTML (BCP 47).
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    /// The line about the entries of a list that only `-v` shows.
    pub(super) fn left_out(self, number: usize) -> String {
        self.fill("and {number} more: -v shows them", &[("number", &number)])
    }

    /// Between the parts of a list.
    pub(super) fn comma(self) -> &'static str {
        match self {
            Self::English => ", ",
            Self::Chinese => "，",
        }
    }

    /// A text in this language; the text itself where it is data.
    pub(super) fn text(self, english: &str) -> Cow<'_, str> {
        let translated = if self == Self::Chinese { message(&id(english), None) } else { None };
        translated.unwrap_or(Cow::Borrowed(english))
    }

    /// A text in this language, with values for the names in braces.
    pub(super) fn fill(self, english: &'static str, values: &[(&'static str, &dyn std::fmt::Display)]) -> String {
        if self == Self::Chinese {
            let mut given = FluentArgs::new();
            for (name, value) in values {
                given.set(*name, value.to_string());
            }
            if let Some(text) = message(&id(english), Some(&given)) {
                return text.into_owned();
            }
        }
        filled(english, values)
    }

    /// A number of things.
    pub(super) fn count(self, number: usize, noun: &'static str) -> String {
        if self == Self::Chinese {
            let mut given = FluentArgs::new();
            given.set("number", number.to_string());
            if let Some(text) = message(&format!("count-{}", id(noun)), Some(&given)) {
                return text.into_owned();
            }
        }
        text::count(number, noun)
    }

    /// The word for a severity.
    pub(super) fn severity(self, severity: Severity) -> Cow<'static, str> {
        self.text(severity.name())
    }

    /// The word for the consent that a fix needs.
    pub(super) fn applicability(self, applicability: Applicability) -> Cow<'static, str> {
        self.text(applicability.name())
    }

    /// The impact of a finding: that of its rule in this language, or its own.
    pub(super) fn impact<'t>(self, rule: &str, impact: &'t str) -> Cow<'t, str> {
        self.of_rule(rule, |found| found.impact == impact, |texts| texts.impact).unwrap_or(Cow::Borrowed(impact))
    }

    /// The fix of a rule in this language; `None` in English, and where it is not translated.
    pub(super) fn fix(self, rule: &str) -> Option<Cow<'static, str>> {
        self.of_rule(rule, |_| true, |texts| texts.fix)
    }

    /// The title of a rule in this language; `None` in English, and where it is not translated.
    pub(super) fn title(self, rule: &str) -> Option<Cow<'static, str>> {
        self.of_rule(rule, |_| true, |texts| texts.title)
    }

    /// The title of a rule in this language; in English where it is not translated.
    pub(super) fn title_or_english(self, rule: &str) -> Cow<'_, str> {
        self.title(rule).unwrap_or(Cow::Borrowed(rule_page::title(rule)))
    }

    fn of_rule(
        self,
        rule: &str,
        is_right: impl Fn(&rules::Rule) -> bool,
        part: impl Fn(translation::RuleTexts<'static>) -> Cow<'static, str>,
    ) -> Option<Cow<'static, str>> {
        if self == Self::English {
            return None;
        }
        let rule = rules::find(rule).filter(|rule| is_right(rule))?;
        translation::chinese().texts(rule).map(part)
    }
}

/// A part of the verdict in words.
pub(super) fn verdict_words(part: VerdictPart, language: Language) -> String {
    match part {
        VerdictPart::Found(severity, number) => language.count(number, severity.noun()),
        VerdictPart::NothingToAudit => language.text("nothing to audit: no cluster was found").into_owned(),
        VerdictPart::NothingFound => language.text("nothing found").into_owned(),
        VerdictPart::NothingFoundInPart => language.text("nothing found in what could be read").into_owned(),
        VerdictPart::Waived(number) => language.fill("{number} waived", &[("number", &number)]),
        VerdictPart::NotAudited(number) => language.fill("{number} not audited", &[("number", &number)]),
    }
}

/// A text with values for the names in braces. What a value has in braces stays.
fn filled(english: &str, values: &[(&'static str, &dyn std::fmt::Display)]) -> String {
    let mut parts = english.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            text.push_str(&value.to_string());
        }
        text.push_str(rest);
    }
    text
}

/// A message of the catalogue; a test holds that none is missing.
fn message(id: &str, values: Option<&FluentArgs<'_>>) -> Option<Cow<'static, str>> {
    let pattern = BUNDLE.get_message(id)?.value()?;
    Some(Cow::Owned(BUNDLE.format_pattern(pattern, values, &mut Vec::new()).into_owned()))
}

/// The id of a text in the catalogue: its words, joined by dashes.
fn id(english: &str) -> String {
    let words = english.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use regex::Regex;

    use super::*;

    /// Texts of `say`, `fill` and `count` in the sources of this folder, by id.
    fn used() -> BTreeMap<String, String> {
        let call =
            Regex::new(r#"\.(text|fill|say|say_filled|count|say_count)\(\s*(?:[a-z_.()]+,\s*)?"((?:[^"\\]|\\.)*)""#)
                .unwrap();
        // Labels of lines.
        let label = Regex::new(r#"(?:line|fact|paragraph)\(\s*"([a-z]+)""#).unwrap();
        // Columns of tables, and the words of the script.
        let table = Regex::new(r"(?s)const [A-Z_]+: \[(?:&str|\(&str, &str\)); \d+\] =\s*\[(.*?)\];").unwrap();
        let string = Regex::new(r#""([^"]+)""#).unwrap();
        let mut found = BTreeMap::new();
        let names = ["table", "targets", "roles", "words", "html", "html/map", "html/set", "html/controllers"];
        for name in names {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/render/{name}.rs"));
            {
                let source = std::fs::read_to_string(&file).unwrap();
                let source = source.split("#[cfg(test)]").next().unwrap();
                for table in table.captures_iter(source) {
                    for text in string.captures_iter(&table[1]).map(|text| text[1].to_owned()) {
                        if !text.starts_with("data-") {
                            found.insert(id(&text), text);
                        }
                    }
                }
                for label in label.captures_iter(source) {
                    found.insert(id(&label[1]), label[1].to_owned());
                }
                for call in call.captures_iter(source) {
                    let prefix = if call[1].contains("count") { "count-" } else { "" };
                    found.insert(format!("{prefix}{}", id(&call[2])), call[2].to_owned());
                }
            }
        }
        for severity in Severity::WORST_FIRST {
            found.insert(id(severity.name()), severity.name().to_owned());
            found.insert(format!("count-{}", severity.noun()), severity.noun().to_owned());
        }
        found
    }

    #[test]
    fn the_catalogue_has_no_errors() {
        let errors = FluentResource::try_new(CHINESE.to_owned()).map_err(|(_, errors)| errors).err();
        assert!(errors.is_none(), "{errors:?}");
    }

    #[test]
    fn every_text_in_the_catalogue_is_chinese_and_used() {
        let used = used();
        let dynamic: BTreeSet<&str> = DYNAMIC.into_iter().collect();
        for line in CHINESE.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())) {
            let (id, text) = line.split_once(" = ").unwrap();
            assert!(used.contains_key(id) || dynamic.contains(id), "nothing uses {id}");
            assert!(!dynamic.contains(id) || !used.contains_key(id), "{id} is not dynamic");
            assert!(text.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')), "{line}");
        }
    }

    /// Words of enums, which the code does not write as texts of a report.
    const DYNAMIC: [&str; 14] = [
        "audited",
        "nothing-to-audit",
        "skipped",
        "safe",
        "confirm",
        "choice",
        "none",
        "passed",
        "failed",
        "not-applicable",
        "new",
        "worse",
        "unchanged",
        "undecided",
    ];

    #[test]
    fn every_text_is_translated_with_its_values() {
        let value = Regex::new(r"\{([a-z]+)\}").unwrap();
        for (id, english) in used() {
            let pattern = BUNDLE.get_message(&id).and_then(|message| message.value());
            assert!(pattern.is_some(), "{id} is missing: {english}");
            let chinese = CHINESE.lines().find(|line| line.starts_with(&format!("{id} = "))).unwrap();
            for value in value.captures_iter(&english) {
                assert!(chinese.contains(&format!("{{ ${} }}", &value[1])), "{id}: {chinese}");
            }
        }
    }

    #[test]
    fn values_stand_in_their_places() {
        let fill = |language: Language| language.fill("and {number} more", &[("number", &3)]);
        assert_eq!(fill(Language::English), "and 3 more");
        assert!(fill(Language::Chinese).contains('3'), "{}", fill(Language::Chinese));
        // A name of another value in a value is data.
        let hostile =
            |language: Language| language.fill("{number} of {total}", &[("number", &"{total}"), ("total", &7)]);
        assert_eq!(hostile(Language::English), "{total} of 7");
        assert!(hostile(Language::Chinese).contains("{total}"), "{}", hostile(Language::Chinese));
        assert_eq!(Language::English.count(1, "rule"), "1 rule");
        assert_eq!(Language::English.count(2, "rule"), "2 rules");
    }
}
