//! Runs each command.

use std::io::{self, Write};

use crate::config::Config;
use crate::inventory::{Provider, write_private};
use crate::render::{self, FindingsFormat, TableOptions};
use crate::report::{LintReport, PolicyLintReport, ReportView, SourceKind};

use crate::cli::args::Format;
use crate::cli::args::command::LintArgs;
use crate::cli::args::command::{ClustersArgs, Command, RecordArgs, ReportArgs, ScanArgs};
use crate::cli::args::config::{self, Refusal};
use crate::cli::args::outputs::Outputs;
use crate::cli::args::policy::{DialectName, PolicyCommand};
use crate::cli::commands::complete;
use crate::cli::commands::fix;
use crate::cli::commands::many;
use crate::cli::commands::merge;
use crate::cli::commands::permissions;
use crate::cli::commands::policy;
use crate::cli::commands::show;
use crate::cli::commands::{baseline as baseline_command, catalogue, config as config_command};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input;
use crate::cli::io::output;
use crate::cli::io::output::{emit, finish, printed, text_width};
use crate::cli::io::pager;
use crate::cli::session::kubernetes as cluster;
use crate::cli::session::{self, Scope, collect};

/// Runs the command line and returns its exit code.
#[must_use]
pub fn main() -> Exit {
    let arguments: Vec<_> = std::env::args_os().collect();
    match complete::answered(arguments.clone()) {
        Ok(true) => return Exit::Clean,
        Ok(false) => {}
        Err(failure) => {
            let _ = io::stderr().lock().write_all(failure.render().as_bytes());
            return failure.exit;
        }
    }
    let (cli, configured) = match config::command_line(&arguments) {
        Ok(command_line) => command_line,
        Err(Refusal::Config(failure)) => {
            let _ = io::stderr().lock().write_all(failure.render().as_bytes());
            return failure.exit;
        }
        Err(Refusal::Usage(error)) => {
            // Help and version were requested and go to standard output; everything else is a usage error.
            if error.use_stderr() {
                let _ = error.print();
                return Exit::Usage;
            }
            let _ = pager::write(&help(&error));
            return Exit::Clean;
        }
    };
    let mut cli = cli;
    cli.command.set_threshold();
    match run(&cli.command, configured.as_ref()) {
        Ok(exit) => exit,
        Err(failure) => {
            let _ = io::stderr().lock().write_all(failure.render().as_bytes());
            failure.exit
        }
    }
}

/// Help or version, with colours where clap would print them.
fn help(error: &clap::Error) -> Vec<u8> {
    let has_colors = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let text = error.render();
    if has_colors { text.ansi().to_string().into_bytes() } else { text.to_string().into_bytes() }
}

fn run(command: &Command, configured: Option<&Config>) -> Result<Exit, Failure> {
    match command {
        Command::Scan(args) => scan(args, configured),
        Command::Config(command) => config_command::run(command),
        Command::Apply(args) => fix::apply(args),
        Command::Undo(args) => fix::undo(args),
        Command::Clusters(args) => clusters(args),
        Command::Roles(args) => super::roles::run(args),
        Command::Simulate(args) => super::simulate::run(args),
        Command::Guard(args) => super::guard::run(args),
        Command::Why(args) => super::why::run(args),
        Command::Record(args) => record(args),
        Command::Lint(args) => lint(args),
        Command::Policy(command) => policy(command),
        Command::Report(args) => report(args),
        Command::Merge(args) => merge::merge(args),
        Command::Rules(args) => printed(|out| Ok(catalogue::rules(args, out))),
        Command::Explain(args) => printed(|out| catalogue::explain(args, text_width(), out)),
        Command::Example(args) => super::example::example(args),
        Command::Migrate(args) => super::migrate::migrate(args),
        Command::Baseline(command) => printed(|out| baseline_command::baseline(command, text_width(), out)),
        Command::Permissions(args) => printed(|out| permissions::permissions(args, text_width(), out)),
        Command::Completions(args) => printed(|out| {
            // Rendered first: clap_complete panics when standard output is closed early.
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut config::command_with_environment(), "tagaudit", &mut script);
            Ok(out.write_all(&script))
        }),
        Command::Man(args) => super::manual::run(args),
    }
}

