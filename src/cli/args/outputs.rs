//! Several formats in one run: each `-o` belongs to the `--format` before it.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use crate::render::FileFormat;

use crate::cli::args::TerminalArgs;

/// Destinations and formats of a report of findings.
#[derive(Debug)]
pub(in crate::cli) struct Outputs<F> {
    /// In the order of the command line; at least one.
    pub(in crate::cli) outputs: Vec<Output<F>>,
    pub(in crate::cli) terminal: TerminalArgs,
}

/// Part of the name of an output that stands for the index of the shard: an array job has one command line for all.
const SHARD_PLACEHOLDER: &str = "{shard}";

impl<F: Clone> Outputs<F> {
    /// The outputs of a shard.
    pub(in crate::cli) fn of_shard(&self, index: u32) -> Self {
        let named = |file: &PathBuf| match file.to_str() {
            Some(name) => PathBuf::from(name.replace(SHARD_PLACEHOLDER, &index.to_string())),
            None => file.clone(),
        };
        let of = |output: &Output<F>| Output { format: output.format.clone(), file: output.file.as_ref().map(named) };
        Self { outputs: self.outputs.iter().map(of).collect(), terminal: self.terminal.clone() }
    }
}

/// One format of a report and its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Output<F> {
    pub(in crate::cli) format: F,
    /// Standard output if `None`.
    pub(in crate::cli) file: Option<PathBuf>,
}

/// The arguments as they are declared; [`Outputs`] is their meaning.
#[derive(Debug, Args)]
struct OutputArgs<F: ValueEnum + Send + Sync + 'static> {
    /// Output format [default: that of the file name, else a table]; repeatable
    ///
    /// `-o FILE` belongs to the --format before it, and one --format may have no file.
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    format: Vec<F>,
    /// Write to this file instead of standard output; repeatable
    ///
    /// Without a --format before it, its name implies the format: `.html`, `.json`, `.md`, `.sarif`, `.xml` (`JUnit`), `.csv`, …
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Vec<PathBuf>,
    #[command(flatten)]
    terminal: TerminalArgs,
}

/// A format or a file, in the order of the command line.
enum Said<F> {
    Format(F),
    File(PathBuf),
}

impl<F: ValueEnum + FileFormat + PartialEq + Send + Sync + 'static> Args for Outputs<F> {
    fn augment_args(command: Command) -> Command {
        OutputArgs::<F>::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        OutputArgs::<F>::augment_args_for_update(command)
    }
}

impl<F: ValueEnum + FileFormat + PartialEq + Send + Sync + 'static> FromArgMatches for Outputs<F> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let positions = |name| matches.indices_of(name).into_iter().flatten().collect::<Vec<usize>>();
        let (formats, files) = (positions("format"), positions("output"));
        let args = OutputArgs::<F>::from_arg_matches(matches)?;
        let formats = formats.into_iter().zip(args.format.into_iter().map(Said::Format));
        let files = files.into_iter().zip(args.output.into_iter().map(Said::File));
        let mut said: Vec<(usize, Said<F>)> = formats.chain(files).collect();
        said.sort_by_key(|(position, _)| *position);
        let outputs = paired(said.into_iter().map(|(_, said)| said).collect());
        Ok(Self {
            outputs: outputs.map_err(|reason| clap::Error::raw(ErrorKind::ArgumentConflict, reason))?,
            terminal: args.terminal,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Conflict between formats and files.
#[derive(Debug, thiserror::Error)]
enum Conflict {
    #[error(
        "both {first} and {last} would go to standard output\n\n  help: put `-o FILE` after the --format of all but one\n"
    )]
    StandardOutput { first: String, last: String },
    #[error("the file `{}` would hold {format}, but its name implies {extension}\n\n  help: omit --format to use the format of the name, or name the file after the format\n", file.display())]
    Extension { file: PathBuf, format: String, extension: String },
    #[error("the name of `{}` implies {extension}, which this command does not write\n\n  help: it writes {formats}: give --format, and a name such as `report.txt`\n", file.display())]
    Unwritten { file: PathBuf, extension: String, formats: String },
    #[error("two formats would go to the file `{}`\n", .0.display())]
    File(PathBuf),
}

