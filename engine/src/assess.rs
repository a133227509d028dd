//! What the holder of some policies may do with one action, over everything the action can be done on: exactly, for all
//! resources, and under what is not known of the requests.
//!
//! For every resource type of the action, [`automaton::explore`](super::automaton) splits the resources into regions by
//! the patterns that they match. Within a region only conditions can make a difference; those that the environment does
//! not settle become facts of a truth table ([`truth`](super::truth)). So each verdict is a proof: granted is on every
//! region under every combination of facts, and what is left over is named with a resource that shows it.

use std::cell::Cell;
use std::collections::HashMap;

use super::automaton::{self, Language, Region, Relation};
use super::catalogue::{Action, Catalogue, Service};
use super::condition::{Compiled, Context, ContextValue, Truth};
use super::document::{Condition, Document, Effect};
use super::evaluate::{CompiledPolicy, CompiledStatement};
use super::glob;
use super::pattern::{ActionPattern, Match, Part, ResourcePattern};
use super::text::Text;
use super::truth::{Atom, Expression, Holds};

mod answer;
mod judge;
mod limit;
mod witness;

use answer::{Answer, together};
use judge::{Active, Asking, LastFacts, judge};
pub use limit::{DeniedOn, LayerKind, Limit, OpenCondition};
use witness::{readable, sample};

/// A document with the name it is reported under.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedDocument {
    /// Policy name or ARN.
    pub name: String,
    /// Its content.
    pub document: Document,
}

/// The policies of one principal.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// Inline and attached policies: any of them grants.
    pub identity: Vec<NamedDocument>,
    /// Permissions boundary: must grant too, and never grants by itself.
    pub boundary: Option<NamedDocument>,
    /// Service control policies, level by level: on each level one must grant too.
    pub scps: Vec<Vec<NamedDocument>>,
}

/// What is known of the requests that matter.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Partition of the account, such as `aws-cn`; any when empty.
    pub partition: String,
    /// Account whose resources are meant; any when empty.
    pub account_id: String,
    /// Regions whose resources are meant; any when empty.
    pub regions: Vec<String>,
    /// Context keys with a value known for every one of these requests.
    pub context: Context,
    /// Keys (lower-case) that none of these requests carries.
    pub absent: Vec<String>,
    /// Whether resources that are not of the service, in the account and region, are left out where the action has some that
    /// are: images belong to no account, address pools to no region.
    pub is_home_only: bool,
}

/// A statement, by policy name and position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct StatementRef {
    /// Policy name or ARN.
    pub policy: String,
    /// Zero-based position; absent when the policy decides by what it lacks, as a boundary does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<usize>,
}

/// The answer for one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// On every resource, under no condition.
    Granted,
    /// On some resources, or under conditions.
    Partial,
    /// Taken away by a Deny, a boundary or a control policy: adding an Allow cannot help.
    Denied,
    /// No statement grants it.
    Missing,
    /// It depends on what is known only when a template is deployed, or the patterns are too many or too intricate to decide
    /// within bounds.
    Undecided,
}

impl Verdict {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Partial => "partial",
            Self::Denied => "denied",
            Self::Missing => "missing",
            Self::Undecided => "undecided",
        }
    }
}

/// A part of what was asked for that is not granted, or only under conditions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct NotGranted {
    /// The action, where more than one was asked for.
    pub action: String,
    /// Resources, as a pattern.
    pub resource: String,
    /// Patterns that are not part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Conditions under which it is granted; never when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<String>,
    /// A resource that shows it.
    #[serde(rename = "example_resource")]
    pub witness: String,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// The answer.
    pub verdict: Verdict,
    /// The statements that decided it.
    pub because: Vec<StatementRef>,
    /// What it is limited to; empty when not limited.
    pub limits: Vec<Limit>,
    /// What is not granted of what was asked for.
    pub not_granted: Vec<NotGranted>,
    /// Why it is undecided; empty for every other verdict.
    pub undecided_by: Vec<String>,
}

impl Assessment {
    /// Resource patterns it is limited to, for a person (`not …` for excluded ones); empty when not limited.
    #[must_use]
    pub fn only_on(&self) -> Vec<String> {
        self.describe_limits(Limit::is_of_resources)
    }

