//! Compares a report with an earlier one of the same cluster: findings that are new, unchanged, resolved, or unknown
//! because they were not checked this time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::finding::{Severity, Status};
use crate::rules::{self, Outcome};

use super::{Comparison, Finding, GoneFinding, NotAudited, Report, ResourceRef};

/// Reasons why one report of a set cannot be picked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PickError {
    /// The set holds no report of the cluster.
    #[error("there is no report of the cluster `{cluster_id}`")]
    None { cluster_id: String },
    /// Several clusters have the id.
    #[error("there are several clusters `{cluster_id}`, in {}", crate::text::list(accounts, 8))]
    Several {
        cluster_id: String,
        /// Their accounts and regions.
        accounts: Vec<String>,
    },
}

/// Reasons why two reports cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// They are of different clusters.
    #[error(
        "it is a report of the cluster `{earlier}` on {earlier_provider}, but this one is of `{cluster_id}` on {provider}"
    )]
    OtherCluster {
        /// The cluster of the earlier report.
        earlier: String,
        /// Its cloud.
        earlier_provider: &'static str,
        /// The cluster of this report.
        cluster_id: String,
        /// Its cloud.
        provider: &'static str,
    },
    /// The earlier report is the later one.
    #[error("its evidence was read at {earlier}, after that of this report ({collected_at})")]
    Later {
        /// Time at which the evidence of the earlier report was read.
        earlier: String,
        /// Time at which the evidence of this report was read.
        collected_at: String,
    },
}

impl Report {
    /// Checks that a report is one of a cluster.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_cluster(&self, cluster_id: &str, provider: &'static str) -> Result<(), CompareError> {
        if self.cluster_id == cluster_id && self.provider.name() == provider {
            return Ok(());
        }
        Err(CompareError::OtherCluster {
            earlier: self.cluster_id.clone(),
            earlier_provider: self.provider.name(),
            cluster_id: cluster_id.to_owned(),
            provider,
        })
    }

    /// Marks each finding as new or unchanged since an earlier report, and lists the missing ones: as resolved only if
    /// the rule checked the same place again.
    ///
    /// # Errors
    /// When the reports are not of one cluster, or the other one is later.
    pub fn compare(&mut self, earlier: &Self) -> Result<(), CompareError> {
        earlier.check_cluster(&self.cluster_id, self.provider.name())?;
        let (before, now) = (&earlier.source.collected_at, &self.source.collected_at);
        if let (Some(before), Some(now)) = (before, now)
            && let (Ok(one), Ok(other)) = (before.parse::<Timestamp>(), now.parse::<Timestamp>())
            && one > other
        {
            return Err(CompareError::Later { earlier: before.clone(), collected_at: now.clone() });
        }
        // Findings that were not checked last time are still open: a day without evidence loses nothing.
        let unknown_then =
            earlier.comparison.iter().flat_map(|comparison| &comparison.unknown).map(|gone| &gone.finding);
        let known: BTreeMap<&str, &Finding> =
            unknown_then.chain(&earlier.findings).map(|finding| (finding.fingerprint.as_str(), finding)).collect();
        let run_then: BTreeSet<&str> = earlier.rules.iter().map(|rule| &*rule.rule).collect();
        let mut unchanged = 0;
        for finding in &mut self.findings {
            // A finding that was waived then and is open now counts as new.
            let is_waived = finding.status == Status::Waived;
            let before =
                known.get(finding.fingerprint.as_str()).filter(|before| is_waived || before.status != Status::Waived);
            if !is_waived {
                finding.status = if before.is_some() { Status::Unchanged } else { Status::New };
            }
            finding.rule_is_new = finding.status == Status::New && !run_then.contains(finding.rule.as_str());
            unchanged += usize::from(before.is_some());
            finding.previous_severity =
                before.map(|before| before.severity).filter(|before| *before != finding.severity);
        }
        let present: BTreeSet<&str> = self.findings.iter().map(|finding| finding.fingerprint.as_str()).collect();
        let gone = known.values().filter(|finding| !present.contains(finding.fingerprint.as_str()));
        let (mut resolved, mut unknown) = (Vec::new(), Vec::new());
        for finding in gone {
            match self.not_looked_at(earlier, finding) {
                Some(why) => unknown.push(GoneFinding::new(finding, Status::Unknown, Some(why))),
                None => resolved.push(GoneFinding::new(finding, Status::Resolved, None)),
            }
        }
        for gone in [&mut resolved, &mut unknown] {
            gone.sort_by(|a, b| sort_key(&a.finding).cmp(&sort_key(&b.finding)));
        }
        self.comparison = Some(Comparison {
            collected_at: before.clone(),
            version: earlier.tool.version.clone(),
            new: self.findings.iter().filter(|finding| finding.status == Status::New).count(),
            by_new_rules: self.findings.iter().filter(|finding| finding.rule_is_new).count(),
            unchanged,
            resolved,
            unknown,
        });
        Ok(())
    }

    /// Reason why the place of an earlier finding was not checked; `None` if it was checked and is in order.
    fn not_looked_at(&self, earlier: &Self, finding: &Finding) -> Option<String> {
        let ResourceRef { kind, account_id, region, .. } = &finding.resource;
        let Some(outcome) = self.rules.iter().find(|rule| *rule.rule == *finding.rule) else {
            return Some("the rule was not selected".to_owned());
        };
        if earlier.options != self.options {
            let differ = |one: &[String], other: &[String]| one.iter().find(|option| !other.contains(option)).cloned();
            let option = differ(&earlier.options, &self.options).or_else(|| differ(&self.options, &earlier.options));
            return Some(format!("the scan had other options: {}", option.unwrap_or_default()));
        }
        if let Some(id) = account_id {
            let Some(account) = self.accounts.iter().find(|account| account.account_id == *id) else {
                return Some(format!("the account {id} was not read"));
            };
            if let Some(region) = region.as_ref().filter(|region| !account.regions.contains(region)) {
                return Some(format!("{region} was not read"));
            }
        }
        // A finding without a region or an account may involve resources in any of them.
        for before in earlier.accounts.iter().filter(|one| account_id.as_ref().is_none_or(|id| one.account_id == *id)) {
            let Some(now) = self.accounts.iter().find(|one| one.account_id == before.account_id) else {
                return Some(format!("the account {} was not read", before.account_id));
            };
            let mut needed = before.regions.iter().filter(|one| region.as_ref().is_none_or(|region| *one == region));
            if let Some(region) = needed.find(|region| !now.regions.contains(region)) {
                return Some(format!("{region} was not read"));
            }
        }
        if earlier.knows_nodes() && !self.knows_nodes() {
            return Some("the Nodes were known then, but are not now: give them with --nodes".to_owned());
        }
        if let Some(entry) = self.not_audited.iter().find(|entry| covers(entry, finding)) {
            return Some(format!("{} was not read: {}", entry.what, entry.reason));
        }
        let why = || outcome.why.clone().unwrap_or_default();
        match outcome.outcome {
            Outcome::Passed | Outcome::Failed => None,
            Outcome::NotAudited => Some(format!("the rule was not audited: {}", why())),
            // If no resource of the kind is left, a finding on one of them is resolved.
            Outcome::NotApplicable if self.summary.resources.get(kind.name()) == Some(&0) => None,
            Outcome::NotApplicable => Some(format!("the rule does not apply now: {}", why())),
        }
    }

    /// True if Nodes of Kubernetes were part of the evidence: only then do the rules about them apply.
    fn knows_nodes(&self) -> bool {
        let is_about_nodes = |id: &str| rules::find(id).is_some_and(|rule| rule.check.inspects_nodes());
        self.rules.iter().any(|rule| rule.outcome != Outcome::NotApplicable && is_about_nodes(&rule.rule))
    }
}

