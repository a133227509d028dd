//! The account on whose copy a plan is tried, in either cloud.

use std::collections::BTreeSet;

use crate::audit::Auditor;
use crate::aws::Inventory;
use crate::estate::{Estate, EstateRef};
use crate::membership::Held;

use super::alibaba;
use super::copy::applied;
use super::plan::Plan;
use super::scope::Affected;
use super::trial::Effect;

/// Accounts, with the objects in them that the judged clusters use.
pub(super) enum Subject<'s> {
    Aws(&'s Inventory, Box<Affected>),
    Alibaba(&'s crate::alibaba::Inventory, Box<alibaba::Affected>),
}

impl<'s> Subject<'s> {
    /// The accounts of an estate, and the nodes of each judged cluster before the plan, in the order of the auditors.
    pub(super) fn new(
        estate: EstateRef<'s>,
        auditors: &[Auditor<'s>],
        plan: &Plan,
        clusters: &BTreeSet<String>,
    ) -> (Self, Vec<Held>) {
        let mut nodes = Vec::new();
        let subject = match estate {
            EstateRef::Aws(inventory) => {
                let mut affected = Box::<Affected>::default();
                for auditor in auditors {
                    let view = auditor.view(inventory);
                    affected.add(&view);
                    affected.add_balancing(&view, auditor.kubernetes);
                    nodes.push(view.held(clusters));
                }
                affected.follow(plan);
                Self::Aws(inventory, affected)
            }
            EstateRef::Alibaba(inventory) => {
                let mut affected = Box::<alibaba::Affected>::default();
                for auditor in auditors {
                    let view = auditor.view_of_alibaba(inventory);
                    affected.add(&view, auditor);
                    nodes.push(view.held(clusters));
                }
                affected.follow(plan);
                Self::Alibaba(inventory, affected)
            }
        };
        (subject, nodes)
    }

    /// The copy after a plan, without one of its changes if so asked, and the effect of each change by its position.
    pub(super) fn applied(&self, plan: &Plan, without: Option<usize>) -> (Estate, Vec<Effect>) {
        match self {
            Self::Aws(inventory, affected) => {
                let (copy, effects) = applied(inventory, plan, affected, without);
                (Estate::Aws(copy), effects)
            }
            Self::Alibaba(inventory, affected) => {
                let (copy, effects) = alibaba::applied(inventory, plan, affected, without);
                (Estate::Alibaba(copy), effects)
            }
        }
    }
}
