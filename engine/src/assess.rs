//! Decides exactly what the holder of some policies may do with one action: over all resources that the action
//! supports, and under every value of the context that is not known.
//!
//! For every resource type of the action, [`automaton::explore`](super::automaton) splits the resources into regions by
//! the patterns that they match. Within a region only conditions can make a difference; those that the environment does
//! not settle become facts of a truth table ([`truth`](super::truth)). Each verdict is therefore a proof: granted means
//! granted in every region under every combination of facts, and any remainder is reported with a resource that shows
//! it.

use super::automaton::{self, Class, Language};
use super::catalogue::Catalogue;
use super::condition::Truth;
use super::dialect::Dialect;
use super::document::Effect;
use super::evaluate::{CompiledPolicy, CompiledStatement};
use super::pattern::{Match, ResourcePattern};
use super::truth::{Atom, Expression, Holds};

mod answer;
mod asked;
mod assessment;
mod decide;
mod judge;
mod limit;
mod policy_set;
mod question;
mod scope;
mod tracked;
mod witness;
mod work;

pub(super) use tracked::EquivalentActions;
use tracked::{Bit, Tracked, bit, is_wide, match_action, terms};

use answer::{Answers, combine_actions};
use asked::{Requested, RequestedInRegion, RequestedResource};
use judge::{Active, RegionQuestion, judge};
use scope::{ActionScope, Kinds, ResourceTarget};
use witness::{readable, sample};
use work::Work;

pub use assessment::{Assessment, NotGranted, StatementRef, Verdict};
pub use decide::{Decided, MatchedStatement};
pub use limit::{DeniedOn, Limit, OpenCondition};
pub use policy_set::{NamedDocument, PolicySet, Stage, StageKind, control_levels};
pub use question::{Environment, Question};
pub(crate) use scope::CREDENTIAL_KEYS;

/// One pattern of a statement's resources.
struct ResourceTerm {
    text: String,
    language: Language,
    /// Set if the pattern may not match this widely.
    uncertainty: Option<Atom>,
}

/// A statement prepared for questions over all resources.
struct Prepared {
    /// Index among the statements of all stages.
    position: usize,
    stage: usize,
    /// The resource group to which the statement is confined; `None` if it applies everywhere.
    resource_group: Option<String>,
    reference: StatementRef,
    compiled: CompiledStatement,
    terms: Vec<ResourceTerm>,
}

/// Policies of a principal, prepared for questions.
pub struct PreparedPolicies {
    statements: Vec<Prepared>,
    /// Layers that must each allow, with their names: identity policies first.
    stages: Vec<(String, StageKind)>,
    /// Language of the first policy; `None` without policies.
    dialect: Option<&'static Dialect>,
    /// True if every policy is in a language that defines the result of a condition on an absent key.
    absent_keys_decide: bool,
}

impl std::fmt::Debug for PreparedPolicies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedPolicies").field("stages", &self.stages).finish_non_exhaustive()
    }
}

impl PreparedPolicies {
    /// Prepares the policies of a principal.
    #[must_use]
    pub fn new(set: &PolicySet) -> Self {
        let dialects = || set.stages.iter().flat_map(|stage| &stage.policies).map(|named| named.document.dialect);
        let mut prepared = Self {
            statements: Vec::new(),
            stages: Vec::with_capacity(set.stages.len()),
            dialect: dialects().next(),
            absent_keys_decide: dialects().all(|dialect| dialect.absent_keys_decide),
        };
        for (at, stage) in set.stages.iter().enumerate() {
            prepared.stages.push((stage.name(), stage.kind));
            for named in &stage.policies {
                prepared.add(at, stage.resource_group.as_deref(), named);
            }
        }
        prepared
    }

    fn add(&mut self, stage: usize, resource_group: Option<&str>, named: &NamedDocument) {
        let compiled = CompiledPolicy::new(&named.document);
        let dialect = named.document.dialect;
        for (statement, compiled) in named.document.statements.iter().zip(compiled.statements) {
            let texts = statement.resource.as_ref().map(|resource| resource.patterns.as_slice()).unwrap_or_default();
            let patterns = compiled.resources.as_deref().unwrap_or_default();
            let terms = texts.iter().zip(patterns).flat_map(|(text, pattern)| terms(text, pattern, dialect)).collect();
            let reference = StatementRef { policy: named.name.clone(), statement: Some(statement.index) };
            let position = self.statements.len();
            let resource_group = resource_group.map(str::to_owned);
            self.statements.push(Prepared { position, stage, resource_group, reference, compiled, terms });
        }
    }