    /// Conditions it is limited to, for a person; empty when not limited.
    #[must_use]
    pub fn only_if(&self) -> Vec<String> {
        self.describe_limits(|limit| !limit.is_of_resources())
    }

    /// Some of the limits for a person, in order and each once.
    #[must_use]
    pub fn describe_limits(&self, is_wanted: impl Fn(&Limit) -> bool) -> Vec<String> {
        let limits = self.limits.iter().filter(|limit| is_wanted(limit));
        let mut texts: Vec<String> = limits.map(Limit::describe).filter(|text| !text.is_empty()).collect();
        texts.sort();
        texts.dedup();
        texts
    }

    fn bare(verdict: Verdict) -> Self {
        Self { verdict, because: Vec::new(), limits: Vec::new(), not_granted: Vec::new(), undecided_by: Vec::new() }
    }
}

/// One pattern of a statement's resources.
struct ResourceTerm {
    text: String,
    language: Language,
    /// Set when it is not certain that the pattern matches this widely.
    doubt: Option<Atom>,
}

/// A statement, ready for questions over all resources.
struct Prepared {
    /// Among the statements of all layers.
    position: usize,
    layer: usize,
    reference: StatementRef,
    compiled: CompiledStatement,
    terms: Vec<ResourceTerm>,
}

/// The policies of a principal, ready for questions.
pub struct PreparedPolicies {
    statements: Vec<Prepared>,
    /// Layers that must each allow, with what they are called: identity policies first.
    layers: Vec<(String, LayerKind)>,
    /// Work that automata may still do, over all questions: hostile policies end undecided, not in minutes.
    work_left: Cell<usize>,
    last_facts: LastFacts,
}

impl std::fmt::Debug for PreparedPolicies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedPolicies").field("layers", &self.layers).finish_non_exhaustive()
    }
}

/// Work that automata may do for one principal: forty times what the hardest question may take, or about a second.
const ALL_WORK: usize = 40 * automaton::BUDGET;

/// What is asked for: an action, on which resources.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    /// An action, or a pattern of which everything is meant.
    pub action: &'q str,
    /// The resources that are meant; all that the action can be done on when empty.
    pub resources: &'q [String],
    /// For each of the resources the conditions that the requests which are meant fulfil; none when empty.
    pub conditions: &'q [Vec<Condition>],
}

impl<'q> Question<'q> {
    /// Every request for an action on some resources; on all that it can be done on when there are none.
    #[must_use]
    pub fn on(action: &'q str, resources: &'q [String]) -> Self {
        Self { action, resources, conditions: &[] }
    }
}

impl PreparedPolicies {
    /// Prepares the policies of a principal.
    #[must_use]
    pub fn new(layer: &Layer) -> Self {
        let mut prepared = Self {
            statements: Vec::new(),
            layers: vec![(String::new(), LayerKind::Identity)],
            work_left: Cell::new(ALL_WORK),
            last_facts: LastFacts::default(),
        };
        for named in &layer.identity {
            prepared.add(0, named);
        }
        if let Some(boundary) = &layer.boundary {
            prepared.layers.push((boundary.name.clone(), LayerKind::Boundary));
            prepared.add(1, boundary);
        }
        for level in &layer.scps {
            let at = prepared.layers.len();
            let names: Vec<&str> = level.iter().map(|named| named.name.as_str()).collect();
            prepared.layers.push((names.join("+"), LayerKind::ControlPolicy));
            for named in level {
                prepared.add(at, named);
            }
        }
        prepared
    }

    fn add(&mut self, layer: usize, named: &NamedDocument) {
        let compiled = CompiledPolicy::new(&named.document);
        for (statement, compiled) in named.document.statements.iter().zip(compiled.statements) {
            let texts = statement.resource.as_ref().map(|resource| resource.patterns.as_slice()).unwrap_or_default();
            let patterns = compiled.resources.as_deref().unwrap_or_default();
            let terms = texts.iter().zip(patterns).flat_map(|(text, pattern)| terms(text, pattern)).collect();
            let reference = StatementRef { policy: named.name.clone(), statement: Some(statement.index) };
            let position = self.statements.len();
            self.statements.push(Prepared { position, layer, reference, compiled, terms });
        }
    }

