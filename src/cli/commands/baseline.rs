//! `tagaudit baseline`: the embedded baselines, and what changes between the releases of a controller.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::baseline::{self, Published, RELEASES, Release};
use crate::inventory::Provider;
use crate::policy::{Document, RAM};
use crate::render::layout;

use crate::cli::args::catalogue::BaselineCommand;
use crate::cli::io::failure::Failure;
use crate::cli::io::input;

/// Runs `tagaudit baseline`.
pub(in crate::cli) fn baseline(
    command: &BaselineCommand,
    width: usize,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    match command {
        BaselineCommand::List => {
            let mut table = layout(width, &["baseline", "for", "language", "actions", "versions", "source"]);
            for embedded in baseline::all() {
                let actions = embedded.baseline(None).map_or(0, |baseline| baseline.actions.len());
                let node_role = embedded.node_role.name();
                let (language, actions) = (embedded.dialect.name, actions.to_string());
                table.add_row([embedded.name, node_role, language, &actions, embedded.versions, embedded.source]);
            }
            Ok(writeln!(out, "{table}"))
        }
        BaselineCommand::Show { name, controller_version, cluster_id } => {
            let Some(embedded) = baseline::find(name) else {
                return Err(
                    Failure::usage(format!("no baseline is called `{name}`")).help(input::nearest_baseline(name))
                );
            };
            if embedded.dialect.name == RAM.name {
                input::check_version(Provider::Alibaba, *controller_version)?;
            }
            let mut text = embedded.document(*controller_version);
            if let Some(cluster_id) = cluster_id {
                text = with_cluster(&text, cluster_id)?;
            }
            Ok(out.write_all(text.as_bytes()))
        }
        BaselineCommand::Changes { controller } => {
            let all = Published::all();
            let asked = all.iter().find(|one| controller.as_deref() == Some(one.option()));
            if let (Some(name), None) = (controller, asked) {
                let known: Vec<&str> = all.iter().map(|one| one.option()).collect();
                return Err(Failure::usage(format!("no controller with published policies is called `{name}`"))
                    .help(format!("the controllers are {}", known.join(", "))));
            }
            let is_asked = |release: &&Release| asked.is_none_or(|one| *one == release.controller);
            let mut table = layout(width, &["controller", "since", "baseline", "changes"]);
            for release in RELEASES.iter().filter(is_asked) {
                table.add_row([
                    name(release),
                    format!("v{}", release.since),
                    release.baseline.to_owned(),
                    changes(release, false),
                ]);
            }
            Ok(writeln!(out, "{table}"))
        }
    }
}

/// A document for a cluster.
fn with_cluster(text: &str, cluster_id: &str) -> Result<String, Failure> {
    let quoted = serde_json::to_string(cluster_id)
        .map_err(|error| Failure::usage("cannot write the cluster id").cause(error.to_string()))?;
    let filled = text.replace(baseline::CLUSTER_NAME, quoted.trim_matches('"'));
    Document::parse(&filled).map(|_| filled).map_err(|error| {
        Failure::usage(format!("the document with the cluster id `{cluster_id}` is not a policy document"))
            .cause(error.to_string())
    })
}

/// Name of a controller and of the variant of its policy.
fn name(release: &Release) -> String {
    let controller = release.controller.name();
    match release.variant.describe() {
        "" => controller,
        variant => format!("{controller}, {variant}"),
    }
}

/// Changes since the release before, in words.
fn changes(release: &Release, is_markdown: bool) -> String {
    let Some(changes) = release.changes() else {
        let count = baseline::find(release.baseline).and_then(|one| one.baseline(None).ok());
        return format!("{} actions", count.map_or(0, |baseline| baseline.actions.len()));
    };
    let quote = |action: &String| if is_markdown { format!("`{action}`") } else { action.clone() };
    let list = |actions: &[String]| actions.iter().map(quote).collect::<Vec<_>>().join(", ");
    let parts =
        [("added", &changes.added), ("removed", &changes.removed), ("other resources or conditions", &changes.scoped)];
    let described = parts.into_iter().filter(|(_, actions)| !actions.is_empty());
    let described: Vec<String> = described.map(|(what, actions)| format!("{what}: {}", list(actions))).collect();
    described.join("; ")
}

/// `docs/controllers.md`: what changes between the releases of each controller.
#[must_use]
pub fn releases_markdown() -> String {
    let mut page = String::from(
        "# Policies of controllers by release\n\nGenerated from the embedded policies that the projects publish; a test keeps it up to date. `tagaudit baseline changes lbc` prints\nthe same, `tagaudit baseline show NAME --cluster-id ID` a policy, and `tagaudit policy diff --baseline NAME FILE` compares one with it.\n`tagaudit roles` and the JSON report name the baselines of the release that runs. A release that is not listed publishes the policy\nof the one before it.\n",
    );
    for controller in Published::all() {
        let _ = writeln!(page, "\n## {}\n", controller.name());
        let mut variant = None;
        for release in RELEASES.iter().filter(|release| release.controller == controller) {
            if variant != Some(release.variant) {
                let described = release.variant.describe();
                let title = if described.is_empty() { String::new() } else { format!("{described}:\n\n") };
                let gap = if variant.is_some() { "\n" } else { "" };
                let _ = writeln!(page, "{gap}{title}| since | baseline | changes | source |\n|---|---|---|---|");
                variant = Some(release.variant);
            }
            let source = baseline::find(release.baseline).map_or("", |embedded| embedded.source);
            let _ = writeln!(
                page,
                "| v{} | `{}` | {} | {source} |",
                release.since,
                release.baseline,
                changes(release, true)
            );
        }
    }
    page
}
