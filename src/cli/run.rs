//! What each command does.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::{CommandFactory, Parser};

use crate::clusters::Clusters;
use crate::inventory::{Inventory, Provider, write_private};
use crate::nodes::KubernetesNode;
#[cfg(feature = "aws")]
use crate::provider::aws;
use crate::report::{Report, SourceKind, TableOptions};
use crate::role_audit::RoleAuditOptions;
use crate::rules::Rule;
use crate::scan::{self, Audit};

#[cfg(feature = "aws")]
use super::ConnectionArgs;
use super::failure::{Exit, Failure};
use super::policy_args::PolicyCommand;
use super::{
    AuditArgs, Cli, ClustersArgs, ColorChoice, Command, Format, OutputArgs, RecordArgs, ScanArgs, SourceArgs,
    TerminalArgs, fix, input, policy_commands, text_commands,
};

/// Columns of a table that does not go to a terminal.
const FILE_WIDTH: usize = 120;

/// Runs the command line and says how it ended.
#[must_use]
pub fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are asked for and go to standard output; everything else is a wrong use.
            let asked = !error.use_stderr();
            let _ = error.print();
            return if asked { Exit::Clean } else { Exit::Usage };
        }
    };
    match run(&cli.command) {
        Ok(exit) => exit,
        Err(failure) => {
            let _ = io::stderr().lock().write_all(failure.render().as_bytes());
            failure.exit
        }
    }
}

fn run(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Scan(args) => scan(args),
        Command::Apply(args) => fix::apply(args),
        Command::Undo(args) => fix::undo(args),
        Command::Clusters(args) => clusters(args),
        Command::Record(args) => record(args),
        Command::Policy(command) => policy(command),
        Command::Rules(args) => printed(|out| Ok(text_commands::rules(args, text_width(), out))),
        Command::Explain(args) => printed(|out| text_commands::explain(args, text_width(), out)),
        Command::Baseline(command) => printed(|out| text_commands::baseline(command, text_width(), out)),
        Command::Permissions(args) => printed(|out| Ok(text_commands::permissions(args, text_width(), out))),
        Command::Completions(args) => printed(|out| {
            // Rendered first: clap_complete panics when standard output is closed early.
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "tagaudit", &mut script);
            Ok(out.write_all(&script))
        }),
        Command::Man => printed(|out| Ok(manual(out))),
    }
}

fn policy(command: &PolicyCommand) -> Result<Exit, Failure> {
    match command {
        PolicyCommand::Diff(args) => {
            let (diff, unknown) = policy_commands::diff(args)?;
            for what in &unknown {
                policy_commands::warn(&format!("not compared: {what}"));
            }
            emit(&args.output, |options, out| diff.write(args.output.format == Format::Json, &options, out))?;
            Ok(policy_commands::diff_exit(&diff, &unknown))
        }
        PolicyCommand::Eval(args) => {
            if let Some(path) = &args.cases {
                return policy_commands::cases(path, &mut io::stdout().lock());
            }
            let (written, exit) = policy_commands::eval(args, &mut io::stdout().lock())?;
            finish(written)?;
            Ok(exit)
        }
        PolicyCommand::Lint(args) => {
            let linted = policy_commands::lint_files(args)?;
            emit(&args.output, |options, out| policy_commands::write_lint(&linted, args.output.format, &options, out))?;
            Ok(policy_commands::lint_exit(&linted, args.fail_on))
        }
        PolicyCommand::Expand(args) => printed(|out| policy_commands::expand(args, out)),
        PolicyCommand::Shrink(args) => printed(|out| policy_commands::shrink(args, out)),
    }
}

/// The manual: the page of the command and of each subcommand, one after the other.
fn manual(out: &mut dyn Write) -> io::Result<()> {
    let command = Cli::command();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for subcommand in command.get_subcommands() {
        let name = format!("tagaudit-{}", subcommand.get_name());
        clap_mangen::Man::new(subcommand.clone().name(name.clone())).render(&mut page)?;
        for inner in subcommand.get_subcommands() {
            let name = format!("{name}-{}", inner.get_name());
            clap_mangen::Man::new(inner.clone().name(name)).render(&mut page)?;
        }
    }
    out.write_all(&page)
}

/// What a scan compares with, read once and used for every look.
pub(super) struct Scope<'a> {
    pub(super) cluster_id: &'a str,
    pub(super) nodes: Option<Vec<KubernetesNode>>,
    pub(super) baselines: RoleAuditOptions,
    pub(super) audit: &'a AuditArgs,
}

impl<'a> Scope<'a> {
    pub(super) fn read(cluster_id: &'a str, audit: &'a AuditArgs) -> Result<Self, Failure> {
        let baselines = input::baselines(audit)?;
        let nodes = audit.nodes.as_deref().map(input::nodes).transpose()?;
        Ok(Self { cluster_id, nodes, baselines, audit })
    }