    /// Whether an Allow of the identity policies speaks of an action (lower-case).
    pub(super) fn mentions(&self, folded: &str) -> bool {
        self.statements.iter().any(|statement| {
            statement.layer == 0
                && statement.compiled.effect == Effect::Allow
                && !statement.compiled.is_stand_in
                && statement.compiled.speaks_of(folded) != Match::No
        })
    }

    /// Whether something beside the identity policies' Allows decides about an action (lower-case): a Deny, a boundary, a
    /// control policy, or a condition or resource that may make an Allow void.
    pub(super) fn is_limited(&self, folded: &str) -> bool {
        if self.layers.len() > 1 {
            return true;
        }
        let mut plain = false;
        for statement in &self.statements {
            let spoken = speaks_of(&statement.compiled, folded);
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

    /// Answers a question.
    #[must_use]
    pub fn assess(&self, question: Question<'_>, environment: &Environment, catalogue: &Catalogue) -> Assessment {
        let folded = question.action.to_lowercase();
        if !folded.contains(['*', '?']) {
            let spelt = catalogue.action(&folded).map_or(question.action, |(_, action)| action.name.as_str());
            return self.assess_one(spelt, &folded, question, environment, catalogue);
        }
        let covered = catalogue.expand(&folded);
        if covered.is_empty() || covered.len() > 2_000 {
            // Nothing is known of what it covers, or it is as good as everything: the pattern itself is asked for.
            return self.assess_one(question.action, &folded, question, environment, catalogue);
        }
        let each = covered
            .iter()
            .map(|action| self.assess_one(&action.name, &action.folded, question, environment, catalogue));
        together(each.collect(), &covered)
    }

    /// Whether an action of the catalogue (lower-case) may be granted on something.
    pub(super) fn may_grant(
        &self,
        folded: &str,
        environment: &Environment,
        catalogue: &Catalogue,
        alike: &mut Alike,
    ) -> bool {
        let scope = Scope { folded, known: catalogue.action(folded), environment };
        if scope.known.is_none() {
            let verdict = self.assess(Question::on(folded, &[]), environment, catalogue).verdict;
            return !matches!(verdict, Verdict::Missing | Verdict::Denied);
        }
        let spoken = self.statements.iter().map(|statement| speaks_of(&statement.compiled, folded)).enumerate();
        let spoken: Vec<(usize, Match)> = spoken.filter(|(_, spoken)| *spoken != Match::No).collect();
        let relevant: Vec<(&Prepared, Match)> =
            spoken.iter().filter_map(|(at, spoken)| Some((self.statements.get(*at)?, *spoken))).collect();
        let conditions = relevant.iter().flat_map(|(statement, _)| &statement.compiled.conditions);
        let absent = conditions.map(|condition| scope.is_absent(&condition.key)).collect();
        let service = folded.split(':').next().unwrap_or_default();
        let service = if service == "sts" || GLOBAL_SERVICES.contains(&service) { service } else { "" };
        let region = environment.regions.first().map(String::as_str);
        let signature = (service.to_owned(), spoken, scope.target_texts(region), absent);
        *alike.known.entry(signature).or_insert_with(|| self.may_grant_somewhere(&scope, &relevant))
    }

    /// The same without memory; the first resource that it may be granted on is enough.
    fn may_grant_somewhere(&self, scope: &Scope<'_>, relevant: &[(&Prepared, Match)]) -> bool {
        scope.regions().into_iter().any(|region| {
            let active = Self::active(relevant, scope, region);
            scope.targets(region).iter().any(|target| {
                let mut answer = Answer::default();
                self.assess_target(target, &[], &active, scope, region, &mut answer);
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
    ) -> Assessment {
        let resources = question.resources;
        let spoken = self.statements.iter().map(|statement| (statement, speaks_of(&statement.compiled, folded)));
        let relevant: Vec<(&Prepared, Match)> = spoken.filter(|(_, spoken)| *spoken != Match::No).collect();
        let known = catalogue.action(folded);
        let scope = Scope { folded, known, environment };
        let asked: Vec<Asked> = resources
            .iter()
            .enumerate()
            .filter_map(|(at, text)| {
                let language = Language::of_resource(&ResourcePattern::new(text, false))?;
                Some(Asked { language, conditions: question.conditions.get(at).map_or(&[], Vec::as_slice) })
            })
            .collect();
        let mut answer = Answer::default();
        for region in scope.regions() {
            self.assess_region(&scope, region, &asked, &relevant, &mut answer);
        }
        if answer.outcomes.is_empty() && !answer.undecided {
            // The resources that are meant are none that the action can be done on: they are taken at their word.
            let everything = Self::active(&relevant, &scope, None);
            for text in resources {
                self.assess_target(&Target::new(text.clone()), &[], &everything, &scope, None, &mut answer);
            }
        }
        answer.finish(spelt, &self.layers)
    }

    /// The statements whose conditions are not known to be false.
    fn active<'p>(relevant: &[(&'p Prepared, Match)], scope: &Scope<'_>, region: Option<&str>) -> Vec<Active<'p>> {
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
                let mut all: Vec<Expression> = open.iter().map(|one| Expression::of_condition(one)).collect();
                all.extend(prepared.compiled.guards.iter().map(Expression::of_guard));
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
                if *spoken == Match::Open {
                    let decision =
                        format!("statement {} of {} speaks of it", prepared.compiled.index, prepared.reference.policy);
                    conditions.push(OpenCondition { text: decision.clone(), negated: false, key: None });
                    all.push(Expression::Atom(Atom::Speaks(prepared.position, decision)));
                }
                let expression = Expression::All(all);
                active.push(Active { prepared, expression, conditions });
            }
        }
        active
    }

    fn assess_region(
        &self,
        scope: &Scope<'_>,
        region: Option<&str>,
        asked: &[Asked<'_>],
        relevant: &[(&Prepared, Match)],
        answer: &mut Answer,
    ) {
        let active = Self::active(relevant, scope, region);
        for target in scope.targets(region) {
            self.assess_target(&target, asked, &active, scope, region, answer);
        }
    }

    fn assess_target(
        &self,
        target: &Target,
        asked: &[Asked<'_>],
        active: &[Active<'_>],
        scope: &Scope<'_>,
        region: Option<&str>,
        answer: &mut Answer,
    ) {
        let terms = active.iter().map(|each| each.prepared.terms.len()).sum::<usize>() + active.len();
        if answer.undecided || terms > self.work_left.get() {
            answer.undecided = true;
            return;
        }
        self.work_left.set(self.work_left.get() - terms);
        // Each pattern once; one that matches all or nothing of the target needs no automaton.
        let mut tracked = Tracked::default();
        let mut asked_bits = Vec::with_capacity(asked.len());
        let mut bits: Vec<Vec<Bit>> = Vec::with_capacity(active.len());
        let context = scope.context(region);
        for one in asked {
            asked_bits.push((bit(target, &one.language, &mut tracked), one.expression(&context, scope)));
        }
        for each in active {
            let terms = each.prepared.terms.iter();
            bits.push(terms.map(|term| bit(target, &term.language, &mut tracked)).collect());
        }
        let regions = match &target.universe {
            Some(universe) if !tracked.languages.is_empty() => {
                let mut budget = self.work_left.get();
                let explored = automaton::explore(universe, &tracked.languages, &mut budget);
                self.work_left.set(budget);
                let Some(regions) = explored else {
                    answer.undecided = true;
                    return;
                };
                regions
            }
            _ => vec![Region { matches: Vec::new(), witness: sample(&target.text) }],
        };
        let facts =
            self.last_facts.of(active, &asked_bits.iter().map(|(_, expression)| expression).collect::<Vec<_>>());
        // A look at one combination of facts costs a fraction of a step of an automaton.
        let cost = regions.len() * (terms + active.len() * facts.as_ref().map_or(1, |facts| facts.combinations())) / 8;
        if cost > self.work_left.get() {
            answer.undecided = true;
            return;
        }
        self.work_left.set(self.work_left.get() - cost);
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
            let meant = if asked.is_empty() { Expression::True } else { Expression::Any(meant) };
            let witness = match &target.universe {
                Some(universe) => readable(&region, universe, &tracked.languages),
                None => region.witness.clone(),
            };
            let matches: Vec<Vec<bool>> = bits.iter().map(|terms| terms.iter().map(is).collect()).collect();
            let asked = Asking { target: index, witness, meant };
            answer.outcomes.extend(judge(asked, &matches, active, facts.as_deref(), self.layers.len()));
        }
    }
}

/// What was found for actions that nothing tells apart: the same statements speak of them, they are done on the same resources,
/// in the same region, and lack the same keys.
#[derive(Default)]
pub(super) struct Alike {
    known: HashMap<(String, Vec<(usize, Match)>, Vec<String>, Vec<bool>), bool>,
}

/// Resources that are asked for, with what the requests that are meant fulfil.
struct Asked<'q> {
    language: Language,
    conditions: &'q [Condition],
}

impl Asked<'_> {
    fn expression(&self, context: &Context, scope: &Scope<'_>) -> Expression {
        let compiled = self.conditions.iter().filter_map(|condition| Compiled::new(condition, true));
        let each = compiled.map(|condition| match condition.truth(context, |key| scope.is_absent(key)) {
            Truth::True => Expression::True,
            Truth::False => Expression::False,
            Truth::Unknown => Expression::of_condition(&condition),
        });
        Expression::All(each.collect())
    }
}

/// Whether a pattern matches, in every region the same or by region.
enum Bit {
    Fixed(bool),
    Tracked(usize),
}

/// The patterns that match a part of a target, each once.
#[derive(Default)]
struct Tracked<'l> {
    languages: Vec<&'l Language>,
    places: HashMap<&'l Language, usize>,
}

fn bit<'l>(target: &Target, language: &'l Language, tracked: &mut Tracked<'l>) -> Bit {
    let Some(universe) = &target.universe else {
        // A request that names no resource is matched by asterisks only.
        return Bit::Fixed(*language == Language::everything());
    };
    match automaton::relation(universe, language) {
        Relation::Covers => Bit::Fixed(true),
        Relation::Disjoint => Bit::Fixed(false),
        Relation::Overlaps => {
            let next = tracked.languages.len();
            let place = *tracked.places.entry(language).or_insert(next);
            if place == next {
                tracked.languages.push(language);
            }
            Bit::Tracked(place)
        }
    }
}

