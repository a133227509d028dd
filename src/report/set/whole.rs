//! Sets in part: a set that is merged from thousands of files keeps what its formats show of their reports; the rest of a
//! target is read again when the set is written as JSON.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::ser::{Error as _, Serialize, SerializeSeq, SerializeStruct, Serializer};
use serde_json::value::RawValue;

use crate::topology::VpcTopology;

use super::super::read::BOM;
use super::super::v1::SURROUNDINGS;
use super::super::{Finding, NotAudited, Report, ReportError};
use super::origin::Place;
use super::{Origin, ReportSet, TargetReport};

/// Texts that many reports share, each kept once.
#[derive(Debug, Default)]
pub struct SharedTexts(HashSet<Arc<str>>);

impl SharedTexts {
    fn share(&mut self, text: &mut Arc<str>) {
        match self.0.get(text) {
            Some(known) => *text = Arc::clone(known),
            None => {
                self.0.insert(Arc::clone(text));
            }
        }
    }
}

/// What stays in memory of the reports that are merged.
#[derive(Debug)]
pub enum Keep<'s> {
    Whole,
    /// Content that all formats but JSON show.
    Shown(&'s mut SharedTexts),
    /// Content that decides the exit code: JSON shows nothing that is not read again.
    Verdict,
}

/// The targets of a set as texts.
#[derive(Deserialize)]
struct Texts<'t> {
    #[serde(borrow)]
    targets: Vec<&'t RawValue>,
}

impl ReportSet {
    /// Reads a saved set or report to merge it: whole, or a part of its reports with the place of the rest.
    ///
    /// # Errors
    /// As [`ReportSet::from_slice`].
    pub fn to_merge(file: &Path, bytes: &[u8], keep: Keep<'_>) -> Result<Self, ReportError> {
        let is_reread = !matches!(keep, Keep::Whole);
        let mut set = Self::from_slice(&file.display().to_string(), bytes)?;
        let text = bytes.strip_prefix(BOM).unwrap_or(bytes);
        if Self::is_one(bytes) {
            let texts: Texts<'_> = serde_json::from_slice(text).unwrap_or(Texts { targets: Vec::new() });
            for (target, own) in set.targets.iter_mut().zip(texts.targets) {
                let own = own.get().as_bytes();
                let start = own.as_ptr().addr().saturating_sub(bytes.as_ptr().addr());
                let part = u64::try_from(start).ok().zip(u64::try_from(start + own.len()).ok());
                target.sort();
                target.origin = part.map_or_else(Origin::default, |(start, end)| {
                    Origin::new(file, Some(start..end), target, is_reread)
                });
            }
        } else if let Some(target) = set.targets.first_mut() {
            target.origin = Origin::new(file, None, target, is_reread);
        }
        let read = set.targets.iter_mut().filter(|target| target.origin.place().is_some());
        let reports = read.flat_map(|target| &mut target.reports);
        match keep {
            Keep::Whole => {}
            Keep::Shown(shared) => reports.for_each(|report| report.reduce(shared)),
            Keep::Verdict => {
                reports.for_each(Report::reduce_to_verdict);
                let read = set.targets.iter_mut().filter(|target| target.origin.place().is_some());
                read.flat_map(|target| &mut target.not_audited).for_each(NotAudited::reduce);
            }
        }
        Ok(set)
    }
}

impl Report {
    /// Drops what only the page of one cluster and JSON show.
    fn reduce(&mut self, shared: &mut SharedTexts) {
        self.drop_details();
        for outcome in &mut self.rules {
            shared.share(&mut outcome.rule);
            if let Some(why) = &mut outcome.why {
                shared.share(why);
            }
        }
        self.rules.shrink_to_fit();
        self.findings.shrink_to_fit();
    }

    /// Drops what decides no exit code. The worst open finding, and the worst of those that are new or worse than they were,
    /// stand for the others.
    fn reduce_to_verdict(&mut self) {
        (self.roles, self.controllers, self.topology) = (Vec::new(), Vec::new(), Vec::new());
        (self.options, self.configuration) = (Vec::new(), None);
        self.not_audited.iter_mut().for_each(NotAudited::reduce);
        // Resources decide only if a part could not be read.
        let is_complete = self.complete;
        self.summary.resources.retain(|kind, _| !is_complete && SURROUNDINGS.iter().any(|known| known.name() == kind));
        self.summary.nodes = BTreeMap::new();
        // A report without outcomes may be the remainder of an earlier one.
        self.rules.truncate(1);
        self.rules.shrink_to_fit();
        let mut findings = std::mem::take(&mut self.findings);
        let mut take = |is_one: fn(&Finding) -> bool| {
            let worst = findings.iter().enumerate().filter(|(_, finding)| is_one(finding));
            let index = worst.max_by_key(|(_, finding)| finding.severity).map(|(index, _)| index);
            index.map(|index| findings.swap_remove(index))
        };
        let worst = take(Finding::is_open);
        let worst_change = take(Finding::is_new_or_worse);
        self.findings = worst.into_iter().chain(worst_change).collect();
        for finding in &mut self.findings {
            (finding.related, finding.locations, finding.caveats) = (Vec::new(), Vec::new(), Vec::new());
            (finding.message, finding.impact, finding.fix.summary) = (String::new(), String::new(), String::new());
            (finding.fix.changes, finding.fix.choices, finding.fix.untried) = (Vec::new(), Vec::new(), Vec::new());
        }
    }

