//! `scan --fix`, `apply` and `undo`: plan, show, confirm, apply, audit again.

use std::collections::BTreeMap;
use std::path::Path;

use crate::audit::Audit;
use crate::estate::Estate;
use crate::finding::Finding;
use crate::fix::plan::{Answer, Approvals};
use crate::inventory::Provider;
use crate::rules::Rule;

use crate::cli::args::command::ScanArgs;
use crate::cli::args::fix::EmitName;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::terminal::{Out, is_interactive};
use crate::cli::session::{Scope, write_report};

#[cfg(any(feature = "aws", feature = "alibaba"))]
mod account;
mod answers;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod apply;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod consent;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod gate;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod live;
#[cfg(not(any(feature = "aws", feature = "alibaba")))]
mod offline;
mod outcome;
mod ready;
mod request;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod state_files;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod undo;

use outcome::Outcome;
use ready::Ready;
use request::FixRequest;

#[cfg(not(any(feature = "aws", feature = "alibaba")))]
pub(in crate::cli) use offline::{apply, undo};
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(in crate::cli) use {apply::apply, undo::undo};

/// Rejects invalid combinations of the fix flags.
pub(in crate::cli) fn check(args: &ScanArgs) -> Result<(), Failure> {
    let fix = &args.fix;
    let carry_out = &fix.carry_out;
    let given = [
        ("--yes", carry_out.yes),
        ("--expect-account", carry_out.expect_account.is_some()),
        ("--journal", fix.journal.is_some()),
        ("--max-changes", carry_out.max_changes.is_some()),
        ("--verify-timeout", carry_out.verify_timeout.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given && !fix.is_on()) {
        return Err(Failure::usage(format!("{option} requires --fix")).help("add --fix"));
    }
    if fix.plan_out.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("a plan is written to a file that only its owner may read, not to standard output")
            .help("name a file: --plan-out plan.json"));
    }
    let offline = args.source.inventory.is_some() || cfg!(not(any(feature = "aws", feature = "alibaba")));
    if fix.is_on() && offline && !fix.dry_run && fix.plan_out.is_none() && fix.emit.is_none() {
        return Err(Failure::usage("--fix writes to a live account, but --inventory names a recording")
            .help("add --dry-run, --emit, or --plan-out FILE for `tagaudit apply` later"));
    }
    if fix.is_on() && args.verdict.compare.is_some() {
        return Err(Failure::usage(
            "--compare reports what is new since a report, but --fix reports what is left after fixing",
        )
        .help("scan with --compare first, or save the report after fixing and compare it: `tagaudit report`"));
    }
    if fix.is_on() && args.verdict.write_waivers.is_some() {
        return Err(Failure::usage("--write-waivers accepts findings, and --fix repairs them: use only one of them"));
    }
    if fix.is_on() && args.source.connection.assume_role.len() > 1 {
        return Err(Failure::usage("--fix works in one account at a time, but --assume-role is given several times"));
    }
    Ok(())
}

/// Purpose of a plan.
#[derive(Debug, Clone, Copy)]
enum Mode<'a> {
    /// `--emit`: printed in a language of infrastructure.
    Emit(EmitName),
    /// `--dry-run`: its calls are tried with the dry-run of the cloud.
    DryRun,
    /// `--plan-out`: saved for `tagaudit apply`.
    Save(&'a Path),
    /// Applied now.
    Apply,
}

impl<'a> Mode<'a> {
    fn from_args(args: &'a ScanArgs) -> Self {
        match (args.fix.emit, args.fix.dry_run, &args.fix.plan_out) {
            (Some(language), ..) => Self::Emit(language),
            (None, true, _) => Self::DryRun,
            (None, false, Some(path)) => Self::Save(path),
            (None, false, None) => Self::Apply,
        }
    }
}

/// The scan whose findings are fixed.
struct Fix<'a> {
    args: &'a ScanArgs,
    scope: &'a Scope<'a>,
    rules: &'a [&'static Rule],
    estate: &'a Estate,
    report: &'a Audit,
    /// Its findings, without the waived ones.
    open: Vec<Finding>,
    mode: Mode<'a>,
    out: Out,
}

