//! Selects the fixes that can be applied together: a plan is tried on a copy of the inventory, and fixes that would
//! create findings are dropped.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::baseline::BaselineError;
use crate::estate::{Estate, EstateRef, Identity};
use crate::finding::{Applicability, Finding};
use crate::nodes::KubernetesNode;
use crate::text;

use super::limit::Limit;
use super::planner::{Planner, ProposedChange};
use super::{Approvals, PlannedChange};
use super::{cloud, guard};

/// Most rounds in which findings that appear only after the fixes are added to a plan.
const ROUNDS: usize = 4;

/// Tries plans until one creates no finding.
pub(super) struct Attempts<'a> {
    pub(super) identity: &'a Identity,
    pub(super) estate: EstateRef<'a>,
    pub(super) approvals: &'a Approvals,
    /// Approved plan that limits this one.
    pub(super) limit: Option<&'a Limit<'a>>,
    pub(super) cluster_id: &'a str,
    pub(super) rules: &'a [&'static str],
    pub(super) nodes: Option<&'a [KubernetesNode]>,
    pub(super) audit: &'a Audit<'a>,
    /// Findings before any plan, by cluster.
    pub(super) before: RefCell<BTreeMap<String, Rc<Vec<Finding>>>>,
}

/// One attempt: what it skips and changes, the findings afterwards, and those of them that are new.
pub(super) struct Attempt<'a> {
    pub(super) planner: Planner<'a>,
    pub(super) changes: Vec<ProposedChange>,
    after: Vec<Finding>,
    pub(super) created: Vec<NewFinding>,
}

