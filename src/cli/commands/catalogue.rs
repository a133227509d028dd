//! Commands that only print built-in rules.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};

use serde_json::json;

use crate::inventory::Provider;
use crate::kubernetes::arguments::{NodeArguments, Started};
use crate::render::{self, Language, rule_page};
use crate::rules::translation::{self, Chinese, RuleTexts};
use crate::rules::{self, FAMILIES, RULES, Rule, messages};
use crate::text;
use crate::why;

use crate::cli::args::ProviderName;
use crate::cli::args::catalogue::{ExplainArgs, ExplainFormat, RulesArgs, RulesFormat, SeverityName};
use crate::cli::args::language::{LanguageName, Languages};
use crate::cli::io::failure::Failure;
use crate::cli::io::input::unknown_rule;

pub(in crate::cli) fn rules(args: &RulesArgs, out: &mut dyn Write) -> io::Result<()> {
    let chinese = in_chinese(args.lang);
    let texts = |rule| texts_of(rule, chinese);
    let chosen: Vec<&'static Rule> = RULES.iter().copied().filter(|rule| is_chosen(rule, &texts(rule), args)).collect();
    match args.format {
        RulesFormat::Table => {
            let longest = chosen.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
            for rule in &chosen {
                let clouds: Vec<&str> = rule.providers().iter().map(|provider| provider.name()).collect();
                let (clouds, severity) = (clouds.join(","), rule.severity.default.name());
                writeln!(out, "{:<longest$}  {severity:<7}  {clouds:<11}  {}", rule.id, texts(rule).title)?;
            }
            if chinese.is_some() {
                return writeln!(out, "\n共 {} 条规则；`tagaudit explain RULE --lang zh` 显示说明", chosen.len());
            }
            let number = text::count(chosen.len(), "rule");
            writeln!(out, "\n{number}; `tagaudit explain RULE` describes one")
        }
        RulesFormat::Json => {
            let rules: Vec<_> = chosen.iter().map(|rule| rule_json(rule)).collect();
            serde_json::to_writer_pretty(&mut *out, &json!({"schema": "tagaudit.rules/1", "rules": rules}))?;
            writeln!(out)
        }
        RulesFormat::Markdown => match chinese {
            Some(chinese) => out.write_all(pages_in_chinese(&chosen, chinese).as_bytes()),
            None => out.write_all(pages(&chosen).as_bytes()),
        },
    }
}

/// The Chinese texts, if they are asked for: by `--lang`, or by the locale on a terminal.
fn in_chinese(given: Option<LanguageName>) -> Option<&'static Chinese> {
    let language = Languages::new(given).of(io::stdout().is_terminal());
    (language == Language::Chinese).then(translation::chinese)
}

/// The texts of a rule, in English where they are not translated.
fn texts_of<'t>(rule: &Rule, chinese: Option<&'t Chinese>) -> RuleTexts<'t> {
    chinese.and_then(|chinese| chinese.texts(rule)).unwrap_or_else(|| RuleTexts::english(rule))
}

/// `docs/rules.zh-CN.md`: the rules that apply to Alibaba Cloud, in Chinese.
#[must_use]
pub fn rules_markdown_in_chinese() -> String {
    let chinese = translation::chinese();
    let translated: Vec<&'static Rule> = RULES.iter().copied().filter(|rule| chinese.texts(rule).is_some()).collect();
    pages_in_chinese(&translated, chinese)
}

