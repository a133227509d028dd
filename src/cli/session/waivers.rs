//! `--write-waivers`.

use jiff::ToSpan;

use crate::finding::Severity;
use crate::inventory::{Access, write_file};
use crate::report::{Finding, Waivers, waivers};
use crate::text;

use crate::cli::args::VerdictArgs;
use crate::cli::io::clock::today;
use crate::cli::io::failure::Failure;
use crate::cli::io::output;

/// Refuses a file that exists, before anything is read: it may hold decisions of others.
pub(in crate::cli) fn check(args: &VerdictArgs) -> Result<(), Failure> {
    match &args.write_waivers {
        Some(path) if path.exists() => Err(Failure::usage(format!("`{}` already exists", path.display()))
            .help("name a new file for --write-waivers, and add its waivers to the configuration")),
        _ => Ok(()),
    }
}

/// Writes the waivers of the open findings, if they are asked for.
pub(in crate::cli) fn write<'f>(
    args: &VerdictArgs,
    findings: impl IntoIterator<Item = &'f Finding>,
) -> Result<(), Failure> {
    let Some(path) = &args.write_waivers else { return Ok(()) };
    check(args)?;
    let today = today();
    let expires = today.checked_add(i64::from(args.expires).days());
    let expires = expires.map_err(|error| Failure::usage("--expires is out of range").cause(error.to_string()))?;
    let threshold = args.fail_on.threshold().unwrap_or(Severity::Info);
    let Waivers { page, waived, left } = waivers(findings, threshold, today, expires);
    write_file(path, page.as_bytes(), Access::Owner).map_err(|error| {
        Failure::usage(format!("cannot write the waivers `{}`", path.display())).cause(error.to_string())
    })?;
    let findings = text::count(waived, "finding");
    output::note(&format!("`{}` waives {findings} until {expires}", path.display()));
    if left > 0 {
        let findings = text::count(left, "finding");
        output::warn(&format!(
            "{findings} not waived: the name of a resource has `*` or `?`, which are patterns in a waiver"
        ));
    }
    Ok(())
}
