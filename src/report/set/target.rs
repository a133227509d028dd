//! The report of one account, or of one cluster.

use serde::{Deserialize, Serialize};

use super::super::{NotAudited, Report};
use super::TargetOutcome;
use super::origin::Origin;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetReport {
    /// Its account; several if clusters were searched for across accounts.
    pub account_ids: Vec<String>,
    /// Its name in the organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The role that was assumed, as it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Requested regions; all enabled regions if empty.
    pub regions: Vec<String>,
    /// Requested clusters; all that are found if empty.
    pub cluster_ids: Vec<String>,
    /// Time at which its evidence was read, or should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<String>,
    pub outcome: TargetOutcome,
    /// Reason why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Entries that could not be audited and belong to no cluster.
    pub not_audited: Vec<NotAudited>,
    /// Clusters of an earlier run of which nothing is left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone_cluster_ids: Vec<String>,
    /// Clusters that an earlier run audited here, if this one found none at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_cluster_ids: Vec<String>,
    /// A report for each cluster, by its id.
    pub reports: Vec<Report>,
    /// Where it was read, if only a part of its reports is kept.
    #[serde(skip)]
    pub origin: Origin,
}

/// The reason why there is nothing to audit.
const NO_CLUSTER: &str = "no resource carries the tag of a cluster";

/// Key of a target within a set.
type TargetKey<'t> = (&'t [String], Option<&'t str>, &'t [String], &'t [String]);

impl TargetReport {
    /// Creates a target without results.
    #[must_use]
    pub fn new(account_ids: Vec<String>) -> Self {
        Self {
            account_ids,
            name: None,
            role: None,
            regions: Vec::new(),
            cluster_ids: Vec::new(),
            collected_at: None,
            outcome: TargetOutcome::Audited,
            why: None,
            not_audited: Vec::new(),
            gone_cluster_ids: Vec::new(),
            missing_cluster_ids: Vec::new(),
            reports: Vec::new(),
            origin: Origin::default(),
        }
    }

    /// Sorts its reports.
    pub(super) fn sort(&mut self) {
        self.reports.sort_by(|a, b| a.cluster_id.cmp(&b.cluster_id));
    }

    pub(super) fn key(&self) -> TargetKey<'_> {
        (&self.account_ids, self.role.as_deref(), &self.regions, &self.cluster_ids)
    }

    /// Its accounts in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let accounts = self.account_ids.join(", ");
        match &self.name {
            Some(name) => format!("{accounts} ({name})"),
            None => accounts,
        }
    }

    /// Reason why there is nothing to show.
    #[must_use]
    pub fn reason(&self) -> String {
        match (&self.why, self.not_audited.first()) {
            (Some(why), _) => why.clone(),
            (None, Some(entry)) => format!("{}: {}: {}", entry.what, entry.reason, entry.message),
            (None, None) if self.missing_cluster_ids.is_empty() => NO_CLUSTER.to_owned(),
            (None, None) => {
                format!("{NO_CLUSTER}; the earlier run audited {}", crate::text::list(&self.missing_cluster_ids, 4))
            }
        }
    }

    /// True if everything requested could be audited.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self.outcome {
            TargetOutcome::Skipped => true,
            TargetOutcome::NotAudited => false,
            TargetOutcome::Audited | TargetOutcome::Empty => {
                self.not_audited.is_empty() && self.reports.iter().all(|report| report.complete)
            }
        }
    }

    /// Creates the target of a single report.
    pub(super) fn from_report(report: Report) -> Self {
        let mut account_ids: Vec<String> = report.accounts.iter().map(|account| account.account_id.clone()).collect();
        account_ids.sort_unstable();
        let mut regions: Vec<String> =
            report.accounts.iter().flat_map(|account| account.regions.iter().cloned()).collect();
        regions.sort_unstable();
        regions.dedup();
        Self {
            regions,
            cluster_ids: vec![report.cluster_id.clone()],
            collected_at: report.source.collected_at.clone(),
            reports: vec![report],
            ..Self::new(account_ids)
        }
    }
}
