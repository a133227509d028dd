//! A service in the catalogue: its actions, resource types and condition keys.

use std::collections::{BTreeSet, HashMap};

use crate::glob;

use super::{CatalogueError, Entry};

/// Kind of access that an action gives. Classes: Service Authorization Reference, "Access levels".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLevel {
    /// Lists or describes.
    List,
    /// Reads content.
    Read,
    /// Changes tags.
    Tagging,
    /// Changes resources.
    Write,
    /// Changes permissions.
    PermissionsManagement,
}

impl AccessLevel {
    /// All levels, lowest first.
    pub const ALL: [Self; 5] = [Self::List, Self::Read, Self::Tagging, Self::Write, Self::PermissionsManagement];

    /// Word for the level in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Tagging => "tagging",
            Self::Write => "write",
            Self::PermissionsManagement => "permissions-management",
        }
    }

    /// True if the action can change something.
    #[must_use]
    pub fn changes_something(self) -> bool {
        self >= Self::Tagging
    }

    fn from_letter(letter: &str) -> Option<Self> {
        Some(match letter {
            "L" => Self::List,
            "R" => Self::Read,
            "T" => Self::Tagging,
            "W" => Self::Write,
            "P" => Self::PermissionsManagement,
            _ => return None,
        })
    }
}

/// A service with its actions, resource types and condition keys.
#[derive(Debug)]
pub struct Service {
    /// Prefix of its actions.
    pub prefix: String,
    /// Actions, ordered by lower-case name.
    pub actions: Vec<Action>,
    /// Positions of the actions, by lower-case name.
    pub(super) by_name: HashMap<String, usize>,
    /// Resource types.
    pub types: Vec<ResourceType>,
    /// Condition keys.
    pub keys: Vec<ConditionKey>,
}

/// An action.
#[derive(Debug)]
pub struct Action {
    /// Full name in AWS's spelling, with the prefix.
    pub name: String,
    /// Full name in lower case.
    pub folded: String,
    /// Access level.
    pub level: AccessLevel,
    /// Positions of its resource types; true if every request names a resource of the type. Empty for an action that
    /// can only be granted on `*`.
    pub types: Vec<(usize, bool)>,
    /// Positions of the condition keys that its requests may carry in addition to global ones and those of its resource
    /// types.
    pub keys: Vec<usize>,
}

/// A resource type.
#[derive(Debug)]
pub struct ResourceType {
    /// Name of the type.
    pub name: String,
    /// ARN without `arn:${Partition}:`.
    pub arn: String,
    /// Positions of the condition keys that requests for any action on such a resource may carry. Source: Service
    /// Authorization Reference, "Actions, resources, and condition keys": the keys of the Resource types table apply to
    /// each action that lists the type.
    pub keys: Vec<usize>,
}

/// A condition key.
#[derive(Debug)]
pub struct ConditionKey {
    /// Name in AWS's spelling; `${TagKey}` and similar placeholders stand for any text.
    pub name: String,
    /// Type of the value, such as `String` or `ArrayOfString`.
    pub kind: &'static str,
}

/// Codes of the condition key types.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("S", "String"),
    ("AS", "ArrayOfString"),
    ("A", "ARN"),
    ("AA", "ArrayOfARN"),
    ("B", "Bool"),
    ("AB", "ArrayOfBool"),
    ("N", "Numeric"),
    ("AN", "ArrayOfNumeric"),
    ("D", "Date"),
    ("I", "IPAddress"),
    ("Y", "Binary"),
];