    fn kinds(&self) -> Vec<StageKind> {
        self.stages.iter().map(|(_, kind)| *kind).collect()
    }

    /// True if an Allow of the identity policies matches an action (lower-case).
    pub(super) fn mentions(&self, folded: &str) -> bool {
        self.statements.iter().any(|statement| {
            self.stages.get(statement.stage).is_some_and(|(_, kind)| kind.is_identity())
                && statement.compiled.effect == Effect::Allow
                && !statement.compiled.is_placeholder
                && statement.compiled.matches_action(folded) != Match::No
        })
    }

    /// True if anything other than the identity policies' Allows decides an action (lower-case): a Deny, a boundary, a
    /// control policy, or a condition or resource that may make an Allow void.
    pub(super) fn is_limited(&self, folded: &str) -> bool {
        if self.stages.len() > 1 {
            return true;
        }
        let mut plain = false;
        for statement in &self.statements {
            let spoken = match_action(&statement.compiled, folded);
            if spoken == Match::No {
                continue;
            }
            if statement.compiled.effect == Effect::Deny {
                return true;
            }
            plain |= spoken == Match::Yes
                && statement.compiled.conditions.is_empty()
                && statement.compiled.guards.is_empty()
                && statement.compiled.resources.as_ref().is_none_or(|patterns| {
                    !statement.compiled.not_resource && patterns.contains(&ResourcePattern::Everything)
                });
        }
        !plain
    }

    /// Answers a question. The answer depends on nothing but the arguments: each question has its own budget of work,
    /// and is undecided if that does not suffice.
    #[must_use]
    pub fn assess(&self, question: Question<'_>, environment: &Environment, catalogue: &Catalogue) -> Assessment {
        let folded = question.action.to_lowercase();
        if !folded.contains(['*', '?']) {
            let spelt = catalogue.action(&folded).map_or(question.action, |(_, action)| action.name.as_str());
            return self.assess_one(spelt, &folded, question, environment, catalogue, &mut Work::for_actions(1));
        }
        let covered = catalogue.expand(&folded);
        if covered.is_empty() || covered.len() > 2_000 {
            // The catalogue has no action for the pattern, or it covers nearly everything: assess the pattern itself.
            return self.assess_one(question.action, &folded, question, environment, catalogue, &mut Work::whole());
        }
        let mut work = Work::for_actions(covered.len());
        let each = covered
            .iter()
            .map(|action| self.assess_one(&action.name, &action.folded, question, environment, catalogue, &mut work));
        combine_actions(each.collect(), &covered)
    }

    /// True if an action of the catalogue (lower-case) may be granted on some resource.
    pub(super) fn may_grant(
        &self,
        folded: &str,
        environment: &Environment,
        catalogue: &Catalogue,
        alike: &mut EquivalentActions,
    ) -> bool {
        let scope = ActionScope { folded, known: catalogue.action(folded), environment, dialect: catalogue.dialect };
        if scope.known.is_none() {
            let verdict = self.assess(Question::on(folded, &[]), environment, catalogue).verdict;
            return !matches!(verdict, Verdict::Missing | Verdict::Denied);
        }
        let spoken = self.statements.iter().map(|statement| match_action(&statement.compiled, folded)).enumerate();
        let spoken: Vec<(usize, Match)> = spoken.filter(|(_, spoken)| *spoken != Match::No).collect();
        let relevant: Vec<(&Prepared, Match)> =
            spoken.iter().filter_map(|(at, spoken)| Some((self.statements.get(*at)?, *spoken))).collect();
        let conditions = relevant.iter().flat_map(|(statement, _)| &statement.compiled.conditions);
        let absent = conditions.map(|condition| scope.is_absent(&condition.key)).collect();
        let service = folded.split(':').next().unwrap_or_default();
        let is_global = scope::only_region(service, &environment.partition).is_some();
        let service = if service == "sts" || is_global { service } else { "" };
        let region = environment.regions.first().map(String::as_str);
        let signature = (service.to_owned(), spoken, scope.target_texts(region, Kinds::All), absent);
        let EquivalentActions { known, work } = alike;
        *known.entry(signature).or_insert_with(|| self.may_grant_somewhere(&scope, &relevant, work))
    }

    /// Same as `may_grant`, without the cache; stops at the first resource on which the action may be granted.
    fn may_grant_somewhere(&self, scope: &ActionScope<'_>, relevant: &[(&Prepared, Match)], work: &mut Work) -> bool {
        scope.regions().into_iter().any(|region| {
            let active = Self::active(relevant, scope, region);
            scope.targets(region, Kinds::All).iter().any(|target| {
                let mut answer = Answers::default();
                let requested = RequestedInRegion { region, ..RequestedInRegion::default() };
                self.assess_target(target, requested, &active, scope, work, &mut answer);
                answer.undecided || answer.outcomes.iter().any(|outcome| outcome.allowed.most != Holds::Never)
            })
        })
    }

