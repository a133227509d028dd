//! `tagaudit merge`: merges the reports of the shards of a run.

use std::path::Path;

use crate::report::{MergeInput, MergeLimits, ReportSet};

use crate::cli::args::command::MergeArgs;
use crate::cli::commands::show;
use crate::cli::io::clock::now;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input;

/// Merges reports; one that cannot be read counts as not audited and does not stop the merge.
pub(in crate::cli) fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    if args.max_age.is_negative() {
        return Err(Failure::usage(format!(
            "--max-age is {:#}, but no report can be newer than the newest",
            args.max_age
        )));
    }
    let not_before = args
        .newer_than
        .map(|age| now().checked_sub(age))
        .transpose()
        .map_err(|error| Failure::usage("--newer-than is out of range").cause(error.to_string()))?;
    let expected = args.targets.as_deref().map(input::targets).transpose()?;
    let read = |path: &Path| match input::report_set(path) {
        Ok(set) => MergeInput::Set(set),
        Err(failure) => {
            let reason =
                failure.causes.first().map_or(failure.error.clone(), |cause| format!("{}: {cause}", failure.error));
            MergeInput::Unreadable { file: path.display().to_string(), reason }
        }
    };
    // One after the other: of many large files, only the parts that are kept stay in memory.
    let inputs = args.files.iter().map(|path| read(path));
    let limits = MergeLimits { max_age: Some(args.max_age), not_before };
    let mut set = ReportSet::merge(inputs, limits).map_err(|error| {
        Failure::usage("cannot merge the reports")
            .cause(error.to_string())
            .help("omit the files of the previous run; use a separate folder for each run")
    })?;
    if let Some(targets) = &expected {
        set.expect(targets);
    }
    show::show_set(set, &args.verdict, &args.output)
}
