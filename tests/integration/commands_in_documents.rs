//! Every command of `tagaudit` in the documents: its options exist, and what can run without an account runs, on the files that
//! it names or on a recording.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::binary::command;
use super::documents::{path, read};

/// All pages, by their path in the repository.
pub(crate) fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "README.zh-CN.md".to_owned()];
    for folder in ["docs", "docs/start"] {
        let files = fs::read_dir(path(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        pages.extend(
            files
                .filter(|name| Path::new(name).extension().is_some_and(|it| it == "md"))
                .map(|name| format!("{folder}/{name}")),
        );
    }
    pages.sort();
    pages
}

/// Commands in the blocks of shell of a page, without what is piped into them and without comments.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut language = None;
    let mut line = String::new();
    for part in text.lines() {
        if let Some(fence) = part.trim_start().strip_prefix("```") {
            language = if language.is_some() { None } else { Some(fence.trim().to_owned()) };
            continue;
        }
        if !matches!(language.as_deref(), Some("sh" | "console" | "bash")) {
            continue;
        }
        line.push_str(part.trim_start().trim_start_matches("$ ").trim_start_matches("# "));
        if let Some(continued) = line.strip_suffix('\\') {
            line = continued.to_owned();
            continue;
        }
        let whole = std::mem::take(&mut line);
        if let Some((_, arguments)) = whole.split_once("| tagaudit ") {
            found.push(format!("tagaudit {arguments}"));
        } else if whole.starts_with("tagaudit ") {
            found.push(whole);
        }
    }
    found
}

/// The words of a command, without its comment, redirection and the commands behind it; `None` where a shell has to replace
/// something.
fn words(line: &str) -> Option<Vec<String>> {
    let words = shell_words::split(line.split(" # ").next().unwrap()).ok()?;
    let ends = |word: &String| matches!(word.as_str(), "|" | "||" | "&&" | ">" | "2>" | ";" | "<");
    let number = words.iter().position(ends).unwrap_or(words.len());
    let words = words[1..number].to_vec();
    let is_variable = |word: &String| word.contains("$(") || word.contains("<(") || word.contains('…');
    (!words.iter().any(is_variable)).then_some(words)
}

/// Options about an account or a cluster that a recording replaces, and whether they take a value.
const LIVE: [(&str, bool); 9] = [
    ("--region", true),
    ("--all-regions", false),
    ("--kube-context", true),
    ("--profile", true),
    ("--assume-role", true),
    ("--external-id", true),
    ("--timeout", true),
    ("--concurrency", true),
    ("--audit-trail", false),
];

/// The command on a recording, if it reads an account; otherwise as it is.
fn on_recording(words: &[String]) -> Vec<String> {
    let reads = matches!(words[0].as_str(), "scan" | "clusters" | "roles" | "why" | "simulate" | "record");
    let is_live = |word: &String| LIVE.iter().any(|(name, _)| word == name);
    let has = |name: &str| words.iter().any(|word| word == name);
    let is_about_account = has("--cluster-id") || words[0] == "clusters" || words.iter().any(is_live);
    if !reads || has("--inventory") || !is_about_account {
        return words.to_vec();
    }
    let (id, recording) =
        if has("alibaba") { ("prod", "fixtures/alibaba/clean-handmade.json") } else { ("demo", "fixtures/demo.json") };
    let mut left = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match LIVE.iter().find(|(name, _)| name == word) {
            Some((_, takes_value)) => {
                if *takes_value {
                    rest.next();
                }
            }
            None if word == "--cluster-id" => {
                left.extend(["--cluster-id".to_owned(), id.to_owned()]);
                rest.next();
            }
            None => left.push(word.clone()),
        }
    }
    left.extend(["--inventory".to_owned(), recording.to_owned()]);
    if words[0] == "why" && has("service") && has("--kube-context") {
        left.extend(["--kubernetes".to_owned(), "fixtures/why/pending.yaml".to_owned()]);
    }
    left
}

