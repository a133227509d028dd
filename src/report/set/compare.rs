//! Compares many targets with an earlier run.

use crate::finding::Status;
use crate::inventory::Provider;
use crate::report::{CompareError, Comparison, Finding, GoneFinding, Report};

use super::{ReportSet, TargetOutcome, TargetReport};

impl ReportSet {
    /// Marks each finding as new or unchanged since an earlier set, and lists the missing ones. Findings of a cluster
    /// that was not audited this time are unknown, and stay so until it is audited.
    ///
    /// # Errors
    /// When the earlier set is the later one.
    pub fn compare(&mut self, earlier: &Self) -> Result<(), CompareError> {
        let before = earlier.each_once();
        let mut is_used = vec![false; before.len()];
        for target in &mut self.targets {
            let TargetReport { account_ids, reports, .. } = target;
            for report in reports {
                let is_left_over = report.is_left_over();
                let is_same = |(other, known): &(&TargetReport, &Report)| {
                    known.cluster_id == report.cluster_id
                        && known.provider == report.provider
                        && other.account_ids.iter().any(|id| account_ids.contains(id))
                };
                // A cluster id may be in use in another region of the account too.
                let places = || before.iter().enumerate().filter(|(_, one)| is_same(one));
                let at = places().find(|(_, (_, known))| known.accounts == report.accounts).or_else(|| {
                    places().find(|(index, (_, known))| {
                        !is_used.get(*index).is_some_and(|used| *used) && shares_a_region(known, report)
                    })
                });
                if let Some((index, (_, known))) = at {
                    if is_left_over {
                        add_unknown(report, known);
                    } else {
                        report.compare(known)?;
                    }
                    if let Some(used) = is_used.get_mut(index) {
                        *used = true;
                    }
                }
            }
        }
        for target in self.targets.iter_mut().filter(|target| target.outcome == TargetOutcome::Empty) {
            let was_here = |(other, report): &&(&TargetReport, &Report)| {
                !report.is_left_over()
                    && other.account_ids.iter().any(|id| target.account_ids.contains(id))
                    && (target.regions.is_empty()
                        || report.regions().iter().any(|region| target.regions.iter().any(|here| here == region)))
            };
            let missing = before.iter().filter(was_here).map(|(_, report)| report.cluster_id.clone());
            let missing: std::collections::BTreeSet<String> = missing.collect();
            target.missing_cluster_ids = missing.into_iter().collect();
        }
        for ((target, report), is_used) in before.iter().zip(&mut is_used) {
            let is_gone = |one: &&mut TargetReport| {
                one.gone_cluster_ids.contains(&report.cluster_id)
                    && one.account_ids.iter().any(|id| target.account_ids.contains(id))
            };
            if let Some(one) = self.targets.iter_mut().find(is_gone).filter(|_| !*is_used) {
                *is_used = true;
                one.reports.extend(left_over(report, Status::Resolved, None));
            }
        }
        for ((target, report), _) in before.into_iter().zip(is_used).filter(|(_, is_used)| !is_used) {
            self.keep_unknown(target, report);
        }
        self.finish();
        Ok(())
    }

    /// Keeps the findings of an earlier report if this run has no report of the cluster.
    fn keep_unknown(&mut self, target: &TargetReport, report: &Report) {
        let of_account = |one: &&mut TargetReport| one.account_ids.iter().any(|id| target.account_ids.contains(id));
        // An account in which all clusters were searched for, in the regions of this one.
        let is_read = |one: &&mut TargetReport| {
            one.outcome.is_read()
                && one.cluster_ids.is_empty()
                && (one.regions.is_empty()
                    || report.regions().iter().all(|region| one.regions.iter().any(|here| here == region)))
        };
        let at = match self.targets.iter_mut().filter(of_account).find(is_read) {
            Some(one) => Some(one),
            None => self.targets.iter_mut().filter(of_account).find(|one| !one.outcome.is_read()),
        };
        let why = match &at {
            Some(one) if one.outcome.is_read() => {
                "no resource carries its id any more: it was deleted, or lost its tags; a scan with --compare shows which"
                    .to_owned()
            }
            Some(one) => match (one.outcome, one.not_audited.first()) {
                (TargetOutcome::NotAudited, Some(entry)) => {
                    format!("{} was not audited: {}: {}", one.describe(), entry.what, entry.reason)
                }
                _ => one.why.clone().unwrap_or_default(),
            },
            None => "this run did not audit the cluster".to_owned(),
        };
        let Some(left) = left_over(report, Status::Unknown, Some(&why)) else { return };
        match at {
            Some(one) => one.reports.push(left),
            None => self.targets.push(TargetReport {
                outcome: TargetOutcome::Skipped,
                why: Some("in the earlier report, but not audited in this run".to_owned()),
                not_audited: Vec::new(),
                gone_cluster_ids: Vec::new(),
                missing_cluster_ids: Vec::new(),
                reports: vec![left],
                ..target.clone()
            }),
        }
    }

    /// Reports of the clusters of an account with open or unknown findings: they are audited again, even if no resource
    /// carries their id any more.
    #[must_use]
    pub fn clusters_with_findings(&self, account_ids: &[String], provider: Provider) -> Vec<&Report> {
        let of_account = |target: &&TargetReport| target.account_ids.iter().any(|id| account_ids.contains(id));
        let is_open = |report: &&Report| {
            report.provider == provider
                && (report.open().next().is_some()
                    || report.comparison.as_ref().is_some_and(|comparison| !comparison.unknown.is_empty()))
        };
        self.targets.iter().filter(of_account).flat_map(|target| &target.reports).filter(is_open).collect()
    }
}

/// Adds the findings of an earlier report to the remainder of a report.
fn add_unknown(report: &mut Report, earlier: &Report) {
    let Some(comparison) = &mut report.comparison else { return };
    let why = comparison.unknown.first().and_then(|gone| gone.why.clone());
    for finding in known(earlier) {
        let is_there = |gone: &GoneFinding| gone.finding.fingerprint == finding.fingerprint;
        if !comparison.unknown.iter().chain(&comparison.resolved).any(is_there) {
            comparison.unknown.push(GoneFinding::new(finding, Status::Unknown, why.clone()));
        }
    }
}

/// Open and unknown findings of a report.
fn known(report: &Report) -> impl Iterator<Item = &Finding> {
    let unknown = report.comparison.iter().flat_map(|comparison| &comparison.unknown).map(|gone| &gone.finding);
    unknown.chain(&report.findings).filter(|finding| finding.status != Status::Waived)
}

/// Remainder of an earlier report: its findings with a new status; `None` if it has no findings.
fn left_over(report: &Report, status: Status, why: Option<&str>) -> Option<Report> {
    let gone: Vec<GoneFinding> =
        known(report).map(|finding| GoneFinding::new(finding, status, why.map(str::to_owned))).collect();
    if gone.is_empty() {
        return None;
    }
    let (resolved, unknown) = if status == Status::Resolved { (gone, Vec::new()) } else { (Vec::new(), gone) };
    let comparison = Comparison {
        collected_at: report.source.collected_at.clone(),
        version: report.tool.version.clone(),
        new: 0,
        by_new_rules: 0,
        unchanged: 0,
        resolved,
        unknown,
    };
    Some(Report { comparison: Some(comparison), ..report.nothing() })
}

fn shares_a_region(one: &Report, other: &Report) -> bool {
    let regions = |report: &Report| -> Vec<String> {
        report.accounts.iter().flat_map(|account| account.regions.iter().cloned()).collect()
    };
    let known = regions(one);
    known.is_empty() || regions(other).iter().any(|region| known.contains(region))
}