/// Assigns files to formats.
fn paired<F: FileFormat + ValueEnum + PartialEq>(said: Vec<Said<F>>) -> Result<Vec<Output<F>>, Conflict> {
    let table = F::from_extension("txt");
    // The order does not matter if there is no choice.
    let mut said = said;
    if let [Said::File(_), Said::Format(_)] = said.as_slice() {
        said.reverse();
    }
    let mut outputs: Vec<Output<F>> = Vec::new();
    let mut open = false;
    for one in said {
        match one {
            Said::Format(format) => {
                outputs.push(Output { format, file: None });
                open = true;
            }
            Said::File(file) => {
                let file = Some(file);
                match outputs.last_mut() {
                    Some(last) if open => last.file = file,
                    _ => {
                        let format = file.as_deref().and_then(F::from_file).or(table);
                        outputs.extend(format.map(|format| Output { format, file }));
                    }
                }
                open = false;
            }
        }
    }
    if outputs.is_empty() {
        outputs.extend(table.map(|format| Output { format, file: None }));
    }
    let printed: Vec<String> = outputs.iter().filter(|one| one.file.is_none()).map(|one| name(&one.format)).collect();
    if let [first, .., last] = printed.as_slice() {
        return Err(Conflict::StandardOutput { first: first.clone(), last: last.clone() });
    }
    for one in &outputs {
        let Some((file, extension)) = one.file.as_ref().and_then(|file| Some((file, one.format.conflict(file)?)))
        else {
            continue;
        };
        if F::from_extension(&extension).is_none() {
            let formats: Vec<String> = F::value_variants().iter().map(name).collect();
            return Err(Conflict::Unwritten { file: file.clone(), extension, formats: formats.join(", ") });
        }
        return Err(Conflict::Extension { file: file.clone(), format: name(&one.format), extension });
    }
    // Compares files by absolute path, however they are spelt.
    let mut files: Vec<(PathBuf, &Path)> = Vec::new();
    for file in outputs.iter().filter_map(|one| one.file.as_deref()) {
        files.push((std::path::absolute(file).unwrap_or_else(|_| file.to_owned()), file));
    }
    files.sort_unstable();
    if let Some([(_, file), _]) = files.array_windows::<2>().find(|[(a, _), (b, _)]| a == b) {
        return Err(Conflict::File(file.to_path_buf()));
    }
    Ok(outputs)
}

/// Name of a format on the command line.
pub(in crate::cli) fn name(format: &impl ValueEnum) -> String {
    format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::render::ReportFormat;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        outputs: Outputs<ReportFormat>,
    }

    fn parsed(line: &str) -> Result<Vec<(ReportFormat, Option<String>)>, String> {
        let line = Line::try_parse_from(std::iter::once("x").chain(line.split_whitespace()));
        let outputs = line.map_err(|error| error.to_string())?.outputs.outputs;
        Ok(outputs.into_iter().map(|one| (one.format, one.file.map(|file| file.display().to_string()))).collect())
    }

    #[test]
    fn each_file_belongs_to_the_format_before_it() {
        use ReportFormat::{Html, Json, Sarif, Table};

        Line::command().debug_assert();
        let file = |name: &str| Some(name.to_owned());
        for (line, expected) in [
            ("", vec![(Table, None)]),
            ("--format json", vec![(Json, None)]),
            ("-o a.sarif", vec![(Sarif, file("a.sarif"))]),
            ("-o a", vec![(Table, file("a"))]),
            ("-o a.json --format sarif", vec![(Sarif, file("a.json"))]),
            ("-o a.json --format asff", vec![(ReportFormat::Asff, file("a.json"))]),
            ("-o a.xml --format junit", vec![(ReportFormat::Junit, file("a.xml"))]),
            ("-o a.log --format html", vec![(Html, file("a.log"))]),
            ("--format table --format sarif -o out.sarif", vec![(Table, None), (Sarif, file("out.sarif"))]),
            ("--format sarif -o out --format table", vec![(Sarif, file("out")), (Table, None)]),
            ("-o a.html -o b.json", vec![(Html, file("a.html")), (Json, file("b.json"))]),
            ("-o a.html -o b.json --format table", vec![(Html, file("a.html")), (Json, file("b.json")), (Table, None)]),
            ("--format html -o a.html -o b.json", vec![(Html, file("a.html")), (Json, file("b.json"))]),
        ] {
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
        for (line, reason) in [
            ("--format table --format json", "both table and json would go to standard output"),
            ("--format json --format sarif --format csv -o x", "both json and sarif"),
            ("-o x -o x", "two formats would go to the file `x`"),
            ("-o x --format json -o ./x", "two formats would go to the file `"),
            ("-o a.html --format table", "the file `a.html` would hold table, but its name implies html"),
            ("--format markdown -o a.json", "would hold markdown"),
            ("--format json -o a.sarif", "would hold json"),
            ("--format html -o a.CSV", "would hold html"),
            ("--format sarif -o a.xml", "would hold sarif"),
        ] {
            assert!(parsed(line).unwrap_err().contains(reason), "{line}");
        }
    }
}
