//! `tagaudit.toml`: options of a scan, targets, severity overrides, and waivers. Every error has its place.

use std::fmt;

use jiff::civil::Date;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::finding::Severity;
use crate::rules;
use crate::target::{self, Target};

mod prices;
mod schema;
mod targets;
mod waivers;

pub(crate) use prices::{MAX_BYTES as MAX_PRICES_BYTES, prices};
pub(crate) use schema::schema;
pub(crate) use waivers::Notice;

/// File name in the working folder.
pub(crate) const FILE: &str = "tagaudit.toml";

/// Longest configuration that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// A configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// The file, as the caller named it.
    pub file: String,
    /// Options of `scan`, in the order of the file.
    pub options: Vec<ConfigOption>,
    /// Severities that the operator overrides.
    pub severities: Vec<SeverityOverride>,
    /// Findings that are accepted for a time.
    pub waivers: Vec<Waiver>,
    /// Accounts to audit.
    pub targets: Vec<Target>,
}

/// A place in the file, one-based, in characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// An option of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOption {
    /// Long name.
    pub name: String,
    /// Values; none for a flag that is switched off.
    pub values: Vec<Option<String>>,
    /// Place in the file.
    pub place: Place,
}

/// Specification of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionSpec {
    /// Long name.
    pub name: String,
    /// Help text.
    pub help: String,
    /// Kind of value.
    pub takes: Takes,
    /// Permitted values; empty if any value is permitted.
    pub choices: Vec<String>,
}

/// Kind of value that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// `true` or `false`.
    Flag,
    /// A string or a number.
    One,
    /// A string or a number, or a list of them.
    Many,
}

/// A rule whose findings get a severity that the operator chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeverityOverride {
    /// Rule id.
    pub rule: String,
    pub severity: Severity,
}

/// A decision to accept a finding for a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// Rule id.
    pub rule: String,
    /// Id or ARN of the resources; without `*` and `?`, exactly one resource.
    pub resource: String,
    pub reason: String,
    /// Person who decided it.
    pub owner: Option<String>,
    /// The last day on which the waiver is valid, in UTC.
    pub expires: Date,
    /// Place in the file.
    pub place: Place,
}

/// A defect of a configuration, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub file: String,
    /// Place in the file.
    pub place: Place,
    /// The defect.
    pub reason: String,
    /// Advice, if there is any.
    pub help: Option<String>,
}

/// Number of characters of a reason that are shown; a reason may quote user input.
const MAX_REASON_CHARS: usize = 300;

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        let reason: String = self.reason.chars().take(MAX_REASON_CHARS).collect();
        write!(f, "`{}`, line {line}, column {column}: {reason}", self.file)
    }
}

impl std::error::Error for ConfigError {}

/// State of the parser.
struct ConfigReader<'t> {
    file: &'t str,
    text: &'t str,
    /// Byte offset of the start of each line.
    lines: Vec<usize>,
}

type Table<'t> = DeTable<'t>;
type TomlValue<'t> = Spanned<DeValue<'t>>;

impl Config {
    /// Reads a configuration; `options` are the permitted options.
    ///
    /// # Errors
    /// If the text is not TOML, or an entry is invalid.
    pub fn parse(file: &str, text: &str, options: &[OptionSpec]) -> Result<Self, ConfigError> {
        let reader = ConfigReader::new(file, text);
        let table = reader.document()?;
        let mut config = Self { file: file.to_owned(), ..Self::default() };
        for (key, value) in table.get_ref() {
            let at = key.span().start;
            match key.get_ref().as_ref() {
                "scan" => config.options = reader.options(reader.table(value, "scan")?, options)?,
                "severity" => config.severities = reader.severities(reader.table(value, "severity")?)?,
                "waiver" => {
                    for waiver in reader.tables(value, "waiver", at)? {
                        config.waivers.push(reader.waiver(waiver)?);
                    }
                }
                "target" => {
                    let targets = reader.tables(value, "target", at)?;
                    for target in targets {
                        config.targets.push(reader.target(target)?);
                    }
                    if let Some((number, reason)) = target::twice(&config.targets) {
                        let at = targets.get(number - 1).map_or(at, |target| target.span().start);
                        return Err(reader.error(at, reason));
                    }
                }
                other => {
                    let error = reader.error(at, format!("unknown key `{other}`"));
                    return Err(match nearest(other, ["scan", "severity", "target", "waiver"]) {
                        Some(name) => error.help(format!("did you mean `{name}`?")),
                        None => error.help("valid tables are `[scan]`, `[severity]`, `[[target]]` and `[[waiver]]`"),
                    });
                }
            }
        }
        // TOML tables are unordered.
        config.options.sort_by_key(|option| option.place);
        config.severities.sort_by(|a, b| a.rule.cmp(&b.rule));
        Ok(config)
    }
}

