//! Files that a working tree of Git has changed since a commit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::io::failure::Failure;

/// Files that were changed, added or not yet committed since a commit, as absolute paths without links.
///
/// # Errors
/// If this is not a repository, or the commit is not known.
pub(in crate::cli) fn changed_since(commit: &str) -> Result<BTreeSet<PathBuf>, Failure> {
    let root = git(Path::new("."), &["rev-parse", "--show-toplevel"], commit)?;
    let root = PathBuf::from(String::from_utf8_lossy(&root).trim_end_matches('\n'));
    // Names of deleted files lead nowhere, and no configuration of Git may run a program.
    let tracked = [
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--diff-filter=d",
        "--end-of-options",
        commit,
        "--",
    ];
    let untracked = ["ls-files", "--others", "--exclude-standard", "--full-name", "-z"];
    let mut found = BTreeSet::new();
    for arguments in [&tracked[..], &untracked] {
        let names = git(&root, arguments, commit)?;
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            found.extend(absolute(&root.join(&*String::from_utf8_lossy(name))));
        }
    }
    Ok(found)
}

/// The path of a file that exists, without links.
pub(in crate::cli) fn absolute(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

fn git(folder: &Path, arguments: &[&str], commit: &str) -> Result<Vec<u8>, Failure> {
    let failed = |cause: String| {
        Failure::usage(format!("cannot list the files changed since `{commit}`"))
            .cause(cause)
            .help("--changed-since needs the repository and a commit that it has; a shallow clone has few")
    };
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(format!("`git` does not run: {error}")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(failed(message.lines().next().unwrap_or("git failed").to_owned()));
    }
    Ok(output.stdout)
}