    fn assess_one(
        &self,
        spelt: &str,
        folded: &str,
        question: Question<'_>,
        environment: &Environment,
        catalogue: &Catalogue,
        work: &mut Work,
    ) -> Assessment {
        let resources = question.resources;
        let spoken = self.statements.iter().map(|statement| (statement, match_action(&statement.compiled, folded)));
        let relevant: Vec<(&Prepared, Match)> = spoken.filter(|(_, spoken)| *spoken != Match::No).collect();
        let known = catalogue.action(folded);
        let scope = ActionScope { folded, known, environment, dialect: catalogue.dialect };
        let asked: Vec<RequestedResource> = resources
            .iter()
            .enumerate()
            .filter_map(|(at, text)| {
                let has_variables = catalogue.dialect.has_variables && text.contains("${");
                let pattern = ResourcePattern::read(text, catalogue.dialect, has_variables);
                let language = Language::from_resource(&pattern)?;
                let is_everything = text.chars().all(|character| character == '*');
                Some(RequestedResource {
                    language,
                    is_everything,
                    uncertainty: is_wide(&pattern).then(|| Atom::Wide(text.clone())),
                    conditions: question.conditions.get(at).map_or(&[], Vec::as_slice),
                })
            })
            .collect();
        let mut answer = Answers::default();
        let denies = question.except.map(|except| except.denies(folded)).unwrap_or_default();
        for region in scope.regions() {
            self.assess_region(
                &scope,
                region,
                Requested { resources: &asked, denies: &denies },
                &relevant,
                work,
                &mut answer,
            );
        }
        if answer.outcomes.is_empty() && !answer.undecided && !denies.is_empty() {
            // The policies that ask for it deny all of it themselves.
            return Assessment::bare(Verdict::Granted);
        }
        if answer.outcomes.is_empty() && !answer.undecided {
            // None of the resources in question is one that the action supports: assess them as given.
            let everything = Self::active(&relevant, &scope, None);
            for text in resources {
                self.assess_target(
                    &ResourceTarget::new(text.clone(), catalogue.dialect),
                    RequestedInRegion::default(),
                    &everything,
                    &scope,
                    work,
                    &mut answer,
                );
            }
        }
        answer.finish(spelt, &self.stages)
    }

    /// Statements whose conditions are not known to be false.
    fn active<'p>(
        relevant: &[(&'p Prepared, Match)],
        scope: &ActionScope<'_>,
        region: Option<&str>,
    ) -> Vec<Active<'p>> {
        let context = scope.context(region);
        let mut active: Vec<Active<'_>> = Vec::new();
        for (prepared, spoken) in relevant {
            let mut open = Vec::new();
            let mut applies = true;
            for condition in &prepared.compiled.conditions {
                match condition.truth(&context, |key| scope.is_absent(key)) {
                    Truth::True => {}
                    Truth::False => applies = false,
                    Truth::Unknown => open.push(condition),
                }
            }
            if applies {
                let mut all: Vec<Expression> = open.iter().map(|one| Expression::from_condition(one)).collect();
                all.extend(prepared.compiled.guards.iter().map(Expression::from_guard));
                let of_key = open.iter().map(|one| OpenCondition {
                    text: one.description.clone(),
                    negated: false,
                    key: Some(one.key.clone()),
                });
                let of_deployment = prepared.compiled.guards.iter().map(|guard| OpenCondition {
                    text: guard.decision.clone(),
                    negated: !guard.holds,
                    key: None,
                });
                let mut conditions: Vec<OpenCondition> = of_key.chain(of_deployment).collect();
                if let Some(group) = &prepared.resource_group {
                    let text = format!("the resource is in the resource group {group}");
                    conditions.push(OpenCondition { text: text.clone(), negated: false, key: None });
                    all.push(Expression::Atom(Atom::Opaque(text)));
                }
                if *spoken == Match::Open {
                    let decision = format!(
                        "statement {} of {} matches it",
                        prepared.compiled.index + 1,
                        prepared.reference.policy
                    );
                    conditions.push(OpenCondition { text: decision.clone(), negated: false, key: None });
                    all.push(Expression::Atom(Atom::MatchesAction(prepared.position, decision)));
                }
                let expression = Expression::All(all);
                active.push(Active { prepared, expression, conditions });
            }
        }
        active
    }