/// Fixes the findings of a scan: a preview, the operator's answers to its questions, the plan, and its outcome.
pub(in crate::cli) fn scan(
    args: &ScanArgs,
    scope: &Scope<'_>,
    rules: &[&'static Rule],
    estate: &Estate,
    report: &Audit,
) -> Result<Exit, Failure> {
    let (mode, out) = (Mode::from_args(args), Out::new(&args.output.terminal));
    if let Mode::Emit(language) = mode {
        check_language(language, estate.provider())?;
    }
    if args.fix.fix_leftovers && estate.provider() == Provider::Alibaba {
        return Err(Failure::usage("--fix-leftovers supports only AWS so far"));
    }
    refuse_apart(scope, estate)?;
    let open = report.open().cloned().collect();
    let fix = Fix { args, scope, rules, estate, report, open, mode, out };
    let preview = fix.plan(Vec::new())?;
    let answers = fix.answers(&preview)?;
    let plan = if answers.is_empty() { preview } else { fix.plan(answers)? };
    let plan = plan.tried(&fix)?;
    plan.show(&fix)?;
    let outcome = plan.carry_out(&fix)?;
    outcome.show(&fix, &plan.planned.plan, plan.has_refusals())
}

impl Fix<'_> {
    fn is_live(&self) -> bool {
        self.args.source.inventory.is_none()
    }

    /// Plans the fixes, with answers of the operator beyond those of the command line.
    fn plan(&self, answers: Vec<Answer>) -> Result<Ready, Failure> {
        let fix = &self.args.fix;
        let mut approvals = Approvals { mandate: fix.mandate(), allow: fix.allow.clone(), answers: fix.choose.clone() };
        approvals.answers.extend(answers);
        let request = FixRequest { approvals, valid_for: self.args.fix.plan_valid_for, within: None };
        let planned = request::plan(self.scope, self.rules, self.estate, &self.open, &request, self.is_live())?;
        Ok(Ready { planned, approvals: request.approvals, trial: BTreeMap::new() })
    }

    /// The operator's answers, if there is an operator to ask.
    fn answers(&self, preview: &Ready) -> Result<Vec<Answer>, Failure> {
        let is_asked = self.is_live() && matches!(self.mode, Mode::Apply) && !self.args.fix.carry_out.yes;
        if is_asked && is_interactive() { answers::ask(&preview.planned.skipped) } else { Ok(Vec::new()) }
    }

    /// Writes the report of the scan.
    fn write_report(&self) -> Result<(), Failure> {
        write_report(self.args, self.scope, self.report)
    }
}

/// Refuses to fix anything if the cluster's tag and its Nodes contradict each other: one of the two belongs to another
/// cluster.
fn refuse_apart(scope: &Scope<'_>, estate: &Estate) -> Result<(), Failure> {
    match scope.apart(estate.as_ref()) {
        None => Ok(()),
        Some(apart) => {
            Err(Failure::usage("the cluster id and the Nodes do not belong to one cluster; nothing was written")
                .cause(apart.to_string())
                .help("check --cluster-id, and the context or file that the Nodes come from"))
        }
    }
}

/// Checks that a plan of this cloud can be printed in this language.
fn check_language(name: EmitName, provider: Provider) -> Result<(), Failure> {
    let of = match name {
        EmitName::Terraform => provider,
        EmitName::Cloudformation | EmitName::AwsCli => Provider::Aws,
        EmitName::AliyunCli => Provider::Alibaba,
    };
    if of == provider {
        return Ok(());
    }
    let others = match provider {
        Provider::Aws => "terraform, cloudformation or aws-cli",
        Provider::Alibaba => "terraform or aliyun-cli",
    };
    Err(Failure::usage(format!("--emit names a language of {}, but {} is audited", of.describe(), provider.describe()))
        .help(format!("give {others}")))
}
