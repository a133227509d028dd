//! Reasons to refuse a plan: gaps in the evidence, and findings that it would create.

use std::collections::BTreeMap;

use crate::finding::{Finding, Severity};
use crate::inventory::{Gap, Read};
use crate::rules::{self, Rule};
use crate::tags;
use crate::transition::{Attribute, Target};

use super::cloud::{self, Reads};

/// Gap in the evidence that a change depends on; `is_added` states that there was no value before.
pub(super) fn touching<'g>(
    gaps: &'g [Gap],
    account_id: &str,
    target: &Target,
    attribute: &Attribute,
    is_added: bool,
) -> Option<&'g Gap> {
    let of_account = |gap: &Gap| gap.concerns_account(account_id);
    let here = |gap: &Gap| gap.region.is_none() || gap.region == target.region;
    let Reads { nodes, listed, users, own } = cloud::reads(target);
    gaps.iter().filter(|gap| of_account(gap)).find(|gap| {
        if attribute.is_iam() {
            let role = gap.resource.as_deref().is_none_or(|resource| resource.ends_with(&format!("/{}", target.id)));
            // The nodes of a role are read from EC2 or ECS, in every region.
            return (gap.read.is_iam() && role) || (gap.concerns_list() && nodes.contains(&gap.read));
        }
        let of_it = here(gap) && gap.resource.as_deref() == Some(target.id.as_str());
        if matches!(attribute, Attribute::Resource {} | Attribute::IngressRule { .. }) {
            return of_it || (here(gap) && gap.concerns_list() && users.contains(&gap.read));
        }
        if matches!(attribute, Attribute::GroupTag { .. } | Attribute::TemplateTags { .. }) {
            let lists = [Read::DescribeAutoScalingGroups, Read::DescribeLaunchTemplateVersions];
            return of_it || (here(gap) && gap.concerns_list() && lists.contains(&gap.read));
        }
        let Attribute::Tag { key } = attribute else { return of_it };
        // A policy condition on a cluster tag can be ruled out only if all policies were read.
        let condition = gap.read.is_iam() && tags::is_membership(key);
        of_it
            || (here(gap) && gap.concerns_list() && (listed.contains(&gap.read) || own == Some(gap.read)))
            // Adding a tag breaks no condition on it.
            || (condition && !is_added)
    })
}

/// The new findings that count against a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Those of the cluster of the plan: all.
    Own,
    /// Those of another cluster: not the states that an answer intends.
    Neighbour,
    /// Those of any cluster after leftovers were deleted: not what is still left, nor that nothing is.
    AfterDeletion,
}

impl Counting {
    /// The findings that count for a cluster. `is_own` states that it is the plan's own.
    #[must_use]
    pub fn of(is_own: bool, deletes: bool) -> Self {
        match (is_own, deletes) {
            (_, true) => Self::AfterDeletion,
            (true, false) => Self::Own,
            (false, false) => Self::Neighbour,
        }
    }

    fn counts(self, rule: &Rule) -> bool {
        match self {
            Self::Own => true,
            Self::Neighbour => !rule.spares_neighbours,
            Self::AfterDeletion => !rule.spares_neighbours && !rule.reports_leftovers,
        }
    }
}

/// Findings after a plan that were absent or less severe before. Findings are compared by rule and resource, since
/// their wording changes with what they cover. A finding that replaces a more severe one on the same resource does not
/// count.
#[must_use]
pub fn created(before: &[Finding], mut after: Vec<Finding>, counting: Counting) -> Vec<Finding> {
    after.retain(|finding| rules::find(finding.rule).is_none_or(|rule| counting.counts(rule)));
    let by_resource = |findings: &[Finding]| {
        let mut worst: BTreeMap<(&'static str, String), Severity> = BTreeMap::new();
        for finding in findings {
            for id in resources(finding) {
                let severity = worst.entry((finding.rule, id.to_owned())).or_insert(finding.severity);
                *severity = (*severity).max(finding.severity);
            }
        }
        worst
    };
    let (known, now) = (by_resource(before), by_resource(&after));
    let mut fixed: BTreeMap<&str, Severity> = BTreeMap::new();
    for (key, severity) in known.iter().filter(|(key, _)| !now.contains_key(*key)) {
        let worst = fixed.entry(&key.1).or_insert(*severity);
        *worst = (*worst).max(*severity);
    }
    let is_new = |finding: &Finding| {
        resources(finding).any(|id| {
            let new = known.get(&(finding.rule, id.to_owned())).is_none_or(|severity| *severity < finding.severity);
            new && fixed.get(id).is_none_or(|severity| *severity <= finding.severity)
        })
    };
    after.into_iter().filter(is_new).collect()
}

fn resources(finding: &Finding) -> impl Iterator<Item = &str> {
    let same = finding.related.iter().filter(|related| related.kind == finding.resource.kind);
    std::iter::once(finding.resource.id.as_str()).chain(same.map(|related| related.id.as_str()))
}
