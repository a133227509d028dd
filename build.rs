//! Writes the rule table of each rule family from the files in its folder, so that a new rule is one file and its `mod`
//! line.
//! Without the `mod` line the table does not compile; without the file the `mod` line does not.

#![expect(clippy::disallowed_methods, reason = "cargo passes everything to build scripts through the environment")]

use std::path::Path;
use std::{env, fs, io};

const RULES: &str = "src/rules";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={RULES}");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    for family in fs::read_dir(RULES)? {
        let family = family?.path();
        // Folders without such a table hold no rules.
        let includes_table = fs::read_to_string(family.with_extension("rs")).is_ok_and(|text| text.contains("OUT_DIR"));
        if !family.is_dir() || !includes_table {
            continue;
        }
        let mut rules = Vec::new();
        for file in fs::read_dir(&family)? {
            let file = file?.path();
            // Skips files that editors or file managers create.
            if file.extension().is_some_and(|extension| extension == "rs") {
                rules.push(stem(&file)?);
            }
        }
        rules.sort_unstable();
        let table: Vec<String> = rules.iter().map(|rule| format!("{rule}::RULE")).collect();
        fs::write(Path::new(&out).join(format!("{}.rs", stem(&family)?)), format!("&[{}]\n", table.join(", ")))?;
    }
    Ok(())
}

fn stem(path: &Path) -> io::Result<String> {
    path.file_stem()
        .and_then(|stem| stem.to_str())
        .map(str::to_owned)
        .ok_or_else(|| io::Error::other(format!("{}: not a module name", path.display())))
}