    pub(super) fn options<'o>(&'o self, rules: &'o [&'static Rule], source: SourceKind) -> scan::Options<'o> {
        scan::Options {
            cluster_id: self.cluster_id,
            nodes: self.nodes.as_deref(),
            selectors: &self.audit.node_role,
            baselines: &self.baselines,
            rules,
            cloud_routes: self.audit.cloud_routes,
            source,
        }
    }

    pub(super) fn report(
        &self,
        inventory: &Inventory,
        rules: &[&'static Rule],
        source: SourceKind,
    ) -> Result<Audit, Failure> {
        let options = self.options(rules, source);
        scan::audit(inventory, &options).map_err(|error| Failure::from_error(Exit::Usage, &error))
    }
}

fn scan(args: &ScanArgs) -> Result<Exit, Failure> {
    let rules = input::selected_rules(args)?;
    fix::check(args)?;
    let stdin = Path::new("-");
    if args.audit.nodes.as_deref() == Some(stdin) && args.source.inventory.as_deref() == Some(stdin) {
        return Err(Failure::usage("--nodes and --inventory cannot both read standard input"));
    }
    let scope = Scope::read(&args.cluster_id, &args.audit)?;
    let inventory = collect(&args.source, &args.output.terminal, Some(&scope))?;
    let source = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let report = scope.report(&inventory, &rules, source)?;
    if args.fix.fix {
        return fix::scan(args, &scope, &rules, &inventory, &report);
    }
    write_report(args, &report)?;
    let exit = verdict(&report, &inventory, args);
    // The process ends here: freeing millions of small strings one by one would take as long as checking them did.
    std::mem::forget((inventory, report));
    Ok(exit)
}

pub(super) fn write_report(args: &ScanArgs, audit: &Audit) -> Result<(), Failure> {
    let report = Report::new(audit);
    emit(&args.output, |options, out| match args.output.format {
        Format::Table => report.write_table(&options, out),
        Format::Json => report.write_json(out),
    })
}

pub(super) fn verdict(report: &Audit, inventory: &Inventory, args: &ScanArgs) -> Exit {
    if args.fail_on.threshold().is_some_and(|threshold| report.at_least(threshold) > 0) {
        Exit::Findings
    } else if is_empty_handed(inventory) {
        Exit::Nothing
    } else if !report.is_complete() {
        Exit::Incomplete
    } else {
        Exit::Clean
    }
}

/// Whether every region was refused so thoroughly that nothing is known.
fn is_empty_handed(inventory: &Inventory) -> bool {
    !inventory.gaps.is_empty()
        && inventory.accounts.iter().flat_map(|account| &account.regions).all(|region| {
            region.instances.is_empty()
                && region.subnets.is_empty()
                && region.vpcs.is_empty()
                && region.security_groups.is_empty()
        })
}

fn clusters(args: &ClustersArgs) -> Result<Exit, Failure> {
    let inventory = collect(&args.source, &args.output.terminal, None)?;
    let clusters = Clusters::of(&inventory);
    emit(&args.output, |options, out| match args.output.format {
        Format::Table => clusters.write_table(&options, out),
        Format::Json => crate::report::write_json(&clusters, out),
    })?;
    Ok(match (is_empty_handed(&inventory), clusters.not_audited.is_empty()) {
        (true, _) => Exit::Nothing,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Clean,
    })
}

fn record(args: &RecordArgs) -> Result<Exit, Failure> {
    if args.output.as_os_str() == "-" {
        return Err(Failure::usage(
            "an inventory is written to a file that only its owner may read, not to standard output",
        )
        .help("name a file: -o inventory.json"));
    }
    let inventory = collect(&args.source, &args.terminal, None)?;
    let bytes = inventory.to_json().map_err(|error| Failure::from_error(Exit::Usage, &error))?;
    write_private(&args.output, &bytes).map_err(|error| {
        Failure::usage(format!("cannot write the inventory `{}`", args.output.display())).cause(error.to_string())
    })?;
    if !args.terminal.quiet {
        let mut err = io::stderr().lock();
        for gap in &inventory.gaps {
            let _ = writeln!(err, "warning: not read: {}: {}", gap.read, crate::text::printable(&gap.message));
        }
        let _ = writeln!(err, "wrote {}", crate::text::printable(&args.output.display().to_string()));
    }
    Ok(match (is_empty_handed(&inventory), inventory.gaps.is_empty()) {
        (true, _) => Exit::Nothing,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Clean,
    })
}