/// A pattern of a statement as a language; where its reading is open, beside it as widely as it may be meant, in doubt.
fn terms(text: &Text, pattern: &ResourcePattern) -> Vec<ResourceTerm> {
    let has_variable = matches!(pattern, ResourcePattern::Arn(parts)
        if parts.iter().any(|part| matches!(part, Part::Pieces(_))));
    let doubt = || Atom::Wide(text.to_string());
    let term = |language, doubt| ResourceTerm { text: text.to_string(), language, doubt };
    if let ResourcePattern::Open(open) = pattern {
        let deployed = || Some(Atom::Deployed(format!("`{text}` matches")));
        return Language::widest(open).into_iter().map(|language| term(language, deployed())).collect();
    }
    let mut found = Vec::new();
    if let Some(language) = Language::of_resource(pattern) {
        found.push(term(language, has_variable.then(doubt)));
    }
    // `arn:aws:ec2:*:instance/*` matches nothing part by part, and everything meant if `*` may cross colons at the end of
    // a part, as newer text of the IAM User Guide has it.
    let colons = text.matches(':').count();
    if text.starts_with("arn:") && colons < 5 && text.trim_end_matches('*').contains('*') {
        found.push(term(Language::spanning(text), Some(doubt())));
    }
    found
}

/// Whether a statement speaks of an action, or of all that a pattern covers. What an Allow covers in part it does not
/// grant; what a Deny covers in part it takes away.
fn speaks_of(statement: &CompiledStatement, action: &str) -> Match {
    if !action.contains(['*', '?']) {
        return statement.speaks_of(action);
    }
    let by = |glob: &dyn Fn(&str) -> bool, pattern: &ActionPattern| match pattern {
        ActionPattern::Open(widest) if glob::intersects(widest, action) => Match::Open,
        known => known.as_glob().is_some_and(|text| glob(&text)).into(),
    };
    let any = |test: &dyn Fn(&str) -> bool| Match::any(statement.actions.iter().map(|pattern| by(test, pattern)));
    let covers = |glob: &str| glob::contains(glob, action);
    let touches = |glob: &str| glob::intersects(glob, action);
    match (statement.effect, statement.not_action) {
        (Effect::Allow, false) => any(&covers),
        (Effect::Allow, true) => any(&touches).not(),
        (Effect::Deny, false) => any(&touches),
        (Effect::Deny, true) => any(&covers).not(),
    }
}

