//! Guards over the source text: patterns that the code must not grow. `tests/house.txt` lists today's exceptions; a list may only shrink,
//! and `UPDATE_HOUSE=1` rewrites one that did.

mod circles;
mod source;
mod text;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Number of exceptions by guard and file.
type Exceptions = BTreeMap<(String, String), usize>;

fn exceptions_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/house.txt")
}

fn exceptions() -> Exceptions {
    let text = std::fs::read_to_string(exceptions_file()).unwrap();
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [guard, file, number] = fields.as_slice() else { panic!("tests/house.txt: `{line}`") };
        ((String::from(*guard), String::from(*file)), number.parse().unwrap())
    };
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(parse).collect()
}

/// Compares the places that a guard found, by file, with its listed exceptions.
///
/// # Panics
/// When a file has more places than are listed for it, or when the list is longer than needed.
#[expect(clippy::disallowed_methods, reason = "only a person rewrites the list")]
fn assert_listed(guard: &str, found: &BTreeMap<String, Vec<String>>, advice: &str) {
    let mut all = exceptions();
    let is_of_guard = |key: &(String, String)| key.0 == guard;
    let known: Exceptions = all.extract_if(.., |key, _| is_of_guard(key)).collect();
    let key = |file: &str| (guard.to_owned(), file.to_owned());
    let mut grown = String::new();
    for (file, places) in found {
        let allowed = known.get(&key(file)).copied().unwrap_or_default();
        if places.len() > allowed {
            writeln!(grown, "{file}: {} instead of {allowed}\n    {}", places.len(), places.join("\n    ")).unwrap();
        }
    }
    assert!(grown.is_empty(), "{guard}: {advice}\n{grown}");
    let now: Exceptions = found.iter().map(|(file, places)| (key(file), places.len())).collect();
    if now == known {
        return;
    }
    let update = std::env::var_os("UPDATE_HOUSE").is_some();
    assert!(update, "{guard}: tests/house.txt lists more exceptions than there are; rewrite it with UPDATE_HOUSE=1");
    all.extend(now);
    let text = std::fs::read_to_string(exceptions_file()).unwrap();
    let mut new = String::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        writeln!(new, "{line}").unwrap();
    }
    for ((guard, file), number) in &all {
        writeln!(new, "{guard} {file} {number}").unwrap();
    }
    std::fs::write(exceptions_file(), new).unwrap();
}
