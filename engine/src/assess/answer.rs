//! Folds per-region outcomes into one verdict.

use std::collections::BTreeSet;

use crate::catalogue::Action;
use crate::document::Effect;
use crate::pattern::split_arn;
use crate::truth::Holds;

use super::judge::{Applying, RegionOutcome};
use super::limit::{DeniedOn, Limit, OpenCondition, join_conditions};
use super::policy_set::StageKind;
use super::{Assessment, NotGranted, StatementRef, Verdict};

/// Outcomes for the regions of all targets.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) targets: Vec<String>,
    pub(super) outcomes: Vec<RegionOutcome>,
    pub(super) undecided: bool,
}

impl Answers {
    /// Statements of one effect that apply somewhere, without duplicates, from the stages that `of` accepts.
    fn statements(&self, effect: Effect, of: impl Fn(usize) -> bool) -> Vec<SeenPairs<'_>> {
        let mut seen: Vec<SeenPairs<'_>> = Vec::new();
        for outcome in &self.outcomes {
            for applying in &outcome.applying {
                if applying.effect != effect || !of(applying.stage) {
                    continue;
                }
                let always = usize::from(applying.holds == Holds::Always);
                match seen.iter_mut().find(|known| known.first.reference == applying.reference) {
                    Some(known) => {
                        known.always += always;
                        known.texts.extend(applying.texts.iter().map(String::as_str));
                    }
                    None => seen.push(SeenPairs {
                        first: applying,
                        always,
                        texts: applying.texts.iter().map(String::as_str).collect(),
                    }),
                }
            }
        }
        seen
    }

    /// Statements that always apply everywhere; if there is none, all of them.
    fn deciding(&self, seen: &[SeenPairs<'_>]) -> Vec<StatementRef> {
        let is_whole = |seen: &&SeenPairs<'_>| seen.always == self.outcomes.len();
        if seen.iter().any(|seen| is_whole(&seen)) {
            references(seen.iter().filter(is_whole))
        } else {
            references(seen.iter())
        }
    }

    pub(super) fn finish(&self, action: &str, stages: &[(String, StageKind)]) -> Assessment {
        // No outcome means no proof.
        if self.undecided || self.outcomes.is_empty() {
            return undecided(vec!["the patterns are too many or too intricate to decide within bounds".to_owned()]);
        }
        if self.outcomes.iter().all(|outcome| outcome.allowed.least == Holds::Always) {
            let own = |stage: usize| stages.get(stage).is_some_and(|(_, kind)| kind.is_identity());
            let because = self.deciding(&self.statements(Effect::Allow, own));
            return Assessment { because, ..Assessment::bare(Verdict::Granted) };
        }
        if self.outcomes.iter().all(|outcome| outcome.allowed.most == Holds::Never) {
            return self.none_granted(action, stages);
        }
        let lacks = self.outcomes.iter().any(|outcome| outcome.allowed.most != Holds::Always);
        let gives = self.outcomes.iter().any(|outcome| outcome.allowed.least != Holds::Never);
        if lacks && gives {
            return self.partly_granted(action, stages);
        }
        // Between nothing and a part, or between a part and all: name the conditions that decide.
        let in_doubt = self.outcomes.iter().filter(|outcome| outcome.allowed.least != outcome.allowed.most);
        let mut why: Vec<String> = in_doubt.flat_map(|outcome| &outcome.open).cloned().collect();
        why.sort();
        why.dedup();
        let is_by_request = self.outcomes.iter().any(|outcome| !outcome.wide.is_empty());
        if why.is_empty() && is_by_request {
            // Variables that the question does not have: some requests are granted, others are not.
            return self.partly_granted(action, stages);
        }
        if why.is_empty() {
            why.push("the conditions are too many or too intricate to decide within bounds".to_owned());
        } else {
            let few = crate::display::list(&why.iter().map(String::as_str).collect::<Vec<_>>(), 4);
            why = vec![format!("known only at deployment: whether {few}")];
        }
        let because = references(self.statements(Effect::Allow, |_| true).iter())
            .into_iter()
            .chain(references(self.statements(Effect::Deny, |_| true).iter()));
        Assessment { because: because.collect(), ..undecided(why) }
    }

    /// Answer if nothing is granted: no statement allows it, or something denies it.
    fn none_granted(&self, action: &str, stages: &[(String, StageKind)]) -> Assessment {
        // If an Allow would help anywhere, the verdict is missing.
        let taken = self.outcomes.iter().all(|outcome| outcome.helped == Holds::Never);
        let always_denied = self.outcomes.iter().all(|outcome| outcome.denied == Holds::Always);
        let not_granted = self.not_granted(action);
        if !taken {
            return Assessment { not_granted, ..Assessment::bare(Verdict::Missing) };
        }
        let mut because = self.deciding(&self.statements(Effect::Deny, |_| true));
        if !always_denied {
            because.extend(self.lacking(stages));
        }
        Assessment { because, not_granted, ..Assessment::bare(Verdict::Denied) }
    }

    /// Layers that lack an Allow although the identity policies have one.
    fn lacking(&self, stages: &[(String, StageKind)]) -> Vec<StatementRef> {
        let lacking: BTreeSet<usize> = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.identity != Holds::Never)
            .flat_map(|outcome| outcome.lacking.iter().copied())
            .collect();
        let name = |stage: usize| stages.get(stage).map(|(name, _)| name.clone()).unwrap_or_default();
        lacking.into_iter().map(|stage| StatementRef { policy: name(stage), statement: None }).collect()
    }

    fn partly_granted(&self, action: &str, stages: &[(String, StageKind)]) -> Assessment {
        let mut answer = Assessment { not_granted: self.not_granted(action), ..Assessment::bare(Verdict::Partial) };
        let total = self.outcomes.len();
        for stage in 0..stages.len() {
            let kind = stages.get(stage).map_or(StageKind::Identity, |(_, kind)| *kind);
            let allows = self.statements(Effect::Allow, |of| of == stage);
            let limits = kind.is_identity() || self.outcomes.iter().any(|outcome| outcome.lacking.contains(&stage));
            if !limits {
                continue;
            }
            answer.because.extend(references(allows.iter()));
            if allows.iter().any(|seen| seen.always == total) {
                continue;
            }
            // If a stage covers only some of the resources, its patterns are the limit.
            let covered = |outcome: &RegionOutcome| {
                outcome.applying.iter().any(|a| a.effect == Effect::Allow && a.stage == stage)
            };
            if !self.outcomes.iter().all(covered) {
                answer.limits.extend(allows.iter().flat_map(|seen| {
                    seen.texts.iter().map(|text| Limit::Resources {
                        stage: kind,
                        negated: seen.first.negated,
                        patterns: vec![(*text).to_owned()],
                    })
                }));
            }
            let mut any_of: Vec<Vec<OpenCondition>> = Vec::new();
            for outcome in self.outcomes.iter().filter(|outcome| covered(outcome)) {
                let here: Vec<&Applying> =
                    outcome.applying.iter().filter(|a| a.effect == Effect::Allow && a.stage == stage).collect();
                if !here.iter().any(|applying| applying.holds == Holds::Always) {
                    any_of.extend(here.iter().map(|applying| applying.conditions.clone()));
                }
            }
            any_of.retain(|all| !all.is_empty());
            any_of.sort_by_cached_key(|all| join_conditions(all));
            any_of.dedup();
            if !any_of.is_empty() {
                answer.limits.push(Limit::Conditions { stage: kind, any_of });
            }
        }
        for seen in self.statements(Effect::Deny, |_| true) {
            let bites = self.outcomes.iter().any(|outcome| {
                outcome.identity != Holds::Never && outcome.applying.iter().any(|a| a.reference == seen.first.reference)
            });
            if !bites {
                continue;
            }
            answer.because.push(seen.first.reference.clone());
            let everywhere = self
                .outcomes
                .iter()
                .all(|outcome| outcome.applying.iter().any(|a| a.reference == seen.first.reference));
            let patterns: Vec<String> = seen.texts.iter().map(|text| (*text).to_owned()).collect();
            let conditions = seen.first.conditions.clone();
            answer.limits.push(if conditions.is_empty() {
                // A Deny excludes the resources that it names; `NotResource` in a Deny leaves those that it names.
                Limit::Resources { stage: StageKind::Identity, negated: !seen.first.negated, patterns }
            } else if everywhere {
                Limit::Unless { conditions, on: None }
            } else {
                // A Deny applies only if both its resources and its conditions match; two separate limits would
                // overstate it.
                Limit::Unless { conditions, on: Some(DeniedOn { negated: seen.first.negated, patterns }) }
            });
        }
        answer.because.extend(
            self.lacking(stages)
                .into_iter()
                .filter(|lacking| !answer.because.iter().any(|known| known.policy == lacking.policy))
                .collect::<Vec<_>>(),
        );
        answer.because.sort();
        answer.because.dedup();
        answer
    }

    /// Parts of the targets that are not always granted, in few patterns.
    fn not_granted(&self, action: &str) -> Vec<NotGranted> {
        let mut found: Vec<NotGranted> = Vec::new();
        let mut whole: Vec<NotGranted> = Vec::new();
        let entry = |resource: &str, except: Vec<String>, only_if: Vec<String>, witness: &str| NotGranted {
            action: action.to_owned(),
            resource: resource.to_owned(),
            except,
            only_if,
            witness: witness.to_owned(),
        };
        for (index, target) in self.targets.iter().enumerate() {
            let here: Vec<&RegionOutcome> = self.outcomes.iter().filter(|outcome| outcome.target == index).collect();
            let Some(first) = here.first() else { continue };
            if here.iter().all(|outcome| outcome.allowed.most == Holds::Never) {
                whole.push(entry(target, Vec::new(), Vec::new(), &first.witness));
                continue;
            }
            for outcome in here.iter().filter(|outcome| outcome.allowed.least != Holds::Always) {
                let only_if = if outcome.allowed.most == Holds::Never { Vec::new() } else { outcome.only_if() };
                let biting = outcome.applying.iter().find(|applying| {
                    applying.effect == Effect::Deny && applying.holds == Holds::Always && !applying.negated
                });
                let new = match biting.and_then(|deny| deny.texts.first()) {
                    Some(text) if outcome.identity != Holds::Never => {
                        entry(text, Vec::new(), only_if, &outcome.witness)
                    }
                    _ => {
                        let granted = here.iter().filter(|other| other.allowed.least == Holds::Always);
                        let mut except: Vec<String> = granted
                            .flat_map(|other| &other.applying)
                            .filter(|applying| applying.effect == Effect::Allow && !applying.negated)
                            .flat_map(|applying| applying.texts.iter().cloned())
                            // A pattern that also matches here does not distinguish the two.
                            .filter(|text| !outcome.applying.iter().any(|here| here.texts.contains(text)))
                            .collect();
                        except.sort();
                        except.dedup();
                        entry(target, except, only_if, &outcome.witness)
                    }
                };
                let is_known = |known: &NotGranted| {
                    (&known.resource, &known.except, &known.only_if) == (&new.resource, &new.except, &new.only_if)
                };
                if !found.iter().any(is_known) {
                    found.push(new);
                }
            }
        }
        self.join_whole(action, whole, found)
    }

    /// Merges many resource types of which nothing is granted into one entry: everything except the granted patterns.
    fn join_whole(&self, action: &str, mut whole: Vec<NotGranted>, mut found: Vec<NotGranted>) -> Vec<NotGranted> {
        let Some(first) = whole.first().filter(|_| whole.len() > 3) else {
            whole.append(&mut found);
            return whole;
        };
        let mut except: Vec<String> = self
            .statements(Effect::Allow, |stage| stage == 0)
            .iter()
            .filter(|seen| !seen.first.negated)
            .flat_map(|seen| seen.texts.iter().map(|text| (*text).to_owned()))
            .filter(|_| whole.len() < self.targets.len())
            .collect();
        except.sort();
        except.dedup();
        let mut parts = split_arn(&first.resource).map(str::to_owned);
        if let Some(resource) = parts.last_mut() {
            "*".clone_into(resource);
        }
        let all = parts.join(":");
        let same = |other: &NotGranted| split_arn(&other.resource).iter().take(5).eq(parts.iter().take(5));
        let resource = if whole.iter().all(same) { all } else { "*".to_owned() };
        let joined = NotGranted {
            action: action.to_owned(),
            resource,
            except,
            only_if: Vec::new(),
            witness: first.witness.clone(),
        };
        found.insert(0, joined);
        found
    }
}

