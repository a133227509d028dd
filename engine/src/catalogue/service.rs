//! What the catalogue says about a service: its actions, resource types and condition keys.

use std::collections::{BTreeSet, HashMap};

use crate::glob;

use super::{CatalogueError, Entry};

/// What kind of access an action gives. Classes: Service Authorization Reference, "Access levels".
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
    /// Changes who may do what.
    PermissionsManagement,
}

impl AccessLevel {
    /// Every level, the least first.
    pub const ALL: [Self; 5] = [Self::List, Self::Read, Self::Tagging, Self::Write, Self::PermissionsManagement];

    /// The word used in reports.
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

    /// Whether it can change something.
    #[must_use]
    pub fn changes_something(self) -> bool {
        self >= Self::Tagging
    }

    fn of_letter(letter: &str) -> Option<Self> {
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

/// A service and what it knows.
#[derive(Debug)]
pub struct Service {
    /// Prefix of its actions.
    pub prefix: String,
    /// In order of their lower-case names.
    pub actions: Vec<Action>,
    /// Positions of the actions by their lower-case names.
    pub(super) by_name: HashMap<String, usize>,
    /// Resource types.
    pub types: Vec<ResourceType>,
    /// Condition keys.
    pub keys: Vec<ConditionKey>,
}

/// An action.
#[derive(Debug)]
pub struct Action {
    /// As AWS spells it, with the prefix.
    pub name: String,
    /// The same in lower case.
    pub folded: String,
    /// What it gives.
    pub level: AccessLevel,
    /// Positions of its resource types, and whether a request always names one of the type. Empty for an action that can
    /// only be granted on `*`.
    pub types: Vec<(usize, bool)>,
    /// Positions of the condition keys that its requests may carry beside those of its resource types and global ones.
    pub keys: Vec<usize>,
}

/// A resource type.
#[derive(Debug)]
pub struct ResourceType {
    /// Its name.
    pub name: String,
    /// Its ARN without `arn:${Partition}:`.
    pub arn: String,
    /// Positions of the condition keys that requests for every action on such a resource may carry. Source: Service
    /// Authorization Reference, "Actions, resources, and condition keys": the keys of the Resource types table apply to
    /// each action that lists the type.
    pub keys: Vec<usize>,
}

/// A condition key.
#[derive(Debug)]
pub struct ConditionKey {
    /// As AWS spells it; `${TagKey}` and the like stand for any text.
    pub name: String,
    /// Type of the value, such as `String` or `ArrayOfString`.
    pub kind: &'static str,
}

/// Letters of the types of condition keys.
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

    /// The condition keys that the reference names for an action, those of its resource types included, each once. Global
    /// keys (`aws:…`) that say nothing of tags are in requests of every service.
    pub fn keys_of<'s>(&'s self, action: &'s Action) -> impl Iterator<Item = &'s ConditionKey> {
        let of_types = action.types.iter().filter_map(|(at, _)| self.types.get(*at)).flat_map(|kind| &kind.keys);
        let all: BTreeSet<usize> = action.keys.iter().chain(of_types).copied().collect();
        all.into_iter().filter_map(|at| self.keys.get(at))
    }

    /// Whether the reference names a condition key for an action or one of its resource types. The reference does not say
    /// that its lists are complete: `false` is no proof that a request lacks the key ([`Self::cannot_carry`] is).
    #[must_use]
    pub fn carries(&self, action: &Action, key: &str) -> bool {
        self.keys_of(action).any(|known| known.is(key))
    }

    /// Whether no request for an action can carry a condition key: tags of the resource that is asked for, where the action
    /// is done on no resource. Source: IAM User Guide, "AWS global condition context keys", `aws:ResourceTag`: the key is
    /// there when the requested resource has tags, and only for resources that support authorization based on tags.
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
    /// Its ARN from the service on, with something in the place of every placeholder, by its name.
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
    /// Whether this is the key of that name, without regard to case.
    #[must_use]
    pub fn is(&self, key: &str) -> bool {
        let Some((front, rest)) = self.name.split_once("${") else { return self.name.eq_ignore_ascii_case(key) };
        let back = rest.split_once('}').map_or("", |(_, back)| back);
        let pattern = format!("{}*{}", front.to_ascii_lowercase(), back.to_ascii_lowercase());
        glob::matches(&pattern, &key.to_ascii_lowercase())
    }
}

pub(super) fn read_service(text: &str, entry: &Entry) -> Result<Service, CatalogueError> {
    // Counted when there is something to say: the lines before a service are up to a megabyte.
    let line_at =
        |offset: usize| text.get(..entry.lines.start).map_or(0, |before| before.matches('\n').count()) + 1 + offset;
    let mut service = Service::empty(&entry.prefix);
    for (offset, line) in text.get(entry.lines.clone()).unwrap_or_default().lines().enumerate() {
        let fail = |reason: &str| CatalogueError { line: line_at(offset), reason: reason.to_owned() };
        let mut words = line.split(' ');
        let mut word = || words.next().filter(|word| !word.is_empty()).ok_or_else(|| fail("a word is missing"));
        match word() {
            Ok("k") => {
                let letter = word()?;
                let kind = KINDS.iter().find(|(known, _)| *known == letter);
                let kind = kind.ok_or_else(|| fail("no type of a condition key"))?.1;
                service.keys.push(ConditionKey { kind, name: word()?.to_owned() });
            }
            Ok("t") => {
                let (name, arn) = (word()?.to_owned(), word()?.to_owned());
                let keys = key_numbers(word()?, &service).ok_or_else(|| fail("no such condition key"))?;
                service.types.push(ResourceType { name, arn, keys });
            }
            Ok("a") => {
                let level = AccessLevel::of_letter(word()?).ok_or_else(|| fail("no access level"))?;
                let name = format!("{}:{}", service.prefix, word()?);
                let types = numbers(word()?, service.types.len()).ok_or_else(|| fail("no such resource type"))?;
                let keys = key_numbers(word()?, &service).ok_or_else(|| fail("no such condition key"))?;
                service.actions.push(Action { folded: name.to_lowercase(), name, level, types, keys });
            }
            Ok(first) if first == "service" || first.starts_with('#') => {}
            Ok(_) => return Err(fail("neither `service`, `k`, `t` nor `a`")),
            Err(_) => {}
        }
    }
    service.actions.sort_by(|a, b| a.folded.cmp(&b.folded));
    let positions = service.actions.iter().enumerate().map(|(at, action)| (action.folded.clone(), at));
    service.by_name = positions.collect();
    Ok(service)
}

/// `0,3!,4`: numbers below a bound, and whether each is marked.
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
