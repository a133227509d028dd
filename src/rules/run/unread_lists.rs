//! Lists of a live cluster that were not read: the rules that use them have no certain result.

use crate::inventory::kubernetes::List;
use crate::kubernetes::ListGap;

use crate::rules::outcome::{Outcome, RuleOutcome};
use crate::rules::rule::Rule;

/// Marks the rules that found nothing and may have missed something as not audited. Returns each gap with the ids of
/// the rules that check the resources it hides.
pub(super) fn mark(
    gaps: &[ListGap],
    selected: &[&'static Rule],
    outcomes: &mut [RuleOutcome],
) -> Vec<(ListGap, Vec<&'static str>)> {
    // A cluster in one cloud does not miss the lists of controllers for another.
    let is_of = |rule: &&Rule, gap: &ListGap| gap.list.provider().is_none_or(|cloud| rule.providers().contains(&cloud));
    let needs = |rule: &Rule, list: List| {
        rule.lists.contains(&list) || list.affected_kinds().iter().any(|kind| rule.resources.contains(kind))
    };
    let missed = gaps.iter().filter(|gap| selected.iter().any(|rule| is_of(rule, gap)));
    let mut unread: Vec<(ListGap, Vec<&'static str>)> = missed.map(|gap| (gap.clone(), Vec::new())).collect();
    for (rule, outcome) in selected.iter().zip(outcomes).filter(|(rule, _)| rule.check.is_on_kubernetes()) {
        let mut first = None;
        for (gap, rules) in &mut unread {
            if is_of(rule, gap) && needs(rule, gap.list) {
                rules.push(rule.id);
                first.get_or_insert_with(|| format!("{} were not read: {}", gap.list, gap.reason));
            }
        }
        let Some(first) = first else { continue };
        match outcome.outcome {
            // Its findings stand; the list may hide more.
            Outcome::Failed | Outcome::NotAudited => outcome.why = outcome.why.take().or(Some(first)),
            Outcome::Passed | Outcome::NotApplicable => {
                outcome.outcome = Outcome::NotAudited;
                outcome.why = Some(first);
            }
        }
    }
    unread
}
