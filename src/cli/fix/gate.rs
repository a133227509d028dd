//! The gate before the first write, the same for `scan --fix` and `apply`: the account is read again, the plan is made again from that, and what was
//! approved is only a limit. Afterwards the rules of every cluster of the account run over what was written.

use std::collections::{BTreeMap, BTreeSet};

use crate::apply::Connection;
use crate::audit::Purpose;
use crate::cli::failure::{Exit, Failure, provider_failure};
use crate::cli::session::Scope;
use crate::cli::terminal::line;
use crate::clusters::Clusters;
use crate::estate::Estate;
use crate::finding::{Finding, Severity};
use crate::plan::{self, Approvals, LeftOut, Plan, Planned};
#[cfg(feature = "alibaba")]
use crate::provider::alibaba::live;
#[cfg(feature = "aws")]
use crate::provider::aws;
use crate::report::SourceKind;
use crate::rules::{RULES, Rule};
use crate::text;

use super::{Asked, make};

/// New findings that are told one by one; the rest is counted.
const TOLD: usize = 10;

/// What may be written, and the account as it was just before.
pub(super) struct Passed {
    /// The plan that was made again, within the approved one.
    pub(super) again: Planned,
    /// What was approved and is not made, by the id of the change, with the reason. What is in place already is not among it.
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

/// Plans again from an account that is read now, and says what of the approved plan is left out.
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
                "the plan is for account {} ({}), and the credentials are of {account} ({partition}); nothing was written",
                approved.account_id, approved.partition
            ),
        ));
    }
    let gaps = before.as_ref().gaps();
    for gap in gaps.iter().take(TOLD) {
        let place = [&gap.region, &gap.resource].into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
        let place = if place.is_empty() { String::new() } else { format!(" ({})", text::printable(&place.join(", "))) };
        line(&format!("not read: {}{place}: {}: {}", gap.read, gap.reason, text::printable(&gap.message)));
    }
    if gaps.len() > TOLD {
        line(&format!("not read: {} more", text::count(gaps.len() - TOLD, "call")));
    }
    super::refuse_apart(scope, &before)?;
    let (audit, _) = scope.audited_for(before.as_ref(), rules, SourceKind::Live, Purpose::Plan)?;
    let open: Vec<Finding> = audit.open().cloned().collect();
    let asked = Asked { approvals, valid_for: None, within: Some(approved) };
    let again = make(scope, rules, &before, &open, &asked, true)?;
    if !again.rejected.is_empty() {
        return Err(super::rejected(&again));
    }
    let mut left_out = BTreeMap::new();
    let mut in_place = 0;
    for (change, why) in plan::left_out(approved, &again, before.as_ref(), &scope.options()) {
        match why {
            LeftOut::InPlace => in_place += 1,
            LeftOut::NotPlanned(why) => {
                let transition = &change.transition;
                line(&format!("left out: {} {}: {why}", transition.target.id, transition.attribute.label()));
                left_out.insert(change.id.clone(), why);
            }
        }
    }
    if in_place > 0 {
        line(&format!("in place already: {}", text::count(in_place, "change")));
    }
    Ok(Passed { again, left_out, before })
}

impl Passed {
    /// The same for the plan of a run that was broken off, which a journal holds: what of it is left out.
    pub(super) fn left_out_of(&self, broken_off: &Plan) -> BTreeMap<String, String> {
        let left = plan::left_out(broken_off, &self.again, self.before.as_ref(), &[]).into_iter();
        left.filter_map(|(change, why)| match why {
            LeftOut::InPlace => None,
            LeftOut::NotPlanned(why) => Some((change.id.clone(), why)),
        })
        .collect()
    }
}

/// Tells what the rules of all clusters of the account find now and did not find before the first write; whether there is a warning or
/// an error among it. Somebody else may have caused it meanwhile: who wrote what is in the journal. What an undo brings back for its own
/// cluster is what it is for.
pub(super) fn tell_created(
    scope: &Scope<'_>,
    before: &Estate,
    after: &Estate,
    kind: plan::Kind,
) -> Result<bool, Failure> {
    let mut created: Vec<(String, Finding)> = Vec::new();
    let mut clusters: BTreeSet<String> = [before, after].into_iter().flat_map(clusters_of).collect();
    match kind {
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
        let new = plan::created(&known, now, cluster == scope.cluster_id);
        created.extend(new.into_iter().map(|finding| (cluster.clone(), finding)));
    }
    created.sort_by(|(a, one), (b, other)| (other.severity, a, one.rule).cmp(&(one.severity, b, other.rule)));
    for (cluster, finding) in created.iter().take(TOLD) {
        line(&format!(
            "new since the first write, of the cluster `{}`: {} {} on {}: {}",
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

/// The clusters that an account names.
fn clusters_of(estate: &Estate) -> BTreeSet<String> {
    let clusters = match estate {
        Estate::Aws(inventory) => Clusters::of(inventory),
        Estate::Alibaba(inventory) => Clusters::of_alibaba(inventory),
    };
    clusters.clusters.into_iter().map(|cluster| cluster.cluster_id).collect()
}