impl Service {
    pub(super) fn empty(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            actions: Vec::new(),
            by_name: HashMap::new(),
            types: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Condition keys that the reference lists for an action and its resource types, without duplicates. Global keys
    /// (`aws:…`) that do not concern tags are in requests of every service.
    pub fn action_keys<'s>(&'s self, action: &'s Action) -> impl Iterator<Item = &'s ConditionKey> {
        let of_types = action.types.iter().filter_map(|(at, _)| self.types.get(*at)).flat_map(|kind| &kind.keys);
        let all: BTreeSet<usize> = action.keys.iter().chain(of_types).copied().collect();
        all.into_iter().filter_map(|at| self.keys.get(at))
    }

    /// True if the reference lists a condition key for an action or one of its resource types. The reference does not
    /// claim that its lists are complete: `false` does not prove that requests lack the key ([`Self::cannot_carry`]
    /// does).
    #[must_use]
    pub fn carries(&self, action: &Action, key: &str) -> bool {
        self.action_keys(action).any(|known| known.is(key))
    }

    /// True if no request for an action can carry a condition key: a tag of the requested resource, for an action
    /// without resources. Source: IAM User Guide, "AWS global condition context keys", `aws:ResourceTag`: the key is
    /// present if the requested resource has tags, and only for resources that support authorization based on tags.
    #[must_use]
    pub fn cannot_carry(&self, action: &Action, key: &str) -> bool {
        let of_resource =
            key.split_once(':').and_then(|(prefix, rest)| Some((prefix, rest.split_once('/')?.0))).is_some_and(
                |(prefix, name)| (prefix == "aws" || prefix == self.prefix) && name.eq_ignore_ascii_case("resourcetag"),
            );
        of_resource && action.types.is_empty() && !self.carries(action, key)
    }
}

impl ResourceType {
    /// Its ARN from the service on, with a value for every placeholder, by name.
    pub(crate) fn arn_with<'t>(&self, value: impl Fn(&str) -> &'t str) -> String {
        let mut text = String::with_capacity(self.arn.len());
        let mut rest = self.arn.as_str();
        while let Some((before, behind)) = rest.split_once("${") {
            let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
            text.push_str(before);
            text.push_str(value(name));
            rest = after;
        }
        text.push_str(rest);
        text
    }
}

impl ConditionKey {
    /// True if the name denotes this key, in any case.
    #[must_use]
    pub fn is(&self, key: &str) -> bool {
        let Some((front, rest)) = self.name.split_once("${") else { return self.name.eq_ignore_ascii_case(key) };
        let back = rest.split_once('}').map_or("", |(_, back)| back);
        let pattern = format!("{}*{}", front.to_ascii_lowercase(), back.to_ascii_lowercase());
        glob::matches(&pattern, &key.to_ascii_lowercase())
    }
}

pub(super) fn read_service(text: &str, entry: &Entry) -> Result<Service, CatalogueError> {
    // Counts lines only for an error: a service may have up to a megabyte of text before it.
    let line_at =
        |offset: usize| text.get(..entry.lines.start).map_or(0, |before| before.matches('\n').count()) + 1 + offset;
    let mut service = Service::empty(&entry.prefix);
    for (offset, line) in text.get(entry.lines.clone()).unwrap_or_default().lines().enumerate() {
        let fail = |reason: &str| CatalogueError { line: line_at(offset), reason: reason.to_owned() };
        let mut words = line.split(' ');
        let mut word = || words.next().filter(|word| !word.is_empty()).ok_or_else(|| fail("missing word"));
        match word() {
            Ok("k") => {
                let letter = word()?;
                let kind = KINDS.iter().find(|(known, _)| *known == letter);
                let kind = kind.ok_or_else(|| fail("unknown condition key type"))?.1;
                service.keys.push(ConditionKey { kind, name: word()?.to_owned() });
            }
            Ok("t") => {
                let (name, arn) = (word()?.to_owned(), word()?.to_owned());
                let keys = key_numbers(word()?, &service).ok_or_else(|| fail("unknown condition key"))?;
                service.types.push(ResourceType { name, arn, keys });
            }
            Ok("a") => {
                let level = AccessLevel::from_letter(word()?).ok_or_else(|| fail("unknown access level"))?;
                let name = format!("{}:{}", service.prefix, word()?);
                let types = numbers(word()?, service.types.len()).ok_or_else(|| fail("unknown resource type"))?;
                let keys = key_numbers(word()?, &service).ok_or_else(|| fail("unknown condition key"))?;
                service.actions.push(Action { folded: name.to_lowercase(), name, level, types, keys });
            }
            Ok(first) if first == "service" || first.starts_with('#') => {}
            Ok(_) => return Err(fail("expected `service`, `k`, `t` or `a`")),
            Err(_) => {}
        }
    }
    service.actions.sort_by(|a, b| a.folded.cmp(&b.folded));
    let positions = service.actions.iter().enumerate().map(|(at, action)| (action.folded.clone(), at));
    service.by_name = positions.collect();
    Ok(service)
}

/// Parses `0,3!,4`: numbers below a bound, each with a flag for the mark `!`.
pub(super) fn numbers(text: &str, bound: usize) -> Option<Vec<(usize, bool)>> {
    if text == "-" {
        return Some(Vec::new());
    }
    text.split(',')
        .map(|item| {
            let (digits, marked) = item.strip_suffix('!').map_or((item, false), |digits| (digits, true));
            digits.parse().ok().filter(|number| *number < bound).map(|number| (number, marked))
        })
        .collect()
}

pub(super) fn key_numbers(text: &str, service: &Service) -> Option<Vec<usize>> {
    Some(numbers(text, service.keys.len())?.into_iter().map(|(number, _)| number).collect())
}