/// Files that a command names, by their ending, and standard input.
fn files(words: &[String]) -> Vec<&String> {
    let endings = [".json", ".jsonl", ".yaml", ".yml", ".toml", ".csv", ".tfplan", ".bin", ".conf", ".log", ".tar.gz"];
    let is_file = |word: &&String| {
        let name = word.rsplit('=').next().unwrap();
        *word == "-" || name.contains('/') || endings.iter().any(|ending| name.ends_with(ending))
    };
    words.iter().filter(is_file).collect()
}

/// True if a command writes, asks or needs what is not in the repository.
fn needs_more(words: &[String]) -> bool {
    let writes =
        ["-o", "--output", "--fix", "--fix-leftovers", "--write-waivers", "--plan-out", "--organization", "--scp"];
    let is_there = |word: &&String| word.starts_with("fixtures/") && path(word).exists();
    let is_answer = |word: &&String| words[0] == "why" && (word.contains(' ') || word.matches('/').count() == 1);
    // These objects are read from the cluster alone.
    let is_about_object = words[0] == "why" && words.iter().any(|word| word == "pod" || word == "node");
    let has_evidence = words.iter().any(|word| word == "--kubernetes" || word == "--objects");
    matches!(words[0].as_str(), "apply" | "undo" | "record" | "merge" | "report" | "config")
        || is_about_object && !has_evidence
        || words.iter().any(|word| writes.contains(&word.as_str()))
        || files(words).iter().any(|word| !is_there(word) && !is_answer(word))
}

/// Commands of other programs, too, are shell that a reader can paste.
#[test]
fn every_block_of_shell_parses() {
    let mut number = 0;
    for page in pages() {
        let text = read(&page);
        for block in
            text.split("\n```").filter(|block| ["sh\n", "bash\n", "console\n"].iter().any(|it| block.starts_with(it)))
        {
            let lines = block.lines().skip(1);
            let typed = |line: &str| line.strip_prefix("$ ").unwrap_or(line).to_owned();
            let script = lines.map(typed).collect::<Vec<_>>().join("\n");
            let output = std::process::Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
            assert!(output.status.success(), "{page}: {}\n{script}", String::from_utf8_lossy(&output.stderr));
            number += 1;
        }
    }
    assert!(number > 70, "only {number} blocks were found");
}

#[test]
fn every_option_in_the_documents_exists() {
    let mut known = BTreeSet::new();
    for page in pages() {
        for line in commands(&read(&page)) {
            let Some(words) = words(&line) else { continue };
            // Clap reads the whole line before it answers with the help, and stops at what it does not know.
            let output = command().current_dir(path("")).args(&words).arg("--help").output().unwrap();
            assert!(output.status.success(), "{page}: {line}\n{}", String::from_utf8_lossy(&output.stderr));
            known.insert(words);
        }
    }
    assert!(known.len() > 120, "only {} commands were found", known.len());
}

#[test]
fn every_command_that_needs_no_account_runs() {
    let mut run = BTreeSet::new();
    let mut wrong = Vec::new();
    for page in pages() {
        for line in commands(&read(&page)) {
            let Some(words) = words(&line).map(|words| on_recording(&words)).filter(|words| !needs_more(words)) else {
                // The pages for a first try have no other commands.
                assert!(!page.starts_with("docs/start"), "{page}: {line} does not run on a recording");
                continue;
            };
            if !run.insert(words.clone()) {
                continue;
            }
            let output = command().current_dir(path("")).args(&words).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            if !matches!(output.status.code(), Some(0 | 1 | 3)) || output.stdout.is_empty() {
                wrong.push(format!("{page}: {line}\n  {words:?}\n  {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run.len() > 60, "only {} commands were run", run.len());
}

#[test]
fn every_local_link_leads_somewhere() {
    let mut pages = pages();
    pages.extend(["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md"].map(str::to_owned));
    for page in pages {
        let text = read(&page);
        let folder = path(&page).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.contains(char::is_whitespace) {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file: PathBuf = if file.is_empty() { path(&page) } else { folder.join(file) };
            assert!(file.exists(), "{page}: {target}");
            if !anchor.is_empty() {
                let headings = fs::read_to_string(&file).unwrap();
                let is_there = headings.lines().any(|line| line.starts_with('#') && slug(line) == anchor);
                assert!(is_there, "{page}: {target} names no heading");
            }
        }
    }
}

/// The anchor that GitHub and mdBook give a heading.
fn slug(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