/// Sort key of findings: worst first, then by rule and resource.
fn sort_key(finding: &Finding) -> (Reverse<Severity>, &str, &str, &str) {
    (Reverse(finding.severity), &finding.rule, &finding.resource.id, &finding.fingerprint)
}

/// True if a failed read may hide a finding.
fn covers(entry: &NotAudited, finding: &Finding) -> bool {
    let of_rule = entry.rules.is_empty() || entry.rules.contains(&finding.rule);
    let same = |one: &Option<String>, other: &Option<String>| match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    of_rule
        && same(&entry.account_id, &finding.resource.account_id)
        && same(&entry.region, &finding.resource.region)
        && entry.resource.as_deref().is_none_or(|resource| may_be_about(resource, finding))
}

/// True if a resource belongs to a finding, or is of another kind than all of its resources: then the relation is
/// unknown.
fn may_be_about(resource: &str, finding: &Finding) -> bool {
    let mut of_finding = std::iter::once(&finding.resource).chain(&finding.related);
    of_finding.any(|one| one.id == resource || one.arn.as_deref() == Some(resource))
        || !std::iter::once(&finding.resource)
            .chain(&finding.related)
            .any(|one| implied_kind(&one.id) == implied_kind(resource))
}

/// Kind that an id implies: `i` of `i-0abc`, `role` of `arn:aws:iam::123456789012:role/x`.
fn implied_kind(id: &str) -> &str {
    let resource = id.splitn(6, ':').nth(5).unwrap_or(id);
    resource.split(['/', '-']).next().unwrap_or(resource)
}

impl GoneFinding {
    pub(super) fn new(finding: &Finding, status: Status, why: Option<String>) -> Self {
        let mut finding = finding.clone();
        finding.status = status;
        finding.previous_severity = None;
        finding.rule_is_new = false;
        Self { finding, why }
    }
}
