//! `tagaudit merge`: the reports of the shards of a run as one.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::render::ReportFormat;
use crate::report::{MergeInput, MergeLimits, ReportSet};

use super::VerdictArgs;
use super::clock::now;
use super::failure::{Exit, Failure};
use super::outputs::Outputs;
use super::{input, show};

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Reports that `scan --format json` wrote
    #[arg(value_name = "REPORT", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// A report older than the newest by more than this is of another run, and counts as missing
    #[arg(long, value_name = "DURATION", default_value = "24h", help_heading = "Scope")]
    pub(super) max_age: jiff::SignedDuration,
    /// What is older than this by the clock counts as missing: for jobs, of which one may not have run at all
    #[arg(long, value_name = "DURATION", help_heading = "Scope")]
    pub(super) newer_than: Option<jiff::SignedDuration>,
    /// The targets that have to be there; one that is missing was not audited
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub(super) targets: Option<PathBuf>,
    #[command(flatten)]
    pub(super) verdict: VerdictArgs,
    #[command(flatten)]
    pub(super) output: Outputs<ReportFormat>,
}

/// Joins reports; one that cannot be read is not audited, and stops nothing.
pub(super) fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    if args.max_age.is_negative() {
        return Err(Failure::usage(format!(
            "--max-age is {:#}, and no report is of later than the newest",
            args.max_age
        )));
    }
    let not_before = args
        .newer_than
        .map(|age| now().checked_sub(age))
        .transpose()
        .map_err(|error| Failure::usage("--newer-than leads out of the calendar").cause(error.to_string()))?;
    let expected = args.targets.as_deref().map(input::targets).transpose()?;
    let read = |path: &Path| match input::report_set(path) {
        Ok(set) => MergeInput::Set(set),
        Err(failure) => {
            let reason =
                failure.causes.first().map_or(failure.error.clone(), |cause| format!("{}: {cause}", failure.error));
            MergeInput::Unreadable { file: path.display().to_string(), reason }
        }
    };
    // One after the other: of many large files no more than what is kept is held.
    let inputs = args.files.iter().map(|path| read(path));
    let limits = MergeLimits { max_age: Some(args.max_age), not_before };
    let mut set = ReportSet::merge(inputs, limits).map_err(|error| {
        Failure::usage("cannot join the reports")
            .cause(error.to_string())
            .help("leave out the files of the run before: a folder for each run keeps them apart")
    })?;
    if let Some(targets) = &expected {
        set.expect(targets);
    }
    show::show_set(set, &args.verdict, &args.output)
}
