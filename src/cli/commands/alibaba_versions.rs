//! The page on what the versions of the cloud controller of Alibaba Cloud read.

use std::fmt::Write as _;

use crate::controller::ControllerVersion;
use crate::controller::alibaba_flags::{ALWAYS, FLAGS, OF_VERSION_ONE, TYPED};
use crate::kubernetes::alibaba_cloud_config::{KEYS, KeyType};
use crate::model::cloud_provider_alibaba::GATES;
use crate::service_annotations::alibaba::{PREFIXES, spans};

const HEAD: &str = "# What the cloud controller of Alibaba Cloud reads, by version

Generated from the tables that the rules and the model use; a test keeps it up to date. Source: kubernetes/cloud-provider-alibaba-cloud at
its tags from v2.1.0 to v2.14.0, for flags and keys v1.9.3 too. A version between two tags was not published. `tagaudit lint` reports what the version of the image does not
read; without an image, `--controller-version` gives it to `scan`.
";

const TWO: ControllerVersion = ControllerVersion::new(2, 0, 0);

/// `docs/alibaba-versions.md`.
#[must_use]
pub fn alibaba_versions_markdown() -> String {
    let mut page = HEAD.to_owned();
    let [prefix, former] = PREFIXES;
    let _ = writeln!(
        page,
        "\n## Annotations of Services\n\nEach name follows `{prefix}`, or the former prefix `{former}`.\n\n| annotation | since | until |\n|---|---|---|"
    );
    for (name, first, without) in spans() {
        let first = first.map_or_else(|| "2.1.0 or earlier".to_owned(), |version| version.to_string());
        let _ = writeln!(page, "| `{name}` | {first} | {} |", until(without));
    }
    page.push_str("\n## Flags\n\n| flag | value | since | until |\n|---|---|---|---|\n");
    for (name, first, without) in flags() {
        let value = TYPED.iter().find(|(known, _)| *known == name).map_or("text", |(_, kind)| kind.noun());
        let is_older = first.is_some_and(|first| first > TWO) && OF_VERSION_ONE.contains(&name);
        let first = if first == Some(TWO) && OF_VERSION_ONE.contains(&name) { None } else { first };
        let earlier = if is_older { "1.9.3, then " } else { "" };
        let _ = writeln!(page, "| `--{name}` | {value} | {earlier}{} | {} |", since(first), until(without));
    }
    page.push_str("\n## Keys of the cloud configuration\n\nIn `Global` of `cloud-config.conf`; Go ignores their case.\n\n| key | value | since |\n|---|---|---|\n");
    for key in KEYS {
        let value = match key.holds {
            KeyType::Text => "text",
            KeyType::Whole => "whole number",
            KeyType::Switch => "truth value",
        };
        let _ = writeln!(page, "| `{}` | {value} | {} |", key.name, since(key.since));
    }
    page.push_str(
        "\n## Feature gates\n\nIn `featureGates` of the cloud configuration.\n\n| gate | since |\n|---|---|\n",
    );
    for (name, first) in GATES {
        let _ = writeln!(page, "| `{name}` | {} |", since(Some(first)));
    }
    page
}

/// Flags by name, each with the version that added it and the version that removed it.
fn flags() -> Vec<(&'static str, Option<ControllerVersion>, Option<ControllerVersion>)> {
    let always = ALWAYS.iter().map(|name| (*name, Some(TWO), None));
    let mut all: Vec<_> = always.chain(FLAGS.iter().copied()).collect();
    all.sort_by_key(|(name, ..)| *name);
    all
}

fn since(version: Option<ControllerVersion>) -> String {
    version.map_or_else(|| "1.9.3 or earlier".to_owned(), |version| version.to_string())
}

fn until(version: Option<ControllerVersion>) -> String {
    version.map(|version| format!("before {version}")).unwrap_or_default()
}