    fn assess_region(
        &self,
        scope: &ActionScope<'_>,
        region: Option<&str>,
        meant: Requested<'_>,
        relevant: &[(&Prepared, Match)],
        work: &mut Work,
        answer: &mut Answers,
    ) {
        let active = Self::active(relevant, scope, region);
        let denies = Self::active(meant.denies, scope, region);
        // A question about everything concerns what every request names; a kind that is named is included.
        let kinds = if meant.resources.iter().all(|one| one.is_everything) { Kinds::Required } else { Kinds::All };
        for target in scope.targets(region, kinds) {
            self.assess_target(
                &target,
                RequestedInRegion { region, resources: meant.resources, denies: &denies },
                &active,
                scope,
                work,
                answer,
            );
        }
    }

    /// Statements that deny an action (lower-case).
    fn denies(&self, folded: &str) -> Vec<(&Prepared, Match)> {
        let spoken = self.statements.iter().map(|statement| (statement, match_action(&statement.compiled, folded)));
        spoken.filter(|(statement, spoken)| *spoken != Match::No && statement.compiled.effect == Effect::Deny).collect()
    }

    fn assess_target(
        &self,
        target: &ResourceTarget,
        RequestedInRegion { region, resources: asked, denies }: RequestedInRegion<'_>,
        active: &[Active<'_>],
        scope: &ActionScope<'_>,
        work: &mut Work,
        answer: &mut Answers,
    ) {
        let terms = active.iter().chain(denies).map(|each| each.prepared.terms.len()).sum::<usize>() + active.len();
        if answer.undecided || !work.spend(terms) {
            answer.undecided = true;
            return;
        }
        // Tracks each pattern once; one that matches all or nothing of the target needs no automaton.
        let mut tracked = Tracked::default();
        let mut asked_bits = Vec::with_capacity(asked.len());
        let mut bits: Vec<Vec<Bit>> = Vec::with_capacity(active.len());
        let context = scope.context(region);
        for one in asked {
            asked_bits.push((bit(target, &one.language, &mut tracked), one.expression(&context, scope)));
        }
        for each in active.iter().chain(denies) {
            let terms = each.prepared.terms.iter();
            bits.push(terms.map(|term| bit(target, &term.language, &mut tracked)).collect());
        }
        let regions = match &target.universe {
            Some(universe) if !tracked.languages.is_empty() => {
                let Some(regions) = automaton::explore(universe, &tracked.languages, &mut work.left) else {
                    answer.undecided = true;
                    return;
                };
                regions
            }
            _ => vec![Class { matches: Vec::new(), witness: sample(&target.text, scope.dialect) }],
        };
        let open: Vec<Expression> = denies.iter().flat_map(Active::open).collect();
        let facts = work.facts.get_or_build(
            active,
            &asked_bits.iter().map(|(_, expression)| expression).chain(&open).collect::<Vec<_>>(),
        );
        // Checking one combination of facts costs a fraction of an automaton step.
        let cost = regions.len() * (terms + active.len() * facts.as_ref().map_or(1, |facts| facts.combinations())) / 8;
        if !work.spend(cost) {
            answer.undecided = true;
            return;
        }
        let index = answer.targets.len();
        answer.targets.push(target.text.clone());
        for region in regions {
            let is = |bit: &Bit| match bit {
                Bit::Fixed(value) => *value,
                Bit::Tracked(at) => region.matches.get(*at).copied().unwrap_or(false),
            };
            let meant: Vec<Expression> =
                asked_bits.iter().filter(|(bit, _)| is(bit)).map(|(_, expression)| expression.clone()).collect();
            if !asked.is_empty() && meant.is_empty() {
                continue;
            }
            let mut meant = if asked.is_empty() { Expression::True } else { Expression::Any(meant) };
            let witness = match &target.universe {
                Some(universe) => readable(&region, universe, &tracked.languages, scope.dialect),
                None => region.witness.clone(),
            };
            let mut matches: Vec<Vec<bool>> = bits.iter().map(|terms| terms.iter().map(is).collect()).collect();
            let of_denies = matches.split_off(active.len());
            if !denies.is_empty() {
                let each = denies.iter().zip(&of_denies).map(|(deny, matched)| deny.applies(matched));
                meant = Expression::All(vec![meant, Expression::Not(Box::new(Expression::Any(each.collect())))]);
            }
            let asked = RegionQuestion { target: index, witness, requested: meant };
            answer.outcomes.extend(judge(asked, &matches, active, facts.as_deref(), &self.kinds()));
        }
    }
}

#[cfg(test)]
mod tests;