/// Services with one endpoint for a partition. Source: IAM User Guide, "aws:RequestedRegion".
const GLOBAL_SERVICES: &[&str] = &["cloudfront", "iam", "organizations", "route53", "support"];

/// Keys that come with the credentials of an instance, whatever the action is. Source: IAM User Guide, "ec2:SourceInstanceARN".
pub(super) const OF_CREDENTIALS: &[&str] = &["ec2:roledelivery", "ec2:sourceinstancearn"];

/// What one action is asked for on.
struct Scope<'q> {
    folded: &'q str,
    known: Option<(&'q Service, &'q Action)>,
    environment: &'q Environment,
}

/// A kind of resource that the action can be done on.
struct Target {
    text: String,
    /// `None` for requests that name no resource.
    universe: Option<Language>,
}

impl Target {
    fn new(text: String) -> Self {
        let universe = (text != "*").then(|| Language::of_resource(&ResourcePattern::new(&text, false))).flatten();
        Self { text, universe }
    }
}

impl<'q> Scope<'q> {
    /// The regions that are meant, one by one; any together.
    fn regions(&self) -> Vec<Option<&'q str>> {
        if self.environment.regions.is_empty() {
            return vec![None];
        }
        self.environment.regions.iter().map(|region| Some(region.as_str())).collect()
    }

    /// What is known of the requests in a region. Those to global services go to the one region of the partition.
    fn context(&self, region: Option<&str>) -> Context {
        let mut context = self.environment.context.clone();
        let service = self.folded.split(':').next().unwrap_or_default();
        let region = match (service, self.environment.partition.as_str()) {
            // STS answers in every region and globally.
            ("sts", _) => None,
            (service, _) if region.is_none() || !GLOBAL_SERVICES.contains(&service) => region,
            (_, "aws-cn") => Some("cn-north-1"),
            (_, "aws-us-gov") => Some("us-gov-west-1"),
            (_, "aws-eusc") => Some("eusc-de-east-1"),
            _ => Some("us-east-1"),
        };
        if let Some(region) = region {
            context.insert("aws:requestedregion", ContextValue::One(region.to_owned()));
        }
        context
    }

    /// Whether a key (lower-case) cannot be in requests for the action: because the environment says so, or the documents
    /// do. That no table lists it is no such proof.
    fn is_absent(&self, key: &str) -> bool {
        self.environment.absent.iter().any(|absent| absent == key)
            || self.known.is_some_and(|(service, action)| service.cannot_carry(action, key))
    }

    fn targets(&self, region: Option<&str>) -> Vec<Target> {
        if self.known.is_none() {
            return vec![Target { text: "*".to_owned(), universe: Some(Language::everything()) }];
        }
        self.target_texts(region).into_iter().map(Target::new).collect()
    }

    /// Patterns of the resources that the action can be done on; `*` for one that is done on none, or that nobody knows.
    fn target_texts(&self, region: Option<&str>) -> Vec<String> {
        let Some((service, action)) = self.known.filter(|(_, action)| !action.types.is_empty()) else {
            return vec!["*".to_owned()];
        };
        let or_any = |text: &str| if text.is_empty() { "*".to_owned() } else { text.to_owned() };
        let partition = or_any(&self.environment.partition);
        let (account, region) = (or_any(&self.environment.account_id), or_any(region.unwrap_or_default()));
        let mut texts: Vec<String> = Vec::new();
        if action.folded == "iam:createservicelinkedrole" {
            // Service-linked roles exist under this path only.
            return vec![format!("arn:{partition}:iam::{account}:role/aws-service-role/*")];
        }
        let kinds = || action.types.iter().filter_map(|(at, _)| service.types.get(*at));
        let home = format!("{}:${{Region}}:${{Account}}:", service.prefix);
        let is_home_only = self.environment.is_home_only && kinds().any(|kind| kind.arn.starts_with(&home));
        for kind in kinds().filter(|kind| !is_home_only || kind.arn.starts_with(&home)) {
            let own = kind.arn_with(|name| match name {
                "Region" => &region,
                "Account" => &account,
                _ => "*",
            });
            let text = format!("arn:{partition}:{own}");
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests;