impl<'t> ConfigReader<'t> {
    fn new(file: &'t str, text: &'t str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { file, text, lines: std::iter::once(0).chain(starts).collect() }
    }

    /// The tables of the file.
    fn document(&self) -> Result<Spanned<Table<'t>>, ConfigError> {
        DeTable::parse(self.text).map_err(|error| {
            self.error(error.span().map_or(0, |span| span.start), error.message().lines().next().unwrap_or_default())
        })
    }
}

impl ConfigReader<'_> {
    fn error(&self, offset: usize, reason: impl Into<String>) -> ConfigError {
        ConfigError { file: self.file.to_owned(), place: self.place(offset), reason: reason.into(), help: None }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or_default();
        Place { line, column: 1 + self.text.get(start..offset).map_or(0, |before| before.chars().count()) }
    }

    fn table<'v, 't>(&self, value: &'v TomlValue<'t>, name: &str) -> Result<&'v Table<'t>, ConfigError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self
                .error(value.span().start, format!("`{name}` must be a table"))
                .help(format!("write `[{name}]`"))),
        }
    }

    /// The values of `[[name]]`, whose first key begins at `at`.
    fn tables<'v, 't>(
        &self,
        value: &'v TomlValue<'t>,
        name: &str,
        at: usize,
    ) -> Result<&'v [TomlValue<'t>], ConfigError> {
        match value.get_ref() {
            DeValue::Array(tables) => Ok(tables),
            _ => Err(self
                .error(at, format!("`{name}` must be a list of tables"))
                .help(format!("write `[[{name}]]`, in two pairs of brackets"))),
        }
    }

    /// Rejects every key of a table but these.
    fn reject_unknown_keys(&self, table: &Table<'_>, what: &str, keys: &[&str]) -> Result<(), ConfigError> {
        let Some((key, _)) = table.iter().find(|(key, _)| !keys.contains(&key.get_ref().as_ref())) else {
            return Ok(());
        };
        let error = self.error(key.span().start, format!("unknown key `{}` in a {what}", key.get_ref()));
        Err(match nearest(key.get_ref(), keys.iter().copied()) {
            Some(name) => error.help(format!("did you mean `{name}`?")),
            None => error.help(format!("valid keys: {}", keys.join(", "))),
        })
    }

    fn text(&self, value: &TomlValue<'_>, name: &str) -> Result<String, ConfigError> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.clone().into_owned()),
            DeValue::String(_) => Err(self.error(value.span().start, format!("`{name}` is empty"))),
            _ => Err(self.error(value.span().start, format!("`{name}` must be a string in quotes"))),
        }
    }

    fn options(&self, table: &Table<'_>, specs: &[OptionSpec]) -> Result<Vec<ConfigOption>, ConfigError> {
        let mut options = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
                let error = self.error(key.span().start, format!("there is no option `{name}` in `[scan]`"));
                return Err(match nearest(name, specs.iter().map(|spec| spec.name.as_str())) {
                    Some(nearest) => error.help(format!("did you mean `{nearest}`?")),
                    None => error.help("options that write or redirect requests are accepted on the command line only; `tagaudit config schema` lists the others"),
                });
            };
            let at = value.span().start;
            let values = match (spec.takes, value.get_ref()) {
                (Takes::Flag, DeValue::Boolean(true)) => vec![None],
                (Takes::Flag, DeValue::Boolean(false)) => Vec::new(),
                (Takes::Flag, _) => return Err(self.error(at, format!("`{name}` must be `true` or `false`"))),
                (Takes::Many, DeValue::Array(values)) => {
                    values.iter().map(|value| self.scalar(value, name).map(Some)).collect::<Result<_, _>>()?
                }
                (Takes::One | Takes::Many, _) => vec![Some(self.scalar(value, name)?)],
            };
            options.push(ConfigOption { name: name.to_owned(), values, place: self.place(at) });
        }
        Ok(options)
    }

    fn scalar(&self, value: &TomlValue<'_>, name: &str) -> Result<String, ConfigError> {
        match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().replace('_', "")),
            DeValue::String(_) => self.text(value, name),
            _ => Err(self.error(value.span().start, format!("`{name}` must be a string in quotes or an integer"))),
        }
    }

    fn severities(&self, table: &Table<'_>) -> Result<Vec<SeverityOverride>, ConfigError> {
        let mut severities = Vec::new();
        for (key, value) in table {
            let rule = self.rule(key.get_ref(), key.span().start)?;
            let severity = self.text(value, &rule)?;
            let Some(severity) = Severity::WORST_FIRST.into_iter().find(|known| known.name() == severity) else {
                let reason = format!("`{severity}` is not a severity");
                return Err(self.error(value.span().start, reason).help("write `error`, `warning` or `info`"));
            };
            severities.push(SeverityOverride { rule, severity });
        }
        Ok(severities)
    }

    fn rule(&self, id: &str, at: usize) -> Result<String, ConfigError> {
        if rules::find(id).is_some() {
            return Ok(id.to_owned());
        }
        let error = self.error(at, format!("no rule is called `{id}`"));
        Err(match rules::nearest(id) {
            Some(nearest) => error.help(format!("did you mean `{nearest}`?")),
            None => error.help("`tagaudit rules` lists them"),
        })
    }

    fn waiver(&self, value: &TomlValue<'_>) -> Result<Waiver, ConfigError> {
        const KEYS: [&str; 5] = ["rule", "resource", "reason", "expires", "owner"];
        let at = value.span().start;
        let table = self.table(value, "[waiver]")?;
        self.reject_unknown_keys(table, "waiver", &KEYS)?;
        let text = |name: &str| table.get(name).map(|value| self.text(value, name)).transpose();
        let missing =
            |name: &str, why: &str| self.error(at, format!("the waiver has no `{name}`")).help(why.to_owned());
        let rule_at = table.get("rule").ok_or_else(|| missing("rule", "add the rule id: rule = \"…\""))?.span().start;
        let rule = self.rule(&text("rule")?.unwrap_or_default(), rule_at)?;
        let resource =
            text("resource")?.ok_or_else(|| missing("resource", "add an id or ARN, with `*` for several"))?;
        let reason = text("reason")?.ok_or_else(|| missing("reason", "add the reason, for later readers"))?;
        let expires =
            table.get("expires").ok_or_else(|| missing("expires", "add the last valid day: expires = 2026-12-31"))?;
        Ok(Waiver {
            rule,
            resource,
            reason,
            owner: text("owner")?,
            expires: self.date(expires, "expires", "write the last valid day, in UTC: expires = 2026-12-31")?,
            place: self.place(at),
        })
    }

    fn date(&self, value: &TomlValue<'_>, name: &str, help: &str) -> Result<Date, ConfigError> {
        let text = match value.get_ref() {
            DeValue::Datetime(date) => date.to_string(),
            DeValue::String(text) => text.clone().into_owned(),
            _ => String::new(),
        };
        // A plain date: a time of day would raise the question of when the day ends.
        let is_date = text.len() == "2026-12-31".len();
        text.parse()
            .ok()
            .filter(|_| is_date)
            .ok_or_else(|| self.error(value.span().start, format!("`{name}` must be a date")).help(help))
    }
}

impl ConfigError {
    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The known name that is closest to `name`.
fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    names
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, known)| *distance * 3 <= known.len())
        .min()
        .map(|(_, known)| known)
}
