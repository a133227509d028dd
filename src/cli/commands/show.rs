//! Compares, writes and judges a finished report, or those of many clusters.

use crate::report::{Report, ReportSet};

use crate::cli::args::VerdictArgs;
use crate::cli::args::command::ReportArgs;
use crate::cli::args::outputs::Outputs;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input;
use crate::cli::io::output;
use crate::cli::session;

/// Shows the report of a cluster.
pub(in crate::cli) fn show(args: &ReportArgs, mut report: Report) -> Result<Exit, Failure> {
    let earlier = session::earlier(&args.verdict, &report.cluster_id, report.provider)?;
    session::compare(&mut report, earlier.as_ref(), &args.verdict)?;
    output::write(&args.output, &report)?;
    session::waivers::write(&args.verdict, &report.findings)?;
    Ok(if session::fails(&report, &args.verdict) {
        Exit::Findings
    } else {
        session::ended_alone(&report, report.is_empty_handed(), &args.verdict)
    })
}

/// Compares and writes a set; returns the exit code.
pub(in crate::cli) fn show_set(
    mut set: ReportSet,
    verdict: &VerdictArgs,
    outputs: &Outputs<crate::render::ReportFormat>,
) -> Result<Exit, Failure> {
    if let Some(path) = &verdict.compare {
        session::compare_set(&mut set, &input::report_set(path)?, verdict)?;
    }
    output::write_set(outputs, &set)?;
    session::waivers::write(verdict, set.reports().flat_map(|report| &report.findings))?;
    Ok(session::ended(&set, verdict, false))
}
