//! The language of tables, pages and help.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::render::Language;

/// Languages of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LanguageName {
    /// English
    #[value(aliases = ["", "C", "en-US", "en_US", "en_US.UTF-8"])]
    En,
    /// 中文 (Chinese); of rules, those that apply to Alibaba Cloud
    #[value(aliases = ["zh-CN", "zh-cn", "zh_CN", "zh_CN.UTF-8", "zh-Hans", "zh-Hans-CN"])]
    Zh,
}

impl From<LanguageName> for Language {
    fn from(name: LanguageName) -> Self {
        match name {
            LanguageName::En => Self::English,
            LanguageName::Zh => Self::Chinese,
        }
    }
}

/// The language of `--lang` or its variable, and that of the locale.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct Languages {
    pub(in crate::cli) given: Option<Language>,
    pub(in crate::cli) locale: Language,
}

impl Languages {
    pub(in crate::cli) fn new(given: Option<LanguageName>) -> Self {
        Self { given: given.map(Language::from), locale: locale() }
    }

    /// The language of an output: a locale decides only for people, on a terminal or in a page for a browser.
    pub(in crate::cli) fn of(self, is_for_people: bool) -> Language {
        self.given.unwrap_or(if is_for_people { self.locale } else { Language::English })
    }
}

/// The language of the locale: the first variable with a value decides (POSIX.1-2024, "Environment Variables", 8.2).
#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn locale() -> Language {
    let variables = ["LC_ALL", "LC_MESSAGES", "LANG"].map(std::env::var_os);
    named(variables.into_iter().flatten())
}

fn named(values: impl Iterator<Item = OsString>) -> Language {
    let first = values.into_iter().find(|value| !value.is_empty()).unwrap_or_default();
    let language = first.to_string_lossy().to_ascii_lowercase();
    let is_chinese = language.split(['_', '-', '.', '@']).next() == Some("zh");
    // Traditional characters are another script.
    let is_traditional = ["_tw", "_hk", "_mo", "-hant"].iter().any(|region| language.contains(region));
    if is_chinese && !is_traditional { Language::Chinese } else { Language::English }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_with_a_value_decides() {
        for (values, expected) in [
            (&["zh_CN.UTF-8"][..], Language::Chinese),
            (&["", "zh"], Language::Chinese),
            (&["zh-Hans-CN"], Language::Chinese),
            (&["zh_SG.UTF-8"], Language::Chinese),
            (&["C", "zh_CN.UTF-8"], Language::English),
            (&["zh_TW.UTF-8"], Language::English),
            (&["en_US.UTF-8"], Language::English),
            (&["zhx"], Language::English),
            (&[], Language::English),
        ] {
            assert_eq!(named(values.iter().map(OsString::from)), expected, "{values:?}");
        }
    }

    #[test]
    fn a_locale_decides_only_for_people() {
        let locale = Languages { given: None, locale: Language::Chinese };
        assert_eq!((locale.of(true), locale.of(false)), (Language::Chinese, Language::English));
        let given = Languages { given: Some(Language::Chinese), locale: Language::English };
        assert_eq!((given.of(true), given.of(false)), (Language::Chinese, Language::Chinese));
    }
}
