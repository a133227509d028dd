//! Output of commands: destinations and widths.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::ValueEnum;

use crate::inventory::{Access, PendingFile};
use crate::render::{self, FileFormat, Language, ReportFormat, TableOptions};
use crate::report::{Report, ReportSet, Whole};
use crate::text;

use crate::cli::args::outputs::{Output, Outputs, name};
use crate::cli::args::{ColorChoice, TerminalArgs};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files;
use crate::cli::io::pager;

/// Columns of a table that is not written to a terminal.
const FILE_WIDTH: usize = 120;

/// Writes a report in the requested formats.
pub(in crate::cli) fn write(args: &Outputs<ReportFormat>, report: &Report) -> Result<(), Failure> {
    emit_all(args, |format, options, out| format.write(report, options, out))
}

/// Writes the reports of many targets in the requested formats.
pub(in crate::cli) fn write_set(args: &Outputs<ReportFormat>, set: &ReportSet) -> Result<(), Failure> {
    emit_all(args, |format, options, out| match format {
        // What a merge did not keep of the reports is read again.
        ReportFormat::Json => render::json(&Whole { set, read: &files::part }, out),
        _ => format.write_set(set, options, out),
    })
}

/// Rejects a file in a folder that does not exist, before anything is read or written.
pub(in crate::cli) fn check_folders<F>(args: &Outputs<F>) -> Result<(), Failure> {
    let files = args.outputs.iter().filter_map(|output| output.file.as_deref());
    let folder = |file: &Path| file.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_owned);
    for (file, folder) in files.filter_map(|file| Some((file, folder(file)?))) {
        if !folder.is_dir() {
            return Err(Failure::usage(format!("cannot write `{}`", file.display()))
                .cause(format!("there is no folder `{}`", folder.display()))
                .help("create the folder first"));
        }
    }
    Ok(())
}

/// Writes something in the requested formats: first the files, all of them or none, then standard output.
pub(in crate::cli) fn emit_all<F: FileFormat>(
    args: &Outputs<F>,
    write: impl Fn(&F, &TableOptions, &mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut files = Vec::new();
    for Output { format, file } in &args.outputs {
        let Some(path) = file else { continue };
        let language = args.terminal.languages.of(format.is_page());
        let kind = (format.access(), language);
        let pending = pending(path, &args.terminal, kind, |options, out| write(format, options, out))?;
        files.push((path, pending));
    }
    for (path, pending) in files {
        pending.put().map_err(|error| unwritten(path, &error))?;
    }
    match args.outputs.iter().find(|output| output.file.is_none()) {
        Some(Output { format, .. }) => {
            emit_page(&args.terminal, format.is_page(), |options, out| write(format, &options, out))
        }
        None => Ok(()),
    }
}

/// Format of a command with one output: the given one, or that of the name of its file, or the first, which is the table.
///
/// # Errors
/// If the name implies another format than the given one, or one that the command does not have.
pub(in crate::cli) fn chosen<F: ValueEnum>(given: Option<F>, file: Option<&Path>) -> Result<F, Failure> {
    let extension = file.and_then(Path::extension).and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    // A table is a text, and may have any other name as well.
    let of_name = extension.as_deref().and_then(ReportFormat::from_extension);
    let implied = of_name.filter(|format| *format != ReportFormat::Table).map(|format| name(&format));
    let shown = file.map(|file| file.display().to_string()).unwrap_or_default();
    let all = || F::value_variants().iter();
    match (given, implied) {
        (Some(given), Some(implied)) if name(&given) != implied => Err(Failure::usage(format!(
            "the file `{shown}` would hold {}, but its name implies {implied}",
            name(&given)
        ))
        .help("name the file after the format, such as `report.txt` for a table")),
        (Some(given), _) => Ok(given),
        (None, Some(implied)) => all().find(|one| name(*one) == implied).cloned().ok_or_else(|| {
            let names: Vec<String> = all().map(name).collect();
            Failure::usage(format!("the name of `{shown}` implies {implied}, which is not written here"))
                .help(format!("it may be one of {}: give --format, and a name such as `report.txt`", names.join(", ")))
        }),
        (None, None) => all().next().cloned().ok_or_else(|| Failure::usage("this command has no format")),
    }
}

/// Runs a command whose output is text to read or to pipe: through a pager on a terminal.
pub(in crate::cli) fn printed(
    write: impl FnOnce(&mut dyn Write) -> Result<io::Result<()>, Failure>,
) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let written = write(&mut page)?;
    finish(written.and_then(|()| pager::write(&page)))?;
    Ok(Exit::Clean)
}

