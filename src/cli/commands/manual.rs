//! The manual: a page for each command, in the language of man(7).

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use crate::inventory::{Access, write_file};

use crate::cli::args::command::ManArgs;
use crate::cli::args::config::command_with_environment;
use crate::cli::args::examples;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::output::printed;

/// Prints all pages, or writes each to a file of a folder.
pub(in crate::cli) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let pages = pages().map_err(|error| Failure::usage("cannot write the manual").cause(error.to_string()))?;
    match &args.output {
        None => printed(|out| Ok(pages.iter().try_for_each(|(_, page)| out.write_all(page)))),
        Some(folder) => write_pages(folder, &pages),
    }
}

fn write_pages(folder: &Path, pages: &[(String, Vec<u8>)]) -> Result<Exit, Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage(format!("cannot write into `{}`", folder.display()))
            .cause(if folder.exists() { "it is not a folder" } else { "it does not exist" })
            .help("name a folder that exists"));
    }
    for (name, page) in pages {
        let path = folder.join(format!("{name}.1"));
        write_file(&path, page, Access::Everyone).map_err(|error| {
            Failure::usage(format!("cannot write the page `{}`", path.display())).cause(error.to_string())
        })?;
    }
    Ok(Exit::Clean)
}

/// The pages by name, that of the program first.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = Vec::new();
    add(&command_with_environment(), "tagaudit", &mut Vec::new(), &mut pages)?;
    Ok(pages)
}

fn add<'c>(
    command: &'c Command,
    name: &str,
    path: &mut Vec<&'c str>,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> io::Result<()> {
    pages.push((name.to_owned(), page(command, name, path)?));
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        path.push(inner.get_name());
        add(inner, &format!("{name}-{}", inner.get_name()), path, pages)?;
        path.pop();
    }
    Ok(())
}

fn page(command: &Command, name: &str, path: &[&str]) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone().name(name.to_owned()).display_name(name.to_owned()));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    let is_group = command.get_subcommands().next().is_some();
    if is_group {
        man.render_subcommands_section(&mut page)?;
    }
    let mut rest = String::new();
    let environment: Vec<(String, &str)> = command
        .get_arguments()
        .filter_map(|argument| Some((argument.get_env()?.to_string_lossy().into_owned(), argument.get_long()?)))
        .collect();
    if !environment.is_empty() {
        rest.push_str(".SH ENVIRONMENT\n");
        for (variable, option) in environment {
            let _ =
                writeln!(rest, ".TP\n\\fB{}\\fR\nThe value of \\fB\\-\\-{}\\fR.", escaped(&variable), escaped(option));
        }
    }
    if !is_group || path.is_empty() {
        rest.push_str(".SH \"EXIT STATUS\"\n");
        for exit in Exit::ALL {
            let _ = writeln!(rest, ".TP\n\\fB{}\\fR\n{}", exit.code(), escaped(exit.meaning()));
        }
    }
    let own = examples::of(path);
    if !own.is_empty() {
        rest.push_str(".SH EXAMPLES\n");
        for (line, purpose) in own {
            let _ = writeln!(rest, ".TP\n{}\n{}", escaped(line), escaped(purpose));
        }
    }
    rest.push_str(".SH \"SEE ALSO\"\n");
    let also: Vec<String> = if is_group {
        let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
        inner.map(|inner| format!("{name}-{}", inner.get_name())).collect()
    } else {
        vec!["tagaudit".to_owned()]
    };
    let also: Vec<String> = also.iter().map(|one| format!("\\fB{}\\fR(1)", escaped(one))).collect();
    let _ = writeln!(rest, "{}", also.join(",\n"));
    page.extend(rest.into_bytes());
    Ok(page)
}

/// Text of man(7): hyphens are hyphens to copy, and no line is a request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_with_its_sections() {
        let pages = pages().unwrap();
        let of = |name: &str| {
            let (_, page) = pages.iter().find(|(one, _)| one == name).unwrap();
            String::from_utf8(page.clone()).unwrap()
        };
        let scan = of("tagaudit-scan");
        for part in
            [".SH ENVIRONMENT", "TAGAUDIT_CLUSTER_ID", ".SH \"EXIT STATUS\"", ".SH EXAMPLES", "\\fBtagaudit\\fR(1)"]
        {
            assert!(scan.contains(part), "{part}");
        }
        assert!(of("tagaudit").contains("\\fBtagaudit\\-scan\\fR(1)"));
        // Each page that another names is there.
        for (name, page) in &pages {
            let page = String::from_utf8(page.clone()).unwrap();
            let also = page.split(".SH \"SEE ALSO\"\n").nth(1).unwrap();
            for one in also.split("(1)").filter_map(|part| part.split("\\fB").nth(1)) {
                let one = one.trim_end_matches("\\fR").replace("\\-", "-");
                assert!(pages.iter().any(|(known, _)| *known == one), "{name}: {one}");
            }
        }
        assert!(of("tagaudit-policy-lint").contains(".SH EXAMPLES"));
    }

    #[test]
    fn text_is_not_markup() {
        assert_eq!(escaped(".x --a\\b"), "\\&.x \\-\\-a\\eb");
    }
}
