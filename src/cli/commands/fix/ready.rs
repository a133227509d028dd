//! A plan of `scan --fix` that is shown and then carried out.

use std::collections::BTreeMap;
use std::path::Path;

use crate::fix::plan::{Approvals, DryRunAnswer, Plan, Planned};
use crate::inventory::write_private;
use crate::render;

use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::output::emit;
use crate::cli::io::terminal::{line, say};

#[cfg(any(feature = "aws", feature = "alibaba"))]
use super::live;
#[cfg(not(any(feature = "aws", feature = "alibaba")))]
use super::offline as live;
use super::request::rejected;
use super::{Fix, Mode, Outcome};

/// A plan, with the consent that it was built with.
pub(super) struct Ready {
    pub(super) planned: Planned,
    pub(super) approvals: Approvals,
    /// Answers of the cloud to a dry run, by change id.
    pub(super) trial: BTreeMap<String, DryRunAnswer>,
}

impl Ready {
    /// Tries the calls of the plan without making them, if that is what the operator wants.
    pub(super) fn tried(mut self, fix: &Fix<'_>) -> Result<Self, Failure> {
        if matches!(fix.mode, Mode::DryRun) && fix.is_live() && self.planned.rejected.is_empty() {
            self.trial = live::dry_run(fix.args, &self.planned.plan)?;
        }
        Ok(self)
    }

    /// Shows the plan, or the reasons why it was refused. The report of the scan comes first, unless the plan is applied
    /// now: the report of the scan after it replaces that one.
    pub(super) fn show(&self, fix: &Fix<'_>) -> Result<(), Failure> {
        let planned = &self.planned;
        let is_refused = !planned.rejected.is_empty();
        let is_code = matches!(fix.mode, Mode::Emit(_));
        if !is_code && (is_refused || !matches!(fix.mode, Mode::Apply)) {
            fix.write_report()?;
        }
        if !is_code && !is_refused {
            if planned.plan.changes.is_empty() {
                line("Nothing to write.");
            } else {
                say(&render::plan(&planned.plan, &self.trial, fix.out.color, fix.out.width));
            }
        }
        for note in &planned.notes {
            line(&format!("note: {note}"));
        }
        say(&render::skipped(&planned.skipped, fix.out.color, fix.out.width));
        if is_refused { Err(rejected(planned)) } else { Ok(()) }
    }

    /// Does with the plan what the operator wants.
    pub(super) fn carry_out(&self, fix: &Fix<'_>) -> Result<Outcome, Failure> {
        let plan = &self.planned.plan;
        match fix.mode {
            Mode::Emit(language) => {
                let file = fix.args.output.outputs.iter().find_map(|output| output.file.as_deref());
                emit(file, &fix.args.output.terminal, |_, page| {
                    page.write_all(render::emit(plan, language.into()).as_bytes())
                })?;
                Ok(Outcome::Printed)
            }
            Mode::DryRun => Ok(Outcome::Printed),
            Mode::Save(path) => save(plan, path).map(|()| Outcome::Saved(path.to_owned())),
            Mode::Apply if plan.changes.is_empty() => {
                live::settle_earlier(fix.args, fix.scope, plan)?;
                Ok(Outcome::Unchanged)
            }
            Mode::Apply => match live::carry_out_and_scan(fix.args, fix.scope, fix.rules, plan, &self.approvals) {
                Ok(applied) => Ok(Outcome::Applied(Box::new(applied))),
                Err(failure) => {
                    fix.write_report()?;
                    Err(failure)
                }
            },
        }
    }

    /// True if a finding was not fixed although the operator asked for it, or the cloud refuses a call.
    pub(super) fn has_refusals(&self) -> bool {
        self.planned.has_refusals() || self.trial.values().any(|answer| matches!(answer, DryRunAnswer::Refused(_)))
    }
}

fn save(plan: &Plan, path: &Path) -> Result<(), Failure> {
    let bytes = plan.to_json().map_err(|error| Failure::from_error(Exit::Usage, &error))?;
    write_private(path, &bytes)
        .map_err(|error| Failure::usage(format!("cannot write the plan `{}`", path.display())).cause(error.to_string()))
}
