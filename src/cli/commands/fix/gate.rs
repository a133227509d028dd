//! The gate before the first write, shared by `scan --fix` and `apply`: the account is read again, the plan is rebuilt
//! from that, and the approved plan is only a limit. Afterwards the rules of every cluster in the account run on the
//! result.

use std::collections::{BTreeMap, BTreeSet};

use crate::apply::Connection;
use crate::audit::Purpose;
use crate::cli::io::failure::{Exit, Failure, provider_failure};
use crate::cli::io::terminal::line;
use crate::cli::session::Scope;
use crate::estate::Estate;
use crate::finding::{Finding, Severity};
use crate::fix::plan::{self, Approvals, LeftOut, Plan, Planned};
#[cfg(feature = "alibaba")]
use crate::provider::alibaba::live;
#[cfg(feature = "aws")]
use crate::provider::aws;
use crate::report::SourceKind;
use crate::rules::{RULES, Rule};
use crate::text;

use super::FixRequest;
use super::request::{plan as plan_fixes, rejected};

/// Maximum number of new findings, or of gaps, that are listed one by one; the rest is counted.
const TOLD: usize = 10;

/// The plan that may be written, and the account just before.
pub(super) struct Passed {
    /// The rebuilt plan, within the approved one.
    pub(super) again: Planned,
    /// Reasons why approved changes are not made, by change id. Changes that are already in place are not included.
    pub(super) left_out: BTreeMap<String, String>,
    /// The account before the first write.
    pub(super) before: Estate,
}

/// Reads the account of a plan, in its regions.
pub(super) fn read(connection: &Connection<'_>, when: &str) -> Result<Estate, Failure> {
    let seen = match connection {
        #[cfg(feature = "aws")]
        Connection::Aws(request) => aws::collect(request).map(Estate::Aws),
        #[cfg(feature = "alibaba")]
        Connection::Alibaba(request) => live::collect(request).map(Estate::Alibaba),
    };
    seen.map_err(|error| {
        let failure = provider_failure(error);
        let mut whole = Failure::new(failure.exit, when);
        whole.causes = std::iter::once(failure.error).chain(failure.causes).collect();
        if let Some(help) = failure.help { whole.help(help) } else { whole }
    })
}

/// Reports the reads that failed before the first write, and returns their number.
pub(super) fn tell_gaps(before: &Estate) -> usize {
    let gaps = before.as_ref().gaps();
    for gap in gaps.iter().take(TOLD) {
        let place = [&gap.region, &gap.resource].into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
        let place = if place.is_empty() { String::new() } else { format!(" ({})", text::printable(&place.join(", "))) };
        line(&format!("not read: {}{place}: {}: {}", gap.read, gap.reason, text::printable(&gap.message)));
    }
    if gaps.len() > TOLD {
        line(&format!("not read: {} more", text::count(gaps.len() - TOLD, "call")));
    }
    gaps.len()
}

/// Reads the account, plans again, and reports the changes of the approved plan that are skipped.
pub(super) fn pass(
    approved: &Plan,
    scope: &Scope<'_>,
    rules: &[&'static Rule],
    approvals: Approvals,
    connection: &Connection<'_>,
) -> Result<Passed, Failure> {
    let before = read(connection, "cannot read the account again before the first write; nothing was written")?;
    let identities = before.as_ref().identities();
    let found = identities.iter().map(|identity| (identity.account_id.as_str(), identity.partition.as_str()));
    let planned_for = (approved.account_id.as_str(), approved.partition.as_str());
    if let Some((account, partition)) = found.clone().find(|found| *found != planned_for) {
        return Err(Failure::new(
            Exit::Unfixed,
            format!(
                "the plan is for account {} ({}), but the credentials belong to {account} ({partition}); nothing was written",
                approved.account_id, approved.partition
            ),
        ));
    }
    tell_gaps(&before);
    super::refuse_apart(scope, &before)?;
    let (audit, _) = scope.audited_for(before.as_ref(), rules, SourceKind::Live, Purpose::Plan)?;
    let open: Vec<Finding> = audit.open().cloned().collect();
    let asked = FixRequest { approvals, valid_for: None, within: Some(approved) };
    let again = plan_fixes(scope, rules, &before, &open, &asked, true)?;
    if !again.rejected.is_empty() {
        return Err(rejected(&again));
    }
    let mut left_out = BTreeMap::new();
    let mut in_place = 0;
    for (change, why) in plan::left_out(approved, &again, before.as_ref(), &scope.options()) {
        match why {
            LeftOut::InPlace => in_place += 1,
            LeftOut::NotPlanned(why) => {
                let transition = &change.transition;
                line(&format!("skipped: {} {}: {why}", transition.target.id, transition.attribute.label()));
                left_out.insert(change.id.clone(), why);
            }
        }
    }
    if in_place > 0 {
        line(&format!("already in place: {}", text::count(in_place, "change")));
    }
    Ok(Passed { again, left_out, before })
}

impl Passed {
    /// Reasons why changes of an interrupted run are not made; a journal holds the plan of the run.
    pub(super) fn skipped_changes(&self, broken_off: &Plan) -> BTreeMap<String, String> {
        let left = plan::left_out(broken_off, &self.again, self.before.as_ref(), &[]).into_iter();
        left.filter_map(|(change, why)| match why {
            LeftOut::InPlace => None,
            LeftOut::NotPlanned(why) => Some((change.id.clone(), why)),
        })
        .collect()
    }
}

/// Reports what the rules of all clusters in the account find now and did not find before the first write; true if a
/// warning or an error is among it. Another caller may have caused it meanwhile: the journal records who wrote what. An
/// undo does not report what it restores for its own cluster.
pub(super) fn tell_created(
    scope: &Scope<'_>,
    before: &Estate,
    after: &Estate,
    written: &Plan,
) -> Result<bool, Failure> {
    let mut created: Vec<(String, Finding)> = Vec::new();
    let mut clusters: BTreeSet<String> = [before, after].into_iter().flat_map(named_clusters).collect();
    match written.kind {
        plan::Kind::Fix => clusters.insert(scope.cluster_id.to_owned()),
        plan::Kind::Undo => clusters.remove(scope.cluster_id),
    };
    let find = |estate: &Estate, cluster: &str| {
        scope
            .auditor(&RULES, SourceKind::Live)
            .re_audit(estate.as_ref(), cluster)
            .map_err(|error| Failure::from_error(Exit::Usage, &error))
    };
    for cluster in clusters {
        let (known, now) = (find(before, &cluster)?, find(after, &cluster)?);
        let new = plan::created(&known, now, plan::Counting::of(cluster == scope.cluster_id, written.deletes()));
        created.extend(new.into_iter().map(|finding| (cluster.clone(), finding)));
    }
    created.sort_by(|(a, one), (b, other)| (other.severity, a, one.rule).cmp(&(one.severity, b, other.rule)));
    for (cluster, finding) in created.iter().take(TOLD) {
        line(&format!(
            "new since the first write, in the cluster `{}`: {} {} on {}: {}",
            text::printable(cluster),
            finding.severity.noun(),
            finding.rule,
            finding.resource.id,
            finding.message
        ));
    }
    if created.len() > TOLD {
        line(&format!("and {} more", text::count(created.len() - TOLD, "new finding")));
    }
    Ok(created.iter().any(|(_, finding)| finding.severity >= Severity::Warning))
}

/// Clusters that an account names.
fn named_clusters(estate: &Estate) -> BTreeSet<String> {
    estate.as_ref().clusters().clusters.into_iter().map(|cluster| cluster.cluster_id).collect()
}
