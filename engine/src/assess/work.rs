//! Work of one question: its budget, and what consecutive steps share.

use std::rc::Rc;

use super::judge::Active;
use crate::automaton::BUDGET;
use crate::truth::{Expression, Facts};

/// Automaton steps for one action: twice the limit of the hardest exploration, or about a twentieth of a second.
const PER_ACTION: usize = 2 * BUDGET;

/// Automaton steps for one question, whatever it covers: about a second. Hostile policies end undecided, not in minutes.
const PER_QUESTION: usize = 40 * BUDGET;

/// Budget of a question, and the facts that its last step needed.
pub(super) struct Work {
    /// Remaining automaton steps.
    pub(super) left: usize,
    pub(super) facts: LastFacts,
}

impl Work {
    /// The work of a question about this many actions.
    pub(super) fn for_actions(count: usize) -> Self {
        Self { left: count.saturating_mul(PER_ACTION).min(PER_QUESTION), facts: LastFacts::default() }
    }

    /// The work of a question about any number of actions.
    pub(super) fn whole() -> Self {
        Self { left: PER_QUESTION, facts: LastFacts::default() }
    }

    /// Takes steps from the budget; false, without taking any, if it does not suffice.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let rest = self.left.checked_sub(steps);
        self.left = rest.unwrap_or(self.left);
        rest.is_some()
    }
}

/// Facts of the last step: thousands of consecutive actions have the same ones.
#[derive(Default)]
pub(super) struct LastFacts(Option<(Vec<Expression>, Option<Rc<Facts>>)>);

impl LastFacts {
    /// Facts of a step; `None` if there are too many to enumerate.
    pub(super) fn get_or_build(&mut self, active: &[Active<'_>], asked: &[&Expression]) -> Option<Rc<Facts>> {
        let uncertain: Vec<Expression> = active
            .iter()
            .flat_map(|each| each.prepared.terms.iter().filter_map(|term| term.uncertainty.clone()))
            .map(Expression::Atom)
            .collect();
        let all = || active.iter().map(|each| &each.expression).chain(&uncertain).chain(asked.iter().copied());
        if let Some((of, facts)) = &self.0
            && of.iter().eq(all())
        {
            return facts.clone();
        }
        let facts = Facts::new(all()).map(Rc::new);
        self.0 = Some((all().cloned().collect(), facts.clone()));
        facts
    }
}
