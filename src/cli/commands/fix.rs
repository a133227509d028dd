//! `scan --fix`, `apply` and `undo`: plan, show, confirm, apply, audit again.

use std::collections::BTreeMap;
use std::path::Path;

#[cfg(not(any(feature = "aws", feature = "alibaba")))]
use offline as live;

use crate::audit::Audit;
use crate::estate::{Estate, EstateRef};
use crate::finding::{Choice, Finding};
use crate::fix::plan::{self, Answer, Approvals, DryRunAnswer, Plan, Planned, SkipReason, Skipped};
use crate::inventory::{Provider, write_private};
use crate::render;
use crate::report::SourceKind;
use crate::rules::Rule;
use crate::text;

use crate::cli::args::command::ScanArgs;
use crate::cli::io::clock::{now, stamp};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::output::emit;
use crate::cli::io::terminal::{Out, is_interactive, line, read_line, say};
use crate::cli::session::{CarriedOut, Scope, verdict, write_report};

#[cfg(any(feature = "aws", feature = "alibaba"))]
mod gate;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod live;
#[cfg(not(any(feature = "aws", feature = "alibaba")))]
mod offline;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod state_files;

use live::{carry_out_and_scan, dry_run, settle_earlier};

pub(in crate::cli) use live::{apply, undo};

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
    if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given && !fix.fix) {
        return Err(Failure::usage(format!("{option} requires --fix")).help("add --fix"));
    }
    if fix.plan_out.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("a plan is written to a file that only its owner may read, not to standard output")
            .help("name a file: --plan-out plan.json"));
    }
    let offline = args.source.inventory.is_some() || cfg!(not(any(feature = "aws", feature = "alibaba")));
    if fix.fix && offline && !fix.dry_run && fix.plan_out.is_none() && fix.emit.is_none() {
        return Err(Failure::usage("--fix writes to a live account, but --inventory names a recording")
            .help("add --dry-run, --emit, or --plan-out FILE for `tagaudit apply` later"));
    }
    if fix.fix && args.verdict.compare.is_some() {
        return Err(Failure::usage(
            "--compare reports what is new since a report, but --fix reports what is left after fixing",
        )
        .help("scan with --compare first, or save the report after fixing and compare it: `tagaudit report`"));
    }
    if fix.fix && args.source.connection.assume_role.len() > 1 {
        return Err(Failure::usage("--fix works in one account at a time, but --assume-role is given several times"));
    }
    Ok(())
}

