//! Makes `engine/catalogue-ram.txt.zz` from Alibaba Cloud's SDK for PHP (Apache-2.0), whose clients name every action in plain
//! text, from `engine/ram-codes.txt` (products whose code in policies is another one) and from `engine/ram-extra.txt` (actions
//! that published policies name and no API has):
//!
//! ```sh
//! git clone --depth 1 https://github.com/aliyun/alibabacloud-php-sdk /tmp/php-sdk
//! cargo run -p tagaudit-policy --example ram_catalogue -- /tmp/php-sdk "$(git -C /tmp/php-sdk log -1 --format='%h of %cs')"
//! ```
//!
//! Only names go into the catalogue. Access levels are told from the verb; nobody publishes them for all products.

#![expect(
    clippy::print_stdout,
    clippy::format_push_string,
    reason = "a tool for the maintainers, which says what it made"
)]

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use regex::Regex;

/// Clients of products that are no services of Alibaba Cloud.
const OTHERS: &[&str] = &["aligenie", "dingtalk", "nbf", "um-test", "umeng"];

/// A version of ECS before the one of today, whose names are none of today's.
const OLD: &[&str] = &["ecs-20160314"];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [sdk, commit] = arguments.as_slice() else {
        bail!("usage: ram_catalogue FOLDER COMMIT, a checkout of aliyun/alibabacloud-php-sdk and what to call it");
    };
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lines = |file: &str| -> Result<Vec<Vec<String>>> {
        let text = std::fs::read_to_string(home.join(file)).with_context(|| format!("cannot read {file}"))?;
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        Ok(lines.map(|line| line.split(' ').map(str::to_owned).collect()).collect())
    };
    let codes = lines("ram-codes.txt")?;
    let code_of = |product: &str| {
        let known = codes.iter().find(|words| words.first().is_some_and(|word| word == product));
        known.and_then(|words| words.get(1)).map_or_else(|| product.to_owned(), Clone::clone)
    };
    // Names by code and lower-case name; the newest version of a product spells them.
    let mut found: BTreeMap<String, BTreeMap<String, (String, String)>> = BTreeMap::new();
    let named = Regex::new(r"'action'\s*=>\s*'([A-Za-z][A-Za-z0-9_]*)'")?;
    let folders = std::fs::read_dir(sdk).with_context(|| format!("cannot read {sdk}"))?;
    let mut folders: Vec<_> = folders.collect::<Result<_, _>>()?;
    folders.sort_by_key(std::fs::DirEntry::file_name);
    for folder in folders {
        let name = folder.file_name().to_string_lossy().to_lowercase();
        let Some((product, version)) = name.rsplit_once('-').filter(|(_, version)| version.len() == 8) else {
            continue;
        };
        if OTHERS.iter().any(|other| product.starts_with(other)) || OLD.contains(&name.as_str()) {
            continue;
        }
        let Ok(files) = std::fs::read_dir(folder.path().join("src")) else { continue };
        for file in files {
            let path = file?.path();
            if path.extension().is_none_or(|extension| extension != "php") {
                continue;
            }
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let code = found.entry(code_of(product)).or_default();
            for action in named.captures_iter(&text).filter_map(|captures| captures.get(1)) {
                let entry = code.entry(action.as_str().to_lowercase()).or_default();
                if entry.0.as_str() < version {
                    *entry = (version.to_owned(), action.as_str().to_owned());
                }
            }
        }
    }
    for words in lines("ram-extra.txt")? {
        let [code, action, ..] = words.as_slice() else { bail!("ram-extra.txt: {words:?}") };
        let code = found.entry(code.clone()).or_default();
        code.entry(action.to_lowercase()).or_insert_with(|| (String::new(), action.clone()));
    }
    found.retain(|_, actions| !actions.is_empty());
    let mut out = format!(
        "tagaudit.catalogue/2\nfrom aliyun/alibabacloud-php-sdk {commit}, Apache-2.0 licence, and published policies\ndialect RAM\n"
    );
    let mut number = 0;
    for (code, actions) in &found {
        out.push_str(&format!("service {code}\n"));
        for (_, action) in actions.values() {
            out.push_str(&format!("a {} {action} - -\n", level(code, action)));
            number += 1;
        }
    }
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(out.as_bytes(), 10);
    let file = home.join("catalogue-ram.txt.zz");
    std::fs::write(&file, &packed).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{number} actions of {} codes, {} bytes, packed {}", found.len(), out.len(), packed.len());
    Ok(())
}

/// The letter of the access that an action gives, by its verb.
fn level(code: &str, action: &str) -> char {
    let mut name = action.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let name = name.strip_prefix("Batch").filter(|rest| rest.starts_with(char::is_uppercase)).unwrap_or(&name);
    let starts = |verbs: &[&str]| {
        verbs.iter().any(|verb| {
            name.strip_prefix(verb).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_lowercase()))
        })
    };
    let manages = ["Policy", "Policies", "Role", "AccessKey", "LoginProfile", "UserToGroup"];
    if starts(&["List"]) {
        'L'
    } else if starts(&["Describe", "Get", "Query", "Check", "Preview", "Search", "Lookup", "Find", "Count", "Show"]) {
        'R'
    } else if starts(&["Tag", "Untag", "UnTag", "AddTags", "RemoveTags"]) {
        'T'
    } else if matches!(code, "ram" | "ims" | "resourcemanager")
        && manages.iter().any(|what| name.contains(what))
        && !name.contains("PasswordPolicy")
    {
        'P'
    } else {
        'W'
    }
}
