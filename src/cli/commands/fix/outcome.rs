//! The outcome of `scan --fix`.

use std::path::{Path, PathBuf};

use crate::audit::Audit;
use crate::estate::Estate;
use crate::fix::plan::Plan;
use crate::text;

use crate::cli::args::command::ScanArgs;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::terminal::line;
use crate::cli::session::{verdict, write_report};

use super::Fix;

/// The account after a plan was applied.
pub(super) struct CarriedOut {
    pub(super) report: Audit,
    pub(super) estate: Estate,
    /// True if everything that was approved is in place, and breaks nothing.
    pub(super) is_whole: bool,
}

/// Outcome of a plan.
pub(super) enum Outcome {
    /// It was shown, and nothing else was asked for.
    Printed,
    Saved(PathBuf),
    /// It holds no change.
    Unchanged,
    Applied(Box<CarriedOut>),
}

impl Outcome {
    /// Shows the outcome; returns the exit code.
    pub(super) fn show(self, fix: &Fix<'_>, plan: &Plan, has_refusals: bool) -> Result<Exit, Failure> {
        let (report, estate, is_whole) = match &self {
            Self::Applied(applied) => (&applied.report, &applied.estate, applied.is_whole),
            _ => (fix.report, fix.estate, true),
        };
        match &self {
            Self::Printed => {}
            Self::Saved(path) => tell_how_to_apply(plan, path, fix.args),
            Self::Unchanged | Self::Applied(_) => write_report(fix.args, fix.scope, report)?,
        }
        let is_emptied = matches!(self, Self::Applied(_)) && plan.deletes() && report.has_nothing_left();
        Ok(match (is_whole && !has_refusals, is_emptied) {
            (false, _) => Exit::Unfixed,
            (true, true) => {
                line(&format!("nothing that was read is left of the cluster `{}`", text::printable(&plan.cluster_id)));
                Exit::Clean
            }
            (true, false) => verdict(report, estate, fix.args),
        })
    }
}

/// Prints the full command that applies a saved plan: the account is read again then, with the options of this scan.
fn tell_how_to_apply(plan: &Plan, path: &Path, args: &ScanArgs) {
    let file = path.display().to_string();
    let mut words = vec!["tagaudit apply".to_owned(), text::shell_quote(&file).into_owned()];
    let approvals = args.fix.allow.iter().map(|rule| ("--allow", Some(rule.clone())));
    let leftovers = args.fix.fix_leftovers.then_some(("--fix-leftovers", None));
    let answers = args.fix.choose.iter().map(|answer| ("--choose", Some(answer.to_string())));
    let said = args
        .source
        .connection
        .said()
        .into_iter()
        .chain(args.audit.said())
        .chain(leftovers)
        .chain(approvals)
        .chain(answers);
    for (option, value) in said {
        words.push(option.to_owned());
        words.extend(value.map(|value| text::shell_quote(&value).into_owned()));
    }
    if plan.expires_at < plan.created_at {
        line(&format!("wrote {file}; it expired at {}: its evidence is older than that", plan.expires_at));
        line("read the account again, or extend it with --plan-valid-for");
        return;
    }
    line(&format!("wrote {file}; to apply it until {}:", plan.expires_at));
    line(&format!("  {}", words.join(" ")));
}
