//! Stubs for writing to an account, in a build without the features `aws` and `alibaba`.

use std::collections::BTreeMap;

use crate::cli::args::command::ScanArgs;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::session::Scope;
use crate::fix::plan::{Approvals, DryRunAnswer, Plan};
use crate::rules::Rule;

use super::outcome::CarriedOut;
use crate::cli::args::fix::{ApplyArgs, UndoArgs};

fn refuse<T>() -> Result<T, Failure> {
    Err(Failure::usage("this build cannot write to an account: it was built without the features `aws` and `alibaba`")
        .help("install tagaudit with its default features"))
}

pub(super) fn dry_run(_: &ScanArgs, _: &Plan) -> Result<BTreeMap<String, DryRunAnswer>, Failure> {
    refuse()
}

pub(super) fn carry_out_and_scan(
    _: &ScanArgs,
    _: &Scope<'_>,
    _: &[&'static Rule],
    _: &Plan,
    _: &Approvals,
) -> Result<CarriedOut, Failure> {
    refuse()
}

pub(in crate::cli) fn apply(_: &ApplyArgs) -> Result<Exit, Failure> {
    refuse()
}

pub(in crate::cli) fn undo(_: &UndoArgs) -> Result<Exit, Failure> {
    refuse()
}

pub(super) fn settle_earlier(_: &ScanArgs, _: &Scope<'_>, _: &Plan) -> Result<(), Failure> {
    refuse()
}