fn undecided(why: Vec<String>) -> Assessment {
    Assessment { undecided_by: why, ..Assessment::bare(Verdict::Undecided) }
}

/// A statement with the regions and patterns in which it applies.
struct SeenPairs<'a> {
    first: &'a Applying,
    /// Number of regions in which it always applies.
    always: usize,
    /// Its patterns that match somewhere; for `NotResource` the patterns that exclude something.
    texts: BTreeSet<&'a str>,
}

fn references<'s, 'a: 's>(seen: impl Iterator<Item = &'s SeenPairs<'a>>) -> Vec<StatementRef> {
    let mut references: Vec<StatementRef> = seen.map(|seen| seen.first.reference.clone()).collect();
    references.sort();
    references.dedup();
    references
}

/// Answer for a pattern, from the answers for the actions that it covers.
pub(super) fn combine_actions(each: Vec<Assessment>, covered: &[&Action]) -> Assessment {
    let has = |verdict: Verdict| each.iter().any(|one| one.verdict == verdict);
    let only = |verdict: Verdict| each.iter().all(|one| one.verdict == verdict);
    let verdict = [Verdict::Granted, Verdict::Missing, Verdict::Denied].into_iter().find(|verdict| only(*verdict));
    let verdict = verdict.unwrap_or(if has(Verdict::Undecided) { Verdict::Undecided } else { Verdict::Partial });
    let mut answer = Assessment::bare(verdict);
    if verdict == Verdict::Partial && has(Verdict::Granted) {
        let names = covered.iter().zip(&each).filter(|(_, one)| one.verdict == Verdict::Granted);
        answer.limits.push(Limit::Actions(names.map(|(action, _)| action.name.clone()).collect()));
    }
    for one in each {
        answer.because.extend(one.because);
        let new = one.limits.into_iter().filter(|limit| !answer.limits.contains(limit));
        answer.limits.extend(new.collect::<Vec<_>>());
        answer.not_granted.extend(one.not_granted);
        if verdict == Verdict::Undecided {
            answer.undecided_by.extend(one.undecided_by);
        }
    }
    answer.because.sort();
    answer.because.dedup();
    answer.undecided_by.sort();
    answer.undecided_by.dedup();
    answer
}