    fn drop_details(&mut self) {
        self.roles = Vec::new();
        self.controllers = Vec::new();
        // Its regions are shown.
        let mut regions: BTreeMap<String, VpcTopology> = BTreeMap::new();
        for mut vpc in std::mem::take(&mut self.topology) {
            (vpc.subnets, vpc.security_groups, vpc.nodes) = (Vec::new(), Vec::new(), Vec::new());
            (vpc.load_balancers, vpc.scaling_groups) = (Vec::new(), Vec::new());
            regions.entry(vpc.region.clone()).or_insert(vpc);
        }
        self.topology = regions.into_values().collect();
    }
}

impl NotAudited {
    /// Drops what names the part: that there is one decides the exit code.
    fn reduce(&mut self) {
        (self.resource, self.account_id, self.region) = (None, None, None);
        (self.message, self.rules) = (String::new(), Vec::new());
    }
}

/// Reads a file, or these bytes of it.
pub(crate) type ReadPart<'r> = dyn Fn(&Path, Option<&Range<u64>>) -> io::Result<Vec<u8>> + 'r;

/// A set as JSON: targets that were read in part are read again one after the other.
pub(crate) struct Whole<'s> {
    pub(crate) set: &'s ReportSet,
    pub(crate) read: &'s ReadPart<'s>,
}

impl Whole<'_> {
    /// The target with all of its reports.
    ///
    /// # Errors
    /// If its file cannot be read, or is not what it was.
    fn target(&self, place: &Place) -> io::Result<TargetReport> {
        let file = place.file.display();
        let changed = || io::Error::other(format!("`{file}` changed while it was merged"));
        let bytes = (self.read)(&place.file, place.part.as_ref())
            .map_err(|error| io::Error::new(error.kind(), format!("`{file}`: {error}")))?;
        let text = if place.part.is_none() { bytes.strip_prefix(BOM).unwrap_or(&bytes) } else { &bytes };
        let mut target: TargetReport = if place.part.is_some() {
            serde_json::from_slice(text).map_err(|_| changed())?
        } else {
            TargetReport::from_report(serde_json::from_slice(text).map_err(|_| changed())?)
        };
        target.sort();
        if place.holds(&target) { Ok(target) } else { Err(changed()) }
    }
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ReportSet { schema, tool, complete, shards, not_audited, targets: _, summary } = self.set;
        let mut all = serializer.serialize_struct("ReportSet", 7)?;
        all.serialize_field("schema", schema)?;
        all.serialize_field("tool", tool)?;
        all.serialize_field("complete", complete)?;
        if let Some(shards) = shards {
            all.serialize_field("shards", shards)?;
        }
        all.serialize_field("not_audited", not_audited)?;
        all.serialize_field("targets", &WholeTargets(self))?;
        all.serialize_field("summary", summary)?;
        all.end()
    }
}

struct WholeTargets<'s>(&'s Whole<'s>);

impl Serialize for WholeTargets<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let targets = &self.0.set.targets;
        let mut list = serializer.serialize_seq(Some(targets.len()))?;
        for target in targets {
            match target.origin.place() {
                Some(place) => list.serialize_element(&self.0.target(place).map_err(S::Error::custom)?)?,
                None => list.serialize_element(target)?,
            }
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set of two targets, as a file holds it.
    fn file() -> String {
        let target = |account: &str| TargetReport {
            not_audited: vec![NotAudited::for_policy("AccessDenied", "\u{20ac}".to_owned(), Vec::new())],
            ..TargetReport::new(vec![account.to_owned()])
        };
        let set = ReportSet::new(vec![target("111111111111"), target("222222222222")], None, Vec::new());
        serde_json::to_string_pretty(&set).unwrap()
    }

    #[test]
    fn a_target_is_read_again_from_its_place() {
        for text in [file(), format!("\u{feff}{}", file())] {
            let set =
                ReportSet::to_merge(Path::new("set.json"), text.as_bytes(), Keep::Shown(&mut SharedTexts::default()))
                    .unwrap();
            let read = |_: &Path, part: Option<&Range<u64>>| {
                let Range { start, end } = part.unwrap();
                Ok(text.as_bytes()[usize::try_from(*start).unwrap()..usize::try_from(*end).unwrap()].to_vec())
            };
            let whole = serde_json::to_string_pretty(&Whole { set: &set, read: &read }).unwrap();
            assert_eq!(whole, file());
        }
    }

    #[test]
    fn a_file_that_changed_is_an_error() {
        let text = file();
        let set = ReportSet::to_merge(Path::new("set.json"), text.as_bytes(), Keep::Shown(&mut SharedTexts::default()))
            .unwrap();
        let changed = |_: &Path, _: Option<&Range<u64>>| Ok(b"{}".to_vec());
        let error = serde_json::to_string(&Whole { set: &set, read: &changed }).unwrap_err().to_string();
        assert_eq!(error, "`set.json` changed while it was merged");
        let missing = |_: &Path, _: Option<&Range<u64>>| Err(io::ErrorKind::NotFound.into());
        let error = serde_json::to_string(&Whole { set: &set, read: &missing }).unwrap_err().to_string();
        assert!(error.starts_with("`set.json`: "), "{error}");
    }
}
