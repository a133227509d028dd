//! `tagaudit merge`: merges the reports of the shards of a run.

use std::path::{Path, PathBuf};

use crate::render::ReportFormat;
use crate::report::{Keep, MergeInput, MergeLimits, ReportSet, SharedTexts};

use crate::cli::args::command::MergeArgs;
use crate::cli::commands::show;
use crate::cli::io::clock::now;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::{files, input};

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
    let mut shared = SharedTexts::default();
    let mut read = |path: &Path| match input::report_to_merge(path, kept(args, &mut shared)) {
        Ok(set) => MergeInput::Set(set),
        Err(failure) => {
            let reason =
                failure.causes.first().map_or(failure.error.clone(), |cause| format!("{}: {cause}", failure.error));
            MergeInput::Unreadable { file: path.display().to_string(), reason }
        }
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for path in &args.files {
        if path.is_dir() { files.extend(reports_in(path)?) } else { files.push(path.clone()) }
    }
    // One after the other: of many large files, only the parts that are kept stay in memory.
    let inputs = files.iter().map(|path| read(path));
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

/// Parts of each report that have to stay in memory. A comparison changes the whole report, and `-v` shows all of it.
fn kept<'s>(args: &MergeArgs, shared: &'s mut SharedTexts) -> Keep<'s> {
    let outputs = &args.output.outputs;
    let is_table = outputs.iter().any(|output| output.format == ReportFormat::Table);
    if args.verdict.compare.is_some() || args.output.terminal.verbose && is_table {
        Keep::Whole
    } else if args.verdict.write_waivers.is_none() && outputs.iter().all(|output| output.format == ReportFormat::Json) {
        Keep::Verdict
    } else {
        Keep::Shown(shared)
    }
}

/// Reports in a folder, by name: the files that end in `.json`.
fn reports_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let found = files::list(folder, |path| path.extension().is_some_and(|extension| extension == "json"))?;
    if found.is_empty() {
        return Err(Failure::usage(format!("the folder `{}` holds no report", folder.display()))
            .help("give a folder with the files that `scan --format json -o FILE.json` wrote"));
    }
    Ok(found)
}