fn lint(args: &LintArgs) -> Result<Exit, Failure> {
    let (found, broken) = super::lint::lint(args)?;
    // If no file can be read, there is nothing to show.
    if let Some(failure) = broken.as_ref().filter(|_| found.files.is_empty()) {
        return Err(failure.clone());
    }
    let report = LintReport::new(&found);
    write_findings(&args.output, &ReportView::from(&report), |format, options, out| match format {
        PageFormat::Table => render::kubernetes_lint(&found, options, out),
        PageFormat::Json => render::json(&report, out),
    })?;
    match broken {
        Some(failure) => Err(failure),
        None => Ok(super::lint::exit(&found, args)),
    }
}

fn policy(command: &PolicyCommand) -> Result<Exit, Failure> {
    match command {
        PolicyCommand::Diff(args) => {
            let diff = policy::diff(args)?;
            for what in &diff.unknown {
                output::warn(&format!("not compared: {what}"));
            }
            let findings = diff.findings();
            write_findings(&args.output, &ReportView::from(&findings), |format, options, out| match format {
                PageFormat::Table => render::policy_diff(&diff, options, out),
                PageFormat::Json => render::json(&diff, out),
            })?;
            Ok(policy::diff_exit(&diff))
        }
        PolicyCommand::Eval(args) => {
            if let Some(path) = &args.cases {
                return policy::cases(path, args.language.dialect.map(DialectName::dialect), &mut io::stdout().lock());
            }
            let (written, exit) = policy::eval(args, &mut io::stdout().lock())?;
            finish(written)?;
            Ok(exit)
        }
        PolicyCommand::Lint(args) => {
            let linted = policy::lint_files(args)?;
            let report = PolicyLintReport::new(&linted);
            write_findings(&args.output, &ReportView::from(&report), |format, options, out| match format {
                PageFormat::Table => render::lint(&linted, options, out),
                PageFormat::Json => render::json(&report, out),
            })?;
            Ok(policy::lint_exit(&linted, args.fail_on))
        }
        PolicyCommand::Expand(args) => printed(|out| policy::expand(args, out)),
        PolicyCommand::Shrink(args) => printed(|out| policy::shrink(args, out)),
    }
}

/// Formats that each command renders itself.
enum PageFormat {
    Table,
    Json,
}