/// The evidence, from wherever the operator says. A scan says whose roles it needs; anything else reads them all.
fn collect(source: &SourceArgs, terminal: &TerminalArgs, scope: Option<&Scope<'_>>) -> Result<Inventory, Failure> {
    if let Some(path) = &source.inventory {
        let inventory = input::inventory(path, source)?;
        return match inventory.provider {
            Provider::Aws => Ok(inventory),
            // The rules are those of the controllers in AWS: they would say nothing true of another cloud.
            Provider::Alibaba => Err(Failure::usage(format!(
                "`{}` is an inventory of Alibaba Cloud, and this version audits AWS",
                path.display()
            ))),
        };
    }
    live(source, terminal, scope)
}

/// A request to an account, for reading or writing.
#[cfg(feature = "aws")]
pub(super) fn request<'a>(
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
    scope: Option<&'a Scope<'_>>,
) -> aws::Request<'a> {
    aws::Request {
        profile: connection.profile.clone(),
        endpoint_url: connection.endpoint_url.clone(),
        insecure_endpoint: connection.insecure_endpoint,
        regions: connection.region.clone(),
        all_regions: false,
        assume_roles: connection.assume_role.clone(),
        external_id: connection.external_id.clone(),
        iam_reads: crate::provider::IamReads::Auto,
        requests_per_second: connection.requests_per_second,
        timeout: std::time::Duration::from_secs(connection.timeout),
        cluster: scope.map(|scope| aws::ClusterScope {
            cluster_id: scope.cluster_id.to_owned(),
            nodes: scope.nodes.as_deref(),
            controller_roles: &scope.baselines.controller_roles,
        }),
        progress: !terminal.quiet && !terminal.verbose && io::stderr().is_terminal(),
        verbose: terminal.verbose,
    }
}

#[cfg(feature = "aws")]
fn live(source: &SourceArgs, terminal: &TerminalArgs, scope: Option<&Scope<'_>>) -> Result<Inventory, Failure> {
    let request = aws::Request {
        all_regions: source.all_regions,
        iam_reads: source.iam_reads,
        ..request(&source.connection, terminal, scope)
    };
    aws::collect(&request).map_err(provider_failure)
}

/// Why an account could not be reached, as the command line says it.
#[cfg(feature = "aws")]
pub(super) fn provider_failure(error: aws::Error) -> Failure {
    let exit = match error.kind {
        aws::ErrorKind::Usage => Exit::Usage,
        aws::ErrorKind::Unreachable => Exit::Nothing,
        aws::ErrorKind::Interrupted => Exit::Interrupted,
        aws::ErrorKind::Terminated => Exit::Terminated,
    };
    Failure { exit, error: error.message, causes: error.causes, help: error.help }
}

#[cfg(not(feature = "aws"))]
fn live(_: &SourceArgs, _: &TerminalArgs, _: Option<&Scope<'_>>) -> Result<Inventory, Failure> {
    Err(Failure::usage("this build cannot read a live account: it was made without the feature `aws`")
        .help("give --inventory PATH, or install tagaudit with its default features"))
}

/// Runs a command whose output goes to standard output.
fn printed(write: impl FnOnce(&mut dyn Write) -> Result<io::Result<()>, Failure>) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let written = write(&mut page)?;
    finish(written.and_then(|()| io::stdout().lock().write_all(&page)))?;
    Ok(Exit::Clean)
}

/// Writes a report to standard output or to a file; a file appears whole or not at all.
pub(super) fn emit(
    args: &OutputArgs,
    write: impl FnOnce(TableOptions, &mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let verbose = args.terminal.verbose;
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("`-o -` names no file").help("leave -o out to write to standard output"));
    }
    if let Some(path) = &args.output {
        let mut page = Vec::new();
        let color = args.terminal.color == ColorChoice::Always;
        let written = write(TableOptions { width: FILE_WIDTH, color, verbose }, &mut page)
            .and_then(|()| write_private(path, &page));
        return written.map_err(|error| {
            Failure::usage(format!("cannot write the report `{}`", path.display())).cause(error.to_string())
        });
    }
    let stdout = io::stdout();
    let color = match args.terminal.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never,
    };
    finish(write(TableOptions { width: table_width(), color, verbose }, &mut stdout.lock()))
}

/// A reader that has seen enough is no failure.
fn finish(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::usage("cannot write to standard output").cause(error.to_string()))
        }
        _ => Ok(()),
    }
}

fn table_width() -> usize {
    columns(io::stdout().is_terminal().then(terminal_size::terminal_size).flatten())
}

/// Columns of standard error, which may be a terminal when standard output is not.
pub(super) fn error_width() -> usize {
    let stderr = io::stderr();
    columns(stderr.is_terminal().then(|| terminal_size::terminal_size_of(stderr)).flatten())
}

fn columns(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    terminal.map_or(FILE_WIDTH, |(width, _)| usize::from(width.0).clamp(40, 200))
}

/// Running text is easier to read in shorter lines.
fn text_width() -> usize {
    table_width().min(FILE_WIDTH)
}
