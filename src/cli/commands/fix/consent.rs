//! The operator's consent to the writes of a plan.

use crate::apply::{self as engine, Connection};
use crate::cli::args::fix::CarryOutArgs;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::terminal::{is_interactive, line, read_line, say};
use crate::fix::plan::Plan;
use crate::text;

use super::account::failure;

/// Asks the operator for consent: by name on a terminal, by arguments elsewhere.
pub(super) fn agree(
    plan: &Plan,
    connection: &Connection<'_>,
    args: &CarryOutArgs,
    max_changes: usize,
) -> Result<(), Failure> {
    let refuse = |why: String| Failure::new(Exit::Unfixed, why);
    if let Some(expected) = args.expect_account.as_deref().filter(|expected| *expected != plan.account_id) {
        return Err(refuse(format!(
            "the plan is for account {}, but --expect-account is {expected}; nothing was written",
            plan.account_id
        )));
    }
    if plan.changes.len() > max_changes {
        return Err(refuse(format!(
            "the plan has {}, more than --max-changes {}; nothing was written",
            text::count(plan.changes.len(), "change"),
            max_changes
        ))
        .help("review the plan with --dry-run, and raise --max-changes if it is right"));
    }
    if args.yes && (args.expect_account.is_some() || is_interactive()) {
        return Ok(());
    }
    if !is_interactive() {
        let why = if args.yes {
            "--yes without a terminal needs --expect-account"
        } else {
            "there is no terminal to confirm on"
        };
        return Err(refuse(format!("{why}; nothing was written"))
            .help(format!("without a terminal, confirm with --yes --expect-account {}", plan.account_id)));
    }
    // The account and the caller are shown before the question.
    let (caller, profile) = engine::caller(plan, connection).map_err(failure)?;
    let profile = profile.map(|name| format!(", profile {name}")).unwrap_or_default();
    line(&format!("account  {}", text::printable(&plan.account_id)));
    line(&format!("caller   {}", text::printable(&format!("{caller}{profile}"))));
    let wanted = format!("{} {}", plan.account_id, plan.cluster_id);
    say(&format!(
        "Type the account and the cluster, `{}`, to make {}: ",
        text::printable(&wanted),
        text::count(plan.changes.len(), "change")
    ));
    if read_line()? == wanted { Ok(()) } else { Err(refuse("not confirmed; nothing was written".to_owned())) }
}

/// Refuses a saved plan that grants a principal additional permissions.
pub(super) fn refuse_rights(plan: &Plan) -> Result<(), Failure> {
    match plan.escalation() {
        Some(way) => Err(Failure::new(
            Exit::Unfixed,
            format!("with the permissions that the plan grants, the nodes can {way}; nothing was written"),
        )
        .help("a file cannot consent to that: grant it by hand if necessary")),
        None => Ok(()),
    }
}