/// Fixes the findings of a scan.
pub(in crate::cli) fn scan(
    args: &ScanArgs,
    scope: &Scope<'_>,
    rules: &[&'static Rule],
    estate: &Estate,
    report: &Audit,
) -> Result<Exit, Failure> {
    if let Some(name) = args.fix.emit {
        check_language(name, estate.provider())?;
    }
    refuse_apart(scope, estate)?;
    let out = Out::new(&args.output.terminal);
    let live = args.source.inventory.is_none();
    let approvals = Approvals { allow: args.fix.allow.clone(), answers: args.fix.choose.clone() };
    let mut asked = FixRequest { approvals, valid_for: args.fix.plan_valid_for, within: None };
    // Waived findings are not fixed.
    let open: Vec<Finding> = report.open().cloned().collect();
    let mut planned = make(scope, rules, estate, &open, &asked, live)?;
    let asks =
        live && args.fix.emit.is_none() && args.fix.plan_out.is_none() && !args.fix.dry_run && !args.fix.carry_out.yes;
    if asks && is_interactive() {
        let answers = ask(&planned.skipped)?;
        if !answers.is_empty() {
            asked.approvals.answers.extend(answers);
            planned = make(scope, rules, estate, &open, &asked, live)?;
        }
    }
    let ended = if planned.has_refusals() { Exit::Unfixed } else { verdict(report, estate, args) };
    if let Some(format) = args.fix.emit {
        report_skipped(&planned, &out);
        if !planned.rejected.is_empty() {
            return Err(rejected(&planned));
        }
        let file = args.output.outputs.iter().find_map(|output| output.file.as_deref());
        emit(file, &args.output.terminal, |_, page| {
            page.write_all(render::emit(&planned.plan, format.into()).as_bytes())
        })?;
        return Ok(ended);
    }
    if !planned.rejected.is_empty() {
        write_report(args, scope, report)?;
        report_skipped(&planned, &out);
        return Err(rejected(&planned));
    }
    if args.fix.dry_run {
        let answers = if live { dry_run(args, &planned.plan)? } else { BTreeMap::new() };
        write_report(args, scope, report)?;
        tell_plan(&planned, &answers, &out);
        let refused = answers.values().any(|answer| matches!(answer, DryRunAnswer::Refused(_)));
        return Ok(if refused { Exit::Unfixed } else { ended });
    }
    if let Some(path) = &args.fix.plan_out {
        save(&planned.plan, path)?;
        write_report(args, scope, report)?;
        tell_plan(&planned, &BTreeMap::new(), &out);
        tell_how_to_apply(&planned.plan, path, args);
        return Ok(ended);
    }
    tell_plan(&planned, &BTreeMap::new(), &out);
    if planned.plan.changes.is_empty() {
        settle_earlier(args, scope, &planned.plan)?;
        write_report(args, scope, report)?;
        return Ok(ended);
    }
    let whole = match carry_out_and_scan(args, scope, rules, &planned, asked) {
        Ok(CarriedOut { report: after, estate, whole }) => {
            write_report(args, scope, &after)?;
            if whole && !planned.has_refusals() { verdict(&after, &estate, args) } else { Exit::Unfixed }
        }
        Err(failure) => {
            write_report(args, scope, report)?;
            return Err(failure);
        }
    };
    Ok(whole)
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

/// Options of a plan that the operator sets.
#[derive(Default)]
struct FixRequest<'a> {
    approvals: Approvals,
    /// Lifetime of the plan, if it is set.
    valid_for: Option<jiff::SignedDuration>,
    /// Approved plan that limits this one.
    within: Option<&'a Plan>,
}

fn make(
    scope: &Scope<'_>,
    rules: &[&'static Rule],
    estate: &Estate,
    findings: &[Finding],
    asked: &FixRequest<'_>,
    live: bool,
) -> Result<Planned, Failure> {
    let created = now();
    let read_at = estate.as_ref().collected_at().and_then(|at| at.parse().ok()).map_or(created, |at| created.min(at));
    let expires = read_at.checked_add(asked.valid_for.unwrap_or(plan::LIFETIME)).unwrap_or(read_at);
    let source = if live { SourceKind::Live } else { SourceKind::Inventory };
    let for_plan = plan::Scope {
        cluster_id: scope.cluster_id,
        created_at: stamp(created),
        expires_at: stamp(expires),
        evidence: source.name(),
        nodes: scope.nodes(),
        rules: rules.iter().map(|rule| rule.id).collect(),
        options: scope.options(),
        within: asked.within,
    };
    let audit = |estate: EstateRef<'_>, cluster_id: &str| scope.auditor(rules, source).re_audit(estate, cluster_id);
    plan::build(estate.as_ref(), findings, &for_plan, &asked.approvals, &audit)
        .map_err(|error| Failure::from_error(Exit::Usage, &error))
}

/// Checks that a plan of this cloud can be printed in this language.
fn check_language(name: crate::cli::args::fix::EmitName, provider: Provider) -> Result<(), Failure> {
    use crate::cli::args::fix::EmitName;
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

fn rejected(planned: &Planned) -> Failure {
    let mut failure = Failure::new(Exit::Unfixed, "the plan was refused, and nothing was written");
    failure.causes.clone_from(&planned.rejected);
    failure.help("drop the --allow or --choose that causes this, or fix it by hand first")
}

fn report_skipped(planned: &Planned, out: &Out) {
    for note in &planned.notes {
        line(&format!("note: {note}"));
    }
    say(&render::skipped(&planned.skipped, out.color, out.width));
}

fn tell_plan(planned: &Planned, answers: &BTreeMap<String, DryRunAnswer>, out: &Out) {
    if planned.plan.changes.is_empty() {
        line("Nothing to write.");
    } else {
        say(&render::plan(&planned.plan, answers, out.color, out.width));
    }
    report_skipped(planned, out);
}

/// Prints the full command that applies a saved plan: the account is read again then, with the options of this scan.
fn tell_how_to_apply(plan: &Plan, path: &Path, args: &ScanArgs) {
    let file = path.display().to_string();
    let mut words = vec!["tagaudit apply".to_owned(), text::shell_quote(&file).into_owned()];
    let approvals = args.fix.allow.iter().map(|rule| ("--allow", Some(rule.clone())));
    let answers = args.fix.choose.iter().map(|answer| ("--choose", Some(answer.to_string())));
    let said = args.source.connection.said().into_iter().chain(args.audit.said()).chain(approvals).chain(answers);
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

fn save(plan: &Plan, path: &Path) -> Result<(), Failure> {
    let bytes = plan.to_json().map_err(|error| Failure::from_error(Exit::Usage, &error))?;
    write_private(path, &bytes)
        .map_err(|error| Failure::usage(format!("cannot write the plan `{}`", path.display())).cause(error.to_string()))
}

/// Asks the questions of the findings. Nothing is chosen for the operator: an empty answer skips the finding.
fn ask(left: &[Skipped]) -> Result<Vec<Answer>, Failure> {
    let mut answers = Vec::new();
    for left in left {
        let SkipReason::Question(choices) = &left.reason else { continue };
        say("\n");
        line(&format!("{} on {}: {}", left.rule, left.resource, left.what));
        for (index, choice) in choices.iter().enumerate() {
            let proposed = if index == 0 && choices.len() > 1 { " (proposed)" } else { "" };
            line(&format!("  {}  {}{proposed}", index + 1, choice.summary));
        }
        let picked: Option<&Choice> = loop {
            say(&format!("1 to {}, or Enter to skip it: ", choices.len()));
            let answer = read_line()?;
            match answer.trim() {
                "" => break None,
                text => match text.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?)) {
                    Some(choice) => break Some(choice),
                    None => line("that is not one of the choices"),
                },
            }
        };
        answers.extend(picked.map(|choice| Answer {
            rule: left.rule.to_owned(),
            resource: left.resource.clone(),
            value: choice.value.clone(),
        }));
    }
    Ok(answers)
}
