//! Judges one region of the resources: the statements that apply there, the facts they depend on, and the result.

use std::collections::BTreeSet;

use crate::document::Effect;
use crate::truth::{Bounds, Expression, Facts, Holds, Table};

use super::limit::join_conditions;
use super::policy_set::StageKind;
use super::{OpenCondition, Prepared, StatementRef};

/// A statement whose conditions are not known to be false.
pub(super) struct Active<'p> {
    pub(super) prepared: &'p Prepared,
    /// Conjunction of its open conditions.
    pub(super) expression: Expression,
    /// Its open conditions.
    pub(super) conditions: Vec<OpenCondition>,
}

impl Active<'_> {
    /// Unknowns of the statement: its conditions, and the patterns whose reading is open.
    pub(super) fn open(&self) -> Vec<Expression> {
        let uncertain = self.prepared.terms.iter().filter_map(|term| term.uncertainty.clone()).map(Expression::Atom);
        uncertain.chain([self.expression.clone()]).collect()
    }

    /// Condition under which the statement applies, given the patterns that match.
    pub(super) fn applies(&self, matched: &[bool]) -> Expression {
        let terms = || self.prepared.terms.iter().zip(matched).filter(|(_, matched)| **matched);
        let negated = self.prepared.compiled.not_resource;
        let on = if self.prepared.compiled.resources.is_none() {
            Expression::True
        } else if terms().any(|(term, _)| term.uncertainty.is_none()) {
            if negated { Expression::False } else { Expression::True }
        } else {
            let uncertain: Vec<Expression> =
                terms().filter_map(|(term, _)| term.uncertainty.clone()).map(Expression::Atom).collect();
            match (uncertain.is_empty(), negated) {
                (true, true) => Expression::True,
                (true, false) => Expression::False,
                (false, true) => Expression::Not(Box::new(Expression::Any(uncertain))),
                (false, false) => Expression::Any(uncertain),
            }
        };
        if on == Expression::False {
            // Its conditions do not matter here.
            return on;
        }
        Expression::All(vec![on, self.expression.clone()])
    }
}

/// Result of the requests on a region of the resources.
#[derive(Debug)]
pub(super) struct RegionOutcome {
    pub(super) target: usize,
    pub(super) witness: String,
    pub(super) allowed: Bounds,
    /// Result of the identity policies alone.
    pub(super) identity: Holds,
    pub(super) denied: Holds,
    /// Result if an Allow covered the whole question.
    pub(super) helped: Holds,
    /// Facts known only at deployment that affect this region.
    pub(super) open: Vec<String>,
    /// Patterns that match some requests here and not others.
    pub(super) wide: Vec<String>,
    /// Layers other than the identity policies that do not always allow.
    pub(super) lacking: Vec<usize>,
    /// Active statements that apply sometimes or always, with their patterns that match.
    pub(super) applying: Vec<Applying>,
}

impl RegionOutcome {
    /// Conditions that must hold for the requests to be allowed, as text.
    pub(super) fn only_if(&self) -> Vec<String> {
        let open = self.applying.iter().filter(|applying| !applying.conditions.is_empty());
        let mut texts: Vec<String> = open
            .map(|applying| {
                let all = join_conditions(&applying.conditions);
                if applying.effect == Effect::Deny { format!("not ({all})") } else { all }
            })
            .collect();
        texts.extend(self.wide.iter().cloned());
        if self.allowed.least != self.allowed.most {
            let described = self.applying.iter().flat_map(|applying| &applying.conditions);
            let described: BTreeSet<&str> = described.map(|condition| condition.text.as_str()).collect();
            let open = self.open.iter().filter(|open| !described.contains(open.as_str()));
            texts.extend(open.map(|open| format!("the deployment decides whether {open}")));
        }
        if texts.is_empty() {
            texts.push("conditions too many or too intricate to enumerate".to_owned());
        }
        texts.sort();
        texts.dedup();
        texts
    }
}

#[derive(Debug, Clone)]
pub(super) struct Applying {
    pub(super) reference: StatementRef,
    pub(super) stage: usize,
    pub(super) effect: Effect,
    pub(super) holds: Holds,
    pub(super) texts: Vec<String>,
    pub(super) negated: bool,
    pub(super) conditions: Vec<OpenCondition>,
}

/// A question about a region of the resources.
pub(super) struct RegionQuestion {
    pub(super) target: usize,
    pub(super) witness: String,
    /// Holds in the requests in question.
    pub(super) requested: Expression,
}