/// Writes findings in the requested formats.
fn write_findings(
    outputs: &Outputs<FindingsFormat>,
    view: &ReportView<'_>,
    page: impl Fn(PageFormat, &TableOptions, &mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    output::emit_all(outputs, |format, options, out| match format {
        FindingsFormat::Table => page(PageFormat::Table, options, out),
        FindingsFormat::Json => page(PageFormat::Json, options, out),
        FindingsFormat::Markdown => render::markdown(view, out),
        FindingsFormat::Sarif => render::sarif(view, out),
        FindingsFormat::Junit => render::junit(view, options.threshold, out),
        FindingsFormat::Github => render::github(view, out),
        FindingsFormat::Csv => render::csv(view, out),
    })
}

fn scan(args: &ScanArgs, configured: Option<&Config>) -> Result<Exit, Failure> {
    let rules = input::selected_rules(args)?;
    fix::check(args)?;
    output::check_folders(&args.output)?;
    input::check_stdin(&args.audit.evidence, &args.source, (&[], args.prices.as_deref()))?;
    if many::is_asked(args) {
        return many::scan(args, &rules, configured);
    }
    let cluster_id = args.cluster_id.as_deref().unwrap_or_default();
    session::waivers::check(&args.verdict)?;
    let read = Scope::read(cluster_id, &args.audit, &args.source.connection, &args.output.terminal)?;
    let prices = input::prices(args.prices.as_deref())?;
    let mut scope = Scope { config: configured, prices, ..read };
    // An invalid earlier report fails before an account is read; the cloud of an inventory is known only from its file.
    let asked = args.source.provider.map_or(Provider::Aws, Provider::from);
    let early = match args.source.inventory {
        Some(_) => None,
        None => Some(session::earlier(&args.verdict, cluster_id, asked)?),
    };
    let estate = collect(&args.source, &args.output.terminal, Some(&scope))?;
    scope.take(&estate);
    let earlier = match early {
        Some(earlier) => earlier,
        None => session::earlier(&args.verdict, cluster_id, estate.provider())?,
    };
    input::check_rules(args, &rules, estate.provider())?;
    let source = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let (audit, notices) = scope.audited(estate.as_ref(), &rules, source)?;
    if !args.output.terminal.quiet {
        let file = configured.map_or("", |config| config.file.as_str());
        for notice in notices {
            output::warn(&format!("{file}:{}: {}", notice.place.line, notice.message));
        }
    }
    if args.fix.is_on() {
        return fix::scan(args, &scope, &rules, &estate, &audit);
    }
    let mut report = scope.written(&audit);
    session::compare(&mut report, earlier.as_ref(), &args.verdict)?;
    output::write(&args.output, &report)?;
    session::waivers::write(&args.verdict, &report.findings)?;
    let exit = if session::fails(&report, &args.verdict) {
        Exit::Findings
    } else {
        session::ended_alone(&report, estate.is_empty_handed(), &args.verdict)
    };
    // The process ends here: freeing millions of small strings one by one would take as long as checking them did.
    std::mem::forget((estate, audit, report, earlier));
    Ok(exit)
}

/// Shows a saved report, with the exit code of the scan that wrote it. If only terminated instances could be read,
/// which a report does not count, the exit code is that of an empty audit.
fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    match input::saved(&args.file)? {
        input::SavedReport::Many(set) => many::report(args, *set),
        input::SavedReport::One(report) => {
            if args.cluster_id.is_none() {
                show::show(args, *report)
            } else {
                many::report(args, (*report).into())
            }
        }
    }
}

fn clusters(args: &ClustersArgs) -> Result<Exit, Failure> {
    let format = output::chosen(args.output.format, args.output.output.as_deref())?;
    let estate = collect(&args.source, &args.output.terminal, None)?;
    let clusters = estate.as_ref().clusters();
    emit(args.output.output.as_deref(), &args.output.terminal, |options, out| match format {
        Format::Table => render::clusters(&clusters, &options, out),
        Format::Json => render::json(&clusters, out),
    })?;
    Ok(Exit::for_evidence(estate.is_empty_handed(), clusters.not_audited.is_empty()))
}

fn record(args: &RecordArgs) -> Result<Exit, Failure> {
    if args.output.as_os_str() == "-" {
        return Err(Failure::usage(
            "an inventory is written to a file that only its owner may read, not to standard output",
        )
        .help("name a file: -o inventory.json"));
    }
    let recording = match &args.kube_context {
        Some(context) => Some(cluster::read(context, &args.source.connection, &args.terminal)?),
        None => cluster::kept(&args.kubernetes, &args.terminal)?,
    };
    let mut estate = session::collect_whole(&args.source, &args.terminal)?;
    if recording.is_some() {
        estate.set_kubernetes(recording);
    }
    let unlisted = estate.kubernetes().map_or(&[][..], |recording| &recording.gaps);
    let bytes = estate.to_json().map_err(|error| Failure::from_error(Exit::Usage, &error))?;
    write_private(&args.output, &bytes).map_err(|error| {
        Failure::usage(format!("cannot write the inventory `{}`", args.output.display())).cause(error.to_string())
    })?;
    if !args.terminal.quiet {
        let mut err = io::stderr().lock();
        for gap in estate.gaps() {
            let _ = writeln!(err, "warning: not read: {}: {}", gap.read, crate::text::printable(&gap.message));
        }
        for gap in unlisted {
            let _ = writeln!(err, "warning: not read: {}: {}", gap.list.what(), crate::text::printable(&gap.message));
        }
        let _ = writeln!(err, "wrote {}", crate::text::printable(&args.output.display().to_string()));
    }
    Ok(Exit::for_evidence(estate.is_empty_handed(), estate.gaps().is_empty() && unlisted.is_empty()))
}
