//! Compares, writes and judges a finished report, or those of many clusters.

use crate::report::{Report, ReportSet};

use super::failure::{Exit, Failure};
use super::outputs::Outputs;
use super::{ReportArgs, VerdictArgs, input, output, session};

/// Shows the report of a cluster.
pub(super) fn show(args: &ReportArgs, mut report: Report) -> Result<Exit, Failure> {
    let earlier = session::earlier(&args.verdict, &report.cluster_id, report.provider)?;
    session::compare(&mut report, earlier.as_ref(), &args.verdict)?;
    output::write(&args.output, &report)?;
    Ok(if session::fails(&report, &args.verdict) {
        Exit::Findings
    } else {
        session::ended_alone(&report, report.is_empty_handed(), &args.verdict)
    })
}

/// Compares and writes a set; returns the exit code.
pub(super) fn show_set(
    mut set: ReportSet,
    verdict: &VerdictArgs,
    outputs: &Outputs<crate::render::ReportFormat>,
) -> Result<Exit, Failure> {
    if let Some(path) = &verdict.compare {
        session::compare_set(&mut set, &input::report_set(path)?, verdict)?;
    }
    output::write_set(outputs, &set)?;
    Ok(session::ended(&set, verdict, false))
}