/// Returns `None` if none of the requests in question can exist.
pub(super) fn judge(
    asking: RegionQuestion,
    matches: &[Vec<bool>],
    active: &[Active<'_>],
    facts: Option<&Facts>,
    stages: &[StageKind],
) -> Option<RegionOutcome> {
    let RegionQuestion { target, witness, requested: meant } = asking;
    let expressions: Vec<Expression> =
        active.iter().zip(matches).map(|(each, matched)| each.applies(matched)).collect();
    let tables: Option<Vec<Table>> = facts.map(|facts| expressions.iter().map(|one| facts.table(one)).collect());
    let combined = if let (Some(facts), Some(tables)) = (facts, &tables) {
        let meant = facts.table(&meant);
        if facts.bounds(&meant).most == Holds::Never {
            return None;
        }
        combine(facts, active, tables, &meant, stages)
    } else {
        // With too many facts to enumerate, resolve the unknowns against the grant, then in its favour.
        let certain = Facts::none();
        let reading = |holding: Effect| {
            let each = active.iter().zip(&expressions);
            let decided =
                each.map(|(each, expression)| resolve_facts(expression, each.prepared.compiled.effect == holding));
            let tables: Vec<Table> = decided.map(|expression| certain.table(&expression)).collect();
            combine(&certain, active, &tables, &certain.constant(true), stages)
        };
        let (must, may) = (reading(Effect::Deny), reading(Effect::Allow));
        let between =
            |must: Bounds, may: Bounds| Bounds { least: must.least.min(may.least), most: must.most.max(may.most) };
        Combined {
            allowed: between(must.allowed, may.allowed),
            identity: between(must.identity, may.identity),
            denied: between(must.denied, may.denied),
            helped: between(must.helped, may.helped),
            lacking: must.lacking,
        }
    };
    let applying = active
        .iter()
        .zip(matches)
        .enumerate()
        .filter_map(|(at, (each, matched))| {
            let table = tables.as_ref().and_then(|tables| tables.get(at));
            let holds = match facts.zip(table) {
                Some((facts, table)) => facts.bounds(table).holds(),
                None if each.conditions.is_empty() => Holds::Always,
                None => Holds::Sometimes,
            };
            let texts = each.prepared.terms.iter().zip(matched);
            let negated = each.prepared.compiled.not_resource;
            (holds != Holds::Never).then(|| Applying {
                reference: each.prepared.reference.clone(),
                stage: each.prepared.stage,
                effect: each.prepared.compiled.effect,
                holds,
                texts: texts.filter(|(_, matched)| **matched != negated).map(|(term, _)| term.text.clone()).collect(),
                negated,
                conditions: each.conditions.clone(),
            })
        })
        .collect();
    Some(RegionOutcome {
        target,
        witness,
        allowed: combined.allowed,
        identity: combined.identity.holds(),
        denied: combined.denied.holds(),
        helped: combined.helped.most,
        open: Facts::open(&expressions),
        wide: Facts::wide(&expressions),
        lacking: combined.lacking,
        applying,
    })
}

struct Combined {
    allowed: Bounds,
    identity: Bounds,
    denied: Bounds,
    helped: Bounds,
    lacking: Vec<usize>,
}

/// Order of decision: no Deny, and an Allow in every stage. An Allow of the account's policies ends the step of the
/// principal's own policies before those of resource groups are evaluated.
fn combine(facts: &Facts, active: &[Active<'_>], tables: &[Table], meant: &Table, stages: &[StageKind]) -> Combined {
    let any = |effect: Effect, stage: Option<usize>| {
        let statements = active.iter().zip(tables).filter(|(each, _)| {
            each.prepared.compiled.effect == effect && stage.is_none_or(|stage| each.prepared.stage == stage)
        });
        statements.fold(facts.constant(false), |table, (_, one)| table.or(one))
    };
    let allows: Vec<Table> = (0..stages.len()).map(|stage| any(Effect::Allow, Some(stage))).collect();
    let is_group = |stage: &usize| stages.get(*stage) == Some(&StageKind::ResourceGroup);
    let in_groups = |effect: Effect| {
        let groups = (0..stages.len()).filter(is_group);
        groups.fold(facts.constant(false), |table, stage| table.or(&any(effect, Some(stage))))
    };
    let account = allows.first().cloned().unwrap_or_else(|| facts.constant(false));
    let (identity, denied, denied_anyhow) = if (0..stages.len()).any(|stage| is_group(&stage)) {
        let elsewhere = (0..stages.len()).filter(|stage| !is_group(stage));
        let others = elsewhere.fold(facts.constant(false), |table, stage| table.or(&any(Effect::Deny, Some(stage))));
        let denied = in_groups(Effect::Deny).and(&account.not()).or(&others);
        (account.or(&in_groups(Effect::Allow)), denied, others)
    } else {
        let denied = any(Effect::Deny, None);
        (account, denied.clone(), denied)
    };
    let others = || allows.iter().zip(stages).filter(|(_, kind)| !kind.is_identity()).map(|(table, _)| table);
    // An Allow in the account would end the step before a Deny of a resource group.
    let helped = others().fold(denied_anyhow.not(), |table, stage| table.and(stage));
    let allowed = identity.and(&denied.not()).and(&helped);
    let bounds = |table: &Table| facts.bounds_within(table, meant);
    let lacks = |table: &Table| bounds(table).least != Holds::Always;
    let each = allows.iter().zip(stages).enumerate().filter(|(_, (_, kind))| !kind.is_identity());
    let lacking = each.filter(|(_, (table, _))| lacks(table));
    Combined {
        allowed: bounds(&allowed),
        identity: bounds(&identity),
        denied: bounds(&denied),
        helped: bounds(&helped),
        lacking: lacking.map(|(stage, _)| stage).collect(),
    }
}

/// Replaces every fact by the value that makes the expression hold (or not hold).
fn resolve_facts(expression: &Expression, holds: bool) -> Expression {
    match expression {
        Expression::True => Expression::True,
        Expression::False => Expression::False,
        Expression::Atom(_) => {
            if holds {
                Expression::True
            } else {
                Expression::False
            }
        }
        Expression::Not(inner) => Expression::Not(Box::new(resolve_facts(inner, !holds))),
        Expression::All(list) => Expression::All(list.iter().map(|inner| resolve_facts(inner, holds)).collect()),
        Expression::Any(list) => Expression::Any(list.iter().map(|inner| resolve_facts(inner, holds)).collect()),
    }
}