/// Writes a report to standard output or to a file; a file is written completely or not at all.
pub(in crate::cli) fn emit(
    output: Option<&Path>,
    terminal: &TerminalArgs,
    write: impl FnOnce(TableOptions, &mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if let Some(path) = output {
        let kind = (Access::Owner, terminal.languages.of(false));
        let pending = pending(path, terminal, kind, |options, out| write(*options, out))?;
        return pending.put().map_err(|error| unwritten(path, &error));
    }
    emit_page(terminal, false, write)
}

/// Writes a report to standard output.
fn emit_page(
    terminal: &TerminalArgs,
    is_page: bool,
    write: impl FnOnce(TableOptions, &mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let TerminalArgs { verbose, threshold, .. } = *terminal;
    let stdout = io::stdout();
    let color = match terminal.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_forced() || anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never,
    };
    let language = terminal.languages.of(is_page || stdout.is_terminal());
    // A terminal without colours shows no links either.
    let links = color && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout);
    finish(write(
        TableOptions { width: table_width(), color, links, verbose, threshold, language },
        &mut io::BufWriter::new(stdout.lock()),
    ))
}

/// True if `FORCE_COLOR` asks for colours without a terminal, as CI systems do. `NO_COLOR` counts more.
/// Sources: <https://force-color.org>, <https://no-color.org>.
#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
pub(in crate::cli) fn is_forced() -> bool {
    let is_off = |value: &OsStr| value.is_empty() || value == "0" || value.eq_ignore_ascii_case("false");
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !is_off(&value));
    is_set("FORCE_COLOR") && !is_set("NO_COLOR")
}

/// Writes a file that is then to be put in its place.
fn pending(
    path: &Path,
    terminal: &TerminalArgs,
    (access, language): (Access, Language),
    write: impl FnOnce(&TableOptions, &mut dyn Write) -> io::Result<()>,
) -> Result<PendingFile, Failure> {
    if path == Path::new("-") {
        return Err(Failure::usage("`-o -` does not name a file").help("omit -o to write to standard output"));
    }
    let color = terminal.color == ColorChoice::Always;
    let options = TableOptions {
        width: FILE_WIDTH,
        color,
        links: false,
        verbose: terminal.verbose,
        threshold: terminal.threshold,
        language,
    };
    PendingFile::create(path, access, |out| write(&options, out)).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot write the report `{}`", path.display())).cause(error.to_string())
}

/// Fails on write errors, except if the reader closed the pipe.
pub(in crate::cli) fn finish(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        // The format requires something that the report does not hold.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(Failure::usage("the report cannot be written in this format").cause(error.to_string()))
        }
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
pub(in crate::cli) fn error_width() -> usize {
    let stderr = io::stderr();
    columns(stderr.is_terminal().then(|| terminal_size::terminal_size_of(stderr)).flatten())
}

fn columns(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    terminal.map_or(FILE_WIDTH, |(width, _)| usize::from(width.0).clamp(40, 200))
}

/// Columns for running text, which is easier to read in shorter lines.
pub(in crate::cli) fn text_width() -> usize {
    table_width().min(FILE_WIDTH)
}

pub(in crate::cli) fn note(message: &str) {
    let _ = writeln!(io::stderr().lock(), "note: {}", text::printable(message));
}

pub(in crate::cli) fn warn(message: &str) {
    let _ = writeln!(io::stderr().lock(), "warning: {}", text::printable(message));
}
