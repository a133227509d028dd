//! Parts of a cluster that could not be audited, each with the rules that it kept from a verdict.

use crate::inventory::Gap;
use crate::kubernetes::ListGap;
use crate::role_audit::RoleGap;
use crate::text;

/// A part of the estate that could not be audited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAudited {
    /// IAM name of the call, or a name for a part that is not a call.
    pub what: &'static str,
    /// The resource; absent when a whole list is unknown.
    pub resource: Option<String>,
    pub account_id: Option<String>,
    pub region: Option<String>,
    /// Error code.
    pub reason: String,
    /// Error message.
    pub message: String,
    /// Rules that were not checked because of it, or not on the resources that it would have shown.
    pub rules: Vec<&'static str>,
}

/// Reads that failed and roles that were not compared; a role that could not be evaluated because of a failed read is part of that read.
pub(super) fn not_audited(
    gaps: &[Gap],
    reads: Vec<(Gap, Vec<&'static str>)>,
    uncompared: Vec<(RoleGap, Vec<&'static str>)>,
    unlisted: &[(ListGap, Vec<&'static str>)],
) -> Vec<NotAudited> {
    let mut not_audited: Vec<NotAudited> = reads.into_iter().map(unread).collect();
    for (gap, rules) in uncompared {
        let said = gaps.iter().position(|read| gap.is_said_by(read));
        if let Some(entry) = said.and_then(|at| not_audited.get_mut(at)) {
            entry.rules.extend(rules);
            entry.rules.sort_unstable();
            entry.rules.dedup();
        } else {
            not_audited.push(NotAudited {
                what: gap.what(),
                reason: gap.reason().to_owned(),
                message: gap.message(),
                resource: Some(gap.role),
                account_id: Some(gap.account_id),
                region: None,
                rules,
            });
        }
    }
    not_audited.extend(unread_lists(unlisted));
    not_audited
}

/// Lists of a live cluster that were not read and that rules need; those that failed for the same reason are one entry.
fn unread_lists(unlisted: &[(ListGap, Vec<&'static str>)]) -> Vec<NotAudited> {
    let gaps: Vec<ListGap> = unlisted.iter().map(|(gap, _)| gap.clone()).collect();
    let of_group = |group: Vec<&ListGap>| {
        let first = group.first()?;
        let mine = unlisted.iter().filter(|(gap, _)| group.contains(&gap));
        let mut rules: Vec<&'static str> = mine.flat_map(|(_, rules)| rules).copied().collect();
        rules.sort_unstable();
        rules.dedup();
        let (what, message) = match group.as_slice() {
            [one] => (one.list.what(), ListGap::why(&group)),
            all => {
                let names: Vec<&str> = all.iter().map(|gap| gap.list.resource()).collect();
                ("kubernetes:list", format!("{}: {}", text::list(&names, 8), ListGap::why(all)))
            }
        };
        let (resource, account_id, region) = (None, None, None);
        Some(NotAudited { what, resource, account_id, region, reason: first.reason.clone(), message, rules })
    };
    ListGap::grouped(&gaps).into_iter().filter_map(of_group).collect()
}

/// A failed read in the report.
fn unread((gap, rules): (Gap, Vec<&'static str>)) -> NotAudited {
    NotAudited {
        what: gap.read.action(),
        resource: gap.resource,
        account_id: gap.account_id,
        region: gap.region,
        reason: gap.reason,
        message: gap.message,
        rules,
    }
}
