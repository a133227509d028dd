//! Names of files, colours and thresholds of the outputs of commands.

use super::binary::command;
use super::documents::path;

/// The name of a file says what its readers expect.
#[test]
fn a_file_holds_what_its_name_implies() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], name: &str| {
        let file = folder.path().join(name);
        let output = command().current_dir(path("")).args(arguments).arg("-o").arg(&file).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap(), std::fs::read_to_string(file).ok())
    };
    let why = [
        "why",
        "service",
        "shop/web",
        "--cluster-id",
        "demo",
        "--inventory",
        "fixtures/demo.json",
        "--kubernetes",
        "fixtures/why/pending.yaml",
    ];
    let (code, _, page) = run(&why, "why.html");
    assert_eq!(code, Some(1));
    assert!(page.unwrap().starts_with("<!DOCTYPE html>"));
    let clusters = ["clusters", "--inventory", "fixtures/demo.json"];
    let (code, _, page) = run(&clusters, "clusters.json");
    assert_eq!(code, Some(0));
    assert!(page.unwrap().starts_with('{'));
    for (arguments, name) in
        [(&clusters[..], "clusters.html"), (&[&clusters[..], &["--format", "table"]].concat(), "c.json")]
    {
        let (code, message, page) = run(arguments, name);
        assert_eq!((code, page), (Some(2), None), "{name}");
        assert!(message.contains("implies") && message.contains("help:"), "{message}");
    }
}

#[test]
fn colours_are_forced_where_there_is_no_terminal() {
    let shown = |variables: &[(&str, &str)]| {
        let scan = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"];
        let output = command().current_dir(path("")).args(scan).envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\u{1b}')
    };
    assert!(!shown(&[]));
    assert!(shown(&[("FORCE_COLOR", "1")]));
    assert!(!shown(&[("FORCE_COLOR", "0")]));
    assert!(!shown(&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")]));
}

/// A link leads to what decides a rule and to the console; a file and a terminal without colours have none.
#[test]
fn links_are_shown_where_the_terminal_takes_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.txt").display().to_string();
    let shown = |variables: &[(&str, &str)], more: &[&str]| {
        let scan = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--format", "table"];
        let mut scan = [&scan[..], more].concat();
        scan.extend(["--color", "always"]);
        let output = command().current_dir(path("")).args(scan).envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let page = shown(&[("FORCE_HYPERLINK", "1")], &[]);
    assert!(page.contains("\u{1b}]8;;https://github.com/"), "{page}");
    assert!(page.contains("\u{1b}]8;;https://us-east-1.console.aws.amazon.com/"), "{page}");
    assert_eq!(page.matches("\u{1b}]8;;").count() % 2, 0, "each link ends");
    for (variables, more) in [(&[("FORCE_HYPERLINK", "0")][..], &[][..]), (&[("FORCE_HYPERLINK", "1")], &["-o", &file])]
    {
        assert!(!shown(variables, more).contains("\u{1b}]8;;"));
    }
    assert!(!std::fs::read_to_string(&file).unwrap().contains("\u{1b}]8;;"));
}

/// A finding below the threshold leaves the exit code 0, and fails no test.
#[test]
fn tests_fail_from_the_threshold_on() {
    let failures = |threshold: &str| {
        let output = command()
            .current_dir(path(""))
            .args(["scan", "--cluster-id", "bravo", "--inventory", "fixtures/broken.json", "--format", "junit"])
            .args(["--fail-on", threshold])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().matches("<failure ").count()
    };
    let (error, warning, info) = (failures("error"), failures("warning"), failures("info"));
    assert!(0 < error && error < warning && warning < info, "{error} {warning} {info}");
    assert_eq!(failures("never"), warning);
}

/// A configuration to start from is valid, and never replaces one.
#[test]
fn a_configuration_to_start_from_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = command().current_dir(folder.path()).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run(&["config", "init"]).0, Some(0));
    assert_eq!(run(&["config", "check"]).0, Some(0));
    std::fs::write(folder.path().join("tagaudit.toml"), "# mine\n").unwrap();
    let (code, message) = run(&["config", "init"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("cause:") && message.contains("help:"), "{message}");
    assert_eq!(std::fs::read_to_string(folder.path().join("tagaudit.toml")).unwrap(), "# mine\n");
}