fn pages_in_chinese(chosen: &[&'static Rule], chinese: &Chinese) -> String {
    let mut page = String::from(
        "# 规则\n\n由 tagaudit 的规则生成，测试确保其为最新。`tagaudit explain RULE --lang zh` 显示一条规则。\n\n| 规则 | 问题 | 级别 | 修复 |\n|---|---|---|---|\n",
    );
    for rule in chosen {
        let texts = texts_of(rule, Some(chinese));
        let _ = writeln!(
            page,
            "| [`{0}`](#{0}) | {1} | {2} | {3} |",
            rule.id,
            texts.title,
            texts.severity,
            rule.applicability.name()
        );
    }
    for rule in chosen {
        page.push('\n');
        page.push_str(&match chinese.texts(rule) {
            Some(texts) => rule_page::markdown_in_chinese(rule, &texts),
            None => rule_page::markdown(rule),
        });
    }
    page
}

/// True if a rule passes the filters.
fn is_chosen(rule: &Rule, texts: &RuleTexts<'_>, args: &RulesArgs) -> bool {
    let of_cloud = |name: ProviderName| rule.providers().contains(&name.into());
    let of_severity = |name: SeverityName| rule.severity.default == name.into();
    let is_about = |kind: &String| rule.resources.iter().any(|one| one.name() == kind);
    let is_of = |family: &String| {
        let mut tables = FAMILIES.iter().filter(|(name, _)| name == family).map(|(_, rules)| rules);
        tables.any(|rules| rules.iter().any(|one| one.id == rule.id))
    };
    let says = |text: &String| {
        let text = text.to_lowercase();
        let own = [rule.id, rule.title, rule.condition, rule.impact, &texts.title, &texts.condition, &texts.impact];
        own.iter().any(|own| own.to_lowercase().contains(&text))
    };
    args.provider.is_none_or(of_cloud)
        && args.severity.is_none_or(of_severity)
        && args.resource.as_ref().is_none_or(is_about)
        && args.family.as_ref().is_none_or(is_of)
        && args.search.as_ref().is_none_or(says)
}

fn rule_json(rule: &Rule) -> serde_json::Value {
    json!({
        "id": rule.id,
        "providers": rule.providers().iter().map(|provider| provider.name()).collect::<Vec<_>>(),
        "title": rule.title,
        "severity": rule.severity.default,
        "severity_note": rule.severity.note,
        "resources": rule.resources.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
        "condition": rule.condition,
        "impact": rule.impact,
        "fix": rule.fix,
        "applicability": rule.applicability.name(),
        "sources": rule.sources,
        "example": rule.example,
        "messages": messages::of_rule(rule.id)
            .into_iter()
            .map(|(component, text)| json!({"component": component, "text": text}))
            .collect::<Vec<_>>(),
    })
}

/// `docs/rules.md`: the whole catalogue.
#[must_use]
pub fn rules_markdown() -> String {
    pages(&RULES)
}

fn pages(chosen: &[&'static Rule]) -> String {
    let mut page = String::from(
        "# Rules\n\nGenerated by `tagaudit rules --format markdown`; a test keeps it up to date. `tagaudit explain RULE` prints one rule.\n",
    );
    for provider in [Provider::Aws, Provider::Alibaba] {
        let _ = writeln!(
            page,
            "\n**{}**\n\n| rule | what is wrong | severity | fix |\n|---|---|---|---|",
            provider.describe()
        );
        for rule in rules::for_provider(chosen, provider) {
            let _ = writeln!(
                page,
                "| [`{0}`](#{0}) | {1} | {2} | {3} |",
                rule.id,
                rule.title,
                rule.severity.describe(),
                rule.applicability.name()
            );
        }
    }
    for rule in chosen {
        page.push('\n');
        page.push_str(&rule_page::markdown(rule));
    }
    page
}

pub(in crate::cli) fn explain(
    args: &ExplainArgs,
    width: usize,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    if let Some(name) = &args.effective {
        return explain_effective(name, args, width, out);
    }
    let asked = args.rule.as_deref().unwrap_or_default();
    let Some(rule) = rules::find(asked) else {
        return explain_line(asked, args.format, width, out);
    };
    Ok(match args.format {
        ExplainFormat::Json => serde_json::to_writer_pretty(&mut *out, &rule_json(rule))
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        ExplainFormat::Markdown => out.write_all(page(rule, args.lang).as_bytes()),
        ExplainFormat::Text => explain_text(rule, args.lang, width, out),
    })
}

/// Answers a line of a log that stands where a rule is expected.
fn explain_line(
    asked: &str,
    format: ExplainFormat,
    width: usize,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    // No id contains white space.
    let answers = why::answer(if asked.contains(char::is_whitespace) { asked } else { "" });
    if !answers.is_known() {
        return Err(unknown_rule(asked));
    }
    let options = render::TableOptions::plain(width);
    match format {
        ExplainFormat::Json => Ok(render::json(&answers, out)),
        ExplainFormat::Text => Ok(render::why(&answers, &options, out)),
        ExplainFormat::Markdown => Err(Failure::usage("a line of a log has only text and JSON")),
    }
}

/// Prints the effective arguments of nodes.
fn explain_effective(
    name: &str,
    args: &ExplainArgs,
    width: usize,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    if args.format == ExplainFormat::Markdown {
        return Err(Failure::usage("--effective supports only text and JSON"));
    }
    let evidence = crate::cli::io::kubernetes_files::evidence(&args.kubernetes)?;
    let is_asked = |one: &&NodeArguments| match &one.started {
        Started::Node(found) => found == name,
        Started::Declared { .. } => one.started.name().contains(name),
    };
    let found: Vec<&NodeArguments> = evidence.arguments().iter().filter(is_asked).collect();
    if found.is_empty() {
        let names: Vec<String> = evidence.arguments().iter().map(|one| one.started.name().into_owned()).collect();
        let help = if names.is_empty() {
            "only Nodes of RKE2 and K3s and configurations hold the arguments of nodes".to_owned()
        } else {
            format!("known names: {}", text::list(&names, 8))
        };
        return Err(Failure::usage(format!("no arguments are known for `{name}`")).help(help));
    }
    Ok(match args.format {
        ExplainFormat::Json => serde_json::to_writer_pretty(&mut *out, &render::effective_json(&found))
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        ExplainFormat::Text | ExplainFormat::Markdown => render::effective(&found, width, out),
    })
}

/// The page of a rule in a language; in English where it is not translated.
fn page(rule: &Rule, language: Option<LanguageName>) -> String {
    let chinese = in_chinese(language);
    match chinese.and_then(|chinese| chinese.texts(rule)) {
        Some(texts) => rule_page::markdown_in_chinese(rule, &texts),
        None => rule_page::markdown(rule),
    }
}

fn explain_text(rule: &Rule, language: Option<LanguageName>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let chinese = in_chinese(language);
    let translated = chinese.and_then(|chinese| chinese.texts(rule));
    if chinese.is_some() && translated.is_none() {
        writeln!(out, "该规则尚无中文说明。\n")?;
    }
    let (headings, stop, comma) = match translated {
        Some(_) => (&rule_page::CHINESE, "。", "："),
        None => (&rule_page::ENGLISH, ".", ": "),
    };
    let is_translated = translated.is_some();
    let texts = translated.unwrap_or_else(|| RuleTexts::english(rule));
    writeln!(out, "{}{comma}{}", rule.id, texts.title)?;
    let breaks = format!("{}{stop}", rule_page::capitalised(&texts.impact));
    let fix = format!("[{}] {}", rule.applicability.name(), texts.fix);
    let resources = rule_page::resources(rule);
    let in_chinese = |provider: &Provider| match provider {
        Provider::Aws => "AWS",
        Provider::Alibaba => "阿里云",
    };
    let cloud = |provider| if is_translated { in_chinese(provider) } else { provider.describe() };
    let clouds = rule.providers().iter().map(cloud).collect::<Vec<_>>().join(", ");
    let sections = [
        (headings.cloud, clouds.as_str()),
        (headings.severity, &texts.severity),
        (headings.resources, &resources),
        (headings.condition, &texts.condition),
        (headings.impact, &breaks),
        (headings.fix, &fix),
        (headings.example, rule.example),
    ];
    for (title, body) in sections {
        writeln!(out, "\n{title}")?;
        for line in text::wrap(body, width, "  ", "  ") {
            writeln!(out, "{line}")?;
        }
    }
    let in_logs = messages::of_rule(rule.id);
    if !in_logs.is_empty() {
        writeln!(out, "\n{}", headings.messages)?;
    }
    for (component, text) in in_logs {
        for line in text::wrap(&format!("{component}: {text}"), width, "  ", "    ") {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out, "\n{}", headings.sources)?;
    for source in rule.sources {
        writeln!(out, "  {source}")?;
        if let Some(link) = rule_page::link(source).filter(|link| link != source) {
            writeln!(out, "    {link}")?;
        }
    }
    Ok(())
}