impl<'a> Attempts<'a> {
    /// Plans fixes for findings and audits the result: for `clusters`, or for all that the plan could harm.
    pub(super) fn attempt(
        &self,
        findings: &[Finding],
        refused: &BTreeMap<usize, String>,
        clusters: Option<&BTreeSet<&str>>,
    ) -> Result<Attempt<'a>, BaselineError> {
        let mut planner = Planner {
            identity: self.identity,
            estate: self.estate,
            limit: self.limit,
            skipped: Vec::new(),
            rejected: Vec::new(),
        };
        let mut asked = planner.select(findings, self.approvals, refused);
        planner.merge_grants(findings, &mut asked);
        planner.refuse_contradictions(&asked);
        let (changes, state) = planner.order(self.cluster_id, self.nodes, asked);
        let (after, created) = self.findings_after(&changes, state.as_ref(), clusters)?;
        Ok(Attempt { planner, changes, after, created })
    }

    /// Drops fixes that would create findings, and adds findings that appear, or become fixable, only once the rest is
    /// fixed.
    pub(super) fn resolve(&self, findings: &[Finding]) -> Result<(Planner<'a>, Vec<ProposedChange>), BaselineError> {
        let mut refused: BTreeMap<usize, String> = BTreeMap::new();
        // Findings that appear only afterwards and whose fixes do harm.
        let mut banned: Vec<Finding> = Vec::new();
        let mut rounds = ROUNDS;
        loop {
            let mut all = findings.to_vec();
            let mut attempt = self.attempt(&all, &refused, None)?;
            for _ in 0..rounds {
                let follows = |finding: &&Finding| {
                    let is_refused = refused
                        .keys()
                        .filter_map(|index| findings.get(*index))
                        .any(|known| known.rule == finding.rule && known.resource.id == finding.resource.id);
                    let is_known = all.iter().chain(&banned).any(|known| {
                        known.fingerprint == finding.fingerprint && known.fix.changes == finding.fix.changes
                    });
                    self.rules.contains(&finding.rule) && self.is_agreed(finding) && !is_refused && !is_known
                };
                let more: Vec<Finding> = attempt.after.iter().filter(follows).cloned().collect();
                if more.is_empty() {
                    break;
                }
                all.extend(more);
                attempt = self.attempt(&all, &refused, None)?;
            }
            let Attempt { mut planner, changes, created, .. } = attempt;
            if created.is_empty() {
                return Ok((planner, changes));
            }
            let blamed = self.blamed(findings, &changes, &created)?;
            if !blamed.is_empty() {
                refused.extend(blamed);
            } else if let Some(taken_in) = all.get(findings.len()..).filter(|taken_in| !taken_in.is_empty()) {
                // Bans each added finding whose fix by itself does the harm.
                let known = banned.len();
                for one in taken_in {
                    let mut with_one = findings.to_vec();
                    with_one.push(one.clone());
                    let tried = self.attempt(&with_one, &refused, None)?;
                    if tried.created.iter().any(|one| created.iter().any(|other| one.is_same(other))) {
                        banned.push(one.clone());
                    }
                }
                if banned.len() == known {
                    rounds = 0;
                }
            } else {
                planner.rejected.push(describe_created(&created, self.cluster_id));
                return Ok((planner, changes));
            }
        }
    }

    fn is_agreed(&self, finding: &Finding) -> bool {
        if !self.approvals.mandate.covers(finding) {
            return false;
        }
        match finding.fix.applicability {
            Applicability::Safe => true,
            Applicability::Confirm => {
                !finding.fix.changes.is_empty() && self.approvals.allow.iter().any(|rule| rule == finding.rule)
            }
            Applicability::Choice | Applicability::None => false,
        }
    }

    /// Findings whose fix alone creates some of the findings that the whole plan would create, with a description.
    fn blamed(
        &self,
        findings: &[Finding],
        changes: &[ProposedChange],
        created: &[NewFinding],
    ) -> Result<BTreeMap<usize, String>, BaselineError> {
        let mut blamed = BTreeMap::new();
        let clusters: BTreeSet<&str> = created.iter().map(|one| one.cluster_id.as_str()).collect();
        let involved: BTreeSet<usize> = changes.iter().flat_map(|(_, findings)| findings.iter().copied()).collect();
        for (index, finding) in findings.iter().enumerate().filter(|(index, _)| involved.contains(index)) {
            let alone = self.attempt(std::slice::from_ref(finding), &BTreeMap::new(), Some(&clusters))?;
            let mut caused = alone.created;
            caused.retain(|one| created.iter().any(|other| one.is_same(other)));
            if !caused.is_empty() {
                blamed.insert(index, describe_created(&caused, self.cluster_id));
            }
        }
        Ok(blamed)
    }

    fn before(&self, cluster_id: &str) -> Result<Rc<Vec<Finding>>, BaselineError> {
        if let Some(known) = self.before.borrow().get(cluster_id) {
            return Ok(Rc::clone(known));
        }
        let found = Rc::new((self.audit)(self.estate, cluster_id)?);
        self.before.borrow_mut().insert(cluster_id.to_owned(), Rc::clone(&found));
        Ok(found)
    }

    /// Runs the rules on the state that a plan leads to, for this cluster and its neighbours. Returns the findings of
    /// this cluster, and the new findings of all of them.
    fn findings_after(
        &self,
        changes: &[ProposedChange],
        state: Option<&Estate>,
        clusters: Option<&BTreeSet<&str>>,
    ) -> Result<(Vec<Finding>, Vec<NewFinding>), BaselineError> {
        let Some(state) = state.filter(|_| !changes.is_empty()) else { return Ok((Vec::new(), Vec::new())) };
        let only: Vec<&PlannedChange> = changes.iter().map(|(change, _)| change).collect();
        let mut all = vec![self.cluster_id.to_owned()];
        all.extend(cloud::neighbours(self.estate, self.cluster_id, &only));
        all.retain(|cluster| clusters.is_none_or(|clusters| clusters.contains(cluster.as_str())));
        let deletes = only.iter().any(|change| change.transition.is_deletion());
        let (mut own, mut created) = (Vec::new(), Vec::new());
        for cluster in all {
            let before = self.before(&cluster)?;
            let after = (self.audit)(state.as_ref(), &cluster)?;
            let is_own = cluster == self.cluster_id;
            if is_own {
                own.clone_from(&after);
            }
            let new = guard::created(&before, after, guard::Counting::of(is_own, deletes)).into_iter();
            created.extend(new.map(|finding| NewFinding { cluster_id: cluster.clone(), finding }));
        }
        Ok((own, created))
    }
}

/// A finding that a plan would create.
pub(super) struct NewFinding {
    cluster_id: String,
    finding: Finding,
}

impl NewFinding {
    fn is_same(&self, other: &Self) -> bool {
        self.cluster_id == other.cluster_id
            && self.finding.rule == other.finding.rule
            && self.finding.resource.id == other.finding.resource.id
    }
}

/// Describes the findings that a plan would create.
pub(super) fn describe_created(created: &[NewFinding], cluster_id: &str) -> String {
    let mut described: Vec<String> = created
        .iter()
        .map(|NewFinding { cluster_id: of, finding }| {
            let whose = if of == cluster_id { String::new() } else { format!(" of the cluster `{of}`") };
            format!("{}{whose} ({})", finding.rule, finding.message)
        })
        .collect();
    described.sort();
    described.dedup();
    format!("it would create {}", text::list(&described, 3))
}

/// Audits an inventory for a cluster again: with the options of the scan for its own cluster, as well as possible for
/// others.
pub(crate) type Audit<'a> = dyn Fn(EstateRef<'_>, &str) -> Result<Vec<Finding>, BaselineError> + 'a;
